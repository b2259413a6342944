//! Calls that are counted together, and what of them.

use tap_session::{At, Call, Status};

use super::{Latencies, Open};

/// Calls that are counted together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) n_calls: u64,
    pub(crate) n_errors: u64,
    pub(crate) n_tool_errors: u64,
    pub(crate) n_cancelled: u64,
    /// Without an answer at the end of the session.
    pub(crate) n_unanswered: u64,
    /// Without an answer so far, in a session that goes on.
    pub(crate) n_in_flight: u64,
    /// Answered with a question that the client has not come back to.
    pub(crate) n_waiting: u64,
    /// Requests beyond the first of a call: rounds of input.
    pub(crate) n_rounds: u64,
    pub(crate) latencies: Latencies,
    pub(crate) first_progress: Latencies,
    /// Over HTTP, from when the request was complete to the first byte of the answer.
    pub(crate) first_byte: Latencies,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
    /// How long the slowest took, nanoseconds, and its first message.
    pub(crate) slowest: Option<(u64, At)>,
}

impl Group {
    /// Counts a call as far as it is known, but not how it ended.
    pub(super) fn begun(&mut self, call: &Open) {
        self.n_calls += 1;
        self.n_rounds += call.n_rounds.saturating_sub(1);
        self.request_bytes += call.request_bytes;
        self.answer_bytes += call.answer_bytes;
        for ns in &call.first_byte_ns {
            self.first_byte.push(*ns);
        }
    }

    pub(super) fn ended(&mut self, open: &Open, status: Status, call: Option<&Call>) {
        self.begun(open);
        match status {
            Status::Ok => {}
            Status::ToolError => self.n_tool_errors += 1,
            Status::Error => self.n_errors += 1,
        }
        self.n_cancelled += u64::from(call.is_some_and(|call| call.cancelled.is_some()));
        if let Some(ns) = call.and_then(|call| call.first_progress_ns) {
            self.first_progress.push(ns);
        }
        self.latencies.push(open.latency_ns);
        if self.slowest.is_none_or(|(slowest, _)| slowest < open.latency_ns) {
            self.slowest = Some((open.latency_ns, open.first));
        }
    }

    /// Takes in all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_calls += other.n_calls;
        self.n_errors += other.n_errors;
        self.n_tool_errors += other.n_tool_errors;
        self.n_cancelled += other.n_cancelled;
        self.n_unanswered += other.n_unanswered;
        self.n_in_flight += other.n_in_flight;
        self.n_waiting += other.n_waiting;
        self.n_rounds += other.n_rounds;
        self.latencies.merge(&other.latencies);
        self.first_progress.merge(&other.first_progress);
        self.first_byte.merge(&other.first_byte);
        self.request_bytes += other.request_bytes;
        self.answer_bytes += other.answer_bytes;
        if let Some(other) = other.slowest
            && self.slowest.is_none_or(|slowest| slowest.0 < other.0 || (slowest.0 == other.0 && other.1 < slowest.1))
        {
            self.slowest = Some(other);
        }
    }
}
