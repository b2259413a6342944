//! Servers, clients and the tap as processes of their own, none of which outlives its test.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::unistd::Pid;

use crate::support::{LIMIT, Scratch, wait_for, wait_until};

/// A process and all that it started, killed at the end.
pub(crate) struct Group(Child);

impl Group {
    fn start(mut command: Command) -> Self {
        let child = command.process_group(0).spawn();
        Self(child.unwrap_or_else(|error| panic!("cannot run {command:?}: {error}")))
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.0.id().cast_signed())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = killpg(self.pid(), Signal::SIGKILL);
        let _ = self.0.wait();
    }
}

/// A server that listens on loopback.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    _process: Group,
}

impl Server {
    /// Starts it and waits until it listens.
    #[track_caller]
    pub(crate) fn start(command: &[OsString]) -> Self {
        let mut process = Command::new(&command[0]);
        process.args(&command[1..]).env("PORT", "0");
        process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = Group::start(process);
        let mut port = None;
        wait_until(&format!("{command:?} listens"), || {
            port = listening_port(process.0.id());
            port.is_some()
        });
        Self { address: (Ipv4Addr::LOCALHOST, port.unwrap_or_default()).into(), _process: process }
    }
}

/// The port that a process accepts connections on.
///
/// Asked from the system, since each server has its own way to tell it, or none, and a port that was chosen for it may be
/// somebody else's by the time it is there.
fn listening_port(pid: u32) -> Option<u16> {
    const LISTENING: &str = "0A";
    let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let sockets: Vec<String> = descriptors
        .filter_map(|entry| fs::read_link(entry.ok()?.path()).ok()?.to_str().map(str::to_owned))
        .filter_map(|target| Some(target.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    ["tcp", "tcp6"].iter().find_map(|table| {
        let table = fs::read_to_string(format!("/proc/{pid}/net/{table}")).ok()?;
        table.lines().find_map(|line| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (address, state, inode) = (fields.get(1)?, fields.get(3)?, fields.get(9)?);
            let is_ours = *state == LISTENING && sockets.iter().any(|socket| socket == inode);
            is_ours.then(|| u16::from_str_radix(address.rsplit_once(':')?.1, 16).ok())?
        })
    })
}

/// `mcp-tap proxy` before a server.
pub(crate) struct Tap {
    /// What a host is to be given.
    pub(crate) url: String,
    pub(crate) process: Group,
    said: JoinHandle<String>,
}

impl Tap {
    #[track_caller]
    pub(crate) fn before(scratch: &Scratch, url: &str) -> Self {
        Self::start(scratch.tap(["proxy", "--listen", "127.0.0.1:0", url]))
    }

    /// Starts a tap that says where it listens.
    #[track_caller]
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut process = Group::start(command);
        let stderr = process.0.stderr.take().unwrap();
        let (found, url) = mpsc::channel();
        let said = std::thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if let Some(url) = line.split_whitespace().find(|word| word.starts_with("http://127.0.0.1:")) {
                    let _ = found.send(url.to_owned());
                }
                said.push_str(&line);
                said.push('\n');
            }
            said
        });
        let Ok(url) = url.recv_timeout(LIMIT) else {
            drop(process);
            panic!("the tap names no URL: {}", said.join().unwrap());
        };
        Self { url, process, said }
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        let authority = self.url.trim_start_matches("http://").split('/').next().unwrap_or_default();
        authority.parse().unwrap_or_else(|_| panic!("no address in {}", self.url))
    }

    /// Asks it to end, as a user does, and checks that it ends well.
    #[track_caller]
    pub(crate) fn stop(mut self) {
        kill(self.process.pid(), Signal::SIGTERM).unwrap();
        let status = wait_for(&mut self.process.0);
        drop(self.process);
        let said = self.said.join().unwrap();
        assert_eq!(status.code(), Some(0), "the tap ended with {status}: {said}");
    }
}

/// Runs a program to its end, or gives nothing if it does not come to it.
#[track_caller]
pub(crate) fn run(mut command: Command, limit: Duration) -> Option<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = Group::start(command);
    let gather = |mut stream: Box<dyn Read + Send>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = stream.read_to_end(&mut bytes);
            bytes
        })
    };
    let stdout = gather(Box::new(process.0.stdout.take().unwrap()));
    let stderr = gather(Box::new(process.0.stderr.take().unwrap()));
    let started = Instant::now();
    let status = loop {
        match process.0.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if started.elapsed() > limit => break None,
            None => std::thread::sleep(Duration::from_millis(5)), // tidy: sleeps because it waits for a process, with a limit.
        }
    };
    drop(process);
    Some(Output { status: status?, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() })
}
