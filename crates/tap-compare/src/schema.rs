//! Two JSON Schemas of a tool: does the new one still accept what the old one did, and give what the old one gave?
//!
//! What arguments may be is narrowed when who calls as before may be refused. What a result may be is widened when who reads
//! as before may meet what it does not know: the same questions with the two schemas in each other's place. Keywords are
//! those of JSON Schema 2020-12; of a keyword whose meaning is not judged here, a change is taken for breaking, and said to be
//! not judged.

mod read;

use std::collections::BTreeSet;

use tap_jsonrpc::Node;

use self::read::{
    arrow, canonical, has_reference, members, required, resolved, same, same_or_none, signed, target, types,
    types_of_alternatives, values,
};
use crate::drift::{DriftChange, DriftClass};
use crate::path::{Path, Step};

/// Schemas inside of schemas, references followed as well.
const DEPTH_LIMIT: usize = 32;

/// Subschemas that are judged of one schema.
const SUBSCHEMAS_LIMIT: usize = 2_000;

/// Which way values go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// To the server: arguments.
    Input,
    /// From the server: results.
    Output,
}

/// What changed from `a` to `b`, with paths that begin with `at`.
pub(crate) fn compare(a: Node<'_>, b: Node<'_>, direction: Direction, at: Path) -> Vec<DriftChange> {
    let definitions_differ = a.bytes() != b.bytes();
    let (roots, changes) = ((a, b), Vec::new());
    let mut judge = Judge { direction, roots, definitions_differ, path: at, changes, n_left: SUBSCHEMAS_LIMIT };
    judge.schemas(a, b, 0);
    judge.changes
}

struct Judge<'a> {
    direction: Direction,
    roots: (Node<'a>, Node<'a>),
    /// Whether what references lead to may have changed, though they are written as before.
    definitions_differ: bool,
    path: Path,
    changes: Vec<DriftChange>,
    n_left: usize,
}

/// A change as it is for who sends arguments: `true` accepts less than before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Narrower,
    Wider,
    Both,
    None,
}

impl<'a> Judge<'a> {
    fn class(&self, effect: Effect) -> DriftClass {
        match (effect, self.direction) {
            (Effect::None, _) | (Effect::Wider, Direction::Input) | (Effect::Narrower, Direction::Output) => {
                DriftClass::Compatible
            }
            _ => DriftClass::Breaking,
        }
    }

    fn tell(
        &mut self,
        key: &str,
        class: DriftClass,
        words: impl Into<String>,
        a: Option<Node<'_>>,
        b: Option<Node<'_>>,
    ) {
        let mut path = self.path.clone();
        path.0.push(Step::Member(key.to_owned()));
        let json = |node: Node<'_>| Box::from(node.bytes());
        self.changes.push(DriftChange { path, class, words: words.into(), a: a.map(json), b: b.map(json) });
    }

    fn schemas(&mut self, a: Node<'a>, b: Node<'a>, depth: usize) {
        if a.bytes() == b.bytes() && !(self.definitions_differ && has_reference(a)) {
            return;
        }
        let written = (a, b);
        let (a, b) = (resolved(a, self.roots.0), resolved(b, self.roots.1));
        if written != (a, b) {
            self.read_by_models(written.0, written.1);
        }
        if depth > DEPTH_LIMIT || self.n_left == 0 {
            if !same(a, b) {
                self.tell_here(DriftClass::Breaking, "changed too deep inside to be judged: taken as breaking", a, b);
            }
            return;
        }
        self.n_left -= 1;
        if !(a.is_object() && b.is_object()) {
            return self.booleans(a, b);
        }
        self.types(a, b);
        self.values(a, b);
        self.required(a, b);
        self.properties(a, b, depth);
        self.additional(a, b, depth);
        for key in ["items", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"] {
            self.inside(key, a, b, depth);
        }
        self.bounds(a, b);
        self.read_by_models(a, b);
        for key in ["anyOf", "oneOf"] {
            self.alternatives(key, a, b, depth);
        }
        for key in ["allOf", "prefixItems"] {
            self.one_by_one(key, a, b, depth);
        }
        // With more beside it, what a reference leads to holds as well.
        if let (Some(target_a), Some(target_b)) = (target(a, self.roots.0), target(b, self.roots.1)) {
            self.schemas(target_a, target_b, depth + 1);
        }
        self.others(a, b);
    }

    fn tell_here(&mut self, class: DriftClass, words: &str, a: Node<'_>, b: Node<'_>) {
        self.changes.push(DriftChange {
            path: self.path.clone(),
            class,
            words: words.into(),
            a: Some(a.bytes().into()),
            b: Some(b.bytes().into()),
        });
    }

