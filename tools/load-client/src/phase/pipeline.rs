//! Small calls sent without waiting for answers: how many a second.

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
    window: usize,
    seconds: f64,
    calls_per_s: f64,
    #[serde(flatten)]
    tally: Tally,
    #[serde(flatten)]
    cost: SessionCost,
}

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let mut session = Session::start(arguments, arguments.timeout)?;
    let (n_calls, window) = (arguments.pipelined, arguments.window);
    let flood = flood(&mut session, &Text::small("pipeline"), n_calls, Pace::window(window))?;
    let seconds = flood.elapsed.as_secs_f64();
    Ok(Report {
        calls: n_calls,
        window,
        seconds: (seconds * 1e4).round() / 1e4,
        calls_per_s: rounded(n_calls as f64 / seconds),
        tally: flood.tally,
        cost: session.finish()?,
    })
}
