//! The audit: the calls that a host of ours made, and who allowed them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, Row, params};

use crate::error::StoreError;
use crate::reader::Store;
use crate::schema::open_for_writing;
use crate::writer::{signed, unsigned};

/// How long others may have the database before a call is not written.
const PATIENCE: Duration = Duration::from_secs(5);

/// A call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditRow {
    /// Which run: the uuid of the session with the host.
    pub run: String,
    /// Which command made the call: `route`, `agent`.
    pub kind: String,
    /// When it was asked for, nanoseconds since the Unix epoch.
    pub began_unix_ns: u64,
    /// Which server.
    pub server: String,
    /// Which tool, as its server calls it.
    pub tool: String,
    /// The arguments as they were sent, the text of a JSON object.
    pub arguments: String,
    /// Whether it was allowed; `None` where it was given up while somebody was asked.
    pub is_allowed: Option<bool>,
    /// Who decided: `rule 2`, `a person`.
    pub by: String,
    /// How long a person was asked, nanoseconds.
    pub asked_ns: u64,
    /// How long the call took, nanoseconds; `None` where it was not made.
    pub took_ns: Option<u64>,
    /// What came of it: `result`, `tool error`, `error`, `no answer`, `not made`, `given up`.
    pub outcome: String,
    /// The result, or what was said in its place, cut at 64 KiB.
    pub answer: Option<String>,
}

/// Writes the audit.
#[derive(Debug)]
pub struct AuditLog {
    path: PathBuf,
    connection: Connection,
}

impl AuditLog {
    /// Opens the database for it, making it where needed.
    ///
    /// # Errors
    ///
    /// When it cannot be written.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        Ok(Self { path: path.into(), connection: open_for_writing(path, PATIENCE)? })
    }

    /// Adds a call.
    ///
    /// # Errors
    ///
    /// When the database cannot be written.
    pub fn add(&self, row: &AuditRow) -> Result<(), StoreError> {
        insert(&self.connection, row).map_err(|source| StoreError::sqlite(&self.path, source))
    }
}

fn insert(connection: &Connection, row: &AuditRow) -> rusqlite::Result<()> {
    let insert =
        "INSERT INTO audit (run, kind, began_unix_ns, server, tool, arguments, allowed, decided_by, asked_ns, took_ns,
        outcome, answer) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    connection.prepare_cached(insert)?.execute(params![
        row.run,
        row.kind,
        signed(row.began_unix_ns),
        row.server,
        row.tool,
        row.arguments,
        row.is_allowed,
        row.by,
        signed(row.asked_ns),
        row.took_ns.map(signed),
        row.outcome,
        row.answer,
    ])?;
    Ok(())
}

fn read(row: &Row<'_>) -> rusqlite::Result<AuditRow> {
    Ok(AuditRow {
        run: row.get(0)?,
        kind: row.get(1)?,
        began_unix_ns: row.get(2).map(unsigned)?,
        server: row.get(3)?,
        tool: row.get(4)?,
        arguments: row.get(5)?,
        is_allowed: row.get(6)?,
        by: row.get(7)?,
        asked_ns: row.get(8).map(unsigned)?,
        took_ns: row.get::<_, Option<i64>>(9)?.map(unsigned),
        outcome: row.get(10)?,
        answer: row.get(11)?,
    })
}

