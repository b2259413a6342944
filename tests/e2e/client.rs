//! `mcp-tap tools` and `mcp-tap call`: what they print, what they exit with, what they record, and what they leave behind,
//! with our own echo server, and with servers of others over stdio, Streamable HTTP and HTTP+SSE.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};

use base64::Engine;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::http_bridge::echo_server;
use crate::http_peers::programs::Server;
use crate::inspector::Terminal;
use crate::peers;
use crate::support::{Scratch, TAP, is_running, piped, talk, wait_for, wait_until};

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// `mcp-tap WORDS -- COMMAND`.
fn on(scratch: &Scratch, words: &[&str], command: &[OsString]) -> Output {
    let mut tap = scratch.tap(words);
    tap.arg("--").args(command);
    talk(tap, b"")
}

fn echo() -> Vec<OsString> {
    vec![echo_server().into()]
}

#[test]
fn arguments_are_typed_checked_and_sent_and_the_exit_code_tells() {
    let scratch = Scratch::new();
    let file = scratch.path("arguments.json");
    std::fs::write(&file, "{\"text\": \"from a file\"}").unwrap();
    let file = file.to_str().unwrap();
    for (words, code, stdout, stderr) in [
        (&["call", "echo", "text=hi = there"][..], 0, "hi = there\n", "recorded as tap-echo: mcp-tap inspect "),
        (&["call", "-q", "echo", "text:=\"\\u2603\""], 0, "☃\n", ""),
        (&["call", "-q", "echo", "{\"text\":\"7\"}"], 0, "7\n", ""),
        (&["call", "-q", "echo", "--json-args", file], 0, "from a file\n", ""),
        (&["call", "-q", "blob", "size=3"], 0, "xxx\n", ""),
        (&["call", "blob", "size=three"], 2, "", "size: \"three\" is not of type \"integer\""),
        (&["call", "blob"], 2, "", "\"size\" is a required property"),
        (&["call", "blob", "size"], 2, "", "`size` is neither name=value nor name:=JSON"),
        (&["call", "ecko", "text=a"], 2, "", "did you mean echo?"),
        (&["call", "ecko", "--no-check"], 2, "", "ecko: no tool ecko (-32602)"),
        (&["call", "exit", "code=3"], 0, "bye\n", "recorded as tap-echo"),
        (&["call", "sleep", "ms=60000", "--timeout", "20ms"], 2, "", "sleep: not answered within 0.02 s"),
    ] {
        let output = on(&scratch, words, &echo());
        assert_eq!((output.status.code(), out(&output).as_str()), (Some(code), stdout), "{words:?} {}", err(&output));
        assert!(err(&output).contains(stderr), "{words:?}: {}", err(&output));
        assert!(!stderr.is_empty() || err(&output).is_empty(), "{words:?}: {}", err(&output));
    }
    let cannot = talk(scratch.tap(["call", "a", "--", "/no/such/program"]), b"");
    assert_eq!(cannot.status.code(), Some(2));
    assert!(err(&cannot).contains("/no/such/program"), "{}", err(&cannot));
}

#[test]
fn what_passes_is_recorded_as_a_tap_would_and_not_where_that_is_not_wanted() {
    let scratch = Scratch::new();
    let none = on(&scratch, &["call", "--no-record", "echo", "text=a"], &echo());
    assert_eq!((none.status.code(), err(&none).as_str()), (Some(0), ""));
    assert!(!scratch.db().exists());
    let output = on(&scratch, &["call", "echo", "text=a", "--name", "mine"], &echo());
    let said = err(&output);
    let id = said.trim_end().rsplit(' ').next().unwrap();
    let listed = scratch.json(&["log", "--json", "-s", id]);
    let calls: Vec<_> = listed.iter().map(|row| row["method"].as_str().unwrap()).collect();
    assert_eq!(calls, ["server/discover", "initialize", "tools/list", "tools/call"]);
    let session = scratch.session();
    let ended = [&session["name"], &session["end"], &session["exit_code"]];
    assert_eq!(ended, [&json!("mine"), &json!("exited"), &json!(0)]);
    let sent = String::from_utf8(scratch.recorded("server")).unwrap();
    assert!(sent.ends_with("\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"a\"}}}\n"), "{sent}");
    let judged = scratch.tap(["check", "last", "--level", "warning"]).output().unwrap();
    assert!(judged.status.success(), "{}", out(&judged));
}

#[test]
fn big_numbers_and_half_characters_pass_both_ways() {
    let scratch = Scratch::new();
    let text = r#"{"text":"\ud800","n":12345678901234567890123,"x":1e400}"#;
    let output = on(&scratch, &["call", "-q", "--json", "--no-check", "echo", text], &echo());
    assert_eq!(output.status.code(), Some(0), "{}", err(&output));
    assert!(out(&output).contains("\"\\ud800\""), "{}", out(&output));
    let sent = String::from_utf8(scratch.recorded("server")).unwrap();
    assert!(sent.contains(&format!("\"arguments\":{text}")), "{sent}");
}

