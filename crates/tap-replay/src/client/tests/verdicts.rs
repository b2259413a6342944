//! What is made of what came back: lists, dials, limits.

use tap_compare::{Depth, PathPattern, ToolRules};

use super::*;

const LISTS: &str = r#"
    -> {"id":1,"method":"tools/list"}
    <- {"id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}],"nextCursor":"2"}}
    -> {"id":2,"method":"tools/list","params":{"cursor":"2"}}
    <- {"id":2,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}]}}
"#;

#[test]
fn lists_are_the_same_whatever_their_pages_and_order() {
    check(
        LISTS,
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}},{"name":"a","inputSchema":{"type":"object"}}]}}
        "#,
        "tools/list: same
        tools/list: not sent: the list ended before this page",
    );
    check(
        LISTS,
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[],"nextCursor":"x"}}
        -> {"id":2,"method":"tools/list","params":{"cursor":"x"}}
        <- {"id":2,"result":{"tools":[{"name":"b","inputSchema":{"type":"object"}}],"nextCursor":"y"}}
        -> {"id":3,"method":"tools/list","params":{"cursor":"y"}}
        <- {"id":3,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}
        "#,
        "tools/list: same
        tools/list: same",
    );
    // Nobody has to say how pages are asked for.
    for (params, asked) in [
        ("", r#","params":{"cursor":"x"}"#),
        (r#","params":{}"#, r#","params":{"cursor":"x"}"#),
        (r#","params":{"_meta":{}}"#, r#","params":{"cursor":"x","_meta":{}}"#),
    ] {
        check(
            &format!("-> {{\"id\":1,\"method\":\"tools/list\"{params}}}\n<- {{\"id\":1,\"result\":{{\"tools\":[]}}}}"),
            &format!(
                "-> {{\"id\":1,\"method\":\"tools/list\"{params}}}\n\
                 <- {{\"id\":1,\"result\":{{\"tools\":[],\"nextCursor\":\"x\"}}}}\n\
                 -> {{\"id\":2,\"method\":\"tools/list\"{asked}}}\n\
                 <- {{\"id\":2,\"result\":{{\"tools\":[]}}}}"
            ),
            "tools/list: same",
        );
    }
}

#[test]
fn what_has_changed_of_a_list_is_told_with_whom_it_breaks() {
    check(
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"}},{"name":"b"}]}}
        "#,
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","required":["x"]}},{"name":"c"}]}}
        "#,
        "tools/list: same
        tool a: Changed Breaking
        tool b: Removed Breaking
        tool c: Added Compatible",
    );
    check(
        LISTS,
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"error":{"code":-32601,"message":"no"}}
        "#,
        "tools/list: differs: result resp.error
        tools/list: not sent: what it goes on from did not come",
    );
}

const CALL: &str = r#"
    -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
    <- {"id":1,"result":{"content":[{"type":"text","text":"12 of May"}],"n":1}}
"#;

const OTHERWISE: &str = r#"
    -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
    <- {"id":1,"result":{"content":[{"type":"text","text":"13 of May"}],"n":2}}
"#;

fn with(all: ToolRules) -> ClientOptions {
    ClientOptions { rules: Rules { all, ..Rules::default() }, ..ClientOptions::default() }
}

#[test]
fn dials_are_those_of_all_comparisons() {
    check(CALL, OTHERWISE, "tools/call a: differs: result.content[0].text result.n");
    let shape = ToolRules { compare: Some(Depth::Shape), ..ToolRules::default() };
    check_with(CALL, with(shape), OTHERWISE, "tools/call a: same");
    let ignore = ["result.n", "result.content"].map(|path| PathPattern::parse(path).expect("a path"));
    let ignore = ToolRules { ignore: ignore.into(), ..ToolRules::default() };
    check_with(CALL, with(ignore), OTHERWISE, "tools/call a: same");
    let status = ToolRules { compare: Some(Depth::Status), ..ToolRules::default() };
    check_with(CALL, with(status.clone()), OTHERWISE, "tools/call a: same");
    let failed = played(
        CALL,
        with(status),
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
        <- {"id":1,"result":{"isError":true}}
        "#,
    );
    assert_eq!(failed.verdict().checks[0].outcome, Outcome::Differs);
}

#[test]
fn which_server_it_is_is_no_difference() {
    let recording = r#"
        -> {"id":1,"method":"initialize","params":{}}
        <- {"id":1,"result":{"serverInfo":{"name":"s","version":"1"},"capabilities":{}}}
    "#;
    let dialogue = r#"
        -> {"id":1,"method":"initialize","params":{}}
        <- {"id":1,"result":{"serverInfo":{"name":"s","version":"2"},"capabilities":{}}}
    "#;
    check(recording, dialogue, "initialize: same");
    let verdict = played(recording, ClientOptions::default(), dialogue).verdict();
    assert_eq!((verdict.recorded_server.as_deref(), verdict.live_server.as_deref()), (Some("s 1"), Some("s 2")));
    check(
        r#"
        -> {"id":1,"method":"server/discover"}
        <- {"id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}}}}
        "#,
        r#"
        -> {"id":1,"method":"server/discover"}
        <- {"id":1,"result":{"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"2"}}}}
        "#,
        "server/discover: same",
    );
}

#[test]
fn only_what_says_that_it_reads_is_called_where_that_is_asked_for() {
    let client = played(
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[{"name":"r","annotations":{"readOnlyHint":true}},{"name":"w","annotations":{"readOnlyHint":true}}]}}
        -> {"id":2,"method":"tools/call","params":{"name":"w"}}
        <- {"id":2,"result":{}}
        -> {"id":3,"method":"tools/call","params":{"name":"r"}}
        <- {"id":3,"result":{}}
        -> {"id":4,"method":"tools/call","params":{"name":"unknown"}}
        <- {"id":4,"error":{}}
        "#,
        ClientOptions { read_only: true, ..ClientOptions::default() },
        r#"
        -> {"id":1,"method":"tools/list"}
        <- {"id":1,"result":{"tools":[{"name":"r","annotations":{"readOnlyHint":true}},{"name":"w"}]}}
        -> {"id":2,"method":"tools/call","params":{"name":"r"}}
        <- {"id":2,"result":{}}
        "#,
    );
    // What the live server says of its tools holds, and not what was recorded.
    assert_eq!(client.refused(), ["w", "unknown"]);
    assert!(!client.verdict().is_same());
}

#[test]
fn it_stops_where_it_is_to() {
    check_with(
        r#"
        -> {"id":1,"method":"ping"}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":2,"result":{}}
        -> {"id":3,"method":"tools/call","params":{"name":"b"}}
        <- {"id":3,"result":{}}
        "#,
        ClientOptions { until: Some(3), ..ClientOptions::default() },
        r#"
        -> {"id":1,"method":"ping"}
        <- {"id":1,"result":{}}
        -> {"id":2,"method":"tools/call","params":{"name":"a"}}
        <- {"id":2,"result":{}}
        "#,
        "ping: same
        tools/call a: same
        tools/call b: not sent: it comes later than what was wanted",
    );
}

#[test]
fn slowness_is_a_difference_only_where_that_is_asked_for() {
    let slow = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
        @300
        <- {"id":1,"result":{"content":[{"type":"text","text":"12 of May"}],"n":1}}
    "#;
    check(CALL, slow, "tools/call a: same");
    let options = |max_slowdown| ClientOptions { max_slowdown, ..ClientOptions::default() };
    // It took one millisecond when it was recorded.
    check_with(CALL, options(Some(2.0)), slow, "tools/call a: same, slow");
    check_with(CALL, options(Some(400.0)), slow, "tools/call a: same");
}

#[test]
fn markers_are_written_where_it_is_known_what_they_stand_for() {
    let recording = r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":"«home»/x","key":"«secret 1»"}}}
        <- {"id":1,"result":{"path":"«home»/x","at":"«time»"}}
    "#;
    let options = ClientOptions {
        is_fixture: true,
        stand_ins: vec![("«home»".into(), "/home/me".into())],
        ..ClientOptions::default()
    };
    check_with(
        recording,
        options,
        r#"
        ** «secret 1» is sent as it stands
        -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{"path":"/home/me/x","key":"«secret 1»"}}}
        <- {"id":1,"result":{"path":"/home/me/x","at":"2026-01-01T00:00:00Z"}}
        "#,
        "tools/call a: same",
    );
}

#[test]
fn lines_that_are_no_messages_are_told_once() {
    check(
        CALL,
        r#"
        -> {"id":1,"method":"tools/call","params":{"name":"a","arguments":{}}}
        <- hello
        ** no messages
        <- {"id":44,"result":{}}
        ** what it was not asked
        <- {
        <- {"id":1,"result":{"content":[{"type":"text","text":"12 of May"}],"n":1}}
        "#,
        "tools/call a: same",
    );
}
