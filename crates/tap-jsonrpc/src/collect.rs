//! The collector: follows the grammar through a unit, and picks up the members that are asked for.

use crate::draft::Draft;
use crate::envelope::{Batch, Content, Envelope, Member, Misfit, NotAMessage};
use crate::notes::Notes;
use crate::value::{Captures, Shape, TOKEN_LIMIT_BYTES};
use crate::watch::{MESSAGE, NOWHERE, Path, Place, Tree};

/// How many members of a batch are kept.
const MAX_MEMBERS: usize = 10_000;
/// No more members of a batch are kept after the one with which this many bytes are.
const MAX_BATCH_BYTES: usize = 16 << 20;
/// Containers deeper than this are of no interest: a batch, a message, and three more for a path of four names.
const MAX_PLACES: usize = 5;

/// Told by the grammar about keys, scalars and brackets, in the order in which they come.
///
/// Tokens may come in parts: any number of [`key_part`](Self::key_part) or [`scalar_part`](Self::scalar_part), then
/// [`key`](Self::key) or [`scalar`](Self::scalar) with the last part. What is kept is bounded, whatever comes.
#[derive(Debug, Clone)]
pub(crate) struct Collector {
    tree: Tree,
    /// How many containers are open.
    depth: usize,
    /// The places of the open containers around `container`, outermost first.
    outer: [Place; MAX_PLACES],
    /// The place of the innermost open container.
    container: Place,
    /// The place of the value that comes next, or is being read.
    member: Place,
    /// The parts of the token that is being read, but the last; cut off where it cannot matter any more.
    token: Vec<u8>,
    /// What the unit is.
    unit: Option<Shape>,
    draft: Draft,
    batch: Batch,
    /// How many bytes of tokens `batch` keeps.
    batch_bytes: usize,
}

impl Collector {
    pub(crate) fn new(watch: &[Path]) -> Self {
        Self {
            tree: Tree::new(watch),
            depth: 0,
            outer: [NOWHERE; MAX_PLACES],
            container: NOWHERE,
            member: NOWHERE,
            token: Vec::new(),
            unit: None,
            draft: Draft::default(),
            batch: Batch::default(),
            batch_bytes: 0,
        }
    }

    /// Part of a key that goes on.
    pub(crate) fn key_part(&mut self, part: &[u8]) {
        // One byte more than can matter, to see that it is too long.
        let limit = self.tree.node(self.container).key_limit_bytes();
        if limit != 0 {
            extend_to(&mut self.token, part, limit + 1);
        }
    }

    /// The end of a key, or the whole of it, with its quotes.
    pub(crate) fn key(&mut self, last_part: &[u8], has_escape: bool) {
        let node = self.tree.node(self.container);
        if node.key_limit_bytes() == 0 {
            return;
        }
        if self.token.is_empty() {
            self.member = node.child(last_part, has_escape);
            return;
        }
        extend_to(&mut self.token, last_part, node.key_limit_bytes() + 1);
        self.member = node.child(&self.token, has_escape);
        self.token.clear();
    }

    /// Part of a scalar that goes on.
    pub(crate) fn scalar_part(&mut self, part: &[u8]) {
        if self.tree.node(self.member).wants_token() {
            extend_to(&mut self.token, part, TOKEN_LIMIT_BYTES + 1);
        }
    }

    /// The end of a scalar, or the whole of it.
    pub(crate) fn scalar(&mut self, shape: Shape, last_part: &[u8]) {
        self.begin_value(shape);
        let node = self.tree.node(self.member);
        if node.own == 0 {
            // Not asked for; but a member below was perhaps seen before, in an object of the same name.
            if node.below != 0 {
                self.draft.take(node, shape, &[]);
            }
        } else if self.token.is_empty() {
            self.draft.take(node, shape, last_part);
        } else {
            extend_to(&mut self.token, last_part, TOKEN_LIMIT_BYTES + 1);
            self.draft.take(node, shape, &self.token);
        }
        self.token.clear();
        self.end_value(shape);
    }

