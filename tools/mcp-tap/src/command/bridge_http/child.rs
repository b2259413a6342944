//! The loop around one server process: clients on one side, its pipes on the other, a router between them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tap_bridge::{Incoming, Output, SessionRouter, SharedRouter};
use tap_frame::Stream;
use tap_jsonrpc::LineSplitter;
use tap_relay::{Clock, Copies};
use tap_transport::ServerProcess;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{Notify, mpsc, oneshot, watch};

use super::process::{Spawner, Waited, kill};
use super::reply::{Leaving, Reply, ReplySender};
use super::sessions::Sessions;
use crate::recording::say;
use crate::telling::Told;

/// What one read takes.
const READ_BYTES: usize = 64 * 1024;

/// Lines and posts that may wait for the loop.
const WAITING: usize = 64;

/// What one line of a server's may have, bytes.
const LINE_LIMIT_BYTES: usize = 512 * 1024 * 1024;

/// What may wait for a server that does not read, bytes. Beyond it clients have to wait.
const STDIN_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Requests without an answer. Beyond it clients have to wait.
const OPEN_LIMIT: usize = 10_000;

const SLOW_CLIENT: &str = "a client does not read what the server says to it; its answer was broken off";

/// How long after a server's end its last lines may take, where somebody else holds its stdout open.
const LAST_LINES: Duration = Duration::from_secs(1);

/// What starts server processes and the loops around them.
#[derive(Debug, Clone)]
pub(super) struct Starter {
    pub(super) spawner: Spawner,
    pub(super) stderr: mpsc::Sender<Bytes>,
    pub(super) copies: Arc<Copies>,
    pub(super) clock: Clock,
    /// A session ends when it was quiet for so long.
    pub(super) idle_limit: Duration,
    /// All shall end.
    pub(super) stopping: watch::Receiver<bool>,
    /// Held by every loop: whoever holds the other end knows when the last has ended.
    #[expect(dead_code, reason = "that it is held is what it says")]
    pub(super) alive: mpsc::Sender<()>,
}

/// What clients have to say to a server.
#[derive(Debug)]
pub(super) enum Input {
    /// A POST; it is answered through `reply` if there is a request in it.
    Post { exchange: u64, incoming: Incoming, body: Bytes, reply: Option<ReplySender> },
    /// A client listens.
    Listen { exchange: u64, reply: ReplySender },
}

/// A running server process.
#[derive(Debug, Clone)]
pub(super) struct Child {
    inputs: mpsc::Sender<Input>,
    left: mpsc::UnboundedSender<u64>,
    use_: Arc<Use>,
}

/// How much a server process is in use.
#[derive(Debug)]
struct Use {
    n_open: AtomicUsize,
    /// When a client last had to do with it, on the recording's clock.
    last_ns: AtomicU64,
    end: Notify,
}

/// What `n_open` is before the loop has seen anything: nobody has used it, and somebody is about to.
const NOT_USED_YET: usize = usize::MAX;

impl Child {
    /// Hands something to the loop. False when there is no loop any more.
    pub(super) async fn send(&self, input: Input) -> bool {
        self.inputs.send(input).await.is_ok()
    }

    /// What tells the loop that the client of an exchange has gone.
    pub(super) fn leaving(&self, exchange: u64) -> Leaving {
        Leaving { exchange, left: self.left.clone() }
    }

    /// Ends the server.
    pub(super) fn end(&self) {
        self.use_.end.notify_one();
    }

    /// Since when nobody has used it; `None` while somebody does, or is waiting to.
    pub(super) fn quiet_since(&self) -> Option<u64> {
        let is_quiet =
            self.use_.n_open.load(Ordering::Relaxed) == 0 && self.inputs.capacity() == self.inputs.max_capacity();
        is_quiet.then(|| self.use_.last_ns.load(Ordering::Relaxed))
    }

    pub(super) fn is_over(&self) -> bool {
        self.inputs.is_closed()
    }
}

/// Where messages go.
pub(super) enum Router {
    Session { id: String, router: SessionRouter, sessions: Arc<Sessions> },
    Shared(SharedRouter),
}

