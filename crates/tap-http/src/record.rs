//! What of HTTP is recorded: exchanges, less what is secret.
//!
//! Recording never waits and never fails. Heads are kept with the values of those fields alone that are known to be no
//! secrets (`keep.rs`), bodies only of exchanges that are MCP: the answers of OAuth's endpoints are full of tokens.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Version, request, response};
use tap_frame::{HttpEnd, HttpHead, HttpPart};
use tap_relay::Copies;

use crate::headers::{EVENT_STREAM, accepts, has};
use crate::keep::Keeper;

/// How many paths are remembered at which there is MCP. A server has one or two.
const PATHS: usize = 1_000;

/// What records the exchanges with one server.
#[derive(Debug)]
pub struct Recording {
    copies: Arc<Copies>,
    keeper: Keeper,
    n_exchanges: AtomicU64,
    /// Paths at which there is MCP whatever the headers say.
    paths: Mutex<HashSet<String>>,
    /// Targets that a server named in the open, with their queries.
    endpoints: Mutex<HashSet<String>>,
    is_stopped: AtomicBool,
}

impl Recording {
    /// Records into `copies`, from exchange 1 on.
    #[must_use]
    pub fn new(copies: Arc<Copies>, keeper: Keeper) -> Self {
        Self {
            copies,
            keeper,
            n_exchanges: AtomicU64::new(0),
            paths: Mutex::default(),
            endpoints: Mutex::default(),
            is_stopped: AtomicBool::new(false),
        }
    }

    /// Says that what is sent to this path is MCP, such as the path of a server's URL.
    pub fn is_mcp_at(&self, path: &str) {
        remember(&self.paths, path);
    }

    /// Says that an `endpoint` event named this path and query. It is kept as it is then: the event is recorded anyway, and
    /// tells which stream the answers to what is posted there come on.
    pub fn is_endpoint_at(&self, target: &str) {
        self.is_mcp_at(target.split('?').next().unwrap_or_default());
        remember(&self.endpoints, target);
    }

    /// Says that the recording ends. What goes on then has no end in it, for nobody knows how it would have ended.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    /// Begins to record an exchange. `connection` tells clients apart: requests on one connection come from one client.
    #[must_use]
    pub fn begin(self: &Arc<Self>, connection: u64, head: &request::Parts) -> Arc<Exchange> {
        let number = self.n_exchanges.fetch_add(1, Ordering::Relaxed) + 1;
        let exchange =
            Exchange { recording: self.clone(), number, is_mcp: self.is_mcp(head), over: AtomicBool::new(false) };
        let named = head.uri.path_and_query().map_or("/", |target| target.as_str());
        let target = if contains(&self.endpoints, named) { named.to_owned() } else { self.keeper.target(&head.uri) };
        let first_line = format!("{connection} {} {target} {:?}", head.method, head.version);
        exchange.head(HttpPart::Request, &first_line, &head.headers);
        Arc::new(exchange)
    }

    /// Where the copies go.
    #[must_use]
    pub fn copies(&self) -> &Arc<Copies> {
        &self.copies
    }

    /// Whether what is sent to this path is known to be MCP.
    pub(crate) fn is_known(&self, path: &str) -> bool {
        contains(&self.paths, path)
    }

    /// Whether an `endpoint` event named this.
    pub(crate) fn has_endpoint(&self, target: &str) -> bool {
        contains(&self.endpoints, target)
    }

    fn is_mcp(&self, head: &request::Parts) -> bool {
        // A message that is posted is one of MCP's where an event stream may be the answer, as the client has to say. What
        // else is posted may be anything, and OAuth's endpoints may have any name.
        let may_be = head.method != Method::POST || accepts(&head.headers, EVENT_STREAM);
        contains(&self.paths, head.uri.path()) || may_be && looks_like_mcp(head)
    }
}

fn remember(set: &Mutex<HashSet<String>>, text: &str) {
    let mut set = set.lock().unwrap_or_else(PoisonError::into_inner);
    if set.len() < PATHS {
        set.insert(text.into());
    }
}

fn contains(set: &Mutex<HashSet<String>>, text: &str) -> bool {
    set.lock().unwrap_or_else(PoisonError::into_inner).contains(text)
}

/// Whether a request at a path that nobody named is MCP: it has a field of MCP's or takes event streams. Clients send such
/// fields to OAuth's endpoints too, so what may be one of those is not MCP.
pub(crate) fn looks_like_mcp(head: &request::Parts) -> bool {
    if has(&head.headers, &CONTENT_TYPE, FORM) || is_of_oauth(head.uri.path()) {
        return false;
    }
    head.headers.keys().any(|name| name.as_str().starts_with("mcp-")) || accepts(&head.headers, EVENT_STREAM)
}

/// Whether what is at a path may be one of OAuth's endpoints.
fn is_of_oauth(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    let last = path.rsplit('/').find(|part| !part.is_empty()).unwrap_or_default();
    let is_registration = path.split('/').any(|part| part == "clients-registrations");
    is_registration || path.starts_with("/.well-known/") || OAUTH.contains(&last)
}

