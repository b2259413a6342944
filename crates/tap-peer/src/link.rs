//! What a client is put on: lines to a server, lines from it, and an end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use tap_transport::Ending;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

/// What may wait to be written to a server that does not read, bytes. Beyond that the session is given up.
const UNREAD_LIMIT_BYTES: usize = 256 * 1024 * 1024;

/// Lines of the server that wait to be looked at. The server waits beyond that.
pub(crate) const LINES: usize = 256;

/// A link to a server. The end of `lines` is the end of what the server says; dropping `out` says that nothing more comes.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) out: Sender,
    pub(crate) lines: mpsc::Receiver<Bytes>,
    /// Ends when everything about the link has: a process, what it started, a session over HTTP.
    pub(crate) ended: JoinHandle<LinkEnd>,
}

/// The way of lines to a server. Never waits.
#[derive(Debug)]
pub(crate) struct Sender {
    lines: mpsc::UnboundedSender<Bytes>,
    waiting: Arc<AtomicUsize>,
}

/// The other end of it.
#[derive(Debug)]
pub(crate) struct Receiver {
    lines: mpsc::UnboundedReceiver<Bytes>,
    waiting: Arc<AtomicUsize>,
}

/// Whether a server takes what it is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It will.
    Yes,
    /// It does not read.
    TooMuch,
}

pub(crate) fn channel() -> (Sender, Receiver) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let waiting = Arc::new(AtomicUsize::new(0));
    (Sender { lines: sender, waiting: waiting.clone() }, Receiver { lines: receiver, waiting })
}

impl Sender {
    /// Sends a line, with its line feed.
    pub(crate) fn send(&self, line: Bytes) -> Taken {
        let n_bytes = line.len();
        if UNREAD_LIMIT_BYTES < self.waiting.load(Ordering::Relaxed).saturating_add(n_bytes) {
            return Taken::TooMuch;
        }
        self.waiting.fetch_add(n_bytes, Ordering::Relaxed);
        // Nobody takes it where the link is over, which is told by the end of its lines.
        let _ = self.lines.send(line);
        Taken::Yes
    }
}

impl Receiver {
    /// The next line; `None` when no more will come.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        let line = self.lines.recv().await?;
        self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
        Some(line)
    }
}

/// How many links have not ended, and word of each that does.
static ALIVE: LazyLock<watch::Sender<usize>> = LazyLock::new(|| watch::Sender::new(0));

/// That a link has not ended; held by whoever sees to its end.
#[derive(Debug)]
pub(crate) struct Alive(());

impl Alive {
    pub(crate) fn new() -> Self {
        ALIVE.send_modify(|n_alive| *n_alive += 1);
        Self(())
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        ALIVE.send_modify(|n_alive| *n_alive -= 1);
    }
}

/// Waits until every link of this process has ended, so that no server's process is left behind: for programs that are told
/// to stop in the midst of something. Sessions that somebody still holds are waited for too.
pub async fn all_ended() {
    let mut alive = ALIVE.subscribe();
    let _ = alive.wait_for(|n_alive| *n_alive == 0).await;
}

/// How a link ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkEnd {
    /// How the server's process ended, where there was one.
    pub process: Option<Ending>,
    /// Whether it had to be told to end by a signal, or was killed.
    pub was_forced: bool,
    /// The end of what the server wrote to stderr.
    pub stderr: Vec<u8>,
    /// What went wrong beside that.
    pub failure: Option<String>,
}

impl LinkEnd {
    /// In words, where there is something to say.
    #[must_use]
    pub fn how(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        Some(match self.process? {
            Ending::Exited(code) => format!("the server exited with code {code}"),
            Ending::Killed(number) => format!("the server was ended by signal {number}"),
        })
    }

    /// The last lines of the server's stderr that hold something, at most `n`, as they are: whoever prints them must expect
    /// control characters.
    #[must_use]
    pub fn last_words(&self, n: usize) -> Vec<String> {
        let text = String::from_utf8_lossy(&self.stderr);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        lines[lines.len().saturating_sub(n)..].iter().map(|line| (*line).to_owned()).collect()
    }
}
