//! Tests of progress, pings, completion and requests of the server.

mod cancel;
mod logging;

use tap_jsonrpc::RawId;
use tap_protocol::Side;

use crate::follow::{Follower, Lens, Meaning};
use crate::machine::LinkKind;
use crate::row::At;
use crate::rule::Severity;
use crate::rules::progress::PROGRESS;
use crate::script::{check, frames, run, told};
use crate::state::Number;

const COPY: &str =
    r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":TOKEN}}}"#;
const COPIED: &str = r#"<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#;

fn told_progress(members: &str) -> String {
    format!("<- {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{{{members}}}}}")
}

/// The findings of a script by the rules of this part alone, a line each.
fn of_this_part(script: &str) -> String {
    let (_, mut meaning) = run(script);
    meaning.findings.retain(|finding| PROGRESS.contains(&finding.rule));
    meaning.findings.sort_by_key(|finding| finding.at);
    meaning.findings.iter().map(told).collect::<Vec<_>>().join("\n")
}

/// The same of lines in exchanges of HTTP, by the number of each.
fn in_exchanges(lines: &[(u64, String)]) -> String {
    let mut follower = Follower::new();
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    let script: Vec<_> = lines.iter().map(|(_, line)| line.as_str()).collect();
    for (frame, (scope, _)) in frames(&script.join("\n")).iter().zip(lines) {
        follower.follow_in(*scope, frame, &mut lens, &mut meaning);
    }
    let mine = meaning.findings.iter().filter(|finding| PROGRESS.contains(&finding.rule));
    mine.map(told).collect::<Vec<_>>().join("\n")
}

/// One call whose token is `token`, and what progress says, in 2025-11-25; the progress is from message 5 on.
fn progress(token: &str, progress: &[&str]) -> String {
    let mut lines = vec!["# 2025-11-25".to_owned(), COPY.replace("TOKEN", token)];
    lines.extend(progress.iter().map(|members| told_progress(members)));
    lines.push(COPIED.into());
    lines.join("\n")
}

