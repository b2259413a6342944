//! The command line: what can be asked, and the words that explain it. Help, man page and completions come from here.

mod audit;
mod client;
mod db;
mod diff;
mod doctor;
#[cfg(test)]
mod documented;
mod live;
mod model;
mod proxy;
mod replay;
mod verify;
mod which;
mod wrap;

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;
use tap_session::Rule;

use crate::reference::Reference;

pub(crate) use self::audit::Audit;
pub(crate) use self::client::{Asking, Bridge, Call, Lock, Route, Server, Servers, Tools};
pub(crate) use self::db::{Db, DbCommand, Prune};
pub(crate) use self::diff::{Comparing, Diff, DiffFormat};
pub(crate) use self::doctor::Doctor;
pub(crate) use self::live::{Break, Debugging, Held, Hold, Inject, Release, Taps};
pub(crate) use self::model::{Ask, ModelOptions};
pub(crate) use self::proxy::{Credentials, Proxy, parse_url};
pub(crate) use self::replay::{
    Clock, Dials, Order, RecordMode, Repeat, Replay, ReplayMissing, Replies, Unanswered, Unmatched,
};
pub(crate) use self::verify::{Review, Update, Verify};
pub(crate) use self::which::Which;
pub(crate) use self::wrap::{Chosen, Unwrap, Wrap};

/// Record, inspect and replay what an MCP host and its server say to each other.
#[derive(Debug, Parser)]
#[command(
    name = "mcp-tap",
    version,
    about = "See what an MCP host and its server say to each other",
    long_about = "See what an MCP host and its server say to each other.\n\n\
        `mcp-tap wrap` puts it in front of servers in your hosts' configurations; by hand that is `mcp-tap run --` in front of \
        a server's command. Nothing changes for either \
        side, and every byte is recorded. Then look: `mcp-tap ls`, `mcp-tap log`, `mcp-tap show last:7`.",
    after_help = "Start with `mcp-tap demo`. Sessions are named last, last.2, NAME, NAME.2, or by the start of their id.",
    disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// What every command understands.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// The database [default: $XDG_DATA_HOME/mcp-tap/tap.db]
    #[arg(long, global = true, value_name = "PATH", env = "MCP_TAP_DB", value_hint = ValueHint::FilePath, hide_env_values = true)]
    pub(crate) db: Option<PathBuf>,
    /// Colours: also off with NO_COLOR, and where output is not a terminal
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto", hide_default_value = true)]
    pub(crate) color: When,
    /// Do not show long output through $PAGER on a terminal
    #[arg(long, global = true)]
    pub(crate) no_pager: bool,
    /// The configuration [default: $XDG_CONFIG_HOME/mcp-tap/config.toml]
    #[arg(long, global = true, value_name = "PATH", env = "MCP_TAP_CONFIG", value_hint = ValueHint::FilePath, hide_env_values = true, hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// Write no talk on stderr, only errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

