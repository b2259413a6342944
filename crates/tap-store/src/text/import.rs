//! Text recordings, read: records to what passed.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::io::{BufRead, Seek, SeekFrom};
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Deserialize;
use serde_json::value::RawValue;
use tap_exchange::HttpReading;
use tap_frame::{Act, Frame, HttpEnd, HttpPart, Origin, Stream};
use tap_session::{Recorded, segments_of};

use super::acts::{ActRecord, Places, with_sent};
use super::fold::{Style, unfold};
use super::pack::{self, Item, Passed};
use super::records::Records;
use super::survey::Survey;
use super::{ACTS_FORMAT, FIXTURE, FORMAT, HTTP_FORMAT, Profile, side, words};
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
    /// How much of the session the file holds.
    pub profile: Profile,
    /// What its header has as `rules`, JSON: how it is matched and compared.
    pub rules: Option<String>,
}

/// A record as it is read. Numbers stay text, so that nothing is rounded.
#[derive(Deserialize)]
pub(super) struct Record<'a> {
    http: Option<u64>,
    http_end: Option<String>,
    act: Option<String>,
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
    style: Option<String>,
    #[serde(default)]
    literal: bool,
    #[serde(borrow)]
    gaps_us: Option<&'a RawValue>,
    #[serde(borrow)]
    note: Option<&'a RawValue>,
    #[serde(borrow)]
    mark: Option<&'a RawValue>,
    #[serde(borrow, rename = "mcp-tap")]
    format: Option<&'a RawValue>,
}

impl Record<'_> {
    /// Whether it is of what a debugger did.
    pub(super) fn is_act(&self) -> bool {
        self.act.is_some()
    }

    /// Whether it tells of nothing that passed, but is known.
    pub(super) fn is_beside(&self) -> bool {
        self.gaps_us.is_some() || self.note.is_some() || self.mark.is_some()
    }

    /// Whether it tells how the session ended.
    pub(super) fn is_end(&self) -> bool {
        self.end.is_some()
    }
}

/// All that is sure to be in a header of a format yet to come.
#[derive(Deserialize)]
struct Format {
    #[serde(rename = "mcp-tap")]
    format: String,
}

#[derive(Deserialize)]
struct Header<'a> {
    profile: Option<String>,
    #[serde(borrow)]
    rules: Option<&'a RawValue>,
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

/// Reads a text recording into the store, folded or not. `name` is the file's, for errors. A recording whose uuid is there
/// already, or that has none, gets `other_uuid`.
///
/// Of a fixture, times are made up of what its last record says, and are the same each time; it is read twice.
///
/// # Errors
///
/// [`StoreError::Text`] names the line that makes no sense; then nothing was put in.
pub fn import(
    store: &Store,
    input: impl BufRead + Seek,
    name: &Path,
    other_uuid: &str,
) -> Result<Imported, StoreError> {
    let (Opened { mut start, has_uuid, first, profile, rules, .. }, mut reading) = Reading::open(input, name)?;
    if !has_uuid || store.has(&start.uuid)? {
        start.uuid = other_uuid.into();
    }
    let mut found = Found::new(start.opened_unix_ns);
    let found_cell = std::cell::RefCell::new(&mut found);
    let end = || found_cell.borrow_mut().end.take();
    let session = match start.transport {
        Transport::Stdio => {
            let recorded = std::iter::from_fn(|| reading.next_recorded(&mut found_cell.borrow_mut()).transpose());
            store.put_in(&start, segments_of(start.opened_unix_ns, recorded), end)?
        }
        Transport::Http => {
            let passed = std::iter::from_fn(|| reading.next_passed(&mut found_cell.borrow_mut()).transpose());
            let mut http = HttpReading::new();
            let counted = pack::segments_of(start.opened_unix_ns, passed).inspect(|segment| {
                // What was just packed has no damage.
                let _ = segment.as_ref().map(|segment| http.feed(segment, &mut |_, _| {}));
            });
            let session = store.put_in(&start, counted, end)?;
            http.finish(&mut |_, _| {});
            found_cell.borrow_mut().n_frames = http.n_frames();
            session
        }
    };
    let (n_frames, n_unknown) = (found.n_frames, found.n_unknown);
    Ok(Imported { session, uuid: start.uuid, n_frames, first, n_unknown, profile, rules })
}

