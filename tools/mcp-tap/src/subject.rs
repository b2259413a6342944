//! A message of a recording, as a filter asks about it.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bytes::Bytes;
use tap_filter::{Field, Found as Value, Root, Subject};
use tap_frame::{Deed, Direction, Stream};
use tap_jsonrpc::Node;
use tap_session::{At, Done, RowKind, Severity, Status};
use tap_store::{Hit, Listed, Session, SessionId, Store};

/// Rules that messages broke, with how bad that is.
pub(crate) type Findings = BTreeMap<At, Vec<(&'static str, Severity)>>;

/// A message, and where to look for more of it.
pub(crate) struct Message<'a> {
    store: &'a Store,
    session: &'a Session,
    listed: &'a Listed,
    findings: Option<&'a Findings>,
    now_unix_ns: u64,
    /// Frames near it that are read together.
    near: Option<&'a Near<'a>>,
    /// Where it was found, and whether it is the answer there: its bytes need no look for their place.
    hit: Option<(&'a Hit, bool)>,
    this: OnceCell<Bytes>,
    other: OnceCell<Bytes>,
}

/// Frames that lie behind each other. All are read when one is asked for, which costs little more than that one.
pub(crate) struct Near<'a> {
    store: &'a Store,
    session: SessionId,
    /// The numbers of the first and the last.
    range: RangeInclusive<u64>,
    frames: OnceCell<Vec<(u64, Bytes)>>,
}

impl<'a> Near<'a> {
    pub(crate) fn new(store: &'a Store, session: SessionId, range: RangeInclusive<u64>) -> Self {
        Self { store, session, range, frames: OnceCell::new() }
    }

    /// The bytes of one of them; `None` of others, and where it cannot be read.
    pub(crate) fn frame(&self, seq: u64) -> Option<Bytes> {
        if !self.range.contains(&seq) {
            return None;
        }
        let frames = self.frames.get_or_init(|| {
            let frames = self.store.frames(self.session, *self.range.start()).map_while(Result::ok);
            let frames = frames.take_while(|frame| frame.seq <= *self.range.end());
            frames.map(|frame| (frame.seq, frame.message())).collect()
        });
        let index = frames.binary_search_by_key(&seq, |(seq, _)| *seq).ok()?;
        frames.get(index).map(|(_, bytes)| bytes.clone())
    }
}

impl<'a> Message<'a> {
    pub(crate) fn new(
        store: &'a Store,
        session: &'a Session,
        listed: &'a Listed,
        findings: Option<&'a Findings>,
        now_unix_ns: u64,
    ) -> Self {
        let (near, hit, this, other) = (None, None, OnceCell::new(), OnceCell::new());
        Self { store, session, listed, findings, now_unix_ns, near, hit, this, other }
    }

    /// The same, among others that are asked about one after the other.
    pub(crate) fn near(self, near: &'a Near<'a>) -> Self {
        Self { near: Some(near), ..self }
    }

    /// The request or other message of a row that was found.
    pub(crate) fn of_hit(
        store: &'a Store,
        session: &'a Session,
        hit: &'a Hit,
        findings: Option<&'a Findings>,
        now_unix_ns: u64,
    ) -> Self {
        Self { hit: Some((hit, false)), ..Self::new(store, session, &hit.listed, findings, now_unix_ns) }
    }

    /// The answer of the same, if it has one.
    pub(crate) fn answer_of(self) -> Option<Self> {
        let (hit, _) = self.hit?;
        let answer = hit.answer.as_ref()?;
        Some(Self {
            hit: Some((hit, true)),
            ..Self::new(self.store, self.session, answer, self.findings, self.now_unix_ns)
        })
    }

    /// What cannot be read is as if it were not there: the list that is searched tells of damage.
    fn fetch(&self, at: At) -> Bytes {
        let id = self.session.id;
        let at_hand = self.hit.and_then(|(hit, _)| match &hit.answer {
            _ if hit.listed.row.at == at => Some((hit, false)),
            Some(answer) if answer.row.at == at => Some((hit, true)),
            _ => None,
        });
        let bytes = match at_hand {
            Some((hit, answer)) => self.store.bytes_of(id, hit, answer).ok(),
            None => {
                let near = self.near.and_then(|near| near.frame(at.seq));
                near.or_else(|| Some(self.store.frame(id, at.seq).ok().flatten()?.message()))
            }
        };
        let bytes = bytes.unwrap_or_default();
        match at.index_in_batch() {
            None => bytes,
            Some(index) => {
                let member = Node::new(&bytes).elements().nth(index).map(|member| bytes.slice_ref(member.bytes()));
                member.unwrap_or_default()
            }
        }
    }

