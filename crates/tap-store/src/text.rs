//! The text form of a recording: a stream of JSON records, the message verbatim inside.
//!
//! For git, for people, for other tools. Of the lossless profile nothing is lost: importing what was exported gives the same
//! frames. A fixture is what a test needs of it, the same on every day and on every machine. `docs/text-form.md` is the
//! format's page; the format is a promise, so changes that an older reader would misread get a new number in the header.
//!
//! Start reading at [`export`] and [`import`]. `fold.rs` breaks records over lines, `records.rs` reads them one by one,
//! `fixture.rs` leaves out what only happened once.

mod acts;
mod add;
mod chosen;
mod fixture;
mod fold;
mod frames;
mod http;
mod import;
mod pack;
mod records;
mod redact;
mod rewrite;
mod survey;
mod words;
mod write;

use std::io::Write;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tap_frame::{Frame, Origin, Stream};
use tap_redact::{Redactor, Replaced};
use tap_session::Recorded;

use crate::error::StoreError;
use crate::reader::{Session, Store};
use crate::writer::{EndReason, Transport};

use fixture::Fixture;
use write::{Entry, RecordWriter};

pub use add::{Addition, add, put_rules};
pub use chosen::Chosen;
pub use frames::{TextFrame, TextFrames, TextPlace, text_frame};
pub use import::{Imported, import};
pub use rewrite::{Rewritten, find_secrets, rewrite};

const FORMAT: &str = "recording/1";

/// Of recordings over HTTP, which who knows the first alone would misread.
const HTTP_FORMAT: &str = "recording/2";

/// Of recordings of either transport in which a debugger did something: who does not know that would take what went on for
/// what was received.
const ACTS_FORMAT: &str = "recording/3";

/// What stands in the place of who recorded it where nobody says: a session that came from a fixture.
const FIXTURE: &str = "fixture";

/// How much of a recording is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Profile {
    /// All of it: importing gives the same frames.
    #[default]
    Lossless,
    /// What a test needs: messages, in order, without anything that is another the next time.
    Fixture,
}

impl Profile {
    /// What it is called in a header.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::Fixture => "fixture",
        }
    }
}

/// How wide a record may be before it is folded, columns.
pub const FOLD_COLUMNS: usize = 100;

/// What of a session is written, and how.
#[derive(Debug, Clone)]
pub struct ExportOptions {
    /// How much of it.
    pub profile: Profile,
    /// The frames that are wanted.
    pub chosen: Chosen,
    /// The number that the session's first frame had in the whole of it: 1, unless it was [imported](Imported) from a part.
    /// A part says in its header where it begins.
    pub first: u64,
    /// Records that are wider than so many columns are folded; 0 folds none, which makes JSON Lines.
    pub fold_columns: usize,
    /// Whether a fixture keeps the server's stderr. The lossless profile always does.
    pub stderr: bool,
    /// The value of `rules` in the header, JSON: how it is matched and compared.
    pub rules: Option<String>,
}

