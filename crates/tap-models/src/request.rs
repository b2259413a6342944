//! What is sent: the body of a request in a format.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use std::borrow::Cow;

use crate::conversation::{ModelRequest, Part, ToolChoice, Turn};
use crate::tree::{Tree, sound};
use crate::{Call, Format, ModelTurn};

/// What a model is told of a call that nobody answered: each interface wants a result for each.
const UNANSWERED: &[u8] =
    br#"{"content":[{"type":"text","text":"There is no result: the call was not carried out."}],"isError":true}"#;

/// How much Anthropic's models may say where nothing else is asked, tokens: this interface wants a number.
pub(crate) const ANTHROPIC_OUTPUT_LIMIT_TOKENS: u64 = 8_192;

/// The body of a request, JSON. Half a surrogate, which some interfaces refuse a whole request for, is written as U+FFFD;
/// numbers stay as they are.
///
/// Chat completions: `POST /chat/completions`. Responses: `POST /responses`. Anthropic: `POST /v1/messages`. Gemini:
/// `POST /v1beta/models/MODEL:generateContent`, or `:streamGenerateContent?alt=sse`.
#[must_use]
pub fn request_body(format: Format, request: &ModelRequest<'_>, stream: bool) -> String {
    let turns = settle(format, request.turns);
    let body = match format {
        Format::OpenAiChat => chat::body(request, &turns, stream),
        Format::OpenAiResponses => responses::body(request, &turns, stream),
        Format::Anthropic => anthropic::body(request, &turns, stream),
        Format::Gemini => gemini::body(request, &turns),
    };
    sound(body.write())
}

/// A turn in which each call has what its result is filed under, and a result.
enum Settled<'a> {
    User(&'a [Part]),
    Model { turn: &'a ModelTurn, calls: Vec<Call>, verbatim: Option<Tree> },
    Results(Vec<(Call, Cow<'a, [u8]>)>),
}

/// A call of the last turn, the id that it had there, and its result when it is known.
struct Open<'a> {
    call: Call,
    id: Option<String>,
    result: Option<&'a [u8]>,
}

fn settle<'a>(format: Format, turns: &'a [Turn]) -> Vec<Settled<'a>> {
    let mut settled = Vec::new();
    let mut open: Vec<Open<'a>> = Vec::new();
    for (index, turn) in turns.iter().enumerate() {
        match turn {
            Turn::Results(results) => {
                for (call, result) in results {
                    let free = || open.iter().enumerate().filter(|(_, open)| open.result.is_none());
                    let named = free().find(|(_, open)| open.id == call.id && open.call.name == call.name);
                    let found = named.or_else(|| free().find(|(_, open)| open.id == call.id && open.id.is_some()));
                    // A result of what nobody called would be refused, and the conversation with it.
                    if let Some(place) = found.map(|(place, _)| place)
                        && let Some(open) = open.get_mut(place)
                    {
                        open.result = Some(result);
                    }
                }
            }
            Turn::User(parts) => {
                close(&mut open, &mut settled);
                settled.push(Settled::User(parts));
            }
            Turn::Model(turn) => {
                close(&mut open, &mut settled);
                let calls: Vec<Call> = turn.to_answer().collect();
                open = calls.into_iter().enumerate().map(|(n, call)| named(format, index, n, call)).collect();
                let verbatim = turn.verbatim.as_ref().filter(|verbatim| verbatim.format == format);
                settled.push(Settled::Model {
                    turn,
                    calls: open.iter().map(|open| open.call.clone()).collect(),
                    verbatim: verbatim.and_then(|verbatim| Tree::read(verbatim.content.as_bytes())),
                });
            }
        }
    }
    close(&mut open, &mut settled);
    settled
}

/// A call with an id, but for Gemini, which files by name and order.
fn named<'a>(format: Format, turn: usize, n: usize, mut call: Call) -> Open<'a> {
    let id = call.id.clone();
    if format != Format::Gemini && call.id.as_deref().is_none_or(str::is_empty) {
        call.id = Some(format!("call_{turn}_{n}"));
    }
    if call.name.is_empty() {
        // Something has to be there, and the model is told in the result what is wrong.
        call.name = "unnamed".into();
    }
    Open { call, id, result: None }
}

fn close<'a>(open: &mut Vec<Open<'a>>, settled: &mut Vec<Settled<'a>>) {
    if !open.is_empty() {
        let results = open.drain(..).map(|open| (open.call, Cow::Borrowed(open.result.unwrap_or(UNANSWERED))));
        settled.push(Settled::Results(results.collect()));
    }
}

/// A result as the interface wants it.
fn told(format: Format, request: &ModelRequest<'_>, call: &Call, result: &[u8]) -> Tree {
    Tree::Token(crate::result(format, call, result, request.result_limit_bytes).text)
}

fn tools(request: &ModelRequest<'_>) -> Vec<Tree> {
    request.tools.iter().filter_map(|tool| tool.text.clone()).map(Tree::Token).collect()
}

/// The tools of a request, and whether they may be called, as both interfaces of OpenAI have it.
fn set_tools(body: &mut Tree, request: &ModelRequest<'_>) {
    let tools = tools(request);
    if tools.is_empty() {
        return;
    }
    body.set("tools", Tree::Array(tools));
    match request.tool_choice {
        ToolChoice::Auto => {}
        ToolChoice::Required => body.set("tool_choice", Tree::text("required")),
        ToolChoice::None => body.set("tool_choice", Tree::text("none")),
    }
}

/// The temperature, if it is a number.
fn temperature(request: &ModelRequest<'_>) -> Option<Tree> {
    match Tree::read(request.temperature?.trim().as_bytes())? {
        Tree::Token(token) if token.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            Some(Tree::Token(token))
        }
        _ => None,
    }
}

fn number(number: u64) -> Tree {
    Tree::Token(number.to_string())
}

fn truth(truth: bool) -> Tree {
    Tree::Token(truth.to_string())
}

fn texts<'a>(texts: impl Iterator<Item = &'a String>) -> Tree {
    Tree::Array(texts.map(|text| Tree::text(text)).collect())
}

/// A part in words, where it has any.
fn words(part: &Part) -> Option<Cow<'_, str>> {
    match part {
        Part::Text(text) => Some(Cow::Borrowed(text)),
        Part::Resource { uri, text } => Some(Cow::Owned(format!("{uri}:\n{text}"))),
        Part::Image { .. } => None,
    }
}

/// Arguments that an interface takes: a JSON object, or an empty one.
fn arguments(call: &Call) -> Tree {
    match Tree::read(call.arguments.as_bytes()) {
        Some(object @ Tree::Object(_)) => object,
        _ => Tree::Object(Vec::new()),
    }
}
