//! `mcp-tap ls`: the sessions, the newest first.

mod conversations;

use std::io::Write;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use tap_store::{EndReason, Session, Store, StoreError};

use crate::arguments::{Global, List};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{database, shortest};
use crate::text::{column, duration, shown};

use self::conversations::Inside;

pub(crate) fn ls(global: &Global, list: &List) -> Result<u8, Failure> {
    let path = database(global)?;
    let store = match Store::open(&path) {
        Ok(store) => store,
        Err(StoreError::Missing { .. }) => {
            nothing(global, &path);
            return Ok(0);
        }
        Err(error) => return Err(error.into()),
    };
    let limit = list.limit.unwrap_or(usize::MAX);
    for session in store.sessions()?.iter().take(limit) {
        catch_up(global, &store, session.id, &session.start.name)?;
    }
    let sessions = store.sessions()?;
    if sessions.is_empty() {
        nothing(global, &path);
        return Ok(0);
    }
    let references = shortest(&sessions);
    let mut out = if list.json { Output::new(global) } else { Output::paged(global) };
    let widths = Widths::fitting(out.width());
    if !list.json {
        let head = format!(
            "{} {} {} {} {:>8} {:>6} {:>9}  {}",
            column("WHEN", widths.when),
            column("SESSION", widths.session),
            column("HOST", widths.host),
            column("SERVER", widths.server),
            "MESSAGES",
            "ERRORS",
            "DURATION",
            "END"
        );
        writeln!(out, "{}", out.styled(Style::Dim, &head))?;
    }
    for (session, reference) in sessions.iter().zip(&references).take(limit) {
        let inside = Inside::of(&store, session)?;
        match list.json {
            true => out.json(&as_json(session, reference, inside.as_json(reference)?))?,
            false => {
                line(&mut out, &widths, session, reference, &inside)?;
                inside.lines(&mut out, &widths, reference)?;
            }
        }
    }
    out.flush()?;
    Ok(0)
}

/// Widths of the columns that can be narrower.
struct Widths {
    when: usize,
    session: usize,
    host: usize,
    server: usize,
}

impl Widths {
    /// The columns that must be whole, with a short end, and the spaces between all.
    const REST: usize = 8 + 6 + 9 + 14 + 8;

    fn fitting(width: Option<usize>) -> Self {
        let wide = Self { when: 16, session: 18, host: 22, server: 26 };
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(Self::REST));
        if wide.when + wide.session + wide.host + wide.server <= room {
            return wide;
        }
        // The year goes first.
        let when = 11;
        let room = room.max(when + 18) - when;
        Self { when, session: room * 4 / 11, host: room * 3 / 11, server: room * 4 / 11 }
    }

    fn when_format(&self) -> &'static str {
        if self.when == 16 { "%Y-%m-%d %H:%M" } else { "%m-%d %H:%M" }
    }
}

fn nothing(global: &Global, path: &std::path::Path) {
    if !global.quiet {
        let _ = writeln!(std::io::stderr(), "no sessions yet in {}", path.display());
        let _ = writeln!(std::io::stderr(), "  record one: `mcp-tap run -- COMMAND`, or try `mcp-tap demo`");
    }
}

fn line(
    out: &mut Output,
    widths: &Widths,
    session: &Session,
    reference: &str,
    inside: &Inside<'_>,
) -> std::io::Result<()> {
    let digest = &session.digest;
    let who = |name: &Option<String>| shown(name.as_deref().unwrap_or("-"), false);
    let errors = format!("{:>6}", digest.n_errors);
    let (style, end) = end_of(session);
    let label = session.label.as_ref().map(|label| format!("  @{label}")).unwrap_or_default();
    let end = format!("{}{}", out.styled(style, &end), out.styled(Style::Bold, &shown(&label, false)));
    writeln!(
        out,
        "{} {} {} {} {:>8} {} {:>9}  {end}",
        when(session.start.opened_unix_ns, widths.when_format()),
        out.styled(Style::Bold, &column(&shown(reference, false), widths.session)),
        column(&who(&inside.host()), widths.host),
        column(&who(&inside.server()), widths.server),
        digest.n_messages,
        if digest.n_errors > 0 { out.styled(Style::Bad, &errors) } else { errors },
        duration(lasted_ns(session)),
    )
}

/// How long a session lasted, or has lasted up to its newest frame, nanoseconds.
pub(crate) fn lasted_ns(session: &Session) -> u64 {
    session.end.as_ref().map_or(session.digest.newest_at_ns, |end| end.at_ns)
}

/// How a session ended, in a few words.
pub(crate) fn end_of(session: &Session) -> (Style, String) {
    let (style, mut words) = match &session.end {
        None if session.live => (Style::Good, "live".into()),
        None => (Style::Warning, "the tap was killed".into()),
        Some(end) => match &end.reason {
            None => (Style::Plain, "unknown".into()),
            Some(EndReason::Exited(0)) => (Style::Plain, "exited (0)".into()),
            Some(EndReason::Stopped) => (Style::Plain, "stopped".into()),
            Some(reason) => (Style::Bad, reason.to_string()),
        },
    };
    if let Some(lost) = session.end.as_ref().map(|end| end.lost_bytes).filter(|lost| *lost > 0) {
        words = format!("{words}, {lost} bytes not recorded");
    }
    (style, words)
}

/// A wall clock reading in the local time zone.
pub(crate) fn when(unix_ns: u64, format: &str) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    timestamp.to_zoned(TimeZone::system()).strftime(format).to_string()
}

/// A wall clock reading for programs: UTC, RFC 3339, nanoseconds.
pub(crate) fn rfc3339(unix_ns: u64) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    timestamp.strftime("%Y-%m-%dT%H:%M:%S.%9fZ").to_string()
}

fn as_json(session: &Session, reference: &str, conversations: Vec<serde_json::Value>) -> serde_json::Value {
    let reason = session.end.as_ref().and_then(|end| end.reason.as_ref());
    let (end, exit_code, signal) = match reason {
        None if session.live => ("live", None, None),
        None if session.end.is_none() => ("tap killed", None, None),
        None => ("unknown", None, None),
        Some(EndReason::Exited(code)) => ("exited", Some(*code), None),
        Some(EndReason::Killed(number)) => ("killed", None, Some(*number)),
        Some(EndReason::NotStarted(_)) => ("not started", None, None),
        Some(EndReason::Stopped) => ("stopped", None, None),
    };
    let why = match reason {
        Some(EndReason::NotStarted(why)) => Some(why),
        _ => None,
    };
    json!({
        "reference": reference,
        "id": session.start.uuid,
        "label": session.label,
        "name": session.start.name,
        "transport": session.start.transport.name(),
        "command": session.start.command,
        "folder": session.start.folder,
        "environment": session.start.environment,
        "opened": rfc3339(session.start.opened_unix_ns),
        "duration_ns": lasted_ns(session),
        "client": session.digest.identity.client,
        "server": session.digest.identity.server,
        "revision": session.digest.identity.revision,
        "messages": session.digest.n_messages,
        "frames": session.digest.n_frames,
        "calls": session.digest.n_calls,
        "errors": session.digest.n_errors,
        "bytes": session.digest.n_bytes,
        "conversations": conversations,
        "end": end,
        "exit_code": exit_code,
        "signal": signal,
        "why": why,
        "lost_bytes": session.end.as_ref().map_or(0, |end| end.lost_bytes),
        "complete": session.end.as_ref().is_some_and(|end| end.lost_bytes == 0),
        "tap_pid": session.start.tap_pid,
        "server_pid": session.start.server_pid,
        "recorded_by": session.start.recorded_by,
    })
}
