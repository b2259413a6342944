//! Signals: every process gets each one once, whoever it was sent to, and nothing is left running.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, ChildStdout, Command};

use crate::support::{Scratch, is_running, wait_for, wait_until};

/// A server that says which signals it gets, and ends with 7 when it reads `quit`.
const COUNTING: &str = r#"
for s in HUP INT QUIT TERM USR1 USR2; do trap "echo got $s" $s; done
echo pid $$
while :; do IFS= read -r line && case $line in quit) echo bye; exit 7;; *) echo "read $line";; esac; done"#;

struct Server {
    tap: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    pid: u32,
}

impl Drop for Server {
    /// A test that fails leaves nothing behind: the server goes with its tap.
    fn drop(&mut self) {
        let _ = self.tap.kill();
        let _ = self.tap.wait();
    }
}

impl Server {
    /// Starts the tap in a process group of its own, as many hosts do.
    fn start(scratch: &Scratch, script: &str) -> Self {
        let mut tap = scratch.run_sh(script).process_group(0).spawn().unwrap();
        let mut stdout = BufReader::new(tap.stdout.take().unwrap());
        let stdin = tap.stdin.take().unwrap();
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let pid = line.trim().strip_prefix("pid ").unwrap().parse().unwrap();
        Self { tap, stdin, stdout, pid }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    fn send(&self, signal: &str, to_group: bool) {
        let target = if to_group { format!("-{}", self.tap.id()) } else { self.tap.id().to_string() };
        let sent = Command::new("kill").args(["-s", signal, "--", &target]).status().unwrap();
        assert!(sent.success());
    }

    /// All processes of the tap's group that are there.
    fn group(&self) -> Vec<u32> {
        group_of(self.tap.id())
    }
}

fn group_of(group: u32) -> Vec<u32> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|pid| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let of = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(2)?.parse::<u32>().ok());
        of == Some(group) && is_running(*pid)
    })
    .collect()
}

#[test]
fn a_signal_reaches_the_server_once_whether_sent_to_the_tap_or_to_its_group() {
    let scratch = Scratch::new();
    for to_group in [false, true] {
        let mut server = Server::start(&scratch, COUNTING);
        for signal in ["TERM", "INT", "HUP", "USR2", "QUIT", "TERM"] {
            server.send(signal, to_group);
            assert_eq!(server.line(), format!("got {signal}"), "to the group: {to_group}");
            // The tap handles signals one after the other, so one that was passed on twice would come before this.
            server.send("USR1", false);
            assert_eq!(server.line(), "got USR1", "after {signal} to the group: {to_group}");
        }
        server.stdin.write_all(b"quit\n").unwrap();
        assert_eq!(server.line(), "bye", "what it says at the end arrives");
        assert_eq!(wait_for(&mut server.tap).code(), Some(7));
        assert_eq!(server.group(), [0u32; 0], "nothing is left");
    }
}

#[test]
fn a_server_that_cleans_up_on_a_signal_has_the_time_and_its_exit_code_counts() {
    let scratch = Scratch::new();
    let script = "trap 'sleep 0.3; echo cleaned; exit 9' TERM; echo pid $$; while :; do sleep 0.02; done";
    let mut server = Server::start(&scratch, script);
    server.send("TERM", false);
    assert_eq!(server.line(), "cleaned");
    assert_eq!(wait_for(&mut server.tap).code(), Some(9));
}

#[test]
fn a_server_that_a_signal_kills_takes_the_tap_with_it_the_same_way() {
    let scratch = Scratch::new();
    for (signal, number) in [("TERM", 15), ("INT", 2), ("HUP", 1), ("USR1", 10), ("RTMIN+3", 37)] {
        for to_group in [false, true] {
            let mut server = Server::start(&scratch, "echo pid $$; exec sleep 1000");
            server.send(signal, to_group);
            let status = wait_for(&mut server.tap);
            assert_eq!(status.signal(), Some(number), "{signal} to the group: {to_group}");
            assert!(!is_running(server.pid));
            let session = scratch.session();
            assert_eq!((session["end"].as_str(), session["signal"].as_i64()), (Some("killed"), Some(number.into())));
        }
    }
}

