//! What the client says to a server.

use bytes::Bytes;
use tap_jsonrpc::{Node, RawId};
use tap_protocol::{INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, Revision, meta, method};

use super::verdict::Verdict;
use super::{Asked, CacheScope, Server, Spoken};
use crate::chair::seat::Heard;
use crate::chair::{ErrorReply, Misuse, Output, Request, write};
use crate::row::{RowKind, with_messages};
use crate::state::Kept;

/// Requests of the client that can wait for the user at a time. More are answered with an error: a client must not take
/// all memory.
const ASKED_LIMIT: usize = 10_000;

impl Server {
    pub(super) fn line(&mut self, line: &Bytes, now_ns: u64) {
        let rows = self.seat.hear(line, now_ns);
        let in_batch = rows.first().is_some_and(|row| row.kind == RowKind::Batch);
        // Every revision but one has no batches.
        let refused = in_batch && !matches!(self.spoken, Spoken::Legacy { revision: Revision::V2025_03_26, .. });
        let mut answered = false;
        for (row, node) in with_messages(rows.iter(), line) {
            let heard = Heard { row, line, node };
            match row.kind {
                RowKind::Request if refused => {
                    answered = true;
                    let reply = ErrorReply::new(INVALID_REQUEST, "there are no batches in this revision");
                    self.refuse(heard.usable_id().map(RawId::as_bytes), &reply, now_ns);
                }
                RowKind::Request => self.request_heard(&heard, now_ns),
                RowKind::Notification if !refused => self.notification_heard(&heard, now_ns),
                RowKind::Result | RowKind::Error if !refused => self.answer_heard(&heard),
                RowKind::NotJson => {
                    self.refuse(None, &ErrorReply::new(PARSE_ERROR, "this is no JSON"), now_ns);
                }
                RowKind::NotAMessage if row.status.is_some() => self.answer_heard(&heard),
                RowKind::NotAMessage if is_meant_as_request(&heard) => {
                    self.refuse(None, &ErrorReply::new(INVALID_REQUEST, "this is no message"), now_ns);
                }
                // An empty line says nothing.
                _ => {}
            }
        }
        if refused && !answered {
            let reply = ErrorReply::new(INVALID_REQUEST, "there are no batches in this revision");
            self.refuse(None, &reply, now_ns);
        } else if rows.len() == 1 && in_batch {
            self.refuse(None, &ErrorReply::new(INVALID_REQUEST, "this batch is empty"), now_ns);
        }
    }

    pub(super) fn end(&mut self) {
        if self.state().ended {
            return;
        }
        self.spoken = Spoken::Nothing;
        self.asked.clear();
        self.subscriptions.clear();
        self.seat.end();
    }

    /// Answers with an error what the user does not hear of. Where no answer would be right, there is none.
    pub(super) fn refuse(&mut self, raw_id: Option<&[u8]>, reply: &ErrorReply, now_ns: u64) {
        let message: Result<_, Misuse> = write::error(raw_id.unwrap_or(b"null"), reply);
        let _ = message.and_then(|message| self.seat.say(message, now_ns));
    }

    fn request_heard(&mut self, heard: &Heard<'_>, now_ns: u64) {
        let Some(raw_id) = heard.usable_id() else {
            let reply = ErrorReply::new(INVALID_REQUEST, "the id is neither a string nor a whole number");
            return self.refuse(None, &reply, now_ns);
        };
        let answer = match self.verdict(heard) {
            Verdict::Initialize(revision) => {
                let answer = write::result(raw_id.as_bytes(), &self.introduction(revision));
                if self.seat.say(answer, now_ns).is_ok() {
                    self.spoken = Spoken::Legacy { revision, ready: false };
                }
                return;
            }
            Verdict::Discover(revision) => self.discovery(revision),
            Verdict::Pong => b"{}".to_vec(),
            Verdict::Listen(revision) => return self.listen(heard, raw_id, revision, now_ns),
            Verdict::Serve { revision, capabilities } => {
                if ASKED_LIMIT <= self.asked.len() {
                    let reply = ErrorReply::new(INTERNAL_ERROR, "too many requests wait already");
                    return self.refuse(Some(raw_id.as_bytes()), &reply, now_ns);
                }
                return self.give_out(heard, raw_id, revision, capabilities);
            }
            Verdict::Refuse(reply) => return self.refuse(Some(raw_id.as_bytes()), &reply, now_ns),
        };
        let _ = self.seat.say(write::result(raw_id.as_bytes(), &answer), now_ns);
    }

    /// The modern era is spoken from here on.
    pub(super) fn settle(&mut self, revision: Revision) {
        if let (Spoken::Nothing, tap_protocol::Era::Modern) = (self.spoken, revision.era()) {
            self.spoken = Spoken::Modern { revision };
            self.seat.push(Output::Opened { revision });
        }
    }

