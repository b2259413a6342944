//! A configuration file's text as a tree.

use std::ops::Range;

use thiserror::Error;

use crate::node::Node;
use crate::{json, toml, yaml};

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// JSON, with comments and trailing commas if there are some.
    Json,
    /// TOML.
    Toml,
    /// YAML; the first document of the file.
    Yaml,
}

impl Format {
    /// The format that a file of this name has.
    #[must_use]
    pub fn of(path: &str) -> Self {
        let extension = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, extension)| extension);
        match extension {
            Some("toml") => Self::Toml,
            Some("yaml" | "yml") => Self::Yaml,
            _ => Self::Json,
        }
    }
}

/// A text that is not what its format says it is.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {what}")]
pub struct DocumentError {
    /// The line, counted from 1.
    pub line: usize,
    /// What is wrong with it. Nothing of the text is in it, which may hold secrets.
    pub what: String,
}

impl DocumentError {
    pub(crate) fn at(text: &str, at: usize, what: &str) -> Self {
        // Parsers show what they found; the first line of it says what is wrong.
        let what = what.lines().next().unwrap_or_default();
        Self { line: line_of(text, at), what: what.to_owned() }
    }
}

/// A text with its tree.
#[derive(Debug, Clone)]
pub struct Document<'t> {
    /// All of it, a byte order mark included.
    pub text: &'t str,
    /// How it is written.
    pub format: Format,
    /// What it says. Places are places in `text`.
    pub root: Node,
}

/// What some editors put before a text in UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

impl<'t> Document<'t> {
    /// Reads a text.
    ///
    /// # Errors
    ///
    /// When it is not of that format; with the line.
    pub fn parse(text: &'t str, format: Format) -> Result<Self, DocumentError> {
        let body = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let mut root = match format {
            Format::Json => json::parse(body)?,
            Format::Toml => toml::parse(body)?,
            Format::Yaml => yaml::parse(body)?,
        };
        shift(&mut root, text.len() - body.len());
        Ok(Self { text, format, root })
    }

    /// What stands there.
    pub(crate) fn raw(&self, span: &Range<usize>) -> &'t str {
        self.text.get(span.clone()).unwrap_or_default()
    }

    /// Where the line begins that a byte stands in; behind the byte order mark on the first one.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        let before = self.text.get(..at).unwrap_or_default();
        let first = if self.text.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
        before.rfind('\n').map_or(first, |newline| newline + 1)
    }

    /// How lines end where a byte stands.
    pub(crate) fn line_end(&self, at: usize) -> &'static str {
        let (before, after) = self.text.split_at_checked(at).unwrap_or((self.text, ""));
        let ends_in_two = match (after.find('\n'), before.rfind('\n')) {
            (Some(end), _) => after.get(..end).is_some_and(|line| line.ends_with('\r')),
            (None, Some(end)) => before.get(..end).is_some_and(|line| line.ends_with('\r')),
            (None, None) => false,
        };
        if ends_in_two { "\r\n" } else { "\n" }
    }

    /// The line that a byte stands in, counted from 1.
    pub(crate) fn line(&self, at: usize) -> usize {
        line_of(self.text, at)
    }
}

fn shift(node: &mut Node, by: usize) {
    use crate::node::Value;
    let moved = |span: &mut Range<usize>| *span = span.start + by..span.end + by;
    moved(&mut node.span);
    match &mut node.value {
        Value::List(list) => list.iter_mut().for_each(|node| shift(node, by)),
        Value::Map(map) => {
            for member in &mut map.0 {
                moved(&mut member.key_span);
                shift(&mut member.value, by);
            }
        }
        Value::Null | Value::Bool(_) | Value::Bare(_) | Value::Text(_) => {}
    }
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}
