//! The control socket: who connects, what is asked, and who is answered.

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use tap_control::{
    Action, Answered, CALL_LIMIT_NS, Release, Rule, RuleKind, RuleOptions, Ticket, read_action, read_fault,
};
use tap_filter::{Context, Filter};
use tap_frame::Direction;
use tap_jsonrpc::LineSplitter;

use super::viewer::{Outbox, Seat, Seats, ViewerId};
use super::wire::{COULD_NOT, NO_SUCH_METHOD, PROTOCOL, Refused, bytes_of, held, message, refusal, result, rule};
use super::{Control, State, place};
use crate::filtering::now_unix_ns;
use crate::recording::say;

/// Why a server over HTTP cannot crash.
pub(crate) const NO_CRASH: &str =
    "the server is at an address, and is no process that could be killed; `close` closes connections";

/// Viewers at a time.
const VIEWERS: usize = 64;

/// A viewer that takes nothing for so long of what there is for it is hung up on.
const TAKE_PATIENCE: Duration = Duration::from_secs(60);

/// How long a viewer that asks nothing more may take for the answers that are left.
const LAST_ANSWERS: Duration = Duration::from_secs(1);

/// What one line of a viewer can have, bytes: an edited message, and something around it.
const LINE_BYTES: usize = 64 * 1024 * 1024;

/// Listens for viewers, in a thread. What fails is told once; traffic goes on.
pub(crate) fn begin_to_listen(control: &Arc<Control>) {
    let told = |error: std::io::Error| say(&format!("this session cannot be debugged: {error}; traffic goes on"));
    let own = control.clone();
    let listen = move || {
        let listener = match place::listen(&own.about.uuid) {
            Ok(listener) => listener,
            Err(error) => return tracing::warn!("no control socket: {error}; traffic goes on"),
        };
        if own.state().ended {
            // It was over before there was a socket to remove.
            return place::remove(&own.about.uuid);
        }
        let seats = Seats::new(VIEWERS);
        for stream in listener.incoming() {
            if own.state().ended {
                return;
            }
            let Ok(stream) = stream else {
                // Too many files are open, perhaps; a viewer will try again.
                std::thread::sleep(Duration::from_millis(50)); // tidy: sleeps because a busy loop would be worse.
                continue;
            };
            if !place::is_same_user(&stream) {
                continue;
            }
            let Some(seat) = seats.take() else {
                continue;
            };
            let control = own.clone();
            let _ = std::thread::Builder::new().name("viewer".into()).spawn(move || serve(&control, stream, seat));
        }
    };
    if let Err(error) = std::thread::Builder::new().name("control".into()).spawn(listen) {
        told(error);
    }
}

/// One viewer, from beginning to end. Nothing is left of it then: no thread, and no descriptor.
fn serve(control: &Arc<Control>, stream: UnixStream, _seat: Seat) {
    let writing = stream.set_write_timeout(Some(TAKE_PATIENCE)).and_then(|()| stream.try_clone());
    let Ok(mut writing) = writing else {
        return;
    };
    let (done, is_done) = std::sync::mpsc::channel();
    let (outbox, queue) = Outbox::new();
    let mut state = control.state();
    state.n_viewers += 1;
    let viewer = ViewerId(state.n_viewers);
    state.viewers.insert(viewer, outbox);
    drop(state);
    let writer = std::thread::Builder::new().name("viewer out".into()).spawn(move || {
        for line in queue {
            if writing.write_all(line.as_bytes()).is_err() {
                break;
            }
        }
        let _ = writing.shutdown(std::net::Shutdown::Both);
        let _ = done.send(());
    });
    if writer.is_ok() {
        read(control, viewer, &stream);
    }
    let mut state = control.state();
    let was_attached = state.viewers.remove(&viewer).is_some_and(|outbox| outbox.attached);
    state.asked.retain(|_, (asked_by, _)| *asked_by != viewer);
    drop(state);
    if was_attached {
        control.with(|debugger, at_ns| debugger.detached(at_ns));
    }
    if let Ok(writer) = writer {
        let _ = is_done.recv_timeout(LAST_ANSWERS);
        // Brings the writer out of a write that nobody takes.
        let _ = stream.shutdown(std::net::Shutdown::Both);
        let _ = writer.join();
    }
}

