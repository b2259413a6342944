//! Clients on the official SDKs: each talks to a real server through a tap, then to the recording, and sees the same.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::player;
use crate::http_peers::programs::Tap;
use crate::peers;
use crate::support::{Scratch, TAP, talk};
use crate::third_party::python_script;

/// What a client prints that talks to a server.
#[track_caller]
pub(crate) fn seen(scratch: &Scratch, client: &[OsString], server: &[OsString], script: &Value) -> Vec<String> {
    let script_path = scratch.path("script.json");
    fs::write(&script_path, script.to_string()).unwrap();
    let mut command = Command::new(&client[0]);
    command.args(&client[1..]).arg(script_path).args(server).env_remove("CI");
    let output = talk(command, b"");
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "the client gave up with {server:?}: {stderr}\n{stdout}");
    stdout.lines().map(str::to_owned).collect()
}

#[track_caller]
fn assert_same(what: &str, live: &[String], played: &[String]) {
    for (index, (live, played)) in live.iter().zip(played).enumerate() {
        assert_eq!(played, live, "line {index} of what {what} shows");
    }
    assert_eq!(played.len(), live.len(), "{what}: {:?}", played.last());
}

/// Records a conversation and plays it to the same client, from the database and from files.
#[track_caller]
fn check(client: &[OsString], server: &[OsString], script: &Value) {
    let scratch = Scratch::new();
    let tap = [TAP.into(), "--db".into(), scratch.db().into(), "run".into(), "--name".into(), "peer".into()];
    let tapped: Vec<OsString> = tap.into_iter().chain(["--".into()]).chain(server.iter().cloned()).collect();
    let live = seen(&scratch, client, &tapped, script);
    for (reference, export) in [
        ("last".to_owned(), None),
        ("all.jsonl".to_owned(), Some(&[][..])),
        // What is a secret is a marker otherwise, which is not what the client saw.
        ("fixture.mcprec".to_owned(), Some(&["--no-redact"][..])),
    ] {
        let path = scratch.path(&reference);
        let path = if export.is_some() { path.to_str().unwrap().to_owned() } else { reference };
        if let Some(options) = export {
            let exported = scratch.tap(["export", "last", "-o", &path].iter().chain(options)).output().unwrap();
            assert!(exported.status.success(), "{}", String::from_utf8_lossy(&exported.stderr));
        }
        let report = scratch.path("report.json");
        let server = player(&scratch, &[&path, "--report", report.to_str().unwrap()]);
        let played = seen(&scratch, client, &server, script);
        assert_same(&path, &live, &played);
        let report: Value = serde_json::from_slice(&fs::read(&report).unwrap()).unwrap();
        assert_eq!(report["misses"], json!([]), "{path}");
        assert_eq!(report["unused"], json!([]), "{path}");
    }
}

/// All that the everything server can do, one after the other.
pub(crate) fn everything() -> Value {
    let resource = json!({"uri": "demo://resource/dynamic/text/1"});
    let page = json!({"url": "https://example.com/", "message": "Open it."});
    let page_first = json!({"url": "https://example.com/", "message": "Open it.", "errorPath": true});
    json!({
        "capabilities": {"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}},
        "roots": ["file:///somewhere"],
        "steps": [
            ["wait", "roots/list"],
            ["wait", "notifications/message"],
            ["ping"],
            ["tools/list"],
            ["tools/call", {"name": "echo", "arguments": {"message": "☃ \u{0} \"quoted\" \u{2028} \\"}}],
            ["tools/call", {"name": "get-sum", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "get-sum", "arguments": {"a": "x"}}],
            ["tools/call", {"name": "no-such-tool"}],
            ["tools/call", {"name": "get-tiny-image"}],
            ["tools/call", {"name": "get-structured-content", "arguments": {"location": "New York"}}],
            [
                "tools/call",
                {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 4}},
                {"progress": true},
            ],
            [
                "tools/call",
                {"name": "trigger-sampling-request", "arguments": {"prompt": "say"}},
                {"cancel": "sampling/createMessage"},
            ],
            ["tools/call", {"name": "trigger-sampling-request", "arguments": {"prompt": "say"}}],
            ["tools/call", {"name": "trigger-elicitation-request"}],
            ["tools/call", {"name": "trigger-url-elicitation", "arguments": &page}],
            ["tools/call", {"name": "trigger-url-elicitation", "arguments": &page_first}],
            ["tools/call", {"name": "get-roots-list"}],
            ["logging/setLevel", {"level": "debug"}],
            ["resources/list"],
            ["resources/templates/list"],
            ["resources/subscribe", &resource],
            ["tools/call", {"name": "toggle-subscriber-updates"}],
            ["wait", "notifications/resources/updated"],
            ["tools/call", {"name": "toggle-subscriber-updates"}],
            ["resources/unsubscribe", &resource],
            ["resources/read", &resource],
            ["resources/read", {"uri": "demo://nowhere"}],
            ["prompts/list"],
            ["prompts/get", {"name": "args-prompt", "arguments": {"city": "Paris"}}],
            ["completion/complete", {
                "ref": {"type": "ref/prompt", "name": "completable-prompt"},
                "argument": {"name": "department", "value": "E"},
            }],
        ],
    })
}

#[test]
fn a_typescript_client_sees_of_the_everything_server_what_it_saw_live() {
    if let Some(node) = peers::node("replay of the everything server") {
        check(&node.client(), &node.server("everything", &[]), &everything());
    }
}

#[test]
fn a_python_client_of_both_eras_falls_back_as_it_did_live() {
    if let Some((node, python)) = peers::node_and_python("replay of the everything server to Python") {
        let script = json!({
            "steps": [
                ["tools/list"],
                ["tools/call", {"name": "echo", "arguments": {"message": "☃"}}],
                ["tools/call", {"name": "get-sum", "arguments": {"a": "x"}}],
            ],
        });
        check(&python.client(), &node.server("everything", &[]), &script);
    }
}

