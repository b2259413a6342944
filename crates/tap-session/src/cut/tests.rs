//! Tests of the cutter: every packing gives the same frames, and gaps and ends are where they belong.

use proptest::prelude::*;
use tap_frame::{Origin, Segment, Stream};

use super::*;
use crate::traffic::{What, cut, pack, passed, some_bytes};
use crate::{Cutter, Recorded};

/// What a stream's bytes are cut into, said in the simplest way.
fn expected(stream: Stream, bytes: &[u8]) -> Vec<Vec<u8>> {
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    match stream.channel() {
        Channel::Message => lines.map(<[u8]>::to_vec).collect(),
        Channel::Stderr => {
            lines.flat_map(|line| line.chunks(STDERR_FRAME_BYTES as usize)).map(<[u8]>::to_vec).collect()
        }
    }
}

fn frames_of(stream: Stream, recorded: &[Recorded]) -> Vec<Vec<u8>> {
    let frames = recorded.iter().filter_map(|recorded| match recorded {
        Recorded::Frame(frame) if frame.stream == stream => Some(frame.bytes.to_vec()),
        _ => None,
    });
    frames.collect()
}

proptest! {
    #[test]
    fn however_streams_are_chunked_mixed_and_packed_the_frames_are_the_same(
        streams in prop::array::uniform3(prop::collection::vec(some_bytes(), 0..8)),
        schedule in prop::collection::vec((0..3usize, 1..200usize, prop::bool::weighted(0.3)), 0..60),
    ) {
        let streams = streams.map(|parts| parts.concat());
        let mut segments = vec![Segment::default()];
        let mut at_ns = 0;
        let mut rest = [&streams[0][..], &streams[1][..], &streams[2][..]];
        let all = (0..3).map(|code| (code, usize::MAX, false));
        for (code, length, border) in schedule.into_iter().chain(all) {
            let (now, later) = rest[code].split_at(length.min(rest[code].len()));
            rest[code] = later;
            at_ns += 1;
            if border {
                segments.push(Segment::default());
            }
            segments.last_mut().unwrap().push_chunk(Stream::ALL[code], at_ns, 0, now);
        }
        let (_, recorded) = cut(&segments);
        for (stream, bytes) in Stream::ALL.into_iter().zip(&streams) {
            let frames = frames_of(stream, &recorded);
            prop_assert_eq!(&frames.concat(), bytes);
            prop_assert_eq!(frames, expected(stream, bytes));
        }
    }

    #[test]
    fn frames_are_numbered_from_one_and_their_clock_never_goes_back(passed in passed()) {
        let (heads, _) = cut(&pack(&passed));
        let mut newest = 0;
        for (number, head) in (1..).zip(heads) {
            prop_assert_eq!(head.seq, number);
            prop_assert!(newest <= head.at_ns, "frame {} at {} after {newest}", number, head.at_ns);
            newest = head.at_ns;
        }
    }

    #[test]
    fn copies_and_gaps_together_are_all_that_passed(passed in passed()) {
        let (heads, recorded) = cut(&pack(&passed));
        for stream in Stream::ALL {
            let (mut bytes, mut lost) = (Vec::new(), 0);
            for passed in &passed {
                match &passed.what {
                    What::Chunk(this, chunk) if *this == stream => bytes.extend_from_slice(chunk),
                    What::Gap(this, n_bytes) if *this == stream => lost += n_bytes,
                    _ => {}
                }
            }
            prop_assert_eq!(frames_of(stream, &recorded).concat(), bytes);
            let heads = || heads.iter().filter(|head| head.stream == stream);
            let gaps = heads().map(|head| match head.origin { Origin::Gap(n_bytes) => n_bytes, Origin::Wire | Origin::Act(_) => 0 });
            prop_assert_eq!(gaps.sum::<u64>(), lost);
            // A frame that does not end with its line says why.
            for head in heads() {
                prop_assert_eq!(head.torn && head.origin != Origin::Wire, false);
            }
        }
    }

    #[test]
    fn a_frame_lies_where_its_head_says(passed in passed()) {
        let segments = pack(&passed);
        let (heads, recorded) = cut(&segments);
        let frames = recorded.iter().filter_map(|recorded| match recorded {
            Recorded::Frame(frame) => Some(frame),
            Recorded::End { .. } => None,
        });
        for (head, frame) in heads.iter().zip(frames).filter(|(head, _)| head.origin == Origin::Wire) {
            let mut found = Vec::new();
            for (number, segment) in (0..).zip(&segments) {
                for piece in segment {
                    if let Piece::Chunk { stream, offset, bytes, .. } = piece.unwrap() && stream == head.stream {
                        let places = (offset as u64..).map(|offset| Place { segment: number, offset });
                        found.extend(places.zip(bytes).filter(|(place, _)| head.start <= *place).map(|(_, byte)| *byte));
                    }
                }
            }
            found.truncate(head.length as usize);
            prop_assert_eq!(&found, &frame.bytes);
        }
    }

    #[test]
    fn damage_never_panics_and_the_next_segment_is_read(
        pieces in prop::collection::vec(any::<u8>(), 0..40), bytes in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut cutter = Cutter::default();
        let _ = cutter.feed(&Segment::from_stored(5, u64::MAX - 9, pieces, bytes), &mut |_| {});
        let mut segment = Segment::default();
        segment.push_chunk(Stream::ToServer, 1, 1, b"\n{}\n");
        let mut last = None;
        cutter.feed(&segment, &mut |cut| if let Cut::Frame(head) = cut { last = Some(head) }).unwrap();
        prop_assert_eq!(last.map(|head| (head.end, head.length)), Some((FrameEnd::Newline, 3)));
    }
}

