//! What the server says to a client.

use bytes::Bytes;
use tap_jsonrpc::{Node, RawId};
use tap_protocol::{Era, INTERNAL_ERROR, METHOD_NOT_FOUND, Revision, Side, meta, method};

use super::Client;
use crate::chair::calls::{OwnCall, Round, Waits};
use crate::chair::seat::Heard;
use crate::chair::{ErrorReply, InputRequest, Misuse, Outcome, Output, Request, write};
use crate::row::{At, RowKind, with_messages};
use crate::state::Kept;

/// Requests of the server that can wait for the user at a time. More are answered with an error: a server must not take
/// all memory.
const ASKED_LIMIT: usize = 1_000;

impl Client {
    pub(super) fn line(&mut self, line: &Bytes, now_ns: u64) {
        let rows = self.seat.hear(line, now_ns);
        for (row, node) in with_messages(rows.iter(), line) {
            let heard = Heard { row, line, node };
            match row.kind {
                RowKind::Request => self.request_heard(&heard, now_ns),
                RowKind::Notification => self.notification_heard(&heard, now_ns),
                // With both a result and an error it is no message, and an answer all the same.
                RowKind::Result | RowKind::Error | RowKind::NotAMessage => self.answer_heard(&heard, now_ns),
                RowKind::Batch
                | RowKind::NotJson
                | RowKind::Blank
                | RowKind::Stderr
                | RowKind::Gap
                | RowKind::Exchange
                | RowKind::Body
                | RowKind::Act => {}
            }
        }
    }

    pub(super) fn end(&mut self) {
        if self.seat.state().ended {
            return;
        }
        self.opening_ended();
        self.asked.clear();
        self.seat.end();
    }

    fn answer_heard(&mut self, heard: &Heard<'_>, now_ns: u64) {
        let Some(outcome) = heard.outcome() else {
            return;
        };
        if self.opening_answered(heard.row, &outcome, now_ns) {
            return;
        }
        // What was given up, or never asked, is a finding at most.
        let Some(call) = heard.row.pair.and_then(|request| self.seat.calls.of_request(request)) else {
            return;
        };
        let Some(own) = self.seat.calls.take(call) else {
            return;
        };
        let latency_ns = heard.row.latency_ns.unwrap_or_default();
        let round = match &outcome {
            Outcome::Result(result) if self.era() == Some(Era::Modern) => input_required(heard, &own, result.node()),
            Outcome::Result(_) | Outcome::Error(_) => None,
        };
        match round {
            Some((round, requests)) => {
                let state = round.state.clone().map(Kept);
                self.seat.calls.put(call, OwnCall { waits: Waits::Input(round), ..own });
                self.seat.push(Output::InputRequired { call, requests, state });
            }
            None => self.seat.push(Output::Answer { call, outcome, latency_ns }),
        }
    }

    fn notification_heard(&mut self, heard: &Heard<'_>, now_ns: u64) {
        match heard.method() {
            "notifications/progress" if self.seat.progress(heard, now_ns).is_some() => return,
            "notifications/cancelled" => {
                if let Some(id) = heard.param(&["requestId"]) {
                    self.cancelled(id);
                }
                return;
            }
            _ => {}
        }
        let subscription = heard.param(&["_meta", meta::SUBSCRIPTION_ID]).and_then(|id| self.request_with_id(id));
        let params = heard.node.get("params").map(|params| heard.keep(params));
        let call = subscription.and_then(|request| self.seat.calls.of_request(request));
        self.seat.push(Output::Notification { method: heard.method().into(), params, call });
    }

    /// The server gives up a request of its own, or ends a subscription of ours.
    fn cancelled(&mut self, id: Node<'_>) {
        let request =
            self.asked.iter().find(|(_, raw_id)| **raw_id == RawId::from_token(id.bytes())).map(|(at, _)| *at);
        if let Some(request) = request {
            self.asked.remove(&request);
            self.seat.push(Output::Withdrawn { request });
            return;
        }
        let call = self.request_with_id(id).and_then(|request| self.seat.calls.of_request(request));
        let listens = |call| self.seat.calls.get(call).is_some_and(|own| &*own.method == "subscriptions/listen");
        if let Some(call) = call.filter(|call| listens(*call)) {
            self.seat.calls.take(call);
            self.seat.push(Output::Dropped { call });
        }
    }

