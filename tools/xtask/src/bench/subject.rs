//! Who is measured, and one run of it.

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use serde::Serialize;
use serde_json::{Value, json};
use tempfile::TempDir;

use super::build::{Programs, Tap};
use super::phase::Phase;
use super::{Arguments, number_at};

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Subject {
    /// The server alone.
    None,
    /// The least that a tap can do; it writes what passes to two files, unless `--bare-copier`.
    Copier,
    /// The tap, on a fresh database.
    Tap,
    /// The same with a breakpoint that never matches, so that each message is judged.
    Armed,
}

/// One run of a subject in a phase.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Run {
    pub(super) round: usize,
    pub(super) phase: Phase,
    pub(super) subject: Subject,
    /// The load client's report of the phase, with what [`Phase::complete`] adds and, for the tap, `messages_recorded`;
    /// `written_bytes` is what it left on the disk; `{"error": …}` for a run without figures.
    pub(super) report: Value,
}

/// A filter that has to look at each message, and fits none.
const NEVER: &str = "tool:no_such_tool arg.path:/etc/*";

impl Subject {
    /// Those of each phase.
    pub(super) const ALL: [Self; 3] = [Self::None, Self::Copier, Self::Tap];

    /// Those of the phases in which each message is small.
    pub(super) const SMALL: [Self; 4] = [Self::None, Self::Copier, Self::Tap, Self::Armed];

    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Copier => "copier",
            Self::Tap => "tap",
            Self::Armed => "armed",
        }
    }
}

impl Programs {
    /// Runs a subject in a folder of its own, which is deleted afterwards.
    pub(super) fn run(&self, round: usize, phase: Phase, subject: Subject, arguments: &Arguments) -> Run {
        let report = self.report(phase, subject, arguments).unwrap_or_else(|error| json!({"error": error}));
        Run { round, phase, subject, report }
    }

    fn report(&self, phase: Phase, subject: Subject, arguments: &Arguments) -> Result<Value, String> {
        let folder = TempDir::with_prefix_in("tap-bench-", &arguments.dir)
            .map_err(|error| format!("cannot make a folder in {}: {error}", arguments.dir.display()))?;
        warm_up(folder.path(), phase.warm_up_bytes()).map_err(|error| format!("cannot write a file: {error}"))?;
        let output = Command::new(&self.load_client)
            .args(phase.client_arguments(arguments))
            .arg("--")
            .args(self.command(subject, folder.path(), arguments.bare_copier))
            .stderr(Stdio::inherit())
            .output()
            .map_err(|error| format!("cannot run {}: {error}", self.load_client.display()))?;
        let mut report = phase_report(phase, &output)?;
        phase.complete(&mut report);
        let database = database_in(folder.path());
        if let (Subject::Tap | Subject::Armed, Tap::McpTap(program)) = (subject, &self.tap) {
            let started = Instant::now();
            report["messages_recorded"] = match recorded_messages(program, &database) {
                Ok(n_messages) => json!(n_messages),
                Err(error) => {
                    report["recorded_error"] = json!(error);
                    Value::Null
                }
            };
            report["first_look_ms"] = json!(started.elapsed().as_secs_f64() * 1e3);
        }
        if let (Subject::Tap, Phase::List, Tap::McpTap(program)) = (subject, phase, &self.tap) {
            // The counting above was the first look at the recording, which works out what all of it meant.
            for (key, part) in [("last", "last"), ("first", "last:1.."), ("middle", "last:500000..")] {
                for (kind, flag) in [("calls", "--calls"), ("frames", "--frames")] {
                    report["list_ms"][kind][key] = json!(list_ms(program, &database, part, flag)?);
                }
            }
        }
        if let Ok(written) = folder_bytes(folder.path()) {
            report["written_bytes"] = json!(written);
        }
        Ok(report)
    }

