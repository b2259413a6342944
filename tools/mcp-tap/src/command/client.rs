//! What `tools`, `call` and others have in common that are clients: which server is meant, and a session with it that is
//! recorded as a tap's would be.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use tap_http::{Additions, Keeper, Upstream, UpstreamOptions};
use tap_peer::{Client, ClientOptions, ConnectError, Handler, HttpServer, LinkEnd, ServerCommand, Target};
use tap_protocol::Revisions;
use tap_relay::{Clock, Copies};
use tap_store::{EndReason, Store, Transport};
use tap_transport::{Ending, Launch};

use super::proxy::{address_for_client, authorities, not_trusted};
use super::stop::Stop;
use crate::arguments::{Credentials, Global, Server};
use crate::credentials::additions;
use crate::failure::Failure;
use crate::name::{name_of, name_of_host};
use crate::paths::lossy;
use crate::progress::catch_up;
use crate::recording::{Recording, copies, say, session_start};
use crate::reference::{Reference, database};
use crate::servers::{self, Configuration, Configured};
use crate::text::shown;

/// How many of the last lines of a server's stderr are told when it fails.
const LAST_WORDS: usize = 5;

/// How long servers may take to end when we are told to stop; what is left then ends with us.
const END_LIMIT: Duration = Duration::from_secs(10);

/// How many of the newest sessions are looked at for one in which a server introduced itself.
const LOOKED_AT: usize = 20;

/// A server that is meant.
#[derive(Debug, Clone)]
pub(super) struct Meant {
    pub(super) name: String,
    pub(super) target: Target,
    transport: Transport,
    /// As a session has it: the command, or the address without what is secret in it.
    command: Vec<String>,
}

impl Meant {
    /// A server by its command.
    pub(super) fn by_command(
        name: Option<String>,
        command: &[OsString],
        environment: Vec<(OsString, OsString)>,
        folder: Option<PathBuf>,
    ) -> Result<Self, Failure> {
        let Some((program, arguments)) = command.split_first() else {
            return Err(Failure::new("there is no command of a server").hint("give one behind --"));
        };
        let launch = Launch { program: program.clone(), arguments: arguments.to_vec(), environment, folder };
        Ok(Self {
            name: name.unwrap_or_else(|| name_of(program, arguments)),
            target: Target::Command(Box::new(ServerCommand::new(launch))),
            transport: Transport::Stdio,
            command: lossy(command),
        })
    }

    /// A server by its address.
    pub(super) fn by_url(
        name: Option<String>,
        url: &Uri,
        additions: Additions,
        cacert: &[PathBuf],
    ) -> Result<Self, Failure> {
        let (url, additions) = address_for_client(url, additions)?;
        let options = UpstreamOptions { authorities: authorities(cacert)?, ..UpstreamOptions::default() };
        let upstream = Upstream::new(&options).map_err(|error| not_trusted(&error))?;
        let keeper = Keeper::new().map_err(|_| Failure::new("the system has no random numbers"))?;
        let name = name.or_else(|| url.authority().map(name_of_host)).unwrap_or_else(|| "server".into());
        let command = vec![keeper.url(&url)];
        let target = Target::Http(Box::new(HttpServer { url, upstream, additions }));
        Ok(Self { name, target, transport: Transport::Http, command })
    }

    /// A server of a host's configuration.
    pub(super) fn configured(server: &Configured) -> Result<Self, Failure> {
        let name = Some(server.name.clone());
        match &server.launch {
            servers::Launch::Command { command, environment, folder } => {
                let environment = environment.iter().map(|(name, value)| (name.into(), value.into())).collect();
                Self::by_command(name, command, environment, folder.clone())
            }
            servers::Launch::Remote { url, headers } => {
                let failed = |what: &str| Failure::new(format!("{}: {what}", shown(&server.name, false)));
                let url = url.parse().map_err(|_| failed("its address is none"))?;
                let mut additions = Additions::default();
                for (name, value) in headers {
                    let name: HeaderName = name.parse().map_err(|_| failed("a header's name is none"))?;
                    let value =
                        HeaderValue::from_str(value).map_err(|_| failed("a header holds what none may hold"))?;
                    additions.push(name, value).map_err(|error| failed(&error.to_string()))?;
                }
                Self::by_url(name, &url, additions, &[])
            }
        }
    }

