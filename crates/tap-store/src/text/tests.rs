//! Tests of the text form: what was exported comes back equal, and what makes no sense is refused with its line.

use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::traffic::{any_segments, recorded, segments, start, stored};
use crate::{SessionEnd, SessionId};

fn exported(store: &Store, id: SessionId) -> String {
    let sessions = store.sessions().unwrap();
    let session = sessions.iter().find(|session| session.id == id).unwrap();
    let mut out = Vec::new();
    export(store, session, &ExportOptions::default(), None, &mut out, Path::new("out")).unwrap();
    String::from_utf8(out).unwrap()
}

/// The newest session as text.
fn exported_as(store: &Store, options: &ExportOptions) -> String {
    let mut out = Vec::new();
    export(store, &store.sessions().unwrap()[0], options, None, &mut out, Path::new("out")).unwrap();
    String::from_utf8(out).unwrap()
}

fn part_of(range: std::ops::RangeInclusive<u64>, first: u64) -> ExportOptions {
    ExportOptions { chosen: Chosen::Range(range), first, ..ExportOptions::default() }
}

fn imported(text: impl AsRef<[u8]>) -> Result<(Store, Imported), StoreError> {
    let store = Store::in_memory().unwrap();
    let imported = import(&store, Cursor::new(text.as_ref()), Path::new("a.jsonl"), "other")?;
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

#[path = "tests/acts.rs"]
mod acts;
#[path = "tests/captures.rs"]
mod captures;
#[path = "tests/fixture.rs"]
mod fixtures;
#[path = "tests/folding.rs"]
mod folding;
#[path = "tests/schema.rs"]
mod schema;

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
        match import(&store, Cursor::new(&text[..]), Path::new("a.jsonl"), "other") {
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
    assert_eq!(export(&store, &session, &part_of(2..=3, 1), None, &mut out, Path::new("out")).unwrap().n_frames, 2);
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().skip(1).count(), 2, "{text}");
    assert_eq!(session.id, id);
    // A part says so, also as a part of a part; all of it does not.
    let (part, done) = imported(&text).unwrap();
    assert_eq!(done.first, 2);
    for (range, first) in [(0..=u64::MAX, 2), (1..=1, 2), (2..=9, 3)] {
        let mut out = Vec::new();
        export(
            &part,
            &part.sessions().unwrap()[0],
            &part_of(range.clone(), done.first),
            None,
            &mut out,
            Path::new("out"),
        )
        .unwrap();
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
    // What is known, but is nothing that passed, is not told of.
    assert_eq!((done.n_frames, done.n_unknown), (1, 2));
    assert_eq!(recorded(&store, done.session).len(), 1);
}

#[test]
fn a_recording_that_is_there_already_gets_another_uuid() {
    let (store, id) = stored(&segments("-> 1"), None);
    let text = exported(&store, id);
    let done = import(&store, Cursor::new(text.as_bytes()), Path::new("a"), "other").unwrap();
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
        (&["", " "], 2, "the file is empty"),
        (&["hello"], 1, "not a record: a JSON object must begin here, and `hello` does"),
        (&[good], 1, "no recording of mcp-tap begins like this"),
        (
            &["{\"mcp-tap\":\"recording/4\",\"command\":{\"now\":\"an object\"}}"],
            1,
            "the format is recording/4, and this mcp-tap knows recording/1, recording/2 and recording/3: update mcp-tap",
        ),
        (&["{\"mcp-tap\":\"recording/1\",\"command\":7}"], 1, "no recording of mcp-tap begins like this"),
        (&[header, good, "", "{\"to\":"], 4, "not a record: the file ends before this record does"),
        (&[header, good, "{\"to\":\"", ""], 3, "not a record: the file ends inside a string"),
        (&[header, "[1]"], 2, "not a record"),
        (&[header, good, "{\"to\":\"client\",", " \"msg\":{", "  \"a\" 1}}"], 5, "not a record: expected `:`"),
        (&[header, good, "}", good], 3, "not a record: a JSON object must begin here, and `}` does"),
        (&[header, good, header], 3, "a second recording begins here"),
        (&[header, "{\"to\":\"client\",\"msg\":{},\"style\":\"wide\"}"], 2, "`style` must be compact or spaced"),
        (&["{\"mcp-tap\":\"recording/1\",\"profile\":\"short\"}"], 1, "`profile` must be lossless or fixture"),
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
        let error = import(&store, Cursor::new(lines.join("\n")), Path::new("a.jsonl"), "other").unwrap_err();
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

/// All that can be told of what came of a recording over HTTP, without where it lies.
fn told_over_http(store: &Store, id: SessionId) -> String {
    let mut told = String::new();
    store
        .read_http::<StoreError>(id, |mut read, _| {
            if let Some(frame) = &mut read.frame {
                frame.place = tap_session::Place { segment: 0, offset: 0 };
                if let Some(source) = frame.source.as_mut().filter(|source| source.compressed) {
                    source.raw_length = 0;
                }
            }
            if let Some(exchange) = &mut read.exchange {
                let exchange = std::sync::Arc::make_mut(exchange);
                (exchange.first_segment, exchange.last_segment) = (0, 0);
                if exchange.ended_at_ns.is_none() {
                    (exchange.request_bytes, exchange.response_bytes) = (0, 0);
                }
            }
            told.push_str(&format!("{read:?}\n"));
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    for number in 1..9 {
        for part in tap_frame::HttpPart::ALL {
            told.push_str(&format!("{number} {part:?} {:?}\n", store.raw(id, number, part).unwrap()));
        }
    }
    told
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn exchanges_come_back_as_they_were(
        pieces in crate::http_traffic::pieces(true),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        borders in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
        end in any_end(),
    ) {
        let segments = crate::http_traffic::pack_otherwise(&pieces, &cuts, &borders);
        let store = Store::in_memory().unwrap();
        let start = crate::traffic::http_start("a", None);
        let id = store.put_in(&start, segments.iter().cloned().map(Ok), || end.clone()).unwrap();
        store.catch_up(id, |_| {}).unwrap();
        let text = exported(&store, id);
        let (again, session) = imported(&text).unwrap();
        again.catch_up(session.session, |_| {}).unwrap();
        let [expected, found] = [told_over_http(&store, id), told_over_http(&again, session.session)];
        for (found, expected) in found.lines().zip(expected.lines()) {
            prop_assert_eq!(found, expected, "{}", &text);
        }
        prop_assert_eq!(found.lines().count(), expected.lines().count());
        prop_assert_eq!(exported(&again, session.session), text);
        let [before, after] = [&store, &again].map(|store| store.sessions().unwrap().remove(0));
        prop_assert_eq!((after.start, after.end), (before.start, end));
        prop_assert_eq!((session.n_frames, session.n_unknown), (before.digest.n_frames, 0));
    }

    #[test]
    fn no_damage_to_a_recording_over_http_makes_the_import_panic(
        pieces in crate::http_traffic::pieces(true),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0..3), 1..6),
    ) {
        let (store, id) = crate::traffic::http_stored(&crate::http_traffic::pack(&pieces, &[]));
        let mut text = exported(&store, id).into_bytes();
        for (index, byte, what) in damage {
            let place = index.index(text.len());
            match what {
                0 => text[place] = byte,
                1 => text.insert(place, byte),
                _ => drop(text.remove(place)),
            }
        }
        let store = Store::in_memory().unwrap();
        match import(&store, Cursor::new(&text[..]), Path::new("a.jsonl"), "other") {
            Ok(imported) => store.catch_up(imported.session, |_| {}).unwrap(),
            Err(error) => prop_assert!(matches!(error, StoreError::Text { .. }), "{error}"),
        }
    }
}

fn some_exchanges() -> Vec<crate::http_traffic::What> {
    use crate::http_traffic::{What, exchange, gzip};
    use tap_frame::HttpPart;
    let call = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#;
    let post: &[(&str, &str)] = &[("content-type", "application/json"), ("mcp-name", "é")];
    let stream: &[(&str, &str)] = &[("content-type", "text/event-stream")];
    let events = b"event: message\r\ndata: {\"id\":2, \"result\":{}}\r\n\r\n: ping\n\nid: 7\ndata: {\"half\"";
    let mut pieces = exchange(7, ("POST /mcp", post, call), (200, stream, events));
    let end = pieces.len() - 1;
    pieces.insert(end, What::Gap(7, HttpPart::ResponseBody, 12));
    pieces.push(What::Stderr(b"oops\n".to_vec()));
    let json: &[(&str, &str)] = &[("content-type", "application/json"), ("content-encoding", "gzip")];
    pieces.extend(exchange(8, ("GET /x", &[], b""), (200, json, &gzip(b"{}"))));
    pieces.extend(exchange(9, ("POST /mcp", post, b"{bad"), (400, &[], b" {\"error\":{}}\n")));
    pieces
}

#[test]
fn the_text_form_of_exchanges_is_what_its_page_says() {
    let (store, id) = crate::traffic::http_stored(&crate::http_traffic::pack(&some_exchanges(), &[]));
    let expected = r#"
{"http":7,"connection":1,"request":"POST /mcp HTTP/1.1","headers":[["content-type","application/json"],["mcp-name","é"]],"at":0.000000000}
{"http":7,"to":"server","at":0.000001000,"msg":{"jsonrpc":"2.0","id":2,"method":"tools/call"}}
{"http":7,"request_end":true,"at":0.000002000}
{"http":7,"connected":"HTTP/2.0","connect_ns":1234,"at":0.000003000}
{"http":7,"status":200,"version":"HTTP/2.0","headers":[["content-type","text/event-stream"]],"at":0.000004000}
{"http":7,"to":"client","before":"event: message\r\ndata: ","after":"\r\n\r\n","at":0.000005000,"msg":{"id":2, "result":{}}}
{"http":7,"to":"client","raw":": ping\n\nid: 7\ndata: {\"half\"","at":0.000006000}
{"http":7,"to":"client","gap":12,"at":0.000006000}
{"http":7,"http_end":"whole","at":0.000007000}
{"stderr":"oops","at":0.000008000}
{"http":8,"connection":1,"request":"GET /x HTTP/1.1","headers":[],"at":0.000009000}
{"http":8,"request_end":true,"at":0.000010000}
{"http":8,"connected":"HTTP/2.0","connect_ns":1234,"at":0.000011000}
{"http":8,"status":200,"version":"HTTP/2.0","headers":[["content-type","application/json"],["content-encoding","gzip"]],"at":0.000012000}
{"http":8,"to":"client","raw":"","at":0.000013000}
{"http":8,"to":"client","base64":"H4sIAAAAAAAE/6uuBQBDv6ajAgAAAA==","at":0.000014000}
{"http":8,"http_end":"whole","at":0.000014000}
{"http":9,"connection":1,"request":"POST /mcp HTTP/1.1","headers":[["content-type","application/json"],["mcp-name","é"]],"at":0.000015000}
{"http":9,"to":"server","raw":"","at":0.000016000}
{"http":9,"to":"server","raw":"{bad","at":0.000017000}
{"http":9,"request_end":true,"at":0.000017000}
{"http":9,"connected":"HTTP/2.0","connect_ns":1234,"at":0.000018000}
{"http":9,"status":400,"version":"HTTP/2.0","headers":[],"at":0.000019000}
{"http":9,"to":"client","raw":"","at":0.000020000}
{"http":9,"to":"client","before":" ","after":"\n","at":0.000021000,"msg":{"error":{}}}
{"http":9,"http_end":"whole","at":0.000021000}
"#;
    let text = exported(&store, id);
    let (header, records) = text.split_once('\n').unwrap();
    assert!(header.starts_with(r#"{"mcp-tap":"recording/2""#), "{header}");
    assert_eq!(records.trim(), expected.trim());
}

#[test]
fn a_part_of_a_recording_over_http_keeps_what_its_frames_need() {
    use crate::http_traffic::exchange;
    let stream: &[(&str, &str)] = &[("content-type", "text/event-stream")];
    let call = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call"}"#;
    let events: String = (0..4).map(|number| format!("data: {{\"n\":{number}}}\n\n")).collect();
    let pieces = [
        exchange(1, ("POST /mcp", &[], call), (200, &[], b"{}")),
        exchange(2, ("POST /mcp", &[], call), (200, stream, events.as_bytes())),
        exchange(3, ("GET /", &[], b""), (200, &[], b"x")),
    ]
    .concat();
    let (store, id) = crate::traffic::http_stored(&crate::http_traffic::pack(&pieces, &[]));
    let session = store.sessions().unwrap().remove(0);
    for (range, kept) in [
        (5..=6, "2 request, 2 {\"n\":1}, 2 {\"n\":2}"),
        (7..=8, "2 request, 2 {\"n\":3}, 3 request"),
        (2..=2, "1 request, 1 {}"),
        (1..=1, "1 request"),
        (50..=60, ""),
    ] {
        let mut out = Vec::new();
        let Exported { n_frames, .. } =
            export(&store, &session, &part_of(range.clone(), 1), None, &mut out, Path::new("out")).unwrap();
        assert_eq!(n_frames, range.clone().filter(|seq| *seq <= 9).count() as u64);
        let (part, done) = imported(&out).unwrap();
        part.catch_up(done.session, |_| {}).unwrap();
        let found: Vec<String> = part
            .list(done.session, crate::ListKind::Frames, crate::Part::From(0), 100)
            .unwrap()
            .into_iter()
            .map(|listed| {
                let bytes = part.frame(done.session, listed.row.at.seq).unwrap().unwrap().bytes;
                let bytes = match listed.row.stream {
                    Stream::ToServer => "request".into(),
                    _ => String::from_utf8_lossy(&bytes).into_owned(),
                };
                format!("{} {bytes}", listed.exchange.unwrap())
            })
            .collect();
        assert_eq!(found.join(", "), kept, "{range:?} of {id:?}");
    }
}

#[test]
fn what_is_exported_while_it_runs_is_not_taken_for_the_recording_of_a_tap_that_was_killed() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("recordings.db");
    let start = start("a", Some(std::process::id()));
    let mut recorder = crate::Recorder::new(path.clone(), start, Box::new(|told| panic!("{told}")));
    recorder.record(segments("-> {\"id\":1,\"method\":\"ping\"}\n-> {\"id\":2,\"method\":\"ping\"}"));
    let store = Store::open(&path).unwrap();
    let exported = |store: &Store| {
        let (session, mut out) = (store.sessions().unwrap().remove(0), Vec::new());
        export(store, &session, &ExportOptions::default(), None, &mut out, Path::new("out")).unwrap();
        (session, out)
    };
    let (session, text) = exported(&store);
    assert!(session.live);
    let other = Store::in_memory().unwrap();
    import(&other, Cursor::new(&text[..]), Path::new("in"), "0123").unwrap();
    let end = Some(SessionEnd { at_ns: 2_000_000, reason: None, lost_bytes: 0 });
    assert_eq!(other.sessions().unwrap()[0].end, end);
    recorder.finish(SessionEnd { at_ns: 9, reason: None, lost_bytes: 0 });
    assert!(!exported(&store).0.live);
}
