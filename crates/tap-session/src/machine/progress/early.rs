//! Progress that was seen before the request that supplies its token.
//!
//! A recorder that writes down what it has forwarded sees a quick server's progress before the request: so do imports of
//! such logs, and streams of HTTP that are put in one order. Nothing is said until the request has had time to show up.

use tap_jsonrpc::RawId;
use tap_protocol::{Revisions, Side};

use super::super::{LinkKind, Out, Seen};
use super::{GRACE_NS, count};
use crate::row::At;
use crate::rules::progress as rule;
use crate::state::{Call, Number, SessionState};

/// Early progress that is remembered. With more, the oldest is told at once.
const REMEMBERED: usize = 100;

/// Progress with a token that no request has supplied so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EarlyProgress {
    at: At,
    at_ns: u64,
    scope: u64,
    by: Side,
    revisions: Revisions,
    token: RawId,
    value: Option<Number>,
    detail: String,
}

/// Remembers progress with an unknown token.
pub(super) fn remember(
    state: &mut SessionState,
    seen: &Seen<'_>,
    token: RawId,
    value: Option<f64>,
    detail: String,
    out: &mut Out<'_>,
) {
    if REMEMBERED <= state.early_progress.len()
        && let Some(oldest) = state.early_progress.pop_front()
    {
        tell(&oldest, out);
    }
    state.early_progress.push_back(EarlyProgress {
        at: seen.at(),
        at_ns: seen.at_ns(),
        scope: seen.scope,
        by: seen.side,
        revisions: seen.revisions,
        token,
        value: value.map(Number),
        detail,
    });
}

/// A request supplied its token: progress that waits for it is its own.
pub(super) fn claim(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    if state.early_progress.is_empty() {
        return;
    }
    let token = call.progress_token.clone();
    state.early_progress.retain(|early| {
        let waits_for_it =
            Some(&early.token) == token.as_ref() && early.scope == seen.scope && early.by == seen.side.other();
        if waits_for_it {
            out.link(early.at, call.at, LinkKind::Progress);
            count(call, early.at_ns, early.value);
        }
        !waits_for_it
    });
}

/// Tells of the progress for which no request has come in time.
pub(super) fn tell_overdue(state: &mut SessionState, at_ns: u64, out: &mut Out<'_>) {
    while state.early_progress.front().is_some_and(|early| early.at_ns.saturating_add(GRACE_NS) < at_ns)
        && let Some(early) = state.early_progress.pop_front()
    {
        tell(&early, out);
    }
}

/// Tells of all of it, as no request will come.
pub(super) fn tell_all(state: &mut SessionState, out: &mut Out<'_>) {
    for early in std::mem::take(&mut state.early_progress) {
        tell(&early, out);
    }
}

fn tell(early: &EarlyProgress, out: &mut Out<'_>) {
    let _ = out.find_at(&rule::PRG_001, early.revisions, early.at, early.by, early.detail.clone());
}
