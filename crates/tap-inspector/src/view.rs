//! View: the model, drawn. Changes nothing.

mod compare;
mod detail;
mod overlay;
mod overview;
mod search;
mod sequence;
mod sessions;
mod state;
mod stats;
mod timeline;
mod tools;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use crate::keymap::{Action, KEYMAP, Scope};
use crate::model::{Form, Inspector, Pane, View};
use crate::open::Open;
use crate::text::{fitted, span};

pub(crate) use sessions::PANEL_FROM;
pub(crate) use state::{pressed, strip_height};

/// From this width on a message stands beside the list.
pub(crate) const TWO_PANES: u16 = 100;

/// From this height on there is a line of keys.
pub(crate) const KEYS_FROM: u16 = 10;

/// Rows that tell what to do about a finding.
pub(crate) const ADVICE: usize = 4;

/// How wide the list is beside a message, on a screen of so many columns.
pub(crate) fn list_width(columns: u16, percent: u16) -> u16 {
    u16::try_from(u32::from(columns) * u32::from(percent) / 100).unwrap_or(columns)
}

/// The row of the screen that the first row of a list is on.
pub(crate) const LIST_TOP: usize = 4;

/// The row of the screen that all of a session is on in one line, where there is room for it; lists are a row lower then.
pub(crate) const OVERVIEW_ROW: usize = 2;

