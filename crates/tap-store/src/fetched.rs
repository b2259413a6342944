//! Segments that were fetched last, and where in them each piece lies: the next frame is usually in one of them.

use std::rc::Rc;

use tap_frame::{Piece, Segment, SegmentError};

use crate::frames::Whose;
use crate::reader::SessionId;

/// How many are kept: a call's request and answer may lie in different ones.
const KEPT: usize = 4;

/// A segment that was fetched.
#[derive(Debug)]
pub(crate) struct Fetched {
    session: SessionId,
    number: u64,
    pub(crate) segment: Rc<Segment>,
    pieces: Vec<Indexed>,
    damage: Option<SegmentError>,
}

/// A piece with bytes.
#[derive(Debug)]
struct Indexed {
    whose: Whose,
    start: usize,
    end: usize,
}

impl Fetched {
    fn new(session: SessionId, number: u64, segment: Segment) -> Self {
        let mut pieces = Vec::new();
        let mut damage = None;
        for piece in segment.iter() {
            let (whose, start, bytes) = match piece {
                Ok(Piece::Chunk { stream, offset, bytes, .. }) => (Whose::Stream(stream), offset, bytes),
                Ok(Piece::Http { exchange, part, offset, bytes, .. }) => {
                    (Whose::Http { exchange, part }, offset, bytes)
                }
                Ok(Piece::Act { offset, bytes, .. }) => (Whose::Act, offset, bytes),
                Ok(Piece::Gap { .. } | Piece::End { .. } | Piece::HttpGap { .. }) => continue,
                Err(error) => {
                    damage = Some(error);
                    break;
                }
            };
            pieces.push(Indexed { whose, start, end: start + bytes.len() });
        }
        Self { session, number, segment: Rc::new(segment), pieces, damage }
    }

    /// The bytes of one stream, or of one part of an exchange, from a place on, as they follow each other in here.
    ///
    /// # Errors
    ///
    /// When the segment is damaged anywhere.
    pub(crate) fn bytes(&self, whose: Whose, from: usize) -> Result<impl Iterator<Item = &[u8]>, SegmentError> {
        if let Some(damage) = self.damage {
            return Err(damage);
        }
        // They lie one behind the other.
        let first = self.pieces.partition_point(|piece| piece.end <= from);
        let pieces = self.pieces.get(first..).unwrap_or_default().iter().filter(move |piece| piece.whose == whose);
        Ok(pieces.filter_map(move |piece| self.segment.bytes.get(piece.start.max(from)..piece.end)))
    }
}

/// The segments that were fetched last, the newest first.
#[derive(Debug, Default)]
pub(crate) struct Newest(Vec<Rc<Fetched>>);

impl Newest {
    pub(crate) fn get(&mut self, session: SessionId, number: u64) -> Option<Rc<Fetched>> {
        let index = self.0.iter().position(|this| (this.session, this.number) == (session, number))?;
        if index > 0 {
            self.0[..=index].rotate_right(1);
        }
        self.0.first().cloned()
    }

    pub(crate) fn put(&mut self, session: SessionId, number: u64, segment: Segment) -> Rc<Fetched> {
        let fetched = Rc::new(Fetched::new(session, number, segment));
        self.0.insert(0, fetched.clone());
        self.0.truncate(KEPT);
        fetched
    }
}