impl Router {
    fn poll(&mut self) -> Option<Output> {
        match self {
            Self::Session { router, .. } => router.poll(),
            Self::Shared(router) => router.poll(),
        }
    }

    fn n_open(&self) -> usize {
        match self {
            Self::Session { router, .. } => router.n_open(),
            Self::Shared(router) => router.n_open(),
        }
    }
}

impl Starter {
    /// Starts a server process and the loop around it. It is ended again when whoever wants it leaves before it is there.
    pub(super) async fn start(&self, router: Router) -> Result<Child, String> {
        let (tell, started) = oneshot::channel();
        let starter = self.clone();
        tokio::spawn(async move {
            if let Err(Ok(child)) = tell.send(starter.start_to_the_end(router).await) {
                child.end();
            }
        });
        started.await.unwrap_or_else(|_| Err("cannot start servers any more".into()))
    }

    async fn start_to_the_end(self, router: Router) -> Result<Child, String> {
        let server = self.spawner.spawn().await?;
        let told = |error: std::io::Error| format!("cannot talk to the server: {error}");
        let waited = match Waited::new(&server) {
            Ok(waited) => waited,
            Err(error) => {
                // There may be a thread for this that has nothing to do.
                let _ = tokio::task::spawn_blocking(move || kill(&server)).await;
                return Err(told(error));
            }
        };
        let ServerProcess { stdin, stdout, stderr, .. } = server;
        // Our ends of the pipes are open files of our own, so that the server sees nothing of their being non-blocking.
        let pipes = Sender::from_owned_fd(stdin)
            .and_then(|stdin| Ok((stdin, Receiver::from_owned_fd(stdout)?, Receiver::from_owned_fd(stderr)?)));
        let (stdin, stdout, stderr) = match pipes {
            Ok(pipes) => pipes,
            Err(error) => {
                waited.kill().await;
                return Err(told(error));
            }
        };
        let (lines, from_server) = mpsc::channel(WAITING);
        let (to_server, posted) = mpsc::unbounded_channel();
        let stdin_bytes = Arc::new(AtomicUsize::new(0));
        let stdin_changed = Arc::new(Notify::new());
        tokio::spawn(write_lines(stdin, posted, stdin_bytes.clone(), stdin_changed.clone()));
        tokio::spawn(read_lines(stdout, lines));
        tokio::spawn(self.clone().read_stderr(stderr));
        let (inputs, asked) = mpsc::channel(WAITING);
        let (left, leaving) = mpsc::unbounded_channel();
        let use_ = Arc::new(Use {
            n_open: AtomicUsize::new(NOT_USED_YET),
            last_ns: AtomicU64::new(self.clock.at_ns()),
            end: Notify::new(),
        });
        let running = Running {
            starter: self.clone(),
            router,
            replies: HashMap::new(),
            asked,
            leaving,
            from_server,
            to_server: Some(to_server),
            stdin_bytes,
            stdin_changed,
            use_: use_.clone(),
            told: Told::default(),
        };
        tokio::spawn(running.run(waited));
        Ok(Child { inputs, left, use_ })
    }

    async fn read_stderr(self, mut stderr: Receiver) {
        let mut buffer = vec![0; READ_BYTES];
        while let Ok(n_bytes @ 1..) = stderr.read(&mut buffer).await {
            let piece = buffer.get(..n_bytes).unwrap_or_default();
            self.copies.offer(Stream::Stderr, self.clock.at_ns(), piece);
            let _ = self.stderr.send(Bytes::copy_from_slice(piece)).await;
        }
    }
}

async fn read_lines(mut stdout: Receiver, lines: mpsc::Sender<Bytes>) {
    let mut splitter = LineSplitter::default();
    let mut buffer = vec![0; READ_BYTES];
    let mut n_open_bytes = 0;
    while let Ok(n_bytes @ 1..) = stdout.read(&mut buffer).await {
        let chunk = buffer.get(..n_bytes).unwrap_or_default();
        n_open_bytes = chunk.iter().rposition(|byte| *byte == b'\n').map_or(n_open_bytes + n_bytes, |at| n_bytes - at);
        if LINE_LIMIT_BYTES < n_open_bytes {
            say("the server wrote a line that is too long, and is not read any more");
            return;
        }
        splitter.push(Bytes::copy_from_slice(chunk));
        while let Some(line) = splitter.next_line() {
            // When nobody wants them any more they are still read, so that the server can end.
            let _ = lines.send(line).await;
        }
    }
    if let Some(line) = splitter.finish() {
        let _ = lines.send(line).await;
    }
}

