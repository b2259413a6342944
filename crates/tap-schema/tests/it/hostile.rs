//! Schemas and values that are made to cost: each is refused, or judged, within its bounds and a short stack.

use serde_json::{Map, Value, json};

use crate::show::{judge, with_little_stack};

/// `$defs` of `n` subschemas, each made of the reference to the next, and a last one for strings.
fn chain(n: usize, link: impl Fn(Value) -> Value) -> Value {
    let mut definitions = Map::new();
    for index in 0..n {
        definitions.insert(format!("a{index}"), link(json!({ "$ref": format!("#/$defs/a{}", index + 1) })));
    }
    definitions.insert(format!("a{n}"), json!({ "type": "string" }));
    json!({ "$defs": definitions, "$ref": "#/$defs/a0" })
}

/// `n` subschemas in each other.
fn nest(n: usize, wrap: impl Fn(Value) -> Value) -> Value {
    (0..n).fold(json!({ "type": "string" }), |inner, _| wrap(inner))
}

fn arrays(depth: usize) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!([inner]))
}

fn objects(depth: usize, name: &str) -> Value {
    (0..depth).fold(json!(1), |inner, _| json!({ name: inner }))
}

/// All arrays that are made of `n` pairs of brackets, and nothing else.
fn trees(n: usize) -> Vec<Value> {
    let Some(rest) = n.checked_sub(1) else {
        return vec![json!([])];
    };
    let mut found = Vec::new();
    for first in 0..=rest {
        for head in trees(first) {
            for tail in trees(rest - first) {
                let mut items = vec![head.clone()];
                items.extend(tail.as_array().unwrap().iter().cloned());
                found.push(Value::Array(items));
            }
        }
    }
    found
}

#[track_caller]
fn check(schema: &Value, instance: &Value, expected: &str) {
    let (schema, instance) = (schema.to_string(), instance.to_string());
    let texts = (schema.clone(), instance.clone());
    let found = with_little_stack(move || judge(&texts.0, &texts.1));
    let shown: String = schema.chars().take(100).collect();
    assert_eq!(found, expected, "schema: {shown}");
}

fn twice(keyword: &str) -> impl Fn(Value) -> Value + use<'_> {
    move |part| json!({ keyword: [part, part] })
}

#[test]
fn references_that_fan_out_are_refused_by_their_steps() {
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for instance in [json!("x"), json!(1), json!({ "a": [1] })] {
            check(&chain(40, twice(keyword)), &instance, "not checked: TooCostly");
            check(&chain(1000, twice(keyword)), &instance, "refused: TooDeep");
        }
        check(&chain(10, twice(keyword)), &json!("x"), if keyword == "oneOf" { "invalid" } else { "valid" });
        check(&chain(16, twice(keyword)), &json!(1), "invalid");
    }
    let properties = |part: Value| json!({ "patternProperties": { "a": part, "b": part, "": part } });
    check(&chain(30, properties), &objects(30, "ab"), "not checked: TooCostly");
    check(
        &json!({ "patternProperties": { "a": { "$ref": "#" }, "": { "$ref": "#" } } }),
        &objects(40, "a"),
        "not checked: TooCostly",
    );
}

#[test]
fn what_is_unevaluated_is_not_looked_for_in_a_fan() {
    let mut schema = chain(20, twice("allOf"));
    schema["unevaluatedProperties"] = json!(false);
    check(&schema, &json!({ "a": 1 }), "refused: TooCostly");
    let mut schema = chain(30, |part| part);
    schema["unevaluatedProperties"] = json!(false);
    check(&schema, &json!({ "a": 1 }), "refused: TooDeep");
    let many: Map<_, _> = (0..100)
        .map(|index| (format!("p{index}"), json!({ "allOf": vec![json!({}); 60], "unevaluatedItems": false })))
        .collect();
    check(&json!({ "properties": many }), &json!({ "p1": [1] }), "refused: TooCostly");
    check(&nest(16, |inner| json!({ "unevaluatedItems": inner })), &arrays(16), "invalid");
    check(&nest(20, |inner| json!({ "unevaluatedItems": inner })), &arrays(20), "not checked: TooCostly");
    check(&nest(24, |inner| json!({ "unevaluatedItems": inner })), &arrays(24), "refused: TooDeep");
    check(&json!({ "unevaluatedItems": { "$ref": "#" } }), &arrays(60), "not checked: TooCostly");
    check(&json!({ "unevaluatedProperties": { "$ref": "#" } }), &objects(60, "a"), "not checked: TooCostly");
}

