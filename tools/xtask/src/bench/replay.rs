//! `cargo xtask bench replay`: a recording in the place of the echo server, and how soon a large one answers.
//!
//! The load client makes its calls of the server, of a recording of just these calls, and of the same in another form, in
//! turns. Large recordings are written here: calls of 8 KiB, the same in all forms.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::build::build;
use super::spread::{Spread, Unit, Verdict};
use super::{Arguments, BenchError, table, tell};

/// A large recording, bytes.
const LARGE_BYTES: usize = 1 << 30;

/// What an answer in it has, bytes.
const ANSWER_BYTES: usize = 8 * 1024;

const CALLS: &str = "20000";
const PIPELINED: &str = "100000";

/// What is asked of a figure.
#[derive(Debug, Clone, Copy, Serialize)]
enum Target {
    /// Less than this, in the figure's unit.
    LessThan(f64),
    /// At most this many times what the echo server has.
    AtMostTimesEcho(f64),
    /// At least this many times what the echo server has.
    AtLeastTimesEcho(f64),
    Nothing,
}

/// A line of the table.
#[derive(Debug, Serialize)]
struct Figure {
    name: String,
    #[serde(skip)]
    unit: Unit,
    echo: Option<Spread>,
    measured: Option<Spread>,
    target: Target,
}

/// What was measured.
pub(super) struct Measured {
    figures: Vec<Figure>,
}

const HEAD: [&str; 5] = ["figure", "echo server", "replay", "target", ""];

impl Figure {
    fn verdict(&self) -> Verdict {
        let (echo, measured) = (self.echo.map(|spread| spread.median), self.measured.map(|spread| spread.median));
        let is_met = match self.target {
            Target::Nothing => return Verdict::None,
            Target::LessThan(limit) => measured.map(|measured| measured < limit),
            Target::AtMostTimesEcho(times) => measured.zip(echo).map(|(measured, echo)| measured <= echo * times),
            Target::AtLeastTimesEcho(times) => measured.zip(echo).map(|(measured, echo)| measured >= echo * times),
        };
        match is_met {
            None => Verdict::Unknown,
            Some(true) => Verdict::Met,
            Some(false) => Verdict::Missed,
        }
    }

    fn row(&self) -> [String; HEAD.len()] {
        let target = match self.target {
            Target::Nothing => String::new(),
            Target::LessThan(limit) => format!("< {limit}"),
            Target::AtMostTimesEcho(times) => format!("≤ {times} × echo server"),
            Target::AtLeastTimesEcho(times) => format!("≥ {times} × echo server"),
        };
        let cells = [self.echo, self.measured]
            .map(|spread| spread.map_or_else(String::new, |spread| table::cell(Some(spread))));
        let [echo, measured] = cells;
        [table::name(&self.name, self.unit.name()), echo, measured, target, self.verdict().word().to_owned()]
    }
}

impl Measured {
    pub(super) fn markdown(&self) -> String {
        table::markdown(&HEAD, &self.figures.iter().map(Figure::row).collect::<Vec<_>>())
    }

    pub(super) fn report(&self) -> Value {
        json!(self.figures)
    }

    pub(super) fn verdicts(&self) -> impl Iterator<Item = Verdict> {
        self.figures.iter().map(Figure::verdict)
    }
}

struct Programs {
    load_client: PathBuf,
    echo_server: PathBuf,
    tap: PathBuf,
}