    /// `{` or `[`, as `shape` says.
    pub(crate) fn open(&mut self, shape: Shape) {
        self.begin_value(shape);
        let node = self.tree.node(self.member);
        if node.below != 0 {
            self.draft.take(node, shape, &[]);
        }
        if let Some(outer) = self.outer.get_mut(self.depth) {
            *outer = self.container;
        }
        self.container = match shape {
            Shape::Object if self.is_message_next() => MESSAGE,
            Shape::Object => self.member,
            _ => NOWHERE,
        };
        self.member = NOWHERE;
        self.depth += 1;
    }

    /// `}` or `]`, as `shape` says.
    pub(crate) fn close(&mut self, shape: Shape) {
        self.depth = self.depth.saturating_sub(1);
        self.container = self.outer.get(self.depth).copied().unwrap_or(NOWHERE);
        self.member = NOWHERE;
        self.end_value(shape);
    }

    /// What the unit says, if it was JSON, and the notes of its messages. Forgets everything.
    pub(crate) fn finish(&mut self) -> (Content, Notes) {
        let draft = std::mem::take(&mut self.draft);
        let batch = std::mem::take(&mut self.batch);
        let unit = self.unit;
        self.reset();
        match unit {
            None => (Content::Blank, Notes::none()),
            Some(Shape::Object) => match draft.finish() {
                Member::Message(message) => {
                    let notes = message.notes;
                    (Content::Message(message), notes)
                }
                Member::NotAMessage(other) => {
                    let notes = other.notes;
                    (Content::NotAMessage(other), notes)
                }
            },
            Some(Shape::Array) => {
                let notes = batch.members.iter().map(member_notes).fold(Notes::none(), Notes::union);
                (Content::Batch(batch), notes)
            }
            Some(_) => (Content::NotAMessage(not_an_object()), Notes::none()),
        }
    }

    /// Forgets the unit that was begun.
    pub(crate) fn reset(&mut self) {
        self.depth = 0;
        self.container = NOWHERE;
        self.member = NOWHERE;
        self.token.clear();
        self.unit = None;
        self.draft = Draft::default();
        self.batch = Batch::default();
        self.batch_bytes = 0;
    }

    fn begin_value(&mut self, shape: Shape) {
        if self.depth == 0 {
            self.unit = Some(shape);
        }
    }

    /// Notes the member of a batch that ends here.
    fn end_value(&mut self, shape: Shape) {
        if self.depth != 1 || self.unit != Some(Shape::Array) {
            return;
        }
        if self.is_batch_open() {
            let draft = std::mem::take(&mut self.draft);
            self.batch_bytes += draft.kept_bytes();
            self.batch.members.push(match shape {
                Shape::Object => draft.finish(),
                _ => Member::NotAMessage(not_an_object()),
            });
        }
        self.batch.n_members += 1;
    }

    /// Whether an object that begins here is a message, and one to be kept.
    fn is_message_next(&self) -> bool {
        match self.depth {
            0 => true,
            1 => self.unit == Some(Shape::Array) && self.is_batch_open(),
            _ => false,
        }
    }

    fn is_batch_open(&self) -> bool {
        self.batch.members.len() < MAX_MEMBERS && self.batch_bytes < MAX_BATCH_BYTES
    }
}

fn extend_to(token: &mut Vec<u8>, part: &[u8], limit_bytes: usize) {
    let room = limit_bytes.saturating_sub(token.len());
    token.extend_from_slice(&part[..part.len().min(room)]);
}

fn not_an_object() -> NotAMessage {
    NotAMessage {
        why: Misfit::NotAnObject,
        id: None,
        method: None,
        captures: Captures::default(),
        notes: Notes::none(),
    }
}

fn member_notes(member: &Member) -> Notes {
    match member {
        Member::Message(Envelope { notes, .. }) | Member::NotAMessage(NotAMessage { notes, .. }) => *notes,
    }
}
