//! `mcp-tap agent`: a model, the tools of servers, and what a person asks.
//!
//! `tap_agent` decides what is to be done next; here that is done: the model is asked (`agent/model.rs`), calls are made
//! (`agent/tools.rs`), each step is told (`agent/transcript.rs`) and recorded (`agent/record.rs`).

mod asked;
mod model;
mod record;
mod said;
mod tools;
mod transcript;

use std::collections::HashMap;
use std::io::{BufRead, IsTerminal};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use tap_agent::{AgentOptions, Effect, Ending, Limits};
use tap_models::{ModelEvent, ModelRequest, ModelTurn, Written};
use tap_peer::{Handler, all_ended};
use tap_protocol::Revision;
use tap_relay::Clock;
use tap_router::{Audit, HostCall, News, Router, ServerPlan, Verdict};
use tap_store::{EndReason, Transport};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::{JoinHandle, JoinSet};

use self::asked::Asking;
use self::model::{Answerer, Asks};
use self::record::{Bounds, Record, Recorded};
use self::tools::{Came, Tools};
use self::transcript::Transcript;
use super::route::planned;
use super::stop::Stop;
use crate::arguments::{Agent, Global, Live};
use crate::auditing::Auditing;
use crate::confirm;
use crate::failure::Failure;
use crate::model::Heard;
use crate::paths::lossy;
use crate::recording::{Recording, copies, say, session_start};
use crate::text::shown;

/// Exit codes, beside 0 and that of what could not begin.
const FAILED: u8 = 1;
const LIMITED: u8 = 3;
const REFUSED: u8 = 4;
const DIFFERENT: u8 = 5;
const GIVEN_UP: u8 = 130;

/// How long servers may take to end.
const LAST_RECORDS: Duration = Duration::from_secs(5);

/// How often it is shown that something still goes on.
const TICK: Duration = Duration::from_millis(250);

pub(crate) fn agent(global: &Global, arguments: &Agent) -> Result<u8, Failure> {
    let recorded = match &arguments.replay {
        Some(reference) => Some(Recorded::read(&reference.resolve(global)?)?),
        None => None,
    };
    if arguments.script.is_some() && recorded.is_some() && arguments.live != Some(Live::Model) {
        return Err(Failure::new("the recording says what the model says, and so does --script").hint(
            "with --live model the script stands in the model's place, and the tools are those of the recording",
        ));
    }
    let answerer = match (recorded.is_some(), arguments.live) {
        (true, None | Some(Live::Tools)) => None,
        (true, Some(Live::Model)) | (false, _) => Some(Answerer::named(arguments)?),
    };
    let needs_servers = !matches!((recorded.is_some(), arguments.live), (true, None | Some(Live::Model)));
    let planned = needs_servers.then(|| planned(global, &arguments.servers)).transpose()?;
    let cannot_start = |error: std::io::Error| Failure::new(format!("cannot start: {error}"));
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(cannot_start)?;
    let stop = {
        let _entered = runtime.enter();
        Stop::new().map_err(cannot_start)?
    };
    let clock = Clock::start();
    let copies = copies(clock);
    let command = lossy(&std::env::args_os().collect::<Vec<_>>());
    let start = session_start(clock, Transport::Stdio, arguments.name.clone(), command);
    // A run that is replayed without anything new in it is there already.
    let is_new = recorded.is_none() || arguments.live.is_some();
    let is_recorded = is_new && !arguments.servers.no_record;
    let run = start.uuid.clone();
    let recording = match is_recorded {
        true => Recording::begin(global.database(), start, copies.clone()),
        false => Recording::none(copies.clone()),
    };
    let auditing = (is_recorded && needs_servers).then(|| Auditing::begin(global.database(), run.clone(), "agent"));
    let done = runtime.block_on(async {
        let mut driver =
            Driver::begin(global, arguments, recorded, answerer, planned, auditing.clone(), copies.clone(), stop)
                .await?;
        let code = driver.run(global, arguments).await;
        driver.close().await;
        code
    });
    runtime.shutdown_timeout(LAST_RECORDS);
    recording.finish(&copies, clock, Some(EndReason::Stopped));
    if let Some(auditing) = auditing {
        auditing.finish();
    }
    let code = done?;
    if is_recorded && !global.quiet && !arguments.json {
        let id: String = run.chars().take(8).collect();
        say(&format!("recorded as {}: mcp-tap inspect {id}", shown(&arguments.name, false)));
    }
    Ok(code)
}

