//! Elicitation: forms and URLs that the user is asked through, and what comes back.
//!
//! Source: MCP client/elicitation, 2025-06-18 and later.

use tap_jsonrpc::Node;
use tap_protocol::{Revision, Revisions};
use tap_schema::Schema;

use super::{Several, secret, verdict};
use crate::machine::{Out, Seen};
use crate::rule::quoted;
use crate::rules::features::elicitation as rule;
use crate::state::declares;

/// Answers that are longer are not compared with what was asked for, bytes.
const FORM_LIMIT_BYTES: usize = 64 * 1024;

/// The revisions with a mode, and with lists of choices.
const WITH_MODES: Revisions = Revisions::since(Revision::V2025_11_25);

fn is_url_mode(params: Node<'_>) -> bool {
    params.get("mode").is_some_and(|mode| mode.is_text("url"))
}

/// A request for input.
pub(super) fn asked(seen: &Seen<'_>, params: Node<'_>, capabilities: Option<Node<'_>>, out: &mut Out<'_>) {
    let [mode, schema, id] =
        params.pick(["mode", "requestedSchema", "elicitationId"]).map(|part| part.filter(|part| !part.is_null()));
    let is_url = mode.is_some_and(|mode| mode.is_text("url"));
    let is_form = mode.is_none_or(|mode| mode.is_text("form"));
    if let Some(capabilities) = capabilities.filter(|capabilities| declares(*capabilities, &["elicitation"])) {
        // Who does not declare elicitation at all breaks another rule. An empty declaration means forms.
        let [form, url] = ["form", "url"].map(|mode| declares(capabilities, &["elicitation", mode]));
        if (is_url && !url) || (is_form && url && !form) {
            let mode = if is_url { "url" } else { "form" };
            out.find(&rule::ELI_001, seen, format!("the mode {mode}"));
        }
    }
    if is_url && seen.is_legacy() && id.is_none() {
        out.find(&rule::ELI_005, seen, "it is missing");
    }
    if seen.is_modern() && id.is_some() {
        out.find(&rule::ELI_005, seen, "this revision has none");
    }
    if let Some(schema) = schema.filter(|_| is_form) {
        form(seen, schema, out);
    }
}

/// What a form asks for.
fn form(seen: &Seen<'_>, schema: Node<'_>, out: &mut Out<'_>) {
    let takes_lists = !seen.revisions.intersection(WITH_MODES).is_empty();
    let [mut nested, mut secrets] = <[Several; 2]>::default();
    let properties = schema.get("properties");
    for (key, property) in properties.into_iter().flat_map(Node::members) {
        let [kind, items, inner, reference, format, title, description] =
            property.pick(["type", "items", "properties", "$ref", "format", "title", "description"]);
        let is = |name: &str| kind.is_some_and(|kind| kind.is_text(name));
        let is_choice = |items: Node<'_>| items.pick(["enum", "anyOf", "oneOf"]).iter().any(Option::is_some);
        let what = if is("object") || inner.is_some() {
            Some("an object")
        } else if is("array") && !(takes_lists && items.is_some_and(is_choice)) {
            Some("an array")
        } else if reference.is_some() {
            Some("a reference")
        } else {
            None
        };
        if let Some(what) = what {
            nested.add(|| format!("{} is {what}", quoted(&key.text())));
        }
        if format.is_some_and(|format| format.is_text("password")) || secret::is_asked(&key.text(), title, description)
        {
            secrets.add(|| quoted(&key.text()));
        }
    }
    nested.tell(&rule::ELI_002, seen, out);
    secrets.tell(&rule::ELI_006, seen, out);
}

/// An answer, as far as it can be judged without what was asked.
pub(super) fn answered(seen: &Seen<'_>, answer: Node<'_>, out: &mut Out<'_>) {
    let [action, content] = answer.pick(["action", "content"]);
    let Some(action) = action.and_then(Node::text) else {
        return;
    };
    if matches!(&*action, "decline" | "cancel") && content.is_some_and(|content| !content.is_null()) {
        out.find(&rule::ELI_003, seen, format!("beside {}", quoted(&action)));
    }
}

/// An answer against what was asked.
pub(super) fn paired(seen: &Seen<'_>, params: Option<Node<'_>>, answer: Node<'_>, out: &mut Out<'_>) {
    let [action, content] = answer.pick(["action", "content"]);
    let content = content.filter(|content| !content.is_null());
    let Some(params) = params.filter(|_| action.is_some_and(|action| action.is_text("accept"))) else {
        return;
    };
    if is_url_mode(params) {
        if content.is_some() {
            out.find(&rule::ELI_003, seen, "in answer to a URL");
        }
        return;
    }
    let content = content.map_or(&b"{}"[..], Node::bytes);
    let Some(asked) = params.get("requestedSchema") else {
        return;
    };
    if content.len() > FORM_LIMIT_BYTES || asked.bytes().len() > FORM_LIMIT_BYTES {
        return;
    }
    if let Ok(schema) = Schema::compile(asked.bytes())
        && let Some(violation) = verdict::violation(&schema, asked.bytes(), content, seen.revisions)
    {
        out.find(&rule::ELI_004, seen, violation);
    }
}
