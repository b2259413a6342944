//! `cargo xtask bench inspector`: how soon the inspector shows something, in a real pseudo-terminal, on a session of a million
//! messages and on one that is live.

mod scene;
mod screen;
mod terminal;

use serde::Serialize;
use serde_json::{Value, json};

use self::scene::Programs;
use super::spread::{Spread, Unit, Verdict};
use super::{Arguments, BenchError, number_at, table};

/// One line of the table.
struct Figure {
    name: &'static str,
    unit: Unit,
    /// Where it is in the report, a JSON Pointer.
    pointer: &'static str,
    target: Target,
}

/// What is asked of a figure.
#[derive(Clone, Copy)]
enum Target {
    /// Less than this, in the figure's unit.
    LessThan(f64),
    /// At most this.
    AtMost(f64),
    /// The number that is at this other place of the report.
    Equals(&'static str),
    /// Nothing: shown because it explains the others.
    Nothing,
}

const fn figure(name: &'static str, unit: Unit, pointer: &'static str, target: Target) -> Figure {
    Figure { name, unit, pointer, target }
}

const FIRST_SCREEN: Target = Target::LessThan(300.0);
const KEY: Target = Target::LessThan(16.0);
const FIRST_ROWS: Target = Target::LessThan(200.0);
const ESCAPE: Target = Target::LessThan(50.0);

/// The table.
const FIGURES: &[Figure] = &[
    figure("start to first rows, median of 7", Unit::Milliseconds, "/start_p50_ms", FIRST_SCREEN),
    figure("start to first rows, slowest of 7", Unit::Milliseconds, "/start_ms", FIRST_SCREEN),
    figure("the same, first look ever", Unit::Milliseconds, "/first_look_ms", Target::Nothing),
    figure("what is left of it, until all is worked out", Unit::Milliseconds, "/first_look_rest_ms", Target::Nothing),
    figure("start to all rules judged", Unit::Milliseconds, "/judged_ms", Target::Nothing),
    figure("key to screen, all keys, p50", Unit::Milliseconds, "/key_ms/all/p50", Target::Nothing),
    figure("key to screen, all keys, p99", Unit::Milliseconds, "/key_ms/all/p99", KEY),
    figure("`j`, p50", Unit::Milliseconds, "/key_ms/down/p50", Target::Nothing),
    figure("`j`, p99", Unit::Milliseconds, "/key_ms/down/p99", KEY),
    figure("page down, p50", Unit::Milliseconds, "/key_ms/page_down/p50", Target::Nothing),
    figure("page down, p99", Unit::Milliseconds, "/key_ms/page_down/p99", KEY),
    figure("`G` and `g`, p50", Unit::Milliseconds, "/key_ms/last_first/p50", Target::Nothing),
    figure("`G` and `g`, p99", Unit::Milliseconds, "/key_ms/last_first/p99", KEY),
    figure("`]`, p50", Unit::Milliseconds, "/key_ms/next_problem/p50", Target::Nothing),
    figure("`]`, p99", Unit::Milliseconds, "/key_ms/next_problem/p99", KEY),
    figure("`v`, p99", Unit::Milliseconds, "/key_ms/calls_or_frames/p99", KEY),
    figure("`4` and back, p99", Unit::Milliseconds, "/key_first_ms/state/p99", KEY),
    figure("`4` until the state is there, p50", Unit::Milliseconds, "/key_ms/state/p50", Target::Nothing),
    figure("`4` until the state is there, p99", Unit::Milliseconds, "/key_ms/state/p99", Target::Nothing),
    figure("filter to first rows, `tool:… is:error`", Unit::Milliseconds, "/filter_ms/tool_error", FIRST_ROWS),
    figure("a tool of 92 calls", Unit::Milliseconds, "/filter_ms/rare_tool", FIRST_ROWS),
    figure("the same, while rules are judged", Unit::Milliseconds, "/filter_ms/while_judged", FIRST_ROWS),
    figure("`latency>3900ms`", Unit::Milliseconds, "/filter_ms/slow", FIRST_ROWS),
    figure("text in 100 answers", Unit::Milliseconds, "/filter_ms/common_text", FIRST_ROWS),
    figure("text in one answer, at 90 %", Unit::Milliseconds, "/filter_ms/rare_text", Target::Nothing),
    figure("JSON path, 1 in 20,000", Unit::Milliseconds, "/filter_ms/path", FIRST_ROWS),
    figure("nothing fits, by rows", Unit::Milliseconds, "/nothing_ms/no_row", Target::Nothing),
    figure("nothing fits, all bodies read", Unit::Milliseconds, "/nothing_ms/no_text", Target::Nothing),
    figure("`esc` to the list, search over", Unit::Milliseconds, "/esc_ms/rare_tool", ESCAPE),
    figure("`esc` to the list, while it searches", Unit::Milliseconds, "/esc_ms/while_searching", ESCAPE),
    figure("peak memory", Unit::Mebibytes, "/peak_kib", Target::LessThan(200.0)),
    figure("live, round trip alone, p50", Unit::Microseconds, "/live/alone_p50_us", Target::Nothing),
    figure("live, watched, p50", Unit::Microseconds, "/live/watched_p50_us", Target::Nothing),
    figure("live, watched by alone, p50", Unit::Share, "/live/ratio_p50_us", Target::AtMost(1.25)),
    figure("live, round trip alone, p99", Unit::Microseconds, "/live/alone_p99_us", Target::Nothing),
    figure("live, watched, p99", Unit::Microseconds, "/live/watched_p99_us", Target::Nothing),
    figure("live, watched by alone, p99", Unit::Share, "/live/ratio_p99_us", Target::Nothing),
    figure("live, recorded", Unit::Count, "/live/recorded", Target::Equals("/live/exchanged")),
    figure("live, key to screen, p99", Unit::Milliseconds, "/live/key_p99_ms", Target::Nothing),
    figure("live, peak memory", Unit::Mebibytes, "/live/peak_kib", Target::LessThan(200.0)),
];

/// What came out of a figure.
#[derive(Debug, Serialize)]
struct Outcome {
    name: &'static str,
    unit: &'static str,
    measured: Option<Spread>,
    target: String,
    verdict: Verdict,
}

/// The head of the table.
const HEAD: [&str; 4] = ["figure", "measured", "target", ""];

/// What was measured in the inspector.
pub(super) struct Measured {
    outcomes: Vec<Outcome>,
    report: Value,
}

/// Measures everything in the inspector.
pub(super) fn measure(arguments: &Arguments) -> Result<Measured, BenchError> {
    let report = Programs::build()?.run(arguments);
    Ok(Measured { outcomes: FIGURES.iter().map(|figure| figure.outcome(&report)).collect(), report })
}

impl Measured {
    /// The figures as a table in Markdown.
    pub(super) fn markdown(&self) -> String {
        let rows: Vec<[String; HEAD.len()]> = self.outcomes.iter().map(Outcome::row).collect();
        table::markdown(&HEAD, &rows)
    }

