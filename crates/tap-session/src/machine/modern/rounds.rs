//! Calls that go on over several requests: `input_required`, and the request that brings the input.
//!
//! Source: MCP 2026-07-28, basic/patterns/mrtr. The request that brings the input may come in another session, with what
//! this one gave, and the other way round: one that fits to nothing is no error.

use std::collections::HashSet;
use std::sync::Arc;

use tap_jsonrpc::{Node, RawId};
use tap_protocol::{Method, Revisions, meta};

use super::super::{LinkKind, Out, Seen};
use super::{Modern, deprecated, find_beside, rule as modern_rule};
use crate::machine::features::{self, equal};
use crate::row::At;
use crate::rule::{Severity, quoted};
use crate::rules::modern_rounds as rule;
use crate::state::{Call, Kept, SessionState, declares};

/// Rounds that are remembered: a user is asked for a few things at a time, and some are never answered.
const ROUNDS: usize = 100;

/// Requests inside one result, and answers to them, that are looked at.
const EMBEDDED: usize = 100;

/// Params that are longer are not compared to tell rounds apart, bytes: that may take a comparison with each of them.
const COMPARED_BYTES: usize = 16 * 1024;

/// Names that one finding shows.
const SHOWN: usize = 5;

/// A request that was answered `input_required`, which waits to be asked again with the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Round {
    /// The first request of the call.
    pub first: At,
    /// The request of this round.
    pub request: At,
    /// Its id as written.
    pub raw_id: RawId,
    /// Its method.
    pub method: Arc<str>,
    /// The tool, prompt or resource that it is about.
    pub target: Option<Arc<str>>,
    /// Its `params`, unless they are very long.
    pub params: Option<Kept>,
    /// The answer that asks for input.
    pub answer: At,
    /// When that was, nanoseconds since the session opened.
    pub answered_ns: u64,
    /// What it asks for: `inputRequests`.
    pub input_requests: Option<Kept>,
    /// Its `requestState` as written.
    pub request_state: Option<Kept>,
    /// Which round of the call this is, from 1.
    pub number: u64,
    /// The request that brought the input.
    pub retry: Option<At>,
}

impl Modern {
    /// The rounds that wait for input.
    pub fn waiting_rounds(&self) -> impl Iterator<Item = &Arc<Round>> {
        self.rounds.iter().filter(|round| round.retry.is_none())
    }
}

/// Kinds of input that a client declares that it can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Input {
    Form,
    Url,
    Sampling,
    SamplingTools,
    SamplingContext,
    Roots,
}

/// By kind of input: the first request that declared it.
pub(super) type Declared = [Option<At>; 6];

impl Input {
    const ALL: [Self; 6] =
        [Self::Form, Self::Url, Self::Sampling, Self::SamplingTools, Self::SamplingContext, Self::Roots];

    const fn capability(self) -> &'static str {
        match self {
            Self::Form => "elicitation.form",
            Self::Url => "elicitation.url",
            Self::Sampling => "sampling",
            Self::SamplingTools => "sampling.tools",
            Self::SamplingContext => "sampling.context",
            Self::Roots => "roots",
        }
    }

    fn is_declared_in(self, capabilities: Node<'_>) -> bool {
        let declares = |path: &[&str]| declares(capabilities, path);
        match self {
            // An empty object means forms, as before there was another mode.
            Self::Form => {
                declares(&["elicitation", "form"]) || declares(&["elicitation"]) && !declares(&["elicitation", "url"])
            }
            Self::Url => declares(&["elicitation", "url"]),
            Self::Sampling => declares(&["sampling"]),
            Self::SamplingTools => declares(&["sampling", "tools"]),
            Self::SamplingContext => declares(&["sampling", "context"]),
            Self::Roots => declares(&["roots"]),
        }
    }
}

/// Notes what a request declares, and judges one that brings input.
pub(super) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    // Clients declare the same with every request: looked at again when it changed.
    if state.client.declared_at == Some(seen.at())
        && let Some(capabilities) = seen.said.client_capabilities
    {
        for (input, declared) in Input::ALL.into_iter().zip(&mut state.modern.declared) {
            if declared.is_none() && input.is_declared_in(capabilities) {
                *declared = Some(seen.at());
            }
        }
    }
    let Some(params) = seen.params else {
        return;
    };
    let brought =
        [seen.parts.input_responses, seen.parts.request_state].map(|part| part.filter(|part| !part.is_null()));
    let [responses, request_state] = brought;
    if responses.or(request_state).is_none() || seen.method.is_none_or(|method| method.extension.is_some()) {
        return;
    }
    let brought = Brought { params, responses, request_state };
    let fits = state.modern.rounds.iter().enumerate().map(|(index, round)| (brought.fit(round, call), index));
    match fits.max() {
        Some(((Fit::Changed | Fit::Stateless | Fit::Exact, ..), index)) => {
            go_on(state, index, &brought, seen, call, out);
        }
        Some(((Fit::Elsewhere, ..), index)) => {
            let round = state.modern.rounds.get(index);
            let other = round.map_or(String::new(), |round| describe(&round.method, round.target.as_deref()));
            let detail = format!("{} has the requestState of {other}", describe(&call.method, call.target.as_deref()));
            if let (Some(finding), Some(round)) = (out.find(&rule::MRT_008, seen, detail), round) {
                finding.others.push(round.answer);
            }
        }
        Some(((Fit::None, ..), _)) | None => fits_nothing(state, seen, call, out),
    }
}

