//! The text form of a recording: JSON Lines, one record a line, the message verbatim inside it.
//!
//! For git, for people, for other tools. Nothing is lost: importing what was exported gives the same frames. `docs/` has
//! the format's page; the format is a promise, so changes get a new number in the header.

mod chosen;
mod http;
mod import;
mod pack;
mod words;

use std::io::Write;
use std::ops::RangeInclusive;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tap_frame::{Frame, Origin, Stream};
use tap_session::Recorded;

use crate::error::StoreError;
use crate::reader::{Session, Store};
use crate::writer::{EndReason, Transport};

pub use chosen::Chosen;
pub use import::{Imported, import};

const FORMAT: &str = "recording/1";

/// Of recordings over HTTP, which who knows the first alone would misread.
const HTTP_FORMAT: &str = "recording/2";

/// Writes a session, or those of its frames whose numbers are in `range`, as JSON Lines. Returns how many frames.
///
/// `first` is the number that the session's first frame had in the whole of it: 1, unless it was [imported](Imported) from
/// a part. A part says in its header where it begins.
///
/// # Errors
///
/// When the session cannot be read, or `out` cannot be written (as [`StoreError::Io`] with `name`).
pub fn export(
    store: &Store,
    session: &Session,
    range: &RangeInclusive<u64>,
    first: u64,
    out: &mut impl Write,
    name: &Path,
) -> Result<u64, StoreError> {
    export_chosen(store, session, &Chosen::Range(range.clone()), first, out, name)
}

/// The same of frames that were [`Chosen`].
///
/// # Errors
///
/// As [`export`].
pub fn export_chosen(
    store: &Store,
    session: &Session,
    chosen: &Chosen,
    first: u64,
    out: &mut impl Write,
    name: &Path,
) -> Result<u64, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let first = first.saturating_add(chosen.first() - 1);
    writeln!(out, "{}", header(session, first)).map_err(failed)?;
    let n_frames = match session.start.transport {
        Transport::Stdio => export_frames(store, session, chosen, out, name)?,
        Transport::Http => export_exchanges(store, session, chosen, out, name)?,
    };
    if let Some(end) = &session.end {
        let mut record = Map::new();
        match &end.reason {
            None => record.insert("end".into(), "unknown".into()),
            Some(EndReason::Exited(code)) => {
                record.insert("end".into(), "exited".into());
                record.insert("exit".into(), (*code).into())
            }
            Some(EndReason::Killed(number)) => {
                record.insert("end".into(), "killed".into());
                record.insert("signal".into(), (*number).into())
            }
            Some(EndReason::Stopped) => record.insert("end".into(), "stopped".into()),
            Some(EndReason::NotStarted(why)) => {
                record.insert("end".into(), "not started".into());
                record.insert("why".into(), why.clone().into())
            }
        };
        if end.lost_bytes > 0 {
            record.insert("lost_bytes".into(), end.lost_bytes.into());
        }
        write_record(out, &record, end.at_ns, None).map_err(failed)?;
    }
    if session.end.is_none() && session.live {
        // Whoever reads it is not to believe that the tap was killed.
        let record = Map::from_iter([("end".to_owned(), Value::from("running"))]);
        write_record(out, &record, session.digest.newest_at_ns, None).map_err(failed)?;
    }
    out.flush().map_err(failed)?;
    Ok(n_frames)
}

fn export_frames(
    store: &Store,
    session: &Session,
    chosen: &Chosen,
    out: &mut impl Write,
    name: &Path,
) -> Result<u64, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let mut n_frames = 0;
    for recorded in store.recorded(session.id) {
        let mut record = Map::new();
        let (at_ns, message) = match recorded? {
            Recorded::Frame(frame) if !chosen.contains(frame.seq) => continue,
            Recorded::Frame(frame) => {
                n_frames += 1;
                if frame.stream != Stream::Stderr {
                    record.insert("to".into(), side(frame.stream).into());
                }
                if frame.wall_ns != session.start.opened_unix_ns.saturating_add(frame.at_ns) {
                    record.insert("wall_ns".into(), frame.wall_ns.into());
                }
                (frame.at_ns, body(&frame, &mut record))
            }
            Recorded::End { stream, at_ns } => {
                record.insert("eof".into(), side(stream).into());
                (at_ns, None)
            }
        };
        write_record(out, &record, at_ns, message.as_deref()).map_err(failed)?;
    }
    Ok(n_frames)
}

