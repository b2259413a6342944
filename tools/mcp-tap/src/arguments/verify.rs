//! What can be asked of `verify` and `review`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use http::Uri;

use super::diff::{Comparing, DiffFormat};
use super::proxy::parse_url;
use super::replay::parse_seconds;
use crate::reference::Reference;

/// Options of `verify`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap verify weather.mcprec -- python server.py\n  \
        mcp-tap verify recordings/*.mcprec --format junit -o verify.xml -- npx -y @modelcontextprotocol/server-everything\n  \
        mcp-tap verify last --compare shape --ignore 'result.**.etag' -- python server.py\n  \
        mcp-tap verify weather.mcprec --url https://example.com/mcp --bearer-env TOKEN\n  \
        mcp-tap verify weather.mcprec --only 'tool:forecast' --step -- python server.py\n  \
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
    #[command(flatten)]
    pub(crate) comparing: Comparing,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = parse_seconds)]
    pub(crate) timeout: Duration,
    /// Also fail where an answer takes so many times as long as recorded, such as 3
    #[arg(long, value_name = "FACTOR", value_parser = parse_factor)]
    pub(crate) max_slowdown: Option<f64>,
    /// Fail where a recording is older, such as 90d: by its header, else by its last commit, else by the file's time
    #[arg(long, value_name = "AGE", value_parser = parse_age)]
    pub(crate) max_age: Option<Duration>,
    /// Send values that the server made up as they were recorded, and not as the live one made them up
    #[arg(long)]
    pub(crate) no_correlate: bool,
    /// With --url: also call tools that do not say that they only read
    #[arg(long)]
    pub(crate) allow_mutations: bool,
    /// Send no message of the recording behind this one
    #[arg(long, value_name = "N")]
    pub(crate) until: Option<u64>,
    /// Only calls that fit, in the language of docs/filter.md; how a session begins is said all the same
    #[arg(long, value_name = "FILTER")]
    pub(crate) only: Option<String>,
    /// Ask before each message, on a terminal: what is said, and what the server said since
    #[arg(long)]
    pub(crate) step: bool,
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

/// An age as people write it: `90d`, `12h`, `2w`.
fn parse_age(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no age, such as 90d, 12h or 2w");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds_each: u64 = match unit {
        'm' => 60,
        'h' => 3_600,
        'd' => 86_400,
        'w' => 604_800,
        _ => return Err(wrong()),
    };
    let number = text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok()).ok_or_else(wrong)?;
    number.checked_mul(seconds_each).map(Duration::from_secs).ok_or_else(wrong)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_read() {
        for (text, expected) in [
            ("90d", Some(90 * 86_400)),
            ("12h", Some(43_200)),
            ("2w", Some(14 * 86_400)),
            ("5m", Some(300)),
            ("0d", Some(0)),
            ("d", None),
            ("-1d", None),
            ("1.5d", None),
            ("90", None),
            ("18446744073709551615w", None),
            ("", None),
        ] {
            assert_eq!(parse_age(text).ok(), expected.map(Duration::from_secs), "{text}");
        }
    }
}
