//! Recordings in tests: a recorded server as a command, or in the test itself.
//!
//! May know: text recordings, their playback. Must not know: SQLite, terminals, who the client is.
//!
//! [`Replay`] is the command of a server, for a client that starts one: `mcp-tap replay FILE`. Nothing else than the file is
//! needed.
//!
//! ```
//! # let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/demo-server.mcprec");
//! let replay = tap_testkit::Replay::new(recording)?.with(["--loose", "case"]);
//! let words = replay.words(); // what a client is to start; `replay.command()` where it wants a `Command`
//! # assert_eq!(words[1..3], ["replay", recording]);
//! // … the client starts it, talks to it and closes it …
//! # Ok::<(), tap_testkit::Error>(())
//! ```
//!
//! [`Played`] is the same without a process:
//!
//! ```
//! # let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/../../recordings/demo-server.mcprec");
//! use serde_json::json;
//!
//! let mut server = tap_testkit::Played::open(recording, tap_replay::Options::default())?;
//! server.say(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
//!     "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "mine", "version": "1"},
//! }}));
//! let oslo = json!({"name": "forecast", "arguments": {"city": "Oslo"}});
//! let said = server.say(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": oslo}));
//! let answer = said.last().unwrap(); // what it says on its own comes before
//! assert_eq!(answer["result"]["content"][0]["text"], "Oslo: 7 degrees, rain in the afternoon");
//!
//! let report = server.report();
//! assert_eq!(report.asked, ["initialize", "tools/call forecast"]);
//! let left = report.check().unwrap_err().to_string(); // for `tools/list` was never asked for
//! assert!(left.contains("tools/list"), "{left}");
//! # Ok::<(), tap_testkit::Error>(())
//! ```

mod played;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tap_text::shown;

pub use played::Played;

/// How long is waited for the report of a server whose client has ended, or is about to.
const REPORT_LIMIT: Duration = Duration::from_secs(20);

/// Why a recording could not be played, or was not played as recorded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be written or read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
    /// The recording could not be read.
    #[error("{0}")]
    Recording(#[from] tap_store::StoreError),
    /// The rules in its header make no sense.
    #[error("the rules of the recording cannot be used: {0}")]
    Rules(String),
    /// It was recorded over HTTP, which only `mcp-tap replay` plays.
    #[error("it was recorded over HTTP: use `Replay`, which starts a process")]
    OverHttp,
    /// The server has left no report.
    #[error("no report from `{0}`: was it started, and has its client closed its stdin?")]
    NoReport(String),
    /// The client did not do what was recorded: requests without a recorded answer, recorded ones that it did not make.
    #[error("{0}")]
    NotAsRecorded(String),
}

/// A recording as the command of a server.
pub struct Replay {
    words: Vec<OsString>,
    folder: tempfile::TempDir,
}

impl Replay {
    /// Plays this recording. The program is `mcp-tap`, or what `MCP_TAP` in the environment says.
    ///
    /// # Errors
    ///
    /// When there is no place for the report.
    pub fn new(recording: impl Into<PathBuf>) -> Result<Self, Error> {
        let folder = tempfile::tempdir()?;
        let program = std::env::var_os("MCP_TAP").unwrap_or_else(|| "mcp-tap".into());
        let report = folder.path().join("report.json");
        let words = vec![program, "replay".into(), recording.into().into(), "--report".into(), report.into()];
        Ok(Self { words, folder })
    }

    /// With these options of `mcp-tap replay` as well.
    #[must_use]
    pub fn with<S: AsRef<OsStr>>(mut self, options: impl IntoIterator<Item = S>) -> Self {
        self.words.extend(options.into_iter().map(|option| option.as_ref().to_owned()));
        self
    }

    /// The program and its arguments, for a client that starts its server itself.
    #[must_use]
    pub fn words(&self) -> &[OsString] {
        &self.words
    }

    /// The same as a command.
    #[must_use]
    pub fn command(&self) -> Command {
        let (program, arguments) =
            self.words.split_first().map_or((OsStr::new(""), &[][..]), |(a, b)| (a.as_os_str(), b));
        let mut command = Command::new(program);
        command.args(arguments);
        command
    }

    /// What happened. The server writes it when its stdin is closed, and up to 20 seconds are waited for that.
    ///
    /// # Errors
    ///
    /// When it has written none by then.
    pub fn report(&self) -> Result<Report, Error> {
        let path = self.folder.path().join("report.json");
        let started = Instant::now();
        loop {
            // Renamed into place when it is whole.
            match std::fs::read(&path) {
                Ok(bytes) => return Ok(serde_json::from_slice(&bytes).map_err(std::io::Error::from)?),
                Err(_) if started.elapsed() < REPORT_LIMIT => std::thread::sleep(Duration::from_millis(10)), // tidy: sleeps because it waits for a process, with a limit.
                Err(_) => {
                    let words = self.words.iter().map(|word| word.to_string_lossy());
                    return Err(Error::NoReport(words.collect::<Vec<_>>().join(" ")));
                }
            }
        }
    }

    /// Whether the client did what was recorded.
    ///
    /// # Errors
    ///
    /// [`Error::NotAsRecorded`], with all that differs, when it did not; [`Error::NoReport`] when nobody knows.
    pub fn check(&self) -> Result<(), Error> {
        self.report()?.check()
    }
}

/// What a client did.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Report {
    /// Its requests in order: the method, with the name if there is one. The first 1,000.
    pub asked: Vec<String>,
    /// Those that no recorded request matches. The first 1,000.
    pub misses: Vec<Miss>,
    /// Recorded requests that it did not make. The first 1,000.
    pub unused: Vec<Unused>,
}

/// A request that no recorded one matches.
#[derive(Debug, Clone, Deserialize)]
pub struct Miss {
    /// The method.
    pub method: String,
    /// The tool, prompt or resource.
    pub name: Option<String>,
    /// Why: `no match`, `used up` and such.
    pub reason: String,
    /// Everything, for people, with what is near and what would accept it.
    pub text: String,
}

/// A recorded request that nobody made.
#[derive(Debug, Clone, Deserialize)]
pub struct Unused {
    /// The line of the recording that it is on.
    pub line: Option<u64>,
    /// The method, with the name if there is one.
    pub what: String,
}

impl Report {
    /// Whether the client did what was recorded, no more and no less.
    ///
    /// # Errors
    ///
    /// [`Error::NotAsRecorded`], with all that differs.
    pub fn check(&self) -> Result<(), Error> {
        let mut text = String::new();
        for miss in &self.misses {
            text.push_str(&miss.text);
        }
        for unused in &self.unused {
            let line = unused.line.map(|line| format!(" (line {line})")).unwrap_or_default();
            let _ = writeln!(text, "never asked: {}{line}", unused.what);
        }
        if text.is_empty() { Ok(()) } else { Err(Error::NotAsRecorded(shown(&text, true))) }
    }
}
