//! The inspector at the control socket of a live session: a viewer as any other, in a thread of its own.
//!
//! Whatever the socket says is only the occasion to ask for all of it anew, so that what is shown is what is there, also after
//! something was missed. One round of questions is under way at a time. Nothing here is waited for by the tap or the screen.

mod said;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tap_inspector::{Answer, HeldMessage, LiveHere, LiveOrder, LiveSeen, Query, Resent, SessionKey, Ticket};
use tap_store::SessionId;

use super::asked::{Answers, Opened};
use crate::arguments::{Global, When};
use crate::command::release::recorded_schema;
use crate::control::{bytes_of, place};
use crate::filtering::now_unix_ns;
use crate::text::shown;

/// How often a tap that was not there is looked for again.
const LOOK: Duration = Duration::from_secs(2);

/// How long a tap may take to answer; it takes less than a millisecond.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after one round of questions the next one begins at the earliest: what happens meanwhile is told together.
const ROUND: Duration = Duration::from_millis(30);

/// Who does it, as recordings tell it.
const BY: &str = "mcp-tap inspect";

/// What a round of questions is made of.
const ROUND_OF: [&str; 3] = ["break/list", "fault/list", "held/list"];

/// What the thread is told.
#[derive(Debug)]
pub(super) enum ToLive {
    /// The inspector asks something.
    Ask(Ticket, Query),
    /// It does not want that any more.
    Withdrawn(Ticket),
    /// The tap said something; by which connection.
    Said(u64, Value),
    /// It hung up.
    Gone(u64),
    /// The end.
    End,
}

/// What a question to the tap was for.
#[derive(Debug)]
enum For {
    /// What it says of itself, and nothing.
    Status,
    Nothing,
    /// A part of a round.
    Round(usize),
    /// A message that waits.
    Message(Ticket, u64),
    /// Something that it was to do; what is said when it is done.
    Order(Ticket, String),
    /// A request that was sent again.
    Call(Ticket),
}

/// The session whose tap is wanted.
#[derive(Debug)]
struct Wanted {
    ticket: Ticket,
    uuid: String,
    looked: Option<Instant>,
    /// That it is away was said.
    away_said: bool,
}

/// A tap that is there.
struct Connection {
    number: u64,
    stream: UnixStream,
    n_asked: u64,
    asked: BTreeMap<u64, (Instant, For)>,
    /// Something has happened since the last round began.
    is_stale: bool,
    round: Option<[Option<Value>; 3]>,
    round_ended: Option<Instant>,
    revision: Option<String>,
    news: Vec<String>,
}

struct Viewer<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    own: Sender<ToLive>,
    wanted: Option<Wanted>,
    connection: Option<Connection>,
    n_connections: u64,
    /// A schema is being looked for.
    looks: Arc<AtomicBool>,
}

