//! A program in a pseudo-terminal, and how soon what it shows changes.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::pty::{OpenptyResult, Winsize, openpty};

use super::screen::Screen;

const ROWS: u16 = 40;
/// So wide that a message stands beside the list.
const COLUMNS: u16 = 120;

/// How long nothing is written when all was drawn that comes of a key.
const QUIET: Duration = Duration::from_millis(40);

/// How long something is waited for. To judge a million messages may take half a minute.
const PATIENCE: Duration = Duration::from_secs(180);

/// How long a key may take to show anything.
const NOTHING: Duration = Duration::from_secs(2);

/// A terminal with a program on it. It is killed when this goes.
pub(super) struct Terminal {
    master: File,
    written: Receiver<(Instant, Vec<u8>)>,
    pub(super) screen: Screen,
    child: Child,
    started: Instant,
}

impl Terminal {
    /// Starts the tap. `setsid` makes the terminal the controlling one, as it is of what is started in a window.
    pub(super) fn start(program: &Path, arguments: &[&str]) -> Result<Self, String> {
        let size = Winsize { ws_row: ROWS, ws_col: COLUMNS, ws_xpixel: 0, ws_ypixel: 0 };
        let failed = |error: std::io::Error| format!("no pseudo-terminal: {error}");
        let OpenptyResult { master, slave } = openpty(&size, None).map_err(|errno| failed(errno.into()))?;
        let end = || slave.try_clone().map(Stdio::from).map_err(failed);
        let mut command = Command::new("setsid");
        command.arg("--ctty").arg(program).args(arguments);
        command.env("TERM", "xterm-256color").env("TZ", "UTC").env_remove("NO_COLOR");
        command.stdin(end()?).stdout(end()?).stderr(end()?);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| format!("cannot run setsid: {error}"))?;
        let (to, written) = channel();
        let mut reads = File::from(master.try_clone().map_err(failed)?);
        thread::spawn(move || {
            let mut bytes = [0; 64 * 1024];
            while let Ok(n @ 1..) = reads.read(&mut bytes) {
                let Some(read) = bytes.get(..n) else { return };
                if to.send((Instant::now(), read.to_vec())).is_err() {
                    return;
                }
            }
        });
        Ok(Self { master: File::from(master), written, screen: Screen::new(ROWS, COLUMNS), child, started })
    }

    /// Waits until the screen is such, and says how long that took from the start, milliseconds.
    pub(super) fn shows_from_start(&mut self, what: &str, is: impl Fn(&Screen) -> bool) -> Result<f64, String> {
        if is(&self.screen) {
            return Ok(milliseconds(self.started.elapsed()));
        }
        self.shows(self.started, what, is)
    }

    /// Types, and waits until the screen is such: milliseconds from the last key.
    pub(super) fn types(&mut self, keys: &str, what: &str, is: impl Fn(&Screen) -> bool) -> Result<f64, String> {
        let from = self.send(keys)?;
        self.shows(from, what, is)
    }

    /// Types, and waits until the screen is such, which it may be already; nothing is measured.
    pub(super) fn goes(&mut self, keys: &str, what: &str, is: impl Fn(&Screen) -> bool) -> Result<(), String> {
        let from = self.send(keys)?;
        self.settle();
        if is(&self.screen) { Ok(()) } else { self.shows(from, what, is).map(|_| ()) }
    }

    fn send(&mut self, keys: &str) -> Result<Instant, String> {
        let from = Instant::now();
        self.master.write_all(keys.as_bytes()).map_err(|error| format!("cannot type: {error}"))?;
        Ok(from)
    }

    fn shows(&mut self, from: Instant, what: &str, is: impl Fn(&Screen) -> bool) -> Result<f64, String> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.written.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((at, bytes)) => {
                    if self.screen.feed(&bytes) && is(&self.screen) {
                        return Ok(milliseconds(at.saturating_duration_since(from)));
                    }
                }
                Err(_) => {
                    let screen: Vec<String> = self.screen.lines().collect();
                    return Err(format!("{what} did not come on the screen:\n{}", screen.join("\n")));
                }
            }
        }
    }

    /// Types a key, and says when the first and the last of what it changed was on the screen, milliseconds. A key that changes
    /// nothing counts for nothing.
    pub(super) fn key(&mut self, key: &str) -> Result<Option<(f64, f64)>, String> {
        self.settle();
        let from = self.send(key)?;
        let (mut first, mut last) = (None, None);
        loop {
            let wait = if last.is_none() { NOTHING } else { QUIET };
            match self.written.recv_timeout(wait) {
                Ok((at, bytes)) if self.screen.feed(&bytes) => {
                    first = first.or(Some(at));
                    last = Some(at);
                }
                // What shows nothing does not hold up the end for ever.
                Ok((at, _)) if last.is_some_and(|last: Instant| last + QUIET < at) => break,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let taken = |at: Instant| milliseconds(at.saturating_duration_since(from));
        Ok(first.zip(last).map(|(first, last)| (taken(first), taken(last))))
    }

    /// Takes what is written until nothing more comes for a moment.
    pub(super) fn settle(&mut self) {
        while let Ok((_, bytes)) = self.written.recv_timeout(QUIET) {
            self.screen.feed(&bytes);
        }
    }

    /// Takes what is written meanwhile.
    pub(super) fn drain(&mut self) {
        while let Ok((_, bytes)) = self.written.try_recv() {
            self.screen.feed(&bytes);
        }
    }

    /// The highest resident memory so far, KiB.
    pub(super) fn peak_kib(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        line.trim().trim_end_matches("kB").trim().parse().ok()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
