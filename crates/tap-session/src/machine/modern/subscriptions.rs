//! Subscriptions: `subscriptions/listen` of the modern era, `resources/subscribe` of the legacy one.
//!
//! Source: MCP 2026-07-28, basic/patterns/subscriptions, and the schema's notes; server/resources of the older revisions.
//! How a server ends a subscription is said in two ways, so an answer, a cancellation and both are right.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use tap_jsonrpc::{Node, RawId};
use tap_protocol::Side;

use super::super::{LinkKind, Out, Seen};
use super::{Modern, find_beside, serves};
use crate::row::At;
use crate::rule::{Severity, quoted};
use crate::rules::modern_subscriptions as rule;
use crate::state::{Call, SessionState};

/// Subscriptions that are remembered, open or not.
const SUBSCRIPTIONS: usize = 256;

/// Resources, or tasks, of one subscription that are remembered.
const FILTER_ENTRIES: usize = 1000;

/// Bytes of one filter that are remembered: with as many subscriptions as there may be, and what was acknowledged of each,
/// less than a hundred million.
const FILTER_BYTES: usize = 128 * 1024;

/// What stands for the methods that no revision has, where messages are counted by method.
const OTHER_METHODS: &str = "other";

/// What a subscription is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filter {
    /// Changes to the list of tools.
    pub tools_list_changed: bool,
    /// Changes to the list of prompts.
    pub prompts_list_changed: bool,
    /// Changes to the list of resources.
    pub resources_list_changed: bool,
    /// Changes to these resources, and to what lies below them.
    pub resource_subscriptions: OrdSet<Arc<str>>,
    /// Statuses of these tasks.
    pub task_ids: OrdSet<Arc<str>>,
    /// Whether it names more than is kept here.
    pub has_more: bool,
}

/// How a subscription ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubscriptionEnd {
    /// It was answered with a result.
    Answered,
    /// It was answered with an error.
    Refused,
    /// This side cancelled it.
    Cancelled(Side),
}

/// A `subscriptions/listen` request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Subscription {
    /// Its id as written, which is the subscription's id.
    pub raw_id: RawId,
    /// Which ids it lives with: 0, or its HTTP exchange.
    pub scope: u64,
    /// The request.
    pub at: At,
    /// When it was sent, nanoseconds since the session opened.
    pub opened_ns: u64,
    /// What the client asks for.
    pub asked: Filter,
    /// What the server agreed to, and the message that said so.
    pub acknowledged: Option<(At, Filter)>,
    /// Notifications that it delivered, by method; the acknowledgement is not among them. Methods that no revision has are
    /// counted together as `other`.
    pub n_delivered: OrdMap<Arc<str>, u64>,
    /// The newest message of it.
    pub last: Option<At>,
    /// How it ended first, and with which message.
    pub ended: Option<(SubscriptionEnd, At)>,
    /// Whether the client used its id for another request while it was open: which of them a message is of is not known.
    is_id_shared: bool,
}

impl Modern {
    /// The subscriptions that are open.
    pub fn open_subscriptions(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.subscriptions.iter().filter(|subscription| subscription.ended.is_none())
    }

    /// The index of the newest subscription with this id: in this scope, or else in another.
    fn subscription(&self, scope: u64, raw_id: &RawId) -> Option<usize> {
        let with_id = |scopes: &dyn Fn(u64) -> bool| {
            self.subscriptions.iter().rposition(|this| this.raw_id == *raw_id && scopes(this.scope))
        };
        with_id(&|this| this == scope).or_else(|| with_id(&|_| true))
    }
}

impl Filter {
    fn read(node: Node<'_>) -> Self {
        let mut filter = Self::default();
        let mut n_bytes = 0;
        for (key, value) in node.members() {
            let is_on = value.as_bool() == Some(true);
            match &*key.text() {
                "toolsListChanged" => filter.tools_list_changed = is_on,
                "promptsListChanged" => filter.prompts_list_changed = is_on,
                "resourcesListChanged" => filter.resources_list_changed = is_on,
                "resourceSubscriptions" => {
                    let has_all = keep_texts(value, &mut filter.resource_subscriptions, &mut n_bytes);
                    filter.has_more |= !has_all;
                }
                "taskIds" => {
                    let has_all = keep_texts(value, &mut filter.task_ids, &mut n_bytes);
                    filter.has_more |= !has_all;
                }
                _ => {}
            }
        }
        filter
    }