    /// The server of a recorded session.
    fn of_session(global: &Global, reference: &Reference) -> Result<Self, Failure> {
        let found = reference.resolve(global)?;
        let start = &found.session.start;
        let place = found.name();
        if start.command.is_empty() {
            return Err(Failure::new(format!("the session {place} does not say how its server is started"))
                .hint("name the server: `-- COMMAND` or `--url URL`"));
        }
        let words = shown(&start.command.join(" "), false);
        if !global.quiet {
            say(&format!("on the server of {place}: {words}"));
        }
        let name = Some(start.name.clone());
        if start.transport == Transport::Http {
            let [url] = start.command.as_slice() else {
                return Err(Failure::new(format!("the session {place} has no one server")).hint("name it with --url"));
            };
            let url = url.parse().map_err(|_| Failure::new(format!("the address of {place} is none: {words}")))?;
            return Self::by_url(name, &url, Additions::default(), &[]);
        }
        let command: Vec<OsString> = start.command.iter().map(OsString::from).collect();
        let folder = Some(PathBuf::from(&start.folder)).filter(|folder| folder.is_dir());
        Self::by_command(name, &command, Vec::new(), folder)
    }
}

/// The servers that the arguments mean: one, or all of a configuration where none of it is named.
pub(super) fn meant(global: &Global, server: &Server) -> Result<Vec<Meant>, Failure> {
    Ok(meant_and_left_out(global, server)?.0)
}

/// The servers that the arguments mean, and how many things of the configuration were left out of them since they are wrong.
pub(super) fn meant_and_left_out(global: &Global, server: &Server) -> Result<(Vec<Meant>, usize), Failure> {
    if let Some(url) = &server.url {
        let credentials = Credentials {
            bearer_env: server.bearer_env.clone(),
            header: server.header.clone(),
            header_env: Vec::new(),
        };
        let additions = additions(&credentials)?;
        return Ok((vec![Meant::by_url(server.name.clone(), url, additions, &server.cacert)?], 0));
    }
    if !server.command.is_empty() {
        return Ok((vec![Meant::by_command(server.name.clone(), &server.command, Vec::new(), None)?], 0));
    }
    if let Some(reference) = &server.session {
        return Ok((vec![Meant::of_session(global, reference)?], 0));
    }
    match (&global.config, &server.server) {
        (Some(path), wanted) => {
            let configuration = Configuration::read(path)?;
            for problem in &configuration.problems {
                say(&format!("left out: {problem}"));
            }
            match wanted {
                Some(name) => Ok((vec![Meant::configured(configuration.find(name)?)?], 0)),
                None => {
                    let servers = configuration.servers.iter().map(Meant::configured).collect::<Result<_, _>>()?;
                    Ok((servers, configuration.problems.len()))
                }
            }
        }
        (None, Some(_)) => {
            Err(Failure::new("--server names a server of a file, and there is no file").hint("name it with --config"))
        }
        (None, None) => {
            let hint = "name a server: `-- COMMAND`, `--url URL` or `--config FILE`";
            let newest = newest_with_a_server(global)
                .and_then(|newest| Meant::of_session(global, &newest))
                .map_err(|failure| Failure { hint: Some(hint.into()), ..failure })?;
            Ok((vec![newest], 0))
        }
    }
}

/// The newest session whose server can be started again: one in which a server introduced itself, and not one of
/// `mcp-tap route`, which is no server.
fn newest_with_a_server(global: &Global) -> Result<Reference, Failure> {
    let store = Store::open(&database(global)?)?;
    let sessions = store.sessions()?;
    let is_usable = |session: &tap_store::Session| {
        let reason = session.end.as_ref().and_then(|end| end.reason.as_ref());
        !matches!(reason, Some(EndReason::NotStarted(_))) && !is_of_route(&session.start.command)
    };
    let usable = || sessions.iter().filter(|session| is_usable(session));
    let mut chosen = None;
    for session in usable().take(LOOKED_AT) {
        catch_up(global, &store, session.id, &session.start.name)?;
        let known = store.session(session.id)?;
        if known.is_some_and(|session| session.live || session.digest.identity.server.is_some()) {
            chosen = Some(session);
            break;
        }
    }
    // A server need not say what it is called. Without any, the newest tells what is not right about it.
    let chosen = chosen.or_else(|| usable().next());
    let reference = |session: &tap_store::Session| session.start.uuid.get(..13)?.parse().ok();
    Ok(chosen.and_then(reference).unwrap_or_else(Reference::last))
}

