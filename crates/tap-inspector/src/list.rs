//! A window into a list that may be very long: the rows around the cursor, and which are to be fetched next.

use std::collections::{BTreeMap, BTreeSet};

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
    /// The cursor is to be at the end as soon as it is known where that is, and stays there then.
    pub(crate) to_end: bool,
    pending: Option<(Ticket, RowsPart)>,
    /// Where the cursor is to be when rows come.
    wanted: Option<At>,
    /// How far a search came that goes on.
    pub(crate) searched_to: Option<u64>,
    /// All up to this message was looked at.
    pub(crate) through: u64,
    /// Calls that are unfolded.
    unfolded: BTreeSet<At>,
    /// Rows that are no calls and stand under one that is unfolded: which one.
    under: BTreeMap<At, At>,
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

    /// Whether nothing is before the rows at hand.
    pub(crate) fn begins(&self) -> bool {
        self.at_begin
    }

    pub(crate) fn pending_ticket(&self) -> Option<Ticket> {
        self.pending.map(|(ticket, _)| ticket)
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
        let (follow, to_end, wanted) = (self.follow, self.to_end, self.wanted);
        *self = Self { follow, to_end, wanted, pending: Some((ticket, part)), ..Self::default() };
        cancelled
    }

    /// Those of which more will be known.
    pub(crate) fn waiting(&self) -> Vec<At> {
        self.rows.iter().filter(|row| !row.settled).map(Row::at).collect()
    }

    /// Says where the cursor is to be when rows come.
    pub(crate) fn want(&mut self, at: At) {
        self.wanted = Some(at);
        self.to_end = false;
    }

    /// Puts the cursor on a row that is there. False when it is not.
    pub(crate) fn go_to(&mut self, at: At, height: usize) -> bool {
        let Some(index) = self.index_of(at) else {
            return false;
        };
        self.wanted = None;
        self.to_end = false;
        self.cursor = index;
        self.keep_in_sight(height);
        true
    }

    /// Whether all rows near a message are there: one that is not there does not exist.
    pub(crate) fn covers(&self, at: At) -> bool {
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else {
            return false;
        };
        (self.at_begin || first.at() <= at) && (self.at_end || at <= last.at())
    }

    /// Puts the cursor on the row of a message, or on the nearest before it.
    pub(crate) fn go_near(&mut self, at: At, height: usize) {
        self.wanted = None;
        self.to_end = false;
        self.cursor = self.nearest(at);
        self.keep_in_sight(height);
    }

    /// The index of the row of a message: its own, or that of the call which it answers.
    fn index_of(&self, at: At) -> Option<usize> {
        let own = self.rows.binary_search_by_key(&at, Row::at).ok();
        own.or_else(|| self.rows.iter().position(|row| row.row.pair == Some(at)))
    }

    /// Moves the cursor by so many rows.
    pub(crate) fn move_by(&mut self, rows: isize, height: usize) {
        let last = self.rows.len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
        // Who moves has seen what was looked for, and is not thrown back to it.
        self.wanted = None;
        if rows < 0 {
            (self.follow, self.to_end) = (false, false);
        }
        self.keep_in_sight(height);
    }

    pub(crate) fn keep_in_sight(&mut self, height: usize) {
        let height = height.max(1);
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        self.top = self.top.min(self.cursor);
        if self.top + height <= self.cursor {
            self.top = self.cursor + 1 - height;
        }
        // No empty lines at the bottom where there are rows to fill them.
        self.top = self.top.min(self.rows.len().saturating_sub(height));
    }

    /// Whether a call is unfolded.
    pub(crate) fn is_unfolded(&self, call: At) -> bool {
        self.unfolded.contains(&call)
    }

    /// The call that a row stands under.
    pub(crate) fn call_over(&self, at: At) -> Option<At> {
        self.under.get(&at).copied()
    }

    /// Calls that are unfolded and go on.
    pub(crate) fn unfolded_and_waiting(&self) -> Option<At> {
        let goes_on = |at: &&At| self.index_of(**at).is_some_and(|index| !self.rows[index].settled);
        self.unfolded.iter().find(goes_on).copied()
    }

    /// Puts what came while a call was running under it. Those for which there is no place are left out: what lies behind the
    /// rows at hand, and is not known to come next.
    pub(crate) fn unfold(&mut self, call: At, rows: Vec<Row>, height: usize) {
        self.unfolded.insert(call);
        let known = self.rows.last().map_or(0, |last| last.at().seq);
        let reach = if self.at_end { self.through.max(known) } else { known };
        let is_new = |at: At| self.rows.binary_search_by_key(&at, Row::at).is_err();
        let rows: Vec<Row> = rows.into_iter().filter(|row| row.at().seq <= reach && is_new(row.at())).collect();
        self.under.extend(rows.iter().map(|row| (row.at(), call)));
        self.refresh(rows, height);
    }

    /// Takes away what stands under a call. A cursor on it goes to the call.
    pub(crate) fn fold(&mut self, call: At, height: usize) {
        self.unfolded.remove(&call);
        let here = self.current().map(Row::at);
        let is_under = |at: At| self.under.get(&at) == Some(&call);
        self.rows.retain(|row| !is_under(row.at()));
        let to = here.map(|at| if is_under(at) { call } else { at });
        self.under.retain(|_, over| *over != call);
        self.cursor = to.map_or(0, |at| self.nearest(at));
        self.keep_in_sight(height);
    }

    /// Goes to the end: at once, or, while that is not known, when it is. A session that goes on is followed.
    pub(crate) fn go_to_end(&mut self, live: bool, complete: bool) {
        (self.follow, self.to_end) = (live, !complete);
    }

    /// Now that it is known where the list ends: whether that is where the cursor is to be, and too far for going there a page
    /// at a time.
    pub(crate) fn ends_elsewhere(&self, last_seq: u64) -> bool {
        let known = self.rows.last().map_or(0, |last| last.at().seq);
        self.to_end || self.follow && last_seq.saturating_sub(known) > KEPT as u64
    }

    /// What to fetch, if anything: the cursor is near an end of what is there.
    pub(crate) fn need(&self) -> Option<RowsPart> {
        if self.pending.is_some() {
            return None;
        }
        let (Some(first), Some(last)) = (self.rows.first(), self.rows.last()) else {
            // Nothing fits behind the place where the search began: perhaps something does before it.
            return (self.at_end && !self.at_begin).then_some(RowsPart::Last);
        };
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
            None => Some(RowsPart::From(self.through.saturating_add(1))),
        }
    }

    /// A question could not be answered: nothing is asked for again until something changes.
    pub(crate) fn failed(&mut self, ticket: Ticket) {
        if self.pending.is_some_and(|(pending, _)| pending == ticket) {
            self.pending = None;
            (self.at_begin, self.at_end) = (true, true);
            self.searched_to = None;
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
        if answer.complete && answer.at_end {
            self.through = self.through.max(answer.last_seq);
        }
        match part {
            RowsPart::Before(_) => {
                self.at_begin = answer.complete && answer.at_begin;
                self.put_before(answer.rows);
            }
            RowsPart::After(_) => {
                self.at_end = answer.complete && answer.at_end;
                self.put_behind(answer.rows);
            }
            RowsPart::From(_) | RowsPart::Last | RowsPart::Around(_) => {
                let is_first = self.rows.is_empty();
                self.at_begin |= answer.at_begin;
                self.at_end = answer.complete && answer.at_end;
                self.put_behind(answer.rows);
                if is_first || self.wanted.is_some() {
                    self.cursor = match (self.wanted, part) {
                        (Some(at), _) => self.nearest(at),
                        (None, RowsPart::Last) => self.rows.len().saturating_sub(1),
                        (None, RowsPart::Around(seq)) => self.nearest(At { seq, member: 0 }),
                        (None, _) => 0,
                    };
                    self.top = self.cursor.saturating_sub(height / 2);
                }
                if answer.complete {
                    self.wanted = None;
                }
            }
        }
        if self.follow && self.at_end {
            self.cursor = self.rows.len().saturating_sub(1);
        }
        self.prune();
        self.keep_in_sight(height);
        true
    }

    /// Puts rows behind all that are there. What is not behind them is there already.
    fn put_behind(&mut self, rows: Vec<Row>) {
        for row in rows {
            if self.rows.last().is_none_or(|last| last.at() < row.at()) {
                self.rows.push(row);
            }
        }
    }

    fn put_before(&mut self, mut rows: Vec<Row>) {
        if let Some(first) = self.rows.first() {
            rows.retain(|row| row.at() < first.at());
        }
        let n_new = rows.len();
        self.rows.splice(..0, rows);
        if self.rows.len() > n_new {
            self.cursor += n_new;
            self.top += n_new;
        }
    }

    /// The index of the row of this message, or the nearest one before it.
    fn nearest(&self, at: At) -> usize {
        self.index_of(at).unwrap_or_else(|| self.rows.partition_point(|row| row.at() < at).saturating_sub(1))
    }

    fn prune(&mut self) {
        self.cursor = self.cursor.min(self.rows.len().saturating_sub(1));
        let surplus = self.rows.len().saturating_sub(KEPT);
        if surplus == 0 {
            return;
        }
        if self.cursor >= self.rows.len() / 2 {
            self.rows.drain(..surplus);
            self.cursor = self.cursor.saturating_sub(surplus);
            self.top = self.top.saturating_sub(surplus);
            self.at_begin = false;
        } else {
            self.rows.truncate(KEPT);
            self.at_end = false;
        }
        self.forget_folds();
    }

    /// What is not at hand any more is not unfolded when it comes again.
    fn forget_folds(&mut self) {
        let is_there = |at: &At| self.rows.binary_search_by_key(at, Row::at).is_ok();
        self.unfolded.retain(|call| is_there(call));
        self.under.retain(|at, call| is_there(at) && is_there(call));
    }

    /// Rows as they are now, in any order: those that are there are replaced, and those that lie between them put in.
    pub(crate) fn refresh(&mut self, rows: Vec<Row>, height: usize) {
        for row in rows {
            match self.rows.binary_search_by_key(&row.at(), Row::at) {
                Ok(index) => {
                    if let Some(old) = self.rows.get_mut(index) {
                        *old = row;
                    }
                }
                Err(index) if (0 < index || self.at_begin) && (index < self.rows.len() || self.at_end) => {
                    self.rows.insert(index, row);
                    // The cursor stays on its row.
                    if index <= self.cursor && self.rows.len() > 1 {
                        self.cursor += 1;
                        self.top += 1;
                    }
                }
                Err(_) => {}
            }
        }
        self.prune();
        self.keep_in_sight(height);
    }
}
