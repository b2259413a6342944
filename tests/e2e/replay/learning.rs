//! `--record new`: recordings that learn from the real server what they do not have, and recordings of servers at an address.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::process::{Child, ChildStdin, ChildStdout, Command};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::{SAID, SERVER, replay, text};
use crate::http_peers::programs::Tap;
use crate::support::{Scratch, piped, talk, wait_for, wait_until};

/// A server that says how often it was asked, and asks back in a call of `ask`. It counts its starts.
const COUNTING: &str = r#"
echo started >> "$STARTS"
n=0
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case "$line" in
    *'"result"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"asked":true}}\n' "$asking";;
    *initialize*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"counting","version":"1"}}}\n' "$id";;
    *'"ask"'*) asking=$id; printf '{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":9}}\n';;
    *'"die"'*) echo "the disk is on fire" >&2; exit 3;;
    *) n=$((n+1))
       printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n' "$id"
       printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"n":%s}}\n' "$id" "$n";;
  esac
done
"#;

/// A client that waits for each answer.
struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    fn start(mut command: Command, scratch: &Scratch) -> Self {
        command.env("STARTS", scratch.path("starts"));
        let mut child = piped(command).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, stdin, stdout };
        client.say(&SAID.lines().next().unwrap().replace(r#""capabilities":{}"#, r#""capabilities":{"sampling":{}}"#));
        client.hear();
        client.say(SAID.lines().nth(1).unwrap());
        client
    }

    fn say(&mut self, line: &str) {
        writeln!(self.stdin, "{line}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Calls a tool: what comes, up to the answer.
    fn call(&mut self, id: u64, tool: &str) -> Vec<Value> {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","_meta":{{"progressToken":{id}}}}}}}"#
        ));
        let mut heard = Vec::new();
        loop {
            let message = self.hear();
            let is_answer = message["id"] == id && message.get("method").is_none();
            if message["method"] == "sampling/createMessage" {
                let id = message["id"].clone();
                self.say(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"role":"assistant","model":"m","content":{{"type":"text","text":"x"}}}}}}"#));
            }
            heard.push(message);
            if is_answer {
                return heard;
            }
        }
    }

    /// Says that it is over: the exit code.
    fn end(self) -> Option<i32> {
        let Self { mut child, stdin, stdout } = self;
        drop((stdin, stdout));
        wait_for(&mut child).code()
    }
}

fn learning(scratch: &Scratch, file: &str) -> Command {
    scratch.tap(["replay", "--strict", "--record", "new", file, "--", "sh", "-c", COUNTING])
}

fn n_starts(scratch: &Scratch) -> usize {
    fs::read_to_string(scratch.path("starts")).map_or(0, |starts| starts.lines().count())
}

#[test]
fn what_is_missed_is_asked_of_the_real_server_and_is_there_the_next_time() {
    let scratch = Scratch::new();
    let file = scratch.path("weather.mcprec");
    let path = file.to_str().unwrap();
    // The file is missing: it is recorded.
    let mut first = Client::start(learning(&scratch, path), &scratch);
    assert_eq!(first.call(1, "a")[1]["result"]["n"], 1);
    assert_eq!(first.end(), Some(0));
    assert_eq!(n_starts(&scratch), 1);
    let recorded = fs::read_to_string(&file).unwrap();

    // What is there is played, and the server is not even started for it.
    let mut second = Client::start(learning(&scratch, path), &scratch);
    assert_eq!(second.call(7, "a").len(), 2);
    assert_eq!(n_starts(&scratch), 1);
    // What is not, comes from the server: with its progress, and what it asks of the client.
    let heard = second.call(8, "b");
    assert_eq!((heard.len(), &heard[1]["result"]["n"]), (2, &Value::from(1)));
    let asked = second.call(1, "ask");
    assert_eq!((&asked[0]["method"], &asked[1]["result"]["asked"]), (&"sampling/createMessage".into(), &true.into()));
    assert_eq!(n_starts(&scratch), 2);
    assert_eq!(second.end(), Some(0));

    let learned = fs::read_to_string(&file).unwrap();
    assert!(learned.len() > recorded.len() && learned.contains("sampling/createMessage"), "{learned}");
    assert!(recorded.lines().filter(|line| !line.contains("gaps_us")).all(|line| learned.contains(line)), "{learned}");
    // No partial file is left, and it still is a fixture that can be read by all.
    let names: Vec<_> = fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!names.iter().any(|name| name.to_string_lossy().contains("partial")), "{names:?}");
    let checked = scratch.tap(["check", path]).output().unwrap();
    assert_eq!(checked.status.code(), Some(0), "{}", text(&checked.stdout));

    // The third time nothing is asked of anybody, in any order, nor in CI.
    for is_ci in [false, true] {
        let mut command = learning(&scratch, path);
        if is_ci {
            command.env("CI", "true");
        }
        let mut third = Client::start(command, &scratch);
        assert_eq!(third.call(1, "ask")[1]["result"]["asked"], true);
        assert_eq!(third.call(2, "a").len(), 2);
        assert_eq!(third.call(3, "b"), {
            let mut heard = heard.clone();
            heard[0]["params"]["progressToken"] = 3.into();
            heard[1]["id"] = 3.into();
            heard
        });
        assert_eq!(third.end(), Some(0));
    }
    assert_eq!(n_starts(&scratch), 2);
    assert_eq!(fs::read_to_string(&file).unwrap(), learned);
    // In strict order it is the order of the second client.
    let strict = scratch.tap(["replay", "--strict", "--order", "strict", path]);
    let mut strict = Client::start(strict, &scratch);
    for (id, tool) in [(1, "a"), (2, "b"), (3, "ask")] {
        assert!(strict.call(id, tool).last().unwrap().get("result").is_some(), "{tool}");
    }
    assert_eq!(strict.end(), Some(0));
}

