//! That a segment gives back what was appended, and that no damage makes it panic.

use super::*;
use proptest::prelude::*;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Owned {
    Chunk(Stream, u64, Vec<u8>),
    Gap(Stream, u64, u64),
    End(Stream, u64),
    Http(u64, HttpPart, u64, Vec<u8>),
    HttpGap(u64, HttpPart, u64, u64),
    Act(Option<u64>, u64, Vec<u8>),
}

fn owned() -> impl Strategy<Value = Owned> {
    let stream = || (0..3u8).prop_map(|code| Stream::from_code(code).unwrap());
    let part = || prop::sample::select(&HttpPart::ALL[..]);
    prop_oneof![
        (stream(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(s, at, bytes)| Owned::Chunk(s, at, bytes)),
        (stream(), any::<u64>(), any::<u64>()).prop_map(|(s, at, n)| Owned::Gap(s, at, n)),
        (stream(), any::<u64>()).prop_map(|(s, at)| Owned::End(s, at)),
        (any::<u64>(), part(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(exchange, part, at, bytes)| Owned::Http(exchange, part, at, bytes)),
        (any::<u64>(), part(), any::<u64>(), any::<u64>())
            .prop_map(|(exchange, part, at, n)| Owned::HttpGap(exchange, part, at, n)),
        (any::<Option<u64>>(), any::<u64>(), prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(exchange, at, text)| Owned::Act(exchange, at, text)),
    ]
}

proptest! {
    #[test]
    fn gives_back_what_was_appended_with_clocks_that_never_go_back(pieces in prop::collection::vec(owned(), 0..40)) {
        let mut segment = Segment::default();
        for piece in &pieces {
            match piece {
                Owned::Chunk(s, at, bytes) => segment.push_chunk(*s, *at, 7, bytes),
                Owned::Gap(s, at, n) => segment.push_gap(*s, *at, 7, *n),
                Owned::End(s, at) => segment.push_end(*s, *at, 7),
                Owned::Http(exchange, part, at, bytes) => segment.push_http(*exchange, *part, *at, 7, bytes),
                Owned::HttpGap(exchange, part, at, n) => segment.push_http_gap(*exchange, *part, *at, 7, *n),
                Owned::Act(exchange, at, text) => {
                    let (head, sent) = text.split_at(text.len() / 2);
                    segment.push_act(*exchange, Stream::ToClient, *at, 7, head, sent);
                }
            }
        }
        let stored = Segment::from_stored(segment.wall_ns, segment.at_ns, segment.pieces.clone(), segment.bytes.clone());
        let mut newest = 0;
        let mut expected = pieces.clone();
        for piece in &mut expected {
            let (Owned::Chunk(_, at, _)
            | Owned::Gap(_, at, _)
            | Owned::End(_, at)
            | Owned::Http(_, _, at, _)
            | Owned::HttpGap(_, _, at, _)
            | Owned::Act(_, at, _)) = piece;
            newest = newest.max(*at);
            *at = newest;
        }
        let read: Vec<Owned> = stored.iter().map(|piece| match piece.unwrap() {
            Piece::Chunk { stream, at_ns, bytes, offset } => {
                assert_eq!(&stored.bytes[offset..offset + bytes.len()], bytes);
                Owned::Chunk(stream, at_ns, bytes.to_vec())
            }
            Piece::Gap { stream, at_ns, n_bytes } => Owned::Gap(stream, at_ns, n_bytes),
            Piece::End { stream, at_ns } => Owned::End(stream, at_ns),
            Piece::Http { exchange, part, at_ns, bytes, offset } => {
                assert_eq!(&stored.bytes[offset..offset + bytes.len()], bytes);
                Owned::Http(exchange, part, at_ns, bytes.to_vec())
            }
            Piece::HttpGap { exchange, part, at_ns, n_bytes } => Owned::HttpGap(exchange, part, at_ns, n_bytes),
            Piece::Act { exchange, at_ns, bytes, offset } => {
                assert_eq!(&stored.bytes[offset..offset + bytes.len()], bytes);
                Owned::Act(exchange, at_ns, bytes.to_vec())
            }
        }).collect();
        prop_assert_eq!(read, expected);
    }

    #[test]
    fn any_bytes_are_read_without_panic_and_end(pieces in prop::collection::vec(any::<u8>(), 0..200), bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        let segment = Segment::from_stored(0, 0, pieces.clone(), bytes);
        prop_assert!(segment.iter().count() <= pieces.len());
    }
}

#[test]
fn damage_is_told_with_its_place() {
    for (pieces, bytes, expected) in [
        (&[0, 0][..], &b""[..], SegmentError::BadHeader { offset: 0 }),
        (&[0b0001_1111, 1, 0, 1], b"", SegmentError::MissingBytes { offset: 0 }),
        (&[0b0011_1111, 1, 0, 0], b"", SegmentError::BadHeader { offset: 0 }),
        (&[0b0100_0011, 1, 0, 0], b"", SegmentError::BadHeader { offset: 0 }),
        (&[3, 0x80], b"", SegmentError::BadHeader { offset: 0 }),
        (&[2, 0, 0, 0b1_0000, 0, 0], b"", SegmentError::BadHeader { offset: 3 }),
        (&[2, 0, 0, 0b1101, 0, 1], b"", SegmentError::MissingBytes { offset: 3 }),
        (&[0, 0, 5], b"abc", SegmentError::MissingBytes { offset: 0 }),
        (&[0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2, 0], b"", SegmentError::BadHeader { offset: 0 }),
    ] {
        let segment = Segment::from_stored(0, 0, pieces.to_vec(), bytes.to_vec());
        assert_eq!(segment.iter().find_map(Result::err), Some(expected), "pieces {pieces:?}");
    }
}

#[test]
fn a_cleared_segment_starts_its_clocks_anew() {
    let mut segment = Segment::default();
    segment.push_chunk(Stream::ToServer, 500, 1, b"x");
    segment.clear();
    segment.push_chunk(Stream::ToClient, 20, 2, b"yz");
    assert_eq!((segment.at_ns, segment.wall_ns), (20, 2));
    assert_eq!(segment.iter().count(), 1);
}
