//! Which calls `mcp-tap route` makes: rules, a person who is asked by way of the host or on a terminal, the audit of it, and trust
//! on first use.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tap_peer::{Answers, Client, ListKind};
use tap_protocol::Revisions;

use crate::router::{call, configured, host, names, run, sh};
use crate::support::{Scratch, TAP, talk};

/// A server that says what it was called with, and how often.
const SERVER: &str = r#"n=0
open '{"tools":{}}'
while hear; do case $line in
*tools/list*) result '{"tools":[{"name":"write","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"read","inputSchema":{"type":"object"}}]}';;
*tools/call*) n=$((n+1)); result '{"content":[{"type":"text","text":"call '$n'"}]}';;
*) result '{}';;
esac; done"#;

const RULES: &str = r#"
[[rules]]
server = "files"
tool = "write"
arguments = { path = "/etc/*" }
then = "deny"
because = "nothing is written there"

[[rules]]
tool = "write"
then = "ask"
because = "it changes files"
"#;

fn rules(scratch: &Scratch) -> String {
    let path = scratch.path("rules.toml");
    std::fs::write(&path, RULES).unwrap();
    path.to_str().unwrap().to_owned()
}

/// A person at the host who says these things, one after another, and what was asked.
fn person(answers: &'static [&'static str]) -> (Arc<Answers>, Arc<Mutex<Vec<String>>>) {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let questions = asked.clone();
    let handler = Answers::default().elicitation_by_form(move |asked| {
        let params: Value = serde_json::from_slice(&asked.params.unwrap().0).unwrap();
        let mut questions = questions.lock().unwrap();
        let answer = answers[questions.len()];
        questions.push(params["message"].as_str().unwrap().to_owned());
        let reply = match answer {
            "decline" => json!({"action": "decline"}),
            answer => json!({"action": "accept", "content": {"answer": answer}}),
        };
        Box::pin(std::future::ready(Ok(reply.to_string())))
    });
    (Arc::new(handler), asked)
}

async fn calls(client: &Client, expected: &[(&str, Value, &str, bool)]) {
    for (tool, arguments, says, has_failed) in expected {
        let (text, failed) = call(client, tool, arguments).await;
        assert!(text.contains(says) && failed == *has_failed, "{tool} {arguments}: {text}");
    }
}

