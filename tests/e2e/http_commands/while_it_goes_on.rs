//! Looking at a recording while the proxy goes on.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::peers::{Proxy, Server, read_until};
use super::{call, first_session, initialize, legacy, of, stdout};
use crate::support::{Scratch, talk, wait_for, wait_until};

/// How many calls are listed that the server broke off.
fn n_broken(scratch: &Scratch) -> usize {
    let log = talk(scratch.tap(["log"]), b"");
    String::from_utf8_lossy(&log.stdout).matches("server broke off").count()
}

#[test]
fn log_follows_what_comes_over_http() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.post("", &initialize("editor"), 200);
    wait_until("the first message is recorded", || {
        let ls = talk(scratch.tap(["ls", "--json"]), b"");
        serde_json::from_slice::<Value>(&ls.stdout).is_ok_and(|session| session["messages"] == 2)
    });
    let mut follower = scratch.tap(["log", "-f"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut next = |wanted: &str| {
        let line = lines.next().unwrap().unwrap();
        let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(wanted), "{wanted}: {line}");
    };
    next("initialize ok");
    proxy.post(&of(1), &call(1, "find"), 200);
    next("tools/call find ok");
    proxy.post(&of(1), &call(2, "gone"), 404);
    next("tools/call gone HTTP 404");
    proxy.ask("GET", "/mcp", &of(1), "", 405);
    next("GET /mcp HTTP 405");
    proxy.post(&of(1), &call(3, "broken"), 200);
    next("tools/call broken server broke off");
    let mut open = proxy.begin("GET", "/mcp", &of(2), "");
    read_until(&mut open, "list_changed");
    next("GET /mcp HTTP 200, open");
    drop(open);
    proxy.stop();
    assert_eq!(wait_for(&mut follower).code(), Some(0));
}

#[test]
fn calls_that_ended_long_ago_are_not_behind_the_newest() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    proxy.post("", &initialize("editor"), 200);
    for id in 1..=3 {
        proxy.post(&of(1), &call(id, "broken"), 200);
    }
    proxy.post(&of(1), &call(4, "find"), 200);
    wait_until("all of it is recorded", || {
        let log = talk(scratch.tap(["log"]), b"");
        n_broken(&scratch) == 3 && String::from_utf8_lossy(&log.stdout).contains("find")
    });
    let mut follower = scratch.tap(["log", "-f", "-n", "2", "--json"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(follower.stdout.take().unwrap()).lines();
    let mut targets = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap()["target"].clone());
    assert_eq!([targets.next().unwrap(), targets.next().unwrap()], ["broken", "find"]);
    proxy.post(&of(1), &call(5, "gone"), 404);
    assert_eq!(targets.next().unwrap(), "gone");
    proxy.stop();
    assert_eq!(wait_for(&mut follower).code(), Some(0));
    assert_eq!(targets.next(), None);
    // Of a recording that is over nothing comes later.
    let over = stdout(&scratch, &["log", "-f", "-n", "1"], 0);
    assert!(over.lines().count() == 1 && over.contains("gone"), "{over}");
}

#[test]
fn a_session_that_ended_is_not_live() {
    let (scratch, server) = (Scratch::new(), Server::start(legacy()));
    let proxy = Proxy::start(&scratch, "search", server.address);
    first_session(&proxy);
    proxy.post("", &initialize("browser"), 200);
    let verdict = |reference: &str| {
        let check = talk(scratch.tap(["check", reference]), b"");
        String::from_utf8_lossy(&check.stdout).lines().next().unwrap_or_default().to_owned()
    };
    wait_until("the second session is recorded", || verdict("last/2").contains("search/2  2025-06-18, 2 messages"));
    assert!(verdict("last/2").ends_with(", live"), "{}", verdict("last/2"));
    let first = verdict("last/1");
    assert!(first.starts_with("search/1  2025-06-18, ") && !first.contains("live"), "{first}");
    proxy.stop();
    assert!(!verdict("last/2").contains("live"));
}
