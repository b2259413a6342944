//! Tests of the derived tables: whoever works them out, in whatever steps, they come out equal.

use proptest::prelude::*;
use rusqlite::TransactionBehavior::Immediate;
use tap_frame::{Segment, Stream};

use super::*;
use crate::schema::open_in_memory;
use crate::traffic::{any_segments, start};
use crate::writer::{insert_segments, insert_session};

/// A database with an empty session, 1.
fn database(transport: Transport) -> Connection {
    let mut connection = open_in_memory(Path::new("test")).unwrap();
    prepare(&mut connection, Path::new("test"), true).unwrap();
    let start = crate::SessionStart { transport, ..start("a", None) };
    assert_eq!(insert_session(&connection, &start).unwrap(), 1);
    connection
}

fn step(deriver: &mut Deriver, connection: &mut Connection, over: bool) -> Step {
    deriver.step(connection, Path::new("test"), over, Immediate).unwrap()
}

/// All of the derived tables, as text.
fn dump(connection: &Connection) -> Vec<String> {
    let mut lines = Vec::new();
    for table in TABLES {
        let mut select = connection.prepare(&format!("SELECT * FROM {table} ORDER BY session")).unwrap();
        let n_columns = select.column_count();
        let rows = select.query_map([], |row| {
            (0..n_columns)
                .map(|column| row.get::<_, rusqlite::types::Value>(column))
                .collect::<rusqlite::Result<Vec<_>>>()
        });
        lines.extend(rows.unwrap().map(|row| format!("{table} {:?}", row.unwrap())));
    }
    lines
}

fn in_one_go(segments: &[Segment]) -> Vec<String> {
    in_one_go_over(Transport::Stdio, segments)
}

fn in_one_go_over(transport: Transport, segments: &[Segment]) -> Vec<String> {
    let mut connection = database(transport);
    let numbered: Vec<_> = (0..).zip(segments.iter().cloned()).collect();
    insert_segments(&connection, 1, &numbered).unwrap();
    let mut deriver = Deriver::new(1, transport);
    while step(&mut deriver, &mut connection, true) == Step::More {}
    dump(&connection)
}

/// Derives with as many derivers as `turns` speaks of; each turn is a deriver and how many more segments are there.
fn in_turns(segments: &[Segment], turns: &[(usize, usize)]) -> Vec<String> {
    in_turns_over(Transport::Stdio, segments, turns)
}

fn in_turns_over(transport: Transport, segments: &[Segment], turns: &[(usize, usize)]) -> Vec<String> {
    let mut connection = database(transport);
    let mut derivers = [0; 3].map(|_| Deriver::new(1, transport));
    let mut coming = (0..).zip(segments.iter().cloned());
    for (who, n_segments) in turns {
        let some: Vec<_> = coming.by_ref().take(*n_segments).collect();
        insert_segments(&connection, 1, &some).unwrap();
        step(&mut derivers[*who], &mut connection, false);
    }
    let rest: Vec<_> = coming.collect();
    insert_segments(&connection, 1, &rest).unwrap();
    let mut turn = 0;
    while step(&mut derivers[turn % 2], &mut connection, true) == Step::More {
        turn += 1;
    }
    dump(&connection)
}

proptest! {
    #[test]
    fn derivers_that_take_turns_come_to_what_one_comes_to_in_one_go(
        segments in any_segments(), turns in prop::collection::vec((0..3usize, 0..3usize), 0..12),
    ) {
        prop_assert_eq!(in_turns(&segments, &turns), in_one_go(&segments));
    }

    #[test]
    fn the_same_holds_of_http(
        pieces in crate::http_traffic::pieces(true), borders in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
        turns in prop::collection::vec((0..3usize, 0..3usize), 0..12),
    ) {
        let segments = crate::http_traffic::pack_otherwise(&pieces, &[], &borders);
        let expected = in_one_go_over(Transport::Http, &segments);
        let found = in_turns_over(Transport::Http, &segments, &turns);
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
    }
}

/// A line that goes over many steps, with other traffic beside it.
fn a_long_line() -> Vec<Segment> {
    let mut segments = vec![Segment::default()];
    segments[0].push_chunk(Stream::ToClient, 1, 1, b"{\"id\":1,\"result\":\"");
    for number in 2..15 {
        let mut segment = Segment::default();
        segment.push_chunk(Stream::ToServer, number, number, b"{\"id\":1,\"method\":\"m\"}\n");
        segment.push_chunk(Stream::ToClient, number, number, &vec![b'x'; STEP_BYTES as usize / 3]);
        segments.push(segment);
    }
    segments.push(Segment::default());
    segments[14].push_chunk(Stream::ToClient, 20, 20, b"\"}\n");
    segments
}

