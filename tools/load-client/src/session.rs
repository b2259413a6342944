//! One start of the command: handshake, lines out and in, and the end.

use std::fs::File;
use std::io::{BufReader, BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Serialize;
use serde_json::{Value, json};
use tap_echo_server::line::read_line;

use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::message::response_id;
use crate::processes::{Family, HighWater, MARK_VARIABLE, TapCost};
use crate::statistics::{milliseconds, rounded};

const BUFFER_BYTES: usize = 256 * 1024;

/// The writing end of a session.
pub(crate) type ToServer = BufWriter<ChildStdin>;

/// A running command in its own process group, with a watchdog that kills the group when it takes too long.
pub(crate) struct Session {
    child: Child,
    to_server: Option<ToServer>,
    from_server: BufReader<ChildStdout>,
    /// The line read last.
    pub(crate) line: Vec<u8>,
    next_id: u64,
    /// Lines that nobody waited for.
    n_extra_lines: u64,
    watchdog: Watchdog,
    started_at: Instant,
    /// From the start to the answer to `initialize`.
    startup: Duration,
    family: Family,
    cpu_ms_at_start: f64,
}

/// What one session cost, and how it ended.
#[derive(Debug, Serialize)]
pub(crate) struct SessionCost {
    /// From the start of the process to the answer to `initialize`.
    pub(crate) startup_ms: f64,
    /// From the end of the input to the exit: what was still to be done then.
    pub(crate) exit_ms: f64,
    /// `None` when a signal ended the command.
    pub(crate) exit_status: Option<i32>,
    #[serde(flatten)]
    pub(crate) tap: TapCost,
}

impl Session {
    /// Starts the command and goes through `initialize`, the notification after it, and `tools/list`: five messages.
    pub(crate) fn start(arguments: &Arguments, limit: Duration) -> Result<Self, PhaseError> {
        let mut session = Self::spawn(arguments, limit)?;
        session.initialize(&arguments.protocol)?;
        session.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)?;
        let answer = session.call("tools/list", &json!({}))?;
        if !answer["result"]["tools"].is_array() {
            return Err(PhaseError::Answer { method: "tools/list", answer: answer.to_string() });
        }
        // Only now is it certain that the root runs the tap, and no longer a shell that will become it.
        session.family = Family::new(session.child.id(), &arguments.server_exe, session.family.mark().to_owned());
        session.cpu_ms_at_start = session.family.tap_usage().all.cpu_ms;
        Ok(session)
    }

    /// Starts the command, no more.
    pub(crate) fn spawn(arguments: &Arguments, limit: Duration) -> Result<Self, PhaseError> {
        static N_SPAWNED: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", process::id(), N_SPAWNED.fetch_add(1, Ordering::Relaxed));
        let stderr = match &arguments.stderr {
            Some(path) => File::options()
                .create(true)
                .append(true)
                .open(path)
                .map_err(|source| PhaseError::Stderr { path: path.clone(), source })?
                .into(),
            None => Stdio::null(),
        };
        let program = &arguments.command[0];
        let failed = |source| PhaseError::Spawn { program: program.clone(), source };
        let started_at = Instant::now();
        let mut child = Command::new(program)
            .args(&arguments.command[1..])
            .env(MARK_VARIABLE, &mark)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let (Some(to_server), Some(from_server)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(failed(std::io::Error::other("no pipes")));
        };
        Ok(Self {
            watchdog: Watchdog::start(group_of(&child), limit),
            family: Family::new(child.id(), &arguments.server_exe, mark),
            child,
            to_server: Some(BufWriter::with_capacity(BUFFER_BYTES, to_server)),
            from_server: BufReader::with_capacity(BUFFER_BYTES, from_server),
            line: Vec::new(),
            next_id: 1,
            n_extra_lines: 0,
            started_at,
            startup: Duration::ZERO,
            cpu_ms_at_start: 0.0,
        })
    }

    /// Sends `initialize` and waits for its answer; the time since the start is kept as the start-up.
    pub(crate) fn initialize(&mut self, revision: &str) -> Result<Duration, PhaseError> {
        let params = json!({
            "protocolVersion": revision,
            "capabilities": {},
            "clientInfo": {"name": "tap-load-client", "version": env!("CARGO_PKG_VERSION")},
        });
        let answer = self.call("initialize", &params)?;
        self.startup = self.started_at.elapsed();
        match answer.get("result") {
            Some(_) => Ok(self.startup),
            None => Err(PhaseError::Answer { method: "initialize", answer: answer.to_string() }),
        }
    }

    /// The id for one more call.
    pub(crate) fn take_id(&mut self) -> u64 {
        self.take_ids(1)
    }

    /// The first of so many ids in a row.
    pub(crate) fn take_ids(&mut self, n_ids: usize) -> u64 {
        let first = self.next_id;
        self.next_id += n_ids as u64;
        first
    }

    /// Writes a line and flushes.
    pub(crate) fn send(&mut self, line: &[u8]) -> Result<(), PhaseError> {
        let doing = "sending a call";
        let Some(to_server) = self.to_server.as_mut() else { return Err(PhaseError::Ended { doing }) };
        let written =
            to_server.write_all(line).and_then(|()| to_server.write_all(b"\n")).and_then(|()| to_server.flush());
        written.map_err(|source| self.watchdog.or_timed_out(doing, PhaseError::Pipe { doing, source }))
    }

    /// Reads the next line into [`line`](Self::line).
    pub(crate) fn receive(&mut self) -> Result<(), PhaseError> {
        let doing = "waiting for an answer";
        let error = match read_line(&mut self.from_server, &mut self.line) {
            Ok(true) => return Ok(()),
            Ok(false) => PhaseError::Ended { doing },
            Err(source) => PhaseError::Pipe { doing, source },
        };
        Err(self.watchdog.or_timed_out(doing, error))
    }

    /// Reads lines until one answers this id, and counts the others.
    pub(crate) fn receive_answer(&mut self, id: &str) -> Result<(), PhaseError> {
        loop {
            self.receive()?;
            if response_id(&self.line) == Some(id) {
                return Ok(());
            }
            self.n_extra_lines += 1;
        }
    }

    /// Lines that were skipped over so far.
    pub(crate) fn n_extra_lines(&self) -> u64 {
        self.n_extra_lines
    }

    /// Takes the writing end out, for another thread; [`give_back`](Self::give_back) returns it.
    pub(crate) fn take_writer(&mut self) -> Option<ToServer> {
        self.to_server.take()
    }

    /// Returns what [`take_writer`](Self::take_writer) took.
    pub(crate) fn give_back(&mut self, to_server: ToServer) {
        self.to_server = Some(to_server);
    }

    /// The processes of this session.
    pub(crate) fn family(&self) -> &Family {
        &self.family
    }

    /// SIGKILL to the whole process group.
    pub(crate) fn kill_group(&self) {
        kill_group(group_of(&self.child));
    }

    /// SIGKILL to the process that was started, and to no other.
    pub(crate) fn kill_root(&mut self) -> Result<(), PhaseError> {
        let doing = "killing the command";
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(|_| ()).map_err(|source| PhaseError::Pipe { doing, source })
    }

    /// Closes the command's stdin and waits for the exit, without looking at the processes.
    pub(crate) fn end(mut self) -> Result<ExitStatus, PhaseError> {
        let doing = "waiting for the exit";
        self.close_stdin();
        let status = self.child.wait().map_err(|source| PhaseError::Pipe { doing, source })?;
        self.watchdog.check(doing)?;
        Ok(status)
    }

    /// Closes the command's stdin, waits for the exit, and says what the session cost until the very end.
    pub(crate) fn finish(mut self) -> Result<SessionCost, PhaseError> {
        let doing = "waiting for the exit";
        let pids = self.family.tap();
        let mut high_water = HighWater::default();
        high_water.look(&pids);
        self.close_stdin();
        let closed_at = Instant::now();
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => thread::sleep(Duration::from_millis(1)),
                Err(source) => return Err(PhaseError::Pipe { doing, source }),
            }
            // What a tap still has to do now may be what takes most memory.
            high_water.look(&pids);
        };
        let exit = closed_at.elapsed();
        self.watchdog.check(doing)?;
        let usage = high_water.tap_usage(self.child.id());
        Ok(SessionCost {
            startup_ms: milliseconds(self.startup),
            exit_ms: milliseconds(exit),
            exit_status: status.code(),
            tap: TapCost {
                tap_peak_rss_kib: usage.all.peak_resident_kib,
                tap_main_peak_rss_kib: usage.main.peak_resident_kib,
                tap_processes: usage.n_processes,
                tap_cpu_ms: rounded(usage.all.cpu_ms - self.cpu_ms_at_start),
            },
        })
    }

    fn call(&mut self, method: &'static str, params: &Value) -> Result<Value, PhaseError> {
        let id = self.take_id();
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(request.to_string().as_bytes())?;
        self.receive_answer(&id.to_string())?;
        serde_json::from_slice(&self.line)
            .map_err(|_| PhaseError::Answer { method, answer: String::from_utf8_lossy(&self.line).into_owned() })
    }

    /// Ends the input of the command.
    pub(crate) fn close_stdin(&mut self) {
        if let Some(to_server) = self.to_server.take() {
            // In parts, because dropping it whole would flush, and wait for a command that no longer reads.
            drop(to_server.into_parts());
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.close_stdin();
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            self.kill_group();
            let _ = self.child.wait();
        }
    }
}

