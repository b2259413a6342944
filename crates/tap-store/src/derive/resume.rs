//! What is read back to go on where another process stood, over stdio.

use std::sync::Arc;

use rusqlite::{Connection, params};
use tap_frame::{Became, Deed, Direction, Stream};
use tap_jsonrpc::RawId;
use tap_session::{Answered, At, PASSED_LIMIT, PassedMessage, WaitingRequest};

use crate::writer::unsigned;

/// The requests that wait for their answers.
pub(super) fn waiting(connection: &Connection, session: i64) -> rusqlite::Result<Vec<WaitingRequest>> {
    let mut select = connection.prepare_cached(
        "SELECT seq, member, at_ns, stream, raw_id, method, target, held_ns, made, deed, done_seq, waits
         FROM message INDEXED BY message_waiting
         WHERE session = ? AND kind = 1 AND pair_seq IS NULL AND gone IS NULL AND raw_id IS NOT NULL
         ORDER BY seq, member",
    )?;
    let found = select.query_map([session], |row| {
        let made = row.get::<_, Option<bool>>(8)?.unwrap_or(false);
        let deed = row.get::<_, Option<u8>>(9)?.and_then(Deed::from_code);
        let went_on = !made && deed.is_some_and(|deed| deed.became() == Became::WentOn);
        let waits = row.get::<_, Option<bool>>(11)?.unwrap_or(false);
        Ok(WaitingRequest {
            scope: 0,
            at: At { seq: unsigned(row.get(0)?), member: unsigned(row.get(1)?) },
            at_ns: unsigned(row.get(2)?),
            direction: Stream::from_code(row.get(3)?).map_or(Direction::ToServer, Stream::direction),
            raw_id: RawId::from_token(&row.get::<_, Vec<u8>>(4)?),
            method: row.get(5)?,
            target: row.get(6)?,
            stands_for: row
                .get::<_, Option<i64>>(10)?
                .filter(|_| waits)
                .map(|seq| At { seq: unsigned(seq), member: 0 }),
            held_ns: row.get::<_, Option<i64>>(7)?.filter(|_| went_on).map_or(0, unsigned),
        })
    })?;
    found.collect()
}

/// The newest messages of a session, and all that are held, each with whether it is: what something may be done to next.
pub(super) fn passed(connection: &Connection, session: i64) -> rusqlite::Result<Vec<(PassedMessage, bool)>> {
    let columns =
        "message.seq, message.stream, message.received, message.raw_id, message.pair_seq, message.pair_member,
                   message.method, message.target";
    let read = |row: &rusqlite::Row<'_>, is_held: bool| -> rusqlite::Result<(PassedMessage, bool)> {
        let raw_id = row.get::<_, Option<Vec<u8>>>(3)?;
        let pair = match (row.get::<_, Option<i64>>(4)?, row.get::<_, Option<i64>>(5)?) {
            (Some(seq), Some(member)) => Some(At { seq: unsigned(seq), member: unsigned(member) }),
            _ => None,
        };
        let seq = unsigned(row.get(0)?);
        let answers = raw_id.zip(pair).filter(|(_, pair)| pair.seq < seq);
        let answers = match answers {
            Some((raw_id, request)) => {
                let (method, target) = (row.get(6)?, row.get(7)?);
                Some(Arc::new(Answered { raw_id: RawId::from_token(&raw_id), request, method, target }))
            }
            None => None,
        };
        let stream = Stream::from_code(row.get(1)?).unwrap_or(Stream::Stderr);
        Ok((PassedMessage { stream, received: unsigned(row.get(2)?), seq, answers }, is_held))
    };
    let mut select = connection.prepare_cached(&format!(
        "SELECT {columns} FROM message WHERE session = ? AND member = 0 AND received IS NOT NULL AND stream < 2 AND kind <> 10
         ORDER BY seq DESC, member DESC LIMIT ?"
    ))?;
    let newest = select.query_map(params![session, PASSED_LIMIT as i64], |row| read(row, false))?;
    let mut found = newest.collect::<rusqlite::Result<Vec<_>>>()?;
    found.reverse();
    let mut select = connection.prepare_cached(&format!(
        "SELECT {columns} FROM message INDEXED BY message_done
         WHERE session = ? AND deed IS NOT NULL AND deed = ? AND made = 0 AND member = 0 AND received IS NOT NULL
         ORDER BY seq"
    ))?;
    for held in select.query_map(params![session, Deed::Held.code()], |row| read(row, true))? {
        found.push(held?);
    }
    Ok(found)
}
