//! Which of all that goes through a forward proxy is MCP, and what of it is recorded: the rest is nobody's business.
//!
//! A host's requests to model APIs, telemetry, updates pass here too, with everything that is said in confidence. So an
//! origin has to show that it is an MCP server before anything of it is kept, and then what belongs to MCP is kept alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use http::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, Method, StatusCode, request, response};

use crate::record::{Recording, looks_like_mcp};

/// How many origins are recorded at most: each has a recorder of its own.
const ORIGINS: usize = 64;

/// Who stores what is seen of origins.
pub trait Sessions: Send + Sync + 'static {
    /// A record that begins now, of an origin that may turn out to be an MCP server. Dropped if it does not.
    fn prepare(&self) -> Option<Arc<Recording>>;

    /// The origin is an MCP server: what was and will be recorded is to be stored. `None` for the origin's record when
    /// there are too many.
    fn keep(&self, origin: &str, recording: Option<&Arc<Recording>>);
}

/// What is known of origins.
pub(crate) struct Origins {
    sessions: Box<dyn Sessions>,
    known: Mutex<HashMap<String, Known>>,
}

enum Known {
    /// Some exchange may yet show that it is an MCP server, and is recorded meanwhile.
    Perhaps(Weak<Recording>),
    Mcp(Arc<Recording>),
    /// It is one, but there are too many.
    NotRecorded,
}

/// What is to be done with an exchange.
pub(crate) enum Judged {
    /// Nothing of it is kept.
    Other,
    /// Kept.
    Mcp(Arc<Recording>),
    /// Kept until the answer shows whether it is to be.
    Perhaps(Arc<Recording>),
}

impl Origins {
    pub(crate) fn new(sessions: Box<dyn Sessions>) -> Self {
        Self { sessions, known: Mutex::default() }
    }

    /// Judges a request by its head.
    pub(crate) fn judge(&self, origin: &str, head: &request::Parts) -> Judged {
        let is_mcp = shows_mcp(head);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(origin) {
            Some(Known::NotRecorded) => return Judged::Other,
            Some(Known::Mcp(recording)) if is_mcp || belongs(head, recording) => {
                return Judged::Mcp(recording.clone());
            }
            Some(Known::Mcp(_)) => return Judged::Other,
            Some(Known::Perhaps(_)) | None => {}
        }
        if !is_mcp && !asks_for_stream(head) {
            return Judged::Other;
        }
        let prepared = match known.get(origin) {
            Some(Known::Perhaps(prepared)) => prepared.upgrade(),
            _ => None,
        };
        let Some(recording) = prepared.or_else(|| self.sessions.prepare()) else {
            return Judged::Other;
        };
        if is_mcp {
            return match self.keep(&mut known, origin, &recording) {
                true => Judged::Mcp(recording),
                false => Judged::Other,
            };
        }
        known.retain(|_, known| !matches!(known, Known::Perhaps(prepared) if prepared.strong_count() == 0));
        known.insert(origin.into(), Known::Perhaps(Arc::downgrade(&recording)));
        Judged::Perhaps(recording)
    }

    /// An answer has shown whether the origin is an MCP server. Says whether it is recorded from here on.
    pub(crate) fn decide(&self, origin: &str, recording: &Arc<Recording>, is_mcp: bool) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(origin) {
            Some(Known::Mcp(kept)) if Arc::ptr_eq(kept, recording) => true,
            Some(Known::NotRecorded) => false,
            _ if is_mcp => self.keep(&mut known, origin, recording),
            Some(Known::Perhaps(prepared)) if prepared.as_ptr() == Arc::as_ptr(recording) => {
                // Others that wait for their answer keep theirs; the next begins afresh.
                known.remove(origin);
                false
            }
            _ => false,
        }
    }

    fn keep(&self, known: &mut HashMap<String, Known>, origin: &str, recording: &Arc<Recording>) -> bool {
        let n_kept = known.values().filter(|known| matches!(known, Known::Mcp(_))).count();
        if n_kept >= ORIGINS {
            known.insert(origin.into(), Known::NotRecorded);
            self.sessions.keep(origin, None);
            return false;
        }
        known.insert(origin.into(), Known::Mcp(recording.clone()));
        self.sessions.keep(origin, Some(recording));
        true
    }
}

/// Whether a request alone shows that it is MCP: it has a header of MCP, or takes both forms of answer, as all clients of
/// Streamable HTTP have to (MCP 2025-03-26 and later, Streamable HTTP, Sending Messages to the Server).
fn shows_mcp(head: &request::Parts) -> bool {
    let is_ours = |name: &HeaderName| name.as_str().starts_with("mcp-") && !name.as_str().starts_with("mcp-tap-");
    let takes_both = head.method == Method::POST
        && accepts(&head.headers, JSON)
        && accepts(&head.headers, EVENT_STREAM)
        && has(&head.headers, &CONTENT_TYPE, JSON);
    // Clients have their headers in requests to an authorization server too.
    looks_like_mcp(head) && (takes_both || head.headers.keys().any(is_ours))
}

/// Whether a request asks for an event stream and for nothing else, as the first one of HTTP+SSE does.
pub(crate) fn asks_for_stream(head: &request::Parts) -> bool {
    head.method == Method::GET && accepts(&head.headers, EVENT_STREAM)
}

/// Whether a request to a server that is one of MCP belongs to that.
fn belongs(head: &request::Parts, recording: &Recording) -> bool {
    let path = head.uri.path();
    asks_for_stream(head) || path.starts_with("/.well-known/") || recording.is_known(path)
}

/// Whether an answer sends the client to an MCP server's metadata.
///
/// Source: RFC 9728, 5.1 WWW-Authenticate Response; MCP 2025-06-18 and later, Authorization Server Location.
pub(crate) fn is_challenge_of_mcp(head: &response::Parts) -> bool {
    head.status == StatusCode::UNAUTHORIZED && has(&head.headers, &WWW_AUTHENTICATE, b"resource_metadata")
}

/// Whether an answer is an event stream that can be read as it passes.
pub(crate) fn is_event_stream(head: &response::Parts) -> bool {
    head.status.is_success() && has(&head.headers, &CONTENT_TYPE, EVENT_STREAM)
}

const EVENT_STREAM: &[u8] = b"text/event-stream";
const JSON: &[u8] = b"application/json";

fn accepts(headers: &HeaderMap, media_type: &[u8]) -> bool {
    has(headers, &ACCEPT, media_type)
}

fn has(headers: &HeaderMap, name: &HeaderName, text: &[u8]) -> bool {
    let holds = |value: &[u8]| value.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text));
    headers.get_all(name).iter().any(|value| holds(value.as_bytes()))
}
