//! What is told to a person when a command cannot do its work, and the exit code that goes with it.

use tap_store::StoreError;

/// Exit code for "done, and the answer is no".
pub(crate) const NO: u8 = 1;
/// Exit code for "could not do it".
pub(crate) const COULD_NOT: u8 = 2;

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What failed, and on what.
    pub(crate) message: String,
    /// What to do about it.
    pub(crate) hint: Option<String>,
    /// The reader of our output is gone: nothing to tell, and nobody to tell it to.
    pub(crate) silent: bool,
}

impl Failure {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), hint: None, silent: false }
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let hint = match &error {
            StoreError::Missing { .. } => {
                Some("record something first: `mcp-tap run -- COMMAND`, or try `mcp-tap demo`")
            }
            StoreError::Locked { .. } => Some("another program holds it; try again, or use --db with another file"),
            StoreError::NotARecording { .. } | StoreError::Corrupt { .. } => {
                Some("choose another file with --db or MCP_TAP_DB")
            }
            StoreError::DiskFull { .. } => Some("make room on that disk"),
            _ => None,
        };
        let failure = Self::new(error.to_string());
        match hint {
            Some(hint) => failure.hint(hint),
            None => failure,
        }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        let silent = error.kind() == std::io::ErrorKind::BrokenPipe;
        Self { silent, ..Self::new(format!("cannot write the output: {error}")) }
    }
}

/// Of what is known, what is most like something that is not, if anything is.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = known.map(|known| (strsim::jaro_winkler(name, known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    near.filter(|(likeness, _)| *likeness > 0.7).map(|(_, known)| known)
}
