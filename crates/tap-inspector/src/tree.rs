//! JSON as lines that fold. Nothing is changed but white space: numbers, duplicate keys and the order of keys stay.
//!
//! What is known about a place, such as how it breaks a schema, stands on a line of its own right under it.

mod blob;
mod build;
mod path;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_session::At;

use crate::data::Tone;
pub(crate) use blob::{Blob, decoded};
pub(crate) use path::{Path, Places, Step, quoted};

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
    TextLine(String, TextKind),
    /// Bytes that are written as base64.
    Blob(Blob),
    /// What is said about the value above.
    Mark(Mark),
    /// What stands for all that is not shown.
    Cut(String),
}

/// What a line of a text is, where the text is Markdown. A text that is none has few lines that look so.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TextKind {
    Plain,
    Heading,
    /// Between two fences.
    Code,
}

/// Something that is said about a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) text: String,
    pub(crate) tone: Tone,
    /// The message that says why, such as the one with the schema.
    pub(crate) goes_to: Option<At>,
}

/// Marks by the place in the message that they are about, bytes.
pub(crate) type Marks = BTreeMap<usize, Vec<Mark>>;

/// A line of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TreeLine {
    pub(crate) depth: usize,
    pub(crate) key: Option<String>,
    pub(crate) content: Content,
    /// Where its value begins, bytes; of a container both its lines have the same.
    pub(crate) offset: usize,
    /// Where its key begins, or its value where it has none.
    begin: usize,
    /// The line that opens the container that it is in.
    parent: Option<usize>,
    /// Where it stands in its array.
    index: Option<usize>,
    /// Where the string begins that it is the text of.
    inside: Option<usize>,
}

/// A message as a tree.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    bytes: Arc<[u8]>,
    folded: BTreeSet<usize>,
    lines: Vec<TreeLine>,
    /// JSON inside strings is opened up too.
    opens_strings: bool,
    marks: Marks,
}

impl Tree {
    pub(crate) fn new(bytes: Arc<[u8]>, opens_strings: bool) -> Self {
        let (folded, lines, marks) = (BTreeSet::new(), Vec::new(), Marks::new());
        let mut tree = Self { bytes, folded, lines, opens_strings, marks };
        tree.build();
        tree
    }

    /// Opens up JSON inside strings, or shows it as the text that it is.
    pub(crate) fn set_opens_strings(&mut self, opens_strings: bool) {
        self.opens_strings = opens_strings;
        self.build();
    }

    /// Puts marks under what they are about. The line that is given stays the same, wherever it is then.
    pub(crate) fn set_marks(&mut self, marks: Marks, line: usize) -> usize {
        if self.marks == marks {
            return line;
        }
        let before = self.lines.get(line).cloned();
        self.marks = marks;
        self.build();
        let same = |other: &TreeLine| {
            before.as_ref().is_some_and(|before| {
                (before.offset, &before.content, &before.key) == (other.offset, &other.content, &other.key)
            })
        };
        self.lines.iter().position(same).unwrap_or(line)
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
        self.lines.get(line)?.parent
    }

    /// Where the value of a line stands.
    pub(crate) fn path(&self, line: usize) -> Path {
        let mut steps = Vec::new();
        // The end of a container is where the container is.
        let opener = |at: &usize| {
            let end = self.lines.get(*at).filter(|line| matches!(line.content, Content::Close(_)))?;
            let is_it = |line: &TreeLine| line.offset == end.offset && line.parent == end.parent;
            (0..*at).rev().find(|index| self.lines.get(*index).is_some_and(is_it))
        };
        let first = opener(&line).unwrap_or(line);
        let mut at = Some(first);
        while let Some((index, line)) = at.and_then(|at| Some((at, self.lines.get(at)?))) {
            let parent = line.parent.and_then(|parent| self.lines.get(parent));
            if line.inside.is_some() && parent.and_then(|parent| parent.inside) != line.inside && index != first {
                // The line of a string: what came so far is inside its text.
                steps.push(Step::Inside);
            }
            if !matches!(line.content, Content::TextLine(..) | Content::Mark(_)) {
                match (&line.key, line.index) {
                    (Some(key), _) => steps.push(Step::Key(key.clone())),
                    (None, Some(index)) => steps.push(Step::Index(index)),
                    (None, None) => {}
                }
            }
            at = line.parent;
        }
        steps.reverse();
        Path(steps)
    }

    /// The value of a line as it was written, or as it stands in the text of a string. `None` where it was cut off.
    pub(crate) fn value(&self, line: usize) -> Option<Vec<u8>> {
        let line = self.lines.get(line)?;
        let Some(string) = line.inside.filter(|string| *string < line.offset) else {
            return value_at(&self.bytes, line.offset);
        };
        let text = Node::new(self.bytes.get(string..)?).text()?;
        value_at(text.as_bytes(), line.offset.checked_sub(string + 1)?)
    }

    /// The line that shows a place in the bytes, with all unfolded that hides it.
    pub(crate) fn reveal(&mut self, at: usize) -> usize {
        for _ in 0..=build::DEPTH {
            let line = self.line_of(at);
            let hidden = self.lines.get(line).filter(|line| matches!(line.content, Content::Folded(..)));
            match hidden.map(|line| line.offset) {
                Some(offset) if offset < at && self.folded.remove(&offset) => self.build(),
                _ => return line,
            }
        }
        self.line_of(at)
    }

    /// The line that shows a place in the bytes, or what hides it.
    pub(crate) fn line_of(&self, at: usize) -> usize {
        let is_place = |line: &TreeLine| !matches!(line.content, Content::Close(_) | Content::Mark(_));
        let places = self.lines.iter().enumerate().filter(|(_, line)| is_place(line));
        // In order of their places: inside a string they are nearer to its begin than they were written.
        let Some((found, line)) = places.clone().take_while(|(_, line)| line.begin <= at).last() else {
            return 0;
        };
        let string = line.inside.unwrap_or(line.offset);
        let decoded = path::decoded_bytes(self.bytes.get(string + 1..at).unwrap_or_default());
        match &line.content {
            _ if line.inside.is_some() => {
                let at = string + 1 + decoded.len();
                let mut in_it = places.filter(|(_, line)| line.inside == Some(string) && line.begin <= at);
                in_it.next_back().map_or(found, |(index, _)| index)
            }
            Content::TextLine(..) => {
                let first = self.lines.iter().position(|line| line.offset == string).unwrap_or(found);
                // Its first line opens it.
                let n_lines = decoded.iter().filter(|byte| **byte == b'\n').count();
                (first + 1 + n_lines).min(found)
            }
            _ => found,
        }
    }
}

/// The value that begins at a place, with its end.
fn value_at(bytes: &[u8], offset: usize) -> Option<Vec<u8>> {
    let base = bytes.as_ptr() as usize;
    let mut node = Node::new(bytes);
    // Each step goes into the one value that holds the place.
    loop {
        let begin = (node.bytes().as_ptr() as usize).checked_sub(base)?;
        if begin == offset {
            return (!node.bytes().is_empty()).then(|| node.bytes().to_vec());
        }
        let holds = |value: &Node<'_>| {
            let begin = (value.bytes().as_ptr() as usize).saturating_sub(base);
            (begin..begin + value.bytes().len()).contains(&offset)
        };
        node = if node.is_object() {
            node.members().map(|(_, value)| value).find(holds)?
        } else {
            node.elements().find(holds)?
        };
    }
}
