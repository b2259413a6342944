//! Requests of HTTP: what each is, whose it is, and how it is answered.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, basic/transports, Streamable HTTP; 2024-11-05, basic/transports, HTTP with SSE.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::header::{
    ACCEPT, ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, CONTENT_TYPE,
    HeaderMap, HeaderValue,
};
use http::{Method, Request, Response, StatusCode, request};
use http_body_util::BodyExt;
use hyper::body::Incoming as RequestBody;
use tap_bridge::{Incoming, Nature, SessionRouter, SharedRouter};
use tap_frame::HttpEnd;
use tap_http::{Body, Exchange, Guard, Handle, Recording, full};
use tap_jsonrpc::Node;
use tap_protocol::{Era, HEADER_MISMATCH, INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Revision};
use tap_session::{Headers, MirroredHeaders};

use super::answers::{Answer, SESSION_ID, allow_origin, head, stream_headers};
use super::child::{Child, Input, Router, Starter};
use super::reply::{EventStream, Reply, event, replies};
use super::sessions::Sessions;

/// Where clients of HTTP+SSE open their stream.
pub(super) const OLD_STREAM_PATH: &str = "/sse";

/// Where they post.
pub(super) const OLD_POST_PATH: &str = "/message";

/// How long an answer may take to come before the head of an event stream goes out, so that clients that wait for a head
/// only so long see one.
const HEAD_AFTER: Duration = Duration::from_secs(10);

/// A stdio server, served over HTTP.
pub(super) struct Bridge {
    pub(super) path: String,
    /// What a body may have, bytes.
    pub(super) limit_bytes: usize,
    pub(super) guard: Guard,
    pub(super) recording: Arc<Recording>,
    pub(super) sessions: Arc<Sessions>,
    /// The server process of the modern era.
    pub(super) shared: tokio::sync::Mutex<Option<Child>>,
    pub(super) starter: Starter,
    pub(super) n_exchanges: AtomicU64,
    pub(super) mirrored: Mutex<MirroredHeaders>,
}

/// What a request is answered with.
enum Done {
    Answer(Answer),
    Stream(HeaderMap, EventStream),
}

impl From<Box<Answer>> for Done {
    fn from(answer: Box<Answer>) -> Self {
        Self::Answer(*answer)
    }
}

impl From<Answer> for Done {
    fn from(answer: Answer) -> Self {
        Self::Answer(answer)
    }
}

impl Handle for Bridge {
    async fn handle(self: Arc<Self>, connection: u64, request: Request<RequestBody>) -> Response<Body> {
        let (asked, body) = request.into_parts();
        if let Err(refused) = self.guard.check(&asked) {
            tracing::warn!(%refused, "request refused");
            let answer = Answer::error(StatusCode::FORBIDDEN, None, INVALID_REQUEST, &refused.to_string());
            return Response::from_parts(head(answer.status, answer.headers), full(answer.body));
        }
        let record = self.recording.begin(connection, &asked);
        let done = match self.read(body, &record).await {
            Ok(body) => self.answer(&asked, body, &record).await,
            Err(answer) => answer.into(),
        };
        match done {
            Done::Answer(mut answer) => {
                allow_origin(&asked.headers, &mut answer.headers);
                let head = head(answer.status, answer.headers);
                record.response(&head);
                record.response_body(&answer.body);
                record.end(HttpEnd::Whole);
                Response::from_parts(head, full(answer.body))
            }
            Done::Stream(mut headers, stream) => {
                allow_origin(&asked.headers, &mut headers);
                let head = head(StatusCode::OK, headers);
                record.response(&head);
                Response::from_parts(head, Body::new(stream))
            }
        }
    }
}

impl Bridge {
    /// Gathers a body.
    async fn read(&self, mut body: RequestBody, record: &Exchange) -> Result<Bytes, Box<Answer>> {
        let mut gathered = Vec::new();
        while let Some(frame) = body.frame().await {
            let Ok(frame) = frame else {
                return Err(Answer::error(
                    StatusCode::BAD_REQUEST,
                    None,
                    PARSE_ERROR,
                    "the body of the request broke off",
                )
                .into());
            };
            let Some(bytes) = frame.data_ref() else {
                continue;
            };
            record.request_body(bytes);
            if self.limit_bytes < gathered.len() + bytes.len() {
                let cause = format!("the body is larger than {} bytes; --body-limit raises that", self.limit_bytes);
                return Err(Answer::error(StatusCode::PAYLOAD_TOO_LARGE, None, INVALID_REQUEST, &cause).into());
            }
            gathered.extend_from_slice(bytes);
        }
        record.request_end();
        Ok(gathered.into())
    }

