//! What people say about recordings: labels of sessions, marks on messages; and deleting a session with all that it owns.

use rusqlite::TransactionBehavior::Immediate;
use rusqlite::{OptionalExtension, params};
use tap_session::At;

use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::writer::{signed, unsigned};

/// How long a label, or a mark's name, may be, characters.
pub const NAME_CHARS: usize = 60;

/// How long a note may be, characters.
pub const NOTE_CHARS: usize = 2_000;

/// Rows and segments that are deleted in one transaction, so that taps that record are not kept waiting.
const DELETED_AT_ONCE: i64 = 5_000;

/// Who has a label. A session that is being deleted has none, whatever it left.
const OWNER_OF_LABEL: &str =
    "SELECT session FROM label WHERE label = ? AND session NOT IN (SELECT session FROM deleted)";

/// A mark on a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bookmark {
    /// The message.
    pub at: At,
    /// What it is called on the command line, behind an `@`: no other mark of the session has that name.
    pub name: Option<String>,
    /// What a person wrote about it.
    pub note: Option<String>,
}

/// Why something about a recording could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The session's tap is running.
    #[error("the session is live; end it first")]
    Live,
    /// There is no such session any more.
    #[error("the session is there no more")]
    Gone,
    /// Another one has that name.
    #[error("`{0}` is taken")]
    Taken(String),
    /// It cannot be written on a command line as it is.
    #[error("`{0}` is no name: letters, digits, `-`, `_` and `.`, at most {NAME_CHARS}")]
    NotAName(String),
    /// It is too long.
    #[error("a note has at most {NOTE_CHARS} characters")]
    TooLong,
}

/// Whether something can be a label or a mark's name: it needs no quotes in any shell.
#[must_use]
pub fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && text.chars().count() <= NAME_CHARS && text.chars().all(fits)
}

impl Store {
    /// Gives a session a label, or takes it away.
    ///
    /// # Errors
    ///
    /// When the database cannot be written. The inner one: why it is not done.
    pub fn set_label(&self, session: SessionId, label: Option<&str>) -> Result<Result<(), Refused>, StoreError> {
        if let Some(label) = label.filter(|label| !is_name(label)) {
            return Ok(Err(Refused::NotAName(label.into())));
        }
        self.change(|connection| {
            if !is_there(connection, session)? {
                return Ok(Err(Refused::Gone));
            }
            let Some(label) = label else {
                connection.execute("DELETE FROM label WHERE session = ?", [session.0])?;
                return Ok(Ok(()));
            };
            let of: Option<i64> = connection.query_row(OWNER_OF_LABEL, [label], |row| row.get(0)).optional()?;
            if of.is_some_and(|of| of != session.0) {
                return Ok(Err(Refused::Taken(label.into())));
            }
            connection.execute("INSERT OR REPLACE INTO label VALUES (?, ?)", params![session.0, label])?;
            Ok(Ok(()))
        })
    }

    /// The marks of a session, in the order of messages.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn bookmarks(&self, session: SessionId) -> Result<Vec<Bookmark>, StoreError> {
        if !self.has_bookmarks() {
            return Ok(Vec::new());
        }
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Bookmark>> {
            let mut select = connection
                .prepare_cached("SELECT seq, member, name, note FROM mark WHERE session = ? ORDER BY seq, member")?;
            let found = select.query_map([session.0], |row| {
                let at = At { seq: row.get(0).map(unsigned)?, member: row.get(1).map(unsigned)? };
                Ok(Bookmark { at, name: row.get(2)?, note: row.get(3)? })
            })?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// Puts a mark on a message, in place of one that is there.
    ///
    /// # Errors
    ///
    /// When the database cannot be written. The inner one: why it is not done.
    pub fn set_bookmark(&self, session: SessionId, mark: &Bookmark) -> Result<Result<(), Refused>, StoreError> {
        if let Some(name) = mark.name.as_deref().filter(|name| !is_name(name)) {
            return Ok(Err(Refused::NotAName(name.into())));
        }
        if mark.note.as_ref().is_some_and(|note| note.chars().count() > NOTE_CHARS) {
            return Ok(Err(Refused::TooLong));
        }
        let (seq, member) = (signed(mark.at.seq), signed(mark.at.member));
        self.change(|connection| {
            if !is_there(connection, session)? {
                return Ok(Err(Refused::Gone));
            }
            if let Some(name) = &mark.name {
                let other = "SELECT 1 FROM mark WHERE session = ? AND name = ? AND (seq, member) <> (?, ?)";
                let mut other = connection.prepare_cached(other)?;
                if other.exists(params![session.0, name, seq, member])? {
                    return Ok(Err(Refused::Taken(name.clone())));
                }
            }
            connection.execute(
                "INSERT OR REPLACE INTO mark VALUES (?, ?, ?, ?, ?)",
                params![session.0, seq, member, mark.name, mark.note],
            )?;
            Ok(Ok(()))
        })
    }

    /// Takes the mark of a message away, if it has one.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn remove_bookmark(&self, session: SessionId, at: At) -> Result<(), StoreError> {
        self.change(|connection| {
            let delete = "DELETE FROM mark WHERE session = ? AND seq = ? AND member = ?";
            connection.execute(delete, params![session.0, signed(at.seq), signed(at.member)])?;
            Ok(())
        })
    }

