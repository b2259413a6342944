//! Options of `agent`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum, ValueHint};

use super::client::Servers;
use super::model::ModelOptions;
use super::replay::parse_seconds;
use crate::reference::Reference;

/// Options of `agent`.
#[derive(Debug, Args)]
#[command(after_long_help = "Examples:\n  \
        mcp-tap agent --config mcp.json --model openai:NAME 'what is the weather in Beijing, and what is 12 + 30?'\n  \
        mcp-tap agent --config mcp.json --model qwen3:8b --base-url http://127.0.0.1:11434/v1 'which files are there?'\n  \
        mcp-tap agent --config mcp.json --model anthropic:NAME     a conversation, on the terminal\n  \
        mcp-tap agent --config mcp.json --script turns.toml --yes 'a test, without a model'\n  \
        mcp-tap agent --replay last                                the newest run again, without model and servers\n  \
        mcp-tap agent --replay run.jsonl --live tools --config mcp.json --yes     do the tools still say the same?\n\n\
        Exit code 0: answered; 1: it failed; 2: it could not begin; 3: a limit was reached; 4: a call was refused, or the model\n\
        refuses; 5: a run that is replayed was different; 130: given up")]
pub(crate) struct Agent {
    /// The question. Without one there is a conversation, line by line; @SERVER:URI stands for a resource
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Option<String>,
    #[command(flatten)]
    pub(crate) model: ModelOptions,
    /// In place of a model: what it is to say, turn by turn, in this file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with = "model")]
    pub(crate) script: Option<PathBuf>,
    /// Run this recorded run again: model and tools from the recording, unless --live says otherwise
    #[arg(long, value_name = "REF")]
    pub(crate) replay: Option<Reference>,
    /// With --replay: one side is the real one, and what it says that it did not say then is told
    #[arg(long, value_name = "SIDE", requires = "replay", value_enum)]
    pub(crate) live: Option<Live>,
    #[command(flatten)]
    pub(crate) servers: Servers,
    /// What to call the session of the run
    #[arg(long, value_name = "NAME", default_value = "agent")]
    pub(crate) name: String,
    /// What the model is told before the question
    #[arg(long, value_name = "TEXT")]
    pub(crate) system: Option<String>,
    /// Make calls that a person would be asked about without asking. What rules refuse stays refused
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Tell the model of a call that was refused, and go on; else that ends the run
    #[arg(long)]
    pub(crate) go_on_refused: bool,
    /// Let servers ask the model (sampling), up to so often in the run; without this a person is asked each time
    #[arg(long, value_name = "N")]
    pub(crate) allow_sampling: Option<u32>,
    /// A folder that servers may use, where they ask for roots; may be given several times
    #[arg(long, value_name = "FOLDER", value_hint = ValueHint::DirPath)]
    pub(crate) root: Vec<PathBuf>,
    /// Ask the model at most so often for one question
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) max_rounds: u32,
    /// Make at most so many calls for one question
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) max_calls: u32,
    /// Spend at most so many tokens in all, as the provider counts them
    #[arg(long, value_name = "N")]
    pub(crate) max_tokens: Option<u64>,
    /// Take at most so long for one question
    #[arg(long, value_name = "TIME", value_parser = parse_seconds)]
    pub(crate) max_time: Option<Duration>,
    /// Spend at most so much in all, by --price-input and --price-output
    #[arg(long, value_name = "COST", requires = "price_input")]
    pub(crate) max_cost: Option<f64>,
    /// How long one answer of the model may be, tokens
    #[arg(long, value_name = "N")]
    pub(crate) max_output: Option<u64>,
    /// One JSON object a line for each thing that happens
    #[arg(long)]
    pub(crate) json: bool,
}

/// Which side of a replayed run is the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Live {
    /// The servers' tools; the model says what it said then
    Tools,
    /// The model; the tools say what they said then
    Model,
}
