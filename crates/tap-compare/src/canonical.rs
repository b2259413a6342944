//! A value in one spelling: what is the same under the dials is written alike.
//!
//! Members sorted by key, numbers by value, strings by what they say. Not JSON: strings are written with their length, so that
//! nothing can be mistaken for anything else.

use tap_jsonrpc::{Key, Node, NodeKind};

use crate::path::{PathPattern, Side, Step, Trail};
use crate::placeholder::has_placeholder;
use crate::rules::Dials;
use crate::scalar::{folded, key_said, number_in, said, write_number};

/// Deeper than this a value is taken as it is written.
pub(crate) const DEPTH_LIMIT: usize = 64;

/// Where a walk is in the patterns of the dials.
#[derive(Debug, Clone)]
pub(crate) struct Trails {
    pub(crate) ignore: Trail,
    pub(crate) volatile: Trail,
}

impl Trails {
    pub(crate) fn start(dials: &Dials, side: Side) -> Self {
        Self { ignore: Trail::start(&dials.ignore, side), volatile: Trail::start(&dials.volatile, side) }
    }

    pub(crate) fn step(&self, dials: &Dials, step: &Step) -> Self {
        Self { ignore: self.ignore.step(&dials.ignore, step), volatile: self.volatile.step(&dials.volatile, step) }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.ignore.is_dead() && self.volatile.is_dead()
    }

    pub(crate) fn is_ignored(&self, dials: &Dials) -> bool {
        self.ignore.is_end(&dials.ignore)
    }

    pub(crate) fn is_volatile(&self, dials: &Dials) -> bool {
        self.volatile.is_end(&dials.volatile)
    }
}

/// Writes values in one spelling.
pub(crate) struct Writer<'d> {
    dials: &'d Dials,
    pub(crate) out: Vec<u8>,
    /// Whether a string held a placeholder, so that being alike is not all that counts.
    pub(crate) has_placeholder: bool,
    /// Bytes that were walked over, once for each container around them.
    pub(crate) work_bytes: u64,
    /// Bytes that may be walked over.
    pub(crate) work_limit_bytes: u64,
}

impl<'d> Writer<'d> {
    pub(crate) fn new(dials: &'d Dials, work_limit_bytes: u64) -> Self {
        Self { dials, out: Vec::new(), has_placeholder: false, work_bytes: 0, work_limit_bytes }
    }

    /// Writes a value. When there was too much work, what is left is written as it is.
    pub(crate) fn write(&mut self, node: Node<'_>, trails: &Trails, depth: usize) {
        if trails.is_volatile(self.dials) {
            return self.out.extend_from_slice(b"?;");
        }
        let is_container = node.is_object() || node.is_array();
        if is_container {
            self.work_bytes = self.work_bytes.saturating_add(node.bytes().len() as u64);
            if depth > DEPTH_LIMIT || self.work_bytes > self.work_limit_bytes {
                return self.piece(b'!', node.bytes());
            }
        }
        match node.kind() {
            NodeKind::Object => self.members(node.members(), trails, depth),
            NodeKind::Array => {
                self.out.push(b'[');
                for (index, value) in node.elements().enumerate() {
                    let below = self.below(trails, || Step::Element(index));
                    let below = below.as_ref().unwrap_or(trails);
                    if !below.is_ignored(self.dials) {
                        self.write(value, below, depth + 1);
                    }
                }
                self.out.push(b']');
            }
            NodeKind::String => self.string(node),
            NodeKind::Number => {
                self.out.push(b'#');
                write_number(node.bytes(), &mut self.out);
                self.out.push(b';');
            }
            NodeKind::True => self.out.extend_from_slice(b"T;"),
            NodeKind::False => self.out.extend_from_slice(b"F;"),
            NodeKind::Null => self.out.extend_from_slice(b"N;"),
            NodeKind::Invalid => self.piece(b'!', node.bytes()),
        }
    }

    /// Writes an object without some of its own members.
    pub(crate) fn write_without(&mut self, object: Node<'_>, trails: &Trails, left_out: &[&str]) {
        let members = object.members().filter(|(key, _)| !left_out.iter().any(|this| key.is(this)));
        self.members(members, trails, 0);
    }

    fn members<'a>(&mut self, members: impl Iterator<Item = (Key<'a>, Node<'a>)>, trails: &Trails, depth: usize) {
        let mut members: Vec<_> = members.map(|(key, value)| (key_said(key), key, value)).collect();
        members.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        self.out.push(b'{');
        for (said, key, value) in members {
            let below = self.below(trails, || Step::Member(key.text().into_owned()));
            let below = below.as_ref().unwrap_or(trails);
            if !below.is_ignored(self.dials) {
                self.piece(b'k', &said);
                self.write(value, below, depth + 1);
            }
        }
        self.out.push(b'}');
    }

    fn below(&self, trails: &Trails, step: impl FnOnce() -> Step) -> Option<Trails> {
        (!trails.is_dead()).then(|| trails.step(self.dials, &step()))
    }

    fn string(&mut self, node: Node<'_>) {
        let said = said(node.bytes());
        let text = node.text().unwrap_or_default();
        self.has_placeholder |= has_placeholder(&text);
        if self.dials.numbers
            && let Some(number) = number_in(&text)
        {
            self.out.push(b'#');
            write_number(number, &mut self.out);
            return self.out.push(b';');
        }
        if self.dials.case || self.dials.space {
            let folded = folded(&text, self.dials.case, self.dials.space);
            return self.piece(b'"', folded.as_bytes());
        }
        self.piece(b'"', &said);
    }

    fn piece(&mut self, letter: u8, bytes: &[u8]) {
        self.out.push(letter);
        self.out.extend_from_slice(bytes.len().to_string().as_bytes());
        self.out.push(b':');
        self.out.extend_from_slice(bytes);
    }

    /// Writes only what some patterns lead to, with the place in front.
    pub(crate) fn write_chosen(&mut self, node: Node<'_>, chosen: &[PathPattern], side: Side, root: &[Step]) {
        let trails = root.iter().fold(Trails::start(self.dials, side), |trails, step| trails.step(self.dials, step));
        let start = root.iter().fold(Trail::start(chosen, side), |trail, step| trail.step(chosen, step));
        self.choose(node, chosen, &start, &trails, 0);
    }

    fn choose(&mut self, node: Node<'_>, chosen: &[PathPattern], trail: &Trail, trails: &Trails, depth: usize) {
        if trail.is_dead() || depth > DEPTH_LIMIT || trails.is_ignored(self.dials) {
            return;
        }
        if trail.is_end(chosen) {
            return self.write(node, trails, depth);
        }
        let mut members: Vec<_> = node.members().map(|(key, value)| (key_said(key), key, value)).collect();
        members.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        self.out.push(b'(');
        for (said, key, value) in members {
            let step = Step::Member(key.text().into_owned());
            let below = trail.step(chosen, &step);
            if !below.is_dead() {
                self.piece(b'k', &said);
                self.choose(value, chosen, &below, &trails.step(self.dials, &step), depth + 1);
            }
        }
        for (index, value) in node.elements().enumerate() {
            let step = Step::Element(index);
            let below = trail.step(chosen, &step);
            if !below.is_dead() {
                self.piece(b'e', index.to_string().as_bytes());
                self.choose(value, chosen, &below, &trails.step(self.dials, &step), depth + 1);
            }
        }
        self.out.push(b')');
    }
}
