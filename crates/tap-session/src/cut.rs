//! Segments to frames: the one place that says where a frame begins and ends.
//!
//! Nothing is held back and nothing is copied: the cutter hands on each part of a frame as it meets it, and then says
//! that the frame is complete. Who wants bytes gathers them; who only wants to know what a frame is (and a frame may be
//! 200 MiB long) feeds the parts to a scanner.
//!
//! Source of the framing: MCP 2026-07-28, basic/transports/stdio (a message is a line that ends in `\n`; the same words
//! hold in every revision). stderr has no framing of its own; it is cut into lines, and a line after 64 KiB.

use tap_frame::{Act, Channel, Origin, Piece, Segment, SegmentError, Stream};
use tap_jsonrpc::parts;

/// The longest stderr frame, bytes. stderr may never send a newline, and nobody reads a longer line in one piece.
pub const STDERR_FRAME_BYTES: u64 = 64 * 1024;

/// Where in a session's segments a frame's first byte lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The segment's number, counted from 0.
    pub segment: u64,
    /// Offset in [`Segment::bytes`].
    pub offset: u64,
}

/// Why a frame ended where it did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FrameEnd {
    /// Where it should: a line at its newline, an event at its empty line, a body of HTTP with its exchange.
    Newline,
    /// The stream ended before that.
    StreamEnd,
    /// The recording has a gap here, or is itself the gap.
    Gap,
    /// A stderr line reached [`STDERR_FRAME_BYTES`], or what was sent over HTTP was too long to be kept in memory whole.
    TooLong,
    /// The recording stops in the middle: the tap was killed.
    RecordingEnd,
}

/// All about a frame but its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Position among the session's frames, from 1.
    pub seq: u64,
    /// Nanoseconds since the Unix epoch when it was complete: at its last read, or when its stream ended.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened, at the same moment.
    pub at_ns: u64,
    /// Its stream.
    pub stream: Stream,
    /// How it came to be there.
    pub origin: Origin,
    /// Where its first byte lies.
    pub start: Place,
    /// Length with its line ending, bytes.
    pub length: u64,
    /// Why it ended.
    pub end: FrameEnd,
    /// Its beginning was lost in a gap.
    pub torn: bool,
    /// How many bytes of its stream were received before it since the session began, lost ones included. An act is not
    /// received.
    pub received: u64,
}

/// What the cutter meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut<'a> {
    /// More of the stream's open frame.
    Part {
        /// The stream.
        stream: Stream,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// The stream's open frame is complete.
    Frame(FrameHead),
    /// Something was done to the traffic.
    Act {
        /// As of a frame. It starts where the text does, and is as long.
        head: FrameHead,
        /// The text of the act.
        text: &'a [u8],
    },
    /// The stream ended. Its open frame, if there was one, came before.
    End {
        /// The stream.
        stream: Stream,
        /// Nanoseconds since the session opened.
        at_ns: u64,
    },
}

/// Where a cutter stands between two segments, in a form that can be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// How many frames were completed.
    pub n_frames: u64,
    /// The number of the segment to be fed next.
    pub next_segment: u64,
    /// By stream code: the frame that is open.
    pub open: [Option<OpenFrame>; 3],
    /// By stream code: the next byte continues a line whose beginning was lost.
    pub torn: [bool; 3],
    /// The clocks of the newest piece.
    pub newest: Moment,
    /// By stream code: how many bytes were received, lost ones included.
    pub received: [u64; 3],
}

/// One moment on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// Nanoseconds since the Unix epoch.
    pub wall_ns: u64,
}

/// A frame whose end has not been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFrame {
    /// Where it begins.
    pub start: Place,
    /// Bytes up to now.
    pub length: u64,
}

/// Cuts a session's segments into frames. Feed them in order.
#[derive(Debug, Clone, Default)]
pub struct Cutter {
    position: Position,
    /// Segments below this one were seen before a [`resume`](Self::resume).
    resumed_at: u64,
}

impl Cutter {
    /// A cutter that goes on where another one stood.
    ///
    /// Feed it from [`first_segment_needed`](Self::first_segment_needed) on. Of segments that were seen before it only
    /// repeats the parts of frames that are still open.
    #[must_use]
    pub fn resume(position: Position) -> Self {
        let mut cutter = Self { position, resumed_at: position.next_segment };
        let first_open = position.open.iter().flatten().map(|open| open.start.segment).min();
        cutter.position.next_segment =
            first_open.map_or(position.next_segment, |first| first.min(position.next_segment));
        cutter
    }

    /// The number of the segment to be fed next.
    #[must_use]
    pub fn first_segment_needed(&self) -> u64 {
        self.position.next_segment
    }

    /// Where the cutter stands. While it still repeats what was seen before it was resumed, that is where it was resumed.
    #[must_use]
    pub fn position(&self) -> Position {
        Position { next_segment: self.position.next_segment.max(self.resumed_at), ..self.position }
    }

