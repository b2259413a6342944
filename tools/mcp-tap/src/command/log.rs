//! `mcp-tap log`: the calls of a session, or its frames, one a line.

use std::io::Write;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tap_frame::Direction;
use tap_session::{At, FrameEnd, MessageRow, RowKind, Status};
use tap_store::{ListKind, Listed, Part as StorePart};

use crate::arguments::{Global, Log};
use crate::command::ls::{end_of, rfc3339, when};
use crate::failure::{Failure, NO};
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, Part, place};
use crate::text::{column, duration, shown, size};

/// Rows fetched at a time.
const PAGE: u64 = 1000;

/// How much of a line without a better name is looked at, bytes.
const PREVIEW_BYTES: u64 = 200;

/// How often a live session is looked at.
const FOLLOW: Duration = Duration::from_millis(100);

pub(crate) fn log(global: &Global, log: &Log) -> Result<u8, Failure> {
    let found = log.session.resolve(global)?;
    catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
    let kind = if log.frames { ListKind::Frames } else { ListKind::Calls };
    let out = if log.json || log.follow { Output::new(global) } else { Output::paged(global) };
    let mut printer = Printer::new(out, &found, kind, log.json)?;
    if log.follow {
        printer.follow(log.limit)?;
        return Ok(0);
    }
    printer.print(log.limit)?;
    if printer.finish()? == 0 {
        if !global.quiet {
            let what = if log.frames { "frames" } else { "calls" };
            let (_, end) = end_of(&found.session);
            let _ = writeln!(std::io::stderr(), "no {what} in {} ({end})", shown(&found.session.start.name, false));
        }
        return Ok(NO);
    }
    Ok(0)
}

/// Prints rows, as text or as JSON.
pub(crate) struct Printer<'a> {
    found: &'a Found,
    kind: ListKind,
    json: bool,
    reference: String,
    out: Output,
    n_printed: u64,
    /// Columns for what a row is about.
    what_width: usize,
    /// Whether a request without an answer may still get one.
    live: bool,
}

impl<'a> Printer<'a> {
    pub(crate) fn new(out: Output, found: &'a Found, kind: ListKind, json: bool) -> Result<Self, Failure> {
        let reference = found.reference.clone();
        // All else on a line takes 59 columns.
        let what_width = out.width().map_or(44, |width| width.saturating_sub(59).max(12));
        Ok(Self { found, kind, json, reference, out, n_printed: 0, what_width, live: found.session.live })
    }

    /// Sends off what was printed, and tells how many rows that was.
    pub(crate) fn finish(&mut self) -> Result<u64, Failure> {
        self.out.flush()?;
        Ok(self.n_printed)
    }

    /// Prints the part of the session that was asked for.
    pub(crate) fn print(&mut self, limit: Option<u64>) -> Result<(), Failure> {
        let range = self.found.part.range();
        // Without a beginning the end is what people want to see.
        let from_end = match self.found.part {
            Part::All => true,
            Part::One(_) => false,
            Part::Range { first, .. } => first.is_none(),
        };
        if let Some(limit) = limit.filter(|_| from_end) {
            let rows = self.found.store.list(self.found.session.id, self.kind, StorePart::UpTo(*range.end()), limit)?;
            return self.rows(rows.iter());
        }
        let mut left = limit.unwrap_or(u64::MAX);
        let mut next = StorePart::From(*range.start());
        while left > 0 {
            let rows = self.found.store.list(self.found.session.id, self.kind, next, PAGE.min(left))?;
            let Some(last) = rows.last() else {
                break;
            };
            next = StorePart::After(last.row.at);
            left -= rows.len() as u64;
            let over = !range.contains(&last.row.at.seq);
            self.rows(rows.iter().filter(|listed| range.contains(&listed.row.at.seq)))?;
            if over {
                break;
            }
        }
        Ok(())
    }

