//! What a host is told without having asked for it, as far as it reads what it is told.
//!
//! To a host that does not read, changes are told when it does, once each; log messages and progress are left out.

use std::sync::Arc;

use bytes::Bytes;
use tap_jsonrpc::Node;
use tap_peer::{ListKind, Notified, Outlet};
use tap_protocol::Revision;
use tap_session::{Change, Kept};

use super::{Loop, text};

/// Resources of which changes are kept until the host can be told.
const HELD: usize = 1_000;

/// That an answer waits for the host, until this is dropped.
pub(crate) struct Waits {
    outlet: Arc<Outlet>,
    n_bytes: usize,
}

impl Waits {
    pub(super) fn new(outlet: Arc<Outlet>, n_bytes: usize) -> Self {
        outlet.add(n_bytes);
        Self { outlet, n_bytes }
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        self.outlet.taken(self.n_bytes);
    }
}

impl<Say: FnMut(Bytes), Tell: FnMut(String)> Loop<Say, Tell> {
    /// A list of the router's is another one.
    pub(super) fn changed(&mut self, kind: ListKind) {
        // Both are resources to a host.
        self.changed.insert(if kind == ListKind::Templates { ListKind::Resources } else { kind });
        self.catch_up();
    }

    /// Tells the host what it is told late, as far as there is room.
    pub(super) fn catch_up(&mut self) {
        let now_ns = self.now_ns();
        if !self.outlet.has_room() {
            return;
        }
        for kind in std::mem::take(&mut self.changed) {
            let change = match kind {
                ListKind::Tools => Change::Tools,
                ListKind::Prompts => Change::Prompts,
                ListKind::Resources | ListKind::Templates => Change::Resources,
            };
            // Whoever has not asked for the list yet need not be told; nor is there a way before the session is open.
            let _ = self.chair.changed(change, now_ns);
        }
        if self.subscribing.is_empty() {
            for uri in std::mem::take(&mut self.held) {
                let _ = self.chair.changed(Change::Resource { uri: &uri }, now_ns);
            }
        }
    }

    /// A host of the modern era wants to hear of resources.
    pub(super) fn subscribed(&mut self, honoured: &Kept) {
        let capabilities = self.chair.state().client.capabilities.clone();
        let router = self.start(capabilities.as_ref(), Revision::LATEST);
        let uris = honoured.node().get("resourceSubscriptions").into_iter().flat_map(Node::elements);
        for uri in uris.filter_map(|uri| Some(uri.text()?.into_owned())) {
            let router = router.clone();
            let startup_limit = self.options.startup_limit;
            tokio::spawn(async move {
                router.settled(startup_limit).await;
                let _ = router.subscribe(&uri).await;
            });
        }
    }

    /// What a server says goes to the host, where that may be told.
    pub(super) fn notified(&mut self, notified: &Notified) {
        let now_ns = self.now_ns();
        let params = notified.params.as_ref().map(text);
        match notified.method.as_str() {
            "notifications/resources/updated" => {
                let uri = notified.params.as_ref().and_then(|params| params.node().get("uri")?.text());
                // It may come before the host has the answer to its wish, which would be too early.
                if let Some(uri) = &uri
                    && (!self.outlet.has_room()
                        || self.subscribing.values().any(|wished| uri.starts_with(wished.as_str())))
                {
                    if self.held.len() < HELD && !self.held.iter().any(|held| held == uri) {
                        self.held.push(uri.clone().into_owned());
                    }
                } else if let Some(uri) = uri {
                    let _ = self.chair.changed(Change::Resource { uri: &uri }, now_ns);
                }
            }
            "notifications/message" | "notifications/elicitation/complete" if self.outlet.has_room() => {
                let _ = self.chair.notify(&notified.method, params.as_deref(), now_ns);
            }
            _ => {}
        }
    }
}
