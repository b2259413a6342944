//! What was found in all sessions: the newest first, as it is found, and a walk from hit to hit through the sessions.

use std::sync::Arc;

use tap_filter::Filter;
use tap_session::At;

use crate::data::{Began, SessionKey, Tone};
use crate::detail::Find;
use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay, Pane, View};
use crate::prompt::Prompt;

/// How many hits are kept. What comes after them is counted.
pub const KEPT_HITS: usize = 10_000;

/// How many hits of a session are shown before it is opened up.
const FEW: usize = 5;

/// Lines above the list: the filter, how far it is, and a rule.
const LINES_ABOVE: usize = 3;

/// Lines below the list, where there is room: a rule, and the hit with what is around it.
const PREVIEW: usize = 5;

/// What stands around a hit, as it was stored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snippet {
    /// What comes before it.
    pub before: String,
    /// What was looked for; empty where a message fits for something else than a text.
    pub found: String,
    /// What comes after it.
    pub after: String,
}

/// A message that fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hit {
    /// Of which session.
    pub session: SessionKey,
    /// The message.
    pub at: At,
    /// What it is: a tool, a method, a kind.
    pub what: String,
    /// How it went, in a few words.
    pub status: (Tone, String),
    /// The place in it.
    pub snippet: Snippet,
    /// The place as a path, where it is JSON.
    pub path: Option<String>,
}

/// A session in which something was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HitSession {
    /// Which one.
    pub key: SessionKey,
    /// How it is named on the command line.
    pub reference: String,
    /// When it began.
    pub began: Began,
    /// How many messages fit, as far as it was searched.
    pub n_found: u64,
}

/// What was found since the last part, and how far the search is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {
    /// In the order in which they are found: all of one session, then of the next.
    pub hits: Vec<Hit>,
    /// The sessions of these, and of what is only counted, each as it is now.
    pub sessions: Vec<HitSession>,
    /// Sessions that were searched.
    pub n_sessions_done: u64,
    /// All sessions.
    pub n_sessions: u64,
    /// Messages that were looked at.
    pub n_messages_done: u64,
    /// All messages, as far as it is known.
    pub n_messages: u64,
    /// Bytes of messages that were looked at.
    pub n_bytes_done: u64,
    /// That is all.
    pub complete: bool,
}

/// A session and which of the hits are in it.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) session: HitSession,
    /// The first of its hits, and how many are kept.
    pub(crate) first: usize,
    pub(crate) n_kept: usize,
    /// All of them are shown.
    pub(crate) is_open: bool,
    /// The line that it begins on.
    line: usize,
}

/// A line of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HitLine {
    Session(usize),
    Hit(usize),
    /// Hits of a session that are not shown.
    More(usize),
}

/// What is known of it, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Search {
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) ticket: Option<Ticket>,
    /// It was stopped, or could not go on.
    pub(crate) is_cut: bool,
    pub(crate) hits: Vec<Hit>,
    pub(crate) groups: Vec<Group>,
    pub(crate) lines: Vec<HitLine>,
    /// How far it is; without hits.
    pub(crate) progress: Hits,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    /// What was found is gone through.
    pub(crate) walks: bool,
    /// The hit that was gone to last.
    at: Option<usize>,
    /// It is to be shown as soon as its message is here.
    to_be_shown: bool,
}

impl Search {
    /// Moves the cursor.
    pub(crate) fn move_by(&mut self, rows: isize) {
        self.cursor = self.cursor.saturating_add_signed(rows).min(self.lines.len().saturating_sub(1));
    }

    pub(crate) fn n_found(&self) -> u64 {
        self.groups.iter().map(|group| group.session.n_found).sum()
    }

    /// The hit with the cursor.
    pub(crate) fn current(&self) -> Option<&Hit> {
        match self.lines.get(self.cursor)? {
            HitLine::Hit(hit) => self.hits.get(*hit),
            HitLine::Session(_) | HitLine::More(_) => None,
        }
    }

    /// Makes the lines of groups anew, from one of them on.
    fn lay_out(&mut self, from: usize) {
        let begin = self.groups.get(from).map_or(self.lines.len(), |group| group.line);
        self.lines.truncate(begin);
        for (index, group) in self.groups.iter_mut().enumerate().skip(from) {
            group.line = self.lines.len();
            self.lines.push(HitLine::Session(index));
            let n_shown = if group.is_open { group.n_kept } else { group.n_kept.min(FEW) };
            self.lines.extend((group.first..group.first + n_shown).map(HitLine::Hit));
            if (n_shown as u64) < group.session.n_found {
                self.lines.push(HitLine::More(index));
            }
        }
        self.cursor = self.cursor.min(self.lines.len().saturating_sub(1));
    }

    fn open_group(&mut self, index: usize) {
        if let Some(group) = self.groups.get_mut(index) {
            group.is_open = true;
            self.lay_out(index);
        }
    }

