//! `mcp-tap run`: a server, a relay, a debugger and a recorder, put together.

use tap_control::{Action, Rule, RuleKind, RuleOptions, When, read_action, read_fault, read_faults};
use tap_relay::{Clock, Doors, relay};
use tap_store::{EndReason, Transport};
use tap_transport::{Ending, ServerProcess, Signals, block_signals, end_like, give_back_large_blocks, replace_with};

use super::breakpoints::told;
use super::bridge_http::bridge_http;
use crate::arguments::{Debugging, Global, Hold, Run};
use crate::control::{About, Control, Ways, begin_to_listen, context};
use crate::failure::{COULD_NOT, Failure};
use crate::filtering::read;
use crate::name::name_of;
use crate::paths::{default_database, lossy};
use crate::recording::{Recording, copies, say, session_start};

/// Runs a tap to its end. Returns only when the server cannot be started or watched.
pub(crate) fn run(global: &Global, run: Run) -> Result<u8, Failure> {
    run_and(global, run, None, |_| {})
}

/// The same, with another command than that which is started to be written down, and with something to do when all was
/// recorded: it gets the session's id.
pub(crate) fn run_and(
    global: &Global,
    run: Run,
    shown: Option<Vec<String>>,
    after: impl FnOnce(&str),
) -> Result<u8, Failure> {
    let mut command = run.command;
    let program = command.remove(0);
    let arguments = command;
    if run.http.http.is_some() {
        let asked = &run.debugging;
        if !(asked.break_at.is_empty() && asked.fault.is_empty() && asked.fault_file.is_empty()) {
            return Err(Failure::new("nothing can be held or made to fail with `run --http` yet")
                .hint("put `mcp-tap proxy --break FILTER URL` in front of the address that it serves"));
        }
        return bridge_http(global, &run.http, run.name, program, arguments, true);
    }
    if std::env::var_os("MCP_TAP_OFF").is_some_and(|value| value == "1") {
        let error = replace_with(&program, &arguments);
        say(&error.to_string());
        return Ok(exit_code(&error));
    }
    let rules = rules(&run.debugging, "mcp-tap run")?;
    // Nothing that can wait is done before the server is started, which is why its database is opened behind it.
    give_back_large_blocks();
    let mask = block_signals();
    let signals = Signals::take_over();
    let clock = Clock::start();
    let spawned = ServerProcess::spawn(&program, &arguments, mask);
    let name = run.name.unwrap_or_else(|| name_of(&program, &arguments));
    let command = shown.unwrap_or_else(|| lossy(&[&[program], arguments.as_slice()].concat()));
    let mut start = session_start(clock, Transport::Stdio, name, command);
    start.server_pid = spawned.as_ref().ok().map(ServerProcess::id);
    tracing::info!(session = start.uuid, name = start.name, server_pid = start.server_pid, "server started");
    let copies = copies(clock);
    let uuid = start.uuid.clone();
    let about = About {
        name: start.name.clone(),
        uuid: start.uuid.clone(),
        server_pid: start.server_pid,
        command: start.command.clone(),
        database: global.database().or_else(|| default_database().ok()),
    };
    let recording = Recording::begin(global.database(), start, copies.clone());
    let server = match spawned {
        Ok(server) => server,
        Err(error) => {
            say(&error.to_string());
            recording.finish(&copies, clock, Some(EndReason::NotStarted(error.to_string())));
            return Ok(exit_code(&error));
        }
    };
    let doors = Doors::new();
    let control = Control::new(about, options(&run.debugging), clock, copies.clone(), Ways::Pipes(doors.clone()));
    control.set_lifeline(server.lifeline());
    for (rule, options) in rules {
        control.begin_with(rule, options);
    }
    let own = control.clone();
    let passing_on = signals.pass_on_to_after(&server, move |number| own.signalled(number));
    if !run.debugging.no_control {
        begin_to_listen(&control);
    }
    let ending = relay(server, clock, &copies, &doors);
    tracing::info!(?ending, lost_bytes = copies.lost_bytes(), "server ended and is delivered");
    control.finish();
    let reason = match ending {
        Ok(Ending::Exited(code)) => Some(EndReason::Exited(code)),
        Ok(Ending::Killed(number)) => Some(EndReason::Killed(number)),
        Err(_) => None,
    };
    recording.finish(&copies, clock, reason);
    after(&uuid);
    if let Ok(passing_on) = passing_on {
        passing_on.stop();
    }
    match ending {
        Ok(ending) => end_like(ending),
        Err(error) => Err(Failure::new(format!("cannot relay: {error}"))),
    }
}

fn exit_code(error: &tap_transport::SpawnError) -> u8 {
    u8::try_from(error.exit_code()).unwrap_or(COULD_NOT)
}

/// What is to be held, and what is to fail, from the beginning.
pub(super) fn rules(debugging: &Debugging, by: &str) -> Result<Vec<(Rule, RuleOptions)>, Failure> {
    let context = context();
    let options = |kind| RuleOptions { kind, stays: true, whole_stream: false, by: by.into(), temporary: false };
    let action = debugging.action.as_deref().map(|text| read_action(text).map_err(|error| told(text, &error)));
    let action = action.transpose()?.unwrap_or(Action::Hold);
    let mut rules = Vec::new();
    for text in &debugging.break_at {
        if let Some(filter) = read(std::slice::from_ref(text))? {
            let rule = Rule { filter, when: When::default(), action: action.clone(), text: text.clone() };
            rules.push((rule, options(RuleKind::Breakpoint)));
        }
    }
    for text in &debugging.fault {
        let rule = read_fault(text, &context).map_err(|error| told(text, &error))?;
        rules.push((rule, options(RuleKind::Fault)));
    }
    for path in &debugging.fault_file {
        let text = std::fs::read_to_string(path)
            .map_err(|error| Failure::new(format!("cannot read {}: {error}", path.display())))?;
        let read = read_faults(&text, &context).map_err(|(line, text, error)| {
            let mut failure = told(&text, &error);
            failure.message = format!("{}:{line}: {}", path.display(), failure.message);
            failure
        })?;
        rules.extend(read.into_iter().map(|rule| (rule, options(RuleKind::Fault))));
    }
    Ok(rules)
}

pub(super) fn options(debugging: &Debugging) -> tap_control::Options {
    // Nobody else knows it, so that no id of theirs is one of ours.
    let secret = crate::reference::new_uuid().chars().filter(|c| *c != '-').take(12).collect();
    tap_control::Options {
        hold_limit_ns: debugging.hold_timeout.0,
        whole_stream: debugging.hold == Hold::Stream,
        seed: debugging.seed,
        secret,
        ..tap_control::Options::default()
    }
}
