//! Which of all that goes through a forward proxy is MCP, and what of it is recorded: the rest is nobody's business.
//!
//! A host's requests to model APIs, telemetry, updates pass here too, with everything that is said in confidence. So an
//! origin has to show that it is an MCP server before anything of it is kept, and then what belongs to MCP is kept alone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderName, Method, StatusCode, request, response};

use crate::headers::{EVENT_STREAM, JSON, accepts, has};
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
    /// It is an MCP server. Its first record is for all that comes; the others began with event streams that turned out to be
    /// MCP's meanwhile, and are for what is posted to the endpoints that those named.
    Mcp(Vec<Arc<Recording>>),
    /// It is one, but there are too many.
    NotRecorded,
}

/// What is to be done with an exchange.
pub(crate) enum Judged {
    /// Nothing of it is kept.
    Other,
    /// Kept.
    Mcp(Arc<Recording>),
    /// Kept until the answer shows whether it is to be. The record has nothing else in it: were it shared, what one answer
    /// shows to be none of MCP's would be stored with what another one shows to be.
    Perhaps(Arc<Recording>),
}

impl Origins {
    pub(crate) fn new(sessions: Box<dyn Sessions>) -> Self {
        Self { sessions, known: Mutex::default() }
    }

    /// Judges a request by its head.
    pub(crate) fn judge(&self, origin: &str, head: &request::Parts) -> Judged {
        let judged = self.judge_head(origin, head);
        if let (Judged::Mcp(recording), true) = (&judged, looks_like_mcp(head) && takes_both(head)) {
            // What else is posted there is MCP too, whatever it says that it takes.
            recording.is_mcp_at(head.uri.path());
        }
        judged
    }

    fn judge_head(&self, origin: &str, head: &request::Parts) -> Judged {
        let is_mcp = shows_mcp(head);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(origin) {
            Some(Known::NotRecorded) => return Judged::Other,
            Some(Known::Mcp(recordings)) => {
                return match responsible(recordings, head) {
                    Some(recording) if is_mcp || belongs(head, recording) => Judged::Mcp(recording.clone()),
                    Some(_) | None => Judged::Other,
                };
            }
            None => {}
        }
        if !is_mcp && !asks_for_stream(head) {
            return Judged::Other;
        }
        let Some(recording) = self.sessions.prepare() else {
            return Judged::Other;
        };
        if !is_mcp {
            return Judged::Perhaps(recording);
        }
        match self.keep(&mut known, origin, &recording) {
            true => Judged::Mcp(recording),
            false => Judged::Other,
        }
    }

    /// An answer has shown whether the origin is an MCP server. Says whether it is recorded from here on.
    pub(crate) fn decide(&self, origin: &str, recording: &Arc<Recording>, is_mcp: bool) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(origin) {
            Some(Known::Mcp(kept)) if kept.iter().any(|kept| Arc::ptr_eq(kept, recording)) => true,
            Some(Known::NotRecorded) => false,
            Some(Known::Mcp(_)) | None => is_mcp && self.keep(&mut known, origin, recording),
        }
    }

    fn keep(&self, known: &mut HashMap<String, Known>, origin: &str, recording: &Arc<Recording>) -> bool {
        let n_kept = known.values().map(|known| if let Known::Mcp(kept) = known { kept.len() } else { 0 });
        let has_room = n_kept.sum::<usize>() < ORIGINS;
        match known.get_mut(origin) {
            Some(Known::Mcp(kept)) if has_room => kept.push(recording.clone()),
            Some(Known::Mcp(_) | Known::NotRecorded) => return false,
            None if has_room => {
                known.insert(origin.into(), Known::Mcp(vec![recording.clone()]));
            }
            None => {
                known.insert(origin.into(), Known::NotRecorded);
                self.sessions.keep(origin, None);
                return false;
            }
        }
        self.sessions.keep(origin, Some(recording));
        true
    }
}

/// Which of an origin's records an exchange is for.
fn responsible<'a>(recordings: &'a [Arc<Recording>], head: &request::Parts) -> Option<&'a Arc<Recording>> {
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    recordings.iter().find(|recording| recording.has_endpoint(target)).or(recordings.first())
}

