//! The waterfall: a bar a call, from its request to its answer. A call that goes on beside a message is a dotted line there.

use ratatui::style::Style;
use ratatui::text::Span;
use tap_frame::Direction;
use tap_session::RowKind;
use tap_text::duration;

use crate::data::Row;
use crate::model::Inspector;
use crate::open::Open;
use crate::sequence::axis::{Axis, Scale};
use crate::sequence::bars::{Bar, moment, running};

/// A line of it, a character a column.
struct Cells(Vec<(char, Style)>);

impl Cells {
    fn new(columns: usize) -> Self {
        Self(vec![(' ', Style::new()); columns])
    }

    fn put(&mut self, column: isize, sign: char, style: Style) {
        if let Some(place) = usize::try_from(column).ok().and_then(|column| self.0.get_mut(column)) {
            *place = (sign, style);
        }
    }

    /// A text that stands there whole, or not at all. Dotted lines give way to it.
    fn write(&mut self, column: isize, text: &str, style: Style) -> bool {
        let Some(places) = usize::try_from(column).ok().and_then(|column| self.0.get_mut(column..)) else {
            return false;
        };
        let n = text.chars().count();
        let free = places.get(..n).is_some_and(|places| places.iter().all(|(sign, _)| matches!(sign, ' ' | '┊')));
        if free {
            places.iter_mut().zip(text.chars()).for_each(|(place, sign)| *place = (sign, style));
        }
        free
    }

    fn spans(self) -> Vec<Span<'static>> {
        let mut spans: Vec<(String, Style)> = Vec::new();
        for (sign, style) in self.0 {
            match spans.last_mut() {
                Some((text, same)) if *same == style => text.push(sign),
                _ => spans.push((sign.to_string(), style)),
            }
        }
        spans.into_iter().map(|(text, style)| Span::styled(text, style)).collect()
    }
}

impl Inspector {
    /// What happened at a row.
    pub(super) fn waterfall(&self, row: &Row, bars: &[Bar<'_>], axis: &Axis<'_>, open: &Open) -> Vec<Span<'static>> {
        let mut cells = Cells::new(axis.columns);
        let at = row.at();
        let is_logarithmic = axis.scale == Scale::Logarithmic;
        // On an axis that begins with each request only the call that a message is of has a place.
        let of = if is_logarithmic { call_of(row, bars, open) } else { None };
        let axis = &of.map_or(*axis, |of| axis.from(of.from_ns));
        let is_shown = |bar: &&Bar<'_>| !is_logarithmic || of.is_some_and(|of| of.at() == bar.at());
        let runs = |bar: &&Bar<'_>| bar.runs_at(at) && bar.first_round.is_none() && !bar.is_subscription();
        for bar in bars.iter().filter(runs).filter(is_shown) {
            let (from, to) = ends(bar, axis);
            if to >= 0 {
                cells.put(from.max(0), '┊', self.theme.dim);
            }
        }
        // What is of no call has no time there.
        let is_nowhere = is_logarithmic && of.is_none() && row.row.latency_ns.is_none();
        let here = if is_nowhere { 0 } else { axis.column(at, moment(row)) };
        let own = bars.iter().find(|bar| bar.at() == at);
        match (row.row.kind, own) {
            (RowKind::Request | RowKind::Exchange, Some(bar)) => {
                self.paint(&mut cells, bar, axis);
                self.label(&mut cells, bar, axis, open);
            }
            (RowKind::Result | RowKind::Error, _) => {
                let sign = if row.is_problem() { '✗' } else { '┫' };
                let known = row.row.pair.is_some_and(|pair| bars.iter().any(|bar| bar.at() == pair));
                if let (false, Some(latency_ns)) = (known, row.row.latency_ns) {
                    // Its request is not among the rows: the bar stands at its answer.
                    let from_ns = moment(row).saturating_sub(i64::try_from(latency_ns).unwrap_or(i64::MAX));
                    let axis = &axis.from(from_ns);
                    let here = axis.column(at, moment(row));
                    let from = axis.column(row.row.pair.unwrap_or(at), from_ns).max(0);
                    for column in from..here {
                        cells.put(column, if column == from { '┣' } else { '━' }, self.bar_style(row.is_problem()));
                    }
                }
                cells.put(here, sign, self.bar_style(row.is_problem()));
            }
            (RowKind::Stderr, _) => cells.put(here, '┆', self.theme.dim),
            (RowKind::NotJson | RowKind::NotAMessage | RowKind::Gap, _) => cells.put(here, '✗', self.theme.bad),
            _ => cells.put(here, '·', Style::new()),
        }
        cells.spans()
    }

