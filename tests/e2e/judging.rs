//! The commands that judge: `check`, `explain`, `stats`, `state`; what they print, and their exit codes.

use std::collections::HashSet;
use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Scratch, talk};

/// The top of the checkout.
fn top() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Runs a command at the top of the checkout, and gives back its exit code, what it prints and what it says.
#[track_caller]
fn run(arguments: &[&str]) -> (i32, String, String) {
    let mut command = Scratch::new().tap(arguments);
    command.current_dir(top()).env_remove("GITHUB_ACTIONS");
    let output = talk(command, b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// The same on a database of the test's own.
#[track_caller]
fn run_on(scratch: &Scratch, arguments: &[&str]) -> (i32, String, String) {
    let mut command = scratch.tap(arguments);
    command.current_dir(scratch.path("")).env_remove("GITHUB_ACTIONS");
    let output = talk(command, b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// Writes a recording: a header with these members, and a line a frame, `->`, `<-` or `!!` and the text.
fn write_recording(scratch: &Scratch, name: &str, header: &str, script: &str) {
    let mut text = format!("{{\"mcp-tap\":\"recording/1\"{header}}}\n");
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (arrow, body) = line.split_once(' ').unwrap_or((line, ""));
        let raw = Value::from(body);
        text += &match arrow {
            "->" => format!("{{\"to\":\"server\",\"raw\":{raw}}}\n"),
            "<-" => format!("{{\"to\":\"client\",\"raw\":{raw}}}\n"),
            _ => format!("{{\"stderr\":{raw}}}\n"),
        };
    }
    std::fs::write(scratch.path(name), text).unwrap();
}

/// The beginning of a session.
const HANDSHAKE: &str = r#"
    -> {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
    <- {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}
    -> {"jsonrpc":"2.0","method":"notifications/initialized"}
"#;

/// What a command prints; it must give this exit code and say nothing on stderr.
#[track_caller]
fn printed(code: i32, arguments: &[&str]) -> String {
    let (exit, stdout, stderr) = run(arguments);
    assert_eq!((exit, stderr.as_str()), (code, ""), "{arguments:?}\n{stdout}");
    stdout
}

#[track_caller]
fn json_lines(code: i32, arguments: &[&str]) -> Vec<Value> {
    printed(code, arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

const BROKEN: &str = "recordings/broken.jsonl";
const MODERN: &str = "recordings/modern.jsonl";
const DEMO: &str = "recordings/demo.jsonl";

#[test]
fn check_tells_which_rules_were_broken_and_what_to_do() {
    assert_snapshot!("check_broken", printed(1, &["check", "-s", BROKEN, "--level", "note"]));
    assert_snapshot!("check_modern", printed(0, &["check", "-s", MODERN, "--level", "warning"]));
    assert_snapshot!("check_several", printed(1, &["check", "-s", MODERN, "-s", DEMO]));
}

#[test]
fn check_writes_reports_for_programs() {
    assert_snapshot!("check_github", printed(1, &["check", "-s", BROKEN, "--format", "github"]));
    assert_snapshot!("check_json", printed(1, &["check", "-s", "recordings/broken.jsonl:14", "--json"]));
    let sarif: Value = serde_json::from_str(&printed(1, &["check", "-s", BROKEN, "--format", "sarif"])).unwrap();
    let run = &sarif["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(sarif["version"], "2.1.0");
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
        assert_eq!(result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"], BROKEN);
    }
    let as_json = json_lines(1, &["check", "-s", BROKEN, "--json"]);
    assert_eq!(results.len(), as_json.len());
    assert_snapshot!("check_sarif_result", serde_json::to_string_pretty(&results[0]).unwrap());
    let junit = printed(1, &["check", "-s", BROKEN, "--format", "junit"]);
    let rules: HashSet<&str> = as_json.iter().map(|finding| finding["rule"].as_str().unwrap()).collect();
    assert_eq!(junit.matches("<failure ").count(), rules.len());
    let failing = junit.lines().skip_while(|line| !line.contains("<failure")).take(4).collect::<Vec<_>>().join("\n");
    assert_snapshot!("check_junit_failure", failing);
}

#[test]
fn a_finding_in_a_file_names_the_line_of_its_message() {
    let text = std::fs::read_to_string(top().join(BROKEN)).unwrap();
    let (_, stdout, _) = run(&["check", "-s", BROKEN, "--format", "github"]);
    let finding = stdout.lines().find(|line| line.contains("RPC-006")).unwrap();
    let number = finding.split_once("line=").unwrap().1.split_once("::").unwrap().0;
    let line = text.lines().nth(number.parse::<usize>().unwrap() - 1).unwrap();
    assert!(line.contains(r#""id":"3""#), "{line}");
}

#[test]
fn the_exit_code_of_check_follows_level_deny_and_allow() {
    for (code, arguments) in [
        (1, &["-s", BROKEN][..]),
        (0, &["-s", MODERN]),
        // The demo prints one line that is no message.
        (1, &["-s", DEMO]),
        (0, &["-s", DEMO, "--allow", "FRM-001"]),
        (0, &["-s", DEMO, "--allow", "non-json-stdout"]),
        (0, &["-s", "recordings/demo.jsonl:1..5"]),
        (1, &["-s", "recordings/demo.jsonl:6"]),
        (1, &["-s", BROKEN, "--allow", "FRM-001"]),
        (0, &["-s", "recordings/broken.jsonl:13"]),
        (1, &["-s", "recordings/broken.jsonl:13", "--level", "warning"]),
        (1, &["-s", "recordings/broken.jsonl:13", "--deny", "RPC-020"]),
    ] {
        let (exit, stdout, _) = run(&[&["check"], arguments].concat());
        assert_eq!(exit, code, "{arguments:?}\n{stdout}");
    }
    let (exit, _, stderr) = run(&["check", "-s", BROKEN, "--allow", "RPC-06"]);
    assert_eq!(exit, 2);
    assert!(stderr.contains("did you mean RPC-006?"), "{stderr}");
}

#[test]
fn check_writes_into_a_file_when_asked() {
    let scratch = Scratch::new();
    let path = scratch.path("findings.sarif");
    assert_eq!(printed(1, &["check", "-s", BROKEN, "--format", "sarif", "-o", path.to_str().unwrap()]), "");
    let sarif: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["tool"]["driver"]["name"], "mcp-tap");
}

#[test]
fn a_file_that_is_written_appears_whole_or_not_at_all() {
    let scratch = Scratch::new();
    std::fs::copy(top().join(DEMO), scratch.path("keep.jsonl")).unwrap();
    let kept = std::fs::read(scratch.path("keep.jsonl")).unwrap();
    std::fs::write(scratch.path("report.xml"), "the one before").unwrap();
    std::fs::create_dir(scratch.path("sub")).unwrap();
    assert_eq!(run_on(&scratch, &["import", "-q", "keep.jsonl"]).0, 0);
    for (arguments, says) in [
        (&["check", "-s", "./keep.jsonl", "-o", "keep.jsonl"][..], "it is what is read"),
        (&["check", "keep.jsonl", "-o", "sub/../keep.jsonl"], "it is what is read"),
        (&["check", "-o", "data/tap.db"], "it is what is read"),
        (&["export", "./keep.jsonl:3..", "-o", "keep.jsonl"], "it is what is read"),
        (&["check", "keep.jsonl", "-s", "no.such", "-o", "report.xml"], "no session"),
        (&["check", "keep.jsonl:99", "-o", "report.xml"], "has no message 99"),
        (&["check", "keep.jsonl", "-o", "sub"], "directory"),
        (&["export", "keep.jsonl", "-o", "sub/x/y.jsonl"], "sub/x/y.jsonl"),
    ] {
        let (exit, stdout, stderr) = run_on(&scratch, arguments);
        assert_eq!((exit, stdout.as_str()), (2, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
    assert_eq!(std::fs::read(scratch.path("keep.jsonl")).unwrap(), kept);
    assert_eq!(std::fs::read(scratch.path("report.xml")).unwrap(), b"the one before");
    assert_eq!(run_on(&scratch, &["ls"]).0, 0);
    let left = std::fs::read_dir(scratch.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!left.into_iter().any(|name| name.to_string_lossy().contains("partial")));
}

#[test]
fn the_name_of_a_report_says_its_format() {
    let scratch = Scratch::new();
    std::fs::copy(top().join(DEMO), scratch.path("a.jsonl")).unwrap();
    for (report, begins) in [
        ("x.sarif", "{\n  \"$schema\""),
        ("x.xml", "<?xml"),
        ("x.json", "{\"rule\""),
        ("x.jsonl", "{\"rule\""),
        ("x.txt", "a.jsonl  2025-11-25"),
        ("x", "a.jsonl  2025-11-25"),
    ] {
        assert_eq!(run_on(&scratch, &["check", "a.jsonl", "-o", report]), (1, String::new(), String::new()));
        let text = std::fs::read_to_string(scratch.path(report)).unwrap();
        assert!(text.starts_with(begins), "{report}: {text}");
    }
    let (_, stdout, _) = run_on(&scratch, &["check", "a.jsonl", "-o", "-", "--format", "junit"]);
    assert!(stdout.starts_with("<?xml"), "{stdout}");
}

#[test]
fn there_is_no_verdict_on_what_is_not_there() {
    let scratch = Scratch::new();
    let batch = r#"-> [{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#;
    write_recording(&scratch, "batch.jsonl", "", &format!("{HANDSHAKE}{batch}"));
    write_recording(&scratch, "empty.jsonl", "", "");
    write_recording(&scratch, "stderr.jsonl", "", "!! cannot find module");
    assert_eq!(talk(scratch.tap(["run", "--name", "broken", "--", "/no/such/program"]), b"").status.code(), Some(127));
    for (arguments, exit, says) in [
        (&["check", "batch.jsonl:99"][..], 2, "has no message 99; its messages are 1 to 4"),
        (&["check", "batch.jsonl:5.."], 2, "has no message 5; its messages are 1 to 4"),
        (&["check", "batch.jsonl:4.3"], 2, "has no message 4.3"),
        (&["check", "batch.jsonl:1.1"], 2, "has no message 1.1"),
        (&["stats", "batch.jsonl:99"], 2, "has no message 99; its messages are 1 to 4"),
        (&["state", "batch.jsonl:99"], 2, "has no message 99; its messages are 1 to 4"),
        (&["show", "batch.jsonl:4.3"], 2, "has no message 4.3"),
        (&["check", "empty.jsonl"], 2, "empty.jsonl: nothing was said"),
        (&["check", "stderr.jsonl"], 2, "stderr.jsonl: nothing was said"),
        (&["check", "batch.jsonl", "empty.jsonl", "--format", "sarif"], 2, "empty.jsonl: nothing was said"),
        (&["check", "broken"], 2, "broken: nothing was said (not started: "),
        (&["check", "-a"], 2, "broken: nothing was said (not started: "),
        (&["state", "broken"], 0, ""),
        (&["check", "batch.jsonl:..99"], 1, ""),
        (&["check", "batch.jsonl:4"], 1, ""),
        (&["check", "batch.jsonl:4.1"], 0, ""),
        (&["check", "batch.jsonl:4.2"], 1, ""),
    ] {
        let (code, stdout, stderr) = run_on(&scratch, arguments);
        assert_eq!(code, exit, "{arguments:?}: {stderr}{stdout}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
        assert!(exit < 2 || stdout.is_empty(), "{arguments:?}: {stdout}");
    }
    assert!(run_on(&scratch, &["state", "broken"]).1.starts_with("broken without a message: not started"));
    // Of all sessions those are judged that are there.
    assert_eq!(run_on(&scratch, &["import", "-q", "batch.jsonl"]).0, 0);
    let (code, _, stderr) = run_on(&scratch, &["check", "-a", "--allow", "RPC-003", "--allow", "RPC-004"]);
    assert_eq!((code, stderr.contains("1 session left out")), (0, true), "{stderr}");
}

#[test]
fn a_part_of_a_session_is_not_taken_for_all_of_it() {
    let scratch = Scratch::new();
    let call = r#"
        -> {"jsonrpc":"2.0","id":2,"method":"ping"}
        <- {"jsonrpc":"2.0","id":2,"result":{}}
        -> {"jsonrpc":"2.0","id":3,"method":"tools/list"}
        <- {"jsonrpc":"2.0","id":3,"result":{"tools":[]}}"#;
    let log = r#"!! {"level":"info","msg":"listening"}"#;
    write_recording(&scratch, "whole.jsonl", "", &format!("{log}{HANDSHAKE}{call}"));
    write_recording(&scratch, "answer.jsonl", "", r#"<- {"jsonrpc":"2.0","id":2,"result":{}}"#);
    write_recording(&scratch, "old.jsonl", "", &format!("{log}{call}"));
    write_recording(&scratch, "new.jsonl", ",\"first\":5", &format!("{HANDSHAKE}{call}"));
    let missing = |file: &str| {
        let (exit, stdout, stderr) = run_on(&scratch, &["check", file]);
        assert_eq!((exit, stderr.as_str()), (0, ""), "{file}: {stdout}");
        stdout.contains("its beginning is missing")
    };
    assert!(!missing("whole.jsonl"), "a line of stderr is no message");
    assert!(missing("answer.jsonl") && missing("old.jsonl"), "it begins with a request that opens nothing");
    assert!(missing("new.jsonl"), "its header says so");
    for (first, part) in [(2, "2.."), (5, "5.."), (6, "6.."), (7, "7..8"), (1, "..6"), (1, "1..")] {
        let (exit, text, stderr) = run_on(&scratch, &["export", &format!("whole.jsonl:{part}")]);
        assert!(exit == 0 && stderr.ends_with("nothing was left out or replaced\n"), "{part}: {stderr}");
        let header: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
        assert_eq!(header["first"].as_u64().unwrap_or(1), first, "{part}");
        std::fs::write(scratch.path("part.jsonl"), text).unwrap();
        assert_eq!(missing("part.jsonl"), first > 1, "{part}");
    }
}

#[test]
fn many_sessions_need_few_files_open() {
    let scratch = Scratch::new();
    let names: Vec<String> = (0..150).map(|number| format!("s{number}.jsonl")).collect();
    for name in &names {
        write_recording(&scratch, name, "", HANDSHAKE);
    }
    let limited = |arguments: &[&str]| {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "ulimit -n 40; exec \"$@\"", "sh", crate::support::TAP]).args(arguments).args(&names);
        command.env("MCP_TAP_DB", scratch.db()).current_dir(scratch.path("")).env_remove("GITHUB_ACTIONS");
        let output = talk(command, b"");
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
        String::from_utf8(output.stdout).unwrap()
    };
    assert_eq!(limited(&["check"]).matches("2025-03-26, 3 messages").count(), names.len());
    limited(&["import", "-q"]);
    for (command, arguments) in [("check", &["-a"][..]), ("stats", &["-a"]), ("stats", &["-s", "s1", "-s", "s140"])] {
        let mut limited = std::process::Command::new("sh");
        limited.args(["-c", "ulimit -n 40; exec \"$@\"", "sh", crate::support::TAP, command]).args(arguments);
        limited.env("MCP_TAP_DB", scratch.db()).env_remove("GITHUB_ACTIONS");
        let output = talk(limited, b"");
        assert_eq!(output.status.code(), Some(0), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn the_name_of_a_file_acts_on_nothing() {
    let scratch = Scratch::new();
    let name = "./a\u{1b}[31m 50%.jsonl";
    std::fs::copy(top().join(DEMO), scratch.path(name)).unwrap();
    for arguments in [
        &["check", name][..],
        &["check", name, "--format", "github"],
        &["stats", name],
        &["check", name, "--format", "junit"],
    ] {
        let (_, stdout, _) = run_on(&scratch, arguments);
        assert!(stdout.contains("a\\u{1b}[31m 50%"), "{arguments:?}: {stdout}");
        assert!(!stdout.contains('\u{1b}'), "{arguments:?}: {stdout}");
    }
    let (_, stdout, _) = run_on(&scratch, &["check", name, "--format", "sarif"]);
    let sarif: Value = serde_json::from_str(&stdout).unwrap();
    let location = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
    assert_eq!(location["uri"], "a%1B%5B31m%2050%25.jsonl");
    std::fs::copy(top().join(DEMO), scratch.path("b.jsonl")).unwrap();
    let (_, stdout, _) = run_on(&scratch, &["check", "./b.jsonl", "--format", "github"]);
    assert!(stdout.contains(",file=b.jsonl,line="), "{stdout}");
}

#[test]
fn sessions_are_named_with_or_without_an_option() {
    let count = |arguments: &[&str]| printed(1, &[&["check"], arguments].concat()).matches(".jsonl  20").count();
    assert_eq!(count(&[MODERN, DEMO]), 2);
    assert_eq!(count(&[MODERN, "-s", DEMO]), 2);
    assert_eq!(count(&["-s", DEMO]), 1);
    assert_eq!(printed(0, &["stats", DEMO]), printed(0, &["stats", "-s", DEMO]));
    assert_eq!(run(&["check", "-a", DEMO]).0, 2);
}

#[test]
fn explain_prints_one_rule_or_lists_all() {
    assert_snapshot!("explain", printed(0, &["explain", "rpc-006"]));
    let list = printed(0, &["explain"]);
    assert!(list.lines().count() > 40 && list.contains("LIF-001"), "{list}");
}

/// `UPDATE_DOCS=1 cargo test` writes the page.
#[test]
fn the_page_of_rules_is_what_explain_says() {
    let page = printed(0, &["explain", "--markdown"]);
    let path = top().join("docs/rules.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "docs/rules.md is not what `mcp-tap explain --markdown` prints; UPDATE_DOCS=1 writes it");
}

#[test]
fn stats_count_calls_by_tool_and_by_method() {
    assert_snapshot!("stats_tool", printed(0, &["stats", "-s", DEMO]));
    assert_snapshot!("stats_method", printed(0, &["stats", "-s", DEMO, "-s", MODERN, "--by", "method"]));
    assert_snapshot!("stats_json", printed(0, &["stats", "-s", DEMO, "--json"]));
    assert_eq!(printed(0, &["stats", DEMO, "--format", "json"]), printed(0, &["stats", DEMO, "--json"]));
    assert_snapshot!("stats_csv", printed(0, &["stats", DEMO, "--format", "csv"]));
}

#[test]
fn a_call_of_several_rounds_is_one_call() {
    let rows = json_lines(0, &["stats", "-s", MODERN, "--json"]);
    let book = rows.iter().find(|row| row["target"] == "book").unwrap();
    assert_eq!((&book["calls"], &book["more_rounds"]), (&1.into(), &1.into()));
    // Both rounds of the server, and not the two seconds of the person between them.
    let latency_ns = book["max_ns"].as_u64().unwrap();
    assert!(latency_ns < 100_000_000, "{latency_ns}");
    let listen = rows.iter().find(|row| row["method"] == "subscriptions/listen").unwrap();
    assert_eq!(listen["unanswered"], 0);
}

#[test]
fn calls_without_an_answer_are_told_apart() {
    let scratch = Scratch::new();
    let calls = r#"
        -> {"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"given up"}}
        -> {"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}
        -> {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"forgotten"}}
        -> [{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"one"}},{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"two"}}]
        <- [{"jsonrpc":"2.0","id":5,"result":{"content":[]}},  {"jsonrpc":"2.0","id":4,"result":{"content":[ ]}}]
    "#;
    write_recording(&scratch, "calls.jsonl", "", &format!("{HANDSHAKE}{calls}"));
    let stats = |reference: &str| -> Vec<(String, Value)> {
        let (exit, stdout, stderr) = run_on(&scratch, &["stats", reference, "--json"]);
        assert_eq!((exit, stderr.as_str()), (0, ""), "{reference}");
        let rows = stdout.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        rows.map(|row| (row["target"].as_str().unwrap_or_default().to_owned(), row)).collect()
    };
    let figures = |rows: &[(String, Value)], target: &str| {
        let (_, row) = rows.iter().find(|(this, _)| this == target).unwrap();
        ["calls", "cancelled", "unanswered", "in_flight", "request_bytes", "answer_bytes"]
            .map(|figure| row[figure].as_u64().unwrap())
    };
    let all = stats("calls.jsonl");
    assert_eq!(figures(&all, "given up"), [1, 1, 0, 0, 76, 0]);
    assert_eq!(figures(&all, "forgotten"), [1, 0, 1, 0, 77, 0]);
    assert_eq!(figures(&all, "one"), [1, 0, 0, 0, 70, 49]);
    assert_eq!(figures(&all, "two"), [1, 0, 0, 0, 70, 48]);
    // A call belongs to the part that it began in, wherever it ended.
    let part = stats("calls.jsonl:4..7");
    assert_eq!(part.len(), 4);
    assert_eq!(figures(&part, "one"), [1, 0, 0, 0, 70, 49]);
    assert_eq!(figures(&stats("calls.jsonl:7.2"), "two"), [1, 0, 0, 0, 70, 48]);
    assert_eq!(stats("calls.jsonl:7.2").len(), 1);
    assert_eq!(run_on(&scratch, &["stats", "calls.jsonl:8"]).0, 1);
}

#[test]
fn requests_of_a_live_session_are_in_flight_and_a_subscription_that_stays_open_is_no_failure() {
    let scratch = Scratch::new();
    let mut tap = scratch.run(["cat"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}"#;
    let listen = format!(r#"{{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{{{meta}}}}}"#);
    std::io::Write::write_all(
        &mut stdin,
        format!("{listen}\n{{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"tools/list\",\"params\":{{{meta}}}}}\n")
            .as_bytes(),
    )
    .unwrap();
    let counted = |figure: &str| -> Vec<u64> {
        let output = talk(scratch.tap(["stats", "--json", "-q"]), b"");
        let rows = String::from_utf8(output.stdout).unwrap();
        let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let mut figures: Vec<_> = rows.map(|row| (row["method"].to_string(), row[figure].as_u64().unwrap())).collect();
        figures.sort_unstable();
        figures.into_iter().map(|(_, n)| n).collect()
    };
    // `cat` asks the same of the client.
    crate::support::wait_until("all is recorded", || counted("calls") == [2, 2]);
    assert_eq!((counted("in_flight"), counted("unanswered")), (vec![2, 2], vec![0, 0]));
    drop(stdin);
    assert!(crate::support::wait_for(&mut tap).success());
    assert_eq!((counted("in_flight"), counted("unanswered")), (vec![0, 0], vec![0, 2]));
}

#[test]
fn state_shows_what_was_true_after_a_message() {
    assert_snapshot!("state_modern", printed(0, &["state", "recordings/modern.jsonl:10"]));
    assert_snapshot!("state_broken", printed(0, &["state", "recordings/broken.jsonl:11"]));
    assert_snapshot!("state_json", printed(0, &["state", "recordings/modern.jsonl:8", "--json"]));
    let newest = json_lines(0, &["state", MODERN, "--json"]);
    assert_eq!(newest[0]["session"]["ended"], "after this message");
}

#[test]
fn state_shows_what_a_message_changed() {
    assert_snapshot!("state_diff", printed(0, &["state", "recordings/modern.jsonl:6", "--diff"]));
    assert_snapshot!("state_diff_range", printed(0, &["state", "recordings/broken.jsonl:2", "--diff", "4"]));
    assert_snapshot!("state_diff_first", printed(0, &["state", "recordings/broken.jsonl:1", "--diff"]));
    let changes = json_lines(0, &["state", "recordings/modern.jsonl:6", "--diff", "--json"]);
    assert!(!changes[0]["changes"].as_array().unwrap().is_empty());
}

#[test]
fn a_state_that_cannot_be_shown_says_why() {
    for (arguments, says) in [
        (&["state", "recordings/modern.jsonl:99"][..], "its messages are 1 to 18"),
        (&["state", "recordings/modern.jsonl:2..5"], "a range has many"),
        (&["state", MODERN, "--diff"], "a number is missing"),
    ] {
        let (exit, _, stderr) = run(arguments);
        assert_eq!(exit, 2, "{arguments:?}");
        assert!(stderr.contains(says), "{arguments:?}: {stderr}");
    }
}
