//! One conversation of a client with a server: directly, through a tap, and through a tap between two witnesses.

#![expect(clippy::unwrap_used, reason = "these are tests: a panic is the report")]

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::peers::manifest_folder;
use crate::support::{Scratch, TAP, talk, wait_until};

/// The variable that each process of a conversation inherits, so that one that outlives it can be told.
const MARK: &str = "TAP_TEST_CONVERSATION";

/// Who talks with whom, about what, and what the recording should say of it.
pub(super) struct Conversation<'a> {
    pub(super) scratch: &'a Scratch,
    /// A program that takes a script's path and a server's command.
    pub(super) client: Vec<OsString>,
    pub(super) server: Vec<OsString>,
    /// See `tests/peers/node/client.mjs`.
    pub(super) script: Value,
    /// Puts what the server keeps between runs back to where it was.
    pub(super) reset: &'a dyn Fn(),
    /// The calls in order, each a line of its own: direction, method, target, and what became of it.
    pub(super) calls: &'a str,
    pub(super) server_name: &'a str,
    pub(super) revision: &'a str,
    /// The rules that a peer really breaks badly in it, each with the method of the message that shows it. None but these
    /// may be found.
    pub(super) breaks: &'a [(&'a str, &'a str)],
}

/// Has the conversation three times and compares.
#[track_caller]
pub(super) fn check(conversation: &Conversation<'_>) {
    let scratch = conversation.scratch;
    let direct = conversation.run(&conversation.server);
    assert_eq!(left_running(scratch), [""; 0], "without a tap");

    let tapped = conversation.run(&through_tap(scratch, &conversation.server));
    assert_eq!(left_running(scratch), [""; 0], "through a tap");
    assert_same("what the client sees", &direct.stdout, &tapped.stdout);
    assert_same("stderr", &direct.stderr, &tapped.stderr);
    conversation.check_recording();

    let (near, far) = (Witness::new(scratch, "near"), Witness::new(scratch, "far"));
    let witnessed = conversation.run(&near.before(&through_tap(scratch, &far.before(&conversation.server))));
    wait_until("the witnesses have written everything down", || left_running(scratch).is_empty());
    for (to, file) in [("server", "to-server"), ("client", "to-client")] {
        let recorded = scratch.recorded(to);
        assert!(!recorded.is_empty(), "nothing to {to}");
        assert_eq!(listed_bytes(scratch, to), recorded.len() as u64, "lengths of the frames to {to}");
        assert_same(&format!("recorded to {to}, seen by the client's witness"), &near.saw(file), &recorded);
        assert_same(&format!("recorded to {to}, seen by the server's witness"), &far.saw(file), &recorded);
    }
    assert_same("stderr, recorded", &witnessed.stderr, &scratch.recorded("stderr"));
    conversation.check_recording();
}

impl Conversation<'_> {
    /// Has the client talk to what this command starts.
    #[track_caller]
    fn run(&self, server: &[OsString]) -> std::process::Output {
        (self.reset)();
        let mut script = self.script.clone();
        script["environment"][MARK] = self.scratch.path("").to_str().into();
        let script_path = self.scratch.path("script.json");
        fs::write(&script_path, script.to_string()).unwrap();
        let mut client = Command::new(&self.client[0]);
        client.args(&self.client[1..]).arg(script_path).args(server);
        let output = talk(client, b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "the client gave up with {server:?}: {stderr}");
        output
    }

    /// Checks what `ls` and `log` say of the newest session.
    #[track_caller]
    fn check_recording(&self) {
        let log = self.scratch.json(&["log", "--json"]);
        let calls: Vec<String> = log.iter().map(call).collect();
        let expected: Vec<&str> = self.calls.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        assert_eq!(calls, expected);
        for row in &log {
            let is_answered = row["status"].is_string();
            for key in ["latency_ns", "answer_length_bytes", "pair_seq"] {
                assert_eq!(row[key].is_number(), is_answered, "{key} in {row}");
            }
        }
        let n_errors = expected.iter().filter(|line| line.contains("error")).count();
        let session = self.scratch.session();
        for (key, expected) in [
            ("client", Value::from("tap-test-client 1.0.0")),
            ("server", self.server_name.into()),
            ("revision", self.revision.into()),
            ("calls", calls.len().into()),
            ("errors", n_errors.into()),
            ("end", "exited".into()),
            ("exit_code", 0.into()),
            ("complete", true.into()),
        ] {
            assert_eq!(session[key], expected, "{key} in {session}");
        }
        self.check_findings();
    }

    /// Checks what `check` finds badly broken in the newest session.
    #[track_caller]
    fn check_findings(&self) {
        let output = talk(self.scratch.tap(["check", "--json"]), b"");
        let text = String::from_utf8_lossy(&output.stdout);
        let found: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let methods = self.scratch.json(&["log", "--frames", "--json"]);
        let method =
            |seq: &Value| methods.iter().find(|row| row["seq"] == *seq).map_or(&Value::Null, |row| &row["method"]);
        let broken: Vec<(&str, &str)> = found
            .iter()
            .map(|finding| (finding["rule"].as_str().unwrap(), method(&finding["seq"]).as_str().unwrap_or_default()))
            .collect();
        assert_eq!(broken, self.breaks, "{text}");
        assert_eq!(output.status.code(), Some(i32::from(!broken.is_empty())));
    }
}

