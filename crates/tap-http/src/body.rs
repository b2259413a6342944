//! Bodies: streamed on as they come, with a copy aside.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use tap_frame::HttpEnd;

use crate::record::Exchange;

/// Why a body broke off.
pub type BodyError = Box<dyn std::error::Error + Send + Sync>;

/// A body of either side.
pub type Body = UnsyncBoxBody<Bytes, BodyError>;

/// A body without bytes.
#[must_use]
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is all there.
#[must_use]
pub fn full(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// Which of an exchange's two bodies it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    Request,
    Response,
}

/// A body that leaves a copy of each chunk before it hands it on.
///
/// Nothing is gathered: what was read goes on at once. When it is dropped before its end, somebody went away: of a response
/// the client, which the record of the exchange then says.
pub(crate) struct Copied<B> {
    inner: B,
    which: Which,
    exchange: Arc<Exchange>,
    over: bool,
}

impl<B: HttpBody> Copied<B> {
    pub(crate) fn new(inner: B, which: Which, exchange: Arc<Exchange>) -> Self {
        let mut copied = Self { inner, which, exchange, over: false };
        // Such a body is never polled.
        copied.note_end();
        copied
    }

    fn note_end(&mut self) {
        if !self.over && self.inner.is_end_stream() {
            self.end(HttpEnd::Whole);
        }
    }

    fn end(&mut self, end: HttpEnd) {
        if !std::mem::replace(&mut self.over, true) {
            match (self.which, end) {
                (Which::Request, HttpEnd::Whole) => self.exchange.request_end(),
                // Whether it could not be read or not be sent is for the answer to say.
                (Which::Request, _) => {}
                (Which::Response, end) => self.exchange.end(end),
            }
        }
    }
}

impl<B> HttpBody for Copied<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    B::Error: Into<BodyError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        let polled = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let Some(bytes) = frame.data_ref() {
                    match this.which {
                        Which::Request => this.exchange.request_body(bytes),
                        Which::Response => this.exchange.response_body(bytes),
                    }
                }
                this.note_end();
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                this.end(HttpEnd::ByServer);
                Some(Err(error.into()))
            }
            None => {
                this.end(HttpEnd::Whole);
                None
            }
        };
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
