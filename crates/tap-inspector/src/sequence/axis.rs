//! The time axis of the waterfall: which part of time is on it, and in which column a moment lies.

use tap_session::At;

use crate::data::Row;

/// The shortest time that is told apart, nanoseconds.
const LEAST_NS: i64 = 1_000;

/// The longest time that is shown at once, nanoseconds: some years, far from where numbers end.
const MOST_NS: i64 = 1 << 58;

/// How many decades a logarithmic axis has.
const DECADES: i64 = 10_000;

/// Columns between two marks of the axis, at least.
const MARK_COLUMNS: i64 = 10;

/// How time becomes columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Scale {
    /// The same time, the same width.
    #[default]
    Linear,
    /// Ten times as long, so many columns more; each call and what belongs to it from its request on.
    Logarithmic,
    /// The same width for each message, whatever the time.
    Ordinal,
}

impl Scale {
    pub(crate) fn next(self) -> Self {
        match self {
            Self::Linear => Self::Logarithmic,
            Self::Logarithmic => Self::Ordinal,
            Self::Ordinal => Self::Linear,
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Logarithmic => "logarithmic",
            Self::Ordinal => "by order",
        }
    }
}

/// A part of time, nanoseconds since the session opened. It may begin before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Range {
    pub(crate) from_ns: i64,
    pub(crate) to_ns: i64,
}

impl Range {
    /// The time between two moments, which is never nothing.
    pub(crate) fn new(from_ns: i64, to_ns: i64) -> Self {
        let from_ns = from_ns.clamp(-MOST_NS, MOST_NS);
        let length_ns = to_ns.saturating_sub(from_ns).clamp(LEAST_NS, MOST_NS);
        Self { from_ns, to_ns: from_ns + length_ns }
    }

    pub(crate) fn length_ns(self) -> i64 {
        self.to_ns - self.from_ns
    }

    /// The same time, later by so many eighths of its length.
    pub(crate) fn panned(self, eighths: i64) -> Self {
        let by_ns = (self.length_ns() / 8).max(1).saturating_mul(eighths);
        Self::new(self.from_ns.saturating_add(by_ns), self.to_ns.saturating_add(by_ns))
    }

    /// Half or twice of it, around a moment, which stays where it is.
    pub(crate) fn zoomed(self, around_ns: i64, closer: bool) -> Self {
        let around_ns = around_ns.clamp(self.from_ns, self.to_ns);
        let scaled = |ns: i64| if closer { ns / 2 } else { ns.saturating_mul(2) };
        Self::new(
            around_ns.saturating_sub(scaled(around_ns - self.from_ns)),
            around_ns.saturating_add(scaled(self.to_ns - around_ns)),
        )
    }

    /// The same length, moved no more than it takes to hold a moment.
    pub(crate) fn holding(self, at_ns: i64) -> Self {
        if at_ns < self.from_ns {
            Self::new(at_ns, at_ns.saturating_add(self.length_ns()))
        } else if at_ns > self.to_ns {
            Self::new(at_ns.saturating_sub(self.length_ns()), at_ns)
        } else {
            self
        }
    }
}

/// An axis of so many columns.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis<'a> {
    pub(crate) scale: Scale,
    pub(crate) range: Range,
    /// The moment from which marks count.
    pub(crate) origin_ns: i64,
    /// The rows on the screen, for an axis by order.
    pub(crate) rows: &'a [Row],
    pub(crate) columns: usize,
}

impl Axis<'_> {
    /// The axis of a line of which this is the zero: a logarithmic one begins anew with each request.
    pub(crate) fn from(&self, from_ns: i64) -> Self {
        match self.scale {
            Scale::Logarithmic => {
                let range = Range::new(from_ns, from_ns.saturating_add(self.range.length_ns()));
                Self { range, origin_ns: from_ns, ..*self }
            }
            Scale::Linear | Scale::Ordinal => *self,
        }
    }

    /// The column of a moment; -1 before the axis, the number of columns behind it.
    pub(crate) fn column(&self, at: At, at_ns: i64) -> isize {
        let columns = self.columns.cast_signed();
        let last = (columns - 1).max(0) as f64;
        let share = match self.scale {
            Scale::Linear => (at_ns.saturating_sub(self.range.from_ns)) as f64 / self.range.length_ns() as f64,
            Scale::Logarithmic => {
                let unit = self.unit_ns() as f64;
                let since = at_ns.saturating_sub(self.range.from_ns) as f64;
                if since < 0.0 { -1.0 } else { (since / unit).ln_1p() / (self.range.length_ns() as f64 / unit).ln_1p() }
            }
            Scale::Ordinal => {
                let (Some(first), Some(end)) = (self.rows.first(), self.rows.last()) else {
                    return 0;
                };
                if at < first.at() {
                    -1.0
                } else if end.at() < at {
                    2.0
                } else {
                    let index = self.rows.partition_point(|row| row.at() < at);
                    index as f64 / (self.rows.len().saturating_sub(1)).max(1) as f64
                }
            }
        };
        if share < 0.0 {
            -1
        } else if share > 1.0 {
            columns
        } else {
            (share * last).round() as isize
        }
    }

    /// Where a logarithmic axis stops being linear, nanoseconds: a power of ten.
    fn unit_ns(&self) -> i64 {
        let least = (self.range.length_ns() / DECADES).max(LEAST_NS);
        10_i64.saturating_pow(least.ilog10())
    }

    /// Where its marks are, and what they say.
    pub(crate) fn marks(&self) -> Vec<(usize, String)> {
        let moments: Vec<(i64, i64)> = match self.scale {
            Scale::Ordinal => return Vec::new(),
            Scale::Linear => {
                let columns = i64::try_from(self.columns).unwrap_or(i64::MAX).max(1);
                let step_ns = round((self.range.length_ns() / columns).saturating_mul(MARK_COLUMNS));
                let first = self.range.from_ns.saturating_sub(self.origin_ns).div_euclid(step_ns);
                (0..=columns / MARK_COLUMNS + 2)
                    .map(|n| (first + n).saturating_mul(step_ns))
                    .map(|since_ns| (self.origin_ns.saturating_add(since_ns), since_ns))
                    .collect()
            }
            Scale::Logarithmic => {
                let unit = self.unit_ns();
                let decades = (0..=18).map(|power| unit.saturating_mul(10_i64.saturating_pow(power)));
                let moments = std::iter::once(0).chain(decades);
                moments.map(|since_ns| (self.range.from_ns.saturating_add(since_ns), since_ns)).collect()
            }
        };
        let mut marks = Vec::new();
        let mut free = 0;
        for (at_ns, since_ns) in moments {
            if at_ns < self.range.from_ns || at_ns > self.range.to_ns {
                continue;
            }
            let Ok(column) = usize::try_from(self.column(At { seq: 0, member: 0 }, at_ns)) else {
                continue;
            };
            let text = told(since_ns);
            if column >= free && column + text.chars().count() <= self.columns {
                free = column + text.chars().count() + 1;
                marks.push((column, text));
            }
        }
        marks
    }
}

