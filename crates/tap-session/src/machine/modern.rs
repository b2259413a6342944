//! The modern era: what each request says of itself, rounds, subscriptions, cache hints.
//!
//! Source: MCP 2026-07-28, basic, basic/versioning, server/discover. What the client owes is judged as soon as it speaks
//! this revision. What the server owes is judged once the server showed that it speaks it too: a server of the legacy era
//! may well answer a request of the modern one by its own rules.

mod caching;
mod codes;
mod meta;
mod rounds;
mod subscriptions;

use imbl::{HashSet, Vector};
use tap_jsonrpc::Node;
use tap_protocol::{Era, METHOD_NOT_FOUND, Method, RESULT_TYPES, Revision, Revisions, Side, TASK_RESULT_TYPE};
use tap_protocol::{is_reserved_for_specification, meta as keys};

use super::{Out, Seen};
use crate::row::At;
use crate::rule::{Rule, Severity, clipped, quoted};
use crate::rules::modern as rule;
use crate::state::{Call, Kept, Phase, SessionState};

use std::sync::Arc;

pub use rounds::Round;
pub use subscriptions::{Filter, Subscription, SubscriptionEnd};

/// What is open in the modern era.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Modern {
    /// The message that showed that the server speaks the modern era.
    pub served: Option<At>,
    /// Requests that were answered `input_required`, in the order of these answers. Those that were asked again are among
    /// them for a while.
    pub rounds: Vector<Arc<Round>>,
    /// Subscriptions, in the order in which they were opened. Those that ended are among them for a while.
    pub subscriptions: Vector<Arc<Subscription>>,
    /// Rounds that were not remembered, because there were too many or they were too long.
    pub n_forgotten_rounds: u64,
    /// Subscriptions that were not remembered because there were too many.
    pub n_forgotten_subscriptions: u64,
    /// By kind of input: the first request that declared it.
    declared: rounds::Declared,
    pages: Vector<Arc<caching::Page>>,
    /// By side: the `_meta` that was judged last, and in which revisions.
    judged_meta: [Option<(Revisions, Kept)>; 2],
    /// Keys of `_meta` that a finding was made of.
    told_keys: HashSet<Arc<str>>,
    /// `server/discover` was answered with "no such method" before the server was known.
    refused_discover: Option<[At; 2]>,
    /// `initialize` was refused before the server was known.
    refused_initialize: Option<Refusal>,
    /// The old way of asking, before the server was known.
    asked_before: Vector<Asked>,
}

/// A request of the server, or the client's answer to one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked {
    at: At,
    by: Side,
    method: Arc<str>,
    /// Of an answer: its request.
    request: Option<At>,
}

/// Requests of the server, and answers to them, that are remembered until the server is known: it mostly asks for a few
/// things at once.
const ASKED_BEFORE: usize = 10;

/// An `initialize` that was answered with an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Refusal {
    request: At,
    answer: At,
    revisions: Revisions,
    names_versions: bool,
}

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    meta::any(state, seen, out);
    match seen.side {
        Side::Server => server_asks(state, seen, out),
        Side::Client if seen.is_modern() => {
            meta::request(state, seen, call, out);
            rounds::request(state, seen, call, out);
            subscriptions::request(state, seen, call);
        }
        Side::Client => {}
    }
}

/// A notification.
pub(crate) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    meta::any(state, seen, out);
    subscriptions::notification(state, seen, out);
    if seen.side == Side::Server && seen.method_name() == "notifications/message" && seen.is_modern() {
        deprecated(state, seen, "logging", out);
    }
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    meta::any(state, seen, out);
    if seen.side == Side::Client {
        client_answers(state, seen, Some(call), out);
        return;
    }
    if &*call.method == "initialize" {
        initialize_answered(state, seen, call, out);
        return;
    }
    if !call.is_modern() {
        return;
    }
    shows_modern(state, seen, call, out);
    if let Some(error) = seen.error {
        codes::error(state, seen, error, out);
        discover_refused(state, seen, call, error, out);
    }
    if let Some(result) = seen.result {
        let result_type = seen.parts.result_type.filter(|result_type| !result_type.is_null());
        let [ttl, scope, cursor] = match call.known {
            // Nothing else has them, but what asks for input where it should not.
            Some(known)
                if !known.cacheable && result_type.is_some_and(|result_type| result_type.is_text("complete")) =>
            {
                [None; 3]
            }
            _ => result.pick(["ttlMs", "cacheScope", "nextCursor"]),
        };
        meta::answer(state, seen, call, out);
        self::result_type(state, seen, call, result_type, out);
        if result_type.is_some_and(|result_type| result_type.is_text("input_required")) {
            rounds::asks(state, seen, call, out);
            if [ttl, scope].into_iter().flatten().any(|hint| !hint.is_null()) {
                out.find(&crate::rules::modern_rounds::MRT_009, seen, quoted(&call.method));
            }
        } else if result_type.is_some_and(|result_type| result_type.is_text("complete"))
            || (result_type.is_none() && state.modern.served.is_some())
        {
            caching::complete(state, seen, call, [ttl, scope, cursor], out);
        }
    }
    subscriptions::answer(state, seen, call, out);
}

