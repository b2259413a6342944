//! Small calls at a given rate, for long: does the tap keep up, and does it grow?

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde::Serialize;

use super::flood::{Pace, flood};
use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::message::Text;
use crate::processes::{Family, TapUsage};
use crate::session::{Session, SessionCost};
use crate::statistics::{first_and_last_quarter, rounded};
use crate::tally::Tally;

#[derive(Serialize)]
pub(super) struct Report {
    calls: usize,
    rate_asked_calls_per_s: usize,
    seconds_asked: usize,
    /// Until the last answer; more than asked when the rate was not reached.
    seconds: f64,
    calls_per_s: f64,
    /// A call is two messages.
    messages_per_s: f64,
    /// How many calls were due but could not be sent, at most.
    most_behind_calls: usize,
    /// The highest resident memory of the tap in the first quarter of the samples, all its processes together.
    first_quarter_max_kib: u64,
    last_quarter_max_kib: u64,
    main_first_quarter_max_kib: u64,
    main_last_quarter_max_kib: u64,
    /// One sample a second, all the tap's processes together.
    resident_kib: Vec<u64>,
    #[serde(flatten)]
    tally: Tally,
    #[serde(flatten)]
    cost: SessionCost,
}

const SAMPLE_EVERY: Duration = Duration::from_secs(1);

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let (rate, seconds) = (arguments.rate, arguments.seconds);
    // Who falls behind still sends every call, and gets the time for it.
    let limit = arguments.timeout + Duration::from_secs(2 * seconds as u64);
    let mut session = Session::start(arguments, limit)?;
    let n_calls = rate * seconds;
    let family = session.family().clone();
    let (outcome, samples) = thread::scope(|scope| {
        let (over, is_over) = mpsc::channel::<()>();
        let sampling = scope.spawn(move || sample(&family, &is_over));
        let outcome = flood(&mut session, &Text::small("sustained"), n_calls, Pace::PerSecond(rate));
        drop(over);
        (outcome, sampling.join().unwrap_or_default())
    });
    let flood = outcome?;
    let elapsed = flood.elapsed.as_secs_f64();
    let resident_kib: Vec<u64> = samples.iter().map(|usage| usage.all.resident_kib).collect();
    let main_kib: Vec<u64> = samples.iter().map(|usage| usage.main.resident_kib).collect();
    let (first_quarter_max_kib, last_quarter_max_kib) = first_and_last_quarter(&resident_kib).unwrap_or_default();
    let (main_first_quarter_max_kib, main_last_quarter_max_kib) = first_and_last_quarter(&main_kib).unwrap_or_default();
    Ok(Report {
        calls: n_calls,
        rate_asked_calls_per_s: rate,
        seconds_asked: seconds,
        seconds: rounded(elapsed),
        calls_per_s: rounded(n_calls as f64 / elapsed),
        messages_per_s: rounded(2.0 * n_calls as f64 / elapsed),
        most_behind_calls: flood.most_behind,
        first_quarter_max_kib,
        last_quarter_max_kib,
        main_first_quarter_max_kib,
        main_last_quarter_max_kib,
        resident_kib,
        tally: flood.tally,
        cost: session.finish()?,
    })
}

/// Looks once a second until `is_over` closes.
fn sample(family: &Family, is_over: &mpsc::Receiver<()>) -> Vec<TapUsage> {
    let mut samples = Vec::new();
    while is_over.recv_timeout(SAMPLE_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
        samples.push(family.tap_usage());
    }
    samples
}
