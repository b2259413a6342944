//! The observer: follows both sides from frames alone and says what each frame was.

mod acts;

use std::sync::Arc;

use imbl::hashmap::Entry;
use tap_frame::{Channel, Direction, Frame, Origin, Stream};
use tap_jsonrpc::{Captures, Content, Envelope, Kind, Member, Misfit, NotAMessage, Notes, Path, RawId, Scanned, Value};

use crate::cut::FrameHead;
use crate::map::IdMap;
use crate::passed::{Answered, Passed, PassedMessage};
use crate::row::{At, Done, MessageRow, RowKind, Status};

/// The members that MCP gives a meaning and a list needs.
///
/// Source: MCP 2025-11-25 and 2026-07-28, `initialize`, `server/discover`, `_meta`, `tools/call`, `resources/read`.
pub(crate) const WATCHES: &[Path] = &[
    Path(&["params", "name"]),
    Path(&["params", "uri"]),
    Path(&["result", "isError"]),
    Path(&["error", "code"]),
    Path(&["result", "protocolVersion"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/protocolVersion"]),
    Path(&["params", "clientInfo", "name"]),
    Path(&["params", "clientInfo", "version"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/clientInfo", "name"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/clientInfo", "version"]),
    Path(&["result", "serverInfo", "name"]),
    Path(&["result", "serverInfo", "version"]),
    Path(&["result", "_meta", "io.modelcontextprotocol/serverInfo", "name"]),
    Path(&["result", "_meta", "io.modelcontextprotocol/serverInfo", "version"]),
];

/// The first of the [watches](WATCHES): what rows need. Who talks is known to a follower without the others, and to look
/// for them takes time.
pub(crate) const ROW_WATCHES: &[Path] = WATCHES.split_at(4).0;

/// How many requests can wait for their answers at a time. Answers to more than these find no request: a peer that never
/// answers must not take all memory.
pub const WAITING_LIMIT: usize = 100_000;

/// Indexes into [`WATCHES`].
mod watch {
    pub(super) const NAME: usize = 0;
    pub(super) const URI: usize = 1;
    pub(super) const IS_ERROR: usize = 2;
    pub(super) const ERROR_CODE: usize = 3;
    pub(super) const REVISIONS: [usize; 2] = [4, 5];
    pub(super) const CLIENTS: [[usize; 2]; 2] = [[6, 7], [8, 9]];
    pub(super) const SERVERS: [[usize; 2]; 2] = [[10, 11], [12, 13]];
}

/// Who talks, and by which revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identity {
    /// The client's name and version as it introduced itself.
    pub client: Option<String>,
    /// The server's name and version.
    pub server: Option<String>,
    /// The protocol revision that was agreed or declared last.
    pub revision: Option<String>,
}

/// What the observer found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A frame or a member of a batch was this.
    Row(MessageRow),
    /// A request that had a row before got its answer.
    Answered {
        /// The request.
        request: At,
        /// The answer.
        answer: At,
        /// How long it took, nanoseconds.
        latency_ns: u64,
        /// What the answer says.
        status: Status,
        /// Of an error: its code as written.
        error_code: Option<String>,
        /// Whether the request is one in whose place another one went on, which has the answer: both are told.
        stood_for: bool,
    },
    /// Something was done to a message that had a row before, and to all members of it.
    Done {
        /// The number of its frame.
        seq: u64,
        /// What.
        done: Box<Done>,
    },
}

/// Which frame is observed, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Position among the session's frames, from 1.
    pub seq: u64,
    /// Nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// Its stream.
    pub stream: Stream,
    /// How it came to be there.
    pub origin: Origin,
    /// Which ids live together: answers pair with requests of the same scope alone. 0 but for HTTP of the modern era,
    /// where ids are matched within one exchange.
    pub scope: u64,
    /// Where it begins in what was received of its stream; over HTTP, of its body.
    pub received: u64,
}

