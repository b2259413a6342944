//! Values: what was captured at a watched member, as it was written.

use std::borrow::Cow;
use std::fmt;

use crate::text::decode_string;

/// How much of one token is kept.
///
/// Ids, names and codes are short; a token past this is somebody's document in the wrong place.
pub const TOKEN_LIMIT_BYTES: usize = 4096;

/// What a JSON value is, without what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Null,
    True,
    False,
    Number,
    String,
    Object,
    Array,
}

/// The value of a watched member. Of a container only its kind is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `null`
    Null,
    /// `true`
    True,
    /// `false`
    False,
    /// A number of any size and precision, such as `1e400`.
    Number(Token),
    /// A string, with its quotes and escapes.
    String(Token),
    /// `{…}`
    Object,
    /// `[…]`
    Array,
}

impl Value {
    /// `token` is read for numbers and strings alone, and may be longer than what is kept.
    pub(crate) fn new(shape: Shape, token: &[u8]) -> Self {
        match shape {
            Shape::Null => Self::Null,
            Shape::True => Self::True,
            Shape::False => Self::False,
            Shape::Number => Self::Number(Token::new(token)),
            Shape::String => Self::String(Token::new(token)),
            Shape::Object => Self::Object,
            Shape::Array => Self::Array,
        }
    }

    /// The number or string as written.
    #[must_use]
    pub fn token(&self) -> Option<&Token> {
        match self {
            Self::Number(token) | Self::String(token) => Some(token),
            Self::Null | Self::True | Self::False | Self::Object | Self::Array => None,
        }
    }

    /// The text of a string, decoded as [`decode_string`] does.
    #[must_use]
    pub fn text(&self) -> Option<Cow<'_, str>> {
        match self {
            Self::String(token) => Some(decode_string(token.bytes())),
            Self::Number(_) | Self::Null | Self::True | Self::False | Self::Object | Self::Array => None,
        }
    }
}

/// A number or string as written, or its first [`TOKEN_LIMIT_BYTES`].
#[derive(Clone, PartialEq, Eq)]
pub struct Token {
    bytes: Box<[u8]>,
    truncated: bool,
}

impl Token {
    fn new(bytes: &[u8]) -> Self {
        let kept = clip(bytes);
        Self { bytes: kept.into(), truncated: kept.len() < bytes.len() }
    }

    /// The bytes; a string has its quotes, unless it was truncated.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether there was more than is kept.
    #[must_use]
    pub fn is_truncated(&self) -> bool {
        self.truncated
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let more = if self.truncated { "…" } else { "" };
        write!(formatter, "{}{more}", self.bytes.escape_ascii())
    }
}

/// What is kept of a token.
pub(crate) fn clip(token: &[u8]) -> &[u8] {
    &token[..token.len().min(TOKEN_LIMIT_BYTES)]
}

/// The watched members that were there, by their index in the list of watches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captures(Vec<(u8, Value)>);

impl Captures {
    /// The value at the watch with this index, or `None` when the message has no such member.
    #[must_use]
    pub fn get(&self, watch: usize) -> Option<&Value> {
        self.iter().find(|&(index, _)| index == watch).map(|(_, value)| value)
    }

    /// All of them, in the order in which they were written.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &Value)> {
        self.0.iter().map(|(index, value)| (usize::from(*index), value))
    }

    pub(crate) fn push(&mut self, watch: u8, value: Value) {
        self.0.push((watch, value));
    }

    /// Forgets the watches whose bit is set in `watches`.
    pub(crate) fn forget(&mut self, watches: u64) {
        self.0.retain(|(index, _)| watches >> index & 1 == 0);
    }
}
