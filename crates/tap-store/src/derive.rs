//! Derived tables: what the frames meant, worked out behind the recording.
//!
//! Any process that may write does it, a little at a time, each step one transaction that reads where the last one stood
//! and writes where this one stands. So it does not matter who does it, when, or how often he is killed.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params, params};
use tap_frame::{Direction, Origin, Stream};
use tap_jsonrpc::RawId;
use tap_session::{
    At, Event, FrameHead, Identity, MessageRow, Observer, Position, Reading, RowKind, Status, WaitingRequest,
};

use crate::error::StoreError;
use crate::stored::{end_code, position_from_text, position_to_text, segment_from};
use crate::writer::{signed, unsigned};

/// Counts the changes of `derived.sql` and of the code that fills it.
const DERIVED_VERSION: i64 = 3;

const DERIVED_TABLES: &str = include_str!("derived.sql");

/// Segments worked through in one transaction, bytes: some milliseconds for which other writers wait.
const STEP_BYTES: u64 = 512 * 1024;

/// Where the derived tables are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Derived {
    InDatabase,
    /// Of this connection alone.
    InMemory,
}

/// Makes the derived tables if they are not there, or not of this version.
///
/// In a database that cannot be written they are made beside it, in memory, and the same statements find them: SQLite
/// looks for a table among the temporary ones first.
pub(crate) fn prepare(connection: &mut Connection, path: &Path, writable: bool) -> Result<Derived, StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    let version = |connection: &Connection| -> rusqlite::Result<Option<i64>> {
        let there = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'derived_version'";
        match connection.query_row(there, [], |row| row.get::<_, i64>(0))? {
            0 => Ok(None),
            _ => connection.query_row("SELECT version FROM main.derived_version", [], |row| row.get(0)).optional(),
        }
    };
    let found = version(connection).map_err(failed)?;
    if found == Some(DERIVED_VERSION) && writable {
        return Ok(Derived::InDatabase);
    }
    if !writable || found.is_some_and(|found| found > DERIVED_VERSION) {
        let there = "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'digest'";
        if connection.query_row(there, [], |row| row.get::<_, i64>(0)).map_err(failed)? > 0 {
            return Ok(Derived::InMemory);
        }
        connection.pragma_update(None, "temp_store", "memory").map_err(failed)?;
        let tables = DERIVED_TABLES.replace("{schema}", "temp");
        connection.execute_batch(&tables).map_err(failed)?;
        if found == Some(DERIVED_VERSION) {
            let copy = "INSERT INTO temp.digest SELECT * FROM main.digest WHERE finished = 1;
                        INSERT INTO temp.message SELECT message.* FROM main.message
                            JOIN main.digest USING (session) WHERE finished = 1;";
            connection.execute_batch(copy).map_err(failed)?;
        }
        return Ok(Derived::InMemory);
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if version(&change).map_err(failed)? != Some(DERIVED_VERSION) {
        change
            .execute_batch(
                "DROP TABLE IF EXISTS main.message; DROP TABLE IF EXISTS main.digest;
                 DROP TABLE IF EXISTS main.derived_version;
                 CREATE TABLE main.derived_version (version INTEGER NOT NULL) STRICT;",
            )
            .map_err(failed)?;
        change.execute_batch(&DERIVED_TABLES.replace("{schema}", "main")).map_err(failed)?;
        change.execute("INSERT INTO main.derived_version VALUES (?)", [DERIVED_VERSION]).map_err(failed)?;
    }
    change.commit().map_err(failed)?;
    Ok(Derived::InDatabase)
}

/// Works out what one session's frames meant, and remembers between two steps what would have to be read again.
#[derive(Debug)]
pub(crate) struct Deriver {
    session: i64,
    reading: Reading,
    /// Where `reading` stands, as it was written down.
    position: String,
    counts: Counts,
    finished: bool,
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    n_frames: u64,
    n_messages: u64,
    n_calls: u64,
    n_errors: u64,
    n_bytes: u64,
}

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// There is more to do.
    More,
    /// All segments that are there were worked through.
    UpToDate,
}