    /// A schema that is a boolean: `true` accepts everything, `false` nothing.
    fn booleans(&mut self, a: Node<'a>, b: Node<'a>) {
        let accepts_all =
            |node: Node<'_>| node.as_bool() == Some(true) || (node.is_object() && node.members().next().is_none());
        let accepts_none = |node: Node<'_>| node.as_bool() == Some(false);
        let effect = if (accepts_all(a) && accepts_all(b)) || (accepts_none(a) && accepts_none(b)) {
            return;
        } else if accepts_all(b) || accepts_none(a) {
            Effect::Wider
        } else if accepts_all(a) || accepts_none(b) {
            Effect::Narrower
        } else {
            Effect::Both
        };
        let words = match effect {
            Effect::Wider => "accepts more",
            Effect::Narrower => "accepts less",
            _ => "changed",
        };
        self.tell_here(self.class(effect), words, a, b);
    }

    fn types(&mut self, a: Node<'a>, b: Node<'a>) {
        let (old, new) = (types(a), types(b));
        if old == new {
            return;
        }
        let is_in = |inner: &Option<BTreeSet<String>>, outer: &Option<BTreeSet<String>>| match (inner, outer) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(inner), Some(outer)) => {
                inner.iter().all(|name| outer.contains(name) || (name == "integer" && outer.contains("number")))
            }
        };
        let effect = match (is_in(&old, &new), is_in(&new, &old)) {
            (true, true) => Effect::None,
            (true, false) => Effect::Wider,
            (false, true) => Effect::Narrower,
            (false, false) => Effect::Both,
        };
        let shown = |types: &Option<BTreeSet<String>>| match types {
            None => "any".to_owned(),
            Some(types) => types.iter().cloned().collect::<Vec<_>>().join("|"),
        };
        let words = format!("type {} → {}", shown(&old), shown(&new));
        self.tell("type", self.class(effect), words, a.get("type"), b.get("type"));
    }

    /// `enum` and `const`.
    fn values(&mut self, a: Node<'a>, b: Node<'a>) {
        let (old, new) = (values(a), values(b));
        let key = if a.get("const").is_some() || b.get("const").is_some() { "const" } else { "enum" };
        let (effect, words) = match (&old, &new) {
            (None, None) => return,
            (None, Some(_)) => (Effect::Narrower, "only certain values now".to_owned()),
            (Some(_), None) => (Effect::Wider, "any value now".to_owned()),
            (Some(old), Some(new)) => {
                let gone: Vec<&str> =
                    old.iter().filter(|(key, _)| !new.contains_key(*key)).map(|(_, text)| text.as_str()).collect();
                let more: Vec<&str> =
                    new.iter().filter(|(key, _)| !old.contains_key(*key)).map(|(_, text)| text.as_str()).collect();
                let effect = match (gone.is_empty(), more.is_empty()) {
                    (true, true) => return,
                    (true, false) => Effect::Wider,
                    (false, true) => Effect::Narrower,
                    (false, false) => Effect::Both,
                };
                (effect, signed(key, &more, &gone))
            }
        };
        self.tell(key, self.class(effect), words, a.get(key), b.get(key));
    }

    fn required(&mut self, a: Node<'a>, b: Node<'a>) {
        let (old, new) = (required(a), required(b));
        let more: Vec<&str> = new.difference(&old).map(String::as_str).collect();
        let gone: Vec<&str> = old.difference(&new).map(String::as_str).collect();
        let effect = match (more.is_empty(), gone.is_empty()) {
            (true, true) => return,
            (false, true) => Effect::Narrower,
            (true, false) => Effect::Wider,
            (false, false) => Effect::Both,
        };
        self.tell(
            "required",
            self.class(effect),
            signed("required", &more, &gone),
            a.get("required"),
            b.get("required"),
        );
    }

    fn properties(&mut self, a: Node<'a>, b: Node<'a>, depth: usize) {
        let (old, new) = (members(a, "properties"), members(b, "properties"));
        self.path.0.push(Step::Member("properties".into()));
        for (name, schema) in &old {
            match new.get(name) {
                Some(other) => {
                    self.path.0.push(Step::Member(name.clone()));
                    self.schemas(*schema, *other, depth + 1);
                    self.path.0.pop();
                }
                None => {
                    let is_closed = b.get("additionalProperties").and_then(Node::as_bool) == Some(false);
                    let class = match self.direction {
                        Direction::Input if !is_closed => DriftClass::Compatible,
                        _ => DriftClass::Breaking,
                    };
                    self.tell(name, class, format!("property -{name}"), Some(*schema), None);
                }
            }
        }
        for (name, schema) in new.iter().filter(|(name, _)| !old.contains_key(*name)) {
            // Whether it has to be given is told by `required`.
            self.tell(name, DriftClass::Compatible, format!("property +{name}"), None, Some(*schema));
        }
        self.path.0.pop();
    }

    fn additional(&mut self, a: Node<'a>, b: Node<'a>, depth: usize) {
        let (old, new) = (a.get("additionalProperties"), b.get("additionalProperties"));
        let is_closed = |node: Option<Node<'_>>| node.and_then(Node::as_bool) == Some(false);
        let is_open = |node: Option<Node<'_>>| node.is_none_or(|node| node.as_bool() == Some(true));
        match (old, new) {
            _ if is_closed(old) == is_closed(new) && is_open(old) == is_open(new) => {
                if let (Some(old), Some(new)) = (old, new)
                    && old.is_object()
                    && new.is_object()
                {
                    self.path.0.push(Step::Member("additionalProperties".into()));
                    self.schemas(old, new, depth + 1);
                    self.path.0.pop();
                }
            }
            _ => {
                let effect = if is_closed(new) || is_open(old) { Effect::Narrower } else { Effect::Wider };
                // More members than before hurt nobody who reads a result.
                let class = match self.direction {
                    Direction::Input => self.class(effect),
                    Direction::Output => DriftClass::Compatible,
                };
                let words = match (is_closed(new), is_open(new)) {
                    (true, _) => "no additional properties now",
                    (_, true) => "any additional properties now",
                    _ => "additional properties of another kind",
                };
                self.tell("additionalProperties", class, words, old, new);
            }
        }
    }

    /// A keyword whose value is a schema.
    fn inside(&mut self, key: &str, a: Node<'a>, b: Node<'a>, depth: usize) {
        match (a.get(key), b.get(key)) {
            (Some(old), Some(new)) => {
                self.path.0.push(Step::Member(key.to_owned()));
                self.schemas(old, new, depth + 1);
                self.path.0.pop();
            }
            (None, Some(new)) => self.tell(key, self.class(Effect::Narrower), format!("{key} added"), None, Some(new)),
            (Some(old), None) => self.tell(key, self.class(Effect::Wider), format!("{key} removed"), Some(old), None),
            (None, None) => {}
        }
    }

    /// Bounds of numbers and lengths, and what text has to look like.
    fn bounds(&mut self, a: Node<'a>, b: Node<'a>) {
        const LOWER: [&str; 6] =
            ["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"];
        const UPPER: [&str; 6] =
            ["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"];
        for (keys, is_lower) in [(LOWER, true), (UPPER, false)] {
            for key in keys {
                let (old, new) = (a.get(key), b.get(key));
                if same_or_none(old, new) {
                    continue;
                }
                let number = |node: Node<'_>| node.as_f64();
                let effect = match (old.and_then(number), new.and_then(number)) {
                    (None, Some(_)) if old.is_none() => Effect::Narrower,
                    (Some(_), None) if new.is_none() => Effect::Wider,
                    (Some(old), Some(new)) if old != new => {
                        if (new > old) == is_lower {
                            Effect::Narrower
                        } else {
                            Effect::Wider
                        }
                    }
                    _ => Effect::Both,
                };
                self.tell(key, self.class(effect), arrow(key, old, new), old, new);
            }
        }
        for key in ["pattern", "format", "multipleOf", "contentEncoding", "contentMediaType"] {
            let (old, new) = (a.get(key), b.get(key));
            if !same_or_none(old, new) {
                let effect = match (old, new) {
                    (None, _) => Effect::Narrower,
                    (_, None) => Effect::Wider,
                    _ => Effect::Both,
                };
                self.tell(key, self.class(effect), arrow(key, old, new), old, new);
            }
        }
        let is_unique = |node: Node<'_>| node.get("uniqueItems").and_then(Node::as_bool) == Some(true);
        if is_unique(a) != is_unique(b) {
            let effect = if is_unique(b) { Effect::Narrower } else { Effect::Wider };
            let (old, new) = (a.get("uniqueItems"), b.get("uniqueItems"));
            self.tell("uniqueItems", self.class(effect), arrow("uniqueItems", old, new), old, new);
        }
    }

    fn read_by_models(&mut self, a: Node<'a>, b: Node<'a>) {
        for key in ["title", "description", "default", "examples"] {
            let (old, new) = (a.get(key), b.get(key));
            if !same_or_none(old, new) {
                let words = match (old, new) {
                    (None, _) => format!("{key} added"),
                    (_, None) => format!("{key} removed"),
                    _ => format!("{key} changed"),
                };
                self.tell(key, DriftClass::Prompt, words, old, new);
            }
        }
    }

    /// Lists of schemas of the same length, each against the one at its place. Says whether they were.
    fn one_by_one(&mut self, key: &str, a: Node<'a>, b: Node<'a>, depth: usize) -> bool {
        let list = |node: Node<'a>| node.get(key).map(|list| list.elements().collect::<Vec<_>>()).unwrap_or_default();
        let (old, new) = (list(a), list(b));
        if old.is_empty() || old.len() != new.len() {
            return false;
        }
        for (index, (old, new)) in old.into_iter().zip(new).enumerate() {
            self.path.0.extend([Step::Member(key.to_owned()), Step::Element(index)]);
            self.schemas(old, new, depth + 1);
            self.path.0.truncate(self.path.0.len() - 2);
        }
        true
    }

    fn alternatives(&mut self, key: &str, a: Node<'a>, b: Node<'a>, depth: usize) {
        let (old, new) = (a.get(key), b.get(key));
        // Told as types.
        if types_of_alternatives(a).is_some() && types_of_alternatives(b).is_some() {
            return;
        }
        let refers = self.definitions_differ && old.is_some_and(has_reference);
        if same_or_none(old, new) && !refers {
            return;
        }
        let list = |node: Option<Node<'_>>| -> BTreeSet<Vec<u8>> {
            node.into_iter().flat_map(Node::elements).map(canonical).collect()
        };
        let effect = match (old, new) {
            (None, _) => Effect::Narrower,
            (_, None) => Effect::Wider,
            _ => match (list(old).is_subset(&list(new)), list(new).is_subset(&list(old))) {
                (true, true) => Effect::None,
                (true, false) => Effect::Wider,
                (false, true) => Effect::Narrower,
                (false, false) => Effect::Both,
            },
        };
        if (refers || effect == Effect::Both) && self.one_by_one(key, a, b, depth) {
            return;
        }
        let words = match effect {
            Effect::Wider => format!("{key}: more alternatives"),
            Effect::Narrower => format!("{key}: fewer alternatives"),
            Effect::None => format!("{key}: the same alternatives in another order"),
            Effect::Both => format!("{key}: other alternatives"),
        };
        self.tell(key, self.class(effect), words, old, new);
    }

    /// Whether a keyword was judged by another way, where that could be done.
    fn is_told(&self, key: &str, a: Node<'a>, b: Node<'a>) -> bool {
        let n_elements = |node: Node<'a>| node.get(key).map_or(0, |list| list.elements().count());
        match key {
            "allOf" | "prefixItems" => n_elements(a) > 0 && n_elements(a) == n_elements(b),
            "$ref" => target(a, self.roots.0).is_some() && target(b, self.roots.1).is_some(),
            _ => false,
        }
    }

    /// What is left: keywords that say nothing about values, and those that are not judged.
    fn others(&mut self, a: Node<'a>, b: Node<'a>) {
        const JUDGED: [&str; 35] = [
            "type",
            "enum",
            "const",
            "required",
            "properties",
            "additionalProperties",
            "items",
            "contains",
            "propertyNames",
            "unevaluatedItems",
            "unevaluatedProperties",
            "minimum",
            "exclusiveMinimum",
            "minLength",
            "minItems",
            "minProperties",
            "minContains",
            "maximum",
            "exclusiveMaximum",
            "maxLength",
            "maxItems",
            "maxProperties",
            "maxContains",
            "pattern",
            "format",
            "multipleOf",
            "uniqueItems",
            "title",
            "description",
            "default",
            "examples",
            "anyOf",
            "oneOf",
            "contentEncoding",
            "contentMediaType",
        ];
        // Definitions matter where they are referred to, and that is where they are compared.
        const HARMLESS: [&str; 10] = [
            "$defs",
            "definitions",
            "$schema",
            "$id",
            "$comment",
            "$anchor",
            "deprecated",
            "readOnly",
            "writeOnly",
            "x-mcp-header",
        ];
        let keys = |node: Node<'a>| node.members().map(|(key, _)| key.text().into_owned());
        let keys: BTreeSet<String> = keys(a).chain(keys(b)).collect();
        for key in keys.iter().filter(|key| !JUDGED.contains(&key.as_str()) && !HARMLESS.contains(&key.as_str())) {
            let (old, new) = (a.get(key), b.get(key));
            let refers = self.definitions_differ && old.is_some_and(has_reference);
            if same_or_none(old, new) && !refers || self.is_told(key, a, b) {
                continue;
            }
            // A keyword that nobody knows says nothing about values.
            if matches!(key.as_str(), "allOf" | "not" | "if" | "then" | "else" | "$ref" | "$dynamicRef")
                || matches!(
                    key.as_str(),
                    "patternProperties" | "prefixItems" | "dependentRequired" | "dependentSchemas"
                )
                || matches!(key.as_str(), "dependencies" | "additionalItems" | "contentSchema")
            {
                self.tell(key, DriftClass::Breaking, format!("{key} changed: not judged, taken as breaking"), old, new);
            } else {
                self.tell(key, DriftClass::Compatible, format!("{key} changed"), old, new);
            }
        }
    }
}
