//! What Gemini's `Schema` takes: a part of what OpenAPI 3.0 has, without references, and with texts alone in `enum`.

use super::{Finding, Rewritten, resolve, step};
use crate::tree::Tree;

/// Keywords that it takes as they are.
const TAKEN: [&str; 12] = [
    "title",
    "description",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "minProperties",
    "maxProperties",
    "default",
];

/// Keywords that say nothing about what is accepted, so that nobody misses them.
const ANNOTATIONS: [&str; 14] = [
    "$schema",
    "$id",
    "$anchor",
    "$defs",
    "definitions",
    "$comment",
    "examples",
    "example",
    "readOnly",
    "writeOnly",
    "deprecated",
    "contentEncoding",
    "contentMediaType",
    "x-mcp-header",
];

/// `format`s that it takes, by type. `format` is an annotation, so that others are left out without a word.
const FORMATS: [(&str, &str); 6] = [
    ("string", "date-time"),
    ("string", "enum"),
    ("integer", "int32"),
    ("integer", "int64"),
    ("number", "float"),
    ("number", "double"),
];

/// How many references are followed one inside another: what is recursive has an end here.
const REFERENCES: usize = 5;

/// How large a schema may become when references are replaced by what they point at, parts.
const PARTS: usize = 10_000;

struct Writer<'a> {
    whole: &'a Tree,
    findings: Vec<Finding>,
    n_parts: usize,
}

pub(super) fn rewrite(schema: &Tree, findings: Vec<Finding>) -> Rewritten {
    let mut writer = Writer { whole: schema, findings, n_parts: 0 };
    let written = writer.schema(schema, "", 0);
    // An object without properties is refused; a function without parameters is not.
    let is_empty = written.get("properties").is_none_or(|properties| properties.members().is_empty());
    Rewritten { schema: (!is_empty).then_some(written), findings: writer.findings, strict: false }
}

