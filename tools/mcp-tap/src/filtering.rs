//! Filters over what is stored: read from the command line, and asked of rows of a list.
//!
//! A list is searched a stretch at a time: the database sorts out what it can by itself (`condition.rs`), and the filter
//! is asked of the rest.

mod condition;
#[cfg(test)]
mod tests;

use std::ops::{Range, RangeInclusive};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use tap_filter::{Context, Filter, FilterError};
use tap_session::{At, HttpSessionNumber, RowKind};
use tap_store::{Hit, ListKind, Listed, Search, Session, Store, StoreError, Stretch};
use unicode_width::UnicodeWidthStr;

use crate::arguments::Global;
use crate::failure::Failure;
use crate::following::follow;
use crate::reference::Found;
use crate::subject::{Findings, Message};
use crate::text::shown;

/// Reads a filter as it stands on the command line; `None` when there is none.
pub(crate) fn read(words: &[String]) -> Result<Option<Filter>, Failure> {
    let text = words.join(" ");
    if text.trim().is_empty() {
        return Ok(None);
    }
    let context =
        Context { now_unix_ns: i128::from(now_unix_ns()), utc_offset_seconds: jiff::Zoned::now().offset().seconds() };
    Filter::parse(&text, &context, &|_| None).map(Some).map_err(|error| told(&text, &error))
}

/// What is wrong with a filter, drawn under the place.
fn told(text: &str, error: &FilterError) -> Failure {
    told_at(text, &error.at, &error.problem, error.help.as_deref())
}

/// What is wrong with something that was written, drawn under the place.
pub(crate) fn told_at(text: &str, at: &Range<usize>, problem: &str, help: Option<&str>) -> Failure {
    let before = shown(text.get(..at.start).unwrap_or_default(), false).width();
    let marked = shown(text.get(at.clone()).unwrap_or_default(), false).width().max(1);
    let mut hint = format!("{}\n  {}{}", shown(text, false), " ".repeat(before), "^".repeat(marked));
    if let Some(help) = help {
        hint.push_str("\n  ");
        hint.push_str(help);
    }
    Failure::new(problem).hint(hint)
}

/// The wall clock, nanoseconds since the Unix epoch.
pub(crate) fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

/// Which rules were broken in a session, if a filter asks for that.
pub(crate) fn findings_for(global: &Global, found: &Found, filter: &Filter) -> Result<Findings, Failure> {
    let mut findings = Findings::new();
    if filter.asks_findings() {
        follow(global, found, u64::MAX, |seen| {
            for finding in &seen.meaning.findings {
                findings.entry(finding.at).or_default().push((finding.rule.id, finding.severity));
            }
            Ok(())
        })?;
    }
    Ok(findings)
}

/// Until when ages are told: now; in a session that is over, until its end.
fn now_of(session: &Session) -> u64 {
    match session.live {
        true => now_unix_ns(),
        false => session.start.opened_unix_ns.saturating_add(session.digest.newest_at_ns),
    }
}

/// Whether a row of a list fits. A row of the list of calls stands for both halves of its call.
pub(crate) fn fits(
    filter: &Filter,
    store: &Store,
    session: &Session,
    kind: ListKind,
    listed: &Listed,
    findings: &Findings,
) -> Result<bool, StoreError> {
    let now_unix_ns = now_of(session);
    let of = |listed: &Listed| filter.fits(&Message::new(store, session, listed, Some(findings), now_unix_ns));
    if of(listed) {
        return Ok(true);
    }
    match (kind, listed.row.kind, listed.row.pair) {
        (ListKind::Calls, RowKind::Request, Some(pair)) => {
            Ok(store.row(session.id, pair)?.is_some_and(|answer| of(&answer)))
        }
        _ => Ok(false),
    }
}

/// Rows of a stretch that are asked at most, and how long that goes on: between two stretches it is looked whether
/// anybody still wants to know.
const ROWS: u64 = 1_000;
const TIME: Duration = Duration::from_millis(8);

/// Where so few are wanted, as of somebody who goes to the next of something, fewer rows are asked at a time.
const FEW: usize = 8;
const ROWS_FOR_FEW: u64 = 150;

/// A list of which only those are wanted that fit.
pub(crate) struct Sieve<'a> {
    filter: &'a Filter,
    store: &'a Store,
    session: &'a Session,
    findings: &'a Findings,
    search: Search,
    now_unix_ns: u64,
}

/// What a stretch of a list came to.
#[derive(Debug)]
pub(crate) struct Sifted {
    /// Those that fit, in the order of the search.
    pub(crate) rows: Vec<Listed>,
    /// Where the search goes on; `None` at the end of the list.
    pub(crate) next: Option<At>,
}

impl<'a> Sieve<'a> {
    pub(crate) fn new(
        filter: &'a Filter,
        store: &'a Store,
        session: &'a Session,
        conversation: Option<HttpSessionNumber>,
        kind: ListKind,
        findings: &'a Findings,
    ) -> Self {
        let condition = condition::condition(&filter.plan(), session, findings);
        let search = Search { session: session.id, conversation, kind, condition };
        Self { filter, store, session, findings, search, now_unix_ns: now_of(session) }
    }

    /// Where a search begins that has this number in it, whichever way it goes.
    pub(crate) fn from(seq: u64, forward: bool) -> At {
        match forward {
            true => At { seq: seq.saturating_sub(1), member: u64::MAX },
            false => At { seq, member: u64::MAX },
        }
    }

    /// Searches the next stretch, behind this place (`forward`) or before it: some milliseconds, or until so many are found
    /// as are `wanted`.
    pub(crate) fn stretch(&self, from: At, forward: bool, wanted: usize) -> Result<Sifted, StoreError> {
        let Stretch { hits, mut next } =
            self.store.search(&self.search, from, forward, if wanted < FEW { ROWS_FOR_FEW } else { ROWS })?;
        let began = Instant::now();
        let mut rows = Vec::new();
        let n_hits = hits.len();
        for (index, hit) in hits.into_iter().enumerate() {
            let at = hit.listed.row.at;
            if self.fits(&hit) {
                rows.push(hit.listed);
            }
            if index + 1 < n_hits && (wanted <= rows.len() || TIME < began.elapsed()) {
                next = Some(at);
                break;
            }
        }
        Ok(Sifted { rows, next })
    }

    fn fits(&self, hit: &Hit) -> bool {
        let message = Message::of_hit(self.store, self.session, hit, Some(self.findings), self.now_unix_ns);
        if self.filter.fits(&message) {
            return true;
        }
        // A row of the list of calls stands for both halves.
        let answer = if self.search.kind == ListKind::Calls { message.answer_of() } else { None };
        answer.is_some_and(|answer| self.filter.fits(&answer))
    }

    /// All rows that fit, from the first to the last of a range.
    pub(crate) fn all(
        &self,
        range: &RangeInclusive<u64>,
        mut each: impl FnMut(Listed) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut from = Self::from(*range.start(), true);
        loop {
            let Sifted { rows, next } = self.stretch(from, true, usize::MAX)?;
            for listed in rows {
                if !range.contains(&listed.row.at.seq) {
                    return Ok(());
                }
                each(listed)?;
            }
            match next.filter(|next| next.seq <= *range.end()) {
                Some(next) => from = next,
                None => return Ok(()),
            }
        }
    }
}
