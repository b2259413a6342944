//! The grammar: a machine that is fed bytes in any pieces and knows at each one whether JSON can still come of it.
//!
//! Tolerant where real peers are: string bytes need not be UTF-8, control characters in strings are noted and accepted, a
//! surrogate escape needs no partner, numbers have any size, and a byte order mark at the start is skipped. No recursion:
//! open brackets are bits on a stack, so that a million of them are 122 KiB.
//!
//! This file has what is between tokens; `grammar/string.rs` and `grammar/scalar.rs` have what is inside them.
//!
//! Source: RFC 8259, sections 2 to 8.1.

mod open;
mod scalar;
mod string;

use crate::collect::Collector;
use crate::envelope::EnvelopeError;
use crate::notes::Notes;
use crate::utf8::Utf8Check;
use crate::value::Shape;

use open::OpenContainers;
use scalar::Number;

/// How many containers may be open at once.
const MAX_DEPTH: usize = 1_000_000;

/// Where in the grammar the machine is.
///
/// One byte. What more there is to know inside an escape, a literal or an error is beside it in the [`Machine`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// At the first byte.
    Start,
    /// In a byte order mark, after one byte.
    Mark1,
    /// In a byte order mark, after two bytes.
    Mark2,
    /// A value must come.
    Value,
    /// After `[`: a value or `]`.
    FirstElement,
    /// After `{`: a key or `}`.
    FirstKey,
    /// After `,` in an object: a key.
    Key,
    /// After a key.
    Colon,
    /// After a value in a container.
    AfterValue,
    /// After the value of the unit.
    Done,
    /// In a string.
    String,
    /// After a backslash in a string.
    Escape,
    /// In the digits of a `\u` escape.
    Digits,
    /// In a number.
    Number(Number),
    /// In `null`, `true` or `false`.
    Literal,
    /// No JSON any more.
    Failed,
}

/// How far a unit is that was not finished yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Nothing so far, or whitespace and a byte order mark.
    Blank,
    /// Inside a value, which may be a number that is already whole.
    Inside,
    /// One value is whole.
    Complete,
    /// Not one JSON value, whatever may come.
    Failed,
}

/// See the head of this file.
#[derive(Debug, Clone)]
pub(crate) struct Machine {
    state: State,
    /// Why the state is [`State::Failed`].
    error: Option<EnvelopeError>,
    open: OpenContainers,
    /// Whether the string that is being read is a key.
    in_key: bool,
    /// Whether there is an escape in that key.
    has_escape: bool,
    /// Whether the last thing in the string was the first half of a surrogate pair.
    has_high_surrogate: bool,
    /// How many digits of an escape are missing.
    n_digits_missing: u8,
    /// Their value so far. Four digits push out whatever was there before.
    code_unit: u16,
    utf8: Utf8Check,
    /// What is missing of a literal.
    literal: &'static [u8],
    /// What the literal will be.
    literal_shape: Shape,
    /// How many bytes were fed before this piece.
    offset: u64,
    /// Where a second value began.
    second_at: Option<u64>,
    notes: Notes,
}

/// One piece of the input, and how far it was read.
struct Piece<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Where in this piece the token begins that is being read: 0 when it began in a piece before.
    token_from: usize,
}

