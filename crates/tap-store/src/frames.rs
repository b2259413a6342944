//! Frames with their bytes: one by its number, those from a place on, and all that was recorded.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use rusqlite::{OptionalExtension, params};
use tap_exchange::{HttpReading, Source, frame_bytes};
use tap_frame::{Deed, Frame, HttpPart, Origin, Segment, SegmentError, Stream};
use tap_session::{Cutter, Gatherer, Place, Recorded, RowKind};

use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::search::Hit;
use crate::stored::{columns, source_from};
use crate::writer::{Transport, signed, unsigned};

/// Heads fetched at a time.
const HEADS_AT_ONCE: i64 = 256;

/// What is read of a frame's row, in the order in which [`head_from`] takes it.
pub(crate) const HEAD_COLUMNS: &[&str] = &[
    "seq",
    "wall_ns",
    "at_ns",
    "stream",
    "segment",
    "start",
    "length",
    "kind",
    "lost_bytes",
    "exchange",
    "raw_part",
    "raw_length",
    "raw_event",
    "compressed",
    "deed",
    "made",
];

/// A frame without its bytes, and where to find them.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    frame: Frame,
    place: Place,
    length: u64,
    exchange: Option<u64>,
    source: Option<Source>,
}

/// Whose bytes are gathered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    Stream(Stream),
    Http {
        exchange: u64,
        part: HttpPart,
    },
    /// One act.
    Act,
}

impl Store {
    /// A frame with its bytes. Needs that its meaning was [worked out](Self::catch_up).
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged there.
    pub fn frame(&self, session: SessionId, seq: u64) -> Result<Option<Frame>, StoreError> {
        match self.head(session, seq)? {
            Some(head) => self.fill(session, head, u64::MAX).map(Some),
            None => Ok(None),
        }
    }

    /// The first bytes of a frame, of an act those that were sent, at most `limit_bytes`; none of one that is not there. Of an event, and of what is
    /// compressed, all is read for that.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged there.
    pub fn frame_start(&self, session: SessionId, seq: u64, limit_bytes: u64) -> Result<Bytes, StoreError> {
        match self.head(session, seq)? {
            Some(head) => self.fill_message(session, head, limit_bytes),
            None => Ok(Bytes::new()),
        }
    }

    /// The bytes of the frame of a row that was found, or (`answer`) of its answer's, of an act those that were sent; none of an answer that is not there.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged there.
    pub fn bytes_of(&self, session: SessionId, hit: &Hit, answer: bool) -> Result<Bytes, StoreError> {
        let head = if answer { hit.answer_head.as_ref() } else { Some(&hit.head) };
        match head {
            Some(head) => self.fill_message(session, head.clone(), u64::MAX),
            None => Ok(Bytes::new()),
        }
    }

