//! A file that is written: it appears whole or not at all, so that what was there before stays until there is better.

use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A file on its way. Dropped without [`finish`](Self::finish), it leaves nothing behind.
#[derive(Debug)]
pub(crate) struct NewFile {
    file: File,
    target: PathBuf,
    /// What is written until it takes the target's place. `None` where the target is no plain file, such as `/dev/null`.
    partial: Option<PathBuf>,
}

/// Who may read the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readers {
    /// The user alone.
    Owner,
    /// Whoever may read files that the user makes.
    Usual,
}

impl NewFile {
    pub(crate) fn create(path: &Path, readers: Readers) -> Result<Self, Failure> {
        let failed = |error| cannot_write(path, &error);
        // A link stays a link.
        let target = path.canonicalize().unwrap_or_else(|_| path.into());
        let mut options = File::options();
        options.write(true);
        match target.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(failed(io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if !metadata.is_file() => {
                let file = options.open(&target).map_err(failed)?;
                Ok(Self { file, target, partial: None })
            }
            Ok(_) | Err(_) => {
                let mut partial = target.clone().into_os_string();
                partial.push(format!(".{}.partial", std::process::id()));
                let partial = PathBuf::from(partial);
                let mode = if readers == Readers::Owner { 0o600 } else { 0o666 };
                let file = options.create(true).truncate(true).mode(mode).open(&partial).map_err(failed)?;
                Ok(Self { file, target, partial: Some(partial) })
            }
        }
    }

    /// Another way to write to it.
    pub(crate) fn writer(&self) -> Result<File, Failure> {
        self.file.try_clone().map_err(|error| cannot_write(&self.target, &error))
    }

    /// Puts the file in its place: all of it was written.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let Some(partial) = &self.partial else {
            return Ok(());
        };
        let placed = self.file.sync_all().and_then(|()| std::fs::rename(partial, &self.target));
        placed.map_err(|error| cannot_write(&self.target, &error))?;
        self.partial = None;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = std::fs::remove_file(partial);
        }
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// Whether two names are of one file, whatever way they take to it.
pub(crate) fn is_same(a: &Path, b: &Path) -> bool {
    match (a.metadata(), b.metadata()) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}

pub(crate) fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::new(format!("cannot write {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn what_was_there_stays_until_the_new_file_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("a.txt"), folder.path().join("link"));
        std::fs::write(&path, "old").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let mut given_up = NewFile::create(&path, Readers::Usual).unwrap();
        given_up.write_all(b"half of it").unwrap();
        drop(given_up);
        assert_eq!((std::fs::read_to_string(&path).unwrap().as_str(), names(folder.path()).len()), ("old", 2));
        let mut new = NewFile::create(&link, Readers::Owner).unwrap();
        new.write_all(b"new").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        new.finish().unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o600);
        assert_eq!(names(folder.path()), ["a.txt", "link"]);
        assert!(link.symlink_metadata().unwrap().is_symlink() && is_same(&link, &path));
    }

    #[test]
    fn what_is_no_plain_file_is_written_and_stays_what_it_is() {
        let mut null = NewFile::create(Path::new("/dev/null"), Readers::Usual).unwrap();
        null.write_all(b"x").unwrap();
        null.finish().unwrap();
        assert!(!Path::new("/dev/null").metadata().unwrap().is_file());
        assert!(NewFile::create(Path::new("/"), Readers::Usual).is_err());
    }
}