impl Global {
    /// The database that was named. An empty name is none: it is what an unset variable of a shell script becomes.
    pub(crate) fn database(&self) -> Option<PathBuf> {
        self.db.clone().filter(|path| !path.as_os_str().is_empty())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Tap a stdio server: start it, relay every byte, record everything
    ///
    /// For both sides it is as if the tap were not there: bytes, order, end of input, signals, exit code. If recording
    /// fails, traffic goes on and one line on stderr says so. MCP_TAP_OFF=1 in the environment makes `run` replace itself
    /// by the server.
    Run(Run),
    /// Tap an HTTP server: a proxy that passes everything on and records it
    ///
    /// Prints the address to put into the host's configuration in place of the server's. Bodies go on as they come, and
    /// nothing is changed that need not be. Ends with Ctrl-C.
    Proxy(Box<Proxy>),
    /// Put the tap before servers, in the configurations of hosts
    ///
    /// Claude Desktop, Claude Code, Cursor, VS Code, Windsurf, Codex, Gemini CLI, opencode, Zed, Cline, Continue, Goose and LM
    /// Studio. Comments, order and formatting stay, and `unwrap` gives back every byte. Without a server and without --all it
    /// shows what was found. Exit code 1: something could not be wrapped, or with --list: the tap before a server is not there.
    Wrap(Wrap),
    /// Take the tap out of the configurations of hosts again
    ///
    /// What `wrap` did is undone to the byte; a tap that was written by hand is taken out as well. Exit code 1: something could
    /// not be unwrapped.
    Unwrap(Unwrap),
    /// Play a recording as a server, on stdio or HTTP
    ///
    /// Use it as the server's command in any host or test. The same recording and the same messages of the client give the
    /// same bytes, on every run. A request that nothing recorded matches gets an error that says what is near, and so does
    /// stderr. Exit code 1 with --strict: something was missing, or left over.
    Replay(Box<Replay>),
    /// Play a recording as a client to a real server, and say what has changed
    ///
    /// The recorded requests are sent as they were, and the answers held against the recorded ones. Changes of tools, prompts
    /// and resources are told by themselves, with whom they break. Exit code 1: something differs.
    Verify(Box<Verify>),
    /// Accept or reject what verify found
    ///
    /// `verify` writes what a server answers now beside a recording, as FILE.mcprec.new. For each of them the difference is
    /// shown: a accepts it, which replaces the recording, r rejects it, which removes it, s leaves it; A and R do so with all
    /// that are left.
    Review(Review),
    /// List what a server offers: tools, prompts, resources, templates
    ///
    /// All pages of each list. The server is started, or reached over HTTP, spoken to as a client does, in the newest
    /// revision that it speaks, and ended. With --config, all servers in that file, side by side; one that fails is told, and
    /// the others are listed. What passes is recorded. Exit code 2: a server could not be asked.
    Tools(Box<Tools>),
    /// Call one tool of a server
    ///
    /// Arguments are typed by the tool's schema and checked by it before they are sent. Text is printed as it is; of an image
    /// or a sound its size and type, and -o writes it to a file. Where no server is named, it is the one of the newest
    /// recorded session. What passes is recorded. Exit code 1: the tool says that it failed; 2: it could not be called.
    Call(Box<Call>),
    /// Be one server that offers the tools of many
    ///
    /// Use it as the server's command in any host. The servers are those in the file that --config names, as a host's
    /// configuration has them. Tools and prompts are called SERVER__NAME; resources keep their addresses. A server that fails
    /// stops no other, and is started again. Either side may speak either era of the protocol. What passes is recorded, the
    /// host's side and each server's as sessions of their own.
    Route(Box<Route>),
    /// Print the calls that `route` made: which, of what, who allowed them, what came back
    ///
    /// The newest come last. A call that a rule or a person refused is noted as well. The audit stays when sessions are deleted;
    /// `db prune --older-than` shortens it.
    Audit(Audit),
    /// Print the tools of servers in the format of a model's interface
    ///
    /// Named, chosen and described as `route` would hand them over. What an interface does not take of a schema is said in
    /// another way that accepts the same, or left out, which is told on stderr. Exit code 2: a server could not be asked, or a
    /// tool had to be left out.
    Bridge(Bridge),
    /// Hold fast in a file what servers offer, or check that they still offer that
    ///
    /// The file has the tools, prompts, resources and templates as the servers wrote them, to be looked through and kept with
    /// the code. `route --lock FILE` then offers those tools alone, and none that was changed. Exit code 1 with --check:
    /// something is not as it was.
    Lock(Box<Lock>),
    /// Look at sessions in a terminal: what was called, what came back, what was true at any moment
    ///
    /// `?` shows the keys. Without a session it begins with the list of all. On a terminal, `mcp-tap` alone is this too.
    Inspect(Inspect),
    /// List sessions, the newest first
    Ls(List),
    /// List the calls of a session, one a line
    ///
    /// A line has the number, the time, the direction, the method and what it is about, what became of it, how long it
    /// took, and how large it was with its answer. Lines that are no messages, and gaps in the recording, stand among
    /// them. Exit code 1: there is nothing to list.
    Log(Log),
    /// Show one message or call whole
    ///
    /// Of a request the answer is shown too. JSON is broken into lines; nothing else about it changes, neither the
    /// spelling of numbers nor the order of keys. `--form raw` gives the exact bytes of the one message.
    Show(Show),
    /// Judge sessions by the rules of the protocol
    ///
    /// Follows each session from its first message, in whatever revision it speaks, and says which rules were broken, by
    /// whom, which messages show it, and what to do. Exit code 1: something at or above the level was found.
    Check(Check),
    /// Tell what a rule means, with an example of wrong and of right
    Explain(Explain),
    /// Compare two sessions call by call, and what their servers offer
    ///
    /// Calls find each other by what is asked, not by number; answers are compared as JSON. Changes of tools, prompts and
    /// resources say whom they break. Exit code 1 with --exit-code: something differs.
    Diff(Box<Diff>),
    /// Count calls: how many, how slow, how large, how many failed
    ///
    /// A tool that says `isError` and a protocol that says an error are counted apart. A call that takes several rounds
    /// of input is one call.
    Stats(Stats),
    /// Show what was true after a message
    ///
    /// Who talks, what was agreed, what was listed, what was in flight. Exact for any message of a session.
    State(State),
    /// List the taps that run, and what is held there
    Taps(Taps),
    /// Hold messages of live taps, change them, or list and remove what holds them
    ///
    /// A message that fits is held: `mcp-tap held` lists it, `mcp-tap release` says what becomes of it, and after the tap's
    /// --hold-timeout it goes on unchanged. Other calls go on meanwhile. Without a filter: what is set.
    Break(Break),
    /// List messages that are held, or print one
    ///
    /// Exit code 1: nothing is held.
    Held(Held),
    /// Let a held message go on: as it is, changed, answered in the server's place, or not at all
    ///
    /// A changed message is checked before it goes: JSON, the same id and method, and arguments that fit the tool's schema.
    /// Only the tokens that differ are other bytes than before.
    Release(Release),
    /// Send a message into a live session, and print the answer
    ///
    /// The other side sees neither the message nor the answer. Its id is one that neither side can have used. A tool is called
    /// more easily with `mcp-tap call --into`.
    Inject(Inject),
    /// Write a session to a file: a recording without loss, a fixture, or a report
    ///
    /// A file that ends in .mcprec is a fixture for tests: no clock, nothing of this machine, folded so that a change of it
    /// reads well. With --lossless, and in a file that ends in .jsonl, nothing is left out and nothing is replaced: what was
    /// secret on the wire is in the file. Reports (.md, .html), tables of calls (.csv) and archives of HTTP (.har) have no secrets
    /// that were found, unless --no-redact is given.
    Export(Export),
    /// Replace secrets in text recordings, or check that there are none
    ///
    /// Files are written anew in place. What was found is told by file, line and place, never by itself. Secrets are what looks
    /// like one: tokens of well-known services, values of names such as password, home folders.
    Redact(Redact),
    /// Read text recordings into the database
    Import(Import),
    /// Watch a bundled host and server talk through the tap, and see what was recorded
    Demo,
    /// Find out why a server does not show up, by trying it as its host would
    ///
    /// Looks for its command on the host's PATH, starts it with what hosts give to servers and nothing else, says hello in either
    /// era, and where that fails tries again with one thing changed, until it is known what is missing. Each problem comes with what
    /// to do. Nothing is recorded. Exit code 1: there is a problem.
    Doctor(Doctor),
    /// Where the database is, what is in it; delete old sessions, copy it, take over others
    Db(Db),
    /// What is configured, and where each value came from
    ///
    /// `config.toml` has `theme`, `mouse`, `[keys]` (what it is called in the inspector's help = keys), `[colours]` (a meaning = a
    /// style) and `[record]` (`max_age`, `max_size`). Exit code 1 when something in it is wrong.
    Config(Config),
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the man page
    Man,
    /// Ask a model one question, without tools: to see whether it can be reached
    ///
    /// Nothing is recorded. Exit code 1: the model stopped before its end, or refused; 2: there is no answer.
    #[command(hide = true)]
    Ask(Box<Ask>),
    /// The server of `mcp-tap demo`
    #[command(hide = true)]
    DemoServer,
}

/// Options of `run`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  \
        mcp-tap run -- npx -y @modelcontextprotocol/server-everything\n  \
        mcp-tap run --name fs -- npx -y @modelcontextprotocol/server-filesystem ~/src\n  \
        mcp-tap run --http 127.0.0.1:7000 -- python server.py\n  \
        mcp-tap run --break 'tool:delete_*' --hold-timeout 2m -- python server.py\n  \
        mcp-tap run --fault 'tool:search_* every:5 -> error:-32603' -- python server.py\n  \
        {\"command\":\"mcp-tap\",\"args\":[\"run\",\"--\",\"python\",\"server.py\"]}      in a host's configuration",
    override_usage = "mcp-tap run [OPTIONS] [--] COMMAND [ARGUMENTS]..."
)]
pub(crate) struct Run {
    /// What to call the server [default: made from its command]
    #[arg(long, value_name = "NAME", env = "MCP_TAP_NAME", hide_env_values = true)]
    pub(crate) name: Option<String>,
    /// What stood in the host's configuration: written by `wrap`, for `unwrap`
    #[arg(long, value_name = "WHAT", hide = true)]
    pub(crate) was: Option<String>,
    /// The server's command and its arguments; nothing after COMMAND is taken for an option of ours
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND", value_hint = ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    // Behind the command, which would stand under its heading otherwise.
    #[command(flatten)]
    pub(crate) http: HttpSide,
    #[command(flatten)]
    pub(crate) debugging: Debugging,
}

