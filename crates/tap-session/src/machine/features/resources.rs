//! What is read of resources, and how a server says that one is not there.

use tap_jsonrpc::Node;
use tap_protocol::{ContentPlace, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND};

use super::content::Blocks;
use crate::machine::{Out, Seen};
use crate::rule::{Severity, quoted};
use crate::rules::features::resources as rule;
use crate::state::{Call, SessionState};

/// Words with which servers say that a resource is not there.
const NOT_FOUND: &[&str] = &["not found", "unknown resource", "no such", "does not exist", "doesn't exist"];

/// The result of `resources/read`. Gives back what it asks the client for.
pub(super) fn read<'a>(
    state: &SessionState,
    seen: &Seen<'_>,
    call: &Call,
    result: Node<'a>,
    out: &mut Out<'_>,
) -> Option<Node<'a>> {
    let [contents, inputs] = result.pick(["contents", "inputRequests"]);
    let contents = contents.filter(|contents| contents.is_array());
    let mut blocks = Blocks::new(seen, ContentPlace::ToolOrPrompt);
    for resource in contents.into_iter().flat_map(Node::elements) {
        blocks.resource(resource);
    }
    blocks.tell(out);
    // A resource may well be empty, such as a folder without files: one that was listed is there.
    if contents.is_some_and(|contents| contents.elements().next().is_none())
        && let Some(uri) = call.param(&["uri"]).and_then(Node::text)
        && state.lists.resources.get(&uri).is_none()
        && let Some(finding) = out.find(&rule::RES_001, seen, format!("{}: empty contents", quoted(&uri)))
    {
        finding.severity = Severity::Warning;
        finding.others.push(call.at);
    }
    inputs
}

/// An error as the answer to `resources/read`.
pub(super) fn not_read(seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let [code, message] = seen.error.map_or([None; 2], |error| error.pick(["code", "message"]));
    let Some(code) = code.and_then(Node::as_i64) else {
        return;
    };
    let expected = if call.is_modern() { INVALID_PARAMS } else { RESOURCE_NOT_FOUND };
    // "Method not found" is about the method.
    if code == expected || code == METHOD_NOT_FOUND {
        return;
    }
    // The code of the other era says it for certain; other codes say it only in words.
    let is_said = call.is_modern() && code == RESOURCE_NOT_FOUND;
    let is_meant = || {
        let message = message.and_then(Node::text).unwrap_or_default().to_lowercase();
        NOT_FOUND.iter().any(|words| message.contains(words))
    };
    if (is_said || is_meant())
        && let Some(finding) = out.find(&rule::RES_001, seen, format!("the code {code} instead of {expected}"))
    {
        if !is_said {
            finding.severity = Severity::Warning;
        }
        finding.others.push(call.at);
    }
}
