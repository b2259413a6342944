//! Calls of tools: their arguments, and what came of them.

use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_protocol::{ContentPlace, INTERNAL_ERROR, INVALID_PARAMS, RESULT_TYPES, Revisions, is_json_rpc_range};

use super::content::Blocks;
use super::{equal, tools, verdict};
use crate::machine::Parts;
use crate::machine::lists::{Lists, Tool};
use crate::machine::{Out, Seen};
use crate::row::At;
use crate::rule::{Severity, quoted};
use crate::rules::features as rule;
use crate::state::{Call, SessionState};

/// Whether a name is in the list of tools: unknown when the list is not, or may be another by now.
fn is_unlisted(lists: &Lists, name: &str, revisions: Revisions) -> bool {
    lists.tools.is_whole() && lists.tools.revisions == revisions && lists.tool(name).is_none()
}

/// The tool as it was listed, unless it may be another by now.
fn listed<'l>(lists: &'l Lists, name: &str, revisions: Revisions) -> Option<&'l Arc<Tool>> {
    let is_current = lists.tools.changed.is_none() && lists.tools.revisions == revisions;
    lists.tool(name).filter(|_| is_current)
}

/// How the arguments of a call do not fit what the tool takes.
fn misfit(tool: &Tool, arguments: Option<Node<'_>>, revisions: Revisions) -> Option<String> {
    let (schema, text) = tools::schema_of(tool.input(), tool.input_schema.as_ref())?;
    let arguments = arguments.map_or(&b"{}"[..], Node::bytes);
    verdict::violation(schema, text.bytes(), arguments, revisions)
}

/// `tools/call`.
pub(super) fn request(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if state.lists.tools.as_of.is_none() {
        return;
    }
    let (name, arguments) = (seen.parts.name, seen.parts.arguments);
    let Some(name) = name.and_then(Node::text) else {
        return;
    };
    let found = if is_unlisted(&state.lists, &name, seen.revisions) {
        out.find(&rule::TOL_001, seen, quoted(&name))
    } else {
        let tool = listed(&state.lists, &name, seen.revisions);
        let misfit = tool.and_then(|tool| misfit(tool, arguments, seen.revisions));
        misfit.and_then(|misfit| out.find(&rule::TOL_003, seen, format!("{} {misfit}", quoted(&name))))
    };
    if let Some(finding) = found {
        finding.others.extend(state.lists.tools.as_of);
    }
}

/// An error as the answer to `tools/call`.
pub(super) fn error(state: &SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(tool) = call.param(&["name"]).and_then(Node::text).and_then(|name| {
        // Whether it is there at all is known from the list alone.
        listed(&state.lists, &name, call.revisions).cloned()
    }) else {
        return;
    };
    let Some(code) = seen.error.and_then(|error| error.get("code")?.as_i64()) else {
        return;
    };
    let misfit = misfit(&tool, call.param(&["arguments"]), call.revisions);
    let found = match misfit {
        Some(misfit) if code == INVALID_PARAMS => {
            out.find(&rule::TOL_004, seen, format!("{} {misfit}", quoted(&tool.name)))
        }
        None if call.cancelled.is_none() && (code == INTERNAL_ERROR || !is_json_rpc_range(code)) => {
            out.find(&rule::TOL_014, seen, format!("{} failed with the code {code}", quoted(&tool.name)))
        }
        _ => None,
    };
    if let Some(finding) = found {
        finding.others.push(call.at);
    }
}

/// The result of `tools/call`. Gives back what it asks the client for.
pub(super) fn result<'a>(state: &SessionState, seen: &Seen<'a>, call: &Call, out: &mut Out<'_>) -> Option<Node<'a>> {
    let Parts { content, structured_content, is_error, result_type: kind, task, input_requests, .. } = seen.parts;
    let [complete, ..] = RESULT_TYPES;
    let is_task = task.is_some_and(Node::is_object) && call.param(&["task"]).is_some();
    if !is_task && kind.is_none_or(|kind| kind.is_text(complete)) {
        let name = call.param(&["name"]).and_then(Node::text);
        judge(state, seen, call.at, name.as_deref(), [content, structured_content, is_error], out);
    }
    input_requests
}

/// What a tool gave back in the end, where that is not the result of `tools/call` itself: the result of a task that the
/// call became.
pub(crate) fn task_result(
    state: &SessionState,
    seen: &Seen<'_>,
    called: At,
    name: Option<&str>,
    result: Node<'_>,
    out: &mut Out<'_>,
) {
    judge(state, seen, called, name, result.pick(["content", "structuredContent", "isError"]), out);
}

fn judge(
    state: &SessionState,
    seen: &Seen<'_>,
    called: At,
    name: Option<&str>,
    [content, structured, is_error]: [Option<Node<'_>>; 3],
    out: &mut Out<'_>,
) {
    // In the legacy era it is an object, and null stands for none; later it may be any value.
    let structured = structured.filter(|structured| seen.is_modern() || !structured.is_null());
    if let Some(content) = content.filter(|content| content.is_array()) {
        let mut blocks = Blocks::new(seen, ContentPlace::ToolOrPrompt);
        blocks.look(content);
        blocks.tell(out);
    }
    if is_error.and_then(Node::as_bool) == Some(true) {
        if let Some(name) = name.filter(|name| is_unlisted(&state.lists, name, seen.revisions))
            && let Some(finding) = out.find(&rule::TOL_002, seen, quoted(name))
        {
            finding.others.push(called);
        }
        return;
    }
    let is_no_object = structured.is_some_and(|structured| !structured.is_object());
    if let Some(structured) = structured {
        if is_no_object {
            out.find(&rule::TOL_006, seen, format!("it is {}", kind_name(structured)));
        }
        let texts = content.into_iter().flat_map(Node::elements).filter_map(|block| {
            let [kind, text] = block.pick(["type", "text"]);
            text.filter(|_| kind.is_some_and(|kind| kind.is_text("text")))
        });
        if !equal::says(texts, structured) {
            out.find(&rule::TOL_007, seen, "");
        }
    }
    let Some(tool) = name.and_then(|name| listed(&state.lists, name, seen.revisions)) else {
        return;
    };
    let Some(schema) = &tool.output_schema else {
        return;
    };
    let wrong = match structured {
        None => Some("structuredContent is missing".to_owned()),
        // Said by a rule of its own.
        Some(_) if is_no_object && seen.revisions.is_subset_of(Revisions::LEGACY) => None,
        Some(structured) => tools::schema_of(tool.output(), Some(schema))
            .and_then(|(schema, text)| verdict::violation(schema, text.bytes(), structured.bytes(), seen.revisions)),
    };
    if let Some(wrong) = wrong
        && let Some(finding) = out.find(&rule::TOL_005, seen, format!("{} {wrong}", quoted(&tool.name)))
    {
        // What was listed while the tool was at work may not be what it was called by.
        if state.lists.tools.as_of.is_some_and(|as_of| called < as_of) {
            finding.severity = Severity::Warning;
        }
        finding.others.push(called);
        finding.others.extend(state.lists.tools.as_of);
    }
}

/// What a value is, in words.
fn kind_name(node: Node<'_>) -> &'static str {
    use tap_jsonrpc::NodeKind;
    match node.kind() {
        NodeKind::Object => "an object",
        NodeKind::Array => "an array",
        NodeKind::String => "a text",
        NodeKind::Number => "a number",
        NodeKind::True | NodeKind::False => "a boolean",
        NodeKind::Null => "null",
        NodeKind::Invalid => "nothing",
    }
}
