//! Tests of the client's chair: scripts of what servers say, and what comes of them.

use tap_protocol::Revisions;

use super::*;
use crate::chair::script::Player;
use crate::chair::{OnProgress, RequestOptions};

/// A client that can do everything, and what came of a script.
#[track_caller]
fn check(revisions: Revisions, script: &str, expected: &str) -> Player<Client> {
    let capabilities = r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#;
    let options = ClientOptions { capabilities: capabilities.into(), revisions, ..ClientOptions::default() };
    let mut player = Player::new(Client::new(options));
    let found = player.play(script);
    let expected: Vec<_> = expected.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert_eq!(found, expected, "of {script}\nfound:\n{}", found.join("\n"));
    player
}

const DISCOVERED: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true},"prompts":{},"logging":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}"#;

/// A session of the modern era that is open.
fn modern(script: &str) -> String {
    format!("open\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{DISCOVERED}}}\n{script}")
}

const MODERN_OPENED: &str = "-> 1 server/discover 2026-07-28\nopened 2026-07-28\n";

/// A session of the legacy era that is open.
fn legacy(revision: &str, script: &str) -> String {
    format!(
        r#"open
<- {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"1"}}}}}}
{script}"#
    )
}

fn legacy_opened(revision: &str) -> String {
    format!("-> 1 initialize 2025-11-25\n-> notifications/initialized\nopened {revision}\n")
}

const INITIALIZED: &str =
    r#""result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;

#[test]
fn whatever_is_no_sign_of_the_modern_era_leads_to_initialize() {
    for answer in [
        // Errors of any code, known or not, well formed or not.
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"?","data":{"supported":["2026-07-28"]}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":"no"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":"no"}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":-32601,"message":"?"}}"#,
        // It could not read the question, so that it does not name it.
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"?"}}"#,
        // Of the modern era, and yet no help.
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":[]}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2025-06-18"],"requested":"2026-07-28"}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2027-01-01","2025-06-18"],"requested":"2026-07-28"}}}"#,
        // Results that are none of `server/discover`.
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":null}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":[]}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":"2026-07-28"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":[]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":[7,{}]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"supportedVersions":["2024-11-05","2025-06-18"]}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{}}}"#,
    ] {
        let mut player = Player::new(Client::new(ClientOptions::default()));
        let found = player.play(&format!("open\n<- {answer}\n<- {{\"jsonrpc\":\"2.0\",\"id\":2,{INITIALIZED}"));
        let expected = [
            "-> 1 server/discover 2026-07-28",
            "-> 2 initialize 2025-11-25",
            "-> notifications/initialized",
            "opened 2025-06-18",
        ];
        assert_eq!(found, expected, "{answer}");
    }
}

#[test]
fn silence_leads_to_initialize_and_what_is_no_answer_is_silence() {
    for noise in [
        "Server listening on stdio",
        "{",
        "",
        r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32601,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32601,"message":"?"}}"#,
        r#"{"jsonrpc":"2.0","id":7,"result":{"supportedVersions":["2026-07-28"]}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#,
        r#"{"level":"info","msg":"ready"}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{"supportedVersions":["2026-07-28"]}}"#,
        "[]",
    ] {
        let mut player = Player::new(Client::new(ClientOptions::default()));
        let found = player.play(&format!("open\n<- {noise}\n++ 9998"));
        let said = |found: &[String]| found.iter().filter(|line| line.starts_with("->")).cloned().collect::<Vec<_>>();
        assert_eq!(said(&found), ["-> 1 server/discover 2026-07-28"], "{noise}");
        assert_eq!(said(&player.play("++ 1")), ["-> 2 initialize 2025-11-25"], "{noise}");
    }
}

