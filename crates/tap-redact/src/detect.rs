//! Secrets by their shape: what well-known programs and services make, and where people write them.
//!
//! Each shape is strict enough that ordinary text does not have it: ids, hashes of git, UUIDs and pictures in base64 are none.

use std::ops::Range;
use std::sync::OnceLock;

use regex::{Captures, Match, Regex, RegexSet};

use crate::key::is_secret;

/// What something that was found is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind(pub(crate) &'static str);

impl Kind {
    /// What it is called, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.0
    }
}

/// A home folder, which is no secret, but nobody else's either.
pub(crate) const HOME: Kind = Kind("home folder");
/// A private key, or a line of one.
pub(crate) const PRIVATE_KEY: Kind = Kind("private key");
/// What a name says is a secret.
pub(crate) const NAMED: Kind = Kind("value of a secret's name");
/// What a user's rule names.
pub(crate) const BY_RULE: Kind = Kind("what a rule names");

/// A shape: what it is, and a pattern whose first group, where there is one, is what is to be replaced.
struct Shape {
    kind: Kind,
    pattern: &'static str,
    /// What else must hold of it.
    holds: fn(&str) -> bool,
    /// The first group is a name, which must be one of a secret; the next one that matches is what is to be replaced.
    is_named: bool,
}

const fn shape(kind: &'static str, pattern: &'static str) -> Shape {
    Shape { kind: Kind(kind), pattern, holds: |_| true, is_named: false }
}

impl Shape {
    const fn if_it(self, holds: fn(&str) -> bool) -> Self {
        Self { holds, ..self }
    }

    const fn behind_a_name(self) -> Self {
        Self { is_named: true, ..self }
    }

    /// What of a match is to be replaced.
    fn hit<'t>(&self, captures: &Captures<'t>) -> Option<Match<'t>> {
        let hit = match self.is_named {
            true if !is_secret(captures.get(1)?.as_str()) => None,
            true => captures.iter().skip(2).flatten().next(),
            false => captures.get(1).or_else(|| captures.get(0)),
        };
        hit.filter(|hit| (self.holds)(hit.as_str()) && !hit.as_str().contains('«'))
    }
}