/// What a header says.
pub(super) struct Opened {
    pub(super) start: SessionStart,
    has_uuid: bool,
    /// Whether something was done to the traffic.
    pub(super) has_acts: bool,
    first: u64,
    pub(super) profile: Profile,
    pub(super) rules: Option<String>,
}

/// Reads the header.
pub(super) fn open<R: BufRead>(records: &mut Records<'_, R>, name: &Path) -> Result<Opened, StoreError> {
    if !records.advance()? {
        return Err(records.wrong("the file is empty; a recording begins with a line {\"mcp-tap\":\"recording/1\",…}"));
    }
    let not_ours = |error| records.not_json("no recording of mcp-tap begins like this", &error);
    let Format { format } = serde_json::from_slice(records.record()).map_err(not_ours)?;
    if ![FORMAT, HTTP_FORMAT, ACTS_FORMAT].contains(&format.as_str()) {
        return Err(records.wrong(format!(
            "the format is {format}, and this mcp-tap knows {FORMAT}, {HTTP_FORMAT} and {ACTS_FORMAT}: update mcp-tap"
        )));
    }
    let header: Header<'_> = serde_json::from_slice(records.record()).map_err(not_ours)?;
    let profile = match header.profile.as_deref() {
        None | Some("lossless") => Profile::Lossless,
        Some("fixture") => Profile::Fixture,
        Some(_) => return Err(records.wrong("`profile` must be lossless or fixture")),
    };
    let uuid = header.uuid.filter(|uuid| is_uuid(uuid));
    Ok(Opened {
        has_acts: format == ACTS_FORMAT,
        has_uuid: uuid.is_some(),
        first: header.first.unwrap_or(1).max(1),
        profile,
        rules: header.rules.map(|rules| unfold(rules.get(), Style::Compact)),
        start: SessionStart {
            uuid: uuid.unwrap_or_default(),
            name: header.server.unwrap_or_else(|| name.file_stem().unwrap_or_default().to_string_lossy().into_owned()),
            transport: header.transport.as_deref().and_then(Transport::from_name).unwrap_or_default(),
            command: header.command,
            folder: header.folder,
            environment: header.environment,
            recorded_by: match profile {
                Profile::Fixture if header.recorded_by.is_empty() => FIXTURE.into(),
                Profile::Fixture | Profile::Lossless => header.recorded_by,
            },
            tap_pid: None,
            server_pid: header.server_pid,
            opened_unix_ns: header.recorded_unix_ns,
        },
    })
}

/// Whether a text could be one of our uuids. Anything else in its place would turn up in listings and file names.
fn is_uuid(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'a'..=b'f'))
}

pub(super) struct Body {
    stream: Stream,
    pub(super) bytes: Vec<u8>,
    origin: Origin,
}

pub(super) struct Found {
    opened_unix_ns: u64,
    n_frames: u64,
    n_unknown: u64,
    newest_ns: u64,
    end: Option<SessionEnd>,
    /// Where each frame is; kept where something was done to them.
    places: Places,
}

pub(super) struct Reading<'a, R> {
    records: Records<'a, R>,
    profile: Profile,
    survey: Survey,
    /// How many records with a time were read.
    number: u64,
    /// Whether what looks like a placeholder in the newest record is text.
    is_literal: bool,
    /// What a record said beside itself.
    queue: VecDeque<Passed>,
    has_acts: bool,
}

impl Found {
    pub(super) fn new(opened_unix_ns: u64) -> Self {
        Self { opened_unix_ns, n_frames: 0, n_unknown: 0, newest_ns: 0, end: None, places: Places::default() }
    }
}

impl<'a, R: BufRead + Seek> Reading<'a, R> {
    /// Reads the header, and of a fixture its end, or all of it once.
    pub(super) fn open(input: R, name: &'a Path) -> Result<(Opened, Self), StoreError> {
        let mut records = Records::new(input, name);
        let opened = open(&mut records, name)?;
        let mut survey = Survey::default();
        if opened.profile == Profile::Fixture {
            let failed = |source| StoreError::Io { path: name.into(), source };
            let is_stdio = opened.start.transport == Transport::Stdio;
            let mut input = records.into_input();
            let of_end = match is_stdio {
                true => Survey::of_end(&mut input, name).map_err(failed)?,
                false => None,
            };
            survey = match of_end {
                Some(survey) => survey,
                None => {
                    input.seek(SeekFrom::Start(0)).map_err(failed)?;
                    records = Records::new(input, name);
                    records.advance()?;
                    let survey = Survey::of(&mut records)?;
                    input = records.into_input();
                    survey
                }
            };
            input.seek(SeekFrom::Start(0)).map_err(failed)?;
            records = Records::new(input, name);
            records.advance()?;
        }
        let (profile, has_acts, queue) = (opened.profile, opened.has_acts, VecDeque::new());
        Ok((opened, Self { records, profile, survey, number: 0, is_literal: false, queue, has_acts }))
    }
}

