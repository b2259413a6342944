//! A state as the inspector shows it: what was true, what a message changed, and one of the lists with all that is in it.

use tap_inspector::{Fact, Row, StatedFacts};
use tap_jsonrpc::Node;
use tap_session::{SessionState, Tool};

use super::followed::States;
use crate::command::state::facts;

/// How many items of a list are told.
const ITEMS: usize = 1_000;

/// How many names of arguments are told of a tool.
const ARGUMENTS: usize = 12;

/// What was true, and what is different. `list` is the one of which the items are wanted.
pub(super) fn stated(seq: u64, row: Option<Row>, states: &States, began_at_ns: u64, list: Option<&str>) -> StatedFacts {
    let before = facts::of(&states.before, began_at_ns);
    let after = facts::of(&states.after, began_at_ns);
    let gone = before.iter().filter(|old| !after.iter().any(|new| new.part == old.part && new.name == old.name));
    let gone = gone.map(|old| (format!("{} {}", old.part, old.name), old.text.clone())).collect();
    let facts = after.into_iter().map(|fact| {
        let old = before.iter().find(|old| old.part == fact.part && old.name == fact.name);
        let changed = match old {
            Some(old) if old.text == fact.text => None,
            old => Some(old.map(|old| old.text.clone())),
        };
        let comma = if fact.text.is_empty() || fact.aside.is_empty() { "" } else { ", " };
        Fact { part: fact.part.into(), name: fact.name, text: format!("{}{comma}{}", fact.text, fact.aside), changed }
    });
    let (items, n_items) = list.map(|list| items(&states.after, list)).unwrap_or_default();
    StatedFacts {
        seq,
        row,
        since_ns: states.after.at_ns.saturating_sub(began_at_ns),
        conversation: states.conversation.map(|number| number.0),
        facts: facts.collect(),
        gone,
        list: list.map(str::to_owned),
        items,
        n_items,
    }
}

/// What a list holds, and how much that is in all.
fn items(state: &SessionState, list: &str) -> (Vec<(String, String)>, u64) {
    let lists = &state.lists;
    let others = match list {
        "tools" => {
            let items = lists.tools.items.iter().take(ITEMS).map(|tool| (tool.name.to_string(), about(tool)));
            return (items.collect(), lists.tools.n_items);
        }
        "prompts" => &lists.prompts,
        "resources" => &lists.resources,
        "resource templates" => &lists.resource_templates,
        "roots" => &lists.roots,
        _ => return Default::default(),
    };
    let items = others.items.iter().take(ITEMS).map(|item| (item.name.to_string(), String::new()));
    (items.collect(), others.n_items)
}

/// What a tool takes and does: `path head? tail?  read-only  Reads a file.`
fn about(tool: &Tool) -> String {
    let mut parts = Vec::new();
    if let Some(schema) = &tool.input_schema {
        let schema = schema.node();
        let required: Vec<_> = schema.get("required").into_iter().flat_map(Node::elements).collect();
        let properties = schema.get("properties").into_iter().flat_map(|properties| properties.members());
        let mut names: Vec<String> = properties
            .take(ARGUMENTS + 1)
            .map(|(name, _)| {
                let name = name.text();
                let sign = if required.iter().any(|required| required.is_text(&name)) { "" } else { "?" };
                format!("{name}{sign}")
            })
            .collect();
        if names.len() > ARGUMENTS {
            names.truncate(ARGUMENTS);
            names.push("…".into());
        }
        parts.push(names.join(" "));
    }
    let node = tool.text.node();
    let hints = [("readOnlyHint", "read-only"), ("destructiveHint", "destructive")];
    for (name, word) in hints {
        if node.at(&["annotations", name]).and_then(Node::as_bool) == Some(true) {
            parts.push(word.into());
        }
    }
    if let Some(description) = node.get("description").and_then(Node::text) {
        parts.push(description.lines().next().unwrap_or_default().chars().take(200).collect());
    }
    parts.retain(|part: &String| !part.is_empty());
    parts.join("  ")
}
