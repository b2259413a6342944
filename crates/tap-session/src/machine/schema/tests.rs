//! Tests of members that are newer than the revision, and of members that are missing.

use std::collections::BTreeMap;

use crate::Severity;
use crate::captures::{captures, follow};
use crate::script::{run, told};

/// A request and its result in a session of `revision`: messages 4 and 5.
fn pair(revision: &str, method: &str, params: &str, result: &str) -> String {
    format!(
        r#"# {revision}
-> {{"jsonrpc":"2.0","id":5,"method":"{method}","params":{params}}}
<- {{"jsonrpc":"2.0","id":5,"result":{result}}}"#
    )
}

/// The findings of these two rules, other than of other ones.
#[track_caller]
fn check_members(script: &str, expected: &str) {
    let (_, meaning) = run(script);
    let of_members = meaning.findings.iter().filter(|finding| ["LIF-014", "LIF-016"].contains(&finding.rule.id));
    let found: Vec<_> = of_members.map(told).collect();
    assert_eq!(found.join("\n"), expected, "{script}");
}

#[test]
fn members_are_newer_where_the_table_says_so() {
    for (revision, result, expected) in [
        ("2025-11-25", r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"icons":[]}]}"#, ""),
        (
            "2025-06-18",
            r#"{"tools":[{"name":"a","inputSchema":{"type":"object"},"icons":[]},{"name":"b","inputSchema":{"type":"object"},"icons":[]}]}"#,
            "5 LIF-014 warning by server: in 2025-06-18: tools[].icons",
        ),
        (
            "2024-11-05",
            r#"{"tools":[{"name":"a","title":"A","inputSchema":{"type":"object"},"icons":[],"outputSchema":{},"_meta":{},"annotations":{},"execution":{}}],"ttlMs":1}"#,
            "5 LIF-014 warning by server: in 2024-11-05: tools[]._meta, tools[].annotations, tools[].execution, tools[].icons, tools[].outputSchema, tools[].title and 1 more",
        ),
        (
            "2025-11-25",
            r#"{"resultType":"complete","tools":[]}"#,
            "5 LIF-014 warning by server: in 2025-11-25: resultType",
        ),
        // Members that no revision has are nobody's business.
        ("2024-11-05", r#"{"tools":[],"x":{"title":1},"title":"T"}"#, ""),
    ] {
        check_members(&pair(revision, "tools/list", "{}", result), expected);
    }
    let script = pair(
        "2025-06-18",
        "tools/call",
        r#"{"name":"t","task":{},"_meta":{"io.modelcontextprotocol/clientInfo":{}}}"#,
        r#"{"content":[]}"#,
    );
    check_members(
        &script,
        "4 LIF-014 warning by client: in 2025-06-18: _meta.io.modelcontextprotocol/clientInfo, task",
    );
    let script = r#"-> {"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"t","task":{},META}}
<- {"jsonrpc":"2.0","id":5,"result":{"resultType":"complete","content":[]}}"#;
    check_members(script, "1 LIF-014 note by client: in 2026-07-28: task");
}

