//! A router as one server of MCP, in both eras: the loop that drives a server's chair before a host.
//!
//! Servers are started when the host has said what it can be asked, since each of them is told that in turn. What a server
//! asks goes to the host: as a request in the legacy era, as a result that requires input in the modern one, where the call
//! goes on when the host asks again.
//!
//! `serve/answer.rs` answers requests of the host's, `serve/ask.rs` asks it what servers ask, `serve/confirm.rs` whether a call
//! is to be made, and `serve/unasked.rs` tells it what it has not asked for, as far as it reads that.

mod answer;
mod ask;
mod confirm;
mod unasked;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use tap_jsonrpc::Node;
use tap_peer::{Asked, Cannot, ListKind, Notified, OnProgress, Outlet, Progress, Recorder, Target};
use tap_protocol::{Era, INTERNAL_ERROR, Revision, Side};
use tap_session::{
    At, CallId, ErrorReply, Implementation, Input, Kept, Outcome, Output, Request, Server as Chair, ServerOptions,
};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use crate::forward::Forward;
use crate::host::{Hear, HostCall, News, Router, RouterOptions, ServerPlan};
use crate::rules::ServerRules;
use answer::answer;
pub(crate) use unasked::Waits;

/// What a router can do for a host.
const CAPABILITIES: &str = r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true,"listChanged":true},"completions":{},"logging":{}}"#;

/// Requests of the host's that wait for their answers at a time; another is refused.
const REQUESTS: usize = 10_000;

/// What a host of the modern era can be asked at most.
const ALL_CAPABILITIES: &str =
    r#"{"roots":{},"sampling":{"tools":{},"context":{}},"elicitation":{"form":{},"url":{}}}"#;

/// A server that a router offers the tools of.
pub struct Server {
    /// What the host calls it.
    pub name: String,
    /// Where it is.
    pub target: Target,
    /// What the host's rules say of it.
    pub rules: ServerRules,
    /// Records the sessions with it.
    pub recorder: Option<Arc<dyn Recorder>>,
}

/// How a router behaves as a server.
#[derive(Clone)]
pub struct FrontOptions {
    /// What it says that it is.
    pub implementation: Implementation,
    /// What it tells a model about itself.
    pub instructions: Option<String>,
    /// How the servers behind it are put together.
    pub router: RouterOptions,
    /// How long the first list waits for servers that have not said what they offer. They are added later.
    pub startup_limit: Duration,
}

/// What a router needs of whoever carries its lines.
pub struct Front<Say, Tell> {
    /// What the host says: lines, until it says no more.
    pub lines: mpsc::Receiver<Bytes>,
    /// Takes a line for the host, with its line feed. Must not wait.
    pub say: Say,
    /// How much waits for the host. Whoever writes it says what was taken. While there is no room, nothing more is read from
    /// the host, no call is begun, and what servers say by themselves is held back or left out.
    pub outlet: Arc<Outlet>,
    /// Takes something that a person should know.
    pub tell: Tell,
}

/// Something that happens behind the loop.
pub(crate) enum Event {
    /// A request of the host's is answered.
    Answered { tag: u64, answer: Result<String, ErrorReply>, waits: Waits },
    /// A request of the host's goes on.
    Progress { tag: u64, progress: Progress },
    /// A server asks.
    Asked { server: String, asked: Asked, reply: oneshot::Sender<Result<String, Cannot>> },
    /// A server says that a list is another one.
    ListChanged { server: String, kind: ListKind },
    /// A server says something else.
    Notified(Notified),
    /// Something is new with the router.
    News(News),
}

/// A call of the host's, over all its rounds.
struct HostRequest {
    /// The request that waits for an answer; `None` while the host is to ask again.
    at: Option<At>,
    method: String,
    task: AbortHandle,
    /// How often the host was asked something.
    n_rounds: u64,
    /// What the host is asked in this round, by key.
    asked: HashMap<String, oneshot::Sender<Result<String, Cannot>>>,
    /// What could not be asked yet, because the host has not asked again.
    waiting: Vec<(Asked, oneshot::Sender<Result<String, Cannot>>)>,
    /// An answer that came while the host was to ask again.
    answer: Option<Result<String, ErrorReply>>,
    parked: Option<Instant>,
}

