//! When the recording cannot be made as it should, traffic does not notice, the user is told, and what can be kept is.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Scratch, lines, same, skip, talk, wait_for};

/// Runs `cat` under the tap on what is there, and checks that traffic is as it should be. Gives what stderr said.
#[track_caller]
fn traffic_is_untouched(scratch: &Scratch) -> String {
    let input = lines(200);
    let output = talk(scratch.run(["cat"]), &input);
    same(&output.stdout, &input);
    assert!(output.status.success());
    String::from_utf8(output.stderr).unwrap()
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

/// Holds the lock for writing, until `ROLLBACK` or the end.
fn lock(scratch: &Scratch) -> rusqlite::Connection {
    let holder = rusqlite::Connection::open(scratch.db()).unwrap();
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    holder
}

#[test]
fn a_locked_database_keeps_nothing_out() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let holder = lock(&scratch);
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
    let holder = lock(&scratch);
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
    let holder = lock(&scratch);
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

#[test]
fn a_tap_that_is_killed_while_the_database_is_locked_leaves_what_passed() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let holder = lock(&scratch);
    let mut tap = scratch.run(["cat"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let mut line = String::new();
    let started = Instant::now();
    let mut due = 0;
    while started.elapsed() < Duration::from_millis(1200) {
        writeln!(stdin, "message").unwrap();
        line.clear();
        stdout.read_line(&mut line).unwrap();
        due += usize::from(started.elapsed() < Duration::from_millis(600));
        std::thread::sleep(Duration::from_millis(5)); // tidy: sleeps because this is a quiet conversation.
    }
    tap.kill().unwrap();
    wait_for(&mut tap);
    holder.execute_batch("ROLLBACK").unwrap();
    let n_recorded = String::from_utf8(scratch.recorded("client")).unwrap().lines().count();
    assert!(due > 20 && due <= n_recorded, "{due} were due, {n_recorded} are there");
}

#[test]
fn a_host_that_reads_no_stderr_cannot_keep_the_tap_when_there_is_something_to_tell() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), b"first\n");
    let _holder = lock(&scratch);
    let mut tap =
        scratch.run_sh("head -c 200000 /dev/zero | tr '\\0' e >&2; read line; sleep 2.5; exit 3").spawn().unwrap();
    let _unread = tap.stderr.take();
    tap.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(wait_for(&mut tap).code(), Some(3));
}

#[test]
fn what_was_recorded_can_be_read_while_the_database_is_locked() {
    let scratch = Scratch::new();
    talk(scratch.run(["cat"]), &lines(3000));
    let holder = lock(&scratch);
    assert_eq!(scratch.session()["messages"], 6000);
    assert_eq!(scratch.json(&["log", "--json", "-n", "5"]).len(), 5);
    drop(holder);
}
