//! A server as a process of ours: started, spoken to over its pipes, and ended with all that it started.

use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use nix::sys::signal::{SigSet, Signal};
use tap_frame::Stream;
use tap_jsonrpc::LineSplitter;
use tap_relay::Copies;
use tap_transport::{Ending, Launch, Lifeline, ServerProcess, SpawnError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::error::ConnectError;
use crate::link::{Alive, LINES, Link, LinkEnd, Receiver, channel};

/// What one read takes, bytes.
const READ_BYTES: usize = 64 * 1024;

/// A longer line ends the session, bytes.
const LINE_LIMIT_BYTES: usize = 1 << 30;

/// What of a server's stderr is kept: its end, bytes.
const STDERR_BYTES: usize = 64 * 1024;

/// How long what is left in the pipes is waited for when the server has ended, and something that it started has them.
const REST: Duration = Duration::from_millis(500);

/// A server that is started by its command.
#[derive(Debug, Clone, Default)]
pub struct ServerCommand {
    /// What is started, and where.
    pub launch: Launch,
    /// How long its end is waited for.
    pub patience: Patience,
}

impl ServerCommand {
    /// A server by its program and arguments.
    #[must_use]
    pub fn new(launch: Launch) -> Self {
        Self { launch, patience: Patience::default() }
    }
}

/// How long a server may take to end: after its stdin has, and after it was told to by SIGTERM. Then it is killed.
///
/// Source: MCP 2025-11-25, basic/lifecycle, Shutdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// After its stdin has ended.
    pub close: Duration,
    /// After SIGTERM.
    pub terminate: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        // As the SDKs have it.
        Self { close: Duration::from_secs(2), terminate: Duration::from_secs(2) }
    }
}

/// A process, and a thread that waits for it. The thread also started it: on Linux it is killed when that ends.
struct Process {
    streams: (pipe::Sender, pipe::Receiver, pipe::Receiver),
    lifeline: Lifeline,
    /// Done when it has ended.
    has_ended: oneshot::Receiver<()>,
    /// To be dropped when its number is needed no more.
    let_go: std::sync::mpsc::Sender<()>,
    ending: oneshot::Receiver<Option<Ending>>,
}

impl Process {
    async fn start(launch: &Launch) -> Result<Self, ConnectError> {
        let (started, start) = oneshot::channel();
        let (tell_end, has_ended) = oneshot::channel();
        let (let_go, may_let_go) = std::sync::mpsc::channel::<()>();
        let (tell_ending, ending) = oneshot::channel();
        let launch = launch.clone();
        std::thread::Builder::new().name("server".into()).spawn(move || {
            let spawned = ServerProcess::spawn_leader(&launch, SigSet::empty());
            let watch = spawned.as_ref().ok().map(ServerProcess::watch);
            let _ = started.send(spawned);
            let Some(watch) = watch else { return };
            let _ = watch.look();
            let _ = tell_end.send(());
            let _ = may_let_go.recv();
            let _ = tell_ending.send(watch.reap().ok());
        })?;
        let refused = |_| std::io::Error::from(std::io::ErrorKind::BrokenPipe);
        let process: Result<ServerProcess, SpawnError> = start.await.map_err(refused)?;
        let process = process?;
        let lifeline = process.lifeline();
        let streams = (
            pipe::Sender::from_owned_fd(process.stdin)?,
            pipe::Receiver::from_owned_fd(process.stdout)?,
            pipe::Receiver::from_owned_fd(process.stderr)?,
        );
        Ok(Self { streams, lifeline, has_ended, let_go, ending })
    }
}

/// Starts a server and links to it. Copies of what passes are left with `copies`.
pub(crate) async fn link(command: &ServerCommand, copies: Option<Arc<Copies>>) -> Result<Link, ConnectError> {
    let Process { streams: (stdin, stdout, stderr), lifeline, has_ended, let_go, ending } =
        Process::start(&command.launch).await?;
    let (out, to_server) = channel();
    let (lines, from_server) = mpsc::channel(LINES);
    let write = tokio::spawn(write_lines(stdin, to_server, copies.clone()));
    let read = tokio::spawn(read_lines(stdout, lines, copies.clone()));
    let keep = tokio::spawn(keep_end(stderr, copies));
    let patience = command.patience;
    let alive = Alive::new();
    let ended = tokio::spawn(async move {
        let _alive = alive;
        let (failure, was_forced) = see_to_the_end(write, read, has_ended, &lifeline, patience).await;
        // What it started and left behind.
        lifeline.send_to_group(Signal::SIGKILL as i32);
        drop(let_go);
        let process = ending.await.ok().flatten();
        let stderr = tokio::time::timeout(REST, keep).await.ok().and_then(Result::ok).unwrap_or_default();
        LinkEnd { process, was_forced, stderr, failure }
    });
    Ok(Link { out, lines: from_server, ended })
}

