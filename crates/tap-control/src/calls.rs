//! What is known of the calls that are under way: which answer belongs to which request, and what it asked for.

use std::collections::{BTreeMap, HashMap};

use bytes::Bytes;
use tap_frame::Direction;
use tap_jsonrpc::{Captures, Content, Envelope, Kind, Node, Path, RawId, Scanner, Value};
use tap_protocol::{Era, Revision};

use crate::channel::Channel;
use crate::check::Schemas;

/// The members that rules ask about.
pub(crate) const WATCHES: &[Path] = &[
    Path(&["params", "name"]),
    Path(&["params", "uri"]),
    Path(&["result", "isError"]),
    Path(&["error", "code"]),
    Path(&["params", "_meta", "progressToken"]),
    Path(&["params", "requestId"]),
    Path(&["params", "progressToken"]),
    Path(&["result", "protocolVersion"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/protocolVersion"]),
    Path(&["params", "cursor"]),
];

/// Indexes into [`WATCHES`].
pub(crate) mod watch {
    pub(crate) const NAME: usize = 0;
    pub(crate) const URI: usize = 1;
    pub(crate) const IS_ERROR: usize = 2;
    pub(crate) const ERROR_CODE: usize = 3;
    pub(crate) const OWN_TOKEN: usize = 4;
    pub(crate) const CANCELS: usize = 5;
    pub(crate) const PROGRESS_OF: usize = 6;
    pub(crate) const REVISIONS: [usize; 2] = [7, 8];
    pub(crate) const CURSOR: usize = 9;
}

/// Calls that are remembered at a time: the last ones. An answer to an older one is as if it answered nothing. Those that were
/// cancelled are among them, for they may be answered all the same.
const CALLS_LIMIT: usize = 10_000;

/// Requests of which the bytes are kept, so that a rule about an answer can ask for arguments: this long at most, and this
/// much of all, bytes.
const REQUEST_LIMIT_BYTES: usize = 256 * 1024;
const REQUESTS_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Which call: the direction that its request goes, over HTTP the exchange that it was sent in (else 0), and its id. Clients
/// that know nothing of each other use the same ids.
pub(crate) type CallKey = (Direction, u64, RawId);

/// A request that has no answer yet.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) target: Option<String>,
    pub(crate) at_ns: u64,
    pub(crate) request: Option<Bytes>,
    /// Over HTTP its session.
    session: u64,
    token: Option<RawId>,
    /// The how manieth it is.
    number: u64,
    /// Whether it goes on with a list that was begun.
    is_next_page: bool,
    /// Rules that have looked at it: they do not look at its answer as well.
    pub(crate) looked: Vec<u32>,
}

/// One message, read.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) direction: Direction,
    /// Where over HTTP it passes.
    pub(crate) channel: Channel,
    /// Where in its stream, or body, it begins.
    pub(crate) offset: u64,
    pub(crate) at_ns: u64,
    pub(crate) bytes: Bytes,
    pub(crate) kind: What,
    pub(crate) id: Option<RawId>,
    pub(crate) method: Option<String>,
    pub(crate) captures: Captures,
    /// The call that it belongs to.
    pub(crate) call: Option<CallKey>,
    /// Of an answer: what it answers.
    pub(crate) asked: Option<Call>,
    /// The rules of the protocol that it broke, with the places of their severities in the filter language.
    pub(crate) findings: Vec<(&'static str, i128)>,
}

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    Request,
    Notification,
    Result,
    Error,
    Batch,
    /// No message.
    Raw,
}

impl What {
    pub(crate) fn is_answer(self) -> bool {
        matches!(self, Self::Result | Self::Error)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Notification => "notification",
            Self::Result => "result",
            Self::Error => "error",
            Self::Batch => "batch",
            Self::Raw => "not a message",
        }
    }
}

impl Message {
    /// The method; of an answer that of its request.
    pub(crate) fn method(&self) -> Option<&str> {
        self.method.as_deref().or(self.asked.as_ref().map(|call| call.method.as_str()))
    }

    /// The tool, prompt or resource.
    pub(crate) fn target(&self) -> Option<String> {
        match &self.asked {
            Some(call) => call.target.clone(),
            None => target(&self.captures),
        }
    }

    /// Whether everything behind it in its direction depends on it: what opens a session.
    pub(crate) fn opens(&self) -> bool {
        matches!(self.method(), Some("initialize" | "notifications/initialized"))
    }

    /// The request that it cancels, as its sender names it.
    pub(crate) fn cancels(&self) -> Option<RawId> {
        if self.method.as_deref() != Some("notifications/cancelled") {
            return None;
        }
        let id = self.captures.get(watch::CANCELS)?.token()?;
        Some(RawId::from_token(id.bytes()))
    }

    /// Whether it is the server who asks, in an exchange: only the client could answer that.
    pub(crate) fn is_question_over_http(&self) -> bool {
        self.channel.is_http() && self.kind == What::Request && self.direction == Direction::ToClient
    }

