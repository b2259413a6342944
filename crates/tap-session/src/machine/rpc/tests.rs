//! Tests of framing and of JSON-RPC: lines that are cut short, ids that are used again, answers to nothing.

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};

use crate::follow::{Follower, Lens, Meaning};
use crate::script::{check, told};

/// A message of the server with everything in it that can be cut in the middle.
const LOGGED: &str = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":{\"é{\\u00e9\\\\\\\"\":[1.5e-3,true,null,\"{\\\"a\\\":{}}\"],\"b\":\"🙂[\"}}}";

/// The findings of frames of one stream, by whoever sent them; a gap is `None`.
fn found(stream: Stream, mut follower: Follower, parts: &[Option<&[u8]>]) -> String {
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for (seq, part) in (1..).zip(parts) {
        let origin = if part.is_some() { Origin::Wire } else { Origin::Gap(7) };
        let bytes = Bytes::copy_from_slice(part.unwrap_or_default());
        follower.follow(&Frame { seq, wall_ns: seq, at_ns: seq, stream, origin, bytes }, &mut lens, &mut meaning);
    }
    follower.finish(&mut meaning);
    meaning.findings.iter().map(told).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_message_that_is_cut_short_anywhere_is_an_unfinished_line_and_nothing_else() {
    let line = format!("{LOGGED}\n");
    for cut in 1..line.len() {
        let (before, rest) = line.as_bytes().split_at(cut);
        for (stream, by) in [(Stream::ToServer, "client"), (Stream::ToClient, "server")] {
            let tail = format!("1 FRM-005 warning by {by}: ");
            // What the message itself says is judged only where it is whole.
            if stream == Stream::ToClient || cut < LOGGED.len() {
                assert_eq!(found(stream, Follower::new(), &[Some(before)]), tail, "the end at byte {cut}");
                assert_eq!(found(stream, Follower::new(), &[Some(before), None]), "", "a gap at byte {cut}");
            }
            assert_eq!(found(stream, Follower::new(), &[None, Some(rest)]), "", "the rest from byte {cut}");
            assert_eq!(found(stream, Follower::from_the_middle(), &[Some(rest)]), "", "begun at byte {cut}");
        }
        let torn = found(Stream::ToClient, Follower::new(), &[Some(before), None, Some(rest), Some(b"hello\n")]);
        assert_eq!(torn, "4 FRM-001 error by server: not JSON", "torn at byte {cut}");
    }
}

#[test]
fn noise_is_noise_beside_what_is_cut_short() {
    for (script, expected) in [
        ("<- bye␄", "1 FRM-001 error by server: not JSON\n1 FRM-005 warning by server:"),
        ("<- bye␄\n.. 5", "1 FRM-001 error by server: not JSON"),
        // Torn is only the first line of the stream that the gap is in.
        (".. 5\n-> bye", "2 FRM-002 error by client: not JSON"),
        (".. 5\n<- \"}}\n<- bye", "3 FRM-001 error by server: not JSON"),
        (
            ".. 5\n<- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n<- bye",
            "3 FRM-001 error by server: not JSON",
        ),
        // A gap in one stream says nothing of the other.
        ("-> {\"a\":␄\n.. 5", "1 FRM-005 warning by client:"),
        // Pretty printing, and killed while at it.
        ("<- {\n<- \"jsonrpc\":␄", "1 FRM-001 error by server: not JSON\n2 FRM-005 warning by server:"),
    ] {
        check(script, expected);
    }
}

#[test]
fn the_wrong_script_of_an_unfinished_line_shows_that_alone() {
    check(crate::rules::framing::FRM_005.wrong, "1 FRM-005 warning by server:");
}

const PROBE: &str = r#"-> {"jsonrpc":"2.0","id":0,"method":"server/discover","params":{META}}"#;
const NO_SUCH_METHOD: &str = r#"<- {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}"#;
const INITIALIZE: &str = r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
const INITIALIZED: &str = r#"<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#;
const READY: &str = r#"-> {"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"-> {"jsonrpc":"2.0","id":0,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":0,"result":{"tools":[]}}"#;

#[test]
fn a_legacy_session_begins_with_its_own_ids() {
    let refusal = r#"<- {"jsonrpc":"2.0","id":0,"error":{"code":-32602,"message":"which version?"}}"#;
    for (lines, expected) in [
        (&[PROBE, NO_SUCH_METHOD, INITIALIZE, INITIALIZED, READY][..], ""),
        // From there on they count.
        (&[PROBE, NO_SUCH_METHOD, INITIALIZE, INITIALIZED, READY, LIST], "6 RPC-004 error by client: id 0"),
        (&[INITIALIZE, refusal, INITIALIZE, INITIALIZED, READY], "3 RPC-004 error by client: id 0"),
        // The probe may still be answered.
        (&[PROBE, INITIALIZE, NO_SUCH_METHOD, INITIALIZED, READY], "2 RPC-004 error by client: id 0"),
    ] {
        check(&lines.join("\n"), expected);
    }
}

#[test]
fn what_may_have_happened_in_a_gap_is_no_error() {
    let call = |id: u64| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}},"progressToken":7}}}}}}"#
        )
    };
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    let progress = |value: u64| {
        format!(
            r#"<- {{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,"progress":{value}}}}}"#
        )
    };
    let gap = ".. 5";
    for lines in [
        // Answered in the gap, and asked again with the same id or token.
        vec![call(1), gap.into(), call(1), answer.into()],
        vec![call(1), gap.into(), call(2)],
        // Asked again in the gap.
        vec![call(1), answer.into(), gap.into(), answer.into()],
        vec![call(1), answer.into(), gap.into(), "++ 2000".into(), progress(1)],
        vec![call(1), progress(5), gap.into(), progress(1)],
    ] {
        let script = lines.join("\n");
        let mut found = crate::script::findings(&script);
        found.retain(|line| !line.contains("MOD-003 note"));
        assert!(found.is_empty(), "{script}\n{found:#?}");
    }
    // Of what was sent since, everything is known.
    let since = [gap.to_owned(), call(1), call(1), answer.into(), answer.into(), answer.into()].join("\n");
    let mut found = crate::script::findings(&since);
    found.retain(|line| !line.contains("MOD-003 note"));
    assert_eq!(
        found.join("\n"),
        "3 RPC-005 error by client: id 1\n3 PRG-006 error by client: 7 is that of `tools/call`\n6 RPC-007 error by server: id 1",
    );
    // In the legacy era no id comes again.
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
.. 5
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
"#,
        "7 RPC-007 error by server: id 1",
    );
}