struct Loop<Say, Tell> {
    chair: Chair,
    say: Say,
    tell: Tell,
    options: FrontOptions,
    /// Servers that are not started yet.
    servers: Vec<Server>,
    router: Option<Arc<Router>>,
    events: mpsc::UnboundedSender<Event>,
    requests: HashMap<u64, HostRequest>,
    tags: HashMap<At, u64>,
    n_tags: u64,
    /// Questions to a host of the legacy era.
    questions: HashMap<CallId, oneshot::Sender<Result<String, Cannot>>>,
    /// Resources that the host wants to hear of, and has no answer to that yet, by call; and what came of them meanwhile.
    subscribing: HashMap<u64, String>,
    held: Vec<String>,
    /// Lists that are others, which a host that does not read is told later.
    changed: BTreeSet<ListKind>,
    outlet: Arc<Outlet>,
    /// Lists are made one after another, so that each waits for the room that the one before has taken.
    listing: Arc<tokio::sync::Mutex<()>>,
    /// What makes states of ours that nobody else can have made up.
    nonce: String,
    begun: Instant,
}

/// Serves a host until it says no more, or `stop` is done; then ends all servers.
pub async fn serve<Say: FnMut(Bytes), Tell: FnMut(String)>(
    servers: Vec<Server>,
    options: FrontOptions,
    front: Front<Say, Tell>,
    stop: impl Future<Output = ()>,
) {
    let Front { mut lines, say, outlet, tell } = front;
    let chair_options = ServerOptions {
        implementation: options.implementation.clone(),
        instructions: options.instructions.clone(),
        capabilities: CAPABILITIES.into(),
        ..ServerOptions::default()
    };
    let Ok(chair) = Chair::new(chair_options) else {
        return;
    };
    let (events, mut happened) = mpsc::unbounded_channel();
    let begun = Instant::now();
    let mut this = Loop {
        chair,
        say,
        tell,
        options,
        servers,
        router: None,
        events,
        requests: HashMap::new(),
        tags: HashMap::new(),
        n_tags: 0,
        questions: HashMap::new(),
        subscribing: HashMap::new(),
        held: Vec::new(),
        changed: BTreeSet::new(),
        outlet,
        listing: Arc::default(),
        nonce: nonce(),
        begun,
    };
    let mut stop = std::pin::pin!(stop);
    loop {
        this.do_outputs();
        let late = this.chair.poll_timeout().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(this.now_ns())));
        let (is_open, outlet) = (this.outlet.has_room(), this.outlet.clone());
        tokio::select! {
            line = lines.recv(), if is_open => match line {
                Some(line) => this.chair.step(Input::Line(line), this.now_ns()),
                None => break,
            },
            Some(event) = happened.recv() => this.event(event),
            () = tokio::time::sleep(late.unwrap_or_default()), if late.is_some() => {
                this.chair.handle_timeout(this.now_ns());
            }
            () = outlet.room(), if !is_open => this.catch_up(),
            () = outlet.broken() => break,
            () = &mut stop => break,
        }
    }
    for request in this.requests.values() {
        request.task.abort();
    }
    this.requests.clear();
    if let Some(router) = this.router.take() {
        router.close().await;
    }
}

