//! `mcp-tap diff`: two recordings of real servers held against each other; what it prints, and its exit codes.

use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Scratch, TAP, talk};

/// A recording at the top of the checkout.
fn recording(name: &str) -> String {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(name).to_string_lossy().into_owned()
}

/// Runs a command, and gives back what it prints.
#[track_caller]
fn printed(scratch: &Scratch, code: i32, arguments: &[&str]) -> String {
    let output = talk(scratch.tap(arguments), b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert_eq!(said.is_empty(), code != 2, "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn request(id: u64, method: &str, params: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{params}}}\n")
}

fn forecast(id: u64, city: &str) -> String {
    request(id, "tools/call", &format!(r#"{{"name":"forecast","arguments":{{"city":"{city}"}}}}"#))
}

/// Two sessions through the tap: the bundled server as it is, and another version of it, whose words a filter changes.
fn two_sessions() -> Scratch {
    let scratch = Scratch::new();
    let opening = request(
        1,
        "initialize",
        r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"host","version":"1"}}"#,
    ) + "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n"
        + &request(2, "tools/list", "{}");
    let first: String =
        opening.clone() + &forecast(3, "Bern") + &forecast(4, "Bern") + &forecast(5, "Oslo") + &forecast(6, "Atlantis");
    // The same in another order and with other ids, one city that is another, and one call more.
    let second = opening
        + &forecast(11, "Atlantis")
        + &forecast(12, "Paris")
        + &forecast(13, "Bern")
        + &forecast(14, "Bern")
        + &request(15, "ping", "{}");
    let changes = [
        r#"s/"version":"0.3.0"/"version":"0.4.0"/"#,
        r#"s/Tomorrow's weather in a city\./The weather of tomorrow in a city\./"#,
        r#"s/"required":\["city"\]/"required":["city","days"]/"#,
        r#"s/there is no weather station in/we know no/"#,
    ];
    let expressions: String = changes.iter().map(|change| format!(" -e '{}'", change.replace('\'', "'\\''"))).collect();
    talk(scratch.run([TAP, "demo-server"]), first.as_bytes());
    talk(scratch.run_sh(&format!("'{TAP}' demo-server | sed{expressions}")), second.as_bytes());
    scratch
}

/// Without the numbers of messages: what one process says while the other speaks may be recorded before or behind it.
fn steady(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once("  ") {
        Some((before, places)) if places.starts_with("A:") || places.starts_with("B:") => {
            let steady = places.split(' ').map(|place| place.split(':').next().unwrap_or_default().to_owned() + ":N");
            format!("{before}  {}\n", steady.collect::<Vec<_>>().join(" "))
        }
        _ => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn two_sessions_are_held_against_each_other() {
    let scratch = two_sessions();
    assert_snapshot!("text", steady(&printed(&scratch, 1, &["diff", "last.2", "last", "--exit-code"])));
    // Without the option a difference is an answer like any other.
    printed(&scratch, 0, &["diff", "last.2", "last"]);
    let same = printed(&scratch, 0, &["diff", "last", "last", "--exit-code"]);
    assert!(same.ends_with("no differences\n"), "{same}");
    // Colours only where they are wanted.
    assert!(printed(&scratch, 0, &["diff", "last.2", "last", "--color", "always"]).contains("\x1b["));
}

#[test]
fn programs_get_json_and_junit() {
    let scratch = two_sessions();
    let report: Value = serde_json::from_str(&printed(&scratch, 0, &["diff", "last.2", "last", "--json"])).unwrap();
    assert_eq!(report["counts"], serde_json::json!({"same": 2, "changed": 3, "only_a": 0, "only_b": 1}));
    assert_eq!((&report["same"], &report["a"]["calls"], &report["b"]["calls"]), (&false.into(), &5.into(), &6.into()));
    let tools = &report["lists"][0];
    assert_eq!((&tools["kind"], &tools["items"][0]["class"]), (&"tool".into(), &"breaking".into()));
    let call = report["calls"]
        .as_array()
        .unwrap()
        .iter()
        .find(|call| call["state"] == "changed" && call["name"] == "forecast");
    let difference = &call.unwrap()["differences"][0];
    assert_eq!(difference["path"], "result.content[0].text");
    assert_eq!(difference["b"], "\"we know no Atlantis\"");
    let file = scratch.path("diff.xml");
    printed(&scratch, 1, &["diff", "last.2", "last", "--exit-code", "-o", file.to_str().unwrap()]);
    let xml = std::fs::read_to_string(file).unwrap();
    assert!(xml.contains(r#"<testsuites name="mcp-tap diff" tests="8" failures="5">"#), "{xml}");
    let mut reader = quick_xml::Reader::from_str(&xml);
    while reader.read_event().unwrap() != quick_xml::events::Event::Eof {}
}

#[test]
fn what_is_no_difference_is_a_matter_of_rules() {
    let scratch = two_sessions();
    let counts = |arguments: &[&str]| {
        let report = printed(&scratch, 0, &[&["diff", "last.2", "last", "--json"], arguments].concat());
        let report: Value = serde_json::from_str(&report).unwrap();
        let number = |name: &str| report["counts"][name].as_u64().unwrap();
        (number("changed"), report["hidden"].clone())
    };
    assert_eq!(counts(&[]).0, 3);
    assert_eq!(counts(&["--ignore", "result.serverInfo.version"]), (2, serde_json::json!({"ignored": 1})));
    // Then all cities are one, and calls meet in their order: two of them have another end.
    assert_eq!(counts(&["--ignore", "result.**", "--ignore", "arg.city"]).0, 2);
    assert_eq!(counts(&["--compare", "shape"]).0, 1);
    assert_eq!(counts(&["status:tool_error"]).0, 1);
    let rules = scratch.path("rules.json");
    std::fs::write(&rules, r#"{"tools":{"forecast":{"compare":"status","key":[]}}}"#).unwrap();
    let rules = rules.to_str().unwrap();
    assert_eq!(counts(&["--rules", rules]).0, 3);
    std::fs::write(rules, r#"{"tools":{"forecast":{"compare":"deep"}}}"#).unwrap();
    let output = talk(scratch.tap(["diff", "last.2", "last", "--rules", rules]), b"");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(said.contains("tools.forecast.compare: unknown variant `deep`"), "{said}");
    // The rules of a recording's header hold without being asked for.
    let text = std::fs::read_to_string(recording("demo.jsonl")).unwrap();
    let (a, b) = (scratch.path("a.jsonl"), scratch.path("b.jsonl"));
    std::fs::write(&a, text.replacen(r#""profile""#, r#""rules":{"ignore":["result.content[*].text"]},"profile""#, 1))
        .unwrap();
    std::fs::write(&b, text.replace("7 degrees", "8 degrees")).unwrap();
    let (a, b) = (a.to_str().unwrap(), b.to_str().unwrap());
    printed(&scratch, 0, &["diff", a, b, "--exit-code"]);
    printed(&scratch, 1, &["diff", b, &recording("demo.jsonl"), "--exit-code"]);
}

#[test]
fn rounds_of_input_are_one_call() {
    let scratch = Scratch::new();
    let modern = recording("modern.jsonl");
    let text = std::fs::read_to_string(&modern).unwrap();
    let other = scratch.path("other.jsonl");
    let other = other.to_str().unwrap();
    // Only what the last round was answered with.
    let changed = text.replace(r#""structuredContent":{"trip":7}"#, r#""structuredContent":{"trip":8}"#);
    assert!(changed != text);
    std::fs::write(other, changed).unwrap();
    let report: Value =
        serde_json::from_str(&printed(&scratch, 1, &["diff", &modern, other, "--json", "--exit-code"])).unwrap();
    let calls = report["calls"].as_array().unwrap();
    let booked: Vec<&Value> = calls.iter().filter(|call| call["name"] == "book").collect();
    assert_eq!(booked.len(), 1);
    assert_eq!((&booked[0]["state"], &booked[0]["a"]["rounds"]), (&"changed".into(), &2.into()));
}

#[test]
fn what_cannot_be_compared_is_trouble() {
    let scratch = two_sessions();
    for arguments in [
        &["diff", "last.2", "nobody"][..],
        &["diff", "last.2"],
        &["diff", "last.2", "last", "--ignore", "wrong.path"],
        &["diff", "last.2", "last", "tool:"],
        &["diff", "last.2", "last", "--rules", "/nowhere.json"],
    ] {
        printed(&scratch, 2, arguments);
    }
}

/// What was recorded does not act on a terminal.
#[test]
fn what_was_recorded_is_shown_safely() {
    let scratch = Scratch::new();
    let text = std::fs::read_to_string(recording("demo.jsonl")).unwrap();
    let (a, b) = (scratch.path("a.jsonl"), scratch.path("b.jsonl"));
    std::fs::write(&a, &text).unwrap();
    let hostile = text
        .replace("7 degrees", "\\u001b[2J\u{9b}2J\u{202e}")
        .replace(r#""isError""#, "\"\\u001b[31m\u{202e}\"")
        .replace("Tomorrow's", "\\u001b]0;x\\u0007");
    std::fs::write(&b, hostile).unwrap();
    for format in ["text", "junit", "json"] {
        let shown = printed(&scratch, 0, &["diff", a.to_str().unwrap(), b.to_str().unwrap(), "--format", format]);
        assert!(!shown.contains(['\x1b', '\u{9b}', '\u{202e}', '\x07']), "{format}: {shown}");
    }
}
