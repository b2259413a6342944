//! Going through time: by message, by call, by moment; and the same state whichever way it was reached.

use tap_frame::{HttpEnd, HttpHead, HttpPart, Segment};
use tap_inspector::Ticket;
use tap_store::{EndReason, ListKind, Part, Recorder, SessionEnd, SessionStart, Store, Transport};

use super::*;

#[test]
fn keys_go_through_time() {
    for (keys, done) in [
        (". Y", "copy demo:2"),
        (". . . . Y , Y", "copy demo:5, copy demo:4"),
        (", Y", "copy demo:1"),
        ("G . . . . Y", "copy demo:22"),
        ("> Y > Y > Y < Y", "copy demo:5, copy demo:8, copy demo:10, copy demo:8"),
        // From an answer, the call before it is its own.
        ("# '9' enter Y < Y", "copy demo:9, copy demo:8"),
        (") Y ) Y ( Y", "copy demo:6, copy demo:10, copy demo:6"),
        ("} Y } Y } Y { Y", "copy demo:6, copy demo:18, copy demo:18, copy demo:6"),
        ("# '8' enter * Y & Y", "copy demo:10, copy demo:8"),
        ("m G m g ' Y \" Y \" Y", "copy demo:20, copy demo:1, copy demo:20"),
        ("# + '200ms' enter Y", "copy demo:16"),
        ("# '12:00:00.006' enter Y", "copy demo:8"),
        (": '12' enter Y", "copy demo:12"),
        // The same message whether a row is a call or a message, and back to where it was.
        ("# '9' enter v Y v Y", "copy demo:9, copy demo:9"),
        ("# '9' enter # '13' enter ctrl-o Y ctrl-n Y", "copy demo:9, copy demo:13"),
        ("# '9' enter j Y", "copy demo:10"),
        ("4 . . Y 2 Y", "copy demo:3, copy demo:3"),
    ] {
        let was = look("demo.jsonl", SMALL, true, |bench| {
            bench.press(keys);
            bench.done.join(", ")
        });
        assert_eq!(was, done, "{keys}");
    }
}

#[test]
fn what_is_wrong_with_a_place_is_said() {
    for (keys, expected) in
        [("# '25:00' enter", "is no place"), ("# 'x' enter", "is no place"), ("# + '9h' enter", "was over by then")]
    {
        let screen = screen("demo.jsonl", LARGE, keys);
        assert!(screen.contains(expected), "{keys}:\n{screen}");
    }
}

#[test]
fn a_list_that_was_true_then_is_opened() {
    assert_snapshot!("state_tools", screen("demo.jsonl", SMALL, "4 # '9' enter enter"));
    // The same list is open at the next message, and is another one there.
    let keys = "# '6' enter 4 enter";
    let before = screen("modern.jsonl", LARGE, keys);
    let after = screen("modern.jsonl", LARGE, &format!("{keys} # '15' enter"));
    assert!(!before.contains("      cancel") && after.contains("      cancel"), "{before}\n{after}");
    assert!(!screen("modern.jsonl", LARGE, &format!("{keys} enter # '15' enter")).contains("      cancel"));
}

#[test]
fn what_a_message_ended_is_said() {
    let screen = screen("demo.jsonl", LARGE, "4 # '9' enter");
    assert!(screen.contains("  - in flight 8 -> id "), "{screen}");
}

