//! Small calls, one after the other: how long a round trip takes.

use std::num::NonZeroU32;
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::message::Text;
use crate::session::{Session, SessionCost};
use crate::statistics::{Sorted, microseconds};
use crate::tally::{Answers, Tally};

#[derive(Serialize)]
pub(super) struct Report {
    calls: usize,
    /// Made before, and not counted.
    warm_up_calls: usize,
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    max_us: f64,
    mean_us: f64,
    #[serde(flatten)]
    tally: Tally,
    #[serde(flatten)]
    cost: SessionCost,
}

/// Calls that are made first and not counted: caches, page faults, lazy allocations.
const MOST_WARM_UP_CALLS: usize = 500;

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let mut session = Session::start(arguments, arguments.timeout)?;
    let text = Text::small("latency");
    let n_warm_up = (arguments.calls / 10).min(MOST_WARM_UP_CALLS);
    let (mut call, mut durations) = (Vec::new(), Vec::with_capacity(arguments.calls));
    for _ in 0..n_warm_up {
        let id = session.take_id();
        text.write_call(&mut call, id);
        session.send(&call)?;
        session.receive_answer(&id.to_string())?;
    }
    let first_id = session.take_ids(arguments.calls);
    let mut answers = Answers::new(&text, first_id, arguments.calls);
    let began = Instant::now();
    for id in first_id..first_id + arguments.calls as u64 {
        if let Some(a_second) = NonZeroU32::new(arguments.pace) {
            let due = Duration::from_secs_f64((id - first_id) as f64 / f64::from(a_second.get()));
            thread::sleep(due.saturating_sub(began.elapsed()));
        }
        text.write_call(&mut call, id);
        let sent_at = Instant::now();
        session.send(&call)?;
        session.receive_answer(&id.to_string())?;
        durations.push(sent_at.elapsed());
        answers.take(&session.line);
    }
    let durations = Sorted::new(durations);
    let mut tally = answers.into_tally();
    tally.extra_lines += session.n_extra_lines();
    Ok(Report {
        calls: arguments.calls,
        warm_up_calls: n_warm_up,
        p50_us: microseconds(durations.percentile(0.50)),
        p90_us: microseconds(durations.percentile(0.90)),
        p99_us: microseconds(durations.percentile(0.99)),
        max_us: microseconds(durations.percentile(1.0)),
        mean_us: microseconds(durations.mean()),
        tally,
        cost: session.finish()?,
    })
}
