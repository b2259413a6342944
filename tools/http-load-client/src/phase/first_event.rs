//! Event streams one after the other: how long until the first event, when the next does not exist yet.

use std::time::Instant;

use serde::Serialize;
use tap_http_echo_server::event;

use super::Times;
use crate::arguments::Arguments;
use crate::connection::Connection;
use crate::error::PhaseError;
use crate::events::Events;
use crate::proxy::{Proxy, ProxyCost};

#[derive(Serialize)]
pub(super) struct Report {
    calls: usize,
    /// From the request to the first event.
    #[serde(flatten)]
    times: Times,
    /// First events that came before the server made the second ones.
    before_next: usize,
    /// Streams that came byte for byte.
    exact: usize,
    messages_exchanged: u64,
    #[serde(flatten)]
    proxy: ProxyCost,
}

/// The stream of one call.
struct Seen {
    first_after: std::time::Duration,
    is_before_next: bool,
    is_exact: bool,
}

const STREAMING: &str = "reading an event stream";

/// Two notifications and the answer.
const N_EVENTS: usize = 3;

pub(super) async fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let proxy = Proxy::look(arguments.proxy_pid);
    let mut connection = Connection::open(&arguments.url, &arguments.protocol).await?;
    let mut seen = Vec::new();
    // The first call opens the proxy's connection to the server, which is another question.
    let n_warm_up = 1;
    for id in 1..=(arguments.calls + n_warm_up) as u64 {
        seen.push(call(&mut connection, id, arguments.interval_ms).await?);
    }
    let seen = &seen[n_warm_up..];
    Ok(Report {
        calls: arguments.calls,
        times: Times::new(seen.iter().map(|seen| seen.first_after).collect()),
        before_next: seen.iter().filter(|seen| seen.is_before_next).count(),
        exact: seen.iter().filter(|seen| seen.is_exact).count(),
        messages_exchanged: connection.n_messages,
        proxy: proxy.cost(),
    })
}

async fn call(connection: &mut Connection, id: u64, interval_ms: usize) -> Result<Seen, PhaseError> {
    let call = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"stream","arguments":{{"events":2,"interval_ms":{interval_ms},"text":"end"}}}}}}"#
    );
    let sent_at = Instant::now();
    let response = connection.post(call.into(), STREAMING).await?;
    let mut stream = Events::new(response.into_body(), STREAMING);
    let first = stream.next().await?;
    let (first_after, first_at_ns) = (sent_at.elapsed(), event::now_ns());
    let mut events: Vec<Vec<u8>> = first.into_iter().collect();
    while let Some(event) = stream.next().await? {
        events.push(event);
    }
    connection.n_messages += 1 + events.len() as u64;
    let second_made_at_ns = events.get(1).and_then(|event| event::made_at_ns(event));
    Ok(Seen {
        first_after,
        is_before_next: second_made_at_ns.is_some_and(|made_at_ns| first_at_ns < made_at_ns),
        is_exact: events.len() == N_EVENTS
            && events.iter().enumerate().all(|(number, event)| is_expected(event, id, number)),
    })
}

fn is_expected(event: &[u8], id: u64, number: usize) -> bool {
    let (id, mut expected) = (id.to_string(), Vec::new());
    match event::made_at_ns(event) {
        Some(made_at_ns) if number + 1 < N_EVENTS => event::notification(&mut expected, &id, number, made_at_ns),
        _ => event::answer(&mut expected, N_EVENTS - 1, &id, "\"end\""),
    }
    event == expected
}
