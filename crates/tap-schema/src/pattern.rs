//! The patterns of a schema: which can be matched in linear time, and at what price.

use std::collections::HashMap;

use jsonschema::{Draft, PatternCache, PatternOptions, Regex, ValidationOptions};
use serde_json::Value;

use crate::error::{SchemaError, shorten};
use crate::keyword::How;
use crate::limit::{MAX_COMPILE_STEPS, MAX_PATTERN_BYTES, MAX_PATTERN_TOTAL_BYTES, MAX_PATTERNS};
use crate::outline::{Outline, Subschema};

/// The longest pattern that is compiled, in bytes of its text.
const MAX_TEXT_BYTES: usize = 4096;

/// How deep groups and repetitions may lie in each other. Each takes 12 KiB of stack to compile, unoptimized.
const MAX_NESTING: usize = 20;

/// The memory for the states that matching one pattern may remember, in bytes. It can do with less, slower.
const STATES_BYTES: usize = 256 * 1024;

/// What became of each pattern of a schema.
#[derive(Debug, Default)]
pub(crate) struct Patterns<'a> {
    /// The memory of those that are matched, in bytes; `None` for those that are left out.
    bytes: HashMap<&'a str, Option<usize>>,
    total_bytes: usize,
    /// Those that are matched, compiled where the stack is still empty.
    compiled: PatternCache,
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
        patterns.refuse_costly(outline)?;
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

    /// What to compile a schema with that has no other patterns than the matched ones.
    pub(crate) fn options(&self) -> ValidationOptions<'static> {
        options(MAX_PATTERN_BYTES).with_pattern_cache(self.compiled.clone())
    }

    fn add(&mut self, pattern: &'a str) -> Result<(), SchemaError> {
        if self.bytes.contains_key(pattern) {
            return Ok(());
        }
        if MAX_PATTERNS <= self.bytes.len() {
            return Err(SchemaError::TooCostly);
        }
        let bytes = measure(pattern).filter(|bytes| self.total_bytes + bytes <= MAX_PATTERN_TOTAL_BYTES);
        let bytes = bytes.filter(|_| is_compiled(pattern, self.options()));
        self.total_bytes += bytes.unwrap_or(0);
        self.bytes.insert(pattern, bytes);
        Ok(())
    }

    /// Refuses many properties beside many patterns, which are matched with each other when a schema is compiled.
    fn refuse_costly(&self, outline: &Outline<'_>) -> Result<(), SchemaError> {
        let steps = |subschema: &Subschema<'_>| {
            let named = |how| subschema.parts.iter().filter(move |part| part.how == how).map(|part| part.name);
            let n_bytes: u64 = named(How::Property).map(|name| name.len() as u64 + 1).sum();
            let n_steps: u64 = named(How::PatternProperty).map(|pattern| self.steps_a_byte(pattern)).sum();
            n_bytes.saturating_mul(n_steps)
        };
        let n_steps = outline.subschemas.iter().map(steps).fold(0, u64::saturating_add);
        if MAX_COMPILE_STEPS < n_steps { Err(SchemaError::TooCostly) } else { Ok(()) }
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

/// Options for an engine that is linear in the text, and bounded in memory.
fn options(size_bytes: usize) -> ValidationOptions<'static> {
    let engine: PatternOptions<Regex> = PatternOptions::regex().size_limit(size_bytes).dfa_size_limit(STATES_BYTES);
    jsonschema::options().offline().should_validate_formats(false).with_pattern_options(engine)
}

fn is_compiled(pattern: &str, options: ValidationOptions<'static>) -> bool {
    options.with_draft(Draft::Draft202012).build(&serde_json::json!({ "pattern": pattern })).is_ok()
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
    if MAX_TEXT_BYTES < pattern.len() || MAX_NESTING < nesting(pattern) {
        return None;
    }
    std::iter::successors(Some(1024), |size_bytes| Some(size_bytes * 2))
        .take_while(|&size_bytes| size_bytes <= MAX_PATTERN_BYTES)
        .find(|&size_bytes| is_compiled(pattern, options(size_bytes)))
}

/// How deep groups lie in each other, and how many repetitions follow each other, at most.
fn nesting(pattern: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_a_row, mut longest) = (0_usize, 0);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        in_a_row = match character {
            '*' | '+' | '?' | '}' => in_a_row + 1,
            // What is repeated how often: `{2,3}`.
            '{' | ',' | '0'..='9' => in_a_row,
            _ => 0,
        };
        match character {
            '\\' => drop(characters.next()),
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
        longest = longest.max(in_a_row);
    }
    deepest + longest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nesting_counts_groups_and_repetitions() {
        for (pattern, expected) in [
            ("", 0),
            ("a|b", 0),
            ("a*", 1),
            ("(a)(b)", 1),
            ("((a)*b)", 3),
            (r"\(\(", 0),
            ("a{2}{3}{4}", 3),
            ("a**?+", 4),
            ("(a{1,2}b{3}){4}", 2),
        ] {
            assert_eq!(nesting(pattern), expected, "pattern: {pattern}");
        }
    }
}