/// Kills a process group when its time is over, unless dropped before.
struct Watchdog {
    limit: Duration,
    has_barked: Arc<AtomicBool>,
    /// Dropping it ends the thread.
    _leash: mpsc::Sender<()>,
}

impl Watchdog {
    fn start(group: Pid, limit: Duration) -> Self {
        let (leash, dropped) = mpsc::channel();
        let has_barked = Arc::new(AtomicBool::new(false));
        let barked = Arc::clone(&has_barked);
        thread::spawn(move || {
            if dropped.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout) {
                barked.store(true, Ordering::SeqCst);
                kill_group(group);
            }
        });
        Self { limit, has_barked, _leash: leash }
    }

    fn check(&self, doing: &'static str) -> Result<(), PhaseError> {
        match self.has_barked.load(Ordering::SeqCst) {
            true => Err(PhaseError::TimedOut { limit: self.limit, doing }),
            false => Ok(()),
        }
    }

    /// The time limit if that is why `error` came, else `error`.
    fn or_timed_out(&self, doing: &'static str, error: PhaseError) -> PhaseError {
        self.check(doing).err().unwrap_or(error)
    }
}

/// The command leads its own process group, so that its number is the child's.
fn group_of(child: &Child) -> Pid {
    Pid::from_raw(child.id().cast_signed())
}

fn kill_group(group: Pid) {
    // It fails only when the group is gone already.
    let _ = killpg(group, Signal::SIGKILL);
}