impl Inspector {
    /// Draws all of it.
    pub fn view(&self, frame: &mut Frame<'_>) {
        let area = frame.area();
        if area.width < 20 || area.height < 6 {
            frame.render_widget(Paragraph::new("too small"), area);
            return;
        }
        let keys_height = u16::from(self.shows_keys && area.height >= KEYS_FROM);
        let [head, strip, body, note, keys] = Layout::vertical([
            Constraint::Length(2),
            Constraint::Length(self.overview_height()),
            Constraint::Fill(1),
            Constraint::Length(1),
            Constraint::Length(keys_height),
        ])
        .areas(area);
        self.draw_head(frame, head);
        self.draw_overview(frame, strip);
        match (self.view, &self.open) {
            (View::Compare, _) => self.draw_compare(frame, body),
            (View::Search, _) => self.draw_search(frame, body),
            (View::Sessions, _) | (_, None) => self.draw_sessions(frame, body),
            (View::Sequence, Some(open)) => self.draw_sequence(frame, body, open),
            (View::Stats, Some(open)) => self.draw_stats(frame, body, open),
            (View::Tools, Some(open)) => self.draw_tools(frame, body, open),
            (View::Timeline, Some(open)) => self.draw_timeline(frame, body, open),
            (View::State, Some(open)) => self.draw_state(frame, body, open),
            (View::Findings, Some(open)) => self.draw_findings(frame, body, open),
        }
        self.draw_note(frame, note);
        self.draw_keys(frame, keys);
        self.draw_overlay(frame, area);
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let mut tabs = vec![span(" mcp-tap  ", self.theme.bold)];
        let views = [
            (View::Sessions, "1 Sessions"),
            (View::Timeline, "2 Timeline"),
            (View::Sequence, "3 Sequence"),
            (View::State, "4 State"),
            (View::Stats, "5 Stats"),
            (View::Findings, "6 Findings"),
            (View::Tools, "8 Tools"),
            (View::Search, "S Search"),
        ];
        for (view, name) in views {
            let style = if view == self.view { self.theme.cursor } else { self.theme.dim };
            tabs.push(span(&format!(" {name} "), style));
            tabs.push(Span::raw(" "));
        }
        let about = match (&self.open, self.view) {
            (_, View::Compare) => self.about_compare(),
            (_, View::Sessions) | (None, _) => self.about_sessions(),
            (Some(open), _) => self.about_session(open, width),
        };
        let lines = vec![fitted(Line::from(tabs), width, Default::default()), fitted(about, width, Default::default())];
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn draw_note(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let line = match (&self.note, &self.open, self.view) {
            (Some(note), ..) => {
                let style = if note.bad { self.theme.bad } else { self.theme.good };
                Line::from(vec![Span::raw(" "), span(&note.text, style)])
            }
            (None, Some(Open { pane: Pane::Detail, detail: Some(detail), .. }), View::Timeline)
                if detail.form == Form::Pretty || detail.find.is_some() =>
            {
                self.about_place(detail)
            }
            (None, Some(open), View::Timeline) => self.about_row(open),
            (None, Some(open), View::Sequence) => self.about_arrow(open),
            (None, Some(open), View::Tools) => self.about_offer(open),
            (None, _, View::Sessions) => self.about_chosen(),
            (None, _, View::Compare) => self.about_compared(),
            _ => Line::default(),
        };
        frame.render_widget(Paragraph::new(fitted(line, width, Default::default())), area);
    }

    fn draw_keys(&self, frame: &mut Frame<'_>, area: Rect) {
        if area.height == 0 {
            return;
        }
        let actions: &[Action] = match self.view {
            View::Sessions => &[
                Action::Open,
                Action::Filter,
                Action::Sort,
                Action::MarkSession,
                Action::Compare,
                Action::Label,
                Action::Delete,
                Action::Help,
                Action::Back,
            ],
            View::Timeline => &[
                Action::Open,
                Action::Filter,
                Action::NextProblem,
                Action::CallsOrFrames,
                Action::Form,
                Action::ViewState,
                Action::CopyMenu,
                Action::Follow,
                Action::Help,
                Action::Back,
            ],
            View::Sequence => &[
                Action::Open,
                Action::Filter,
                Action::Scale,
                Action::ZoomIn,
                Action::ZoomTo,
                Action::FollowCall,
                Action::OtherHalf,
                Action::ViewTimeline,
                Action::Help,
                Action::Back,
            ],
            View::Search => &[
                Action::Open,
                Action::Filter,
                Action::NextHit,
                Action::PreviousHit,
                Action::Palette,
                Action::Help,
                Action::Back,
            ],
            View::Stats => &[
                Action::Open,
                Action::GroupBy,
                Action::SortBy,
                Action::Filter,
                Action::ExportFigures,
                Action::ViewTimeline,
                Action::Help,
                Action::Back,
            ],
            View::State => &[
                Action::StepBack,
                Action::StepForward,
                Action::PreviousCall,
                Action::NextCall,
                Action::NextProblem,
                Action::JumpTo,
                Action::Open,
                Action::ViewTimeline,
                Action::Help,
                Action::Back,
            ],
            View::Tools => {
                &[Action::Open, Action::NextPane, Action::CopyMessage, Action::ViewTimeline, Action::Help, Action::Back]
            }
            View::Compare => &[
                Action::NextChange,
                Action::Layout,
                Action::OnlyChanges,
                Action::IgnorePath,
                Action::Open,
                Action::OpenInB,
                Action::ExportReport,
                Action::Help,
                Action::Back,
            ],
            View::Findings => &[Action::Open, Action::ViewTimeline, Action::Help, Action::Back],
        };
        let mut spans = vec![Span::raw(" ")];
        // As it is called here: elsewhere the same may have another name.
        let named = |action: &Action| {
            let in_scope =
                |scope: &Scope| KEYMAP.iter().find(|binding| binding.action == *action && binding.scope == *scope);
            self.scopes().iter().find_map(in_scope)
        };
        for binding in actions.iter().filter_map(named) {
            let keys = self.keys.of(binding);
            let Some(key) = keys.first() else {
                continue;
            };
            spans.push(span(key, self.theme.bold));
            spans.push(span(&format!(" {}  ", binding.name.replace('-', " ")), self.theme.dim));
        }
        frame.render_widget(
            Paragraph::new(fitted(Line::from(spans), usize::from(area.width), Default::default())),
            area,
        );
    }

    /// A line between panes.
    pub(crate) fn rule(&self, width: usize) -> Line<'static> {
        Line::from(Span::styled("─".repeat(width), self.theme.frame))
    }
}
