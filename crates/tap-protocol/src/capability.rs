//! What a client and a server may declare, by revision.

use crate::method::Side;
use crate::revision::{Revision, Revisions};

/// A capability: one row of [`CAPABILITIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capability {
    /// The end that declares it.
    pub side: Side,
    /// Member names from `capabilities` down.
    pub path: &'static [&'static str],
    /// The revisions that define it.
    pub revisions: Revisions,
}

/// Every capability of every revision, the client's first, sorted by path.
///
/// What lies below `experimental` and `extensions` is not the core's, so it is not here.
///
/// Source: `ClientCapabilities` and `ServerCapabilities` of each schema.
pub static CAPABILITIES: &[Capability] = &[
    client(&["elicitation"], ELICITATION),
    client(&["elicitation", "form"], SINCE_2025_11_25),
    client(&["elicitation", "url"], SINCE_2025_11_25),
    client(&["experimental"], Revisions::ALL),
    client(&["extensions"], Revisions::MODERN),
    client(&["roots"], Revisions::ALL),
    client(&["roots", "listChanged"], Revisions::LEGACY),
    client(&["sampling"], Revisions::ALL),
    client(&["sampling", "context"], SINCE_2025_11_25),
    client(&["sampling", "tools"], SINCE_2025_11_25),
    client(&["tasks"], TASKS),
    client(&["tasks", "cancel"], TASKS),
    client(&["tasks", "list"], TASKS),
    client(&["tasks", "requests"], TASKS),
    client(&["tasks", "requests", "elicitation"], TASKS),
    client(&["tasks", "requests", "elicitation", "create"], TASKS),
    client(&["tasks", "requests", "sampling"], TASKS),
    client(&["tasks", "requests", "sampling", "createMessage"], TASKS),
    server(&["completions"], Revisions::since(Revision::V2025_03_26)),
    server(&["experimental"], Revisions::ALL),
    server(&["extensions"], Revisions::MODERN),
    server(&["logging"], Revisions::ALL),
    server(&["prompts"], Revisions::ALL),
    server(&["prompts", "listChanged"], Revisions::ALL),
    server(&["resources"], Revisions::ALL),
    server(&["resources", "listChanged"], Revisions::ALL),
    server(&["resources", "subscribe"], Revisions::ALL),
    server(&["tasks"], TASKS),
    server(&["tasks", "cancel"], TASKS),
    server(&["tasks", "list"], TASKS),
    server(&["tasks", "requests"], TASKS),
    server(&["tasks", "requests", "tools"], TASKS),
    server(&["tasks", "requests", "tools", "call"], TASKS),
    server(&["tools"], Revisions::ALL),
    server(&["tools", "listChanged"], Revisions::ALL),
];

/// The capability at `path`, in whatever revision.
#[must_use]
pub fn capability(side: Side, path: &[&str]) -> Option<&'static Capability> {
    CAPABILITIES.iter().find(|row| row.side == side && row.path == path)
}

const ELICITATION: Revisions = Revisions::since(Revision::V2025_06_18);
const SINCE_2025_11_25: Revisions = Revisions::since(Revision::V2025_11_25);
const TASKS: Revisions = Revisions::only(Revision::V2025_11_25);

const fn client(path: &'static [&'static str], revisions: Revisions) -> Capability {
    Capability { side: Side::Client, path, revisions }
}

const fn server(path: &'static [&'static str], revisions: Revisions) -> Capability {
    Capability { side: Side::Server, path, revisions }
}
