//! Tests of cancellation.

use crate::machine::LinkKind;
use crate::script::{check, run};

const LIST: &str = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
const LISTED: &str = r#"<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#;

fn cancel(arrow: &str, params: &str) -> String {
    format!("{arrow} {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{params}}}")
}

#[test]
fn a_cancellation_names_a_request_of_its_sender() {
    for (arrow, params, expected) in [
        ("->", r#"{"requestId":1}"#, ""),
        ("->", r#"{"requestId":1,"reason":"tired"}"#, ""),
        ("->", r#"{"requestId":"1"}"#, r#"5 CAN-002 warning by client: id "1"; a request had the id 1"#),
        ("->", r#"{"requestId":77}"#, "5 CAN-002 warning by client: id 77"),
        ("<-", r#"{"requestId":1}"#, "5 CAN-004 error by server: id 1 is the peer's `tools/list`"),
        ("<-", r#"{"requestId":77}"#, "5 CAN-002 warning by server: id 77"),
        ("->", "{}", "5 CAN-007 warning by client:"),
        ("->", r#"{"requestId":null}"#, "5 CAN-007 warning by client: it is null"),
    ] {
        let answer = if expected.is_empty() { "" } else { LISTED };
        check(&format!("# 2025-11-25\n{LIST}\n{}\n{answer}", cancel(arrow, params)), expected);
    }
}

#[test]
fn a_cancellation_that_names_nothing_is_an_error_where_the_schema_wants_a_name() {
    for revision in ["2024-11-05", "2025-03-26", "2025-06-18"] {
        check(
            &format!("# {revision}\n{LIST}\n{}\n{LISTED}", cancel("->", r#"{"reason":"tired"}"#)),
            "5 CAN-007 error by client:",
        );
    }
}

#[test]
fn a_cancellation_that_crosses_the_answer_is_a_note() {
    let cancelled = cancel("->", r#"{"requestId":1}"#);
    check(&format!("# 2025-11-25\n{LIST}\n{LISTED}\n{cancelled}"), "6 CAN-003 note by client: id 1, `tools/list`");
    check(&format!("# 2025-11-25\n{LIST}\n{cancelled}\n{LISTED}"), "6 CAN-005 note by server: 1 ms after it");
}

#[test]
fn a_request_answered_long_ago_is_still_known_when_it_is_cancelled() {
    let calls = (1..=300).map(|id| {
        format!("-> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
    });
    check(
        &format!("# 2025-11-25\n{}{}", calls.collect::<String>(), cancel("->", r#"{"requestId":1}"#)),
        "604 CAN-003 note by client: id 1, which was answered long ago",
    );
}

#[test]
fn an_id_that_the_peer_used_once_proves_nothing() {
    // The client's 1 is over, and the server may have given a 1 to a request that was never sent.
    check(
        &format!("# 2025-11-25\n{LIST}\n{LISTED}\n{}", cancel("<-", r#"{"requestId":1}"#)),
        "6 CAN-002 warning by server: id 1",
    );
}

#[test]
fn behind_a_gap_no_id_is_unknown() {
    check(&format!("# 2025-11-25\n.. 10\n{}", cancel("->", r#"{"requestId":1}"#)), "");
}

#[test]
fn a_cancelled_call_knows_when_and_may_stay_unanswered() {
    let cancelled = cancel("->", r#"{"requestId":1}"#);
    let (follower, meaning) = run(&format!("# 2025-11-25\n{LIST}\n++ 20\n{cancelled}\n{cancelled}"));
    let call = &follower.state().in_flight()[0];
    assert_eq!(call.cancelled.map(|at| at.seq), Some(5));
    assert_eq!(call.cancelled_after_ns, Some(22_000_000));
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from.seq, link.to.seq, link.kind)).collect();
    assert_eq!(links, [(5, 4, LinkKind::Cancels), (6, 4, LinkKind::Cancels)]);
    assert!(meaning.findings.is_empty());
}

#[test]
fn a_modern_server_that_answers_long_after_the_cancellation_is_warned() {
    let list = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}"#;
    let cancelled = cancel("->", r#"{"requestId":1}"#);
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    for (wait, expected) in [
        ("0", "3 CAN-005 note by server: 2 ms after it"),
        ("900", "3 CAN-005 note by server: 902 ms after it"),
        ("1500", "3 CAN-005 warning by server: 1502 ms after it"),
    ] {
        check_part(&format!("{list}\n{cancelled}\n++ {wait}\n{answer}"), expected);
    }
}

#[test]
fn a_modern_server_ends_what_the_client_listens_to_in_any_way() {
    let listen = r#"-> {"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{META,"notifications":{}}}"#;
    let acknowledged = r#"<- {"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":1},"notifications":{}}}"#;
    let cancelled = &cancel("<-", r#"{"requestId":1}"#);
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":1}}}"#;
    for ending in [cancelled.clone(), answer.into(), format!("{cancelled}\n{answer}"), format!("{answer}\n{cancelled}")]
    {
        check_part(&format!("{listen}\n{acknowledged}\n{ending}"), "");
    }
    let (follower, _) = run(&format!("{listen}\n{acknowledged}\n{cancelled}"));
    assert_eq!(follower.state().in_flight()[0].cancelled.map(|at| at.seq), Some(3));
}

#[test]
fn a_modern_server_cancels_nothing_else() {
    let call = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy",META}}"#;
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    let cancelled = cancel("<-", r#"{"requestId":1}"#);
    let other = cancel("<-", r#"{"requestId":"1"}"#);
    for (script, expected) in [
        (format!("{call}\n{cancelled}\n{answer}"), "2 CAN-008 error by server: id 1 is `tools/call`"),
        (format!("{call}\n{answer}\n{cancelled}"), "3 CAN-008 error by server: id 1 was `tools/call`"),
        (format!("{call}\n{other}\n{answer}"), r#"2 CAN-008 error by server: id "1" is no request's"#),
        (format!("{call}\n.. 10\n{other}\n{answer}"), ""),
    ] {
        check_part(&script, expected);
    }
}

/// Like [`check`], of the rules of this part alone.
#[track_caller]
fn check_part(script: &str, expected: &str) {
    let found = super::of_this_part(script);
    assert_eq!(found, expected, "found:\n{found}");
}

#[test]
fn a_request_that_becomes_a_task_is_cancelled_as_a_task() {
    let call = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{}}}"#;
    let cancelled = cancel("->", r#"{"requestId":1}"#);
    check_part(&format!("# 2025-11-25\n{call}\n{cancelled}"), "5 CAN-006 error by client: `tools/call`");
    // A server that makes no tasks ignores `task`.
    let handshake = r#"
-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
"#;
    check_part(&format!("{handshake}{call}\n{cancelled}"), "");
}

#[test]
fn the_handshake_is_not_cancelled() {
    let script = r#"
-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}
"#;
    check_part(script, "2 CAN-001 error by client: id 0");
}

#[test]
fn a_legacy_server_may_answer_a_probe_that_was_given_up() {
    let probe = r#"-> {"jsonrpc":"2.0","id":0,"method":"server/discover","params":{META}}"#;
    let cancelled = cancel("->", r#"{"requestId":0}"#);
    let initialize = r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}"#;
    let answer = r#"<- {"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}"#;
    check_part(
        &format!("{probe}\n{cancelled}\n{initialize}\n++ 2000\n{answer}"),
        "4 CAN-005 note by server: 2003 ms after it",
    );
    check_part(&format!("{probe}\n{cancelled}\n++ 2000\n{answer}"), "3 CAN-005 note by server: 2002 ms after it");
    let modern = answer.replace("-32601", "-32602");
    let served = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}"#;
    check_part(
        &format!("{served}\n{probe}\n{cancelled}\n++ 2000\n{modern}"),
        "5 CAN-005 warning by server: 2002 ms after it",
    );
}
