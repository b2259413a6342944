//! What is read from the reports, and the targets.

use serde::Serialize;

use super::phase::Phase;
use super::spread::{Spread, Unit, Verdict};
use super::subject::{Run, Subject};
use super::{What, number_at, table};

/// One line of the table.
#[derive(Debug)]
pub(super) struct Figure {
    pub(super) what: What,
    pub(super) phase: Phase,
    pub(super) name: &'static str,
    pub(super) unit: Unit,
    /// Where it is in the report, a JSON Pointer.
    pub(super) pointer: &'static str,
    /// Whom the tap's column is about.
    pub(super) of: Subject,
    pub(super) target: Target,
}

/// What is asked of the tap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Target {
    /// At most so many times the copier's figure; of the medians.
    AtMostTimesCopier(f64),
    /// At least so many times the copier's figure; of the medians.
    AtLeastTimesCopier(f64),
    /// Less than so much more than without a tap; of the medians.
    LessThanAbove(f64),
    /// Less than so much more than with nothing armed; of the medians.
    LessThanAboveTap(f64),
    /// Less than this, in each run; in the figure's unit.
    LessThan(f64),
    /// At most this; of the medians.
    AtMost(f64),
    /// At least this; of the medians.
    AtLeast(f64),
    /// In each run the number that is at this other place of the report.
    Equals(&'static str),
    /// Nothing: shown because it explains the others.
    Nothing,
}

/// A megabyte of growth that nobody would call growing must not miss the target, so: a tenth.
const MOST_GROWTH: f64 = 1.10;

/// The rate that counts as kept: the last answers are on their way when the clock stops.
const LEAST_RATE: f64 = 0.99;

