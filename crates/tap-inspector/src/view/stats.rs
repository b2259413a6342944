//! Figures of a session, a line a tool.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_text::{counted, duration, thousands};
use unicode_width::UnicodeWidthStr;

use super::TWO_PANES;
use crate::model::Inspector;
use crate::open::Open;
use crate::stats::{StatsAnswer, StatsBy, StatsLine};
use crate::text::{cell, fitted, right, span};

/// Signs of a sparkline, the lowest first.
const SPARKS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// Sparklines of latency are logarithmic between these, as bars are: nanoseconds.
const LATENCY: (f64, f64) = (1e5, 1e10);

/// Columns of what is said behind what is over time.
const OVER_TIME: usize = 24;

/// Rows below the list, of the two panels and what is over time.
const BELOW: usize = 10;

/// Columns of figures of a line: the head of each, and its width with the blank before it.
const COLUMNS: [(&str, usize); 9] =
    [("CALLS", 7), ("ERR%", 5), ("P50", 8), ("P95", 8), ("P99", 8), ("MAX", 8), ("IN", 6), ("OUT", 6), ("≈TOKENS", 8)];

/// In which order columns go when there is no room.
const LEAVES: [usize; 8] = [6, 4, 7, 5, 2, 8, 1, 3];

/// Where what is.
pub(crate) struct StatsLayout {
    /// The panels stand beside the list, not below it.
    wide: bool,
    /// Rows of the list.
    pub(crate) rows: usize,
    /// Rows below the list and the line of what was never called.
    below: usize,
}

impl Inspector {
    pub(crate) fn stats_layout(&self) -> StatsLayout {
        let keys = usize::from(self.shows_keys && self.size.1 >= super::KEYS_FROM);
        let height = usize::from(self.size.1).saturating_sub(3 + keys);
        let wide = self.size.0 >= TWO_PANES;
        let below = match (wide, height) {
            (_, 18..) => BELOW,
            (false, 12..) => 3,
            _ => 0,
        };
        let never = usize::from(height >= 9);
        StatsLayout { wide, rows: height.saturating_sub(2 + below + never).max(1), below }
    }

    pub(super) fn draw_stats(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        let layout = self.stats_layout();
        let width = usize::from(area.width);
        let [head, body] = Layout::vertical([Constraint::Length(1), Constraint::Fill(1)]).areas(area);
        frame.render_widget(Paragraph::new(fitted(self.stats_head(open), width, Style::new())), head);
        let Some(shown) = &open.stats.shown else {
            let text = if open.stats.is_pending() { " counting …" } else { " nothing was counted" };
            frame.render_widget(Paragraph::new(Line::from(span(text, self.theme.dim))), body);
            return;
        };
        if !layout.wide {
            let mut lines = self.stats_list(open, shown, &layout, width);
            if layout.below >= BELOW {
                lines.push(self.rule(width));
                let half = width / 2;
                let left = self.latency_panel(open, shown, half, 6);
                let right = self.costs_panel(shown, width - half - 1, 6);
                for row in 0..6 {
                    let mut line = fitted(left.get(row).cloned().unwrap_or_default(), half, Style::new());
                    line.spans.push(Span::styled("│", self.theme.frame));
                    line.spans.extend(right.get(row).cloned().unwrap_or_default().spans);
                    lines.push(fitted(line, width, Style::new()));
                }
            }
            if layout.below > 0 {
                lines.push(self.rule(width));
                lines.push(fitted(self.calls_over_time(shown, width), width, Style::new()));
                lines.push(fitted(self.where_time_went(shown), width, Style::new()));
            }
            frame.render_widget(Paragraph::new(lines), body);
            return;
        }
        let list = u16::try_from(width * 58 / 100).unwrap_or(area.width);
        let [left, bar, side] =
            Layout::horizontal([Constraint::Length(list), Constraint::Length(1), Constraint::Fill(1)]).areas(body);
        let mut lines = self.stats_list(open, shown, &layout, usize::from(left.width));
        if layout.below > 0 {
            lines.push(self.rule(usize::from(left.width)));
            lines.extend(self.costs_panel(shown, usize::from(left.width), layout.below - 1));
        }
        frame.render_widget(Paragraph::new(lines), left);
        let line = || Line::from(Span::styled("│", self.theme.frame));
        frame.render_widget(Paragraph::new((0..bar.height).map(|_| line()).collect::<Vec<_>>()), bar);
        let width = usize::from(side.width);
        let height = usize::from(side.height);
        // The panels over time take six rows, where there is room for them.
        let over_time = if height >= 16 { 7 } else { 3 };
        let mut lines = self.latency_panel(open, shown, width, height.saturating_sub(over_time + 1));
        lines.resize(height.saturating_sub(over_time), Line::default());
        if over_time == 7 {
            lines.push(self.rule(width));
            lines.push(fitted(self.slowest_title(shown), width, self.theme.dim));
            lines.push(fitted(self.slowest_over_time(shown, width), width, Style::new()));
            lines.push(Line::default());
        } else {
            lines.push(self.rule(width));
        }
        lines.push(fitted(self.calls_over_time(shown, width), width, Style::new()));
        lines.push(fitted(self.where_time_went(shown), width, Style::new()));
        frame.render_widget(Paragraph::new(lines), side);
    }

