//! The client's chair: opens a session with any server, asks it, and answers what it asks.
//!
//! `client/open.rs` has how a session is opened, `client/request.rs` what the user can do, `client/input.rs` what the
//! server says.

mod input;
mod open;
mod request;

use std::collections::BTreeMap;

use tap_jsonrpc::RawId;
use tap_protocol::{Revision, Revisions, Side};

use super::seat::Seat;
use super::{Implementation, Input, Misuse, Output};
use crate::row::At;
use crate::state::SessionState;
use open::Stage;

/// How a client behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientOptions {
    /// What it says that it is.
    pub implementation: Implementation,
    /// What it can do: the text of a JSON object.
    pub capabilities: String,
    /// What it may speak. With revisions of both eras it tries the modern one first; a set of one pins that.
    pub revisions: Revisions,
    /// How long to wait for an answer to `server/discover` before the server is taken for a legacy one, nanoseconds.
    pub probe_limit_ns: u64,
    /// How long to wait for other answers, nanoseconds.
    pub request_limit_ns: u64,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            implementation: Implementation::of_this_program(),
            capabilities: "{}".into(),
            revisions: Revisions::ALL,
            // As long as the Python and Rust SDKs wait.
            probe_limit_ns: 10_000_000_000,
            // As long as all SDKs wait.
            request_limit_ns: 60_000_000_000,
        }
    }
}

/// A client.
///
/// [`open`](Self::open) it, hand it what the server writes with [`step`](Self::step), and do what
/// [`poll_output`](Self::poll_output) says until it says nothing more.
#[derive(Debug)]
pub struct Client {
    options: ClientOptions,
    seat: Seat,
    stage: Stage,
    /// Requests of the server that the user is to answer.
    asked: BTreeMap<At, RawId>,
}

impl Client {
    /// A client that has not said anything.
    #[must_use]
    pub fn new(options: ClientOptions) -> Self {
        Self { options, seat: Seat::new(Side::Client), stage: Stage::Unopened, asked: BTreeMap::new() }
    }

    /// What is true now, as an observer would see it.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        self.seat.state()
    }

    /// The revision that is spoken, while the session is open.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        match self.stage {
            Stage::Open(revision) => Some(revision),
            Stage::Unopened | Stage::Probing { .. } | Stage::Initializing { .. } | Stage::Over => None,
        }
    }

    /// What is to be done next, if there is anything.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.seat.pop()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, if nothing happens before. To be asked again after
    /// everything that happens.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let opening = match self.stage {
            Stage::Probing { until_ns, .. } | Stage::Initializing { until_ns, .. } => Some(until_ns),
            Stage::Unopened | Stage::Open(_) | Stage::Over => None,
        };
        opening.into_iter().chain(self.seat.calls.deadline()).min()
    }

    /// Takes note that it is late. Does nothing when it is not.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.give_up_opening(now_ns);
        self.seat.time_out(now_ns);
    }

    /// Takes what happened.
    pub fn step(&mut self, input: Input, now_ns: u64) {
        match input {
            Input::Line(line) => self.line(&line, now_ns),
            Input::End => self.end(),
        }
    }

    fn open_revision(&self) -> Result<Revision, Misuse> {
        self.revision().ok_or(Misuse::NotOpen)
    }
}

#[cfg(test)]
mod tests;
