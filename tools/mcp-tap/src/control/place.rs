//! Where the control sockets of live taps are: a folder of this user's alone, one socket a tap.

use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use nix::unistd::geteuid;

/// The variable that names the only folder in which sockets are made and looked for.
const ONLY: &str = "MCP_TAP_SOCKETS";

/// How sockets' names end.
const SUFFIX: &str = ".sock";

/// And those of sockets that nobody listens at yet.
const NEW_SUFFIX: &str = ".new";

/// Where taps may listen, the best first. Hosts start servers with an environment of their choice, so that a tap may not
/// know what its user's commands know, and these look in all.
fn folders() -> Vec<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).map(PathBuf::from);
    if let Some(only) = variable(ONLY).filter(|folder| folder.is_absolute()) {
        return vec![only];
    }
    candidates(variable("XDG_RUNTIME_DIR"), variable("TMPDIR"), Path::new("/run/user"))
}

/// `mcp-tap` in `$XDG_RUNTIME_DIR` and in what that is where it is not set, and `mcp-tap-UID` in the folders for temporary
/// files.
fn candidates(runtime: Option<PathBuf>, temporary: Option<PathBuf>, runtimes: &Path) -> Vec<PathBuf> {
    let user = geteuid();
    // A folder in which others can make folders is as good as none.
    let of_user = Some(runtimes.join(user.to_string())).filter(|folder| is_ours(folder).is_ok());
    let runtimes = [runtime.filter(|folder| folder.is_absolute() && folder.is_dir()), of_user];
    let temporaries = [temporary.filter(|folder| folder.is_absolute()), Some("/tmp".into())];
    let mut folders: Vec<PathBuf> = Vec::new();
    let all = runtimes.into_iter().flatten().map(|folder| folder.join("mcp-tap"));
    for folder in all.chain(temporaries.into_iter().flatten().map(|folder| folder.join(format!("mcp-tap-{user}")))) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

/// The name of a tap's socket. Short, for a socket's path can have about a hundred bytes.
fn name_of(uuid: &str) -> String {
    let short: String = uuid.chars().filter(|c| *c != '-').take(16).collect();
    format!("{short}{SUFFIX}")
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
    let folders = folders();
    listen_in(folders.first().ok_or(io::ErrorKind::NotFound)?, uuid)
}

fn listen_in(folder: &Path, uuid: &str) -> io::Result<UnixListener> {
    match std::fs::DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => is_ours(folder)?,
    }
    let name = name_of(uuid);
    // Until it listens nobody is to find it: it would be taken for one that is left over.
    let hidden = folder.join(name.replace(SUFFIX, NEW_SUFFIX));
    let listener = UnixListener::bind(&hidden)?;
    // Until here the folder alone keeps others out.
    let ready = std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(0o600));
    if let Err(error) = ready.and_then(|()| std::fs::rename(&hidden, folder.join(name))) {
        let _ = std::fs::remove_file(&hidden);
        return Err(error);
    }
    Ok(listener)
}

/// Removes a tap's socket.
pub(crate) fn remove(uuid: &str) {
    if let Some(folder) = folders().first() {
        let _ = std::fs::remove_file(folder.join(name_of(uuid)));
    }
}

/// A connection to the tap of a session.
pub(crate) fn connect(uuid: &str) -> io::Result<UnixStream> {
    connect_in(&folders(), uuid)
}

