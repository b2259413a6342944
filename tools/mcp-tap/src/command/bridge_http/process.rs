//! Server processes: started by one thread that lives as long as we do, and ended as a client ends its server.

use std::ffi::OsString;
use std::sync::mpsc::{Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use bytes::Bytes;
use tap_transport::{Ending, Lifeline, ServerProcess, SpawnError, block_signals, standard, write_all};
use tokio::sync::{mpsc, oneshot};

/// How long a server has after each sign that it shall end. What official clients give it.
///
/// Source: MCP 2025-11-25, basic/lifecycle, Shutdown, stdio.
const PATIENCE: Duration = Duration::from_secs(2);

const TERMINATE: i32 = 15;
const KILL: i32 = 9;

/// Pieces of stderr that may wait for whoever reads ours, before servers have to wait.
const STDERR_PIECES: usize = 64;

type Started = Result<ServerProcess, SpawnError>;

/// Starts servers. On Linux a server is killed when the thread ends that started it, so this is one of its own.
#[derive(Debug, Clone)]
pub(super) struct Spawner(Sender<oneshot::Sender<Started>>);

impl Spawner {
    pub(super) fn start(program: OsString, arguments: Vec<OsString>) -> std::io::Result<Self> {
        let (asks, asked) = channel::<oneshot::Sender<Started>>();
        Builder::new().name("spawner".into()).spawn(move || {
            let mask = block_signals();
            for ask in asked {
                if let Err(Ok(server)) = ask.send(ServerProcess::spawn(&program, &arguments, mask)) {
                    // Nobody wants it any more.
                    kill(&server);
                }
            }
        })?;
        Ok(Self(asks))
    }

    /// Starts a server, or says why it could not be.
    pub(super) async fn spawn(&self) -> Result<ServerProcess, String> {
        let (ask, answer) = oneshot::channel();
        let _ = self.0.send(ask);
        match answer.await {
            Ok(started) => started.map_err(|error| error.to_string()),
            Err(_) => Err("cannot start servers any more".into()),
        }
    }
}

/// Kills a server and waits for it.
pub(super) fn kill(server: &ServerProcess) {
    server.lifeline().send(KILL);
    let _ = server.waiter()();
}

/// A server process whose end is awaited.
pub(super) struct Waited {
    lifeline: Lifeline,
    ended: oneshot::Receiver<std::io::Result<Ending>>,
}

impl Waited {
    pub(super) fn new(server: &ServerProcess) -> std::io::Result<Self> {
        let (tell, ended) = oneshot::channel();
        let wait = server.waiter();
        Builder::new().name("waiter".into()).stack_size(64 * 1024).spawn(move || tell.send(wait()))?;
        Ok(Self { lifeline: server.lifeline(), ended })
    }

    /// Waits until the server has ended, and tells how.
    pub(super) async fn ended(&mut self) -> String {
        match (&mut self.ended).await {
            Ok(Ok(Ending::Exited(code))) => format!("the server exited with code {code}"),
            Ok(Ok(Ending::Killed(number))) => format!("the server was killed by signal {number}"),
            Ok(Err(error)) => format!("the server cannot be waited for: {error}"),
            Err(_) => "the server has ended".into(),
        }
    }

    /// Ends the server, whose stdin is closed already: waits, then asks, then forces it.
    pub(super) async fn end(mut self) {
        for number in [TERMINATE, KILL] {
            if tokio::time::timeout(PATIENCE, &mut self.ended).await.is_ok() {
                return;
            }
            self.lifeline.send(number);
        }
        let _ = self.ended.await;
    }
}

impl Waited {
    /// Kills the server, with which nobody has talked yet, and waits for it.
    pub(super) async fn kill(self) {
        self.lifeline.send(KILL);
        let _ = self.ended.await;
    }
}

/// Starts the thread that writes what servers say on stderr to ours.
pub(super) fn start_stderr_writer() -> std::io::Result<mpsc::Sender<Bytes>> {
    let (pieces, mut written) = mpsc::channel::<Bytes>(STDERR_PIECES);
    Builder::new().name("stderr".into()).spawn(move || {
        while let Some(piece) = written.blocking_recv() {
            let _ = write_all(standard(2), &piece);
        }
    })?;
    Ok(pieces)
}
