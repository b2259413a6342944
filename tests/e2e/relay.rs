//! The relay is indistinguishable from the bare command: bytes, order, ends, exit codes, backpressure, environment.
//!
//! Where it can be, a test runs the bare command too and compares.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::prelude::*;

use crate::support::{LIMIT, Scratch, is_running, piped, same, talk, wait_for, wait_until};

/// A 200 MiB message, as the largest that anybody should have to think of.
const HUGE_BYTES: u64 = 200 * 1024 * 1024;

/// What the tap may take in memory while such a message passes.
const MEMORY_LIMIT_KIB: u64 = 96 * 1024;

#[track_caller]
fn check_bytes(input: &[u8]) {
    let scratch = Scratch::new();
    let output = talk(scratch.run(["cat"]), input);
    let show = |bytes: &[u8]| bytes.escape_ascii().to_string();
    assert_eq!(show(&output.stdout), show(input), "what came through");
    assert_eq!(show(&output.stderr), "");
    assert!(output.status.success());
    assert_eq!(show(&scratch.recorded("server")), show(input), "what was recorded to the server");
    assert_eq!(show(&scratch.recorded("client")), show(input), "what was recorded to the client");
}

#[test]
fn any_bytes_pass_and_are_recorded_as_they_are() {
    for input in [
        &b""[..],
        b"\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
        b"no newline at the end",
        b"one\r\ntwo\r\n",
        b"\xef\xbb\xbf{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
        b"not \xff\xfe UTF-8 \xc3\n",
        b"nul \0 inside\0\n\0",
        "separators \u{2028} and \u{85}\n".as_bytes(),
        b"\n\n \n\t\n",
        b"{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"result\": {}\n}\n",
        b"Server listening on stdio\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}{\"jsonrpc\"",
        br#"{ "id" : 1.0, "id":1, "x":[1e400, 12345678901234567890123, "\ud800", "\/"] , "method":"m"}"#,
        b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\"}, 7, []]\n",
        b"\x1b]0;title\x07\x1b[2J\n",
    ] {
        check_bytes(input);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn random_bytes_pass_and_are_recorded_as_they_are(input in prop::collection::vec(prop_oneof![any::<u8>(), Just(b'\n'), Just(b'"')], 0..3000)) {
        check_bytes(&input);
    }
}

#[test]
fn stderr_passes_byte_for_byte_and_nothing_of_ours_is_added() {
    let scratch = Scratch::new();
    let script = r"printf 'a\r\nb\0c\377' >&2; printf 'd\n\033[31m' >&2";
    let output = talk(scratch.run_sh(script), b"");
    let expected = b"a\r\nb\0c\xffd\n\x1b[31m";
    assert_eq!(output.stderr.escape_ascii().to_string(), expected.escape_ascii().to_string());
    same(&scratch.recorded("stderr"), expected);
    assert_eq!(output.stdout, b"");
}

#[test]
fn exit_codes_and_signals_are_passed_on() {
    for script in
        ["exit 0", "exit 1", "exit 42", "exit 255", "kill -SEGV $$", "kill -KILL $$", "kill -TERM $$", "kill -ABRT $$"]
    {
        let scratch = Scratch::new();
        let bare = Command::new("sh").args(["-c", script]).stderr(Stdio::null()).status().unwrap();
        let tapped = talk(scratch.run_sh(script), b"").status;
        assert_eq!(
            format!("{tapped:?}").replace("core dumped", ""),
            format!("{bare:?}").replace("core dumped", ""),
            "{script}"
        );
        let session = scratch.session();
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(session["exit_code"].as_i64(), bare.code().map(i64::from), "{script}");
        assert_eq!(session["signal"].as_i64(), bare.signal().map(i64::from), "{script}");
    }
}

#[test]
fn end_of_input_is_passed_on_and_late_answers_still_come() {
    let scratch = Scratch::new();
    let output = talk(scratch.run_sh("cat; sleep 0.4; echo late; exit 5"), b"question\n");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "question\nlate\n");
    assert_eq!(output.status.code(), Some(5));
}

