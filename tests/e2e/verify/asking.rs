//! What a person decides: before each message, of what is wanted, of what was found, and how old a recording may be.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::{nothing_is_left, printed, recorded, server};
use crate::inspector::Terminal;
use crate::support::{Scratch, wait_for};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn only_what_is_wanted_is_said_and_compared() {
    let scratch = Scratch::new();
    let [session, fixture, lossless] = recorded(&scratch);
    for reference in [&session, &fixture, &lossless] {
        // What changed is not in it, and how a session begins is said all the same.
        let told = printed(&scratch, 0, &[reference, "--only", "tool:start"], "changed");
        assert!(told.contains("no differences: 2 calls the same"), "{told}");
        let told = printed(&scratch, 1, &[reference, "--only", "method:tools/call"], "changed");
        assert!(told.contains("differs: 2 calls the same, 1 not"), "{told}");
        let told = printed(&scratch, 1, &[reference, "--only", "method:tools/list"], "drift");
        assert!(told.contains("look"), "{told}");
    }
    let json = printed(&scratch, 0, &[&fixture, "--only", "tool:start", "--json"], "changed");
    let report: Value = serde_json::from_str(&json).unwrap();
    let methods: Vec<&str> = report["recordings"][0]["calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call["method"].as_str().unwrap())
        .collect();
    assert_eq!(methods, ["initialize", "tools/call"]);
    // What goes on from what was not asked cannot be asked for as it was: the value is the recorded one, and the server says so.
    let told = printed(&scratch, 1, &[&fixture, "--only", "tool:look"], "usual");
    assert!(told.contains("no such job"), "{told}");
    printed(&scratch, 2, &[&fixture, "--only", "tool:nowhere"], "usual");
    printed(&scratch, 2, &[&fixture, "--only", "tool:("], "usual");
    // Of a part nothing is written.
    let output = super::verify(&scratch, &[&fixture, "--only", "tool:look", "--update", "all"], "changed");
    assert!(text(&output.stderr).contains("nothing is written"), "{}", text(&output.stderr));
}

/// `mcp-tap verify … --step` on a terminal.
fn stepping(scratch: &Scratch, fixture: &str, more: &[&str]) -> Terminal {
    let words = ["verify", fixture, "--step", "--update", "never", "--no-pager"];
    let mut command = scratch.tap(words.iter().chain(more).chain(&["--"]).chain(&server("usual")));
    command.env("PIDS", scratch.path("pids"));
    Terminal::start(&command)
}

#[test]
fn step_by_step_each_message_waits_for_somebody() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    // Nobody to ask.
    let output = super::verify(&scratch, &[&fixture, "--step"], "usual");
    assert!(output.status.code() == Some(2) && text(&output.stderr).contains("no terminal to ask on"));

    // Longer than an answer may take is thought about the second message: nobody is late because of that.
    let mut terminal = stepping(&scratch, &fixture, &["--timeout", "300ms"]);
    terminal.wait(0, "say it: Enter");
    assert!(text(&terminal.seen()).contains("initialize") && !text(&terminal.seen()).contains("tools/list"));
    terminal.type_for("\n", "serverInfo");
    terminal.wait(0, "tools/list");
    // It is not said yet.
    assert!(!text(&terminal.seen()).contains("readOnlyHint"));
    terminal.type_for("what?\n", "say it: Enter");
    terminal.type_for("\n", "readOnlyHint");
    terminal.type_for("r\n", "no differences: 4 calls the same");
    let mut child = terminal.close();
    assert!(wait_for(&mut child).success());

    let mut terminal = stepping(&scratch, &fixture, &[]);
    terminal.wait(0, "say it: Enter");
    terminal.type_for("\n", "tools/list");
    terminal.type_for("q\n", "stopped before all was said");
    let mut child = terminal.close();
    assert_eq!(wait_for(&mut child).code(), Some(2));
    nothing_is_left(&scratch);
}

