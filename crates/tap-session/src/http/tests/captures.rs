//! Real traffic over HTTP, where it is at hand: nobody is accused of what was not broken.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use tap_jsonrpc::Node;

use super::reader::Reader;
use crate::Severity;

/// What was really broken: files (by a part of their name), rule, and why it is true.
const BROKEN: &[(&str, &str, &str)] = &[
    ("host-gemini-http--everything", "HTT-003", "Gemini CLI sends no version header in a session of 2025-06-18"),
    (
        "http-conformance-client--initialize",
        "HTT-015",
        "the server of this scenario answers `notifications/initialized` with 200",
    ),
    ("http-conformance-client--initialize", "RPC-006", "and with a result, which has no id"),
    ("http-conformance-client--initialize", "CAP-001", "and declares no tools, which the client lists"),
    ("http-conformance-client--tools_call", "HTT-017", "the server of this scenario has no route for GET"),
    ("--ts1", "CAP-001", "the script reads resources and gets prompts of a sample server that has only tools"),
    ("--ts2", "CAP-001", "the same with its next major version"),
    ("--rmcp", "CAP-001", "the same with the sample server of rmcp"),
    ("-auto--mcp1", "RPC-006", "mcp 1.30 refuses a probe with an error whose id is \"server-error\""),
    ("http-ts1--everything-tasks", "TSK-004", "the client answers an elicitation of a task without naming the task"),
    // samples/resume.py makes mistakes on purpose, to see how servers take them.
    ("http-resume--", "HTT-001", "it accepts JSON alone once"),
    ("http-resume--", "HTT-028", "it posts an array"),
    ("http-resume--", "RPC-013", "it posts an array"),
    ("http-resume--", "RPC-004", "it uses the id 2 again, after an answer"),
    ("http-resume--", "FRM-002", "it posts `{bad`"),
];

/// Plays a capture of connections.
fn read(text: &str) -> Reader {
    let mut reader = Reader::default();
    for line in text.lines() {
        let entry = Node::new(line.as_bytes());
        let [seconds, connection, direction, data, event] = entry.pick(["t", "conn", "dir", "data", "ev"]);
        let at_ns = (seconds.unwrap().as_f64().unwrap() * 1e9) as u64;
        let (Some(connection), Some(direction)) = (connection.and_then(Node::as_i64), direction) else {
            continue;
        };
        let (connection, by_client) = (connection as u64, direction.is_text("c2s"));
        match (data.and_then(Node::text), event) {
            (Some(data), _) if by_client => reader.asked(connection, at_ns, data.as_bytes()),
            (Some(data), _) => reader.answered(connection, at_ns, data.as_bytes()),
            (None, Some(_)) => reader.closed(connection, at_ns, by_client),
            (None, None) => {}
        }
    }
    reader.follower.finish(&mut reader.meanings);
    reader
}

#[test]
fn captured_exchanges_break_no_rule_that_their_peers_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let (mut n_files, mut n_messages, mut n_sessions) = (0, 0, 0);
    let mut wrong = Vec::new();
    let mut used = HashSet::new();
    let mut others: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let is_http = name.starts_with("http-") || name.contains("-http--") || name.contains("-sse--");
        if !is_http {
            continue;
        }
        let reader = read(&std::fs::read_to_string(&path).unwrap());
        n_files += 1;
        n_sessions += reader.follower.sessions().count();
        n_messages += reader.meanings.iter().map(|this| this.meaning.events.len()).sum::<usize>();
        for this in &reader.meanings {
            for finding in &this.meaning.findings {
                let told = crate::script::told(finding);
                let (_, told) = told.split_once(' ').unwrap();
                if finding.severity < Severity::Error {
                    others.entry(format!("{}: {told}", finding.severity)).or_default().push(name.clone());
                    continue;
                }
                let known = BROKEN.iter().find(|(file, rule, _)| name.contains(file) && finding.rule.id == *rule);
                match known {
                    Some(known) => drop(used.insert(known)),
                    None => wrong.push(format!("{name}: {} {told}", finding.at.seq)),
                }
            }
        }
    }
    for (told, files) in &others {
        println!("{told}\n    {} times: {}", files.len(), files.iter().take(4).cloned().collect::<Vec<_>>().join(" "));
    }
    println!("{n_messages} messages in {n_sessions} sessions of {n_files} captures");
    assert!(wrong.is_empty(), "{} findings:\n{}", wrong.len(), wrong.join("\n"));
    let unused: Vec<_> = BROKEN.iter().filter(|known| !used.contains(known)).collect();
    assert!(unused.is_empty(), "not found any more: {unused:?}");
    assert!(1_000 < n_messages && 70 < n_sessions, "the reader sees nothing");
}
