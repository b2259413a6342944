//! `cargo xtask bench http`: what the tap costs as a reverse proxy, beside no proxy, the plainest one and nginx.
//!
//! As over stdio every [`Subject`] has its turn in each [`Phase`], and [`figure::FIGURES`] is the table of what is read
//! from the reports, and of the targets. Each run has a server and a proxy of its own.

mod figure;
mod nginx;
mod phase;
mod started;
mod subject;

use serde_json::{Value, json};

use self::figure::{FIGURES, Outcome};
use self::nginx::Nginx;
use self::phase::Phase;
use self::subject::{Programs, Run, Subject};
use super::spread::Verdict;
use super::{Arguments, BenchError, table, tell};

/// What was measured over HTTP.
pub(super) struct Measured {
    outcomes: Vec<Outcome>,
    runs: Vec<Run>,
}

/// Measures everything over HTTP.
pub(super) fn measure(arguments: &Arguments) -> Result<Measured, BenchError> {
    let nginx = match Nginx::find() {
        Ok(nginx) => Some(nginx),
        Err(reason) => {
            tell(&format!("nginx is not measured: {reason}"));
            None
        }
    };
    let programs = Programs::build(nginx)?;
    let runs: Vec<Run> = rounds(&programs.subjects(), arguments)
        .into_iter()
        .map(|(round, phase, subject)| {
            let run = programs.run(round, phase, subject, arguments);
            tell(&run.to_string());
            run
        })
        .collect();
    let outcomes = FIGURES.iter().map(|figure| figure.outcome(&runs)).collect();
    Ok(Measured { outcomes, runs })
}

impl Measured {
    /// The figures as a table in Markdown.
    pub(super) fn markdown(&self) -> String {
        table::markdown(&figure::HEAD, &self.outcomes.iter().map(Outcome::row).collect::<Vec<_>>())
    }

    /// All reports and figures.
    pub(super) fn report(&self) -> Value {
        json!({"runs": self.runs, "figures": self.outcomes})
    }

    /// The verdict of each figure.
    pub(super) fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.outcomes.iter().map(|outcome| outcome.verdict)
    }
}

/// What is run, in order. Within a round the subjects take turns in each phase, and each round another begins.
fn rounds(subjects: &[Subject], arguments: &Arguments) -> Vec<(usize, Phase, Subject)> {
    let mut all = Vec::new();
    for round in 0..arguments.rounds {
        for phase in Phase::ALL {
            // It takes a minute a time.
            if phase == Phase::Streams && round > 0 {
                continue;
            }
            let turn = (0..subjects.len()).map(|offset| subjects[(round + offset) % subjects.len()]);
            all.extend(turn.map(|subject| (round, phase, subject)));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::tests::arguments;
    use super::*;

    #[test]
    fn each_round_another_subject_begins_and_the_long_phase_has_one_round() {
        let subjects = [Subject::None, Subject::PassThrough, Subject::Tap];
        let rounds = rounds(&subjects, &arguments("bench http --rounds 2"));
        let of = |wanted: Phase| -> Vec<(usize, Subject)> {
            let runs = rounds.iter().filter(|(_, phase, _)| *phase == wanted);
            runs.map(|(round, _, subject)| (*round, *subject)).collect()
        };
        let first = subjects.map(|subject| (0, subject));
        let second = [Subject::PassThrough, Subject::Tap, Subject::None].map(|subject| (1, subject));
        assert_eq!(of(Phase::One), [first, second].concat());
        assert_eq!(of(Phase::Streams), first);
    }
}
