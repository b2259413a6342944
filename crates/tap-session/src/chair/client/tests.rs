//! Tests of the client's chair: scripts of what servers say, and what comes of them.

use tap_protocol::Revisions;

use super::*;
use crate::chair::script::Player;

/// A client that can do everything, and what came of a script.
#[track_caller]
fn check(revisions: Revisions, script: &str, expected: &str) -> Player {
    let capabilities = r#"{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}"#;
    let options = ClientOptions { capabilities: capabilities.into(), revisions, ..ClientOptions::default() };
    let mut player = Player::new(options);
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
        let mut player = Player::new(ClientOptions::default());
        let found = player.play(&format!("open\n<- {answer}\n<- {{\"jsonrpc\":\"2.0\",\"id\":2,{INITIALIZED}"));
        let found: Vec<_> = found.iter().filter(|line| !line.starts_with("error ")).collect();
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
        "[]",
    ] {
        let mut player = Player::new(ClientOptions::default());
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
            error RPC-007 by Server
            -> 3 ping
            answer 3 result {} after 1 ms",
        );
        assert_eq!(player.client.state().era, Some(tap_protocol::Era::Legacy));
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
        let mut player = Player::new(ClientOptions { revisions, ..ClientOptions::default() });
        let found = player.play(&format!("open\n{script}"));
        let found: Vec<_> = found.iter().filter(|line| !line.starts_with("error ")).cloned().collect();
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
        let mut player = Player::new(ClientOptions { revisions, ..ClientOptions::default() });
        let found = player.play(&format!("open\n{script}"));
        let found: Vec<_> = found.iter().filter(|line| !line.starts_with("error ")).cloned().collect();
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
