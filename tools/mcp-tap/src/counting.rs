//! Counting calls: how many, how slow, how large, how many failed. What `stats` prints and what the inspector shows.
//!
//! What a call is, with all its rounds, and how it ended is what following the session says; nothing is read in another
//! way here. A filter is asked of the rows of a call.

mod latencies;
mod over_time;

use std::collections::HashMap;
use std::sync::Arc;

use tap_exchange::Exchange;
use tap_filter::Filter;
use tap_frame::{Became, Frame, HttpEnd};
use tap_jsonrpc::Node;
use tap_session::{At, Call, Event, HttpSessionNumber, LinkKind, MessageRow, RowKind, SessionState, Status};
use tap_store::{ListKind, Session, Store, StoreError};

pub(crate) use self::latencies::{Latencies, MAGNITUDES_NS};
pub(crate) use self::over_time::OverTime;
use crate::filtering::fits;
use crate::following::Seen;
use crate::reference::Part;
use crate::subject::Findings;

/// The request that stays open as long as its client wants to hear of changes: without an answer nothing is wrong.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// What calls are counted under, when there are too many different ones: a peer can make up any number of names.
pub(crate) const OTHERS: &str = "(others)";

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Calls of one tool, prompt or resource.
    Tool,
    Method,
    /// Calls of one session of MCP.
    Conversation,
}

/// Whose calls are counted together. What does not matter is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) conversation: Option<u64>,
    pub(crate) method: Arc<str>,
    /// The tool, prompt or resource.
    pub(crate) target: Arc<str>,
}

impl Key {
    fn of(row: &MessageRow, conversation: Option<HttpSessionNumber>) -> Self {
        Self {
            conversation: conversation.map(|number| number.0),
            method: row.method.clone().unwrap_or_default(),
            target: row.target.clone().unwrap_or_default(),
        }
    }

    /// What it is called in a table.
    pub(crate) fn name(&self) -> String {
        match (self.conversation, self.target.is_empty()) {
            (Some(number), _) if self.method.is_empty() => format!("session /{number}"),
            (None, _) if self.method.is_empty() => "of no session".into(),
            (_, true) => self.method.to_string(),
            (_, false) => format!("{} {}", self.method, self.target),
        }
    }

    fn by(&self, by: By) -> Self {
        let empty = Arc::<str>::default;
        match by {
            By::Tool => Self { conversation: None, ..self.clone() },
            By::Method => Self { conversation: None, method: self.method.clone(), target: empty() },
            By::Conversation => Self { conversation: self.conversation, method: empty(), target: empty() },
        }
    }
}

/// Calls that are counted together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    pub(crate) n_calls: u64,
    pub(crate) n_errors: u64,
    pub(crate) n_tool_errors: u64,
    pub(crate) n_cancelled: u64,
    /// Without an answer at the end of the session.
    pub(crate) n_unanswered: u64,
    /// Without an answer so far, in a session that goes on.
    pub(crate) n_in_flight: u64,
    /// Answered with a question that the client has not come back to.
    pub(crate) n_waiting: u64,
    /// Requests beyond the first of a call: rounds of input.
    pub(crate) n_rounds: u64,
    pub(crate) latencies: Latencies,
    pub(crate) first_progress: Latencies,
    /// Over HTTP, from when the request was complete to the first byte of the answer.
    pub(crate) first_byte: Latencies,
    pub(crate) request_bytes: u64,
    pub(crate) answer_bytes: u64,
    /// How long the slowest took, nanoseconds, and its first message.
    pub(crate) slowest: Option<(u64, At)>,
}

impl Group {
    /// Counts a call as far as it is known, but not how it ended.
    fn begun(&mut self, call: &Open) {
        self.n_calls += 1;
        self.n_rounds += call.n_rounds.saturating_sub(1);
        self.request_bytes += call.request_bytes;
        self.answer_bytes += call.answer_bytes;
        for ns in &call.first_byte_ns {
            self.first_byte.push(*ns);
        }
    }

