//! What was true at a message: what the message changed first, then all of it, under a strip with the place in the session.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_session::At;

use super::timeline::what;
use crate::data::{Fact, StatedFacts};
use crate::model::Inspector;
use crate::open::Open;
use crate::state::StateLine;
use crate::text::{cell, fitted, span};

/// From this width on the messages stand beside the state.
const MESSAGES_BESIDE: u16 = 140;

/// How wide they are then.
const MESSAGES: u16 = 64;

/// From this height on there is a strip.
const STRIP_FROM: u16 = 14;

/// How many rows of the screen the strip has, with the line above it.
pub(crate) fn strip_height(rows: u16) -> u16 {
    if rows < STRIP_FROM { 0 } else { 2 }
}

/// What the name of a fact has, columns.
const NAME: usize = 22;

impl Inspector {
    pub(super) fn draw_state(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let strip_height = strip_height(self.size.1).min(area.height);
        let [strip, body] = Layout::vertical([Constraint::Length(strip_height), Constraint::Fill(1)]).areas(area);
        let width = usize::from(area.width);
        if strip_height > 0 {
            let lines = vec![fitted(self.where_it_is(open), width, Style::new()), self.strip(open, width)];
            frame.render_widget(Paragraph::new(lines), strip);
        }
        let body = if area.width >= MESSAGES_BESIDE {
            let [left, line, right] =
                Layout::horizontal([Constraint::Length(MESSAGES), Constraint::Length(1), Constraint::Fill(1)])
                    .areas(body);
            self.draw_rows(frame, left, open);
            let bar = vec![Line::from(span("│", self.theme.frame)); usize::from(line.height)];
            frame.render_widget(Paragraph::new(bar), line);
            right
        } else {
            body
        };
        self.draw_facts(frame, body, open);
    }