    fn give_out(&mut self, heard: &Heard<'_>, raw_id: &RawId, revision: Revision, capabilities: Option<Kept>) {
        self.settle(revision);
        let name = heard.method();
        let uri = heard.param(&["uri"]).and_then(Node::text);
        let asked = Asked {
            raw_id: raw_id.clone(),
            method: name.into(),
            known: method(name),
            revision,
            capabilities: capabilities.clone(),
            token: heard.param(&["_meta", meta::PROGRESS_TOKEN]).map(|token| RawId::from_token(token.bytes())),
            uri: uri.filter(|_| name.ends_with("subscribe")).map(|uri| uri.as_ref().into()),
        };
        self.asked.insert(heard.row.at, asked);
        self.seat.push(Output::Request(Request {
            request: heard.row.at,
            revision,
            capabilities,
            method: name.into(),
            params: heard.node.get("params").map(|params| heard.keep(params)),
        }));
    }

    fn introduction(&self, revision: Revision) -> Vec<u8> {
        write::Object::new()
            .text("protocolVersion", revision.as_str())
            .member("capabilities", self.options.capabilities.as_bytes())
            .member("serverInfo", &write::implementation(&self.options.implementation, revision))
            .maybe_text("instructions", self.options.instructions.as_deref())
            .done()
    }

    fn discovery(&self, revision: Revision) -> Vec<u8> {
        let result = write::Object::new()
            .text("resultType", "complete")
            .member("supportedVersions", &self.supported())
            .member("capabilities", self.options.capabilities.as_bytes())
            .maybe_text("instructions", self.options.instructions.as_deref());
        self.with_cache_hints(result, Node::new(b"{}")).member("_meta", &self.identity(revision)).done()
    }

    /// How long a result may be kept, unless it says so.
    pub(super) fn with_cache_hints(&self, mut result: write::Object, said: Node<'_>) -> write::Object {
        let scope = match self.options.cache_scope {
            CacheScope::Private => "private",
            CacheScope::Public => "public",
        };
        if said.get("ttlMs").is_none() {
            result = result.member("ttlMs", self.options.ttl_ms.to_string().as_bytes());
        }
        if said.get("cacheScope").is_none() {
            result = result.text("cacheScope", scope);
        }
        result
    }

    /// The `_meta` of a result of the modern era.
    pub(super) fn identity(&self, revision: Revision) -> Vec<u8> {
        let who = write::implementation(&self.options.implementation, revision);
        write::Object::new().member(meta::SERVER_INFO, &who).done()
    }

    fn notification_heard(&mut self, heard: &Heard<'_>, now_ns: u64) {
        match (heard.method(), self.spoken) {
            ("notifications/initialized", Spoken::Legacy { revision, ready: false }) => {
                self.spoken = Spoken::Legacy { revision, ready: true };
                return self.seat.push(Output::Opened { revision });
            }
            ("notifications/initialized", _) => return,
            ("notifications/cancelled", _) => {
                if let Some(id) = heard.param(&["requestId"]) {
                    self.cancelled(id);
                }
                return;
            }
            ("notifications/progress", _) if self.seat.progress(heard, now_ns).is_some() => return,
            _ => {}
        }
        let params = heard.node.get("params").map(|params| heard.keep(params));
        self.seat.push(Output::Notification { method: heard.method().into(), params, call: None });
    }

    fn cancelled(&mut self, id: Node<'_>) {
        let asked = self.asked.iter().find(|(_, asked)| asked.raw_id == RawId::from_token(id.bytes()));
        let listens = self.subscriptions.iter().find(|(_, open)| open.raw_id == RawId::from_token(id.bytes()));
        let request = asked.map(|(at, _)| *at).or_else(|| listens.map(|(at, _)| *at));
        if let Some(request) = request {
            self.asked.remove(&request);
            self.subscriptions.remove(&request);
            self.seat.push(Output::Withdrawn { request });
        }
    }

    fn answer_heard(&mut self, heard: &Heard<'_>) {
        let call = heard.row.pair.and_then(|request| self.seat.calls.of_request(request));
        let (Some(call), Some(outcome)) = (call, heard.outcome()) else {
            return;
        };
        self.seat.calls.take(call);
        let latency_ns = heard.row.latency_ns.unwrap_or_default();
        self.seat.push(Output::Answer { call, outcome, latency_ns });
    }
}

/// Whether what is no message may have been meant as a question, so that somebody may wait for an answer. What looks like
/// an answer is never answered.
fn is_meant_as_request(heard: &Heard<'_>) -> bool {
    let [result, error] = heard.node.pick(["result", "error"]);
    result.is_none() && error.is_none()
}
