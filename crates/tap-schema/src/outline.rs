//! Which subschemas a schema has, what they apply to, and where its references lead.
//!
//! The outline is made once a schema, from the text as it is. Everything else reads it: `bounds.rs` refuses by it,
//! `rewrite.rs` writes the schema that the evaluator gets, and `plan.rs` keeps of it what `cost.rs` needs.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use jsonschema::{Draft, Uri};
use serde_json::{Map, Value};

use crate::error::{SchemaError, shorten};
use crate::keyword::{How, Shape, reference_stands_alone, shape};
use crate::limit::MAX_LOCATION_BYTES;
use crate::reference;

/// The subschemas of one schema. The first is the schema itself.
#[derive(Debug)]
pub(crate) struct Outline<'a> {
    pub(crate) dialect: Draft,
    pub(crate) subschemas: Vec<Subschema<'a>>,
    by_address: HashMap<*const Value, usize>,
    resources: Vec<Resource<'a>>,
    by_uri: HashMap<Uri<String>, usize>,
    location_bytes: usize,
}

/// One subschema.
#[derive(Debug)]
pub(crate) struct Subschema<'a> {
    pub(crate) value: &'a Value,
    /// Where it is in the schema, as a JSON Pointer.
    pub(crate) pointer: String,
    /// The subschemas that it holds, and the targets of its references.
    pub(crate) parts: Vec<Part<'a>>,
    pub(crate) references: Vec<Reference<'a>>,
    /// Whether a value can ever be judged by it: it is the schema, or applied by one that is reached.
    pub(crate) is_reached: bool,
    resource: usize,
}

/// A subschema, and how it applies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    pub(crate) how: How,
    pub(crate) index: usize,
    /// The name or pattern that a map of subschemas has it under.
    pub(crate) name: &'a str,
}

/// A reference of a subschema.
#[derive(Debug)]
pub(crate) struct Reference<'a> {
    pub(crate) keyword: &'static str,
    pub(crate) target: Result<usize, SchemaError>,
    text: &'a str,
}

/// A subschema with a URI of its own, or the whole schema.
#[derive(Debug)]
struct Resource<'a> {
    root: usize,
    uri: Option<Uri<String>>,
    anchors: HashMap<&'a str, Anchor>,
}

#[derive(Debug, Clone, Copy)]
struct Anchor {
    index: usize,
    is_dynamic: bool,
}

impl<'a> Outline<'a> {
    /// Reads the whole schema.
    pub(crate) fn new(schema: &'a Value, dialect: Draft) -> Result<Self, SchemaError> {
        let root = Resource { root: 0, uri: reference::default_base(), anchors: HashMap::new() };
        let mut outline = Self {
            dialect,
            subschemas: Vec::new(),
            by_address: HashMap::new(),
            resources: vec![root],
            by_uri: HashMap::new(),
            location_bytes: 0,
        };
        outline.add(schema, String::new(), 0)?;
        // Targets outside of all known keywords are subschemas too, and may have references of their own.
        let mut next = 0;
        while next < outline.subschemas.len() {
            outline.resolve_references(next)?;
            next += 1;
        }
        outline.reach()?;
        Ok(outline)
    }

    /// The subschema at this very place in memory.
    pub(crate) fn find(&self, value: &'a Value) -> Option<&Subschema<'a>> {
        self.by_address.get(&std::ptr::from_ref(value)).map(|&index| &self.subschemas[index])
    }

    /// Adds a subschema and all that it holds.
    fn add(&mut self, value: &'a Value, pointer: String, resource: usize) -> Result<usize, SchemaError> {
        let index = self.subschemas.len();
        match self.by_address.entry(std::ptr::from_ref(value)) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(entry) => entry.insert(index),
        };
        let n_keywords = value.as_object().map_or(0, Map::len);
        self.locate(pointer.len() * (n_keywords + 1))?;
        self.subschemas.push(Subschema {
            value,
            pointer,
            parts: Vec::new(),
            references: Vec::new(),
            is_reached: false,
            resource,
        });
        if let Value::Object(members) = value {
            self.add_members(index, members)?;
        }
        Ok(index)
    }

    fn locate(&mut self, n_bytes: usize) -> Result<(), SchemaError> {
        self.location_bytes += n_bytes;
        if MAX_LOCATION_BYTES < self.location_bytes { Err(SchemaError::TooCostly) } else { Ok(()) }
    }

