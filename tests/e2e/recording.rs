//! The recording is complete after a normal end, after SIGKILL, and beside twenty others.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::support::{Scratch, lines, same, talk, wait_for};

#[test]
fn frames_are_in_order_with_both_clocks() {
    let scratch = Scratch::new();
    let before = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    talk(scratch.run_sh("echo banner; echo noise >&2; cat"), &lines(50));
    let after = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_nanos();
    let frames = scratch.json(&["log", "--frames", "--json"]);
    assert_eq!(frames.len(), 102);
    let mut newest_ns = 0;
    for (number, frame) in (1..).zip(&frames) {
        assert_eq!(frame["seq"], number);
        let at_ns = frame["at_ns"].as_u64().unwrap();
        assert!(newest_ns <= at_ns);
        newest_ns = at_ns;
    }
    let opened = scratch.session()["opened"].as_str().unwrap().to_string();
    let opened: jiff::Timestamp = opened.parse().unwrap();
    let wall: jiff::Timestamp = frames[101]["wall"].as_str().unwrap().parse().unwrap();
    assert!(before as i128 <= opened.as_nanosecond() && wall.as_nanosecond() <= after as i128);
    assert_eq!(wall.as_nanosecond() - opened.as_nanosecond(), i128::from(newest_ns));
}

/// What is left of a host's conversation when its tap is killed.
struct Killed {
    /// How many echoes came.
    n_came: usize,
    /// How many of them so long before the kill that they must be recorded.
    n_due: usize,
}

/// Talks through a tap, one message after the other, and kills it after `life`.
fn talk_and_kill(scratch: &Scratch, name: &str, life: Duration) -> Killed {
    let mut command = scratch.tap(["run", "--name", name, "--", "cat"]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut tap = command.spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let started = Instant::now();
    let mut came = Vec::new();
    let mut line = String::new();
    while started.elapsed() < life {
        writeln!(stdin, "message {}", came.len()).unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        assert_eq!(line, format!("message {}\n", came.len()));
        came.push(started.elapsed());
        // tidy: sleeps because a conversation at full speed would only make more to check.
        std::thread::sleep(Duration::from_micros(300));
    }
    tap.kill().unwrap();
    let killed = started.elapsed();
    wait_for(&mut tap);
    let due = killed.saturating_sub(Duration::from_millis(100));
    Killed { n_came: came.len(), n_due: came.iter().filter(|at| **at < due).count() }
}

#[test]
fn after_a_kill_everything_older_than_a_tenth_of_a_second_is_there() {
    const KILLS: usize = 200;
    const AT_ONCE: usize = 4;
    let scratch = Scratch::new();
    // The first one makes the database, so that the others start into one that is in use.
    talk_and_kill(&scratch, "first", Duration::from_millis(200));
    let next = std::sync::atomic::AtomicUsize::new(0);
    let results = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    if number >= KILLS {
                        return;
                    }
                    // Spread over 0.12 to 0.32 s without a pattern that could match a period of the recorder's.
                    let life = Duration::from_micros(120_000 + (number as u64 * 61_803) % 200_000);
                    let name = format!("kill-{number}");
                    let killed = talk_and_kill(&scratch, &name, life);
                    results.lock().unwrap().push((name, killed));
                }
            });
        }
    });
    let check: String = rusqlite::Connection::open(scratch.db())
        .and_then(|database| database.query_row("PRAGMA integrity_check", [], |row| row.get(0)))
        .unwrap();
    assert_eq!(check, "ok", "opens without repair");
    let mut n_due = 0;
    for (name, killed) in results.into_inner().unwrap() {
        n_due += killed.n_due;
        for to in ["server", "client"] {
            let recorded = String::from_utf8(scratch.recorded_of(&name, to)).unwrap();
            // The last line may have been cut off by the kill.
            let whole = recorded.rfind('\n').map_or("", |end| &recorded[..end]);
            let number = |line: &str| line.strip_prefix("message ").and_then(|number| number.parse::<usize>().ok());
            let mut numbers =
                whole.lines().map(|line| number(line).unwrap_or_else(|| panic!("{name} to {to}: {line:?}")));
            let n_recorded = numbers.clone().count();
            assert!(numbers.by_ref().eq(0..n_recorded), "{name}: a message is missing in the middle");
            assert!(killed.n_due <= n_recorded, "{name} to {to}: {} were due, {n_recorded} are there", killed.n_due);
            assert!(n_recorded <= killed.n_came + 1);
        }
    }
    assert!(n_due > KILLS, "the test looked at {n_due} messages");
    let sessions = scratch.json(&["ls", "--json"]);
    assert!(sessions.iter().all(|session| session["end"] == "tap killed"));
}

