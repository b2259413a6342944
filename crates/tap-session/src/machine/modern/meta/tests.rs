//! Tests of keys and of trace context.

use super::{is_baggage, is_traceparent, is_tracestate};
use crate::machine::modern::tests::check;

#[track_caller]
fn check_key(revision: &str, key: &str, expected: &str) {
    let script = format!(
        r#"# {revision}
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"{key}":"x"}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[]}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"_meta":{{"{key}":"x"}}}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{"tools":[]}}}}"#
    );
    check(&script, expected);
}

#[test]
fn a_key_is_judged_once_and_by_its_revision() {
    let malformed = "4 META-001 warning by client: `_x`; told once";
    let reserved = "4 META-002 warning by client: `io.modelcontextprotocol/x`; told once";
    for (revision, key, expected) in [
        ("2025-11-25", "_x", malformed),
        ("2025-06-18", "_x", malformed),
        ("2025-03-26", "_x", ""),
        ("2024-11-05", "_x", ""),
        ("2025-11-25", "io.modelcontextprotocol/x", reserved),
        ("2025-03-26", "io.modelcontextprotocol/x", ""),
        ("2025-11-25", "io.modelcontextprotocol/related-task", ""),
        ("2025-11-25", "com.example/x", ""),
        ("2025-11-25", "x", ""),
        ("2025-11-25", "", ""),
        // Where trace context has no rule.
        ("2025-11-25", "traceparent", ""),
    ] {
        check_key(revision, key, expected);
    }
}

#[test]
fn keys_of_an_official_extension_may_be_unknown() {
    check(
        r#"
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/ui":{}}},"io.modelcontextprotocol/frame":1}}}
<- {"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}
"#,
        "",
    );
}

#[test]
fn items_of_lists_are_looked_at_too() {
    check(
        r#"# 2025-06-18
-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"_meta":{"_fastmcp":1}},{"name":"b","inputSchema":{"type":"object"},"_meta":{"_fastmcp":1,"-":1}}]}}
"#,
        "5 META-001 warning by server: `_fastmcp`, `-`; told once",
    );
}

#[test]
fn trace_parents_are_told_from_others() {
    let (trace, parent) = ("0af7651916cd43dd8448eb211c80319c", "00f067aa0ba902b7");
    for (text, expected) in [
        (format!("00-{trace}-{parent}-01"), true),
        (format!("00-{trace}-{parent}-00"), true),
        (format!("01-{trace}-{parent}-00-more"), true),
        (format!("00-{trace}-{parent}-00-more"), false),
        (format!("ff-{trace}-{parent}-01"), false),
        (format!("00-{}-{parent}-01", trace.to_uppercase()), false),
        (format!("00-{}-{parent}-01", "0".repeat(32)), false),
        (format!("00-{trace}-{}-01", "0".repeat(16)), false),
        (format!("00-{trace}-{parent}"), false),
        (format!("00-{trace}x-{parent}-01"), false),
        (String::new(), false),
    ] {
        assert_eq!(is_traceparent(&text), expected, "{text}");
    }
}

#[test]
fn trace_states_and_baggage_are_lists() {
    let long = "a=1,".repeat(33);
    for (text, expected) in [
        ("", true),
        ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", true),
        ("rojo=1, ,congo=2", true),
        ("fw529a3039@dt=FfAAAA==", false),
        ("fw529a3039@dt=FfAAAA", true),
        ("Rojo=1", false),
        ("rojo", false),
        (&long, false),
    ] {
        assert_eq!(is_tracestate(text), expected, "{text}");
    }
    for (text, expected) in [
        ("", true),
        ("userId=alice,serverNode=DF%2028,isProduction=false", true),
        ("key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=propertyValue", true),
        ("key=a=b", true),
        ("key", false),
        ("k y=1", false),
        ("key=\"a\"", false),
        ("key=a b", false),
    ] {
        assert_eq!(is_baggage(text), expected, "{text}");
    }
}
