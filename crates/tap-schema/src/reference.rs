//! References as text: URIs, fragments, JSON Pointers.

use jsonschema::{Uri, uri};
use serde_json::Value;

/// The longest URI that is resolved, in bytes. Resolving copies both URIs, once a reference.
const MAX_URI_BYTES: usize = 2048;

/// The URI of a schema that names none. No reference of another schema can mean it.
pub(crate) fn default_base() -> Option<Uri<String>> {
    uri::from_str("json-schema:///").ok()
}

/// `reference` seen from `base`, without a fragment; `None` when it is no URI reference, or a very long one.
pub(crate) fn resolve(base: &Uri<String>, reference: &str) -> Option<Uri<String>> {
    if MAX_URI_BYTES < reference.len() {
        return None;
    }
    uri::resolve_against(&base.borrow(), reference).ok()
}

/// A reference before and after its `#`.
pub(crate) fn split(reference: &str) -> (&str, &str) {
    reference.split_once('#').unwrap_or((reference, ""))
}

/// A fragment without percent-encoding.
pub(crate) fn decode(fragment: &str) -> String {
    let mut bytes = Vec::with_capacity(fragment.len());
    let mut rest = fragment.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let decoded = encoded.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match decoded {
            Some(decoded) if byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `#` and a JSON Pointer, as a reference that every reader takes for that pointer.
pub(crate) fn to_reference(pointer: &str) -> String {
    use std::fmt::Write;

    let mut reference = String::with_capacity(pointer.len() + 1);
    reference.push('#');
    for byte in pointer.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/$".contains(&byte) {
            reference.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(reference, "%{byte:02X}");
        }
    }
    reference
}

/// Appends one name to a JSON Pointer.
pub(crate) fn push(pointer: &mut String, name: &str) {
    pointer.push('/');
    for character in name.chars() {
        match character {
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            other => pointer.push(other),
        }
    }
}

/// The value at a JSON Pointer.
pub(crate) fn follow<'a>(value: &'a Value, pointer: &str) -> Option<&'a Value> {
    // `Value::pointer` reads an index with a sign or zeros before it; that would be a second way to write a place.
    let is_plain = |name: &str| name == "0" || (!name.starts_with(['0', '+']) && !name.is_empty());
    pointer.split('/').skip(1).try_fold(value, |value, name| match value {
        Value::Array(items) if is_plain(name) => items.get(name.parse::<usize>().ok()?),
        Value::Object(members) => members.get(&name.replace("~1", "/").replace("~0", "~")),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_survives_being_written_as_a_reference() {
        for name in ["a", "$defs", "a/b", "~", "%25", "ä b#", "\"", "", "\u{0}"] {
            let mut pointer = String::new();
            push(&mut pointer, name);
            let reference = to_reference(&pointer);
            let (before, fragment) = split(&reference);
            assert_eq!((before, decode(fragment)), ("", pointer.clone()), "name: {name:?}");
            let value = serde_json::json!({ name: 1 });
            assert_eq!(follow(&value, &pointer), Some(&1.into()), "name: {name:?}");
        }
    }

    #[test]
    fn a_percent_sign_that_encodes_nothing_stays() {
        for (fragment, expected) in [("%", "%"), ("%4", "%4"), ("%zz", "%zz"), ("%2F%", "/%"), ("%41b", "Ab")] {
            assert_eq!(decode(fragment), expected);
        }
    }
}
