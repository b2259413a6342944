//! What lies over a view: help, prompts, the palette.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use crate::input::Key;
use crate::keymap::KEYMAP;
use crate::model::{Inspector, Overlay, View};
use crate::place::Place;
use crate::prompt::Prompt;
use crate::text::{cell, fitted, span};
use crate::update::MarkPart;

/// How many candidates of a completion are offered at once.
const CANDIDATES: usize = 8;

impl Inspector {
    pub(super) fn draw_overlay(&self, frame: &mut Frame<'_>, area: Rect) {
        match &self.overlay {
            None => {}
            Some(Overlay::Help(top)) => self.draw_help(frame, area, *top),
            Some(Overlay::Filter(prompt)) => self.draw_filter(frame, area, prompt),
            Some(Overlay::Picture(shown)) => self.draw_picture(frame, inset(area, 2, 1), shown),
            Some(Overlay::Copy(chosen)) => {
                let items = self.copies();
                let lines: Vec<Line<'static>> = items
                    .iter()
                    .enumerate()
                    .map(|(index, (key, _, about))| {
                        let style = if index == *chosen { self.theme.cursor } else { Style::new() };
                        let line =
                            Line::from(vec![cell(&key.to_string(), 3, self.theme.bold), span(about, Style::new())]);
                        fitted(line, usize::from(area.width).saturating_sub(2), style)
                    })
                    .collect();
                let height = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX).min(area.height);
                let place = Rect { y: area.y + area.height - height, height, ..area };
                // Where there is little room, the chosen one is seen.
                let room = usize::from(height).saturating_sub(2).max(1);
                let lines: Vec<_> = lines.into_iter().skip((chosen + 1).saturating_sub(room)).collect();
                frame.render_widget(Clear, place);
                let block = Block::bordered().title(" copy ").border_style(self.theme.frame);
                frame.render_widget(Paragraph::new(lines).block(block), place);
            }
            Some(Overlay::Find(prompt)) => {
                let about =
                    Line::from(span("text in this message, in any case; n N go on, esc forgets", self.theme.dim));
                self.draw_prompt(frame, area, "/", prompt, &[about]);
            }
            Some(Overlay::Jump(prompt)) => {
                let about = Line::from(span(crate::place::ABOUT, self.theme.dim));
                self.draw_prompt(frame, area, "#", prompt, &[about]);
            }
            Some(Overlay::Mark(prompt, at, MarkPart::Name)) => {
                let about = format!("a name for message {}: letters, digits, - _ . ; nothing takes it away", at.seq);
                self.draw_prompt(frame, area, "@", prompt, &[Line::from(span(&about, self.theme.dim))]);
            }
            Some(Overlay::Mark(prompt, at, MarkPart::Note)) => {
                let about = format!("a note on message {}; nothing takes it away", at.seq);
                self.draw_prompt(frame, area, ";", prompt, &[Line::from(span(&about, self.theme.dim))]);
            }
            Some(Overlay::Label(prompt, _)) => {
                let about = "letters, digits, - _ . ; nothing takes it away; `mcp-tap log @NAME` finds it";
                self.draw_prompt(frame, area, "@", prompt, &[Line::from(span(about, self.theme.dim))]);
            }
            Some(Overlay::Confirm(text, _)) => {
                let about = Line::from(span("y does it, any other key does not", self.theme.dim));
                self.draw_prompt(frame, area, "?", &Prompt::with(text), &[about]);
            }
            Some(Overlay::Palette(prompt, chosen)) => {
                let matches = self.palette(&prompt.text);
                let from = chosen.saturating_sub(9);
                let mut lines: Vec<Line<'static>> = matches
                    .iter()
                    .enumerate()
                    .skip(from)
                    .take(10)
                    .map(|(index, (name, about, _))| {
                        let style = if index == *chosen { self.theme.cursor } else { Style::new() };
                        let line = Line::from(vec![cell(name, 18, self.theme.bold), span(about, self.theme.dim)]);
                        fitted(line, usize::from(area.width).saturating_sub(4), style)
                    })
                    .collect();
                if lines.is_empty() {
                    let text = if Place::read(&prompt.text).is_ok() { "enter goes there" } else { crate::place::ABOUT };
                    lines.push(Line::from(span(text, self.theme.dim)));
                }
                self.draw_prompt(frame, area, ":", prompt, &lines);
            }
        }
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect, top: usize) {
        let scopes = self.scopes();
        let mut lines: Vec<Line<'static>> = Vec::new();
        for scope in scopes {
            for binding in KEYMAP.iter().filter(|binding| binding.scope == *scope) {
                // A key that means something else here is told there.
                let acts =
                    |key: &str| Key::named(key).and_then(|key| self.keys.action(key, scopes)) == Some(binding.action);
                let keys: Vec<&str> = self.keys.of(binding).iter().map(|key| &**key).filter(|key| acts(key)).collect();
                if keys.is_empty() {
                    continue;
                }
                let keys = keys.join(" ");
                lines.push(Line::from(vec![
                    Span::raw(" "),
                    cell(&keys, 16, self.theme.bold),
                    cell(binding.name, 18, self.theme.name),
                    span(binding.about, Style::new()),
                ]));
            }
            lines.push(Line::default());
        }
        let lines: Vec<_> = lines.into_iter().skip(top).collect();
        let inner = inset(area, 2, 1);
        frame.render_widget(Clear, inner);
        let title = format!(" {}; j k scroll, any other key closes ", crate::words::KEYS_HERE);
        let block = Block::bordered().title(title).border_style(self.theme.frame);
        frame.render_widget(Paragraph::new(lines).block(block), inner);
    }

    fn draw_filter(&self, frame: &mut Frame<'_>, area: Rect, prompt: &Prompt) {
        let mut below = Vec::new();
        if self.view == View::Sessions {
            below.push(Line::from(span("part of a name, a command, a client, a server or a revision", self.theme.dim)));
            self.draw_prompt(frame, area, "/", prompt, &below);
            return;
        }
        match self.read_filter(&prompt.text) {
            Ok(filter) => {
                let cost = match filter.cost() {
                    tap_filter::Cost::Rows => "looks at rows",
                    tap_filter::Cost::Findings => "looks at findings",
                    tap_filter::Cost::Bodies => "looks at all messages whole",
                };
                below.push(Line::from(span(
                    if prompt.text.trim().is_empty() { "everything" } else { cost },
                    self.theme.dim,
                )));
            }
            Err(error) => {
                let before = prompt.text.get(..error.at.start).unwrap_or_default().width();
                let marked = prompt.text.get(error.at.clone()).unwrap_or_default().width().max(1);
                below.push(Line::from(span(
                    &format!("{}{}", " ".repeat(before + 2), "^".repeat(marked)),
                    self.theme.bad,
                )));
                below.push(Line::from(span(&error.problem, self.theme.bad)));
                below.extend(error.help.map(|help| Line::from(span(&help, Style::new()))));
            }
        }
        for candidate in self.candidates(prompt).into_iter().take(CANDIDATES) {
            below.push(Line::from(vec![
                cell(&candidate.text, 18, self.theme.name),
                span(&candidate.about, self.theme.dim),
            ]));
        }
        self.draw_prompt(frame, area, "/", prompt, &below);
    }

    fn draw_prompt(&self, frame: &mut Frame<'_>, area: Rect, sign: &str, prompt: &Prompt, below: &[Line<'static>]) {
        let height = u16::try_from(below.len() + 3).unwrap_or(u16::MAX).min(area.height);
        let place = Rect { x: area.x, y: area.y + area.height - height, width: area.width, height };
        frame.render_widget(Clear, place);
        let mut lines =
            vec![Line::from(vec![span(&format!("{sign} "), self.theme.bold), span(&prompt.text, Style::new())])];
        lines.extend(below.iter().cloned());
        frame.render_widget(Paragraph::new(lines).block(Block::bordered().border_style(self.theme.frame)), place);
        let before = tap_text::shown(prompt.text.get(..prompt.cursor).unwrap_or_default(), false).width();
        let column = u16::try_from(before + 3).unwrap_or(u16::MAX).min(area.width.saturating_sub(2));
        frame.set_cursor_position(Position { x: place.x + column, y: place.y + 1 });
    }
}

fn inset(area: Rect, columns: u16, rows: u16) -> Rect {
    Rect {
        x: area.x + columns.min(area.width / 4),
        y: area.y + rows.min(area.height / 4),
        width: area.width.saturating_sub(2 * columns.min(area.width / 4)),
        height: area.height.saturating_sub(2 * rows.min(area.height / 4)),
    }
}
