//! What comes back in an exchange: head, body or events, and the end.

use std::sync::Arc;

use bytes::Bytes;
use tap_frame::Stream;
use tap_jsonrpc::{Node, SseEvent};
use tap_protocol::Side;

use super::exchange::{Body, Exchange, Verb};
use super::head::{Headers, resolved};
use super::judge::{Answered, Judge};
use super::session::{Gone, HttpSession, HttpSessionKind};
use super::streams::{EventId, Known};
use super::{HttpEnd, HttpFollower, Step, say, scope_of};
use crate::machine::{Found, Link, LinkKind};
use crate::row::At;

/// URIs of endpoints that are longer are not followed, bytes.
const URI_BYTES: usize = 8 * 1024;

impl HttpFollower {
    pub(super) fn head(&mut self, status: u16, headers: Headers<'_>, step: &mut Step<'_>) {
        let Some(exchange) = self.exchanges.get_mut(&step.number).map(Arc::make_mut) else {
            return;
        };
        exchange.status = Some(status);
        exchange.is_sse = headers.is_of_type("text/event-stream");
        exchange.is_json = headers.media_type().is_some_and(|media_type| {
            media_type.eq_ignore_ascii_case("application/json") || media_type.ends_with("+json")
        });
        if exchange.verb == Verb::Get && !exchange.is_sse {
            // It begins no stream of 2024-11-05. Without a session of its own it belongs to what is posted there.
            let known = || {
                let number = self.sessions.without_id(exchange.connection)?;
                let session = self.sessions.get(number)?;
                (session.path == exchange.path).then_some(number)
            };
            if exchange.session.is_none()
                && let Some(number) = known()
            {
                exchange.session = Some(number);
                self.sessions.opened_in(number);
            }
        }
        let Some(number) = exchange.session else {
            return;
        };
        let at = step.moment.at();
        if exchange.is_accepted() && exchange.verb != Verb::Delete {
            self.sessions.accept(number, headers.text("mcp-session-id"));
        }
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        let mut found = Found::default();
        Judge::new(session, &mut found).head(exchange, status, headers, at);
        if exchange.is_accepted() && exchange.has_credentials {
            session.authorized = Some(exchange.connection);
        }
        if session.accepted {
            known_or_gone(session, exchange, status, step, &mut found);
        }
        if exchange.verb == Verb::Get && exchange.resumes && exchange.is_accepted() {
            session.follower.state_mut().resumed = true;
        }
        let ends = exchange.verb == Verb::Delete && exchange.is_accepted() && !session.is_modern();
        say(Some(number), session, found, step.meanings);
        if ends && session.ended.is_none() {
            session.ended = Some(at);
            let mut meaning = crate::follow::Meaning::default();
            session.follower.finish(&mut meaning);
            super::push(number, meaning, step.meanings);
        }
    }

    pub(super) fn body(&mut self, bytes: Bytes, step: &mut Step<'_>) {
        let Some(exchange) = self.exchanges.get(&step.number).cloned() else {
            return;
        };
        let Some(number) = exchange.session.filter(|_| !bytes.is_empty() && !exchange.is_sse) else {
            return;
        };
        let body = Body::of(&bytes);
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        if let HttpSessionKind::Endpoint(_) = session.kind {
            // Answers come on the stream; this says at most why a message was refused.
            return;
        }
        let mut found = Found::default();
        let at = step.moment.at();
        let answered = Answered { body: &body, at };
        Judge::new(session, &mut found).body(&exchange, bytes.len(), &answered);
        self.answered(&exchange, &answered, &mut found);
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        let code = body.error.and_then(|error| error.get("code")?.as_i64());
        if code == Some(tap_protocol::METHOD_NOT_FOUND) && session.gone.is_some_and(|gone| gone.exchange == step.number)
        {
            // Such a 404 is about the method, not about the session.
            session.gone = None;
        }
        say(Some(number), session, found, step.meanings);
        let is_answer = exchange.verb == Verb::Post && exchange.is_accepted() && !exchange.requests.is_empty();
        if body.is_rpc || (is_answer && exchange.is_json) {
            self.message((number, exchange.scope), Stream::ToClient, &body, bytes.clone(), step);
        }
    }

