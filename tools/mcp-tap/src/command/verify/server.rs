//! The live server: a tap in front of it, started as a host would start one, so that what is verified is recorded like
//! anything else. `mcp-tap run` for a command, `mcp-tap proxy --stdio` for an address. `replay --record new` starts one so too.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use crate::arguments::{Global, Verify};
use crate::failure::Failure;

/// What of the server's stderr is kept: its end, bytes.
const STDERR_BYTES: usize = 64 * 1024;

/// A longer line ends the session, bytes.
const LINE_LIMIT_BYTES: u64 = 1 << 30;

/// Lines that wait to be looked at. The server waits beyond that.
const WAITING_LINES: usize = 1_024;

/// How long a server may take to end after its stdin has, as hosts wait; and then after it was told to.
const PATIENCE: Duration = Duration::from_secs(3);

/// How long the end of its stderr may be behind the end of its stdout.
const LAST_WORD: Duration = Duration::from_secs(1);

/// What happened.
pub(in crate::command) enum Event {
    /// The server wrote a line.
    Line(Vec<u8>),
    /// It writes no more.
    Ended,
    /// The process has ended.
    Exited,
    /// Somebody typed a line, or a client said one.
    Typed(Vec<u8>),
    /// Nobody types any more, and the client says no more.
    TypedAll,
    /// We are to stop.
    Stop,
}

/// A running server.
pub(in crate::command) struct Server {
    child: Child,
    pub(in crate::command) pid: u32,
    events: Receiver<Event>,
    sender: SyncSender<Event>,
    /// Lines for the server. `None` once its stdin is closed.
    to_server: Option<Sender<Vec<u8>>>,
    stderr: Arc<Mutex<Vec<u8>>>,
    stderr_reader: Option<JoinHandle<()>>,
    /// Closed when all of stderr was read.
    stderr_ended: Receiver<()>,
    has_exited: bool,
}

/// How it ended, and what it wrote on stderr last.
pub(in crate::command) struct Ended {
    pub(in crate::command) status: Option<ExitStatus>,
    /// Whether it ended by itself, once its stdin was closed.
    pub(in crate::command) is_by_itself: bool,
    pub(in crate::command) stderr: String,
}

impl Ended {
    /// In a few words; nothing for a usual end.
    pub(in crate::command) fn says(&self) -> Option<String> {
        if !self.is_by_itself {
            return Some("the server did not end by itself, and was killed".into());
        }
        let status = self.status.filter(|status| !status.success())?;
        Some(match (status.code(), status.signal()) {
            (Some(code), _) => format!("the server exited with {code}"),
            (None, number) => format!("the server was killed by signal {}", number.unwrap_or_default()),
        })
    }
}

/// What happened, and where that is said.
pub(in crate::command) fn events() -> (SyncSender<Event>, Receiver<Event>) {
    sync_channel(WAITING_LINES)
}

impl Server {
    /// Starts this program as a tap, with these words, and says what happens on `sender`. The events are given back where it
    /// cannot be started.
    pub(in crate::command) fn start(
        words: &[OsString],
        sender: SyncSender<Event>,
        events: Receiver<Event>,
    ) -> Result<Self, (Failure, Receiver<Event>)> {
        match Self::spawn(words, &sender) {
            Ok(started) => Ok(Self { events, ..started }),
            Err(failure) => Err((failure, events)),
        }
    }

    fn spawn(words: &[OsString], sender: &SyncSender<Event>) -> Result<Self, Failure> {
        let own = std::env::current_exe()
            .map_err(|error| Failure::new(format!("cannot tell where this program is: {error}")))?;
        let mut command = Command::new(own);
        command.args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // A group of its own: what is left of it when all is over can be told apart, and Ctrl-C is ours to pass on.
        command.process_group(0);
        let mut child =
            command.spawn().map_err(|error| Failure::new(format!("cannot start a tap for the server: {error}")))?;
        let (_, events) = sync_channel(1);
        let (to_server, lines) = channel();
        let stderr = Arc::new(Mutex::new(Vec::new()));
        let (reads_stderr, stderr_ended) = sync_channel::<()>(0);
        let mut stderr_reader = None;
        if let (Some(stdin), Some(stdout), Some(err)) = (child.stdin.take(), child.stdout.take(), child.stderr.take()) {
            let (to_us, kept) = (sender.clone(), stderr.clone());
            std::thread::spawn(move || write_lines(stdin, &lines));
            std::thread::spawn(move || read_lines(stdout, &to_us));
            stderr_reader = Some(std::thread::spawn(move || {
                keep_end(err, &kept);
                drop(reads_stderr);
            }));
        }
        let pid = child.id();
        let to_us = sender.clone();
        std::thread::spawn(move || {
            // It is looked at, and not reaped: until it is, its number and its group's are nobody else's.
            let process = Pid::from_raw(pid.cast_signed());
            while waitid(Id::Pid(process), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) == Err(nix::errno::Errno::EINTR)
            {
            }
            let _ = to_us.send(Event::Exited);
        });
        let sender = sender.clone();
        Ok(Self {
            child,
            pid,
            events,
            sender,
            to_server: Some(to_server),
            stderr,
            stderr_reader,
            stderr_ended,
            has_exited: false,
        })
    }

