//! Trials with one thing changed, until it is known what is missing.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use super::judge::{Finding, of_answered, of_failed, of_noise};
use super::surroundings::{Looked, Surroundings, look_up};
use super::trial::{Era, Start, Trial, try_it};

/// How often a server is started to find out which variables it needs.
const TRIALS: usize = 24;

/// A server that is to be looked at.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// Where it is configured.
    pub(super) place: Option<String>,
    pub(super) program: OsString,
    pub(super) arguments: Vec<OsString>,
    /// Variables that the configuration sets.
    pub(super) environment: Vec<(String, String)>,
    pub(super) surroundings: Surroundings,
    /// How long an answer is waited for, and from when on it is slow.
    pub(super) wait: Duration,
    pub(super) slow: Duration,
}

/// What was found.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) name: String,
    pub(super) place: Option<String>,
    pub(super) findings: Vec<Finding>,
    pub(super) notes: Vec<String>,
}

impl Report {
    pub(super) fn new(name: &str, place: Option<&str>) -> Self {
        Self { name: name.to_owned(), place: place.map(str::to_owned), findings: Vec::new(), notes: Vec::new() }
    }
}

pub(super) fn examine(case: &Case) -> Report {
    let mut report = Report::new(&case.name, case.place.as_deref());
    let Some(start) = start(case, &mut report) else {
        return report;
    };
    let first = try_it(&start, Era::Legacy, case.wait);
    if first.is_answered() {
        answered(case, &first, &mut report);
        return report;
    }
    // Speaks it only the newer revision?
    if first.answer.is_some() {
        let modern = try_it(&start, Era::Modern, case.wait);
        if modern.is_answered() {
            report.findings.push(Finding::bad(
                "wrong-era",
                "it refuses `initialize`, and answers `server/discover`: it speaks 2026-07-28 alone, which most hosts do not",
                "take a release of the server that speaks both, or a host that does (Claude Code, or one with a newer SDK)",
            ));
            answered(case, &modern, &mut report);
            return report;
        }
    }
    // With all that we have in the environment?
    let full = Start { environment: all_variables(&start), ..start.clone() };
    if full.environment.len() > start.environment.len() && first.not_started.is_none() {
        let second = try_it(&full, Era::Legacy, case.wait);
        if second.is_answered() {
            let names = needed(&start, &full, case.wait);
            report.findings.push(needs(case, &names, &first));
            answered(case, &second, &mut report);
            return report;
        }
    }
    // In the folder that is worked in?
    let here = std::env::current_dir().unwrap_or_default();
    let mut elsewhere = vec![here];
    elsewhere.extend(start.file.parent().map(Path::to_owned));
    elsewhere.retain(|folder| *folder != start.folder);
    for folder in elsewhere {
        let moved = Start { folder: folder.clone(), ..start.clone() };
        let third = if first.not_started.is_none() { try_it(&moved, Era::Legacy, case.wait) } else { Trial::default() };
        if third.is_answered() {
            let what = format!(
                "it works in {}, and not in {}, where {} starts it",
                folder.display(),
                start.folder.display(),
                case.surroundings.who
            );
            let fix = format!(
                "write whole paths in its arguments; or, where the host has it, \"cwd\": \"{}\"",
                folder.display()
            );
            report.findings.push(Finding::bad("wrong-folder", what, fix).with(tail(&first)));
            answered(case, &third, &mut report);
            return report;
        }
    }
    report.findings.extend(of_noise(&first));
    let runtime = runtime(&start);
    report.findings.push(of_failed(&first, runtime.as_deref()));
    report
}

fn tail(trial: &Trial) -> Vec<String> {
    trial.stderr.iter().skip(trial.stderr.len().saturating_sub(3)).cloned().collect()
}

fn answered(case: &Case, trial: &Trial, report: &mut Report) {
    report.findings.extend(of_noise(trial));
    let (findings, notes) = of_answered(trial, case.slow);
    report.findings.extend(findings);
    report.notes.extend(notes);
}

