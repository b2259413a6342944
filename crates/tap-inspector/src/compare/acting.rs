//! What keys do where two sessions are compared, and what is asked for.

use super::{Compare, CompareLine, CompareQuery, Compared, Laid, LineDifferences};
use crate::data::SessionKey;
use crate::effect::{Effect, Query, RowsPart, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Pane, View};
use crate::open::Asked;

/// Paths that do not count, at most.
const IGNORED: usize = 100;

impl Inspector {
    /// Compares two sessions: how B differs from A.
    pub(crate) fn begin_compare(&mut self, a: SessionKey, b: SessionKey, effects: &mut Vec<Effect>) {
        let from = if self.view == View::Compare { self.compare.from } else { self.view };
        let (layout, only) = (self.compare.layout, self.compare.only);
        let old = std::mem::replace(&mut self.compare, Compare { from, layout, only, ..Compare::default() });
        let asked = old.asked.and_then(|asked| asked.ticket);
        effects.extend([old.ticket, asked, old.report].into_iter().flatten().map(Effect::Cancel));
        self.view = View::Compare;
        let conversations = [self.conversation_of(a), self.conversation_of(b)];
        self.ask_compare(CompareQuery { a, b, conversations, ignore: Vec::new(), round: 0 }, effects);
    }

    /// The session of MCP that is meant in a recording that holds many: that of the message that is looked at, or the last.
    fn conversation_of(&self, key: SessionKey) -> Option<u64> {
        let open = self.open.as_ref().filter(|open| open.session.key == key);
        let line = open.map(|open| &open.session).or_else(|| self.sessions.find(key))?;
        let last = Some(line.n_conversations).filter(|n| *n > 1)?;
        open.and_then(|open| open.rows.current()?.conversation).or(Some(last))
    }

    /// Another session of MCP of A (0) or B (1): the next one, and after the last one all of them as one.
    fn next_conversation(&mut self, side: usize, effects: &mut Vec<Effect>) {
        let n = self.compare.figures.sides.get(side).map_or(0, |side| side.n_conversations);
        let Some(mut query) = self.compare.query.clone().filter(|_| n > 1) else {
            return self.say("this is one session of MCP", false);
        };
        if let Some(number) = query.conversations.get_mut(side) {
            *number = match *number {
                None => Some(1),
                Some(last) if last >= n => None,
                Some(number) => Some(number + 1),
            };
        }
        self.ask_compare(query, effects);
    }

    /// Compares a session with the newest earlier one of a server of the same name.
    /// Inside a recording that holds many sessions of MCP, that is the one before.
    pub(crate) fn compare_with_previous(&mut self, key: SessionKey, effects: &mut Vec<Effect>) {
        if let Some(number) = self.conversation_of(key).filter(|number| *number > 1) {
            self.begin_compare(key, key, effects);
            if let Some(mut query) = self.compare.query.clone() {
                query.conversations = [Some(number - 1), Some(number)];
                self.ask_compare(query, effects);
            }
            return;
        }
        let lines = self.sessions.lines();
        let Some(name) = self.sessions.find(key).map(|line| line.name.clone()) else {
            return;
        };
        let earlier = lines.iter().filter(|line| line.name == name && line.key < key).map(|line| line.key).max();
        match earlier {
            Some(earlier) => self.begin_compare(earlier, key, effects),
            None => self.say(format!("there is no earlier session of {name}"), false),
        }
    }

    /// Compares the session that is open with the marked one, or, if none is, with the one before.
    pub(crate) fn compare_with_marked(&mut self, key: SessionKey, effects: &mut Vec<Effect>) {
        match self.sessions.marked.filter(|marked| *marked != key && self.sessions.find(*marked).is_some()) {
            Some(marked) => self.begin_compare(marked, key, effects),
            None => self.compare_with_previous(key, effects),
        }
    }

    /// Asks anew; the cursor goes to the line that it was on.
    fn ask_compare(&mut self, query: CompareQuery, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let compare = &mut self.compare;
        let asked = compare.asked.take().and_then(|asked| asked.ticket);
        let old = [compare.ticket.replace(ticket), asked, compare.report.take()];
        effects.extend(old.into_iter().flatten().map(Effect::Cancel));
        compare.wanted = compare.line(compare.cursor).cloned().or(compare.wanted.take());
        compare.lines.clear();
        compare.differing.clear();
        compare.laid = None;
        compare.figures = Compared::default();
        compare.query = Some(query.clone());
        effects.push(Effect::Ask(ticket, Query::Compare(query)));
    }

