//! The server as a child process: started as the host would have started it, and the way it ended passed on.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, pthread_sigmask};
use nix::unistd::{Pid, getppid};

/// Why a server could not be started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// No such program.
    #[error("cannot start `{}`: no such program{}", command.display(), searched.as_ref().map(|path| format!("; PATH is {}", path.display())).unwrap_or_default())]
    NotFound {
        /// The program as it was given.
        command: OsString,
        /// The PATH that was searched, if the program was given without a folder.
        searched: Option<OsString>,
    },
    /// The program is there, but what its first line says should run it is not.
    #[error("cannot start `{}`: {} is there, but the interpreter that it names is not", command.display(), found.display())]
    NoInterpreter {
        /// The program as it was given.
        command: OsString,
        /// The file that was found.
        found: PathBuf,
    },
    /// The file may not be executed.
    #[error("cannot start `{}`: {source}", command.display())]
    NotExecutable {
        /// The program as it was given.
        command: OsString,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else that the system refused.
    #[error("cannot start `{}`: {source}", command.display())]
    Refused {
        /// The program as it was given.
        command: OsString,
        /// What the system said.
        source: io::Error,
    },
}

impl SpawnError {
    /// The exit code with which a shell would have reported this: 127 not found, 126 not executable.
    #[must_use]
    pub fn exit_code(&self) -> i32 {
        match self {
            Self::NotFound { .. } | Self::NoInterpreter { .. } => 127,
            Self::NotExecutable { .. } | Self::Refused { .. } => 126,
        }
    }

    fn new(command: &OsStr, source: io::Error) -> Self {
        let command = command.to_os_string();
        match source.kind() {
            io::ErrorKind::NotFound => match find(&command) {
                Some(found) => Self::NoInterpreter { command, found },
                None => {
                    let searched = (!command.as_bytes().contains(&b'/'))
                        .then(|| std::env::var_os("PATH").unwrap_or_else(|| "not set".into()));
                    Self::NotFound { command, searched }
                }
            },
            io::ErrorKind::PermissionDenied => Self::NotExecutable { command, source },
            _ => Self::Refused { command, source },
        }
    }
}

/// The file that a shell would run for this command, if there is one that may be executed.
fn find(command: &OsStr) -> Option<PathBuf> {
    let executable = |path: &Path| {
        path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    };
    if command.as_bytes().contains(&b'/') {
        let path = PathBuf::from(command);
        return executable(&path).then_some(path);
    }
    std::env::split_paths(&std::env::var_os("PATH")?).map(|folder| folder.join(command)).find(|path| executable(path))
}

/// How a server ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It exited with this code.
    Exited(i32),
    /// A signal with this number killed it.
    Killed(i32),
}

/// What a client starts a server with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Launch {
    /// The program: a path, or a name that is looked for in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// What is set in its environment beside what we have in ours.
    pub environment: Vec<(OsString, OsString)>,
    /// Where it is started, if not where we are.
    pub folder: Option<PathBuf>,
}

/// A running server.
#[derive(Debug)]
pub struct ServerProcess {
    pid: Pid,
    /// Our end of the server's stdin.
    pub stdin: OwnedFd,
    /// Our end of the server's stdout.
    pub stdout: OwnedFd,
    /// Our end of the server's stderr.
    pub stderr: OwnedFd,
    lifeline: Lifeline,
}

/// A way to signal the server that cannot hit another process: once the server has been waited for, it does nothing.
#[derive(Debug, Clone)]
pub struct Lifeline(Arc<Mutex<Option<Pid>>>);

impl Lifeline {
    /// Sends the signal with this number.
    pub fn send(&self, number: i32) {
        let alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = *alive {
            // SAFETY: kill takes two numbers and touches no memory. nix's own kill cannot name real-time signals.
            unsafe { nix::libc::kill(pid.as_raw(), number) };
        }
    }

