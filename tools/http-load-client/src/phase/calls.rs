//! Calls over kept connections, each sent when the one before it on the connection is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::Serialize;
use tap_http_echo_server::event;
use tap_load_client::message::Text;
use tap_load_client::statistics::rounded;
use tokio::task::JoinSet;

use super::Times;
use crate::arguments::Arguments;
use crate::connection::{Connection, is_exactly};
use crate::error::PhaseError;
use crate::proxy::{Proxy, ProxyCost};

#[derive(Serialize)]
pub(super) struct Report {
    calls: usize,
    connections: usize,
    /// Made before, and not counted in the times.
    warm_up_calls: usize,
    seconds: f64,
    calls_per_s: f64,
    /// The text goes to the server and comes back; this counts it once.
    echoed_mib_per_s: f64,
    #[serde(flatten)]
    times: Times,
    /// Answers that came byte for byte as the server wrote them.
    exact: u64,
    altered: u64,
    /// Of the connections, sessions and all calls.
    messages_exchanged: u64,
    proxy_cpu_us_per_call: Option<f64>,
    #[serde(flatten)]
    proxy: ProxyCost,
}

/// Calls that are made first and not counted: caches, page faults, connections to the upstream.
const MOST_WARM_UP_CALLS: usize = 2_000;

const CALLING: &str = "calling a tool";

/// What one connection does, and what came of it.
struct Caller {
    connection: Connection,
    text: Arc<Text>,
    answers_are_streams: bool,
    durations: Vec<Duration>,
    n_exact: u64,
    n_altered: u64,
}

pub(super) async fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let text = Arc::new(arguments.text_bytes.map_or_else(|| Text::small("HTTP"), Text::large));
    let mut callers = Vec::new();
    for _ in 0..arguments.connections {
        callers.push(Caller {
            connection: Connection::open(&arguments.url, &arguments.protocol).await?,
            text: Arc::clone(&text),
            answers_are_streams: arguments.event_streams,
            durations: Vec::new(),
            n_exact: 0,
            n_altered: 0,
        });
    }
    let n_warm_up = (arguments.calls / 10).min(MOST_WARM_UP_CALLS);
    // Id 0 was that of `initialize`.
    let first_id = 1 + n_warm_up as u64;
    let mut callers = call_all(callers, 1, first_id).await?;
    for caller in &mut callers {
        caller.durations.clear();
        caller.durations.reserve(arguments.calls / arguments.connections);
    }
    let proxy = Proxy::look(arguments.proxy_pid);
    let started_at = Instant::now();
    let callers = call_all(callers, first_id, first_id + arguments.calls as u64).await?;
    let seconds = started_at.elapsed().as_secs_f64();
    let proxy = proxy.cost();
    let n_text_bytes = text.of(0).len();
    Ok(Report {
        calls: arguments.calls,
        connections: arguments.connections,
        warm_up_calls: n_warm_up,
        seconds: (seconds * 1e4).round() / 1e4,
        calls_per_s: rounded(arguments.calls as f64 / seconds),
        echoed_mib_per_s: rounded((arguments.calls * n_text_bytes) as f64 / f64::from(1 << 20) / seconds),
        exact: callers.iter().map(|caller| caller.n_exact).sum::<u64>() - n_warm_up as u64,
        altered: callers.iter().map(|caller| caller.n_altered).sum(),
        messages_exchanged: callers.iter().map(|caller| caller.connection.n_messages).sum(),
        proxy_cpu_us_per_call: proxy.cpu_us_per_call(arguments.calls),
        proxy,
        times: Times::new(callers.into_iter().flat_map(|caller| caller.durations).collect()),
    })
}

/// Has the callers make all calls from `first_id` to before `end_id`, each call by who is free first.
async fn call_all(callers: Vec<Caller>, first_id: u64, end_id: u64) -> Result<Vec<Caller>, PhaseError> {
    let next_id = Arc::new(AtomicU64::new(first_id));
    let mut calling = JoinSet::new();
    for caller in callers {
        calling.spawn(caller.call_until(Arc::clone(&next_id), end_id));
    }
    let mut callers = Vec::new();
    while let Some(ended) = calling.join_next().await {
        callers.push(ended??);
    }
    Ok(callers)
}

impl Caller {
    async fn call_until(mut self, next_id: Arc<AtomicU64>, end_id: u64) -> Result<Self, PhaseError> {
        let mut expected = Vec::new();
        loop {
            let id = next_id.fetch_add(1, Ordering::Relaxed);
            if id >= end_id {
                return Ok(self);
            }
            let call = self.write(id, &mut expected);
            let sent_at = Instant::now();
            let response = self.connection.post(call.into(), CALLING).await?;
            let is_exact = is_exactly(response, &expected, CALLING).await?;
            self.durations.push(sent_at.elapsed());
            self.connection.n_messages += 2;
            match is_exact {
                true => self.n_exact += 1,
                false => self.n_altered += 1,
            }
        }
    }

    /// The call with this id; `expected` becomes the body of its answer.
    fn write(&self, id: u64, expected: &mut Vec<u8>) -> Vec<u8> {
        let mut call = Vec::new();
        match self.answers_are_streams {
            false => {
                self.text.write_call(&mut call, id);
                self.text.write_answer(expected, id);
            }
            true => {
                let text = self.text.of(id);
                call.extend_from_slice(
                    format!(
                        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"stream","arguments":{{"text":"{text}"}}}}}}"#
                    )
                    .as_bytes(),
                );
                expected.clear();
                event::answer(expected, 0, &id.to_string(), &format!("\"{text}\""));
            }
        }
        call
    }
}
