//! The rules of HTTP: what is judged of a request, an answer, an event and an end. `judge/modern.rs` has the modern era's.
//!
//! Source: MCP basic/transports of each revision; 2026-07-28, basic/transports/streamable-http.

mod modern;

use std::sync::Arc;

use bytes::Bytes;
use tap_frame::Direction;
use tap_jsonrpc::SseEvent;
use tap_protocol::{Revision, Revisions, Side, meta};

use super::HttpEnd;
use super::exchange::{Body, Exchange, Verb};
use super::head::{Acceptance, Headers, has_token_in_query};
use super::response::id_of;
use super::session::{HttpSession, HttpSessionKind};
use super::streams::{EventId, Known};
use super::{HttpRequest, head};
use crate::machine::{Found, Out};
use crate::row::At;
use crate::rule::{Finding, Rule, Severity, quoted, quoted_bytes};
use crate::rules::progress::SRV_001;
use crate::rules::{framing, http as rule, http_modern};
use crate::state::Call;

/// After this long a client has surely read an answer that passed here, nanoseconds. An earlier request may have crossed it.
const CROSSING_NS: u64 = 2_000_000_000;

/// How long a stream may stay open after the last answer on it, nanoseconds.
const CLOSING_NS: u64 = 5_000_000_000;

/// Requests in flight among which one of the client is looked for.
const SEARCHED_CALLS: usize = 1_000;

/// By how much a clock may be early when it waits for a stream to be resumed, milliseconds.
const EARLY_MS: u64 = 20;

/// A request of HTTP that was opened.
pub(super) struct Asked<'a, 'b> {
    pub(super) request: &'a HttpRequest<'b>,
    pub(super) body: &'a Body<'a>,
    pub(super) at: At,
    pub(super) at_ns: u64,
}

/// A message of the server.
pub(super) struct Answered<'a, 'b> {
    pub(super) body: &'a Body<'b>,
    pub(super) at: At,
}

/// Judges what passes in one session.
pub(super) struct Judge<'a> {
    session: &'a mut HttpSession,
    out: Out<'a>,
    revisions: Revisions,
}

impl<'a> Judge<'a> {
    pub(super) fn new(session: &'a mut HttpSession, found: &'a mut Found) -> Self {
        let revisions = session.revisions();
        let whole = session.state().whole;
        Self { session, out: Out::new(found, whole), revisions }
    }

    fn find(&mut self, rule: &'static Rule, at: At, by: Side, detail: impl Into<String>) -> Option<&mut Finding> {
        self.out.find_at(rule, self.revisions, at, by, detail)
    }

    /// The same, once a session: what is wrong with every message of a peer is not told with each.
    fn find_once(&mut self, rule: &'static Rule, at: At, by: Side, detail: impl Into<String>) -> Option<&mut Finding> {
        if !self.session.follower.state_mut().first_time(rule.id) {
            return None;
        }
        self.find(rule, at, by, detail)
    }

    /// The call that a request of an exchange still is.
    fn waiting(&self, exchange: &Exchange) -> Vec<Arc<Call>> {
        let state = self.session.state();
        let calls = exchange.requests.iter().filter_map(|(raw_id, at)| {
            state.call(exchange.scope, Direction::ToServer, raw_id).filter(|call| call.at == *at).cloned()
        });
        calls.collect()
    }

    /// What holds of every request, whatever its era.
    pub(super) fn request(&mut self, asked: &Asked<'_, '_>, verb: Verb) {
        let (at, headers) = (asked.at, asked.request.headers);
        if has_token_in_query(asked.request.target) {
            self.find(&rule::HTT_030, at, Side::Client, "`access_token` is in the query");
        }
        // Many clients share what the modern era has for a session.
        let is_of_one = !self.session.is_modern() && !self.session.guessed;
        let same_client = |connection| is_of_one || connection == asked.request.connection;
        if self.session.authorized.is_some_and(same_client) && !headers.has("authorization") {
            self.find_once(&rule::HTT_031, at, Side::Client, "an earlier request of the session had it");
        }
        let accepts = |wanted: &'static str| (wanted, headers.accepts(wanted));
        let wanted = match verb {
            Verb::Post => vec![accepts("application/json"), accepts("text/event-stream")],
            Verb::Get if !self.session.is_modern() => vec![accepts("text/event-stream")],
            Verb::Get | Verb::Delete => Vec::new(),
        };
        let missing = wanted.iter().filter(|(_, acceptance)| *acceptance != Acceptance::Listed);
        let missing: Vec<&str> = missing.map(|(wanted, _)| *wanted).collect();
        if !missing.is_empty() {
            let by_wildcard = wanted.iter().all(|(_, acceptance)| *acceptance != Acceptance::No);
            let detail = match (headers.has("accept"), by_wildcard) {
                (false, _) => "there is none".into(),
                (true, true) => format!("{} only by a wildcard", missing.join(" and ")),
                (true, false) => format!("it lacks {}", missing.join(" and ")),
            };
            if let Some(finding) = self.find(&rule::HTT_001, at, Side::Client, detail)
                && by_wildcard
            {
                finding.severity = Severity::Warning;
            }
        }
        if verb != Verb::Post {
            return;
        }
        if !headers.is_of_type("application/json") {
            let named = headers.media_type().map_or_else(|| "none".into(), quoted);
            self.find(&rule::HTT_002, at, Side::Client, format!("Content-Type of the request: {named}"));
        }
        if asked.body.node.is_array() {
            let n_messages = asked.body.node.elements().take(1_000).count();
            self.find(&rule::HTT_028, at, Side::Client, format!("an array of {n_messages}"));
        }
    }

