//! Event streams of a session: which events were sent already, and how long a client must wait before it comes again.
//!
//! Source: MCP 2025-11-25, basic/transports, Resumability and Redelivery.

use std::hash::{DefaultHasher, Hasher};

use imbl::{HashMap, Vector};

use crate::row::At;

/// Events of a session that are remembered by their id.
const EVENTS: usize = 4_096;

/// Messages without an id of an event that are remembered, to tell what is sent twice.
const MESSAGES: usize = 64;

/// Streams that ended and may be resumed which are remembered.
const ENDED: usize = 64;

/// An event, or a message, that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    pub(super) at: At,
    pub(super) exchange: u64,
    /// Whether it has no data: it only says where to resume.
    pub(super) is_empty: bool,
    hash: u64,
}

/// A stream that ended before all was said.
#[derive(Debug, Clone, PartialEq, Eq)]
struct EndedStream {
    last_event_id: EventId,
    ended_ns: u64,
    retry_ms: u64,
    at: At,
}

/// The event streams of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct Streams {
    events: HashMap<EventId, Sent>,
    /// Their ids, the oldest first.
    order: Vector<EventId>,
    messages: Vector<Sent>,
    ended: Vector<EndedStream>,
}

/// The id of an event, hashed: it may be of any length, and part of a large chunk that would be kept with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct EventId(u64);

impl EventId {
    pub(super) fn of(id: &[u8]) -> Self {
        Self(hash(id))
    }
}

/// What an id says of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// It is new.
    New,
    /// It is the same event as this.
    Again(Sent),
    /// Another event has its id.
    Other(Sent),
}

fn hash(data: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(data);
    hasher.finish()
}

impl Streams {
    /// Takes in an event with an id.
    pub(super) fn event(&mut self, id: EventId, data: &[u8], at: At, exchange: u64) -> Known {
        let sent = Sent { at, exchange, is_empty: data.is_empty(), hash: hash(data) };
        if let Some(known) = self.events.get(&id) {
            return if known.hash == sent.hash { Known::Again(*known) } else { Known::Other(*known) };
        }
        if EVENTS <= self.order.len()
            && let Some(oldest) = self.order.pop_front()
        {
            self.events.remove(&oldest);
        }
        self.order.push_back(id);
        self.events.insert(id, sent);
        Known::New
    }

    /// Takes in a request or an answer of the server, and says where it was sent before on another stream.
    pub(super) fn message(&mut self, data: &[u8], at: At, exchange: u64) -> Option<Sent> {
        let sent = Sent { at, exchange, is_empty: false, hash: hash(data) };
        let before = self.messages.iter().find(|known| known.hash == sent.hash && known.exchange != exchange).copied();
        if before.is_none() {
            if MESSAGES <= self.messages.len() {
                self.messages.pop_front();
            }
            self.messages.push_back(sent);
        }
        before
    }

    /// A stream ended that says how long to wait before it is resumed.
    pub(super) fn stream_ended(&mut self, last_event_id: EventId, retry_ms: u64, ended_ns: u64, at: At) {
        if ENDED <= self.ended.len() {
            self.ended.pop_front();
        }
        self.ended.push_back(EndedStream { last_event_id, ended_ns, retry_ms, at });
    }

    /// A stream is resumed. Says when it ended, how long to wait, and how long was waited, in milliseconds.
    pub(super) fn resumed(&mut self, last_event_id: EventId, at_ns: u64) -> Option<(At, u64, u64)> {
        let index = self.ended.iter().position(|stream| stream.last_event_id == last_event_id)?;
        let stream = self.ended.remove(index);
        Some((stream.at, stream.retry_ms, at_ns.saturating_sub(stream.ended_ns) / 1_000_000))
    }
}

/// What is known of the stream of one exchange.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OneStream {
    pub(super) n_events: u64,
    pub(super) last_event_id: Option<EventId>,
    pub(super) retry_ms: Option<u64>,
    /// The last answer on it.
    pub(super) answered: Option<(At, u64)>,
}
