//! The modern era over HTTP: one session for all clients, and headers beside the body.

use super::check_sessions;
use crate::script::check;
use crate::script::http::play;

fn call(label: &str, headers: &str, name: &str, arguments: &str) -> String {
    let headers: String = headers.lines().map(|line| format!(">>{label} {line}\n")).collect();
    format!(
        "{headers}>>{label} {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{name}\",\"arguments\":{arguments},META}}}}\n"
    )
}

const DONE: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}"#;
const REFUSED: &str = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"headers"}}"#;

#[test]
fn exchanges_with_the_same_ids_do_not_meet() {
    let script = "# http 2026-07-28\n".to_owned()
        + &call("a", "", "x", "{}")
        + &call("b", "", "y", "{}")
        + &format!("<<b {DONE}\n<|b\n<<a {DONE}\n<|a\n");
    check(&script, "");
    check_sessions(&script, &["1: Modern, 0 in flight, 2 ok"]);
}

#[test]
fn an_answer_of_another_exchange_is_unknown_in_this_one() {
    let script = "# http 2026-07-28\n".to_owned()
        + &call("a", "", "x", "{}")
        + &format!("<<a {DONE}\n<|a\n")
        + ">>b {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"x\",META}}\n"
        + &format!(
            "<<b data: {DONE}\n<<b\n<<b data: {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"resultType\":\"complete\",\"content\":[],\"_meta\":{{\"io.modelcontextprotocol/serverInfo\":{{\"name\":\"s\",\"version\":\"1\"}}}}}}}}\n<|b\n"
        );
    check(&script, "7 RPC-006 error by server: id 1");
}

#[test]
fn closing_the_stream_cancels_and_nothing_is_left_waiting() {
    let script = "# http 2026-07-28\n".to_owned()
        + &call("a", "", "slow", "{}")
        + "<<a 200\n<<a Content-Type: text/event-stream\n<<a X-Accel-Buffering: no\n>|a\n";
    check(&script, "");
    let player = play(&script);
    let (_, state) = player.follower.states().next().unwrap();
    assert_eq!(state.n_in_flight(), 0);
    assert!(state.recent().all(|call| call.cancelled.is_some()));
    let by_server = script.replace(">|a", "<!a");
    check(&by_server, "3 HTT-024 warning by server: tools/call `slow`");
    let before_the_head = "# http 2026-07-28\n".to_owned() + &call("a", "", "slow", "{}") + "<!a\n";
    check(&before_the_head, "1 RPC-020 warning by server: tools/call `slow`");
}

#[test]
fn headers_are_compared_with_the_body() {
    for (headers, expected) in [
        ("", ""),
        ("mcp-name: x", ""),
        ("Mcp-Name: =?base64?eA==?=", ""),
        (
            "Mcp-Method: tools/list",
            "1 HTT-006 error by client: `Mcp-Method` says `tools/list`, and the body `tools/call`",
        ),
        (
            "Mcp-Method: Tools/Call",
            "1 HTT-006 error by client: `Mcp-Method` says `Tools/Call`, and the body `tools/call`",
        ),
        ("-Mcp-Method", "1 HTT-006 error by client: there is no `Mcp-Method`, and the body says `tools/call`"),
        ("-Mcp-Name", "1 HTT-006 error by client: there is no `Mcp-Name`, and the body says `x`"),
        ("Mcp-Name: x\nMcp-Name: y", "1 HTT-006 error by client: `Mcp-Name` says `y`, and the body `x`"),
        ("Mcp-Name: =?Base64?eA==?=", "1 HTT-010 error by client: `Mcp-Name`: `=?base64?` is not in lower case"),
        (
            "MCP-Protocol-Version: 2025-11-25",
            "1 HTT-006 error by client: `MCP-Protocol-Version` says `2025-11-25`, and the body `2026-07-28`",
        ),
        ("-MCP-Protocol-Version", "1 HTT-005 error by client: "),
        ("Mcp-Param-Unknown: anything", ""),
        (
            "Mcp-Param-Unknown: ü",
            "1 HTT-010 error by client: `Mcp-Param-Unknown`: it holds bytes that are not visible ASCII, and is not wrapped in base64",
        ),
    ] {
        let answer = if expected.is_empty() { DONE } else { REFUSED };
        let status = if expected.is_empty() { 200 } else { 400 };
        let script = format!("# http 2026-07-28\n{}<<a {status}\n<<a {answer}\n<|a\n", call("a", headers, "x", "{}"));
        check(&script, expected);
    }
}

#[test]
fn arguments_are_compared_with_their_headers() {
    let list = r#">> {"jsonrpc":"2.0","id":1,"method":"tools/list","params":{META}}
<< {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":["string","null"],"x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"},"o":{"type":"object","properties":{"deep":{"type":"boolean","x-mcp-header":"Deep"}}}}}}],"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}
"#;
    for (headers, arguments, expected) in [
        ("", "{}", ""),
        ("", r#"{"region":null,"other":1}"#, ""),
        (
            "Mcp-Param-Region: a\nmcp-param-n: 1.0\nMcp-Param-Deep: true",
            r#"{"region":"a","n":1,"o":{"deep":true}}"#,
            "",
        ),
        ("Mcp-Param-Region: =?base64?w7w=?=", r#"{"region":"ü"}"#, ""),
        ("", r#"{"region":"a"}"#, "4 HTT-008 error by client: there is no `Mcp-Param-Region` for `region`"),
        ("", r#"{"o":{"deep":false}}"#, "4 HTT-008 error by client: there is no `Mcp-Param-Deep` for `o.deep`"),
        ("Mcp-Param-N: 1", "{}", "4 HTT-008 error by client: `Mcp-Param-N` is there, and the argument `n` is not"),
        ("Mcp-Param-N: 2", r#"{"n":1}"#, "4 HTT-006 error by client: `Mcp-Param-N` says `2`, and the body `1`"),
    ] {
        let answer = if expected.is_empty() { DONE } else { REFUSED };
        let status = if expected.is_empty() { 200 } else { 400 };
        let script = format!(
            "# http 2026-07-28\n{list}{}<<a {status}\n<<a {answer}\n<|a\n",
            call("a", headers, "sql", arguments)
        );
        check(&script, expected);
    }
}

#[test]
fn a_server_of_the_legacy_era_may_refuse_a_probe_in_its_own_way() {
    let probe = ">> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{META}}\n";
    for answer in [
        "<< 400\n<< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"?\"}}\n",
        "<< {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32601,\"message\":\"?\"}}\n",
        "<< 404\n",
        "<< 400\n<< Content-Type: text/plain\n<<\n<< no session\n",
    ] {
        let script = format!("# http 2026-07-28\n{probe}{answer}");
        let found = crate::script::found(&script);
        assert!(found.iter().all(|finding| finding.severity < crate::Severity::Warning), "{found:?}");
    }
}

#[test]
fn a_missing_version_header_may_be_read_as_an_older_revision() {
    let call = call("a", "-MCP-Protocol-Version", "x", "{}");
    let older =
        format!("# http 2026-07-28\n{call}<<a {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"content\":[]}}}}\n<|a\n");
    let rules = |script: &str| crate::script::found(script).iter().map(|finding| finding.rule.id).collect::<Vec<_>>();
    assert!(!rules(&older).contains(&"HTT-007"));
    let newer = format!("# http 2026-07-28\n{call}<<a {DONE}\n<|a\n");
    assert!(rules(&newer).contains(&"HTT-007"));
}
