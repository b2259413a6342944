//! OpenAI's responses. Nothing is kept by the provider: the whole conversation is sent each time.

use super::{Settled, arguments, number, set_tools, temperature, told, truth, words};
use crate::conversation::{ModelRequest, Part};
use crate::tree::{Tree, sound};
use crate::{Call, Format};

pub(super) fn body(request: &ModelRequest<'_>, turns: &[Settled<'_>], stream: bool) -> Tree {
    let mut input = Vec::new();
    for turn in turns {
        match turn {
            Settled::User(parts) => input.push(message("user", parts.iter().map(part).collect())),
            Settled::Model { turn, calls, verbatim } => match verbatim {
                Some(Tree::Array(items)) => input.extend(sent_back(items, calls)),
                _ => {
                    if !turn.text.is_empty() {
                        let text = [("type", Tree::text("output_text")), ("text", Tree::text(&turn.text))];
                        input.push(message("assistant", vec![Tree::object(text)]));
                    }
                    input.extend(calls.iter().map(made));
                }
            },
            Settled::Results(results) => {
                input.extend(results.iter().map(|(call, result)| told(Format::OpenAiResponses, request, call, result)));
            }
        }
    }
    let mut body = Tree::object([("model", Tree::text(request.model))]);
    if !request.system.is_empty() {
        body.set("instructions", Tree::text(request.system));
    }
    body.set("input", Tree::Array(input));
    body.set("store", truth(false));
    if request.sealed_reasoning {
        body.set("include", Tree::Array(vec![Tree::text("reasoning.encrypted_content")]));
    }
    set_tools(&mut body, request);
    if let Some(limit) = request.output_limit_tokens {
        body.set("max_output_tokens", number(limit));
    }
    if let Some(temperature) = temperature(request) {
        body.set("temperature", temperature);
    }
    if stream {
        body.set("stream", truth(true));
    }
    body
}

fn message(role: &str, content: Vec<Tree>) -> Tree {
    Tree::object([("type", Tree::text("message")), ("role", Tree::text(role)), ("content", Tree::Array(content))])
}

fn part(part: &Part) -> Tree {
    match part {
        Part::Image { data, media_type } => {
            let url = Tree::text(&format!("data:{media_type};base64,{data}"));
            Tree::object([("type", Tree::text("input_image")), ("image_url", url)])
        }
        Part::Text(_) | Part::Resource { .. } => {
            Tree::object([("type", Tree::text("input_text")), ("text", Tree::text(&words(part).unwrap_or_default()))])
        }
    }
}

fn made(call: &Call) -> Tree {
    Tree::object([
        ("type", Tree::text("function_call")),
        ("call_id", Tree::text(call.id.as_deref().unwrap_or_default())),
        ("name", Tree::text(&call.name)),
        ("arguments", Tree::text(&sound(arguments(call).write()))),
    ])
}

/// Items as they came, but for what only has a meaning where the provider keeps them: their ids, and reasoning that is not
/// sealed.
fn sent_back(items: &[Tree], calls: &[Call]) -> Vec<Tree> {
    let mut calls = calls.iter();
    let is = |item: &Tree, kind: &str| item.get("type").is_some_and(|known| known.is_text(kind));
    let has_seal = |item: &Tree| item.get("encrypted_content").and_then(Tree::as_text).is_some();
    let items = items.iter().filter(|item| !is(item, "reasoning") || has_seal(item));
    items
        .map(|item| {
            let mut item = item.clone();
            item.take("id");
            if is(&item, "function_call")
                && let Some(call) = calls.next()
            {
                for (key, value) in made(call).members() {
                    item.set(key, value.clone());
                }
            }
            item
        })
        .collect()
}