impl Deriver {
    pub(crate) fn new(session: i64) -> Self {
        Self {
            session,
            reading: Reading::default(),
            position: position_to_text(&Position::default()),
            counts: Counts::default(),
            finished: false,
        }
    }

    /// Works through the next segments. `over` says that the session is over, so that frames that are still open end
    /// where the recording does.
    ///
    /// `behaviour` is how the transaction that writes begins: at once with the lock, or, where the derived tables lie in
    /// memory, without.
    pub(crate) fn step(
        &mut self,
        connection: &mut Connection,
        path: &Path,
        over: bool,
        behaviour: TransactionBehavior,
    ) -> Result<Step, StoreError> {
        let done = self.try_step(connection, path, over, behaviour);
        if done.is_err() {
            // What was worked out is not in the database.
            self.begin_again();
        }
        done
    }

    /// Has the next step begin from what is in the database, whatever that is.
    fn begin_again(&mut self) {
        *self = Self { position: String::new(), ..Self::new(self.session) };
    }

    /// How many segments were worked through.
    pub(crate) fn n_segments_done(&self) -> u64 {
        self.reading.position().next_segment
    }

    fn try_step(
        &mut self,
        connection: &mut Connection,
        path: &Path,
        over: bool,
        behaviour: TransactionBehavior,
    ) -> Result<Step, StoreError> {
        let failed = |source| StoreError::sqlite(path, source);
        if !self.has_more(connection, over).map_err(failed)? {
            return Ok(Step::UpToDate);
        }
        self.load(connection).map_err(failed)?;
        // Reading needs no lock, so the others wait only while rows are written.
        let before = self.position.clone();
        let mut rows = Rows::default();
        let step = self.read(connection, &mut rows, over).map_err(failed)?;
        let transaction = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        if stored_position(&transaction, self.session).map_err(failed)? != before {
            // Somebody else did it in the meantime.
            self.begin_again();
            return Ok(Step::More);
        }
        rows.write(&transaction, self.session).map_err(failed)?;
        self.save(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(step)
    }

    /// How many bytes of segments are still to be worked through.
    pub(crate) fn n_bytes_left(&self, connection: &Connection) -> rusqlite::Result<u64> {
        let next = signed(self.reading.position().next_segment);
        let statement = "SELECT coalesce(sum(length(bytes)), 0) FROM segment WHERE session = ? AND number >= ?";
        connection.query_row(statement, params![self.session, next], |row| row.get(0).map(unsigned))
    }

    fn has_more(&mut self, connection: &Connection, over: bool) -> rusqlite::Result<bool> {
        let mut digest = connection.prepare_cached("SELECT finished FROM digest WHERE session = ?")?;
        let finished = digest.query_row([self.session], |row| row.get(0)).optional()?;
        self.finished = finished == Some(true);
        if self.finished || over {
            return Ok(!self.finished);
        }
        let next = signed(self.reading.position().next_segment);
        let mut newest = connection.prepare_cached("SELECT max(number) FROM segment WHERE session = ?")?;
        let newest: Option<i64> = newest.query_row([self.session], |row| row.get(0))?;
        Ok(newest.is_some_and(|newest| next <= newest))
    }

    /// Takes over where another process stood, if one went on.
    fn load(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        let mut select = connection.prepare_cached(
            "SELECT position, finished, n_frames, n_messages, n_calls, n_errors, n_bytes, client, server, revision
             FROM digest WHERE session = ?",
        )?;
        let found = select
            .query_row([self.session], |row| {
                let counts = Counts {
                    n_frames: unsigned(row.get(2)?),
                    n_messages: unsigned(row.get(3)?),
                    n_calls: unsigned(row.get(4)?),
                    n_errors: unsigned(row.get(5)?),
                    n_bytes: unsigned(row.get(6)?),
                };
                let identity = Identity { client: row.get(7)?, server: row.get(8)?, revision: row.get(9)? };
                Ok((row.get::<_, String>(0)?, row.get::<_, bool>(1)?, counts, identity))
            })
            .optional()?;
        let Some((text, finished, counts, identity)) = found else {
            if self.position != position_to_text(&Position::default()) {
                *self = Self::new(self.session);
            }
            return Ok(());
        };
        self.finished = finished;
        if text == self.position {
            return Ok(());
        }
        let Some(position) = position_from_text(&text) else {
            // Unreadable: as if nothing had been worked out.
            connection.execute("DELETE FROM message WHERE session = ?", [self.session])?;
            connection.execute("DELETE FROM digest WHERE session = ?", [self.session])?;
            *self = Self::new(self.session);
            return Ok(());
        };
        let observer = Observer::resume(waiting(connection, self.session)?, identity);
        self.reading = Reading::resume(position, observer);
        self.position = text;
        self.counts = counts;
        Ok(())
    }

    /// Reads the next segments and gathers what their frames meant.
    fn read(&mut self, connection: &Connection, rows: &mut Rows, over: bool) -> rusqlite::Result<Step> {
        let mut step = Step::UpToDate;
        let mut n_bytes = 0;
        let counts = &mut self.counts;
        let mut keep = |head: &FrameHead, events: &mut Vec<Event>| {
            counts.frame(head);
            for event in events.drain(..) {
                counts.event(&event);
                rows.take(head, event);
            }
        };
        let mut select = connection.prepare_cached(
            "SELECT number, wall_ns, at_ns, pieces, bytes FROM segment WHERE session = ? AND number >= ? ORDER BY number",
        )?;
        let mut found = select.query(params![self.session, signed(self.reading.first_segment_needed())])?;
        while let Some(row) = found.next()? {
            let (_, segment) = segment_from(row)?;
            n_bytes += segment.weight() as u64;
            // Damage is told to whoever reads the bytes; here the rest of that segment is left out.
            let _ = self.reading.feed(&segment, &mut keep);
            if n_bytes >= STEP_BYTES {
                step = Step::More;
                break;
            }
        }
        if over && step == Step::UpToDate {
            self.reading.finish(&mut keep);
            self.finished = true;
        }
        self.position = position_to_text(&self.reading.position());
        Ok(step)
    }

    fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        let identity = self.reading.identity();
        let mut replace = connection.prepare_cached(
            "INSERT OR REPLACE INTO digest (session, position, finished, n_frames, n_messages, n_calls, n_errors, n_bytes,
                                            client, server, revision)
             VALUES (:session, :position, :finished, :n_frames, :n_messages, :n_calls, :n_errors, :n_bytes,
                     :client, :server, :revision)",
        )?;
        replace.execute(named_params! {
            ":session": self.session,
            ":position": self.position,
            ":finished": self.finished,
            ":n_frames": signed(self.counts.n_frames),
            ":n_messages": signed(self.counts.n_messages),
            ":n_calls": signed(self.counts.n_calls),
            ":n_errors": signed(self.counts.n_errors),
            ":n_bytes": signed(self.counts.n_bytes),
            ":client": identity.client,
            ":server": identity.server,
            ":revision": identity.revision,
        })?;
        Ok(())
    }
}

