//! Rows of a session: a part of a list, with a filter or without.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tap_inspector::{Answer, Row, RowsAnswer, RowsPart, RowsQuery, Ticket};
use tap_session::At;
use tap_store::{ListKind, Listed, Part, Session, Store, StoreError};

use super::asked::{Answers, Opened};
use super::lists::Lists;
use super::message;
use crate::filtering::fits;
use crate::following::last_seq;
use crate::subject::Findings;

/// Rows that are looked at between two looks at whether the question still stands.
const PAGE: u64 = 1_000;

/// How long a search goes on before what it found is given.
const GIVE: Duration = Duration::from_millis(80);

/// Gives rows in the order of the list, a page at a time, as they are found.
pub(super) fn rows(lists: &mut Lists<'_>, ticket: Ticket, query: &RowsQuery) -> Result<(), StoreError> {
    let Some(session) = lists.session(query.session)? else {
        lists.answers.fail(Some(ticket), "there is no such session any more".into());
        return Ok(());
    };
    let (store, answers) = (lists.store(), lists.answers);
    let last_seq = last_seq(store, session.id)?;
    let asks_findings = query.filter.as_ref().is_some_and(|filter| filter.asks_findings());
    let findings = match asks_findings {
        // The thread that follows the session knows; until it is through nothing can be said.
        true => match answers.judged.wait(query.session, || answers.is_withdrawn(ticket)) {
            Some(findings) => findings,
            None => return Ok(()),
        },
        false => Arc::default(),
    };
    let (opened, findings) = (lists.opened, &*findings);
    let walk = Walk { opened, store, session: &session, query, findings, ticket, answers, last_seq, streams: true };
    let answer = match query.part {
        RowsPart::From(seq) => walk.forward(Part::From(seq), seq <= 1)?,
        RowsPart::After(at) => walk.forward(Part::After(at), false)?,
        RowsPart::Last => walk.backward(At { seq: u64::MAX, member: u64::MAX })?,
        RowsPart::Before(at) => walk.backward(at)?,
        RowsPart::Around(seq) => {
            let half = RowsQuery { limit: query.limit / 2, ..query.clone() };
            // In the order of the list: what lies before comes first.
            let walk = Walk { query: &half, streams: false, ..walk };
            let before = walk.backward(At { seq, member: 0 })?;
            let behind = walk.forward(Part::From(seq), false)?;
            match (before, behind) {
                (Some(mut before), Some(behind)) => {
                    before.rows.extend(behind.rows);
                    Some(RowsAnswer { at_end: behind.at_end, ..before })
                }
                _ => None,
            }
        }
    };
    if let Some(answer) = answer {
        answers.give(ticket, Answer::Rows(RowsAnswer { complete: true, last_seq, ..answer }));
    }
    Ok(())
}

/// A walk through a list.
#[derive(Clone, Copy)]
struct Walk<'a> {
    opened: &'a Opened,
    store: &'a Store,
    session: &'a Session,
    query: &'a RowsQuery,
    findings: &'a Findings,
    ticket: Ticket,
    answers: &'a Answers,
    last_seq: u64,
    /// What was found is given as it is found.
    streams: bool,
}

impl Walk<'_> {
    fn kind(&self) -> ListKind {
        if self.query.calls { ListKind::Calls } else { ListKind::Frames }
    }

    /// The last of the rows that were not given yet; `None` when the question was withdrawn.
    fn forward(&self, from: Part, at_begin: bool) -> Result<Option<RowsAnswer>, StoreError> {
        let mut answer = RowsAnswer { at_begin, last_seq: self.last_seq, ..RowsAnswer::default() };
        let mut n_found = 0;
        let mut part = from;
        let mut given = Instant::now();
        // Without a filter each row counts, and no more need be fetched than are wanted.
        let page = if self.query.filter.is_some() { PAGE } else { PAGE.min(self.query.limit as u64) };
        loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            let listed = self.store.list(self.session.id, self.kind(), part, page)?;
            let is_last = (listed.len() as u64) < page;
            for one in &listed {
                part = Part::After(one.row.at);
                if self.fits(one)? {
                    answer.rows.push(self.row(one)?);
                    n_found += 1;
                    if n_found >= self.query.limit {
                        return Ok(Some(answer));
                    }
                }
                if self.streams && given.elapsed() > GIVE {
                    if self.answers.is_withdrawn(self.ticket) {
                        return Ok(None);
                    }
                    // What was found is given at once, and how far the search is.
                    let rows = std::mem::take(&mut answer.rows);
                    let searched_to = Some(one.row.at.seq);
                    let part = RowsAnswer { rows, searched_to, complete: false, ..answer.clone() };
                    self.answers.give(self.ticket, Answer::Rows(part));
                    given = Instant::now();
                }
            }
            if is_last {
                answer.at_end = true;
                return Ok(Some(answer));
            }
        }
    }

    fn backward(&self, before: At) -> Result<Option<RowsAnswer>, StoreError> {
        let mut found = Vec::new();
        let mut answer =
            RowsAnswer { at_end: before.seq == u64::MAX, last_seq: self.last_seq, ..RowsAnswer::default() };
        let mut edge = before;
        let page = if self.query.filter.is_some() { PAGE } else { PAGE.min(self.query.limit as u64 + 1) };
        let mut given = Instant::now();
        'walk: loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            if self.streams && given.elapsed() > GIVE {
                let searched_to = Some(edge.seq.min(self.last_seq));
                let part = RowsAnswer { searched_to, last_seq: self.last_seq, ..RowsAnswer::default() };
                self.answers.give(self.ticket, Answer::Rows(part));
                given = Instant::now();
            }
            // The members of a batch that come before the edge are in the page of its frame.
            let seq = if edge.member == 0 { edge.seq.saturating_sub(1) } else { edge.seq };
            let listed = self.store.list(self.session.id, self.kind(), Part::UpTo(seq), page)?;
            let is_last = (listed.len() as u64) < page;
            for one in listed.iter().rev().filter(|one| one.row.at < edge) {
                if self.fits(one)? {
                    found.push(self.row(one)?);
                    if found.len() >= self.query.limit {
                        break 'walk;
                    }
                }
            }
            match listed.first() {
                Some(first) if !is_last => edge = first.row.at,
                _ => {
                    answer.at_begin = true;
                    break;
                }
            }
        }
        found.reverse();
        answer.rows = found;
        Ok(Some(answer))
    }

    fn fits(&self, listed: &Listed) -> Result<bool, StoreError> {
        match &self.query.filter {
            Some(filter) => fits(filter, self.store, self.session, self.kind(), listed, self.findings),
            None => Ok(true),
        }
    }

    fn row(&self, listed: &Listed) -> Result<Row, StoreError> {
        message::row(self.opened, self.session, listed)
    }
}