#[test]
fn what_was_learned_is_in_the_file_while_the_session_goes_on_and_survives_a_kill() {
    let scratch = Scratch::new();
    let file = scratch.path("weather.jsonl");
    let path = file.to_str().unwrap();
    let mut first = Client::start(learning(&scratch, path), &scratch);
    first.call(1, "a");
    assert_eq!(first.end(), Some(0));
    let before = file.metadata().unwrap().ino();
    let mut second = Client::start(learning(&scratch, path), &scratch);
    second.call(2, "kept");
    // It is another file by then: whole, never half of one.
    wait_until("it is written", || file.metadata().unwrap().ino() != before);
    assert!(fs::read_to_string(&file).unwrap().contains("kept"));
    let pid = Pid::from_raw(second.child.id().cast_signed());
    kill(pid, Signal::SIGKILL).unwrap();
    second.end();
    let mut third = Client::start(scratch.tap(["replay", path]), &scratch);
    assert!(third.call(3, "kept")[1].get("result").is_some());
    assert_eq!(third.end(), Some(0));
    // A signal that asks is an end like any other.
    let mut fourth = Client::start(learning(&scratch, path), &scratch);
    fourth.call(4, "more");
    let pid = Pid::from_raw(fourth.child.id().cast_signed());
    kill(pid, Signal::SIGTERM).unwrap();
    wait_for(&mut fourth.child);
    assert!(fs::read_to_string(&file).unwrap().contains("more"));
}