/// How the host would start it; `None` where it cannot, which is then told.
fn start(case: &Case, report: &mut Report) -> Option<Start> {
    let Surroundings { who, folder, environment, path, .. } = &case.surroundings;
    let program = case.program.to_string_lossy();
    if !folder.is_dir() {
        let what = format!("the folder that it is to be started in is not there: {}", folder.display());
        report.findings.push(Finding::bad("wrong-folder", what, "make it, or write another one as its `cwd`"));
        return None;
    }
    let mut all = environment.clone();
    for (name, value) in &case.environment {
        all.retain(|(known, _)| known != OsStr::new(name));
        all.push((name.into(), value.into()));
    }
    let path = all.iter().find(|(name, _)| name == "PATH").map_or(path, |(_, path)| path).clone();
    let mut start = Start {
        file: PathBuf::new(),
        program: case.program.clone(),
        arguments: case.arguments.clone(),
        folder: folder.clone(),
        environment: all,
    };
    match look_up(&case.program, &path, folder) {
        Looked::At(file) => start.file = file,
        Looked::NoProgram(file, why) => {
            let fix = match why {
                "it may not be executed" => {
                    format!("chmod +x {}; or start it by what runs it, such as `node` or `python3`", file.display())
                }
                _ => "write the path of the program".into(),
            };
            report.findings.push(Finding::bad("not-executable", format!("{}: {why}", file.display()), fix));
            return None;
        }
        Looked::Nowhere => {
            let own = std::env::var_os("PATH").unwrap_or_default();
            let here = std::env::current_dir().unwrap_or_default();
            let finding = match look_up(&case.program, &own, &here) {
                Looked::At(file) if program.contains('/') => {
                    start.file = file;
                    let what = format!(
                        "{program} is not in {}, where {who} starts it; it is in {}",
                        folder.display(),
                        here.display()
                    );
                    Finding::bad("wrong-folder", what, format!("write its whole path: {}", start.file.display()))
                }
                Looked::At(file) => {
                    // With what else it needs from there.
                    let joined =
                        std::env::join_paths(std::env::split_paths(&path).chain(file.parent().map(Path::to_owned)));
                    start.environment.retain(|(name, _)| name != "PATH");
                    start.environment.push(("PATH".into(), joined.unwrap_or(own)));
                    start.file = file;
                    let what = format!("`{program}` is not where {who} looks for programs: {}", path.to_string_lossy());
                    let folder = start.file.parent().unwrap_or(Path::new("/")).display().to_string();
                    let fix = format!(
                        "write its whole path: {}. If it needs others beside it, also set under `env` of the server: \"PATH\": \"{folder}:{}\"",
                        start.file.display(),
                        path.to_string_lossy()
                    );
                    Finding::bad("not-on-path", what, fix)
                }
                Looked::NoProgram(..) | Looked::Nowhere if program.contains('/') => {
                    Finding::bad("not-on-path", format!("there is no {program}"), "install it, or mend its path")
                }
                Looked::NoProgram(..) | Looked::Nowhere if program.contains(' ') => Finding::bad(
                    "not-on-path",
                    format!("there is no program `{program}`: a command is one word, without its arguments"),
                    "write the first word as the command, and the others as its arguments",
                ),
                Looked::NoProgram(..) | Looked::Nowhere => {
                    let what = format!("there is no `{program}`, neither on the PATH of {who} nor on ours");
                    Finding::bad("not-on-path", what, format!("install {program}, or write the whole path of it"))
                }
            };
            let is_there = !start.file.as_os_str().is_empty();
            report.findings.push(finding);
            if !is_there {
                return None;
            }
        }
    }
    Some(start)
}

/// The environment of the start, and all else that is in ours.
fn all_variables(start: &Start) -> Vec<(OsString, OsString)> {
    let mut all = start.environment.clone();
    let is_new = |name: &OsStr| !start.environment.iter().any(|(known, _)| known == name);
    // What we ourselves are told is not meant for a server.
    let is_ours = |name: &OsStr| name.as_encoded_bytes().starts_with(b"MCP_TAP_");
    all.extend(std::env::vars_os().filter(|(name, _)| is_new(name) && !is_ours(name)));
    all
}

