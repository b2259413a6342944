//! How long recordings are kept: which sessions go, how their room in the file is given back while taps write, and what is
//! taken over from other databases.

use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::bookmarks::Refused;
use crate::error::StoreError;
use crate::reader::{Session, SessionId, Store};
use crate::schema::checkpoint;

/// Pages that are given back in one transaction, so that taps that record are not kept waiting.
const PAGES_AT_ONCE: i64 = 512;

/// How long is waited for readers before the file is left as long as it is.
const CHECKPOINT_PATIENCE: Duration = Duration::from_secs(5);

/// How often is looked whether readers have left.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// SQLite's number of `PRAGMA auto_vacuum = INCREMENTAL`.
const INCREMENTAL: i64 = 2;

/// What of a row of a message is in the database besides its bytes, bytes; measured over recordings of many kinds.
const ROW_BYTES: u64 = 150;

/// What may stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Sessions whose last message is older go, nanoseconds since the Unix epoch.
    pub oldest_unix_ns: Option<u64>,
    /// The oldest sessions go until the database holds no more, bytes.
    pub most_bytes: Option<u64>,
}

/// Why a session goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goes {
    /// It is too old.
    TooOld,
    /// There is too much.
    TooMuch,
}

/// What was taken over from another database.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Sessions that were.
    pub n_taken: u64,
    /// Sessions that were here already.
    pub n_known: u64,
    /// Sessions that are live there.
    pub n_live: u64,
    /// Labels that another session has here: they were left out.
    pub labels_taken: Vec<String>,
}