/// Waits until the server has ended, or nobody has anything to say to it any more; then has it end. Tells what went wrong,
/// and whether a signal was needed.
async fn see_to_the_end(
    mut write: JoinHandle<()>,
    mut read: JoinHandle<Option<String>>,
    mut has_ended: oneshot::Receiver<()>,
    lifeline: &Lifeline,
    patience: Patience,
) -> (Option<String>, bool) {
    let mut failure = None;
    let mut is_read = false;
    tokio::select! {
        // Our end of its stdin is closed now.
        _ = &mut write => {}
        why = &mut read => {
            is_read = true;
            failure = why.ok().flatten();
        }
        _ = &mut has_ended => {
            if tokio::time::timeout(REST, &mut read).await.is_err() {
                read.abort();
            }
            write.abort();
            return (None, false);
        }
    }
    // Whoever closes its stdout says nothing more; and stdin is closed by then in any case.
    write.abort();
    let mut was_forced = false;
    if tokio::time::timeout(patience.close, &mut has_ended).await.is_err() {
        was_forced = true;
        lifeline.send_to_group(Signal::SIGTERM as i32);
        if tokio::time::timeout(patience.terminate, &mut has_ended).await.is_err() {
            lifeline.send_to_group(Signal::SIGKILL as i32);
        }
    }
    if !is_read && tokio::time::timeout(REST, &mut read).await.is_err() {
        read.abort();
    }
    (failure, was_forced)
}

async fn write_lines(mut stdin: pipe::Sender, mut lines: Receiver, copies: Option<Arc<Copies>>) {
    while let Some(line) = lines.next().await {
        if let Some(copies) = &copies {
            copies.offer(Stream::ToServer, copies.clock().at_ns(), &line);
        }
        // Whoever reads no more ends soon, and that is told.
        if stdin.write_all(&line).await.is_err() {
            return;
        }
    }
}

/// Reads lines until the server says no more. Tells why it was broken off, if it was.
async fn read_lines(
    mut stdout: pipe::Receiver,
    lines: mpsc::Sender<Bytes>,
    copies: Option<Arc<Copies>>,
) -> Option<String> {
    let mut splitter = LineSplitter::default();
    let mut buffer = BytesMut::new();
    let mut n_unended = 0;
    loop {
        buffer.reserve(READ_BYTES);
        let n_bytes = stdout.read_buf(&mut buffer).await.unwrap_or(0);
        let chunk = buffer.split().freeze();
        if let Some(copies) = &copies {
            copies.offer(Stream::ToClient, copies.clock().at_ns(), &chunk);
        }
        n_unended += chunk.len();
        splitter.push(chunk);
        let is_over = n_bytes == 0;
        while let Some(line) = if is_over { splitter.finish() } else { splitter.next_line() } {
            n_unended = n_unended.saturating_sub(line.len());
            if lines.send(line).await.is_err() {
                return None;
            }
        }
        if is_over {
            return None;
        }
        if LINE_LIMIT_BYTES < n_unended {
            return Some(format!("the server wrote a line of more than {LINE_LIMIT_BYTES} bytes"));
        }
    }
}

async fn keep_end(mut stderr: pipe::Receiver, copies: Option<Arc<Copies>>) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; READ_BYTES];
    while let Ok(n_bytes @ 1..) = stderr.read(&mut buffer).await {
        let chunk = buffer.get(..n_bytes).unwrap_or_default();
        if let Some(copies) = &copies {
            copies.offer(Stream::Stderr, copies.clock().at_ns(), chunk);
        }
        kept.extend_from_slice(chunk);
        let too_much = kept.len().saturating_sub(STDERR_BYTES);
        kept.drain(..too_much);
    }
    kept
}
