//! Exchanges: one HTTP request and what came back, as far as the next part of it must know of the earlier ones.

use std::borrow::Cow;
use std::sync::Arc;

use tap_jsonrpc::{Node, RawId};
use tap_protocol::meta;

use super::streams::OneStream;
use crate::row::At;

/// Requests of one body that are remembered. A batch of more is answered all the same, and its end is not judged.
const REQUESTS: usize = 1_000;

/// What was asked of the server, as far as HTTP goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verb {
    Post,
    Get,
    Delete,
}

impl Verb {
    pub(super) fn from_text(text: &str) -> Option<Self> {
        match text {
            "POST" => Some(Self::Post),
            "GET" => Some(Self::Get),
            "DELETE" => Some(Self::Delete),
            _ => None,
        }
    }
}

/// A body that may be a message, looked into.
#[derive(Clone)]
pub(super) struct Body<'a> {
    /// The message; of a batch, the array.
    pub(super) node: Node<'a>,
    /// Whether it means to be JSON-RPC.
    pub(super) is_rpc: bool,
    /// Of one message: its method.
    pub(super) method: Option<Cow<'a, str>>,
    pub(super) params: Option<Node<'a>>,
    pub(super) result: Option<Node<'a>>,
    pub(super) error: Option<Node<'a>>,
    /// The requests in it: id, and member of a batch.
    pub(super) requests: Vec<(RawId, u64)>,
}

impl<'a> Body<'a> {
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        let node = Node::new(bytes);
        let mut body =
            Self { node, is_rpc: false, method: None, params: None, result: None, error: None, requests: Vec::new() };
        if !node.is_array() {
            body.one(node, 0);
            return body;
        }
        for (member, node) in (1..).zip(node.elements()) {
            body.one(node, member);
        }
        (body.method, body.params, body.result, body.error) = (None, None, None, None);
        body
    }

    fn one(&mut self, node: Node<'a>, member: u64) {
        if !node.is_object() {
            return;
        }
        let [version, id, method, params, result, error] =
            node.pick(["jsonrpc", "id", "method", "params", "result", "error"]);
        let method = method.and_then(Node::text);
        self.is_rpc |= version.is_some() || method.is_some() || (id.is_some() && (result.is_some() || error.is_some()));
        if let (Some(id), Some(_)) = (id.filter(|id| !id.is_null()), &method)
            && self.requests.len() < REQUESTS
        {
            self.requests.push((RawId::from_token(id.bytes()), member));
        }
        (self.method, self.params, self.result, self.error) = (method, params, result, error);
    }

    /// The revision that a modern request names.
    pub(super) fn named_revision(&self) -> Option<Cow<'a, str>> {
        self.params?.at(&["_meta", meta::PROTOCOL_VERSION])?.text()
    }
}

/// What is known of an exchange that has not ended.
#[derive(Debug, Clone)]
pub(super) struct Exchange {
    pub(super) verb: Verb,
    pub(super) connection: u64,
    /// Where it was sent, without the query.
    pub(super) path: Arc<str>,
    pub(super) opened: At,
    /// The session that it belongs to; of a GET without an id it is not known before its first event.
    pub(super) session: Option<u64>,
    /// Which ids live together with those of its requests: 0, or the exchange.
    pub(super) scope: u64,
    /// The method of its message, if there is one; cut where it is longer than any that there is.
    pub(super) method: Option<Arc<str>>,
    /// The requests of its body.
    pub(super) requests: Vec<(RawId, At)>,
    /// Its body has messages, and none of them is a request.
    pub(super) only_others: bool,
    /// It has a `Last-Event-ID`.
    pub(super) resumes: bool,
    pub(super) foreign_origin: bool,
    pub(super) has_credentials: bool,
    /// Its session's id was answered with 404 before, there.
    pub(super) after_gone: Option<At>,
    /// What its headers say otherwise than its body.
    pub(super) mismatch: Option<Mismatch>,
    /// It lacks what each modern request must say of itself.
    pub(super) lacks_meta: bool,
    pub(super) status: Option<u16>,
    pub(super) is_sse: bool,
    pub(super) is_json: bool,
    pub(super) stream: OneStream,
}

/// That a server must refuse a request for its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mismatch {
    pub(super) detail: String,
    /// There is no version header, which older revisions allow.
    pub(super) without_version: bool,
}

impl Exchange {
    /// Whether the server took what it was sent.
    pub(super) fn is_accepted(&self) -> bool {
        self.status.is_some_and(|status| (200..300).contains(&status))
    }

    /// Whether the server refused it.
    pub(super) fn is_refused(&self) -> bool {
        self.status.is_some_and(|status| 300 <= status)
    }
}