impl Store {
    /// The calls that were made since then (nanoseconds since the Unix epoch), of runs whose uuid begins so: the newest
    /// first, given to `take` until it says false.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn audit(
        &self,
        run: &str,
        since_unix_ns: u64,
        mut take: impl FnMut(AuditRow) -> bool,
    ) -> Result<(), StoreError> {
        if !self.has_audit() {
            return Ok(());
        }
        let select =
            "SELECT run, kind, began_unix_ns, server, tool, arguments, allowed, decided_by, asked_ns, took_ns, outcome,
            answer FROM audit WHERE began_unix_ns >= ? AND substr(run, 1, length(?2)) = ?2
            ORDER BY began_unix_ns DESC, id DESC";
        let connection = self.connection.borrow();
        let mut walk = || -> rusqlite::Result<()> {
            let mut select = connection.prepare_cached(select)?;
            let mut rows = select.query(params![signed(since_unix_ns), run])?;
            while let Some(row) = rows.next()? {
                if !take(read(row)?) {
                    break;
                }
            }
            Ok(())
        };
        walk().map_err(|source| self.sort(source))
    }

    /// Takes calls out of the audit that are older than this, nanoseconds since the Unix epoch. Says how many.
    pub(crate) fn prune_audit(&self, oldest_unix_ns: u64) -> Result<usize, StoreError> {
        if !self.has_audit() {
            return Ok(0);
        }
        self.change(|connection| {
            connection.execute("DELETE FROM audit WHERE began_unix_ns < ?", [signed(oldest_unix_ns)])
        })
    }

    /// Takes in the audit of another database, but for what is here already.
    pub(crate) fn merge_audit(&self, other: &Self) -> Result<(), StoreError> {
        let mut rows = Vec::new();
        other.audit("", 0, |row| {
            rows.push(row);
            true
        })?;
        if rows.is_empty() || !self.has_audit() {
            return Ok(());
        }
        rows.reverse();
        let is_here =
            "SELECT 1 FROM audit WHERE began_unix_ns = ? AND run = ? AND server = ? AND tool = ? AND arguments = ?";
        self.change(|connection| {
            for row in &rows {
                let known = params![signed(row.began_unix_ns), row.run, row.server, row.tool, row.arguments];
                if !connection.prepare_cached(is_here)?.exists(known)? {
                    insert(connection, row)?;
                }
            }
            Ok(())
        })
    }

    fn has_audit(&self) -> bool {
        let there = "SELECT count(*) FROM main.sqlite_schema WHERE name = 'audit'";
        self.connection.borrow().query_row(there, [], |row| row.get::<_, i64>(0)).is_ok_and(|n| n > 0)
    }
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    fn row(run: &str, began_unix_ns: u64, tool: &str) -> AuditRow {
        AuditRow {
            run: run.into(),
            kind: "route".into(),
            began_unix_ns,
            server: "files".into(),
            tool: tool.into(),
            arguments: r#"{"path":"a"}"#.into(),
            is_allowed: Some(tool != "write"),
            by: "rule 1".into(),
            asked_ns: 5,
            took_ns: (tool != "write").then_some(7),
            outcome: "result".into(),
            answer: None,
        }
    }

    fn all(store: &Store, run: &str, since: u64) -> Vec<AuditRow> {
        let mut rows = Vec::new();
        store
            .audit(run, since, |row| {
                rows.push(row);
                true
            })
            .unwrap();
        rows
    }

    #[test]
    fn what_was_written_is_read_newest_first_merged_once_and_pruned_by_age() {
        let folder = TempDir::new().unwrap();
        let paths = ["a.db", "b.db"].map(|name| folder.path().join(name));
        let rows = [row("0a", 1, "read"), row("0a", 2, "write"), row("0b", 3, "read")];
        let log = AuditLog::open(&paths[0]).unwrap();
        rows.iter().for_each(|row| log.add(row).unwrap());
        let store = Store::open(&paths[0]).unwrap();
        assert_eq!(all(&store, "", 0), [rows[2].clone(), rows[1].clone(), rows[0].clone()]);
        assert_eq!(all(&store, "0a", 2), [rows[1].clone()]);
        drop(AuditLog::open(&paths[1]).unwrap());
        let other = Store::open(&paths[1]).unwrap();
        for _ in 0..2 {
            other.merge(&store, |_, _| ()).unwrap();
            assert_eq!(all(&other, "", 0), all(&store, "", 0));
        }
        let limits = crate::Limits { oldest_unix_ns: Some(3), ..crate::Limits::default() };
        other.prune(&limits, |_, _| ()).unwrap();
        assert_eq!(all(&other, "", 0), [rows[2].clone()]);
    }
}