/// Of a part, the exchanges that have a frame in it: their heads, their requests, and of their answers what is in it.
fn export_exchanges(
    store: &Store,
    session: &Session,
    chosen: &Chosen,
    out: &mut impl Write,
    name: &Path,
) -> Result<u64, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let damaged = |number| move |source| StoreError::Damaged { session: session.id.0, number, source };
    let mut search = http::Search::default();
    let mut n_segments = 0;
    while let Some(segment) = store.segment(session.id, n_segments)? {
        search.feed(&segment, chosen).map_err(damaged(n_segments))?;
        n_segments += 1;
    }
    let wanted = search.finish(chosen);
    let mut to_text = http::ToText::new(&wanted, chosen, session.start.opened_unix_ns);
    let mut written = Vec::new();
    let mut write = |written: &mut Vec<http::Written>| -> Result<(), StoreError> {
        for http::Written { record, at_ns, message } in written.drain(..) {
            write_record(out, &record, at_ns, message.as_deref()).map_err(failed)?;
        }
        Ok(())
    };
    // Of a session that goes on, no more than was looked at before.
    for number in 0..n_segments {
        if let Some(segment) = store.segment(session.id, number)? {
            to_text.feed(&segment, &mut written).map_err(damaged(number))?;
            write(&mut written)?;
        }
    }
    to_text.finish(&mut written);
    write(&mut written)?;
    Ok(wanted.n_frames)
}

fn header(session: &Session, first: u64) -> String {
    let start = &session.start;
    let mut header = Map::new();
    let format = match start.transport {
        Transport::Stdio => FORMAT,
        Transport::Http => HTTP_FORMAT,
    };
    header.insert("mcp-tap".into(), format.into());
    header.insert("profile".into(), "lossless".into());
    header.insert("uuid".into(), start.uuid.clone().into());
    header.insert("server".into(), start.name.clone().into());
    header.insert("command".into(), start.command.clone().into());
    header.insert("folder".into(), start.folder.clone().into());
    header.insert("environment".into(), start.environment.clone().into());
    header.insert("transport".into(), start.transport.name().into());
    header.insert("recorded_unix_ns".into(), start.opened_unix_ns.into());
    header.insert("recorded_by".into(), start.recorded_by.clone().into());
    header.insert("server_pid".into(), json!(start.server_pid));
    if first > 1 {
        header.insert("first".into(), first.into());
    }
    Value::Object(header).to_string()
}

/// Adds what the frame holds to the record; a message that can stand verbatim is given back instead.
fn body(frame: &Frame, record: &mut Map<String, Value>) -> Option<String> {
    if let Origin::Gap(n_bytes) = frame.origin {
        let key = if frame.stream == Stream::Stderr { "stderr_gap" } else { "gap" };
        record.insert(key.into(), n_bytes.into());
        return None;
    }
    let (content, ending) = match frame.bytes.as_ref() {
        [content @ .., b'\r', b'\n'] => (content, Some("crlf")),
        [content @ .., b'\n'] => (content, None),
        content => (content, Some("none")),
    };
    if let Some(ending) = ending {
        record.insert("eol".into(), ending.into());
    }
    let stderr = frame.stream == Stream::Stderr;
    match std::str::from_utf8(content) {
        Err(_) => {
            let key = if stderr { "stderr_base64" } else { "base64" };
            record.insert(key.into(), BASE64.encode(content).into());
            None
        }
        Ok(text) if !stderr && stands_verbatim(text) => Some(text.into()),
        Ok(text) => {
            record.insert(if stderr { "stderr" } else { "raw" }.into(), text.into());
            None
        }
    }
}

/// Whether the text is one JSON object or array and nothing else, so that a JSON reader gives back exactly these bytes.
fn stands_verbatim(text: &str) -> bool {
    let container = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
    container && serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get().len() == text.len())
}

fn write_record(
    out: &mut impl Write,
    record: &Map<String, Value>,
    at_ns: u64,
    message: Option<&str>,
) -> std::io::Result<()> {
    let mut separator = "";
    write!(out, "{{")?;
    for (key, value) in record {
        write!(out, "{separator}{}:{value}", Value::from(key.as_str()))?;
        separator = ",";
    }
    write!(out, "{separator}\"at\":{}.{:09}", at_ns / 1_000_000_000, at_ns % 1_000_000_000)?;
    if let Some(message) = message {
        write!(out, ",\"msg\":{message}")?;
    }
    writeln!(out, "}}")
}

fn side(stream: Stream) -> &'static str {
    match stream {
        Stream::ToServer => "server",
        Stream::ToClient => "client",
        Stream::Stderr => "stderr",
    }
}

#[cfg(test)]
mod tests;
