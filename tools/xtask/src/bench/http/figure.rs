//! What is read from the reports over HTTP, and the targets.

use serde::Serialize;

use super::super::spread::{Spread, Unit, Verdict};
use super::super::{number_at, table};
use super::phase::Phase;
use super::subject::{Run, Subject};

/// One line of the table.
#[derive(Debug)]
pub(super) struct Figure {
    phase: Phase,
    name: &'static str,
    unit: Unit,
    /// Where it is in the report, a JSON Pointer.
    pointer: &'static str,
    target: Target,
}

/// What is asked of the tap.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Target {
    /// At most so many times the pass-through's figure; of the medians.
    AtMostTimes(f64),
    /// At least so many times the pass-through's figure; of the medians.
    AtLeastTimes(f64),
    /// In each run the number that is at this other place of the report.
    Equals(&'static str),
    /// In each run this number.
    Is(f64),
    /// Nothing: shown because it explains the others.
    Nothing,
}

const LEAST_SPEED: Target = Target::AtLeastTimes(0.7);
const MOST_P99: Target = Target::AtMostTimes(1.3);
const ALL_CALLS: Target = Target::Equals("/calls");
const ALL_MESSAGES: Target = Target::Equals("/messages_exchanged");

/// The table.
pub(super) const FIGURES: &[Figure] = &[
    figure(Phase::One, "1 connection", Unit::CallsPerSecond, "/calls_per_s", LEAST_SPEED),
    figure(Phase::One, "1 connection, p50", Unit::Microseconds, "/p50_us", Target::Nothing),
    figure(Phase::One, "1 connection, p99", Unit::Microseconds, "/p99_us", MOST_P99),
    figure(Phase::One, "1 connection, CPU a call", Unit::Microseconds, "/proxy_cpu_us_per_call", Target::Nothing),
    figure(Phase::One, "1 connection, answers unaltered", Unit::Count, "/exact", ALL_CALLS),
    figure(Phase::One, "1 connection, recorded", Unit::Count, "/messages_recorded", ALL_MESSAGES),
    figure(Phase::Many, "64 connections", Unit::CallsPerSecond, "/calls_per_s", LEAST_SPEED),
    figure(Phase::Many, "64 connections, p50", Unit::Microseconds, "/p50_us", Target::Nothing),
    figure(Phase::Many, "64 connections, p99", Unit::Microseconds, "/p99_us", MOST_P99),
    figure(Phase::Many, "64 connections, CPU a call", Unit::Microseconds, "/proxy_cpu_us_per_call", Target::Nothing),
    figure(Phase::Many, "64 connections, answers unaltered", Unit::Count, "/exact", ALL_CALLS),
    figure(Phase::Many, "64 connections, recorded", Unit::Count, "/messages_recorded", ALL_MESSAGES),
    figure(Phase::Many, "64 connections, peak memory", Unit::Mebibytes, "/proxy_peak_rss_kib", Target::Nothing),
    figure(Phase::Many, "64 connections, SIGTERM to exit", Unit::Milliseconds, "/exit_ms", Target::Nothing),
    figure(
        Phase::ManyEventStreams,
        "64, answers as event streams",
        Unit::CallsPerSecond,
        "/calls_per_s",
        Target::Nothing,
    ),
    figure(Phase::ManyEventStreams, "64, event streams, unaltered", Unit::Count, "/exact", ALL_CALLS),
    figure(Phase::ManyEventStreams, "64, event streams, recorded", Unit::Count, "/messages_recorded", ALL_MESSAGES),
    figure(Phase::Large, "1 MiB messages", Unit::MebibytesPerSecond, "/echoed_mib_per_s", Target::Nothing),
    figure(Phase::Large, "1 MiB messages, unaltered", Unit::Count, "/exact", ALL_CALLS),
    figure(Phase::Large, "1 MiB messages, recorded", Unit::Count, "/messages_recorded", ALL_MESSAGES),
    figure(Phase::Large, "1 MiB messages, peak memory", Unit::Mebibytes, "/proxy_peak_rss_kib", Target::Nothing),
    figure(Phase::FirstEvent, "request to first event, p50", Unit::Microseconds, "/p50_us", Target::Nothing),
    figure(Phase::FirstEvent, "request to first event, p99", Unit::Microseconds, "/p99_us", Target::Nothing),
    figure(Phase::FirstEvent, "first event here before the second exists", Unit::Count, "/before_next", ALL_CALLS),
    figure(Phase::Streams, "event streams, all events unaltered", Unit::Count, "/exact", Target::Equals("/events")),
    figure(Phase::Streams, "event streams, lost", Unit::Count, "/lost", Target::Is(0.0)),
    figure(Phase::Streams, "event streams, later than 100 ms", Unit::Count, "/late", Target::Nothing),
    figure(Phase::Streams, "event streams, ended well", Unit::Count, "/ended_well", Target::Equals("/streams")),
    figure(Phase::Streams, "event streams, delay p50", Unit::Microseconds, "/p50_us", Target::Nothing),
    figure(Phase::Streams, "event streams, delay p99", Unit::Microseconds, "/p99_us", Target::Nothing),
    figure(Phase::Streams, "event streams, recorded", Unit::Count, "/messages_recorded", ALL_MESSAGES),
    figure(Phase::Streams, "event streams, CPU time", Unit::Milliseconds, "/proxy_cpu_ms", Target::Nothing),
    figure(Phase::Streams, "event streams, peak memory", Unit::Mebibytes, "/proxy_peak_rss_kib", Target::Nothing),
];