impl<R: BufRead> Reading<'_, R> {
    /// Whether what looks like a placeholder in the newest record is text.
    pub(super) fn is_literal(&self) -> bool {
        self.is_literal
    }

    /// The newest record: its line, from 1, and where it begins in the file, bytes.
    pub(super) fn place(&self) -> (u64, u64) {
        (self.records.begins_at(), self.records.offset())
    }

    /// Of a record of what was done: the number of the message that it was done to.
    pub(super) fn act_of(&self) -> Option<u64> {
        serde_json::from_slice::<ActRecord>(self.records.record()).ok()?.of
    }

    fn wrong(&self, problem: impl Into<String>) -> StoreError {
        self.records.wrong(problem)
    }

    /// Reads the next record. `None` at the end.
    fn record(&mut self, found: &mut Found) -> Result<Option<(Record<'_>, u64)>, StoreError> {
        if !self.records.advance()? {
            return Ok(None);
        }
        let record: Record<'_> = serde_json::from_slice(self.records.record())
            .map_err(|error| self.records.not_json("not a record", &error))?;
        self.is_literal = record.literal;
        if record.format.is_some() {
            return Err(self.wrong("a second recording begins here; a file holds one"));
        }
        if record.is_beside() {
            return Ok(Some((record, found.newest_ns)));
        }
        if let Some(at) = record.at {
            let wrong = || self.records.wrong("`at` must be seconds, such as 1.250000000");
            found.newest_ns = nanoseconds(at.get()).ok_or_else(wrong)?;
        } else if self.profile == Profile::Fixture {
            found.newest_ns = found.newest_ns.saturating_add(self.survey.gap_ns(self.number));
        }
        self.number += 1;
        Ok(Some((record, found.newest_ns)))
    }

    pub(super) fn next_recorded(&mut self, found: &mut Found) -> Result<Option<Recorded>, StoreError> {
        while let Some((record, at_ns)) = self.record(found)? {
            if record.is_beside() {
                continue;
            }
            if record.end.is_some() {
                found.end = Some(end_of(record, at_ns));
                continue;
            }
            let stream_of = |name: &str| Stream::ALL.into_iter().find(|stream| side(*stream) == name);
            if let Some(name) = &record.eof {
                let stream = stream_of(name).ok_or("`eof` must be server, client or stderr");
                let stream = stream.map_err(|problem| self.records.wrong(problem))?;
                return Ok(Some(Recorded::End { stream, at_ns }));
            }
            let of_exchange = record.http.is_some();
            let wall_ns = record.wall_ns;
            let is_act = record.act.is_some() && !of_exchange;
            let to = record.to.as_deref().and_then(stream_of);
            let body = body(&record).map_err(|problem| self.records.wrong(problem))?;
            let body = if is_act {
                let act = self.act(to, body, &found.places)?;
                Some(Body { stream: act.sent_on(), bytes: act.to_text(), origin: Origin::Act(act.deed) })
            } else {
                body.filter(|_| !of_exchange)
            };
            let Some(Body { stream, bytes, origin }) = body else {
                found.n_unknown += 1;
                continue;
            };
            found.n_frames += 1;
            let frame = Frame {
                seq: found.n_frames,
                wall_ns: wall_ns.unwrap_or_else(|| found.opened_unix_ns.saturating_add(at_ns)),
                at_ns,
                stream,
                origin,
                bytes: bytes.into(),
            };
            if self.has_acts {
                found.places.pass(&frame, Some(frame.seq));
            }
            return Ok(Some(Recorded::Frame(frame)));
        }
        Ok(None)
    }

    /// The act that the newest record is.
    fn act(&self, to: Option<Stream>, sent: Option<Body>, places: &Places) -> Result<Act, StoreError> {
        let record: ActRecord = serde_json::from_slice(self.records.record())
            .map_err(|error| self.records.not_json("not a record of what was done", &error))?;
        let to = to.ok_or_else(|| self.wrong("`to` must be server or client"))?;
        let act = record.act(to, |number| places.place(number)).map_err(|problem| self.wrong(problem))?;
        Ok(with_sent(act, sent.map(|sent| sent.bytes).unwrap_or_default()))
    }

    /// The same of a recording over HTTP.
    fn next_passed(&mut self, found: &mut Found) -> Result<Option<Passed>, StoreError> {
        loop {
            if let Some(passed) = self.queue.pop_front() {
                return Ok(Some(passed));
            }
            let number = self.number;
            let Some((record, at_ns)) = self.record(found)? else {
                return Ok(None);
            };
            let (wall_ns, exchange) = (record.wall_ns, record.http);
            if record.is_beside() {
                continue;
            }
            if record.end.is_some() && exchange.is_none() {
                found.end = Some(end_of(record, at_ns));
                continue;
            }
            let item = match exchange {
                Some(_) if record.http_end.as_deref() == Some("open") => None,
                Some(exchange) if record.act.is_some() => {
                    let to = record.to.as_deref().and_then(|to| Stream::ALL.into_iter().find(|this| side(*this) == to));
                    // There are no lines here that end.
                    let record = Record { eol: Some("none".into()), ..record };
                    let sent = body(&record).map_err(|problem| self.records.wrong(problem))?;
                    Some(Item::Act(exchange, self.act(to, sent, &found.places)?))
                }
                Some(exchange) => {
                    let item = words::item(exchange, self.records.record());
                    let item = item.map_err(|problem| self.records.wrong(problem))?;
                    found.n_unknown += u64::from(item.is_none());
                    item
                }
                None if record.eof.as_deref() == Some("stderr") => Some(Item::End),
                None => {
                    let item = match body(&record).map_err(|problem| self.records.wrong(problem))? {
                        Some(Body { stream: Stream::Stderr, origin: Origin::Gap(lost), .. }) => Some(Item::Gap(lost)),
                        Some(Body { stream: Stream::Stderr, bytes, .. }) => Some(Item::Chunk(bytes)),
                        Some(_) | None => None,
                    };
                    found.n_unknown += u64::from(item.is_none());
                    item
                }
            };
            let passed = |item| Passed { at_ns, wall_ns, item };
            self.queue.extend(item.map(passed));
            if let Some(exchange) = exchange.filter(|_| self.profile == Profile::Fixture) {
                if self.survey.completes_request(exchange, number) {
                    self.queue.push_back(passed(Item::Http(exchange, HttpPart::RequestEnd, Vec::new())));
                }
                if self.survey.completes(exchange, number) {
                    let end = vec![HttpEnd::Whole.code()];
                    self.queue.push_back(passed(Item::Http(exchange, HttpPart::End, end)));
                }
            }
        }
    }
}

