//! Tests of what the server asks the client for, in both eras.

use tap_jsonrpc::Node;
use tap_protocol::{Revisions, Side};

use super::found;
use crate::follow::{Follower, Lens, Meaning};
use crate::machine::features::embedded_pair;
use crate::machine::{Found, Out, Parts, Said, Seen};
use crate::observer::Event;
use crate::script;

/// What is found when the server asks for input and the client answers, as requests of the server's own.
#[track_caller]
fn legacy(revision: &str, method: &str, capabilities: &str, params: &str, answer: &str) -> String {
    let script = format!(
        r#"-> {{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"{revision}","capabilities":{capabilities},"clientInfo":{{"name":"c","version":"1"}}}}}}
<- {{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"{revision}","capabilities":{{}},"serverInfo":{{"name":"s","version":"1"}}}}}}
-> {{"jsonrpc":"2.0","method":"notifications/initialized"}}
<- {{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}
-> {{"jsonrpc":"2.0","id":1,"result":{answer}}}"#
    );
    ids(&script)
}

/// The same within a result and the request that goes on with it.
#[track_caller]
fn modern(method: &str, capabilities: &str, params: &str, answer: &str) -> String {
    let meta = format!(
        r#""_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{{"name":"c","version":"1"}},"io.modelcontextprotocol/clientCapabilities":{capabilities}}}"#
    );
    let script = format!(
        r#"# 2026-07-28
-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a",{meta}}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"resultType":"input_required","inputRequests":{{"q":{{"method":"{method}","params":{params}}}}}}}}}
-> {{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"a","inputResponses":{{"q":{answer}}},{meta}}}}}"#
    );
    ids(&script)
}

/// The rules that were broken, and how badly.
fn ids(script: &str) -> String {
    let ours = ["ELI-", "SMP-", "ROT-", "TOL-", "MOD-011"].into_iter().flat_map(|rules| found(script, rules));
    let short = ours.map(|line| line.split(' ').take(2).collect::<Vec<_>>().join(" "));
    short.collect::<Vec<_>>().join(", ")
}

const FORM: &str = r#"{"message":"Who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}}}}"#;
const URL: &str = r#"{"mode":"url","message":"Log in","url":"https://example.com","elicitationId":"e"}"#;
const CANCEL: &str = r#"{"action":"cancel"}"#;

