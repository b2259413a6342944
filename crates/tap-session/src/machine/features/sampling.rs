//! Sampling: the messages that the client's model is asked with.
//!
//! Source: MCP client/sampling, every revision; tools in it since 2025-11-25.

use std::borrow::Cow;
use std::collections::BTreeSet;

use tap_jsonrpc::Node;
use tap_protocol::ContentPlace;

use super::Several;
use super::content::Blocks;
use crate::machine::{Out, Seen};
use crate::rule::quoted;
use crate::rules::features::sampling as rule;
use crate::state::declares;

/// A request for a message of the model.
pub(super) fn asked(seen: &Seen<'_>, params: Node<'_>, capabilities: Option<Node<'_>>, out: &mut Out<'_>) {
    let [messages, max_tokens, tools, choice] = params.pick(["messages", "maxTokens", "tools", "toolChoice"]);
    if !max_tokens.is_some_and(Node::is_number) {
        out.find(&rule::SMP_004, seen, if max_tokens.is_some() { "it is no number" } else { "it is missing" });
    }
    let names = [("tools", tools), ("toolChoice", choice)];
    let used: Vec<_> =
        names.iter().filter(|(_, node)| node.is_some_and(|node| !node.is_null())).map(|(name, _)| *name).collect();
    if !used.is_empty()
        && let Some(capabilities) = capabilities.filter(|capabilities| declares(*capabilities, &["sampling"]))
        && !declares(capabilities, &["sampling", "tools"])
    {
        out.find(&rule::SMP_003, seen, format!("`{}`", used.join("`, `")));
    }
    let mut blocks = Blocks::new(seen, ContentPlace::Sampling);
    let [mut mixed, mut unbalanced] = <[Several; 2]>::default();
    // Uses of tools in the message before.
    let mut open = BTreeSet::new();
    for message in messages.into_iter().flat_map(Node::elements) {
        let [role, content] = message.pick(["role", "content"]);
        let Some(content) = content else {
            continue;
        };
        blocks.look(content);
        let turn = Turn::of(content);
        if role.is_some_and(|role| role.is_text("user")) && !turn.results.is_empty() && turn.n_others > 0 {
            mixed.add(|| format!("{} results of tools beside {} other blocks", turn.results.len(), turn.n_others));
        }
        for id in open.difference(&turn.results) {
            unbalanced.add(|| format!("no result for {}", quoted(id)));
        }
        for id in turn.results.difference(&open) {
            unbalanced.add(|| format!("a result for {}, which was not used", quoted(id)));
        }
        open = turn.uses;
    }
    blocks.tell(out);
    mixed.tell(&rule::SMP_001, seen, out);
    unbalanced.tell(&rule::SMP_002, seen, out);
}

/// The tools in one message.
#[derive(Default)]
struct Turn<'a> {
    uses: BTreeSet<Cow<'a, str>>,
    results: BTreeSet<Cow<'a, str>>,
    n_others: usize,
}

impl<'a> Turn<'a> {
    fn of(content: Node<'a>) -> Self {
        let mut turn = Self::default();
        if content.is_array() {
            content.elements().for_each(|block| turn.block(block));
        } else {
            turn.block(content);
        }
        turn
    }

    fn block(&mut self, block: Node<'a>) {
        let [kind, id, used] = block.pick(["type", "id", "toolUseId"]);
        let is = |name: &str| kind.is_some_and(|kind| kind.is_text(name));
        let (ids, id) = if is("tool_use") {
            (&mut self.uses, id)
        } else if is("tool_result") {
            (&mut self.results, used)
        } else {
            self.n_others += 1;
            return;
        };
        ids.extend(id.and_then(Node::text));
    }
}

/// The message of the model.
pub(super) fn answered(seen: &Seen<'_>, answer: Node<'_>, out: &mut Out<'_>) {
    if let Some(content) = answer.get("content") {
        let mut blocks = Blocks::new(seen, ContentPlace::Sampling);
        blocks.look(content);
        blocks.tell(out);
    }
}
