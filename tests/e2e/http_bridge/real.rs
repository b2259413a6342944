//! Clients and servers of others, of both generations, with bridges between them.

use std::ffi::OsString;
use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::http_peers::programs::{Server, Tap, run};
use crate::peers;
use crate::support::{LIMIT, Scratch, TAP};

/// Who talks, and how the client is to begin.
struct Talk<'a> {
    scratch: &'a Scratch,
    client: &'a [OsString],
    script: &'a Value,
}

impl Talk<'_> {
    /// What the client told of the conversation with a server: a URL, or a command.
    #[track_caller]
    fn with(&self, server: &[OsString]) -> Vec<String> {
        let script = self.scratch.path("script.json");
        fs::write(&script, self.script.to_string()).unwrap();
        let mut client = Command::new(&self.client[0]);
        client.args(&self.client[1..]).arg(script).args(server);
        let output = run(client, LIMIT).unwrap_or_else(|| panic!("{:?} with {server:?} did not end", self.client));
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?} with {server:?} gave up: {stderr}", self.client);
        told(&String::from_utf8(output.stdout).unwrap())
    }

    /// Compares the conversation through a bridge with the one without.
    #[track_caller]
    fn check(&self, what: &str, directly: &[OsString], bridged: &[OsString]) {
        let (directly, bridged) = (self.with(directly), self.with(bridged));
        let has_answers = directly.iter().any(|line| line.contains("result"));
        assert!(has_answers, "{what}: nothing was said: {directly:?}");
        for (at, line) in directly.iter().enumerate() {
            assert_eq!(bridged.get(at), Some(line), "{what}, line {at}");
        }
        assert_eq!(bridged.len(), directly.len(), "{what}: {:?}", bridged.last());
    }
}

/// The server's messages: answers in their order, then what was said unasked, sorted, each once.
///
/// The steps are left out, since clients tell more of them over HTTP.
fn told(stdout: &str) -> Vec<String> {
    let messages =
        stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap().get("message").cloned());
    let is_unasked =
        |message: &Value| message["method"].as_str().is_some_and(|method| method != "notifications/progress");
    let (mut unasked, asked): (Vec<Value>, Vec<Value>) = messages.partition(is_unasked);
    unasked.retain(|message| !message["method"].as_str().is_some_and(|method| method.ends_with("/list_changed")));
    for message in &mut unasked {
        message["id"] = Value::Null;
    }
    let mut unasked: Vec<String> = unasked.iter().map(Value::to_string).collect();
    unasked.sort();
    unasked.dedup();
    asked.iter().map(Value::to_string).chain(unasked).collect()
}

fn words(texts: &[&str]) -> Vec<OsString> {
    texts.iter().map(OsString::from).collect()
}

/// The database is named, since clients do not hand their environment to servers.
fn stdio_bridge(scratch: &Scratch, url: &str) -> Vec<OsString> {
    let mut command = words(&[TAP, "--db"]);
    command.push(scratch.db().into());
    command.extend(words(&["proxy", "--stdio", url]));
    command
}

/// Of what is over HTTP the bridge wrote one side: it breaks none of the transport's rules.
#[track_caller]
fn check_recording(scratch: &Scratch, what: &str) {
    let session = scratch.session();
    assert_eq!((&session["end"], &session["complete"]), (&json!("stopped"), &json!(true)), "{what}: {session}");
    let output = scratch.tap(["check", "last", "--level", "error"]).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    let of_transport = ["HTT-", "SSE-", "RPC-", "LIF-"];
    let lines =
        found.lines().filter(|line| of_transport.iter().any(|rule| line.starts_with("error") && line.contains(rule)));
    assert_eq!(lines.collect::<Vec<_>>(), [""; 0], "{what}: {found}");
}

fn http_bridge(scratch: &Scratch, command: &[OsString]) -> Tap {
    let mut tap = scratch.tap(["run", "--http", "127.0.0.1:0", "--"]);
    tap.args(command);
    Tap::start(tap)
}