#[test]
fn what_the_inspector_copies_as_a_call_runs_as_it_is() {
    let scratch = Scratch::new();
    let text = "it's \"☃\" \\ $HOME `x` {";
    let first = on(&scratch, &["call", "-q", "echo", &format!("text={text}")], &echo());
    assert_eq!(out(&first), format!("{text}\n"));
    let call = scratch.json(&["log", "--json", "tool:echo"])[0]["seq"].as_u64().unwrap();
    let mut terminal = Terminal::start(&scratch.tap(["inspect", &format!("last:{call}")]));
    terminal.wait(0, "echo");
    terminal.type_for("c", "\x1b]52;c;");
    let copied = || {
        let seen = String::from_utf8_lossy(&terminal.seen()).into_owned();
        let (_, behind) = seen.rsplit_once("\x1b]52;c;")?;
        let (base64, _) = behind.split_once(['\x07', '\x1b'])?;
        Some(String::from_utf8(base64::engine::general_purpose::STANDARD.decode(base64).ok()?).unwrap())
    };
    wait_until("it is copied", || copied().is_some());
    let copied = copied().unwrap();
    terminal.type_in("qq");
    wait_for(&mut terminal.child);
    assert!(copied.starts_with("mcp-tap call --session tap-echo echo "), "{copied}");
    // The program by the name that it has on a user's path.
    let folder = std::path::Path::new(TAP).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-c", &copied]).env("PATH", path);
    for (name, value) in scratch.tap::<&str>([]).get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    let again = talk(shell, b"");
    assert_eq!((again.status.code(), out(&again)), (Some(0), format!("{text}\n")), "{}", err(&again));
    assert!(err(&again).contains("on the server of "), "{}", err(&again));
    // A name that looks like an option, as it would be copied.
    let odd = talk(scratch.tap(["call", "--", "-v", "{}"]), b"");
    assert!(err(&odd).contains("has no tool `-v`"), "{}", err(&odd));
}

#[test]
fn a_call_that_is_interrupted_leaves_no_process_behind() {
    let scratch = Scratch::new();
    let server = format!("echo $$ > pid; sleep 3600 & echo $! > child; exec {}", echo_server());
    let mut tap = scratch.tap(["call", "sleep", "ms=60000", "--", "sh", "-c", &server]);
    let folder = scratch.path("work");
    std::fs::create_dir(&folder).unwrap();
    tap.current_dir(&folder).process_group(0).stdin(Stdio::null());
    let mut tap = piped(tap).spawn().unwrap();
    let number = |name: &str| -> Option<u32> { std::fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok() };
    wait_until("the call is made", || {
        number("child").is_some()
            && scratch.db().exists()
            && scratch.tap(["log"]).output().is_ok_and(|output| out(&output).contains("sleep"))
    });
    let (server, child) = (number("pid").unwrap(), number("child").unwrap());
    assert!(is_running(server) && is_running(child));
    kill(Pid::from_raw(tap.id().cast_signed()), Signal::SIGINT).unwrap();
    assert_eq!(wait_for(&mut tap).code(), Some(2));
    wait_until("they have ended", || !is_running(server) && !is_running(child));
    let told: Vec<Value> = scratch.json(&["log", "--json", "--frames"]);
    assert!(told.iter().any(|row| row["method"] == "tools/call"), "{told:?}");
}

