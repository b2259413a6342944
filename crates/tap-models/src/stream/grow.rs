//! A text that comes in pieces, of which each is a string of JSON.

use crate::tree::Tree;

/// Such a text. A character beyond the 16-bit ones is two escapes, and they may come in two pieces.
#[derive(Debug, Clone, Default)]
pub(super) struct Growing {
    text: String,
    /// The first half of such a character, as written.
    half: String,
}

impl Growing {
    /// Takes a piece in, and returns what is new of the text.
    pub(super) fn push(&mut self, piece: &Tree) -> Option<String> {
        let Tree::Token(token) = piece else {
            return None;
        };
        let inside = token.strip_prefix('"')?.strip_suffix('"')?;
        if inside.is_empty() {
            return None;
        }
        let written = format!("{}{inside}", std::mem::take(&mut self.half));
        let (whole, half) = written.split_at(written.len() - half_bytes(&written));
        self.half = half.to_owned();
        self.add(whole)
    }

    fn add(&mut self, written: &str) -> Option<String> {
        let text = Tree::Token(format!("\"{written}\"")).as_text().filter(|text| !text.is_empty())?;
        self.text.push_str(&text);
        Some(text)
    }

    /// The text of all pieces.
    pub(super) fn take(&mut self) -> String {
        let half = std::mem::take(&mut self.half);
        self.add(&half);
        std::mem::take(&mut self.text)
    }

    pub(super) fn so_far(&self) -> &str {
        &self.text
    }
}

/// How many bytes at the end are the first half of a character.
fn half_bytes(written: &str) -> usize {
    const ESCAPE: usize = 6;
    let Some(start) = written.len().checked_sub(ESCAPE) else {
        return 0;
    };
    let bytes = written.as_bytes();
    let [b'\\', b'u', b'd' | b'D', b'8' | b'9' | b'a' | b'A' | b'b' | b'B', third, fourth] = &bytes[start..] else {
        return 0;
    };
    let n_backslashes = bytes[..start].iter().rev().take_while(|byte| **byte == b'\\').count();
    let is_escape = third.is_ascii_hexdigit() && fourth.is_ascii_hexdigit() && n_backslashes % 2 == 0;
    if is_escape { ESCAPE } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_of_a_character_meet() {
        for (pieces, expected) in [
            (vec![r#""a""#, r#""b""#], "ab"),
            (vec![r#""\ud83d""#, r#""\ude00!""#], "😀!"),
            (vec![r#""x\ud83d""#, r#""y""#], "x\u{fffd}y"),
            (vec![r#""x\ud83d""#], "x\u{fffd}"),
            (vec![r#""\\ud83d""#, r#""""#, r#""z""#], r"\ud83dz"),
            (vec!["null", r#""a""#, "7"], "a"),
        ] {
            let mut growing = Growing::default();
            let told: String =
                pieces.iter().filter_map(|piece| growing.push(&Tree::Token((*piece).to_owned()))).collect();
            let whole = growing.take();
            assert_eq!(whole, expected);
            assert!(whole.starts_with(&told), "{told}");
        }
    }
}
