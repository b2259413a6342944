//! Sessions without ids, where there is more than one: what is left to say when nobody can tell whose message it is.
//!
//! Servers without state are like that. Each request and its answer are in one exchange, which is certain; what connects
//! exchanges is not.

use tap_frame::{Direction, Stream};
use tap_jsonrpc::{Node, RawId, TOKEN_LIMIT_BYTES};
use tap_protocol::Era;

use super::exchange::Body;
use crate::follow::{Follower, Meaning};
use crate::state::SessionState;

/// Rules that judge a message by what was said in other exchanges. Those that hold in some revisions only, or need all of
/// a session, are out anyway.
const UNSURE: &[&str] = &[
    "RPC-004", "RPC-007", "LIF-002", "LIF-006", "LIF-010", "CAP-001", "CAP-002", "CAP-003", "CAP-004", "CAN-001",
    "CAN-003", "CAN-005", "LOG-002", "PAG-003",
];

/// Requests in flight among which the one that is cancelled is looked for.
const SEARCHED_CALLS: usize = 1_000;

/// Which ids a message lives with, if its exchange's requests have this scope. Requests of the server are answered in
/// another exchange.
pub(super) fn scope_of_message(state: &SessionState, scope: u64, stream: Stream, body: &Body<'_>) -> u64 {
    let cancels = body.method.as_deref() == Some("notifications/cancelled");
    match stream.direction() {
        Direction::ToServer if cancels => scope_of_cancelled(state, body).unwrap_or(scope),
        Direction::ToServer if body.requests.is_empty() => 0,
        Direction::ToClient if cancels || (body.method.is_some() && !body.requests.is_empty()) => 0,
        Direction::ToServer | Direction::ToClient => scope,
    }
}

/// The scope of the request that the client cancels, if there is but one with this id.
fn scope_of_cancelled(state: &SessionState, body: &Body<'_>) -> Option<u64> {
    let id: Node<'_> = body.params?.get("requestId")?;
    if TOKEN_LIMIT_BYTES <= id.bytes().len() || SEARCHED_CALLS < state.n_in_flight() {
        return None;
    }
    let wanted = RawId::from_token(id.bytes());
    let is_meant = |direction: Direction, raw_id: &RawId| direction == Direction::ToServer && *raw_id == wanted;
    let mut scopes =
        state.in_flight.keys().filter(|(_, direction, id)| is_meant(*direction, id)).map(|(scope, ..)| *scope);
    scopes.next().filter(|_| scopes.next().is_none())
}

/// Takes no revision for certain: the next message may be of a client that agreed on another one.
pub(super) fn forget_revision(follower: &mut Follower) {
    if follower.state().revision.is_some() {
        let state = follower.state_mut();
        (state.revision, state.era) = (None, Some(Era::Legacy));
    }
}

/// Leaves out what cannot be said of messages that may be of another session.
pub(super) fn leave_out(follower: &mut Follower, meaning: &mut Meaning) {
    forget_revision(follower);
    let state = follower.state_mut();
    meaning.findings.retain(|finding| {
        let sure = !UNSURE.contains(&finding.rule.id);
        if !sure {
            state.totals.n_findings[finding.severity as usize] -= 1;
        }
        sure
    });
}
