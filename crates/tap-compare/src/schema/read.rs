//! Reading a JSON Schema: what references lead to, which types and values it names, and when two are written alike.

use std::collections::{BTreeMap, BTreeSet};

use tap_jsonrpc::Node;

use super::DEPTH_LIMIT;
use crate::canonical::{Trails, Writer};
use crate::path::Side;
use crate::rules::Dials;

/// What a reference leads to, where that stands alone or beside a description; otherwise the schema itself.
pub(super) fn resolved<'a>(schema: Node<'a>, root: Node<'a>) -> Node<'a> {
    let mut schema = schema;
    for _ in 0..DEPTH_LIMIT {
        let says_more = |key: &str| !matches!(key, "$ref" | "title" | "description" | "default");
        match target(schema, root) {
            Some(target) if !schema.members().any(|(key, _)| says_more(&key.text())) => schema = target,
            _ => return schema,
        }
    }
    schema
}

/// What the local reference of a schema (`#/$defs/Name`) leads to.
pub(super) fn target<'a>(schema: Node<'a>, root: Node<'a>) -> Option<Node<'a>> {
    let reference = schema.get("$ref")?.text()?;
    let pointer = reference.strip_prefix("#/")?;
    pointer
        .split('/')
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .try_fold(root, |node, step| node.get(&step).or_else(|| node.elements().nth(step.parse().ok()?)))
}

pub(super) fn has_reference(node: Node<'_>) -> bool {
    node.bytes().windows(6).any(|window| window == b"\"$ref\"")
}

/// The types that a schema accepts, if it names any: by `type`, or by alternatives that are nothing but types.
pub(super) fn types(schema: Node<'_>) -> Option<BTreeSet<String>> {
    let Some(types) = schema.get("type") else {
        return types_of_alternatives(schema);
    };
    Some(names(types))
}

pub(super) fn types_of_alternatives(schema: Node<'_>) -> Option<BTreeSet<String>> {
    if schema.get("type").is_some() {
        return schema.get("anyOf").is_none().then(|| names(schema.get("type").unwrap_or(schema)));
    }
    let alternatives = schema.get("anyOf")?;
    let mut all = BTreeSet::new();
    for alternative in alternatives.elements() {
        if alternative.members().any(|(key, _)| !key.is("type") && !key.is("title") && !key.is("description")) {
            return None;
        }
        all.extend(names(alternative.get("type")?));
    }
    (!all.is_empty()).then_some(all)
}

/// A string, or the strings of a list.
pub(super) fn names(node: Node<'_>) -> BTreeSet<String> {
    node.text().into_iter().chain(node.elements().filter_map(Node::text)).map(std::borrow::Cow::into_owned).collect()
}

/// The values that `enum` or `const` allows: in one spelling, and as written.
pub(super) fn values(schema: Node<'_>) -> Option<BTreeMap<Vec<u8>, String>> {
    let as_written = |node: Node<'_>| (canonical(node), String::from_utf8_lossy(node.bytes()).into_owned());
    let constant = schema.get("const").map(|value| [as_written(value)].into());
    constant.or_else(|| schema.get("enum").map(|values| values.elements().map(as_written).collect()))
}

pub(super) fn required(schema: Node<'_>) -> BTreeSet<String> {
    schema.get("required").map(names).unwrap_or_default()
}

pub(super) fn members<'a>(schema: Node<'a>, key: &str) -> BTreeMap<String, Node<'a>> {
    schema.get(key).into_iter().flat_map(Node::members).map(|(key, value)| (key.text().into_owned(), value)).collect()
}

pub(super) fn same(a: Node<'_>, b: Node<'_>) -> bool {
    a.bytes() == b.bytes() || canonical(a) == canonical(b)
}

pub(super) fn same_or_none(a: Option<Node<'_>>, b: Option<Node<'_>>) -> bool {
    match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => same(a, b),
        _ => false,
    }
}

pub(super) fn canonical(node: Node<'_>) -> Vec<u8> {
    let dials = Dials::default();
    let mut writer = Writer::new(&dials, u64::MAX);
    writer.write(node, &Trails::start(&dials, Side::Response), 0);
    writer.out
}

/// `required +dryRun -path`.
pub(super) fn signed(key: &str, more: &[&str], gone: &[&str]) -> String {
    let more = more.iter().map(|name| format!(" +{name}"));
    let gone = gone.iter().map(|name| format!(" -{name}"));
    format!("{key}{}", more.chain(gone).collect::<String>())
}

pub(super) fn arrow(key: &str, old: Option<Node<'_>>, new: Option<Node<'_>>) -> String {
    let shown =
        |node: Option<Node<'_>>| node.map_or("none".into(), |node| String::from_utf8_lossy(node.bytes()).into_owned());
    format!("{key} {} → {}", shown(old), shown(new))
}
