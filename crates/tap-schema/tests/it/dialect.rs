//! The five dialects: where they differ, each is followed.

use crate::show::judge;

const DRAFT_04: &str = "http://json-schema.org/draft-04/schema#";
const DRAFT_06: &str = "http://json-schema.org/draft-06/schema#";
const DRAFT_07: &str = "http://json-schema.org/draft-07/schema#";
const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
const DRAFT_2020: &str = "https://json-schema.org/draft/2020-12/schema";

const ALL: [&str; 5] = [DRAFT_04, DRAFT_06, DRAFT_07, DRAFT_2019, DRAFT_2020];

/// What each dialect, in their order, says of a value. `keywords` are those beside `$schema`.
#[track_caller]
fn check(keywords: &str, instance: &str, expected: [&str; 5]) {
    let found = ALL.map(|dialect| judge(&format!(r#"{{"$schema":"{dialect}",{keywords}}}"#), instance));
    assert_eq!(found, expected, "{keywords} and {instance}");
}

#[test]
fn each_dialect_has_its_own_keywords() {
    for (keywords, instance, expected) in [
        (r#""type":"integer""#, "1.0", ["invalid", "valid", "valid", "valid", "valid"]),
        (r#""type":"integer""#, "1e2", ["invalid", "valid", "valid", "valid", "valid"]),
        (r#""type":"integer""#, "1.5", ["invalid"; 5]),
        (r#""const":1"#, "2", ["valid", "invalid", "invalid", "invalid", "invalid"]),
        (r#""if":{},"then":{"type":"string"}"#, "1", ["valid", "valid", "invalid", "invalid", "invalid"]),
        (r#""prefixItems":[{"type":"string"}]"#, "[1]", ["valid", "valid", "valid", "valid", "invalid"]),
        (r#""dependentRequired":{"a":["b"]}"#, r#"{"a":1}"#, ["valid", "valid", "valid", "invalid", "invalid"]),
        (
            r#""properties":{"a":{}},"unevaluatedProperties":false"#,
            r#"{"b":1}"#,
            ["valid", "valid", "valid", "invalid", "invalid"],
        ),
        (
            r#""$ref":"\#/definitions/a","type":"string","definitions":{"a":{"type":"integer"}}"#,
            "1",
            ["valid", "valid", "valid", "invalid", "invalid"],
        ),
        (
            r#""minimum":1,"exclusiveMinimum":true"#,
            "1",
            ["invalid", "refused: NotASchema", "refused: NotASchema", "refused: NotASchema", "refused: NotASchema"],
        ),
        (r#""items":[{"type":"string"}]"#, "[1]", ["invalid", "invalid", "invalid", "invalid", "refused: NotASchema"]),
    ] {
        check(&keywords.replace("\\#", "#"), instance, expected);
    }
}

#[test]
fn without_a_dialect_it_is_2020_12() {
    assert_eq!(judge(r#"{"prefixItems":[{"type":"string"}]}"#, "[1]"), "invalid");
    assert_eq!(judge("true", "1"), "valid");
    assert_eq!(judge("false", "1"), "invalid");
    assert_eq!(judge("{}", "1"), "valid");
}

#[test]
fn dialects_are_known_with_and_without_the_empty_fragment() {
    for (uri, expected) in [
        ("http://json-schema.org/draft-07/schema", "valid"),
        ("https://json-schema.org/draft-07/schema#", "valid"),
        ("https://json-schema.org/draft/2020-12/schema#", "valid"),
        ("http://json-schema.org/draft-03/schema#", "refused: UnknownDialect"),
        ("https://example.com/mine", "refused: UnknownDialect"),
        ("", "refused: UnknownDialect"),
    ] {
        assert_eq!(judge(&format!(r#"{{"$schema":"{uri}"}}"#), "1"), expected, "dialect: {uri}");
    }
    assert_eq!(judge(r#"{"$schema":7}"#, "1"), "refused: NotASchema");
}

#[test]
fn a_part_in_another_dialect_is_refused() {
    let schema = format!(r#"{{"properties":{{"a":{{"$id":"http://a/","$schema":"{DRAFT_07}"}}}}}}"#);
    assert_eq!(judge(&schema, "1"), "refused: UnknownDialect");
    let schema = schema.replace(DRAFT_07, DRAFT_2020);
    assert_eq!(judge(&schema, "1"), "valid");
}

#[test]
fn format_and_content_are_annotations_in_every_dialect() {
    check(r#""format":"email""#, r#""nobody""#, ["valid"; 5]);
    check(r#""format":"date-time""#, r#""today""#, ["valid"; 5]);
    check(r#""contentEncoding":"base64","contentMediaType":"application/json""#, r#""?""#, ["valid"; 5]);
}

#[test]
fn numbers_are_equal_when_their_values_are() {
    for (keywords, instance, expected) in [
        (r#""enum":[1]"#, "1.0", "valid"),
        (r#""enum":[1.5e1]"#, "15", "valid"),
        (r#""enum":[18446744073709551615]"#, "18446744073709551614", "invalid"),
        (r#""maximum":9007199254740993"#, "9007199254740994", "invalid"),
        (r#""multipleOf":0.1"#, "0.3", "valid"),
        (r#""multipleOf":5e-324"#, "1.7976931348623157e308", "valid"),
        (r#""uniqueItems":true"#, "[1, 1.0]", "invalid"),
        (r#""uniqueItems":true"#, r#"[{"a":1,"b":2},{"b":2,"a":1}]"#, "invalid"),
        (r#""maximum":1e999"#, "1", "refused: NotJson"),
        (r#""maximum":340282366920938463463374607431768211455"#, "1", "valid"),
    ] {
        assert_eq!(judge(&format!("{{{keywords}}}"), instance), expected, "{keywords} and {instance}");
    }
}
