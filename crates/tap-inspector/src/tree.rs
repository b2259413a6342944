//! JSON as lines that fold. Nothing is changed but white space: numbers, duplicate keys and the order of keys stay.

use std::collections::BTreeSet;

use tap_jsonrpc::{Node, NodeKind};

/// How deep a tree is opened up. What lies deeper stands on one line.
const DEPTH: usize = 64;

/// How many lines a tree has at most. People do not read more, and a peer can send any number.
const LINES: usize = 50_000;

/// How many bytes of one string are shown on its line; the rest is cut at the edge of the screen anyway.
const STRING_BYTES: usize = 4_096;

/// How many lines of a text inside a string are opened up.
const TEXT_LINES: usize = 2_000;

/// What a line is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// A string.
    Text(String),
    /// A number, `true`, `false`, `null`, as it was written.
    Literal(String),
    /// A container that is open: its sign.
    Open(&'static str),
    /// One that is folded: its signs, and how many members or elements it has.
    Folded(&'static str, usize),
    /// One without anything in it.
    Empty(&'static str),
    /// The end of one.
    Close(&'static str),
    /// A line of a text inside a string.
    TextLine(String),
    /// What stands for all that is not shown.
    Cut(String),
}

/// A line of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeLine {
    pub(crate) depth: usize,
    pub(crate) key: Option<String>,
    pub(crate) content: Content,
    /// Where its value begins, bytes; of a container both its lines have the same.
    pub(crate) offset: usize,
}

/// A message as a tree.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    bytes: Vec<u8>,
    folded: BTreeSet<usize>,
    lines: Vec<TreeLine>,
}

impl Tree {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        let mut tree = Self { bytes, folded: BTreeSet::new(), lines: Vec::new() };
        tree.build();
        tree
    }

    pub(crate) fn lines(&self) -> &[TreeLine] {
        &self.lines
    }

    /// Folds or unfolds what a line shows. False where there is nothing to fold.
    pub(crate) fn toggle(&mut self, line: usize) -> bool {
        let Some(line) = self.lines.get(line) else {
            return false;
        };
        if !matches!(line.content, Content::Open(_) | Content::Close(_) | Content::Folded(..)) {
            return false;
        }
        let offset = line.offset;
        if !self.folded.remove(&offset) {
            self.folded.insert(offset);
        }
        self.build();
        true
    }

    /// The line on which the container of this line begins.
    pub(crate) fn parent(&self, line: usize) -> Option<usize> {
        let depth = self.lines.get(line)?.depth.checked_sub(1)?;
        (0..line).rev().find(|index| self.lines.get(*index).is_some_and(|line| line.depth == depth))
    }

    fn build(&mut self) {
        let mut builder = Builder { base: self.bytes.as_ptr() as usize, folded: &self.folded, lines: Vec::new() };
        builder.node(None, Node::new(&self.bytes), 0);
        self.lines = builder.lines;
    }
}

struct Builder<'a> {
    /// The address of the first byte.
    base: usize,
    folded: &'a BTreeSet<usize>,
    lines: Vec<TreeLine>,
}