/// `-> tools/call echo: ok`.
fn call(row: &Value) -> String {
    let text = |key: &str| row[key].as_str();
    let arrow = match text("direction") {
        Some("to server") => "->",
        Some("to client") => "<-",
        _ => "?",
    };
    let what = match text("kind") {
        Some("request") => text("method").unwrap_or("?"),
        other => other.unwrap_or("?"),
    };
    let of_what =
        [text("target"), text("error_code")].map(|text| text.map(|text| format!(" {text}")).unwrap_or_default());
    format!("{arrow} {what}{}: {}{}", of_what[0], text("status").unwrap_or("no answer"), of_what[1])
}

/// A server's command with a tap before it. Nothing of the tap is in the environment, which is to be the same without.
fn through_tap(scratch: &Scratch, server: &[OsString]) -> Vec<OsString> {
    let tap =
        [TAP.into(), "run".into(), "--db".into(), scratch.db().into(), "--name".into(), "peer".into(), "--".into()];
    [&tap, server].concat()
}

/// A place where bytes are written down by somebody else than the tap.
struct Witness<'a> {
    scratch: &'a Scratch,
    name: &'a str,
}

impl<'a> Witness<'a> {
    fn new(scratch: &'a Scratch, name: &'a str) -> Self {
        fs::create_dir(scratch.path(name)).unwrap();
        Self { scratch, name }
    }

    /// The command with this witness before it.
    fn before(&self, command: &[OsString]) -> Vec<OsString> {
        let witness = ["sh".into(), manifest_folder().join("record.sh").into(), self.scratch.path(self.name).into()];
        [&witness, command].concat()
    }

    #[track_caller]
    fn saw(&self, file: &str) -> Vec<u8> {
        fs::read(self.scratch.path(self.name).join(file)).unwrap()
    }
}

/// Compares what is too long to be shown whole.
#[track_caller]
fn assert_same(what: &str, expected: &[u8], found: &[u8]) {
    let at = expected.iter().zip(found).take_while(|(expected, found)| expected == found).count();
    let shown = |bytes: &[u8]| {
        let part = bytes.get(at.saturating_sub(60)..bytes.len().min(at + 60)).unwrap_or_default();
        String::from_utf8_lossy(part).into_owned()
    };
    let (n_expected, n_found) = (expected.len(), found.len());
    assert!(
        expected == found,
        "{what}: differs from byte {at} on, of {n_expected} and {n_found}\n  expected {:?}\n  found    {:?}",
        shown(expected),
        shown(found)
    );
}

/// How many bytes the frames of one direction have together, as they are listed.
#[track_caller]
fn listed_bytes(scratch: &Scratch, to: &str) -> u64 {
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let direction = format!("to {to}");
    let of_direction = frames.iter().filter(|row| row["direction"] == *direction && row["kind"] != "stderr");
    of_direction.filter(|row| row["member"] == 0).map(|row| row["length_bytes"].as_u64().unwrap()).sum()
}

/// The processes that still belong to a conversation.
fn left_running(scratch: &Scratch) -> Vec<String> {
    let folder = scratch.path("");
    let mark = [MARK.as_bytes(), b"=", folder.as_os_str().as_bytes()].concat();
    let belongs = |process: &Path| {
        // One that cannot be read has ended, or is another user's.
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    let processes = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().path());
    let left = processes.filter(|process| process.file_name().is_some_and(is_number) && belongs(process));
    left.map(|process| {
        String::from_utf8_lossy(&fs::read(process.join("cmdline")).unwrap_or_default()).replace('\0', " ")
    })
    .collect()
}

fn is_number(name: &OsStr) -> bool {
    name.as_bytes().iter().all(u8::is_ascii_digit)
}
