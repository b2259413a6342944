//! What can be asked where we are the client: `tools`, `call`, `route`, `bridge`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};
use http::Uri;

use super::proxy::parse_url;
use super::replay::parse_seconds;
use crate::reference::Reference;

/// The levels of log messages, from the least.
const LEVELS: [&str; 8] = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/// Which server is meant.
#[derive(Debug, Default, Args)]
pub(crate) struct Server {
    /// The server's address, where it is one over HTTP
    #[arg(long, value_name = "URL", value_hint = ValueHint::Url, value_parser = parse_url, conflicts_with = "command")]
    pub(crate) url: Option<Uri>,
    /// Of the servers in the file that --config names, this one
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "command"])]
    pub(crate) server: Option<String>,
    /// The server of this recorded session, started as it was then [default: last, where no other server is named]
    #[arg(long, value_name = "REF", conflicts_with_all = ["url", "command", "server"])]
    pub(crate) session: Option<Reference>,
    /// The server's command and its arguments
    #[arg(last = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    /// What to call the session that is recorded [default: made from the server's command or address]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Record nothing
    #[arg(long, conflicts_with = "name")]
    pub(crate) no_record: bool,
    /// How long an answer may take
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_seconds)]
    pub(crate) timeout: Duration,
    /// With --url: send the token in this environment variable as `Authorization: Bearer`
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    pub(crate) bearer_env: Option<String>,
    /// With --url: send this header; ${VARIABLE} stands for a variable of the environment
    #[arg(long, value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// With --url: trust the certificates in this file (PEM) beside the system's; may be given several times
    #[arg(long, value_name = "FILE", requires = "url", value_hint = ValueHint::FilePath)]
    pub(crate) cacert: Vec<PathBuf>,
    /// Speak this revision alone, such as 2025-06-18 [default: the newest that the server speaks]
    #[arg(long, value_name = "REVISION", value_parser = parse_revision)]
    pub(crate) revision: Option<tap_protocol::Revision>,
}

fn parse_revision(text: &str) -> Result<tap_protocol::Revision, String> {
    tap_protocol::Revision::from_text(text).ok_or_else(|| {
        let known: Vec<&str> = tap_protocol::Revision::ALL.iter().map(|revision| revision.as_str()).collect();
        format!("known are {}", known.join(", "))
    })
}

/// Options of `tools`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap tools -- python server.py\n  \
        mcp-tap tools --url https://example.com/mcp --bearer-env TOKEN\n  \
        mcp-tap tools --config mcp.json\n  \
        mcp-tap tools --json -- python server.py | jq -r '.tools[].name'",
    override_usage = "mcp-tap tools [OPTIONS] -- COMMAND...\n       mcp-tap tools [OPTIONS] --url URL\n       mcp-tap tools [OPTIONS] --config FILE"
)]
pub(crate) struct Tools {
    #[command(flatten)]
    pub(crate) server: Server,
    /// One JSON object a line for each server, with everything as the server wrote it
    #[arg(long)]
    pub(crate) json: bool,
    /// Whole descriptions and schemas
    #[arg(short, long, conflicts_with = "json")]
    pub(crate) verbose: bool,
}

/// Options of `call`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap call add a=2 b=3 -- python server.py\n  \
        mcp-tap call search query=rust 'filter:={\"year\":2024}' --url https://example.com/mcp\n  \
        mcp-tap call report '{\"city\":\"Bern\"}'      on the server of the newest session\n  \
        mcp-tap call add a=2 b=3 --into last           in a session that a tap is part of now\n  \
        mcp-tap call screenshot -o page.png -- npx -y some-server\n  \
        echo '{\"a\":2,\"b\":3}' | mcp-tap call add --json-args - -- python server.py",
    override_usage = "mcp-tap call [OPTIONS] TOOL [NAME=VALUE|NAME:=JSON|JSON]... -- COMMAND...\n       mcp-tap call [OPTIONS] TOOL [NAME=VALUE|NAME:=JSON|JSON]... --url URL"
)]
pub(crate) struct Call {
    /// The tool
    #[arg(value_name = "TOOL", required_unless_present = "command")]
    pub(crate) tool: Option<String>,
    /// Its arguments: name=value, typed by the tool's schema; name:=JSON; or all of them as one JSON object
    #[arg(value_name = "NAME=VALUE|NAME:=JSON|JSON")]
    pub(crate) arguments: Vec<String>,
    /// The arguments as one JSON object in this file; - is stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) json_args: Option<PathBuf>,
    /// Send the arguments even where they do not fit the tool's schema, and call a tool that is not listed
    #[arg(long)]
    pub(crate) no_check: bool,
    /// Write what comes back that is no text (an image, a sound, a file) to this file; of several the others get a number
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// The result as the server wrote it, on one line
    #[arg(long)]
    pub(crate) json: bool,
    /// Answer the server's forms with this: name=value or name:=JSON; may be given several times. Without one, they are
    /// asked on the terminal, if there is one
    #[arg(long, value_name = "NAME=VALUE")]
    pub(crate) answer: Vec<String>,
    /// A folder that the server may use, where it asks for roots; may be given several times
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) root: Vec<PathBuf>,
    /// Ask for log messages from this level on, and show them on stderr
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS)]
    pub(crate) log_level: Option<String>,
    /// Call it in a session that is live, in the name of its client, which sees nothing of it: the tap's name, or last
    #[arg(long, value_name = "NAME", conflicts_with_all = ["url", "server", "session", "command", "name", "no_record", "bearer_env", "revision", "answer", "root", "log_level"])]
    pub(crate) into: Option<String>,
    #[command(flatten)]
    pub(crate) server: Server,
}

