//! What is stored, made into values again: rows, codes, positions.

use bytes::Bytes;
use serde_json::{Value, json};
use tap_exchange::{Conversation, Exchange, Head, Source};
use tap_frame::{Deed, HttpEnd, HttpPart, Segment, Stream};
use tap_jsonrpc::RawId;
use tap_session::{
    At, Done, FrameEnd, HttpSessionKind, HttpSessionNumber, Identity, MessageRow, Moment, OpenFrame, Place, Position,
    RowKind, Status,
};

use crate::reader::{Digest, Listed, Session, SessionId};
use crate::writer::{EndReason, Liveness, SessionEnd, SessionStart, Transport, unsigned};

pub(crate) fn segment_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<(u64, Segment)> {
    let number = unsigned(row.get(0)?);
    Ok((number, Segment::from_stored(unsigned(row.get(1)?), unsigned(row.get(2)?), row.get(3)?, row.get(4)?)))
}

pub(crate) fn end_code(end: FrameEnd) -> u8 {
    match end {
        FrameEnd::Newline => 0,
        FrameEnd::StreamEnd => 1,
        FrameEnd::Gap => 2,
        FrameEnd::TooLong => 3,
        FrameEnd::RecordingEnd => 4,
    }
}

pub(crate) fn end_from_code(code: u8) -> FrameEnd {
    match code {
        0 => FrameEnd::Newline,
        1 => FrameEnd::StreamEnd,
        2 => FrameEnd::Gap,
        3 => FrameEnd::TooLong,
        _ => FrameEnd::RecordingEnd,
    }
}

pub(crate) fn position_to_text(position: &Position) -> String {
    let open: serde_json::Map<String, Value> = Stream::ALL
        .iter()
        .filter_map(|stream| {
            let open = position.open[usize::from(stream.code())]?;
            let value = json!([open.start.segment, open.start.offset, open.length]);
            Some((stream.code().to_string(), value))
        })
        .collect();
    let newest = json!([position.newest.at_ns, position.newest.wall_ns]);
    let (frames, next) = (position.n_frames, position.next_segment);
    let (torn, received) = (position.torn, position.received);
    json!({ "frames": frames, "next": next, "open": open, "torn": torn, "newest": newest, "received": received })
        .to_string()
}

pub(crate) fn position_from_text(text: &str) -> Option<Position> {
    let value: Value = serde_json::from_str(text).ok()?;
    let newest = Moment { at_ns: value["newest"][0].as_u64()?, wall_ns: value["newest"][1].as_u64()? };
    let (n_frames, next_segment) = (value["frames"].as_u64()?, value["next"].as_u64()?);
    let mut position = Position { n_frames, next_segment, newest, ..Position::default() };
    for stream in Stream::ALL {
        let index = usize::from(stream.code());
        position.torn[index] = value["torn"][index].as_bool()?;
        position.received[index] = value["received"][index].as_u64()?;
        if let Some(open) = value["open"].get(stream.code().to_string()) {
            position.open[index] = Some(OpenFrame {
                start: Place { segment: open[0].as_u64()?, offset: open[1].as_u64()? },
                length: open[2].as_u64()?,
            });
        }
    }
    Some(position)
}

/// What is read of a row, in the order in which [`listed_from`] takes it.
pub(crate) const LISTED_COLUMNS: &[&str] = &[
    "seq",
    "member",
    "wall_ns",
    "at_ns",
    "stream",
    "kind",
    "raw_id",
    "method",
    "target",
    "status",
    "error_code",
    "pair_seq",
    "pair_member",
    "latency_ns",
    "lost_bytes",
    "notes",
    "length",
    "frame_end",
    "exchange",
    "conversation",
    "deed",
    "made",
    "fault",
    "held_ns",
    "done_seq",
    "done_by",
    "received",
    "head_bytes",
    "waits",
];