    /// Sends the signal with this number to the whole process group of a server that [leads one](ServerProcess::spawn_leader).
    pub fn send_to_group(&self, number: i32) {
        let alive = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pid) = *alive {
            // SAFETY: as above. Until the leader is waited for its number, which is the group's, is nobody else's.
            unsafe { nix::libc::kill(-pid.as_raw(), number) };
        }
    }

    fn cut(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl ServerProcess {
    /// Starts `program` with `arguments`, with pipes for its three streams and everything else as the host gave it to us:
    /// environment, working folder, further descriptors, process group, and the signal mask `mask`.
    ///
    /// On Linux the server is killed when the calling thread ends, so call this from a thread that lives as long as the
    /// process: it is what keeps a server from outliving a tap that was killed with SIGKILL.
    ///
    /// # Errors
    ///
    /// When the system cannot start it; [`SpawnError::exit_code`] is what a shell would exit with.
    pub fn spawn(program: &OsStr, arguments: &[OsString], mask: SigSet) -> Result<Self, SpawnError> {
        Self::spawn_command(program, command(program, arguments, Some(mask)))
    }

    /// Starts a server as a client does that has it for itself: in a process group of its own, which it leads, so that
    /// nothing that it started need be left behind. The rest is as with [`spawn`](Self::spawn), the thread too.
    ///
    /// # Errors
    ///
    /// As with [`spawn`](Self::spawn).
    pub fn spawn_leader(launch: &Launch, mask: SigSet) -> Result<Self, SpawnError> {
        let mut command = command(&launch.program, &launch.arguments, Some(mask));
        command.process_group(0).envs(launch.environment.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &launch.folder {
            command.current_dir(folder);
        }
        Self::spawn_command(&launch.program, command)
    }

    fn spawn_command(program: &OsStr, mut command: Command) -> Result<Self, SpawnError> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|source| SpawnError::new(program, source))?;
        let missing = || SpawnError::Refused { command: program.into(), source: io::ErrorKind::BrokenPipe.into() };
        let stdin = child.stdin.take().ok_or_else(missing)?.into();
        let stdout = child.stdout.take().ok_or_else(missing)?.into();
        let stderr = child.stderr.take().ok_or_else(missing)?.into();
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(|_| missing())?);
        Ok(Self { pid, stdin, stdout, stderr, lifeline: Lifeline(Arc::new(Mutex::new(Some(pid)))) })
    }

    /// The server's process id.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.pid.as_raw().unsigned_abs()
    }

    /// A way to signal the server while the rest of it is in other hands.
    #[must_use]
    pub fn lifeline(&self) -> Lifeline {
        self.lifeline.clone()
    }

    /// A waiter that can be used while the streams are in other hands.
    pub fn waiter(&self) -> impl FnOnce() -> io::Result<Ending> + use<> {
        let (pid, lifeline) = (self.pid, self.lifeline.clone());
        move || wait_for(pid, &lifeline)
    }

    /// The same in two steps, so that something can be done in between: see [`Watch`].
    #[must_use]
    pub fn watch(&self) -> Watch {
        Watch { pid: self.pid, lifeline: self.lifeline.clone() }
    }
}

/// Waits for the end of a server, and lets go of its number only when it is told to: until then its process group can be
/// signalled, even when the server itself has ended.
#[derive(Debug)]
pub struct Watch {
    pid: Pid,
    lifeline: Lifeline,
}

impl Watch {
    /// Waits until the server has ended.
    ///
    /// # Errors
    ///
    /// When the system does not let us wait for it.
    pub fn look(&self) -> io::Result<()> {
        look_at(self.pid)
    }

    /// Lets go of a server that has ended, and tells how; waits for its end if need be.
    ///
    /// # Errors
    ///
    /// When the system does not let us wait for it.
    pub fn reap(self) -> io::Result<Ending> {
        wait_for(self.pid, &self.lifeline)
    }
}

/// A running program that has our own standard streams.
#[derive(Debug)]
pub struct PlainProcess {
    pid: Pid,
    lifeline: Lifeline,
}

impl PlainProcess {
    /// Starts `program` with `arguments` as [`ServerProcess::spawn`] does, on the same terms, but without pipes, and with
    /// `environment` set beside what we have of it.
    ///
    /// # Errors
    ///
    /// When the system cannot start it; [`SpawnError::exit_code`] is what a shell would exit with.
    pub fn spawn(
        program: &OsStr,
        arguments: &[OsString],
        environment: &[(&str, OsString)],
        mask: SigSet,
    ) -> Result<Self, SpawnError> {
        let mut command = command(program, arguments, Some(mask));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        let child = command.spawn().map_err(|source| SpawnError::new(program, source))?;
        let refused = |_| SpawnError::Refused { command: program.into(), source: io::ErrorKind::InvalidData.into() };
        let pid = Pid::from_raw(i32::try_from(child.id()).map_err(refused)?);
        Ok(Self { pid, lifeline: Lifeline(Arc::new(Mutex::new(Some(pid)))) })
    }

    pub(crate) fn lifeline(&self) -> Lifeline {
        self.lifeline.clone()
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    ///
    /// When the system does not let us wait for it.
    pub fn wait(&self) -> io::Result<Ending> {
        wait_for(self.pid, &self.lifeline)
    }
}

fn look_at(pid: Pid) -> io::Result<()> {
    // Not nix's waitid, which refuses what a real-time signal killed.
    loop {
        // SAFETY: waitid writes to the address of a local variable.
        let looked = unsafe {
            let mut info: nix::libc::siginfo_t = std::mem::zeroed();
            let flags = nix::libc::WEXITED | nix::libc::WNOWAIT;
            nix::libc::waitid(nix::libc::P_PID, pid.as_raw().unsigned_abs(), &raw mut info, flags)
        };
        let error = io::Error::last_os_error();
        match looked {
            0 => return Ok(()),
            _ if error.kind() == io::ErrorKind::Interrupted => {}
            _ => return Err(error),
        }
    }
}

fn wait_for(pid: Pid, lifeline: &Lifeline) -> io::Result<Ending> {
    // Look first and reap after the lifeline is cut: from the reaping on the number may be another process's.
    look_at(pid)?;
    lifeline.cut();
    let mut status = 0;
    // SAFETY: waitpid writes one integer to the address of a local variable.
    while unsafe { nix::libc::waitpid(pid.as_raw(), &raw mut status, 0) } < 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    let status = std::process::ExitStatus::from_raw(status);
    Ok(match (status.code(), status.signal()) {
        (Some(code), _) => Ending::Exited(code),
        (None, number) => Ending::Killed(number.unwrap_or(nix::libc::SIGKILL)),
    })
}

fn command(program: &OsStr, arguments: &[OsString], mask: Option<SigSet>) -> Command {
    let mut command = Command::new(program);
    command.args(arguments);
    let parent = nix::unistd::getpid();
    let dies_with_us = mask.is_some();
    // SAFETY: the closure runs between fork and exec and only makes system calls that are async-signal-safe; it does
    // not allocate.
    unsafe {
        command.pre_exec(move || {
            if let Some(mask) = &mask {
                pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(mask), None)?;
            }
            if dies_with_us {
                #[cfg(target_os = "linux")]
                nix::sys::prctl::set_pdeathsig(Signal::SIGKILL)?;
                if getppid() != parent {
                    return Err(io::ErrorKind::BrokenPipe.into());
                }
            }
            Ok(())
        });
    }
    command
}

