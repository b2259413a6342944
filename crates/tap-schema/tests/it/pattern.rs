//! Patterns: matched in linear time, or left out where that is sound.

use tap_schema::Schema;

use crate::show::{judge, with_little_stack};

const LOOK_AHEAD: &str = "^(?=.*[0-9]).{8,}$";
const BACK_REFERENCE: &str = r"^(a)\\1$";
const OPEN: &str = "(";

#[test]
fn patterns_are_those_of_ecma_script_and_search_anywhere() {
    for (pattern, text, expected) in [
        ("b", "abc", "valid"),
        ("^b", "abc", "invalid"),
        (r"^\\d{3}$", "123", "valid"),
        (r"^\\d{3}$", "１２３", "invalid"),
        (r"^\\w+$", "naïve", "invalid"),
        (r"^\\p{L}+$", "naïve", "valid"),
        (r"^[\\s\\S]$", "\u{2028}", "valid"),
        (r"^\\cA$", r"\u0001", "valid"),
        (r"^\\/$", "/", "valid"),
        ("^[^]$", "x", "valid"),
        ("^a{2,}$", "aaa", "valid"),
    ] {
        assert_eq!(
            judge(&format!(r#"{{"pattern":"{pattern}"}}"#), &format!("\"{text}\"")),
            expected,
            "{pattern} {text}"
        );
    }
}

#[test]
fn what_would_backtrack_for_ever_is_linear() {
    for (pattern, text) in [
        ("^(a+)+$", "a".repeat(1000) + "!"),
        ("(x+x+)+y", "x".repeat(1000)),
        ("^(([a-z])+.)+[A-Z]([a-z])+$", "a".repeat(1000)),
    ] {
        assert_eq!(judge(&format!(r#"{{"pattern":"{pattern}"}}"#), &format!("\"{text}\"")), "invalid", "{pattern}");
    }
    // Linear in the text, but a thousand states for each byte.
    let text = format!("\"{}\"", "ab".repeat(200_000));
    assert_eq!(judge(r#"{"pattern":"(a|b)*a(a|b){1000}$"}"#, &text), "not checked: TooCostly");
}

#[test]
fn a_pattern_that_cannot_be_matched_is_left_out() {
    let huge = "(((a{50}){50}){50}){50}";
    for pattern in [LOOK_AHEAD, BACK_REFERENCE, OPEN, huge, &"a".repeat(10_000)] {
        let schema = format!(r#"{{"properties":{{"a":{{"type":"string","pattern":"{pattern}"}}}}}}"#);
        assert_eq!(judge(&schema, r#"{"a":"?"}"#), "valid", "{pattern}");
        assert_eq!(judge(&schema, r#"{"a":1}"#), "invalid", "{pattern}");
        let ignored = Schema::compile(schema.as_bytes()).unwrap().ignored_patterns().to_vec();
        assert_eq!(ignored.len(), 1, "{pattern}");
        let names = format!(r#"{{"patternProperties":{{"{pattern}":{{"type":"string"}},"^b":{{"type":"string"}}}}}}"#);
        assert_eq!(judge(&names, r#"{"a":1}"#), "valid", "{pattern}");
        assert_eq!(judge(&names, r#"{"b":1}"#), "invalid", "{pattern}");
    }
    assert!(Schema::compile(br#"{"pattern":"a"}"#).unwrap().ignored_patterns().is_empty());
}

#[test]
fn a_pattern_is_not_left_out_where_that_could_turn_the_verdict() {
    for (schema, is_refused) in [
        (r#"{"allOf":[{"pattern":LOOK}]}"#, false),
        (r#"{"anyOf":[{"pattern":LOOK},{"type":"null"}]}"#, false),
        (r#"{"propertyNames":{"pattern":LOOK}}"#, false),
        (r#"{"then":{"pattern":LOOK}}"#, false),
        (r#"{"not":{"pattern":LOOK}}"#, true),
        (r#"{"oneOf":[{"pattern":LOOK},{"type":"null"}]}"#, true),
        (r#"{"if":{"properties":{"a":{"pattern":LOOK}}},"then":false}"#, true),
        (r#"{"contains":{"pattern":LOOK},"maxContains":1}"#, true),
        (r##"{"not":{"$ref":"#/$defs/a"},"$defs":{"a":{"pattern":LOOK}}}"##, true),
        (
            r##"{"allOf":[{"$ref":"#/$defs/a"}],"not":{"items":{"$ref":"#/$defs/a"}},"$defs":{"a":{"pattern":LOOK}}}"##,
            true,
        ),
        (r#"{"$defs":{"a":{"not":{"pattern":LOOK}}}}"#, false),
        (r#"{"patternProperties":{LOOK:{}}}"#, false),
        (r#"{"patternProperties":{LOOK:{}},"additionalProperties":false}"#, true),
        (r#"{"allOf":[{"patternProperties":{LOOK:{}}}],"unevaluatedProperties":false}"#, true),
    ] {
        let found = judge(&schema.replace("LOOK", &format!("{LOOK_AHEAD:?}")), "{}");
        let expected = if is_refused { "refused: UnmatchedPattern" } else { "valid" };
        assert_eq!(found, expected, "{schema}");
    }
}

#[test]
fn many_or_deep_patterns_are_refused_or_left_out() {
    let many: Vec<_> = (0..200).map(|index| format!(r#"{{"pattern":"a{index}"}}"#)).collect();
    assert_eq!(judge(&format!(r#"{{"allOf":[{}]}}"#, many.join(",")), "1"), "refused: TooCostly");
    let large: Vec<_> = (0..100).map(|index| format!(r#"{{"pattern":"([^a]b?){{{}}}"}}"#, 1000 + index)).collect();
    let schema = format!(r#"{{"allOf":[{}]}}"#, large.join(","));
    assert!(!Schema::compile(schema.as_bytes()).unwrap().ignored_patterns().is_empty(), "all of them would be large");
    for (open, close) in [("(", ")"), ("(?:", ")*"), ("[a&&", "]"), ("(?:a|", ")"), ("", "{2}"), ("", "*")] {
        for n in [10, 20, 50, 1000] {
            let pattern = format!(r#"{{"pattern":"{}a{}"}}"#, open.repeat(n), close.repeat(n));
            let deep = format!("{}{pattern}{}", r#"{"items":"#.repeat(48), "}".repeat(48));
            with_little_stack(move || [judge(&pattern, r#""a""#), judge(&deep, r#"[["a"]]"#)]);
        }
    }
}
