//! `cargo xtask bench`: what the tap costs, beside no tap and beside the least possible one, all in one run.
//!
//! In each [`Phase`] every [`Subject`] has its turn, so that a machine that slows down slows all of them.
//! [`figure::FIGURES`] is the table of what is read from the reports, and of the targets. Figures of another run or
//! another machine mean nothing beside these; the ratios do.

mod build;
mod figure;
mod http;
mod inspector;
mod machine;
mod phase;
mod replay;
mod spread;
mod subject;
mod table;

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use self::build::Programs;
use self::figure::{FIGURES, HEAD, Outcome};
use self::machine::Machine;
use self::phase::Phase;
use self::spread::Verdict;
use self::subject::{Run, Subject};

/// What to measure, and how often.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// What to measure
    #[arg(value_enum, default_value = "all")]
    what: What,
    /// Also write all reports and figures to this file, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// How often each subject is measured, but for `sustained` and the event streams of `http`
    #[arg(long, default_value_t = 7)]
    rounds: usize,
    /// How often each subject is measured in `sustained`, which takes a minute a time
    #[arg(long, default_value_t = 1)]
    sustained_rounds: usize,
    /// sustained: for how long, in seconds
    #[arg(long, default_value_t = 60)]
    seconds: usize,
    /// sustained: calls a second; each is two messages
    #[arg(long, default_value_t = 100_000)]
    rate: usize,
    /// http: event streams at the same time
    #[arg(long, default_value_t = 200)]
    streams: usize,
    /// http: for how long, in seconds
    #[arg(long, default_value_t = 60)]
    stream_seconds: usize,
    /// inspector: messages of the session that is looked at; the targets are for a million
    #[arg(long, default_value_t = 1_000_000)]
    messages: u64,
    /// Measure this in place of `mcp-tap run --db {db} --`; words are parted by spaces, `{db}` is a new file each time, and
    /// the server's path is put at the end
    #[arg(long)]
    wrapper: Option<String>,
    /// Compare with a copier that writes no log: the floor, where the one with a log is what a plain recorder costs
    #[arg(long)]
    bare_copier: bool,
    /// Where databases and logs are written and deleted again; a folder in memory hides what a disk costs
    #[arg(long, default_value_os_t = std::env::temp_dir())]
    dir: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum What {
    /// How long a round trip takes
    Latency,
    /// How quickly 100,000 calls at once pass, and whether all are recorded
    Burst,
    /// How quickly messages of 1 MiB pass
    Large,
    /// How much memory the tap takes on small traffic and in the burst
    Memory,
    /// How long until `initialize` is answered
    Startup,
    /// How long a list of fifty takes in a session of a million messages
    List,
    /// Whether the tap keeps up with 200,000 messages a second, and does not grow
    Sustained,
    /// What the tap costs as a reverse proxy over HTTP
    Http,
    /// How soon the inspector shows something of a session of a million messages, and what it costs a live one
    Inspector,
    /// A recording in the place of the echo server, and how soon one of 1 GiB answers
    Replay,
    /// Everything
    All,
}

impl What {
    fn holds(self, other: Self) -> bool {
        self == Self::All || self == other
    }
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
enum BenchError {
    #[error("cannot run {program}: {source}")]
    Start { program: String, source: io::Error },
    #[error("{program} failed")]
    Failed { program: String },
    #[error("cargo built no {package}")]
    NotBuilt { package: &'static str },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Measures, prints the table, and gives status 0 when all targets are met, 1 when not, 2 when nothing was measured.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match measure(arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            tell(&format!("xtask: {error}"));
            ExitCode::from(2)
        }
    }
}

/// True when all targets are met.
fn measure(arguments: &Arguments) -> Result<bool, BenchError> {
    let mut machine = Machine::look();
    let has_own_table = matches!(arguments.what, What::Http | What::Inspector | What::Replay);
    let stdio = (!has_own_table).then(|| measure_stdio(arguments)).transpose()?;
    let http = arguments.what.holds(What::Http).then(|| http::measure(arguments)).transpose()?;
    let inspector = arguments.what.holds(What::Inspector).then(|| inspector::measure(arguments)).transpose()?;
    let replay = arguments.what.holds(What::Replay).then(|| replay::measure(arguments)).transpose()?;
    machine.look_again();
    let mut verdicts: Vec<Verdict> = Vec::new();
    let mut report = json!({"machine": machine, "what": arguments.what, "rounds": arguments.rounds});
    let _ = writeln!(io::stdout(), "{machine}");
    if let Some(stdio) = stdio {
        let rows: Vec<_> = stdio.outcomes.iter().map(Outcome::row).collect();
        let _ = write!(io::stdout(), "\n{}", table::markdown(&HEAD, &rows));
        verdicts.extend(stdio.outcomes.iter().map(|outcome| outcome.verdict));
        report["wrapper"] = json!(stdio.wrapper);
        report["copier_writes_log"] = json!(!arguments.bare_copier);
        report["runs"] = json!(stdio.runs);
        report["figures"] = json!(stdio.outcomes);
    }
    if let Some(http) = http {
        let _ = write!(io::stdout(), "\n{}", http.markdown());
        verdicts.extend(http.verdicts());
        report["http"] = http.report();
    }
    if let Some(inspector) = inspector {
        let _ = write!(io::stdout(), "\n{}", inspector.markdown());
        verdicts.extend(inspector.verdicts());
        report["inspector"] = inspector.report();
    }
    if let Some(replay) = replay {
        let _ = write!(io::stdout(), "\n{}", replay.markdown());
        verdicts.extend(replay.verdicts());
        report["replay"] = replay.report();
    }
    if let Some(path) = &arguments.json {
        let text = format!("{report:#}\n");
        fs::write(path, text).map_err(|source| BenchError::Write { path: path.clone(), source })?;
    }
    Ok(verdicts.into_iter().all(Verdict::is_fine))
}

