//! What is told of a value that breaks a schema.

use tap_schema::{Checked, MAX_MESSAGE_BYTES, MAX_VIOLATIONS, Schema, SchemaError};

/// The violations, one a line: place in the value, keyword in the schema, message.
#[track_caller]
fn told(schema: &str, instance: &str) -> String {
    match Schema::compile(schema.as_bytes()).unwrap().check(instance.as_bytes()) {
        Checked::Invalid(violations) => {
            assert!(violations.len() <= MAX_VIOLATIONS);
            let line = |violation: &tap_schema::Violation| {
                assert!(violation.message.len() <= MAX_MESSAGE_BYTES);
                format!("{} | {} | {}", violation.instance, violation.keyword, violation.message)
            };
            violations.iter().map(line).collect::<Vec<_>>().join("\n")
        }
        other => panic!("{other:?} for {schema} and {instance}"),
    }
}

#[test]
fn a_violation_says_what_breaks_which_keyword() {
    for (schema, instance, expected) in [
        (r#"{"type":"integer"}"#, r#""12""#, r#" | /type | "12" is not of type "integer""#),
        (r#"{"type":["integer","null"]}"#, "[1]", r#" | /type | the array is not of types "null", "integer""#),
        (
            r#"{"properties":{"a":{"minimum":3}},"required":["a"]}"#,
            r#"{"a":2}"#,
            "/a | /properties/a/minimum | 2 is less than the minimum of 3",
        ),
        (
            r#"{"required":["a","b"]}"#,
            "{}",
            " | /required | \"a\" is a required property\n | /required | \"b\" is a required property",
        ),
        (
            r#"{"properties":{},"additionalProperties":false}"#,
            r#"{"x":1,"y":2}"#,
            " | /additionalProperties | Additional properties are not allowed ('x', 'y' were unexpected)",
        ),
        (r#"{"items":{"enum":["a","b"]}}"#, r#"["c"]"#, r#"/0 | /items/enum | "c" is not one of "a" or "b""#),
        (
            r##"{"properties":{"a/b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"maxLength":1}}}"##,
            r#"{"a/b":"xx"}"#,
            r#"/a~1b | /$defs/n/maxLength | "xx" is longer than 1 character"#,
        ),
        (
            r#"{"anyOf":[{"type":"string"},{"type":"null"}]}"#,
            "1",
            " | /anyOf | 1 is not valid under any of the schemas listed in the 'anyOf' keyword",
        ),
        (r#"{"pattern":"^a+$"}"#, r#""b""#, r#" | /pattern | "b" does not match "^a+$""#),
        ("false", "1", " |  | False schema does not allow 1"),
        (r#"{"const":{"a":1}}"#, r#"{"a":2}"#, r#" | /const | {"a":1} was expected"#),
    ] {
        assert_eq!(told(schema, instance), expected, "{schema} and {instance}");
    }
}

#[test]
fn only_the_first_few_are_told_and_none_twice() {
    let instance = format!("[{}]", vec!["1"; 100].join(","));
    let found = told(r#"{"items":{"type":"string"}}"#, &instance);
    assert_eq!(found.lines().count(), MAX_VIOLATIONS);
    assert!(found.starts_with("/0 | /items/type"));
    let twice = r##"{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}],"$defs":{"a":{"type":"string"}}}"##;
    assert_eq!(told(twice, "1").lines().count(), 1);
}

#[test]
fn long_texts_are_not_quoted() {
    let text = "x".repeat(1000);
    let found = told(r#"{"type":"integer"}"#, &format!("{text:?}"));
    assert_eq!(found, r#" | /type | the text is not of type "integer""#);
    let names: Vec<_> = (0..100).map(|index| format!(r#""näme{index}":1"#)).collect();
    let found = told(r#"{"properties":{},"additionalProperties":false}"#, &format!("{{{}}}", names.join(",")));
    assert!(found.ends_with('…') && found.contains("'näme0', 'näme1'"), "{found}");
    let found = told(&format!(r#"{{"pattern":"{text}"}}"#), r#""a""#);
    assert!(found.ends_with('…'), "{found}");
}

#[test]
fn where_errors_take_too_much_one_is_told_or_none() {
    let one = r#"{"items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}"#;
    let many = format!("[{}]", vec![r#"{"a":1,"b":1}"#; 10_000].join(","));
    assert_eq!(told(one, &many), r#"/0/a | /items/properties/a/type | 1 is not of type "string""#);
    let branches: Vec<_> = (0..1000).map(|index| format!(r#"{{"required":["r{index}"]}}"#)).collect();
    let members: Vec<_> = (0..1000).map(|index| format!(r#""m{index}":1"#)).collect();
    let found = told(&format!(r#"{{"anyOf":[{}]}}"#, branches.join(",")), &format!("{{{}}}", members.join(",")));
    assert_eq!(found, " |  | it does not match the schema, and finding out why takes too much");
}

#[test]
fn a_refusal_reads_like_a_sentence() {
    for (schema, expected) in [
        ("{", "the schema is not JSON"),
        ("[]", "not a JSON Schema: a schema is an object or a boolean"),
        (
            r#"{"type":"int"}"#,
            r#"not a JSON Schema: "int" is not valid under any of the schemas listed in the 'anyOf' keyword at /type"#,
        ),
        (
            r#"{"properties":{"a":{"minLength":-1}}}"#,
            "not a JSON Schema: -1 is less than the minimum of 0 at /properties/a/minLength",
        ),
        (r#"{"$schema":"x"}"#, r#"the dialect "x" is not known"#),
        (r#"{"$ref":"http://x/y"}"#, r#"the schema refers to "http://x/y", and nothing is fetched"#),
        (r##"{"$ref":"#/y"}"##, r##"nothing in the schema is at "#/y""##),
        (r##"{"items":{"allOf":[{"$ref":"#/items"}]}}"##, r#"the subschema at "/items" applies itself without end"#),
    ] {
        let error: SchemaError = Schema::compile(schema.as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}
