//! Which message is what: kinds, ids, methods, and what is none.

use crate::show::check;

#[test]
fn the_four_messages_of_both_eras() {
    check(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#, "Request 1 initialize [5]=Object");
    check(r#"{"jsonrpc":"2.0","id":"probe-1","method":"server/discover"}"#, "Request \"probe-1\" server/discover");
    check(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, "Notification notifications/initialized");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, "Result 1");
    check(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"?"}}"#, "Error 1 [3]=-32601");
}

#[test]
fn the_order_of_members_and_whitespace_make_no_difference() {
    check(r#"{"method":"ping","id":1,"jsonrpc":"2.0"}"#, "Request 1 ping");
    check("\t{ \"id\" :\r\n1 , \"jsonrpc\":\"2.0\"\t,\"method\"\n:\"ping\" } \n", "Request 1 ping");
    check(r#"{"error":{"code":1},"id":"a","jsonrpc":"2.0"}"#, "Error \"a\" [3]=1");
}

#[test]
fn an_id_is_the_token_as_written() {
    for id in [
        "0",
        "-1",
        "1.0",
        "1e0",
        "1E+2",
        "12345678901234567890123",
        "1e400",
        "-0",
        "\"\"",
        "\"\\u0031\"",
        "\"\\ud83d\"",
    ] {
        let input = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":1}}"#);
        let note = if id.contains("ud83d") { " {lone surrogate}" } else { "" };
        check(&input, &format!("Result {id}{note}"));
    }
}

#[test]
fn an_id_of_another_type_is_noted() {
    check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "Request null ping {null id}");
    check(r#"{"jsonrpc":"2.0","id":true,"method":"ping"}"#, "Request true ping {wrong id type}");
    check(r#"{"jsonrpc":"2.0","id":{"id":1},"method":"ping"}"#, "Request ping {wrong id type}");
    check(r#"{"jsonrpc":"2.0","id":[1],"result":{}}"#, "Result {wrong id type}");
    check(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}"#, "Error null [3]=-32700 {null id}");
    check(r#"{"jsonrpc":"2.0","error":{"code":-32700}}"#, "Error [3]=-32700");
}

#[test]
fn a_version_is_a_note_and_no_condition() {
    check(r#"{"id":1,"method":"ping"}"#, "Request 1 ping {missing version}");
    check(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "Request 1 ping {other version}");
    check(r#"{"jsonrpc":2.0,"id":1,"method":"ping"}"#, "Request 1 ping {other version}");
    check(r#"{"jsonrpc":null,"id":1,"method":"ping"}"#, "Request 1 ping {other version}");
    check(r#"{"jsonrpc":"2\u002e0","id":1,"method":"ping"}"#, "Request 1 ping");
}

#[test]
fn keys_and_methods_are_decoded() {
    check(r#"{"jsonrpc":"2.0","\u0069d":1,"m\u0065thod":"p\u0069ng"}"#, "Request 1 ping");
    check(r#"{"\u006a\u0073\u006f\u006e\u0072\u0070\u0063":"2.0","id":1,"method":"a\/b"}"#, "Request 1 a/b");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"\ud83d\n"}"#, "Request 1 \u{fffd}\n {lone surrogate}");
    check(r#"{"jsonrpc":"2.0","ID":1,"Method":"x","id ":1,"i":1,"method":"ping"}"#, "Notification ping");
    // Longer than any spelling of a name that is looked for.
    let key = r"\u006d".repeat(1000);
    check(format!(r#"{{"jsonrpc":"2.0","{key}":1,"method":"ping"}}"#), "Notification ping");
}

#[test]
fn the_last_of_several_counts() {
    check(r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, "Request 2 ping {duplicate member}");
    check(r#"{"jsonrpc":"2.0","id":1,"\u0069d":{},"method":"ping"}"#, "Request ping {duplicate member, wrong id type}");
    check(r#"{"jsonrpc":"2.0","method":"a","id":1,"method":"b"}"#, "Request 1 b {duplicate member}");
    check(
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1},"error":7}"#,
        "Error 1 {duplicate member, error not an object}",
    );
    check(r#"{"jsonrpc":"2.0","jsonrpc":"1.0","method":"a"}"#, "Notification a {duplicate member, other version}");
    check(r#"{"jsonrpc":"2.0","id":1,"result":{"id":2,"id":3}}"#, "Result 1");
}

#[test]
fn null_beside_what_decides_is_taken_as_absent() {
    check(r#"{"jsonrpc":"2.0","id":1,"result":{},"error":null}"#, "Result 1 {null outcome}");
    check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":{"code":5}}"#, "Error 1 [3]=5 {null outcome}");
    check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":null}"#, "Result 1 {null outcome}");
    check(r#"{"jsonrpc":"2.0","id":1,"method":"a","result":null}"#, "Request 1 a {null outcome}");
    check(r#"{"jsonrpc":"2.0","id":1,"result":null}"#, "Result 1");
    check(r#"{"jsonrpc":"2.0","id":1,"error":null}"#, "Error 1 {error not an object}");
    check(r#"{"jsonrpc":"2.0","id":1,"result":null,"error":"no"}"#, "Error 1 {null outcome, error not an object}");
}

#[test]
fn what_is_no_message_has_a_reason_and_keeps_what_was_found() {
    check(r#"{"level":"info"}"#, "No message, has no method, result or error: {missing version}");
    check(r#"{"jsonrpc":"2.0","id":1}"#, "No message, has no method, result or error: 1");
    check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "No message, the method is not a string: 1");
    check(
        r#"{"jsonrpc":"2.0","id":1,"method":"a","result":{}}"#,
        "No message, has a method and also a result or an error: 1 a",
    );
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}"#,
        "No message, has both a result and an error: 1 [3]=1",
    );
    check(r#"{"jsonrpc":"2.0","result":{}}"#, "No message, has a result but no id:");
    check(
        r#"{"level":"error","error":"boom"}"#,
        "No message, has no id, and its error is not an object: {missing version, error not an object}",
    );
    check(r#"{"jsonrpc":"2.0","id":3,"error":"boom"}"#, "Error 3 {error not an object}");
    check("{}", "No message, has no method, result or error: {missing version}");
    for scalar in ["1", "-1.5e-7", "\"text\"", "true", "false", "null", " 42 \n"] {
        check(scalar, "No message, not an object:");
    }
}

#[test]
fn what_lies_deeper_is_not_the_message() {
    check(
        r#"{"jsonrpc":"2.0","id":1,"result":{"id":2,"method":"no","error":{"code":9}},"extra":[{"method":"no","id":3}]}"#,
        "Result 1",
    );
    check(r#"{"params":{"method":"no"},"jsonrpc":"2.0","method":"yes"}"#, "Notification yes [5]=Object");
}
