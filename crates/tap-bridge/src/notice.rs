//! What the person who looks after a bridge is told: what kind of thing went wrong, and nothing that a peer wrote.
//!
//! Peers write secrets into bodies, challenges and addresses; who asked gets them in the answer, and nobody else.

use std::fmt::{Display, Formatter, Result};

/// One kind of thing. Equal ones need be told once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Notice {
    /// The server did not take a notification or an answer of the host's.
    NotTaken {
        /// The status code, if there was one.
        status: Option<u16>,
    },
    /// The server forgot the session.
    SessionUnknown,
    /// The stream of HTTP+SSE has ended.
    SessionOver {
        /// The status code, if there was one.
        status: Option<u16>,
    },
    /// An event was larger than is kept.
    EventTooLarge,
    /// An event was no JSON.
    EventNotJson,
    /// A line of the server's was no message.
    LineNoMessage,
    /// An answer of the server's, and nobody who asked.
    NoQuestion,
    /// An answer of the server's to a client that has left.
    ClientGone,
    /// There were more messages than are kept for a client that does not listen.
    NobodyListens,
}

impl Display for Notice {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> Result {
        let (text, status) = match self {
            Self::NotTaken { status } => {
                ("a notification or an answer of the host's was not taken by the server", Some(status))
            }
            Self::SessionUnknown => {
                ("the server does not know the session any more: the host has to begin a new one", None)
            }
            Self::SessionOver { status } => ("the session is over: the server ended its stream", Some(status)),
            Self::EventTooLarge => ("an event of the server's is larger than the limit, and was dropped", None),
            Self::EventNotJson => ("an event of the server's is no JSON, and was dropped", None),
            Self::LineNoMessage => ("a line of the server's is no message, and was dropped", None),
            Self::NoQuestion => ("an answer of the server's has no question, and was dropped", None),
            Self::ClientGone => ("an answer came when its client had gone, and was dropped", None),
            Self::NobodyListens => ("a message of the server's was dropped: its client does not listen", None),
        };
        formatter.write_str(text)?;
        match status {
            Some(Some(status)) => write!(formatter, " (HTTP {status})"),
            Some(None) => formatter.write_str(" (no answer)"),
            None => Ok(()),
        }
    }
}