/// What the paths of OAuth's endpoints end in, as a rule (MCP 2025-03-26, Authorization, Fallbacks; RFC 7009, 7591, 7662,
/// 8628, 9126). Keycloak has registrations at `/clients-registrations/…`.
const OAUTH: &[&str] = &[
    "access_token",
    "authorize",
    "callback",
    "device_authorization",
    "introspect",
    "introspection",
    "login",
    "oauth",
    "par",
    "register",
    "registration",
    "revocation",
    "revoke",
    "token",
    "userinfo",
];

const FORM: &[u8] = b"application/x-www-form-urlencoded";

/// The record of one exchange while it goes on. Dropped before its end was said, the client went away.
#[derive(Debug)]
pub struct Exchange {
    recording: Arc<Recording>,
    number: u64,
    is_mcp: bool,
    over: AtomicBool,
}

impl Exchange {
    fn offer(&self, part: HttpPart, bytes: &[u8]) {
        let copies = &self.recording.copies;
        copies.offer_http(self.number, part, copies.clock().at_ns(), bytes);
    }

    fn head(&self, part: HttpPart, first_line: &str, headers: &HeaderMap) {
        let mut text = Vec::with_capacity(512);
        HttpHead::begin(&mut text, first_line);
        for (name, value) in headers {
            HttpHead::add(&mut text, name.as_str(), &self.recording.keeper.value(name.as_str(), value.as_bytes()));
        }
        self.offer(part, &text);
    }

    /// Its number, from 1.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether bodies are kept.
    #[must_use]
    pub fn is_mcp(&self) -> bool {
        self.is_mcp
    }

    /// Keeps some of the request's body.
    pub fn request_body(&self, bytes: &[u8]) {
        if self.is_mcp && !bytes.is_empty() {
            self.offer(HttpPart::RequestBody, bytes);
        }
    }

    /// The request is complete.
    pub fn request_end(&self) {
        self.offer(HttpPart::RequestEnd, b"");
    }

    /// The request has a connection to the server, which `took` so long to make, if it was made for it.
    pub fn connected(&self, version: Version, took: Option<Duration>) {
        let text = match took {
            Some(took) => format!("{version:?} {}", took.as_nanos()),
            None => format!("{version:?}"),
        };
        self.offer(HttpPart::Connected, text.as_bytes());
    }

    /// The server has begun to answer.
    pub fn response(&self, head: &response::Parts) {
        self.head(HttpPart::Response, &format!("{:?} {}", head.version, head.status.as_u16()), &head.headers);
    }

    /// Keeps some of the response's body.
    pub fn response_body(&self, bytes: &[u8]) {
        if self.is_mcp && !bytes.is_empty() {
            self.offer(HttpPart::ResponseBody, bytes);
        }
    }

    /// The exchange is over. Only the first end counts.
    pub fn end(&self, end: HttpEnd) {
        if !self.over.swap(true, Ordering::Relaxed) && !self.recording.is_stopped.load(Ordering::Relaxed) {
            self.offer(HttpPart::End, &[end.code()]);
        }
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.end(HttpEnd::ByClient);
    }
}

#[cfg(test)]
mod tests {
    use http::Request;
    use tap_relay::Clock;

    use super::*;

    #[test]
    fn bodies_are_kept_of_mcp_and_of_nothing_that_may_be_of_oauth() {
        let recording =
            Arc::new(Recording::new(Arc::new(Copies::new(Clock::start(), 1_000, 1_000)), Keeper::new().unwrap()));
        recording.is_mcp_at("/mcp");
        let both = ("accept", "application/json, text/event-stream");
        let version = ("mcp-protocol-version", "2025-11-25");
        let json = ("accept", "application/json");
        for (request, fields, expected) in [
            ("POST /mcp", &[][..], true),
            ("POST /other", &[both], true),
            ("POST /other", &[json, version], false),
            ("POST /other", &[version], false),
            ("GET /other", &[version], true),
            ("GET /other", &[json], false),
            ("DELETE /other", &[version], true),
            ("POST /token", &[both, version], false),
            ("POST /token/", &[both, version], false),
            ("POST /oauth2/v1/TOKEN//", &[both], false),
            ("POST /realms/a/clients-registrations/openid-connect", &[both, version], false),
            ("GET /realms/a/clients-registrations/openid-connect/0123", &[version], false),
            ("POST /a", &[both, ("content-type", "application/x-www-form-urlencoded")], false),
            ("GET /.well-known/oauth-protected-resource/mcp", &[version], false),
        ] {
            let (method, path) = request.split_once(' ').unwrap();
            let mut head = Request::builder().method(method).uri(path);
            for (name, value) in fields {
                head = head.header(*name, *value);
            }
            let (head, ()) = head.body(()).unwrap().into_parts();
            assert_eq!(recording.begin(1, &head).is_mcp(), expected, "{request} {fields:?}");
        }
    }
}
