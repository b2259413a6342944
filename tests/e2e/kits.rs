//! The test kits: their examples with clients on the official SDKs, and tests that must fail.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tap_testkit::{Error, Replay};

use crate::peers;
use crate::support::{Scratch, TAP, piped, talk, wait_for};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn demo() -> PathBuf {
    root().join("recordings/demo-server.mcprec")
}

/// What a runner of tests says, and whether all went well.
#[track_caller]
fn said(output: &Output, is_success: bool) -> String {
    let text = format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.success(), is_success, "{text}");
    text
}

#[test]
fn pytest_runs_its_example_and_fails_what_is_not_as_recorded() {
    let Some(python) = peers::python("the kit for pytest") else {
        return;
    };
    let kit = root().join("tests/kits/python");
    let pytest = |file: &Path| {
        let mut command = Command::new(python.folder().join("bin/python"));
        let words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytest_mcp_replay"].map(OsStr::new);
        command.args(words).arg(file).env("PYTHONPATH", &kit).env("MCP_TAP", TAP).env("PYTHONDONTWRITEBYTECODE", "1");
        talk(command, b"")
    };
    assert!(said(&pytest(&kit.join("test_example.py")), true).contains("2 passed"));

    let scratch = Scratch::new();
    let wrong = scratch.path("test_wrong.py");
    let example = fs::read_to_string(kit.join("test_example.py")).unwrap();
    let example = example.replace("../../../recordings/demo-server.mcprec", demo().to_str().unwrap());
    fs::write(&wrong, example.replace(r#""--loose", "case", strict=False"#, "")).unwrap();
    let text = said(&pytest(&wrong), false);
    for part in ["no recorded answer for", r#"recorded "Oslo"    got "OSLO""#, "never asked: tools/call report (line "]
    {
        assert!(text.contains(part), "{part} in {text}");
    }
}

#[test]
fn node_runs_its_example_and_fails_what_is_not_as_recorded() {
    let Some(node) = peers::node("the kit for node:test") else {
        return;
    };
    let scratch = Scratch::new();
    // Packages are looked for above the folder that a file is really in.
    symlink(node.folder().join("node_modules"), scratch.path("node_modules")).unwrap();
    let kit = root().join("tests/kits/node");
    fs::copy(kit.join("mcp-replay.mjs"), scratch.path("mcp-replay.mjs")).unwrap();
    let example = fs::read_to_string(kit.join("example.test.mjs")).unwrap();
    let example = example.replace(
        "new URL('../../../recordings/demo-server.mcprec', import.meta.url)",
        &format!("'{}'", demo().to_str().unwrap()),
    );
    let run = |name: &str, text: &str| {
        fs::write(scratch.path(name), text).unwrap();
        let mut command = Command::new("node");
        command.args(["--test", "--test-reporter=tap", name]).current_dir(scratch.path("")).env("MCP_TAP", TAP);
        talk(command, b"")
    };
    assert!(said(&run("example.test.mjs", &example), true).contains("# pass 2"));

    // What the runner tells is the first thing that went wrong.
    let strict = example.replace("strict: false, options: ['--loose', 'case']", "");
    let text = said(&run("missed.test.mjs", &strict), false);
    assert!(text.contains("no recorded answer for tools/call forecast"), "{text}");
    let text = said(&run("unused.test.mjs", &strict.replace("OSLO", "Oslo")), false);
    assert!(text.contains("never asked: tools/call report (line "), "{text}");
    let caught = strict.replace("await client.callTool({ name: 'forecast', arguments: { city: 'OSLO' } })", "{}");
    let caught = caught.replace(
        "assert.equal(oslo.content",
        "await client.callTool({ name: 'forecast', arguments: { city: 'OSLO' } }).catch(() => {});\n//",
    );
    let text = said(&run("caught.test.mjs", &caught), false);
    assert!(text.contains(r#"recorded "Oslo"    got "OSLO""#), "{text}");
}

/// The words of the Rust kit, given to a client on the TypeScript SDK.
#[test]
fn a_client_that_starts_the_rust_kits_command_is_checked() {
    let Some(node) = peers::node("the kit for Rust") else {
        return;
    };
    let scratch = Scratch::new();
    let script = scratch.path("script.json");
    let forecast = r#"["tools/call", {"name": "forecast", "arguments": {"city": "Oslo"}}]"#;
    let steps = [
        r#"["tools/list"]"#,
        forecast,
        r#"["tools/call", {"name": "report", "arguments": {"city": "Oslo"}}]"#,
        r#"["tools/call", {"name": "forecast", "arguments": {"city": "Atlantis"}}]"#,
    ];
    for (steps, missing) in [(&steps[..], None), (&steps[1..], Some("never asked: tools/list"))] {
        fs::write(&script, format!(r#"{{"steps": [{}]}}"#, steps.join(","))).unwrap();
        let replay = Replay::new(demo()).unwrap();
        let client = node.client();
        let mut command = Command::new(&client[0]);
        // As the kit finds the program, but for its place.
        command.args(&client[1..]).arg(&script).arg(TAP).args(&replay.words()[1..]);
        said(&talk(command, b""), true);
        assert_eq!(replay.report().unwrap().asked[1..].len(), steps.len());
        match (replay.check(), missing) {
            (Ok(()), None) => {}
            (Err(Error::NotAsRecorded(text)), Some(missing)) => assert!(text.contains(missing), "{text}"),
            (result, missing) => panic!("{result:?} instead of {missing:?}"),
        }
    }
}

/// A process of our own, in which nobody asks for anything.
#[test]
fn the_rust_kits_command_leaves_a_report_when_it_is_closed() {
    let replay = Replay::new(demo()).unwrap().with(["--order", "strict"]);
    let mut command = Command::new(TAP);
    command.args(replay.command().get_args());
    let mut child = piped(command).spawn().unwrap();
    drop(child.stdin.take());
    assert!(wait_for(&mut child).success());
    let report = replay.report().unwrap();
    assert_eq!((report.asked.len(), report.misses.len()), (0, 0));
    assert_eq!(report.unused.last().unwrap().what, "tools/call forecast");
}

/// Some hosts end a server by a signal alone.
#[test]
fn a_playback_that_is_asked_to_end_leaves_a_report() {
    use std::io::{BufRead, BufReader, Write};
    for signal in [Signal::SIGTERM, Signal::SIGINT] {
        let replay = Replay::new(demo()).unwrap();
        let mut command = Command::new(TAP);
        command.args(replay.command().get_args());
        let mut child = piped(command).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n").unwrap();
        let mut answer = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
        assert!(wait_for(&mut child).success(), "{signal}");
        assert_eq!(replay.report().unwrap().asked, ["tools/list"]);
    }
}

#[test]
fn the_steps_of_the_recipe_for_ci_do_what_they_say() {
    let Some(python) = peers::python("the recipe for CI") else {
        return;
    };
    let page = fs::read_to_string(root().join("docs/test-kits.md")).unwrap();
    let recipe = page.split_once("```yaml\n").unwrap().1.split_once("```").unwrap().0;
    let steps: Vec<&str> = recipe.lines().filter_map(|line| line.trim().strip_prefix("- run: ")).collect();
    let installs = |step: &&&str| step.starts_with("pip install");
    assert!(steps.len() >= 4 && steps.iter().filter(installs).count() == 1, "{steps:?}");
    // A repository with what the recipe takes to be there.
    let scratch = Scratch::new();
    let kit = root().join("tests/kits/python");
    fs::create_dir(scratch.path("tests")).unwrap();
    fs::copy(kit.join("pytest_mcp_replay.py"), scratch.path("tests/pytest_mcp_replay.py")).unwrap();
    fs::copy(demo(), scratch.path("tests/demo-server.mcprec")).unwrap();
    let example = fs::read_to_string(kit.join("test_example.py")).unwrap();
    let example = example.replace("../../../recordings/demo-server.mcprec", "demo-server.mcprec");
    fs::write(scratch.path("tests/test_example.py"), example).unwrap();
    let server = "import os\nos.execvp('mcp-tap', ['mcp-tap', 'demo-server'])\n";
    fs::write(scratch.path("server.py"), server).unwrap();
    let tap_folder = Path::new(TAP).parent().unwrap().to_str().unwrap();
    let python_folder = python.folder().join("bin");
    let path = format!("{tap_folder}:{}:{}", python_folder.to_str().unwrap(), std::env::var("PATH").unwrap());
    let run = |step: &str| {
        let mut command = Command::new("bash");
        command.args(["-e", "-c", step]).current_dir(scratch.path("")).env("CI", "true").env("PATH", &path);
        command.env("MCP_TAP_DB", scratch.db()).env("PYTHONDONTWRITEBYTECODE", "1").env_remove("MCP_TAP");
        talk(command, b"")
    };
    for step in steps.iter().filter(|step| !installs(step)) {
        said(&run(step), true);
    }
    assert!(fs::read_to_string(scratch.path("verify.xml")).unwrap().contains("<testsuites"));
    // And they fail where something is wrong: a secret, a server that has changed.
    let fails = |what: &str| said(&run(steps.iter().find(|step| step.contains(what)).unwrap()), false);
    fs::write(scratch.path("server.py"), server.replace("'demo-server']", "'no-such-server']")).unwrap();
    fails("verify");
    let recording = fs::read_to_string(demo()).unwrap();
    fs::write(
        scratch.path("tests/demo-server.mcprec"),
        recording.replace("Oslo", "ghp_0123456789abcdefghijABCDEFGHIJ456789"),
    )
    .unwrap();
    fails("redact --check");
    fails("PYTHONPATH");
}
