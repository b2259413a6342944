//! The database's shape: opening it, and bringing an older one up to date.
//!
//! Two classes of tables. *Ground* tables hold what was on the wire and change only by a migration; `user_version` counts
//! those. *Derived* tables (see `derived.sql`) can be computed again from them and have a version of their own.

use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior, config::DbConfig};

use crate::error::StoreError;

/// One statement list a schema version; the first makes version 1. A landed one is never changed.
const MIGRATIONS: [&str; 5] = [
    include_str!("../migrations/0001_ground.sql"),
    include_str!("../migrations/0002_http.sql"),
    include_str!("../migrations/0003_marks.sql"),
    include_str!("../migrations/0004_acts.sql"),
    include_str!("../migrations/0005_audit.sql"),
];

/// The newest schema that this crate knows.
pub const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// "mtap" in ASCII: tells a recording from a database of another program.
const APPLICATION_ID: i64 = 0x6d74_6170;

/// Page size of a new database, bytes. Larger than SQLite's 4 KiB because most of the file is segments of up to 256 KiB:
/// measured here, 1 MiB blobs are written at 200 MB/s of processor time with 4 KiB pages, at 510 MB/s with 16 KiB.
const PAGE_BYTES: i64 = 16 * 1024;

/// How much of the write-ahead log is kept on disk when it is empty again, bytes.
const KEPT_LOG_BYTES: i64 = 16 * 1024 * 1024;

/// The write-ahead log is moved into the database when it has grown to this, bytes.
pub(crate) const CHECKPOINT_BYTES: u64 = 16 * 1024 * 1024;

/// How large the database's write-ahead log is, bytes.
pub(crate) fn log_bytes(database: &Path) -> u64 {
    let mut path = database.as_os_str().to_os_string();
    path.push("-wal");
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Moves the write-ahead log into the database. Waits for the disk. `mode` is SQLite's: `PASSIVE` disturbs nobody.
pub(crate) fn checkpoint(connection: &Connection, mode: &str) -> rusqlite::Result<()> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()))
}

/// Opens the database for writing, making it (0600, its folder 0700) or bringing it up to date where needed.
pub(crate) fn open_for_writing(path: &Path, patience: Duration) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    create(path)?;
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.busy_timeout(patience).map_err(failed)?;
    check(&connection, path)?;
    if connection.is_readonly(rusqlite::MAIN_DB).map_err(failed)? {
        // SQLite opens a file that may not be written for reading, and says so only when somebody writes.
        return Err(StoreError::NotWritable { path: path.into(), detail: "it is read-only".into() });
    }
    if journal_mode(&connection).map_err(failed)? != "wal" {
        // Only on a new file; needs the file for itself for a moment, so it may find it locked.
        connection.pragma_update(None, "page_size", PAGE_BYTES).map_err(failed)?;
        // So that what is deleted can be given back to the disk in small steps.
        connection.pragma_update(None, "auto_vacuum", "incremental").map_err(failed)?;
        connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    }
    // In WAL mode NORMAL makes every commit survive the death of any process, and a power cut cost the newest commits but
    // never the file. Checkpoints wait for the disk, so the recorder has another thread make them.
    connection.pragma_update(None, "synchronous", "normal").map_err(failed)?;
    connection.pragma_update(None, "wal_autocheckpoint", 0).map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", KEPT_LOG_BYTES).map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// Opens the database for reading; the flag tells whether it can be written too.
pub(crate) fn open_for_reading(path: &Path, patience: Duration) -> Result<(Connection, bool), StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing { path: path.into() });
    }
    match open_for_writing(path, patience) {
        Ok(connection) => {
            // The last one who leaves moves the log into the database, which makes the next opening cheap: a log that is
            // left has to be read whole. A tap does not, for its host waits; a reader has the time.
            let leave = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false);
            leave.map_err(|source| StoreError::sqlite(path, source))?;
            Ok((connection, true))
        }
        Err(StoreError::NotWritable { .. } | StoreError::Locked { .. } | StoreError::DiskFull { .. }) => {
            let connection = open_read_only(path)?;
            connection.busy_timeout(patience).map_err(|source| StoreError::sqlite(path, source))?;
            check(&connection, path)?;
            Ok((connection, false))
        }
        Err(error) => Err(error),
    }
}

/// An empty database in memory.
pub(crate) fn open_in_memory(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    let mut connection = Connection::open_in_memory().map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

/// A private database in a temporary file of SQLite's own, which has no name that anybody could find.
pub(crate) fn open_temporary(path: &Path) -> Result<Connection, StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    let mut connection = Connection::open("").map_err(failed)?;
    migrate(&mut connection, path)?;
    Ok(connection)
}

fn open_read_only(path: &Path) -> Result<Connection, StoreError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if user_version(&connection).is_ok() {
        return Ok(connection);
    }
    // A folder that cannot be written has no room for the log's index; a file in it cannot change either.
    let mut uri = std::ffi::OsString::from("file:");
    uri.push(path.as_os_str().to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23"));
    uri.push("?immutable=1");
    connect(&PathBuf::from(uri), OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // Each connection is used by one thread at a time.
    Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|source| StoreError::sqlite(path, source))
}

fn create(path: &Path) -> Result<(), StoreError> {
    if path.exists() {
        return Ok(());
    }
    let sort = |source: std::io::Error, at: &Path| match source.kind() {
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::NotWritable { path: at.into(), detail: source.to_string() }
        }
        std::io::ErrorKind::StorageFull => StoreError::DiskFull { path: at.into() },
        _ => StoreError::Io { path: at.into(), source },
    };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|source| sort(source, folder))?;
    }
    // Made by us, so that it is private from its first byte; SQLite gives its side files the same mode.
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map(drop)
        .map_err(|source| sort(source, path))
}

fn journal_mode(connection: &Connection) -> rusqlite::Result<String> {
    connection.pragma_query_value(None, "journal_mode", |row| row.get(0))
}

fn user_version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Refuses databases that are not ours or too new for us.
fn check(connection: &Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    // The tables are looked for first: another process may make the first migration right now, which brings them and the
    // application's id at once, so who sees the tables sees the id as well.
    let n_tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let found = user_version(connection).map_err(failed)?;
    let application: i64 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(failed)?;
    if application != APPLICATION_ID && n_tables > 0 {
        return Err(StoreError::NotARecording { path: path.into() });
    }
    if found > SCHEMA_VERSION {
        return Err(StoreError::TooNew { path: path.into(), found, known: SCHEMA_VERSION });
    }
    Ok(())
}

fn migrate(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let failed = |source| StoreError::sqlite(path, source);
    while user_version(connection).map_err(failed)? < SCHEMA_VERSION {
        let step = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
        // Another process may have made the step while we waited for the lock.
        let found = user_version(&step).map_err(failed)?;
        let Some(migration) = usize::try_from(found).ok().and_then(|found| MIGRATIONS.get(found)) else {
            break;
        };
        step.execute_batch(migration).map_err(failed)?;
        step.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
        step.pragma_update(None, "user_version", found + 1).map_err(failed)?;
        step.commit().map_err(failed)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
