//! The state of a session: everything that was true at one point, as far as the wire shows it.
//!
//! A clone costs next to nothing, whatever is in flight: what grows is shared between the clones.

mod used_ids;

use std::sync::Arc;

use bytes::Bytes;
use imbl::hashmap::Entry;
use imbl::{HashSet, Vector};
use tap_frame::Direction;
use tap_jsonrpc::{Node, RawId};
use tap_protocol::{Era, Method, MethodKind, Revision, Revisions, Side};

pub use self::used_ids::UsedIds;
use crate::machine::lists::Lists;
use crate::machine::modern::Modern;
use crate::machine::progress::early::EarlyProgress;
use crate::machine::progress::logging::Logging;
use crate::machine::tasks::Tasks;
use crate::map::IdMap;
use crate::row::{At, Status};
use crate::rule::Severity;

/// How many calls that are over are remembered, to tell what comes late.
const RECENT_CALLS: usize = 64;

/// The side that sends in this direction.
#[must_use]
pub fn sender(direction: Direction) -> Side {
    match direction {
        Direction::ToServer => Side::Client,
        Direction::ToClient => Side::Server,
    }
}

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Phase {
    /// Nothing was said yet that opens it.
    #[default]
    Unopened,
    /// `server/discover` was asked, which may be a probe of a client that knows both eras.
    Probing,
    /// `initialize` was asked.
    Initializing,
    /// `initialize` was answered, and the client has not said `notifications/initialized`.
    Initialized,
    /// Both sides may speak.
    Operating,
    /// `initialize` was answered with an error.
    Refused,
}

impl Phase {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unopened => "not opened",
            Self::Probing => "probing",
            Self::Initializing => "initializing",
            Self::Initialized => "initialized",
            Self::Operating => "operating",
            Self::Refused => "refused",
        }
    }
}

/// A JSON text of a peer that is kept, such as its capabilities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept(pub Bytes);

impl Kept {
    /// A view of it.
    #[must_use]
    pub fn node(&self) -> Node<'_> {
        Node::new(&self.0)
    }

    /// Whether capabilities declare this one: its member is there, and neither `null` nor `false`.
    #[must_use]
    pub fn declares(&self, path: &[&str]) -> bool {
        declares(self.node(), path)
    }
}

/// Whether capabilities declare this one: its member is there, and neither `null` nor `false`.
pub(crate) fn declares(capabilities: Node<'_>, path: &[&str]) -> bool {
    capabilities.at(path).is_some_and(|value| !value.is_null() && value.as_bool() != Some(false))
}

/// What is known of one side.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Party {
    /// Its name as it introduced itself.
    pub name: Option<Arc<str>>,
    /// Its version.
    pub version: Option<Arc<str>>,
    /// What it declared last.
    pub capabilities: Option<Kept>,
    /// Which message said so.
    pub declared_at: Option<At>,
    /// Messages that it sent.
    pub n_messages: u64,
    /// Bytes of these.
    pub n_bytes: u64,
}

/// A request, from when it was sent until it is answered; remembered for a while afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The request.
    pub at: At,
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// Which ids it lives with: 0, or its HTTP exchange.
    pub scope: u64,
    /// Which way it went.
    pub direction: Direction,
    /// Its id as written.
    pub raw_id: RawId,
    /// Its method as written.
    pub method: Arc<str>,
    /// What the specification says of the method.
    pub known: Option<&'static Method>,
    /// The tool, prompt or resource that it is about.
    pub target: Option<Arc<str>>,
    /// The revisions that it may be of: one, where that is known.
    pub revisions: Revisions,
    /// Its `params`, unless they are very long.
    pub params: Option<Kept>,
    /// Memory that these take while it is in flight, bytes.
    pub(crate) kept_bytes: usize,
    /// Its progress token as written.
    pub progress_token: Option<RawId>,
    /// Progress notifications for it.
    pub n_progress: u64,
    /// The newest progress value.
    pub progress: Option<Number>,
    /// Nanoseconds from the request to its first progress.
    pub first_progress_ns: Option<u64>,
    /// The cancellation of it.
    pub cancelled: Option<At>,
    /// Nanoseconds from the request to its cancellation.
    pub cancelled_after_ns: Option<u64>,
    /// The log level that it asks for: with `logging/setLevel`, or in the modern era in its `_meta`.
    pub log_level: Option<&'static str>,
    /// Its answer.
    pub answer: Option<At>,
    /// What the answer says.
    pub status: Option<Status>,
    /// Nanoseconds from the request to its answer.
    pub latency_ns: Option<u64>,
    /// The task that it became; of a poll of a task, or of another question about one, that task.
    pub task: Option<Arc<str>>,
    /// The request that this one goes on with, in a multi-round-trip request: the first of its rounds.
    pub first_round: Option<At>,
    /// Of a modern request: whether it lacks what `_meta` must hold.
    pub lacks_meta: bool,
}