async fn write_lines(
    mut stdin: Sender,
    mut lines: mpsc::UnboundedReceiver<Bytes>,
    n_bytes: Arc<AtomicUsize>,
    changed: Arc<Notify>,
) {
    while let Some(line) = lines.recv().await {
        // That the server does not read any more its end will tell.
        let _ = stdin.write_all(&line).await;
        n_bytes.fetch_sub(line.len(), Ordering::Relaxed);
        changed.notify_one();
    }
}

/// A server process and what there is to do for it.
struct Running {
    starter: Starter,
    router: Router,
    /// Where the answers of open exchanges go.
    replies: HashMap<u64, ReplySender>,
    asked: mpsc::Receiver<Input>,
    leaving: mpsc::UnboundedReceiver<u64>,
    from_server: mpsc::Receiver<Bytes>,
    to_server: Option<mpsc::UnboundedSender<Bytes>>,
    stdin_bytes: Arc<AtomicUsize>,
    stdin_changed: Arc<Notify>,
    use_: Arc<Use>,
    told: Told,
}

impl Running {
    async fn run(mut self, mut waited: Waited) {
        let mut stopping = self.starter.stopping.clone();
        let why = loop {
            let is_open =
                self.stdin_bytes.load(Ordering::Relaxed) < STDIN_LIMIT_BYTES && self.router.n_open() < OPEN_LIMIT;
            let idle_left = self.idle_left();
            tokio::select! {
                line = self.from_server.recv() => match line {
                    Some(line) => self.line(&line),
                    // Usually it ends with that; how it did is more to tell.
                    None => match tokio::time::timeout(LAST_LINES, waited.ended()).await {
                        Ok(why) => return self.over(&why),
                        Err(_) => break "the server closed its output".to_owned(),
                    },
                },
                Some(exchange) = self.leaving.recv() => self.left(exchange),
                input = self.asked.recv(), if is_open => match input {
                    Some(input) => self.input(input),
                    None => break "nobody can use the session any more".to_owned(),
                },
                () = self.stdin_changed.notified(), if !is_open => {}
                why = waited.ended() => {
                    self.last_lines().await;
                    return self.over(&why);
                }
                () = self.use_.end.notified() => break "the session was ended".to_owned(),
                () = tokio::time::sleep(idle_left.unwrap_or_default()), if idle_left.is_some() => {
                    break "the session was quiet for too long".to_owned();
                }
                _ = stopping.changed() => break "mcp-tap ends".to_owned(),
            }
            if self.outputs() {
                break "the client has gone".to_owned();
            }
        };
        self.over(&why);
        // Its stdin is closed when what was written before has reached it.
        self.to_server = None;
        let Self { mut from_server, starter, .. } = self;
        tokio::spawn(async move { while from_server.recv().await.is_some() {} });
        waited.end().await;
        drop(starter);
    }

    /// How long it may go on being quiet; `None` while it is in use.
    fn idle_left(&self) -> Option<Duration> {
        let is_quiet = self.replies.is_empty() && self.use_.n_open.load(Ordering::Relaxed) == 0;
        let quiet_since = match (&self.router, is_quiet) {
            (Router::Session { .. }, true) => self.use_.last_ns.load(Ordering::Relaxed),
            _ => return None,
        };
        let quiet = Duration::from_nanos(self.starter.clock.at_ns().saturating_sub(quiet_since));
        Some(self.starter.idle_limit.saturating_sub(quiet))
    }

    /// A client has to do with the server. What the server says and nobody hears is no use.
    fn is_used(&self) {
        self.use_.last_ns.store(self.starter.clock.at_ns(), Ordering::Relaxed);
    }

