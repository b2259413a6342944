//! The follower: frames in, what they meant out. The one entry for whoever wants to know more than rows.

use tap_frame::{Channel, Direction, Frame, Origin};
use tap_jsonrpc::{RawId, Scanned, Scanner, scan};
use tap_protocol::Side;

use crate::machine::{Found, Link, Machine};
use crate::observer::{Event, Observer, ROW_WATCHES, Stamp};
use crate::row::At;
use crate::rule::Finding;
use crate::state::SessionState;

/// What a frame meant.
#[derive(Debug, Default)]
pub struct Meaning {
    /// Its rows, and what they did to earlier ones.
    pub events: Vec<Event>,
    /// The rules that it broke. Some are known only later than the message that they are about.
    pub findings: Vec<Finding>,
    /// The earlier messages that it belongs to.
    pub links: Vec<Link>,
}

impl Meaning {
    /// Empties it for the next frame.
    pub fn clear(&mut self) {
        self.events.clear();
        self.findings.clear();
        self.links.clear();
    }
}

/// Follows one session from its frames.
///
/// A clone costs next to nothing, which is what makes [time travel](crate::Timeline) cheap.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    observer: Observer,
    machine: Machine,
}

/// Reads frames for a [`Follower`]: what is made once and used for many frames, and is no part of what is known.
#[derive(Debug)]
pub struct Lens {
    scanner: Scanner,
    nothing: Scanned,
}

impl Default for Lens {
    fn default() -> Self {
        Self { scanner: Scanner::new(ROW_WATCHES), nothing: scan(b"", ROW_WATCHES) }
    }
}

impl Follower {
    /// Follows a session from its first frame.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows a session of which the beginning is missing. Rules that need all of it are not judged.
    #[must_use]
    pub fn from_the_middle() -> Self {
        Self { observer: Observer::default(), machine: Machine::from_the_middle() }
    }

    /// Follows a session whose messages are bodies and events of HTTP, not lines.
    pub(crate) fn of_bodies() -> Self {
        Self { observer: Observer::default(), machine: Machine::of_bodies() }
    }

    /// What is true now.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        &self.machine.state
    }

    /// Takes the next frame, and says what it meant.
    pub fn follow(&mut self, frame: &Frame, lens: &mut Lens, meaning: &mut Meaning) {
        self.follow_in(0, frame, lens, meaning);
    }

    /// The same within a scope of ids: an HTTP exchange of the modern era.
    pub(crate) fn follow_in(&mut self, scope: u64, frame: &Frame, lens: &mut Lens, meaning: &mut Meaning) {
        let stamp = Stamp { scope, ..Stamp::from(frame) };
        let is_message = frame.origin == Origin::Wire && frame.channel() == Channel::Message;
        let scanned;
        let scanned = if is_message {
            lens.scanner.feed(&frame.bytes);
            scanned = lens.scanner.finish();
            &scanned
        } else {
            &lens.nothing
        };
        let first = meaning.events.len();
        self.observer.observe(&stamp, scanned, &mut meaning.events);
        let rows = meaning.events[first..].iter().filter_map(|event| match event {
            Event::Row(row) => Some(row),
            Event::Answered { .. } => None,
        });
        let mut found =
            Found { findings: std::mem::take(&mut meaning.findings), links: std::mem::take(&mut meaning.links) };
        self.machine.step(&stamp, frame, &scanned.content, rows, &mut found);
        (meaning.findings, meaning.links) = (found.findings, found.links);
    }

    pub(crate) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.machine.state
    }

    /// Takes part of what is counted: findings of whoever carries the messages.
    pub(crate) fn count(&mut self, findings: &[Finding]) {
        self.machine.count(findings);
    }

    /// Says that a request of the client will not be answered, if it waits for that: what carried it ended at `ended`, by
    /// that side. Where it was cut off by the client, that is its cancellation.
    pub(crate) fn drop_call(&mut self, scope: u64, raw_id: &RawId, at: At, ended: At, by: Side) {
        self.observer.forget(scope, Direction::ToServer, raw_id, at);
        self.machine.drop_call(scope, raw_id, at, Some((ended, by)));
    }

    /// Says that a request of the client was not let in: it was no part of the session, and its id is still free.
    pub(crate) fn refuse(&mut self, scope: u64, raw_id: &RawId, at: At) {
        self.observer.forget(scope, Direction::ToServer, raw_id, at);
        self.machine.drop_call(scope, raw_id, at, None);
        self.machine.state.used_ids[Side::Client as usize].remove(raw_id);
    }

    /// Says that no frame will follow: what is missing is missing now.
    pub fn finish(&mut self, meaning: &mut Meaning) {
        let mut found = Found::default();
        self.machine.finish(&mut found);
        meaning.findings.append(&mut found.findings);
        meaning.links.append(&mut found.links);
    }
}
