//! What HTTP exchanges meant: which session each message belongs to, and what the transport's own rules say.
//!
//! Pure like everything here: an HTTP tap says what it saw, in order, and this module has no sockets and parses no HTTP.
//! A message is followed by the [`Follower`](crate::Follower) of its session; around that, HTTP has rules of its own.
//!
//! Credentials are looked at once, for whether they are there, and never kept.
//!
//! Start reading at [`HttpFollower::follow`], then `http/session.rs` (what a session is) and `http/judge.rs` (the rules).

mod annotations;
mod exchange;
mod guessed;
mod head;
mod judge;
mod mirror;
mod mirrored;
mod opened;
mod response;
mod session;
mod streams;

use std::sync::Arc;

use bytes::Bytes;
use imbl::OrdMap;
use tap_frame::{Act, Frame, HttpEnd, Origin, Stream};
use tap_jsonrpc::SseEvent;

use crate::follow::{Lens, Meaning};
use crate::machine::Found;
use crate::observer::Stamp;
use crate::row::At;
use crate::state::SessionState;

use annotations::Annotations;
use exchange::{Body, Exchange};
use session::Sessions;

pub use annotations::wrong_parameter_headers;
pub use head::Headers;
pub use mirrored::MirroredHeaders;
pub use session::{HTTP_SESSIONS, HttpSession, HttpSessionKind, HttpSessionNumber};

/// Exchanges that can be open at a time. What belongs to more of them is not followed.
pub const HTTP_EXCHANGES: usize = 10_000;

/// When something was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpMoment {
    /// Position among all that was seen of this server, from 1. A message has the number of what carried it.
    pub seq: u64,
    /// Nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Nanoseconds since the recording began, on a clock that never goes back.
    pub at_ns: u64,
}

impl HttpMoment {
    fn at(self) -> At {
        At { seq: self.seq, member: 0 }
    }
}

/// What an HTTP tap sees of one exchange, in this order; `Head`, `Body`, `Event` may be missing.
#[derive(Debug, Clone)]
pub enum HttpEvent<'a> {
    /// The client has sent a request, body and all.
    Opened(HttpRequest<'a>),
    /// The server has begun to answer.
    Head {
        /// The status code.
        status: u16,
        /// The header fields.
        headers: Headers<'a>,
    },
    /// The whole body of an answer that is no event stream, decoded if it was compressed.
    Body(Bytes),
    /// An event of an answer that is an event stream.
    Event(&'a SseEvent),
    /// So many bytes of the exchange passed that were not kept. They may have held messages of any session, if it is not
    /// known which session the exchange belongs to.
    Lost {
        /// Which way they went.
        stream: Stream,
        /// How many.
        n_bytes: u64,
    },
    /// Something was done in the exchange.
    Act {
        /// What, without the bytes.
        act: &'a Act,
        /// The text of the act.
        text: Bytes,
        /// The number of the message that it was done to, if there is one.
        message: Option<u64>,
    },
    /// The exchange is over.
    Ended(HttpEnd),
}

/// A request of HTTP.
#[derive(Debug, Clone)]
pub struct HttpRequest<'a> {
    /// Which connection it came on. Requests on one connection come from one client.
    pub connection: u64,
    /// `POST`, `GET`, …
    pub verb: &'a str,
    /// Path and query.
    pub target: &'a str,
    /// The header fields.
    pub headers: Headers<'a>,
    /// The body, decoded if it was compressed; empty when there was none.
    pub body: Bytes,
}

/// What something meant, in which session.
#[derive(Debug)]
pub struct HttpMeaning {
    /// The session. One that is not among [`HttpFollower::sessions`] was refused.
    pub session: HttpSessionNumber,
    /// What it meant.
    pub meaning: Meaning,
}

