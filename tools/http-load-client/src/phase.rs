//! What can be measured: one file a phase.

mod calls;
mod first_event;
mod streams;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;
use tap_load_client::statistics::{Sorted, microseconds};

use crate::arguments::Arguments;
use crate::error::PhaseError;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// Calls over kept connections, each sent when the one before it on the connection is answered
    Calls,
    /// Event streams one after the other: how long until the first event, when the next does not exist yet
    FirstEvent,
    /// Many event streams for long: is an event lost or late?
    Streams,
}

impl Phase {
    /// Runs the phase and gives back its report.
    pub(crate) async fn run(self, arguments: &Arguments) -> Result<Value, PhaseError> {
        match self {
            Self::Calls => calls::measure(arguments).await.map(|report| to_json(&report)),
            Self::FirstEvent => first_event::measure(arguments).await.map(|report| to_json(&report)),
            Self::Streams => streams::measure(arguments).await.map(|report| to_json(&report)),
        }
    }
}

/// How long something took.
#[derive(Debug, Serialize)]
struct Times {
    p50_us: f64,
    p90_us: f64,
    p99_us: f64,
    max_us: f64,
    mean_us: f64,
}

impl Times {
    fn new(durations: Vec<std::time::Duration>) -> Self {
        let sorted = Sorted::new(durations);
        Self {
            p50_us: microseconds(sorted.percentile(0.50)),
            p90_us: microseconds(sorted.percentile(0.90)),
            p99_us: microseconds(sorted.percentile(0.99)),
            max_us: microseconds(sorted.percentile(1.0)),
            mean_us: microseconds(sorted.mean()),
        }
    }
}

/// Null for what is no JSON, which none of the reports is.
fn to_json(report: &impl Serialize) -> Value {
    serde_json::to_value(report).unwrap_or_default()
}
