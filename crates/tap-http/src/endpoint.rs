//! The `endpoint` event of HTTP+SSE, which says where messages are to be posted.
//!
//! A server may say it with its own origin, and clients refuse another origin than the one they connected to, which is the
//! proxy's. So the origin is replaced, and nothing else; an endpoint without one is left alone.
//!
//! Source: MCP 2024-11-05, Transports, HTTP with SSE.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::Uri;
use http_body::{Body as HttpBody, Frame};

use crate::body::BodyError;
use crate::first_event::{FirstEvent, Reader};

/// Rewrites the first event of a stream, if it is an `endpoint` event.
#[derive(Debug)]
pub(crate) struct Rewriter {
    /// Scheme and authority of the server, in lower case and without a default port.
    server: String,
    /// What clients call it.
    ours: String,
    reader: Reader,
    /// What may belong to the first event.
    held: Vec<u8>,
    /// Where in the stream that begins.
    held_at: u64,
    is_done: bool,
}

impl Rewriter {
    pub(crate) fn new(scheme: &str, authority: &str, ours: String) -> Self {
        let server = origin_of(scheme, authority);
        Self { server, ours, reader: Reader::default(), held: Vec::new(), held_at: 0, is_done: false }
    }

    /// Takes the next bytes of the stream and gives those that may go on. `told` is told the endpoint, as the server said it.
    fn feed(&mut self, chunk: Bytes, told: &mut impl FnMut(&str)) -> Bytes {
        if self.is_done {
            return chunk;
        }
        let found = self.reader.read(&chunk);
        self.held.extend_from_slice(&chunk);
        match found {
            FirstEvent::Unknown => {
                // What is before it says nothing, and is not held up.
                let n_free = usize::try_from(self.reader.event_at() - self.held_at).unwrap_or(usize::MAX);
                self.held_at = self.reader.event_at();
                let held = self.held.split_off(n_free.min(self.held.len()));
                std::mem::replace(&mut self.held, held).into()
            }
            FirstEvent::Other => self.rest(),
            FirstEvent::Endpoint { endpoint, at } => {
                told(&endpoint);
                let from = usize::try_from(at - self.held_at).unwrap_or(usize::MAX);
                let held = self.rest();
                match (self.path_of(&endpoint), held.get(..from), held.get(from.saturating_add(endpoint.len())..)) {
                    (Some(path), Some(before), Some(after)) => {
                        [before, self.ours.as_bytes(), path.as_bytes(), after].concat().into()
                    }
                    _ => held,
                }
            }
        }
    }

    /// What is left when the stream ends within its first event, which then is none.
    fn rest(&mut self) -> Bytes {
        self.is_done = true;
        std::mem::take(&mut self.held).into()
    }

    /// What follows the server's origin in an address of its own.
    fn path_of<'a>(&self, value: &'a str) -> Option<&'a str> {
        let (scheme, rest) = value.split_once("://")?;
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        (origin_of(scheme, authority) == self.server).then_some(path)
    }
}

/// Scheme and authority in the one spelling in which two of them can be compared.
fn origin_of(scheme: &str, authority: &str) -> String {
    let (scheme, authority) = (scheme.to_ascii_lowercase(), authority.to_ascii_lowercase());
    let authority = authority.rsplit_once('@').map_or(authority.as_str(), |(_, host)| host);
    let port = if scheme == "https" { ":443" } else { ":80" };
    format!("{scheme}://{}", authority.strip_suffix(port).unwrap_or(authority))
}

/// Path and query that an endpoint means, for a stream that was asked for at `asked`.
pub(crate) fn target_of(endpoint: &str, asked: &Uri) -> Option<String> {
    if endpoint.contains("://") {
        let uri: Uri = endpoint.parse().ok()?;
        return Some(uri.path_and_query()?.as_str().into());
    }
    let endpoint = endpoint.split('#').next().unwrap_or_default();
    let path = asked.path();
    let folder = path.rfind('/').map_or("/", |at| path.get(..=at).unwrap_or("/"));
    match endpoint.chars().next() {
        Some('/') => Some(endpoint.into()),
        Some('?') => Some(format!("{path}{endpoint}")),
        Some(_) => Some(format!("{folder}{}", endpoint.strip_prefix("./").unwrap_or(endpoint))),
        None => None,
    }
}

/// A body whose first event is rewritten.
pub(crate) struct Rewritten<B, F> {
    inner: B,
    rewriter: Rewriter,
    told: F,
    is_over: bool,
}

impl<B, F: FnMut(&str)> Rewritten<B, F> {
    pub(crate) fn new(inner: B, rewriter: Rewriter, told: F) -> Self {
        Self { inner, rewriter, told, is_over: false }
    }
}

