//! The walk through two values side by side.

use std::collections::HashMap;

use tap_jsonrpc::{Key, Node, NodeKind};

use crate::array::{Aligned, align};
use crate::canonical::{DEPTH_LIMIT, Trails};
use crate::difference::{Bound, Change, Comparison, Difference, Hidden, HiddenBy};
use crate::key::Request;
use crate::path::{Path, Side, Step};
use crate::placeholder::{Looks, Markers};
use crate::rules::{Depth, Dials};
use crate::scalar::{folded, holds_json, key_said, number_in, said, same_number};
use crate::status::Status;

/// Strings inside of JSON inside of strings, and so on: so many are opened.
const TEXT_LEVELS: usize = 4;

/// How many bytes may be walked over for each byte of the two messages.
const WORK_A_BYTE: u64 = 100;

/// As many bytes may be walked over in any case.
const LEAST_WORK_BYTES: u64 = 1 << 20;

/// How to compare.
#[derive(Debug, Clone, Copy)]
pub struct Options<'d> {
    /// What counts as the same.
    pub dials: &'d Dials,
    /// Which message of a call it is.
    pub side: Side,
    /// Whether values that look as if they changed on every run are hidden: UUIDs, times.
    pub hide_looks: bool,
    /// Whether placeholders stand for something. Not in a message that is marked as literal.
    pub placeholders: bool,
    /// Differences that are listed; all are counted.
    pub n_listed: usize,
}

impl<'d> Options<'d> {
    /// The usual ones: placeholders stand for something, nothing is hidden by its looks, 1,000 differences are listed.
    #[must_use]
    pub fn new(dials: &'d Dials, side: Side) -> Self {
        Self { dials, side, hide_looks: false, placeholders: true, n_listed: 1_000 }
    }
}

/// Compares two messages of JSON-RPC, each as it was on the wire.
///
/// Left out: `jsonrpc`, `id`, and of a request what its [`MatchKey`](crate::MatchKey) leaves out as well: `_meta`, a cursor, the
/// state and answers of a round, the id of a task. Of answers strings that hold JSON are compared as JSON.
/// What markers stand for is remembered in `markers`.
///
/// Cost: one pass over both for each level of nesting, at most; more only for arrays whose elements moved. Bounded by 100
/// passes.
#[must_use]
pub fn compare(a: &[u8], b: &[u8], options: &Options<'_>, markers: &mut Markers) -> Comparison {
    let mut walk = Walk::new(a.len() + b.len(), options, markers);
    let bytes_a = a;
    let (a, b) = (Node::new(a), Node::new(b));
    if options.dials.depth == Depth::Status && options.side == Side::Response {
        walk.statuses(a, b);
    } else {
        walk.root = true;
        if let Some(request) = Request::read(bytes_a).filter(|_| options.side == Side::Request) {
            walk.left_out = request.left_out();
        }
        walk.pair(a, b, &Trails::start(options.dials, options.side), 0);
    }
    walk.found
}

/// Compares two values that are not a whole message. `at` is where they are in theirs, such as `result.tools[0]`: rules are
/// asked with it, and paths begin with it.
#[must_use]
pub fn compare_values(a: Node<'_>, b: Node<'_>, at: &Path, options: &Options<'_>, markers: &mut Markers) -> Comparison {
    let mut walk = Walk::new(a.bytes().len() + b.bytes().len(), options, markers);
    let start = Trails::start(options.dials, options.side);
    let trails = at.0.iter().fold(start, |trails, step| trails.step(options.dials, step));
    walk.path = at.clone();
    walk.pair(a, b, &trails, 0);
    walk.found
}

pub(crate) struct Walk<'o, 'm> {
    pub(crate) options: &'o Options<'o>,
    markers: &'m mut Markers,
    /// Where it is, in B.
    path: Path,
    /// Where it is in A, once that is another place.
    path_in_a: Option<Path>,
    /// Whether it is at the message itself.
    root: bool,
    /// Members of a request's parameters that are no part of what is asked.
    left_out: &'static [&'static str],
    texts: usize,
    work_limit_bytes: u64,
    pub(crate) found: Comparison,
}