    fn add_members(&mut self, index: usize, members: &'a Map<String, Value>) -> Result<(), SchemaError> {
        let text = |keyword| members.get(keyword).and_then(Value::as_str);
        let stands_alone = reference_stands_alone(self.dialect) && text("$ref").is_some();
        if !stands_alone {
            self.name(index, members)?;
        }
        for (keyword, references) in [
            ("$ref", true),
            ("$dynamicRef", self.dialect == Draft::Draft202012),
            ("$recursiveRef", self.dialect == Draft::Draft201909),
        ] {
            if let Some(text) = text(keyword).filter(|_| references) {
                let target = Err(SchemaError::UnresolvedReference { reference: shorten(text) });
                self.subschemas[index].references.push(Reference { keyword, target, text });
            }
        }
        for (keyword, value) in members {
            let how = |how| if stands_alone { How::Held } else { how };
            match (shape(keyword), value) {
                (Some(Shape::One(applies)), _) => self.add_part(index, how(applies), &[keyword], value)?,
                (Some(Shape::List(applies)), Value::Array(values)) => {
                    self.add_list(index, how(applies), keyword, values)?;
                }
                (Some(Shape::OneOrPrefix), Value::Array(values)) => {
                    self.add_list(index, how(How::PrefixItem), keyword, values)?;
                }
                (Some(Shape::OneOrPrefix), _) => self.add_part(index, how(How::Items), &[keyword], value)?,
                (Some(Shape::Map(applies)), Value::Object(values)) => {
                    // In `dependencies`, a list has names.
                    for (name, value) in values.iter().filter(|(_, value)| !value.is_array()) {
                        self.add_part(index, how(applies), &[keyword, name], value)?;
                    }
                }
                // Whatever else stands there, the meta-schema has its own opinion on it.
                (Some(Shape::List(_) | Shape::Map(_)) | None, _) => {}
            }
        }
        Ok(())
    }

    fn add_list(&mut self, index: usize, how: How, keyword: &'a str, values: &'a [Value]) -> Result<(), SchemaError> {
        for (position, value) in values.iter().enumerate() {
            let mut pointer = self.subschemas[index].pointer.clone();
            reference::push(&mut pointer, keyword);
            reference::push(&mut pointer, &position.to_string());
            let resource = self.subschemas[index].resource;
            let part = Part { how, index: self.add(value, pointer, resource)?, name: "" };
            self.subschemas[index].parts.push(part);
        }
        Ok(())
    }