#[test]
fn a_real_server_that_fails_is_a_miss_that_says_so() {
    let scratch = Scratch::new();
    let file = scratch.path("weather.mcprec");
    let path = file.to_str().unwrap();
    let mut first = Client::start(learning(&scratch, path), &scratch);
    first.call(1, "a");
    assert_eq!(first.end(), Some(0));
    let recorded = fs::read_to_string(&file).unwrap();
    let mut second = Client::start(learning(&scratch, path), &scratch);
    let message = second.call(2, "die")[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the real server has ended") && message.contains("the disk is on fire"), "{message}");
    // What is recorded is played all the same.
    assert!(second.call(3, "a")[1].get("result").is_some());
    assert_eq!(second.end(), Some(1));
    assert_eq!(fs::read_to_string(&file).unwrap(), recorded);
    let nobody = scratch.tap(["replay", "--record", "new", path, "--", "/nowhere/server"]);
    let mut third = Client::start(nobody, &scratch);
    let message = third.call(2, "b")[0]["error"]["message"].as_str().unwrap().to_owned();
    assert!(message.contains("the real server has ended") && message.contains("/nowhere/server"), "{message}");
    assert_eq!(third.end(), Some(0));
}

#[test]
fn a_file_that_somebody_else_changed_is_left_alone() {
    let scratch = Scratch::new();
    let file = scratch.path("weather.mcprec");
    let path = file.to_str().unwrap();
    let mut first = Client::start(learning(&scratch, path), &scratch);
    first.call(1, "a");
    assert_eq!(first.end(), Some(0));
    let mut second = Client::start(learning(&scratch, path), &scratch);
    let changed = fs::read_to_string(&file).unwrap() + "{\"note\":\"by hand\"}\n";
    fs::write(&file, &changed).unwrap();
    // The client does not notice.
    assert_eq!(second.call(2, "b").len(), 2);
    let Client { mut child, stdin, stdout } = second;
    drop((stdin, stdout));
    let mut told = String::new();
    std::io::Read::read_to_string(child.stderr.as_mut().unwrap(), &mut told).unwrap();
    wait_for(&mut child);
    assert!(told.contains("was changed by somebody else"), "{told}");
    assert_eq!(fs::read_to_string(&file).unwrap(), changed);
}

#[test]
fn the_mode_may_stand_in_the_environment() {
    let scratch = Scratch::new();
    let file = scratch.path("a.mcprec");
    let path = file.to_str().unwrap();
    let run = |mode: &str, arguments: &[&str]| {
        let mut command = scratch.tap(["replay"].iter().chain(arguments));
        command.env("MCP_TAP_RECORD", mode);
        let output = talk(command, SAID.as_bytes());
        (output.status.code(), text(&output.stderr))
    };
    let with_command = [path, "--", "sh", "-c", SERVER];
    let (code, told) = run("twice", &with_command);
    assert!(code == Some(2) && told.contains("MCP_TAP_RECORD is `twice`"), "{told}");
    // Test runners say none, and leave the command where it is.
    assert_eq!((run("none", &with_command).0, file.exists()), (Some(2), false));
    assert_eq!((run("once", &with_command).0, file.exists()), (Some(0), true));
    assert_eq!(run("none", &with_command), (Some(0), String::new()));
    // The command line is nearer.
    let recorded = fs::read(&file).unwrap();
    assert_eq!(run("all", &[&["--record", "none"], &with_command[..]].concat()), (Some(0), String::new()));
    assert_eq!(fs::read(&file).unwrap(), recorded);
    let (code, told) = run("new", &[path]);
    assert!(code == Some(2) && told.contains("needs the server's command"), "{told}");
}

#[test]
fn a_server_at_an_address_is_recorded_and_learned_from() {
    let scratch = Scratch::new();
    let server = scratch.tap(["run", "--http", "127.0.0.1:0", "--name", "far", "--", "sh", "-c", SERVER]);
    let tap = Tap::start(server);
    let url = format!("http://{}/mcp", tap.address());
    let file = scratch.path("far.mcprec");
    let path = file.to_str().unwrap();
    let ask = |mode: &str, said: &str| {
        let output = replay(&scratch, &["--record", mode, path, "--", &url], said);
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let live = ask("once", SAID);
    assert!(live.contains(r#""slow":1.0"#), "{live}");
    let recording = fs::read_to_string(&file).unwrap();
    // It is what the client heard, on stdio, and says where that came from; not how this program was called.
    let header = recording.split("{\"to\"").next().unwrap();
    let is_said =
        [r#""transport":"stdio""#, &url, r#"["mcp-tap","proxy","--stdio","#].map(|part| header.contains(part));
    assert_eq!(is_said, [true; 3], "{header}");
    let more = format!("{SAID}{}\n", r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"more"}}"#);
    let learned = ask("new", &more);
    assert!(learned.starts_with(&live) && learned.lines().count() == live.lines().count() + 1, "{learned}");
    tap.stop();
    // Nobody is there any more, and nobody is needed.
    assert_eq!(ask("new", &more), learned);
    let (code, told) = {
        let words = ["replay", "--record", "new", path, "--", &url, "--bearer-env", "NO_SUCH_TOKEN"];
        let output = talk(scratch.tap(words), more.replace("\"more\"", "\"other\"").as_bytes());
        (output.status.code(), text(&output.stderr))
    };
    assert!(code == Some(0) && told.contains("NO_SUCH_TOKEN"), "{told}");
}

#[test]
fn what_cannot_learn_says_so() {
    let scratch = Scratch::new();
    let over_http = "{\"mcp-tap\":\"recording/2\",\"transport\":\"http\"}\n";
    fs::write(scratch.path("http.jsonl"), over_http).unwrap();
    let path = scratch.path("http.jsonl").to_str().unwrap().to_owned();
    let output = replay(&scratch, &["--record", "new", &path, "--", "sh"], "");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("was recorded over HTTP"), "{told}");
    let output = replay(&scratch, &["--record", "new", &format!("{path}:2"), "--", "sh"], "");
    let told = text(&output.stderr);
    assert!(output.status.code() == Some(2) && told.contains("a part"), "{told}");
}
