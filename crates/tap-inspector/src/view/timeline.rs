//! A session: its messages, what was true, which rules were broken.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_frame::Direction;
use tap_session::{Done, LinkKind, RowKind, Severity};
use tap_text::{duration, size};

use super::{ADVICE, TWO_PANES};
use crate::data::{Row, Tone};
use crate::model::{Inspector, Pane, View};
use crate::open::Open;
use crate::text::{cell, fitted, right, span};
use crate::words;

/// Bars of latency are logarithmic between these, so that they compare between sessions: nanoseconds.
const BAR: (f64, f64) = (1e6, 1e10);

/// The eighths of a block.
const EIGHTHS: [&str; 8] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"];

impl Inspector {
    /// The session in one line. Where there is little room, what is told elsewhere too is left out, so that the filter is seen:
    /// who does not see it takes what fits for all that there was.
    pub(super) fn about_session(&self, open: &Open, width: usize) -> Line<'static> {
        let session = &open.session;
        let who = |name: &Option<String>| name.clone().unwrap_or_else(|| "?".into());
        let mut parts = vec![
            (0, span(&format!(" {}", session.reference), self.theme.bold)),
            (2, span(&format!("  {} ◂ {}", who(&session.server), who(&session.client)), Style::new())),
            (3, span(&format!("  {}", session.revision.as_deref().unwrap_or("revision unknown")), self.theme.dim)),
            (4, span(&format!("  {}", session.transport), self.theme.dim)),
        ];
        parts.push(match open.live {
            true => (0, {
                let follows = format!("  ● {}", words::FOLLOWS);
                span(if open.rows.follow { &follows } else { "  ● live" }, self.theme.good)
            }),
            false => (3, span(&format!("  {}", session.end_words), self.theme.dim)),
        });
        if session.n_errors > 0 {
            parts.push((1, span(&format!("  ✗ {}", session.n_errors), self.theme.bad)));
        }
        if open.findings.len() > 0 {
            parts.push((1, span(&format!("  ! {}", open.findings.len()), self.theme.warning)));
        }
        let overview = &open.overseen.overview;
        if let (Some(p50_ns), Some(p95_ns)) = (overview.p50_ns, overview.p95_ns) {
            let text = format!("  p50 {}  p95 {}", duration(p50_ns), duration(p95_ns));
            parts.push((5, span(&text, self.theme.dim)));
        }
        if !open.findings.complete && open.last_seq > 0 {
            let share = open.findings.seq.saturating_mul(100) / open.last_seq.max(1);
            parts.push((1, span(&format!("  {} {share} %", words::JUDGED), self.theme.dim)));
        }
        if session.lost_bytes > 0 {
            parts.push((0, span(&format!("  {} not recorded", size(session.lost_bytes)), self.theme.bad)));
        }
        if let Some(filter) = &open.filter {
            parts.push((0, span(&format!("{}{}", words::FILTERED, filter.text()), self.theme.warning)));
        }
        for least in (1..=5).rev() {
            if parts.iter().map(|(_, part)| part.width()).sum::<usize>() <= width {
                break;
            }
            parts.retain(|(rank, _)| *rank < least);
        }
        Line::from(parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>())
    }

    /// What is wrong with the row with the cursor, in words.
    pub(super) fn about_row(&self, open: &Open) -> Line<'static> {
        let Some(row) = open.rows.current() else {
            return Line::default();
        };
        if let Some(mark) = open.at().and_then(|at| open.marks.get(&at)).or_else(|| open.mark_of(row))
            && (mark.name.is_some() || mark.note.is_some())
        {
            let name = mark.name.as_ref().map(|name| format!(" @{name}")).unwrap_or_default();
            return Line::from(vec![
                span(&format!(" * {}{name}  ", mark.at.seq), self.theme.bold),
                span(mark.note.as_deref().unwrap_or_default(), Style::new()),
            ]);
        }
        // Stepped to a message that has no row of its own here.
        if let Some(at) = open.at().filter(|at| *at != row.at()) {
            let mut spans = vec![span(&format!(" at message {}", at.seq), self.theme.bold)];
            if let Some(finding) = open.findings.by_message.get(&at).and_then(|found| found.first()) {
                spans.push(span(&format!("  ! {} ", finding.rule), self.theme.warning));
                spans.push(span(&format!("{} {}", finding.title, finding.detail), Style::new()));
            }
            return Line::from(spans);
        }
        if let Some(finding) = open.findings.of_row(row, open.calls).max_by_key(|finding| finding.severity) {
            return Line::from(vec![
                span(&format!(" ! {} ", finding.rule), self.theme.warning),
                span(&format!("{} {}", finding.title, finding.detail), Style::new()),
            ]);
        }
        if let Some(done) = &row.row.done {
            return Line::from(vec![
                span(&format!(" ~ {} ", done.told(duration)), self.theme.warning),
                span(&about_done(done), Style::new()),
            ]);
        }
        let style = if row.is_problem() { self.theme.bad } else { self.theme.dim };
        Line::from(vec![Span::raw(" "), span(&row.digest.outcome, style)])
    }

    pub(super) fn draw_timeline(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let two = area.width >= TWO_PANES && !open.zoomed;
        if two {
            let list = super::list_width(area.width, self.split);
            let [left, line, right] =
                Layout::horizontal([Constraint::Length(list), Constraint::Length(1), Constraint::Fill(1)]).areas(area);
            self.draw_rows(frame, left, open);
            let bar: Vec<Line<'_>> =
                (0..line.height).map(|_| Line::from(Span::styled("│", self.theme.frame))).collect();
            frame.render_widget(Paragraph::new(bar), line);
            self.draw_detail(frame, right, open);
        } else if open.pane == Pane::Detail {
            self.draw_detail(frame, area, open);
        } else {
            self.draw_rows(frame, area, open);
        }
    }

    pub(super) fn draw_rows(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let width = usize::from(area.width);
        let columns = Columns::fitting(width, open.last_seq);
        let mut lines = vec![fitted(self.rows_head(&columns), width, self.theme.dim), self.rule(width)];
        let height = usize::from(area.height).saturating_sub(lines.len());
        for (index, row) in open.rows.visible(height) {
            // Beside a state, what came later is not there yet.
            let is_later = self.view == View::State && open.at().is_some_and(|at| at < row.at());
            let style = match (index == open.rows.cursor(), open.pane) {
                (true, Pane::List) => self.theme.cursor,
                (true, Pane::Detail) => self.theme.cursor_elsewhere,
                (false, _) if is_later => self.theme.dim,
                (false, _) => Style::new(),
            };
            lines.push(fitted(self.row_line(open, row, &columns), width, style));
        }
        if open.rows.is_empty() {
            let text = match (open.rows.is_pending(), open.rows.searched_to) {
                (true, Some(seq)) => format!(" {} message {seq} …", words::NOTHING_UP_TO),
                (true, None) => " looking …".into(),
                (false, _) if open.filter.is_some() => format!(" {}; esc clears the filter", words::NOTHING_FITS),
                (false, _) => " no messages".into(),
            };
            lines.push(Line::from(span(&text, self.theme.dim)));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    fn rows_head(&self, columns: &Columns) -> Line<'static> {
        let plain = Style::new();
        let mut spans = vec![right("#", columns.number + 2, plain), Span::raw(" ")];
        if columns.clock > 0 {
            spans.push(cell("TIME", columns.clock + 1, plain));
        }
        spans.push(cell("   CALL", columns.what + 3, plain));
        spans.push(cell("STATUS", columns.status + 1, plain));
        if columns.latency > 0 {
            spans.push(right("LATENCY", columns.latency, plain));
        }
        if columns.bar > 0 {
            spans.push(cell("", columns.bar + 1, plain));
        }
        if columns.size > 0 {
            spans.push(right("SIZE", columns.size, plain));
        }
        Line::from(spans)
    }

    /// What is wrong with a row, in a sign.
    pub(super) fn sign(&self, open: &Open, row: &Row) -> (&'static str, Style) {
        match open.findings.worst(row, open.calls) {
            _ if open.mark_of(row).is_some() => ("*", self.theme.bold),
            _ if row.is_problem() => ("✗", self.theme.bad),
            Some(Severity::Error) => ("!", self.theme.bad),
            Some(_) => ("!", self.theme.warning),
            None if row.row.done.is_some() => ("~", self.theme.warning),
            None if !row.settled => ("…", self.theme.warning),
            None => (" ", Style::new()),
        }
    }

    /// How long a request has been waiting for its answer, if that may still come.
    pub(super) fn waiting_for(&self, open: &Open, row: &Row) -> Option<String> {
        let waits = open.live && !row.settled && row.row.latency_ns.is_none();
        waits.then(|| duration(self.now_unix_ns.saturating_sub(row.row.wall_ns)))
    }

    fn row_line(&self, open: &Open, row: &Row, columns: &Columns) -> Line<'static> {
        let (sign, sign_style) = self.sign(open, row);
        let number = match row.row.at.member {
            0 => row.row.at.seq.to_string(),
            member => format!("{}.{member}", row.row.at.seq),
        };
        let arrow = match (row.row.kind, row.direction()) {
            (RowKind::Stderr, _) => "!!",
            (_, Direction::ToServer) => "->",
            (_, Direction::ToClient) => "<-",
        };
        let fold = if open.calls && open.rows.is_unfolded(row.at()) { "▾" } else { " " };
        let mut spans = vec![
            span(sign, sign_style),
            span(fold, self.theme.bold),
            right(&number, columns.number, self.theme.dim),
            Span::raw(" "),
        ];
        // Under a call times count from it.
        let over = open.rows.call_over(row.at()).and_then(|call| open.rows.rows().iter().find(|row| row.at() == call));
        if columns.clock > 0 {
            let since = over.map(|call| format!("  +{}", duration(row.row.at_ns.saturating_sub(call.row.at_ns))));
            let clock = row.clock.get(..columns.clock).unwrap_or(&row.clock);
            spans.push(cell(since.as_deref().unwrap_or(clock), columns.clock + 1, self.theme.dim));
        }
        spans.push(span(&format!("{arrow} "), self.theme.dim));
        // The last column of it stays free.
        let mut room = columns.what.saturating_sub(1);
        if open.session.n_conversations > 1 {
            let number = row.conversation.map(|number| format!("/{number}")).unwrap_or_default();
            let width = (open.session.n_conversations.to_string().len() + 2).min(room);
            spans.push(cell(&number, width, self.theme.dim));
            room -= width;
        }
        let (what, about) = match over {
            Some(_) => {
                let (what, about, _) = self.told(row);
                (format!("│ {what}"), about)
            }
            None => what(row),
        };
        let is_round = open.sequence.links_of(row.at()).iter().any(|link| link.kind == LinkKind::Round);
        let what = if is_round && open.calls { format!("└ {what}") } else { what };
        let name = open.mark_of(row).and_then(|mark| mark.name.as_ref());
        let name = name.map(|name| format!("  @{name}")).unwrap_or_default();
        let all = format!("{what}{name}  {about}");
        let used = unicode_width::UnicodeWidthStr::width(tap_text::shown(&what, false).as_str()).min(room);
        spans.push(cell(
            &what,
            used,
            if over.is_some() {
                self.theme.dim
            } else if row.is_problem() {
                self.theme.bold
            } else {
                Style::new()
            },
        ));
        let rest = room - used;
        spans.push(cell(all.get(what.len()..).unwrap_or_default(), rest, self.theme.dim));
        spans.push(Span::raw(" "));
        let (tone, status) = &row.status;
        spans.push(cell(status, columns.status, self.tone(*tone)));
        spans.push(Span::raw(" "));
        let waiting = self.waiting_for(open, row);
        let latency_style = if waiting.is_some() { self.theme.warning } else { Style::new() };
        let latency = row.row.latency_ns.map(duration).or(waiting).unwrap_or_default();
        if columns.latency > 0 {
            spans.push(right(&latency, columns.latency, latency_style));
        }
        if columns.bar > 0 {
            let bar = row.row.latency_ns.map(|latency_ns| bar(latency_ns, columns.bar)).unwrap_or_default();
            spans.push(Span::raw(" "));
            spans.push(cell(&bar, columns.bar, self.theme.name));
        }
        if columns.size > 0 {
            spans.push(right(&size(row.length + row.answer_length.unwrap_or(0)), columns.size, self.theme.dim));
        }
        Line::from(spans)
    }

    pub(super) fn tone(&self, tone: Tone) -> Style {
        match tone {
            Tone::Plain => Style::new(),
            Tone::Dim => self.theme.dim,
            Tone::Good => self.theme.good,
            Tone::Bad => self.theme.bad,
            Tone::Warning => self.theme.warning,
        }
    }

    pub(super) fn draw_findings(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let width = usize::from(area.width);
        let findings = &open.findings;
        let head = match (findings.len() as u64, findings.complete) {
            (0, true) => " no rule was broken".into(),
            (n, true) => format!(" {}", tap_text::counted(n, "finding")),
            (n, false) => format!(" {} up to message {} …", tap_text::counted(n, "finding"), findings.seq),
        };
        let mut lines = vec![fitted(Line::from(span(&head, self.theme.bold)), width, Style::new()), self.rule(width)];
        let height = usize::from(area.height).saturating_sub(lines.len() + ADVICE);
        for (index, finding) in findings.some(findings.top, height) {
            let style = if index == findings.cursor { self.theme.cursor } else { Style::new() };
            let severity = match finding.severity {
                Severity::Error => self.theme.bad,
                Severity::Warning => self.theme.warning,
                Severity::Note => self.theme.dim,
            };
            let spans = vec![
                right(&finding.at.seq.to_string(), 8, self.theme.dim),
                Span::raw(" "),
                cell(finding.severity.name(), 8, severity),
                cell(finding.rule, 9, self.theme.bold),
                cell(finding.by, 7, self.theme.dim),
                span(finding.title, Style::new()),
                span(&format!(" {}", finding.detail), self.theme.dim),
            ];
            lines.push(fitted(Line::from(spans), width, style));
        }
        if let Some(finding) = findings.get(findings.cursor) {
            while lines.len() < usize::from(area.height).saturating_sub(ADVICE) {
                lines.push(Line::default());
            }
            lines.push(self.rule(width));
            let advice = tap_text::wrapped(finding.advice, 1, Some(width));
            lines.extend(
                advice
                    .lines()
                    .take(ADVICE - 1)
                    .map(|line| fitted(Line::from(span(line, Style::new())), width, Style::new())),
            );
        }
        frame.render_widget(Paragraph::new(lines), area);
    }
}