    /// A request without the id that the server gave to a session of other revisions.
    pub(super) fn session_missing(&mut self, asked: &Asked<'_, '_>, revisions: Revisions, certain: bool) {
        let detail = match certain {
            true => "the server gave one to the session on this connection",
            false => "the server gave one to the only session",
        };
        if let Some(finding) = self.out.find_at(&rule::HTT_011, revisions, asked.at, Side::Client, detail)
            && !certain
        {
            finding.severity = Severity::Warning;
        }
    }

    /// A message for an endpoint that went somewhere else.
    pub(super) fn posted_elsewhere(&mut self, asked: &Asked<'_, '_>, uri: &str) {
        let revisions = Revisions::only(Revision::V2024_11_05);
        let path = |target: &str| quoted(&head::shown_path(target));
        let detail = format!("posted to {}, and the endpoint is {}", path(asked.request.target), path(uri));
        self.out.find_at(&rule::SSE_002, revisions, asked.at, Side::Client, detail);
    }

    /// What holds of requests in the legacy era.
    pub(super) fn legacy_request(&mut self, asked: &Asked<'_, '_>, exchange: &mut Exchange) {
        if !self.session.is_streamable() {
            return;
        }
        let (at, headers) = (asked.at, asked.request.headers);
        self.version_header(asked);
        if let Some(gone) = self.session.gone
            && exchange.verb != Verb::Delete
            && (gone.connection == exchange.connection || gone.at_ns.saturating_add(CROSSING_NS) < asked.at_ns)
        {
            exchange.after_gone = Some(gone.at);
        }
        if exchange.resumes
            && let Some(id) = headers.get("last-event-id")
            && let Some((ended, retry_ms, waited_ms)) = self.session.streams.resumed(EventId::of(id), asked.at_ns)
            && waited_ms.saturating_add(EARLY_MS) < retry_ms
        {
            let detail = format!("came again after {waited_ms} ms, and `retry` says {retry_ms}");
            if let Some(finding) = self.find(&rule::HTT_023, at, Side::Client, detail) {
                finding.others.push(ended);
            }
        }
    }

    /// The version header of the legacy era, in a session whose revision is known.
    fn version_header(&mut self, asked: &Asked<'_, '_>) {
        let Some(revision) = self.session.state().revision_text.clone() else {
            return;
        };
        match asked.request.headers.text("mcp-protocol-version") {
            Some(named) if named == &*revision => {}
            Some(named) => {
                let detail = format!("it says {}, and {revision} was agreed", quoted(named));
                self.find(&rule::HTT_004, asked.at, Side::Client, detail);
            }
            None => {
                // Without an id it is not certain that the request is of this session.
                let certain = matches!(self.session.kind, HttpSessionKind::Assigned(_));
                let detail = format!("{revision} was agreed");
                if let Some(finding) = self.find(&rule::HTT_003, asked.at, Side::Client, detail)
                    && !certain
                {
                    finding.severity = Severity::Warning;
                }
            }
        }
    }

