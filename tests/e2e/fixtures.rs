//! Fixtures: a session becomes a file for git, the same each time, without secrets; every command reads it.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::peers;
use crate::support::{Scratch, TAP, talk};

/// `mcp-tap ARGUMENTS` in the scratch folder: exit code, stdout, stderr.
fn run(scratch: &Scratch, arguments: &[&str]) -> (i32, String, String) {
    let mut tap = scratch.tap(arguments);
    tap.current_dir(scratch.path(""));
    let output = talk(tap, b"");
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), stdout, stderr)
}

#[track_caller]
fn done(scratch: &Scratch, arguments: &[&str]) -> String {
    let (code, stdout, stderr) = run(scratch, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stderr}");
    stdout
}

fn read(scratch: &Scratch, name: &str) -> String {
    std::fs::read_to_string(scratch.path(name)).unwrap()
}

/// All but the last record, which has the times.
#[track_caller]
fn without_times(fixture: &str) -> &str {
    fixture.rsplit_once("{\"gaps_us\":").unwrap().0
}

/// The messages of a session or a file, as `log` tells them, without times.
fn listed(scratch: &Scratch, reference: &str) -> Vec<Value> {
    let mut rows = scratch.json(&["log", "--frames", "--json", "-s", reference]);
    for row in &mut rows {
        row.as_object_mut().unwrap().retain(|key, _| {
            ["seq", "to", "kind", "method", "id", "status", "length_bytes", "name"].contains(&key.as_str())
        });
    }
    rows
}

#[test]
fn two_recordings_of_a_conversation_give_one_fixture_that_every_command_reads() {
    let [first, second] = [Scratch::new(), Scratch::new()];
    for scratch in [&first, &second] {
        done(scratch, &["demo"]);
        let (code, _, told) = run(scratch, &["export", "last", "-o", "demo.mcprec"]);
        assert_eq!((code, told.lines().next()), (0, Some("22 frames, without clocks")));
    }
    let fixture = read(&first, "demo.mcprec");
    assert_eq!(without_times(&fixture), without_times(&read(&second, "demo.mcprec")));
    for hidden in ["2026", "uuid", "recorded", "pid", "folder", "stderr", first.path("").to_str().unwrap()] {
        assert!(!without_times(&fixture).contains(hidden) || hidden == "2026", "{hidden} in {fixture}");
    }
    // It is what `jq` reads: a stream of JSON.
    let records: Vec<Value> =
        serde_json::Deserializer::from_str(&fixture).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(records[0]["profile"], "fixture");
    assert!(fixture.lines().all(|line| line.chars().count() <= 100), "{fixture}");
    // What it says is what was recorded, but for stderr; and it is the same again by any way.
    assert!(done(&first, &["export", "last", "-o", "whole.mcprec", "--stderr", "-q"]).is_empty());
    let numbered = |rows: Vec<Value>| rows;
    assert_eq!(numbered(listed(&first, &first.path("whole.mcprec").to_string_lossy())), listed(&first, "last"));
    for (command, output) in [
        (&["export", "demo.mcprec", "-o", "again.mcprec", "-q"][..], "again.mcprec"),
        (&["export", "demo.mcprec:1..", "-o", "part.mcprec", "-q"], "part.mcprec"),
        (&["export", "demo.mcprec", "--fixture", "-o", "lines.jsonl", "-q"], "lines.jsonl"),
        (&["export", "lines.jsonl", "--fixture", "--fold", "100", "-o", "back.jsonl", "-q"], "back.jsonl"),
    ] {
        done(&first, command);
        let text = read(&first, output);
        match output {
            "lines.jsonl" => assert_eq!(text.lines().count(), records.len()),
            _ => assert_eq!(text, fixture, "{output}"),
        }
    }
    done(&first, &["import", "demo.mcprec", "-q"]);
    done(&first, &["export", "last", "-o", "imported.mcprec", "-q"]);
    assert_eq!(read(&first, "imported.mcprec"), fixture);
    for command in [
        &["show", "demo.mcprec:2"][..],
        &["state", "demo.mcprec:9"],
        &["stats", "demo.mcprec"],
        &["log", "-s", "demo.mcprec"],
    ] {
        assert!(!done(&first, command).is_empty(), "{command:?}");
    }
    let (code, stdout, _) = run(&first, &["check", "-s", "demo.mcprec"]);
    assert!(code == 1 && stdout.contains("demo.mcprec:"), "{stdout}");
}

