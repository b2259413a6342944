//! Text recordings, read: lines to records, and records to what passed.

use std::borrow::Cow;
use std::io::BufRead;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::value::RawValue;
use tap_exchange::HttpReading;
use tap_frame::{Frame, Origin, Stream};
use tap_session::{Recorded, segments_of};

use super::pack::{self, Item, Passed};
use super::{FORMAT, HTTP_FORMAT, side, words};
use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::writer::{EndReason, SessionEnd, SessionStart, Transport};

/// What an import came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The new session.
    pub session: SessionId,
    /// Its uuid.
    pub uuid: String,
    /// How many frames it has.
    pub n_frames: u64,
    /// The number of its first frame in the session that it is a part of; 1 where the file does not say that it is a part.
    pub first: u64,
    /// How many records were of a kind that this version does not know, and were left out.
    pub n_unknown: u64,
}

/// A record as it is read. Numbers stay text, so that nothing is rounded.
#[derive(Deserialize)]
struct Record<'a> {
    http: Option<u64>,
    to: Option<String>,
    #[serde(borrow)]
    at: Option<&'a RawValue>,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    raw: Option<Cow<'a, str>>,
    base64: Option<String>,
    gap: Option<u64>,
    stderr: Option<Cow<'a, str>>,
    stderr_base64: Option<String>,
    stderr_gap: Option<u64>,
    eof: Option<String>,
    eol: Option<String>,
    wall_ns: Option<u64>,
    end: Option<String>,
    exit: Option<i32>,
    signal: Option<i32>,
    why: Option<String>,
    #[serde(default)]
    lost_bytes: u64,
}

/// All that is sure to be in a header of a format yet to come.
#[derive(Deserialize)]
struct Format {
    #[serde(rename = "mcp-tap")]
    format: String,
}

#[derive(Deserialize)]
struct Header {
    uuid: Option<String>,
    server: Option<String>,
    transport: Option<String>,
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    folder: String,
    #[serde(default)]
    environment: Vec<String>,
    #[serde(default)]
    recorded_unix_ns: u64,
    #[serde(default)]
    recorded_by: String,
    server_pid: Option<u32>,
    first: Option<u64>,
}

/// Reads a text recording into the store. `name` is the file's, for errors. A recording whose uuid is there already gets
/// `other_uuid`.
///
/// # Errors
///
/// [`StoreError::Text`] names the line that makes no sense; then nothing was put in.
pub fn import(store: &Store, input: impl BufRead, name: &Path, other_uuid: &str) -> Result<Imported, StoreError> {
    let mut lines = Lines { input, name, number: 0, line: Vec::new() };
    let header = lines.header()?;
    let first = header.first.unwrap_or(1).max(1);
    let uuid = match header.uuid {
        Some(uuid) if is_uuid(&uuid) && !store.has(&uuid)? => uuid,
        _ => other_uuid.into(),
    };
    let start = SessionStart {
        uuid: uuid.clone(),
        name: header.server.unwrap_or_else(|| name.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
        transport: header.transport.as_deref().and_then(Transport::from_name).unwrap_or_default(),
        command: header.command,
        folder: header.folder,
        environment: header.environment,
        recorded_by: header.recorded_by,
        tap_pid: None,
        server_pid: header.server_pid,
        opened_unix_ns: header.recorded_unix_ns,
    };
    let mut found = Found { opened_unix_ns: start.opened_unix_ns, n_frames: 0, n_unknown: 0, newest_ns: 0, end: None };
    let found_cell = std::cell::RefCell::new(&mut found);
    let end = || found_cell.borrow_mut().end.take();
    let session = match start.transport {
        Transport::Stdio => {
            let recorded = std::iter::from_fn(|| lines.next_recorded(&mut found_cell.borrow_mut()).transpose());
            store.put_in(&start, segments_of(start.opened_unix_ns, recorded), end)?
        }
        Transport::Http => {
            let passed = std::iter::from_fn(|| lines.next_passed(&mut found_cell.borrow_mut()).transpose());
            let mut reading = HttpReading::new();
            let counted = pack::segments_of(start.opened_unix_ns, passed).inspect(|segment| {
                // What was just packed has no damage.
                let _ = segment.as_ref().map(|segment| reading.feed(segment, &mut |_, _| {}));
            });
            let session = store.put_in(&start, counted, end)?;
            reading.finish(&mut |_, _| {});
            found_cell.borrow_mut().n_frames = reading.n_frames();
            session
        }
    };
    let (n_frames, n_unknown) = (found.n_frames, found.n_unknown);
    Ok(Imported { session, uuid, n_frames, first, n_unknown })
}

/// Whether a text could be one of our uuids. Anything else in its place would turn up in listings and file names.
fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

struct Body {
    stream: Stream,
    bytes: Vec<u8>,
    origin: Origin,
}

struct Found {
    opened_unix_ns: u64,
    n_frames: u64,
    n_unknown: u64,
    newest_ns: u64,
    end: Option<SessionEnd>,
}

struct Lines<'a, R> {
    input: R,
    name: &'a Path,
    number: u64,
    line: Vec<u8>,
}

