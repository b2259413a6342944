//! What was listed: tools, prompts, resources, templates, roots; what the client subscribed to; the pages of a list.
//!
//! A list is begun anew by the answer to a request without a cursor, grows with the pages that follow, and is complete
//! when a page hands out no further cursor.
//!
//! Source: MCP server/utilities/pagination, server/tools, server/prompts, server/resources, client/roots, every revision.

mod item;
mod list;
mod pages;

use std::sync::Arc;

use imbl::{HashMap, HashSet};
use tap_jsonrpc::Node;
use tap_protocol::Method;

pub use item::{Listed, Tool};
pub(crate) use list::Taken;
pub use list::{LIST_LIMIT_BYTES, LIST_LIMIT_ITEMS, List};

use self::list::Page;
use self::pages::Pages;
use super::features::tools;
use super::{LinkKind, Out, Seen};
use crate::row::At;
use crate::rule::{clipped, quoted};
use crate::rules::features::resources as rule;
use crate::state::{Call, SessionState};

/// Subscriptions that are remembered. A client that subscribes to more makes updates unjudged, not memory grow.
const SUBSCRIPTIONS: usize = 10_000;

/// Longer URIs are not looked at for subscriptions, bytes.
const URI_LIMIT_BYTES: usize = 4096;

/// Requests in flight that are known to have a cursor which was not kept.
const CURSORS_NOT_KEPT: usize = 10_000;

/// A URI with more parts than this is not looked at for subscriptions.
const PARENTS: usize = 100;

/// What was listed, as far as it was seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lists {
    /// `tools/list`.
    pub tools: List<Tool>,
    /// `prompts/list`, by name.
    pub prompts: List<Listed>,
    /// `resources/list`, by URI.
    pub resources: List<Listed>,
    /// `resources/templates/list`, by URI template.
    pub resource_templates: List<Listed>,
    /// `roots/list`, which the server asks for, by URI. In the modern era they are asked for inside results.
    pub roots: List<Listed>,
    /// Resources that the client is subscribed to in the legacy era, by URI, and the request that did so.
    pub subscribed: HashMap<Arc<str>, At>,
    /// Subscriptions that were not remembered, because there were too many.
    pub n_subscribed_forgotten: u64,
    /// Of these, the newest request to subscribe to what the client was subscribed to already.
    subscribed_again: HashMap<Arc<str>, At>,
    pages: Pages,
    /// Requests in flight with a cursor that was not kept: which page their answers are is not known.
    cursor_not_kept: HashSet<At>,
}

impl Lists {
    /// The tool of this name, of those that were listed last.
    #[must_use]
    pub fn tool(&self, name: &str) -> Option<&Arc<Tool>> {
        self.tools.get(name)
    }
}

/// What all lists have, whatever is in them.
trait AnyList {
    fn change(&mut self, at: At);
    fn ask_again(&mut self) -> Option<At>;
}

impl<T> AnyList for List<T> {
    fn change(&mut self, at: At) {
        self.changed = Some(at);
        self.asked_again = false;
    }

    /// The notification, if this is the first request after it.
    fn ask_again(&mut self) -> Option<At> {
        let first = !std::mem::replace(&mut self.asked_again, true);
        self.changed.filter(|_| first)
    }
}

/// The lists that a notification is about.
fn changed_by<'a>(lists: &'a mut Lists, method: &str) -> Vec<&'a mut dyn AnyList> {
    match method {
        "notifications/tools/list_changed" => vec![&mut lists.tools],
        "notifications/prompts/list_changed" => vec![&mut lists.prompts],
        "notifications/resources/list_changed" => vec![&mut lists.resources, &mut lists.resource_templates],
        "notifications/roots/list_changed" => vec![&mut lists.roots],
        _ => Vec::new(),
    }
}

fn listed_by<'a>(lists: &'a mut Lists, method: &str) -> Option<&'a mut dyn AnyList> {
    Some(match method {
        "tools/list" => &mut lists.tools,
        "prompts/list" => &mut lists.prompts,
        "resources/list" => &mut lists.resources,
        "resources/templates/list" => &mut lists.resource_templates,
        "roots/list" => &mut lists.roots,
        _ => return None,
    })
}

/// The cursor that a request goes on with.
fn cursor_of(params: Option<Node<'_>>) -> Option<Node<'_>> {
    params?.get("cursor").filter(|cursor| !cursor.is_null())
}

/// Whether it asks for a list.
fn lists(method: &Method) -> bool {
    method.paginated || method.name == "roots/list"
}

/// A request.
pub(crate) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(method) = call.known else {
        return;
    };
    if lists(method) {
        match cursor_of(seen.params) {
            Some(cursor) => {
                state.lists.pages.asked(method, seen, cursor, out);
                if call.params.is_none() && state.lists.cursor_not_kept.len() < CURSORS_NOT_KEPT {
                    state.lists.cursor_not_kept.insert(call.at);
                }
            }
            None => {
                if let Some(at) = listed_by(&mut state.lists, method.name).and_then(|list| list.ask_again()) {
                    out.link(seen.at(), at, LinkKind::ListedAgain);
                }
            }
        }
    } else if method.name == "resources/subscribe"
        && let Some(uri) = seen.param("uri").and_then(Node::text)
    {
        let lists = &mut state.lists;
        if lists.subscribed.contains_key(&*uri) {
            // It may be refused, and what was before it stays; or it may follow an end that is on its way.
            lists.subscribed_again.insert(Arc::from(&*uri), seen.at());
        } else if uri.len() <= URI_LIMIT_BYTES && lists.subscribed.len() < SUBSCRIPTIONS {
            // From the request on: the server may send before it answers.
            lists.subscribed.insert(Arc::from(&*uri), seen.at());
        } else {
            lists.n_subscribed_forgotten += 1;
        }
    }
}

