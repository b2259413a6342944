//! `mcp-tap proxy --stdio`: a stdio host in front of a server over HTTP.
//!
//! The loop here says to [`RemoteServer`] what happened and does what it is told. `bridge_stdio/exchange.rs` carries out
//! one exchange, `bridge_stdio/host.rs` has the threads that read and write the host's pipes.

mod exchange;
mod host;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::Uri;
use tap_bridge::{Action, Head, RemoteServer};
use tap_http::{Additions, Keeper, Upstream};
use tap_jsonrpc::SseEvent;
use tap_relay::Clock;
use tap_store::{EndReason, Transport};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use self::exchange::Remote;
use self::host::{Held, Outlet, read_lines, start_writer};
use super::stop::Stop;
use crate::arguments::Global;
use crate::failure::Failure;
use crate::recording::{Recording, copies, session_start};
use crate::telling::Told;

/// Requests without an answer, from which on the host is not read until some are answered.
const WAITING_LIMIT: usize = 10_000;

/// Bytes of messages that wait to be sent, from which on the host is not read.
const QUEUED_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Inputs that wait to be looked at; whoever has more waits.
const INPUTS: usize = 256;

/// How long the host may take to read what is left when all is over.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// What became of an exchange.
enum Input {
    /// Its request is on its way.
    Sent(u64),
    /// The server has begun to answer.
    Head(u64, Head),
    /// An event of the answer.
    Event(u64, SseEvent, Held),
    /// It is over: the body, if it was no event stream, and why it broke off, if it did.
    Ended(u64, Bytes, Option<String>, Held),
}

/// Joins the host on our standard streams with a server until one of them ends.
pub(crate) fn bridge_stdio(
    global: &Global,
    url: &Uri,
    name: String,
    keeper: Keeper,
    upstream: Upstream,
    additions: Additions,
) -> Result<u8, Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("cannot start: {error}")))?;
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    // Signals are taken before anything is begun that they would cut off.
    let stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let start = session_start(clock, Transport::Http, name, vec![keeper.url(url)]);
    let recording = Recording::begin(global.database(), start, copies.clone());
    let exchanges = Arc::new(tap_http::Recording::new(copies.clone(), keeper));
    exchanges.is_mcp_at(url.path());
    let outlet = Arc::new(Outlet::default());
    let (lines, hosts_lines) = mpsc::channel(INPUTS);
    let (to_host, from_bridge) = std::sync::mpsc::channel();
    let (written, all_written) = std::sync::mpsc::channel();
    let started = read_lines(lines).and_then(|()| start_writer(outlet.clone(), from_bridge, written));
    let done = started.map(|()| {
        let remote = Remote { upstream, additions, recording: exchanges, outlet, address: url.clone() };
        runtime.block_on(drive(clock, url, Arc::new(remote), hosts_lines, to_host, stop));
    });
    runtime.shutdown_background();
    let _ = all_written.recv_timeout(LAST_WRITES);
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    done.map(|()| 0).map_err(cannot_start)
}

async fn drive(
    clock: Clock,
    url: &Uri,
    remote: Arc<Remote>,
    mut lines: mpsc::Receiver<Bytes>,
    to_host: std::sync::mpsc::Sender<Bytes>,
    mut stop: Stop,
) {
    let mut server = RemoteServer::new(&url.to_string());
    let (inputs, mut happened) = mpsc::channel(INPUTS);
    let mut running: HashMap<u64, AbortHandle> = HashMap::new();
    let mut host_is_there = true;
    let mut host_reads = true;
    let mut told = Told::default();
    // What an input held is held until what came of it waits for the host.
    let mut held = None;
    loop {
        while let Some(action) = server.poll() {
            match action {
                Action::Send { exchange, request } => {
                    let task = tokio::spawn(remote.clone().carry_out(exchange, request, inputs.clone()));
                    running.insert(exchange, task.abort_handle());
                }
                Action::Stop { exchange } => {
                    if let Some(task) = running.remove(&exchange) {
                        task.abort();
                    }
                }
                Action::ToHost(line) => {
                    remote.outlet.add(line.len());
                    let _ = to_host.send(line);
                }
                Action::Tell(notice) => told.tell(&notice.to_string()),
                Action::Finished => return,
            }
        }
        drop(held.take());
        let (n_waiting, n_queued_bytes) = server.load();
        let is_open = host_is_there && n_waiting < WAITING_LIMIT && n_queued_bytes < QUEUED_LIMIT_BYTES;
        let limit = server.timeout_ns().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(clock.at_ns())));
        tokio::select! {
            input = happened.recv() => {
                server.time(clock.at_ns());
                match input {
                    Some(Input::Sent(exchange)) => server.sent(exchange),
                    Some(Input::Head(exchange, head)) => server.head(exchange, head),
                    Some(Input::Event(exchange, event, holds)) => {
                        held = Some(holds);
                        server.event(exchange, &event);
                    }
                    Some(Input::Ended(exchange, body, failure, holds)) => {
                        held = Some(holds);
                        running.remove(&exchange);
                        server.ended(exchange, &body, failure.as_deref());
                    }
                    None => {}
                }
            }
            line = lines.recv(), if is_open => {
                server.time(clock.at_ns());
                if let Some(line) = line {
                    server.host_line(&line);
                } else {
                    host_is_there = false;
                    server.host_ended();
                }
            }
            () = tokio::time::sleep(limit.unwrap_or_default()), if limit.is_some() => server.time(clock.at_ns()),
            () = stop.asked() => server.terminate(),
            () = remote.outlet.broken(), if host_reads => {
                host_reads = false;
                server.terminate();
            }
        }
    }
}
