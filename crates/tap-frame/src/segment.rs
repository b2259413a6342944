//! A segment: a stretch of what passed, from all streams in the order in which it passed, in one flat buffer.
//!
//! The data path appends to a segment and the recorder stores it as it is, so that keeping a message costs one copy of
//! its bytes and no allocation. Cutting segments into frames happens later, off the data path.
//!
//! Layout of `pieces`, one entry a piece, all numbers as LEB128 (seven bits a byte, lowest first, top bit: more follows):
//! `tag`, `nanoseconds since the previous piece` (since `at_ns` for the first), `length`. The tag's low two bits are the
//! stream's code, the next two say what it is: 0 chunk (its bytes are the next `length` of `bytes`), 1 gap (`length`
//! bytes passed that were not kept), 2 end of the stream (length 0), 3 an [act](crate::Act) on the stream (its text is the
//! next `length` of `bytes`; since schema 4).
//!
//! Where the low two bits are 3, it is a piece of an HTTP exchange: the next three bits are the [code](HttpPart::code) of
//! the part, the bit above them says that it is a gap, and the exchange's number follows the tag, before the nanoseconds.
//! In place of a part's code, 7 says that it is an act on a message of the exchange (since schema 4). The layout is part of the database format.

use crate::Stream;
use crate::http::HttpPart;

/// How many bytes a segment holds before the next one should be begun.
///
/// Large enough that a row's cost is spread over a thousand small messages, small enough that reading one message does
/// not drag in megabytes.
pub const SEGMENT_BYTES: usize = 256 * 1024;

const CHUNK: u8 = 0;
const GAP: u8 = 1;
const END: u8 = 2;
const ACT: u8 = 3;

/// In place of a stream's code: a piece of an HTTP exchange.
const HTTP: u8 = 3;
/// Of such a piece: bytes that were not kept.
const HTTP_GAP: u8 = 1 << 5;
/// Of such a piece: an act, in place of the code of a part.
const HTTP_ACT: u8 = 7;

/// A stretch of recorded traffic: what passed on all streams, in order, with the clock of every read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Segment {
    /// Nanoseconds since the Unix epoch at the first piece.
    pub wall_ns: u64,
    /// Nanoseconds since the session opened at the first piece.
    pub at_ns: u64,
    /// The piece headers; the layout is in this file's header.
    pub pieces: Vec<u8>,
    /// The chunks' bytes, one after the other.
    pub bytes: Vec<u8>,
    /// The clock of the newest piece, from which the next one's distance is counted.
    newest_ns: u64,
}

/// One entry of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Bytes that one read returned.
    Chunk {
        /// Where they came from.
        stream: Stream,
        /// Nanoseconds since the session opened.
        at_ns: u64,
        /// Where the bytes begin in [`Segment::bytes`].
        offset: usize,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes that passed but were not kept.
    Gap {
        /// Where they came from.
        stream: Stream,
        /// Nanoseconds since the session opened.
        at_ns: u64,
        /// How many.
        n_bytes: u64,
    },
    /// The stream ended.
    End {
        /// Which one.
        stream: Stream,
        /// Nanoseconds since the session opened.
        at_ns: u64,
    },
    /// A part of an HTTP exchange, or a piece of one.
    Http {
        /// Which exchange; they are counted from 1.
        exchange: u64,
        /// Which part.
        part: HttpPart,
        /// Nanoseconds since the session opened.
        at_ns: u64,
        /// Where the bytes begin in [`Segment::bytes`].
        offset: usize,
        /// The bytes.
        bytes: &'a [u8],
    },
    /// Bytes of an HTTP exchange that passed but were not kept.
    HttpGap {
        /// Which exchange.
        exchange: u64,
        /// Of which part.
        part: HttpPart,
        /// Nanoseconds since the session opened.
        at_ns: u64,
        /// How many.
        n_bytes: u64,
    },
    /// Something that was done to the traffic: [`Act::read`](crate::Act::read) says what.
    Act {
        /// Over HTTP: the exchange that it was done in.
        exchange: Option<u64>,
        /// Nanoseconds since the session opened.
        at_ns: u64,
        /// Where the text begins in [`Segment::bytes`].
        offset: usize,
        /// The text of the act.
        bytes: &'a [u8],
    },
}

impl Piece<'_> {
    /// Nanoseconds since the session opened.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        match *self {
            Self::Chunk { at_ns, .. }
            | Self::Gap { at_ns, .. }
            | Self::End { at_ns, .. }
            | Self::Http { at_ns, .. }
            | Self::HttpGap { at_ns, .. }
            | Self::Act { at_ns, .. } => at_ns,
        }
    }
}

