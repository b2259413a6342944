//! What is known of an exchange with the server.

use bytes::Bytes;
use tap_jsonrpc::{RawId, SseEvent};

use super::Head;
use crate::message::Incoming;

/// What an exchange is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To post what the host wrote.
    Messages,
    /// To hear what the server says of itself.
    Listen,
    /// To go on with a stream that broke off.
    Resume,
    /// The stream of HTTP+SSE, on which everything comes.
    OldStream,
    /// To end the session.
    Delete,
}

/// A request of the host's without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) id: RawId,
    pub(super) is_initialize: bool,
    pub(super) is_listen: bool,
    pub(super) is_tool_list: bool,
    /// The host does not want the answer any more.
    pub(super) cancelled: bool,
}

/// Where a stream would go on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) last_event_id: Option<String>,
    pub(super) retry_ms: Option<u64>,
    /// How often in a row it was opened and brought nothing on.
    pub(super) n_attempts: u32,
    /// How often in a row it was opened and had no event at all.
    pub(super) n_silent: u32,
}

impl Cursor {
    /// Takes in what an event says of resuming.
    pub(super) fn note(&mut self, event: &SseEvent) {
        if let Some(id) = &event.id {
            // What cannot be sent back as it is would have another stream gone on with, or this one from elsewhere.
            self.last_event_id = std::str::from_utf8(id).ok().filter(|id| can_be_sent_back(id)).map(str::to_owned);
        }
        self.retry_ms = event.retry_ms.or(self.retry_ms);
        self.n_silent = 0;
        // Servers that have their clients ask again and again say how often, and name an event each time. Who says "at once"
        // without anything else has not gone on.
        let asks_for_pauses = self.retry_ms.is_some_and(|retry_ms| 0 < retry_ms) && event.id.is_some();
        if asks_for_pauses || event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            self.n_attempts = 0;
        }
    }
}

/// Whether an event's id can stand in a header and be read there as what it is.
fn can_be_sent_back(id: &str) -> bool {
    !id.is_empty() && id.trim() == id && id.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

/// An exchange that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) purpose: Purpose,
    /// Its own body if it is `initialize`, which may have to be sent once more in another way.
    pub(super) initialize: Option<(Incoming, Bytes)>,
    pub(super) waiting: Vec<Waiting>,
    /// It posts something that is no request.
    pub(super) is_notice: bool,
    /// It posts `notifications/initialized`.
    pub(super) is_initialized: bool,
    pub(super) is_modern: bool,
    pub(super) begun_ns: u64,
    /// Its request is on its way.
    pub(super) sent: bool,
    /// The server has begun to answer, or takes too long to wait for.
    pub(super) accepted: bool,
    pub(super) head: Option<Head>,
    pub(super) cursor: Cursor,
}

impl Exchange {
    pub(super) fn new(purpose: Purpose, begun_ns: u64) -> Self {
        Self {
            purpose,
            initialize: None,
            waiting: Vec::new(),
            is_notice: false,
            is_initialized: false,
            is_modern: false,
            begun_ns,
            sent: purpose != Purpose::Messages,
            accepted: false,
            head: None,
            cursor: Cursor::default(),
        }
    }

    /// Whether what comes after it has to wait for the server to take it.
    pub(super) fn holds_up_others(&self) -> bool {
        self.is_notice && !self.accepted
    }

    pub(super) fn status(&self) -> Option<u16> {
        self.head.as_ref().map(|head| head.status)
    }

    pub(super) fn is_stream(&self) -> bool {
        self.head.as_ref().is_some_and(|head| head.is_success() && head.media_type == "text/event-stream")
    }
}

impl Head {
    pub(super) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