/// Who did something, and where the other version of the message is.
pub(super) fn about_done(done: &Done) -> String {
    let other = match (done.made, done.other) {
        (true, Some(other)) if done.deed.sends() => format!("; it stands for #{}", other.seq),
        (true, Some(other)) => format!("; done to #{}", other.seq),
        (false, Some(other)) if done.deed.sends() => format!("; #{} was sent for it", other.seq),
        _ => String::new(),
    };
    format!("by {}{other}", done.by)
}

/// What a row is about: its method or tool, and its arguments or its text.
pub(super) fn what(row: &Row) -> (String, String) {
    let method = row.row.method.as_deref();
    let target = row.row.target.as_deref();
    let what = match (row.row.kind, method, target) {
        (RowKind::Act, ..) => row.row.done.as_ref().map(|done| format!("by {}", done.by)).unwrap_or_default(),
        (RowKind::Gap, ..) => format!("{} bytes passed", row.row.lost_bytes.unwrap_or(0)),
        (_, Some("tools/call"), Some(target)) => target.into(),
        (_, Some(method), Some(target)) => format!("{method} {target}"),
        (_, Some(method), None) => method.into(),
        (RowKind::Stderr | RowKind::NotJson | RowKind::NotAMessage, ..) => row.digest.outcome.clone(),
        (kind, ..) => format!("({})", kind.name()),
    };
    // What a debugger did comes first: without it the rest would be taken for what the peers did.
    let done = row.row.done.as_ref().map(|done| format!("[{}] ", done.told(duration))).unwrap_or_default();
    (format!("{done}{what}"), row.digest.arguments.clone())
}

