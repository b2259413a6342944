//! Writing some values of a message otherwise. All other bytes stay.

use std::ops::Range;

use tap_jsonrpc::Node;

/// How deep texts are looked for.
const DEPTH_LIMIT: usize = 128;

/// What is written otherwise in a message.
pub(super) struct Edits<'a> {
    message: &'a [u8],
    edits: Vec<(Range<usize>, Vec<u8>)>,
}

impl<'a> Edits<'a> {
    pub(super) fn new(message: &'a [u8]) -> Self {
        Self { message, edits: Vec::new() }
    }

    /// A value of the message, which is part of its bytes, becomes another.
    pub(super) fn replace(&mut self, value: &[u8], by: Vec<u8>) {
        let start = (value.as_ptr() as usize).wrapping_sub(self.message.as_ptr() as usize);
        if let Some(end) = start.checked_add(value.len()).filter(|end| *end <= self.message.len()) {
            self.edits.push((start..end, by));
        }
    }

    /// Something is put in behind a place of the message, which is a part of its bytes.
    pub(super) fn insert_behind(&mut self, part: &[u8], new: Vec<u8>) {
        self.replace(part.get(part.len()..).unwrap_or_default(), new);
    }

    /// Texts below a value become what `new` says, JSON.
    pub(super) fn texts(&mut self, node: Node<'_>, new: &mut dyn FnMut(&str) -> Option<Vec<u8>>) {
        self.texts_at(node, 0, new);
    }

    fn texts_at(&mut self, node: Node<'_>, depth: usize, new: &mut dyn FnMut(&str) -> Option<Vec<u8>>) {
        if depth > DEPTH_LIMIT {
            return;
        }
        if node.is_object() {
            node.members().for_each(|(_, value)| self.texts_at(value, depth + 1, new));
        } else if node.is_array() {
            node.elements().for_each(|value| self.texts_at(value, depth + 1, new));
        } else if let Some(text) = node.text()
            && let Some(by) = new(&text)
        {
            self.replace(node.bytes(), by);
        }
    }

    /// The message with all of that. Of two edits of one place the first holds.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.edits.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = Vec::with_capacity(self.message.len());
        let mut at = 0;
        for (range, by) in self.edits {
            if range.start < at {
                continue;
            }
            out.extend_from_slice(&self.message[at..range.start]);
            out.extend_from_slice(&by);
            at = range.end;
        }
        out.extend_from_slice(&self.message[at..]);
        out
    }
}

/// A text as JSON.
pub(super) fn json_text(text: &str) -> Vec<u8> {
    serde_json::Value::from(text).to_string().into_bytes()
}