/// Replaces this process by the program, as if the tap had never been there. Returns only when that fails.
#[must_use]
pub fn replace_with(program: &OsStr, arguments: &[OsString]) -> SpawnError {
    SpawnError::new(program, command(program, arguments, None).exec())
}

/// Ends this process in the way the server ended: with the same exit code, or killed by the same signal, so that a
/// parent sees what it would have seen without a tap.
pub fn end_like(ending: Ending) -> ! {
    let number = match ending {
        Ending::Exited(code) => std::process::exit(code),
        Ending::Killed(number) => number,
    };
    // The server may have left a core file; a second one, of us, would only mislead.
    let _ = setrlimit(Resource::RLIMIT_CORE, 0, 0);
    // SAFETY: the calls take numbers and the address of a local variable; the default action involves no handler of ours.
    // Not nix's, which cannot name real-time signals.
    unsafe {
        nix::libc::signal(number, nix::libc::SIG_DFL);
        let mut only = std::mem::zeroed();
        nix::libc::sigemptyset(&raw mut only);
        nix::libc::sigaddset(&raw mut only, number);
        nix::libc::pthread_sigmask(nix::libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        nix::libc::raise(number);
    }
    // A signal whose default is to do nothing cannot have killed the server; should it seem so: the number that shells use.
    std::process::exit(128 + number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_cannot_start_is_told_as_a_shell_would() {
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        std::fs::write(&plain, "x").unwrap();
        let orphan = folder.path().join("orphan");
        // Written by another process: a file that this one wrote may still be open for writing in a process that another
        // test has just forked, and such a file cannot be executed.
        let script = "printf '#!/no/such/interpreter\\n' > \"$0\" && chmod 755 \"$0\"";
        assert!(Command::new("sh").args(["-c", script]).arg(&orphan).status().unwrap().success());
        for (program, code, says) in [
            ("no-such-program-anywhere".into(), 127, "no such program; PATH is "),
            ("/no/such/program".into(), 127, "no such program"),
            (plain.into_os_string(), 126, "ermission denied"),
            (orphan.into_os_string(), 127, "the interpreter that it names is not"),
        ] {
            let error = ServerProcess::spawn(&program, &[], SigSet::empty()).unwrap_err();
            assert_eq!(error.exit_code(), code, "{error}");
            assert!(error.to_string().contains(says), "{error}");
        }
    }

    #[test]
    fn the_way_it_ended_is_told() {
        for (script, expected) in [
            ("exit 0", Ending::Exited(0)),
            ("exit 42", Ending::Exited(42)),
            ("kill -SEGV $$", Ending::Killed(11)),
            ("kill -KILL $$", Ending::Killed(9)),
        ] {
            let server = ServerProcess::spawn("sh".as_ref(), &["-c".into(), script.into()], SigSet::empty()).unwrap();
            assert_eq!(server.waiter()().unwrap(), expected, "{script}");
            // From here on a signal goes nowhere, whoever has the number by now.
            server.lifeline().send(9);
        }
    }

    #[test]
    fn a_leader_s_group_can_be_signalled_until_it_is_let_go() {
        let folder = tempfile::tempdir().unwrap();
        let launch = Launch {
            program: "sh".into(),
            // The leader ends at once; what it started has its stdout, and would stay for an hour.
            arguments: vec!["-c".into(), "pwd; echo \"$WORD\"; sleep 3600 & exit 3".into()],
            environment: vec![("WORD".into(), "said".into())],
            folder: Some(folder.path().canonicalize().unwrap()),
        };
        let server = ServerProcess::spawn_leader(&launch, SigSet::empty()).unwrap();
        let watch = server.watch();
        watch.look().unwrap();
        server.lifeline().send_to_group(9);
        let mut said = String::new();
        io::Read::read_to_string(&mut std::fs::File::from(server.stdout), &mut said).unwrap();
        assert_eq!(said, format!("{}\nsaid\n", launch.folder.unwrap().display()));
        assert_eq!(watch.reap().unwrap(), Ending::Exited(3));
    }
}
