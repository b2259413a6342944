//! The processes that a command became, as `/proc` shows them: which are the tap's, and what they use.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;

/// The environment variable that marks all that one start of a command became. It is inherited, also by a process that
/// leaves the process group and whose parent died.
pub const MARK_VARIABLE: &str = "TAP_LOAD_RUN";

/// All processes that one start of a command became.
#[derive(Debug, Clone)]
pub struct Family {
    /// The process that we started.
    root: u32,
    /// The file name of the executable that the root runs.
    root_executable: Option<String>,
    /// The file name of the server's executable.
    server_executable: String,
    /// The value of [`MARK_VARIABLE`].
    mark: String,
}

/// What processes use, or used at most.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Usage {
    /// Resident memory, shared pages included.
    pub resident_kib: u64,
    /// The most that was resident at once.
    pub peak_resident_kib: u64,
    /// Time on CPUs, by the process itself and by the system for it.
    pub cpu_ms: f64,
}

/// What the tap's processes use: all together, and the one that we started.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct TapUsage {
    /// How many processes these are.
    pub n_processes: usize,
    /// The sum over all of them.
    pub all: Usage,
    /// The process that was started.
    pub main: Usage,
}

/// What a report says of the tap's processes over a whole phase.
#[derive(Debug, Default, Clone, PartialEq, Serialize)]
pub struct TapCost {
    /// The sum of the peaks of all the tap's processes, pages that they share counted in each.
    pub tap_peak_rss_kib: u64,
    /// The peak of the process that was started.
    pub tap_main_peak_rss_kib: u64,
    /// How many processes of the tap were seen.
    pub tap_processes: usize,
    /// CPU time between the handshake and the end, of all the tap's processes.
    pub tap_cpu_ms: f64,
}

/// The highest values seen of each process: some may have ended since.
#[derive(Debug, Default)]
pub struct HighWater(HashMap<u32, Usage>);

/// One line of `/proc/PID/stat`, as far as it is needed.
#[derive(Debug, PartialEq)]
struct Stat {
    parent: u32,
    group: u32,
    is_zombie: bool,
    cpu_ticks: u64,
}

impl Family {
    /// `root` must be running the tap already, or the server if there is none: it is asked for its executable.
    #[must_use]
    pub fn new(root: u32, server_executable: &str, mark: String) -> Self {
        Self { root, root_executable: executable(root), server_executable: server_executable.to_owned(), mark }
    }

    /// All that run: descendants of the root, its process group, and orphans of the same executable and mark.
    #[must_use]
    pub fn all(&self) -> Vec<u32> {
        let stats: HashMap<u32, Stat> = pids().filter_map(|pid| Some((pid, stat(pid)?))).collect();
        let mut found: Vec<u32> = stats
            .iter()
            .filter(|(pid, stat)| !stat.is_zombie && (self.descends(**pid, &stats) || self.is_orphan(**pid)))
            .map(|(pid, _)| *pid)
            .collect();
        found.sort_unstable();
        found
    }

    /// Those of [`all`](Self::all) that are not the server.
    #[must_use]
    pub fn tap(&self) -> Vec<u32> {
        self.all().into_iter().filter(|&pid| !self.is_server(pid)).collect()
    }

    /// What the tap uses now.
    #[must_use]
    pub fn tap_usage(&self) -> TapUsage {
        let mut high_water = HighWater::default();
        high_water.look(&self.tap());
        high_water.tap_usage(self.root)
    }

    /// The value of [`MARK_VARIABLE`] in this family.
    #[must_use]
    pub fn mark(&self) -> &str {
        &self.mark
    }

    fn is_server(&self, pid: u32) -> bool {
        executable(pid).as_deref() == Some(&*self.server_executable)
    }

    fn descends(&self, pid: u32, stats: &HashMap<u32, Stat>) -> bool {
        let mut pid = pid;
        // The list is no snapshot, so a cycle cannot be ruled out: no chain is longer than the list.
        for _ in 0..=stats.len() {
            let Some(stat) = stats.get(&pid) else { return false };
            if pid == self.root || stat.group == self.root {
                return true;
            }
            pid = stat.parent;
        }
        false
    }

    fn is_orphan(&self, pid: u32) -> bool {
        self.root_executable.is_some() && executable(pid) == self.root_executable && is_marked(pid, &self.mark)
    }
}

impl HighWater {
    /// Takes over what these processes use, where it is more than before.
    pub fn look(&mut self, pids: &[u32]) {
        for &pid in pids {
            let Some(seen) = usage(pid) else { continue };
            let kept = self.0.entry(pid).or_default();
            kept.resident_kib = kept.resident_kib.max(seen.resident_kib);
            kept.peak_resident_kib = kept.peak_resident_kib.max(seen.peak_resident_kib);
            kept.cpu_ms = kept.cpu_ms.max(seen.cpu_ms);
        }
    }

