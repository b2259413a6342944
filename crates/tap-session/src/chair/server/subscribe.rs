//! Telling a client what changed: to each subscription of the modern era what it asked for; in the legacy era to all.
//!
//! Source: MCP 2026-07-28, basic/patterns/subscriptions.

use tap_jsonrpc::{Node, RawId};
use tap_protocol::{INTERNAL_ERROR, INVALID_PARAMS, Revision, meta};

use super::{Server, Spoken};
use crate::chair::seat::Heard;
use crate::chair::{ErrorReply, Misuse, Output, write};
use crate::row::At;
use crate::state::Kept;

/// Subscriptions that can be open at a time, and resources that one side can watch. No client needs more, and one must
/// not take all memory.
const SUBSCRIPTIONS: usize = 1_000;
const WATCHED: usize = 10_000;

/// What changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Which tools there are.
    Tools,
    /// Which prompts there are.
    Prompts,
    /// Which resources there are.
    Resources,
    /// What a resource holds.
    Resource {
        /// Which.
        uri: &'a str,
    },
}

impl Change<'_> {
    fn method(self) -> &'static str {
        match self {
            Self::Tools => "notifications/tools/list_changed",
            Self::Prompts => "notifications/prompts/list_changed",
            Self::Resources => "notifications/resources/list_changed",
            Self::Resource { .. } => "notifications/resources/updated",
        }
    }

    /// What the server must have declared to tell it.
    fn capability(self) -> [&'static str; 2] {
        match self {
            Self::Tools => ["tools", "listChanged"],
            Self::Prompts => ["prompts", "listChanged"],
            Self::Resources => ["resources", "listChanged"],
            Self::Resource { .. } => ["resources", "subscribe"],
        }
    }

    /// Its member in a filter.
    fn filter(self) -> &'static str {
        match self {
            Self::Tools => "toolsListChanged",
            Self::Prompts => "promptsListChanged",
            Self::Resources => "resourcesListChanged",
            Self::Resource { .. } => "resourceSubscriptions",
        }
    }
}

/// A subscription that is open.
#[derive(Debug, Clone)]
pub(super) struct Subscription {
    pub(super) raw_id: RawId,
    revision: Revision,
    /// What it is told: the filter that was acknowledged.
    honoured: Kept,
}

/// Whether a resource is the one that is watched, or a part of it.
fn covers(watched: &str, uri: &str) -> bool {
    uri.strip_prefix(watched).is_some_and(|rest| rest.is_empty() || rest.starts_with('/') || watched.ends_with('/'))
}

impl Subscription {
    fn wants(&self, change: Change<'_>) -> bool {
        let Some(wish) = self.honoured.node().get(change.filter()) else {
            return false;
        };
        match change {
            Change::Tools | Change::Prompts | Change::Resources => true,
            Change::Resource { uri } => wish.elements().filter_map(Node::text).any(|watched| covers(&watched, uri)),
        }
    }
}

impl Server {
    pub(super) fn listen(&mut self, heard: &Heard<'_>, raw_id: &RawId, revision: Revision, now_ns: u64) {
        let Some(filter) = heard.param(&["notifications"]).filter(|filter| filter.is_object()) else {
            let reply = ErrorReply::new(INVALID_PARAMS, "`notifications` is no object");
            return self.refuse(Some(raw_id.as_bytes()), &reply, now_ns);
        };
        if SUBSCRIPTIONS <= self.subscriptions.len() {
            let reply = ErrorReply::new(INTERNAL_ERROR, "too many subscriptions are open");
            return self.refuse(Some(raw_id.as_bytes()), &reply, now_ns);
        }
        self.settle(revision);
        let honoured = self.honoured(filter);
        let meta = write::Object::new().member(meta::SUBSCRIPTION_ID, raw_id.as_bytes()).done();
        let params = write::Object::new().member("notifications", &honoured).member("_meta", &meta).done();
        let acknowledged = write::question(None, "notifications/subscriptions/acknowledged", Some(&params));
        if self.seat.say(acknowledged, now_ns).is_err() {
            let reply = ErrorReply::new(INVALID_PARAMS, "this cannot be subscribed to");
            return self.refuse(Some(raw_id.as_bytes()), &reply, now_ns);
        }
        // Its id is what tells one subscription from another: a second one takes the place of the first.
        let replaced = self.subscriptions.iter().find(|(_, open)| open.raw_id == *raw_id).map(|(at, _)| *at);
        if let Some(request) = replaced {
            self.subscriptions.remove(&request);
            self.seat.push(Output::Withdrawn { request });
        }
        let honoured = Kept(honoured.into());
        let request = heard.row.at;
        let open = Subscription { raw_id: raw_id.clone(), revision, honoured: honoured.clone() };
        self.subscriptions.insert(request, open);
        self.seat.push(Output::Subscribed { request, honoured });
    }

