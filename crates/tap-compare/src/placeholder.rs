//! Texts of a recording that stand for something: `«any»`, `«uuid»`, `«secret 1»`; and values that are known by their looks
//! to be others on every run.

use std::collections::HashMap;
use std::sync::OnceLock;

use regex::{Regex, RegexBuilder};
use tap_jsonrpc::{Node, NodeKind};

/// What a compiled expression of a placeholder may take, bytes.
const EXPRESSION_LIMIT_BYTES: usize = 256 * 1024;

/// What the markers of redaction have stood for so far: the same marker is the same text. Of one session, or of one pair of
/// sessions that are compared.
#[derive(Debug, Clone, Default)]
pub struct Markers {
    known: HashMap<String, String>,
    expressions: HashMap<String, Option<Regex>>,
}

impl Markers {
    /// Nothing is known yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What a marker, such as `«secret 1»`, has stood for.
    #[must_use]
    pub fn meaning(&self, marker: &str) -> Option<&str> {
        self.known.get(marker).map(String::as_str)
    }

    /// Whether a value is what a text with placeholders stands for. Texts that hold none are not compared: `None`.
    ///
    /// What a marker stands for is remembered if the value fits.
    pub(crate) fn fits(&mut self, pattern: &str, value: Node<'_>) -> Option<bool> {
        if !has_placeholder(pattern) {
            return None;
        }
        if let Some(whole) = whole_placeholder(pattern) {
            let fits = match whole {
                "any" => Some(true),
                "string" => Some(value.is_string()),
                "number" => Some(value.is_number()),
                _ => None,
            };
            if fits.is_some() {
                return fits;
            }
        }
        let Some(text) = value.text() else {
            return Some(false);
        };
        let mut bound = Vec::new();
        let fits = self.fits_text(pattern, &text, &mut bound);
        if fits {
            self.known.extend(bound);
        }
        Some(fits)
    }

    /// A text against a pattern: what is between placeholders must be there, and each takes as little as it can.
    fn fits_text(&mut self, pattern: &str, text: &str, bound: &mut Vec<(String, String)>) -> bool {
        let (before, mut rest_of_pattern) = pattern.split_at(pattern.find('«').unwrap_or(pattern.len()));
        let Some(mut rest) = text.strip_prefix(before) else {
            return false;
        };
        while let Some((name, after)) = placeholder_at(rest_of_pattern) {
            let marker = &rest_of_pattern[..rest_of_pattern.len() - after.len()];
            let literal = &after[..next_placeholder(after)];
            let is_last = literal.len() == after.len();
            let taken = if let Some(known) = self.known.get(marker).or_else(|| {
                let same = bound.iter().find(|(this, _)| this == marker);
                same.map(|(_, meaning)| meaning)
            }) {
                match rest.starts_with(known.as_str()) {
                    true => known.len(),
                    false => return false,
                }
            } else if is_last {
                match rest.len().checked_sub(literal.len()) {
                    Some(length) if rest.is_char_boundary(length) => length,
                    _ => return false,
                }
            } else if literal.is_empty() {
                // Two next to each other: nothing says where the first one ends.
                rest.chars().next().map_or(0, char::len_utf8)
            } else {
                match rest.find(literal) {
                    Some(length) => length,
                    None => return false,
                }
            };
            let (meaning, behind) = rest.split_at(taken);
            if !self.is_of_kind(name, meaning) {
                return false;
            }
            if is_marker(name) {
                bound.push((marker.to_owned(), meaning.to_owned()));
            }
            let Some(behind) = behind.strip_prefix(literal) else {
                return false;
            };
            rest = behind;
            rest_of_pattern = &after[literal.len()..];
        }
        rest.is_empty() && rest_of_pattern.is_empty()
    }

    fn is_of_kind(&mut self, name: &str, text: &str) -> bool {
        match name {
            "number" => crate::scalar::number_in(text).is_some(),
            "uuid" => looks_like_uuid(text),
            "time" => looks_like_time(text),
            _ => match name.strip_prefix("re:") {
                Some(expression) => {
                    let known = self.expressions.entry(expression.to_owned());
                    known.or_insert_with(|| compile(expression)).as_ref().is_some_and(|regex| regex.is_match(text))
                }
                None => true,
            },
        }
    }
}