/// A stored segment that does not follow the layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SegmentError {
    /// The header at this offset of `pieces` is cut short, or names no stream or no kind of piece.
    BadHeader {
        /// Offset in `pieces`, bytes.
        offset: usize,
    },
    /// The header at this offset speaks of more bytes than there are.
    MissingBytes {
        /// Offset in `pieces`, bytes.
        offset: usize,
    },
}

impl std::fmt::Display for SegmentError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BadHeader { offset } => write!(f, "piece header at byte {offset} makes no sense"),
            Self::MissingBytes { offset } => {
                write!(f, "piece header at byte {offset} promises more bytes than there are")
            }
        }
    }
}

impl std::error::Error for SegmentError {}

impl Segment {
    /// An empty segment with room for what it will hold, so that it need not move while it grows: [`SEGMENT_BYTES`] and
    /// one more read of `read_bytes`.
    #[must_use]
    pub fn with_room(read_bytes: usize) -> Self {
        Self { bytes: Vec::with_capacity(SEGMENT_BYTES + read_bytes), ..Self::default() }
    }

    /// A segment as it was stored.
    #[must_use]
    pub fn from_stored(wall_ns: u64, at_ns: u64, pieces: Vec<u8>, bytes: Vec<u8>) -> Self {
        Self { wall_ns, at_ns, pieces, bytes, newest_ns: at_ns }
    }

    /// Whether nothing was appended yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Bytes of memory that the segment's content takes, and a little for the segment itself if there is any.
    #[must_use]
    pub fn weight(&self) -> usize {
        match self.pieces.len() + self.bytes.len() {
            0 => 0,
            content => content + size_of::<Self>(),
        }
    }

    /// Gives back the memory that is not filled.
    pub fn shrink(&mut self) {
        self.pieces.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }

    /// Makes the segment empty again, keeping its memory.
    pub fn clear(&mut self) {
        self.pieces.clear();
        self.bytes.clear();
    }

