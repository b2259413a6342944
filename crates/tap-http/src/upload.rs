//! A request's body on its way to the server, which may have to begin again.
//!
//! A server closes connections that were idle for a while, and the proxy may find that out only when it has begun to send.
//! Where not one byte went out, the request may go out on another connection; but part of its body may have been taken by
//! then, so the beginning is held until the answer begins.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::{BodyExt, Either};
use hyper::body::Incoming;
use tap_jsonrpc::{Content, Scanner};

use crate::body::{Body, BodyError, Copied};

/// How much of a body is held at most, bytes.
const HELD_BYTES: usize = 256 * 1024;

/// How much of a body is read at most for the id of an error, bytes.
const READ_BYTES: usize = 64 * 1024 * 1024;

/// How long that may take.
const READ_LIMIT: Duration = Duration::from_secs(5);

/// A request's body, and the beginning of it that was taken.
#[derive(Clone)]
pub(crate) struct Source(Arc<Mutex<State>>);

struct State {
    body: Either<Copied<Incoming>, Body>,
    held: Vec<Bytes>,
    n_held_bytes: usize,
    /// How many of those held were taken again.
    n_taken: usize,
    /// Whether all that was taken of the body is held.
    is_whole: bool,
    /// Whether the answer has begun, after which nothing is sent again.
    is_answered: bool,
    hint: SizeHint,
}

impl Source {
    pub(crate) fn new(body: Copied<Incoming>) -> Self {
        Self::of(Either::Left(body))
    }

    /// The body that goes on in the place of the client's.
    pub(crate) fn instead(body: Body) -> Self {
        Self::of(Either::Right(body))
    }

    fn of(body: Either<Copied<Incoming>, Body>) -> Self {
        let hint = body.size_hint();
        Self(Arc::new(Mutex::new(State {
            body,
            held: Vec::new(),
            n_held_bytes: 0,
            n_taken: 0,
            is_whole: true,
            is_answered: false,
            hint,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The body from its beginning, or `None` where that is no longer held. Only one of them may be in use.
    pub(crate) fn upload(&self) -> Option<Upload> {
        let mut state = self.state();
        state.n_taken = 0;
        state.is_whole.then(|| Upload(self.clone()))
    }

    /// Says that the answer has begun.
    pub(crate) fn is_answered(&self) {
        let mut state = self.state();
        state.is_answered = true;
        if state.n_taken == state.held.len() {
            state.let_go();
        }
    }

    /// The id of the request in the body, as it is written. Reads the body to its end: a client that is not done with
    /// sending would not see the answer.
    pub(crate) async fn raw_id(&self) -> Option<Vec<u8>> {
        let is_whole = self.upload().is_some();
        let mut upload = Upload(self.clone());
        let mut scanner = Scanner::new(&[]);
        let reading = async {
            let mut n_bytes = 0;
            while let Some(Ok(frame)) = upload.frame().await {
                let bytes = frame.into_data().unwrap_or_default();
                scanner.feed(&bytes);
                n_bytes += bytes.len();
                if n_bytes > READ_BYTES {
                    return false;
                }
            }
            true
        };
        let is_read = tokio::time::timeout(READ_LIMIT, reading).await.unwrap_or(false);
        match scanner.finish().content {
            Content::Message(envelope) if is_read && is_whole => Some(envelope.id?.as_bytes().to_vec()),
            _ => None,
        }
    }
}

impl State {
    fn let_go(&mut self) {
        self.is_whole = self.n_held_bytes == 0 && self.is_whole && !self.is_answered;
        self.held = Vec::new();
        self.n_held_bytes = 0;
        self.n_taken = 0;
    }

    fn hold(&mut self, frame: &Frame<Bytes>) {
        if !self.is_whole || self.is_answered {
            self.is_whole = false;
            return;
        }
        match frame.data_ref() {
            Some(bytes) if self.n_held_bytes + bytes.len() <= HELD_BYTES => {
                self.n_held_bytes += bytes.len();
                self.held.push(bytes.clone());
                self.n_taken = self.held.len();
            }
            _ => self.let_go(),
        }
    }
}

/// A request's body, from its beginning.
pub(crate) struct Upload(Source);

impl HttpBody for Upload {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut state = self.0.state();
        if let Some(bytes) = state.held.get(state.n_taken).cloned() {
            state.n_taken += 1;
            return Poll::Ready(Some(Ok(Frame::data(bytes))));
        }
        let polled = ready!(Pin::new(&mut state.body).poll_frame(context));
        if let Some(Ok(frame)) = &polled {
            state.hold(frame);
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        let state = self.0.state();
        state.n_taken >= state.held.len() && state.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let state = self.0.state();
        if state.n_taken == 0 { state.hint } else { state.body.size_hint() }
    }
}
