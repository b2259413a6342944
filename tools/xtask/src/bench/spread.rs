//! Numbers of several runs, their units, and whether they are as they should be.

use serde::Serialize;

/// How the number in the report is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Microseconds,
    Milliseconds,
    CallsPerSecond,
    MessagesPerSecond,
    MebibytesPerSecond,
    /// The report has KiB.
    Mebibytes,
    Count,
    /// A share of 1.
    Share,
}

/// The figures of one subject over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) n_runs: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Verdict {
    Met,
    Missed,
    /// A figure that the target needs is not there.
    Unknown,
    /// No target.
    None,
}

impl Verdict {
    /// The last cell of a row.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "MISSED",
            Self::Unknown => "not known",
            Self::None => "",
        }
    }

    /// Whether the figure is as it should be.
    pub(super) fn is_fine(self) -> bool {
        match self {
            Self::Met | Self::None => true,
            Self::Missed | Self::Unknown => false,
        }
    }
}

impl Spread {
    /// `None` without any number.
    pub(super) fn new(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_unstable_by(f64::total_cmp);
        let n_runs = numbers.len();
        let (&min, &max) = (numbers.first()?, numbers.last()?);
        // Of an even number of runs the mean of the two in the middle.
        let median = f64::midpoint(numbers[(n_runs - 1) / 2], numbers[n_runs / 2]);
        Some(Self { median, min, max, n_runs })
    }
}

impl Unit {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::CallsPerSecond => "calls/s",
            Self::MessagesPerSecond => "messages/s",
            Self::MebibytesPerSecond => "MiB/s",
            Self::Mebibytes => "MiB",
            Self::Count | Self::Share => "",
        }
    }

    pub(super) fn is_speed(self) -> bool {
        match self {
            Self::Microseconds | Self::CallsPerSecond | Self::MessagesPerSecond | Self::MebibytesPerSecond => true,
            Self::Milliseconds | Self::Mebibytes | Self::Count | Self::Share => false,
        }
    }

    pub(super) fn shown(self, number: f64) -> f64 {
        match self {
            Self::Mebibytes => number / 1024.0,
            Self::Microseconds
            | Self::Milliseconds
            | Self::CallsPerSecond
            | Self::MessagesPerSecond
            | Self::MebibytesPerSecond
            | Self::Count
            | Self::Share => number,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_middle_and_both_ends() {
        assert_eq!(Spread::new(Vec::new()), None);
        assert_eq!(Spread::new(vec![3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0, n_runs: 3 }));
        assert_eq!(Spread::new(vec![4.0, 1.0]), Some(Spread { median: 2.5, min: 1.0, max: 4.0, n_runs: 2 }));
    }
}