impl From<&FrameHead> for Stamp {
    fn from(head: &FrameHead) -> Self {
        let FrameHead { seq, wall_ns, at_ns, stream, origin, received, .. } = *head;
        Self { seq, wall_ns, at_ns, stream, origin, scope: 0, received }
    }
}

impl Stamp {
    /// Of a frame, whose place in what was received is known by who counts.
    #[must_use]
    pub fn of(frame: &Frame, received: u64) -> Self {
        let Frame { seq, wall_ns, at_ns, stream, origin, .. } = *frame;
        Self { seq, wall_ns, at_ns, stream, origin, scope: 0, received }
    }
}

/// A request that has no answer yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingRequest {
    /// Which ids it lives with.
    pub scope: u64,
    /// Which request.
    pub at: At,
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// Which way it went.
    pub direction: Direction,
    /// Its id as written.
    pub raw_id: RawId,
    /// Its method.
    pub method: Option<Arc<str>>,
    /// What it is about.
    pub target: Option<Arc<str>>,
    /// The request in whose place it went on.
    pub stands_for: Option<At>,
    /// How long it was held before it went on, nanoseconds: the other side is timed from then.
    pub held_ns: u64,
}

/// Follows one session.
///
/// Ids are paired as written, each direction for itself. Where an id is in use more than once at a time, answers go to
/// the requests in the order in which these came.
///
/// A clone costs next to nothing, however many requests wait.
#[derive(Debug, Clone, Default)]
pub struct Observer {
    waiting: IdMap<(u64, Direction, RawId), Vec<WaitingRequest>>,
    n_waiting: usize,
    identity: Identity,
    passed: Passed,
}

impl Observer {
    /// An observer that goes on where another one stood. `passed` are the newest messages, oldest first, each with whether
    /// it is held; of those that are held, all.
    #[must_use]
    pub fn resume(
        waiting: impl IntoIterator<Item = WaitingRequest>,
        passed: impl IntoIterator<Item = (PassedMessage, bool)>,
        identity: Identity,
    ) -> Self {
        let mut observer = Self { identity, ..Self::default() };
        for request in waiting {
            observer.wait_for(request);
        }
        for (message, is_held) in passed {
            match is_held {
                true => observer.passed.hold(message),
                false => observer.passed.push(message),
            }
        }
        observer
    }

    /// Who talks, as far as it is known.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// Takes the next frame and appends what it meant. `scanned` is what a scan with the observer's watches found; it is
    /// not looked at for stderr and gaps.
    pub fn observe(&mut self, stamp: &Stamp, scanned: &Scanned, events: &mut Vec<Event>) {
        let row = |kind| MessageRow {
            at: At { seq: stamp.seq, member: 0 },
            wall_ns: stamp.wall_ns,
            at_ns: stamp.at_ns,
            stream: stamp.stream,
            kind,
            raw_id: None,
            method: None,
            target: None,
            status: None,
            error_code: None,
            pair: None,
            latency_ns: None,
            lost_bytes: None,
            notes: scanned.notes,
            done: None,
            received: (stamp.scope == 0).then_some(stamp.received),
        };
        if let Origin::Gap(n_bytes) = stamp.origin {
            events.push(Event::Row(MessageRow {
                lost_bytes: Some(n_bytes),
                notes: Notes::default(),
                ..row(RowKind::Gap)
            }));
            return;
        }
        if stamp.stream.channel() == Channel::Stderr {
            events.push(Event::Row(MessageRow { notes: Notes::default(), ..row(RowKind::Stderr) }));
            return;
        }
        let first = events.len();
        self.content(stamp, scanned, row, events);
        let answers = match events.get(first) {
            Some(Event::Row(MessageRow { pair: Some(request), raw_id: Some(raw_id), method, target, .. })) => {
                let (raw_id, method, target) = (raw_id.clone(), method.clone(), target.clone());
                Some(Arc::new(Answered { raw_id, request: *request, method, target }))
            }
            _ => None,
        };
        let Stamp { stream, received, seq, .. } = *stamp;
        self.passed.push(PassedMessage { stream, received, seq, answers });
    }