    /// The part of a filter that the server can do.
    fn honoured(&self, filter: Node<'_>) -> Vec<u8> {
        let mut honoured = write::Object::new();
        for change in [Change::Tools, Change::Prompts, Change::Resources] {
            let wished = filter.get(change.filter()).and_then(Node::as_bool) == Some(true);
            if wished && self.capabilities.declares(&change.capability()) {
                honoured = honoured.member(change.filter(), b"true");
            }
        }
        let any = Change::Resource { uri: "" };
        if let Some(uris) = filter.get(any.filter()).filter(|uris| uris.is_array())
            && self.capabilities.declares(&any.capability())
        {
            let uris: Vec<_> = uris.elements().filter(|uri| uri.is_string()).take(WATCHED).map(Node::bytes).collect();
            honoured = honoured.member(any.filter(), &[&b"["[..], &uris.join(&b','), b"]"].concat());
        }
        honoured.done()
    }

    pub(super) fn watch(&mut self, uri: Box<str>) {
        if self.watched.len() < WATCHED {
            self.watched.insert(uri);
        }
    }

    /// Tells everybody who wants to know what changed, and says how many these were.
    ///
    /// # Errors
    ///
    /// When the session is not open, when the server did not declare that it tells this, and when a notification would
    /// break a rule.
    pub fn changed(&mut self, change: Change<'_>, now_ns: u64) -> Result<usize, Misuse> {
        if !self.capabilities.declares(&change.capability()) {
            return Err(Misuse::Undeclared { path: change.capability().join(".") });
        }
        let params = || match change {
            Change::Resource { uri } => write::Object::new().text("uri", uri),
            Change::Tools | Change::Prompts | Change::Resources => write::Object::new(),
        };
        match (self.spoken, change) {
            (Spoken::Nothing | Spoken::Legacy { ready: false, .. }, _) => Err(Misuse::NotOpen),
            (Spoken::Legacy { .. }, Change::Resource { uri }) => {
                if !self.watched.iter().any(|watched| covers(watched, uri)) {
                    return Ok(0);
                }
                self.seat.say(write::question(None, change.method(), Some(&params().done())), now_ns)?;
                Ok(1)
            }
            (Spoken::Legacy { .. }, _) => {
                self.seat.say(write::question(None, change.method(), None), now_ns)?;
                Ok(1)
            }
            (Spoken::Modern { .. }, _) => {
                let wanted = self.subscriptions.values().filter(|open| open.wants(change));
                let ids: Vec<_> = wanted.map(|open| open.raw_id.clone()).collect();
                let mut n_told = 0;
                for raw_id in &ids {
                    let meta = write::Object::new().member(meta::SUBSCRIPTION_ID, raw_id.as_bytes()).done();
                    let params = params().member("_meta", &meta).done();
                    match self.seat.say(write::question(None, change.method(), Some(&params)), now_ns) {
                        Ok(_) => n_told += 1,
                        Err(misuse) if n_told == 0 => return Err(misuse),
                        Err(_) => {}
                    }
                }
                Ok(n_told)
            }
        }
    }

    /// Ends a subscription in good order, with its result.
    ///
    /// # Errors
    ///
    /// When there is no such subscription.
    pub fn unsubscribe(&mut self, request: At, now_ns: u64) -> Result<(), Misuse> {
        let open = self.subscriptions.get(&request).ok_or(Misuse::NoSuchRequest(request))?;
        let identity = self.identity(open.revision);
        let meta = write::Object::new()
            .member(meta::SUBSCRIPTION_ID, open.raw_id.as_bytes())
            .all_of(Node::new(&identity), &[])
            .done();
        let result = write::Object::new().text("resultType", "complete").member("_meta", &meta).done();
        self.seat.say(write::result(open.raw_id.clone().as_bytes(), &result), now_ns)?;
        self.subscriptions.remove(&request);
        Ok(())
    }

    /// The subscriptions that are open, by the requests that opened them.
    pub fn subscriptions(&self) -> impl Iterator<Item = At> + '_ {
        self.subscriptions.keys().copied()
    }
}
