//! What can be asked of `wrap` and `unwrap`: which servers, in whose configuration.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use tap_hosts::Host;

use crate::failure::nearest;

/// Options of `wrap`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap wrap --list\n  \
        mcp-tap wrap filesystem --host claude-desktop --dry-run\n  \
        mcp-tap wrap --all --host cursor\n  \
        mcp-tap wrap --all --project\n  \
        mcp-tap wrap --all --file other/mcp.json\n\n\
        Hosts: claude-desktop, claude-code, cursor, vscode, windsurf, codex, gemini, opencode, zed, cline, continue, goose, lm-studio")]
pub(crate) struct Wrap {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
    /// Show what was found, and what is wrapped; nothing is changed
    #[arg(long, visible_alias = "status", conflicts_with_all = ["all", "dry_run", "print"])]
    pub(crate) list: bool,
    /// With --list: one JSON object a line
    #[arg(long, requires = "list")]
    pub(crate) json: bool,
    /// Print the commands as they would be, to be put in by hand; nothing is changed
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) print: bool,
}

/// Options of `unwrap`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap unwrap filesystem\n  mcp-tap unwrap --all --dry-run\n  mcp-tap unwrap --all --project"
)]
pub(crate) struct Unwrap {
    #[command(flatten)]
    pub(crate) chosen: Chosen,
}

/// Which servers are meant.
#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// Servers, by the names that hosts have for them
    #[arg(value_name = "SERVER")]
    pub(crate) servers: Vec<String>,
    /// All servers
    #[arg(short, long, conflicts_with = "servers")]
    pub(crate) all: bool,
    /// Only in the configuration of this host
    #[arg(long, value_name = "HOST", value_parser = parse_host)]
    pub(crate) host: Option<Host>,
    /// In the files of the folder that is worked in, which other people may have too; else in the user's own
    #[arg(long)]
    pub(crate) project: bool,
    /// In this file, whoever's it is
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["host", "project"])]
    pub(crate) file: Option<PathBuf>,
    /// Show what would change, as a diff; nothing is changed
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}

/// Finds a host by its name, and says which one may be meant when there is none.
pub(super) fn parse_host(name: &str) -> Result<Host, String> {
    Host::named(name).ok_or_else(|| {
        let names = || Host::ALL.into_iter().map(Host::name);
        match nearest(name, names()) {
            Some(near) => format!("there is no such host; did you mean {near}?"),
            None => format!("there is no such host; there are {}", names().collect::<Vec<_>>().join(", ")),
        }
    })
}
