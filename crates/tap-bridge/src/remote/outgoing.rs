//! Requests to the server, and the headers that go with them.

use bytes::Bytes;
use tap_jsonrpc::Node;
use tap_protocol::meta;

use super::exchange::{Exchange, Purpose, Waiting};
use super::streams::Shape;
use super::{Action, RemoteServer, Request, Verb};
use crate::message::{Incoming, Message};

const JSON: &str = "application/json";
const EVENT_STREAM: &str = "text/event-stream";

impl RemoteServer {
    /// Posts what the host wrote.
    pub(super) fn post(&mut self, incoming: &Incoming, body: Bytes) {
        let only = incoming.only();
        let is_modern = incoming.is_modern_request();
        let is_initialize = incoming.is_initialize();
        let mut headers = vec![
            ("Content-Type".to_owned(), JSON.to_owned()),
            ("Accept".to_owned(), format!("{JSON}, {EVENT_STREAM}")),
        ];
        if is_modern {
            let node = Node::new(&body);
            self.modern_revision = node
                .at(&["params", "_meta", meta::PROTOCOL_VERSION])
                .and_then(|version| Some(version.text()?.into_owned()));
            headers.extend(self.mirrored.of(node));
        } else if let (Some(revision), None) = (&self.modern_revision, &self.revision)
            && !is_initialize
        {
            // Which headers a notification needs is not defined in the modern era.
            headers.push(("MCP-Protocol-Version".into(), revision.clone()));
            headers.extend(only.map(|message| ("Mcp-Method".to_owned(), message.method.clone())).filter(is_plain));
        } else if !is_initialize {
            headers.extend(self.session_headers(self.session.as_deref()));
        }
        let number = self.send(Verb::Post, headers, body.clone(), Purpose::Messages);
        if let Some(exchange) = self.exchanges.get_mut(&number) {
            exchange.waiting = incoming.requests().map(|(message, id)| Waiting::new(message, id.clone())).collect();
            exchange.is_notice = exchange.waiting.is_empty();
            exchange.is_initialized = only.is_some_and(|message| message.method == "notifications/initialized");
            exchange.is_modern = is_modern;
            exchange.initialize = (is_initialize && self.shape == Shape::Streamable).then(|| (incoming.clone(), body));
        }
    }

    /// What goes with every request of a legacy session.
    pub(super) fn session_headers(&self, session: Option<&str>) -> Vec<(String, String)> {
        let session = session.map(|session| ("Mcp-Session-Id".to_owned(), session.to_owned()));
        // Revisions before 2025-06-18 know no such header; servers that speak them ignore it.
        let revision = self.revision.clone().map(|revision| ("MCP-Protocol-Version".to_owned(), revision));
        session.into_iter().chain(revision).filter(is_plain).collect()
    }

    pub(super) fn send(&mut self, verb: Verb, headers: Vec<(String, String)>, body: Bytes, purpose: Purpose) -> u64 {
        self.n_exchanges += 1;
        let address = if purpose == Purpose::OldStream { &self.url } else { &self.address };
        let request = Request { verb, address: address.clone(), headers, body };
        self.exchanges.insert(self.n_exchanges, Exchange::new(purpose, self.now_ns));
        self.actions.push_back(Action::Send { exchange: self.n_exchanges, request });
        self.n_exchanges
    }

    /// Opens a stream of the legacy era.
    pub(super) fn get(&mut self, last_event_id: Option<&str>, purpose: Purpose) -> u64 {
        let mut headers = vec![("Accept".to_owned(), EVENT_STREAM.to_owned())];
        headers.extend(self.session_headers(self.session.as_deref()));
        let last = last_event_id.map(|id| ("Last-Event-ID".to_owned(), id.to_owned()));
        headers.extend(last.filter(is_plain));
        self.send(Verb::Get, headers, Bytes::new(), purpose)
    }
}

/// Whether a value can stand in a header as it is.
fn is_plain(header: &(String, String)) -> bool {
    header.1.bytes().all(|byte| matches!(byte, b' '..=b'~'))
}

impl Waiting {
    fn new(message: &Message, id: tap_jsonrpc::RawId) -> Self {
        Self {
            id,
            is_initialize: message.is_initialize(),
            is_listen: message.is_listen(),
            is_tool_list: message.method == "tools/list",
            cancelled: false,
        }
    }
}
