//! The machine: takes one message after the other, says what each did, and which rules it broke.
//!
//! Blind to who asks: an observer feeds it both directions, a client or a server its own messages as well as its peer's.
//! It never fails on what a peer did. Each file below it has the rules of one part of the protocol, as functions of what
//! was [seen](Seen) and of the state before it; they put what they find in [`Out`] and change their part of the state.
//!
//! Start reading at [`Machine::step`].

pub(crate) mod features;
pub(crate) mod lifecycle;
pub(crate) mod lists;
pub(crate) mod modern;
pub(crate) mod progress;
pub(crate) mod rpc;
pub(crate) mod schema;
mod seen;
pub(crate) mod tasks;

use std::sync::Arc;

use tap_frame::{Direction, Frame, Origin};
use tap_jsonrpc::{Content, Member, Node, NotAMessage, RawId};
use tap_protocol::{Revisions, Side, method};

pub(crate) use self::seen::{Parts, Said, Seen};
use crate::observer::Stamp;
use crate::row::{At, MessageRow, RowKind, Status, with_messages};
use crate::rule::{DETAIL_LIMIT_BYTES, Finding, Rule, clipped};
use crate::state::{Call, SessionState, sender};

/// `params`, capabilities and the like that are longer than this are not kept, bytes.
pub const KEPT_LIMIT_BYTES: usize = 1024 * 1024;

/// Requests in flight of which `params` are kept. Of more, only what is asked is known.
const KEPT_PARAMS: usize = 10_000;

/// Memory that these `params` may take, bytes.
const KEPT_PARAMS_BYTES: usize = 64 * 1024 * 1024;

/// Findings of one rule in one message, or at the end, at most. A message of a million mistakes shows its first ones, and
/// those of one rule do not hide those of another.
const FINDINGS_OF_A_RULE: usize = 50;

/// What one message has to do with another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LinkKind {
    /// Progress for a request.
    Progress,
    /// The cancellation of a request.
    Cancels,
    /// A request that goes on with one that was answered `input_required`; the first of its rounds is named.
    Round,
    /// What a subscription delivered, its acknowledgement included.
    Delivered,
    /// A poll, result, cancellation or status of a task; the request that made the task is named.
    Task,
    /// A list that was asked for because it changed; the notification is named.
    ListedAgain,
    /// An event of HTTP that was sent again; the first time is named. The second is no message.
    Redelivered,
}

/// That one message belongs to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Link {
    /// The message.
    pub from: At,
    /// The earlier one that it belongs to.
    pub to: At,
    /// How.
    pub kind: LinkKind,
}

/// Where rules put what they find.
pub(crate) struct Out<'a> {
    pub(crate) findings: &'a mut Vec<Finding>,
    pub(crate) links: &'a mut Vec<Link>,
    /// Whether nothing of the session is missing so far.
    whole: bool,
    /// How many findings there are of each rule, of those that have any.
    n_findings: Vec<(&'static Rule, usize)>,
}

impl<'a> Out<'a> {
    pub(crate) fn new(found: &'a mut Found, whole: bool) -> Self {
        Self { findings: &mut found.findings, links: &mut found.links, whole, n_findings: Vec::new() }
    }

    /// Says that a message broke a rule, if the rule holds in its revision. What is given back can be changed: who broke
    /// it, which messages show it too, a milder severity.
    pub(crate) fn find(
        &mut self,
        rule: &'static Rule,
        seen: &Seen<'_>,
        detail: impl Into<String>,
    ) -> Option<&mut Finding> {
        self.find_at(rule, seen.revisions, seen.at(), seen.side, detail)
    }

    /// The same of a message that is not the one that is seen now.
    pub(crate) fn find_at(
        &mut self,
        rule: &'static Rule,
        revisions: Revisions,
        at: At,
        by: Side,
        detail: impl Into<String>,
    ) -> Option<&mut Finding> {
        let severity = rule.severity_in(revisions)?;
        if rule.needs_whole && !self.whole {
            return None;
        }
        match self.n_findings.iter_mut().find(|(this, _)| std::ptr::eq(*this, rule)) {
            Some((_, n_findings)) if FINDINGS_OF_A_RULE <= *n_findings => return None,
            Some((_, n_findings)) => *n_findings += 1,
            None => self.n_findings.push((rule, 1)),
        }
        let detail = clipped(&detail.into(), DETAIL_LIMIT_BYTES);
        self.findings.push(Finding { rule, severity, at, others: Vec::new(), by, detail });
        self.findings.last_mut()
    }

    /// Says that a message belongs to an earlier one.
    pub(crate) fn link(&mut self, from: At, to: At, kind: LinkKind) {
        self.links.push(Link { from, to, kind });
    }
}

/// What a step found, apart from the rows.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) findings: Vec<Finding>,
    pub(crate) links: Vec<Link>,
}

