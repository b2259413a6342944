//! Generated schemas and values: nothing panics, and what is judged is judged as the evaluator does.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::bodies;

/// Names that mean something in a schema, and some that do not.
const NAMES: &[&str] = &[
    "$ref",
    "$defs",
    "$id",
    "$anchor",
    "$dynamicRef",
    "$dynamicAnchor",
    "$schema",
    "definitions",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "if",
    "then",
    "else",
    "dependentSchemas",
    "dependencies",
    "properties",
    "patternProperties",
    "additionalProperties",
    "unevaluatedProperties",
    "propertyNames",
    "prefixItems",
    "items",
    "additionalItems",
    "contains",
    "unevaluatedItems",
    "type",
    "enum",
    "const",
    "pattern",
    "minimum",
    "multipleOf",
    "maxLength",
    "required",
    "uniqueItems",
    "minItems",
    "format",
    "default",
    "a",
    "b",
];

/// Texts that are likely to be understood.
const TEXTS: &[&str] = &[
    "#",
    "#/$defs/a",
    "#/properties/a",
    "#/allOf/0",
    "#a",
    "a",
    "http://x/a",
    "string",
    "integer",
    "object",
    "array",
    "^a",
    "(a|b)*",
    "(?=a)",
    "",
    "http://json-schema.org/draft-07/schema#",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..4).prop_map(Value::from),
        (-2.0..2.0).prop_map(|number: f64| json!(number)),
        any::<i64>().prop_map(Value::from),
        prop::sample::select(TEXTS).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ]
}

/// Any JSON, made of words that schemas are made of.
fn any_json() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 48, 6, |inner| {
        let name = prop::sample::select(NAMES).prop_map(str::to_owned);
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..5).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A value of few different parts, so that schemas have something to say about it.
fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(4, 24, 4, |inner| {
        let members = prop::collection::vec(("[a-c]{1,2}", inner.clone()), 0..4);
        prop_oneof![
            prop::collection::vec(inner, 0..4).prop_map(Value::from),
            members.prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// A schema that is valid, with references to `$defs/a` and `$defs/b`.
fn benign() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["string", "integer", "number", "object", "array", "null", "boolean"])
            .prop_map(|name| json!({ "type": name })),
        (-3_i64..4).prop_map(|limit| json!({ "minimum": limit, "maximum": limit + 3 })),
        (1_u32..5).prop_map(|factor| json!({ "multipleOf": f64::from(factor) / 2.0 })),
        (0_u64..4).prop_map(|limit| json!({ "minLength": limit, "minItems": limit, "maxProperties": limit })),
        prop::sample::select(vec!["^a", "b$", "^(a|b)*$", "[a-c]{2}"])
            .prop_map(|pattern| json!({ "pattern": pattern })),
        prop::collection::vec("[a-c]", 0..3).prop_map(|mut names| {
            names.sort();
            names.dedup();
            json!({ "required": names })
        }),
        value().prop_map(|value| json!({ "const": value })),
        prop::collection::vec(value(), 1..4).prop_map(|values| json!({ "enum": values })),
        Just(json!({ "uniqueItems": true })),
    ];
    leaf.prop_recursive(4, 32, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 1..4);
        let keyed = prop::collection::vec(("[a-c]", inner.clone()), 0..4);
        let keyed = keyed.prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>()));
        prop_oneof![
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), list)
                .prop_map(|(name, list)| json!({ name: list })),
            (
                prop::sample::select(vec!["not", "items", "contains", "additionalProperties", "propertyNames"]),
                inner.clone()
            )
                .prop_map(|(name, schema)| json!({ name: schema })),
            (prop::sample::select(vec!["properties", "patternProperties", "dependentSchemas"]), keyed.clone())
                .prop_map(|(name, schemas)| json!({ name: schemas })),
            (inner.clone(), inner.clone(), inner.clone())
                .prop_map(|(test, yes, no)| json!({ "if": test, "then": yes, "else": no })),
            (keyed, inner.clone())
                .prop_map(|(schemas, rest)| json!({ "properties": schemas, "additionalProperties": rest })),
            (inner.clone(), prop::sample::select(vec!["unevaluatedProperties", "unevaluatedItems"]), inner.clone())
                .prop_map(|(part, name, rest)| json!({ "anyOf": [part], name: rest })),
            // Into the value, so that it comes to an end.
            prop::sample::select(vec!["#", "#/$defs/a", "#/$defs/b"])
                .prop_map(|place| json!({ "properties": { "a": { "$ref": place } }, "items": { "$ref": place } })),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_is_taken_as_schema_and_as_value(schema in any_json(), instance in any_json()) {
        bodies::judge_by(schema.to_string().as_bytes(), instance.to_string().as_bytes());
        bodies::judge_by(instance.to_string().as_bytes(), schema.to_string().as_bytes());
    }

    #[test]
    fn any_bytes_are_taken(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        bodies::judge(&bytes);
        bodies::judge_by(b"{\"items\":true}", &bytes);
    }

    #[test]
    fn benign_schemas_are_judged_as_the_evaluator_does(root in benign(), a in benign(), b in benign(), instance in value()) {
        let mut schema = if root.is_object() { root } else { json!({ "allOf": [root] }) };
        schema["$defs"] = json!({ "a": a, "b": b });
        let compiled = tap_schema::Schema::compile(schema.to_string().as_bytes());
        prop_assert!(compiled.is_ok(), "{compiled:?}: {schema}");
        let verdict = compiled.unwrap().check(instance.to_string().as_bytes());
        prop_assert!(!matches!(verdict, tap_schema::Checked::NotChecked(_)), "{verdict:?}: {schema} and {instance}");
        bodies::judge_by(schema.to_string().as_bytes(), instance.to_string().as_bytes());
    }
}