#[test]
fn a_python_client_goes_its_rounds_in_the_modern_era() {
    if let Some(python) = peers::python("replay of a Python server in the modern era") {
        check(&python.client(), &python.server(), &python_script());
    }
}

#[test]
fn a_typescript_client_sees_of_a_python_server_what_it_saw_live() {
    if let Some((node, python)) = peers::node_and_python("replay of a Python server to TypeScript") {
        check(&node.client(), &python.server(), &python_script());
    }
}

/// What was recorded on stdio is played over HTTP: what becomes of each step is the same.
#[test]
fn clients_over_http_get_the_recorded_answers() {
    let Some((node, python)) = peers::node_and_python("replay over HTTP") else {
        return;
    };
    let scratch = Scratch::new();
    let tap = |name: &str| {
        let tap = [TAP.into(), "--db".into(), scratch.db().into(), "run".into(), "--name".into(), name.into()];
        let tap: Vec<OsString> = tap.into_iter().chain(["--".into()]).collect();
        [&tap[..], &python.server()].concat()
    };
    for (mode, name) in [("legacy", "legacy"), ("2026-07-28", "modern")] {
        let mut script = python_script();
        script["mode"] = mode.into();
        seen(&scratch, &python.client(), &tap(name), &script);
        let served = Tap::start(scratch.tap(["replay", name, "--http", "127.0.0.1:0"]));
        let url = [OsString::from(format!("http://{}/mcp", served.address()))];
        let steps = |lines: Vec<String>| -> Vec<Value> {
            let lines = lines.into_iter().map(|line| serde_json::from_str::<Value>(&line).unwrap());
            lines.filter(|line| line["step"].is_string()).collect()
        };
        let played = steps(seen(&scratch, &node.script("client2.mjs", &[]), &url, &script));
        assert_eq!(played.len(), 12, "{mode}");
        for step in &played {
            let is_error = step["error"].is_object();
            assert_eq!(is_error, step["target"] == "note://nowhere", "{mode}: {step}");
            assert!(!step.to_string().contains("-31001"), "{step}");
        }
        let again = steps(seen(&scratch, &python.client(), &url, &script));
        assert_eq!(again.len(), 12, "{mode}");
        if let Some(first) = peers::python1("replay over HTTP to Python 1").filter(|_| mode == "legacy") {
            let steps = steps(seen(&scratch, &first.client(), &url, &script));
            assert_eq!(steps.len(), 12);
        }
        served.stop();
    }
}

/// What was recorded over HTTP is played over HTTP, each session its own, and the client sees the same.
#[test]
fn a_recording_over_http_is_played_by_conversation() {
    let Some((node, python)) = peers::node_and_python("replay of a recording over HTTP") else {
        return;
    };
    let client = node.script("client2.mjs", &[]);
    let scratch = Scratch::new();
    let url = |tap: &Tap| [OsString::from(format!("http://{}/mcp", tap.address()))];
    for mode in ["legacy", "2026-07-28"] {
        let mut script = python_script();
        script["mode"] = mode.into();
        let command = python.server();
        let server = command.iter().map(|word| word.to_str().unwrap());
        let name = format!("over-{}", &mode[..4]);
        let start = ["run", "--http", "127.0.0.1:0", "--name", &name, "--"];
        let tap = Tap::start(scratch.tap(start.into_iter().chain(server)));
        // Two sessions: the second is no part of what the first one is played from.
        let live = seen(&scratch, &client, &url(&tap), &script);
        let mut other = script.clone();
        other["steps"] = json!([["tools/list"], ["tools/call", {"name": "add", "arguments": {"a": 1, "b": 1}}]]);
        seen(&scratch, &client, &url(&tap), &other);
        tap.stop();

        let served = Tap::start(scratch.tap(["replay", &name, "--http", "127.0.0.1:0"]));
        let sealed = |lines: Vec<String>| -> Vec<String> {
            lines.into_iter().filter(|line| !line.contains("requestState")).collect()
        };
        let (live, played) = (sealed(live), sealed(seen(&scratch, &client, &url(&served), &script)));
        assert_same(mode, &live, &played);
        served.stop();
        // And on stdio: the results of the steps are the same.
        let on_stdio = seen(&scratch, &python.client(), &player(&scratch, &[&name]), &script);
        assert!(!on_stdio.iter().any(|line| line.contains("-31001")), "{on_stdio:?}");
    }
}

/// The oldest of the transports.
#[test]
fn a_client_over_sse_gets_the_recorded_answers() {
    let Some((node, python)) = peers::node_and_python("replay over SSE") else {
        return;
    };
    let scratch = Scratch::new();
    let tap = [TAP.into(), "--db".into(), scratch.db().into(), "run".into(), "--name".into(), "peer".into()];
    let tapped: Vec<OsString> = tap.into_iter().chain(["--".into()]).chain(python.server()).collect();
    let mut script = python_script();
    seen(&scratch, &node.client(), &tapped, &script);
    script["transport"] = "sse".into();
    let served = Tap::start(scratch.tap(["replay", "peer", "--http", "127.0.0.1:0"]));
    let url = [OsString::from(format!("http://{}/sse", served.address()))];
    let played = seen(&scratch, &node.client(), &url, &script);
    let steps: Vec<&String> = played.iter().filter(|line| line.contains("\"step\"")).collect();
    assert_eq!(steps.len(), 12, "{played:?}");
    assert!(!played.iter().any(|line| line.contains("-31001")), "{played:?}");
    served.stop();
}