    /// The frames of a session from the number `first` on, in order, with their bytes. Needs that their meaning was
    /// [worked out](Self::catch_up): a frame that was not is not there. [`recorded`](Self::recorded) needs nothing, and
    /// always begins at the first.
    pub fn frames(&self, session: SessionId, first: u64) -> impl Iterator<Item = Result<Frame, StoreError>> + '_ {
        let mut heads = VecDeque::new();
        let mut next = first;
        let mut over = false;
        std::iter::from_fn(move || {
            if heads.is_empty() && !over {
                match self.heads(session, next) {
                    Ok(found) => {
                        next = found.last().map_or(next, |head| head.frame.seq + 1);
                        over = found.is_empty();
                        heads.extend(found);
                    }
                    Err(error) => {
                        over = true;
                        return Some(Err(error));
                    }
                }
            }
            Some(self.fill(session, heads.pop_front()?, u64::MAX))
        })
    }

    fn head(&self, session: SessionId, seq: u64) -> Result<Option<Head>, StoreError> {
        let connection = self.connection.borrow();
        let head = columns("message", HEAD_COLUMNS);
        let statement = format!("SELECT {head} FROM message WHERE session = ? AND seq = ? AND member = 0");
        let read = || -> rusqlite::Result<Option<Head>> {
            connection
                .prepare_cached(&statement)?
                .query_row(params![session.0, signed(seq)], |row| head_from(row, 0))
                .optional()
        };
        read().map_err(|source| self.sort(source))
    }

    fn heads(&self, session: SessionId, first: u64) -> Result<Vec<Head>, StoreError> {
        let connection = self.connection.borrow();
        let head = columns("message", HEAD_COLUMNS);
        let statement =
            format!("SELECT {head} FROM message WHERE session = ? AND seq >= ? AND member = 0 ORDER BY seq LIMIT ?");
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut select = connection.prepare_cached(&statement)?;
            let found = select.query_map(params![session.0, signed(first), HEADS_AT_ONCE], |row| head_from(row, 0))?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// The bytes of a message, at most so many; of an act, those that were sent.
    fn fill_message(&self, session: SessionId, head: Head, limit_bytes: u64) -> Result<Bytes, StoreError> {
        let Origin::Act(_) = head.frame.origin else {
            return Ok(self.fill(session, head, limit_bytes)?.bytes);
        };
        let sent = self.fill(session, head, u64::MAX)?.message();
        Ok(sent.slice(..sent.len().min(usize::try_from(limit_bytes).unwrap_or(usize::MAX))))
    }

    /// Gives a frame its bytes, at most so many.
    fn fill(&self, session: SessionId, head: Head, limit_bytes: u64) -> Result<Frame, StoreError> {
        let Head { mut frame, place, length, exchange, source } = head;
        let wanted = length.min(limit_bytes);
        frame.bytes = match (source, exchange) {
            (Some(source), Some(number)) => {
                let whose = Whose::Http { exchange: number, part: source.part };
                let is_plain = source.event.is_none() && !source.compressed;
                let raw_length = if is_plain { wanted } else { source.raw_length };
                let raw = self.gather(session, whose, place, raw_length)?;
                if is_plain {
                    raw
                } else {
                    let exchange = if source.compressed { self.exchange(session, number)? } else { None };
                    let bytes = frame_bytes(&raw, &source, exchange.as_ref());
                    bytes.slice(..bytes.len().min(usize::try_from(wanted).unwrap_or(usize::MAX)))
                }
            }
            _ if length == 0 => Bytes::new(),
            _ if matches!(frame.origin, Origin::Act(_)) => self.gather(session, Whose::Act, place, wanted)?,
            _ => self.gather(session, Whose::Stream(frame.stream), place, wanted)?,
        };
        Ok(frame)
    }

    /// The bytes of one stream, or of one part of an exchange, from a place on.
    pub(crate) fn gather(
        &self,
        session: SessionId,
        whose: Whose,
        place: Place,
        length: u64,
    ) -> Result<Bytes, StoreError> {
        let mut number = place.segment;
        let mut gathered = BytesMut::new();
        let mut start = usize::try_from(place.offset).unwrap_or(usize::MAX);
        let wanted = usize::try_from(length).unwrap_or(usize::MAX);
        while gathered.len() < wanted {
            let Some(fetched) = self.fetched(session, number)? else {
                break;
            };
            let damaged = |source| StoreError::Damaged { session: session.0, number, source };
            for bytes in fetched.bytes(whose, start).map_err(damaged)? {
                let room = wanted - gathered.len();
                if room == 0 {
                    break;
                }
                gathered.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            number += 1;
            start = 0;
        }
        Ok(gathered.freeze())
    }

    /// Everything that was recorded of a session, in order, frame by frame. Over HTTP no streams end: exchanges do, which
    /// [`read_http`](Self::read_http) tells.
    pub fn recorded(&self, session: SessionId) -> impl Iterator<Item = Result<Recorded, StoreError>> + '_ {
        let mut cutting = Cutting::default();
        let mut ready = VecDeque::new();
        let mut over = false;
        std::iter::from_fn(move || {
            while ready.is_empty() && !over {
                let live = self.is_live(session);
                let number = cutting.next_segment();
                let found =
                    cutting.by_transport(|| self.transport(session)).and_then(|()| self.segment(session, number));
                match found {
                    Ok(Some(segment)) => {
                        if let Err(source) = cutting.feed(&segment, &mut ready) {
                            ready.push_back(Err(StoreError::Damaged { session: session.0, number, source }));
                        }
                    }
                    Ok(None) => {
                        over = true;
                        if !live {
                            cutting.finish(&mut ready);
                        }
                    }
                    Err(error) => {
                        over = true;
                        ready.push_back(Err(error));
                    }
                }
            }
            ready.pop_front()
        })
    }
}