impl Default for ExportOptions {
    fn default() -> Self {
        Self {
            profile: Profile::default(),
            chosen: Chosen::Range(0..=u64::MAX),
            first: 1,
            fold_columns: 0,
            stderr: false,
            rules: None,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Exported {
    /// How many frames.
    pub n_frames: u64,
    /// Which markers are in it.
    pub replaced: Vec<Replaced>,
}

/// Writes a session as text, with secrets replaced if there is a redactor: then it is read twice,
/// or three times where a secret is to be looked for in all of it.
///
/// # Errors
///
/// When the session cannot be read, or `out` cannot be written (as [`StoreError::Io`] with `name`).
pub fn export(
    store: &Store,
    session: &Session,
    options: &ExportOptions,
    mut redactor: Option<&mut Redactor>,
    out: &mut impl Write,
    name: &Path,
) -> Result<Exported, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let fixture = || (options.profile == Profile::Fixture).then(|| Fixture::new(options.stderr));
    let is_first_hand = session.start.recorded_by != FIXTURE;
    let prepared = |mut entry: Entry, fixture: &mut Option<Fixture>, redactor: &mut Option<&mut Redactor>| {
        if let Some(fixture) = fixture {
            entry = fixture.take(entry)?;
            if is_first_hand {
                redact::with_literal(&mut entry);
            }
        }
        if let Some(redactor) = redactor {
            redact::redacted(&mut entry, redactor);
        }
        Some(entry)
    };
    store.catch_up(session.id, |_| {})?;
    let deeds = store.deeds(session.id)?;
    let is_fixture = options.profile == Profile::Fixture;
    let has_acts = deeds.iter().any(|deed| !is_fixture || !acts::ONLY_TIME.contains(deed));
    let mut header = header(session, options, has_acts);
    let mut n_entries = u64::MAX;
    let mut replaced = Vec::new();
    if redactor.is_some() {
        loop {
            let mut fixture = fixture();
            if let Some(redactor) = &mut redactor {
                redact::redacted(&mut header.clone(), redactor);
            }
            let mut n_seen = 0;
            each_entry(store, session, options, &mut |entry| {
                if n_seen < n_entries {
                    n_seen += 1;
                    prepared(entry, &mut fixture, &mut redactor);
                }
                Ok(())
            })?;
            n_entries = n_seen;
            if !redactor.as_mut().is_some_and(|redactor| redactor.looks_again()) {
                break;
            }
        }
        if let Some(redactor) = &mut redactor {
            replaced = redactor.settle();
            redact::redacted(&mut header, redactor);
        }
        redact::with_markers(&mut header, &replaced);
    }
    let mut writer = RecordWriter::new(out, options.fold_columns);
    writer.write(&header).map_err(failed)?;
    let mut fixture = fixture();
    let n_frames = each_entry(store, session, options, &mut |entry| {
        // Of a session that goes on, no more than was looked at.
        let Some(left) = n_entries.checked_sub(1) else {
            return Ok(());
        };
        n_entries = left;
        match prepared(entry, &mut fixture, &mut redactor) {
            Some(entry) => writer.write(&entry).map_err(failed),
            None => Ok(()),
        }
    })?;
    if let Some(fixture) = fixture {
        writer.write(&fixture.footer()).map_err(failed)?;
    }
    writer.flush().map_err(failed)?;
    Ok(Exported { n_frames, replaced })
}

type Sink<'a> = &'a mut dyn FnMut(Entry) -> Result<(), StoreError>;

/// Everything of a session that is wanted, in order, losslessly. Returns how many frames.
fn each_entry(store: &Store, session: &Session, options: &ExportOptions, sink: Sink<'_>) -> Result<u64, StoreError> {
    let n_frames = match session.start.transport {
        Transport::Stdio => each_frame(store, session, &options.chosen, sink)?,
        Transport::Http => each_exchange(store, session, options, sink)?,
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
        sink(Entry::new(record, end.at_ns, None))?;
    }
    if session.end.is_none() && session.live {
        // Whoever reads it is not to believe that the tap was killed.
        let record = Map::from_iter([("end".to_owned(), Value::from("running"))]);
        sink(Entry::new(record, session.digest.newest_at_ns, None))?;
    }
    Ok(n_frames)
}

fn each_frame(store: &Store, session: &Session, chosen: &Chosen, sink: Sink<'_>) -> Result<u64, StoreError> {
    let mut n_frames = 0;
    let mut places = acts::Places::default();
    for recorded in store.recorded(session.id) {
        let mut record = Map::new();
        let recorded = recorded?;
        let act = match &recorded {
            Recorded::Frame(frame) => frame.act(),
            Recorded::End { .. } => None,
        };
        let original = act.as_ref().and_then(|act| places.original(act));
        if let Recorded::Frame(frame) = &recorded {
            // What was done to a message that is wanted is a part of it.
            let is_wanted = chosen.contains(frame.seq) || original.is_some_and(|(seq, _)| chosen.contains(seq));
            places.pass(frame, is_wanted.then_some(n_frames + 1));
            if !is_wanted {
                continue;
            }
        }
        let (at_ns, message) = match recorded {
            Recorded::Frame(frame) => {
                n_frames += 1;
                if frame.stream != Stream::Stderr {
                    record.insert("to".into(), side(frame.stream).into());
                }
                if frame.wall_ns != session.start.opened_unix_ns.saturating_add(frame.at_ns) {
                    record.insert("wall_ns".into(), frame.wall_ns.into());
                }
                let message = match &act {
                    Some(act) => acts::record_of(&frame, act, original, &mut record),
                    None => body(&frame, &mut record),
                };
                (frame.at_ns, message)
            }
            Recorded::End { stream, at_ns } => {
                record.insert("eof".into(), side(stream).into());
                (at_ns, None)
            }
        };
        sink(Entry::new(record, at_ns, message))?;
    }
    Ok(n_frames)
}

/// Of a part, the exchanges that have a frame in it: their heads, their requests, and of their answers what is in it.
fn each_exchange(store: &Store, session: &Session, options: &ExportOptions, sink: Sink<'_>) -> Result<u64, StoreError> {
    let chosen = &options.chosen;
    let damaged = |number| move |source| StoreError::Damaged { session: session.id.0, number, source };
    let mut search = http::Search::default();
    let mut n_segments = 0;
    while let Some(segment) = store.segment(session.id, n_segments)? {
        search.feed(&segment, chosen).map_err(damaged(n_segments))?;
        n_segments += 1;
    }
    let wanted = search.finish(chosen);
    let is_decoded = options.profile == Profile::Fixture;
    let mut to_text = http::ToText::new(&wanted, chosen, session.start.opened_unix_ns, is_decoded);
    let mut written = Vec::new();
    // Of a session that goes on, no more than was looked at before.
    for number in 0..n_segments {
        if let Some(segment) = store.segment(session.id, number)? {
            to_text.feed(&segment, &mut written).map_err(damaged(number))?;
            written.drain(..).try_for_each(&mut *sink)?;
        }
    }
    to_text.finish(&mut written);
    written.drain(..).try_for_each(&mut *sink)?;
    Ok(wanted.n_frames)
}

fn header(session: &Session, options: &ExportOptions, has_acts: bool) -> Entry {
    let start = &session.start;
    let first = options.first.saturating_add(options.chosen.first() - 1);
    let mut header = Map::new();
    let format = match start.transport {
        _ if has_acts => ACTS_FORMAT,
        Transport::Stdio => FORMAT,
        Transport::Http => HTTP_FORMAT,
    };
    header.insert("mcp-tap".into(), format.into());
    header.insert("profile".into(), options.profile.name().into());
    match options.profile {
        Profile::Lossless => {
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
        }
        Profile::Fixture => {
            header.insert("server".into(), start.name.clone().into());
            header.insert("command".into(), start.command.clone().into());
            let identity = &session.digest.identity;
            for (name, value) in [("client", &identity.client), ("revision", &identity.revision)] {
                if let Some(value) = value {
                    header.insert(name.into(), value.clone().into());
                }
            }
            header.insert("transport".into(), start.transport.name().into());
        }
    }
    let mut entry = Entry::new(header, 0, None);
    if let Some(rules) = &options.rules {
        entry.put_json("rules", rules.clone());
    }
    entry.is_header = true;
    entry
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

/// Whether the text is one JSON object or array on one line and nothing else, so that a JSON reader gives back exactly these bytes.
fn stands_verbatim(text: &str) -> bool {
    // A line feed would be taken for a fold.
    if text.contains(['\n', '\r']) {
        return false;
    }
    let container = text.starts_with('{') && text.ends_with('}') || text.starts_with('[') && text.ends_with(']');
    container && serde_json::from_str::<&RawValue>(text).is_ok_and(|raw| raw.get().len() == text.len())
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
