//! Inside a number, of any size and precision, or inside `null`, `true` or `false`.

use super::{Machine, Piece, State};
use crate::collect::Collector;
use crate::envelope::EnvelopeError;
use crate::value::Shape;

/// What was read last of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Number {
    Minus,
    /// A zero in front, after which no digit may come.
    Zero,
    Integer,
    Point,
    Fraction,
    Exponent,
    ExponentSign,
    ExponentDigits,
}

impl Machine {
    /// From somewhere in a number past its digits here. What ends it is left for the next state.
    pub(super) fn number(&mut self, number: Number, piece: &mut Piece<'_>, collector: &mut Collector) {
        if let Number::Integer | Number::Fraction | Number::ExponentDigits = number {
            let rest = &piece.bytes[piece.at..];
            piece.at += rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        }
        let Some(&byte) = piece.bytes.get(piece.at) else {
            return;
        };
        let next = match (number, byte) {
            (Number::Minus, b'0') => Number::Zero,
            (Number::Minus, b'1'..=b'9') => Number::Integer,
            (Number::Zero | Number::Integer, b'.') => Number::Point,
            (Number::Point, b'0'..=b'9') => Number::Fraction,
            (Number::Zero | Number::Integer | Number::Fraction, b'e' | b'E') => Number::Exponent,
            (Number::Exponent, b'+' | b'-') => Number::ExponentSign,
            (Number::Exponent | Number::ExponentSign, b'0'..=b'9') => Number::ExponentDigits,
            (Number::Zero | Number::Integer | Number::Fraction | Number::ExponentDigits, _)
                // `2026-07-28 ready` is a log line, not the numbers 2026, -07 and -28.
                if !self.open.is_empty() || byte.is_ascii_whitespace() =>
            {
                collector.scalar(Shape::Number, piece.token());
                return self.end_value(piece);
            }
            _ => return self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) }),
        };
        self.state = State::Number(next);
        piece.at += 1;
    }

    /// The end of the unit, which ends a number that is whole.
    pub(super) fn end_number(&mut self, collector: &mut Collector) {
        if let State::Number(Number::Zero | Number::Integer | Number::Fraction | Number::ExponentDigits) = self.state {
            collector.scalar(Shape::Number, &[]);
            self.end_value(&mut Piece { bytes: &[], at: 0, token_from: 0 });
        }
    }

    /// After the first letter of a literal, of which `rest` is missing.
    pub(super) fn begin_literal(&mut self, rest: &'static [u8], shape: Shape) {
        self.state = State::Literal;
        self.literal = rest;
        self.literal_shape = shape;
    }

    /// One more letter of a literal.
    pub(super) fn literal(&mut self, letter: u8, piece: &mut Piece<'_>, collector: &mut Collector) {
        match self.literal {
            [expected, rest @ ..] if *expected == letter => self.literal = rest,
            _ => return self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) }),
        }
        piece.at += 1;
        if self.literal.is_empty() {
            collector.scalar(self.literal_shape, piece.token());
            self.end_value(piece);
        }
    }
}
