//! A stdio server that belongs to one session of the legacy era: its messages pass as they are, ids and all.
//!
//! Source: MCP 2025-11-25, basic/transports, Streamable HTTP, Sending Messages to the Server and Listening for Messages from
//! the Server.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tap_jsonrpc::{Kind, Node, RawId, other_type, same_number};

use crate::answer::{error_answer, one_line, with_id};
use crate::message::{Incoming, Message, Nature};
use crate::notice::Notice;
use crate::router::{Output, WAITING_LIMIT_BYTES, to_child};

/// Where the messages of a session's server go.
#[derive(Debug, Default)]
pub struct SessionRouter {
    /// Requests of the client's, by exchange.
    open: BTreeMap<u64, Open>,
    /// The exchange on which the client listens.
    stream: Option<u64>,
    /// Everything goes there, and nothing is an answer to a POST: HTTP+SSE.
    all_on_stream: bool,
    /// What waits for such an exchange.
    kept: VecDeque<Bytes>,
    kept_bytes: usize,
    outputs: VecDeque<Output>,
}

/// A POST with requests.
#[derive(Debug)]
struct Open {
    waiting: Vec<RawId>,
    progress_tokens: Vec<RawId>,
    is_initialize: bool,
    /// The client has gone, which is no cancelling in this era.
    gone: bool,
}

impl SessionRouter {
    /// A router for a session of HTTP+SSE.
    #[must_use]
    pub fn of_old_stream() -> Self {
        Self { all_on_stream: true, ..Self::default() }
    }

