//! The recording is complete after a normal end, after SIGKILL, and beside twenty others; and when it cannot be made,
//! traffic does not notice.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Scratch, same, skip, talk, wait_for};

/// A conversation that is easy to check: so many lines, each of which `cat` gives back.
fn lines(count: usize) -> Vec<u8> {
    let line = |n| format!("{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"ping\",\"params\":{{\"n\":{n}}}}}\n");
    (1..=count).map(line).collect::<String>().into_bytes()
}

/// Runs `cat` under the tap on what is there, and checks that traffic is as it should be. Gives what stderr said.
#[track_caller]
fn traffic_is_untouched(scratch: &Scratch) -> String {
    let input = lines(200);
    let output = talk(scratch.run(["cat"]), &input);
    same(&output.stdout, &input);
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
}

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
            let mut numbers =
                whole.lines().map(|line| line.strip_prefix("message ").unwrap().parse::<usize>().unwrap());
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

/// Sessions recorded beside the database, because it could not be used.
fn beside(scratch: &Scratch) -> Vec<std::path::PathBuf> {
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let files = std::fs::read_dir(folder).unwrap().flatten().map(|entry| entry.path());
    files
        .filter(|path| {
            let name = path.file_name().unwrap().to_string_lossy();
            name.starts_with("tap-") && name.ends_with(".db")
        })
        .collect()
}

#[track_caller]
fn is_recorded_beside(scratch: &Scratch, database: &[u8], says: &str) {
    std::fs::create_dir_all(scratch.db().parent().unwrap()).unwrap();
    std::fs::write(scratch.db(), database).unwrap();
    let stderr = traffic_is_untouched(scratch);
    assert_eq!(stderr.lines().count(), 1, "one line tells: {stderr}");
    assert!(stderr.starts_with("mcp-tap: ") && stderr.contains(says), "{stderr}");
    assert_eq!(std::fs::read(scratch.db()).unwrap(), database, "the database was not touched");
    let [side] = beside(scratch).try_into().unwrap();
    assert!(stderr.contains(side.to_str().unwrap()), "{stderr}");
    same(&scratch.recorded_of(side.to_str().unwrap(), "server"), &lines(200));
}

/// A database with a table of somebody's in it, and a schema version.
fn database_with(application: i64, version: i64) -> Vec<u8> {
    let scratch = Scratch::new();
    let path = scratch.path("made.db");
    let made = rusqlite::Connection::open(&path).unwrap();
    made.execute_batch(&format!(
        "CREATE TABLE theirs (x); PRAGMA application_id = {application}; PRAGMA user_version = {version};"
    ))
    .unwrap();
    drop(made);
    std::fs::read(path).unwrap()
}

#[test]
fn a_database_of_a_newer_version_is_left_alone() {
    is_recorded_beside(&Scratch::new(), &database_with(0x6d74_6170, 999), "has schema 999");
}

#[test]
fn a_database_of_another_program_is_left_alone() {
    is_recorded_beside(&Scratch::new(), &database_with(0, 0), "another program");
}

#[test]
fn a_file_that_is_no_database_is_left_alone() {
    is_recorded_beside(&Scratch::new(), &[b'x'; 5000], "is not a database");
}

#[test]
fn a_database_that_is_damaged_in_the_middle_does_not_disturb_traffic() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), &lines(3000));
    rusqlite::Connection::open(scratch.db()).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    let mut bytes = std::fs::read(scratch.db()).unwrap();
    let middle = bytes.len() / 3;
    bytes[middle..].fill(0x5a);
    std::fs::write(scratch.db(), &bytes).unwrap();
    let _ = traffic_is_untouched(&scratch);
}

#[test]
fn a_locked_database_keeps_nothing_out() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let holder = rusqlite::Connection::open(scratch.db()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let stderr = traffic_is_untouched(&scratch);
    assert!(stderr.contains("the recording is kept in") && stderr.lines().count() == 1, "{stderr}");
    holder.execute_batch("ROLLBACK").unwrap();
    let session = scratch.session();
    assert_eq!((session["end"].as_str(), session["messages"].as_u64()), (Some("exited"), Some(400)), "{session}");
    same(&scratch.recorded("server"), &lines(200));
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let left = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().contains("spill"));
    assert_eq!(left.count(), 0, "the spill file was taken in");
}

#[test]
fn a_database_that_is_locked_for_a_while_gets_everything_when_it_is_free() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let holder = rusqlite::Connection::open(scratch.db()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut tap = scratch.run(["cat"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    // More than waits in memory, so that it has to be spilled: forty messages of a megabyte.
    let message = [vec![b'm'; 1_000_000], vec![b'\n']].concat();
    let expected = message.clone();
    let reader = std::thread::spawn(move || {
        let mut line = Vec::new();
        for _ in 0..40 {
            line.clear();
            stdout.read_until(b'\n', &mut line).unwrap();
            same(&line, &expected);
        }
    });
    for _ in 0..40 {
        stdin.write_all(&message).unwrap();
    }
    reader.join().unwrap();
    holder.execute_batch("ROLLBACK").unwrap();
    drop(stdin);
    assert!(wait_for(&mut tap).success());
    let session = scratch.session();
    assert_eq!((session["messages"].as_u64(), session["lost_bytes"].as_u64()), (Some(80), Some(0)), "{session}");
    same(&scratch.recorded("client"), &message.repeat(40));
}

#[test]
fn a_place_where_nothing_can_be_written_is_told_once_and_the_session_is_kept_elsewhere() {
    let scratch = Scratch::new();
    let mut tap = scratch.run(["cat"]);
    // Below a file there can be no folder; the temporary folder is ours.
    std::fs::write(scratch.path("file"), "").unwrap();
    let temporary = scratch.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    tap.env("MCP_TAP_DB", scratch.path("file").join("tap.db")).env("TMPDIR", &temporary);
    let input = lines(200);
    let output = talk(tap, &input);
    same(&output.stdout, &input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("cannot"), "{stderr}");
    let folder = std::fs::read_dir(&temporary).unwrap().flatten().next().expect("a folder of ours").path();
    assert_eq!(folder.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let side = std::fs::read_dir(folder)
        .unwrap()
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "db"));
    same(&scratch.recorded_of(side.unwrap().to_str().unwrap(), "server"), &input);
}

/// A small file system of its own, mounted for as long as the value lives.
struct Mounted<'a>(&'a Path);

