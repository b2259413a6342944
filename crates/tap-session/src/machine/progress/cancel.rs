//! Cancellation.
//!
//! Source: MCP basic/utilities/cancellation of each legacy revision; 2026-07-28, basic/patterns/cancellation.

use tap_frame::Direction;
use tap_jsonrpc::{Node, RawId, TOKEN_LIMIT_BYTES};
use tap_protocol::{Era, Side};

use super::super::tasks::became_a_task;
use super::super::{LinkKind, Out, Seen};
use super::{GRACE_NS, spelled_otherwise};
use crate::rule::{Severity, quoted};
use crate::rules::progress as rule;
use crate::state::{Call, SessionState};

/// `notifications/cancelled`.
pub(super) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let Some(id) = seen.param("requestId").filter(|id| !id.is_null()) else {
        out.find(&rule::CAN_007, seen, if seen.param("requestId").is_some() { "it is null" } else { "" });
        return;
    };
    if TOKEN_LIMIT_BYTES <= id.bytes().len() {
        return;
    }
    let raw_id = RawId::from_token(id.bytes());
    if seen.side == Side::Server && seen.is_modern() {
        end_subscription(state, seen, &raw_id, out);
    } else if let Some(call) = state.call(seen.scope, seen.direction(), &raw_id).map(|call| Call::clone(call)) {
        cancel(state, seen, &call, out);
    } else {
        cancel_nothing(state, seen, &raw_id, out);
    }
}

/// The cancellation of a request in flight.
fn cancel(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if &*call.method == "initialize" {
        point_to(out.find(&rule::CAN_001, seen, format!("id {}", call.raw_id)), call);
    } else if makes_a_task(state, call) {
        point_to(out.find(&rule::CAN_006, seen, quoted(&call.method)), call);
    }
    mark(state, seen, call, out);
}

/// Notes with a request that it was cancelled. The first cancellation counts.
fn mark(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    out.link(seen.at(), call.at, LinkKind::Cancels);
    if call.cancelled.is_none() {
        state.change_call(call, |call| {
            call.cancelled = Some(seen.at());
            call.cancelled_after_ns = Some(seen.at_ns().saturating_sub(call.at_ns));
        });
    }
}

fn point_to(finding: Option<&mut crate::rule::Finding>, call: &Call) {
    if let Some(finding) = finding {
        finding.others.extend([Some(call.at), call.answer].into_iter().flatten());
    }
}

/// Whether a request becomes a task: it asks for one, and its receiver said that it makes them.
fn makes_a_task(state: &SessionState, call: &Call) -> bool {
    if became_a_task(call) {
        return true;
    }
    let Some((category, action)) = call.method.split_once('/') else {
        return false;
    };
    let capabilities = state.party(call.side().other()).capabilities.as_ref();
    call.param(&["task"]).is_some_and(Node::is_object)
        && capabilities.is_some_and(|known| known.declares(&["tasks", "requests", category, action]))
}

/// A cancellation that names no request in flight of its sender.
fn cancel_nothing(state: &SessionState, seen: &Seen<'_>, raw_id: &RawId, out: &mut Out<'_>) {
    if let Some(call) = state.recent_call(seen.scope, seen.direction(), raw_id) {
        out.link(seen.at(), call.at, LinkKind::Cancels);
        // What was dropped had no answer that the cancellation could come after.
        if call.answer.is_none() {
            return;
        }
        let by_the_task = became_a_task(call) && !seen.is_modern();
        let rule = if by_the_task { &rule::CAN_006 } else { &rule::CAN_003 };
        point_to(out.find(rule, seen, format!("id {raw_id}, {}", quoted(&call.method))), call);
        return;
    }
    let used = state.used_ids_of(seen.side);
    // In HTTP of the modern era the request was in another exchange.
    if seen.scope != 0 || 0 < used.n_forgotten || state.told_once.contains("TAP-001") {
        return;
    }
    if used.contains(raw_id) {
        out.find(&rule::CAN_003, seen, format!("id {raw_id}, which was answered long ago"));
        return;
    }
    let asked = seen.direction().reversed();
    if let Some(call) = state.call(seen.scope, asked, raw_id)
        && !seen.is_modern()
    {
        // Its sender waits for an answer to it just now: that it is another request with the same id by chance, which was
        // never sent, is for novels.
        point_to(out.find(&rule::CAN_004, seen, format!("id {raw_id} is the peer's {}", quoted(&call.method))), call);
        return;
    }
    let detail = match spelled_otherwise(raw_id) {
        Some(other) if used.contains(&other) => format!("id {raw_id}; a request had the id {other}"),
        _ => format!("id {raw_id}"),
    };
    out.find(&rule::CAN_002, seen, detail);
}

/// A cancellation by a server of the modern era: it may end what the client listens to, and nothing else.
///
/// One page of the specification wants this message, another a response: either will do, and both in any order.
fn end_subscription(state: &mut SessionState, seen: &Seen<'_>, raw_id: &RawId, out: &mut Out<'_>) {
    let listens = |call: &Call| &*call.method == "subscriptions/listen";
    if let Some(call) = state.call(seen.scope, Direction::ToServer, raw_id).map(|call| Call::clone(call)) {
        if listens(&call) {
            mark(state, seen, &call, out);
        } else {
            out.link(seen.at(), call.at, LinkKind::Cancels);
            point_to(out.find(&rule::CAN_008, seen, format!("id {raw_id} is {}", quoted(&call.method))), &call);
        }
        return;
    }
    if !state.whole {
        return;
    }
    if let Some(call) = state.recent_call(seen.scope, Direction::ToServer, raw_id) {
        out.link(seen.at(), call.at, LinkKind::Cancels);
        if !listens(call) {
            point_to(out.find(&rule::CAN_008, seen, format!("id {raw_id} was {}", quoted(&call.method))), call);
        }
        return;
    }
    let used = state.used_ids_of(Side::Client);
    if seen.scope == 0 && !used.contains(raw_id) && used.n_forgotten == 0 {
        out.find(&rule::CAN_008, seen, format!("id {raw_id} is no request's"));
    }
}

/// The answer to a request that was cancelled before.
pub(super) fn answer(state: &SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(cancelled) = call.cancelled else {
        return;
    };
    // What a client listens to may end with both. And what was cancelled before a gap may have been asked again in it.
    if &*call.method == "subscriptions/listen" || !state.is_whole_since(call) {
        return;
    }
    let since_ns = call.latency_ns.unwrap_or_default().saturating_sub(call.cancelled_after_ns.unwrap_or_default());
    if let Some(finding) = out.find(&rule::CAN_005, seen, format!("{} ms after it", since_ns / 1_000_000)) {
        finding.others.extend([call.at, cancelled]);
        // A server of the legacy era owes its own rules alone, also to a probe that was given up.
        let legacy_server = call.is_modern() && state.era != Some(Era::Modern);
        if since_ns <= GRACE_NS || legacy_server {
            finding.severity = Severity::Note;
        }
    }
}
