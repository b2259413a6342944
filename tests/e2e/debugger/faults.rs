//! Faults, each by what it does to two messages that `cat` gives back.

use super::*;

const FIRST: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"n":1}}}"#;
const SECOND: &str = r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#;

fn with(fault: &str) -> Output {
    let scratch = Scratch::new();
    talk(scratch.tap(["run", "--fault", fault, "--", "cat"]), format!("{FIRST}\n{SECOND}\n").as_bytes())
}

#[test]
fn each_fault_does_what_it_is_there_for() {
    let set = FIRST.replace("\"n\":1", "\"n\":2");
    let unset = FIRST.replace("\"n\":1", "");
    for (action, expected) in [
        ("delay:100ms", vec![SECOND, FIRST]),
        ("delay:50ms..100ms", vec![SECOND, FIRST]),
        ("drop", vec![SECOND]),
        ("error:-32603:no", vec![r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}"#, SECOND]),
        (
            "tool_error:out",
            vec![
                r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"out"}],"isError":true}}"#,
                SECOND,
            ],
        ),
        ("duplicate", vec![FIRST, FIRST, SECOND]),
        ("reorder", vec![SECOND, FIRST]),
        ("truncate:20", vec![&FIRST[..20], SECOND]),
        ("truncate", vec![&FIRST[..FIRST.len() / 2], SECOND]),
        ("slow:1k/s", vec![FIRST, SECOND]),
        ("garbage:oh", vec!["oh", FIRST, SECOND]),
        ("set:arg.n=2", vec![&set, SECOND]),
        ("unset:arg.n", vec![&unset, SECOND]),
        ("close", vec![]),
        ("log:here", vec![FIRST, SECOND]),
    ] {
        let fault = format!("is:c2s tool:x -> {action}");
        let output = with(&fault);
        let mut got: Vec<_> = std::str::from_utf8(&output.stdout).unwrap().lines().collect();
        if action.starts_with("error") || action.starts_with("tool_error") {
            // The two answers come from two sides.
            got.sort_by_key(|line| !line.contains("\"id\":1"));
        }
        assert_eq!(got, expected, "{fault}");
        let told = String::from_utf8(output.stderr).unwrap();
        assert!(told.ends_with(&format!("mcp-tap: fault {fault}: 1 of 1 that fitted\n")), "{told}");
        assert_eq!(told.contains(&format!("fault {fault}: here -> tools/call x")), action.starts_with("log"), "{told}");
    }
}

#[test]
fn an_answer_in_its_place_comes_though_the_server_never_says_anything() {
    let scratch = Scratch::new();
    let mut live = Live::start(&scratch, &["--fault", "is:c2s -> error:1:no", "--no-control"], &["sleep", "1000"]);
    live.send(SECOND);
    assert_eq!(live.line(), r#"{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"no"}}"#);
}

#[test]
fn a_crash_ends_the_tap_as_the_server_ended() {
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(with("id:2 is:c2s -> crash").status.signal(), Some(9));
}

#[test]
fn corrupted_messages_stay_one_line_each() {
    let output = with("is:c2s tool:x -> corrupt");
    let lines: Vec<_> = output.stdout.split(|byte| *byte == b'\n').collect();
    assert_eq!((lines.len(), lines[0].len(), lines[1]), (3, FIRST.len(), SECOND.as_bytes()));
    assert_ne!(lines[0], FIRST.as_bytes());
}

#[test]
fn answers_are_made_to_fail_by_what_they_say() {
    let scratch = Scratch::new();
    let mut live = Live::start(
        &scratch,
        &["--fault", "tool:forecast is:ok -> error:-32000:late", "--no-control"],
        &[TAP, "demo-server"],
    );
    live.send(INITIALIZE);
    live.line();
    live.send(&request(1, "forecast", r#"{"city":"Bern"}"#));
    assert_eq!(live.line(), r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"late"}}"#);
    live.end();
}

#[test]
fn a_rule_looks_at_a_call_once_and_counts_calls() {
    let scratch = Scratch::new();
    let faults = scratch.path("faults.txt");
    std::fs::write(&faults, "# every second one\ntool:forecast every:2 -> error:1:no\n\n").unwrap();
    let mut live = Live::start(&scratch, &["--fault-file", faults.to_str().unwrap()], &[TAP, "demo-server"]);
    live.send(INITIALIZE);
    live.line();
    let failed: Vec<_> = (1..=6)
        .map(|id| {
            live.send(&request(id, "forecast", r#"{"city":"Bern"}"#));
            live.line().contains("\"error\"")
        })
        .collect();
    assert_eq!(failed, [false, true, false, true, false, true]);
    assert!(live.done(&["break"]).contains("fault tool:forecast every:2 -> error:1:no"));
    live.end();
}

#[test]
fn the_same_seed_gives_the_same_faults_and_another_gives_others() {
    let ran = |seed: &str| {
        let scratch = Scratch::new();
        let words = [
            "run",
            "--seed",
            seed,
            "--fault",
            "is:c2s p:0.3 -> drop",
            "--fault",
            "is:c2s p:0.2 -> corrupt",
            "--",
            "cat",
        ];
        talk(scratch.tap(words), &lines(200)).stdout
    };
    let (one, again, other) = (ran("1"), ran("1"), ran("2"));
    same(&one, &again);
    assert_ne!(one, other);
    let n_lines = one.split(|byte| *byte == b'\n').count();
    assert!((110..170).contains(&n_lines), "{n_lines}");
}
