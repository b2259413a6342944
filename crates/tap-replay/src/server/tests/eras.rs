//! Two eras, and what of one can be said in the other.

use super::*;
use crate::message::Unit;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

fn modern(text: &str) -> String {
    text.replace("META", META)
}

const MODERN: &str = r#"
-> {"id":0,"method":"server/discover","params":{META}}
<- {"id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"be \"kind\"","ttlMs":0,"cacheScope":"public","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}
-> {"id":1,"method":"tools/call","params":{"name":"a",META}}
<- {"id":1,"result":{"resultType":"complete","content":[]}}
-> {"id":2,"method":"tools/call","params":{"name":"b",META}}
<- {"id":2,"result":{"resultType":"input_required","inputRequests":{"q":{}},"requestState":"st"}}
-> {"id":3,"method":"tools/call","params":{"name":"b","inputResponses":{"q":{}},"requestState":"st",META}}
<- {"id":3,"result":{"resultType":"complete","content":[1]}}
"#;

#[test]
fn a_modern_client_goes_its_rounds() {
    check(
        &modern(MODERN),
        &modern(
            r#"-> {"id":10,"method":"server/discover","params":{META}}
               <- ~ "id":10
               -> {"id":11,"method":"tools/call","params":{"name":"b",META}}
               <- {"id":11,"result":{"resultType":"input_required","inputRequests":{"q":{}},"requestState":"st"}}
               -> {"id":12,"method":"tools/call","params":{"name":"b","inputResponses":{"q":{}},"requestState":"st",META}}
               <- {"id":12,"result":{"resultType":"complete","content":[1]}}
               -> {"id":13,"method":"tools/call","params":{"name":"a",META}}
               <- {"id":13,"result":{"resultType":"complete","content":[]}}"#,
        ),
    );
}

#[test]
fn a_modern_recording_is_told_to_a_legacy_client_as_far_as_it_can_be() {
    check(
        &modern(MODERN),
        r#"-> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
           ** modern era
           <- {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"},"instructions":"be \"kind\""}}
           -> {"method":"notifications/initialized"}
           -> {"id":1,"method":"ping"}
           <- {"jsonrpc":"2.0","id":1,"result":{}}
           -> {"id":2,"method":"logging/setLevel","params":{"level":"info"}}
           <- {"jsonrpc":"2.0","id":2,"result":{}}
           -> {"id":3,"method":"tools/call","params":{"name":"a"}}
           <- {"id":3,"result":{"content":[]}}
           -> {"id":4,"method":"tools/call","params":{"name":"b"}}
           !! other revision
           <- ~ "id":4,"error":{"code":-31001"#,
    );
}

#[test]
fn a_modern_server_says_what_it_can_although_it_was_not_asked_in_the_recording() {
    let recording = modern(
        r#"-> {"id":1,"method":"tools/list","params":{META}}
           <- {"id":1,"result":{"resultType":"complete","tools":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}"#,
    );
    check(
        &recording,
        &modern(
            r#"-> {"id":"d","method":"server/discover","params":{META}}
               ** made of what else is there
               <- {"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}}"#,
        ),
    );
    check(
        &recording,
        r#"-> {"id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}
           ** modern era
           <- {"jsonrpc":"2.0","id":"i","result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s"}}}"#,
    );
}

#[test]
fn a_legacy_recording_makes_a_client_of_both_eras_fall_back() {
    let recording = with_opening(
        r#"-> {"id":1,"method":"tools/list"}
           <- {"id":1,"result":{"tools":[]}}
           -> {"id":2,"method":"tools/call","params":{"name":"ask"}}
           <- {"id":5,"method":"sampling/createMessage"}
           -> {"id":5,"result":{}}
           <- {"id":2,"result":{}}"#,
    );
    let opened = with_opened("");
    check(
        &recording,
        &modern(&format!(
            r#"-> {{"id":1,"method":"server/discover","params":{{META}}}}
               <- {{"jsonrpc":"2.0","id":1,"error":{{"code":-32601,"message":"Method not found"}}}}
               {opened}
               -> {{"id":2,"method":"tools/list"}}
               <- {{"id":2,"result":{{"tools":[]}}}}"#
        )),
    );
    // Also where the recorded server refused in a way that answers nothing; it was asked for, then.
    let refused = format!("{}\n{recording}", modern(r#"-> {"id":9,"method":"server/discover","params":{META}}"#));
    let mut player = check(
        &refused,
        &modern(
            r#"-> {"id":1,"method":"server/discover","params":{META}}
               <- {"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#,
        ),
    );
    assert!(!player.report(true).unused.iter().any(|unused| unused.what == "server/discover"));
    // One that does not is told what can be told.
    check(
        &recording,
        &modern(
            r#"-> {"id":2,"method":"tools/list","params":{META}}
               <- {"id":2,"result":{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}}
               -> {"id":3,"method":"tools/call","params":{"name":"ask",META}}
               !! other revision
               <- ~ -31001"#,
        ),
    );
}

#[test]
fn the_recorded_revision_is_answered_and_an_older_client_is_told_of() {
    let offer = |version: &str| {
        format!(
            r#"-> {{"id":1,"method":"initialize","params":{{"protocolVersion":"{version}","capabilities":{{"sampling":{{}},"roots":{{}}}}}}}}"#
        )
    };
    for version in ["2025-11-25", "2026-07-28"] {
        check(OPENING, &format!("{}\n<- ~ \"protocolVersion\":\"2025-11-25\"", offer(version)));
    }
    // As a server that does not know the older one: it says what it supports, and the client decides.
    for version in ["2024-11-05", "2025-06-18", ""] {
        let goes_on = r#"-> {"id":2,"method":"ping"}
            <- {"jsonrpc":"2.0","id":2,"result":{}}"#;
        check(
            OPENING,
            &format!(
                "{}\n** and the recording is of 2025-11-25\n<- ~ \"protocolVersion\":\"2025-11-25\"\n{goes_on}",
                offer(version)
            ),
        );
    }
    // As recorded: a client that offered less was answered with more.
    let recording = OPENING.replacen("2025-11-25", "2024-11-05", 1);
    check(&recording, &format!("{}\n<- ~ \"protocolVersion\":\"2025-11-25\"", offer("2024-11-05")));
}

#[test]
fn a_revision_that_the_recorded_server_does_not_support_is_refused_with_those_that_it_does() {
    let recording = modern(
        r#"-> {"id":0,"method":"tools/list","params":{META}}
           <- {"id":0,"result":{"resultType":"complete","tools":[]}}"#,
    );
    for method in ["tools/list", "server/discover"] {
        let said = modern(&format!(r#"-> {{"id":"s","method":"{method}","params":{{META}}}}"#))
            .replace("2026-07-28", "2027-01-01");
        let refused = r#"** the client asks in revision 2027-01-01, and the recording is of 2026-07-28
            <- ~ "data":{"supported":["2026-07-28"],"requested":"2027-01-01"}"#;
        let again = r#"-> {"id":1,"method":"tools/list","params":{META}}
            <- {"id":1,"result":{"resultType":"complete","tools":[]}}"#;
        check(&recording, &format!("{said}\n{refused}\n{}", modern(again)));
    }
}

#[test]
fn subscriptions_bring_what_they_brought_when_the_client_is_as_far() {
    let recording = modern(
        r#"-> {"id":0,"method":"subscriptions/listen","params":{"toolsListChanged":true,META}}
           <- {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}
           -> {"id":1,"method":"tools/call","params":{"name":"add",META}}
           <- {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":0}}}
           <- {"id":1,"result":{"resultType":"complete"}}
           <- {"method":"notifications/cancelled","params":{"requestId":0}}"#,
    );
    check(
        &recording,
        &modern(
            r#"-> {"id":"s","method":"subscriptions/listen","params":{"toolsListChanged":true,META}}
               <- {"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
               -> {"id":1,"method":"tools/call","params":{"name":"add",META}}
               <- {"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}
               <- {"id":1,"result":{"resultType":"complete"}}
               <- {"method":"notifications/cancelled","params":{"requestId":"s"}}"#,
        ),
    );
}

#[test]
fn each_client_plays_the_connection_that_begins_like_it() {
    let mut recorded = units(&modern(
        r#"-> {"id":"probe","method":"server/discover","params":{META}}
           <- {"id":"probe","error":{"code":-32601,"message":"no such method"}}"#,
    ));
    let n = recorded.len() as u64;
    recorded.extend(units(OPENING).into_iter().map(|unit| Unit { conversation: 2, number: unit.number + n, ..unit }));
    let player = || {
        let recording = Box::new(InMemory::new(recorded.clone()));
        let source = Source { name: "a".into(), rules: Rules::default(), is_fixture: false, recording };
        Player::new(vec![source], Options::default())
    };
    let sent = |outputs: Vec<Output>| match outputs.as_slice() {
        [Output::Send { bytes, .. }] => String::from_utf8(bytes.clone()).expect("text"),
        other => panic!("{other:?}"),
    };
    let probe = modern(r#"{"id":7,"method":"server/discover","params":{META}}"#);
    assert!(sent(player().receive(probe.as_bytes())).contains("no such method"));
    let initialize = r#"{"id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"sampling":{},"roots":{}}}}"#;
    let mut real = player();
    assert!(sent(real.receive(initialize.as_bytes())).contains("serverInfo"));
    assert_eq!(real.report(true).unused, []);
}