/// An answer that pairs with no request.
pub(crate) fn answer_to_nothing(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    match (seen.side, seen.error) {
        (Side::Client, _) => client_answers(state, seen, None, out),
        (Side::Server, Some(error)) if seen.is_modern() => codes::error(state, seen, error, out),
        (Side::Server, _) => {}
    }
}

/// A request will not be answered any more: its exchange ended at this point, by this side.
pub(crate) fn dropped(state: &mut SessionState, call: &Call, at: At, by: Side) {
    if &*call.method == "subscriptions/listen" {
        subscriptions::dropped(state, call, at, by);
    }
}

/// The recording is over.
pub(crate) fn end(_state: &SessionState, _out: &mut Out<'_>) {}

/// Says that a message broke a rule, as another one shows too.
fn find_beside(rule: &'static Rule, seen: &Seen<'_>, detail: impl Into<String>, other: At, out: &mut Out<'_>) {
    if let Some(finding) = out.find(rule, seen, detail) {
        finding.others.push(other);
    }
}

/// Whether the client speaks the modern era, and nothing says yet that the server does not.
fn client_speaks_modern(state: &SessionState) -> bool {
    state.era == Some(Era::Modern) && state.phase == Phase::Operating
}

/// A request of the server, which the modern era does not have.
fn server_asks(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if !client_speaks_modern(state) {
        return;
    }
    if state.modern.served.is_some() {
        out.find(&rule::MOD_006, seen, quoted(seen.method_name()));
    } else if seen.is_modern() {
        remember_asked(state, seen, seen.method_name(), None);
    }
}

fn client_answers(state: &mut SessionState, seen: &Seen<'_>, call: Option<&Call>, out: &mut Out<'_>) {
    if !client_speaks_modern(state) || !seen.is_modern() {
        return;
    }
    if state.modern.served.is_none() {
        if let Some(call) = call {
            remember_asked(state, seen, &call.method, Some(call.at));
        }
        return;
    }
    let detail = match call {
        Some(call) => format!("to {}", quoted(&call.method)),
        None => "to no request".into(),
    };
    if let (Some(finding), Some(call)) = (out.find(&rule::MOD_007, seen, detail), call) {
        finding.others.push(call.at);
    }
}

/// Keeps what breaks a rule if the server turns out to be of the modern era.
fn remember_asked(state: &mut SessionState, seen: &Seen<'_>, method: &str, request: Option<At>) {
    // A server of both eras may ask whether the client is there before it has read what the client speaks.
    if method != "ping" && state.modern.asked_before.len() < ASKED_BEFORE {
        let method = clipped(method, 100).into();
        state.modern.asked_before.push_back(Asked { at: seen.at(), by: seen.side, method, request });
    }
}

/// Notes when an answer shows that the server speaks the modern era, and judges what was open until then.
fn shows_modern(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let modern = &mut state.modern;
    if modern.served.is_some() {
        return;
    }
    let shows = match (seen.result, seen.error) {
        (Some(result), _) if &*call.method == "server/discover" => result.get("supportedVersions").is_some(),
        (Some(_), _) => seen.parts.result_type.is_some_and(Node::is_string),
        (None, error) => modern_code(error),
    };
    if !shows {
        return;
    }
    serves(modern, seen, out);
}

/// The server speaks the modern era, as this message shows.
fn serves(modern: &mut Modern, seen: &Seen<'_>, out: &mut Out<'_>) {
    modern.served = Some(seen.at());
    for asked in std::mem::take(&mut modern.asked_before) {
        let method = quoted(&asked.method);
        let (rule, detail) = match asked.by {
            Side::Server => (&rule::MOD_006, method),
            Side::Client => (&rule::MOD_007, format!("to {method}")),
        };
        if let Some(finding) = out.find_at(rule, Revisions::MODERN, asked.at, asked.by, detail) {
            finding.others.extend(asked.request);
            finding.others.push(seen.at());
        }
    }
    if let Some([request, answer]) = modern.refused_discover.take() {
        discover_missing(seen, request, answer, out);
    }
    if let Some(refusal) = modern.refused_initialize.take() {
        refused(refusal, Some(seen.at()), out);
    }
}

/// Whether an error has a code that only this era has.
fn modern_code(error: Option<Node<'_>>) -> bool {
    let code = error.and_then(|error| error.get("code")?.as_i64());
    code.is_some_and(|code| {
        is_reserved_for_specification(code) && tap_protocol::error_code(code, Revision::V2026_07_28).is_some()
    })
}

fn discover_refused(state: &mut SessionState, seen: &Seen<'_>, call: &Call, error: Node<'_>, out: &mut Out<'_>) {
    // On a connection with a handshake the other era need not be there.
    if &*call.method != "server/discover"
        || state.era == Some(Era::Legacy)
        || error.get("code").and_then(Node::as_i64) != Some(METHOD_NOT_FOUND)
    {
        return;
    }
    if state.modern.served.is_some() {
        discover_missing(seen, call.at, seen.at(), out);
    } else {
        state.modern.refused_discover = Some([call.at, seen.at()]);
    }
}

fn discover_missing(seen: &Seen<'_>, request: At, answer: At, out: &mut Out<'_>) {
    let detail = "answered with -32601; other requests are served";
    if let Some(finding) = out.find_at(&rule::DSC_001, Revisions::MODERN, answer, Side::Server, detail) {
        finding.others.push(request);
        if seen.at() != answer {
            finding.others.push(seen.at());
        }
    }
}

fn initialize_answered(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(error) = seen.error else {
        // It knows both eras; or the legacy one alone, and then its answers to probes say nothing.
        state.modern.refused_discover = None;
        state.modern.refused_initialize = None;
        state.modern.asked_before.clear();
        return;
    };
    let refusal = Refusal {
        request: call.at,
        answer: seen.at(),
        revisions: call.revisions,
        names_versions: names_versions(error),
    };
    // A second handshake of a legacy session is refused by servers of every era.
    if state.era == Some(Era::Legacy) {
        return;
    }
    if state.modern.served.is_some() || modern_code(Some(error)) {
        refused(refusal, state.modern.served, out);
    } else {
        state.modern.refused_initialize = Some(refusal);
    }
}

fn refused(refusal: Refusal, served: Option<At>, out: &mut Out<'_>) {
    let Refusal { request, answer, revisions, names_versions } = refusal;
    let (by, detail) = match names_versions {
        true => (Side::Client, "the error names versions"),
        false => (Side::Server, "the error names no version"),
    };
    if let Some(finding) = out.find_at(&rule::MOD_008, revisions, answer, by, detail) {
        if names_versions {
            finding.severity = Severity::Note;
        }
        finding.others.push(request);
        finding.others.extend(served.filter(|served| *served != answer));
    }
}

/// Whether an error says which revision the server speaks, wherever it does.
fn names_versions(error: Node<'_>) -> bool {
    let [message, data] = error.pick(["message", "data"]);
    let names = |node: Node<'_>| {
        let text = String::from_utf8_lossy(node.bytes());
        Revision::ALL.iter().filter(|revision| revision.era() == Era::Modern).any(|known| text.contains(known.as_str()))
    };
    let listed =
        data.and_then(|data| data.get("supported")).is_some_and(|versions| versions.elements().next().is_some());
    listed || [message, data].into_iter().flatten().any(names)
}