    pub(crate) fn has_token(&self) -> bool {
        self.captures.get(watch::OWN_TOKEN).and_then(Value::token).is_some()
    }

    pub(crate) fn is_error(&self) -> bool {
        self.captures.get(watch::IS_ERROR) == Some(&Value::True)
    }

    /// What it is in a few words, for a list: `tools/call add`, `answer to tools/call add`.
    pub(crate) fn summary(&self) -> String {
        let mut words = Vec::new();
        if self.kind.is_answer() {
            words.push(if self.kind == What::Error { "error for" } else { "answer to" }.to_owned());
        }
        match self.method() {
            Some(method) => words.push(method.into()),
            None => words.push(if self.kind.is_answer() { "a request" } else { self.kind.name() }.into()),
        }
        words.extend(self.target());
        words.join(" ")
    }
}

fn target(captures: &Captures) -> Option<String> {
    let text = |watch: usize| captures.get(watch).and_then(Value::text).map(std::borrow::Cow::into_owned);
    text(watch::NAME).or_else(|| text(watch::URI))
}

/// See the head of this file.
#[derive(Debug)]
pub(crate) struct Calls {
    scanner: Scanner,
    waiting: HashMap<CallKey, Call>,
    /// The same, the oldest first.
    by_age: BTreeMap<u64, CallKey>,
    n_calls: u64,
    /// Which call a progress token is of, by the direction of the request.
    tokens: HashMap<CallKey, RawId>,
    /// Over HTTP the exchange in which a session asked last with an id, for answers and cancellations that come in another.
    elsewhere: HashMap<(Direction, u64, RawId), u64>,
    kept_bytes: usize,
    pub(crate) revision: Option<String>,
    pub(crate) schemas: Schemas,
}

impl Default for Calls {
    fn default() -> Self {
        Self {
            scanner: Scanner::new(WATCHES),
            waiting: HashMap::new(),
            by_age: BTreeMap::new(),
            n_calls: 0,
            tokens: HashMap::new(),
            elsewhere: HashMap::new(),
            kept_bytes: 0,
            revision: None,
            schemas: Schemas::default(),
        }
    }
}

impl Calls {
    pub(crate) fn is_modern(&self) -> bool {
        self.revision.as_deref().and_then(Revision::nearest).is_some_and(|revision| revision.era() == Era::Modern)
    }

    /// Reads a message, and takes what it says of calls into account.
    pub(crate) fn read(
        &mut self,
        channel: Channel,
        direction: Direction,
        offset: u64,
        at_ns: u64,
        bytes: Bytes,
    ) -> Message {
        self.scanner.feed(&bytes);
        let mut message = Message {
            direction,
            channel,
            offset,
            at_ns,
            bytes,
            kind: What::Raw,
            id: None,
            method: None,
            captures: Captures::default(),
            call: None,
            asked: None,
            findings: Vec::new(),
        };
        match self.scanner.finish().content {
            Content::Message(Envelope { kind, id, method, captures, .. }) => {
                message.kind = match kind {
                    Kind::Request => What::Request,
                    Kind::Notification => What::Notification,
                    Kind::Result => What::Result,
                    Kind::Error => What::Error,
                };
                (message.id, message.method, message.captures) = (id, method, captures);
            }
            Content::Batch(_) => message.kind = What::Batch,
            Content::Blank | Content::NotAMessage(_) | Content::NotJson(_) => {}
        }
        self.note(&mut message);
        message
    }

    fn note(&mut self, message: &mut Message) {
        let token = |watch: usize| Some(RawId::from_token(message.captures.get(watch)?.token()?.bytes()));
        for watch in watch::REVISIONS {
            if let Some(revision) = message.captures.get(watch).and_then(Value::text) {
                self.revision = Some(revision.into_owned());
            }
        }
        match (message.kind, &message.id) {
            (What::Request, Some(id)) => {
                let (channel, direction) = (message.channel, message.direction);
                let key = (direction, channel.exchange, id.clone());
                message.call = Some(key.clone());
                let own_token = token(watch::OWN_TOKEN);
                // With an id that is used again the call before cannot be told from it.
                self.close(&key);
                while CALLS_LIMIT <= self.waiting.len()
                    && let Some((_, oldest)) = self.by_age.pop_first()
                {
                    self.close(&oldest);
                }
                if let Some(token) = &own_token {
                    self.tokens.insert((direction, channel.exchange, token.clone()), id.clone());
                }
                if channel.exchange > 0 {
                    self.elsewhere.insert((direction, channel.session, id.clone()), channel.exchange);
                }
                let has_room = message.bytes.len() <= REQUEST_LIMIT_BYTES
                    && self.kept_bytes + message.bytes.len() <= REQUESTS_LIMIT_BYTES;
                self.kept_bytes += if has_room { message.bytes.len() } else { 0 };
                self.n_calls += 1;
                let call = Call {
                    method: message.method.clone().unwrap_or_default(),
                    target: target(&message.captures),
                    at_ns: message.at_ns,
                    request: has_room.then(|| message.bytes.clone()),
                    session: channel.session,
                    token: own_token,
                    number: self.n_calls,
                    is_next_page: message.captures.get(watch::CURSOR).and_then(Value::token).is_some(),
                    looked: Vec::new(),
                };
                self.by_age.insert(self.n_calls, key.clone());
                self.waiting.insert(key, call);
            }
            (What::Result | What::Error, Some(id)) => {
                let key = self.key(message.channel, message.direction.reversed(), id);
                message.asked = self.close(&key);
                message.call = Some(key);
                if let Some(call) = message.asked.as_ref().filter(|call| call.method == "tools/list")
                    && message.kind == What::Result
                {
                    self.schemas.take(&message.bytes, call.is_next_page);
                }
            }
            (What::Notification, _) => {
                if let Some(id) = message.cancels() {
                    message.call = Some(self.key(message.channel, message.direction, &id));
                } else if let Some(token) = token(watch::PROGRESS_OF) {
                    let (asked, exchange) = (message.direction.reversed(), message.channel.exchange);
                    message.call = self.tokens.get(&(asked, exchange, token)).map(|id| (asked, exchange, id.clone()));
                }
            }
            _ => {}
        }
    }