    fn add_part(&mut self, index: usize, how: How, names: &[&'a str], value: &'a Value) -> Result<(), SchemaError> {
        let mut pointer = self.subschemas[index].pointer.clone();
        for name in names {
            reference::push(&mut pointer, name);
        }
        let resource = self.subschemas[index].resource;
        let name = names.get(1).copied().unwrap_or_default();
        let part = Part { how, index: self.add(value, pointer, resource)?, name };
        self.subschemas[index].parts.push(part);
        Ok(())
    }

    /// Notes the URI, the anchors and the dialect that a subschema gives itself.
    fn name(&mut self, index: usize, members: &'a Map<String, Value>) -> Result<(), SchemaError> {
        let text = |keyword| members.get(keyword).and_then(Value::as_str);
        if let Some(uri) = text("$schema").filter(|uri| Draft::from_schema_uri(uri) != self.dialect) {
            return Err(SchemaError::UnknownDialect { uri: shorten(uri) });
        }
        let (uri, fragment) = reference::split(text(self.dialect.id_keyword()).unwrap_or_default());
        if !uri.is_empty() {
            let outer = self.subschemas[index].resource;
            let base = self.resources[outer].uri.as_ref();
            let uri = base.and_then(|base| reference::resolve(base, uri));
            let resource = if index == 0 { 0 } else { self.resources.len() };
            if let Some(uri) = &uri {
                self.by_uri.entry(uri.clone()).or_insert(resource);
            }
            if index == 0 {
                self.resources[0].uri = uri;
            } else {
                self.resources.push(Resource { root: index, uri, anchors: HashMap::new() });
            }
            self.subschemas[index].resource = resource;
        }
        let is_modern = Draft::Draft201909 <= self.dialect;
        let anchors = [
            (Some(fragment).filter(|_| !is_modern), false),
            (text("$anchor").filter(|_| is_modern), false),
            (text("$dynamicAnchor").filter(|_| self.dialect == Draft::Draft202012), true),
        ];
        let resource = &mut self.resources[self.subschemas[index].resource];
        for (anchor, is_dynamic) in anchors {
            if let Some(anchor) = anchor.filter(|anchor| !anchor.is_empty()) {
                resource.anchors.entry(anchor).or_insert(Anchor { index, is_dynamic });
            }
        }
        Ok(())
    }

    fn resolve_references(&mut self, index: usize) -> Result<(), SchemaError> {
        for at in 0..self.subschemas[index].references.len() {
            let Reference { keyword, text, .. } = self.subschemas[index].references[at];
            let target = match keyword {
                "$recursiveRef" => self.resolve_recursive(index, text),
                _ => self.resolve(index, keyword, text)?,
            };
            if let Ok(target) = target {
                // `rewrite.rs` writes the place of the target instead of the reference.
                self.locate(self.subschemas[target].pointer.len())?;
            }
            self.subschemas[index].references[at].target = target;
        }
        Ok(())
    }

    /// Where a reference leads. The outer error is that the target takes too much.
    fn resolve(&mut self, index: usize, keyword: &str, text: &str) -> Result<Result<usize, SchemaError>, SchemaError> {
        let unresolved = || SchemaError::UnresolvedReference { reference: shorten(text) };
        let (uri, fragment) = reference::split(text);
        let mut resource = self.subschemas[index].resource;
        if !uri.is_empty() {
            let base = self.resources[resource].uri.as_ref();
            let Some(uri) = base.and_then(|base| reference::resolve(base, uri)) else {
                return Ok(Err(unresolved()));
            };
            resource = match self.by_uri.get(&uri) {
                Some(&known) => known,
                None => return Ok(Err(SchemaError::ExternalReference { uri: shorten(uri.as_str()) })),
            };
        }
        let fragment = reference::decode(fragment);
        let root = self.resources[resource].root;
        if fragment.is_empty() {
            return Ok(Ok(root));
        }
        if fragment.starts_with('/') {
            let Some(value) = reference::follow(self.subschemas[root].value, &fragment) else {
                return Ok(Err(unresolved()));
            };
            if let Some(&known) = self.by_address.get(&std::ptr::from_ref(value)) {
                return Ok(Ok(known));
            }
            let pointer = format!("{}{fragment}", self.subschemas[root].pointer);
            return self.add(value, pointer, resource).map(Ok);
        }
        let Some(&Anchor { index, is_dynamic }) = self.resources[resource].anchors.get(&*fragment) else {
            return Ok(Err(unresolved()));
        };
        let is_dynamic_in =
            |resource: &Resource<'_>| resource.anchors.get(&*fragment).is_some_and(|anchor| anchor.is_dynamic);
        let n_dynamic = self.resources.iter().filter(|resource| is_dynamic_in(resource)).count();
        if keyword == "$dynamicRef" && is_dynamic && 1 < n_dynamic {
            return Ok(Err(SchemaError::DynamicReference { reference: shorten(text) }));
        }
        Ok(Ok(index))
    }

    /// `$recursiveRef` is `#` by its meta-schema, and means the outermost resource that says so.
    fn resolve_recursive(&self, index: usize, text: &str) -> Result<usize, SchemaError> {
        let is_recursive = |resource: &Resource<'_>| {
            self.subschemas[resource.root].value.get("$recursiveAnchor") == Some(&Value::Bool(true))
        };
        let resource = &self.resources[self.subschemas[index].resource];
        let n_recursive = self.resources.iter().filter(|resource| is_recursive(resource)).count();
        if is_recursive(resource) && 1 < n_recursive {
            return Err(SchemaError::DynamicReference { reference: shorten(text) });
        }
        Ok(resource.root)
    }

    /// Finds what is reached, and adds the targets of its references to its parts.
    ///
    /// A reference that is never followed may lead wherever it likes.
    fn reach(&mut self) -> Result<(), SchemaError> {
        let mut found = vec![0];
        while let Some(index) = found.pop() {
            let subschema = &mut self.subschemas[index];
            if std::mem::replace(&mut subschema.is_reached, true) {
                continue;
            }
            if 1 < subschema.references.len() {
                // `rewrite.rs` has one place for a reference.
                return Err(SchemaError::DynamicReference { reference: shorten(subschema.references[1].text) });
            }
            for reference in &subschema.references {
                let index = reference.target.clone()?;
                subschema.parts.push(Part { how: How::Reference, index, name: "" });
            }
            found.extend(subschema.parts.iter().filter(|part| part.how != How::Held).map(|part| part.index));
        }
        Ok(())
    }
}