/// A run.
struct Driver {
    agent: tap_agent::Agent,
    answerer: Arc<Answerer>,
    tools: Arc<Tools>,
    router: Option<Arc<Router>>,
    record: Record,
    transcript: Transcript,
    stop: Stop,
    system: String,
    trace: String,
    begun: Instant,
    max_output: Option<u64>,
    /// Which questions a replayed run has, and how each ended then.
    said: Vec<String>,
    endings: Vec<String>,
    is_replay: bool,
    n_different: usize,
    n_calls: u64,
    finish: Vec<Arc<super::route::Sessions>>,
}

/// What happens while a question is answered.
enum Happened {
    Answered(Result<ModelTurn, String>),
    Came(u64, Came),
    Stopped,
    Tick,
}

impl Driver {
    #[expect(clippy::too_many_arguments, reason = "what a run is made of; it is made at one place")]
    async fn begin(
        global: &Global,
        arguments: &Agent,
        recorded: Option<Recorded>,
        answerer: Option<Arc<Answerer>>,
        planned: Option<super::route::Planned>,
        auditing: Option<Arc<Auditing>>,
        copies: Arc<tap_relay::Copies>,
        stop: Stop,
    ) -> Result<Self, Failure> {
        let is_replay = recorded.is_some();
        let recorded = recorded.unwrap_or_default();
        let answerer = answerer.unwrap_or_else(|| {
            Arc::new(Answerer::Recorded { turns: recorded.turns.into(), samplings: recorded.samplings.into() })
        });
        let record = Record::begin(copies, &answerer.name());
        let known = recorded.calls.into();
        let mut finish = Vec::new();
        let (router, tools) = match planned {
            None => (None, Tools::Recorded(known)),
            Some(planned) => {
                finish = planned.sessions;
                let asking = Asking::new(answerer.clone(), record.clone(), arguments)?;
                let mut options = planned.options;
                if !planned.has_policy && !arguments.yes {
                    // Nobody has said which calls may be made: a person does.
                    options.policy.rest = Verdict::Ask;
                }
                options.ask = Some(match arguments.yes {
                    true => Arc::new(|_| Box::pin(std::future::ready(tap_router::Consent::Yes))),
                    false => confirm::on_the_terminal(),
                });
                options.audit = auditing.map(|auditing| auditing as Arc<dyn Audit>);
                let plans = planned.servers.into_iter().map(|server| ServerPlan {
                    name: server.name,
                    target: server.target,
                    rules: server.rules,
                    handler: asking.handler() as Arc<dyn Handler>,
                    recorder: server.recorder,
                });
                let quiet = global.quiet;
                let hear = Arc::new(move |news| {
                    if let (News::Told(text), false) = (news, quiet) {
                        say(&shown(&text, false));
                    }
                });
                let router = Arc::new(Router::start(plans.collect(), options, hear));
                router.settled(arguments.servers.startup).await;
                (Some(router.clone()), Tools::Live { router, then: is_replay.then_some(known) })
            }
        };
        let given = Bounds {
            rounds: arguments.max_rounds,
            calls: arguments.max_calls,
            tokens: arguments.max_tokens,
            goes_on_when_refused: arguments.go_on_refused,
        };
        let bounds = recorded.bounds.unwrap_or(given);
        record.note("agent/begin", &bounds.to_json());
        let options = AgentOptions {
            limits: Limits {
                rounds: bounds.rounds,
                calls: bounds.calls,
                tokens: bounds.tokens,
                time_ns: arguments.max_time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
                cost: arguments.max_cost,
                ..Limits::default()
            },
            prices: arguments.model.prices(),
            goes_on_when_refused: bounds.goes_on_when_refused,
        };
        let mut system = arguments.system.clone().unwrap_or_default();
        for (server, text) in router.iter().flat_map(|router| router.instructions()) {
            system.push_str(&format!("\n\nHow to use the tools of the server {server}, in its own words:\n{text}"));
        }
        Ok(Self {
            agent: tap_agent::Agent::new(options),
            answerer,
            tools: Arc::new(tools),
            router,
            record,
            transcript: Transcript::new(global, arguments),
            stop,
            system: system.trim().to_owned(),
            trace: crate::reference::new_uuid().replace('-', ""),
            begun: Instant::now(),
            max_output: arguments.max_output,
            said: recorded.said,
            endings: recorded.endings,
            is_replay,
            n_different: 0,
            n_calls: 0,
            finish,
        })
    }

