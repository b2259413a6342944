//! The match key: what two requests have in common when one is the other again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tap_jsonrpc::Node;

use crate::canonical::{Trails, Writer};
use crate::path::{Side, Step};
use crate::rules::Rules;
use crate::scalar::said;
use crate::status::Status;

/// A longer canonical form is kept as its hash, so that an index of a large recording stays small, bytes.
const KEPT_BYTES: usize = 256;

/// Requests whose method alone is their key: what they carry says who asks, not what is asked.
const METHOD_ALONE: [&str; 3] = ["initialize", "server/discover", "ping"];

/// Lists that come in pages: the cursor is the server's, so the position in the walk counts in its place.
const LISTS: [&str; 5] = ["tools/list", "prompts/list", "resources/list", "resources/templates/list", "tasks/list"];

/// Requests that may take several rounds (2026-07-28, `basic/patterns/mrtr`).
const IN_ROUNDS: [&str; 3] = ["tools/call", "prompts/get", "resources/read"];

/// Where in a walk through pages, or in the rounds of a call, a request is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A page of a list, from 0; or a round of a call, from 0.
    Number(u32),
    /// A cursor or state that no answer gave, as it was written.
    Unknown(Box<[u8]>),
}

impl Place {
    /// The first page or round.
    pub const FIRST: Self = Self::Number(0);
}

/// What two requests have in common when one is the other again: the method, and the parameters in one spelling, less `_meta`
/// and what the server made up. Requests are the same if their keys are equal.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchKey {
    method: Box<str>,
    name: Option<Box<str>>,
    canonical: Box<[u8]>,
    place: Place,
    is_pattern: bool,
}

impl MatchKey {
    /// The key of a request or notification as it was on the wire; `None` when it has no method.
    ///
    /// A page of a list has the place that its cursor says: [`Walks`] knows which that is.
    #[must_use]
    pub fn of(message: &[u8], rules: &Rules) -> Option<Self> {
        let request = Request::read(message)?;
        let dials = rules.dials(request.name.as_deref());
        let mut writer = Writer::new(&dials, u64::MAX);
        let root = [Step::Member("params".into())];
        match (&dials.key, request.params) {
            _ if METHOD_ALONE.contains(&&*request.method) => {}
            (Some(chosen), Some(params)) => writer.write_chosen(params, chosen, Side::Request, &root),
            (None, Some(params)) if params.is_object() => {
                let trails = Trails::start(&dials, Side::Request).step(&dials, &root[0]);
                writer.write_without(params, &trails, request.left_out());
            }
            (None, Some(params)) => {
                writer.write(params, &Trails::start(&dials, Side::Request).step(&dials, &root[0]), 0);
            }
            (_, None) => writer.out.extend_from_slice(b"{}"),
        }
        let is_pattern = writer.has_placeholder;
        let place = request.place_token().map_or(Place::FIRST, |token| Place::Unknown(token.into()));
        Some(Self {
            method: request.method.into(),
            name: request.name.map(String::into_boxed_str),
            canonical: shortened(writer.out),
            place,
            is_pattern,
        })
    }

    /// The method.
    #[must_use]
    pub fn method(&self) -> &str {
        &self.method
    }

    /// The name of the tool or prompt, or the address of the resource.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Whether a string of it is a placeholder or holds one: then requests with another key may be meant too, which
    /// [`compare`](crate::compare()) tells.
    #[must_use]
    pub fn is_pattern(&self) -> bool {
        self.is_pattern
    }

    /// Which page or round it is.
    #[must_use]
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// The same, of another page or round.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

/// What of a request tells which it is.
#[derive(Debug, Clone)]
pub(crate) struct Request<'a> {
    pub(crate) method: String,
    pub(crate) name: Option<String>,
    pub(crate) params: Option<Node<'a>>,
}

impl<'a> Request<'a> {
    pub(crate) fn read(message: &'a [u8]) -> Option<Self> {
        let [method, params] = Node::new(message).pick(["method", "params"]);
        let method = method?.text()?.into_owned();
        let name = params.and_then(|params| {
            let [name, uri] = params.pick(["name", "uri"]);
            match method.as_str() {
                "tools/call" | "prompts/get" => name,
                "resources/read" | "resources/subscribe" | "resources/unsubscribe" => uri,
                _ => None,
            }
        });
        let name = name.and_then(Node::text).map(std::borrow::Cow::into_owned);
        Some(Self { method, name, params })
    }