impl Builder<'_> {
    /// Adds a line; false when there are enough.
    fn line(&mut self, depth: usize, key: Option<String>, content: Content, offset: usize) -> bool {
        match self.lines.len() {
            0..LINES => self.lines.push(TreeLine { depth, key, content, offset }),
            LINES => {
                let content = Content::Cut("more lines than are shown; see the raw form".into());
                self.lines.push(TreeLine { depth: 0, key: None, content, offset });
            }
            _ => return false,
        }
        true
    }

    fn node(&mut self, key: Option<String>, node: Node<'_>, depth: usize) -> bool {
        let offset = (node.bytes().as_ptr() as usize).saturating_sub(self.base);
        let content = match node.kind() {
            NodeKind::String => return self.string(key, node, depth, offset),
            NodeKind::Object | NodeKind::Array => return self.container(key, node, depth, offset),
            NodeKind::Invalid => Content::Cut("no JSON".into()),
            _ => Content::Literal(beginning(&String::from_utf8_lossy(node.bytes()))),
        };
        self.line(depth, key, content, offset)
    }

    fn string(&mut self, key: Option<String>, node: Node<'_>, depth: usize, offset: usize) -> bool {
        let Some(text) = node.text() else {
            return self.line(depth, key, Content::Literal(beginning(&String::from_utf8_lossy(node.bytes()))), offset);
        };
        if !text.trim_end().contains('\n') {
            return self.line(depth, key, Content::Text(beginning(&text)), offset);
        }
        // A text of several lines is shown as the text that it is.
        if !self.line(depth, key, Content::Open("\"\"\""), offset) {
            return false;
        }
        if !self.folded.contains(&offset) {
            let mut lines = text.lines();
            for line in lines.by_ref().take(TEXT_LINES) {
                if !self.line(depth + 1, None, Content::TextLine(beginning(line)), offset) {
                    return false;
                }
            }
            if let n_more @ 1.. = lines.count() {
                self.line(depth + 1, None, Content::Cut(format!("{n_more} more lines")), offset);
            }
        }
        self.line(depth, None, Content::Close("\"\"\""), offset)
    }

    fn container(&mut self, key: Option<String>, node: Node<'_>, depth: usize, offset: usize) -> bool {
        let is_object = node.is_object();
        let (open, close, both) = if is_object { ("{", "}", "{}") } else { ("[", "]", "[]") };
        let n_inside = if is_object { node.members().count() } else { node.elements().count() };
        if n_inside == 0 {
            return self.line(depth, key, Content::Empty(both), offset);
        }
        if self.folded.contains(&offset) || depth >= DEPTH {
            return self.line(depth, key, Content::Folded(both, n_inside), offset);
        }
        if !self.line(depth, key, Content::Open(open), offset) {
            return false;
        }
        let whole = if is_object {
            node.members().all(|(key, value)| self.node(Some(beginning(&key.text())), value, depth + 1))
        } else {
            node.elements().all(|value| self.node(None, value, depth + 1))
        };
        whole && self.line(depth, None, Content::Close(close), offset)
    }
}

fn beginning(text: &str) -> String {
    match text.len() {
        0..=STRING_BYTES => text.into(),
        _ => format!("{}…", &text[..text.floor_char_boundary(STRING_BYTES)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(tree: &Tree) -> String {
        let line = |line: &TreeLine| {
            let content = match &line.content {
                Content::Text(text) => format!("{text:?}"),
                Content::Literal(text) | Content::TextLine(text) | Content::Cut(text) => text.clone(),
                Content::Open(sign) | Content::Close(sign) | Content::Empty(sign) => (*sign).into(),
                Content::Folded(sign, n) => format!("{sign} {n}"),
            };
            let key = line.key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
            format!("{}{key}{content}\n", "  ".repeat(line.depth))
        };
        tree.lines().iter().map(line).collect()
    }

    #[test]
    fn a_message_is_opened_up_and_folds() {
        let text = r#"{"a":1e400,"a":[],"b":{"c":[true,"x"]},"t":"one\ntwo","n":null}"#;
        let mut tree = Tree::new(text.as_bytes().to_vec());
        let expected = "{\n  a: 1e400\n  a: []\n  b: {\n    c: [\n      true\n      \"x\"\n    ]\n  }\n  t: \"\"\"\n    one\n    two\n  \"\"\"\n  n: null\n}\n";
        assert_eq!(drawn(&tree), expected);
        assert!(!tree.toggle(1), "a number does not fold");
        assert!(tree.toggle(3));
        assert_eq!(tree.lines()[3].content, Content::Folded("{}", 1));
        assert_eq!(tree.parent(3), Some(0));
        assert!(tree.toggle(3));
        assert_eq!(drawn(&tree), expected);
    }

    #[test]
    fn hostile_json_costs_a_bounded_number_of_lines() {
        let deep = "[".repeat(100_000);
        assert!(Tree::new(deep.into_bytes()).lines().len() < 200);
        let wide = format!("[{}1]", "1,".repeat(200_000));
        assert_eq!(Tree::new(wide.into_bytes()).lines().len(), LINES + 1);
        let long = format!("\"{}\"", "x".repeat(1_000_000));
        assert!(matches!(&Tree::new(long.into_bytes()).lines()[0].content, Content::Text(text) if text.len() < 5_000));
        for text in ["", "nonsense", "{\"a\":", "\"\\ud800\"", "\u{feff}{}"] {
            assert!(!Tree::new(text.as_bytes().to_vec()).lines().is_empty(), "{text}");
        }
    }
}
