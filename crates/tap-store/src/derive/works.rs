//! How a session's segments are read, by its transport.
//!
//! Frames of stdio are cut and observed, and that can go on from a position. What is over HTTP is followed with all that it
//! takes, which cannot be written down: whoever goes on where another process stood reads from the first segment again up to
//! there, and says nothing of it. Who has read some of it before reads on from there.

use serde_json::json;
use tap_exchange::{Conversation, HttpReading, Read};
use tap_frame::Segment;
use tap_session::{Identity, Observer, PassedMessage, Reading, WaitingRequest};

use super::rows::{Counts, Rows};
use crate::stored::{position_from_text, position_to_text};
use crate::writer::Transport;

/// A reading of one session.
#[derive(Debug)]
pub(super) enum Works {
    Stdio(Box<Reading>),
    Http {
        reading: Box<HttpReading>,
        /// Segments below this one were worked out by somebody else.
        resumed_at: u64,
        /// It was told that no segment will follow.
        is_over: bool,
    },
}

impl Works {
    /// From the first segment.
    pub(super) fn begin(transport: Transport) -> Self {
        match transport {
            Transport::Stdio => Self::Stdio(Box::default()),
            Transport::Http => Self::Http { reading: Box::default(), resumed_at: 0, is_over: false },
        }
    }

    /// Of stdio, from a [position](Self::position); `None` where it is none. `left` gives the requests that wait, and the
    /// messages that something may be done to.
    pub(super) fn resume(
        position: &str,
        left: impl FnOnce() -> rusqlite::Result<(Vec<WaitingRequest>, Vec<(PassedMessage, bool)>)>,
        identity: &Identity,
    ) -> rusqlite::Result<Option<Self>> {
        let Some(position) = position_from_text(position) else {
            return Ok(None);
        };
        let (waiting, passed) = left()?;
        let observer = Observer::resume(waiting, passed, identity.clone());
        Ok(Some(Self::Stdio(Box::new(Reading::resume(position, observer)))))
    }

    /// Over HTTP: what is below this segment was worked out by somebody else, and is read without saying anything of it.
    pub(super) fn resume_at(&mut self, next: u64) {
        if let Self::Http { resumed_at, .. } = self {
            *resumed_at = next;
        }
    }

    /// Whether it was told that no segment will follow.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            Self::Http { is_over, .. } => *is_over,
        }
    }

    /// Where it stands when so many frames were completed.
    pub(super) fn position(&self, n_frames: u64) -> String {
        match self {
            Self::Stdio(reading) => position_to_text(&reading.position()),
            Self::Http { reading, .. } => json!({ "http": reading.next_segment(), "frames": n_frames }).to_string(),
        }
    }

    /// How many segments were worked through, whoever did it.
    pub(super) fn next_segment(&self) -> u64 {
        match self {
            Self::Stdio(reading) => reading.position().next_segment,
            Self::Http { reading, .. } => reading.next_segment(),
        }
    }

    pub(super) fn first_segment_needed(&self) -> u64 {
        match self {
            Self::Stdio(reading) => reading.first_segment_needed(),
            Self::Http { reading, .. } => reading.next_segment(),
        }
    }

    /// Whether what is read is still what somebody else has worked out.
    pub(super) fn is_behind(&self) -> bool {
        match self {
            Self::Stdio(_) => false,
            Self::Http { reading, resumed_at, .. } => reading.next_segment() < *resumed_at,
        }
    }

    pub(super) fn feed(&mut self, segment: &Segment, counts: &mut Counts, rows: &mut Rows) {
        // Damage is told to whoever reads the bytes; here the rest of that segment is left out.
        let _ = match self {
            Self::Stdio(reading) => reading.feed(segment, &mut |head, events| {
                counts.frame(head);
                for event in events.drain(..) {
                    counts.event(&event);
                    rows.take(head, event);
                }
            }),
            Self::Http { reading, resumed_at, .. } if reading.next_segment() < *resumed_at => {
                let done = reading.feed(segment, &mut |_, _| {});
                if reading.next_segment() == *resumed_at {
                    // They are in the tables as they are now.
                    drop(reading.changed_conversations());
                }
                done
            }
            Self::Http { reading, .. } => reading.feed(segment, &mut |read: Read, _| {
                counts.read(&read);
                rows.take_read(read);
            }),
        };
    }

    /// Says that no segment will follow.
    pub(super) fn finish(&mut self, counts: &mut Counts, rows: &mut Rows) {
        match self {
            Self::Stdio(reading) => reading.finish(&mut |head, events| {
                counts.frame(head);
                for event in events.drain(..) {
                    counts.event(&event);
                    rows.take(head, event);
                }
            }),
            Self::Http { reading, is_over, .. } => {
                *is_over = true;
                reading.finish(&mut |read: Read, _| {
                    counts.read(&read);
                    rows.take_read(read);
                });
            }
        }
    }

    /// Which sessions of MCP changed since this was asked last.
    pub(super) fn changed(&mut self) -> Vec<Conversation> {
        match self {
            Self::Stdio(_) => Vec::new(),
            Self::Http { reading, .. } => reading.changed_conversations(),
        }
    }
}

/// The segment that a position over HTTP names.
pub(super) fn next_of(position: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(position).ok()?["http"].as_u64()
}
