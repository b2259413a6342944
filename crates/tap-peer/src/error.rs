//! What can go wrong for whoever uses a client.

use std::time::Duration;

use tap_session::{CallId, Kept, Misuse, Refusal};
use tap_transport::SpawnError;

use crate::link::LinkEnd;

/// Why there is no session with a server.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The server's process could not be started.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// Something that the operating system has to give was refused.
    #[error("cannot talk to the server's process: {0}")]
    Pipes(#[from] std::io::Error),
    /// The way to servers over HTTP cannot be used.
    #[error(transparent)]
    Upstream(#[from] tap_http::UpstreamError),
    /// The options are no good.
    #[error("{0}")]
    Misuse(Misuse),
    /// The server and this client do not come together.
    #[error("{}", refused(.refusal, .end))]
    Refused {
        /// Why.
        refusal: Refusal,
        /// How the link to it ended.
        end: Box<LinkEnd>,
    },
}

fn refused(refusal: &Refusal, end: &LinkEnd) -> String {
    let text = |kept: &Kept| String::from_utf8_lossy(&kept.0).into_owned();
    let mut said = match refusal {
        Refusal::UnsupportedRevision { named } => {
            format!("the server speaks other revisions of MCP: {}", named.join(", "))
        }
        Refusal::Error(error) => format!("the server refused the session: {}", error_text(error)),
        Refusal::NotAnOpening(result) => format!("the server's answer opens no session: {}", text(result)),
        Refusal::Silence => "the server did not answer in time".into(),
        Refusal::EndedAtProbe | Refusal::Ended => "the server ended before the session was open".into(),
        Refusal::Misuse(misuse) => misuse.to_string(),
    };
    if let Some(how) = end.how() {
        said.push_str(&format!(" ({how})"));
    }
    said
}

/// The message of an error, and its code.
pub(crate) fn error_text(error: &Kept) -> String {
    let [message, code] = error.node().pick(["message", "code"]);
    let message = message.and_then(|message| Some(message.text()?.into_owned()));
    match (message, code) {
        (Some(message), Some(code)) => format!("{message} ({})", String::from_utf8_lossy(code.bytes())),
        _ => String::from_utf8_lossy(&error.0).into_owned(),
    }
}

/// Why a call has no result.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// The server does not offer what the call needs, so that it was not made.
    #[error("the server does not offer `{capability}`, which `{method}` needs")]
    NotOffered {
        /// What was to be called.
        method: String,
        /// What the server would have to declare.
        capability: String,
    },
    /// The call would break a rule of the protocol, and was not made.
    #[error("{0}")]
    Misuse(Misuse),
    /// The server answered with an error, a JSON text.
    #[error("{}", error_text(.0))]
    Server(Kept),
    /// It was not answered in time. The server was told that nobody waits any more.
    #[error("not answered within {} s", .0.as_secs_f64())]
    TimedOut(Duration),
    /// The server wanted to be told something first, and was not.
    #[error("the server asks for `{method}` first: {why}")]
    Input {
        /// What it asked.
        method: String,
        /// Why it was not answered.
        why: String,
    },
    /// The server asked for input again and again.
    #[error("the server asked for input {0} times, and was not asked again")]
    Rounds(usize),
    /// The session is over.
    #[error("{}", .0.how().unwrap_or_else(|| "the session is over".into()))]
    Over(Box<LinkEnd>),
    /// The call was given up.
    #[error("the call was given up")]
    Cancelled,
}

impl CallError {
    /// The code of a server's error.
    #[must_use]
    pub fn code(&self) -> Option<i64> {
        match self {
            Self::Server(error) => error.node().get("code")?.as_i64(),
            _ => None,
        }
    }

    pub(crate) fn of_misuse(misuse: Misuse, end: impl FnOnce() -> LinkEnd) -> Self {
        match misuse {
            Misuse::NotOpen => Self::Over(Box::new(end())),
            misuse => Self::Misuse(misuse),
        }
    }

    /// A call that is not there any more.
    pub(crate) fn no_such_call(call: CallId) -> Self {
        Self::Misuse(Misuse::NoSuchCall(call))
    }
}

/// Why there is no list.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ListError {
    /// A page could not be had.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A page is no page of such a list.
    #[error("the server's answer to `{method}` has no list `{member}`")]
    NoList {
        /// What was asked.
        method: &'static str,
        /// What is missing.
        member: &'static str,
    },
}