    /// A bar on a line of its own.
    pub(super) fn bar_alone(&self, bar: &Bar<'_>, axis: &Axis<'_>) -> Vec<Span<'static>> {
        let mut cells = Cells::new(axis.columns);
        self.paint(&mut cells, bar, &axis.from(bar.from_ns));
        cells.spans()
    }

    fn bar_style(&self, failed: bool) -> Style {
        if failed { self.theme.bad } else { self.theme.name }
    }

    fn paint(&self, cells: &mut Cells, bar: &Bar<'_>, axis: &Axis<'_>) {
        let columns = axis.columns.cast_signed();
        let style = self.bar_style(bar.failed);
        let (from, to) = ends(bar, axis);
        let (shown_from, shown_to) = (from.max(0), to.min(columns - 1));
        if from >= columns || to < 0 {
            // Outside of what is on the axis: an arrow says where.
            let (column, sign) = if to < 0 { (0, '◂') } else { (columns - 1, '▸') };
            return cells.put(column, sign, self.theme.dim);
        }
        for column in shown_from..=shown_to {
            cells.put(column, '━', style);
        }
        for (wait, until) in &bar.waits {
            let ends = (axis.column(bar.at(), *wait).max(0), axis.column(bar.at(), *until).min(columns - 1));
            // By order no moment but those of messages has a place.
            if axis.scale != Scale::Ordinal {
                for column in ends.0 + 1..ends.1 {
                    cells.put(column, '┅', self.theme.warning);
                }
                if ends.1 - ends.0 > 9 {
                    let middle = (ends.0 + ends.1) / 2 - 3;
                    " person ".chars().zip(middle..).for_each(|(sign, at)| cells.put(at, sign, self.theme.warning));
                }
            }
        }
        if to >= columns {
            cells.put(shown_to, '▸', style);
        } else {
            cells.put(to, if bar.failed { '✗' } else { '┫' }, style);
        }
        let asks = bar.row.direction() == Direction::ToClient;
        match (from < 0, asks) {
            (true, _) => cells.put(0, '◂', style),
            _ if from == to && bar.failed => {}
            (_, true) => cells.put(from, '◆', self.theme.warning),
            (_, false) => cells.put(from, '┣', style),
        }
    }

    /// How long it took, beside the bar.
    fn label(&self, cells: &mut Cells, bar: &Bar<'_>, axis: &Axis<'_>, open: &Open) {
        let columns = axis.columns.cast_signed();
        let text = match bar.took_ns() {
            Some(took_ns) if bar.n_rounds > 1 => format!("{} in {} rounds", duration(took_ns), bar.n_rounds),
            Some(took_ns) => duration(took_ns),
            None => self.waiting_for(open, bar.row).unwrap_or_else(|| bar.row.status.1.clone()),
        };
        let text = tap_text::shown(&text, false);
        let (from, to) = ends(bar, axis);
        if from >= columns || to < 0 {
            return;
        }
        let (from, to) = (from.max(0), to.min(columns - 1));
        let width = text.chars().count().cast_signed();
        let style = if bar.end.is_none() { self.theme.warning } else { self.theme.dim };
        if !cells.write(to + 2, &text, style) {
            cells.write(from - 1 - width, &text, style);
        }
    }
}

/// The call that a message is of: its own, that which it answers or belongs to, or else the one that began last and was
/// running; of one of several rounds the whole of it.
fn call_of<'b, 'a>(row: &Row, bars: &'b [Bar<'a>], open: &Open) -> Option<&'b Bar<'a>> {
    let find = |at| bars.iter().find(|bar| bar.at() == at);
    let linked = open.sequence.links_of(row.at()).iter().map(|link| link.to);
    let own = [Some(row.at()), row.row.pair].into_iter().flatten().chain(linked).find_map(find);
    let bar = own.or_else(|| running(bars, row.at()).last())?;
    bar.first_round.and_then(find).or(Some(bar))
}

/// The columns where a bar begins and ends; -1 and the number of columns for what is outside.
fn ends(bar: &Bar<'_>, axis: &Axis<'_>) -> (isize, isize) {
    let columns = axis.columns.cast_signed();
    let to = bar.end.map_or(columns, |(end, end_ns)| axis.column(end, end_ns));
    (axis.column(bar.at(), bar.from_ns), to)
}
