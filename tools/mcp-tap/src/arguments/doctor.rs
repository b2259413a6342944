//! What can be asked of `doctor`: which servers, and how long they are waited for.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::replay::parse_seconds;

/// Options of `doctor`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap doctor\n  \
        mcp-tap doctor claude-desktop\n  \
        mcp-tap doctor filesystem\n  \
        mcp-tap doctor -- npx -y @modelcontextprotocol/server-filesystem ~/src\n  \
        mcp-tap doctor --path /usr/bin:/bin -- my-server")]
pub(crate) struct Doctor {
    /// Hosts, or servers by the names that hosts have for them; without any, all that are configured
    #[arg(value_name = "HOST|SERVER", conflicts_with = "command")]
    pub(crate) names: Vec<String>,
    /// Look at the servers in this file, whoever's it is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "command")]
    pub(crate) file: Option<PathBuf>,
    /// The PATH that the host has [default: that of the host, as far as it can be told]
    #[arg(long, value_name = "PATH")]
    pub(crate) path: Option<OsString>,
    /// The folder that the host starts it in
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// How long an answer is waited for: 30, 30s, 2m
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_seconds)]
    pub(crate) wait: Duration,
    /// Call it slow after so many milliseconds
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    pub(crate) slow: u64,
    /// One JSON object a server
    #[arg(long)]
    pub(crate) json: bool,
    /// A server's command and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
}
