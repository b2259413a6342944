//! What a server offers, as it was listed up to a message; how that changed since it was listed before, and since the last
//! session of the same server.
//!
//! Only the frames that are about lists are followed: which these are is in the rows.

mod kept;
mod told;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use bytes::Bytes;
use tap_compare::{Dials, DriftClass, ItemState, ListKind, Markers, drift};
use tap_inspector::{Answer, Difference, OfferChange, OfferKind, OfferLine, SessionKey, Ticket, ToolsAnswer};
use tap_jsonrpc::Node;
use tap_session::{At, Follower, HttpSessionNumber, Lens, List, Listed, Lists, Meaning, Tool};
use tap_store::{Session, SessionId, Store, StoreError, Transport};

pub(super) use self::kept::Kept;
use self::told::{arguments, marks, n_hidden};
use super::super::asked::{Answers, Opened};
use crate::counting::written;
use crate::following::last_seq;
use crate::reference::shortest;

/// What lists are made of: requests and answers, what they depend on, and what says that they changed.
const METHODS: [&str; 10] = [
    "initialize",
    "notifications/initialized",
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
];

/// How many lines are told.
const LINES: usize = 2_000;

/// How many changes within a session are kept.
const CHANGES: usize = 2_000;

/// How many earlier sessions are looked at for one in which something was listed.
const EARLIER: usize = 20;

/// How many changes of one definition are told.
const TOLD: usize = 50;

const KINDS: [OfferKind; 4] = [OfferKind::Tool, OfferKind::Prompt, OfferKind::Resource, OfferKind::Template];

/// Definitions by their names, in the order in which they were listed.
type Items = Vec<(Arc<str>, Bytes)>;

/// Something that is different in a list.
struct Differs {
    name: Arc<str>,
    what: Difference,
    /// Whom it matters to.
    class: DriftClass,
    /// What changed, the worst first, with whom that matters to.
    told: Vec<(DriftClass, String)>,
    /// What is there no more.
    gone: Option<Bytes>,
}

/// The same, when it was listed again.
struct Change {
    seq: u64,
    kind: OfferKind,
    differs: Differs,
}

/// What was listed in a session, up to some message.
#[derive(Clone)]
pub(super) struct Offered {
    key: SessionKey,
    conversation: Option<HttpSessionNumber>,
    /// All up to this message was looked at.
    through: u64,
    follower: Follower,
    /// The newest complete list of each kind.
    complete: [Option<Items>; KINDS.len()],
    /// Which lists were complete with which message.
    listed: Vec<(OfferKind, u64)>,
    changes: Vec<Arc<Change>>,
    /// Calls and failures by method and name.
    called: HashMap<(Arc<str>, Arc<str>), (u64, u64)>,
}

/// What was listed last in the newest earlier session of the same server.
pub(super) struct Earlier {
    /// Of which session it is an earlier one.
    of: SessionKey,
    /// How it is named, and its lists; `None` where there is none.
    found: Option<(String, [Items; KINDS.len()])>,
}

/// Answers a question: first what is offered, then how it differs from the last session.
pub(super) fn tools(
    kept: &mut Kept,
    opened: &Opened,
    answers: &Answers,
    ticket: Ticket,
    key: SessionKey,
    seq: u64,
) -> Result<(), StoreError> {
    let (store, id) = (&opened.store, SessionId(key.0));
    if !store.catch_up_while(id, |_| !answers.is_withdrawn(ticket))? {
        return Ok(());
    }
    let sessions = store.sessions()?;
    let Some(session) = sessions.iter().find(|session| session.id == id) else {
        answers.fail(Some(ticket), "there is no such session any more".into());
        return Ok(());
    };
    let seq = seq.min(last_seq(store, id)?);
    let conversation = match session.start.transport {
        Transport::Http => conversation_at(store, id, seq)?,
        Transport::Stdio => None,
    };
    let mut offered = kept.begin(key, conversation, seq);
    if !kept.advance(&mut offered, store, seq, || answers.is_withdrawn(ticket))? {
        kept.offered = Some(offered);
        return Ok(());
    }
    let offered = kept.offered.insert(offered);
    if kept.earlier.as_ref().is_none_or(|earlier| earlier.of != key) {
        if !answers.give(ticket, Answer::Tools(Box::new(offered.told(seq, None, false)))) {
            return Ok(());
        }
        let found = earlier(store, &sessions, session, || answers.is_withdrawn(ticket))?;
        if answers.is_withdrawn(ticket) {
            return Ok(());
        }
        kept.earlier = Some(Earlier { of: key, found });
    }
    let found = kept.earlier.as_ref().and_then(|earlier| earlier.found.as_ref());
    answers.give(ticket, Answer::Tools(Box::new(offered.told(seq, found, true))));
    Ok(())
}