    /// How many, of what, and in which order.
    fn stats_head(&self, open: &Open) -> Line<'static> {
        let stats = &open.stats;
        let mut spans = Vec::new();
        if let Some(shown) = &stats.shown {
            spans.push(span(&format!(" {}", counted(shown.n_calls, "call")), self.theme.bold));
            if shown.n_errors > 0 {
                spans.push(span(&format!("  ✗ {} failed", thousands(shown.n_errors)), self.theme.bad));
            }
            if !shown.complete {
                let share = shown.seq.saturating_mul(100) / shown.last_seq.max(1);
                spans.push(span(&format!("  counted {share} % …"), self.theme.warning));
            }
        }
        let scope = open.filter.as_ref().map_or("all calls", |filter| filter.text());
        spans.push(span("   scope ", self.theme.dim));
        spans.push(span(scope, if open.filter.is_some() { self.theme.warning } else { Style::new() }));
        spans.push(span("   b by ", self.theme.dim));
        spans.push(span(stats.by.name(), Style::new()));
        spans.push(span("   o order ", self.theme.dim));
        spans.push(span(stats.order.name(), Style::new()));
        if stats.lines().iter().any(|line| !line.exact) {
            spans.push(span("   percentiles + 1 %", self.theme.dim));
        }
        Line::from(spans)
    }

    fn stats_list(&self, open: &Open, shown: &StatsAnswer, layout: &StatsLayout, width: usize) -> Vec<Line<'static>> {
        let columns = columns(width, least_name(open.stats.by));
        let name = width.saturating_sub(1 + columns.iter().map(|column| COLUMNS[*column].1).sum::<usize>());
        let mut head = vec![Span::raw(" "), cell(&open.stats.by.name().to_uppercase(), name, self.theme.dim)];
        head.extend(columns.iter().map(|column| right(COLUMNS[*column].0, COLUMNS[*column].1, self.theme.dim)));
        let mut lines = vec![fitted(Line::from(head), width, Style::new())];
        for (index, line) in shown.lines.iter().enumerate().skip(open.stats.top).take(layout.rows) {
            let style = if index == open.stats.cursor { self.theme.cursor } else { Style::new() };
            lines.push(fitted(self.stats_line(line, &columns, name), width, style));
        }
        if shown.lines.is_empty() {
            let text = if open.filter.is_some() { " no call fits" } else { " no calls" };
            lines.push(Line::from(span(text, self.theme.dim)));
        }
        lines.truncate(layout.rows + 1);
        lines.resize(layout.rows + 1, Line::default());
        let height = layout.rows + 2 + layout.below;
        if height >= 9 {
            let mut words = Vec::new();
            if shown.n_left_out > 0 {
                words.push(format!("{} more lines", thousands(shown.n_left_out)));
            }
            if shown.n_never_called > 0 {
                words.push(format!("never called ({}): {}", shown.n_never_called, shown.never_called.join(" ")));
            }
            let text = format!(" {}", words.join("   "));
            lines.push(fitted(Line::from(span(&text, self.theme.dim)), width, Style::new()));
        }
        lines
    }

    fn stats_line(&self, line: &StatsLine, columns: &[usize], name: usize) -> Line<'static> {
        // Who failed is seen without its column, too.
        let sign = if line.n_errors > 0 { span("✗", self.theme.bad) } else { Span::raw(" ") };
        let open = match line.n_open {
            0 => String::new(),
            n => format!(" …{n}"),
        };
        let told = name.saturating_sub(open.width() + 1);
        let mut spans = vec![sign, cell(&line.name, told, Style::new())];
        spans.push(cell(&open, name - told, self.theme.warning));
        let at = |ns: Option<u64>| ns.map_or_else(|| "-".into(), duration);
        for column in columns {
            let (text, style) = match column {
                0 => (brief(line.n_calls), Style::new()),
                1 => match line.n_errors {
                    0 => ("0".into(), self.theme.dim),
                    n => (percent(n, line.n_calls), self.theme.bad),
                },
                2 => (at(line.p50_ns), Style::new()),
                3 => (at(line.p95_ns), Style::new()),
                4 => (at(line.p99_ns), Style::new()),
                5 => (at(line.max_ns), Style::new()),
                6 => (brief(line.request_bytes), self.theme.dim),
                7 => (brief(line.answer_bytes), self.theme.dim),
                _ => (brief(line.answer_bytes / 4), Style::new()),
            };
            spans.push(right(&text, COLUMNS[*column].1, style));
        }
        Line::from(spans)
    }

    /// How the latencies of the line with the cursor are distributed.
    fn latency_panel(&self, open: &Open, shown: &StatsAnswer, width: usize, height: usize) -> Vec<Line<'static>> {
        let Some(line) = open.stats.current() else {
            return Vec::new();
        };
        let n_ended: u64 = line.magnitudes.iter().sum();
        let title = Line::from(vec![
            span(" latency of ", self.theme.dim),
            span(&line.name, self.theme.bold),
            span(&format!(" ({})", thousands(n_ended)), self.theme.dim),
        ]);
        let mut lines = vec![fitted(title, width, Style::new())];
        let used = |n: &u64| *n > 0;
        let ends = (line.magnitudes.iter().position(used), line.magnitudes.iter().rposition(used));
        let (Some(first), Some(last)) = ends else {
            return lines;
        };
        // All bars that fit: around those that hold something there is room for the scale.
        let room = height.saturating_sub(1).max(1);
        let first = first.saturating_sub(room.saturating_sub(last + 1 - first).min(2) / 2);
        let most = line.magnitudes.iter().max().copied().unwrap_or(1).max(1);
        let columns = width.saturating_sub(20).max(1);
        for index in (first..line.magnitudes.len()).take(room.min(last + 2 - first)) {
            let edge = match shown.magnitudes_ns.get(index) {
                Some(ns) => format!("< {}", round(*ns)),
                None => format!("≥ {}", shown.magnitudes_ns.last().copied().map(round).unwrap_or_default()),
            };
            let n = line.magnitudes.get(index).copied().unwrap_or(0);
            let bar = if n == 0 { 0 } else { (n as f64 / most as f64 * columns as f64).round().max(1.0) as usize };
            lines.push(Line::from(vec![
                right(&edge, 9, self.theme.dim),
                Span::raw(" "),
                cell(&"█".repeat(bar), columns, self.theme.name),
                right(&if n == 0 { String::new() } else { brief(n) }, 8, Style::new()),
            ]));
        }
        lines
    }

    /// What becomes part of a model's context.
    fn costs_panel(&self, shown: &StatsAnswer, width: usize, height: usize) -> Vec<Line<'static>> {
        let name = width.saturating_sub(22).max(8);
        let row = |name_style: Style, what: &str, n: Option<u64>, bytes: u64, last: String| {
            Line::from(vec![
                cell(what, name, name_style),
                right(&n.map(brief).unwrap_or_default(), 6, Style::new()),
                right(&brief(bytes), 7, self.theme.dim),
                right(&last, 9, Style::new()),
            ])
        };
        let tokens = |bytes: u64| format!("≈{}", brief(bytes / 4));
        let (n_definitions, definition_bytes) = shown.definitions;
        let (n_results, result_bytes) = shown.results;
        let mut lines = vec![
            fitted(Line::from(span(" what the model pays for (≈ bytes/4)", self.theme.dim)), width, Style::new()),
            row(Style::new(), " tool definitions", Some(n_definitions), definition_bytes, tokens(definition_bytes)),
            row(Style::new(), " results of tools", Some(n_results), result_bytes, tokens(result_bytes)),
        ];
        for (what, n, bytes) in shown.largest.iter().take(height.saturating_sub(4)) {
            let share = format!("{} %", percent(*bytes, result_bytes.max(1)));
            lines.push(row(self.theme.dim, &format!("   {what}"), Some(*n), *bytes, share));
        }
        let bytes = shown.instruction_bytes;
        lines.push(row(Style::new(), " instructions", None, bytes, tokens(bytes)));
        lines.truncate(height);
        lines
    }

    fn calls_over_time(&self, shown: &StatsAnswer, width: usize) -> Line<'static> {
        let peak = shown.stretches.iter().map(|(n, _)| *n).max().unwrap_or(0);
        let about = format!("  peak {} in {}", brief(peak), duration(shown.stretch_ns));
        let room = width.saturating_sub(8 + OVER_TIME);
        let sign = |(n, _): (u64, u64)| match n {
            0 => " ",
            n => spark(n as f64 / peak.max(1) as f64),
        };
        Line::from(vec![
            span(" calls ", self.theme.dim),
            span(&sparkline(&shown.stretches, room, sign), self.theme.name),
            right(&about, OVER_TIME, self.theme.dim),
        ])
    }

    /// Where the time of the session went, what took the most of it first.
    fn where_time_went(&self, shown: &StatsAnswer) -> Line<'static> {
        let spent = &shown.spent;
        let counted = spent.person_ns + spent.tools_ns + spent.others_ns;
        let mut parts = [
            ("tools", spent.tools_ns),
            ("other requests", spent.others_ns),
            ("a person", spent.person_ns),
            ("host and model", spent.all_ns.saturating_sub(counted)),
        ];
        parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
        let mut spans = vec![span(&format!(" {} ", duration(spent.all_ns)), Style::new())];
        for (what, ns) in parts.into_iter().filter(|(_, ns)| *ns > 0) {
            spans.push(span(&format!(" {what} "), self.theme.dim));
            spans.push(span(&format!("{} % ", percent(ns, spent.all_ns)), Style::new()));
        }
        Line::from(spans)
    }

    fn slowest_title(&self, shown: &StatsAnswer) -> Line<'static> {
        let slowest = shown.stretches.iter().map(|(_, ns)| *ns).max().unwrap_or(0);
        Line::from(span(&format!(" slowest call over time, up to {} (log)", duration(slowest)), self.theme.dim))
    }

    fn slowest_over_time(&self, shown: &StatsAnswer, width: usize) -> Line<'static> {
        let (low, high) = LATENCY;
        let sign = |(n, ns): (u64, u64)| match n {
            0 => " ",
            _ => spark(((ns as f64).max(low) / low).ln() / (high / low).ln()),
        };
        let room = width.saturating_sub(8 + OVER_TIME);
        Line::from(vec![Span::raw("       "), span(&sparkline(&shown.stretches, room, sign), self.theme.warning)])
    }
}

