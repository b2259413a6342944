//! Sending a request again where nothing of it was sent: never where the server may have got it.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, request};
use http_body::{Body as HttpBody, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

use crate::body::{Body, BodyError, Copied, Which};
use crate::record::Exchange;
use crate::upload::Source;
use crate::upstream::{Upstream, UpstreamError};
use crate::wire::ConnectionFacts;

/// How often a request is sent again that was not sent at all. More connections than this are not closed at once.
const ATTEMPTS: usize = 16;

impl Upstream {
    /// Sends a request whose URI is absolute and whose body is all there; returns when the head of the answer is there, and
    /// records by then which connection it took.
    ///
    /// `on_its_way` is called once, as soon as a connection takes the request; it must not wait. Where a connection turns
    /// out to be closed before anything was sent on it, another one is taken. What is read of the answer is not recorded.
    ///
    /// # Errors
    ///
    /// When there is no connection, or no answer on it.
    pub async fn send_whole(
        &self,
        request: Request<Bytes>,
        exchange: &Exchange,
        on_its_way: impl Fn() + Send + Sync + 'static,
    ) -> Result<Response<Body>, UpstreamError> {
        let (head, bytes) = request.into_parts();
        let on_its_way = OnItsWay(Arc::new((AtomicBool::new(false), Box::new(on_its_way))));
        if bytes.is_empty() {
            // Nobody asks for a body that is none.
            on_its_way.tell();
        }
        let sent =
            until_sent(self, &head, || Ok(Body::new(Whole { bytes: bytes.clone(), on_its_way: on_its_way.clone() })));
        let (head, body) = sent.await?.into_parts();
        let facts = head.extensions.get::<ConnectionFacts>().cloned();
        let version = head.version;
        exchange.connected(version, facts.as_ref().and_then(ConnectionFacts::tell_once));
        let body = Copied::perhaps(body, Which::Response, None).on_whole(move || {
            if let Some(facts) = &facts {
                facts.answered(version);
            }
        });
        Ok(Response::from_parts(head, body.boxed_unsync()))
    }
}

/// Sends a request once, on a connection that is open.
pub(crate) async fn send(
    upstream: &Upstream,
    head: &request::Parts,
    body: &Source,
) -> Result<Response<Incoming>, UpstreamError> {
    until_sent(upstream, head, || Ok(body.upload().ok_or(UpstreamError::NotSent)?.boxed_unsync())).await
}

async fn until_sent(
    upstream: &Upstream,
    head: &request::Parts,
    body: impl Fn() -> Result<Body, UpstreamError>,
) -> Result<Response<Incoming>, UpstreamError> {
    let mut attempts = 0;
    loop {
        let sent = upstream.send(Request::from_parts(head.clone(), body()?)).await;
        attempts += 1;
        match sent {
            Err(UpstreamError::NotSent) if attempts < ATTEMPTS => {}
            sent => return sent,
        }
    }
}

/// Tells once that a request is on its way.
#[derive(Clone)]
struct OnItsWay(Arc<(AtomicBool, Box<dyn Fn() + Send + Sync>)>);

impl OnItsWay {
    fn tell(&self) {
        let (is_told, tell) = &*self.0;
        if !is_told.swap(true, Ordering::Relaxed) {
            tell();
        }
    }
}

/// A body that is all there, and says when it is taken.
struct Whole {
    bytes: Bytes,
    on_its_way: OnItsWay,
}

impl HttpBody for Whole {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        if this.bytes.is_empty() {
            return Poll::Ready(None);
        }
        this.on_its_way.tell();
        Poll::Ready(Some(Ok(Frame::data(std::mem::take(&mut this.bytes)))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.len() as u64)
    }
}
