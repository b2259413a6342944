//! Bodies that are one message: gathered, judged, and what goes on in their place.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{HeaderMap, Response, StatusCode, request, response};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tap_frame::Direction;
use tap_jsonrpc::{Content, Kind, scan};
use tokio::time::{Sleep, sleep};

use crate::answer::own_error;
use crate::body::{Body, BodyError, Copied, empty, full};
use crate::gate::{JUDGED_BYTES, Told, Visit};

/// How often a body that goes out slowly goes on, at most: ten times a second.
const SLOW_STEPS: u64 = 10;

/// In the extensions of a response: the connection is closed, and nothing is answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CloseConnection;

/// A response that is none.
pub(crate) fn close_connection() -> Response<Body> {
    let mut response = Response::new(empty());
    response.extensions_mut().insert(CloseConnection);
    response
}

/// What becomes of a request.
pub(crate) enum Request {
    /// These bodies go on, the first one for its answer.
    Goes(Vec<Body>),
    /// It does not, and the client gets this.
    Answered(Response<Body>),
}

/// What becomes of an answer.
pub(crate) enum Answer {
    /// This body goes on.
    Goes(Body),
    /// The client gets nothing, and waits.
    Never,
    /// The connection is closed.
    Closed,
}

enum Gathered {
    Whole(Bytes),
    /// Too long, or with something behind it.
    NotOne(Body),
    Broken,
}

async fn gather(mut body: Copied<Incoming>) -> Gathered {
    let (mut frames, mut n_bytes) = (VecDeque::new(), 0);
    let hint = body.size_hint();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            return Gathered::Broken;
        };
        n_bytes += frame.data_ref().map_or(0, Bytes::len);
        let is_data = frame.is_data();
        frames.push_back(frame);
        if JUDGED_BYTES < n_bytes || !is_data {
            return Gathered::NotOne(Kept { frames, rest: Some(body), hint }.boxed_unsync());
        }
    }
    let mut parts = frames.into_iter().filter_map(|frame| frame.into_data().ok());
    let first = parts.next().unwrap_or_default();
    let rest: Vec<Bytes> = parts.collect();
    if rest.is_empty() {
        return Gathered::Whole(first);
    }
    Gathered::Whole([first].into_iter().chain(rest).collect::<Vec<_>>().concat().into())
}

impl Visit {
    /// Has the body of a request judged, and makes its head one for what goes on.
    pub(crate) async fn request(&mut self, head: &mut request::Parts, body: Copied<Incoming>) -> Request {
        let came = match gather(body).await {
            Gathered::Whole(bytes) if !bytes.is_empty() => bytes,
            Gathered::Whole(bytes) => return Request::Goes(vec![full(bytes)]),
            Gathered::NotOne(body) => return Request::Goes(vec![body]),
            Gathered::Broken => return Request::Answered(close_connection()),
        };
        if !self.pass(Direction::ToServer, 0, came.clone(), false, false) {
            return Request::Goes(vec![full(came)]);
        }
        let mut bodies: Vec<Body> = Vec::new();
        while let Some(told) = self.told.recv().await {
            match told {
                Told::Send { direction: Direction::ToServer, bytes, bytes_per_second, .. } => {
                    if bytes != came {
                        self.follow(&came, &bytes, &mut head.headers);
                    }
                    bodies.push(body_of(bytes, bytes_per_second));
                }
                Told::Answer { bytes, status } => return Request::Answered(in_its_place(bytes, status)),
                Told::Over { direction: Direction::ToServer, is_gone: false, .. } => return Request::Goes(bodies),
                Told::Over { direction: Direction::ToServer, .. } => {
                    if let Ok(Told::Cut { .. }) = self.told.try_recv() {
                        return Request::Answered(close_connection());
                    }
                    if is_request(&came) {
                        // Until the client goes away.
                        std::future::pending::<()>().await;
                    }
                    return Request::Answered(accepted());
                }
                Told::Cut { .. } => return Request::Answered(close_connection()),
                Told::Send { .. } | Told::Over { .. } => {}
            }
        }
        Request::Answered(close_connection())
    }