/// Options of `run` where hosts talk HTTP.
#[derive(Debug, Args)]
#[command(next_help_heading = "Serving a stdio server over HTTP")]
pub(crate) struct HttpSide {
    /// Serve the command over HTTP at this address; port 0 is a free one
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// Where MCP is at that address
    #[arg(long, value_name = "PATH", default_value = "/mcp", requires = "http")]
    pub(crate) path: String,
    /// End a session that nobody used for so many minutes
    #[arg(long, value_name = "MINUTES", default_value_t = 60, requires = "http")]
    pub(crate) idle: u64,
    /// At most so many sessions, each with a server process of its own
    #[arg(long, value_name = "N", default_value_t = 100, requires = "http")]
    pub(crate) sessions: usize,
    /// Refuse bodies of more than so many MiB
    #[arg(long, value_name = "MIB", default_value_t = 256, requires = "http")]
    pub(crate) body_limit: usize,
    /// Also take requests of pages of this site, such as https://app.example.com
    #[arg(long, value_name = "ORIGIN", requires = "http")]
    pub(crate) allow_origin: Vec<String>,
    /// Also take requests to this host name, when it is reached by another than localhost
    #[arg(long, value_name = "HOST", requires = "http")]
    pub(crate) allow_host: Vec<String>,
}

