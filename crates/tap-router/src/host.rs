//! Many servers at once: one client a server, started side by side; what they offer, put together; calls to them.
//!
//! `host/keep.rs` keeps them there, `host/member.rs` has one server and the calls to it.

mod keep;
mod member;

use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tap_jsonrpc::Node;
use tap_peer::{Backoff, CallError, ClientOptions, Handler, ListKind, OnProgress, Outlet, Recorder, Standing, Target};
use tap_protocol::{INVALID_PARAMS, Revision};
use tap_session::ErrorReply;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::adapt;
use crate::audit::{Audit, Called, Came};
use crate::catalog::{Catalog, Entry, Offer};
use crate::naming::Naming;
use crate::policy::{Consent, Decider, Decision, Policy, Question, Verdict};
use crate::rules::ServerRules;
use keep::{Shared, keep};
use member::{Failed, Member};

/// A server that is to be there.
pub struct ServerPlan {
    /// What the host calls it.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// What the host's rules say of it.
    pub rules: ServerRules,
    /// Answers what it asks, and hears what it says.
    pub handler: Arc<dyn Handler>,
    /// Records the sessions with it.
    pub recorder: Option<Arc<dyn Recorder>>,
}

/// How a router behaves.
#[derive(Clone, Default)]
pub struct RouterOptions {
    /// How names are made.
    pub naming: Naming,
    /// Which servers are used, by their roles; all where nothing is said.
    pub roles: BTreeSet<String>,
    /// Which calls are made, and about which a person is asked.
    pub policy: Policy,
    /// Asks a person. Where there is nobody, what would be asked is refused.
    pub ask: Option<Ask>,
    /// Told of each call, and who allowed it.
    pub audit: Option<Arc<dyn Audit>>,
    /// What waits for whoever gets the answers. While it has no room no call is begun.
    pub outlet: Option<Arc<Outlet>>,
}

/// Asks a person whether a call is to be made. A call that is given up drops the future.
pub type Ask = Arc<dyn Fn(Question) -> Pin<Box<dyn Future<Output = Consent> + Send>> + Send + Sync>;

/// Something that whoever uses a router is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A list is another one now.
    Changed(ListKind),
    /// Something that a person should know, in a sentence.
    Told(String),
}

/// Hears [`News`]. Must not wait.
pub type Hear = Arc<dyn Fn(News) + Send + Sync>;

/// Many servers as one.
pub struct Router {
    shared: Arc<Shared>,
    tasks: Vec<JoinHandle<()>>,
}

/// How a host makes a call.
#[derive(Clone)]
pub struct HostCall {
    /// The revision that the host speaks.
    pub revision: Revision,
    /// What is told of progress, where the host asked for that.
    pub on_progress: Option<OnProgress>,
    /// Comes back with what the server asks because of the call.
    pub tag: u64,
    /// What the host can be asked because of this one call, the text of a JSON object. Said in the modern era alone.
    pub capabilities: Option<String>,
}

impl Router {
    /// Starts all servers, side by side, and keeps them there. In a runtime.
    #[must_use]
    pub fn start(plans: Vec<ServerPlan>, options: RouterOptions, hear: Hear) -> Self {
        let plans = plans.into_iter().filter(|plan| plan.rules.is_for(&options.roles));
        let members: Vec<Member> = plans
            .map(|plan| {
                let client = ClientOptions {
                    handler: plan.handler,
                    request_limit: plan.rules.limit,
                    ..ClientOptions::default()
                };
                let offer = Offer { server: plan.name.clone(), rules: plan.rules.clone(), ..Offer::default() };
                Member {
                    outlet: options.outlet.clone(),
                    name: plan.name,
                    permits: Semaphore::new(plan.rules.parallel.max(1)),
                    rules: plan.rules,
                    standing: Standing::new(plan.target, client, Backoff::default(), plan.recorder),
                    offer: Mutex::new(offer),
                    watched: tokio::sync::Mutex::default(),
                }
            })
            .collect();
        let n_members = members.len();
        let shared = Arc::new(Shared {
            members,
            options,
            catalog: RwLock::default(),
            hear,
            unsettled: watch::Sender::new(n_members),
            started: Instant::now(),
            log_level: Mutex::default(),
            allowed: Mutex::default(),
        });
        let tasks = (0..n_members).map(|index| tokio::spawn(keep(shared.clone(), index))).collect();
        Self { shared, tasks }
    }

    /// The servers' names, in their order.
    pub fn servers(&self) -> impl Iterator<Item = &str> {
        self.shared.members.iter().map(|member| member.name.as_str())
    }

