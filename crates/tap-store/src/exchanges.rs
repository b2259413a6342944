//! Recordings over HTTP: exchanges, sessions of MCP inside them, and reading all of it again.

use std::ops::ControlFlow;

use bytes::Bytes;
use rusqlite::{OptionalExtension, params};
use tap_exchange::{Conversation, Exchange, HttpReading, Read};
use tap_frame::{HttpPart, Piece};
use tap_session::HttpFollower;

use crate::error::StoreError;
use crate::reader::{SessionId, Store};
use crate::stored::{exchange_from, told_conversation_from};
use crate::writer::signed;

impl Store {
    /// One exchange, as far as it was [worked out](Self::catch_up).
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn exchange(&self, session: SessionId, number: u64) -> Result<Option<Exchange>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Option<Exchange>> {
            let mut select = connection.prepare_cached("SELECT * FROM exchange WHERE session = ? AND number = ?")?;
            select.query_row(params![session.0, signed(number)], exchange_from).optional()
        };
        read().map_err(|source| self.sort(source))
    }

    /// At most `limit` exchanges from the number `from` on, in order.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn exchanges(&self, session: SessionId, from: u64, limit: u64) -> Result<Vec<Exchange>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Exchange>> {
            let mut select = connection
                .prepare_cached("SELECT * FROM exchange WHERE session = ? AND number >= ? ORDER BY number LIMIT ?")?;
            let found = select.query_map(params![session.0, signed(from), signed(limit)], exchange_from)?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// The numbers of the frames of an exchange, in order: the first is its request.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn frames_of_exchange(&self, session: SessionId, number: u64) -> Result<Vec<u64>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<u64>> {
            let mut select = connection.prepare_cached(
                "SELECT seq FROM message WHERE session = ? AND exchange = ? AND member = 0 ORDER BY seq",
            )?;
            let found =
                select.query_map(params![session.0, signed(number)], |row| row.get(0).map(crate::writer::unsigned))?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// The sessions of MCP inside a recording over HTTP, in the order in which they were begun. There are none in one of stdio.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn conversations(&self, session: SessionId) -> Result<Vec<Conversation>, StoreError> {
        let connection = self.connection.borrow();
        let read = || -> rusqlite::Result<Vec<Conversation>> {
            let mut select =
                connection.prepare_cached("SELECT * FROM conversation WHERE session = ? ORDER BY number")?;
            let found = select.query_map([session.0], told_conversation_from)?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// A part of an exchange as it was on the wire, as far as it was kept: of [`HttpPart::RequestBody`] and
    /// [`HttpPart::ResponseBody`] the bytes, compressed if they were; of others the text that was kept.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged there.
    pub fn raw(&self, session: SessionId, exchange: u64, part: HttpPart) -> Result<Bytes, StoreError> {
        let Some(known) = self.exchange(session, exchange)? else {
            return Ok(Bytes::new());
        };
        let (mut gathered, mut has_begun) = (Vec::new(), false);
        let mut number = known.first_segment;
        // Of an exchange that is open there may be more than was worked out.
        while known.ended_at_ns.is_none() || number <= known.last_segment {
            let Some(segment) = self.segment(session, number)? else {
                break;
            };
            for piece in segment.iter() {
                let damaged = |source| StoreError::Damaged { session: session.0, number, source };
                let (its, bytes) = match piece.map_err(damaged)? {
                    Piece::Http { exchange: this, part, bytes, .. } if this == exchange => (part, bytes),
                    Piece::HttpGap { exchange: this, part, .. } if this == exchange => (part, &b""[..]),
                    _ => continue,
                };
                has_begun |= its == HttpPart::Request;
                if its == part && has_begun {
                    gathered.extend_from_slice(bytes);
                }
                if its == HttpPart::End && has_begun {
                    return Ok(gathered.into());
                }
            }
            number += 1;
        }
        Ok(gathered.into())
    }

    /// Feeds a reading the segment that comes next, for whoever reads a recording over HTTP little by little; `false` when
    /// there is none, for now or for good. What is open at the end is for the caller to
    /// [finish](HttpReading::finish).
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged there; what is damaged is then behind the reading.
    pub fn feed_http(
        &self,
        session: SessionId,
        reading: &mut HttpReading,
        sink: &mut impl FnMut(Read, &HttpFollower),
    ) -> Result<bool, StoreError> {
        let number = reading.next_segment();
        let Some(segment) = self.segment(session, number)? else {
            return Ok(false);
        };
        let fed = reading.feed(&segment, sink);
        fed.map_err(|source| StoreError::Damaged { session: session.0, number, source })?;
        Ok(true)
    }

    /// Reads the next segment of a recording over HTTP, so that it can be read a little at a time, and on from there when it
    /// has grown: `sink` gets what comes of it, in order. False when there is none yet. Its rows are
    /// [worked out](Self::catch_up) before.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged, and any error of `sink`, which gets no more then.
    pub fn read_http_on<E: From<StoreError>>(
        &self,
        session: SessionId,
        reading: &mut HttpReading,
        mut sink: impl FnMut(Read, &HttpFollower) -> Result<(), E>,
    ) -> Result<bool, E> {
        self.catch_up(session, |_| {})?;
        let mut done = Ok(());
        let is_more = self.feed_http(session, reading, &mut |read, follower| {
            if done.is_ok() {
                done = sink(read, follower);
            }
        })?;
        done?;
        Ok(is_more)
    }

    /// Reads a recording over HTTP from its first segment on: `sink` gets what comes of it, in order, each with what was
    /// followed up to there, until it says [`ControlFlow::Break`]. What is open at the end ends there, unless the tap is
    /// running. Gives back the reading, which may be further than the last that `sink` was given.
    ///
    /// # Errors
    ///
    /// When the database cannot be read or is damaged, and any error of `sink`.
    pub fn read_http<E: From<StoreError>>(
        &self,
        session: SessionId,
        mut sink: impl FnMut(Read, &HttpFollower) -> Result<ControlFlow<()>, E>,
    ) -> Result<HttpReading, E> {
        let mut reading = HttpReading::new();
        let mut flow: Result<ControlFlow<()>, E> = Ok(ControlFlow::Continue(()));
        let mut take = |read: Read, follower: &HttpFollower, flow: &mut Result<ControlFlow<()>, E>| {
            if let Ok(ControlFlow::Continue(())) = flow {
                *flow = sink(read, follower);
            }
        };
        // Asked first: what is written before it ends is then read.
        let mut live = self.is_live(session);
        loop {
            let fed = self.feed_http(session, &mut reading, &mut |read, follower| take(read, follower, &mut flow));
            if let ControlFlow::Break(()) = flow? {
                return Ok(reading);
            }
            flow = Ok(ControlFlow::Continue(()));
            if !fed? {
                if std::mem::replace(&mut live, self.is_live(session)) && !live {
                    continue;
                }
                break;
            }
        }
        if !live {
            reading.finish(&mut |read, follower| take(read, follower, &mut flow));
            let _: ControlFlow<()> = flow?;
        }
        Ok(reading)
    }
}

#[cfg(test)]
mod tests;
