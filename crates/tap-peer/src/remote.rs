//! A server over HTTP as a client sees it that has lines to say: Streamable HTTP of both eras, and HTTP+SSE.
//!
//! The loop here says to [`RemoteServer`] what happened and does what it is told. `remote/exchange.rs` carries out one
//! exchange, `remote/outlet.rs` has how much may wait.

mod exchange;
mod outlet;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tap_bridge::{Action, Head, Notice, RemoteServer};
use tap_jsonrpc::SseEvent;
use tap_relay::Clock;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

pub use self::exchange::Remote;
pub use self::outlet::Outlet;

use self::outlet::Held;

/// Requests without an answer, from which on the client is not read until some are answered.
const WAITING_LIMIT: usize = 10_000;

/// Bytes of messages that wait to be sent, from which on the client is not read.
const QUEUED_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// Inputs that wait to be looked at; whoever has more waits.
const INPUTS: usize = 256;

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

/// What a client is told by [`carry`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FromRemote {
    /// A line of the server's, with its line feed. Whoever has taken it [says so](Outlet::taken).
    Line(Bytes),
    /// Something that a person should know.
    Notice(Notice),
}

/// Carries a client's lines to a server over HTTP, and what that says back, until the client ends, `stop` is done, or the
/// client [has broken off](Outlet::has_broken).
pub async fn carry(
    clock: Clock,
    remote: Arc<Remote>,
    mut lines: mpsc::Receiver<Bytes>,
    mut say: impl FnMut(FromRemote),
    stop: impl Future<Output = ()>,
) {
    let mut server = RemoteServer::new(&remote.address.to_string());
    let mut stop = std::pin::pin!(stop);
    let mut is_stopped = false;
    let (inputs, mut happened) = mpsc::channel(INPUTS);
    let mut running: HashMap<u64, AbortHandle> = HashMap::new();
    let mut client_is_there = true;
    let mut client_reads = true;
    // What an input held is held until what came of it waits for the client.
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
                    say(FromRemote::Line(line));
                }
                Action::Tell(notice) => say(FromRemote::Notice(notice)),
                Action::Finished => return,
            }
        }
        drop(held.take());
        let (n_waiting, n_queued_bytes) = server.load();
        let is_open = client_is_there && n_waiting < WAITING_LIMIT && n_queued_bytes < QUEUED_LIMIT_BYTES;
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
                    client_is_there = false;
                    server.host_ended();
                }
            }
            () = tokio::time::sleep(limit.unwrap_or_default()), if limit.is_some() => server.time(clock.at_ns()),
            () = &mut stop, if !is_stopped => {
                is_stopped = true;
                server.terminate();
            }
            () = remote.outlet.broken(), if client_reads => {
                client_reads = false;
                server.terminate();
            }
        }
    }
}
