//! What a server offers, and how that changed.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_compare::DriftClass;
use tap_text::{counted, thousands};
use unicode_width::UnicodeWidthStr;

use super::{TWO_PANES, list_width};
use crate::model::{Inspector, Pane};
use crate::open::Open;
use crate::text::{cell, fitted, right, span};
use crate::tools::{Definition, DefinitionLine, Difference, OfferKind, OfferLine, ToolsAnswer};

impl Inspector {
    /// How many rows a pane has, and how many columns the definition.
    pub(crate) fn tools_layout(&self) -> (usize, usize) {
        let keys = usize::from(self.shows_keys && self.size.1 >= super::KEYS_FROM);
        let height = usize::from(self.size.1).saturating_sub(5 + keys).max(1);
        let zoomed = self.open.as_ref().is_some_and(|open| open.tools.zoomed);
        let columns = self.size.0;
        let width = if columns >= TWO_PANES && !zoomed {
            columns.saturating_sub(list_width(columns, self.split) + 1)
        } else {
            columns
        };
        (height, usize::from(width))
    }

    pub(super) fn draw_tools(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let tools = &open.tools;
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let width = usize::from(area.width);
        frame.render_widget(Paragraph::new(fitted(self.tools_head(open), width, Style::new())), head);
        let Some(shown) = &tools.shown else {
            frame.render_widget(Paragraph::new(Line::from(span(" looking …", self.theme.dim))), body);
            return;
        };
        if area.width >= TWO_PANES && !tools.zoomed {
            let list = list_width(area.width, self.split);
            let [left, bar, side] =
                Layout::horizontal([Constraint::Length(list), Constraint::Length(1), Constraint::Fill(1)]).areas(body);
            self.draw_offers(frame, left, open, shown);
            let line = || Line::from(Span::styled("│", self.theme.frame));
            frame.render_widget(Paragraph::new((0..bar.height).map(|_| line()).collect::<Vec<_>>()), bar);
            self.draw_definition(frame, side, open);
        } else if tools.pane == Pane::Detail {
            self.draw_definition(frame, body, open);
        } else {
            self.draw_offers(frame, body, open, shown);
        }
    }

