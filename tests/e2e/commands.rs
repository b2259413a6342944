//! The commands that look: what they print, what they say when they cannot, and their exit codes.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::{Scratch, same, talk, wait_for, wait_until};

/// A recording in text form that lies in the repository.
fn recording(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(name);
    path.to_str().unwrap().to_string()
}

/// What a command prints. It must succeed and say nothing on stderr.
#[track_caller]
fn stdout(scratch: &Scratch, arguments: &[&str]) -> String {
    let output = talk(scratch.tap(arguments), b"");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// A scratch folder whose database holds the recording of the demo.
fn with_demo() -> Scratch {
    let scratch = Scratch::new();
    stdout(&scratch, &["import", "-q", &recording("demo.jsonl")]);
    scratch
}

#[test]
fn ls_shows_sessions() {
    let scratch = with_demo();
    assert_snapshot!(stdout(&scratch, &["ls"]));
    assert_snapshot!("ls_json", stdout(&scratch, &["ls", "--json"]));
}

#[test]
fn log_shows_calls_and_frames() {
    let scratch = with_demo();
    assert_snapshot!("log_calls", stdout(&scratch, &["log"]));
    assert_snapshot!("log_frames", stdout(&scratch, &["log", "--frames"]));
    assert_snapshot!("log_json", stdout(&scratch, &["log", "--json", "-n", "2"]));
    assert_snapshot!("log_range", stdout(&scratch, &["log", "--frames", "-s", "demo:4..7"]));
}

#[test]
fn log_can_be_asked_for_a_part() {
    let scratch = with_demo();
    let numbers = |arguments: &[&str]| {
        let rows = scratch.json(&[&["log", "--json"], arguments].concat());
        rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&["--frames", "-n", "3"]), [20, 21, 22]);
    assert_eq!(numbers(&["--frames", "-s", "last:..5", "-n", "2"]), [4, 5]);
    assert_eq!(numbers(&["--frames", "-s", "last:5..", "-n", "2"]), [5, 6]);
    assert_eq!(numbers(&["--frames", "-s", "last:7"]), [7]);
    assert_eq!(numbers(&["-s", "last:9..14"]), [10, 13]);
    assert_eq!(numbers(&["-n", "2"]), [18, 20]);
}

#[test]
fn show_shows_a_call_whole() {
    let scratch = with_demo();
    assert_snapshot!("show_call", stdout(&scratch, &["show", "demo:10"]));
    assert_snapshot!("show_json", stdout(&scratch, &["show", "demo:18", "--json"]));
    assert_snapshot!("show_noise", stdout(&scratch, &["show", "demo:6"]));
    assert_snapshot!("show_hex", stdout(&scratch, &["show", "demo:21", "--form", "hex"]));
    assert_eq!(stdout(&scratch, &["show", "demo:6", "--form", "raw"]), "cache warmed in 12 ms\n");
}

