//! Where references lead: into the schema, or nowhere.

use crate::show::judge;

#[track_caller]
fn check(schema: &str, instance: &str, expected: &str) {
    assert_eq!(judge(schema, instance), expected, "{schema} and {instance}");
}

#[test]
fn a_reference_leads_to_what_it_names() {
    for schema in [
        r##"{"$ref":"#/$defs/a","$defs":{"a":{"type":"integer"}}}"##,
        r##"{"$ref":"#/$defs/a%20b~1c","$defs":{"a b/c":{"type":"integer"}}}"##,
        r##"{"$ref":"#/x-mine/1","x-mine":[0,{"type":"integer"}]}"##,
        r##"{"$ref":"#a","$defs":{"x":{"$anchor":"a","type":"integer"}}}"##,
        r##"{"$dynamicRef":"#a","$defs":{"x":{"$dynamicAnchor":"a","type":"integer"}}}"##,
        r##"{"$dynamicRef":"#/$defs/x","$defs":{"x":{"type":"integer"}}}"##,
        r##"{"$id":"http://a/b","$ref":"b#/$defs/x","$defs":{"x":{"type":"integer"}}}"##,
        r##"{"$id":"http://a/b","$ref":"/c","$defs":{"x":{"$id":"c","type":"integer"}}}"##,
        r##"{"$ref":"c","$defs":{"x":{"$id":"c","type":"integer"}}}"##,
        r##"{"$ref":"c#y","$defs":{"x":{"$id":"c","$defs":{"z":{"$anchor":"y","type":"integer"}}}}}"##,
        r##"{"$ref":"c","$defs":{"x":{"$id":"c","$ref":"#/$defs/y","$defs":{"y":{"type":"integer"}}}}}"##,
        r##"{"$ref":"urn:a:b","$defs":{"x":{"$id":"urn:a:b","type":"integer"}}}"##,
        r##"{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#x","definitions":{"a":{"$id":"#x","type":"integer"}}}"##,
        r##"{"$schema":"http://json-schema.org/draft-04/schema#","$ref":"x","definitions":{"a":{"id":"x","type":"integer"}}}"##,
        r##"{"$schema":"https://json-schema.org/draft/2019-09/schema","$defs":{"a":{"$id":"x","properties":{"b":{"$recursiveRef":"#"}},"type":"integer"}},"$ref":"x"}"##,
        r##"{"allOf":[{"type":"integer"},{"$ref":"#/allOf/0"}]}"##,
    ] {
        check(schema, "1", "valid");
        check(schema, "\"1\"", "invalid");
    }
}

#[test]
fn nothing_is_fetched() {
    for (schema, expected) in [
        (r#"{"$ref":"http://example.com/x"}"#, "refused: ExternalReference"),
        (r#"{"$ref":"file:///etc/passwd"}"#, "refused: ExternalReference"),
        (r#"{"$ref":"other.json#/a"}"#, "refused: ExternalReference"),
        (r#"{"$ref":"http://json-schema.org/draft-07/schema#"}"#, "refused: ExternalReference"),
        (
            r#"{"items":{"anyOf":[{"$ref":"https://json-schema.org/draft/2020-12/schema"}]}}"#,
            "refused: ExternalReference",
        ),
        (r#"{"$dynamicRef":"http://example.com/x#a"}"#, "refused: ExternalReference"),
        (r##"{"$ref":"#/$defs/none"}"##, "refused: UnresolvedReference"),
        (r##"{"$ref":"#none"}"##, "refused: UnresolvedReference"),
        (r##"{"$ref":"#/$defs/00","$defs":[1]}"##, "refused: UnresolvedReference"),
        (r#"{"$ref":"http://["}"#, "refused: UnresolvedReference"),
        (r#"{"$ref":1}"#, "refused: NotASchema"),
        (r##"{"$ref":"#/$defs/a","$defs":{"a":1}}"##, "refused: NotASchema"),
        (r##"{"$ref":"#/title","title":"x"}"##, "refused: NotASchema"),
    ] {
        check(schema, "1", expected);
    }
}

#[test]
fn a_reference_that_is_never_followed_may_lead_anywhere() {
    for schema in [
        r#"{"$defs":{"a":{"$ref":"http://example.com/x"}}}"#,
        r##"{"$defs":{"a":{"$ref":"#/none"}}}"##,
        r#"{"const":{"$ref":"http://example.com/x"}}"#,
        r#"{"default":{"$ref":"http://example.com/x"},"examples":[{"$ref":"y"}],"x-mine":{"$ref":"z"}}"#,
        r#"{"properties":{"$ref":{"type":"string"}}}"#,
    ] {
        let expected = if schema.contains("const") { "invalid" } else { "valid" };
        check(schema, "{}", expected);
    }
}

#[test]
fn a_reference_with_several_targets_is_refused() {
    let part = |id: &str| format!(r#"{{"$id":"{id}","$dynamicAnchor":"t","type":"integer"}}"#);
    let schema = format!(r##"{{"$dynamicRef":"a#t","$defs":{{"a":{},"b":{}}}}}"##, part("a"), part("b"));
    check(&schema, "1", "refused: DynamicReference");
    check(&schema.replace("$dynamicRef", "$ref"), "1", "valid");
    check(r##"{"$ref":"#/$defs/a","$dynamicRef":"#/$defs/a","$defs":{"a":{}}}"##, "1", "refused: DynamicReference");
}