/// Reads what a viewer asks, and answers it, until it has gone.
fn read(control: &Arc<Control>, viewer: ViewerId, stream: &UnixStream) {
    let mut stream = BufReader::new(stream);
    let mut lines = LineSplitter::default();
    let (mut buffer, mut n_open) = (vec![0; 64 * 1024], 0);
    loop {
        let n_bytes = match stream.read(&mut buffer) {
            Ok(0) | Err(_) => return,
            Ok(n_bytes) => n_bytes,
        };
        n_open += n_bytes;
        lines.push(Bytes::copy_from_slice(buffer.get(..n_bytes).unwrap_or_default()));
        while let Some(line) = lines.next_line() {
            n_open = 0;
            if !take(control, viewer, &line) {
                return;
            }
        }
        if LINE_BYTES < n_open {
            return;
        }
    }
}

/// Takes one line of a viewer. False when there is no use in taking more.
fn take(control: &Arc<Control>, viewer: ViewerId, line: &[u8]) -> bool {
    let Ok(asked) = serde_json::from_slice::<Value>(line) else {
        let refused = Refused::new(-32700, "this is not JSON");
        return answer(control, viewer, refusal(&Value::Null, &refused));
    };
    let id = asked.get("id").cloned().unwrap_or(Value::Null);
    let Some(method) = asked.get("method").and_then(Value::as_str) else {
        return answer(control, viewer, refusal(&id, &Refused::new(-32600, "a method is missing")));
    };
    let params = asked.get("params").cloned().unwrap_or_else(|| json!({}));
    match ask(control, viewer, &id, method, &params) {
        Ok(Some(done)) => answer(control, viewer, result(&id, &done)),
        // It is answered when its answer is there.
        Ok(None) => true,
        Err(refused) => answer(control, viewer, refusal(&id, &refused)),
    }
}

fn answer(control: &Arc<Control>, viewer: ViewerId, line: String) -> bool {
    control.state().viewers.get_mut(&viewer).is_some_and(|outbox| outbox.answer(line))
}

/// Gives the answer to a request that was put in to whoever asked for it.
pub(super) fn hand_over(state: &mut State, ticket: Ticket, answered: &Answered) {
    if let Answered::Progress(bytes) = answered {
        if let Some((viewer, id)) = state.asked.get(&ticket)
            && let Some(outbox) = state.viewers.get_mut(viewer)
        {
            let params = json!({"call": id, "message": message(bytes)});
            outbox.tell(&Arc::from(format!("{}\n", json!({"jsonrpc": "2.0", "method": "progress", "params": params}))));
        }
        return;
    }
    let Some((viewer, id)) = state.asked.remove(&ticket) else {
        return;
    };
    let line = match answered {
        Answered::Answer(bytes, took_ns) => {
            result(&id, &json!({"answer": message(bytes), "took_ms": took_ns / 1_000_000}))
        }
        Answered::TooLate => refusal(&id, &Refused::new(COULD_NOT, "no answer came in time; the call was cancelled")),
        Answered::Ended | Answered::Progress(_) => {
            refusal(&id, &Refused::new(COULD_NOT, "the side that was asked has ended"))
        }
    };
    if let Some(outbox) = state.viewers.get_mut(&viewer) {
        outbox.answer(line);
    }
}

fn text<'a>(params: &'a Value, name: &str) -> Option<&'a str> {
    params.get(name).and_then(Value::as_str)
}

fn needed<'a>(params: &'a Value, name: &str) -> Result<&'a str, Refused> {
    text(params, name).ok_or_else(|| Refused::params(format!("`{name}` is missing")))
}

fn number(params: &Value, name: &str) -> Option<u64> {
    params.get(name).and_then(Value::as_u64)
}

fn flag(params: &Value, name: &str) -> bool {
    params.get(name).and_then(Value::as_bool).unwrap_or_default()
}

/// Who asks, as recordings tell it.
fn by(params: &Value) -> &str {
    text(params, "by").unwrap_or("mcp-tap")
}

/// What a filter's times are told by.
pub(crate) fn context() -> Context {
    Context { now_unix_ns: i128::from(now_unix_ns()), utc_offset_seconds: jiff::Zoned::now().offset().seconds() }
}

fn filter(params: &Value) -> Result<Filter, Refused> {
    let text = text(params, "filter").unwrap_or_default();
    Filter::parse(text, &context(), &|_| None).map_err(|error| Refused::from(tap_control::RuleError::from(error)))
}

fn rule_number(params: &Value) -> Result<u32, Refused> {
    number(params, "number")
        .and_then(|number| u32::try_from(number).ok())
        .ok_or_else(|| Refused::params("`number` is missing"))
}

fn direction(params: &Value) -> Result<Direction, Refused> {
    match text(params, "to").unwrap_or("server") {
        "server" => Ok(Direction::ToServer),
        "client" => Ok(Direction::ToClient),
        _ => Err(Refused::params("`to` is server or client")),
    }
}

