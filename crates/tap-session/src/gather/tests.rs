//! Tests of packing: frames to segments and back are the same frames.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::traffic::{cut, pack, passed};

fn packed_again(recorded: &[Recorded]) -> Vec<Segment> {
    let recorded = recorded.iter().cloned().map(Ok::<_, Infallible>);
    segments_of(1_700_000_000_000_000_000, recorded).map(Result::unwrap).collect()
}

proptest! {
    #[test]
    fn frames_packed_and_cut_again_are_the_same_frames(passed in passed()) {
        let (heads, recorded) = cut(&pack(&passed));
        let (heads_again, recorded_again) = cut(&packed_again(&recorded));
        prop_assert_eq!(&recorded_again, &recorded);
        let facts = |heads: &[crate::FrameHead]| -> Vec<_> {
            heads.iter().map(|head| (head.end, head.torn, head.length)).collect()
        };
        prop_assert_eq!(facts(&heads_again), facts(&heads));
    }
}

#[test]
fn a_new_segment_begins_when_one_is_full() {
    let frame = |seq: u64| {
        Recorded::Frame(Frame {
            seq,
            wall_ns: seq,
            at_ns: seq,
            stream: Stream::ToClient,
            origin: Origin::Wire,
            bytes: [&vec![b'x'; 100_000][..], b"\n"].concat().into(),
        })
    };
    let recorded: Vec<_> = (1..=7).map(frame).collect();
    let segments = packed_again(&recorded);
    assert_eq!(segments.iter().map(|segment| segment.bytes.len()).collect::<Vec<_>>(), [300_003, 300_003, 100_001]);
    assert_eq!(cut(&segments).1, recorded);
}

#[test]
fn an_error_among_the_frames_is_handed_on() {
    let recorded = [Ok(Recorded::End { stream: Stream::Stderr, at_ns: 1 }), Err("no")];
    let segments: Vec<_> = segments_of(0, recorded.into_iter()).collect();
    assert_eq!(segments.iter().filter_map(|segment| segment.as_ref().err()).collect::<Vec<_>>(), [&"no"]);
}
