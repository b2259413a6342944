//! Segments to frames: the one place that says where a frame begins and ends.
//!
//! Nothing is held back and nothing is copied: the cutter hands on each part of a frame as it meets it, and then says
//! that the frame is complete. Who wants bytes gathers them; who only wants to know what a frame is (and a frame may be
//! 200 MiB long) feeds the parts to a scanner.
//!
//! Source of the framing: MCP 2026-07-28, basic/transports/stdio (a message is a line that ends in `\n`; the same words
//! hold in every revision). stderr has no framing of its own; it is cut into lines, and a line after 64 KiB.

use tap_frame::{Channel, Origin, Piece, Segment, SegmentError, Stream};
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
    /// At its newline.
    Newline,
    /// The stream ended without one.
    StreamEnd,
    /// The recording has a gap here, or is itself the gap.
    Gap,
    /// A stderr line reached [`STDERR_FRAME_BYTES`].
    TooLong,
    /// The recording stops in the middle: the tap was killed.
    RecordingEnd,
}

/// All about a frame but its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    /// Position among the session's frames, from 1.
    pub seq: u64,
    /// Nanoseconds since the Unix epoch at the read that completed it.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened at the same read.
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
}

/// A frame whose end has not been seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFrame {
    /// Where it begins.
    pub start: Place,
    /// Bytes up to now.
    pub length: u64,
    /// The clock of its newest byte, nanoseconds since the session opened.
    pub at_ns: u64,
    /// The same moment on the wall clock.
    pub wall_ns: u64,
}

/// Cuts a session's segments into frames. Feed them in order.
#[derive(Debug, Default)]
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

    /// Where the cutter stands. Not to be asked while it still repeats what it saw before it was resumed.
    #[must_use]
    pub fn position(&self) -> Position {
        self.position
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
            match piece? {
                Piece::Chunk { stream, at_ns, offset, bytes } => {
                    let wall_ns = segment.wall_ns.saturating_add(at_ns - segment.at_ns);
                    self.chunk(
                        stream,
                        Moment { at_ns, wall_ns },
                        Place { segment: number, offset: offset as u64 },
                        bytes,
                        sink,
                    );
                }
                Piece::Gap { stream, at_ns, n_bytes } => {
                    let wall_ns = segment.wall_ns.saturating_add(at_ns - segment.at_ns);
                    let moment = Moment { at_ns, wall_ns };
                    self.complete(stream, FrameEnd::Gap, sink);
                    let start = Place { segment: number, offset: 0 };
                    self.emit(stream, moment, start, 0, Origin::Gap(n_bytes), FrameEnd::Gap, sink);
                    self.position.torn[usize::from(stream.code())] = true;
                }
                Piece::End { stream, at_ns } => {
                    self.complete(stream, FrameEnd::StreamEnd, sink);
                    sink(Cut::End { stream, at_ns });
                }
            }
        }
        Ok(())
    }

    /// Says that no segment will follow: frames that are still open end here.
    pub fn finish(&mut self, sink: &mut impl FnMut(Cut<'_>)) {
        for stream in Stream::ALL {
            self.complete(stream, FrameEnd::RecordingEnd, sink);
        }
    }

    fn chunk(&mut self, stream: Stream, moment: Moment, place: Place, chunk: &[u8], sink: &mut impl FnMut(Cut<'_>)) {
        let Moment { at_ns, wall_ns } = moment;
        let mut offset = place.offset;
        for part in parts(chunk) {
            let mut bytes = part.bytes;
            while !bytes.is_empty() {
                let open = self.position.open[usize::from(stream.code())].get_or_insert(OpenFrame {
                    start: Place { segment: place.segment, offset },
                    length: 0,
                    at_ns,
                    wall_ns,
                });
                let room = match stream.channel() {
                    Channel::Message => usize::MAX,
                    Channel::Stderr => usize::try_from(STDERR_FRAME_BYTES - open.length).unwrap_or(usize::MAX),
                };
                let (now, later) = bytes.split_at(bytes.len().min(room));
                open.length += now.len() as u64;
                open.at_ns = at_ns;
                open.wall_ns = wall_ns;
                offset += now.len() as u64;
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
            let moment = Moment { at_ns: open.at_ns, wall_ns: open.wall_ns };
            self.emit(stream, moment, open.start, open.length, Origin::Wire, end, sink);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a frame's head, each from another place")]
    fn emit(
        &mut self,
        stream: Stream,
        Moment { at_ns, wall_ns }: Moment,
        start: Place,
        length: u64,
        origin: Origin,
        end: FrameEnd,
        sink: &mut impl FnMut(Cut<'_>),
    ) {
        let torn = origin == Origin::Wire && std::mem::take(&mut self.position.torn[usize::from(stream.code())]);
        self.position.n_frames += 1;
        sink(Cut::Frame(FrameHead {
            seq: self.position.n_frames,
            wall_ns,
            at_ns,
            stream,
            origin,
            start,
            length,
            end,
            torn,
        }));
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

#[derive(Debug, Clone, Copy)]
struct Moment {
    at_ns: u64,
    wall_ns: u64,
}
