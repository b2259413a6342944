//! The live debugger between real processes: messages are held, changed, answered and put in, and nothing else is other
//! than without it.

mod endings;
mod faults;
mod http;
mod inspector;
mod recorded;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdin, ChildStdout, Output};

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{LIMIT, Scratch, TAP, lines, piped, same, talk, wait_for, wait_until};

/// A tap that runs, and its client's ends.
struct Live<'a> {
    scratch: &'a Scratch,
    tap: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        let _ = self.tap.kill();
        let _ = self.tap.wait();
    }
}

impl<'a> Live<'a> {
    fn start(scratch: &'a Scratch, options: &[&str], command: &[&str]) -> Self {
        let words = ["run", "--name", "peer"].iter().chain(options).chain(&["--"]).chain(command);
        let mut tap = piped(scratch.tap(words)).spawn().unwrap();
        let stdout = BufReader::new(tap.stdout.take().unwrap());
        let stdin = tap.stdin.take();
        let live = Self { scratch, tap, stdin, stdout };
        if !options.contains(&"--no-control") {
            wait_until("the tap listens", || live.json(&["taps", "--json"]).len() == 1);
        }
        live
    }

    fn send(&mut self, line: &str) {
        self.stdin.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    fn command(&self, arguments: &[&str]) -> Output {
        self.scratch.tap(arguments).output().unwrap()
    }

    /// What a command says that goes well.
    #[track_caller]
    fn done(&self, arguments: &[&str]) -> String {
        let output = self.command(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Vec<Value> {
        let output = self.command(arguments);
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Waits until so many messages wait, and gives them.
    #[track_caller]
    fn held(&self, count: usize) -> Vec<Value> {
        let mut held = Vec::new();
        wait_until("so many are held", || {
            held = self.json(&["held", "--json"]);
            held.len() == count
        });
        held
    }

    fn end(mut self) {
        drop(self.stdin.take());
        wait_for(&mut self.tap);
    }
}

/// A viewer at the control socket.
struct Viewer(BufReader<UnixStream>);

impl Viewer {
    fn connect(scratch: &Scratch) -> Self {
        let entry = std::fs::read_dir(scratch.path("mcp-tap")).unwrap().next().unwrap().unwrap();
        let stream = UnixStream::connect(entry.path()).unwrap();
        stream.set_read_timeout(Some(LIMIT)).unwrap();
        Self(BufReader::new(stream))
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        let asked = json!({"jsonrpc": "2.0", "id": method, "method": method, "params": params});
        self.0.get_mut().write_all(format!("{asked}\n").as_bytes()).unwrap();
        self.next(|told| told["id"] == method)
    }

    /// The next line that is such.
    fn next(&mut self, is: impl Fn(&Value) -> bool) -> Value {
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the tap has hung up");
            let told: Value = serde_json::from_str(&line).unwrap();
            if is(&told) {
                return told;
            }
        }
    }
}

fn request(id: u32, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

#[test]
fn a_held_call_that_is_edited_gives_the_server_the_edited_arguments() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &[TAP, "demo-server"]);
    live.send(INITIALIZE);
    live.line();
    live.send(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#);
    assert!(live.line().contains("cache"));
    assert!(live.line().contains("forecast"));
    live.done(&["break", "tool:forecast"]);
    live.send(&request(2, "forecast", r#"{ "city" : "Bern" }"#));
    live.send(r#"{"jsonrpc":"2.0","id":3,"method":"ping"}"#);
    assert!(live.line().contains(r#""id":3"#), "other calls go on");
    let held = live.held(1);
    assert_eq!((held[0]["what"].as_str(), held[0]["why"].as_str()), (Some("tools/call forecast"), Some("held")));
    let text = live.done(&["held", "1"]);
    // It was listed before anything was judged: the schema is that of the recording.
    let file = scratch.path("edited.json");
    std::fs::write(&file, text.replace("\"Bern\"", "5")).unwrap();
    wait_until("the list of tools is recorded", || live.json(&["log", "-s", "last", "--json"]).len() >= 2);
    let file = file.to_str().unwrap();
    let refused = live.command(&["release", "1", "--edited", file]);
    assert_eq!(refused.status.code(), Some(2));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("inputSchema of `forecast`: /city") && told.contains("--force"), "{told}");
    std::fs::write(file, text.replace("Bern", "Oslo")).unwrap();
    live.done(&["release", "1", "--edited", file]);
    assert!(live.line().contains("Oslo"));
    live.held(0);
    live.end();
    let sent = String::from_utf8(scratch.recorded("server")).unwrap();
    assert!(sent.contains(r#"{ "city" : "Bern" }"#), "the recording has it as it came: {sent}");
    let edited = scratch.json(&["log", "--frames", "--json", "is:edited"]);
    let numbers: Vec<_> = edited.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers.len(), 2, "as it came, and as it went: {edited:?}");
    let went = scratch.tap(["show", &format!("last:{}", numbers[1]), "--form", "raw"]).output().unwrap().stdout;
    assert!(String::from_utf8(went).unwrap().contains(r#"{ "city" : "Oslo" }"#));
}

#[test]
fn what_is_edited_in_the_editor_changes_only_the_tokens_that_differ() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--break", "is:c2s tool:x"], &["cat"]);
    let message = r#"{ "jsonrpc":"2.0", "id":1.0,"method":"tools/call","params":{"name":"x","arguments":{"n":1e400,"s":"\u0041", "t":1}} }"#;
    live.send(message);
    live.held(1);
    let mut release = scratch.tap(["release", "1", "--edit"]);
    release.env("VISUAL", "sed -i s/\\\"t\\\":.1/\\\"t\\\":2/");
    let output = release.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(live.line(), message.replace(r#""t":1"#, r#""t":2"#));
    live.end();
}

#[test]
fn an_editor_that_is_left_without_a_change_sends_nothing() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &["cat"]);
    live.done(&["break", "is:c2s method:ping -> hold"]);
    live.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    live.held(1);
    let mut release = scratch.tap(["release", "1", "--edit"]);
    release.env("VISUAL", "true");
    let output = release.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("nothing was changed: message 1 is still held; `mcp-tap release 1`"), "{stderr}");
    live.held(1);
    let released = live.command(&["release", "1", "--original"]);
    let stderr = String::from_utf8_lossy(&released.stderr);
    assert!(stderr.contains("message 1 released as it came"), "{stderr}");
    assert_eq!(live.line(), r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    live.end();
}

#[test]
fn a_breakpoint_that_is_written_as_a_fault_is_one() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &["cat"]);
    live.done(&["break", "method:ping is:c2s once -> error:-32603:no"]);
    let twice = live.command(&["break", "method:ping -> drop", "--do", "hang"]);
    assert_eq!(twice.status.code(), Some(2));
    live.send(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert_eq!(live.line(), r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#);
    live.send(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(live.line(), r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#, "it was the first alone");
    live.end();
}

#[test]
fn a_call_into_a_session_without_a_list_is_checked_by_the_server_s_list() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &[TAP, "demo-server"]);
    live.send(INITIALIZE);
    live.line();
    let wrong = live.command(&["call", "forecsat", "city=Bern", "--into", "last"]);
    let stderr = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("did you mean forecast?"), "{stderr}");
    let unfit = live.command(&["call", "forecast", "city:=7", "--into", "last"]);
    let stderr = String::from_utf8_lossy(&unfit.stderr);
    assert_eq!(unfit.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("were not sent") && stderr.contains("--on"), "{stderr}");
    live.end();
    let calls = scratch.tap(["log", "--frames", "method:tools/call"]).output().unwrap();
    let stderr = String::from_utf8_lossy(&calls.stderr);
    assert!(stderr.contains("no frames that fit"), "neither was sent: {stderr}");
}

#[test]
fn a_held_message_can_be_answered_dropped_or_refused_and_the_server_never_sees_it() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--break", "is:c2s is:request"], &["cat"]);
    let answer = scratch.path("answer.json");
    std::fs::write(&answer, "{\n  \"content\": [],\n  \"n\": 1.0\n}").unwrap();
    for (id, words, expected) in [
        (
            1,
            vec!["--error", "-32000:refused"],
            Some(r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"refused"}}"#),
        ),
        (
            2,
            vec!["--answer", answer.to_str().unwrap()],
            Some(r#"{"jsonrpc":"2.0","id":2,"result":{"content":[],"n":1.0}}"#),
        ),
        (3, vec!["--drop"], None),
    ] {
        live.send(&request(id, "x", "{}"));
        let number = live.held(1)[0]["number"].to_string();
        let mut release = vec!["release", &number];
        release.extend(&words);
        live.done(&release);
        live.held(0);
        if let Some(expected) = expected {
            assert_eq!(live.line(), expected);
        }
    }
    live.send("{\"note\":1}");
    assert_eq!(live.line(), "{\"note\":1}", "the next thing that the server got");
    assert_eq!(live.command(&["release", "99"]).status.code(), Some(2));
    live.end();
}

#[test]
fn a_message_goes_on_unchanged_after_the_time_limit_and_what_belongs_to_it_waits() {
    let scratch = Scratch::new();
    let mut live = Live::start(
        &scratch,
        &["--break", "method:notifications/progress is:c2s", "--hold-timeout", "300ms"],
        &["cat"],
    );
    let with_token = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"t"}}}"#;
    live.send(with_token);
    assert_eq!(live.line(), with_token);
    // What the server says, which `cat` gives back: progress of the client's own request back to it is judged as well.
    let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1}}"#;
    live.send(progress);
    live.send(r#"{"jsonrpc":"2.0","method":"notifications/other"}"#);
    assert!(live.line().contains("other"));
    assert_eq!(live.line(), progress, "by itself");
    live.end();
}

#[test]
fn a_stream_that_is_held_keeps_its_order() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--break", "is:c2s id:1", "--hold", "stream"], &["cat"]);
    let input: Vec<_> = (1..=5).map(|id| request(id, "x", "{}")).collect();
    input.iter().for_each(|line| live.send(line));
    let held = live.held(5);
    assert_eq!(held[4]["why"], "behind");
    live.done(&["release", "all"]);
    for line in &input {
        assert_eq!(&live.line(), line);
    }
    live.end();
}

#[test]
fn stepping_lets_one_message_through_and_holds_the_next() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &["cat"]);
    live.done(&["break", "is:c2s id:1", "--once"]);
    live.send(&request(1, "x", "{}"));
    live.held(1);
    live.done(&["release", "step"]);
    // The request went on, and what the server made of it is the next message: `cat` sends it back.
    let held = live.held(1);
    assert_eq!(held[0]["to"], "client");
    live.done(&["release", "to", "is:c2s id:7"]);
    assert_eq!(live.line(), request(1, "x", "{}"));
    live.send(&request(6, "x", "{}"));
    assert_eq!(live.line(), request(6, "x", "{}"));
    live.send(&request(7, "x", "{}"));
    assert_eq!(live.held(1)[0]["to"], "server");
    live.done(&["release", "all"]);
    assert_eq!(live.line(), request(7, "x", "{}"));
    assert!(live.done(&["break"]).contains("hits 1"));
    live.end();
}