/// Follows all exchanges with one server.
///
/// Legacy sessions are told apart by `Mcp-Session-Id`, those of HTTP+SSE by the path that is posted to; the modern era
/// has one session for the server, in which ids are matched within one exchange. Where a legacy server gives no ids to
/// more than one client, it is guessed whose messages are whose: then ids are matched within one exchange there too,
/// [no revision](SessionState::revision) is taken for certain, and nothing is judged by what was said in other exchanges.
/// Exchanges that are not MCP, such as those of OAuth, are passed over.
///
/// A clone costs next to nothing.
#[derive(Debug, Clone, Default)]
pub struct HttpFollower {
    sessions: Sessions,
    exchanges: OrdMap<u64, Arc<Exchange>>,
    /// Paths at which there was MCP.
    paths: imbl::HashSet<Arc<str>>,
    annotations: Annotations,
    /// The server has answered as only a server of the modern era does.
    speaks_modern: bool,
    at_ns: u64,
}

impl HttpFollower {
    /// Follows a server from the first exchange with it.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The sessions that were accepted, in the order in which they were begun.
    pub fn sessions(&self) -> impl Iterator<Item = (HttpSessionNumber, &HttpSession)> {
        self.sessions.iter().filter(|(_, session)| session.accepted)
    }

    /// Their states.
    pub fn states(&self) -> impl Iterator<Item = (HttpSessionNumber, &SessionState)> {
        self.sessions().map(|(number, session)| (number, session.state()))
    }

    /// A session, accepted or not; `None` when there is none with this number any more.
    #[must_use]
    pub fn session(&self, number: HttpSessionNumber) -> Option<&HttpSession> {
        self.sessions.get(number.0)
    }

    /// The sessions that were forgotten since this was asked last, or the newest of them, as they were at last: those that were
    /// never accepted, and those for which there was [no room](HTTP_SESSIONS) any more.
    pub fn take_forgotten(&mut self) -> impl Iterator<Item = (HttpSessionNumber, Arc<HttpSession>)> + use<> {
        self.sessions.take_forgotten().into_iter().map(|(number, session)| (HttpSessionNumber(number), session))
    }

    /// The session that an open exchange belongs to, as far as that is known.
    #[must_use]
    pub fn session_of(&self, exchange: u64) -> Option<HttpSessionNumber> {
        self.exchanges.get(&exchange)?.session.map(HttpSessionNumber)
    }

    /// Takes what was seen next, and appends what it meant. Exchanges have numbers from 1 that are not used twice.
    pub fn follow(
        &mut self,
        moment: HttpMoment,
        exchange: u64,
        event: HttpEvent<'_>,
        lens: &mut Lens,
        meanings: &mut Vec<HttpMeaning>,
    ) {
        self.at_ns = moment.at_ns;
        let mut step = Step { moment, number: exchange, lens, meanings };
        match event {
            HttpEvent::Opened(request) => self.opened(&request, &mut step),
            HttpEvent::Head { status, headers } => self.head(status, headers, &mut step),
            HttpEvent::Body(bytes) => self.body(bytes, &mut step),
            HttpEvent::Event(event) => self.event(event, &mut step),
            HttpEvent::Lost { stream, n_bytes } => self.lost(stream, n_bytes, &mut step),
            HttpEvent::Act { act, text, message } => self.act(act, text, message, &mut step),
            HttpEvent::Ended(end) => return self.ended(end, &mut step),
        }
        if let Some(number) = self.exchanges.get(&exchange).and_then(|exchange| exchange.session) {
            self.sessions.used(number, moment.seq);
        }
    }

    /// Says that nothing will follow: what is missing is missing now.
    pub fn finish(&mut self, meanings: &mut Vec<HttpMeaning>) {
        let at_ns = self.at_ns;
        for exchange in self.exchanges.values() {
            let Some(session) = exchange.session.and_then(|number| self.sessions.get_mut(number)) else {
                continue;
            };
            let mut found = Found::default();
            judge::Judge::new(session, &mut found).left_open(exchange, at_ns);
            for (raw_id, at) in exchange.requests.iter().filter(|_| exchange.is_refused()) {
                session.follower.refuse(exchange.scope, raw_id, *at);
            }
            say(exchange.session, session, found, meanings);
        }
        self.exchanges.clear();
        for number in self.sessions.numbers() {
            let Some(session) = self.sessions.get_mut(number) else {
                continue;
            };
            let mut meaning = Meaning::default();
            session.follower.finish(&mut meaning);
            push(number, meaning, meanings);
        }
    }