    /// The sum over all processes looked at, and the one of `root`.
    #[must_use]
    pub fn tap_usage(&self, root: u32) -> TapUsage {
        let mut sum = Usage::default();
        for usage in self.0.values() {
            sum.resident_kib += usage.resident_kib;
            sum.peak_resident_kib += usage.peak_resident_kib;
            sum.cpu_ms += usage.cpu_ms;
        }
        TapUsage { n_processes: self.0.len(), all: sum, main: self.0.get(&root).copied().unwrap_or_default() }
    }
}

/// How many of these processes still run when all are gone or `patience` is over. A zombie does not run.
pub fn still_running(pids: &[u32], patience: Duration) -> usize {
    let end = Instant::now() + patience;
    loop {
        let n_running = pids.iter().filter(|&&pid| stat(pid).is_some_and(|stat| !stat.is_zombie)).count();
        if n_running == 0 || Instant::now() >= end {
            return n_running;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn stat(pid: u32) -> Option<Stat> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Source: proc_pid_stat(5). The name in the second field may hold spaces and parentheses, so what follows starts
/// after the last one.
fn parse_stat(text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let number = |field: usize| fields.get(field)?.parse::<u64>().ok();
    Some(Stat {
        parent: u32::try_from(number(1)?).ok()?,
        group: u32::try_from(number(2)?).ok()?,
        is_zombie: fields.first() == Some(&"Z"),
        cpu_ticks: number(11)? + number(12)?,
    })
}

fn executable(pid: u32) -> Option<String> {
    let path = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    Some(path.file_name()?.to_str()?.to_owned())
}

fn is_marked(pid: u32, mark: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let wanted = format!("{MARK_VARIABLE}={mark}");
    environment.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes())
}

fn usage(pid: u32) -> Option<Usage> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let ticks_a_second = sysconf(SysconfVar::CLK_TCK).ok().flatten().unwrap_or(100) as f64;
    Some(Usage {
        resident_kib: kib_of(&status, "VmRSS:"),
        peak_resident_kib: kib_of(&status, "VmHWM:"),
        cpu_ms: stat(pid)?.cpu_ticks as f64 * 1e3 / ticks_a_second,
    })
}

/// Zero without that line, as in the status of a process that has just ended.
fn kib_of(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_stat_line_is_read_past_any_name() {
        let line = "42 (a) b (c)) S 7 40 40 0 -1 4194304 1 2 3 4 11 22 0 0 20 0 1 0 99";
        assert_eq!(parse_stat(line), Some(Stat { parent: 7, group: 40, is_zombie: false, cpu_ticks: 33 }));
        let zombie = parse_stat("42 (sh) Z 7 40 40 0 -1 4194304 1 2 3 4 11 22 0").unwrap();
        assert!(zombie.is_zombie);
        assert_eq!(parse_stat("42 (sh"), None);
    }

    #[test]
    fn memory_is_read_by_name() {
        let status = "Name:\tVmRSS: 7\nVmHWM:\t    2112 kB\nVmRSS:\t    1000 kB\n";
        assert_eq!(kib_of(status, "VmHWM:"), 2112);
        assert_eq!(kib_of(status, "VmRSS:"), 1000);
        assert_eq!(kib_of(status, "VmSwap:"), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_family_is_all_that_a_command_became_and_the_server_is_not_the_tap() {
        // A shell as the tap, which keeps a child as the server.
        let mark = format!("test-{}", std::process::id());
        let mut child = Command::new("sh")
            .args(["-c", "sleep 600 & echo up; wait"])
            .env(MARK_VARIABLE, &mark)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line).unwrap();
        let all = Family::new(child.id(), "no such server", mark.clone()).all();
        assert_eq!(all.len(), 2);
        let server = *all.iter().find(|&&pid| pid != child.id()).unwrap();
        // The file name of `sleep` differs where it is one of many names of one executable.
        let family = Family::new(child.id(), &executable(server).unwrap(), mark.clone());
        if executable(server) != executable(child.id()) {
            assert_eq!(family.tap(), [child.id()]);
            let usage = family.tap_usage();
            assert!(usage.main.peak_resident_kib > 0);
            assert_eq!(usage.all, usage.main);
        }
        assert!(is_marked(server, &mark));
        assert!(!is_marked(server, "another"));
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(server as i32), nix::sys::signal::Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        assert_eq!(still_running(&all, Duration::from_secs(10)), 0);
    }

    #[test]
    fn the_high_water_keeps_what_ended() {
        let mut high_water = HighWater::default();
        high_water.0.insert(1, Usage { resident_kib: 5, peak_resident_kib: 9, cpu_ms: 1.5 });
        high_water.0.insert(2, Usage { resident_kib: 1, peak_resident_kib: 2, cpu_ms: 0.5 });
        high_water.look(&[u32::MAX]);
        let usage = high_water.tap_usage(1);
        assert_eq!(usage.n_processes, 2);
        assert_eq!(usage.all, Usage { resident_kib: 6, peak_resident_kib: 11, cpu_ms: 2.0 });
        assert_eq!(usage.main.peak_resident_kib, 9);
    }
}