#[test]
fn a_line_longer_than_a_step_is_the_same_whoever_goes_on_with_it() {
    let segments = a_long_line();
    let expected = in_one_go(&segments);
    assert_eq!(expected.len(), 1 + 14, "a digest, 13 requests, an answer");
    for turns in [
        &[(0, 15), (1, 0)][..],
        &[(0, 7), (0, 0), (1, 4), (2, 2), (0, 0), (1, 0), (2, 0), (2, 0)],
        &[(0, 3), (1, 3), (0, 3), (1, 3), (0, 3)],
    ] {
        assert_eq!(in_turns(&segments, turns), expected, "turns {turns:?}");
    }
}

#[test]
fn whoever_dies_while_he_repeats_a_long_line_leaves_it_as_it_was() {
    let segments = a_long_line();
    let numbered: Vec<_> = (0..).zip(segments.iter().cloned()).collect();
    let mut connection = database(Transport::Stdio);
    insert_segments(&connection, 1, &numbered[..14]).unwrap();
    let mut first = Deriver::new(1, Transport::Stdio);
    while step(&mut first, &mut connection, false) == Step::More {}
    insert_segments(&connection, 1, &numbered[14..]).unwrap();
    // Each makes one step, in which he cannot even repeat all of it.
    for _ in 0..3 {
        step(&mut Deriver::new(1, Transport::Stdio), &mut connection, false);
    }
    let mut last = Deriver::new(1, Transport::Stdio);
    while step(&mut last, &mut connection, true) == Step::More {}
    assert_eq!(dump(&connection), in_one_go(&segments));
}

#[test]
fn several_who_work_it_out_at_the_same_time_come_to_the_same() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    let segments: Vec<_> = (0..24).map(|number| crate::traffic::large(number, STEP_BYTES as usize / 2)).collect();
    let store = crate::Store::open_or_create(&path).unwrap();
    let id = store.put_in(&start("a", None), segments.iter().cloned().map(Ok), || None).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| crate::Store::open(&path).unwrap().catch_up(id, |_| {}).unwrap());
        }
    });
    assert_eq!(dump(&Connection::open(&path).unwrap()), in_one_go(&segments));
}

/// One of some derivers, and what it does: more segments come, then it reads, or writes what it has read.
#[derive(Debug, Clone, Copy)]
enum Turn {
    Step(usize, usize),
    Read(usize, usize),
    Write(usize),
}

/// Derives in these turns, and says how many segments each deriver has read.
fn in_halves(segments: &[Segment], turns: &[Turn]) -> (Vec<String>, Vec<u64>) {
    let mut connection = database(Transport::Http);
    let mut derivers = [0; 3].map(|_| Deriver::new(1, Transport::Http));
    let mut coming = (0..).zip(segments.iter().cloned());
    let mut come = |connection: &Connection, n_segments: usize| {
        let some: Vec<_> = coming.by_ref().take(n_segments).collect();
        insert_segments(connection, 1, &some).unwrap();
    };
    for turn in turns {
        match *turn {
            Turn::Step(who, n_segments) => {
                come(&connection, n_segments);
                step(&mut derivers[who], &mut connection, false);
            }
            Turn::Read(who, n_segments) => {
                come(&connection, n_segments);
                derivers[who].read_on(&connection, false).unwrap();
            }
            Turn::Write(who) => {
                derivers[who].write(&mut connection, Immediate, Step::More).unwrap();
            }
        }
    }
    come(&connection, segments.len());
    let mut turn = 0;
    while step(&mut derivers[turn % 3], &mut connection, true) == Step::More {
        turn += 1;
    }
    (dump(&connection), derivers.iter().map(|deriver| deriver.n_read).collect())
}

fn any_turn() -> impl Strategy<Value = Turn> {
    prop_oneof![
        (0..3usize, 0..3usize).prop_map(|(who, n_segments)| Turn::Step(who, n_segments)),
        (0..3usize, 0..3usize).prop_map(|(who, n_segments)| Turn::Read(who, n_segments)),
        (0..3usize).prop_map(Turn::Write),
    ]
}

proptest! {
    #[test]
    fn who_loses_against_another_keeps_what_he_has_read(
        pieces in crate::http_traffic::pieces(true), borders in prop::collection::vec(any::<prop::sample::Index>(), 1..20),
        turns in prop::collection::vec(any_turn(), 0..30),
    ) {
        let segments = crate::http_traffic::pack_otherwise(&pieces, &[], &borders);
        let (found, n_read) = in_halves(&segments, &turns);
        let expected = in_one_go_over(Transport::Http, &segments);
        prop_assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert_eq!(found, expected);
        }
        prop_assert!(n_read.iter().all(|n_read| *n_read <= segments.len() as u64), "{n_read:?} of {}", segments.len());
    }
}