    /// Status and headers of an answer.
    pub(super) fn head(&mut self, exchange: &Exchange, status: u16, headers: Headers<'_>, at: At) {
        let server = Side::Server;
        self.after_gone(exchange);
        if exchange.foreign_origin && status != 403 {
            self.find_once(&rule::HTT_029, at, server, format!("answered with {status}"));
        }
        if self.session.is_modern() {
            self.modern_head(exchange, status, headers, at);
        } else if self.session.is_streamable() {
            self.legacy_head(exchange, status, headers, at);
        } else {
            return;
        }
        if exchange.verb != Verb::Post || !exchange.is_accepted() {
            return;
        }
        let asks = !exchange.requests.is_empty();
        if asks && status == 202 {
            self.find(&rule::HTT_016, at, server, exchange.method.as_deref().map_or_else(String::new, quoted));
        } else if asks && status != 204 && !exchange.is_sse && !exchange.is_json {
            let named = headers.media_type().map_or_else(|| "none".into(), quoted);
            self.find(&rule::HTT_002, at, server, format!("Content-Type of the answer: {named}"));
        }
        if exchange.only_others && status != 202 {
            self.find(&rule::HTT_015, at, server, format!("status {status}"));
        }
    }

    /// A client that went on after a 404. Whether the session was really over is shown by how the server took it.
    fn after_gone(&mut self, exchange: &Exchange) {
        let Some(gone) = exchange.after_gone else {
            return;
        };
        let detail = match exchange.is_accepted() {
            true => "the server answered it with 404 before, and knows it again",
            false => "the server answered it with 404 before",
        };
        if let Some(finding) = self.find(&rule::HTT_013, exchange.opened, Side::Client, detail) {
            finding.others.push(gone);
            if exchange.is_accepted() {
                finding.severity = Severity::Warning;
            }
        }
    }

    /// A GET that was answered with 404 in a session that goes on.
    pub(super) fn get_not_found(&mut self, at: At) {
        self.find_once(&rule::HTT_017, at, Side::Server, "status 404, and POST works");
    }

    fn legacy_head(&mut self, exchange: &Exchange, status: u16, headers: Headers<'_>, at: At) {
        if !exchange.is_accepted() {
            return;
        }
        // Whoever knows an id can use the session: no more of it is told than what is wrong.
        let wrong =
            headers.get("mcp-session-id").into_iter().flatten().zip(1_u64..).find(|(byte, _)| !byte.is_ascii_graphic());
        if let Some((byte, position)) = wrong {
            self.find_once(&rule::HTT_012, at, Side::Server, format!("byte 0x{byte:02X} at position {position}"));
        }
        if exchange.verb == Verb::Get && !exchange.is_sse {
            let named = headers.media_type().map_or_else(|| "no type".into(), quoted);
            self.find(&rule::HTT_017, at, Side::Server, format!("status {status}, {named}"));
        }
    }

    /// A body that is no event stream.
    pub(super) fn body(&mut self, exchange: &Exchange, n_bytes: usize, answered: &Answered<'_, '_>) {
        if exchange.only_others && exchange.status == Some(202) {
            self.find(&rule::HTT_015, answered.at, Side::Server, format!("a body of {n_bytes} bytes"));
        }
    }

    /// A stream of 2024-11-05 says where to post.
    pub(super) fn endpoint(&mut self, exchange: &Exchange, at: At) {
        if 1 < exchange.stream.n_events {
            let detail = format!("{} events came before it", exchange.stream.n_events - 1);
            self.find(&rule::SSE_001, at, Side::Server, detail);
        }
    }

    /// An event with an id.
    pub(super) fn event_id(&mut self, exchange: &Exchange, id: &Bytes, known: Known, number: u64, at: At) {
        let (sent, detail) = match known {
            Known::New => return,
            // What only says where to resume, and says it again, harms nobody.
            Known::Again(sent) if exchange.resumes || sent.is_empty => return,
            Known::Again(sent) if sent.exchange == number => (sent, "twice on one stream"),
            Known::Again(sent) => (sent, "on two streams, of which this one was not resumed"),
            Known::Other(sent) => (sent, "for another event"),
        };
        let detail = format!("{} {detail}", quoted_bytes(id));
        if let Some(finding) = self.find(&rule::HTT_021, at, Side::Server, detail) {
            finding.others.push(sent.at);
        }
    }

