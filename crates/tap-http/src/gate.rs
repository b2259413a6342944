//! The gate: where messages in exchanges can be judged, held and changed by somebody else.
//!
//! In normal life it is open, and costs one atomic load an exchange, and one a piece of an event stream: bodies stream as
//! they are. While it is [armed](Gates::arm) a message is handed to the [`Judge`] whole, and what he [tells](Gates::tell)
//! goes on in its place. Whoever judges never waits for anybody here, nor is waited for by any other exchange.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, HeaderName, HeaderValue};
use tap_frame::Direction;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::record::Exchange;

/// What is longer passes unjudged, bytes.
pub(crate) const JUDGED_BYTES: usize = 4 * 1024 * 1024;

const MCP_SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");

/// Where a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The number of its exchange.
    pub exchange: u64,
    /// Tells sessions of MCP apart; 0 where the request names none.
    pub session: u64,
    /// It is one event of several, and not all of a body.
    pub is_stream: bool,
    /// The events have ids: a client remembers the last one that it got, so that none may overtake another.
    pub in_order: bool,
}

/// What is to be done in an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// This goes on.
    Send {
        /// Which way.
        direction: Direction,
        /// Where the message begins that it is, or stands for; `None` for what nobody has sent.
        of: Option<u64>,
        /// The message.
        bytes: Bytes,
        /// How many bytes a second, where it is to go slowly.
        bytes_per_second: Option<u64>,
    },
    /// The client gets this in the server's place.
    Answer {
        /// The message; empty for none.
        bytes: Bytes,
        /// The status, where it is no success.
        status: Option<u16>,
    },
    /// All was told of what becomes of a message.
    Over {
        /// Which way it goes.
        direction: Direction,
        /// Where it begins.
        of: u64,
        /// Nothing of it goes on.
        is_gone: bool,
    },
    /// The exchange ends here.
    Cut {
        /// For whom.
        direction: Direction,
        /// Broken off, and not as if that were all.
        is_broken: bool,
    },
}

/// Judges messages. Nothing in it may wait.
pub trait Judge: Send + Sync {
    /// A message has come, which begins at `offset` in its body, decoded; of an event where that begins. What is to be done
    /// is told the gates, now or later.
    fn pass(&self, place: Place, direction: Direction, offset: u64, bytes: Bytes);

    /// Which fields of the head of a request are to be other ones, since its message is; without a value they go.
    fn headers(&self, came: &[u8], goes: &[u8], head: &HeaderMap) -> Vec<(HeaderName, Option<HeaderValue>)>;

    /// Nothing more goes on in an exchange. `answers_elsewhere` says that its answer may still come in another one.
    fn gone(&self, exchange: u64, answers_elsewhere: bool);
}

/// The ways into all exchanges that are judged.
#[derive(Default)]
pub struct Gates {
    armed: AtomicBool,
    judge: OnceLock<Arc<dyn Judge>>,
    ways: Mutex<HashMap<u64, UnboundedSender<Told>>>,
}

impl std::fmt::Debug for Gates {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Gates").field("armed", &self.armed).finish_non_exhaustive()
    }
}

impl Gates {
    /// Gates that stand open.
    #[must_use]
    pub fn new() -> Arc<Self> {
        Arc::default()
    }

    /// Says who judges. Only the first one does; before that nothing is judged.
    pub fn set_judge(&self, judge: Arc<dyn Judge>) {
        let _ = self.judge.set(judge);
    }

    /// Has messages judged from now on, or no more. What is on its way when it begins passes as it is.
    pub fn arm(&self, armed: bool) {
        self.armed.store(armed, Ordering::SeqCst);
    }

    /// Tells what is to be done in an exchange. One that is over takes no notice.
    pub fn tell(&self, exchange: u64, told: Told) {
        if let Some(way) = self.ways().get(&exchange) {
            let _ = way.send(told);
        }
    }

    fn ways(&self) -> MutexGuard<'_, HashMap<u64, UnboundedSender<Told>>> {
        self.ways.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.armed.load(Ordering::Relaxed)
    }

    /// Whether it may be armed at all.
    pub(crate) fn has_judge(&self) -> bool {
        self.judge.get().is_some()
    }

    /// Begins to judge an exchange, if that is to be done.
    pub(crate) fn enter(self: &Arc<Self>, exchange: &Exchange, session: u64) -> Option<Visit> {
        if !self.is_armed() || !exchange.is_mcp() {
            return None;
        }
        let (way, told) = unbounded_channel();
        self.ways().insert(exchange.number(), way);
        let gates = self.clone();
        Some(Visit { gates, exchange: exchange.number(), session, told, answers_elsewhere: false })
    }
}

/// Tells the sessions of clients apart, by the id that a request names.
pub(crate) fn session_of(headers: &HeaderMap) -> u64 {
    headers.get(MCP_SESSION_ID).map_or(0, |id| {
        let mut hasher = DefaultHasher::new();
        hasher.write(id.as_bytes());
        hasher.finish().max(1)
    })
}

/// Whether a body can be read as it is.
pub(crate) fn is_plain(headers: &HeaderMap) -> bool {
    headers.get_all(CONTENT_ENCODING).iter().all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"identity"))
}

/// An exchange that is judged. Dropped it is over, or its client has gone.
#[derive(Debug)]
pub(crate) struct Visit {
    gates: Arc<Gates>,
    exchange: u64,
    session: u64,
    pub(crate) told: UnboundedReceiver<Told>,
    pub(crate) answers_elsewhere: bool,
}

impl Visit {
    pub(crate) fn judge(&self) -> Option<&Arc<dyn Judge>> {
        self.gates.judge.get()
    }

    /// Hands over a message. False when nobody judges.
    pub(crate) fn pass(
        &self,
        direction: Direction,
        offset: u64,
        bytes: Bytes,
        is_stream: bool,
        in_order: bool,
    ) -> bool {
        let place = Place { exchange: self.exchange, session: self.session, is_stream, in_order };
        self.judge().inspect(|judge| judge.pass(place, direction, offset, bytes)).is_some()
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.gates.ways().remove(&self.exchange);
        if let Some(judge) = self.judge() {
            judge.gone(self.exchange, self.answers_elsewhere);
        }
    }
}
