//! The command line.

use std::time::Duration;

use clap::Parser;

use crate::connection::Target;
use crate::phase::Phase;

/// Measures an MCP server over Streamable HTTP, or a proxy in front of one.
#[derive(Debug, Clone, Parser)]
#[command(name = "tap-http-load-client", version)]
pub(crate) struct Arguments {
    /// What to measure
    #[arg(long, value_enum, default_value = "calls")]
    pub(crate) phase: Phase,
    /// calls: connections, each with a session of its own and one call in flight
    #[arg(long, default_value_t = 1, value_parser = at_least_one)]
    pub(crate) connections: usize,
    /// calls, first-event: calls of all connections together
    #[arg(long, default_value_t = 20_000, value_parser = at_least_one)]
    pub(crate) calls: usize,
    /// calls: bytes of the text that each call has echoed; a short sentence without it
    #[arg(long)]
    pub(crate) text_bytes: Option<usize>,
    /// calls: have each answered with an event stream that holds the answer, and not with JSON
    #[arg(long)]
    pub(crate) event_streams: bool,
    /// streams: event streams at the same time; every second one is opened with GET, the others by a call
    #[arg(long, default_value_t = 200, value_parser = at_least_one)]
    pub(crate) streams: usize,
    /// streams: for how long, in seconds
    #[arg(long, default_value_t = 60, value_parser = at_least_one)]
    pub(crate) seconds: usize,
    /// streams, first-event: from one event of a stream to the next, in milliseconds
    #[arg(long, default_value_t = 1_000, value_parser = at_least_one)]
    pub(crate) interval_ms: usize,
    /// streams: an event that takes longer is late, in milliseconds
    #[arg(long, default_value_t = 100, value_parser = at_least_one)]
    pub(crate) late_ms: usize,
    /// Give up when the phase takes longer, in seconds; `streams` gets its own length on top
    #[arg(long = "timeout", default_value = "120", value_parser = seconds)]
    timeout: Duration,
    /// The revision asked for in `initialize`
    #[arg(long, default_value = "2025-11-25")]
    pub(crate) protocol: String,
    /// The process id of the proxy at the URL, to tell what it and its children use
    #[arg(long)]
    pub(crate) proxy_pid: Option<u32>,
    /// The server's URL, or a proxy's: http
    #[arg(value_parser = Target::parse)]
    pub(crate) url: Target,
}

impl Arguments {
    /// How long the phase may take.
    pub(crate) fn limit(&self) -> Duration {
        match self.phase {
            Phase::Calls | Phase::FirstEvent => self.timeout,
            Phase::Streams => self.timeout + Duration::from_secs(self.seconds as u64),
        }
    }
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("must be at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(format!("{error}")),
    }
}

fn seconds(text: &str) -> Result<Duration, std::num::ParseIntError> {
    text.parse().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["client", "client https://x/", "client --phase nope http://x/", "client --calls 0 http://x/"] {
            assert!(Arguments::try_parse_from(line.split(' ')).is_err(), "line: {line:?}");
        }
    }
}
