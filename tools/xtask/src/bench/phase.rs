//! What the load client is asked to do, and what is worked out from its report.

use serde::Serialize;
use serde_json::{Value, json};

use super::subject::Subject;
use super::{Arguments, number_at};

/// One thing that the load client is asked to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Phase {
    Latency,
    Burst,
    Large,
    Startup,
    List,
    Sustained,
}

/// The handshake's messages: `initialize` and `tools/list`, each with its answer, and one notification.
const HANDSHAKE_MESSAGES: u64 = 5;

impl Phase {
    /// All, the quick ones first.
    pub(super) const ALL: [Self; 6] =
        [Self::Latency, Self::Burst, Self::Large, Self::Startup, Self::List, Self::Sustained];

    /// The load client's name for it, and its key in the report.
    pub(super) fn client_name(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            // A list is of what a burst left, only a longer one.
            Self::Burst | Self::List => "pipeline",
            Self::Large => "large",
            Self::Startup => "startup",
            Self::Sustained => "sustained",
        }
    }

    /// The load client's options.
    pub(super) fn client_arguments(self, arguments: &Arguments) -> Vec<String> {
        let mut words = vec!["--phases".to_owned(), self.client_name().to_owned()];
        match self {
            // On one CPU: with two, most of a round trip is the time to wake the other one, and that is longest when
            // nothing else keeps it awake. A tap that burns a CPU would look quicker than none.
            Self::Latency => words.extend(["--calls", "20000", "--one-cpu"].map(str::to_owned)),
            Self::Burst => words.extend(["--pipelined", "100000"].map(str::to_owned)),
            Self::Large => words.extend(["--large-bytes", "1048576"].map(str::to_owned)),
            Self::List => words.extend(["--pipelined", "500000"].map(str::to_owned)),
            Self::Startup => {}
            Self::Sustained => {
                words.extend(["--rate".to_owned(), arguments.rate.to_string()]);
                words.extend(["--seconds".to_owned(), arguments.seconds.to_string()]);
            }
        }
        words
    }

    /// Who is measured in it.
    pub(super) fn subjects(self) -> &'static [Subject] {
        match self {
            Self::Latency | Self::Burst => &Subject::SMALL,
            Self::Large | Self::Startup | Self::List | Self::Sustained => &Subject::ALL,
        }
    }

    /// How often it is run in a round: what takes a tenth of a second can be repeated, and needs it most.
    pub(super) fn n_repeats(self) -> usize {
        match self {
            Self::Burst => 3,
            Self::Latency | Self::Large | Self::Startup | Self::List | Self::Sustained => 1,
        }
    }

    /// How many bytes are written and deleted before each run, so that no subject is the one that gets memory for its
    /// files first. Without it the first to write 400 MiB was half as quick as the same program a moment later
    /// (measured: 190 and 390 MiB/s), since a virtual machine has to ask its host for pages that nobody used yet.
    pub(super) fn warm_up_bytes(self) -> usize {
        match self {
            Self::Latency | Self::Startup => 0,
            Self::Burst => 128 << 20,
            // What the tap may write: every message in the log of the database, and in the database.
            Self::Large | Self::List | Self::Sustained => 1 << 30,
        }
    }

    /// Adds what follows from other fields: `messages_exchanged`, and for [`Sustained`](Self::Sustained) `growth` and
    /// `rate_reached`, both as shares of 1.
    pub(super) fn complete(self, report: &mut Value) {
        let share = |report: &Value, part: &str, whole: &str| {
            let (part, whole) = (number_at(report, part)?, number_at(report, whole)?);
            (whole > 0.0).then_some(part / whole)
        };
        match self {
            // Each start is a session of its own, and ends after one answer.
            Self::Startup => return,
            Self::Latency | Self::Burst | Self::Large | Self::List => {}
            Self::Sustained => {
                report["growth"] = json!(share(report, "/last_quarter_max_kib", "/first_quarter_max_kib"));
                report["rate_reached"] = json!(share(report, "/calls_per_s", "/rate_asked_calls_per_s"));
            }
        }
        let n_warm_up = report["warm_up_calls"].as_u64().unwrap_or(0);
        let n_calls = report["calls"].as_u64().map(|n_calls| n_calls + n_warm_up);
        report["messages_exchanged"] = json!(n_calls.map(|n_calls| 2 * n_calls + HANDSHAKE_MESSAGES));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_messages_of_a_run_are_two_a_call_and_the_handshake() {
        for (phase, mut report, expected) in [
            (Phase::Burst, json!({"calls": 100_000}), 200_005),
            (Phase::Latency, json!({"calls": 20_000, "warm_up_calls": 500}), 41_005),
        ] {
            phase.complete(&mut report);
            assert_eq!(report["messages_exchanged"], expected);
        }
    }

    #[test]
    fn growth_is_the_last_quarter_beside_the_first() {
        let mut report = json!({
            "calls": 10, "first_quarter_max_kib": 1000, "last_quarter_max_kib": 1500,
            "calls_per_s": 99.0, "rate_asked_calls_per_s": 100,
        });
        Phase::Sustained.complete(&mut report);
        assert_eq!((&report["growth"], &report["rate_reached"]), (&json!(1.5), &json!(0.99)));
        let mut without_tap = json!({"calls": 10, "first_quarter_max_kib": 0, "last_quarter_max_kib": 0});
        Phase::Sustained.complete(&mut without_tap);
        assert_eq!(without_tap["growth"], Value::Null);
    }
}