impl<'o, 'm> Walk<'o, 'm> {
    fn new(n_bytes: usize, options: &'o Options<'o>, markers: &'m mut Markers) -> Self {
        Self {
            options,
            markers,
            path: Path::default(),
            path_in_a: None,
            root: false,
            left_out: &["_meta"],
            texts: 0,
            work_limit_bytes: LEAST_WORK_BYTES.max(WORK_A_BYTE.saturating_mul(n_bytes as u64)),
            found: Comparison::default(),
        }
    }

    /// Bytes that may still be walked over.
    pub(crate) fn work_left_bytes(&self) -> u64 {
        self.work_limit_bytes.saturating_sub(self.found.work_bytes)
    }

    /// Does work, if there may be more.
    fn works(&mut self, n_bytes: usize) -> bool {
        self.found.work_bytes = self.found.work_bytes.saturating_add(n_bytes as u64);
        self.found.work_bytes <= self.work_limit_bytes
    }

    fn statuses(&mut self, a: Node<'_>, b: Node<'_>) {
        let (a, b) = (Status::of(Some(a)), Status::of(Some(b)));
        if a != b {
            let text = |status: Status| serde_json::to_vec(&status.to_string()).unwrap_or_default().into_boxed_slice();
            self.list(Change::Changed, Some(text(a)), Some(text(b)));
        }
    }

    fn pair(&mut self, a: Node<'_>, b: Node<'_>, trails: &Trails, depth: usize) {
        if a.bytes() == b.bytes() {
            return;
        }
        let dials = self.options.dials;
        if trails.is_ignored(dials) {
            return self.hide(HiddenBy::Ignored);
        }
        if trails.is_volatile(dials) {
            return self.hide(HiddenBy::Volatile);
        }
        if self.options.placeholders
            && let Some(fits) = self.placeholders(a, b)
        {
            return if fits { self.hide(HiddenBy::Placeholder) } else { self.differ(Change::Changed, a, b) };
        }
        match (a.kind(), b.kind()) {
            (NodeKind::Object, NodeKind::Object) | (NodeKind::Array, NodeKind::Array) => {
                let n_bytes = a.bytes().len() + b.bytes().len();
                let bound = match (depth < DEPTH_LIMIT, self.works(n_bytes)) {
                    (false, _) => Some(Bound::Depth),
                    (true, false) => Some(Bound::Work),
                    (true, true) => None,
                };
                if let Some(bound) = bound {
                    self.found.bounds.insert(bound);
                    return self.differ(Change::Changed, a, b);
                }
                match a.is_object() {
                    true => self.objects(a, b, trails, depth),
                    false => self.arrays(a, b, trails, depth),
                }
            }
            (NodeKind::String, NodeKind::String) => self.strings(a, b, trails, depth),
            (NodeKind::Number, NodeKind::Number) if same_number(a.bytes(), b.bytes()) => {}
            (one, other) => {
                if dials.numbers && self.same_loose_number(a, b) {
                    self.hide(HiddenBy::Loose);
                } else if !same_type(one, other) {
                    self.differ(Change::TypeChanged, a, b);
                } else {
                    self.scalars(a, b);
                }
            }
        }
    }

    fn placeholders(&mut self, a: Node<'_>, b: Node<'_>) -> Option<bool> {
        let pattern_in =
            |node: Node<'_>| node.text().filter(|text| text.contains('«')).map(std::borrow::Cow::into_owned);
        if let Some(pattern) = pattern_in(a)
            && let Some(fits) = self.markers.fits(&pattern, b)
        {
            return Some(fits);
        }
        pattern_in(b).and_then(|pattern| self.markers.fits(&pattern, a))
    }

