//! Progress, pings, completion, and requests of a server that belong to none of the client's.
//!
//! Source: MCP basic/utilities/progress, basic/utilities/ping and server/utilities/completion of each legacy revision;
//! 2026-07-28, basic/patterns/progress; SEP-2260.

mod cancel;
pub(crate) mod early;
pub(crate) mod logging;

use std::sync::Arc;

use tap_frame::Direction;
use tap_jsonrpc::{Node, RawId, TOKEN_LIMIT_BYTES};
use tap_protocol::{Revisions, Side};

use super::{LinkKind, Out, Seen, tasks};
use crate::rule::{Rule, Severity, clipped, quoted};
use crate::rules::progress as rule;
use crate::state::{Call, Number, SessionState};

/// What comes within this time of what should have stopped it may have been on its way, nanoseconds.
///
/// Two threads that write to one pipe cross within milliseconds. A cancellation that waits behind a long message, or for
/// an event loop that is busy, may need longer. After a second nobody was merely slow.
const GRACE_NS: u64 = 1_000_000_000;

/// Requests in flight that are looked through, one by one, before a rule is said to be broken. With more than these the
/// rule is not judged, so that a peer that never answers does not make every message of the other one dear.
const SEARCHED_CALLS: usize = 1_000;

/// Completion values that an answer may hold.
const COMPLETION_VALUES: usize = 100;

/// Whole numbers up to this differ as `f64`.
const EXACT_LIMIT: f64 = 9_007_199_254_740_992.0;

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    early::tell_overdue(state, seen.at_ns(), out);
    supply(state, seen, call, out);
    logging::request(state, seen, call, out);
    if seen.side == Side::Server {
        unassociated(state, seen, out);
    }
}

/// A notification.
pub(crate) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    early::tell_overdue(state, seen.at_ns(), out);
    match seen.method_name() {
        "notifications/progress" => progress(state, seen, out),
        "notifications/cancelled" => cancel::notification(state, seen, out),
        "notifications/message" => logging::notification(state, seen, out),
        _ => {}
    }
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    early::tell_overdue(state, seen.at_ns(), out);
    cancel::answer(state, seen, call, out);
    logging::answer(state, seen, call);
    let Some(result) = seen.result else {
        return;
    };
    match &*call.method {
        "ping" => {
            let names: Vec<_> = result.members().map(|(key, _)| key).filter(|key| !key.is("_meta")).take(3).collect();
            if !names.is_empty() {
                let names: Vec<_> = names.iter().map(|key| quoted(&key.text())).collect();
                out.find(&rule::PNG_001, seen, format!("it has {}", names.join(", ")));
            }
        }
        "completion/complete" => {
            let values = result.at(&["completion", "values"]);
            let n_values = values.map_or(0, |values| values.elements().count());
            if COMPLETION_VALUES < n_values {
                out.find(&rule::CMP_001, seen, format!("{n_values} values"));
            }
        }
        _ => {}
    }
}

/// A request will not be answered any more.
pub(crate) fn dropped(state: &mut SessionState, call: &Call) {
    logging::dropped(state, call);
}

/// The recording is over.
pub(crate) fn end(state: &mut SessionState, out: &mut Out<'_>) {
    early::tell_all(state, out);
    let in_flight = state.in_flight.values().flatten();
    let mut pings: Vec<_> = in_flight.filter(|call| &*call.method == "ping" && call.cancelled.is_none()).collect();
    pings.sort_by_key(|call| call.at);
    for ping in pings {
        // A ping may come before anything says which revision is spoken.
        let revisions = ping.revisions.intersection(Revisions::LEGACY);
        let _ = out.find_at(&rule::PNG_002, revisions, ping.at, ping.side().other(), "");
    }
}

/// Whether a value may be a progress token.
fn is_token(token: Node<'_>) -> bool {
    token.is_string() || token.is_integer()
}

/// A token as it stands in a detail.
fn shown(token: Node<'_>) -> String {
    clipped(&String::from_utf8_lossy(token.bytes()), 80)
}

/// A request supplies the token for its progress.
fn supply(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    let Some(token) = &call.progress_token else {
        return;
    };
    let node = Node::new(token.as_bytes());
    if !is_token(node) {
        if node.is_null() {
            null_member(&rule::PRG_005, seen, out);
        } else {
            out.find(&rule::PRG_005, seen, format!("the request's is {}", shown(node)));
        }
        call.progress_token = None;
        return;
    }
    state.used_tokens[seen.side as usize].insert(token);
    if TOKEN_LIMIT_BYTES <= token.as_bytes().len() {
        return;
    }
    if let Some(other) = state.call_of_token(seen.direction(), token)
        && other.scope == seen.scope
        && other.cancelled.is_none()
        && state.is_whole_since(other)
        && let Some(finding) = out.find(&rule::PRG_006, seen, format!("{token} is that of {}", quoted(&other.method)))
    {
        finding.others.push(other.at);
    }
    early::claim(state, seen, call, out);
}

