//! JSON as lines that fold. Nothing is changed but white space: numbers, duplicate keys and the order of keys stay.

use std::collections::BTreeSet;
use std::sync::Arc;

use tap_jsonrpc::{Node, NodeKind, Progress, Scanner};

/// How deep a tree is opened up. What lies deeper stands on one line.
const DEPTH: usize = 64;

/// How many lines a tree has at most. People do not read more, and a peer can send any number.
const LINES: usize = 50_000;

/// How many bytes of one string are shown on its line; the rest is cut at the edge of the screen anyway.
const STRING_BYTES: usize = 4_096;

/// How many lines of a text inside a string are opened up.
const TEXT_LINES: usize = 2_000;

/// How long a string may be to be looked at as JSON, bytes.
const INNER_BYTES: usize = 1024 * 1024;

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
    bytes: Arc<[u8]>,
    folded: BTreeSet<usize>,
    lines: Vec<TreeLine>,
    /// JSON inside strings is opened up too.
    opens_strings: bool,
}

impl Tree {
    pub(crate) fn new(bytes: Arc<[u8]>, opens_strings: bool) -> Self {
        let mut tree = Self { bytes, folded: BTreeSet::new(), lines: Vec::new(), opens_strings };
        tree.build();
        tree
    }

    /// Opens up JSON inside strings, or shows it as the text that it is.
    pub(crate) fn set_opens_strings(&mut self, opens_strings: bool) {
        self.opens_strings = opens_strings;
        self.build();
    }

    /// Whether it is the tree of these bytes.
    pub(crate) fn is_of(&self, bytes: &[u8]) -> bool {
        *self.bytes == *bytes
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
        let mut builder = Builder { folded: &self.folded, opens_strings: self.opens_strings, lines: Vec::new() };
        // The beginning of a message that is cut off is shown as far as it goes.
        let progress = progress(&self.bytes);
        match progress {
            Progress::Complete | Progress::Inside => {
                let place = Place { base: self.bytes.as_ptr() as usize, add: 0, quote: "" };
                builder.node(None, Node::new(&self.bytes), 0, place);
            }
            Progress::Blank => {
                builder.line(0, None, Content::Cut("nothing".into()), 0);
            }
            Progress::Failed => {
                builder.text_lines(&String::from_utf8_lossy(&self.bytes), 0, 0);
            }
        }
        if progress == Progress::Inside {
            builder.line(0, None, Content::Cut("not all of it is here".into()), self.bytes.len());
        }
        self.lines = builder.lines;
    }
}

/// How far bytes are JSON.
fn progress(bytes: &[u8]) -> Progress {
    let mut scanner = Scanner::new(&[]);
    scanner.feed(bytes);
    scanner.progress()
}

/// Where a value stands.
#[derive(Clone, Copy)]
struct Place {
    /// The address of the first byte of the text that it is in.
    base: usize,
    /// Where that text begins in the message. Decoded it is not longer than written, so that no two places are the same.
    add: usize,
    /// What stands around it when it is the text of a string.
    quote: &'static str,
}

impl Place {
    fn offset(self, node: Node<'_>) -> usize {
        (node.bytes().as_ptr() as usize).saturating_sub(self.base).saturating_add(self.add)
    }
}

