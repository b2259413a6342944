//! JSON as one text for all that say the same: to tell whether a definition is still the one that somebody looked at.

use tap_jsonrpc::{Node, NodeKind};
use tap_peer::quoted;

/// How deep a value is looked into. What lies deeper stays as it is written.
const DEPTH: usize = 128;

/// A value with its members in the order of their names, and without white space. Numbers stay as they are written, and of
/// several members with one name all stay: readers differ in which of them they take.
#[must_use]
pub fn canonical(node: Node<'_>) -> String {
    let mut out = String::new();
    write(node, DEPTH, &mut out);
    out
}

fn write(node: Node<'_>, depth: usize, out: &mut String) {
    let below = depth.checked_sub(1);
    match (node.kind(), below) {
        (NodeKind::Object, Some(below)) => {
            let mut members: Vec<(String, String)> = node
                .members()
                .map(|(key, value)| {
                    let mut text = String::new();
                    write(value, below, &mut text);
                    (key.text().into_owned(), text)
                })
                .collect();
            // Those with one name stay in their order.
            members.sort_by(|(a, _), (b, _)| a.cmp(b));
            let members: Vec<String> = members.iter().map(|(key, value)| format!("{}:{value}", quoted(key))).collect();
            out.push_str(&format!("{{{}}}", members.join(",")));
        }
        (NodeKind::Array, Some(below)) => {
            out.push('[');
            for (index, item) in node.elements().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, below, out);
            }
            out.push(']');
        }
        _ => match node.text() {
            // A half of a pair has no text of its own: such a string stays as it is written.
            Some(text) if !text.contains('\u{fffd}') => out.push_str(&quoted(&text)),
            _ => out.push_str(&String::from_utf8_lossy(node.bytes())),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_says_the_same_is_the_same() {
        for (text, expected) in [
            (r#"{ "b" : [1, 2.0] , "\u0061" : "\u0041" }"#, r#"{"a":"A","b":[1,2.0]}"#),
            (r#"{"b":1,"a":2,"b":3}"#, r#"{"a":2,"b":1,"b":3}"#),
            (r#""\ud800""#, r#""\ud800""#),
            ("1e400", "1e400"),
            ("null", "null"),
        ] {
            assert_eq!(canonical(Node::new(text.as_bytes())), expected);
        }
        // Depth is bounded, and what lies below is not lost.
        let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
        assert_eq!(canonical(Node::new(deep.as_bytes())), deep);
    }
}