fn python_script(mode: &str) -> Value {
    json!({
        "mode": mode,
        "capabilities": {"elicitation": {"form": {}}},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "add", "arguments": {"a": 2, "b": 40}}],
            ["tools/call", {"name": "add", "arguments": {"a": "x", "b": 1}}],
            ["tools/call", {"name": "fail"}],
            ["tools/call", {"name": "progress", "arguments": {"n": 3}}, {"progress": true}],
            ["tools/call", {"name": "order"}],
            ["resources/read", {"uri": "note://snowman"}],
            ["resources/read", {"uri": "note://nowhere"}],
            ["prompts/get", {"name": "greet", "arguments": {"name": "Bo"}}],
        ],
    })
}

fn everything_script(mode: Option<&str>) -> Value {
    json!({
        "mode": mode,
        "capabilities": {},
        "steps": [
            ["tools/list"],
            ["tools/call", {"name": "echo", "arguments": {"message": "☃ \u{0} \"quoted\" \u{2028} \\"}}],
            ["tools/call", {"name": "get-sum", "arguments": {"a": "x"}}],
            ["tools/call", {"name": "get-tiny-image"}],
            [
                "tools/call",
                {"name": "trigger-long-running-operation", "arguments": {"duration": 0.2, "steps": 4}},
                {"progress": true},
            ],
            ["resources/list"],
            ["resources/read", {"uri": "demo://nowhere"}],
            ["prompts/get", {"name": "args-prompt", "arguments": {"city": "Paris"}}],
        ],
    })
}

#[test]
fn a_stdio_client_and_servers_over_http() {
    let test = "stdio clients and servers over HTTP";
    let Some((node, python)) = peers::node_and_python(test) else { return };
    let scratch = Scratch::new();
    let everything = |transport| node.server("everything", &[transport]);
    let of_python = |transport| python.script("server.py", &[transport]);
    let cases = [
        ("everything", everything("streamableHttp"), "/mcp", node.client(), everything_script(None)),
        ("everything, old", everything("sse"), "/sse", node.client(), everything_script(None)),
        ("Python, legacy", of_python("streamable-http"), "/mcp", python.client(), python_script("legacy")),
        ("Python, modern", of_python("streamable-http"), "/mcp", python.client(), python_script("auto")),
        ("Python, old", of_python("sse"), "/sse", python.client(), python_script("legacy")),
    ];
    for (what, server, path, client, mut script) in cases {
        let server = Server::start(&server);
        let url = format!("http://{}{path}", server.address);
        script["transport"] = path.strip_prefix("/sse").map(|_| "sse").into();
        let talk = Talk { scratch: &scratch, client: &client, script: &script };
        talk.check(what, &words(&[&url]), &stdio_bridge(&scratch, &url));
        check_recording(&scratch, what);
    }
}

#[test]
fn clients_over_http_and_stdio_servers() {
    let test = "clients over HTTP and stdio servers";
    let Some((node, python)) = peers::node_and_python(test) else { return };
    let everything = node.server("everything", &[]);
    let cases = [
        ("everything and TypeScript", everything.clone(), node.client(), everything_script(None)),
        ("everything and Python, legacy", everything.clone(), python.client(), everything_script(Some("legacy"))),
        // The server refuses to be discovered, and the client falls back.
        ("everything and Python, either", everything, python.client(), everything_script(Some("auto"))),
        ("Python, legacy", python.server(), python.client(), python_script("legacy")),
        ("Python, modern", python.server(), python.client(), python_script("auto")),
    ];
    for (what, server, client, mut script) in cases {
        let scratch = Scratch::new();
        let tap = http_bridge(&scratch, &server);
        let talk = Talk { scratch: &scratch, client: &client, script: &script };
        talk.check(what, &server, &words(&[&tap.url]));
        // The other bridge before this one: stdio on both sides.
        talk.check(&format!("{what}, twice"), &server, &stdio_bridge(&scratch, &tap.url));
        // HTTP+SSE is for the legacy era alone.
        if script["mode"] != "auto" {
            let url = tap.url.replace("/mcp", "/sse");
            script["transport"] = "sse".into();
            let talk = Talk { scratch: &scratch, client: &client, script: &script };
            talk.check(&format!("{what}, old"), &server, &words(&[&url]));
            talk.check(&format!("{what}, old, twice"), &server, &stdio_bridge(&scratch, &url));
        }
        tap.stop();
        check_recording(&scratch, what);
    }
}
