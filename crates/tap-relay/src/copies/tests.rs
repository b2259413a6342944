//! That copies and gaps together are the whole, in order, and bounded.

use super::*;
use proptest::prelude::*;
use tap_frame::{Deed, Piece};

const NOT_AT_ALL: Duration = Duration::ZERO;

/// What the segments hold of each stream: kept bytes as they are, lost ones as `None`.
fn streams(segments: &[Segment]) -> [Vec<Option<u8>>; 3] {
    let mut out = [vec![], vec![], vec![]];
    for piece in segments.iter().flat_map(Segment::iter) {
        match piece.unwrap() {
            Piece::Chunk { stream, bytes, .. } => {
                out[usize::from(stream.code())].extend(bytes.iter().copied().map(Some));
            }
            Piece::Gap { stream, n_bytes, .. } => {
                out[usize::from(stream.code())].extend((0..n_bytes).map(|_| None));
            }
            Piece::End { .. } | Piece::Http { .. } | Piece::HttpGap { .. } | Piece::Act { .. } => {}
        }
    }
    out
}

proptest! {
    #[test]
    fn copies_and_gaps_together_are_the_whole_stream_in_order(
        steps in prop::collection::vec((0..3u8, prop::collection::vec(any::<u8>(), 1..40), any::<bool>()), 0..60),
        limit in 10..400usize,
    ) {
        let copies = Copies::new(Clock::start(), limit, limit);
        let mut passed = [vec![], vec![], vec![]];
        let mut taken = vec![];
        for (at_ns, (code, bytes, take)) in steps.iter().enumerate() {
            copies.offer(Stream::from_code(*code).unwrap(), at_ns as u64, bytes);
            passed[usize::from(*code)].extend_from_slice(bytes);
            if *take {
                taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
            }
        }
        taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
        for (stream, kept) in streams(&taken).iter().enumerate() {
            prop_assert_eq!(kept.len(), passed[stream].len());
            for (kept, passed) in kept.iter().zip(&passed[stream]) {
                prop_assert!(kept.is_none_or(|kept| kept == *passed));
            }
        }
    }
}

#[test]
fn what_does_not_fit_is_a_gap_and_later_copies_are_kept_again() {
    let copies = Copies::new(Clock::start(), 20, 20);
    copies.offer(Stream::ToServer, 1, b"0123456789");
    copies.offer(Stream::ToServer, 2, b"abcdefghij");
    let mut segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
    copies.offer(Stream::ToServer, 3, b"x");
    segments.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
    let kept: Vec<u8> = streams(&segments)[0].iter().map(|byte| byte.unwrap_or(b'.')).collect();
    assert_eq!(kept, b"0123456789..........x");
}

#[test]
fn parts_of_exchanges_that_do_not_fit_are_gaps_of_their_exchange_and_their_ends_are_kept() {
    let copies = Copies::new(Clock::start(), 200, 200);
    copies.offer_http(1, HttpPart::RequestBody, 1, b"kept");
    copies.offer_http(1, HttpPart::RequestBody, 2, &[b'x'; 300]);
    copies.offer_http(2, HttpPart::ResponseBody, 3, &[b'y'; 250]);
    copies.offer_http(1, HttpPart::RequestBody, 4, &[b'x'; 250]);
    copies.offer_http(1, HttpPart::End, 5, &[1]);
    assert_eq!(copies.lost_bytes(), 800);
    let segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
    // What is late is told with the time at which it happened.
    let times: Vec<u64> = segments.iter().flat_map(Segment::iter).map(|piece| piece.unwrap().at_ns()).collect();
    assert_eq!(times, [1, 2, 3, 5]);
    let told: Vec<String> = segments
        .iter()
        .flat_map(Segment::iter)
        .map(|piece| match piece.unwrap() {
            Piece::Http { exchange, part, bytes, .. } => format!("{exchange} {part:?} {bytes:?}"),
            Piece::HttpGap { exchange, part, n_bytes, .. } => format!("{exchange} {part:?} -{n_bytes}"),
            other => format!("{other:?}"),
        })
        .collect();
    let expected = ["1 RequestBody [107, 101, 112, 116]", "1 RequestBody -550", "2 ResponseBody -250", "1 End [1]"];
    assert_eq!(told, expected);
}

