//! What a server made up when it was recorded, and what the live one made up in its place: the client hands back the latter.
//!
//! Cursors, states of rounds and ids of tasks are told by where they stand. Any other value is one if it is a string of 8
//! characters or more that came in an answer before the recorded client ever said it, and that the client then handed over as
//! an argument or address.

use std::borrow::Cow;
use std::collections::HashMap;

use tap_compare::{ListKind, Path, Step};
use tap_jsonrpc::Node;
use tap_protocol::meta;

use super::edit::{Edits, json_text};
use super::method_of;
use crate::message::{Nature, Role};
use crate::script::Script;

/// A shorter string is a word that both sides know rather than something that the server made up, characters.
const LEAST_CHARACTERS: usize = 8;

/// How deep values are looked at.
const DEPTH_LIMIT: usize = 64;

/// Something that the live server made up in place of what the recorded one had made up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correlated {
    /// What was recorded.
    pub recorded: String,
    /// What is handed back in its place.
    pub live: String,
    /// Where in the answer both stood.
    pub path: Path,
    /// The number of the recorded answer's frame.
    pub number: u64,
}

/// What tells by its place that the client hands it back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Handle {
    Cursor,
    State,
    Task,
}

/// What the live server gave in place of a handle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Given {
    /// This one.
    Value(String),
    /// A result without one.
    Nothing,
    /// No result.
    NoResult,
}

/// Where each stands in a result.
const GIVEN: [(Handle, &[&str]); 4] = [
    (Handle::Cursor, &["result", "nextCursor"]),
    (Handle::State, &["result", "requestState"]),
    (Handle::Task, &["result", "task", "taskId"]),
    (Handle::Task, &["result", "taskId"]),
];

/// Where messages of the server's say which task they are of.
const RELATED: [&[&str]; 2] =
    [&["result", "_meta", meta::RELATED_TASK, "taskId"], &["params", "_meta", meta::RELATED_TASK, "taskId"]];

/// What is known of values that are handed back.
#[derive(Debug, Default)]
pub(crate) struct Correlations {
    /// By value: the interaction in whose answer it first came.
    origins: HashMap<String, usize>,
    /// What is handed back in place of what was recorded. Cursors are told apart by method.
    handles: HashMap<(Handle, String, String), Given>,
    /// The longest first, so that none is taken for a part of another.
    values: Vec<Correlated>,
}

impl Correlations {
    /// Looks through a script for values that the client hands back.
    pub(super) fn of(script: &Script) -> Self {
        // By value: the first message in which the client hands it over.
        let mut handed_over: HashMap<String, usize> = HashMap::new();
        for (index, message) in script.messages().iter().enumerate() {
            let Some(body) = message.body.as_deref().filter(|_| matches!(message.role, Role::Request(_))) else {
                continue;
            };
            let [arguments, uri] = Node::new(body).get("params").map_or([None, None], |p| p.pick(["arguments", "uri"]));
            for node in [arguments, uri].into_iter().flatten() {
                each_text(node, 0, &mut |text| {
                    if text.chars().count() >= LEAST_CHARACTERS && !handed_over.contains_key(text) {
                        handed_over.insert(text.to_owned(), index);
                    }
                });
            }
        }
        let mut origins = HashMap::new();
        if handed_over.is_empty() {
            return Self::default();
        }
        for (index, message) in script.messages().iter().enumerate() {
            let (Role::Answer(interaction), Some(body)) = (message.role, message.body.as_deref()) else {
                continue;
            };
            let Some(result) = Node::new(body).get("result").filter(|_| message.nature == Nature::Result) else {
                continue;
            };
            // What is listed is the same every time, and its place means nothing.
            let is_known = is_listing(method_of(script, interaction));
            each_text(result, 0, &mut |text| {
                if handed_over.get(text).is_some_and(|first| *first > index) && !origins.contains_key(text) {
                    origins.insert(text.to_owned(), if is_known { usize::MAX } else { interaction });
                }
            });
        }
        Self { origins, ..Self::default() }
    }

    /// Takes what the live server answered in place of what was recorded; `None` if it gave no result.
    pub(super) fn learn(&mut self, script: &Script, interaction: usize, live: Option<&[u8]>, all: bool) {
        let Some(answer) = script.interactions().get(interaction).and_then(|this| this.answer) else {
            return;
        };
        let Some((number, recorded)) =
            script.messages().get(answer).and_then(|message| Some((message.number, message.body.as_deref()?)))
        else {
            return;
        };
        let method = method_of(script, interaction);
        let (recorded, live) = (Node::new(recorded), live.map(Node::new));
        for (handle, path) in GIVEN {
            let text = |node: Node<'_>| node.at(path).and_then(Node::text).map(Cow::into_owned);
            let Some(given) = text(recorded) else {
                continue;
            };
            let now = match live {
                Some(live) => text(live).map_or(Given::Nothing, Given::Value),
                None => Given::NoResult,
            };
            let key = (handle, scope(handle, method), given);
            // A task that is asked about goes on being what it was, whatever came of asking.
            if matches!(now, Given::Value(_)) || handle != Handle::Task {
                self.handles.insert(key, now);
            } else {
                self.handles.entry(key).or_insert(now);
            }
        }
        if !all || self.origins.is_empty() {
            return;
        }
        let (Some(recorded), Some(live)) = (recorded.get("result"), live.and_then(|live| live.get("result"))) else {
            return;
        };
        let mut found = Vec::new();
        let mut path = Path(vec![Step::Member("result".into())]);
        both(recorded, live, &mut path, 0, &mut |path, recorded, live| {
            let is_of_this = self.origins.get(recorded) == Some(&interaction);
            if is_of_this && recorded != live && !self.values.iter().any(|this| this.recorded == recorded) {
                found.push(Correlated { recorded: recorded.into(), live: live.into(), path: path.clone(), number });
            }
        });
        for value in found {
            if !self.values.iter().any(|this| this.recorded == value.recorded) {
                self.values.push(value);
            }
        }
        self.values.sort_by_key(|value| std::cmp::Reverse(value.recorded.len()));
    }

