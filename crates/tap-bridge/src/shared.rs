//! A stdio server of the modern era that all clients share: every request gets an id of its own, and its own back.
//!
//! Two clients choose the same ids, and the same progress tokens. What reaches the server has numbers of ours in their
//! place, and what comes back has theirs again; no other byte changes.
//!
//! Source: MCP 2026-07-28, basic/transports, stdio and Streamable HTTP; basic/patterns/cancellation and subscriptions.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use tap_jsonrpc::{Kind, Node, RawId, splice};
use tap_protocol::{
    HEADER_MISMATCH, INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, UNSUPPORTED_PROTOCOL_VERSION, meta,
};

use crate::answer::{coded_answer, error_answer, one_line, with_id};
use crate::message::{
    ID_PATH, Incoming, Message, Nature, PROGRESS_TOKEN_OF_REQUEST_PATH, PROGRESS_TOKEN_PATH, REQUEST_ID_PATH,
    SUBSCRIPTION_OF_RESULT_PATH, SUBSCRIPTION_PATH,
};
use crate::notice::Notice;
use crate::router::{Output, to_child};

/// Where the messages of a shared server go.
#[derive(Debug, Default)]
pub struct SharedRouter {
    /// Requests without an answer, by the number that the server knows them by.
    asked: BTreeMap<u64, Asked>,
    n_asked: u64,
    outputs: VecDeque<Output>,
}

/// A request without an answer.
#[derive(Debug)]
struct Asked {
    exchange: u64,
    /// The id as the client wrote it.
    id: Bytes,
    /// The progress token as the client wrote it.
    progress_token: Option<Bytes>,
    wants_logs: bool,
    /// It does not say what every request has to.
    lacks_meta: bool,
}