/// Whether a request alone shows that it is MCP: it has a header of MCP, or takes both forms of answer, as all clients of
/// Streamable HTTP have to (MCP 2025-03-26 and later, Streamable HTTP, Sending Messages to the Server).
fn shows_mcp(head: &request::Parts) -> bool {
    let is_ours = |name: &HeaderName| name.as_str().starts_with("mcp-") && !name.as_str().starts_with("mcp-tap-");
    // Clients have their headers in requests to an authorization server too.
    looks_like_mcp(head) && (takes_both(head) || head.headers.keys().any(is_ours))
}

fn takes_both(head: &request::Parts) -> bool {
    let (takes_json, takes_streams) = (accepts(&head.headers, JSON), accepts(&head.headers, EVENT_STREAM));
    head.method == Method::POST && takes_json && takes_streams && has(&head.headers, &CONTENT_TYPE, JSON)
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

#[cfg(test)]
mod tests {
    use http::Request;
    use tap_relay::{Clock, Copies};

    use super::*;
    use crate::keep::Keeper;

    /// Leaves the origins that are kept in a list, with what is recorded of each.
    #[derive(Default)]
    struct Kept(Arc<Mutex<Vec<Arc<Recording>>>>);

    impl Sessions for Kept {
        fn prepare(&self) -> Option<Arc<Recording>> {
            let copies = Arc::new(Copies::new(Clock::start(), 10_000, 10_000));
            Some(Arc::new(Recording::new(copies, Keeper::new().unwrap())))
        }

        fn keep(&self, _: &str, recording: Option<&Arc<Recording>>) {
            self.0.lock().unwrap().extend(recording.cloned());
        }
    }

    fn head(method: &str, target: &str, accept: &str) -> request::Parts {
        let request = Request::builder().method(method).uri(target).header("accept", accept);
        request.header("content-type", "application/json").body(()).unwrap().into_parts().0
    }

    /// All bytes of a record.
    fn text(recording: &Recording) -> String {
        recording.copies().close();
        let taken = recording.copies().take(std::time::Duration::ZERO, std::time::Duration::ZERO);
        taken.segments.iter().map(|segment| String::from_utf8_lossy(&segment.bytes).into_owned()).collect()
    }

    #[test]
    fn what_turns_out_to_be_none_of_mcp_is_not_stored_with_what_does() {
        let kept = Kept::default();
        let stored = kept.0.clone();
        let origins = Origins::new(Box::new(kept));
        let begin = |target: &str| match origins.judge("https://a.example", &head("GET", target, "text/event-stream")) {
            Judged::Perhaps(recording) => {
                drop(recording.begin(1, &head("GET", target, "text/event-stream")));
                recording
            }
            Judged::Other | Judged::Mcp(_) => panic!("undecided"),
        };
        let (private, sse, late) = (begin("/private"), begin("/sse"), begin("/late"));
        assert!(!origins.decide("https://a.example", &private, false));
        assert!(origins.decide("https://a.example", &sse, true));
        late.is_endpoint_at("/messages?id=late");
        assert!(origins.decide("https://a.example", &late, true));
        let judged = |target| match origins.judge("https://a.example", &head("POST", target, "*/*")) {
            Judged::Mcp(recording) => Some(recording),
            Judged::Other | Judged::Perhaps(_) => None,
        };
        sse.is_endpoint_at("/messages?id=first");
        for (target, expected) in
            [("/messages?id=first", Some(&sse)), ("/messages?id=late", Some(&late)), ("/other", None)]
        {
            assert_eq!(judged(target).map(|found| Arc::as_ptr(&found)), expected.map(Arc::as_ptr), "{target}");
        }
        let stored: Vec<String> = stored.lock().unwrap().iter().map(|recording| text(recording)).collect();
        assert_eq!(stored.len(), 2);
        assert!(stored[0].contains("/sse") && stored[1].contains("/late"), "{stored:?}");
        assert!(stored.iter().all(|text| !text.contains("/private")), "{stored:?}");
    }
}