    async fn answer(&self, asked: &request::Parts, body: Bytes, record: &Arc<Exchange>) -> Done {
        let path = asked.uri.path();
        let is_ours = path == self.path;
        match (path, &asked.method) {
            (OLD_STREAM_PATH, &Method::GET) if !is_ours => self.old_stream(asked, record).await,
            (OLD_STREAM_PATH, _) if !is_ours => Answer::not_allowed("GET").into(),
            (OLD_POST_PATH, &Method::POST) if !is_ours => self.old_post(asked, body).await.into(),
            _ if !is_ours => Answer::empty(StatusCode::NOT_FOUND).into(),
            (_, &Method::POST) => self.post(asked, body, record).await,
            (_, &Method::GET | &Method::DELETE) if era(&asked.headers) == Some(Era::Modern) => {
                Answer::not_allowed("POST").into()
            }
            (_, &Method::GET) => self.listen(asked, record).await,
            (_, &Method::DELETE) => self.delete(asked).into(),
            (_, &Method::OPTIONS) => preflight(&asked.headers).into(),
            _ => Answer::not_allowed("GET, POST, DELETE").into(),
        }
    }

    async fn post(&self, asked: &request::Parts, body: Bytes, record: &Arc<Exchange>) -> Done {
        let wrong = |status, code, cause: &str| Done::from(Answer::error(status, None, code, cause));
        if !is_json(&asked.headers) {
            let cause = "`Content-Type` is not application/json";
            return wrong(StatusCode::UNSUPPORTED_MEDIA_TYPE, INVALID_REQUEST, cause);
        }
        if !accepts(&asked.headers, "application/json") || !accepts(&asked.headers, "text/event-stream") {
            let cause = "`Accept` has to list application/json and text/event-stream";
            return wrong(StatusCode::NOT_ACCEPTABLE, INVALID_REQUEST, cause);
        }
        let incoming = Incoming::read(&body);
        match incoming.nature {
            Nature::Message | Nature::Batch => {}
            Nature::Blank | Nature::NotJson => {
                return wrong(StatusCode::BAD_REQUEST, PARSE_ERROR, "the body is no JSON");
            }
            Nature::NoMessage => {
                return wrong(StatusCode::BAD_REQUEST, INVALID_REQUEST, "the body is no JSON-RPC message");
            }
        }
        let is_modern =
            incoming.is_modern_request() || era(&asked.headers) == Some(Era::Modern) && !incoming.is_initialize();
        match is_modern {
            true => self.modern_post(asked, incoming, body, record).await,
            false if incoming.is_initialize() => self.initialize(incoming, body, record).await,
            false => match self.session(asked) {
                Ok((id, child)) => self.ask(&child, incoming, body, record, Some(&id)).await,
                Err(answer) => answer.into(),
            },
        }
    }

    /// A request that any client may send at any time.
    async fn modern_post(
        &self,
        asked: &request::Parts,
        incoming: Incoming,
        body: Bytes,
        record: &Arc<Exchange>,
    ) -> Done {
        if incoming.nature == Nature::Batch {
            let cause = "in this revision a body has one message";
            return Answer::error(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, cause).into();
        }
        let raw_id = incoming.request_ids().next().map(<[u8]>::to_vec);
        if let Some(raw_id) = &raw_id {
            let fields: Vec<(&str, &[u8])> =
                asked.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            let mismatch = {
                let mirrored = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
                mirrored.mismatch(Node::new(&body), Headers(&fields), self.starter.clock.at_ns())
            };
            if let Some(mismatch) = mismatch {
                return Answer::error(StatusCode::BAD_REQUEST, Some(raw_id), HEADER_MISMATCH, &mismatch).into();
            }
        }
        match self.shared_child().await {
            Ok(child) => self.ask(&child, incoming, body, record, None).await,
            Err(cause) => Answer::error(StatusCode::BAD_GATEWAY, raw_id.as_deref(), INTERNAL_ERROR, &cause).into(),
        }
    }

    /// The server process that all requests of the modern era share, which is started when it is wanted.
    async fn shared_child(&self) -> Result<Child, String> {
        let mut shared = self.shared.lock().await;
        match &*shared {
            Some(child) if !child.is_over() => Ok(child.clone()),
            _ => {
                let child = self.starter.start(Router::Shared(SharedRouter::default())).await?;
                *shared = Some(child.clone());
                Ok(child)
            }
        }
    }

    /// Begins a session: with a server process of its own.
    async fn initialize(&self, incoming: Incoming, body: Bytes, record: &Arc<Exchange>) -> Done {
        let raw_id = incoming.request_ids().next().map(<[u8]>::to_vec);
        match self.begin_session(SessionRouter::default()).await {
            Ok((id, child)) => {
                let unknown = Unknown::new(&child);
                let done = self.ask(&child, incoming, body, record, Some(&id)).await;
                unknown.is_told();
                done
            }
            Err((status, cause)) => Answer::error(status, raw_id.as_deref(), INTERNAL_ERROR, &cause).into(),
        }
    }

