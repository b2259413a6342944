//! `mcp-tap run`: a server, a relay and a recorder, put together.

use tap_relay::{Clock, relay};
use tap_store::{EndReason, Transport};
use tap_transport::{Ending, ServerProcess, Signals, block_signals, end_like, give_back_large_blocks, replace_with};

use super::bridge_http::bridge_http;
use crate::arguments::{Global, Run};
use crate::failure::{COULD_NOT, Failure};
use crate::name::name_of;
use crate::paths::lossy;
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
        return bridge_http(global, &run.http, run.name, program, arguments, true);
    }
    if std::env::var_os("MCP_TAP_OFF").is_some_and(|value| value == "1") {
        let error = replace_with(&program, &arguments);
        say(&error.to_string());
        return Ok(exit_code(&error));
    }
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
    let recording = Recording::begin(global.database(), start, copies.clone());
    let server = match spawned {
        Ok(server) => server,
        Err(error) => {
            say(&error.to_string());
            recording.finish(&copies, clock, Some(EndReason::NotStarted(error.to_string())));
            return Ok(exit_code(&error));
        }
    };
    let passing_on = signals.pass_on_to(&server);
    let ending = relay(server, clock, &copies);
    tracing::info!(?ending, lost_bytes = copies.lost_bytes(), "server ended and is delivered");
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