    /// What is handed back in place of a handle; `None` if it is not known where it came from.
    pub(super) fn handle(&self, handle: Handle, method: &str, recorded: &str) -> Option<&Given> {
        self.handles.get(&(handle, scope(handle, method), recorded.to_owned()))
    }

    /// What is handed back in place of a value.
    pub(super) fn value(&self, recorded: &str) -> Option<&str> {
        self.values.iter().find(|value| value.recorded == recorded).map(|value| value.live.as_str())
    }

    /// All that was found, in the order of the recording.
    pub(crate) fn listed(&self) -> Vec<Correlated> {
        let mut listed = self.values.clone();
        listed.sort_by(|a, b| a.number.cmp(&b.number).then_with(|| a.recorded.cmp(&b.recorded)));
        listed
    }

    /// A recorded message as it would be if the recorded server had made up what the live one did, to be held against `live`.
    pub(crate) fn as_live(&self, recorded: &[u8], live: &[u8]) -> Vec<u8> {
        let mut edits = Edits::new(recorded);
        let node = Node::new(recorded);
        for path in GIVEN.map(|(_, path)| path).into_iter().chain(RELATED) {
            let here = node.at(path).filter(|node| node.is_string());
            if let (Some(here), Some(there)) = (here, Node::new(live).at(path).filter(|node| node.is_string())) {
                edits.replace(here.bytes(), there.bytes().to_vec());
            }
        }
        if !self.values.is_empty() {
            edits.texts(node, &mut |text| {
                let found = self.values.iter().filter(|value| text.contains(&value.recorded));
                let mut found = found.peekable();
                found.peek()?;
                let new = found.fold(text.to_owned(), |text, value| text.replace(&value.recorded, &value.live));
                Some(json_text(&new))
            });
        }
        edits.finish()
    }
}

/// Cursors of one list mean nothing to another.
fn scope(handle: Handle, method: &str) -> String {
    if handle == Handle::Cursor { method.to_owned() } else { String::new() }
}

/// Whether what a method answers is what the server has, and not what it made.
fn is_listing(method: &str) -> bool {
    matches!(method, "initialize" | "server/discover") || ListKind::ALL.iter().any(|kind| kind.method() == method)
}

/// All texts in a value.
fn each_text(node: Node<'_>, depth: usize, sink: &mut dyn FnMut(&str)) {
    if depth > DEPTH_LIMIT {
        return;
    }
    if node.is_object() {
        node.members().for_each(|(_, value)| each_text(value, depth + 1, sink));
    } else if node.is_array() {
        node.elements().for_each(|value| each_text(value, depth + 1, sink));
    } else if let Some(text) = node.text() {
        match inside(&text) {
            Some(inner) => each_text(inner, depth + 1, sink),
            None => sink(&text),
        }
    }
}

/// The texts that stand at the same place of two values.
fn both(a: Node<'_>, b: Node<'_>, path: &mut Path, depth: usize, sink: &mut dyn FnMut(&Path, &str, &str)) {
    if depth > DEPTH_LIMIT {
        return;
    }
    if a.is_object() && b.is_object() {
        let members: HashMap<_, _> = b.members().map(|(key, value)| (key.text(), value)).collect();
        for (key, a) in a.members() {
            let key = key.text();
            if let Some(b) = members.get(&key) {
                path.0.push(Step::Member(key.into_owned()));
                both(a, *b, path, depth + 1, sink);
                path.0.pop();
            }
        }
    } else if a.is_array() && b.is_array() {
        for (index, (a, b)) in a.elements().zip(b.elements()).enumerate() {
            path.0.push(Step::Element(index));
            both(a, b, path, depth + 1, sink);
            path.0.pop();
        }
    } else if let (Some(a), Some(b)) = (a.text(), b.text()) {
        match (inside(&a), inside(&b)) {
            (Some(a), Some(b)) => {
                path.0.push(Step::Inside);
                both(a, b, path, depth + 1, sink);
                path.0.pop();
            }
            (None, None) => sink(path, &a, &b),
            _ => {}
        }
    }
}

/// The object or array that a text holds as JSON, as tools write it into blocks of text.
fn inside(text: &str) -> Option<Node<'_>> {
    let trimmed = text.trim();
    let may_be =
        trimmed.starts_with('{') && trimmed.ends_with('}') || trimmed.starts_with('[') && trimmed.ends_with(']');
    let is_json = may_be && serde_json::from_str::<serde::de::IgnoredAny>(trimmed).is_ok();
    is_json.then(|| Node::new(trimmed.as_bytes()))
}
