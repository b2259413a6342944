//! Two sessions beside each other: call by call, tool by tool.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_compare::{DriftClass, PieceOf};
use tap_text::{duration, thousands};
use unicode_width::UnicodeWidthStr;

use super::{TWO_PANES, list_width};
use crate::compare::{CompareLine, CompareSign, ComparedSide, DiffLine, Laid, beside_width};
use crate::model::{Inspector, Pane};
use crate::text::{cell, fitted, right, span};

/// Lines over the list: figures, and a rule.
const HEAD: u16 = 2;

/// From so many lines on, what differs stands under the list where it cannot stand beside it.
const BOTH_FROM: u16 = 12;

/// Columns of a class: `COMPATIBLE`.
const CLASS: usize = 11;

/// Where the panes are; without a width or a height one is not shown.
struct Panes {
    list: Rect,
    between: Rect,
    side: Rect,
}

impl Inspector {
    fn compare_panes(&self, body: Rect) -> Panes {
        let none = Rect::new(body.x, body.y, 0, 0);
        let [_, body] = Layout::vertical([Constraint::Length(HEAD), Constraint::Fill(1)]).areas(body);
        let compare = &self.compare;
        if compare.zoomed {
            let is_list = compare.pane == Pane::List;
            let (list, side) = if is_list { (body, none) } else { (none, body) };
            return Panes { list, between: none, side };
        }
        if body.width >= TWO_PANES {
            let list = list_width(body.width, self.split);
            let [list, between, side] =
                Layout::horizontal([Constraint::Length(list), Constraint::Length(1), Constraint::Fill(1)]).areas(body);
            return Panes { list, between, side };
        }
        if body.height >= BOTH_FROM {
            let [list, between, side] = Layout::vertical([
                Constraint::Fill(1),
                Constraint::Length(1),
                Constraint::Length(body.height * 9 / 20),
            ])
            .areas(body);
            return Panes { list, between, side };
        }
        let (list, side) = if compare.pane == Pane::List { (body, none) } else { (none, body) };
        Panes { list, between: none, side }
    }

    /// How many rows the list has and what differs, and how many columns the latter.
    pub(crate) fn compare_layout(&self) -> ((usize, usize), usize) {
        let keys = u16::from(self.shows_keys && self.size.1 >= super::KEYS_FROM);
        // Two lines of head, and the note.
        let body = Rect::new(0, 2, self.size.0, self.size.1.saturating_sub(3 + keys));
        let panes = self.compare_panes(body);
        let width = if panes.side.width == 0 { self.size.0 } else { panes.side.width };
        ((usize::from(panes.list.height), usize::from(panes.side.height)), usize::from(width))
    }

    pub(super) fn draw_compare(&self, frame: &mut Frame<'_>, area: Rect) {
        let panes = self.compare_panes(area);
        let width = usize::from(area.width);
        let head = vec![fitted(self.compare_figures(), width, Style::new()), self.rule(width)];
        frame.render_widget(Paragraph::new(head), Rect { height: HEAD.min(area.height), ..area });
        self.draw_compared(frame, panes.list);
        if panes.between.height == 1 && panes.between.width > 1 {
            frame.render_widget(Paragraph::new(self.rule(width)), panes.between);
        } else {
            let line = || Line::from(Span::styled("│", self.theme.frame));
            let lines: Vec<_> = (0..panes.between.height).map(|_| line()).collect();
            frame.render_widget(Paragraph::new(lines), panes.between);
        }
        self.draw_differences(frame, panes.side);
    }