    /// Prints what comes until the session ends.
    fn follow(&mut self, limit: Option<u64>) -> Result<(), Failure> {
        let found = self.found;
        let (store, session) = (&found.store, found.session.id);
        // What comes while this is printed is printed afterwards, so the border is drawn first.
        let newest = store.list(session, ListKind::Frames, StorePart::UpTo(u64::MAX), 1)?;
        let mut seen = newest.last().map_or(At { seq: 0, member: 0 }, |listed| listed.row.at);
        let mut before = store.list(session, self.kind, StorePart::UpTo(seen.seq), limit.unwrap_or(10))?;
        if self.kind == ListKind::Calls {
            // A call that waits gets its line when it is answered.
            before.retain(|listed| match listed.row.kind {
                RowKind::Request => listed.row.pair.is_some_and(|answer| answer <= seen),
                _ => true,
            });
        }
        self.rows(before.iter())?;
        self.out.flush()?;
        loop {
            // Asked before looking, so that what is written in between is seen in the last round.
            let live = store.is_live(session);
            store.catch_up(session, |_| {})?;
            loop {
                let rows = store.list(session, ListKind::Frames, StorePart::After(seen), PAGE)?;
                let Some(last) = rows.last() else {
                    break;
                };
                seen = last.row.at;
                for listed in &rows {
                    self.followed(listed)?;
                }
            }
            if !live {
                if self.kind == ListKind::Calls {
                    self.live = false;
                    self.rows(store.unanswered(session)?.iter())?;
                }
                self.out.flush()?;
                return Ok(());
            }
            self.out.flush()?;
            std::thread::sleep(FOLLOW);
        }
    }

    /// Prints a new frame, if it is to be seen: of a call its one line, when it is answered.
    fn followed(&mut self, listed: &Listed) -> Result<(), Failure> {
        match (self.kind, listed.row.kind, listed.row.pair) {
            (ListKind::Frames, ..) | (_, RowKind::NotAMessage | RowKind::NotJson | RowKind::Gap, None) => {
                self.rows([listed].into_iter())
            }
            // The row of a request names its answer, and is printed with that.
            (ListKind::Calls, RowKind::Request, _) => Ok(()),
            (ListKind::Calls, _, Some(request)) => {
                let request = self.found.store.row(self.found.session.id, request)?;
                match request {
                    Some(mut request) => {
                        request.answer_length = Some(listed.length);
                        self.rows([&request].into_iter())
                    }
                    None => Ok(()),
                }
            }
            (ListKind::Calls, ..) => Ok(()),
        }
    }

    fn rows<'b>(&mut self, rows: impl Iterator<Item = &'b Listed>) -> Result<(), Failure> {
        for listed in rows {
            self.n_printed += 1;
            match self.json {
                true => writeln!(self.out, "{}", row_json(listed, &self.reference, &self.found.session.start.uuid))?,
                false => self.line(listed)?,
            }
        }
        Ok(())
    }

    fn line(&mut self, listed: &Listed) -> Result<(), Failure> {
        let row = &listed.row;
        let (style, status) = self.status(listed);
        let number = match row.at.member {
            0 => format!("{:>5}", row.at.seq),
            member => format!("{:>5}", format!("{}.{member}", row.at.seq)),
        };
        let bytes = listed.length + listed.answer_length.unwrap_or(0);
        let latency = row.latency_ns.map(duration).unwrap_or_default();
        let what = match row.kind {
            RowKind::Stderr | RowKind::NotJson | RowKind::NotAMessage => self.preview(row)?,
            _ => what(row),
        };
        writeln!(
            self.out,
            "{} {} {} {} {} {:>9} {:>9}",
            self.out.styled(Style::Dim, &number),
            self.out.styled(Style::Dim, &when(row.wall_ns, "%H:%M:%S%.3f")),
            if row.kind == RowKind::Stderr { "!!" } else { row.stream.direction().arrow() },
            column(&what, self.what_width),
            self.out.styled(style, &column(&status, 16)),
            latency,
            size(bytes),
        )?;
        Ok(())
    }

    /// The beginning of a line that has no better name.
    fn preview(&self, row: &MessageRow) -> Result<String, Failure> {
        let start = self.found.store.frame_start(self.found.session.id, row.at.seq, PREVIEW_BYTES)?;
        Ok(shown(String::from_utf8_lossy(&start).trim_end_matches(['\r', '\n']), false))
    }

    fn status(&self, listed: &Listed) -> (Style, String) {
        let row = &listed.row;
        let code = || row.error_code.as_deref().map(|code| shown(code, false)).unwrap_or_default();
        match (row.kind, row.status) {
            (_, Some(Status::Ok)) => (Style::Good, "ok".into()),
            (_, Some(Status::ToolError)) => (Style::Bad, "tool error".into()),
            (_, Some(Status::Error)) => (Style::Bad, format!("error {}", code())),
            (RowKind::Request, None) if self.live => (Style::Warning, "waiting".into()),
            (RowKind::Request, None) => (Style::Bad, "no answer".into()),
            (RowKind::NotJson | RowKind::NotAMessage, None) => (Style::Bad, row.kind.name().into()),
            (RowKind::Gap, None) => (Style::Bad, "not recorded".into()),
            _ if listed.frame_end == FrameEnd::RecordingEnd => (Style::Warning, "cut off".into()),
            _ => (Style::Dim, row.kind.name().into()),
        }
    }
}

