//! The one loop that drives a client's chair: what the server says, what the user wants, and time go in; what is to be sent
//! and told comes out.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use bytes::{BufMut, Bytes, BytesMut};
use tap_protocol::{Revisions, Side, method};
use tap_session::{
    At, CallId, Client as Chair, ClientOptions as ChairOptions, Input, InputRequest, Kept, Misuse, OnProgress, Outcome,
    Output, Refusal, RequestOptions,
};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::AbortHandle;

use crate::client::{CallOptions, ClientOptions, Opened, Progress};
use crate::error::{CallError, ConnectError};
use crate::handler::{Asked, Cannot, Notified};
use crate::link::{Link, LinkEnd, Taken};

/// How often one call may be answered with a request for input.
const ROUNDS: usize = 100;

/// Questions of the server's that can be answered at a time, over all calls. More are refused.
const QUESTIONS: usize = 1_000;

/// What a user wants.
#[derive(Debug)]
pub(crate) enum Command {
    Request {
        /// Stands for the call, for [`Command::Cancel`].
        key: u64,
        method: String,
        params: Option<String>,
        options: CallOptions,
        answer: oneshot::Sender<Result<Outcome, CallError>>,
    },
    Cancel {
        key: u64,
    },
    Notify {
        method: String,
        params: Option<String>,
        done: oneshot::Sender<Result<(), CallError>>,
    },
    LogLevel(&'static str),
    Close,
}

/// A call that is not over.
struct Pending {
    key: u64,
    answer: oneshot::Sender<Result<Outcome, CallError>>,
    options: CallOptions,
    limit: Duration,
    n_rounds: usize,
    /// Works on what the server asked for.
    round: Option<AbortHandle>,
}

/// What a handler has answered.
enum Answered {
    /// A request of the server's.
    Request(At, Result<String, Cannot>),
    /// All questions of a round, or the one that was not answered.
    Round(CallId, Result<Vec<(String, String)>, (String, Cannot)>),
}

/// What wakes the loop.
enum Wake {
    Line(Option<Bytes>),
    Command(Option<Command>),
    Answered(Answered),
    Late,
}

/// What is told when the session is open, or is not going to be.
type TellOpened = oneshot::Sender<Result<Opened, ConnectError>>;

pub(crate) struct Driver {
    chair: Chair,
    link: Link,
    options: ClientOptions,
    capabilities: Kept,
    commands: mpsc::UnboundedReceiver<Command>,
    opened: Option<TellOpened>,
    refused: Option<Refusal>,
    calls: HashMap<CallId, Pending>,
    keys: HashMap<u64, CallId>,
    /// Requests of the server's that a handler works on.
    asked: HashMap<At, AbortHandle>,
    answers: mpsc::UnboundedSender<Answered>,
    log_level: Option<&'static str>,
    begun: Instant,
    has_ended: bool,
    failure: Option<&'static str>,
}

impl Driver {
    /// Opens a session on a link and drives it to its end.
    pub(crate) async fn open(
        link: Link,
        options: ClientOptions,
        revisions: Revisions,
        commands: mpsc::UnboundedReceiver<Command>,
        opened: TellOpened,
        ended: watch::Sender<Option<LinkEnd>>,
    ) {
        let capabilities = options.handler.capabilities();
        let mut chair_options = ChairOptions {
            capabilities: capabilities.clone(),
            revisions,
            probe_limit_ns: nanoseconds(options.probe_limit),
            request_limit_ns: nanoseconds(options.request_limit),
            ..ChairOptions::default()
        };
        if let Some(implementation) = &options.implementation {
            chair_options.implementation = implementation.clone();
        }
        let (answers, answered) = mpsc::unbounded_channel();
        let driver = Self {
            chair: Chair::new(chair_options),
            link,
            options,
            capabilities: Kept(capabilities.into()),
            commands,
            opened: Some(opened),
            refused: None,
            calls: HashMap::new(),
            keys: HashMap::new(),
            asked: HashMap::new(),
            answers,
            log_level: None,
            begun: Instant::now(),
            has_ended: false,
            failure: None,
        };
        driver.drive(answered, &ended).await;
    }

    fn now_ns(&self) -> u64 {
        nanoseconds(self.begun.elapsed())
    }

