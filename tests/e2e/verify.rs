//! Recordings played to servers: real processes that are as recorded, have changed, or do not behave.
//!
//! `verify/real.rs` has the servers of others.

mod asking;
mod real;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use quick_xml::Reader;
use quick_xml::events::Event;
use serde_json::Value;

use crate::http_peers::programs::Tap;
use crate::support::{Scratch, TAP, is_running, piped, talk, wait_for, wait_until};

/// A server that answers each request with its method, and makes up the name of a job. `$1` says what it does otherwise.
const SERVER: &str = r#"
job=job-$$-$$-$$
echo $$ >> "$PIDS"
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case "$1:$line" in
    die:*tools/call*) echo "the disk is on fire" >&2; exit 3;;
    hang:*tools/call*) continue;;
    stay:*tools/call*) trap '' TERM HUP INT; exec sleep 1000;;
    nonsense:*) printf 'Debug: {"id":\n\000\377\n[]\n{"jsonrpc":"2.0","id":77,"result":{}}\n';;
  esac
  answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
  case "$line" in
    *initialize*) answer '{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}';;
    *tools/list*) case "$1" in
      drift) answer '{"tools":[{"name":"look","inputSchema":{"type":"object","required":["job"]}},{"name":"more","inputSchema":{"type":"object"}}]}';;
      *) answer '{"tools":[{"name":"start","inputSchema":{"type":"object"}},{"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}';;
    esac;;
    *'"start"'*) answer '{"content":[{"type":"text","text":"{\"job\":\"'$job'\"}"}]}';;
    *"$job"*) case "$1" in
      changed) answer '{"content":[{"type":"text","text":"it Runs"}],"count":2}';;
      *) answer '{"content":[{"type":"text","text":"it runs"}],"count":1}';;
    esac;;
    *) answer '{"content":[{"type":"text","text":"no such job"}],"isError":true}';;
  esac
done
"#;

const SERVER_TO_RECORD: &str = "usual";

fn request(id: u64, method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#)
}

/// The server as a command, in one of its ways to behave.
fn server(way: &str) -> [&str; 5] {
    ["sh", "-c", SERVER, "server", way]
}