fn spark(share: f64) -> &'static str {
    let index = (share.clamp(0.0, 1.0) * 7.0).round() as usize;
    SPARKS.get(index).copied().unwrap_or("█")
}

/// Stretches of time over so many columns; where several share one, the largest of each is shown.
fn sparkline(stretches: &[(u64, u64)], columns: usize, sign: impl Fn((u64, u64)) -> &'static str) -> String {
    let n = stretches.len();
    let columns_used = if n == 0 { 0 } else { columns };
    (0..columns_used)
        .map(|column| {
            let (from, to) = (column * n / columns, ((column + 1) * n).div_ceil(columns));
            let part = stretches.get(from..to.max(from + 1).min(n)).unwrap_or_default();
            sign(part.iter().fold((0, 0), |worst, one| (worst.0.max(one.0), worst.1.max(one.1))))
        })
        .collect()
}

/// How many columns a name needs: an hour is told whole, and of an error more than how it begins.
fn least_name(by: StatsBy) -> usize {
    match by {
        StatsBy::Hour => 19,
        StatsBy::Error => 36,
        StatsBy::Tool | StatsBy::Method | StatsBy::Conversation => 16,
    }
}

/// The columns for which there is room beside a name of that width, in their order.
fn columns(width: usize, name: usize) -> Vec<usize> {
    let mut columns: Vec<usize> = (0..COLUMNS.len()).collect();
    let mut leaves = LEAVES.iter();
    // A name needs that much.
    while width < name + columns.iter().map(|column| COLUMNS[*column].1).sum::<usize>() {
        match leaves.next() {
            Some(leaves) => columns.retain(|column| column != leaves),
            None => break,
        }
    }
    columns
}