    /// The command for the load client: the subject, and the server behind it.
    fn command(&self, subject: Subject, folder: &Path, bare_copier: bool) -> Vec<String> {
        let text = |path: &Path| path.to_string_lossy().into_owned();
        let database = text(&database_in(folder));
        let mut words = match (subject, &self.tap) {
            (Subject::None, _) => Vec::new(),
            (Subject::Copier, _) if bare_copier => vec![text(&self.byte_copier), "--".to_owned()],
            (Subject::Copier, _) => {
                vec![text(&self.byte_copier), "--log".to_owned(), text(&folder.join("log")), "--".to_owned()]
            }
            (Subject::Tap, Tap::McpTap(program)) => {
                vec![text(program), "run".to_owned(), "--db".to_owned(), database, "--".to_owned()]
            }
            (Subject::Armed, Tap::McpTap(program)) => {
                let words = ["run", "--db", &database, "--break", NEVER, "--"];
                std::iter::once(text(program)).chain(words.map(str::to_owned)).collect()
            }
            (Subject::Tap | Subject::Armed, Tap::Wrapper(words)) => {
                words.iter().map(|word| word.replace("{db}", &database)).collect()
            }
        };
        words.push(text(&self.echo_server));
        words
    }
}

impl fmt::Display for Run {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (phase, subject) = (self.phase.client_name(), self.subject.name());
        write!(formatter, "round {} {phase:<9} {subject:<6} ", self.round + 1)?;
        if let Some(error) = self.report.get("error").or_else(|| self.report.get("recorded_error")) {
            return write!(formatter, "{error}");
        }
        let shown = match self.phase {
            Phase::Latency => ["/p50_us", "/p99_us"],
            Phase::Burst => ["/calls_per_s", "/messages_recorded"],
            Phase::Large => ["/echoed_mib_per_s", "/messages_recorded"],
            Phase::Startup => ["/initialize_ms/median", "/round_ms/median"],
            Phase::List => ["/first_look_ms", "/list_ms/calls/last"],
            Phase::Sustained => ["/messages_per_s", "/last_quarter_max_kib"],
        };
        let name = |pointer: &str| pointer.trim_start_matches('/').replace('/', " ");
        let shown =
            shown.iter().filter_map(|pointer| Some(format!("{} {}", name(pointer), number_at(&self.report, pointer)?)));
        write!(formatter, "{}", shown.collect::<Vec<_>>().join(", "))
    }
}

fn database_in(folder: &Path) -> PathBuf {
    folder.join("tap.db")
}

/// The part of the phase in what the load client printed.
fn phase_report(phase: Phase, output: &Output) -> Result<Value, String> {
    let report: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("the load client ended with {} and no report: {error}", output.status))?;
    match &report[phase.client_name()] {
        Value::Null => Err(format!("the load client ended with {} and no such phase", output.status)),
        part => match part.get("error").and_then(Value::as_str) {
            Some(error) => Err(error.to_owned()),
            None => Ok(part.clone()),
        },
    }
}

