//! Counting calls: how many, how slow, how large, how many failed. What `stats` prints and what the inspector shows.
//!
//! What a call is, with all its rounds, and how it ended is what following the session says; nothing is read in another
//! way here. A filter is asked of the rows of a call.

mod group;
mod key;
mod latencies;
mod over_time;
mod shape;
mod spent;

use std::collections::HashMap;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tap_exchange::Exchange;
use tap_filter::Filter;
use tap_frame::{Became, Direction, Frame, HttpEnd};
use tap_jsonrpc::Node;
use tap_session::{At, Event, HttpSessionNumber, LinkKind, MessageRow, RowKind, SessionState, Status};
use tap_store::{ListKind, Session, Store, StoreError};

pub(crate) use self::group::Group;
pub(crate) use self::key::{By, Key, written};
pub(crate) use self::latencies::{Latencies, MAGNITUDES_NS};
pub(crate) use self::over_time::OverTime;
pub(crate) use self::spent::Spent;
use self::spent::{Spending, Work};
use crate::filtering::fits;
use crate::following::Seen;
use crate::reference::Part;
use crate::said::said_whole;
use crate::subject::Findings;

/// The request that stays open as long as its client wants to hear of changes: without an answer nothing is wrong.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// What stands in the place of a name where there are too many.
const OTHERS: &str = "(others)";

/// The request with which a server asks a person something.
const ASKS_A_PERSON: &str = "elicitation/create";

/// So many shapes of errors are told apart; a server can make up any number.
const SHAPES: usize = 500;

/// How much of an answer is looked at for what it says, bytes.
const SAID_BYTES: usize = 2_048;

/// What a call is counted under, however calls are grouped later. What does not matter is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Called {
    conversation: Option<u64>,
    method: Arc<str>,
    /// The tool, prompt or resource.
    target: Arc<str>,
}

impl Called {
    fn of(row: &MessageRow, conversation: Option<HttpSessionNumber>) -> Self {
        Self {
            conversation: conversation.map(|number| number.0),
            method: row.method.clone().unwrap_or_default(),
            target: row.target.clone().unwrap_or_default(),
        }
    }

    /// As it is shown; `None` where calls are not grouped by what they are.
    fn key(&self, by: By) -> Option<Key> {
        let method = || self.method.clone();
        match by {
            By::Tool => Some(Key::Called { method: method(), target: self.target.clone() }),
            By::Method => Some(Key::Called { method: method(), target: Arc::default() }),
            By::Conversation => Some(Key::Conversation(self.conversation)),
            By::Hour | By::Error => None,
        }
    }

