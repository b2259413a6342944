//! Tests of the server's chair: scripts of what clients say, and what comes of them.

use tap_protocol::Revisions;

use super::*;
use crate::chair::script::Player;
use crate::script::META;

const CAPABILITIES: &str =
    r#"{"tools":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"logging":{}}"#;

/// A server that can do this and that, and what came of a script.
#[track_caller]
fn check(revisions: Revisions, script: &str, expected: &str) {
    let options = ServerOptions {
        implementation: Implementation { name: "s".into(), version: "1".into(), ..Implementation::default() },
        capabilities: CAPABILITIES.into(),
        revisions,
        ..ServerOptions::default()
    };
    let found = Player::new(Server::new(options).unwrap()).play(script);
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected, "of {script}\nfound:\n{}", found.join("\n"));
}

/// A session of the legacy era, opened with frames 1 to 3.
fn legacy(revision: &str, script: &str) -> String {
    format!(
        r#"-> {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}}
        -> {{"jsonrpc":"2.0","method":"notifications/initialized"}}
        {script}"#
    )
}

fn legacy_opened(revision: &str, rest: &str) -> String {
    format!("<- 0 result {}\nopened {revision}\n{rest}", introduction(revision))
}

fn introduction(revision: &str) -> String {
    format!(
        r#"{{"protocolVersion":"{revision}","capabilities":{CAPABILITIES},"serverInfo":{{"name":"s","version":"1"}}}}"#
    )
}

