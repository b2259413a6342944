//! Spill files: where copies wait while the database is locked, so that memory stays bounded and nothing is lost.
//!
//! A spill file lies beside the database. Its tap holds a lock on it; once that is gone, whoever opens the database next
//! takes over what is in it.
//!
//! Layout: a first line that names the format, a line of JSON about the session, then records. A record is one byte that
//! says what it is, and for `S` (segment) five numbers of eight bytes, lowest byte first: number, wall clock, session
//! clock, length of the pieces, length of the bytes; then both. For `E` (how the session ended) one number and so many
//! bytes of JSON. A record that is cut short was being written when the tap was killed, and is left out.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OptionalExtension, TransactionBehavior};
use serde_json::{Value, json};
use tap_frame::Segment;

use crate::error::StoreError;
use crate::writer::{
    EndReason, SessionEnd, SessionStart, Transport, insert_segments, insert_session, signed, unsigned, update_end,
};

const FORMAT: &[u8] = b"mcp-tap spill 1\n";

/// Segments that are taken over in one transaction.
const TAKEN_AT_ONCE: usize = 32;

/// No record is longer; one that claims to be is damage.
const RECORD_LIMIT_BYTES: u64 = 1 << 30;

/// A spill file that is being filled.
#[derive(Debug)]
pub(crate) struct Spill {
    path: PathBuf,
    file: File,
    /// Where the next record to be read back begins.
    read_from: u64,
    /// Where the next record will be written.
    write_at: u64,
}

fn path_for(database: &Path, uuid: &str) -> PathBuf {
    let mut path = database.as_os_str().to_os_string();
    path.push(format!("-spill-{uuid}"));
    path.into()
}

/// Locks a new spill file and writes its head; gives the head's length.
fn begin(file: &mut File, start: &SessionStart) -> std::io::Result<u64> {
    file.try_lock()?;
    let mut head = FORMAT.to_vec();
    head.extend_from_slice(start_to_json(start).to_string().as_bytes());
    head.push(b'\n');
    file.write_all(&head)?;
    Ok(head.len() as u64)
}

impl Spill {
    pub(crate) fn create(database: &Path, start: &SessionStart) -> std::io::Result<Self> {
        let path = path_for(database, &start.uuid);
        let mut file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
        let begun = begin(&mut file, start);
        if begun.is_err() {
            // It can be tried again, and nobody finds a file without a head.
            let _ = std::fs::remove_file(&path);
        }
        let write_at = begun?;
        Ok(Self { path, file, read_from: write_at, write_at })
    }

