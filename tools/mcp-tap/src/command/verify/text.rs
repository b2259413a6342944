//! The report for a person.

use std::io::Write;

use tap_compare::{Comparison, Side};
use tap_replay::{Check, Outcome, QuestionCheck, QuestionOutcome, Verdict};

use super::Checked;
use crate::command::diff::text::{drift_items, more, padded, sign, told};
use crate::comparing::gather::digest;
use crate::output::{Output, Style};
use crate::text::{counted, cut, duration, shown};

/// A subject's columns, so that what follows lines up.
const SUBJECT_COLUMNS: usize = 44;

pub(super) fn write(out: &mut Output, all: &[Checked], limit: usize) -> std::io::Result<()> {
    for (index, checked) in all.iter().enumerate() {
        if index > 0 {
            writeln!(out)?;
        }
        one(out, checked, limit)?;
    }
    Ok(())
}

fn one(out: &mut Output, checked: &Checked, limit: usize) -> std::io::Result<()> {
    let verdict = &checked.verdict;
    let server = match (&verdict.recorded_server, &verdict.live_server) {
        (Some(a), Some(b)) if a == b => format!("   server {}", shown(a, false)),
        (None, None) => String::new(),
        (a, b) => {
            let name =
                |name: &Option<String>| name.as_ref().map_or_else(|| "unknown".into(), |name| shown(name, false));
            format!("   server {} → {}", name(a), name(b))
        }
    };
    writeln!(out, "{}", out.styled(Style::Bold, &format!("{}{server}", shown(&checked.name, false))))?;
    for list in verdict.lists.iter().filter(|list| !list.drift.items.is_empty()) {
        writeln!(out)?;
        drift_items(out, list.kind.one(), &list.drift, limit)?;
    }
    let told: Vec<&Check> = verdict.checks.iter().filter(|check| is_told(check)).collect();
    if !told.is_empty() {
        writeln!(out)?;
    }
    for check in told {
        call(out, check, limit)?;
    }
    let asked = verdict.questions.iter().filter(|question| question.outcome != QuestionOutcome::Same);
    for question in asked {
        asked_for(out, question, limit)?;
    }
    let notes = notes(checked);
    if !notes.is_empty() {
        writeln!(out)?;
    }
    for note in notes {
        writeln!(out, "{}", out.styled(Style::Dim, &note))?;
    }
    if !checked.stderr.is_empty() {
        writeln!(out, "{}", out.styled(Style::Dim, "the server's stderr, at its end:"))?;
        for line in &checked.stderr {
            writeln!(out, "  {line}")?;
        }
    }
    if let Some(too_old) = &checked.too_old {
        writeln!(out, "{}", out.styled(Style::Bad, too_old))?;
    }
    let text = sum(verdict);
    let style = if verdict.is_same() { Style::Good } else { Style::Bad };
    writeln!(out, "{}", out.styled(style, &text))
}

/// Whether there is something to say of a call.
fn is_told(check: &Check) -> bool {
    check.has_failed() || matches!(check.outcome, Outcome::NotSent(_))
}

/// Everything in one line.
pub(super) fn sum(verdict: &Verdict) -> String {
    let n_same = verdict.checks.iter().filter(|check| check.outcome == Outcome::Same && !check.is_too_slow).count();
    let n_failed = verdict.checks.iter().filter(|check| check.has_failed()).count();
    let n_other = verdict.checks.len() - n_same - n_failed;
    let n_items: usize = verdict.lists.iter().map(|list| list.drift.items.len()).sum();
    let n_asked = verdict.questions.iter().filter(|question| question.outcome != QuestionOutcome::Same).count();
    let mut parts = vec![format!("{} the same", counted(n_same as u64, "call"))];
    let mut add = |n: usize, text: String| {
        if n > 0 {
            parts.push(text);
        }
    };
    add(n_failed, format!("{n_failed} not"));
    add(n_other, format!("{n_other} not compared"));
    add(n_items, format!("{} of the lists changed", counted(n_items as u64, "item")));
    add(n_asked, format!("{} of the server's differ", counted(n_asked as u64, "request")));
    let n_hidden = verdict.n_hidden();
    add(n_hidden, format!("{} hidden by rules", counted(n_hidden as u64, "difference")));
    let word = if verdict.is_same() { "no differences" } else { "differs" };
    format!("{word}: {}", parts.join(", "))
}

