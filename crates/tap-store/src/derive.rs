//! Derived tables: what the frames meant, worked out behind the recording.
//!
//! Any process that may write does it, a little at a time, each step one transaction that reads where the last one stood
//! and writes where this one stands. So it does not matter who does it, when, or how often he is killed.

mod rows;
mod works;

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params, params};
use tap_frame::{Direction, Stream};
use tap_jsonrpc::RawId;
use tap_session::{At, Identity, WaitingRequest};

use crate::error::StoreError;
use crate::stored::segment_from;
use crate::writer::{Transport, signed, unsigned};

use rows::{Counts, Rows};
use works::Works;

/// Counts the changes of `derived.sql` and of the code that fills it.
const DERIVED_VERSION: i64 = 4;

const DERIVED_TABLES: &str = include_str!("derived.sql");

/// What they are called.
const TABLES: [&str; 4] = ["digest", "message", "exchange", "conversation"];

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
            let copy = |table: &str| {
                format!(
                    "INSERT INTO temp.{table} SELECT this.* FROM main.{table} AS this
                     JOIN main.digest AS known ON known.session = this.session WHERE known.finished = 1;"
                )
            };
            connection.execute_batch(&TABLES.map(copy).concat()).map_err(failed)?;
        }
        return Ok(Derived::InMemory);
    }
    let change = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    if version(&change).map_err(failed)? != Some(DERIVED_VERSION) {
        let drop = |table: &str| format!("DROP TABLE IF EXISTS main.{table};");
        change.execute_batch(&TABLES.map(drop).concat()).map_err(failed)?;
        change
            .execute_batch(
                "DROP TABLE IF EXISTS main.derived_version;
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
    transport: Transport,
    works: Works,
    /// Where `works` stands, or is on its way to, as it was written down.
    position: String,
    counts: Counts,
    identity: Identity,
    finished: bool,
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
    pub(crate) fn new(session: i64, transport: Transport) -> Self {
        let works = Works::begin(transport);
        Self {
            session,
            transport,
            position: works.position(0),
            works,
            counts: Counts::default(),
            identity: Identity::default(),
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
        *self = Self { position: String::new(), ..Self::new(self.session, self.transport) };
    }

    /// The same, when that is this: what was read is kept if it is of use.
    fn begin_again_at(&mut self, position: &str) {
        let works = std::mem::replace(&mut self.works, Works::begin(self.transport));
        self.begin_again();
        if works.leads_to(position) {
            self.works = works;
        }
    }

    /// How many segments were worked through.
    pub(crate) fn n_segments_done(&self) -> u64 {
        self.works.next_segment()
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
        if self.works.is_behind() {
            // Nothing is new yet.
            return Ok(Step::More);
        }
        let transaction = connection.transaction_with_behavior(behaviour).map_err(failed)?;
        let stored = self.stored_position(&transaction).map_err(failed)?;
        if stored != before {
            // Somebody else did it in the meantime.
            self.begin_again_at(&stored);
            return Ok(Step::More);
        }
        rows.write(&transaction, self.session).map_err(failed)?;
        self.save(&transaction).map_err(failed)?;
        transaction.commit().map_err(failed)?;
        Ok(step)
    }

    /// How many bytes of segments are still to be worked through.
    pub(crate) fn n_bytes_left(&self, connection: &Connection) -> rusqlite::Result<u64> {
        let next = signed(self.works.next_segment());
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
        let next = signed(self.works.next_segment());
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
            if self.position != Works::begin(self.transport).position(0) {
                *self = Self::new(self.session, self.transport);
            }
            return Ok(());
        };
        self.finished = finished;
        if text == self.position {
            return Ok(());
        }
        let waiting = || waiting(connection, self.session);
        let works = std::mem::replace(&mut self.works, Works::begin(self.transport));
        let Some(works) = works.resume(&text, waiting, &identity)? else {
            // Unreadable: as if nothing had been worked out.
            for table in TABLES {
                connection.execute(&format!("DELETE FROM {table} WHERE session = ?"), [self.session])?;
            }
            *self = Self::new(self.session, self.transport);
            return Ok(());
        };
        self.works = works;
        self.position = text;
        self.counts = counts;
        self.identity = identity;
        Ok(())
    }

    /// Reads the next segments and gathers what their frames meant.
    fn read(&mut self, connection: &Connection, rows: &mut Rows, over: bool) -> rusqlite::Result<Step> {
        let mut step = Step::UpToDate;
        let mut n_bytes = 0;
        let mut select = connection.prepare_cached(
            "SELECT number, wall_ns, at_ns, pieces, bytes FROM segment WHERE session = ? AND number >= ? ORDER BY number",
        )?;
        let mut found = select.query(params![self.session, signed(self.works.first_segment_needed())])?;
        while let Some(row) = found.next()? {
            let (_, segment) = segment_from(row)?;
            n_bytes += segment.weight() as u64;
            self.works.feed(&segment, &mut self.counts, rows);
            if n_bytes >= STEP_BYTES {
                step = Step::More;
                break;
            }
        }
        if self.works.is_behind() {
            return Ok(Step::More);
        }
        if over && step == Step::UpToDate {
            self.works.finish(&mut self.counts, rows);
            self.finished = true;
        }
        self.works.introduce(&mut self.identity, rows);
        self.position = self.works.position(self.counts.n_frames);
        Ok(step)
    }

    /// Where the session was left, as it was written down; where every session begins, if it was not begun.
    fn stored_position(&self, connection: &Connection) -> rusqlite::Result<String> {
        let mut select = connection.prepare_cached("SELECT position FROM digest WHERE session = ?")?;
        let found = select.query_row([self.session], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or_else(|| Works::begin(self.transport).position(0)))
    }

    fn save(&self, connection: &Connection) -> rusqlite::Result<()> {
        let identity = &self.identity;
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