#[test]
fn twenty_taps_at_once_on_a_new_database_lose_nothing() {
    const TAPS: usize = 20;
    const MESSAGES: usize = 3000;
    let scratch = Scratch::new();
    let input = lines(MESSAGES);
    std::thread::scope(|scope| {
        for number in 0..TAPS {
            let (scratch, input) = (&scratch, &input);
            scope.spawn(move || {
                let mut command = scratch.tap(["run", "--name"]);
                command.arg(format!("tap-{number}")).args(["--", "cat"]);
                let output = talk(command, input);
                same(&output.stdout, input);
                same(&output.stderr, b"");
            });
        }
        // And somebody who holds a read transaction open all the while.
        scope.spawn(|| {
            while !scratch.db().exists() {
                std::thread::yield_now();
            }
            let reader = rusqlite::Connection::open(scratch.db()).unwrap();
            let _ = reader.execute_batch("BEGIN; SELECT count(*) FROM sqlite_schema;");
            std::thread::sleep(Duration::from_millis(300)); // tidy: sleeps because a slow reader is what is tested.
        });
    });
    let sessions = scratch.json(&["ls", "--json"]);
    assert_eq!(sessions.len(), TAPS);
    for session in sessions {
        assert_eq!(session["messages"], 2 * MESSAGES, "{session}");
        assert_eq!(session["complete"], true, "{session}");
        same(&scratch.recorded_of(session["name"].as_str().unwrap(), "server"), &input);
    }
}

#[test]
fn what_is_recorded_is_its_owners_alone_and_holds_no_value_of_the_environment() {
    let scratch = Scratch::new();
    let mut tap = scratch.run(["cat"]);
    tap.env("API_TOKEN", "sk-not-to-be-found-anywhere");
    talk(tap, b"hello\n");
    let folder = scratch.db().parent().unwrap().to_path_buf();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    for file in std::fs::read_dir(&folder).unwrap().flatten() {
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{:?}", file.path());
        let bytes = std::fs::read(file.path()).unwrap();
        assert!(!bytes.windows(20).any(|window| window == b"not-to-be-found-anyw"), "{:?}", file.path());
    }
    let names = &scratch.session()["environment"];
    assert!(names.as_array().unwrap().iter().any(|name| name == "API_TOKEN"), "{names}");
}

#[test]
fn export_and_import_give_the_same_frames() {
    let scratch = Scratch::new();
    let script = r#"printf 'banner\r\n\n{"a":1e400,"a":"\\ud800"}\n[1, 2]\n\357\273\277{}\n\377\n'; printf 'to stderr \377' >&2; head -c 70000 /dev/zero | tr '\0' e >&2; cat; printf 'no end'"#;
    talk(scratch.run_sh(script), &lines(20));
    let first = scratch.path("first.jsonl");
    let output = scratch.tap(["export", "last", "-o"]).arg(&first).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let listed = |reference: &str| {
        let rows = scratch.json(&["log", "--frames", "--json", "-s", reference]);
        rows.into_iter()
            .map(|mut row| {
                row.as_object_mut().unwrap().retain(|key, _| key != "session" && key != "reference");
                row
            })
            .collect::<Vec<_>>()
    };
    // As a file, and in the database.
    assert_eq!(listed(first.to_str().unwrap()), listed("last"));
    assert!(scratch.tap(["import"]).arg(&first).status().unwrap().success());
    assert_eq!(listed("peer"), listed("peer.2"));
    let text = |reference: &str| {
        let output = scratch.tap(["export", reference]).output().unwrap().stdout;
        let lines: Vec<String> = String::from_utf8(output).unwrap().lines().skip(1).map(String::from).collect();
        lines
    };
    assert_eq!(text("peer"), text("peer.2"), "the text is the same but for the header's uuid");
    for to in ["server", "client", "stderr"] {
        assert_eq!(scratch.recorded_of("peer", to), scratch.recorded_of("peer.2", to));
    }
}

#[test]
fn a_long_line_has_its_length_also_when_it_was_looked_at_while_it_came() {
    let scratch = Scratch::new();
    let script = r#"printf '{"jsonrpc":"2.0","id":1,"result":"'
        i=0; while [ $i -lt 8 ]; do head -c 300000 /dev/zero | tr '\0' a; read line; i=$((i+1)); done; printf '"}\n'"#;
    let mut tap = scratch.run_sh(script).spawn().unwrap();
    let mut stdout = tap.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        stdout.read_to_end(&mut all).unwrap();
        all
    });
    let mut stdin = tap.stdin.take().unwrap();
    for round in 1..=8 {
        // Each look is another process, which takes over where the last one stood.
        let _ = talk(scratch.tap(["log", "--json"]), b"");
        let _ = talk(scratch.tap(["ls", "--json"]), b"");
        writeln!(stdin, "round {round}").unwrap();
    }
    drop(stdin);
    assert!(wait_for(&mut tap).success());
    let line = reader.join().unwrap();
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let answer = frames.iter().find(|frame| frame["kind"] == "result").unwrap();
    assert_eq!(answer["length_bytes"], line.len());
    same(&scratch.recorded("client"), &line);
}