impl<'a> Piece<'a> {
    /// The part of the token that lies in here, up to the current place.
    fn token(&self) -> &'a [u8] {
        &self.bytes[self.token_from..self.at]
    }

    /// Takes the first byte of a token.
    fn begin_token(&mut self) {
        self.token_from = self.at;
        self.at += 1;
    }

    fn next(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Takes the next byte if it is `byte`.
    fn skips(&mut self, byte: u8) -> bool {
        let is_next = self.next() == Some(byte);
        self.at += usize::from(is_next);
        is_next
    }
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self {
            state: State::Start,
            error: None,
            open: OpenContainers::default(),
            in_key: false,
            has_escape: false,
            has_high_surrogate: false,
            n_digits_missing: 0,
            code_unit: 0,
            utf8: Utf8Check::default(),
            literal: &[],
            literal_shape: Shape::Null,
            offset: 0,
            second_at: None,
            notes: Notes::none(),
        }
    }

    /// What was noted about the text so far.
    pub(crate) fn notes(&self) -> Notes {
        self.notes
    }

    /// How far the unit is.
    pub(crate) fn progress(&self) -> Progress {
        match self.state {
            State::Failed => Progress::Failed,
            State::Done => Progress::Complete,
            State::Start | State::Mark1 | State::Mark2 => Progress::Blank,
            State::Value if self.open.is_empty() => Progress::Blank,
            _ => Progress::Inside,
        }
    }

    /// Takes the next bytes and tells `collector` what they are. Costs nothing once there was an error.
    pub(crate) fn feed(&mut self, bytes: &[u8], collector: &mut Collector) {
        let mut piece = Piece { bytes, at: 0, token_from: 0 };
        while let Some(byte) = piece.next() {
            match self.state {
                State::String => self.string(&mut piece, collector),
                State::Escape => self.escape(byte, &mut piece),
                State::Digits => self.digit(byte, &mut piece),
                State::Number(number) => self.number(number, &mut piece, collector),
                State::Literal => self.literal(byte, &mut piece, collector),
                State::Start | State::Mark1 | State::Mark2 => self.start(byte, &mut piece),
                State::Failed => break,
                _ => self.between_tokens(byte, &mut piece, collector),
            }
        }
        self.offset += bytes.len() as u64;
        match self.state {
            State::String | State::Escape | State::Digits if self.in_key => collector.key_part(piece.token()),
            State::String | State::Escape | State::Digits | State::Number(_) | State::Literal => {
                collector.scalar_part(piece.token());
            }
            _ => {}
        }
    }

    /// Ends the unit, says whether it was JSON, and makes the machine as new.
    pub(crate) fn finish(&mut self, collector: &mut Collector) -> Result<(), EnvelopeError> {
        if self.open.is_empty() {
            self.end_number(collector);
        }
        let ended = match (self.error, self.state, self.second_at) {
            (Some(error), _, _) => Err(error),
            (None, State::Start | State::Done, _) => Ok(()),
            (None, State::Mark1 | State::Mark2, _) => Err(EnvelopeError::NotJson { offset: 0 }),
            (None, State::Value, _) if self.open.is_empty() => Ok(()),
            (None, _, Some(offset)) => Err(EnvelopeError::SeveralValues { offset }),
            (None, _, None) => Err(EnvelopeError::Truncated { offset: self.offset }),
        };
        self.reset();
        ended
    }

    fn reset(&mut self) {
        self.state = State::Start;
        self.error = None;
        self.open.clear();
        self.has_high_surrogate = false;
        self.utf8.reset();
        self.offset = 0;
        self.second_at = None;
        self.notes = Notes::none();
    }

    /// The first bytes, where a byte order mark may be.
    fn start(&mut self, byte: u8, piece: &mut Piece<'_>) {
        self.state = match (self.state, byte) {
            (State::Start, 0xef) => State::Mark1,
            (State::Mark1, 0xbb) => State::Mark2,
            (State::Mark2, 0xbf) => {
                self.notes.insert(Notes::BYTE_ORDER_MARK);
                State::Value
            }
            (State::Mark1 | State::Mark2, _) => return self.fail(EnvelopeError::NotJson { offset: 0 }),
            _ => {
                self.state = State::Value;
                return;
            }
        };
        piece.at += 1;
    }

    fn between_tokens(&mut self, byte: u8, piece: &mut Piece<'_>, collector: &mut Collector) {
        match (self.state, byte) {
            (_, b' ' | b'\t' | b'\n' | b'\r') => {}
            (State::FirstKey | State::Key, b'"') => return self.begin_key(piece),
            (State::Colon, b':') => self.state = State::Value,
            (State::AfterValue, b',') => {
                self.state = if self.open.is_object() { State::Key } else { State::Value };
            }
            (State::AfterValue | State::FirstKey, b'}') if self.open.is_object() => {
                piece.at += 1;
                self.open.pop();
                collector.close(Shape::Object);
                return self.end_value(piece);
            }
            (State::AfterValue | State::FirstElement, b']') if !self.open.is_object() => {
                piece.at += 1;
                self.open.pop();
                collector.close(Shape::Array);
                return self.end_value(piece);
            }
            (State::Value | State::FirstElement, _) => return self.begin_value(byte, piece, collector),
            (State::Done, _) => {
                self.second_at = Some(self.offset_at(piece));
                return self.begin_value(byte, piece, collector);
            }
            _ => return self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) }),
        }
        piece.at += 1;
    }

    fn begin_key(&mut self, piece: &mut Piece<'_>) {
        self.state = State::String;
        self.in_key = true;
        self.has_escape = false;
        piece.begin_token();
    }

    fn begin_string(&mut self, piece: &mut Piece<'_>) {
        self.state = State::String;
        self.in_key = false;
        piece.begin_token();
    }

    /// After a key: the state is that before its colon, or past it and the quote that usually follows.
    ///
    /// The states are there for bytes that are not here yet, and for whitespace. What compact JSON has next is taken at
    /// once, here and in [`end_value`](Self::end_value): to go by the state for each byte made a message 70 ns slower.
    fn end_key(&mut self, piece: &mut Piece<'_>) {
        self.state = State::Colon;
        if piece.skips(b':') {
            self.state = State::Value;
            if piece.next() == Some(b'"') {
                self.begin_string(piece);
            }
        }
    }

    fn begin_value(&mut self, byte: u8, piece: &mut Piece<'_>, collector: &mut Collector) {
        match byte {
            b'"' => return self.begin_string(piece),
            b'-' => self.state = State::Number(Number::Minus),
            b'0' => self.state = State::Number(Number::Zero),
            b'1'..=b'9' => self.state = State::Number(Number::Integer),
            b'n' => self.begin_literal(b"ull", Shape::Null),
            b't' => self.begin_literal(b"rue", Shape::True),
            b'f' => self.begin_literal(b"alse", Shape::False),
            b'{' | b'[' if self.open.depth() == MAX_DEPTH => {
                return self.fail(EnvelopeError::TooDeep { offset: self.offset_at(piece) });
            }
            b'{' => {
                self.open.push(true);
                collector.open(Shape::Object);
                self.state = State::FirstKey;
            }
            b'[' => {
                self.open.push(false);
                collector.open(Shape::Array);
                self.state = State::FirstElement;
            }
            _ => return self.fail(EnvelopeError::NotJson { offset: self.offset_at(piece) }),
        }
        self.in_key = false;
        piece.begin_token();
    }

    /// After a value: the state is that before a comma or bracket, or past the comma and the quote that usually follow.
    fn end_value(&mut self, piece: &mut Piece<'_>) {
        match (self.open.is_empty(), self.second_at) {
            (false, _) => self.state = State::AfterValue,
            (true, None) => return self.state = State::Done,
            (true, Some(offset)) => return self.fail(EnvelopeError::SeveralValues { offset }),
        }
        if piece.skips(b',') {
            if !self.open.is_object() {
                self.state = State::Value;
            } else if piece.next() == Some(b'"') {
                self.begin_key(piece);
            } else {
                self.state = State::Key;
            }
        }
    }

    fn offset_at(&self, piece: &Piece<'_>) -> u64 {
        self.offset + piece.at as u64
    }

    fn fail(&mut self, error: EnvelopeError) {
        self.state = State::Failed;
        self.error = Some(error);
    }
}