    /// Whether it names what a notification tells; `None` for a notification that no filter is known for.
    fn covers(&self, method: &str, uri: Option<&str>) -> Option<bool> {
        match method {
            "notifications/tools/list_changed" => Some(self.tools_list_changed),
            "notifications/prompts/list_changed" => Some(self.prompts_list_changed),
            "notifications/resources/list_changed" => Some(self.resources_list_changed),
            "notifications/resources/updated" => {
                Some(self.has_more || uri.is_some_and(|uri| covers(&self.resource_subscriptions, uri)))
            }
            _ => None,
        }
    }

    /// What it has that `asked` has not.
    fn beyond(&self, asked: &Self) -> Vec<String> {
        let mut beyond = Vec::new();
        for (name, here, there) in [
            ("toolsListChanged", self.tools_list_changed, asked.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed, asked.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed, asked.resources_list_changed),
        ] {
            if here && !there {
                beyond.push(format!("`{name}`"));
            }
        }
        if !asked.has_more {
            let uris = self.resource_subscriptions.iter().filter(|uri| !covers(&asked.resource_subscriptions, uri));
            let tasks = self.task_ids.iter().filter(|id| !asked.task_ids.contains(&**id));
            beyond.extend(uris.chain(tasks).take(3).map(|name| quoted(name)));
        }
        beyond
    }
}

/// Keeps the texts of a list, as far as there is room, and tells whether these are all of them.
fn keep_texts(list: Node<'_>, kept: &mut OrdSet<Arc<str>>, n_bytes: &mut usize) -> bool {
    for (index, node) in list.elements().enumerate() {
        let n_bytes_here = node.bytes().len();
        if index >= FILTER_ENTRIES || *n_bytes + n_bytes_here > FILTER_BYTES {
            return false;
        }
        if let Some(text) = node.text() {
            kept.insert(Arc::from(&*text));
            *n_bytes += n_bytes_here;
        }
    }
    true
}

/// Whether a URI, or one above it, is among these. A slash at the end makes no difference: some parsers of URIs add one.
fn covers(uris: &OrdSet<Arc<str>>, uri: &str) -> bool {
    has_prefix(uri, |upto| uris.get_prev(upto).map(|nearest| &**nearest))
}

/// Whether one of sorted texts is a prefix of a URI; `nearest` gives the greatest that is not greater than a text.
///
/// That one is a prefix, or it shares with the URI all that any prefix has. So each step is shorter, and there are few.
fn has_prefix<'a>(uri: &str, nearest: impl Fn(&str) -> Option<&'a str>) -> bool {
    let with_slash = format!("{}/", uri.trim_end_matches('/'));
    let mut rest = &*with_slash;
    while let Some(near) = nearest(rest) {
        if with_slash.starts_with(near.trim_end_matches('/')) {
            return true;
        }
        let n_shared = near.bytes().zip(rest.bytes()).take_while(|(left, right)| left == right).count();
        let Some(shared) = rest.get(..rest.floor_char_boundary(n_shared)).filter(|shared| shared.len() < rest.len())
        else {
            return false;
        };
        rest = shared;
    }
    false
}

/// Whether it is one of the four that tell of a change, which only subscriptions deliver.
fn tells_of_change(method: &str) -> bool {
    matches!(
        method,
        "notifications/tools/list_changed"
            | "notifications/prompts/list_changed"
            | "notifications/resources/list_changed"
            | "notifications/resources/updated"
    )
}

/// A request of the modern era.
pub(super) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &Call) {
    let is_id_shared = shares_id(state, seen, call);
    if &*call.method != "subscriptions/listen" {
        return;
    }
    let modern = &mut state.modern;
    if modern.subscriptions.len() >= SUBSCRIPTIONS {
        let ended = modern.subscriptions.iter().position(|this| this.ended.is_some());
        modern.subscriptions.remove(ended.unwrap_or_default());
        modern.n_forgotten_subscriptions += u64::from(ended.is_none());
    }
    modern.subscriptions.push_back(Arc::new(Subscription {
        raw_id: call.raw_id.clone(),
        scope: call.scope,
        at: call.at,
        opened_ns: call.at_ns,
        asked: seen.param("notifications").map(Filter::read).unwrap_or_default(),
        acknowledged: None,
        n_delivered: OrdMap::new(),
        last: None,
        ended: None,
        is_id_shared,
    }));
}