/// Whether a command is `mcp-tap route`, perhaps with options before that word.
fn is_of_route(command: &[String]) -> bool {
    let Some((program, arguments)) = command.split_first() else {
        return false;
    };
    let is_ours = std::path::Path::new(program).file_stem().is_some_and(|stem| stem == "mcp-tap");
    is_ours && arguments.iter().any(|word| word == "route")
}

/// Where what passes is recorded.
pub(super) struct Recorded {
    recording: Recording,
    pub(super) copies: Arc<Copies>,
    clock: Clock,
    uuid: String,
}

impl Recorded {
    /// Begins to record a session with a server.
    pub(super) fn begin(database: Option<PathBuf>, server: &Meant) -> Self {
        let clock = Clock::start();
        let copies = copies(clock);
        let start = session_start(clock, server.transport, server.name.clone(), server.command.clone());
        let uuid = start.uuid.clone();
        Self { recording: Recording::begin(database, start, copies.clone()), copies, clock, uuid }
    }

    /// Ends it, and tells the start of its id.
    pub(super) fn finish(self, reason: EndReason) -> String {
        self.recording.finish(&self.copies, self.clock, Some(reason));
        self.uuid.chars().take(8).collect()
    }
}

/// A session with a server, and its record.
pub(super) struct Session {
    pub(super) client: Client,
    pub(super) name: String,
    recorded: Option<Recorded>,
}

/// How a client of ours behaves.
pub(super) struct Manner {
    pub(super) handler: Arc<dyn Handler>,
    pub(super) limit: Duration,
    pub(super) is_recorded: bool,
    pub(super) revision: Option<tap_protocol::Revision>,
}

impl Manner {
    /// As the arguments say.
    pub(super) fn of(server: &Server, handler: Arc<dyn Handler>) -> Self {
        Self { handler, limit: server.timeout, is_recorded: !server.no_record, revision: server.revision }
    }

    /// Opens a session with a server.
    pub(super) async fn connect(&self, global: &Global, server: &Meant) -> Result<Session, Failure> {
        let recorded = self.is_recorded.then(|| Recorded::begin(global.database(), server));
        let options = ClientOptions {
            handler: self.handler.clone(),
            request_limit: self.limit,
            probe_limit: self.limit.min(ClientOptions::default().probe_limit),
            revisions: self.revision.map_or(Revisions::ALL, Revisions::only),
            copies: recorded.as_ref().map(|recorded| recorded.copies.clone()),
            ..ClientOptions::default()
        };
        match Client::connect(&server.target, &options).await {
            Ok(client) => Ok(Session { client, name: server.name.clone(), recorded }),
            Err(error) => {
                let failure = not_connected(&server.name, &error);
                if let Some(recorded) = recorded {
                    let reason = match &error {
                        ConnectError::Refused { end, .. } => reason_of(end),
                        error => EndReason::NotStarted(error.to_string()),
                    };
                    let id = recorded.finish(reason);
                    return Err(failure.hint(format!("what passed is recorded: mcp-tap log -s {id} --frames")));
                }
                Err(failure)
            }
        }
    }
}

impl Session {
    /// Ends it. Tells the start of the id that it is recorded with.
    pub(super) async fn close(self) -> (LinkEnd, Option<String>) {
        let end = self.client.close().await;
        let id = self.recorded.map(|recorded| recorded.finish(reason_of(&end)));
        (end, id)
    }
}

/// How a session ended, for its record.
pub(super) fn reason_of(end: &LinkEnd) -> EndReason {
    match end.process {
        Some(Ending::Exited(code)) => EndReason::Exited(code),
        Some(Ending::Killed(number)) => EndReason::Killed(number),
        None => EndReason::Stopped,
    }
}

fn not_connected(name: &str, error: &ConnectError) -> Failure {
    let mut message = format!("{}: {error}", shown(name, false));
    if let ConnectError::Refused { end, .. } = error {
        for line in end.last_words(LAST_WORDS) {
            message.push_str(&format!("\n  {}", shown(&line, false)));
        }
    }
    Failure::new(message)
}

/// Runs something that may take a while, until it is done or we are told to stop.
pub(super) fn run_until_stopped<T>(task: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let cannot = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot)?;
    let mut stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot)?
    };
    let done = runtime.block_on(async {
        tokio::select! {
            done = task => return done,
            () = stop.asked() => {}
        }
        // Whoever waits no more has its server ended, which takes a moment.
        let _ = tokio::time::timeout(END_LIMIT, tap_peer::all_ended()).await;
        Err(Failure::new("stopped before it was done"))
    });
    runtime.shutdown_background();
    done
}
