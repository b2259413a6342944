//! A message: as a tree, as text, as bytes; and what is known around it.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_filter::Wanted;
use tap_text::{duration, size};

use crate::about::{AboutLine, AboutPart};
use crate::data::Whole;
use crate::model::{Detail, Form, Inspector, Pane};
use crate::open::Open;
use crate::picture::Colours;
use crate::text::{cell, fitted, span};
use crate::tree::{Content, TextKind, Tree, TreeLine};

/// Columns for what a line about a message is about.
const ABOUT_NAME: usize = 24;

impl Inspector {
    pub(super) fn draw_detail(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let width = usize::from(area.width);
        let Some(detail) = &open.detail else {
            let text = if open.rows.is_empty() { "" } else { " …" };
            frame.render_widget(Paragraph::new(Line::from(span(text, self.theme.dim))), area);
            return;
        };
        let [head, body] = Layout::vertical([Constraint::Length(2), Constraint::Fill(1)]).areas(area);
        let heads = vec![
            fitted(self.detail_head(detail), width, Style::new()),
            fitted(self.forms(detail, width), width, Style::new()),
        ];
        frame.render_widget(Paragraph::new(heads), head);
        let has_keys = open.pane == Pane::Detail;
        match (detail.beside, &detail.other, &detail.parts.other) {
            (Some(tops), Some(tree), Some(whole)) => {
                self.draw_beside(frame, body, detail, tops, (tree, whole), has_keys);
            }
            _ => {
                let height = usize::from(body.height);
                let lines = (detail.top..detail.top + height).map_while(|index| {
                    let style = if has_keys && index == detail.cursor { self.theme.cursor } else { Style::new() };
                    let line = self.marked(self.detail_line(detail, index, width)?, detail);
                    Some(fitted(line, width, style))
                });
                let mut lines: Vec<_> = lines.collect();
                if lines.is_empty() && detail.about_shown().is_some() {
                    lines.push(Line::from(span(" …", self.theme.dim)));
                }
                frame.render_widget(Paragraph::new(lines), body);
            }
        }
    }

    /// Request and answer, the request on the left.
    fn draw_beside(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        detail: &Detail,
        tops: [usize; 2],
        (other_tree, other): (&Tree, &Whole),
        has_keys: bool,
    ) {
        let [left, bar, right] =
            Layout::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        let line = Line::from(Span::styled("│", self.theme.frame));
        frame.render_widget(Paragraph::new(vec![line; usize::from(bar.height)]), bar);
        let this_is_first = detail.parts.this.row.at() < other.row.at();
        let begin = detail.tree.lines().len() + 2;
        let places = if this_is_first { [left, right] } else { [right, left] };
        let halves = [(&detail.tree, &detail.parts.this, 0), (other_tree, other, begin)];
        for ((place, top), (tree, whole, begin)) in places.into_iter().zip(tops).zip(halves) {
            let width = usize::from(place.width);
            let mut lines = vec![fitted(self.half_head(whole), width, Style::new())];
            for index in top..top + usize::from(place.height).saturating_sub(1) {
                let Some(line) = self.tree_line(tree, index) else {
                    break;
                };
                let has_cursor = has_keys && begin + index == detail.cursor;
                let style = if has_cursor { self.theme.cursor } else { Style::new() };
                lines.push(fitted(self.marked(line, detail), width, style));
            }
            frame.render_widget(Paragraph::new(lines), place);
        }
    }