    async fn drive(mut self, mut answered: mpsc::UnboundedReceiver<Answered>, ended: &watch::Sender<Option<LinkEnd>>) {
        if let Err(misuse) = self.chair.open(self.now_ns()) {
            self.refused = Some(Refusal::Misuse(misuse));
        }
        loop {
            self.do_outputs();
            // Whoever wanted to open it and waits no more wants nothing of it.
            let is_left = self.opened.as_ref().is_some_and(oneshot::Sender::is_closed);
            if self.has_ended || self.refused.is_some() || self.failure.is_some() || is_left {
                break;
            }
            match self.wake(&mut answered).await {
                Wake::Line(Some(line)) => self.chair.step(Input::Line(line), self.now_ns()),
                Wake::Line(None) => self.chair.step(Input::End, self.now_ns()),
                Wake::Command(Some(Command::Close) | None) => break,
                Wake::Command(Some(command)) => self.command(command),
                Wake::Answered(answered) => self.answered(answered),
                Wake::Late => self.chair.handle_timeout(self.now_ns()),
            }
        }
        self.end(ended).await;
    }

    async fn wake(&mut self, answered: &mut mpsc::UnboundedReceiver<Answered>) -> Wake {
        let late = self.chair.poll_timeout().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(self.now_ns())));
        let is_opening = self.opened.is_some();
        let left = async {
            match self.opened.as_mut() {
                Some(opened) => opened.closed().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = self.link.lines.recv() => Wake::Line(line),
            command = self.commands.recv(), if !is_opening => Wake::Command(command),
            Some(answered) = answered.recv() => Wake::Answered(answered),
            () = tokio::time::sleep(late.unwrap_or_default()), if late.is_some() => Wake::Late,
            () = left => Wake::Late,
        }
    }