const SHAPES: &[Shape] = &[
    shape(
        "private key",
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|\z)",
    ),
    shape("AWS access key", r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    shape("GitHub token", r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b"),
    shape("GitHub token", r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b"),
    shape("GitLab token", r"\bgl(?:pat|dt|ptt|rt|cbt|soat|oas|ft|imt|agent|ffct)-[A-Za-z0-9_-]{20,}"),
    shape("Slack token", r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    shape("Slack token", r"\bxapp-[0-9]-[A-Za-z0-9-]{10,}"),
    shape("Slack webhook", r"https://hooks\.slack\.com/(?:services|workflows)/([A-Za-z0-9+/_-]{20,})"),
    shape("Stripe key", r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    shape("Stripe key", r"\bwhsec_[A-Za-z0-9+/=]{24,}"),
    shape("Anthropic key", r"\bsk-ant-[A-Za-z0-9_-]{20,}"),
    shape("OpenAI key", r"\bsk-[A-Za-z0-9_-]{20,}").if_it(is_mixed),
    shape("Google key", r"\bAIza[0-9A-Za-z_-]{35}"),
    shape("Google token", r"\bya29\.[0-9A-Za-z_-]{20,}"),
    shape("Google secret", r"\bGOCSPX-[A-Za-z0-9_-]{20,}"),
    shape("npm token", r"\bnpm_[A-Za-z0-9]{36}\b"),
    shape("PyPI token", r"\bpypi-AgEIcHlwaS5vcmc[A-Za-z0-9_-]{40,}"),
    shape("Hugging Face token", r"\bhf_[A-Za-z0-9]{30,40}\b").if_it(is_mixed_case),
    shape("SendGrid key", r"\bSG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    shape("DigitalOcean token", r"\bdo[opr]_v1_[a-f0-9]{64}\b"),
    shape("JSON Web Token", r"\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"),
    shape("Bearer token", r"(?i)\bBearer\s+([A-Za-z0-9._~+/-]{8,}=*)").if_it(has_digit_or_is_long),
    shape("Basic credentials", r"(?i)\bauthorization\s*[:=]\s*basic\s+([A-Za-z0-9+/]{6,}=*)"),
    shape("secret header", r"(?i)\b(?:x-)?(?:api-?key|auth-?token|access-?token)\s*:\s*([A-Za-z0-9._~+/=-]{8,})"),
    shape("cookie", r"(?i)\b(?:set-)?cookie:\s*([^\r\n«]{3,})"),
    shape("password in a URL", r"\b[a-zA-Z][a-zA-Z0-9+.-]*://[^\s/@:?#«]*:([^\s/@«]+)@").if_it(is_filled_in),
    shape(
        "secret in a URL",
        r#"(?i)[?&](?:[a-z0-9_.-]*(?:token|secret|passw(?:or)?d|api_?-?key|signature)|sig|key|pwd|code_verifier)=([^&\s#"'<>«]{6,})"#,
    )
    .if_it(is_filled_in),
    shape(
        "secret in an assignment",
        r#"\b[A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)\s*=\s*["']?([^\s"'`;&,()«]{6,})"#,
    )
    .if_it(is_filled_in),
    shape(
        "secret in a connection string",
        r#"(?i)(?:^|[;\s"'])(?:password|pwd|accountkey|sharedaccesskey|sharedaccesssignature)=([^;\s"'«]{3,})"#,
    )
    .if_it(is_filled_in),
    // `'password': 'x'`, also with its quotes escaped.
    shape(
        "secret in text",
        r#"["']([A-Za-z][A-Za-z0-9_.-]{0,60})\\?["']\s*[:=]\s*\\?["']([^"'«\\]{3,})\\?["']"#,
    )
    .behind_a_name()
    .if_it(is_filled_in),
    shape(
        "secret in an option",
        r#"(?:^|[\s"'`(\[,])(--?[A-Za-z][A-Za-z0-9_.-]{0,60})=(?:"([^"«]+)"|'([^'«]+)'|([^\s"'`,;()\[\]«]+))"#,
    )
    .behind_a_name()
    .if_it(is_filled_in),
    // What is behind a space may be the next word of a sentence.
    shape(
        "secret in an option",
        r#"(?:^|\s)(--?[A-Za-z][A-Za-z0-9_.-]{0,60})\s+["']?([^\s"'`,;()\[\]«-][^\s"'`,;()\[\]«]{5,})"#,
    )
    .behind_a_name()
    .if_it(|text| is_filled_in(text) && text.bytes().any(|byte| byte.is_ascii_digit())),
];

/// A folder of a user.
const HOMES: &str =
    r#"(?:^|[^A-Za-z0-9._-])((?:/home|/Users)/[A-Za-z0-9_][A-Za-z0-9._-]*|[A-Za-z]:[\\/]Users[\\/][^\\/:*?"<>|\s«]+)"#;

struct Patterns {
    all: RegexSet,
    each: Vec<Regex>,
    homes: Regex,
    marker: Regex,
}

/// `None` where a pattern is none, which the tests would tell.
fn patterns() -> Option<&'static Patterns> {
    static PATTERNS: OnceLock<Option<Patterns>> = OnceLock::new();
    let make = || {
        Some(Patterns {
            all: RegexSet::new(SHAPES.iter().map(|shape| shape.pattern)).ok()?,
            each: SHAPES.iter().map(|shape| Regex::new(shape.pattern)).collect::<Result<_, _>>().ok()?,
            homes: Regex::new(HOMES).ok()?,
            marker: Regex::new("«(secret|home)(?: ([0-9]{1,9}))?»").ok()?,
        })
    };
    PATTERNS.get_or_init(make).as_ref()
}

/// Everything in a text that looks like a secret, or is a home folder. `homes` are known to be some.
pub(crate) fn detect(text: &str, homes: &[String]) -> Vec<(Range<usize>, Kind)> {
    let mut found = Vec::new();
    for part in outside_of_blobs(text) {
        let (begin, before) = (part.start, found.len());
        detect_in(text.get(part).unwrap_or_default(), homes, &mut found);
        for (range, _) in found.iter_mut().skip(before) {
            *range = begin + range.start..begin + range.end;
        }
    }
    found
}

fn detect_in(text: &str, homes: &[String], found: &mut Vec<(Range<usize>, Kind)>) {
    let Some(patterns) = patterns().filter(|_| text.len() >= 6) else {
        return;
    };
    for index in patterns.all.matches(text) {
        let (Some(shape), Some(pattern)) = (SHAPES.get(index), patterns.each.get(index)) else {
            continue;
        };
        let hits = pattern.captures_iter(text).filter_map(|captures| shape.hit(&captures));
        found.extend(hits.map(|hit| (hit.range(), shape.kind)));
    }
    for home in homes {
        for (at, _) in text.match_indices(home.as_str()) {
            let end = at + home.len();
            let is_inside =
                |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(byte));
            if !is_inside(text.as_bytes().get(at.wrapping_sub(1))) && !is_inside(text.as_bytes().get(end)) {
                found.push((at..end, HOME));
            }
        }
    }
    for captures in patterns.homes.captures_iter(text) {
        if let Some(hit) = captures.get(1) {
            let folder = hit.as_str().trim_end_matches('.');
            if !matches!(folder, "/Users/Shared" | "/home/linuxbrew") {
                found.push((hit.start()..hit.start() + folder.len(), HOME));
            }
        }
    }
}

/// The markers in a text: whether of a home folder, and the number.
pub(crate) fn markers(text: &str) -> impl Iterator<Item = (bool, u32)> {
    let pattern = patterns().filter(|_| text.contains('«')).map(|patterns| &patterns.marker);
    pattern.into_iter().flat_map(move |pattern| pattern.captures_iter(text)).map(|captures| {
        let number = captures.get(2).and_then(|number| number.as_str().parse().ok()).unwrap_or(1);
        (captures.get(1).is_some_and(|what| what.as_str() == "home"), number)
    })
}

/// How long base64 is at least that is taken for a picture or a file, bytes.
const BLOB: usize = 1_025;

/// A text without long base64: a picture, a file. Tokens would turn up in it by chance.
///
/// It is the whole text, or what stands behind `;base64,`.
fn outside_of_blobs(text: &str) -> Vec<Range<usize>> {
    let blob_length = |from: usize| {
        let bytes = text.as_bytes().get(from..).unwrap_or_default();
        let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
        bytes.iter().position(|byte| !is_base64(byte)).unwrap_or(bytes.len())
    };
    if text.len() >= BLOB && blob_length(0) == text.len() {
        return Vec::new();
    }
    let mut parts = Vec::new();
    let mut at = 0;
    for (mark, word) in text.match_indices(";base64,") {
        let begin = mark + word.len();
        let length = blob_length(begin);
        if length >= BLOB {
            parts.push(at..begin);
            at = begin + length;
        }
    }
    parts.push(at..text.len());
    parts
}

/// Words that could be secrets, but have no shape that is known: long, and as mixed as chance would have it.
pub(crate) fn random_words(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_');
    let parts = outside_of_blobs(text).into_iter().filter_map(|part| text.get(part));
    parts
        .flat_map(move |part| part.split(move |c| !is_word(c)))
        .filter(|word| (24..=512).contains(&word.len()) && is_random(word))
}

fn is_random(word: &str) -> bool {
    let n_digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_path = word.matches('/').count() > 2 || word.matches('-').count() > 4;
    let is_checksum = word.starts_with("sha256-") || word.starts_with("sha384-") || word.starts_with("sha512-");
    if n_digits < 3 || is_path || is_checksum || !is_mixed_case(word) {
        return false;
    }
    let mut counts = [0_u32; 256];
    for byte in word.bytes() {
        counts[usize::from(byte)] += 1;
    }
    let length = f64::from(u32::try_from(word.len()).unwrap_or(u32::MAX));
    let entropy: f64 = counts
        .into_iter()
        .filter(|count| *count > 0)
        .map(|count| f64::from(count) / length)
        .map(|share| -share * share.log2())
        .sum();
    entropy > 3.8
}

fn is_mixed(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte.is_ascii_alphabetic()) && {
        // Words with hyphens between are a name.
        text.split(['-', '_']).any(|part| part.len() >= 16)
    }
}

fn is_mixed_case(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_uppercase()) && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

fn has_digit_or_is_long(text: &str) -> bool {
    text.len() >= 24 || text.bytes().any(|byte| byte.is_ascii_digit())
}

/// Whether it is more than a hint of what to put there.
pub(crate) fn is_filled_in(text: &str) -> bool {
    let hints = ["$", "<", "{", "%", "[", "*", "...", "xxx", "XXX"];
    let words = [
        "redacted",
        "password",
        "secret",
        "token",
        "your",
        "changeme",
        "example",
        "string",
        "value",
        "number",
        "null",
        "none",
        "true",
        "false",
        "undefined",
    ];
    let lower = text.to_ascii_lowercase();
    // `--token=ACCESS_TOKEN` in a text that tells how to call it.
    let is_name_of_one = text.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_') && is_secret(text);
    !hints.iter().any(|hint| text.starts_with(hint))
        && !words.iter().any(|word| lower == *word)
        && !is_name_of_one
        && !lower.starts_with("your")
        && !lower.starts_with("redacted")
        && !lower.starts_with("process.env")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        assert!(patterns().is_some());
    }
}