/// A recording over HTTP of so many clients that call in turns, a segment an exchange.
fn segments(n_clients: u64, n_calls: u64) -> Vec<Segment> {
    let (mut segments, mut number, mut at_ns) = (Vec::new(), 0, 0);
    let json = ("content-type", "application/json");
    let mut exchange = |client: u64, body: String, answer: String| {
        number += 1;
        let mut segment = Segment::default();
        let id = format!("s{client}");
        let mut push = |part, bytes: &[u8]| {
            at_ns += 1_000_000;
            segment.push_http(number, part, at_ns, 1_700_000_000_000_000_000 + at_ns, bytes);
        };
        let head = |first: &str, fields: &[(&str, &str)]| {
            let mut text = Vec::new();
            HttpHead::begin(&mut text, first);
            fields.iter().for_each(|(name, value)| HttpHead::add(&mut text, name, value.as_bytes()));
            text
        };
        let own = ("mcp-session-id", &*id);
        let opens = body.contains("initialize");
        let asked = if opens { vec![json] } else { vec![json, own] };
        push(HttpPart::Request, &head(&format!("{client} POST /mcp HTTP/1.1"), &asked));
        push(HttpPart::RequestBody, body.as_bytes());
        push(HttpPart::RequestEnd, b"");
        push(HttpPart::Response, &head("HTTP/1.1 200", &[json, own]));
        push(HttpPart::ResponseBody, answer.as_bytes());
        push(HttpPart::End, &[HttpEnd::Whole.code()]);
        segments.push(segment);
    };
    for client in 1..=n_clients {
        exchange(
            client,
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#.into(),
            r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"2"}}}"#.into(),
        );
    }
    for call in 1..=n_calls {
        exchange(
            call % n_clients + 1,
            format!(r#"{{"jsonrpc":"2.0","id":{call},"method":"tools/call","params":{{"name":"t{}"}}}}"#, call % 7),
            format!(r#"{{"jsonrpc":"2.0","id":{call},"result":{{"content":[]}}}}"#),
        );
    }
    segments
}

fn start() -> SessionStart {
    SessionStart {
        uuid: "00000000000000000000000000000077".into(),
        name: "remote".into(),
        transport: Transport::Http,
        command: vec!["http://127.0.0.1:1/mcp".into()],
        folder: "/".into(),
        environment: Vec::new(),
        recorded_by: "test".into(),
        tap_pid: None,
        server_pid: None,
        opened_unix_ns: 1_700_000_000_000_000_000,
    }
}

#[test]
fn over_http_the_state_at_a_message_is_that_of_its_session_whichever_way_it_is_reached() {
    let store = Store::in_memory().unwrap();
    let segments = segments(3, 900).into_iter().map(Ok);
    let id = store.put_in(&start(), segments, || None).unwrap();
    store.catch_up(id, |_| {}).unwrap();
    let opened = Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: false };
    // As a fold from the beginning gives it.
    let mut expected = std::collections::BTreeMap::new();
    opened
        .store
        .read_http::<tap_store::StoreError>(id, |read, follower| {
            if let Some((frame, number)) = read.frame.as_ref().and_then(|frame| Some((frame, frame.conversation?))) {
                let state = follower.session(number).unwrap().state();
                let (n_ok, n_open) = (state.totals.n_ok, state.in_flight().len());
                expected.insert(frame.frame.seq, (number.0, n_ok, n_open));
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert_eq!(expected.len(), 1_806);
    let (to, inputs) = channel();
    let answers = Answers::new(to, Withdrawn::default());
    let mut depth = Depth::new(&opened, &answers);
    let key = SessionKey(id.0);
    depth.answer(Ticket(1), Query::Findings(key));
    while depth.is_busy() {
        depth.step();
    }
    let mut check = |seq: u64| {
        depth.answer(Ticket(seq + 1), Query::State(key, seq, None));
        let state = inputs.try_iter().find_map(|input| match input {
            Input::Answer(_, Answer::State(state)) => Some(state),
            _ => None,
        });
        let state = state.unwrap_or_else(|| panic!("no state at {seq}"));
        let fact = |name: &str| {
            state.facts.iter().find(|fact| fact.name == name).map(|fact| fact.text.clone()).unwrap_or_default()
        };
        let (number, n_ok, n_open) = expected[&seq];
        assert_eq!(state.conversation, Some(number), "{seq}");
        assert!(fact("answers").starts_with(&format!("{n_ok} ok")), "{seq}: {}", fact("answers"));
        assert_eq!(fact("to the server"), n_open.to_string(), "{seq}");
    };
    // Back from the end, forward again, and here and there.
    (1_740..=1_806).rev().for_each(&mut check);
    (1..=60).for_each(&mut check);
    (0..30).map(|n| 1 + n * 613 % 1_806).for_each(&mut check);
}

#[test]
fn findings_of_a_live_session_over_http_follow() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tap.db");
    let mut all = segments(1, 4);
    // The last one has an id that was used before, which a rule forbids.
    let again = all.remove(2);
    let mut recorder = Recorder::new(
        path.clone(),
        SessionStart { tap_pid: Some(std::process::id()), ..start() },
        Box::new(|told| panic!("{told}")),
    );
    recorder.record(vec![all.remove(0), all.remove(0), again.clone()]);
    let opened = Opened { store: Store::open(&path).unwrap(), first_seq: 1, zone: TimeZone::UTC, is_text: false };
    let id = opened.store.sessions().unwrap()[0].id;
    assert!(opened.store.is_live(id));
    let (to, inputs) = channel();
    let answers = Answers::new(to, Withdrawn::default());
    let mut depth = Depth::new(&opened, &answers);
    depth.answer(Ticket(1), Query::Findings(SessionKey(id.0)));
    let mut told = || {
        depth.step();
        while depth.is_busy() {
            depth.step();
        }
        let mut all = (0, 0);
        for input in inputs.try_iter() {
            if let Input::Answer(_, Answer::Findings(found, seq, _)) = input {
                all = (all.0 + found.iter().filter(|finding| finding.rule.starts_with("RPC-")).count(), seq);
            }
        }
        all
    };
    let (n_found, seq) = told();
    assert_eq!((n_found, seq), (0, 6));
    let mut number_again = Segment::default();
    for piece in again.iter() {
        // The same call once more, in an exchange of its own.
        if let tap_frame::Piece::Http { part, bytes, at_ns, .. } = piece.unwrap() {
            number_again.push_http(77, part, at_ns + 1_000_000_000, 1_700_000_001_000_000_000 + at_ns, bytes);
        }
    }
    recorder.record(vec![number_again]);
    let (n_found, seq) = told();
    assert_eq!((n_found, seq), (1, 8), "what came meanwhile was judged");
    recorder.record(all);
    recorder.finish(SessionEnd { at_ns: 9_000_000_000, reason: Some(EndReason::Stopped), lost_bytes: 0 });
    let (n_found, seq) = told();
    assert_eq!((n_found, seq), (0, 12), "each is told once");
    let n_rows = {
        opened.store.catch_up(id, |_| {}).unwrap();
        opened.store.list(id, ListKind::Frames, Part::From(1), 100).unwrap().len()
    };
    assert_eq!(n_rows, 12);
}
