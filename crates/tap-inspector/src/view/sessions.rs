//! The list of sessions, and what one of them is about.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_text::{counted, duration, size};

use super::timeline::{bar, what};
use crate::data::{EndKind, Row, SessionLine};
use crate::model::Inspector;
use crate::sessions::Sort;
use crate::text::{cell, fitted, right, span};

/// From this width on it is told beside the list what the chosen session is about.
pub(crate) const PANEL_FROM: u16 = 140;

/// How wide that is.
const PANEL: u16 = 56;

/// How many tools and calls stand there.
const SLOWEST: usize = 6;
const LAST_CALLS: usize = 10;

impl Inspector {
    pub(super) fn about_sessions(&self) -> Line<'static> {
        let lines = self.sessions.lines();
        let n_live = lines.iter().filter(|line| line.end == EndKind::Live).count();
        let mut spans = vec![span(&format!(" {}", counted(lines.len() as u64, "session")), Style::new())];
        if n_live > 0 {
            spans.push(span(&format!("  ● {n_live} live"), self.theme.good));
        }
        if self.sessions.sort != Sort::Newest {
            spans.push(span(&format!("  ▾ {}", self.sessions.sort.name()), self.theme.dim));
        }
        if !self.sessions.filter().is_empty() {
            let n_shown = self.sessions.n_shown();
            spans.push(span(&format!("  / {}  {n_shown} shown", self.sessions.filter()), self.theme.warning));
        }
        if let Some(marked) = self.sessions.marked.and_then(|key| self.sessions.find(key)) {
            spans.push(span(&format!("  * {}", marked.reference), self.theme.bold));
        }
        Line::from(spans)
    }

    pub(super) fn about_chosen(&self) -> Line<'static> {
        let Some(line) = self.sessions.chosen() else {
            return Line::default();
        };
        let mut spans = vec![span(&format!(" {}  ", line.reference), self.theme.bold)];
        if let Some(label) = &line.label {
            spans.push(span(&format!("@{label}  "), self.theme.name));
        }
        spans.push(span(&line.command, self.theme.dim));
        spans.push(span(&format!("  {}", line.end_words), self.end_style(line)));
        Line::from(spans)
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
        if self.sessions.loaded && self.sessions.lines().is_empty() {
            return self.draw_beginning(frame, area);
        }
        let area = if area.width >= PANEL_FROM {
            let [list, line, panel] =
                Layout::horizontal([Constraint::Fill(1), Constraint::Length(1), Constraint::Length(PANEL)]).areas(area);
            let bar = vec![Line::from(span("│", self.theme.frame)); usize::from(line.height)];
            frame.render_widget(Paragraph::new(bar), line);
            self.draw_panel(frame, panel);
            list
        } else {
            area
        };
        let width = usize::from(area.width);
        let widths = Widths::fitting(width);
        let mut lines = vec![fitted(self.sessions_head(&widths), width, self.theme.dim), self.rule(width)];
        let height = usize::from(area.height).saturating_sub(lines.len());
        if self.sessions.n_shown() == 0 {
            let text = if self.sessions.loaded { " no session fits" } else { " looking …" };
            lines.push(Line::from(span(text, self.theme.dim)));
        }
        let top = self.sessions.top;
        for (place, line) in (top..).zip(self.sessions.shown_from(top).take(height)) {
            let style = if place == self.sessions.cursor { self.theme.cursor } else { Style::new() };
            lines.push(fitted(self.session_line(line, &widths), width, style));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// There are no sessions yet: how to come by some.
    fn draw_beginning(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let text = |text: &str| Line::from(span(text, Style::new()));
        let code = |text: &str| Line::from(span(text, self.theme.name));
        let lines = vec![
            Line::default(),
            Line::from(span(" Nothing was recorded yet.", self.theme.bold)),
            Line::default(),
            text(" A server that a host starts: put the tap in front of its command there."),
            code(r#"   {"command": "mcp-tap", "args": ["run", "--", "COMMAND", "ARGS"]}"#),
            Line::default(),
            text(" A server over HTTP: give the host the address that this prints."),
            code("   mcp-tap proxy URL"),
            Line::default(),
            Line::from(vec![
                span(" What is recorded appears here. ", Style::new()),
                span("d", self.theme.bold),
                span(" shows a demonstration.", Style::new()),
            ]),
        ];
        let lines: Vec<_> = lines.into_iter().map(|line| fitted(line, width, Style::new())).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn sessions_head(&self, widths: &Widths) -> Line<'static> {
        let plain = Style::new();
        let sign = |name: &str, sort: Sort| {
            let is_sorted = self.sessions.sort == sort && sort != Sort::Newest;
            format!("{name}{}", if is_sorted { "▾" } else { "" })
        };
        let mut spans =
            vec![Span::raw("   "), cell(&sign("SESSION", Sort::Name), widths.session, plain), Span::raw(" ")];
        if widths.client > 0 {
            spans.extend([cell("CLIENT", widths.client, plain), Span::raw(" ")]);
        }
        if widths.server > 0 {
            spans.extend([cell("SERVER", widths.server, plain), Span::raw(" ")]);
        }
        spans.extend([
            cell("REVISION", widths.revision, plain),
            cell("BEGAN", widths.began, plain),
            right(&sign("LASTED", Sort::Longest), widths.lasted, plain),
            right(&sign("CALLS", Sort::Calls), widths.calls, plain),
            right(&sign("ERR", Sort::Errors), widths.errors, plain),
            right(if widths.findings > 5 { "! E/W/N" } else { "!" }, widths.findings, plain),
        ]);
        if widths.size > 0 {
            spans.push(right(&sign("SIZE", Sort::Largest), widths.size, plain));
        }
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
        let mark = if self.sessions.marked == Some(line.key) { "*" } else { " " };
        let name = match &line.label {
            Some(label) => format!("{} @{label}", line.reference),
            None => line.reference.clone(),
        };
        let mut spans = vec![
            span(mark, self.theme.bold),
            span(&format!("{sign} "), self.end_style(line)),
            cell(&name, widths.session, self.theme.bold),
            Span::raw(" "),
        ];
        if widths.client > 0 {
            spans.extend([cell(&who(&line.client), widths.client, plain), Span::raw(" ")]);
        }
        if widths.server > 0 {
            spans.extend([cell(&who(&line.server), widths.server, plain), Span::raw(" ")]);
        }
        // Of another year the day is enough.
        let began = line.began.told(self.now_unix_ns, self.utc_offset_seconds);
        let began = if began == line.began.this_year { began } else { began.split(' ').next().unwrap_or(began) };
        let errors = if line.n_errors > 0 { self.theme.bad } else { self.theme.dim };
        let (findings, style) = match self.sessions.findings.get(&line.key) {
            None => ("–".into(), self.theme.dim),
            Some([0, 0, 0]) => ("0".into(), self.theme.dim),
            Some([errors, warnings, notes]) => {
                let style = if *errors > 0 { self.theme.bad } else { self.theme.warning };
                let all = errors.saturating_add(*warnings).saturating_add(*notes);
                let text = if widths.findings > 5 { format!("{errors}/{warnings}/{notes}") } else { all.to_string() };
                (text, style)
            }
        };
        spans.extend([
            cell(line.revision.as_deref().unwrap_or("-"), widths.revision, plain),
            cell(began, widths.began, self.theme.dim),
            right(&duration(line.lasted_ns), widths.lasted, plain),
            right(&line.n_calls.to_string(), widths.calls, plain),
            right(&line.n_errors.to_string(), widths.errors, errors),
            right(&findings, widths.findings, style),
        ]);
        if widths.size > 0 {
            spans.push(right(&size(line.n_bytes), widths.size, self.theme.dim));
        }
        Line::from(spans)
    }

    /// What the chosen session is about.
    fn draw_panel(&self, frame: &mut Frame<'_>, area: Rect) {
        let width = usize::from(area.width);
        let Some(line) = self.sessions.chosen() else {
            return;
        };
        let mut lines = vec![Line::from(vec![
            span(&format!(" {}", line.reference), self.theme.bold),
            span(&line.label.as_ref().map(|label| format!("  @{label}")).unwrap_or_default(), self.theme.name),
            span(&format!("  {}", line.end_words), self.end_style(line)),
        ])];
        let command = tap_text::wrapped(&line.command, 1, Some(width));
        lines.extend(command.lines().take(3).map(|text| Line::from(span(text, self.theme.dim))));
        let messages = counted(line.n_messages, "message");
        lines.push(Line::from(span(
            &format!(" {}  {messages}  {}", line.transport, size(line.n_bytes)),
            self.theme.dim,
        )));
        match self.sessions.summary.as_ref().filter(|about| about.key == line.key) {
            None => {
                lines.push(self.rule(width));
                lines.push(Line::from(span(" looking …", self.theme.dim)));
            }
            Some(about) => {
                if let Some(row) = &about.last_problem {
                    lines.extend([self.rule(width), self.heading(&format!("LAST PROBLEM  {}", row.clock))]);
                    lines.push(Line::from(vec![
                        right(&row.row.at.seq.to_string(), 6, self.theme.dim),
                        span(&format!(" {}  ", what(row).0), self.theme.bold),
                        span(&row.status.1, self.theme.bad),
                    ]));
                    lines.push(Line::from(span(&format!("       {}", row.digest.outcome), Style::new())));
                }
                if !about.slowest.is_empty() {
                    let of = about.of_last.map(|n| format!("  of the last {n} calls")).unwrap_or_default();
                    lines.extend([self.rule(width), self.heading(&format!("SLOWEST  CALLS  P95{of}"))]);
                    lines.extend(about.slowest.iter().take(SLOWEST).map(|(name, n_calls, p95_ns)| {
                        Line::from(vec![
                            Span::raw("   "),
                            cell(name, 22, Style::new()),
                            right(&n_calls.to_string(), 6, self.theme.dim),
                            right(&duration(*p95_ns), 9, Style::new()),
                            span(&format!("  {}", bar(*p95_ns, 12)), self.theme.name),
                        ])
                    }));
                }
                if !about.last_calls.is_empty() {
                    lines.extend([self.rule(width), self.heading("LAST CALLS")]);
                    lines.extend(about.last_calls.iter().take(LAST_CALLS).map(|row| self.last_call(row)));
                }
            }
        }
        let lines: Vec<_> = lines.into_iter().map(|line| fitted(line, width, Style::new())).collect();
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn last_call(&self, row: &Row) -> Line<'static> {
        let style = if row.is_problem() { self.theme.bad } else { Style::new() };
        Line::from(vec![
            cell(&format!("   {}", row.clock.split('.').next().unwrap_or_default()), 13, self.theme.dim),
            cell(&what(row).0, 20, style),
            Span::raw(" "),
            cell(&row.status.1, 11, style),
            right(&row.row.latency_ns.map(duration).unwrap_or_default(), 9, Style::new()),
        ])
    }

    fn heading(&self, text: &str) -> Line<'static> {
        Line::from(span(&format!(" {text}"), self.theme.frame))
    }
}