    /// Moves the file beside another database.
    pub(crate) fn move_beside(mut self, database: &Path, start: &SessionStart) -> std::io::Result<Self> {
        let path = path_for(database, &start.uuid);
        if std::fs::rename(&self.path, &path).is_err() {
            // That is on another file system.
            let mut file = File::options().read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            file.try_lock()?;
            self.file.seek(SeekFrom::Start(0))?;
            std::io::copy(&mut self.file, &mut file)?;
            let _ = std::fs::remove_file(&self.path);
            self.file = file;
        }
        Ok(Self { path, ..self })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether everything was read back.
    pub(crate) fn is_empty(&self) -> bool {
        self.read_from == self.write_at
    }

    pub(crate) fn push(&mut self, number: u64, segment: &Segment) -> std::io::Result<()> {
        let mut head = vec![b'S'];
        let lengths = [segment.pieces.len() as u64, segment.bytes.len() as u64];
        for value in [number, segment.wall_ns, segment.at_ns, lengths[0], lengths[1]] {
            head.extend_from_slice(&value.to_le_bytes());
        }
        head.extend_from_slice(&segment.pieces);
        self.append(&[&head, &segment.bytes])
    }

    pub(crate) fn push_end(&mut self, end: &SessionEnd) -> std::io::Result<()> {
        let text = end_to_json(end).to_string();
        let mut record = vec![b'E'];
        record.extend_from_slice(&(text.len() as u64).to_le_bytes());
        record.extend_from_slice(text.as_bytes());
        self.append(&[&record])
    }

    fn append(&mut self, parts: &[&[u8]]) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(self.write_at))?;
        for part in parts {
            if let Err(error) = self.file.write_all(part) {
                // Half a record in the middle would hide what comes after it.
                let _ = self.file.set_len(self.write_at);
                return Err(error);
            }
        }
        self.write_at += parts.iter().map(|part| part.len() as u64).sum::<u64>();
        Ok(())
    }

    /// Reads the next segments back, without forgetting them yet.
    pub(crate) fn peek(&mut self) -> std::io::Result<(Vec<(u64, Segment)>, u64)> {
        self.file.seek(SeekFrom::Start(self.read_from))?;
        let mut reader = BufReader::new(&self.file);
        let mut segments = Vec::new();
        let mut at = self.read_from;
        while segments.len() < TAKEN_AT_ONCE {
            match read_record(&mut reader)? {
                Some((Record::Segment(number, segment), length)) => {
                    segments.push((number, segment));
                    at += length;
                }
                Some((Record::End(_), length)) => at += length,
                None => break,
            }
        }
        Ok((segments, at))
    }

    /// Forgets what [`peek`](Self::peek) gave, whose second value this is.
    pub(crate) fn forget(&mut self, read_to: u64) {
        self.read_from = read_to;
    }

    pub(crate) fn remove(self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

enum Record {
    Segment(u64, Segment),
    End(SessionEnd),
}

/// The next record and its length, or `None` where the whole records end.
fn read_record(reader: &mut impl Read) -> std::io::Result<Option<(Record, u64)>> {
    let whole = |done: std::io::Result<()>| match done {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    };
    let mut kind = [0];
    if !whole(reader.read_exact(&mut kind))? {
        return Ok(None);
    }
    let n_numbers = match kind {
        [b'S'] => 5,
        [b'E'] => 1,
        _ => return Ok(None),
    };
    let mut numbers = [0u64; 5];
    for number in numbers.iter_mut().take(n_numbers) {
        let mut bytes = [0; 8];
        if !whole(reader.read_exact(&mut bytes))? {
            return Ok(None);
        }
        *number = u64::from_le_bytes(bytes);
    }
    let [number, wall_ns, at_ns, n_pieces, n_bytes] = numbers;
    let lengths = if kind == [b'S'] { [n_pieces, n_bytes] } else { [number, 0] };
    let mut parts = [Vec::new(), Vec::new()];
    for (part, length) in parts.iter_mut().zip(lengths) {
        if length > RECORD_LIMIT_BYTES {
            return Ok(None);
        }
        reader.take(length).read_to_end(part)?;
        if part.len() as u64 != length {
            return Ok(None);
        }
    }
    let total = 1 + 8 * n_numbers as u64 + lengths[0] + lengths[1];
    let [first, second] = parts;
    Ok(match kind {
        [b'S'] => Some((Record::Segment(number, Segment::from_stored(wall_ns, at_ns, first, second)), total)),
        _ => end_from_json(&first).map(|end| (Record::End(end), total)),
    })
}

/// Takes over the spill files of taps that are gone. Returns how many there were.
pub(crate) fn adopt(connection: &mut Connection, database: &Path) -> Result<usize, StoreError> {
    let (Some(folder), Some(name)) = (database.parent(), database.file_name()) else {
        return Ok(0);
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let prefix = format!("{}-spill-", name.to_string_lossy());
    let mut n_adopted = 0;
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if is_file && entry.file_name().to_string_lossy().starts_with(&prefix) {
            match adopt_file(connection, database, &entry.path()) {
                Ok(adopted) => n_adopted += usize::from(adopted),
                // One that cannot be read must not keep all else from being read.
                Err(StoreError::Io { .. }) => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(n_adopted)
}

fn adopt_file(connection: &mut Connection, database: &Path, path: &Path) -> Result<bool, StoreError> {
    let failed = |source| StoreError::sqlite(database, source);
    let io = |source| StoreError::Io { path: path.into(), source };
    let Ok(file) = File::open(path) else {
        return Ok(false);
    };
    if file.try_lock().is_err() {
        return Ok(false);
    }
    let mut reader = BufReader::new(&file);
    let Some(start) = read_start(&mut reader).map_err(io)? else {
        if file.metadata().is_ok_and(|metadata| metadata.len() == 0) {
            // Its tap was killed before it wrote anything.
            let _ = std::fs::remove_file(path);
        }
        return Ok(false);
    };
    // In several transactions, so that others get their turn; that is safe, for what is in the database already is told by
    // its number.
    let mut over = false;
    while !over {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let session = session_of(&transaction, &start).map_err(failed)?;
        let newest = "SELECT coalesce(max(number), -1) FROM segment WHERE session = ?";
        let newest: i64 = transaction.query_row(newest, [session], |row| row.get(0)).map_err(failed)?;
        for _ in 0..TAKEN_AT_ONCE {
            match read_record(&mut reader).map_err(io)? {
                Some((Record::Segment(number, segment), _)) if newest < signed(number) => {
                    insert_segments(&transaction, session, &[(number, segment)]).map_err(failed)?;
                }
                Some((Record::Segment(..), _)) => {}
                Some((Record::End(end), _)) => update_end(&transaction, session, &end).map_err(failed)?,
                None => {
                    over = true;
                    break;
                }
            }
        }
        forget_derived(&transaction, session).map_err(failed)?;
        transaction.commit().map_err(failed)?;
    }
    match std::fs::remove_file(path) {
        // Another process took it over between our opening and locking it.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(io(error)),
        _ => Ok(true),
    }
}

fn session_of(connection: &Connection, start: &SessionStart) -> rusqlite::Result<i64> {
    let known = "SELECT id FROM session WHERE uuid = ?";
    match connection.query_row(known, [&start.uuid], |row| row.get(0)).optional()? {
        Some(session) => Ok(session),
        None => insert_session(connection, start),
    }
}

/// Somebody may have taken the session for complete without what is in the spill file.
fn forget_derived(connection: &Connection, session: i64) -> rusqlite::Result<()> {
    let derived = "SELECT count(*) FROM sqlite_schema WHERE name IN ('digest', 'message')";
    if connection.query_row(derived, [], |row| row.get::<_, i64>(0))? == 2 {
        let finished = "SELECT count(*) FROM digest WHERE session = ? AND finished = 1";
        if connection.query_row(finished, [session], |row| row.get::<_, i64>(0))? == 1 {
            connection.execute("DELETE FROM message WHERE session = ?", [session])?;
            connection.execute("DELETE FROM digest WHERE session = ?", [session])?;
        }
    }
    Ok(())
}

fn read_start(reader: &mut impl std::io::BufRead) -> std::io::Result<Option<SessionStart>> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    if line != FORMAT {
        return Ok(None);
    }
    line.clear();
    reader.read_until(b'\n', &mut line)?;
    Ok(serde_json::from_slice(&line).ok().and_then(|value: Value| start_from_json(&value)))
}

fn start_to_json(start: &SessionStart) -> Value {
    json!({
        "uuid": start.uuid,
        "name": start.name,
        "transport": start.transport.name(),
        "command": start.command,
        "folder": start.folder,
        "environment": start.environment,
        "recorded_by": start.recorded_by,
        "tap_pid": start.tap_pid,
        "server_pid": start.server_pid,
        "opened_unix_ns": start.opened_unix_ns,
    })
}

fn start_from_json(value: &Value) -> Option<SessionStart> {
    let text = |key: &str| value[key].as_str().map(String::from);
    let texts = |key: &str| {
        value[key].as_array().map(|list| list.iter().filter_map(Value::as_str).map(String::from).collect::<Vec<_>>())
    };
    let pid = |key: &str| value[key].as_u64().and_then(|pid| u32::try_from(pid).ok());
    Some(SessionStart {
        uuid: text("uuid")?,
        name: text("name")?,
        transport: text("transport").and_then(|name| Transport::from_name(&name)).unwrap_or_default(),
        command: texts("command")?,
        folder: text("folder")?,
        environment: texts("environment")?,
        recorded_by: text("recorded_by")?,
        tap_pid: pid("tap_pid"),
        server_pid: pid("server_pid"),
        opened_unix_ns: value["opened_unix_ns"].as_u64()?,
    })
}

fn end_to_json(end: &SessionEnd) -> Value {
    let reason = match &end.reason {
        None => Value::Null,
        Some(EndReason::Exited(code)) => json!({ "exited": code }),
        Some(EndReason::Killed(number)) => json!({ "killed": number }),
        Some(EndReason::NotStarted(text)) => json!({ "not_started": text }),
        Some(EndReason::Stopped) => json!({ "stopped": true }),
    };
    json!({ "at_ns": end.at_ns, "lost_bytes": end.lost_bytes, "reason": reason })
}

fn end_from_json(bytes: &[u8]) -> Option<SessionEnd> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let reason = &value["reason"];
    let number = |key: &str| reason[key].as_i64().and_then(|number| i32::try_from(number).ok());
    let reason = number("exited")
        .map(EndReason::Exited)
        .or_else(|| number("killed").map(EndReason::Killed))
        .or_else(|| reason["not_started"].as_str().map(|text| EndReason::NotStarted(text.into())))
        .or_else(|| reason["stopped"].as_bool().map(|_| EndReason::Stopped));
    Some(SessionEnd { at_ns: value["at_ns"].as_u64()?, lost_bytes: unsigned(value["lost_bytes"].as_i64()?), reason })
}

#[cfg(test)]
mod tests;
