//! That nobody is blamed for what a debugger did, and everybody for what he did himself.

use crate::script::{check, findings, run};

/// 1 to 3 are the handshake.
#[track_caller]
fn found(steps: &str, expected: &str) {
    check(&format!("# 2025-11-25\n{steps}"), expected);
}

#[test]
fn what_was_stopped_is_not_owed() {
    let request = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    // Without the debugger it would be told, which makes the rest of this a test.
    assert_eq!(findings(&format!("# 2025-11-25\n{request}")).len(), 1);
    found(&format!("{request}\n@@ held 4\n@@ dropped 4"), "");
    found(&format!("{request}\n@@ held 4\n@@ closed 4"), "");
    // The client does not know that it was dropped, and may cancel it.
    let cancel = r#"-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#;
    found(&format!("{request}\n@@ dropped 4\n{cancel}"), "");
}

#[test]
fn a_request_that_was_made_is_no_request_of_the_client() {
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
@@ injected -> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}
@@ dropped 7
"#,
        "",
    );
    // What the server answers wrongly to it is its mistake.
    found(
        r#"
@@ injected -> {"jsonrpc":"2.0","id":"tap-1","method":"ping"}
<- {"jsonrpc":"2.0","id":"tap-1","result":7}
@@ dropped 5
"#,
        "5 RPC-017 error by server:",
    );
}

#[test]
fn an_edited_request_is_judged_as_each_side_saw_it() {
    // The client's own mistake stays its own, although the server never saw it.
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}
@@ edited 4 {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        "4 RPC-016 error by client:",
    );
    // And a mistake of ours is nobody's.
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
@@ edited 4 {"jsonrpc":"2.0","id":1,"method":"ping","params":[]}
<- {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        "",
    );
}

#[test]
fn an_answer_in_the_servers_place_is_no_answer_of_the_server() {
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
@@ answered 4 {"jsonrpc":"2.0","id":1,"error":{"code":"what","message":7}}
"#,
        "",
    );
    // A server that answers what it was never asked does wrong.
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
@@ answered 4 {"jsonrpc":"2.0","id":1,"result":{}}
<- {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        "6 RPC-006 error by server: id 1",
    );
}

#[test]
fn an_answer_is_judged_as_the_server_wrote_it() {
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":7}
@@ edited 5 {"jsonrpc":"2.0","id":1,"result":{}}
"#,
        "5 RPC-017 error by server:",
    );
    found(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
@@ corrupted 5 {"jsonrpc":"2.0","id":1,"result"
"#,
        "",
    );
}

#[test]
fn a_message_that_went_twice_was_sent_once() {
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let pong = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    assert_ne!(findings(&format!("# 2025-11-25\n-> {ping}\n-> {ping}\n<- {pong}\n<- {pong}")), Vec::<String>::new());
    found(&format!("-> {ping}\n@@ duplicated 4 {ping}\n<- {pong}\n<- {pong}"), "");
    assert_ne!(findings(&format!("# 2025-11-25\n-> {ping}\n<- {pong}\n<- {pong}")), Vec::<String>::new());
    found(&format!("-> {ping}\n<- {pong}\n@@ duplicated 5 {pong}"), "");
}

#[test]
fn who_was_told_something_else_is_judged_by_that() {
    let without = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}"#;
    let with = without.replace(r#""capabilities":{}"#, r#""capabilities":{"tools":{}}"#);
    let script = |says: &str, act: &str| {
        format!(
            r#"
-> {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"}}}}}}
<- {says}
{act}
-> {{"jsonrpc":"2.0","method":"notifications/initialized"}}
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[]}}}}
"#
        )
    };
    assert_ne!(findings(&script(without, "")), Vec::<String>::new(), "the client asks for what was not declared");
    // The debugger told the client that there are tools: it may ask for them.
    let told = findings(&script(without, &format!("@@ edited 2 {with}")));
    assert_eq!(told.iter().filter(|told| told.contains("by client")).count(), 0, "{told:?}");
    // And the other way about it may not.
    let told = findings(&script(&with, &format!("@@ edited 2 {without}")));
    assert_eq!(told.iter().filter(|told| told.contains("by client")).count(), 1, "{told:?}");
}

#[test]
fn what_is_stopped_long_after_it_came_is_still_not_owed() {
    let mut script =
        String::from("# 2025-11-25\n-> {\"jsonrpc\":\"2.0\",\"id\":\"late\",\"method\":\"tools/list\"}\n@@ held 4\n");
    for number in 0..200 {
        script += &format!("-> {{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\"}}\n");
        script += &format!("<- {{\"jsonrpc\":\"2.0\",\"id\":{number},\"result\":{{}}}}\n");
    }
    check(&format!("{script}@@ dropped 4"), "");
    assert_eq!(findings(&format!("{script}@@ released 4")).len(), 1, "what was let go is owed");
}

#[test]
fn the_state_is_that_of_what_was_let_through() {
    let (follower, meaning) = run(r#"
# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
@@ dropped 4
@@ injected -> {"jsonrpc":"2.0","id":"tap-1","method":"tools/list"}
<- {"jsonrpc":"2.0","id":"tap-1","result":{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}}
@@ dropped 7
"#);
    assert_eq!(meaning.findings, []);
    assert_eq!(follower.state().n_in_flight(), 0);
    assert_eq!(follower.state().totals.n_ok, 2);
}
