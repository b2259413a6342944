//! Tables of schemas and what becomes of them, and that nothing is accepted by the tool less than the model is told.

use proptest::prelude::*;
use tap_schema::{Checked, Schema};

use super::*;

fn told(format: Format, schema: &str) -> (String, Vec<String>) {
    let rewritten = rewrite(format, &Tree::read(schema.as_bytes()).unwrap());
    let findings = rewritten.findings.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect();
    let text = rewritten.schema.map_or_else(|| "none".into(), |schema| schema.write());
    (format!("{}{text}", if rewritten.strict { "strict " } else { "" }), findings)
}

/// A schema of one argument.
fn of(argument: &str) -> String {
    format!(r#"{{"type":"object","properties":{{"a":{argument}}}}}"#)
}

#[test]
fn openai_gets_json_schema_and_is_told_whether_it_can_be_held_to_it() {
    for (schema, expected, n_findings) in [
        ("{}", r#"{"type":"object","properties":{}}"#, 0),
        (
            r#"{"type":"object","properties":{},"additionalProperties":false}"#,
            r#"strict {"type":"object","properties":{},"additionalProperties":false}"#,
            0,
        ),
        (
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
            0,
        ),
        (
            r##"{"$schema":"x","properties":{"a":{"$ref":"#/$defs/b"},"c":{"type":["string","null"]}},"required":["a","c"],"additionalProperties":false,"$defs":{"b":{"anyOf":[{"type":"integer"},{"const":1}]}}}"##,
            r##"strict {"properties":{"a":{"$ref":"#/$defs/b"},"c":{"type":["string","null"]}},"required":["a","c"],"additionalProperties":false,"$defs":{"b":{"anyOf":[{"type":"integer"},{"const":1}]}},"type":"object"}"##,
            0,
        ),
        (
            r#"{"properties":{"a":{"type":"array"},"b":true},"anyOf":[{"required":["a"]}]}"#,
            r#"{"properties":{"a":{"type":"array","items":{}},"b":{}},"type":"object"}"#,
            1,
        ),
        (r#"{"properties":{"a":false}}"#, r#"{"properties":{"a":{}},"type":"object"}"#, 1),
        (
            r##"{"$ref":"#/$defs/r","$defs":{"r":{"type":"object","properties":{"a":{"type":"string"}}}}}"##,
            r##"{"$defs":{"r":{"type":"object","properties":{"a":{"type":"string"}}}},"type":"object","properties":{"a":{"type":"string"}}}"##,
            0,
        ),
    ] {
        for format in [Format::OpenAiChat, Format::OpenAiResponses] {
            let (text, findings) = told(format, schema);
            assert_eq!((text.as_str(), findings.len()), (expected, n_findings), "{findings:?}");
        }
    }
}

#[test]
fn anthropic_gets_the_schema_as_it_is_but_for_the_top() {
    let (text, findings) =
        told(Format::Anthropic, r#"{"oneOf":[{}],"properties":{"a":{"oneOf":[{"minimum":1e400}]}}}"#);
    assert_eq!(text, r#"{"properties":{"a":{"oneOf":[{"minimum":1e400}]}},"type":"object"}"#);
    assert_eq!(findings, ["/oneOf: `oneOf` cannot stand at the top; the model is not told of it"]);
}

#[test]
fn gemini_gets_what_its_own_schema_can_say() {
    for (argument, expected, n_findings) in [
        (
            r#"{"type":"string","format":"uri","minLength":1,"x-mcp-header":"A"}"#,
            r#"{"minLength":1,"type":"string"}"#,
            0,
        ),
        (r#"{"type":"string","format":"date-time"}"#, r#"{"type":"string","format":"date-time"}"#, 0),
        (r#"{"enum":["x","y"]}"#, r#"{"enum":["x","y"],"type":"string","format":"enum"}"#, 0),
        (r#"{"const":"x"}"#, r#"{"enum":["x"],"type":"string","format":"enum"}"#, 0),
        (r#"{"type":"integer","enum":[1,2]}"#, r#"{"type":"integer"}"#, 1),
        (r#"{"type":["integer","null"]}"#, r#"{"nullable":true,"type":"integer"}"#, 0),
        (r#"{"type":["integer","string"]}"#, r#"{"anyOf":[{"type":"integer"},{"type":"string"}]}"#, 0),
        (r#"{"anyOf":[{"type":"integer"},{"type":"null"}]}"#, r#"{"nullable":true,"type":"integer"}"#, 0),
        (
            r#"{"oneOf":[{"type":"integer"},{"type":"string"}]}"#,
            r#"{"anyOf":[{"type":"integer"},{"type":"string"}]}"#,
            1,
        ),
        (r#"{"allOf":[{"type":"integer"},{"minimum":1}]}"#, r#"{"type":"integer","minimum":1}"#, 0),
        (r#"{"type":"array"}"#, r#"{"type":"array","items":{"type":"string"}}"#, 1),
        (
            r#"{"type":"array","items":{"type":"number"},"uniqueItems":true}"#,
            r#"{"type":"array","items":{"type":"number"}}"#,
            1,
        ),
        (r#"{"type":"object"}"#, r#"{"type":"object"}"#, 1),
        (
            r#"{"type":"object","properties":{"b":{"type":"string"}},"required":["b","c"],"additionalProperties":false}"#,
            r#"{"type":"object","properties":{"b":{"type":"string"}},"required":["b"],"propertyOrdering":["b"]}"#,
            1,
        ),
        (r#"{"$ref":"nowhere"}"#, "{}", 1),
        ("true", "{}", 0),
        ("false", "{}", 1),
        (r#"{"not":{"type":"string"}}"#, "{}", 1),
    ] {
        let (text, findings) = told(Format::Gemini, &of(argument));
        let expected = format!(r#"{{"type":"object","properties":{{"a":{expected}}},"propertyOrdering":["a"]}}"#);
        assert_eq!((text, findings.len()), (expected, n_findings), "{argument} {findings:?}");
    }
    assert_eq!(told(Format::Gemini, "{}"), ("none".into(), Vec::new()));
}

#[test]
fn references_are_replaced_and_what_is_recursive_has_an_end() {
    let schema = r##"{"properties":{"a":{"$ref":"#/$defs/n","description":"d"}},"$defs":{"n":{"type":"object","properties":{"v":{"type":"integer"}}}}}"##;
    let (text, findings) = told(Format::Gemini, schema);
    assert_eq!(
        text,
        r#"{"type":"object","properties":{"a":{"type":"object","properties":{"v":{"type":"integer"}},"propertyOrdering":["v"],"description":"d"}},"propertyOrdering":["a"]}"#
    );
    assert_eq!(findings, [""; 0]);
    let recursive = r##"{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}"##;
    let (text, findings) = told(Format::Gemini, recursive);
    assert!(!text.contains("$ref") && text.matches("next").count() < 20, "{text}");
    assert!(findings.iter().any(|what| what.contains("contains itself")), "{findings:?}");
    // Twice as large at each step: 2^30 parts, if nobody counted.
    let mut doubling = String::from(r##"{"properties":{"a":{"$ref":"#/$defs/d0"}},"$defs":{"##);
    for index in 0..30 {
        let next = format!(r##"{{"$ref":"#/$defs/d{}"}}"##, index + 1);
        doubling.push_str(&format!(r#""d{index}":{{"type":"object","properties":{{"l":{next},"r":{next}}}}},"#));
    }
    doubling.push_str(r#""d30":{"type":"integer"}}}"#);
    let (text, findings) = told(Format::Gemini, &doubling);
    assert!(text.len() < 10_000_000 && !findings.is_empty());
}

/// Schemas of the kinds that tools have.
fn schema() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just(r#"{"type":"integer","minimum":0}"#.to_owned()),
        Just(r#"{"type":"string","maxLength":3}"#.to_owned()),
        Just(r#"{"type":["boolean","null"]}"#.to_owned()),
        Just(r#"{"enum":["x","y"]}"#.to_owned()),
        Just(r##"{"$ref":"#/$defs/d"}"##.to_owned()),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|items| format!(r#"{{"type":"array","items":{items}}}"#)),
            (inner.clone(), inner.clone())
                .prop_map(|(a, b)| format!(r#"{{"type":"object","properties":{{"p":{a},"q":{b}}},"required":["p"]}}"#)),
            (inner.clone(), inner).prop_map(|(a, b)| format!(r#"{{"anyOf":[{a},{b}]}}"#)),
        ]
    })
}

/// Values that schemas of those kinds take now and then.
fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        (-2..3_i32).prop_map(|n| n.to_string()),
        prop::sample::select(vec!["\"x\"", "\"long text\"", "true", "null", "{}", "[]"]).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(|items| format!("[{}]", items.join(","))),
            (inner.clone(), inner).prop_map(|(p, q)| format!(r#"{{"p":{p},"q":{q}}}"#)),
        ]
    })
}

proptest! {
    /// Where nothing is told as left out, OpenAI and Anthropic are told of exactly what the tool accepts.
    #[test]
    fn what_is_rewritten_without_a_finding_accepts_the_same(argument in schema(), value in value()) {
        let whole = format!(r#"{{"type":"object","properties":{{"a":{argument}}},"required":["a"],"$defs":{{"d":{{"type":"number"}}}}}}"#);
        let instance = format!(r#"{{"a":{value}}}"#);
        let accepts = |schema: &str| Schema::compile(schema.as_bytes()).unwrap().check(instance.as_bytes()) == Checked::Valid;
        for format in [Format::OpenAiChat, Format::OpenAiResponses, Format::Anthropic] {
            let rewritten = rewrite(format, &Tree::read(whole.as_bytes()).unwrap());
            prop_assert!(rewritten.findings.is_empty());
            prop_assert_eq!(accepts(&rewritten.schema.unwrap().write()), accepts(&whole));
        }
    }

    /// Gemini's form says the same as JSON Schema, but for `nullable`, which is read here as what it means.
    #[test]
    fn geminis_form_accepts_the_same_where_nothing_is_told(argument in schema(), value in value()) {
        let whole = format!(r#"{{"type":"object","properties":{{"a":{argument}}},"required":["a"],"$defs":{{"d":{{"type":"number"}}}}}}"#);
        let instance = format!(r#"{{"a":{value}}}"#);
        let rewritten = rewrite(Format::Gemini, &Tree::read(whole.as_bytes()).unwrap());
        prop_assume!(rewritten.findings.is_empty());
        let accepts = |schema: &str| Schema::compile(schema.as_bytes()).unwrap().check(instance.as_bytes()) == Checked::Valid;
        let plain = nullable_as_json_schema(&rewritten.schema.unwrap());
        prop_assert_eq!(accepts(&plain.write()), accepts(&whole), "{}", plain.write());
    }
}

/// OpenAPI's `nullable` as JSON Schema has it.
fn nullable_as_json_schema(tree: &Tree) -> Tree {
    let mut out = match tree {
        Tree::Object(members) => {
            Tree::Object(members.iter().map(|(key, value)| (key.clone(), nullable_as_json_schema(value))).collect())
        }
        Tree::Array(items) => Tree::Array(items.iter().map(nullable_as_json_schema).collect()),
        token => token.clone(),
    };
    match out.take("nullable") {
        Some(_) => Tree::object([("anyOf", Tree::Array(vec![out, Tree::object([("type", Tree::text("null"))])]))]),
        None => out,
    }
}