    /// What was going on while such a request had no answer; `None` where nobody waited for the server or a person.
    fn work(&self, to: Direction) -> Option<Work> {
        match (to, &*self.method) {
            (_, SUBSCRIPTION) => None,
            (Direction::ToServer, "tools/call") => Some(Work::Tool),
            (Direction::ToServer, _) => Some(Work::Other),
            (Direction::ToClient, ASKS_A_PERSON) => Some(Work::Person),
            (Direction::ToClient, _) => None,
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
    called: Called,
    /// What went on while it had no answer.
    work: Option<Work>,
    first: At,
    began_at_ns: u64,
    began_unix_ns: u64,
    /// When its newest request came, and when that was answered, nanoseconds since the session opened.
    round_at_ns: u64,
    answered_at_ns: u64,
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
    groups: HashMap<Called, Group>,
    /// The same calls, by the hour in which they began.
    hours: HashMap<u64, Group>,
    /// Those that failed, by the shape of their errors; an empty one stands for all that are too many.
    shapes: HashMap<Arc<str>, Group>,
    spending: Spending,
    /// Where hours of the clock begin.
    zone: TimeZone,
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
    /// Where the time went, of all calls whether they fit or not.
    pub(crate) spent: Spent,
}

impl Counter {
    pub(crate) fn new(most_groups: usize, zone: TimeZone) -> Self {
        Self {
            groups: HashMap::new(),
            hours: HashMap::new(),
            shapes: HashMap::new(),
            spending: Spending::default(),
            zone,
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
        if let Some(frame) = seen.frame {
            self.spending.at(frame.at_ns);
        }
        for event in &seen.meaning.events {
            match event {
                // What a debugger asks is no call of the client's.
                Event::Row(row) if row.kind == RowKind::Request && !row.is_made() => {
                    self.request(row, seen, scope, &mut lengths);
                }
                Event::Answered { request, answer, latency_ns, status, error_code, .. } => {
                    let Some(mut this) = self.open.remove(request) else {
                        continue;
                    };
                    this.latency_ns = this.latency_ns.saturating_add(*latency_ns);
                    this.answered_at_ns = this.round_at_ns.saturating_add(*latency_ns);
                    if let Some(work) = this.work {
                        self.spending.add(work, this.round_at_ns, this.answered_at_ns);
                    }
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
                        let call = call.map(|call| &**call);
                        let is_known = self.groups.len() < self.most_groups || self.groups.contains_key(&this.called);
                        let called = if is_known { this.called.clone() } else { others() };
                        self.groups.entry(called).or_default().ended(&this, *status, call);
                        let hour = key::hour_of(this.began_unix_ns, &self.zone);
                        self.hours.entry(hour).or_default().ended(&this, *status, call);
                        if *status != Status::Ok {
                            let shape = shape_of(&lengths, *answer, *request, error_code.as_deref());
                            let is_known = self.shapes.len() < SHAPES || self.shapes.contains_key(&*shape);
                            let shape = if is_known { shape.into() } else { Arc::default() };
                            self.shapes.entry(shape).or_default().ended(&this, *status, call);
                        }
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
        if let Some(earlier) = &earlier {
            // The server had asked, and somebody thought about it.
            self.spending.add(Work::Person, earlier.answered_at_ns, row.at_ns);
        }
        let mut this = earlier.unwrap_or_else(|| {
            let called = Called::of(row, seen.conversation);
            Open {
                work: called.work(row.stream.direction()),
                called,
                first: row.at,
                began_at_ns: row.at_ns,
                began_unix_ns: row.wall_ns,
                round_at_ns: row.at_ns,
                answered_at_ns: row.at_ns,
                n_rounds: 0,
                latency_ns: 0,
                request_bytes: 0,
                answer_bytes: 0,
                first_byte_ns: Vec::new(),
                exchange: None,
                fits: false,
            }
        });
        this.n_rounds += 1;
        this.round_at_ns = row.at_ns;
        this.request_bytes += lengths.length(row.at);
        this.exchange = seen.exchange;
        self.open.insert(row.at, this);
    }

    /// Of each tool: its name, how many results it gave, and their bytes.
    pub(crate) fn results(&self) -> Vec<(Arc<str>, u64, u64)> {
        let mut results: HashMap<Arc<str>, (u64, u64)> = HashMap::new();
        for (called, group) in self.groups.iter().filter(|(called, _)| &*called.method == "tools/call") {
            let (n, bytes) = results.entry(called.target.clone()).or_default();
            *n += group.n_calls;
            *bytes += group.answer_bytes;
        }
        // Called, though there is no result yet.
        for open in self.open.values().chain(self.waiting_for_input.values()) {
            if &*open.called.method == "tools/call" {
                results.entry(open.called.target.clone()).or_default();
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
        match by {
            By::Hour => groups.extend(self.hours.iter().map(|(hour, group)| (Key::Hour(*hour), group.clone()))),
            By::Error => groups.extend(self.shapes.iter().map(|(shape, group)| {
                let key = if shape.is_empty() { Key::Others } else { Key::Error(shape.clone()) };
                (key, group.clone())
            })),
            By::Tool | By::Method | By::Conversation => {
                for (called, group) in &self.groups {
                    let key = if *called == others() { Key::Others } else { called.key(by).unwrap_or(Key::Others) };
                    groups.entry(key).or_default().merge(group);
                }
            }
        }
        let mut over_time = self.over_time.clone();
        for this in self.waiting_for_input.values().filter(|this| this.fits) {
            over_time.add(this.began_at_ns, this.latency_ns);
            let Some(key) = self.key_of(this, by, &groups) else {
                continue;
            };
            let group = groups.entry(key).or_default();
            group.begun(this);
            group.n_waiting += 1;
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
            let is_subscription = &*this.called.method == SUBSCRIPTION;
            over_time.add(this.began_at_ns, this.latency_ns);
            let Some(key) = self.key_of(this, by, &groups) else {
                continue;
            };
            let group = groups.entry(key).or_default();
            group.begun(this);
            if !is_subscription && (left || calls.get(at).is_some_and(|call| call.cancelled.is_some())) {
                group.n_cancelled += 1;
            } else if may_come && !left {
                group.n_in_flight += 1;
            } else if !is_subscription {
                group.n_unanswered += 1;
            }
        }
        Ok(Counted { groups, over_time, spent: self.spending.spent() })
    }

    /// What a call that has not ended is counted under, among those that there are. None by errors: it has none yet.
    fn key_of(&self, call: &Open, by: By, groups: &HashMap<Key, Group>) -> Option<Key> {
        let key = match by {
            By::Error => return None,
            By::Hour => Key::Hour(key::hour_of(call.began_unix_ns, &self.zone)),
            By::Tool | By::Method | By::Conversation => call.called.key(by)?,
        };
        let is_known = groups.len() < self.most_groups || groups.contains_key(&key);
        Some(if is_known { key } else { Key::Others })
    }
}

/// What calls are counted under when there are too many different ones: a peer can make up any number of names, and no method
/// has this one.
fn others() -> Called {
    Called { conversation: None, method: Arc::default(), target: OTHERS.into() }
}

/// The shape of the error in an answer, with its code. An answer that is no message was a status of HTTP alone.
fn shape_of(lengths: &Lengths<'_>, answer: At, request: At, code: Option<&str>) -> String {
    let said = if answer == request { None } else { lengths.said(answer) };
    let shape = shape::of(&said.unwrap_or_default());
    match (code, shape.is_empty()) {
        (Some(code), true) => format!("error {code}"),
        (Some(code), false) => format!("{code} {shape}"),
        (None, true) => "without words".into(),
        (None, false) => shape,
    }
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

    /// What a message in the frame says in words.
    fn said(&self, at: At) -> Option<String> {
        let bytes = &*self.frame?.bytes;
        let begins = |bytes: &[u8]| said_whole(&bytes[..bytes.len().min(SAID_BYTES)]);
        match at.index_in_batch() {
            None => Some(begins(bytes)),
            Some(index) => Node::new(bytes).elements().nth(index).map(|member| begins(member.bytes())),
        }
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