#[test]
fn a_server_that_closes_stdout_and_lives_on_is_seen_to_do_so() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("echo last; exec 1>&-; read line; exit 7").spawn().unwrap();
    let mut stdout = String::new();
    // Returns at the end of stdout, while the server waits for a line.
    tap.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout, "last\n");
    assert!(tap.try_wait().unwrap().is_none(), "the tap is still there");
    tap.stdin.take().unwrap().write_all(b"go\n").unwrap();
    assert_eq!(wait_for(&mut tap).code(), Some(7));
}

#[test]
fn a_server_that_closes_stdin_breaks_the_pipe_for_the_host() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("exec 0<&-; echo closed; sleep 1000").spawn().unwrap();
    let mut stdout = BufReader::new(tap.stdout.take().unwrap());
    let mut line = String::new();
    stdout.read_line(&mut line).unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    wait_until("writing fails", || stdin.write_all(b"anybody there?\n").is_err());
    tap.kill().unwrap();
    wait_for(&mut tap);
}

#[test]
fn a_grandchild_that_keeps_the_pipes_open_does_not_keep_the_tap() {
    let scratch = Scratch::new();
    let started = Instant::now();
    let output = talk(scratch.run_sh("sleep 1000 & echo $!; exit 3"), b"");
    assert_eq!(output.status.code(), Some(3));
    assert!(started.elapsed() < Duration::from_secs(20), "ended soon, not with the grandchild");
    let grandchild: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().unwrap();
    assert!(is_running(grandchild), "it was the server's, and the bare command would have left it too");
    Command::new("kill").arg(grandchild.to_string()).status().unwrap();
}

#[test]
fn what_a_grandchild_says_at_the_end_still_arrives() {
    let scratch = Scratch::new();
    let output = talk(scratch.run_sh("(sleep 0.05; echo from the grandchild) & exit 0"), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "from the grandchild\n");
}

#[test]
fn a_server_that_fails_at_once_is_reported_while_stdin_is_still_open() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("echo 'API_KEY is not set' >&2; exit 42").spawn().unwrap();
    let _held = tap.stdin.take();
    assert_eq!(wait_for(&mut tap).code(), Some(42));
    let mut stderr = String::new();
    tap.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "API_KEY is not set\n");
    let session = scratch.session();
    assert_eq!((session["end"].as_str(), session["messages"].as_u64()), (Some("exited"), Some(0)));
    assert_eq!(scratch.recorded("stderr"), b"API_KEY is not set\n");
}

