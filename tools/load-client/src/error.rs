//! Why a phase has no figures.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Why a phase has no figures.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PhaseError {
    /// The command did not start.
    #[error("cannot start {program}: {source}")]
    Spawn { program: String, source: io::Error },
    /// The file for the command's stderr cannot be written.
    #[error("cannot open {}: {source}", path.display())]
    Stderr { path: PathBuf, source: io::Error },
    /// The watchdog killed the command.
    #[error("killed after {} s, while {doing}", limit.as_secs())]
    TimedOut { limit: Duration, doing: &'static str },
    /// The command closed its stdout with answers still owed.
    #[error("end of the answers, while {doing}")]
    Ended { doing: &'static str },
    /// A pipe failed.
    #[error("{source}, while {doing}")]
    Pipe { doing: &'static str, source: io::Error },
    /// An answer that no MCP server gives.
    #[error("{method} was answered with {answer}")]
    Answer { method: &'static str, answer: String },
    /// A flood broke off.
    #[error("{n_answered} of {n_calls} calls were answered; then: {source}")]
    Flood { n_answered: usize, n_calls: usize, source: Box<Self> },
    /// The command was started often, and once it did not end well.
    #[error("ended with {status} at the end of its input")]
    Exit { status: ExitStatus },
}