/// Follows one session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Machine {
    pub(crate) state: SessionState,
    framing: rpc::Framing,
}

impl Machine {
    /// Takes one frame. `rows` are what an observer made of it: the frame's row, and one for each member of a batch.
    pub(crate) fn step<'a>(
        &mut self,
        stamp: &Stamp,
        frame: &Frame,
        content: &Content,
        rows: impl Iterator<Item = &'a MessageRow>,
        found: &mut Found,
    ) {
        let before = found.findings.len();
        let state = &mut self.state;
        state.at_ns = stamp.at_ns;
        let mut out = Out::new(found, state.whole);
        if let Origin::Gap(n_bytes) = frame.origin {
            state.whole = false;
            state.totals.lost_bytes = state.totals.lost_bytes.saturating_add(n_bytes);
            if stamp.stream.channel() == tap_frame::Channel::Message {
                state.gap_at = Some(At { seq: stamp.seq, member: 0 });
            }
            self.framing.tear(stamp.stream);
            return;
        }
        let party = state.party_mut(sender(stamp.stream.direction()));
        if stamp.stream.channel() == tap_frame::Channel::Message {
            party.n_bytes += frame.bytes.len() as u64;
        }
        for (row, node) in with_messages(rows, &frame.bytes) {
            state.at = Some(row.at);
            let misfit = match (row.kind, content) {
                (RowKind::Stderr | RowKind::Gap, _) => continue,
                (RowKind::Blank | RowKind::NotJson, _) => {
                    rpc::no_message(state, &mut self.framing, frame, row, content, &mut out);
                    continue;
                }
                (RowKind::Batch, Content::Batch(batch)) => {
                    rpc::frame(&mut self.framing, state, frame, row, &mut out);
                    rpc::batch(state, frame, row, batch, &mut out);
                    continue;
                }
                (_, Content::Message(_)) => {
                    rpc::frame(&mut self.framing, state, frame, row, &mut out);
                    None
                }
                (_, Content::NotAMessage(other)) => {
                    rpc::frame(&mut self.framing, state, frame, row, &mut out);
                    Some(other)
                }
                (_, Content::Batch(batch)) => {
                    match row.at.index_in_batch().and_then(|index| batch.members.get(index)) {
                        Some(Member::Message(_)) => None,
                        Some(Member::NotAMessage(other)) => Some(other),
                        None => continue,
                    }
                }
                (_, Content::Blank | Content::NotJson(_)) => continue,
            };
            one(state, frame, stamp.scope, row, misfit, node, &mut out);
        }
        self.count(&found.findings[before..]);
    }

    /// Says that nothing will follow.
    pub(crate) fn finish(&mut self, found: &mut Found) {
        if self.state.ended {
            return;
        }
        let before = found.findings.len();
        let state = &mut self.state;
        let mut out = Out::new(found, state.whole);
        rpc::end(state, &mut self.framing, &mut out);
        progress::end(state, &mut out);
        modern::end(state, &mut out);
        state.ended = true;
        self.count(&found.findings[before..]);
    }

    /// The machine of a session of which the beginning is missing.
    pub(crate) fn from_the_middle() -> Self {
        let mut machine = Self { framing: rpc::Framing::from_the_middle(), ..Self::default() };
        machine.state.whole = false;
        machine
    }

    /// The machine of a session over HTTP.
    pub(crate) fn of_bodies() -> Self {
        let mut machine = Self::default();
        machine.framing.of_bodies = true;
        machine
    }

    /// Takes a request of the client out of those in flight, although it was not answered. `ended` is where and by whom;
    /// without it the request was never let in.
    pub(crate) fn drop_call(&mut self, scope: u64, raw_id: &RawId, at: At, ended: Option<(At, Side)>) {
        self.drop_call_of(scope, Direction::ToServer, raw_id, at, ended);
    }

    /// The same of either side.
    pub(crate) fn drop_call_of(
        &mut self,
        scope: u64,
        direction: Direction,
        raw_id: &RawId,
        at: At,
        ended: Option<(At, Side)>,
    ) {
        let state = &mut self.state;
        let Some(mut call) = state.close_call(scope, direction, raw_id, at) else {
            return;
        };
        progress::dropped(state, &call);
        let (ended_at, by) = ended.unwrap_or((at, Side::Server));
        modern::dropped(state, &call, ended_at, by);
        lists::dropped(state, &call, ended.is_some());
        let Some((ended_at, by)) = ended else {
            return;
        };
        let this = Arc::make_mut(&mut call);
        if by == Side::Client {
            this.cancelled = this.cancelled.or(Some(ended_at));
        }
        this.params = None;
        state.remember(call);
    }

    pub(crate) fn count(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.state.totals.n_findings[finding.severity as usize] += 1;
        }
    }
}