/// Does what the inspector asks, until the end.
pub(super) fn answer_all(opened: &Opened, asked: &Receiver<ToLive>, own: Sender<ToLive>, answers: &Answers) {
    let looks = Arc::new(AtomicBool::new(false));
    let mut viewer = Viewer { opened, answers, own, wanted: None, connection: None, n_connections: 0, looks };
    loop {
        match asked.recv_timeout(viewer.patience()) {
            Ok(ToLive::Ask(ticket, Query::Attach(key))) => viewer.attach(ticket, key),
            Ok(ToLive::Ask(ticket, Query::Control(_, order))) => viewer.order(ticket, order),
            Ok(ToLive::Ask(..)) => {}
            Ok(ToLive::Withdrawn(ticket)) => {
                if viewer.wanted.as_ref().is_some_and(|wanted| wanted.ticket == ticket) {
                    viewer.hang_up("the session is not looked at any more");
                    viewer.wanted = None;
                }
            }
            Ok(ToLive::Said(number, said)) => {
                if viewer.connection.as_ref().is_some_and(|connection| connection.number == number) {
                    viewer.take(said);
                }
            }
            Ok(ToLive::Gone(number)) => {
                if viewer.connection.as_ref().is_some_and(|connection| connection.number == number) {
                    viewer.hang_up("the tap has ended");
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Ok(ToLive::End) | Err(RecvTimeoutError::Disconnected) => return,
        }
        viewer.go_on();
    }
}

impl Viewer<'_> {
    /// For how long nothing has to be done unless something comes.
    fn patience(&self) -> Duration {
        match &self.connection {
            Some(connection) if connection.is_stale && connection.round.is_none() => ROUND,
            Some(_) => Duration::from_secs(1),
            None if self.wanted.is_some() => LOOK,
            None => Duration::from_secs(60),
        }
    }

    fn attach(&mut self, ticket: Ticket, key: SessionKey) {
        self.hang_up("another session is looked at");
        let session = self.opened.store.session(SessionId(key.0)).ok().flatten();
        match session {
            Some(session) => {
                let uuid = session.start.uuid.to_string();
                self.wanted = Some(Wanted { ticket, uuid, looked: None, away_said: false });
            }
            None => self.answers.fail(Some(ticket), "the session is not in the database any more".into()),
        }
    }

    /// Does what is due: looks for the tap, begins a round, gives up on answers.
    fn go_on(&mut self) {
        self.look_for_the_tap();
        let Some(connection) = &mut self.connection else {
            return;
        };
        let is_late = |(since, what): &(Instant, For)| !matches!(what, For::Call(_)) && PATIENCE < since.elapsed();
        if connection.asked.values().any(is_late) {
            // It may be stopped; should it go on, it is found again.
            return self.hang_up("the tap does not answer; it may be stopped");
        }
        let is_due = connection.round_ended.is_none_or(|ended| ROUND <= ended.elapsed());
        if connection.is_stale && connection.round.is_none() && is_due {
            connection.is_stale = false;
            connection.round = Some(Default::default());
            for (part, method) in ROUND_OF.into_iter().enumerate() {
                self.ask(method, json!({}), For::Round(part));
            }
        }
    }

    fn look_for_the_tap(&mut self) {
        let Some(wanted) = self.wanted.as_mut().filter(|_| self.connection.is_none()) else {
            return;
        };
        if wanted.looked.is_some_and(|looked| looked.elapsed() < LOOK) {
            return;
        }
        wanted.looked = Some(Instant::now());
        let stream = place::connect(&wanted.uuid).ok().filter(place::is_same_user);
        let reads = stream.as_ref().and_then(|stream| {
            stream.set_write_timeout(Some(PATIENCE)).ok()?;
            stream.try_clone().ok()
        });
        let (Some(stream), Some(reads)) = (stream, reads) else {
            if !std::mem::replace(&mut wanted.away_said, true) {
                let why = "this tap cannot be reached: messages are held on stdio, by taps that run on this machine";
                self.answers.give(wanted.ticket, Answer::Live(Box::new(LiveSeen::Away(why.into()))));
            }
            return;
        };
        self.n_connections += 1;
        let (number, own) = (self.n_connections, self.own.clone());
        let body = move || {
            let mut reads = BufReader::new(reads);
            let mut line = Vec::new();
            while reads.read_until(b'\n', &mut line).is_ok_and(|n_bytes| n_bytes > 0) {
                let told = serde_json::from_slice(&line).map(|said| own.send(ToLive::Said(number, said)).is_ok());
                if !told.unwrap_or(true) {
                    return;
                }
                line.clear();
            }
            let _ = own.send(ToLive::Gone(number));
        };
        if std::thread::Builder::new().name("tap's words".into()).spawn(body).is_err() {
            return;
        }
        self.connection = Some(Connection {
            number,
            stream,
            n_asked: 0,
            asked: BTreeMap::new(),
            is_stale: true,
            round: None,
            round_ended: None,
            revision: None,
            news: Vec::new(),
        });
        self.ask("status", json!({}), For::Status);
        self.ask("attach", json!({}), For::Nothing);
    }

    /// Asks the tap something. One that does not take it is hung up on.
    fn ask(&mut self, method: &str, params: Value, what: For) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        connection.n_asked += 1;
        let id = connection.n_asked;
        let line = format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        connection.asked.insert(id, (Instant::now(), what));
        if connection.stream.write_all(line.as_bytes()).is_err() {
            self.hang_up("the tap has ended");
        }
    }

    /// Lets the tap go, and says why to whoever waits for something.
    fn hang_up(&mut self, why: &str) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        // The thread that reads ends by it.
        let _ = connection.stream.shutdown(std::net::Shutdown::Both);
        for (_, (_, what)) in connection.asked {
            if let For::Message(ticket, _) | For::Order(ticket, _) | For::Call(ticket) = what {
                self.answers.fail(Some(ticket), why.to_owned());
            }
        }
        if let Some(wanted) = &mut self.wanted {
            wanted.away_said = true;
            wanted.looked = Some(Instant::now());
            self.answers.give(wanted.ticket, Answer::Live(Box::new(LiveSeen::Away(why.into()))));
        }
    }

    /// The tap said something.
    fn take(&mut self, said: Value) {
        let Some(connection) = &mut self.connection else {
            return;
        };
        let Some(id) = said.get("id").and_then(Value::as_u64) else {
            connection.is_stale = true;
            connection.news.extend(said::news(&said));
            return;
        };
        let Some((_, what)) = connection.asked.remove(&id) else {
            return;
        };
        let result = said.get("result").cloned();
        match (what, result) {
            (For::Status, Some(status)) => {
                connection.revision = status.get("revision").and_then(Value::as_str).map(Into::into);
            }
            (For::Round(part), result) => {
                if let Some(place) = connection.round.as_mut().and_then(|round| round.get_mut(part)) {
                    *place = Some(result.unwrap_or_default());
                }
                self.end_round();
            }
            (For::Message(ticket, number), Some(found)) => self.message(ticket, number, &found),
            (For::Order(ticket, told), Some(_)) => {
                connection.is_stale = true;
                self.answers.give(ticket, Answer::Ordered(told));
            }
            (For::Call(ticket), Some(done)) => {
                let answer = done.get("answer").and_then(bytes_of).unwrap_or_default().into();
                let took_ns = done.get("took_ms").and_then(Value::as_u64).map(|ms| ms.saturating_mul(1_000_000));
                self.answers.give(ticket, Answer::Resent(Box::new(Resent { answer, took_ns })));
            }
            (For::Message(ticket, _) | For::Order(ticket, _) | For::Call(ticket), None) => {
                connection.is_stale = true;
                self.answers.fail(Some(ticket), said::refusal(&said));
            }
            (For::Status | For::Nothing, _) => {}
        }
    }

    /// All of a round was answered: the inspector is told.
    fn end_round(&mut self) {
        let (Some(connection), Some(wanted)) = (&mut self.connection, &mut self.wanted) else {
            return;
        };
        if !connection.round.as_ref().is_some_and(|round| round.iter().all(Option::is_some)) {
            return;
        }
        connection.round_ended = Some(Instant::now());
        let [breakpoints, faults, held] = connection.round.take().unwrap_or_default().map(Option::unwrap_or_default);
        wanted.away_said = false;
        let here = LiveHere {
            seen_unix_ns: now_unix_ns(),
            revision: connection.revision.clone(),
            rules: [breakpoints, faults].iter().flat_map(said::rules).collect(),
            held: said::held(&held),
            news: std::mem::take(&mut connection.news),
        };
        self.answers.give(wanted.ticket, Answer::Live(Box::new(LiveSeen::Here(here))));
    }

    fn message(&self, ticket: Ticket, number: u64, found: &Value) {
        let bytes = |name: &str| found.get(name).and_then(bytes_of).map(Arc::<[u8]>::from);
        let (Some(original), Some(now)) = (bytes("original"), bytes("message")) else {
            return self.answers.fail(Some(ticket), "the tap's answer makes no sense".into());
        };
        let message = HeldMessage { number, original, now, schema: bytes("schema") };
        let has_schema = message.schema.is_some();
        self.answers.give(ticket, Answer::HeldMessage(Box::new(message.clone())));
        let tool = found.get("held").and_then(|held| held.get("target")).and_then(Value::as_str);
        if let Some(tool) = tool.filter(|_| !has_schema) {
            self.look_for_schema(ticket, message, tool);
        }
    }

    /// Looks in the recording for how a tool was listed, in a thread, for that may take a while in a long session. The message is
    /// then told once more.
    fn look_for_schema(&self, ticket: Ticket, message: HeldMessage, tool: &str) {
        let Some(wanted) = &self.wanted else {
            return;
        };
        if self.looks.swap(true, Ordering::Relaxed) {
            return;
        }
        let global = global(self.opened.store.path().into());
        let (uuid, tool, answers, looks) =
            (wanted.uuid.clone(), tool.to_owned(), self.answers.clone(), self.looks.clone());
        let body = move || {
            if let Some(schema) = recorded_schema(&global, &uuid, &tool) {
                let message = HeldMessage { schema: Some(schema.into_bytes().into()), ..message };
                answers.give(ticket, Answer::HeldMessage(Box::new(message)));
            }
            looks.store(false, Ordering::Relaxed);
        };
        if std::thread::Builder::new().name("schema".into()).spawn(body).is_err() {
            self.looks.store(false, Ordering::Relaxed);
        }
    }

    fn order(&mut self, ticket: Ticket, order: LiveOrder) {
        if let LiveOrder::CallAnew(words) = order {
            return self.call_anew(ticket, words);
        }
        if self.connection.is_none() {
            return self.answers.fail(Some(ticket), "the tap is not there".into());
        }
        let done = |told: &str| For::Order(ticket, told.to_owned());
        match order {
            LiveOrder::Message(number) => {
                self.ask("held/get", json!({"number": number}), For::Message(ticket, number));
            }
            LiveOrder::Release(number, how) => {
                let (params, told) = said::release(number, how, BY);
                self.ask("held/release", params, done(&told));
            }
            LiveOrder::ReleaseAll => {
                self.ask("held/release", json!({"all": true, "by": BY}), done("all that waited went on"));
            }
            LiveOrder::Keep(number, ns) => {
                let mut params = json!({"number": number});
                if let Some(ns) = ns {
                    params["ms"] = (ns / 1_000_000).into();
                }
                self.ask("held/keep", params, done(""));
            }
            LiveOrder::Break { filter, action, when } => {
                // What it holds goes on at once when nobody is there to let it go.
                let params = json!({"filter": filter, "do": action, "when": when, "stays": false, "by": BY});
                self.ask("break/set", params, done("the breakpoint is set; it holds while an inspector is open"));
            }
            LiveOrder::Switch(rules, on) => {
                let last = rules.len().saturating_sub(1);
                for (index, (number, is_fault)) in rules.into_iter().enumerate() {
                    let method = if is_fault { "fault/switch" } else { "break/switch" };
                    let what = if index == last { done("") } else { For::Nothing };
                    self.ask(method, json!({"number": number, "on": on, "by": BY}), what);
                }
            }
            LiveOrder::Remove(number, is_fault) => {
                let method = if is_fault { "fault/remove" } else { "break/remove" };
                self.ask(method, json!({"number": number, "by": BY}), done("it is removed"));
            }
            LiveOrder::Call(request) => {
                let params = json!({"to": "server", "message": crate::control::message(&request), "by": BY});
                self.ask("call", params, For::Call(ticket));
            }
            LiveOrder::CallAnew(_) => {}
        }
    }

    /// Calls a tool on a server that is started for it, as the command line does, which also records it.
    fn call_anew(&self, ticket: Ticket, words: Vec<String>) {
        let (answers, database) = (self.answers.clone(), self.opened.store.path().to_owned());
        let body = move || {
            let program = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("mcp-tap"));
            let began = Instant::now();
            let done = Command::new(program).args(words).env("MCP_TAP_DB", database).stdin(Stdio::null()).output();
            match done {
                Ok(output) if !output.stdout.is_empty() => {
                    // With the server's start in it, which is no part of the call.
                    tracing::debug!("called anew in {:?}", began.elapsed());
                    let resent = Resent { answer: output.stdout.into(), took_ns: None };
                    answers.give(ticket, Answer::Resent(Box::new(resent)));
                }
                Ok(output) => {
                    let said = String::from_utf8_lossy(&output.stderr);
                    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
                    answers.fail(Some(ticket), format!("it could not be called: {}", shown(last.trim(), false)));
                }
                Err(error) => answers.fail(Some(ticket), format!("it could not be called: {error}")),
            }
        };
        if let Err(error) = std::thread::Builder::new().name("call".into()).spawn(body) {
            self.answers.fail(Some(ticket), format!("it could not be called: {error}"));
        }
    }
}

/// What a command would be given to look into this database.
fn global(database: PathBuf) -> Global {
    Global { db: Some(database), color: When::Never, no_pager: true, config: None, quiet: true }
}
