//! A window into a list that may be very long: the rows around the cursor, and which are to be fetched next.

use tap_session::At;

use crate::data::Row;
use crate::effect::{RowsAnswer, RowsPart, Ticket};

/// How many rows are fetched at a time.
pub(crate) const PAGE: usize = 200;

/// How many rows are kept. Those far from the cursor go first.
const KEPT: usize = 2_000;

/// How near to an end of what is there the cursor comes before more is fetched.
const MARGIN: usize = 60;

/// Rows around a cursor.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    rows: Vec<Row>,
    /// The index of the row with the cursor, if there are rows.
    cursor: usize,
    /// The index of the row at the top of the screen.
    top: usize,
    at_begin: bool,
    at_end: bool,
    /// The cursor stays at the end as the list grows.
    pub(crate) follow: bool,
    pending: Option<(Ticket, RowsPart)>,
    /// Where the cursor is to be when rows come.
    wanted: Option<At>,
    /// How far a search came that has found nothing yet.
    pub(crate) searched_to: Option<u64>,
}

impl Rows {
    pub(crate) fn new(follow: bool) -> Self {
        Self { follow, ..Self::default() }
    }

    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    pub(crate) fn current(&self) -> Option<&Row> {
        self.rows.get(self.cursor)
    }

    pub(crate) fn cursor(&self) -> usize {
        self.cursor
    }

    /// Whether rows are still looked for.
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.is_some()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows on a screen of this height, from the top one.
    pub(crate) fn visible(&self, height: usize) -> impl Iterator<Item = (usize, &Row)> {
        self.rows.iter().enumerate().skip(self.top).take(height)
    }

    /// Forgets all rows and begins anew. What was pending is of no use any more.
    pub(crate) fn reset(&mut self, ticket: Ticket, part: RowsPart) -> Option<Ticket> {
        let cancelled = self.pending.take().map(|(ticket, _)| ticket);
        let follow = self.follow;
        *self = Self { follow, wanted: self.wanted, pending: Some((ticket, part)), ..Self::default() };
        cancelled
    }

    /// Says where the cursor is to be when rows come.
    pub(crate) fn want(&mut self, at: At) {
        self.wanted = Some(at);
    }

    /// Puts the cursor on a row that is there. False when it is not.
    pub(crate) fn go_to(&mut self, at: At, height: usize) -> bool {
        match self.rows.binary_search_by_key(&at, Row::at) {
            Ok(index) => {
                self.cursor = index;
                self.keep_in_sight(height);
                true
            }
            Err(_) => false,
        }
    }

    /// Moves the cursor by so many rows.
    pub(crate) fn move_by(&mut self, rows: isize, height: usize) {
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
        if rows < 0 {
            self.follow = false;
        }
        self.keep_in_sight(height);
    }

    fn keep_in_sight(&mut self, height: usize) {
        let height = height.max(1);
        self.top = self.top.min(self.cursor);
        if self.top + height <= self.cursor {
            self.top = self.cursor + 1 - height;
        }
        // No empty lines at the bottom where there are rows to fill them.
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// What to fetch, if anything: the cursor is near an end of what is there.
    pub(crate) fn need(&self) -> Option<RowsPart> {
        if self.pending.is_some() {
            return None;
        }
        let (first, last) = (self.rows.first()?, self.rows.last()?);
        if !self.at_end && self.cursor + MARGIN >= self.rows.len() {
            Some(RowsPart::After(last.at()))
        } else if !self.at_begin && self.cursor < MARGIN {
            Some(RowsPart::Before(first.at()))
        } else {
            None
        }
    }

    pub(crate) fn asked(&mut self, ticket: Ticket, part: RowsPart) {
        self.pending = Some((ticket, part));
    }

    /// The list has grown at its end.
    pub(crate) fn grown(&mut self) -> Option<RowsPart> {
        self.at_end = false;
        if self.pending.is_some() {
            return None;
        }
        match self.rows.last() {
            Some(last) if self.follow || self.cursor + MARGIN >= self.rows.len() => Some(RowsPart::After(last.at())),
            Some(_) => None,
            None => Some(RowsPart::From(1)),
        }
    }

    /// Takes rows that came. False when they are of no interest any more.
    pub(crate) fn take(&mut self, ticket: Ticket, answer: RowsAnswer, height: usize) -> bool {
        let Some((pending, part)) = self.pending else {
            return false;
        };
        if pending != ticket {
            return false;
        }
        if answer.complete {
            self.pending = None;
        }
        self.searched_to = answer.searched_to.filter(|_| !answer.complete);
        let n_new = answer.rows.len();
        match part {
            RowsPart::Before(_) => {
                self.at_begin = answer.complete && answer.at_begin;
                self.rows.splice(..0, answer.rows);
                self.cursor += n_new;
                self.top += n_new;
            }
            RowsPart::After(_) => {
                self.at_end = answer.complete && answer.at_end;
                self.rows.extend(answer.rows);
            }
            RowsPart::From(_) | RowsPart::Last | RowsPart::Around(_) => {
                let is_first = self.rows.is_empty();
                self.at_begin |= answer.at_begin;
                self.at_end = answer.at_end;
                self.rows.extend(answer.rows);
                if is_first || self.wanted.is_some() {
                    self.cursor = match (self.wanted, part) {
                        (Some(at), _) => self.nearest(at),
                        (None, RowsPart::Last) => self.rows.len().saturating_sub(1),
                        (None, RowsPart::Around(seq)) => self.nearest(At { seq, member: 0 }),
                        (None, _) => 0,
                    };
                }
                if answer.complete {
                    self.wanted = None;
                }
                self.top = self.cursor.saturating_sub(height / 2);
            }
        }
        if self.follow && self.at_end {
            self.cursor = self.rows.len().saturating_sub(1);
        }
        self.prune();
        self.keep_in_sight(height);
        true
    }

    /// The index of the row that is there of this message, or the nearest one before it.
    fn nearest(&self, at: At) -> usize {
        match self.rows.binary_search_by_key(&at, Row::at) {
            Ok(index) => index,
            Err(index) => index.saturating_sub(1),
        }
    }

    fn prune(&mut self) {
        let surplus = self.rows.len().saturating_sub(KEPT);
        if surplus == 0 {
            return;
        }
        if self.cursor >= self.rows.len() / 2 {
            self.rows.drain(..surplus);
            self.cursor -= surplus;
            self.top = self.top.saturating_sub(surplus);
            self.at_begin = false;
        } else {
            self.rows.truncate(KEPT);
            self.at_end = false;
        }
    }

    /// An answer changed rows that are there: those of the same messages are replaced.
    pub(crate) fn refresh(&mut self, rows: Vec<Row>) {
        for row in rows {
            if let Ok(index) = self.rows.binary_search_by_key(&row.at(), Row::at)
                && let Some(old) = self.rows.get_mut(index)
            {
                *old = row;
            }
        }
    }
}