#[test]
fn a_tap_that_is_killed_takes_even_a_stubborn_server_with_it() {
    let scratch = Scratch::new();
    let stubborn = "trap '' HUP INT TERM PIPE; echo pid $$; while :; do sleep 0.05; done";
    let mut server = Server::start(&scratch, stubborn);
    server.tap.kill().unwrap();
    wait_for(&mut server.tap);
    wait_until("the server is gone", || !is_running(server.pid));
    wait_until("the sentinel is gone", || server.group().iter().all(|pid| !is_our_own(*pid)));
}

fn is_our_own(pid: u32) -> bool {
    std::fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.ends_with("mcp-tap"))
}

#[test]
fn a_group_that_is_killed_is_gone_with_grandchildren_and_all() {
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch, "trap '' TERM; sh -c 'sleep 1000; :' & echo pid $$; wait; wait");
    assert!(server.group().len() >= 4, "tap, sentinel, server, grandchildren: {:?}", server.group());
    server.send("KILL", true);
    wait_for(&mut server.tap);
    wait_until("all are gone", || server.group().is_empty());
}

#[test]
fn a_host_that_signals_only_our_descendants_sees_the_tap_end_as_the_server_did() {
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch, "echo pid $$; exec sleep 1000");
    for pid in server.group().into_iter().filter(|pid| *pid != server.tap.id()) {
        Command::new("kill").args(["-s", "TERM", &pid.to_string()]).status().unwrap();
    }
    assert_eq!(wait_for(&mut server.tap).signal(), Some(15));
}

#[test]
fn what_the_server_ignores_and_blocks_is_what_the_host_gave_it() {
    let scratch = Scratch::new();
    let script = "grep -e SigBlk -e SigIgn /proc/self/status";
    let masks = |program: String| {
        // SIGHUP ignored, as under nohup.
        let command = format!("trap '' HUP; exec {program}");
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).env("MCP_TAP_DB", scratch.db());
        String::from_utf8(crate::support::talk(shell, b"").stdout).unwrap()
    };
    let bare = masks(script.into());
    let tapped = masks(format!("{} run -- {script}", crate::support::TAP));
    assert_eq!(tapped, bare);
    let ignored = bare.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    assert_eq!(u64::from_str_radix(ignored, 16).unwrap() & 1, 1, "SIGHUP is: {bare}");
}

#[test]
fn signals_to_the_group_that_come_close_together_are_still_told_from_ours() {
    let scratch = Scratch::new();
    let mut server = Server::start(&scratch, COUNTING);
    let group = nix::unistd::Pid::from_raw(i32::try_from(server.tap.id()).unwrap());
    let mut counts = std::collections::BTreeMap::new();
    for _ in 0..30 {
        for signal in [nix::sys::signal::Signal::SIGHUP, nix::sys::signal::Signal::SIGUSR2] {
            nix::sys::signal::killpg(group, signal).unwrap();
        }
        // Both of this round, in any order; one that was passed on as well would come before the next one of our own.
        for _ in 0..2 {
            *counts.entry(server.line()).or_insert(0) += 1;
        }
        server.send("USR1", false);
        assert_eq!(server.line(), "got USR1");
    }
    assert_eq!(counts.into_iter().collect::<Vec<_>>(), [("got HUP".to_string(), 30), ("got USR2".to_string(), 30)]);
    server.stdin.write_all(b"quit\n").unwrap();
    assert_eq!(wait_for(&mut server.tap).code(), Some(7));
}

#[test]
fn a_signal_that_the_kernel_sends_to_the_tap_alone_reaches_the_server() {
    let scratch = Scratch::new();
    let mut command = scratch.run(["sleep", "1000"]);
    // An alarm outlives exec, so it rings in the tap, as it would have rung in the server.
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| {
            nix::unistd::alarm::set(1);
            Ok(())
        });
    }
    let mut tap = command.spawn().unwrap();
    assert_eq!(wait_for(&mut tap).signal(), Some(14));
}