    /// Waits until each server has said what it offers, or failed to, but no longer than until so long after the start.
    pub async fn settled(&self, limit: Duration) {
        let mut unsettled = self.shared.unsettled.subscribe();
        let left = limit.saturating_sub(self.shared.started.elapsed());
        let _ = tokio::time::timeout(left, unsettled.wait_for(|n| *n == 0)).await;
    }

    /// What all servers offer, as far as they have said.
    #[must_use]
    pub fn catalog(&self) -> Arc<Catalog> {
        self.shared.catalog()
    }

    /// A list, for a host that speaks this revision: the text of a result.
    #[must_use]
    pub fn list(&self, kind: ListKind, host: Revision) -> String {
        let catalog = self.catalog();
        let items: Vec<String> =
            catalog.list(kind).iter().map(|entry| adapt::item(Node::new(&entry.item), kind, host)).collect();
        format!("{{\"{}\":[{}]}}", kind.member(), items.join(","))
    }

    /// Calls a tool by its name here. `params` are those of the host's request. What goes wrong with the call is a result
    /// that says so, for a model to read; an error is what is wrong with the request.
    ///
    /// # Errors
    ///
    /// When there is no such tool, and what the server says as an error of the protocol.
    pub async fn call_tool(&self, params: Node<'_>, call: HostCall) -> Result<String, ErrorReply> {
        // Of two, nobody knows which one the server takes, and rules would be about the other.
        for member in ["name", "arguments"] {
            if params.members().filter(|(key, _)| key.text() == member).count() > 1 {
                return Err(ErrorReply::new(INVALID_PARAMS, format!("`{member}` is there twice")));
            }
        }
        let name = params.get("name").and_then(Node::text).unwrap_or_default().into_owned();
        let catalog = self.catalog();
        let Some(entry) = catalog.find(ListKind::Tools, &name) else {
            return Err(self.unknown(&catalog, ListKind::Tools, "tool", &name));
        };
        let Some(member) = self.shared.members.get(entry.server) else {
            return Err(self.unknown(&catalog, ListKind::Tools, "tool", &name));
        };
        let unfit = entry.unfit_arguments(params.get("arguments").map_or(b"{}", Node::bytes));
        if !unfit.is_empty() {
            let what = format!("the arguments do not fit `{name}`, and it was not called: {}", unfit.join("; "));
            return Ok(adapt::error_result(&what));
        }
        let arguments = params.get("arguments").map_or(&b"{}"[..], Node::bytes);
        let mut called = Called::begin(self.shared.options.audit.clone(), &member.name, &entry.original, arguments);
        let decided = self.confirm(&member.name, entry, arguments, call.tag).await;
        called.decided(&decided);
        if decided.verdict == Verdict::Deny {
            let why = decided.because.map(|why| format!(": {why}")).unwrap_or_default();
            let what = match decided.by {
                Decider::Person => format!("the person who was asked refused the call of `{name}`; it was not made"),
                Decider::Nobody => {
                    format!("a person has to allow calls of `{name}`, and there is nobody to ask; it was not made{why}")
                }
                _ => format!("the host's rules do not allow this call of `{name}`; it was not made{why}"),
            };
            return Ok(adapt::refused_result(&what, &decided.by.to_string()));
        }
        let passed = adapt::params(Some(params), &[("name", tap_peer::quoted(&entry.original))]);
        let host = call.revision;
        let outcome = member.request("tools/call", passed, call).await;
        called.came(match &outcome {
            Ok(result) => Came::Result(result.node()),
            Err(Failed::Server(reply)) => Came::Error(&reply.message),
            Err(failed) => Came::Nothing(failed.says(&member.name)),
        });
        match outcome {
            Ok(result) => {
                let unfit = entry.unfit_result(result.node());
                if !unfit.is_empty() {
                    let what = format!("{}: a result of `{}` does not fit", member.name, entry.original);
                    self.shared.tell(format!("{what}: {}", unfit.join("; ")));
                }
                Ok(adapt::result(result.node(), host))
            }
            Err(Failed::Server(reply)) => Err(reply),
            Err(failed) => Ok(adapt::error_result(&failed.says(&member.name))),
        }
    }