#[test]
fn endless_references_are_refused() {
    const DRAFT_2019: &str = "https://json-schema.org/draft/2019-09/schema";
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "$ref": "" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "anyOf": [{ "type": "string" }, { "$ref": "#" }] }),
        json!({ "not": { "$ref": "#" } }),
        json!({ "if": { "$ref": "#" } }),
        json!({ "dependentSchemas": { "a": { "$ref": "#" } } }),
        json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } }, "$ref": "#/$defs/a" }),
        json!({ "items": { "$ref": "#/$defs/a" }, "$defs": { "a": { "oneOf": [{ "$ref": "#/$defs/a" }] } } }),
        json!({ "$dynamicAnchor": "a", "$dynamicRef": "#a" }),
        json!({ "$dynamicAnchor": "a", "anyOf": [{ "$dynamicRef": "#a" }], "unevaluatedProperties": false }),
        json!({ "$anchor": "a", "allOf": [{ "$ref": "#a" }] }),
        json!({ "$id": "http://a/b", "allOf": [{ "$ref": "b" }] }),
        json!({ "$schema": DRAFT_2019, "$recursiveRef": "#" }),
        json!({ "$schema": DRAFT_2019, "$recursiveAnchor": true, "anyOf": [{ "$recursiveRef": "#" }] }),
        json!({ "x-mine": { "allOf": [{ "$ref": "#/x-mine" }] }, "$ref": "#/x-mine" }),
    ] {
        check(&schema, &json!({ "a": [1] }), "refused: EndlessReference");
    }
    // One that no value ever comes to is nobody's trouble.
    check(&json!({ "$defs": { "a": { "$ref": "#/$defs/a" } } }), &json!(1), "valid");
}

#[test]
fn recursion_into_the_value_is_what_recursion_is_for() {
    let tree = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "children": { "type": "array", "items": { "$ref": "#" } } },
        "required": ["name"],
        "additionalProperties": false,
    });
    let grow = |depth: usize, width: usize| {
        (0..depth).fold(json!({ "name": "leaf" }), |inner, _| json!({ "name": "n", "children": vec![inner; width] }))
    };
    check(&tree, &grow(40, 1), "valid");
    check(&tree, &grow(10, 2), "valid");
    check(&tree, &json!({ "name": "n", "children": [grow(20, 1), { "name": 1 }] }), "invalid");
    check(&tree, &grow(60, 1), "not checked: TooDeep");
    let json_value = json!({ "$defs": { "json": { "anyOf": [
        { "type": ["null", "boolean", "number", "string"] },
        { "type": "array", "items": { "$ref": "#/$defs/json" } },
        { "type": "object", "additionalProperties": { "$ref": "#/$defs/json" } },
    ] } }, "$ref": "#/$defs/json" });
    check(&json_value, &grow(20, 1), "valid");
    check(&json_value, &grow(12, 2), "valid");
    check(&json_value, &arrays(70), "not checked: TooDeep");
}

#[test]
fn fans_under_recursion_are_refused_by_their_steps() {
    let fan = |keyword: &str| {
        json!({ "$defs": { "n": { keyword: [
        { "type": "array", "items": { "$ref": "#/$defs/n" } },
        { "minItems": 1, "items": { "$ref": "#/$defs/n" } },
        { "additionalProperties": { "$ref": "#/$defs/n" } },
        { "type": "string" },
    ] } }, "$ref": "#/$defs/n" })
    };
    for keyword in ["allOf", "anyOf", "oneOf"] {
        check(&fan(keyword), &arrays(40), "not checked: TooCostly");
        check(&fan(keyword), &objects(8, "a"), if keyword == "anyOf" { "valid" } else { "invalid" });
    }
    check(&fan("anyOf"), &arrays(12), "valid");
}

