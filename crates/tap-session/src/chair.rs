//! The two chairs of those who take part: a client and a server, on the machine that the observer uses.
//!
//! A chair is what a [`Follower`](crate::Follower) is, with a mouth. It has no clock, no channel and no thread: it is
//! given what the peer says and what its user wants, and the time with each; what is to be done about it is taken out
//! with `poll_output`. When nothing happens until `poll_timeout`, `handle_timeout` is to be called.
//!
//! What the peer does wrong is a [`Finding`] among the outputs, and the session goes on. What the chair itself would do
//! wrong is a [`Misuse`] before a byte is written, and nothing has changed.
//!
//! Start reading at [`Client`], then [`Server`].

mod calls;
mod client;
#[cfg(test)]
mod script;
mod seat;
mod server;

mod write;

use std::fmt;

use bytes::Bytes;
use tap_protocol::{Era, Revision};

pub use calls::{CallId, OnProgress, RequestOptions};
pub use client::{Client, ClientOptions};
pub use server::{CacheScope, Change, Server, ServerOptions};

use crate::row::At;
use crate::rule::Finding;
use crate::state::Kept;

/// What happens to a chair from outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// The peer wrote this line, which may be anything; with its line ending, if it had one.
    Line(Bytes),
    /// The peer will not write any more.
    End,
}

/// What a chair wants done, or has to tell.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Write this message. It is one line, without its newline.
    Send(Bytes),
    /// Both sides may speak now.
    Opened {
        /// The revision that is spoken.
        revision: Revision,
    },
    /// A client's attempt to open the session failed, and there is nothing else to try.
    Refused(Refusal),
    /// A call of ours was answered.
    Answer {
        /// Which.
        call: CallId,
        /// What the answer says.
        outcome: Outcome,
        /// Nanoseconds since the request was sent: the last one, where it took several rounds.
        latency_ns: u64,
    },
    /// A call of ours goes on.
    Progress {
        /// Which.
        call: CallId,
        /// How far it is.
        progress: f64,
        /// How far it has to go.
        total: Option<f64>,
        /// What is being done.
        message: Option<String>,
    },
    /// A call of ours needs answers before it can be answered: [`Client::retry`] gives them.
    InputRequired {
        /// Which.
        call: CallId,
        /// What is asked. There may be nothing: then it is enough to try again.
        requests: Vec<InputRequest>,
        /// What the server wants to be given back, which the chair does. A JSON text.
        state: Option<Kept>,
    },
    /// A call of ours was not answered in time. It was cancelled, and an answer will be ignored.
    TimedOut {
        /// Which.
        call: CallId,
    },
    /// A call of ours will not be answered: the peer went away, or ended the subscription without a result.
    Dropped {
        /// Which.
        call: CallId,
    },
    /// The peer asks. It waits for an answer.
    Request(Request),
    /// The peer does not want this request of its answered any more.
    Withdrawn {
        /// Which.
        request: At,
    },
    /// The client subscribed, and the server's chair said yes.
    Subscribed {
        /// The request that opened the subscription and stands for it.
        request: At,
        /// What it will be told: the part of what was asked for that the capabilities allow. A JSON text.
        honoured: Kept,
    },
    /// The peer says something that the chair has no use for.
    Notification {
        /// What.
        method: String,
        /// A JSON text.
        params: Option<Kept>,
        /// The subscription that it belongs to.
        call: Option<CallId>,
    },
    /// Somebody broke a rule: the peer, or we, where a rule is not so strict that it forbids.
    Finding(Finding),
    /// The peer went away.
    Ended,
}

/// A request of the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Stands for it when it is answered. Not its id: a peer may use one twice.
    pub request: At,
    /// The revision that it is of.
    pub revision: Revision,
    /// What the peer can do, as it said for this request or when the session was opened. A JSON text.
    pub capabilities: Option<Kept>,
    /// What is asked.
    pub method: String,
    /// A JSON text.
    pub params: Option<Kept>,
}

/// A question inside a result of `input_required`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputRequest {
    /// What its answer is to be filed under.
    pub key: String,
    /// What is asked.
    pub method: String,
    /// A JSON text.
    pub params: Option<Kept>,
}

/// What an answer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The member `result`, a JSON text.
    Result(Kept),
    /// The member `error`, a JSON text.
    Error(Kept),
}

impl Outcome {
    /// The code of an error, where it has a whole number as such.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Result(_) => None,
            Self::Error(error) => error.node().get("code")?.as_i64(),
        }
    }
}