proptest! {
    #[test]
    fn of_every_exchange_copies_gaps_and_words_are_the_whole_or_there_is_nothing(
        steps in prop::collection::vec((0..6usize, 1..40usize, prop::bool::weighted(0.2)), 0..200),
        limit in 100..400usize,
        late_parts in 0..6usize,
    ) {
        const ORDER: [HttpPart; 5] = [
            HttpPart::Request, HttpPart::RequestBody, HttpPart::RequestEnd, HttpPart::ResponseBody, HttpPart::End,
        ];
        let mut copies = Copies::new(Clock::start(), limit, limit);
        copies.late_parts = late_parts;
        let (mut taken, mut passed) = (vec![], BTreeMap::<u64, Vec<(HttpPart, u64)>>::new());
        // Six clients, each with one exchange after the other.
        let mut clients: [(u64, usize); 6] = std::array::from_fn(|client| (client as u64, 0));
        for (at_ns, (client, n_bytes, take)) in steps.into_iter().enumerate() {
            let (exchange, at) = &mut clients[client];
            let part = ORDER[*at];
            let n_bytes = if matches!(part, HttpPart::RequestEnd | HttpPart::End) { 1 } else { n_bytes };
            copies.offer_http(*exchange, part, at_ns as u64, &vec![b'x'; n_bytes]);
            passed.entry(*exchange).or_default().push((part, n_bytes as u64));
            (*exchange, *at) = if *at == 4 { (*exchange + 6, 0) } else { (*exchange, *at + 1) };
            if take {
                taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
            }
        }
        taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
        let (mut kept, mut n_lost) = (BTreeMap::<u64, Vec<(HttpPart, u64)>>::new(), 0);
        for piece in taken.iter().flat_map(Segment::iter) {
            match piece.unwrap() {
                Piece::Http { exchange, part, bytes, .. } => {
                    kept.entry(exchange).or_default().push((part, bytes.len() as u64));
                }
                Piece::HttpGap { exchange, part, n_bytes, .. } => {
                    kept.entry(exchange).or_default().push((part, n_bytes));
                    n_lost += n_bytes;
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        for (exchange, parts) in passed {
            match kept.get(&exchange) {
                Some(kept) => prop_assert_eq!(kept, &parts),
                None => n_lost += parts.iter().map(|(_, n_bytes)| n_bytes).sum::<u64>(),
            }
        }
        prop_assert_eq!(copies.lost_bytes(), n_lost);
    }
}

#[test]
fn what_is_kept_is_bounded_however_long_nobody_takes() {
    let copies = Copies::new(Clock::start(), 1000, 1000);
    // One that began in time goes on all the while.
    copies.offer_http(1, HttpPart::Request, 0, b"GET");
    for exchange in 2..100_000 {
        copies.offer_http(exchange, HttpPart::Request, exchange, &[b'x'; 100]);
        copies.offer_http(1, HttpPart::ResponseBody, exchange, b"more");
        copies.offer_http(exchange, HttpPart::RequestEnd, exchange, b"");
        copies.offer_http(exchange, HttpPart::End, exchange, &[1]);
    }
    let state = copies.state();
    assert!(state.held_bytes() < 1200, "{}", state.held_bytes());
    assert!(state.late.len() <= LATE_PARTS + 4, "{}", state.late.len());
    assert!(state.left_out.is_empty());
    drop(state);
    let segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
    assert!(segments.iter().map(Segment::weight).sum::<usize>() < 1 << 20);
    copies.offer_http(100_000, HttpPart::Request, 100_000, b"kept again");
    let kept = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
    assert!(kept[0].bytes.ends_with(b"kept again"));
}

#[test]
fn wakes_an_idle_taker_at_once_and_a_gathering_one_only_when_it_is_urgent() {
    let copies = Copies::new(Clock::start(), 1000, 100);
    for (taker, n_bytes, expected) in [
        (Taker::Away, 500, Taker::Away),
        (Taker::Idle, 1, Taker::Away),
        (Taker::Gathering, 1, Taker::Gathering),
        (Taker::Gathering, 200, Taker::Away),
    ] {
        let _ = copies.take(NOT_AT_ALL, NOT_AT_ALL);
        copies.state().taker = taker;
        copies.offer(Stream::ToClient, 0, &vec![0; n_bytes]);
        assert_eq!(copies.state().taker, expected, "{taker:?} {n_bytes}");
    }
}

#[test]
fn a_taker_in_another_thread_gets_everything_and_the_end() {
    let copies = std::sync::Arc::new(Copies::new(Clock::start(), 1 << 20, 1 << 19));
    let theirs = copies.clone();
    let taker = std::thread::spawn(move || {
        let mut all = vec![];
        loop {
            let taken = theirs.take(Duration::from_millis(1), Duration::from_secs(30));
            all.extend(taken.segments);
            if taken.closed {
                return all;
            }
        }
    });
    for number in 0..10_000u64 {
        copies.offer(Stream::ToClient, number, &number.to_le_bytes());
    }
    copies.close();
    let expected: Vec<Option<u8>> = (0..10_000u64).flat_map(u64::to_le_bytes).map(Some).collect();
    assert_eq!(streams(&taker.join().unwrap())[1], expected);
}

#[test]
fn an_act_is_kept_with_what_was_sent_as_long_as_there_is_room_and_without_it_where_there_is_none() {
    let copies = Copies::new(Clock::start(), 200, 200);
    let act = |n_bytes| Act {
        message: Some(7),
        bytes: vec![b'x'; n_bytes].into(),
        ..Act::new(Deed::Edited, Stream::ToServer, "breakpoint 1")
    };
    copies.offer(Stream::ToServer, 1, b"abc");
    copies.offer_act(None, 2, &act(5));
    copies.offer(Stream::ToServer, 3, &[b'y'; 300]);
    copies.offer_act(Some(9), 4, &act(100));
    assert_eq!(copies.lost_bytes(), 400);
    let segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
    let acts: Vec<_> = segments
        .iter()
        .flat_map(Segment::iter)
        .filter_map(|piece| match piece.unwrap() {
            Piece::Act { exchange, at_ns, bytes, .. } => Some((exchange, at_ns, Act::read(bytes).unwrap())),
            _ => None,
        })
        .collect();
    let without = Act { lost_bytes: 100, ..act(0) };
    assert_eq!(acts, [(None, 2, act(5)), (Some(9), 4, without)]);
    let kept: Vec<u8> = streams(&segments)[0].iter().map(|byte| byte.unwrap_or(b'.')).collect();
    assert_eq!(kept.len(), 303, "the gap is told before the act that follows it");
}

#[test]
fn acts_alone_cannot_take_all_memory() {
    let copies = Copies::new(Clock::start(), 100, 100);
    let act = Act::new(Deed::Dropped, Stream::ToServer, "x".repeat(2000));
    for at_ns in 0..2000 {
        copies.offer_act(None, at_ns, &act);
    }
    let kept: usize = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments.iter().map(|segment| segment.bytes.len()).sum();
    assert!(kept < ACT_ROOM_BYTES + 4096, "{kept} bytes are kept");
    assert_eq!(kept as u64 + copies.lost_bytes(), 2000 * act.to_text().len() as u64);
}
