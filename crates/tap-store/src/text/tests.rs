//! Tests of the text form: what was exported comes back equal, and what makes no sense is refused with its line.

use proptest::prelude::*;

use super::*;
use crate::traffic::{any_segments, recorded, segments, start, stored};

fn exported(store: &Store, id: SessionId) -> String {
    let sessions = store.sessions().unwrap();
    let session = sessions.iter().find(|session| session.id == id).unwrap();
    let mut out = Vec::new();
    export(store, session, &(0..=u64::MAX), 1, &mut out, Path::new("out")).unwrap();
    String::from_utf8(out).unwrap()
}

fn imported(text: impl AsRef<[u8]>) -> Result<(Store, Imported), StoreError> {
    let store = Store::in_memory().unwrap();
    let imported = import(&store, text.as_ref(), Path::new("a.jsonl"), "other")?;
    Ok((store, imported))
}

fn any_end() -> impl Strategy<Value = Option<SessionEnd>> {
    let reason = prop_oneof![
        Just(None),
        any::<i32>().prop_map(|code| Some(EndReason::Exited(code))),
        (1..32).prop_map(|number| Some(EndReason::Killed(number))),
        ".{0,9}".prop_map(|text| Some(EndReason::NotStarted(text))),
    ];
    let end = (0..u64::from(u32::MAX) * 100, reason, 0..3u64);
    prop::option::of(end.prop_map(|(at_ns, reason, lost_bytes)| SessionEnd { at_ns, reason, lost_bytes }))
}

proptest! {
    #[test]
    fn what_is_exported_and_imported_is_the_same_session_and_the_same_text(
        segments in any_segments(), end in any_end(),
    ) {
        let (store, id) = stored(&segments, end.clone());
        let text = exported(&store, id);
        let (again, session) = imported(&text).unwrap();
        prop_assert_eq!(recorded(&again, session.session), recorded(&store, id));
        prop_assert_eq!(exported(&again, session.session), text);
        let [before, after] = [&store, &again].map(|store| store.sessions().unwrap().remove(0));
        prop_assert_eq!((after.start, after.end), (before.start, end));
        prop_assert_eq!((session.n_frames, session.n_unknown), (before.digest.n_frames, 0));
    }

    #[test]
    fn no_damage_to_a_recording_makes_the_import_panic_or_leaves_half_of_it(
        segments in any_segments(),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..4), 1..6),
        insert in "[{}\\[\\]\",:0-9a-z\\\\\n]{0,4}",
    ) {
        let (store, id) = stored(&segments, None);
        let mut text = exported(&store, id).into_bytes();
        for (index, byte, what) in damage {
            let place = index.index(text.len().max(1)).min(text.len());
            match what {
                0 => text.truncate(place),
                1 => { text.splice(place..place, insert.bytes()); }
                2 => { text.splice(place..(place + 3).min(text.len()), []); }
                _ => text.iter_mut().skip(place).take(1).for_each(|at| *at = byte),
            }
        }
        let store = Store::in_memory().unwrap();
        match import(&store, &text[..], Path::new("a.jsonl"), "other") {
            Ok(imported) => {
                store.catch_up(imported.session, |_| {}).unwrap();
                let _ = exported(&store, imported.session);
            }
            Err(error) => {
                prop_assert!(matches!(error, StoreError::Text { .. }), "{error}");
                prop_assert_eq!(store.sessions().unwrap(), []);
            }
        }
    }
}

