//! Tests of tools: as they are listed, called and answered.

use super::{check_answer, found};
use crate::script::check;

const PLAIN: &str = r#"{"name":"add","inputSchema":{"type":"object"}}"#;
const TYPED: &str = r#"{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"sum":{"type":"number"}},"required":["sum"]}}"#;
const NUMBER: &str = r#"{"name":"add","inputSchema":{"type":"object"},"outputSchema":{"type":["number","null"]}}"#;

const ALL: [&str; 5] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

#[test]
fn structured_content_must_fit_where_there_is_an_output_schema() {
    let text = r#""content":[{"type":"text","text":"{\"sum\":3}"}]"#;
    let [missing, misfit] = [
        "TOL-005 error by server: `add` structuredContent is missing",
        "TOL-005 error by server: `add` /sum: \"3\" is not of type \"number\"",
    ];
    for (revision, result, expected) in [
        ("2025-03-26", format!("{{{text}}}"), ""),
        ("2025-06-18", format!("{{{text}}}"), missing),
        ("2025-11-25", format!("{{{text}}}"), missing),
        ("2025-11-25", format!(r#"{{{text},"structuredContent":{{"sum":3}}}}"#), ""),
        ("2025-11-25", format!(r#"{{{text},"isError":true}}"#), ""),
        ("2025-11-25", format!(r#"{{{text},"isError":false}}"#), missing),
        ("2026-07-28", format!(r#"{{{text},"resultType":"complete"}}"#), missing),
        ("2026-07-28", r#"{"resultType":"input_required","requestState":"s"}"#.into(), ""),
        ("2026-07-28", r#"{"resultType":"task","taskId":"t"}"#.into(), ""),
    ] {
        check_answer(revision, TYPED, &format!(r#""result":{result}"#), expected);
    }
    let wrong = r#""result":{"content":[{"type":"text","text":"{\"sum\":\"3\"}"}],"structuredContent":{"sum":"3"}}"#;
    check_answer("2025-11-25", TYPED, wrong, misfit);
}

#[test]
fn null_is_a_value_and_absence_is_none() {
    let answer =
        |rest| format!(r#""result":{{"resultType":"complete","content":[{{"type":"text","text":"null"}}]{rest}}}"#);
    check_answer("2026-07-28", NUMBER, &answer(r#","structuredContent":null"#), "");
    let missing = "TOL-005 error by server: `add` structuredContent is missing";
    check_answer("2026-07-28", NUMBER, &answer(""), missing);
    // Before it could be any value, null stood for none.
    check_answer("2025-11-25", PLAIN, &answer(r#","structuredContent":null"#), "");
    check_answer("2025-11-25", TYPED, &answer(r#","structuredContent":null"#), missing);
    let no_object = "TOL-006 error by server: it is an array\nTOL-007 note by server: ";
    check_answer("2025-11-25", PLAIN, &answer(r#","structuredContent":[]"#), no_object);
    check_answer("2024-11-05", PLAIN, &answer(r#","structuredContent":null"#), "");
}

#[test]
fn a_list_that_is_newer_than_the_call_judges_it_mildly() {
    let list = |id: u32| format!(r#"-> {{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
    let listed = |id: u32, tool: &str| format!(r#"<- {{"jsonrpc":"2.0","id":{id},"result":{{"tools":[{tool}]}}}}"#);
    let call = r#"-> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"add"}}"#;
    let answer = r#"<- {"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"{\"x\":1}"}],"structuredContent":{"x":1}}}"#;
    let older = TYPED.replace("sum", "x");
    let lines = |lines: &[String]| found(&format!("# 2025-11-25\n{}", lines.join("\n")), "TOL-005");
    let crossed = [list(1), listed(1, &older), call.into(), list(4), listed(4, TYPED), answer.into()];
    assert_eq!(lines(&crossed), ["TOL-005 warning by server: `add` the whole: \"sum\" is a required property"]);
    let in_order = [list(1), listed(1, TYPED), call.into(), answer.into()];
    assert_eq!(lines(&in_order), ["TOL-005 error by server: `add` the whole: \"sum\" is a required property"]);
}

#[test]
fn a_task_in_place_of_a_result_is_not_judged_as_one() {
    check(
        &format!(
            r#"# 2025-11-25
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}]}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"add","task":{{}}}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{"task":{{"taskId":"t","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttl":null}}}}}}"#,
            TYPED.replacen("\"name\"", r#""execution":{"taskSupport":"optional"},"name""#, 1)
        ),
        "",
    );
}

#[test]
fn a_task_that_is_null_is_none() {
    check(
        r#"-> {"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
<- {"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
-> {"jsonrpc":"2.0","method":"notifications/initialized"}
-> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t","task":null}}
<- {"jsonrpc":"2.0","id":1,"result":{"content":[],"task":null}}"#,
        "",
    );
}

#[test]
fn the_text_beside_structured_content_says_the_same() {
    let note = "TOL-007 note by server: ";
    for (texts, structured, expected) in [
        (&[r#"{\"b\":[1,2.0],\"a\":null}"#][..], r#"{"a":null,"b":[1,2]}"#, ""),
        (&[r#"{\n  \"a\" : \"\\u0041\"\n}"#], r#"{"a":"A"}"#, ""),
        (&["see below", r#"{\"a\":1}"#], r#"{"a":1}"#, ""),
        // What SDKs wrap is said by its value.
        (&["5"], r#"{"result":5}"#, ""),
        (&["done"], r#"{"content":"done"}"#, ""),
        (&["1", "2"], r#"{"result":[1,2]}"#, ""),
        (&["1", "3"], r#"{"result":[1,2]}"#, note),
        (&["1", "2", "3"], r#"{"result":[1,2]}"#, note),
        (&["1"], r#"{"result":[1,2]}"#, note),
        (&[], r#"{"result":[]}"#, note),
        (&[r#"{\"a\":2}"#], r#"{"a":1}"#, note),
        (&[r#"{\"a\":1"#], r#"{"a":1,"b":2}"#, note),
        (&["done"], r#"{"a":1,"b":2}"#, note),
    ] {
        let blocks: Vec<_> = texts.iter().map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)).collect();
        let answer = format!(r#""result":{{"content":[{}],"structuredContent":{structured}}}"#, blocks.join(","));
        check_answer("2025-11-25", PLAIN, &answer, expected);
    }
}

#[test]
fn many_texts_beside_structured_content_cost_no_more_than_they_are_long() {
    let text = r#"{"type":"text","text":"{}"}"#;
    let members: Vec<_> = (0..20_000).map(|number| format!(r#""{number}":{number}"#)).collect();
    let texts = vec![text; 20_000].join(",");
    let answer = format!(r#""result":{{"content":[{texts}],"structuredContent":{{{}}}}}"#, members.join(","));
    // More than are looked at: nothing is said. Each with each would take minutes.
    check_answer("2025-11-25", PLAIN, &answer, "");
}

#[test]
fn arguments_are_compared_with_the_input_schema() {
    let tool = r#"{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}"#;
    let ok = r#""result":{"resultType":"complete","content":[]}"#;
    for revision in ALL {
        check_answer(revision, tool, ok, "TOL-003 note by client: `add` /a: 1 is not of type \"string\"");
    }
    let bad = r#""error":{"code":-32602,"message":"no"}"#;
    let both = "TOL-003 note by client: `add` /a: 1 is not of type \"string\"\n\
                TOL-004 note by server: `add` /a: 1 is not of type \"string\"";
    check_answer("2025-11-25", tool, bad, both);
    check_answer("2025-11-25", PLAIN, bad, "");
}

#[test]
fn an_older_dialect_is_not_called_wrong_where_none_is_said() {
    // The tuple of draft-07 is no schema in 2020-12, which is the default since 2025-11-25.
    let tuple = r#"{"name":"add","inputSchema":{"type":"object","properties":{"a":{"items":[{"type":"number"}]}}}}"#;
    let named =
        tuple.replace(r#"{"type":"object""#, r#"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object""#);
    for (revision, tool, is_wrong) in [
        ("2024-11-05", tuple, false),
        ("2025-06-18", tuple, false),
        ("2025-11-25", tuple, true),
        ("2025-11-25", &*named, false),
        ("2026-07-28", tuple, true),
        ("2026-07-28", &*named, false),
    ] {
        let script = format!(
            "# {revision}\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{{{}}}}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{tool}]}}}}",
            if revision == "2026-07-28" { "META" } else { "" }
        );
        assert_eq!(!found(&script, "TOL-010").is_empty(), is_wrong, "{revision} {tool}");
    }
}

#[test]
fn an_input_schema_is_an_object_of_type_object() {
    for (schema, expected) in [
        (r#","inputSchema":{"type":"object"}"#, ""),
        (r#","inputSchema":{"type":"object","properties":{}}"#, ""),
        ("", "`a`: no inputSchema"),
        (r#","inputSchema":null"#, "`a`: inputSchema is no object"),
        (r#","inputSchema":true"#, "`a`: inputSchema is no object"),
        (r#","inputSchema":{}"#, "`a`: it has no type"),
        (r#","inputSchema":{"type":["object"]}"#, "`a`: its type is `[\"object\"]`"),
        (r#","inputSchema":{"type":"string"}"#, "`a`: its type is `\"string\"`"),
        // Limits of ours, and no mistakes.
        (r##","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.com/a"}}}"##, ""),
        (r#","inputSchema":{"$schema":"https://example.com/mine","type":"object"}"#, ""),
    ] {
        for revision in ["2024-11-05", "2025-11-25"] {
            let script = format!(
                "# {revision}\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{{\"name\":\"a\"{schema}}}]}}}}"
            );
            let found: Vec<_> =
                found(&script, "TOL-010").iter().map(|line| line.replace("TOL-010 error by server: ", "")).collect();
            assert_eq!(found.join("\n"), expected, "{schema}");
        }
    }
    let schema = r#"{"type":"object","properties":{"a":{"type":"int"}}}"#;
    let script = format!(
        "# 2025-11-25\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{{\"name\":\"a\",\"inputSchema\":{schema}}}]}}}}"
    );
    assert_eq!(found(&script, "TOL-010").len(), 1, "not valid by the meta-schema");
}

#[test]
fn many_bad_tools_are_one_finding() {
    let tools: Vec<_> = (0..100).map(|number| format!(r#"{{"name":"{number}"}}"#)).collect();
    check(
        &format!(
            "# 2025-11-25\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{}]}}}}",
            tools.join(",")
        ),
        "5 TOL-010 error by server: `0`: no inputSchema; `1`: no inputSchema; `2`: no inputSchema; and 97 more",
    );
}

/// What is found of the call of a tool that is not listed, after these lines.
#[track_caller]
fn check_unknown(before: &[&str], expected: &[&str]) {
    let script = format!(
        "# 2025-11-25\n{}\n{}",
        before.join("\n"),
        r#"-> {"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"sub"}}
<- {"jsonrpc":"2.0","id":9,"result":{"content":[],"isError":true}}"#
    );
    assert_eq!(found(&script, "TOL-00"), expected, "{before:?}");
}

#[test]
fn a_tool_is_unknown_only_when_all_tools_are_known() {
    let asks = r#"-> {"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let whole = r#"<- {"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object"}}]}}"#;
    let half = r#"<- {"jsonrpc":"2.0","id":1,"result":{"tools":[],"nextCursor":"2"}}"#;
    let changed = r#"<- {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let both = ["TOL-001 warning by client: `sub`", "TOL-002 warning by server: `sub`"];
    check_unknown(&[], &[]);
    check_unknown(&[asks], &[]);
    check_unknown(&[asks, half], &[]);
    check_unknown(&[asks, whole], &both);
    check_unknown(&[asks, whole, changed], &[]);
    check_unknown(&[asks, changed, whole], &[]);
    check_unknown(&[changed, asks, whole], &both);
    check_unknown(&[".. 100", asks, whole], &[]);
}

#[test]
fn a_failure_of_a_tool_is_not_an_error_of_the_protocol() {
    let note = |code: i64| format!("TOL-014 note by server: `add` failed with the code {code}");
    for (code, expected) in [
        (-32603, note(-32603)),
        (500, note(500)),
        (-1, note(-1)),
        (-32602, String::new()),
        (-32601, String::new()),
        (-32042, String::new()),
        (-32021, String::new()),
        (-32000, String::new()),
    ] {
        let answer = format!(r#""error":{{"code":{code},"message":"no"}}"#);
        check_answer("2025-11-25", PLAIN, &answer, &expected);
    }
}

#[test]
fn names_of_tools_are_letters_digits_and_three_signs() {
    for (name, is_good) in [
        ("add", true),
        ("Add_2.x-y", true),
        ("", false),
        ("add two", false),
        ("añadir", false),
        ("a/b", false),
        (&"a".repeat(128), true),
        (&"a".repeat(129), false),
    ] {
        let script = format!(
            "# 2025-11-25\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"tools\":[{{\"name\":\"{name}\",\"inputSchema\":{{\"type\":\"object\"}}}}]}}}}"
        );
        assert_eq!(found(&script, "TOL-008").is_empty(), is_good, "{name}");
        assert!(found(&script.replace("2025-11-25", "2025-06-18"), "TOL-008").is_empty(), "no rule yet");
    }
}

#[test]
fn names_are_unlike_across_pages() {
    let tool = |name| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object"}}}}"#);
    check(
        &format!(
            r#"# 2025-11-25
-> {{"jsonrpc":"2.0","id":1,"method":"tools/list"}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"tools":[{}],"nextCursor":"2"}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{{"cursor":"2"}}}}
<- {{"jsonrpc":"2.0","id":2,"result":{{"tools":[{},{}]}}}}"#,
            tool("a"),
            tool("b"),
            tool("a")
        ),
        "7 TOL-009 warning by server: `a`",
    );
}