    /// Which message it is, of how many, and when that was.
    fn where_it_is(&self, open: &Open) -> Line<'static> {
        let Some(at) = open.at() else {
            return Line::default();
        };
        let mut spans = vec![
            span(&format!(" after message {}", at.seq), self.theme.bold),
            span(&format!(" of {}  ", open.last_seq), self.theme.dim),
        ];
        let facts = open.state.facts.as_ref().filter(|facts| facts.seq == at.seq);
        match facts.map(|facts| (facts, &facts.row)) {
            Some((facts, Some(row))) => {
                spans.push(span(&format!("{} ", row.direction().arrow()), self.theme.dim));
                spans.push(span(&what(row).0, Style::new()));
                spans.push(span(&format!("  {}", row.clock), self.theme.dim));
                spans.push(span(&format!("  +{}", tap_text::duration(facts.since_ns)), self.theme.dim));
                if let Some(number) = facts.conversation {
                    spans.push(span(&format!("  session /{number}"), self.theme.dim));
                }
            }
            Some((_, None)) => spans.push(span("there is no such message", self.theme.dim)),
            None => spans.push(span("working it out …", self.theme.dim)),
        }
        Line::from(spans)
    }

    /// The session in one row: where it is, what was marked, which rules were broken.
    fn strip(&self, open: &Open, width: usize) -> Line<'static> {
        let Some(columns) = width.checked_sub(4).filter(|columns| *columns > 0) else {
            return Line::default();
        };
        let here = open.at().map(|at| column_of(at.seq, open.last_seq, columns));
        let mut spans = vec![Span::styled(" ├", self.theme.frame)];
        for column in 0..columns {
            let (from, to) = numbers_at(column, open.last_seq, columns);
            let range = At { seq: from, member: 0 }..At { seq: to, member: 0 };
            let (sign, style) = if here == Some(column) {
                ("●", self.theme.bold)
            } else if open.marks.range(range.clone()).next().is_some() {
                ("*", self.theme.bold)
            } else if open.findings.by_message.range(range).next().is_some() {
                ("!", self.theme.warning)
            } else {
                ("─", self.theme.frame)
            };
            spans.push(Span::styled(sign, style));
        }
        spans.push(Span::styled("┤", self.theme.frame));
        Line::from(spans)
    }

    fn draw_facts(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        let mut lines = Vec::new();
        match &open.state.facts {
            None => lines.push(Line::from(span(" working it out …", self.theme.dim))),
            Some(facts) => {
                let all = facts.lines();
                for (index, line) in all.iter().enumerate().skip(open.state.top).take(height) {
                    let style = if index == open.state.cursor { self.theme.cursor } else { Style::new() };
                    lines.push(fitted(self.state_line(facts, line), width, style));
                }
            }
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn state_line(&self, facts: &StatedFacts, line: &StateLine<'_>) -> Line<'static> {
        let heading = self.theme.frame;
        match line {
            StateLine::ChangedBy(seq) => Line::from(span(&format!(" changed by message {seq}"), heading)),
            StateLine::Changed(fact) => self.changed(fact),
            StateLine::Gone((name, text)) => Line::from(vec![
                span("  - ", self.theme.warning),
                cell(name, NAME, self.theme.name),
                span(&format!(" {text}"), self.theme.dim),
            ]),
            StateLine::Nothing => Line::from(span("    nothing", self.theme.dim)),
            StateLine::Part(part) => Line::from(span(&format!(" {part}"), heading)),
            StateLine::Fact(fact, is_open) => {
                let sign = match (is_open, &fact.changed) {
                    (Some(true), _) => "▾",
                    (Some(false), _) => "▸",
                    (None, Some(_)) => "~",
                    (None, None) => " ",
                };
                let style = if fact.changed.is_some() { self.theme.warning } else { Style::new() };
                Line::from(vec![
                    span(&format!("  {sign} "), style),
                    cell(&fact.name, NAME, self.theme.name),
                    span(&format!(" {}", fact.text), style),
                ])
            }
            StateLine::Item((name, about)) => {
                // Names of tools are short, addresses are not.
                let names = if facts.list.as_deref() == Some("tools") { NAME } else { 0 };
                let mut spans = vec![Span::raw("      ")];
                match names {
                    0 => spans.push(span(name, self.theme.bold)),
                    _ => spans.push(cell(name, names, self.theme.bold)),
                }
                spans.push(span(&format!("  {about}"), self.theme.dim));
                Line::from(spans)
            }
            StateLine::More(n) => Line::from(span(&format!("      … {n} more"), self.theme.dim)),
        }
    }

    /// What is different now.
    fn changed(&self, fact: &Fact) -> Line<'static> {
        let is_new = fact.changed == Some(None);
        let mut spans = vec![
            span(if is_new { "  + " } else { "  ~ " }, self.theme.warning),
            cell(&named(fact), NAME, self.theme.name),
            span(&format!(" {}", fact.text), self.theme.warning),
        ];
        if let Some(Some(before)) = &fact.changed {
            spans.push(span(&format!("   was {before}"), self.theme.dim));
        }
        Line::from(spans)
    }
}

/// What a fact is called where it does not stand under its part.
fn named(fact: &Fact) -> String {
    if fact.part == "in flight" { format!("in flight {}", fact.name) } else { fact.name.clone() }
}

/// The column of a message, on so many columns for all messages.
fn column_of(seq: u64, last_seq: u64, columns: usize) -> usize {
    let place = u128::from(seq.saturating_sub(1)) * columns as u128 / u128::from(last_seq.max(1));
    usize::try_from(place).unwrap_or(columns).min(columns.saturating_sub(1))
}

/// The numbers of the messages that have this column: from the first, and before the second.
fn numbers_at(column: usize, last_seq: u64, columns: usize) -> (u64, u64) {
    let first = |column: usize| {
        let number = (column as u128 * u128::from(last_seq.max(1))).div_ceil(columns.max(1) as u128) + 1;
        u64::try_from(number).unwrap_or(u64::MAX)
    };
    (first(column), first(column + 1))
}

/// The message at a place of the strip that was pressed, if it was.
pub(crate) fn pressed(column: u16, row: u16, size: (u16, u16), last_seq: u64) -> Option<u64> {
    // The head, and the line that says where it is.
    if strip_height(size.1) == 0 || row != 3 || last_seq == 0 {
        return None;
    }
    let columns = usize::from(size.0).checked_sub(4).filter(|columns| *columns > 0)?;
    let column = usize::from(column).checked_sub(2)?.min(columns - 1);
    let (from, _) = numbers_at(column, last_seq, columns);
    Some(from.min(last_seq))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_has_the_column_that_it_is_found_in() {
        for last_seq in [1, 2, 10, 76, 77, 1_000] {
            for columns in [1, 2, 10, 76] {
                for seq in 1..=last_seq {
                    let column = column_of(seq, last_seq, columns);
                    let (from, to) = numbers_at(column, last_seq, columns);
                    assert!((from..to).contains(&seq), "{seq} of {last_seq} on {columns}: {column} has {from}..{to}");
                }
            }
        }
        assert_eq!(column_of(u64::MAX, u64::MAX, 76), 75);
    }

    #[test]
    fn who_presses_the_strip_goes_there() {
        for (column, row, expected) in
            [(2, 3, Some(1)), (0, 3, None), (77, 3, Some(988)), (79, 3, Some(988)), (2, 4, None)]
        {
            assert_eq!(pressed(column, row, (80, 24), 1_000), expected, "{column} {row}");
        }
        assert_eq!(pressed(5, 3, (80, 10), 1_000), None);
    }
}
