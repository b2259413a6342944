//! Where a session is recorded to, and where instead when that does not work.

use std::fs::DirBuilder;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where the session is recorded to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Given(PathBuf),
    Beside(PathBuf),
    Temporary(PathBuf),
    /// No place was found.
    Nowhere,
}

impl Target {
    pub(super) fn path(&self) -> Option<&Path> {
        match self {
            Self::Given(path) | Self::Beside(path) | Self::Temporary(path) => Some(path),
            Self::Nowhere => None,
        }
    }
}

/// A private folder of this user's in the system's temporary folder. Not one that somebody else made to look like it.
pub(super) fn temporary_folder() -> std::io::Result<PathBuf> {
    let user = nix::unistd::getuid();
    let folder = std::env::temp_dir().join(format!("mcp-tap-{user}"));
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let found = std::fs::symlink_metadata(&folder)?;
    match found.is_dir() && found.uid() == user.as_raw() && found.mode() & 0o077 == 0 {
        true => Ok(folder),
        false => Err(std::io::ErrorKind::PermissionDenied.into()),
    }
}