    fn content(
        &mut self,
        stamp: &Stamp,
        scanned: &Scanned,
        row: impl Fn(RowKind) -> MessageRow,
        events: &mut Vec<Event>,
    ) {
        match &scanned.content {
            Content::Blank => events.push(Event::Row(row(RowKind::Blank))),
            Content::NotJson(_) => events.push(Event::Row(row(RowKind::NotJson))),
            Content::Message(envelope) => self.message(stamp.scope, envelope, row(RowKind::NotAMessage), events),
            Content::NotAMessage(other) => {
                self.not_a_message(stamp.scope, other, row(RowKind::NotAMessage), events);
            }
            Content::Batch(batch) => {
                events.push(Event::Row(row(RowKind::Batch)));
                for (number, member) in (1..).zip(&batch.members) {
                    let mut row = row(RowKind::NotAMessage);
                    row.at.member = number;
                    match member {
                        Member::Message(envelope) => {
                            row.notes = envelope.notes;
                            self.message(stamp.scope, envelope, row, events);
                        }
                        Member::NotAMessage(other) => {
                            row.notes = other.notes;
                            self.not_a_message(stamp.scope, other, row, events);
                        }
                    }
                }
            }
        }
    }

    fn message(&mut self, scope: u64, envelope: &Envelope, mut row: MessageRow, events: &mut Vec<Event>) {
        row.raw_id.clone_from(&envelope.id);
        self.introduce(row.stream.direction(), &envelope.captures);
        match envelope.kind {
            Kind::Request | Kind::Notification => {
                row.kind = if envelope.kind == Kind::Request { RowKind::Request } else { RowKind::Notification };
                row.method = envelope.method.as_deref().map(Arc::from);
                row.target = [watch::NAME, watch::URI].iter().find_map(|&index| text(&envelope.captures, index));
                if let (Kind::Request, Some(raw_id)) = (envelope.kind, &row.raw_id) {
                    self.wait_for(WaitingRequest {
                        scope,
                        at: row.at,
                        at_ns: row.at_ns,
                        direction: row.stream.direction(),
                        raw_id: raw_id.clone(),
                        method: row.method.clone(),
                        target: row.target.clone(),
                        stands_for: None,
                        held_ns: 0,
                    });
                }
                events.push(Event::Row(row));
            }
            Kind::Result => {
                row.kind = RowKind::Result;
                let is_error = envelope.captures.get(watch::IS_ERROR) == Some(&Value::True);
                self.answer(scope, row, if is_error { Status::ToolError } else { Status::Ok }, events);
            }
            Kind::Error => {
                row.kind = RowKind::Error;
                row.error_code = token(&envelope.captures, watch::ERROR_CODE);
                self.answer(scope, row, Status::Error, events);
            }
        }
    }

    fn not_a_message(&mut self, scope: u64, other: &NotAMessage, mut row: MessageRow, events: &mut Vec<Event>) {
        row.raw_id.clone_from(&other.id);
        row.method = other.method.as_deref().map(Arc::from);
        match other.why {
            // Wrong, and yet the end of the request that it answers.
            Misfit::ResultAndError => {
                row.error_code = token(&other.captures, watch::ERROR_CODE);
                self.answer(scope, row, Status::Error, events);
            }
            Misfit::NotAnObject
            | Misfit::MethodNotAString
            | Misfit::MethodAndOutcome
            | Misfit::NoMember
            | Misfit::ResultWithoutId
            | Misfit::ErrorNotAnObject => events.push(Event::Row(row)),
        }
    }

