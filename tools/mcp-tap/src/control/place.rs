//! Where the control sockets of live taps are: a folder of this user's alone, one socket a tap.

use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// How sockets' names end.
const SUFFIX: &str = ".sock";

/// The folder: `$XDG_RUNTIME_DIR/mcp-tap`, else `mcp-tap-UID` in the folder for temporary files.
pub(crate) fn folder() -> PathBuf {
    let runtime =
        std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
    match runtime {
        Some(runtime) => runtime.join("mcp-tap"),
        None => std::env::temp_dir().join(format!("mcp-tap-{}", geteuid())),
    }
}

/// The name of a tap's socket. Short, for a socket's path can have about a hundred bytes.
fn path_of(uuid: &str) -> PathBuf {
    let short: String = uuid.chars().filter(|c| *c != '-').take(16).collect();
    folder().join(format!("{short}{SUFFIX}"))
}

/// Whether a folder is this user's, and nobody else can look into it. Where anybody may make folders, somebody else may have
/// made this one.
fn is_ours(folder: &Path) -> io::Result<()> {
    let found = std::fs::symlink_metadata(folder)?;
    let says = if !found.is_dir() {
        "it is no folder"
    } else if found.uid() != geteuid().as_raw() {
        "it belongs to another user"
    } else if found.permissions().mode() & 0o077 != 0 {
        "others can look into it"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{}: {says}", folder.display())))
}

/// A socket that only this user can connect to.
pub(crate) fn listen(uuid: &str) -> io::Result<UnixListener> {
    let folder = folder();
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => is_ours(&folder)?,
    }
    let path = path_of(uuid);
    let listener = UnixListener::bind(&path)?;
    // Until here the folder alone keeps others out.
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600))?;
    Ok(listener)
}

/// Removes a tap's socket.
pub(crate) fn remove(uuid: &str) {
    let _ = std::fs::remove_file(path_of(uuid));
}

/// Connections to all taps that answer. Sockets that nobody listens at are left over from a tap that was killed: they are
/// removed.
pub(crate) fn connections() -> io::Result<Vec<UnixStream>> {
    let folder = folder();
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    is_ours(&folder)?;
    let mut found = Vec::new();
    let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let is_socket = std::fs::symlink_metadata(&path).is_ok_and(|found| found.file_type().is_socket());
        if !is_socket || !path.to_string_lossy().ends_with(SUFFIX) {
            continue;
        }
        match UnixStream::connect(&path) {
            Ok(stream) => found.push(stream),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                let _ = std::fs::remove_file(&path);
            }
            // It has ended just now, or cannot take more.
            Err(_) => {}
        }
    }
    Ok(found)
}

/// Whether the process at the other end is this user's.
pub(crate) fn is_same_user(stream: &UnixStream) -> bool {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
        getsockopt(stream, PeerCredentials).is_ok_and(|peer| peer.uid() == geteuid().as_raw())
    }
    #[cfg(not(target_os = "linux"))]
    {
        nix::unistd::getpeereid(stream).is_ok_and(|(user, _)| user == geteuid())
    }
}
