//! The way of an answer: from the loop around a server process into the body of a response.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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
    waiting: Arc<WaitingBytes>,
}

/// What waits for a client.
#[derive(Debug, Default)]
struct WaitingBytes {
    n_bytes: AtomicUsize,
    /// It was too much, and what is left of the answer is not sent.
    is_broken: AtomicBool,
}

/// The exchange's end.
#[derive(Debug)]
pub(super) struct Replies {
    replies: mpsc::UnboundedReceiver<Reply>,
    waiting: Arc<WaitingBytes>,
}

pub(super) fn replies() -> (ReplySender, Replies) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::<WaitingBytes>::default();
    (ReplySender { replies: sender, waiting: waiting.clone() }, Replies { replies: receiver, waiting })
}

impl ReplySender {
    /// Whether nobody will receive anything any more.
    pub(super) fn is_closed(&self) -> bool {
        self.replies.is_closed()
    }

    /// Leaves a reply. False when its client reads too slowly: then the answer breaks off.
    pub(super) fn send(&self, reply: Reply) -> bool {
        let n_bytes = reply.bytes().len();
        let before = self.waiting.n_bytes.fetch_add(n_bytes, Ordering::Relaxed);
        if before != 0 && CLIENT_LIMIT_BYTES <= before + n_bytes {
            self.waiting.is_broken.store(true, Ordering::Relaxed);
            return false;
        }
        let _ = self.replies.send(reply);
        true
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
            self.waiting.n_bytes.fetch_sub(reply.bytes().len(), Ordering::Relaxed);
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

    fn is_broken(&self) -> bool {
        self.replies.as_ref().is_some_and(|replies| replies.waiting.is_broken.load(Ordering::Relaxed))
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

impl Drop for EventStream {
    fn drop(&mut self) {
        // A client that reads nothing more does not see that its answer was broken off.
        if self.is_broken() {
            self.record.end(HttpEnd::ByServer);
        }
    }
}

impl HttpBody for EventStream {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(first) = this.first.take() {
            return this.sent(first);
        }
        if this.is_broken() {
            this.record.end(HttpEnd::ByServer);
            this.replies = None;
            return Poll::Ready(Some(Err("the client reads too slowly".into())));
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

#[cfg(test)]
mod tests {
    use super::*;
    use tap_frame::{HttpPart, Piece};
    use tap_http::{Keeper, Recording};
    use tap_relay::{Clock, Copies};

    #[tokio::test]
    async fn an_answer_that_is_not_read_breaks_off_and_is_recorded_so() {
        for is_read_later in [true, false] {
            let copies = Arc::new(Copies::new(Clock::start(), 1 << 20, 1 << 20));
            let recording = Arc::new(Recording::new(copies.clone(), Keeper::new().unwrap()));
            let (head, ()) = http::Request::new(()).into_parts();
            let (reply, replies) = replies();
            let (left, _has_left) = mpsc::unbounded_channel();
            let leaving = Leaving { exchange: 1, left };
            let mut stream = EventStream::new(None, replies, recording.begin(1, &head), leaving);
            let message = Bytes::from(vec![b'x'; CLIENT_LIMIT_BYTES / 4]);
            let taken: Vec<bool> = (0..5).map(|_| reply.send(Reply::Message(message.clone()))).collect();
            assert_eq!(taken, [true, true, true, false, false]);
            drop(reply);
            if is_read_later {
                let polled = std::future::poll_fn(|context| Pin::new(&mut stream).poll_frame(context)).await;
                assert!(polled.unwrap().is_err());
            }
            drop(stream);
            let taken = copies.take(Duration::ZERO, Duration::ZERO).segments;
            let ends: Vec<u8> = taken
                .iter()
                .flat_map(tap_frame::Segment::iter)
                .filter_map(|piece| match piece.unwrap() {
                    Piece::Http { part: HttpPart::End, bytes, .. } => bytes.first().copied(),
                    _ => None,
                })
                .collect();
            assert_eq!(ends, [HttpEnd::ByServer.code()], "{is_read_later}");
        }
    }
}