struct Builder<'a> {
    folded: &'a BTreeSet<usize>,
    opens_strings: bool,
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

    fn node(&mut self, key: Option<String>, node: Node<'_>, depth: usize, place: Place) -> bool {
        let offset = place.offset(node);
        let content = match node.kind() {
            NodeKind::String => return self.string(key, node, depth, offset),
            NodeKind::Object | NodeKind::Array => return self.container(key, node, depth, place),
            NodeKind::Invalid if node.bytes().is_empty() => Content::Cut("cut off here".into()),
            NodeKind::Invalid => Content::Cut(beginning(&String::from_utf8_lossy(node.bytes()))),
            _ => Content::Literal(beginning(&String::from_utf8_lossy(node.bytes()))),
        };
        self.line(depth, key, content, offset)
    }

    fn string(&mut self, key: Option<String>, node: Node<'_>, depth: usize, offset: usize) -> bool {
        let Some(text) = node.text() else {
            return self.line(depth, key, Content::Literal(beginning(&String::from_utf8_lossy(node.bytes()))), offset);
        };
        if self.opens_strings
            && text.len() <= INNER_BYTES
            && text.trim_start().starts_with(['{', '['])
            && progress(text.as_bytes()) == Progress::Complete
        {
            let place = Place { base: text.as_ptr() as usize, add: offset + 1, quote: "\"" };
            return self.node(key, Node::new(text.as_bytes()), depth, place);
        }
        if !text.trim_end().contains('\n') {
            return self.line(depth, key, Content::Text(beginning(&text)), offset);
        }
        // A text of several lines is shown as the text that it is.
        if !self.line(depth, key, Content::Open("\"\"\""), offset) {
            return false;
        }
        if !self.folded.contains(&offset) && !self.text_lines(&text, depth + 1, offset) {
            return false;
        }
        self.line(depth, None, Content::Close("\"\"\""), offset)
    }

    fn text_lines(&mut self, text: &str, depth: usize, offset: usize) -> bool {
        let mut lines = text.lines();
        for line in lines.by_ref().take(TEXT_LINES) {
            if !self.line(depth, None, Content::TextLine(beginning(line)), offset) {
                return false;
            }
        }
        match lines.count() {
            0 => true,
            n_more => self.line(depth, None, Content::Cut(format!("{n_more} more lines")), offset),
        }
    }

    fn container(&mut self, key: Option<String>, node: Node<'_>, depth: usize, place: Place) -> bool {
        let offset = place.offset(node);
        let is_object = node.is_object();
        // JSON that is the text of a string keeps its quotes, so that it is seen to be one.
        let (open, close, both) = match (is_object, place.quote.is_empty()) {
            (true, true) => ("{", "}", "{}"),
            (false, true) => ("[", "]", "[]"),
            (true, false) => ("\"{", "}\"", "\"{}\""),
            (false, false) => ("\"[", "]\"", "\"[]\""),
        };
        let inside = Place { quote: "", ..place };
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
            node.members().all(|(key, value)| self.node(Some(beginning(&key.text())), value, depth + 1, inside))
        } else {
            node.elements().all(|value| self.node(None, value, depth + 1, inside))
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
        let mut tree = Tree::new(text.as_bytes().into(), true);
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
    fn json_in_a_string_is_opened_up_or_not() {
        let text = r#"{"text":"{\"a\":[1,\"[2]\"]}","b":"{no"}"#;
        let mut tree = Tree::new(text.as_bytes().into(), true);
        let opened =
            "{\n  text: \"{\n    a: [\n      1\n      \"[\n        2\n      ]\"\n    ]\n  }\"\n  b: \"{no\"\n}\n";
        assert_eq!(drawn(&tree), opened);
        assert!(tree.toggle(4), "inside it folds too");
        assert_eq!(tree.lines()[4].content, Content::Folded("\"[]\"", 1));
        tree.set_opens_strings(false);
        assert_eq!(drawn(&tree), "{\n  text: \"{\\\"a\\\":[1,\\\"[2]\\\"]}\"\n  b: \"{no\"\n}\n");
    }

    #[test]
    fn what_is_no_json_is_shown_as_its_text() {
        for (text, expected) in [
            ("cache warmed in 12 ms\n", "cache warmed in 12 ms\n"),
            ("[INFO] started", "[INFO] started\n"),
            ("one\ntwo", "one\ntwo\n"),
            (" ", "nothing\n"),
            (r#"{"a":1,"b":"#, "{\n  a: 1\n}\nnot all of it is here\n"),
        ] {
            assert_eq!(drawn(&Tree::new(text.as_bytes().into(), true)), expected, "{text}");
        }
    }

    #[test]
    fn hostile_json_costs_a_bounded_number_of_lines() {
        let deep = "[".repeat(100_000);
        assert!(Tree::new(deep.into_bytes().into(), true).lines().len() < 200);
        let wide = format!("[{}1]", "1,".repeat(200_000));
        assert_eq!(Tree::new(wide.into_bytes().into(), true).lines().len(), LINES + 1);
        let long = format!("\"{}\"", "x".repeat(1_000_000));
        assert!(
            matches!(&Tree::new(long.into_bytes().into(), true).lines()[0].content, Content::Text(text) if text.len() < 5_000)
        );
        for text in ["", "nonsense", "{\"a\":", "\"\\ud800\"", "\u{feff}{}"] {
            assert!(!Tree::new(text.as_bytes().into(), true).lines().is_empty(), "{text}");
        }
    }
}