    /// What an answer of the modern era says of headers and statuses, wherever it came.
    fn answered(&mut self, exchange: &Exchange, answered: &Answered<'_, '_>, found: &mut Found) {
        let Some(number) = exchange.session else {
            return;
        };
        let body = answered.body;
        let Some(session) = self.sessions.get_mut(number).filter(|session| session.is_modern()) else {
            return;
        };
        self.speaks_modern |=
            exchange.is_accepted() && body.result.is_some_and(|result| result.get("resultType").is_some());
        let code = body.error.and_then(|error| error.get("code")?.as_i64());
        // Errors that only a server of the modern era gives.
        session.accepted |= matches!(code, Some(-32022..=-32020));
        Judge::new(session, found).modern_answer(exchange, answered, self.speaks_modern);
        if exchange.method.as_deref() == Some("tools/list")
            && let Some(result) = body.result
        {
            let problems = self.annotations.listed(result, self.at_ns);
            Judge::new(session, found).annotations(&problems, answered.at);
        }
    }

    pub(super) fn event(&mut self, event: &SseEvent, step: &mut Step<'_>) {
        let Some(mut exchange) = self.exchanges.get(&step.number).cloned() else {
            return;
        };
        let this = Arc::make_mut(&mut exchange);
        this.stream.n_events += u64::from(event.data.is_some());
        this.stream.retry_ms = event.retry_ms.or(this.stream.retry_ms);
        if let Some(id) = &event.id {
            this.stream.last_event_id = Some(EventId::of(id));
        }
        let data = event.data.clone().unwrap_or_default();
        let mut found = Found::default();
        if event.name() == b"endpoint" && this.verb == Verb::Get {
            self.endpoint(this, &data, &mut found, step);
        } else {
            self.sent(this, event, data, &mut found, step);
        }
        // The end of a stream that nothing has come on is judged too.
        if self.exchanges.contains_key(&step.number) {
            self.exchanges.insert(step.number, exchange);
        }
    }

    /// The event with which a stream of 2024-11-05 begins.
    fn endpoint(&mut self, exchange: &mut Exchange, data: &Bytes, found: &mut Found, step: &mut Step<'_>) {
        let known = exchange.session.and_then(|number| self.sessions.get(number));
        let uri = std::str::from_utf8(data).unwrap_or_default();
        if URI_BYTES < uri.len()
            || known.is_some_and(|session| {
                matches!(session.kind, HttpSessionKind::Assigned(_) | HttpSessionKind::Endpoint(_))
            })
        {
            return;
        }
        if let Some((number, known)) = exchange.session.zip(known)
            && known.began == exchange.opened
        {
            // Begun for this exchange, which was taken for one without the id of its session.
            self.sessions.forget(number);
        }
        let uri: Arc<str> = resolved(&exchange.path, uri).into();
        let path = exchange.path.clone();
        if let Some(session) = exchange.session.and_then(|number| self.sessions.get_mut(number)) {
            session.n_open = session.n_open.saturating_sub(1);
        }
        let number = self.sessions.begin(HttpSessionKind::Endpoint(uri), exchange.opened, path, true);
        exchange.session = Some(number);
        self.sessions.opened_in(number);
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        Judge::new(session, found).endpoint(exchange, step.moment.at());
        say(Some(number), session, std::mem::take(found), step.meanings);
    }

    /// An event that is not the first one of 2024-11-05.
    fn sent(&mut self, exchange: &mut Exchange, event: &SseEvent, data: Bytes, found: &mut Found, step: &mut Step<'_>) {
        let body = Body::of(&data);
        let at = step.moment.at();
        if exchange.session.is_none() && body.is_rpc {
            let number = self.sessions.without_id(exchange.connection).unwrap_or_else(|| {
                let path = exchange.path.clone();
                let number = self.sessions.begin(HttpSessionKind::Unassigned, exchange.opened, path, false);
                self.sessions.accept(number, None);
                number
            });
            exchange.session = Some(number);
            self.sessions.opened_in(number);
            exchange.scope = self.sessions.get(number).map_or(0, |session| scope_of(session, step.number));
        }
        let Some(number) = exchange.session else {
            return;
        };
        let answered = Answered { body: &body, at };
        self.answered(exchange, &answered, found);
        let Some(session) = self.sessions.get_mut(number) else {
            return;
        };
        let mut is_new = true;
        if let (Some(id), false) = (&event.id, session.is_modern() || session.guessed) {
            let known = session.streams.event(EventId::of(id), &data, at, step.number);
            match known {
                Known::Again(sent) if !sent.is_empty => {
                    is_new = false;
                    found.links.push(Link { from: at, to: sent.at, kind: LinkKind::Redelivered });
                }
                Known::New | Known::Again(_) | Known::Other(_) => {}
            }
            Judge::new(session, found).event_id(exchange, id, known, step.number, at);
        }
        let mut judge = Judge::new(session, found);
        if event.id.is_some() {
            judge.event_id_on_modern(at);
        }
        let is_message = event.data.is_some() && !data.is_empty();
        if is_message && is_new {
            is_new = judge.sent(exchange, event, &answered, &data, step.number);
        }
        let answers = body.result.is_some() || body.error.is_some();
        if answers {
            exchange.stream.answered = Some((at, step.moment.at_ns));
        }
        say(Some(number), session, std::mem::take(found), step.meanings);
        let for_client = event.name() == b"message" || body.is_rpc;
        if is_message && is_new && for_client {
            self.message((number, exchange.scope), Stream::ToClient, &body, data.clone(), step);
        }
    }

