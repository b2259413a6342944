//! What a debugger did in a session, in short.

use std::collections::BTreeSet;

use tap_frame::Deed;

use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::writer::unsigned;

impl Store {
    /// What a debugger did to the traffic, each deed once, as far as that was [worked out](Self::catch_up).
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn deeds(&self, session: SessionId) -> Result<BTreeSet<Deed>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<BTreeSet<Deed>> {
            let mut select = connection.prepare_cached(
                "SELECT DISTINCT deed FROM message INDEXED BY message_done
                 WHERE session = ? AND deed IS NOT NULL AND made = 1",
            )?;
            let found = select.query_map([session.0], |row| row.get::<_, u8>(0))?;
            found.filter_map(|code| code.map(Deed::from_code).transpose()).collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// The numbers of the messages that did not get to the other side, or not as they were, because of what a debugger did;
    /// as far as that was [worked out](Self::catch_up).
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn kept_back(&self, session: SessionId) -> Result<BTreeSet<u64>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<BTreeSet<u64>> {
            let mut select = connection.prepare_cached(
                "SELECT seq FROM message INDEXED BY message_done
                 WHERE session = ? AND deed IS NOT NULL AND gone = 1 AND member = 0",
            )?;
            let found = select.query_map([session.0], |row| row.get(0).map(unsigned))?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }
}