#[test]
fn a_server_that_dies_in_the_middle_of_an_answer_leaves_the_half_line() {
    let scratch = Scratch::new();
    let half = br#"{"jsonrpc":"2.0","id":2,"resu"#;
    let mut tap = scratch.run_sh(r#"read line; printf '{"jsonrpc":"2.0","id":2,"resu'; exit 3"#).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    stdin.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/list\"}\n").unwrap();
    let mut stdout = Vec::new();
    tap.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    assert_eq!(stdout, half);
    assert_eq!(wait_for(&mut tap).code(), Some(3));
    same(&scratch.recorded("client"), half);
    let calls = scratch.json(&["log", "--json"]);
    assert_eq!(calls[0]["status"], serde_json::Value::Null, "nothing was made up: {calls:?}");
}

#[test]
fn a_command_that_cannot_start_is_told_as_a_shell_would() {
    let scratch = Scratch::new();
    let plain = scratch.path("plain");
    std::fs::write(&plain, "x").unwrap();
    for (command, code, says) in [
        ("no-such-command-anywhere", 127, "no such program; PATH is "),
        ("/no/such/command", 127, "no such program"),
        (plain.to_str().unwrap(), 126, "ermission denied"),
    ] {
        let output = talk(scratch.run([command, "--flag"]), b"{}\n");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{stderr}");
        assert!(stderr.contains(says) && stderr.contains(command) && stderr.lines().count() == 1, "{stderr}");
        assert_eq!(output.stdout, b"");
        let session = scratch.session();
        assert_eq!(session["end"], "not started");
        assert!(session["why"].as_str().unwrap().contains(command));
    }
}

#[test]
fn the_server_gets_the_environment_the_folder_and_the_descriptors_that_it_would_have_had() {
    let scratch = Scratch::new();
    let script = "env | grep -v -e '^_=' -e '^SHLVL=' | sort; pwd; cat <&5";
    let given = scratch.path("given");
    std::fs::write(&given, "descriptor five\n").unwrap();
    let through = |program: &str| {
        // The shell opens descriptor 5 and then becomes what is tested, as a host that passes one on would.
        let mut command = Command::new("sh");
        command.args(["-c", &format!("exec 5<{}; exec {program}", given.display()), "sh", script]);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("ODD", "a=b\nc").current_dir("/");
        command.env("MCP_TAP_DB", scratch.db());
        talk(command, b"").stdout
    };
    let bare = through("sh -c \"$1\"");
    let tapped = through(&format!("{} run -- sh -c \"$1\"", crate::support::TAP));
    assert_eq!(String::from_utf8_lossy(&tapped), String::from_utf8_lossy(&bare));
    assert!(String::from_utf8_lossy(&bare).ends_with("/\ndescriptor five\n"));
}

#[test]
fn nothing_after_the_command_is_taken_for_an_option_of_ours() {
    let scratch = Scratch::new();
    for (arguments, expected) in [
        (&["--", "printf", "%s|", "--name", "x", "--", "-h"][..], "--name|x|--|-h|"),
        (&["printf", "%s|", "--name", "x", "--", "-h"], "--name|x|--|-h|"),
        (&["printf", "%s|", "--help", "-q", "--db", "y"], "--help|-q|--db|y|"),
        (&["--name", "n", "printf", "%s|", "-"], "-|"),
    ] {
        let mut tap = scratch.tap(["run"]);
        tap.args(arguments);
        let output = talk(tap, b"");
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{arguments:?}");
    }
}

#[test]
fn the_tap_can_be_taken_out_by_a_variable() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("cat; exit 4");
    tap.env("MCP_TAP_OFF", "1");
    let output = talk(tap, b"through\n");
    assert_eq!((output.stdout.as_slice(), output.status.code()), (&b"through\n"[..], Some(4)));
    assert!(!scratch.db().exists(), "nothing is recorded");
    let mut tap = scratch.run(["no-such-command"]);
    tap.env("MCP_TAP_OFF", "1");
    assert_eq!(talk(tap, b"").status.code(), Some(127));
}

/// The largest memory a process has had, KiB.
fn peak_memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

#[test]
fn a_huge_line_passes_in_bounded_memory_and_is_recorded_whole() {
    let scratch = Scratch::new();
    let script = format!("head -c {HUGE_BYTES} /dev/zero | tr '\\0' x; echo; head -c 1 >/dev/null");
    let mut tap = scratch.run_sh(&script).spawn().unwrap();
    let mut stdout = tap.stdout.take().unwrap();
    let (mut n_bytes, mut buffer) = (0u64, vec![0; 1 << 16]);
    while n_bytes <= HUGE_BYTES {
        let n = stdout.read(&mut buffer).unwrap();
        assert!(n > 0 && buffer[..n].iter().all(|byte| *byte == b'x' || *byte == b'\n'));
        n_bytes += n as u64;
    }
    let peak_kib = peak_memory_kib(tap.id());
    assert!(0 < peak_kib && peak_kib < MEMORY_LIMIT_KIB, "{peak_kib} KiB");
    tap.stdin.take().unwrap().write_all(b"x").unwrap();
    assert!(wait_for(&mut tap).success());
    let frames = scratch.json(&["log", "--frames", "--json"]);
    let lengths: Vec<u64> = frames.iter().map(|frame| frame["length_bytes"].as_u64().unwrap()).collect();
    assert!(lengths.contains(&(HUGE_BYTES + 1)), "{lengths:?}");
    assert_eq!(scratch.session()["lost_bytes"], 0);
}

