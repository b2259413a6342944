//! JSON as a tree that can be changed: tokens and the order of members stay as they are written.

use tap_jsonrpc::{Content, Node, NodeKind, scan};

/// How deep a text may be nested.
pub(crate) const DEPTH: usize = 64;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Tree {
    Object(Vec<(String, Self)>),
    Array(Vec<Self>),
    /// Anything else, as it is written.
    Token(String),
}

impl Tree {
    /// Reads one JSON value. `None` where it is none, or nested too deep.
    pub(crate) fn read(text: &[u8]) -> Option<Self> {
        match scan(text, &[]).content {
            Content::Blank | Content::NotJson(_) => None,
            _ => Self::of(Node::new(text), DEPTH),
        }
    }

    fn of(node: Node<'_>, depth: usize) -> Option<Self> {
        let below = depth.checked_sub(1)?;
        Some(match node.kind() {
            NodeKind::Object => {
                let mut members: Vec<(String, Self)> = Vec::new();
                for (key, value) in node.members() {
                    let (key, value) = (key.text().into_owned(), Self::of(value, below)?);
                    // Of several with one name the last counts, as with most readers.
                    members.retain(|(known, _)| *known != key);
                    members.push((key, value));
                }
                Self::Object(members)
            }
            NodeKind::Array => Self::Array(node.elements().map(|item| Self::of(item, below)).collect::<Option<_>>()?),
            // Our reader takes line ends and the like inside of strings, which others do not.
            NodeKind::String if node.bytes().iter().any(|byte| *byte < b' ') => {
                Self::text(&node.text().unwrap_or_default())
            }
            _ => Self::Token(String::from_utf8_lossy(node.bytes()).into_owned()),
        })
    }

    /// A string.
    pub(crate) fn text(text: &str) -> Self {
        Self::Token(quoted(text))
    }

    /// An object.
    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Self> {
        match self {
            Self::Object(members) => members.iter_mut().find(|(known, _)| known == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// Puts a member in the place of what is there, or at the end.
    pub(crate) fn set(&mut self, key: &str, value: Self) {
        match self.get_mut(key) {
            Some(there) => *there = value,
            None => {
                if let Self::Object(members) = self {
                    members.push((key.to_owned(), value));
                }
            }
        }
    }

    pub(crate) fn take(&mut self, key: &str) -> Option<Self> {
        let Self::Object(members) = self else {
            return None;
        };
        let index = members.iter().position(|(known, _)| known == key)?;
        Some(members.remove(index).1)
    }

    pub(crate) fn members(&self) -> &[(String, Self)] {
        match self {
            Self::Object(members) => members,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::Array(items) => items,
            _ => &[],
        }
    }

    /// The text of a string.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Token(token) if token.starts_with('"') => {
                Node::new(token.as_bytes()).text().map(|text| text.into_owned())
            }
            _ => None,
        }
    }

    pub(crate) fn is_text(&self, text: &str) -> bool {
        self.as_text().as_deref() == Some(text)
    }

    pub(crate) fn is_token(&self, token: &str) -> bool {
        matches!(self, Self::Token(known) if known == token)
    }

    pub(crate) fn is_object(&self) -> bool {
        matches!(self, Self::Object(_))
    }

    /// The text of it.
    pub(crate) fn write(&self) -> String {
        let mut out = String::new();
        self.write_to(&mut out);
        out
    }

    fn write_to(&self, out: &mut String) {
        match self {
            Self::Token(token) => out.push_str(token),
            Self::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_to(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (index, (key, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    out.push_str(&quoted(key));
                    out.push(':');
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }
}

/// A string as JSON.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..'\x20' => out.push_str(&format!("\\u{:04x}", u32::from(character))),
            _ => out.push(character),
        }
    }
    out.push('"');
    out
}

/// The value of a number, where it is a whole one that is not below zero.
pub(crate) fn number(tree: &Tree) -> Option<u64> {
    match tree {
        Tree::Token(token) => Node::new(token.as_bytes()).as_i64().and_then(|number| u64::try_from(number).ok()),
        _ => None,
    }
}

/// JSON in which an escape of half a surrogate pair is one of U+FFFD: no reader refuses that.
pub(crate) fn sound(json: String) -> String {
    const ESCAPE: usize = 6;
    let bytes = json.as_bytes();
    let unit = |at: usize| match bytes.get(at..at + ESCAPE) {
        Some([b'\\', b'u', digits @ ..]) => {
            std::str::from_utf8(digits).ok().and_then(|digits| u16::from_str_radix(digits, 16).ok())
        }
        _ => None,
    };
    let mut wrong = Vec::new();
    let mut at = 0;
    while let Some(found) = bytes.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        at += match (unit(at), unit(at + ESCAPE)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 2 * ESCAPE,
            (Some(0xd800..0xe000), _) => {
                wrong.push(at);
                ESCAPE
            }
            (Some(_), _) => ESCAPE,
            (None, _) => 2,
        };
    }
    if wrong.is_empty() {
        return json;
    }
    let mut sound = json;
    for at in wrong {
        sound.replace_range(at..at + ESCAPE, "\\ufffd");
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_order_stay() {
        let text = r#"{"b":1e400,"a":[12345678901234567890123,"\ud800",{"\u0063":null}],"b":2}"#;
        let tree = Tree::read(text.as_bytes()).unwrap();
        assert_eq!(tree.write(), r#"{"a":[12345678901234567890123,"\ud800",{"c":null}],"b":2}"#);
        assert_eq!(Tree::read(b"[\"a\n\xff\\u0041\"]").unwrap().write(), "[\"a\\u000a\u{fffd}A\"]");
        assert!(Tree::read(b"{} {}").is_none());
        assert!(Tree::read("[".repeat(100).as_bytes()).is_none());
        let deep = format!("{}{}", "[".repeat(DEPTH + 1), "]".repeat(DEPTH + 1));
        assert!(Tree::read(deep.as_bytes()).is_none());
    }

    #[test]
    fn half_a_surrogate_is_replaced_and_nothing_else() {
        for (json, expected) in [
            (r#""\ud83d\ude00 \u00e9 \\ud83d é""#, r#""\ud83d\ude00 \u00e9 \\ud83d é""#),
            (
                r#"["\ud83d","\ude00","\ud83d\ud83d\ude00","\uD800x"]"#,
                r#"["\ufffd","\ufffd","\ufffd\ud83d\ude00","\ufffdx"]"#,
            ),
            (r#""\\\ud800""#, r#""\\\ufffd""#),
            ("1e400", "1e400"),
        ] {
            assert_eq!(sound(json.to_owned()), expected);
        }
    }
}