    /// A message on an event stream. Tells whether it is one for the session: what was sent before is not.
    pub(super) fn sent(
        &mut self,
        exchange: &Exchange,
        event: &SseEvent,
        answered: &Answered<'_, '_>,
        data: &Bytes,
        number: u64,
    ) -> bool {
        let (body, at) = (answered.body, answered.at);
        if matches!(self.session.kind, HttpSessionKind::Endpoint(_)) {
            if body.is_rpc && event.name() != b"message" {
                let name = quoted_bytes(event.name());
                self.find(&rule::SSE_003, at, Side::Server, format!("in an event {name}"));
            }
            return true;
        }
        if !self.session.is_streamable() {
            return true;
        }
        let answers = body.result.is_some() || body.error.is_some();
        if answers && exchange.verb == Verb::Get && !exchange.resumes {
            self.find(&rule::HTT_019, at, Side::Server, "");
        }
        self.asked_outside(exchange, body, at);
        if self.session.guessed {
            return true;
        }
        let raw_id = id_of(body.node);
        let waits = |raw_id| self.session.state().call(0, Direction::ToServer, raw_id).is_some();
        let may_come_twice = match (&raw_id, answers) {
            (None, _) => true,
            (Some(raw_id), true) => body.error.is_some() || waits(raw_id),
            (Some(_), false) => body.method.is_none(),
        };
        let before = self.session.streams.message(data, at, number);
        let Some(before) = before.filter(|_| !may_come_twice) else {
            return true;
        };
        // Without ids of events nobody can tell what was sent again on purpose.
        if exchange.resumes {
            return true;
        }
        if let Some(finding) = self.find(&rule::HTT_020, at, Side::Server, "the same message") {
            finding.others.push(before.at);
        }
        false
    }

    /// A request of the server that only makes sense while it works on one of the client's, on a stream that is of none.
    /// Where nothing of the client is in flight the machine says so already.
    fn asked_outside(&mut self, exchange: &Exchange, body: &Body<'_>, at: At) {
        let method = body.method.as_deref().unwrap_or_default();
        let nested = matches!(method, "sampling/createMessage" | "elicitation/create" | "roots/list");
        if !nested || body.requests.is_empty() || exchange.verb != Verb::Get || exchange.resumes {
            return;
        }
        let of_a_task = body.params.is_some_and(|params| params.at(&["_meta", meta::RELATED_TASK]).is_some());
        let in_flight = self.session.state().in_flight.keys();
        let client_waits = in_flight.take(SEARCHED_CALLS).any(|(_, direction, _)| *direction == Direction::ToServer);
        if client_waits && !of_a_task {
            self.find(&SRV_001, at, Side::Server, format!("{} on the stream of a GET", quoted(method)));
        }
    }

    /// The end of an exchange, before its requests are given up.
    pub(super) fn ended(&mut self, exchange: &Exchange, end: HttpEnd, at: At, at_ns: u64) {
        self.left_open(exchange, at_ns);
        if exchange.verb != Verb::Post
            || exchange.is_refused()
            || matches!(self.session.kind, HttpSessionKind::Endpoint(_))
        {
            return;
        }
        for call in self.waiting(exchange) {
            let name = call
                .target
                .as_deref()
                .map_or_else(|| quoted(&call.method), |target| format!("{} {}", call.method, quoted(target)));
            let found = match (end, self.session.is_modern()) {
                (HttpEnd::ByClient, false) if call.cancelled.is_none() && !self.session.guessed => {
                    self.find(&rule::CAN_010, at, Side::Client, name)
                }
                // In the modern era this is how a request is cancelled.
                (HttpEnd::ByClient, _) => None,
                _ if call.cancelled.is_some() || &*call.method == "subscriptions/listen" => None,
                (HttpEnd::Whole | HttpEnd::ByServer, _) if exchange.is_sse => {
                    let resumable = exchange.stream.last_event_id.is_some();
                    let detail = format!("{name}{}", if resumable { "; it can be resumed" } else { "" });
                    let mut finding = self.find(&rule::HTT_024, at, Side::Server, detail);
                    // Without an id there is nothing to resume from.
                    if let Some(finding) = &mut finding
                        && finding.severity == Severity::Note
                        && !resumable
                    {
                        finding.severity = Severity::Warning;
                    }
                    finding
                }
                (HttpEnd::Whole | HttpEnd::ByServer, true) => {
                    self.out.find_at(&framing::RPC_020, self.revisions, call.at, Side::Server, name)
                }
                (HttpEnd::Whole | HttpEnd::ByServer, false) => None,
            };
            if let Some(finding) = found
                && finding.at != call.at
            {
                finding.others.push(call.at);
            }
        }
    }

    /// Whether a stream stayed open although all was said.
    pub(super) fn left_open(&mut self, exchange: &Exchange, at_ns: u64) {
        let is_for_one = exchange.verb == Verb::Post && exchange.requests.len() == 1;
        if let Some((answer, answered_ns)) = exchange.stream.answered
            && is_for_one
            && answered_ns.saturating_add(CLOSING_NS) <= at_ns
        {
            let seconds = (at_ns - answered_ns) / 1_000_000_000;
            self.find(&rule::HTT_025, answer, Side::Server, format!("for {seconds} s after the answer"));
        }
    }
}
