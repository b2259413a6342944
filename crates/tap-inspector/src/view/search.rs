//! What was found in all sessions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_text::{counted, cut, shown, size, thousands};
use unicode_width::UnicodeWidthStr;

use crate::model::Inspector;
use crate::search::{Hit, HitLine};
use crate::text::{cell, fitted, span};

/// How many characters before a hit are shown beside it.
const BEFORE: usize = 16;

impl Inspector {
    pub(super) fn draw_search(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let search = &self.search;
        let mut lines = vec![
            fitted(self.search_head(), width, Style::new()),
            fitted(self.search_progress(), width, Style::new()),
            self.rule(width),
        ];
        let height = self.hits_height();
        for (index, line) in search.lines.iter().enumerate().skip(search.top).take(height) {
            let style = if index == search.cursor { self.theme.cursor } else { Style::new() };
            lines.push(fitted(self.hit_line(*line, width), width, style));
        }
        if search.lines.is_empty() && search.filter.is_some() {
            let text = match (search.ticket, search.is_cut) {
                (Some(_), _) => " nothing yet …",
                (None, true) => " nothing, as far as it went",
                (None, false) => " nothing fits",
            };
            lines.push(Line::from(span(text, self.theme.dim)));
        }
        if self.has_preview() {
            // At the bottom, however short the list is.
            lines.resize(3 + height, Line::default());
            lines.push(self.rule(width));
            lines.extend(self.preview(width));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn search_head(&self) -> Line<'static> {
        let text = self.search.filter.as_ref().map_or("", |filter| filter.text());
        let mut spans =
            vec![Span::raw(" Search all sessions   "), span("/ ", self.theme.bold), span(text, self.theme.warning)];
        if text.is_empty() {
            spans.push(span("/ begins", self.theme.dim));
        }
        Line::from(spans)
    }

    fn search_progress(&self) -> Line<'static> {
        let (search, progress) = (&self.search, &self.search.progress);
        if search.filter.is_none() {
            return Line::default();
        }
        let found = format!(
            " {} in {} of {}",
            counted(search.n_found(), "hit"),
            thousands(search.groups.len() as u64),
            counted(progress.n_sessions, "session")
        );
        let looked = format!(
            "   {} of {} messages, {}",
            thousands(progress.n_messages_done),
            thousands(progress.n_messages.max(progress.n_messages_done)),
            size(progress.n_bytes_done)
        );
        let how = match (search.ticket, search.is_cut) {
            (Some(_), _) => span("   searching …  esc stops", self.theme.warning),
            (None, true) => span("   stopped", self.theme.warning),
            (None, false) => span("   all", self.theme.good),
        };
        Line::from(vec![span(&found, self.theme.bold), span(&looked, self.theme.dim), how])
    }

    fn hit_line(&self, line: HitLine, width: usize) -> Line<'static> {
        let search = &self.search;
        match line {
            HitLine::Session(index) => match search.groups.get(index) {
                Some(group) => {
                    let session = &group.session;
                    let name = format!(
                        " {}   {}",
                        session.reference,
                        session.began.told(self.now_unix_ns, self.utc_offset_seconds)
                    );
                    let hits = counted(session.n_found, "hit");
                    let name = cell(&name, width.saturating_sub(hits.width() + 2), self.theme.bold);
                    Line::from(vec![name, span(&hits, self.theme.dim)])
                }
                None => Line::default(),
            },
            HitLine::More(index) => {
                let group = search.groups.get(index);
                let n_shown = group.map_or(0, |group| if group.is_open { group.n_kept } else { group.n_kept.min(5) });
                let n_more = group.map_or(0, |group| group.session.n_found.saturating_sub(n_shown as u64));
                let is_open = group.is_none_or(|group| group.is_open);
                let how = if is_open { "counted only" } else { "⏎ shows them" };
                Line::from(span(&format!("   … {} more   {how}", thousands(n_more)), self.theme.dim))
            }
            HitLine::Hit(index) => search.hits.get(index).map_or_else(Line::default, |hit| self.hit(hit, width)),
        }
    }

    fn hit(&self, hit: &Hit, width: usize) -> Line<'static> {
        let (tone, status) = &hit.status;
        let what = (width / 4).clamp(8, 32);
        let number = match hit.at.member {
            0 => format!("   #{}", hit.at.seq),
            member => format!("   #{}.{member}", hit.at.seq),
        };
        let before = shown(&hit.snippet.before, false);
        let tail: String = before.chars().rev().take(BEFORE).collect::<Vec<_>>().into_iter().rev().collect();
        let dots = if tail.len() < before.len() { "…" } else { "" };
        Line::from(vec![
            cell(&number, 12, Style::new()),
            cell(&hit.what, what, self.theme.name),
            Span::raw(" "),
            cell(status, 12, self.tone(*tone)),
            Span::raw(" "),
            span(&format!("{dots}{tail}"), self.theme.dim),
            span(&hit.snippet.found, self.theme.found),
            span(&hit.snippet.after, self.theme.dim),
        ])
    }

    /// The hit with the cursor, with what is around it.
    fn preview(&self, width: usize) -> Vec<Line<'static>> {
        let Some(hit) = self.search.current() else {
            return Vec::new();
        };
        let path = hit.path.as_deref().unwrap_or_default();
        let mut lines = vec![fitted(
            Line::from(vec![
                span(&format!(" #{} ", hit.at.seq), self.theme.bold),
                span(&format!("{}  ", hit.what), self.theme.name),
                span(path, self.theme.dim),
            ]),
            width,
            Style::new(),
        )];
        // Three lines of it, with the hit in the first or the second.
        let room = width.saturating_sub(2).max(1);
        let before = shown(&hit.snippet.before, false);
        let n_before = before.chars().count();
        let kept: String = before.chars().skip(n_before.saturating_sub(room)).collect();
        let pieces = [
            (kept, Style::new()),
            (shown(&hit.snippet.found, false), self.theme.found),
            (shown(&hit.snippet.after, false), Style::new()),
        ];
        let (mut spans, mut used) = (vec![Span::raw(" ")], 0);
        for (mut text, style) in pieces {
            while !text.is_empty() && lines.len() < 4 {
                let piece = if text.width() <= room - used { text.clone() } else { head(&text, room - used) };
                used += piece.width();
                text.drain(..piece.len());
                spans.push(Span::styled(piece.clone(), style));
                if !text.is_empty() && (piece.is_empty() || used >= room.saturating_sub(1)) {
                    lines.push(Line::from(std::mem::replace(&mut spans, vec![Span::raw(" ")])));
                    if piece.is_empty() && used == 0 {
                        // A character that is wider than a line.
                        break;
                    }
                    used = 0;
                }
            }
        }
        if lines.len() < 4 {
            lines.push(Line::from(spans));
        }
        lines
    }
}

/// The beginning of a text that fits into so many columns.
fn head(text: &str, width: usize) -> String {
    let cut = cut(text, width + 1);
    let head = cut.strip_suffix('…').unwrap_or(&cut);
    if text.starts_with(head) { head.to_owned() } else { String::new() }
}