#[test]
fn a_huge_line_to_the_server_passes_too() {
    let scratch = Scratch::new();
    let mut tap = scratch.run(["wc", "-c"]).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    let block = vec![b'y'; 1 << 20];
    for _ in 0..HUGE_BYTES >> 20 {
        stdin.write_all(&block).unwrap();
    }
    let peak_kib = peak_memory_kib(tap.id());
    assert!(0 < peak_kib && peak_kib < MEMORY_LIMIT_KIB, "{peak_kib} KiB");
    drop(stdin);
    let mut stdout = String::new();
    tap.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    assert_eq!(stdout.trim(), HUGE_BYTES.to_string());
    assert!(wait_for(&mut tap).success());
    let session = scratch.session();
    assert_eq!((session["lost_bytes"].as_u64(), session["messages"].as_u64()), (Some(0), Some(2)));
}

#[test]
fn a_host_that_stops_reading_makes_the_server_wait_and_loses_nothing() {
    let scratch = Scratch::new();
    let progress = scratch.path("progress");
    // Blocks of 1 MB, each counted in a file once it was taken.
    let script = format!(
        "i=0; while [ $i -lt 60 ]; do head -c 999999 /dev/zero | tr '\\0' z; echo; i=$((i+1)); echo $i > {}; done",
        progress.display()
    );
    let mut tap = scratch.run_sh(&script).spawn().unwrap();
    let done = || std::fs::read_to_string(&progress).ok().and_then(|text| text.trim().parse::<u32>().ok()).unwrap_or(0);
    // Not one block fits into the pipes, so the server cannot finish one while nobody reads. The other direction flows.
    tap.stdin.as_mut().unwrap().write_all(&vec![b'q'; 30_000]).unwrap();
    let watched = Instant::now();
    while watched.elapsed() < Duration::from_millis(700) {
        assert_eq!(done(), 0, "the server was not made to wait");
        std::thread::sleep(Duration::from_millis(50)); // tidy: sleeps because it watches that nothing happens.
    }
    assert!(peak_memory_kib(tap.id()) < MEMORY_LIMIT_KIB);
    let mut stdout = Vec::new();
    tap.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
    assert_eq!(stdout.len(), 60_000_000);
    assert!(wait_for(&mut tap).success());
    assert_eq!(scratch.session()["messages"], 61);
    assert_eq!(scratch.session()["lost_bytes"], 0);
}

#[test]
fn a_host_that_closes_its_reading_end_ends_the_server() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("while echo tick; do sleep 0.005; done 2>/dev/null").spawn().unwrap();
    let mut stdout = tap.stdout.take().unwrap();
    stdout.read_exact(&mut [0; 5]).unwrap();
    drop(stdout);
    // stdin stays open all the time.
    let status = wait_for(&mut tap);
    assert!(!format!("{status:?}").is_empty());
    let mut stderr = String::new();
    tap.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(stderr, "", "no panic, no message");
    assert!(scratch.recorded("client").starts_with(b"tick\n"));
}

#[test]
fn a_flood_on_stderr_that_nobody_reads_does_not_stop_the_answer() {
    let scratch = Scratch::new();
    let script = "head -c 2000000 /dev/zero | tr '\\0' e >&2; read line; echo \"$line\"; read line";
    let mut tap = scratch.run_sh(script).spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    stdin.write_all(b"hello\n").unwrap();
    let mut line = String::new();
    BufReader::new(tap.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "hello\n", "came while two million bytes of stderr lay unread");
    stdin.write_all(b"bye\n").unwrap();
    let mut stderr = Vec::new();
    tap.stderr.take().unwrap().read_to_end(&mut stderr).unwrap();
    assert_eq!(stderr.len(), 2_000_000);
    wait_for(&mut tap);
    assert_eq!(scratch.recorded("stderr").len(), 2_000_000);
}

#[test]
fn both_directions_flow_at_once_with_messages_larger_than_any_pipe() {
    let scratch = Scratch::new();
    let line = |byte: u8| [vec![byte; 3_000_000], vec![b'\n']].concat();
    // The server writes two large lines before it reads anything; the host writes two before it reads anything.
    let script = "for i in 1 2; do head -c 3000000 /dev/zero | tr '\\0' s; echo; done; cat > /dev/null";
    let output = talk(scratch.run_sh(script), &[line(b'c'), line(b'c')].concat());
    same(&output.stdout, &[line(b's'), line(b's')].concat());
    same(&scratch.recorded("server"), &[line(b'c'), line(b'c')].concat());
}

