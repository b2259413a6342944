//! What OpenAI's interfaces take: JSON Schema, and whether it can be held to it (`strict`).

use super::{Finding, Rewritten, step};
use crate::tree::Tree;

/// Keywords that a strict schema must not have.
const NOT_STRICT: [&str; 10] = [
    "allOf",
    "not",
    "oneOf",
    "if",
    "then",
    "else",
    "patternProperties",
    "dependentRequired",
    "dependentSchemas",
    "unevaluatedProperties",
];

/// How deep a strict schema may be nested, and how many properties it may have.
const STRICT_DEPTH: usize = 10;
const STRICT_PROPERTIES: usize = 5_000;

pub(super) fn rewrite(mut schema: Tree, mut findings: Vec<Finding>) -> Rewritten {
    typed(&mut schema, "", &mut findings, 0);
    let mut n_properties = 0;
    let strict = findings.is_empty() && is_strict(&schema, 0, &mut n_properties) && n_properties <= STRICT_PROPERTIES;
    Rewritten { schema: Some(schema), findings, strict }
}

/// An array without `items` is refused: it gets some that take everything, which changes nothing.
fn typed(schema: &mut Tree, place: &str, findings: &mut Vec<Finding>, depth: usize) {
    if crate::tree::DEPTH < depth {
        return;
    }
    let is_array = schema
        .get("type")
        .is_some_and(|kind| kind.is_text("array") || kind.items().iter().any(|kind| kind.is_text("array")));
    if is_array && schema.get("items").is_none() {
        schema.set("items", Tree::Object(Vec::new()));
    }
    // A boolean as a schema is legal, and not everywhere taken.
    if let Tree::Object(members) = schema {
        for (key, value) in members {
            let place = step(place, key);
            match (key.as_str(), value) {
                (
                    "properties" | "$defs" | "definitions" | "patternProperties" | "dependentSchemas",
                    Tree::Object(all),
                ) => {
                    for (name, inner) in all {
                        plain(inner, &step(&place, name), findings);
                        typed(inner, &step(&place, name), findings, depth + 1);
                    }
                }
                ("anyOf" | "oneOf" | "allOf" | "prefixItems", Tree::Array(all)) => {
                    for inner in all {
                        plain(inner, &place, findings);
                        typed(inner, &place, findings, depth + 1);
                    }
                }
                ("items" | "not" | "if" | "then" | "else" | "contains", inner) if inner.is_object() => {
                    typed(inner, &place, findings, depth + 1);
                }
                ("items", inner) => plain(inner, &place, findings),
                _ => {}
            }
        }
    }
}

/// `true` as an object, which takes the same.
fn plain(schema: &mut Tree, place: &str, findings: &mut Vec<Finding>) {
    if schema.is_token("true") {
        *schema = Tree::Object(Vec::new());
    } else if schema.is_token("false") {
        *schema = Tree::Object(Vec::new());
        findings.push(Finding { place: place.to_owned(), what: "that nothing fits here cannot be said".into() });
    }
}

/// Whether a model can be held to a schema as it is: each object has all its properties, and no others.
fn is_strict(schema: &Tree, depth: usize, n_properties: &mut usize) -> bool {
    if STRICT_DEPTH < depth || NOT_STRICT.iter().any(|keyword| schema.get(keyword).is_some()) {
        return false;
    }
    // What takes everything cannot be held to.
    let says = ["type", "enum", "const", "anyOf", "$ref"];
    if !schema.is_object() || !says.iter().any(|keyword| schema.get(keyword).is_some()) {
        return false;
    }
    let kind = schema.get("type");
    if kind.is_some_and(|kind| kind.is_text("object") || kind.items().iter().any(|kind| kind.is_text("object"))) {
        let properties = schema.get("properties").map(Tree::members).unwrap_or_default();
        let required = schema.get("required").map(Tree::items).unwrap_or_default();
        let is_required = |name: &str| required.iter().any(|known| known.is_text(name));
        let is_closed = schema.get("additionalProperties").is_some_and(|more| more.is_token("false"));
        if !is_closed || !properties.iter().all(|(name, _)| is_required(name)) {
            return false;
        }
        *n_properties += properties.len();
    }
    let below = |inner: &Tree, n: &mut usize| is_strict(inner, depth + 1, n);
    let groups = ["properties", "$defs", "definitions"];
    groups.iter().all(|group| {
        schema.get(group).map(Tree::members).unwrap_or_default().iter().all(|(_, inner)| below(inner, n_properties))
    }) && schema.get("anyOf").map(Tree::items).unwrap_or_default().iter().all(|inner| below(inner, n_properties))
        && schema.get("items").is_none_or(|items| below(items, n_properties))
}
