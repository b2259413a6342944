//! A row as JSON, for programs.

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tap_frame::Direction;
use tap_session::Status;
use tap_store::Listed;

use crate::command::ls::rfc3339;
use crate::output::visible;
use crate::reference::place;

/// A row for programs, with what is to be told of its exchange.
pub(crate) fn row_json(
    listed: &Listed,
    exchange: Value,
    http_status: Option<u16>,
    reference: &str,
    session: &str,
) -> String {
    let row = &listed.row;
    let status = match row.status {
        Some(Status::Ok) => Some("ok"),
        Some(Status::ToolError) => Some("tool error"),
        Some(Status::Error) => Some("error"),
        None => None,
    };
    let row_text = json!({
        "reference": place(reference, row.at),
        "session": session,
        "seq": row.at.seq,
        "member": row.at.member,
        "wall": rfc3339(row.wall_ns),
        "at_ns": row.at_ns,
        "direction": match row.stream.direction() { Direction::ToServer => "to server", Direction::ToClient => "to client" },
        "kind": row.kind.name(),
        "method": row.method.as_deref(),
        "target": row.target.as_deref(),
        "status": status,
        "error_code": row.error_code,
        "pair_seq": row.pair.map(|pair| pair.seq),
        "latency_ns": row.latency_ns,
        "length_bytes": listed.length,
        "answer_length_bytes": listed.answer_length,
        "lost_bytes": row.lost_bytes,
        "exchange": exchange,
        "conversation": listed.conversation.map(|number| number.0),
        "http_status": http_status,
        "done": row.done.as_ref().map(|done| json!({
            "deed": done.deed.name(),
            "made": done.made,
            "fault": done.fault,
            "held_ns": done.held_ns,
            "other_seq": done.other.map(|other| other.seq),
            "by": &*done.by,
        })),
        "notes": row.notes.names().collect::<Vec<_>>(),
    });
    let row_text = row_text.to_string();
    let row_text = visible(&row_text);
    match &row.raw_id {
        Some(id) => with_verbatim(&row_text, "id", id.as_bytes()),
        None => row_text.into_owned(),
    }
}

/// Adds a member to the text of a JSON object, with the value as it was written: whatever precision or spelling it has.
/// What is no JSON becomes a string.
pub(crate) fn with_verbatim(object: &str, key: &str, value: &[u8]) -> String {
    let text = String::from_utf8_lossy(value);
    let verbatim =
        std::str::from_utf8(value).ok().map(str::trim).filter(|text| serde_json::from_str::<&RawValue>(text).is_ok());
    let value = verbatim.map_or_else(|| visible(&Value::from(text.as_ref()).to_string()).into_owned(), String::from);
    let inside = object.strip_suffix('}').unwrap_or(object);
    format!("{inside},{}:{value}}}", Value::from(key))
}