impl Call {
    /// The side that asked.
    #[must_use]
    pub fn side(&self) -> Side {
        sender(self.direction)
    }

    /// Whether it is a notification that has an id. Whether that makes it a request its receiver decides: it is not waited
    /// for.
    pub(crate) fn is_notification(&self) -> bool {
        self.known.is_some_and(|method| method.kind == MethodKind::Notification)
    }

    /// A member of its `params`.
    #[must_use]
    pub fn param(&self, path: &[&str]) -> Option<Node<'_>> {
        self.params.as_ref()?.node().at(path)
    }

    /// A member of its `_meta`.
    #[must_use]
    pub fn meta(&self, key: &str) -> Option<Node<'_>> {
        self.param(&["_meta", key])
    }

    /// Whether it is of the modern era for certain.
    #[must_use]
    pub fn is_modern(&self) -> bool {
        !self.revisions.is_empty() && self.revisions.is_subset_of(Revisions::MODERN)
    }
}

/// A number of a peer, compared by its bits so that states can be compared.
#[derive(Debug, Clone, Copy)]
pub struct Number(pub f64);

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}

impl Eq for Number {}

/// What came of a session so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Requests answered with a result.
    pub n_ok: u64,
    /// Requests answered with a result that says `isError`.
    pub n_tool_errors: u64,
    /// Requests answered with an error.
    pub n_errors: u64,
    /// Notifications, either way.
    pub n_notifications: u64,
    /// Findings by severity: notes, warnings, errors.
    pub n_findings: [u64; 3],
    /// Bytes that passed and were not recorded.
    pub lost_bytes: u64,
}

impl Totals {
    /// Findings of one severity.
    #[must_use]
    pub fn n_findings_of(&self, severity: Severity) -> u64 {
        self.n_findings[severity as usize]
    }
}

/// What `initialize` changes in a session of the modern era, and its refusal brings back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BeforeHandshake {
    pub(crate) phase: Phase,
    pub(crate) phase_at: Option<At>,
    pub(crate) asked_revision: Option<Arc<str>>,
    pub(crate) revision_text: Option<Arc<str>>,
    pub(crate) revision: Option<Revision>,
    pub(crate) client: Party,
}

/// The requests that wait for an answer, by scope, direction and id.
type InFlight = IdMap<(u64, Direction, RawId), Vec<Arc<Call>>>;

