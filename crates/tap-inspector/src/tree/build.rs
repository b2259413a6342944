//! Making the lines of a tree.

use std::collections::BTreeSet;

use tap_jsonrpc::{Node, NodeKind, Progress, Scanner};

use super::{Blob, Content, Marks, TextKind, Tree, TreeLine};

/// How deep a tree is opened up. What lies deeper stands on one line.
pub(super) const DEPTH: usize = 64;

/// How many lines a tree has at most. People do not read more, and a peer can send any number.
pub(super) const LINES: usize = 50_000;

/// How many bytes of one string are shown on its line; the rest is cut at the edge of the screen anyway.
const STRING_BYTES: usize = 4_096;

/// How many lines of a text inside a string are opened up.
const TEXT_LINES: usize = 2_000;

/// How long a string may be to be looked at as JSON, bytes.
const INNER_BYTES: usize = 1024 * 1024;

impl Tree {
    pub(super) fn build(&mut self) {
        let mut builder = Builder {
            folded: &self.folded,
            marks: &self.marks,
            opens_strings: self.opens_strings,
            lines: Vec::new(),
            parent: None,
            inside: None,
        };
        // The beginning of a message that is cut off is shown as far as it goes.
        let progress = progress(&self.bytes);
        match progress {
            Progress::Complete | Progress::Inside => {
                let place = Place { base: self.bytes.as_ptr() as usize, add: 0, quote: "" };
                builder.node(Name::default(), Node::new(&self.bytes), 0, place);
            }
            Progress::Blank => {
                builder.line(0, Name::default(), Content::Cut("nothing".into()), 0);
            }
            Progress::Failed => {
                builder.text_lines(&String::from_utf8_lossy(&self.bytes), 0, 0);
            }
        }
        if progress == Progress::Inside {
            builder.line(0, Name::default(), Content::Cut("not all of it is here".into()), self.bytes.len());
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
    fn offset(self, bytes: &[u8]) -> usize {
        (bytes.as_ptr() as usize).saturating_sub(self.base).saturating_add(self.add)
    }
}

/// What a value is called: its key, or its place in its array.
#[derive(Default)]
struct Name<'a> {
    key: Option<String>,
    /// Where the key begins.
    begin: Option<usize>,
    index: Option<usize>,
    /// The type of the bytes beside which it stands.
    mime_type: Option<&'a str>,
}

struct Builder<'a> {
    folded: &'a BTreeSet<usize>,
    marks: &'a Marks,
    opens_strings: bool,
    lines: Vec<TreeLine>,
    /// The line that opens the container at hand.
    parent: Option<usize>,
    /// Where the string begins whose text is at hand.
    inside: Option<usize>,
}

