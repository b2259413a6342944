//! Calls with a large text, which the answer holds again: how many MiB a second.

use serde::Serialize;

use super::flood::{Pace, flood};
use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::message::Text;
use crate::session::{Session, SessionCost};
use crate::statistics::rounded;
use crate::tally::Tally;

#[derive(Serialize)]
pub(super) struct Report {
    calls: usize,
    message_bytes: usize,
    window: usize,
    seconds: f64,
    /// The text goes to the server and comes back; this counts it once.
    echoed_mib_per_s: f64,
    #[serde(flatten)]
    tally: Tally,
    #[serde(flatten)]
    cost: SessionCost,
}

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let mut session = Session::start(arguments, arguments.timeout)?;
    let (n_calls, n_bytes, window) = (arguments.large, arguments.large_bytes, arguments.large_window);
    let flood = flood(&mut session, &Text::large(n_bytes), n_calls, Pace::window(window))?;
    let seconds = flood.elapsed.as_secs_f64();
    let echoed_mib = (n_calls * n_bytes) as f64 / f64::from(1 << 20);
    Ok(Report {
        calls: n_calls,
        message_bytes: n_bytes,
        window,
        seconds: (seconds * 1e4).round() / 1e4,
        echoed_mib_per_s: rounded(echoed_mib / seconds),
        tally: flood.tally,
        cost: session.finish()?,
    })
}