    /// Appends what one read returned. `wall_ns` counts for the first piece only.
    pub fn push_chunk(&mut self, stream: Stream, at_ns: u64, wall_ns: u64, bytes: &[u8]) {
        self.push_header(CHUNK, stream, at_ns, wall_ns, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the fact that `n_bytes` passed here which were not kept.
    pub fn push_gap(&mut self, stream: Stream, at_ns: u64, wall_ns: u64, n_bytes: u64) {
        self.push_header(GAP, stream, at_ns, wall_ns, n_bytes);
    }

    /// Appends the fact that the stream ended.
    pub fn push_end(&mut self, stream: Stream, at_ns: u64, wall_ns: u64) {
        self.push_header(END, stream, at_ns, wall_ns, 0);
    }

    /// Appends a part of an HTTP exchange, or a piece of one.
    pub fn push_http(&mut self, exchange: u64, part: HttpPart, at_ns: u64, wall_ns: u64, bytes: &[u8]) {
        self.push_tag(part.code() << 2 | HTTP, Some(exchange), at_ns, wall_ns, bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// Appends the fact that `n_bytes` of an HTTP exchange passed here which were not kept.
    pub fn push_http_gap(&mut self, exchange: u64, part: HttpPart, at_ns: u64, wall_ns: u64, n_bytes: u64) {
        self.push_tag(HTTP_GAP | part.code() << 2 | HTTP, Some(exchange), at_ns, wall_ns, n_bytes);
    }

    /// Appends an act, over HTTP with the exchange that it was done in. `stream` is that on which bytes
    /// [went out](crate::Act::sent_on); `head` is its
    /// [text](crate::Act::write_head) up to the bytes that were sent, `sent` are these.
    pub fn push_act(
        &mut self,
        exchange: Option<u64>,
        stream: Stream,
        at_ns: u64,
        wall_ns: u64,
        head: &[u8],
        sent: &[u8],
    ) {
        let tag = match exchange {
            Some(_) => HTTP_ACT << 2 | HTTP,
            None => ACT << 2 | stream.code(),
        };
        self.push_tag(tag, exchange, at_ns, wall_ns, (head.len() + sent.len()) as u64);
        self.bytes.extend_from_slice(head);
        self.bytes.extend_from_slice(sent);
    }

    /// The pieces, in the order in which they were appended.
    #[must_use]
    pub fn iter(&self) -> Pieces<'_> {
        Pieces { pieces: &self.pieces, bytes: &self.bytes, at_ns: self.at_ns, header: 0, offset: 0 }
    }

    fn push_header(&mut self, kind: u8, stream: Stream, at_ns: u64, wall_ns: u64, length: u64) {
        self.push_tag(kind << 2 | stream.code(), None, at_ns, wall_ns, length);
    }

    fn push_tag(&mut self, tag: u8, exchange: Option<u64>, at_ns: u64, wall_ns: u64, length: u64) {
        if self.pieces.is_empty() {
            self.at_ns = at_ns;
            self.wall_ns = wall_ns;
            self.newest_ns = at_ns;
        }
        // Two pumps take the clock before they take the lock, so a piece may be a little older than the one before it.
        let at_ns = at_ns.max(self.newest_ns);
        self.pieces.push(tag);
        if let Some(exchange) = exchange {
            push_number(&mut self.pieces, exchange);
        }
        push_number(&mut self.pieces, at_ns - self.newest_ns);
        push_number(&mut self.pieces, length);
        self.newest_ns = at_ns;
    }
}

impl<'a> IntoIterator for &'a Segment {
    type Item = Result<Piece<'a>, SegmentError>;
    type IntoIter = Pieces<'a>;

    fn into_iter(self) -> Pieces<'a> {
        self.iter()
    }
}

/// Iterator over a segment's pieces. After an error it ends.
#[derive(Debug, Clone)]
pub struct Pieces<'a> {
    pieces: &'a [u8],
    bytes: &'a [u8],
    at_ns: u64,
    header: usize,
    offset: usize,
}

impl<'a> Pieces<'a> {
    fn read(&mut self) -> Result<Piece<'a>, SegmentError> {
        let offset = self.header;
        let bad = SegmentError::BadHeader { offset };
        let tag = *self.pieces.get(offset).ok_or(bad)?;
        let mut at = offset + 1;
        let exchange = match tag & 3 {
            HTTP => Some(read_number(self.pieces, &mut at).ok_or(bad)?),
            _ => None,
        };
        let distance_ns = read_number(self.pieces, &mut at).ok_or(bad)?;
        let length = read_number(self.pieces, &mut at).ok_or(bad)?;
        self.at_ns = self.at_ns.saturating_add(distance_ns);
        let at_ns = self.at_ns;
        let is_act = tag >> 2 == if exchange.is_some() { HTTP_ACT } else { ACT };
        let piece = if is_act {
            let (offset, bytes) = self.take_bytes(offset, length)?;
            Piece::Act { exchange, at_ns, offset, bytes }
        } else if let Some(exchange) = exchange {
            let part = HttpPart::from_code(tag >> 2 & 7).ok_or(bad)?;
            match tag >> 5 {
                0 => {
                    let (offset, bytes) = self.take_bytes(offset, length)?;
                    Piece::Http { exchange, part, at_ns, offset, bytes }
                }
                1 => Piece::HttpGap { exchange, part, at_ns, n_bytes: length },
                _ => return Err(bad),
            }
        } else {
            let stream = Stream::from_code(tag & 3).ok_or(bad)?;
            match tag >> 2 {
                CHUNK => {
                    let (offset, bytes) = self.take_bytes(offset, length)?;
                    Piece::Chunk { stream, at_ns, offset, bytes }
                }
                GAP => Piece::Gap { stream, at_ns, n_bytes: length },
                END => Piece::End { stream, at_ns },
                _ => return Err(bad),
            }
        };
        self.header = at;
        Ok(piece)
    }

    /// The bytes of the piece whose header is at `header`, and where they begin.
    fn take_bytes(&mut self, header: usize, length: u64) -> Result<(usize, &'a [u8]), SegmentError> {
        let missing = SegmentError::MissingBytes { offset: header };
        let length = usize::try_from(length).map_err(|_| missing)?;
        let end = self.offset.checked_add(length).ok_or(missing)?;
        let bytes = self.bytes.get(self.offset..end).ok_or(missing)?;
        Ok((std::mem::replace(&mut self.offset, end), bytes))
    }
}

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<Piece<'a>, SegmentError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.header >= self.pieces.len() {
            return None;
        }
        let piece = self.read();
        if piece.is_err() {
            self.header = self.pieces.len();
        }
        Some(piece)
    }
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn read_number(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let low = u64::from(byte & 0x7f);
        if shift == 63 && low > 1 {
            return None;
        }
        number |= low << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