#[test]
fn the_text_form_is_what_its_page_says() {
    let script = r#"
-> {"id":1,  "method":"a\u0041"}
<- [1]
<- banner "x"
!! oops
gap <- 12
gap !! 3
end ->
"#;
    let mut all = segments(script);
    let mut odd = tap_frame::Segment::default();
    let opened = crate::traffic::OPENED_UNIX_NS;
    odd.push_chunk(Stream::ToServer, 1_500_000_000, opened + 5, b"{}\r\n");
    odd.push_chunk(Stream::ToServer, 1_500_000_001, opened + 6, b"\xff\n");
    odd.push_chunk(Stream::Stderr, 1_500_000_001, opened + 6, b"\xfe");
    all.push(odd);
    let end = SessionEnd { at_ns: 2_000_000_000, reason: Some(EndReason::Killed(9)), lost_bytes: 15 };
    let (store, id) = stored(&all, Some(end));
    let expected = r#"
{"mcp-tap":"recording/1","profile":"lossless","uuid":"0000000000000000000000000000000a","server":"a","command":["server","--flag"],"folder":"/home/x","environment":["PATH"],"transport":"stdio","recorded_unix_ns":1700000000000000000,"recorded_by":"mcp-tap 0.1.0","server_pid":4242}
{"to":"server","at":0.001000000,"msg":{"id":1,  "method":"a\u0041"}}
{"to":"client","at":0.002000000,"msg":[1]}
{"to":"client","raw":"banner \"x\"","at":0.003000000}
{"stderr":"oops","at":0.004000000}
{"to":"client","gap":12,"at":0.005000000}
{"stderr_gap":3,"at":0.006000000}
{"eof":"server","at":0.007000000}
{"to":"server","wall_ns":1700000000000000005,"eol":"crlf","at":1.500000000,"msg":{}}
{"to":"server","wall_ns":1700000000000000006,"base64":"/w==","at":1.500000001}
{"wall_ns":1700000000000000006,"eol":"none","stderr_base64":"/g==","at":1.500000001}
{"end":"killed","signal":9,"lost_bytes":15,"at":2.000000000}
"#;
    assert_eq!(exported(&store, id).trim(), expected.trim());
}

