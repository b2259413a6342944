//! Made-up traffic for this crate's tests: three streams, cut and packed in every way that a recording can be.

use proptest::prelude::*;
use tap_frame::{Segment, Stream};

use crate::{Cutter, Event, FrameHead, Gatherer, Reading, Recorded};

/// One thing that passed, and whether a new segment begins with it.
#[derive(Debug, Clone)]
pub(crate) struct Passed {
    pub(crate) what: What,
    pub(crate) at_ns: u64,
    pub(crate) wall_ns: u64,
    pub(crate) border: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    Chunk(Stream, Vec<u8>),
    Gap(Stream, u64),
    End(Stream),
}

pub(crate) fn stream() -> impl Strategy<Value = Stream> {
    (0..3usize).prop_map(|code| Stream::ALL[code])
}

/// Bytes that look like traffic: messages that pair, in pieces, with line endings here and there.
pub(crate) fn some_bytes() -> impl Strategy<Value = Vec<u8>> {
    let id = prop_oneof![Just("1"), Just("2"), Just("1.0"), Just("\"1\""), Just("null"), Just("{}")];
    let token = prop_oneof![
        4 => Just(b"\n".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        3 => id.clone().prop_map(|id| {
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo"}}}}"#).into_bytes()
        }),
        3 => id.clone().prop_map(|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#).into_bytes()),
        1 => id.clone().prop_map(|id| format!(r#"{{"id":{id},"error":{{"code":-32601}}}}"#).into_bytes()),
        1 => id.prop_map(|id| format!(r#"[{{"id":{id},"method":"a"}},{{"id":{id},"result":1}}]"#).into_bytes()),
        1 => Just(br#"{"id":0,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#.to_vec()),
        2 => prop::collection::vec(any::<u8>(), 0..6),
    ];
    let whole = prop::collection::vec(token, 0..5).prop_map(|tokens| tokens.concat());
    // Often a piece of it only, so that lines go over from chunk to chunk.
    (whole, any::<prop::sample::Index>(), any::<bool>()).prop_map(|(mut bytes, index, shorten)| {
        if shorten && !bytes.is_empty() {
            bytes.truncate(index.index(bytes.len()));
        }
        bytes
    })
}

/// Anything that a recording can hold. The session's clock may go back a little, as when two pumps hurry for the lock.
pub(crate) fn passed() -> impl Strategy<Value = Vec<Passed>> {
    let what = prop_oneof![
        12 => (stream(), some_bytes()).prop_map(|(stream, bytes)| What::Chunk(stream, bytes)),
        1 => (stream(), 0..1000u64).prop_map(|(stream, n_bytes)| What::Gap(stream, n_bytes)),
        1 => stream().prop_map(What::End),
    ];
    let wall_step = prop_oneof![8 => Just(0i64), 1 => -1_000_000..1_000_000i64];
    prop::collection::vec((what, -2..20i64, wall_step, prop::bool::weighted(0.3)), 0..30).prop_map(|all| {
        let (mut at, mut ahead) = (100i64, 1_700_000_000_000_000_000i64);
        let passed = all.into_iter().map(|(what, step, wall_step, border)| {
            at += step;
            ahead += wall_step;
            Passed { what, at_ns: at.max(0) as u64, wall_ns: (at + ahead) as u64, border }
        });
        passed.collect()
    })
}

pub(crate) fn pack(passed: &[Passed]) -> Vec<Segment> {
    let mut segments = vec![Segment::default()];
    for Passed { what, at_ns, wall_ns, border } in passed {
        if *border {
            segments.push(Segment::default());
        }
        let segment = segments.last_mut().unwrap();
        match what {
            What::Chunk(stream, bytes) => segment.push_chunk(*stream, *at_ns, *wall_ns, bytes),
            What::Gap(stream, n_bytes) => segment.push_gap(*stream, *at_ns, *wall_ns, *n_bytes),
            What::End(stream) => segment.push_end(*stream, *at_ns, *wall_ns),
        }
    }
    segments
}

/// All frames of a whole recording: their heads, and with their bytes.
pub(crate) fn cut(segments: &[Segment]) -> (Vec<FrameHead>, Vec<Recorded>) {
    let (mut cutter, mut gatherer) = (Cutter::default(), Gatherer::default());
    let (mut heads, mut recorded) = (Vec::new(), Vec::new());
    let mut sink = |cut: crate::Cut<'_>| {
        if let crate::Cut::Frame(head) = cut {
            heads.push(head);
        }
        recorded.extend(gatherer.take(cut));
    };
    for segment in segments {
        cutter.feed(segment, &mut sink).unwrap();
    }
    cutter.finish(&mut sink);
    (heads, recorded)
}

/// Feeds `segments` and gives back what each frame meant.
pub(crate) fn read(reading: &mut Reading, segments: &[Segment]) -> Vec<(FrameHead, Vec<Event>)> {
    let mut meant = Vec::new();
    for segment in segments {
        reading.feed(segment, &mut |head, events| meant.push((*head, std::mem::take(events)))).unwrap();
    }
    meant
}

/// What is still open ends.
pub(crate) fn finish(mut reading: Reading) -> Vec<(FrameHead, Vec<Event>)> {
    let mut meant = Vec::new();
    reading.finish(&mut |head, events| meant.push((*head, std::mem::take(events))));
    meant
}