    fn same_loose_number(&self, a: Node<'_>, b: Node<'_>) -> bool {
        let number = |node: Node<'_>| match node.kind() {
            NodeKind::Number => Some(node.bytes().to_vec()),
            NodeKind::String => number_in(&node.text()?).map(<[u8]>::to_vec),
            _ => None,
        };
        number(a).zip(number(b)).is_some_and(|(a, b)| same_number(&a, &b))
    }

    /// Two values of one type that are no containers and not the same.
    fn scalars(&mut self, a: Node<'_>, b: Node<'_>) {
        if self.options.dials.depth == Depth::Shape && self.options.side == Side::Response {
            self.hide(HiddenBy::Shape);
        } else if self.options.hide_looks && Looks::of(a).is_some_and(|looks| Looks::of(b) == Some(looks)) {
            self.hide(HiddenBy::Looks);
        } else {
            self.differ(Change::Changed, a, b);
        }
    }

    fn strings(&mut self, a: Node<'_>, b: Node<'_>, trails: &Trails, depth: usize) {
        if said(a.bytes()) == said(b.bytes()) {
            return;
        }
        let dials = self.options.dials;
        let (one, other) = (a.text().unwrap_or_default(), b.text().unwrap_or_default());
        if self.options.side == Side::Response
            && self.texts < TEXT_LEVELS
            && self.works(one.len() + other.len())
            && holds_json(&one)
            && holds_json(&other)
        {
            let before = (self.found.n_differences, self.found.n_hidden);
            self.texts += 1;
            self.step(Step::Inside);
            self.pair(Node::new(one.as_bytes()), Node::new(other.as_bytes()), trails, depth + 1);
            self.back();
            self.texts -= 1;
            if before == (self.found.n_differences, self.found.n_hidden) {
                self.hide(HiddenBy::JsonSpelling);
            }
            return;
        }
        if dials.numbers && self.same_loose_number(a, b) {
            return self.hide(HiddenBy::Loose);
        }
        if (dials.case || dials.space)
            && folded(&one, dials.case, dials.space) == folded(&other, dials.case, dials.space)
            // What cannot be decoded looks alike and is not.
            && !one.contains('\u{fffd}')
        {
            return self.hide(HiddenBy::Loose);
        }
        self.scalars(a, b);
    }

    fn objects(&mut self, a: Node<'_>, b: Node<'_>, trails: &Trails, depth: usize) {
        let is_root = std::mem::take(&mut self.root);
        let in_params = self.options.side == Side::Request && self.path.0 == [Step::Member("params".into())];
        let keys = self.left_out;
        let left_out = |said: &[u8]| {
            (is_root && matches!(said, b"jsonrpc" | b"id"))
                || (in_params && keys.iter().any(|key| key.as_bytes() == said))
        };
        // Members that share a key are told apart by which of them they are.
        let (members_a, members_b) = (numbered(a, left_out), numbered(b, left_out));
        let mut by_key: HashMap<&(Vec<u8>, u32), usize> = HashMap::new();
        by_key.extend(members_b.iter().enumerate().map(|(index, (key, ..))| (key, index)));
        let mut is_used = vec![false; members_b.len()];
        for (number, key, value) in &members_a {
            let other = by_key.get(number).map(|&index| {
                is_used[index] = true;
                members_b[index].2
            });
            if other.is_some_and(|other| other.bytes() == value.bytes()) {
                continue;
            }
            self.below(Step::Member(key.text().into_owned()), trails, |walk, trails| match other {
                Some(other) => walk.pair(*value, other, trails, depth + 1),
                None => walk.alone(Change::Removed, *value, trails),
            });
        }
        for ((_, key, value), _) in members_b.iter().zip(&is_used).filter(|(_, is_used)| !**is_used) {
            self.below(Step::Member(key.text().into_owned()), trails, |walk, trails| {
                walk.alone(Change::Added, *value, trails);
            });
        }
    }

    fn arrays(&mut self, a: Node<'_>, b: Node<'_>, trails: &Trails, depth: usize) {
        let (a, b): (Vec<_>, Vec<_>) = (a.elements().collect(), b.elements().collect());
        if self.options.dials.depth == Depth::Shape && self.options.side == Side::Response {
            return self.shapes(&a, &b, trails, depth);
        }
        let Aligned { pairs, is_reordered } = align(self, &a, &b, trails);
        if is_reordered && !self.is_list() {
            self.list(Change::Reordered, None, None);
        }
        for (in_a, in_b) in pairs {
            let (one, other) = (in_a.map(|index| a[index]), in_b.map(|index| b[index]));
            if let (Some(one), Some(other)) = (one, other)
                && one.bytes() == other.bytes()
            {
                continue;
            }
            let Some(at) = in_b.or(in_a) else {
                continue;
            };
            let moved = in_a.filter(|in_a| in_b.is_some_and(|in_b| in_b != *in_a));
            let before = self.path_in_a.clone();
            if let Some(in_a) = moved {
                let mut path = self.path_in_a.clone().unwrap_or_else(|| self.path.clone());
                path.0.push(Step::Element(in_a));
                self.path_in_a = Some(path);
            } else if let Some(path) = &mut self.path_in_a {
                path.0.push(Step::Element(in_a.unwrap_or(at)));
            }
            self.path.0.push(Step::Element(at));
            let trails = trails.step(self.options.dials, &Step::Element(at));
            match (one, other) {
                (Some(one), Some(other)) => self.pair(one, other, &trails, depth + 1),
                (Some(one), None) => self.alone(Change::Removed, one, &trails),
                (None, Some(other)) => self.alone(Change::Added, other, &trails),
                (None, None) => {}
            }
            self.path.0.pop();
            self.path_in_a = before;
        }
    }

    /// The shapes of elements: place by place, and what is more in one against the last of the other.
    fn shapes(&mut self, a: &[Node<'_>], b: &[Node<'_>], trails: &Trails, depth: usize) {
        let (Some(last_a), Some(last_b)) = (a.last(), b.last()) else {
            return;
        };
        for index in 0..a.len().max(b.len()) {
            let (one, other) = (a.get(index).unwrap_or(last_a), b.get(index).unwrap_or(last_b));
            self.below(Step::Element(index), trails, |walk, trails| walk.pair(*one, *other, trails, depth + 1));
        }
    }

    /// Whether it is at a list of what a server offers, whose order means nothing.
    fn is_list(&self) -> bool {
        let [Step::Member(result), Step::Member(list)] = self.path.0.as_slice() else {
            return false;
        };
        self.options.side == Side::Response
            && result == "result"
            && matches!(list.as_str(), "tools" | "prompts" | "resources" | "resourceTemplates")
    }

    /// Goes a step down, does something there, and comes back.
    fn below(&mut self, step: Step, trails: &Trails, there: impl FnOnce(&mut Self, &Trails)) {
        let below = (!trails.is_dead()).then(|| trails.step(self.options.dials, &step));
        self.step(step);
        there(self, below.as_ref().unwrap_or(trails));
        self.back();
    }

    fn step(&mut self, step: Step) {
        if let Some(path) = &mut self.path_in_a {
            path.0.push(step.clone());
        }
        self.path.0.push(step);
    }

    fn back(&mut self) {
        self.path.0.pop();
        if let Some(path) = &mut self.path_in_a {
            path.0.pop();
        }
    }

    fn alone(&mut self, change: Change, value: Node<'_>, trails: &Trails) {
        if trails.is_ignored(self.options.dials) {
            return self.hide(HiddenBy::Ignored);
        }
        let json = Some(value.bytes().into());
        match change {
            Change::Removed => self.list(change, json, None),
            _ => self.list(change, None, json),
        }
    }

    fn differ(&mut self, change: Change, a: Node<'_>, b: Node<'_>) {
        self.list(change, Some(a.bytes().into()), Some(b.bytes().into()));
    }

    fn list(&mut self, change: Change, a: Option<Box<[u8]>>, b: Option<Box<[u8]>>) {
        self.found.n_differences += 1;
        if self.found.differences.len() < self.options.n_listed {
            let (path, path_in_a) = match (change, &self.path_in_a) {
                (Change::Removed, Some(path)) => (path.clone(), None),
                (_, path_in_a) => (self.path.clone(), path_in_a.clone()),
            };
            self.found.differences.push(Difference { path, path_in_a, change, a, b });
        }
    }

    fn hide(&mut self, by: HiddenBy) {
        self.found.n_hidden += 1;
        if self.found.hidden.len() < self.options.n_listed {
            self.found.hidden.push(Hidden { path: self.path.clone(), by });
        }
    }
}

/// A member of an object: what its key says and which of those that say so it is, the key, and the value.
type Numbered<'a> = ((Vec<u8>, u32), Key<'a>, Node<'a>);

fn numbered(node: Node<'_>, left_out: impl Fn(&[u8]) -> bool) -> Vec<Numbered<'_>> {
    let mut n_seen: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut members = Vec::new();
    for (key, value) in node.members() {
        let said = key_said(key).into_owned();
        let n = n_seen.entry(said.clone()).or_default();
        if !left_out(&said) {
            members.push(((said, *n), key, value));
        }
        *n += 1;
    }
    members
}

fn same_type(one: NodeKind, other: NodeKind) -> bool {
    let is_boolean = |kind| matches!(kind, NodeKind::True | NodeKind::False);
    one == other || (is_boolean(one) && is_boolean(other))
}
