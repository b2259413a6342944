//! Filters on the command line: what fits, what is told of those that make no sense, and exit codes.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;

use crate::support::{Scratch, piped, talk, wait_for};

fn recording(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../recordings").join(name);
    path.to_str().unwrap().to_string()
}

/// Exit code, what is on stdout, what is on stderr.
fn log(scratch: &Scratch, arguments: &[&str]) -> (i32, String, String) {
    let output = talk(scratch.tap([&["log"], arguments].concat()), b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn log_prints_what_fits() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    for (arguments, expected) in [
        (&["is:error"][..], &[10, 18][..]),
        (&["tool:forecast"], &[8, 10]),
        (&["tool:forecast", "-n", "1"], &[10]),
        (&["tool:forecast", "or", "method:ping", "-n", "2"], &[10, 20]),
        (&["arg.city=Atlantis", "status:tool_error"], &[10]),
        (&["is:finding"], &[6, 18]),
        (&["kind:raw"], &[6]),
        (&["latency>100ms"], &[13]),
        (&["--frames", "is:s2c", "kind:notification"], &[14, 15, 16]),
        (&["--frames", "kind:stderr", "-n", "1"], &[22]),
        (&["--frames", "'no weather station'"], &[12]),
        (&["result.content[*].text:Atlantis"], &[10]),
        (&["n:..5", "-n", "1"], &[5]),
    ] {
        let rows = scratch.json(&[&["log", "--json", "-s", &demo], arguments].concat());
        let numbers: Vec<u64> = rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
        assert_eq!(numbers, expected, "{arguments:?}");
    }
    let part = format!("{demo}:9..");
    let rows = scratch.json(&["log", "--json", "-s", &part, "is:error", "-n", "1"]);
    assert_eq!(rows[0]["seq"], 10, "the first of a part that has a beginning");
}

#[test]
fn nothing_that_fits_is_exit_code_1_and_a_filter_without_sense_is_2() {
    let scratch = Scratch::new();
    assert!(talk(scratch.tap(["import", "-q", &recording("demo.jsonl")]), b"").status.success());
    let (code, out, told) = log(&scratch, &["tool:nothing"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert_eq!(told, "no calls that fit in demo (exited (0))\n");
    let (code, _, told) = log(&scratch, &["demo.1"]);
    assert_eq!(code, 1);
    assert!(told.contains("the session is -s demo.1"), "{told}");
    let (code, out, told) = log(&scratch, &["tool:find", "latncy>2s"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert_eq!(
        told,
        "mcp-tap: unknown field `latncy`\n  tool:find latncy>2s\n            ^^^^^^\n  did you mean `latency`? quote it to \
         search for the text\n"
    );
    let (code, _, told) = log(&scratch, &["é", "(is:error"]);
    assert_eq!(code, 2);
    assert_eq!(told, "mcp-tap: this parenthesis is not closed\n  é (is:error\n    ^\n");
    let (code, _, told) = log(&scratch, &["-f", "is:finding"]);
    assert_eq!(code, 2);
    assert!(told.contains("leave out -f"), "{told}");
}

#[test]
fn log_follows_what_fits() {
    let scratch = Scratch::new();
    let mut tap =
        scratch.run_sh("while read line; do printf '%s\\n' \"$line\" | sed 's/\"method\":.*/\"result\":{}}/'; done");
    let mut tap = tap.spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut call = |id: u32, method: &str| {
        writeln!(stdin, r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"}}"#).unwrap();
    };
    call(1, "before/this");
    crate::support::wait_until("it is recorded", || {
        scratch.db().exists() && scratch.tap(["log"]).output().is_ok_and(|output| output.status.success())
    });
    let mut follow = piped(scratch.tap(["log", "-f", "--json", "method:wanted/*"])).spawn().unwrap();
    let lines = BufReader::new(follow.stdout.take().unwrap()).lines();
    for id in 2..6 {
        call(id, if id % 2 == 0 { "other/one" } else { "wanted/one" });
    }
    let found: Vec<serde_json::Value> =
        lines.take(2).map(|line| serde_json::from_str(&line.unwrap()).unwrap()).collect();
    assert!(found.iter().all(|row| row["method"] == "wanted/one"), "{found:?}");
    drop(stdin);
    assert!(wait_for(&mut tap).success());
    assert!(wait_for(&mut follow).success());
}

#[test]
fn log_all_looks_through_all_sessions_the_newest_first() {
    let scratch = Scratch::new();
    for name in ["demo.jsonl", "modern.jsonl", "demo.jsonl"] {
        assert!(talk(scratch.tap(["import", "-q", &recording(name)]), b"").status.success());
    }
    for (arguments, expected) in [
        (&["atlantis"][..], &["demo:12", "demo:11", "demo.2:12", "demo.2:11"][..]),
        (&["atlantis", "kind:request"], &["demo:10", "demo.2:10"]),
        (&["status:tool_error", "-n", "2"], &["demo:12", "travel:17"]),
        (&["is:violation", "-n", "1"], &["demo:6"]),
        (&["session:travel", "method:tools/list", "is:response"], &["travel:15", "travel:6"]),
    ] {
        let rows = scratch.json(&[&["log", "--all", "--json", "-q"], arguments].concat());
        let places: Vec<&str> = rows.iter().map(|row| row["reference"].as_str().unwrap()).collect();
        assert_eq!(places, expected, "{arguments:?}");
    }
    let (code, out, told) = log(&scratch, &["-a", "'station in atlantis'"]);
    assert_eq!(code, 0);
    assert!(out.lines().next().is_some_and(|line| line.starts_with("demo:12")), "{out}");
    assert!(out.contains("weather station in Atlantis"), "{out}");
    assert!(told.starts_with("2 hits in 2 of 3 sessions; looked at 62 of 62 messages"), "{told}");
    let (code, _, told) = log(&scratch, &["-a", "'station in atlantis'", "-n", "1"]);
    assert_eq!(code, 0);
    assert!(told.starts_with("1 hit in 1 of 3 sessions; looked at 11 of 62 messages"), "it ends with the last: {told}");
    let (code, out, _) = log(&scratch, &["--all", "nothing-is-so"]);
    assert_eq!((code, out.as_str()), (1, ""));
    let (code, _, told) = log(&scratch, &["--all"]);
    assert_eq!(code, 2);
    assert!(told.contains("what is to be looked for"), "{told}");
}

/// Exit code, what is on stdout, what is on stderr.
fn run(scratch: &Scratch, arguments: &[&str]) -> (i32, String, String) {
    let output = talk(scratch.tap(arguments), b"");
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn stats_counts_the_calls_that_fit() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    for (filter, expected) in [
        (&["tool:forecast"][..], &[("tools/call forecast", 2, 1)][..]),
        (&["tool:forecast", "is:error"], &[("tools/call forecast", 1, 1)]),
        (&["latency>100ms", "or", "method:ping"], &[("tools/call report", 1, 0), ("ping", 1, 0)]),
        (&["result.content[*].text:Atlantis"], &[("tools/call forecast", 1, 1)]),
        (&["is:finding"], &[("tools/call forecsat", 1, 0)]),
    ] {
        let rows = scratch.json(&[&["stats", "--json", &demo], filter].concat());
        let told: Vec<(&str, u64, u64)> = rows
            .iter()
            .map(|row| {
                let number = |name: &str| row[name].as_u64().unwrap();
                (row["what"].as_str().unwrap(), number("calls"), number("tool_errors"))
            })
            .collect();
        assert_eq!(told, expected, "{filter:?}");
    }
    let (code, out, told) = run(&scratch, &["stats", &demo, "tool:nobody"]);
    assert_eq!((code, out.as_str(), told.as_str()), (1, "", "no calls that fit\n"));
    let (code, _, told) = run(&scratch, &["stats", &demo, "tool:find", "latncy>2s"]);
    assert_eq!(code, 2);
    assert!(told.contains("tool:find latncy>2s\n            ^^^^^^"), "{told}");
}

#[test]
fn check_tells_what_is_wrong_with_messages_that_fit() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    for (filter, expected) in [
        (&[][..], &[6, 18][..]),
        (&["tool:forecsat"], &[18]),
        (&["kind:raw"], &[6]),
        (&["severity:error"], &[6]),
        (&["n:7.."], &[18]),
        (&["tool:forecast"], &[]),
    ] {
        let arguments = [&["check", "--level", "warning", "--json", &demo], filter].concat();
        let (code, out, told) = run(&scratch, &arguments);
        let numbers: Vec<u64> = out
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["seq"].as_u64().unwrap())
            .collect();
        assert_eq!(numbers, expected, "{filter:?} {out} {told}");
        assert_eq!(code, i32::from(!expected.is_empty()), "{filter:?}");
    }
    let (_, out, _) = run(&scratch, &["check", &demo, "tool:forecast"]);
    assert!(out.contains("18 messages, of which those that fit tool:forecast"), "{out}");
    let (code, _, told) = run(&scratch, &["check", &demo, "(is:error"]);
    assert_eq!(code, 2);
    assert!(told.contains("this parenthesis is not closed"), "{told}");
    let (code, _, told) = run(&scratch, &["check", "last:0"]);
    assert_eq!(code, 2);
    assert!(told.contains("`last:0` names no session"), "{told}");
}

#[test]
fn export_writes_whole_calls_that_fit_and_they_can_be_imported() {
    let scratch = Scratch::new();
    let demo = recording("demo.jsonl");
    let file = scratch.path("part.jsonl");
    let file = file.to_str().unwrap();
    let (code, _, told) = run(&scratch, &["export", &demo, "is:s2c", "tool:forecast", "-o", file]);
    assert_eq!(code, 0, "{told}");
    // Answers were asked for; their requests belong to them.
    assert!(told.contains("4 frames"), "{told}");
    let rows = scratch.json(&["log", "--frames", "--json", "-s", file]);
    let kinds: Vec<_> = rows.iter().map(|row| row["kind"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["request", "result", "request", "result"]);
    assert!(rows.iter().all(|row| row["target"] == "forecast" && !row["pair_seq"].is_null()), "{rows:?}");
    assert_eq!(run(&scratch, &["import", "-q", file]).0, 0);
    assert_eq!(scratch.json(&["log", "--json"]).len(), 2);
    let (code, out, told) = run(&scratch, &["export", &demo, "tool:nobody"]);
    assert_eq!((code, out.as_str()), (1, ""));
    assert!(told.contains("no messages that fit"), "{told}");
    let (code, _, told) = run(&scratch, &["export", &demo, "tool:x", "sise>1k"]);
    assert_eq!(code, 2);
    assert!(told.contains("did you mean `size`"), "{told}");
}