    /// Whether a call is to be made, by the rules and whoever is asked.
    async fn confirm(&self, server: &str, entry: &Entry, arguments: &[u8], tag: u64) -> Decision {
        let options = &self.shared.options;
        let mut decided = options.policy.decide(server, &entry.original, Node::new(arguments));
        if decided.verdict != Verdict::Ask {
            return decided;
        }
        let allowed = || self.shared.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if allowed().has(server, &entry.original) {
            return Decision { verdict: Verdict::Allow, by: Decider::Before, because: None };
        }
        let annotations = Node::new(&entry.item).get("annotations");
        let question = Question {
            server: server.to_owned(),
            tool: entry.original.clone(),
            arguments: String::from_utf8_lossy(arguments).into_owned(),
            because: decided.because.clone(),
            annotations: annotations.map(|node| String::from_utf8_lossy(node.bytes()).into_owned()),
            tag,
        };
        let consent = match &options.ask {
            Some(ask) => ask(question).await,
            None => Consent::Nobody,
        };
        (decided.verdict, decided.by) = match consent {
            Consent::Yes | Consent::Always => (Verdict::Allow, Decider::Person),
            Consent::No => (Verdict::Deny, Decider::Person),
            Consent::Nobody => (Verdict::Deny, Decider::Nobody),
        };
        if consent == Consent::Always {
            allowed().add(server, &entry.original);
        }
        decided
    }

    /// Gets a prompt by its name here.
    ///
    /// # Errors
    ///
    /// When there is no such prompt, and when the server has none to give.
    pub async fn get_prompt(&self, params: Node<'_>, call: HostCall) -> Result<String, ErrorReply> {
        let name = params.get("name").and_then(Node::text).unwrap_or_default().into_owned();
        let catalog = self.catalog();
        let found = catalog.find(ListKind::Prompts, &name);
        let Some((entry, member)) = found.and_then(|entry| Some((entry, self.shared.members.get(entry.server)?)))
        else {
            return Err(self.unknown(&catalog, ListKind::Prompts, "prompt", &name));
        };
        let passed = adapt::params(Some(params), &[("name", tap_peer::quoted(&entry.original))]);
        let host = call.revision;
        let result = member.request("prompts/get", passed, call).await.map_err(|failed| failed.reply(&member.name))?;
        Ok(adapt::result(result.node(), host))
    }

    /// Reads a resource, of the server that lists it or has a template for it. Where nobody does, servers are asked one
    /// after another.
    ///
    /// # Errors
    ///
    /// When no server has it.
    pub async fn read_resource(&self, params: Node<'_>, call: HostCall) -> Result<String, ErrorReply> {
        let uri = params.get("uri").and_then(Node::text).unwrap_or_default().into_owned();
        let host = call.revision;
        let passed = adapt::params(Some(params), &[]);
        let mut refusal = None;
        for member in self.of_resource(&uri) {
            match member.request("resources/read", passed.clone(), call.clone()).await {
                Ok(result) => return Ok(adapt::result(result.node(), host)),
                Err(failed) => refusal = Some(failed.reply(&member.name)),
            }
        }
        // The code of a resource that is not there, by era (2026-07-28, changelog).
        let code = if host < Revision::V2026_07_28 { -32002 } else { INVALID_PARAMS };
        Err(refusal.unwrap_or_else(|| ErrorReply::new(code, format!("no server has the resource {uri}"))))
    }

    /// The servers that a resource may be of.
    fn of_resource(&self, uri: &str) -> Vec<&Member> {
        match self.catalog().server_of_resource(uri).and_then(|server| self.shared.members.get(server)) {
            Some(member) => vec![member],
            None => {
                let has_some = |member: &&Member| {
                    // Where things are held fast, what nobody has looked at is not asked for.
                    member.rules.pinned.is_none()
                        && member.standing.now().is_some_and(|client| client.opened().offers(&["resources"]))
                };
                self.shared.members.iter().filter(has_some).collect()
            }
        }
    }

    /// Asks how an argument could go on.
    ///
    /// # Errors
    ///
    /// When nothing is known of what it is an argument of.
    pub async fn complete(&self, params: Node<'_>, call: HostCall) -> Result<String, ErrorReply> {
        let catalog = self.catalog();
        let reference = params.get("ref");
        let text = |member: &str| reference.and_then(|reference| reference.get(member)?.text()).unwrap_or_default();
        let (name, uri) = (text("name"), text("uri"));
        let (server, reference) = match catalog.find(ListKind::Prompts, &name) {
            Some(entry) => (
                Some(entry.server),
                format!("{{\"type\":\"ref/prompt\",\"name\":{}}}", tap_peer::quoted(&entry.original)),
            ),
            None => {
                let server = catalog.find(ListKind::Templates, &uri).map(|entry| entry.server);
                let server = server.or_else(|| catalog.server_of_resource(&uri));
                (
                    server,
                    reference.map_or("{}".into(), |reference| String::from_utf8_lossy(reference.bytes()).into_owned()),
                )
            }
        };
        let Some(member) = server.and_then(|server| self.shared.members.get(server)) else {
            return Err(ErrorReply::new(INVALID_PARAMS, "nobody offers what this is an argument of"));
        };
        let host = call.revision;
        let passed = adapt::params(Some(params), &[("ref", reference)]);
        match member.request("completion/complete", passed, call).await {
            Ok(result) => Ok(adapt::result(result.node(), host)),
            // A server that has no completions has none for this.
            Err(Failed::Call(CallError::NotOffered { .. })) => Ok("{\"completion\":{\"values\":[]}}".into()),
            Err(failed) => Err(failed.reply(&member.name)),
        }
    }

