//! A playback over HTTP for several clients: misses, and one report of all of them.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::{SAID, recorded, text};
use crate::support::{Scratch, piped, wait_for};

/// A client that posts a message in a connection of its own, and reads the head and the body of the answer.
fn post(address: &str, session: Option<&str>, message: &str) -> (String, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let session = session.map(|session| format!("Mcp-Session-Id: {session}\r\n")).unwrap_or_default();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\n{session}Connection: close\r\nContent-Length: {}\r\n\r\n",
        message.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(message.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Opens a session: its id.
fn open(address: &str) -> String {
    let (head, body) = post(address, None, SAID.lines().next().unwrap());
    assert!(body.contains("serverInfo"), "{head}\n{body}");
    let id = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    let id = id.unwrap_or_else(|| panic!("no session: {head}"));
    post(address, Some(&id), SAID.lines().nth(1).unwrap());
    id
}

/// Plays a fixture over HTTP to `clients`: the exit code with `--strict`, the report, and what was told.
fn served(options: &[&str], clients: impl FnOnce(&str)) -> (Option<i32>, Value, String) {
    let scratch = Scratch::new();
    let fixture = recorded(&scratch)[1].clone();
    let report = scratch.path("report.json");
    let words = ["replay", &fixture, "--http", "127.0.0.1:0", "--strict", "--report", report.to_str().unwrap()];
    let mut child = piped(scratch.tap(words.iter().chain(options))).spawn().unwrap();
    let mut stderr = child.stderr.take().unwrap();
    let mut said = Vec::new();
    let address = loop {
        let mut byte = [0];
        assert_eq!(stderr.read(&mut byte).unwrap(), 1, "{}", text(&said));
        said.extend(byte);
        let line = text(&said);
        if let Some((_, rest)) = line.split_once("http://")
            && let Some((address, _)) = rest.split_once("/mcp")
        {
            break address.to_owned();
        }
    };
    let reader = std::thread::spawn(move || {
        let _ = stderr.read_to_end(&mut said);
        text(&said)
    });
    clients(&address);
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).unwrap();
    let code = wait_for(&mut child).code();
    (code, serde_json::from_slice(&fs::read(report).unwrap()).unwrap(), reader.join().unwrap())
}

#[test]
fn several_clients_have_one_report() {
    let (slow, quick) = (SAID.lines().nth(2).unwrap(), SAID.lines().nth(3).unwrap());
    // Each asked for a part, and together they asked for all.
    let (code, report, told) = served(&[], |address| {
        let (one, other) = (open(address), open(address));
        assert!(post(address, Some(&one), slow).1.contains("1.0"));
        assert!(post(address, Some(&other), quick).1.contains("content"));
    });
    assert_eq!((code, &report["clean"], &report["sessions"]), (Some(0), &json!(true), &json!(2)), "{told}\n{report:#}");
    assert_eq!((report["asked"].as_array().unwrap().len(), &report["unused"]), (4, &json!([])));
    assert!(!told.contains("nobody made"), "{told}");
}

#[test]
fn what_is_missed_or_left_over_is_told_as_on_stdio() {
    let quick = SAID.lines().nth(3).unwrap();
    let (code, report, told) = served(&[], |address| {
        let session = open(address);
        let (_, body) = post(address, Some(&session), &quick.replace("noon", "night"));
        assert!(body.contains("-31001") && body.contains("--ignore arg.at"), "{body}");
    });
    assert_eq!((code, &report["clean"], &report["n_misses"]), (Some(1), &json!(false), &json!(1)));
    assert_eq!(report["misses"][0]["accepted_by"][0], "--ignore arg.at");
    assert_eq!(report["n_unused"], 2);
    for part in ["no recorded answer for #3  tools/call quick", "--ignore arg.at", "2 recorded requests nobody made"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    // In strict order the second call is not the next one.
    let (code, report, _) = served(&["--order", "strict"], |address| {
        let session = open(address);
        let (_, body) = post(address, Some(&session), quick);
        assert!(body.contains("out of order"), "{body}");
    });
    assert_eq!((code, &report["misses"][0]["reason"]), (Some(1), &json!("out of order")));
    // Nobody came.
    let (code, report, told) = served(&[], |_| {});
    assert_eq!((code, &report["sessions"]), (Some(1), &json!(0)), "{told}");
    assert!(told.contains("no client came"), "{told}");
}
