//! Changes of a text: what is to stand in place of what.

use std::ops::Range;

/// Changes that do not overlap.
#[derive(Debug, Clone, Default)]
pub(crate) struct Splices(Vec<(Range<usize>, String)>);

impl Splices {
    pub(crate) fn replace(&mut self, span: Range<usize>, by: impl Into<String>) {
        self.0.push((span, by.into()));
    }

    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(crate) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    /// Each once.
    pub(crate) fn without_doubles(mut self) -> Self {
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        self.0.dedup_by(|a, b| a.0 == b.0);
        self
    }

    /// The text with them; `None` if they overlap or are not within it.
    pub(crate) fn apply(mut self, text: &str) -> Option<String> {
        // Stable, so that what is inserted at one place stays in the order in which it was said.
        self.0.sort_by_key(|(span, _)| (span.start, span.end));
        let mut changed = String::with_capacity(text.len() + 256);
        let mut at = 0;
        for (span, by) in &self.0 {
            changed.push_str(text.get(at..span.start)?);
            changed.push_str(by);
            at = span.end;
        }
        changed.push_str(text.get(at..)?);
        Some(changed)
    }
}

/// A text in quotation marks, as JSON, TOML and YAML all read it.
pub(crate) fn quoted(text: &str) -> String {
    use std::fmt::Write as _;
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\0'..'\x20' | '\x7f'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(character));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}