/// How many messages a recording holds, as `mcp-tap ls` counts them.
pub(super) fn recorded_messages(program: &Path, database: &Path) -> Result<u64, String> {
    let output = Command::new(program).arg("ls").arg("--db").arg(database).arg("--json").output();
    let output = output.map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !output.status.success() {
        return Err(format!("mcp-tap ls: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    sum_of_messages(&output.stdout)
}

/// How long `mcp-tap log -n 50` takes, milliseconds: the median of eleven.
fn list_ms(program: &Path, database: &Path, part: &str, flag: &str) -> Result<f64, String> {
    let mut taken = Vec::new();
    for _ in 0..11 {
        let started = Instant::now();
        let mut command = Command::new(program);
        command.args(["log", "-n", "50", flag, "-s", part, "--db"]).arg(database);
        let output = command.output().map_err(|error| format!("cannot run {}: {error}", program.display()))?;
        taken.push(started.elapsed().as_secs_f64() * 1e3);
        let n_lines = output.stdout.split_inclusive(|byte| *byte == b'\n').count();
        if n_lines != 50 {
            return Err(format!("mcp-tap log printed {n_lines} lines and not 50"));
        }
    }
    taken.sort_by(f64::total_cmp);
    Ok(taken[taken.len() / 2])
}

/// The sum of the field `messages` over all sessions: one object a line, or an array of objects.
fn sum_of_messages(listing: &[u8]) -> Result<u64, String> {
    let values = serde_json::Deserializer::from_slice(listing).into_iter::<Value>();
    let mut n_messages = 0;
    for value in values {
        let value = value.map_err(|error| format!("mcp-tap ls printed no JSON: {error}"))?;
        let sessions = match value {
            Value::Array(sessions) => sessions,
            session => vec![session],
        };
        for session in sessions {
            n_messages += session["messages"].as_u64().ok_or("mcp-tap ls printed a session without `messages`")?;
        }
    }
    Ok(n_messages)
}

/// Writes a file of so many bytes, and deletes it.
pub(super) fn warm_up(folder: &Path, n_bytes: usize) -> io::Result<()> {
    if n_bytes == 0 {
        return Ok(());
    }
    let path = folder.join("warm-up");
    let (mut file, block) = (fs::File::create(&path)?, vec![1; 1 << 20]);
    for _ in 0..n_bytes / block.len() {
        file.write_all(&block)?;
    }
    fs::remove_file(path)
}

/// How much the subject left on the disk.
fn folder_bytes(folder: &Path) -> io::Result<u64> {
    fs::read_dir(folder)?.map(|entry| Ok(entry?.metadata()?.len())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn programs(tap: Tap) -> Programs {
        let path = |name: &str| PathBuf::from(format!("/t/{name}"));
        Programs { load_client: path("client"), echo_server: path("server"), byte_copier: path("copier"), tap }
    }

    #[test]
    fn the_server_stands_behind_each_subject() {
        let tap = || Tap::McpTap("/t/tap".into());
        let wrapper = Tap::Wrapper(["sh", "-c", "x {db} {db}"].map(str::to_owned).to_vec());
        for (tap, subject, bare_copier, expected) in [
            (tap(), Subject::None, false, &["/t/server"][..]),
            (tap(), Subject::Copier, false, &["/t/copier", "--log", "/f/log", "--", "/t/server"]),
            (tap(), Subject::Copier, true, &["/t/copier", "--", "/t/server"]),
            (tap(), Subject::Tap, false, &["/t/tap", "run", "--db", "/f/tap.db", "--", "/t/server"]),
            (wrapper, Subject::Tap, false, &["sh", "-c", "x /f/tap.db /f/tap.db", "/t/server"]),
        ] {
            assert_eq!(programs(tap).command(subject, Path::new("/f"), bare_copier), expected);
        }
    }

    #[test]
    fn sessions_are_counted_as_lines_or_as_an_array() {
        for (listing, expected) in [
            ("", Some(0)),
            ("{\"messages\":200005}\n", Some(200_005)),
            ("{\"messages\":1}\n{\"messages\":2}\n", Some(3)),
            ("[{\"messages\":1},{\"messages\":2}]", Some(3)),
            ("{\"frames\":1}", None),
            ("1 session", None),
        ] {
            assert_eq!(sum_of_messages(listing.as_bytes()).ok(), expected, "listing: {listing:?}");
        }
    }

    #[test]
    fn a_phase_that_failed_is_an_error() {
        for (stdout, expected) in [
            (r#"{"pipeline":{"calls":1}}"#, Ok(json!({"calls": 1}))),
            (r#"{"pipeline":{"error":"killed"}}"#, Err("killed".to_owned())),
            (r#"{"latency":{}}"#, Err("the load client ended with exit status: 0 and no such phase".to_owned())),
        ] {
            let output = Output { status: ExitStatus::from_raw(0), stdout: stdout.into(), stderr: Vec::new() };
            assert_eq!(phase_report(Phase::Burst, &output), expected);
        }
    }
}
