//! Tests of checkpoints: from any of them a reading goes on, and they are bounded.

use super::*;
use crate::traffic::{What, exchange, gzip, pack};
use tap_frame::{HttpPart, Segment};

const CALL: &[u8] = br#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo"}}"#;
const RESULT: &[u8] = br#"{"jsonrpc":"2.0","id":2,"result":{}}"#;
const JSON: &[(&str, &str)] = &[("content-type", "application/json")];

/// So many calls, a segment each.
fn calls(first: u64, n: u64) -> Vec<Segment> {
    let pieces: Vec<Vec<What>> =
        (first..first + n).map(|number| exchange(number, ("POST /mcp", JSON, CALL), (200, JSON, RESULT))).collect();
    let borders: Vec<usize> = (1..pieces.len()).map(|n| pieces[..n].iter().map(Vec::len).sum()).collect();
    pack(&pieces.concat(), &borders)
}

/// A timeline of these segments.
fn timeline(segments: &[Segment], spacing: u64) -> HttpTimeline {
    let (mut reading, mut timeline) = (HttpReading::new(), HttpTimeline { spacing, ..HttpTimeline::new() });
    for segment in segments {
        reading.feed(segment, &mut |_, _| {}).unwrap();
        timeline.pass(&reading);
        assert!(timeline.n_checkpoints() <= CHECKPOINTS && timeline.n_bytes <= ALL_BYTES);
    }
    timeline
}

#[test]
fn the_nearest_checkpoint_before_a_frame_is_found() {
    let timeline = timeline(&calls(1, 100), 6);
    for (seq, expected) in [(0, 0), (5, 0), (6, 6), (7, 6), (11, 6), (12, 12), (199, 198), (5_000, 198)] {
        assert_eq!(timeline.reading_before(seq).n_frames(), expected, "{seq}");
    }
}

#[test]
fn there_are_never_too_many() {
    let timeline = timeline(&calls(1, 3_000), 1);
    assert!(timeline.n_checkpoints() > CHECKPOINTS / 4);
    let far = (0..6_000).map(|seq| seq - timeline.reading_before(seq).n_frames()).max();
    assert!(far <= Some(3 * timeline.spacing), "{far:?}");
}

#[test]
fn what_is_held_of_open_bodies_is_bounded() {
    // A body of 100 MiB in pieces of 1 MiB, with calls between them.
    let mut segments = Vec::new();
    for number in 0..100 {
        let mut pieces = exchange(2_000, ("POST /mcp", JSON, &vec![b' '; 1 << 20]), (200, JSON, RESULT));
        pieces.truncate(2);
        if number > 0 {
            pieces.remove(0);
        }
        segments.extend(pack(&pieces, &[]));
        segments.extend(calls(1 + 10 * number, 10));
    }
    let timeline = timeline(&segments, 1);
    assert!(timeline.n_checkpoints() > 0);
    assert!(timeline.checkpoints.iter().all(|checkpoint| checkpoint.n_bytes <= ONE_BYTES));
}

#[test]
fn none_is_made_while_a_compressed_stream_is_open() {
    let fields = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let mut stream = exchange(1, ("POST /mcp", JSON, CALL), (200, &fields, &gzip(b"data: 1\n\n")));
    let end = stream.pop().unwrap();
    assert!(matches!(end, What::Http(_, HttpPart::End, _)));
    let mut segments = pack(&stream, &[]);
    segments.extend(calls(2, 10));
    assert_eq!(timeline(&segments, 1).n_checkpoints(), 0);
    segments.extend(pack(&[end], &[]));
    segments.extend(calls(20, 10));
    assert_eq!(timeline(&segments, 1).n_checkpoints(), 11);
}
