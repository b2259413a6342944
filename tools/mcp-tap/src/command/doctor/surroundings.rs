//! What a host gives to a server that it starts: a PATH, a folder, an environment.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use tap_hosts::{CommandLine, Host, Lookup, Unfilled, fill};

use crate::failure::Failure;

/// Variables that every host passes on. The SDKs of Python and TypeScript pass on these and no others.
const PASSED_ON: [&str; 7] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER", "TMPDIR"];

/// Where programs that were started from a menu look for others, if nothing is known of them.
const PATH_OF_A_MENU: &str = if cfg!(target_os = "macos") {
    "/usr/bin:/bin:/usr/sbin:/sbin"
} else {
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
};

/// What a server is started in.
#[derive(Debug, Clone)]
pub(super) struct Surroundings {
    /// Who starts it, in a sentence.
    pub(super) who: String,
    /// Where programs are looked for.
    pub(super) path: OsString,
    /// The folder.
    pub(super) folder: PathBuf,
    /// The configuration says which.
    pub(super) is_folder_configured: bool,
    /// The environment, PATH included.
    pub(super) environment: Vec<(OsString, OsString)>,
}

impl Surroundings {
    pub(super) fn set_path(&mut self, path: OsString) {
        self.environment.retain(|(name, _)| name != "PATH");
        self.environment.push(("PATH".into(), path.clone()));
        self.path = path;
    }
}

/// What a command gets that no host is known for: what all hosts give.
pub(super) fn of_nobody() -> Result<Surroundings, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    surroundings("a host", path, here()?, &[])
}

/// What a host gives.
pub(super) fn of_host(
    host: Option<Host>,
    project: Option<&str>,
    passed_on: &[String],
) -> Result<Surroundings, Failure> {
    let Some(host) = host else {
        return of_nobody();
    };
    let own = || std::env::var_os("PATH").unwrap_or_default();
    let home = || std::env::home_dir().unwrap_or_else(|| "/".into());
    let (path, folder) = match host {
        // They are started from a shell, in the folder that is worked in.
        Host::ClaudeCode | Host::Codex | Host::GeminiCli | Host::Opencode | Host::Goose => (own(), here()?),
        Host::VsCode | Host::Cursor | Host::Cline | Host::Continue | Host::Zed | Host::Windsurf => {
            (path_of(host), here()?)
        }
        Host::ClaudeDesktop | Host::LmStudio if cfg!(target_os = "macos") => (path_of(host), "/".into()),
        Host::ClaudeDesktop | Host::LmStudio => (path_of(host), home()),
    };
    let folder = project.map_or(folder, PathBuf::from);
    surroundings(host.title(), path, folder, passed_on)
}

fn here() -> Result<PathBuf, Failure> {
    std::env::current_dir().map_err(|error| Failure::new(format!("cannot tell the folder: {error}")))
}

fn surroundings(who: &str, path: OsString, folder: PathBuf, passed_on: &[String]) -> Result<Surroundings, Failure> {
    let is_passed_on = |name: &OsStr| {
        PASSED_ON.iter().any(|passed| name == *passed) || passed_on.iter().any(|passed| name == OsStr::new(passed))
    };
    let environment = std::env::vars_os().filter(|(name, _)| is_passed_on(name)).collect();
    let mut this =
        Surroundings { who: who.to_owned(), path: OsString::new(), folder, is_folder_configured: false, environment };
    this.set_path(path);
    Ok(this)
}

/// The PATH of a host that is started from a menu: that of the running one, if it runs.
fn path_of(host: Host) -> OsString {
    let names: &[&str] = match host {
        Host::ClaudeDesktop => &["claude-desktop", "claude"],
        Host::Cursor => &["cursor"],
        Host::VsCode | Host::Cline | Host::Continue => &["code", "code-insiders", "codium"],
        Host::Windsurf => &["windsurf"],
        Host::Zed => &["zed", "zed-editor"],
        Host::LmStudio => &["lm-studio", "lmstudio"],
        _ => &[],
    };
    running(names).unwrap_or_else(|| PATH_OF_A_MENU.into())
}

/// The PATH of a running program of this user with one of these names, where the system tells it.
fn running(names: &[&str]) -> Option<OsString> {
    use std::os::unix::ffi::OsStringExt;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let Ok(program) = std::fs::read_link(process.path().join("exe")) else {
            continue;
        };
        let is_it = program.file_name().and_then(OsStr::to_str).is_some_and(|name| names.contains(&name));
        let environment = is_it.then(|| std::fs::read(process.path().join("environ")).ok()).flatten();
        for variable in environment.unwrap_or_default().split(|byte| *byte == 0) {
            if let Some(path) = variable.strip_prefix(b"PATH=") {
                return Some(OsString::from_vec(path.to_vec()));
            }
        }
    }
    None
}

/// Where a program is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Looked {
    At(PathBuf),
    /// It is there and is no program; why.
    NoProgram(PathBuf, &'static str),
    Nowhere,
}

/// Looks for a program as a host does: by its path, or on a PATH.
pub(super) fn look_up(program: &OsStr, path: &OsStr, folder: &Path) -> Looked {
    let is_path = program.as_encoded_bytes().contains(&b'/');
    let candidates: Vec<PathBuf> = match is_path {
        true => vec![folder.join(program)],
        false => std::env::split_paths(path).map(|entry| folder.join(entry).join(program)).collect(),
    };
    let mut no_program = Looked::Nowhere;
    for candidate in candidates {
        match what_it_is(&candidate) {
            Some(None) => return Looked::At(candidate),
            Some(Some(why)) if no_program == Looked::Nowhere => no_program = Looked::NoProgram(candidate, why),
            _ => {}
        }
    }
    no_program
}

/// Nothing where there is nothing; else why it cannot be started, if it cannot.
fn what_it_is(path: &Path) -> Option<Option<&'static str>> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().ok()?;
    Some(match metadata.is_file() {
        false if metadata.is_dir() => Some("it is a folder"),
        false => Some("it is no file"),
        true if metadata.permissions().mode() & 0o111 == 0 => Some("it may not be executed"),
        true => None,
    })
}

/// A command line with what the host fills in.
pub(super) fn filled(
    host: Option<Host>,
    line: &CommandLine,
    surroundings: &Surroundings,
) -> Result<CommandLine, Unfilled> {
    let Some(host) = host else {
        return Ok(line.clone());
    };
    struct Here<'s>(&'s Surroundings);
    impl Lookup for Here<'_> {
        fn environment(&self, name: &str) -> Option<String> {
            std::env::var(name).ok()
        }
        fn workspace(&self) -> Option<String> {
            Some(self.0.folder.to_string_lossy().into_owned())
        }
    }
    let here = Here(surroundings);
    let fill_in = |text: &String| fill(host, text, &here);
    let pairs = line.environment.iter().map(|(name, value)| Ok((name.clone(), fill_in(value)?)));
    Ok(CommandLine {
        command: fill_in(&line.command)?,
        arguments: line.arguments.iter().map(fill_in).collect::<Result<_, _>>()?,
        environment: pairs.collect::<Result<_, _>>()?,
        folder: line.folder.as_ref().map(fill_in).transpose()?,
        ..line.clone()
    })
}
