//! A temporary folder that is gone with us; and those that others have left who were killed, which are removed then.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::failure::Failure;

/// How the names of all of them begin.
const PREFIX: &str = "mcp-tap-session-";

/// In each folder: locked for as long as its process lives, however that ends.
const LOCK: &str = "lock";

/// A folder of this process's own.
#[derive(Debug)]
pub(crate) struct TemporaryFolder {
    folder: TempDir,
    _lock: File,
}

impl TemporaryFolder {
    /// Makes one, for what `what` says in a few words.
    pub(crate) fn new(what: &str) -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        sweep(&parent);
        Self::new_in(&parent).map_err(|error| {
            Failure::new(format!("cannot make a temporary folder for {what}: {error}"))
                .hint("TMPDIR says where they are made")
        })
    }

    fn new_in(parent: &Path) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent)?;
        // It has its name once it is locked: nobody takes it for a dead one's before.
        let unlocked = folder.path().join("lock.new");
        let lock = File::create(&unlocked)?;
        lock.lock()?;
        fs::rename(unlocked, folder.path().join(LOCK))?;
        Ok(Self { folder, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes what is left of processes that live no more. What cannot be removed stays.
fn sweep(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && entry.metadata().is_ok_and(|metadata| metadata.is_dir() && metadata.uid() == geteuid().as_raw());
        if is_ours && is_left(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether nobody holds a folder any more.
fn is_left(folder: &Path) -> bool {
    File::open(folder.join(LOCK)).is_ok_and(|lock| lock.try_lock().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_dead_have_left_is_removed_and_nothing_else() {
        let parent = tempfile::tempdir().unwrap();
        let living = TemporaryFolder::new_in(parent.path()).unwrap();
        let dead = TemporaryFolder::new_in(parent.path()).unwrap();
        fs::write(dead.path().join("recording.db"), "large").unwrap();
        let TemporaryFolder { folder: left, _lock } = dead;
        let left = left.keep();
        drop(_lock);
        // Others', and one whose maker has not got to its lock.
        let begun = parent.path().join(format!("{PREFIX}begun"));
        for folder in [&begun, &parent.path().join("mcp-tap-1000")] {
            fs::create_dir(folder).unwrap();
        }
        sweep(parent.path());
        let there = [left.as_path(), living.path(), &begun, &parent.path().join("mcp-tap-1000")].map(Path::exists);
        assert_eq!(there, [false, true, true, true]);
        let path = living.path().to_owned();
        drop(living);
        assert!(!path.exists());
    }
}
