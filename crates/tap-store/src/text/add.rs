//! A text recording with more in it: what was learned while it was played stands where it came.

use std::io::{BufRead, Seek, SeekFrom, Write};
use std::path::Path;

use bytes::Bytes;
use serde_json::Map;
use tap_frame::{Direction, Frame, Origin, Stream};
use tap_redact::Redactor;

use super::import::{Record, body, open};
use super::records::Records;
use super::redact::{redacted, with_literal, with_markers};
use super::rewrite::{KNOWN, Rewritten, entry_of};
use super::write::{Entry, RecordWriter};
use super::{Profile, side};
use crate::error::StoreError;
use crate::writer::Transport;

/// A message that a recording is to have as well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Addition {
    /// The number of the frame behind which it stands; 0 puts it before all of them. Those with the same number stand in the
    /// order in which they are given.
    pub behind: u64,
    /// Which way it went.
    pub direction: Direction,
    /// The message, without a line ending.
    pub bytes: Bytes,
    /// How long after the message before it, nanoseconds.
    pub gap_ns: u64,
}

/// Writes a recording over stdio anew, with messages added and with secrets replaced if there is a redactor. All that is
/// there stays as it is.
///
/// In a fixture the times of what is added go into its last record. In a lossless recording they get the time of what stands
/// before them: no other one is known there.
///
/// # Errors
///
/// When a record makes no sense as one, when it is a recording over HTTP, or `out` cannot be written.
pub fn add(
    input: impl BufRead + Seek,
    name: &Path,
    additions: &[Addition],
    fold_columns: usize,
    mut redactor: Option<&mut Redactor>,
    out: &mut impl Write,
) -> Result<Rewritten, StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let mut additions: Vec<&Addition> = additions.iter().collect();
    additions.sort_by_key(|addition| addition.behind);
    let mut rewritten = Rewritten::default();
    let mut input = input;
    if let Some(redactor) = &mut redactor {
        loop {
            input = each(input, name, &additions, None, &mut |entry| {
                redacted(&mut entry.clone(), redactor);
                Ok(())
            })?;
            input.seek(SeekFrom::Start(0)).map_err(failed)?;
            if !redactor.looks_again() {
                break;
            }
        }
        rewritten.replaced = redactor.settle();
    }
    let mut writer = RecordWriter::new(out, fold_columns);
    each(input, name, &additions, None, &mut |mut entry| {
        let unknown = entry.members.iter().filter(|(name, _)| !KNOWN.contains(&name.as_str()));
        rewritten.unknown.extend(unknown.map(|(name, _)| name.clone()));
        if let Some(redactor) = &mut redactor {
            redacted(&mut entry, redactor);
            if entry.is_header {
                with_markers(&mut entry, &rewritten.replaced);
            }
        }
        rewritten.n_records += u64::from(!entry.is_header);
        writer.write(&entry).map_err(failed)
    })?;
    writer.flush().map_err(failed)?;
    Ok(rewritten)
}

/// Writes a recording anew with other rules in its header: JSON. All else stays as it is.
///
/// # Errors
///
/// When a record makes no sense as one, or `out` cannot be written.
pub fn put_rules(
    input: impl BufRead,
    name: &Path,
    rules: &str,
    fold_columns: usize,
    out: &mut impl Write,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::Io { path: name.into(), source };
    let mut writer = RecordWriter::new(out, fold_columns);
    each(input, name, &[], Some(rules), &mut |entry| writer.write(&entry).map_err(failed))?;
    writer.flush().map_err(failed)
}

