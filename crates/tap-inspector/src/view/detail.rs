//! A message: as a tree, as text, as bytes.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_text::{duration, size};

use crate::data::Whole;
use crate::model::{Detail, Form, Inspector, Open, Pane};
use crate::text::{cell, fitted, span};
use crate::tree::{Content, Tree, TreeLine};

impl Inspector {
    pub(super) fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let width = usize::from(area.width);
        let Some(detail) = &open.detail else {
            let text = if open.rows.is_empty() { "" } else { " …" };
            frame.render_widget(Paragraph::new(Line::from(span(text, self.theme.dim))), area);
            return;
        };
        let mut lines = vec![fitted(self.detail_head(detail), width, Style::new()), self.rule(width)];
        let height = usize::from(area.height).saturating_sub(lines.len());
        let has_keys = open.pane == Pane::Detail;
        let numbered = |index: usize, line: Line<'static>| {
            let style = if has_keys && index == detail.cursor { self.theme.cursor } else { Style::new() };
            fitted(line, width, style)
        };
        let shown = detail.top..detail.top + height;
        match detail.form {
            Form::Pretty => {
                for index in shown {
                    if let Some(line) = self.pretty_line(detail, index) {
                        lines.push(numbered(index, line));
                    }
                }
            }
            Form::Raw => {
                let bytes = &detail.parts.this.bytes;
                for (index, range) in detail.raw.1.iter().enumerate().skip(detail.top).take(height) {
                    let text = String::from_utf8_lossy(bytes.get(range.clone()).unwrap_or_default());
                    lines.push(numbered(index, Line::from(span(&text, Style::new()))));
                }
            }
            Form::Http => {
                for (index, (name, text)) in detail.parts.exchange.iter().enumerate().skip(detail.top).take(height) {
                    let line = Line::from(vec![
                        cell(name, 28.min(width / 2), self.theme.name),
                        Span::raw(" "),
                        span(text, Style::new()),
                    ]);
                    lines.push(numbered(index, line));
                }
            }
            Form::Hex => {
                let chunks = detail.parts.this.bytes.chunks(16).enumerate();
                for (index, chunk) in chunks.skip(detail.top).take(height) {
                    lines.push(numbered(index, self.hex_line(index * 16, chunk)));
                }
            }
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn detail_head(&self, detail: &Detail) -> Line<'static> {
        let this = &detail.parts.this;
        let form = match detail.form {
            Form::Pretty => "pretty",
            Form::Raw => "raw",
            Form::Hex => "hex",
            Form::Http => "http",
        };
        let mut spans = vec![span(&format!(" #{} ", this.row.row.at.seq), self.theme.bold), self.about(this)];
        if let Some(latency_ns) = this.row.row.latency_ns {
            spans.push(span(&format!("  {}", duration(latency_ns)), Style::new()));
        }
        spans.push(span(&format!("  {form}"), self.theme.dim));
        Line::from(spans)
    }

    fn about(&self, whole: &Whole) -> Span<'static> {
        let row = &whole.row.row;
        let id = row.raw_id.as_ref().map(|id| format!(" id {id}")).unwrap_or_default();
        let arrow = row.stream.direction().arrow();
        span(
            &format!("{} {arrow}{id}  {}  {}", row.kind.name(), whole.row.clock, size(whole.row.length)),
            self.theme.dim,
        )
    }

    /// A line of the two trees under each other.
    fn pretty_line(&self, detail: &Detail, index: usize) -> Option<Line<'static>> {
        let n_lines = detail.tree.lines().len();
        if index < n_lines {
            return self.tree_line(&detail.tree, index);
        }
        let (other, tree) = (detail.parts.other.as_ref()?, detail.other.as_ref()?);
        match index - n_lines {
            0 => Some(Line::default()),
            1 => Some(Line::from(vec![
                span(&format!(" #{} ", other.row.row.at.seq), self.theme.bold),
                self.about(other),
            ])),
            below => self.tree_line(tree, below - 2),
        }
    }

    pub(super) fn tree_line(&self, tree: &Tree, index: usize) -> Option<Line<'static>> {
        let TreeLine { depth, key, content, .. } = tree.lines().get(index)?;
        let mut spans = vec![Span::raw(" ".repeat(1 + 2 * (*depth).min(40)))];
        if let Some(key) = key {
            spans.push(span(key, self.theme.name));
            spans.push(span(": ", self.theme.dim));
        }
        spans.push(match content {
            Content::Text(text) => span(&format!("\"{text}\""), self.theme.string),
            Content::TextLine(text) => span(text, self.theme.string),
            Content::Literal(text) => span(text, self.theme.number),
            Content::Open(sign) | Content::Close(sign) | Content::Empty(sign) => span(sign, self.theme.dim),
            Content::Folded(sign, n) => span(&format!("▸ {sign} {n}"), self.theme.dim),
            Content::Cut(text) => span(text, self.theme.warning),
        });
        Some(Line::from(spans))
    }

    fn hex_line(&self, offset: usize, chunk: &[u8]) -> Line<'static> {
        let (digits, text) = tap_text::hex(chunk);
        Line::from(vec![
            span(&format!(" {offset:08x}  "), self.theme.dim),
            span(&format!("{digits} "), Style::new()),
            span(&text, self.theme.string),
        ])
    }
}
