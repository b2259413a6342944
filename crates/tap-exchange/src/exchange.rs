//! What is known of an exchange, and what reading gives out.

use std::sync::Arc;

use bytes::Bytes;
use tap_frame::{Frame, HttpEnd, HttpHead, HttpPart};
use tap_session::{Event, FrameEnd, HttpMeaning, HttpSessionKind, HttpSessionNumber, Place};

/// The head of a request or of a response, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub version: String,
    /// The fields as they were kept: a line each, `name: value`, without an end behind the last.
    pub text: Bytes,
}

impl Head {
    /// The fields in the order in which they came. Names in any case.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &[u8])> {
        HttpHead::of_fields(&self.text).fields()
    }

    /// The first value of a field, if it is UTF-8.
    #[must_use]
    pub fn field(&self, wanted: &str) -> Option<&str> {
        let (_, value) = self.fields().find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        std::str::from_utf8(value).ok()
    }
}

/// One exchange of HTTP, as far as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exchange {
    /// Its number, from 1, in the order in which requests came.
    pub number: u64,
    /// Which connection of a client it came on, from 1.
    pub connection: u64,
    /// `POST`, `GET`, …
    pub verb: String,
    /// Path and query, less what is secret.
    pub target: String,
    /// The request's head.
    pub request: Head,
    /// The response's head, once it came.
    pub response: Option<Head>,
    /// The status code.
    pub status: Option<u16>,
    /// When the request began, nanoseconds since the session opened.
    pub opened_at_ns: u64,
    /// When the request was complete.
    pub request_end_at_ns: Option<u64>,
    /// How long it took to connect to the server, nanoseconds, if a connection was made for it.
    pub connect_ns: Option<u64>,
    /// Which version of HTTP was spoken with the server, once the request had a connection.
    pub server_version: Option<String>,
    /// When the head of the response came.
    pub response_at_ns: Option<u64>,
    /// When the first byte of its body came.
    pub first_byte_at_ns: Option<u64>,
    /// When the exchange was over.
    pub ended_at_ns: Option<u64>,
    /// How it ended. `None` while it is open, where that was lost, and where the recording ends before it.
    pub end: Option<HttpEnd>,
    /// Bytes of the request's body on the wire, as far as bodies were kept.
    pub request_bytes: u64,
    /// Bytes of the response's body on the wire, as far as bodies were kept.
    pub response_bytes: u64,
    /// Bytes of it that passed and could not be recorded.
    pub lost_bytes: u64,
    /// A body is said to be compressed, and cannot be decoded, or not all of it: in a coding that is not known, or damaged.
    pub undecodable: bool,
    /// The session of MCP that it belongs to, as far as that is known.
    pub conversation: Option<HttpSessionNumber>,
    /// The number of the frame that is its request, once that is complete.
    pub request_seq: Option<u64>,
    /// The number of the segment in which it begins.
    pub first_segment: u64,
    /// The number of the segment in which it ends; while it is open, of the newest that is known to hold some of it.
    pub last_segment: u64,
}

/// Where a frame's bytes lie among those of its exchange. `frame_bytes` makes them of those again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Of which part: [`HttpPart::RequestBody`] or [`HttpPart::ResponseBody`].
    pub part: HttpPart,
    /// How many bytes of that part it was made of, from the frame's place on.
    pub raw_length: u64,
    /// Of an event: its number in the stream, from 1. Events without data count.
    pub event: Option<u64>,
    /// The body is compressed: it has to be decoded from its beginning, which is where the frame's place is.
    pub compressed: bool,
}

/// A frame of a recording over HTTP.
///
/// Every exchange has one frame for its request, whose bytes are the decoded body, perhaps none; each event with data is one,
/// whose bytes are the data; the body of any other answer is one, unless it is empty. What was lost is a
/// [gap](tap_frame::Origin::Gap) in place of what it was lost from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFrame {
    /// The frame.
    pub frame: Frame,
    /// Where the first of the bytes lies that it was made of.
    pub place: Place,
    /// Why it ended where it did.
    pub end: FrameEnd,
    /// Its exchange; `None` for a line of stderr, where there is a process behind.
    pub exchange: Option<u64>,
    /// The session of MCP that it belongs to, as far as that is known.
    pub conversation: Option<HttpSessionNumber>,
    /// Which bytes it was made of; `None` for a line of stderr, and for a gap.
    pub source: Option<Source>,
}

/// What came of one thing that was read.
#[derive(Debug, Default)]
pub struct Read {
    /// The frame that it completed.
    pub frame: Option<ReadFrame>,
    /// What the frame was (its rows come first), and which requests were answered.
    pub events: Vec<Event>,
    /// The exchange that it is of, if something new is known of it.
    pub exchange: Option<Arc<Exchange>>,
    /// What it meant beside that, by session: findings and links. Their events are in `events`.
    pub meanings: Vec<HttpMeaning>,
    /// A session that the server never accepted and that is forgotten now: what was said to belong to it belongs to none.
    pub refused: Option<HttpSessionNumber>,
}

impl Read {
    pub(crate) fn is_empty(&self) -> bool {
        self.frame.is_none()
            && self.events.is_empty()
            && self.exchange.is_none()
            && self.meanings.is_empty()
            && self.refused.is_none()
    }
}

/// A session of MCP inside a recording over HTTP, in a few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversation {
    /// Its number. Numbers of sessions that were refused are left out.
    pub number: HttpSessionNumber,
    /// What holds it together.
    pub kind: HttpSessionKind,
    /// The client's name and version as it introduced itself. In the modern era there may be many; this is one of them.
    pub client: Option<String>,
    /// The server's name and version.
    pub server: Option<String>,
    /// The revision that was agreed, or named first.
    pub revision: Option<String>,
    /// `legacy` or `modern`, once that is known.
    pub era: Option<String>,
    /// The number of its first frame.
    pub first_seq: u64,
    /// The number of its newest frame.
    pub last_seq: u64,
    /// Frames of it that are messages.
    pub n_messages: u64,
    /// Requests, either way.
    pub n_calls: u64,
    /// Requests answered with an error or a tool error, exchanges with a status that says so, and what is no message though
    /// it should be one.
    pub n_errors: u64,
    /// When its first frame came, nanoseconds since the recording began.
    pub began_at_ns: u64,
    /// When it ended or the server was found not to know it any more, if it did.
    pub ended_at_ns: Option<u64>,
}
