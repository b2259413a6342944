//! Whether bytes that come in pieces are UTF-8.

use std::str::from_utf8;

/// Checks text piece by piece, remembering a character that is cut by the border of two pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Utf8Check {
    /// The start of a character whose end has not come.
    partial: [u8; 4],
    n_partial: usize,
}

impl Utf8Check {
    /// Takes the next piece; false when what was taken so far is not the start of any UTF-8 text.
    pub(crate) fn takes(&mut self, piece: &[u8]) -> bool {
        let mut rest = piece;
        while self.n_partial > 0 {
            let Some((&byte, after)) = rest.split_first() else {
                return true;
            };
            rest = after;
            self.partial[self.n_partial] = byte;
            self.n_partial += 1;
            match from_utf8(&self.partial[..self.n_partial]) {
                Ok(_) => self.n_partial = 0,
                // At most three bytes can be the start of a character, so the array is never full here.
                Err(error) if error.error_len().is_none() => {}
                Err(_) => {
                    self.n_partial = 0;
                    return false;
                }
            }
        }
        let Err(error) = from_utf8(rest) else {
            return true;
        };
        let cut = &rest[error.valid_up_to()..];
        if error.error_len().is_some() {
            return false;
        }
        self.partial[..cut.len()].copy_from_slice(cut);
        self.n_partial = cut.len();
        true
    }

    /// Whether a character is half here. Text must not end so.
    pub(crate) fn is_inside_character(&self) -> bool {
        self.n_partial > 0
    }

    /// Forgets everything.
    pub(crate) fn reset(&mut self) {
        self.n_partial = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits `text` in two at every place, and in single bytes; all must say the same.
    #[track_caller]
    fn check(text: &[u8], expected: bool) {
        let bytewise: Vec<&[u8]> = text.chunks(1).collect();
        let halves = (0..=text.len()).map(|at| vec![&text[..at], &text[at..]]);
        for pieces in halves.chain([bytewise]) {
            let mut check = Utf8Check::default();
            let valid = pieces.iter().all(|piece| check.takes(piece)) && !check.is_inside_character();
            assert_eq!(valid, expected, "pieces: {pieces:?}");
        }
    }

    #[test]
    fn accepts_utf8_and_nothing_else() {
        check(b"", true);
        check("plain".as_bytes(), true);
        check("é€😀\u{10ffff}é".as_bytes(), true);
        check(b"\xff", false);
        check(b"\x80", false);
        check(b"a\xc3", false);
        check(b"\xc3a", false);
        check(b"\xf0\x9f\x98", false);
        check(b"\xed\xa0\x80", false);
        check(b"\xc0\xaf", false);
        check(b"\xf4\x90\x80\x80", false);
    }
}