/// An expression that has to fit all of a text. One that is too large, or none, fits nothing.
fn compile(expression: &str) -> Option<Regex> {
    RegexBuilder::new(&format!("^(?:{expression})$")).size_limit(EXPRESSION_LIMIT_BYTES).build().ok()
}

/// What is wrong with the placeholders of a text: an expression that is none.
#[must_use]
pub fn placeholder_problem(text: &str) -> Option<String> {
    let mut rest = &text[next_placeholder(text)..];
    while let Some((name, after)) = placeholder_at(rest) {
        if let Some(expression) = name.strip_prefix("re:")
            && compile(expression).is_none()
        {
            return Some(format!("«{name}» holds no regular expression, or one that is too large"));
        }
        rest = &after[next_placeholder(after)..];
    }
    None
}

/// Whether a text holds a placeholder or marker.
#[must_use]
pub fn has_placeholder(text: &str) -> bool {
    text.contains('«') && next_placeholder(text) < text.len()
}

fn whole_placeholder(text: &str) -> Option<&str> {
    placeholder_at(text).filter(|(_, rest)| rest.is_empty()).map(|(name, _)| name)
}

/// Where the next placeholder begins, or the text ends.
fn next_placeholder(text: &str) -> usize {
    let mut places = text.match_indices('«');
    places.find(|(at, _)| placeholder_at(&text[*at..]).is_some()).map_or(text.len(), |(at, _)| at)
}

/// The placeholder that a text begins with: its name, and what comes after.
fn placeholder_at(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('«')?;
    let (name, rest) = inside.split_once('»')?;
    let is_known = matches!(name, "any" | "string" | "number" | "uuid" | "time")
        || name.strip_prefix("re:").is_some_and(|expression| !expression.is_empty())
        || is_marker(name);
    is_known.then_some((name, rest))
}

/// Whether it is a marker of redaction: `home`, or words with a number, such as `secret 1`. Other words in such quotes are
/// text that somebody wrote.
fn is_marker(name: &str) -> bool {
    let Some((word, number)) = name.rsplit_once(' ') else {
        return name == "home";
    };
    let is_number = (1..=9).contains(&number.len()) && number.bytes().all(|byte| byte.is_ascii_digit());
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    is_number && word.len() <= 40 && word.split(' ').all(is_word)
}

/// What values are that are others on every run, known by their looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Looks {
    /// A UUID.
    Uuid,
    /// A date with a time, as in ISO 8601 and RFC 3339.
    Time,
    /// A number of seconds, milliseconds, microseconds or nanoseconds since 1970, of this century's first half.
    Epoch,
}

impl Looks {
    /// What a value looks like, if it is one that changes on every run.
    #[must_use]
    pub fn of(value: Node<'_>) -> Option<Self> {
        match value.kind() {
            NodeKind::String if value.bytes().len() <= 64 => {
                let text = value.text()?;
                if looks_like_uuid(&text) {
                    Some(Self::Uuid)
                } else if looks_like_time(&text) {
                    Some(Self::Time)
                } else {
                    None
                }
            }
            NodeKind::Number => {
                let value = value.as_f64()?;
                let is_epoch = [1.0, 1e3, 1e6, 1e9].iter().any(|unit| (1.2e9..2.6e9).contains(&(value / unit)));
                is_epoch.then_some(Self::Epoch)
            }
            _ => None,
        }
    }
}

fn looks_like_uuid(text: &str) -> bool {
    let text = text.strip_prefix("urn:uuid:").unwrap_or(text);
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

fn looks_like_time(text: &str) -> bool {
    static TIME: OnceLock<Option<Regex>> = OnceLock::new();
    let regex = TIME.get_or_init(|| {
        Regex::new(r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]{1,9})?)?( ?([Zz]|[+-][0-9]{2}:?[0-9]{2}))?$")
            .ok()
    });
    regex.as_ref().is_some_and(|regex| regex.is_match(text))
}
