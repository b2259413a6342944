//! OpenAI's chat completions, and what others mean by them.

use super::{Settled, arguments, number, set_tools, temperature, texts, told, truth, words};
use crate::Format;
use crate::conversation::{ChatLimit, ModelRequest, Part};
use crate::tree::{Tree, sound};

/// How many texts to stop at there may be.
const STOP_SEQUENCES: usize = 4;

pub(super) fn body(request: &ModelRequest<'_>, turns: &[Settled<'_>], stream: bool) -> Tree {
    let mut messages = Vec::new();
    if !request.system.is_empty() {
        messages.push(message("system", Tree::text(request.system)));
    }
    for turn in turns {
        match turn {
            Settled::User(parts) => messages.push(message("user", content(parts))),
            Settled::Model { turn, calls, verbatim } => {
                let mut said = match verbatim {
                    Some(verbatim @ Tree::Object(_)) => verbatim.clone(),
                    _ => message("assistant", Tree::text(&turn.text)),
                };
                if !calls.is_empty() {
                    said.set("tool_calls", Tree::Array(merged(&said, calls)));
                    if turn.text.is_empty() {
                        said.set("content", Tree::Token("null".into()));
                    }
                } else if turn.text.is_empty() {
                    continue;
                }
                messages.push(said);
            }
            Settled::Results(results) => {
                messages.extend(results.iter().map(|(call, result)| told(Format::OpenAiChat, request, call, result)));
            }
        }
    }
    let mut body = Tree::object([("model", Tree::text(request.model)), ("messages", Tree::Array(messages))]);
    set_tools(&mut body, request);
    if let Some(limit) = request.output_limit_tokens {
        let member = match request.chat_limit {
            ChatLimit::MaxCompletionTokens => "max_completion_tokens",
            ChatLimit::MaxTokens => "max_tokens",
        };
        body.set(member, number(limit));
    }
    if let Some(temperature) = temperature(request) {
        body.set("temperature", temperature);
    }
    if !request.stop_sequences.is_empty() {
        body.set("stop", texts(request.stop_sequences.iter().take(STOP_SEQUENCES)));
    }
    if stream {
        body.set("stream", truth(true));
        // Without this nothing says what the answer took.
        body.set("stream_options", Tree::object([("include_usage", truth(true))]));
    }
    body
}

fn message(role: &str, content: Tree) -> Tree {
    Tree::object([("role", Tree::text(role)), ("content", content)])
}

/// Many who speak this format take nothing but a text where there are no pictures.
fn content(parts: &[Part]) -> Tree {
    if !parts.iter().any(|part| matches!(part, Part::Image { .. })) {
        return Tree::text(&parts.iter().filter_map(words).collect::<Vec<_>>().join("\n\n"));
    }
    let parts = parts.iter().map(|part| match part {
        Part::Image { data, media_type } => {
            let url = Tree::text(&format!("data:{media_type};base64,{data}"));
            Tree::object([("type", Tree::text("image_url")), ("image_url", Tree::object([("url", url)]))])
        }
        Part::Text(_) | Part::Resource { .. } => {
            Tree::object([("type", Tree::text("text")), ("text", Tree::text(&words(part).unwrap_or_default()))])
        }
    });
    Tree::Array(parts.collect())
}

/// The calls as they were made, each with an id and arguments that can be read: servers that put them in a template fail
/// where they are not. The model is told in the result what was wrong.
fn merged(said: &Tree, calls: &[crate::Call]) -> Vec<Tree> {
    let made = said.get("tool_calls").map(Tree::items).unwrap_or_default();
    let mut merged = Vec::with_capacity(calls.len());
    for (index, call) in calls.iter().enumerate() {
        // Members of a provider's own stay, such as signatures.
        let mut written = made.get(index).cloned().unwrap_or(Tree::Object(Vec::new()));
        written.set("id", Tree::text(call.id.as_deref().unwrap_or_default()));
        written.set("type", Tree::text("function"));
        let mut function = written.take("function").filter(Tree::is_object).unwrap_or(Tree::Object(Vec::new()));
        function.set("name", Tree::text(&call.name));
        function.set("arguments", Tree::text(&sound(arguments(call).write())));
        written.set("function", function);
        merged.push(written);
    }
    merged
}