#[test]
fn a_handshake_agrees_on_a_revision() {
    let old = Revisions::until(Revision::V2025_03_26);
    for (revisions, asked, agreed) in [
        (Revisions::ALL, "2024-11-05", "2024-11-05"),
        (Revisions::ALL, "2025-11-25", "2025-11-25"),
        // Clients in their default may ask for what has no handshake, and the future is unknown.
        (Revisions::ALL, "2026-07-28", "2025-11-25"),
        (Revisions::ALL, "2099-01-01", "2025-11-25"),
        (Revisions::ALL, "2024-10-07", "2025-11-25"),
        (old, "2025-11-25", "2025-03-26"),
        (old, "2024-11-05", "2024-11-05"),
    ] {
        check(revisions, &legacy(asked, ""), &legacy_opened(agreed, ""));
    }
    let unsupported =
        |asked: &str| format!(r#"<- 0 error -32022 {{"supported":["2026-07-28"],"requested":"{asked}"}}"#);
    check(Revisions::MODERN, &legacy("2025-11-25", ""), &unsupported("2025-11-25"));
}

#[test]
fn what_a_modern_request_lacks_is_refused() {
    let key = |name: &str| format!(r#""io.modelcontextprotocol/{name}""#);
    let (version, capabilities) = (key("protocolVersion"), key("clientCapabilities"));
    for (params, expected) in [
        (r#"{"name":"t","_meta":{}}"#.into(), "-32602"),
        (r#"{"name":"t"}"#.into(), "-32602"),
        (format!(r#"{{"name":"t","_meta":{{{version}:"2026-07-28"}}}}"#), "-32602"),
        (format!(r#"{{"name":"t","_meta":{{{version}:"2026-07-28",{capabilities}:[]}}}}"#), "-32602"),
        (format!(r#"{{"name":"t","_meta":{{{version}:7,{capabilities}:{{}}}}}}"#), "-32602"),
        (
            format!(r#"{{"name":"t","_meta":{{{version}:"2027-01-01",{capabilities}:{{}}}}}}"#),
            r#"-32022 {"supported":["2026-07-28"],"requested":"2027-01-01"}"#,
        ),
    ] {
        let options = ServerOptions { revisions: Revisions::MODERN, ..ServerOptions::default() };
        let found = Player::new(Server::new(options).unwrap())
            .play(&format!(r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#));
        assert_eq!(found.last(), Some(&format!("<- 1 error {expected}")), "{params}");
    }
}

#[test]
fn a_client_that_probes_may_fall_back_and_who_has_decided_may_not() {
    let discovery = format!(
        r#"<- 1 result {{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{CAPABILITIES},"ttlMs":0,"cacheScope":"private","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"1"}}}}}}"#
    );
    let probe = r#"-> {"jsonrpc":"2.0","id":1,"method":"server/discover","params":{META}}"#;
    let list = r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{META}}"#;
    check(
        Revisions::ALL,
        &format!("{probe}\n{}", legacy("2025-06-18", list)),
        &format!("{discovery}\n{}", legacy_opened("2025-06-18", "<- 2 error -32600")),
    );
    check(
        Revisions::ALL,
        &format!("{probe}\n{list}\n{}", legacy("2025-06-18", "")),
        &format!(
            "{discovery}\nopened 2026-07-28\nrequest 3 2026-07-28 tools/list {{{META}}}\n<- 0 error -32022 {{\"supported\":[\"2026-07-28\"],\"requested\":\"2025-06-18\"}}"
        ),
    );
    // A server of the legacy era alone does not know the probe.
    check(
        Revisions::LEGACY,
        &format!("{probe}\n{}", legacy("2025-06-18", "")),
        &format!("<- 1 error -32601\n{}", legacy_opened("2025-06-18", "")),
    );
}

#[test]
fn what_cannot_be_served_is_refused_and_the_session_goes_on() {
    for (line, expected) in [
        ("hello", "<- null error -32700"),
        ("{", "<- null error -32700"),
        ("7", "<- null error -32600"),
        ("", ""),
        (r#"{"jsonrpc":"2.0","id":null,"method":"tools/list"}"#, "<- null error -32600"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}"#, "<- null error -32600"),
        (r#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#, "<- null error -32600"),
        (r#"{"jsonrpc":"2.0","id":3,"method":7}"#, "<- null error -32600"),
        (r#"{"jsonrpc":"2.0","id":3}"#, "<- null error -32600"),
        (r#"{"jsonrpc":"2.0","id":3,"result":{}}"#, ""),
        (r#"{"jsonrpc":"2.0","id":3,"result":{},"error":{}}"#, ""),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#, ""),
        (r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#, "<- 3 result {}"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[]}"#, "<- 3 error -32602"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"prompts/list"}"#, "<- 3 error -32601"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"roots/list"}"#, "<- 3 error -32601"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"tasks/list"}"#, "<- 3 error -32601"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"notifications/initialized"}"#, "<- 3 error -32600"),
        (r#"{"jsonrpc":"2.0","id":3,"method":"initialize"}"#, "<- 3 error -32600"),
        ("[]", "<- null error -32600"),
        (
            r#"[{"jsonrpc":"2.0","id":3,"method":"ping"},{"jsonrpc":"2.0","id":4,"method":"tools/list"}]"#,
            "<- 3 error -32600\n<- 4 error -32600",
        ),
        (r#"[{"jsonrpc":"2.0","method":"notifications/cancelled"}]"#, "<- null error -32600"),
    ] {
        let options = ServerOptions { capabilities: CAPABILITIES.into(), ..ServerOptions::default() };
        let mut player = Player::new(Server::new(options).unwrap());
        player.play(&legacy("2025-06-18", ""));
        let found = player.play(&format!("-> {line}"));
        assert_eq!(found.join("\n"), expected, "{line}");
        let after = player.play(r#"-> {"jsonrpc":"2.0","id":9,"method":"ping"}"#);
        assert!(after.contains(&"<- 9 result {}".into()), "{line}: {after:?}");
    }
}

#[test]
fn an_id_that_is_too_long_to_be_sent_back_is_refused() {
    let id = "x".repeat(5_000);
    check(
        Revisions::ALL,
        &legacy("2025-11-25", &format!(r#"-> {{"jsonrpc":"2.0","id":"{id}","method":"ping"}}"#)),
        &legacy_opened("2025-11-25", "<- null error -32600"),
    );
}

#[test]
fn a_batch_is_served_where_there_are_batches() {
    check(
        Revisions::ALL,
        &legacy(
            "2025-03-26",
            r#"
            -> [{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list"},{"jsonrpc":"2.0","method":"notifications/roots/list_changed"},{"jsonrpc":"2.0","id":3,"method":"prompts/list"}]
            answer 4.2 {"tools":[]}
            -> [{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}]
            -> []"#,
        ),
        &legacy_opened(
            "2025-03-26",
            r#"
            <- 1 result {}
            request 4.2 2025-03-26 tools/list -
            notification notifications/roots/list_changed -
            <- 3 error -32601
            <- 2 result {"tools":[]}
            <- 5 error -32600
            <- null error -32600"#,
        ),
    );
}

#[test]
fn before_the_session_is_open_only_a_ping_is_answered() {
    check(
        Revisions::ALL,
        r#"
        -> {"jsonrpc":"2.0","id":1,"method":"ping"}
        -> {"jsonrpc":"2.0","id":2,"method":"tools/list"}
        ask - roots/list
        notify notifications/message {"level":"info","data":1}
        changed tools"#,
        "<- 1 result {}
        <- 2 error -32600
        misuse: the session is not open
        misuse: the session is not open
        misuse: the session is not open",
    );
}

#[test]
fn modern_results_get_what_they_lack() {
    let request = |id: u64, method: &str, params: &str| {
        format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params}META}}}}"#)
    };
    let who = r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}"#;
    let script = [
        request(1, "tools/list", ""),
        r#"answer 1 {"tools":[],"ttlMs":5}"#.into(),
        request(2, "tools/call", r#""name":"t","#),
        r#"answer 3 {"content":[{"type":"text","text":"\u0061 1e400"}],"_meta":{"a":1}}"#.into(),
        request(3, "tools/call", r#""name":"t","#),
        r#"answer 5 {"resultType":"complete","content":[]}"#.into(),
        "answer 5 {}".into(),
        request(4, "tools/call", r#""name":"t","#),
        "answer 7 []".into(),
        r#"answer 7 {},"id":7"#.into(),
        "fail 7 -32602".into(),
        "ask - roots/list".into(),
    ];
    let meta = |params: &str| format!("{{{params}{META}}}");
    let expected = [
        "opened 2026-07-28".into(),
        format!("request 1 2026-07-28 tools/list {}", meta("")),
        format!(
            r#"<- 1 result {{"resultType":"complete","tools":[],"ttlMs":5,"cacheScope":"private","_meta":{{{who}}}}}"#
        ),
        format!("request 3 2026-07-28 tools/call {}", meta(r#""name":"t","#)),
        format!(
            r#"<- 2 result {{"resultType":"complete","content":[{{"type":"text","text":"\u0061 1e400"}}],"_meta":{{"a":1,{who}}}}}"#
        ),
        format!("request 5 2026-07-28 tools/call {}", meta(r#""name":"t","#)),
        format!(r#"<- 3 result {{"resultType":"complete","content":[],"_meta":{{{who}}}}}"#),
        "misuse: the request in frame 5 does not wait for an answer".into(),
        format!("request 7 2026-07-28 tools/call {}", meta(r#""name":"t","#)),
        "misuse: result: not one JSON value of the right kind".into(),
        "misuse: result: not one JSON value of the right kind".into(),
        "<- 4 error -32602".into(),
        "misuse: a request of the server is not done in the modern era".into(),
    ];
    check(Revisions::ALL, &script.join("\n"), &expected.join("\n"));
}

#[test]
fn a_server_requires_input_of_clients_that_can_give_it() {
    let who = r#""io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}"#;
    check(
        Revisions::ALL,
        r#"
        -> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}}
        require-input 1 - a=elicitation/create={}
        require-input 1 - a=tools/list
        require-input 1 -
        require-input 1 x"y a=roots/list
        require-input 1 z
        "#,
        &format!(
            r#"
            opened 2026-07-28
            request 1 2026-07-28 tools/call {{"name":"t","_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{"roots":{{}}}}}}}}
            misuse: the capability `elicitation` was not declared
            misuse: a question: not one JSON value of the right kind
            misuse: a result that requires input: not one JSON value of the right kind
            <- 1 result {{"resultType":"input_required","inputRequests":{{"a":{{"method":"roots/list"}}}},"requestState":"x\"y","_meta":{{{who}}}}}
            misuse: the request in frame 1 does not wait for an answer"#
        ),
    );
    check(
        Revisions::ALL,
        &legacy(
            "2025-11-25",
            "-> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\nrequire-input 4 x",
        ),
        &legacy_opened(
            "2025-11-25",
            "request 4 2025-11-25 tools/call {\"name\":\"t\"}\nmisuse: a result that requires input is not done in the legacy era",
        ),
    );
}

#[test]
fn subscriptions_are_told_what_they_asked_for_until_they_end() {
    let listen = |id: &str, filter: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":{id},"method":"subscriptions/listen","params":{{"notifications":{filter},META}}}}"#
        )
    };
    let script = [
        listen("1", r#"{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":false}"#),
        listen("\"1\"", r#"{"toolsListChanged":true}"#),
        listen("\"1\"", r#"{"resourceSubscriptions":["file:///a","file:///b/"]}"#),
        listen("3", "[]"),
        "changed tools".into(),
        "changed resources".into(),
        "changed prompts".into(),
        "changed file:///a".into(),
        "changed file:///a/b".into(),
        "changed file:///ab".into(),
        "changed file:///b/c".into(),
        "notify notifications/tools/list_changed".into(),
        r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#.into(),
        "changed tools".into(),
        "unsubscribe 1".into(),
        "unsubscribe 5".into(),
        "changed file:///a".into(),
    ];
    check(
        Revisions::ALL,
        &script.join("\n"),
        r#"
        opened 2026-07-28
        <- notifications/subscriptions/acknowledged {"toolsListChanged":true} of 1
        subscribed 1 {"toolsListChanged":true}
        <- notifications/subscriptions/acknowledged {"toolsListChanged":true} of "1"
        subscribed 3 {"toolsListChanged":true}
        <- notifications/subscriptions/acknowledged {"resourceSubscriptions":["file:///a","file:///b/"]} of "1"
        withdrawn 3
        subscribed 5 {"resourceSubscriptions":["file:///a","file:///b/"]}
        <- 3 error -32602
        <- notifications/tools/list_changed of 1
        misuse: the capability `prompts.listChanged` was not declared
        <- notifications/resources/updated "file:///a" of "1"
        <- notifications/resources/updated "file:///a/b" of "1"
        <- notifications/resources/updated "file:///b/c" of "1"
        misuse: `notifications/tools/list_changed` is sent by the chair itself
        withdrawn 1
        misuse: the request in frame 1 does not wait for an answer
        <- "1" result {"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"1","io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#,
    );
}

#[test]
fn in_the_legacy_era_a_server_tells_asks_and_gives_up() {
    check(
        Revisions::ALL,
        &legacy(
            "2025-11-25",
            r#"
            changed tools
            changed file:///a
            -> {"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"file:///a"}}
            answer 5 {}
            changed file:///a
            -> {"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"file:///a"}}
            answer 8 {}
            changed file:///a
            -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"t","_meta":{"progressToken":"p"}}}
            progress 10 1 begun
            progress 10 NaN
            ask - roots/list
            -> {"jsonrpc":"2.0","id":1,"result":{"roots":[]}}
            ask - elicitation/create {"message":"?","requestedSchema":{"type":"object","properties":{}}}
            ask limit=50 roots/list
            ++ 50
            -> {"jsonrpc":"2.0","id":2,"result":{"roots":[]}}
            ask - roots/list
            cancel 3
            -> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}
            answer 10 {"content":[]}
            ask - roots/list
            ..
            ask - roots/list"#,
        ),
        &legacy_opened(
            "2025-11-25",
            r#"
            <- notifications/tools/list_changed
            request 5 2025-11-25 resources/subscribe {"uri":"file:///a"}
            <- 1 result {}
            <- notifications/resources/updated "file:///a"
            request 8 2025-11-25 resources/unsubscribe {"uri":"file:///a"}
            <- 2 result {}
            request 10 2025-11-25 tools/call {"name":"t","_meta":{"progressToken":"p"}}
            <- notifications/progress 1 "begun"
            misuse: a number is not finite
            <- 1 roots/list
            answer 1 result {"roots":[]} after 1 ms
            misuse CAP-002
            <- 2 roots/list
            <- notifications/cancelled 2
            timed out 2
            <- 3 roots/list
            <- notifications/cancelled 3
            withdrawn 10
            misuse: the request in frame 10 does not wait for an answer
            <- 4 roots/list
            dropped 4
            ended
            misuse: the session is not open"#,
        ),
    );
}
