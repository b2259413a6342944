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
const FIRST_EVENT_BYTES: usize = 16 * 1024;

/// What is known of the first event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FirstEvent {
    /// It has not ended.
    Unknown,
    /// It names this endpoint.
    Endpoint(String),
    /// It is another, or there is none.
    Other,
}

/// Reads the first event of a stream.
#[derive(Debug, Default)]
struct Reader {
    line: Vec<u8>,
    n_bytes: usize,
    after_return: bool,
    is_endpoint: bool,
    data: Option<String>,
}

impl Reader {
    fn read(&mut self, bytes: &[u8]) -> FirstEvent {
        for byte in bytes {
            self.n_bytes += 1;
            let after_return = std::mem::replace(&mut self.after_return, *byte == b'\r');
            let found = match byte {
                b'\n' if after_return => FirstEvent::Unknown,
                b'\n' | b'\r' => self.line_ended(),
                _ => {
                    self.line.push(*byte);
                    FirstEvent::Unknown
                }
            };
            match found {
                FirstEvent::Unknown if self.n_bytes >= FIRST_EVENT_BYTES => return FirstEvent::Other,
                FirstEvent::Unknown => {}
                FirstEvent::Endpoint(_) | FirstEvent::Other => return found,
            }
        }
        FirstEvent::Unknown
    }

    fn line_ended(&mut self) -> FirstEvent {
        let line = std::mem::take(&mut self.line);
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line);
        if line.is_empty() {
            // An event without data is none.
            return match (self.data.take(), std::mem::take(&mut self.is_endpoint)) {
                (Some(data), true) => FirstEvent::Endpoint(data),
                (Some(_), false) => FirstEvent::Other,
                (None, _) => FirstEvent::Unknown,
            };
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.is_endpoint = value == b"endpoint",
            b"data" => {
                let data = self.data.get_or_insert_default();
                data.push_str(&String::from_utf8_lossy(value));
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
        let endpoint = |path: &str| FirstEvent::Endpoint(path.into());
        for (stream, expected) in [
            ("event: endpoint\ndata: /messages?id=1\n\n", endpoint("/messages?id=1")),
            ("event:endpoint\r\ndata:/m\r\n\r\nevent: message\r\n", endpoint("/m")),
            ("event: endpoint\rdata: /m\r\r", endpoint("/m")),
            ("\u{feff}event: endpoint\ndata: /m\n\n", endpoint("/m")),
            (": hello\n\nid: 1\nretry: 5\n\nevent: endpoint\ndata: /m\n\n", endpoint("/m")),
            ("data: /m\nevent: endpoint\n\n", endpoint("/m")),
            ("event: put\ndata: {}\n\nevent: endpoint\ndata: /m\n\n", FirstEvent::Other),
            ("data: {\"jsonrpc\":\"2.0\"}\n\n", FirstEvent::Other),
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
        let endless = vec![b'x'; FIRST_EVENT_BYTES];
        assert_eq!(Reader::default().read(&endless), FirstEvent::Other);
    }
}
