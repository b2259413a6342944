//! What is listed as a tool.

use std::sync::Arc;

use tap_jsonrpc::Node;

use super::{Several, verdict};
use crate::machine::lists::{List, Taken, Tool};
use crate::machine::{Out, Seen};
use crate::rule::{clipped, quoted, quoted_bytes};
use crate::rules::features as rule;
use crate::state::Kept;

/// The longest name that every client takes, characters.
///
/// Source: 2025-11-25, server/tools, Tool Names.
const NAME_LIMIT: usize = 128;

/// A page of tools.
pub(in crate::machine) fn listed(list: &List<Tool>, taken: &Taken<Tool>, seen: &Seen<'_>, out: &mut Out<'_>) {
    let [mut names, mut twice, mut schemas] = <[Several; 3]>::default();
    for tool in &taken.items {
        if !is_good_name(&tool.name) {
            names.add(|| quoted(&tool.name));
        }
        if let Some(wrong) = input_schema(tool, seen) {
            schemas.add(|| format!("{}: {}", quoted(&tool.name), clipped(&wrong, 150)));
        }
    }
    for name in &taken.twice {
        twice.add(|| quoted(name));
    }
    names.tell(&rule::TOL_008, seen, out);
    if let Some(finding) = twice.tell(&rule::TOL_009, seen, out) {
        finding.others.extend(list.as_of.filter(|at| *at != seen.at()));
    }
    schemas.tell(&rule::TOL_010, seen, out);
    if let Some(before) = taken.reordered
        && let Some(finding) = out.find(&rule::TOL_012, seen, format!("{} tools", list.items.len()))
    {
        finding.others.push(before);
    }
}

fn is_good_name(name: &Arc<str>) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=NAME_LIMIT).contains(&name.len()) && name.bytes().all(good)
}

/// What is wrong with a tool's input schema.
fn input_schema(tool: &Tool, seen: &Seen<'_>) -> Option<String> {
    let Some(text) = &tool.input_schema else {
        // A very long one is not kept, and not judged.
        let is_missing = tool.text.node().get("inputSchema").is_none();
        return is_missing.then(|| "no inputSchema".into());
    };
    let Kept(bytes) = text;
    let schema = text.node();
    if !schema.is_object() {
        return Some("inputSchema is no object".into());
    }
    match schema.get("type") {
        Some(kind) if kind.is_text("object") => {}
        Some(kind) => return Some(format!("its type is {}", quoted_bytes(kind.bytes()))),
        None => return Some("it has no type".into()),
    }
    verdict::not_a_schema(tool.input()?, bytes, seen.revisions)
}

/// A schema of a tool, for what is checked against it.
pub(super) fn schema_of<'t>(
    compiled: Option<&'t Result<Arc<tap_schema::Schema>, tap_schema::SchemaError>>,
    text: Option<&'t Kept>,
) -> Option<(&'t tap_schema::Schema, Node<'t>)> {
    Some((compiled?.as_ref().ok()?, text?.node()))
}