/// A request of the server that only makes sense while it works on one of the client's.
fn unassociated(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let nested = matches!(seen.method_name(), "sampling/createMessage" | "elicitation/create" | "roots/list");
    if !nested || SEARCHED_CALLS < state.in_flight.len() {
        return;
    }
    // What belongs to a task says so, and the request that made the task was answered long ago.
    let of_a_task = seen.said.related_task.is_some();
    let client_waits = state.in_flight.keys().any(|(_, direction, _)| *direction == Direction::ToServer);
    if !of_a_task && !client_waits {
        out.find(&rule::SRV_001, seen, quoted(seen.method_name()));
    }
}

fn progress(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if seen.side == Side::Client && seen.is_modern() {
        out.find(&rule::PRG_008, seen, "");
        return;
    }
    let [token, value, total] =
        seen.params.map_or([None; 3], |params| params.pick(["progressToken", "progress", "total"]));
    // That there is none is for LIF-016 to say.
    let Some(token) = token else {
        return;
    };
    if !is_token(token) {
        out.find(&rule::PRG_005, seen, format!("it is {}", shown(token)));
        return;
    }
    no_numbers(seen, value, total, out);
    let value = value.and_then(Node::as_f64);
    if let (Some(value), Some(total)) = (value, total.and_then(Node::as_f64))
        && total < value
    {
        out.find(&rule::PRG_007, seen, format!("{} of {}", written(value), written(total)));
    }
    if TOKEN_LIMIT_BYTES <= token.bytes().len() {
        // Only the beginning of such a token is kept, and others may begin like it.
        return;
    }
    let raw_token = RawId::from_token(token.bytes());
    if let Some(call) = active_call(state, seen, &raw_token) {
        advance(state, seen, call, value, out);
        let (key, at) = ((call.scope, call.direction, call.raw_id.clone()), call.at);
        state.change_call_at(&key, at, |call| count(call, seen.at_ns(), value.map(Number)));
    } else if let Some(index) = ended_call(state, seen, &raw_token) {
        late(state, seen, index, value, out);
    } else {
        unknown_token(state, seen, raw_token, value, out);
    }
}

/// Says which of the two are no numbers.
fn no_numbers(seen: &Seen<'_>, value: Option<Node<'_>>, total: Option<Node<'_>>, out: &mut Out<'_>) {
    match value {
        None => drop(out.find(&rule::PRG_009, seen, "`progress` is not there")),
        Some(value) if !value.is_number() => {
            out.find(&rule::PRG_009, seen, format!("`progress` is {}", shown(value)));
        }
        Some(_) => {}
    }
    match total {
        Some(total) if total.is_null() => null_member(&rule::PRG_009, seen, out),
        Some(total) if !total.is_number() => {
            out.find(&rule::PRG_009, seen, format!("`total` is {}", shown(total)));
        }
        _ => {}
    }
}

/// A member that need not be there is null, which peers mostly take for its absence: milder than a wrong value.
fn null_member(rule: &'static Rule, seen: &Seen<'_>, out: &mut Out<'_>) {
    if let Some(finding) = out.find(rule, seen, "null where the member should be left out") {
        finding.severity = Severity::Warning;
    }
}

/// The request in flight that a token was supplied with.
fn active_call<'state>(state: &'state SessionState, seen: &Seen<'_>, token: &RawId) -> Option<&'state Arc<Call>> {
    let asked = seen.direction().reversed();
    if let Some(call) = state.call_of_token(asked, token)
        && call.scope == seen.scope
    {
        return Some(call);
    }
    if SEARCHED_CALLS < state.n_in_flight() {
        return None;
    }
    // Of requests that share a token, against the rules or in exchanges that know nothing of each other, only the newest
    // is found by it.
    let shares = |call: &&Arc<Call>| {
        call.direction == asked && call.scope == seen.scope && call.progress_token.as_ref() == Some(token)
    };
    state.in_flight.values().flatten().find(shares)
}

