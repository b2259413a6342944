//! Nodes: a look into the body of a message, without a copy and without a tree.
//!
//! A [`Node`] is where a value was written. Each question walks over the bytes that it has to and keeps nothing, so ask for
//! several members with one [`Node::pick`]. `node/skip.rs` has the walking, `node/number.rs` what a number is worth.
//!
//! Made for what [`Scanner`](crate::Scanner) found to be JSON. Of other bytes the answers mean nothing, but there are
//! answers: no panic, no recursion, and no more than one pass over the bytes.

mod number;
mod skip;

use std::borrow::Cow;
use std::fmt::{self, Write};

use crate::text::{decode_string, says};

use number::Decimal;
use skip::Cursor;

/// How many bytes of a node its `Debug` shows.
const SHOWN_BYTES: usize = 200;

/// One JSON value, as a view of the bytes in which it was written.
///
/// Nothing is copied and no tree is built. Two nodes are equal when they were written alike: `1` is not `1.0`.
///
/// A question about members or elements costs one pass over the node at most, however deep it is. A walk that goes into
/// everything passes over a value once for each container around it: put a limit on the depth of such a walk.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Node<'a>(&'a [u8]);

/// What a [`Node`] is, told by its first byte; a literal by all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// A number of any size and precision, such as `1e400`.
    Number,
    /// `true`
    True,
    /// `false`
    False,
    /// `null`
    Null,
    /// Nothing, or no JSON.
    Invalid,
}

impl<'a> Node<'a> {
    /// The first value in `bytes`; a byte order mark and whitespace before it are skipped.
    ///
    /// Costs nothing for an object or array: where it ends is not looked for, and whitespace after it is cut off, but not
    /// anything else, which would be no JSON. A string is read to its end.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let mut cursor = Cursor::new(bytes);
        match cursor.next_byte() {
            Some(b'{' | b'[') => Self(skip::without_end_space(cursor.rest())),
            _ => cursor.value().unwrap_or(Self(&[])),
        }
    }

    /// The value exactly as written, without whitespace around it.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// What it is.
    #[must_use]
    pub fn kind(self) -> NodeKind {
        match self.0 {
            [b'{', ..] => NodeKind::Object,
            [b'[', ..] => NodeKind::Array,
            [b'"', ..] => NodeKind::String,
            [b'-' | b'0'..=b'9', ..] => NodeKind::Number,
            b"true" => NodeKind::True,
            b"false" => NodeKind::False,
            b"null" => NodeKind::Null,
            _ => NodeKind::Invalid,
        }
    }

    /// Whether it is `{…}`.
    #[must_use]
    pub fn is_object(self) -> bool {
        self.kind() == NodeKind::Object
    }

    /// Whether it is `[…]`.
    #[must_use]
    pub fn is_array(self) -> bool {
        self.kind() == NodeKind::Array
    }

    /// Whether it is `"…"`.
    #[must_use]
    pub fn is_string(self) -> bool {
        self.kind() == NodeKind::String
    }

    /// Whether it is a number, of any size.
    #[must_use]
    pub fn is_number(self) -> bool {
        self.kind() == NodeKind::Number
    }

    /// Whether it is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.kind() == NodeKind::Null
    }

    /// Which boolean it is, or `None` when it is none.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.kind() {
            NodeKind::True => Some(true),
            NodeKind::False => Some(false),
            _ => None,
        }
    }

    /// The member of an object with this key, with or without escapes; of several, the last, as in a capture.
    ///
    /// `None` of anything but an object.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Self> {
        let [member] = self.pick([key]);
        member
    }

    /// The member at a path of keys: [`get`](Self::get) and again. No keys at all is the node itself.
    #[must_use]
    pub fn at(self, path: &[&str]) -> Option<Self> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    /// Several members of one object, each as [`get`](Self::get) gives it, in one walk.
    #[must_use]
    pub fn pick<const N: usize>(self, keys: [&str; N]) -> [Option<Self>; N] {
        let mut picked = [None; N];
        for (key, value) in self.members() {
            for (wanted, slot) in keys.iter().zip(&mut picked) {
                if key.is(wanted) {
                    *slot = Some(value);
                }
            }
        }
        picked
    }

    /// The members of an object in the order in which they were written, all of those that share a key. None of anything
    /// but an object.
    ///
    /// Lazy: a member is walked over when it is asked for.
    pub fn members(self) -> impl Iterator<Item = (Key<'a>, Self)> {
        let mut cursor = Cursor::inside(self.0, b'{');
        std::iter::from_fn(move || cursor.next_member())
    }

    /// The elements of an array in order. None of anything but an array.
    ///
    /// Lazy: an element is walked over when it is asked for.
    pub fn elements(self) -> impl Iterator<Item = Self> {
        let mut cursor = Cursor::inside(self.0, b'[');
        std::iter::from_fn(move || cursor.next_element())
    }

    /// The text of a string, decoded as [`decode_string`] does; borrowed when there is nothing to decode.
    #[must_use]
    pub fn text(self) -> Option<Cow<'a, str>> {
        self.is_string().then(|| decode_string(self.0))
    }

    /// Whether it is a string that says `text`. Allocates nothing, and looks at the length first.
    ///
    /// Bytes that are not UTF-8 are equal to no text, not even to the U+FFFD as which they are shown.
    #[must_use]
    pub fn is_text(self, text: &str) -> bool {
        self.is_string() && says(self.0, text.as_bytes())
    }

    /// The value of a number that is an integer, however it is written (`1`, `1.0`, `1e2`), exactly; `None` when it does not
    /// fit.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        Decimal::parse(self.0)?.as_i64()
    }

    /// The value of a number, rounded; `None` when it is too large to be finite.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        // What Rust reads as a number is more than what JSON does: `1.`, `-inf`.
        Decimal::parse(self.0)?;
        let value: f64 = std::str::from_utf8(self.0).ok()?.parse().ok()?;
        value.is_finite().then_some(value)
    }

    /// Whether the value of a number is an integer of any size: `1.0` and `1e400` are, `1.5` is not.
    #[must_use]
    pub fn is_integer(self) -> bool {
        Decimal::parse(self.0).is_some_and(|number| number.is_integer())
    }
}

