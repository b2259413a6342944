//! Log messages, and who asked for which.
//!
//! Source: MCP server/utilities/logging of each revision.

use imbl::HashMap;
use tap_jsonrpc::Node;
use tap_protocol::{LOG_LEVELS, Side, log_level};

use super::super::{Out, Seen};
use super::{GRACE_NS, answered_ns, null_member};
use crate::observer::WAITING_LIMIT;
use crate::row::At;
use crate::rule::{Severity, clipped, quoted};
use crate::rules::progress as rule;
use crate::state::{Call, SessionState};

/// The log level, and what was logged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Logging {
    /// The level that the client set last with `logging/setLevel`, and that the server accepted. In the modern era each
    /// request asks [for itself](Call::log_level).
    pub level: Option<&'static str>,
    /// The request that set it.
    pub set_at: Option<At>,
    /// Log messages whose level is none of the eight, or that have none.
    pub n_of_unknown_level: u64,
    n_by_level: [u64; LOG_LEVELS.len()],
    /// By scope: how many requests in flight ask for each level, the least severe first.
    asked: HashMap<u64, [u32; LOG_LEVELS.len()]>,
}

impl Logging {
    /// Log messages of one level.
    #[must_use]
    pub fn n_of_level(&self, level: &str) -> u64 {
        log_level(level).and_then(|level| self.n_by_level.get(usize::from(level))).copied().unwrap_or_default()
    }

    /// Log messages of all levels.
    #[must_use]
    pub fn n_messages(&self) -> u64 {
        self.n_by_level.iter().sum::<u64>() + self.n_of_unknown_level
    }

    /// The least severe level that a request in flight asks for.
    fn asked_level(&self, scope: u64) -> Option<u8> {
        let counts = self.asked.get(&scope)?;
        (0..).zip(counts).find(|(_, n_requests)| 0 < **n_requests).map(|(level, _)| level)
    }

    fn ask(&mut self, scope: u64, level: u8) {
        if let Some(n_requests) = self.asked.entry(scope).or_default().get_mut(usize::from(level)) {
            *n_requests += 1;
        }
    }

    fn ask_no_more(&mut self, scope: u64, level: u8) {
        let Some(counts) = self.asked.get_mut(&scope) else {
            return;
        };
        if let Some(n_requests) = counts.get_mut(usize::from(level)) {
            *n_requests = n_requests.saturating_sub(1);
        }
        if counts.iter().all(|n_requests| *n_requests == 0) {
            self.asked.remove(&scope);
        }
    }
}

/// The level that a message names, by its severity; what is none breaks a rule.
fn named_level(seen: &Seen<'_>, level: Option<Node<'_>>, out: &mut Out<'_>) -> Option<u8> {
    // That there is none is for LIF-016 to say.
    let level = level?;
    let known = level.text().and_then(|name| log_level(&name));
    if known.is_none() {
        let detail = match level.text() {
            Some(name) => quoted(&name),
            None => clipped(&String::from_utf8_lossy(level.bytes()), 80),
        };
        out.find(&rule::LOG_001, seen, detail);
    }
    known
}

fn name(level: u8) -> Option<&'static str> {
    LOG_LEVELS.get(usize::from(level)).copied()
}

/// A request, which may ask for a level.
pub(super) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    if seen.side == Side::Server {
        return;
    }
    let level = if &*call.method == "logging/setLevel" {
        named_level(seen, seen.param("level"), out)
    } else if seen.is_modern()
        && let Some(level) = seen.said.log_level
    {
        if level.is_null() {
            null_member(&rule::LOG_001, seen, out);
            return;
        }
        named_level(seen, Some(level), out)
    } else {
        None
    };
    let Some(level) = level else {
        return;
    };
    call.log_level = name(level);
    // Others do not get in flight.
    if !call.raw_id.is_null() && !call.is_notification() && state.n_in_flight() < WAITING_LIMIT {
        state.logging.ask(call.scope, level);
    }
}

/// A request will not be answered any more.
pub(super) fn dropped(state: &mut SessionState, call: &Call) {
    if let Some(level) = call.log_level.and_then(log_level) {
        state.logging.ask_no_more(call.scope, level);
    }
}

/// An answer to a request that may have asked for a level.
pub(super) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call) {
    let Some(level) = call.log_level.and_then(log_level) else {
        return;
    };
    state.logging.ask_no_more(call.scope, level);
    if &*call.method == "logging/setLevel" && seen.result.is_some() && seen.error.is_none() {
        state.logging.level = name(level);
        state.logging.set_at = Some(call.at);
    }
}

/// `notifications/message`.
pub(super) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    if seen.side == Side::Client {
        return;
    }
    let Some(level) = named_level(seen, seen.param("level"), out) else {
        state.logging.n_of_unknown_level += 1;
        return;
    };
    if let Some(n_messages) = state.logging.n_by_level.get_mut(usize::from(level)) {
        *n_messages += 1;
    }
    if seen.is_modern() {
        asked_for(state, seen, level, out);
    } else {
        above_level(state, seen, level, out);
    }
}

/// A log message of the legacy era against the level that was set.
fn above_level(state: &SessionState, seen: &Seen<'_>, level: u8, out: &mut Out<'_>) {
    let Some(set) = state.logging.level.and_then(log_level) else {
        return;
    };
    // A level that is being set may hold before the server says so.
    let lowest = state.logging.asked_level(seen.scope).map_or(set, |asked| asked.min(set));
    if level < lowest {
        let detail = format!("{}, and {} was set", shown(level), shown(set));
        if let (Some(finding), Some(at)) = (out.find(&rule::LOG_002, seen, detail), state.logging.set_at) {
            finding.others.push(at);
        }
    }
}

/// A log message of the modern era against the requests in flight: it does not say to which of them it belongs.
fn asked_for(state: &SessionState, seen: &Seen<'_>, level: u8, out: &mut Out<'_>) {
    let asked = state.logging.asked_level(seen.scope);
    if asked.is_some_and(|asked| asked <= level) || state.told_once.contains("TAP-001") {
        return;
    }
    let finding = match asked {
        None => out.find(&rule::LOG_003, seen, shown(level)),
        Some(asked) => out.find(&rule::LOG_004, seen, format!("{}; asked was {}", shown(level), shown(asked))),
    };
    // For a request that was answered this moment it is late, and no more than that.
    let mut just_ended =
        state.recent().rev().take_while(|call| seen.at_ns().saturating_sub(answered_ns(call)) <= GRACE_NS);
    let late_for = just_ended.find(|call| {
        call.scope == seen.scope && call.log_level.and_then(log_level).is_some_and(|asked| asked <= level)
    });
    if let (Some(finding), Some(call)) = (finding, late_for) {
        finding.severity = Severity::Warning;
        finding.others.extend([Some(call.at), call.answer].into_iter().flatten());
    }
}

fn shown(level: u8) -> String {
    quoted(name(level).unwrap_or_default())
}