/// A recording of the server as it usually is: the references to it, as a session and as files.
fn recorded(scratch: &Scratch) -> [String; 3] {
    let mut tap = scratch.run(server(SERVER_TO_RECORD));
    tap.env("PIDS", scratch.path("pids"));
    let mut child = tap.spawn().unwrap();
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
    let mut ask = |line: String| {
        writeln!(stdin, "{line}").unwrap();
        let mut answer = String::new();
        stdout.read_line(&mut answer).unwrap();
        serde_json::from_str::<Value>(&answer).unwrap()
    };
    let client = r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}"#;
    ask(request(10, "initialize", client));
    ask(request(11, "tools/list", "{}"));
    let started = ask(request(12, "tools/call", r#"{"name":"start","arguments":{}}"#));
    let text = started["result"]["content"][0]["text"].as_str().unwrap();
    let job = serde_json::from_str::<Value>(text).unwrap()["job"].as_str().unwrap().to_owned();
    ask(request(13, "tools/call", &format!(r#"{{"name":"look","arguments":{{"job":"{job}"}}}}"#)));
    drop(stdin);
    assert!(wait_for(&mut child).success());
    let files = ["a.mcprec", "a.jsonl"].map(|name| {
        let path = scratch.path(name).to_str().unwrap().to_owned();
        let output = scratch.tap(["export", "peer", "-o", &path]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        path
    });
    let [fixture, lines] = files;
    ["peer".into(), fixture, lines]
}

fn verify(scratch: &Scratch, options: &[&str], way: &str) -> Output {
    let mut command = scratch.tap(["verify"].iter().chain(options).chain(&["--"]).chain(&server(way)));
    command.env("PIDS", scratch.path("pids"));
    talk(command, b"")
}

/// Runs it, and gives what it printed.
#[track_caller]
fn printed(scratch: &Scratch, code: i32, options: &[&str], way: &str) -> String {
    let output = verify(scratch, options, way);
    let stderr = String::from_utf8_lossy(&output.stderr);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(code), "{way} {options:?}: {stderr}\n{text}");
    assert_eq!(stderr.is_empty(), code != 2, "{stderr}");
    nothing_is_left(scratch);
    text
}

/// All servers have ended.
#[track_caller]
fn nothing_is_left(scratch: &Scratch) {
    let pids = fs::read_to_string(scratch.path("pids")).unwrap_or_default();
    let pids: Vec<u32> = pids.lines().map(|line| line.parse().unwrap()).collect();
    wait_until("the servers have ended", || !pids.iter().any(|pid| is_running(*pid)));
}

#[test]
fn a_server_that_is_as_recorded_has_no_differences() {
    let scratch = Scratch::new();
    for reference in recorded(&scratch) {
        let text = printed(&scratch, 0, &[&reference], "usual");
        assert!(text.contains("no differences: 4 calls the same"), "{text}");
        assert!(text.contains("handed back what the server made up"), "{text}");
    }
    // It is recorded like any other session, and can be looked at like one.
    let session = scratch.session();
    assert_eq!(session["name"], "a-verify", "{session}");
    let output = scratch
        .tap(["diff", "peer", "last", "--ignore", "arg.job", "--compare", "shape", "--exit-code"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn what_has_changed_is_named() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    let text = printed(&scratch, 1, &[&fixture], "changed");
    for part in
        ["look", "2 values", "line ", "result.count", "- 1", "+ 2", "it Runs", "differs: 3 calls the same, 1 not"]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
    let text = printed(&scratch, 1, &[&fixture], "drift");
    for part in ["BREAKING", "start", "gone", "more", "new", "required +job", "annotations"] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // What is wrong stands in the line that is named.
    let json: Value = serde_json::from_str(&printed(&scratch, 1, &[&fixture, "--json"], "changed")).unwrap();
    let call = &json["recordings"][0]["calls"][3];
    assert_eq!((&json["same"], &call["outcome"]), (&false.into(), &"differs".into()), "{json}");
    let paths: Vec<&Value> = call["differences"].as_array().unwrap().iter().map(|this| &this["path"]).collect();
    assert_eq!(paths, ["result.content[0].text", "result.count"]);
    let line = call["line"].as_u64().unwrap() as usize;
    let file = fs::read_to_string(&fixture).unwrap();
    let record: String = file.lines().skip(line - 1).take(8).collect();
    assert!(record.starts_with(r#"{"to":"server""#) && record.contains("look"), "{record}");
    let items = &serde_json::from_str::<Value>(&printed(&scratch, 1, &[&fixture, "--json"], "drift")).unwrap();
    assert_eq!(items["recordings"][0]["lists"][0]["items"][0]["class"], "breaking", "{items}");
}

#[test]
fn dials_are_those_of_the_command_line_of_a_file_and_of_the_header() {
    let scratch = Scratch::new();
    let [session, fixture, _] = recorded(&scratch);
    let rules = scratch.path("rules.json");
    fs::write(&rules, r#"{"tools":{"look":{"compare":"shape"}}}"#).unwrap();
    for (code, options) in [
        (1, &[][..]),
        (0, &["--compare", "shape"]),
        (0, &["--compare", "status"]),
        (1, &["--loose", "case"]),
        (0, &["--loose", "case", "--ignore", "result.count"]),
        (0, &["--rules", rules.to_str().unwrap()]),
    ] {
        for reference in [&session, &fixture] {
            printed(&scratch, code, &[&[reference.as_str()], options].concat(), "changed");
        }
    }
    let file = fs::read_to_string(&fixture).unwrap();
    fs::write(&fixture, file.replacen('{', r#"{"rules":{"compare":"shape"},"#, 1)).unwrap();
    printed(&scratch, 0, &[&fixture], "changed");
    fs::write(&fixture, file.replacen('{', r#"{"rules":{"ignroe":[]},"#, 1)).unwrap();
    let output = verify(&scratch, &[&fixture], "changed");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("ignroe"));
}

#[test]
fn servers_that_do_not_behave_are_told_of_and_do_not_outlive_it() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    for (way, options, parts) in [
        ("die", &[][..], &["the server ended without an answer", "exited with 3", "the disk is on fire"][..]),
        ("hang", &["--timeout", "300ms"], &["no answer in time"]),
        ("stay", &["--timeout", "300ms"], &["no answer in time"]),
    ] {
        let text = printed(&scratch, 1, &[&[fixture.as_str()], options].concat(), way);
        for part in parts {
            assert!(text.contains(part), "{way}: {part} in {text}");
        }
    }
    let text = printed(&scratch, 0, &[&fixture], "nonsense");
    assert!(text.contains("no messages of JSON-RPC") && text.contains("what it was not asked"), "{text}");
    // What never was a server is trouble, and no difference.
    for (command, says) in
        [(&["/no/such/server"][..], "no such program"), (&["sh", "-c", "echo I cannot >&2; exit 5"], "I cannot")]
    {
        let output = talk(scratch.tap(["verify", &fixture, "--"].iter().chain(command)), b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{command:?}: {stderr}");
        assert!(stderr.contains(says), "{stderr}");
    }
    for wrong in [&["verify", &fixture][..], &["verify", "/no/such/file.mcprec", "--", "true"]] {
        assert_eq!(talk(scratch.tap(wrong), b"").status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn whoever_interrupts_it_ends_the_server() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    let pids = scratch.path("pids");
    fs::remove_file(&pids).unwrap();
    let mut command = piped(scratch.tap(["verify", &fixture, "--"].iter().chain(&server("hang"))));
    let mut child = command.env("PIDS", &pids).spawn().unwrap();
    wait_until("the server is there", || fs::read_to_string(&pids).is_ok_and(|text| text.ends_with('\n')));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(wait_for(&mut child).code(), Some(2));
    nothing_is_left(&scratch);
}

#[test]
fn junit_is_well_formed_and_has_a_failure_for_each_difference() {
    let scratch = Scratch::new();
    let [_, fixture, lines] = recorded(&scratch);
    for (way, code, n_failures) in [("usual", 0, 0), ("changed", 1, 2), ("drift", 1, 6), ("die", 1, 4)] {
        let path = scratch.path("report.xml");
        printed(&scratch, code, &[&fixture, &lines, "-o", path.to_str().unwrap()], way);
        let text = fs::read_to_string(&path).unwrap();
        let mut reader = Reader::from_str(&text);
        reader.config_mut().check_end_names = true;
        let (mut failures, mut n_cases, mut declared) = (0, 0, None);
        loop {
            match reader.read_event().unwrap() {
                Event::Start(tag) | Event::Empty(tag) => {
                    let value = |name: &str| {
                        let attribute = tag.try_get_attribute(name).unwrap()?;
                        Some(attribute.value.as_ref().to_owned())
                    };
                    match tag.name().as_ref() {
                        "testsuites" => declared = value("failures"),
                        "testcase" => n_cases += 1,
                        "failure" => failures += 1,
                        _ => {}
                    }
                }
                Event::Eof => break,
                _ => {}
            }
        }
        assert_eq!((failures, declared), (n_failures, Some(n_failures.to_string())), "{way}: {text}");
        assert!(n_cases >= 8, "{text}");
    }
}

#[test]
fn what_a_recording_would_be_now_waits_to_be_reviewed() {
    let scratch = Scratch::new();
    let [session, fixture, _] = recorded(&scratch);
    let new = format!("{fixture}.new");
    let exists = |path: &str| std::path::Path::new(path).exists();
    let run = |options: &[&str], is_ci: bool| {
        let words = ["verify"].iter().chain(options).chain(&["--"]);
        let mut command = scratch.tap(words.chain(&server("changed")));
        command.env("PIDS", scratch.path("pids"));
        if is_ci {
            command.env("CI", "true");
        }
        let output = talk(command, b"");
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    };
    let review = |options: &[&str]| {
        let folder = scratch.path("").to_str().unwrap().to_owned();
        let output = talk(scratch.tap(["review", &folder].iter().chain(options)), b"");
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    let before = fs::read_to_string(&fixture).unwrap();
    // Nobody asked for it, or it is a job of CI, or there is no file.
    assert_eq!(run(&[&fixture], false).0, Some(1));
    let (code, said) = run(&[&fixture, "--update", "all"], true);
    assert!(code == Some(1) && said.contains("CI is set"), "{said}");
    assert_eq!(run(&[&session, "--update", "new"], false).0, Some(2));
    assert_eq!((review(&["--list"]), exists(&new)), ((Some(0), String::new()), false));

    assert_eq!(run(&[&fixture, "--update", "new"], false).0, Some(1));
    assert_eq!(fs::read_to_string(&fixture).unwrap(), before);
    let (code, listed) = review(&["--list"]);
    assert!(code == Some(1) && listed.trim().ends_with("a.mcprec.new"), "{listed}");
    // Nobody is there to be asked.
    assert_eq!(review(&[]).0, Some(2));
    assert_eq!((review(&["--reject"]).0, exists(&new)), (Some(0), false));
    assert_eq!(fs::read_to_string(&fixture).unwrap(), before);

    // A rule of the header stays.
    fs::write(&fixture, before.replacen('{', r#"{"rules":{"ignore":["result.other"]},"#, 1)).unwrap();
    run(&[&fixture, "--update", "new"], false);
    assert_eq!((review(&["--accept"]).0, exists(&new)), (Some(0), false));
    let after = fs::read_to_string(&fixture).unwrap();
    assert!(after.contains("it Runs") && after.contains("result.other") && after.contains("fixture"), "{after}");
    printed(&scratch, 0, &[&fixture], "changed");
    printed(&scratch, 1, &[&fixture], "usual");

    // What waits is over when there is no difference any more.
    fs::write(&new, "old").unwrap();
    run(&[&fixture, "--update", "new"], false);
    assert!(!exists(&new));
    fs::write(&fixture, &before).unwrap();
    assert_eq!(run(&[&fixture, "--update", "all"], false).0, Some(1));
    assert!(fs::read_to_string(&fixture).unwrap().contains("it Runs"));
}

#[test]
fn it_stops_somewhere_and_leaves_the_session_open() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    let mut command = scratch.tap(["verify", &fixture, "--until", "5", "--stay", "--"].iter().chain(&server("usual")));
    command.env("PIDS", scratch.path("pids"));
    let typed = request(90, "tools/list", "{}") + "\n\nnot JSON\n" + &request(91, "ping", "{}") + "\n";
    let output = talk(command, typed.as_bytes());
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("3 calls the same, 1 not compared"), "{stdout}");
    assert!(
        stdout.contains(r#"{"jsonrpc":"2.0","id":90,"result":{"tools""#) && stdout.contains("\"id\":91"),
        "{stdout}"
    );
    assert!(stderr.contains("the session is open") && stderr.contains("no message of JSON-RPC"), "{stderr}");
    nothing_is_left(&scratch);
}

#[test]
fn a_server_at_an_address_is_only_read_from_unless_that_is_allowed() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    let mut command =
        scratch.tap(["run", "--http", "127.0.0.1:0", "--name", "far", "--"].iter().chain(&server("usual")));
    command.env("PIDS", scratch.path("pids"));
    let tap = Tap::start(command);
    let url = format!("http://{}/mcp", tap.address());
    let run = |options: &[&str]| {
        let words = ["verify", &fixture, "--url", &url];
        let mut command = scratch.tap(words.iter().chain(options));
        command.stdin(Stdio::null());
        let output = talk(command, b"");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let (code, stdout, stderr) = run(&[]);
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("the tool does not say that it only reads"), "{stdout}");
    assert!(stderr.contains("start") && stderr.contains("--allow-mutations"), "{stderr}");
    let (code, stdout, stderr) = run(&["--allow-mutations"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("no differences: 4 calls the same"), "{stdout}");
    assert_eq!(scratch.session()["name"], "a-verify");
    tap.stop();
    // Nobody is there any more.
    let (code, stdout, stderr) = run(&[]);
    assert_eq!(code, Some(2), "{stdout}{stderr}");
    // The session of the bundled server, too.
    let output = talk(scratch.tap(["verify", &fixture, "--", TAP, "demo-server"]), b"");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
}
