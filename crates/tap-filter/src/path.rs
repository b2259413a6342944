//! Paths into the JSON of a message.

use tap_jsonrpc::{Node, NodeKind};

/// Where a path begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// This message: `.params.name`.
    This,
    /// The request of its call: `req.params.name`.
    Request,
    /// The answer of its call: `resp.error.code`.
    Response,
    /// The arguments of the tool or prompt that is called: `arg.path`.
    Arguments,
    /// The result of its call: `result.content[0].text`.
    Result,
}

impl Root {
    pub(crate) const NAMES: [(&'static str, Self); 4] =
        [("req", Self::Request), ("resp", Self::Response), ("arg", Self::Arguments), ("result", Self::Result)];

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, root)| *root)
    }
}

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum PathStep {
    /// The member with this key.
    Member(String),
    /// The element at this place, from 0.
    Element(usize),
    /// Any element.
    AnyElement,
}

/// Calls `take` with each value that the path leads to, until that says it is enough. Where a key is there more than once,
/// each of them counts.
pub(crate) fn any<'a>(node: Node<'a>, steps: &[PathStep], take: &mut impl FnMut(Node<'a>) -> bool) -> bool {
    let Some((step, rest)) = steps.split_first() else {
        return take(node);
    };
    match step {
        PathStep::Member(key) => node.members().any(|(this, value)| this.is(key) && any(value, rest, take)),
        PathStep::Element(index) => node.elements().nth(*index).is_some_and(|value| any(value, rest, take)),
        PathStep::AnyElement => node.elements().any(|value| any(value, rest, take)),
    }
}

/// A value as text: a string's characters, anything else as it is written.
pub(crate) fn text_of(node: Node<'_>) -> std::borrow::Cow<'_, [u8]> {
    match node.kind() {
        NodeKind::String => match node.text() {
            Some(std::borrow::Cow::Borrowed(text)) => text.as_bytes().into(),
            Some(std::borrow::Cow::Owned(text)) => text.into_bytes().into(),
            None => node.bytes().into(),
        },
        _ => node.bytes().into(),
    }
}