impl Call {
    /// The level as the protocol's own text.
    pub(crate) fn level(&self) -> Option<&'static str> {
        let level = self.log_level.as_deref()?;
        LEVELS.into_iter().find(|known| *known == level)
    }
}

/// Options of `route`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap route --config mcp.json\n  \
        mcp-tap route --config servers.toml --role reader\n  \
        mcp-tap route --config mcp.json --http 127.0.0.1:7000\n  \
        {\"command\":\"mcp-tap\",\"args\":[\"route\",\"--config\",\"/home/me/mcp.json\"]}      in a host's configuration")]
pub(crate) struct Route {
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// Serve over HTTP at this address in place of stdio, each session with servers of its own; port 0 is a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// What to call the session of the host's side
    #[arg(long, value_name = "NAME", default_value = "route")]
    pub(crate) name: String,
    /// Who is asked about calls for which a rule says so: the host, with a form, or whoever is at the terminal
    #[arg(long, value_name = "WHO", value_enum, default_value = "host")]
    pub(crate) ask: Asking,
    /// Note calls in the audit even with --no-record: for the routers of sessions over HTTP
    #[arg(long, hide = true)]
    pub(crate) audit: bool,
}

/// Who is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Asking {
    Host,
    Terminal,
}

/// Which servers of a configuration, and how they are used.
#[derive(Debug, Args)]
pub(crate) struct Servers {
    /// Use this server of the file alone; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Vec<String>,
    /// Use servers of this role, and those without any; may be given several times
    #[arg(long, value_name = "ROLE")]
    pub(crate) role: Vec<String>,
    /// Offer the tools in this file of `mcp-tap lock` alone, and none that was changed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) lock: Option<PathBuf>,
    /// With --lock: a server that is not in the file is taken as it is when it is first seen, and put into it
    #[arg(long, requires = "lock")]
    pub(crate) trust_first: bool,
    /// Rules about calls in this file, [[rules]] in TOML: which are made, refused, or asked about
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) policy: Option<PathBuf>,
    /// Call tools and prompts as their servers do; of two with the same name the second is left out
    #[arg(long)]
    pub(crate) plain_names: bool,
    /// How long a call may take, where the file does not say so for a server
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_seconds)]
    pub(crate) timeout: Duration,
    /// How long the first list waits for servers that are slow to start; they are added later
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_seconds)]
    pub(crate) startup: Duration,
    /// Record nothing
    #[arg(long)]
    pub(crate) no_record: bool,
}

/// Options of `bridge`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap bridge --config mcp.json --to anthropic > tools.json\n  \
        mcp-tap bridge --config mcp.json --to gemini --server github")]
pub(crate) struct Bridge {
    /// The format: that of chat completions or of responses of OpenAI, of Anthropic's messages, or of Gemini
    #[arg(long, value_name = "FORMAT")]
    pub(crate) to: ModelFormat,
    #[command(flatten)]
    pub(crate) servers: Servers,
}

/// Options of `lock`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap lock --config mcp.json\n  \
        mcp-tap lock --config mcp.json --check      in CI\n  \
        mcp-tap lock -f server.lock -- python server.py",
    override_usage = "mcp-tap lock [OPTIONS] --config FILE\n       mcp-tap lock [OPTIONS] -- COMMAND...\n       mcp-tap lock [OPTIONS] --url URL"
)]
pub(crate) struct Lock {
    #[command(flatten)]
    pub(crate) server: Server,
    /// The file; servers in it that are not asked stay as they are
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath, default_value = "mcp-tap.lock")]
    pub(crate) file: PathBuf,
    /// Write nothing; say what is not as it is in the file. Exit code 1 if anything is
    #[arg(long)]
    pub(crate) check: bool,
    /// With --check: at most so many changes a tool
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    pub(crate) limit: usize,
}

/// The format of a model's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModelFormat {
    Openai,
    OpenaiResponses,
    Anthropic,
    Gemini,
}

impl ModelFormat {
    pub(crate) const fn format(self) -> tap_models::Format {
        match self {
            Self::Openai => tap_models::Format::OpenAiChat,
            Self::OpenaiResponses => tap_models::Format::OpenAiResponses,
            Self::Anthropic => tap_models::Format::Anthropic,
            Self::Gemini => tap_models::Format::Gemini,
        }
    }
}
