//! Real traffic, where it is at hand: peers that keep the rules of this part are not told that they break them.

use std::path::Path;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::Node;

use crate::follow::{Follower, Lens, Meaning};
use crate::rule::Severity;
use crate::rules::progress::PROGRESS;
use crate::script::told;

/// The frames of a capture of stdio; none of a capture of HTTP, which has no lines.
fn frames(capture: &str) -> Vec<Frame> {
    let mut frames = Vec::new();
    for entry in capture.lines() {
        let [direction, line, seconds] = Node::new(entry.as_bytes()).pick(["dir", "line", "t"]);
        let (Some(direction), Some(line), Some(seconds)) = (direction, line.and_then(Node::text), seconds) else {
            continue;
        };
        let stream = match direction.text().as_deref() {
            Some("c2s") => Stream::ToServer,
            Some("s2c") => Stream::ToClient,
            _ => continue,
        };
        let at_ns = (seconds.as_f64().unwrap() * 1e9) as u64;
        let bytes = Bytes::from(format!("{}\n", line.trim_end_matches('\n')));
        frames.push(Frame { seq: frames.len() as u64 + 1, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes });
    }
    frames
}

#[test]
fn no_captured_session_breaks_a_rule_of_this_part_badly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let (mut n_sessions, mut n_frames, mut bad) = (0, 0, Vec::new());
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let frames = frames(&std::fs::read_to_string(&path).unwrap());
        if frames.is_empty() {
            continue;
        }
        let mut follower = Follower::new();
        let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
        for frame in &frames {
            follower.follow(frame, &mut lens, &mut meaning);
        }
        follower.finish(&mut meaning);
        for finding in meaning.findings.iter().filter(|finding| PROGRESS.contains(&finding.rule)) {
            let line = format!("{}: {}", path.file_name().unwrap().display(), told(finding));
            println!("{line}");
            if finding.severity == Severity::Error {
                bad.push(line);
            }
        }
        n_sessions += 1;
        n_frames += frames.len();
    }
    println!("{n_frames} messages in {n_sessions} sessions");
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