#[test]
fn servers_of_a_configuration_are_listed_side_by_side_and_one_that_fails_stops_no_other() {
    let scratch = Scratch::new();
    let file = scratch.path("mcp.json");
    let servers = json!({"mcpServers": {
        "one": {"command": echo_server()},
        "broken": {"command": "/no/such/program"},
        "dies": {"command": "sh", "args": ["-c", "echo out of cheese >&2; exit 4"]},
        "silent": {"command": "sh", "args": ["-c", "while read line; do :; done"]},
        "odd": {"args": []},
        "two": {"command": "${ECHO}", "env": {"A": "b"}},
    }});
    std::fs::write(&file, servers.to_string()).unwrap();
    let file = file.to_str().unwrap();
    let mut tap = scratch.tap(["tools", "--json", "--config", file, "--timeout", "3s"]);
    tap.env("ECHO", echo_server());
    let output = talk(tap, b"");
    assert_eq!(output.status.code(), Some(2));
    let listed: Vec<Value> = out(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<_> = listed.iter().map(|server| server["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "two"]);
    assert!(listed.iter().all(|server| server["tools"].as_array().unwrap().len() == 7));
    for told in [
        "left out: line 1: mcpServers.odd",
        "broken: cannot start `/no/such/program`: no such program",
        "dies: the server ended before the session was open (the server exited with code 4)",
        "out of cheese",
        "silent: the server did not answer in time",
    ] {
        assert!(err(&output).contains(told), "{told}: {}", err(&output));
    }
    let one = talk(scratch.tap(["call", "-q", "echo", "text=a", "--config", file, "--server", "one"]), b"");
    assert_eq!(out(&one), "a\n", "{}", err(&one));
    let which = talk(scratch.tap(["call", "echo", "text=a", "--config", file]), b"");
    assert!(err(&which).contains("name one with --server: one, broken"), "{}", err(&which));
    let none = talk(scratch.tap(["call", "echo", "--config", file, "--server", "onee"]), b"");
    assert!(err(&none).contains("did you mean one?"), "{}", err(&none));
}

/// What every one of the SDK's servers of ours can do, in both eras: typed arguments, failing, progress, forms.
fn check_sdk_server(scratch: &Scratch, target: &[OsString], what: &str) {
    let target: Vec<&str> = target.iter().map(|word| word.to_str().unwrap()).collect();
    let call = |words: &[&str]| {
        let (before, behind) = words.split_at(words.len());
        let mut all = vec!["call", "-q"];
        all.extend(before);
        all.extend(&target);
        all.extend(behind);
        talk(scratch.tap(all), b"")
    };
    for revision in [&[][..], &["--revision", "2025-11-25"]] {
        for (words, code, stdout) in [
            (&["add", "a=2", "b=40"][..], 0, "42\n"),
            (&["fail"], 1, "Error executing tool fail\n"),
            (&["progress", "n=3"], 0, "done\n"),
            (&["order", "--answer", "flavour=mint"], 0, "mint it is\n"),
        ] {
            let output = call(&[words, revision].concat());
            let told = (output.status.code(), out(&output));
            assert_eq!(told, (Some(code), stdout.to_owned()), "{what} {words:?} {revision:?}: {}", err(&output));
        }
        let judged = scratch.tap(["check", "last", "--level", "warning"]).output().unwrap();
        assert!(judged.status.success(), "{what} {revision:?}: {}", out(&judged));
    }
}

#[test]
fn the_python_sdk_s_server_in_both_eras_over_stdio_and_http() {
    let Some(python) = peers::python("the client and the Python SDK's server") else {
        return;
    };
    let scratch = Scratch::new();
    check_sdk_server(&scratch, &[vec!["--".into()], python.server()].concat(), "stdio");
    for transport in ["streamable-http", "sse"] {
        let server = Server::start(&python.script("server.py", &[transport]));
        let path = if transport == "sse" { "sse" } else { "mcp" };
        let url = format!("http://{}/{path}", server.address);
        check_sdk_server(&scratch, &["--url".into(), url.into()], transport);
    }
}

#[test]
fn the_everything_server_over_each_transport() {
    let Some(node) = peers::node("the client and the everything server") else {
        return;
    };
    let scratch = Scratch::new();
    let http = Server::start(&node.server("everything", &["streamableHttp"]));
    let sse = Server::start(&node.server("everything", &["sse"]));
    let stdio = node.server("everything", &[]);
    let mut over_stdio = vec!["--".to_owned()];
    over_stdio.extend(stdio.iter().map(|word| word.to_str().unwrap().to_owned()));
    for target in [
        over_stdio,
        vec!["--url".into(), format!("http://{}/mcp", http.address)],
        vec!["--url".into(), format!("http://{}/sse", sse.address)],
    ] {
        let tap = |words: &[&str]| {
            let words: Vec<&str> = words.iter().copied().chain(target.iter().map(String::as_str)).collect();
            talk(scratch.tap(words), b"")
        };
        let listed = tap(&["tools", "-q", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_else(|_| panic!("{}", err(&listed)));
        let lengths =
            ["tools", "prompts", "resources", "resourceTemplates"].map(|list| listed[list].as_array().unwrap().len());
        assert_eq!(lengths, [13, 4, 7, 2], "{target:?}");
        let image = scratch.path("image.png");
        let output = tap(&["call", "-q", "get-tiny-image", "-o", image.to_str().unwrap()]);
        assert!(out(&output).contains("[image, image/png, 4.0 kB, 20×20]"), "{target:?}: {}", err(&output));
        assert!(std::fs::read(image).unwrap().starts_with(b"\x89PNG"));
        let folder = scratch.path("a folder");
        std::fs::create_dir_all(&folder).unwrap();
        let output = tap(&["call", "-q", "get-roots-list", "--root", folder.to_str().unwrap()]);
        assert!(out(&output).contains("/a%20folder"), "{target:?}: {} {}", out(&output), err(&output));
        let output = tap(&["call", "-q", "get-structured-content", "location=Oslo"]);
        assert!(err(&output).contains("location: \"Oslo\" is not one of \"New York\""), "{target:?}: {}", err(&output));
        let judged = scratch.tap(["check", "last", "--level", "error"]).output().unwrap();
        assert!(judged.status.success(), "{target:?}: {}", out(&judged));
    }
}

#[test]
fn other_servers_of_others_are_listed_and_called() {
    let Some(node) = peers::node("the client and the filesystem and memory servers") else {
        return;
    };
    let scratch = Scratch::new();
    let folder = scratch.path("files");
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "inside\n").unwrap();
    let filesystem = node.server("filesystem", &[folder.to_str().unwrap()]);
    let path = format!("path={}", folder.join("a.txt").display());
    let read = on(&scratch, &["call", "-q", "read_text_file", &path, "head=1"], &filesystem);
    assert_eq!((read.status.code(), out(&read).as_str()), (Some(0), "inside\n"), "{}", err(&read));
    let outside = on(&scratch, &["call", "-q", "read_text_file", "path=/etc/hostname"], &filesystem);
    assert_eq!(outside.status.code(), Some(1), "{}", err(&outside));
    let memory = node.server("memory", &[]);
    let entities = "entities:=[{\"name\":\"a\",\"entityType\":\"t\",\"observations\":[\"o\"]}]";
    let mut tap = scratch.tap(["call", "-q", "create_entities", entities, "--"]);
    tap.args(&memory).env("MEMORY_FILE_PATH", scratch.path("memory.jsonl"));
    let made = talk(tap, b"");
    assert_eq!(made.status.code(), Some(0), "{}", err(&made));
    assert!(std::fs::read_to_string(scratch.path("memory.jsonl")).unwrap().contains("\"a\""));
}

/// A server over HTTP, and where its endpoint is.
fn at(server: &Server, path: &str) -> Vec<OsString> {
    vec!["--url".into(), format!("http://{}/{path}", server.address).into()]
}

#[test]
fn each_sdk_s_server_of_each_generation_is_listed_and_called() {
    let test = "the client and servers on each SDK";
    let stdio = |command: Vec<OsString>| [vec!["--".into()], command].concat();
    // What is called, what it says, and the revision that both come to.
    let mut servers: Vec<(Vec<OsString>, &[&str], &str, &str)> = Vec::new();
    let mut running = Vec::new();
    let mut over_http = |command: &[OsString], path: &str| {
        running.push(Server::start(command));
        running.last().map(|server| at(server, path)).unwrap_or_default()
    };
    if let Some(node) = peers::node(test) {
        let (call, says) = (&["test_simple_text"][..], "This is a simple text response for testing.\n");
        servers.push((stdio(node.script("server1.mjs", &["stdio"])), call, says, "2025-11-25"));
        for (transport, path) in [("http", "mcp"), ("json", "mcp"), ("sse", "sse")] {
            let target = over_http(&node.script("server1.mjs", &[transport]), path);
            servers.push((target, call, says, "2025-11-25"));
        }
        servers.push((over_http(&node.script("server2.mjs", &[]), "mcp"), call, says, "2026-07-28"));
    }
    if let Some(python) = peers::python1(test) {
        let (call, says) = (&["add", "a=2", "b=40"][..], "42\n");
        servers.push((stdio(python.script("server.py", &[])), call, says, "2025-11-25"));
        for (transport, path) in [("streamable-http", "mcp"), ("sse", "sse")] {
            let target = over_http(&python.script("server.py", &[transport]), path);
            servers.push((target, call, says, "2025-11-25"));
        }
    }
    if let Some(rust) = peers::rust(test) {
        let target = over_http(&rust.program("server"), "mcp");
        servers.push((target, &["add", "a=2", "b=40"], "42\n", "2026-07-28"));
    }
    let scratch = Scratch::new();
    for (target, call, says, revision) in servers {
        let tap = |words: &[&str]| {
            let mut tap = scratch.tap(words);
            tap.args(&target);
            talk(tap, b"")
        };
        let listed = tap(&["tools", "-q", "--json"]);
        let listed: Value = serde_json::from_slice(&listed.stdout).unwrap_or_else(|_| panic!("{}", err(&listed)));
        assert_eq!(listed["revision"], revision, "{target:?}");
        let is_listed = listed["tools"].as_array().unwrap().iter().any(|tool| tool["name"] == call[0]);
        assert!(is_listed, "{target:?}: {listed}");
        let called = tap(&[&["call", "-q"], call].concat());
        assert_eq!((called.status.code(), out(&called).as_str()), (Some(0), says), "{target:?}: {}", err(&called));
    }
}