/// Everything that the recording is to have, in order. Gives the input back.
fn each<R: BufRead>(
    input: R,
    name: &Path,
    additions: &[&Addition],
    rules: Option<&str>,
    sink: &mut dyn FnMut(Entry) -> Result<(), StoreError>,
) -> Result<R, StoreError> {
    let mut records = Records::new(input, name);
    let opened = open(&mut records, name)?;
    if !additions.is_empty() && opened.start.transport != Transport::Stdio {
        return Err(records.wrong("messages can be added to a recording over stdio, and this one is over HTTP"));
    }
    let is_fixture = opened.profile == Profile::Fixture;
    let mut left = additions.iter().peekable();
    let (mut n_frames, mut n_timed) = (0, 0);
    // Where gaps go into the list of a fixture, and the gaps.
    let mut gaps: Vec<(usize, u64)> = Vec::new();
    let mut at: Option<String> = None;
    let mut header = entry_of(&records)?;
    header.is_header = true;
    if let Some(rules) = rules {
        header.put_json("rules", rules.to_owned());
    }
    sink(header)?;
    loop {
        while let Some(addition) = left.next_if(|addition| addition.behind <= n_frames) {
            let mut entry = entry_for(addition);
            if is_fixture {
                gaps.push((n_timed, addition.gap_ns / 1_000));
                with_literal(&mut entry);
            } else if let Some(at) = &at {
                entry.put_json("at", at.clone());
            }
            sink(entry)?;
        }
        if !records.advance()? {
            break;
        }
        let record: Record<'_> =
            serde_json::from_slice(records.record()).map_err(|error| records.not_json("not a record", &error))?;
        let (is_beside, is_end) = (record.is_beside(), record.is_end());
        let is_frame = record.is_act() || body(&record).map_err(|problem| records.wrong(problem))?.is_some();
        let mut entry = entry_of(&records)?;
        if let Some(of) = entry.get("of").and_then(|of| of.parse::<u64>().ok()).filter(|_| record.is_act()) {
            // What was added before the message moves its number.
            let n_before = additions.iter().filter(|addition| addition.behind < of).count();
            entry.put("of", of + n_before as u64);
        }
        if is_end || entry.get("gaps_us").is_some() {
            // What is to stand behind more than there is stands behind all of it.
            for addition in left.by_ref() {
                let mut more = entry_for(addition);
                if is_fixture {
                    gaps.push((n_timed, addition.gap_ns / 1_000));
                    with_literal(&mut more);
                } else if let Some(at) = &at {
                    more.put_json("at", at.clone());
                }
                sink(more)?;
            }
        }
        if let Some(written) = entry.get("gaps_us") {
            let mut all: Vec<u64> = serde_json::from_str(written).unwrap_or_default();
            for (place, gap_us) in gaps.drain(..).rev() {
                // Where the list is too short, the rest comes at once.
                if all.len() < place {
                    all.resize(place, 0);
                }
                all.insert(place, super::fixture::rounded(gap_us));
            }
            entry.put("gaps_us", all);
        }
        n_frames += u64::from(is_frame);
        n_timed += usize::from(!is_beside);
        at = entry.get("at").map(str::to_owned).or(at);
        sink(entry)?;
    }
    for addition in left {
        sink(entry_for(addition))?;
    }
    Ok(records.into_input())
}

