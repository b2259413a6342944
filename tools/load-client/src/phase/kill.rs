//! Calls, then SIGKILL to the tap: what its recording holds is for the caller to look at.

use std::time::Duration;

use serde::Serialize;

use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::message::Text;
use crate::processes::still_running;
use crate::session::Session;

#[derive(Serialize)]
pub(super) struct Report {
    calls_answered: usize,
    /// The handshake's five, and two a call.
    messages_exchanged: usize,
    /// Of the tap and the server, two seconds after the kill.
    processes_left: usize,
}

const HANDSHAKE_MESSAGES: usize = 5;
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let mut session = Session::start(arguments, arguments.timeout)?;
    let text = Text::small("kill");
    let mut call = Vec::new();
    for _ in 0..arguments.kill_calls {
        let id = session.take_id();
        text.write_call(&mut call, id);
        session.send(&call)?;
        session.receive_answer(&id.to_string())?;
    }
    let pids = session.family().all();
    session.kill_root()?;
    session.close_stdin();
    Ok(Report {
        calls_answered: arguments.kill_calls,
        messages_exchanged: 2 * arguments.kill_calls + HANDSHAKE_MESSAGES,
        processes_left: still_running(&pids, PATIENCE),
    })
}
