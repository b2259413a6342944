//! The client: a handle to a session with a server, which is driven by a task of its own.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tap_protocol::{Era, Revision, Revisions};
use tap_relay::Copies;
use tap_session::{Implementation, Kept, Outcome, Refusal};
use tokio::sync::{mpsc, oneshot, watch};

use crate::driver::{Command, Driver};
use crate::error::{CallError, ConnectError};
use crate::handler::Handler;
use crate::http::{self, HttpServer};
use crate::link::{Link, LinkEnd};
use crate::stdio::{self, ServerCommand};

/// Where a server is.
#[derive(Debug, Clone)]
pub enum Target {
    /// It is started by a command, and spoken to on its standard streams.
    Command(Box<ServerCommand>),
    /// It is there, over HTTP.
    Http(Box<HttpServer>),
}

/// How a client behaves.
#[derive(Clone)]
pub struct ClientOptions {
    /// What it says that it is; `None` is this program.
    pub implementation: Option<Implementation>,
    /// What it may speak. With revisions of both eras the modern one is tried first.
    pub revisions: Revisions,
    /// How long to wait for an answer to `server/discover` before the server is taken for a legacy one.
    pub probe_limit: Duration,
    /// How long to wait for an answer, where a call does not say so itself.
    pub request_limit: Duration,
    /// Who answers what the server asks.
    pub handler: Arc<dyn Handler>,
    /// Where copies of what passes are left.
    pub copies: Option<Arc<Copies>>,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            implementation: None,
            revisions: Revisions::ALL,
            // As long as the Python and Rust SDKs wait.
            probe_limit: Duration::from_secs(10),
            // As long as all SDKs wait.
            request_limit: Duration::from_secs(60),
            handler: Arc::new(()),
            copies: None,
        }
    }
}

impl fmt::Debug for ClientOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ClientOptions")
            .field("implementation", &self.implementation)
            .field("revisions", &self.revisions)
            .field("probe_limit", &self.probe_limit)
            .field("request_limit", &self.request_limit)
            .finish_non_exhaustive()
    }
}

/// What was agreed on when the session was opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opened {
    /// The revision that is spoken.
    pub revision: Revision,
    /// What the server says that it is.
    pub name: Option<String>,
    /// Its version.
    pub version: Option<String>,
    /// What it declared, a JSON text; `None` where it did not say.
    pub capabilities: Option<Kept>,
    /// What it tells a model about itself.
    pub instructions: Option<String>,
}

impl Opened {
    /// Whether the server declared this capability, or did not say what it can do.
    #[must_use]
    pub fn offers(&self, path: &[&str]) -> bool {
        self.capabilities.as_ref().is_none_or(|capabilities| capabilities.declares(path))
    }
}

/// How far a call is.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// How far it is.
    pub progress: f64,
    /// How far it has to go.
    pub total: Option<f64>,
    /// What is being done.
    pub message: Option<String>,
}

/// What is told of progress. It must not wait.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// How a call is made.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// How long to wait for each answer; `None` is what the client's options say.
    pub limit: Option<Duration>,
    /// Whether to begin the wait anew with each progress, and how long to wait in all then.
    pub extend_until: Option<Duration>,
    /// What is told of progress. Without it, and without `extend_until`, none is asked for.
    pub on_progress: Option<OnProgress>,
    /// A number of the caller's that comes back with what the server asks because of the call.
    pub tag: Option<u64>,
}

impl fmt::Debug for CallOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("CallOptions")
            .field("limit", &self.limit)
            .field("extend_until", &self.extend_until)
            .field("tag", &self.tag)
            .finish_non_exhaustive()
    }
}

/// A session with a server. Clones are of the same one.
///
/// Dropping the last clone ends the session in the background; [`close`](Self::close) waits for that.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) commands: mpsc::UnboundedSender<Command>,
    opened: Arc<Opened>,
    is_http: bool,
    next_key: Arc<AtomicU64>,
    /// How the session ended, once it has.
    end: watch::Receiver<Option<LinkEnd>>,
}

impl Client {
    /// Links to a server and opens a session with it, in the newest era that it speaks.
    ///
    /// A server's process that goes away when it is asked `server/discover` is started again, and asked to `initialize`.
    ///
    /// # Errors
    ///
    /// When there is no link, and when client and server do not come together. The server is ended then.
    pub async fn connect(target: &Target, options: &ClientOptions) -> Result<Self, ConnectError> {
        match Self::connect_in(target, options, options.revisions).await {
            Err(ConnectError::Refused { refusal: Refusal::EndedAtProbe, end })
                if matches!(target, Target::Command(_)) =>
            {
                let legacy = options.revisions.intersection(Revisions::LEGACY);
                if legacy.is_empty() {
                    return Err(ConnectError::Refused { refusal: Refusal::EndedAtProbe, end });
                }
                Self::connect_in(target, options, legacy).await
            }
            done => done,
        }
    }