    /// What is to be done next. Ask until there is nothing, after each call of another function.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How many POSTs have no answer yet.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.open.len()
    }

    /// The client posted something. Where there are requests in it they are answered on this exchange.
    pub fn post(&mut self, exchange: u64, incoming: &Incoming, body: &Bytes) {
        self.outputs.push_back(to_child(&one_line(body)));
        let waiting: Vec<RawId> = incoming.requests().map(|(_, id)| id.clone()).collect();
        if self.all_on_stream || waiting.is_empty() {
            return;
        }
        let progress_tokens = incoming.requests().filter_map(|(request, _)| request.asks_progress_with()).collect();
        let is_initialize = incoming.is_initialize();
        self.open.insert(exchange, Open { waiting, progress_tokens, is_initialize, gone: false });
    }

    /// The client listens on this exchange from now on, and on no other.
    pub fn listen(&mut self, exchange: u64) {
        if let Some(before) = self.stream.replace(exchange) {
            self.outputs.push_back(Output::Close { exchange: before });
        }
        self.kept_bytes = 0;
        for bytes in std::mem::take(&mut self.kept) {
            self.outputs.push_back(Output::Message { exchange, bytes });
        }
    }

    /// The client has left an exchange.
    pub fn closed(&mut self, exchange: u64) {
        if self.stream == Some(exchange) {
            self.stream = None;
            if self.all_on_stream {
                self.outputs.push_back(Output::End);
            }
        }
        if let Some(open) = self.open.get_mut(&exchange) {
            open.gone = true;
            if open.is_initialize {
                // Nobody knows the session's id.
                self.outputs.push_back(Output::End);
            }
        }
    }

    /// A line of the server's, whatever it holds.
    pub fn child_line(&mut self, line: &Bytes) {
        let bytes = one_line(line);
        let incoming = Incoming::read(&bytes);
        match incoming.nature {
            Nature::Blank => {}
            Nature::NotJson | Nature::NoMessage => {
                self.outputs.push_back(Output::Tell(Notice::LineNoMessage));
            }
            Nature::Message | Nature::Batch if self.all_on_stream => self.on_stream(bytes),
            Nature::Message | Nature::Batch => match incoming.messages.iter().find(|message| !message.is_answer()) {
                // Where there are answers too they say where it goes.
                Some(message) if !incoming.messages.iter().any(Message::is_answer) => {
                    self.not_an_answer(message, bytes);
                }
                _ => self.answer(&incoming, bytes),
            },
        }
    }

    /// The server has ended: nobody else will answer.
    pub fn child_ended(&mut self, why: &str) {
        for (exchange, open) in std::mem::take(&mut self.open) {
            let mut errors = open.waiting.iter().map(|id| error_answer(id.as_bytes(), why)).peekable();
            while let Some(bytes) = errors.next() {
                self.outputs.push_back(match errors.peek() {
                    Some(_) => Output::Message { exchange, bytes },
                    None => Output::Last { exchange, bytes, status: 200 },
                });
            }
        }
        if let Some(exchange) = self.stream.take() {
            self.outputs.push_back(Output::Close { exchange });
        }
    }

    fn answer(&mut self, incoming: &Incoming, bytes: Bytes) {
        let ids =
            || incoming.messages.iter().filter(|message| message.is_answer()).filter_map(|message| message.id.as_ref());
        let mut exchanges = ids().filter_map(|id| self.place(id)).map(|(exchange, _)| exchange);
        if exchanges.next().is_some_and(|first| exchanges.any(|other| other != first)) {
            // It answers several POSTs at once, each of which is told its own.
            for member in Node::new(&bytes).elements() {
                self.child_line(&bytes.slice_ref(member.bytes()));
            }
            return;
        }
        let mut found = None;
        for id in ids() {
            found = self.taken(id).or(found);
        }
        let found = found.or_else(|| self.taken_by_place(incoming.only()?));
        let Some((exchange, asked)) = found else {
            return self.outputs.push_back(Output::Tell(Notice::NoQuestion));
        };
        let bytes = match incoming.only().map(|only| only.id.as_ref()) {
            Some(id) if id.is_none_or(|id| *id != asked && !same_number(id, &asked)) => {
                with_id(&bytes, asked.as_bytes())
            }
            _ => bytes,
        };
        self.answered(exchange, bytes);
    }

    /// Something that answers requests of an exchange goes there.
    fn answered(&mut self, exchange: u64, bytes: Bytes) {
        let Some(open) = self.open.get(&exchange) else {
            return;
        };
        let (is_last, gone) = (open.waiting.is_empty(), open.gone);
        if is_last {
            self.open.remove(&exchange);
        }
        self.outputs.push_back(match (gone, is_last) {
            (true, _) => Output::Tell(Notice::ClientGone),
            (false, true) => Output::Last { exchange, bytes, status: 200 },
            (false, false) => Output::Message { exchange, bytes },
        });
    }

    /// Where a request waits: of several with the id the oldest. Some servers write an id in another way than it was asked
    /// with.
    fn place(&self, id: &RawId) -> Option<(u64, usize)> {
        let ways: [fn(&RawId, &RawId) -> bool; 3] = [|waiting, id| waiting == id, same_number, other_type];
        ways.iter().find_map(|is_same| {
            self.open.iter().find_map(|(exchange, open)| {
                let index = open.waiting.iter().position(|waiting| is_same(waiting, id))?;
                Some((*exchange, index))
            })
        })
    }

    fn taken(&mut self, id: &RawId) -> Option<(u64, RawId)> {
        let (exchange, index) = self.place(id)?;
        Some((exchange, self.open.get_mut(&exchange)?.waiting.remove(index)))
    }

    /// Takes the one request that there is, for an error of somebody who may not have read its id.
    fn taken_by_place(&mut self, message: &Message) -> Option<(u64, RawId)> {
        let is_nameless = message.kind == Kind::Error && message.id.as_ref().is_none_or(RawId::is_null);
        let mut open = self.open.iter_mut().filter(|_| is_nameless);
        match (open.next(), open.next()) {
            (Some((exchange, only)), None) if only.waiting.len() == 1 => Some((*exchange, only.waiting.pop()?)),
            _ => None,
        }
    }

    /// What belongs to a request goes where that is answered, as far as this can be told; all else where the client listens.
    fn not_an_answer(&mut self, message: &Message, bytes: Bytes) {
        let listening = |open: &Open| !open.gone && !open.is_initialize;
        if let Some(token) = message.progress_token() {
            let has = |open: &Open| listening(open) && open.progress_tokens.contains(&token);
            if let Some((&exchange, _)) = self.open.iter().find(|(_, open)| has(open)) {
                return self.outputs.push_back(Output::Message { exchange, bytes });
            }
            return self.on_stream(bytes);
        }
        let may_belong = message.kind == Kind::Request
            || matches!(message.method.as_str(), "notifications/message" | "notifications/cancelled");
        let mut asking = self.open.iter().filter(|(_, open)| listening(open)).map(|(exchange, _)| *exchange);
        let (first, newest) = (asking.next(), asking.next_back());
        match (may_belong, first, newest, self.stream) {
            // The only call there is.
            (true, Some(exchange), None, _) => self.outputs.push_back(Output::Message { exchange, bytes }),
            // A client that does not listen still reads the answers to its calls.
            (true, _, Some(exchange), None) => self.outputs.push_back(Output::Message { exchange, bytes }),
            _ => self.on_stream(bytes),
        }
    }

    fn on_stream(&mut self, bytes: Bytes) {
        if let Some(exchange) = self.stream {
            return self.outputs.push_back(Output::Message { exchange, bytes });
        }
        self.kept_bytes += bytes.len();
        self.kept.push_back(bytes);
        while WAITING_LIMIT_BYTES < self.kept_bytes {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            self.kept_bytes -= oldest.len();
            self.outputs.push_back(Output::Tell(Notice::NobodyListens));
        }
    }
}

#[cfg(test)]
mod tests;