fn describe(method: &str, target: Option<&str>) -> String {
    match target {
        Some(target) => format!("{method} of {}", quoted(target)),
        None => method.into(),
    }
}

/// How well a request that brings input fits to a round; better is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    None,
    /// The same call, and another state.
    Changed,
    /// The same state, and another call.
    Elsewhere,
    /// The same call, without a state.
    Stateless,
    /// The same call, and the same state.
    Exact,
}

/// What a request brings.
struct Brought<'a> {
    params: Node<'a>,
    responses: Option<Node<'a>>,
    request_state: Option<Node<'a>>,
}

impl Brought<'_> {
    /// How well it fits; whether the round still waits; whether the other params are the same.
    fn fit(&self, round: &Round, call: &Call) -> (Fit, bool, bool) {
        let waits = round.retry.is_none();
        let same_call = round.method == call.method && round.target == call.target;
        let fit = match (&self.request_state, &round.request_state) {
            (Some(brought), Some(given)) if same_text(*brought, given.node()) => match same_call {
                true => Fit::Exact,
                false => Fit::Elsewhere,
            },
            (None, None) if same_call && self.answers(round) => Fit::Stateless,
            // What was asked again once may be asked again with what a later round gave, or after a loss.
            _ if same_call && waits && self.answers(round) => Fit::Changed,
            _ => Fit::None,
        };
        if fit == Fit::None {
            return (fit, false, false);
        }
        let is_short = |params: &[u8]| params.len() <= COMPARED_BYTES;
        let comparable = round.params.as_ref().filter(|before| is_short(&before.0) && is_short(self.params.bytes()));
        let same_params = comparable.is_some_and(|before| changed(before.node(), self.params).is_empty());
        (fit, waits, same_params)
    }

    /// Whether the answers are to what the round asks.
    fn answers(&self, round: &Round) -> bool {
        let asked = round.input_requests.as_ref().map(Kept::node);
        match (asked, self.responses) {
            (Some(asked), Some(responses)) => {
                let asked: HashSet<_> = asked.members().take(EMBEDDED).map(|(key, _)| key.text()).collect();
                let mut keys = responses.members().take(EMBEDDED).map(|(key, _)| key.text()).peekable();
                keys.peek().is_none() || keys.any(|key| asked.contains(&*key))
            }
            (None, Some(responses)) => responses.members().next().is_none(),
            (_, None) => true,
        }
    }
}

/// Whether two strings say the same, however they escape it.
fn same_text(left: Node<'_>, right: Node<'_>) -> bool {
    left.bytes() == right.bytes() || left.text().is_some_and(|text| right.is_text(&text))
}

/// A request goes on with a round.
fn go_on(
    state: &mut SessionState,
    index: usize,
    brought: &Brought<'_>,
    seen: &Seen<'_>,
    call: &mut Call,
    out: &mut Out<'_>,
) {
    let nothing_missing = state.whole && state.modern.n_forgotten_rounds == 0;
    let Some(round) = state.modern.rounds.get_mut(index) else {
        return;
    };
    call.first_round = Some(round.first);
    out.link(seen.at(), round.first, LinkKind::Round);
    let find = |out: &mut Out<'_>, rule, detail: String| {
        if let Some(finding) = out.find(rule, seen, detail) {
            finding.others.extend([round.request, round.answer]);
        }
    };
    if round.raw_id == call.raw_id {
        find(out, &rule::MRT_004, format!("id {}", call.raw_id));
    }
    let state_change = match (&round.request_state, brought.request_state) {
        (Some(given), Some(brought)) if same_text(given.node(), brought) => None,
        (Some(_), Some(_)) => Some("it was changed"),
        (Some(_), None) => Some("it was dropped"),
        (None, Some(_)) => Some("it was invented"),
        (None, None) => None,
    };
    if let Some(what) = state_change.filter(|_| nothing_missing) {
        find(out, &rule::MRT_005, what.into());
    }
    if let Some(before) = &round.params {
        let changed = changed(before.node(), brought.params);
        if !changed.is_empty() {
            find(out, &rule::MRT_006, names(&changed));
        }
    }
    if let Some(asked) = &round.input_requests {
        let answered: HashSet<_> =
            brought.responses.into_iter().flat_map(Node::members).map(|(key, _)| key.text()).collect();
        let keys = asked.node().members().take(EMBEDDED).map(|(key, _)| key.text());
        let missing: Vec<_> = keys.filter(|key| !answered.contains(&**key)).map(String::from).collect();
        if !missing.is_empty() {
            find(out, &rule::MRT_007, names(&missing));
        }
        for (key, request) in asked.node().members().take(EMBEDDED) {
            if let Some(answer) = brought.responses.and_then(|responses| responses.get(&key.text())) {
                features::embedded_pair(seen, request, answer, out);
            }
        }
    }
    Arc::make_mut(round).retry = Some(seen.at());
}

