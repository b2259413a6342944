//! Rows: what a list shows of a message, and what the store keeps of it so that lists are fast.
//!
//! The codes are stored in derived tables, which are built anew when they change.

use std::sync::Arc;

use tap_frame::{Act, Became, Deed, Stream};
use tap_jsonrpc::{Node, Notes, RawId};

/// Which message is meant: a frame, or a member of a batch in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The frame's number.
    pub seq: u64,
    /// 0 for the frame itself, from 1 for a member of its batch.
    pub member: u64,
}

impl At {
    /// Where in the array of its batch a member stands, from 0; `None` for a frame.
    #[must_use]
    pub fn index_in_batch(self) -> Option<usize> {
        usize::try_from(self.member.checked_sub(1)?).ok()
    }
}

/// What a frame, or a member of a batch, is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowKind {
    /// Asks for an answer.
    Request,
    /// Asks for none.
    Notification,
    /// Answers with a result.
    Result,
    /// Answers with an error.
    Error,
    /// A JSON array of messages; its members have rows of their own.
    Batch,
    /// JSON, but no JSON-RPC message.
    NotAMessage,
    /// Not JSON.
    NotJson,
    /// An empty line.
    Blank,
    /// A line of stderr.
    Stderr,
    /// Bytes that passed and could not be recorded.
    Gap,
    /// A request of HTTP that carries no message: a GET, a DELETE, or nothing of MCP. `method` is its verb, `target` its
    /// path; once it was answered its `pair` is itself, and `error_code` a status that says that it failed.
    Exchange,
    /// What came back over HTTP and is no message: a page, a token, the address to post to. `method` is the name of the
    /// event, if it was one with another name than `message`.
    Body,
    /// Something was done to the traffic, and nothing was sent for it.
    Act,
}

impl RowKind {
    const ALL: [Self; 13] = [
        Self::Request,
        Self::Notification,
        Self::Result,
        Self::Error,
        Self::Batch,
        Self::NotAMessage,
        Self::NotJson,
        Self::Blank,
        Self::Stderr,
        Self::Gap,
        Self::Exchange,
        Self::Body,
        Self::Act,
    ];

    /// The number that stands for the kind in derived tables.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The kind with this [`code`](Self::code).
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// Whether it is a message of JSON-RPC, or an array of such.
    #[must_use]
    pub fn is_message(self) -> bool {
        matches!(self, Self::Request | Self::Notification | Self::Result | Self::Error | Self::Batch)
    }

    /// What it is called in listings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Result => "result",
            Self::Error => "error",
            Self::Batch => "batch",
            Self::NotAMessage => "not a message",
            Self::NotJson => "not JSON",
            Self::Blank => "blank",
            Self::Stderr => "stderr",
            Self::Gap => "gap",
            Self::Exchange => "exchange",
            Self::Body => "body",
            Self::Act => "act",
        }
    }
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// A result came back.
    Ok,
    /// A result came back that says `isError`: the tool failed, the protocol did not.
    ToolError,
    /// A JSON-RPC error came back.
    Error,
}

impl Status {
    const ALL: [Self; 3] = [Self::Ok, Self::ToolError, Self::Error];

    /// The number that stands for the status in derived tables.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8 + 1
    }

    /// The status with this [`code`](Self::code).
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }
}

/// What was done to a message, or that it is what we made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Done {
    /// What was done; to a message, the last that was done to it.
    pub deed: Deed,
    /// Whether nobody sent it: it is the row of the act, and its message, if it has one, is what was sent.
    pub made: bool,
    /// Whether a rule did it that makes things go wrong.
    pub fault: bool,
    /// Of a message: how long it was held, nanoseconds.
    pub held_ns: u64,
    /// Of a message the act; of an act the message that it was done to.
    pub other: Option<At>,
    /// Who did it, as it is to be shown.
    pub by: Arc<str>,
    /// Of an act: how many bytes of its text come before what was sent.
    pub head_bytes: u64,
    /// Of a request that went on in place of another: that its answer is the answer of both.
    pub waits: bool,
}