/// Some text that is another one each time.
fn nonce() -> String {
    let mut bytes = [0; 16];
    let _ = ring::rand::SecureRandom::fill(&ring::rand::SystemRandom::new(), &mut bytes);
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl<Say: FnMut(Bytes), Tell: FnMut(String)> Loop<Say, Tell> {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.chair.poll_output() {
            match output {
                Output::Send(message) => {
                    let mut line = BytesMut::with_capacity(message.len() + 1);
                    line.put(message);
                    line.put_u8(b'\n');
                    self.outlet.add(line.len());
                    (self.say)(line.freeze());
                }
                Output::Opened { revision } => {
                    if revision.era() == Era::Legacy {
                        let capabilities = self.chair.state().client.capabilities.clone();
                        self.start(capabilities.as_ref(), revision);
                    }
                }
                Output::Request(request) => self.request(request),
                Output::Withdrawn { request } => {
                    if let Some(tag) = self.tags.remove(&request)
                        && let Some(request) = self.requests.remove(&tag)
                    {
                        request.task.abort();
                        self.subscribing.remove(&tag);
                    }
                }
                Output::Subscribed { honoured, .. } => self.subscribed(&honoured),
                Output::Answer { call, outcome, .. } => {
                    if let Some(reply) = self.questions.remove(&call) {
                        let _ = reply.send(match outcome {
                            Outcome::Result(result) => Ok(text(&result)),
                            Outcome::Error(error) => Err(Cannot(reply_of(&error))),
                        });
                    }
                }
                Output::TimedOut { call } | Output::Dropped { call } => {
                    if let Some(reply) = self.questions.remove(&call) {
                        let _ = reply.send(Err(Cannot(ErrorReply::new(INTERNAL_ERROR, "the host did not answer"))));
                    }
                }
                Output::Notification { method, .. } if method == "notifications/roots/list_changed" => {
                    if let Some(router) = self.router.clone() {
                        tokio::spawn(async move { router.roots_changed().await });
                    }
                }
                Output::Notification { .. }
                | Output::Finding(_)
                | Output::Progress { .. }
                | Output::InputRequired { .. }
                | Output::Refused(_)
                | Output::Ended => {}
            }
        }
    }

    /// Starts the servers, now that it is known what the host can be asked.
    fn start(&mut self, capabilities: Option<&Kept>, host: Revision) -> Arc<Router> {
        if let Some(router) = &self.router {
            return router.clone();
        }
        // In the modern era each request says what it can be asked: servers are told all that can be handed on, and with each
        // call what holds for that.
        let capabilities = match host.era() {
            Era::Legacy => passed_capabilities(capabilities, host),
            Era::Modern => ALL_CAPABILITIES.into(),
        };
        let plans = std::mem::take(&mut self.servers).into_iter().map(|server| ServerPlan {
            handler: Arc::new(Forward {
                server: server.name.clone(),
                capabilities: capabilities.clone(),
                events: self.events.clone(),
            }),
            name: server.name,
            target: server.target,
            rules: server.rules,
            recorder: server.recorder,
        });
        let events = self.events.clone();
        let hear: Hear = Arc::new(move |news| drop(events.send(Event::News(news))));
        let mut options = self.options.router.clone();
        options.outlet = Some(self.outlet.clone());
        options.ask.get_or_insert_with(|| confirm::by_elicitation(self.events.clone()));
        let router = Arc::new(Router::start(plans.collect(), options, hear));
        self.router = Some(router.clone());
        router
    }

    fn request(&mut self, request: Request) {
        if REQUESTS <= self.tags.len() {
            let reply = ErrorReply::new(INTERNAL_ERROR, "too many requests wait for their answers");
            let _ = self.chair.fail(request.request, &reply, self.now_ns());
            return;
        }
        let router = self.start(request.capabilities.as_ref(), request.revision);
        let params = request.params.clone();
        let node = params.as_ref().map(|params| params.node());
        // A host that was to ask again has.
        let state = node.and_then(|params| params.get("requestState")?.text()).map(|state| state.into_owned());
        if let Some(state) = state {
            return self.asked_again(&request, &state);
        }
        self.n_tags += 1;
        let tag = self.n_tags;
        let events = self.events.clone();
        let has_token = node.is_some_and(|params| params.at(&["_meta", "progressToken"]).is_some());
        let on_progress = has_token.then(|| {
            let events = self.events.clone();
            Arc::new(move |progress| drop(events.send(Event::Progress { tag, progress }))) as OnProgress
        });
        if request.method == "resources/subscribe" {
            let uri = node.and_then(|params| Some(params.get("uri")?.text()?.into_owned()));
            self.subscribing.extend(uri.map(|uri| (tag, uri)));
        }
        let is_modern = request.revision.era() == Era::Modern;
        let capabilities = is_modern.then(|| passed_capabilities(request.capabilities.as_ref(), request.revision));
        let call = HostCall { revision: request.revision, on_progress, tag, capabilities };
        let (method, startup_limit) = (request.method.clone(), self.options.startup_limit);
        let (outlet, listing) = (self.outlet.clone(), self.listing.clone());
        let task = tokio::spawn(async move {
            let is_list = ListKind::ALL.iter().any(|kind| kind.method() == method);
            let turn = if is_list { Some(listing.lock().await) } else { None };
            if is_list {
                outlet.room().await;
            }
            let answer = answer(&router, &method, params.as_ref(), call, startup_limit).await;
            let waits = Waits::new(outlet, answer.as_ref().map_or(0, String::len));
            drop(turn);
            let _ = events.send(Event::Answered { tag, answer, waits });
        });
        self.tags.insert(request.request, tag);
        let request = HostRequest {
            at: Some(request.request),
            method: request.method,
            task: task.abort_handle(),
            n_rounds: 0,
            asked: HashMap::new(),
            waiting: Vec::new(),
            answer: None,
            parked: None,
        };
        self.requests.insert(tag, request);
    }

    fn event(&mut self, event: Event) {
        match event {
            Event::Answered { tag, answer, waits } => {
                self.answered(tag, answer);
                // From here on it is counted as a line, or kept for a host that is to ask again.
                self.do_outputs();
                drop(waits);
            }
            Event::Progress { tag, progress } => {
                // Whoever does not read has no use for it: what comes later says more.
                let at = self.requests.get(&tag).and_then(|request| request.at).filter(|_| self.outlet.has_room());
                if let Some(at) = at {
                    let Progress { progress, total, message } = progress;
                    let _ = self.chair.progress(at, progress, total, message.as_deref(), self.now_ns());
                }
            }
            Event::Asked { server, asked, reply } => self.asked(&server, asked, reply),
            Event::ListChanged { server, kind } => {
                if let Some(router) = &self.router {
                    router.refresh(&server, kind);
                }
            }
            Event::Notified(notified) => self.notified(&notified),
            Event::News(News::Changed(kind)) => self.changed(kind),
            Event::News(News::Told(text)) => (self.tell)(text),
        }
    }

    fn answered(&mut self, tag: u64, answer: Result<String, ErrorReply>) {
        let now_ns = self.now_ns();
        let Some(request) = self.requests.get_mut(&tag) else {
            return;
        };
        let Some(at) = request.at else {
            // The host was asked something, and the call has ended nevertheless.
            request.answer = Some(answer);
            return;
        };
        self.requests.remove(&tag);
        self.tags.remove(&at);
        let told = match &answer {
            Ok(result) => self.chair.answer(at, result, now_ns),
            Err(reply) => self.chair.fail(at, reply, now_ns),
        };
        if let Err(misuse) = told {
            let reply = ErrorReply::new(INTERNAL_ERROR, format!("the server's answer cannot be passed on: {misuse}"));
            let _ = self.chair.fail(at, &reply, now_ns);
        }
        self.subscribing.remove(&tag);
        self.catch_up();
    }
}