/// A share of a hundred, rounded, but never to nothing or all where it is not.
fn percent(part: u64, whole: u64) -> String {
    let share = part as f64 / whole.max(1) as f64 * 100.0;
    match share {
        share if share > 0.0 && share < 0.5 => "<1".into(),
        share if share < 100.0 && share > 99.5 => "99".into(),
        share => format!("{share:.0}"),
    }
}

/// A number in five columns at most: `17`, `1.6k`, `412k`, `1.4M`.
fn brief(n: u64) -> String {
    let scaled = |unit: f64, sign: &str| {
        let value = n as f64 / unit;
        if value < 9.95 { format!("{value:.1}{sign}") } else { format!("{value:.0}{sign}") }
    };
    match n {
        0..=999 => n.to_string(),
        1_000..=999_499 => scaled(1e3, "k"),
        999_500..=999_499_999 => scaled(1e6, "M"),
        999_500_000..=999_499_999_999 => scaled(1e9, "G"),
        _ => scaled(1e12, "T"),
    }
}

/// A round duration: as all others, without the digits that are none.
fn round(ns: u64) -> String {
    let text = duration(ns);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short() {
        for (n, expected) in [
            (0, "0"),
            (999, "999"),
            (1_000, "1.0k"),
            (9_949, "9.9k"),
            (9_960, "10k"),
            (412_000, "412k"),
            (999_600, "1.0M"),
            (u64::MAX, "18446744T"),
        ] {
            assert_eq!(brief(n), expected);
        }
        for (ns, expected) in
            [(300_000, "300 µs"), (1_000_000, "1 ms"), (1_500_000, "1.5 ms"), (30_000_000_000, "30 s")]
        {
            assert_eq!(round(ns), expected);
        }
        for (part, whole, expected) in [(0, 0, "0"), (1, 1_000, "<1"), (999, 1_000, "99"), (3, 17, "18"), (5, 5, "100")]
        {
            assert_eq!(percent(part, whole), expected);
        }
    }

    #[test]
    fn columns_fit_and_go_in_their_order() {
        for width in 20..200 {
            let used: usize = columns(width, 16).iter().map(|column| COLUMNS[*column].1).sum();
            assert!(used < width, "{width}");
        }
        assert_eq!(columns(80, 16).len(), COLUMNS.len());
        assert_eq!(columns(52, 16), [0, 1, 2, 3, 8]);
    }

    #[test]
    fn no_stretch_is_missing_in_a_sparkline() {
        let sign = |(n, _): (u64, u64)| if n == 0 { "." } else { "x" };
        for n in 1..60 {
            for columns in 1..40 {
                let mut stretches = vec![(0, 0); n];
                for marked in 0..n {
                    stretches[marked].0 = 1;
                    let drawn = sparkline(&stretches, columns, sign);
                    assert_eq!(drawn.len(), columns);
                    assert!(drawn.contains('x'), "{marked} of {n} in {columns}");
                    stretches[marked].0 = 0;
                }
            }
        }
        assert_eq!(sparkline(&[], 9, sign), "");
    }
}
