//! Cache hints of the modern era.
//!
//! Source: MCP 2026-07-28, server/utilities/caching. Whether a list differs between clients is not seen in one session.

use std::sync::Arc;

use tap_jsonrpc::Node;
use tap_protocol::CACHE_SCOPES;

use super::super::{Out, Seen};
use super::find_beside;
use crate::row::At;
use crate::rule::{quoted, quoted_bytes};
use crate::rules::modern_meta as rule;
use crate::state::{Call, SessionState};

/// Pages whose next one was not asked for yet that are remembered: there are four lists, and clients walk one at a time.
const PAGES: usize = 64;

/// Cursors that are longer are not remembered, bytes.
const CURSOR_BYTES: usize = 4096;

/// A page of a list, of which there is another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Page {
    method: Arc<str>,
    next_cursor: Box<str>,
    scope: &'static str,
    at: At,
}

/// Judges the hints of a complete result.
pub(super) fn complete(
    state: &mut SessionState,
    seen: &Seen<'_>,
    call: &Call,
    [ttl, scope, next_cursor]: [Option<Node<'_>>; 3],
    out: &mut Out<'_>,
) {
    // A result that answers a round depends on its input: nobody can use it again.
    let Some(method) = call.known.filter(|method| method.cacheable && call.first_round.is_none()) else {
        return;
    };
    let known_scope = scope.and_then(|scope| CACHE_SCOPES.into_iter().find(|known| scope.is_text(known)));
    let mut missing = Vec::new();
    if ttl.is_none() {
        missing.push("no ttlMs");
    }
    match (scope, known_scope) {
        (None, _) => missing.push("no cacheScope"),
        (Some(_), None) => missing.push("cacheScope is neither public nor private"),
        (Some(_), Some(_)) => {}
    }
    if !missing.is_empty() {
        let detail = format!("{}: {}", quoted(&call.method), missing.join(", "));
        find_beside(&rule::CCH_001, seen, detail, call.at, out);
    }
    if let Some(ttl) = ttl
        && (!ttl.is_integer() || ttl.bytes().starts_with(b"-") && ttl.as_i64() != Some(0))
    {
        out.find(&rule::CCH_002, seen, quoted_bytes(ttl.bytes()));
    }
    if method.paginated
        && let Some(scope) = known_scope
    {
        page(state, seen, call, scope, next_cursor, out);
    }
}

fn page(
    state: &mut SessionState,
    seen: &Seen<'_>,
    call: &Call,
    scope: &'static str,
    next_cursor: Option<Node<'_>>,
    out: &mut Out<'_>,
) {
    let pages = &mut state.modern.pages;
    if let Some(cursor) = call.param(&["cursor"]) {
        let before = pages.iter().rev().find(|page| page.method == call.method && cursor.is_text(&page.next_cursor));
        if let Some(before) = before.filter(|before| before.scope != scope) {
            let detail = format!("{}: {} after {}", quoted(&call.method), scope, before.scope);
            find_beside(&rule::CCH_003, seen, detail, before.at, out);
        }
    }
    let Some(next_cursor) = next_cursor.filter(|cursor| cursor.bytes().len() <= CURSOR_BYTES).and_then(Node::text)
    else {
        return;
    };
    if pages.len() >= PAGES {
        pages.pop_front();
    }
    pages.push_back(Arc::new(Page {
        method: call.method.clone(),
        next_cursor: next_cursor.into(),
        scope,
        at: seen.at(),
    }));
}
