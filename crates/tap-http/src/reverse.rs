//! The reverse proxy: each request goes to one server, and each answer comes back as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http::header::{
    ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION, TRANSFER_ENCODING,
};
use http::request;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tap_frame::HttpEnd;

use crate::additions::Additions;
use crate::answer::answer;
use crate::body::{Body, Copied, Which};
use crate::endpoint::{Rewriter, Rewritten, target_of};
use crate::guard::Guard;
use crate::headers::strip_hop_by_hop;
use crate::record::{Exchange, Recording};
use crate::serve::Handle;
use crate::upload::Source;
use crate::upstream::{Upstream, UpstreamError};
use crate::wire::ConnectionFacts;

/// How often a request is sent again that was not sent at all. More connections than this are not closed at once.
const ATTEMPTS: usize = 16;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// A reverse proxy in front of one server.
pub struct Reverse {
    /// Scheme and authority of the server; whatever path is asked for is asked for there.
    pub scheme: Scheme,
    /// See [`scheme`](Self::scheme). Without user and password.
    pub authority: Authority,
    /// What is sent for `Authorization` where a client sends none: user and password of the server's URL.
    pub authorization: Option<HeaderValue>,
    /// How the server is reached.
    pub upstream: Upstream,
    /// What clients call us by: `http`, or `https` where the listener has TLS.
    pub own_scheme: Scheme,
    /// What is added to requests.
    pub additions: Additions,
    /// Who may ask.
    pub guard: Guard,
    /// Where exchanges are recorded.
    pub recording: Arc<Recording>,
    /// Tells people what they should know.
    pub notices: Notices,
}

/// What people are told, each thing once.
pub struct Notices {
    tell: Box<dyn Fn(&str) + Send + Sync>,
    has_redirected: AtomicBool,
    /// Whether the server could not be reached the last time.
    is_down: AtomicBool,
}

impl Notices {
    /// Tells by way of `tell`, which must not wait.
    #[must_use]
    pub fn new(tell: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self { tell: Box::new(tell), has_redirected: AtomicBool::new(false), is_down: AtomicBool::new(false) }
    }

    fn redirected(&self) {
        if !self.has_redirected.swap(true, Ordering::Relaxed) {
            (self.tell)("the server redirects clients to an address of its own: what they say there is not recorded");
        }
    }

    fn is_down(&self, cause: &str) {
        if !self.is_down.swap(true, Ordering::Relaxed) {
            (self.tell)(&format!("{cause}; requests are answered with an error until the server is back"));
        }
    }

    fn is_up(&self) {
        if self.is_down.load(Ordering::Relaxed) && self.is_down.swap(false, Ordering::Relaxed) {
            (self.tell)("the server is back");
        }
    }
}

impl Handle for Reverse {
    async fn handle(self: Arc<Self>, connection: u64, request: Request<Incoming>) -> Response<Body> {
        let (mut head, body) = request.into_parts();
        let exchange = self.recording.begin(connection, &head);
        if let Err(refused) = self.guard.check(&head) {
            tracing::warn!(%refused, "request refused");
            return own_answer(&exchange, StatusCode::FORBIDDEN, None, &refused.to_string());
        }
        if head.method == Method::CONNECT {
            let cause = "this is a reverse proxy, which makes no tunnels; --forward makes one that does";
            return own_answer(&exchange, StatusCode::METHOD_NOT_ALLOWED, None, cause);
        }
        let asked = Asked::of(&head);
        self.direct(&mut head, &asked);
        let body = Source::new(Copied::new(body, Which::Request, exchange.clone()));
        // A client that goes away while the server thinks drops this future.
        let mut waiting = Waiting(Some(exchange.clone()));
        let sent = send(&self.upstream, &head, &body).await;
        let response = match sent {
            Ok(response) => {
                self.notices.is_up();
                body.is_answered();
                self.pass_back(response, &exchange, asked)
            }
            Err(error) => self.explain(&error, &exchange, &body).await,
        };
        waiting.0 = None;
        response
    }
}

/// What of a request decides about its answer.
struct Asked {
    uri: Uri,
    host: Option<HeaderValue>,
    /// Whether the answer may be the stream of HTTP+SSE, whose first event names an endpoint.
    may_name_endpoint: bool,
}

impl Asked {
    fn of(head: &request::Parts) -> Self {
        Self {
            uri: head.uri.clone(),
            host: head.headers.get(HOST).cloned(),
            may_name_endpoint: head.method == Method::GET && !head.headers.contains_key(MCP_SESSION_ID),
        }
    }
}

/// An exchange whose answer has not begun. Dropped then, the client went away.
pub(crate) struct Waiting(pub(crate) Option<Arc<Exchange>>);

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(exchange) = self.0.take() {
            exchange.end(HttpEnd::ByClient);
        }
    }
}