impl<B, F> HttpBody for Rewritten<B, F>
where
    B: HttpBody<Data = Bytes, Error = BodyError> + Unpin,
    F: FnMut(&str) + Unpin,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        loop {
            if this.is_over {
                return Poll::Ready(None);
            }
            let frame = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
                None => {
                    this.is_over = true;
                    let rest = this.rewriter.rest();
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest))));
                }
                Some(frame) => frame?,
            };
            match frame.into_data() {
                Ok(chunk) => {
                    let out = this.rewriter.feed(chunk, &mut this.told);
                    if !out.is_empty() {
                        return Poll::Ready(Some(Ok(Frame::data(out))));
                    }
                }
                Err(other) => return Poll::Ready(Some(Ok(other))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What goes on of a stream that comes in pieces, and the endpoint that was told.
    fn rewrite<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (String, Option<String>) {
        let mut rewriter = Rewriter::new("https", "mcp.example.com", "http://127.0.0.1:7000".into());
        let (mut out, mut endpoint) = (Vec::new(), None);
        for piece in pieces {
            let mut told = |value: &str| endpoint = Some(value.to_owned());
            out.extend_from_slice(&rewriter.feed(Bytes::copy_from_slice(piece), &mut told));
        }
        out.extend_from_slice(&rewriter.rest());
        (String::from_utf8_lossy(&out).into_owned(), endpoint)
    }

    const CASES: &[(&str, &str, Option<&str>)] = &[
        ("event: endpoint\ndata: /message?s=1\n\n", "event: endpoint\ndata: /message?s=1\n\n", Some("/message?s=1")),
        (
            "event: endpoint\r\ndata: https://mcp.example.com/message?s=1\r\n\r\ndata: x\r\n\r\n",
            "event: endpoint\r\ndata: http://127.0.0.1:7000/message?s=1\r\n\r\ndata: x\r\n\r\n",
            Some("https://mcp.example.com/message?s=1"),
        ),
        (
            "data:HTTPS://MCP.example.com:443/m\revent:endpoint\r\r",
            "data:http://127.0.0.1:7000/m\revent:endpoint\r\r",
            Some("HTTPS://MCP.example.com:443/m"),
        ),
        (
            ": hello\n\nretry: 5\nid: 1\nevent: endpoint\ndata: https://mcp.example.com?s=1\n\n",
            ": hello\n\nretry: 5\nid: 1\nevent: endpoint\ndata: http://127.0.0.1:7000?s=1\n\n",
            Some("https://mcp.example.com?s=1"),
        ),
        (
            "retry: 5\n\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
            "retry: 5\n\n\nevent: endpoint\ndata: http://127.0.0.1:7000/m\n\n",
            Some("https://mcp.example.com/m"),
        ),
        (
            "\u{feff}event: endpoint\r\ndata: https://mcp.example.com/m\r\n\r\n",
            "\u{feff}event: endpoint\r\ndata: http://127.0.0.1:7000/m\r\n\r\n",
            Some("https://mcp.example.com/m"),
        ),
        (
            "event: endpoint\ndata: https://mcp.example.com.evil.example/m\n\n",
            "event: endpoint\ndata: https://mcp.example.com.evil.example/m\n\n",
            Some("https://mcp.example.com.evil.example/m"),
        ),
        (
            "event: message\ndata: https://mcp.example.com/m\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
            "event: message\ndata: https://mcp.example.com/m\n\nevent: endpoint\ndata: https://mcp.example.com/m\n\n",
            None,
        ),
        ("event: endpoint\ndata: https://mcp.example.com/m", "event: endpoint\ndata: https://mcp.example.com/m", None),
        ("", "", None),
    ];

    #[test]
    fn only_the_origin_of_an_endpoint_in_the_first_event_is_replaced_however_the_stream_is_cut() {
        for (stream, expected, endpoint) in CASES {
            assert_eq!(rewrite([stream.as_bytes()]), ((*expected).into(), endpoint.map(Into::into)), "{stream:?}");
            let bytes: Vec<&[u8]> = stream.as_bytes().chunks(1).collect();
            assert_eq!(rewrite(bytes), ((*expected).into(), endpoint.map(Into::into)), "byte by byte: {stream:?}");
        }
    }

    #[test]
    fn an_event_after_the_first_and_a_comment_are_not_held_up() {
        let mut rewriter = Rewriter::new("http", "a", "http://b".into());
        for piece in [": ping\n", "\n", "data: 1\n\ndata", ": 2"] {
            assert_eq!(rewriter.feed(Bytes::copy_from_slice(piece.as_bytes()), &mut |_| {}), piece);
        }
    }

    #[test]
    fn a_first_event_without_end_is_passed_on_when_it_gets_too_large() {
        let mut rewriter = Rewriter::new("http", "a", "http://b".into());
        let large = Bytes::from(vec![b'x'; 64 * 1024 + 1]);
        assert_eq!(rewriter.feed(large.clone(), &mut |_| {}), large);
        assert_eq!(rewriter.feed(Bytes::from_static(b"y"), &mut |_| {}), "y");
    }

    #[test]
    fn an_endpoint_means_a_path_of_the_server() {
        for (endpoint, asked, expected) in [
            ("/message?s=1", "/sse", Some("/message?s=1")),
            ("message?s=1", "/a/sse", Some("/a/message?s=1")),
            ("./message", "/a/sse", Some("/a/message")),
            ("?s=1", "/a/sse?x=2", Some("/a/sse?s=1")),
            ("https://h/m?s=1#f", "/sse", Some("/m?s=1")),
            ("", "/sse", None),
        ] {
            assert_eq!(target_of(endpoint, &asked.parse().unwrap()).as_deref(), expected, "{endpoint:?} at {asked:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_no_endpoint_event_passes_byte_for_byte(
            pieces in prop::collection::vec(prop::collection::vec(prop::sample::select(&b"\r\n: ax"[..]), 0..6), 0..12)
        ) {
            let whole: Vec<u8> = pieces.concat();
            let (out, _) = rewrite(pieces.iter().map(Vec::as_slice));
            prop_assert_eq!(out.as_bytes(), &whole[..]);
        }
    }
}