    /// Deletes a session with all that it owns. It is gone for everybody at once; its bytes go little by little, and their
    /// room in the file is used again. What a deletion that was broken off left is taken away too.
    ///
    /// # Errors
    ///
    /// When the database cannot be written. The inner one: why it is not done.
    pub fn delete(&self, session: SessionId) -> Result<Result<(), Refused>, StoreError> {
        if self.is_live(session) {
            return Ok(Err(Refused::Live));
        }
        let is_done = self.change(|connection| {
            if !is_there(connection, session)? {
                return Ok(Err(Refused::Gone));
            }
            connection.execute("INSERT INTO deleted VALUES (?)", [session.0])?;
            // Nobody can see the session from now on, so it holds no name that somebody may want.
            connection.execute("DELETE FROM label WHERE session = ?", [session.0])?;
            connection.execute("DELETE FROM mark WHERE session = ?", [session.0])?;
            Ok(Ok(()))
        })?;
        if is_done.is_err() {
            return Ok(is_done);
        }
        self.forget(session);
        let left: Vec<i64> = self.change(|connection| {
            let mut select = connection.prepare("SELECT id FROM session WHERE id IN (SELECT session FROM deleted)")?;
            let found = select.query_map([], |row| row.get(0))?;
            found.collect()
        })?;
        for session in left {
            self.take_away(session)?;
        }
        Ok(Ok(()))
    }

    /// Takes away what a session owns, the session last.
    fn take_away(&self, session: i64) -> Result<(), StoreError> {
        let all = |table: &str| format!("DELETE FROM main.{table} WHERE session = ?1 AND ?2 > 0");
        let some = |table: &str, column: &str| {
            let those = format!("SELECT {column} FROM main.{table} WHERE session = ?1 LIMIT ?2");
            format!("DELETE FROM main.{table} WHERE session = ?1 AND {column} IN ({those})")
        };
        // A segment may be large.
        let (rows, segments) = (DELETED_AT_ONCE, DELETED_AT_ONCE / 100);
        let steps = [
            ("message", some("message", "seq"), rows),
            ("exchange", some("exchange", "number"), rows),
            ("conversation", all("conversation"), rows),
            ("digest", all("digest"), rows),
            ("segment", some("segment", "number"), segments),
        ];
        for (table, delete, limit) in steps {
            loop {
                let n_deleted = self.change(|connection| {
                    // Derived tables may be of another version, or missing; then whoever makes them anew leaves these out.
                    let known = "SELECT 1 FROM pragma_table_info(?, 'main') WHERE name = 'session'";
                    if connection.prepare_cached(known)?.exists([table])? {
                        connection.execute(&delete, params![session, limit])
                    } else {
                        Ok(0)
                    }
                })?;
                if n_deleted == 0 {
                    break;
                }
            }
        }
        self.change(|connection| {
            connection.execute("DELETE FROM session WHERE id = ?", [session])?;
            // The highest number is remembered, and those that are still to go.
            connection.execute(
                "DELETE FROM deleted WHERE session < (SELECT max(session) FROM deleted)
                     AND session NOT IN (SELECT id FROM session)",
                [],
            )?;
            Ok(())
        })
    }

    /// Changes something in one transaction.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        let mut connection = self.connection.borrow_mut();
        let run = || {
            let transaction = connection.transaction_with_behavior(Immediate)?;
            let done = change(&transaction)?;
            transaction.commit()?;
            Ok(done)
        };
        run().map_err(|source| self.sort(source))
    }
}

/// Whether there is such a session, and it is not being deleted.
fn is_there(connection: &rusqlite::Connection, session: SessionId) -> rusqlite::Result<bool> {
    let there = "SELECT 1 FROM session WHERE id = ? AND id NOT IN (SELECT session FROM deleted)";
    connection.prepare_cached(there)?.exists([session.0])
}

#[cfg(test)]
mod tests;
