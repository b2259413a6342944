//! The first event of an event stream, looked at as it passes: a server over HTTP+SSE names its endpoint in it.
//!
//! That is what tells such a server from everything else that streams events: its first request is a plain GET.
//!
//! Source: MCP 2024-11-05, basic/transports, HTTP with SSE; the format: HTML, 9.2.6 Interpreting an event stream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use hyper::body::Incoming;

use crate::body::{BodyError, Copied};

/// An event that has not ended after so many bytes is none that names an endpoint.
const EVENT_BYTES: u64 = 64 * 1024;

/// A stream that has had no event after so many bytes is none of HTTP+SSE.
const STREAM_BYTES: u64 = 1024 * 1024;

/// What is known of the first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FirstEvent {
    /// It has not ended.
    Unknown,
    /// It names an endpoint.
    Endpoint {
        /// What it names.
        endpoint: String,
        /// Where that begins in the stream.
        at: u64,
    },
    /// It is another, or there is none.
    Other,
}

/// Reads the first event of a stream.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    line: Vec<u8>,
    n_bytes: u64,
    line_at: u64,
    /// Where the fields begin that may belong to the event.
    event_at: u64,
    has_fields: bool,
    after_return: bool,
    is_endpoint: bool,
    data: Data,
}

#[derive(Debug, Default)]
enum Data {
    #[default]
    None,
    /// One line, and where it begins.
    Line(Vec<u8>, u64),
    Lines,
}

impl Reader {
    /// Takes the next bytes, up to the end of the first event.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> FirstEvent {
        for byte in bytes {
            self.n_bytes += 1;
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            let found = match byte {
                b'\n' if after_return => {
                    // It ends the same line, and the next one begins behind it.
                    self.line_at = self.n_bytes;
                    FirstEvent::Unknown
                }
                b'\n' | b'\r' => self.line_ended(),
                _ => {
                    self.line.push(*byte);
                    FirstEvent::Unknown
                }
            };
            if !self.has_fields && self.line.is_empty() {
                self.event_at = self.n_bytes;
            }
            match found {
                FirstEvent::Unknown if self.n_bytes - self.event_at > EVENT_BYTES || self.n_bytes > STREAM_BYTES => {
                    return FirstEvent::Other;
                }
                FirstEvent::Unknown => {}
                FirstEvent::Endpoint { .. } | FirstEvent::Other => return found,
            }
        }
        FirstEvent::Unknown
    }

    /// Where the event begins, as far as can be told: what is before has no part in it. In bytes of the stream.
    pub(crate) fn event_at(&self) -> u64 {
        self.event_at
    }

    fn line_ended(&mut self) -> FirstEvent {
        let line = std::mem::take(&mut self.line);
        let line_at = std::mem::replace(&mut self.line_at, self.n_bytes);
        let mark = if line_at == 0 && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let unmarked = line.get(mark..).unwrap_or_default();
        if unmarked.is_empty() {
            self.has_fields = false;
            // An event without data is none.
            return match (std::mem::take(&mut self.data), std::mem::take(&mut self.is_endpoint)) {
                (Data::Line(data, at), true) => match String::from_utf8(data) {
                    Ok(endpoint) => FirstEvent::Endpoint { endpoint, at },
                    Err(_) => FirstEvent::Other,
                },
                (Data::Line(..) | Data::Lines, _) => FirstEvent::Other,
                (Data::None, _) => FirstEvent::Unknown,
            };
        }
        let colon = unmarked.iter().position(|byte| *byte == b':').unwrap_or(unmarked.len());
        let (name, value) = unmarked.split_at(colon);
        let value = value.strip_prefix(b":").unwrap_or(value);
        let value = value.strip_prefix(b" ").unwrap_or(value);
        self.has_fields |= !name.is_empty();
        match name {
            b"event" => self.is_endpoint = value == b"endpoint",
            b"data" => {
                let at = line_at + u64::try_from(line.len() - value.len()).unwrap_or_default();
                self.data = match self.data {
                    Data::None => Data::Line(value.to_vec(), at),
                    Data::Line(..) | Data::Lines => Data::Lines,
                };
            }
            _ => {}
        }
        FirstEvent::Unknown
    }
}

/// What is to be done once the first event is known; says whether the exchange is to be recorded from there on.
pub(crate) type Decide = Box<dyn FnOnce(FirstEvent) -> bool + Send>;

/// A response's body whose first event decides whether it goes on leaving copies.
pub(crate) struct Watched {
    inner: Copied<Incoming>,
    reader: Reader,
    /// There until it is decided.
    decide: Option<Decide>,
}

impl Watched {
    pub(crate) fn new(inner: Copied<Incoming>, decide: Decide) -> Self {
        Self { inner, reader: Reader::default(), decide: Some(decide) }
    }

    fn decide(&mut self, found: FirstEvent) {
        if let Some(decide) = self.decide.take()
            && !decide(found)
        {
            self.inner.forget();
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let polled = ready!(Pin::new(&mut this.inner).poll_frame(context));
        if this.decide.is_some() {
            let found = match &polled {
                Some(Ok(frame)) => frame.data_ref().map_or(FirstEvent::Unknown, |bytes| this.reader.read(bytes)),
                Some(Err(_)) | None => FirstEvent::Other,
            };
            if found != FirstEvent::Unknown {
                this.decide(found);
            }
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_event_with_data_decides() {
        let endpoint = |endpoint: &str, at| FirstEvent::Endpoint { endpoint: endpoint.into(), at };
        for (stream, expected) in [
            ("event: endpoint\ndata: /messages?id=1\n\n", endpoint("/messages?id=1", 22)),
            ("event:endpoint\r\ndata:/m\r\n\r\nevent: message\r\n", endpoint("/m", 21)),
            ("event: endpoint\rdata: /m\r\r", endpoint("/m", 22)),
            ("\u{feff}event: endpoint\ndata: /m\n\n", endpoint("/m", 25)),
            ("\u{feff}data: /m\nevent: endpoint\n\n", endpoint("/m", 9)),
            (": hello\n\nid: 1\nretry: 5\n\nevent: endpoint\ndata: /m\n\n", endpoint("/m", 47)),
            ("data: /m\nevent: endpoint\n\n", endpoint("/m", 6)),
            ("event: put\ndata: {}\n\nevent: endpoint\ndata: /m\n\n", FirstEvent::Other),
            ("data: {\"jsonrpc\":\"2.0\"}\n\n", FirstEvent::Other),
            ("event: endpoint\ndata: /a\ndata: /b\n\n", FirstEvent::Other),
            ("event: endpoint\n\ndata: /m\n\n", FirstEvent::Other),
            ("event: endpoint\ndata: /m\n", FirstEvent::Unknown),
            ("", FirstEvent::Unknown),
        ] {
            let whole = Reader::default().read(stream.as_bytes());
            assert_eq!(whole, expected, "{stream:?}");
            let mut reader = Reader::default();
            let found = stream.as_bytes().iter().map(|byte| reader.read(&[*byte]));
            let cut = found.into_iter().find(|found| *found != FirstEvent::Unknown).unwrap_or(FirstEvent::Unknown);
            assert_eq!(cut, expected, "{stream:?} byte by byte");
        }
        for endless in [&b"x"[..], b": x\n\n", b"retry: 1\n\n"] {
            assert_eq!(Reader::default().read(&endless.repeat(2 * 1024 * 1024)), FirstEvent::Other);
        }
    }
}