    /// Puts the cursor on a hit, opening up its session if need be.
    fn show(&mut self, hit: usize) {
        let holds = |group: &Group| (group.first..group.first + group.n_kept).contains(&hit);
        let Some(index) = self.groups.iter().position(holds) else {
            return;
        };
        if self.groups.get(index).is_some_and(|group| !group.is_open && group.first + FEW <= hit) {
            self.open_group(index);
        }
        if let Some(group) = self.groups.get(index) {
            self.cursor = group.line + 1 + (hit - group.first);
        }
    }

    fn take(&mut self, answer: Hits) {
        let mut changed = usize::MAX;
        for session in &answer.sessions {
            let known = self.groups.iter().rposition(|group| group.session.key == session.key);
            let index = known.unwrap_or(self.groups.len());
            let session = session.clone();
            match self.groups.get_mut(index) {
                Some(group) => group.session = session,
                None => {
                    let (first, line) = (self.hits.len(), self.lines.len());
                    self.groups.push(Group { session, first, n_kept: 0, is_open: false, line });
                }
            }
            // Hits of a session stand beside each other.
            let room = KEPT_HITS.saturating_sub(self.hits.len());
            if let Some(group) = self.groups.get_mut(index) {
                let its = answer.hits.iter().filter(|hit| hit.session == group.session.key);
                if group.first + group.n_kept == self.hits.len() || group.n_kept == 0 {
                    if group.n_kept == 0 {
                        group.first = self.hits.len();
                    }
                    self.hits.extend(its.take(room).cloned());
                    group.n_kept = self.hits.len() - group.first;
                }
            }
            changed = changed.min(index);
        }
        if changed < self.groups.len() {
            self.lay_out(changed);
        }
        self.progress = Hits { hits: Vec::new(), sessions: Vec::new(), ..answer };
    }
}

impl Inspector {
    /// How many lines of the list are on the screen.
    pub(crate) fn hits_height(&self) -> usize {
        // A list has two lines above it elsewhere.
        let body = self.list_height() + 2;
        let preview = if self.has_preview() { PREVIEW } else { 0 };
        body.saturating_sub(LINES_ABOVE + preview).max(1)
    }

    pub(crate) fn has_preview(&self) -> bool {
        self.list_height() >= 12
    }

    pub(crate) fn fit_search(&mut self) {
        let height = self.hits_height();
        let search = &mut self.search;
        search.cursor = search.cursor.min(search.lines.len().saturating_sub(1));
        search.top = search.top.min(search.cursor).max((search.cursor + 1).saturating_sub(height));
        search.top = search.top.min(search.lines.len().saturating_sub(height));
    }

    /// Shows the search, and asks what for if nothing was looked for yet.
    pub(crate) fn look_at_search(&mut self) {
        let text = self.search.filter.as_ref().map(|filter| filter.text().to_owned()).unwrap_or_default();
        self.overlay = Some(Overlay::Filter(Prompt::with(&text)));
        self.view = View::Search;
    }

    /// Searches all sessions.
    pub(crate) fn start_search(&mut self, text: &str, effects: &mut Vec<Effect>) {
        self.stop_search(effects);
        self.search = Search::default();
        let Ok(filter) = self.read_filter(text) else {
            return;
        };
        if text.trim().is_empty() {
            return;
        }
        let (ticket, filter) = (self.ticket(), Arc::new(filter));
        self.search = Search { filter: Some(filter.clone()), ticket: Some(ticket), ..Search::default() };
        effects.push(Effect::Ask(ticket, Query::Search(filter)));
    }

    /// Stops the search, if there is one; what was found stays.
    pub(crate) fn stop_search(&mut self, effects: &mut Vec<Effect>) -> bool {
        let ticket = self.search.ticket.take();
        effects.extend(ticket.map(Effect::Cancel));
        self.search.is_cut |= ticket.is_some();
        ticket.is_some()
    }

    /// Does what a key asks for in this view.
    pub(crate) fn act_in_search(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let search = &mut self.search;
        match (action, search.lines.get(search.cursor).copied()) {
            (Action::First, _) => search.cursor = 0,
            (Action::Last, _) => search.cursor = search.lines.len().saturating_sub(1),
            (Action::Open | Action::Right, Some(HitLine::Hit(hit))) => self.open_hit(hit, effects),
            (Action::Open | Action::Right, Some(HitLine::More(group))) => {
                let is_all = search.groups.get(group).is_none_or(|group| group.is_open);
                if is_all {
                    self.say(format!("only {KEPT_HITS} hits are kept; a narrower filter finds these"), false);
                } else {
                    search.open_group(group);
                }
            }
            (Action::Open, Some(HitLine::Session(group))) => {
                let first = search.groups.get(group).filter(|group| group.n_kept > 0).map(|group| group.first);
                if let Some(first) = first {
                    self.open_hit(first, effects);
                }
            }
            (Action::Left, Some(HitLine::Hit(_) | HitLine::More(_) | HitLine::Session(_))) => {
                let here = search.cursor;
                let group = search.groups.iter().rposition(|group| group.line <= here);
                if let Some((index, group)) = group.and_then(|index| Some((index, search.groups.get_mut(index)?))) {
                    group.is_open = false;
                    search.cursor = group.line;
                    search.lay_out(index);
                }
            }
            (Action::NextHit | Action::PreviousHit, _) => {
                let step: isize = if action == Action::NextHit { 1 } else { -1 };
                let mut line = search.cursor;
                while let Some(next) = line.checked_add_signed(step).filter(|next| *next < search.lines.len()) {
                    line = next;
                    if let Some(HitLine::Hit(_)) = search.lines.get(line) {
                        search.cursor = line;
                        break;
                    }
                }
            }
            _ => {}
        }
    }

