//! Moving: the cursor, jumps and the way back, the next problem.

use std::sync::Arc;

use tap_session::{At, Severity};

use super::session::rows_query;
use crate::about::Target;
use crate::data::{Row, SessionKey};
use crate::effect::{Effect, Query, RowsPart, RowsQuery};
use crate::model::{Inspector, Pane, Seeking, View};

/// How many jumps are remembered.
const JUMPS: usize = 100;

impl Inspector {
    /// Moves whatever has the cursor.
    pub(super) fn move_by(&mut self, rows: isize) {
        let height = self.list_height();
        if self.view == View::Sessions {
            let last = self.sessions.shown().len().saturating_sub(1);
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
            (View::State, ..) => {
                let last = open.state.as_ref().map_or(0, |state| state.facts.len().saturating_sub(1));
                open.state_scroll = open.state_scroll.saturating_add_signed(rows).min(last);
            }
            (View::Findings, ..) => {
                let last = open.findings.all().count().saturating_sub(1);
                let findings = &mut open.findings;
                findings.cursor = findings.cursor.saturating_add_signed(rows).min(last);
            }
            (_, Pane::Detail, Some(detail)) => {
                let last = detail.n_lines().saturating_sub(1);
                detail.cursor = detail.cursor.saturating_add_signed(rows).min(last);
            }
            _ => open.rows.move_by(rows, height),
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
            && let Some(from) = open.rows.current().map(Row::at).filter(|from| *from != at)
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
        match self.sessions.lines.iter().find(|line| line.key == session).cloned() {
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

    fn go_to(&mut self, at: At, effects: &mut Vec<Effect>) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        open.rows.follow = false;
        if !open.rows.go_to(at, height) {
            open.rows.want(at);
            self.list_anew(RowsPart::Around(at.seq), effects);
        }
        if self.view == View::Findings {
            self.view = View::Timeline;
        }
    }

    pub(super) fn jump_back(&mut self, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let here = open.rows.current().map(Row::at);
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

    /// Looks for the next problem: among the findings, and in the list.
    pub(super) fn seek(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        // Which rules were broken is waited for by nobody who only wants the next error.
        let judged = self.open.as_ref().is_some_and(|open| open.findings.complete);
        let what = if judged { "is:problem" } else { "status:error,tool_error or kind:raw,gap" };
        let problem = self.read_filter(what);
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(here) = open.rows.current().map(Row::at) else {
            return;
        };
        // What is on the screen already needs nobody to be asked.
        let is_problem = |row: &Row| {
            let broken = open.findings.worst(row, open.calls) == Some(Severity::Error);
            row.is_problem() || broken
        };
        let cursor = open.rows.cursor();
        let near = if forward {
            open.rows.rows().iter().skip(cursor + 1).find(|row| is_problem(row))
        } else {
            open.rows.rows().iter().take(cursor).rev().find(|row| is_problem(row))
        };
        if let Some(at) = near.map(Row::at) {
            return self.jump(at, effects);
        }
        let Ok(problem) = problem else {
            return;
        };
        let old = open.seeking.replace(Seeking { ticket, forward });
        effects.extend(old.map(|old| Effect::Cancel(old.ticket)));
        let part = if forward { RowsPart::After(here) } else { RowsPart::Before(here) };
        let query = RowsQuery { filter: Some(Arc::new(problem)), limit: 1, ..rows_query(open, part) };
        effects.push(Effect::Ask(ticket, Query::Rows(query)));
    }
}