impl<R: BufRead> Lines<'_, R> {
    /// Reads the next line that is not blank. False at the end.
    fn advance(&mut self) -> Result<bool, StoreError> {
        loop {
            self.line.clear();
            self.number += 1;
            let read = self.input.read_until(b'\n', &mut self.line);
            if read.map_err(|source| StoreError::Io { path: self.name.into(), source })? == 0 {
                return Ok(false);
            }
            if !self.line.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    fn wrong(&self, problem: impl Into<String>) -> StoreError {
        StoreError::Text { path: self.name.into(), line: self.number, problem: problem.into() }
    }

    fn header(&mut self) -> Result<Header, StoreError> {
        if !self.advance()? {
            return Err(self.wrong("the file is empty; a recording begins with a line {\"mcp-tap\":\"recording/1\",…}"));
        }
        let not_ours = |error| self.wrong(format!("no recording of mcp-tap begins like this: {error}"));
        let Format { format } = serde_json::from_slice(&self.line).map_err(not_ours)?;
        match format.as_str() {
            FORMAT | HTTP_FORMAT => serde_json::from_slice(&self.line).map_err(not_ours),
            other => Err(self.wrong(format!(
                "the format is {other}, and this mcp-tap knows {FORMAT} and {HTTP_FORMAT}: update mcp-tap"
            ))),
        }
    }

    fn next_recorded(&mut self, found: &mut Found) -> Result<Option<Recorded>, StoreError> {
        while self.advance()? {
            let record: Record<'_> = self.record()?;
            let at_ns = self.at_ns(&record, found)?;
            if record.end.is_some() {
                found.end = Some(end_of(record, at_ns));
                continue;
            }
            let stream_of = |name: &str| Stream::ALL.into_iter().find(|stream| side(*stream) == name);
            if let Some(name) = &record.eof {
                let stream = stream_of(name).ok_or_else(|| self.wrong("`eof` must be server, client or stderr"))?;
                return Ok(Some(Recorded::End { stream, at_ns }));
            }
            let of_exchange = record.http.is_some();
            let Some(Body { stream, bytes, origin }) = self.body(&record)?.filter(|_| !of_exchange) else {
                found.n_unknown += 1;
                continue;
            };
            found.n_frames += 1;
            return Ok(Some(Recorded::Frame(Frame {
                seq: found.n_frames,
                wall_ns: record.wall_ns.unwrap_or_else(|| found.opened_unix_ns.saturating_add(at_ns)),
                at_ns,
                stream,
                origin,
                bytes: bytes.into(),
            })));
        }
        Ok(None)
    }

    /// The same of a recording over HTTP.
    fn next_passed(&mut self, found: &mut Found) -> Result<Option<Passed>, StoreError> {
        while self.advance()? {
            let record: Record<'_> = self.record()?;
            let at_ns = self.at_ns(&record, found)?;
            let wall_ns = record.wall_ns;
            let item = if let Some(number) = record.http {
                words::item(number, &self.line).map_err(|problem| self.wrong(problem))?
            } else if record.end.is_some() {
                found.end = Some(end_of(record, at_ns));
                continue;
            } else if record.eof.as_deref() == Some("stderr") {
                Some(Item::End)
            } else {
                match self.body(&record)? {
                    Some(Body { stream: Stream::Stderr, origin: Origin::Gap(lost), .. }) => Some(Item::Gap(lost)),
                    Some(Body { stream: Stream::Stderr, bytes, .. }) => Some(Item::Chunk(bytes)),
                    Some(_) | None => None,
                }
            };
            match item {
                Some(item) => return Ok(Some(Passed { at_ns, wall_ns, item })),
                None => found.n_unknown += 1,
            }
        }
        Ok(None)
    }

    fn record(&self) -> Result<Record<'_>, StoreError> {
        serde_json::from_slice(&self.line).map_err(|error| self.wrong(format!("not a record: {error}")))
    }

    /// When what a record tells of was, and the newest that there is.
    fn at_ns(&self, record: &Record<'_>, found: &mut Found) -> Result<u64, StoreError> {
        if let Some(at) = record.at {
            let wrong = || self.wrong("`at` must be seconds, such as 1.250000000");
            found.newest_ns = nanoseconds(at.get()).ok_or_else(wrong)?;
        }
        Ok(found.newest_ns)
    }

    /// What a record of a frame holds; `None` where it is a record of another kind.
    fn body(&self, record: &Record<'_>) -> Result<Option<Body>, StoreError> {
        let to = match record.to.as_deref() {
            Some("server") => Some(Stream::ToServer),
            Some("client") => Some(Stream::ToClient),
            Some(_) => return Err(self.wrong("`to` must be server or client")),
            None => None,
        };
        let decode = |text: &str| BASE64.decode(text).map_err(|error| self.wrong(format!("bad base64: {error}")));
        let stderr = record.stderr.is_some() || record.stderr_base64.is_some() || record.stderr_gap.is_some();
        let stream = match to {
            _ if stderr => Stream::Stderr,
            Some(stream) => stream,
            None => return Ok(None),
        };
        if let Some(n_bytes) = record.gap.or(record.stderr_gap) {
            return Ok(Some(Body { stream, bytes: Vec::new(), origin: Origin::Gap(n_bytes) }));
        }
        let mut bytes = match (record.msg, record.raw.as_deref().or(record.stderr.as_deref())) {
            (Some(message), _) => message.get().as_bytes().to_vec(),
            (None, Some(text)) => text.as_bytes().to_vec(),
            (None, None) => match record.base64.as_deref().or(record.stderr_base64.as_deref()) {
                Some(encoded) => decode(encoded)?,
                None => return Ok(None),
            },
        };
        match record.eol.as_deref() {
            None | Some("lf") => bytes.push(b'\n'),
            Some("crlf") => bytes.extend_from_slice(b"\r\n"),
            Some("none") => {}
            Some(_) => return Err(self.wrong("`eol` must be lf, crlf or none")),
        }
        Ok(Some(Body { stream, bytes, origin: Origin::Wire }))
    }
}

/// How a session ended, by a record that says so.
fn end_of(record: Record<'_>, at_ns: u64) -> SessionEnd {
    let reason = match (record.end.as_deref(), record.exit, record.signal) {
        (Some("exited"), Some(code), _) => Some(EndReason::Exited(code)),
        (Some("killed"), _, Some(number)) => Some(EndReason::Killed(number)),
        (Some("not started"), ..) => Some(EndReason::NotStarted(record.why.unwrap_or_default())),
        (Some("stopped"), ..) => Some(EndReason::Stopped),
        _ => None,
    };
    SessionEnd { at_ns, reason, lost_bytes: record.lost_bytes }
}

/// Seconds as they are written, to nanoseconds, without going through a float.
fn nanoseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.').unwrap_or((text, ""));
    if fraction.len() > 9 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().ok()?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000_000)?.checked_add(nanos)
}