/// Which of our variables it needs: as few as are found within so many trials.
fn needed(start: &Start, full: &Start, wait: Duration) -> Vec<OsString> {
    let extra: Vec<(OsString, OsString)> = full
        .environment
        .iter()
        .filter(|(name, _)| !start.environment.iter().any(|(known, _)| known == name))
        .cloned()
        .collect();
    let works = |kept: &[(OsString, OsString)]| {
        let environment = [start.environment.clone(), kept.to_vec()].concat();
        try_it(&Start { environment, ..start.clone() }, Era::Legacy, wait).is_answered()
    };
    fewest(extra, works).into_iter().map(|(name, _)| name).collect()
}

/// As few of some things as something still works with: parts are left out that can be, first large ones, then small ones.
fn fewest<T: Clone>(all: Vec<T>, mut works: impl FnMut(&[T]) -> bool) -> Vec<T> {
    let mut kept = all;
    let mut part = kept.len().div_ceil(2);
    let mut n_trials = 0;
    while part > 0 {
        let mut at = 0;
        while at < kept.len() && kept.len() > 1 && n_trials < TRIALS {
            let end = (at + part).min(kept.len());
            let rest = [kept.get(..at).unwrap_or_default(), kept.get(end..).unwrap_or_default()].concat();
            n_trials += 1;
            if works(&rest) { kept = rest } else { at = end }
        }
        part = if part == 1 { 0 } else { part.div_ceil(2) };
    }
    kept
}

fn needs(case: &Case, names: &[OsString], first: &Trial) -> Finding {
    let names: Vec<String> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    let list = names.join(", ");
    let what =
        format!("it needs {list} in its environment: it is in ours, and hosts pass on hardly any variables to servers");
    let fix = match case.place {
        Some(_) => format!("set {list} under `env` of the server in the configuration"),
        None => format!("set {list} under `env` of the server in the host's configuration"),
    };
    Finding::bad("needs-variable", what, fix).with(tail(first))
}

/// What runs the server, with its version, if it is something that has one.
fn runtime(start: &Start) -> Option<String> {
    let name = Path::new(&start.program).file_name()?.to_string_lossy().into_owned();
    let runner = match name.as_str() {
        "npx" | "npm" => "node",
        "uvx" | "pipx" => "python3",
        "node" | "python" | "python3" | "deno" | "bun" | "java" | "ruby" => name.as_str(),
        _ => &interpreter(&start.file)?,
    };
    let path = start.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.clone())?;
    let Looked::At(file) = look_up(OsStr::new(runner), &path, &start.folder) else {
        return None;
    };
    let output = Command::new(&file)
        .arg("--version")
        .env_clear()
        .envs(start.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let version = said.lines().next().filter(|line| !line.is_empty())?.to_owned();
    Some(format!("{} ({version})", file.display()))
}

/// What the first line of a script names.
fn interpreter(file: &Path) -> Option<String> {
    use std::io::Read;
    let mut head = [0; 128];
    let n_read = std::fs::File::open(file).and_then(|mut file| file.read(&mut head)).ok()?;
    let head = String::from_utf8_lossy(head.get(..n_read)?).into_owned();
    let words: Vec<&str> = head.lines().next()?.strip_prefix("#!")?.split_whitespace().collect();
    let name = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
    match words.as_slice() {
        [env, rest @ ..] if name(env) == "env" => {
            rest.iter().find(|word| !word.starts_with('-')).map(|word| name(word))
        }
        [program, ..] => Some(name(program)),
        [] => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_is_found_among_many() {
        for needed in [vec![7], vec![0], vec![49], vec![3, 40]] {
            let mut n_trials = 0;
            let found = fewest((0..50).collect(), |kept: &[i32]| {
                n_trials += 1;
                needed.iter().all(|one| kept.contains(one))
            });
            assert!(needed.iter().all(|one| found.contains(one)), "{needed:?}: {found:?}");
            assert!(n_trials <= TRIALS && found.len() <= needed.len() * 4, "{needed:?}: {found:?} in {n_trials}");
        }
    }
}