/// The table.
pub(super) const FIGURES: &[Figure] = &[
    figure(
        What::Latency,
        Phase::Latency,
        "round trip, p50",
        Unit::Microseconds,
        "/p50_us",
        Target::AtMostTimesCopier(1.15),
    ),
    figure(
        What::Latency,
        Phase::Latency,
        "round trip, p99",
        Unit::Microseconds,
        "/p99_us",
        Target::AtMostTimesCopier(1.3),
    ),
    // A round trip is two messages, of which each may cost 5 µs.
    armed(
        What::Latency,
        Phase::Latency,
        "round trip, p50, a breakpoint that never matches",
        Unit::Microseconds,
        "/p50_us",
        Target::LessThanAboveTap(10.0),
    ),
    figure(What::Latency, Phase::Latency, "answers unaltered", Unit::Count, "/exact", Target::Equals("/calls")),
    figure(What::Burst, Phase::Burst, "burst", Unit::CallsPerSecond, "/calls_per_s", Target::AtLeastTimesCopier(0.9)),
    figure(What::Burst, Phase::Burst, "burst, answers unaltered", Unit::Count, "/exact", Target::Equals("/calls")),
    figure(
        What::Burst,
        Phase::Burst,
        "burst, recorded",
        Unit::Count,
        "/messages_recorded",
        Target::Equals("/messages_exchanged"),
    ),
    armed(
        What::Burst,
        Phase::Burst,
        "burst, a breakpoint that never matches",
        Unit::CallsPerSecond,
        "/calls_per_s",
        Target::Nothing,
    ),
    armed(What::Burst, Phase::Burst, "the same, answers unaltered", Unit::Count, "/exact", Target::Equals("/calls")),
    figure(What::Burst, Phase::Burst, "burst, end of input to exit", Unit::Milliseconds, "/exit_ms", Target::Nothing),
    figure(
        What::Large,
        Phase::Large,
        "1 MiB messages",
        Unit::MebibytesPerSecond,
        "/echoed_mib_per_s",
        Target::AtLeastTimesCopier(0.8),
    ),
    figure(What::Large, Phase::Large, "1 MiB messages, unaltered", Unit::Count, "/exact", Target::Equals("/calls")),
    figure(
        What::Large,
        Phase::Large,
        "1 MiB messages, recorded",
        Unit::Count,
        "/messages_recorded",
        Target::Equals("/messages_exchanged"),
    ),
    figure(
        What::Large,
        Phase::Large,
        "1 MiB messages, peak memory",
        Unit::Mebibytes,
        "/tap_peak_rss_kib",
        Target::Nothing,
    ),
    figure(
        What::Memory,
        Phase::Latency,
        "peak memory, small traffic",
        Unit::Mebibytes,
        "/tap_peak_rss_kib",
        Target::LessThan(32.0),
    ),
    figure(
        What::Memory,
        Phase::Latency,
        "of it, the main process",
        Unit::Mebibytes,
        "/tap_main_peak_rss_kib",
        Target::Nothing,
    ),
    figure(
        What::Memory,
        Phase::Burst,
        "peak memory, burst",
        Unit::Mebibytes,
        "/tap_peak_rss_kib",
        Target::LessThan(96.0),
    ),
    figure(
        What::Memory,
        Phase::Burst,
        "of it, the main process",
        Unit::Mebibytes,
        "/tap_main_peak_rss_kib",
        Target::Nothing,
    ),
    figure(
        What::Startup,
        Phase::Startup,
        "start to `initialize` answered",
        Unit::Milliseconds,
        "/initialize_ms/median",
        Target::LessThanAbove(10.0),
    ),
    figure(
        What::Startup,
        Phase::Startup,
        "the same, first start",
        Unit::Milliseconds,
        "/initialize_ms/first",
        Target::Nothing,
    ),
    figure(
        What::Startup,
        Phase::Startup,
        "start, `initialize`, exit",
        Unit::Milliseconds,
        "/round_ms/median",
        Target::Nothing,
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, calls, 50 at the start",
        Unit::Milliseconds,
        "/list_ms/calls/first",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, calls, 50 at the middle",
        Unit::Milliseconds,
        "/list_ms/calls/middle",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, calls, 50 at the end",
        Unit::Milliseconds,
        "/list_ms/calls/last",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, frames, 50 at the start",
        Unit::Milliseconds,
        "/list_ms/frames/first",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, frames, 50 at the middle",
        Unit::Milliseconds,
        "/list_ms/frames/middle",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, frames, 50 at the end",
        Unit::Milliseconds,
        "/list_ms/frames/last",
        Target::LessThan(50.0),
    ),
    figure(
        What::List,
        Phase::List,
        "a million messages, first look",
        Unit::Milliseconds,
        "/first_look_ms",
        Target::Nothing,
    ),
    figure(What::Sustained, Phase::Sustained, "sustained", Unit::MessagesPerSecond, "/messages_per_s", Target::Nothing),
    figure(
        What::Sustained,
        Phase::Sustained,
        "sustained, of the rate asked",
        Unit::Share,
        "/rate_reached",
        Target::AtLeast(LEAST_RATE),
    ),
    figure(
        What::Sustained,
        Phase::Sustained,
        "sustained, last quarter's memory by the first's",
        Unit::Share,
        "/growth",
        Target::AtMost(MOST_GROWTH),
    ),
    figure(
        What::Sustained,
        Phase::Sustained,
        "sustained, last quarter's memory",
        Unit::Mebibytes,
        "/last_quarter_max_kib",
        Target::Nothing,
    ),
    figure(
        What::Sustained,
        Phase::Sustained,
        "sustained, recorded",
        Unit::Count,
        "/messages_recorded",
        Target::Equals("/messages_exchanged"),
    ),
];

/// A row of [`FIGURES`].
const fn figure(
    what: What,
    phase: Phase,
    name: &'static str,
    unit: Unit,
    pointer: &'static str,
    target: Target,
) -> Figure {
    Figure { what, phase, name, unit, pointer, of: Subject::Tap, target }
}

/// The same of the tap with a breakpoint that never matches.
const fn armed(
    what: What,
    phase: Phase,
    name: &'static str,
    unit: Unit,
    pointer: &'static str,
    target: Target,
) -> Figure {
    Figure { what, phase, name, unit, pointer, of: Subject::Armed, target }
}

