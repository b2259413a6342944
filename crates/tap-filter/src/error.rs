//! What is wrong with a filter, and where.

use std::ops::Range;

/// What is wrong with a filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FilterError {
    /// Which part of the text, bytes. On borders of characters; empty at a place where something is missing.
    pub at: Range<usize>,
    /// What is wrong there.
    pub problem: String,
    /// What would be right.
    pub help: Option<String>,
}

impl FilterError {
    pub(crate) fn new(at: Range<usize>, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The one of these words that is most like `word`, if one is.
pub(crate) fn nearest<'a>(word: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |known: &str| strsim::jaro_winkler(word, known);
    let near = known.map(|known| (likeness(known), known)).max_by(|a, b| a.0.total_cmp(&b.0));
    near.filter(|(likeness, _)| *likeness > 0.75).map(|(_, known)| known)
}