/// A notification.
pub(crate) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let name = seen.method_name();
    if name.ends_with("/list_changed") {
        for list in changed_by(&mut state.lists, name) {
            list.change(seen.at());
        }
    } else if name == "notifications/resources/updated"
        && let Some(uri) = seen.param("uri").and_then(Node::text)
        && !is_subscribed(&state.lists, &uri)
    {
        out.find(&rule::RES_002, seen, quoted(&uri));
    }
}

/// Whether a subscription covers the URI: one to it, or to what it lies in.
fn is_subscribed(lists: &Lists, uri: &str) -> bool {
    if lists.n_subscribed_forgotten > 0 || uri.len() > URI_LIMIT_BYTES || lists.subscribed.contains_key(uri) {
        return true;
    }
    if lists.subscribed.is_empty() {
        return false;
    }
    let mut n_parents = 0;
    uri.match_indices(['/', '?', '#', ':']).any(|(index, separator)| {
        n_parents += 1;
        let parents = [uri.get(..index), uri.get(..index + separator.len())];
        n_parents > PARENTS || parents.into_iter().flatten().any(|parent| lists.subscribed.contains_key(parent))
    })
}

/// An answer, and its request.
pub(crate) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    let Some(method) = call.known else {
        return;
    };
    match method.name {
        "resources/subscribe" if seen.result.is_none() => unsubscribe(state, call, |since| since == call.at),
        "resources/unsubscribe" if seen.result.is_some() => unsubscribe(state, call, |since| since < call.at),
        _ if lists(method) => {
            if state.lists.cursor_not_kept.remove(&call.at).is_some() {
                return;
            }
            if let Some(result) = seen.result.filter(|result| result.is_object()) {
                page(state, seen, call, method, result, out);
            }
        }
        _ => {}
    }
}

/// A request will not be answered any more. `was_let_in` is whether the other side may have taken it.
pub(crate) fn dropped(state: &mut SessionState, call: &Call, was_let_in: bool) {
    state.lists.cursor_not_kept.remove(&call.at);
    if !was_let_in && &*call.method == "resources/subscribe" {
        unsubscribe(state, call, |since| since == call.at);
    }
}

/// Takes out the requests to subscribe that came to nothing, or to an end.
fn unsubscribe(state: &mut SessionState, call: &Call, ends: impl Fn(At) -> bool) {
    let Some(uri) = call.param(&["uri"]).and_then(Node::text) else {
        return;
    };
    let lists = &mut state.lists;
    if lists.subscribed_again.get(&*uri).is_some_and(|since| ends(*since)) {
        lists.subscribed_again.remove(&*uri);
    }
    if lists.subscribed.get(&*uri).is_some_and(|since| ends(*since)) {
        match lists.subscribed_again.remove(&*uri) {
            Some(again) => lists.subscribed.insert(Arc::from(&*uri), again),
            None => lists.subscribed.remove(&*uri),
        };
    }
}

/// A page of a list.
fn page(
    state: &mut SessionState,
    seen: &Seen<'_>,
    call: &Call,
    method: &'static Method,
    result: Node<'_>,
    out: &mut Out<'_>,
) {
    let member = match method.name {
        "resources/templates/list" => "resourceTemplates",
        name => name.split('/').next().unwrap_or_default(),
    };
    let [items, next, ttl_ms, cache_scope] = result.pick([member, "nextCursor", "ttlMs", "cacheScope"]);
    let next = next.filter(|next| !next.is_null());
    let cursor = cursor_of(call.params.as_ref().map(crate::state::Kept::node));
    let lists = &mut state.lists;
    let walk = lists.pages.answered(method, seen, call, cursor, next, out);
    let page = Page {
        seen,
        asked: call.at,
        walk,
        items,
        is_last: next.is_none(),
        ttl_ms: ttl_ms.and_then(Node::as_i64),
        cache_scope: cache_scope.and_then(Node::text).map(|scope| clipped(&scope, 100).into()),
    };
    match method.name {
        "tools/list" => {
            let taken = list::take(&mut lists.tools, &page);
            tools::listed(&lists.tools, &taken, seen, out);
        }
        "prompts/list" => drop(list::take(&mut lists.prompts, &page)),
        "resources/list" => drop(list::take(&mut lists.resources, &page)),
        "resources/templates/list" => drop(list::take(&mut lists.resource_templates, &page)),
        "roots/list" => drop(list::take(&mut lists.roots, &page)),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