    /// Does what a key asks for in this view.
    pub(crate) fn act_in_compare(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let next = self.ticket();
        let compare = &mut self.compare;
        match action {
            Action::First => compare.move_by(isize::MIN / 2),
            Action::Last => compare.move_by(isize::MAX / 2),
            Action::NextChange | Action::PreviousChange => {
                let forward = action == Action::NextChange;
                if !compare.seek(forward) {
                    let more = if forward && compare.ticket.is_some() { "; it is still compared" } else { "" };
                    let text = if forward { "no difference below this line" } else { "no difference above this line" };
                    self.say(format!("{text}{more}"), false);
                }
            }
            Action::Layout => {
                compare.layout = compare.layout.next();
                let name = compare.layout.name();
                self.say(name, false);
            }
            Action::OnlyChanges => {
                let here = compare.index(compare.cursor);
                compare.only = !compare.only;
                compare.cursor = here.map_or(0, |here| compare.shown_at(here));
            }
            Action::Zoom => compare.zoomed = !compare.zoomed,
            Action::NextPane if compare.laid.is_some() => {
                compare.pane = if compare.pane == Pane::List { Pane::Detail } else { Pane::List };
            }
            Action::Right if compare.laid.is_some() => compare.pane = Pane::Detail,
            Action::Left => compare.pane = Pane::List,
            Action::Open => self.open_compared(0, effects),
            Action::OpenInB => self.open_compared(1, effects),
            Action::IgnorePath => self.ignore_place(effects),
            Action::IgnoreNothing => {
                if let Some(query) = compare.query.clone().filter(|query| !query.ignore.is_empty()) {
                    self.ask_compare(CompareQuery { ignore: Vec::new(), ..query }, effects);
                }
            }
            Action::OtherOfA => self.next_conversation(0, effects),
            Action::OtherOfB => self.next_conversation(1, effects),
            Action::CompareAnew => {
                if let Some(query) = compare.query.clone() {
                    let round = query.round.wrapping_add(1);
                    self.ask_compare(CompareQuery { round, ..query }, effects);
                }
            }
            Action::ExportReport => match (&compare.query, compare.ticket) {
                (Some(query), None) if compare.figures.complete => {
                    let query = Query::CompareReport(query.clone());
                    effects.extend(compare.report.replace(next).map(Effect::Cancel));
                    effects.push(Effect::Ask(next, query));
                    self.say("the report is being written", false);
                }
                _ => self.say("there is a report once all is compared", false),
            },
            _ => {}
        }
    }

    /// Leaves out the place that the cursor is on.
    fn ignore_place(&mut self, effects: &mut Vec<Effect>) {
        let place = self.compare.laid.as_ref().and_then(Laid::place);
        let Some(path) = place.and_then(|place| place.ignore.clone()) else {
            return self.say("here is no place that can be ignored", false);
        };
        let Some(mut query) = self.compare.query.clone() else {
            return;
        };
        if query.ignore.len() >= IGNORED || query.ignore.contains(&path) {
            return self.say("this cannot be ignored", false);
        }
        query.ignore.push(path);
        self.ask_compare(query, effects);
    }

    /// Opens the message of a line in its session: that of A or of B, or of the only one that has it.
    fn open_compared(&mut self, side: usize, effects: &mut Vec<Effect>) {
        let compare = &self.compare;
        let Some((line, query)) = compare.line(compare.cursor).zip(compare.query.as_ref()) else {
            return;
        };
        let keys = [query.a, query.b];
        let place = |side: usize| Some((*keys.get(side)?, (*line.places.get(side)?)?));
        let Some((session, at)) = place(side).or_else(|| place(1 - side)) else {
            return self.say("this is of no one message", false);
        };
        self.compare.visits = Some(session);
        self.open_at(session, at, effects);
        if let Some(open) = self.open.as_mut().filter(|open| open.session.key == session) {
            open.pane = Pane::Detail;
            if open.filter.take().is_some() {
                // It may hide the message.
                open.rows.want(at);
                self.list_anew(RowsPart::Around(at.seq), effects);
            }
        }
        self.view = View::Timeline;
    }