    fn ended(&mut self, open: &Open, status: Status, call: Option<&Call>) {
        self.begun(open);
        match status {
            Status::Ok => {}
            Status::ToolError => self.n_tool_errors += 1,
            Status::Error => self.n_errors += 1,
        }
        self.n_cancelled += u64::from(call.is_some_and(|call| call.cancelled.is_some()));
        if let Some(ns) = call.and_then(|call| call.first_progress_ns) {
            self.first_progress.push(ns);
        }
        self.latencies.push(open.latency_ns);
        if self.slowest.is_none_or(|(slowest, _)| slowest < open.latency_ns) {
            self.slowest = Some((open.latency_ns, open.first));
        }
    }

    /// Takes in all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.n_calls += other.n_calls;
        self.n_errors += other.n_errors;
        self.n_tool_errors += other.n_tool_errors;
        self.n_cancelled += other.n_cancelled;
        self.n_unanswered += other.n_unanswered;
        self.n_in_flight += other.n_in_flight;
        self.n_waiting += other.n_waiting;
        self.n_rounds += other.n_rounds;
        self.latencies.merge(&other.latencies);
        self.first_progress.merge(&other.first_progress);
        self.first_byte.merge(&other.first_byte);
        self.request_bytes += other.request_bytes;
        self.answer_bytes += other.answer_bytes;
        if let Some(other) = other.slowest
            && self.slowest.is_none_or(|slowest| slowest.0 < other.0 || (slowest.0 == other.0 && other.1 < slowest.1))
        {
            self.slowest = Some(other);
        }
    }
}

/// Which calls of a session are counted.
pub(crate) struct Scope<'a> {
    pub(crate) store: &'a Store,
    pub(crate) session: &'a Session,
    /// Of one session of MCP in a recording with many.
    pub(crate) conversation: Option<HttpSessionNumber>,
    /// Those that began here.
    pub(crate) part: Part,
    /// Those of which a request or its answer fits; with the rules that were broken, if that is asked for.
    pub(crate) filter: Option<(&'a Filter, &'a Findings)>,
}

impl Scope<'_> {
    fn wants(&self, conversation: Option<HttpSessionNumber>) -> bool {
        self.conversation.is_none() || self.conversation == conversation
    }

    fn fits(&self, request: At) -> Result<bool, StoreError> {
        let Some((filter, findings)) = self.filter else {
            return Ok(true);
        };
        let Some(listed) = self.store.row(self.session.id, request)? else {
            return Ok(false);
        };
        fits(filter, self.store, self.session, ListKind::Calls, &listed, findings)
    }

    fn exchange(&self, number: Option<u64>) -> Result<Option<Exchange>, StoreError> {
        match number {
            Some(number) => self.store.exchange(self.session.id, number),
            None => Ok(None),
        }
    }
}

/// A call that has not ended: its rounds so far.
#[derive(Debug)]
struct Open {
    key: Key,
    first: At,
    began_at_ns: u64,
    n_rounds: u64,
    latency_ns: u64,
    request_bytes: u64,
    answer_bytes: u64,
    first_byte_ns: Vec<u64>,
    /// The exchange of HTTP of its newest request.
    exchange: Option<u64>,
    /// One of its rounds before the newest fits.
    fits: bool,
}

/// Counts the calls of one session as it is followed.
#[derive(Debug)]
pub(crate) struct Counter {
    groups: HashMap<Key, Group>,
    /// Calls in flight, by their newest request.
    open: HashMap<At, Open>,
    /// Those that were answered with a question, by their first request.
    waiting_for_input: HashMap<At, Open>,
    over_time: OverTime,
    /// Beyond so many different ones no more are told apart.
    most_groups: usize,
}

/// What was counted up to now.
#[derive(Debug)]
pub(crate) struct Counted {
    pub(crate) groups: HashMap<Key, Group>,
    pub(crate) over_time: OverTime,
}