/// Does what is asked. `None` when the answer comes later.
fn ask(
    control: &Arc<Control>,
    viewer: ViewerId,
    id: &Value,
    method: &str,
    params: &Value,
) -> Result<Option<Value>, Refused> {
    let done = match method {
        "status" => status(control),
        "attach" => {
            let mut state = control.state();
            let outbox = state.viewers.get_mut(&viewer);
            let is_new = outbox.is_some_and(|outbox| !std::mem::replace(&mut outbox.attached, true));
            drop(state);
            if is_new {
                control.with(|debugger, _| debugger.attached());
            }
            json!({})
        }
        "break/set" => set_breakpoint(control, params)?,
        "fault/set" => {
            let rule = read_fault(needed(params, "fault")?, &context())?;
            is_possible(control, &rule.action)?;
            set(control, rule, RuleKind::Fault, params)
        }
        "break/list" | "fault/list" => {
            let kind = if method == "break/list" { RuleKind::Breakpoint } else { RuleKind::Fault };
            let rules = control.with(|debugger, _| debugger.rules());
            json!({"rules": rules.iter().filter(|info| info.kind == kind).map(rule).collect::<Vec<_>>()})
        }
        "break/remove" | "fault/remove" => {
            let kind = if method == "break/remove" { RuleKind::Breakpoint } else { RuleKind::Fault };
            let removed = match flag(params, "all") {
                true => control.with(|debugger, at_ns| debugger.remove_all(kind, by(params), at_ns)),
                false => {
                    let number = rule_number(params)?;
                    control.with(|debugger, _| debugger.remove_rule(number))?;
                    1
                }
            };
            json!({"removed": removed})
        }
        "break/switch" | "fault/switch" => {
            let number = rule_number(params)?;
            control.with(|debugger, _| debugger.switch_rule(number, flag(params, "on")))?;
            json!({})
        }
        "held/list" => {
            let (infos, now_ns) = control.with(|debugger, at_ns| (debugger.held(), at_ns));
            json!({"held": infos.iter().map(|info| held(info, now_ns)).collect::<Vec<_>>()})
        }
        "held/get" => {
            let number = number(params, "number").ok_or_else(|| Refused::params("`number` is missing"))?;
            let found = control.with(|debugger, at_ns| {
                let (original, now) = debugger.held_message(number)?;
                let info = debugger.held().into_iter().find(|info| info.number == number);
                let schema = info.as_ref().and_then(|info| debugger.schemas().of(info.target.as_deref()?).cloned());
                Ok::<_, tap_control::CommandError>(json!({
                    "held": info.as_ref().map(|info| held(info, at_ns)),
                    "original": message(&original),
                    "message": message(&now),
                    "schema": schema.map(|schema| message(&schema)),
                }))
            });
            found?
        }
        "held/release" => release(control, params)?,
        "held/keep" => {
            let number = number(params, "number").ok_or_else(|| Refused::params("`number` is missing"))?;
            let limit_ns = self::number(params, "ms").map(|ms| ms.saturating_mul(1_000_000));
            control.with(|debugger, at_ns| debugger.keep_held(number, limit_ns, at_ns))?;
            json!({})
        }
        "step" => {
            control.with(|debugger, at_ns| debugger.step(by(params), flag(params, "stays"), at_ns));
            json!({})
        }
        "continue" => json!({"released": control.with(|debugger, at_ns| debugger.release_all(by(params), at_ns))}),
        "run_to" => {
            let filter = filter(params)?;
            control.with(|debugger, at_ns| debugger.run_to(filter, by(params), flag(params, "stays"), at_ns));
            json!({})
        }
        "inject" | "call" => return inject(control, viewer, id, method == "call", params),
        _ => return Err(Refused::new(NO_SUCH_METHOD, format!("there is no method `{method}`"))),
    };
    Ok(Some(done))
}

fn status(control: &Arc<Control>) -> Value {
    let state = control.state();
    let rules = state.debugger.rules();
    let count = |kind: RuleKind| rules.iter().filter(|info| info.kind == kind && info.on).count();
    let held = state.debugger.held();
    json!({
        "protocol": PROTOCOL,
        "version": env!("CARGO_PKG_VERSION"),
        "name": control.about.name,
        "session": control.about.uuid,
        "pid": std::process::id(),
        "transport": if control.ways.is_http() { "http" } else { "stdio" },
        "server_pid": control.about.server_pid,
        "command": control.about.command,
        "database": control.about.database,
        "since_ms": control.clock.at_ns() / 1_000_000,
        "armed": state.armed,
        "viewers": state.debugger.n_viewers(),
        "breakpoints": count(RuleKind::Breakpoint),
        "faults": count(RuleKind::Fault),
        "held": held.iter().filter(|info| info.why == "held").count(),
        "waiting": held.len(),
        "revision": state.debugger.revision(),
    })
}

