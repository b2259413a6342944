//! The way of an answer: from the loop around a server process into the body of a response.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame};
use tap_bridge::one_line;
use tap_frame::HttpEnd;
use tap_http::{BodyError, Exchange};
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior};

/// What may wait for one client that does not read, bytes. Beyond it its answer breaks off.
const CLIENT_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// How often a stream says that it is still there, so that whoever is between us and the client keeps it open.
const COMMENT_EVERY: Duration = Duration::from_secs(15);

/// What reaches an exchange.
#[derive(Debug)]
pub(super) enum Reply {
    /// A message, and more follows.
    Message(Bytes),
    /// The last message, and the status code for it.
    Last(Bytes, u16),
}

/// The loop's end of an exchange's answer. Dropped, the answer ends.
#[derive(Debug)]
pub(super) struct ReplySender {
    replies: mpsc::UnboundedSender<Reply>,
    n_bytes: Arc<AtomicUsize>,
}

/// The exchange's end.
#[derive(Debug)]
pub(super) struct Replies {
    replies: mpsc::UnboundedReceiver<Reply>,
    n_bytes: Arc<AtomicUsize>,
}

pub(super) fn replies() -> (ReplySender, Replies) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let n_bytes = Arc::<AtomicUsize>::default();
    (ReplySender { replies: sender, n_bytes: n_bytes.clone() }, Replies { replies: receiver, n_bytes })
}

impl ReplySender {
    /// Whether nobody will receive anything any more.
    pub(super) fn is_closed(&self) -> bool {
        self.replies.is_closed()
    }

    /// Leaves a reply. False when its client reads too slowly: then the answer is to break off.
    pub(super) fn send(&self, reply: Reply) -> bool {
        let n_bytes = reply.bytes().len();
        let before = self.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        let _ = self.replies.send(reply);
        before == 0 || before + n_bytes < CLIENT_LIMIT_BYTES
    }
}

impl Reply {
    fn bytes(&self) -> &Bytes {
        match self {
            Self::Message(bytes) | Self::Last(bytes, _) => bytes,
        }
    }
}

impl Replies {
    /// The next reply; `None` when there is no other.
    pub(super) async fn next(&mut self) -> Option<Reply> {
        std::future::poll_fn(|context| self.poll(context)).await
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Option<Reply>> {
        let reply = ready!(self.replies.poll_recv(context));
        if let Some(reply) = &reply {
            self.n_bytes.fetch_sub(reply.bytes().len(), Ordering::Relaxed);
        }
        Poll::Ready(reply)
    }
}

/// Tells the loop that the client has left the exchange, unless it was answered before.
#[derive(Debug)]
pub(super) struct Leaving {
    pub(super) exchange: u64,
    pub(super) left: mpsc::UnboundedSender<u64>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let _ = self.left.send(self.exchange);
    }
}

/// The body of a response that is an event stream.
pub(super) struct EventStream {
    /// What goes out first.
    first: Option<Bytes>,
    replies: Option<Replies>,
    comments: Interval,
    record: Arc<Exchange>,
    _leaving: Leaving,
}

impl EventStream {
    pub(super) fn new(first: Option<Bytes>, replies: Replies, record: Arc<Exchange>, leaving: Leaving) -> Self {
        let mut comments = tokio::time::interval(COMMENT_EVERY);
        comments.set_missed_tick_behavior(MissedTickBehavior::Delay);
        comments.reset();
        Self { first, replies: Some(replies), comments, record, _leaving: leaving }
    }

    fn sent(&mut self, bytes: Bytes) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        self.record.response_body(&bytes);
        self.comments.reset();
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

/// A message as an event.
pub(super) fn event(name: &str, data: &Bytes) -> Bytes {
    let data = one_line(data);
    [b"event: ", name.as_bytes(), b"\ndata: ", &data, b"\n\n"].concat().into()
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return this.sent(first);
        }
        let polled = match &mut this.replies {
            Some(replies) => replies.poll(context),
            None => Poll::Ready(None),
        };
        match polled {
            Poll::Ready(Some(Reply::Message(bytes))) => this.sent(event("message", &bytes)),
            Poll::Ready(Some(Reply::Last(bytes, _))) => {
                this.replies = None;
                this.sent(event("message", &bytes))
            }
            Poll::Ready(None) => {
                this.record.end(HttpEnd::Whole);
                Poll::Ready(None)
            }
            Poll::Pending => {
                ready!(this.comments.poll_tick(context));
                // Not recorded: the server did not say it.
                Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b": mcp-tap keeps this open\n\n")))))
            }
        }
    }
}