/// Where among the calls that ended lately the one is that a token was supplied with.
fn ended_call(state: &SessionState, seen: &Seen<'_>, token: &RawId) -> Option<usize> {
    let asked = seen.direction().reversed();
    state.recent.iter().rposition(|call| {
        call.direction == asked && call.scope == seen.scope && call.progress_token.as_ref() == Some(token)
    })
}

/// Progress for a request that is worked on.
fn advance(state: &SessionState, seen: &Seen<'_>, call: &Call, value: Option<f64>, out: &mut Out<'_>) {
    out.link(seen.at(), call.at, LinkKind::Progress);
    let (Some(value), Some(Number(previous))) = (value, call.progress) else {
        return;
    };
    // A token may be used again when its request is over, which may have been in a gap.
    if !state.is_whole_since(call) {
        return;
    }
    // Very large numbers may differ, and yet be the same when they are rounded.
    let stands = value.to_bits() == previous.to_bits() && value.abs() < EXACT_LIMIT;
    if (value < previous || stands)
        && let Some(finding) = out.find(&rule::PRG_004, seen, format!("{} after {}", written(value), written(previous)))
    {
        finding.others.push(call.at);
    }
}

fn count(call: &mut Call, at_ns: u64, value: Option<Number>) {
    call.n_progress += 1;
    call.progress = value.or(call.progress);
    call.first_progress_ns = call.first_progress_ns.or(Some(at_ns.saturating_sub(call.at_ns)));
}

/// Progress for a request that was answered.
fn late(state: &mut SessionState, seen: &Seen<'_>, index: usize, value: Option<f64>, out: &mut Out<'_>) {
    let Some(call) = state.recent.get(index).cloned() else {
        return;
    };
    let others = [Some(call.at), call.answer].into_iter().flatten();
    if tasks::became_a_task(&call) {
        advance(state, seen, &call, value, out);
        if state.is_whole_since(&call)
            && task_is_terminal(state, &call) == Some(true)
            && let Some(finding) = out.find(&rule::PRG_003, seen, quoted(&call.method))
        {
            finding.others.extend(others);
        }
        if let Some(call) = state.recent.get_mut(index) {
            count(Arc::make_mut(call), seen.at_ns(), value.map(Number));
        }
        return;
    }
    out.link(seen.at(), call.at, LinkKind::Progress);
    // What was dropped was not answered; and the token may be that of another request by now, if something is missing.
    if call.answer.is_none() || !state.is_whole_since(&call) {
        return;
    }
    let since_ns = seen.at_ns().saturating_sub(answered_ns(&call));
    let detail = format!("{} ms after the answer to {}", since_ns / 1_000_000, quoted(&call.method));
    if let Some(finding) = out.find(&rule::PRG_002, seen, detail) {
        finding.others.extend(others);
        if since_ns <= GRACE_NS {
            finding.severity = Severity::Warning;
        }
    }
}

/// Whether the task that a call became has ended, if that is known.
fn task_is_terminal(state: &SessionState, call: &Call) -> Option<bool> {
    tasks::task_of(state, call).map(|task| task.is_terminal() && task.lost.is_none())
}

/// When a call was answered, nanoseconds since the session opened.
fn answered_ns(call: &Call) -> u64 {
    call.at_ns.saturating_add(call.latency_ns.unwrap_or_default())
}

/// Progress with a token that belongs to no request in flight, nor to one that ended lately.
fn unknown_token(state: &mut SessionState, seen: &Seen<'_>, token: RawId, value: Option<f64>, out: &mut Out<'_>) {
    let supplied = &state.used_tokens[seen.side.other() as usize];
    if supplied.contains(&token) || 0 < supplied.n_forgotten {
        return;
    }
    let detail = match spelled_otherwise(&token) {
        Some(other) if supplied.contains(&other) => format!("{token}; {other} was supplied"),
        _ if state.used_tokens[seen.side as usize].contains(&token) => {
            format!("{token}; its sender supplied it itself")
        }
        _ => token.to_string(),
    };
    early::remember(state, seen, token, value, detail, out);
}

/// `"1"` for `1`, and `1` for `"1"`.
fn spelled_otherwise(raw_id: &RawId) -> Option<RawId> {
    match raw_id.text() {
        Some(text) => Node::new(text.as_bytes()).is_integer().then(|| RawId::from_token(text.as_bytes())),
        None => Some(RawId::from_token(format!("\"{raw_id}\"").as_bytes())),
    }
}

/// A number of a peer as it stands in a detail.
fn written(number: f64) -> String {
    clipped(&number.to_string(), 30)
}

#[cfg(test)]
mod tests;
