//! `mcp-tap route`: one server that offers the tools of many.
//!
//! The router is `tap_router`'s; here are the configuration, the host's two pipes, and the records: the host's side is a
//! session, and so is each session with a server.

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tap_frame::Stream;
use tap_jsonrpc::Node;
use tap_peer::{LinkEnd, ListKind, Outlet, Recorder};
use tap_relay::{Clock, Copies};
use tap_router::{Audit, Front, FrontOptions, Naming, RouterOptions, Server, serve};
use tap_session::Implementation;
use tap_store::{EndReason, Transport};
use tokio::sync::mpsc;

use super::bridge_http::bridge_http;
use super::bridge_stdio::host::{read_lines, start_writer};
use super::client::{Meant, Recorded, reason_of};
use super::stop::Stop;
use crate::arguments::{Asking, Global, HttpSide, Route, Servers};
use crate::auditing::Auditing;
use crate::confirm;
use crate::failure::Failure;
use crate::paths::lossy;
use crate::recording::{Recording, copies, say, session_start};
use crate::servers::{Configuration, Configured};
use crate::text::shown;

/// Lines of the host that wait to be looked at; the host waits beyond that.
const INPUTS: usize = 256;

/// How long the host may take to read what is left when all is over.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// How long records may take to be finished.
const LAST_RECORDS: Duration = Duration::from_secs(5);

/// Servers of a configuration, as they are to be started.
pub(super) struct Planned {
    pub(super) servers: Vec<Server>,
    /// Their records, to be finished when all is over.
    pub(super) sessions: Vec<Arc<Sessions>>,
    pub(super) options: RouterOptions,
    /// Whether there are rules about calls.
    pub(super) has_policy: bool,
    /// How many things of the configuration were left out, since they are wrong.
    pub(super) n_left_out: usize,
}

/// The servers that are meant, of the file that is named.
pub(super) fn planned(global: &Global, wanted: &Servers) -> Result<Planned, Failure> {
    let Some(path) = &global.config else {
        return Err(Failure::new("there is no configuration of servers")
            .hint("name one with --config: the file that your host has, with `mcpServers`, or one in TOML"));
    };
    let place = shown(&path.to_string_lossy(), false);
    let mut configuration = Configuration::read(path)?;
    if let Some(path) = &wanted.policy {
        configuration.take_policy(path)?;
    }
    for problem in &configuration.problems {
        say(&format!("{place}: {problem}"));
    }
    let configured: Vec<&Configured> = match wanted.server.as_slice() {
        [] => configuration.servers.iter().collect(),
        names => names.iter().map(|name| configuration.find(name)).collect::<Result<_, _>>()?,
    };
    let naming = if wanted.plain_names { Naming::Plain } else { Naming::Prefixed };
    let options = RouterOptions {
        naming,
        roles: wanted.role.iter().cloned().collect(),
        policy: configuration.policy.clone(),
        ..RouterOptions::default()
    };
    let locked = match (&wanted.lock, wanted.trust_first) {
        (Some(path), true) => Some(super::lock::read_trusting(global, path, &configured, wanted)?),
        (Some(path), false) => Some(super::lock::read(path)?),
        (None, _) => None,
    };
    // Who names servers is not told off for others.
    let n_left_out = if wanted.server.is_empty() { configuration.problems.len() } else { 0 };
    let has_policy = configuration.has_policy;
    let mut planned = Planned { servers: Vec::new(), sessions: Vec::new(), options, has_policy, n_left_out };
    for configured in configured {
        let mut rules = configured.rules.rules.clone();
        if !configured.rules.has_limit {
            rules.limit = wanted.timeout;
        }
        if let Some(locked) = &locked {
            let lists = locked.get(&configured.name);
            let pinned = ListKind::ALL.into_iter().map(|kind| {
                let items = lists.and_then(|lists| lists.get(kind.member())).into_iter().flatten();
                let canonical = |(name, item): (&String, &String)| {
                    (name.clone(), tap_router::canonical(Node::new(item.as_bytes())))
                };
                (kind, items.map(canonical).collect())
            });
            rules.pinned = Some(pinned.collect());
        }
        match Meant::configured(configured) {
            Ok(meant) => {
                let sessions = Arc::new(Sessions::of(global.database(), meant.clone()));
                let recorder: Option<Arc<dyn Recorder>> =
                    (!wanted.no_record).then(|| sessions.clone() as Arc<dyn Recorder>);
                planned.sessions.push(sessions);
                planned.servers.push(Server { name: configured.name.clone(), target: meant.target, rules, recorder });
            }
            Err(failure) => {
                planned.n_left_out += 1;
                say(&format!("left out: {}", shown(&failure.message, false)));
            }
        }
    }
    if planned.servers.is_empty() {
        return Err(Failure::new(format!("{place} has no server that can be used")));
    }
    Ok(planned)
}

pub(crate) fn route(global: &Global, route: &Route) -> Result<u8, Failure> {
    let planned = planned(global, &route.servers)?;
    if let (Some(address), Some(path)) = (route.http, &global.config) {
        return over_http(global, route, path, address);
    }
    let mut options = options(route, &planned);
    if route.ask == Asking::Terminal {
        options.router.ask = Some(confirm::on_the_terminal());
    }
    let done = serve_stdio(global, route, planned.servers, options);
    for sessions in &planned.sessions {
        sessions.finish();
    }
    done.map(|()| 0)
}

fn options(route: &Route, planned: &Planned) -> FrontOptions {
    let names: Vec<&str> = planned.servers.iter().map(|server| server.name.as_str()).collect();
    let how = match planned.options.naming {
        Naming::Prefixed => " Names begin with the server's and two underscores.",
        Naming::Plain => "",
    };
    FrontOptions {
        implementation: Implementation {
            name: "mcp-tap route".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            ..Implementation::default()
        },
        instructions: Some(format!(
            "This server offers what those of these servers have that answer: {}.{how}",
            names.join(", ")
        )),
        router: planned.options.clone(),
        startup_limit: route.servers.startup,
    }
}

