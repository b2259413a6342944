//! Skipping: from one token to the next, and over whole values without looking into them.
//!
//! Only what decides where a value ends is looked at: quotes, backslashes, and the brackets of its own kind. That is right
//! for JSON, where the other brackets are closed in between, and one pass for anything.

use memchr::memchr2;

use super::{Key, Node};

/// How many words of a string are searched by hand, before a call into `memchr` pays.
const WORDS_BY_HAND: usize = 4;

/// A place between the tokens of some bytes. Past an error it is at their end.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// After the opening bracket, or at the end of bytes that do not begin with it.
    pub(super) fn inside(bytes: &'a [u8], open: u8) -> Self {
        Self { bytes, at: if bytes.first() == Some(&open) { 1 } else { bytes.len() } }
    }

    /// What is ahead.
    pub(super) fn rest(self) -> &'a [u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    /// Skips whitespace and shows the byte after it.
    #[inline]
    pub(super) fn next_byte(&mut self) -> Option<u8> {
        loop {
            match self.bytes.get(self.at) {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.at += 1,
                byte => return byte.copied(),
            }
        }
    }

    /// Skips a value, after whitespace: `None` when there is none.
    #[inline]
    pub(super) fn value(&mut self) -> Option<Node<'a>> {
        let first = self.next_byte()?;
        let from = self.at;
        self.at = match first {
            b'"' => string_end(self.bytes, from + 1).0,
            b'{' | b'[' => container_end(self.bytes, from + 1, first),
            _ => scalar_end(self.bytes, from),
        };
        self.bytes.get(from..self.at).filter(|value| !value.is_empty()).map(Node)
    }

    #[inline]
    pub(super) fn next_member(&mut self) -> Option<(Key<'a>, Node<'a>)> {
        let member = self.member();
        self.end_item(member.is_some());
        member
    }

    #[inline]
    fn member(&mut self) -> Option<(Key<'a>, Node<'a>)> {
        if self.next_byte()? != b'"' {
            return None;
        }
        let from = self.at;
        let (end, has_escape) = string_end(self.bytes, from + 1);
        self.at = end;
        if self.next_byte()? != b':' {
            return None;
        }
        let token = self.bytes.get(from..end)?;
        self.at += 1;
        Some((Key { token, has_escape }, self.value()?))
    }

    #[inline]
    pub(super) fn next_element(&mut self) -> Option<Node<'a>> {
        let element = self.value();
        self.end_item(element.is_some());
        element
    }

    /// Skips the comma after an item. When there is no comma or was no item, nothing more comes.
    #[inline]
    fn end_item(&mut self, was_there: bool) {
        self.at = match was_there && self.next_byte() == Some(b',') {
            true => self.at + 1,
            false => self.bytes.len(),
        };
    }
}

/// The bytes without the whitespace that they end with.
pub(super) fn without_end_space(bytes: &[u8]) -> &[u8] {
    let mut bytes = bytes;
    while let [before @ .., b' ' | b'\t' | b'\n' | b'\r'] = bytes {
        bytes = before;
    }
    bytes
}

/// Where a string ends whose inside begins at `from`: after its closing quote, or with the bytes. And whether there is an
/// escape in it.
#[inline]
fn string_end(bytes: &[u8], from: usize) -> (usize, bool) {
    let mut at = from;
    let mut has_escape = false;
    loop {
        match special(bytes, at) {
            Some((at, b'"')) => return (at + 1, has_escape),
            Some((backslash_at, _)) => {
                has_escape = true;
                at = backslash_at + 2;
            }
            None => return (bytes.len(), has_escape),
        }
    }
}

/// The next quote or backslash at or after `from`.
///
/// Most strings are short, and `memchr` takes a while to start: without it, a message of 200 bytes took 130 ns, not 100.
#[inline]
fn special(bytes: &[u8], from: usize) -> Option<(usize, u8)> {
    let ahead = bytes.get(from..)?;
    let mut at = from;
    for word in ahead.as_chunks().0.iter().take(WORDS_BY_HAND) {
        let word = u64::from_le_bytes(*word);
        let quotes = equal_bytes(word, b'"');
        let found = quotes | equal_bytes(word, b'\\');
        if found != 0 {
            let bit = found.trailing_zeros();
            let byte = if quotes >> bit & 1 == 1 { b'"' } else { b'\\' };
            return Some((at + bit as usize / 8, byte));
        }
        at += 8;
    }
    let ahead = bytes.get(at..)?;
    let found = match ahead.len() {
        0..8 => ahead.iter().position(|byte| matches!(byte, b'"' | b'\\'))?,
        _ => memchr2(b'"', b'\\', ahead)?,
    };
    Some((at + found, *ahead.get(found)?))
}

/// The high bit of the first byte of `word`, from its low end, that is `byte`. Bits above that one mean nothing.
///
/// Source: Bit Twiddling Hacks, "Determine if a word has a zero byte".
#[inline]
fn equal_bytes(word: u64, byte: u8) -> u64 {
    const LOW_BITS: u64 = u64::from_le_bytes([0x01; 8]);
    const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
    let difference = word ^ (LOW_BITS * u64::from(byte));
    difference.wrapping_sub(LOW_BITS) & !difference & HIGH_BITS
}

/// Where a container ends whose inside begins at `from`: after its closing bracket, or with the bytes.
fn container_end(bytes: &[u8], from: usize, open: u8) -> usize {
    // `[` and `]`, `{` and `}` are two apart.
    let close = open + 2;
    let mut at = from;
    let mut depth = 1_usize;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' => at = string_end(bytes, at).0,
            // Below the brackets is most of what is between strings: commas, colons, digits, whitespace.
            0..b'[' => {}
            _ if byte == open => depth += 1,
            _ if byte == close => {
                depth -= 1;
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    bytes.len()
}

/// Where a number or literal ends that begins at `from`.
fn scalar_end(bytes: &[u8], from: usize) -> usize {
    let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().position(ends).unwrap_or(rest.len())
}