    fn answer(&mut self, scope: u64, mut row: MessageRow, status: Status, events: &mut Vec<Event>) {
        row.status = Some(status);
        let request =
            row.raw_id.as_ref().and_then(|raw_id| self.take_waiting(scope, row.stream.direction().reversed(), raw_id));
        let Some(request) = request else {
            events.push(Event::Row(row));
            return;
        };
        let latency_ns = row.at_ns.saturating_sub(request.at_ns).saturating_sub(request.held_ns);
        let (answer, error_code) = (row.at, row.error_code.clone());
        row.method = request.method;
        row.target = request.target;
        row.pair = Some(request.at);
        row.latency_ns = Some(latency_ns);
        events.push(Event::Row(row));
        if let Some(original) = request.stands_for {
            let error_code = error_code.clone();
            events.push(Event::Answered { request: original, answer, latency_ns, status, error_code, stood_for: true });
        }
        let request = request.at;
        events.push(Event::Answered { request, answer, latency_ns, status, error_code, stood_for: false });
    }

    fn wait_for(&mut self, request: WaitingRequest) {
        // Two requests with a null id cannot be told apart, and an answer with one may be to neither.
        if !request.raw_id.is_null() && self.n_waiting < WAITING_LIMIT {
            self.n_waiting += 1;
            match self.waiting.entry((request.scope, request.direction, request.raw_id.clone())) {
                Entry::Occupied(mut queue) => queue.get_mut().push(request),
                // Room for one: ids in use twice at a time are rare.
                Entry::Vacant(slot) => drop(slot.insert(vec![request])),
            }
        }
    }

    /// Forgets messages to which something could be done that passed some time ago.
    pub(crate) fn settle(&mut self) {
        self.passed.settle();
    }

    /// Waits no longer for an answer to this request.
    pub(crate) fn forget(&mut self, scope: u64, direction: Direction, raw_id: &RawId, at: At) {
        let key = (scope, direction, raw_id.clone());
        let Some(queue) = self.waiting.get_mut(&key) else {
            return;
        };
        let before = queue.len();
        queue.retain(|request| request.at != at);
        self.n_waiting -= before - queue.len();
        if queue.is_empty() {
            self.waiting.remove(&key);
        }
    }

    fn take_waiting(&mut self, scope: u64, direction: Direction, raw_id: &RawId) -> Option<WaitingRequest> {
        let key = (scope, direction, raw_id.clone());
        let queue = self.waiting.get_mut(&key)?;
        let request = (!queue.is_empty()).then(|| queue.remove(0));
        self.n_waiting -= usize::from(request.is_some());
        if queue.is_empty() {
            self.waiting.remove(&key);
        }
        request
    }

    fn introduce(&mut self, direction: Direction, captures: &Captures) {
        if captures.iter().next().is_none() {
            return;
        }
        let (whose, slot) = match direction {
            Direction::ToServer => (watch::CLIENTS, &mut self.identity.client),
            Direction::ToClient => (watch::SERVERS, &mut self.identity.server),
        };
        for [name, version] in whose {
            let Some(name) = captures.get(name).and_then(Value::text) else {
                continue;
            };
            let version = captures.get(version).and_then(Value::text);
            // Said anew with every message of the modern era.
            let same =
                slot.as_deref().and_then(|known| known.strip_prefix(&*name)).is_some_and(|rest| match &version {
                    Some(version) => rest.strip_prefix(' ') == Some(version),
                    None => rest.is_empty(),
                });
            if !same {
                *slot = Some(version.map_or_else(|| name.to_string(), |version| format!("{name} {version}")));
            }
        }
        for index in watch::REVISIONS {
            if let Some(revision) = captures.get(index).and_then(Value::text)
                && self.identity.revision.as_deref() != Some(&*revision)
            {
                self.identity.revision = Some(revision.into_owned());
            }
        }
    }
}

fn text(captures: &Captures, index: usize) -> Option<Arc<str>> {
    Some(Arc::from(&*captures.get(index)?.text()?))
}

fn token(captures: &Captures, index: usize) -> Option<String> {
    Some(String::from_utf8_lossy(captures.get(index)?.token()?.bytes()).into_owned())
}

#[cfg(test)]
mod tests;
