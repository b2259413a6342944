//! What was measured, and on what: without it a figure cannot be read later.

use std::fmt;
use std::fs;
use std::process::Command;
use std::thread;

use serde::Serialize;

/// Facts beside the figures. What cannot be told is left empty.
#[derive(Debug, Serialize)]
pub(super) struct Machine {
    n_cpus: usize,
    cpu_model: String,
    kernel: String,
    /// Processes that wanted to run in the minute before; much more than 0 makes the figures doubtful.
    load_before: String,
    /// The same at the end. The programs measured make about 2 themselves.
    load_after: String,
    commit: String,
}

impl Machine {
    pub(super) fn look() -> Self {
        let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or_default();
        Self {
            n_cpus: thread::available_parallelism().map_or(0, usize::from),
            cpu_model: model.trim_start_matches([' ', '\t', ':']).to_owned(),
            kernel: fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned(),
            load_before: load(),
            load_after: String::new(),
            commit: commit(),
        }
    }

    /// Notes what is known only at the end.
    pub(super) fn look_again(&mut self) {
        self.load_after = load();
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_cpus, cpu_model, kernel, load_before, load_after, commit } = self;
        write!(
            formatter,
            "{n_cpus} CPUs ({cpu_model}), kernel {kernel}, commit {commit}, load {load_before} before and {load_after} after"
        )
    }
}

/// Of the last minute.
fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    load.split(' ').next().unwrap_or_default().to_owned()
}

fn commit() -> String {
    let output = Command::new("git").args(["describe", "--always", "--dirty"]).output();
    let text = output.ok().filter(|output| output.status.success()).map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&text).trim().to_owned()
}