/// What was measured over stdio.
struct Stdio {
    outcomes: Vec<Outcome>,
    runs: Vec<Run>,
    wrapper: String,
}

fn measure_stdio(arguments: &Arguments) -> Result<Stdio, BenchError> {
    let programs = Programs::build(arguments.wrapper.as_deref())?;
    let figures: Vec<_> = FIGURES.iter().filter(|figure| arguments.what.holds(figure.what)).collect();
    let phases = Phase::ALL.into_iter().filter(|phase| figures.iter().any(|figure| figure.phase == *phase));
    let runs: Vec<Run> = rounds(&phases.collect::<Vec<_>>(), arguments)
        .into_iter()
        .map(|(round, phase, subject)| {
            let run = programs.run(round, phase, subject, arguments);
            tell(&run.to_string());
            run
        })
        .collect();
    let outcomes = figures.iter().map(|figure| figure.outcome(&runs)).collect();
    Ok(Stdio { outcomes, runs, wrapper: programs.wrapper() })
}

/// What is run, in order. Within a round the subjects take turns in each phase, and each round another begins.
fn rounds(phases: &[Phase], arguments: &Arguments) -> Vec<(usize, Phase, Subject)> {
    let mut all = Vec::new();
    for round in 0..arguments.rounds.max(arguments.sustained_rounds) {
        for &phase in phases {
            let n_rounds = match phase {
                Phase::Sustained => arguments.sustained_rounds,
                Phase::List => 1,
                Phase::Latency | Phase::Burst | Phase::Large | Phase::Startup => arguments.rounds,
            };
            if round >= n_rounds {
                continue;
            }
            for repeat in 0..phase.n_repeats() {
                let subjects = phase.subjects();
                let turn = subjects.iter().cycle().skip((round + repeat) % subjects.len()).take(subjects.len());
                all.extend(turn.map(|subject| (round, phase, *subject)));
            }
        }
    }
    all
}

/// Progress and complaints go to stderr: stdout is the table.
fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// A number at this JSON Pointer.
fn number_at(report: &Value, pointer: &str) -> Option<f64> {
    report.pointer(pointer)?.as_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    pub(super) fn arguments(line: &str) -> Arguments {
        clap::Parser::try_parse_from(line.split(' ')).map(|line: Line| line.arguments).unwrap()
    }

    #[test]
    fn each_round_another_subject_begins_and_sustained_has_rounds_of_its_own() {
        let arguments = arguments("bench --rounds 2 --sustained-rounds 1");
        let first = [Subject::None, Subject::Copier, Subject::Tap];
        let second = [Subject::Copier, Subject::Tap, Subject::None];
        let mut expected = Vec::new();
        expected.extend(first.map(|subject| (0, Phase::Large, subject)));
        expected.extend(first.map(|subject| (0, Phase::Sustained, subject)));
        expected.extend(second.map(|subject| (1, Phase::Large, subject)));
        assert_eq!(rounds(&[Phase::Large, Phase::Sustained], &arguments), expected);
    }

    #[test]
    fn a_burst_is_repeated_within_its_round_and_each_time_another_begins() {
        let rounds = rounds(&[Phase::Burst], &arguments("bench --rounds 1"));
        let first: Vec<Subject> = rounds.chunks(4).map(|turn| turn[0].2).collect();
        assert_eq!(first, Subject::ALL);
    }

    #[test]
    fn every_word_for_what_has_a_figure() {
        // These have tables of their own.
        let own = [What::Http, What::Inspector, What::Replay];
        for what in What::value_variants().iter().filter(|what| !own.contains(what)) {
            assert!(FIGURES.iter().any(|figure| what.holds(figure.what)), "{what:?}");
        }
    }
}
