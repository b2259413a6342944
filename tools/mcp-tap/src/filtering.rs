//! Filters over what is stored: read from the command line, and asked of rows of a list.

use std::time::{SystemTime, UNIX_EPOCH};

use tap_filter::{Context, Filter, FilterError};
use tap_session::RowKind;
use tap_store::{ListKind, Listed, Session, Store, StoreError};
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
    let before = shown(text.get(..error.at.start).unwrap_or_default(), false).width();
    let marked = shown(text.get(error.at.clone()).unwrap_or_default(), false).width().max(1);
    let mut hint = format!("{}\n  {}{}", shown(text, false), " ".repeat(before), "^".repeat(marked));
    if let Some(help) = &error.help {
        hint.push_str("\n  ");
        hint.push_str(help);
    }
    Failure::new(error.problem.clone()).hint(hint)
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

/// Whether a row of a list fits. A row of the list of calls stands for both halves of its call.
pub(crate) fn fits(
    filter: &Filter,
    store: &Store,
    session: &Session,
    kind: ListKind,
    listed: &Listed,
    findings: &Findings,
) -> Result<bool, StoreError> {
    // An age is told until now; in a session that is over, until its end.
    let now_unix_ns = match session.live {
        true => now_unix_ns(),
        false => session.start.opened_unix_ns.saturating_add(session.digest.newest_at_ns),
    };
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