#[test]
fn an_answer_that_comes_after_the_fallback_changes_nothing() {
    for late in [
        format!(r#"{{"jsonrpc":"2.0","id":1,"result":{DISCOVERED}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#.into(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2026-07-28"],"requested":"2026-07-28"}}}"#.into(),
    ] {
        let script = format!(
            "open\n++ 10000\n<- {late}\n<- {{\"jsonrpc\":\"2.0\",\"id\":2,{INITIALIZED}\n<- {late}\nrequest ping\n<- {{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{{}}}}"
        );
        let player = check(
            Revisions::ALL,
            &script,
            "-> 1 server/discover 2026-07-28
            -> 2 initialize 2025-11-25
            -> notifications/initialized
            opened 2025-06-18
            -> 3 ping
            answer 3 result {} after 1 ms",
        );
        assert_eq!(player.chair.state().era, Some(tap_protocol::Era::Legacy));
    }
}

#[test]
fn a_modern_server_stays_one_when_it_refuses_the_probe() {
    let unsupported = |id: u64, named: &str| {
        format!(
            r#"<- {{"jsonrpc":"2.0","id":{id},"error":{{"code":-32022,"message":"?","data":{{"supported":[{named}],"requested":"2026-07-28"}}}}}}"#
        )
    };
    let modern = r#""2027-01-01","2026-07-28""#;
    for (revisions, script, expected) in [
        (
            Revisions::ALL,
            format!("{}\n<- {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{DISCOVERED}}}", unsupported(1, modern)),
            "-> 2 server/discover 2026-07-28\nopened 2026-07-28",
        ),
        // It names what it does not take: twice is enough.
        (
            Revisions::ALL,
            format!("{}\n{}", unsupported(1, modern), unsupported(2, modern)),
            "-> 2 server/discover 2026-07-28\nrefused: error {\"code\":-32022,\"message\":\"?\",\"data\":{\"supported\":[\"2027-01-01\",\"2026-07-28\"],\"requested\":\"2026-07-28\"}}",
        ),
        (
            Revisions::ALL,
            format!("{}\n++ 10000", unsupported(1, modern)),
            "-> 2 server/discover 2026-07-28\n-> 3 initialize 2025-11-25",
        ),
        (Revisions::ALL, unsupported(1, r#""2027-01-01""#), "refused: it speaks 2027-01-01"),
        (Revisions::MODERN, unsupported(1, r#""2025-06-18""#), "refused: it speaks 2025-06-18"),
        (
            Revisions::ALL,
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32020,"message":"?"}}"#.into(),
            "opened 2026-07-28",
        ),
        (
            Revisions::ALL,
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"?","data":{"requiredCapabilities":{}}}}"#
                .into(),
            "opened 2026-07-28",
        ),
        (
            Revisions::MODERN,
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#.into(),
            r#"refused: error {"code":-32601,"message":"?"}"#,
        ),
        (Revisions::MODERN, r#"<- {"jsonrpc":"2.0","id":1,"result":{}}"#.into(), "refused: result {}"),
        (Revisions::MODERN, "++ 10000".into(), "refused: silence"),
        (Revisions::ALL, "..".into(), "refused: ended at the probe\nended"),
    ] {
        let mut player = Player::new(Client::new(ClientOptions { revisions, ..ClientOptions::default() }));
        let found = player.play(&format!("open\n{script}"));
        assert_eq!(found.join("\n"), format!("-> 1 server/discover 2026-07-28\n{expected}"), "{script}");
    }
}

#[test]
fn a_server_of_the_legacy_era_answers_initialize_or_is_refused() {
    let with = |version: &str| {
        format!(
            r#"<- {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":{version},"capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}"#
        )
    };
    let unsupported = r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"?","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;
    for (revisions, script, expected) in [
        (Revisions::LEGACY, with(r#""2024-11-05""#), "-> notifications/initialized\nopened 2024-11-05"),
        (Revisions::LEGACY, with(r#""2024-10-07""#), "refused: it speaks 2024-10-07"),
        (Revisions::LEGACY, with(r#""2099-01-01""#), "refused: it speaks 2099-01-01"),
        (
            Revisions::LEGACY,
            with("7"),
            r#"refused: result {"protocolVersion":7,"capabilities":{},"serverInfo":{"name":"s","version":"1"}}"#,
        ),
        (Revisions::only(Revision::V2025_11_25), with(r#""2025-06-18""#), "refused: it speaks 2025-06-18"),
        (
            Revisions::LEGACY,
            r#"<- {"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"?"}}"#.into(),
            r#"refused: error {"code":-32603,"message":"?"}"#,
        ),
        (Revisions::LEGACY, unsupported.into(), "refused: it speaks 2026-07-28"),
        (Revisions::LEGACY, "++ 59999\n++ 1".into(), "refused: silence"),
        (Revisions::LEGACY, "..".into(), "refused: ended\nended"),
    ] {
        let mut player = Player::new(Client::new(ClientOptions { revisions, ..ClientOptions::default() }));
        let found = player.play(&format!("open\n{script}"));
        assert_eq!(found.join("\n"), format!("-> 1 initialize 2025-11-25\n{expected}"), "{script}");
    }
}

#[test]
fn a_server_that_was_too_slow_for_the_probe_is_probed_once_more_when_it_refuses_initialize() {
    let refused = r#"<- {"jsonrpc":"2.0","id":2,"error":{"code":-32022,"message":"?","data":{"supported":["2026-07-28"],"requested":"2025-11-25"}}}"#;
    let begin = "-> 1 server/discover 2026-07-28\n-> 2 initialize 2025-11-25\n-> 3 server/discover 2026-07-28\n";
    for (then, expected) in [
        (format!("<- {{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{DISCOVERED}}}"), "opened 2026-07-28"),
        (
            r#"<- {"jsonrpc":"2.0","id":3,"error":{"code":-32601,"message":"?"}}"#.into(),
            r#"refused: error {"code":-32601,"message":"?"}"#,
        ),
        ("++ 10000".into(), "refused: silence"),
    ] {
        check(Revisions::ALL, &format!("open\n++ 10000\n{refused}\n{then}"), &format!("{begin}{expected}"));
    }
}

#[test]
fn requests_of_the_modern_era_carry_what_they_need_and_leave_the_rest_as_written() {
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","title":"C","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}}"#;
    let implementation =
        Implementation { name: "c".into(), version: "1".into(), title: Some("C".into()), ..Implementation::default() };
    for (method, params, options, expected) in [
        ("tools/list", None, RequestOptions::default(), format!(r#"{{"_meta":{{{meta}}}}}"#)),
        (
            "tools/call",
            Some(
                "{ \"name\":\"t\",\n  \"arguments\" : {\"n\": 1e400,\r\n\"big\": 12345678901234567890, \"s\":\"\\ud800\"} }",
            ),
            RequestOptions::default(),
            format!(
                r#"{{"name":"t","arguments":{{"n": 1e400,  "big": 12345678901234567890, "s":"\ud800"}},"_meta":{{{meta}}}}}"#
            ),
        ),
        (
            "tools/list",
            Some(r#"{"_meta":{"traceparent":"00-1-2-00"}}"#),
            RequestOptions { on_progress: OnProgress::Tell, log_level: Some("info"), ..RequestOptions::default() },
            format!(
                r#"{{"_meta":{{"traceparent":"00-1-2-00",{meta},"io.modelcontextprotocol/logLevel":"info","progressToken":2}}}}"#
            ),
        ),
    ] {
        let capabilities = r#"{"roots":{}}"#.into();
        let mut player = Player::new(Client::new(ClientOptions {
            implementation: implementation.clone(),
            capabilities,
            ..ClientOptions::default()
        }));
        player.play(&modern(""));
        player.chair.request(method, params, options, player.now_ns).unwrap();
        let sent = std::iter::from_fn(|| player.chair.poll_output()).find_map(|output| match output {
            Output::Send(message) => Some(message),
            _ => None,
        });
        let expected = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"{method}","params":{expected}}}"#);
        assert_eq!(String::from_utf8_lossy(&sent.unwrap()), expected);
    }
}

#[test]
fn calls_go_on_time_out_and_are_given_up_in_both_eras() {
    let after_opening = "
        request-with tell,limit=100 tools/call {\"name\":\"slow\"}
        <- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":2,\"progress\":0.5,\"total\":1,\"message\":\"half\"}}
        ++ 98
        ++ 1
        <- {\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32603,\"message\":\"late\"}}
        request-with extend=150,limit=100 tools/call {\"name\":\"slow\"}
        ++ 90
        <- {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":3,\"progress\":1}}
        ++ 58
        ++ 1
        request tools/call {\"name\":\"a\"}
        cancel 4
        cancel 4
        <- {\"jsonrpc\":\"2.0\",\"id\":4,\"error\":{\"code\":-32603,\"message\":\"late\"}}
        request tools/call {\"name\":\"b\"}
        request-with limit=5 tools/call {\"name\":\"c\"}
        <- {\"jsonrpc\":\"2.0\",\"id\":6,\"error\":{\"code\":-32602,\"message\":\"?\"}}
        ++ 100
        ..
        request tools/call {\"name\":\"d\"}";
    let expected = "
        -> 2 tools/call
        progress 2 0.5 of Some(1.0) Some(\"half\")
        -> notifications/cancelled 2
        timed out 2
        -> 3 tools/call
        progress 3 1 of None None
        -> notifications/cancelled 3
        timed out 3
        -> 4 tools/call
        -> notifications/cancelled 4
        misuse: call 4 does not wait for this
        -> 5 tools/call
        -> 6 tools/call
        answer 6 error {\"code\":-32602,\"message\":\"?\"} after 1 ms
        dropped 5
        ended
        misuse: the session is not open";
    check(Revisions::ALL, &modern(after_opening), &format!("{MODERN_OPENED}{expected}"));
    for revision in Revisions::LEGACY.iter() {
        let expected = format!("{}{expected}", legacy_opened(revision.as_str()));
        check(Revisions::LEGACY, &legacy(revision.as_str(), after_opening), &expected);
    }
}

#[test]
fn a_call_takes_as_many_rounds_as_the_server_wants() {
    check(
        Revisions::ALL,
        &modern(
            r#"
            request tools/call {"arguments":{"a":1e2},"name":"t"}
            <- {"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}},"wh\u0065re":{"method":"roots/list"}},"requestState":"\u0061/b\/c"}}
            retry 2 when={}
            retry 2 who={"action":"decline"} where={"roots":[]}
            <- {"jsonrpc":"2.0","id":3,"result":{"resultType":"input_required","requestState":"2"}}
            ++ 100000
            retry 2
            <- {"jsonrpc":"2.0","id":4,"result":{"resultType":"input_required","inputRequests":{"who":{"method":"roots/list"}}}}
            retry 2 who={"roots":[]}
            <- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","content":[]}}
            retry 2
            "#,
        ),
        &format!(
            r#"{MODERN_OPENED}
            -> 2 tools/call
            input 2 [who elicitation/create {{"message":"?","requestedSchema":{{"type":"object","properties":{{}}}}}}; where roots/list -] state "\u0061/b\/c"
            misuse: nothing was asked as `when`
            -> 3 tools/call {{"who":{{"action":"decline"}},"wh\u0065re":{{"roots":[]}}}} "\u0061/b\/c"
            input 2 [] state "2"
            -> 4 tools/call "2"
            input 2 [who roots/list -] state -
            -> 5 tools/call {{"who":{{"roots":[]}}}}
            answer 2 result {{"resultType":"complete","content":[]}} after 1 ms
            misuse: call 2 does not wait for this"#
        ),
    );
}

#[test]
fn a_result_that_wants_input_and_asks_for_nothing_is_an_answer() {
    for result in [
        r#"{"resultType":"input_required"}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":{"params":{}}}}"#,
        r#"{"resultType":"input_required","inputRequests":{"a":7}}"#,
        r#"{"resultType":"task","taskId":"1"}"#,
        r#"{"resultType":7,"requestState":"1"}"#,
        r#"{"requestState":"1"}"#,
    ] {
        let mut player = Player::new(Client::new(ClientOptions::default()));
        player.play(&modern("request tools/call {\"name\":\"t\"}"));
        let found = player.play(&format!(r#"<- {{"jsonrpc":"2.0","id":2,"result":{result}}}"#));
        let answer = format!("answer 2 result {result} after 1 ms");
        assert!(found.contains(&answer), "{result}: {found:?}");
    }
}

#[test]
fn a_server_of_the_legacy_era_asks_and_is_answered() {
    check(
        Revisions::LEGACY,
        &legacy(
            "2025-06-18",
            r#"
            <- {"jsonrpc":"2.0","id":1,"method":"ping"}
            <- {"jsonrpc":"2.0","id":"a","method":"roots/list"}
            <- {"jsonrpc":"2.0","id":2,"method":"tools/list"}
            <- {"jsonrpc":"2.0","id":3,"method":"no/such"}
            <- {"jsonrpc":"2.0","id":"b","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}
            <- {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"b"}}
            respond 11 {"action":"decline"}
            respond 6 []
            respond 6 {"roots":[]}
            respond 6 {"roots":[]}
            <- {"jsonrpc":"2.0","id":4,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}
            fail 14 -1
            "#,
        ),
        &format!(
            r#"{}
            -> 1 result {{}}
            request 6 2025-06-18 roots/list -
            -> 2 error -32601
            -> 3 error -32601
            request 11 2025-06-18 elicitation/create {{"message":"?","requestedSchema":{{"type":"object","properties":{{}}}}}}
            withdrawn 11
            misuse: the request in frame 11 does not wait for an answer
            misuse: result: not one JSON value of the right kind
            -> "a" result {{"roots":[]}}
            misuse: the request in frame 6 does not wait for an answer
            request 14 2025-06-18 sampling/createMessage {{"messages":[],"maxTokens":1}}
            -> 4 error -1"#,
            legacy_opened("2025-06-18")
        ),
    );
}
