//! Gemini's `generateContent`. The model and whether the answer is streamed are in the address.

use super::{Settled, arguments, number, temperature, texts, told, tools, words};
use crate::Format;
use crate::conversation::{ModelRequest, Part, ToolChoice};
use crate::tree::Tree;

pub(super) fn body(request: &ModelRequest<'_>, turns: &[Settled<'_>]) -> Tree {
    let mut contents = Vec::new();
    for turn in turns {
        match turn {
            Settled::User(parts) => contents.push(content("user", parts.iter().map(part).collect())),
            Settled::Model { turn, calls, verbatim } => match verbatim {
                Some(verbatim @ Tree::Object(_)) if verbatim.get("parts").is_some() => {
                    let mut verbatim = verbatim.clone();
                    verbatim.set("role", Tree::text("model"));
                    contents.push(verbatim);
                }
                _ => {
                    let text = Some(&turn.text).filter(|text| !text.is_empty());
                    let text = text.map(|text| Tree::object([("text", Tree::text(text))]));
                    let calls = calls.iter().map(|call| {
                        let mut made = Tree::object([("name", Tree::text(&call.name))]);
                        if let Some(id) = &call.id {
                            made.set("id", Tree::text(id));
                        }
                        made.set("args", arguments(call));
                        Tree::object([("functionCall", made)])
                    });
                    let parts: Vec<Tree> = text.into_iter().chain(calls).collect();
                    if !parts.is_empty() {
                        contents.push(content("model", parts));
                    }
                }
            },
            // Nothing else may be among them.
            Settled::Results(results) => {
                let results = results.iter().map(|(call, result)| told(Format::Gemini, request, call, result));
                contents.push(content("user", results.collect()));
            }
        }
    }
    let mut body = Tree::object([("contents", Tree::Array(contents))]);
    if !request.system.is_empty() {
        let parts = Tree::Array(vec![Tree::object([("text", Tree::text(request.system))])]);
        body.set("systemInstruction", Tree::object([("parts", parts)]));
    }
    let tools = tools(request);
    if !tools.is_empty() {
        let tools = Tree::object([("functionDeclarations", Tree::Array(tools))]);
        body.set("tools", Tree::Array(vec![tools]));
        let mode = match request.tool_choice {
            ToolChoice::Auto => None,
            ToolChoice::Required => Some("ANY"),
            ToolChoice::None => Some("NONE"),
        };
        if let Some(mode) = mode {
            let calling = Tree::object([("mode", Tree::text(mode))]);
            body.set("toolConfig", Tree::object([("functionCallingConfig", calling)]));
        }
    }
    let mut generation = Tree::Object(Vec::new());
    if let Some(limit) = request.output_limit_tokens {
        generation.set("maxOutputTokens", number(limit));
    }
    if let Some(temperature) = temperature(request) {
        generation.set("temperature", temperature);
    }
    if !request.stop_sequences.is_empty() {
        generation.set("stopSequences", texts(request.stop_sequences.iter()));
    }
    if !generation.members().is_empty() {
        body.set("generationConfig", generation);
    }
    body
}

fn content(role: &str, parts: Vec<Tree>) -> Tree {
    Tree::object([("role", Tree::text(role)), ("parts", Tree::Array(parts))])
}

fn part(part: &Part) -> Tree {
    match part {
        Part::Image { data, media_type } => {
            let data = Tree::object([("mimeType", Tree::text(media_type)), ("data", Tree::text(data))]);
            Tree::object([("inlineData", data)])
        }
        Part::Text(_) | Part::Resource { .. } => Tree::object([("text", Tree::text(&words(part).unwrap_or_default()))]),
    }
}