    /// The request of ours that is in flight with this id.
    fn request_with_id(&self, id: Node<'_>) -> Option<At> {
        let raw_id = RawId::from_token(id.bytes());
        Some(self.seat.state().call(0, tap_frame::Direction::ToServer, &raw_id)?.at)
    }

    fn request_heard(&mut self, heard: &Heard<'_>, now_ns: u64) {
        // There are none in the modern era, and no answers.
        if self.era() == Some(Era::Modern) {
            return;
        }
        let Some(raw_id) = heard.usable_id().cloned() else {
            return;
        };
        let refusal = match heard.method() {
            "ping" => {
                let _ = self.seat.say(write::result(raw_id.as_bytes(), b"{}"), now_ns);
                return;
            }
            name if !self.can(name) => ErrorReply::new(METHOD_NOT_FOUND, format!("this client has no `{name}`")),
            _ if ASKED_LIMIT <= self.asked.len() => ErrorReply::new(INTERNAL_ERROR, "too many requests wait already"),
            name => {
                self.asked.insert(heard.row.at, raw_id);
                let request = Request {
                    request: heard.row.at,
                    revision: self.legacy_revision(),
                    capabilities: self.seat.state().server.capabilities.clone(),
                    method: name.into(),
                    params: heard.node.get("params").map(|params| heard.keep(params)),
                };
                self.seat.push(Output::Request(request));
                return;
            }
        };
        self.refuse(raw_id.as_bytes(), &refusal, now_ns);
    }

    fn refuse(&mut self, raw_id: &[u8], refusal: &ErrorReply, now_ns: u64) {
        let message: Result<_, Misuse> = write::error(raw_id, refusal);
        // An answer that would break a rule, because the request did, is not sent.
        let _ = message.and_then(|message| self.seat.say(message, now_ns));
    }

    /// The revision of a request of the server, which may ask before the session is open.
    fn legacy_revision(&self) -> Revision {
        self.revision().unwrap_or(Revision::LATEST_LEGACY)
    }

    /// Whether the client declared what the server needs to ask this.
    fn can(&self, name: &str) -> bool {
        let capabilities = Kept(Bytes::copy_from_slice(self.options.capabilities.as_bytes()));
        let revision = self.legacy_revision();
        match method(name) {
            Some(method) => {
                let mut needs = method.needs(revision, Side::Server).filter(|need| need.declared_by == Side::Client);
                method.may_send(revision, Side::Server) && needs.all(|need| capabilities.declares(need.path))
            }
            // Nobody knows what it needs; whoever declared something of their own may.
            None => capabilities.declares(&["experimental"]) || capabilities.declares(&["extensions"]),
        }
    }
}

/// What a result of `input_required` asks for; `None` when it is no such result, or asks for nothing.
fn input_required(heard: &Heard<'_>, own: &OwnCall, result: Node<'_>) -> Option<(Round, Vec<InputRequest>)> {
    let [kind, requests, state] = result.pick(["resultType", "inputRequests", "requestState"]);
    if !own.known?.rounds || !kind?.is_text("input_required") || (requests.is_none() && state.is_none()) {
        return None;
    }
    let mut round = Round { keys: Vec::new(), state: state.map(|state| heard.keep(state).0) };
    let mut asked = Vec::new();
    for (key, request) in requests.into_iter().flat_map(Node::members) {
        let [method, params] = request.pick(["method", "params"]);
        let written = heard.line.slice_ref(key.bytes());
        round.keys.push((key.text().into_owned(), written));
        asked.push(InputRequest {
            key: key.text().into_owned(),
            method: method?.text()?.into_owned(),
            params: params.map(|params| heard.keep(params)),
        });
    }
    Some((round, asked))
}
