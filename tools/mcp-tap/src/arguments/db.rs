//! What can be asked of `db`: where it is, what goes, what is taken over.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueHint};

use crate::quantity::{parse_age, parse_size};

/// Options of `db`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap db info\n  \
        mcp-tap db prune --older-than 30d --dry-run\n  \
        mcp-tap db prune --older-than 30d --max-size 5G\n  \
        mcp-tap db backup ~/tap-backup.db\n  \
        mcp-tap db merge laptop.db\n\n\
        The same limits in `config.toml` are kept by every tap by itself: [record] max_age = \"30d\", max_size = \"5G\"")]
pub(crate) struct Db {
    #[command(subcommand)]
    pub(crate) what: DbCommand,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum DbCommand {
    /// Print the database's path
    Path,
    /// Print its size, schema, and how much is in it
    Info,
    /// Delete old sessions, and give their room back to the disk
    ///
    /// Sessions that are live, have a label or a mark stay. Taps go on recording meanwhile.
    Prune(Prune),
    /// Give room that is free in the file back to the disk
    Vacuum,
    /// Write a copy that is whole, also while taps record
    Backup {
        /// The new file
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Take over the sessions of other databases, with their labels and marks
    ///
    /// Those that are here already are left out, and those that are live there.
    Merge {
        /// Other databases
        #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
        files: Vec<PathBuf>,
    },
}

/// Options of `db prune`.
#[derive(Debug, Clone, Args)]
#[command(group = clap::ArgGroup::new("limit").required(true).multiple(true).args(["older_than", "max_size"]))]
pub(crate) struct Prune {
    /// Sessions whose last message is older: 30d, 12h, 2w
    #[arg(long, visible_alias = "max-age", value_name = "AGE", value_parser = parse_age)]
    pub(crate) older_than: Option<Duration>,
    /// The oldest sessions, until the database holds no more than this: 500M, 5G
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_size: Option<u64>,
    /// Show what would go; nothing is deleted
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
}