impl Builder<'_> {
    /// Adds a line; false when there are enough.
    fn line(&mut self, depth: usize, name: Name<'_>, content: Content, offset: usize) -> bool {
        let Name { key, begin, index, .. } = name;
        let (parent, inside, begin) = (self.parent, self.inside, begin.unwrap_or(offset));
        match self.lines.len() {
            0..LINES => self.lines.push(TreeLine { depth, key, content, offset, begin, parent, index, inside }),
            LINES => {
                let content = Content::Cut("more lines than are shown; see the raw form".into());
                let (key, parent, index, inside) = (None, None, None, None);
                self.lines.push(TreeLine { depth: 0, key, content, offset, begin, parent, index, inside });
            }
            _ => return false,
        }
        true
    }

    /// Says what is said of places from `from` on and before `to`.
    fn say(&mut self, depth: usize, from: usize, to: usize) -> bool {
        let marks = self.marks;
        let said = marks.range(from..to.max(from + 1)).flat_map(|(_, marks)| marks);
        said.into_iter().all(|mark| self.line(depth, Name::default(), Content::Mark(mark.clone()), from))
    }

    fn node(&mut self, name: Name<'_>, node: Node<'_>, depth: usize, place: Place) -> bool {
        let offset = place.offset(node.bytes());
        let content = match node.kind() {
            NodeKind::String => return self.string(name, node, depth, offset),
            NodeKind::Object | NodeKind::Array => return self.container(name, node, depth, place),
            NodeKind::Invalid if node.bytes().is_empty() => Content::Cut("cut off here".into()),
            NodeKind::Invalid => Content::Cut(beginning(&String::from_utf8_lossy(node.bytes()))),
            _ => Content::Literal(beginning(&String::from_utf8_lossy(node.bytes()))),
        };
        self.line(depth, name, content, offset) && self.say(depth, offset, offset)
    }

    fn string(&mut self, name: Name<'_>, node: Node<'_>, depth: usize, offset: usize) -> bool {
        let Some(text) = node.text() else {
            let content = Content::Literal(beginning(&String::from_utf8_lossy(node.bytes())));
            return self.line(depth, name, content, offset) && self.say(depth, offset, offset);
        };
        if let (Some(mime_type), Some(key)) = (name.mime_type, &name.key)
            && let Some(blob) = Blob::of(key, mime_type, &text)
        {
            return self.line(depth, name, Content::Blob(blob), offset) && self.say(depth, offset, offset);
        }
        if self.opens_strings
            && text.len() <= INNER_BYTES
            && text.trim_start().starts_with(['{', '['])
            && progress(text.as_bytes()) == Progress::Complete
        {
            let place = Place { base: text.as_ptr() as usize, add: offset + 1, quote: "\"" };
            // Inside a text that is inside another, places are those of the outer one.
            let outer = self.inside;
            self.inside = outer.or(Some(offset));
            let whole = self.node(name, Node::new(text.as_bytes()), depth, place);
            self.inside = outer;
            return whole && self.say(depth, offset, offset);
        }
        if !text.trim_end().contains('\n') {
            return self.line(depth, name, Content::Text(beginning(&text)), offset) && self.say(depth, offset, offset);
        }
        // A text of several lines is shown as the text that it is.
        if !self.line(depth, name, Content::Open("\"\"\""), offset) || !self.say(depth, offset, offset) {
            return false;
        }
        let outer = self.parent.replace(self.lines.len().saturating_sub(1));
        let whole = self.folded.contains(&offset) || self.text_lines(&text, depth + 1, offset);
        self.parent = outer;
        whole && self.line(depth, Name::default(), Content::Close("\"\"\""), offset)
    }

    fn text_lines(&mut self, text: &str, depth: usize, offset: usize) -> bool {
        let mut lines = text.lines();
        let mut in_code = false;
        for line in lines.by_ref().take(TEXT_LINES) {
            let is_fence = line.trim_start().starts_with("```");
            let kind = match in_code || is_fence {
                true => TextKind::Code,
                false if is_heading(line) => TextKind::Heading,
                false => TextKind::Plain,
            };
            in_code ^= is_fence;
            if !self.line(depth, Name::default(), Content::TextLine(beginning(line), kind), offset) {
                return false;
            }
        }
        match lines.count() {
            0 => true,
            n_more => self.line(depth, Name::default(), Content::Cut(format!("{n_more} more lines")), offset),
        }
    }

    fn container(&mut self, name: Name<'_>, node: Node<'_>, depth: usize, place: Place) -> bool {
        let offset = place.offset(node.bytes());
        let is_object = node.is_object();
        // JSON that is the text of a string keeps its quotes, so that it is seen to be one.
        let (open, close, both) = match (is_object, place.quote.is_empty()) {
            (true, true) => ("{", "}", "{}"),
            (false, true) => ("[", "]", "[]"),
            (true, false) => ("\"{", "}\"", "\"{}\""),
            (false, false) => ("\"[", "]\"", "\"[]\""),
        };
        let inside = Place { quote: "", ..place };
        let mut mime_type = None;
        let n_inside = match is_object {
            true => node
                .members()
                .inspect(|(key, value)| {
                    if key.is("mimeType") {
                        mime_type = value.text();
                    }
                })
                .count(),
            false => node.elements().count(),
        };
        if n_inside == 0 {
            return self.line(depth, name, Content::Empty(both), offset) && self.say(depth, offset, offset);
        }
        if self.folded.contains(&offset) || depth >= DEPTH {
            // What is said of places in it is said here.
            let end = offset + node.bytes().len();
            return self.line(depth, name, Content::Folded(both, n_inside), offset) && self.say(depth, offset, end);
        }
        if !self.line(depth, name, Content::Open(open), offset) {
            return false;
        }
        let outer = self.parent.replace(self.lines.len().saturating_sub(1));
        let mut whole = self.say(depth + 1, offset, offset);
        if is_object {
            whole = whole
                && node.members().all(|(key, value)| {
                    let begin = Some(place.offset(key.bytes()));
                    let key = Some(beginning(&key.text()));
                    let name = Name { key, begin, index: None, mime_type: mime_type.as_deref() };
                    self.node(name, value, depth + 1, inside)
                });
        } else {
            whole = whole
                && node.elements().enumerate().all(|(index, value)| {
                    let name = Name { index: Some(index), ..Name::default() };
                    self.node(name, value, depth + 1, inside)
                });
        }
        self.parent = outer;
        whole && self.line(depth, Name::default(), Content::Close(close), offset)
    }
}

/// Whether a line of Markdown is a heading.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let n_signs = line.len() - text.len();
    (1..=6).contains(&n_signs) && text.starts_with(' ')
}

fn beginning(text: &str) -> String {
    match text.len() {
        0..=STRING_BYTES => text.into(),
        _ => format!("{}…", &text[..text.floor_char_boundary(STRING_BYTES)]),
    }
}