#[test]
fn the_answer_to_a_handshake_is_of_the_revision_that_it_names() {
    let open = |revision: &str, info: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{{}},"clientInfo":{{"name":"c","version":"1"{info}}}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"{info}}}}}}}"#
        )
    };
    // What the client offers is not agreed on yet.
    check_members(
        &open("2024-11-05", r#","title":"T""#),
        "2 LIF-014 warning by server: in 2024-11-05: serverInfo.title",
    );
    check_members(&open("2025-06-18", r#","title":"T""#), "");
}

#[test]
fn members_are_missing_where_the_schema_requires_them() {
    for (revision, method, params, result, expected) in [
        (
            "2025-11-25",
            "tools/call",
            r#"{"name":"t"}"#,
            r#"{"structuredContent":{}}"#,
            "5 LIF-016 error by server: missing: content",
        ),
        ("2025-11-25", "ping", "{}", "{}", ""),
        ("2025-11-25", "resources/read", r#"{"uri":"a"}"#, "{}", "5 LIF-016 error by server: missing: contents"),
        (
            "2025-11-25",
            "completion/complete",
            "{}",
            r#"{"completion":{}}"#,
            "4 LIF-016 error by client: missing: ref, argument\n5 LIF-016 error by server: missing: completion.values",
        ),
        (
            "2025-11-25",
            "completion/complete",
            r#"{"ref":{},"argument":{}}"#,
            "{}",
            "4 LIF-016 error by client: missing: argument.name, argument.value\n5 LIF-016 error by server: missing: completion",
        ),
        // Those of a task come instead.
        (
            "2025-11-25",
            "tools/call",
            r#"{"name":"t","task":{}}"#,
            r#"{"task":{"taskId":"a","status":"working"}}"#,
            "5 LIF-016 error by server: missing: task.createdAt, task.lastUpdatedAt, task.ttl",
        ),
        (
            "2025-11-25",
            "tools/call",
            r#"{"name":"t","task":{}}"#,
            r#"{"isError":false}"#,
            "5 LIF-016 error by server: missing: content",
        ),
    ] {
        check_members(&pair(revision, method, params, result), expected);
    }
    // No params at all are params without members; an error has no members of a result.
    let script = r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":5,"method":"tools/call"}
<- {"jsonrpc":"2.0","id":5,"error":{"code":-32602,"message":"which?"}}"#;
    check_members(script, "4 LIF-016 error by client: missing: name");
    // What an unknown revision requires is what all of them do.
    let script = r#"<- {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info"}}"#;
    check_members(script, "1 LIF-016 error by server: missing: data");
}

#[test]
fn members_are_what_the_schema_says() {
    for (method, params, result, expected) in [
        ("tools/call", r#"{"name":"t"}"#, r#"{"content":"text"}"#, "5 LIF-016 error by server: `content` is no list"),
        ("tools/call", r#"{"name":"t"}"#, r#"{"content":{}}"#, "5 LIF-016 error by server: `content` is no list"),
        (
            "tools/call",
            r#"{"name":5,"arguments":[1]}"#,
            r#"{"content":null,"isError":"no"}"#,
            "4 LIF-016 error by client: `name` is no text; `arguments` is no object\n5 LIF-016 error by server: `content` is no list; `isError` is no boolean",
        ),
        // What need not be there may be null.
        ("tools/call", r#"{"name":"t","arguments":null}"#, r#"{"content":[],"isError":null}"#, ""),
        ("tools/list", "{}", r#"{"tools":{}}"#, "5 LIF-016 error by server: `tools` is no list"),
        ("tools/list", "{}", r#"{"tools":[],"nextCursor":5}"#, "5 LIF-016 error by server: `nextCursor` is no text"),
        ("tools/list", "{}", r#"{"tools":[],"nextCursor":null}"#, ""),
        ("resources/read", r#"{"uri":"a"}"#, r#"{"contents":{}}"#, "5 LIF-016 error by server: `contents` is no list"),
        (
            "completion/complete",
            r#"{"ref":{},"argument":{"name":"a","value":1}}"#,
            r#"{"completion":[]}"#,
            "4 LIF-016 error by client: `argument.value` is no text\n5 LIF-016 error by server: `completion` is no object",
        ),
        (
            "tasks/get",
            r#"{"taskId":"a"}"#,
            r#"{"taskId":"a","status":"working","createdAt":"t","lastUpdatedAt":"t","ttl":null}"#,
            "",
        ),
        (
            "tools/call",
            r#"{"name":"t","task":{}}"#,
            r#"{"task":{"taskId":"a","status":"working","createdAt":1,"ttl":"1"}}"#,
            "5 LIF-016 error by server: missing: task.lastUpdatedAt; `task.createdAt` is no text; `task.ttl` is no number",
        ),
    ] {
        check_members(&pair("2025-11-25", method, params, result), expected);
    }
    // Where the revision is not known: what holds in all of them.
    let script = r#"<- {"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":1}}"#;
    check_members(script, "1 LIF-016 error by server: `uri` is no text");
    // One kind of result is not judged by the members of another.
    let answered = |result: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"t",META}}}}
<- {{"jsonrpc":"2.0","id":5,"result":{result}}}"#
        )
    };
    check_members(
        &answered(r#"{"resultType":"complete","content":1}"#),
        "2 LIF-016 error by server: `content` is no list",
    );
    check_members(&answered(r#"{"resultType":"other","content":1}"#), "");
}

#[test]
fn a_modern_result_has_the_members_of_its_result_type() {
    let answered = |result: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{{"name":"t",TASKS_META}}}}
<- {{"jsonrpc":"2.0","id":5,"result":{result}}}"#
        )
    };
    for (result, expected) in [
        (r#"{"resultType":"complete"}"#, "2 LIF-016 error by server: missing: content"),
        ("{}", "2 LIF-016 error by server: missing: content"),
        (r#"{"resultType":"input_required","inputRequests":{}}"#, ""),
        (r#"{"resultType":"other"}"#, ""),
        (
            r#"{"resultType":"task","taskId":"a","status":"working"}"#,
            "2 LIF-016 error by server: missing: createdAt, lastUpdatedAt, ttlMs",
        ),
        (
            r#"{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s"}}}"#,
            "2 LIF-016 error by server: missing: _meta.io.modelcontextprotocol/serverInfo.version",
        ),
    ] {
        check_members(&answered(result), expected);
    }
}

#[test]
fn what_has_a_rule_of_its_own_is_not_told_twice() {
    let modern = |method: &str, params: &str, result: &str| {
        format!(
            r#"-> {{"jsonrpc":"2.0","id":5,"method":"{method}","params":{params}}}
<- {{"jsonrpc":"2.0","id":5,"result":{result}}}"#
        )
    };
    for script in [
        r#"-> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}
<- {"jsonrpc":"2.0","id":1,"result":{}}"#
            .to_owned(),
        modern(
            "tools/list",
            r#"{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}"#,
            r#"{"tools":[{}]}"#,
        ),
        r#"# 2025-06-18
-> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#
            .to_owned(),
        r#"# 2025-06-18
<- {"jsonrpc":"2.0","id":5,"method":"sampling/createMessage","params":{"messages":[]}}"#
            .to_owned(),
        r#"# 2025-06-18
<- {"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}"#
            .to_owned(),
        r#"# 2025-06-18
<- {"jsonrpc":"2.0","method":"notifications/message","params":{"data":1}}"#
            .to_owned(),
        // A method that the revision does not have.
        pair("2025-06-18", "tasks/get", "{}", "{}"),
        pair("2025-03-26", "elicitation/create", r#"{"mode":"form"}"#, "{}"),
        // Not even an object.
        pair("2025-06-18", "tools/call", "[]", "1"),
    ] {
        check_members(&script, "");
    }
}

#[test]
fn real_peers_leave_nothing_out_and_send_few_members_too_early() {
    let mut told_of: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let captures = captures();
    for capture in &captures {
        let (_, meaning) = follow(capture);
        for finding in meaning.findings {
            assert!(
                finding.rule.id != "LIF-016" || finding.severity < Severity::Error,
                "{}: {}",
                capture.name,
                told(&finding)
            );
            if finding.rule.id == "LIF-014" {
                let peer = capture.name.split('.').next().unwrap_or_default().to_owned();
                let peers = told_of.entry(finding.detail).or_default();
                if !peers.contains(&peer) {
                    peers.push(peer);
                }
            }
        }
    }
    let expected: BTreeMap<String, Vec<String>> = [
        // The SDK says whether its tools are for tasks, whatever was agreed on.
        ("in 2025-06-18: tools[].execution", &["host-codex--everything", "host-gemini--everything"][..]),
        ("in 2026-07-28: tools[].execution", &["stdio-py2-pin--ts1"]),
    ]
    .into_iter()
    .map(|(detail, peers)| (detail.to_owned(), peers.iter().map(|peer| (*peer).to_owned()).collect()))
    .collect();
    assert!(captures.is_empty() || told_of == expected, "{told_of:#?}");
}