/// The session of MCP that a message is of, or the newest one before it that there is.
fn conversation_at(store: &Store, id: SessionId, seq: u64) -> Result<Option<HttpSessionNumber>, StoreError> {
    let row = store.row(id, At { seq, member: 0 })?;
    if let Some(number) = row.and_then(|listed| listed.conversation) {
        return Ok(Some(number));
    }
    Ok(store.frames_about(id, &METHODS, 0, seq)?.into_iter().rev().find_map(|(_, number)| number))
}

/// The newest earlier session of the same server in which something was listed.
fn earlier(
    store: &Store,
    sessions: &[Session],
    of: &Session,
    is_withdrawn: impl Fn() -> bool,
) -> Result<Option<(String, [Items; KINDS.len()])>, StoreError> {
    let names = shortest(sessions);
    let mut candidates: Vec<(&Session, String)> = sessions
        .iter()
        .zip(names)
        .filter(|(session, _)| session.id != of.id && session.start.name == of.start.name)
        .filter(|(session, _)| session.start.opened_unix_ns <= of.start.opened_unix_ns && session.id < of.id)
        .collect();
    candidates.sort_by_key(|(session, _)| std::cmp::Reverse((session.start.opened_unix_ns, session.id)));
    for (session, name) in candidates.into_iter().take(EARLIER) {
        if is_withdrawn() {
            return Ok(None);
        }
        if !store.catch_up_while(session.id, |_| !is_withdrawn())? {
            return Ok(None);
        }
        let conversation = match session.start.transport {
            Transport::Http => conversation_at(store, session.id, u64::MAX)?,
            Transport::Stdio => None,
        };
        let mut offered = Offered::new(SessionKey(session.id.0), conversation);
        offered.follow(store, u64::MAX, &is_withdrawn)?;
        let lists = KINDS.map(|kind| items(&offered.follower.state().lists, kind));
        if lists.iter().any(|items| !items.is_empty()) {
            return Ok(Some((name, lists)));
        }
    }
    Ok(None)
}

fn items(lists: &Lists, kind: OfferKind) -> Items {
    let others = |list: &List<Listed>| list.items.iter().map(|item| (item.name.clone(), item.text.0.clone())).collect();
    match kind {
        OfferKind::Tool => {
            let tools = &lists.tools.items;
            tools.iter().map(|tool: &Arc<Tool>| (tool.name.clone(), tool.text.0.clone())).collect()
        }
        OfferKind::Prompt => others(&lists.prompts),
        OfferKind::Resource => others(&lists.resources),
        OfferKind::Template => others(&lists.resource_templates),
    }
}

/// The answer with which a list was complete, if it is.
fn complete_at(lists: &Lists, kind: OfferKind) -> Option<At> {
    let (complete, page) = match kind {
        OfferKind::Tool => (lists.tools.complete, lists.tools.newest_page),
        OfferKind::Prompt => (lists.prompts.complete, lists.prompts.newest_page),
        OfferKind::Resource => (lists.resources.complete, lists.resources.newest_page),
        OfferKind::Template => (lists.resource_templates.complete, lists.resource_templates.newest_page),
    };
    page.filter(|_| complete)
}

fn n_items(lists: &Lists) -> u64 {
    lists.tools.n_items + lists.prompts.n_items + lists.resources.n_items + lists.resource_templates.n_items
}

impl Offered {
    fn new(key: SessionKey, conversation: Option<HttpSessionNumber>) -> Self {
        Self {
            key,
            conversation,
            through: 0,
            follower: Follower::from_the_middle(),
            complete: [const { None }; KINDS.len()],
            listed: Vec::new(),
            changes: Vec::new(),
            called: HashMap::new(),
        }
    }

    /// Looks on up to a message. False when that was withdrawn.
    fn advance(&mut self, store: &Store, seq: u64, is_withdrawn: impl Fn() -> bool) -> Result<bool, StoreError> {
        let id = SessionId(self.key.0);
        let after = self.through;
        if !self.follow(store, seq, is_withdrawn)? {
            return Ok(false);
        }
        for called in store.called(id, self.conversation, after, seq)? {
            let (n_calls, n_errors) = self.called.entry((called.method, called.target)).or_default();
            *n_calls += called.n_calls;
            *n_errors += called.n_errors;
        }
        Ok(true)
    }

