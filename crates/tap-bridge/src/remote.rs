//! A stdio host in front of an HTTP server: what is sent when, and what becomes of what comes back.
//!
//! Messages go out in the order in which the host wrote them: none before the one in front of it is on its way, none before
//! a notification in front of it was taken, and none before `initialize` is answered. Beyond that nobody waits: a slow call
//! holds up no other.
//!
//! `remote/exchange.rs` has what is known of one exchange, `remote/outgoing.rs` the requests and their headers,
//! `remote/incoming.rs` what is done with answers, `remote/streams.rs` the streams that the bridge opens itself.
//!
//! Source: MCP 2025-11-25 and 2026-07-28, basic/transports; 2024-11-05, basic/transports, HTTP with SSE.

mod exchange;
mod incoming;
mod outgoing;
mod streams;

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tap_session::MirroredHeaders;

use crate::answer::{error_answer, one_line};
use crate::message::{Incoming, Nature};
use crate::notice::Notice;
use exchange::{Exchange, Purpose, Waiting};
use streams::{Retry, Shape};

/// How long a server may think about a notification while others wait behind it, nanoseconds.
const NOTIFICATION_LIMIT_NS: u64 = 5_000_000_000;

/// How long answers are waited for when the host will say nothing more, nanoseconds. Hosts that want it sooner send a
/// signal after two seconds.
const DRAIN_LIMIT_NS: u64 = 30_000_000_000;

/// How long the rest of what a server answers to a notification is waited for when nothing else is left, nanoseconds: there
/// may be a refusal in it, or something that cannot be passed on, and both are told.
const NOTICE_LIMIT_NS: u64 = 1_000_000_000;

/// How long the server may take to end the session, nanoseconds.
const DELETE_LIMIT_NS: u64 = 1_000_000_000;

/// Which method of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// `POST`
    Post,
    /// `GET`
    Get,
    /// `DELETE`
    Delete,
}

/// A request of HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The method.
    pub verb: Verb,
    /// The whole address.
    pub address: String,
    /// The fields that MCP asks for.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

/// What matters of the head of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// `Content-Type`, without parameters and in lower case.
    pub media_type: String,
    /// `Mcp-Session-Id`.
    pub session_id: Option<String>,
    /// `WWW-Authenticate`.
    pub challenge: Option<String>,
    /// `Location`.
    pub location: Option<String>,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Send this request, and say what becomes of it under this number.
    Send {
        /// The number of the exchange, which is used once.
        exchange: u64,
        /// What to send.
        request: Request,
    },
    /// End the exchange at once; nothing more need be said of it.
    Stop {
        /// Its number.
        exchange: u64,
    },
    /// Write this line to the host. It has its line feed.
    ToHost(Bytes),
    /// Tell the person who looks after this.
    Tell(Notice),
    /// There is nothing left to do.
    Finished,
}

/// How far the end has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    No,
    /// The host says nothing more, and answers are still to come.
    Draining {
        until_ns: u64,
    },
    /// The session is being ended.
    Deleting {
        exchange: u64,
        until_ns: u64,
    },
    Finished,
}

/// An HTTP server as a stdio host sees it.
#[derive(Debug)]
pub struct RemoteServer {
    /// As it was given.
    url: String,
    /// Where messages are posted.
    address: String,
    shape: Shape,
    session: Option<String>,
    /// What `initialize` agreed on.
    revision: Option<String>,
    /// The revision of the newest request of the modern era.
    modern_revision: Option<String>,
    /// What the host wrote and may not go out yet.
    queue: VecDeque<(Incoming, Bytes)>,
    exchanges: BTreeMap<u64, Exchange>,
    n_exchanges: u64,
    /// Streams that are to be opened again.
    retries: Vec<Retry>,
    mirrored: MirroredHeaders,
    actions: VecDeque<Action>,
    ending: Ending,
    now_ns: u64,
}