/// The right to take sessions away by itself, which one process has at a time.
#[derive(Debug)]
pub struct KeepersLock(#[expect(dead_code, reason = "is held until it is dropped")] File);

impl Store {
    /// How much is in the database, bytes: its file without what is free in it.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn used_bytes(&self) -> Result<u64, StoreError> {
        let connection = self.connection.borrow();
        let pages = || Ok(pragma(&connection, "page_count")? - pragma(&connection, "freelist_count")?);
        let used = pages().and_then(|pages: i64| Ok(pages * pragma(&connection, "page_size")?));
        used.map(|bytes| bytes.unsigned_abs()).map_err(|source| self.sort(source))
    }

    /// About how much of the database is a session's, bytes.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn weight(&self, session: &Session) -> Result<u64, StoreError> {
        let sum = "SELECT coalesce(sum(length(bytes) + length(pieces)), 0) FROM segment WHERE session = ?";
        let connection = self.connection.borrow();
        let bytes: i64 =
            connection.query_row(sum, [session.id.0], |row| row.get(0)).map_err(|source| self.sort(source))?;
        Ok(bytes.unsigned_abs() + session.digest.n_frames * ROW_BYTES)
    }

    /// Which sessions would go, the oldest first, each with what it weighs. A live session never goes, nor one that somebody
    /// has given a label or a mark.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn prunable(&self, limits: &Limits) -> Result<Vec<(Session, Goes, u64)>, StoreError> {
        let mut sessions = self.sessions()?;
        let newest = |session: &Session| session.start.opened_unix_ns.saturating_add(session.digest.newest_at_ns);
        sessions.sort_by_key(|session| (newest(session), session.id));
        let mut used = self.used_bytes()?;
        let mut going = Vec::new();
        for session in sessions {
            if session.live || session.label.is_some() || !self.bookmarks(session.id)?.is_empty() {
                continue;
            }
            let is_too_old = limits.oldest_unix_ns.is_some_and(|oldest| newest(&session) < oldest);
            let is_too_much = limits.most_bytes.is_some_and(|most| used > most);
            if !is_too_old && !is_too_much {
                continue;
            }
            let weight = self.weight(&session)?;
            used = used.saturating_sub(weight);
            going.push((session, if is_too_old { Goes::TooOld } else { Goes::TooMuch }, weight));
        }
        Ok(going)
    }

    /// Takes away what is not to stay, the oldest first. `gone` is told each session. Their room in the file is free then; see
    /// [`give_back`](Self::give_back).
    ///
    /// # Errors
    ///
    /// When the database cannot be read or written.
    pub fn prune(&self, limits: &Limits, mut gone: impl FnMut(&Session, Goes)) -> Result<(), StoreError> {
        if let Some(oldest_unix_ns) = limits.oldest_unix_ns {
            self.prune_audit(oldest_unix_ns)?;
        }
        // One by one, for how much each of them frees is known only afterwards.
        let mut refused: Vec<SessionId> = Vec::new();
        loop {
            let next = self.prunable(limits)?.into_iter().find(|(session, ..)| !refused.contains(&session.id));
            let Some((session, why, _)) = next else {
                return Ok(());
            };
            match self.delete(session.id)? {
                Ok(()) => gone(&session, why),
                // It has begun to be one of those that stay.
                Err(Refused::Gone | Refused::Live | Refused::Taken(_) | Refused::NotAName(_) | Refused::TooLong) => {
                    refused.push(session.id);
                }
            }
        }
    }

    /// Gives the room that is free in the file back to the disk, while others read and record. A database that was not made
    /// for that (by an older version) is written anew once: that takes as much room again for a while, and taps keep what
    /// passes meanwhile. `progress` is told the share that is done.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn give_back(&self, mut progress: impl FnMut(f64)) -> Result<(), StoreError> {
        let connection = self.connection.borrow();
        let failed = |source| self.sort(source);
        if pragma(&connection, "auto_vacuum").map_err(failed)? != INCREMENTAL {
            connection.pragma_update(None, "auto_vacuum", INCREMENTAL).map_err(failed)?;
            connection.execute_batch("VACUUM").map_err(failed)?;
        }
        let all = pragma(&connection, "freelist_count").map_err(failed)?;
        let mut left = all;
        while left > 0 {
            progress(1.0 - left as f64 / all as f64);
            self.give_back_some(&connection).map_err(failed)?;
            let now = pragma(&connection, "freelist_count").map_err(failed)?;
            if now >= left {
                break;
            }
            left = now;
        }
        // The file gets shorter when the log is moved into it, for which no reader may look at what was before.
        let began = Instant::now();
        let is_short = |connection: &Connection| {
            let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
            matches!(busy, Ok(0))
        };
        while !is_short(&connection) && began.elapsed() < CHECKPOINT_PATIENCE {
            std::thread::sleep(LOOK_AGAIN); // tidy: sleeps because SQLite does not tell when readers have left.
        }
        progress(1.0);
        checkpoint(&connection, "PASSIVE").map_err(failed)
    }

    fn give_back_some(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))?;
        let mut rows = statement.query([])?;
        // Each step gives back a page.
        while rows.next()?.is_some() {}
        Ok(())
    }

    /// Takes over the sessions of another database that are not here, with their labels and marks. `progress` is told of how
    /// many sessions how many are done.
    ///
    /// # Errors
    ///
    /// When the other cannot be read, or this one not be written. What was taken over until then stays.
    pub fn merge(&self, other: &Self, mut progress: impl FnMut(u64, u64)) -> Result<Merged, StoreError> {
        let mut merged = Merged::default();
        let mut sessions = other.sessions()?;
        // The oldest first, so that they come to be in the same order here.
        sessions.reverse();
        let n_sessions = sessions.len() as u64;
        for (n_done, session) in (0..).zip(sessions) {
            progress(n_done, n_sessions);
            if self.has(&session.start.uuid)? {
                merged.n_known += 1;
                continue;
            }
            if session.live {
                merged.n_live += 1;
                continue;
            }
            let mut start = session.start.clone();
            // As an import has it: no tap of this database holds it.
            start.tap_pid = None;
            let segments = (0..).map_while(|number| match other.segment(session.id, number) {
                Ok(segment) => segment.map(|segment| Ok((*segment).clone())),
                Err(error) => Some(Err(error)),
            });
            let id = self.put_in(&start, segments, || session.end.clone())?;
            merged.n_taken += 1;
            if let Some(label) = &session.label
                && self.set_label(id, Some(label))?.is_err()
            {
                merged.labels_taken.push(label.clone());
            }
            for mark in other.bookmarks(session.id)? {
                // A name that was allowed there is allowed here.
                let _ = self.set_bookmark(id, &mark)?;
            }
        }
        self.merge_audit(other)?;
        progress(n_sessions, n_sessions);
        Ok(merged)
    }

    /// The right to take sessions away by itself; `None` while another process has it.
    ///
    /// # Errors
    ///
    /// When the file for it cannot be made.
    pub fn keepers_lock(&self) -> Result<Option<KeepersLock>, StoreError> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut path = self.path().as_os_str().to_os_string();
        path.push("-keeper");
        let path = PathBuf::from(path);
        let io = |source| StoreError::Io { path: path.clone(), source };
        let file = File::options().write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(io)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(KeepersLock(file))),
            Err(std::fs::TryLockError::WouldBlock) => Ok(None),
            Err(std::fs::TryLockError::Error(source)) => Err(io(source)),
        }
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA main.{name}"), [], |row| row.get(0))
}

#[cfg(test)]
mod tests;