fn set_breakpoint(control: &Arc<Control>, params: &Value) -> Result<Value, Refused> {
    let filter = filter(params)?;
    let action = read_action(text(params, "do").unwrap_or("hold"))?;
    is_possible(control, &action)?;
    // Written as in a fault, so that there is one way to write it.
    let when = text(params, "when").unwrap_or_default();
    let when = read_fault(&format!("{when} -> drop"), &context())?.when;
    let text = filter.text().to_owned();
    Ok(set(control, Rule { filter, when, action, text }, RuleKind::Breakpoint, params))
}

/// Over HTTP there is no process that could be killed.
fn is_possible(control: &Arc<Control>, action: &Action) -> Result<(), Refused> {
    match action {
        Action::Crash if control.ways.is_http() => Err(Refused::params(NO_CRASH)),
        _ => Ok(()),
    }
}

fn set(control: &Arc<Control>, rule: Rule, kind: RuleKind, params: &Value) -> Value {
    let options = RuleOptions {
        kind,
        stays: flag(params, "stays"),
        whole_stream: text(params, "hold") == Some("stream"),
        by: by(params).into(),
        temporary: false,
    };
    let number = control.with(|debugger, at_ns| debugger.set_rule(rule, options, at_ns));
    // So that whoever asked can rely on it from now on.
    let armed = control.ways.wait_armed(super::ARM_PATIENCE);
    json!({"number": number, "armed": armed})
}

fn release(control: &Arc<Control>, params: &Value) -> Result<Value, Refused> {
    let by = by(params);
    if flag(params, "all") {
        return Ok(json!({"released": control.with(|debugger, at_ns| debugger.release_all(by, at_ns))}));
    }
    let held = number(params, "number").ok_or_else(|| Refused::params("`number` is missing"))?;
    let written = || params.get("message").and_then(bytes_of).ok_or_else(|| Refused::params("`message` is missing"));
    let how = match text(params, "how").unwrap_or("go") {
        "go" => Release::Go,
        "original" => Release::Original,
        "drop" => Release::Drop,
        "edited" => {
            let schema = params.get("schema").and_then(bytes_of);
            Release::Edited { text: written()?, force: flag(params, "force"), schema }
        }
        "answer" => Release::Answer(written()?),
        "error" => Release::Error {
            code: params.get("code").and_then(Value::as_i64).ok_or_else(|| Refused::params("`code` is missing"))?,
            message: text(params, "text").unwrap_or("refused by hand").into(),
        },
        "later" => {
            let ms = number(params, "ms").ok_or_else(|| Refused::params("`ms` is missing"))?;
            Release::Later(ms.saturating_mul(1_000_000))
        }
        how => return Err(Refused::params(format!("`{how}` is no way to release a message"))),
    };
    control.with(|debugger, at_ns| debugger.release(held, how, by, at_ns))?;
    Ok(json!({}))
}

fn inject(
    control: &Arc<Control>,
    viewer: ViewerId,
    id: &Value,
    is_request: bool,
    params: &Value,
) -> Result<Option<Value>, Refused> {
    if control.ways.is_http() {
        let says = "over HTTP nothing can be put in yet; `mcp-tap call TOOL --url URL` asks the server itself";
        return Err(Refused::new(COULD_NOT, says));
    }
    let direction = direction(params)?;
    let bytes = params.get("message").and_then(bytes_of).ok_or_else(|| Refused::params("`message` is missing"))?;
    let limit_ns = number(params, "limit_ms").map_or(CALL_LIMIT_NS, |ms| ms.saturating_mul(1_000_000));
    if !control.ways.is_open(direction) {
        return Err(tap_control::CommandError::Ended.into());
    }
    let sent = control.with_armed(|state, at_ns| {
        let ticket = state.debugger.inject(direction, &bytes, is_request, by(params), limit_ns, at_ns)?;
        if let Some(ticket) = ticket {
            state.asked.insert(ticket, (viewer, id.clone()));
        }
        Ok::<_, tap_control::CommandError>(ticket)
    });
    match sent {
        Some(Ok(Some(_))) => Ok(None),
        Some(Ok(None)) => Ok(Some(json!({}))),
        Some(Err(error)) => Err(error.into()),
        None => Err(Refused::new(
            COULD_NOT,
            "one side does not read what the other has sent, so that nothing can be put in",
        )),
    }
}

#[cfg(test)]
mod tests;