    /// Opens the session of a hit, with the cursor on it.
    fn open_hit(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some(hit) = self.search.hits.get(index) else {
            return;
        };
        let (session, at) = (hit.session, hit.at);
        self.search.show(index);
        self.search.at = Some(index);
        (self.search.walks, self.search.to_be_shown) = (true, true);
        self.open_at(session, at, effects);
        if let Some(open) = self.open.as_mut().filter(|open| open.session.key == session) {
            open.pane = Pane::Detail;
            if open.filter.take().is_some() {
                // It may hide the hit.
                open.rows.want(at);
                self.list_anew(crate::effect::RowsPart::Around(at.seq), effects);
            }
        }
        self.view = View::Timeline;
        self.show_hit();
    }

    /// Puts the cursor on the place in the message, once that is here.
    pub(crate) fn show_hit(&mut self) {
        let search = &self.search;
        if !search.to_be_shown || !search.walks {
            return;
        }
        let Some((hit, filter)) = search.at.and_then(|at| search.hits.get(at)).zip(search.filter.clone()) else {
            return;
        };
        let Some(open) = self.open.as_mut().filter(|open| open.session.key == hit.session) else {
            return;
        };
        let here = open.at();
        let Some(detail) = open.detail.as_mut().filter(|detail| Some(detail.parts.this.row.at()) == here) else {
            return;
        };
        let halves = [Some(&detail.parts.this), detail.parts.other.as_ref()];
        if halves.into_iter().flatten().all(|half| half.row.at() != hit.at) {
            return;
        }
        open.pane = Pane::Detail;
        detail.find = Some(Find::new(filter.text(), filter.wanted()));
        detail.find_in(hit.at);
        self.search.to_be_shown = false;
    }

    /// To the next hit, in whatever session it is.
    pub(crate) fn walk_hits(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let search = &self.search;
        let step = if forward { 1 } else { -1 };
        let next = search.at.and_then(|at| at.checked_add_signed(step)).filter(|next| *next < search.hits.len());
        match next {
            Some(next) => self.open_hit(next, effects),
            None => {
                let text = match (forward, self.search.ticket) {
                    (true, Some(_)) => "none yet; it is still searched",
                    (true, None) => "that was the last hit",
                    (false, _) => "that was the first hit",
                };
                self.say(text, false);
            }
        }
    }

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_hits(&mut self, ticket: Ticket, answer: Hits) {
        if self.search.ticket != Some(ticket) {
            return;
        }
        if answer.complete {
            self.search.ticket = None;
        }
        self.search.take(answer);
    }

    /// The search could not go on.
    pub(crate) fn search_failed(&mut self, ticket: Ticket) {
        if self.search.ticket == Some(ticket) {
            self.search.ticket = None;
            self.search.is_cut = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(session: i64, n_hits: usize, n_found: u64) -> Hits {
        let key = SessionKey(session);
        let hit = |seq: usize| Hit {
            session: key,
            at: At { seq: seq as u64, member: 0 },
            what: String::new(),
            status: (Tone::Plain, String::new()),
            snippet: Snippet::default(),
            path: None,
        };
        let session = HitSession { key, reference: String::new(), began: Began::default(), n_found };
        Hits { hits: (0..n_hits).map(hit).collect(), sessions: vec![session], ..Hits::default() }
    }

    #[test]
    fn hits_are_kept_up_to_a_number_and_counted_beyond() {
        let mut search = Search::default();
        search.take(part(9, 2, 2));
        search.cursor = 2;
        search.take(part(9, 3, 5));
        assert_eq!(search.lines.len(), 6);
        search.take(part(9, 5, 10));
        assert_eq!(search.lines.last(), Some(&HitLine::More(0)));
        assert_eq!((search.lines.len(), search.cursor), (7, 2), "the cursor stays");
        search.take(part(8, 2 * KEPT_HITS, 2 * KEPT_HITS as u64));
        search.take(part(7, 0, 77));
        assert_eq!(search.hits.len(), KEPT_HITS);
        assert_eq!(search.n_found(), 10 + 2 * KEPT_HITS as u64 + 77);
        let shown = |search: &Search| search.lines.iter().filter(|line| matches!(line, HitLine::Hit(_))).count();
        assert_eq!(shown(&search), 10);
        search.open_group(0);
        assert_eq!(shown(&search), 15);
        search.show(KEPT_HITS - 1);
        assert_eq!(search.current().map(|hit| hit.at.seq), Some(KEPT_HITS as u64 - 11));
        assert_eq!(shown(&search), KEPT_HITS);
        for (line, group) in search.groups.iter().enumerate().map(|(index, group)| (HitLine::Session(index), group)) {
            assert_eq!(search.lines[group.line], line);
        }
    }
}