    /// Ends the link, and tells everybody who waits.
    async fn end(mut self, ended: &watch::Sender<Option<LinkEnd>>) {
        self.asked.values().for_each(AbortHandle::abort);
        self.calls.values().filter_map(|pending| pending.round.as_ref()).for_each(AbortHandle::abort);
        self.commands.close();
        let Link { out, lines, ended: link_ended } = self.link;
        drop(out);
        drop(lines);
        let mut end = link_ended.await.unwrap_or_default();
        if let Some(failure) = self.failure {
            end.failure = Some(failure.to_owned());
        }
        if let Some(opened) = self.opened.take() {
            let refusal = self.refused.take().unwrap_or(Refusal::Ended);
            let _ = opened.send(Err(match refusal {
                Refusal::Misuse(misuse) => ConnectError::Misuse(misuse),
                refusal => ConnectError::Refused { refusal, end: Box::new(end.clone()) },
            }));
        }
        for (_, pending) in self.calls.drain() {
            let _ = pending.answer.send(Err(CallError::Over(Box::new(end.clone()))));
        }
        // What was still wanted when it was over.
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::Request { answer, .. } => {
                    let _ = answer.send(Err(CallError::Over(Box::new(end.clone()))));
                }
                Command::Notify { done, .. } => {
                    let _ = done.send(Err(CallError::Over(Box::new(end.clone()))));
                }
                Command::Cancel { .. } | Command::LogLevel(_) | Command::Close => {}
            }
        }
        let _ = ended.send(Some(end));
    }

    fn command(&mut self, command: Command) {
        match command {
            Command::Request { key, method, params, options, answer } => {
                if let Err(error) = self.request(key, &method, params.as_deref(), &options) {
                    let _ = answer.send(Err(error));
                    return;
                }
                let limit = options.limit.unwrap_or(self.options.request_limit);
                if let Some(&call) = self.keys.get(&key) {
                    self.calls.insert(call, Pending { key, answer, options, limit, n_rounds: 0, round: None });
                }
            }
            Command::Cancel { key } => {
                if let Some(call) = self.keys.get(&key).copied() {
                    self.give_up(call, CallError::Cancelled, None);
                }
            }
            Command::Notify { method, params, done } => {
                let told = self.chair.notify(&method, params.as_deref(), self.now_ns());
                let _ = done.send(told.map_err(|misuse| CallError::of_misuse(misuse, LinkEnd::default)));
            }
            Command::LogLevel(level) => self.log_level = Some(level),
            Command::Close => {}
        }
    }

    fn request(&mut self, key: u64, name: &str, params: Option<&str>, options: &CallOptions) -> Result<(), CallError> {
        self.check_offered(name)?;
        let on_progress = match (options.extend_until, &options.on_progress) {
            (Some(until), _) => OnProgress::Extend { ceiling_ns: nanoseconds(until) },
            (None, Some(_)) => OnProgress::Tell,
            (None, None) => OnProgress::NotAsked,
        };
        let options =
            RequestOptions { limit_ns: options.limit.map(nanoseconds), on_progress, log_level: self.log_level };
        let asked = self.chair.request(name, params, options, self.now_ns());
        let call = asked.map_err(|misuse| CallError::of_misuse(misuse, LinkEnd::default))?;
        self.keys.insert(key, call);
        Ok(())
    }

    /// Nothing is asked that was not offered.
    fn check_offered(&self, name: &str) -> Result<(), CallError> {
        let (Some(method), Some(revision)) = (method(name), self.chair.revision()) else {
            return Ok(());
        };
        let Some(capabilities) = &self.chair.state().server.capabilities else {
            return Ok(());
        };
        let mut needs = method.needs(revision, Side::Client).filter(|need| need.declared_by == Side::Server);
        match needs.find(|need| !capabilities.declares(need.path)) {
            None => Ok(()),
            Some(need) => Err(CallError::NotOffered { method: name.to_owned(), capability: need.path.join(".") }),
        }
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.chair.poll_output() {
            match output {
                Output::Send(message) => {
                    let mut line = BytesMut::with_capacity(message.len() + 1);
                    line.put(message);
                    line.put_u8(b'\n');
                    if self.link.out.send(line.freeze()) == Taken::TooMuch {
                        self.failure = Some("the server does not read what it is sent");
                    }
                }
                Output::Opened { .. } => self.tell_opened(),
                Output::Refused(refusal) => self.refused = Some(refusal),
                Output::Answer { call, outcome, .. } => self.finish(call, Ok(outcome)),
                Output::Progress { call, progress, total, message } => {
                    if let Some(tell) = self.calls.get(&call).and_then(|pending| pending.options.on_progress.clone()) {
                        tell(Progress { progress, total, message });
                    }
                }
                Output::InputRequired { call, requests, .. } => self.input_required(call, requests),
                Output::TimedOut { call } => {
                    if let Some(pending) = self.calls.get(&call) {
                        let limit = pending.limit;
                        self.finish(call, Err(CallError::TimedOut(limit)));
                    }
                }
                // Where the session is over, it is told how that ended; a subscription ends without an answer.
                Output::Dropped { call } if self.link_is_open() => self.finish(call, Err(CallError::Cancelled)),
                Output::Dropped { .. } => {}
                Output::Request(request) => {
                    let asked = Asked {
                        method: request.method,
                        params: request.params,
                        revision: request.revision,
                        tag: None,
                        key: None,
                        together: 1,
                    };
                    self.answer_request(request.request, asked);
                }
                Output::Withdrawn { request } => {
                    if let Some(task) = self.asked.remove(&request) {
                        task.abort();
                    }
                }
                // That is a server's.
                Output::Subscribed { .. } => {}
                Output::Notification { method, params, .. } => {
                    self.options.handler.notified(Notified { method, params });
                }
                Output::Finding(finding) => self.options.handler.found(finding),
                Output::Ended => self.has_ended = true,
            }
        }
    }

    fn link_is_open(&self) -> bool {
        !self.chair.state().ended
    }

    fn tell_opened(&mut self) {
        let state = self.chair.state();
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        let opened = Opened {
            revision: self.chair.revision().unwrap_or(tap_protocol::Revision::LATEST_LEGACY),
            name: text(&state.server.name),
            version: text(&state.server.version),
            capabilities: state.server.capabilities.clone(),
            instructions: text(&state.instructions),
        };
        if let Some(tell) = self.opened.take() {
            // Whoever waits no more has no handle either, which ends the loop.
            let _ = tell.send(Ok(opened));
        }
    }

    fn finish(&mut self, call: CallId, outcome: Result<Outcome, CallError>) {
        if let Some(pending) = self.calls.remove(&call) {
            self.keys.remove(&pending.key);
            if let Some(round) = pending.round {
                round.abort();
            }
            let _ = pending.answer.send(outcome);
        }
    }

    /// Gives a call up, and tells the server.
    fn give_up(&mut self, call: CallId, error: CallError, reason: Option<&str>) {
        let _ = self.chair.cancel(call, reason, self.now_ns());
        self.finish(call, Err(error));
    }

    fn answer_request(&mut self, request: At, asked: Asked) {
        if QUESTIONS <= self.asked.len() {
            let refusal = tap_session::ErrorReply::new(tap_protocol::INTERNAL_ERROR, "too many requests wait already");
            let _ = self.chair.respond(request, Err(&refusal), self.now_ns());
            return;
        }
        let (reply, answers) = (self.options.handler.answer(asked), self.answers.clone());
        let task = tokio::spawn(async move {
            let _ = answers.send(Answered::Request(request, reply.await));
        });
        self.asked.insert(request, task.abort_handle());
    }

    /// A call needs answers: the handler is asked for all of them, side by side.
    fn input_required(&mut self, call: CallId, requests: Vec<InputRequest>) {
        let Some(pending) = self.calls.get_mut(&call) else {
            let _ = self.chair.cancel(call, None, nanoseconds(self.begun.elapsed()));
            return;
        };
        pending.n_rounds += 1;
        let (n_rounds, tag) = (pending.n_rounds, pending.options.tag);
        if ROUNDS < n_rounds {
            return self.give_up(call, CallError::Rounds(ROUNDS), None);
        }
        let revision = self.chair.revision().unwrap_or(tap_protocol::Revision::LATEST);
        if let Some(refused) = requests.iter().find(|request| !self.may_be_asked(&request.method, revision)) {
            let (method, why) = (refused.method.clone(), "the client did not declare that it can be asked".into());
            return self.give_up(call, CallError::Input { method, why }, None);
        }
        if QUESTIONS < requests.len() {
            let (method, why) = (format!("{} things", requests.len()), "that is too much at a time".into());
            return self.give_up(call, CallError::Input { method, why }, None);
        }
        let together = requests.len();
        let replies: Vec<_> = requests
            .into_iter()
            .map(|request| {
                let asked = Asked {
                    method: request.method.clone(),
                    params: request.params,
                    revision,
                    tag,
                    key: Some(request.key.clone()),
                    together,
                };
                (request.key, request.method, tokio::spawn(self.options.handler.answer(asked)))
            })
            .collect();
        let answers = self.answers.clone();
        let task = tokio::spawn(async move {
            // Where one is not answered the others need not be, nor where nobody waits for this any more.
            let _guards: Vec<_> = replies.iter().map(|(_, _, task)| AbortOnDrop(task.abort_handle())).collect();
            let mut results = Vec::with_capacity(replies.len());
            for (key, method, task) in replies {
                let reply = task.await.unwrap_or_else(|_| Err(Cannot::declined()));
                match reply {
                    Ok(result) => results.push((key, result)),
                    Err(cannot) => {
                        let _ = answers.send(Answered::Round(call, Err((method, cannot))));
                        return;
                    }
                }
            }
            let _ = answers.send(Answered::Round(call, Ok(results)));
        });
        if let Some(pending) = self.calls.get_mut(&call) {
            pending.round = Some(task.abort_handle());
        }
    }

    /// Whether this client declared what a question needs.
    fn may_be_asked(&self, name: &str, revision: tap_protocol::Revision) -> bool {
        let path: &[&str] = match name {
            "sampling/createMessage" => &["sampling"],
            "elicitation/create" => &["elicitation"],
            "roots/list" => &["roots"],
            _ => return false,
        };
        let may_be_embedded = method(name).is_some_and(|method| method.embedded.contains(revision));
        may_be_embedded && self.capabilities.declares(path)
    }

    fn answered(&mut self, answered: Answered) {
        let now_ns = self.now_ns();
        match answered {
            Answered::Request(request, reply) => {
                self.asked.remove(&request);
                let told = match &reply {
                    Ok(result) => self.chair.respond(request, Ok(result), now_ns),
                    Err(Cannot(reply)) => self.chair.respond(request, Err(reply), now_ns),
                };
                // An answer that is no good must not leave the server waiting.
                if let Err(Misuse::BadText { .. } | Misuse::Rule(_)) = told {
                    let reply =
                        tap_session::ErrorReply::new(tap_protocol::INTERNAL_ERROR, "there is no answer to that");
                    let _ = self.chair.respond(request, Err(&reply), now_ns);
                }
            }
            Answered::Round(call, Ok(results)) => {
                let responses: Vec<(&str, &str)> =
                    results.iter().map(|(key, result)| (key.as_str(), result.as_str())).collect();
                if let Some(pending) = self.calls.get_mut(&call) {
                    pending.round = None;
                }
                if let Err(misuse) = self.chair.retry(call, &responses, now_ns) {
                    let error = match misuse {
                        Misuse::NoSuchCall(call) => CallError::no_such_call(call),
                        misuse => CallError::of_misuse(misuse, LinkEnd::default),
                    };
                    self.give_up(call, error, None);
                }
            }
            Answered::Round(call, Err((method, Cannot(reply)))) => {
                // Whoever is asked and does not want to answer does not ask again (2026-07-28, basic/patterns/mrtr).
                self.give_up(call, CallError::Input { method, why: reply.message }, None);
            }
        }
    }
}

/// Ends a task with whoever waits for it.
struct AbortOnDrop(AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// As the chairs count time.
pub(crate) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
