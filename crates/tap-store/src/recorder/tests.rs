//! Tests of the recorder with real files: whatever the database does, what passed is kept, in order.

use std::path::Path;
use std::sync::Mutex;

use rusqlite::Connection;
use tap_session::Recorded;
use tempfile::TempDir;

use super::*;
use crate::traffic::{large, recorded, recorded_in, segments, start};
use crate::{EndReason, Store};

const SCRIPT: &str = r#"
-> {"id":1,"method":"a"}
<- {"id":1,"result":{}}
--
!! noise
end ->
"#;

/// A folder for a database, and what the user was told.
struct Place {
    folder: TempDir,
    database: PathBuf,
    told: Arc<Mutex<Vec<String>>>,
}

impl Place {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let database = folder.path().join("recordings.db");
        Self { folder, database, told: Arc::default() }
    }

    fn recorder(&self) -> Recorder {
        let told = self.told.clone();
        let tell = Box::new(move |text| told.lock().unwrap().push(text));
        Recorder::new(self.database.clone(), start("a", Some(1)), tell)
    }

    /// A connection that holds the write lock.
    fn lock(&self) -> Connection {
        drop(Store::open_or_create(&self.database).unwrap());
        let connection = Connection::open(&self.database).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE").unwrap();
        connection
    }

    fn told(&self) -> Vec<String> {
        self.told.lock().unwrap().clone()
    }

    /// Names of the files in the folder that hold parts of a recording.
    fn files(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.retain(|name| name.ends_with(".db") || name.contains("-spill-"));
        names.sort();
        names
    }

    /// The one session in `database` holds exactly `segments` and ended as [`some_end`].
    #[track_caller]
    fn check(&self, database: &Path, segments: &[Segment]) {
        let store = Store::open(database).unwrap();
        let sessions = store.sessions().unwrap();
        assert_eq!(sessions.len(), 1);
        store.catch_up(sessions[0].id, |_| {}).unwrap();
        assert!(recorded(&store, sessions[0].id) == recorded_in(segments), "the frames are not those that passed");
        assert_eq!((&sessions[0].end, sessions[0].live), (&Some(some_end()), false));
        assert_eq!(self.files().iter().filter(|name| name.contains("-spill-")).count(), 0);
    }
}

fn some_end() -> SessionEnd {
    SessionEnd { at_ns: 1_000_000_000, reason: Some(EndReason::Exited(0)), lost_bytes: 0 }
}

fn many(n_segments: u64, n_bytes: usize) -> Vec<Segment> {
    (0..n_segments).map(|number| large(number, n_bytes)).collect()
}

#[test]
fn what_passes_is_in_the_database_at_once_and_worked_out_at_the_end() {
    let place = Place::new();
    let segments = segments(SCRIPT);
    let mut recorder = place.recorder();
    assert!(recorder.is_behind(), "the session is to begin");
    for (number, segment) in (1..).zip(&segments) {
        let emptied = recorder.record(vec![segment.clone()]);
        assert_eq!(emptied.len(), 1);
        assert!(!recorder.is_behind());
        let store = Store::open(&place.database).unwrap();
        let session = store.sessions().unwrap().remove(0);
        assert!(session.live);
        assert!(session.end.is_none());
        assert_eq!(recorded(&store, session.id), recorded_in(&segments[..number]));
    }
    recorder.finish(some_end());
    let digest = Store::open(&place.database).unwrap().sessions().unwrap().remove(0).digest;
    assert_eq!((digest.n_frames, digest.n_calls), (3, 1), "nobody asked for it, and it is there");
    place.check(&place.database, &segments);
    assert_eq!(place.told(), [""; 0]);
}

#[test]
fn a_recorder_that_dies_leaves_what_it_was_given() {
    let place = Place::new();
    let segments = segments(SCRIPT);
    let mut recorder = place.recorder();
    recorder.record(segments.clone());
    drop(recorder);
    let store = Store::open(&place.database).unwrap();
    let session = store.sessions().unwrap().remove(0);
    assert_eq!((session.live, session.end), (false, None));
    assert_eq!(recorded(&store, session.id), recorded_in(&segments));
}