#[test]
fn a_part_of_a_session_is_exported_by_its_numbers() {
    let (store, id) = stored(&segments("-> 1\n<- 2\n!! 3\n-> 4"), None);
    let session = store.sessions().unwrap().remove(0);
    let mut out = Vec::new();
    assert_eq!(export(&store, &session, &(2..=3), 1, &mut out, Path::new("out")).unwrap(), 2);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().skip(1).count(), 2, "{text}");
    assert_eq!(session.id, id);
    // A part says so, also as a part of a part; all of it does not.
    let (part, done) = imported(&text).unwrap();
    assert_eq!(done.first, 2);
    for (range, first) in [(0..=u64::MAX, 2), (1..=1, 2), (2..=9, 3)] {
        let mut out = Vec::new();
        export(&part, &part.sessions().unwrap()[0], &range, done.first, &mut out, Path::new("out")).unwrap();
        assert_eq!(imported(&out).unwrap().1.first, first, "{range:?}");
    }
    assert!(!exported(&store, id).contains(r#""first""#));
    assert_eq!(imported(r#"{"mcp-tap":"recording/1","first":0}"#).unwrap().1.first, 1);
}

#[test]
fn a_recording_written_by_hand_needs_little() {
    let text = r#"
{"mcp-tap":"recording/1"}

{"to":"server","msg":{"id":1,"method":"ping"}}
{"to":"client","at":2,"msg":{"id":1,"result":{}}}
{"to":"client","msg":7,"eol":"lf"}
{"stderr":""}
"#;
    let (store, done) = imported(text).unwrap();
    assert_eq!((done.n_frames, done.n_unknown, done.uuid.as_str()), (4, 0, "other"));
    let found: Vec<_> = recorded(&store, done.session)
        .into_iter()
        .map(|recorded| match recorded {
            Recorded::Frame(frame) => (frame.at_ns, frame.bytes),
            Recorded::End { .. } => panic!("no stream ended"),
        })
        .collect();
    let second = 2_000_000_000;
    assert_eq!(
        found,
        [
            (0, &b"{\"id\":1,\"method\":\"ping\"}\n"[..]),
            (second, b"{\"id\":1,\"result\":{}}\n"),
            (second, b"7\n"),
            (second, b"\n")
        ]
        .map(|(at_ns, bytes)| (at_ns, bytes::Bytes::from_static(bytes)))
    );
    assert_eq!(store.sessions().unwrap()[0].start.name, "a", "the file's name, where there is no other");
}

#[test]
fn records_of_kinds_that_are_not_known_are_left_out_and_counted() {
    let text = r#"{"mcp-tap":"recording/1","new":[1]}
{"note":"hello","at":1}
{"to":"server","msg":{},"new":{"a":1}}
{"to":"server","new_content":"x"}
{}
"#;
    let (store, done) = imported(text).unwrap();
    assert_eq!((done.n_frames, done.n_unknown), (1, 3));
    assert_eq!(recorded(&store, done.session).len(), 1);
}

#[test]
fn a_recording_that_is_there_already_gets_another_uuid() {
    let (store, id) = stored(&segments("-> 1"), None);
    let text = exported(&store, id);
    let done = import(&store, text.as_bytes(), Path::new("a"), "other").unwrap();
    assert_eq!(done.uuid, "other");
    assert_eq!(recorded(&store, done.session), recorded(&store, id));
    assert_eq!(store.sessions().unwrap().len(), 2);
}

#[test]
fn a_line_that_makes_no_sense_is_named_and_nothing_is_put_in() {
    let header = "{\"mcp-tap\":\"recording/1\"}";
    let good = "{\"to\":\"client\",\"msg\":{}}";
    for (lines, line, told) in [
        (&[][..], 1, "the file is empty; a recording begins with a line {\"mcp-tap\":\"recording/1\",…}"),
        (&["", " "], 3, "the file is empty"),
        (&["hello"], 1, "no recording of mcp-tap begins like this"),
        (&[good], 1, "no recording of mcp-tap begins like this"),
        (
            &["{\"mcp-tap\":\"recording/2\",\"command\":{\"now\":\"an object\"}}"],
            1,
            "the format is recording/2, and this mcp-tap knows recording/1: update mcp-tap",
        ),
        (&["{\"mcp-tap\":\"recording/1\",\"command\":7}"], 1, "no recording of mcp-tap begins like this"),
        (&[header, good, "", "{\"to\":"], 4, "not a record: EOF while parsing"),
        (&[header, "[1]"], 2, "not a record"),
        (&[header, good, "{\"to\":\"nobody\",\"msg\":1}"], 3, "`to` must be server or client"),
        (&[header, "{\"eof\":\"nobody\"}"], 2, "`eof` must be server, client or stderr"),
        (&[header, "{\"to\":\"client\",\"raw\":\"\",\"eol\":\"cr\"}"], 2, "`eol` must be lf, crlf or none"),
        (&[header, "{\"to\":\"client\",\"base64\":\"?\"}"], 2, "bad base64"),
        (&[header, "{\"to\":\"client\",\"gap\":-1}"], 2, "not a record"),
        (&[header, "{\"end\":\"exited\",\"exit\":\"0\"}"], 2, "not a record"),
        (&[header, "{\"at\":\"1.0\",\"to\":\"client\",\"msg\":1}"], 2, "`at` must be seconds, such as 1.250000000"),
        (&[header, "{\"at\":1e3,\"to\":\"client\",\"msg\":1}"], 2, "`at` must be seconds"),
        (&[header, "{\"at\":-1,\"to\":\"client\",\"msg\":1}"], 2, "`at` must be seconds"),
        (&[header, "{\"at\":1.0000000001,\"to\":\"client\",\"msg\":1}"], 2, "`at` must be seconds"),
        (&[header, "{\"at\":18446744074,\"to\":\"client\",\"msg\":1}"], 2, "`at` must be seconds"),
    ] {
        let store = Store::in_memory().unwrap();
        let error = import(&store, lines.join("\n").as_bytes(), Path::new("a.jsonl"), "other").unwrap_err();
        let start = format!("a.jsonl line {line}: {told}");
        assert!(error.to_string().starts_with(&start), "lines {lines:?}: {error}");
        assert_eq!(store.sessions().unwrap(), [], "lines {lines:?}");
    }
    let error = imported(b"{\"mcp-tap\":\"recording/1\"}\n{\"stderr\":\"\xff\"}\n").unwrap_err();
    assert!(error.to_string().starts_with("a.jsonl line 2: not a record: invalid unicode"), "{error}");
}

#[test]
fn a_header_carries_all_that_is_known_of_a_session() {
    let (store, id) = stored(&[], None);
    let (again, done) = imported(exported(&store, id)).unwrap();
    assert_eq!(again.sessions().unwrap()[0].start, start("a", None));
    assert_eq!(recorded(&again, done.session), []);
}
