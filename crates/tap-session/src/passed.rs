//! Which of the messages that passed is the one that something was done to.
//!
//! An act names its message by where it begins in the stream. Of messages that passed long ago nothing is remembered here,
//! unless they are held: the first that is done to a message is told before many others come.

use std::sync::Arc;

use imbl::Vector;
use tap_frame::{Deed, Stream};
use tap_jsonrpc::RawId;

use crate::row::At;

/// Messages that are remembered. In one read of 64 KiB there are fewer, unless they are very short.
pub const PASSED_LIMIT: usize = 4096;

/// Messages that a copy remembers which is kept for long. There are thousands of these in a long session.
const SETTLED_LIMIT: usize = 64;

/// Messages that are held at a time and remembered.
const HELD_LIMIT: usize = 100_000;

/// A message that passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassedMessage {
    /// Its stream.
    pub stream: Stream,
    /// Where it begins in what was received.
    pub received: u64,
    /// Its number.
    pub seq: u64,
    /// Of an answer: what it answers.
    pub answers: Option<Arc<Answered>>,
}

/// The request that a message answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answered {
    /// The id of both.
    pub raw_id: RawId,
    /// The request.
    pub request: At,
    /// Its method.
    pub method: Option<Arc<str>>,
    /// What it is about.
    pub target: Option<Arc<str>>,
}

/// Which message is meant.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Which {
    /// The one that begins there in what was received.
    Begins(Stream, u64),
    /// The one with this number.
    Seq(u64),
}

/// The newest messages, and those that are held. A clone costs next to nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passed {
    newest: Vector<PassedMessage>,
    held: Vector<PassedMessage>,
}

impl Passed {
    /// One more passed.
    pub(crate) fn push(&mut self, message: PassedMessage) {
        if PASSED_LIMIT <= self.newest.len() {
            self.newest.pop_front();
        }
        self.newest.push_back(message);
    }

    /// Forgets all but what something may yet be done to, as a rule, and what is held: for copies that are kept for long.
    pub(crate) fn settle(&mut self) {
        let n_old = self.newest.len().saturating_sub(SETTLED_LIMIT);
        // Made anew, for a part of a vector holds on to the chunks of the whole.
        self.newest = self.newest.iter().skip(n_old).cloned().collect();
    }

    /// One that is held.
    pub(crate) fn hold(&mut self, message: PassedMessage) {
        if self.held.len() < HELD_LIMIT {
            self.held.push_back(message);
        }
    }

    /// The message that is meant, to which this is done now.
    pub(crate) fn find(&mut self, which: Which, deed: Deed) -> Option<PassedMessage> {
        let is_it = |this: &PassedMessage| match which {
            Which::Begins(stream, received) => (this.stream, this.received) == (stream, received),
            Which::Seq(seq) => this.seq == seq,
        };
        if let Some(index) = self.held.iter().position(is_it) {
            return match deed {
                Deed::Held => self.held.get(index).cloned(),
                _ => Some(self.held.remove(index)),
            };
        }
        let found = self.newest.iter().rev().find(|this| is_it(this)).cloned()?;
        if deed == Deed::Held {
            self.hold(found.clone());
        }
        Some(found)
    }
}
