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
use tap_peer::{LinkEnd, Outlet, Recorder};
use tap_relay::{Clock, Copies};
use tap_router::{Front, FrontOptions, Naming, RouterOptions, Server, serve};
use tap_session::Implementation;
use tap_store::{EndReason, Transport};
use tokio::sync::mpsc;

use super::bridge_http::bridge_http;
use super::bridge_stdio::host::{read_lines, start_writer};
use super::client::{Meant, Recorded, reason_of};
use super::stop::Stop;
use crate::arguments::{Global, HttpSide, Route};
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

pub(crate) fn route(global: &Global, route: &Route) -> Result<u8, Failure> {
    let Some(path) = &global.config else {
        return Err(Failure::new("there is no configuration of servers")
            .hint("name one with --config: the file that your host has, with `mcpServers`, or one in TOML"));
    };
    let configuration = Configuration::read(path)?;
    for problem in &configuration.problems {
        say(&format!("{}: {problem}", shown(&path.to_string_lossy(), false)));
    }
    let wanted: Vec<Configured> = match route.server.as_slice() {
        [] => configuration.servers.clone(),
        names => names.iter().map(|name| configuration.find(name).cloned()).collect::<Result<_, _>>()?,
    };
    if wanted.is_empty() {
        return Err(Failure::new(format!("{} has no server that can be used", shown(&path.to_string_lossy(), false))));
    }
    if let Some(address) = route.http {
        return over_http(global, route, path, address);
    }
    let recorders: Vec<Arc<Sessions>> = wanted.iter().map(|_| Arc::new(Sessions::default())).collect();
    let mut servers = Vec::new();
    for (configured, recorder) in wanted.iter().zip(&recorders) {
        match Meant::configured(configured) {
            Ok(meant) => {
                recorder.is_of(global.database(), meant.clone());
                let mut rules = configured.rules.rules.clone();
                if !configured.rules.has_limit {
                    rules.limit = route.timeout;
                }
                let recorder: Option<Arc<dyn Recorder>> =
                    (!route.no_record).then(|| recorder.clone() as Arc<dyn Recorder>);
                servers.push(Server { name: configured.name.clone(), target: meant.target, rules, recorder });
            }
            Err(failure) => say(&format!("left out: {}", shown(&failure.message, false))),
        }
    }
    let done = serve_stdio(global, route, servers);
    for recorder in &recorders {
        recorder.finish();
    }
    done.map(|()| 0)
}

fn options(route: &Route, servers: &[Server]) -> FrontOptions {
    let names: Vec<&str> = servers.iter().map(|server| server.name.as_str()).collect();
    let naming = if route.plain_names { Naming::Plain } else { Naming::Prefixed };
    let how = match naming {
        Naming::Prefixed => " Names begin with the server's and two underscores.",
        Naming::Plain => "",
    };
    FrontOptions {
        implementation: Implementation {
            name: "mcp-tap route".into(),
            version: env!("CARGO_PKG_VERSION").into(),
            ..Implementation::default()
        },
        instructions: Some(format!("This server offers what these servers have: {}.{how}", names.join(", "))),
        router: RouterOptions { naming, roles: route.role.iter().cloned().collect() },
        startup_limit: route.startup,
    }
}

/// Serves the host on our standard streams.
fn serve_stdio(global: &Global, route: &Route, servers: Vec<Server>) -> Result<(), Failure> {
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot_start)?;
    // Signals are taken before anything is begun that they would cut off.
    let mut stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let options = options(route, &servers);
    let clock = Clock::start();
    let copies = copies(clock);
    let command = lossy(&std::env::args_os().collect::<Vec<OsString>>());
    let start = session_start(clock, Transport::Stdio, route.name.clone(), command);
    let recording = match route.no_record {
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
            outlet.add(line.len());
            let _ = to_host.send(line);
        },
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
    let mut arguments: Vec<OsString> = vec!["route".into(), "--no-record".into(), "--config".into(), configuration.into()];
    let mut add = |word: &str, value: &std::ffi::OsStr| arguments.extend([word.into(), value.into()]);
    let seconds = |time: Duration| OsString::from(format!("{}s", time.as_secs_f64()));
    add("--timeout", &seconds(route.timeout));
    add("--startup", &seconds(route.startup));
    route.server.iter().for_each(|name| add("--server", name.as_ref()));
    route.role.iter().for_each(|role| add("--role", role.as_ref()));
    if route.plain_names {
        arguments.push("--plain-names".into());
    }
    let side = HttpSide { http: Some(address), ..HttpSide::none() };
    bridge_http(global, &side, Some(route.name.clone()), program.into_os_string(), arguments, true)
}

/// The records of the sessions with one server, one after another.
#[derive(Default)]
struct Sessions {
    server: Mutex<Option<(Option<PathBuf>, Meant)>>,
    /// Those that have not ended, by where their copies are left.
    open: Mutex<HashMap<usize, Recorded>>,
}

impl Sessions {
    /// Says whose sessions these are.
    fn is_of(&self, database: Option<PathBuf>, server: Meant) {
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some((database, server));
    }

    /// Finishes what has not ended.
    fn finish(&self) {
        let left = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        for recorded in left.into_values() {
            recorded.finish(EndReason::Stopped);
        }
    }
}

impl Recorder for Sessions {
    fn begin(&self) -> Option<Arc<Copies>> {
        let server = self.server.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (database, server) = server?;
        let recorded = Recorded::begin(database, &server);
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
