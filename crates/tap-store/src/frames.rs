//! Frames from a place on: what time travel reads.

use std::collections::VecDeque;

use rusqlite::params;
use tap_frame::Frame;

use crate::error::StoreError;
use crate::reader::{SessionId, Store, head_from};
use crate::writer::signed;

/// Heads fetched at a time.
const HEADS_AT_ONCE: i64 = 256;

impl Store {
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
                        next = found.last().map_or(next, |(frame, ..): &(Frame, _, _)| frame.seq + 1);
                        over = found.is_empty();
                        heads.extend(found);
                    }
                    Err(error) => {
                        over = true;
                        return Some(Err(error));
                    }
                }
            }
            let (mut frame, place, length) = heads.pop_front()?;
            Some(self.gather(session, frame.stream, place, length).map(|bytes| {
                frame.bytes = bytes;
                frame
            }))
        })
    }

    fn heads(&self, session: SessionId, first: u64) -> Result<Vec<(Frame, tap_session::Place, u64)>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut select = connection.prepare_cached(
                "SELECT seq, wall_ns, at_ns, stream, segment, start, length, kind, lost_bytes FROM message
                 WHERE session = ? AND seq >= ? AND member = 0 ORDER BY seq LIMIT ?",
            )?;
            let found = select.query_map(params![session.0, signed(first), HEADS_AT_ONCE], head_from)?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }
}
