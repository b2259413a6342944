//! The methods of every revision: who may send them, after which capabilities, and how they behave.

mod table;

pub use table::METHODS;

use std::sync::LazyLock;

use crate::revision::{Revision, Revisions};

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that asks for tools, resources and prompts.
    Client,
    /// The end that has them.
    Server,
}

impl Side {
    /// The end that this one talks to.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// The ends that may send a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Senders {
    /// The client alone.
    Client,
    /// The server alone.
    Server,
    /// Either end.
    Both,
}

impl Senders {
    /// Whether `side` is one of them.
    #[must_use]
    pub const fn include(self, side: Side) -> bool {
        match (self, side) {
            (Self::Both, _) | (Self::Client, Side::Client) | (Self::Server, Side::Server) => true,
            (Self::Client, Side::Server) | (Self::Server, Side::Client) => false,
        }
    }
}

/// Whether a method wants an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MethodKind {
    /// It has an id, and is answered.
    Request,
    /// It has none, and is not.
    Notification,
}

/// A method: one row of [`METHODS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Method {
    /// As the message's `method` spells it.
    pub name: &'static str,
    /// Whether it is a request.
    pub kind: MethodKind,
    /// Who may send it as a message of its own, by revision. A revision that no row names does not have it.
    pub senders: &'static [(Revisions, Senders)],
    /// What must have been declared before it is sent.
    ///
    /// What only some params need (`sampling.tools`, `elicitation.url`, `tasks.requests.…`, the fields of a
    /// `subscriptions/listen` filter) is not here.
    pub needs: &'static [Need],
    /// Where it stands inside `inputRequests` of a result, not as a message of its own.
    pub embedded: Revisions,
    /// The extension that it belongs to, and in which revisions; elsewhere the method is the core's.
    pub extension: Option<Extension>,
    /// In words: what does its work after its last revision, or why nothing does. `None` while it exists.
    pub replaced_by: Option<&'static str>,
    /// Whether its sender may cancel it with `notifications/cancelled`.
    pub cancellable: bool,
    /// Whether it takes `cursor` and answers with `nextCursor`.
    pub paginated: bool,
    /// Whether its complete results carry `ttlMs` and `cacheScope` in the modern era.
    pub cacheable: bool,
    /// Whether it may be answered with `input_required`, and asked again, in the modern era.
    pub rounds: bool,
}

/// An extension of the core protocol, as far as it adds methods.
///
/// Source: 2026-07-28, basic/versioning, Extension Negotiation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extension {
    /// Its key in `capabilities.extensions`.
    pub name: &'static str,
    /// The revisions in which the method belongs to it.
    pub revisions: Revisions,
}

/// The key of the tasks extension in `capabilities.extensions`.
pub const TASKS_EXTENSION: &str = "io.modelcontextprotocol/tasks";

/// The key of the skills extension in `capabilities.extensions`.
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// A capability that must have been declared before a method is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    /// Where the rule holds.
    pub revisions: Revisions,
    /// The rule is for this end's sending.
    pub sender: Side,
    /// The end whose declaration counts.
    pub declared_by: Side,
    /// Member names from `capabilities` down to what must be there.
    pub path: &'static [&'static str],
}

/// The method of that name, in whatever revision.
#[must_use]
pub fn method(name: &str) -> Option<&'static Method> {
    BY_LENGTH.get(name.len())?.iter().copied().find(|method| method.name == name)
}

/// The methods by the lengths of their names: asked for with every message, and few have the same.
static BY_LENGTH: LazyLock<Vec<Vec<&'static Method>>> = LazyLock::new(|| {
    let longest = METHODS.iter().map(|method| method.name.len()).max().unwrap_or_default();
    let of_length = |length| METHODS.iter().filter(|method| method.name.len() == length).collect();
    (0..=longest).map(of_length).collect()
});

impl Method {
    /// The revisions in which it may be sent as a message of its own, by the core or by an extension.
    #[must_use]
    pub fn revisions(&self) -> Revisions {
        self.senders.iter().fold(Revisions::NONE, |all, (revisions, _)| all.union(*revisions))
    }

    /// Whether `side` may send it in `revision`.
    #[must_use]
    pub fn may_send(&self, revision: Revision, side: Side) -> bool {
        self.senders.iter().any(|(revisions, senders)| revisions.contains(revision) && senders.include(side))
    }

    /// What must have been declared before `sender` sends it in `revision`.
    pub fn needs(&self, revision: Revision, sender: Side) -> impl Iterator<Item = &'static Need> + use<> {
        self.needs.iter().filter(move |need| need.revisions.contains(revision) && need.sender == sender)
    }

    /// The extension that it belongs to in `revision`; `None` where it is the core's, or is not at all.
    #[must_use]
    pub fn extension_in(&self, revision: Revision) -> Option<&'static str> {
        self.extension.filter(|extension| extension.revisions.contains(revision)).map(|extension| extension.name)
    }
}
