//! Messages of a recorded conversation, what they are read from, and what they come together to.

use std::sync::Arc;

use bytes::Bytes;
use tap_frame::Direction;
use tap_jsonrpc::RawId;

/// One unit of a recording: a line, the body of a POST, an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Which way it went.
    pub direction: Direction,
    /// What was on the wire, with or without its line ending.
    pub bytes: Bytes,
    /// The number of its frame in the recording.
    pub number: u64,
    /// The line of the text file that it was read from, counted from 1.
    pub line: Option<u64>,
    /// Nanoseconds since the recording began.
    pub at_ns: u64,
    /// Which conversation of the recording it is of: a session of MCP, a connection. Any number.
    pub conversation: u64,
    /// The exchange of HTTP that it was in.
    pub exchange: Option<u64>,
    /// Whether what looks like a placeholder in it is text, and stands for nothing.
    pub is_literal: bool,
}

/// What kind of thing was said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Nature {
    /// Asks for an answer.
    Request,
    /// Asks for none.
    Notification,
    /// An answer with a result.
    Result,
    /// An answer with an error.
    Error,
    /// No message of JSON-RPC: a banner, a log line, an empty line.
    Other,
}

impl Nature {
    /// Whether it answers a request.
    #[must_use]
    pub const fn is_answer(self) -> bool {
        matches!(self, Self::Result | Self::Error)
    }
}

/// What a message is in its conversation. Numbers are places in [`Script::messages`](crate::Script::messages) and
/// [`Script::interactions`](crate::Script::interactions).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// A request of the client's: it begins this interaction.
    Request(usize),
    /// Anything of the client's that is neither a request nor an answer to one of the server's.
    Notice,
    /// The client's answer to this request of the server's, which is a message.
    Reply(usize),
    /// The server's answer, which ends this interaction.
    Answer(usize),
    /// What the server said because of this interaction: progress, a log message, a request of its own.
    Inside(usize),
    /// What the server said on its own.
    Free,
}

/// One message of a recorded conversation, of a batch each of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The number of its frame in the recording.
    pub number: u64,
    /// Which message of a batch it is, counted from 1; 0 for what is no batch.
    pub member: u32,
    /// The line of the text file that it was read from, counted from 1.
    pub line: Option<u64>,
    /// Which way it went.
    pub direction: Direction,
    /// What kind of thing it is.
    pub nature: Nature,
    /// The id, if it has one.
    pub id: Option<RawId>,
    /// The method, of requests and notifications.
    pub method: Option<Arc<str>>,
    /// Nanoseconds since the recording began.
    pub at_ns: u64,
    /// What it is in its conversation.
    pub role: Role,
    /// The last message of the client's before it.
    pub after: Option<usize>,
    /// For a request of the server's: the message in which the client answered.
    pub reply: Option<usize>,
    /// Whether what looks like a placeholder in it is text, and stands for nothing.
    pub is_literal: bool,
    /// What was on the wire, without a line ending, unless it was [let go](crate::Script::let_go).
    pub body: Option<Bytes>,
}

impl Message {
    /// The method; nothing for answers.
    #[must_use]
    pub fn method(&self) -> &str {
        self.method.as_deref().unwrap_or_default()
    }

    /// Whether the client said it.
    #[must_use]
    pub fn is_of_client(&self) -> bool {
        self.direction == Direction::ToServer
    }
}

/// A request of the client's and everything that the server did because of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interaction {
    /// The request, a message.
    pub request: usize,
    /// What the server said, the answer included, in recorded order.
    pub steps: Vec<usize>,
    /// The answer, which is one of the steps.
    pub answer: Option<usize>,
    /// The client's message that cancelled it.
    pub cancelled_by: Option<usize>,
    /// The token that progress of it carries.
    pub progress_token: Option<RawId>,
    /// The task that it asks about.
    pub task: Option<RawId>,
    /// Whether the request says itself which revision of the modern era it speaks.
    pub is_modern: bool,
}

/// How a conversation begins, by the first request of its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Opening {
    /// With the handshake of the legacy era.
    Initialize,
    /// With `server/discover`: a client of the modern era, or one that looks which era it is.
    Discover,
    /// With another request of the modern era.
    Modern,
    /// With something else: the recording has no beginning.
    Other,
}