    fn input(&mut self, input: Input) {
        self.is_used();
        match (input, &mut self.router) {
            (Input::Post { exchange, incoming, body, reply }, router) => {
                let left_before = reply.as_ref().is_some_and(ReplySender::is_closed);
                self.replies.extend(reply.map(|reply| (exchange, reply)));
                match router {
                    Router::Session { router, .. } => router.post(exchange, &incoming, &body),
                    Router::Shared(router) => router.post(exchange, &incoming, &body),
                }
                if left_before {
                    self.left(exchange);
                }
            }
            (Input::Listen { exchange, reply }, Router::Session { router, .. }) => {
                let left_before = reply.is_closed();
                self.replies.insert(exchange, reply);
                router.listen(exchange);
                if left_before {
                    self.left(exchange);
                }
            }
            (Input::Listen { .. }, Router::Shared(_)) => {}
        }
    }

    fn left(&mut self, exchange: u64) {
        // One that was answered to its end has left too, which is nothing new.
        if self.replies.remove(&exchange).is_some() {
            self.is_used();
            match &mut self.router {
                Router::Session { router, .. } => router.closed(exchange),
                Router::Shared(router) => router.closed(exchange),
            }
        }
    }

    fn line(&mut self, line: &Bytes) {
        match &mut self.router {
            Router::Session { router, .. } => router.child_line(line),
            Router::Shared(router) => router.child_line(line),
        }
    }

    /// What the server still wrote before its end.
    async fn last_lines(&mut self) {
        let _ = tokio::time::timeout(LAST_LINES, async {
            while let Some(line) = self.from_server.recv().await {
                self.line(&line);
                self.outputs();
            }
        })
        .await;
    }

    /// Nobody will be answered any more.
    fn over(&mut self, why: &str) {
        self.asked.close();
        match &mut self.router {
            Router::Session { id, router, sessions } => {
                sessions.remove(id);
                while let Ok(input) = self.asked.try_recv() {
                    if let Input::Post { exchange, incoming, body, reply } = input {
                        self.replies.extend(reply.map(|reply| (exchange, reply)));
                        router.post(exchange, &incoming, &body);
                    }
                }
                router.child_ended(why);
            }
            Router::Shared(router) => {
                while let Ok(input) = self.asked.try_recv() {
                    if let Input::Post { exchange, incoming, body, reply } = input {
                        self.replies.extend(reply.map(|reply| (exchange, reply)));
                        router.post(exchange, &incoming, &body);
                    }
                }
                router.child_ended(why);
            }
        }
        self.outputs();
        self.replies.clear();
    }

    /// Does what the router asks for. True if it asks for the end.
    fn outputs(&mut self) -> bool {
        let mut is_over = false;
        while let Some(output) = self.router.poll() {
            match output {
                Output::ToChild(line) => {
                    self.stdin_bytes.fetch_add(line.len(), Ordering::Relaxed);
                    let _ = self.to_server.as_ref().map(|to_server| to_server.send(line));
                }
                Output::Message { exchange, bytes } => {
                    if let Some(reply) = self.replies.get(&exchange)
                        && !self.reply(reply, Reply::Message(bytes))
                    {
                        self.told.tell(SLOW_CLIENT);
                        self.left(exchange);
                    }
                }
                Output::Last { exchange, bytes, status } => {
                    if let Some(reply) = self.replies.remove(&exchange)
                        && !self.reply(&reply, Reply::Last(bytes, status))
                    {
                        self.told.tell(SLOW_CLIENT);
                    }
                }
                Output::Close { exchange } => {
                    self.replies.remove(&exchange);
                }
                Output::Tell(notice) => self.told.tell(&notice.to_string()),
                Output::End => is_over = true,
            }
        }
        if self.use_.n_open.load(Ordering::Relaxed) != NOT_USED_YET || !self.replies.is_empty() {
            self.use_.n_open.store(self.replies.len(), Ordering::Relaxed);
        }
        is_over
    }

    /// Hands a client a reply. False when it reads too slowly.
    fn reply(&self, to: &ReplySender, reply: Reply) -> bool {
        if !to.is_closed() {
            self.is_used();
        }
        to.send(reply)
    }
}
