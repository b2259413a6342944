//! One session's writing end of a database: what the recorder uses, and the importer.

use std::cell::OnceCell;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use rusqlite::{Connection, TransactionBehavior, named_params, params};
use tap_frame::Segment;

use crate::error::StoreError;
use crate::schema::open_for_writing;

/// How the two sides are connected.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// The server is a process whose standard streams carry the messages.
    #[default]
    Stdio,
    /// HTTP: a session is the life of a proxy, and there may be many sessions of MCP in it.
    Http,
}

impl Transport {
    /// What it is called in the database and in text recordings.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }

    /// The transport with this [`name`](Self::name).
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Stdio, Self::Http].into_iter().find(|transport| transport.name() == name)
    }
}

/// What is known about a session when it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionStart {
    /// 32 hexadecimal digits that no other session has.
    pub uuid: String,
    /// What a person calls the server.
    pub name: String,
    /// How the two sides are connected.
    pub transport: Transport,
    /// The server's command line, or its URL.
    pub command: Vec<String>,
    /// The working folder.
    pub folder: String,
    /// The names of the environment's variables. Never the values.
    pub environment: Vec<String>,
    /// `mcp-tap` and its version.
    pub recorded_by: String,
    /// The tap's process id; `None` for an imported session.
    pub tap_pid: Option<u32>,
    /// The server's process id, if it was started.
    pub server_pid: Option<u32>,
    /// Nanoseconds since the Unix epoch.
    pub opened_unix_ns: u64,
}

/// How a session ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The server exited with this code.
    Exited(i32),
    /// The server was killed by the signal with this number.
    Killed(i32),
    /// The server could not be started.
    NotStarted(String),
    /// The tap was asked to stop.
    Stopped,
}

/// What is known about a session when it is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionEnd {
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// How it ended. `None` where nobody knows.
    pub reason: Option<EndReason>,
    /// Bytes that passed and could not be recorded.
    pub lost_bytes: u64,
}

/// The writing end of one session.
#[derive(Debug)]
pub(crate) struct Writer {
    path: PathBuf,
    connection: Connection,
    session: i64,
    _alive: Option<File>,
}

impl Writer {
    /// Opens the database and begins a session in it. `patience` is how long one attempt waits for another writer.
    pub(crate) fn begin(path: &Path, start: &SessionStart, patience: Duration) -> Result<Self, StoreError> {
        let mut connection = open_for_writing(path, patience)?;
        let failed = |source| StoreError::sqlite(path, source);
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        let session = insert_session(&transaction, start).map_err(failed)?;
        // Before the session can be seen, so that nobody takes it for a dead one.
        let alive = start.tap_pid.and_then(|_| hold_alive(path, session));
        transaction.commit().map_err(failed)?;
        Ok(Self { path: path.into(), connection, session, _alive: alive })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn session(&self) -> i64 {
        self.session
    }

    pub(crate) fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    /// Appends segments, each with its number in the session, in one transaction: all or none.
    pub(crate) fn append<'a>(
        &mut self,
        segments: impl IntoIterator<Item = &'a (u64, Segment)>,
    ) -> Result<(), StoreError> {
        let failed = |source| StoreError::sqlite(&self.path, source);
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        insert_segments(&transaction, self.session, segments).map_err(failed)?;
        transaction.commit().map_err(failed)
    }

    /// Writes down how the session ended.
    pub(crate) fn end(&mut self, end: &SessionEnd) -> Result<(), StoreError> {
        update_end(&self.connection, self.session, end).map_err(|source| StoreError::sqlite(&self.path, source))
    }
}

pub(crate) fn insert_session(connection: &Connection, start: &SessionStart) -> rusqlite::Result<i64> {
    connection.execute(
        // The number of a session that was deleted is never given again: somebody may remember what it meant.
        "INSERT INTO session (id, uuid, name, command, folder, environment, transport, recorded_by, tap_pid, server_pid,
                              opened_unix_ns)
         VALUES ((SELECT coalesce(max(number), 0) + 1 FROM
                     (SELECT max(id) AS number FROM session UNION ALL SELECT max(session) FROM deleted)),
                 :uuid, :name, :command, :folder, :environment, :transport, :recorded_by, :tap_pid, :server_pid,
                 :opened_unix_ns)",
        named_params! {
            ":uuid": start.uuid,
            ":name": start.name,
            ":command": serde_json::Value::from(start.command.clone()).to_string(),
            ":folder": start.folder,
            ":environment": serde_json::Value::from(start.environment.clone()).to_string(),
            ":transport": start.transport.name(),
            ":recorded_by": start.recorded_by,
            ":tap_pid": start.tap_pid,
            ":server_pid": start.server_pid,
            ":opened_unix_ns": signed(start.opened_unix_ns),
        },
    )?;
    Ok(connection.last_insert_rowid())
}