impl HttpSide {
    /// Hosts talk stdio.
    pub(crate) fn none() -> Self {
        let nothing = Vec::new;
        let path = "/mcp".into();
        Self {
            http: None,
            path,
            idle: 60,
            sessions: 100,
            body_limit: 256,
            allow_origin: nothing(),
            allow_host: nothing(),
        }
    }
}

/// Options of `inspect`.
#[derive(Debug, Default, Args)]
#[command(after_long_help = "Examples:\n  mcp-tap inspect\n  mcp-tap inspect last\n  mcp-tap inspect bug.jsonl")]
pub(crate) struct Inspect {
    /// The session to begin with: last, github.2, 7f3a, x.jsonl
    #[arg(value_name = "REF")]
    pub(crate) session: Option<Reference>,
    /// Colours: terminal, blue-and-orange, plain
    #[arg(long, value_name = "NAME")]
    pub(crate) theme: Option<String>,
    /// Leave the mouse to the terminal, so that it selects text
    #[arg(long)]
    pub(crate) no_mouse: bool,
}

/// Options of `ls`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap ls\n  mcp-tap ls -n 5\n  mcp-tap ls --json | jq -r 'select(.errors > 0) | .reference'"
)]
pub(crate) struct List {
    /// At most so many sessions
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `log`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap log\n  mcp-tap log -s github.2 --frames -n 50\n  mcp-tap log -s last:100.. -n 20\n  mcp-tap log -f --json | jq .method\n  mcp-tap log 'tool:search_* is:error'\n  mcp-tap log --frames 'latency>1s or size>64k'\n  mcp-tap log --all '\"no such file\" tool:read_*'"
)]
pub(crate) struct Log {
    /// Only what fits: words, field:value, is:error, arg.path:/etc/*, and, or, not; the documentation has all of it
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// The session, or a part of it: last, github.2, 7f3a, x.jsonl, last:10..40
    #[arg(short, long, value_name = "REF", default_value = "last", hide_default_value = true)]
    pub(crate) session: Reference,
    /// All sessions, the newest first: which messages fit, with the place
    #[arg(short, long, conflicts_with_all = ["session", "follow", "frames", "calls"])]
    pub(crate) all: bool,
    /// Every frame, not only calls: notifications, answers, stderr, noise
    #[arg(long, conflicts_with = "calls")]
    pub(crate) frames: bool,
    /// Calls (this is the default)
    #[arg(long)]
    pub(crate) calls: bool,
    /// Only the last N; the first N with a range that has a beginning
    #[arg(short = 'n', long, value_name = "N")]
    pub(crate) limit: Option<u64>,
    /// Go on with what comes, until the session ends
    #[arg(short, long)]
    pub(crate) follow: bool,
    /// One JSON object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `show`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap show last:7\n  mcp-tap show github.2:42 --form raw | sha256sum\n  mcp-tap show last:7 --json | jq .answer.message.result"
)]
pub(crate) struct Show {
    /// The message: last:7, github.2:42
    #[arg(value_name = "REF:N")]
    pub(crate) message: Reference,
    /// How: pretty, raw (the exact bytes of that one message), hex, http (its exchange, much as it was on the wire)
    #[arg(long, value_name = "FORM", default_value = "pretty", conflicts_with = "json")]
    pub(crate) form: Form,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Form {
    Pretty,
    Raw,
    Hex,
    Http,
}

/// Options of `check`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap check\n  mcp-tap check github recordings/a.jsonl --level warning\n  mcp-tap check recordings/a.jsonl -o findings.sarif --allow TOL-003\n  mcp-tap check github tool:delete_*"
)]
pub(crate) struct Check {
    #[command(flatten)]
    pub(crate) which: Which,
    /// From which severity on findings are shown, and make the exit code 1
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    pub(crate) level: Level,
    /// Take this rule for an error; may be given several times
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    pub(crate) deny: Vec<&'static Rule>,
    /// Leave this rule out; may be given several times
    #[arg(long, value_name = "RULE", value_parser = parse_rule)]
    pub(crate) allow: Vec<&'static Rule>,
    /// How to write it [default: by FILE's name (.sarif, .xml, .json, .jsonl); github where GITHUB_ACTIONS is set; text]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<CheckFormat>,
    /// One JSON object a finding and line; the same as --format json
    #[arg(long)]
    pub(crate) json: bool,
    /// As text: at most so many messages a rule
    #[arg(short = 'n', long, value_name = "N", default_value = "5")]
    pub(crate) limit: usize,
    /// Write to this file; it appears whole or not at all [default: stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Error,
    #[value(alias = "warn")]
    Warning,
    #[value(alias = "info")]
    Note,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum CheckFormat {
    Text,
    Json,
    /// JUnit's XML, for test reports
    Junit,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub's workflows
    Github,
}

/// Options of `explain`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap explain RPC-006\n  mcp-tap explain unknown-response-id\n  mcp-tap explain | grep task"
)]
pub(crate) struct Explain {
    /// The rule's id or name; without one, all rules are listed
    #[arg(value_name = "RULE", value_parser = parse_rule)]
    pub(crate) rule: Option<&'static Rule>,
    /// All rules as the page of the documentation
    #[arg(long, hide = true, conflicts_with = "rule")]
    pub(crate) markdown: bool,
}