#[test]
fn a_lock_that_is_released_in_time_is_never_told() {
    for locked_at in 0..3 {
        let place = Place::new();
        let segments = many(3, 1000);
        let mut recorder = place.recorder();
        for (number, segment) in segments.iter().enumerate() {
            let lock = (number == locked_at).then(|| place.lock());
            recorder.record(vec![segment.clone()]);
            assert_eq!(recorder.is_behind(), lock.is_some(), "locked at {locked_at}, segment {number}");
        }
        recorder.record(Vec::new());
        assert!(!recorder.is_behind());
        recorder.finish(some_end());
        place.check(&place.database, &segments);
        assert_eq!(place.told(), [""; 0]);
    }
}

#[test]
fn more_than_the_memory_may_hold_goes_to_a_spill_file_while_the_database_is_locked() {
    let place = Place::new();
    let segments = many(40, 900_000);
    let lock = place.lock();
    let mut recorder = place.recorder();
    for segment in &segments[..35] {
        recorder.record(vec![segment.clone()]);
        assert!(recorder.backlog_bytes <= BACKLOG_LIMIT_BYTES);
    }
    assert_eq!(place.files().len(), 2);
    drop(lock);
    for segment in &segments[35..] {
        recorder.record(vec![segment.clone()]);
    }
    while recorder.is_behind() {
        recorder.record(Vec::new());
    }
    assert_eq!(place.files(), ["recordings.db"]);
    recorder.finish(some_end());
    place.check(&place.database, &segments);
}

#[test]
fn traffic_that_is_too_fast_goes_to_a_spill_file_and_gets_in_afterwards() {
    let place = Place::new();
    let segments = many(120, 200_000);
    let mut recorder = place.recorder();
    for some in segments.chunks(10) {
        recorder.record(some.to_vec());
        assert_eq!(recorder.backlog_bytes, 0);
    }
    assert!(recorder.is_behind());
    recorder.finish(some_end());
    place.check(&place.database, &segments);
    assert_eq!(place.told(), [""; 0]);
}

#[test]
fn what_a_lock_kept_out_to_the_end_is_taken_over_by_whoever_opens_the_database_next() {
    let place = Place::new();
    let segments = many(5, 1000);
    let lock = place.lock();
    let mut recorder = place.recorder();
    recorder.record(segments.clone());
    recorder.finish(some_end());
    assert!(place.files()[1].starts_with("recordings.db-spill-"));
    // On a machine that is busy, after what is told of a lock that is held for long.
    let told = place.told().pop().unwrap_or_default();
    assert!(told.starts_with("the recording is kept in ") && told.contains("-spill-"), "{told}");
    drop(lock);
    place.check(&place.database, &segments);
    place.check(&place.database, &segments);
}

#[test]
fn a_file_that_is_no_database_is_left_alone_and_the_session_recorded_beside_it() {
    // Little at once, and so much that it goes to a spill file before the database is tried.
    for segments in [segments(SCRIPT), many(10, 200_000)] {
        let place = Place::new();
        let garbage = "garbage, and more than a header of it".repeat(100);
        std::fs::write(&place.database, &garbage).unwrap();
        let mut recorder = place.recorder();
        recorder.record(segments.clone());
        recorder.finish(some_end());
        let side = place.folder.path().join(format!("tap-{:0>32}.db", "a"));
        let told = place.told();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].ends_with(&format!("this session is recorded to {} instead", side.display())), "{told:?}");
        assert_eq!(std::fs::read_to_string(&place.database).unwrap(), garbage);
        place.check(&side, &segments);
    }
}

#[test]
fn a_database_that_is_too_new_is_left_alone_too() {
    let place = Place::new();
    drop(place.lock());
    Connection::open(&place.database).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let mut recorder = place.recorder();
    recorder.record(segments(SCRIPT));
    recorder.finish(some_end());
    place.check(&place.folder.path().join(format!("tap-{:0>32}.db", "a")), &segments(SCRIPT));
    assert!(place.told()[0].contains("update mcp-tap to open it"));
}