#[test]
fn a_cancellation_and_its_request_go_on_together_in_order_whenever_it_comes() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--break", "is:c2s is:request"], &["cat"]);
    for id in 1..=30 {
        let request = request(id, "x", "{}");
        let cancel = format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id}}}}}"#);
        live.send(&format!("{request}\n{cancel}"));
        if id % 3 == 0 {
            // A race: it is held, has gone on by itself, or goes on now.
            live.command(&["release", "all"]);
        }
        assert_eq!((live.line(), live.line()), (request, cancel));
    }
    live.held(0);
    live.end();
}

#[test]
fn a_message_of_ours_is_answered_and_nobody_else_sees_it() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &[TAP, "demo-server"]);
    live.send(INITIALIZE);
    live.line();
    // Nothing is armed, and both pumps are in a read.
    let answer = live.done(&["call", "forecast", "city=Bern", "--into", "last"]);
    assert!(answer.contains("Bern"), "{answer}");
    assert!(live.line().contains("cache"), "the tools were listed for the call");
    let answer = live.done(&["inject", r#"{"method":"tools/list","id":1}"#]);
    assert!(live.line().contains("cache"), "a line that is no message goes where it always does");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["tools"][0]["name"], "forecast");
    assert!(answer["id"].as_str().unwrap().starts_with("mcp-tap-"));
    assert_eq!(live.command(&["call", "nonsense", "--into", "peer"]).status.code(), Some(2));
    assert!(live.line().contains("cache"), "it was asked whether there is such a tool by now");
    let failed = live.command(&["inject", r#"{"method":"nonsense"}"#]);
    assert_eq!(failed.status.code(), Some(1));
    assert_eq!(live.command(&["inject", "{nonsense"]).status.code(), Some(2));
    live.send(r#"{"jsonrpc":"2.0","id":"mcp-tap-1","method":"ping"}"#);
    assert_eq!(live.line(), r#"{"result":{},"jsonrpc":"2.0","id":"mcp-tap-1"}"#, "the next thing that the client got");
    live.done(&["inject", "--notify", "--to", "client", r#"{"method":"notifications/tools/list_changed"}"#]);
    assert_eq!(live.line(), r#"{"method":"notifications/tools/list_changed","jsonrpc":"2.0"}"#);
    live.end();
    let session = scratch.session();
    assert_eq!(session["end"], "exited");
}

#[test]
fn a_call_that_takes_too_long_is_cancelled_and_a_late_answer_stays_ours() {
    let scratch = Scratch::new();
    let server = r#"IFS= read -r line; id=${line#*\"id\":}; id=${id%%\}*}; IFS= read -r cancel; echo "{\"jsonrpc\":\"2.0\",\"id\":$id,\"result\":{}}"; echo "{\"got\":$cancel}"; cat"#;
    let mut live = Live::start(&scratch, &[], &["sh", "-c", server]);
    let failed = live.command(&["inject", r#"{"method":"slow"}"#, "--timeout", "200ms"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(String::from_utf8(failed.stderr).unwrap().contains("no answer came in time"));
    let got = live.line();
    assert!(
        got.starts_with(
            r#"{"got":{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"mcp-tap-"#
        ),
        "{got}"
    );
    live.end();
}

#[test]
fn many_breakpoints_that_never_match_change_no_byte_and_no_order() {
    let scratch = Scratch::new();
    let mut words = vec!["run".to_owned(), "--name".into(), "peer".into()];
    for number in 0..100 {
        words.extend(["--break".into(), format!("tool:never_{number} arg.path:/etc/* or code:-{number}")]);
    }
    words.extend(["--".into(), "cat".into()]);
    let input = lines(5_000);
    let output = talk(scratch.tap(&words), &input);
    same(&output.stdout, &input);
    same(&scratch.recorded("server"), &input);
    same(&scratch.recorded("client"), &input);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]
    #[test]
    fn any_bytes_pass_an_armed_gate_as_they_are(input in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"')], 0..3000)) {
        let scratch = Scratch::new();
        let output = talk(scratch.tap(["run", "--break", "tool:never finding:never", "--fault", "tool:never -> drop", "--", "cat"]), &input);
        prop_assert_eq!(output.stdout.escape_ascii().to_string(), input.escape_ascii().to_string());
        prop_assert_eq!(scratch.recorded("server").escape_ascii().to_string(), input.escape_ascii().to_string());
    }
}

#[test]
fn a_message_that_is_too_long_to_be_held_passes() {
    let scratch = Scratch::new();
    let mut input = request(1, "x", &format!("{{\"text\":\"{}\"}}", "y".repeat(9 * 1024 * 1024))).into_bytes();
    input.push(b'\n');
    input.extend(lines(3));
    let output = talk(scratch.tap(["run", "--break", "tool:x", "--hold-timeout", "never", "--", "cat"]), &input);
    same(&output.stdout, &input);
}

#[test]
fn viewers_are_told_and_one_that_does_not_read_slows_nothing() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--break", "is:c2s", "--do", "delay:0s"], &["cat"]);
    let mut stalled = Viewer::connect(&scratch);
    stalled.ask("attach", json!({}));
    let mut viewer = Viewer::connect(&scratch);
    viewer.ask("attach", json!({}));
    assert_eq!(viewer.ask("status", json!({}))["result"]["viewers"], 2);
    // Each makes three events of a hundred bytes and more: far more than a socket and a queue take.
    let input = lines(20_000);
    let mut stdin = live.stdin.take().unwrap();
    let sent = input.clone();
    let writer = std::thread::spawn(move || {
        stdin.write_all(&sent).unwrap();
        stdin
    });
    let mut got = Vec::new();
    for _ in 0..20_000 {
        live.stdout.read_until(b'\n', &mut got).unwrap();
    }
    same(&got, &input);
    live.stdin = Some(writer.join().unwrap());
    viewer.next(|told| told["method"] == "held");
    live.send(&request(1, "last", "{}"));
    assert!(live.line().contains("last"));
    live.end();
}

#[test]
fn what_a_viewer_held_goes_on_when_it_dies_and_what_was_to_stay_does_not() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &[], &["cat"]);
    let mut viewer = Viewer::connect(&scratch);
    viewer.ask("attach", json!({}));
    let set = viewer.ask("break/set", json!({"filter": "is:c2s tool:looked_at"}));
    assert_eq!(set["result"], json!({"number": 1, "armed": true}));
    viewer.ask("break/set", json!({"filter": "is:c2s tool:stays", "stays": true}));
    live.send(&request(1, "looked_at", "{}"));
    live.send(&request(2, "stays", "{}"));
    let told = viewer.next(|told| told["method"] == "held");
    assert_eq!(told["params"]["what"], "tools/call looked_at");
    live.held(2);
    drop(viewer);
    assert_eq!(live.line(), request(1, "looked_at", "{}"));
    assert_eq!(live.held(1)[0]["what"], "tools/call stays");
    live.send(&request(3, "looked_at", "{}"));
    assert_eq!(live.line(), request(3, "looked_at", "{}"), "nobody is there to look");
    live.done(&["break", "off"]);
    assert_eq!(live.line(), request(2, "stays", "{}"));
    live.end();
}

#[test]
fn what_makes_no_sense_is_told_and_the_connection_goes_on() {
    let scratch = Scratch::new();
    let live = Live::start(&scratch, &[], &["cat"]);
    let mut viewer = Viewer::connect(&scratch);
    for (method, params, expected) in [
        ("nonsense", json!({}), "there is no method `nonsense`"),
        ("break/set", json!({"filter": "tol:x"}), "unknown field `tol`"),
        ("break/set", json!({"do": "explode"}), "`explode` is nothing that can happen to a message"),
        ("break/set", json!({"when": "every:0"}), "`0` is no count"),
        ("break/remove", json!({"number": 7}), "there is no breakpoint 7"),
        ("held/release", json!({"number": 7}), "no message is held under the number 7"),
        ("held/release", json!({"number": 7, "how": "x"}), "`x` is no way to release a message"),
        ("call", json!({"message": "[]"}), "what was given cannot be sent: it is not an object"),
        ("inject", json!({"message": "{}"}), "what was given cannot be sent: it is no JSON-RPC message"),
        ("inject", json!({}), "`message` is missing"),
        ("inject", json!({"to": "both", "message": "{}"}), "`to` is server or client"),
    ] {
        assert_eq!(viewer.ask(method, params.clone())["error"]["message"], expected, "{method} {params}");
    }
    let found = viewer.ask("break/set", json!({"filter": "tool:a latncy>1s"}));
    assert_eq!((&found["error"]["data"]["from"], &found["error"]["data"]["to"]), (&json!(7), &json!(13)));
    for words in [
        &["break", "tol:x"][..],
        &["break", "x", "--do", "explode"],
        &["break", "x", "--on", "nobody"],
        &["release", "x"],
    ] {
        assert_eq!(live.command(words).status.code(), Some(2), "{words:?}");
    }
    for words in [&["--break", "tol:x"][..], &["--fault", "x"], &["--fault-file", "/no/such"], &["--hold-timeout", "5"]]
    {
        let mut run = vec!["run"];
        run.extend(words);
        run.extend(["--", "cat"]);
        assert_eq!(talk(scratch.tap(run), b"").status.code(), Some(2), "{words:?}");
    }
    live.end();
}