/// What a message is about: its method, and the tool, prompt or resource.
pub(crate) fn what(row: &MessageRow) -> String {
    let method = row.method.as_deref().map(|method| shown(method, false));
    let target = row.target.as_deref().map(|target| shown(target, false));
    match (row.kind, method, target) {
        (RowKind::Gap, ..) => format!("{} bytes passed", row.lost_bytes.unwrap_or(0)),
        (_, Some(method), Some(target)) => format!("{method} {target}"),
        (_, Some(method), None) => method,
        (RowKind::Result | RowKind::Error, None, _) => {
            let id = row.raw_id.as_ref().map_or_else(|| "nothing".into(), ToString::to_string);
            format!("answer to {}", shown(&id, false))
        }
        (kind, ..) => format!("({})", kind.name()),
    }
}

/// A row for programs.
pub(crate) fn row_json(listed: &Listed, reference: &str, session: &str) -> String {
    let row = &listed.row;
    let status = match row.status {
        Some(Status::Ok) => Some("ok"),
        Some(Status::ToolError) => Some("tool error"),
        Some(Status::Error) => Some("error"),
        None => None,
    };
    let row_text = json!({
        "reference": place(reference, row.at),
        "session": session,
        "seq": row.at.seq,
        "member": row.at.member,
        "wall": rfc3339(row.wall_ns),
        "at_ns": row.at_ns,
        "direction": match row.stream.direction() { Direction::ToServer => "to server", Direction::ToClient => "to client" },
        "kind": row.kind.name(),
        "method": row.method.as_deref(),
        "target": row.target.as_deref(),
        "status": status,
        "error_code": row.error_code,
        "pair_seq": row.pair.map(|pair| pair.seq),
        "latency_ns": row.latency_ns,
        "length_bytes": listed.length,
        "answer_length_bytes": listed.answer_length,
        "lost_bytes": row.lost_bytes,
        "notes": row.notes.names().collect::<Vec<_>>(),
    });
    match &row.raw_id {
        Some(id) => with_verbatim(&row_text.to_string(), "id", id.as_bytes()),
        None => row_text.to_string(),
    }
}

/// Adds a member to the text of a JSON object, with the value as it was written: whatever precision or spelling it has.
/// What is no JSON becomes a string.
pub(crate) fn with_verbatim(object: &str, key: &str, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let verbatim =
        std::str::from_utf8(value).ok().map(str::trim).filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    let value = verbatim.map_or_else(|| Value::from(text.as_ref()).to_string(), String::from);
    let inside = object.strip_suffix('}').unwrap_or(object);
    format!("{inside},{}:{value}}}", Value::from(key))
}