#[test]
fn a_rule_is_made_of_what_differs() {
    let scratch = Scratch::new();
    let [_, fixture, _] = recorded(&scratch);
    let before = fs::read_to_string(&fixture).unwrap();
    let new = format!("{fixture}.new");
    let update = |way: &str| {
        let output = super::verify(&scratch, &[&fixture, "--update", "new"], way);
        assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    };
    let review = || {
        let command = scratch.tap(["review", "--no-pager", &fixture]);
        let terminal = Terminal::start(&command);
        terminal.wait(0, "[a/r/s/A/R/S/d/I]");
        terminal
    };
    update("changed");
    let mut terminal = review();
    terminal.type_for("d\n", "[a/r/s/A/R/S/d/I]");
    assert_eq!(text(&terminal.seen()).matches("result.count").count(), 2, "{}", text(&terminal.seen()));
    terminal.type_for("I\n", "nothing differs any more");
    let seen = text(&terminal.seen());
    assert!(seen.contains("volatile result.content[0].text of look") && seen.contains("3 rules"), "{seen}");
    let mut child = terminal.close();
    assert!(wait_for(&mut child).success());
    // It is in the header, nothing else is another, and nothing waits any more.
    let after = fs::read_to_string(&fixture).unwrap();
    assert!(after.contains(r#""volatile":["result.content[0].text","result.count"]"#), "{after}");
    let records = |text: &str| text.split_once("{\"to\"").unwrap().1.to_owned();
    assert_eq!(records(&after), records(&before));
    assert!(!fs::exists(&new).unwrap());
    printed(&scratch, 0, &[&fixture], "changed");
    printed(&scratch, 0, &[&fixture], "usual");
    printed(&scratch, 1, &[&fixture], "drift");

    // Of a list no rule is made, and it is asked again.
    update("drift");
    let mut terminal = review();
    terminal.type_for("I\n", "no rule can say that");
    terminal.type_for("r\n", "1 rejected");
    let mut child = terminal.close();
    assert!(wait_for(&mut child).success());
    assert_eq!((fs::read_to_string(&fixture).unwrap(), fs::exists(&new).unwrap()), (after, false));
}

#[test]
fn a_recording_that_is_too_old_fails_and_is_not_made_anew() {
    let scratch = Scratch::new();
    let [session, fixture, lossless] = recorded(&scratch);
    for reference in [&session, &fixture, &lossless] {
        printed(&scratch, 0, &[reference, "--max-age", "1d"], "usual");
    }
    // By its header.
    let file = fs::read_to_string(&lossless).unwrap();
    let at = file.find("recorded_unix_ns").unwrap();
    let digits = file[at..].find(|c: char| c.is_ascii_digit()).unwrap() + at;
    let end = file[digits..].find(|c: char| !c.is_ascii_digit()).unwrap() + digits;
    fs::write(&lossless, format!("{}1600000000000000000{}", &file[..digits], &file[end..])).unwrap();
    let told = printed(&scratch, 1, &[&lossless, "--max-age", "90d"], "usual");
    assert!(told.contains("too old: ") && told.contains("since it was recorded, and --max-age is 90 days"), "{told}");
    assert!(told.contains("no differences"), "{told}");
    printed(&scratch, 0, &[&lossless], "usual");
    let json: Value =
        serde_json::from_str(&printed(&scratch, 1, &[&lossless, "--max-age", "90d", "--json"], "usual")).unwrap();
    assert_eq!((&json["same"], json["recordings"][0]["too_old"].is_string()), (&Value::from(false), true));
    let xml = printed(&scratch, 1, &[&lossless, "--max-age", "90d", "--format", "junit"], "usual");
    assert!(xml.contains("too old"), "{xml}");

    // A fixture has no clock: by its last commit, unless it was changed since.
    let folder = scratch.path("");
    let git = |words: &[&str]| {
        let mut command = Command::new("git");
        command.arg("-C").arg(&folder).args(["-c", "user.name=a", "-c", "user.email=a@example.com"]).args(words);
        command.env("GIT_COMMITTER_DATE", "2020-01-01T00:00:00Z").env("GIT_AUTHOR_DATE", "2020-01-01T00:00:00Z");
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
    };
    git(&["init", "-q"]);
    git(&["add", "a.mcprec"]);
    git(&["commit", "-q", "-m", "recorded"]);
    let told = printed(&scratch, 1, &[&fixture, "--max-age", "52w"], "usual");
    assert!(told.contains("since it was last committed"), "{told}");
    fs::write(&fixture, fs::read_to_string(&fixture).unwrap() + "\n").unwrap();
    printed(&scratch, 0, &[&fixture, "--max-age", "52w"], "usual");
}