/// What of a host's capabilities its servers are told: what can be handed on to it.
fn passed_capabilities(capabilities: Option<&Kept>, host: Revision) -> String {
    let Some(capabilities) = capabilities else {
        return "{}".into();
    };
    let members =
        [("roots", "roots/list"), ("sampling", "sampling/createMessage"), ("elicitation", "elicitation/create")];
    let parts = members.iter().filter_map(|(member, name)| {
        // What the host's revision has no question for it cannot be asked, whatever it declares.
        let method = tap_protocol::method(name)?;
        if !method.may_send(host, Side::Server) && !method.embedded.contains(host) {
            return None;
        }
        let value = capabilities.node().get(member).filter(|value| value.is_object())?;
        Some(format!("\"{member}\":{}", node_text(value)))
    });
    format!("{{{}}}", parts.collect::<Vec<_>>().join(","))
}

fn text(kept: &Kept) -> String {
    String::from_utf8_lossy(&kept.0).into_owned()
}

fn node_text(node: Node<'_>) -> String {
    String::from_utf8_lossy(node.bytes()).into_owned()
}

fn reply_of(error: &Kept) -> ErrorReply {
    let [code, message, data] = error.node().pick(["code", "message", "data"]);
    ErrorReply {
        code: code.and_then(Node::as_i64).unwrap_or(INTERNAL_ERROR),
        message: message.and_then(Node::text).unwrap_or_default().into_owned(),
        data: data.map(node_text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_told_what_can_be_handed_on_to_the_host() {
        let all =
            r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{},"tasks":{},"extensions":{}}"#;
        let all = Kept(Bytes::copy_from_slice(all.as_bytes()));
        for (host, expected) in [
            (Revision::V2026_07_28, r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{}}"#),
            (Revision::V2025_11_25, r#"{"roots":{"listChanged":true},"sampling":{"tools":{}},"elicitation":{}}"#),
            (Revision::V2025_03_26, r#"{"roots":{"listChanged":true},"sampling":{"tools":{}}}"#),
        ] {
            assert_eq!(passed_capabilities(Some(&all), host), expected);
        }
        assert_eq!(passed_capabilities(None, Revision::LATEST), "{}");
    }
}
