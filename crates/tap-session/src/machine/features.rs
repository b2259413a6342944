//! Rules that look inside messages: tools, resources, prompts, elicitation, sampling, roots.
//!
//! In the legacy era the server asks the client with requests of its own. In the modern era the same requests stand in
//! `inputRequests` of a result, and the answers in `inputResponses` of the request that goes on; both are judged by the
//! same functions.

mod base64;
pub(super) mod calls;
mod content;
mod elicitation;
pub(super) mod equal;
mod resources;
mod sampling;
mod secret;
pub(super) mod tools;
pub(crate) mod verdict;

use tap_jsonrpc::Node;
use tap_protocol::{ContentPlace, Side, meta};

use self::content::Blocks;
use super::{Out, Seen};
use crate::rule::{Finding, Rule, quoted};
use crate::rules::features::resources as rule;
use crate::state::{Call, Kept, SessionState};

/// Embedded requests or answers of one message that are looked at.
const EMBEDDED: usize = 100;

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    match &*call.method {
        "tools/call" => calls::request(state, seen, out),
        "elicitation/create" | "sampling/createMessage" if seen.side == Side::Server => {
            let capabilities = state.client.capabilities.as_ref().map(Kept::node);
            asked(seen, &call.method, seen.params, capabilities, out);
        }
        _ => {}
    }
    let goes_on = matches!(&*call.method, "tools/call" | "prompts/get" | "resources/read" | "tasks/update");
    if goes_on && seen.is_modern() {
        let answers = seen.param("inputResponses");
        for (_, answer) in answers.into_iter().flat_map(Node::members).take(EMBEDDED) {
            embedded_response(seen, answer, out);
        }
    }
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let inputs = match (&*call.method, seen.result) {
        ("tools/call", result) => match result {
            Some(_) => calls::result(state, seen, call, out),
            None => {
                calls::error(state, seen, call, out);
                None
            }
        },
        ("resources/read", Some(result)) => resources::read(state, seen, call, result, out),
        ("resources/read", None) => {
            resources::not_read(seen, call, out);
            None
        }
        ("prompts/get", Some(result)) => prompt(seen, result, out),
        ("tasks/get", Some(result)) if call.is_modern() => result.get("inputRequests"),
        ("elicitation/create", Some(result)) if seen.side == Side::Client => {
            elicitation::answered(seen, result, out);
            elicitation::paired(seen, call.params.as_ref().map(Kept::node), result, out);
            None
        }
        ("sampling/createMessage", Some(result)) if seen.side == Side::Client => {
            sampling::answered(seen, result, out);
            None
        }
        ("roots/list", Some(result)) if seen.side == Side::Client => {
            roots(seen, result, out);
            None
        }
        _ => None,
    };
    if let Some(inputs) = inputs.filter(|_| call.is_modern()) {
        // What a result asks for beyond these is told by MOD-011, other than what a task asks for.
        let capabilities = if &*call.method == "tasks/get" { call.meta(meta::CLIENT_CAPABILITIES) } else { None };
        for (_, input) in inputs.members().take(EMBEDDED) {
            embedded_request(seen, input, capabilities, out);
        }
    }
}

/// A request inside `inputRequests`, and what the client declared with the request that it stands in the answer of.
pub(crate) fn embedded_request(seen: &Seen<'_>, request: Node<'_>, capabilities: Option<Node<'_>>, out: &mut Out<'_>) {
    let [method, params] = request.pick(["method", "params"]);
    if let Some(method) = method.and_then(Node::text) {
        asked(seen, &method, params, capabilities, out);
    }
}

/// An answer inside `inputResponses`, judged as far as it can be without its request.
pub(crate) fn embedded_response(seen: &Seen<'_>, answer: Node<'_>, out: &mut Out<'_>) {
    let [action, role, list] = answer.pick(["action", "role", "roots"]);
    if action.is_some() {
        elicitation::answered(seen, answer, out);
    } else if role.is_some() {
        sampling::answered(seen, answer, out);
    } else if list.is_some() {
        roots(seen, answer, out);
    }
}

/// What can be judged of an answer inside `inputResponses` only when its request is known, from `inputRequests`.
pub(crate) fn embedded_pair(seen: &Seen<'_>, request: Node<'_>, answer: Node<'_>, out: &mut Out<'_>) {
    let [method, params] = request.pick(["method", "params"]);
    if method.is_some_and(|method| method.is_text("elicitation/create")) {
        elicitation::paired(seen, params, answer, out);
    }
}

/// What the server asks the client for, in either era.
fn asked(seen: &Seen<'_>, method: &str, params: Option<Node<'_>>, capabilities: Option<Node<'_>>, out: &mut Out<'_>) {
    let Some(params) = params else {
        return;
    };
    match method {
        "elicitation/create" => elicitation::asked(seen, params, capabilities, out),
        "sampling/createMessage" => sampling::asked(seen, params, capabilities, out),
        _ => {}
    }
}

/// The result of `prompts/get`. Gives back what it asks the client for.
fn prompt<'a>(seen: &Seen<'_>, result: Node<'a>, out: &mut Out<'_>) -> Option<Node<'a>> {
    let [messages, inputs] = result.pick(["messages", "inputRequests"]);
    let mut blocks = Blocks::new(seen, ContentPlace::ToolOrPrompt);
    for message in messages.into_iter().flat_map(Node::elements) {
        if let Some(content) = message.get("content") {
            blocks.look(content);
        }
    }
    blocks.tell(out);
    inputs
}

/// The result of `roots/list`.
fn roots(seen: &Seen<'_>, result: Node<'_>, out: &mut Out<'_>) {
    let mut wrong = Several::default();
    for root in result.get("roots").into_iter().flat_map(Node::elements) {
        let uri = root.get("uri").and_then(Node::text);
        let is_file = |uri: &str| uri.get(..7).is_some_and(|start| start.eq_ignore_ascii_case("file://"));
        match uri {
            Some(uri) if is_file(&uri) => {}
            Some(uri) => wrong.add(|| quoted(&uri)),
            None => wrong.add(|| "a root without a URI".into()),
        }
    }
    wrong.tell(&rule::ROT_001, seen, out);
}

/// The same rule broken at several places of one message: one finding, which names the first ones.
#[derive(Debug, Default)]
struct Several {
    named: Vec<String>,
    n_more: usize,
}

impl Several {
    /// Places that are named.
    const NAMED: usize = 3;

    fn add(&mut self, what: impl FnOnce() -> String) {
        if self.named.len() < Self::NAMED {
            self.named.push(what());
        } else {
            self.n_more += 1;
        }
    }

    fn tell<'o>(self, rule: &'static Rule, seen: &Seen<'_>, out: &'o mut Out<'_>) -> Option<&'o mut Finding> {
        if self.named.is_empty() {
            return None;
        }
        let more = match self.n_more {
            0 => String::new(),
            n_more => format!("; and {n_more} more"),
        };
        out.find(rule, seen, format!("{}{more}", self.named.join("; ")))
    }
}

#[cfg(test)]
mod tests;