pub(crate) fn insert_segments<'a>(
    connection: &Connection,
    session: i64,
    segments: impl IntoIterator<Item = &'a (u64, Segment)>,
) -> rusqlite::Result<()> {
    let mut insert = connection.prepare_cached(
        "INSERT INTO segment (session, number, wall_ns, at_ns, pieces, bytes) VALUES (?, ?, ?, ?, ?, ?)",
    )?;
    for (number, segment) in segments {
        let (wall_ns, at_ns) = (signed(segment.wall_ns), signed(segment.at_ns));
        insert.execute(params![session, signed(*number), wall_ns, at_ns, segment.pieces, segment.bytes])?;
    }
    Ok(())
}

pub(crate) fn update_end(connection: &Connection, session: i64, end: &SessionEnd) -> rusqlite::Result<()> {
    let (reason, code, text) = match &end.reason {
        None => (None, None, None),
        Some(EndReason::Exited(code)) => (Some("exited"), Some(*code), None),
        Some(EndReason::Killed(number)) => (Some("killed"), Some(*number), None),
        Some(EndReason::NotStarted(text)) => (Some("not started"), None, Some(text)),
        Some(EndReason::Stopped) => (Some("stopped"), None, None),
    };
    connection.execute(
        "UPDATE session SET closed_at_ns = ?, end_reason = ?, end_code = ?, end_text = ?, lost_bytes = ? WHERE id = ?",
        params![signed(end.at_ns), reason, code, text, signed(end.lost_bytes), session],
    )?;
    Ok(())
}

/// SQLite's integers are signed. Every number of ours that is stored fits; one that does not is stored as the largest.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The way back from [`signed`].
pub(crate) fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// The file whose byte at a session's number is locked for as long as that session's tap lives. The system lets go of
/// the lock however the tap ends, so this is the one way to tell a live session from a killed one that cannot be wrong.
fn alive_file(database: &Path) -> PathBuf {
    let mut name = database.as_os_str().to_os_string();
    name.push("-alive");
    name.into()
}

fn byte_lock(session: i64) -> libc::flock {
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: session,
        l_len: 1,
        l_pid: 0,
    }
}

fn hold_alive(database: &Path, session: i64) -> Option<File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = File::options();
    let file =
        options.read(true).write(true).create(true).truncate(false).mode(0o600).open(alive_file(database)).ok()?;
    fcntl(&file, FcntlArg::F_OFD_SETLK(&byte_lock(session))).ok()?;
    Some(file)
}

/// Tells which sessions have a tap that is alive.
#[derive(Debug)]
pub(crate) struct Liveness {
    path: PathBuf,
    /// Opened when it is there: the first tap of a database makes it.
    file: OnceCell<File>,
}

impl Liveness {
    pub(crate) fn of(database: &Path) -> Self {
        Self { path: alive_file(database), file: OnceCell::new() }
    }

    fn file(&self) -> Option<&File> {
        if self.file.get().is_none() {
            let path = &self.path;
            let opened = File::options().read(true).write(true).open(path).or_else(|_| File::open(path));
            let _ = self.file.set(opened.ok()?);
        }
        self.file.get()
    }

    pub(crate) fn is_live(&self, session: i64) -> bool {
        let Some(file) = self.file() else {
            return false;
        };
        let mut lock = byte_lock(session);
        let asked = fcntl(file, FcntlArg::F_OFD_GETLK(&mut lock));
        asked.is_ok() && lock.l_type != libc::F_UNLCK as libc::c_short
    }
}

impl std::fmt::Display for EndReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited ({code})"),
            Self::Killed(number) => match nix::sys::signal::Signal::try_from(*number) {
                Ok(signal) => write!(f, "killed by {}", signal.as_str()),
                Err(_) => write!(f, "killed by signal {number}"),
            },
            Self::NotStarted(_) => write!(f, "not started"),
            Self::Stopped => write!(f, "stopped"),
        }
    }
}
