//! A real server behind the recording: what that has no answer to is asked there, and what comes of it is learned.
//!
//! The real server is opened when it is first needed, with the handshake that the client made with the recording. It has not
//! heard what was answered from the recording. Whoever drives the playback starts it, carries the lines, and writes down what
//! was learned.

use std::collections::{BTreeMap, HashSet};

use bytes::Bytes;
use tap_frame::Direction;
use tap_jsonrpc::{Content, Envelope, Kind, Member, Node, RawId, Scanner, other_type, same_number, splice};
use tap_protocol::meta;

use super::{Learned, Live, Output, Place, Player, WATCH, find};
use crate::miss::{Reason, cut};
use crate::report::{NoteKind, TOLD};

const INITIALIZED: &[u8] = br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

/// The real server, as far as it was needed.
#[derive(Debug, Default)]
pub(super) struct Real {
    state: State,
    /// How the client began.
    opening: Option<Opening>,
    passed: Vec<Passed>,
    /// Requests of the real server's that the client has not answered: their own ids, by those that the client knows.
    questions: BTreeMap<RawId, RawId>,
    learning: Option<Learning>,
    /// Ids that were learned.
    ids: HashSet<RawId>,
    now_ns: u64,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    NotAsked,
    /// The handshake was sent; what waits for its answer.
    Opening(Vec<Bytes>),
    Open,
    /// It can be asked nothing more, and why.
    Gone(String),
}

#[derive(Debug)]
struct Opening {
    id: RawId,
    bytes: Bytes,
}

/// A request that the real server was asked.
#[derive(Debug)]
struct Passed {
    live: Live,
    reason: Reason,
    fate: Fate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Open,
    Answered,
    Cancelled,
}

/// What goes into the recording once all of it is there.
#[derive(Debug)]
struct Learning {
    place: Option<Place>,
    behind: u64,
    messages: Vec<(Direction, Bytes, u64)>,
}

impl Real {
    /// The client begins like this.
    pub(super) fn opens_with(&mut self, live: &Live) {
        self.opening = Some(Opening { id: live.id.clone(), bytes: live.bytes.clone() });
    }

    /// Whether the client has a question of the real server's with this id before it.
    pub(super) fn asks(&self, id: &RawId) -> bool {
        self.questions.contains_key(id)
    }

    fn learn(&mut self, direction: Direction, bytes: &Bytes) {
        if let Some(learning) = &mut self.learning {
            learning.messages.push((direction, bytes.clone(), self.now_ns));
        }
    }

    fn open(&self, id: &RawId) -> Option<usize> {
        let ways: [fn(&RawId, &RawId) -> bool; 3] = [|one, other| one == other, same_number, other_type];
        let is_open =
            |passed: &Passed, way: fn(&RawId, &RawId) -> bool| passed.fate == Fate::Open && way(&passed.live.id, id);
        ways.into_iter().find_map(|way| self.passed.iter().position(|passed| is_open(passed, way)))
    }

    /// Whether something was asked that ends, and has not. A subscription does not end.
    fn is_waiting(&self) -> bool {
        let mut open = self.passed.iter().filter(|passed| passed.fate == Fate::Open);
        open.any(|passed| passed.live.method != "subscriptions/listen")
    }
}

impl Player {
    /// What time it is, nanoseconds from any moment on: for the times of what is learned.
    pub fn time(&mut self, now_ns: u64) {
        self.real.now_ns = now_ns;
    }

    /// Whether the real server was asked something that it has not answered.
    #[must_use]
    pub fn waits_for_real_server(&self) -> bool {
        self.real.is_waiting()
    }

