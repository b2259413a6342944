//! Servers of others: each is held against a recording that was made of it a moment before, and then changed.

use std::ffi::OsString;
use std::fs;
use std::process::Output;

use serde_json::{Value, json};

use crate::http_peers::programs::Tap;
use crate::peers;
use crate::replay::real::{everything, seen};
use crate::support::{Scratch, TAP, talk};
use crate::third_party::python_script;

/// Records a conversation, and gives the references to it: a session, a file without loss, a fixture.
fn record(scratch: &Scratch, client: &[OsString], server: &[OsString], script: &Value) -> Vec<String> {
    let tap = [TAP.into(), "--db".into(), scratch.db().into(), "run".into(), "--name".into(), "peer".into()];
    let tapped: Vec<OsString> = tap.into_iter().chain(["--".into()]).chain(server.iter().cloned()).collect();
    seen(scratch, client, &tapped, script);
    let files = ["all.jsonl", "fixture.mcprec"].map(|name| {
        let path = scratch.path(name).to_str().unwrap().to_owned();
        let exported = scratch.tap(["export", "peer", "-o", &path]).output().unwrap();
        assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        path
    });
    [&["peer".to_owned()][..], &files].concat()
}

fn verify(scratch: &Scratch, options: &[&str], server: &[OsString]) -> Output {
    let words: Vec<OsString> = ["verify"].iter().chain(options).map(OsString::from).collect();
    talk(scratch.tap(words.into_iter().chain(["--".into()]).chain(server.iter().cloned())), b"")
}

#[track_caller]
fn printed(scratch: &Scratch, code: i32, options: &[&str], server: &[OsString]) -> String {
    let output = verify(scratch, options, server);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{options:?}\n{text}\n{}", String::from_utf8_lossy(&output.stderr));
    text
}

#[test]
fn the_everything_server_is_as_recorded_and_another_one_is_not() {
    let Some(node) = peers::node("verify of the everything server") else {
        return;
    };
    let scratch = Scratch::new();
    let server = node.server("everything", &[]);
    let rules = scratch.path("rules.json");
    let volatile = json!({
        "ignore": ["params.elicitationId", "error.data.elicitations[*].elicitationId", "result.contents[*].text"],
        "tools": {"trigger-url-elicitation": {"ignore": ["result.content[*].text"]}},
    });
    fs::write(&rules, volatile.to_string()).unwrap();
    for reference in record(&scratch, &node.client(), &server, &everything()) {
        // It tells the time, and makes up what it never asks for again.
        let text = printed(&scratch, 0, &[&reference, "--rules", rules.to_str().unwrap()], &server);
        assert!(text.contains("no differences"), "{text}");
    }
    let text = printed(&scratch, 1, &["peer"], &node.server("memory", &[]));
    for part in ["BREAKING", "echo", "gone", "create_entities", "new"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn the_filesystem_server_is_as_recorded_until_the_files_change() {
    let Some(node) = peers::node("verify of the filesystem server") else {
        return;
    };
    let scratch = Scratch::new();
    let folder = scratch.path("folder");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("hello.txt"), "hello ☃\n").unwrap();
    let inside = |name: &str| folder.join(name).to_str().unwrap().to_owned();
    let server = node.server("filesystem", &[&inside("")]);
    let script = json!({
        "capabilities": {"roots": {"listChanged": true}},
        "roots": [format!("file://{}", inside(""))],
        "steps": [
            ["wait", "roots/list"],
            ["tools/list"],
            ["tools/call", {"name": "list_directory", "arguments": {"path": inside("")}}],
            ["tools/call", {"name": "read_text_file", "arguments": {"path": inside("hello.txt")}}],
            ["tools/call", {"name": "read_text_file", "arguments": {"path": inside("nowhere.txt")}}],
            ["tools/call", {"name": "list_allowed_directories"}],
        ],
    });
    for reference in record(&scratch, &node.client(), &server, &script) {
        fs::write(folder.join("hello.txt"), "hello ☃\n").unwrap();
        let text = printed(&scratch, 0, &[&reference], &server);
        assert!(text.contains("no differences: 6 calls the same"), "{text}");
        fs::write(folder.join("hello.txt"), "good bye\n").unwrap();
        let text = printed(&scratch, 1, &[&reference], &server);
        for part in ["read_text_file", "good bye", "differs: 5 calls the same, 1 not"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}

#[test]
fn the_memory_server_is_as_recorded_and_what_it_keeps_is_told() {
    let Some(node) = peers::node("verify of the memory server") else {
        return;
    };
    let scratch = Scratch::new();
    let file = scratch.path("memory.json");
    let variable = format!("MEMORY_FILE_PATH={}", file.display());
    let server: Vec<OsString> = [vec!["env".into(), variable.into()], node.server("memory", &[])].concat();
    let script = json!({
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "create_entities", "arguments": {
                "entities": [{"name": "Bo", "entityType": "person", "observations": ["likes ☃"]}],
            }}],
            ["tools/call", {"name": "read_graph", "arguments": {}}],
        ],
    });
    let references = record(&scratch, &node.client(), &server, &script);
    for reference in &references {
        fs::remove_file(&file).unwrap();
        printed(&scratch, 0, &[reference], &server);
    }
    // It knows Bo already.
    let text = printed(&scratch, 1, &[&references[0]], &server);
    assert!(text.contains("create_entities"), "{text}");
}

#[test]
fn a_python_server_is_as_recorded_in_both_eras() {
    let Some(python) = peers::python("verify of a Python server") else {
        return;
    };
    for mode in ["legacy", "2026-07-28"] {
        let scratch = Scratch::new();
        let mut script = python_script();
        script["mode"] = mode.into();
        for reference in record(&scratch, &python.client(), &python.server(), &script) {
            let text = printed(&scratch, 0, &[&reference], &python.server());
            assert!(text.contains("no differences"), "{mode}: {text}");
        }
    }
}

/// Recorded over HTTP, two sessions in one recording: each is played to a server of its own, on stdio and at an address.
#[test]
fn a_recording_over_http_is_played_session_by_session() {
    let Some((node, python)) = peers::node_and_python("verify of a recording over HTTP") else {
        return;
    };
    let client = node.script("client2.mjs", &[]);
    let scratch = Scratch::new();
    for mode in ["legacy", "2026-07-28"] {
        let mut script = python_script();
        script["mode"] = mode.into();
        let command = python.server();
        let server: Vec<&str> = command.iter().map(|word| word.to_str().unwrap()).collect();
        let name = format!("over-{}", &mode[..4]);
        let start = ["run", "--http", "127.0.0.1:0", "--name", &name, "--"];
        let tap = Tap::start(scratch.tap(start.iter().chain(&server)));
        let url = format!("http://{}/mcp", tap.address());
        for _ in 0..2 {
            seen(&scratch, &client, &[url.clone().into()], &script);
        }
        tap.stop();
        let text = printed(&scratch, 0, &[&name], &command);
        assert!(text.contains("no differences"), "{mode}: {text}");
        let tap =
            Tap::start(scratch.tap(["run", "--http", "127.0.0.1:0", "--name", "live", "--"].iter().chain(&server)));
        let url = format!("http://{}/mcp", tap.address());
        let output = talk(scratch.tap(["verify", &name, "--url", &url, "--allow-mutations"]), b"");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(0), "{mode}: {text}\n{}", String::from_utf8_lossy(&output.stderr));
        tap.stop();
    }
}
