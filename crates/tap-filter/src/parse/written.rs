//! Values as they stand in a filter: quoted, in slashes, with commas between them.

use std::ops::Range;

use super::Parser;
use crate::error::FilterError;

/// A value as it was written.
pub(super) struct Written {
    pub(super) text: String,
    pub(super) at: Range<usize>,
    pub(super) quoted: bool,
    /// It was `/…/i`.
    pub(super) any_case: bool,
    /// It was `/…/`.
    pub(super) is_regex: bool,
}

impl Parser<'_> {
    /// Values with commas between them.
    pub(super) fn values(&mut self) -> Result<Vec<Written>, FilterError> {
        let mut all = vec![self.value(true)?];
        while self.rest().starts_with(',') {
            self.at += 1;
            all.push(self.value(true)?);
        }
        Ok(all)
    }

    pub(super) fn value(&mut self, in_list: bool) -> Result<Written, FilterError> {
        if self.rest().starts_with(['"', '\'']) {
            return self.quoted();
        }
        let begin = self.at;
        let text = self.run(|c| !(ends_word(c) || in_list && c == ','));
        if text.is_empty() {
            return Err(FilterError::new(begin..begin, "a value is missing"));
        }
        Ok(Written { text, at: begin..self.at, quoted: false, any_case: false, is_regex: false })
    }

    pub(super) fn regex_value(&mut self) -> Result<Written, FilterError> {
        if !self.rest().starts_with('/') {
            return self.value(false);
        }
        let begin = self.at;
        let mut escaped = false;
        let inside = self.rest().get(1..).unwrap_or_default();
        let end = inside.char_indices().find(|(_, c)| {
            let ends = *c == '/' && !escaped;
            escaped = *c == '\\' && !escaped;
            ends
        });
        let Some((end, _)) = end else {
            return Err(
                FilterError::new(begin..begin + 1, "this regular expression is not closed").help("end it with /")
            );
        };
        let text = inside.get(..end).unwrap_or_default().to_owned();
        self.at += end + 2;
        let any_case = self.rest().starts_with('i');
        self.at += usize::from(any_case);
        Ok(Written { text, at: begin..self.at, quoted: true, any_case, is_regex: true })
    }

    /// A text in quotes; what a backslash does is as in JSON.
    pub(super) fn quoted(&mut self) -> Result<Written, FilterError> {
        let begin = self.at;
        let mut chars = self.rest().char_indices();
        let Some((_, quote)) = chars.next() else {
            return Err(FilterError::new(begin..begin, "a value is missing"));
        };
        let mut text = String::new();
        while let Some((offset, c)) = chars.next() {
            match c {
                _ if c == quote => {
                    self.at = begin + offset + c.len_utf8();
                    return Ok(Written { text, at: begin..self.at, quoted: true, any_case: false, is_regex: false });
                }
                '\\' if quote == '"' => match chars.next().map(|(_, c)| c) {
                    Some('n') => text.push('\n'),
                    Some('t') => text.push('\t'),
                    Some('r') => text.push('\r'),
                    Some('u') => {
                        let digits: String = chars.by_ref().take(4).map(|(_, c)| c).collect();
                        let known = u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32);
                        text.push(known.unwrap_or(char::REPLACEMENT_CHARACTER));
                    }
                    Some(c) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err(FilterError::new(begin..begin + 1, "this quote is not closed"))
    }
}

/// Whether a word, or a value without quotes, ends before this.
pub(super) fn ends_word(c: char) -> bool {
    c.is_whitespace() || matches!(c, '(' | ')' | '|' | '&')
}
