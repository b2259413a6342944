//! Where in a message a value is, and patterns of such places.
//!
//! Written as in the filter language: `arg.path`, `result.content[0].text`, `req.params.cursor`, `.params.level`. A pattern
//! may also have `*` for any member or element, `[*]` for any element, and `**` for any number of steps.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// How many steps a pattern may have: one bit of a mask each.
const PATTERN_STEPS: usize = 60;

/// Which message of a call a value is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The request: its arguments are `arg.…`.
    Request,
    /// The answer: `result.…` or `resp.error.…`.
    Response,
}

/// A step of a [`Path`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The member with this key.
    Member(String),
    /// The element at this place, from 0.
    Element(usize),
    /// Into the JSON that a string holds. Not written in paths: a string has no members of its own.
    Inside,
}

/// Where a value is, from its message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Path(pub Vec<Step>);

impl Path {
    /// As a JSON Pointer (RFC 6901). A step into the JSON of a string is not shown: what follows is a pointer into that.
    #[must_use]
    pub fn pointer(&self) -> String {
        let mut out = String::new();
        for step in &self.0 {
            match step {
                Step::Member(key) => {
                    out.push('/');
                    out.push_str(&key.replace('~', "~0").replace('/', "~1"));
                }
                Step::Element(index) => out.push_str(&format!("/{index}")),
                Step::Inside => {}
            }
        }
        out
    }

    /// As the filter language and `--ignore` write it, for a message of this side.
    #[must_use]
    pub fn dotted(&self, side: Side) -> String {
        let is = |index: usize, key: &str| matches!(self.0.get(index), Some(Step::Member(this)) if this == key);
        let (mut out, skipped) = match side {
            Side::Request if is(0, "params") && is(1, "arguments") && self.0.len() > 2 => (String::from("arg"), 2),
            Side::Request => (String::from("req"), 0),
            Side::Response if is(0, "result") => (String::from("result"), 1),
            Side::Response => (String::from("resp"), 0),
        };
        for step in &self.0[skipped..] {
            match step {
                Step::Member(key) => {
                    out.push('.');
                    write_key(&mut out, key);
                }
                Step::Element(index) => out.push_str(&format!("[{index}]")),
                Step::Inside => {}
            }
        }
        out
    }

    /// Whether it leads into the JSON that a string holds.
    #[must_use]
    pub fn is_inside_text(&self) -> bool {
        self.0.contains(&Step::Inside)
    }
}

/// Writes a key of a path, in quotes when it needs them.
fn write_key(out: &mut String, key: &str) {
    if !key.is_empty() && key.chars().all(is_plain) {
        out.push_str(key);
    } else {
        out.push('"');
        for character in key.chars() {
            if matches!(character, '"' | '\\') {
                out.push('\\');
            }
            out.push(character);
        }
        out.push('"');
    }
}

/// What a key may have without quotes, as in filters.
fn is_plain(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '-' | '$' | '/')
}

/// A step of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PatternStep {
    Member(String),
    Element(usize),
    AnyElement,
    Any,
    AnyNumber,
}

/// A pattern of paths: `arg.timestamp`, `result.items[*].id`, `result.**.etag`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PathPattern {
    written: String,
    /// `None` for both.
    side: Option<Side>,
    steps: Vec<PatternStep>,
}

/// A text that is no pattern of paths.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{path}` is no path: {problem}")]
pub struct PathError {
    /// As it was written.
    pub path: String,
    /// What is wrong with it.
    pub problem: String,
}