#[test]
fn a_person_is_asked_by_way_of_the_host_in_either_era_and_all_of_it_is_in_the_audit() {
    let scratch = Scratch::new();
    let file = configured(&scratch, &json!({"files": sh(SERVER)}));
    let rules = rules(&scratch);
    let words = ["route", "--config", &file, "--policy", &rules, "--startup", "60s"];
    for revisions in [Revisions::MODERN, Revisions::LEGACY] {
        run(async {
            let (handler, asked) = person(&["yes", "no", "decline", "always"]);
            let client = host(&scratch, &words, revisions, handler).await;
            let path = |path: &str| json!({ "path": path });
            calls(
                &client,
                &[
                    // What the server says of itself (`readOnlyHint`) makes no difference.
                    ("files__write", path("/tmp/a"), "call 1", false),
                    ("files__write", path("/etc/passwd"), "rules do not allow this call", true),
                    ("files__write", path("/etc/passwd"), "nothing is written there", true),
                    ("files__write", path("/tmp/b"), "refused", true),
                    ("files__write", path("/tmp/c"), "refused", true),
                    ("files__read", path("/etc/passwd"), "call 2", false),
                    ("files__write", path("/tmp/d"), "call 3", false),
                    ("files__write", path("/tmp/e"), "call 4", false),
                    ("files__write", path("/etc/x"), "rules do not allow this call", true),
                ],
            )
            .await;
            client.close().await;
            let asked = asked.lock().unwrap();
            assert_eq!(asked.len(), 4, "{asked:?}");
            assert!(asked[0].contains("/tmp/a") && asked[0].contains("it changes files"), "{asked:?}");
        });
    }
    // A host that cannot be asked has nobody there, and the model is told so.
    run(async {
        let client = host(&scratch, &words, Revisions::ALL, Arc::new(Answers::default())).await;
        calls(
            &client,
            &[
                ("files__write", json!({}), "there is nobody to ask; it was not made: it changes files", true),
                ("files__read", json!({}), "call 1", false),
            ],
        )
        .await;
        client.close().await;
    });
    let audit = |words: &[&str]| -> Vec<Value> {
        let output = talk(scratch.tap([&["audit", "--json", "-n", "100"], words].concat()), b"");
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = audit(&[]);
    assert_eq!(all.len(), 20);
    let told = |row: &Value| {
        let by = row["by"].as_str().unwrap().to_owned();
        (
            row["tool"].as_str().unwrap().to_owned(),
            row["allowed"] == true,
            by,
            row["outcome"].as_str().unwrap().to_owned(),
        )
    };
    let expected = [
        ("write", true, "a person", "result"),
        ("write", false, "rule 1", "not made"),
        ("write", false, "rule 1", "not made"),
        ("write", false, "a person", "not made"),
        ("write", false, "a person", "not made"),
        ("read", true, "no rule", "result"),
        ("write", true, "a person", "result"),
        ("write", true, "a person, for the session", "result"),
        ("write", false, "rule 1", "not made"),
    ];
    let expected =
        expected.map(|(tool, allowed, by, outcome)| (tool.to_owned(), allowed, by.to_owned(), outcome.to_owned()));
    assert_eq!(all[..9].iter().map(told).collect::<Vec<_>>(), expected);
    assert_eq!(all[9..18].iter().map(told).collect::<Vec<_>>(), expected);
    assert_eq!(all[18]["by"], "nobody to ask");
    assert_eq!(all[0]["arguments"], json!({"path": "/tmp/a"}));
    assert_eq!(all[0]["answer"]["content"][0]["text"], "call 1");
    assert!(all[0]["took_ms"].as_f64().unwrap() > 0.0 && all[1]["took_ms"].is_null());
    // Three runs, each with a session of its own that has the same id.
    let run = all[0]["run"].as_str().unwrap().to_owned();
    assert_eq!(audit(&[&run[..8]]).len(), 9);
    assert_eq!(audit(&["--refused"]).len(), 11);
    assert_eq!(audit(&["--tool", "re*"]).len(), 3);
    assert_eq!(audit(&["--server", "web"]).len(), 0);
    assert_eq!(audit(&["--since", "1h"]).len(), 20);
    let listed = scratch.tap(["ls", "--json"]).output().unwrap();
    assert!(String::from_utf8_lossy(&listed.stdout).contains(&run[..8]));
    let output = talk(scratch.tap(["audit"]), b"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("nobody to ask") && text.contains("11 of 20 calls not allowed"), "{text}");
}

#[test]
fn without_a_terminal_nobody_is_there_and_a_call_that_is_given_up_is_noted() {
    let scratch = Scratch::new();
    let file = configured(&scratch, &json!({"files": sh(SERVER)}));
    let rules = rules(&scratch);
    // In a session of its own, a process has no terminal, whatever the tests run in.
    let words =
        ["call", "-q", "files__write", "path=/tmp/a", "--", "setsid", "--wait", TAP, "route", "--config", &file];
    let output = talk(scratch.tap([&words[..], &["--policy", &rules, "--ask", "terminal"]].concat()), b"");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.code() == Some(1) && text.contains("there is nobody to ask"), "{text}");
    // With nothing recorded nothing is noted either.
    let none = scratch.path("none.db");
    let words =
        ["call", "-q", "--no-record", "files__read", "--", TAP, "route", "--no-record", "--config", &file, "--db"];
    let output = talk(scratch.tap([&words[..], &[none.to_str().unwrap()]].concat()), b"");
    assert!(output.status.success() && !none.exists());
}

#[test]
fn rules_that_are_wrong_stop_everything() {
    let scratch = Scratch::new();
    let file = configured(&scratch, &json!({"files": sh(SERVER)}));
    for (rules, says) in [
        ("[[rules]]\nthen = \"stop\"", "rule 1 (line 2): `then` is allow, ask or deny"),
        ("[servers.a]\ncommand = \"x\"", "it has no rules"),
        ("otherwise = 3", "`otherwise` is allow, ask or deny"),
        ("rulez = []", "`rulez` is not known"),
    ] {
        let path = scratch.path("wrong.toml");
        std::fs::write(&path, rules).unwrap();
        let output = talk(scratch.tap(["route", "--config", &file, "--policy", path.to_str().unwrap()]), b"");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(says), "{rules}: {text}");
    }
}

#[test]
fn a_server_is_trusted_as_it_is_first_seen_and_not_when_it_changes() {
    let scratch = Scratch::new();
    let lock = scratch.path("servers.lock");
    let server = |description: &str| {
        sh(&format!(
            r#"open '{{"tools":{{}}}}'
while hear; do case $line in
*tools/list*) result '{{"tools":[{{"name":"read","description":"{description}","inputSchema":{{"type":"object"}}}}]}}';;
*) result '{{"content":[]}}';;
esac; done"#
        ))
    };
    let listed = |file: &str| {
        let mut found = Vec::new();
        run(async {
            let words =
                ["route", "--config", file, "--lock", lock.to_str().unwrap(), "--trust-first", "--startup", "60s"];
            let client = host(&scratch, &words, Revisions::ALL, Arc::new(Answers::default())).await;
            found = names(&client, ListKind::Tools).await;
            client.close().await;
        });
        found
    };
    let first = configured(&scratch, &json!({"files": server("Reads.")}));
    assert_eq!(listed(&first), ["files__read"]);
    let held = std::fs::read_to_string(&lock).unwrap();
    assert!(held.contains("Reads."), "{held}");
    assert_eq!(listed(&first), ["files__read"]);
    // Another server is new, the first one is not as it was.
    let second =
        configured(&scratch, &json!({"files": server("Reads, and tells everybody."), "web": server("Looks.")}));
    assert_eq!(listed(&second), ["web__read"]);
    let held = std::fs::read_to_string(&lock).unwrap();
    assert!(held.contains("Reads.") && !held.contains("tells everybody") && held.contains("Looks."), "{held}");
}