/// Widths of the columns; 0 where there is no room for one.
#[derive(Debug)]
struct Widths {
    session: usize,
    client: usize,
    server: usize,
    revision: usize,
    began: usize,
    lasted: usize,
    calls: usize,
    errors: usize,
    findings: usize,
    size: usize,
}

/// What a name has at least, before other columns give way, and beside the client.
const NAME: usize = 12;
const NAMES: usize = 24;

impl Widths {
    fn fitting(width: usize) -> Self {
        let (findings, size) = if width < 100 { (5, 0) } else { (9, 9) };
        let (revision, began, lasted, calls, errors) = (11, 12, 8, 7, 5);
        let mut widths =
            Self { session: 0, client: 1, server: 0, revision, began, lasted, calls, errors, findings, size };
        // Which session it is must be seen; what is told of it goes, the least first.
        let narrower: [fn(&mut Self); 8] = [
            |widths| widths.size = 0,
            |widths| widths.revision = 0,
            |widths| widths.client = 0,
            |widths| widths.lasted = 0,
            |widths| widths.findings = 0,
            |widths| widths.began = 0,
            |widths| widths.calls = 0,
            |widths| widths.errors = 0,
        ];
        for narrower in narrower {
            if widths.room(width) < if widths.client > 0 { NAMES } else { NAME } {
                narrower(&mut widths);
            }
        }
        let room = widths.room(width);
        if widths.client == 0 {
            return Self { session: room, ..widths };
        }
        if room < 54 {
            return Self { session: room * 3 / 5, client: room - room * 3 / 5, ..widths };
        }
        let room = room - 1;
        Self { session: room * 2 / 7, client: room * 2 / 7, server: room - 2 * (room * 2 / 7), ..widths }
    }