    /// Which two are compared, in the second line of the screen.
    pub(super) fn about_compare(&self) -> Line<'static> {
        let [a, b] = &self.compare.figures.sides;
        let mut spans = vec![span(" Diff ", self.theme.bold)];
        for (letter, side) in [("A", a), ("B", b)] {
            spans.push(span(&format!("{letter} "), self.theme.bold));
            spans.push(span(&side.reference, self.theme.name));
            if !side.began.this_year.is_empty() {
                let began = side.began.told(self.now_unix_ns, self.utc_offset_seconds);
                spans.push(span(&format!(" ({began})"), self.theme.dim));
            }
            if side.live {
                spans.push(span(&format!(" live, up to #{}", side.through), self.theme.warning));
            }
            spans.push(Span::raw("  "));
        }
        let [same, changed, only_a, only_b] = self.compare.figures.n_calls;
        let (differ, all) = (changed + only_a + only_b, same + changed + only_a + only_b);
        spans.push(span(&format!("{} of {} differ", thousands(differ as u64), thousands(all as u64)), Style::new()));
        Line::from(spans)
    }

    fn compare_figures(&self) -> Line<'static> {
        let figures = &self.compare.figures;
        let [a, b] = &figures.sides;
        let mut spans = Vec::new();
        if self.is_comparing() || !figures.complete {
            spans.push(span(&format!(" {} …", figures.progress), self.theme.warning));
        }
        for (kind, [added, removed, changed]) in &figures.lists {
            spans.push(span(&format!(" {kind}s +{added} -{removed} ~{changed}"), Style::new()));
        }
        let classes =
            [("breaking", figures.n_breaking, self.theme.bad), ("prompt", figures.n_prompt, self.theme.warning)];
        for (name, n, style) in classes.into_iter().filter(|(_, n, _)| *n > 0) {
            spans.push(span(&format!(" {n} {name}"), style));
        }
        let [same, changed, only_a, only_b] = figures.n_calls;
        spans.push(span(&format!("  calls ={same} ~{changed} +{only_b} -{only_a}"), self.theme.bold));
        let changes = |a: &str, b: &str| if a == b { a.to_owned() } else { format!("{a} → {b}") };
        let of = |side: &ComparedSide| (side.n_errors.to_string(), side.p50_ns.map_or("-".to_owned(), duration));
        let ((errors_a, p50_a), (errors_b, p50_b)) = (of(a), of(b));
        spans.push(span(&format!("  errors {}", changes(&errors_a, &errors_b)), Style::new()));
        spans.push(span(&format!("  p50 {}", changes(&p50_a, &p50_b)), Style::new()));
        if !a.server.is_empty() || !b.server.is_empty() {
            spans.push(span(&format!("  server {}", changes(&a.server, &b.server)), self.theme.dim));
        }
        if figures.n_hidden > 0 {
            spans.push(span(&format!("  hidden {}", thousands(figures.n_hidden as u64)), self.theme.dim));
        }
        Line::from(spans)
    }

    /// What the line with the cursor says in full, or what is ignored.
    pub(super) fn about_compared(&self) -> Line<'static> {
        let mut spans = vec![Span::raw(" ")];
        if let Some(ignored) = self.compare_ignores() {
            spans.push(span(&format!("{ignored}   "), self.theme.warning));
        }
        if let Some(line) = self.compared_line() {
            for (letter, place) in ["A", "B"].into_iter().zip(line.places) {
                if let Some(at) = place {
                    spans.push(span(&format!("{letter} #{}  ", at.seq), self.theme.bold));
                }
            }
            spans.push(span(&format!("{} {}", line.subject, line.digest), self.theme.dim));
        }
        for note in &self.compare.figures.notes {
            spans.push(span(&format!("   {note}"), self.theme.warning));
        }
        Line::from(spans)
    }

    fn draw_compared(&self, frame: &mut Frame<'_>, area: Rect) {
        let compare = &self.compare;
        let width = usize::from(area.width);
        let mut lines = Vec::new();
        for index in compare.top..compare.top.saturating_add(usize::from(area.height)) {
            let Some(line) = compare.line(index) else {
                break;
            };
            let style = match (index == compare.cursor, compare.pane) {
                (true, Pane::List) => self.theme.cursor,
                (true, Pane::Detail) => self.theme.cursor_elsewhere,
                (false, _) => Style::new(),
            };
            lines.push(fitted(self.compare_line(line, width), width, style));
        }
        if lines.is_empty() {
            let text = match (self.is_comparing(), compare.only && compare.n_same() > 0) {
                (true, _) => " comparing …",
                (false, true) => " nothing differs; e shows what is the same",
                (false, false) => " nothing to compare",
            };
            lines.push(Line::from(span(text, self.theme.dim)));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn compare_line(&self, line: &CompareLine, width: usize) -> Line<'static> {
        let style = match line.sign {
            CompareSign::Same => self.theme.dim,
            CompareSign::Changed => self.theme.warning,
            CompareSign::OnlyA => self.theme.bad,
            CompareSign::OnlyB => self.theme.good,
        };
        // Where nothing is known of that, the words have the room.
        let class = if width >= 50 && line.class.is_some() { CLASS } else { 0 };
        let room = width.saturating_sub(3 + 9 + class);
        let subject = width.saturating_sub(3 + 9 + if width >= 50 { CLASS } else { 0 }) * 11 / 20;
        let name = line.subject.width().min(subject);
        let dim = if line.sign == CompareSign::Same { self.theme.dim } else { Style::new() };
        let mut spans = vec![
            Span::raw(" "),
            span(line.sign.sign(), style),
            Span::raw(" "),
            cell(line.what, 9, self.theme.dim),
            cell(&line.subject, name, dim),
            cell(&format!(" {}", line.digest), subject - name, self.theme.dim),
            cell(&format!(" {}", line.change), room - subject, style),
        ];
        if class > 0 {
            spans.push(right(line.class.map_or("", DriftClass::name), class, self.class(line.class)));
        }
        Line::from(spans)
    }

    /// How whom a change matters to is drawn.
    pub(super) fn class(&self, class: Option<DriftClass>) -> Style {
        match class {
            Some(DriftClass::Breaking) => self.theme.bad,
            Some(DriftClass::Prompt) => self.theme.warning,
            Some(DriftClass::Compatible) | None => self.theme.dim,
        }
    }

    fn draw_differences(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let Some(laid) = &self.compare.laid else {
            let text = if self.compared_line().is_some() { " looking …" } else { "" };
            frame.render_widget(Paragraph::new(Line::from(span(text, self.theme.dim))), area);
            return;
        };
        let has_keys = self.compare.pane == Pane::Detail;
        let shown = laid.lines().iter().enumerate().skip(laid.top).take(usize::from(area.height));
        let lines: Vec<Line<'_>> = shown
            .map(|(index, (_, line))| {
                let style = if has_keys && index == laid.cursor { self.theme.cursor } else { Style::new() };
                fitted(self.difference_line(laid, line, width), width, style)
            })
            .collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn difference_line(&self, _laid: &Laid, line: &DiffLine, width: usize) -> Line<'static> {
        let of = |of: PieceOf| match of {
            PieceOf::A => ("-", self.theme.bad),
            PieceOf::B => ("+", self.theme.good),
            PieceOf::Both => (" ", self.theme.dim),
        };
        match line {
            DiffLine::Place(text, class) => {
                let name = class.map_or("", DriftClass::name);
                let room = width.saturating_sub(2 + name.width());
                let used = text.width().min(room);
                Line::from(vec![
                    cell(&format!(" {text}"), used + 1, self.theme.bold),
                    Span::raw(" "),
                    span(name, self.class(*class)),
                ])
            }
            DiffLine::Beside(a, b) => {
                let room = beside_width(width.saturating_sub(2));
                Line::from(vec![
                    Span::raw("  "),
                    cell(a, room, self.theme.bad),
                    Span::styled(" │ ", self.theme.frame),
                    cell(b, room, self.theme.good),
                ])
            }
            DiffLine::Only(whose, text) => {
                let (sign, style) = of(*whose);
                Line::from(vec![span(&format!("  {sign} "), style), span(text, style)])
            }
            DiffLine::Words(pieces) => {
                let mut spans = vec![Span::raw("  ")];
                for piece in pieces {
                    let (_, style) = of(piece.of);
                    let text = match piece.of {
                        PieceOf::A => format!("[-{}-]", piece.text),
                        PieceOf::B => format!("{{+{}+}}", piece.text),
                        PieceOf::Both => piece.text.clone(),
                    };
                    spans.push(span(&text, if piece.of == PieceOf::Both { Style::new() } else { style }));
                }
                Line::from(spans)
            }
            DiffLine::Rule(text) => Line::from(span(&format!("   {text}"), self.theme.dim)),
            DiffLine::Note(text) => Line::from(span(&format!(" {text}"), self.theme.dim)),
        }
    }
}
