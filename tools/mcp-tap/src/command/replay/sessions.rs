//! Reports of a playback over HTTP: each session is a process of ours that leaves its own, and at the end they are one.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::told::tell_unused;
use crate::arguments::{Global, Replay};
use crate::failure::{Failure, NO};
use crate::new_file::{NewFile, Readers, cannot_write};
use crate::temporary::TemporaryFolder;

/// Members that are lists: those of all sessions, one after the other.
const LISTS: [&str; 4] = ["asked", "passed_on", "misses", "notes"];

/// Members that are counts.
const COUNTS: [&str; 5] = ["received", "repeated", "n_passed_on", "progress_left_out", "n_misses"];

/// Where sessions leave their reports.
pub(super) struct Sessions(TemporaryFolder);

/// The file of this process in the folder.
pub(super) fn file_in(folder: &Path) -> PathBuf {
    // In the order in which they ended; of several that did at the same time, in any.
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    folder.join(format!("{:020}-{}.json", now.as_nanos(), std::process::id()))
}

impl Sessions {
    pub(super) fn new() -> Result<Self, Failure> {
        TemporaryFolder::new("reports").map(Self)
    }

    pub(super) fn folder(&self) -> &Path {
        self.0.path()
    }

    /// All sessions are over: tells and writes what came of all of them, and gives the exit code.
    pub(super) fn end(&self, global: &Global, replay: &Replay) -> Result<u8, Failure> {
        let dials = &replay.dials;
        let report = together(&self.reports()?);
        let n_unused = report["n_unused"].as_u64().unwrap_or_default();
        if n_unused > 0 && (!global.quiet || dials.strict) {
            let unused = report["unused"].as_array().into_iter().flatten().map(|unused| {
                let place = match unused["line"].as_u64() {
                    Some(line) => format!("line {line}"),
                    None => format!("message {}", unused["message"]),
                };
                let text = |name: &str| unused[name].as_str().unwrap_or_default().to_owned();
                format!("{place} of {}  {}", text("recording"), text("what"))
            });
            tell_unused(n_unused, true, unused);
        }
        if report["sessions"] == 0 && dials.strict {
            crate::recording::say("replay: no client came");
        }
        if let Some(path) = &dials.report {
            let file = NewFile::create(path, Readers::Usual)?;
            writeln!(file.writer()?, "{report:#}").map_err(|error| cannot_write(path, &error))?;
            file.finish()?;
        }
        Ok(if dials.strict && report["clean"] != true { NO } else { 0 })
    }

    fn reports(&self) -> Result<Vec<Value>, Failure> {
        let failed = |error| Failure::new(format!("cannot read the reports of the sessions: {error}"));
        let entries = fs::read_dir(self.folder()).map_err(failed)?;
        let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>, _>>().map_err(failed)?;
        paths.sort();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        let read = |path: &PathBuf| serde_json::from_slice(&fs::read(path).ok()?).ok();
        Ok(paths.iter().filter_map(read).collect())
    }
}

/// The report of several sessions. What one of them asked for somebody has asked for: unused is what none did.
fn together(reports: &[Value]) -> Value {
    let mut all = Map::new();
    for name in LISTS {
        let each = reports.iter().filter_map(|report| report[name].as_array()).flatten();
        all.insert(name.into(), each.cloned().collect());
    }
    for name in COUNTS {
        all.insert(name.into(), reports.iter().filter_map(|report| report[name].as_u64()).sum::<u64>().into());
    }
    let mut answered: Vec<(Value, u64)> = Vec::new();
    for each in reports.iter().filter_map(|report| report["answered"].as_array()).flatten() {
        let n = each["answered"].as_u64().unwrap_or_default();
        match answered.iter_mut().find(|(recording, _)| *recording == each["recording"]) {
            Some((_, sum)) => *sum += n,
            None => answered.push((each["recording"].clone(), n)),
        }
    }
    let answered = answered.into_iter().map(|(recording, n)| json!({ "recording": recording, "answered": n }));
    all.insert("answered".into(), answered.collect());
    let unused_of = |report: &Value| report["unused"].as_array().cloned().unwrap_or_default();
    let mut unused = reports.first().map(unused_of).unwrap_or_default();
    let others: Vec<Vec<Value>> = reports.iter().skip(1).map(unused_of).collect();
    unused.retain(|this| others.iter().all(|other| other.contains(this)));
    let n_unused = match reports {
        [only] => only["n_unused"].as_u64().unwrap_or_default(),
        _ => unused.len() as u64,
    };
    let is_clean = !reports.is_empty() && all["n_misses"] == 0 && n_unused == 0;
    all.insert("n_unused".into(), n_unused.into());
    all.insert("unused".into(), unused.into());
    all.insert("sessions".into(), reports.len().into());
    all.insert("clean".into(), is_clean.into());
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_sessions_become_one() {
        let report = |asked: &[&str], n_misses: u64, unused: &[u64]| {
            let unused: Vec<Value> =
                unused.iter().map(|n| json!({"recording": "a", "line": n, "message": n, "what": "x"})).collect();
            json!({
                "clean": false, "received": 3, "asked": asked, "answered": [{"recording": "a", "answered": 2}],
                "repeated": 1, "n_misses": n_misses, "n_unused": unused.len(), "misses": [], "notes": [], "unused": unused,
            })
        };
        let one = together(&[report(&["a"], 0, &[4, 5]), report(&["b"], 1, &[5, 6])]);
        assert_eq!((&one["asked"], &one["received"], &one["sessions"]), (&json!(["a", "b"]), &json!(6), &json!(2)));
        assert_eq!(one["answered"], json!([{"recording": "a", "answered": 4}]));
        assert_eq!((&one["n_unused"], &one["unused"][0]["line"], &one["clean"]), (&json!(1), &json!(5), &json!(false)));
        assert_eq!(together(&[report(&[], 0, &[4]), report(&[], 0, &[])])["clean"], true);
        assert_eq!(together(&[report(&[], 2, &[])])["clean"], false);
        assert_eq!(together(&[])["clean"], false);
    }
}