/// Calls over HTTP, a segment each.
fn calls(n_calls: u64) -> Vec<Segment> {
    let json: &[(&str, &str)] = &[("content-type", "application/json")];
    let exchange = |number| {
        let (call, result) =
            (format!(r#"{{"id":{number},"method":"ping"}}"#), format!(r#"{{"id":{number},"result":{{}}}}"#));
        crate::http_traffic::exchange(number, ("POST /mcp", json, call.as_bytes()), (200, json, result.as_bytes()))
    };
    (1..=n_calls).flat_map(|number| crate::http_traffic::pack(&exchange(number), &[])).collect()
}

#[test]
fn of_two_who_follow_a_session_that_grows_each_reads_it_once_whoever_comes_first() {
    let segments = calls(120);
    let expected = in_one_go_over(Transport::Http, &segments);
    let in_turn: Vec<_> = (0..120).map(|turn| Turn::Step(turn % 2, 1)).collect();
    // The first always loses: what it has read is written by the second before.
    let lost: Vec<_> =
        (0..40).flat_map(|_| [Turn::Read(1, 1), Turn::Read(0, 2), Turn::Write(1), Turn::Write(0)]).collect();
    let lost_to_more: Vec<_> = (0..40).flat_map(|_| [Turn::Read(0, 1), Turn::Step(1, 2), Turn::Write(0)]).collect();
    for turns in [in_turn, lost, lost_to_more] {
        let (found, n_read) = in_halves(&segments, &turns);
        assert_eq!(found, expected);
        assert!(n_read.iter().all(|n_read| *n_read <= 120) && n_read.iter().sum::<u64>() <= 360, "{n_read:?}");
    }
}

#[test]
fn who_reads_a_session_that_its_tap_has_worked_out_reads_nothing_again() {
    let segments = calls(10);
    let numbered: Vec<_> = (0..).zip(segments.iter().cloned()).collect();
    let mut connection = database(Transport::Http);
    insert_segments(&connection, 1, &numbered[..9]).unwrap();
    while step(&mut Deriver::new(1, Transport::Http), &mut connection, false) == Step::More {}
    let mut reader = Deriver::new(1, Transport::Http);
    assert_eq!((step(&mut reader, &mut connection, false), reader.n_read), (Step::UpToDate, 0));
    insert_segments(&connection, 1, &numbered[9..]).unwrap();
    assert_eq!((step(&mut reader, &mut connection, false), reader.n_read), (Step::UpToDate, 10));
    assert!(!reader.should_rather_wait(&connection).unwrap());
}

#[test]
fn a_position_behind_all_that_there_is_is_none() {
    let segments = calls(3);
    let numbered: Vec<_> = (0..).zip(segments.iter().cloned()).collect();
    let mut connection = database(Transport::Http);
    insert_segments(&connection, 1, &numbered).unwrap();
    while step(&mut Deriver::new(1, Transport::Http), &mut connection, false) == Step::More {}
    connection.execute("UPDATE digest SET position = '{\"http\":9,\"frames\":1}'", []).unwrap();
    let mut deriver = Deriver::new(1, Transport::Http);
    while step(&mut deriver, &mut connection, true) == Step::More {}
    assert_eq!(dump(&connection), in_one_go_over(Transport::Http, &segments));
}

#[test]
fn who_would_read_much_again_to_add_little_rather_waits_for_the_tap() {
    let json: &[(&str, &str)] = &[("content-type", "application/json")];
    let body = vec![b' '; READ_AGAIN_BYTES as usize / 4];
    let exchange = |number| {
        crate::http_traffic::pack(
            &crate::http_traffic::exchange(number, ("POST /", json, &body), (200, json, b"")),
            &[],
        )
    };
    let numbered: Vec<_> = (0..).zip((1..7).flat_map(exchange)).collect();
    let mut connection = database(Transport::Http);
    insert_segments(&connection, 1, &numbered[..5]).unwrap();
    let reader = Deriver::new(1, Transport::Http);
    assert!(!reader.should_rather_wait(&connection).unwrap(), "nobody has begun");
    let mut tap = Deriver::new(1, Transport::Http);
    while step(&mut tap, &mut connection, false) == Step::More {}
    insert_segments(&connection, 1, &numbered[5..]).unwrap();
    assert!(reader.should_rather_wait(&connection).unwrap());
    assert!(!tap.should_rather_wait(&connection).unwrap());
}
