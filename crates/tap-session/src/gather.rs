//! Segments to whole frames with their bytes, and back.

use bytes::{Bytes, BytesMut};
use tap_frame::{Frame, Origin, SEGMENT_BYTES, Segment, Stream};

use crate::cut::Cut;

/// Something recorded, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// A frame.
    Frame(Frame),
    /// A stream ended.
    End {
        /// The stream.
        stream: Stream,
        /// Nanoseconds since the session opened.
        at_ns: u64,
    },
}

/// Gathers the parts that a [`Cutter`](crate::Cutter) hands on. Holds the bytes of frames that are open.
#[derive(Debug, Clone, Default)]
pub struct Gatherer {
    open: [BytesMut; 3],
}

impl Gatherer {
    /// How many bytes of frames that are open are held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.open.iter().map(BytesMut::len).sum()
    }

    /// Takes what the cutter met, and gives back what it completed.
    pub fn take(&mut self, cut: Cut<'_>) -> Option<Recorded> {
        let (head, bytes) = match cut {
            Cut::Part { stream, bytes } => {
                self.open[usize::from(stream.code())].extend_from_slice(bytes);
                return None;
            }
            Cut::Frame(head) if head.origin == Origin::Wire => {
                (head, self.open[usize::from(head.stream.code())].split().freeze())
            }
            Cut::Frame(head) => (head, Bytes::new()),
            Cut::Act { head, text } => (head, Bytes::copy_from_slice(text)),
            Cut::End { stream, at_ns } => return Some(Recorded::End { stream, at_ns }),
        };
        Some(Recorded::Frame(Frame {
            seq: head.seq,
            wall_ns: head.wall_ns,
            at_ns: head.at_ns,
            stream: head.stream,
            origin: head.origin,
            bytes,
        }))
    }
}

/// Packs what was recorded into segments again. Cutting these gives the same frames.
///
/// `opened_unix_ns` is when the session opened, nanoseconds since the Unix epoch.
pub fn segments_of<E>(
    opened_unix_ns: u64,
    recorded: impl Iterator<Item = Result<Recorded, E>>,
) -> impl Iterator<Item = Result<Segment, E>> {
    let mut recorded = recorded.fuse();
    let mut put_off = None;
    // How far the wall clock is ahead of the session's clock. Within a segment the two run alike, so where this changes,
    // because somebody set the wall clock, a new segment begins.
    let mut ahead_ns = opened_unix_ns;
    std::iter::from_fn(move || {
        let mut segment = Segment::default();
        while segment.weight() < SEGMENT_BYTES {
            let item = match put_off.take().map(Ok).or_else(|| recorded.next()) {
                Some(Ok(item)) => item,
                Some(Err(error)) => return Some(Err(error)),
                None => break,
            };
            match item {
                Recorded::Frame(frame) => {
                    let this_ns = frame.wall_ns.wrapping_sub(frame.at_ns);
                    if ahead_ns != this_ns && !segment.is_empty() {
                        put_off = Some(Recorded::Frame(frame));
                        break;
                    }
                    ahead_ns = this_ns;
                    match frame.origin {
                        Origin::Wire => segment.push_chunk(frame.stream, frame.at_ns, frame.wall_ns, &frame.bytes),
                        Origin::Gap(lost) => segment.push_gap(frame.stream, frame.at_ns, frame.wall_ns, lost),
                        Origin::Act(_) => {
                            segment.push_act(None, frame.stream, frame.at_ns, frame.wall_ns, &frame.bytes, &[]);
                        }
                    }
                }
                Recorded::End { stream, at_ns } => segment.push_end(stream, at_ns, at_ns.wrapping_add(ahead_ns)),
            }
        }
        (!segment.is_empty()).then_some(Ok(segment))
    })
}

#[cfg(test)]
mod tests;
