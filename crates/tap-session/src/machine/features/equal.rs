//! Whether two JSON texts say the same, for the text beside structured content.

use std::hash::{DefaultHasher, Hash, Hasher};

use tap_jsonrpc::{Node, NodeKind};

/// Longer values are not compared, bytes.
const LIMIT_BYTES: usize = 1024 * 1024;

/// What lies deeper is taken for equal: each level is one more walk over the bytes.
const LIMIT_DEPTH: u8 = 32;

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
    let elements = wrapped.or(Some(structured)).filter(|value| value.is_array());
    let mut elements = elements.map(|array| array.elements());
    let mut n_texts = 0;
    for text in texts {
        n_texts += 1;
        if text.bytes().len() > LIMIT_BYTES * 2 {
            return true;
        }
        let Some(text) = text.text() else {
            continue;
        };
        if is_same(&text, structured) || wrapped.is_some_and(|wrapped| is_same(&text, wrapped)) {
            return true;
        }
        if !elements.as_mut().is_some_and(|elements| elements.next().is_some_and(|element| is_same(&text, element))) {
            elements = None;
        }
    }
    n_texts > 0 && elements.is_some_and(|mut elements| elements.next().is_none())
}

/// Whether a text is the value's JSON, or what a string says.
fn is_same(text: &str, value: Node<'_>) -> bool {
    if value.is_text(text) {
        return true;
    }
    let node = Node::new(text.as_bytes());
    node.kind() == value.kind() && sum(node, 0) == sum(value, 0)
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