    /// A line of the form that is shown.
    fn detail_line(&self, detail: &Detail, index: usize, width: usize) -> Option<Line<'static>> {
        let bytes = &detail.parts.this.bytes;
        match detail.form {
            Form::Pretty => self.pretty_line(detail, index),
            Form::Raw => {
                let range = detail.raw.1.get(index)?;
                let text = String::from_utf8_lossy(bytes.get(range.clone()).unwrap_or_default());
                Some(Line::from(span(&text, Style::new())))
            }
            Form::Hex => Some(self.hex_line(index * 16, bytes.get(index * 16..)?.chunks(16).next()?)),
            Form::Http => {
                let (name, text) = detail.parts.exchange.get(index)?;
                let name = cell(name, 28.min(width / 2), self.theme.name);
                Some(Line::from(vec![name, Span::raw(" "), span(text, Style::new())]))
            }
            Form::Schema | Form::Call | Form::Explain => {
                let about = detail.slot(detail.about_shown()?).about.as_ref()?;
                Some(self.about_line(about.lines.get(index)?, width))
            }
        }
    }

    fn about_line(&self, line: &AboutLine, width: usize) -> Line<'static> {
        let name = cell(&line.name, ABOUT_NAME.min(width / 3), self.theme.name);
        let mut spans = vec![Span::raw(" "), name, Span::raw(" "), span(&line.text, self.tone(line.tone))];
        if line.goes_to.is_some() {
            spans.push(span("  ⏎", self.theme.dim));
        }
        Line::from(spans)
    }

    fn detail_head(&self, detail: &Detail) -> Line<'static> {
        let this = &detail.parts.this;
        let mut spans = vec![span(&format!(" #{} ", this.row.row.at.seq), self.theme.bold), self.about(this)];
        if let Some(latency_ns) = this.row.row.latency_ns {
            spans.push(span(&format!("  {}", duration(latency_ns)), Style::new()));
        }
        Line::from(spans)
    }

    /// The tabs.
    fn forms(&self, detail: &Detail, width: usize) -> Line<'static> {
        let mut spans = Vec::new();
        for (form, name) in detail.forms() {
            let part = match form {
                Form::Schema => Some(AboutPart::Schema),
                Form::Call => Some(AboutPart::Call),
                Form::Explain => Some(AboutPart::Explain),
                _ => None,
            };
            let badge = part.and_then(|part| detail.slot(part).about.as_ref()?.badge.as_deref());
            let text = badge.map_or_else(|| name.to_owned(), |badge| format!("{name} {badge}"));
            let style = match form == detail.form {
                true => self.theme.cursor,
                false if badge.is_some_and(|badge| badge.contains('✗')) => self.theme.bad,
                false => self.theme.dim,
            };
            spans.push(span(&format!(" {text} "), style));
            // Where there is little room, the one that is shown is seen all the same.
            if form == detail.form && spans.iter().map(Span::width).sum::<usize>() > width {
                let shown = spans.pop();
                spans = shown.into_iter().collect();
            }
        }
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

    fn half_head(&self, whole: &Whole) -> Line<'static> {
        Line::from(vec![span(&format!(" #{} ", whole.row.row.at.seq), self.theme.bold), self.about(whole)])
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
            1 => Some(self.half_head(other)),
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
            Content::TextLine(text, TextKind::Plain) => span(text, self.theme.string),
            Content::TextLine(text, TextKind::Heading) => span(text, self.theme.string.add_modifier(Modifier::BOLD)),
            Content::TextLine(text, TextKind::Code) => span(text, Style::new()),
            Content::Literal(text) => span(text, self.theme.number),
            Content::Open(sign) | Content::Close(sign) | Content::Empty(sign) => span(sign, self.theme.dim),
            Content::Folded(sign, n) => span(&format!("▸ {sign} {n}"), self.theme.dim),
            Content::Blob(blob) => {
                let pixels = blob.size.map(|(columns, rows)| format!("  {columns}x{rows}")).unwrap_or_default();
                let but = blob.looks_like.map(|kind| format!("  looks like {kind}")).unwrap_or_default();
                let drawn = if blob.is_image() && self.colours != Colours::Few { "o draws it, " } else { "" };
                let text =
                    format!("◧ {}  {}{pixels}{but}  {drawn}x saves it", blob.mime_type, size(blob.n_bytes as u64));
                span(&text, self.theme.string)
            }
            Content::Mark(mark) => {
                let goes = if mark.goes_to.is_some() { "  ⏎ the schema" } else { "" };
                span(&format!("{}{goes}", mark.text), self.tone(mark.tone))
            }
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

    /// The same line, with what is looked for in it standing out.
    fn marked(&self, line: Line<'static>, detail: &Detail) -> Line<'static> {
        match &detail.find {
            Some(find) => standing_out(line, &find.wanted, self.theme.found),
            None => line,
        }
    }

    /// Where the cursor is in the message, and what is said there.
    pub(super) fn about_place(&self, detail: &Detail) -> Line<'static> {
        let mut spans = vec![Span::raw(" ")];
        if let Some(find) = &detail.find {
            spans.push(span(&format!("/ {}  ", find.told()), self.theme.warning));
        }
        if let Some((tree, line)) = detail.tree_line()
            && let Some(content) = tree.lines().get(line).map(|line| &line.content)
        {
            let kind = match content {
                Content::Mark(mark) => {
                    spans.push(span(&mark.text, self.tone(mark.tone)));
                    return Line::from(spans);
                }
                Content::Text(_) | Content::TextLine(..) | Content::Blob(_) => "string",
                Content::Literal(text) if text.starts_with(['t', 'f']) => "boolean",
                Content::Literal(text) if text.starts_with('n') => "null",
                Content::Literal(_) => "number",
                Content::Open(sign) | Content::Folded(sign, _) | Content::Empty(sign) | Content::Close(sign) => {
                    match sign.trim_matches('"').chars().next() {
                        Some('{' | '}') => "object",
                        Some('[' | ']') => "array",
                        _ => "string",
                    }
                }
                Content::Cut(_) => "",
            };
            spans.push(span(&tree.path(line).shown(), self.theme.bold));
            spans.push(span(&format!("  {kind}"), self.theme.dim));
        }
        Line::from(spans)
    }
}

/// A line in which texts that are looked for stand out. Each piece is looked at by itself.
pub(super) fn standing_out(line: Line<'static>, wanted: &Wanted, style: Style) -> Line<'static> {
    let mut spans = Vec::with_capacity(line.spans.len());
    for piece in line.spans {
        let text = piece.content.as_ref();
        let mut from = 0;
        while let Some(found) = wanted.find(text.as_bytes(), from) {
            // Of characters that are cut in two nothing stands out.
            let (Some(before), Some(it)) = (text.get(from..found.start), text.get(found.clone())) else {
                break;
            };
            spans.push(Span::styled(before.to_owned(), piece.style));
            spans.push(Span::styled(it.to_owned(), piece.style.patch(style)));
            from = found.end;
        }
        spans.push(Span::styled(text.get(from..).unwrap_or_default().to_owned(), piece.style));
    }
    Line::from(spans)
}
