//! Where a value stands in a message: paths, and the places of what findings and schemas name.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;

use tap_jsonrpc::Node;

/// A step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The member with this key.
    Key(String),
    /// The element at this place, from 0.
    Index(usize),
    /// Into the JSON that is the text of a string.
    Inside,
}

/// Where a value stands in its message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Path(pub(crate) Vec<Step>);

impl Path {
    /// As the filter language writes it behind the name of a root: `.params.name`, `.content[0]."a key"`.
    pub(crate) fn in_filter(&self) -> String {
        let mut text = String::new();
        for step in &self.0 {
            match step {
                Step::Key(key) if is_plain(key) => {
                    let _ = write!(text, ".{key}");
                }
                Step::Key(key) => {
                    let _ = write!(text, ".{}", quoted(key));
                }
                Step::Index(index) => {
                    let _ = write!(text, "[{index}]");
                }
                Step::Inside => break,
            }
        }
        text
    }

    /// For a person: the same without the dot at its begin, and through the text of strings.
    pub(crate) fn shown(&self) -> String {
        let mut text = String::new();
        let mut rest = self.0.as_slice();
        loop {
            let end = rest.iter().position(|step| *step == Step::Inside);
            let (part, behind) = rest.split_at(end.unwrap_or(rest.len()));
            text.push_str(
                Self(part.to_vec()).in_filter().strip_prefix('.').unwrap_or(&Self(part.to_vec()).in_filter()),
            );
            match behind.split_first() {
                Some((_, behind)) => {
                    text.push_str(" › ");
                    rest = behind;
                }
                None => return text,
            }
        }
    }
}

/// Whether the filter language takes a key without quotes.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '/'))
}

/// A text in quotes, as the filter language reads it.
pub(crate) fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if tap_text::is_hidden(c) && u32::from(c) <= 0xffff => {
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Where values stand in a message. What is inside a value is read when it is first asked for, and once.
pub(crate) struct Places<'a> {
    bytes: &'a [u8],
    /// What is inside values, by where they begin.
    inside: HashMap<usize, Inside<'a>>,
}

/// What is directly inside a value.
enum Inside<'a> {
    Members(HashMap<Cow<'a, str>, Node<'a>>),
    Elements(Vec<Node<'a>>),
}

impl<'a> Places<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, inside: HashMap::new() }
    }

    /// The places of a value that a JSON Pointer names, and of all around it, the innermost first, bytes. What is not there
    /// is passed over: what lacks is told of what it lacks in.
    pub(crate) fn of(&mut self, pointer: &str) -> Vec<usize> {
        let base = self.bytes.as_ptr() as usize;
        let place = |node: Node<'_>| (node.bytes().as_ptr() as usize).saturating_sub(base);
        let mut node = Node::new(self.bytes);
        let mut places = vec![place(node)];
        for token in pointer.split('/').skip(1) {
            let key = token.replace("~1", "/").replace("~0", "~");
            let inside = self.inside.entry(place(node)).or_insert_with(|| match node.is_object() {
                // Of a key that is there twice the last one counts, as nearly all readers have it.
                true => Inside::Members(node.members().map(|(key, value)| (key.text(), value)).collect()),
                false => Inside::Elements(node.elements().collect()),
            });
            let next = match inside {
                Inside::Members(members) => members.get(key.as_str()),
                Inside::Elements(elements) => key.parse::<usize>().ok().and_then(|index| elements.get(index)),
            };
            match next {
                Some(next) => node = *next,
                None => break,
            }
            places.push(place(node));
        }
        places.reverse();
        places
    }

    /// How many values were read.
    #[cfg(test)]
    pub(crate) fn n_read(&self) -> usize {
        self.inside.len()
    }
}

/// What the text of a string says, from its begin up to some place in it: its bytes, decoded one by one.
pub(super) fn decoded_bytes(written: &[u8]) -> Vec<u8> {
    // Half an escape at its end says nothing yet.
    let mut text = Vec::with_capacity(written.len() + 2);
    text.push(b'"');
    text.extend_from_slice(written);
    let n_slashes = written.iter().rev().take_while(|byte| **byte == b'\\').count();
    if n_slashes % 2 == 1 {
        text.pop();
    }
    text.push(b'"');
    tap_jsonrpc::decode_string(&text).into_owned().into_bytes()
}