    /// Its bytes.
    pub(crate) fn this(&self) -> &[u8] {
        self.this.get_or_init(|| self.fetch(self.listed.row.at))
    }

    fn is_answer(&self) -> bool {
        matches!(self.listed.row.kind, RowKind::Result | RowKind::Error)
    }

    fn request(&self) -> Option<Node<'_>> {
        match (self.listed.row.kind, self.listed.row.pair) {
            (RowKind::Request | RowKind::Notification, _) => Some(Node::new(self.this())),
            (_, Some(pair)) if self.is_answer() => Some(Node::new(self.other.get_or_init(|| self.fetch(pair)))),
            _ => None,
        }
    }

    fn response(&self) -> Option<Node<'_>> {
        match (self.listed.row.kind, self.listed.row.pair) {
            (RowKind::Request, Some(pair)) => Some(Node::new(self.other.get_or_init(|| self.fetch(pair)))),
            _ if self.is_answer() => Some(Node::new(self.this())),
            _ => None,
        }
    }

    /// What the message of an error says, or the text of a tool that failed.
    fn error_text(&self) -> Option<String> {
        let response = self.response()?;
        if let Some(message) = response.at(&["error", "message"]) {
            return message.text().map(Cow::into_owned);
        }
        if self.listed.row.status != Some(Status::ToolError) {
            return None;
        }
        let texts: Vec<String> = response
            .at(&["result", "content"])?
            .elements()
            .filter_map(|item| item.get("text")?.text().map(Cow::into_owned))
            .collect();
        (!texts.is_empty()).then(|| texts.join("\n"))
    }

    fn broken(&self) -> Option<&[(&'static str, Severity)]> {
        self.findings?.get(&self.listed.row.at).map(Vec::as_slice)
    }
}

// The places of words in the filter language.

/// That of a kind of row.
pub(crate) fn kind_word(kind: RowKind) -> i128 {
    match kind {
        RowKind::Request => 0,
        RowKind::Result | RowKind::Error => 1,
        RowKind::Notification => 2,
        RowKind::Batch => 3,
        RowKind::NotAMessage | RowKind::NotJson | RowKind::Blank => 4,
        RowKind::Stderr => 5,
        RowKind::Exchange | RowKind::Body => 6,
        RowKind::Gap => 7,
        RowKind::Act => 8,
    }
}

/// That of the direction of a stream.
pub(crate) fn direction_word(stream: Stream) -> i128 {
    match stream.direction() {
        Direction::ToServer => 0,
        Direction::ToClient => 1,
    }
}

/// That of what became of a call; without an answer it waits.
pub(crate) fn status_word(status: Option<Status>) -> i128 {
    match status {
        Some(Status::Ok) => 0,
        Some(Status::ToolError) => 1,
        Some(Status::Error) => 2,
        None => 3,
    }
}

/// That of the era of a session, where its revision is known.
pub(crate) fn era_word(session: &Session) -> Option<i128> {
    let revision = tap_protocol::Revision::nearest(session.digest.identity.revision.as_deref()?)?;
    Some(i128::from(u8::from(revision.era() == tap_protocol::Era::Modern)))
}

/// That of how the two sides of a session are connected.
pub(crate) fn transport_word(session: &Session) -> i128 {
    i128::from(u8::from(session.start.transport == tap_store::Transport::Http))
}

/// How methods begin whose target this field is.
pub(crate) fn target_methods(field: Field) -> &'static [&'static str] {
    match field {
        Field::Tool => &["tools/call"],
        Field::Prompt => &["prompts/get"],
        Field::Uri => &["resources/"],
        _ => &[],
    }
}

fn text(text: &str) -> Option<Value<'_>> {
    Some(Value::Text(text.into()))
}

fn number(number: impl Into<i128>) -> Option<Value<'static>> {
    Some(Value::Number(number.into()))
}