impl<'a> Mounted<'a> {
    fn new(at: &'a Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }

    fn again(&self, options: &str) {
        assert!(Command::new("mount").args(["-o", options]).arg(self.0).status().unwrap().success());
    }
}

impl Drop for Mounted<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

#[test]
fn a_full_disk_does_not_disturb_traffic_and_what_was_recorded_stays_readable() {
    let scratch = Scratch::new();
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let Some(_mounted) = Mounted::new(&folder, "size=3m") else {
        return skip("full disk", "no small file system can be mounted here");
    };
    talk(scratch.run(["cat"]), &lines(50));
    let message = [vec![b'm'; 100_000], vec![b'\n']].concat();
    let input = message.repeat(60);
    let output = talk(scratch.run(["cat"]), &input);
    same(&output.stdout, &input);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.contains("the disk is full"), "{stderr}");
    assert!(stderr.lines().count() <= 2, "told once, and once more at the end: {stderr}");
    // The session before is whole.
    same(&scratch.recorded_of("peer.2", "server"), &lines(50));
    let kept = scratch.recorded_of("peer", "server");
    assert!(input.starts_with(&kept), "what is there of this one is its beginning: {} bytes", kept.len());
}

#[test]
fn a_disk_that_has_room_again_gets_the_rest_and_the_gap_is_known() {
    let scratch = Scratch::new();
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let Some(mounted) = Mounted::new(&folder, "size=2m") else {
        return skip("full disk with room again", "no small file system can be mounted here");
    };
    let mut tap = scratch.run(["cat"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let mut exchange = |message: &[u8]| {
        stdin.write_all(message).unwrap();
        let mut line = Vec::new();
        stdout.read_until(b'\n', &mut line).unwrap();
        same(&line, message);
    };
    // Far more than disk and memory hold together.
    let message = [vec![b'm'; 60_000], vec![b'\n']].concat();
    for _ in 0..1500 {
        exchange(&message);
    }
    mounted.again("remount,size=600m");
    // The recorder tries again every second, and when the session ends.
    let started = Instant::now();
    while started.elapsed() < Duration::from_millis(1500) {
        exchange(b"after\n");
        std::thread::sleep(Duration::from_millis(100)); // tidy: sleeps because the recorder waits a second.
    }
    drop(stdin);
    assert!(wait_for(&mut tap).success());
    let session = scratch.session();
    let lost = session["lost_bytes"].as_u64().unwrap();
    let kept: u64 = ["server", "client"].iter().map(|to| scratch.recorded(to).len() as u64).sum();
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let gaps: u64 = frames.iter().filter_map(|frame| frame["lost_bytes"].as_u64()).sum();
    assert_eq!(gaps, lost, "the gaps in the list are what the session says was lost");
    assert!(lost > 0 && session["complete"] == false, "{session}");
    assert!(kept > 0 && frames.last().unwrap()["length_bytes"] == 6, "and it goes on after the gap");
}

#[test]
fn a_read_only_disk_is_told_and_old_recordings_can_be_read_on_it() {
    let scratch = Scratch::new();
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let Some(mounted) = Mounted::new(&folder, "size=20m") else {
        return skip("read-only disk", "no small file system can be mounted here");
    };
    talk(scratch.run(["cat"]), &lines(200));
    mounted.again("remount,ro");
    let temporary = scratch.path("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut tap = scratch.run(["cat"]);
    tap.env("TMPDIR", &temporary);
    let output = talk(tap, &lines(200));
    same(&output.stdout, &lines(200));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write"), "{output:?}");
    assert_eq!(scratch.session()["messages"], 400);
    assert_eq!(scratch.json(&["log", "--json", "-n", "5"]).len(), 5);
    same(&scratch.recorded("client"), &lines(200));
}

#[test]
fn a_tap_that_is_killed_while_it_spills_leaves_what_it_spilled() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let holder = rusqlite::Connection::open(scratch.db()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut tap = scratch.run(["cat"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let message = [vec![b'm'; 100_000], vec![b'\n']].concat();
    let writer = {
        let message = message.clone();
        std::thread::spawn(move || {
            for _ in 0..100 {
                stdin.write_all(&message).unwrap();
            }
            stdin
        })
    };
    let mut line = Vec::new();
    for _ in 0..100 {
        line.clear();
        stdout.read_until(b'\n', &mut line).unwrap();
    }
    let _stdin = writer.join().unwrap();
    let folder = scratch.db().parent().unwrap().to_path_buf();
    let spilled = || {
        let files = std::fs::read_dir(&folder).unwrap().flatten();
        files
            .filter(|entry| entry.file_name().to_string_lossy().contains("spill"))
            .map(|entry| entry.metadata().unwrap().len())
            .sum::<u64>()
    };
    crate::support::wait_until("all is in the spill file", || spilled() > 2 * 100 * 100_000);
    tap.kill().unwrap();
    wait_for(&mut tap);
    holder.execute_batch("ROLLBACK").unwrap();
    same(&scratch.recorded("server"), &message.repeat(100));
    same(&scratch.recorded("client"), &message.repeat(100));
    assert_eq!(scratch.session()["end"], "tap killed");
}
