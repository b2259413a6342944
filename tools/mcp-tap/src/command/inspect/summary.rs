//! What a session is about, for the panel beside the list of sessions: from its newest calls alone.

use std::collections::BTreeMap;

use tap_inspector::{Row, SessionKey, SessionSummary};
use tap_session::{RowKind, Status};
use tap_store::{ListKind, Listed, Part, Session, StoreError};

use super::lists::Lists;
use super::message;

/// How many of the newest calls are looked at: what costs a few milliseconds, however long the session is.
const CALLS: u64 = 5_000;

/// How many of the newest calls, and of the slowest tools, are told.
const TOLD: usize = 10;

/// What it is about; `None` when it is there no more.
pub(super) fn summary(lists: &mut Lists<'_>, key: SessionKey) -> Result<Option<SessionSummary>, StoreError> {
    let Some(session) = lists.session(key)? else {
        return Ok(None);
    };
    let rows = lists.store().list(session.id, ListKind::Calls, Part::UpTo(u64::MAX), CALLS)?;
    let is_problem = |listed: &&Listed| {
        matches!(listed.row.status, Some(Status::Error | Status::ToolError))
            || matches!(listed.row.kind, RowKind::NotJson | RowKind::NotAMessage | RowKind::Gap)
    };
    let row =
        |session: &Session, listed: &Listed| -> Result<Row, StoreError> { message::row(lists.opened, session, listed) };
    let last_problem = rows.iter().rev().find(is_problem).map(|listed| row(&session, listed)).transpose()?;
    let calls = rows.iter().rev().filter(|listed| listed.row.kind == RowKind::Request).take(TOLD);
    Ok(Some(SessionSummary {
        key,
        last_problem,
        slowest: slowest(&rows),
        last_calls: calls.map(|listed| row(&session, listed)).collect::<Result<_, _>>()?,
        of_last: (rows.len() as u64 == CALLS).then_some(CALLS),
    }))
}

/// The slowest tools: name, how often it was called, the latency that one call in twenty exceeds.
fn slowest(rows: &[Listed]) -> Vec<(String, u64, u64)> {
    let mut by_tool: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for row in rows.iter().map(|listed| &listed.row) {
        if let (Some("tools/call"), Some(tool), Some(latency_ns)) =
            (row.method.as_deref(), row.target.as_deref(), row.latency_ns)
        {
            by_tool.entry(tool).or_default().push(latency_ns);
        }
    }
    let mut slowest: Vec<(String, u64, u64)> = by_tool
        .into_iter()
        .map(|(tool, mut latencies)| {
            latencies.sort_unstable();
            let place = (latencies.len() * 95).div_ceil(100).saturating_sub(1);
            (tool.to_owned(), latencies.len() as u64, latencies.get(place).copied().unwrap_or(0))
        })
        .collect();
    slowest.sort_by_key(|(.., p95_ns)| std::cmp::Reverse(*p95_ns));
    slowest.truncate(TOLD);
    slowest
}
