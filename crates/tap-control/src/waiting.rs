//! Messages of one direction that wait, in the order in which they came.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::calls::Message;
use crate::lines::Lines;
use crate::told::HeldInfo;

/// Why a message waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Why {
    /// Somebody is to say what becomes of it. It goes on by itself at `until_ns`.
    Held { by: String, until_ns: Option<u64>, stays: bool, whole_stream: bool, temporary: bool },
    /// It goes on at `until_ns`.
    Delayed { by: String, until_ns: u64 },
    /// It goes on after the next one, or at `until_ns`.
    Reordered { by: String, until_ns: u64 },
    /// Another one has to go first.
    Behind { number: u64 },
}

/// A message that waits, or is being judged.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) number: u64,
    pub(crate) message: Message,
    /// What goes on: the message with what rules have changed.
    pub(crate) bytes: Bytes,
    /// Who changed it.
    pub(crate) changed_by: Option<String>,
    pub(crate) why: Why,
    /// The first rule that has not judged it yet.
    pub(crate) next_rule: u32,
}

impl Waiting {
    /// Whether it has to go before a message that came later.
    pub(crate) fn holds_up(&self, later: &Message, whole_stream: bool) -> bool {
        let is_of_same_call = self.message.call.is_some() && self.message.call == later.call;
        let holds_all = match &self.why {
            Why::Held { whole_stream: this, .. } => *this || whole_stream,
            Why::Delayed { .. } => whole_stream,
            // Its place in the order is what it is about.
            Why::Reordered { .. } => return is_of_same_call,
            Why::Behind { .. } => whole_stream,
        };
        let channel = self.message.channel;
        if channel.is_http() {
            // Clients do not wait for each other, and each waits for the answer that opens its session by itself.
            return is_of_same_call || channel.exchange == later.channel.exchange && (holds_all || channel.in_order);
        }
        holds_all || self.message.opens() || is_of_same_call
    }

    pub(crate) fn until_ns(&self) -> Option<u64> {
        match self.why {
            Why::Held { until_ns, .. } => until_ns,
            Why::Delayed { until_ns, .. } | Why::Reordered { until_ns, .. } => Some(until_ns),
            Why::Behind { .. } => None,
        }
    }

    pub(crate) fn by(&self) -> String {
        match &self.why {
            Why::Held { by, .. } | Why::Delayed { by, .. } | Why::Reordered { by, .. } => by.clone(),
            Why::Behind { number } => format!("held message {number}"),
        }
    }
}

/// A line that goes out a little at a time.
#[derive(Debug)]
pub(crate) struct Slow {
    pub(crate) rest: Bytes,
    pub(crate) bytes_per_second: u64,
    pub(crate) next_ns: u64,
}

/// One direction.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) lines: Lines,
    pub(crate) queue: VecDeque<Waiting>,
    /// Bytes of messages in the queue.
    pub(crate) queue_bytes: usize,
    pub(crate) slow: Option<Slow>,
    /// Bytes may still pass that are not fed: nothing can go out before they are.
    pub(crate) entering: bool,
    /// Whether part of a line went out and its end did not.
    pub(crate) mid_line: bool,
    /// Whether what went out last did not end its line.
    pub(crate) open_line: bool,
    /// What has to wait for the end of the line that is on its way.
    pub(crate) pending: Vec<Bytes>,
    /// Bytes of these.
    pub(crate) pending_bytes: usize,
    /// Since when nothing more comes from the one who sends here.
    pub(crate) ended_ns: Option<u64>,
    /// Nothing more can go out here.
    pub(crate) closed: bool,
}

impl Side {
    /// Whether everything that came has gone on.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.slow.is_none() && self.pending.is_empty()
    }

    /// Gives what had to wait for the end of a line.
    pub(crate) fn clear_pending(&mut self) -> Vec<Bytes> {
        self.pending_bytes = 0;
        std::mem::take(&mut self.pending)
    }

    /// The number of the last of those that a message has to wait for.
    pub(crate) fn blocker(&self, among: usize, message: &Message, whole_stream: bool) -> Option<u64> {
        let before = self.queue.iter().take(among);
        before.filter(|waiting| waiting.holds_up(message, whole_stream)).map(|waiting| waiting.number).last()
    }

    pub(crate) fn info(&self, waiting: &Waiting) -> HeldInfo {
        let message = &waiting.message;
        let (why, behind) = match waiting.why {
            Why::Held { .. } => ("held", None),
            Why::Delayed { .. } => ("delayed", None),
            Why::Reordered { .. } => ("reordered", None),
            Why::Behind { number } => ("behind", Some(number)),
        };
        let waits_behind = |other: &&Waiting| matches!(other.why, Why::Behind { number } if number == waiting.number);
        HeldInfo {
            number: waiting.number,
            direction: message.direction,
            why,
            by: waiting.by(),
            behind,
            what: message.summary(),
            kind: message.kind.name(),
            id: message.id.as_ref().map(ToString::to_string),
            method: message.method().map(Into::into),
            target: message.target(),
            n_bytes: message.bytes.len(),
            offset: message.offset,
            exchange: Some(message.channel.exchange).filter(|exchange| *exchange > 0),
            since_ns: message.at_ns,
            until_ns: waiting.until_ns(),
            n_behind: self.queue.iter().filter(waits_behind).count(),
            changed: waiting.changed_by.is_some().then(|| crate::edit::told(&message.bytes, &waiting.bytes)),
            has_token: message.has_token(),
        }
    }

    pub(crate) fn take(&mut self, index: usize) -> Option<Waiting> {
        let waiting = self.queue.remove(index)?;
        self.queue_bytes -= waiting.bytes.len();
        Some(waiting)
    }

    pub(crate) fn put(&mut self, index: usize, waiting: Waiting) {
        self.queue_bytes += waiting.bytes.len();
        self.queue.insert(index.min(self.queue.len()), waiting);
    }

    pub(crate) fn place_of(&self, number: u64) -> Option<usize> {
        self.queue.iter().position(|waiting| waiting.number == number)
    }
}
