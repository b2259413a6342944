//! The reverse proxy: each request goes to one server, and each answer comes back as it is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT_ENCODING, AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, LOCATION};
use http::uri::{Authority, Scheme};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, Version};
use http::{request, response};
use http_body::Body as HttpBody;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tap_frame::HttpEnd;

use crate::additions::Additions;
use crate::answer::{causes, explain, recorded};
use crate::body::{Body, BodyError, Copied, Which, empty};
use crate::endpoint::{Rewriter, Rewritten, target_of};
use crate::gate::{Gates, Visit, is_plain, session_of};
use crate::gated::Gated;
use crate::guard::Guard;
use crate::headers::{JSON, has, strip_hop_by_hop};
use crate::judged::{Answer, Request as Judged, close_connection};
use crate::origins::is_event_stream;
use crate::prepare::{address, may_name_endpoint, prepare};
use crate::record::{Exchange, Recording};
use crate::send::send;
use crate::serve::Handle;
use crate::upload::Source;
use crate::upstream::{Upstream, UpstreamError};
use crate::wire::InUse;

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
    /// Where messages can be held and changed.
    pub gates: Arc<Gates>,
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
            return recorded(Some(&exchange), StatusCode::FORBIDDEN, None, &refused.to_string());
        }
        if head.method == Method::CONNECT {
            let cause = "this is a reverse proxy, which makes no tunnels; --forward makes one that does";
            return recorded(Some(&exchange), StatusCode::METHOD_NOT_ALLOWED, None, cause);
        }
        let asked = Asked::of(&head);
        self.direct(&mut head);
        let body = Copied::new(body, Which::Request, exchange.clone());
        // A client that goes away while the server thinks drops this future.
        let mut waiting = Waiting(Some(exchange.clone()));
        let mut visit = self.gates.enter(&exchange, asked.session);
        let body = match &mut visit {
            None => Source::new(body),
            Some(visit) => match self.judge_request(visit, &mut head, body).await {
                Judged::Goes(bodies) => self.send_copies(&head, bodies),
                Judged::Answered(response) => {
                    // The record has what was done, and nothing of a server that was never asked.
                    exchange.end(HttpEnd::Whole);
                    waiting.0 = None;
                    return response;
                }
            },
        };
        let sent = send(&self.upstream, &head, &body).await;
        let response = match sent {
            Ok(response) => {
                self.notices.is_up();
                body.is_answered();
                self.pass_back(response, &exchange, asked, visit).await
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
    host: Option<String>,
    /// Tells its session of MCP from others.
    session: u64,
    /// Whether the answer may be the stream of HTTP+SSE, whose first event names an endpoint.
    may_name_endpoint: bool,
}

impl Asked {
    fn of(head: &request::Parts) -> Self {
        Self {
            uri: head.uri.clone(),
            // In HTTP/2 it is part of the address.
            host: head.headers.get(HOST).and_then(|host| host.to_str().ok()).map(str::to_owned).or_else(|| {
                let authority = head.uri.authority()?.as_str();
                Some(authority.rsplit_once('@').map_or(authority, |(_, host)| host).to_owned())
            }),
            session: session_of(&head.headers),
            may_name_endpoint: may_name_endpoint(head),
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
    fn direct(&self, head: &mut request::Parts) {
        head.uri = address(&self.scheme, &self.authority, &head.uri);
        prepare(head, &self.authority, true);
        if let Ok(host) = HeaderValue::from_str(self.authority.as_str()) {
            head.headers.insert(HOST, host);
        }
        self.additions.add_to(&mut head.headers);
        if let Some(authorization) = &self.authorization
            && !head.headers.contains_key(AUTHORIZATION)
        {
            head.headers.insert(AUTHORIZATION, authorization.clone());
        }
    }

    /// Has a request judged, if it carries a message that can be read.
    async fn judge_request(&self, visit: &mut Visit, head: &mut request::Parts, body: Copied<Incoming>) -> Judged {
        if head.headers.contains_key(ACCEPT_ENCODING) {
            // What is compressed could not be judged.
            head.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        if head.method == Method::POST && is_plain(&head.headers) {
            return visit.request(head, body).await;
        }
        Judged::Goes(vec![body.boxed_unsync()])
    }

    /// Sends all bodies but the first, and forgets what comes back; gives the first.
    fn send_copies(self: &Arc<Self>, head: &request::Parts, bodies: Vec<Body>) -> Source {
        let mut bodies = bodies.into_iter();
        let first = Source::instead(bodies.next().unwrap_or_else(empty));
        for body in bodies {
            let (own, head, body) = (self.clone(), head.clone(), Source::instead(body));
            tokio::spawn(async move {
                if let Ok(response) = send(&own.upstream, &head, &body).await {
                    let _ = response.into_body().collect().await;
                }
            });
        }
        first
    }

    async fn pass_back(
        &self,
        response: Response<Incoming>,
        exchange: &Arc<Exchange>,
        asked: Asked,
        visit: Option<Visit>,
    ) -> Response<Body> {
        let (mut head, body) = response.into_parts();
        let in_use = InUse::of(&mut head);
        exchange.connected(head.version, in_use.tell_once());
        exchange.response(&head);
        head.version = Version::HTTP_11;
        strip_hop_by_hop(&mut head.headers);
        if head.status.is_redirection() && self.leaves_the_proxy(head.headers.get(LOCATION)) {
            self.notices.redirected();
        }
        let body = Copied::new(body, Which::Response, exchange.clone()).on_whole(move || in_use.answered());
        let is_stream = is_event_stream(&head) && !head.headers.contains_key(CONTENT_ENCODING);
        let mut visit = visit.or_else(|| self.gates.enter(exchange, asked.session));
        if let Some(visit) = &mut visit {
            visit.answers_elsewhere = head.status == StatusCode::ACCEPTED || is_stream;
            if !is_stream && is_plain(&head.headers) && has(&head.headers, &CONTENT_TYPE, JSON) {
                return match visit.answer(&mut head, body).await {
                    Answer::Goes(body) => Response::from_parts(head, body),
                    Answer::Never => std::future::pending().await,
                    Answer::Closed => close_connection(),
                };
            }
        }
        // A stream of which the length is known is one that is over soon, and keeps it unless it is judged from its beginning.
        let may_change = visit.is_some() || !head.headers.contains_key(CONTENT_LENGTH);
        if !(is_stream && may_change && self.gates.has_judge() && exchange.is_mcp()) {
            return self.pass_on(head, body, is_stream, asked);
        }
        // Its length may be another.
        head.headers.remove(CONTENT_LENGTH);
        let body = Gated::new(body, self.gates.clone(), exchange.clone(), asked.session, visit);
        self.pass_on(head, body, is_stream, asked)
    }

    /// Passes an answer on, with the endpoint that an event names rewritten if there may be one.
    fn pass_on(
        &self,
        mut head: response::Parts,
        body: impl HttpBody<Data = Bytes, Error = BodyError> + Unpin + Send + 'static,
        is_stream: bool,
        asked: Asked,
    ) -> Response<Body> {
        let Some(host) = asked.host.filter(|_| asked.may_name_endpoint && is_stream) else {
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
        let cause = format!("{}: {}", self.authority, causes(error));
        if matches!(error, UpstreamError::TimedOut | UpstreamError::Connect(_) | UpstreamError::Untrusted(_)) {
            self.notices.is_down(&cause);
        }
        explain(error, &cause, body, Some(exchange)).await
    }
}
