//! Many event streams for long: is an event lost or late?

use std::time::Duration;

use serde::Serialize;
use tap_http_echo_server::event;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Times;
use crate::arguments::Arguments;
use crate::connection::{Connection, Target};
use crate::error::PhaseError;
use crate::events::Events;
use crate::proxy::{Proxy, ProxyCost};

#[derive(Serialize)]
pub(super) struct Report {
    streams: usize,
    seconds: usize,
    /// Notifications that the server was asked for.
    events: usize,
    /// Of them, those that came byte for byte and in their order.
    exact: usize,
    lost: usize,
    /// Those that took longer than asked to come here after they were made.
    late: usize,
    /// From when an event was made to when it was here.
    #[serde(flatten)]
    delay: Times,
    /// Streams that ended as they should, neither sooner nor with something else.
    ended_well: usize,
    messages_exchanged: u64,
    #[serde(flatten)]
    proxy: ProxyCost,
}

/// What is asked of one stream.
#[derive(Debug, Clone)]
struct Plan {
    id: u64,
    n_events: usize,
    interval_ms: usize,
}

/// What came of one stream.
#[derive(Debug, Default)]
struct Seen {
    delays: Vec<Duration>,
    n_exact: usize,
    ended_well: bool,
    n_messages: u64,
}

const STREAMING: &str = "reading an event stream";

pub(super) async fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let n_events = (arguments.seconds * 1000).div_ceil(arguments.interval_ms);
    let proxy = Proxy::look(arguments.proxy_pid);
    let mut reading = JoinSet::new();
    for index in 0..arguments.streams {
        let plan = Plan { id: 1 + index as u64, n_events, interval_ms: arguments.interval_ms };
        // Spread over an interval, as streams of many clients are: all at once would measure a queue.
        let start_after = Duration::from_millis((index * arguments.interval_ms / arguments.streams) as u64);
        let (url, protocol) = (arguments.url.clone(), arguments.protocol.clone());
        reading.spawn(async move {
            sleep(start_after).await;
            read(&url, &protocol, &plan).await
        });
    }
    let mut all = Vec::new();
    while let Some(ended) = reading.join_next().await {
        all.push(ended??);
    }
    let delays: Vec<Duration> = all.iter().flat_map(|seen| seen.delays.iter().copied()).collect();
    let (n_asked, n_exact) = (n_events * arguments.streams, all.iter().map(|seen| seen.n_exact).sum());
    let late_after = Duration::from_millis(arguments.late_ms as u64);
    Ok(Report {
        streams: arguments.streams,
        seconds: arguments.seconds,
        events: n_asked,
        exact: n_exact,
        lost: n_asked.saturating_sub(delays.len()),
        late: delays.iter().filter(|delay| late_after < **delay).count(),
        delay: Times::new(delays),
        ended_well: all.iter().filter(|seen| seen.ended_well).count(),
        messages_exchanged: all.iter().map(|seen| seen.n_messages).sum(),
        proxy: proxy.cost(),
    })
}

/// Reads one stream to its end: of a call, or of a GET for every second id.
async fn read(url: &Target, protocol: &str, plan: &Plan) -> Result<Seen, PhaseError> {
    let mut connection = Connection::open(url, protocol).await?;
    let Plan { id, n_events, interval_ms } = plan;
    let is_call = id % 2 == 1;
    let response = match is_call {
        true => {
            let call = format!(
                r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"stream","arguments":{{"events":{n_events},"interval_ms":{interval_ms},"text":"end"}}}}}}"#
            );
            connection.n_messages += 1;
            connection.post(call.into(), STREAMING).await?
        }
        false => {
            let query = format!("stream={id}&events={n_events}&interval_ms={interval_ms}");
            connection.get(&query, STREAMING).await?
        }
    };
    let mut stream = Events::new(response.into_body(), STREAMING);
    let mut seen = Seen { ended_well: !is_call, ..Seen::default() };
    while let Some(event) = stream.next().await? {
        let now_ns = event::now_ns();
        connection.n_messages += 1;
        seen.take(plan, is_call, &event, now_ns);
    }
    seen.n_messages = connection.n_messages;
    Ok(seen)
}

impl Seen {
    fn take(&mut self, plan: &Plan, is_call: bool, event: &[u8], now_ns: u64) {
        let (id, number, mut expected) = (plan.id.to_string(), self.delays.len(), Vec::new());
        match event::made_at_ns(event) {
            Some(made_at_ns) => {
                self.delays.push(Duration::from_nanos(now_ns.saturating_sub(made_at_ns)));
                event::notification(&mut expected, &id, number, made_at_ns);
                self.n_exact += usize::from(event == expected);
            }
            None => {
                event::answer(&mut expected, plan.n_events, &id, "\"end\"");
                self.ended_well = is_call && event == expected && number == plan.n_events;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: Plan = Plan { id: 7, n_events: 2, interval_ms: 1 };

    /// Takes notifications with these numbers, and the answer if it is a call.
    fn seen(numbers: &[usize], is_call: bool) -> Seen {
        let mut seen = Seen { ended_well: !is_call, ..Seen::default() };
        for &number in numbers {
            let mut event = Vec::new();
            event::notification(&mut event, "7", number, 1_000);
            seen.take(&PLAN, is_call, &event, 3_000);
        }
        if is_call {
            let mut event = Vec::new();
            event::answer(&mut event, 2, "7", "\"end\"");
            seen.take(&PLAN, is_call, &event, 3_000);
        }
        seen
    }

    #[test]
    fn events_are_exact_in_their_order_alone_and_a_call_ends_well_with_all_of_them() {
        for (numbers, n_exact, ended_well) in [(&[0, 1][..], 2, true), (&[1, 0], 0, true), (&[0], 1, false)] {
            let seen = seen(numbers, true);
            assert_eq!((seen.n_exact, seen.ended_well), (n_exact, ended_well), "events: {numbers:?}");
            assert_eq!(seen.delays, vec![Duration::from_micros(2); numbers.len()]);
        }
        assert!(seen(&[0], false).ended_well, "a GET stream may end at any time");
    }
}
