//! A stdio host before servers that do what they should not.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Scratch, piped, talk, wait_for};

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"ping\"}\n";

/// A server that answers every request with these bytes, and closes.
fn answers(bytes: &'static [u8]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(stream);
            let (mut line, mut length) = (String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|n_bytes| n_bytes > 2) {
                let field = line.to_ascii_lowercase();
                if let Some(value) = field.strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                line.clear();
            }
            let _ = reader.read_exact(&mut vec![0; length]);
            let _ = reader.get_mut().write_all(bytes);
        }
    });
    address
}

fn bridge(scratch: &Scratch, url: &str) -> Command {
    scratch.tap(["proxy", "--stdio", url])
}

#[test]
fn what_a_server_does_wrong_is_told_to_the_host() {
    let scratch = Scratch::new();
    for (bytes, expected) in [
        (
            &b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\n<h1>down</h1>"[..],
            "HTTP 502: <h1>down</h1>",
        ),
        (
            b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Bearer scope=\"x\"\r\nContent-Length: 0\r\n\r\n",
            r#"HTTP 401, WWW-Authenticate: Bearer scope=\"x\""#,
        ),
        (b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n", "HTTP 403"),
        (
            b"HTTP/1.1 307 Temporary Redirect\r\nLocation: https://elsewhere.example/mcp\r\nContent-Length: 0\r\n\r\n",
            "points to https://elsewhere.example/mcp",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{\"jsonrpc\"",
            "the answer broke off",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\ndata:",
            "the answer broke off",
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\nzzz\r\n",
            "the answer broke off",
        ),
        (b"", "the server closed the connection before it answered"),
    ] {
        let output = talk(bridge(&scratch, &format!("http://{}/mcp", answers(bytes))), PING.as_bytes());
        let told = String::from_utf8(output.stdout).unwrap();
        // Who asked gets it all, and nobody else.
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
        assert!(told.starts_with(r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32603,"message":"mcp-tap: "#), "{told}");
        assert!(told.contains(expected), "{told} for {expected}");
    }
}

#[test]
fn no_secret_of_the_servers_is_on_stderr() {
    let scratch = Scratch::new();
    let refusal = b"HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Negotiate s3cr3t\r\nLocation: https://x.example/?code=s3cr3t\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\ns3cr3t";
    let stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: s3cr3t\n\ndata: s3cr3t\n\n";
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/x"}"#;
    for (answer, said) in [
        (&refusal[..], "mcp-tap: a notification or an answer of the host's was not taken by the server (HTTP 401)\n"),
        (stream, "mcp-tap: an event of the server's is no JSON, and was dropped\n"),
    ] {
        let input = format!("{notification}\n").repeat(4);
        let output = talk(bridge(&scratch, &format!("http://{}/mcp", answers(answer))), input.as_bytes());
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.starts_with(said) && !stderr.contains("s3cr3t"), "{stderr}");
        // Each once, and how often it was.
        assert_eq!(stderr.lines().count(), 2, "{stderr}");
        let n_times = if answer == stream { 8 } else { 4 };
        assert!(stderr.ends_with(&format!(": {n_times} times in all\n")), "{stderr}");
    }
}

#[test]
fn a_server_that_closes_connections_while_they_are_idle_loses_no_request() {
    let scratch = Scratch::new();
    // It does not say that it will close.
    let body = r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#;
    let answer =
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len());
    let url = format!("http://{}/mcp", answers(answer.leak().as_bytes()));
    let mut host = piped(bridge(&scratch, &url)).spawn().unwrap();
    let mut answers = BufReader::new(host.stdout.take().unwrap());
    for _ in 0..100 {
        host.stdin.as_mut().unwrap().write_all(PING.as_bytes()).unwrap();
        let mut line = String::new();
        answers.read_line(&mut line).unwrap();
        assert_eq!(line.trim_end(), body);
    }
    drop(host.stdin.take());
    assert_eq!(wait_for(&mut host).code(), Some(0));
    // How long it took to connect is recorded.
    assert!(scratch.tap(["ls"]).output().unwrap().status.success());
    let database = rusqlite::Connection::open(scratch.db()).unwrap();
    let n_connects: u32 = database.query_row("SELECT count(connect_ns) FROM exchange", [], |row| row.get(0)).unwrap();
    assert_eq!(n_connects, 100);
}

#[test]
fn a_server_that_is_not_there_is_told_to_the_host() {
    let scratch = Scratch::new();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let output = talk(bridge(&scratch, &format!("http://{address}/mcp")), PING.as_bytes());
    let told = String::from_utf8(output.stdout).unwrap();
    assert!(told.contains("Connection refused"), "{told}");
}

#[test]
fn a_message_over_several_lines_comes_on_one() {
    let scratch = Scratch::new();
    let stream = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n: comment\r\ndata: {\"id\":1.0,\r\ndata:  \"result\":{\"text\":\"\xc3\xa9\\n\"}}\r\n\r\n";
    let output = talk(bridge(&scratch, &format!("http://{}/mcp", answers(stream))), PING.as_bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{\"id\":1.0,  \"result\":{\"text\":\"é\\n\"}}\n");
    let body = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 31\r\n\r\n{\n  \"id\": 1.0,\n  \"result\": {}\n}";
    let output = talk(bridge(&scratch, &format!("http://{}/mcp", answers(body))), PING.as_bytes());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "{   \"id\": 1.0,   \"result\": {} }\n");
}

#[test]
fn a_bridge_that_is_told_to_stop_does_so_at_once() {
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP] {
        let scratch = Scratch::new();
        // A server that takes connections and says nothing.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let mut host = piped(bridge(&scratch, &url)).spawn().unwrap();
        host.stdin.as_mut().unwrap().write_all(PING.as_bytes()).unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        stream.read_exact(&mut [0; 4]).unwrap();
        kill(Pid::from_raw(host.id().cast_signed()), signal).unwrap();
        let started = std::time::Instant::now();
        assert_eq!(wait_for(&mut host).code(), Some(0));
        assert!(started.elapsed().as_secs() < 2, "{:?}", started.elapsed());
    }
}
