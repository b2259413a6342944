//! A server that is started and said hello to, as a host would, and what came of it.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// What is kept of stderr: its end, bytes; and of a line on stdout.
const KEPT_BYTES: usize = 16 * 1024;
/// How many lines that are no messages are kept.
const KEPT_LINES: usize = 3;
/// The longest line that is read, bytes.
const LINE_LIMIT_BYTES: u64 = 64 * 1024 * 1024;
/// How long what comes after the answer is waited for, and the end of the process.
const PATIENCE: Duration = Duration::from_secs(5);

/// How a server is started.
#[derive(Debug, Clone)]
pub(super) struct Start {
    /// The file, and what it is called by.
    pub(super) file: PathBuf,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    pub(super) folder: PathBuf,
    /// All of it.
    pub(super) environment: Vec<(OsString, OsString)>,
}

/// In which era hello is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Era {
    /// `initialize`.
    Legacy,
    /// `server/discover` (2026-07-28).
    Modern,
}

/// What came of it.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Why it could not be started.
    pub(super) not_started: Option<std::io::Error>,
    /// The answer to hello, and after how long.
    pub(super) answer: Option<(Value, Duration)>,
    /// The answer to `tools/list`, if hello was answered with a result.
    pub(super) tools: Option<Value>,
    /// Lines on stdout that are no messages of JSON-RPC; at most [`KEPT_LINES`].
    pub(super) noise: Vec<String>,
    /// How it ended by itself, before it was told to.
    pub(super) ended: Option<ExitStatus>,
    /// The last lines of stderr.
    pub(super) stderr: Vec<String>,
    /// How long it was waited for.
    pub(super) waited: Duration,
}

impl Trial {
    /// Whether hello was answered with a result.
    pub(super) fn is_answered(&self) -> bool {
        self.answer.as_ref().is_some_and(|(answer, _)| answer.get("result").is_some_and(Value::is_object))
    }
}

/// Starts a server, says hello, asks for tools, and ends it.
pub(super) fn try_it(start: &Start, era: Era, wait: Duration) -> Trial {
    let began = Instant::now();
    let mut command = Command::new(&start.file);
    command.arg0(&start.program).args(&start.arguments).current_dir(&start.folder);
    command.env_clear().envs(start.environment.iter().map(|(name, value)| (name, value)));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own, so that what it starts ends with it.
    command.process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => return Trial { not_started: Some(error), ..Trial::default() },
    };
    let mut trial = Trial::default();
    let lines = lines_of(&mut child);
    let errors = end_of(&mut child);
    let mut stdin = child.stdin.take();
    let mut say = |message: &Value| {
        if let Some(stdin) = &mut stdin {
            // It may be gone.
            let _ = writeln!(stdin, "{message}").and_then(|()| stdin.flush());
        }
    };
    say(&hello(era));
    let answer = answer_to(1, &lines, began + wait, &mut trial.noise);
    trial.answer = answer.map(|answer| (answer, began.elapsed()));
    if trial.is_answered() {
        if era == Era::Legacy {
            say(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        say(&request(2, "tools/list", era));
        trial.tools = answer_to(2, &lines, Instant::now() + PATIENCE, &mut trial.noise);
    } else {
        // Whether its stdout is closed because it has ended is known a little later.
        let until = Instant::now() + if trial.answer.is_none() { Duration::from_secs(1) } else { Duration::ZERO };
        trial.ended = end(&mut child, until);
    }
    trial.waited = began.elapsed();
    drop(stdin);
    if trial.ended.is_none() {
        let by_itself = end(&mut child, Instant::now() + Duration::from_millis(500));
        if by_itself.is_none() {
            let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
        }
        let _ = child.wait();
    }
    let _ = killpg(Pid::from_raw(child.id().cast_signed()), Signal::SIGKILL);
    let bytes = errors.recv_timeout(PATIENCE).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    trial.stderr = all.iter().skip(all.len().saturating_sub(40)).map(|line| (*line).to_owned()).collect();
    trial
}

/// Waits for the end of a process until a moment.
fn end(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            // tidy: sleeps because a process cannot be waited for with a limit.
            Ok(None) if Instant::now() < until => std::thread::sleep(Duration::from_millis(5)),
            Ok(None) | Err(_) => return None,
        }
    }
}

/// The answer with this id; what is no message on the way to it is noise.
fn answer_to(id: u64, lines: &Receiver<Vec<u8>>, until: Instant, noise: &mut Vec<String>) -> Option<Value> {
    let as_text = Value::from(id.to_string());
    loop {
        let line = match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        };
        let message = serde_json::from_slice::<Value>(&line).ok();
        let message = message.filter(|message| message.is_object() && message.get("jsonrpc").is_some());
        match message {
            None if line.trim_ascii().is_empty() => {}
            None if noise.len() < KEPT_LINES => {
                let kept = line.get(..line.len().min(200)).unwrap_or_default();
                noise.push(String::from_utf8_lossy(kept).trim_end().to_owned());
            }
            None => {}
            Some(message) => {
                let is_answer = message.get("result").is_some() || message.get("error").is_some();
                // An id of another type, or none, is a wrong answer, and an answer.
                if is_answer && (message["id"] == id || message["id"].is_null() || message["id"] == as_text) {
                    return Some(message);
                }
            }
        }
    }
}

fn lines_of(child: &mut Child) -> Receiver<Vec<u8>> {
    let (to_us, lines) = channel();
    if let Some(stdout) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            loop {
                let mut line = Vec::new();
                match (&mut reader).take(LINE_LIMIT_BYTES).read_until(b'\n', &mut line) {
                    Ok(0) | Err(_) => return,
                    Ok(_) if to_us.send(line).is_err() => return,
                    Ok(_) => {}
                }
            }
        });
    }
    lines
}

/// The end of what is written on stderr, once no more comes.
fn end_of(child: &mut Child) -> Receiver<Vec<u8>> {
    let (to_us, errors) = channel();
    if let Some(mut stderr) = child.stderr.take() {
        std::thread::spawn(move || {
            let (mut kept, mut piece) = (Vec::new(), [0; 4096]);
            while let Ok(n_read) = stderr.read(&mut piece) {
                if n_read == 0 {
                    break;
                }
                kept.extend_from_slice(piece.get(..n_read).unwrap_or_default());
                let too_many = kept.len().saturating_sub(KEPT_BYTES);
                kept.drain(..too_many);
            }
            let _ = to_us.send(kept);
        });
    }
    errors
}

fn hello(era: Era) -> Value {
    match era {
        Era::Legacy => json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "mcp-tap doctor", "version": env!("CARGO_PKG_VERSION")},
        }}),
        Era::Modern => request(1, "server/discover", era),
    }
}

fn request(id: u64, method: &str, era: Era) -> Value {
    match era {
        Era::Legacy => json!({"jsonrpc": "2.0", "id": id, "method": method}),
        Era::Modern => json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "mcp-tap doctor", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
        }}}),
    }
}
