//! How long recordings are kept: what is pruned and what stays, while taps write; copies of a live database; others taken over.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Child;

use crate::support::{Scratch, lines, piped, same, talk, wait_for, wait_until};

/// A recording in text form with about so many bytes, of long ago.
fn large(scratch: &Scratch, name: &str, n_bytes: usize) -> String {
    let path = scratch.path(&format!("{name}.jsonl"));
    let recorder = Scratch::new();
    let line =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"params\":\"{}\"}}\n", "x".repeat(n_bytes / 2));
    talk(recorder.run(["cat"]), line.as_bytes());
    let output = recorder.tap(["export", "last", "-o", path.to_str().unwrap()]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(&path).unwrap();
    // The header says when it was; it was long ago.
    let (head, rest) = text.split_once('\n').unwrap();
    let mut head: serde_json::Value = serde_json::from_str(head).unwrap();
    head["recorded_unix_ns"] = 1_577_934_245_000_000_000_u64.into();
    head["server"] = name.into();
    fs::write(&path, format!("{head}\n{rest}")).unwrap();
    path.to_str().unwrap().to_owned()
}

#[track_caller]
fn done(scratch: &Scratch, arguments: &[&str]) -> (String, String) {
    let output = talk(scratch.tap(arguments), b"");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {stderr}");
    (String::from_utf8(output.stdout).unwrap(), stderr)
}

fn names(scratch: &Scratch) -> Vec<String> {
    let mut names: Vec<String> =
        scratch.json(&["ls", "--json"]).iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

fn on_disk(path: &Path) -> u64 {
    ["", "-wal"]
        .iter()
        .filter_map(|suffix| fs::metadata(format!("{}{suffix}", path.display())).ok())
        .map(|it| it.len())
        .sum()
}

/// A tap before `cat` that has passed so much that its session is there.
fn live(scratch: &Scratch) -> (Child, BufReader<std::process::ChildStdout>) {
    let mut tap = piped(scratch.run(["cat"])).spawn().unwrap();
    tap.stdin.as_mut().unwrap().write_all(b"{}\n").unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    stdout.read_line(&mut String::new()).unwrap();
    wait_until("the session is there", || scratch.db().exists() && names(scratch).contains(&"peer".to_owned()));
    (tap, stdout)
}

#[test]
fn room_is_given_back_while_a_tap_writes_and_nothing_of_it_is_lost() {
    let scratch = Scratch::new();
    let files: Vec<String> = (1..=4).map(|index| large(&scratch, &format!("old{index}"), 6_000_000)).collect();
    for file in &files {
        done(&scratch, &["import", "-q", file]);
    }
    let (mut tap, mut stdout) = live(&scratch);
    let sent = lines(20_000);
    let mut stdin = tap.stdin.take().unwrap();
    let bytes = sent.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes).unwrap());
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        std::io::Read::read_to_end(&mut stdout, &mut got).unwrap();
        got
    });
    let (foretold, _) = done(&scratch, &["db", "prune", "--older-than", "30d", "--dry-run"]);
    assert_eq!(foretold.lines().count(), 4, "{foretold}");
    assert!(foretold.lines().all(|line| line.contains("2020-01-02 03:04") && line.contains("too old")), "{foretold}");
    let (gone, told) = done(&scratch, &["db", "prune", "--older-than", "30d"]);
    assert_eq!(gone.lines().count(), 4, "{gone}");
    assert!(told.starts_with("4 sessions deleted\n"), "{told}");
    writer.join().unwrap();
    same(&reader.join().unwrap(), &sent);
    assert!(wait_for(&mut tap).success());
    assert_eq!(names(&scratch), ["peer"]);
    // What passed while room was made is there, and the room is.
    done(&scratch, &["ls"]);
    same(&scratch.recorded("server"), &[&b"{}\n"[..], &sent].concat());
    assert!(on_disk(&scratch.db()) < 12_000_000, "{}", on_disk(&scratch.db()));
}