impl RemoteServer {
    /// The server at an address.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            address: url.to_owned(),
            shape: Shape::Streamable,
            session: None,
            revision: None,
            modern_revision: None,
            queue: VecDeque::new(),
            exchanges: BTreeMap::new(),
            n_exchanges: 0,
            retries: Vec::new(),
            mirrored: MirroredHeaders::default(),
            actions: VecDeque::new(),
            ending: Ending::No,
            now_ns: 0,
        }
    }

    /// What is to be done next. Ask until there is nothing, after each call of another function.
    pub fn poll(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// When [`time`](Self::time) is to be called at the latest, on its clock.
    #[must_use]
    pub fn timeout_ns(&self) -> Option<u64> {
        let of_ending = match self.ending {
            Ending::Draining { until_ns } | Ending::Deleting { until_ns, .. } => Some(until_ns),
            Ending::No | Ending::Finished => None,
        };
        let of_notifications = self.exchanges.values().filter(|exchange| exchange.holds_up_others());
        let of_notifications = of_notifications.map(|exchange| exchange.begun_ns + NOTIFICATION_LIMIT_NS);
        let of_retries = self.retries.iter().map(|retry| retry.at_ns);
        of_ending.into_iter().chain(of_notifications).chain(of_retries).chain(self.opening_limit_ns()).min()
    }

    /// Says what time it is, nanoseconds on a clock that never goes back. Call it before the others.
    pub fn time(&mut self, now_ns: u64) {
        self.now_ns = now_ns;
        let is_due = |retry: &mut Retry| retry.at_ns <= now_ns;
        let due: Vec<Retry> = self.retries.extract_if(.., is_due).collect();
        for retry in due {
            self.open_again(retry);
        }
        if self.opening_limit_ns().is_some_and(|limit_ns| limit_ns <= now_ns) {
            self.opening_failed("it named no endpoint");
        }
        let mut is_late = false;
        for exchange in self.exchanges.values_mut() {
            if exchange.holds_up_others() && exchange.begun_ns + NOTIFICATION_LIMIT_NS <= now_ns {
                exchange.accepted = true;
                is_late = true;
            }
        }
        match self.ending {
            Ending::Draining { until_ns } if until_ns <= now_ns => self.end_session(),
            Ending::Deleting { until_ns, .. } if until_ns <= now_ns => self.finished(),
            _ if is_late => self.pump(),
            _ => {}
        }
    }

    /// A line of the host, whatever it holds.
    pub fn host_line(&mut self, line: &Bytes) {
        let body = one_line(line);
        let incoming = Incoming::read(&body);
        if incoming.nature == Nature::Blank || self.is_cancel_of_modern(&incoming) {
            return;
        }
        self.queue.push_back((incoming, body));
        self.pump();
    }

    /// The host will say nothing more: what it asked is still answered, then the session ends.
    pub fn host_ended(&mut self) {
        if self.ending == Ending::No {
            self.ending = Ending::Draining { until_ns: self.now_ns.saturating_add(DRAIN_LIMIT_NS) };
            self.pump();
        }
    }

    /// The session is to end at once.
    pub fn terminate(&mut self) {
        if matches!(self.ending, Ending::No | Ending::Draining { .. }) {
            self.queue.clear();
            self.end_session();
        }
    }

    /// The body of the exchange's request is on its way.
    pub fn sent(&mut self, number: u64) {
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.sent = true;
            self.pump();
        }
    }

    /// Sends what may go out, and sees whether this was all.
    fn pump(&mut self) {
        while self.may_send() {
            let Some((incoming, body)) = self.queue.pop_front() else {
                break;
            };
            self.post(&incoming, body);
        }
        let is_drained = || self.queue.is_empty() && self.waiting().all(|waiting| waiting.is_listen);
        if matches!(self.ending, Ending::Draining { .. }) && is_drained() {
            let are_taken = !self.exchanges.values().any(Exchange::holds_up_others);
            let are_over = !self.exchanges.values().any(|exchange| exchange.is_notice);
            if are_taken && are_over {
                self.end_session();
            } else if are_taken && let Ending::Draining { until_ns } = &mut self.ending {
                *until_ns = (*until_ns).min(self.now_ns.saturating_add(NOTICE_LIMIT_NS));
            }
        }
    }

    fn may_send(&self) -> bool {
        !matches!(self.shape, Shape::Opening(_))
            && !self.waiting().any(|waiting| waiting.is_initialize)
            && self.exchanges.values().all(|exchange| exchange.sent && !exchange.holds_up_others())
    }

    /// What the host has asked and nobody has answered.
    fn waiting(&self) -> impl Iterator<Item = &Waiting> {
        let of_retries = self.retries.iter().flat_map(|retry| &retry.waiting);
        self.exchanges.values().flat_map(|exchange| &exchange.waiting).chain(of_retries)
    }

    /// How many requests of the host's have no answer yet, and how many bytes of messages have not been sent.
    #[must_use]
    pub fn load(&self) -> (usize, usize) {
        (self.waiting().count(), self.queue.iter().map(|(_, body)| body.len()).sum())
    }

    fn say_to_host(&mut self, message: &[u8]) {
        let mut line = Vec::with_capacity(message.len() + 1);
        line.extend_from_slice(message);
        line.push(b'\n');
        self.actions.push_back(Action::ToHost(line.into()));
    }

    fn tell(&mut self, notice: Notice) {
        self.actions.push_back(Action::Tell(notice));
    }

    /// Tells the host that nobody will answer.
    fn fail(&mut self, waiting: Vec<Waiting>, cause: &str) {
        for waiting in waiting.into_iter().filter(|waiting| !waiting.cancelled && !waiting.id.is_null()) {
            self.say_to_host(&error_answer(waiting.id.as_bytes(), cause));
        }
    }

    /// Cancelling is closing the stream, in the modern era. True if that is what the host asked for.
    fn is_cancel_of_modern(&mut self, incoming: &Incoming) -> bool {
        let Some(id) = incoming.only().and_then(|message| message.cancelled()) else {
            return false;
        };
        let asks =
            |incoming: &Incoming| incoming.is_modern_request() && incoming.requests().any(|(_, asked)| *asked == id);
        if let Some(index) = self.queue.iter().position(|(incoming, _)| asks(incoming)) {
            self.queue.remove(index);
            return true;
        }
        let asked = |exchange: &Exchange| exchange.waiting.iter().any(|waiting| waiting.id == id);
        let Some((&number, exchange)) = self.exchanges.iter_mut().find(|(_, exchange)| asked(exchange)) else {
            // It was answered meanwhile; in the modern era nobody is to be told.
            return self.revision.is_none() && self.modern_revision.is_some();
        };
        if exchange.is_modern {
            self.exchanges.remove(&number);
            self.actions.push_back(Action::Stop { exchange: number });
            self.pump();
            return true;
        }
        for waiting in exchange.waiting.iter_mut().filter(|waiting| waiting.id == id) {
            waiting.cancelled = true;
        }
        false
    }

    fn end_session(&mut self) {
        self.retries.clear();
        for number in std::mem::take(&mut self.exchanges).into_keys() {
            self.actions.push_back(Action::Stop { exchange: number });
        }
        match (&self.shape, self.session.take()) {
            (Shape::Streamable, Some(session)) => {
                let headers = self.session_headers(Some(&session));
                let exchange = self.send(Verb::Delete, headers, Bytes::new(), Purpose::Delete);
                self.ending = Ending::Deleting { exchange, until_ns: self.now_ns.saturating_add(DELETE_LIMIT_NS) };
            }
            _ => self.finished(),
        }
    }

    fn finished(&mut self) {
        if self.ending != Ending::Finished {
            self.ending = Ending::Finished;
            self.actions.push_back(Action::Finished);
        }
    }
}

#[cfg(test)]
mod tests;