    /// A request without a recorded answer goes to the real server. Given back where that cannot be, with the reason.
    pub(super) fn pass_on(
        &mut self,
        live: Live,
        reason: Reason,
        outputs: &mut Vec<Output>,
    ) -> Option<(Live, Option<String>)> {
        let may_pass = matches!(reason, Reason::NoMatch | Reason::UsedUp | Reason::OutOfOrder | Reason::Unanswered);
        if !self.options.pass_on || !may_pass || self.has_ended {
            return Some((live, None));
        }
        if let State::Gone(why) = &self.real.state {
            let why = why.clone();
            return Some((live, Some(why)));
        }
        let what = cut(&find::what(&live.bytes));
        self.note(NoteKind::RealServer, format!("no recorded answer for {what}: the real server is asked"), outputs);
        self.report.n_passed_on += 1;
        if self.report.passed_on.len() < TOLD {
            self.report.passed_on.push(what);
        }
        if self.real.learning.is_none() {
            let place = self.chosen;
            let act = place.and_then(|place| self.layers.get(place.layer)?.acts.get(place.act));
            let behind = act.map_or(0, crate::act::Act::quiet_behind);
            self.real.learning = Some(Learning { place, behind, messages: Vec::new() });
        }
        let bytes = live.bytes.clone();
        self.real.learn(Direction::ToServer, &bytes);
        let opening = self.real.opening.as_ref().filter(|_| !live.is_modern && live.method != "initialize");
        match (&mut self.real.state, opening) {
            (State::NotAsked, Some(opening)) => {
                outputs.push(Output::ToServer(self.handshake(&opening.bytes)));
                self.real.state = State::Opening(vec![bytes]);
            }
            (State::Opening(waiting), _) => waiting.push(bytes),
            _ => {
                self.real.state = State::Open;
                outputs.push(Output::ToServer(bytes.to_vec()));
            }
        }
        self.real.passed.push(Passed { live, reason, fate: Fate::Open });
        None
    }

    /// The client's handshake, with the revision that it has agreed on with the recording.
    fn handshake(&self, opening: &[u8]) -> Vec<u8> {
        let script = self.chosen.and_then(|place| Some(&self.layers.get(place.layer)?.acts.get(place.act)?.script));
        match script.and_then(|script| script.initialize().and(script.revision())) {
            Some(revision) => {
                let revision = serde_json::Value::from(revision).to_string();
                splice(opening, &[(&["params", "protocolVersion"], revision.as_bytes())])
            }
            None => opening.to_vec(),
        }
    }

    /// Takes what the real server said on one line: what is to be done now, in order.
    pub fn receive_from_server(&mut self, line: &[u8]) -> Vec<Output> {
        let mut outputs = Vec::new();
        let mut scanner = Scanner::new(WATCH);
        scanner.feed(line);
        match scanner.finish().content {
            Content::Blank => {}
            Content::Message(envelope) => {
                self.said_by_real(Bytes::copy_from_slice(Node::new(line).bytes()), envelope, &mut outputs);
            }
            Content::Batch(batch) => {
                for (bytes, member) in Node::new(line).elements().zip(batch.members) {
                    if let Member::Message(envelope) = member {
                        self.said_by_real(Bytes::copy_from_slice(bytes.bytes()), envelope, &mut outputs);
                    }
                }
            }
            Content::NotAMessage(_) | Content::NotJson(_) => {
                let text = "the real server said what is no message; it was left out";
                self.note(NoteKind::RealServer, text.into(), &mut outputs);
            }
        }
        outputs
    }

    fn said_by_real(&mut self, bytes: Bytes, envelope: Envelope, outputs: &mut Vec<Output>) {
        let Envelope { kind, id, method, .. } = envelope;
        match (kind, id) {
            (Kind::Result | Kind::Error, Some(id)) => self.answer_of_real(kind, &id, &bytes, outputs),
            (Kind::Result | Kind::Error, None) => {
                self.note(NoteKind::RealServer, "the real server answered without an id".into(), outputs);
            }
            (Kind::Request, Some(own)) => {
                self.real.learn(Direction::ToClient, &bytes);
                let id = self.free_id(own.clone());
                outputs.push(Output::Send { bytes: crate::rewrite::with_id(&bytes, id.as_bytes()), gap_ns: 0 });
                self.real.questions.insert(id, own);
            }
            (Kind::Request | Kind::Notification, _) => {
                self.real.learn(Direction::ToClient, &bytes);
                outputs.push(Output::Send { bytes: bytes.to_vec(), gap_ns: 0 });
                if method.as_deref() == Some("notifications/subscriptions/acknowledged") {
                    self.close_learning(outputs);
                }
            }
        }
    }

