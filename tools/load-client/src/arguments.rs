//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;

use crate::phase::Phase;

/// Measures an MCP server over stdio, or a tap in front of one.
#[derive(Debug, Clone, Parser)]
#[command(name = "tap-load-client", version)]
pub(crate) struct Arguments {
    /// Copied into the report; the command's name without it
    #[arg(long)]
    pub(crate) label: Option<String>,
    /// What to measure, in this order
    #[arg(long, value_enum, value_delimiter = ',', default_value = "latency,pipeline,large")]
    pub(crate) phases: Vec<Phase>,
    /// latency: calls, one after the other
    #[arg(long, default_value_t = 5_000, value_parser = at_least_one)]
    pub(crate) calls: usize,
    /// latency: at most so many calls a second, 0 for no limit
    #[arg(long, default_value_t = 0)]
    pub(crate) pace: u32,
    /// pipeline: calls sent without waiting for answers
    #[arg(long, default_value_t = 100_000, value_parser = at_least_one)]
    pub(crate) pipelined: usize,
    /// pipeline: most calls in flight, 0 for no limit
    #[arg(long, default_value_t = 0)]
    pub(crate) window: usize,
    /// large: calls that echo one large text
    #[arg(long, default_value_t = 200, value_parser = at_least_one)]
    pub(crate) large: usize,
    /// large: bytes of that text
    #[arg(long, default_value_t = 1 << 20)]
    pub(crate) large_bytes: usize,
    /// large: most calls in flight, 0 for no limit
    #[arg(long, default_value_t = 4)]
    pub(crate) large_window: usize,
    /// kill: calls answered before SIGKILL
    #[arg(long, default_value_t = 1_000)]
    pub(crate) kill_calls: usize,
    /// sustained: calls a second; each is two messages
    #[arg(long, default_value_t = 100_000, value_parser = at_least_one)]
    pub(crate) rate: usize,
    /// sustained: for how long, in seconds
    #[arg(long, default_value_t = 60, value_parser = at_least_one)]
    pub(crate) seconds: usize,
    /// startup: how often COMMAND is started
    #[arg(long, default_value_t = 50, value_parser = at_least_one)]
    pub(crate) spawns: usize,
    /// Kill COMMAND when a phase takes longer, in seconds; `sustained` gets twice its own length on top
    #[arg(long = "timeout", default_value = "120", value_parser = seconds)]
    pub(crate) timeout: Duration,
    /// The revision asked for in `initialize`
    #[arg(long, default_value = "2025-06-18")]
    pub(crate) protocol: String,
    /// File name of the server's executable, which is left out of the tap's memory and CPU time
    #[arg(long, default_value = "tap-echo-server")]
    pub(crate) server_exe: String,
    /// Append COMMAND's stderr to this file instead of dropping it
    #[arg(long)]
    pub(crate) stderr: Option<PathBuf>,
    /// Keep this client and all of COMMAND on one CPU, so that waking the other one is not what is measured
    #[arg(long)]
    pub(crate) one_cpu: bool,
    /// The server to measure, or a tap in front of one
    #[arg(last = true, required = true)]
    pub(crate) command: Vec<String>,
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
    fn phases_are_a_list_and_the_command_keeps_its_own_options() {
        let arguments =
            Arguments::try_parse_from("client --phases kill,startup --rate 7 -- tap --rate 9 -- server".split(' '))
                .unwrap();
        assert_eq!(arguments.phases, [Phase::Kill, Phase::Startup]);
        assert_eq!(arguments.rate, 7);
        assert_eq!(arguments.command, ["tap", "--rate", "9", "--", "server"]);
    }

    #[test]
    fn nonsense_is_refused() {
        for line in ["client", "client --phases nope -- x", "client --calls 0 -- x", "client --rate -1 -- x"] {
            assert!(Arguments::try_parse_from(line.split(' ')).is_err(), "line: {line:?}");
        }
    }
}