/// A row of [`FIGURES`].
const fn figure(phase: Phase, name: &'static str, unit: Unit, pointer: &'static str, target: Target) -> Figure {
    Figure { phase, name, unit, pointer, target }
}

/// What came out of a figure.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    phase: Phase,
    name: &'static str,
    unit: &'static str,
    none: Option<Spread>,
    pass_through: Option<Spread>,
    nginx: Option<Spread>,
    tap: Option<Spread>,
    /// The tap's median by the pass-through's, of speeds.
    ratio: Option<f64>,
    target: String,
    pub(super) verdict: Verdict,
}

/// The head of the table.
pub(super) const HEAD: [&str; 8] = ["figure", "none", "pass-through", "nginx", "tap", "tap/pass-through", "target", ""];

impl Outcome {
    /// A row of the table.
    pub(super) fn row(&self) -> [String; HEAD.len()] {
        [
            table::name(self.name, self.unit),
            table::cell(self.none),
            table::cell(self.pass_through),
            table::cell(self.nginx),
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
        let [none, pass_through, nginx, tap] = Subject::ALL.map(|subject| self.spread(runs, subject));
        let ratio = match (tap, pass_through) {
            (Some(tap), Some(reference)) if self.unit.is_speed() && reference.median > 0.0 => {
                Some(tap.median / reference.median)
            }
            _ => None,
        };
        Outcome {
            phase: self.phase,
            name: self.name,
            unit: self.unit.name(),
            none,
            pass_through,
            nginx,
            tap,
            ratio,
            target: self.target_text(runs),
            verdict: self.verdict(runs, ratio),
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

    /// A run without figures is no run that met a target.
    fn verdict(&self, runs: &[Run], ratio: Option<f64>) -> Verdict {
        let tap: Vec<&Run> = self.runs_of(runs, Subject::Tap).collect();
        let numbers: Vec<Option<f64>> = tap.iter().map(|run| number_at(&run.report, self.pointer)).collect();
        let all_have_it = !numbers.is_empty() && numbers.iter().all(Option::is_some);
        let is_met = match self.target {
            Target::Nothing => return Verdict::None,
            Target::AtMostTimes(limit) => ratio.map(|ratio| ratio <= limit),
            Target::AtLeastTimes(limit) => ratio.map(|ratio| limit <= ratio),
            Target::Is(wanted) => Some(numbers.iter().flatten().all(|number| *number == wanted)),
            Target::Equals(other) => {
                let pairs = tap.iter().zip(&numbers);
                Some(
                    pairs
                        .filter(|(_, number)| number.is_some())
                        .all(|(run, number)| number_at(&run.report, other) == *number),
                )
            }
        };
        match is_met {
            Some(false) => Verdict::Missed,
            Some(true) if all_have_it => Verdict::Met,
            Some(true) | None => Verdict::Unknown,
        }
    }

    fn target_text(&self, runs: &[Run]) -> String {
        match self.target {
            Target::AtMostTimes(limit) => format!("≤ {limit} × pass-through"),
            Target::AtLeastTimes(limit) => format!("≥ {limit} × pass-through"),
            Target::Is(wanted) => format!("= {wanted}"),
            Target::Equals(other) => {
                let number = self.runs_of(runs, Subject::Tap).find_map(|run| number_at(&run.report, other));
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

    #[track_caller]
    fn check(target: Target, reports: &[(Subject, Value)], expected: Verdict) {
        let run = |(subject, report): &(Subject, Value)| Run {
            round: 0,
            phase: Phase::One,
            subject: *subject,
            report: report.clone(),
        };
        let runs: Vec<Run> = reports.iter().map(run).collect();
        let figure = figure(Phase::One, "x", Unit::Microseconds, "/x", target);
        assert_eq!(figure.outcome(&runs).verdict, expected, "{target:?} of {reports:?}");
    }

    fn x(subject: Subject, number: f64) -> (Subject, Value) {
        (subject, json!({"x": number, "y": 10.0}))
    }

    #[test]
    fn targets_are_met_at_their_border_and_missed_past_it() {
        use Subject::{Nginx, PassThrough, Tap};
        for (target, border, past) in [
            (Target::AtMostTimes(1.5), 150.0, 151.0),
            (Target::AtLeastTimes(0.5), 50.0, 49.0),
            (Target::Equals("/y"), 10.0, 11.0),
            (Target::Is(7.0), 7.0, 6.0),
        ] {
            let others = [x(Nginx, 1.0), x(PassThrough, 100.0)];
            check(target, &[&others[..], &[x(Tap, border)]].concat(), Verdict::Met);
            check(target, &[&others[..], &[x(Tap, past)]].concat(), Verdict::Missed);
            check(target, &others, Verdict::Unknown);
        }
        check(Target::Nothing, &[], Verdict::None);
    }

    #[test]
    fn ratios_are_of_medians_but_every_run_must_be_complete() {
        use Subject::{PassThrough, Tap};
        let pass_through = [x(PassThrough, 1.0), x(PassThrough, 10.0), x(PassThrough, 11.0)];
        let tap = [x(Tap, 10.0), x(Tap, 10.0), x(Tap, 999.0)];
        check(Target::AtMostTimes(1.0), &[&pass_through[..], &tap].concat(), Verdict::Met);
        check(Target::Equals("/y"), &tap, Verdict::Missed);
        let failed = (Tap, json!({"error": "killed"}));
        check(Target::Equals("/y"), &[x(Tap, 10.0), failed.clone()], Verdict::Unknown);
        check(Target::Equals("/y"), &[x(Tap, 11.0), failed], Verdict::Missed);
    }
}
