//! What all end-to-end tests use: a scratch folder with a database, the program, and waiting with a limit.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::Value;
use serde_json::value::RawValue;

/// How long anything may take before a test says that it hangs. Far more than it takes.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) const TAP: &str = env!("CARGO_BIN_EXE_mcp-tap");

/// A folder of this test's own.
pub(crate) struct Scratch {
    folder: tempfile::TempDir,
}

impl Scratch {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A file in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The database. In a folder that does not exist yet, as on a new machine.
    pub(crate) fn db(&self) -> PathBuf {
        self.path("data/tap.db")
    }

    /// `mcp-tap ARGUMENTS` on this database, in an environment that configures nothing.
    pub(crate) fn tap<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(TAP);
        for variable in [
            "MCP_TAP_DB",
            "MCP_TAP_NAME",
            "MCP_TAP_OFF",
            "MCP_TAP_LOG",
            "MCP_TAP_RECORD",
            "NO_COLOR",
            "CLICOLOR_FORCE",
            "CI",
            "COLUMNS",
        ] {
            command.env_remove(variable);
        }
        command.args(arguments).env("MCP_TAP_DB", self.db()).env("TZ", "UTC");
        command.env_remove("MCP_TAP_CONFIG");
        command.env("XDG_CONFIG_HOME", self.path("config")).env("XDG_STATE_HOME", self.path("state"));
        command.env("XDG_RUNTIME_DIR", self.folder.path());
        // Those of whoever runs the tests are none of ours.
        command.env("MCP_TAP_SOCKETS", self.path("mcp-tap"));
        command
    }

    /// `mcp-tap run -- COMMAND…` with pipes for all three streams.
    pub(crate) fn run<S: AsRef<OsStr>>(&self, command: impl IntoIterator<Item = S>) -> Command {
        let mut tap = self.tap(["run", "--name", "peer", "--"]);
        tap.args(command);
        piped(tap)
    }

    /// `mcp-tap run -- sh -c SCRIPT`.
    pub(crate) fn run_sh(&self, script: &str) -> Command {
        self.run(["sh", "-c", script])
    }

    /// The lines of JSON that a command prints.
    #[track_caller]
    pub(crate) fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.tap(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// The newest session, as `ls --json` tells it.
    #[track_caller]
    pub(crate) fn session(&self) -> Value {
        self.json(&["ls", "--json"]).into_iter().next().expect("there is no session")
    }

    /// All bytes that were recorded of one stream, in order. `to` is `server`, `client` or `stderr`.
    #[track_caller]
    pub(crate) fn recorded(&self, to: &str) -> Vec<u8> {
        self.recorded_of("last", to)
    }

    /// The same of a session by its reference.
    #[track_caller]
    pub(crate) fn recorded_of(&self, reference: &str, to: &str) -> Vec<u8> {
        let output = self.tap(["export", reference]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let mut bytes = Vec::new();
        for line in output.stdout.split_inclusive(|byte| *byte == b'\n') {
            // Values stay as they were written: a message may hold what no JSON library can represent.
            let record: HashMap<&str, &RawValue> = serde_json::from_slice(line).unwrap();
            let text = |key: &str| -> Option<String> { Some(serde_json::from_str(record.get(key)?.get()).unwrap()) };
            let own = text("to").unwrap_or_else(|| "stderr".into());
            if own != to
                || !["msg", "raw", "base64", "stderr", "stderr_base64"].iter().any(|key| record.contains_key(key))
            {
                continue;
            }
            if let Some(message) = record.get("msg") {
                bytes.extend_from_slice(message.get().as_bytes());
            } else if let Some(text) = text("raw").or_else(|| text("stderr")) {
                bytes.extend_from_slice(text.as_bytes());
            } else if let Some(text) = text("base64").or_else(|| text("stderr_base64")) {
                bytes.extend_from_slice(&base64::engine::general_purpose::STANDARD.decode(text).unwrap());
            }
            match text("eol").as_deref() {
                None => bytes.push(b'\n'),
                Some("crlf") => bytes.extend_from_slice(b"\r\n"),
                Some(_) => {}
            }
        }
        bytes
    }
}

/// Pipes for all three streams.
pub(crate) fn piped(mut command: Command) -> Command {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < LIMIT, "in vain waited until {what}");
        std::thread::sleep(Duration::from_millis(5)); // tidy: sleeps because it waits for something, with a limit.
    }
}

/// Waits for a process that should end, and kills it when it does not.
#[track_caller]
pub(crate) fn wait_for(child: &mut Child) -> std::process::ExitStatus {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if started.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("the process did not end in {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(2)); // tidy: sleeps because it waits for something, with a limit.
    }
}

/// Gives a process all of its input, and gathers what it writes until it ends.
#[track_caller]
pub(crate) fn talk(command: Command, input: &[u8]) -> Output {
    let mut child = piped(command).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        use std::io::Write;
        // A server that does not read all of it is part of what is tested.
        let _ = stdin.write_all(&input);
    });
    let reader = |mut stream: Box<dyn std::io::Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            bytes
        })
    };
    let stdout = reader(Box::new(child.stdout.take().unwrap()));
    let stderr = reader(Box::new(child.stderr.take().unwrap()));
    let status = wait_for(&mut child);
    writer.join().unwrap();
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

/// Whether a process is there and not only waiting to be reaped.
pub(crate) fn is_running(pid: u32) -> bool {
    let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
        return false;
    };
    let state = stat.rsplit_once(')').map(|(_, rest)| rest.trim_start().chars().next());
    !matches!(state, Some(Some('Z' | 'X')))
}

/// Says in one line that a test could not be made here, and why. Where nothing may be skipped that is a failure.
#[track_caller]
pub(crate) fn skip(what: &str, why: &str) {
    assert!(std::env::var_os("MCP_TAP_NO_SKIP").is_none(), "{what} was to be tested: {why}");
    eprintln!("skipped: {what}: {why}");
}

/// That two long pieces of bytes are the same, told without printing them.
#[track_caller]
pub(crate) fn same(got: &[u8], expected: &[u8]) {
    if got != expected {
        let at = got.iter().zip(expected).take_while(|(got, expected)| got == expected).count();
        let around = |bytes: &[u8]| {
            bytes[at.saturating_sub(20).min(bytes.len())..(at + 60).min(bytes.len())].escape_ascii().to_string()
        };
        panic!(
            "{} bytes instead of {}, different from byte {at} on:\n     got {}\nexpected {}",
            got.len(),
            expected.len(),
            around(got),
            around(expected)
        );
    }
}

/// A conversation that is easy to check: so many lines, each of which `cat` gives back.
pub(crate) fn lines(count: usize) -> Vec<u8> {
    let line = |n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\",\"params\":{{\"n\":{n}}}}}\n");
    (1..=count).map(line).collect::<String>().into_bytes()
}