/// A script, one step a line, against the frames as text. Steps: `> text` to the server, `< text` to the client,
/// `! text` on stderr (all without a newline but where `\n` is written), `gap > n`, `end >`, and `--` for a new segment.
#[track_caller]
fn check(script: &str, expected: &str) {
    let stream_of = |arrow: &str| match arrow {
        ">" => Stream::ToServer,
        "<" => Stream::ToClient,
        "!" => Stream::Stderr,
        other => panic!("no such stream: {other}"),
    };
    let mut segments = vec![Segment::default()];
    for (at_ns, line) in (1..).zip(script.trim().lines()) {
        let words: Vec<&str> = line.splitn(2, ' ').collect();
        let segment = segments.last_mut().unwrap();
        match words[..] {
            ["--"] => segments.push(Segment::default()),
            ["gap", rest] => {
                let (arrow, n_bytes) = rest.split_once(' ').unwrap();
                segment.push_gap(stream_of(arrow), at_ns, at_ns, n_bytes.parse().unwrap());
            }
            ["end", arrow] => segment.push_end(stream_of(arrow), at_ns, at_ns),
            [arrow, text] => {
                segment.push_chunk(stream_of(arrow), at_ns, at_ns, text.replace("\\n", "\n").as_bytes());
            }
            _ => panic!("no such step: {line}"),
        }
    }
    let (heads, recorded) = cut(&segments);
    let mut heads = heads.iter();
    let found = recorded.iter().map(|recorded| match recorded {
        Recorded::End { stream, at_ns } => format!("end of {stream:?} at {at_ns}\n"),
        Recorded::Frame(frame) => {
            let head = heads.next().unwrap();
            let what = match head.origin {
                Origin::Wire => format!("{:?}", String::from_utf8_lossy(&frame.bytes)),
                Origin::Gap(n_bytes) => format!("gap of {n_bytes}"),
                Origin::Act(deed) => format!("{} {:?}", deed.name(), String::from_utf8_lossy(&frame.bytes)),
            };
            let torn = if head.torn { " torn" } else { "" };
            format!("{} {:?} {what} {:?} at {}{torn}\n", head.seq, head.stream, head.end, head.at_ns)
        }
    });
    assert_eq!(found.collect::<String>().trim(), expected.trim());
}

