//! Moving: the cursor, jumps and the way back, the next problem.

use std::ops::Bound;
use std::sync::Arc;

use tap_session::{At, MessageRow, RowKind, Severity};

use super::session::rows_query;
use crate::about::Target;
use crate::data::{Row, SessionKey};
use crate::effect::{Effect, Query, RowsPart, RowsQuery};
use crate::model::{Inspector, Pane, View};
use crate::open::{Open, Point, Seeking};
use crate::place::Place;

/// How many jumps are remembered.
const JUMPS: usize = 100;

impl Inspector {
    /// Moves whatever has the cursor.
    pub(super) fn move_by(&mut self, rows: isize) {
        let height = self.list_height();
        if self.view == View::Sessions {
            let last = self.sessions.n_shown().saturating_sub(1);
            self.sessions.cursor = self.sessions.cursor.saturating_add_signed(rows).min(last);
            self.keep_session_in_sight();
            return;
        }
        match self.view {
            View::Compare => return self.compare.move_by(rows),
            View::Search => return self.search.move_by(rows),
            _ => {}
        }
        let Some(open) = &mut self.open else {
            return;
        };
        match (self.view, open.pane, &mut open.detail) {
            (View::Stats, ..) => open.stats.move_by(rows),
            (View::Tools, ..) => open.tools.move_by(rows),
            (View::State, ..) => open.state.move_by(rows),
            (View::Findings, ..) => {
                let last = open.findings.len().saturating_sub(1);
                let findings = &mut open.findings;
                findings.cursor = findings.cursor.saturating_add_signed(rows).min(last);
            }
            (_, Pane::Detail, Some(detail)) => {
                let last = detail.n_lines().saturating_sub(1);
                detail.cursor = detail.cursor.saturating_add_signed(rows).min(last);
            }
            _ => {
                open.point = None;
                open.rows.move_by(rows, height);
            }
        }
    }

    pub(super) fn press_in_session(&mut self, column: u16, row: usize) {
        let height = self.list_height();
        let in_list = self.size.0 < crate::view::TWO_PANES || column < crate::view::list_width(self.size.0, self.split);
        let Some(open) = &mut self.open else {
            return;
        };
        open.pane = if in_list { Pane::List } else { Pane::Detail };
        if in_list {
            open.point = None;
            let at = open.rows.visible(height).nth(row).map(|(_, row)| row.at());
            if let Some(at) = at {
                open.rows.follow = false;
                open.rows.go_to(at, height);
            }
        }
    }

    /// Puts the cursor on a message, wherever it is, and remembers where it was.
    pub(crate) fn jump(&mut self, at: At, effects: &mut Vec<Effect>) {
        if let Some(open) = &mut self.open
            && let Some(from) = open.at().filter(|from| *from != at)
        {
            if open.jumps_back > 0 {
                // Among the places of before: what lies in front of it from there is forgotten.
                open.jumps.truncate((open.jumps.len() - 1).saturating_sub(open.jumps_back));
                open.jumps_back = 0;
            }
            open.jumps.push(from);
            let surplus = open.jumps.len().saturating_sub(JUMPS);
            open.jumps.drain(..surplus);
        }
        self.go_to(at, effects);
    }

    /// Goes to a message, of another session if need be.
    pub(crate) fn go_to_target(&mut self, target: Target, effects: &mut Vec<Effect>) {
        let here = self.open.as_ref().map(|open| open.session.key);
        match target.session.filter(|session| Some(*session) != here) {
            Some(session) => self.open_at(session, target.at, effects),
            None => {
                self.view = View::Timeline;
                self.jump(target.at, effects);
            }
        }
    }

    /// Opens a session at a message, as soon as it is known.
    pub(crate) fn open_at(&mut self, session: SessionKey, at: At, effects: &mut Vec<Effect>) {
        match self.sessions.find(session).cloned() {
            Some(line) => {
                self.open_session_line(line, effects);
                self.jump(at, effects);
            }
            None => {
                (self.opens, self.opens_at) = (Some(session), Some(at));
                self.ask_sessions(effects);
            }
        }
    }

