//! What happens in a session that is open.

use std::collections::BTreeSet;
use std::sync::Arc;

use tap_session::{At, RowKind, Severity};

use crate::data::SessionLine;
use crate::effect::{Answer, Effect, Query, RowsPart, RowsQuery, Ticket};
use crate::keymap::Action;
use crate::list::{PAGE, Rows};
use crate::model::{Detail, Findings, Form, Inspector, Open, Overlay, Pane, View};
use crate::prompt::Prompt;
use crate::tree::Tree;

/// How many jumps are remembered.
const JUMPS: usize = 100;

impl Inspector {
    pub(super) fn open_chosen(&mut self, effects: &mut Vec<Effect>) {
        if let Some(line) = self.sessions.shown().get(self.sessions.cursor).map(|line| (*line).clone()) {
            self.open_session_line(line, effects);
        }
    }

    /// Opens a session at its end if it is live, at its beginning otherwise.
    pub fn open_session_line(&mut self, session: SessionLine, effects: &mut Vec<Effect>) {
        self.view = View::Timeline;
        if self.open.as_ref().is_some_and(|open| open.session.key == session.key) {
            return;
        }
        if let Some(ticket) = self.open.take().and_then(|open| open.findings.ticket) {
            effects.push(Effect::Cancel(ticket));
        }
        let live = session.end == crate::data::EndKind::Live;
        let findings = Findings { ticket: Some(self.ticket()), ..Findings::default() };
        let key = session.key;
        effects.extend(findings.ticket.map(|ticket| Effect::Ask(ticket, Query::Findings(key))));
        self.open = Some(Open {
            session,
            calls: true,
            rows: Rows::new(live),
            filter: None,
            last_seq: 0,
            live,
            pane: Pane::List,
            zoomed: false,
            detail: None,
            detail_ticket: None,
            state: None,
            state_ticket: None,
            state_scroll: 0,
            findings,
            jumps: Vec::new(),
            jumps_back: 0,
            marks: BTreeSet::new(),
            seeking: None,
        });
        self.list_anew(if live { RowsPart::Last } else { RowsPart::From(1) }, effects);
    }

    /// Asks for the list from some place, forgetting what is there.
    fn list_anew(&mut self, part: RowsPart, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        effects.extend(open.rows.reset(ticket, part).map(Effect::Cancel));
        effects.push(Effect::Ask(ticket, Query::Rows(rows_query(open, part))));
    }

    /// Asks for what is near, and for the message and the state that are looked at.
    pub(super) fn fetch(&mut self, effects: &mut Vec<Effect>) {
        let next = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        if let Some(part) = open.rows.need() {
            open.rows.asked(next, part);
            effects.push(Effect::Ask(next, Query::Rows(rows_query(open, part))));
        }
        let Some(at) = open.rows.current().map(crate::data::Row::at) else {
            return;
        };
        let key = open.session.key;
        let wide = self.size.0 >= crate::view::TWO_PANES;
        let shown = open.detail.as_ref().map(|detail| detail.parts.this.row.at());
        let wants_detail = self.view == View::Timeline && (wide || open.pane == Pane::Detail || shown.is_some());
        let wants_state = self.view == View::State && open.state.as_ref().map(|state| state.seq) != Some(at.seq);
        if wants_detail && shown != Some(at) && open.detail_ticket.is_none() {
            let ticket = self.ticket();
            if let Some(open) = &mut self.open {
                open.detail_ticket = Some(ticket);
            }
            effects.push(Effect::Ask(ticket, Query::Message(key, at)));
        }
        if wants_state && self.open.as_ref().is_some_and(|open| open.state_ticket.is_none()) {
            let ticket = self.ticket();
            if let Some(open) = &mut self.open {
                open.state_ticket = Some(ticket);
            }
            effects.push(Effect::Ask(ticket, Query::State(key, at.seq)));
        }
    }

