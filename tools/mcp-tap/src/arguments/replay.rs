//! What can be asked of `replay`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use tap_compare::{Loose, PathPattern};

use super::HttpSide;
use super::diff::parse_loose;
use crate::reference::Reference;

/// Options of `replay`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap replay weather.mcprec\n  \
        mcp-tap replay last --strict --report report.json\n  \
        mcp-tap replay special.mcprec weather.mcprec --ignore arg.timestamp\n  \
        mcp-tap replay weather.mcprec --http 127.0.0.1:0\n  \
        mcp-tap replay weather.mcprec --record once -- python server.py\n  \
        mcp-tap replay weather.mcprec --record new -- https://example.com/mcp\n  \
        {\"command\":\"mcp-tap\",\"args\":[\"replay\",\"weather.mcprec\"]}      in a host's configuration",
    override_usage = "mcp-tap replay [OPTIONS] FILE|REF... [-- COMMAND...|URL]"
)]
pub(crate) struct Replay {
    /// Recordings: files or sessions; where the first has no answer the next is asked
    #[arg(required = true, value_name = "FILE|REF", value_hint = ValueHint::FilePath)]
    pub(crate) recordings: Vec<Reference>,
    #[command(flatten)]
    pub(crate) dials: Dials,
    /// Record when the file is missing (once), also ask the server what is not in it and add that (new), or anew (all)
    /// [default: MCP_TAP_RECORD, else none; always none where CI is set]
    #[arg(long, value_name = "MODE")]
    pub(crate) record: Option<RecordMode>,
    /// The server that is recorded, with --record: its command, or its URL and options of `mcp-tap proxy`
    #[arg(last = true, value_name = "COMMAND|URL", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    // Behind the command, which would stand under its heading otherwise.
    #[command(flatten)]
    pub(crate) http: HttpSide,
}

/// The dials of a playback.
#[derive(Debug, Args)]
pub(crate) struct Dials {
    /// Leave this path of requests out, such as arg.timestamp; may be given several times
    #[arg(long, value_name = "PATH")]
    pub(crate) ignore: Vec<PathPattern>,
    /// Values that are the same when they are nearly: numbers, case, space; may be given several times
    #[arg(long, value_name = "HOW", value_parser = parse_loose)]
    pub(crate) loose: Vec<Loose>,
    /// Which recorded request a live one may be: any unused one that matches, or strictly the next
    #[arg(long, value_name = "HOW", default_value = "any")]
    pub(crate) order: Order,
    /// When all answers to a request were given: repeat the last for what only reads (safe), never, or all
    #[arg(long, value_name = "WHAT", default_value = "safe")]
    pub(crate) repeat: Repeat,
    /// What a request gets that nothing matches: an error, the closest answer, or the error and the end
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) unmatched: Unmatched,
    /// What a request gets that was recorded without an answer
    #[arg(long, value_name = "WHAT", default_value = "error")]
    pub(crate) unanswered: Unanswered,
    /// Whether the client's answers to the server's requests may be others than recorded
    #[arg(long, value_name = "WHICH", default_value = "any")]
    pub(crate) replies: Replies,
    /// What is done about a request of the server's that the client has not declared it can take
    #[arg(long, value_name = "WHAT", default_value = "skip")]
    pub(crate) missing_capability: ReplayMissing,
    /// Results may not be cached by the client: ttlMs is 0
    #[arg(long)]
    pub(crate) no_cache: bool,
    /// When things are said: none (at once), recorded, 0.2x (a fifth of it), 50ms (this long each)
    #[arg(long, value_name = "CLOCK", default_value = "none", value_parser = parse_clock)]
    pub(crate) clock: Clock,
    /// No wait of --clock is longer
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_time)]
    pub(crate) max_gap: Duration,
    /// Exit code 1 on a request without a recorded answer, or a recorded request that nobody made
    #[arg(long)]
    pub(crate) strict: bool,
    /// Write what happened to this file at the end, as JSON; it appears whole or not at all
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) report: Option<PathBuf>,
    /// Write it into this folder, beside those of other sessions over HTTP
    #[arg(long, hide = true, value_name = "FOLDER")]
    pub(crate) report_in: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RecordMode {
    /// Play; a missing file is an error
    None,
    /// Record when the file is missing, else play
    Once,
    /// Play, ask the real server what is not in it, and add that
    #[value(alias = "new_episodes")]
    New,
    /// Record anew
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Order {
    Any,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Repeat {
    Safe,
    Never,
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unmatched {
    Error,
    Closest,
    Exit,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unanswered {
    Error,
    Hang,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Replies {
    Any,
    Strict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayMissing {
    Skip,
    Error,
}

/// When things are said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Clock {
    /// At once.
    None,
    /// As long after what caused them as they were recorded, times this.
    Recorded(f64),
    /// As long after what came before.
    Fixed(Duration),
}

fn parse_clock(text: &str) -> Result<Clock, String> {
    match text {
        "none" => return Ok(Clock::None),
        "recorded" => return Ok(Clock::Recorded(1.0)),
        _ => {}
    }
    if let Some(factor) = text.strip_suffix('x') {
        return match factor.parse::<f64>() {
            Ok(factor) if factor.is_finite() && factor >= 0.0 => Ok(Clock::Recorded(factor)),
            _ => Err(format!("`{factor}` is no factor, such as 0.2x")),
        };
    }
    parse_time(text)
        .map(Clock::Fixed)
        .map_err(|_| "there are none, recorded, a factor such as 0.2x, and a time such as 50ms".into())
}

/// A time as people write it: `50ms`, `5s`, `2m`.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time, such as 50ms or 5s");
    let unit_at = text.find(|character: char| character.is_ascii_alphabetic()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(unit_at);
    let seconds_each = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(wrong()),
    };
    let seconds = number.parse::<f64>().map_err(|_| wrong())? * seconds_each;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

/// A time; a number alone is one of seconds.
pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    parse_time(&if is_number { format!("{text}s") } else { text.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_times_are_read() {
        for (text, expected) in [
            ("none", Some(Clock::None)),
            ("recorded", Some(Clock::Recorded(1.0))),
            ("0.2x", Some(Clock::Recorded(0.2))),
            ("50ms", Some(Clock::Fixed(Duration::from_millis(50)))),
            ("1.5s", Some(Clock::Fixed(Duration::from_millis(1_500)))),
            ("2m", Some(Clock::Fixed(Duration::from_secs(120)))),
            ("x", None),
            ("-1x", None),
            ("infx", None),
            ("-5s", None),
            ("5", None),
            ("5h", None),
            ("1e300s", None),
        ] {
            assert_eq!(parse_clock(text).ok(), expected, "{text}");
        }
    }
    #[test]
    fn a_number_alone_is_seconds() {
        for (text, expected) in [
            ("3", Some(3_000)),
            ("1.5", Some(1_500)),
            ("3s", Some(3_000)),
            ("250ms", Some(250)),
            ("", None),
            (".", None),
            ("-3", None),
            ("3h", None),
        ] {
            assert_eq!(parse_seconds(text).ok(), expected.map(Duration::from_millis), "{text}");
        }
    }
}