    /// All that was noted, and the figures.
    pub(super) fn report(&self) -> Value {
        json!({"report": self.report, "figures": self.outcomes})
    }

    /// The verdict of each figure.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.outcomes.iter().map(|outcome| outcome.verdict)
    }
}

impl Outcome {
    fn row(&self) -> [String; HEAD.len()] {
        [
            table::name(self.name, self.unit),
            table::cell(self.measured),
            self.target.clone(),
            self.verdict.word().to_owned(),
        ]
    }
}

impl Figure {
    fn outcome(&self, report: &Value) -> Outcome {
        let number = number_at(report, self.pointer).map(|number| self.unit.shown(number));
        let other = |pointer| number_at(report, pointer).map(|number| self.unit.shown(number));
        let (target, is_met) = match self.target {
            Target::Nothing => (String::new(), None),
            Target::LessThan(limit) => (format!("< {limit}"), Some(number.map(|number| number < limit))),
            Target::AtMost(limit) => (format!("≤ {limit}"), Some(number.map(|number| number <= limit))),
            Target::Equals(pointer) => {
                let wanted = other(pointer);
                let text = wanted.map_or_else(|| "all".to_owned(), |wanted| format!("= {wanted}"));
                (text, Some(number.zip(wanted).map(|(number, wanted)| number.total_cmp(&wanted).is_eq())))
            }
        };
        let verdict = match is_met {
            None => Verdict::None,
            Some(None) => Verdict::Unknown,
            Some(Some(true)) => Verdict::Met,
            Some(Some(false)) => Verdict::Missed,
        };
        let measured = Spread::new(number.into_iter().collect());
        Outcome { name: self.name, unit: self.unit.name(), measured, target, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_met_at_their_border_and_missed_past_it() {
        let report = json!({"a": 16.0, "b": 15.9, "all": 7, "seven": 7});
        for (pointer, target, expected) in [
            ("/a", KEY, Verdict::Missed),
            ("/b", KEY, Verdict::Met),
            ("/none", KEY, Verdict::Unknown),
            ("/a", Target::AtMost(16.0), Verdict::Met),
            ("/all", Target::Equals("/seven"), Verdict::Met),
            ("/all", Target::Equals("/a"), Verdict::Missed),
            ("/all", Target::Equals("/none"), Verdict::Unknown),
            ("/a", Target::Nothing, Verdict::None),
        ] {
            let outcome = figure("x", Unit::Milliseconds, pointer, target).outcome(&report);
            assert_eq!(outcome.verdict, expected, "{pointer}");
        }
    }
}
