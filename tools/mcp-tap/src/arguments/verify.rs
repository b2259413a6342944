//! What can be asked of `verify` and `review`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use http::Uri;
use tap_compare::{Loose, PathPattern};

use super::diff::{CompareDepth, DiffFormat, parse_loose};
use super::proxy::parse_url;
use super::replay::parse_time;
use crate::reference::Reference;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap verify weather.mcprec -- python server.py\n  \
        mcp-tap verify recordings/*.mcprec --format junit -o verify.xml -- npx -y @modelcontextprotocol/server-everything\n  \
        mcp-tap verify last --compare shape --ignore 'result.**.etag' -- python server.py\n  \
        mcp-tap verify weather.mcprec --url https://example.com/mcp --bearer-env TOKEN\n  \
        mcp-tap verify bug.mcprec --until 42 --stay -- python server.py",
    override_usage = "mcp-tap verify [OPTIONS] FILE|REF... -- COMMAND...\n       mcp-tap verify [OPTIONS] FILE|REF... --url URL"
)]
pub(crate) struct Verify {
    /// Recordings: files or sessions; the server is started anew for each
    #[arg(required = true, value_name = "FILE|REF", value_hint = ValueHint::FilePath)]
    pub(crate) recordings: Vec<Reference>,
    /// The server's address, where it is one over HTTP
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, value_parser = parse_url, conflicts_with = "command")]
    pub(crate) url: Option<Uri>,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND", required_unless_present = "url", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// What to call the session that is recorded [default: the recording's name, and -verify]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Leave this path out, such as arg.timestamp or result.items[*].id; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) ignore: Vec<PathPattern>,
    /// Values that are the same when they are nearly: numbers, case, space; may be given several times
    #[arg(long, value_name = "HOW", value_parser = parse_loose)]
    pub(crate) loose: Vec<Loose>,
    /// How deep answers are compared: values, or keys and types, or only whether they failed [default: exact]
    #[arg(long, value_name = "DEPTH")]
    pub(crate) compare: Option<CompareDepth>,
    /// Hide what looks as if it changed on every run: UUIDs, times. They are counted
    #[arg(long)]
    pub(crate) hide_volatile: bool,
    /// More rules: a JSON file with ignore, volatile, loose, compare, key, tools
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) rules: Option<PathBuf>,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_time)]
    pub(crate) timeout: Duration,
    /// Also fail where an answer takes so many times as long as recorded, such as 3
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    pub(crate) max_slowdown: Option<f64>,
    /// Send values that the server made up as they were recorded, and not as the live one made them up
    #[arg(long)]
    pub(crate) no_correlate: bool,
    /// With --url: also call tools that do not say that they only read
    #[arg(long)]
    pub(crate) allow_mutations: bool,
    /// Send no message of the recording behind this one
    #[arg(long, value_name = "N")]
    pub(crate) until: Option<u64>,
    /// Then leave the session open: lines of stdin go to the server, what it says is printed, until stdin ends
    #[arg(long, conflicts_with_all = ["format", "json", "output"])]
    pub(crate) stay: bool,
    /// What becomes of a file that differs: write what it would be beside it (new), leave it (never), or write it anew (all)
    /// [default: new on a terminal, else never; never where CI is set]
    #[arg(long, value_name = "WHAT")]
    pub(crate) update: Option<Update>,
    /// How to write the report [default: by FILE's name (.json, .xml); text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<DiffFormat>,
    /// One JSON object; the same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// As text: at most so many differences a call or tool
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    pub(crate) limit: usize,
    /// Write the report to this file; it appears whole or not at all [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// With --url: send the token in this environment variable as `Authorization: Bearer`
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub(crate) bearer_env: Option<String>,
    /// With --url: send this header; ${VARIABLE} stands for a variable of the environment
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// With --url: trust the certificates in this file (PEM) beside the system's; may be given several times
    #[arg(long, value_name = "FILE", requires = "url", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Vec<PathBuf>,
}

/// What becomes of a file that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Update {
    New,
    Never,
    All,
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('x').unwrap_or(text).parse::<f64>().ok();
    number.filter(|factor| factor.is_finite() && *factor >= 1.0).ok_or_else(|| "a number from 1 on, such as 3".into())
}

/// Options of `review`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap review\n  \
        mcp-tap review recordings --list\n  \
        mcp-tap review recordings/weather.mcprec --accept")]
pub(crate) struct Review {
    /// Recordings, their .new files, or folders that are searched for those [default: the folder here]
    #[arg(value_name = "FILE|FOLDER", value_hint = ValueHint::AnyPath)]
    pub(crate) paths: Vec<PathBuf>,
    /// Accept all without asking
    #[arg(long, conflicts_with_all = ["reject", "list"])]
    pub(crate) accept: bool,
    /// Reject all without asking
    #[arg(long, conflicts_with = "list")]
    pub(crate) reject: bool,
    /// Only list them. Exit code 1: there is something to review
    #[arg(long)]
    pub(crate) list: bool,
    /// At most so many differences a call or tool
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    pub(crate) limit: usize,
}