/// What came out of a figure.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) phase: Phase,
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) none: Option<Spread>,
    pub(super) copier: Option<Spread>,
    pub(super) tap: Option<Spread>,
    /// The tap's median by the copier's, of speeds: the copier's memory is no measure for anybody's.
    pub(super) ratio: Option<f64>,
    pub(super) target: String,
    pub(super) verdict: Verdict,
}

/// The head of the table.
pub(super) const HEAD: [&str; 7] = ["figure", "none", "copier", "tap", "tap/copier", "target", ""];

impl Outcome {
    /// A row of the table.
    pub(super) fn row(&self) -> [String; HEAD.len()] {
        [
            table::name(self.name, self.unit),
            table::cell(self.none),
            table::cell(self.copier),
            table::cell(self.tap),
            self.ratio.map(|ratio| format!("{ratio:.3}")).unwrap_or_default(),
            self.target.clone(),
            self.verdict.word().to_owned(),
        ]
    }
}

impl Figure {
    /// Reads the figure from the runs of its phase.
    pub(super) fn outcome(&self, runs: &[Run]) -> Outcome {
        let [none, copier, tap] = [Subject::None, Subject::Copier, self.of].map(|subject| self.spread(runs, subject));
        let ratio = match (tap, copier) {
            (Some(tap), Some(copier)) if self.unit.is_speed() && copier.median > 0.0 => {
                Some(tap.median / copier.median)
            }
            _ => None,
        };
        Outcome {
            phase: self.phase,
            name: self.name,
            unit: self.unit.name(),
            none,
            copier,
            tap,
            ratio,
            target: self.target_text(runs),
            verdict: self.verdict(runs, none, tap, ratio),
        }
    }