impl Counts {
    fn frame(&mut self, head: &FrameHead) {
        self.n_frames += 1;
        self.n_bytes += head.length;
        if head.stream != Stream::Stderr && head.origin == Origin::Wire {
            self.n_messages += 1;
        }
    }

    fn event(&mut self, event: &Event) {
        match event {
            Event::Row(row) => match row.kind {
                RowKind::Request => self.n_calls += 1,
                RowKind::NotAMessage | RowKind::NotJson => self.n_errors += 1,
                _ => {}
            },
            Event::Answered { status, .. } => self.n_errors += u64::from(*status != Status::Ok),
        }
    }
}

/// Rows that are to be written. Most answers come soon after their request, so that its row can be completed in here,
/// which saves writing it twice.
#[derive(Default)]
struct Rows {
    rows: Vec<(FrameHead, MessageRow)>,
    /// Where the requests among them are.
    requests: HashMap<At, usize>,
    /// Answers to requests that were written before.
    answers: Vec<Event>,
}

impl Rows {
    fn take(&mut self, head: &FrameHead, event: Event) {
        match event {
            Event::Row(row) => {
                if row.kind == RowKind::Request {
                    self.requests.insert(row.at, self.rows.len());
                }
                self.rows.push((*head, row));
            }
            Event::Answered { request, answer, latency_ns, status, ref error_code } => {
                let row = self.requests.get(&request).and_then(|index| self.rows.get_mut(*index));
                match row {
                    Some((_, row)) => {
                        row.pair = Some(answer);
                        row.latency_ns = Some(latency_ns);
                        row.status = Some(status);
                        row.error_code.clone_from(error_code);
                    }
                    None => self.answers.push(event),
                }
            }
        }
    }

