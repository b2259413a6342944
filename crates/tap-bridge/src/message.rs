//! What a bridge has to know of a message.

use tap_jsonrpc::{Captures, Content, Envelope, Kind, Member, Path, RawId, Value, scan};
use tap_protocol::{Era, Revision, meta};

const PROGRESS_TOKEN_OF_REQUEST: usize = 0;
const PROGRESS_TOKEN: usize = 1;
const REQUEST_ID: usize = 2;
const VERSION: usize = 3;
const SUBSCRIPTION: usize = 4;
const LOG_LEVEL: usize = 5;
const ANSWERED_VERSION: usize = 6;
const CODE: usize = 7;

const WATCH: &[Path] = &[
    Path(PROGRESS_TOKEN_OF_REQUEST_PATH),
    Path(PROGRESS_TOKEN_PATH),
    Path(REQUEST_ID_PATH),
    Path(&["params", "_meta", meta::PROTOCOL_VERSION]),
    Path(SUBSCRIPTION_PATH),
    Path(&["params", "_meta", meta::LOG_LEVEL]),
    Path(&["result", "protocolVersion"]),
    Path(&["error", "code"]),
];

pub(crate) const ID_PATH: &[&str] = &["id"];
pub(crate) const PROGRESS_TOKEN_OF_REQUEST_PATH: &[&str] = &["params", "_meta", meta::PROGRESS_TOKEN];
pub(crate) const PROGRESS_TOKEN_PATH: &[&str] = &["params", meta::PROGRESS_TOKEN];
pub(crate) const REQUEST_ID_PATH: &[&str] = &["params", "requestId"];
pub(crate) const SUBSCRIPTION_PATH: &[&str] = &["params", "_meta", meta::SUBSCRIPTION_ID];
/// The result of a subscription that the server ends repeats its id.
pub(crate) const SUBSCRIPTION_OF_RESULT_PATH: &[&str] = &["result", "_meta", meta::SUBSCRIPTION_ID];

/// What came in one piece: on a line, in a body, in an event.
#[derive(Debug, Clone)]
pub struct Incoming {
    /// What it is.
    pub nature: Nature,
    /// The messages in it that could be read, of a batch each.
    pub(crate) messages: Vec<Message>,
}

/// What came in one piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Nothing, or white space.
    Blank,
    /// One message.
    Message,
    /// Several, in an array.
    Batch,
    /// JSON that is no message.
    NoMessage,
    /// No JSON.
    NotJson,
}

/// One message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    pub(crate) id: Option<RawId>,
    /// The method; empty for answers.
    pub(crate) method: String,
    captures: Captures,
}

impl Incoming {
    /// Reads what came.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Self {
        let (nature, messages) = match scan(bytes, WATCH).content {
            Content::Blank => (Nature::Blank, Vec::new()),
            Content::Message(envelope) => (Nature::Message, vec![envelope.into()]),
            Content::Batch(batch) => {
                let messages = batch.members.into_iter().filter_map(|member| match member {
                    Member::Message(envelope) => Some(envelope.into()),
                    Member::NotAMessage(_) => None,
                });
                (Nature::Batch, messages.collect())
            }
            Content::NotAMessage(_) => (Nature::NoMessage, Vec::new()),
            Content::NotJson(_) => (Nature::NotJson, Vec::new()),
        };
        Self { nature, messages }
    }

    /// The one message, if it is one.
    pub(crate) fn only(&self) -> Option<&Message> {
        match (self.nature, self.messages.as_slice()) {
            (Nature::Message, [only]) => Some(only),
            _ => None,
        }
    }

    /// The requests in it.
    pub(crate) fn requests(&self) -> impl Iterator<Item = (&Message, &RawId)> {
        self.messages.iter().filter_map(|message| match (message.kind, &message.id) {
            (Kind::Request, Some(id)) => Some((message, id)),
            _ => None,
        })
    }

    /// The ids of requests in it, as they were written.
    pub fn request_ids(&self) -> impl Iterator<Item = &[u8]> {
        self.requests().map(|(_, id)| id.as_bytes())
    }

    /// Whether it begins a session of the legacy era.
    #[must_use]
    pub fn is_initialize(&self) -> bool {
        self.requests().any(|(message, _)| message.is_initialize())
    }

    /// Whether it is a request that says itself which revision of the modern era it speaks.
    #[must_use]
    pub fn is_modern_request(&self) -> bool {
        self.only().is_some_and(Message::is_modern_request)
    }
}

impl From<Envelope> for Message {
    fn from(envelope: Envelope) -> Self {
        let Envelope { kind, id, method, captures, .. } = envelope;
        Self { kind, id, method: method.unwrap_or_default(), captures }
    }
}

impl Message {
    fn token(&self, index: usize) -> Option<RawId> {
        Some(RawId::from_token(self.captures.get(index)?.token()?.bytes()))
    }

    pub(crate) fn is_answer(&self) -> bool {
        matches!(self.kind, Kind::Result | Kind::Error)
    }

    pub(crate) fn is_initialize(&self) -> bool {
        self.kind == Kind::Request && self.method == "initialize"
    }

    pub(crate) fn is_listen(&self) -> bool {
        self.method == "subscriptions/listen"
    }

    /// The token that progress of this request will carry.
    pub(crate) fn asks_progress_with(&self) -> Option<RawId> {
        self.token(PROGRESS_TOKEN_OF_REQUEST)
    }

    /// The token of the request whose progress this is.
    pub(crate) fn progress_token(&self) -> Option<RawId> {
        if self.method == "notifications/progress" { self.token(PROGRESS_TOKEN) } else { None }
    }

    /// The id of the request that this cancels.
    pub(crate) fn cancelled(&self) -> Option<RawId> {
        if self.method == "notifications/cancelled" { self.token(REQUEST_ID) } else { None }
    }

    /// The id of the subscription that this belongs to.
    pub(crate) fn subscription(&self) -> Option<RawId> {
        self.token(SUBSCRIPTION)
    }

    pub(crate) fn asks_for_logs(&self) -> bool {
        self.captures.get(LOG_LEVEL).is_some()
    }

    /// The revision that a modern request names.
    fn version(&self) -> Option<String> {
        Some(self.captures.get(VERSION)?.text()?.into_owned())
    }

    pub(crate) fn is_modern_request(&self) -> bool {
        // A revision that nobody knows yet is none of the legacy ones, which all are known.
        let era = |version: String| Revision::nearest(&version).map_or(Era::Modern, Revision::era);
        self.kind == Kind::Request && !self.is_initialize() && self.version().map(era) == Some(Era::Modern)
    }

    /// The revision that the answer to `initialize` names.
    pub(crate) fn answered_version(&self) -> Option<String> {
        Some(self.captures.get(ANSWERED_VERSION)?.text()?.into_owned())
    }

    pub(crate) fn error_code(&self) -> Option<i64> {
        match self.captures.get(CODE)? {
            Value::Number(token) => tap_jsonrpc::Node::new(token.bytes()).as_i64(),
            _ => None,
        }
    }
}