    async fn begin_session(&self, router: SessionRouter) -> Result<(String, Child), (StatusCode, String)> {
        let Some(place) = self.sessions.place() else {
            let cause = "there are as many sessions as there may be; --sessions raises that".to_owned();
            return Err((StatusCode::SERVICE_UNAVAILABLE, cause));
        };
        let id = Sessions::new_id();
        let router = Router::Session { id: id.clone(), router, sessions: self.sessions.clone() };
        let child = self.starter.start(router).await.map_err(|cause| (StatusCode::BAD_GATEWAY, cause))?;
        place.fill(id.clone(), child.clone());
        Ok((id, child))
    }

    /// The session that a request names.
    fn session(&self, asked: &request::Parts) -> Result<(String, Child), Box<Answer>> {
        let Some(id) = asked.headers.get(SESSION_ID).and_then(|value| value.to_str().ok()) else {
            let cause = "`Mcp-Session-Id` is missing";
            return Err(Answer::error(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, cause).into());
        };
        if let Some(version) = asked.headers.get("mcp-protocol-version")
            && version.to_str().ok().and_then(Revision::nearest).is_none()
        {
            let cause = "`MCP-Protocol-Version` is no revision";
            return Err(Answer::error(StatusCode::BAD_REQUEST, None, INVALID_REQUEST, cause).into());
        }
        match self.sessions.get(id) {
            Some(child) => Ok((id.to_owned(), child)),
            None => Err(Answer::error(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "there is no such session").into()),
        }
    }

    /// Hands a message to a server process, and waits for the answer if there is one to wait for.
    async fn ask(
        &self,
        child: &Child,
        incoming: Incoming,
        body: Bytes,
        record: &Arc<Exchange>,
        session: Option<&str>,
    ) -> Done {
        let exchange = self.n_exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let raw_ids: Vec<Vec<u8>> = incoming.request_ids().map(<[u8]>::to_vec).collect();
        let (is_initialize, is_tool_list) = (incoming.is_initialize(), session.is_none() && is_tool_list(&body));
        let is_batch = incoming.nature == Nature::Batch;
        let gone = || Done::from(Answer::gone(&raw_ids, is_batch));
        if raw_ids.is_empty() {
            let taken = child.send(Input::Post { exchange, incoming, body, reply: None }).await;
            return if taken { Answer::empty(StatusCode::ACCEPTED).into() } else { gone() };
        }
        // Dropped in the reverse order: when the loop hears that the client has left, nobody receives any more.
        let leaving = child.leaving(exchange);
        let (reply, mut replies) = replies();
        if !child.send(Input::Post { exchange, incoming, body, reply: Some(reply) }).await {
            return gone();
        }
        let first = tokio::time::timeout(HEAD_AFTER, replies.next()).await;
        let first = match first {
            Ok(Some(Reply::Last(bytes, status))) => {
                if is_tool_list && let Some(result) = Node::new(&bytes).get("result") {
                    let mut mirrored = self.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
                    mirrored.listed(result, self.starter.clock.at_ns());
                }
                let begins = is_initialize && Node::new(&bytes).get("result").is_some();
                if is_initialize && !begins {
                    child.end();
                }
                let answer = Answer::message(StatusCode::from_u16(status).unwrap_or(StatusCode::OK), bytes);
                return match session.filter(|_| begins) {
                    Some(id) => answer.with_session(id),
                    None => answer,
                }
                .into();
            }
            Ok(Some(Reply::Message(bytes))) => Some(event("message", &bytes)),
            Ok(None) => return gone(),
            Err(_) => None,
        };
        let headers = stream_headers(session.filter(|_| is_initialize));
        Done::Stream(headers, EventStream::new(first, replies, record.clone(), leaving))
    }

    async fn listen(&self, asked: &request::Parts, record: &Arc<Exchange>) -> Done {
        if !accepts(&asked.headers, "text/event-stream") {
            return Answer::empty(StatusCode::NOT_ACCEPTABLE).into();
        }
        match self.session(asked) {
            Ok((_, child)) => self.stream(&child, None, record).await,
            Err(answer) => answer.into(),
        }
    }

    async fn stream(&self, child: &Child, first: Option<Bytes>, record: &Arc<Exchange>) -> Done {
        let exchange = self.n_exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let leaving = child.leaving(exchange);
        let (reply, replies) = replies();
        if !child.send(Input::Listen { exchange, reply }).await {
            return Answer::empty(StatusCode::NOT_FOUND).into();
        }
        Done::Stream(stream_headers(None), EventStream::new(first, replies, record.clone(), leaving))
    }