/// Measures what a playback costs.
pub(super) fn measure(arguments: &Arguments) -> Result<Measured, BenchError> {
    let mut built = build(&["tap-load-client", "tap-echo-server", "mcp-tap"])?;
    let mut take = |package| built.remove(package).ok_or(BenchError::NotBuilt { package });
    let programs = Programs {
        load_client: take("tap-load-client")?,
        echo_server: take("tap-echo-server")?,
        tap: take("mcp-tap")?,
    };
    let cannot_write = |source: io::Error| BenchError::Write { path: arguments.dir.clone(), source };
    let folder = TempDir::new_in(&arguments.dir).map_err(cannot_write)?;
    let mut figures = programs.beside_the_echo_server(folder.path(), arguments.rounds)?;
    figures.extend(programs.large(folder.path(), arguments.rounds)?);
    Ok(Measured { figures })
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

impl Programs {
    fn tap(&self, words: &[&str]) -> Result<(), BenchError> {
        let output = Command::new(&self.tap).args(words).stdin(Stdio::null()).output();
        let output = output.map_err(|source| BenchError::Start { program: text(&self.tap), source })?;
        match output.status.success() {
            true => Ok(()),
            false => {
                tell(&String::from_utf8_lossy(&output.stderr));
                Err(BenchError::Failed { program: format!("mcp-tap {}", words.join(" ")) })
            }
        }
    }

    /// What the load client says of a phase.
    fn load(&self, phase: &str, command: &[String]) -> Result<Value, BenchError> {
        let mut client = Command::new(&self.load_client);
        client.args(["--phases", phase, "--calls", CALLS, "--pipelined", PIPELINED, "--"]).args(command);
        let output =
            client.output().map_err(|source| BenchError::Start { program: text(&self.load_client), source })?;
        let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        match report.get(phase).filter(|part| part.get("error").is_none()) {
            Some(part) => Ok(part.clone()),
            None => {
                tell(&report.to_string());
                Err(BenchError::Failed { program: format!("tap-load-client -- {}", command.join(" ")) })
            }
        }
    }

    fn beside_the_echo_server(&self, folder: &Path, rounds: usize) -> Result<Vec<Figure>, BenchError> {
        let mut figures = Vec::new();
        for (phase, name, unit, pointers) in [
            ("latency", "round trip", Unit::Microseconds, &["/p50_us", "/p99_us"][..]),
            ("pipeline", "100,000 calls at once", Unit::CallsPerSecond, &["/calls_per_s"][..]),
        ] {
            let database = text(&folder.join(format!("{phase}.db")));
            let echo = vec![text(&self.echo_server)];
            let recorded =
                [&[text(&self.tap), "run".into(), "--db".into(), database.clone(), "--".into()], &echo[..]].concat();
            self.load(phase, &recorded)?;
            let forms = [
                ("fixture", format!("{phase}.mcprec")),
                ("lossless", format!("{phase}.jsonl")),
                ("database", String::new()),
            ];
            let mut numbers: Vec<Vec<Value>> = vec![Vec::new(); forms.len() + 1];
            let mut commands = vec![echo];
            for (_, file) in &forms {
                let reference = match file.is_empty() {
                    true => "last".to_owned(),
                    false => {
                        let file = text(&folder.join(file));
                        self.tap(&["export", "last", "--db", &database, "-o", &file])?;
                        file
                    }
                };
                commands.push(vec![text(&self.tap), "replay".into(), "--db".into(), database.clone(), reference]);
            }
            for round in 0..rounds {
                for turn in 0..commands.len() {
                    let index = (round + turn) % commands.len();
                    let report = self.load(phase, &commands[index])?;
                    tell(&format!(
                        "round {} {phase} {} {}",
                        round + 1,
                        index,
                        pointers
                            .iter()
                            .filter_map(|pointer| report.pointer(pointer))
                            .map(Value::to_string)
                            .collect::<Vec<_>>()
                            .join(" ")
                    ));
                    numbers[index].push(report);
                }
            }
            for pointer in pointers {
                let spread = |index: usize| {
                    Spread::new(numbers[index].iter().filter_map(|report| report.pointer(pointer)?.as_f64()).collect())
                };
                for (index, (form, _)) in forms.iter().enumerate() {
                    figures.push(Figure {
                        name: format!(
                            "{name}, {}, {form}",
                            pointer.trim_matches('/').split('_').next().unwrap_or_default()
                        ),
                        unit,
                        echo: spread(0),
                        measured: spread(index + 1),
                        target: match *pointer {
                            "/p50_us" => Target::AtMostTimesEcho(1.0),
                            "/calls_per_s" => Target::AtLeastTimesEcho(1.0),
                            _ => Target::Nothing,
                        },
                    });
                }
            }
        }
        Ok(figures)
    }

    fn large(&self, folder: &Path, rounds: usize) -> Result<Vec<Figure>, BenchError> {
        let failed = |source: io::Error| BenchError::Write { path: folder.into(), source };
        let n_calls = LARGE_BYTES / (ANSWER_BYTES + 400);
        let database = folder.join("large.db");
        let lossless = folder.join("large.jsonl");
        let fixture = folder.join("large.mcprec");
        write_large(&lossless, n_calls, false).map_err(failed)?;
        write_large(&fixture, n_calls, true).map_err(failed)?;
        self.tap(&["import", "--db", &text(&database), &text(&lossless)])?;
        let mut figures = Vec::new();
        for (form, reference) in
            [("lossless", text(&lossless)), ("fixture", text(&fixture)), ("database", "last".to_owned())]
        {
            // The first call, and the last one, which is read up to.
            for (which, call) in [("first", 0), ("last", n_calls - 1)] {
                let (mut answered, mut called, mut peak) = (Vec::new(), Vec::new(), Vec::new());
                for _ in 0..rounds.min(3) {
                    let mut command = Command::new(&self.tap);
                    command.args(["replay", "--db", &text(&database), &reference]);
                    let first = first_answer(command, call).map_err(failed)?;
                    answered.push(first.opened_ms);
                    called.push(first.called_ms);
                    peak.push(first.peak_kib / 1024.0);
                }
                let figure = |name: String, unit, numbers, target| Figure {
                    name,
                    unit,
                    echo: None,
                    measured: Spread::new(numbers),
                    target,
                };
                tell(&format!("{form} {which}: {answered:?} {called:?} {peak:?}"));
                if which == "first" {
                    let name = format!("1 GiB, start to first answer, {form}");
                    figures.push(figure(name, Unit::Milliseconds, answered, Target::LessThan(1000.0)));
                }
                let name = format!("1 GiB, {which} call, {form}");
                figures.push(figure(name, Unit::Milliseconds, called, Target::Nothing));
                let name = format!("1 GiB, peak memory up to the {which} call, {form}");
                figures.push(figure(name, Unit::Mebibytes, peak, Target::LessThan(256.0)));
            }
        }
        Ok(figures)
    }
}

/// Writes a recording of calls with answers of 8 KiB.
fn write_large(path: &Path, n_calls: usize, is_fixture: bool) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(path)?);
    let profile = if is_fixture { "fixture" } else { "lossless" };
    writeln!(out, r#"{{"mcp-tap":"recording/1","profile":"{profile}","server":"large","transport":"stdio"}}"#)?;
    let mut n_records = 0_u64;
    let mut record = |out: &mut BufWriter<File>, to: &str, message: &str| {
        n_records += 1;
        match is_fixture {
            true => writeln!(out, r#"{{"to":"{to}","msg":{message}}}"#),
            false => {
                writeln!(out, r#"{{"to":"{to}","at":{}.{:09},"msg":{message}}}"#, n_records / 1000, n_records % 1000)
            }
        }
    };
    record(&mut out, "server", OPENING)?;
    record(
        &mut out,
        "client",
        r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"large","version":"1"}}}"#,
    )?;
    let answer = "0123456789abcdef".repeat(ANSWER_BYTES / 16);
    for call in 0..n_calls {
        let id = call + 1;
        record(&mut out, "server", &call_of(id, call))?;
        record(
            &mut out,
            "client",
            &format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{call} {answer}"}}]}}}}"#
            ),
        )?;
    }
    if is_fixture {
        let gaps = vec!["50"; usize::try_from(n_records).unwrap_or_default()];
        writeln!(out, r#"{{"gaps_us":[{}]}}"#, gaps.join(","))?;
    }
    out.flush()
}