    /// Looks at lists alone. False when that was withdrawn.
    fn follow(&mut self, store: &Store, seq: u64, is_withdrawn: impl Fn() -> bool) -> Result<bool, StoreError> {
        let id = SessionId(self.key.0);
        let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
        let about = store.frames_about(id, &METHODS, self.through, seq)?;
        // Nothing is left half: what was followed cannot be followed again.
        if is_withdrawn() {
            return Ok(false);
        }
        self.through = seq;
        for (seq, conversation) in about {
            if self.conversation.is_some() && conversation != self.conversation {
                continue;
            }
            let Some(frame) = store.frame(id, seq)? else {
                continue;
            };
            meaning.clear();
            self.follower.follow(&frame, &mut lens, &mut meaning);
            self.look(seq);
        }
        Ok(true)
    }

    /// Looks whether a list was completed with a message, and what is different in it.
    fn look(&mut self, seq: u64) {
        let lists = self.follower.state().lists.clone();
        for (kind, complete) in KINDS.into_iter().zip(&mut self.complete) {
            if complete_at(&lists, kind).is_none_or(|at| at.seq != seq) {
                continue;
            }
            let now = items(&lists, kind);
            if let Some(before) = complete {
                let room = CHANGES.saturating_sub(self.changes.len());
                let differ = compared(kind, before, &now).into_iter().take(room);
                self.changes.extend(differ.map(|differs| Arc::new(Change { seq, kind, differs })));
            }
            self.listed.push((kind, seq));
            *complete = Some(now);
        }
    }

    fn told(&self, seq: u64, earlier: Option<&(String, [Items; KINDS.len()])>, complete: bool) -> ToolsAnswer {
        let lists = &self.follower.state().lists;
        let mut lines = Vec::new();
        for (index, kind) in KINDS.into_iter().enumerate() {
            let now = items(lists, kind);
            let mut since: HashMap<Arc<str>, Differs> = HashMap::new();
            let mut gone: BTreeMap<Arc<str>, Bytes> = BTreeMap::new();
            if let Some(before) = earlier.and_then(|(_, lists)| lists.get(index)) {
                // What was not listed yet is not gone.
                let is_listed = complete_at(lists, kind).is_some();
                for differs in compared(kind, before, &now) {
                    if differs.what == Difference::Removed && !is_listed {
                        continue;
                    }
                    gone.extend(differs.gone.clone().map(|old| (differs.name.clone(), old)));
                    since.insert(differs.name.clone(), differs);
                }
            }
            let here = self.changes.iter().filter(|change| change.kind == kind);
            gone.extend(here.filter_map(|change| Some((change.differs.name.clone(), change.differs.gone.clone()?))));
            let names: HashSet<&str> = now.iter().map(|(name, _)| &**name).collect();
            gone.retain(|name, _| !names.contains(&**name));
            for (name, definition) in now.iter().chain(&gone.into_iter().collect::<Items>()) {
                if lines.len() > LINES {
                    break;
                }
                lines.push(self.line(kind, name, definition, since.get(name), earlier));
            }
        }
        lines.truncate(LINES);
        ToolsAnswer {
            seq,
            complete,
            n_left_out: n_items(lists).saturating_sub(lines.len() as u64),
            lines,
            listed: KINDS.into_iter().filter_map(|kind| self.when(kind)).collect(),
            earlier: earlier.map(|(name, _)| name.clone()),
        }
    }

    /// When a kind was listed: `tools #7, #36`.
    fn when(&self, kind: OfferKind) -> Option<String> {
        let all: Vec<u64> = self.listed.iter().filter(|(listed, _)| *listed == kind).map(|(_, seq)| *seq).collect();
        let told: Vec<String> = all.iter().rev().take(4).rev().map(|seq| format!("#{seq}")).collect();
        let more = if all.len() > told.len() { format!("… ({}) ", all.len()) } else { String::new() };
        (!all.is_empty()).then(|| format!("{}s {more}{}", kind.name(), told.join(", ")))
    }

