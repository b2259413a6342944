//! Numbers by their value and strings by what they say, however they are written.

use std::borrow::Cow;

use tap_jsonrpc::{Key, Node, resolve_escapes};

/// Writes a number so that numbers of the same value are written alike: `1`, `1.0` and `10e-1` are `1e0`.
///
/// Exact: nothing is rounded. An exponent of more than 18 digits stays as it is written.
pub(crate) fn write_number(token: &[u8], out: &mut Vec<u8>) {
    let (is_negative, unsigned) = match token {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, token),
    };
    let (mantissa, exponent) = match unsigned.iter().position(|byte| matches!(byte, b'e' | b'E')) {
        Some(at) => (&unsigned[..at], &unsigned[at + 1..]),
        None => (unsigned, &b"0"[..]),
    };
    let exponent_text = std::str::from_utf8(exponent).unwrap_or_default();
    let exponent = exponent_text.strip_prefix('+').unwrap_or(exponent_text).parse::<i64>();
    let (whole, fraction) = match mantissa.iter().position(|byte| *byte == b'.') {
        Some(at) => (&mantissa[..at], &mantissa[at + 1..]),
        None => (mantissa, &[][..]),
    };
    let digits: Vec<u8> = whole.iter().chain(fraction).copied().skip_while(|digit| *digit == b'0').collect();
    let kept = digits.iter().rposition(|digit| *digit != b'0').map_or(0, |at| at + 1);
    if kept == 0 {
        return out.push(b'0');
    }
    let Some(exponent) = exponent.ok().filter(|exponent| exponent.unsigned_abs() < 1_000_000_000_000_000_000) else {
        return out.extend_from_slice(&token.to_ascii_lowercase());
    };
    if is_negative {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[..kept]);
    let power = exponent - fraction.len() as i64 + (digits.len() - kept) as i64;
    out.extend_from_slice(format!("e{power}").as_bytes());
}

/// Whether two number tokens have the same value.
pub(crate) fn same_number(a: &[u8], b: &[u8]) -> bool {
    if a == b {
        return true;
    }
    let (mut one, mut other) = (Vec::new(), Vec::new());
    write_number(a, &mut one);
    write_number(b, &mut other);
    one == other
}

/// What a string token says, without its quotes, the same for all ways to write it. A surrogate alone stays an escape, and
/// bytes that are not UTF-8 stay as they are: nothing that differs becomes the same.
pub(crate) fn said(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.strip_prefix(b"\"").unwrap_or(token);
    let inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    match inner.contains(&b'\\') {
        true => resolve_escapes(inner).into(),
        false => inner.into(),
    }
}

/// What a key says.
pub(crate) fn key_said(key: Key<'_>) -> Cow<'_, [u8]> {
    said(key.bytes())
}

/// The text of a string as loose rules have it.
pub(crate) fn folded(text: &str, case: bool, space: bool) -> Cow<'_, str> {
    let mut text: Cow<'_, str> = text.into();
    if space {
        text = text.split_whitespace().collect::<Vec<_>>().join(" ").into();
    }
    if case {
        text = text.to_lowercase().into();
    }
    text
}

/// The number that a text is, if it is nothing but one.
pub(crate) fn number_in(text: &str) -> Option<&[u8]> {
    let text = text.trim();
    let node = Node::new(text.as_bytes());
    let is_all = node.bytes().len() == text.len();
    (is_all && node.is_number() && is_number(text.as_bytes())).then_some(text.as_bytes())
}

/// Whether bytes are a number of JSON's grammar.
fn is_number(bytes: &[u8]) -> bool {
    // One that has no finite value is one all the same.
    serde_json::from_slice::<&serde_json::value::RawValue>(bytes).is_ok()
}

/// Whether a text holds an object or array of JSON and nothing else.
pub(crate) fn holds_json(text: &str) -> bool {
    let trimmed = text.trim_start();
    trimmed.starts_with(['{', '[']) && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok()
}