#[test]
fn the_memory_server_and_the_typescript_client_give_one_fixture() {
    let Some(node) = peers::node("fixtures of the memory server and the TypeScript client") else {
        return;
    };
    let record = || {
        let scratch = Scratch::new();
        let script = json!({
            "environment": {"MEMORY_FILE_PATH": scratch.path("memory.jsonl")},
            "steps": [
                ["tools/list"],
                ["tools/call", {"name": "create_entities", "arguments": {"entities": [
                    {"name": "Ada", "entityType": "person", "observations": ["has the password: no", "/home/ada/x"]},
                ]}}],
                ["tools/call", {"name": "search_nodes", "arguments": {"query": "Ada"}}],
                ["tools/call", {"name": "create_entities", "arguments": {"wrong": 1}}],
            ],
        });
        let path = scratch.path("script.json");
        std::fs::write(&path, script.to_string()).unwrap();
        let tap = [TAP, "run", "--name", "memory", "--db"].map(OsString::from);
        let tap = tap.into_iter().chain([scratch.db().into(), "--".into()]);
        let client = node.client();
        let mut command = Command::new(&client[0]);
        command.args(&client[1..]).arg(path).args(tap).args(node.server("memory", &[]));
        let output = talk(command, b"");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (code, _, told) = run(&scratch, &["export", "last", "-o", "memory.mcprec"]);
        assert!(code == 0 && told.contains("«home»: home folder"), "{told}");
        assert_eq!(run(&scratch, &["redact", "--check", "memory.mcprec"]), (0, String::new(), String::new()));
        read(&scratch, "memory.mcprec")
    };
    let [first, second] = [record(), record()];
    assert!(first.contains("«home»/x") && first.contains("has the password: no"), "{first}");
    assert_eq!(without_times(&first), without_times(&second));
}

const HEADER: &str = "{\"mcp-tap\":\"recording/1\",\"profile\":\"fixture\",\"server\":\"a\"}\n";

fn write(path: &Path, records: &str) {
    std::fs::write(path, format!("{HEADER}{records}")).unwrap();
}

#[test]
fn secrets_in_files_are_found_by_line_and_replaced() {
    let scratch = Scratch::new();
    let secret = format!("ghp_{}", "aB3d".repeat(9));
    let records = format!(
        "{{\"note\":\"kept\"}}\n{{\"to\":\"server\",\"msg\":{{\n \"id\":1,\n \"params\":{{\"arguments\":{{\n  \"password\":\"hunter2\",\n  \"text\":\"{secret}\"\n }}}}\n}}}}\n{{\"hue\":\"blue\"}}\n"
    );
    write(&scratch.path("a.mcprec"), &records);
    let (code, found, told) = run(&scratch, &["redact", "--check", "a.mcprec"]);
    let expected = "a.mcprec:6: value of a secret's name: params.arguments.password\na.mcprec:7: GitHub token: params.arguments.text\n";
    assert_eq!((code, found.as_str()), (1, expected));
    assert!(told.starts_with("2 possible secrets") && !told.contains("hunter2"), "{told}");
    let (code, _, told) = run(&scratch, &["redact", "a.mcprec", "--redact", "key:id"]);
    assert!(code == 0 && told.contains("«secret 3»: GitHub token, 1 place") && told.contains("hue"), "{told}");
    let text = read(&scratch, "a.mcprec");
    let expected = "{\"note\":\"kept\"}\n{\"to\":\"server\",\"msg\":{\"id\":1,\"params\":{\"arguments\":{\"password\":\"«secret 2»\",\"text\":\"«secret 3»\"}}}}\n{\"hue\":\"blue\"}\n";
    assert!(text.ends_with(expected), "{text}");
    assert_eq!(run(&scratch, &["redact", "--check", "a.mcprec"]).0, 0);
    write(&scratch.path("torn.mcprec"), "{\"to\":\"server\",\n \"msg\":{");
    for (arguments, told) in [
        (
            &["redact", "--check", "torn.mcprec"][..],
            "torn.mcprec line 2: not a record: the file ends before this record does",
        ),
        (&["redact", "torn.mcprec"], "torn.mcprec line 2"),
        (&["log", "-s", "torn.mcprec"], "torn.mcprec line 2"),
        (&["redact", "--redact", "nonsense", "a.mcprec"], "write key:NAME, path:PATH or re:PATTERN"),
        (&["redact", "none.mcprec"], "none.mcprec"),
    ] {
        let (code, _, stderr) = run(&scratch, arguments);
        assert!(code == 2 && stderr.contains(told), "{arguments:?}: {code} {stderr}");
    }
    assert_eq!(
        read(&scratch, "torn.mcprec"),
        format!("{HEADER}{{\"to\":\"server\",\n \"msg\":{{"),
        "nothing was changed"
    );
}
