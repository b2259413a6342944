//! Whether two JSON texts say the same: the text beside structured content, the arguments of two requests.

use std::cell::OnceCell;
use std::hash::{DefaultHasher, Hash, Hasher};

use tap_jsonrpc::{Node, NodeKind};

/// Longer values are not compared, bytes.
const LIMIT_BYTES: usize = 1024 * 1024;

/// What lies deeper is taken for equal: each level is one more walk over the bytes.
const LIMIT_DEPTH: u8 = 32;

/// Texts beside structured content that are looked at.
const LIMIT_TEXTS: usize = 100;

/// Whether two values say the same, whatever the order of their members. `true` where that is too much to compare.
pub(in crate::machine) fn same(left: Node<'_>, right: Node<'_>) -> bool {
    let is_long = |node: Node<'_>| node.bytes().len() > LIMIT_BYTES;
    left.bytes() == right.bytes() || is_long(left) || is_long(right) || sum(left, 0) == sum(right, 0)
}

/// A value that is compared with several texts, and walked once for all of them.
struct Value<'a> {
    node: Node<'a>,
    sum: OnceCell<u64>,
}

impl<'a> Value<'a> {
    fn new(node: Node<'a>) -> Self {
        Self { node, sum: OnceCell::new() }
    }

    /// Whether a text is the value's JSON, or what a string says.
    fn is_said_by(&self, text: &str) -> bool {
        if self.node.is_text(text) {
            return true;
        }
        let node = Node::new(text.as_bytes());
        node.kind() == self.node.kind() && sum(node, 0) == *self.sum.get_or_init(|| sum(self.node, 0))
    }
}

/// Whether the texts of a result say the same as its structured content: the same JSON, or what an object with a single
/// member wraps, such as `{"result": …}`, in one text or an element a text. SDKs write all of these, and they say the same.
/// `true` where that is too much to compare.
pub(super) fn says<'a>(texts: impl Iterator<Item = Node<'a>>, structured: Node<'_>) -> bool {
    if structured.bytes().len() > LIMIT_BYTES {
        return true;
    }
    let mut members = structured.members();
    let wrapped = match (members.next(), members.next()) {
        (Some((_, value)), None) => Some(value),
        _ => None,
    };
    let whole = [Some(structured), wrapped].map(|node| node.map(Value::new));
    let elements = wrapped.or(Some(structured)).filter(|value| value.is_array());
    let mut elements = elements.map(|array| array.elements());
    let mut n_texts = 0;
    for text in texts {
        n_texts += 1;
        if n_texts > LIMIT_TEXTS || text.bytes().len() > LIMIT_BYTES * 2 {
            return true;
        }
        let Some(text) = text.text() else {
            continue;
        };
        if whole.iter().flatten().any(|value| value.is_said_by(&text)) {
            return true;
        }
        let element = elements.as_mut().and_then(Iterator::next);
        if !element.is_some_and(|element| Value::new(element).is_said_by(&text)) {
            elements = None;
        }
    }
    n_texts > 0 && elements.is_some_and(|mut elements| elements.next().is_none())
}

/// A number that two values share when they say the same, whatever the order of members, and hardly ever otherwise.
fn sum(node: Node<'_>, depth: u8) -> u64 {
    let mut hasher = DefaultHasher::new();
    match node.kind() {
        NodeKind::Object | NodeKind::Array if depth >= LIMIT_DEPTH => {}
        NodeKind::Object => {
            let members = node.members().map(|(key, value)| {
                let mut hasher = DefaultHasher::new();
                (key.text(), sum(value, depth + 1)).hash(&mut hasher);
                hasher.finish()
            });
            (1_u8, members.fold(0, u64::wrapping_add)).hash(&mut hasher);
        }
        NodeKind::Array => {
            2_u8.hash(&mut hasher);
            node.elements().for_each(|element| sum(element, depth + 1).hash(&mut hasher));
        }
        NodeKind::String => (3_u8, node.text()).hash(&mut hasher),
        // As doubles, which is how most parsers read them: 1.0 is 1.
        NodeKind::Number => (4_u8, node.as_f64().unwrap_or_default().to_bits()).hash(&mut hasher),
        NodeKind::True | NodeKind::False | NodeKind::Null | NodeKind::Invalid => node.bytes().hash(&mut hasher),
    }
    hasher.finish()
}
