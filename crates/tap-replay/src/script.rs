//! Scripts: what was asked in a recorded conversation, and what the server did because of it.
//!
//! A script grows unit by unit, so that a large recording can be played before all of it was read.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use tap_frame::Direction;
use tap_jsonrpc::{
    Captures, Content, Envelope, Kind, Member, Node, Path, RawId, Scanner, Value, other_type, same_number,
};
use tap_protocol::{Era, Revision, meta};

use crate::message::{Interaction, Message, Nature, Opening, Role, Unit};

const TOKEN_OF_REQUEST: usize = 0;
const TOKEN: usize = 1;
const REQUEST_ID: usize = 2;
const SUBSCRIPTION: usize = 3;
const TASK: usize = 4;
const RELATED_TASK: usize = 5;
const VERSION: usize = 6;
const ANSWERED_VERSION: usize = 7;

const WATCH: &[Path] = &[
    Path(&["params", "_meta", meta::PROGRESS_TOKEN]),
    Path(&["params", meta::PROGRESS_TOKEN]),
    Path(&["params", "requestId"]),
    Path(&["params", "_meta", meta::SUBSCRIPTION_ID]),
    Path(&["params", "taskId"]),
    Path(&["params", "_meta", meta::RELATED_TASK, "taskId"]),
    Path(&["params", "_meta", meta::PROTOCOL_VERSION]),
    Path(&["result", "protocolVersion"]),
];

/// A recorded conversation: what was said in order, what was asked, and what the server did because of it.
///
/// Which message of the server's belongs to which request is told by ids, progress tokens, subscriptions and tasks; over HTTP
/// by the exchange; otherwise a request of the server's or a log message belongs to the one request that was open. All else
/// the server said on its own.
#[derive(Debug, Clone)]
pub struct Script {
    messages: Vec<Message>,
    interactions: Vec<Interaction>,
    /// What the server said on its own, in order.
    free: Vec<usize>,
    /// Interactions without an answer yet, and the exchange that each is in.
    open: Vec<(usize, Option<u64>)>,
    /// Interactions that subscribe. They stay open.
    subscriptions: Vec<usize>,
    /// Interactions by progress token, the newest of each.
    tokens: BTreeMap<RawId, usize>,
    /// Requests of the server's without a reply yet.
    asked: Vec<usize>,
    /// Methods, so that each is kept once.
    methods: HashSet<Arc<str>>,
    last_of_client: Option<usize>,
    revision: Option<Box<str>>,
    era: Option<Era>,
    initialize: Option<usize>,
    discover: Option<usize>,
    scanner: Scanner,
}

impl Default for Script {
    fn default() -> Self {
        Self {
            messages: Vec::new(),
            interactions: Vec::new(),
            free: Vec::new(),
            open: Vec::new(),
            subscriptions: Vec::new(),
            tokens: BTreeMap::new(),
            asked: Vec::new(),
            methods: HashSet::new(),
            last_of_client: None,
            revision: None,
            era: None,
            initialize: None,
            discover: None,
            scanner: Scanner::new(WATCH),
        }
    }
}

impl Script {
    /// A script in which nothing was said yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that was said, in recorded order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Everything that the client asked for, in recorded order.
    #[must_use]
    pub fn interactions(&self) -> &[Interaction] {
        &self.interactions
    }

    /// What the server said on its own, in recorded order: messages.
    #[must_use]
    pub fn free(&self) -> &[usize] {
        &self.free
    }

    /// The era, as far as it was said: of the handshake that was answered, or of the requests.
    #[must_use]
    pub fn era(&self) -> Option<Era> {
        self.era
    }

