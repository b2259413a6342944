//! Tests of reading: lists page through all rows, frames are found by their number, and live sessions are known.

use proptest::prelude::*;
use tap_frame::Frame;
use tap_session::Recorded;
use tempfile::TempDir;

use super::*;
use crate::Recorder;
use crate::traffic::{any_segments, recorded, segments, start, stored};

proptest! {
    #[test]
    fn every_frame_is_found_by_its_number_as_it_was_recorded(segments in any_segments()) {
        let (store, id) = stored(&segments, None);
        let mut n_frames = 0;
        for recorded in recorded(&store, id) {
            if let Recorded::Frame(frame) = recorded {
                n_frames += 1;
                prop_assert_eq!(store.frame(id, frame.seq).unwrap(), Some(frame));
            }
        }
        prop_assert_eq!(store.frame(id, n_frames + 1).unwrap(), None);
        prop_assert_eq!(store.sessions().unwrap()[0].digest.n_frames, n_frames);
        prop_assert_eq!(store.session(id).unwrap(), store.sessions().unwrap().pop());
        prop_assert_eq!(store.session(SessionId(id.0 + 1)).unwrap(), None);
        for listed in store.list(id, ListKind::Frames, Part::From(0), u64::MAX).unwrap() {
            let row = store.row(id, listed.row.at).unwrap();
            let behind = At { member: listed.row.at.member + 100_000, ..listed.row.at };
            prop_assert_eq!((row, store.row(id, behind).unwrap()), (Some(listed), None));
        }
    }

    #[test]
    fn frames_from_any_number_on_are_those_that_were_recorded(segments in any_segments(), first in 0..9u64) {
        let (store, id) = stored(&segments, None);
        let all = recorded(&store, id).into_iter().filter_map(|recorded| match recorded {
            Recorded::Frame(frame) => Some(frame),
            Recorded::End { .. } => None,
        });
        let expected: Vec<Frame> = all.filter(|frame| frame.seq >= first).collect();
        let found: Vec<Frame> = store.frames(id, first).collect::<Result<_, _>>().unwrap();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn pages_in_either_direction_hold_every_row_once(segments in any_segments(), limit in 1..5u64) {
        let (store, id) = stored(&segments, None);
        for kind in [ListKind::Calls, ListKind::Frames] {
            let all = store.list(id, kind, Part::From(0), 10_000).unwrap();
            let mut forward: Vec<Listed> = Vec::new();
            let mut next = 0;
            loop {
                // A page ends in the middle of a batch at worst, so the next one begins with its frame again.
                let page = store.list(id, kind, Part::From(next), limit + 3).unwrap();
                let Some(last) = page.last().map(|listed| listed.row.at) else { break };
                forward.retain(|listed| listed.row.at.seq < next);
                forward.extend(page);
                next = if last.seq > next { last.seq } else { last.seq + 1 };
            }
            prop_assert_eq!(&forward, &all);
            let last = store.list(id, kind, Part::UpTo(u64::MAX), limit).unwrap();
            let skipped = all.len().saturating_sub(limit as usize);
            prop_assert_eq!(&last, &all[skipped..]);
        }
    }
}

#[test]
fn the_list_of_calls_holds_requests_with_their_answers_and_what_is_no_message() {
    let script = r#"
-> {"id":1,"method":"a"}
<- {"id":1,"result":{}}
!! noise
<- banner
<- [{"id":2,"method":"b"}]
-> {"method":"n"}
gap -> 5
<- 7
"#;
    let (store, id) = stored(&segments(script), None);
    let calls = store.list(id, ListKind::Calls, Part::From(0), 100).unwrap();
    let found: Vec<_> =
        calls.iter().map(|listed| (listed.row.at.seq, listed.row.kind.name(), listed.answer_length)).collect();
    assert_eq!(
        found,
        [
            (1, "request", Some(21)),
            (4, "not JSON", None),
            (5, "request", None),
            (7, "gap", None),
            (8, "not a message", None)
        ]
    );
    assert_eq!(store.row(id, At { seq: 5, member: 1 }).unwrap().unwrap().row.method.as_deref(), Some("b"));
    assert_eq!(store.row(id, At { seq: 5, member: 2 }).unwrap(), None);
}

#[test]
fn a_store_opened_before_the_first_tap_sees_that_it_lives_and_goes_on_with_it() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    let store = Store::open_or_create(&path).unwrap();
    let mut recorder = Recorder::new(path, start("a", Some(1)), Box::new(|told| panic!("{told}")));
    recorder.record(segments("-> {\"id\":1,\"method\":\"a\"}"));
    let session = store.sessions().unwrap().remove(0);
    assert!(session.live);
    store.catch_up(session.id, |_| {}).unwrap();
    recorder.record(segments("<- {\"id\":1,\"result\":1}"));
    store.catch_up(session.id, |_| {}).unwrap();
    assert_eq!(store.sessions().unwrap()[0].digest.n_frames, 2);
    drop(recorder);
    assert!(!store.is_live(session.id));
}

#[test]
fn damage_in_one_segment_is_told_and_the_rest_is_read() {
    let mut all = segments("-> 1\n--\n-> 2\n--\n-> 3");
    all[1].pieces = vec![0, 0, 100];
    let (store, id) = stored(&all, None);
    let found: Vec<String> = store
        .recorded(id)
        .map(|recorded| match recorded {
            Ok(Recorded::Frame(frame)) => String::from_utf8_lossy(&frame.bytes).trim().to_string(),
            Ok(Recorded::End { .. }) => "end".into(),
            Err(error) => error.to_string(),
        })
        .collect();
    let damage = "session 1 is damaged in segment 1: piece header at byte 0 promises more bytes than there are";
    assert_eq!(found, ["1", damage, "3"]);
}