/// An error to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorReply {
    /// One of [`ERROR_CODES`](tap_protocol::ERROR_CODES), or of your own outside the range of JSON-RPC.
    pub code: i64,
    /// What went wrong, in a sentence.
    pub message: String,
    /// More, as a JSON text.
    pub data: Option<String>,
}

impl ErrorReply {
    /// An error without data.
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// What a side says that it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Implementation {
    /// For programs.
    pub name: String,
    /// Its version.
    pub version: String,
    /// For people. Told in revisions that know it, as are the next ones.
    pub title: Option<String>,
    /// What it is.
    pub description: Option<String>,
    /// Where to read more.
    pub website_url: Option<String>,
}

impl Implementation {
    /// This program, which is what a chair says that it is unless it is told otherwise.
    fn of_this_program() -> Self {
        Self { name: "mcp-tap".into(), version: env!("CARGO_PKG_VERSION").into(), ..Self::default() }
    }
}

/// Why a session could not be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The server speaks other revisions; these, as far as it named them.
    UnsupportedRevision {
        /// As written.
        named: Vec<String>,
    },
    /// The server answered with an error, a JSON text.
    Error(Kept),
    /// The server answered with a result that opens nothing, a JSON text.
    NotAnOpening(Kept),
    /// The server did not answer in time.
    Silence,
    /// The server went away when it was asked `server/discover`. Servers of the legacy era may: one that is started again
    /// and asked to `initialize` at once may do better.
    EndedAtProbe,
    /// The server went away.
    Ended,
    /// What would have come next is wrong because of the options.
    Misuse(Misuse),
}

/// What the user of a chair wanted, and must not do. Nothing was written, and nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misuse {
    /// The message would break a rule of the protocol.
    Rule(Box<Finding>),
    /// The session is not open, or not any more.
    NotOpen,
    /// The session was opened before.
    AlreadyOpen,
    /// No revision is allowed by the options.
    NoRevision,
    /// A text that was given is not one JSON value of the right kind.
    BadText {
        /// What it was given as.
        what: &'static str,
    },
    /// Chairs send this method themselves, when its time has come.
    Reserved {
        /// The method.
        method: String,
    },
    /// This is not done in the era that is spoken.
    WrongEra {
        /// What is not done.
        what: &'static str,
        /// The era.
        era: Era,
    },
    /// There is no such call that waits for this.
    NoSuchCall(CallId),
    /// There is no such request, or it was answered or withdrawn.
    NoSuchRequest(At),
    /// Nothing was asked under this key.
    NoSuchInput {
        /// The key.
        key: String,
    },
    /// The request has no progress token.
    NoToken(At),
    /// The peer, or we ourselves, did not declare what this needs.
    Undeclared {
        /// The capability.
        path: String,
    },
    /// A number is not finite.
    NotANumber,
}

impl Misuse {
    /// The rule that would have been broken, where it is one of the table.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        match self {
            Self::Rule(finding) => Some(finding),
            _ => None,
        }
    }
}

impl fmt::Display for Misuse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule(finding) => {
                write!(formatter, "{} {}: {}", finding.rule.id, finding.rule.name, finding.rule.title)?;
                if finding.detail.is_empty() { Ok(()) } else { write!(formatter, " ({})", finding.detail) }
            }
            Self::NotOpen => formatter.write_str("the session is not open"),
            Self::AlreadyOpen => formatter.write_str("the session was opened before"),
            Self::NoRevision => formatter.write_str("the options allow no revision"),
            Self::BadText { what } => write!(formatter, "{what}: not one JSON value of the right kind"),
            Self::Reserved { method } => write!(formatter, "`{method}` is sent by the chair itself"),
            Self::WrongEra { what, era } => write!(formatter, "{what} is not done in the {era} era"),
            Self::NoSuchCall(call) => write!(formatter, "call {call} does not wait for this"),
            Self::NoSuchRequest(at) => write!(formatter, "the request in frame {} does not wait for an answer", at.seq),
            Self::NoSuchInput { key } => write!(formatter, "nothing was asked as `{key}`"),
            Self::NoToken(at) => write!(formatter, "the request in frame {} has no progress token", at.seq),
            Self::Undeclared { path } => write!(formatter, "the capability `{path}` was not declared"),
            Self::NotANumber => formatter.write_str("a number is not finite"),
        }
    }
}

impl std::error::Error for Misuse {}

#[cfg(test)]
mod tests;
