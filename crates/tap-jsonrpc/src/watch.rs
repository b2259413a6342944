//! Watches: which members are looked at, as a tree that is walked along with the scan.

use crate::text::says;

/// How many watches a scanner can have.
const MAX_WATCHES: usize = 32;
/// How many names a path can have.
const MAX_NAMES: usize = 4;

/// Where a watched member is, by names from the message downwards: `Path(&["params", "name"])`.
///
/// One to four names. A path of another length is never found; nor is one past the 32nd of a list. Arrays have no names,
/// so nothing inside one is found, but for the messages of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Path(pub &'static [&'static str]);

/// A member that JSON-RPC itself gives a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Version,
    Id,
    Method,
    Params,
    Result,
    Error,
}

impl Role {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Version, "jsonrpc"),
        (Self::Id, "id"),
        (Self::Method, "method"),
        (Self::Params, "params"),
        (Self::Result, "result"),
        (Self::Error, "error"),
    ];

    /// Its bit in the sets of a [`Node`]. Bits below 32 are watches.
    pub(crate) const fn bit(self) -> u64 {
        1 << (MAX_WATCHES + self as usize)
    }
}

/// Which bits of a set of a [`Node`] are watches.
pub(crate) const WATCHES: u64 = (1 << MAX_WATCHES) - 1;

/// A place in the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place(u8);

/// Where nothing is watched, and nothing below.
pub(crate) const NOWHERE: Place = Place(0);
/// The message itself.
pub(crate) const MESSAGE: Place = Place(1);

/// One member that is watched, or has such a member somewhere below.
#[derive(Debug, Clone, Default)]
pub(crate) struct Node {
    children: Vec<(&'static [u8], Place)>,
    /// No key of more bytes, quotes and escapes included, can be one of `children`.
    key_limit_bytes: usize,
    /// What JSON-RPC says it is.
    pub(crate) role: Option<Role>,
    /// The bits of the watches, and of the role, that are this member.
    pub(crate) own: u64,
    /// The same, with those of all members below.
    pub(crate) below: u64,
}

impl Node {
    /// How many bytes of a key can matter here; 0 when no key does.
    pub(crate) fn key_limit_bytes(&self) -> usize {
        self.key_limit_bytes
    }

    /// Whether the token of a scalar here is asked for, and not only its shape.
    pub(crate) fn wants_token(&self) -> bool {
        let roles = Role::Version.bit() | Role::Id.bit() | Role::Method.bit();
        self.own & (WATCHES | roles) != 0
    }

    /// The member with this key, which is a string token with its quotes.
    pub(crate) fn child(&self, key: &[u8], has_escape: bool) -> Place {
        if self.key_limit_bytes < key.len() {
            return NOWHERE;
        }
        let found = match has_escape {
            true => self.children.iter().find(|(name, _)| says(key, name)),
            false => {
                let key = key.get(1..key.len().saturating_sub(1)).unwrap_or_default();
                self.children.iter().find(|&&(name, _)| name == key)
            }
        };
        found.map_or(NOWHERE, |&(_, place)| place)
    }
}

/// All watches and roles, joined where their paths begin alike.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    /// At most 2 + 6 + 32 × 4, so that a `u8` is enough for a [`Place`].
    nodes: Vec<Node>,
}

impl Tree {
    pub(crate) fn new(watch: &[Path]) -> Self {
        let mut tree = Self { nodes: vec![Node::default(), Node::default()] };
        for (role, name) in Role::ALL {
            let place = tree.add(&[name], role.bit());
            tree.node_mut(place).role = Some(role);
        }
        for (index, Path(names)) in watch.iter().take(MAX_WATCHES).enumerate() {
            if (1..=MAX_NAMES).contains(&names.len()) {
                tree.add(names, 1 << index);
            }
        }
        tree
    }

    pub(crate) fn node(&self, place: Place) -> &Node {
        &self.nodes[usize::from(place.0)]
    }

    fn node_mut(&mut self, place: Place) -> &mut Node {
        &mut self.nodes[usize::from(place.0)]
    }

    fn add(&mut self, names: &[&'static str], bit: u64) -> Place {
        let mut place = MESSAGE;
        for name in names {
            place = self.child_or_new(place, name);
            self.node_mut(place).below |= bit;
        }
        self.node_mut(place).own |= bit;
        place
    }

    fn child_or_new(&mut self, parent: Place, name: &'static str) -> Place {
        let known = self.node(parent).children.iter().find(|&&(known, _)| known == name.as_bytes());
        if let Some(&(_, place)) = known {
            return place;
        }
        let place = Place(self.nodes.len() as u8);
        self.nodes.push(Node::default());
        let parent = self.node_mut(parent);
        parent.children.push((name.as_bytes(), place));
        // An escape takes at most six bytes for one byte of text (`\u0061`), and there are two quotes.
        parent.key_limit_bytes = parent.key_limit_bytes.max(6 * name.len() + 2);
        place
    }
}
