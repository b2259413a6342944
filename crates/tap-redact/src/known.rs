//! Values that were found in one place, looked for in all others: an answer may say the password that was in the question.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use crate::detect::{Kind, PRIVATE_KEY};

/// How short a value may be that is looked for, characters. What is shorter would turn up by chance.
const SHORTEST: usize = 8;

/// How long it may be, bytes.
const LONGEST: usize = 4_096;

/// How long a value is, bytes, that is found inside of words as well.
const UNMISTAKABLE: usize = 16;

/// Words that stand where a secret could, and everywhere else too.
const COMMON: &[&str] = &[
    "anonymous",
    "changeme",
    "credential",
    "credentials",
    "development",
    "disabled",
    "localhost",
    "optional",
    "password",
    "placeholder",
    "production",
    "required",
    "same-origin",
    "undefined",
    "username",
];

/// Values, and what each is.
#[derive(Debug)]
pub(crate) struct Known {
    matcher: AhoCorasick,
    values: Vec<(Kind, bool)>,
}

impl Known {
    /// `None` where nothing is to be looked for.
    pub(crate) fn of<'a>(values: impl Iterator<Item = (&'a str, Kind)>) -> Option<Self> {
        let is_sought = |value: &str, kind: Kind| {
            value.len() <= LONGEST
                && value.trim().chars().count() >= SHORTEST
                && !value.contains(['«', '»'])
                && !COMMON.contains(&value.to_ascii_lowercase().as_str())
                // Its first and last line are those of any.
                && !(kind == PRIVATE_KEY && value.contains("-----"))
        };
        let sought: Vec<(&str, Kind)> = values.filter(|(value, kind)| is_sought(value, *kind)).collect();
        if sought.is_empty() {
            return None;
        }
        let mut matcher = AhoCorasick::builder();
        matcher.match_kind(MatchKind::LeftmostLongest);
        // It fails at more than 2^31 bytes of values alone.
        let matcher = matcher.build(sought.iter().map(|(value, _)| value)).ok()?;
        Some(Self { matcher, values: sought.into_iter().map(|(value, kind)| (kind, is_word(value))).collect() })
    }

    /// Where they stand in a text. In a name those are left out that are a mere word: a tool, or a member, may be called so.
    pub(crate) fn find(&self, text: &str, is_name: bool) -> impl Iterator<Item = (Range<usize>, Kind)> {
        self.matcher.find_iter(text).filter_map(move |hit| {
            let (kind, is_word) = self.values.get(hit.pattern().as_usize())?;
            let value = text.get(hit.range())?;
            let (before, behind) = (text.get(..hit.start())?, text.get(hit.end()..)?);
            let in_marker = before.ends_with('«') || behind.starts_with('»');
            let is_letter = char::is_alphanumeric;
            let is_part = (before.ends_with(is_letter) && value.starts_with(is_letter))
                || (behind.starts_with(is_letter) && value.ends_with(is_letter));
            let is_alone = !is_part || (value.len() >= UNMISTAKABLE && !is_word);
            (is_alone && !in_marker && !(is_name && *is_word)).then(|| (hit.range(), *kind))
        })
    }
}

/// Whether it could be a name of something: letters, and what joins them.
fn is_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_alphabetic() || b"_-./:".contains(&byte))
}
