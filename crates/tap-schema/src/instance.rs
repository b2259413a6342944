//! A value as a list of its parts, so that each has a number.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use crate::plan::{size, text_size};

/// The parts of a value; the value itself is the last.
#[derive(Debug, Default)]
pub(crate) struct Instance<'a> {
    pub(crate) parts: Vec<Part<'a>>,
}

/// A part of a value, or a name in it.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    pub(crate) content: Content<'a>,
    /// The steps of comparing it.
    pub(crate) n_steps: u64,
    /// Its memory, in bytes.
    pub(crate) bytes: u64,
    /// The length of its JSON Pointer, in bytes.
    pub(crate) pointer_bytes: u64,
    /// How many items, members or names it has, and what the names come to, in bytes.
    pub(crate) n_children: u64,
    pub(crate) n_name_bytes: u64,
    /// A sum over the names and scalars in it, whatever their order and nesting.
    mixture: u64,
}

/// What a part is made of.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// `null`, a boolean or a number.
    Plain,
    Text(&'a str),
    Array(Vec<usize>),
    Object(Vec<Member<'a>>),
}

/// A member of an object: its name, the part for its name and the part for its value.
#[derive(Debug)]
pub(crate) struct Member<'a> {
    pub(crate) name: &'a str,
    pub(crate) name_part: usize,
    pub(crate) value: usize,
}

impl<'a> Instance<'a> {
    pub(crate) fn new(value: &'a Value) -> Self {
        let mut instance = Self::default();
        instance.add(value, 0);
        instance
    }

    /// The whole value.
    pub(crate) fn root(&self) -> usize {
        self.parts.len().saturating_sub(1)
    }

    /// The steps of finding two equal items in an array.
    ///
    /// The evaluator compares up to 15 items with each other. It puts more of them into a hash set, with a hash that does
    /// not see how they are nested, nor the last bits of a large number: `[[],[]]` and `[[[]]]` collide, and are compared.
    pub(crate) fn steps_of_uniqueness(&self, part: usize) -> u64 {
        let Content::Array(items) = &self.parts[part].content else {
            return 0;
        };
        let n_steps = self.parts[part].n_steps;
        if items.len() <= 15 {
            return n_steps * 16;
        }
        let mut alike: HashMap<u64, (u64, u64)> = HashMap::new();
        for &item in items {
            let (n_items, largest) = alike.entry(self.parts[item].mixture).or_default();
            *n_items += 1;
            *largest = self.parts[item].n_steps.max(*largest);
        }
        let compared = alike.values().map(|&(n_items, largest)| (n_items - 1).saturating_mul(n_items) / 2 * largest);
        compared.fold(n_steps * 4, u64::saturating_add)
    }

    fn add(&mut self, value: &'a Value, pointer_bytes: u64) -> usize {
        let mut mixture = 0_u64;
        let (content, n_steps, bytes) = match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                let (n_steps, bytes) = size(value);
                mixture = match value.as_f64() {
                    // As the evaluator compares them, -0.0 is 0.
                    Some(number) => hash(&(number + 0.0).to_bits()),
                    None => hash(&value.as_bool()),
                };
                (Content::Plain, n_steps, bytes)
            }
            Value::String(text) => {
                let (n_steps, bytes) = text_size(text);
                mixture = hash(text);
                (Content::Text(text), n_steps, bytes)
            }
            Value::Array(items) => {
                // An index in a pointer has six digits at most.
                let items: Vec<_> = items.iter().map(|item| self.add(item, pointer_bytes + 7)).collect();
                let (n_steps, bytes) = self.sum(items.iter().copied());
                (Content::Array(items), n_steps, bytes)
            }
            Value::Object(members) => {
                let mut parts = Vec::with_capacity(members.len());
                for (name, value) in members {
                    // Escaped, a name can be twice as long.
                    let pointer_bytes = pointer_bytes + 1 + 2 * name.len() as u64;
                    let name_part = self.add_name(name, pointer_bytes);
                    let value = self.add(value, pointer_bytes);
                    parts.push(Member { name, name_part, value });
                }
                let (n_steps, bytes) = self.sum(parts.iter().flat_map(|member| [member.name_part, member.value]));
                (Content::Object(parts), n_steps, bytes)
            }
        };
        let (mut n_children, mut n_name_bytes) = (0, 0);
        match &content {
            Content::Plain | Content::Text(_) => {}
            Content::Array(items) => {
                n_children = items.len() as u64;
                mixture = items.iter().fold(0, |sum, &item| sum.wrapping_add(self.parts[item].mixture));
            }
            Content::Object(members) => {
                n_children = members.len() as u64;
                n_name_bytes = members.iter().map(|member| member.name.len() as u64 + 1).sum();
                let parts = members.iter().flat_map(|member| [member.name_part, member.value]);
                mixture = parts.fold(0, |sum, part| sum.wrapping_add(self.parts[part].mixture));
            }
        }
        self.parts.push(Part { content, n_steps, bytes, pointer_bytes, n_children, n_name_bytes, mixture });
        self.parts.len() - 1
    }

    fn add_name(&mut self, name: &'a str, pointer_bytes: u64) -> usize {
        let (n_steps, bytes) = text_size(name);
        let (content, mixture) = (Content::Text(name), hash(name));
        self.parts.push(Part { content, n_steps, bytes, pointer_bytes, n_children: 0, n_name_bytes: 0, mixture });
        self.parts.len() - 1
    }

    fn sum(&self, parts: impl Iterator<Item = usize>) -> (u64, u64) {
        let (own_steps, own_bytes) = size(&Value::Null);
        parts.fold((own_steps, own_bytes), |(n_steps, bytes), part| {
            (n_steps + self.parts[part].n_steps, bytes + self.parts[part].bytes)
        })
    }
}

fn hash(value: &(impl Hash + ?Sized)) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