/// A bar of so many columns at most.
pub(super) fn bar(latency_ns: u64, columns: usize) -> String {
    let (low, high) = BAR;
    let share = ((latency_ns as f64).max(low) / low).ln() / (high / low).ln();
    let eighths = ((share.clamp(0.0, 1.0) * columns as f64 * 8.0).round() as usize).max(1);
    let mut bar = "█".repeat(eighths / 8);
    if let Some(rest) = (eighths % 8).checked_sub(1) {
        bar.push_str(EIGHTHS[rest]);
    }
    bar
}

/// Widths of the columns; 0 where there is no room.
struct Columns {
    number: usize,
    clock: usize,
    what: usize,
    status: usize,
    latency: usize,
    bar: usize,
    size: usize,
}

impl Columns {
    fn fitting(width: usize, last_seq: u64) -> Self {
        let number = last_seq.to_string().len().max(4);
        let mut columns = Self { number, clock: 12, what: 0, status: 12, latency: 8, bar: 8, size: 9 };
        // What is told of a call must have room; what can be told elsewhere goes first.
        const LEAST: usize = 24;
        let needs = |columns: &Self| {
            let optional = |width: usize| if width > 0 { width + 1 } else { 0 };
            2 + columns.number
                + 1
                + optional(columns.clock)
                + 3
                + columns.status
                + 1
                + columns.latency
                + optional(columns.bar)
                + columns.size
        };
        for narrower in
            [Self::with_less, Self::without_bar, Self::without_size, Self::without_clock, Self::without_latency]
        {
            if width < needs(&columns) + LEAST {
                narrower(&mut columns);
            }
        }
        columns.what = width.saturating_sub(needs(&columns)).max(8);
        columns
    }

    /// Half the bar, and no thousandths of seconds.
    fn with_less(&mut self) {
        (self.bar, self.clock) = (4, 8);
    }

    fn without_bar(&mut self) {
        self.bar = 0;
    }

    fn without_size(&mut self) {
        self.size = 0;
    }

    fn without_latency(&mut self) {
        self.latency = 0;
    }

    fn without_clock(&mut self) {
        self.clock = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_logarithmic_with_fixed_ends() {
        for (latency_ns, expected) in
            [(0, "▏"), (1_000_000, "▏"), (100_000_000, "████"), (10_000_000_000, "████████"), (u64::MAX, "████████")]
        {
            assert_eq!(bar(latency_ns, 8), expected, "{latency_ns}");
        }
    }
}
