//! Sessions, and a filter behind them: where one ends and the other begins on a command line.

use std::str::FromStr;

use clap::{Args, ValueHint};
use tap_filter::Field;

use crate::reference::Reference;

/// Which sessions are meant, and which of their messages.
#[derive(Debug, Args)]
pub(crate) struct Which {
    /// Sessions, parts of them, or files [default: last]; behind them a filter, from the first word with a field on
    #[arg(value_name = "REF|FILTER", value_hint = ValueHint::FilePath)]
    words: Vec<Word>,
    /// A session; may be given several times
    #[arg(short, long = "session", value_name = "REF", value_hint = ValueHint::FilePath)]
    sessions: Vec<Reference>,
    /// All sessions of the database
    #[arg(short, long, conflicts_with = "sessions")]
    pub(crate) all: bool,
}

/// A word that names a session, or belongs to a filter.
#[derive(Debug, Clone)]
struct Word {
    written: String,
    /// `None` where it begins a filter, and where it could only belong to one.
    reference: Option<Reference>,
    /// Why it is no reference, where it looks like one.
    problem: Option<String>,
}

impl FromStr for Word {
    type Err = std::convert::Infallible;

    fn from_str(written: &str) -> Result<Self, Self::Err> {
        let parsed = (!begins_filter(written)).then(|| written.parse::<Reference>()).transpose();
        let (reference, problem) = match parsed {
            Ok(reference) => (reference, None),
            Err(problem) => (None, Some(problem)),
        };
        Ok(Self { written: written.into(), reference, problem })
    }
}

impl Which {
    fn begin_of_filter(&self) -> usize {
        let begins = |word: &Word| word.reference.is_none() && word.problem.is_none();
        self.words.iter().position(begins).unwrap_or(self.words.len())
    }

    /// Those that were named.
    pub(crate) fn named(&self) -> impl Iterator<Item = &Reference> {
        let words = self.words.iter().take(self.begin_of_filter());
        words.filter_map(|word| word.reference.as_ref()).chain(&self.sessions)
    }

    /// The words of the filter.
    pub(crate) fn filter(&self) -> Vec<String> {
        self.words.iter().skip(self.begin_of_filter()).map(|word| word.written.clone()).collect()
    }

    /// What is wrong with a word before the filter: the word, and why.
    pub(crate) fn problem(&self) -> Option<(&str, String)> {
        let mut words = self.words.iter().take(self.begin_of_filter());
        match words.clone().find_map(|word| Some((word.written.as_str(), word.problem.clone()?))) {
            None if self.all => words
                .next()
                .map(|word| (word.written.as_str(), "--all is every session; name none beside it".to_owned())),
            problem => problem,
        }
    }

    /// Whether nothing was said of it, which means the newest one.
    pub(crate) fn is_default(&self) -> bool {
        !self.all && self.named().next().is_none()
    }
}

/// Whether a word begins a filter: with a field or a path and how it is compared, with a sign, or with quotes. What could be
/// either names a session: `n:5` is a filter, and the session of that name is `-s n:5`.
fn begins_filter(word: &str) -> bool {
    if word.starts_with(['(', '!', '-', '"', '\'']) || word == "not" || word.starts_with("not ") {
        return true;
    }
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']' | '*' | '-');
    let end = word.find(|c| !name(c)).unwrap_or(word.len());
    let (name, rest) = word.split_at(end);
    let is_path = ["arg.", "result.", "req.", "resp.", "header."].iter().any(|root| name.starts_with(root));
    if name.is_empty() {
        return false;
    }
    match rest.chars().next() {
        Some('=' | '~' | '<' | '>' | '!') => true,
        Some(':') => {
            let is_field = Field::named(name).is_some() || matches!(name, "is" | "has") || is_path;
            // A part of a session is told by a number, two dots or a mark.
            let is_part = rest[1..].starts_with(|c: char| c.is_ascii_digit() || c == '.' || c == '@');
            is_field || (!is_part && !rest[1..].is_empty())
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        which: Which,
    }

    #[test]
    fn sessions_come_first_and_then_a_filter() {
        for (line, named, filter) in [
            ("", 0, ""),
            ("github", 1, ""),
            ("github recordings/a.jsonl last:3..9", 3, ""),
            ("tool:find is:error", 0, "tool:find is:error"),
            ("github tool:find or body:x y", 1, "tool:find or body:x y"),
            ("last:10..40 n:12", 1, "n:12"),
            ("a.jsonl latency>1s", 1, "latency>1s"),
            ("a.jsonl latncy>1s", 1, "latncy>1s"),
            ("github tol:find", 1, "tol:find"),
            ("github.2 arg.path:/etc/*", 1, "arg.path:/etc/*"),
            ("github -- -method:ping", 1, "-method:ping"),
            ("last (is:error)", 1, "(is:error)"),
            ("last .params.name=x", 1, ".params.name=x"),
            ("./x.jsonl", 1, ""),
            ("not is:ok", 0, "not is:ok"),
            ("-s github is:error", 1, "is:error"),
            ("last \"two", 1, "\"two"),
        ] {
            let words = std::iter::once("x").chain(line.split(' ').filter(|word| !word.is_empty()));
            let which = <Line as clap::Parser>::try_parse_from(words).unwrap().which;
            assert_eq!((which.named().count(), which.filter().join(" ").as_str()), (named, filter), "{line}");
            assert_eq!(which.problem(), None, "{line}");
        }
    }

    #[test]
    fn what_is_no_reference_is_told() {
        for (line, word) in [("last:0", "last:0"), ("github last:9..3 is:ok", "last:9..3"), ("-a github", "github")] {
            let words = std::iter::once("x").chain(line.split(' '));
            let which = <Line as clap::Parser>::try_parse_from(words).unwrap().which;
            assert_eq!(which.problem().map(|(word, _)| word), Some(word), "{line}");
        }
    }
}