    fn runs_of<'a>(&self, runs: &'a [Run], subject: Subject) -> impl Iterator<Item = &'a Run> {
        let phase = self.phase;
        runs.iter().filter(move |run| run.phase == phase && run.subject == subject)
    }

    fn spread(&self, runs: &[Run], subject: Subject) -> Option<Spread> {
        let numbers = self.runs_of(runs, subject).filter_map(|run| number_at(&run.report, self.pointer));
        Spread::new(numbers.map(|number| self.unit.shown(number)).collect())
    }

    fn verdict(&self, runs: &[Run], none: Option<Spread>, tap: Option<Spread>, ratio: Option<f64>) -> Verdict {
        let all_runs_have_it = self.runs_of(runs, self.of).all(|run| number_at(&run.report, self.pointer).is_some());
        let is_met = match self.target {
            Target::Nothing => return Verdict::None,
            Target::AtMostTimesCopier(limit) => ratio.map(|ratio| ratio <= limit),
            Target::AtLeastTimesCopier(limit) => ratio.map(|ratio| limit <= ratio),
            Target::LessThanAbove(limit) => tap.zip(none).map(|(tap, none)| tap.median - none.median < limit),
            Target::LessThanAboveTap(limit) => {
                let plain = self.spread(runs, Subject::Tap);
                tap.zip(plain).map(|(tap, plain)| tap.median - plain.median < limit)
            }
            Target::LessThan(limit) => tap.map(|tap| tap.max < limit),
            Target::AtMost(limit) => tap.map(|tap| tap.median <= limit),
            Target::AtLeast(limit) => tap.map(|tap| limit <= tap.median),
            Target::Equals(other) => self
                .runs_of(runs, self.of)
                .map(|run| Some(number_at(&run.report, self.pointer)? == number_at(&run.report, other)?))
                .reduce(|first, second| Some(first? && second?))
                .flatten(),
        };
        match is_met {
            // A run without figures is no run that met a target.
            Some(true) if all_runs_have_it => Verdict::Met,
            Some(false) => Verdict::Missed,
            Some(true) | None => Verdict::Unknown,
        }
    }

    fn target_text(&self, runs: &[Run]) -> String {
        match self.target {
            Target::AtMostTimesCopier(limit) => format!("≤ {limit} × copier"),
            Target::AtLeastTimesCopier(limit) => format!("≥ {limit} × copier"),
            Target::LessThanAbove(limit) => format!("< none + {limit}"),
            Target::LessThanAboveTap(limit) => format!("< tap + {limit}"),
            Target::LessThan(limit) => format!("< {limit}"),
            Target::AtMost(limit) => format!("≤ {limit}"),
            Target::AtLeast(limit) => format!("≥ {limit}"),
            Target::Equals(other) => {
                let number = self.runs_of(runs, self.of).find_map(|run| number_at(&run.report, other));
                number.map_or_else(|| "all".to_owned(), |number| format!("= {number}"))
            }
            Target::Nothing => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// Runs of the burst with these reports.
    fn runs(reports: &[(Subject, Value)]) -> Vec<Run> {
        let run = |(subject, report): &(Subject, Value)| Run {
            round: 0,
            phase: Phase::Burst,
            subject: *subject,
            report: report.clone(),
        };
        reports.iter().map(run).collect()
    }

    #[track_caller]
    fn check(target: Target, reports: &[(Subject, Value)], expected: Verdict) {
        let figure = figure(What::Burst, Phase::Burst, "x", Unit::Microseconds, "/x", target);
        assert_eq!(figure.outcome(&runs(reports)).verdict, expected, "{target:?} of {reports:?}");
    }

    fn x(subject: Subject, number: f64) -> (Subject, Value) {
        (subject, json!({"x": number, "y": 10.0}))
    }

    #[test]
    fn targets_are_met_at_their_border_and_missed_past_it() {
        use Subject::{Copier, None, Tap};
        for (target, border, past) in [
            (Target::AtMostTimesCopier(1.5), 150.0, 151.0),
            (Target::AtLeastTimesCopier(0.5), 50.0, 49.0),
            (Target::LessThanAbove(10.0), 19.0, 20.0),
            (Target::LessThan(30.0), 29.0, 30.0),
            (Target::AtMost(30.0), 30.0, 31.0),
            (Target::AtLeast(30.0), 30.0, 29.0),
            (Target::Equals("/y"), 10.0, 11.0),
        ] {
            let others = [x(None, 10.0), x(Copier, 100.0)];
            check(target, &[&others[..], &[x(Tap, border)]].concat(), Verdict::Met);
            check(target, &[&others[..], &[x(Tap, past)]].concat(), Verdict::Missed);
            check(target, &others, Verdict::Unknown);
        }
        check(Target::Nothing, &[], Verdict::None);
    }

    #[test]
    fn a_breakpoint_that_never_matches_is_held_against_the_tap_without_one() {
        use Subject::{Armed, None, Tap};
        let target = Target::LessThanAboveTap(10.0);
        let figure = armed(What::Burst, Phase::Burst, "x", Unit::Microseconds, "/x", target);
        for (number, expected) in [(29.0, Verdict::Met), (30.0, Verdict::Missed)] {
            let outcome = figure.outcome(&runs(&[x(None, 1.0), x(Tap, 20.0), x(Armed, number)]));
            assert_eq!((outcome.verdict, outcome.tap.map(|tap| tap.median)), (expected, Some(number)));
        }
        assert_eq!(figure.outcome(&runs(&[x(None, 1.0), x(Armed, 5.0)])).verdict, Verdict::Unknown);
    }

    #[test]
    fn ratios_are_of_medians_but_every_message_of_every_run_must_be_recorded() {
        use Subject::{Copier, Tap};
        let copier = [x(Copier, 1.0), x(Copier, 10.0), x(Copier, 11.0)];
        let tap = [x(Tap, 10.0), x(Tap, 10.0), x(Tap, 999.0)];
        check(Target::AtMostTimesCopier(1.0), &[&copier[..], &tap].concat(), Verdict::Met);
        check(Target::Equals("/y"), &tap, Verdict::Missed);
        check(Target::LessThan(500.0), &tap, Verdict::Missed);
    }

    #[test]
    fn a_run_without_figures_meets_nothing() {
        let failed = (Subject::Tap, json!({"error": "killed"}));
        check(Target::LessThan(500.0), &[x(Subject::Tap, 1.0), failed.clone()], Verdict::Unknown);
        check(Target::LessThan(0.5), &[x(Subject::Tap, 1.0), failed], Verdict::Missed);
    }
}
