//! Who is asked: a message, and what is known around it.

use std::borrow::Cow;

use tap_jsonrpc::Node;

use crate::field::Field;
use crate::path::Root;

/// What a field holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'a> {
    /// A number, or a word's place in its field's list.
    Number(i128),
    /// Text.
    Text(Cow<'a, str>),
    /// Bytes that are mostly text.
    Bytes(Cow<'a, [u8]>),
    /// Any of these.
    Any(Vec<Self>),
}

/// A message that a filter is asked about.
///
/// Cheap answers are asked for first; a filter asks for a body only when all else fits.
pub trait Subject {
    /// What a field holds: durations in nanoseconds, moments in nanoseconds since the Unix epoch, sizes in bytes, words by
    /// their place in the list of the field's kind. `None` where the message has no such field.
    fn field(&self, field: Field) -> Option<Found<'_>>;

    /// The JSON that a path begins at.
    fn json(&self, root: Root) -> Option<Node<'_>>;

    /// The values of a header field of its HTTP exchange, `name` in lower case.
    fn header(&self, name: &str) -> Vec<Cow<'_, [u8]>>;
}