    fn answer_of_real(&mut self, kind: Kind, id: &RawId, bytes: &Bytes, outputs: &mut Vec<Output>) {
        let is_opening = self.real.opening.as_ref().is_some_and(|opening| opening.id == *id);
        if let State::Opening(waiting) = &mut self.real.state
            && is_opening
        {
            if kind == Kind::Error {
                let error = Node::new(bytes).get("error").map(|error| cut(&String::from_utf8_lossy(error.bytes())));
                let why = format!("the real server refused the handshake: {}", error.unwrap_or_default());
                return self.real_is_gone(why, outputs);
            }
            outputs.push(Output::ToServer(INITIALIZED.to_vec()));
            outputs.extend(std::mem::take(waiting).into_iter().map(|bytes| Output::ToServer(bytes.to_vec())));
            self.real.state = State::Open;
            return;
        }
        let Some(passed) = self.real.open(id).and_then(|index| self.real.passed.get_mut(index)) else {
            let text = format!("the real server answered {id}, which it was not asked");
            return self.note(NoteKind::RealServer, text, outputs);
        };
        passed.fate = Fate::Answered;
        let (batch, request) = (passed.live.batch, passed.live.bytes.clone());
        self.real.learn(Direction::ToClient, bytes);
        // The pages that come next are found by what was said of them.
        for layer in &mut self.layers {
            if let Some(key) = layer.walks.key(&request, &layer.rules) {
                layer.walks.answered(&key, bytes);
            }
        }
        self.send_answer(batch, bytes.to_vec(), 0, outputs);
        self.close_learning(outputs);
    }

    /// The real server has ended, or could not be started: what it was asked is missed.
    pub fn server_ended(&mut self, why: &str) -> Vec<Output> {
        let mut outputs = Vec::new();
        self.real_is_gone(why.to_owned(), &mut outputs);
        outputs
    }

    fn real_is_gone(&mut self, why: String, outputs: &mut Vec<Output>) {
        self.real.state = State::Gone(why);
        self.real.questions.clear();
        // What was answered is learned all the same.
        self.end_learning(outputs);
        for passed in std::mem::take(&mut self.real.passed) {
            if passed.fate == Fate::Open {
                self.miss(passed.live, passed.reason, None, outputs);
            }
        }
    }

    /// A notification of the client's, of which a real server that was opened is told.
    pub(super) fn tell_real(&mut self, method: &str, bytes: &Bytes, outputs: &mut Vec<Output>) {
        let is_own_handshake = method == "notifications/initialized" && self.real.opening.is_some();
        if matches!(self.real.state, State::Open) && !is_own_handshake {
            outputs.push(Output::ToServer(bytes.to_vec()));
        }
    }

    /// Whether an answer of the client's is to a question of the real server's, which gets it then.
    pub(super) fn reply_to_real(&mut self, id: &RawId, bytes: &Bytes, outputs: &mut Vec<Output>) -> bool {
        let Some(own) = self.real.questions.remove(id) else {
            return false;
        };
        let bytes: Bytes = crate::rewrite::with_id(bytes, own.as_bytes()).into();
        self.real.learn(Direction::ToServer, &bytes);
        outputs.push(Output::ToServer(bytes.to_vec()));
        true
    }

    /// Whether a request that the client cancels is one that the real server was asked, which is told then.
    pub(super) fn cancel_at_real(&mut self, id: &RawId, bytes: &Bytes, outputs: &mut Vec<Output>) -> bool {
        let Some(passed) = self.real.open(id).and_then(|index| self.real.passed.get_mut(index)) else {
            return false;
        };
        passed.fate = Fate::Cancelled;
        let batch = passed.live.batch;
        self.real.learn(Direction::ToServer, bytes);
        match &mut self.real.state {
            State::Opening(waiting) => waiting.push(bytes.clone()),
            _ => outputs.push(Output::ToServer(bytes.to_vec())),
        }
        if let Some(batch) = batch {
            self.part_is_answered(batch, None, 0, outputs);
        }
        self.close_learning(outputs);
        true
    }

    /// Gives out what was learned, if nothing of it is still to come.
    fn close_learning(&mut self, outputs: &mut Vec<Output>) {
        if !self.real.is_waiting() {
            self.end_learning(outputs);
        }
    }