    /// The revision that was agreed, or that requests name.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.revision.as_deref()
    }

    /// The handshake of the legacy era, an interaction, if it was answered with a result.
    #[must_use]
    pub fn initialize(&self) -> Option<usize> {
        self.initialize
    }

    /// The first `server/discover` that was answered with a result, an interaction.
    #[must_use]
    pub fn discover(&self) -> Option<usize> {
        self.discover
    }

    /// How it begins; `None` while no client has asked for anything.
    #[must_use]
    pub fn opening(&self) -> Option<Opening> {
        // A client may be pinged, and ping, before anything else.
        let first = self.interactions.iter().find(|this| self.messages[this.request].method() != "ping")?;
        Some(match self.messages[first.request].method() {
            "initialize" => Opening::Initialize,
            "server/discover" => Opening::Discover,
            _ if first.is_modern => Opening::Modern,
            _ => Opening::Other,
        })
    }

    /// Whether the client has said something behind this message, so that what the server said before that is all there.
    #[must_use]
    pub fn is_known_behind(&self, message: usize) -> bool {
        self.last_of_client.is_some_and(|last| message < last)
    }

    /// Whether an interaction needs nothing more: it was answered or cancelled.
    #[must_use]
    pub fn is_over(&self, interaction: usize) -> bool {
        self.interactions.get(interaction).is_none_or(|this| this.answer.is_some() || this.cancelled_by.is_some())
    }

    /// Forgets what was on the wire in a message, to save memory. Whoever needs it again knows the frame's number.
    pub fn let_go(&mut self, message: usize) {
        if let Some(message) = self.messages.get_mut(message) {
            message.body = None;
        }
    }

    /// Takes the next unit of the recording. Its messages are added behind those that there are.
    pub fn push(&mut self, unit: &Unit) {
        self.scanner.feed(&unit.bytes);
        let scanned = self.scanner.finish();
        let whole = trimmed(&unit.bytes);
        match scanned.content {
            Content::Message(envelope) => self.message(unit, 0, whole, envelope),
            Content::Batch(batch) => {
                let elements = Node::new(whole).elements().map(Node::bytes);
                for (index, (bytes, member)) in elements.zip(batch.members).enumerate() {
                    let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
                    match member {
                        Member::Message(envelope) => self.message(unit, number, bytes, envelope),
                        Member::NotAMessage(_) => self.other(unit, number, bytes),
                    }
                }
            }
            Content::Blank | Content::NotAMessage(_) | Content::NotJson(_) => self.other(unit, 0, whole),
        }
    }

    fn add(&mut self, unit: &Unit, member: u32, bytes: &[u8], nature: Nature, role: Role) -> usize {
        let index = self.messages.len();
        self.messages.push(Message {
            number: unit.number,
            member,
            line: unit.line,
            direction: unit.direction,
            nature,
            id: None,
            method: None,
            at_ns: unit.at_ns,
            role,
            after: self.last_of_client,
            reply: None,
            is_literal: unit.is_literal,
            body: Some(Bytes::copy_from_slice(bytes)),
        });
        match (unit.direction, role) {
            (Direction::ToServer, _) => self.last_of_client = Some(index),
            (Direction::ToClient, Role::Free) => self.free.push(index),
            (Direction::ToClient, Role::Inside(interaction) | Role::Answer(interaction)) => {
                if let Some(this) = self.interactions.get_mut(interaction) {
                    this.steps.push(index);
                }
            }
            (Direction::ToClient, _) => {}
        }
        index
    }

    fn other(&mut self, unit: &Unit, member: u32, bytes: &[u8]) {
        let role = if unit.direction == Direction::ToServer { Role::Notice } else { Role::Free };
        self.add(unit, member, bytes, Nature::Other, role);
    }

    fn message(&mut self, unit: &Unit, member: u32, bytes: &[u8], envelope: Envelope) {
        let Envelope { kind, id, method, captures, .. } = envelope;
        let method = method.map(|method| self.interned(method));
        let said = Said { method: method.as_deref().unwrap_or_default(), id: id.as_ref(), captures: &captures };
        let nature = match kind {
            Kind::Request => Nature::Request,
            Kind::Notification => Nature::Notification,
            Kind::Result => Nature::Result,
            Kind::Error => Nature::Error,
        };
        let index = match (unit.direction, kind) {
            (Direction::ToServer, Kind::Request) => self.request(unit, member, bytes, &said),
            (Direction::ToServer, Kind::Notification) => self.notice(unit, member, bytes, &said),
            (Direction::ToServer, Kind::Result | Kind::Error) => self.reply(unit, member, bytes, nature, &said),
            (Direction::ToClient, Kind::Result | Kind::Error) => self.answer(unit, member, bytes, nature, &said),
            (Direction::ToClient, Kind::Request | Kind::Notification) => {
                let role = self.owner(unit, kind, &said).map_or(Role::Free, Role::Inside);
                let index = self.add(unit, member, bytes, nature, role);
                if kind == Kind::Request {
                    self.asked.push(index);
                }
                index
            }
        };
        if let Some(message) = self.messages.get_mut(index) {
            message.id = id;
            message.method = method;
        }
    }

    fn interned(&mut self, method: String) -> Arc<str> {
        if let Some(known) = self.methods.get(method.as_str()) {
            return known.clone();
        }
        let method: Arc<str> = method.into();
        self.methods.insert(method.clone());
        method
    }

    fn request(&mut self, unit: &Unit, member: u32, bytes: &[u8], said: &Said<'_>) -> usize {
        let interaction = self.interactions.len();
        let index = self.add(unit, member, bytes, Nature::Request, Role::Request(interaction));
        let version = said.captures.get(VERSION).and_then(Value::text);
        // A revision that nobody knows yet is none of the legacy ones, which all are known.
        let is_modern = said.method != "initialize"
            && version
                .as_deref()
                .is_some_and(|text| Revision::nearest(text).map_or(Era::Modern, Revision::era) == Era::Modern);
        // Somebody who asks which era it is does not know it yet.
        if is_modern && said.method != "server/discover" {
            self.era.get_or_insert(Era::Modern);
            if self.revision.is_none() {
                self.revision = version.map(|version| version.into_owned().into_boxed_str());
            }
        }
        let progress_token = said.token(TOKEN_OF_REQUEST);
        if let Some(token) = &progress_token {
            self.tokens.insert(token.clone(), interaction);
        }
        if said.method == "subscriptions/listen" {
            self.subscriptions.push(interaction);
        }
        let early = self.early_answer(index, said.id);
        if early.is_none() {
            self.open.push((interaction, unit.exchange));
        }
        self.interactions.push(Interaction {
            request: index,
            steps: early.into_iter().collect(),
            answer: early,
            cancelled_by: None,
            progress_token,
            task: said.token(TASK),
            is_modern,
        });
        index
    }

    /// The answer to a request that seems to have come just before it. Who records two streams from outside can take one
    /// for earlier that was later.
    fn early_answer(&mut self, request: usize, id: Option<&RawId>) -> Option<usize> {
        let before = self.messages.get(request)?.after;
        let since = before.map_or(0, |before| before + 1);
        let is_it = |message: &Message| {
            message.nature.is_answer()
                && message.role == Role::Free
                && message.id.is_some()
                && message.id.as_ref() == id
        };
        let early = (since..request).rev().find(|index| self.messages.get(*index).is_some_and(is_it))?;
        let Role::Request(interaction) = self.messages.get(request)?.role else {
            return None;
        };
        self.messages.get_mut(early)?.role = Role::Answer(interaction);
        self.free.retain(|free| *free != early);
        Some(early)
    }

    fn notice(&mut self, unit: &Unit, member: u32, bytes: &[u8], said: &Said<'_>) -> usize {
        let index = self.add(unit, member, bytes, Nature::Notification, Role::Notice);
        if said.method == "notifications/cancelled"
            && let Some(id) = said.token(REQUEST_ID)
            && let Some(place) = self.open_with(&id)
        {
            // An answer may have been on its way: it stays open for that.
            let (interaction, _) = self.open[place];
            self.interactions[interaction].cancelled_by.get_or_insert(index);
        }
        index
    }

    fn reply(&mut self, unit: &Unit, member: u32, bytes: &[u8], nature: Nature, said: &Said<'_>) -> usize {
        let asked = said.id.and_then(|id| {
            let is = |way: fn(&RawId, &RawId) -> bool| {
                self.asked.iter().position(|asked| {
                    self.messages.get(*asked).and_then(|asked| asked.id.as_ref()).is_some_and(|asked| way(asked, id))
                })
            };
            WAYS.into_iter().find_map(is)
        });
        let Some(place) = asked else {
            return self.add(unit, member, bytes, nature, Role::Notice);
        };
        let asked = self.asked.remove(place);
        let index = self.add(unit, member, bytes, nature, Role::Reply(asked));
        if let Some(asked) = self.messages.get_mut(asked) {
            asked.reply = Some(index);
        }
        index
    }

    fn answer(&mut self, unit: &Unit, member: u32, bytes: &[u8], nature: Nature, said: &Said<'_>) -> usize {
        let is_nameless = said.id.is_none_or(RawId::is_null);
        let place = match said.id.filter(|id| !id.is_null()) {
            Some(id) => self.open_with(id),
            // An error of somebody who may not have read the id is for the one request that there is.
            None if nature == Nature::Error && is_nameless && self.open.len() == 1 => Some(0),
            None => None,
        };
        let Some(place) = place else {
            return self.add(unit, member, bytes, nature, Role::Free);
        };
        let (interaction, _) = self.open.remove(place);
        let index = self.add(unit, member, bytes, nature, Role::Answer(interaction));
        self.subscriptions.retain(|this| *this != interaction);
        let this = &mut self.interactions[interaction];
        this.answer = Some(index);
        if nature == Nature::Result {
            match self.messages[this.request].method() {
                "initialize" if self.initialize.is_none() => {
                    self.initialize = Some(interaction);
                    self.era = Some(Era::Legacy);
                    let version = said.captures.get(ANSWERED_VERSION).and_then(Value::text);
                    self.revision = version.map(|version| version.into_owned().into_boxed_str());
                }
                "server/discover" if self.discover.is_none() => {
                    self.discover = Some(interaction);
                    self.era.get_or_insert(Era::Modern);
                }
                _ => {}
            }
        }
        index
    }

    /// The place among the open ones of the request with an id: as written, else as some peers write it back; the oldest.
    fn open_with(&self, id: &RawId) -> Option<usize> {
        let id_of = |interaction: usize| self.messages[self.interactions[interaction].request].id.as_ref();
        WAYS.into_iter()
            .find_map(|way| self.open.iter().position(|(this, _)| id_of(*this).is_some_and(|this| way(this, id))))
    }

    /// The interaction because of which the server says something.
    fn owner(&self, unit: &Unit, kind: Kind, said: &Said<'_>) -> Option<usize> {
        if said.method == "notifications/progress" {
            return self.tokens.get(&said.token(TOKEN)?).copied();
        }
        if let Some(id) = said.token(SUBSCRIPTION) {
            return self.subscription(&id);
        }
        if said.method == "notifications/cancelled" {
            return self.cancelled(&said.token(REQUEST_ID)?);
        }
        if let Some(exchange) = unit.exchange
            && let Some((interaction, _)) = self.open.iter().find(|(_, this)| *this == Some(exchange))
        {
            return Some(*interaction);
        }
        let may_belong = match kind {
            // A server looks after roots and signs of life on its own.
            Kind::Request => !matches!(said.method, "roots/list" | "ping"),
            _ => said.method == "notifications/message",
        };
        if !may_belong || unit.exchange.is_some() {
            return None;
        }
        if let Some(task) = said.token(RELATED_TASK) {
            let asks_for_it = |interaction: &usize| self.interactions[*interaction].task.as_ref() == Some(&task);
            let mut open = self.open.iter().map(|(interaction, _)| *interaction);
            return open.find(asks_for_it);
        }
        let mut open = self.open.iter().map(|(interaction, _)| *interaction);
        let mut open = open
            .by_ref()
            .filter(|this| !self.subscriptions.contains(this) && self.interactions[*this].cancelled_by.is_none());
        match (open.next(), open.next()) {
            (Some(only), None) => Some(only),
            _ => None,
        }
    }

    fn subscription(&self, id: &RawId) -> Option<usize> {
        self.subscriptions.iter().rev().copied().find(|this| {
            let request = &self.messages[self.interactions[*this].request];
            request.id.as_ref().is_some_and(|this| this == id || same_number(this, id))
        })
    }

    /// What a server that cancels something does it because of: what it asked for, or what subscribes.
    fn cancelled(&self, id: &RawId) -> Option<usize> {
        let mut asked = self.asked.iter().rev().filter_map(|asked| self.messages.get(*asked));
        match asked.find(|asked| asked.id.as_ref() == Some(id)).map(|asked| asked.role) {
            Some(Role::Inside(interaction)) => Some(interaction),
            Some(_) => None,
            None => self.subscription(id),
        }
    }
}