/// Judges `resultType`.
fn result_type(
    state: &mut SessionState,
    seen: &Seen<'_>,
    call: &Call,
    result_type: Option<Node<'_>>,
    out: &mut Out<'_>,
) {
    let Some(result_type) = result_type else {
        if state.modern.served.is_some() {
            find_beside(&rule::MOD_004, seen, quoted(&call.method), call.at, out);
        } else if state.first_time("MOD-004") {
            let detail = format!("{}; the server may be of the legacy era", quoted(&call.method));
            if let Some(finding) = out.find(&rule::MOD_004, seen, detail) {
                finding.severity = Severity::Warning;
                finding.others.push(call.at);
            }
        }
        return;
    };
    let Some(text) = result_type.text() else {
        out.find(&rule::MOD_005, seen, "it is no text");
        return;
    };
    // That a task needs the tasks extension is a rule of tasks.
    if RESULT_TYPES.contains(&&*text) || text == TASK_RESULT_TYPE || other_extension(call) {
        return;
    }
    find_beside(&rule::MOD_005, seen, quoted(&text), call.at, out);
}

/// Whether a request declares an extension of which this crate does not know what it adds, or may do so.
fn other_extension(call: &Call) -> bool {
    let belongs = call.known.is_none_or(|method: &Method| method.extension.is_some());
    let Some(params) = &call.params else {
        return true;
    };
    let extensions = params.node().at(&["_meta", keys::CLIENT_CAPABILITIES, "extensions"]);
    belongs
        || extensions
            .is_some_and(|extensions| extensions.members().any(|(key, _)| !key.is(tap_protocol::TASKS_EXTENSION)))
}

/// Tells once a session that a deprecated feature is in use.
fn deprecated(state: &mut SessionState, seen: &Seen<'_>, feature: &'static str, out: &mut Out<'_>) {
    let key = match feature {
        "roots" => "DEP-001 roots",
        "sampling" => "DEP-001 sampling",
        "includeContext" => "DEP-001 includeContext",
        _ => "DEP-001 logging",
    };
    if state.first_time(key) {
        out.find(&crate::rules::modern_meta::DEP_001, seen, format!("{feature}; told once a session"));
    }
}

#[cfg(test)]
mod tests;