    /// The call with this id that somebody speaks of: that of the same exchange, else the one of the same session.
    fn key(&self, channel: Channel, asked: Direction, id: &RawId) -> CallKey {
        let here = (asked, channel.exchange, id.clone());
        if channel.exchange == 0 || self.waiting.contains_key(&here) {
            return here;
        }
        match self.elsewhere.get(&(asked, channel.session, id.clone())) {
            Some(exchange) => (asked, *exchange, here.2),
            None => here,
        }
    }

    /// Forgets the calls of an exchange in which nothing more comes.
    pub(crate) fn forget(&mut self, exchange: u64) {
        let of_it: Vec<_> = self.waiting.keys().filter(|key| key.1 == exchange).cloned().collect();
        for key in of_it {
            self.close(&key);
        }
    }

    /// Forgets a call: it was answered.
    pub(crate) fn close(&mut self, key: &CallKey) -> Option<Call> {
        let call = self.waiting.remove(key)?;
        self.kept_bytes -= call.request.as_ref().map_or(0, Bytes::len);
        self.by_age.remove(&call.number);
        if let Some(token) = &call.token {
            let place = (key.0, key.1, token.clone());
            // Another call may have taken it over.
            if self.tokens.get(&place) == Some(&key.2) {
                self.tokens.remove(&place);
            }
        }
        let place = (key.0, call.session, key.2.clone());
        if self.elsewhere.get(&place) == Some(&key.1) {
            self.elsewhere.remove(&place);
        }
        Some(call)
    }

    /// Remembers that a rule has looked at a request.
    pub(crate) fn looked(&mut self, key: &CallKey, rule: u32) {
        if let Some(call) = self.waiting.get_mut(key) {
            call.looked.push(rule);
        }
    }

    /// The answer's body that a rule may ask for.
    pub(crate) fn request_of(message: &Message) -> Option<Node<'_>> {
        match message.kind {
            What::Request | What::Notification => Some(Node::new(&message.bytes)),
            What::Result | What::Error => Some(Node::new(message.asked.as_ref()?.request.as_ref()?)),
            What::Batch | What::Raw => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(calls: &mut Calls, id: usize, token: usize) {
        let text = format!(r#"{{"id":{id},"method":"m","params":{{"_meta":{{"progressToken":{token}}}}}}}"#);
        calls.read(Channel::default(), Direction::ToServer, 0, 0, text.into());
    }

    fn sizes(calls: &Calls) -> [usize; 3] {
        [calls.waiting.len(), calls.tokens.len(), calls.by_age.len()]
    }

    #[test]
    fn nothing_is_left_of_a_call_whose_id_is_used_again() {
        let mut calls = Calls::default();
        for token in 0..100 {
            ask(&mut calls, 1, token);
        }
        assert_eq!(sizes(&calls), [1; 3]);
        // A token that another call took over stays that one's.
        ask(&mut calls, 2, 99);
        calls.close(&(Direction::ToServer, 0, RawId::from_token(b"1")));
        assert_eq!(sizes(&calls), [1; 3]);
        calls.close(&(Direction::ToServer, 0, RawId::from_token(b"2")));
        assert_eq!((sizes(&calls), calls.kept_bytes), ([0; 3], 0));
    }

    #[test]
    fn the_last_calls_are_known_however_many_were_never_answered() {
        let mut calls = Calls::default();
        for id in 0..CALLS_LIMIT + 5 {
            ask(&mut calls, id, id);
        }
        assert_eq!(sizes(&calls), [CALLS_LIMIT; 3]);
        let is_known = |id: usize| {
            calls.waiting.contains_key(&(Direction::ToServer, 0, RawId::from_token(id.to_string().as_bytes())))
        };
        assert_eq!([0, 4, 5, CALLS_LIMIT + 4].map(is_known), [false, false, true, true]);
    }
}
