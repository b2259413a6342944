//! What is kept of an outline, to know what judging a value would cost.

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::bounds::is_unrolled;
use crate::keyword::How;
use crate::limit::MAX_STEPS_DEEP;
use crate::outline::{Outline, Subschema};
use crate::pattern::Patterns;

/// The subschemas of a schema by index, the schema itself first.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) nodes: Vec<Node>,
    /// The longest way through references that an error may have to tell, in bytes.
    pub(crate) way_bytes: u64,
    pub(crate) has_unevaluated: bool,
}

/// One subschema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) in_place: Vec<(How, usize)>,
    pub(crate) properties: HashMap<Box<str>, usize>,
    /// What applies to each member of an object.
    pub(crate) members: Vec<(How, usize)>,
    /// What applies to each name in an object.
    pub(crate) names: Vec<usize>,
    /// What applies to the first items of an array, one by one.
    pub(crate) prefix: Vec<usize>,
    /// What applies to each item of an array.
    pub(crate) items: Vec<(How, usize)>,
    /// Has any of these five, so that the members or items are gone through.
    pub(crate) has_parts_below: bool,
    /// Has `unevaluatedProperties` or `unevaluatedItems`.
    pub(crate) is_unrolled: bool,
    /// How many keywords can fail; each required name is one.
    pub(crate) n_keywords: u64,
    /// The size of `enum` and `const`, in steps.
    pub(crate) n_listed: u64,
    /// The steps of matching a byte of a text, and a byte of each name.
    pub(crate) n_text: u64,
    pub(crate) n_name: u64,
    /// Has `uniqueItems`.
    pub(crate) is_unique: bool,
    pub(crate) pointer_bytes: u64,
    /// What an error keeps of the schema, in bytes.
    pub(crate) kept_bytes: u64,
}

impl Plan {
    pub(crate) fn new(outline: &Outline<'_>, patterns: &Patterns<'_>) -> Self {
        let references = || outline.subschemas.iter().filter(|subschema| !subschema.references.is_empty());
        // A way is made of the pieces between references, and the pieces are no longer than the whole pointers.
        let longest = references().map(|subschema| subschema.pointer.len() + "/$dynamicRef".len()).max();
        let n_pieces = references().count().min(MAX_STEPS_DEEP);
        Self {
            nodes: outline.subschemas.iter().map(|subschema| Node::new(subschema, patterns)).collect(),
            way_bytes: (longest.unwrap_or(0) * n_pieces) as u64,
            has_unevaluated: outline.subschemas.iter().any(is_unrolled),
        }
    }
}

impl Node {
    fn new(subschema: &Subschema<'_>, patterns: &Patterns<'_>) -> Self {
        let mut node = Self {
            is_unrolled: is_unrolled(subschema),
            pointer_bytes: subschema.pointer.len() as u64,
            ..Self::default()
        };
        for part in &subschema.parts {
            match part.how {
                How::Held => {}
                How::Property => {
                    node.properties.insert(part.name.into(), part.index);
                }
                How::PatternProperty => {
                    if !patterns.is_ignored(part.name) {
                        node.n_name += patterns.steps_a_byte(part.name);
                        node.members.push((part.how, part.index));
                    }
                }
                How::AdditionalProperties | How::UnevaluatedProperties => {
                    node.members.push((part.how, part.index));
                }
                How::PropertyNames => node.names.push(part.index),
                How::PrefixItem => node.prefix.push(part.index),
                How::Items | How::Contains | How::UnevaluatedItems => node.items.push((part.how, part.index)),
                how => node.in_place.push((how, part.index)),
            }
        }
        node.has_parts_below = subschema.parts.iter().any(|part| !part.how.is_in_place() && part.how != How::Held);
        if let Value::Object(members) = subschema.value {
            node.read(members, patterns);
        }
        node
    }

    /// Reads the keywords that hold no subschemas.
    fn read(&mut self, members: &Map<String, Value>, patterns: &Patterns<'_>) {
        self.n_keywords = members.len() as u64;
        for (keyword, value) in members {
            match (keyword.as_str(), value) {
                ("required", Value::Array(names)) => self.n_keywords += names.len() as u64,
                ("dependentRequired" | "dependencies", Value::Object(lists)) => {
                    let names = lists.values().filter_map(Value::as_array).map(Vec::len).sum::<usize>();
                    self.n_keywords += (lists.len() + names) as u64;
                }
                ("enum" | "const", _) => self.n_listed += size(value).0,
                ("pattern", Value::String(pattern)) => {
                    self.n_text += patterns.steps_a_byte(pattern);
                    self.kept_bytes += pattern.len() as u64;
                }
                ("not", _) => self.kept_bytes += size(value).1,
                ("uniqueItems", Value::Bool(true)) => self.is_unique = true,
                _ => {}
            }
        }
    }
}

/// The steps of comparing something with a value, and its memory in bytes.
pub(crate) fn size(value: &Value) -> (u64, u64) {
    let sum = |sizes: &mut dyn Iterator<Item = (u64, u64)>| {
        sizes
            .fold((1, VALUE_BYTES), |(steps, bytes), (more_steps, more_bytes)| (steps + more_steps, bytes + more_bytes))
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => (1, VALUE_BYTES),
        Value::String(text) => text_size(text),
        Value::Array(items) => sum(&mut items.iter().map(size)),
        Value::Object(members) => sum(&mut members.iter().map(|(name, value)| {
            let ((name_steps, name_bytes), (steps, bytes)) = (text_size(name), size(value));
            (name_steps + steps, name_bytes + bytes)
        })),
    }
}

/// The same for a text.
pub(crate) fn text_size(text: &str) -> (u64, u64) {
    (1 + text.len() as u64 / 16, VALUE_BYTES + text.len() as u64)
}

/// The memory of one value or one name, without its text.
const VALUE_BYTES: u64 = 72;
