//! Base64 as `format: byte` means it, judged without decoding it.
//!
//! Source: RFC 4648, 4.

use tap_jsonrpc::Node;

/// What is wrong with a text that should be base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Not a text at all.
    NotText,
    /// A `data:` URI, of which the data are only a part.
    DataUri,
    /// The characters `-` and `_` of the URL-safe alphabet.
    UrlSafe,
    /// A character of no alphabet.
    Character,
    /// Padding in the middle, or too much of it.
    Padding,
    /// One character over: six bits are no byte.
    Length,
    /// Padding is missing. Some decoders take it.
    Unpadded,
    /// Whitespace. Some decoders skip it.
    Whitespace,
}

impl Fault {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NotText => "not a text",
            Self::DataUri => "a data: URI instead of the data",
            Self::UrlSafe => "the URL-safe alphabet",
            Self::Character => "a character that is not in the alphabet",
            Self::Padding => "padding where none belongs",
            Self::Length => "one character too many or too few",
            Self::Unpadded => "without padding",
            Self::Whitespace => "with whitespace",
        }
    }

    /// Whether there are decoders that take it all the same.
    pub(super) const fn is_mild(self) -> bool {
        matches!(self, Self::Unpadded | Self::Whitespace)
    }
}

/// What a byte of the text is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Digit,
    Padding,
    UrlSafe,
    Whitespace,
    Other,
}

/// By byte. A table, as there may be a hundred megabytes.
static CLASSES: [Class; 256] = {
    let mut classes = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => Class::Digit,
            b'=' => Class::Padding,
            b'-' | b'_' => Class::UrlSafe,
            b' ' | b'\t' => Class::Whitespace,
            _ => Class::Other,
        };
        byte += 1;
    }
    classes
};

/// What is wrong with `node` as base64.
pub(super) fn fault(node: Node<'_>) -> Option<Fault> {
    if !node.is_string() {
        return Some(Fault::NotText);
    }
    let token = node.bytes();
    let mut rest = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let (mut n_digits, mut n_padding, mut mild) = (0_u64, 0_u64, None);
    loop {
        let run = rest.iter().position(|byte| class(*byte) != Class::Digit).unwrap_or(rest.len());
        if run > 0 && n_padding > 0 {
            return Some(Fault::Padding);
        }
        n_digits += run as u64;
        let (kind, after) = match rest.get(run..).unwrap_or_default() {
            [] => break,
            [b'\\', after @ ..] => escaped(after),
            [byte, after @ ..] => (class(*byte), after),
        };
        rest = after;
        match kind {
            Class::Digit if n_padding > 0 => return Some(Fault::Padding),
            Class::Digit => n_digits += 1,
            Class::Padding => n_padding += 1,
            Class::UrlSafe => return Some(Fault::UrlSafe),
            Class::Whitespace => mild = Some(Fault::Whitespace),
            Class::Other if token.starts_with(b"\"data:") => return Some(Fault::DataUri),
            Class::Other => return Some(Fault::Character),
        }
    }
    match (n_digits % 4, n_padding) {
        (1, _) => Some(Fault::Length),
        (0, 0) | (2, 2) | (3, 1) => mild,
        (_, 0) | (2, 1) => Some(Fault::Unpadded),
        _ => Some(Fault::Padding),
    }
}

fn class(byte: u8) -> Class {
    CLASSES[usize::from(byte)]
}

/// What an escape stands for, and what is behind it.
fn escaped(bytes: &[u8]) -> (Class, &[u8]) {
    match bytes {
        [b'/', rest @ ..] => (Class::Digit, rest),
        [b'n' | b'r' | b't', rest @ ..] => (Class::Whitespace, rest),
        [b'u', b'0', b'0', high, low, rest @ ..] => {
            let value = |digit: &u8| char::from(*digit).to_digit(16).unwrap_or_default() as u8;
            let kind = match value(high).wrapping_mul(16) | value(low) {
                b'\n' | b'\r' => Class::Whitespace,
                byte => class(byte),
            };
            (kind, rest)
        }
        _ => (Class::Other, &[]),
    }
}