    /// Says a line to the server.
    pub(in crate::command) fn send(&self, mut line: Vec<u8>) {
        line.push(b'\n');
        if let Some(to_server) = &self.to_server {
            let _ = to_server.send(line);
        }
    }

    /// Waits for what happens, until a moment.
    pub(in crate::command) fn next(&mut self, until: Option<Instant>) -> Option<Event> {
        let event = match until {
            Some(until) => self.events.recv_timeout(until.saturating_duration_since(Instant::now())),
            None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        if matches!(event, Ok(Event::Exited)) {
            self.has_exited = true;
        }
        event.ok()
    }

    /// The last thing that it wrote on stderr, of a server that is ending: what is on its way is waited for.
    pub(in crate::command) fn last_word(&self) -> Option<String> {
        let _ = self.stderr_ended.recv_timeout(LAST_WORD);
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&stderr).into_owned();
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
    }

    /// Where others say what happened.
    pub(in crate::command) fn sender(&self) -> SyncSender<Event> {
        self.sender.clone()
    }

    /// Ends it as hosts do: its stdin is closed, then it is told to end, then it is killed. Whatever it has started goes with
    /// it.
    pub(in crate::command) fn end(mut self) -> Ended {
        self.to_server = None;
        let group = Pid::from_raw(self.pid.cast_signed());
        let mut is_by_itself = true;
        let signals = [Some(Signal::SIGTERM), Some(Signal::SIGKILL), None];
        for signal in signals {
            let until = Instant::now() + PATIENCE;
            while !self.has_exited && Instant::now() < until {
                // What it still says is nobody's any more. Whoever wants to stop does not wait.
                if let Some(Event::Stop) = self.next(Some(until)) {
                    break;
                }
            }
            match signal {
                Some(signal) if !self.has_exited => {
                    is_by_itself = false;
                    let _ = killpg(group, signal);
                }
                _ => break,
            }
        }
        // It is not reaped yet, so the group is still its own.
        let _ = killpg(group, Signal::SIGKILL);
        let status = if self.has_exited { self.child.wait().ok() } else { None };
        if let Some(reader) = self.stderr_reader.take().filter(|_| self.has_exited) {
            let _ = reader.join();
        }
        let stderr = self.stderr.lock().unwrap_or_else(PoisonError::into_inner);
        Ended { status, is_by_itself, stderr: String::from_utf8_lossy(&stderr).into_owned() }
    }
}

/// How we are started to be a tap for the server that is verified.
pub(super) fn words(global: &Global, verify: &Verify, name: &str) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    let mut add = |word: &str, value: &std::ffi::OsStr| words.extend([word.into(), value.into()]);
    match &verify.url {
        None => add("run", "--name".as_ref()),
        Some(_) => add("proxy", "--name".as_ref()),
    }
    words.push(name.into());
    let mut add = |word: &str, value: &std::ffi::OsStr| words.extend([word.into(), value.into()]);
    if let Some(path) = global.database() {
        add("--db", path.as_os_str());
    }
    let Some(url) = &verify.url else {
        words.push("--".into());
        words.extend(verify.command.iter().cloned());
        return words;
    };
    if let Some(variable) = &verify.bearer_env {
        add("--bearer-env", variable.as_ref());
    }
    verify.header.iter().for_each(|header| add("--header", header.as_ref()));
    verify.cacert.iter().for_each(|path| add("--cacert", path.as_os_str()));
    words.extend(["--stdio".into(), url.to_string().into()]);
    words
}

fn write_lines(mut stdin: ChildStdin, lines: &Receiver<Vec<u8>>) {
    for line in lines {
        // Whoever reads no more ends soon, and that is told.
        if stdin.write_all(&line).is_err() {
            return;
        }
    }
}

fn read_lines(stdout: ChildStdout, events: &SyncSender<Event>) {
    let mut stdout = BufReader::new(stdout);
    loop {
        let mut line = Vec::new();
        match stdout.by_ref().take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line) {
            Ok(n) if n > 0 && (line.ends_with(b"\n") || (n as u64) < LINE_LIMIT_BYTES) => {
                if events.send(Event::Line(line)).is_err() {
                    return;
                }
            }
            _ => break,
        }
    }
    let _ = events.send(Event::Ended);
}

fn keep_end(mut stderr: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 8 * 1024];
    while let Ok(n) = stderr.read(&mut buffer) {
        if n == 0 {
            return;
        }
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&buffer[..n]);
        let too_much = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..too_much);
    }
}
