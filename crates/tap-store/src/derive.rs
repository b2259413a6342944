//! Derived tables: what the frames meant, worked out behind the recording.
//!
//! Any process that may write does it, a little at a time, each step one transaction that reads where the last one stood
//! and writes where this one stands. So it does not matter who does it, when, or how often he is killed.

mod resume;
mod rows;
mod unwritten;
mod works;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, named_params, params};
use tap_exchange::Conversation;
use tap_session::{HttpSessionNumber, Identity};

use crate::error::StoreError;
use crate::stored::segment_from;
use crate::writer::{Transport, signed, unsigned};

use resume::{passed, waiting};
use rows::{Counts, Rows};
use unwritten::Unwritten;
use works::Works;

/// Counts the changes of `derived.sql` and of the code that fills it.
const DERIVED_VERSION: i64 = 6;

const DERIVED_TABLES: &str = include_str!("derived.sql");

/// What they are called.
const TABLES: [&str; 4] = ["digest", "message", "exchange", "conversation"];

/// Segments worked through in one transaction, bytes: some milliseconds for which other writers wait.
const STEP_BYTES: u64 = 512 * 1024;

/// Rows that are gathered for one transaction. What is compressed may hold many in few bytes.
const STEP_ROWS: usize = 20_000;

/// A reader reads so much again, bytes, rather than wait for the tap, which needs not.
const READ_AGAIN_BYTES: u64 = 4 * 1024 * 1024;

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
    /// What was read and is not written, in order. It begins where `position` says.
    unwritten: VecDeque<Unwritten>,
    /// Sessions of MCP that changed in it.
    changed: BTreeMap<HttpSessionNumber, Conversation>,
    /// Where the session was left as far as this deriver knows, as it was written down, and what was written with it.
    position: String,
    counts: Counts,
    identity: Identity,
    finished: bool,
    /// How many segments were read, whatever for.
    #[cfg(test)]
    n_read: u64,
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
            unwritten: VecDeque::new(),
            changed: BTreeMap::new(),
            counts: Counts::default(),
            identity: Identity::default(),
            finished: false,
            #[cfg(test)]
            n_read: 0,
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
        let done = self.try_step(connection, over, behaviour);
        if done.is_err() && (self.transport == Transport::Stdio || self.works.is_over()) {
            // What was worked out is not in the database, and there may be more of it.
            self.begin_again();
        }
        done.map_err(|source| StoreError::sqlite(path, source))
    }

    /// Has the next step begin from what is in the database, whatever that is.
    fn begin_again(&mut self) {
        let new = Self { position: String::new(), ..Self::new(self.session, self.transport) };
        #[cfg(test)]
        let new = Self { n_read: self.n_read, ..new };
        *self = new;
    }

    /// How many segments were worked through.
    pub(crate) fn n_segments_done(&self) -> u64 {
        self.works.next_segment()
    }

    fn try_step(
        &mut self,
        connection: &mut Connection,
        over: bool,
        behaviour: TransactionBehavior,
    ) -> rusqlite::Result<Step> {
        match self.read_on(connection, over)? {
            None => Ok(Step::UpToDate),
            Some(Step::More) if self.unwritten.is_empty() => Ok(Step::More),
            Some(step) => self.write(connection, behaviour, step),
        }
    }

    /// Reads the next segments, if there are some. That needs no lock, so the others wait only while rows are written.
    fn read_on(&mut self, connection: &Connection, over: bool) -> rusqlite::Result<Option<Step>> {
        if !self.has_more(connection, over)? {
            return Ok(None);
        }
        self.load(connection)?;
        self.read(connection, over).map(Some)
    }

    /// Writes what was read, less what somebody else has written in the meantime.
    fn write(
        &mut self,
        connection: &mut Connection,
        behaviour: TransactionBehavior,
        step: Step,
    ) -> rusqlite::Result<Step> {
        let transaction = connection.transaction_with_behavior(behaviour)?;
        self.load(&transaction)?;
        if self.unwritten.is_empty() {
            return Ok(Step::More);
        }
        let mut counts = self.counts;
        for Unwritten { rows, counts: these, .. } in &self.unwritten {
            rows.write(&transaction, self.session)?;
            counts.add(these);
        }
        rows::write_conversations(&transaction, self.session, self.changed.values())?;
        let mut identity = self.identity.clone();
        match &self.works {
            Works::Stdio(reading) => identity.clone_from(reading.identity()),
            // As the table has it, which is the same however much is worked out at a time.
            Works::Http { .. } if !self.changed.is_empty() => {
                identity = rows::newest_identity(&transaction, self.session)?;
            }
            Works::Http { .. } => {}
        }
        let finished = self.unwritten.back().is_some_and(|last| last.is_end);
        let position = self.works.position(counts.n_frames);
        self.save(&transaction, &position, finished, &counts, &identity)?;
        transaction.commit()?;
        (self.position, self.finished, self.counts, self.identity) = (position, finished, counts, identity);
        self.unwritten.clear();
        self.changed.clear();
        Ok(step)
    }

    /// How many bytes of segments are still to be worked through.
    pub(crate) fn n_bytes_left(&self, connection: &Connection) -> rusqlite::Result<u64> {
        let next = signed(self.works.next_segment());
        let statement = "SELECT coalesce(sum(length(bytes)), 0) FROM segment WHERE session = ? AND number >= ?";
        connection.query_row(statement, params![self.session, next], |row| row.get(0).map(unsigned))
    }

    /// Whether it takes far more to read again what somebody else has worked out than to read on from there.
    pub(crate) fn should_rather_wait(&self, connection: &Connection) -> rusqlite::Result<bool> {
        if self.transport == Transport::Stdio {
            return Ok(false);
        }
        let stands_at = works::next_of(&self.stored_position(connection)?).unwrap_or(0);
        let mut select = connection.prepare_cached(
            "SELECT coalesce(sum(length(bytes)) FILTER (WHERE number < ?2), 0),
                    coalesce(sum(length(bytes)) FILTER (WHERE number >= ?2), 0)
             FROM segment WHERE session = ?1 AND number >= ?3",
        )?;
        let from = self.works.next_segment().min(stands_at);
        let (again, new): (i64, i64) = select
            .query_row(params![self.session, signed(stands_at), signed(from)], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(READ_AGAIN_BYTES < unsigned(again) && new < again)
    }

    /// Where the session was left, as it was written down; where every session begins, if it was not begun.
    fn stored_position(&self, connection: &Connection) -> rusqlite::Result<String> {
        let mut select = connection.prepare_cached("SELECT position FROM digest WHERE session = ?")?;
        let found = select.query_row([self.session], |row| row.get(0)).optional()?;
        Ok(found.unwrap_or_else(|| Works::begin(self.transport).position(0)))
    }

    /// Whether there is something to do.
    pub(crate) fn has_more(&mut self, connection: &Connection, over: bool) -> rusqlite::Result<bool> {
        let mut digest = connection.prepare_cached("SELECT finished, position FROM digest WHERE session = ?")?;
        let found: Option<(bool, String)> =
            digest.query_row([self.session], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        self.finished = found.as_ref().is_some_and(|(finished, _)| *finished);
        if self.finished || over {
            return Ok(!self.finished);
        }
        if !self.unwritten.is_empty() {
            return Ok(true);
        }
        // What somebody else has worked out need not be read to know that.
        let next = match (self.transport, found) {
            (Transport::Stdio, _) => self.works.next_segment(),
            (Transport::Http, found) => found.and_then(|(_, position)| works::next_of(&position)).unwrap_or(0),
        };
        let mut newest = connection.prepare_cached("SELECT max(number) FROM segment WHERE session = ?")?;
        let newest: Option<i64> = newest.query_row([self.session], |row| row.get(0))?;
        Ok(newest.is_some_and(|newest| signed(next) <= newest))
    }

    /// Takes over where another process stood, if one went on. What was read is kept as far as it is of use.
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
            let begin = Works::begin(self.transport).position(0);
            if self.position != begin {
                self.begin_again();
                self.position = begin;
            }
            return Ok(());
        };
        self.finished = finished;
        if text == self.position {
            return Ok(());
        }
        match self.transport {
            Transport::Stdio => {
                let Some(works) = Works::resume(
                    &text,
                    || Ok((waiting(connection, self.session)?, passed(connection, self.session)?)),
                    &identity,
                )?
                else {
                    return self.forget(connection);
                };
                self.works = works;
                self.unwritten.clear();
            }
            Transport::Http => {
                let Some(next) = works::next_of(&text) else {
                    return self.forget(connection);
                };
                self.go_on_from(next);
            }
        }
        self.position = text;
        self.counts = counts;
        self.identity = identity;
        Ok(())
    }

    /// Somebody else stands before this segment of a recording over HTTP.
    fn go_on_from(&mut self, next: u64) {
        let read = self.works.next_segment();
        let covers = self.unwritten.front().is_some_and(|first| first.from <= next);
        if (next < read && !covers) || (read < next && self.works.is_over()) {
            // He is behind: this was told of a position that is no more. Or there came more behind the end.
            self.begin_again();
        }
        self.works.resume_at(next);
        self.unwritten.retain(|this| next <= this.from);
        if self.unwritten.is_empty() {
            self.changed.clear();
        }
    }

    /// What was written makes no sense: as if nothing had been worked out.
    fn forget(&mut self, connection: &Connection) -> rusqlite::Result<()> {
        for table in TABLES {
            connection.execute(&format!("DELETE FROM {table} WHERE session = ?"), [self.session])?;
        }
        self.begin_again();
        self.position = self.works.position(0);
        Ok(())
    }

    /// Reads the next segments and gathers what their frames meant.
    fn read(&mut self, connection: &Connection, over: bool) -> rusqlite::Result<Step> {
        let mut n_bytes: u64 = self.unwritten.iter().map(|this| this.n_bytes).sum();
        let mut n_rows: usize = self.unwritten.iter().map(|this| this.rows.len()).sum();
        if STEP_BYTES <= n_bytes || STEP_ROWS <= n_rows || self.works.is_over() {
            // It could not be written yet.
            return Ok(Step::More);
        }
        let was_behind = self.works.is_behind();
        let mut step = Step::UpToDate;
        let mut select = connection.prepare_cached(
            "SELECT number, wall_ns, at_ns, pieces, bytes FROM segment WHERE session = ? AND number >= ? ORDER BY number",
        )?;
        let mut found = select.query(params![self.session, signed(self.works.first_segment_needed())])?;
        let mut n_read = 0;
        while let Some(row) = found.next()? {
            let (_, segment) = segment_from(row)?;
            n_read += 1;
            let weight = segment.weight() as u64;
            n_bytes += weight;
            if self.works.is_behind() {
                self.works.feed(&segment, &mut Counts::default(), &mut Rows::default());
            } else {
                let Some((this, works)) = self.gathering() else { break };
                this.n_bytes += weight;
                let before = this.rows.len();
                works.feed(&segment, &mut this.counts, &mut this.rows);
                n_rows += this.rows.len() - before;
            }
            if STEP_BYTES <= n_bytes || STEP_ROWS <= n_rows {
                step = Step::More;
                break;
            }
        }
        #[cfg(test)]
        {
            self.n_read += n_read;
        }
        if self.works.is_behind() {
            if n_read == 0 && was_behind {
                // It is said to stand behind segments that are not there.
                self.forget(connection)?;
            }
            return Ok(Step::More);
        }
        if over && step == Step::UpToDate {
            let next = self.works.next_segment();
            let mut this = Unwritten { from: next, is_end: true, ..Unwritten::default() };
            self.works.finish(&mut this.counts, &mut this.rows);
            self.unwritten.push_back(this);
        } else if self.transport == Transport::Stdio {
            // Also where no frame was completed.
            self.gathering();
        }
        let forgotten = self.unwritten.iter_mut().flat_map(|this| std::mem::take(&mut this.rows.forgotten));
        let forgotten: Vec<_> = forgotten.collect();
        for conversation in forgotten.into_iter().chain(self.works.changed()) {
            self.changed.insert(conversation.number, conversation);
        }
        Ok(step)
    }

    /// Where what is read next goes: over HTTP, that of each segment by itself, so that some of it may be left out.
    fn gathering(&mut self) -> Option<(&mut Unwritten, &mut Works)> {
        if self.transport == Transport::Http || self.unwritten.is_empty() {
            let from = self.works.next_segment();
            self.unwritten.push_back(Unwritten { from, ..Unwritten::default() });
        }
        Some((self.unwritten.back_mut()?, &mut self.works))
    }

    fn save(
        &self,
        connection: &Connection,
        position: &str,
        finished: bool,
        counts: &Counts,
        identity: &Identity,
    ) -> rusqlite::Result<()> {
        let mut replace = connection.prepare_cached(
            "INSERT OR REPLACE INTO digest (session, position, finished, n_frames, n_messages, n_calls, n_errors, n_bytes,
                                            client, server, revision)
             VALUES (:session, :position, :finished, :n_frames, :n_messages, :n_calls, :n_errors, :n_bytes,
                     :client, :server, :revision)",
        )?;
        replace.execute(named_params! {
            ":session": self.session,
            ":position": position,
            ":finished": finished,
            ":n_frames": signed(counts.n_frames),
            ":n_messages": signed(counts.n_messages),
            ":n_calls": signed(counts.n_calls),
            ":n_errors": signed(counts.n_errors),
            ":n_bytes": signed(counts.n_bytes),
            ":client": identity.client,
            ":server": identity.server,
            ":revision": identity.revision,
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests;