    pub(super) fn ended(&mut self, end: HttpEnd, step: &mut Step<'_>) {
        let Some(exchange) = self.exchanges.remove(&step.number) else {
            return;
        };
        let at = step.moment.at();
        let Some((number, session)) =
            exchange.session.and_then(|number| Some((number, self.sessions.get_mut(number)?)))
        else {
            return;
        };
        let mut found = Found::default();
        Judge::new(session, &mut found).ended(&exchange, end, at, step.moment.at_ns);
        if let (Some(id), Some(retry_ms), true) =
            (exchange.stream.last_event_id, exchange.stream.retry_ms, end != HttpEnd::ByClient)
        {
            session.streams.stream_ended(id, retry_ms, step.moment.at_ns, at);
        }
        for (raw_id, asked_at) in &exchange.requests {
            if exchange.is_refused() {
                session.follower.refuse(exchange.scope, raw_id, *asked_at);
            } else if exchange.scope != 0 {
                let by = if end == HttpEnd::ByClient { Side::Client } else { Side::Server };
                session.follower.drop_call(exchange.scope, raw_id, *asked_at, at, by);
            }
        }
        say(Some(number), session, found, step.meanings);
        let is_stream_of_endpoint = matches!(session.kind, HttpSessionKind::Endpoint(_)) && exchange.verb == Verb::Get;
        if is_stream_of_endpoint && session.ended.is_none() {
            session.ended = Some(at);
            let mut meaning = crate::follow::Meaning::default();
            session.follower.finish(&mut meaning);
            super::push(number, meaning, step.meanings);
        }
        session.n_open = session.n_open.saturating_sub(1);
        // What another exchange of it is told may still show that the server knows it.
        if !session.accepted && !session.is_modern() && session.n_open == 0 {
            self.sessions.forget(number);
        }
    }
}

/// What a status says of whether the server knows a session.
fn known_or_gone(session: &mut HttpSession, exchange: &Exchange, status: u16, step: &Step<'_>, found: &mut Found) {
    let at = step.moment.at();
    match exchange.verb {
        // A server that has no GET answers it like this too, and so it says nothing yet.
        Verb::Get if status == 404 && session.is_streamable() && session.gone.is_none() => match session.kind {
            HttpSessionKind::Assigned(_) => session.get_not_found = session.get_not_found.or(Some(at)),
            _ => Judge::new(session, found).get_not_found(at),
        },
        Verb::Post if status == 404 && matches!(session.kind, HttpSessionKind::Assigned(_)) => {
            session.get_not_found = None;
            let (connection, at_ns) = (exchange.connection, step.moment.at_ns);
            session.gone.get_or_insert(Gone { at, at_ns, connection, exchange: step.number });
        }
        Verb::Post | Verb::Get if exchange.is_accepted() => {
            let is_later = |earlier: At| earlier < exchange.opened;
            session.gone = session.gone.filter(|gone| !is_later(gone.at));
            if exchange.verb == Verb::Post
                && let Some(at) = session.get_not_found.take_if(|at| is_later(*at))
            {
                Judge::new(session, found).get_not_found(at);
            }
        }
        Verb::Post | Verb::Get | Verb::Delete => {}
    }
}

/// The id of a message, if it is worth pairing.
pub(super) fn id_of(node: Node<'_>) -> Option<tap_jsonrpc::RawId> {
    let id = node.get("id").filter(|id| !id.is_null())?;
    Some(tap_jsonrpc::RawId::from_token(id.bytes()))
}
