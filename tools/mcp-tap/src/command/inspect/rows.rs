//! Rows of a session: a part of a list, with a filter or without.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tap_inspector::{Answer, Row, RowsAnswer, RowsPart, RowsQuery, Ticket};
use tap_session::At;
use tap_store::{ListKind, Listed, Part, Session, Store, StoreError};

use super::asked::{Answers, Opened};
use super::lists::Lists;
use super::message;
use crate::filtering::{Sieve, Sifted};
use crate::following::last_seq;
use crate::subject::Findings;

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
        true => match answers.findings(ticket, &session, last_seq) {
            Some(findings) => findings,
            None => return Ok(()),
        },
        false => Arc::default(),
    };
    let (opened, findings) = (lists.opened, &*findings);
    let walk = Walk { opened, store, session: &session, query, findings, ticket, answers, last_seq, streams: true };
    let answer = match query.part {
        RowsPart::From(seq) => walk.forward(Sieve::from(seq, true), seq <= 1)?,
        RowsPart::After(at) => walk.forward(at, false)?,
        RowsPart::Last => walk.backward(At { seq: u64::MAX, member: u64::MAX })?,
        RowsPart::Before(at) => walk.backward(at)?,
        RowsPart::Around(seq) => {
            let half = RowsQuery { limit: query.limit / 2, ..query.clone() };
            // In the order of the list: what lies before comes first.
            let walk = Walk { query: &half, streams: false, ..walk };
            let before = walk.backward(At { seq, member: 0 })?;
            let behind = walk.forward(Sieve::from(seq, true), false)?;
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

    /// The rows of a page, or of a stretch that is searched, behind a place or before it, and where it goes on.
    fn page(&self, sieve: Option<&Sieve<'_>>, from: At, forward: bool) -> Result<Sifted, StoreError> {
        if let Some(sieve) = sieve {
            return sieve.stretch(from, forward, self.query.limit);
        }
        // Each row counts, and no more need be fetched than are wanted.
        let limit = self.query.limit as u64;
        let listed = self.store.list(
            self.session.id,
            self.kind(),
            if forward { Part::After(from) } else { Part::Before(from) },
            limit,
        )?;
        let next = if forward { listed.last() } else { listed.first() };
        let next = next.map(|one| one.row.at).filter(|_| listed.len() as u64 >= limit);
        let rows = if forward { listed } else { listed.into_iter().rev().collect() };
        Ok(Sifted { rows, next })
    }

    fn sieve(&self) -> Option<Sieve<'_>> {
        let filter = self.query.filter.as_ref()?;
        Some(Sieve::new(filter, self.store, self.session, None, self.kind(), self.findings))
    }

    /// The last of the rows that were not given yet; `None` when the question was withdrawn.
    fn forward(&self, mut from: At, at_begin: bool) -> Result<Option<RowsAnswer>, StoreError> {
        let mut answer = RowsAnswer { at_begin, last_seq: self.last_seq, ..RowsAnswer::default() };
        let sieve = self.sieve();
        let mut n_found = 0;
        let mut given: Option<Instant> = None;
        let began = Instant::now();
        loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            let Sifted { rows, next } = self.page(sieve.as_ref(), from, true)?;
            for one in &rows {
                answer.rows.push(self.row(one)?);
                n_found += 1;
                if n_found >= self.query.limit {
                    return Ok(Some(answer));
                }
            }
            let Some(next) = next else {
                answer.at_end = true;
                return Ok(Some(answer));
            };
            from = next;
            // The first are given at once, and the others as they are found, with how far the search is.
            let is_first = given.is_none() && !answer.rows.is_empty();
            if self.streams && (is_first || given.unwrap_or(began).elapsed() > GIVE) {
                let rows = std::mem::take(&mut answer.rows);
                given = given.or((!rows.is_empty()).then(Instant::now)).map(|_| Instant::now());
                let part = RowsAnswer { rows, searched_to: Some(next.seq), complete: false, ..answer.clone() };
                self.answers.give(self.ticket, Answer::Rows(part));
            }
        }
    }

    fn backward(&self, mut before: At) -> Result<Option<RowsAnswer>, StoreError> {
        let mut found = Vec::new();
        let mut answer =
            RowsAnswer { at_end: before.seq == u64::MAX, last_seq: self.last_seq, ..RowsAnswer::default() };
        let sieve = self.sieve();
        let mut given = Instant::now();
        'walk: loop {
            if self.answers.is_withdrawn(self.ticket) {
                return Ok(None);
            }
            let Sifted { rows, next } = self.page(sieve.as_ref(), before, false)?;
            for one in &rows {
                found.push(self.row(one)?);
                if found.len() >= self.query.limit {
                    break 'walk;
                }
            }
            let Some(next) = next else {
                answer.at_begin = true;
                break;
            };
            before = next;
            if self.streams && given.elapsed() > GIVE {
                let searched_to = Some(next.seq.min(self.last_seq));
                let part = RowsAnswer { searched_to, last_seq: self.last_seq, ..RowsAnswer::default() };
                self.answers.give(self.ticket, Answer::Rows(part));
                given = Instant::now();
            }
        }
        found.reverse();
        answer.rows = found;
        Ok(Some(answer))
    }

    fn row(&self, listed: &Listed) -> Result<Row, StoreError> {
        message::row(self.opened, self.session, listed)
    }
}