    fn delete(&self, asked: &request::Parts) -> Answer {
        match self.session(asked) {
            Ok((id, child)) => {
                self.sessions.remove(&id);
                child.end();
                Answer::empty(StatusCode::OK)
            }
            Err(answer) => *answer,
        }
    }

    /// The stream of HTTP+SSE, with which a session begins. Only for those who ask for an event stream by name: a page can
    /// have a browser fetch any address, as that of an image, and starting a server for it is too much.
    async fn old_stream(&self, asked: &request::Parts, record: &Arc<Exchange>) -> Done {
        if !names(&asked.headers, "text/event-stream") {
            let cause = "`Accept` has to name text/event-stream";
            return Answer::error(StatusCode::NOT_ACCEPTABLE, None, INVALID_REQUEST, cause).into();
        }
        match self.begin_session(SessionRouter::of_old_stream()).await {
            Ok((id, child)) => {
                let unknown = Unknown::new(&child);
                let endpoint = format!("{OLD_POST_PATH}?sessionId={id}");
                self.recording.is_endpoint_at(&endpoint);
                let done = self.stream(&child, Some(event("endpoint", &endpoint.into())), record).await;
                unknown.is_told();
                done
            }
            Err((status, cause)) => Answer::error(status, None, INTERNAL_ERROR, &cause).into(),
        }
    }

    async fn old_post(&self, asked: &request::Parts, body: Bytes) -> Answer {
        let query = asked.uri.query().unwrap_or_default();
        let id = query.split('&').find_map(|pair| pair.strip_prefix("sessionId="));
        let Some(child) = id.and_then(|id| self.sessions.get(id)) else {
            return Answer::error(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "there is no such session");
        };
        let incoming = Incoming::read(&body);
        if !matches!(incoming.nature, Nature::Message | Nature::Batch) {
            return Answer::error(StatusCode::BAD_REQUEST, None, PARSE_ERROR, "the body is no JSON-RPC message");
        }
        let exchange = self.n_exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        match child.send(Input::Post { exchange, incoming, body, reply: None }).await {
            true => Answer { body: Bytes::from_static(b"Accepted"), ..Answer::empty(StatusCode::ACCEPTED) },
            false => Answer::error(StatusCode::NOT_FOUND, None, INVALID_REQUEST, "the server has ended"),
        }
    }
}

/// A session whose id its client does not know yet. Dropped before that, the client has left, and nobody will ever know it.
struct Unknown(Option<Child>);

impl Unknown {
    fn new(child: &Child) -> Self {
        Self(Some(child.clone()))
    }

    fn is_told(mut self) {
        self.0 = None;
    }
}

impl Drop for Unknown {
    fn drop(&mut self) {
        if let Some(child) = &self.0 {
            child.end();
        }
    }
}

/// The era of the revision that a head names.
fn era(headers: &HeaderMap) -> Option<Era> {
    Some(Revision::nearest(headers.get("mcp-protocol-version")?.to_str().ok()?)?.era())
}

fn is_json(headers: &HeaderMap) -> bool {
    let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    media_type.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

/// What `Accept` lists, without parameters.
fn ranges(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(|range| range.split(';').next().unwrap_or_default().trim())
}

/// Whether `Accept` takes a media type by its name.
fn names(headers: &HeaderMap, wanted: &str) -> bool {
    ranges(headers).any(|range| range.eq_ignore_ascii_case(wanted))
}

/// Whether `Accept` takes a media type, by name or by wildcard. Whoever sends none takes all.
fn accepts(headers: &HeaderMap, wanted: &str) -> bool {
    let mut ranges = ranges(headers).peekable();
    let kind = wanted.split('/').next().unwrap_or_default();
    ranges.peek().is_none()
        || ranges.any(|range| {
            let of_kind = range.strip_suffix("/*").is_some_and(|start| start.eq_ignore_ascii_case(kind));
            range == "*/*" || of_kind || range.eq_ignore_ascii_case(wanted)
        })
}

fn is_tool_list(body: &Bytes) -> bool {
    Node::new(body).get("method").is_some_and(|method| method.is_text("tools/list"))
}

/// What a page of an allowed origin may send.
fn preflight(asked: &HeaderMap) -> Answer {
    let wanted = asked.get("access-control-request-headers").cloned();
    Answer::empty(StatusCode::NO_CONTENT)
        .with(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("GET, POST, DELETE"))
        .with(ACCESS_CONTROL_ALLOW_HEADERS, wanted.unwrap_or(HeaderValue::from_static("Content-Type")))
        .with(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"))
}
