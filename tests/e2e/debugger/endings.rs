//! However a tap, its client, its server or its viewers end: what was held is not lost, and nothing is left behind.

use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use super::*;
use crate::support::is_running;

#[test]
fn what_is_held_goes_on_when_the_client_closes_its_stream() {
    let scratch = Scratch::new();
    let mut input = request(1, "x", "{}").into_bytes();
    input.extend_from_slice(b"\nno end of the line");
    let output = talk(scratch.tap(["run", "--break", "is:c2s", "--hold-timeout", "never", "--", "cat"]), &input);
    same(&output.stdout, &input);
}

#[test]
fn what_is_held_goes_on_when_the_server_ends() {
    let scratch = Scratch::new();
    let script = "echo one; echo two; exit 3";
    let output =
        talk(scratch.tap(["run", "--break", "is:s2c", "--hold-timeout", "never", "--", "sh", "-c", script]), b"");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn what_is_delayed_goes_on_before_the_end() {
    let scratch = Scratch::new();
    let output = talk(scratch.tap(["run", "--fault", "is:c2s -> delay:200ms", "--", "cat"]), &lines(20));
    same(&output.stdout, &lines(20));
}

#[test]
fn what_is_held_for_a_server_that_ends_is_dropped_and_nobody_waits() {
    let scratch = Scratch::new();
    let script = "IFS= read -r line; exit 4";
    let mut live = Live::start(&scratch, &["--break", "id:1", "--hold-timeout", "never"], &["sh", "-c", script]);
    live.send(&request(1, "x", "{}"));
    live.held(1);
    live.send(&request(2, "x", "{}"));
    assert_eq!(wait_for(&mut live.tap).code(), Some(4));
}

#[test]
fn a_tap_that_is_told_to_end_lets_go_first() {
    let scratch = Scratch::new();
    let script = "trap 'IFS= read -r line; echo \"got $line\"; exit 5' TERM; while :; do sleep 0.02; done";
    let mut live = Live::start(&scratch, &["--break", "is:c2s", "--hold-timeout", "never"], &["sh", "-c", script]);
    live.send(&request(1, "x", "{}"));
    live.held(1);
    assert!(Command::new("kill").arg(live.tap.id().to_string()).status().unwrap().success());
    assert_eq!(live.line(), format!("got {}", request(1, "x", "{}")));
    assert_eq!(wait_for(&mut live.tap).code(), Some(5));
}

#[test]
fn a_tap_that_is_killed_while_it_holds_leaves_no_orphan_and_its_socket_is_cleared_away() {
    let scratch = Scratch::new();
    let script = "trap '' HUP INT TERM PIPE; echo pid $$; while :; do sleep 0.05; done";
    let mut live = Live::start(&scratch, &["--break", "is:c2s", "--hold-timeout", "never"], &["sh", "-c", script]);
    let pid: u32 = live.line().strip_prefix("pid ").unwrap().parse().unwrap();
    live.send(&request(1, "x", "{}"));
    live.held(1);
    live.tap.kill().unwrap();
    assert_eq!(wait_for(&mut live.tap).signal(), Some(9));
    wait_until("the server is gone", || !is_running(pid));
    let sockets = || std::fs::read_dir(scratch.path("mcp-tap")).unwrap().count();
    assert_eq!(sockets(), 1, "nobody was there to remove it");
    assert_eq!(live.json(&["taps", "--json"]), [json!(null); 0]);
    assert_eq!(sockets(), 0);
}

#[test]
fn a_tap_that_ends_removes_its_socket_which_nobody_else_can_use() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    let live = Live::start(&scratch, &[], &["cat"]);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = scratch.path("mcp-tap");
    let socket = std::fs::read_dir(&folder).unwrap().next().unwrap().unwrap().path();
    assert_eq!((mode(&folder), mode(&socket)), (0o700, 0o600));
    live.end();
    assert!(!socket.exists());
}

#[test]
fn without_a_place_for_the_socket_traffic_goes_on() {
    use std::os::unix::fs::PermissionsExt;
    let scratch = Scratch::new();
    std::fs::create_dir(scratch.path("mcp-tap")).unwrap();
    std::fs::set_permissions(scratch.path("mcp-tap"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let output = talk(scratch.run(["cat"]), &lines(10));
    same(&output.stdout, &lines(10));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "a host may take anything on stderr for an error");
    let refused = scratch.tap(["taps"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8(refused.stderr).unwrap().contains("others can look into it"));
}

#[test]
fn a_host_that_does_not_read_holds_up_neither_the_socket_nor_the_other_direction() {
    let scratch = Scratch::new();
    // The server writes far more than a pipe takes, and the host reads none of it; what it sends is still judged.
    let script = "head -c 3000000 /dev/zero | tr '\\0' '\\n' & cat > \"$0\"";
    let file = scratch.path("got");
    let mut live = Live::start(&scratch, &["--break", "id:1"], &["sh", "-c", script, file.to_str().unwrap()]);
    live.send(&request(1, "x", "{}"));
    live.held(1);
    live.done(&["release", "1"]);
    wait_until("the server has it", || std::fs::read_to_string(&file).is_ok_and(|got| got.contains("\"id\":1")));
    let reader = {
        let mut stdout = std::mem::replace(
            &mut live.stdout,
            BufReader::new(piped(Command::new("true")).spawn().unwrap().stdout.unwrap()),
        );
        std::thread::spawn(move || {
            let mut all = Vec::new();
            stdout.read_to_end(&mut all).unwrap();
            all.len()
        })
    };
    live.end();
    assert_eq!(reader.join().unwrap(), 3_000_000);
}