#[test]
fn deep_schemas_are_compiled_in_little_stack_or_refused() {
    type Wrap = fn(Value) -> Value;
    let wraps: [(Wrap, usize); 13] = [
        (|inner| json!({ "not": inner }), 48),
        (|inner| json!({ "items": inner }), 48),
        (|inner| json!({ "contains": inner }), 48),
        (|inner| json!({ "if": true, "then": inner }), 48),
        (|inner| json!({ "propertyNames": inner }), 48),
        (|inner| json!({ "allOf": [inner] }), 47),
        (|inner| json!({ "anyOf": [inner] }), 47),
        (|inner| json!({ "oneOf": [inner] }), 47),
        (|inner| json!({ "properties": { "a": inner } }), 47),
        (|inner| json!({ "additionalProperties": inner }), 24),
        (|inner| json!({ "unevaluatedItems": inner }), 23),
        (|inner| json!({ "unevaluatedProperties": inner }), 15),
        (|inner| json!({ "allOf": [inner], "unevaluatedProperties": false }), 14),
    ];
    const DRAFTS: [&str; 3] = [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-07/schema#",
        "https://json-schema.org/draft/2019-09/schema",
    ];
    for (wrap, deepest) in wraps {
        for depth in [deepest, 60, 90] {
            let mut schema = nest(depth, wrap);
            for draft in DRAFTS {
                schema["$schema"] = json!(draft);
                let text = schema.to_string();
                with_little_stack(move || {
                    for instance in ["1", "[[[[[1]]]]]", r#"{"a":{"a":{"a":1}}}"#] {
                        drop(judge(&text, instance));
                    }
                });
            }
            schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
            for instance in [arrays(depth), objects(depth, "a")] {
                let texts = (schema.to_string(), instance.to_string());
                let found = with_little_stack(move || judge(&texts.0, &texts.1));
                assert_eq!(found == "refused: TooDeep", deepest < depth, "{found} at {depth}: {schema}");
            }
        }
    }
    check(&chain(2000, |part| part), &json!(1), "refused: TooDeep");
    check(&chain(150, |part| part), &json!(1), "invalid");
    check(&chain(60, |part| nest(3, |_| json!({ "allOf": [part] }))), &json!(1), "invalid");
    for depth in [4, 8, 40] {
        let deep = chain(20, |part| (0..depth).fold(part, |inner, _| json!({ "items": inner })));
        check(&deep, &json!(1), if depth == 4 { "valid" } else { "refused: TooDeep" });
    }
}

#[test]
fn many_resources_are_one_schema() {
    // What the evaluator would compile in 3 seconds for 13, and in hours for 25.
    let mut definitions = Map::new();
    for index in 0..=25 {
        for name in ["a", "b"] {
            let part = |to: &str| json!({ "$ref": format!("http://x/{to}{}", index + 1) });
            let rest = if index == 25 { json!([]) } else { json!([part("a"), part("b")]) };
            definitions.insert(
                format!("{name}{index}"),
                json!({ "$id": format!("http://x/{name}{index}"), "items": { "anyOf": rest } }),
            );
        }
    }
    for name in ["a25", "b25"] {
        definitions[name]["items"] = json!({ "type": "string" });
    }
    let schema = json!({ "$id": "http://x/root", "$defs": definitions, "$ref": "http://x/a1" });
    check(&schema, &arrays(3), "valid");
    check(&schema, &arrays(30), "not checked: TooCostly");
}

#[test]
fn large_keywords_are_judged_or_refused_by_their_steps() {
    let numbers = |n: u32| Value::Array((0..n).map(Value::from).collect());
    let objects = |n: usize, by: usize| Value::Array((0..n).map(|k| json!({ "k": k, "z": [k + by] })).collect());
    check(&json!({ "uniqueItems": true }), &numbers(100_000), "valid");
    check(&json!({ "uniqueItems": true }), &objects(30_000, 0), "valid");
    check(&json!({ "uniqueItems": true }), &Value::Array(trees(7)), "valid");
    check(&json!({ "uniqueItems": true }), &Value::Array(trees(10)), "not checked: TooCostly");
    let large: Vec<u64> = (0..20_000).map(|k| u64::MAX - k).collect();
    check(&json!({ "uniqueItems": true }), &json!(large), "not checked: TooCostly");
    check(&json!({ "enum": objects(5_000, 0) }), &json!({ "k": 1, "z": [1] }), "valid");
    check(&json!({ "items": { "enum": objects(3_000, 0) } }), &objects(3_000, 1), "not checked: TooCostly");
    check(&json!({ "items": { "enum": objects(100, 0) } }), &objects(1_000, 1), "invalid");
    check(
        &json!({ "items": { "uniqueItems": true, "items": { "uniqueItems": true } } }),
        &json!([numbers(50_000)]),
        "valid",
    );
    check(&json!({ "properties": { "a": false }, "required": vec!["x"; 3] }), &json!({}), "refused: NotASchema");
    let required: Vec<_> = (0..20_000).map(|k| format!("r{k}")).collect();
    check(&json!({ "items": { "required": required } }), &json!(vec![json!({}); 50]), "invalid");
    check(&json!({ "items": { "required": required } }), &json!(vec![json!({}); 1000]), "not checked: TooCostly");
    let all: Vec<_> = (0..10_000).map(|k| json!({ "minimum": k })).collect();
    check(&json!({ "allOf": all }), &json!(-1), "invalid");
    check(&json!({ "items": { "anyOf": all } }), &json!(vec![-1; 50]), "invalid");
    check(&json!({ "items": { "anyOf": all } }), &json!(vec![-1; 1000]), "not checked: TooCostly");
}

