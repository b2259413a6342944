//! All of a session in one line: how much passed when, where something is wrong, where the cursor is.
//!
//! It is worked out behind, once; what is drawn of it costs a few steps a column, however long the session is.

use tap_session::At;

use crate::data::Row;
use crate::effect::{Effect, Query, Ticket};
use crate::model::{Inspector, View};
use crate::open::Open;

/// From this height of the screen on there is room for it.
const FROM_HEIGHT: u16 = 20;

/// How often it is brought up to date while a session grows, nanoseconds.
const AGAIN_NS: u64 = 500_000_000;

/// What passed in a part of the time of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    /// The first message in it; 0 where there is none.
    pub first_seq: u64,
    /// Bytes of its messages.
    pub n_bytes: u64,
    /// Calls that failed in it, and what is no message though it should be one.
    pub n_errors: u64,
}

/// All of a session, in parts of the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// How long a part is, nanoseconds.
    pub part_ns: u64,
    /// The parts, from when the session opened to its newest message.
    pub parts: Vec<Part>,
    /// The message up to which it was worked out.
    pub through: u64,
    /// That is all there is, for now.
    pub complete: bool,
    /// Half of the client's calls took no longer than this, nanoseconds.
    pub p50_ns: Option<u64>,
    /// All but the slowest twentieth took no longer than this, nanoseconds.
    pub p95_ns: Option<u64>,
}

/// What is known of it.
#[derive(Debug, Default)]
pub(crate) struct Overseen {
    pub(crate) overview: Overview,
    pub(crate) ticket: Option<Ticket>,
    /// When it was asked for last, and the session's newest message then.
    asked_unix_ns: u64,
    asked_for: u64,
}

impl Overseen {
    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take(&mut self, ticket: Ticket, overview: Overview) {
        if self.ticket == Some(ticket) {
            self.ticket = self.ticket.filter(|_| !overview.complete);
            self.overview = overview;
        }
    }

    /// The question could not be answered: it is not asked again before the session grows.
    pub(crate) fn failed(&mut self, ticket: Ticket) {
        self.ticket = self.ticket.filter(|asked| *asked != ticket);
    }
}

/// What is at a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Nothing,
    /// How much passed, from 1 to 8.
    Traffic(usize),
    Finding,
    Error,
}

impl Overview {
    /// The parts that are at a column of so many.
    fn at_column(&self, column: usize, columns: usize) -> &[Part] {
        let n = self.parts.len();
        let from = column.saturating_mul(n) / columns.max(1);
        let to = (column + 1).saturating_mul(n).div_ceil(columns.max(1)).min(n);
        self.parts.get(from..to.max(from + 1).min(n)).unwrap_or_default()
    }

    /// The first message at a column or behind it, or else the last there is before.
    pub(crate) fn seek(&self, column: usize, columns: usize) -> Option<u64> {
        let from = column.saturating_mul(self.parts.len()) / columns.max(1);
        let is_there = |part: &&Part| part.first_seq > 0;
        let behind = self.parts.get(from..).unwrap_or_default().iter().find(is_there);
        behind.or_else(|| self.parts.iter().rev().find(is_there)).map(|part| part.first_seq)
    }

    /// The column of a moment, nanoseconds since the session opened.
    pub(crate) fn column_of(&self, at_ns: u64, columns: usize) -> Option<usize> {
        let n = self.parts.len();
        let part = usize::try_from(at_ns / self.part_ns.max(1)).ok()?.min(n.checked_sub(1)?);
        // The middle of it, so that it is among what the column shows.
        Some((2 * part + 1).saturating_mul(columns) / (2 * n))
    }

    /// What is at each of so many columns. `is_broken` says whether a rule was broken from one message up to another.
    pub(crate) fn signs(&self, columns: usize, is_broken: impl Fn(At, At) -> bool) -> Vec<Sign> {
        let sum = |parts: &[Part]| parts.iter().map(|part| part.n_bytes).sum::<u64>();
        let most = (0..columns).map(|column| sum(self.at_column(column, columns))).max().unwrap_or(0);
        // Logarithmic, or one large message would leave nothing to be seen of the others.
        let height = |n_bytes: u64| (n_bytes as f64 / 64.0).ln_1p();
        let mut signs = vec![Sign::Nothing; columns];
        // Where a part is several columns wide, they all end where it does.
        let end = At { seq: self.through.saturating_add(1), member: 0 };
        let (mut next, mut this) = (end, end);
        for (column, sign) in signs.iter_mut().enumerate().rev() {
            let parts = self.at_column(column, columns);
            let Some(first) = parts.iter().find(|part| part.first_seq > 0) else {
                continue;
            };
            let first = At { seq: first.first_seq, member: 0 };
            if first != this {
                (next, this) = (this, first);
            }
            let eighths = (height(sum(parts)) / height(most.max(1)) * 8.0).ceil() as usize;
            *sign = if parts.iter().any(|part| part.n_errors > 0) {
                Sign::Error
            } else if is_broken(first, next) {
                Sign::Finding
            } else {
                Sign::Traffic(eighths.clamp(1, 8))
            };
        }
        signs
    }
}