impl Counter {
    pub(crate) fn new(most_groups: usize) -> Self {
        Self {
            groups: HashMap::new(),
            open: HashMap::new(),
            waiting_for_input: HashMap::new(),
            over_time: OverTime::default(),
            most_groups,
        }
    }

    /// Takes the next thing that was followed.
    pub(crate) fn take(&mut self, seen: &Seen<'_>, scope: &Scope<'_>) -> Result<(), StoreError> {
        if !scope.wants(seen.conversation) {
            return Ok(());
        }
        let mut lengths = Lengths::of(seen.frame);
        for event in &seen.meaning.events {
            match event {
                // What a debugger asks is no call of the client's.
                Event::Row(row) if row.kind == RowKind::Request && !row.is_made() => {
                    self.request(row, seen, scope, &mut lengths)
                }
                Event::Answered { request, answer, latency_ns, status, .. } => {
                    let Some(mut this) = self.open.remove(request) else {
                        continue;
                    };
                    this.latency_ns = this.latency_ns.saturating_add(*latency_ns);
                    if answer != request {
                        this.answer_bytes += lengths.length(*answer);
                    }
                    this.first_byte_ns.extend(scope.exchange(this.exchange)?.as_ref().and_then(first_byte_ns));
                    this.fits = this.fits || scope.fits(*request)?;
                    if waits_for_input(seen.state, this.first) {
                        self.waiting_for_input.insert(this.first, this);
                    } else if this.fits {
                        let call = seen.state.recent().rev().find(|call| call.at == *request);
                        self.over_time.add(this.began_at_ns, this.latency_ns);
                        let key = within(&self.groups, self.most_groups, &this.key);
                        self.groups.entry(key).or_default().ended(&this, *status, call.map(|call| &**call));
                    }
                }
                Event::Done { seq, done } if done.was_kept_back() && done.deed.became() == Became::Stopped => {
                    // What the server never got says nothing about it.
                    self.open.retain(|request, _| request.seq != *seq);
                }
                Event::Row(_) | Event::Done { .. } => {}
            }
        }
        Ok(())
    }

    fn request(&mut self, row: &MessageRow, seen: &Seen<'_>, scope: &Scope<'_>, lengths: &mut Lengths<'_>) {
        let links = &seen.meaning.links;
        let round = links.iter().find(|link| link.kind == LinkKind::Round && link.from == row.at);
        let earlier = match round {
            Some(round) => match self.waiting_for_input.remove(&round.to) {
                Some(earlier) => Some(earlier),
                // It goes on with a call that began before the part.
                None if !scope.part.contains(round.to) => return,
                None => None,
            },
            None => None,
        };
        if earlier.is_none() && !scope.part.contains(row.at) {
            return;
        }
        let mut this = earlier.unwrap_or_else(|| Open {
            key: Key::of(row, seen.conversation),
            first: row.at,
            began_at_ns: row.at_ns,
            n_rounds: 0,
            latency_ns: 0,
            request_bytes: 0,
            answer_bytes: 0,
            first_byte_ns: Vec::new(),
            exchange: None,
            fits: false,
        });
        this.n_rounds += 1;
        this.request_bytes += lengths.length(row.at);
        this.exchange = seen.exchange;
        self.open.insert(row.at, this);
    }

    /// Of each tool: its name, how many results it gave, and their bytes.
    pub(crate) fn results(&self) -> Vec<(Arc<str>, u64, u64)> {
        let mut results: HashMap<Arc<str>, (u64, u64)> = HashMap::new();
        for (key, group) in self.groups.iter().filter(|(key, _)| &*key.method == "tools/call") {
            let (n, bytes) = results.entry(key.target.clone()).or_default();
            *n += group.n_calls;
            *bytes += group.answer_bytes;
        }
        // Called, though there is no result yet.
        for open in self.open.values().chain(self.waiting_for_input.values()) {
            if &*open.key.method == "tools/call" {
                results.entry(open.key.target.clone()).or_default();
            }
        }
        results.into_iter().map(|(name, (n, bytes))| (name, n, bytes)).collect()
    }

