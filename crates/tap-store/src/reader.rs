//! Reading recordings: sessions, lists, frames.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rusqlite::TransactionBehavior::{Deferred, Immediate};
use rusqlite::{Connection, OptionalExtension, params};
use tap_frame::Segment;
use tap_session::{At, FrameEnd, HttpSessionNumber, Identity, MessageRow};

use crate::derive::{Deriver, Step, prepare};
use crate::error::StoreError;
use crate::fetched::{Fetched, Newest};
use crate::schema::{open_for_reading, open_for_writing};
use crate::search::Texts;
use crate::spill::adopt;
use crate::stored::{LISTED_COLUMNS, columns, listed_from, segment_from, session_from};
use crate::writer::{
    Liveness, SessionEnd, SessionStart, Transport, insert_segments, insert_session, signed, unsigned, update_end,
};

/// How long a reader waits for a writer before it works out in memory what it would have written.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often it is looked whether a tap has gone on.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How long an import waits for a writer before it says that the database is locked.
const LONG_PATIENCE: Duration = Duration::from_secs(10);

/// How many segments an import puts in with one transaction.
const SEGMENTS_AT_ONCE: usize = 16;

/// A session's number in its database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionId(pub i64);

/// All about a session but its traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its number in this database.
    pub id: SessionId,
    /// What was known when it opened.
    pub start: SessionStart,
    /// Whether its tap is running.
    pub live: bool,
    /// How it ended. `None` while it is live, and when the tap was killed.
    pub end: Option<SessionEnd>,
    /// What its frames came to.
    pub digest: Digest,
    /// What a person calls it.
    pub label: Option<String>,
}

/// What a session's frames come to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Digest {
    /// All frames, stderr included.
    pub n_frames: u64,
    /// Frames on stdin and stdout; over HTTP, messages of MCP.
    pub n_messages: u64,
    /// Requests, either way.
    pub n_calls: u64,
    /// Requests answered with an error or a tool error, and what is no message though it should be one. Over HTTP also
    /// exchanges of MCP whose status says that they failed, and of others those where it says that the server did.
    pub n_errors: u64,
    /// Bytes of all frames.
    pub n_bytes: u64,
    /// The clock of the newest that was recorded, nanoseconds since the session opened; of one that is over, when it ended.
    pub newest_at_ns: u64,
    /// Who talked; over HTTP, where there may be many, who came last.
    pub identity: Identity,
}

/// A line of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// What it is.
    pub row: MessageRow,
    /// Length of its frame, bytes.
    pub length: u64,
    /// Of a request that was answered: length of the answer's frame, bytes.
    pub answer_length: Option<u64>,
    /// Why its frame ended where it did.
    pub frame_end: FrameEnd,
    /// The exchange of HTTP that it was in.
    pub exchange: Option<u64>,
    /// The session of MCP that it belongs to, where a recording holds many.
    pub conversation: Option<HttpSessionNumber>,
}

/// Which rows a list holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// Requests with what became of them, exchanges of HTTP that carry no message, and what is no message though it should be
    /// one.
    Calls,
    /// Every frame, and the members of batches.
    Frames,
}

/// Which rows are in the list of calls: said as the index of them says it.
pub(crate) const CALLS: &str =
    "AND (message.kind = 1 OR message.kind = 6 OR message.kind = 7 OR message.kind = 10 OR message.kind = 11)";

/// Which part of a list is wanted. Numbers are of frames and inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The first ones of those from this number on.
    From(u64),
    /// The first ones of those behind this row.
    After(At),
    /// The last ones of those up to this number, in rising order.
    UpTo(u64),
    /// The last ones of those before this row, in rising order.
    Before(At),
}

/// A database, opened for reading.
#[derive(Debug)]
pub struct Store {
    path: PathBuf,
    pub(crate) connection: RefCell<Connection>,
    /// Whether derived tables are in the database, and not beside it in memory.
    writable: Cell<bool>,
    liveness: Liveness,
    derivers: RefCell<HashMap<SessionId, Deriver>>,
    newest: RefCell<Newest>,
    pub(crate) texts: Texts,
    /// Whether it has the tables of what people say: one that cannot be written may be too old for that.
    has_bookmarks: bool,
}

