//! What a server offers, and how that changed.

use std::sync::Arc;

use tap_compare::DriftClass;

use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay, Pane, View};
use crate::open::Open;
use crate::tree::Tree;

/// How often a session that grows is looked at again, nanoseconds.
const AGAIN_NS: u64 = 1_000_000_000;

/// How many lines of a description are shown.
const DESCRIPTION_LINES: usize = 200;

/// How much of what changed is shown of one change.
const TOLD: usize = 20;

/// What can be offered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OfferKind {
    /// A tool.
    #[default]
    Tool,
    /// A prompt.
    Prompt,
    /// A resource.
    Resource,
    /// A template of resources.
    Template,
}

impl OfferKind {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Prompt => "prompt",
            Self::Resource => "resource",
            Self::Template => "template",
        }
    }
}

/// How something differs from what was there before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Difference {
    /// It was not there.
    Added,
    /// It is there no more.
    Removed,
    /// It is not what it was.
    Changed,
}

impl Difference {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Added => "+",
            Self::Removed => "-",
            Self::Changed => "~",
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Added => "new",
            Self::Removed => "gone",
            Self::Changed => "changed",
        }
    }
}

/// Something that changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferChange {
    /// `at #36`, `since weather.2`.
    pub since: String,
    /// How.
    pub what: Difference,
    /// Whom it matters to, the worst of it.
    pub class: DriftClass,
    /// What changed in its definition, the worst first: whom it matters to, and in a few words.
    pub told: Vec<(DriftClass, String)>,
}

/// A tool, prompt, resource or template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferLine {
    /// What it is.
    pub kind: OfferKind,
    /// Its name; of a resource its address.
    pub name: String,
    /// What people are to call it.
    pub title: Option<String>,
    /// What it is for, as a model is told.
    pub description: Option<String>,
    /// Its arguments, and whether each must be given.
    pub arguments: Vec<(String, bool)>,
    /// What it says of itself: `read-only`, `destructive`, …
    pub marks: Vec<&'static str>,
    /// The filter that its calls fit; empty where there is none.
    pub filter: String,
    /// Requests up to the message.
    pub n_calls: u64,
    /// Of these, failed.
    pub n_errors: u64,
    /// Characters in its definition that people do not see, and models read.
    pub n_hidden: u64,
    /// All of it, as it was written.
    pub definition: Arc<[u8]>,
    /// How it differs from the last list before it in this session.
    pub here: Option<Difference>,
    /// How it differs from the last list of the earlier session.
    pub before: Option<Difference>,
    /// The same in words, the oldest first.
    pub changes: Vec<OfferChange>,
}

impl OfferLine {
    /// Whom its changes matter to, the worst of them; nothing of what is new.
    pub(crate) fn class(&self) -> Option<DriftClass> {
        let old = self.changes.iter().filter(|change| change.what != Difference::Added);
        old.map(|change| change.class).max()
    }
}

/// What a server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolsAnswer {
    /// Up to the message with this number.
    pub seq: u64,
    /// No more will come for this question.
    pub complete: bool,
    /// In the order in which they were listed, what is gone at the end of its kind.
    pub lines: Vec<OfferLine>,
    /// What was too much.
    pub n_left_out: u64,
    /// When what was listed, in words: `tools #7, #36`.
    pub listed: Vec<String>,
    /// The session of the same server before this one, if there is one.
    pub earlier: Option<String>,
}

/// A line beside the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum DefinitionLine {
    Title(String),
    Change(Difference, String),
    /// What changed, and whom that matters to.
    Told(DriftClass, String),
    Warning(String),
    Text(String),
    /// A line of the tree.
    Tree(usize),
}

/// The definition of the line with the cursor.
#[derive(Debug)]
pub(crate) struct Definition {
    of: (OfferKind, String),
    width: usize,
    /// What stands above the tree.
    above: Vec<DefinitionLine>,
    pub(crate) tree: Tree,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
}

impl Definition {
    pub(crate) fn n_lines(&self) -> usize {
        self.above.len() + self.tree.lines().len()
    }

    pub(crate) fn line(&self, index: usize) -> Option<DefinitionLine> {
        match index.checked_sub(self.above.len()) {
            None => self.above.get(index).cloned(),
            Some(below) => (below < self.tree.lines().len()).then_some(DefinitionLine::Tree(below)),
        }
    }

    fn fold(&mut self, action: Action) -> bool {
        let Some(line) = self.cursor.checked_sub(self.above.len()) else {
            return action != Action::Left;
        };
        if action == Action::Left {
            let parent = self.tree.parent(line);
            return match parent {
                Some(parent) => {
                    self.cursor = self.above.len() + parent;
                    true
                }
                None => false,
            };
        }
        self.tree.toggle(line);
        true
    }