/// What a record of a frame holds; `None` where it is a record of another kind.
pub(super) fn body(record: &Record<'_>) -> Result<Option<Body>, String> {
    let to = match record.to.as_deref() {
        Some("server") => Some(Stream::ToServer),
        Some("client") => Some(Stream::ToClient),
        Some(_) => return Err("`to` must be server or client".into()),
        None => None,
    };
    let decode = |text: &str| BASE64.decode(text).map_err(|error| format!("bad base64: {error}"));
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
        (Some(message), _) => message_of(message, record.style.as_deref())?.into_owned().into_bytes(),
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
        Some(_) => return Err("`eol` must be lf, crlf or none".into()),
    }
    Ok(Some(Body { stream, bytes, origin: Origin::Wire }))
}

/// The bytes of a message: what was folded is put together again.
pub(super) fn message_of<'a>(message: &'a RawValue, style: Option<&str>) -> Result<Cow<'a, str>, String> {
    let style = match style {
        None if message.get().contains(['\n', '\r']) => Style::Compact,
        None => return Ok(Cow::Borrowed(message.get())),
        Some("spaced") => Style::Spaced,
        Some("compact") => Style::Compact,
        Some(_) => return Err("`style` must be compact or spaced".into()),
    };
    Ok(Cow::Owned(unfold(message.get(), style)))
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
