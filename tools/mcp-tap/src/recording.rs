//! The thread that records what a tap saw, and how a tap talks.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tap_relay::{Clock, Copies};
use tap_store::{EndReason, Recorder, SessionEnd, SessionStart, Transport};
use tap_transport::{is_writable, standard, write_all};

use crate::keeping::keep_within_limits;
use crate::paths::{default_database, lossy, recorded_by};
use crate::reference::new_uuid;
use crate::telling::Teller;

/// Copies gather for so long before they are written, so that a burst costs a transaction now and then and not one a
/// message. After a quiet spell the first one is written at once.
const GATHER: Duration = Duration::from_millis(50);

/// How often a recorder that waits for its database tries again.
const RETRY: Duration = Duration::from_millis(50);

/// Long enough to be as good as for ever.
const FOR_EVER: Duration = Duration::from_secs(3600);

/// What the pumps may be ahead of the recorder, bytes. Beyond this a copy becomes a gap.
const COPIES_LIMIT_BYTES: usize = 56 * 1024 * 1024;

/// From here on the recorder is woken out of gathering, bytes.
const COPIES_URGENT_BYTES: usize = 2 * 1024 * 1024;

/// What a pipe takes in one piece, and has room for when it has any (`PIPE_BUF`).
const WHOLE_WRITE_BYTES: usize = 4096;

/// A queue for the copies of a tap that began at `clock`.
pub(crate) fn copies(clock: Clock) -> Arc<Copies> {
    Arc::new(Copies::new(clock, COPIES_LIMIT_BYTES, COPIES_URGENT_BYTES))
}

/// What is known of a session that begins now, but for the server's process.
pub(crate) fn session_start(clock: Clock, transport: Transport, name: String, command: Vec<String>) -> SessionStart {
    SessionStart {
        uuid: new_uuid(),
        name,
        transport,
        command,
        folder: std::env::current_dir().map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default(),
        environment: environment(),
        recorded_by: recorded_by(),
        tap_pid: Some(std::process::id()),
        server_pid: None,
        opened_unix_ns: clock.opened_unix_ns,
    }
}

/// The thread that records.
pub(crate) struct Recording {
    ended: std::sync::mpsc::Sender<SessionEnd>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Recording {
    /// Begins to record into `database`, or the default one.
    pub(crate) fn begin(database: Option<PathBuf>, start: SessionStart, copies: Arc<Copies>) -> Self {
        let (ended, end) = std::sync::mpsc::channel();
        let body = move || {
            let database = match database.map_or_else(default_database, Ok) {
                Ok(database) => database,
                Err(failure) => {
                    say(&format!("{}; traffic goes on, but this session is not recorded", failure.message));
                    return forget(&copies);
                }
            };
            keep_within_limits(database.clone());
            let mut recorder = Recorder::new(database, start, Box::new(|told| say(&told)));
            record(&copies, &mut recorder);
            if let Ok(end) = end.recv() {
                recorder.finish(end);
            }
        };
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(body);
        if let Err(error) = &thread {
            say(&format!("cannot start the recorder: {error}; traffic goes on, but this session is not recorded"));
        }
        Self { ended, thread: thread.ok() }
    }

    /// Takes what passes, and keeps nothing of it.
    pub(crate) fn none(copies: Arc<Copies>) -> Self {
        let (ended, _) = std::sync::mpsc::channel();
        let thread = std::thread::Builder::new().name("recorder".into()).spawn(move || forget(&copies));
        Self { ended, thread: thread.ok() }
    }

    /// Lets the recorder write what is left, and waits until it has.
    pub(crate) fn finish(self, copies: &Copies, clock: Clock, reason: Option<EndReason>) {
        let _ = self.ended.send(SessionEnd { at_ns: clock.at_ns(), reason, lost_bytes: copies.lost_bytes() });
        copies.close();
        if let Some(thread) = self.thread {
            let _ = thread.join();
        }
    }
}

/// Takes copies and has them recorded until there are no more. Quiet moments are used to work out what they meant.
fn record(copies: &Copies, recorder: &mut Recorder) {
    let mut work_left = false;
    let mut emptied = recorder.record(Vec::new());
    loop {
        copies.give_back(emptied);
        let idle = match (recorder.is_behind(), work_left) {
            (true, _) => RETRY,
            (false, true) => Duration::ZERO,
            (false, false) => FOR_EVER,
        };
        let taken = copies.take(GATHER, idle);
        let quiet = taken.segments.is_empty();
        emptied = recorder.record(taken.segments);
        if taken.closed {
            return;
        }
        work_left = if quiet { work_left && recorder.work_behind() } else { true };
    }
}

/// Takes copies for nothing, where there is no place to record them to.
fn forget(copies: &Copies) {
    while !copies.take(GATHER, FOR_EVER).closed {}
}

/// Does the waiting for [`say`].
static TELLER: OnceLock<Teller> = OnceLock::new();

/// How long whoever reads stderr may take at the end for what was said.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// Waits at the end of the program until what was said is written, if somebody reads it.
pub(crate) fn finish_saying() {
    if let Some(teller) = TELLER.get().filter(|teller| !teller.is_idle()) {
        teller.finish(LAST_WORDS);
    }
}

fn environment() -> Vec<String> {
    let mut names: Vec<OsString> = std::env::vars_os().map(|(name, _)| name).collect();
    names.sort();
    lossy(&names)
}

/// One line on stderr, in one write, so that it cannot be torn by a line of the server's. Waits for nobody: where the host
/// does not read stderr, one other thread does the waiting, for as long as the tap lives, and drops what is too much.
pub(crate) fn say(text: &str) {
    tell(&line_of(text));
}

/// The same of several lines, all of them our own.
pub(crate) fn say_lines(text: &str) {
    let lines: Vec<_> = text.split('\n').map(|line| tap_text::shown(line, false)).collect();
    tell(&format!("mcp-tap: {}\n", lines.join("\n")));
}

fn tell(line: &str) {
    tracing::warn!("{}", line.trim_end());
    if TELLER.get().is_none_or(Teller::is_idle) && is_writable(standard(2)) {
        let _ = write_all(standard(2), line.as_bytes());
    } else {
        let teller = TELLER.get_or_init(|| {
            Teller::start(|line| {
                let _ = write_all(standard(2), line);
            })
        });
        teller.leave(line.as_bytes().to_vec());
    }
}

/// What is said of something: one line, whatever the other side of a session has put into the names that are told.
fn line_of(text: &str) -> String {
    let text = tap_text::shown(text, false);
    match text.len() <= WHOLE_WRITE_BYTES - 20 {
        true => format!("mcp-tap: {text}\n"),
        false => format!("mcp-tap: {}…\n", &text[..text.floor_char_boundary(WHOLE_WRITE_BYTES - 20)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_one_line_that_does_nothing_to_a_terminal() {
        let said = line_of("fault 1: tools/call a\u{1b}[2J\r\nmcp-tap: forged\u{202e}");
        assert_eq!(said, "mcp-tap: fault 1: tools/call a\\u{1b}[2J\\u{d}\\u{a}mcp-tap: forged\\u{202e}\n");
        let long = line_of(&"\u{7}ä".repeat(WHOLE_WRITE_BYTES));
        assert!(long.len() <= WHOLE_WRITE_BYTES && long.ends_with("…\n"));
    }
}
