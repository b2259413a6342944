//! The report as one JSON object, of the shape that `docs/verify.md` has.

use serde_json::{Value, json};
use tap_compare::{Comparison, Side};
use tap_replay::{Check, Outcome, QuestionCheck, QuestionOutcome};

use super::Checked;
use crate::command::diff::json::{difference, drifted};
use crate::output::Output;

pub(super) fn write(out: &mut Output, all: &[Checked]) -> std::io::Result<()> {
    out.json(&json!({
        "same": all.iter().all(|this| this.is_fine()),
        "recordings": all.iter().map(one).collect::<Vec<_>>(),
    }))
}

fn one(checked: &Checked) -> Value {
    let verdict = &checked.verdict;
    let lists = verdict.lists.iter().map(|list| {
        let mut value = drifted(list.kind, &list.drift);
        value["n"] = list.number.into();
        value
    });
    let tellings = verdict.tellings.iter();
    let correlated = verdict.correlated.iter().map(|this| {
        json!({
            "n": this.number,
            "path": this.path.dotted(Side::Response),
            "recorded": this.recorded,
            "live": this.live,
        })
    });
    json!({
        "name": checked.name,
        "same": verdict.is_same(),
        "too_old": checked.too_old,
        "server": {"recorded": verdict.recorded_server, "live": verdict.live_server},
        "lists": lists.collect::<Vec<_>>(),
        "calls": verdict.checks.iter().map(call).collect::<Vec<_>>(),
        "asked": verdict.questions.iter().map(question).collect::<Vec<_>>(),
        "told": tellings
            .map(|this| json!({"method": this.method, "recorded": this.n_recorded, "live": this.n_live}))
            .collect::<Vec<_>>(),
        "correlated": correlated.collect::<Vec<_>>(),
        "n_hidden": verdict.n_hidden(),
        "notes": checked.notes,
        "refused": checked.refused,
        "stderr": checked.stderr,
    })
}

fn call(check: &Check) -> Value {
    let (outcome, why) = match check.outcome {
        Outcome::Same => ("same", None),
        Outcome::Differs => ("differs", None),
        Outcome::NoAnswer(why) => ("missing", Some(why.says())),
        Outcome::NotSent(why) => ("not_sent", Some(why.says())),
        Outcome::NotCompared => ("not_compared", None),
    };
    json!({
        "n": check.number,
        "line": check.line,
        "method": check.method,
        "name": check.name,
        "outcome": outcome,
        "why": why,
        "failed": check.has_failed(),
        "status": {"recorded": check.recorded.to_string(), "live": check.live.to_string()},
        "latency_ns": {"recorded": check.recorded_ns, "live": check.live_ns},
        "too_slow": check.is_too_slow,
        "n_differences": check.comparison.n_differences,
        "differences": differences(Side::Response, "answer", &check.comparison),
        "n_hidden": check.comparison.n_hidden,
        "hidden": hidden(Side::Response, &check.comparison),
        "bounds": check.comparison.bounds.iter().map(|bound| bound.says()).collect::<Vec<_>>(),
    })
}

fn question(question: &QuestionCheck) -> Value {
    json!({
        "n": question.number,
        "line": question.line,
        "method": question.method,
        "outcome": match question.outcome {
            QuestionOutcome::Same => "same",
            QuestionOutcome::Differs => "differs",
            QuestionOutcome::NotAsked => "missing",
            QuestionOutcome::New => "new",
        },
        "n_differences": question.comparison.n_differences,
        "differences": differences(Side::Request, "request", &question.comparison),
    })
}

fn differences(side: Side, message: &str, comparison: &Comparison) -> Vec<Value> {
    comparison.differences.iter().map(|this| difference(side, message, this)).collect()
}

fn hidden(side: Side, comparison: &Comparison) -> Vec<Value> {
    let each = comparison.hidden.iter();
    each.map(|hidden| json!({"path": hidden.path.dotted(side), "by": hidden.by.name()})).collect()
}
