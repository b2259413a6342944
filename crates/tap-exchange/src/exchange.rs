//! What is known of an exchange, and what reading gives out.

use tap_frame::{Frame, HttpEnd, HttpPart};
use tap_session::{Event, HttpMeaning, HttpSessionNumber, Place};

/// Header fields in the order in which they came.
pub type Fields = Vec<(String, Vec<u8>)>;

/// The head of a request or of a response, as far as it was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// `HTTP/1.1`, `HTTP/2.0`.
    pub version: String,
    /// The fields.
    pub fields: Fields,
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
    /// Which version of HTTP was spoken with the server.
    pub server_version: Option<String>,
    /// When the head of the response came.
    pub response_at_ns: Option<u64>,
    /// When the first byte of its body came.
    pub first_byte_at_ns: Option<u64>,
    /// When the exchange was over.
    pub ended_at_ns: Option<u64>,
    /// How it ended.
    pub end: Option<HttpEnd>,
    /// Bytes of the request's body on the wire, as far as bodies were kept.
    pub request_bytes: u64,
    /// Bytes of the response's body on the wire, as far as bodies were kept.
    pub response_bytes: u64,
    /// The session of MCP that it belongs to, as far as that is known.
    pub conversation: Option<HttpSessionNumber>,
    /// The number of the frame that is its request.
    pub request_seq: Option<u64>,
}

/// Where a frame's bytes lie among those of its exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source {
    /// Of which part: [`HttpPart::RequestBody`] or [`HttpPart::ResponseBody`].
    pub part: HttpPart,
    /// Where the first of the bytes is that the frame was made of.
    pub place: Place,
    /// How many bytes of that part it was made of.
    pub raw_length: u64,
    /// Of an event: its number in the stream, from 1.
    pub event: Option<u64>,
    /// The body is compressed: it has to be read from its beginning, which is where `place` says.
    pub compressed: bool,
}

/// A frame of a recording over HTTP.
///
/// Every exchange has one frame for its request, whose bytes are the decoded body; each event with data is one, whose bytes
/// are the data; the body of any other answer is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFrame {
    /// The frame.
    pub frame: Frame,
    /// Its exchange; `None` for a line of stderr, where there is a process behind.
    pub exchange: Option<u64>,
    /// The session of MCP that it belongs to, as far as that is known.
    pub conversation: Option<HttpSessionNumber>,
    /// Where its bytes came from; `None` for a line of stderr.
    pub source: Option<Source>,
}

/// One thing that was read.
#[derive(Debug, Default)]
pub struct Read {
    /// The frame that it completed.
    pub frame: Option<ReadFrame>,
    /// What the frame was, and what was answered by it.
    pub events: Vec<Event>,
    /// The exchange, if something new is known of it.
    pub exchange: Option<Exchange>,
    /// What it meant beside that, by session: findings and links. Their events are in `events`.
    pub meanings: Vec<HttpMeaning>,
}
