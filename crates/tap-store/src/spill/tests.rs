//! Tests of spill files: taking one over, whole, cut off, twice, damaged, or while its tap lives.

use tempfile::TempDir;

use super::*;
use crate::schema::open_for_writing;
use crate::traffic::{large, recorded, recorded_in, segments, start};
use crate::{SessionId, Store};

struct Place {
    folder: TempDir,
    database: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("recordings.db");
        Self { folder, database }
    }

    fn connection(&self) -> Connection {
        open_for_writing(&self.database, std::time::Duration::ZERO).unwrap()
    }

    /// How many spill files are there.
    fn n_spilled(&self) -> usize {
        let names = std::fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().contains("-spill-")).count()
    }
}

/// How a session ended, in these tests.
fn some_end() -> SessionEnd {
    SessionEnd { at_ns: 99, reason: Some(EndReason::Killed(9)), lost_bytes: 7 }
}

/// A spill file whose tap is gone, and where its header and each of its records end.
fn left_behind(place: &Place, segments: &[Segment]) -> (PathBuf, Vec<u64>) {
    let mut spill = Spill::create(&place.database, &start("a", Some(1))).unwrap();
    let mut ends = vec![spill.write_at];
    for (number, segment) in (0..).zip(segments) {
        spill.push(number, segment).unwrap();
        ends.push(spill.write_at);
    }
    spill.push_end(&some_end()).unwrap();
    ends.push(spill.write_at);
    (spill.path().to_path_buf(), ends)
}

/// The numbers of the segments that are there, and how the session ended.
fn found(connection: &Connection) -> (Vec<i64>, Option<i64>) {
    let mut select = connection.prepare("SELECT number FROM segment ORDER BY id").unwrap();
    let numbers = select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    let closed = connection.query_row("SELECT closed_at_ns FROM session", [], |row| row.get(0)).optional().unwrap();
    (numbers, closed.flatten())
}

#[test]
fn a_file_that_is_cut_off_anywhere_loses_the_record_that_is_cut_and_no_other() {
    let place = Place::new();
    let (path, ends) = left_behind(&place, &segments("-> one\n--\n<- two\n!! three\n--\n-> four"));
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(ends.last(), Some(&(whole.len() as u64)));
    let mut connection = place.connection();
    connection.pragma_update(None, "synchronous", "off").unwrap();
    for length in 0..=whole.len() {
        std::fs::write(&path, &whole[..length]).unwrap();
        let n_adopted = adopt(&mut connection, &place.database).unwrap();
        let n_records = ends.iter().filter(|end| **end <= length as u64).count();
        let (numbers, closed) = found(&connection);
        // The line about the session ends with a newline, which may be missing: it is JSON all the same.
        let header_whole = length as u64 + 1 >= ends[0];
        assert_eq!(n_adopted, usize::from(header_whole), "cut at {length}");
        assert_eq!(numbers.len(), n_records.saturating_sub(1).min(3), "cut at {length}");
        assert_eq!(closed.is_some(), n_records == ends.len(), "cut at {length}");
        connection.execute_batch("DELETE FROM segment; DELETE FROM session").unwrap();
    }
}

#[test]
fn taking_over_twice_is_taking_over_once() {
    let place = Place::new();
    let segments: Vec<_> = (0..70).map(|number| large(number, 100)).collect();
    let (path, _) = left_behind(&place, &segments);
    let copy = std::fs::read(&path).unwrap();
    for turn in 0..3 {
        std::fs::write(&path, &copy).unwrap();
        assert_eq!(place.n_spilled(), 1);
        let store = Store::open_or_create(&place.database).unwrap();
        assert_eq!(place.n_spilled(), 0);
        store.catch_up(SessionId(1), |_| {}).unwrap();
        assert_eq!(recorded(&store, SessionId(1)), recorded_in(&segments), "turn {turn}");
        let sessions = store.sessions().unwrap();
        assert_eq!((sessions.len(), &sessions[0].end), (1, &Some(some_end())));
        assert_eq!(sessions[0].digest.n_frames, 70);
    }
}

