//! A stdio server that belongs to one session of the legacy era: its messages pass as they are, ids and all.
//!
//! Source: MCP 2025-11-25, basic/transports, Streamable HTTP, Sending Messages to the Server and Listening for Messages from
//! the Server.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tap_jsonrpc::{Kind, RawId};

use crate::answer::{error_answer, one_line};
use crate::message::{Incoming, Message, Nature};
use crate::router::{Output, WAITING_LIMIT_BYTES, same_number, to_child};

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
                self.outputs.push_back(Output::Tell("a line of the server's is no message, and was dropped".into()));
            }
            Nature::Message | Nature::Batch if self.all_on_stream => self.on_stream(bytes),
            Nature::Message | Nature::Batch => match incoming.messages.iter().find(|message| !message.is_answer()) {
                Some(message) => self.not_an_answer(message, bytes),
                None => self.answer(&incoming, bytes),
            },
        }
    }

    /// The server has ended: nobody else will answer.
    pub fn child_ended(&mut self, why: &str) {
        for (exchange, open) in std::mem::take(&mut self.open) {
            if let Some(id) = open.waiting.first() {
                let bytes = error_answer(id.as_bytes(), why);
                self.outputs.push_back(Output::Last { exchange, bytes, status: 200 });
            }
        }
        if let Some(exchange) = self.stream.take() {
            self.outputs.push_back(Output::Close { exchange });
        }
    }

    fn answer(&mut self, incoming: &Incoming, bytes: Bytes) {
        let ids: Vec<&RawId> = incoming.messages.iter().filter_map(|message| message.id.as_ref()).collect();
        let Some(exchange) = ids.iter().find_map(|id| self.asked_in(id)) else {
            return self
                .outputs
                .push_back(Output::Tell("an answer of the server's has no question, and was dropped".into()));
        };
        let Some(open) = self.open.get_mut(&exchange) else {
            return;
        };
        for id in ids {
            let exact = open.waiting.iter().position(|waiting| waiting == id);
            let index = exact.or_else(|| open.waiting.iter().position(|waiting| same_number(waiting, id)));
            if let Some(index) = index {
                open.waiting.remove(index);
            }
        }
        let (is_last, gone) = (open.waiting.is_empty(), open.gone);
        if is_last {
            self.open.remove(&exchange);
        }
        match (gone, is_last) {
            (true, _) => {
                self.outputs.push_back(Output::Tell("an answer came when its client had gone, and was dropped".into()));
            }
            (false, true) => self.outputs.push_back(Output::Last { exchange, bytes, status: 200 }),
            (false, false) => self.outputs.push_back(Output::Message { exchange, bytes }),
        }
    }

    /// The exchange that asked with an id: of several the oldest.
    fn asked_in(&self, id: &RawId) -> Option<u64> {
        let asked = |is: &dyn Fn(&RawId) -> bool| {
            self.open.iter().find(|(_, open)| open.waiting.iter().any(is)).map(|(exchange, _)| *exchange)
        };
        asked(&|waiting| waiting == id).or_else(|| asked(&|waiting| same_number(waiting, id)))
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
            self.outputs
                .push_back(Output::Tell("a message of the server's was dropped: its client does not listen".into()));
        }
    }
}

#[cfg(test)]
mod tests;
