//! The text of a JSON string token, as well as it can be read.

use std::borrow::Cow;

use memchr::{memchr, memchr2};

const REPLACEMENT: char = '\u{fffd}';

/// Decodes a JSON string token, as it was written, to text. Never fails: text is for reading, the token is the record.
///
/// `raw` may begin with the opening quote or after it, and ends at the first quote that is not escaped, or where it was
/// truncated. A surrogate escape without its partner, an escape that does not exist, half an escape at the end, and bytes
/// that are not UTF-8 each become U+FFFD.
#[must_use]
pub fn decode_string(raw: &[u8]) -> Cow<'_, str> {
    let inner = raw.strip_prefix(b"\"").unwrap_or(raw);
    match memchr2(b'"', b'\\', inner) {
        None => lossy(inner),
        Some(at) if inner[at] == b'"' => lossy(&inner[..at]),
        Some(_) => Cow::Owned(unescape(inner)),
    }
}

/// As [`String::from_utf8_lossy`], which is slower where there is nothing to replace.
fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
    }
}

fn unescape(inner: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        let (plain, from_special) = rest.split_at(at);
        bytes.extend_from_slice(plain);
        if from_special[0] == b'"' {
            rest = &[];
            break;
        }
        let (character, length) = escape(&from_special[1..]);
        bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        rest = &from_special[1 + length..];
    }
    bytes.extend_from_slice(rest);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Reads what follows a backslash: the character, and how many bytes it took.
fn escape(after_backslash: &[u8]) -> (char, usize) {
    let Some(&letter) = after_backslash.first() else {
        return (REPLACEMENT, 0);
    };
    match letter {
        b'"' | b'\\' | b'/' => (char::from(letter), 1),
        b'b' => ('\u{8}', 1),
        b'f' => ('\u{c}', 1),
        b'n' => ('\n', 1),
        b'r' => ('\r', 1),
        b't' => ('\t', 1),
        b'u' => unicode_escape(&after_backslash[1..]),
        // The letter itself stays where it is, as text.
        _ => (REPLACEMENT, 0),
    }
}

/// Reads what follows `\u`: four digits, or twelve bytes of a surrogate pair.
fn unicode_escape(after_letter: &[u8]) -> (char, usize) {
    let Some(first) = code_unit(after_letter) else {
        // Half an escape: everything that could belong to it is gone with it.
        let n_digits = after_letter.iter().take(4).take_while(|byte| byte.is_ascii_hexdigit()).count();
        return (REPLACEMENT, 1 + n_digits);
    };
    if let Some(character) = char::from_u32(u32::from(first)) {
        return (character, 5);
    }
    let second = after_letter[4..].strip_prefix(b"\\u").and_then(code_unit);
    let pair = second.and_then(|second| char::decode_utf16([first, second]).next()?.ok());
    match pair {
        Some(character) => (character, 11),
        None => (REPLACEMENT, 5),
    }
}

/// A string token with each character that an escape stands for in its place, so that texts that are the same have the
/// same bytes. Escaped stay the quote, the backslash, and a surrogate without its partner, which is no character.
#[must_use]
pub fn resolve_escapes(token: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token;
    while let Some(at) = memchr(b'\\', rest) {
        let (plain, from_backslash) = rest.split_at(at);
        bytes.extend_from_slice(plain);
        let (character, length) = escape(&from_backslash[1..]);
        let (escaped, after) = from_backslash.split_at(1 + length);
        match character {
            '"' | '\\' => bytes.extend_from_slice(&[b'\\', character as u8]),
            REPLACEMENT if !escaped.eq_ignore_ascii_case(br"\ufffd") => {
                bytes.extend_from_slice(&escaped.to_ascii_lowercase());
            }
            _ => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = after;
    }
    bytes.extend_from_slice(rest);
    bytes
}

fn code_unit(digits: &[u8]) -> Option<u16> {
    let digits = digits.first_chunk::<4>()?;
    digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | u16::from(hex_value(digit)?)))
}

/// The value of one hexadecimal digit of either case.
pub(crate) fn hex_value(digit: u8) -> Option<u8> {
    match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        b'A'..=b'F' => Some(digit - b'A' + 10),
        _ => None,
    }
}