impl Reverse {
    /// Makes a head one for the server.
    fn direct(&self, head: &mut request::Parts, asked: &Asked) {
        head.uri = self.address(&head.uri);
        head.version = Version::HTTP_11;
        let is_chunked = head.headers.contains_key(TRANSFER_ENCODING);
        strip_hop_by_hop(&mut head.headers);
        if is_chunked && (head.method == Method::GET || head.method == Method::HEAD) {
            // Only this makes hyper send the body of a request that has none as a rule.
            head.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        if let Ok(host) = HeaderValue::from_str(self.authority.as_str()) {
            head.headers.insert(HOST, host);
        }
        self.additions.add_to(&mut head.headers);
        if let Some(authorization) = &self.authorization
            && !head.headers.contains_key(AUTHORIZATION)
        {
            head.headers.insert(AUTHORIZATION, authorization.clone());
        }
        if asked.may_name_endpoint && head.headers.contains_key(ACCEPT_ENCODING) && takes_event_stream(head) {
            // The endpoint could not be rewritten in a compressed stream.
            head.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
    }

    fn address(&self, uri: &Uri) -> Uri {
        let target = uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        let built = Uri::builder().scheme(self.scheme.clone()).authority(self.authority.clone()).path_and_query(target);
        built.build().unwrap_or_else(|_| uri.clone())
    }

    fn pass_back(&self, response: Response<Incoming>, exchange: &Arc<Exchange>, asked: Asked) -> Response<Body> {
        let (mut head, body) = response.into_parts();
        let facts = head.extensions.get::<ConnectionFacts>().cloned();
        exchange.connected(head.version, facts.as_ref().and_then(ConnectionFacts::tell_once));
        exchange.response(&head);
        let version = std::mem::replace(&mut head.version, Version::HTTP_11);
        strip_hop_by_hop(&mut head.headers);
        if head.status.is_redirection() && self.leaves_the_proxy(head.headers.get(LOCATION)) {
            self.notices.redirected();
        }
        let body = Copied::new(body, Which::Response, exchange.clone()).on_whole(move || {
            if let Some(facts) = &facts {
                facts.answered(version);
            }
        });
        let is_stream = head.status.is_success()
            && head.headers.get(CONTENT_TYPE).is_some_and(|value| begins_with(value, b"text/event-stream"))
            && !head.headers.contains_key(CONTENT_ENCODING);
        let host = asked.host.as_ref().and_then(|host| host.to_str().ok());
        let Some(host) = host.filter(|_| asked.may_name_endpoint && is_stream) else {
            return Response::from_parts(head, body.boxed_unsync());
        };
        // Its length would be another.
        head.headers.remove(CONTENT_LENGTH);
        let rewriter =
            Rewriter::new(self.scheme.as_str(), self.authority.as_str(), format!("{}://{host}", self.own_scheme));
        let recording = self.recording.clone();
        let told = move |endpoint: &str| {
            if let Some(target) = target_of(endpoint, &asked.uri) {
                recording.is_endpoint_at(&target);
            }
        };
        Response::from_parts(head, Rewritten::new(body, rewriter, told).boxed_unsync())
    }

    fn leaves_the_proxy(&self, location: Option<&HeaderValue>) -> bool {
        let uri = location.and_then(|location| Uri::try_from(location.as_bytes()).ok());
        uri.is_some_and(|uri| uri.host().is_some_and(|host| host.eq_ignore_ascii_case(self.authority.host())))
    }

    /// Answers in the place of a server that did not.
    async fn explain(&self, error: &UpstreamError, exchange: &Arc<Exchange>, body: &Source) -> Response<Body> {
        let status = match error {
            UpstreamError::TimedOut => StatusCode::GATEWAY_TIMEOUT,
            _ => StatusCode::BAD_GATEWAY,
        };
        let cause = format!("{}: {}", self.authority, told(error));
        if matches!(error, UpstreamError::TimedOut | UpstreamError::Connect(_) | UpstreamError::Untrusted(_)) {
            self.notices.is_down(&cause);
        }
        let raw_id = body.raw_id().await;
        let response = own_answer(exchange, status, raw_id.as_deref(), &cause);
        exchange.end(HttpEnd::ByServer);
        response
    }
}

/// Sends a request once, on a connection that is open.
pub(crate) async fn send(
    upstream: &Upstream,
    head: &request::Parts,
    body: &Source,
) -> Result<Response<Incoming>, UpstreamError> {
    let mut attempts = 0;
    loop {
        let upload = body.upload().ok_or(UpstreamError::NotSent)?;
        let sent = upstream.send(Request::from_parts(head.clone(), upload.boxed_unsync())).await;
        attempts += 1;
        match sent {
            Err(UpstreamError::NotSent) if attempts < ATTEMPTS => {}
            sent => return sent,
        }
    }
}

/// An answer of the proxy's own, recorded.
fn own_answer(exchange: &Arc<Exchange>, status: StatusCode, raw_id: Option<&[u8]>, cause: &str) -> Response<Body> {
    let (head, body) = answer(status, raw_id, cause).into_parts();
    exchange.response(&head);
    Response::from_parts(head, Copied::new(body, Which::Response, exchange.clone()).boxed_unsync())
}

fn takes_event_stream(head: &request::Parts) -> bool {
    let wanted = b"text/event-stream";
    let values = head.headers.get_all(http::header::ACCEPT).iter();
    values
        .map(HeaderValue::as_bytes)
        .any(|value| value.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted)))
}

fn begins_with(value: &HeaderValue, beginning: &[u8]) -> bool {
    value.as_bytes().get(..beginning.len()).is_some_and(|part| part.eq_ignore_ascii_case(beginning))
}

/// An error with all its causes, each once.
pub(crate) fn told(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
        source = error.source();
    }
    text
}
