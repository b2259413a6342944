//! Rules: what a peer may break, how bad that is in which revision, and what to do about it.

use std::fmt;

use tap_protocol::{Revisions, Side};

use crate::row::At;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// Worth showing, and allowed.
    Note,
    /// The specification says SHOULD, or it says MUST and what was seen may have another cause.
    Warning,
    /// The specification says MUST, or its schema requires it, and the wire proves that it was not kept.
    Error,
}

impl Severity {
    /// All of them, the mildest first.
    pub const ALL: [Self; 3] = [Self::Note, Self::Warning, Self::Error];

    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

/// One rule of the protocol.
///
/// `wrong` and `right` are scripts of traffic, a message a line (`->` to the server, `<-` to the client), that break the
/// rule and that do not; the tests run both. A first line `# 2025-11-25` stands for a handshake of that revision in which
/// both sides declare everything; for 2026-07-28 it says only which era is meant. `META` stands for the `_meta` that a
/// request of 2026-07-28 needs, and `TASKS_META` for that of a client that takes tasks.
///
/// A first line `# http` makes it a script of HTTP. `>>` is a line of a request and `<<` one of its answer: request line
/// or status, header fields, an empty line, the body. What is always the same may be left out: a body alone is posted to
/// `/mcp` with the headers that it needs, or comes with status 200; `>> -Accept` leaves a header out; what asks for
/// nothing and has no answer here was answered with 202. A word behind the arrow (`>>a`) names an exchange beside the
/// others; it ends with `<|a`, is cut off by the server with `<!a`, or by the client with `>|a`. `# http 2025-11-25`
/// stands for the handshake of a session with the id `s1` (for 2024-11-05: on the event stream `sse`), whose headers the
/// following requests have; `++ 500` lets so many milliseconds pass.
#[derive(Debug)]
pub struct Rule {
    /// Never changes its meaning: `RPC-002`.
    pub id: &'static str,
    /// The same in words: `null-id`.
    pub name: &'static str,
    /// How bad it is, by revision. It does not hold in revisions that are not here.
    pub severities: &'static [(Revisions, Severity)],
    /// Where the specification says so.
    pub section: &'static str,
    /// What is wrong, in one sentence.
    pub title: &'static str,
    /// What to do, in one sentence.
    pub advice: &'static str,
    /// A script that breaks it.
    pub wrong: &'static str,
    /// A script of the same traffic that does not.
    pub right: &'static str,
    /// Whether it can be told only when nothing of the session is missing. It is not judged behind a gap, nor in a
    /// recording that begins in the middle.
    pub needs_whole: bool,
}

impl Rule {
    /// The revisions in which it holds.
    #[must_use]
    pub fn revisions(&self) -> Revisions {
        self.severities.iter().fold(Revisions::NONE, |all, (revisions, _)| all.union(*revisions))
    }

    /// How bad it is where the revision is one of `possible`: the mildest of these, and `None` when it does not hold in
    /// all of them.
    #[must_use]
    pub fn severity_in(&self, possible: Revisions) -> Option<Severity> {
        if possible.is_empty() || !possible.is_subset_of(self.revisions()) {
            return None;
        }
        let met = self.severities.iter().filter(|(revisions, _)| !revisions.intersection(possible).is_empty());
        met.map(|(_, severity)| *severity).min()
    }
}

impl PartialEq for Rule {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for Rule {}

/// A rule that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Which rule.
    pub rule: &'static Rule,
    /// How bad it is here.
    pub severity: Severity,
    /// The message that shows it.
    pub at: At,
    /// Other messages that show it, such as the request of a bad answer.
    pub others: Vec<At>,
    /// Who broke it.
    pub by: Side,
    /// What exactly was seen, in a few words; at most [`DETAIL_LIMIT_BYTES`].
    pub detail: String,
}

/// How long the detail of a finding can be, bytes.
pub const DETAIL_LIMIT_BYTES: usize = 400;

/// Cuts a text of a peer to `limit` bytes at a character's border.
pub(crate) fn clipped(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.into();
    }
    let mut end = limit.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}

/// Text of a peer, as it stands in a detail.
pub(crate) fn quoted(text: &str) -> String {
    format!("`{}`", clipped(text, 80))
}

/// The same of bytes that may be no text, and of which there may be many.
pub(crate) fn quoted_bytes(bytes: &[u8]) -> String {
    quoted(&String::from_utf8_lossy(bytes.get(..QUOTED_BYTES).unwrap_or(bytes)))
}

/// What of them is looked at: more than is quoted.
const QUOTED_BYTES: usize = 256;