    pub(super) fn go_to(&mut self, at: At, effects: &mut Vec<Effect>) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        open.rows.follow = false;
        // It may have no row of its own.
        open.point = Some(Point { at, row: None });
        if open.rows.covers(at) {
            open.rows.go_near(at, height);
        } else if !open.rows.go_to(at, height) {
            open.rows.want(at);
            self.list_anew(RowsPart::Around(at.seq), effects);
        }
        if self.view == View::Findings {
            self.view = View::Timeline;
        }
    }

    /// Holds on to the message that is looked at while the cursor stays where it is.
    pub(super) fn settle_point(&mut self) {
        let Some(open) = &mut self.open else {
            return;
        };
        let current = open.rows.current().map(Row::at);
        match (&mut open.point, current) {
            (Some(Point { row: row @ None, .. }), Some(_)) if !open.rows.is_pending() => *row = current,
            (Some(Point { row: Some(row), .. }), Some(current)) if *row != current => open.point = None,
            _ => {}
        }
    }

    /// To the next message, or the one before, whether it has a row or not.
    pub(super) fn step(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(here) = open.at() else {
            return;
        };
        let last = open.last_seq.max(1);
        let seq = if forward { here.seq.saturating_add(1).min(last) } else { here.seq.saturating_sub(1).max(1) };
        if seq == here.seq {
            return self.say(if forward { "this is the last message" } else { "this is the first message" }, false);
        }
        self.go_to(At { seq, member: 0 }, effects);
    }

    pub(super) fn jump_back(&mut self, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let here = open.at();
        if open.jumps_back == 0
            && !open.jumps.is_empty()
            && let Some(here) = here
        {
            // Where it came from is the last of the places, so that forward leads there again.
            open.jumps.push(here);
        }
        let index = open.jumps.len().checked_sub(open.jumps_back + 2);
        if let Some(at) = index.and_then(|index| open.jumps.get(index)).copied() {
            open.jumps_back += 1;
            self.go_to(at, effects);
        }
    }

    pub(super) fn jump_forward(&mut self, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(back) = open.jumps_back.checked_sub(1) else {
            return;
        };
        open.jumps_back = back;
        let index = open.jumps.len().checked_sub(back + 1);
        let at = index.and_then(|index| open.jumps.get(index)).copied();
        if back == 0 {
            open.jumps.pop();
        }
        if let Some(at) = at {
            self.go_to(at, effects);
        }
    }

    /// Looks for the next of something: in the list, and where that ends, in the recording.
    pub(super) fn seek(&mut self, sought: Sought, forward: bool, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &self.open else {
            return;
        };
        let Some(here) = open.at() else {
            return;
        };
        let Some((filter, what)) = sought.told(open) else {
            return self.say("this is of no call", false);
        };
        let Ok(filter) = self.read_filter(&filter) else {
            return;
        };
        let Some(open) = &mut self.open else {
            return;
        };
        let looks_at_all = sought == Sought::Problem && open.filter.is_none();
        let broken = if looks_at_all { open.broken_without_row(here, forward) } else { None };
        // What is on the screen already needs nobody to be asked.
        if open.rows.covers(here) {
            let fits = |row: &&Row| sought.is(row, open);
            let near = if forward {
                open.rows.rows().iter().find(|row| here < row.at() && fits(row))
            } else {
                open.rows.rows().iter().rev().find(|row| row.at() < here && fits(row))
            };
            if let Some(at) = near.map(Row::at) {
                return self.jump(nearer(at, broken, forward), effects);
            }
        }
        let old = open.seeking.replace(Seeking { ticket, forward, what, broken });
        effects.extend(old.map(|old| Effect::Cancel(old.ticket)));
        let part = if forward { RowsPart::After(here) } else { RowsPart::Before(here) };
        let query = RowsQuery { filter: Some(Arc::new(filter)), limit: 1, ..rows_query(open, part) };
        effects.push(Effect::Ask(ticket, Query::Rows(query)));
    }

    /// To the next message that broke a rule, as far as that is known.
    pub(super) fn seek_finding(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let Some(open) = &self.open else {
            return;
        };
        let Some(here) = open.at() else {
            return;
        };
        let found = &open.findings.by_message;
        let near = if forward {
            found.range((Bound::Excluded(here), Bound::Unbounded)).next()
        } else {
            found.range(..here).next_back()
        };
        match near.map(|(at, _)| *at) {
            Some(at) => self.jump(at, effects),
            None if !open.findings.complete && forward => {
                let text =
                    format!("no broken rule after this message, judged up to message {} so far", open.findings.seq);
                self.say(text, false);
            }
            None => self.say(none("broken rule", forward), false),
        }
    }

    /// To the next mark, around the end.
    pub(super) fn seek_mark(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let Some(open) = &self.open else {
            return;
        };
        let here = open.at().unwrap_or(At { seq: 0, member: 0 });
        let marks = &open.marks;
        let next = if forward {
            marks.range((Bound::Excluded(here), Bound::Unbounded)).next().or(marks.first_key_value())
        } else {
            marks.range(..here).next_back().or(marks.last_key_value())
        };
        match next.map(|(at, _)| *at) {
            Some(at) => self.jump(at, effects),
            None => self.say("no marks; m makes one", false),
        }
    }

    /// To the first message, or to the last.
    pub(crate) fn go_to_either_end(&mut self, last: bool, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        open.point = None;
        if !last {
            (open.rows.follow, open.rows.to_end) = (false, false);
            return self.list_anew(RowsPart::From(1), effects);
        }
        let (live, complete, so_far) = (open.live, open.complete, open.last_seq);
        open.rows.go_to_end(live, complete);
        self.list_anew(RowsPart::Last, effects);
        if !complete {
            self.say(format!("known up to message {so_far} so far; goes to the end once that is known"), false);
        }
    }

    /// To a place that was named.
    pub(super) fn go_to_place(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let place = match Place::read(text) {
            Ok(place) => place,
            Err(why) => return self.say(why, true),
        };
        match place {
            Place::Message(seq) => self.jump(At { seq, member: 0 }, effects),
            Place::Bookmark(name) => match self.bookmark(&name) {
                Some(at) => self.jump(at, effects),
                None => self.say(format!("there is no bookmark @{name}; b makes one"), true),
            },
            Place::Moment(moment) => {
                let ticket = self.ticket();
                if let Some(open) = &mut self.open {
                    effects.extend(open.moment.replace(ticket).map(Effect::Cancel));
                    effects.push(Effect::Ask(ticket, Query::At(open.session.key, moment)));
                }
            }
        }
    }
}

