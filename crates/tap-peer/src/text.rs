//! Writing small JSON texts around what others wrote.

use std::fmt::Write as _;

/// A string as JSON.
#[must_use]
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..'\x20' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// The text of an object with one more member at its end, whose value is a JSON text. The rest stays as it is written.
#[must_use]
pub fn with_member(object: &str, key: &str, value: &str) -> String {
    let Some(inner) = object.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
        return object.to_owned();
    };
    let comma = if inner.trim().is_empty() { "" } else { "," };
    format!("{{{inner}{comma}{}:{value}}}", quoted(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_what_json_wants() {
        assert_eq!(quoted("a\"\\\n\u{1f}é"), "\"a\\\"\\\\\\u000a\\u001fé\"");
        for (object, expected) in
            [("{}", r#"{"k":1}"#), (" { } ", r#"{ "k":1}"#), (r#"{"a":1e400}"#, r#"{"a":1e400,"k":1}"#), ("7", "7")]
        {
            assert_eq!(with_member(object, "k", "1"), expected);
        }
    }
}
