//! Servers of HTTP hosts: who uses them, and when they end for that.

use std::fs;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use nix::sys::signal::{Signal, kill};

use super::raw::{GET, post, send};
use super::{INITIALIZE, begin, pids, serve, witness};
use crate::support::{Scratch, is_running, wait_for, wait_until};

const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;

fn ping(to: SocketAddr, session: &str) -> u16 {
    post(to, &[("Mcp-Session-Id", session)], PING).status
}

#[test]
fn a_server_that_talks_to_nobody_is_no_session_in_use() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    // The first server talks all the time, the others answer and are quiet.
    let script = format!(
        r#"echo $$ >> {file}.pids
        read -r line; printf '{{"jsonrpc":"2.0","id":0,"result":{{}}}}\n'
        if mkdir {file}.first 2>/dev/null; then
            while :; do printf '{{"jsonrpc":"2.0","method":"notifications/message"}}\n' || exit; echo x >> {file}; sleep 0.01; done
        fi
        while read -r line; do printf '{{"jsonrpc":"2.0","id":1,"result":{{}}}}\n'; done"#
    ); // tidy: sleeps because a server that talks all the time shall not fill the disk.
    let server = serve(&scratch, &["--sessions", "2"], &["sh", "-c", &script]);
    let to = server.address();
    let _talks = begin(to);
    let quiet = begin(to);
    assert_eq!(ping(to, &quiet), 200);
    let n_said = || fs::read_to_string(&file).unwrap_or_default().lines().count();
    let before = n_said();
    wait_until("it has talked on", || before + 20 < n_said());
    begin(to);
    assert_eq!(ping(to, &quiet), 200, "the session in use was ended");
    wait_until("the server that talks is gone", || !is_running(pids(&file)[0]));
    server.stop();
}

#[test]
fn clients_that_leave_at_once_leave_no_server() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let server = serve(&scratch, &[], &command.iter().map(String::as_str).collect::<Vec<_>>());
    let to = server.address();
    let initialize = format!(
        "POST /mcp HTTP/1.1\r\nHost: {to}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n\r\n{INITIALIZE}",
        INITIALIZE.len()
    );
    let old = format!("GET /sse HTTP/1.1\r\nHost: {to}\r\nAccept: text/event-stream\r\n\r\n");
    for request in [&old, &initialize].repeat(15) {
        TcpStream::connect(to).unwrap().write_all(request.as_bytes()).unwrap();
    }
    let session = begin(to);
    let tap = server.process.pid();
    let n_children = || {
        // Threads start them.
        let tasks = fs::read_dir(format!("/proc/{tap}/task")).unwrap().filter_map(Result::ok);
        let children = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
        children.map(|children| children.split_whitespace().count()).sum::<usize>()
    };
    wait_until("only the server of the one who stayed is left, and no dead one", || n_children() == 1);
    assert_eq!(ping(to, &session), 200);
    server.stop();
    assert!(!pids(&file).into_iter().any(is_running));
}

#[test]
fn there_are_never_more_sessions_than_there_may_be() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    // It never answers, so that no session is quiet.
    let script = format!("echo $$ >> {file}.pids; cat > /dev/null");
    let server = serve(&scratch, &["--sessions", "2"], &["sh", "-c", &script]);
    let to = server.address();
    let (refused, told) = std::sync::mpsc::channel();
    for _ in 0..12 {
        let refused = refused.clone();
        std::thread::spawn(move || {
            let answer = post(to, &[], INITIALIZE);
            let _ = refused.send(answer.status);
        });
    }
    for _ in 0..10 {
        assert_eq!(told.recv_timeout(crate::support::LIMIT).unwrap(), 503);
    }
    wait_until("both servers have started", || pids(&file).len() == 2);
    server.stop();
    assert_eq!(pids(&file).len(), 2);
}

#[test]
fn what_is_open_at_the_end_has_no_end_in_the_recording() {
    let scratch = Scratch::new();
    let server = serve(&scratch, &[], &[&super::echo_server()]);
    let to = server.address();
    let session = begin(to);
    let stream = send(to, "GET /mcp", &[GET, &[("Mcp-Session-Id", session.as_str())]].concat(), b"");
    assert_eq!(stream.status, 200);
    server.stop();
    drop(stream);
    assert!(scratch.tap(["ls"]).output().unwrap().status.success());
    let database = rusqlite::Connection::open(scratch.db()).unwrap();
    let mut query = database.prepare("SELECT verb, end_code FROM exchange ORDER BY number").unwrap();
    let ends = query.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, Option<u8>>(1)?))).unwrap();
    let ends: Vec<_> = ends.map(Result::unwrap).collect();
    assert_eq!(ends, [("POST".to_owned(), Some(tap_frame::HttpEnd::Whole.code())), ("GET".to_owned(), None)]);
}

#[test]
fn a_terminal_that_is_closed_ends_a_bridge_and_its_servers() {
    let scratch = Scratch::new();
    let file = scratch.path("seen").to_str().unwrap().to_owned();
    let command = witness(&file);
    let mut server = serve(&scratch, &[], &command.iter().map(String::as_str).collect::<Vec<_>>());
    begin(server.address());
    kill(server.process.pid(), Signal::SIGHUP).unwrap();
    assert_eq!(wait_for(server.process.child()).code(), Some(0));
    assert!(!pids(&file).into_iter().any(is_running));
    let session = scratch.session();
    assert_eq!((&session["end"], &session["complete"]), (&"stopped".into(), &true.into()), "{session}");
}
