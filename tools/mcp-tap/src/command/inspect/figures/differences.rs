//! Where two values of JSON differ: the order of members does not matter, nor how a string is escaped.

use std::collections::BTreeMap;

use tap_jsonrpc::{Node, NodeKind};

/// How deep it is looked. What lies deeper is compared as it was written.
const DEPTH: usize = 64;

/// How many differences are told.
pub(super) const DIFFERENCES: usize = 50;

/// Where `after` differs from `before`: `description`, `+inputSchema.properties.limit`, `-annotations`. Nothing where they
/// are equal; at most [`DIFFERENCES`] paths, and a last line that says so when there are more.
pub(super) fn differences(before: &[u8], after: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    if before != after {
        compare("", Node::new(before), Node::new(after), 0, &mut found);
    }
    if found.len() > DIFFERENCES {
        found.truncate(DIFFERENCES);
        found.push("… and more".into());
    }
    found
}

fn compare(path: &str, before: Node<'_>, after: Node<'_>, depth: usize, found: &mut Vec<String>) {
    if found.len() > DIFFERENCES || before.bytes() == after.bytes() {
        return;
    }
    match (before.kind(), after.kind()) {
        (NodeKind::Object, NodeKind::Object) if depth < DEPTH => {
            // Of a key that is there twice the last counts.
            let (before, after) = (members(before), members(after));
            for (key, value) in &after {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                match before.get(key) {
                    Some(old) => compare(&path, *old, *value, depth + 1, found),
                    None => found.push(format!("+{path}")),
                }
            }
            for key in before.keys().filter(|key| !after.contains_key(*key)) {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                found.push(format!("-{path}"));
            }
        }
        (NodeKind::Array, NodeKind::Array) if depth < DEPTH => {
            let (mut before, mut after) = (before.elements(), after.elements());
            for index in 0.. {
                match (before.next(), after.next()) {
                    (Some(old), Some(new)) => compare(&format!("{path}[{index}]"), old, new, depth + 1, found),
                    (None, Some(_)) => found.push(format!("+{path}[{index}]")),
                    (Some(_), None) => found.push(format!("-{path}[{index}]")),
                    (None, None) => break,
                }
                if found.len() > DIFFERENCES {
                    break;
                }
            }
        }
        (NodeKind::String, NodeKind::String) if before.text() == after.text() => {}
        _ => found.push(path.to_owned()),
    }
}

fn members(node: Node<'_>) -> BTreeMap<String, Node<'_>> {
    node.members().map(|(key, value)| (key.text().into_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_is_told_by_its_path() {
        for (before, after, expected) in [
            (r#"{"a":1}"#, r#"{ "a" : 1 }"#, &[][..]),
            (r#"{"a":1,"b":"x"}"#, r#"{"b":"\u0078","a":1}"#, &[]),
            (r#"{"a":1,"a":2}"#, r#"{"a":2}"#, &[]),
            (r#"{"a":1}"#, r#"{"a":1.0}"#, &["a"]),
            (r#"{"a":{"b":[1,{"c":true}]}}"#, r#"{"a":{"b":[1,{"c":false},3]}}"#, &["a.b[1].c", "+a.b[2]"]),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"c":3}"#, &["+c", "-a"]),
            (r#"{"a":[]}"#, r#"{"a":{}}"#, &["a"]),
            (r#"{"a":[1,2]}"#, r#"{"a":[1]}"#, &["-a[1]"]),
            ("1", "2", &[""]),
        ] {
            assert_eq!(differences(before.as_bytes(), after.as_bytes()), expected, "{before} {after}");
        }
    }

    #[test]
    fn what_is_deep_and_what_is_much_is_bounded() {
        let deep = |inner: &str| format!("{}{inner}{}", "[".repeat(9_000), "]".repeat(9_000));
        let found = differences(deep("1").as_bytes(), deep("2").as_bytes());
        assert_eq!(found.len(), 1);
        let many = |value: u8| format!("[{}{value}]", format!("{value},").repeat(5_000));
        assert_eq!(differences(many(1).as_bytes(), many(2).as_bytes()).len(), DIFFERENCES + 1);
    }

    proptest! {
        #[test]
        fn whatever_is_compared_nothing_differs_from_itself(
            a in prop::collection::vec(any::<u8>(), 0..60),
            b in "[\\[\\]{}:,\"a0-9 \\\\u]{0,40}",
        ) {
            prop_assert!(differences(&a, &a).is_empty());
            prop_assert!(differences(b.as_bytes(), b.as_bytes()).is_empty());
            differences(&a, b.as_bytes());
            differences(b.as_bytes(), &a);
        }
    }
}