#[test]
fn what_another_process_took_over_up_to_some_record_is_gone_on_with() {
    let place = Place::new();
    let segments: Vec<_> = (0..5).map(|number| large(number, 100)).collect();
    let (path, _) = left_behind(&place, &segments);
    let mut connection = place.connection();
    let session = insert_session(&connection, &start("a", Some(1))).unwrap();
    insert_segments(&connection, session, &[(0, segments[0].clone()), (1, segments[1].clone())]).unwrap();
    assert_eq!(adopt(&mut connection, &place.database).unwrap(), 1);
    assert_eq!(found(&connection), (vec![0, 1, 2, 3, 4], Some(99)));
    assert!(!path.exists());
}

#[test]
fn a_session_that_was_taken_for_complete_is_worked_out_again() {
    let place = Place::new();
    let segments: Vec<_> = (0..5).map(|number| large(number, 100)).collect();
    let store = Store::open_or_create(&place.database).unwrap();
    let before = segments[..2].iter().cloned().map(Ok);
    let id = store.put_in(&start("a", None), before, || Some(some_end())).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    assert_eq!(store.sessions().unwrap()[0].digest.n_frames, 2);
    left_behind(&place, &segments);
    // Not only for whoever takes it over, but for whoever had it open all the time.
    let other = Store::open(&place.database).unwrap();
    for store in [&store, &other] {
        store.catch_up(id, |_| {}).unwrap();
        assert_eq!(store.sessions().unwrap()[0].digest.n_frames, 5);
    }
}

#[test]
fn the_file_of_a_tap_that_lives_is_left_alone() {
    let place = Place::new();
    let mut spill = Spill::create(&place.database, &start("a", Some(1))).unwrap();
    spill.push(0, &large(0, 100)).unwrap();
    let mut connection = place.connection();
    assert_eq!(adopt(&mut connection, &place.database).unwrap(), 0);
    assert_eq!(found(&connection), (vec![], None));
    drop(spill);
    assert_eq!(adopt(&mut connection, &place.database).unwrap(), 1);
    assert_eq!(found(&connection), (vec![0], None));
}

#[test]
fn files_that_are_no_spill_files_are_left_alone() {
    let place = Place::new();
    let mut connection = place.connection();
    for (name, content) in [("x", "hello"), ("y", "mcp-tap spill 2\n{}\n"), ("z", "mcp-tap spill 1\n{}\n")] {
        std::fs::write(path_for(&place.database, name), content).unwrap();
    }
    assert_eq!(adopt(&mut connection, &place.database).unwrap(), 0);
    assert_eq!(place.n_spilled(), 3);
}

#[test]
fn what_is_pushed_is_read_back_in_order() {
    let place = Place::new();
    let mut spill = Spill::create(&place.database, &start("a", None)).unwrap();
    let (mut next, mut pushed) = (0, 0);
    for n_more in [1, 40, 0, 70, 2] {
        for _ in 0..n_more {
            spill.push(pushed, &large(pushed, 50)).unwrap();
            pushed += 1;
        }
        let (segments, read_to) = spill.peek().unwrap();
        for (number, segment) in segments {
            assert_eq!((number, &segment.bytes), (next, &large(next, 50).bytes));
            next += 1;
        }
        spill.forget(read_to);
    }
    while !spill.is_empty() {
        let (segments, read_to) = spill.peek().unwrap();
        next += segments.len() as u64;
        spill.forget(read_to);
    }
    assert_eq!(next, 113);
}

#[test]
fn how_a_session_began_and_ended_is_read_back_as_it_was_written() {
    for tap_pid in [None, Some(u32::MAX)] {
        let start = start("a", tap_pid);
        assert_eq!(start_from_json(&start_to_json(&start)), Some(start));
    }
    let reasons = [
        None,
        Some(EndReason::Exited(-1)),
        Some(EndReason::Killed(15)),
        Some(EndReason::NotStarted("no \"such\" file\n".into())),
    ];
    for reason in reasons {
        let end = SessionEnd { reason, ..some_end() };
        assert_eq!(end_from_json(end_to_json(&end).to_string().as_bytes()), Some(end));
    }
}
