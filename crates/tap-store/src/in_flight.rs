//! Which requests were in flight at some point.

use rusqlite::params;
use tap_session::At;

use crate::error::StoreError;
use crate::reader::{Listed, SessionId, Store};
use crate::stored::{LISTED_COLUMNS, columns, listed_from};
use crate::writer::signed;

impl Store {
    /// The requests that came before a message and were not answered before it, in the order in which they came.
    ///
    /// Of those that were answered later, the ones among the last `look_back` calls before the message are found: how many
    /// more there are would cost a look at all of the session. The newest `limit` of each kind are given.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn in_flight_at(
        &self,
        session: SessionId,
        at: At,
        look_back: u64,
        limit: u64,
    ) -> Result<Vec<Listed>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Listed>> {
            let (this, message) = (columns("this", LISTED_COLUMNS), columns("message", LISTED_COLUMNS));
            let mut answered_later = connection.prepare_cached(&format!(
                "SELECT {this} FROM
                     (SELECT {message} FROM message
                      WHERE session = ?1 AND (seq, member) < (?2, ?3)
                          AND (kind = 1 OR kind = 6 OR kind = 7 OR kind = 10 OR kind = 11)
                      ORDER BY seq DESC, member DESC LIMIT ?4) AS this
                 WHERE this.kind = 1 AND (this.pair_seq, this.pair_member) >= (?2, ?3)
                 ORDER BY seq DESC, member DESC LIMIT ?5"
            ))?;
            let mut never_answered = connection.prepare_cached(&format!(
                "SELECT {message} FROM message INDEXED BY message_waiting
                 WHERE session = ?1 AND kind = 1 AND pair_seq IS NULL AND gone IS NULL AND (seq, member) < (?2, ?3)
                 ORDER BY seq DESC, member DESC LIMIT ?4"
            ))?;
            let (seq, member) = (signed(at.seq), signed(at.member));
            let later = params![session.0, seq, member, signed(look_back), signed(limit)];
            let mut found =
                answered_later.query_map(later, |row| listed_from(row, 0))?.collect::<rusqlite::Result<Vec<_>>>()?;
            let never = params![session.0, seq, member, signed(limit)];
            for listed in never_answered.query_map(never, |row| listed_from(row, 0))? {
                found.push(listed?);
            }
            Ok(found)
        };
        let mut found = read().map_err(|source| self.sort(source))?;
        found.sort_by_key(|listed| listed.row.at);
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tap_session::RowKind;

    use super::*;
    use crate::reader::{ListKind, Part};
    use crate::traffic::{any_segments, stored};

    proptest! {
        #[test]
        fn what_was_in_flight_are_the_requests_without_an_answer_by_then(segments in any_segments()) {
            let (store, id) = stored(&segments, None);
            let all = store.list(id, ListKind::Frames, Part::From(0), 10_000).unwrap();
            for at in all.iter().map(|listed| listed.row.at) {
                let in_flight = |listed: &&Listed| {
                    let row = &listed.row;
                    row.kind == RowKind::Request
                        && row.at < at
                        && !(row.pair.is_none() && row.done.as_ref().is_some_and(|done| done.was_kept_back()))
                        && row.pair.is_none_or(|answer| answer >= at)
                };
                let expected: Vec<At> = all.iter().filter(in_flight).map(|listed| listed.row.at).collect();
                let places = |look_back, limit| -> Vec<At> {
                    let found = store.in_flight_at(id, at, look_back, limit).unwrap();
                    found.iter().map(|listed| listed.row.at).collect()
                };
                prop_assert_eq!(places(10_000, 10_000), &*expected);
                let few = places(10_000, 1);
                prop_assert!(few.len() <= 2 && few.iter().all(|at| expected.contains(at)), "the newest alone");
            }
        }
    }
}
