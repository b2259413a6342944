//! One list: its items in order, found by name, and how it came to be.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use imbl::{HashMap, Vector};
use tap_jsonrpc::Node;
use tap_protocol::Revisions;

use super::item::Item;
use crate::machine::{KEPT_LIMIT_BYTES, Seen};
use crate::row::At;

/// Items of a list that are kept; those that follow are only counted.
pub const LIST_LIMIT_ITEMS: usize = 20_000;

/// Bytes that the items of a list may hold on to; items that would hold more are only counted.
pub const LIST_LIMIT_BYTES: u64 = 32 * 1024 * 1024;

/// Something that was listed, as of the newest walk through its pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct List<T> {
    /// In the order in which they were listed. Fewer than [`n_items`](Self::n_items) when there was too much of them.
    pub items: Vector<Arc<T>>,
    /// The answer that has its first page. `None` when it was never listed.
    pub as_of: Option<At>,
    /// The answer that has its newest page.
    pub newest_page: Option<At>,
    /// Whether there was a last page. The list goes on otherwise, as far as is known.
    pub complete: bool,
    /// Pages so far.
    pub n_pages: u64,
    /// Items so far, those that are not kept included.
    pub n_items: u64,
    /// Bytes of these as written.
    pub n_bytes: u64,
    /// Bytes that are held on to.
    pub n_bytes_kept: u64,
    /// How long it may be kept, milliseconds, as the newest page says in the modern era.
    pub ttl_ms: Option<i64>,
    /// Who may share it, as the newest page says in the modern era.
    pub cache_scope: Option<Arc<str>>,
    /// The newest notification that it changed, unless it was asked for again since then, and that was answered.
    pub changed: Option<At>,
    /// Whether it was asked for since then.
    pub asked_again: bool,
    /// The revision that it was listed in.
    pub revisions: Revisions,
    by_name: HashMap<Arc<str>, usize>,
    /// What its items counted beyond their texts: see [`Item::afford`].
    n_bytes_more: usize,
    /// Of the list as it is, and of the newest complete one before it.
    print: Print,
    before: Option<(At, Print)>,
}

/// Tells two lists apart without keeping both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Print {
    n_names: u64,
    /// Depends on which names there are.
    names: u64,
    /// Depends on their order, too.
    order: u64,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vector::new(),
            as_of: None,
            newest_page: None,
            complete: false,
            n_pages: 0,
            n_items: 0,
            n_bytes: 0,
            n_bytes_kept: 0,
            ttl_ms: None,
            cache_scope: None,
            changed: None,
            asked_again: false,
            revisions: Revisions::NONE,
            by_name: HashMap::new(),
            n_bytes_more: 0,
            print: Print::default(),
            before: None,
        }
    }
}

/// One page, as an answer has it.
pub(super) struct Page<'a> {
    pub(super) seen: &'a Seen<'a>,
    /// Its request.
    pub(super) asked: At,
    /// The walk that it belongs to, by its first page. `None` when it was asked for out of turn.
    pub(super) walk: Option<At>,
    pub(super) items: Option<Node<'a>>,
    pub(super) is_last: bool,
    pub(super) ttl_ms: Option<i64>,
    pub(super) cache_scope: Option<Arc<str>>,
}

/// What a page brought.
pub(crate) struct Taken<T> {
    /// The items of it that could be read, and were not too many.
    pub(crate) items: Vec<Arc<T>>,
    /// Names that were in the list before.
    pub(crate) twice: Vec<Arc<str>>,
    /// The answer with which the same items were listed in another order.
    pub(crate) reordered: Option<At>,
}

impl<T> List<T> {
    /// The item of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Arc<T>> {
        self.items.get(*self.by_name.get(name)?)
    }

    /// Whether it is the whole list, as far as the wire shows: complete, all of it kept, and not changed since.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.complete && self.changed.is_none() && self.n_items == self.items.len() as u64
    }
}

/// Takes in a page.
pub(super) fn take<T: Item>(list: &mut List<T>, page: &Page<'_>) -> Taken<T> {
    let seen = page.seen;
    let is_first = page.walk == Some(seen.at());
    let is_mine = is_first || (page.walk.is_some() && page.walk == list.as_of);
    let mut taken = Taken { items: Vec::new(), twice: Vec::new(), reordered: None };
    let (mut n_items, mut n_bytes, mut n_bytes_kept) = (0, 0, 0);
    let (before_items, before_bytes, mut n_bytes_more) =
        if is_first { (0, 0, 0) } else { (list.items.len(), list.n_bytes_kept, list.n_bytes_more) };
    // Items are slices of a short message, and hold on to all of it; they are copies of a long one.
    let frame_bytes = seen.frame.bytes.len();
    let is_shared = frame_bytes <= KEPT_LIMIT_BYTES;
    for node in page.items.into_iter().flat_map(Node::elements) {
        n_items += 1;
        let size = node.bytes().len() as u64;
        n_bytes += size;
        let cost = match (is_shared, taken.items.is_empty()) {
            (true, true) => frame_bytes as u64,
            (true, false) => 0,
            (false, _) => size,
        };
        if before_items + taken.items.len() >= LIST_LIMIT_ITEMS || before_bytes + n_bytes_kept + cost > LIST_LIMIT_BYTES
        {
            continue;
        }
        if let Some(mut item) = T::read(seen, node, |name| list.get(name)) {
            n_bytes_kept += cost;
            item.afford(&mut n_bytes_more);
            taken.items.push(Arc::new(item));
        }
    }
    if !is_mine {
        return taken;
    }
    if is_first {
        list.begin(page);
    }
    list.newest_page = Some(seen.at());
    list.complete = page.is_last;
    list.n_pages += 1;
    list.n_items += n_items;
    list.n_bytes += n_bytes;
    list.n_bytes_kept += n_bytes_kept;
    list.n_bytes_more = n_bytes_more;
    list.ttl_ms = page.ttl_ms;
    list.cache_scope.clone_from(&page.cache_scope);
    for item in &taken.items {
        let name = item.name();
        list.print.add(name);
        if list.by_name.contains_key(name) {
            taken.twice.push(Arc::clone(name));
        } else {
            list.by_name.insert(Arc::clone(name), list.items.len());
        }
        list.items.push_back(Arc::clone(item));
    }
    if list.is_whole()
        && let Some((at, before)) = list.before
        && before.is_reordered(&list.print)
    {
        taken.reordered = Some(at);
    }
    taken
}

impl<T> List<T> {
    /// Begins anew.
    fn begin(&mut self, page: &Page<'_>) {
        // A change that was told after the list was asked for may not be in the answer.
        let changed = self.changed.filter(|changed| page.asked < *changed);
        let before = match (self.is_whole_but_changed(), self.as_of) {
            (true, Some(at)) => Some((at, self.print)),
            _ => self.before,
        };
        *self = Self {
            as_of: Some(page.seen.at()),
            changed,
            asked_again: self.asked_again && changed.is_some(),
            revisions: page.seen.revisions,
            before,
            ..Self::default()
        };
    }

    fn is_whole_but_changed(&self) -> bool {
        self.complete && self.n_items == self.items.len() as u64
    }
}

impl Print {
    fn add(&mut self, name: &str) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        let hash = hasher.finish();
        self.n_names += 1;
        self.names = self.names.wrapping_add(hash);
        self.order = self.order.wrapping_mul(31).wrapping_add(hash);
    }

    fn is_reordered(&self, other: &Self) -> bool {
        self.n_names == other.n_names && self.names == other.names && self.order != other.order
    }
}
