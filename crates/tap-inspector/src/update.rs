//! Update: what happened becomes a changed model, and what is to be done outside.

mod actions;
mod copying;
mod marks;
mod navigate;
mod postpone;
mod session;
mod sessions;
mod typing;

pub(crate) use marks::MarkPart;

use tap_session::At;

use crate::data::{Row, SessionKey};
use crate::effect::{Answer, Effect, Query, Ticket};
use crate::input::{Input, Key, KeyCode, Mouse, MouseKind};
use crate::keymap::Action;
use crate::model::{Detail, Inspector, Overlay, Pane, View};
use crate::open::Open;
use crate::prompt::Prompt;
use crate::sessions::Sessions;

/// Rows that the wheel moves by.
const WHEEL: isize = 3;

/// How often the list of sessions is looked at anew while it is on the screen, nanoseconds.
const RELOAD_NS: u64 = 2_000_000_000;

impl Inspector {
    /// What is to be done before anything happens. A session that is named is opened as soon as it is known.
    #[must_use]
    pub fn start_at(&mut self, session: Option<SessionKey>) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.opens = session;
        self.ask_sessions(&mut effects);
        effects
    }

    /// Puts the cursor on a message of the session that is to be opened.
    pub fn open_at_message(&mut self, at: At) {
        self.opens_at = Some(at);
    }

    /// The same as [`start_at`](Self::start_at) with other recordings: nothing is known of them. Answers to older questions are of no interest.
    #[must_use]
    pub fn start_anew(&mut self, session: Option<SessionKey>) -> Vec<Effect> {
        self.open = None;
        let sort = self.sessions.sort;
        self.sessions = Sessions::default();
        self.sessions.sort = sort;
        self.view = View::Sessions;
        self.start_at(session)
    }

    /// Takes what happened, and says what is to be done.
    #[must_use]
    pub fn update(&mut self, input: Input) -> Vec<Effect> {
        let mut effects = Vec::new();
        let before = self.open.as_ref().and_then(|open| open.rows.current().map(Row::at));
        let (view, note) = (self.view, self.note.clone());
        match input {
            Input::Key(key) => self.key(key, &mut effects),
            Input::Paste(text) => self.paste(&text),
            Input::Mouse(mouse) => self.mouse(mouse, &mut effects),
            Input::Resize(columns, rows) => self.size = (columns, rows),
            Input::Tick(now_unix_ns) => {
                self.now_unix_ns = now_unix_ns;
                self.note = self.note.take().filter(|note| now_unix_ns < note.until_unix_ns);
                let due = self.sessions.asked_unix_ns.saturating_add(RELOAD_NS) <= now_unix_ns;
                if self.view == View::Sessions && self.sessions.ticket.is_none() && due {
                    self.ask_sessions(&mut effects);
                }
            }
            Input::Answer(ticket, answer) => self.answer(ticket, answer, &mut effects),
            Input::Failed(ticket, why) => {
                if let Some(ticket) = ticket {
                    self.sessions.failed(ticket);
                    self.session_failed(ticket);
                    self.about_failed(ticket);
                    self.search_failed(ticket);
                    self.compare_failed(ticket);
                    self.picture_failed(ticket);
                }
                self.say(why, true);
            }
            Input::Done(what) => self.say(what, false),
        }
        self.fetch_sequence(&mut effects);
        self.keep_in_time(before);
        self.fetch(&mut effects);
        self.fetch_overview(&mut effects);
        self.fetch_about(&mut effects);
        self.fetch_stats(&mut effects);
        self.fetch_tools(&mut effects);
        self.fetch_compare(&mut effects);
        self.fetch_sessions(&mut effects);
        self.fit();
        if self.view.name().is_some() {
            self.last_view = self.view;
        }
        if self.view != view && self.note == note {
            // What was said of a view is not true of another one.
            self.note = None;
        }
        effects
    }

    /// Puts every cursor where there is something, and every top where its cursor is seen.
    fn fit(&mut self) {
        self.keep_session_in_sight();
        self.fit_search();
        self.settle_point();
        let (height, columns) = (self.list_height(), self.size.0);
        let two = columns >= crate::view::TWO_PANES && self.view != View::Sequence;
        let Some(open) = &mut self.open else {
            return;
        };
        let list = if two && !open.zoomed { crate::view::list_width(columns, self.split) + 1 } else { 0 };
        open.rows.keep_in_sight(height);
        if let Some(detail) = &mut open.detail {
            detail.fit(usize::from(columns.saturating_sub(list)), height);
        }
        open.state.fit(height);
        let n_findings = open.findings.len();
        let height = height.saturating_sub(crate::view::ADVICE).max(1);
        let findings = &mut open.findings;
        findings.cursor = findings.cursor.min(n_findings.saturating_sub(1));
        findings.top = findings.top.min(findings.cursor).max((findings.cursor + 1).saturating_sub(height));
    }

    fn answer(&mut self, ticket: Ticket, answer: Answer, effects: &mut Vec<Effect>) {
        match answer {
            Answer::Sessions(lines, complete) if self.sessions.ticket == Some(ticket) => {
                self.sessions.ticket = self.sessions.ticket.filter(|_| !complete);
                self.sessions.set_lines(lines);
                if let Some(open) = &mut self.open
                    && let Some(line) = self.sessions.find(open.session.key)
                {
                    open.session = line.clone();
                }
                if let Some(key) = self.opens
                    && let Some(line) = self.sessions.find(key).cloned()
                {
                    self.opens = None;
                    self.sessions.go_to(key);
                    self.open_session_line(line, effects);
                    // Where it was left the last time.
                    self.view = self.last_view;
                    if let Some(at) = self.opens_at.take() {
                        self.jump(at, effects);
                    }
                }
            }
            Answer::Summary(about) => self.sessions.take_summary(ticket, *about),
            Answer::Judged(key, n_findings, is_last) => self.sessions.take_judged(ticket, key, n_findings, is_last),
            Answer::Changed(what) => {
                self.sessions.changing = self.sessions.changing.filter(|asked| *asked != ticket);
                self.say(what, false);
                self.ask_sessions(effects);
            }
            Answer::Sessions(..) => {}
            Answer::About(about) => self.take_about(ticket, *about),
            Answer::Stats(stats) => self.take_stats(ticket, *stats),
            Answer::Tools(tools) => self.take_tools(ticket, *tools),
            Answer::Compared(compared) => self.take_compared(ticket, *compared),
            Answer::Differences(found) => self.take_differences(ticket, *found),
            Answer::Report(bytes) => self.take_report(ticket, bytes, effects),
            Answer::Hits(hits) => self.take_hits(ticket, *hits),
            Answer::Picture(picture) => self.take_picture(ticket, *picture),
            other => self.session_answer(ticket, other, effects),
        }
    }

    fn key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        self.note = self.note.take().filter(|note| note.until_unix_ns != u64::MAX);
        if self.overlay.is_some() {
            self.overlay_key(key, effects);
        } else if let Some(action) = self.keys.action(key, self.scopes()) {
            self.act(action, effects);
        }
    }

    fn mouse(&mut self, mouse: Mouse, effects: &mut Vec<Effect>) {
        match mouse.kind {
            MouseKind::WheelUp => self.move_by(-WHEEL),
            MouseKind::WheelDown => self.move_by(WHEEL),
            MouseKind::Press => self.press(mouse, effects),
            MouseKind::Drag => {
                if self.view == View::Timeline && mouse.column > 10 && self.size.0 > 20 {
                    self.split = (mouse.column.saturating_mul(100) / self.size.0.max(1)).clamp(20, 80);
                }
            }
        }
    }

    fn press(&mut self, mouse: Mouse, effects: &mut Vec<Effect>) {
        let strip = self.overview_height();
        if strip > 0 && usize::from(mouse.row) == crate::view::OVERVIEW_ROW {
            return self.seek_in_overview(mouse.column, effects);
        }
        let last_seq = self.open.as_ref().map_or(0, |open| open.last_seq);
        if self.view == View::State
            && let Some(seq) = crate::view::pressed(mouse.column, mouse.row, self.size, last_seq)
        {
            return self.jump(At { seq, member: 0 }, effects);
        }
        let Some(row) = usize::from(mouse.row).checked_sub(crate::view::LIST_TOP + usize::from(strip)) else {
            return;
        };
        match self.view {
            View::Sessions => {
                let chosen = self.sessions.top + row;
                if chosen < self.sessions.n_shown() {
                    if self.sessions.cursor == chosen {
                        self.act(Action::Open, effects);
                    }
                    self.sessions.cursor = chosen;
                }
            }
            View::Timeline => self.press_in_session(mouse.column, row),
            View::Sequence => self.press_in_sequence(row),
            View::Search => {
                // Its list begins a line lower.
                let line = row.checked_sub(1).map(|row| self.search.top + row);
                if let Some(line) = line.filter(|line| *line < self.search.lines.len()) {
                    if self.search.cursor == line {
                        self.act(Action::Open, effects);
                    }
                    self.search.cursor = line;
                }
            }
            View::State | View::Findings | View::Stats | View::Tools | View::Compare => {}
        }
    }

    /// Does what a key or a name asks for.
    pub(crate) fn act(&mut self, action: Action, effects: &mut Vec<Effect>) {
        if self.postpone(action) {
            return;
        }
        match action {
            Action::Quit => effects.push(Effect::Quit),
            Action::Suspend => effects.push(Effect::Suspend),
            Action::Redraw => effects.push(Effect::Redraw),
            Action::Help => self.overlay = Some(Overlay::Help(0)),
            Action::Palette => self.overlay = Some(Overlay::Palette(Prompt::default(), 0)),
            Action::Filter if self.view == View::Timeline && self.has_message() => self.act(Action::Find, effects),
            Action::Filter => {
                let text = match (self.view, &self.open) {
                    (View::Sessions, _) => self.sessions.filter().to_owned(),
                    (View::Search, _) => {
                        self.search.filter.as_ref().map(|filter| filter.text().to_owned()).unwrap_or_default()
                    }
                    (_, Some(open)) => open.filter.as_ref().map(|filter| filter.text().to_owned()).unwrap_or_default(),
                    (_, None) => String::new(),
                };
                self.overlay = Some(Overlay::Filter(Prompt::with(&text)));
            }
            Action::Back => self.back(effects),
            Action::Close if self.view == View::Sessions && self.sessions.filter().is_empty() => {
                self.say("q leaves", false);
            }
            Action::Close => self.back(effects),
            Action::ToggleKeys => self.shows_keys = !self.shows_keys,
            Action::Wider => self.split = (self.split + 5).min(80),
            Action::Narrower => self.split = self.split.saturating_sub(5).max(20),
            Action::ViewSessions => {
                self.view = View::Sessions;
                self.ask_sessions(effects);
            }
            Action::Reload => self.ask_sessions(effects),
            Action::ViewTimeline
            | Action::ViewSequence
            | Action::ViewState
            | Action::ViewStats
            | Action::ViewFindings
            | Action::ViewTools => self.look_at(action, effects),
            Action::ViewSearch => self.look_at_search(),
            Action::Down => self.move_by(1),
            Action::Up => self.move_by(-1),
            Action::PageDown => self.move_by(self.list_height().cast_signed()),
            Action::PageUp => self.move_by(-self.list_height().cast_signed()),
            Action::ComparePrevious => {
                if let Some(key) = self.sessions.chosen().map(|line| line.key) {
                    self.compare_with_previous(key, effects);
                }
            }
            other if self.view == View::Sessions => {
                self.act_in_sessions(other, effects);
            }
            Action::CompareThis => {
                if let Some(key) = self.open_session() {
                    self.compare_with_marked(key, effects);
                }
            }
            other if self.view == View::Compare => self.act_in_compare(other, effects),
            other if self.view == View::Search => self.act_in_search(other, effects),
            other if self.view == View::Sequence && self.act_in_sequence(other, effects) => {}
            other if self.view == View::Stats => self.act_in_stats(other, effects),
            other if self.view == View::Tools => self.act_in_tools(other, effects),
            other => self.act_in_session(other, effects),
        }
    }

    fn back(&mut self, effects: &mut Vec<Effect>) {
        if self.view == View::Search && self.stop_search(effects) {
            return;
        }
        let is_looking = self.open.as_ref().is_some_and(|open| {
            let finds = open.pane == Pane::Detail && open.detail.as_ref().is_some_and(|detail| detail.find.is_some());
            !finds && !open.zoomed && open.filter.is_none()
        });
        if self.view == View::Timeline && is_looking && self.back_to_compare() {
            return;
        }
        match (self.view, &mut self.open) {
            (View::Sessions, _) if !self.sessions.filter().is_empty() => self.sessions.set_filter(String::new()),
            (View::Sessions, _) => effects.push(Effect::Quit),
            (View::Compare, _) => self.back_in_compare(effects),
            (View::Search, _) | (_, None) => self.view = View::Sessions,
            (View::Timeline, Some(open)) if self.search.walks && open.pane == Pane::Detail => {
                self.search.walks = false;
                self.view = View::Search;
            }
            (
                View::Timeline,
                Some(Open { pane: Pane::Detail, detail: Some(Detail { find: find @ Some(_), .. }), .. }),
            ) => {
                *find = None;
            }
            (View::Timeline | View::Sequence, Some(open)) if open.pane == Pane::Detail => {
                open.pane = Pane::List;
                open.zoomed = false;
            }
            (View::Timeline, Some(open)) if open.zoomed => open.zoomed = false,
            (View::Timeline, Some(open)) if open.filter.is_some() => self.set_filter("", effects),
            (View::Timeline, Some(_)) if self.search.walks => {
                self.search.walks = false;
                self.view = View::Search;
            }
            (View::Timeline, Some(_)) => {
                self.view = View::Sessions;
                self.ask_sessions(effects);
            }
            (View::Sequence | View::State | View::Stats | View::Findings | View::Tools, Some(_)) => {
                if self.view != View::Tools || !self.back_in_tools() {
                    self.view = View::Timeline;
                }
            }
        }
    }

    pub(crate) fn ask_sessions(&mut self, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        if let Some(old) = self.sessions.ticket.replace(ticket) {
            effects.push(Effect::Cancel(old));
        }
        self.sessions.asked_unix_ns = self.now_unix_ns;
        effects.push(Effect::Ask(ticket, Query::Sessions));
    }

    pub(crate) fn keep_session_in_sight(&mut self) {
        let height = self.list_height();
        let last = self.sessions.n_shown().saturating_sub(1);
        let sessions = &mut self.sessions;
        sessions.cursor = sessions.cursor.min(last);
        sessions.top = sessions.top.min(sessions.cursor);
        if sessions.top + height <= sessions.cursor {
            sessions.top = sessions.cursor + 1 - height;
        }
    }

    fn overlay_key(&mut self, key: Key, effects: &mut Vec<Effect>) {
        if key.control && key.code == KeyCode::Char('c') && !matches!(self.overlay, Some(Overlay::Picture(_))) {
            self.overlay = None;
            return;
        }
        match self.overlay.take() {
            Some(Overlay::Help(top)) => {
                let step = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => 1,
                    KeyCode::Up | KeyCode::Char('k') => -1,
                    KeyCode::PageDown | KeyCode::Char(' ') => 10,
                    KeyCode::PageUp => -10,
                    _ => return,
                };
                let last = crate::keymap::KEYMAP.len();
                self.overlay = Some(Overlay::Help(top.saturating_add_signed(step).min(last)));
            }
            // Any key closes it.
            Some(Overlay::Picture(shown)) => effects.extend(shown.ticket.map(Effect::Cancel)),
            Some(Overlay::Filter(prompt)) => self.filter_key(prompt, key, effects),
            Some(Overlay::Copy(chosen)) => self.copy_key(chosen, key, effects),
            Some(Overlay::Find(prompt)) => self.find_key(prompt, key),
            Some(Overlay::Jump(prompt)) => self.jump_key(prompt, key, effects),
            Some(Overlay::Mark(prompt, at, part)) => self.mark_key(prompt, (at, part), key, effects),
            Some(Overlay::Label(prompt, session)) => self.label_key(prompt, session, key, effects),
            Some(Overlay::Confirm(_, query)) => self.confirm_key(query, key, effects),
            Some(Overlay::Palette(prompt, chosen)) => self.palette_key(prompt, chosen, key, effects),
            None => {}
        }
    }
}