    pub(super) fn session_answer(&mut self, ticket: Ticket, answer: Answer, effects: &mut Vec<Effect>) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        match answer {
            Answer::Rows(answer) => {
                open.last_seq = open.last_seq.max(answer.last_seq);
                if let Some(seeking) = open.seeking.filter(|seeking| seeking.ticket == ticket) {
                    let found = if seeking.forward { answer.rows.first() } else { answer.rows.last() };
                    match found.map(crate::data::Row::at) {
                        Some(at) => {
                            open.seeking = None;
                            self.jump(at, effects);
                        }
                        None if answer.complete => {
                            open.seeking = None;
                            self.say(
                                if seeking.forward { "no problem behind this" } else { "no problem before this" },
                                false,
                            );
                        }
                        None => {}
                    }
                    return;
                }
                open.rows.take(ticket, answer, height);
            }
            Answer::Message(parts) if open.detail_ticket == Some(ticket) => {
                open.detail_ticket = None;
                let form = open.detail.as_ref().map_or(Form::Pretty, |detail| detail.form);
                let tree = Tree::new(parts.this.bytes.clone());
                let other = parts.other.as_ref().map(|other| Tree::new(other.bytes.clone()));
                open.detail = Some(Detail { parts: *parts, form, tree, other, cursor: 0, top: 0, left: 0 });
            }
            Answer::State(facts) if open.state_ticket == Some(ticket) => {
                open.state_ticket = None;
                open.state = Some(facts);
            }
            Answer::Findings(found, seq, complete) if open.findings.ticket == Some(ticket) => {
                open.findings.n += found.len() as u64;
                open.findings.seq = seq;
                open.findings.complete = complete;
                for finding in found {
                    open.findings.by_message.entry(finding.at).or_default().push(finding);
                }
            }
            Answer::Grown(key, last_seq, live) if key == open.session.key => {
                let grew = open.last_seq < last_seq;
                open.last_seq = last_seq;
                open.live = live;
                if grew && let Some(part) = open.rows.grown() {
                    let ticket = self.ticket();
                    if let Some(open) = &mut self.open {
                        open.rows.asked(ticket, part);
                        effects.push(Effect::Ask(ticket, Query::Rows(rows_query(open, part))));
                    }
                }
            }
            Answer::Sessions(_) | Answer::Message(_) | Answer::State(_) | Answer::Findings(..) | Answer::Grown(..) => {}
        }
    }

    /// Moves whatever has the cursor.
    pub(super) fn move_by(&mut self, rows: isize) {
        let height = self.list_height();
        if self.view == View::Sessions {
            let last = self.sessions.shown().len().saturating_sub(1);
            self.sessions.cursor = self.sessions.cursor.saturating_add_signed(rows).min(last);
            self.keep_session_in_sight();
            return;
        }
        let Some(open) = &mut self.open else {
            return;
        };
        match (self.view, open.pane, &mut open.detail) {
            (View::State, ..) => {
                let last = open.state.as_ref().map_or(0, |state| state.facts.len().saturating_sub(1));
                open.state_scroll = open.state_scroll.saturating_add_signed(rows).min(last);
            }
            (View::Findings, ..) => {
                let last = open.findings.all().count().saturating_sub(1);
                let findings = &mut open.findings;
                findings.cursor = findings.cursor.saturating_add_signed(rows).min(last);
                findings.top = findings.top.min(findings.cursor).max((findings.cursor + 1).saturating_sub(height));
            }
            (_, Pane::Detail, Some(detail)) => {
                let last = detail.n_lines().saturating_sub(1);
                detail.cursor = detail.cursor.saturating_add_signed(rows).min(last);
                detail.top = detail.top.min(detail.cursor).max((detail.cursor + 1).saturating_sub(height));
            }
            _ => open.rows.move_by(rows, height),
        }
    }

    pub(super) fn press_in_session(&mut self, column: u16, row: usize) {
        let height = self.list_height();
        let in_list = self.size.0 < crate::view::TWO_PANES || column < self.size.0 * self.split / 100;
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

    pub(super) fn look_at(&mut self, action: Action, effects: &mut Vec<Effect>) {
        if self.open.is_none() {
            self.open_chosen(effects);
        }
        if self.open.is_some() {
            self.view = match action {
                Action::ViewState => View::State,
                Action::ViewFindings => View::Findings,
                _ => View::Timeline,
            };
        }
    }

    /// Shows only what fits.
    pub(crate) fn set_filter(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let filter = match self.read_filter(text) {
            Ok(filter) => (!text.trim().is_empty()).then(|| Arc::new(filter)),
            Err(error) => return self.say(error.problem, true),
        };
        let Some(open) = &mut self.open else {
            return;
        };
        open.filter = filter;
        let at = open.rows.current().map(crate::data::Row::at);
        match at {
            Some(at) => {
                open.rows.want(at);
                // A search streams from the beginning, so that its first hits are there at once.
                let part = if open.filter.is_some() { RowsPart::From(1) } else { RowsPart::Around(at.seq) };
                self.list_anew(part, effects);
            }
            None => self.list_anew(RowsPart::From(1), effects),
        }
    }

    /// Puts the cursor on a message, wherever it is, and remembers where it was.
    pub(crate) fn jump(&mut self, at: At, effects: &mut Vec<Effect>) {
        if let Some(open) = &mut self.open
            && let Some(from) = open.rows.current().map(crate::data::Row::at).filter(|from| *from != at)
        {
            let kept = open.jumps.len() - open.jumps_back;
            open.jumps.truncate(kept);
            open.jumps.push(from);
            open.jumps_back = 0;
            let surplus = open.jumps.len().saturating_sub(JUMPS);
            open.jumps.drain(..surplus);
        }
        self.go_to(at, effects);
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

    pub(super) fn act_in_session(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let height = self.list_height();
        let view = self.view;
        let Some(open) = &mut self.open else {
            return;
        };
        match action {
            Action::First | Action::Last if view == View::Timeline && open.pane == Pane::List => {
                open.rows.follow = action == Action::Last && open.live;
                self.list_anew(if action == Action::First { RowsPart::From(1) } else { RowsPart::Last }, effects);
            }
            Action::First => self.move_by(isize::MIN / 2),
            Action::Last => self.move_by(isize::MAX / 2),
            Action::NextPane | Action::Open | Action::Right if view == View::Timeline && open.pane == Pane::List => {
                open.pane = Pane::Detail;
            }
            Action::NextPane if view == View::Timeline => open.pane = Pane::List,
            Action::Open if view == View::Findings => {
                let at = open.findings.all().nth(open.findings.cursor).map(|finding| finding.at);
                if let Some(at) = at {
                    self.jump(at, effects);
                }
            }
            Action::Open | Action::Right | Action::Left if view == View::Timeline => {
                if let Some(detail) = &mut open.detail {
                    let stays = detail.fold(action);
                    if !stays {
                        open.pane = Pane::List;
                    }
                }
            }
            Action::Zoom => open.zoomed = !open.zoomed,
            Action::Follow => {
                open.rows.follow = !open.rows.follow;
                let follow = open.rows.follow;
                if follow {
                    self.list_anew(RowsPart::Last, effects);
                }
                self.say(if follow { "follows" } else { "stays here" }, false);
            }
            Action::CallsOrFrames => {
                open.calls = !open.calls;
                let calls = open.calls;
                let at = open.rows.current().map(crate::data::Row::at);
                if let Some(at) = at {
                    open.rows.want(at);
                }
                self.list_anew(at.map_or(RowsPart::From(1), |at| RowsPart::Around(at.seq)), effects);
                self.say(if calls { "a row a call" } else { "a row a message" }, false);
            }
            Action::NextProblem => self.seek(true, effects),
            Action::PreviousProblem => self.seek(false, effects),
            Action::OtherHalf => {
                let pair = open.rows.current().and_then(|row| row.row.pair);
                match pair {
                    Some(_) if open.calls => {
                        // In a list of calls both halves are one row.
                        open.pane = Pane::Detail;
                    }
                    Some(at) => self.jump(at, effects),
                    None => self.say("it has no other half", false),
                }
            }
            Action::JumpBack => {
                let at =
                    open.jumps.len().checked_sub(open.jumps_back + 1).and_then(|index| open.jumps.get(index)).copied();
                if let Some(at) = at {
                    open.jumps_back += 1;
                    self.go_to(at, effects);
                }
            }
            Action::JumpForward => {
                let back = open.jumps_back.saturating_sub(1);
                let at = open.jumps.len().checked_sub(back + 1).and_then(|index| open.jumps.get(index)).copied();
                if let Some(at) = at {
                    open.jumps_back = back;
                    self.go_to(at, effects);
                }
            }
            Action::JumpTo => self.overlay = Some(Overlay::Jump(Prompt::default())),
            Action::Mark => {
                if let Some(at) = open.rows.current().map(crate::data::Row::at)
                    && !open.marks.remove(&at)
                {
                    open.marks.insert(at);
                }
            }
            Action::NextMark => {
                let here = open.rows.current().map(crate::data::Row::at);
                let next = here.and_then(|at| {
                    open.marks.range((std::ops::Bound::Excluded(at), std::ops::Bound::Unbounded)).next()
                });
                let next = next.or(open.marks.first()).copied();
                match next {
                    Some(at) => self.jump(at, effects),
                    None => self.say("no marks; m makes one", false),
                }
            }
            Action::Form => {
                if let Some(detail) = &mut open.detail {
                    detail.form = match detail.form {
                        Form::Pretty => Form::Raw,
                        Form::Raw => Form::Hex,
                        Form::Hex => Form::Pretty,
                    };
                    detail.cursor = 0;
                    detail.top = 0;
                }
            }
            Action::CopyReference => {
                if let Some(row) = open.rows.current() {
                    let reference = format!("{}:{}", open.session.reference, row.row.at.seq);
                    effects.push(Effect::Copy(reference));
                }
            }
            Action::CopyMessage | Action::CopyAsCall | Action::WriteFile | Action::Pager | Action::Editor => {
                let effect = open.detail.as_ref().and_then(|detail| detail.out(action, &open.session.reference));
                match effect {
                    Some(effect) => effects.push(effect),
                    None if action == Action::CopyAsCall => self.say("this is no call of a tool", false),
                    None => self.say("no message is open", false),
                }
            }
            _ => {}
        }
        let _ = height;
    }

    /// Looks for the next problem: among the findings, and in the list.
    fn seek(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let problem = self.read_filter("status:error,tool_error or kind:raw or kind:gap");
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(here) = open.rows.current().map(crate::data::Row::at) else {
            return;
        };
        // What is on the screen already needs nobody to be asked.
        let is_problem = |row: &crate::data::Row| {
            let broken = open.findings.worst(row.at()).is_some_and(|worst| worst == Severity::Error);
            row.is_problem() || broken
        };
        let cursor = open.rows.cursor();
        let near = if forward {
            open.rows.rows().iter().skip(cursor + 1).find(|row| is_problem(row))
        } else {
            open.rows.rows().iter().take(cursor).rev().find(|row| is_problem(row))
        };
        if let Some(at) = near.map(crate::data::Row::at) {
            return self.jump(at, effects);
        }
        let Ok(problem) = problem else {
            return;
        };
        open.seeking = Some(crate::model::Seeking { ticket, forward });
        let part = if forward { RowsPart::After(here) } else { RowsPart::Before(here) };
        let query = RowsQuery { filter: Some(Arc::new(problem)), limit: 1, ..rows_query(open, part) };
        effects.push(Effect::Ask(ticket, Query::Rows(query)));
    }
}

fn rows_query(open: &Open, part: RowsPart) -> RowsQuery {
    RowsQuery { session: open.session.key, calls: open.calls, filter: open.filter.clone(), part, limit: PAGE }
}

impl Detail {
    /// How many lines there are in the form that is shown.
    pub(crate) fn n_lines(&self) -> usize {
        match self.form {
            Form::Pretty => self.tree.lines().len() + self.other.as_ref().map_or(0, |other| other.lines().len() + 2),
            Form::Raw => String::from_utf8_lossy(&self.parts.this.bytes).lines().count(),
            Form::Hex => self.parts.this.bytes.len().div_ceil(16),
        }
    }

    /// Which tree a line is of, and which line of that.
    fn in_tree(&mut self, line: usize) -> Option<(&mut Tree, usize, usize)> {
        let n_lines = self.tree.lines().len();
        if line < n_lines {
            return Some((&mut self.tree, line, 0));
        }
        let begin = n_lines + 2;
        let other = self.other.as_mut()?;
        Some((other, line.checked_sub(begin)?, begin))
    }

    /// Folds, unfolds, goes to the container; false when there is nothing further to the left.
    fn fold(&mut self, action: Action) -> bool {
        if self.form != Form::Pretty {
            match action {
                Action::Right => self.left += 8,
                Action::Left if self.left > 0 => self.left = self.left.saturating_sub(8),
                Action::Left => return false,
                _ => {}
            }
            return true;
        }
        let cursor = self.cursor;
        let Some((tree, line, begin)) = self.in_tree(cursor) else {
            return action != Action::Left;
        };
        let is_open = tree.lines().get(line).is_some_and(|line| matches!(line.content, crate::tree::Content::Open(_)));
        match action {
            Action::Left if is_open => {
                tree.toggle(line);
            }
            Action::Left => match tree.parent(line) {
                Some(parent) => self.cursor = begin + parent,
                None => return false,
            },
            Action::Right if is_open => {}
            _ => {
                tree.toggle(line);
            }
        }
        self.top = self.top.min(self.cursor);
        true
    }

    fn out(&self, action: Action, reference: &str) -> Option<Effect> {
        let this = &self.parts.this;
        let text = || String::from_utf8_lossy(&this.bytes).trim_end().to_owned();
        let name = format!("{}-{}.json", reference.replace(['/', '.'], "-"), this.row.row.at.seq);
        Some(match action {
            Action::CopyMessage => Effect::Copy(text()),
            Action::CopyAsCall => Effect::Copy(self.as_call()?),
            Action::WriteFile => Effect::Write { bytes: this.bytes.clone(), name },
            _ => {
                let bytes = tap_text::pretty(&text()).into_bytes();
                Effect::Open { bytes, name, edit: action == Action::Editor }
            }
        })
    }

    /// The call as a command line that makes it again.
    fn as_call(&self) -> Option<String> {
        let request = match (this_kind(&self.parts.this), &self.parts.other) {
            (RowKind::Request, _) => &self.parts.this,
            (_, Some(other)) => other,
            _ => return None,
        };
        let node = tap_jsonrpc::Node::new(&request.bytes);
        if !node.get("method")?.is_text("tools/call") {
            return None;
        }
        let name = node.at(&["params", "name"])?.text()?.into_owned();
        let arguments =
            node.at(&["params", "arguments"]).map_or("{}".into(), |node| String::from_utf8_lossy(node.bytes()));
        Some(format!("mcp-tap call {} {}", quoted(&name), quoted(&arguments)))
    }
}

fn this_kind(whole: &crate::data::Whole) -> RowKind {
    whole.row.row.kind
}

/// A word as a shell takes it literally.
fn quoted(word: &str) -> String {
    let plain =
        !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '.'));
    if plain { word.into() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}
