//! Tests of calls that go on over several requests.

use crate::machine::LinkKind;
use crate::machine::modern::tests::check;
use crate::script::run;

const ASKED: &str = r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"n":1,"m":[1,2]},META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"Who?","requestedSchema":{"type":"object","properties":{}}}}},"requestState":"s/é\n"}}
"#;

const DONE: &str = r#"<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","content":[]}}
"#;

/// The input that [`ASKED`] asks for.
const INPUT: &str = r#""inputResponses":{"who":{"action":"accept","content":{}}}"#;

#[track_caller]
fn check_retry(retry: &str, expected: &str) {
    check(&format!("{ASKED}-> {retry}\n{DONE}"), expected);
}

#[test]
fn the_call_goes_on_with_the_same_state_however_it_is_escaped() {
    for state in [r#""s/é\n""#, r#""s\/\u00e9\u000a""#] {
        check_retry(
            &format!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{INPUT},"requestState":{state},"arguments":{{"m":[1,2],"n":1}},"name":"\u0061",META}}}}"#
            ),
            "",
        );
    }
}

#[test]
fn what_a_client_may_get_wrong_is_told_apart() {
    let state = r#""requestState":"s/é\n""#;
    let arguments = r#""arguments":{"n":1,"m":[1,2]}"#;
    for (params, expected) in [
        (format!(r#""name":"a",{arguments},{INPUT}"#), "3 MRT-005 error by client: it was dropped"),
        (format!(r#""name":"a",{arguments},{INPUT},"requestState":null"#), "3 MRT-005 error by client: it was dropped"),
        (
            format!(r#""name":"a",{arguments},{INPUT},"requestState":"s/e""#),
            "3 MRT-005 error by client: it was changed",
        ),
        (format!(r#""name":"a",{arguments},{state}"#), "3 MRT-007 warning by client: `who`"),
        (
            format!(r#""name":"a",{arguments},{state},"inputResponses":{{"where":{{}}}}"#),
            "3 MRT-007 warning by client: `who`",
        ),
        (
            format!(r#""name":"a","arguments":{{"n":2,"m":[1,2]}},{INPUT},{state}"#),
            "3 MRT-006 warning by client: `arguments`",
        ),
        (format!(r#""name":"a",{arguments},"more":1,{INPUT},{state}"#), "3 MRT-006 warning by client: `more`"),
        (
            format!(r#""name":"b",{arguments},{INPUT},{state}"#),
            "3 MRT-008 error by client: tools/call of `b` has the requestState of tools/call of `a`",
        ),
        (
            format!(r#""name":"b",{INPUT}"#),
            "3 MRT-008 warning by client: tools/call of `b`: nothing that was asked for in this session",
        ),
        // Another call, and no input in it.
        (format!(r#""name":"a",{arguments}"#), ""),
        (r#""name":"b""#.into(), ""),
    ] {
        check_retry(
            &format!(r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{{params},META}}}}"#),
            expected,
        );
    }
}

#[test]
fn arguments_are_the_same_in_whatever_order_they_are_written() {
    let retry = |arguments: &str| {
        format!(
            r#"# 2026-07-28
-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","arguments":{{"o":{{"p":{{"x":1,"y":[{{"k":1,"l":2}}]}},"q":2}}}},META}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","requestState":"s"}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"requestState":"s","arguments":{arguments},"name":"a",META}}}}
{DONE}"#
        )
    };
    check(&retry(r#"{ "o": {"q":2, "p":{"y":[{"l":2,"k":1}],"x":1}} }"#), "");
    for other in [
        r#"{"o":{"q":2,"p":{"y":[{"l":2,"k":1}],"x":2}}}"#,
        r#"{"o":{"q":2,"p":{"y":[{"l":2},{"k":1}],"x":1}}}"#,
        r#"{"o":{"q":2,"p":{"x":1}}}"#,
    ] {
        check(&retry(other), "3 MRT-006 warning by client: `arguments`");
    }
}

#[test]
fn null_stands_for_what_is_not_there() {
    check(
        r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"s","ttlMs":null,"cacheScope":null,"inputRequests":{"who":{"jsonrpc":null,"id":null,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}
"#,
        "",
    );
}

#[test]
fn a_state_must_not_be_invented() {
    check(
        r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"r":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}}}}
-> {"jsonrpc":"2.0","id":2,"method":"prompts/get","params":{"name":"p","inputResponses":{"r":{"action":"decline"}},"requestState":"",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"complete","messages":[]}}
"#,
        "3 MRT-005 error by client: it was invented",
    );
}

#[test]
fn calls_of_one_tool_at_the_same_time_are_told_apart() {
    let call = |id: u64, n: u64, more: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","arguments":{{"n":{n}}},{more}META}}}}
"#
        )
    };
    let asks = |id: u64, state: &str| {
        format!(
            r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","inputRequests":{{"who":{{"method":"elicitation/create","params":{{"message":"?","requestedSchema":{{"type":"object","properties":{{}}}}}}}}}}{state}}}}}
"#
        )
    };
    let done = |id: u64| {
        format!(
            r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","content":[]}}}}
"#
        )
    };
    let input = format!("{INPUT},");
    for state in ["", r#","requestState":"the same""#] {
        let back = if state.is_empty() { input.clone() } else { format!("{input}{},", &state[1..]) };
        let script = [
            call(1, 1, ""),
            call(2, 2, ""),
            call(3, 3, ""),
            asks(1, state),
            asks(2, state),
            asks(3, state),
            call(4, 2, &back),
            call(5, 1, &back),
            call(6, 3, &back),
            done(4),
            done(5),
            done(6),
        ]
        .concat();
        check(&script, "");
        let (_, meaning) = run(&script);
        let rounds: Vec<_> = meaning
            .links
            .iter()
            .filter(|link| link.kind == LinkKind::Round)
            .map(|link| (link.from.seq, link.to.seq))
            .collect();
        assert_eq!(rounds, [(7, 2), (8, 1), (9, 3)]);
    }
}

#[test]
fn rounds_are_counted_and_belong_to_the_first_request() {
    let script = r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","requestState":"1"}}
-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","requestState":"1",META}}
<- {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","requestState":"2"}}
-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"a","requestState":"2",META}}
<- {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"3"}}
-> {"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"a","requestState":"2",META}}
<- {"jsonrpc":"2.0","id":4,"result":{"resultType":"complete","content":[]}}
"#;
    // The last one came again with an older state, as after a lost answer: that is allowed.
    check(script, "");
    let (follower, meaning) = run(script);
    let links: Vec<_> = meaning.links.iter().map(|link| (link.from.seq, link.to.seq)).collect();
    assert_eq!(links, [(3, 1), (5, 1), (7, 1)]);
    let modern = &follower.state().modern;
    let rounds: Vec<_> =
        modern.rounds.iter().map(|round| (round.number, round.first.seq, round.retry.map(|at| at.seq))).collect();
    assert_eq!(rounds, [(1, 1, Some(3)), (2, 1, Some(7)), (3, 1, None)]);
    assert_eq!(modern.waiting_rounds().count(), 1);
    assert!(follower.state().recent().filter(|call| call.first_round.is_some()).count() == 3);
}

#[test]
fn behind_a_gap_nobody_knows_what_was_asked_for() {
    check(
        &format!(
            "{ASKED}.. 100\n-> {}\n{DONE}",
            format_args!(
                r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a","arguments":{{"n":1,"m":[1,2]}},{INPUT},"requestState":"t",META}}}}"#
            )
        ),
        "",
    );
}

#[test]
fn input_of_a_task_is_not_of_a_round() {
    check(
        r#"# 2026-07-28
-> {"jsonrpc":"2.0","id":1,"method":"tasks/update","params":{"taskId":"t","inputResponses":{"who":{}},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"which task?"}}
"#,
        "",
    );
}

#[test]
fn what_may_be_asked_for_depends_on_what_the_request_declares() {
    let form = r#"{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}"#;
    let url = r#"{"method":"elicitation/create","params":{"mode":"url","message":"?","url":"https://example.com"}}"#;
    let sampling = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}"#;
    let tools = r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"tools":[]}}"#;
    let context =
        r#"{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"includeContext":"thisServer"}}"#;
    let roots = r#"{"method":"roots/list"}"#;
    for (declared, asked, expected) in [
        (r#"{"elicitation":{}}"#, form, None),
        (r#"{"elicitation":{"form":{}}}"#, form, None),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, form, None),
        (r#"{"elicitation":{"later":{}}}"#, form, None),
        (r#"{"elicitation":{"url":{}}}"#, form, Some("error by server: `elicitation.form`")),
        (r#"{"elicitation":{"url":{}}}"#, url, None),
        (r#"{"elicitation":{}}"#, url, Some("error by server: `elicitation.url`")),
        ("{}", form, Some("error by server: `elicitation.form`")),
        (r#"{"sampling":{}}"#, sampling, None),
        (r#"{"sampling":{}}"#, tools, Some("error by server: `sampling.tools`")),
        (r#"{"sampling":{"tools":{}}}"#, tools, None),
        (r#"{"sampling":{}}"#, context, Some("warning by server: `sampling.context`")),
        (r#"{"roots":{"listChanged":true}}"#, roots, None),
        (r#"{"roots":null}"#, roots, Some("error by server: `roots`")),
    ] {
        let script = format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{declared}}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"x":{asked}}}}}}}"#
        );
        let found = crate::script::findings(&script);
        let found: Vec<_> = found.iter().filter_map(|line| line.strip_prefix("2 MOD-011 ")).collect();
        assert_eq!(found, Vec::from_iter(expected), "{asked} after {declared}");
    }
}

#[test]
fn hostile_answers_and_requests_are_taken() {
    for result in [
        r#""inputRequests":[],"requestState":1"#,
        r#""inputRequests":{"":null,"a":[],"b":{"method":1},"c":{"method":"roots/list","params":[]}}"#,
        r#""inputRequests":null,"requestState":null"#,
        r#""inputRequests":{},"requestState":{}"#,
    ] {
        for brought in [
            r#""inputResponses":[],"requestState":1"#,
            r#""inputResponses":{"a":1},"requestState":{}"#,
            r#""inputResponses":"x""#,
            r#""requestState":[]"#,
        ] {
            run(&format!(
                r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a",META}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required",{result}}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a",{brought},META}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{"resultType":"input_required",{result}}}}}"#
            ));
        }
    }
}