fn connect_in(folders: &[PathBuf], uuid: &str) -> io::Result<UnixStream> {
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for folder in folders {
        match is_ours(folder).and_then(|()| UnixStream::connect(folder.join(name_of(uuid)))) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

/// Connections to all taps that answer. Sockets that nobody listens at are left over from a tap that was killed: they are
/// removed.
pub(crate) fn connections() -> io::Result<Vec<UnixStream>> {
    connections_in(&folders())
}

fn connections_in(folders: &[PathBuf]) -> io::Result<Vec<UnixStream>> {
    let (mut found, mut failed) = (Vec::new(), None);
    for folder in folders {
        match is_ours(folder).and_then(|()| sockets(folder)) {
            Ok(paths) => found.extend(paths.iter().filter_map(|path| connect_or_remove(path))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // Somebody else's folder hides nothing of what is in ours.
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed.filter(|_| found.is_empty()) {
        Some(error) => Err(error),
        None => Ok(found),
    }
}

fn sockets(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let is_socket = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket());
    let paths = std::fs::read_dir(folder)?.flatten().map(|entry| entry.path());
    let mut paths: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(SUFFIX) && is_socket(path)).collect();
    paths.sort();
    Ok(paths)
}

fn connect_or_remove(path: &Path) -> Option<UnixStream> {
    match UnixStream::connect(path) {
        Ok(stream) => return Some(stream),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            let _ = std::fs::remove_file(path);
        }
        // It has ended just now, or cannot take more.
        Err(_) => {}
    }
    None
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

#[cfg(test)]
mod tests {
    use super::*;

    fn private_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    #[test]
    fn commands_look_wherever_a_tap_with_less_of_an_environment_listens() {
        let (runtime, runtimes) = (private_folder(), private_folder());
        let user = geteuid();
        let of_user = runtimes.path().join(user.to_string());
        let look = |runtime: Option<&Path>, temporary: Option<&str>| {
            candidates(runtime.map(Into::into), temporary.map(Into::into), runtimes.path())
        };
        let temporary = PathBuf::from(format!("/tmp/mcp-tap-{user}"));
        let other = PathBuf::from(format!("/other/mcp-tap-{user}"));
        let own = runtime.path().join("mcp-tap");
        assert_eq!(look(None, None), std::slice::from_ref(&temporary));
        assert_eq!(look(Some(Path::new("relative")), Some("relative")), std::slice::from_ref(&temporary));
        std::fs::DirBuilder::new().mode(0o700).create(&of_user).unwrap();
        assert_eq!(look(None, None), [of_user.join("mcp-tap"), temporary.clone()]);
        assert_eq!(look(Some(&of_user), Some("/tmp")), [of_user.join("mcp-tap"), temporary.clone()]);
        let all = look(Some(runtime.path()), Some("/other"));
        assert_eq!(all, [own.clone(), of_user.join("mcp-tap"), other, temporary.clone()]);
        std::fs::set_permissions(&of_user, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert_eq!(look(Some(runtime.path()), None), [own, temporary], "others could make it");
    }

    #[test]
    fn taps_are_found_in_all_folders_that_are_ours() {
        let (one, two, open) = (private_folder(), private_folder(), private_folder());
        let first = listen_in(one.path(), "11111111-1").unwrap();
        let _second = listen_in(two.path(), "22222222-2").unwrap();
        let _third = listen_in(open.path(), "33333333-3").unwrap();
        std::fs::set_permissions(open.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let folders = [one.path(), Path::new("/is/not/there"), open.path(), two.path()].map(PathBuf::from);
        assert_eq!(connections_in(&folders).unwrap().len(), 2);
        assert!(connect_in(&folders, "22222222-2").is_ok());
        assert!(connect_in(&folders, "33333333-3").is_err());
        assert!(connections_in(&folders[1..3]).is_err(), "nothing but what is not ours");
        drop(first);
        assert_eq!(connections_in(&folders).unwrap().len(), 1);
        assert_eq!(std::fs::read_dir(one.path()).unwrap().count(), 0, "what was left over is removed");
    }

    #[test]
    fn a_socket_that_does_not_listen_yet_is_not_removed() {
        let folder = private_folder();
        let hidden = folder.path().join(name_of("1").replace(SUFFIX, NEW_SUFFIX));
        // Bound, and refused like one that is left over.
        drop(UnixListener::bind(&hidden).unwrap());
        assert!(connections_in(&[folder.path().into()]).unwrap().is_empty());
        assert!(hidden.exists());
    }
}