fn entry_for(addition: &Addition) -> Entry {
    let stream = if addition.direction == Direction::ToServer { Stream::ToServer } else { Stream::ToClient };
    let mut bytes = addition.bytes.to_vec();
    bytes.push(b'\n');
    let frame = Frame { seq: 0, wall_ns: 0, at_ns: 0, stream, origin: Origin::Wire, bytes: bytes.into() };
    let mut record = Map::new();
    record.insert("to".into(), side(stream).into());
    let message = super::body(&frame, &mut record);
    let mut entry = Entry::new(record, 0, message);
    entry.has_time = false;
    entry
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const REQUEST: &str = "{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":\"tools/call\",\"params\":{\"name\":\"new\"}}";

    fn additions(places: &[u64]) -> Vec<Addition> {
        let addition = |behind: &u64| Addition {
            behind: *behind,
            direction: Direction::ToServer,
            bytes: REQUEST.into(),
            gap_ns: 1_234_567,
        };
        places.iter().map(addition).collect()
    }

    fn added(text: &str, places: &[u64]) -> String {
        let mut out = Vec::new();
        add(Cursor::new(text), Path::new("a.mcprec"), &additions(places), 0, None, &mut out).expect("it can be added");
        String::from_utf8(out).expect("text")
    }

    /// A fixture whose records have a number each, and where the additions stand among them.
    #[track_caller]
    fn check(places: &[u64], expected_order: &str, expected_gaps: &str) {
        let text = "{\"mcp-tap\":\"recording/1\",\"profile\":\"fixture\",\"who\":\"kept\"}\n\
            {\"note\":\"a\"}\n{\"to\":\"server\",\"msg\":{\"id\":1}}\n{\"stderr\":\"b\"}\n\
            {\"to\":\"client\",\"msg\":{\"id\":1,\"result\":{}}}\n{\"end\":\"exited\",\"exit\":0}\n{\"gaps_us\":[1,2,3,4]}\n";
        let found = added(text, places);
        let letter = |line: &str| match line {
            line if line.contains("new") => '+',
            line if line.contains("note") => 'n',
            line if line.contains("stderr") => 's',
            line if line.contains("mcp-tap") => 'h',
            line if line.contains("gaps_us") => 'g',
            line if line.contains("\"end\"") => 'e',
            line if line.contains("result") => 'a',
            _ => 'r',
        };
        assert_eq!(found.lines().map(letter).collect::<String>(), expected_order);
        assert!(found.ends_with(&format!("{{\"gaps_us\":[{expected_gaps}]}}\n")), "{found}");
        // What was there is there, as it was.
        let rest: Vec<&str> = found.lines().filter(|line| !line.contains("new") && !line.contains("gaps_us")).collect();
        assert_eq!(rest, text.lines().filter(|line| !line.contains("gaps_us")).collect::<Vec<_>>());
    }

    #[test]
    fn additions_stand_behind_the_frame_that_is_named() {
        check(&[], "hnrsaeg", "1,2,3,4");
        check(&[0], "h+nrsaeg", "1230,1,2,3,4");
        check(&[1, 1], "hnr++saeg", "1,1230,1230,2,3,4");
        check(&[2], "hnrs+aeg", "1,2,1230,3,4");
        check(&[3, 0], "h+nrsa+eg", "1230,1,2,3,1230,4");
        check(&[99], "hnrsa+eg", "1,2,3,1230,4");
    }

    #[test]
    fn what_a_debugger_did_still_names_its_message_behind_what_was_added() {
        let text = "{\"mcp-tap\":\"recording/3\",\"profile\":\"fixture\"}\n{\"to\":\"server\",\"msg\":{\"id\":1}}\n\
            {\"to\":\"server\",\"act\":\"dropped\",\"of\":1}\n{\"to\":\"server\",\"msg\":{\"id\":2}}\n\
            {\"to\":\"server\",\"act\":\"dropped\",\"of\":3}\n{\"gaps_us\":[1,2,3,4]}\n";
        for (places, expected) in [(&[][..], [1, 3]), (&[0], [2, 4]), (&[1], [1, 4]), (&[2, 2], [1, 5]), (&[3], [1, 3])]
        {
            let found = added(text, places);
            let acts =
                found.lines().filter(|line| line.contains("\"act\"")).map(|line| line[line.len() - 2..].to_owned());
            assert_eq!(acts.collect::<Vec<_>>(), expected.map(|of| format!("{of}}}")), "{places:?}");
        }
    }

    #[test]
    fn of_a_lossless_recording_they_have_the_time_before_them() {
        let text = "{\"mcp-tap\":\"recording/1\"}\n{\"to\":\"server\",\"at\":0.500000000,\"msg\":{\"id\":1}}\n\
            {\"to\":\"client\",\"at\":0.600000000,\"msg\":{\"id\":1}}\n";
        let found = added(text, &[1]);
        assert_eq!(found.lines().nth(2), Some(&*format!("{{\"to\":\"server\",\"at\":0.500000000,\"msg\":{REQUEST}}}")));
        assert_eq!(found.lines().count(), 4);
    }

    #[test]
    fn secrets_in_what_is_added_are_replaced() {
        let text = "{\"mcp-tap\":\"recording/1\",\"profile\":\"fixture\"}\n{\"gaps_us\":[]}\n";
        let secret = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":{\"password\":\"tr0ub4dor&3x\"}}";
        let addition = Addition { bytes: secret.into(), ..additions(&[0]).remove(0) };
        let mut out = Vec::new();
        let mut redactor = Redactor::new(Vec::new(), Vec::new());
        add(Cursor::new(text), Path::new("a"), &[addition], 0, Some(&mut redactor), &mut out).expect("it can be added");
        let found = String::from_utf8(out).expect("text");
        assert!(!found.contains("tr0ub4dor") && found.contains("«secret 1»"), "{found}");
        assert!(
            found.lines().next().is_some_and(|header| header.contains("\"redacted\":{\"«secret 1»\":1}")),
            "{found}"
        );
    }

    #[test]
    fn one_over_http_is_refused() {
        let text = "{\"mcp-tap\":\"recording/2\",\"transport\":\"http\"}\n";
        let error = add(Cursor::new(text), Path::new("a"), &additions(&[0]), 0, None, &mut Vec::new());
        let error = error.expect_err("no stdio");
        assert!(error.to_string().contains("over HTTP"), "{error}");
    }

    #[test]
    fn rules_take_the_place_of_those_that_were_there() {
        for (header, expected) in [
            ("\"a\":1", "\"a\":1,\"rules\":{\"ignore\":[\"x\"]}"),
            ("\"rules\":{},\"a\":1", "\"rules\":{\"ignore\":[\"x\"]},\"a\":1"),
        ] {
            let text = |header: &str| {
                format!(
                    "{{\"mcp-tap\":\"recording/2\",\"transport\":\"http\",{header}}}\n{{\"http\":1,\"http_end\":\"whole\"}}\n"
                )
            };
            let mut out = Vec::new();
            put_rules(Cursor::new(text(header)), Path::new("a"), "{\"ignore\":[\"x\"]}", 0, &mut out).expect("written");
            assert_eq!(String::from_utf8(out).expect("text"), text(expected));
        }
    }
}