    fn write(&self, connection: &Connection, session: i64) -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO message (session, seq, member, wall_ns, at_ns, stream, kind, raw_id, method, target, status,
                                  error_code, pair_seq, pair_member, latency_ns, segment, start, length, frame_end,
                                  lost_bytes, notes)
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?;
        for (head, row) in &self.rows {
            insert.execute(params![
                session,
                signed(row.at.seq),
                signed(row.at.member),
                signed(row.wall_ns),
                signed(row.at_ns),
                row.stream.code(),
                row.kind.code(),
                row.raw_id.as_ref().map(RawId::as_bytes),
                row.method,
                row.target,
                row.status.map(Status::code),
                row.error_code,
                row.pair.map(|pair| signed(pair.seq)),
                row.pair.map(|pair| signed(pair.member)),
                row.latency_ns.map(signed),
                signed(head.start.segment),
                signed(head.start.offset),
                signed(head.length),
                end_code(head.end),
                row.lost_bytes.map(signed),
                row.notes.bits(),
            ])?;
        }
        let mut update = connection.prepare_cached(
            "UPDATE message SET pair_seq = ?, pair_member = ?, latency_ns = ?, status = ?, error_code = ?
             WHERE session = ? AND seq = ? AND member = ?",
        )?;
        for event in &self.answers {
            if let Event::Answered { request, answer, latency_ns, status, error_code } = event {
                update.execute(params![
                    signed(answer.seq),
                    signed(answer.member),
                    signed(*latency_ns),
                    status.code(),
                    error_code,
                    session,
                    signed(request.seq),
                    signed(request.member),
                ])?;
            }
        }
        Ok(())
    }
}

/// Where the session was left, as it was written down; where every session begins, if it was not begun.
fn stored_position(connection: &Connection, session: i64) -> rusqlite::Result<String> {
    let mut select = connection.prepare_cached("SELECT position FROM digest WHERE session = ?")?;
    let found = select.query_row([session], |row| row.get(0)).optional()?;
    Ok(found.unwrap_or_else(|| position_to_text(&Position::default())))
}

fn waiting(connection: &Connection, session: i64) -> rusqlite::Result<Vec<WaitingRequest>> {
    let mut select = connection.prepare_cached(
        "SELECT seq, member, at_ns, stream, raw_id, method, target FROM message INDEXED BY message_waiting
         WHERE session = ? AND kind = 1 AND pair_seq IS NULL AND raw_id IS NOT NULL ORDER BY seq, member",
    )?;
    let found = select.query_map([session], |row| {
        Ok(WaitingRequest {
            scope: 0,
            at: At { seq: unsigned(row.get(0)?), member: unsigned(row.get(1)?) },
            at_ns: unsigned(row.get(2)?),
            direction: Stream::from_code(row.get(3)?).map_or(Direction::ToServer, Stream::direction),
            raw_id: RawId::from_token(&row.get::<_, Vec<u8>>(4)?),
            method: row.get(5)?,
            target: row.get(6)?,
        })
    })?;
    found.collect()
}

#[cfg(test)]
mod tests;
