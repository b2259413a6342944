//! A JSON string, decoded, with the way back from each place in the text to the bytes in which it was written.

/// A string token that was decoded.
pub(crate) struct Decoded {
    /// What it says. A surrogate without its partner is U+FFFD.
    pub(crate) text: String,
    /// For each escape: where the text goes on behind it, and where the token does.
    jumps: Vec<(usize, usize)>,
}

impl Decoded {
    /// Decodes a token that is valid JSON, quotes included.
    pub(crate) fn of(token: &str) -> Self {
        let inner_end = token.len().saturating_sub(1).max(1);
        let mut this = Self { text: String::with_capacity(token.len()), jumps: Vec::new() };
        let mut at = 1;
        while let Some(ahead) = token.get(at..inner_end) {
            let Some(plain) = memchr::memchr(b'\\', ahead.as_bytes()) else {
                this.text.push_str(ahead);
                break;
            };
            this.text.push_str(ahead.get(..plain).unwrap_or_default());
            at += plain;
            let (character, length) = escape(token.get(at..inner_end).unwrap_or_default());
            // The text may be cut here, so both sides of an escape are known.
            this.jumps.push((this.text.len(), at));
            this.text.push(character);
            at += length;
            this.jumps.push((this.text.len(), at));
        }
        this
    }

    /// Where in the token a place of the text is.
    pub(crate) fn place(&self, at: usize) -> usize {
        match self.jumps.partition_point(|(text, _)| *text <= at).checked_sub(1).and_then(|last| self.jumps.get(last)) {
            Some((text, token)) => token + (at - text),
            None => at + 1,
        }
    }
}

/// What an escape stands for, and how long it is.
fn escape(token: &str) -> (char, usize) {
    let unit = |from: usize| token.get(from..from + 4).and_then(|digits| u16::from_str_radix(digits, 16).ok());
    match token.as_bytes().get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => {
            let Some(first) = unit(2) else {
                return (char::REPLACEMENT_CHARACTER, 2);
            };
            if let Some(character) = char::from_u32(u32::from(first)) {
                return (character, 6);
            }
            let second = token.get(6..8).filter(|text| *text == "\\u").and_then(|_| unit(8));
            match second.and_then(|second| char::decode_utf16([first, second]).next()?.ok()) {
                Some(character) => (character, 12),
                None => (char::REPLACEMENT_CHARACTER, 6),
            }
        }
        Some(byte) if byte.is_ascii() => (char::from(*byte), 2),
        _ => (char::REPLACEMENT_CHARACTER, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_of_a_text_is_found_in_its_token() {
        let token = r#""a\nb\u00e9\/c\ud83d\ude00\ud800z""#;
        let decoded = Decoded::of(token);
        assert_eq!(decoded.text, "a\nbé/c😀\u{fffd}z");
        for (wanted, written) in [
            ("a", "a"),
            ("\n", "\\n"),
            ("é", "\\u00e9"),
            ("/", "\\/"),
            ("c", "c"),
            ("z", "z"),
            ("😀", "\\ud83d\\ude00"),
        ] {
            let at = decoded.text.find(wanted).unwrap();
            assert_eq!(&token[decoded.place(at)..decoded.place(at + wanted.len())], written);
        }
        assert_eq!(Decoded::of("\"\"").text, "");
    }
}
