//! What can go wrong with a recording, told by what it means for whoever wanted it.

use std::path::PathBuf;

/// Why a recording cannot be opened, read or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such file.
    #[error("no recordings at {}", path.display())]
    Missing {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// Written by a newer mcp-tap than this one.
    #[error("{} has schema {found}, and this mcp-tap knows up to {known}: update mcp-tap to open it", path.display())]
    TooNew {
        /// The database.
        path: PathBuf,
        /// Its schema version.
        found: i64,
        /// The newest that is known.
        known: i64,
    },
    /// A database, but not one of ours.
    #[error("{} is a database of another program", path.display())]
    NotARecording {
        /// The database.
        path: PathBuf,
    },
    /// Not a database at all, or a damaged one.
    #[error("{} is not a database, or is damaged: {detail}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What SQLite said.
        detail: String,
    },
    /// Somebody else holds the write lock.
    #[error("{} is locked by another process", path.display())]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The disk said no.
    #[error("cannot write {}: the disk is full", path.display())]
    DiskFull {
        /// The database.
        path: PathBuf,
    },
    /// The file or its folder may not be written.
    #[error("cannot write {}: {detail}", path.display())]
    NotWritable {
        /// The database.
        path: PathBuf,
        /// What the system said.
        detail: String,
    },
    /// A file or folder could not be read or made.
    #[error("cannot open {}: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Anything else that SQLite refused.
    #[error("{}: {source}", path.display())]
    Sqlite {
        /// The database.
        path: PathBuf,
        /// What SQLite said.
        source: rusqlite::Error,
    },
    /// A segment that does not follow its layout.
    #[error("session {session} is damaged in segment {number}: {source}")]
    Damaged {
        /// The session's number.
        session: i64,
        /// The segment's number in it.
        number: u64,
        /// What is wrong.
        source: tap_frame::SegmentError,
    },
    /// A line of a text recording that makes no sense.
    #[error("{} line {line}: {problem}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// The line's number, from 1.
        line: u64,
        /// What is wrong, and what would be right.
        problem: String,
    },
}

impl StoreError {
    /// Whether what was recorded can be read all the same.
    pub(crate) fn forbids_writing(&self) -> bool {
        matches!(self, Self::DiskFull { .. } | Self::NotWritable { .. } | Self::Locked { .. })
    }

    /// Sorts what SQLite said by what it means.
    pub(crate) fn sqlite(path: &std::path::Path, source: rusqlite::Error) -> Self {
        use rusqlite::ErrorCode as Code;
        let path = path.to_path_buf();
        let code = source.sqlite_error_code();
        let detail = source.to_string();
        match code {
            // The last one is a race for the lock that was lost too often.
            Some(Code::DatabaseBusy | Code::DatabaseLocked | Code::FileLockingProtocolFailed) => Self::Locked { path },
            Some(Code::DiskFull) => Self::DiskFull { path },
            Some(Code::NotADatabase | Code::DatabaseCorrupt) => Self::Corrupt { path, detail },
            Some(Code::ReadOnly | Code::PermissionDenied | Code::CannotOpen) => Self::NotWritable { path, detail },
            _ => Self::Sqlite { path, source },
        }
    }
}