    fn fit(&mut self, height: usize) {
        self.cursor = self.cursor.min(self.n_lines().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
    }
}

/// What is known of it, and where the cursor is.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) shown: Option<ToolsAnswer>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    pub(crate) pane: Pane,
    pub(crate) zoomed: bool,
    pub(crate) definition: Option<Definition>,
    /// It is not what is shown now.
    stale: bool,
    /// Up to which message was asked for last.
    asked: Option<u64>,
    ticket: Option<Ticket>,
    asked_unix_ns: u64,
}

impl Default for Tools {
    fn default() -> Self {
        Self {
            shown: None,
            cursor: 0,
            top: 0,
            pane: Pane::List,
            zoomed: false,
            definition: None,
            stale: false,
            asked: None,
            ticket: None,
            asked_unix_ns: 0,
        }
    }
}

impl Tools {
    /// Moves the cursor of the pane that has the keys.
    pub(crate) fn move_by(&mut self, rows: isize) {
        match (self.pane, &mut self.definition) {
            (Pane::Detail, Some(definition)) => {
                let last = definition.n_lines().saturating_sub(1);
                definition.cursor = definition.cursor.saturating_add_signed(rows).min(last);
            }
            _ => {
                let last = self.lines().len().saturating_sub(1);
                self.cursor = self.cursor.saturating_add_signed(rows).min(last);
            }
        }
    }

    pub(crate) fn lines(&self) -> &[OfferLine] {
        self.shown.as_ref().map_or(&[], |shown| &shown.lines)
    }

    pub(crate) fn current(&self) -> Option<&OfferLine> {
        self.lines().get(self.cursor)
    }

    /// The question that is open, which is of no use any more.
    pub(crate) fn pending(&self) -> Option<Ticket> {
        self.ticket
    }

    pub(crate) fn failed(&mut self, ticket: Ticket) {
        // What was asked for stays, so that it is not asked for without end.
        self.ticket = self.ticket.filter(|asked| *asked != ticket);
    }

    fn fit(&mut self, height: usize, width: usize) {
        self.cursor = self.cursor.min(self.lines().len().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
        let Some(line) = self.shown.as_ref().and_then(|shown| shown.lines.get(self.cursor)) else {
            self.definition = None;
            self.pane = Pane::List;
            return;
        };
        let is_same = |known: &&mut Definition| {
            known.width == width && known.of.0 == line.kind && known.of.1 == line.name && !self.stale
        };
        if self.definition.as_mut().filter(is_same).is_none() {
            let old = self.definition.take();
            self.definition = Some(definition(line, width, old));
            self.stale = false;
        }
        if let Some(definition) = &mut self.definition {
            definition.fit(height);
        }
    }
}

/// What is shown of a definition. Where it is that of `old`, what is folded and the cursor stay.
fn definition(line: &OfferLine, width: usize, old: Option<Definition>) -> Definition {
    let mut above = vec![DefinitionLine::Title(match &line.title {
        Some(title) => format!("{}  {title}", line.name),
        None => line.name.clone(),
    })];
    if line.n_hidden > 0 {
        let n = tap_text::counted(line.n_hidden, "hidden character");
        above.push(DefinitionLine::Warning(format!("! {n}: people do not see them, and models read them")));
    }
    for change in &line.changes {
        above.push(DefinitionLine::Change(change.what, format!("{} {}", change.what.word(), change.since)));
        for (class, words) in change.told.iter().take(TOLD) {
            let text = tap_text::shown(&format!("{}  {words}", class.name()), false);
            let wrapped = tap_text::wrapped(&text, 0, Some(width.saturating_sub(5).max(10)));
            above.extend(wrapped.lines().map(|text| DefinitionLine::Told(*class, text.to_owned())));
        }
        if change.told.len() > TOLD {
            above.push(DefinitionLine::Told(change.class, format!("… and {} more", change.told.len() - TOLD)));
        }
    }
    if let Some(description) = &line.description {
        for text in description.lines() {
            let wrapped = tap_text::wrapped(&tap_text::shown(text, false), 0, Some(width.saturating_sub(2).max(10)));
            above.extend(wrapped.lines().map(|text| DefinitionLine::Text(text.to_owned())));
            if above.len() > DESCRIPTION_LINES {
                above.truncate(DESCRIPTION_LINES);
                above.push(DefinitionLine::Warning("… all of it is in the definition".into()));
                break;
            }
        }
    }
    above.push(DefinitionLine::Text(String::new()));
    let of = (line.kind, line.name.clone());
    let same = old.filter(|old| old.of == of);
    let (cursor, top) = same.as_ref().map_or((0, 0), |old| (old.cursor, old.top));
    let tree = match same {
        Some(old) if old.tree.is_of(&line.definition) => old.tree,
        _ => Tree::new(line.definition.clone(), false),
    };
    Definition { of, width, above, tree, cursor, top }
}

impl Open {
    /// The message that is looked at, and up to which one it is told what is offered: a row of a call stands for both halves.
    pub(crate) fn tools_as_of(&self) -> (u64, u64) {
        match (self.at(), self.rows.current()) {
            (Some(at), Some(row)) if at == row.at() => {
                (at.seq, row.row.pair.map_or(at.seq, |pair| pair.seq.max(at.seq)))
            }
            (Some(at), _) => (at.seq, at.seq),
            (None, _) => (self.last_seq, self.last_seq),
        }
    }
}

impl Inspector {
    /// Does what a key asks for in this view.
    pub(crate) fn act_in_tools(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let tools = &mut open.tools;
        match action {
            Action::First => tools.move_by(isize::MIN / 2),
            Action::Last => tools.move_by(isize::MAX / 2),
            Action::Zoom => tools.zoomed = !tools.zoomed,
            Action::NextPane if tools.definition.is_some() => {
                tools.pane = if tools.pane == Pane::List { Pane::Detail } else { Pane::List };
            }
            Action::Right if tools.pane == Pane::List && tools.definition.is_some() => tools.pane = Pane::Detail,
            Action::Left | Action::Right | Action::Open if tools.pane == Pane::Detail => {
                if let Some(definition) = &mut tools.definition
                    && !definition.fold(action)
                {
                    tools.pane = Pane::List;
                }
            }
            Action::CopyMessage => {
                if let Some(line) = tools.current() {
                    effects.push(Effect::Copy(String::from_utf8_lossy(&line.definition).into_owned()));
                }
            }
            Action::Open => {
                let filter = tools.current().map(|line| line.filter.clone()).unwrap_or_default();
                if filter.is_empty() {
                    return self.say("its calls are those of the resources that are made with it", false);
                }
                self.view = View::Timeline;
                self.set_filter(&filter, effects);
            }
            _ => {}
        }
    }

