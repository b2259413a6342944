//! The schema as the evaluator gets it: every reference is a JSON Pointer into it, and nothing has a name of its own.
//!
//! What is left out would cost the evaluator time that nobody can foresee, or make it judge what is no validity:
//!
//! - URIs and anchors: with a URI in two subschemas, the evaluator compiles each target once for every way that leads
//!   to it, of which 2,300 bytes of schema can have thousands.
//! - Patterns that cannot be matched in linear time.
//! - Content, which it would decode and parse in draft-06 and draft-07.

use serde_json::{Map, Value};

use crate::outline::{Outline, Subschema};
use crate::pattern::Patterns;
use crate::reference::to_reference;

/// Keywords of all dialects that name a subschema or its dialect, and those that have content decoded.
const LEFT_OUT: &[&str] =
    &["$schema", "$vocabulary", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "contentEncoding", "contentMediaType"];

/// Writes the schema that `outline` is the outline of.
pub(crate) fn rewrite(outline: &Outline<'_>, patterns: &Patterns<'_>) -> Value {
    outline.subschemas.first().map_or(Value::Null, |schema| copy(outline, patterns, schema.value))
}

fn copy<'a>(outline: &Outline<'a>, patterns: &Patterns<'_>, value: &'a Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(match outline.find(value) {
            Some(subschema) => copy_subschema(outline, patterns, subschema, members),
            None => members.iter().map(|(name, value)| (name.clone(), copy(outline, patterns, value))).collect(),
        }),
        Value::Array(values) => Value::Array(values.iter().map(|value| copy(outline, patterns, value)).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn copy_subschema<'a>(
    outline: &Outline<'a>,
    patterns: &Patterns<'_>,
    subschema: &Subschema<'a>,
    members: &'a Map<String, Value>,
) -> Map<String, Value> {
    let mut copied = Map::new();
    for (keyword, value) in members {
        if let Some(reference) = subschema.references.iter().find(|reference| reference.keyword == keyword) {
            // What is never reached may refer to anything.
            if let Ok(target) = reference.target {
                let reference = to_reference(&outline.subschemas[target].pointer);
                copied.insert("$ref".to_owned(), Value::String(reference));
            }
            continue;
        }
        match (keyword.as_str(), value) {
            (name, _) if LEFT_OUT.contains(&name) || name == outline.dialect.id_keyword() => {}
            ("pattern", Value::String(pattern)) if patterns.is_ignored(pattern) => {}
            ("patternProperties", Value::Object(named)) => {
                let named = named.iter().filter(|(pattern, _)| !patterns.is_ignored(pattern));
                let named = named.map(|(pattern, value)| (pattern.clone(), copy(outline, patterns, value)));
                copied.insert(keyword.clone(), Value::Object(named.collect()));
            }
            _ => {
                copied.insert(keyword.clone(), copy(outline, patterns, value));
            }
        }
    }
    copied
}