/// Takes one message; `misfit` says what is wrong with what should have been one.
fn one(
    state: &mut SessionState,
    frame: &Frame,
    scope: u64,
    row: &MessageRow,
    misfit: Option<&NotAMessage>,
    node: Node<'_>,
    out: &mut Out<'_>,
) {
    let direction = row.stream.direction();
    let side = sender(direction);
    state.party_mut(side).n_messages += 1;
    let [params, result, error] = if node.is_object() { node.pick(["params", "result", "error"]) } else { [None; 3] };
    let parts = Parts::of(params, result);
    let meta = parts.meta;
    let answers = matches!(row.kind, RowKind::Result | RowKind::Error) || row.status.is_some();
    let known = if answers { None } else { row.method.as_deref().and_then(method) };
    let call = match (answers, &row.raw_id, row.pair) {
        (true, Some(raw_id), Some(pair)) => state.close_call(scope, direction.reversed(), raw_id, pair),
        _ => None,
    };
    let mut seen = Seen {
        frame,
        row,
        node,
        notes: row.notes,
        scope,
        side,
        method: known,
        revisions: Revisions::ALL,
        params,
        result,
        error,
        meta,
        said: Said::of(meta),
        parts,
    };
    seen.revisions = lifecycle::revisions_of(state, &seen, call.as_deref());
    match misfit {
        Some(other) => rpc::not_a_message(&seen, other, out),
        None => rpc::message(&seen, out),
    }
    match (row.kind, call) {
        (RowKind::Request, _) => request(state, &seen, out),
        (RowKind::Notification, _) => {
            state.totals.n_notifications += 1;
            lifecycle::notification(state, &seen, out);
            progress::notification(state, &seen, out);
            tasks::notification(state, &seen, out);
            modern::notification(state, &seen, out);
            lists::notification(state, &seen, out);
            schema::notification(&seen, out);
        }
        (_, Some(call)) => {
            let mut call = call;
            let this = Arc::make_mut(&mut call);
            this.answer = Some(row.at);
            this.status = row.status;
            this.latency_ns = row.latency_ns;
            match row.status {
                Some(Status::Ok) => state.totals.n_ok += 1,
                Some(Status::ToolError) => state.totals.n_tool_errors += 1,
                Some(Status::Error) | None => state.totals.n_errors += 1,
            }
            lifecycle::answer(state, &seen, &call, out);
            progress::answer(state, &seen, &call, out);
            tasks::answer(state, &seen, &mut call, out);
            modern::answer(state, &seen, &call, out);
            lists::answer(state, &seen, &call, out);
            features::answer(state, &seen, &call, out);
            schema::answer(&seen, &call, out);
            Arc::make_mut(&mut call).params = None;
            state.remember(call);
        }
        (_, None) if answers => {
            rpc::answer_to_nothing(state, &seen, out);
            modern::answer_to_nothing(state, &seen, out);
        }
        (_, None) => {}
    }
}

fn request(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let Some(raw_id) = &seen.row.raw_id else {
        return;
    };
    let has_room = |params: &Node<'_>| {
        state.n_in_flight < KEPT_PARAMS && state.kept_bytes + seen.kept_bytes(*params) <= KEPT_PARAMS_BYTES
    };
    let kept = seen.params.filter(has_room).and_then(|params| Some((seen.keep(params)?, seen.kept_bytes(params))));
    let (params, kept_bytes) = kept.unzip();
    let token = seen.said.progress_token;
    let mut call = Call {
        at: seen.at(),
        at_ns: seen.at_ns(),
        scope: seen.scope,
        direction: seen.direction(),
        raw_id: raw_id.clone(),
        method: seen.row.method.clone().unwrap_or_else(|| Arc::from("")),
        known: seen.method,
        target: seen.row.target.clone(),
        revisions: seen.revisions,
        params,
        kept_bytes: kept_bytes.unwrap_or_default(),
        progress_token: token.map(|token| RawId::from_token(token.bytes())),
        n_progress: 0,
        progress: None,
        first_progress_ns: None,
        cancelled: None,
        cancelled_after_ns: None,
        log_level: None,
        answer: None,
        status: None,
        latency_ns: None,
        task: None,
        first_round: None,
        lacks_meta: false,
    };
    rpc::request(state, seen, &call, out);
    lifecycle::request(state, seen, &mut call, out);
    progress::request(state, seen, &mut call, out);
    tasks::request(state, seen, &mut call, out);
    modern::request(state, seen, &mut call, out);
    lists::request(state, seen, &call, out);
    features::request(state, seen, &call, out);
    schema::request(seen, out);
    state.used_ids[seen.side as usize].insert(raw_id);
    if raw_id.is_null() || call.is_notification() {
        return;
    }
    if state.n_in_flight < crate::observer::WAITING_LIMIT {
        state.open_call(call);
    } else {
        rpc::too_many(state, seen, out);
    }
}