impl Open {
    /// Whether some message from one up to another broke a rule.
    pub(crate) fn is_broken_between(&self, from: At, to: At) -> bool {
        from < to && self.findings.by_message.range(from..to).next().is_some()
    }
}

impl Inspector {
    /// Lines of the screen that it takes: one or none.
    pub(crate) fn overview_height(&self) -> u16 {
        u16::from(self.view == View::Timeline && self.open.is_some() && self.size.1 >= FROM_HEIGHT)
    }

    /// Goes to what happened at a column of it.
    pub(crate) fn seek_in_overview(&mut self, column: u16, effects: &mut Vec<Effect>) {
        let columns = usize::from(self.size.0);
        let found = self.open.as_ref().and_then(|open| open.overseen.overview.seek(column.into(), columns));
        if let Some(seq) = found {
            self.jump(At { seq, member: 0 }, effects);
        }
    }

    /// Asks for it once the first rows are there, and now and then while the session grows.
    pub(crate) fn fetch_overview(&mut self, effects: &mut Vec<Effect>) {
        let (now, ticket) = (self.now_unix_ns, self.ticket());
        let Some(open) = &mut self.open else {
            return;
        };
        let overseen = &mut open.overseen;
        let is_due = overseen.asked_unix_ns.saturating_add(AGAIN_NS) <= now || overseen.asked_for == 0;
        let has_grown = overseen.asked_for < open.last_seq;
        if !open.rows.rows().is_empty() && overseen.ticket.is_none() && has_grown && is_due {
            (overseen.asked_unix_ns, overseen.asked_for) = (now, open.last_seq);
            overseen.ticket = Some(ticket);
            effects.push(Effect::Ask(ticket, Query::Overview(open.session.key)));
        }
    }

    /// The column of the cursor's message.
    pub(crate) fn cursor_in_overview(&self, open: &Open) -> Option<usize> {
        let row = open.rows.current().map(|row: &Row| row.row.at_ns)?;
        open.overseen.overview.column_of(row, usize::from(self.size.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn overview(parts: &[(u64, u64, u64)]) -> Overview {
        let parts: Vec<Part> = parts
            .iter()
            .map(|(first_seq, n_bytes, n_errors)| Part {
                first_seq: *first_seq,
                n_bytes: *n_bytes,
                n_errors: *n_errors,
            })
            .collect();
        Overview { part_ns: 10, parts, through: 100, complete: true, p50_ns: None, p95_ns: None }
    }

    #[test]
    fn all_of_a_session_is_on_as_many_columns_as_there_are() {
        let overview = overview(&[(1, 100, 0), (3, 1_000_000, 0), (0, 0, 0), (0, 0, 0), (10, 100, 1), (50, 10_000, 0)]);
        let broken = |from: At, to: At| (from.seq..to.seq).contains(&60);
        use Sign::{Error, Finding, Nothing, Traffic};
        for (columns, expected) in [
            (6, vec![Traffic(1), Traffic(8), Nothing, Nothing, Error, Finding]),
            (3, vec![Traffic(8), Nothing, Error]),
            (1, vec![Error]),
            (0, vec![]),
            (
                12,
                vec![
                    Traffic(1),
                    Traffic(1),
                    Traffic(8),
                    Traffic(8),
                    Nothing,
                    Nothing,
                    Nothing,
                    Nothing,
                    Error,
                    Error,
                    Finding,
                    Finding,
                ],
            ),
        ] {
            assert_eq!(overview.signs(columns, broken), expected, "{columns}");
        }
        for (column, expected) in [(0, 1), (1, 3), (2, 10), (3, 10), (4, 10), (5, 50), (99, 50)] {
            assert_eq!(overview.seek(column, 6), Some(expected), "{column}");
        }
        for (at_ns, columns, expected) in [(0, 6, 0), (19, 6, 1), (59, 6, 5), (u64::MAX, 6, 5), (30, 3, 1), (45, 12, 9)]
        {
            assert_eq!(overview.column_of(at_ns, columns), Some(expected), "{at_ns} of {columns}");
        }
        assert_eq!(Overview::default().seek(3, 80), None);
        assert_eq!(Overview::default().column_of(3, 80), None);
        assert_eq!(Overview::default().signs(3, broken), [Nothing; 3]);
    }
}
