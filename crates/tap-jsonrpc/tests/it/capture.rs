//! What watches find.

use tap_jsonrpc::{Content, Envelope, Notes, Path, TOKEN_LIMIT_BYTES, Value, scan};

use crate::show::check;

#[track_caller]
fn message(input: &str, watch: &'static [Path]) -> Envelope {
    match scan(input.as_bytes(), watch).content {
        Content::Message(message) => message,
        other => panic!("{other:?} from {input}"),
    }
}

#[test]
fn values_are_kept_as_written() {
    check(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"se\u0061rch","_meta":{"progressToken":1.50}}}"#,
        r#"Request 7 tools/call [5]=Object [0]="se\u0061rch" [1]=1.50"#,
    );
    check(r#"{"jsonrpc":"2.0","id":7,"result":{"isError":false}}"#, "Result 7 [2]=False");
    check(r#"{"jsonrpc":"2.0","id":7,"result":{"isError":null}}"#, "Result 7 [2]=Null");
    check(r#"{"jsonrpc":"2.0","id":7,"result":{"isError":[true]}}"#, "Result 7 [2]=Array");
    check(r#"{"jsonrpc":"2.0","method":"a","params":[{"name":1}]}"#, "Notification a [5]=Array");
    check(r#"{"jsonrpc":"2.0","method":"a","params":null}"#, "Notification a [5]=Null");
}

#[test]
fn four_names_deep_is_found_and_deeper_is_not_confused() {
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"version":{"name":"no"},"name":"yes"}}}}"#,
        "Notification a [5]=Object [4]=\"yes\"",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"deep":{"name":"no","params":{"name":"no"}},"list":[{"name":"no"},"name"]}}"#,
        "Notification a [5]=Object",
    );
    check(r#"{"jsonrpc":"2.0","method":"a","name":"no","_meta":{"progressToken":1}}"#, "Notification a");
}

#[test]
fn a_later_member_replaces_an_earlier_one_with_all_below() {
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"name":"x","_meta":{"progressToken":1}},"params":{"name":"y"}}"#,
        "Notification a [5]=Object [0]=\"y\" {duplicate member}",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"name":"x"},"params":3}"#,
        "Notification a [5]=3 {duplicate member}",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"name":"x","name":"y"}}"#,
        "Notification a [5]=Object [0]=\"y\" {duplicate member}",
    );
    check(
        r#"{"jsonrpc":"2.0","method":"a","params":{"_meta":{"progressToken":1},"_meta":true}}"#,
        "Notification a [5]=Object {duplicate member}",
    );
}

#[test]
fn roles_can_be_watched_too() {
    static ROLES: &[Path] = &[Path(&["id"]), Path(&["method"]), Path(&["result"]), Path(&["id"])];
    let found = message(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, ROLES);
    assert_eq!(found.captures.get(1).and_then(Value::text).as_deref(), Some("a"));
    assert_eq!(found.captures.get(2), None);
    // The same path twice is found twice.
    assert_eq!(found.captures.get(0), found.captures.get(3));
    assert!(found.captures.get(0).is_some());
    assert_eq!(found.captures.get(99), None);
}

#[test]
fn paths_that_cannot_be_are_not_found() {
    static BAD: &[Path] = &[Path(&[]), Path(&["a", "b", "c", "d", "e"]), Path(&["a", "b", "c", "d"]), Path(&[""])];
    let found = message(r#"{"id":1,"result":1,"a":{"b":{"c":{"d":{"e":5}}}},"":"empty"}"#, BAD);
    let captures: Vec<_> = found.captures.iter().map(|(index, _)| index).collect();
    assert_eq!(captures, [2, 3]);
    assert_eq!(found.captures.get(2), Some(&Value::Object));
}

#[test]
fn thirty_two_watches_are_looked_for() {
    static MANY: &[Path] = &[Path(&["a"]); 40];
    let found = message(r#"{"id":1,"result":1,"a":5}"#, MANY);
    assert_eq!(found.captures.iter().count(), 32);
}

#[test]
fn long_tokens_are_cut_and_said_to_be() {
    static NAME: &[Path] = &[Path(&["params", "name"])];
    for (length, is_truncated) in [(TOKEN_LIMIT_BYTES - 2, false), (TOKEN_LIMIT_BYTES - 1, true), (1 << 20, true)] {
        let long = "x".repeat(length);
        let found = message(&format!(r#"{{"jsonrpc":"2.0","method":"a","params":{{"name":"{long}"}}}}"#), NAME);
        let token = found.captures.get(0).and_then(Value::token).unwrap();
        assert_eq!(token.is_truncated(), is_truncated, "length: {length}");
        assert_eq!(token.bytes().len(), TOKEN_LIMIT_BYTES);
        assert!(found.notes.is_empty());

        let found = message(&format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"{long}"}}"#), NAME);
        assert_eq!(found.notes.contains(Notes::TRUNCATED_MEMBER), is_truncated);
        assert_eq!(found.id.unwrap().as_bytes().len(), TOKEN_LIMIT_BYTES);
        assert_eq!(found.method.unwrap().len(), length.min(TOKEN_LIMIT_BYTES - 1));
    }
}
