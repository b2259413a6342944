//! Pieces to segments, for what is imported.

use tap_frame::{Act, HttpPart, SEGMENT_BYTES, Segment, Stream};

/// What is imported of a recording over HTTP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Item {
    /// Bytes of stderr.
    Chunk(Vec<u8>),
    /// Bytes of stderr that were not recorded.
    Gap(u64),
    /// stderr ended.
    End,
    /// A part of an exchange, or a piece of one.
    Http(u64, HttpPart, Vec<u8>),
    /// Bytes of an exchange that were not recorded.
    HttpGap(u64, HttpPart, u64),
    /// Something was done in an exchange.
    Act(u64, Act),
}

/// An item, and when it passed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passed {
    pub(super) at_ns: u64,
    /// `None` where the wall clock ran with that of the session.
    pub(super) wall_ns: Option<u64>,
    pub(super) item: Item,
}

/// Packs what passed into segments. `opened_unix_ns` is when the session opened, nanoseconds since the Unix epoch.
pub(super) fn segments_of<E>(
    opened_unix_ns: u64,
    passed: impl Iterator<Item = Result<Passed, E>>,
) -> impl Iterator<Item = Result<Segment, E>> {
    let mut passed = passed.fuse();
    let mut put_off = None;
    // Within a segment the wall clock runs with that of the session. Where somebody set it, a new segment begins.
    let mut ahead_ns = opened_unix_ns;
    std::iter::from_fn(move || {
        let mut segment = Segment::default();
        while segment.weight() < SEGMENT_BYTES {
            let Passed { at_ns, wall_ns, item } = match put_off.take().map(Ok).or_else(|| passed.next()) {
                Some(Ok(passed)) => passed,
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            };
            let wall_ns = wall_ns.unwrap_or_else(|| opened_unix_ns.saturating_add(at_ns));
            let this_ns = wall_ns.wrapping_sub(at_ns);
            if ahead_ns != this_ns && !segment.is_empty() {
                put_off = Some(Passed { at_ns, wall_ns: Some(wall_ns), item });
                break;
            }
            ahead_ns = this_ns;
            match item {
                Item::Chunk(bytes) => segment.push_chunk(Stream::Stderr, at_ns, wall_ns, &bytes),
                Item::Gap(lost) => segment.push_gap(Stream::Stderr, at_ns, wall_ns, lost),
                Item::End => segment.push_end(Stream::Stderr, at_ns, wall_ns),
                Item::Http(exchange, part, bytes) => segment.push_http(exchange, part, at_ns, wall_ns, &bytes),
                Item::Act(exchange, act) => {
                    segment.push_act(Some(exchange), act.sent_on(), at_ns, wall_ns, &act.to_text(), &[]);
                }
                Item::HttpGap(exchange, part, lost) => segment.push_http_gap(exchange, part, at_ns, wall_ns, lost),
            }
        }
        (!segment.is_empty()).then_some(Ok(segment))
    })
}
