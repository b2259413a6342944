//! Headers that repeat what the body says: how a value is written in one, and whether both say the same.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, Request Metadata.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tap_jsonrpc::{Node, NodeKind};

use crate::rule::quoted;

/// What a wrapped value begins with, and what it ends with. Both in lower case.
const SENTINEL: (&str, &str) = ("=?base64?", "?=");

/// What comparing a header with the body says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mirrored {
    /// Both say the same.
    Same,
    /// The header is not written as it must be: why.
    BadlyWritten(&'static str),
    /// They differ: what the header says, as it stands in a detail.
    Differs(String),
}

/// What the header says, or why that cannot be told.
fn decoded(raw: &[u8]) -> Result<Cow<'_, str>, &'static str> {
    let plain = raw.iter().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    let text = match std::str::from_utf8(raw) {
        Ok(text) if plain => text,
        _ => return Err("it holds bytes that are not visible ASCII, and is not wrapped in base64"),
    };
    let (before, after) = SENTINEL;
    let Some((start, rest)) = text.split_at_checked(before.len()) else {
        return Ok(text.into());
    };
    if !start.eq_ignore_ascii_case(before) || !rest.ends_with(after) {
        return Ok(text.into());
    }
    if start != before {
        return Err("`=?base64?` is not in lower case");
    }
    let wrapped = rest.strip_suffix(after).unwrap_or(rest);
    let bytes = STANDARD.decode(wrapped).map_err(|_| "what is wrapped is not base64")?;
    String::from_utf8(bytes).map(Cow::Owned).map_err(|_| "what is wrapped is not UTF-8")
}

/// A text as a header says it: as it is, or wrapped in base64 where that would not be understood.
pub(super) fn encoded(text: &str) -> String {
    let (before, after) = SENTINEL;
    let start = text.get(..before.len());
    let looks_wrapped = start.is_some_and(|start| start.eq_ignore_ascii_case(before)) && text.ends_with(after);
    let is_plain = text.bytes().all(|byte| matches!(byte, b'\t' | b' '..=b'~'));
    match is_plain && !looks_wrapped && text.trim_matches([' ', '\t']) == text {
        true => text.to_owned(),
        false => format!("{before}{}{after}", STANDARD.encode(text)),
    }
}

/// Whether a header is written as it must be, whatever it should say.
pub(super) fn badly_written(raw: &[u8]) -> Option<&'static str> {
    decoded(raw).err()
}

/// Compares a header with a text of the body.
pub(super) fn compare(raw: &[u8], expected: &str) -> Mirrored {
    let looks_wrapped = expected.starts_with(SENTINEL.0) && expected.ends_with(SENTINEL.1);
    if looks_wrapped && raw == expected.as_bytes() {
        return Mirrored::BadlyWritten("it looks like a wrapped value, and is not wrapped itself");
    }
    match decoded(raw) {
        Err(why) => Mirrored::BadlyWritten(why),
        Ok(text) if text == expected => Mirrored::Same,
        // Whoever reads a head drops whitespace around a value.
        Ok(text) if text.trim() == expected.trim_matches([' ', '\t']) && text != expected => {
            Mirrored::BadlyWritten("it begins or ends with a space, and is not wrapped in base64")
        }
        Ok(text) => Mirrored::Differs(quoted(&text)),
    }
}

/// Compares a header with a value of the body: a text, a whole number, or a boolean. `None` of any other value.
pub(super) fn compare_value(raw: &[u8], expected: Node<'_>) -> Option<Mirrored> {
    match expected.kind() {
        NodeKind::String => Some(compare(raw, &expected.text()?)),
        NodeKind::True => Some(compare(raw, "true")),
        NodeKind::False => Some(compare(raw, "false")),
        NodeKind::Number => Some(match decoded(raw) {
            Err(why) => Mirrored::BadlyWritten(why),
            Ok(text) => {
                let header = Node::new(text.as_bytes());
                // Compared as numbers: `42.0` is `42`.
                let same = header.bytes() == expected.bytes()
                    || header.as_i64().is_some() && header.as_i64() == expected.as_i64();
                if same { Mirrored::Same } else { Mirrored::Differs(quoted(&text)) }
            }
        }),
        NodeKind::Object | NodeKind::Array | NodeKind::Null | NodeKind::Invalid => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the specification, and what is wrong.
    #[test]
    fn values_are_compared_after_decoding() {
        let other = |text: &str| Mirrored::Differs(format!("`{text}`"));
        let bad = Mirrored::BadlyWritten;
        let not_ascii = "it holds bytes that are not visible ASCII, and is not wrapped in base64";
        let padded = "it begins or ends with a space, and is not wrapped in base64";
        for (header, body, expected) in [
            ("us-west1", "us-west1", Mirrored::Same),
            ("=?base64?SGVsbG8sIOS4lueVjA==?=", "Hello, 世界", Mirrored::Same),
            ("=?base64?IHBhZGRlZCA=?=", " padded ", Mirrored::Same),
            ("=?base64?bGluZTEKbGluZTI=?=", "line1\nline2", Mirrored::Same),
            ("=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=", "=?base64?literal?=", Mirrored::Same),
            ("=?base64??=", "", Mirrored::Same),
            ("", "", Mirrored::Same),
            ("a  b\tc", "a  b\tc", Mirrored::Same),
            // Not wrapped, although it begins or ends as if it were.
            ("=?base64?abc", "=?base64?abc", Mirrored::Same),
            ("=?utf8?abc?=", "=?utf8?abc?=", Mirrored::Same),
            ("us-west2", "us-west1", other("us-west2")),
            ("US-WEST1", "us-west1", other("US-WEST1")),
            ("=?base64?dXMtd2VzdDI=?=", "us-west1", other("us-west2")),
            ("世界", "世界", bad(not_ascii)),
            ("padded", " padded ", bad(padded)),
            (
                "=?base64?literal?=",
                "=?base64?literal?=",
                bad("it looks like a wrapped value, and is not wrapped itself"),
            ),
            ("=?BASE64?SGVsbG8=?=", "Hello", bad("`=?base64?` is not in lower case")),
            ("=?base64?SGVsbG8?=", "Hello", bad("what is wrapped is not base64")),
            ("=?base64?/w==?=", "\u{ff}", bad("what is wrapped is not UTF-8")),
        ] {
            assert_eq!(compare(header.as_bytes(), body), expected, "{header:?} for {body:?}");
        }
    }

    #[test]
    fn numbers_and_booleans_are_compared_by_value() {
        for (header, body, expected) in [
            ("42", "42", Some(Mirrored::Same)),
            ("42.0", "42", Some(Mirrored::Same)),
            ("=?base64?NDI=?=", "42", Some(Mirrored::Same)),
            ("-7", "-7", Some(Mirrored::Same)),
            ("43", "42", Some(Mirrored::Differs("`43`".into()))),
            ("", "42", Some(Mirrored::Differs("``".into()))),
            ("true", "true", Some(Mirrored::Same)),
            ("True", "true", Some(Mirrored::Differs("`True`".into()))),
            ("1", "null", None),
            ("1", "[1]", None),
        ] {
            let found = compare_value(header.as_bytes(), Node::new(body.as_bytes()));
            assert_eq!(found, expected, "{header:?} for {body}");
        }
    }
}