#[test]
fn errors_do_not_copy_a_value_many_times() {
    // Each branch that fails keeps a copy of what it failed on.
    let branches: Vec<_> = (0..2_000).map(|k| json!({ "required": [format!("r{k}")] })).collect();
    let wide: Map<_, _> = (0..40_000).map(|k| (format!("k{k}"), json!(k))).collect();
    check(&json!({ "anyOf": branches }), &Value::Object(wide.clone()), "invalid");
    check(&nest(40, |inner| json!({ "anyOf": [inner] })), &Value::Object(wide.clone()), "invalid");
    // A long name is in the place of each error below it.
    let long = "n".repeat(200_000);
    let below: Vec<_> = (0..50_000).collect();
    check(&json!({ "additionalProperties": { "items": { "type": "string" } } }), &json!({ long: below }), "invalid");
    check(&json!({ "additionalProperties": false }), &Value::Object(wide), "invalid");
}

#[test]
fn long_names_in_a_schema_are_not_written_many_times() {
    let parts: Vec<_> = (0..5_000).map(|_| json!({ "type": "string" })).collect();
    check(&json!({ "properties": { "n".repeat(100_000): { "allOf": parts } } }), &json!({}), "refused: TooCostly");
    let name = "n".repeat(100_000);
    let parts: Vec<_> = (0..500).map(|_| json!({ "$ref": "#a" })).collect();
    let schema = json!({ "allOf": parts, "$defs": { name: { "$anchor": "a", "type": "string" } } });
    check(&schema, &json!({}), "refused: TooCostly");
}

#[test]
fn what_the_evaluator_would_compare_with_all_is_refused() {
    let properties = |n: usize| (0..n).map(|k| (format!("p{k}"), json!(true))).collect::<Map<_, _>>();
    let names = |n: usize| (0..n).map(|k| format!("p{k}")).collect::<Vec<_>>();
    let wide = |n: usize| json!({ "properties": properties(n), "required": names(n), "additionalProperties": false });
    check(&wide(1_000), &json!({}), "invalid");
    check(&wide(10_000), &json!({}), "refused: TooCostly");
    let merged = |n: usize| {
        let part = json!({ "$ref": "#/$defs/a" });
        json!({ "$defs": { "a": { "properties": properties(n) } }, "allOf": vec![part; n / 4] })
    };
    check(&merged(100), &json!({ "p1": 1 }), "valid");
    check(&merged(2_000), &json!({ "p1": 1 }), "refused: TooCostly");
    let told_apart = |n: usize| {
        let mut schema = chain(n, |part| json!({ "allOf": vec![part; 12] }));
        schema["anyOf"] = json!([{ "$ref": "#/$defs/a0" }, { "type": "null" }, { "type": "string" }]);
        schema
    };
    check(&told_apart(3), &json!("x"), "valid");
    check(&told_apart(6), &json!("x"), "refused: TooCostly");
    let patterns = |n: usize| (0..n).map(|k| (format!("^(p|q{k})*$"), json!(true))).collect::<Map<_, _>>();
    let matched = |n: usize| json!({ "properties": properties(n), "patternProperties": patterns(n / 100), "additionalProperties": false });
    check(&matched(1_000), &json!({ "p1": 1 }), "valid");
    check(&matched(10_000), &json!({ "p1": 1 }), "refused: TooCostly");
}