/// Ways in which the id of an answer may be that of its request, the surest first.
const WAYS: [fn(&RawId, &RawId) -> bool; 3] = [|one, other| one == other, same_number, other_type];

/// What of a message tells where it belongs.
struct Said<'a> {
    method: &'a str,
    id: Option<&'a RawId>,
    captures: &'a Captures,
}

impl Said<'_> {
    fn token(&self, index: usize) -> Option<RawId> {
        Some(RawId::from_token(self.captures.get(index)?.token()?.bytes()))
    }
}

/// Without a line ending.
fn trimmed(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    bytes.strip_suffix(b"\r").unwrap_or(bytes)
}

/// Reads all of a recording: a script for each conversation in it, in the order in which they begin.
#[must_use]
pub fn read_scripts(units: impl IntoIterator<Item = Unit>) -> Vec<(u64, Script)> {
    let mut scripts: Vec<(u64, Script)> = Vec::new();
    for unit in units {
        let place = scripts.iter().position(|(conversation, _)| *conversation == unit.conversation);
        let place = place.unwrap_or_else(|| {
            scripts.push((unit.conversation, Script::new()));
            scripts.len() - 1
        });
        if let Some((_, script)) = scripts.get_mut(place) {
            script.push(&unit);
        }
    }
    scripts
}

#[cfg(test)]
pub(crate) mod tests;
