//! The official conformance suite, scenario by scenario, with and without a tap.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::programs::run;
use crate::peers::Conformance;
use crate::support::Scratch;

/// How long a set of scenarios may take. It takes some seconds.
const SUITE_LIMIT: Duration = Duration::from_secs(180);

/// How long one scenario may take. They run at the same time, on a busy machine.
const SCENARIO_LIMIT: Duration = Duration::from_secs(90);

/// How often scenarios may be run until they are the same: some measure time, which a busy machine has its own idea of.
const N_ATTEMPTS: usize = 2;

/// The checks of each scenario, each with its status.
pub(super) type Results = BTreeMap<String, Vec<String>>;

/// Runs scenarios directly and through something, and compares.
///
/// `run_through` is told whether it is to be through it, and where results go. Scenarios that `is_other` names may differ.
#[track_caller]
pub(super) fn check_same(
    scratch: &Scratch,
    n_scenarios: usize,
    is_other: impl Fn(&str) -> bool,
    run_through: impl Fn(bool, &Path),
) {
    let mut differing: Option<BTreeMap<String, String>> = None;
    for attempt in 1..=N_ATTEMPTS {
        let [direct, through] = [false, true].map(|is_through| {
            let folder = scratch.path(&format!("results-{attempt}-{is_through}"));
            run_through(is_through, &folder);
            results(&folder)
        });
        assert_eq!(direct.len(), n_scenarios, "{:#?}", direct.keys());
        let names = direct.keys().chain(through.keys()).filter(|name| !is_other(name));
        let found: BTreeMap<String, String> = names
            .filter(|name| direct.get(*name) != through.get(*name))
            .filter(|name| differing.as_ref().is_none_or(|differing| differing.contains_key(*name)))
            .map(|name| (name.clone(), difference(direct.get(name), through.get(name))))
            .collect();
        if found.is_empty() {
            return;
        }
        eprintln!("attempt {attempt}: other results through the tap: {found:#?}");
        differing = Some(found);
    }
    panic!("other results through the tap in each attempt: {differing:#?}");
}

/// Runs the scenarios that a revision requires of a server. Gives the [verdicts].
#[track_caller]
pub(crate) fn run_server_scenarios(suite: &Conformance, url: &str, revision: &str, folder: &Path) -> Verdicts {
    run_suite(suite, &["server".into(), "--url".into(), url.into()], revision, folder)
}

/// Runs the scenarios that a revision requires of a client. Gives the [verdicts].
#[track_caller]
pub(crate) fn run_client_scenarios(
    suite: &Conformance,
    client: &[OsString],
    revision: &str,
    folder: &Path,
) -> Verdicts {
    // The suite cuts it at spaces, and has no way to say that one belongs to a word.
    let command = client.join(&OsString::from(" "));
    run_suite(suite, &["client".into(), "--command".into(), command], revision, folder)
}

#[track_caller]
fn run_suite(suite: &Conformance, what: &[OsString], revision: &str, folder: &Path) -> Verdicts {
    let words = suite.suite();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(what).args(["--requirements", revision, "--output-dir"]).arg(folder);
    command.args(["--timeout", &SCENARIO_LIMIT.as_millis().to_string()]);
    let output = run(command, SUITE_LIMIT).unwrap_or_else(|| panic!("{what:?} did not end in {SUITE_LIMIT:?}"));
    // It ends with 1 if one scenario fails, which some do directly too.
    assert!(folder.is_dir(), "{what:?}: {}", String::from_utf8_lossy(&output.stderr));
    verdicts(&String::from_utf8_lossy(&output.stdout))
}

/// Which scenarios passed, as the suite itself says in its summary, and in its words what became of them.
pub(crate) type Verdicts = BTreeMap<String, (bool, String)>;

/// Reads the lines `✓ NAME: 1 passed, 0 failed` of a summary.
fn verdicts(told: &str) -> Verdicts {
    let summary = told.rsplit("SUMMARY ===").next().unwrap_or_default();
    // What is not scored is listed once more below.
    let lines = summary.lines().take_while(|line| !line.starts_with("Total:"));
    let marked = lines.filter_map(|line| {
        let (is_passed, rest) = match (line.strip_prefix("✓ "), line.strip_prefix("✗ ")) {
            (Some(rest), _) => (true, rest),
            (None, rest) => (false, rest?),
        };
        let (name, counts) = rest.split_once(": ")?;
        Some((name.to_owned(), (is_passed, counts.to_owned())))
    });
    marked.collect()
}

/// Scenarios that do not pass, by the beginnings of their names, and why.
pub(crate) type Expected = &'static [(&'static str, &'static str)];

/// Checks that all scenarios pass but those that are expected not to, each of which really does not.
#[track_caller]
pub(crate) fn check_verdicts(verdicts: &Verdicts, n_scenarios: usize, failing: Expected) {
    assert_eq!(verdicts.len(), n_scenarios, "{verdicts:#?}");
    let why = |name: &str| failing.iter().find(|(beginning, _)| name.starts_with(beginning)).map(|(_, why)| why);
    let wrong = verdicts.iter().filter_map(|(name, (is_passed, counts))| match (why(name), is_passed) {
        (None, false) => Some(format!("{name} does not pass: {counts}")),
        (Some(why), true) => Some(format!("{name} passes, though {why}")),
        _ => None,
    });
    assert_eq!(wrong.collect::<Vec<_>>(), [""; 0]);
    for (beginning, _) in failing {
        assert!(verdicts.keys().any(|name| name.starts_with(beginning)), "there is no scenario {beginning}");
    }
}

/// Reads the results below a folder: `SCENARIO-TIME/checks.json`, where a scenario's name may hold slashes.
#[track_caller]
fn results(folder: &Path) -> Results {
    let mut found = Results::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.ends_with("checks.json") {
                let checks: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                let scenario = next.strip_prefix(folder).unwrap().to_str().unwrap();
                found.entry(without_time(scenario)).or_default().extend(checks.iter().filter_map(told));
            }
        }
    }
    for checks in found.values_mut() {
        // How often a thing was checked depends on how often it was asked for, which some clients do until they end.
        checks.sort();
        checks.dedup();
    }
    found
}

/// `a-scenario` of `a-scenario-2026-11-30T13-51-45-317Z`.
fn without_time(scenario: &str) -> String {
    let length = "-2026-11-30T13-51-45-317Z".len();
    scenario.get(..scenario.len().saturating_sub(length)).unwrap_or_default().to_owned()
}

fn told(check: &Value) -> Option<String> {
    let text = |key: &str| check[key].as_str().unwrap_or_default();
    // Some tell what was seen, which holds times and ports.
    (text("status") != "INFO")
        .then(|| format!("{}: {} {}", text("id"), text("status"), without_digits(text("errorMessage"))))
}

/// Ports, times and identifiers are others each time.
fn without_digits(text: &str) -> String {
    text.chars().filter(|character| !character.is_ascii_digit()).collect()
}

/// What is only in one of them.
fn difference(direct: Option<&Vec<String>>, through: Option<&Vec<String>>) -> String {
    let (Some(direct), Some(through)) = (direct, through) else {
        return format!("directly {direct:?}, through it {through:?}");
    };
    let only = |these: &[String], those: &[String]| -> Vec<String> {
        these.iter().filter(|check| !those.contains(check)).cloned().collect()
    };
    format!("only directly {:?}, only through it {:?}", only(direct, through), only(through, direct))
}