    /// What was counted up to now, with what has not ended. `states` is what is true now, and `over` that nothing more will
    /// come.
    pub(crate) fn counted<'s>(
        &self,
        by: By,
        states: impl Iterator<Item = &'s SessionState>,
        over: bool,
        scope: &Scope<'_>,
    ) -> Result<Counted, StoreError> {
        let mut groups: HashMap<Key, Group> = HashMap::new();
        for (key, group) in &self.groups {
            groups.entry(key.by(by)).or_default().merge(group);
        }
        let mut over_time = self.over_time.clone();
        for this in self.waiting_for_input.values().filter(|this| this.fits) {
            let key = within(&groups, self.most_groups, &this.key.by(by));
            let group = groups.entry(key).or_default();
            group.begun(this);
            group.n_waiting += 1;
            over_time.add(this.began_at_ns, this.latency_ns);
        }
        let calls: HashMap<At, _> = match self.open.is_empty() {
            true => HashMap::new(),
            false => states.flat_map(SessionState::in_flight).map(|call| (call.at, call)).collect(),
        };
        for (at, this) in &self.open {
            if !this.fits && !scope.fits(*at)? {
                continue;
            }
            // Over HTTP a client takes a call back by going away.
            let end = scope.exchange(this.exchange)?.and_then(|exchange| exchange.end);
            let left = end == Some(HttpEnd::ByClient);
            // What was broken off is not answered any more, though the recording may go on.
            let may_come = !over && end != Some(HttpEnd::ByServer);
            let is_subscription = &*this.key.method == SUBSCRIPTION;
            let key = within(&groups, self.most_groups, &this.key.by(by));
            let group = groups.entry(key).or_default();
            group.begun(this);
            over_time.add(this.began_at_ns, this.latency_ns);
            if !is_subscription && (left || calls.get(at).is_some_and(|call| call.cancelled.is_some())) {
                group.n_cancelled += 1;
            } else if may_come && !left {
                group.n_in_flight += 1;
            } else if !is_subscription {
                group.n_unanswered += 1;
            }
        }
        Ok(Counted { groups, over_time })
    }
}

/// The key to count under: its own, unless there are too many.
fn within(groups: &HashMap<Key, Group>, most: usize, key: &Key) -> Key {
    if groups.len() < most || groups.contains_key(key) {
        return key.clone();
    }
    Key { conversation: None, method: OTHERS.into(), target: Arc::default() }
}

/// How long the first byte of an answer took, from when the request was complete.
fn first_byte_ns(exchange: &Exchange) -> Option<u64> {
    Some(exchange.response_at_ns?.saturating_sub(exchange.request_end_at_ns?))
}

/// How long a frame is, and the members of its batch. What is known without a frame has no length.
struct Lengths<'a> {
    frame: Option<&'a Frame>,
    /// Looked for when one is asked for.
    members: Option<Vec<u64>>,
}

impl<'a> Lengths<'a> {
    fn of(frame: Option<&'a Frame>) -> Self {
        Self { frame, members: None }
    }

    /// Bytes of a message in the frame.
    fn length(&mut self, at: At) -> u64 {
        let Some(frame) = self.frame else {
            return 0;
        };
        let Some(index) = at.index_in_batch() else {
            return frame.message().len() as u64;
        };
        let members = self.members.get_or_insert_with(|| {
            Node::new(&frame.bytes).elements().map(|member| member.bytes().len() as u64).collect()
        });
        members.get(index).copied().unwrap_or(0)
    }
}

/// Whether a call was answered with a question, so that it goes on with another request.
fn waits_for_input(state: &SessionState, first: At) -> bool {
    state.modern.waiting_rounds().any(|round| round.first == first)
}
