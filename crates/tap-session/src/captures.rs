//! Real traffic for this crate's tests, where it is at hand: the captures of stdio beside this repository.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::Node;

use crate::script::told;
use crate::{Follower, Lens, Meaning, Severity};

/// One capture: its name, and what passed.
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) frames: Vec<Frame>,
}

/// All captures of stdio, by name. Says so where there are none.
pub(crate) fn captures() -> Vec<Capture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return Vec::new();
    };
    let paths = files.map(|file| file.unwrap().path());
    let mut captures: Vec<_> = paths
        .map(|path| {
            let text = std::fs::read_to_string(&path).unwrap();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            Capture { name, frames: frames(&text) }
        })
        // Captures of HTTP hold chunks and not lines.
        .filter(|capture| !capture.frames.is_empty())
        .collect();
    captures.sort_by(|left, right| left.name.cmp(&right.name));
    captures
}

/// The lines of a capture as frames.
pub(crate) fn frames(text: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    for entry in text.lines().map(|line| Node::new(line.as_bytes())) {
        let [seconds, direction, line] = entry.pick(["t", "dir", "line"]);
        let Some(line) = line.and_then(Node::text) else {
            continue;
        };
        let stream = match direction.and_then(Node::text).as_deref() {
            Some("c2s") => Stream::ToServer,
            Some("s2c") => Stream::ToClient,
            _ => Stream::Stderr,
        };
        let at_ns = (seconds.and_then(Node::as_f64).unwrap_or_default() * 1e9) as u64;
        let (seq, bytes) = (frames.len() as u64 + 1, Bytes::from(format!("{line}\n")));
        frames.push(Frame { seq, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes });
    }
    frames
}

/// Follows a capture to its end.
pub(crate) fn follow(capture: &Capture) -> (Follower, Meaning) {
    let mut follower = Follower::new();
    let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
    for frame in &capture.frames {
        follower.follow(frame, &mut lens, &mut meaning);
    }
    follower.finish(&mut meaning);
    (follower, meaning)
}

/// Rules that real peers really break badly: file, rule, how often, and why it is right to say so.
const BROKEN: &[(&str, &str, usize, &str)] = &[
    ("stdio-fastmcp--everything.jsonl", "LIF-005", 1, LATE),
    ("stdio-ts1--everything-tasks.jsonl", "RPC-006", 1, LATE),
    ("stdio-ts1--everything-tasks.jsonl", "TSK-004", 1, "the SDK's answer says nothing of the task"),
    ("stdio-ts1--rmcp.jsonl", "CAP-001", 3, UNDECLARED),
    ("stdio-ts1--ts1.jsonl", "CAP-001", 3, UNDECLARED),
    ("stdio-ts1--ts2.jsonl", "CAP-001", 3, UNDECLARED),
    ("stdio-ts2-legacy--everything.17434.jsonl", "RPC-006", 1, LATE),
    ("stdio-ts2-legacy--ts2.17093.jsonl", "CAP-001", 2, UNDECLARED),
];

/// Not the peers' doing, but in what was written down.
const LATE: &str = "the capture wrote a line down only after it had passed it on, behind the answer to it";
const UNDECLARED: &str = "the client's script asks for what the server did not declare";

#[test]
fn official_peers_break_no_rule_badly_that_they_do_not_really_break() {
    let mut found = BTreeMap::<(String, &str), usize>::new();
    for capture in captures() {
        let (_, meaning) = follow(&capture);
        for finding in meaning.findings.iter().filter(|finding| Severity::Warning <= finding.severity) {
            println!("{} {}", capture.name, told(finding));
            if finding.severity == Severity::Error {
                *found.entry((capture.name.clone(), finding.rule.id)).or_default() += 1;
            }
        }
    }
    let expected: BTreeMap<_, _> =
        BROKEN.iter().map(|(file, rule, times, _)| (((*file).to_owned(), *rule), *times)).collect();
    let none_at_hand = captures().is_empty();
    assert!(none_at_hand || found == expected, "found: {found:#?}\nexpected: {expected:#?}");
}