    async fn connect_in(target: &Target, options: &ClientOptions, revisions: Revisions) -> Result<Self, ConnectError> {
        let link: Link = match target {
            Target::Command(command) => stdio::link(command, options.copies.clone()).await?,
            Target::Http(server) => http::link(server, options.copies.clone())?,
        };
        let (commands, received) = mpsc::unbounded_channel();
        let (tell, told) = oneshot::channel();
        let (ended, end) = watch::channel(None);
        let driver = Driver::open(link, options.clone(), revisions, received, tell, ended);
        // In a task of its own, so that a link is ended as it should be even where nobody waits for this any more.
        tokio::spawn(driver);
        let opened = told.await.map_err(|_| std::io::Error::from(std::io::ErrorKind::BrokenPipe))??;
        let is_http = matches!(target, Target::Http(_));
        Ok(Self { commands, opened: Arc::new(opened), is_http, next_key: Arc::default(), end })
    }

    /// What was agreed on.
    #[must_use]
    pub fn opened(&self) -> &Opened {
        &self.opened
    }

    /// The era that is spoken.
    #[must_use]
    pub fn era(&self) -> Era {
        self.opened.revision.era()
    }

    /// Whether parameters of calls are repeated in headers where a tool says so.
    pub(crate) fn has_headers(&self) -> bool {
        self.is_http && self.era() == Era::Modern
    }

    /// Whether the session is over, so that nothing can be asked any more.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.commands.is_closed()
    }

    /// Waits until the session is over, with all that belongs to it, and tells how it ended.
    pub async fn over(&self) -> LinkEnd {
        self.watch_end().await
    }

    /// Asks the server, and waits for the answer: the result, a JSON text as the server wrote it.
    ///
    /// `params` is the text of a JSON object. In the modern era its `_meta` is filled in. What a result of `input_required`
    /// asks is given to the handler, and the call goes on with the answers. Whoever drops the future gives the call up, and
    /// the server is told.
    ///
    /// # Errors
    ///
    /// When the server does not offer it, says an error, does not answer in time, or is not there any more.
    pub async fn request(&self, method: &str, params: Option<String>, options: CallOptions) -> Result<Kept, CallError> {
        let key = self.next_key.fetch_add(1, Ordering::Relaxed);
        let (answer, answered) = oneshot::channel();
        let command = Command::Request { key, method: method.to_owned(), params, options, answer };
        if self.commands.send(command).is_err() {
            return Err(self.why_over().await);
        }
        let mut guard = CancelOnDrop { commands: &self.commands, key: Some(key) };
        let outcome = answered.await;
        guard.key = None;
        match outcome {
            Ok(Ok(Outcome::Result(result))) => Ok(result),
            Ok(Ok(Outcome::Error(error))) => Err(CallError::Server(error)),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(self.why_over().await),
        }
    }

    /// Tells the server something. `params` is the text of a JSON object.
    ///
    /// # Errors
    ///
    /// When the notification would break a rule, and when the session is over.
    pub async fn notify(&self, method: &str, params: Option<String>) -> Result<(), CallError> {
        let (done, is_done) = oneshot::channel();
        let command = Command::Notify { method: method.to_owned(), params, done };
        let _ = self.commands.send(command);
        match is_done.await {
            Ok(done) => done,
            Err(_) => Err(self.why_over().await),
        }
    }

    /// The same for somebody who does not hold the session open.
    pub(crate) fn watch_end(&self) -> impl Future<Output = LinkEnd> + Send + use<> {
        let mut end = self.end.clone();
        async move { end.wait_for(Option::is_some).await.ok().and_then(|end| end.clone()).unwrap_or_default() }
    }

    /// From now on log messages of at least this level are wanted with each request. Said in the modern era alone: in the
    /// legacy era [`set_log_level`](Self::set_log_level) asks the server.
    pub(crate) fn want_log_level(&self, level: &'static str) {
        let _ = self.commands.send(Command::LogLevel(level));
    }

    /// Ends the session: lets the server know, waits for its end, and has it ended if need be. Calls that are not answered
    /// end without an answer.
    pub async fn close(&self) -> LinkEnd {
        let _ = self.commands.send(Command::Close);
        self.over().await
    }

    async fn why_over(&self) -> CallError {
        CallError::Over(Box::new(self.over().await))
    }
}

/// Gives a call up when nobody waits for it any more.
struct CancelOnDrop<'a> {
    commands: &'a mpsc::UnboundedSender<Command>,
    key: Option<u64>,
}

impl Drop for CancelOnDrop<'_> {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            let _ = self.commands.send(Command::Cancel { key });
        }
    }
}