/// Columns of a table as they stand in a statement.
pub(crate) fn columns(table: &str, names: &[&str]) -> String {
    names.iter().map(|name| format!("{table}.{name}")).collect::<Vec<_>>().join(", ")
}

/// A row as it is read back, its first column at this place.
fn row_from(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<MessageRow> {
    let pair_seq: Option<i64> = row.get(first + 11)?;
    let pair_member: Option<i64> = row.get(first + 12)?;
    Ok(MessageRow {
        at: At { seq: unsigned(row.get(first)?), member: unsigned(row.get(first + 1)?) },
        wall_ns: unsigned(row.get(first + 2)?),
        at_ns: unsigned(row.get(first + 3)?),
        stream: Stream::from_code(row.get(first + 4)?).unwrap_or(Stream::Stderr),
        kind: RowKind::from_code(row.get(first + 5)?).unwrap_or(RowKind::NotJson),
        raw_id: row.get::<_, Option<Vec<u8>>>(first + 6)?.map(|token| RawId::from_token(&token)),
        method: row.get(first + 7)?,
        target: row.get(first + 8)?,
        status: row.get::<_, Option<u8>>(first + 9)?.and_then(Status::from_code),
        error_code: row.get(first + 10)?,
        pair: pair_seq.map(|seq| At { seq: unsigned(seq), member: unsigned(pair_member.unwrap_or(0)) }),
        latency_ns: row.get::<_, Option<i64>>(first + 13)?.map(unsigned),
        lost_bytes: row.get::<_, Option<i64>>(first + 14)?.map(unsigned),
        notes: tap_jsonrpc::Notes::from_bits(row.get(first + 15)?),
        done: done_from(row, first + 20)?.map(Box::new),
        received: row.get::<_, Option<i64>>(first + 26)?.map(unsigned),
    })
}

/// What was done, from this column on.
fn done_from(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Option<Done>> {
    let Some(deed) = row.get::<_, Option<u8>>(first)?.and_then(Deed::from_code) else {
        return Ok(None);
    };
    let by: Option<String> = row.get(first + 5)?;
    Ok(Some(Done {
        deed,
        made: row.get::<_, Option<bool>>(first + 1)?.unwrap_or(false),
        fault: row.get::<_, Option<bool>>(first + 2)?.unwrap_or(false),
        held_ns: row.get::<_, Option<i64>>(first + 3)?.map_or(0, unsigned),
        other: row.get::<_, Option<i64>>(first + 4)?.map(|seq| At { seq: unsigned(seq), member: 0 }),
        by: by.unwrap_or_default().into(),
        head_bytes: row.get::<_, Option<i64>>(first + 7)?.map_or(0, unsigned),
        waits: row.get::<_, Option<bool>>(first + 8)?.unwrap_or(false),
    }))
}

/// A line of a list as it is read back, without the length of its answer. Its first column is at this place.
pub(crate) fn listed_from(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Listed> {
    let message = row_from(row, first)?;
    let head_bytes = message.done.as_ref().map_or(0, |done| done.head_bytes);
    Ok(Listed {
        row: message,
        // Of an act, what was sent.
        length: unsigned(row.get(first + 16)?).saturating_sub(head_bytes),
        answer_length: None,
        frame_end: end_from_code(row.get(first + 17)?),
        exchange: row.get::<_, Option<i64>>(first + 18)?.map(unsigned),
        conversation: row.get::<_, Option<i64>>(first + 19)?.map(|number| HttpSessionNumber(unsigned(number))),
    })
}

fn conversation_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<HttpSessionNumber>> {
    Ok(row.get::<_, Option<i64>>("conversation")?.map(|number| HttpSessionNumber(unsigned(number))))
}

/// What a frame over HTTP was made of: its part, length, event, and whether it is compressed, from this column on.
pub(crate) fn source_from(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Option<Source>> {
    let Some(part) = row.get::<_, Option<u8>>(first)?.and_then(HttpPart::from_code) else {
        return Ok(None);
    };
    Ok(Some(Source {
        part,
        raw_length: row.get::<_, Option<i64>>(first + 1)?.map_or(0, unsigned),
        event: row.get::<_, Option<i64>>(first + 2)?.map(unsigned),
        compressed: row.get::<_, Option<bool>>(first + 3)?.unwrap_or(false),
    }))
}

pub(crate) fn exchange_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<Exchange> {
    let number = |name| -> rusqlite::Result<u64> { row.get(name).map(unsigned) };
    let perhaps = |name| -> rusqlite::Result<Option<u64>> { Ok(row.get::<_, Option<i64>>(name)?.map(unsigned)) };
    let bytes = |name| -> rusqlite::Result<Bytes> {
        Ok(row.get::<_, Option<Vec<u8>>>(name)?.map_or_else(Bytes::new, Bytes::from))
    };
    let response = match row.get::<_, Option<String>>("response_version")? {
        Some(version) => Some(Head { version, text: bytes("response_fields")? }),
        None => None,
    };
    Ok(Exchange {
        number: number("number")?,
        connection: number("connection")?,
        verb: row.get("verb")?,
        target: row.get("target")?,
        request: Head { version: row.get("request_version")?, text: bytes("request_fields")? },
        response,
        status: row.get("status")?,
        opened_at_ns: number("opened_at_ns")?,
        request_end_at_ns: perhaps("request_end_at_ns")?,
        connect_ns: perhaps("connect_ns")?,
        server_version: row.get("server_version")?,
        response_at_ns: perhaps("response_at_ns")?,
        first_byte_at_ns: perhaps("first_byte_at_ns")?,
        ended_at_ns: perhaps("ended_at_ns")?,
        end: row.get::<_, Option<u8>>("end_code")?.and_then(HttpEnd::from_code),
        request_bytes: number("request_bytes")?,
        response_bytes: number("response_bytes")?,
        lost_bytes: number("lost_bytes")?,
        undecodable: row.get("undecodable")?,
        conversation: conversation_from(row)?,
        request_seq: perhaps("request_seq")?,
        first_segment: number("first_segment")?,
        last_segment: number("last_segment")?,
    })
}

/// What holds a session of MCP together, as it is written down: its name, and what it is held by.
pub(crate) fn kind_of_conversation(kind: &HttpSessionKind) -> (&'static str, Option<&str>) {
    match kind {
        HttpSessionKind::Assigned(id) => ("assigned", Some(id)),
        HttpSessionKind::Unassigned => ("unassigned", None),
        HttpSessionKind::Endpoint(uri) => ("endpoint", Some(uri)),
        HttpSessionKind::Modern => ("modern", None),
    }
}

pub(crate) fn told_conversation_from(row: &rusqlite::Row<'_>) -> rusqlite::Result<Conversation> {
    let number = |name| -> rusqlite::Result<u64> { row.get(name).map(unsigned) };
    let held_by = || -> rusqlite::Result<std::sync::Arc<str>> {
        Ok(row.get::<_, Option<String>>("held_by")?.unwrap_or_default().into())
    };
    let kind = match row.get::<_, String>("kind")?.as_str() {
        "assigned" => HttpSessionKind::Assigned(held_by()?),
        "endpoint" => HttpSessionKind::Endpoint(held_by()?),
        "modern" => HttpSessionKind::Modern,
        _ => HttpSessionKind::Unassigned,
    };
    Ok(Conversation {
        number: HttpSessionNumber(number("number")?),
        kind,
        client: row.get("client")?,
        server: row.get("server")?,
        revision: row.get("revision")?,
        era: row.get("era")?,
        first_seq: number("first_seq")?,
        last_seq: number("last_seq")?,
        n_messages: number("n_messages")?,
        n_calls: number("n_calls")?,
        n_errors: number("n_errors")?,
        began_at_ns: number("began_at_ns")?,
        ended_at_ns: row.get::<_, Option<i64>>("ended_at_ns")?.map(unsigned),
    })
}

pub(crate) fn session_from(row: &rusqlite::Row<'_>, liveness: &Liveness) -> rusqlite::Result<Session> {
    let number = |name| -> rusqlite::Result<u64> { Ok(row.get::<_, Option<i64>>(name)?.map_or(0, unsigned)) };
    let texts = |name| -> rusqlite::Result<Vec<String>> {
        Ok(serde_json::from_str(&row.get::<_, String>(name)?).unwrap_or_default())
    };
    let id = row.get("id")?;
    let code: i32 = row.get::<_, Option<i32>>("end_code")?.unwrap_or(0);
    let reason = match row.get::<_, Option<String>>("end_reason")?.as_deref() {
        Some("exited") => Some(EndReason::Exited(code)),
        Some("killed") => Some(EndReason::Killed(code)),
        Some("not started") => {
            Some(EndReason::NotStarted(row.get::<_, Option<String>>("end_text")?.unwrap_or_default()))
        }
        Some("stopped") => Some(EndReason::Stopped),
        _ => None,
    };
    let closed_at_ns: Option<i64> = row.get("closed_at_ns")?;
    let lost_bytes = number("lost_bytes")?;
    // A segment may hold much of a session that is slow, and its clock is that of its first piece.
    let blob = |name| -> rusqlite::Result<Vec<u8>> { Ok(row.get::<_, Option<Vec<u8>>>(name)?.unwrap_or_default()) };
    let segment_at_ns = number("newest_at_ns")?;
    let newest = Segment::from_stored(0, segment_at_ns, blob("newest_pieces")?, blob("newest_bytes")?);
    let newest_at_ns = newest.iter().map_while(Result::ok).last().map_or(segment_at_ns, |piece| piece.at_ns());
    Ok(Session {
        id: SessionId(id),
        start: SessionStart {
            uuid: row.get("uuid")?,
            name: row.get("name")?,
            transport: Transport::from_name(&row.get::<_, String>("transport")?).unwrap_or_default(),
            command: texts("command")?,
            folder: row.get("folder")?,
            environment: texts("environment")?,
            recorded_by: row.get("recorded_by")?,
            tap_pid: row.get("tap_pid")?,
            server_pid: row.get("server_pid")?,
            opened_unix_ns: number("opened_unix_ns")?,
        },
        live: closed_at_ns.is_none() && liveness.is_live(id),
        end: closed_at_ns.map(|at_ns| SessionEnd { at_ns: unsigned(at_ns), reason, lost_bytes }),
        digest: Digest {
            n_frames: number("n_frames")?,
            n_messages: number("n_messages")?,
            n_calls: number("n_calls")?,
            n_errors: number("n_errors")?,
            n_bytes: number("n_bytes")?,
            newest_at_ns,
            identity: Identity {
                client: row.get("client")?,
                server: row.get("server")?,
                revision: row.get("revision")?,
            },
        },
        label: row.get("label")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_as_it_was_written() {
        let position = Position {
            n_frames: 7,
            next_segment: 3,
            open: [None, Some(OpenFrame { start: Place { segment: 2, offset: 9 }, length: 1 << 40 }), None],
            torn: [true, false, true],
            newest: Moment { at_ns: 5, wall_ns: 1_700_000_000_000_000_005 },
            received: [3, 1 << 50, 0],
        };
        for position in [position, Position::default()] {
            assert_eq!(position_from_text(&position_to_text(&position)), Some(position));
        }
        for text in [
            "",
            "{}",
            "nonsense",
            r#"{"frames":1,"next":1,"open":{"0":[1]},"torn":[false,false,false],"newest":[0,0]}"#,
        ] {
            assert_eq!(position_from_text(text), None, "text {text}");
        }
    }
}
