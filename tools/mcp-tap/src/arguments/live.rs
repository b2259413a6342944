//! What can be asked of live taps: `taps`, `break`, `held`, `release`, `inject`; and what `run` and `proxy` begin with.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use tap_control::read_duration;

/// What `run` and `proxy` hold, changes and makes fail.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Holding messages, and making things fail")]
pub(crate) struct Debugging {
    /// Hold messages that fit this filter (`mcp-tap held` lists them); may be given several times
    #[arg(long = "break", value_name = "FILTER")]
    pub(crate) break_at: Vec<String>,
    /// What happens at --break, in place of holding: log:TEXT, delay:2s, drop, error:CODE:TEXT, set:arg.x=1, unset:arg.x
    #[arg(long = "do", value_name = "ACTION", requires = "break_at")]
    pub(crate) action: Option<String>,
    /// After how long a held message goes on unchanged; `never` to keep it
    #[arg(long, value_name = "TIME", default_value = "50s", value_parser = parse_limit)]
    pub(crate) hold_timeout: HoldLimit,
    /// What else a held message holds: nothing but what belongs to the same call, or all of its direction
    #[arg(long, value_name = "WHAT", default_value = "message")]
    pub(crate) hold: Hold,
    /// Make something fail: FILTER [every:5|after:3|p:0.1|for:10s|once] -> delay:2s, error:CODE, drop, …; several times
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// The same from a file, one a line
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) fault_file: Vec<PathBuf>,
    /// What chance begins with, for faults with a probability: the same seed gives the same faults
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Listen at no control socket: nothing can be held or put in from outside
    #[arg(long)]
    pub(crate) no_control: bool,
}

/// After how long a held message goes on, nanoseconds; `None` for never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HoldLimit(pub(crate) Option<u64>);

impl Default for HoldLimit {
    fn default() -> Self {
        Self(tap_control::Options::default().hold_limit_ns)
    }
}

fn parse_limit(text: &str) -> Result<HoldLimit, String> {
    match text {
        "never" => Ok(HoldLimit(None)),
        _ => read_duration(text).map(|ns| HoldLimit(Some(ns))).ok_or_else(|| "write 50s, 2m, or never".into()),
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hold {
    #[default]
    Message,
    Stream,
}

/// Which of the taps that run.
#[derive(Debug, Args)]
pub(crate) struct On {
    /// The tap: its name, the start of its session's id, or its process id [default: all that run]
    #[arg(long, value_name = "NAME")]
    pub(crate) on: Option<String>,
}

/// Options of `taps`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  mcp-tap taps\n  mcp-tap taps --json | jq -r .name")]
pub(crate) struct Taps {
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `break`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap break 'tool:delete_* is:request'\n  \
        mcp-tap break tool:query --on postgres --do 'set arg.dry_run=true'\n  \
        mcp-tap break is:error --do log\n  \
        mcp-tap break 'method:tools/call is:response' --once\n  \
        mcp-tap break                   list them\n  \
        mcp-tap break rm 2              remove one\n  \
        mcp-tap break off               remove all, and let go what they hold")]
pub(crate) struct Break {
    /// Which messages, as for `log`, perhaps with what happens behind `->`; or `rm N`, or `off`
    #[arg(value_name = "FILTER")]
    pub(crate) words: Vec<String>,
    #[command(flatten)]
    pub(crate) on: On,
    /// What happens to them: hold, log:TEXT, delay:2s, drop, error:CODE:TEXT, set:arg.x=1, unset:arg.x
    #[arg(long = "do", value_name = "ACTION", default_value = "hold")]
    pub(crate) action: String,
    /// Only the next one
    #[arg(long, conflicts_with_all = ["every"])]
    pub(crate) once: bool,
    /// Not the next N
    #[arg(long, value_name = "N")]
    pub(crate) skip: Option<u64>,
    /// Every Nth
    #[arg(long, value_name = "N")]
    pub(crate) every: Option<u64>,
    /// What else a held message holds: nothing but what belongs to the same call, or all of its direction
    #[arg(long, value_name = "WHAT", default_value = "message")]
    pub(crate) hold: Hold,
    /// Hold only while an inspector has the session open
    #[arg(long)]
    pub(crate) while_attached: bool,
    /// One JSON object a line, of the list
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `held`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap held\n  mcp-tap held 3 > message.json\n  mcp-tap held --json | jq .number"
)]
pub(crate) struct Held {
    /// Print this message whole, as it would go on
    #[arg(value_name = "NUMBER")]
    pub(crate) number: Option<u64>,
    #[command(flatten)]
    pub(crate) on: On,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `release`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap release 3                        as it is\n  \
        mcp-tap release 3 --edit                 with $EDITOR\n  \
        mcp-tap release 3 --edited message.json\n  \
        mcp-tap release 3 --answer answer.json   in the server's place\n  \
        mcp-tap release 3 --error -32000:refused\n  \
        mcp-tap release all\n  \
        mcp-tap release step                     the oldest, and hold what comes next\n  \
        mcp-tap release to 'tool:query'          all, and hold the next that fits")]
#[command(group(clap::ArgGroup::new("how").multiple(false)))]
pub(crate) struct Release {
    /// The number under which it is held (`mcp-tap held`); `all`, `step`, or `to FILTER`
    #[arg(value_name = "NUMBER|all|step|to FILTER", required = true)]
    pub(crate) which: Vec<String>,
    #[command(flatten)]
    pub(crate) on: On,
    /// As it came, without what a rule has changed
    #[arg(long, group = "how")]
    pub(crate) original: bool,
    /// As it is in this file; - is stdin. Only what differs from the message changes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "how")]
    pub(crate) edited: Option<PathBuf>,
    /// Open it in $VISUAL or $EDITOR first
    #[arg(long, group = "how")]
    pub(crate) edit: bool,
    /// Not at all: whoever sent it gets no answer from us
    #[arg(long, group = "how")]
    pub(crate) drop: bool,
    /// Answer it in the other side's place with this file: a whole answer, or what is to be in `result`
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, group = "how")]
    pub(crate) answer: Option<PathBuf>,
    /// Answer it with an error
    #[arg(long, value_name = "CODE[:TEXT]", allow_hyphen_values = true, group = "how")]
    pub(crate) error: Option<String>,
    /// Later
    #[arg(long, value_name = "TIME", group = "how")]
    pub(crate) delay: Option<String>,
    /// Send it whatever is wrong with it
    #[arg(long)]
    pub(crate) force: bool,
}

/// Options of `inject`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap inject '{\"method\":\"tools/list\"}'\n  \
        mcp-tap inject '{\"method\":\"notifications/tools/list_changed\"}' --to client --notify\n  \
        mcp-tap inject request.json --on postgres --timeout 5s")]
pub(crate) struct Inject {
    /// The message: JSON, or a file with it, or - for stdin; what is missing of `jsonrpc` and `id` is added
    #[arg(value_name = "MESSAGE", required = true)]
    pub(crate) message: Vec<String>,
    /// To whom
    #[arg(long, value_name = "SIDE", default_value = "server")]
    pub(crate) to: To,
    /// It is a notification, or an answer with the id that it has: no answer is waited for
    #[arg(long)]
    pub(crate) notify: bool,
    /// How long the answer may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_time)]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) on: On,
}

/// A span of time, nanoseconds.
fn parse_time(text: &str) -> Result<u64, String> {
    // A number alone is one of seconds, as with other commands.
    let seconds = || read_duration(&format!("{text}s"));
    read_duration(text).or_else(seconds).ok_or_else(|| "write 5s, 250ms, 2m".into())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum To {
    Server,
    Client,
}

impl To {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}