/// Finds a rule by its id or name, and says which one may be meant when there is none.
fn parse_rule(name: &str) -> Result<&'static Rule, String> {
    let names = || tap_session::rules().flat_map(|rule| [rule.id, rule.name]);
    tap_session::rule(name).ok_or_else(|| {
        let difference = |known: &&str| strsim::damerau_levenshtein(&name.to_lowercase(), &known.to_lowercase());
        let near = names().min_by_key(difference).unwrap_or_default();
        format!("there is no such rule; did you mean {near}? `mcp-tap explain` lists them")
    })
}

/// Options of `stats`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap stats\n  mcp-tap stats github --by method\n  mcp-tap stats --all --by client\n  mcp-tap stats github 'tool:search_* latency>1s'\n  mcp-tap stats github github.2 --json | jq -r 'select(.p99_ns > 1e9) | .what'"
)]
pub(crate) struct Stats {
    #[command(flatten)]
    pub(crate) which: Which,
    /// What is counted together
    #[arg(long, value_name = "WHAT", default_value = "tool")]
    pub(crate) by: GroupBy,
    /// How to write it
    #[arg(long, value_name = "FORMAT", default_value = "text", conflicts_with = "json")]
    pub(crate) format: StatsFormat,
    /// One JSON object a line; the same as --format json
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StatsFormat {
    Text,
    Json,
    /// A table for spreadsheets, with the names that JSON has
    Csv,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum GroupBy {
    /// Calls of one tool, prompt or resource
    Tool,
    Method,
    /// Calls of one session; over HTTP of one session of MCP
    Session,
    /// Calls of one client, by the name and version that it gave
    Client,
    /// Calls that began in one hour of the clock
    Hour,
    /// Calls that failed with the same words, but for names, numbers and paths in them
    Error,
}

/// Options of `state`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap state last:30\n  mcp-tap state last:30 --diff\n  mcp-tap state github.2:12 --diff 40"
)]
pub(crate) struct State {
    /// The message: last:7, github.2:42; without a number, the newest one
    #[arg(value_name = "REF:N")]
    pub(crate) message: Reference,
    /// What this message changed; with a number, what changed from it to that one
    #[arg(long, value_name = "N", num_args = 0..=1)]
    pub(crate) diff: Option<Option<u64>>,
    /// One JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Options of `export`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap export last -o recordings/weather.mcprec\n  mcp-tap export github.2:..60 -o start.jsonl\n  mcp-tap export last | grep tools/call\n  mcp-tap export last 'tool:find is:error' -o find.mcprec"
)]
pub(crate) struct Export {
    /// The session, or a part of it
    #[arg(value_name = "REF")]
    pub(crate) session: Reference,
    /// Only what fits, and of a call both its request and its answer
    #[arg(value_name = "FILTER")]
    pub(crate) filter: Vec<String>,
    /// The file, ending in .mcprec (a fixture, folded), .jsonl (lossless, a record a line), .md or .html (a report), .csv (calls) or
    /// .har (exchanges over HTTP) [default: .jsonl on stdout]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) output: Option<PathBuf>,
    /// Everything as it was: clocks, stderr, secrets
    #[arg(long, conflicts_with_all = ["fixture", "stderr"])]
    pub(crate) lossless: bool,
    /// A fixture also in a file that ends in .jsonl, and on stdout
    #[arg(long)]
    pub(crate) fixture: bool,
    /// Keep the server's stderr in a fixture
    #[arg(long)]
    pub(crate) stderr: bool,
    #[command(flatten)]
    pub(crate) redact: Redacting,
    /// Replace no secrets in a fixture or a report
    #[arg(long, conflicts_with = "rules")]
    pub(crate) no_redact: bool,
    /// Fold records that are wider; 0 folds none [default: 100 in .mcprec, else 0]
    #[arg(long, value_name = "COLUMNS")]
    pub(crate) fold: Option<usize>,
}