impl SharedRouter {
    /// What is to be done next. Ask until there is nothing, after each call of another function.
    pub fn poll(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// How many requests have no answer yet.
    #[must_use]
    pub fn n_open(&self) -> usize {
        self.asked.len()
    }

    /// A client posted a request, which is answered on this exchange.
    pub fn post(&mut self, exchange: u64, incoming: &Incoming, body: &Bytes) {
        let Some((request, _)) = incoming.requests().next() else {
            return self.notification(incoming, body);
        };
        self.n_asked += 1;
        let number = self.n_asked.to_string();
        let node = Node::new(body);
        let written = |path: &[&str]| node.at(path).map(|value| body.slice_ref(value.bytes()));
        let declares = |key| node.at(&["params", "_meta", key]).is_some();
        let asked = Asked {
            exchange,
            id: written(ID_PATH).unwrap_or_default(),
            progress_token: written(PROGRESS_TOKEN_OF_REQUEST_PATH),
            wants_logs: request.asks_for_logs(),
            lacks_meta: !declares(meta::PROTOCOL_VERSION) || !declares(meta::CLIENT_CAPABILITIES),
        };
        self.asked.insert(self.n_asked, asked);
        let renumbered =
            splice(body, &[(ID_PATH, number.as_bytes()), (PROGRESS_TOKEN_OF_REQUEST_PATH, number.as_bytes())]);
        self.outputs.push_back(to_child(&one_line(&renumbered.into())));
    }

    /// The client has left an exchange, which cancels its request.
    pub fn closed(&mut self, exchange: u64) {
        let left: Vec<u64> =
            self.asked.extract_if(.., |_, asked| asked.exchange == exchange).map(|(number, _)| number).collect();
        for number in left {
            let cancel = format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{number},"reason":"the client closed the stream"}}}}"#
            );
            self.outputs.push_back(to_child(cancel.as_bytes()));
        }
    }

    /// A line of the server's, whatever it holds.
    pub fn child_line(&mut self, line: &Bytes) {
        let bytes = one_line(line);
        let incoming = Incoming::read(&bytes);
        if incoming.nature == Nature::Blank {
            return;
        }
        let Some(message) = incoming.only() else {
            return self.outputs.push_back(Output::Tell(Notice::LineNoMessage));
        };
        match message.kind {
            Kind::Result | Kind::Error => self.answer(message, &bytes),
            Kind::Notification => self.heard(message, &bytes),
            Kind::Request => {
                // In this era no server asks; one that does shall not wait for ever.
                let id = message.id.as_ref().map_or(&b"null"[..], RawId::as_bytes);
                let answer =
                    coded_answer(id, METHOD_NOT_FOUND, "no client can be asked by a server that all clients share");
                self.outputs.push_back(to_child(&answer));
            }
        }
    }

    /// The server has ended: nobody else will answer.
    pub fn child_ended(&mut self, why: &str) {
        for asked in std::mem::take(&mut self.asked).into_values() {
            let bytes = error_answer(&asked.id, why);
            self.outputs.push_back(Output::Last { exchange: asked.exchange, bytes, status: 502 });
        }
    }

    /// No client is known by what it says outside of requests, so that it can be about nobody's.
    fn notification(&mut self, incoming: &Incoming, body: &Bytes) {
        if incoming.only().is_some_and(|message| message.kind == Kind::Notification && message.cancelled().is_none()) {
            self.outputs.push_back(to_child(&one_line(body)));
        }
    }

    fn answer(&mut self, message: &Message, bytes: &Bytes) {
        let id = message.id.as_ref().filter(|id| !id.is_null());
        let asked = match id {
            Some(id) => number(id).and_then(|number| self.asked.remove(&number)),
            // Who could not read the question cannot name it. Of several it could be about any.
            None if message.kind == Kind::Error && self.asked.len() == 1 => {
                self.asked.pop_first().map(|(_, only)| only)
            }
            None => None,
        };
        let Some(asked) = asked else {
            // With an id of ours it most likely crossed the cancelling of its question.
            if id.and_then(number).is_none_or(|number| self.n_asked < number) {
                self.outputs.push_back(Output::Tell(Notice::NoQuestion));
            }
            return;
        };
        let bytes = splice(bytes, &[(SUBSCRIPTION_OF_RESULT_PATH, &asked.id)]);
        let bytes = with_id(&bytes, &asked.id);
        let status = status_of(message.error_code(), asked.lacks_meta);
        self.outputs.push_back(Output::Last { exchange: asked.exchange, bytes, status });
    }

    fn heard(&mut self, message: &Message, bytes: &Bytes) {
        let of = |id: Option<RawId>| {
            let number = number(&id?)?;
            Some((number, self.asked.get(&number)?))
        };
        if let Some((number, asked)) = of(message.cancelled()) {
            // A subscription that the server ends.
            let bytes = splice(bytes, &[(REQUEST_ID_PATH, &asked.id), (SUBSCRIPTION_PATH, &asked.id)]).into();
            self.outputs.push_back(Output::Last { exchange: asked.exchange, bytes, status: 200 });
            self.asked.remove(&number);
        } else if let Some((_, asked)) = of(message.progress_token()) {
            let token = asked.progress_token.as_deref().unwrap_or(b"null");
            let bytes = splice(bytes, &[(PROGRESS_TOKEN_PATH, token), (SUBSCRIPTION_PATH, &asked.id)]).into();
            self.outputs.push_back(Output::Message { exchange: asked.exchange, bytes });
        } else if let Some((_, asked)) = of(message.subscription()) {
            let bytes = splice(bytes, &[(SUBSCRIPTION_PATH, &asked.id)]).into();
            self.outputs.push_back(Output::Message { exchange: asked.exchange, bytes });
        } else if message.method == "notifications/message" {
            // Whose it is the server does not say. Where several could be meant it is nobody's: what one client's call logs
            // is not for another to read.
            let mut wanting = self.asked.values().filter(|asked| asked.wants_logs);
            if let (Some(only), None) = (wanting.next(), wanting.next()) {
                self.outputs.push_back(Output::Message { exchange: only.exchange, bytes: bytes.clone() });
            }
        }
    }
}

/// The number that an id of ours is. Some servers make text of it.
fn number(id: &RawId) -> Option<u64> {
    let node = Node::new(id.as_bytes());
    match node.text() {
        Some(text) => text.parse().ok(),
        None => u64::try_from(node.as_i64()?).ok(),
    }
}

/// The status code of an answer that has this error, or none.
///
/// Source: MCP 2026-07-28, basic/transports/streamable-http, Protocol Version Header; basic/index, Error Codes. Of a server
/// that knows the legacy era alone the refusal of `server/discover` so becomes what clients fall back upon.
#[must_use]
pub fn status_of(code: Option<i64>, lacks_meta: bool) -> u16 {
    match code {
        Some(METHOD_NOT_FOUND) => 404,
        Some(HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY | UNSUPPORTED_PROTOCOL_VERSION) => 400,
        Some(INVALID_PARAMS) if lacks_meta => 400,
        _ => 200,
    }
}

#[cfg(test)]
mod tests;