/// The next 1, 2 or 5 of some power of ten.
fn round(ns: i64) -> i64 {
    let ns = ns.max(1);
    let power = 10_i64.saturating_pow(ns.ilog10());
    [1, 2, 5, 10].into_iter().map(|n| power.saturating_mul(n)).find(|step| *step >= ns).unwrap_or(ns)
}

/// A round time in few letters.
fn told(ns: i64) -> String {
    let units = [(60_000_000_000, "m"), (1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs")];
    match units.into_iter().find(|(unit, _)| ns != 0 && ns % unit == 0) {
        None if ns == 0 => "0".into(),
        None => format!("{ns}ns"),
        Some((unit, name)) => format!("{}{name}", ns / unit),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale, from_ns: i64, to_ns: i64, columns: usize) -> Axis<'static> {
        Axis { scale, range: Range::new(from_ns, to_ns), origin_ns: 0, rows: &[], columns }
    }

    const NOWHERE: At = At { seq: 0, member: 0 };

    #[test]
    fn a_moment_has_its_column() {
        const MS: i64 = 1_000_000;
        for (scale, at_ns, expected) in [
            (Scale::Linear, -1, -1),
            (Scale::Linear, 0, 0),
            (Scale::Linear, 500 * MS, 50),
            (Scale::Linear, 1_000 * MS, 100),
            (Scale::Linear, 1_001 * MS, 101),
            (Scale::Logarithmic, -1, -1),
            (Scale::Logarithmic, 0, 0),
            (Scale::Logarithmic, 10 * MS, 50),
            (Scale::Logarithmic, 100 * MS, 75),
            (Scale::Logarithmic, 1_000 * MS, 100),
            (Scale::Logarithmic, 1_001 * MS, 101),
        ] {
            assert_eq!(axis(scale, 0, 1_000 * MS, 101).column(NOWHERE, at_ns), expected, "{scale:?} {at_ns}");
        }
    }

    #[test]
    fn marks_are_round_and_apart() {
        let texts = |axis: Axis<'_>| {
            let marks = axis.marks();
            marks.iter().map(|(column, text)| format!("{column}:{text}")).collect::<Vec<_>>().join(" ")
        };
        for (scale, from_ns, to_ns, columns, expected) in [
            (Scale::Linear, 0, 2_300_000_000, 100, "0:0 22:500ms 43:1s 65:1500ms 86:2s"),
            (Scale::Linear, -50_000, 150_000, 40, "0:-50µs 10:0 20:50µs 29:100µs"),
            (Scale::Linear, 0, 600_000_000_000, 50, "0:0 16:200s 33:400s"),
            (Scale::Logarithmic, 0, 10_000_000_000, 36, "0:0 3:1ms 9:10ms 18:100ms 26:1s"),
            (Scale::Linear, 0, 0, 30, "0:0 15:500ns"),
            (Scale::Linear, 0, 1_000_000, 1, "0:0"),
        ] {
            assert_eq!(texts(axis(scale, from_ns, to_ns, columns)), expected, "{scale:?} {from_ns}..{to_ns} {columns}");
        }
    }

    #[test]
    fn however_it_is_moved_a_range_stays_one() {
        let mut range = Range::new(0, 1_000_000);
        assert_eq!(range.zoomed(500_000, true), Range::new(250_000, 750_000));
        assert_eq!(range.zoomed(250_000, true), Range::new(125_000, 625_000), "what it is around stays in its place");
        assert_eq!(range.panned(-4), Range::new(-500_000, 500_000));
        assert_eq!(range.holding(1_500_000), Range::new(500_000, 1_500_000));
        assert_eq!(range.holding(-1), Range::new(-1, 999_999));
        assert_eq!(range.holding(7), range);
        for n in 0..1_000_i64 {
            range = range.zoomed(i64::MAX, false).panned(if n % 2 == 0 { i64::MAX } else { i64::MIN + 1 });
            assert!(range.length_ns() >= LEAST_NS, "{range:?}");
        }
        for _ in 0..100 {
            range = range.zoomed(range.from_ns, true);
            assert!(range.length_ns() >= LEAST_NS, "{range:?}");
        }
    }
}