#[test]
fn a_token_is_known_by_its_value_and_its_json_type() {
    for (token, sent, expected) in [
        ("1", "1", ""),
        ("0", "0", ""),
        (r#""a""#, r#""a""#, ""),
        (r#""""#, r#""""#, ""),
        ("1", r#""1""#, r#"5 PRG-001 error by server: "1"; 1 was supplied"#),
        (r#""1""#, "1", r#"5 PRG-001 error by server: 1; "1" was supplied"#),
        (r#""a""#, r#""b""#, r#"5 PRG-001 error by server: "b""#),
        ("1", "null", "5 PRG-005 error by server: it is null"),
        ("1", "1.5", "5 PRG-005 error by server: it is 1.5"),
        ("1", "[1]", "5 PRG-005 error by server: it is [1]"),
        ("true", "2", "4 PRG-005 error by client: the request's is true\n5 PRG-001 error by server: 2"),
    ] {
        check(&progress(token, &[&format!(r#""progressToken":{sent},"progress":1"#)]), expected);
    }
}

#[test]
fn progress_increases() {
    for (values, expected) in [
        (&["0", "1", "2.5", "1e3"][..], ""),
        (&["-2", "-1"], ""),
        (&["0.1", "0.2"], ""),
        (&["1", "1"], "6 PRG-004 error by server: 1 after 1"),
        (&["1", "1.0"], "6 PRG-004 error by server: 1 after 1"),
        (&["2", "1", "3"], "6 PRG-004 error by server: 1 after 2"),
        // Alike only when they are rounded.
        (&["9007199254740993", "9007199254740994"], ""),
        (&["18446744073709551615", "18446744073709551616"], ""),
        // None that can be compared.
        (&["1e999", "2"], ""),
    ] {
        let members: Vec<_> = values.iter().map(|value| format!(r#""progressToken":7,"progress":{value}"#)).collect();
        check(&progress("7", &members.iter().map(String::as_str).collect::<Vec<_>>()), expected);
    }
}

#[test]
fn more_than_the_total_is_a_note() {
    for (members, expected) in [
        (r#""progress":5,"total":5"#, ""),
        (r#""progress":5"#, ""),
        (r#""progress":5.5,"total":5"#, "5 PRG-007 note by server: 5.5 of 5"),
    ] {
        check(&progress("7", &[&format!(r#""progressToken":7,{members}"#)]), expected);
    }
}

#[test]
fn progress_and_total_are_numbers() {
    for (members, expected) in [
        (r#""progress":0,"total":1e3"#, ""),
        (r#""progress":"half""#, r#"5 PRG-009 error by server: `progress` is "half""#),
        (r#""progress":null"#, "5 PRG-009 error by server: `progress` is null"),
        (r#""progress":5,"total":"4""#, r#"5 PRG-009 error by server: `total` is "4""#),
        (r#""progress":5,"total":null"#, "5 PRG-009 warning by server: null where the member should be left out"),
        (r#""total":5"#, "5 PRG-009 error by server: `progress` is not there"),
    ] {
        check(&progress("7", &[&format!(r#""progressToken":7,{members}"#)]), expected);
    }
}

#[test]
fn a_token_that_is_null_is_none() {
    let null = "4 PRG-005 warning by client: null where the member should be left out";
    check(&progress("null", &[]), null);
    // It belongs to no request, so that two may have it.
    let twice = progress("null", &[]) + "\n" + &COPY.replace("TOKEN", "null").replace("\"id\":1", "\"id\":2");
    let (follower, meaning) = run(&twice);
    assert!(meaning.findings.iter().all(|finding| finding.rule.id != "PRG-006"));
    assert_eq!(follower.state().in_flight()[0].progress_token, None);
}

#[test]
fn what_was_dropped_was_not_answered() {
    let call = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":7}}}"#;
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    let cancelled = r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let late = told_progress(r#""progressToken":7,"progress":1"#);
    let all = frames(&[call, "++ 2000", &late, answer, cancelled].join("\n"));
    let mut follower = Follower::new();
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for frame in &all {
        follower.follow(frame, &mut lens, &mut meaning);
        if frame.seq == 1 {
            let at = At { seq: 1, member: 0 };
            follower.drop_call(0, &RawId::from_token(b"1"), at, at, Side::Server);
        }
    }
    meaning.findings.retain(|finding| finding.severity > Severity::Note || finding.rule.id == "CAN-003");
    assert_eq!(meaning.findings, []);
}

#[test]
fn progress_after_the_answer_is_a_warning_at_first_and_an_error_later() {
    for (revision, wait, expected) in [
        ("2024-11-05", "0", "6 PRG-002 warning by server: 2 ms after the answer to `tools/call`"),
        ("2025-11-25", "500", "6 PRG-002 warning by server: 502 ms after the answer to `tools/call`"),
        ("2025-11-25", "1500", "6 PRG-002 error by server: 1502 ms after the answer to `tools/call`"),
    ] {
        let late = told_progress(r#""progressToken":7,"progress":1"#);
        check(&format!("# {revision}\n{}\n{COPIED}\n++ {wait}\n{late}", COPY.replace("TOKEN", "7")), expected);
    }
}

#[test]
fn a_server_may_tell_progress_after_a_cancellation_that_it_has_not_read() {
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
"#,
        "",
    );
}

#[test]
fn both_sides_supply_tokens_of_their_own() {
    // The client's 7 and the server's 7 are two tokens.
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
<- {"jsonrpc":"2.0","id":1,"method":"roots/list","params":{"_meta":{"progressToken":7}}}
-> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":5}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#,
        "",
    );
}

#[test]
fn a_client_does_not_tell_progress_of_its_own_request() {
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
-> {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":5}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#,
        "5 PRG-001 error by client: 7; its sender supplied it itself",
    );
}

#[test]
fn a_token_may_be_used_again_when_its_request_is_over() {
    for (between, expected) in [
        (COPIED, ""),
        (r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, ""),
        (&*told_progress(r#""progressToken":7,"progress":1"#), "6 PRG-006 error by client: 7 is that of `tools/call`"),
    ] {
        let script = format!(
            "# 2025-11-25\n{}\n{between}\n{}\n{}",
            COPY.replace("TOKEN", "7"),
            COPY.replace("TOKEN", "7").replace("\"id\":1", "\"id\":2"),
            COPIED.replace("\"id\":1", "\"id\":2"),
        );
        let unanswered = if expected.is_empty() { "" } else { "4 RPC-020 warning by server: tools/call `copy`\n" };
        check(&script, &format!("{unanswered}{expected}"));
    }
}

#[test]
fn of_two_requests_with_one_token_the_older_is_found_when_the_newer_is_over() {
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
<- {"jsonrpc":"2.0","id":2,"result":{"content":[]}}
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#,
        "5 PRG-006 error by client: 7 is that of `tools/call`",
    );
}

#[test]
fn progress_before_its_request_waits_for_it_a_second() {
    for (wait, expected) in [("0", ""), ("1500", "4 PRG-001 error by server: 7")] {
        let early = told_progress(r#""progressToken":7,"progress":1"#);
        check(&format!("# 2025-11-25\n{early}\n++ {wait}\n{}\n{COPIED}", COPY.replace("TOKEN", "7")), expected);
    }
}

#[test]
fn behind_a_gap_no_token_is_unknown() {
    check(
        r#"
# 2025-11-25
.. 100
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}
"#,
        "",
    );
}

#[test]
fn a_flood_of_unknown_tokens_is_told_and_bounded() {
    let flood: Vec<_> =
        (0..1_000).map(|token| told_progress(&format!(r#""progressToken":{token},"progress":1"#))).collect();
    let (follower, meaning) = run(&format!("# 2025-11-25\n{}", flood.join("\n")));
    assert!(meaning.findings.iter().all(|finding| finding.rule.id == "PRG-001"));
    // The end tells no more findings than any other message does.
    assert!(950 <= meaning.findings.len(), "{}", meaning.findings.len());
    assert!(follower.state().early_progress.is_empty());
}

#[test]
fn a_token_too_long_to_be_kept_is_not_judged() {
    let (one, other) = (format!("\"{}1\"", "x".repeat(5_000)), format!("\"{}2\"", "x".repeat(5_000)));
    check(&progress(&one, &[&format!(r#""progressToken":{other},"progress":1"#)]), "");
}

#[test]
fn a_call_knows_its_progress() {
    let mut script =
        progress("7", &[r#""progressToken":7,"progress":1"#, r#""progressToken":7,"progress":2.5,"total":4"#]);
    script.truncate(script.rfind("\n<-").unwrap());
    let (follower, meaning) = run(&script);
    let call = &follower.state().in_flight()[0];
    assert_eq!((call.n_progress, call.progress, call.first_progress_ns), (2, Some(Number(2.5)), Some(1_000_000)));
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from.seq, link.to.seq, link.kind)).collect();
    assert_eq!(links, [(5, 4, LinkKind::Progress), (6, 4, LinkKind::Progress)]);
}

#[test]
fn progress_in_a_batch_belongs_to_its_request() {
    let (_, meaning) = run(r#"
# 2025-03-26
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"progressToken":7}}}
<- [{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}]
<- {"jsonrpc":"2.0","id":1,"result":{"content":[]}}
"#);
    assert_eq!(meaning.links[0].from, At { seq: 5, member: 1 });
}

#[test]
fn exchanges_may_share_tokens_and_ids() {
    let call = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"progressToken":7}}}"#;
    let answer = r#"<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[]}}"#;
    let cancelled = r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let told = |value: u64| told_progress(&format!(r#""progressToken":7,"progress":{value}"#));
    let late = "5 PRG-002 warning by server: 1 ms after the answer to `tools/call`";
    for (lines, expected) in [
        (vec![(1, call.into()), (2, call.into()), (1, told(5)), (2, told(1)), (1, told(6)), (2, told(2))], ""),
        (vec![(1, call.into()), (2, call.into()), (2, answer.into()), (1, told(5)), (1, answer.into())], ""),
        (vec![(1, call.into()), (2, call.into()), (1, told(1)), (1, answer.into()), (1, told(2))], late),
        // The notification is an exchange of its own.
        (vec![(1, call.into()), (2, cancelled.into()), (1, answer.into())], ""),
    ] {
        assert_eq!(in_exchanges(&lines), expected);
    }
}

#[test]
fn a_request_that_ended_long_ago_did_supply_its_token() {
    let pings = (2..400).map(|id| {
        format!("-> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{{}}}}\n")
    });
    let script = progress("7", &[]) + "\n" + &pings.collect::<String>();
    check(&(script + &told_progress(r#""progressToken":7,"progress":1"#)), "");
}

#[test]
fn an_answer_may_hold_a_hundred_completions() {
    for (n_values, expected) in [(0, ""), (100, ""), (101, "5 CMP-001 error by server: 101 values")] {
        let values = vec!["\"a\""; n_values].join(",");
        check(
            &format!(
                r#"
# 2025-03-26
-> {{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{{"ref":{{"type":"ref/prompt","name":"p"}},"argument":{{"name":"a","value":""}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"completion":{{"values":[{values}]}}}}}}"#
            ),
            expected,
        );
    }
}

#[test]
fn a_ping_is_answered_with_nothing() {
    for (answer, expected) in [
        (r#""result":{}"#, ""),
        (r#""result":{"_meta":{"a":1}}"#, ""),
        (r#""error":{"code":-32601,"message":"?"}"#, ""),
        (r#""result":{"pong":true,"_meta":{}}"#, "5 PNG-001 warning by server: it has `pong`"),
    ] {
        check(
            &format!(
                "# 2025-06-18\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,{answer}}}"
            ),
            expected,
        );
    }
}

#[test]
fn a_ping_that_nobody_answers_is_told_once() {
    check(
        r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"method":"ping"}
-> {"jsonrpc":"2.0","id":2,"method":"ping"}
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
"#,
        "4 PNG-002 warning by server: \n5 PNG-002 warning by client:",
    );
    // Before the handshake nothing says which revision is spoken; a ping is of the legacy era anyway.
    check(r#"-> {"jsonrpc":"2.0","id":1,"method":"ping"}"#, "1 PNG-002 warning by server:");
}

#[test]
fn a_server_asks_while_it_works_for_the_client() {
    let ask = r#"<- {"jsonrpc":"2.0","id":0,"method":"roots/list"}"#;
    let answer = r#"-> {"jsonrpc":"2.0","id":0,"result":{"roots":[]}}"#;
    let copy = COPY.replace("TOKEN", "7");
    let of_a_task = r#"<- {"jsonrpc":"2.0","id":0,"method":"roots/list","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"x"}}}}"#;
    let alone = |at: u64| format!("{at} SRV-001 warning by server: `roots/list`");
    for (script, expected) in [
        (format!("# 2025-11-25\n{copy}\n{ask}\n{answer}\n{COPIED}"), String::new()),
        (format!("# 2025-11-25\n{ask}\n{answer}"), alone(4)),
        (format!("# 2025-11-25\n{copy}\n{COPIED}\n{ask}\n{answer}"), alone(6)),
        (format!("# 2025-11-25\n{of_a_task}\n{answer}"), String::new()),
        (format!("# 2024-11-05\n{ask}\n{answer}"), String::new()),
        (format!("# 2025-11-25\n.. 10\n{ask}\n{answer}"), String::new()),
    ] {
        check(&script, &expected);
    }
}

#[test]
fn the_token_of_a_task_is_good_until_the_task_is_over() {
    let call = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"copy","task":{},"_meta":{"progressToken":7}}}"#;
    let task = |status: &str| {
        format!(
            r#""taskId":"x","status":"{status}","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null"#
        )
    };
    let made = format!(r#"<- {{"jsonrpc":"2.0","id":1,"result":{{"task":{{{}}}}}}}"#, task("working"));
    let status = |status: &str| {
        format!(r#"<- {{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{{{}}}}}"#, task(status))
    };
    let told = |value: u64| told_progress(&format!(r#""progressToken":7,"progress":{value}"#));
    let cancelled = r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    let header = format!("# 2025-11-25\n{call}\n{made}\n++ 5000");
    for (lines, expected) in [
        (vec![told(1), status("working"), told(2), status("completed")], ""),
        (vec![told(2), told(1)], "7 PRG-004 error by server: 1 after 2"),
        (vec![told(1), status("completed"), told(2)], "8 PRG-003 error by server: `tools/call`"),
        (vec![status("input_required"), told(1)], ""),
        (vec![status("failed"), told(1)], "7 PRG-003 error by server: `tools/call`"),
        (vec![cancelled.into()], "6 CAN-006 error by client: id 1, `tools/call`"),
    ] {
        assert_eq!(of_this_part(&format!("{header}\n{}", lines.join("\n"))), expected);
    }
}

#[test]
fn a_poll_of_a_task_is_over_when_it_is_answered() {
    let task = r#""taskId":"x","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null"#;
    let script = format!(
        r#"
# 2025-11-25
-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"copy","task":{{}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"task":{{{task}}}}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{{"taskId":"x","_meta":{{"progressToken":7}}}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{{task}}}}}
-> {{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":2}}}}
{}"#,
        told_progress(r#""progressToken":7,"progress":1"#)
    );
    let expected = "8 CAN-003 note by client: id 2, `tasks/get`\n9 PRG-002 warning by server: 2 ms after the answer to `tasks/get`";
    assert_eq!(of_this_part(&script), expected);
}
