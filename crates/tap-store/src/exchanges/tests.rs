//! Tests of recordings over HTTP in a database: all that was read is found again, by number and by session.

use proptest::prelude::*;
use tap_frame::{Frame, Origin, Segment};
use tap_session::{HttpSessionNumber, Recorded, RowKind};

use super::*;
use crate::http_traffic::{What, exchange, pack, pack_otherwise, pieces};
use crate::traffic::{http_start, http_stored, recorded};
use crate::{ListKind, Part, Recorder};

/// All that a recording holds, by reading it.
fn reads(segments: &[Segment]) -> Vec<Read> {
    let (mut reading, mut reads) = (HttpReading::new(), Vec::new());
    for segment in segments {
        reading.feed(segment, &mut |read, _| reads.push(read)).unwrap();
    }
    reading.finish(&mut |read, _| reads.push(read));
    reads
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn every_frame_and_exchange_is_found_as_it_was_read(
        pieces in pieces(true),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        borders in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        first in 1..9u64,
    ) {
        let segments = pack_otherwise(&pieces, &cuts, &borders);
        let reads = reads(&segments);
        let (store, id) = http_stored(&segments);
        let frames: Vec<Frame> = reads.iter().filter_map(|read| Some(read.frame.as_ref()?.frame.clone())).collect();
        for frame in &frames {
            let found = store.frame(id, frame.seq).unwrap().unwrap();
            prop_assert_eq!(&found, frame);
            let start = store.frame_start(id, frame.seq, 5).unwrap();
            prop_assert_eq!(&start[..], &frame.bytes[..frame.bytes.len().min(5)]);
        }
        let found: Vec<Frame> = store.frames(id, first).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(&found[..], frames.get(first as usize - 1..).unwrap_or_default());
        let all: Vec<Recorded> = frames.iter().cloned().map(Recorded::Frame).collect();
        prop_assert_eq!(recorded(&store, id), all);
        prop_assert_eq!(store.sessions().unwrap()[0].digest.n_frames, frames.len() as u64);
        let refused: Vec<HttpSessionNumber> = reads.iter().filter_map(|read| read.refused).collect();
        for number in 1..9 {
            let last = reads.iter().filter_map(|read| read.exchange.as_ref()).filter(|known| known.number == number).last();
            let mut expected = last.map(|last| (**last).clone());
            if let Some(last) = &mut expected {
                last.conversation = last.conversation.filter(|number| !refused.contains(number));
            }
            prop_assert_eq!(store.exchange(id, number).unwrap(), expected.clone());
            // Rows say of an exchange what it says of itself.
            for seq in store.frames_of_exchange(id, number).unwrap() {
                let listed = store.row(id, tap_session::At { seq, member: 0 }).unwrap().unwrap();
                prop_assert_eq!(listed.exchange, Some(number));
                if let Some(last) = &expected && last.request_seq.is_some_and(|first| first <= seq) {
                    prop_assert_eq!(listed.conversation, last.conversation);
                }
            }
        }
        for conversation in store.conversations(id).unwrap() {
            let listed = store.list_of(id, Some(conversation.number), ListKind::Frames, Part::From(0), 1_000).unwrap();
            prop_assert!(listed.iter().all(|listed| listed.conversation == Some(conversation.number)));
            let n_calls = listed.iter().filter(|listed| listed.row.kind == RowKind::Request).count();
            prop_assert_eq!(conversation.n_calls, n_calls as u64);
        }
    }
}

const CALL: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#;
const POST: &[(&str, &str)] =
    &[("content-type", "application/json"), ("accept", "application/json, text/event-stream")];
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

fn two_calls() -> Vec<What> {
    let answer = r#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
    [
        exchange(1, ("POST /mcp", POST, CALL.as_bytes()), (200, JSON, answer.as_bytes())),
        exchange(2, ("POST /token", &[], b"grant_type=x"), (400, &[], b"no")),
        exchange(3, ("GET /sick", &[], b""), (503, &[], b"")),
        exchange(4, ("POST /mcp", POST, CALL.as_bytes()), (404, &[], b"<html>")),
    ]
    .concat()
}