    /// Has the fields that repeat what a message says follow it.
    fn follow(&self, came: &[u8], goes: &[u8], headers: &mut HeaderMap) {
        headers.insert(CONTENT_LENGTH, HeaderValue::from(goes.len()));
        for (name, value) in self.judge().map(|judge| judge.headers(came, goes, headers)).unwrap_or_default() {
            match value {
                Some(value) => drop(headers.insert(name, value)),
                None => drop(headers.remove(name)),
            }
        }
    }

    /// Has the body of an answer judged, and makes its head one for what goes on.
    pub(crate) async fn answer(&mut self, head: &mut response::Parts, body: Copied<Incoming>) -> Answer {
        let came = match gather(body).await {
            Gathered::Whole(bytes) if !bytes.is_empty() => bytes,
            Gathered::Whole(bytes) => return Answer::Goes(full(bytes)),
            Gathered::NotOne(body) => return Answer::Goes(body),
            // It looks like what it is: broken off.
            Gathered::Broken => return Answer::Closed,
        };
        if !self.pass(Direction::ToClient, 0, came.clone(), false, false) {
            return Answer::Goes(full(came));
        }
        while let Some(told) = self.told.recv().await {
            match told {
                Told::Send { direction: Direction::ToClient, bytes, bytes_per_second, .. } => {
                    if bytes != came {
                        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(bytes.len()));
                    }
                    return Answer::Goes(body_of(bytes, bytes_per_second));
                }
                Told::Answer { bytes, status } => {
                    let (own, body) = in_its_place(bytes, status).into_parts();
                    (head.status, head.headers) = (own.status, own.headers);
                    return Answer::Goes(body);
                }
                Told::Over { direction: Direction::ToClient, is_gone: true, .. } => {
                    return match self.told.try_recv() {
                        Ok(Told::Cut { .. }) => Answer::Closed,
                        _ => Answer::Never,
                    };
                }
                Told::Cut { .. } => return Answer::Closed,
                Told::Send { .. } | Told::Over { .. } => {}
            }
        }
        Answer::Closed
    }
}

fn is_request(bytes: &[u8]) -> bool {
    match scan(bytes, &[]).content {
        Content::Message(envelope) => envelope.kind == Kind::Request,
        Content::Batch(_) => true,
        _ => false,
    }
}

/// What the client gets in the server's place.
fn in_its_place(bytes: Bytes, status: Option<u16>) -> Response<Body> {
    let status = status.and_then(|status| StatusCode::from_u16(status).ok());
    let is_empty = bytes.is_empty();
    let mut response = Response::new(full(bytes));
    *response.status_mut() = status.unwrap_or(StatusCode::OK);
    if !is_empty {
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    }
    if status.is_some() {
        response.headers_mut().extend(own_error("the debugger answers"));
    }
    response
}

/// What a server says to a notification.
fn accepted() -> Response<Body> {
    let mut response = Response::new(empty());
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}

pub(crate) fn body_of(bytes: Bytes, bytes_per_second: Option<u64>) -> Body {
    match bytes_per_second {
        Some(rate) => Slow::new(bytes, rate).boxed_unsync(),
        None => full(bytes),
    }
}

/// The beginning of a body that was gathered, and the rest of it.
struct Kept {
    frames: VecDeque<Frame<Bytes>>,
    rest: Option<Copied<Incoming>>,
    hint: SizeHint,
}

impl HttpBody for Kept {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(frame) = this.frames.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut this.rest {
            Some(rest) => Pin::new(rest).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.hint
    }
}

/// A body that goes out a little at a time.
pub(crate) struct Slow {
    rest: Bytes,
    bytes_per_second: u64,
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Slow {
    pub(crate) fn new(bytes: Bytes, bytes_per_second: u64) -> Self {
        Self { rest: bytes, bytes_per_second: bytes_per_second.max(1), waiting: None }
    }
}

impl HttpBody for Slow {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if let Some(waiting) = &mut this.waiting {
            ready!(waiting.as_mut().poll(context));
        }
        if this.rest.is_empty() {
            return Poll::Ready(None);
        }
        let n_bytes = (this.bytes_per_second / SLOW_STEPS).max(1);
        let part = this.rest.split_to(usize::try_from(n_bytes).unwrap_or(usize::MAX).min(this.rest.len()));
        let took_ns = n_bytes.saturating_mul(1_000_000_000) / this.bytes_per_second;
        this.waiting = Some(Box::pin(sleep(Duration::from_nanos(took_ns))));
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}
