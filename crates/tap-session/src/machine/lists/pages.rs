//! Pages: which cursors were handed out, and which walk through a list each one goes on with.

use std::borrow::Cow;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use imbl::{HashSet, OrdMap, Vector};
use tap_jsonrpc::Node;
use tap_protocol::{Method, Side};

use crate::machine::{Out, Seen};
use crate::row::At;
use crate::rule::quoted;
use crate::rules::features::lists as rule;
use crate::state::Call;

/// Cursors of one method that are remembered. After more, none is called foreign.
const CURSORS: usize = 10_000;

/// Walks through one list that may be open at a time: a client that stops in the middle never closes its walk.
const OPEN_WALKS: usize = 16;

/// A longer cursor is told from others, but not looked at for what was edited, bytes.
const CURSOR_LIMIT_BYTES: usize = 4096;

/// A cursor that begins like another for so many bytes is that one, cut off.
const CUT_OFF_BYTES: usize = 16;

/// The cursors of every list, by its method and by who asks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Pages(OrdMap<(&'static str, Side), Walks>);

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Walks {
    /// By their hashes, every cursor that was handed out, and whether as a text.
    issued: HashSet<(u64, bool)>,
    n_forgotten: u64,
    /// The walks that may go on, the newest last.
    open: Vector<Walk>,
}

/// A walk from the first page on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Walk {
    /// The answer with the first page.
    begun: At,
    /// The answer that handed out `next`.
    page: At,
    next: Cursor,
    /// By their hashes, the cursors of this walk.
    handed_out: HashSet<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Cursor {
    hash: u64,
    /// Unless it is very long.
    text: Option<Arc<str>>,
}

/// What a cursor says. One that is no text is in breach of the schema, and stands for what was written.
fn text_of(cursor: Node<'_>) -> Cow<'_, str> {
    cursor.text().unwrap_or_else(|| String::from_utf8_lossy(cursor.bytes()))
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

impl Pages {
    /// A request with a cursor.
    pub(super) fn asked(&self, method: &'static Method, seen: &Seen<'_>, cursor: Node<'_>, out: &mut Out<'_>) {
        let nothing = Walks::default();
        let walks = self.0.get(&(method.name, seen.side)).unwrap_or(&nothing);
        let text = text_of(cursor);
        let [as_text, as_other] = [true, false].map(|is_text| walks.issued.contains(&(hash(&text), is_text)));
        // One that was handed out as something else is the server's fault, whichever way it comes back.
        if as_text && !as_other && !cursor.is_string() {
            out.find(&rule::PAG_002, seen, format!("{} was handed out as a text", quoted(&text)));
        }
        if as_text || as_other || walks.n_forgotten > 0 {
            return;
        }
        let edited = walks.open.iter().rev().find_map(|walk| {
            let original = walk.next.text.as_deref()?;
            Some((walk.page, original, edit(original, &text)?))
        });
        match edited {
            Some((page, original, edit)) => {
                let detail = format!("{} came back as {}: {edit}", quoted(original), quoted(&text));
                if let Some(finding) = out.find(&rule::PAG_002, seen, detail) {
                    finding.others.push(page);
                }
            }
            None => {
                out.find(&rule::PAG_001, seen, quoted(&text));
            }
        }
    }

    /// A page: which walk it belongs to, by the answer with its first page. `None` where no walk waited for it.
    pub(super) fn answered(
        &mut self,
        method: &'static Method,
        seen: &Seen<'_>,
        call: &Call,
        cursor: Option<Node<'_>>,
        next: Option<Node<'_>>,
        out: &mut Out<'_>,
    ) -> Option<At> {
        if cursor.is_none() && next.is_none() {
            return Some(seen.at());
        }
        let walks = self.0.entry((method.name, call.side())).or_default();
        let mut walk = match cursor {
            None => {
                let next = Cursor { hash: 0, text: None };
                Some(Walk { begun: seen.at(), page: seen.at(), next, handed_out: HashSet::new() })
            }
            // Two walks may wait for the same cursor. They are alike from here on, so the newest is served first.
            Some(cursor) => {
                let hash = hash(&text_of(cursor));
                let index = walks.open.iter().rposition(|walk| walk.next.hash == hash);
                index.map(|index| walks.open.remove(index))
            }
        };
        let begun = walk.as_ref().map(|walk| walk.begun);
        let Some(next) = next else {
            return begun;
        };
        let (next, is_text) = (text_of(next), next.is_string());
        let hash = hash(&next);
        let asked = cursor.map(text_of);
        let is_loop = walk.as_ref().is_some_and(|walk| walk.handed_out.contains(&hash));
        if is_loop || asked.as_ref() == Some(&next) {
            let finding = out.find(&rule::PAG_003, seen, quoted(&next));
            if let Some(finding) = finding {
                finding.others.push(call.at);
            }
        }
        if walks.issued.len() < CURSORS {
            walks.issued.insert((hash, is_text));
        } else if !walks.issued.contains(&(hash, is_text)) {
            walks.n_forgotten += 1;
        }
        if let Some(walk) = &mut walk {
            walk.page = seen.at();
            walk.next = Cursor { hash, text: (next.len() <= CURSOR_LIMIT_BYTES).then(|| Arc::from(&*next)) };
            if walk.handed_out.len() < CURSORS {
                walk.handed_out.insert(hash);
            }
        }
        if let Some(walk) = walk {
            if walks.open.len() >= OPEN_WALKS {
                walks.open.pop_front();
            }
            walks.open.push_back(walk);
        }
        begun
    }
}

/// What was done to a cursor, when one is evidently made from the other.
fn edit(original: &str, sent: &str) -> Option<&'static str> {
    if original.is_empty() || sent.is_empty() {
        return None;
    }
    if original.trim() == sent.trim() {
        return Some("whitespace changed");
    }
    if original.eq_ignore_ascii_case(sent) {
        return Some("letters changed their case");
    }
    if original.trim_end_matches('=') == sent.trim_end_matches('=') {
        return Some("the padding changed");
    }
    if sent.trim_matches('"') == original {
        return Some("it was quoted");
    }
    let url_safe = |text: &str| text.trim_end_matches('=').replace('+', "-").replace('/', "_");
    if url_safe(original) == url_safe(sent) {
        return Some("base64 was written in another alphabet");
    }
    if original.replace('+', " ") == sent || percent_decoded(original) == sent || percent_decoded(sent) == original {
        return Some("it was encoded or decoded as in a URL");
    }
    if sent.len() >= CUT_OFF_BYTES && original.starts_with(sent) {
        return Some("its end is missing");
    }
    None
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let digit = |index: usize| tail.get(index).and_then(|byte| char::from(*byte).to_digit(16));
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push((high * 16 + low) as u8);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
