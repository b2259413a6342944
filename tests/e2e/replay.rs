//! Recordings played as servers: real processes, and real clients that must see what they saw live.
//!
//! `replay/real.rs` has the clients of others.

mod learning;
pub(crate) mod real;
mod served;

use std::fs;
use std::process::Output;

use serde_json::Value;

use crate::support::{Scratch, TAP, talk};

/// A server of one line: it answers each request with its method, and tells of itself on stderr.
const SERVER: &str = r#"
echo "here I am" >&2
while read -r line; do
  id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  [ -n "$id" ] || continue
  case "$line" in
    *initialize*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"small","version":"1"}}}\n' "$id";;
    *slow*) printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}\n' "$id"
            printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[],"slow":1.0}}\n' "$id";;
    *) printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}\n' "$id";;
  esac
done
"#;

const SAID: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"slow","arguments":{"n":1},"_meta":{"progressToken":1}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"quick","arguments":{"at":"noon"}}}
"#;

/// A recording of [`SERVER`] and [`SAID`], as a session and as files: the references to each.
fn recorded(scratch: &Scratch) -> Vec<String> {
    let live = talk(scratch.run_sh(SERVER), SAID.as_bytes());
    assert!(live.status.success());
    let mut references = vec!["last".to_owned()];
    for file in ["a.mcprec", "a.jsonl"] {
        let path = scratch.path(file);
        let path = path.to_str().unwrap();
        let output = scratch.tap(["export", "last", "-o", path]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        references.push(path.to_owned());
    }
    references
}

fn replay(scratch: &Scratch, arguments: &[&str], said: &str) -> Output {
    talk(scratch.tap(["replay"].iter().chain(arguments)), said.as_bytes())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_same_client_gets_the_same_bytes_from_every_form_and_every_time() {
    let scratch = Scratch::new();
    let references = recorded(&scratch);
    let live = scratch.recorded("client");
    for reference in &references {
        for clock in ["none", "none", "none", "1ms", "0.5x"] {
            let output = replay(&scratch, &[reference, "--strict", "--clock", clock], SAID);
            assert_eq!(text(&output.stdout), text(&live), "{reference}");
            assert_eq!(text(&output.stderr), "");
            assert_eq!(output.status.code(), Some(0));
        }
    }
}

#[test]
fn a_miss_is_an_error_for_the_client_and_told_on_stderr_with_its_line() {
    let scratch = Scratch::new();
    let references = recorded(&scratch);
    let fixture = references[1].as_str();
    let report_path = scratch.path("report.json");
    let report = ["--report", report_path.to_str().unwrap()];
    let said = SAID.replace("noon", "night");
    let output = replay(&scratch, &[&[fixture, "--strict"][..], &report].concat(), &said);
    assert_eq!(output.status.code(), Some(1));
    let answer = text(&output.stdout).lines().last().unwrap().to_owned();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["error"]["code"], -31001);
    let line = answer["error"]["data"]["closest"][0]["line"].as_u64().unwrap();
    let file = fs::read_to_string(fixture).unwrap();
    let record: String = file.lines().skip(line as usize - 1).take(12).collect();
    assert!(record.starts_with(r#"{"to":"server""#) && record.contains("quick"), "{record}");
    let told = text(&output.stderr);
    for part in [
        "no recorded answer for #4  tools/call quick",
        "--ignore arg.at",
        "1 recorded request nobody made",
        &format!("line {line}"),
    ] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let report: Value = serde_json::from_slice(&fs::read(report_path).unwrap()).unwrap();
    assert_eq!(report["clean"], false);
    assert_eq!(report["misses"][0]["accepted_by"][0], "--ignore arg.at");
    // What it says would accept it does.
    let output = replay(&scratch, &[fixture, "--strict", "--ignore", "arg.at"], &said);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn a_fixture_says_itself_what_does_not_count() {
    let scratch = Scratch::new();
    let fixture = recorded(&scratch)[1].clone();
    let file = fs::read_to_string(&fixture).unwrap();
    fs::write(&fixture, file.replacen('{', r#"{"rules":{"tools":{"quick":{"ignore":["arg.at"]}}},"#, 1)).unwrap();
    let said = SAID.replace("noon", "night");
    assert_eq!(replay(&scratch, &[&fixture, "--strict"], &said).status.code(), Some(0));
    assert_eq!(replay(&scratch, &[&fixture, "--strict"], &said.replace("quick", "other")).status.code(), Some(1));
    // The program that reads rules with an error says so before anybody is served.
    fs::write(&fixture, file.replacen('{', r#"{"rules":{"ignroe":["arg.at"]},"#, 1)).unwrap();
    let output = replay(&scratch, &[&fixture], SAID);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
    assert!(text(&output.stderr).contains("ignroe"));
}

#[test]
fn layers_are_asked_in_order() {
    let scratch = Scratch::new();
    let fixture = recorded(&scratch)[1].clone();
    let other = scratch.path("other.jsonl");
    let records = r#"{"mcp-tap":"recording/1"}
{"to":"server","msg":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"special"}}}
{"to":"client","msg":{"jsonrpc":"2.0","id":1,"result":{"special":true}}}
"#;
    fs::write(&other, records).unwrap();
    let said = format!("{SAID}{}\n", r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"special"}}"#);
    let output = replay(&scratch, &[&fixture, other.to_str().unwrap(), "--strict"], &said);
    assert_eq!(text(&output.stderr), "");
    assert!(text(&output.stdout).ends_with("{\"jsonrpc\":\"2.0\",\"id\":9,\"result\":{\"special\":true}}\n"));
}

#[test]
fn a_damaged_file_is_played_up_to_there_and_the_line_is_named() {
    let scratch = Scratch::new();
    let lossless = recorded(&scratch)[2].clone();
    let file = fs::read_to_string(&lossless).unwrap();
    let cut = file.find("slow\":1.0").unwrap();
    fs::write(&lossless, &file[..cut]).unwrap();
    let output = replay(&scratch, &[&lossless], SAID);
    assert_eq!(output.status.code(), Some(0));
    let told = text(&output.stderr);
    assert!(told.contains("a.jsonl") && told.contains("the recording is played up to there"), "{told}");
    let stdout = text(&output.stdout);
    assert!(stdout.contains("\"serverInfo\"") && stdout.contains("-31001"), "{stdout}");
    for (content, problem) in
        [("", "empty"), ("nonsense", "JSON object must begin here"), (r#"{"mcp-tap":"recording/9"}"#, "recording/9")]
    {
        fs::write(&lossless, content).unwrap();
        let output = replay(&scratch, &[&lossless], SAID);
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0));
        assert!(text(&output.stderr).contains(problem), "{}", text(&output.stderr));
    }
}

#[test]
fn what_is_missing_is_recorded_once_and_anew_and_never_in_ci() {
    let scratch = Scratch::new();
    let file = scratch.path("new.mcprec");
    let path = file.to_str().unwrap();
    let once = ["--record", "once", path, "--", "sh", "-c", SERVER];
    // The mode that nobody chose, and CI, record nothing.
    let output = replay(&scratch, &[path], SAID);
    assert_eq!((output.status.code(), file.exists()), (Some(2), false));
    let mut in_ci = scratch.tap(["replay"].iter().chain(&once));
    in_ci.env("CI", "true");
    assert_eq!((talk(in_ci, SAID.as_bytes()).status.code(), file.exists()), (Some(2), false));

    let live = replay(&scratch, &once, SAID);
    assert_eq!(live.status.code(), Some(0), "{}", text(&live.stderr));
    let recording = fs::read(&file).unwrap();
    assert!(text(&recording).contains(r#""profile":"fixture""#));
    // Now it is there: the server is not started any more, which would say something on stderr.
    let played = replay(&scratch, &once, SAID);
    assert_eq!((text(&played.stdout), text(&played.stderr)), (text(&live.stdout), String::new()));
    assert_eq!(fs::read(&file).unwrap(), recording);

    let all = ["--record", "all", path, "--", "sh", "-c", SERVER];
    let anew = replay(&scratch, &all, &SAID.replace("noon", "night"));
    assert!(text(&anew.stderr).contains("here I am"));
    assert!(text(&fs::read(&file).unwrap()).contains("night"));

    for (arguments, hint) in [
        (&["--record", "all", path][..], "needs the server's command"),
        (&[path, "--", "sh"][..], "no --record"),
        (&["--record", "once", "nobody", "--", "sh"][..], "needs a file"),
    ] {
        let output = replay(&scratch, arguments, "");
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(hint), "{}", text(&output.stderr));
    }
}

/// The program that plays, as a server's command.
fn player(scratch: &Scratch, arguments: &[&str]) -> Vec<std::ffi::OsString> {
    let start = [TAP.into(), "--db".into(), scratch.db().into(), "replay".into()];
    start.into_iter().chain(arguments.iter().map(std::ffi::OsString::from)).collect()
}
