//! Many servers at once: one client a server, started side by side; what they offer, put together; calls to them.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tap_jsonrpc::Node;
use tap_peer::{
    Backoff, CallError, CallOptions, Client, ClientOptions, ConnectError, Handler, ListError, ListKind, OnProgress,
    Recorder, Standing, Subscription, Target, Watched,
};
use tap_protocol::{INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Revision};
use tap_session::{ErrorReply, Kept};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use crate::adapt;
use crate::catalog::{Catalog, Offer};
use crate::naming::Naming;
use crate::rules::ServerRules;

/// How often a server is tried that cannot be connected to, before it is left alone.
const ATTEMPTS: u32 = 4;

/// A call that tells of progress may take so many times as long as one that does not.
const WITH_PROGRESS: u32 = 10;

/// A list is not asked for again sooner than this because it may be kept no longer.
const SHORTEST_TTL: Duration = Duration::from_secs(5);

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
#[derive(Debug, Clone, Default)]
pub struct RouterOptions {
    /// How names are made.
    pub naming: Naming,
    /// Which servers are used, by their roles; all where nothing is said.
    pub roles: BTreeSet<String>,
}

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

/// One server of a router.
struct Member {
    name: String,
    rules: ServerRules,
    standing: Standing,
    permits: Semaphore,
    /// What it offers, as far as it said.
    offer: Mutex<Offer>,
    /// What is heard of its changes, by the address of a resource; nothing is its lists.
    watched: tokio::sync::Mutex<HashMap<String, Subscription>>,
}

struct Shared {
    members: Vec<Member>,
    options: RouterOptions,
    catalog: RwLock<Arc<Catalog>>,
    hear: Hear,
    /// How many servers have not said yet what they offer, or that they cannot.
    unsettled: watch::Sender<usize>,
    started: Instant,
    log_level: Mutex<Option<&'static str>>,
}

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
        let passed = adapt::params(Some(params), &[("name", tap_peer::quoted(&entry.original))]);
        let host = call.revision;
        match member.request("tools/call", passed, call).await {
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
                    member.standing.now().is_some_and(|client| client.opened().offers(&["resources"]))
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

impl Shared {
    fn catalog(&self) -> Arc<Catalog> {
        self.catalog.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, text: String) {
        (self.hear)(News::Told(text));
    }

    /// Asks a server for lists, and puts everything together anew.
    async fn ask_for(&self, index: usize, client: &Client, kinds: &[ListKind]) -> Option<Duration> {
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
            let its = listing.ttl_ms.filter(|ttl_ms| *ttl_ms > 0).map(Duration::from_millis);
            ttl = [ttl, its].into_iter().flatten().min();
            let mut offer = member.offer.lock().unwrap_or_else(PoisonError::into_inner);
            offer.lists.insert(kind.into(), listing.items);
        }
        self.put_together();
        ttl
    }

    fn put_together(&self) {
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

    fn settle(&self) {
        self.unsettled.send_modify(|n| *n = n.saturating_sub(1));
    }
}

/// Keeps a server there: connects, asks what it offers, and begins anew when it went away.
async fn keep(shared: Arc<Shared>, index: usize) {
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

/// Why a call of a server's has no result.
enum Failed {
    /// The server said an error.
    Server(ErrorReply),
    Call(CallError),
    /// It cannot be connected to.
    NotThere(String),
    /// Others are called, and were for too long.
    Busy(Duration),
}

impl Failed {
    fn of(error: CallError) -> Self {
        let CallError::Server(error) = error else {
            return Self::Call(error);
        };
        let [code, message, data] = error.node().pick(["code", "message", "data"]);
        Self::Server(ErrorReply {
            code: code.and_then(Node::as_i64).unwrap_or(INTERNAL_ERROR),
            message: message.and_then(Node::text).unwrap_or_default().into_owned(),
            data: data.map(|data| String::from_utf8_lossy(data.bytes()).into_owned()),
        })
    }

    fn says(&self, server: &str) -> String {
        match self {
            Self::Server(reply) => format!("{server}: {}", reply.message),
            Self::Call(CallError::TimedOut(limit)) => {
                format!("{server} did not answer within {} s; the call was cancelled", limit.as_secs_f64())
            }
            Self::Call(error) => format!("{server}: {error}"),
            Self::NotThere(why) => format!("the server {server} cannot be reached: {why}"),
            Self::Busy(limit) => {
                format!(
                    "{server} is busy with other calls, for more than {} s; nothing was called",
                    limit.as_secs_f64()
                )
            }
        }
    }

    fn reply(self, server: &str) -> ErrorReply {
        match self {
            Self::Server(reply) => reply,
            failed => ErrorReply::new(INTERNAL_ERROR, failed.says(server)),
        }
    }
}

impl Member {
    async fn request(&self, method: &str, params: String, call: HostCall) -> Result<Kept, Failed> {
        let limit = self.rules.limit;
        let Ok(permit) = tokio::time::timeout(limit, self.permits.acquire()).await else {
            return Err(Failed::Busy(limit));
        };
        let connected = tokio::time::timeout(limit, self.standing.client()).await;
        let (client, _) = connected
            .map_err(|_| Failed::NotThere("it is not there in time".into()))?
            .map_err(|error| Failed::NotThere(error.to_string()))?;
        let options = CallOptions {
            limit: Some(limit),
            extend_until: call.on_progress.is_some().then(|| limit.saturating_mul(WITH_PROGRESS)),
            on_progress: call.on_progress,
            tag: Some(call.tag),
        };
        let answered = client.request(method, Some(params), options).await;
        drop(permit);
        answered.map_err(Failed::of)
    }

    /// Wants to hear of other lists.
    async fn watch_lists(&self, client: &Client) {
        let watched = Watched { tools: true, prompts: true, resources: true, uris: Vec::new() };
        if let Ok(subscription) = client.watch(watched).await {
            self.watched.lock().await.insert(String::new(), subscription);
        }
    }

    /// Wants to hear of a resource. Tells whether the server will say.
    async fn watch(&self, uri: &str) -> Result<bool, CallError> {
        let Some(client) = self.standing.now().filter(|client| client.opened().offers(&["resources", "subscribe"]))
        else {
            return Ok(false);
        };
        let mut watched = self.watched.lock().await;
        if !watched.contains_key(uri) {
            let subscription = client.watch(Watched { uris: vec![uri.to_owned()], ..Watched::default() }).await?;
            watched.insert(uri.to_owned(), subscription);
        }
        Ok(true)
    }
}
