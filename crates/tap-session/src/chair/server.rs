//! The server's chair: answers any client of either era with what it is given.
//!
//! `server/input.rs` has what the client says, `server/verdict.rs` whether a request is one to be served, `server/answer.rs`
//! what the user can do, `server/subscribe.rs` telling what changed.

mod answer;
mod input;
mod subscribe;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};

use tap_jsonrpc::RawId;
use tap_protocol::{Method, Revision, Revisions, Side};

pub use subscribe::Change;

use super::seat::Seat;
use super::{Implementation, Input, Output};
use crate::row::At;
use crate::state::{Kept, SessionState};
use subscribe::Subscription;

/// Who may keep a result of the modern era for others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum CacheScope {
    /// Nobody: it may differ by who asks.
    #[default]
    Private,
    /// Anybody.
    Public,
}

/// How a server behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// What it says that it is.
    pub implementation: Implementation,
    /// What it can do: the text of a JSON object. Requests that need more are refused, and not given out.
    pub capabilities: String,
    /// What it tells the model about itself.
    pub instructions: Option<String>,
    /// What it may speak.
    pub revisions: Revisions,
    /// How long results that the modern era lets clients keep may be kept, milliseconds: `server/discover`, and others
    /// that do not say so themselves.
    pub ttl_ms: u64,
    /// By whom.
    pub cache_scope: CacheScope,
    /// How long to wait for answers of the client, nanoseconds.
    pub request_limit_ns: u64,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            implementation: Implementation::of_this_program(),
            capabilities: "{}".into(),
            instructions: None,
            revisions: Revisions::ALL,
            ttl_ms: 0,
            cache_scope: CacheScope::Private,
            request_limit_ns: 60_000_000_000,
        }
    }
}

/// What is spoken on the connection.
///
/// The first request that is no probe settles it, as with the Python SDK: a client that probes may still fall back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Spoken {
    /// Nothing but probes, so far.
    Nothing,
    /// `initialize` was answered with this revision; the client may have to say that it is ready.
    Legacy { revision: Revision, ready: bool },
    /// Requests say which revision they are of; the first one said this.
    Modern { revision: Revision },
}

/// A request of the client that the user is to answer.
#[derive(Debug, Clone)]
struct Asked {
    raw_id: RawId,
    method: Box<str>,
    known: Option<&'static Method>,
    revision: Revision,
    /// What the client can do, as it said for this request or when the session was opened.
    capabilities: Option<Kept>,
    token: Option<RawId>,
    /// Of `resources/subscribe` and its opposite: what it is about.
    uri: Option<Box<str>>,
}

/// A server.
///
/// Hand it what the client writes with [`step`](Self::step), and do what [`poll_output`](Self::poll_output) says until it
/// says nothing more.
#[derive(Debug)]
pub struct Server {
    options: ServerOptions,
    capabilities: Kept,
    seat: Seat,
    spoken: Spoken,
    asked: BTreeMap<At, Asked>,
    subscriptions: BTreeMap<At, Subscription>,
    /// Resources that a client of the legacy era wants to hear of.
    watched: BTreeSet<Box<str>>,
}

impl Server {
    /// A server to which nobody has spoken.
    ///
    /// # Errors
    ///
    /// When the options are no good.
    pub fn new(options: ServerOptions) -> Result<Self, super::Misuse> {
        super::write::object(&options.capabilities, "capabilities")?;
        if options.revisions.is_empty() {
            return Err(super::Misuse::NoRevision);
        }
        Ok(Self {
            capabilities: Kept(options.capabilities.clone().into()),
            options,
            seat: Seat::new(Side::Server),
            spoken: Spoken::Nothing,
            asked: BTreeMap::new(),
            subscriptions: BTreeMap::new(),
            watched: BTreeSet::new(),
        })
    }

    /// What is true now, as an observer would see it.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        self.seat.state()
    }

    /// The revision that is spoken, once that is settled.
    #[must_use]
    pub fn revision(&self) -> Option<Revision> {
        match self.spoken {
            Spoken::Nothing => None,
            Spoken::Legacy { revision, .. } | Spoken::Modern { revision } => Some(revision),
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
        self.seat.calls.deadline()
    }

    /// Takes note that it is late. Does nothing when it is not.
    pub fn handle_timeout(&mut self, now_ns: u64) {
        self.seat.time_out(now_ns);
    }

    /// Takes what happened.
    pub fn step(&mut self, input: Input, now_ns: u64) {
        match input {
            Input::Line(line) => self.line(&line, now_ns),
            Input::End => self.end(),
        }
    }
}

#[cfg(test)]
mod tests;
