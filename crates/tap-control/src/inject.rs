//! Messages that a person sends into a session. Their ids cannot be those of the two sides, and the other side never sees
//! the answers.

use std::collections::HashMap;

use bytes::Bytes;
use tap_frame::{Act, Deed, Direction};
use tap_jsonrpc::{Content, Kind, Node, RawId, Scanned, scan};

use crate::calls::{Message, What, watch};
use crate::debugger::{Debugger, stream};
use crate::edit::{compact, set};
use crate::make;
use crate::rule::Step;
use crate::told::{CommandError, Event, Order};

/// How long an answer is waited for when nothing else is said, nanoseconds.
pub const CALL_LIMIT_NS: u64 = 60_000_000_000;

/// Requests of ours that can be under way.
const INJECTED_LIMIT: usize = 1_000;

/// A request that was sent from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Ticket(pub u64);

/// What came of a request of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answered {
    /// Its progress, as it came; the answer follows.
    Progress(Bytes),
    /// The answer as it came, and how long it took, nanoseconds.
    Answer(Bytes, u64),
    /// It took too long. It was cancelled, and what comes of it is kept from the other side all the same.
    TooLate,
    /// The side that was asked has ended.
    Ended,
}

#[derive(Debug)]
struct Injected {
    ticket: Ticket,
    direction: Direction,
    sent_ns: u64,
    /// When it is given up; `None` once it was.
    until_ns: Option<u64>,
    by: String,
}

/// Requests of ours that are under way, by id.
#[derive(Debug, Default)]
pub(crate) struct Injections {
    waiting: HashMap<RawId, Injected>,
    n_sent: u64,
}

impl Injections {
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    pub(crate) fn next_ns(&self) -> Option<u64> {
        self.waiting.values().filter_map(|injected| injected.until_ns).min()
    }
}

impl Debugger {
    /// Sends a message in this direction. A request gets an id of ours, whatever id it has, and a ticket by which its
    /// answer is told; its progress token, if it has one, becomes ours too.
    ///
    /// # Errors
    ///
    /// When it is no message, or nothing can be sent that way any more.
    pub fn inject(
        &mut self,
        direction: Direction,
        text: &[u8],
        is_request: bool,
        by: &str,
        limit_ns: u64,
        at_ns: u64,
    ) -> Result<Option<Ticket>, CommandError> {
        if self.side(direction).closed {
            return Err(CommandError::Ended);
        }
        if INJECTED_LIMIT <= self.injections.waiting.len() {
            return Err(CommandError::TooMany(INJECTED_LIMIT));
        }
        let mut bytes = compact(text);
        let mut ticket = None;
        if is_request {
            self.injections.n_sent += 1;
            let number = self.injections.n_sent;
            let id = make::string(&format!("mcp-tap-{}-{number}", self.options.secret));
            let member = |key: &str| Step::Member(key.into());
            let not_an_object = || CommandError::NotAMessage("it is not an object".into());
            bytes = set(&bytes, &[member("id")], &id).ok_or_else(not_an_object)?;
            if Node::new(&bytes).at(&["params", "_meta", "progressToken"]).is_some() {
                let place = ["params", "_meta", "progressToken"].map(member);
                bytes = set(&bytes, &place, &id).ok_or_else(not_an_object)?;
            }
            ticket = Some((Ticket(number), RawId::from_token(&id)));
        }
        match scan(&bytes, &[]) {
            Scanned { content: Content::Message(envelope), .. } if is_request == (envelope.kind == Kind::Request) => {}
            Scanned { content: Content::Message(_), .. } => {
                let says =
                    if is_request { "a request has a method" } else { "a request is sent as one, to get its answer" };
                return Err(CommandError::NotAMessage(says.into()));
            }
            Scanned { content: Content::NotJson(error), .. } => {
                return Err(CommandError::NotAMessage(error.to_string()));
            }
            _ => return Err(CommandError::NotAMessage("it is no JSON-RPC message".into())),
        }
        bytes.push(b'\n');
        let bytes = Bytes::from(bytes);
        let act = Act { bytes: bytes.clone(), ..Act::new(Deed::Injected, stream(direction), by) };
        self.orders.push_back(Order::Record(act));
        if let Some((ticket, id)) = &ticket {
            let until_ns = Some(at_ns.saturating_add(limit_ns));
            self.injections.waiting.insert(
                id.clone(),
                Injected { ticket: *ticket, direction, sent_ns: at_ns, until_ns, by: by.to_owned() },
            );
        }
        self.emit(direction, bytes);
        Ok(ticket.map(|(ticket, _)| ticket))
    }