#[test]
fn the_list_of_calls_holds_requests_and_exchanges_without_a_message() {
    let (store, id) = http_stored(&pack(&two_calls(), &[3, 9]));
    let calls = store.list(id, ListKind::Calls, Part::From(0), 100).unwrap();
    let found: Vec<_> = calls
        .iter()
        .map(|listed| {
            let row = &listed.row;
            (row.at.seq, row.kind.name(), row.error_code.as_deref(), listed.answer_length, listed.exchange)
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, "request", None, Some(36), Some(1)),
            (3, "exchange", Some("400"), None, Some(2)),
            (5, "exchange", Some("503"), None, Some(3)),
            (6, "request", Some("HTTP 404"), Some(6), Some(4)),
        ]
    );
    assert!(store.unanswered(id).unwrap().is_empty());
    let digest = &store.sessions().unwrap()[0].digest;
    assert_eq!((digest.n_frames, digest.n_messages, digest.n_calls, digest.n_errors), (7, 3, 2, 2));
    assert_eq!(store.raw(id, 2, HttpPart::RequestBody).unwrap(), "grant_type=x");
    assert_eq!(store.raw(id, 4, HttpPart::ResponseBody).unwrap(), "<html>");
    let known = store.exchange(id, 1).unwrap().unwrap();
    assert_eq!(
        (known.status, known.connect_ns, known.request.field("Accept")),
        (Some(200), Some(1234), Some(POST[1].1))
    );
    assert_eq!(store.exchanges(id, 2, 2).unwrap().iter().map(|known| known.number).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(store.exchange(id, 9).unwrap(), None);
}

#[test]
fn a_session_that_grows_is_read_by_another_process_as_it_grows() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    let reader = Store::open_or_create(&path).unwrap();
    let mut recorder = Recorder::new(path.clone(), http_start("a", Some(1)), Box::new(|told| panic!("{told}")));
    let pieces = two_calls();
    let borders: Vec<usize> = (0..pieces.len()).collect();
    let segments = pack(&pieces, &borders);
    let mut n_frames = 0;
    for segment in &segments {
        recorder.record(vec![segment.clone()]);
        let session = reader.sessions().unwrap().remove(0);
        assert!(session.live);
        // One goes on with what he has read, another reads from the beginning, now and then the tap itself does it.
        reader.catch_up(session.id, |_| {}).unwrap();
        Store::open(&path).unwrap().catch_up(session.id, |_| {}).unwrap();
        n_frames = reader.sessions().unwrap()[0].digest.n_frames;
    }
    assert_eq!(n_frames, 7);
    let id = reader.sessions().unwrap()[0].id;
    let mut followed = 0;
    let reading = reader.read_http::<StoreError>(id, |read, _| {
        followed += u64::from(read.frame.is_some());
        Ok(ControlFlow::Continue(()))
    });
    assert_eq!((followed, reading.unwrap().n_frames()), (7, 7));
    recorder.finish(crate::SessionEnd { at_ns: 1_000_000, reason: Some(crate::EndReason::Stopped), lost_bytes: 0 });
    reader.catch_up(id, |_| {}).unwrap();
    assert_eq!(crate::traffic::told(&reader), crate::traffic::told(&Store::open(&path).unwrap()));
    assert_eq!(reader.exchanges(id, 1, 10).unwrap(), http_stored(&segments).0.exchanges(SessionId(1), 1, 10).unwrap());
}

#[test]
fn reading_stops_where_it_is_told_to() {
    let (store, id) = http_stored(&pack(&two_calls(), &[3, 9]));
    let mut seen = Vec::new();
    let reading = store.read_http::<StoreError>(id, |read, _| {
        seen.extend(read.frame.map(|read| read.frame.seq));
        Ok(if seen.len() == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    });
    assert_eq!(seen, [1, 2]);
    assert!(reading.unwrap().n_frames() < 7);
}

#[test]
fn damage_in_one_segment_is_told_and_what_is_before_it_is_read() {
    let mut segments = pack(&two_calls(), &[7, 14]);
    segments[1].pieces = vec![3, 1, 0, 100];
    let (store, id) = http_stored(&segments);
    let told: Vec<String> = store
        .recorded(id)
        .map(|recorded| match recorded {
            Ok(Recorded::Frame(frame)) => format!("{:?} {}", frame.stream, frame.bytes.len()),
            Ok(Recorded::End { .. }) => "end".into(),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(told[..2], ["ToServer 71".to_owned(), "ToClient 36".to_owned()]);
    assert!(told[2].starts_with("session 1 is damaged in segment 1"), "{told:?}");
    assert!(told.len() > 3, "{told:?}");
    let read = store.read_http::<StoreError>(id, |_, _| Ok(ControlFlow::Continue(())));
    assert!(matches!(read, Err(StoreError::Damaged { number: 1, .. })));
    assert_eq!(store.frame(id, 2).unwrap().unwrap().origin, Origin::Wire);
}