/// Whether something was held: by hand, at a breakpoint or by a rule.
fn was_held(done: &Done) -> bool {
    done.held_ns > 0 || done.deed == Deed::Held
}

impl Subject for Message<'_> {
    fn field(&self, field: Field) -> Option<Value<'_>> {
        let row = &self.listed.row;
        let target_of = |field: Field| {
            let method = row.method.as_deref()?;
            target_methods(field)
                .iter()
                .any(|known| method.starts_with(known))
                .then_some(row.target.as_deref())?
                .and_then(text)
        };
        let identity = &self.session.digest.identity;
        let done = row.done.as_deref();
        match field {
            Field::Number => number(row.at.seq),
            Field::After | Field::Before => number(row.wall_ns),
            Field::At => number(row.at_ns),
            Field::Age => number(self.now_unix_ns.saturating_sub(row.wall_ns)),
            Field::Direction => number(direction_word(row.stream)),
            Field::Kind => number(kind_word(row.kind)),
            Field::Size => number(self.listed.length),
            Field::Method => row.method.as_deref().and_then(text),
            Field::Tool | Field::Prompt | Field::Uri => target_of(field),
            Field::Name => row.target.as_deref().and_then(text),
            Field::Id => row.raw_id.as_ref().map(|id| Value::Bytes(id.as_bytes().into())),
            Field::Call => match row.kind {
                RowKind::Request => number(row.at.seq),
                _ if self.is_answer() => row.pair.and_then(|pair| number(pair.seq)),
                _ => None,
            },
            Field::Status => match (row.kind, row.status) {
                (_, Some(_)) | (RowKind::Request, None) => number(status_word(row.status)),
                _ => None,
            },
            Field::Code => row.error_code.as_deref().and_then(text),
            Field::Error => self.error_text().map(|text| Value::Text(text.into())),
            Field::Latency => row.latency_ns.and_then(number),
            Field::Finding => {
                self.broken().map(|broken| Value::Any(broken.iter().filter_map(|(rule, _)| text(rule)).collect()))
            }
            Field::Severity => self
                .broken()
                .map(|broken| Value::Any(broken.iter().filter_map(|(_, severity)| number(*severity as u8)).collect())),
            Field::Session => {
                let start = &self.session.start;
                Some(Value::Any([text(&start.name), text(&start.uuid)].into_iter().flatten().collect()))
            }
            Field::Server => identity.server.as_deref().and_then(text),
            Field::Client => identity.client.as_deref().and_then(text),
            Field::Revision => identity.revision.as_deref().and_then(text),
            Field::Era => era_word(self.session).and_then(number),
            Field::Transport => number(transport_word(self.session)),
            Field::Exchange => self.listed.exchange.and_then(number),
            Field::Conversation => self.listed.conversation.and_then(|conversation| number(conversation.0)),
            Field::HttpStatus => {
                let exchange = self.store.exchange(self.session.id, self.listed.exchange?).ok()??;
                exchange.status.and_then(number)
            }
            Field::HttpMethod => {
                let exchange = self.store.exchange(self.session.id, self.listed.exchange?).ok()??;
                Some(Value::Text(exchange.verb.into()))
            }
            Field::Done => done.and_then(|done| number(done.deed.code())),
            Field::Held => done.filter(|done| was_held(done)).and_then(|done| number(done.held_ns)),
            Field::By => done.and_then(|done| text(&done.by)),
            Field::Fault => done.and_then(|done| number(u8::from(done.fault))),
            Field::Body => Some(Value::Bytes(self.this().into())),
        }
    }

    fn json(&self, root: Root) -> Option<Node<'_>> {
        match root {
            Root::This => Some(Node::new(self.this())),
            Root::Request => self.request(),
            Root::Response => self.response(),
            Root::Arguments => self.request()?.at(&["params", "arguments"]),
            Root::Result => self.response()?.get("result"),
        }
    }

    fn header(&self, name: &str) -> Vec<Cow<'_, [u8]>> {
        let Some(number) = self.listed.exchange else {
            return Vec::new();
        };
        let Ok(Some(exchange)) = self.store.exchange(self.session.id, number) else {
            return Vec::new();
        };
        let heads = [Some(&exchange.request), exchange.response.as_ref()];
        let fields = heads.into_iter().flatten().flat_map(|head| head.fields());
        fields.filter(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_vec().into()).collect()
    }
}