    /// Whether a message is for us alone: an answer to a request of ours, or its progress.
    pub(crate) fn is_for_us(&mut self, message: &Message, at_ns: u64) -> bool {
        if self.injections.is_empty() {
            return false;
        }
        let (id, is_answer) = match message.kind {
            What::Result | What::Error => (message.id.clone(), true),
            What::Notification => {
                let token = message.captures.get(watch::PROGRESS_OF).and_then(|value| value.token());
                (token.map(|token| RawId::from_token(token.bytes())), false)
            }
            What::Request | What::Batch | What::Raw => return false,
        };
        let Some(injected) = id.as_ref().and_then(|id| self.injections.waiting.get(id)) else {
            return false;
        };
        if injected.direction != message.direction.reversed() {
            return false;
        }
        let answer = match is_answer {
            true => Answered::Answer(message.bytes.clone(), at_ns.saturating_sub(injected.sent_ns)),
            false => Answered::Progress(message.bytes.clone()),
        };
        let (ticket, gave_up) = (injected.ticket, injected.until_ns.is_none());
        let act = Act {
            message: Some(message.offset),
            ..Act::new(Deed::Dropped, stream(message.direction), injected.by.clone())
        };
        self.orders.push_back(Order::Record(act));
        if !gave_up {
            self.events.push_back(Event::Answered { ticket, answer });
        }
        if let Some(id) = id.filter(|_| is_answer) {
            self.injections.waiting.remove(&id);
        }
        true
    }

    /// Gives up requests of ours that take too long.
    pub(crate) fn give_up(&mut self, at_ns: u64) {
        let due = |injected: &Injected| injected.until_ns.is_some_and(|until_ns| until_ns <= at_ns);
        let late: Vec<_> =
            self.injections.waiting.iter().filter(|(_, injected)| due(injected)).map(|(id, _)| id.clone()).collect();
        for id in late {
            let Some(injected) = self.injections.waiting.get_mut(&id) else {
                continue;
            };
            injected.until_ns = None;
            let (direction, ticket) = (injected.direction, injected.ticket);
            self.events.push_back(Event::Answered { ticket, answer: Answered::TooLate });
            let cancel = [
                b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":",
                id.as_bytes(),
                b",\"reason\":\"it took too long\"}}\n",
            ];
            let bytes = Bytes::from(cancel.concat());
            let act = Act {
                bytes: bytes.clone(),
                ..Act::new(Deed::Injected, stream(direction), "mcp-tap: a call took too long")
            };
            self.orders.push_back(Order::Record(act));
            self.emit(direction, bytes);
        }
    }

    /// Says that the side which is sent to in this direction will not answer any more.
    pub(crate) fn nobody_answers(&mut self, direction: Direction) {
        let gone: Vec<_> = self
            .injections
            .waiting
            .iter()
            .filter(|(_, one)| one.direction == direction)
            .map(|(id, _)| id.clone())
            .collect();
        for id in gone {
            if let Some(injected) = self.injections.waiting.remove(&id).filter(|injected| injected.until_ns.is_some()) {
                self.events.push_back(Event::Answered { ticket: injected.ticket, answer: Answered::Ended });
            }
        }
    }
}
