//! A text recording written anew: folded otherwise, with secrets replaced, and nothing lost of what it says beside.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead, Seek, SeekFrom, Write};
use std::path::Path;

use serde::Deserialize;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use tap_redact::{Finding, Redactor, Replaced};

use super::fold::{Style, unfold};
use super::import::{message_of, open};
use super::records::Records;
use super::redact::{looked_at, redacted, with_markers};
use super::write::{Entry, RecordWriter};
use crate::error::StoreError;

/// Members that are known, of any record.
pub(super) const KNOWN: &[&str] = &[
    "mcp-tap",
    "profile",
    "uuid",
    "server",
    "command",
    "folder",
    "environment",
    "transport",
    "recorded_unix_ns",
    "recorded_by",
    "server_pid",
    "first",
    "client",
    "revision",
    "rules",
    "redacted",
    "to",
    "at",
    "msg",
    "raw",
    "base64",
    "style",
    "literal",
    "eol",
    "wall_ns",
    "stderr",
    "stderr_base64",
    "gap",
    "stderr_gap",
    "eof",
    "end",
    "exit",
    "signal",
    "why",
    "lost_bytes",
    "http",
    "connection",
    "request",
    "headers",
    "request_end",
    "connected",
    "connect_ns",
    "status",
    "version",
    "before",
    "after",
    "part",
    "http_end",
    "act",
    "of",
    "of_byte",
    "by",
    "held_ns",
    "sent_status",
    "sent_lost",
    "gaps_us",
    "note",
    "mark",
];

/// What came of writing a recording anew.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// Records, the header left out.
    pub n_records: u64,
    /// Members that this version does not know. They were kept.
    pub unknown: BTreeSet<String>,
    /// Which markers are in it.
    pub replaced: Vec<Replaced>,
}

/// Writes a text recording anew, with secrets replaced if there is a redactor. What is not known is kept.
///
/// # Errors
///
/// When a record makes no sense as one, or `out` cannot be written.
pub fn rewrite(
    input: impl BufRead + Seek,
    name: &Path,
    fold_columns: usize,
    mut redactor: Option<&mut Redactor>,
    out: &mut impl Write,
) -> Result<Rewritten, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let mut rewritten = Rewritten::default();
    let mut input = input;
    if let Some(redactor) = &mut redactor {
        loop {
            let mut records = Records::new(input, name);
            while records.advance()? {
                let mut entry = entry_of(&records)?;
                redacted(&mut entry, redactor);
            }
            input = records.into_input();
            input.seek(SeekFrom::Start(0)).map_err(failed)?;
            if !redactor.looks_again() {
                break;
            }
        }
        rewritten.replaced = redactor.settle();
    }
    let mut records = Records::new(input, name);
    open(&mut records, name)?;
    let mut writer = RecordWriter::new(out, fold_columns);
    let mut entry = entry_of(&records)?;
    loop {
        rewritten.unknown.extend(
            entry.members.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str())).map(|(name, _)| name.clone()),
        );
        if let Some(redactor) = &mut redactor {
            redacted(&mut entry, redactor);
            if rewritten.n_records == 0 {
                with_markers(&mut entry, &rewritten.replaced);
            }
        }
        writer.write(&entry).map_err(failed)?;
        if !records.advance()? {
            break;
        }
        rewritten.n_records += 1;
        entry = entry_of(&records)?;
    }
    writer.flush().map_err(failed)?;
    Ok(rewritten)
}

/// Looks for secrets in a text recording. `sink` gets the line of each, and what it is.
///
/// # Errors
///
/// When a record makes no sense as one.
pub fn find_secrets(
    input: impl BufRead,
    name: &Path,
    redactor: &mut Redactor,
    sink: &mut impl FnMut(u64, &Finding),
) -> Result<(), StoreError> {
    let mut records = Records::new(input, name);
    open(&mut records, name)?;
    loop {
        let text = std::str::from_utf8(records.record()).map_err(|_| records.wrong("not a record: it is not UTF-8"))?;
        let Members(members) = serde_json::from_str(text).map_err(|error| records.not_json("not a record", &error))?;
        for finding in looked_at(text, &members, redactor) {
            let before = text.as_bytes().get(..finding.at).unwrap_or_default();
            sink(records.begins_at() + memchr::memchr_iter(b'\n', before).count() as u64, &finding);
        }
        if !records.advance()? {
            return Ok(());
        }
    }
}

/// The newest record with all of its members, in their order.
pub(super) fn entry_of<R: BufRead>(records: &Records<'_, R>) -> Result<Entry, StoreError> {
    let Members(members) =
        serde_json::from_slice(records.record()).map_err(|error| records.not_json("not a record", &error))?;
    let style = members.iter().find(|(name, _)| name == "style");
    let style: Option<String> = style.and_then(|(_, value)| serde_json::from_str(value.get()).ok());
    let mut entry = Entry::default();
    for (name, value) in members {
        match name.as_str() {
            "msg" => {
                let message = message_of(value, style.as_deref()).map_err(|problem| records.wrong(problem))?;
                entry.message = Some(message.into_owned());
            }
            "style" => {}
            _ => {
                let value = match value.get().contains(['\n', '\r']) {
                    true => unfold(value.get(), Style::Compact),
                    false => value.get().to_owned(),
                };
                entry.members.push((name, value));
            }
        }
    }
    Ok(entry)
}

/// All members of an object, also those that share a name.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("a JSON object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(All)
    }
}