/// Whether a request has the id of an open subscription, which is noted there.
fn shares_id(state: &mut SessionState, seen: &Seen<'_>, call: &Call) -> bool {
    if state.modern.subscriptions.is_empty() || !state.used_ids_of(seen.side).contains(&call.raw_id) {
        return false;
    }
    let mut is_shared = false;
    for shared in state.modern.subscriptions.iter_mut() {
        if shared.ended.is_none() && shared.scope == call.scope && shared.raw_id == call.raw_id {
            Arc::make_mut(shared).is_id_shared = true;
            is_shared = true;
        }
    }
    is_shared
}

/// A notification, of either side and any era.
pub(super) fn notification(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let method = seen.method_name();
    if method == "notifications/cancelled" {
        cancelled(state, seen);
        return;
    }
    if seen.side == Side::Client {
        return;
    }
    if !seen.is_modern() {
        return;
    }
    match named(seen) {
        Some(id) => delivered(state, seen, &RawId::from_token(id.bytes()), out),
        None => without_id(state, seen, out),
    }
}

/// The subscription that a message says it belongs to.
fn named<'a>(seen: &Seen<'a>) -> Option<Node<'a>> {
    seen.said.subscription_id.filter(|id| !id.is_null())
}

/// A notification that says to which subscription it belongs.
fn delivered(state: &mut SessionState, seen: &Seen<'_>, raw_id: &RawId, out: &mut Out<'_>) {
    let method = seen.method_name();
    let is_acknowledgement = method == "notifications/subscriptions/acknowledged";
    if is_acknowledgement && state.modern.served.is_none() {
        serves(&mut state.modern, seen, out);
    }
    let Some(index) = state.modern.subscription(seen.scope, raw_id) else {
        if state.modern.n_forgotten_subscriptions == 0 {
            unknown_id(state, seen, raw_id, out);
        }
        return;
    };
    // What is missing may have ended it, or have opened another one with this id.
    let whole = state.whole;
    let Some(shared) = state.modern.subscriptions.get_mut(index) else {
        return;
    };
    let this = Arc::make_mut(shared);
    let opened = this.at;
    // A client that used the id twice may mean the other one.
    let worst = if this.is_id_shared { Severity::Warning } else { Severity::Error };
    out.link(seen.at(), opened, LinkKind::Delivered);
    this.last = Some(seen.at());
    let find = |out: &mut Out<'_>, rule, severity: Severity, detail: String| {
        if let Some(finding) = out.find(rule, seen, detail) {
            finding.severity = finding.severity.min(severity).min(worst);
            finding.others.push(opened);
        }
    };
    // What was sent before the client's cancellation arrived is no fault; after an end of its own the server knows.
    if let Some((end, at)) = this.ended
        && end != SubscriptionEnd::Cancelled(Side::Client)
        && let Some(finding) = out.find(&rule::SUB_004, seen, format!("{raw_id}, which has ended"))
    {
        finding.severity = finding.severity.min(worst);
        finding.others.extend([this.at, at]);
    }
    if this.scope != seen.scope {
        find(out, &rule::SUB_007, Severity::Error, format!("{} on another stream", quoted(method)));
    }
    if is_acknowledgement {
        let filter = seen.param("notifications").map(Filter::read).unwrap_or_default();
        let beyond = filter.beyond(&this.asked);
        if !beyond.is_empty() && whole {
            find(out, &rule::SUB_005, Severity::Error, beyond.join(", "));
        }
        this.acknowledged = Some((seen.at(), filter));
        return;
    }
    if this.acknowledged.is_none() && whole {
        find(out, &rule::SUB_001, Severity::Error, quoted(method));
    }
    if matches!(method, "notifications/progress" | "notifications/message") {
        find(out, &rule::SUB_006, Severity::Error, quoted(method));
        return;
    }
    let uri = seen.param("uri").and_then(Node::text);
    let told = match &uri {
        Some(uri) => format!("{} of {}", quoted(method), quoted(uri)),
        None => quoted(method),
    };
    let acknowledged = this.acknowledged.as_ref().map(|(_, filter)| filter.covers(method, uri.as_deref()));
    match (this.asked.covers(method, uri.as_deref()), acknowledged.flatten()) {
        _ if !whole => {}
        (Some(false), _) => find(out, &rule::SUB_002, Severity::Error, told),
        // The specification forbids what was not asked for, and says of the rest only what the acknowledgement means.
        (Some(true), Some(false)) => {
            find(out, &rule::SUB_002, Severity::Warning, format!("{told} was asked for and not acknowledged"));
        }
        (Some(true) | None, _) => {}
    }
    let counted = seen.method.map_or(OTHER_METHODS, |known| known.name);
    *this.n_delivered.entry(counted.into()).or_insert(0) += 1;
}

