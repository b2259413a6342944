//! The report as JUnit's XML: of each recording a suite for each list, one for the calls, and one for what the server asked.

use tap_compare::{Comparison, Side};
use tap_replay::{Outcome, QuestionOutcome};

use super::Checked;
use super::text::{answer_to, place, subject, summary};
use crate::command::diff::junit::{Case, drifted, told, write_suites};
use crate::comparing::gather::digest;
use crate::failure::Failure;
use crate::output::Output;
use crate::text::shown;

/// Differences that are told of one call.
const TOLD: usize = 50;

pub(super) fn write(out: &mut Output, all: &[Checked]) -> Result<(), Failure> {
    let mut suites = Vec::new();
    for checked in all {
        let name = shown(&checked.name, false);
        if let Some(too_old) = &checked.too_old {
            let case = Case { name: "age".into(), failure: Some((too_old.clone(), String::new())) };
            suites.push((format!("{name} age"), vec![case]));
        }
        for list in &checked.verdict.lists {
            suites.push((format!("{name} {}s", list.kind.one()), drifted(&list.drift)));
        }
        let sent =
            checked.verdict.checks.iter().filter(|check| {
                check.has_failed() || !matches!(check.outcome, Outcome::NotSent(_) | Outcome::NotCompared)
            });
        let calls = sent.map(|check| {
            let place = place(check.line, check.number);
            let name = shown(&format!("{} {} ({place})", subject(check), digest(&check.request)), false);
            let failure = check.has_failed().then(|| (summary(check), lines(Side::Response, &check.comparison)));
            Case { name, failure }
        });
        suites.push((format!("{name} calls"), calls.collect()));
        let asked = checked.verdict.questions.iter().map(|question| {
            let place = question.number.map_or("new".into(), |number| place(question.line, number));
            let has_failed = question.outcome != QuestionOutcome::Same;
            Case {
                name: format!("{} ({place})", shown(&question.method, false)),
                failure: has_failed.then(|| (answer_to(question).into(), lines(Side::Request, &question.comparison))),
            }
        });
        let asked: Vec<Case> = asked.collect();
        if !asked.is_empty() {
            suites.push((format!("{name} asked by the server"), asked));
        }
    }
    write_suites(out, "mcp-tap verify", &suites)
}

/// Differences, one a line. Characters that XML cannot hold are escaped as on a terminal.
fn lines(side: Side, comparison: &Comparison) -> String {
    let mut lines: Vec<String> = comparison.differences.iter().take(TOLD).map(|this| told(side, this)).collect();
    if comparison.n_differences > TOLD {
        lines.push(format!("and {} more", comparison.n_differences - TOLD));
    }
    shown(&lines.join("\n"), true)
}