const OPENING: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;

fn call_of(id: usize, call: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"n":{call}}}}}}}"#
    )
}

/// How soon a playback answered.
struct First {
    /// From its start to the handshake.
    opened_ms: f64,
    /// From the call to its answer.
    called_ms: f64,
    peak_kib: f64,
}

fn first_answer(mut command: Command, call: usize) -> io::Result<First> {
    let started = Instant::now();
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let mut stdout = BufReader::new(stdout);
    let mut answer = String::new();
    writeln!(stdin, "{OPENING}")?;
    stdout.read_line(&mut answer)?;
    let opened_ms = started.elapsed().as_secs_f64() * 1e3;
    answer.clear();
    let called = Instant::now();
    writeln!(stdin, "{}", call_of(7, call))?;
    stdout.read_line(&mut answer)?;
    let called_ms = called.elapsed().as_secs_f64() * 1e3;
    let status = fs::read_to_string(format!("/proc/{}/status", child.id()))?;
    drop(stdin);
    child.wait()?;
    if !answer.contains(&format!("\"text\":\"{call} ")) {
        return Err(io::Error::other(format!(
            "not the recorded answer: {}",
            answer.chars().take(200).collect::<String>()
        )));
    }
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next()?.parse().ok());
    Ok(First { opened_ms, called_ms, peak_kib: peak.unwrap_or(f64::NAN) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_met_at_their_border_and_missed_past_it() {
        let spread = |number: f64| Spread::new(vec![number]);
        for (target, echo, measured, expected) in [
            (Target::LessThan(10.0), None, Some(9.0), Verdict::Met),
            (Target::LessThan(10.0), None, Some(10.0), Verdict::Missed),
            (Target::AtMostTimesEcho(1.0), Some(5.0), Some(5.0), Verdict::Met),
            (Target::AtMostTimesEcho(1.0), Some(5.0), Some(5.1), Verdict::Missed),
            (Target::AtLeastTimesEcho(1.0), Some(5.0), Some(5.0), Verdict::Met),
            (Target::AtLeastTimesEcho(1.0), Some(5.0), Some(4.9), Verdict::Missed),
            (Target::AtLeastTimesEcho(1.0), None, Some(4.9), Verdict::Unknown),
            (Target::Nothing, None, None, Verdict::None),
        ] {
            let (echo, measured) = (echo.and_then(spread), measured.and_then(spread));
            let figure = Figure { name: "x".into(), unit: Unit::Milliseconds, echo, measured, target };
            assert_eq!(figure.verdict(), expected, "{target:?}");
        }
    }

    #[test]
    fn a_large_recording_is_one() {
        let folder = tempfile::tempdir().expect("a folder");
        for is_fixture in [false, true] {
            let path = folder.path().join("a.jsonl");
            write_large(&path, 3, is_fixture).expect("it is written");
            let text = fs::read_to_string(&path).expect("it is there");
            let records: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            assert_eq!(records.len(), 1 + 2 + 6 + usize::from(is_fixture));
            let last = records.last().and_then(|record| record["gaps_us"].as_array()).map(Vec::len);
            assert_eq!(last, is_fixture.then_some(8));
        }
    }
}