/// As a value of the filter language that is exactly this.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The one of two that comes first on the way.
pub(super) fn nearer(found: At, broken: Option<At>, forward: bool) -> At {
    match broken {
        Some(broken) if forward => found.min(broken),
        Some(broken) => found.max(broken),
        None => found,
    }
}

/// There is none.
pub(super) fn none(what: &str, forward: bool) -> String {
    format!("no {what} {} this message", if forward { "after" } else { "before" })
}

/// What can be looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sought {
    /// An error, or the worst of findings.
    Problem,
    /// A request.
    Call,
    /// A call that failed, or what is no message though it should be one.
    Error,
    /// A call of the tool that the message looked at is of, or of the same method.
    Same,
}

impl Sought {
    /// The filter that finds it, and what it is in words; `None` where the message looked at is of nothing.
    fn told(self, open: &Open) -> Option<(String, String)> {
        const ERROR: &str = "status:error,tool_error or kind:raw,gap";
        Some(match self {
            // Which rules were broken is waited for by nobody who only wants the next error.
            Self::Problem if open.findings.complete => ("is:problem".into(), "problem".into()),
            Self::Problem => (ERROR.into(), "problem".into()),
            Self::Call => ("kind:request".into(), "call".into()),
            Self::Error => (ERROR.into(), "error".into()),
            Self::Same => {
                let row = &open.rows.current()?.row;
                let (field, name) = match (row.method.as_deref(), row.target.as_deref()) {
                    (Some("tools/call"), Some(tool)) => ("tool", tool),
                    (Some(method), _) => ("method", method),
                    (None, _) => return None,
                };
                let quoted = quoted(name);
                (format!("kind:request {field}={quoted}"), format!("call of {name}"))
            }
        })
    }

    fn is(self, row: &Row, open: &Open) -> bool {
        match self {
            Self::Problem => row.is_problem() || open.findings.worst(row, open.calls) == Some(Severity::Error),
            Self::Call => row.row.kind == RowKind::Request,
            Self::Error => row.is_problem(),
            Self::Same => {
                let same = open.rows.current().map(|current| &current.row);
                let is_call = |row: &MessageRow| row.method.as_deref() == Some("tools/call");
                row.row.kind == RowKind::Request
                    && same.is_some_and(|same| {
                        same.method == row.row.method && (!is_call(same) || same.target == row.row.target)
                    })
            }
        }
    }
}