#[test]
fn modes_must_be_declared() {
    let url = URL.replace(r#","elicitationId":"e""#, "");
    for (capabilities, can_form, can_url) in [
        (r#"{"elicitation":{}}"#, true, false),
        (r#"{"elicitation":{"form":{}}}"#, true, false),
        (r#"{"elicitation":{"url":{}}}"#, false, true),
        (r#"{"elicitation":{"form":{},"url":{}}}"#, true, true),
    ] {
        let expected = |can: bool| if can { "" } else { "ELI-001 error" };
        // Told once: by the rule that knows what each request declares.
        let embedded = |can: bool| if can { "" } else { "MOD-011 error" };
        let create = "elicitation/create";
        assert_eq!(legacy("2025-11-25", create, capabilities, FORM, CANCEL), expected(can_form), "{capabilities}");
        assert_eq!(legacy("2025-11-25", create, capabilities, URL, CANCEL), expected(can_url), "{capabilities}");
        assert_eq!(modern(create, capabilities, FORM, CANCEL), embedded(can_form), "{capabilities}");
        assert_eq!(modern(create, capabilities, &url, CANCEL), embedded(can_url), "{capabilities}");
    }
    // What a task asks for is no result of a round.
    let of_a_task = r#"-> {"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}}}
<- {"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","taskId":"t","status":"input_required","createdAt":"t","lastUpdatedAt":"t","ttlMs":null,"inputRequests":{"q":{"method":"elicitation/create","params":{"mode":"url","message":"Log in","url":"https://example.com"}}}}}"#;
    assert_eq!(ids(of_a_task), "ELI-001 error");
    // In 2025-06-18 there were no modes.
    assert_eq!(legacy("2025-06-18", "elicitation/create", r#"{"elicitation":{"url":{}}}"#, FORM, CANCEL), "");
}

const BOTH: &str = r#"{"elicitation":{"form":{},"url":{}}}"#;

#[test]
fn forms_are_flat() {
    let choice = r#"{"type":"array","items":{"type":"string","enum":["a"]}}"#;
    let titled = r#"{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}"#;
    for (property, in_2025_06_18, later) in [
        (r#"{"type":"string"}"#, true, true),
        (r#"{"type":"string","enum":["a"],"enumNames":["A"]}"#, true, true),
        (r#"{"type":"boolean","default":true}"#, true, true),
        (r#"{"type":"string","oneOf":[{"const":"a","title":"A"}]}"#, true, true),
        (choice, false, true),
        (titled, false, true),
        (r#"{"type":"array","items":{"type":"string"}}"#, false, false),
        (r#"{"type":"array"}"#, false, false),
        (r#"{"type":"object"}"#, false, false),
        (r##"{"$ref":"#/$defs/a"}"##, false, false),
    ] {
        let params = FORM.replace(r#"{"type":"string"}"#, property);
        let expected = |flat: bool| if flat { "" } else { "ELI-002 error" };
        let create = "elicitation/create";
        assert_eq!(legacy("2025-06-18", create, BOTH, &params, CANCEL), expected(in_2025_06_18), "{property}");
        assert_eq!(legacy("2025-11-25", create, BOTH, &params, CANCEL), expected(later), "{property}");
        assert_eq!(modern(create, BOTH, &params, CANCEL), expected(later), "{property}");
    }
}

#[test]
fn answers_fit_what_was_asked() {
    let url = URL;
    for (params, answer, expected) in [
        (FORM, r#"{"action":"accept","content":{"name":"Ada"}}"#, ""),
        (FORM, r#"{"action":"accept"}"#, ""),
        (FORM, r#"{"action":"accept","content":{"name":1}}"#, "ELI-004 warning"),
        (FORM, r#"{"action":"accept","content":[]}"#, "ELI-004 warning"),
        (FORM, r#"{"action":"decline"}"#, ""),
        (FORM, r#"{"action":"decline","content":null}"#, ""),
        (FORM, r#"{"action":"cancel","content":{}}"#, "ELI-003 note"),
        (url, r#"{"action":"accept"}"#, ""),
        (url, r#"{"action":"accept","content":{}}"#, "ELI-003 note"),
    ] {
        assert_eq!(legacy("2025-11-25", "elicitation/create", BOTH, params, answer), expected, "{answer}");
    }
    assert_eq!(modern("elicitation/create", BOTH, FORM, r#"{"action":"cancel","content":{}}"#), "ELI-003 note");
}

#[test]
fn an_embedded_answer_is_judged_with_its_request() {
    let frames = script::frames(r#"-> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a",META}}"#);
    let (frame, mut meaning) = (&frames[0], Meaning::default());
    Follower::new().follow(frame, &mut Lens::default(), &mut meaning);
    let Event::Row(row) = &meaning.events[0] else {
        panic!("no row");
    };
    // What is seen of the request that goes on with the call.
    let seen = Seen {
        frame,
        row,
        node: Node::new(&frame.bytes),
        notes: row.notes,
        scope: 0,
        side: Side::Client,
        method: None,
        revisions: Revisions::MODERN,
        params: None,
        result: None,
        error: None,
        meta: None,
        said: Said::default(),
        parts: Parts::default(),
    };
    let request = format!(r#"{{"method":"elicitation/create","params":{FORM}}}"#);
    let mut found = Found::default();
    for answer in [r#"{"action":"accept","content":{"name":1}}"#, r#"{"action":"accept","content":{"name":"1"}}"#] {
        let mut out = Out::new(&mut found, true);
        embedded_pair(&seen, Node::new(request.as_bytes()), Node::new(answer.as_bytes()), &mut out);
    }
    let told: Vec<_> = found.findings.iter().map(script::told).collect();
    assert_eq!(told, [r#"1 ELI-004 warning by client: /name: 1 is not of type "string""#]);
}

#[test]
fn ids_of_elicitations_are_of_one_revision() {
    let bare = URL.replace(r#","elicitationId":"e""#, "");
    let create = "elicitation/create";
    assert_eq!(legacy("2025-11-25", create, BOTH, URL, CANCEL), "");
    assert_eq!(legacy("2025-11-25", create, BOTH, &bare, CANCEL), "ELI-005 error");
    assert_eq!(modern(create, BOTH, &bare, CANCEL), "");
    assert_eq!(modern(create, BOTH, URL, CANCEL), "ELI-005 warning");
}

const TOOLS: &str = r#"{"sampling":{"tools":{}}}"#;
const MODEL: &str = r#"{"role":"assistant","model":"m","content":{"type":"text","text":"4"}}"#;

#[test]
fn uses_of_tools_are_answered_in_the_next_message() {
    let text = r#"{"type":"text","text":"a"}"#;
    let used = |id: &str| format!(r#"{{"type":"tool_use","id":"{id}","name":"t","input":{{}}}}"#);
    let result = |id: &str| format!(r#"{{"type":"tool_result","toolUseId":"{id}","content":[{text}]}}"#);
    let [user, assistant] = ["user", "assistant"];
    for (messages, expected) in [
        (vec![(user, text.into())], ""),
        (vec![(assistant, used("1")), (user, result("1"))], ""),
        (
            vec![
                (assistant, format!("[{text},{},{}]", used("1"), used("2"))),
                (user, format!("[{},{}]", result("2"), result("1"))),
            ],
            "",
        ),
        // Nothing follows it yet.
        (vec![(user, text.into()), (assistant, used("1"))], ""),
        (vec![(assistant, used("1")), (user, text.into())], "SMP-002 error"),
        (vec![(assistant, used("1")), (user, result("2"))], "SMP-002 error"),
        (vec![(user, result("1"))], "SMP-002 error"),
        (vec![(assistant, used("1")), (user, format!("[{},{text}]", result("1")))], "SMP-001 error"),
    ] {
        let messages: Vec<_> =
            messages.iter().map(|(role, content)| format!(r#"{{"role":"{role}","content":{content}}}"#)).collect();
        let params = format!(r#"{{"maxTokens":9,"messages":[{}]}}"#, messages.join(","));
        assert_eq!(legacy("2025-11-25", "sampling/createMessage", TOOLS, &params, MODEL), expected, "{params}");
        assert_eq!(modern("sampling/createMessage", TOOLS, &params, MODEL), expected, "{params}");
    }
}

#[test]
fn null_stands_for_what_is_not_there() {
    let form = FORM.replacen('{', r#"{"mode":null,"elicitationId":null,"#, 1);
    assert_eq!(modern("elicitation/create", BOTH, &form, CANCEL), "");
    assert_eq!(legacy("2025-11-25", "elicitation/create", BOTH, &form, CANCEL), "");
    let url = URL.replace(r#""e""#, "null");
    assert_eq!(modern("elicitation/create", BOTH, &url, CANCEL), "");
    assert_eq!(legacy("2025-11-25", "elicitation/create", BOTH, &url, CANCEL), "ELI-005 error");
    let sample = r#"{"maxTokens":9,"messages":[],"tools":null,"toolChoice":null}"#;
    for capabilities in [TOOLS, r#"{"sampling":{}}"#] {
        assert_eq!(legacy("2025-11-25", "sampling/createMessage", capabilities, sample, MODEL), "");
        assert_eq!(modern("sampling/createMessage", capabilities, sample, MODEL), "");
    }
}

#[test]
fn sampling_with_tools_must_be_declared() {
    let plain = r#"{"maxTokens":9,"messages":[]}"#;
    for (params, declared, bare) in [
        (plain.to_owned(), "", ""),
        (plain.replace('}', r#","tools":[]}"#), "", "SMP-003 error"),
        (plain.replace('}', r#","toolChoice":{"mode":"none"}}"#), "", "SMP-003 error"),
        (r#"{"messages":[]}"#.to_owned(), "SMP-004 error", "SMP-004 error"),
        (r#"{"maxTokens":"9","messages":[]}"#.to_owned(), "SMP-004 error", "SMP-004 error"),
    ] {
        let create = "sampling/createMessage";
        assert_eq!(legacy("2025-11-25", create, TOOLS, &params, MODEL), declared, "{params}");
        assert_eq!(legacy("2025-11-25", create, r#"{"sampling":{}}"#, &params, MODEL), bare, "{params}");
        assert_eq!(modern(create, TOOLS, &params, MODEL), declared, "{params}");
        let embedded = bare.replace("SMP-003", "MOD-011");
        assert_eq!(modern(create, r#"{"sampling":{}}"#, &params, MODEL), embedded, "{params}");
    }
}

#[test]
fn content_of_samples_is_looked_at() {
    let image = r#"{"role":"assistant","model":"m","content":{"type":"image","data":"*","mimeType":"image/png"}}"#;
    let params = r#"{"maxTokens":9,"messages":[{"role":"user","content":{"type":"resource_link"}}]}"#;
    let expected = "TOL-011 error, TOL-013 error";
    assert_eq!(legacy("2025-11-25", "sampling/createMessage", TOOLS, params, image), expected);
    assert_eq!(modern("sampling/createMessage", TOOLS, params, image), expected);
}

#[test]
fn roots_are_files_in_both_eras() {
    let roots = r#"{"roots":[{"uri":"/home"}]}"#;
    assert_eq!(legacy("2024-11-05", "roots/list", r#"{"roots":{}}"#, "{}", roots), "ROT-001 error");
    assert_eq!(modern("roots/list", r#"{"roots":{}}"#, "{}", roots), "ROT-001 error");
}

#[test]
fn nonsense_does_no_harm() {
    for value in ["null", "1", r#""a""#, "[]", "{}", "[{}]", r#"{"a":{}}"#, r#"[null,{"type":1}]"#] {
        for method in ["elicitation/create", "sampling/createMessage", "roots/list"] {
            legacy("2025-11-25", method, BOTH, value, value);
            modern(method, BOTH, value, value);
        }
        let params = format!(
            r#"{{"messages":{value},"requestedSchema":{value},"mode":{value},"maxTokens":{value},"tools":{value}}}"#
        );
        let messages = format!(r#"{{"messages":[{{"role":{value},"content":{value}}}]}}"#);
        let schema = format!(r#"{{"requestedSchema":{{"properties":{{"a":{value}}}}}}}"#);
        for params in [params, messages, schema] {
            legacy("2025-11-25", "elicitation/create", BOTH, &params, &params);
            legacy("2025-11-25", "sampling/createMessage", BOTH, &params, &params);
        }
    }
}