impl Done {
    /// What an act says of itself. `message` is what it was done to.
    #[must_use]
    pub fn of_act(act: &Act, message: Option<At>) -> Self {
        Self {
            deed: act.deed,
            made: true,
            fault: act.is_fault(),
            held_ns: 0,
            other: message,
            by: Arc::from(&*act.by),
            head_bytes: 0,
            waits: false,
        }
    }

    /// What an act says of the message that it was done to. `at` is the act.
    #[must_use]
    pub fn to_message(act: &Act, at: At) -> Self {
        Self { made: false, held_ns: act.held_ns, ..Self::of_act(act, Some(at)) }
    }

    /// A few words about it: `held 2.0s, edited`, `fault: dropped`, `injected`. `duration` writes nanoseconds.
    #[must_use]
    pub fn told(&self, duration: impl Fn(u64) -> String) -> String {
        let mut words = Vec::new();
        // How long a message was held is said of it, and not of what was sent for it.
        match self.deed {
            Deed::Held => words.push("held".to_owned()),
            _ if self.made && self.deed != Deed::Released => {}
            Deed::Delayed | Deed::Slowed | Deed::Reordered => {}
            _ if self.held_ns > 0 => words.push(format!("held {}", duration(self.held_ns))),
            _ => {}
        }
        match self.deed {
            Deed::Held => {}
            Deed::Released if !words.is_empty() => {}
            Deed::Delayed if self.held_ns > 0 => words.push(format!("delayed {}", duration(self.held_ns))),
            deed => words.push(deed.name().into()),
        }
        let fault = if self.fault { "fault: " } else { "" };
        format!("{fault}{}", words.join(", "))
    }

    /// Whether a message that one side sent did not get to the other side, or not as it was.
    #[must_use]
    pub fn was_kept_back(&self) -> bool {
        !self.made && matches!(self.deed.became(), Became::Replaced | Became::Stopped)
    }
}

/// What a list shows of a frame or of a member of a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageRow {
    /// Which one it is.
    pub at: At,
    /// Nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// The stream that it was on.
    pub stream: Stream,
    /// What it is.
    pub kind: RowKind,
    /// Its id as written.
    pub raw_id: Option<RawId>,
    /// Its method; of an answer, the method of its request.
    pub method: Option<Arc<str>>,
    /// The tool, prompt or resource that it is about; of an answer, what its request was about.
    pub target: Option<Arc<str>>,
    /// Of an answer: what it says.
    pub status: Option<Status>,
    /// Of an error: its code as written.
    pub error_code: Option<String>,
    /// Of an answer: its request.
    pub pair: Option<At>,
    /// Of an answer: how long it took, nanoseconds.
    pub latency_ns: Option<u64>,
    /// Bytes that a gap stands for.
    pub lost_bytes: Option<u64>,
    /// What is odd about it.
    pub notes: Notes,
    /// What a debugger did to it, or that it made it.
    pub done: Option<Box<Done>>,
    /// How many bytes of its stream were received before it. `None` of what was not received, and over HTTP.
    pub received: Option<u64>,
}

impl MessageRow {
    /// Whether a debugger made it: the side in whose direction it goes did not send it.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.done.as_ref().is_some_and(|done| done.made)
    }
}

/// The rows of one frame, each with its message: the frame's, or a member of its batch.
pub(crate) fn with_messages<'r, 'f>(
    rows: impl Iterator<Item = &'r MessageRow>,
    frame: &'f [u8],
) -> impl Iterator<Item = (&'r MessageRow, Node<'f>)> {
    let mut members = Node::new(frame).elements();
    rows.map_while(move |row| Some((row, if row.at.member == 0 { Node::new(frame) } else { members.next()? })))
}