    fn line(
        &self,
        kind: OfferKind,
        name: &Arc<str>,
        definition: &Bytes,
        since: Option<&Differs>,
        earlier: Option<&(String, [Items; KINDS.len()])>,
    ) -> OfferLine {
        let node = Node::new(definition);
        let here: Vec<&Arc<Change>> =
            self.changes.iter().filter(|change| change.kind == kind && change.differs.name == *name).collect();
        let mut changes: Vec<OfferChange> =
            here.iter().map(|change| change.differs.since(format!("at #{}", change.seq))).collect();
        if let (Some(differs), Some((reference, _))) = (since, earlier) {
            changes.push(differs.since(format!("since {reference}")));
        }
        let method: Arc<str> = match kind {
            OfferKind::Tool => "tools/call",
            OfferKind::Prompt => "prompts/get",
            OfferKind::Resource | OfferKind::Template => "resources/read",
        }
        .into();
        let (n_calls, n_errors) = self.called.get(&(method, name.clone())).copied().unwrap_or_default();
        let title = node.get("title").or_else(|| node.at(&["annotations", "title"]));
        OfferLine {
            kind,
            name: name.to_string(),
            title: title.and_then(Node::text).map(std::borrow::Cow::into_owned),
            description: node.get("description").and_then(Node::text).map(std::borrow::Cow::into_owned),
            arguments: arguments(kind, node),
            marks: marks(node),
            filter: match kind {
                OfferKind::Tool => format!("tool={}", written(name)),
                OfferKind::Prompt => format!("prompt={}", written(name)),
                OfferKind::Resource => format!("uri={}", written(name)),
                OfferKind::Template => String::new(),
            },
            n_calls,
            n_errors,
            n_hidden: n_hidden(definition),
            definition: definition.to_vec().into(),
            here: here.last().map(|change| change.differs.what),
            before: since.map(|differs| differs.what),
            changes,
        }
    }
}

impl Differs {
    fn since(&self, since: String) -> OfferChange {
        OfferChange { since, what: self.what, class: self.class, told: self.told.clone() }
    }
}

fn nodes(items: &Items) -> Vec<Node<'_>> {
    items.iter().map(|(_, text)| Node::new(text)).collect()
}

/// How a list differs from another one, as `mcp-tap diff` judges it: what of which name, whom it matters to, and what is gone.
fn compared(kind: OfferKind, before: &Items, now: &Items) -> Vec<Differs> {
    let kind = match kind {
        OfferKind::Tool => ListKind::Tools,
        OfferKind::Prompt => ListKind::Prompts,
        OfferKind::Resource => ListKind::Resources,
        OfferKind::Template => ListKind::Templates,
    };
    let (old, new) = (nodes(before), nodes(now));
    let drift = drift(kind, &old, &new, &Dials::default(), &mut Markers::new());
    let differs = drift.items.into_iter().map(|item| {
        let what = match item.state {
            ItemState::Added => Difference::Added,
            ItemState::Removed => Difference::Removed,
            ItemState::Changed => Difference::Changed,
        };
        let gone = before.iter().find(|(name, _)| what == Difference::Removed && **name == *item.name);
        let mut told: Vec<_> = item.changes.into_iter().take(TOLD).map(|change| (change.class, change.words)).collect();
        if item.n_changes > told.len() {
            told.push((item.class, "… and more".into()));
        }
        Differs { what, class: item.class, told, gone: gone.map(|(_, text)| text.clone()), name: item.name.into() }
    });
    differs.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_compared_by_name() {
        let list = |items: &[(&str, &'static str)]| -> Items {
            items.iter().map(|(name, text)| (Arc::from(*name), Bytes::from_static(text.as_bytes()))).collect()
        };
        let before = list(&[
            ("a", r#"{"name":"a","description":"1"}"#),
            ("b", r#"{"name":"b"}"#),
            ("c", r#"{"name":"c","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}"#),
            ("d", r#"{"name":"d","title":"\u0064"}"#),
        ]);
        let now = list(&[
            ("d", r#"{ "title":"d","name" : "d"}"#),
            (
                "c",
                r#"{"name":"c","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}"#,
            ),
            ("new", r#"{"name":"new"}"#),
            ("a", r#"{"name":"a","description":"2"}"#),
        ]);
        let found = compared(OfferKind::Tool, &before, &now);
        let told = |it: &Differs| it.told.iter().map(|(_, words)| words.clone()).collect::<Vec<_>>().join(" ");
        let is_gone = |it: &Differs| it.gone.is_some();
        let found: Vec<_> = found.iter().map(|it| (&*it.name, it.what, it.class, told(it), is_gone(it))).collect();
        let none = String::new;
        assert_eq!(
            found,
            [
                ("a", Difference::Changed, DriftClass::Prompt, "description changed".to_owned(), false),
                ("b", Difference::Removed, DriftClass::Breaking, none(), true),
                ("c", Difference::Changed, DriftClass::Breaking, "required +x".to_owned(), false),
                ("new", Difference::Added, DriftClass::Compatible, none(), false),
            ]
        );
    }
}
