//! The patterns of a schema: which can be matched in linear time, and at what price.

use std::collections::HashMap;

use jsonschema::{Draft, PatternOptions, Regex};
use serde_json::Value;

use crate::error::{SchemaError, shorten};
use crate::keyword::How;
use crate::limit::{MAX_PATTERN_BYTES, MAX_PATTERN_TOTAL_BYTES, MAX_PATTERNS};
use crate::outline::{Outline, Subschema};

/// The longest pattern that is compiled, in bytes of its text, and how many groups it may open: parsers of patterns
/// call themselves for each.
const MAX_TEXT_BYTES: usize = 4096;
const MAX_GROUPS: usize = 100;

/// The memory for the states that matching one pattern may remember, in bytes. It can do with less, slower.
const STATES_BYTES: usize = 256 * 1024;

/// What became of each pattern of a schema.
#[derive(Debug, Default)]
pub(crate) struct Patterns<'a> {
    /// The memory of those that are matched, in bytes; `None` for those that are left out.
    bytes: HashMap<&'a str, Option<usize>>,
    total_bytes: usize,
}

impl<'a> Patterns<'a> {
    /// Tries the patterns of a schema.
    ///
    /// # Errors
    ///
    /// There are too many, or one cannot be matched and cannot be left out either.
    pub(crate) fn new(outline: &Outline<'a>) -> Result<Self, SchemaError> {
        let mut patterns = Self::default();
        for subschema in &outline.subschemas {
            for pattern in patterns_of(subschema) {
                patterns.add(pattern)?;
            }
        }
        patterns.refuse_decisive(outline)?;
        Ok(patterns)
    }

    /// Whether a pattern is left out.
    pub(crate) fn is_ignored(&self, pattern: &str) -> bool {
        self.bytes.get(pattern) == Some(&None)
    }

    /// Those that are left out, shortened.
    pub(crate) fn ignored(&self) -> Vec<String> {
        let mut ignored: Vec<_> =
            self.bytes.iter().filter(|(_, bytes)| bytes.is_none()).map(|(pattern, _)| shorten(pattern)).collect();
        ignored.sort();
        ignored
    }

    /// The steps of matching a pattern against one byte of text: at worst, each state is looked at for each byte.
    pub(crate) fn steps_a_byte(&self, pattern: &str) -> u64 {
        match self.bytes.get(pattern) {
            Some(Some(bytes)) => (bytes / 512).max(2) as u64,
            Some(None) | None => 0,
        }
    }

    fn add(&mut self, pattern: &'a str) -> Result<(), SchemaError> {
        if self.bytes.contains_key(pattern) {
            return Ok(());
        }
        if MAX_PATTERNS <= self.bytes.len() {
            return Err(SchemaError::TooCostly);
        }
        let bytes = measure(pattern).filter(|bytes| self.total_bytes + bytes <= MAX_PATTERN_TOTAL_BYTES);
        self.total_bytes += bytes.unwrap_or(0);
        self.bytes.insert(pattern, bytes);
        Ok(())
    }

    /// Refuses an ignored pattern where accepting every text could make the whole invalid.
    fn refuse_decisive(&self, outline: &Outline<'_>) -> Result<(), SchemaError> {
        if self.bytes.values().all(Option::is_some) {
            return Ok(());
        }
        let has_unevaluated = outline
            .subschemas
            .iter()
            .flat_map(|subschema| &subschema.parts)
            .any(|part| part.how == How::UnevaluatedProperties);
        // Every subschema is visited twice at most: as one that only adds conditions, and as one that may not.
        let mut visited = vec![[false; 2]; outline.subschemas.len()];
        let mut found = vec![(0, false)];
        while let Some((index, turns)) = found.pop() {
            if std::mem::replace(&mut visited[index][usize::from(turns)], true) {
                continue;
            }
            let subschema = &outline.subschemas[index];
            let has_additional = subschema.parts.iter().any(|part| part.how == How::AdditionalProperties);
            let is_decisive = |is_name: bool| turns || (is_name && (has_additional || has_unevaluated));
            let value = subschema.value.get("pattern").and_then(Value::as_str);
            let names = subschema.parts.iter().filter(|part| part.how == How::PatternProperty);
            let named = value.map(|pattern| (pattern, false)).into_iter().chain(names.map(|part| (part.name, true)));
            for (pattern, is_name) in named {
                if self.is_ignored(pattern) && is_decisive(is_name) {
                    return Err(SchemaError::UnmatchedPattern { pattern: shorten(pattern) });
                }
            }
            let parts = subschema.parts.iter().filter(|part| part.how != How::Held);
            found.extend(parts.map(|part| (part.index, turns || part.how.can_turn_the_verdict())));
        }
        Ok(())
    }
}

/// The engine that all patterns are matched with: linear in the text, and bounded in memory.
pub(crate) fn engine(size_bytes: usize) -> PatternOptions<Regex> {
    PatternOptions::regex().size_limit(size_bytes).dfa_size_limit(STATES_BYTES)
}

/// `pattern`, and the names in `patternProperties`.
fn patterns_of<'a>(subschema: &Subschema<'a>) -> impl Iterator<Item = &'a str> {
    let value: &'a Value = subschema.value;
    let names = value.get("patternProperties").and_then(Value::as_object);
    let pattern = value.get("pattern").and_then(Value::as_str);
    pattern.into_iter().chain(names.into_iter().flat_map(|names| names.keys().map(String::as_str)))
}

/// The memory that a pattern needs, to a factor of two; `None` when it cannot be compiled.
fn measure(pattern: &str) -> Option<usize> {
    if MAX_TEXT_BYTES < pattern.len() || MAX_GROUPS < pattern.matches(['(', '[']).count() {
        return None;
    }
    let schema = serde_json::json!({ "pattern": pattern });
    let is_enough = |size_bytes: &usize| {
        let options = jsonschema::options().with_draft(Draft::Draft202012).offline();
        options.with_pattern_options(engine(*size_bytes)).build(&schema).is_ok()
    };
    std::iter::successors(Some(1024), |size_bytes| Some(size_bytes * 2))
        .take_while(|&size_bytes| size_bytes <= MAX_PATTERN_BYTES)
        .find(is_enough)
}
