//! Keeping servers there: connecting, asking what they offer, putting that together, and beginning anew.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tap_peer::{CallOptions, Client, ConnectError, ListError, ListKind};
use tap_protocol::METHOD_NOT_FOUND;
use tokio::sync::watch;

use super::member::Member;
use super::{Hear, News, RouterOptions};
use crate::catalog::{Catalog, Offer};
use crate::policy::Allowed;

/// How often a server is tried that cannot be connected to, before it is left alone.
const ATTEMPTS: u32 = 4;

/// A list is not asked for again sooner than this because it may be kept no longer.
const SHORTEST_TTL: Duration = Duration::from_secs(5);

/// What all of a router have.
pub(super) struct Shared {
    pub(super) members: Vec<Member>,
    pub(super) options: RouterOptions,
    pub(super) catalog: RwLock<Arc<Catalog>>,
    pub(super) hear: Hear,
    /// How many servers have not said yet what they offer, or that they cannot.
    pub(super) unsettled: watch::Sender<usize>,
    pub(super) started: Instant,
    pub(super) log_level: Mutex<Option<&'static str>>,
    /// What a person has allowed for as long as the router is there.
    pub(super) allowed: Mutex<Allowed>,
}

impl Shared {
    pub(super) fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn tell(&self, text: String) {
        (self.hear)(News::Told(text));
    }

    /// Asks a server for lists, and puts everything together anew.
    pub(super) async fn ask_for(&self, index: usize, client: &Client, kinds: &[ListKind]) -> Option<Duration> {
        let member = self.members.get(index)?;
        let mut ttl = None;
        for &kind in kinds {
            if !client.opened().offers(&[kind.capability()]) {
                continue;
            }
            let listing = match client.list(kind, CallOptions::default()).await {
                Ok(listing) => listing,
                // Many servers that have resources know nothing of templates.
                Err(ListError::Call(error)) if error.code() == Some(METHOD_NOT_FOUND) => continue,
                Err(error) => {
                    self.tell(format!("{}: {}: {error}", member.name, kind.method()));
                    continue;
                }
            };
            if let Some(why) = listing.not_whole {
                self.tell(format!("{}: {}: there may be more: {}", member.name, kind.method(), why.says()));
            }
            for (name, why) in &listing.left_out {
                self.tell(format!("{}: left out `{name}`: {why}", member.name));
            }
            let its = listing.ttl_ms.filter(|ttl_ms| *ttl_ms > 0).map(Duration::from_millis);
            ttl = [ttl, its].into_iter().flatten().min();
            let mut offer = member.offer.lock().unwrap_or_else(PoisonError::into_inner);
            offer.lists.insert(kind.into(), listing.items);
        }
        self.put_together();
        ttl
    }

    pub(super) fn put_together(&self) {
        let offers: Vec<Offer> = self
            .members
            .iter()
            .map(|member| member.offer.lock().unwrap_or_else(PoisonError::into_inner).clone())
            .collect();
        let (before, after) = {
            let mut catalog = self.catalog.write().unwrap_or_else(PoisonError::into_inner);
            let after = Arc::new(Catalog::new(&offers, self.options.naming));
            (std::mem::replace(&mut *catalog, after.clone()), after)
        };
        for problem in after.problems.iter().filter(|problem| !before.problems.contains(problem)) {
            self.tell(format!("left out: {problem}"));
        }
        for kind in ListKind::ALL.into_iter().filter(|kind| !after.is_same(&before, *kind)) {
            (self.hear)(News::Changed(kind));
        }
    }

    pub(super) fn settle(&self) {
        self.unsettled.send_modify(|n| *n = n.saturating_sub(1));
    }
}

/// Keeps a server there: connects, asks what it offers, and begins anew when it went away.
pub(super) async fn keep(shared: Arc<Shared>, index: usize) {
    let Some(member) = shared.members.get(index) else {
        return;
    };
    let mut is_settled = false;
    let mut n_failures = 0;
    loop {
        match member.standing.client().await {
            Ok((client, _)) => {
                n_failures = 0;
                let level = *shared.log_level.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(level) = level {
                    let _ = client.set_log_level(level).await;
                }
                member.watch_lists(&client).await;
                let mut ttl = shared.ask_for(index, &client, &ListKind::ALL).await;
                if !std::mem::replace(&mut is_settled, true) {
                    shared.settle();
                }
                let tells = client.opened().offers(&["tools", "listChanged"]);
                let end = loop {
                    // Where the server tells of changes, nobody has to ask.
                    let wait = ttl.filter(|_| !tells).map(|ttl| ttl.max(SHORTEST_TTL));
                    tokio::select! {
                        end = client.over() => break end,
                        () = tokio::time::sleep(wait.unwrap_or_default()), if wait.is_some() => {
                            ttl = shared.ask_for(index, &client, &ListKind::ALL).await;
                        }
                    }
                };
                member.watched.lock().await.clear();
                let how = end.how().unwrap_or_else(|| "the session is over".into());
                shared.tell(format!("{}: {how}; it is started again", member.name));
            }
            Err(error) => {
                n_failures += 1;
                if n_failures == 1 {
                    shared.tell(format!("{}: {error}", member.name));
                }
                if !std::mem::replace(&mut is_settled, true) {
                    shared.settle();
                }
                // What is not there will not be there in a moment.
                if matches!(error, ConnectError::Spawn(_)) {
                    return;
                }
                if ATTEMPTS <= n_failures {
                    shared.tell(format!("{}: tried {n_failures} times, and left alone", member.name));
                    return;
                }
            }
        }
    }
}