    /// One level back inside this view; where there is none, to where it was begun.
    pub(crate) fn back_in_compare(&mut self, effects: &mut Vec<Effect>) {
        let compare = &mut self.compare;
        if compare.pane == Pane::Detail || compare.zoomed {
            (compare.pane, compare.zoomed) = (Pane::List, false);
            return;
        }
        // What is still worked out is of no use to who goes.
        let asked = compare.asked.as_mut().and_then(|asked| asked.ticket.take());
        let open = [compare.ticket.take(), asked, compare.report.take()];
        effects.extend(open.into_iter().flatten().map(Effect::Cancel));
        self.view = if self.open.is_some() { compare.from } else { View::Sessions };
    }

    /// Back to the comparison from which a message is looked at; false where there is none.
    pub(crate) fn back_to_compare(&mut self) -> bool {
        let here = self.open.as_ref().map(|open| open.session.key);
        let is_visited = here.is_some() && self.compare.visits == here;
        if is_visited {
            self.compare.visits = None;
            self.view = View::Compare;
        }
        is_visited
    }

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_compare(&mut self, effects: &mut Vec<Effect>) {
        let next = self.ticket();
        if self.view == View::Sessions && self.opens.is_none() {
            self.compare.visits = None;
        }
        if self.view != View::Compare {
            return;
        }
        let (heights, width) = self.compare_layout();
        let compare = &mut self.compare;
        compare.fit(heights, width);
        let (Some(line), Some(query)) = (compare.index(compare.cursor), &compare.query) else {
            return;
        };
        if compare.laid.is_some() || compare.asked.is_some_and(|asked| asked.of == line) {
            return;
        }
        let query = Query::CompareLine(query.clone(), line);
        let old = compare.asked.replace(Asked { of: line, ticket: Some(next) });
        effects.extend(old.and_then(|old| old.ticket).map(Effect::Cancel));
        effects.push(Effect::Ask(next, query));
    }

    /// Takes a part of an answer, if it is to the question that was asked last.
    pub(crate) fn take_compared(&mut self, ticket: Ticket, answer: Compared) {
        let compare = &mut self.compare;
        if compare.ticket != Some(ticket) {
            return;
        }
        if answer.complete {
            compare.ticket = None;
        }
        compare.take(answer);
    }

    /// Takes what differs of a line.
    pub(crate) fn take_differences(&mut self, ticket: Ticket, found: LineDifferences) {
        let compare = &mut self.compare;
        if let Some(asked) = compare.asked.as_mut().filter(|asked| asked.ticket == Some(ticket)) {
            asked.ticket = None;
            compare.laid = Some(Laid::new(asked.of, found));
        }
    }

    /// Takes the text of the report.
    pub(crate) fn take_report(&mut self, ticket: Ticket, bytes: Vec<u8>, effects: &mut Vec<Effect>) {
        if self.compare.report == Some(ticket) {
            self.compare.report = None;
            effects.push(Effect::Write { bytes, name: "diff.txt".into() });
        }
    }

    /// A question could not be answered: what was asked for stays, so that it is not asked for without end.
    pub(crate) fn compare_failed(&mut self, ticket: Ticket) {
        let compare = &mut self.compare;
        if compare.ticket == Some(ticket) {
            compare.ticket = None;
            compare.figures.progress = "it could not be compared".into();
        }
        compare.report = compare.report.filter(|report| *report != ticket);
        if let Some(asked) = compare.asked.as_mut().filter(|asked| asked.ticket == Some(ticket)) {
            asked.ticket = None;
        }
    }

    /// The line with the cursor.
    pub(crate) fn compared_line(&self) -> Option<&CompareLine> {
        self.compare.line(self.compare.cursor)
    }

    /// Whether it is still being compared.
    pub(crate) fn is_comparing(&self) -> bool {
        self.compare.ticket.is_some()
    }

    /// The options with which `mcp-tap diff` compares so; nothing where no path is ignored.
    pub(crate) fn compare_ignores(&self) -> Option<String> {
        let ignore = self.compare.query.as_ref().map(|query| query.ignore.as_slice()).filter(|it| !it.is_empty())?;
        let word = |path: &String| crate::detail::shell_word(path).unwrap_or_else(|| path.clone());
        Some(ignore.iter().map(|path| format!("--ignore {}", word(path))).collect::<Vec<_>>().join(" "))
    }
}
