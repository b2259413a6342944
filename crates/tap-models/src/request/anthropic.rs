//! Anthropic's messages.

use super::{ANTHROPIC_OUTPUT_LIMIT_TOKENS, Settled, arguments, number, temperature, texts, told, tools, truth, words};
use crate::conversation::{ModelRequest, Part, ToolChoice};
use crate::tree::Tree;
use crate::{Call, Format};

pub(super) fn body(request: &ModelRequest<'_>, turns: &[Settled<'_>], stream: bool) -> Tree {
    let mut messages: Vec<(&str, Vec<Tree>)> = Vec::new();
    // Results and what the person says behind them are one message.
    let mut add = |role: &'static str, blocks: Vec<Tree>| match messages.last_mut() {
        Some((last, content)) if *last == role => content.extend(blocks),
        _ if blocks.is_empty() => {}
        _ => messages.push((role, blocks)),
    };
    for turn in turns {
        match turn {
            Settled::User(parts) => add("user", parts.iter().filter_map(part).collect()),
            Settled::Model { turn, calls, verbatim } => match verbatim {
                Some(Tree::Array(blocks)) => add("assistant", sent_back(blocks, calls)),
                _ => {
                    let calls = calls.iter().map(|call| {
                        Tree::object([
                            ("type", Tree::text("tool_use")),
                            ("id", Tree::text(&id(call.id.as_deref().unwrap_or_default()))),
                            ("name", Tree::text(&call.name)),
                            ("input", arguments(call)),
                        ])
                    });
                    add("assistant", text(&turn.text).into_iter().chain(calls).collect());
                }
            },
            Settled::Results(results) => {
                let blocks = results.iter().map(|(call, result)| {
                    let mut call = call.clone();
                    call.id = call.id.as_deref().map(id);
                    told(Format::Anthropic, request, &call, result)
                });
                add("user", blocks.collect());
            }
        }
    }
    let messages = messages
        .into_iter()
        .map(|(role, content)| Tree::object([("role", Tree::text(role)), ("content", Tree::Array(content))]));
    let mut body = Tree::object([
        ("model", Tree::text(request.model)),
        ("max_tokens", number(request.output_limit_tokens.unwrap_or(ANTHROPIC_OUTPUT_LIMIT_TOKENS))),
    ]);
    if !request.system.is_empty() {
        body.set("system", Tree::text(request.system));
    }
    body.set("messages", Tree::Array(messages.collect()));
    let tools = tools(request);
    if !tools.is_empty() {
        body.set("tools", Tree::Array(tools));
        let choice = match request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("any"),
            ToolChoice::None => Some("none"),
        };
        if let Some(choice) = choice {
            body.set("tool_choice", Tree::object([("type", Tree::text(choice))]));
        }
    }
    if let Some(temperature) = temperature(request) {
        body.set("temperature", temperature);
    }
    if !request.stop_sequences.is_empty() {
        body.set("stop_sequences", texts(request.stop_sequences.iter()));
    }
    if stream {
        body.set("stream", truth(true));
    }
    body
}

/// Blocks as they came, with the ids that the results have. A call without a name has one here, for else all is refused.
fn sent_back(blocks: &[Tree], calls: &[Call]) -> Vec<Tree> {
    let mut calls = calls.iter();
    let mut blocks = blocks.to_vec();
    for block in &mut blocks {
        if block.get("type").is_some_and(|kind| kind.is_text("tool_use"))
            && let Some(known) = calls.next()
        {
            block.set("id", Tree::text(&id(known.id.as_deref().unwrap_or_default())));
            block.set("name", Tree::text(&known.name));
        }
    }
    blocks
}

/// An id as this interface takes it: one of another provider's may have other characters.
fn id(id: &str) -> String {
    id.chars().map(|letter| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' }).collect()
}

/// A text, which must not be empty.
fn text(text: &str) -> Option<Tree> {
    let is_blank = text.trim().is_empty();
    (!is_blank).then(|| Tree::object([("type", Tree::text("text")), ("text", Tree::text(text))]))
}

fn part(part: &Part) -> Option<Tree> {
    match part {
        Part::Image { data, media_type } => {
            let source = Tree::object([
                ("type", Tree::text("base64")),
                ("media_type", Tree::text(media_type)),
                ("data", Tree::text(data)),
            ]);
            Some(Tree::object([("type", Tree::text("image")), ("source", source)]))
        }
        Part::Text(_) | Part::Resource { .. } => text(&words(part)?),
    }
}
