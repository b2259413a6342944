//! Tests of HTTP: captured traffic, sessions of both eras, rules beyond their examples, hostile input.

mod captures;
mod hostile;
mod modern;
mod reader;
mod sessions;

use crate::script::http::play;

/// A script against the sessions that it must give, a line each: number, what holds it together, who talks.
#[track_caller]
fn check_sessions(script: &str, expected: &[&str]) {
    let player = play(script);
    let sessions = player.follower.sessions().map(|(number, session)| {
        let state = session.state();
        format!("{}: {:?}, {} in flight, {} ok", number.0, session.kind, state.n_in_flight(), state.totals.n_ok)
    });
    assert_eq!(sessions.collect::<Vec<_>>(), expected, "script: {script}");
}