    fn now_ns(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Answers what is asked: the one question, those of the recording, or line by line.
    async fn run(&mut self, global: &Global, arguments: &Agent) -> Result<u8, Failure> {
        if let Tools::Live { .. } = &*self.tools {
            let (_, notes) = self.tools.written(self.answerer.format());
            notes.iter().filter(|_| !global.quiet).for_each(|note| say(&shown(note, false)));
        }
        let questions = match (&arguments.question, self.is_replay) {
            (Some(question), _) => vec![question.clone()],
            (None, true) => self.said.clone(),
            (None, false) => return self.converse().await,
        };
        let mut code = 0;
        for (index, question) in questions.iter().enumerate() {
            let ending = self.question(question).await?;
            if let Some(then) = self.endings.get(index).filter(|then| self.is_replay && **then != named(&ending)) {
                let text = format!("it ended with `{}`, and with `{then}` then", named(&ending));
                self.transcript.different(&text)?;
                self.n_different += 1;
            }
            code = code_of(&ending);
            if ending == Ending::Cancelled {
                break;
            }
        }
        Ok(if self.n_different > 0 { DIFFERENT } else { code })
    }

    /// A conversation, line by line. The exit code is that of the last question.
    async fn converse(&mut self) -> Result<u8, Failure> {
        let is_terminal = std::io::stdin().is_terminal();
        let mut code = 0;
        loop {
            if is_terminal {
                self.transcript.prompt()?;
            }
            let reading = tokio::task::spawn_blocking(|| {
                let mut line = String::new();
                std::io::stdin().lock().read_line(&mut line).map(|n_bytes| (n_bytes, line))
            });
            let line = tokio::select! {
                read = reading => match read {
                    Ok(Ok((n_bytes, line))) if n_bytes > 0 => line,
                    _ => return Ok(code),
                },
                () = self.stop.asked() => return Ok(GIVEN_UP),
            };
            match line.trim() {
                "" => {}
                "/quit" | "/exit" => return Ok(code),
                line => code = code_of(&self.question(line).await?),
            }
        }
    }

    /// Answers one question.
    async fn question(&mut self, text: &str) -> Result<Ending, Failure> {
        let parts = match said::parts(text, self.router.as_deref()).await {
            Ok(parts) => parts,
            Err(what) => {
                self.transcript.problem(&what)?;
                return Ok(Ending::Failed(what));
            }
        };
        self.record.note("agent/user", &json!({ "text": text }));
        self.transcript.user(text)?;
        let now_ns = self.now_ns();
        self.agent.say(parts, now_ns);
        let mut asked: Option<JoinHandle<Result<ModelTurn, String>>> = None;
        let mut hears: Option<UnboundedReceiver<String>> = None;
        let mut calls: JoinSet<(u64, Came)> = JoinSet::new();
        let mut open: HashMap<u64, (String, Instant)> = HashMap::new();
        loop {
            while let Some(effect) = self.agent.poll_effect() {
                match effect {
                    Effect::Ask => {
                        let (task, said) = self.ask_model();
                        (asked, hears) = (Some(task), Some(said));
                    }
                    Effect::Call { number, call } => {
                        self.n_calls += 1;
                        self.transcript.called(number, &call)?;
                        let tag = self.n_calls;
                        if let Tools::Recorded(_) = &*self.tools {
                            // One after the other, so that it is the same each time.
                            let came = self.tools.call(&call, tag, &self.trace, &self.record).await;
                            self.came(number, came, None)?;
                            continue;
                        }
                        open.insert(number, (call.name.clone(), Instant::now()));
                        let (tools, record, trace) = (self.tools.clone(), self.record.clone(), self.trace.clone());
                        calls.spawn(async move { (number, tools.call(&call, tag, &trace, &record).await) });
                    }
                    Effect::GiveUp => {
                        if let Some(task) = asked.take() {
                            task.abort();
                        }
                        calls.abort_all();
                        // Each says to its server that nobody waits any more, and has an end in the record.
                        while calls.join_next().await.is_some() {}
                    }
                    Effect::End(ending) => {
                        let spent = *self.agent.spent();
                        self.record.note(
                            "agent/end",
                            &json!({"ending": named(&ending), "why": why(&ending), "rounds": spent.rounds, "calls": spent.calls,
                                "inputTokens": spent.usage.input_tokens, "outputTokens": spent.usage.output_tokens, "cost": spent.cost}),
                        );
                        self.transcript.ended(&ending, self.agent.text(), &spent)?;
                        return Ok(ending);
                    }
                }
            }
            let late = self.agent.poll_timeout().map(|at_ns| Duration::from_nanos(at_ns.saturating_sub(self.now_ns())));
            let tick = late.map_or(TICK, |late| late.min(TICK));
            let happened = tokio::select! {
                biased;
                () = self.stop.asked() => Happened::Stopped,
                Some(text) = async { hears.as_mut()?.recv().await } => {
                    self.transcript.text(&text)?;
                    continue;
                }
                answer = async { match asked.as_mut() { Some(task) => task.await, None => std::future::pending().await } } => {
                    asked = None;
                    Happened::Answered(answer.unwrap_or_else(|_| Err("the model's task ended".into())))
                }
                Some(Ok((number, came))) = calls.join_next(), if !calls.is_empty() => Happened::Came(number, came),
                () = tokio::time::sleep(tick) => Happened::Tick,
            };
            let now_ns = self.now_ns();
            match happened {
                Happened::Answered(Ok(turn)) => {
                    self.transcript.answered(&turn)?;
                    self.agent.answered(turn, now_ns);
                }
                Happened::Answered(Err(what)) => self.agent.failed(what),
                Happened::Came(number, came) => {
                    let took = open.remove(&number).map(|(_, since)| since.elapsed());
                    self.came(number, came, took)?;
                }
                Happened::Stopped => self.agent.cancel(),
                Happened::Tick => {
                    self.transcript.waiting(asked.is_some(), open.values())?;
                    self.agent.tick(now_ns);
                }
            }
        }
    }

    /// A call came back.
    fn came(&mut self, number: u64, came: Came, took: Option<Duration>) -> Result<(), Failure> {
        if let Some(what) = &came.differs {
            self.n_different += 1;
            self.transcript.different(what)?;
        }
        self.transcript.came(number, &came.outcome, took)?;
        let now_ns = self.now_ns();
        self.agent.came(number, came.outcome, now_ns);
        Ok(())
    }

    /// Asks the model, in a task of its own; its text comes aside.
    fn ask_model(&self) -> (JoinHandle<Result<ModelTurn, String>>, UnboundedReceiver<String>) {
        let (said, hears) = tokio::sync::mpsc::unbounded_channel();
        let (written, _): (Vec<Written>, _) = self.tools.written(self.answerer.format());
        let (turns, system) = (self.agent.turns().to_vec(), self.system.clone());
        let (answerer, record, max_output) = (self.answerer.clone(), self.record.clone(), self.max_output);
        let task = tokio::spawn(async move {
            let request = ModelRequest {
                system: &system,
                tools: &written,
                output_limit_tokens: max_output,
                ..ModelRequest::new("", &turns)
            };
            ask(&answerer, Asks::Turn, request, &record, &mut |text| drop(said.send(text.to_owned()))).await
        });
        (task, hears)
    }

    async fn close(&mut self) {
        if let Some(router) = self.router.take() {
            router.close().await;
        }
        let _ = tokio::time::timeout(LAST_RECORDS, all_ended()).await;
        for sessions in &self.finish {
            sessions.finish();
        }
    }
}

/// Asks, and records what was sent and what came back. A question that is given up has an end in the record as well.
async fn ask(
    answerer: &Answerer,
    asks: Asks,
    request: ModelRequest<'_>,
    record: &Record,
    text: &mut (dyn FnMut(&str) + Send),
) -> Result<ModelTurn, String> {
    let method = if asks == Asks::Turn { "agent/model" } else { "agent/sampling" };
    let name = answerer.name();
    let begin =
        |body: &str| record.asked(method, &format!("{{\"model\":{},\"body\":{body}}}", tap_peer::quoted(&name)));
    let mut open = None;
    // What is no provider over HTTP sends nothing: what it is told is in the same words.
    if !matches!(answerer, Answerer::Http(_)) {
        let body = tap_models::request_body(answerer.format(), &request, false);
        open = Some(begin(&body));
    }
    let mut listener = |heard: Heard<'_>| match heard {
        Heard::Sent(body) => {
            // Once more, after a failure: the first has its end.
            if let Some(open) = open.take() {
                open.failed("tried again");
            }
            open = Some(begin(body));
        }
        Heard::Event(ModelEvent::TextDelta(more)) => text(more),
        Heard::Retry { failure, wait } => say(&format!("{failure}; tried again in {:.1} s", wait.as_secs_f64())),
        Heard::Received(_) | Heard::Event(_) => {}
    };
    let answer = answerer.ask(asks, request, &mut listener).await;
    if let Some(open) = open {
        match &answer {
            Ok(turn) => open.turn(turn),
            Err(what) => open.failed(what),
        }
    }
    answer
}

/// What an ending is called in records and in `--json`.
fn named(ending: &Ending) -> &'static str {
    match ending {
        Ending::Finished => "finished",
        Ending::Refused(_) => "refused",
        Ending::Limited(_) => "limited",
        Ending::ModelRefused => "model refused",
        Ending::Failed(_) => "failed",
        Ending::Cancelled => "given up",
    }
}

fn why(ending: &Ending) -> Option<String> {
    match ending {
        Ending::Finished | Ending::Cancelled => None,
        Ending::Refused(why) => Some(format!("a call was refused: {why}")),
        Ending::Limited(limit) => Some(limit.to_string()),
        Ending::ModelRefused => Some("the model will not answer".into()),
        Ending::Failed(what) => Some(what.clone()),
    }
}

fn code_of(ending: &Ending) -> u8 {
    match ending {
        Ending::Finished => 0,
        Ending::Failed(_) => FAILED,
        Ending::Limited(_) => LIMITED,
        Ending::Refused(_) | Ending::ModelRefused => REFUSED,
        Ending::Cancelled => GIVEN_UP,
    }
}

/// What is asked of a router in a run.
fn host_call(tag: u64) -> HostCall {
    HostCall { revision: Revision::LATEST, on_progress: None, tag, capabilities: None }
}