impl Store {
    /// Opens the recordings at `path`.
    ///
    /// # Errors
    ///
    /// When there are none, or they cannot be read by this version.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let (mut connection, writable) = open_for_reading(path, PATIENCE)?;
        let mut writable = writable;
        if writable {
            match adopt(&mut connection, path).and_then(|_| prepare(&mut connection, path, true)) {
                Ok(_) => {}
                // What is recorded can be read all the same.
                Err(error) if error.forbids_writing() => writable = false,
                Err(error) => return Err(error),
            }
        }
        Self::with(connection, path, writable)
    }

    /// Opens the recordings at `path`, or makes an empty store there.
    ///
    /// # Errors
    ///
    /// When there are some that cannot be read by this version, or none can be made.
    pub fn open_or_create(path: &Path) -> Result<Self, StoreError> {
        drop(open_for_writing(path, LONG_PATIENCE)?);
        Self::open(path)
    }

    /// An empty store in memory, for recordings in text form.
    ///
    /// # Errors
    ///
    /// When there is no memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = Path::new(":memory:");
        let connection = crate::schema::open_in_memory(path)?;
        Self::with(connection, path, true)
    }

    /// An empty store that nobody else can open, for recordings in text form that are too large for memory: what does not fit
    /// into a few megabytes lies in a temporary file that is gone with the store, however we end.
    ///
    /// # Errors
    ///
    /// When no temporary file can be made.
    pub fn temporary() -> Result<Self, StoreError> {
        let path = Path::new(":temporary:");
        let connection = crate::schema::open_temporary(path)?;
        Self::with(connection, path, true)
    }

    /// Puts all recordings into a new database, where others find them too.
    ///
    /// # Errors
    ///
    /// When there is something at `path`, or it cannot be written.
    pub fn copy_to(&self, path: &Path) -> Result<(), StoreError> {
        let failed = |source| StoreError::sqlite(path, source);
        let to = path.to_str().ok_or_else(|| failed(rusqlite::Error::InvalidPath(path.into())))?;
        self.connection.borrow().execute("VACUUM main INTO ?", [to]).map_err(failed)?;
        // As a database is that somebody records into.
        Self::open_or_create(path).map(drop)
    }

    fn with(mut connection: Connection, path: &Path, writable: bool) -> Result<Self, StoreError> {
        prepare(&mut connection, path, writable)?;
        let texts = Texts::default();
        texts.register(&connection).map_err(|source| StoreError::sqlite(path, source))?;
        let has_bookmarks = "SELECT count(*) = 3 FROM main.sqlite_schema WHERE name IN ('label', 'mark', 'deleted')";
        let has_bookmarks = connection.query_row(has_bookmarks, [], |row| row.get(0));
        let has_bookmarks = has_bookmarks.map_err(|source| StoreError::sqlite(path, source))?;
        Ok(Self {
            has_bookmarks,
            path: path.into(),
            connection: RefCell::new(connection),
            writable: Cell::new(writable),
            liveness: Liveness::of(path),
            derivers: RefCell::default(),
            newest: RefCell::default(),
            texts,
        })
    }

    /// Where the recordings lie.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn has_bookmarks(&self) -> bool {
        self.has_bookmarks
    }

    /// Forgets what is kept of a session that is no more.
    pub(crate) fn forget(&self, session: SessionId) {
        self.derivers.borrow_mut().remove(&session);
        self.newest.take();
    }

    pub(crate) fn sort(&self, source: rusqlite::Error) -> StoreError {
        StoreError::sqlite(&self.path, source)
    }

    /// All sessions, the one that was put in last first, with what their frames came to as far as that was worked out:
    /// [`catch_up`](Self::catch_up) first for the newest figures.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn sessions(&self) -> Result<Vec<Session>, StoreError> {
        self.sessions_where("true", [])
    }

    /// One session, as [`sessions`](Self::sessions) has it. Costs the same however many there are.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn session(&self, session: SessionId) -> Result<Option<Session>, StoreError> {
        Ok(self.sessions_where("session.id = ?", [session.0])?.pop())
    }

    fn sessions_where(&self, wanted: &str, numbers: impl rusqlite::Params) -> Result<Vec<Session>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Session>> {
            let (label, is_there) = if self.has_bookmarks {
                (
                    "(SELECT label FROM label WHERE label.session = session.id)",
                    "session.id NOT IN (SELECT session FROM deleted)",
                )
            } else {
                ("NULL", "true")
            };
            let mut select = connection.prepare_cached(&format!(
                "SELECT session.id, uuid, name, transport, command, folder, environment, recorded_by, tap_pid, server_pid,
                        opened_unix_ns, closed_at_ns, end_reason, end_code, end_text, lost_bytes,
                        n_frames, n_messages, n_calls, n_errors, n_bytes, client, server, revision,
                        coalesce(closed_at_ns, newest.at_ns) AS newest_at_ns,
                        CASE WHEN closed_at_ns IS NULL THEN newest.pieces END AS newest_pieces,
                        CASE WHEN closed_at_ns IS NULL THEN newest.bytes END AS newest_bytes,
                        {label} AS label
                 FROM session LEFT JOIN digest ON digest.session = session.id
                 LEFT JOIN segment AS newest ON newest.session = session.id AND newest.number =
                     (SELECT max(number) FROM segment WHERE segment.session = session.id)
                 WHERE {is_there} AND {wanted}
                 ORDER BY session.id DESC",
            ))?;
            let found = select.query_map(numbers, |row| session_from(row, &self.liveness))?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// Works out what a session's newest frames meant. `progress` is told the share that is done, from 0 to 1, now and
    /// then; a million messages take about two seconds the first time, and nothing afterwards.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn catch_up(&self, session: SessionId, mut progress: impl FnMut(f64)) -> Result<(), StoreError> {
        let go_on = |share| {
            progress(share);
            true
        };
        self.catch_up_while(session, go_on).map(|_| ())
    }

    /// The same for so long, or a little longer. True when there is no more to do.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn catch_up_for(&self, session: SessionId, limit: Duration) -> Result<bool, StoreError> {
        let began = Instant::now();
        self.catch_up_while(session, |_| began.elapsed() < limit)
    }

    /// The same as long as `go_on`, which is told the share that is done, says so. True when there is no more to do.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn catch_up_while(&self, session: SessionId, mut go_on: impl FnMut(f64) -> bool) -> Result<bool, StoreError> {
        let over = !self.liveness.is_live(session.0);
        if !over {
            self.wait_for_tap(session)?;
        }
        loop {
            let mut derivers = self.derivers.borrow_mut();
            let transport = self.transport(session)?;
            let deriver = derivers.entry(session).or_insert_with(|| Deriver::new(session.0, transport));
            let mut connection = self.connection.borrow_mut();
            let behaviour = if self.writable.get() { Immediate } else { Deferred };
            match deriver.step(&mut connection, &self.path, over, behaviour) {
                Ok(Step::UpToDate) => return Ok(true),
                Ok(Step::More) => {
                    let newest = "SELECT max(number) + 1 FROM segment WHERE session = ?";
                    let n_segments: Option<i64> = connection
                        .query_row(newest, [session.0], |row| row.get(0))
                        .map_err(|source| self.sort(source))?;
                    if !go_on(deriver.n_segments_done() as f64 / n_segments.unwrap_or(1).max(1) as f64) {
                        return Ok(false);
                    }
                }
                // No room for what can be worked out again, or no leave to write it: it goes into memory.
                Err(error) if error.forbids_writing() && self.writable.get() => {
                    derivers.clear();
                    prepare(&mut connection, &self.path, false)?;
                    self.writable.set(false);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives a tap that is running a moment to work out the newest itself, where somebody else would have to read again
    /// all that there is.
    fn wait_for_tap(&self, session: SessionId) -> Result<(), StoreError> {
        let transport = self.transport(session)?;
        let mut derivers = self.derivers.borrow_mut();
        let deriver = derivers.entry(session).or_insert_with(|| Deriver::new(session.0, transport));
        let connection = self.connection.borrow();
        let began = Instant::now();
        let mut should_wait = || Ok(deriver.has_more(&connection, false)? && deriver.should_rather_wait(&connection)?);
        while self.writable.get()
            && transport == Transport::Http
            && began.elapsed() < PATIENCE
            && self.is_live(session)
            && should_wait().map_err(|source| self.sort(source))?
        {
            // tidy: sleeps because the tap is another process, which tells nobody.
            std::thread::sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    /// How the two sides of a session are connected.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn transport(&self, session: SessionId) -> Result<Transport, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Option<String>> {
            let mut select = connection.prepare_cached("SELECT transport FROM session WHERE id = ?")?;
            select.query_row([session.0], |row| row.get(0)).optional()
        };
        let name = read().map_err(|source| self.sort(source))?;
        Ok(name.as_deref().and_then(Transport::from_name).unwrap_or_default())
    }

    /// Whether the session's tap is running.
    #[must_use]
    pub fn is_live(&self, session: SessionId) -> bool {
        self.liveness.is_live(session.0)
    }

    /// At most `limit` rows of a list, in rising order. Costs what those rows cost, however long the list is.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn list(&self, session: SessionId, kind: ListKind, part: Part, limit: u64) -> Result<Vec<Listed>, StoreError> {
        self.list_of(session, None, kind, part, limit)
    }

    /// The same of one session of MCP inside a recording over HTTP, if one is named.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn list_of(
        &self,
        session: SessionId,
        conversation: Option<HttpSessionNumber>,
        kind: ListKind,
        part: Part,
        limit: u64,
    ) -> Result<Vec<Listed>, StoreError> {
        let connection = self.connection.borrow();
        let (bound, order, edge) = match part {
            Part::From(seq) => (">=", "ASC", At { seq, member: 0 }),
            Part::After(at) => (">", "ASC", at),
            Part::UpTo(seq) => ("<=", "DESC", At { seq, member: u64::MAX }),
            Part::Before(at) => ("<", "DESC", at),
        };
        let filter = match kind {
            ListKind::Calls => CALLS,
            ListKind::Frames => "",
        };
        let of = conversation.map_or_else(String::new, |number| format!("AND message.conversation = {}", number.0));
        let columns = columns("message", LISTED_COLUMNS);
        let statement = format!(
            "SELECT {columns}, answer.length FROM message
             LEFT JOIN message AS answer ON message.kind = 1 AND answer.session = message.session
                 AND answer.seq = message.pair_seq AND answer.member = message.pair_member
                 AND (answer.seq, answer.member) <> (message.seq, message.member)
             WHERE message.session = ? AND (message.seq, message.member) {bound} (?, ?) {filter} {of}
             ORDER BY message.seq {order}, message.member {order} LIMIT ?"
        );
        let read = || -> rusqlite::Result<Vec<Listed>> {
            let mut select = connection.prepare_cached(&statement)?;
            let found =
                select.query_map(params![session.0, signed(edge.seq), signed(edge.member), signed(limit)], |row| {
                    let answer_length = row.get::<_, Option<i64>>(LISTED_COLUMNS.len())?.map(unsigned);
                    Ok(Listed { answer_length, ..listed_from(row, 0)? })
                })?;
            found.collect()
        };
        let mut rows = read().map_err(|source| self.sort(source))?;
        if let Part::UpTo(_) | Part::Before(_) = part {
            rows.reverse();
        }
        Ok(rows)
    }

    /// The requests that have no answer, in the order in which they came.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn unanswered(&self, session: SessionId) -> Result<Vec<Listed>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Listed>> {
            let columns = columns("message", LISTED_COLUMNS);
            let mut select = connection.prepare_cached(&format!(
                "SELECT {columns} FROM message INDEXED BY message_waiting
                 WHERE session = ? AND kind = 1 AND pair_seq IS NULL AND gone IS NULL ORDER BY seq, member"
            ))?;
            let found = select.query_map([session.0], |row| listed_from(row, 0))?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// One row: a frame (member 0) or a member of a batch.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn row(&self, session: SessionId, at: At) -> Result<Option<Listed>, StoreError> {
        let part = match at.member.checked_sub(1) {
            Some(member) => Part::After(At { member, ..at }),
            None => Part::From(at.seq),
        };
        let rows = self.list(session, ListKind::Frames, part, 1)?;
        Ok(rows.into_iter().find(|listed| listed.row.at == at))
    }

    /// The number of its newest frame whose meaning was worked out; 0 when there is none.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn newest_seq(&self, session: SessionId) -> Result<u64, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Option<i64>> {
            let mut select = connection.prepare_cached("SELECT max(seq) FROM message WHERE session = ?")?;
            select.query_row([session.0], |row| row.get(0))
        };
        Ok(read().map_err(|source| self.sort(source))?.map_or(0, unsigned))
    }

    pub(crate) fn segment(&self, session: SessionId, number: u64) -> Result<Option<Rc<Segment>>, StoreError> {
        Ok(self.fetched(session, number)?.map(|fetched| fetched.segment.clone()))
    }

    pub(crate) fn fetched(&self, session: SessionId, number: u64) -> Result<Option<Rc<Fetched>>, StoreError> {
        if let Some(fetched) = self.newest.borrow_mut().get(session, number) {
            return Ok(Some(fetched));
        }
        let connection = self.connection.borrow();
        let statement = "SELECT number, wall_ns, at_ns, pieces, bytes FROM segment WHERE session = ? AND number = ?";
        let read = || -> rusqlite::Result<Option<(u64, Segment)>> {
            connection.prepare_cached(statement)?.query_row(params![session.0, signed(number)], segment_from).optional()
        };
        let found = read().map_err(|source| self.sort(source))?;
        Ok(found.map(|(_, segment)| self.newest.borrow_mut().put(session, number, segment)))
    }

    /// Puts a whole session in: what an import does. All of it, or nothing when there is an error.
    ///
    /// # Errors
    ///
    /// When the database cannot be written, and any error of `segments`.
    pub fn put_in(
        &self,
        start: &SessionStart,
        segments: impl Iterator<Item = Result<Segment, StoreError>>,
        end: impl FnOnce() -> Option<SessionEnd>,
    ) -> Result<SessionId, StoreError> {
        let mut connection = self.connection.borrow_mut();
        connection.busy_timeout(LONG_PATIENCE).map_err(|source| self.sort(source))?;
        let session = insert_session(&connection, start).map_err(|source| self.sort(source))?;
        let put = self.put_segments(&mut connection, session, segments).and_then(|()| match end() {
            Some(end) => update_end(&connection, session, &end).map_err(|source| self.sort(source)),
            None => Ok(()),
        });
        if let Err(error) = put {
            connection.execute("DELETE FROM session WHERE id = ?", [session]).map_err(|source| self.sort(source))?;
            return Err(error);
        }
        connection.busy_timeout(PATIENCE).map_err(|source| self.sort(source))?;
        Ok(SessionId(session))
    }

    /// Puts segments in, some at a time, so that taps that record are not kept waiting.
    fn put_segments(
        &self,
        connection: &mut Connection,
        session: i64,
        segments: impl Iterator<Item = Result<Segment, StoreError>>,
    ) -> Result<(), StoreError> {
        let mut segments = (0..).zip(segments);
        loop {
            // Read before the lock is taken.
            let batch = segments.by_ref().take(SEGMENTS_AT_ONCE).map(|(number, segment)| Ok((number, segment?)));
            let batch: Vec<(u64, Segment)> = batch.collect::<Result<_, StoreError>>()?;
            if batch.is_empty() {
                return Ok(());
            }
            let transaction = connection.transaction_with_behavior(Immediate).map_err(|source| self.sort(source))?;
            insert_segments(&transaction, session, &batch).map_err(|source| self.sort(source))?;
            transaction.commit().map_err(|source| self.sort(source))?;
        }
    }

    /// Whether a session with this uuid is there.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn has(&self, uuid: &str) -> Result<bool, StoreError> {
        let connection = self.connection.borrow();
        let count =
            connection.query_row("SELECT count(*) FROM session WHERE uuid = ?", [uuid], |row| row.get::<_, i64>(0));
        Ok(count.map_err(|source| self.sort(source))? > 0)
    }
}

#[cfg(test)]
mod tests;