/// The value as text, or the start of it, with control characters made visible.
impl fmt::Debug for Node<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.0, formatter)
    }
}

/// The key of a member, as a view of the bytes in which it was written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    /// With both quotes.
    token: &'a [u8],
    has_escape: bool,
}

impl<'a> Key<'a> {
    /// The key exactly as written, with its quotes and escapes.
    #[must_use]
    pub fn bytes(self) -> &'a [u8] {
        self.token
    }

    /// Whether it was written with escapes, so that it says something else than its bytes.
    #[must_use]
    pub fn has_escapes(self) -> bool {
        self.has_escape
    }

    /// The key, decoded as [`decode_string`] does; borrowed when there is nothing to decode.
    #[must_use]
    pub fn text(self) -> Cow<'a, str> {
        decode_string(self.token)
    }

    /// Whether the key says `text`, as [`Node::is_text`] does.
    #[inline]
    #[must_use]
    pub fn is(self, text: &str) -> bool {
        match self.has_escape {
            true => says(self.token, text.as_bytes()),
            false => self.token.get(1..self.token.len().saturating_sub(1)) == Some(text.as_bytes()),
        }
    }
}

/// The key as written, or the start of it, with control characters made visible.
impl fmt::Debug for Key<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        show(self.token, formatter)
    }
}

fn show(bytes: &[u8], formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
    let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    for character in String::from_utf8_lossy(shown).chars() {
        match character.is_control() {
            true => write!(formatter, "{}", character.escape_debug())?,
            false => formatter.write_char(character)?,
        }
    }
    formatter.write_str(if shown.len() < bytes.len() { "…" } else { "" })
}
