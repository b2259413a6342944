//! Why a phase has no figures.

use std::io;
use std::time::Duration;

use hyper::StatusCode;

/// Why a phase has no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PhaseError {
    /// No event loop.
    #[error("cannot make an event loop: {0}")]
    Runtime(io::Error),
    /// The phase did not end.
    #[error("not over after {} s", limit.as_secs())]
    TimedOut { limit: Duration },
    /// Nobody listens, or not to us.
    #[error("cannot connect to {authority}: {source}")]
    Connect { authority: String, source: io::Error },
    /// The connection broke, or what came is no HTTP.
    #[error("{source}, while {doing}")]
    Http { doing: &'static str, source: hyper::Error },
    /// A request that cannot be written.
    #[error("no request can be made: {0}")]
    Request(#[from] hyper::http::Error),
    /// An answer with another status than an MCP server's.
    #[error("{doing}: the status is {status}")]
    Status { doing: &'static str, status: StatusCode },
    /// An answer that no MCP server gives.
    #[error("{doing}: the answer is {answer}")]
    Answer { doing: &'static str, answer: String },
    /// One of our own tasks broke.
    #[error("a task failed: {0}")]
    Task(#[from] tokio::task::JoinError),
}