fn unknown_id(state: &SessionState, seen: &Seen<'_>, raw_id: &RawId, out: &mut Out<'_>) {
    let said = |raw_id: &RawId| raw_id.text().unwrap_or_else(|| raw_id.to_string());
    let other = state.modern.open_subscriptions().find(|this| said(&this.raw_id) == said(raw_id));
    let detail = match other {
        Some(this) => format!("{raw_id}; the request has the id {}", this.raw_id),
        None => format!("{raw_id}; no subscription has that id"),
    };
    if let (Some(finding), Some(this)) = (out.find(&rule::SUB_004, seen, detail), other) {
        finding.others.push(this.at);
    }
}

/// A notification that does not say to which subscription it belongs.
fn without_id(state: &SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let method = seen.method_name();
    if seen.scope != 0 && matches!(method, "notifications/progress" | "notifications/message") {
        let of_stream = state.modern.open_subscriptions().find(|this| this.scope == seen.scope);
        if let Some(this) = of_stream {
            find_beside(&rule::SUB_006, seen, quoted(method), this.at, out);
        }
        return;
    }
    if method == "notifications/subscriptions/acknowledged" {
        out.find(&rule::SUB_003, seen, quoted(method));
        return;
    }
    if !tells_of_change(method) || state.modern.served.is_none() {
        return;
    }
    let listens = state.modern.subscriptions.iter().any(|this| {
        // What crosses the client's cancellation belongs to a subscription all the same.
        matches!(this.ended, None | Some((SubscriptionEnd::Cancelled(Side::Client), _))) && this.scope == seen.scope
    });
    if listens {
        out.find(&rule::SUB_003, seen, quoted(method));
    } else if state.modern.n_forgotten_subscriptions == 0 {
        out.find(&rule::SUB_007, seen, quoted(method));
    }
}

/// A cancellation may end a subscription, from either side.
fn cancelled(state: &mut SessionState, seen: &Seen<'_>) {
    if state.modern.subscriptions.is_empty() {
        return;
    }
    let Some(id) = seen.param("requestId") else {
        return;
    };
    end(&mut state.modern, seen, &RawId::from_token(id.bytes()), SubscriptionEnd::Cancelled(seen.side));
}

fn end(modern: &mut Modern, seen: &Seen<'_>, raw_id: &RawId, how: SubscriptionEnd) {
    let Some(index) = modern.subscription(seen.scope, raw_id) else {
        return;
    };
    if let Some(shared) = modern.subscriptions.get_mut(index).filter(|this| this.ended.is_none()) {
        let this = Arc::make_mut(shared);
        this.ended = Some((how, seen.at()));
        this.last = Some(seen.at());
    }
}

/// The exchange of a `subscriptions/listen` ended without an answer, by this side.
pub(super) fn dropped(state: &mut SessionState, call: &Call, at: At, by: Side) {
    let Some(index) = state.modern.subscription(call.scope, &call.raw_id) else {
        return;
    };
    if let Some(shared) = state.modern.subscriptions.get_mut(index).filter(|this| this.ended.is_none()) {
        Arc::make_mut(shared).ended = Some((SubscriptionEnd::Cancelled(by), at));
    }
}

/// An answer of the modern era.
pub(super) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if &*call.method != "subscriptions/listen" {
        return;
    }
    let how = if seen.result.is_some() { SubscriptionEnd::Answered } else { SubscriptionEnd::Refused };
    end(&mut state.modern, seen, &call.raw_id, how);
    if seen.result.is_none() {
        return;
    }
    match named(seen) {
        Some(id) if RawId::from_token(id.bytes()) == call.raw_id => {}
        Some(id) => {
            let detail = format!("{}; the request has the id {}", RawId::from_token(id.bytes()), call.raw_id);
            find_beside(&rule::SUB_004, seen, detail, call.at, out);
        }
        // The text about this answer was still changed after the release.
        None => {
            if let Some(finding) = out.find(&rule::SUB_003, seen, "the answer that ends it") {
                finding.severity = Severity::Warning;
                finding.others.push(call.at);
            }
        }
    }
}

#[cfg(test)]
mod tests;