/// Serves the host on our standard streams.
fn serve_stdio(global: &Global, route: &Route, servers: Vec<Server>, mut options: FrontOptions) -> Result<(), Failure> {
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot_start)?;
    // Signals are taken before anything is begun that they would cut off.
    let mut stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let command = lossy(&std::env::args_os().collect::<Vec<OsString>>());
    let start = session_start(clock, Transport::Stdio, route.name.clone(), command);
    let auditing = (!route.servers.no_record || route.audit)
        .then(|| Auditing::begin(global.database(), start.uuid.clone(), "route"));
    options.router.audit = auditing.clone().map(|auditing| auditing as Arc<dyn Audit>);
    let recording = match route.servers.no_record {
        true => Recording::none(copies.clone()),
        false => Recording::begin(global.database(), start, copies.clone()),
    };
    let outlet = Arc::new(Outlet::default());
    let (lines, mut read) = mpsc::channel(INPUTS);
    let (to_host, from_router) = std::sync::mpsc::channel();
    let (written, all_written) = std::sync::mpsc::channel();
    read_lines(lines).and_then(|()| start_writer(outlet.clone(), from_router, written)).map_err(cannot_start)?;
    let (heard, lines) = mpsc::channel(INPUTS);
    let hosts_copies = copies.clone();
    runtime.spawn(async move {
        while let Some(line) = read.recv().await {
            offer(&hosts_copies, Stream::ToServer, &line);
            if heard.send(line).await.is_err() {
                return;
            }
        }
    });
    let own_copies = copies.clone();
    let quiet = global.quiet;
    let front = Front {
        lines,
        say: move |line: Bytes| {
            offer(&own_copies, Stream::ToClient, &line);
            let _ = to_host.send(line);
        },
        outlet,
        tell: move |text: String| {
            if !quiet {
                say(&shown(&text, false));
            }
        },
    };
    runtime.block_on(async {
        serve(servers, options, front, stop.asked()).await;
        let _ = tokio::time::timeout(LAST_RECORDS, tap_peer::all_ended()).await;
    });
    // Records of servers that have just ended are being finished by threads of its.
    runtime.shutdown_timeout(LAST_RECORDS);
    let _ = all_written.recv_timeout(LAST_WRITES);
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    if let Some(auditing) = auditing {
        auditing.finish();
    }
    Ok(())
}

fn offer(copies: &Copies, stream: Stream, line: &Bytes) {
    copies.offer(stream, copies.clock().at_ns(), line);
}

/// Serves hosts over HTTP: each session has a router of its own on stdio, as any server on stdio is served.
fn over_http(
    global: &Global,
    route: &Route,
    configuration: &std::path::Path,
    address: std::net::SocketAddr,
) -> Result<u8, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(format!("cannot find this program to start it again: {error}")))?;
    let mut arguments: Vec<OsString> =
        vec!["route".into(), "--no-record".into(), "--config".into(), configuration.into()];
    let mut add = |word: &str, value: &std::ffi::OsStr| arguments.extend([word.into(), value.into()]);
    let seconds = |time: Duration| OsString::from(format!("{}s", time.as_secs_f64()));
    let servers = &route.servers;
    add("--timeout", &seconds(servers.timeout));
    add("--startup", &seconds(servers.startup));
    servers.server.iter().for_each(|name| add("--server", name.as_ref()));
    servers.role.iter().for_each(|role| add("--role", role.as_ref()));
    servers.lock.iter().for_each(|file| add("--lock", file.as_os_str()));
    servers.policy.iter().for_each(|file| add("--policy", file.as_os_str()));
    if let Some(database) = global.database() {
        add("--db", database.as_os_str());
    }
    if servers.trust_first {
        arguments.push("--trust-first".into());
    }
    if !servers.no_record {
        arguments.push("--audit".into());
    }
    if route.ask == Asking::Terminal {
        arguments.push("--ask=terminal".into());
    }
    if servers.plain_names {
        arguments.push("--plain-names".into());
    }
    let side = HttpSide { http: Some(address), ..HttpSide::none() };
    bridge_http(global, &side, Some(route.name.clone()), program.into_os_string(), arguments, !servers.no_record)
}

/// The records of the sessions with one server, one after another.
pub(super) struct Sessions {
    database: Option<PathBuf>,
    server: Meant,
    /// Those that have not ended, by where their copies are left.
    open: Mutex<HashMap<usize, Recorded>>,
}

impl Sessions {
    fn of(database: Option<PathBuf>, server: Meant) -> Self {
        Self { database, server, open: Mutex::default() }
    }

    /// Finishes what has not ended.
    pub(super) fn finish(&self) {
        let left = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for recorded in left.into_values() {
            recorded.finish(EndReason::Stopped);
        }
    }
}

impl Recorder for Sessions {
    fn begin(&self) -> Option<Arc<Copies>> {
        let recorded = Recorded::begin(self.database.clone(), &self.server);
        let copies = recorded.copies.clone();
        self.open.lock().unwrap_or_else(PoisonError::into_inner).insert(Arc::as_ptr(&copies).addr(), recorded);
        Some(copies)
    }

    fn ended(&self, copies: Arc<Copies>, end: Result<LinkEnd, String>) {
        let recorded = self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&Arc::as_ptr(&copies).addr());
        if let Some(recorded) = recorded {
            recorded.finish(match end {
                Ok(end) => reason_of(&end),
                Err(why) => EndReason::NotStarted(why),
            });
        }
    }
}
