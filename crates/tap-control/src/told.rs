//! What goes out of the debugger: orders for whoever drives it, and what viewers are told.

use bytes::Bytes;
use tap_frame::{Act, Deed, Direction};

use crate::check::Problem;
use crate::inject::Ticket;

/// What is to be done now, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Order {
    /// These bytes go on in this direction.
    Send {
        /// Which way.
        direction: Direction,
        /// The bytes: a line, or part of one.
        bytes: Bytes,
    },
    /// This is recorded.
    Record(Act),
    /// The stream in this direction ends.
    Close(Direction),
    /// The server is killed.
    Crash,
    /// This is told on stderr: a rule says so.
    Tell(String),
    /// This is done in an exchange over HTTP, whose number it is.
    Http(u64, HttpOrder),
}

/// What is to be done in an exchange over HTTP. There are no lines there, so that what goes out names what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HttpOrder {
    /// This is recorded.
    Record(Act),
    /// These bytes go on in this direction.
    Send {
        /// Which way.
        direction: Direction,
        /// Where the message begins that they are, or stand for; `None` for what nobody has sent.
        of: Option<u64>,
        /// The message.
        bytes: Bytes,
        /// How many bytes a second, where it goes out slowly.
        bytes_per_second: Option<u64>,
    },
    /// The client gets this in the place of what the server says, or would have said.
    Answer {
        /// The message; empty for none.
        bytes: Bytes,
        /// The status, where that is no success.
        status: Option<u16>,
    },
    /// All that becomes of a message was ordered.
    Over {
        /// Which way it went.
        direction: Direction,
        /// Where it begins.
        of: u64,
        /// Nothing of it goes on.
        is_gone: bool,
    },
    /// The exchange ends before what comes in this direction.
    Cut {
        /// Which way.
        direction: Direction,
        /// Broken off, and not as if that were all.
        is_broken: bool,
    },
}

/// What viewers are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A message is held, delayed, or waits behind one that is.
    Held(Box<HeldInfo>),
    /// What was held is no longer.
    Went {
        /// The number under which it was held.
        number: u64,
        /// What became of it.
        deed: Deed,
        /// Who did that.
        by: String,
        /// How long it was kept, nanoseconds.
        held_ns: u64,
    },
    /// The client has cancelled a request that is held; both go on.
    Cancelled {
        /// The number under which it is held.
        number: u64,
    },
    /// A rule did something to a message.
    Hit {
        /// Its number.
        rule: u32,
        /// Which way the message goes.
        direction: Direction,
        /// What the message is, in a few words.
        what: String,
        /// What a rule that only tells has to say.
        text: Option<String>,
    },
    /// Rules were set, removed, or switched.
    Rules,
    /// The answer to a request that was sent from here; nobody else sees it.
    Answered {
        /// Which request.
        ticket: Ticket,
        /// What came of it.
        answer: crate::inject::Answered,
    },
    /// Everything was let go at once, and why.
    LetGo(String),
}

/// What is told of a message that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldInfo {
    /// Under which number it is held, from 1.
    pub number: u64,
    /// Which way it goes.
    pub direction: Direction,
    /// Why it waits: `held`, `delayed`, `reordered`, `behind`.
    pub why: &'static str,
    /// Who holds it: `breakpoint 2`.
    pub by: String,
    /// The number of the one that it waits behind.
    pub behind: Option<u64>,
    /// What it is, in a few words.
    pub what: String,
    /// `request`, `notification`, `result`, `error`, `batch`, `not a message`.
    pub kind: &'static str,
    /// Its id as written.
    pub id: Option<String>,
    /// Its method; of an answer that of its request.
    pub method: Option<String>,
    /// The tool, prompt or resource.
    pub target: Option<String>,
    /// Bytes of it.
    pub n_bytes: usize,
    /// Where in its stream it begins; over HTTP in its body.
    pub offset: u64,
    /// Over HTTP the number of its exchange.
    pub exchange: Option<u64>,
    /// Since when it waits, nanoseconds since the session opened.
    pub since_ns: u64,
    /// When it goes on by itself; `None` when it does not.
    pub until_ns: Option<u64>,
    /// Messages that wait behind it.
    pub n_behind: usize,
    /// Whether a rule has changed it already, and how much.
    pub changed: Option<String>,
    /// Whether its request has a progress token, so that the client can be kept waiting.
    pub has_token: bool,
}

/// What becomes of a message that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// It goes on as it is, with what rules have changed.
    Go,
    /// It goes on as it came.
    Original,
    /// It goes on as somebody wrote it anew: only the tokens that differ are other ones.
    Edited {
        /// As it was written.
        text: Vec<u8>,
        /// Whether it goes whatever is wrong with it.
        force: bool,
        /// The schema of the tool's arguments, for tools that were listed before anything was judged.
        schema: Option<Vec<u8>>,
    },
    /// It does not go on.
    Drop,
    /// It is answered in the other side's place with this: a whole answer, or what is to be in `result`. Of an answer, this
    /// goes on in its place.
    Answer(Vec<u8>),
    /// It is answered, or replaced, by an error.
    Error {
        /// The code.
        code: i64,
        /// The message of the error.
        message: String,
    },
    /// It goes on later by so much, nanoseconds.
    Later(u64),
}

/// Why a command could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandError {
    /// No message is held under this number.
    #[error("no message is held under the number {0}")]
    NothingHeld(u64),
    /// There is no rule with this number.
    #[error("there is no breakpoint {0}")]
    NoRule(u32),
    /// The edited message should not go.
    #[error("it was not sent: {}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Wrong(Vec<Problem>),
    /// Only a request can be answered.
    #[error("it cannot be answered, for it is no request")]
    NotARequest,
    /// Over HTTP nobody but the client can answer the server.
    #[error("over HTTP a question of the server's cannot be answered in the client's place")]
    NotOverHttp,
    /// What was given as an answer is none.
    #[error("what was given is no answer: it is not one JSON object")]
    NotAnAnswer,
    /// What was given is no message.
    #[error("what was given cannot be sent: {0}")]
    NotAMessage(String),
    /// There is nobody to send it to.
    #[error("there is nobody to send it to: that side has ended")]
    Ended,
    /// Too much is under way.
    #[error("{0} requests of this kind are under way already")]
    TooMany(usize),
}