#[test]
fn a_gap_ends_the_frame_before_it_and_tears_the_one_after_it() {
    check(
        r"
> one\n
> tw
gap > 40
> ree\n
> four\n",
        r#"
1 ToServer "one\n" Newline at 1
2 ToServer "tw" Gap at 3
3 ToServer gap of 40 Gap at 3
4 ToServer "ree\n" Newline at 4 torn
5 ToServer "four\n" Newline at 5"#,
    );
}

#[test]
fn a_gap_on_one_stream_leaves_the_others_whole() {
    check(
        r"
> to
< fro
gap < 7
> gether\n
< m\n",
        r#"
1 ToClient "fro" Gap at 3
2 ToClient gap of 7 Gap at 3
3 ToServer "together\n" Newline at 4
4 ToClient "m\n" Newline at 5 torn"#,
    );
}

#[test]
fn a_line_that_is_torn_stays_so_across_segments_and_a_second_gap() {
    check(
        r"
gap > 1
--
gap > 2
--
> x
--
> y\n",
        r#"
1 ToServer gap of 1 Gap at 1
2 ToServer gap of 2 Gap at 3
3 ToServer "xy\n" Newline at 7 torn"#,
    );
}

#[test]
fn the_end_of_a_stream_completes_what_has_no_newline() {
    check(
        r"
< last words
! bye
end <
> \n",
        r#"
1 ToClient "last words" StreamEnd at 3
end of ToClient at 3
2 ToServer "\n" Newline at 4
3 Stderr "bye" RecordingEnd at 4"#,
    );
}

#[test]
fn a_recording_that_stops_in_the_middle_keeps_what_it_has() {
    check(
        r"
> {
< [
--
< 1",
        r#"
1 ToServer "{" RecordingEnd at 4
2 ToClient "[1" RecordingEnd at 4"#,
    );
}

#[test]
fn a_clock_that_is_older_in_the_next_segment_is_taken_for_the_newest_one() {
    let mut segments = [Segment::default(), Segment::default()];
    segments[0].push_chunk(Stream::ToServer, 50, 1050, b"a\n");
    segments[1].push_chunk(Stream::ToClient, 40, 1040, b"b\n");
    segments[1].push_chunk(Stream::ToClient, 60, 1060, b"c\n");
    let (heads, _) = cut(&segments);
    let clocks: Vec<_> = heads.iter().map(|head| (head.at_ns, head.wall_ns)).collect();
    assert_eq!(clocks, [(50, 1050), (50, 1050), (60, 1060)]);
}

#[test]
fn stderr_is_cut_at_64_kib_and_messages_never() {
    let limit = STDERR_FRAME_BYTES as usize;
    for (stream, length, n_chunk, expected) in [
        (Stream::Stderr, limit - 1, 1000, &[(limit, FrameEnd::Newline)][..]),
        (Stream::Stderr, limit, 1000, &[(limit, FrameEnd::TooLong), (1, FrameEnd::Newline)]),
        (
            Stream::Stderr,
            2 * limit + 5,
            usize::MAX,
            &[(limit, FrameEnd::TooLong), (limit, FrameEnd::TooLong), (6, FrameEnd::Newline)],
        ),
        (Stream::ToClient, 2 * limit + 5, 4096, &[(2 * limit + 6, FrameEnd::Newline)]),
    ] {
        let mut bytes = vec![b'x'; length];
        bytes.push(b'\n');
        let mut segment = Segment::default();
        for chunk in bytes.chunks(n_chunk) {
            segment.push_chunk(stream, 1, 1, chunk);
        }
        let (heads, _) = cut(&[segment]);
        let found: Vec<_> = heads.iter().map(|head| (head.length as usize, head.end)).collect();
        assert_eq!(found, expected, "{length} bytes on {stream:?}");
    }
}
