//! The list of sessions.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_text::{counted, duration, size};

use crate::data::{EndKind, SessionLine};
use crate::model::Inspector;
use crate::text::{cell, fitted, right, span};

impl Inspector {
    pub(super) fn about_sessions(&self) -> Line<'static> {
        let lines = &self.sessions.lines;
        let n_live = lines.iter().filter(|line| line.end == EndKind::Live).count();
        let mut spans = vec![span(&format!(" {}", counted(lines.len() as u64, "session")), Style::new())];
        if n_live > 0 {
            spans.push(span(&format!("  ● {n_live} live"), self.theme.good));
        }
        if !self.sessions.filter.is_empty() {
            let n_shown = self.sessions.shown().len();
            spans.push(span(&format!("  / {}  {n_shown} shown", self.sessions.filter), self.theme.warning));
        }
        Line::from(spans)
    }

    pub(super) fn about_chosen(&self) -> Line<'static> {
        let shown = self.sessions.shown();
        let Some(line) = shown.get(self.sessions.cursor) else {
            return Line::default();
        };
        Line::from(vec![
            span(&format!(" {}  ", line.reference), self.theme.bold),
            span(&line.command, self.theme.dim),
            span(&format!("  {}", line.end_words), self.end_style(line)),
        ])
    }

    fn end_style(&self, line: &SessionLine) -> Style {
        match line.end {
            EndKind::Live => self.theme.good,
            EndKind::Well => Style::new(),
            EndKind::Badly => self.theme.bad,
            EndKind::Unknown => self.theme.warning,
        }
    }

    pub(super) fn draw_sessions(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let shown = self.sessions.shown();
        let widths = Widths::fitting(width);
        let mut lines = vec![fitted(self.sessions_head(&widths), width, self.theme.dim), self.rule(width)];
        let height = usize::from(area.height).saturating_sub(lines.len());
        if shown.is_empty() {
            let text = match (self.sessions.loaded, self.sessions.filter.is_empty()) {
                (false, _) => " looking …",
                (true, true) => " no sessions yet; record one: mcp-tap run -- COMMAND, or try mcp-tap demo",
                (true, false) => " no session fits",
            };
            lines.push(Line::from(span(text, self.theme.dim)));
        }
        for (index, line) in shown.iter().enumerate().skip(self.sessions.top).take(height) {
            let style = if index == self.sessions.cursor { self.theme.cursor } else { Style::new() };
            lines.push(fitted(self.session_line(line, &widths), width, style));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn sessions_head(&self, widths: &Widths) -> Line<'static> {
        let plain = Style::new();
        let mut spans = vec![
            Span::raw("   "),
            cell("SESSION", widths.session, plain),
            Span::raw(" "),
            cell("CLIENT", widths.client, plain),
            Span::raw(" "),
        ];
        if widths.server > 0 {
            spans.extend([cell("SERVER", widths.server, plain), Span::raw(" ")]);
        }
        spans.extend([
            cell("REVISION", 11, plain),
            cell("BEGAN", 12, plain),
            right("LASTED", 8, plain),
            right("CALLS", 7, plain),
            right("ERR", 5, plain),
            right("SIZE", 9, plain),
        ]);
        Line::from(spans)
    }

    fn session_line(&self, line: &SessionLine, widths: &Widths) -> Line<'static> {
        let plain = Style::new();
        let sign = match line.end {
            EndKind::Live => "●",
            EndKind::Well => "·",
            EndKind::Badly => "✗",
            EndKind::Unknown => "░",
        };
        let who = |name: &Option<String>| name.clone().unwrap_or_else(|| "-".into());
        let mut spans = vec![
            span(&format!(" {sign} "), self.end_style(line)),
            cell(&line.reference, widths.session, self.theme.bold),
            Span::raw(" "),
            cell(&who(&line.client), widths.client, plain),
            Span::raw(" "),
        ];
        if widths.server > 0 {
            spans.extend([cell(&who(&line.server), widths.server, plain), Span::raw(" ")]);
        }
        let errors = if line.n_errors > 0 { self.theme.bad } else { self.theme.dim };
        spans.extend([
            cell(line.revision.as_deref().unwrap_or("-"), 11, plain),
            cell(&line.began, 12, self.theme.dim),
            right(&duration(line.lasted_ns), 8, plain),
            right(&line.n_calls.to_string(), 7, plain),
            right(&line.n_errors.to_string(), 5, errors),
            right(&size(line.n_bytes), 9, self.theme.dim),
        ]);
        Line::from(spans)
    }
}

/// Widths of the columns that can be narrower.
struct Widths {
    session: usize,
    client: usize,
    /// 0 where there is no room for it.
    server: usize,
}

impl Widths {
    fn fitting(width: usize) -> Self {
        // All others, and the spaces between.
        let room = width.saturating_sub(3 + 11 + 12 + 8 + 7 + 5 + 9 + 2);
        if room < 54 {
            return Self { session: room / 2, client: room - room / 2, server: 0 };
        }
        let room = room - 1;
        Self { session: room * 2 / 7, client: room * 2 / 7, server: room - room * 4 / 7 }
    }
}