#[test]
fn references_name_sessions_in_every_way() {
    let scratch = with_demo();
    talk(scratch.run(["cat"]), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
    let name = |reference: &str| {
        scratch.json(&["log", "--json", "-s", reference])[0]["reference"].as_str().unwrap().to_string()
    };
    for (reference, expected) in [
        ("last", "peer:1"),
        ("last.2", "demo:1"),
        ("demo", "demo:1"),
        ("demo.1", "demo:1"),
        ("4d0c", "demo:1"),
        ("peer", "peer:1"),
    ] {
        assert_eq!(name(reference), expected, "{reference}");
    }
    assert_eq!(name(&recording("demo.jsonl")), "demo:1");
    assert_eq!(name(scratch.db().to_str().unwrap()), "peer:1");
}

#[test]
fn help_is_worth_reading() {
    let scratch = Scratch::new();
    for command in ["run", "ls", "log", "show", "export", "import", "db"] {
        assert_snapshot!(format!("help_{command}"), stdout(&scratch, &[command, "--help"]));
    }
    assert_snapshot!("help", stdout(&scratch, &["--help"]));
    assert!(stdout(&scratch, &["man"]).starts_with(".ie"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(stdout(&scratch, &["completions", shell]).contains("mcp-tap"));
    }
}

#[test]
fn a_user_who_gets_it_wrong_is_told_what_would_be_right() {
    let empty = Scratch::new();
    let demo = with_demo();
    std::fs::write(demo.path("bad.jsonl"), "{\"mcp-tap\":\"recording/1\"}\n{\"to\":\"nobody\",\"raw\":\"x\"}\n")
        .unwrap();
    std::fs::write(demo.path("new.jsonl"), "{\"mcp-tap\":\"recording/9\"}\n").unwrap();
    std::fs::write(demo.path("garbage.db"), [b'x'; 5000]).unwrap();
    let bad = demo.path("bad.jsonl");
    let new = demo.path("new.jsonl");
    let garbage = demo.path("garbage.db");
    for (scratch, arguments, code, says) in [
        (&empty, &["ls"][..], 0, "no sessions yet in"),
        (&empty, &["log"], 2, "mcp-tap run -- COMMAND"),
        (&empty, &["run"], 2, "COMMAND"),
        (&empty, &["log", "--db", "/dev/null/x.db"], 2, "/dev/null/x.db"),
        (&empty, &["shwo"], 2, "a similar subcommand exists: 'show'"),
        (&empty, &[], 2, "Usage"),
        (&demo, &["log", "-s", "demmo"], 2, "did you mean `demo`?"),
        (&demo, &["log", "-s", "demo.2"], 2, "demo has 1"),
        (&demo, &["log", "-s", "last.9"], 2, "there are 1"),
        (&demo, &["log", "-s", "last:9..3"], 2, "ends before it begins"),
        (&demo, &["log", "-s", "last:90.."], 1, "no calls in demo"),
        (&demo, &["show", "last"], 2, "`mcp-tap show demo:1`"),
        (&demo, &["show", "last:99"], 2, "its messages are 1 to 22"),
        (&demo, &["show", "last:1", "--form", "tree"], 2, "possible values: pretty, raw, hex"),
        (&demo, &["export", "last", "-o", "x.pdf"], 2, "ends in none of .mcprec, .jsonl"),
        (&demo, &["export", "last", "-o", "/no/such/folder/x.jsonl"], 2, "/no/such/folder/x.jsonl"),
        (&demo, &["import", "/no/such/file.jsonl"], 2, "/no/such/file.jsonl"),
        (&demo, &["import", bad.to_str().unwrap()], 2, "line 2: `to` must be server or client"),
        (&demo, &["import", new.to_str().unwrap()], 2, "update mcp-tap"),
        (&demo, &["log", "-s", garbage.to_str().unwrap()], 2, "is not a database"),
    ] {
        let output = talk(scratch.tap(arguments), b"");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
    }
    assert_eq!(demo.json(&["ls", "--json"]).len(), 1, "nothing of the bad files was put in");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let scratch = Scratch::new();
    let line = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n";
    talk(scratch.run(["cat"]), line.repeat(20_000).as_bytes());
    for arguments in [&["log", "--frames"][..], &["log", "--frames", "--json"], &["export", "last"]] {
        let mut child = scratch.tap(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        assert_eq!(wait_for(&mut child).code(), Some(0), "{arguments:?}");
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "", "{arguments:?}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_ask() {
    let scratch = with_demo();
    let coloured = |arguments: &[&str], variable: Option<(&str, &str)>| {
        let mut command = scratch.tap(arguments);
        command.envs(variable);
        String::from_utf8(talk(command, b"").stdout).unwrap().contains('\x1b')
    };
    assert!(!coloured(&["log"], None), "a pipe is no terminal");
    assert!(coloured(&["log", "--color", "always"], None));
    assert!(coloured(&["log"], Some(("CLICOLOR_FORCE", "1"))));
    assert!(coloured(&["log", "--color", "always"], Some(("NO_COLOR", "1"))), "the option beats the variable");
    let mut both = scratch.tap(["log"]);
    both.env("NO_COLOR", "1").env("CLICOLOR_FORCE", "1");
    assert!(!String::from_utf8(talk(both, b"").stdout).unwrap().contains('\x1b'));
}

#[test]
fn nothing_recorded_acts_on_the_terminal() {
    let scratch = Scratch::new();
    let hostile = [
        "{\"jsonrpc\":\"2.0\",\"id\":\"\u{9b}2J\",\"method\":\"tools/call\",\"params\":{\"name\":\"\\u001b]0;title\\u0007\u{202e}x\"}}\n",
        "\x1b]52;c;aGVsbG8=\x07 \x1b[31m\u{9b}1m not JSON\r\n",
        "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"initialize\",\"params\":{\"clientInfo\":{\"name\":\"\u{1b}[2J\u{feff}\",\"version\":\"\\u0000\"}}}\n",
    ]
    .concat();
    let mut tap =
        scratch.tap(["run", "--name", "\x1b[2Jname", "--", "sh", "-c", "cat; printf '\\033[2Jstderr\\n' >&2"]);
    tap.stdin(Stdio::piped());
    talk(tap, hostile.as_bytes());
    let mut views = vec![vec!["ls".to_string()], vec!["log".into()], vec!["log".into(), "--frames".into()]];
    views.extend((1..=7).map(|number| vec!["show".into(), format!("last:{number}")]));
    for view in views {
        let text = String::from_utf8(talk(scratch.tap(&view), b"").stdout).unwrap();
        let acting =
            text.chars().find(|c| (c.is_control() && *c != '\n') || matches!(c, '\u{202a}'..='\u{202e}' | '\u{feff}'));
        assert_eq!(acting, None, "{view:?}: {text:?}");
    }
    same(&scratch.recorded("client"), hostile.as_bytes());
}

#[test]
fn log_follows_a_live_session_to_its_end() {
    let scratch = Scratch::new();
    let mut tap = scratch
        .run_sh("read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; read line; echo bye")
        .spawn()
        .unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    wait_until("the session is there", || {
        talk(scratch.tap(["ls", "--json"]), b"").stdout.windows(10).any(|window| window == b"\"end\":\"liv")
    });
    let mut follow = scratch.tap(["log", "-f", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follow.stdout.take().unwrap());
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n").unwrap();
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    let call: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((call["method"].as_str(), call["status"].as_str()), (Some("ping"), Some("ok")), "{call}");
    assert_eq!(call["kind"], "request");
    assert!(follow.try_wait().unwrap().is_none(), "it waits for more");
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n").unwrap();
    assert!(wait_for(&mut tap).success());
    line.clear();
    lines.read_line(&mut line).unwrap();
    assert!(line.contains("not JSON"), "{line}");
    line.clear();
    lines.read_line(&mut line).unwrap();
    let waited: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!((waited["id"].as_i64(), waited["pair_seq"].as_i64()), (Some(2), None), "what got no answer comes last");
    assert_eq!(wait_for(&mut follow).code(), Some(0), "and ends with the session");
}

#[test]
fn the_demo_shows_something_on_a_new_machine() {
    let scratch = Scratch::new();
    let output = talk(scratch.tap(["demo"]), b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for says in ["tools/call forecast", "tool error", "error -32602", "not JSON"] {
        assert!(text.contains(says), "{text}");
    }
    let session = scratch.session();
    assert_eq!((session["client"].as_str(), session["errors"].as_u64()), (Some("demo-host 1.0"), Some(3)));
}

#[test]
fn the_database_can_be_found() {
    let scratch = with_demo();
    assert_eq!(stdout(&scratch, &["db", "path"]).trim(), scratch.db().to_str().unwrap());
    let info = stdout(&scratch, &["db", "info"]);
    assert!(
        info.contains("sessions  1 (0 live)") && info.contains(&format!("schema    {}", tap_store::SCHEMA_VERSION)),
        "{info}"
    );
}

#[test]
fn a_large_batch_is_listed_whole_and_in_the_measure_asked_for() {
    let scratch = Scratch::new();
    let members = vec!["{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}"; 2500].join(",");
    talk(scratch.run(["cat"]), format!("[{members}]\n").as_bytes());
    let count = |arguments: &[&str]| stdout(&scratch, &[&["log", "--frames"], arguments].concat()).lines().count();
    assert_eq!(count(&[]), 2 * 2501);
    assert_eq!(count(&["-s", "last:1.."]), 2 * 2501);
    assert_eq!(count(&["-s", "last:2"]), 2501);
    for n in ["5", "1000", "1001", "3000"] {
        assert_eq!(count(&["-s", "last:1..", "-n", n]).to_string(), n);
        assert_eq!(count(&["-n", n]).to_string(), n);
    }
}

#[test]
fn a_recording_from_a_stranger_is_taken_in_without_harm() {
    let scratch = Scratch::new();
    let hostile = scratch.path("hostile.jsonl");
    for uuid in [
        "ab",
        r"\u001b[2J\u001b[2J\u001b[2J\u001b[2J\u001b[2J\u001b[2J\u001b[2J\u001b[2J",
        "../../../../../etc/passwd-passwd-xx",
    ] {
        let header =
            format!("{{\"mcp-tap\":\"recording/1\",\"uuid\":\"{uuid}\",\"server\":\"\\u001b]0;owned\\u0007\"}}\n");
        std::fs::write(&hostile, header).unwrap();
        for arguments in
            [&["import", hostile.to_str().unwrap()][..], &["ls"], &["log"], &["log", "-s", hostile.to_str().unwrap()]]
        {
            let output = talk(scratch.tap(arguments), b"");
            let text = [output.stdout, output.stderr].concat();
            assert!(!text.iter().any(|byte| *byte < 0x20 && *byte != b'\n'), "{}", text.escape_ascii());
            assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}");
        }
    }
}

#[test]
fn every_reference_that_is_listed_names_its_session() {
    let scratch = Scratch::new();
    for name in ["plain", "gpt4.1", "@scope/x", "my.db", "last", "plain", "2", ""] {
        let mut tap = scratch.tap(["run", "--name", name, "--", "printf", "%s\\n", name]);
        tap.stdin(Stdio::null());
        assert!(tap.stdout(Stdio::null()).status().unwrap().success());
    }
    for session in scratch.json(&["ls", "--json"]) {
        let reference = session["reference"].as_str().unwrap();
        let frames = scratch.json(&["log", "--frames", "--json", "-s", reference]);
        assert_eq!(frames[0]["session"], session["id"], "{reference}");
    }
    assert_eq!(scratch.json(&["log", "--frames", "--json", "-s", "gpt4.1"]).len(), 1);
}

#[test]
fn our_own_log_is_a_file_and_only_there_when_asked_for() {
    let scratch = Scratch::new();
    let state = scratch.path("state");
    for (level, expected) in [(None, false), (Some("info"), true)] {
        let mut tap = scratch.run(["cat"]);
        tap.env("XDG_STATE_HOME", &state).envs(level.map(|level| ("MCP_TAP_LOG", level)));
        let output = talk(tap, b"hello\n");
        assert_eq!((output.stdout.as_slice(), output.stderr.as_slice()), (&b"hello\n"[..], &b""[..]));
        let log = std::fs::read_to_string(state.join("mcp-tap/log/mcp-tap.log")).unwrap_or_default();
        assert_eq!(log.contains("server started") && log.contains("server ended"), expected, "{log}");
    }
}
