//! Options of `audit`.

use std::time::Duration;

use clap::Args;

use crate::quantity::parse_age;

/// Options of `audit`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap audit                             the newest calls\n  \
        mcp-tap audit --since 1d --refused        what was not allowed today\n  \
        mcp-tap audit --tool 'write_*' --json | jq .arguments")]
pub(crate) struct Audit {
    /// Of this run alone: the start of the id of its session with the host
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// Calls of this server; * and ? as in a shell
    #[arg(long, value_name = "PATTERN")]
    pub(crate) server: Option<String>,
    /// Calls of this tool, by the name that its server has for it; * and ? as in a shell
    #[arg(long, value_name = "PATTERN")]
    pub(crate) tool: Option<String>,
    /// Calls that were not allowed
    #[arg(long)]
    pub(crate) refused: bool,
    /// No calls that are older than this, such as 12h or 30d
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) since: Option<Duration>,
    /// At most so many, the newest
    #[arg(short = 'n', long, value_name = "N", default_value = "50")]
    pub(crate) limit: usize,
    /// One JSON object a line, with everything that is known
    #[arg(long)]
    pub(crate) json: bool,
}
