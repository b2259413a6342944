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