    /// Wants to hear when a resource holds something else.
    ///
    /// # Errors
    ///
    /// When no server could tell.
    pub async fn subscribe(&self, uri: &str) -> Result<(), ErrorReply> {
        let mut refusal = None;
        for member in self.of_resource(uri) {
            match member.watch(uri).await {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => refusal = Some(Failed::of(error).reply(&member.name)),
            }
        }
        Err(refusal.unwrap_or_else(|| ErrorReply::new(INVALID_PARAMS, format!("no server tells of changes of {uri}"))))
    }

    /// Wants to hear of it no more.
    pub async fn unsubscribe(&self, uri: &str) {
        for member in &self.shared.members {
            if let Some(subscription) = member.watched.lock().await.remove(uri) {
                subscription.end().await;
            }
        }
    }

    /// Says to all servers from which level on log messages are wanted, now and when they are started again.
    pub async fn set_log_level(&self, level: &'static str) {
        *self.shared.log_level.lock().unwrap_or_else(PoisonError::into_inner) = Some(level);
        for client in self.shared.members.iter().filter_map(|member| member.standing.now()) {
            // Whoever has no logging says so, which is no failure of anybody's.
            let _ = client.set_log_level(level).await;
        }
    }

    /// Tells all servers that the host has other roots.
    pub async fn roots_changed(&self) {
        for client in self.shared.members.iter().filter_map(|member| member.standing.now()) {
            let _ = client.roots_changed().await;
        }
    }

    /// A server said that a list of its is another one: it is asked for again.
    pub fn refresh(&self, server: &str, kind: ListKind) {
        let Some(index) = self.shared.members.iter().position(|member| member.name == server) else {
            return;
        };
        let shared = self.shared.clone();
        tokio::spawn(async move {
            if let Some(client) = shared.members.get(index).and_then(|member| member.standing.now()) {
                let kinds: &[ListKind] = match kind {
                    ListKind::Resources | ListKind::Templates => &[ListKind::Resources, ListKind::Templates],
                    ListKind::Tools => &[ListKind::Tools],
                    ListKind::Prompts => &[ListKind::Prompts],
                };
                shared.ask_for(index, &client, kinds).await;
            }
        });
    }

    /// What servers say of how they are to be used, each with the server's name.
    #[must_use]
    pub fn instructions(&self) -> Vec<(String, String)> {
        let members = self.shared.members.iter();
        members
            .filter_map(|member| Some((member.name.clone(), member.standing.now()?.opened().instructions.clone()?)))
            .collect()
    }

    /// Ends all servers, side by side, and waits for that.
    pub async fn close(&self) {
        for task in &self.tasks {
            task.abort();
        }
        let closing: Vec<_> = (0..self.shared.members.len())
            .map(|index| {
                let shared = self.shared.clone();
                tokio::spawn(async move {
                    if let Some(member) = shared.members.get(index) {
                        member.watched.lock().await.clear();
                        member.standing.close().await;
                    }
                })
            })
            .collect();
        for task in closing {
            let _ = task.await;
        }
    }

    fn unknown(&self, catalog: &Catalog, kind: ListKind, what: &str, name: &str) -> ErrorReply {
        let mut text = format!("there is no {what} `{name}`");
        let gone = self.shared.members.iter().find(|member| {
            let offer = member.offer.lock().unwrap_or_else(PoisonError::into_inner);
            name.starts_with(&format!("{}__", offer.server)) && member.standing.now().is_none()
        });
        if let Some(member) = gone {
            text.push_str(&format!("; the server {} is not there", member.name));
        } else if let Some(near) = catalog.nearest(kind, name) {
            text.push_str(&format!("; did you mean `{near}`? It may be gone: ask for the list again"));
        } else {
            text.push_str(" any more, if there was one; ask for the list again");
        }
        ErrorReply::new(INVALID_PARAMS, text)
    }
}

impl Drop for Router {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}
