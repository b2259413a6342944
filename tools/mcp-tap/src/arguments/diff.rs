//! What can be asked of `diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tap_compare::{Depth, Loose, PathPattern};

use crate::reference::Reference;

/// Options of `diff`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap diff github.2 github\n  \
        mcp-tap diff recordings/a.jsonl last --hide-volatile --exit-code\n  \
        mcp-tap diff last.2 last 'tool:search_*' --ignore 'result.**.etag' --compare shape\n  \
        mcp-tap diff a.jsonl b.jsonl -o diff.xml")]
pub(crate) struct Diff {
    /// A session, a part of one, or a file
    #[arg(value_name = "A", value_hint = ValueHint::FilePath)]
    pub(crate) a: Reference,
    /// The session or file that A is held against
    #[arg(value_name = "B", value_hint = ValueHint::FilePath)]
    pub(crate) b: Reference,
    /// Only calls that fit, in the language of docs/filter.md; tools and other lists are left out then
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    #[command(flatten)]
    pub(crate) comparing: Comparing,
    /// Exit code 1 when something differs
    #[arg(long)]
    pub(crate) exit_code: bool,
    /// How to write it [default: by FILE's name (.json, .xml); text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<DiffFormat>,
    /// One JSON object; the same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// As text: at most so many differences a call or tool
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    pub(crate) limit: usize,
    /// Write to this file; it appears whole or not at all [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

/// What counts as the same, for all who compare.
#[derive(Debug, Args)]
pub(crate) struct Comparing {
    /// Leave this path out, such as arg.timestamp or result.items[*].id; * is any step, ** any number; may be given several times
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareDepth {
    Exact,
    Shape,
    Status,
}

impl From<CompareDepth> for Depth {
    fn from(depth: CompareDepth) -> Self {
        match depth {
            CompareDepth::Exact => Self::Exact,
            CompareDepth::Shape => Self::Shape,
            CompareDepth::Status => Self::Status,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DiffFormat {
    Text,
    Json,
    /// JUnit's XML, for test reports
    Junit,
}

pub(super) fn parse_loose(text: &str) -> Result<Loose, String> {
    match text {
        "numbers" => Ok(Loose::Numbers),
        "case" => Ok(Loose::Case),
        "space" => Ok(Loose::Space),
        _ => Err("there are numbers, case and space".into()),
    }
}
