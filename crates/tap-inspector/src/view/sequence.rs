//! Who said what to whom, and what ran at the same time: lifelines on the left (`lifelines.rs`), and beside them the waterfall,
//! where each call is a bar on one axis of time.

mod explain;
mod lifelines;
mod waterfall;

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use tap_session::{At, RowKind};
use tap_text::duration;

use self::lifelines::Lanes;
use crate::data::Row;
use crate::model::Inspector;
use crate::open::Open;
use crate::sequence::Screen;
use crate::sequence::axis::{Axis, Scale};
use crate::sequence::bars::{moment, spent};
use crate::text::{cell, fitted, right, span};
use crate::words;

/// With less than this there is no waterfall beside the lifelines, columns.
const BOTH_FROM: usize = 44;

/// From this width on the waterfall gets most of it, columns.
const WIDE: usize = 90;

/// How wide the parts of a line are, columns.
struct Parts {
    number: usize,
    lifelines: usize,
    waterfall: usize,
}

impl Parts {
    fn fitting(width: usize, last_seq: u64) -> Self {
        let number = last_seq.to_string().len().max(4);
        // A sign and a blank, the number, a blank.
        let rest = width.saturating_sub(number + 3);
        let lifelines = match rest {
            0..BOTH_FROM => return Self { number, lifelines: rest, waterfall: 0 },
            BOTH_FROM..WIDE => rest * 55 / 100,
            _ => (rest * 38 / 100).clamp(46, 64),
        };
        // A line and a blank on either side of it between the two.
        Self { number, lifelines, waterfall: rest.saturating_sub(lifelines + 3) }
    }
}

impl Inspector {
    pub(super) fn draw_sequence(&self, frame: &mut Frame<'_>, area: Rect, open: &Open) {
        if open.pane == crate::model::Pane::Detail {
            return self.draw_detail(frame, area, open);
        }
        let width = usize::from(area.width);
        let height = self.list_height();
        let screen = open.sequence_screen(height);
        let parts = Parts::fitting(width, open.last_seq);
        let lanes = Lanes::of(screen.rows, open.session.n_conversations, parts.lifelines);
        let axis = open.sequence_axis(screen.rows, &screen.bars, parts.waterfall);
        let mut lines: Vec<Line<'static>> = self.sequence_head(open, &parts, &lanes, &axis, &screen).into();
        for line in &mut lines {
            *line = fitted(std::mem::take(line), width, Style::new());
        }
        for index in 0..screen.n_carried {
            lines.push(fitted(self.carried_line(&screen, index, &parts, &axis), width, Style::new()));
        }
        for (index, row) in screen.rows.iter().enumerate() {
            let style = if screen.first + index == open.rows.cursor() { self.theme.cursor } else { Style::new() };
            let mut spans = self.row_number(open, row, parts.number);
            spans.extend(self.lifeline(row, &lanes, parts.lifelines));
            if parts.waterfall > 0 {
                spans.push(Span::styled(" │ ", self.theme.frame));
                spans.extend(self.waterfall(row, &screen.bars, &axis, open));
            }
            lines.push(fitted(Line::from(spans), width, style));
        }
        if screen.rows.is_empty() {
            lines.push(fitted(self.about_nothing(open), width, Style::new()));
        }
        let foot = self.sequence_foot();
        if foot > 0 {
            while lines.len() < usize::from(area.height).saturating_sub(foot) {
                lines.push(Line::default());
            }
            lines.push(self.rule(width));
            lines.push(fitted(self.time_spent(&screen), width, Style::new()));
        }
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Who the lifelines are, and what the axis says.
    fn sequence_head(
        &self,
        open: &Open,
        parts: &Parts,
        lanes: &Lanes,
        axis: &Axis<'_>,
        screen: &Screen<'_>,
    ) -> [Line<'static>; 2] {
        let plain = Style::new();
        let mut names = vec![right("#", parts.number + 2, self.theme.dim), Span::raw(" ")];
        names.extend(self.lane_names(open, lanes, parts.lifelines));
        let mut ends =
            vec![Span::raw(" ".repeat(parts.number + 3)), span(&lanes.ends(parts.lifelines), self.theme.dim)];
        if parts.waterfall > 0 {
            let origin = match open.sequence.zoom {
                Some(zoom) => zoom.origin.seq,
                None => screen.rows.first().map_or(0, |row| row.at().seq),
            };
            let about = match axis.scale {
                Scale::Ordinal => "by order, a step a message".into(),
                Scale::Linear => format!("linear, since #{origin}"),
                Scale::Logarithmic => "log, since each request".into(),
            };
            names.push(Span::styled(" │ ", self.theme.frame));
            names.push(cell(&about, parts.waterfall, self.theme.dim));
            let mut marks = String::new();
            for (column, text) in axis.marks() {
                let used = marks.chars().count();
                marks.push_str(&" ".repeat(column.saturating_sub(used)));
                marks.push_str(&text);
            }
            ends.push(Span::styled(" │ ", self.theme.frame));
            ends.push(cell(&marks, parts.waterfall, plain));
        }
        [Line::from(names), Line::from(ends)]
    }

    /// The sign of a row, and its number.
    fn row_number(&self, open: &Open, row: &Row, width: usize) -> Vec<Span<'static>> {
        let (sign, style) = self.sign(open, row);
        let number = if row.row.kind == RowKind::Stderr {
            "┆".into()
        } else if row.at().member > 0 {
            format!("{}.{}", row.at().seq, row.at().member)
        } else {
            row.at().seq.to_string()
        };
        vec![span(&format!("{sign} "), style), right(&number, width, self.theme.dim), Span::raw(" ")]
    }