#[test]
fn a_server_that_ignores_end_of_input_is_left_to_the_host_as_without_a_tap() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("echo $$; while :; do sleep 0.05; done").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(tap.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let server: u32 = line.trim().parse().unwrap();
    drop(tap.stdin.take());
    let watched = Instant::now();
    while watched.elapsed() < Duration::from_millis(500) {
        assert!(tap.try_wait().unwrap().is_none() && is_running(server), "nobody was asked to end");
        std::thread::sleep(Duration::from_millis(20)); // tidy: sleeps because it watches that nothing happens.
    }
    Command::new("kill").arg(tap.id().to_string()).status().unwrap();
    let status = wait_for(&mut tap);
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(status.signal(), Some(15), "as the server ended");
    wait_until("the server is gone", || !is_running(server));
}

#[test]
fn a_host_that_never_reads_the_end_does_not_keep_the_tap_for_ever() {
    let scratch = Scratch::new();
    // However large the pipes are, the host's is full when the server dies, and the tap has more for it.
    let script = "head -c 1000000 /dev/zero & sleep 0.3; kill -9 $$";
    let mut tap = piped(scratch.run_sh(script)).spawn().unwrap();
    let _unread = (tap.stdout.take(), tap.stdin.take(), tap.stderr.take());
    let started = Instant::now();
    wait_for(&mut tap);
    assert!(started.elapsed() < LIMIT);
}

#[test]
fn what_was_sent_to_a_server_that_hangs_is_recorded_while_it_hangs() {
    let scratch = Scratch::new();
    let mut tap = scratch.run_sh("sleep 1000").spawn().unwrap();
    let mut stdin = tap.stdin.take().unwrap();
    // More than the pipes hold, so that a write is stuck; and what came before is what one wants to see.
    let line = [vec![b'h'; 20_000], vec![b'\n']].concat();
    let writer = std::thread::spawn(move || {
        for _ in 0..100 {
            if stdin.write_all(&line).is_err() {
                return;
            }
            std::thread::sleep(Duration::from_millis(5)); // tidy: sleeps because quiet spells are what is tested.
        }
    });
    wait_until("more is recorded than the server's pipe holds", || {
        scratch.db().exists()
            && talk(scratch.tap(["ls", "--json"]), b"").stdout.len() > 10
            && scratch.recorded("server").len() > 70_000
    });
    tap.kill().unwrap();
    wait_for(&mut tap);
    writer.join().unwrap();
}

#[test]
fn a_host_that_reads_slowly_gets_all_of_it_after_the_server_has_ended() {
    let scratch = Scratch::new();
    let script = "head -c 1500000 /dev/zero | tr '\\0' e >&2; head -c 120000 /dev/zero | tr '\\0' o";
    let mut tap = scratch.run_sh(script).spawn().unwrap();
    let slowly = |mut stream: Box<dyn Read + Send>, part: usize| {
        std::thread::spawn(move || {
            let (mut n_bytes, mut buffer) = (0, vec![0; part]);
            loop {
                match stream.read(&mut buffer).unwrap() {
                    0 => return n_bytes,
                    n => n_bytes += n,
                }
                std::thread::sleep(Duration::from_millis(20)); // tidy: sleeps because a slow reader is what is tested.
            }
        })
    };
    let stderr = slowly(Box::new(tap.stderr.take().unwrap()), 16_000);
    let stdout = slowly(Box::new(tap.stdout.take().unwrap()), 2_000);
    assert_eq!(stderr.join().unwrap(), 1_500_000);
    assert_eq!(stdout.join().unwrap(), 120_000);
    assert!(wait_for(&mut tap).success());
}

#[test]
fn a_host_that_blocks_all_signals_does_not_make_the_tap_wait_for_a_grandchild() {
    use std::os::unix::process::CommandExt;
    let scratch = Scratch::new();
    let mut command = scratch.run_sh("sleep 30 & exit 0");
    // SAFETY: one system call between fork and exec.
    unsafe {
        command.pre_exec(|| Ok(nix::sys::signal::SigSet::all().thread_block()?));
    }
    let started = Instant::now();
    assert!(talk(command, b"").status.success());
    assert!(started.elapsed() < Duration::from_secs(20));
}