/// Everything that was true at one point of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionState {
    /// The newest message.
    pub at: Option<At>,
    /// When that was, nanoseconds since the session opened.
    pub at_ns: u64,
    /// How far the session is.
    pub phase: Phase,
    /// Since which message.
    pub phase_at: Option<At>,
    /// Whether the session, or its recording, is over.
    pub ended: bool,
    /// The era that is spoken; provisional while [probing](Phase::Probing).
    pub era: Option<Era>,
    /// The revision that the client asked for, as written.
    pub asked_revision: Option<Arc<str>>,
    /// The revision that is spoken, as written.
    pub revision_text: Option<Arc<str>>,
    /// The known revision nearest to that.
    pub revision: Option<Revision>,
    /// Revisions that the server said it supports, as written, in `server/discover` or in an error.
    pub supported: Vector<Arc<str>>,
    /// What the server tells the model about itself.
    pub instructions: Option<Arc<str>>,
    /// The client.
    pub client: Party,
    /// The server.
    pub server: Party,
    /// What was listed: tools, prompts, resources, templates, roots.
    pub lists: Lists,
    /// Log level, and what was logged.
    pub logging: Logging,
    /// Tasks of both kinds.
    pub tasks: Tasks,
    /// Subscriptions, and calls that wait for input.
    pub modern: Modern,
    /// Ids that the client used, and the server.
    pub used_ids: [UsedIds; 2],
    /// What came of it so far.
    pub totals: Totals,
    /// Whether the recording begins with the session and has no gap so far.
    pub whole: bool,
    /// The newest gap. Requests that were sent before it may have been answered in it.
    pub gap_at: Option<At>,
    /// Whether a stream of it was resumed (HTTP, legacy era), so that messages may come twice.
    pub resumed: bool,
    pub(crate) in_flight: InFlight,
    pub(crate) n_in_flight: usize,
    /// Memory that the `params` of requests in flight take, bytes.
    pub(crate) kept_bytes: usize,
    /// By direction of the request and token.
    pub(crate) tokens: IdMap<(Direction, RawId), (At, u64, RawId)>,
    pub(crate) recent: Vector<Arc<Call>>,
    /// Progress tokens that the client supplied, and the server.
    pub(crate) used_tokens: [UsedIds; 2],
    /// Progress whose request has not been seen yet.
    pub(crate) early_progress: Vector<EarlyProgress>,
    /// What held before the client asked for a handshake in a session of the modern era.
    pub(crate) before_handshake: Option<Arc<BeforeHandshake>>,
    /// Whether the client has sent a request that is not `ping` or a probe.
    pub(crate) client_asked: bool,
    /// `notifications/initialized` came before `initialize` was answered.
    pub(crate) initialized_early: bool,
    /// Findings of these rules that are told once a session were told.
    pub(crate) told_once: HashSet<&'static str>,
}

impl Default for SessionState {
    fn default() -> Self {
        Self {
            at: None,
            at_ns: 0,
            phase: Phase::default(),
            phase_at: None,
            ended: false,
            era: None,
            asked_revision: None,
            revision_text: None,
            revision: None,
            supported: Vector::new(),
            instructions: None,
            client: Party::default(),
            server: Party::default(),
            lists: Lists::default(),
            logging: Logging::default(),
            tasks: Tasks::default(),
            modern: Modern::default(),
            used_ids: [UsedIds::default(), UsedIds::default()],
            totals: Totals::default(),
            whole: true,
            gap_at: None,
            resumed: false,
            in_flight: InFlight::default(),
            n_in_flight: 0,
            kept_bytes: 0,
            tokens: IdMap::default(),
            recent: Vector::new(),
            used_tokens: [UsedIds::default(), UsedIds::default()],
            early_progress: Vector::new(),
            before_handshake: None,
            client_asked: false,
            initialized_early: false,
            told_once: HashSet::new(),
        }
    }
}

impl SessionState {
    /// One of the two sides.
    #[must_use]
    pub fn party(&self, side: Side) -> &Party {
        match side {
            Side::Client => &self.client,
            Side::Server => &self.server,
        }
    }

    pub(crate) fn party_mut(&mut self, side: Side) -> &mut Party {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }

    /// The ids that one side has used.
    #[must_use]
    pub fn used_ids_of(&self, side: Side) -> &UsedIds {
        &self.used_ids[side as usize]
    }

    /// The requests that wait for an answer, in the order in which they were sent.
    #[must_use]
    pub fn in_flight(&self) -> Vec<Arc<Call>> {
        let mut calls: Vec<_> = self.in_flight.values().flatten().cloned().collect();
        calls.sort_by_key(|call| call.at);
        calls
    }

    /// How many requests wait for an answer.
    #[must_use]
    pub fn n_in_flight(&self) -> usize {
        self.n_in_flight
    }

    /// A request in flight, by its id: of several with the same id the oldest.
    #[must_use]
    pub fn call(&self, scope: u64, direction: Direction, raw_id: &RawId) -> Option<&Arc<Call>> {
        self.in_flight.get(&(scope, direction, raw_id.clone()))?.first()
    }

    /// Calls that ended a short while ago, the newest last.
    pub fn recent(&self) -> impl DoubleEndedIterator<Item = &Arc<Call>> {
        self.recent.iter()
    }