    /// Gives out what was learned. Requests without an answer are left out: they would be missed again.
    pub(super) fn end_learning(&mut self, outputs: &mut Vec<Output>) {
        let Some(Learning { place, behind, messages }) = self.real.learning.take() else {
            return;
        };
        let mut names: BTreeMap<RawId, RawId> = BTreeMap::new();
        let mut left_out: Vec<(Bytes, Option<RawId>)> = Vec::new();
        let used: HashSet<RawId> =
            self.layers.iter().flat_map(|layer| &layer.acts).flat_map(crate::act::Act::ids).cloned().collect();
        let numbers = used.iter().chain(&self.real.ids).filter_map(|id| std::str::from_utf8(id.as_bytes()).ok());
        let mut highest = numbers.filter_map(|id| id.parse::<u64>().ok()).filter(|id| *id < 1 << 53).max();
        for passed in &self.real.passed {
            let is_listening = passed.live.method == "subscriptions/listen";
            if passed.fate == Fate::Open && !is_listening {
                left_out.push((passed.live.bytes.clone(), passed.live.token.clone()));
                continue;
            }
            let mut id = passed.live.id.clone();
            let is_free = |id: &RawId, ids: &HashSet<RawId>| !used.contains(id) && !ids.contains(id);
            while !is_free(&id, &self.real.ids) {
                let next = highest.map_or(0, |highest| highest + 1);
                highest = Some(next);
                id = RawId::from_token(next.to_string().as_bytes());
            }
            self.real.ids.insert(id.clone());
            names.insert(passed.live.id.clone(), id);
        }
        let is_settled = self.real.passed.iter().any(|passed| passed.fate != Fate::Open);
        // A subscription goes on, and what it brings from now on is its own.
        self.real.passed.retain(|passed| passed.fate == Fate::Open);
        let mut before_ns = None;
        let mut learned = Vec::new();
        for (direction, bytes, at_ns) in messages {
            let token = || Some(RawId::from_token(Node::new(&bytes).at(&["params", meta::PROGRESS_TOKEN])?.bytes()));
            let is_left_out = left_out.iter().any(|(request, of_progress)| {
                *request == bytes
                    || (of_progress.is_some() && direction == Direction::ToClient && *of_progress == token())
            });
            if is_left_out {
                continue;
            }
            let gap_ns = at_ns.saturating_sub(before_ns.replace(at_ns).unwrap_or(at_ns));
            learned.push(Learned { behind, direction, bytes: renamed(&bytes, direction, &names), gap_ns });
        }
        let has_answer = learned.iter().any(|learned| learned.direction == Direction::ToClient);
        // Only a conversation that is in the recording can have more in it.
        if (has_answer || is_settled) && !names.is_empty() && place.is_none_or(|place| place.layer == 0) {
            outputs.push(Output::Learned(learned));
        }
    }
}

/// A message with the ids that requests have in the recording.
fn renamed(bytes: &[u8], direction: Direction, names: &BTreeMap<RawId, RawId>) -> Vec<u8> {
    let message = Node::new(bytes);
    let has_method = message.get("method").is_some();
    let is_of_request = has_method == (direction == Direction::ToServer);
    let paths: [&[&str]; 4] = [
        &["id"],
        &["params", "requestId"],
        &["params", "_meta", meta::SUBSCRIPTION_ID],
        &["result", "_meta", meta::SUBSCRIPTION_ID],
    ];
    let name = |path: &&[&str]| {
        let id = RawId::from_token(message.at(path)?.bytes());
        let ways: [fn(&RawId, &RawId) -> bool; 3] = [|one, other| one == other, same_number, other_type];
        ways.into_iter().find_map(|way| names.iter().find(|(known, _)| way(known, &id)).map(|(_, name)| name))
    };
    let applies = |path: &&&[&str]| path.len() > 1 || is_of_request;
    let replaced: Vec<(&[&str], &[u8])> =
        paths.iter().filter(applies).filter_map(|path| Some((*path, name(path)?.as_bytes()))).collect();
    splice(bytes, &replaced)
}

#[cfg(test)]
mod tests;