    /// Feeds a message to the follower of its session. `scope` is that of its exchange.
    fn message(
        &mut self,
        (session, scope): (u64, u64),
        stream: Stream,
        body: &Body<'_>,
        bytes: Bytes,
        step: &mut Step<'_>,
    ) {
        let Some(this) = self.sessions.get_mut(session) else {
            return;
        };
        let scope = if this.guessed { guessed::scope_of_message(this.state(), scope, stream, body) } else { scope };
        let HttpMoment { seq, wall_ns, at_ns } = step.moment;
        let frame = Frame { seq, wall_ns, at_ns, stream, origin: Origin::Wire, bytes };
        let mut meaning = Meaning::default();
        this.follower.follow_in(scope, &frame, step.lens, &mut meaning);
        if this.guessed {
            guessed::leave_out(&mut this.follower, &mut meaning);
        }
        push(session, meaning, step.meanings);
    }
}

impl HttpFollower {
    /// Of an exchange that belongs to no session, there is nothing to say.
    fn act(&mut self, act: &Act, text: Bytes, message: Option<u64>, step: &mut Step<'_>) {
        let Some(session) = self.exchanges.get(&step.number).and_then(|exchange| exchange.session) else {
            return;
        };
        let Some(this) = self.sessions.get_mut(session) else {
            return;
        };
        let HttpMoment { seq, wall_ns, at_ns } = step.moment;
        let origin = Origin::Act(act.deed);
        let frame = Frame { seq, wall_ns, at_ns, stream: act.sent_on(), origin, bytes: text };
        let stamp = Stamp { scope: scope_of(this, step.number), ..Stamp::of(&frame, 0) };
        // Over HTTP, messages are told by their numbers.
        let act = Act { message: None, ..act.clone() };
        let mut meaning = Meaning::default();
        this.follower.act(&stamp, &frame, &act, message, step.lens, &mut meaning);
        push(session, meaning, step.meanings);
    }

    fn lost(&mut self, stream: Stream, n_bytes: u64, step: &mut Step<'_>) {
        let HttpMoment { seq, wall_ns, at_ns } = step.moment;
        let frame = Frame { seq, wall_ns, at_ns, stream, origin: Origin::Gap(n_bytes), bytes: Bytes::new() };
        let of_exchange = self.exchanges.get(&step.number).and_then(|exchange| exchange.session);
        let sessions = of_exchange.map_or_else(|| self.sessions.numbers(), |number| vec![number]);
        for number in sessions {
            if let Some(session) = self.sessions.get_mut(number).filter(|session| !session.is_over()) {
                // Its row is given by whoever knows what was lost.
                session.follower.follow(&frame, step.lens, &mut Meaning::default());
            }
        }
    }
}

/// One thing that was seen, and where to put what it meant.
struct Step<'a> {
    moment: HttpMoment,
    /// The exchange.
    number: u64,
    lens: &'a mut Lens,
    meanings: &'a mut Vec<HttpMeaning>,
}

/// Which ids live together with those that an exchange asks with, from its beginning to its end.
fn scope_of(session: &HttpSession, exchange: u64) -> u64 {
    if session.is_modern() || session.guessed { exchange } else { 0 }
}

/// Gives out what was found, and counts it as the session's.
fn say(number: Option<u64>, session: &mut HttpSession, found: Found, meanings: &mut Vec<HttpMeaning>) {
    session.follower.count(&found.findings);
    let Some(number) = number else {
        return;
    };
    push(number, Meaning { events: Vec::new(), findings: found.findings, links: found.links }, meanings);
}

/// Puts what one thing meant together, if it is all of one session.
fn push(number: u64, mut meaning: Meaning, meanings: &mut Vec<HttpMeaning>) {
    if meaning.events.is_empty() && meaning.findings.is_empty() && meaning.links.is_empty() {
        return;
    }
    match meanings.last_mut() {
        Some(last) if last.session.0 == number => {
            last.meaning.events.append(&mut meaning.events);
            last.meaning.findings.append(&mut meaning.findings);
            last.meaning.links.append(&mut meaning.links);
        }
        _ => meanings.push(HttpMeaning { session: HttpSessionNumber(number), meaning }),
    }
}

#[cfg(test)]
mod tests;