    /// Members of the parameters that are no part of what is asked.
    pub(crate) fn left_out(&self) -> &'static [&'static str] {
        match self.method.as_str() {
            method if LISTS.contains(&method) => &["_meta", "cursor"],
            method if IN_ROUNDS.contains(&method) => &["_meta", "inputResponses", "requestState"],
            method if method.starts_with("tasks/") => &["_meta", "taskId"],
            _ => &["_meta"],
        }
    }

    /// What it hands back to the server, so that that knows where it is.
    fn place_token(&self) -> Option<Vec<u8>> {
        let key = match self.method.as_str() {
            method if LISTS.contains(&method) => "cursor",
            method if IN_ROUNDS.contains(&method) => "requestState",
            _ => return None,
        };
        let token = self.params?.get(key).filter(|token| !token.is_null())?;
        Some(said(token.bytes()).into_owned())
    }

    fn answers_questions(&self) -> bool {
        let params = self.params.filter(|_| IN_ROUNDS.contains(&self.method.as_str()));
        params.is_some_and(|params| params.get("inputResponses").is_some() || params.get("requestState").is_some())
    }
}

fn shortened(canonical: Vec<u8>) -> Box<[u8]> {
    if canonical.len() <= KEPT_BYTES {
        return canonical.into();
    }
    // Two hashes of 64 bits that have nothing in common, and the length. What is short begins with another byte.
    let mut kept = vec![0xff];
    kept.extend_from_slice(&(canonical.len() as u64).to_le_bytes());
    for salt in [0_u8, 1] {
        let mut hasher = DefaultHasher::new();
        salt.hash(&mut hasher);
        canonical.hash(&mut hasher);
        kept.extend_from_slice(&hasher.finish().to_le_bytes());
    }
    kept.into()
}

/// Keys of the requests of one session, in order: knows which page of a list a cursor means, and which round of a call.
///
/// Give it each request with [`key`](Self::key), and each answer with [`answered`](Self::answered).
#[derive(Debug, Clone, Default)]
pub struct Walks {
    /// By the key of the first page or round and what the server gave: which one is meant.
    places: HashMap<(MatchKey, Box<[u8]>), u32>,
    /// How many rounds a call has had that was given no state.
    rounds: HashMap<MatchKey, u32>,
}

impl Walks {
    /// Nothing was asked yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The key of a request, with its page or round.
    #[must_use]
    pub fn key(&self, message: &[u8], rules: &Rules) -> Option<MatchKey> {
        let key = MatchKey::of(message, rules)?;
        let request = Request::read(message)?;
        let first = || key.clone().at(Place::FIRST);
        let place = match (&key.place, request.answers_questions()) {
            (Place::Unknown(token), _) => match self.places.get(&(first(), token.clone())) {
                Some(number) => Place::Number(*number),
                None => key.place.clone(),
            },
            (Place::Number(_), true) => Place::Number(self.rounds.get(&first()).copied().unwrap_or(1)),
            (Place::Number(_), false) => Place::FIRST,
        };
        Some(key.at(place))
    }

    /// Whether an answer gives something to go on from: there is something to [remember](Self::answered).
    #[must_use]
    pub fn goes_on(answer: &[u8]) -> bool {
        let given =
            Node::new(answer).get("result").map(|result| result.pick(["nextCursor", "requestState", "resultType"]));
        given.is_some_and(|[cursor, state, kind]| {
            cursor.is_some() || state.is_some() || kind.is_some_and(|kind| !kind.is_text("complete"))
        })
    }

    /// Remembers what the answer to a request gave: a cursor for the next page, or a state for the next round.
    pub fn answered(&mut self, key: &MatchKey, answer: &[u8]) {
        let Place::Number(number) = key.place else {
            return;
        };
        let next = number.saturating_add(1);
        let answer = Node::new(answer);
        let Some([cursor, state]) = answer.get("result").map(|result| result.pick(["nextCursor", "requestState"]))
        else {
            return;
        };
        let first = key.clone().at(Place::FIRST);
        let is_question = Status::of(Some(answer)) == Status::InputRequired;
        let given = if is_question { state } else { cursor };
        if is_question {
            self.rounds.insert(first.clone(), next);
        }
        if let Some(given) = given.filter(|given| !given.is_null()) {
            self.places.insert((first, said(given.bytes()).into()), next);
        }
    }
}