    /// One level back inside this view; false where it is to be left.
    pub(crate) fn back_in_tools(&mut self) -> bool {
        let Some(tools) = self.open.as_mut().map(|open| &mut open.tools) else {
            return false;
        };
        let was = (tools.pane == Pane::Detail, tools.zoomed);
        tools.pane = Pane::List;
        tools.zoomed = false;
        was.0 || was.1
    }

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_tools(&mut self, effects: &mut Vec<Effect>) {
        let (height, width) = self.tools_layout();
        // Who writes a filter is offered their names.
        let is_written = matches!(self.overlay, Some(Overlay::Filter(_))) && self.view != View::Sessions;
        let is_wanted = is_written && self.open.as_ref().is_some_and(|open| open.tools.shown.is_none());
        let is_shown = self.view == View::Tools || is_wanted;
        let (now, next) = (self.now_unix_ns, self.ticket());
        let Some(open) = &mut self.open else {
            return;
        };
        if !is_shown {
            if let Some(old) = open.tools.ticket.take() {
                effects.push(Effect::Cancel(old));
                open.tools.asked = None;
            }
            return;
        }
        open.tools.fit(height, width);
        let seq = open.tools_as_of().1;
        let tools = &mut open.tools;
        let is_due = now.saturating_sub(tools.asked_unix_ns) >= AGAIN_NS || !open.live || tools.asked.is_none();
        // With each message that comes, the cursor may move: one question is answered before the next.
        if tools.asked == Some(seq) || (tools.ticket.is_some() && open.live) || !is_due {
            return;
        }
        effects.extend(tools.ticket.replace(next).map(Effect::Cancel));
        tools.asked = Some(seq);
        tools.asked_unix_ns = now;
        effects.push(Effect::Ask(next, Query::Tools(open.session.key, seq)));
    }

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_tools(&mut self, ticket: Ticket, answer: ToolsAnswer) {
        let (height, width) = self.tools_layout();
        let Some(tools) = self.open.as_mut().map(|open| &mut open.tools).filter(|tools| tools.ticket == Some(ticket))
        else {
            return;
        };
        if answer.complete {
            tools.ticket = None;
        }
        let name = tools.current().map(|line| (line.kind, line.name.clone()));
        tools.shown = Some(answer);
        tools.stale = true;
        let is_it = |line: &OfferLine| name.as_ref().is_some_and(|name| name.0 == line.kind && name.1 == line.name);
        tools.cursor = tools.lines().iter().position(is_it).unwrap_or(tools.cursor);
        tools.fit(height, width);
    }
}
