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
fn state_shows_what_was_true_after_a_message() {
    assert_snapshot!("state_modern", printed(0, &["state", "recordings/modern.jsonl:10"]));
    assert_snapshot!("state_broken", printed(0, &["state", "recordings/broken.jsonl:11"]));
    assert_snapshot!("state_json", printed(0, &["state", "recordings/modern.jsonl:8", "--json"]));
    let newest = json_lines(0, &["state", MODERN, "--json"]);
    assert_eq!(newest[0]["session"]["phase"].as_str().map(|phase| phase.starts_with("ended")), Some(true));
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
