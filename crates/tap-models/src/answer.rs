//! What is read: an answer that is there as a whole, and a failure.

use crate::conversation::{ModelFailure, ModelTurn, Stop, Usage, Verbatim};
use crate::tree::{Tree, number};
use crate::{Format, calls};

/// How much of what a provider says about a failure is told, characters.
const MESSAGE_CHARS: usize = 500;

/// Reads an answer that was not streamed: the body of a response with a status of 200.
///
/// # Errors
///
/// When it is an error, or cannot be read.
pub fn read_answer(format: Format, body: &[u8]) -> Result<ModelTurn, ModelFailure> {
    let tree = Tree::read(body).ok_or_else(|| ModelFailure::Malformed("it is no JSON".into()))?;
    match reported(&tree) {
        Some(failure) => Err(failure),
        None => turn(format, &tree),
    }
}

/// Reads why a provider says no: the body of a response with another status.
#[must_use]
pub fn read_failure(status: u16, body: &[u8]) -> ModelFailure {
    let tree = Tree::read(body);
    // Gemini puts an error into an array where a stream was asked for.
    let tree = tree.as_ref().map(|tree| tree.items().first().unwrap_or(tree));
    let (kind, message) = match tree {
        Some(tree) => {
            let inner = tree.get("error").filter(|error| error.is_object()).unwrap_or(tree);
            let own = ["message", "error", "detail"].into_iter().find_map(|member| inner.get(member)?.as_text());
            (kind_of(inner), own.unwrap_or_else(|| tree.write()))
        }
        None => (String::new(), plain(&String::from_utf8_lossy(body))),
    };
    ModelFailure::Status { status, kind, message: clipped(&message) }
}

/// What a page says that was made for people: its title.
fn plain(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return if text.is_empty() { "it does not say why".into() } else { text.to_owned() };
    }
    let lower = text.to_ascii_lowercase();
    let title = lower.find("<title>").and_then(|start| {
        let start = start + "<title>".len();
        let end = start + lower.get(start..)?.find('<')?;
        text.get(start..end)
    });
    format!("a web page: {}", title.map(str::trim).filter(|title| !title.is_empty()).unwrap_or("without a title"))
}