#[test]
fn the_oldest_go_first_and_what_has_a_label_or_is_live_stays() {
    let scratch = Scratch::new();
    for name in ["one", "two", "three"] {
        let file = large(&scratch, name, 3_000_000);
        done(&scratch, &["import", "-q", &file]);
    }
    let connection = rusqlite::Connection::open(scratch.db()).unwrap();
    connection.execute("INSERT INTO label SELECT id, 'keep' FROM session WHERE name = 'one'", []).unwrap();
    drop(connection);
    let (mut tap, _stdout) = live(&scratch);
    let (_, told) = done(&scratch, &["db", "prune", "--max-size", "1K"]);
    assert!(
        told.contains("2 sessions deleted") && told.contains("are left: live sessions, and those with a label"),
        "{told}"
    );
    assert_eq!(names(&scratch), ["one", "peer"]);
    drop(tap.stdin.take());
    wait_for(&mut tap);
    for (arguments, says) in [
        (&["db", "prune"][..], "--older-than"),
        (&["db", "prune", "--older-than", "30"], "is no length of time"),
        (&["db", "prune", "--max-size", "huge"], "is no size"),
    ] {
        let output = talk(scratch.tap(arguments), b"");
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(says), "{arguments:?}");
    }
}

#[test]
fn a_tap_keeps_within_the_limits_that_are_configured() {
    let scratch = Scratch::new();
    let file = large(&scratch, "old", 100_000);
    done(&scratch, &["import", "-q", &file]);
    // Without a configuration nothing goes.
    talk(scratch.run(["cat"]), b"{}\n");
    assert_eq!(names(&scratch), ["old", "peer"]);
    fs::create_dir_all(scratch.path("config/mcp-tap")).unwrap();
    fs::write(scratch.path("config/mcp-tap/config.toml"), "[record]\nmax_age = '30d'\nmax_size = '1G'\n").unwrap();
    let (mut tap, _stdout) = live(&scratch);
    wait_until("what is too old is gone", || names(&scratch) == ["peer", "peer"]);
    drop(tap.stdin.take());
    assert!(wait_for(&mut tap).success());
    let (told, _) = done(&scratch, &["config", "show"]);
    let line = |name: &str| {
        told.lines().find(|line| line.starts_with(name)).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    assert_eq!(line("record.max_age"), "record.max_age 30.0 days config");
    assert!(line("record.max_size").ends_with("config"));
}

#[test]
fn a_live_database_is_copied_whole_and_another_takes_it_over() {
    let scratch = Scratch::new();
    let file = large(&scratch, "old", 100_000);
    done(&scratch, &["import", "-q", &file]);
    let (mut tap, _stdout) = live(&scratch);
    let copy = scratch.path("copy.db");
    let copy_name = copy.to_str().unwrap();
    done(&scratch, &["db", "backup", copy_name]);
    drop(tap.stdin.take());
    wait_for(&mut tap);
    assert_eq!(copy.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let beside: Vec<String> = fs::read_dir(scratch.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("partial"))
        .collect();
    assert_eq!(beside, Vec::<String>::new());
    let rows = scratch.json(&["ls", "--json", "--db", copy_name]);
    assert_eq!(rows.len(), 2);
    let again = talk(scratch.tap(["db", "backup", copy_name]), b"");
    assert!(String::from_utf8_lossy(&again.stderr).contains("is there already"));
    // On another machine.
    let other = Scratch::new();
    talk(other.run(["cat"]), b"{}\n");
    let (_, told) = done(&other, &["db", "merge", copy_name]);
    assert!(told.contains("2 sessions taken over"), "{told}");
    assert_eq!(names(&other), ["old", "peer", "peer"]);
    let exported = |scratch: &Scratch, database: &str| {
        let id =
            scratch.json(&["ls", "--json", "--db", database]).iter().find(|row| row["name"] == "old").unwrap()["id"]
                .clone();
        done(scratch, &["export", id.as_str().unwrap(), "--db", database]).0
    };
    assert_eq!(exported(&other, other.db().to_str().unwrap()), exported(&scratch, copy_name));
    let (_, told) = done(&other, &["db", "merge", copy_name]);
    assert!(told.contains("0 sessions taken over") && told.contains("2 here already"), "{told}");
    let itself = talk(scratch.tap(["db", "merge", scratch.db().to_str().unwrap()]), b"");
    assert!(String::from_utf8_lossy(&itself.stderr).contains("is the database itself"));
}