impl Writer<'_> {
    fn find(&mut self, place: &str, what: impl Into<String>) {
        self.findings.push(Finding { place: place.to_owned(), what: what.into() });
    }

    fn schema(&mut self, schema: &Tree, place: &str, depth: usize) -> Tree {
        self.n_parts += 1;
        let mut out = Tree::Object(Vec::new());
        if PARTS < self.n_parts || crate::tree::DEPTH < depth {
            self.find(place, "it is too large or nested too deep; the model is not told what fits here");
            return out;
        }
        if !schema.is_object() {
            if schema.is_token("false") {
                self.find(place, "that nothing fits here cannot be said");
            }
            return out;
        }
        if let Some(target) = schema.get("$ref").and_then(Tree::as_text) {
            return self.referred(schema, &target, place, depth);
        }
        let mut kinds = self.kinds(schema, place);
        for keyword in TAKEN {
            if let Some(value) = schema.get(keyword) {
                out.set(keyword, value.clone());
            }
        }
        let is_null = |kind: &String| kind == "null";
        if kinds.len() > 1 && kinds.iter().any(is_null) {
            kinds.retain(|kind| !is_null(kind));
            out.set("nullable", Tree::Token("true".into()));
        }
        let choices = self.choices(schema, place, &mut out);
        match kinds.as_slice() {
            [] => {}
            [kind] => out.set("type", Tree::text(kind)),
            several => {
                let any: Vec<Tree> = several.iter().map(|kind| self.one_kind(schema, kind, place, depth)).collect();
                out.set("anyOf", Tree::Array(any));
            }
        }
        if let [kind] = kinds.as_slice() {
            self.format(schema, kind, choices, &mut out);
            self.inside(schema, kind, place, depth, &mut out);
        }
        self.alternatives(schema, place, depth, &mut out);
        self.left_out(schema, place);
        out
    }

    /// A reference is replaced by what it points at, for there are none.
    fn referred(&mut self, schema: &Tree, target: &str, place: &str, depth: usize) -> Tree {
        let n_references = place.matches("/$ref").count();
        let Some(found) = resolve(self.whole, target) else {
            self.find(place, format!("`{target}` points at nothing here; the model is not told what fits"));
            return Tree::Object(Vec::new());
        };
        if REFERENCES <= n_references {
            self.find(place, format!("`{target}` contains itself; the model is not told what fits any deeper"));
            return Tree::Object(Vec::new());
        }
        let found = found.clone();
        let mut out = self.schema(&found, &step(place, "$ref"), depth + 1);
        for keyword in ["title", "description", "default"] {
            if let Some(value) = schema.get(keyword) {
                out.set(keyword, value.clone());
            }
        }
        let others = schema.members().iter().filter(|(key, _)| {
            key != "$ref"
                && !ANNOTATIONS.contains(&key.as_str())
                && !["title", "description", "default"].contains(&key.as_str())
        });
        for (key, _) in others.cloned().collect::<Vec<_>>() {
            self.find(place, format!("`{key}` beside a reference cannot be said; the model is not told of it"));
        }
        out
    }

    /// The types that a schema names, or that follow from what it says.
    fn kinds(&mut self, schema: &Tree, place: &str) -> Vec<String> {
        match schema.get("type") {
            Some(Tree::Array(kinds)) => return kinds.iter().filter_map(Tree::as_text).collect(),
            Some(kind) => return kind.as_text().into_iter().collect(),
            None => {}
        }
        let has = |keyword: &str| schema.get(keyword).is_some();
        if let Some(choices) = schema.get("enum")
            && choices.items().iter().all(|choice| choice.as_text().is_some())
        {
            return vec!["string".into()];
        }
        if schema.get("const").is_some_and(|only| only.as_text().is_some()) {
            return vec!["string".into()];
        }
        if ["anyOf", "oneOf", "allOf"].iter().any(|keyword| has(keyword)) {
            return Vec::new();
        }
        // A schema that says something of one type alone takes values of all others too; nobody means that.
        for (keyword, kind) in [("properties", "object"), ("items", "array")] {
            if has(keyword) {
                self.find(
                    place,
                    format!("it names no type, and `{keyword}`; the model is told of one type alone, {kind}"),
                );
                return vec![kind.into()];
            }
        }
        Vec::new()
    }

    /// `enum` and `const`. Tells whether there are any.
    fn choices(&mut self, schema: &Tree, place: &str, out: &mut Tree) -> bool {
        let only = schema.get("const").map(|only| vec![only.clone()]);
        let Some(choices) = schema.get("enum").map(|choices| choices.items().to_vec()).or(only) else {
            return false;
        };
        let (texts, others): (Vec<Tree>, Vec<Tree>) =
            choices.into_iter().partition(|choice| choice.as_text().is_some());
        let is_nullable = others.iter().all(|other| other.is_token("null"));
        if texts.is_empty() || !is_nullable {
            self.find(place, "`enum` and `const` take texts alone; the model is told of the values in no other way");
            return false;
        }
        if !others.is_empty() {
            out.set("nullable", Tree::Token("true".into()));
        }
        out.set("enum", Tree::Array(texts));
        true
    }

    fn format(&self, schema: &Tree, kind: &str, has_choices: bool, out: &mut Tree) {
        if has_choices && kind == "string" {
            return out.set("format", Tree::text("enum"));
        }
        if let Some(format) = schema.get("format").and_then(Tree::as_text)
            && FORMATS.contains(&(kind, format.as_str()))
            && format != "enum"
        {
            out.set("format", Tree::text(&format));
        }
    }

    /// What is inside an object or an array.
    fn inside(&mut self, schema: &Tree, kind: &str, place: &str, depth: usize, out: &mut Tree) {
        match kind {
            "object" => {
                let properties = schema.get("properties").map(Tree::members).unwrap_or_default().to_vec();
                if properties.is_empty() {
                    if depth > 0 {
                        self.find(place, "an object whose properties are not named may be refused");
                    }
                    return;
                }
                let written: Vec<(String, Tree)> = properties
                    .iter()
                    .map(|(name, inner)| {
                        let place = step(&step(place, "properties"), name);
                        (name.clone(), self.schema(inner, &place, depth + 1))
                    })
                    .collect();
                let order = written.iter().map(|(name, _)| Tree::text(name)).collect();
                let known =
                    |name: &Tree| name.as_text().is_some_and(|name| properties.iter().any(|(known, _)| *known == name));
                let required: Vec<Tree> = schema
                    .get("required")
                    .map(Tree::items)
                    .unwrap_or_default()
                    .iter()
                    .filter(|name| known(name))
                    .cloned()
                    .collect();
                if schema.get("required").is_some_and(|all| all.items().len() != required.len()) {
                    self.find(&step(place, "required"), "what is not among the properties cannot be required");
                }
                out.set("properties", Tree::Object(written));
                if !required.is_empty() {
                    out.set("required", Tree::Array(required));
                }
                out.set("propertyOrdering", Tree::Array(order));
            }
            "array" => {
                let place = step(place, "items");
                let items = schema.get("items").cloned().unwrap_or(Tree::Object(Vec::new()));
                let mut items = self.schema(&items, &place, depth + 1);
                if items.get("type").is_none() && items.get("anyOf").is_none() {
                    self.find(&place, "items of any type cannot be said; the model is told of texts");
                    items.set("type", Tree::text("string"));
                }
                out.set("items", items);
            }
            _ => {}
        }
    }

    /// One of several types, with what the schema says of it.
    fn one_kind(&mut self, schema: &Tree, kind: &str, place: &str, depth: usize) -> Tree {
        let mut one = Tree::object([("type", Tree::text(kind))]);
        self.inside(schema, kind, place, depth, &mut one);
        one
    }

    fn alternatives(&mut self, schema: &Tree, place: &str, depth: usize, out: &mut Tree) {
        for keyword in ["anyOf", "oneOf"] {
            let Some(choices) = schema.get(keyword) else { continue };
            if out.get("anyOf").is_some() {
                self.find(
                    place,
                    format!("`{keyword}` beside other alternatives cannot be said; the model is not told of it"),
                );
                continue;
            }
            if keyword == "oneOf" && choices.items().len() > 1 {
                self.find(place, "`oneOf` is told as `anyOf`: that but one may fit is not said");
            }
            let (nulls, others): (Vec<Tree>, Vec<Tree>) = choices
                .items()
                .iter()
                .cloned()
                .partition(|choice| choice.get("type").is_some_and(|kind| kind.is_text("null")));
            if !nulls.is_empty() {
                out.set("nullable", Tree::Token("true".into()));
            }
            let place = step(place, keyword);
            match others.as_slice() {
                [one] => {
                    let one = self.schema(one, &step(&place, "0"), depth + 1);
                    for (key, value) in one.members() {
                        if out.get(key).is_none() {
                            out.set(key, value.clone());
                        }
                    }
                }
                several => {
                    let written = several
                        .iter()
                        .enumerate()
                        .map(|(index, choice)| self.schema(choice, &step(&place, &index.to_string()), depth + 1))
                        .collect();
                    out.set("anyOf", Tree::Array(written));
                }
            }
        }
        if let Some(all) = schema.get("allOf") {
            let place = step(place, "allOf");
            for (index, part) in all.items().iter().enumerate() {
                let part = self.schema(part, &step(&place, &index.to_string()), depth + 1);
                for (key, value) in part.members() {
                    match out.get(key) {
                        None => out.set(key, value.clone()),
                        Some(there) if there == value => {}
                        Some(_) => self
                            .find(&place, format!("`{key}` is said in several parts; the model is told of the first")),
                    }
                }
            }
        }
    }

    /// What else the schema says, and this cannot.
    fn left_out(&mut self, schema: &Tree, place: &str) {
        const HANDLED: [&str; 11] =
            ["type", "enum", "const", "format", "properties", "required", "items", "anyOf", "oneOf", "allOf", "$ref"];
        let unknown: Vec<String> = schema
            .members()
            .iter()
            .map(|(key, _)| key.clone())
            .filter(|key| {
                let key = key.as_str();
                !HANDLED.contains(&key) && !TAKEN.contains(&key) && !ANNOTATIONS.contains(&key)
            })
            .collect();
        for key in unknown {
            // Others than the named ones may be left out by a model that is not told of them: that accepts the same and less.
            if key == "additionalProperties" && schema.get("properties").is_some_and(|all| !all.members().is_empty()) {
                continue;
            }
            self.find(&step(place, &key), format!("`{key}` cannot be said; the model is not told of it"));
        }
    }
}