#[test]
fn many_findings_of_one_rule_hide_none_of_another() {
    let requests: Vec<_> =
        (1..80).map(|id| format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#)).collect();
    let unknown = r#"<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
    let found = crate::script::findings(&format!("# 2025-11-25\n{}\n{unknown}", requests.join("\n")));
    assert!(found.iter().any(|line| line.contains("PRG-001 error")), "{found:#?}");
    assert_eq!(found.iter().filter(|line| line.contains("RPC-020")).count(), 50);
    // In a batch too.
    let calls: Vec<_> = (1..80).map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/run"}}"#)).collect();
    let batch =
        format!("# 2025-03-26\n-> [{},{{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}}]", calls.join(","));
    let found = crate::script::findings(&batch);
    assert!(found.iter().any(|line| line.contains("RPC-002 error")), "{found:#?}");
}

#[test]
fn a_notification_with_an_id_is_not_waited_for() {
    let changed = r#"{"jsonrpc":"2.0","id":5,"method":"notifications/roots/list_changed"}"#;
    let with_id = "4 RPC-011 error by client: notifications/roots/list_changed has the id 5";
    for answer in [
        "",
        r#"<- {"jsonrpc":"2.0","id":5,"result":{}}"#,
        r#"<- {"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"?"}}"#,
    ] {
        let script = format!("# 2025-11-25\n-> {changed}\n{answer}");
        check(&script, with_id);
        assert_eq!(crate::script::run(&script).0.state().n_in_flight(), 0);
    }
}

#[test]
fn what_is_kept_of_requests_in_flight_is_bounded() {
    const MIB: usize = 1024 * 1024;
    let mut follower = Follower::new();
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    let mut follow = |follower: &mut Follower, seq: u64, stream, text: String| {
        let frame =
            Frame { seq, wall_ns: seq, at_ns: seq, stream, origin: Origin::Wire, bytes: Bytes::from(text + "\n") };
        follower.follow(&frame, &mut lens, &mut meaning);
    };
    let long = "x".repeat(MIB - 200);
    for id in 1..=80 {
        let text = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"a":"{long}"}}}}}}"#
        );
        follow(&mut follower, id, Stream::ToServer, text);
    }
    let kept = follower.state().in_flight().iter().filter(|call| call.params.is_some()).count();
    assert_eq!((follower.state().n_in_flight(), kept), (80, 64));
    for id in 1..=80 {
        follow(
            &mut follower,
            80 + id,
            Stream::ToClient,
            format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[]}}}}"#),
        );
    }
    assert_eq!((follower.state().n_in_flight(), follower.state().kept_bytes), (0, 0));
}