    /// How much is offered, when that was listed, and how it differs from before.
    fn tools_head(&self, open: &Open) -> Line<'static> {
        let Some(shown) = &open.tools.shown else {
            return Line::default();
        };
        let offered =
            |line: &&OfferLine| line.before != Some(Difference::Removed) && line.here != Some(Difference::Removed);
        let n = |kind: OfferKind| shown.lines.iter().filter(offered).filter(|line| line.kind == kind).count() as u64;
        let kinds = [OfferKind::Tool, OfferKind::Prompt, OfferKind::Resource, OfferKind::Template];
        let counts: Vec<String> =
            kinds.into_iter().filter(|kind| n(*kind) > 0).map(|kind| counted(n(kind), kind.name())).collect();
        let bytes: usize = shown.lines.iter().filter(offered).map(|line| line.definition.len()).sum();
        let mut spans = vec![span(&format!(" {}", counts.join(", ")), self.theme.bold)];
        match &shown.earlier {
            Some(earlier) if !shown.lines.is_empty() => {
                let n = |what| shown.lines.iter().filter(|line| line.before == Some(what)).count();
                let (added, changed) = (n(Difference::Added), n(Difference::Changed));
                let told = match (added, changed, n(Difference::Removed)) {
                    (0, 0, 0) => format!("  same as in {earlier}"),
                    (added, changed, removed) => format!("  since {earlier}: +{added} ~{changed} -{removed}"),
                };
                spans.push(span(&told, self.theme.warning));
            }
            Some(_) => {}
            None if shown.complete => spans.push(span("  no earlier session", self.theme.dim)),
            None => spans.push(span("  comparing …", self.theme.dim)),
        }
        if bytes > 0 {
            spans.push(span(&format!("  ≈{} tokens", thousands(bytes as u64 / 4)), Style::new()));
        }
        let here = open.tools_as_of();
        let as_of = match here.0 != here.1 && here.1 == shown.seq {
            true => format!("  as of #{} and its answer #{}", here.0, here.1),
            false => format!("  as of #{}", shown.seq),
        };
        spans.push(span(&as_of, self.theme.dim));
        if !shown.listed.is_empty() {
            spans.push(span(&format!("  listed: {}", shown.listed.join("; ")), self.theme.dim));
        }
        if shown.n_left_out > 0 {
            spans.push(span(&format!("  {} more left out", thousands(shown.n_left_out)), self.theme.warning));
        }
        Line::from(spans)
    }

    /// What the signs of the line with the cursor mean.
    pub(super) fn about_offer(&self, open: &Open) -> Line<'static> {
        let Some(line) = open.tools.current() else {
            return Line::default();
        };
        let mut spans = vec![Span::raw(" ")];
        for change in line.changes.iter().rev().take(2).rev() {
            let text = format!("{} {} {} ", change.what.sign(), change.what.word(), change.since);
            spans.push(span(&text, self.difference(change.what)));
            let (class, words) = match change.told.first() {
                Some((class, words)) => (*class, words.as_str()),
                None => (change.class, ""),
            };
            if change.what != Difference::Added {
                spans.push(span(class.name(), self.class(Some(class))));
                spans.push(span(&format!(" {words}"), self.theme.dim));
            }
            spans.push(Span::raw("   "));
        }
        if line.n_hidden > 0 {
            let n = counted(line.n_hidden, "hidden character");
            spans.push(span(&format!("! {n} in its definition"), self.theme.bad));
        }
        Line::from(spans)
    }

    fn draw_offers(&self, frame: &mut Frame<'_>, area: Rect, open: &Open, shown: &ToolsAnswer) {
        let tools = &open.tools;
        let width = usize::from(area.width);
        let columns = Columns::fitting(width);
        let dim = self.theme.dim;
        let mut head = vec![Span::raw("   "), cell("NAME", columns.name, dim)];
        if columns.arguments > 0 {
            head.push(cell(" ARGUMENTS", columns.arguments, dim));
        }
        head.extend(["CALLS", "ERR"].map(|name| right(name, columns.number, dim)));
        if columns.tokens > 0 {
            head.push(right("≈TOKENS", columns.tokens, dim));
        }
        let mut lines = vec![fitted(Line::from(head), width, Style::new())];
        let height = usize::from(area.height).saturating_sub(1);
        for (index, line) in shown.lines.iter().enumerate().skip(tools.top).take(height) {
            let style = match (index == tools.cursor, tools.pane) {
                (true, Pane::List) => self.theme.cursor,
                (true, Pane::Detail) => self.theme.cursor_elsewhere,
                (false, _) => Style::new(),
            };
            lines.push(fitted(self.offer_line(line, &columns), width, style));
        }
        if shown.lines.is_empty() {
            lines.push(Line::from(span(" nothing was listed up to here", dim)));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn offer_line(&self, line: &OfferLine, columns: &Columns) -> Line<'static> {
        let sign = |difference: Option<Difference>| match difference {
            None => Span::raw(" "),
            Some(what) => span(what.sign(), self.difference(what)),
        };
        let mut spans = vec![sign(line.here), sign(line.before), Span::raw(" ")];
        let hidden = if line.n_hidden > 0 { format!(" !{}", line.n_hidden.min(9_999)) } else { String::new() };
        let kind = if line.kind == OfferKind::Tool { String::new() } else { format!("{} ", line.kind.name()) };
        let class = line.class().map_or("", DriftClass::name);
        // Where there is no room for the word, it is in the line at the bottom.
        let room = columns.name.saturating_sub(hidden.width() + kind.width() + line.name.width());
        let class = if !class.is_empty() && class.len() < room { format!(" {class}") } else { String::new() };
        let name = columns.name.saturating_sub(hidden.width() + class.width());
        let gone = [line.here, line.before].contains(&Some(Difference::Removed));
        let style = if gone { self.theme.dim } else { Style::new() };
        let used = kind.width().min(name);
        spans.push(cell(&kind, used, self.theme.dim));
        spans.push(cell(&line.name, name - used, style));
        spans.push(cell(&class, class.width(), self.class(line.class())));
        spans.push(cell(&hidden, columns.name - name - class.width(), self.theme.bad));
        if columns.arguments > 0 {
            let mut told: Vec<String> = Vec::new();
            told.extend(line.arguments.iter().map(|(name, must)| format!("{name}{}", if *must { "" } else { "?" })));
            let arguments = if told.is_empty() { String::new() } else { format!("({})", told.join(", ")) };
            let marks = line.marks.join(" ");
            let text = format!(" {arguments} {marks}");
            // What it says it may do is of more interest than the last of its arguments.
            let room = columns.arguments.saturating_sub(marks.width() + 1);
            if text.width() > columns.arguments && room >= 12 {
                spans.push(cell(&format!(" {arguments}"), room, self.theme.dim));
                spans.push(cell(&format!(" {marks}"), columns.arguments - room, self.theme.warning));
            } else {
                let used = (arguments.width() + 2).min(columns.arguments);
                spans.push(cell(&format!(" {arguments}"), used, self.theme.dim));
                spans.push(cell(&marks, columns.arguments - used, self.theme.warning));
            }
        }
        let number = |n: u64| if n == 0 { "-".to_owned() } else { n.to_string() };
        spans.push(right(&number(line.n_calls), columns.number, Style::new()));
        spans.push(right(
            &number(line.n_errors),
            columns.number,
            if line.n_errors > 0 { self.theme.bad } else { self.theme.dim },
        ));
        if columns.tokens > 0 {
            let tokens = thousands(line.definition.len() as u64 / 4);
            spans.push(right(&tokens, columns.tokens, self.theme.dim));
        }
        Line::from(spans)
    }

    fn difference(&self, what: Difference) -> Style {
        match what {
            Difference::Added => self.theme.good,
            Difference::Removed => self.theme.bad,
            Difference::Changed => self.theme.warning,
        }
    }

    fn draw_definition(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let Some(definition) = &open.tools.definition else {
            return;
        };
        let width = usize::from(area.width);
        let has_keys = open.tools.pane == Pane::Detail;
        // As high as the list with its head.
        let rows = definition.top..definition.top + usize::from(area.height).saturating_sub(1);
        let lines: Vec<Line<'_>> = rows
            .map_while(|index| {
                let style = if has_keys && index == definition.cursor { self.theme.cursor } else { Style::new() };
                Some(fitted(self.definition_line(definition, index)?, width, style))
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn definition_line(&self, definition: &Definition, index: usize) -> Option<Line<'static>> {
        Some(match definition.line(index)? {
            DefinitionLine::Title(text) => Line::from(span(&format!(" {text}"), self.theme.bold)),
            DefinitionLine::Change(what, text) => Line::from(vec![
                span(&format!(" {} ", what.sign()), self.difference(what)),
                span(&text, self.difference(what)),
            ]),
            DefinitionLine::Told(class, text) => Line::from(span(&format!("   {text}"), self.class(Some(class)))),
            DefinitionLine::Warning(text) => Line::from(span(&format!(" {text}"), self.theme.bad)),
            DefinitionLine::Text(text) => Line::from(span(&format!(" {text}"), Style::new())),
            DefinitionLine::Tree(line) => self.tree_line(&definition.tree, line)?,
        })
    }
}

/// Widths of the columns; 0 where there is no room.
struct Columns {
    name: usize,
    arguments: usize,
    number: usize,
    tokens: usize,
}

impl Columns {
    fn fitting(width: usize) -> Self {
        let number = 6;
        let tokens = if width >= 44 { 8 } else { 0 };
        let room = width.saturating_sub(3 + 2 * number + tokens);
        // Names are seldom longer than that; the rest is for arguments, where it is worth it.
        let name = if room >= 44 { (room * 2 / 5).clamp(20, 40) } else { room };
        Self { name, arguments: room - name, number, tokens }
    }
}