/// What is called: the tool, or the method.
pub(super) fn subject(check: &Check) -> String {
    match &check.name {
        Some(name) if check.method == "tools/call" => shown(name, false),
        Some(name) => format!("{} {}", shown(&check.method, false), shown(name, false)),
        None => shown(&check.method, false),
    }
}

/// What became of it, in a few words.
pub(super) fn summary(check: &Check) -> String {
    let mut parts = Vec::new();
    match check.outcome {
        Outcome::NoAnswer(why) => parts.push(why.says().to_owned()),
        Outcome::NotSent(why) => parts.push(format!("not sent: {}", why.says())),
        Outcome::Differs if check.recorded != check.live => {
            parts.push(format!(
                "{} → {}",
                shown(&check.recorded.to_string(), false),
                shown(&check.live.to_string(), false)
            ));
        }
        Outcome::Same | Outcome::Differs | Outcome::NotCompared => {}
    }
    if check.comparison.n_differences > 0 {
        parts.push(counted(check.comparison.n_differences as u64, "value"));
    }
    if check.comparison.n_hidden > 0 {
        parts.push(format!("{} hidden", check.comparison.n_hidden));
    }
    if let (true, Some(recorded_ns), Some(live_ns)) = (check.is_too_slow, check.recorded_ns, check.live_ns) {
        parts.push(format!("slower: {} → {}", duration(recorded_ns), duration(live_ns)));
    }
    parts.join(", ")
}

/// Where it is in the recording.
pub(super) fn place(line: Option<u64>, number: u64) -> String {
    line.map_or_else(|| format!("message {number}"), |line| format!("line {line}"))
}

fn call(out: &mut Output, check: &Check, limit: usize) -> std::io::Result<()> {
    let mark = match check.outcome {
        Outcome::NoAnswer(_) => '-',
        Outcome::NotSent(_) if check.has_failed() => '-',
        Outcome::NotSent(_) => '=',
        Outcome::Same | Outcome::Differs | Outcome::NotCompared => '~',
    };
    let name = padded(&format!("{:<8} {} {}", "call", subject(check), digest(&check.request)), SUBJECT_COLUMNS);
    let place = out.styled(Style::Dim, &place(check.line, check.number));
    writeln!(out, "{} {name}  {}  {place}", sign(out, mark), summary(check))?;
    differences(out, Side::Response, &check.comparison, limit)
}

fn differences(out: &mut Output, side: Side, comparison: &Comparison, limit: usize) -> std::io::Result<()> {
    for difference in comparison.differences.iter().take(limit) {
        told(out, side, difference)?;
    }
    more(out, comparison.n_differences, limit)
}

/// What became of a request of the server's, in a few words.
pub(super) fn answer_to(question: &QuestionCheck) -> &'static str {
    match question.outcome {
        QuestionOutcome::Same => "the same",
        QuestionOutcome::Differs => "it asks something else",
        QuestionOutcome::NotAsked => "it does not ask any more",
        QuestionOutcome::New => "it did not ask before",
    }
}

fn asked_for(out: &mut Output, question: &QuestionCheck, limit: usize) -> std::io::Result<()> {
    let mark = match question.outcome {
        QuestionOutcome::Same => '=',
        QuestionOutcome::Differs => '~',
        QuestionOutcome::NotAsked => '-',
        QuestionOutcome::New => '+',
    };
    let name = padded(&format!("{:<8} {}", "asked", shown(&question.method, false)), SUBJECT_COLUMNS);
    let place = question.number.map_or(String::new(), |number| place(question.line, number));
    let place = out.styled(Style::Dim, &place);
    writeln!(out, "{} {name}  {}  {place}", sign(out, mark), answer_to(question))?;
    differences(out, Side::Request, &question.comparison, limit)
}

/// What is worth a word, and no difference.
fn notes(checked: &Checked) -> Vec<String> {
    let mut notes: Vec<String> = checked.notes.iter().map(|note| shown(note, false)).collect();
    notes.extend(checked.verdict.tellings.iter().filter(|this| this.n_recorded != this.n_live).map(|this| {
        format!(
            "{} came {}× when it was recorded, and {}× now",
            shown(&this.method, false),
            this.n_recorded,
            this.n_live
        )
    }));
    notes.extend(checked.verdict.correlated.iter().map(|this| {
        let text = |text: &str| cut(&shown(text, false), 40);
        let path = shown(&this.path.dotted(Side::Response), false);
        format!(
            "handed back what the server made up: {} in place of {} ({path} of message {})",
            text(&this.live),
            text(&this.recorded),
            this.number
        )
    }));
    notes
}
