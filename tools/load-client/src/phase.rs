//! What can be measured: one file a phase, and the flood that two of them share with `sustained`.

mod flood;
mod kill;
mod large;
mod latency;
mod pipeline;
mod startup;
mod sustained;

use std::fmt;

use clap::ValueEnum;
use serde_json::Value;

use crate::arguments::Arguments;
use crate::error::PhaseError;

/// What can be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Phase {
    /// Small calls, one after the other: how long a round trip takes
    Latency,
    /// Small calls sent without waiting: how many a second
    Pipeline,
    /// Calls with a large text: how many MiB a second
    Large,
    /// Small calls at a given rate, for long: does the tap keep up, and does it grow?
    Sustained,
    /// Many starts: how long until `initialize` is answered, and until all is over again
    Startup,
    /// Calls, then SIGKILL to the tap: what its recording holds is for the caller to look at
    Kill,
}

impl Phase {
    /// Runs the phase and gives back its part of the report.
    pub(crate) fn run(self, arguments: &Arguments) -> Result<Value, PhaseError> {
        match self {
            Self::Latency => latency::measure(arguments).map(|report| to_json(&report)),
            Self::Pipeline => pipeline::measure(arguments).map(|report| to_json(&report)),
            Self::Large => large::measure(arguments).map(|report| to_json(&report)),
            Self::Sustained => sustained::measure(arguments).map(|report| to_json(&report)),
            Self::Startup => startup::measure(arguments).map(|report| to_json(&report)),
            Self::Kill => kill::measure(arguments).map(|report| to_json(&report)),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_possible_value() {
            Some(value) => formatter.write_str(value.get_name()),
            None => Ok(()),
        }
    }
}

/// Our reports are structs of numbers with named fields, which JSON can always hold.
fn to_json(report: &impl serde::Serialize) -> Value {
    serde_json::to_value(report).unwrap_or_default()
}
