//! Splices: another token in the place of one, and every other byte as it was.

use crate::node::Node;

/// The message with each value at `path` replaced by `token`; as it was where there is none.
///
/// Where a key is there twice both values are replaced: readers differ in which of them they take.
#[must_use]
pub fn splice(bytes: &[u8], replacements: &[(&[&str], &[u8])]) -> Vec<u8> {
    let mut spans = Vec::new();
    for (path, token) in replacements {
        find(Node::new(bytes), path, &mut |value| {
            // The value lies in the bytes that it was found in.
            let start = value.as_ptr().addr() - bytes.as_ptr().addr();
            spans.push((start, start + value.len(), *token));
        });
    }
    spans.sort_unstable_by_key(|(start, ..)| *start);
    let mut out = Vec::with_capacity(bytes.len() + 64);
    let mut from = 0;
    for (start, end, token) in spans {
        out.extend_from_slice(bytes.get(from..start).unwrap_or_default());
        out.extend_from_slice(token);
        from = end;
    }
    out.extend_from_slice(bytes.get(from..).unwrap_or_default());
    out
}

fn find(node: Node<'_>, path: &[&str], found: &mut impl FnMut(&[u8])) {
    let Some((key, below)) = path.split_first() else {
        return;
    };
    for (name, value) in node.members() {
        match (name.is(key), below) {
            (false, _) => {}
            (true, []) => found(value.bytes()),
            (true, below) => find(value, below, found),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_values_at_the_path_are_other_ones() {
        for (message, expected) in [
            (r#"{"id":1,"x":1.0}"#, r#"{"id":7,"x":1.0}"#),
            (r#"{ "id" : 9007199254740993 , "y": "\ud800" }"#, r#"{ "id" : 7 , "y": "\ud800" }"#),
            (r#"{"id":"a","id":"b","params":{"id":3}}"#, r#"{"id":7,"id":7,"params":{"id":3}}"#),
            (r#"{"\u0069d":null}"#, r#"{"\u0069d":7}"#),
            (r#"{"params":{"id":3}}"#, r#"{"params":{"id":3}}"#),
            ("[]", "[]"),
            ("nonsense", "nonsense"),
            ("", ""),
        ] {
            assert_eq!(splice(message.as_bytes(), &[(&["id"], b"7")]), expected.as_bytes(), "{message}");
        }
    }

    #[test]
    fn several_places_are_replaced_at_once() {
        let message = br#"{"params":{"_meta":{"progressToken":"t","k":1}},"id":12}"#;
        let replaced = splice(message, &[(&["id"], b"5"), (&["params", "_meta", "progressToken"], b"6")]);
        assert_eq!(replaced, br#"{"params":{"_meta":{"progressToken":6,"k":1}},"id":5}"#);
    }
}
