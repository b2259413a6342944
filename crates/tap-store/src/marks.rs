//! Rows without what they say: enough to count them and to place them in time.

use rusqlite::params;
use tap_frame::Stream;
use tap_session::{At, RowKind, Status};

use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::writer::{signed, unsigned};

/// A row without what it says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Which message it is.
    pub at: At,
    /// Nanoseconds since the session opened.
    pub at_ns: u64,
    /// The stream that it was on.
    pub stream: Stream,
    /// What it is.
    pub kind: RowKind,
    /// Of an answer, and of a request that has one: what it says.
    pub status: Option<Status>,
    /// Length of its frame, bytes.
    pub length: u64,
    /// Of an answer, and of a request that has one: how long that took, nanoseconds.
    pub latency_ns: Option<u64>,
    /// It is of a subscription, which is open as long as its client likes.
    pub is_subscription: bool,
}

impl Store {
    /// At most `limit` rows behind one, in rising order, without what they say. A walk through all of a session this way takes
    /// a fraction of what [`list`](Self::list) takes.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn marks(&self, session: SessionId, after: At, limit: u64) -> Result<Vec<Mark>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Mark>> {
            let mut select = connection.prepare_cached(
                "SELECT seq, member, at_ns, stream, kind, status, length - coalesce(head_bytes, 0), latency_ns,
                     method IS NOT NULL AND method = 'subscriptions/listen'
                 FROM message WHERE session = ? AND (seq, member) > (?, ?) ORDER BY seq, member LIMIT ?",
            )?;
            let found = select.query_map(
                params![session.0, signed(after.seq), signed(after.member), signed(limit)],
                |row| {
                    Ok(Mark {
                        at: At { seq: unsigned(row.get(0)?), member: unsigned(row.get(1)?) },
                        at_ns: unsigned(row.get(2)?),
                        stream: Stream::from_code(row.get(3)?).unwrap_or(Stream::Stderr),
                        kind: RowKind::from_code(row.get(4)?).unwrap_or(RowKind::NotJson),
                        status: row.get::<_, Option<u8>>(5)?.and_then(Status::from_code),
                        length: unsigned(row.get(6)?),
                        latency_ns: row.get::<_, Option<i64>>(7)?.map(unsigned),
                        is_subscription: row.get(8)?,
                    })
                },
            )?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::reader::{ListKind, Part};
    use crate::traffic::{any_segments, stored};

    proptest! {
        #[test]
        fn marks_are_the_rows_a_page_at_a_time(segments in any_segments(), limit in 1..5u64) {
            let (store, id) = stored(&segments, None);
            let all = store.list(id, ListKind::Frames, Part::From(0), 10_000).unwrap();
            let expected: Vec<Mark> = all
                .iter()
                .map(|listed| Mark {
                    at: listed.row.at,
                    at_ns: listed.row.at_ns,
                    stream: listed.row.stream,
                    kind: listed.row.kind,
                    status: listed.row.status,
                    length: listed.length,
                    latency_ns: listed.row.latency_ns,
                    is_subscription: listed.row.method.as_deref() == Some("subscriptions/listen"),
                })
                .collect();
            let mut found = Vec::new();
            let mut after = At { seq: 0, member: 0 };
            loop {
                let page = store.marks(id, after, limit).unwrap();
                let Some(last) = page.last() else { break };
                after = last.at;
                found.extend(page);
            }
            prop_assert_eq!(found, expected);
        }
    }
}
