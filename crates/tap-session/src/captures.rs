//! Real traffic for this crate's tests, where it is at hand: the captures of stdio beside this repository.

use std::path::Path;

use bytes::Bytes;
use tap_frame::{Frame, Origin, Stream};
use tap_jsonrpc::Node;

use crate::{Follower, Lens, Meaning};

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

fn frames(text: &str) -> Vec<Frame> {
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
