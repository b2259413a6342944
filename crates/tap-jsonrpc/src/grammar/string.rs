//! Inside a string, which is a key or a value.

use super::{Machine, Piece, State};
use crate::collect::Collector;
use crate::envelope::EnvelopeError;
use crate::notes::Notes;
use crate::run::{Run, run};
use crate::text::hex_value;
use crate::value::Shape;

impl Machine {
    /// From somewhere in a string past its next quote or backslash, or through a part of a long run of text.
    pub(super) fn string(&mut self, piece: &mut Piece<'_>, collector: &mut Collector) {
        let rest = &piece.bytes[piece.at..];
        let run = run(rest);
        if run.length != 0 {
            self.judge(&rest[..run.length], run);
            piece.at += run.length;
        }
        let Some(&special @ (b'"' | b'\\')) = rest.get(run.length) else {
            return;
        };
        piece.at += 1;
        if self.utf8.is_inside_character() {
            self.utf8.reset();
            self.notes.insert(Notes::INVALID_UTF8);
        }
        if special == b'\\' {
            self.has_escape = true;
            self.state = State::Escape;
            return;
        }
        self.end_surrogate();
        if self.in_key {
            collector.key(piece.token(), self.has_escape);
            self.end_key(piece);
        } else {
            collector.scalar(Shape::String, piece.token());
            self.end_value(piece);
        }
    }

    /// Notes what is odd in the bytes of a run.
    fn judge(&mut self, text: &[u8], run: Run) {
        self.end_surrogate();
        if run.has_control {
            self.notes.insert(Notes::CONTROL_CHARACTER);
        }
        let is_ascii = run.is_ascii && !self.utf8.is_inside_character();
        if !is_ascii && !self.notes.contains(Notes::INVALID_UTF8) && !self.utf8.takes(text) {
            self.notes.insert(Notes::INVALID_UTF8);
        }
    }

    /// The letter after a backslash.
    pub(super) fn escape(&mut self, letter: u8, piece: &mut Piece<'_>) {
        match letter {
            b'u' => {
                self.state = State::Digits;
                self.n_digits_missing = 4;
            }
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {
                self.end_surrogate();
                self.state = State::String;
            }
            _ => self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) }),
        }
        piece.at += 1;
    }

    /// One of the four digits after `\u`.
    pub(super) fn digit(&mut self, digit: u8, piece: &mut Piece<'_>) {
        let Some(value) = hex_value(digit) else {
            return self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) });
        };
        piece.at += 1;
        self.code_unit = self.code_unit << 4 | u16::from(value);
        self.n_digits_missing -= 1;
        if self.n_digits_missing != 0 {
            return;
        }
        self.state = State::String;
        let is_low = (0xdc00..=0xdfff).contains(&self.code_unit);
        if self.has_high_surrogate != is_low {
            self.notes.insert(Notes::LONE_SURROGATE);
        }
        self.has_high_surrogate = (0xd800..=0xdbff).contains(&self.code_unit);
    }

    /// Something came that is no second half of a pair.
    fn end_surrogate(&mut self) {
        if self.has_high_surrogate {
            self.has_high_surrogate = false;
            self.notes.insert(Notes::LONE_SURROGATE);
        }
    }
}
