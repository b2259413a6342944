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
    /// `None` where nothing is recorded.
    exchange: Option<Arc<Exchange>>,
    over: bool,
    /// Why it broke off, while what came before is on its way.
    broken: Option<BodyError>,
    on_whole: Option<Box<dyn FnOnce() + Send>>,
}

impl<B: HttpBody> Copied<B> {
    pub(crate) fn new(inner: B, which: Which, exchange: Arc<Exchange>) -> Self {
        Self::perhaps(inner, which, Some(exchange))
    }

    /// The same where it may be that nothing is recorded.
    pub(crate) fn perhaps(inner: B, which: Which, exchange: Option<Arc<Exchange>>) -> Self {
        let mut copied = Self { inner, which, exchange, over: false, broken: None, on_whole: None };
        // Such a body is never polled.
        copied.note_end();
        copied
    }

    /// Leaves no copies from here on.
    pub(crate) fn forget(&mut self) {
        self.exchange = None;
    }

    /// Has `on_whole` called when all of the body was read.
    pub(crate) fn on_whole(mut self, on_whole: impl FnOnce() + Send + 'static) -> Self {
        if self.over {
            on_whole();
        } else {
            self.on_whole = Some(Box::new(on_whole));
        }
        self
    }

    fn note_end(&mut self) {
        if !self.over && self.inner.is_end_stream() {
            self.end(HttpEnd::Whole);
        }
    }

    fn end(&mut self, end: HttpEnd) {
        if !std::mem::replace(&mut self.over, true) {
            if let (HttpEnd::Whole, Some(on_whole)) = (end, self.on_whole.take()) {
                on_whole();
            }
            let Some(exchange) = &self.exchange else { return };
            match (self.which, end) {
                (Which::Request, HttpEnd::Whole) => exchange.request_end(),
                (_, end) => exchange.end(end),
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

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        if let Some(error) = this.broken.take() {
            return Poll::Ready(Some(Err(error)));
        }
        let polled = match ready!(Pin::new(&mut this.inner).poll_frame(context)) {
            Some(Ok(frame)) => {
                if let (Some(bytes), Some(exchange)) = (frame.data_ref(), &this.exchange) {
                    match this.which {
                        Which::Request => exchange.request_body(bytes),
                        Which::Response => exchange.response_body(bytes),
                    }
                }
                this.note_end();
                Some(Ok(frame))
            }
            Some(Err(error)) => {
                match this.which {
                    Which::Request => this.end(HttpEnd::ByClient),
                    Which::Response => this.end(HttpEnd::ByServer),
                }
                // Told at once, hyper would close the connection with the chunks before this one still in its buffer. Asked
                // a second time it has written them, as far as the client takes them.
                this.broken = Some(error.into());
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            None => {
                this.end(HttpEnd::Whole);
                None
            }
        };
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.broken.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl<B> Drop for Copied<B> {
    fn drop(&mut self) {
        if let (Which::Response, false, Some(exchange)) = (self.which, self.over, &self.exchange) {
            exchange.end(HttpEnd::ByClient);
        }
    }
}