    /// A call that began above the screen and was running at its first row.
    fn carried_line(&self, screen: &Screen<'_>, index: usize, parts: &Parts, axis: &Axis<'_>) -> Line<'static> {
        let at = screen.carried.get(index).copied().unwrap_or(At { seq: 0, member: 0 });
        let Some(bar) = screen.bars.iter().find(|bar| bar.at() == at) else {
            return Line::default();
        };
        let others = screen.carried.len().saturating_sub(screen.n_carried);
        let (what, _) = super::timeline::what(bar.row);
        let first = screen.rows.first().map_or(0, moment);
        let since = duration(u64::try_from(first.saturating_sub(bar.from_ns)).unwrap_or(0));
        let also =
            if index + 1 == screen.n_carried && others > 0 { format!(", and {others} more") } else { String::new() };
        let runs = format!(" for {since}{also}");
        let mut spans = vec![
            span("↑ ", self.theme.dim),
            right(&at.seq.to_string(), parts.number, self.theme.dim),
            Span::raw(" "),
            cell(&what, parts.lifelines.saturating_sub(runs.chars().count()), Style::new()),
            span(&runs, self.theme.dim),
        ];
        if parts.waterfall > 0 {
            spans.push(Span::styled(" │ ", self.theme.frame));
            spans.extend(self.bar_alone(bar, axis));
        }
        Line::from(spans)
    }

    fn about_nothing(&self, open: &Open) -> Line<'static> {
        let text = match (open.rows.is_pending(), open.rows.searched_to) {
            (true, Some(seq)) => format!(" {} message {seq} …", words::NOTHING_UP_TO),
            (true, None) => " looking …".into(),
            (false, _) if open.filter.is_some() => format!(" {}; esc clears the filter", words::NOTHING_FITS),
            (false, _) => " no messages".into(),
        };
        Line::from(span(&text, self.theme.dim))
    }

    /// What the time on the screen was spent on, and what the signs mean.
    fn time_spent(&self, screen: &Screen<'_>) -> Line<'static> {
        let (Some(first), Some(last)) = (screen.rows.first(), screen.rows.last()) else {
            return Line::default();
        };
        let spent = spent(&screen.bars, moment(first), moment(last));
        let told = |ns: i64| duration(u64::try_from(ns).unwrap_or(0));
        let share = spent.busy_ns.saturating_mul(100) / spent.whole_ns.max(1);
        let mut text = format!(" this screen: server busy {} ({share} %)", told(spent.busy_ns));
        for (ns, what) in [(spent.person_ns, "person"), (spent.between_ns, "between calls"), (spent.idle_ns, "idle")] {
            if ns > 0 {
                text.push_str(&format!("  {what} {}", told(ns)));
            }
        }
        let signs = "    ─ request  ═ response  ┄ notification  ◆ server asks  ✗ error  ┆ stderr  ┅ person";
        Line::from(vec![span(&text, Style::new()), span(signs, self.theme.dim)])
    }
}