impl PathPattern {
    /// Reads a pattern.
    ///
    /// It begins with `arg` (arguments of the call), `result`, `error`, `req`, `resp`, `params`, or with a dot for either
    /// message.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let error = |problem: &str| PathError { path: text.to_owned(), problem: problem.to_owned() };
        let text_trimmed = text.trim();
        let root_end = text_trimmed.find(['.', '[']).unwrap_or(text_trimmed.len());
        let (root, mut rest) = text_trimmed.split_at(root_end);
        let member = |key: &str| PatternStep::Member(key.to_owned());
        let (side, mut steps) = match root {
            "" => (None, Vec::new()),
            "arg" => (Some(Side::Request), vec![member("params"), member("arguments")]),
            "req" => (Some(Side::Request), Vec::new()),
            "params" => (Some(Side::Request), vec![member("params")]),
            "result" => (Some(Side::Response), vec![member("result")]),
            "resp" => (Some(Side::Response), Vec::new()),
            "error" => (Some(Side::Response), vec![member("error")]),
            _ => return Err(error("it begins with arg, result, error, req, resp, params, or a dot")),
        };
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                if let Some(after) = after.strip_prefix("**") {
                    steps.push(PatternStep::AnyNumber);
                    rest = after;
                } else if let Some(after) = after.strip_prefix('*') {
                    steps.push(PatternStep::Any);
                    rest = after;
                } else if let Some(quote @ ('"' | '\'')) = after.chars().next() {
                    let (key, after) = quoted(&after[1..], quote).ok_or_else(|| error("a quote is not closed"))?;
                    steps.push(PatternStep::Member(key));
                    rest = after;
                } else {
                    let end = after.find(|character| !is_plain(character)).unwrap_or(after.len());
                    let (key, after) = after.split_at(end);
                    if key.is_empty() {
                        return Err(error("a key is missing after a dot"));
                    }
                    steps.push(member(key));
                    rest = after;
                }
            } else if let Some(after) = rest.strip_prefix('[') {
                let (inside, after) = after.split_once(']').ok_or_else(|| error("a bracket is not closed"))?;
                steps.push(match inside {
                    "*" => PatternStep::AnyElement,
                    number => PatternStep::Element(
                        number.parse().map_err(|_| error("in brackets stands a place in an array, or *"))?,
                    ),
                });
                rest = after;
            } else {
                return Err(error("after a key comes a dot or a bracket; a key with other characters needs quotes"));
            }
        }
        if steps.is_empty() {
            return Err(error("it names all of a message"));
        }
        if steps.len() > PATTERN_STEPS {
            return Err(error("it has too many steps"));
        }
        Ok(Self { written: text.to_owned(), side, steps })
    }

    /// As it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.written
    }

    /// Whether a path in a message of this side is one of those that are meant.
    #[must_use]
    pub fn matches(&self, side: Side, path: &Path) -> bool {
        let Some(mut mask) = self.start(side) else {
            return false;
        };
        for step in &path.0 {
            mask = self.advance(mask, step);
        }
        self.is_end(mask)
    }

    /// Whether it is about the arguments of calls, or the rest of requests.
    #[must_use]
    pub fn is_of_request(&self) -> bool {
        self.side != Some(Side::Response)
    }

    fn start(&self, side: Side) -> Option<u64> {
        self.side.is_none_or(|this| this == side).then(|| self.closed(1))
    }

    /// A bit for each step that comes next: behind `**` also the one after.
    fn closed(&self, mut mask: u64) -> u64 {
        for (index, step) in self.steps.iter().enumerate() {
            if *step == PatternStep::AnyNumber && mask & (1 << index) != 0 {
                mask |= 1 << (index + 1);
            }
        }
        mask
    }

    fn advance(&self, mask: u64, taken: &Step) -> u64 {
        if *taken == Step::Inside {
            return mask;
        }
        let mut next = 0;
        for (index, step) in self.steps.iter().enumerate() {
            if mask & (1 << index) == 0 {
                continue;
            }
            let fits = match (step, taken) {
                (PatternStep::AnyNumber, _) => {
                    next |= 1 << index;
                    continue;
                }
                (PatternStep::Any, _) | (PatternStep::AnyElement, Step::Element(_)) => true,
                (PatternStep::Member(key), Step::Member(taken)) => key == taken,
                (PatternStep::Element(place), Step::Element(taken)) => place == taken,
                _ => false,
            };
            if fits {
                next |= 1 << (index + 1);
            }
        }
        self.closed(next)
    }

    fn is_end(&self, mask: u64) -> bool {
        mask & (1 << self.steps.len()) != 0
    }
}

/// Reads up to a quote; what a backslash stands before is itself.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut key = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => key.push(characters.next()?.1),
            _ if character == quote => return Some((key, &text[at + quote.len_utf8()..])),
            _ => key.push(character),
        }
    }
    None
}

impl fmt::Display for PathPattern {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.written)
    }
}

impl std::str::FromStr for PathPattern {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        Self::parse(text)
    }
}

impl Serialize for PathPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.written)
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}

/// Where a walk is in each of some patterns: only those that can still fit cost anything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trail(Vec<(u32, u64)>);

impl Trail {
    pub(crate) fn start(patterns: &[PathPattern], side: Side) -> Self {
        let alive = patterns.iter().enumerate();
        Self(alive.filter_map(|(index, pattern)| Some((index as u32, pattern.start(side)?))).collect())
    }

    pub(crate) fn step(&self, patterns: &[PathPattern], taken: &Step) -> Self {
        let alive = self.0.iter().filter_map(|&(index, mask)| {
            let mask = patterns[index as usize].advance(mask, taken);
            (mask != 0).then_some((index, mask))
        });
        Self(alive.collect())
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a pattern ends here.
    pub(crate) fn is_end(&self, patterns: &[PathPattern]) -> bool {
        self.0.iter().any(|&(index, mask)| patterns[index as usize].is_end(mask))
    }
}
