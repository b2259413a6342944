//! `mcp-tap audit`: which calls a host of ours made, who allowed them, and what came back.

use std::io::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tap_router::Pattern;
use tap_store::{AuditRow, Store, StoreError};

use crate::arguments::{Audit, Global};
use crate::failure::Failure;
use crate::filtering::now_unix_ns;
use crate::output::{Output, Style};
use crate::reference::database;
use crate::text::{column, counted, cut, duration, shown};

/// How wide the arguments are at least where the terminal is narrow, columns.
const ARGUMENTS: usize = 24;

pub(crate) fn audit(global: &Global, audit: &Audit) -> Result<u8, Failure> {
    let path = database(global)?;
    let store = match Store::open(&path) {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => {
            return Err(Failure::new("nothing was recorded yet, and so no call is noted")
                .hint("`mcp-tap route` and `mcp-tap agent` note the calls that they make"));
        }
        Err(error) => return Err(error.into()),
    };
    let since =
        audit.since.map_or(0, |age| now_unix_ns().saturating_sub(u64::try_from(age.as_nanos()).unwrap_or(u64::MAX)));
    let (server, tool) = (audit.server.as_deref().map(Pattern::new), audit.tool.as_deref().map(Pattern::new));
    let fits = |pattern: &Option<Pattern>, name: &str| pattern.as_ref().is_none_or(|pattern| pattern.fits(name));
    let mut rows: Vec<AuditRow> = Vec::new();
    store.audit(audit.run.as_deref().unwrap_or_default(), since, |row| {
        let is_meant =
            fits(&server, &row.server) && fits(&tool, &row.tool) && (!audit.refused || row.is_allowed == Some(false));
        if is_meant && rows.len() < audit.limit {
            rows.push(row);
        }
        rows.len() < audit.limit
    })?;
    // As they happened: the newest stands where the eye is.
    rows.reverse();
    let mut out = if audit.json { Output::new(global) } else { Output::paged(global) };
    if audit.json {
        for row in &rows {
            out.json(&as_json(row))?;
        }
    } else {
        write(&mut out, &rows)?;
    }
    out.finish()?;
    Ok(0)
}

fn as_json(row: &AuditRow) -> Value {
    // What was sent is JSON as a rule; what is not stands as a text.
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_else(|_| json!(text));
    json!({
        "run": row.run,
        "kind": row.kind,
        "began": when(row.began_unix_ns, &TimeZone::UTC, "%Y-%m-%dT%H:%M:%S%.3fZ"),
        "server": row.server,
        "tool": row.tool,
        "arguments": parsed(&row.arguments),
        "allowed": row.is_allowed,
        "by": row.by,
        "asked_ms": row.asked_ns / 1_000_000,
        "took_ms": row.took_ns.map(|ns| ns as f64 / 1e6),
        "outcome": row.outcome,
        "answer": row.answer.as_deref().map(parsed),
    })
}

fn when(unix_ns: u64, zone: &TimeZone, format: &str) -> String {
    match Timestamp::from_nanosecond(i128::from(unix_ns)) {
        Ok(time) => time.to_zoned(zone.clone()).strftime(format).to_string(),
        Err(_) => "?".into(),
    }
}

fn write(out: &mut Output, rows: &[AuditRow]) -> Result<(), Failure> {
    if rows.is_empty() {
        writeln!(out, "no such call is noted")?;
        return Ok(());
    }
    let widest = |of: fn(&AuditRow) -> &str, least: usize, most: usize| {
        rows.iter().map(|row| shown(of(row), false).chars().count()).max().unwrap_or(0).clamp(least, most)
    };
    let server = widest(|row| &row.server, 6, 16);
    let tool = widest(|row| &row.tool, 4, 24);
    let by = widest(|row| &row.by, 10, 26);
    let before = 19 + 1 + 8 + 1 + server + 1 + tool + 1 + 7 + 1 + by + 1 + 10 + 1 + 8 + 2;
    let arguments = out.width().map_or(usize::MAX, |width| width.saturating_sub(before).max(ARGUMENTS));
    let head = format!(
        "{:<19} {:<8} {} {} {:<7} {} {:<10} {:>8}  ARGUMENTS",
        "WHEN",
        "RUN",
        column("SERVER", server),
        column("TOOL", tool),
        "ALLOWED",
        column("BY", by),
        "OUTCOME",
        "TOOK"
    );
    writeln!(out, "{}", out.styled(Style::Dim, &head))?;
    let zone = TimeZone::system();
    for row in rows {
        let (allowed, style) = match row.is_allowed {
            Some(true) => ("yes", Style::Good),
            Some(false) => ("no", Style::Bad),
            None => ("-", Style::Dim),
        };
        let allowed = out.styled(style, &format!("{allowed:<7}"));
        let run: String = row.run.chars().take(8).collect();
        writeln!(
            out,
            "{} {:<8} {} {} {allowed} {} {} {:>8}  {}",
            when(row.began_unix_ns, &zone, "%Y-%m-%d %H:%M:%S"),
            shown(&run, false),
            column(&shown(&row.server, false), server),
            column(&shown(&row.tool, false), tool),
            column(&shown(&row.by, false), by),
            column(&row.outcome, 10),
            row.took_ns.map_or_else(|| "-".into(), duration),
            cut(&shown(&row.arguments, false), arguments),
        )?;
    }
    let n_refused = rows.iter().filter(|row| row.is_allowed == Some(false)).count() as u64;
    if n_refused > 0 {
        let text = format!("{} of {} not allowed", n_refused, counted(rows.len() as u64, "call"));
        writeln!(out, "{}", out.styled(Style::Dim, &text))?;
    }
    Ok(())
}