/// Whether a string token, quotes included, says exactly `expected`. Allocates nothing.
///
/// Escapes are read as [`decode_string`] reads them. Bytes that are not UTF-8 are not replaced, and equal no text.
pub(crate) fn says(raw: &[u8], expected: &[u8]) -> bool {
    let mut inner = raw.strip_prefix(b"\"").unwrap_or(raw);
    inner = inner.strip_suffix(b"\"").unwrap_or(inner);
    let mut expected = expected;
    // An escape takes at most six bytes for one byte of text (`\u0061`): what is longer needs no search.
    if 6 * expected.len() < inner.len() {
        return false;
    }
    while let Some(at) = memchr(b'\\', inner) {
        let (plain, from_backslash) = inner.split_at(at);
        let (character, length) = escape(&from_backslash[1..]);
        let mut buffer = [0; 4];
        let character = character.encode_utf8(&mut buffer).as_bytes();
        let Some(after) = expected.strip_prefix(plain).and_then(|expected| expected.strip_prefix(character)) else {
            return false;
        };
        expected = after;
        inner = &from_backslash[1 + length..];
    }
    inner == expected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(raw: impl AsRef<[u8]>, expected: &str) {
        let raw = raw.as_ref();
        assert_eq!(decode_string(raw), expected, "raw: {}", raw.escape_ascii());
    }

    #[test]
    fn plain_text_is_borrowed() {
        check(r#""""#, "");
        check(r#""tools/call""#, "tools/call");
        check("\"grüße\"", "grüße");
        assert!(matches!(decode_string(b"\"plain\""), Cow::Borrowed("plain")));
    }

    #[test]
    fn escapes_are_decoded() {
        check(r#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t");
        check(r#""m\u0065thod""#, "method");
        check(r#""\u00E9\u00e9""#, "éé");
        check(r#""a\ud83d\ude00b""#, "a😀b");
    }

    #[test]
    fn a_surrogate_without_partner_is_replaced() {
        check(r#""\ud83d""#, "\u{fffd}");
        check(r#""\ude00x""#, "\u{fffd}x");
        check(r#""\ud83d\ud83d\ude00""#, "\u{fffd}😀");
        check(r#""\ud83d\u0041""#, "\u{fffd}A");
        check(r#""\ud83d\n""#, "\u{fffd}\n");
        check(r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}");
    }

    #[test]
    fn bytes_that_are_not_utf8_are_replaced() {
        check(b"\"a\xffb\"", "a\u{fffd}b");
        check(b"\"\xc3\\n\"", "\u{fffd}\n");
        check(b"\"\\n\xc3\"", "\n\u{fffd}");
        check(b"\"\xc3\xa9\\n\xe2\x82\"", "é\n\u{fffd}");
    }

    #[test]
    fn a_truncated_token_gives_its_start() {
        check("", "");
        check("\"", "");
        check(r#""abc"#, "abc");
        check(r#""abc\"#, "abc\u{fffd}");
        check(r#""abc\""#, "abc\"");
        check(r#""abc\u00"#, "abc\u{fffd}");
        check(r#""abc\ud83d\ude"#, "abc\u{fffd}\u{fffd}");
    }

    #[test]
    fn a_token_says_its_text_and_no_other() {
        for (raw, text) in [
            (r#""""#, ""),
            (r#""name""#, "name"),
            (r#""n\u0061me""#, "name"),
            (r#""\u006e\u0061\u006d\u0065""#, "name"),
            (r#""\"\\""#, "\"\\"),
            (r#""\\\"""#, "\\\""),
            (r#""\ud83d\ude00""#, "😀"),
            (r#""\ud83d""#, "\u{fffd}"),
        ] {
            assert!(says(raw.as_bytes(), text.as_bytes()), "{raw} says {text}");
            for other in [format!("{text}e"), format!("x{text}"), raw.to_owned()] {
                assert!(!says(raw.as_bytes(), other.as_bytes()), "{raw} says {other}");
            }
        }
        assert!(!says(b"\"\xff\"", "\u{fffd}".as_bytes()));
    }

    #[test]
    fn what_is_no_token_does_not_fail() {
        check("abc", "abc");
        check(r#""a"b"#, "a");
        check(r#""\n"b"#, "\n");
        check(r#""\q\u12g4""#, "\u{fffd}q\u{fffd}g4");
    }
}