fn names(names: &[String]) -> String {
    let shown: Vec<_> = names.iter().take(SHOWN).map(|name| quoted(name)).collect();
    match names.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Input that no round of this session asked for. It may have been asked for elsewhere.
fn fits_nothing(state: &SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(method) = seen.method else {
        return;
    };
    if method.rounds && (!state.whole || state.modern.n_forgotten_rounds > 0) {
        return;
    }
    let detail = match method.rounds {
        true => {
            format!("{}: nothing that was asked for in this session", describe(&call.method, call.target.as_deref()))
        }
        false => format!("{} takes no input", call.method),
    };
    if let Some(finding) = out.find(&rule::MRT_008, seen, detail) {
        finding.severity = Severity::Warning;
    }
}

/// The members of two `params` that differ, apart from what changes from round to round. The order of members is none of
/// these: not every client writes them in the same order twice.
fn changed(before: Node<'_>, after: Node<'_>) -> Vec<String> {
    let own = |key: &str| matches!(key, "_meta" | "inputResponses" | "requestState");
    let mut changed = Vec::new();
    for (key, left, right) in beside(before, after) {
        if own(&key) {
            continue;
        }
        let same = matches!((left, right), (Some(left), Some(right)) if equal::same(left, right));
        if !same {
            changed.push(key);
        }
    }
    changed
}

type Beside<'a> = (String, Option<Node<'a>>, Option<Node<'a>>);

/// The members of two objects side by side, by key.
fn beside<'a>(left: Node<'a>, right: Node<'a>) -> Vec<Beside<'a>> {
    let mut all = std::collections::BTreeMap::<String, (Option<Node<'a>>, Option<Node<'a>>)>::new();
    for (key, value) in left.members() {
        all.entry(key.text().into()).or_default().0 = Some(value);
    }
    for (key, value) in right.members() {
        all.entry(key.text().into()).or_default().1 = Some(value);
    }
    all.into_iter().map(|(key, (left, right))| (key, left, right)).collect()
}

/// An answer asks for input.
pub(super) fn asks(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    // TSK-009 tells of these.
    if call.method.starts_with("tasks/") {
        return;
    }
    let [requests, request_state] =
        [seen.parts.input_requests, seen.parts.request_state].map(|part| part.filter(|part| !part.is_null()));
    if !call.known.is_some_and(|method| method.rounds) {
        let finding = out.find(&rule::MRT_001, seen, quoted(&call.method));
        if let Some(finding) = finding {
            finding.others.push(call.at);
            if call.known.is_none_or(|method| method.extension.is_some()) {
                // An extension may allow it.
                finding.severity = Severity::Warning;
            }
        }
    }
    if requests.or(request_state).is_none() {
        find_beside(&rule::MRT_002, seen, quoted(&call.method), call.at, out);
        return;
    }
    if let Some(requests) = requests {
        embedded(state, seen, call, requests, out);
    }
    remember(state, seen, call, requests, request_state);
}

fn remember(
    state: &mut SessionState,
    seen: &Seen<'_>,
    call: &Call,
    requests: Option<Node<'_>>,
    request_state: Option<Node<'_>>,
) {
    let modern = &mut state.modern;
    let before = modern.rounds.iter().rev().find(|round| round.retry == Some(call.at));
    let number = before.map_or(1, |round| round.number.saturating_add(1));
    let kept = [requests, request_state].map(|part| part.map(|part| seen.keep(part)));
    if kept.iter().any(|part| matches!(part, Some(None))) {
        modern.n_forgotten_rounds += 1;
        return;
    }
    let [input_requests, request_state] = kept.map(Option::flatten);
    if modern.rounds.len() >= ROUNDS {
        // One that was asked again is needed least.
        let asked_again = modern.rounds.iter().position(|round| round.retry.is_some());
        modern.rounds.remove(asked_again.unwrap_or_default());
        modern.n_forgotten_rounds += u64::from(asked_again.is_none());
    }
    modern.rounds.push_back(Arc::new(Round {
        first: call.first_round.unwrap_or(call.at),
        request: call.at,
        raw_id: call.raw_id.clone(),
        method: call.method.clone(),
        target: call.target.clone(),
        params: call.params.clone(),
        answer: seen.at(),
        answered_ns: seen.at_ns(),
        input_requests,
        request_state,
        number,
        retry: None,
    }));
}

/// Judges the requests inside an answer.
fn embedded(state: &mut SessionState, seen: &Seen<'_>, call: &Call, requests: Node<'_>, out: &mut Out<'_>) {
    if !requests.is_object() {
        out.find(&rule::MRT_003, seen, "`inputRequests` is no object");
        return;
    }
    for (key, request) in requests.members().take(EMBEDDED) {
        let [method, params, id, version] = request.pick(["method", "params", "id", "jsonrpc"]);
        let name = method.and_then(Node::text).unwrap_or_default();
        let known = tap_protocol::method(&name);
        if !known.is_some_and(|method: &Method| Revisions::MODERN.is_subset_of(method.embedded)) {
            let what = match method {
                Some(_) => format!("{} has the method {}", quoted(&key.text()), quoted(&name)),
                None => format!("{} is no request", quoted(&key.text())),
            };
            out.find(&rule::MRT_003, seen, what);
            continue;
        }
        if [id, version].into_iter().flatten().any(|part| !part.is_null())
            && let Some(finding) =
                out.find(&rule::MRT_003, seen, format!("{} has `id` or `jsonrpc`", quoted(&key.text())))
        {
            finding.severity = Severity::Warning;
        }
        for (input, severity) in needs(&name, params) {
            capability(state, seen, call, input, severity, out);
        }
        in_use(state, seen, &name, params, out);
    }
}

/// What a client must have declared for a request inside an answer.
fn needs(method: &str, params: Option<Node<'_>>) -> Vec<(Input, Severity)> {
    let param = |name: &str| params.and_then(|params| params.get(name)).filter(|value| !value.is_null());
    match method {
        "elicitation/create" if param("mode").is_some_and(|mode| mode.is_text("url")) => {
            vec![(Input::Url, Severity::Error)]
        }
        "elicitation/create" => vec![(Input::Form, Severity::Error)],
        "sampling/createMessage" => {
            let mut needs = vec![(Input::Sampling, Severity::Error)];
            if param("tools").or(param("toolChoice")).is_some() {
                needs.push((Input::SamplingTools, Severity::Error));
            }
            if includes_context(params) {
                // The schema says that it should not be sent, where others must not.
                needs.push((Input::SamplingContext, Severity::Warning));
            }
            needs
        }
        "roots/list" => vec![(Input::Roots, Severity::Error)],
        _ => Vec::new(),
    }
}

fn includes_context(params: Option<Node<'_>>) -> bool {
    let context = params.and_then(|params| params.get("includeContext"));
    context.is_some_and(|context| context.is_text("thisServer") || context.is_text("allServers"))
}

fn capability(state: &SessionState, seen: &Seen<'_>, call: &Call, input: Input, severity: Severity, out: &mut Out<'_>) {
    let Some(capabilities) = call.meta(meta::CLIENT_CAPABILITIES) else {
        // A request that does not say is answered with an error, or breaks a rule of its own.
        return;
    };
    if input.is_declared_in(capabilities) {
        return;
    }
    if let Some(finding) = out.find(&modern_rule::MOD_011, seen, format!("`{}`", input.capability())) {
        finding.severity = severity;
        finding.others.push(call.at);
    }
    let earlier = state.modern.declared.get(input as usize).copied().flatten().filter(|earlier| *earlier < call.at);
    if let Some(earlier) = earlier
        && let Some(finding) = out.find(&modern_rule::MOD_012, seen, format!("`{}`", input.capability()))
    {
        finding.others.extend([earlier, call.at]);
    }
}

fn in_use(state: &mut SessionState, seen: &Seen<'_>, method: &str, params: Option<Node<'_>>, out: &mut Out<'_>) {
    match method {
        "roots/list" => deprecated(state, seen, "roots", out),
        "sampling/createMessage" => {
            deprecated(state, seen, "sampling", out);
            if includes_context(params) {
                deprecated(state, seen, "includeContext", out);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
