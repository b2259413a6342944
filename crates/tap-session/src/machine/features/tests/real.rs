//! Real traffic, where it is at hand: what the rules of this part find in the captures beside this repository.

use std::collections::BTreeMap;
use std::path::Path;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::{Content, Node, scan};

use crate::follow::{Follower, Lens, Meaning};
use crate::rule::{Rule, Severity};
use crate::rules::features;
use crate::script::told;

/// Rules that a peer in a capture really breaks, and how.
const BROKEN: &[(&str, &str)] = &[];

fn is_ours(rule: &Rule) -> bool {
    [
        features::lists::PAGES,
        features::TOOLS,
        features::resources::RESOURCES,
        features::elicitation::ELICITATION,
        features::sampling::SAMPLING,
    ]
    .into_iter()
    .flatten()
    .any(|ours| ours.id == rule.id)
}

/// The frames of a capture: lines of a program's pipes, or what stands on a line of its own in the bodies of HTTP.
fn frames(text: &str) -> Vec<Frame> {
    let mut frames: Vec<Frame> = Vec::new();
    for entry in text.lines() {
        let [direction, line, data] = Node::new(entry.as_bytes()).pick(["dir", "line", "data"]);
        let Some(direction) = direction.and_then(Node::text) else {
            continue;
        };
        let stream = match &*direction {
            "c2s" => Stream::ToServer,
            "s2c" => Stream::ToClient,
            _ => continue,
        };
        let text = line.or(data).and_then(Node::text).unwrap_or_default();
        for line in text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line).trim()) {
            // Heads, sizes of chunks, and bodies that were cut by the capture, are no messages.
            if !matches!(scan(line.as_bytes(), &[]).content, Content::Message(_)) {
                continue;
            }
            let seq = frames.len() as u64 + 1;
            let at_ns = seq * 1_000_000;
            let bytes = Bytes::from(format!("{line}\n"));
            frames.push(Frame { seq, wall_ns: at_ns, at_ns, stream, origin: Origin::Wire, bytes });
        }
    }
    frames
}

#[test]
fn official_peers_break_none_of_these_rules_badly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    paths.sort();
    let (mut n_frames, mut bad, mut milder) = (0, Vec::new(), BTreeMap::<_, Vec<_>>::new());
    for path in paths {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let frames = frames(&std::fs::read_to_string(&path).unwrap());
        let (mut follower, mut lens, mut meaning) = (Follower::new(), Lens::default(), Meaning::default());
        for frame in &frames {
            follower.follow(frame, &mut lens, &mut meaning);
        }
        follower.finish(&mut meaning);
        n_frames += frames.len();
        for finding in meaning.findings.iter().filter(|finding| is_ours(finding.rule)) {
            let is_known = BROKEN.iter().any(|(file, rule)| name.starts_with(file) && finding.rule.id == *rule);
            if finding.severity == Severity::Error && !is_known {
                bad.push(format!("{name}: {}", told(finding)));
            } else {
                milder
                    .entry((finding.severity, finding.rule.id))
                    .or_default()
                    .push(format!("{name}: {}", told(finding)));
            }
        }
    }
    println!("{n_frames} frames in {}", folder.display());
    for ((severity, rule), findings) in milder {
        println!("{severity} {rule}: {} times", findings.len());
        findings.iter().for_each(|line| println!("    {line}"));
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}
