//! Real traffic, where it is at hand: the captures of stdio beside this repository.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::{Content, Node, scan};

use super::is_ours;
use crate::follow::{Follower, Lens, Meaning};
use crate::observer::WATCHES;
use crate::rule::{Finding, Severity};
use crate::script::told;

/// What real peers break, by file: which rule, how badly, how often, and why that is right. Notes are not here.
const BROKEN: &[(&str, &str, Severity, usize, &str)] = &[
    ("stdio-ts1--sqlite.jsonl", "RES-002", Severity::Warning, 1, "it tells of its memo, to which nobody subscribed"),
    ("stdio-py2-auto--sqlite.jsonl", "RES-002", Severity::Warning, 1, "the same server"),
    ("stdio-py2-pin--ts1.jsonl", "MOD-004", Severity::Warning, 1, "a legacy server is asked in the modern era"),
];

/// The lines of a capture as frames, a millisecond apart.
fn frames(capture: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    for entry in capture.lines() {
        let [direction, line, data] =
            Node::new(entry.as_bytes()).pick(["dir", "line", "data"]).map(|member| member.and_then(Node::text));
        let (Some(direction), Some(text)) = (direction, line.clone().or(data)) else {
            continue;
        };
        let stream = match &*direction {
            "c2s" => Stream::ToServer,
            "s2c" => Stream::ToClient,
            _ => continue,
        };
        // Of HTTP the lines that are messages; heads and what was cut are none.
        let lines = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim());
        let is_message =
            |line: &str| line.starts_with('{') && matches!(scan(line.as_bytes(), WATCHES).content, Content::Message(_));
        for line in lines.filter(|text| line.is_some() || is_message(text)) {
            let seq = frames.len() as u64 + 1;
            let bytes = Bytes::from(format!("{line}\n"));
            frames.push(Frame { seq, wall_ns: seq, at_ns: seq * 1_000_000, stream, origin: Origin::Wire, bytes });
        }
    }
    frames
}

fn follow(frames: &[Frame]) -> (Follower, Vec<Finding>) {
    let (mut follower, mut lens, mut meaning) = (Follower::new(), Lens::default(), Meaning::default());
    for frame in frames {
        follower.follow(frame, &mut lens, &mut meaning);
    }
    follower.finish(&mut meaning);
    (follower, meaning.findings)
}

#[test]
fn real_peers_break_only_what_they_really_break() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let mut found = BTreeMap::<(String, &str, Severity), usize>::new();
    let (mut n_files, mut n_frames, mut n_modern) = (0, 0, 0);
    for file in files {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let frames = frames(&std::fs::read_to_string(&path).unwrap());
        let (follower, findings) = follow(&frames);
        n_files += usize::from(!frames.is_empty());
        n_frames += frames.len();
        n_modern += usize::from(follower.state().modern.served.is_some());
        for finding in findings.iter().filter(|finding| is_ours(finding.rule)) {
            println!("{name} {}", told(finding));
            if finding.severity > Severity::Note {
                *found.entry((name.clone(), finding.rule.id, finding.severity)).or_default() += 1;
            }
        }
    }
    println!("{n_frames} messages of {n_files} captures, {n_modern} of them of the modern era");
    let expected: BTreeMap<_, _> = BROKEN
        .iter()
        .map(|(file, rule, severity, times, _)| (((*file).to_owned(), *rule, *severity), *times))
        .collect();
    assert_eq!(found, expected);
}

/// Python's mcp 2.3.0 on both ends of stdio, 2026-12: two calls at a time that ask for three inputs, and for one more; two
/// that only have a state; two subscriptions that deliver, and are cancelled.
const ROUNDS: &str = include_str!("python-rounds.jsonl");

#[test]
fn rounds_and_subscriptions_of_an_sdk_are_followed() {
    let (follower, findings) = follow(&frames(ROUNDS));
    let ours: Vec<_> = findings.iter().filter(|finding| is_ours(finding.rule)).map(told).collect();
    assert_eq!(
        ours,
        [
            "5 DEP-001 note by server: roots; told once a session",
            "5 DEP-001 note by server: sampling; told once a session",
        ]
    );
    let modern = &follower.state().modern;
    let rounds: Vec<_> = modern.rounds.iter().map(|round| (round.first.seq, round.number)).collect();
    assert_eq!(rounds, [(3, 1), (4, 1), (3, 2), (4, 2), (17, 1), (18, 1), (17, 2), (18, 2)]);
    assert_eq!(modern.waiting_rounds().count(), 0);
    // What the server sent when the client had cancelled is among it.
    let delivered = modern.subscriptions.iter().map(|this| this.n_delivered.values().sum::<u64>());
    assert_eq!(delivered.collect::<Vec<_>>(), [4, 1]);
    assert_eq!(modern.open_subscriptions().count(), 0);
}