type Ready = VecDeque<Result<Recorded, StoreError>>;

/// Cuts segments into frames, by the session's transport.
#[derive(Default)]
enum Cutting {
    #[default]
    Unknown,
    Stdio(Box<Cutter>, Box<Gatherer>),
    Http(Box<HttpReading>),
}

impl Cutting {
    fn by_transport(&mut self, transport: impl FnOnce() -> Result<Transport, StoreError>) -> Result<(), StoreError> {
        if let Self::Unknown = self {
            *self = match transport()? {
                Transport::Stdio => Self::Stdio(Box::default(), Box::default()),
                Transport::Http => Self::Http(Box::default()),
            };
        }
        Ok(())
    }

    fn next_segment(&self) -> u64 {
        match self {
            Self::Unknown => 0,
            Self::Stdio(cutter, _) => cutter.first_segment_needed(),
            Self::Http(reading) => reading.next_segment(),
        }
    }

    fn feed(&mut self, segment: &Segment, ready: &mut Ready) -> Result<(), SegmentError> {
        match self {
            Self::Unknown => Ok(()),
            Self::Stdio(cutter, gatherer) => cutter.feed(segment, &mut |cut| ready.extend(gatherer.take(cut).map(Ok))),
            Self::Http(reading) => reading
                .feed(segment, &mut |read, _| ready.extend(read.frame.map(|read| Ok(Recorded::Frame(read.frame))))),
        }
    }

    fn finish(&mut self, ready: &mut Ready) {
        match self {
            Self::Unknown => {}
            Self::Stdio(cutter, gatherer) => cutter.finish(&mut |cut| ready.extend(gatherer.take(cut).map(Ok))),
            Self::Http(reading) => {
                reading.finish(&mut |read, _| ready.extend(read.frame.map(|read| Ok(Recorded::Frame(read.frame)))));
            }
        }
    }
}

/// A head as it is read back, its first column at this place.
pub(crate) fn head_from(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Head> {
    let lost: Option<i64> = row.get(first + 8)?;
    // A request of HTTP whose body was lost has the row of a gap.
    let gap = RowKind::from_code(row.get(first + 7)?) == Some(RowKind::Gap);
    let deed = row.get::<_, Option<u8>>(first + 14)?.and_then(Deed::from_code);
    let made = row.get::<_, Option<bool>>(first + 15)?.unwrap_or(false);
    let frame = Frame {
        seq: unsigned(row.get(first)?),
        wall_ns: unsigned(row.get(first + 1)?),
        at_ns: unsigned(row.get(first + 2)?),
        stream: Stream::from_code(row.get(first + 3)?).unwrap_or(Stream::Stderr),
        origin: match (made, deed) {
            (true, Some(deed)) => Origin::Act(deed),
            _ if gap => Origin::Gap(lost.map_or(0, unsigned)),
            _ => Origin::Wire,
        },
        bytes: Bytes::new(),
    };
    let place = Place { segment: unsigned(row.get(first + 4)?), offset: unsigned(row.get(first + 5)?) };
    let exchange = row.get::<_, Option<i64>>(first + 9)?.map(unsigned);
    Ok(Head { frame, place, length: unsigned(row.get(first + 6)?), exchange, source: source_from(row, first + 10)? })
}