pub(crate) fn clipped(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// An error where an answer should be.
pub(crate) fn reported(tree: &Tree) -> Option<ModelFailure> {
    let error = tree.get("error").or_else(|| tree.items().first()?.get("error"))?;
    match error {
        Tree::Object(_) => {
            let message = error.get("message").and_then(Tree::as_text).unwrap_or_else(|| error.write());
            Some(ModelFailure::Reported { kind: kind_of(error), message: clipped(&message) })
        }
        other => {
            let message = other.as_text()?;
            Some(ModelFailure::Reported { kind: String::new(), message: clipped(&message) })
        }
    }
}

fn kind_of(error: &Tree) -> String {
    // The first of these that there is says most: `code` of OpenAI's, `status` of Gemini's, `type` of Anthropic's.
    let kinds = ["code", "status", "type"].into_iter().filter_map(|member| error.get(member)?.as_text());
    kinds.into_iter().find(|kind| !kind.is_empty()).map(|kind| clipped(&kind)).unwrap_or_default()
}

/// The turn in the body of an answer.
pub(crate) fn turn(format: Format, tree: &Tree) -> Result<ModelTurn, ModelFailure> {
    let none = |what: &str| ModelFailure::Malformed(format!("there is no {what} in it"));
    let (text, stop, verbatim) = match format {
        Format::OpenAiChat => {
            let choices = tree.get("choices").ok_or_else(|| none("`choices`"))?.items();
            let choice = choices.first().ok_or_else(|| none("choice"))?;
            let message = choice.get("message").filter(|message| message.is_object()).ok_or_else(|| none("message"))?;
            let text = content_text(message.get("content"));
            let refusal = message.get("refusal").and_then(Tree::as_text).filter(|words| !words.is_empty());
            let stop = match choice.get("finish_reason").and_then(Tree::as_text).as_deref() {
                _ if refusal.is_some() => Stop::Refused,
                Some("stop") | None => Stop::End,
                Some("tool_calls" | "function_call") => Stop::ToolCalls,
                Some("length") => Stop::Length,
                Some("content_filter") => Stop::Refused,
                Some(other) => Stop::Other(other.to_owned()),
            };
            let text = if text.is_empty() { refusal.unwrap_or_default() } else { text };
            (text, stop, chat_message(message))
        }
        Format::OpenAiResponses => {
            if tree.get("status").is_some_and(|status| status.is_text("failed")) {
                let kind = "failed".into();
                return Err(ModelFailure::Reported { kind, message: "the provider does not say why".into() });
            }
            let output = tree.get("output").ok_or_else(|| none("`output`"))?;
            let mut text = String::new();
            let mut has_refused = false;
            for part in output.items().iter().filter_map(|item| item.get("content")).flat_map(Tree::items) {
                let member = match part.get("type").and_then(Tree::as_text).as_deref() {
                    Some("output_text") => "text",
                    Some("refusal") => "refusal",
                    _ => continue,
                };
                has_refused |= member == "refusal";
                text.push_str(&part.get(member).and_then(Tree::as_text).unwrap_or_default());
            }
            let why = tree.get("incomplete_details").and_then(|details| details.get("reason")?.as_text());
            let stop = match why.as_deref() {
                _ if has_refused => Stop::Refused,
                Some("max_output_tokens") => Stop::Length,
                Some("content_filter") => Stop::Refused,
                Some(other) => Stop::Other(other.to_owned()),
                None => Stop::End,
            };
            (text, stop, output.clone())
        }
        Format::Anthropic => {
            let content = tree.get("content").ok_or_else(|| none("`content`"))?;
            let is_text = |block: &&Tree| block.get("type").is_some_and(|kind| kind.is_text("text"));
            let texts = content.items().iter().filter(is_text).filter_map(|block| block.get("text")?.as_text());
            let stop = match tree.get("stop_reason").and_then(Tree::as_text).as_deref() {
                Some("end_turn" | "stop_sequence") | None => Stop::End,
                Some("tool_use") => Stop::ToolCalls,
                Some("max_tokens" | "model_context_window_exceeded") => Stop::Length,
                Some("refusal") => Stop::Refused,
                Some(other) => Stop::Other(other.to_owned()),
            };
            (texts.collect(), stop, Tree::Array(content.items().iter().filter_map(anthropic_block).collect()))
        }
        Format::Gemini => gemini(tree)?,
    };
    // What is wrong with one call is in its place; the tree was read, so that the whole of it is JSON.
    let calls = calls(format, tree.write().as_bytes()).unwrap_or_default();
    let stop = match stop {
        // Not everybody who speaks these formats says why it stopped.
        Stop::End if !calls.is_empty() => Stop::ToolCalls,
        Stop::ToolCalls if calls.is_empty() => Stop::End,
        other => other,
    };
    let usage = usage(format, tree);
    Ok(ModelTurn { text, calls, stop, usage, verbatim: Some(Verbatim { format, content: verbatim.write() }) })
}

/// A text, or texts in parts.
fn content_text(content: Option<&Tree>) -> String {
    match content {
        Some(Tree::Array(parts)) => parts.iter().filter_map(|part| part.get("text")?.as_text()).collect(),
        Some(other) => other.as_text().unwrap_or_default(),
        None => String::new(),
    }
}

/// A message as it can be sent back: what is `null` need not be known there, and annotations are not.
fn chat_message(message: &Tree) -> Tree {
    let is_kept = |(key, value): &&(String, Tree)| {
        (!value.is_token("null") || key == "content") && !matches!(key.as_str(), "annotations" | "audio")
    };
    let mut kept = Tree::Object(message.members().iter().filter(is_kept).cloned().collect());
    kept.set("role", Tree::text("assistant"));
    kept
}

/// A block as it can be sent back: empty texts, and arguments that are no object, are refused there.
fn anthropic_block(block: &Tree) -> Option<Tree> {
    let is = |kind: &str| block.get("type").is_some_and(|known| known.is_text(kind));
    if is("text") && block.get("text").and_then(Tree::as_text).is_none_or(|text| text.trim().is_empty()) {
        return None;
    }
    let mut block = block.clone();
    if is("tool_use") && !block.get("input").is_some_and(Tree::is_object) {
        block.set("input", Tree::Object(Vec::new()));
    }
    Some(block)
}

fn gemini(tree: &Tree) -> Result<(String, Stop, Tree), ModelFailure> {
    let empty = Tree::object([("role", Tree::text("model")), ("parts", Tree::Array(Vec::new()))]);
    let blocked = tree.get("promptFeedback").and_then(|feedback| feedback.get("blockReason")?.as_text());
    let Some(candidate) = tree.get("candidates").and_then(|candidates| candidates.items().first()) else {
        return match blocked {
            Some(why) => Ok((format!("The request is blocked: {why}"), Stop::Refused, empty)),
            None => Err(ModelFailure::Malformed("there is no candidate in it".into())),
        };
    };
    let parts = candidate.get("content").and_then(|content| content.get("parts")).map(Tree::items).unwrap_or_default();
    let is_thought = |part: &Tree| part.get("thought").is_some_and(|thought| thought.is_token("true"));
    let texts = parts.iter().filter(|part| !is_thought(part)).filter_map(|part| part.get("text")?.as_text());
    let stop = match candidate.get("finishReason").and_then(Tree::as_text).as_deref() {
        Some("STOP") | None => Stop::End,
        Some("MAX_TOKENS") => Stop::Length,
        Some("SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII" | "LANGUAGE" | "IMAGE_SAFETY") => {
            Stop::Refused
        }
        Some(other) => Stop::Other(other.to_owned()),
    };
    Ok((
        texts.collect(),
        stop,
        candidate.get("content").filter(|content| content.is_object()).cloned().unwrap_or(empty),
    ))
}

fn usage(format: Format, tree: &Tree) -> Option<Usage> {
    let usage = tree.get(if format == Format::Gemini { "usageMetadata" } else { "usage" })?;
    if !usage.is_object() {
        return None;
    }
    let count = |path: &[&str]| path.iter().try_fold(usage, |tree, key| tree.get(key)).and_then(number).unwrap_or(0);
    Some(match format {
        Format::OpenAiChat => Usage {
            input_tokens: count(&["prompt_tokens"]),
            output_tokens: count(&["completion_tokens"]),
            cached_tokens: count(&["prompt_tokens_details", "cached_tokens"]),
        },
        Format::OpenAiResponses => Usage {
            input_tokens: count(&["input_tokens"]),
            output_tokens: count(&["output_tokens"]),
            cached_tokens: count(&["input_tokens_details", "cached_tokens"]),
        },
        Format::Anthropic => {
            let cached_tokens = count(&["cache_read_input_tokens"]);
            let written = count(&["cache_creation_input_tokens"]);
            Usage {
                // What is read from the cache or written to it is not in the first number.
                input_tokens: count(&["input_tokens"]).saturating_add(cached_tokens).saturating_add(written),
                output_tokens: count(&["output_tokens"]),
                cached_tokens,
            }
        }
        Format::Gemini => Usage {
            input_tokens: count(&["promptTokenCount"]).saturating_add(count(&["toolUsePromptTokenCount"])),
            output_tokens: count(&["candidatesTokenCount"]).saturating_add(count(&["thoughtsTokenCount"])),
            cached_tokens: count(&["cachedContentTokenCount"]),
        },
    })
}