    /// What is left for names: all others, and the spaces between, are taken.
    fn room(&self, width: usize) -> usize {
        let spaces = 1 + usize::from(self.client > 0);
        let others = self.revision + self.began + self.lasted + self.calls + self.errors + self.findings + self.size;
        width.saturating_sub(3 + others + spaces)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_the_last_to_give_way() {
        for width in 20..300 {
            let widths = Widths::fitting(width);
            let all = widths.session + widths.client + widths.server + usize::from(widths.server > 0);
            assert_eq!(all, widths.room(width), "{width}: {widths:?}");
            assert!(widths.session >= NAME, "{width}: {widths:?}");
        }
        let shown = |width| {
            let w = Widths::fitting(width);
            [w.client, w.server, w.revision, w.began, w.lasted, w.calls, w.errors, w.findings, w.size].map(|w| w > 0)
        };
        let (no, yes) = (false, true);
        for (width, expected) in [
            (20, [no, no, no, no, no, no, no, no, no]),
            (30, [no, no, no, no, no, yes, yes, no, no]),
            (50, [no, no, no, yes, no, yes, yes, yes, no]),
            (80, [yes, no, yes, yes, yes, yes, yes, yes, no]),
            (160, [yes, yes, yes, yes, yes, yes, yes, yes, yes]),
        ] {
            assert_eq!(shown(width), expected, "{width}");
        }
    }
}