#[test]
fn what_finds_no_room_becomes_a_gap_that_counts_it() {
    let place = Place::new();
    let lock = place.lock();
    let mut recorder = place.recorder();
    recorder.record(segments("-> 12345\n!! 12\n-> 1\ngap -> 100\nend ->"));
    recorder.lose_backlog();
    recorder.record(segments("<- {}"));
    drop(lock);
    recorder.finish(some_end());
    let store = Store::open(&place.database).unwrap();
    let session = store.sessions().unwrap().remove(0);
    let found: Vec<_> = recorded(&store, session.id)
        .into_iter()
        .map(|recorded| match recorded {
            Recorded::Frame(frame) => format!("{:?} {:?} {}", frame.stream, frame.origin, frame.bytes.len()),
            Recorded::End { stream, .. } => format!("{stream:?} ended"),
        })
        .collect();
    assert_eq!(found, ["ToServer Gap(108) 0", "ToServer ended", "Stderr Gap(3) 0", "ToClient Wire 3"]);
    assert_eq!(session.end.unwrap().lost_bytes, 11);
}

#[test]
fn exchanges_of_which_some_found_no_room_go_on_behind_the_gap() {
    use crate::http_traffic::{exchange, pack};
    let place = Place::new();
    let lock = place.lock();
    let start = crate::traffic::http_start("a", Some(1));
    let mut recorder = Recorder::new(place.database.clone(), start, Box::new(|_| {}));
    let call = br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let answer = br#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let one =
        |number| exchange(number, ("POST /mcp", &[], call), (200, &[("content-type", "application/json")], answer));
    // The first exchange is kept but for its answer, of the second all but its end is lost, the third is kept.
    let (first, second) = (one(1), one(2));
    let pieces = [&first[..4], &first[4..], &second[..], &one(3)].concat();
    let mut segments = pack(&pieces, &[4, 14]).into_iter();
    drop(lock);
    recorder.record(segments.by_ref().take(1).collect());
    let lock = place.lock();
    recorder.record(segments.by_ref().take(1).collect());
    recorder.lose_backlog();
    recorder.record(segments.collect());
    drop(lock);
    recorder.finish(some_end());
    let store = Store::open(&place.database).unwrap();
    let session = store.sessions().unwrap().remove(0);
    store.catch_up(session.id, |_| {}).unwrap();
    let listed = store.list(session.id, crate::ListKind::Frames, crate::Part::From(0), 100).unwrap();
    let found: Vec<_> =
        listed.iter().map(|listed| (listed.exchange.unwrap(), listed.row.kind.name(), listed.row.lost_bytes)).collect();
    assert_eq!(
        found,
        [(1, "request", None), (1, "gap", Some(43)), (2, "gap", Some(20)), (3, "request", None), (3, "result", None)]
    );
    assert_eq!(store.exchange(session.id, 1).unwrap().unwrap().end, Some(tap_frame::HttpEnd::Whole));
    assert!(session.end.unwrap().lost_bytes > 100);
}

#[test]
fn what_was_lost_is_counted_when_the_rest_is_left_behind() {
    let place = Place::new();
    let lock = place.lock();
    let mut recorder = place.recorder();
    recorder.record(segments("-> 12345"));
    recorder.lose_backlog();
    recorder.finish(some_end());
    drop(lock);
    let session = Store::open(&place.database).unwrap().sessions().unwrap().remove(0);
    assert_eq!(session.end.unwrap().lost_bytes, 6);
}

#[test]
fn sessions_recorded_at_once_into_one_database_do_not_mix() {
    let place = Place::new();
    let mut recorders: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|name| Recorder::new(place.database.clone(), start(name, Some(1)), Box::new(|told| panic!("{told}"))))
        .collect();
    for turn in 0..4 {
        for (number, recorder) in (0..).zip(&mut recorders) {
            recorder.record(vec![large(turn * 10 + number, 100)]);
            while recorder.work_behind() {}
        }
    }
    recorders.into_iter().for_each(|recorder| recorder.finish(some_end()));
    let store = Store::open(&place.database).unwrap();
    for (number, session) in (0..).zip(store.sessions().unwrap().iter().rev()) {
        let expected: Vec<_> = (0..4).map(|turn| large(turn * 10 + number, 100)).collect();
        assert_eq!(recorded(&store, session.id), recorded_in(&expected));
        assert_eq!(session.digest.n_frames, 4);
    }
}
