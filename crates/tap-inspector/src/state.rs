//! What was true at a message: which state is there, which is wanted, and where in it the cursor is.

use crate::data::{Fact, SessionKey, StatedFacts};
use crate::effect::{Effect, Query, Ticket};

/// The part of facts that changes with every message.
const COUNTS: &str = "so far";

/// The part that has the lists.
const LISTS: &str = "lists";

/// The state that is looked at.
#[derive(Debug, Default)]
pub(crate) struct Stated {
    pub(crate) facts: Option<StatedFacts>,
    /// Of which message and with which list it was asked for last, and the question if it is open. It stays when there is no
    /// answer, so that it is not asked for without end.
    asked: Option<(u64, Option<String>, Option<Ticket>)>,
    /// The list that is opened.
    list: Option<String>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
}

/// A line of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StateLine<'a> {
    /// What follows is what the message changed.
    ChangedBy(u64),
    /// Something that is different now.
    Changed(&'a Fact),
    /// Something that is over: what it was called, and what it was.
    Gone(&'a (String, String)),
    /// The message changed nothing.
    Nothing,
    /// What follows belongs to this.
    Part(&'a str),
    /// Something that is true; whether it is a list that can be opened, and whether it is open.
    Fact(&'a Fact, Option<bool>),
    /// Something in the list that is open.
    Item(&'a (String, String)),
    /// So much more is in it.
    More(u64),
}

impl StatedFacts {
    /// All lines, in order. There are few: requests in flight are told one by one up to a number, and so is a list.
    pub(crate) fn lines(&self) -> Vec<StateLine<'_>> {
        let mut lines = vec![StateLine::ChangedBy(self.seq)];
        // How many are in flight is seen from those that are.
        let is_count = |fact: &&Fact| fact.part == COUNTS || fact.name.starts_with("to the ");
        let changed = self.facts.iter().filter(|fact| fact.changed.is_some() && !is_count(fact));
        lines.extend(changed.map(StateLine::Changed));
        lines.extend(self.gone.iter().map(StateLine::Gone));
        if lines.len() == 1 {
            lines.push(StateLine::Nothing);
        }
        let mut part = "";
        for fact in &self.facts {
            if fact.part != part {
                part = &fact.part;
                lines.push(StateLine::Part(part));
            }
            let is_open = (part == LISTS).then(|| self.list.as_ref() == Some(&fact.name));
            lines.push(StateLine::Fact(fact, is_open));
            if is_open == Some(true) {
                lines.extend(self.items.iter().map(StateLine::Item));
                let n_more = self.n_items.saturating_sub(self.items.len() as u64);
                lines.extend((n_more > 0).then_some(StateLine::More(n_more)));
            }
        }
        lines
    }
}

impl Stated {
    /// How many lines there are.
    pub(crate) fn n_lines(&self) -> usize {
        self.facts.as_ref().map_or(0, |facts| facts.lines().len())
    }

    /// Asks for the state at a message, unless it is there or was asked for.
    pub(crate) fn ask(&mut self, key: SessionKey, seq: u64, ticket: Ticket, effects: &mut Vec<Effect>) {
        let is_there = self.facts.as_ref().is_some_and(|facts| facts.seq == seq && facts.list == self.list);
        let was_asked = self.asked.as_ref().is_some_and(|(of, list, _)| *of == seq && *list == self.list);
        if is_there || was_asked {
            return;
        }
        let old = self.asked.replace((seq, self.list.clone(), Some(ticket)));
        effects.extend(old.and_then(|(_, _, ticket)| ticket).map(Effect::Cancel));
        effects.push(Effect::Ask(ticket, Query::State(key, seq, self.list.clone())));
    }

    /// The question that is open.
    pub(crate) fn ticket(&self) -> Option<Ticket> {
        self.asked.as_ref().and_then(|(.., ticket)| *ticket)
    }

    fn is_asked(&self, ticket: Ticket) -> bool {
        self.asked.as_ref().is_some_and(|(_, _, asked)| *asked == Some(ticket))
    }

    pub(crate) fn take(&mut self, ticket: Ticket, facts: StatedFacts) {
        if self.is_asked(ticket) {
            self.asked = None;
            self.facts = Some(facts);
        }
    }

    pub(crate) fn failed(&mut self, ticket: Ticket) {
        if self.is_asked(ticket)
            && let Some((_, _, asked)) = &mut self.asked
        {
            *asked = None;
        }
    }

    pub(crate) fn move_by(&mut self, rows: isize) {
        self.cursor = self.cursor.saturating_add_signed(rows).min(self.n_lines().saturating_sub(1));
    }

    /// Opens the list under the cursor, or closes it.
    pub(crate) fn open_list(&mut self) {
        let lines = self.facts.as_ref().map(StatedFacts::lines).unwrap_or_default();
        let under = lines.get(..=self.cursor).unwrap_or_default();
        // From inside a list too.
        let list = under.iter().rev().find_map(|line| match line {
            StateLine::Fact(fact, Some(is_open)) => Some((fact.name.clone(), *is_open)),
            StateLine::Item(_) | StateLine::More(_) => None,
            _ => Some((String::new(), false)),
        });
        let at = match list {
            Some((name, is_open)) if !name.is_empty() => {
                let at =
                    lines.iter().position(|line| matches!(line, StateLine::Fact(fact, Some(_)) if fact.name == name));
                self.list = (!is_open).then_some(name);
                at
            }
            // From elsewhere, the tools are what is looked for.
            _ => {
                let is_tools =
                    |line: &StateLine<'_>| matches!(line, StateLine::Fact(fact, Some(_)) if fact.name == "tools");
                let at = lines.iter().position(is_tools);
                if at.is_some() {
                    self.list = Some("tools".into());
                }
                at
            }
        };
        self.cursor = at.unwrap_or(self.cursor);
    }

    /// Keeps the cursor on a line, and in sight.
    pub(crate) fn fit(&mut self, height: usize) {
        let height = height.max(1);
        let n_lines = self.n_lines();
        self.cursor = self.cursor.min(n_lines.saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
        self.top = self.top.min(n_lines.saturating_sub(height));
    }
}