    /// Takes the next segment and hands what is in it to `sink`, in order.
    ///
    /// # Errors
    ///
    /// When the segment is damaged; what comes before the damage has been handed on, the rest of it is skipped.
    pub fn feed(&mut self, segment: &Segment, sink: &mut impl FnMut(Cut<'_>)) -> Result<(), SegmentError> {
        let number = self.position.next_segment;
        self.position.next_segment += 1;
        if number < self.resumed_at {
            return self.repeat(number, segment, sink);
        }
        for piece in segment {
            let piece = piece?;
            let at_ns = piece.at_ns();
            // Two pumps take the clock before they take the lock. A segment sets that right among its own pieces, but its
            // first one may still be a little older than the last one of the segment before.
            let at_ns = at_ns.max(self.position.newest.at_ns);
            let wall_ns = segment.wall_ns.saturating_add(at_ns - segment.at_ns);
            self.take(number, Moment { at_ns, wall_ns }, &piece, sink);
        }
        Ok(())
    }

    /// Takes one piece of the segment with this number, for whoever reads pieces of other kinds beside. `moment` is the
    /// piece's, on clocks of which that of the session does not go back.
    pub fn take(&mut self, segment: u64, moment: Moment, piece: &Piece<'_>, sink: &mut impl FnMut(Cut<'_>)) {
        self.position.newest = moment;
        match *piece {
            Piece::Chunk { stream, offset, bytes, .. } => {
                self.chunk(stream, Place { segment, offset: offset as u64 }, bytes, sink);
            }
            Piece::Gap { stream, n_bytes, .. } => {
                self.complete(stream, FrameEnd::Gap, sink);
                let gap = OpenFrame { start: Place { segment, offset: 0 }, length: 0 };
                let received = &mut self.position.received[usize::from(stream.code())];
                let before = *received;
                *received = before.saturating_add(n_bytes);
                let head = self.head(stream, gap, Origin::Gap(n_bytes), FrameEnd::Gap);
                sink(Cut::Frame(FrameHead { received: before, ..head }));
                self.position.torn[usize::from(stream.code())] = true;
            }
            Piece::End { stream, .. } => {
                self.complete(stream, FrameEnd::StreamEnd, sink);
                sink(Cut::End { stream, at_ns: moment.at_ns });
            }
            Piece::Act { exchange: None, offset, bytes: text, .. } => {
                // What makes no sense is left out: the segment itself is sound.
                if let Some(done) = Act::read_head(text) {
                    let start = Place { segment, offset: offset as u64 };
                    let act = OpenFrame { start, length: text.len() as u64 };
                    let head = self.head(done.sent_on(), act, Origin::Act(done.deed), FrameEnd::Newline);
                    sink(Cut::Act { head, text });
                }
            }
            // Of a recording over HTTP, which `tap-exchange` reads.
            Piece::Http { .. } | Piece::HttpGap { .. } | Piece::Act { .. } => {}
        }
    }

    /// Says that no segment will follow: frames that are still open end here.
    pub fn finish(&mut self, sink: &mut impl FnMut(Cut<'_>)) {
        for stream in Stream::ALL {
            self.complete(stream, FrameEnd::RecordingEnd, sink);
        }
    }

    fn chunk(&mut self, stream: Stream, place: Place, chunk: &[u8], sink: &mut impl FnMut(Cut<'_>)) {
        let mut place = place;
        for part in parts(chunk) {
            let mut bytes = part.bytes;
            while !bytes.is_empty() {
                let fresh = OpenFrame { start: place, length: 0 };
                let open = self.position.open[usize::from(stream.code())].get_or_insert(fresh);
                let room = match stream.channel() {
                    Channel::Message => usize::MAX,
                    Channel::Stderr => usize::try_from(STDERR_FRAME_BYTES - open.length).unwrap_or(usize::MAX),
                };
                let (now, later) = bytes.split_at(bytes.len().min(room));
                open.length += now.len() as u64;
                self.position.received[usize::from(stream.code())] += now.len() as u64;
                place.offset += now.len() as u64;
                sink(Cut::Part { stream, bytes: now });
                if later.is_empty() && part.ends_line {
                    self.complete(stream, FrameEnd::Newline, sink);
                } else if now.len() == room {
                    self.complete(stream, FrameEnd::TooLong, sink);
                }
                bytes = later;
            }
        }
    }

    /// Completes the stream's open frame, if there is one.
    fn complete(&mut self, stream: Stream, end: FrameEnd, sink: &mut impl FnMut(Cut<'_>)) {
        if let Some(open) = self.position.open[usize::from(stream.code())].take() {
            let head = self.head(stream, open, Origin::Wire, end);
            let torn = std::mem::take(&mut self.position.torn[usize::from(stream.code())]);
            sink(Cut::Frame(FrameHead { torn, received: head.received.saturating_sub(open.length), ..head }));
        }
    }

    /// A frame's clocks are those of the piece that completed it, so they never go back from frame to frame.
    fn head(&mut self, stream: Stream, frame: OpenFrame, origin: Origin, end: FrameEnd) -> FrameHead {
        self.position.n_frames += 1;
        let Moment { at_ns, wall_ns } = self.position.newest;
        let OpenFrame { start, length } = frame;
        let (seq, received) = (self.position.n_frames, self.position.received[usize::from(stream.code())]);
        FrameHead { seq, wall_ns, at_ns, stream, origin, start, length, end, torn: false, received }
    }

    /// Hands on what of a segment seen before belongs to frames that are still open.
    fn repeat(&self, number: u64, segment: &Segment, sink: &mut impl FnMut(Cut<'_>)) -> Result<(), SegmentError> {
        for piece in segment {
            if let Piece::Chunk { stream, offset, bytes, .. } = piece?
                && let Some(open) = self.position.open[usize::from(stream.code())]
            {
                let end = Place { segment: number, offset: (offset + bytes.len()) as u64 };
                if open.start < end {
                    let skip = match open.start.segment == number {
                        true => usize::try_from(open.start.offset).unwrap_or(usize::MAX).saturating_sub(offset),
                        false => 0,
                    };
                    sink(Cut::Part { stream, bytes: bytes.get(skip..).unwrap_or_default() });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