    /// A call that ended a short while ago, by its id: the newest with it.
    #[must_use]
    pub fn recent_call(&self, scope: u64, direction: Direction, raw_id: &RawId) -> Option<&Arc<Call>> {
        self.recent
            .iter()
            .rev()
            .find(|call| call.direction == direction && call.raw_id == *raw_id && call.scope == scope)
    }

    /// The call in flight that a progress token belongs to; `direction` is the request's.
    #[must_use]
    pub fn call_of_token(&self, direction: Direction, token: &RawId) -> Option<&Arc<Call>> {
        let (at, scope, raw_id) = self.tokens.get(&(direction, token.clone()))?;
        self.in_flight.get(&(*scope, direction, raw_id.clone()))?.iter().find(|call| call.at == *at)
    }

    /// Whether nothing is missing since a request was sent: it was not answered, nor were its id and token used again,
    /// without being seen.
    pub(crate) fn is_whole_since(&self, call: &Call) -> bool {
        self.gap_at.is_none_or(|gap| gap < call.at)
    }

    /// Whether this is told for the first time, of what is told once a session.
    pub(crate) fn first_time(&mut self, what: &'static str) -> bool {
        // Asked again and again: put in only when it is not there, since a set that clones share is copied to be changed.
        !self.told_once.contains(what) && self.told_once.insert(what).is_none()
    }

    /// Changes a call in flight, if it is there.
    pub(crate) fn change_call(&mut self, call: &Call, change: impl FnOnce(&mut Call)) {
        self.change_call_at(&(call.scope, call.direction, call.raw_id.clone()), call.at, change);
    }

    /// The same by where it is. Nobody else need hold the call then, which makes it cheaper.
    pub(crate) fn change_call_at(&mut self, key: &(u64, Direction, RawId), at: At, change: impl FnOnce(&mut Call)) {
        let found = self.in_flight.get_mut(key).and_then(|calls| calls.iter_mut().find(|this| this.at == at));
        if let Some(this) = found {
            change(Arc::make_mut(this));
        }
    }

    pub(crate) fn open_call(&mut self, call: Call) {
        if let Some(token) = &call.progress_token {
            self.tokens.insert((call.direction, token.clone()), (call.at, call.scope, call.raw_id.clone()));
        }
        self.n_in_flight += 1;
        self.kept_bytes += call.kept_bytes;
        let key = (call.scope, call.direction, call.raw_id.clone());
        match self.in_flight.entry(key) {
            Entry::Occupied(mut calls) => calls.get_mut().push(Arc::new(call)),
            // Room for one: ids in use twice at a time are rare.
            Entry::Vacant(slot) => drop(slot.insert(vec![Arc::new(call)])),
        }
    }

    /// The calls in flight that came in this frame.
    pub(crate) fn calls_of(&self, seq: u64) -> Vec<(u64, Direction, RawId, At)> {
        let calls = self.in_flight.values().flatten().filter(|call| call.at.seq == seq);
        calls.map(|call| (call.scope, call.direction, call.raw_id.clone(), call.at)).collect()
    }

    /// Takes a call out of those in flight.
    pub(crate) fn close_call(&mut self, scope: u64, direction: Direction, raw_id: &RawId, at: At) -> Option<Arc<Call>> {
        let key = (scope, direction, raw_id.clone());
        let calls = self.in_flight.get_mut(&key)?;
        let index = calls.iter().position(|call| call.at == at)?;
        let call = calls.remove(index);
        if calls.is_empty() {
            self.in_flight.remove(&key);
        }
        self.n_in_flight -= 1;
        self.kept_bytes = self.kept_bytes.saturating_sub(call.kept_bytes);
        if let Some(token) = &call.progress_token {
            let key = (direction, token.clone());
            if self.tokens.get(&key).is_some_and(|(this, ..)| *this == at) {
                self.tokens.remove(&key);
            }
        }
        Some(call)
    }

    pub(crate) fn remember(&mut self, call: Arc<Call>) {
        if self.recent.len() >= RECENT_CALLS {
            self.recent.pop_front();
        }
        self.recent.push_back(call);
    }
}
