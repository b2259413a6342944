//! Many starts: how long until `initialize` is answered, and until all is over again.

use std::time::{Duration, Instant};

use serde::Serialize;

use crate::arguments::Arguments;
use crate::error::PhaseError;
use crate::session::Session;
use crate::statistics::{Sorted, milliseconds};

#[derive(Serialize)]
pub(super) struct Report {
    spawns: usize,
    /// From the start of the process to the answer to `initialize`.
    initialize_ms: Times,
    /// Start, `initialize`, end of the input, exit.
    round_ms: Times,
}

#[derive(Serialize)]
struct Times {
    /// The very first start, which may have found nothing in its caches and no database.
    first: f64,
    min: f64,
    median: f64,
    max: f64,
}

impl Times {
    fn new(durations: Vec<Duration>) -> Self {
        let first = milliseconds(durations.first().copied().unwrap_or_default());
        let sorted = Sorted::new(durations);
        Self {
            first,
            min: milliseconds(sorted.percentile(0.0)),
            median: milliseconds(sorted.percentile(0.5)),
            max: milliseconds(sorted.percentile(1.0)),
        }
    }
}

pub(super) fn measure(arguments: &Arguments) -> Result<Report, PhaseError> {
    let (mut initialize, mut round) = (Vec::new(), Vec::new());
    for _ in 0..arguments.spawns {
        let started_at = Instant::now();
        let mut session = Session::spawn(arguments, arguments.timeout)?;
        initialize.push(session.initialize(&arguments.protocol)?);
        let status = session.end()?;
        round.push(started_at.elapsed());
        if !status.success() {
            return Err(PhaseError::Exit { status });
        }
    }
    Ok(Report { spawns: arguments.spawns, initialize_ms: Times::new(initialize), round_ms: Times::new(round) })
}