/// What is replaced beside what looks like a secret.
#[derive(Debug, Args)]
pub(crate) struct Redacting {
    /// Also replace what this names: key:NAME, path:PATH (as in path:arg.user.email) or re:PATTERN. May be given again
    #[arg(id = "rules", long = "redact", value_name = "RULE")]
    pub(crate) rules: Vec<tap_redact::Rule>,
}

/// Options of `redact`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap redact --check recordings/*.mcprec\n  mcp-tap redact --redact key:email weather.mcprec\n  mcp-tap redact --redact 're:cust-[0-9]+' bug.jsonl"
)]
pub(crate) struct Redact {
    /// Text recordings
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// Change nothing; say where something looks like a secret, and exit with 1 if anything does
    #[arg(long)]
    pub(crate) check: bool,
    #[command(flatten)]
    pub(crate) redact: Redacting,
    /// Fold records that are wider; 0 folds none [default: 100 in .mcprec, else 0]
    #[arg(long, value_name = "COLUMNS", conflicts_with = "check")]
    pub(crate) fold: Option<usize>,
}

/// Options of `import`.
#[derive(Debug, Args)]
#[command(
    after_long_help = "Examples:\n  mcp-tap import bug.jsonl\n  mcp-tap import recordings/*.mcprec\n  mcp-tap import --db other.db bug.jsonl"
)]
pub(crate) struct Import {
    /// Files that `mcp-tap export` wrote
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
}

/// Options of `config`.
#[derive(Debug, Args)]
pub(crate) struct Config {
    #[command(subcommand)]
    pub(crate) what: ConfigCommand,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print all values, and where each came from
    Show,
    /// Print the path of the file
    Path,
}
