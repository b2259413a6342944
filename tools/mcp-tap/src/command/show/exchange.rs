//! The exchange of HTTP that a message was in: for a person, for a program, and much as it was on the wire.

use std::borrow::Cow;
use std::io::Write;

use serde_json::{Value, json};
use tap_exchange::{Exchange, Head};
use tap_frame::{HttpEnd, HttpPart};
use tap_jsonrpc::{SseEvent, SseSplitter};

use super::{PRETTY_LIMIT_BYTES, hex};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::reference::Found;
use crate::text::{duration, shown, size};

/// The field in which the proxy says why it answered by itself.
const OUR_OWN: &str = "mcp-tap-error";

/// Of a longer stream the fields of an event are not looked for, bytes.
const STREAM_LIMIT_BYTES: u64 = 16 * 1024 * 1024;

/// What an event of a stream says beside its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct EventFields {
    name: Option<String>,
    id: Option<String>,
    retry_ms: Option<u64>,
}

impl EventFields {
    fn words(&self) -> Option<String> {
        let name = self.name.as_ref().map(|name| format!("name {name}"));
        let id = self.id.as_ref().map(|id| format!("id {id}"));
        let retry = self.retry_ms.map(|ms| format!("retry after {ms} ms"));
        let words: Vec<String> = [name, id, retry].into_iter().flatten().collect();
        (!words.is_empty()).then(|| words.join(", "))
    }
}

/// The fields of the event that a frame is. `None` where it is none, and where that would cost much.
pub(super) fn event_of(found: &Found, exchange: &Exchange, seq: u64) -> Result<Option<EventFields>, Failure> {
    let response = exchange.response.as_ref();
    let field = |name: &str| response.and_then(|head| head.field(name)).unwrap_or_default().to_ascii_lowercase();
    let is_plain = matches!(field("content-encoding").as_str(), "" | "identity");
    let is_stream = field("content-type").starts_with("text/event-stream");
    if !is_plain || !is_stream || exchange.lost_bytes > 0 || exchange.response_bytes > STREAM_LIMIT_BYTES {
        return Ok(None);
    }
    let frames = found.store.frames_of_exchange(found.session.id, exchange.number)?;
    let mut answers = frames.iter().filter(|frame| Some(**frame) != exchange.request_seq);
    let Some(index) = answers.position(|frame| *frame == seq) else {
        return Ok(None);
    };
    let raw = found.store.raw(found.session.id, exchange.number, HttpPart::ResponseBody)?;
    Ok(frames_of_stream(&raw).into_iter().nth(index))
}

/// The fields of those events of a stream that are frames: an event without data, or with empty data, is none.
fn frames_of_stream(raw: &[u8]) -> Vec<EventFields> {
    let mut events = Vec::new();
    SseSplitter::default().feed(raw, &mut |event: SseEvent| {
        if event.data.as_ref().is_some_and(|data| !data.is_empty()) {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            events.push(EventFields {
                name: event.event.as_deref().map(text),
                id: event.id.as_deref().map(text),
                retry_ms: event.retry_ms,
            });
        }
    });
    events
}

/// Why the proxy answered by itself, if it did. The field alone proves nothing, for a server may send it as well: where the
/// server answered, its protocol's version is known.
fn own_error(exchange: &Exchange) -> Option<&str> {
    let response = exchange.response.as_ref().filter(|_| exchange.server_version.is_none())?;
    response.field(OUR_OWN)
}

/// How an exchange ended, in words; nothing while it is open.
fn ending(exchange: &Exchange, live: bool) -> (Style, String) {
    match (exchange.end, own_error(exchange)) {
        (_, Some(why)) => (Style::Bad, format!("mcp-tap answered by itself: {}", shown(why, false))),
        (Some(HttpEnd::Whole), _) => (Style::Plain, "all of the answer was sent".into()),
        (Some(HttpEnd::ByClient), _) => (Style::Warning, "the client went away".into()),
        (Some(HttpEnd::ByServer), _) if exchange.response.is_none() => {
            (Style::Bad, "the server went away before it answered".into())
        }
        (Some(HttpEnd::ByServer), _) => (Style::Bad, "the server broke off".into()),
        (None, _) if exchange.ended_at_ns.is_some() => (Style::Warning, "not known: it was not recorded".into()),
        (None, _) if live => (Style::Good, "open".into()),
        (None, _) => (Style::Warning, "open when the recording ended".into()),
    }
}

/// Nanoseconds from when the request was complete to a later moment.
fn since_asked(exchange: &Exchange, at_ns: Option<u64>) -> Option<u64> {
    let asked_at_ns = exchange.request_end_at_ns.unwrap_or(exchange.opened_at_ns);
    at_ns.map(|at_ns| at_ns.saturating_sub(asked_at_ns))
}

/// An exchange for a person.
pub(super) fn write(
    out: &mut Output,
    found: &Found,
    exchange: &Exchange,
    event: Option<&EventFields>,
) -> Result<(), Failure> {
    let status = exchange.status.map_or_else(|| "no answer".into(), |status| format!("HTTP {status}"));
    let head = format!("exchange {}  {} {}  {status}", exchange.number, exchange.verb, exchange.target);
    writeln!(out, "{}", out.styled(Style::Bold, &shown(&head, false)))?;
    let mut connection = vec![format!("{}, {}", exchange.connection, exchange.request.version)];
    connection.extend(exchange.server_version.as_ref().map(|version| format!("to the server {version}")));
    connection.extend(exchange.connect_ns.map(|ns| format!("connected in {}", duration(ns))));
    let session = exchange.conversation.map(|number| found.inside(number));
    let times = [
        ("head after", exchange.response_at_ns),
        ("body after", exchange.first_byte_at_ns),
        ("last byte after", exchange.ended_at_ns),
    ];
    let times = times
        .into_iter()
        .filter_map(|(what, at_ns)| Some(format!("{what} {}", duration(since_asked(exchange, at_ns)?))));
    let coding = |head: Option<&Head>| {
        let coding = head.and_then(|head| head.field("content-encoding")).map(|coding| format!(" ({coding})"));
        coding.unwrap_or_default()
    };
    let mut sizes = vec![
        format!("request {}{}", size(exchange.request_bytes), coding(Some(&exchange.request))),
        format!("answer {}{}", size(exchange.response_bytes), coding(exchange.response.as_ref())),
    ];
    if exchange.lost_bytes > 0 {
        sizes.push(format!("{} bytes not recorded", exchange.lost_bytes));
    }
    if exchange.undecodable {
        sizes.push("cannot be decoded".into());
    }
    let (style, end) = ending(exchange, found.session.live);
    let facts = [
        ("connection", Style::Plain, Some(connection.join(", "))),
        ("session", Style::Plain, session),
        ("end", style, Some(end)),
        ("time", Style::Plain, Some(times.collect::<Vec<_>>().join(", ")).filter(|times| !times.is_empty())),
        ("bodies", Style::Plain, Some(sizes.join(", "))),
        ("event", Style::Plain, event.and_then(EventFields::words)),
    ];
    for (name, style, text) in facts {
        if let Some(text) = text {
            writeln!(out, "  {name:<11} {}", out.styled(style, &shown(&text, false)))?;
        }
    }
    for (arrow, head) in [("->", Some(&exchange.request)), ("<-", exchange.response.as_ref())] {
        for (name, value) in head.into_iter().flat_map(Head::fields) {
            let name = out.styled(Style::Dim, &format!("{arrow} {}:", shown(name, false)));
            writeln!(out, "  {name} {}", shown(&String::from_utf8_lossy(value), false))?;
        }
    }
    Ok(())
}

/// Both heads and both bodies, much as they were on the wire, as far as they were recorded.
pub(super) fn wire(out: &mut Output, found: &Found, exchange: &Exchange) -> Result<(), Failure> {
    let request = format!("{} {} {}", exchange.verb, exchange.target, exchange.request.version);
    let answer = exchange
        .response
        .as_ref()
        .map(|head| (format!("{} {}", head.version, exchange.status.unwrap_or(0)), head, HttpPart::ResponseBody));
    for (first_line, head, part) in [(request, &exchange.request, HttpPart::RequestBody)].into_iter().chain(answer) {
        if part == HttpPart::ResponseBody {
            writeln!(out)?;
        }
        writeln!(out, "{}", out.styled(Style::Bold, &shown(&first_line, false)))?;
        for (name, value) in head.fields() {
            writeln!(out, "{}: {}", shown(name, false), shown(&String::from_utf8_lossy(value), false))?;
        }
        writeln!(out)?;
        body(out, &found.store.raw(found.session.id, exchange.number, part)?)?;
    }
    if exchange.lost_bytes > 0 {
        let text = format!("{} bytes passed here that could not be recorded", exchange.lost_bytes);
        writeln!(out, "{}", out.styled(Style::Warning, &text))?;
    }
    Ok(())
}

/// Text as such, other bytes as numbers.
fn body(out: &mut Output, bytes: &[u8]) -> Result<(), Failure> {
    let told = bytes.get(..PRETTY_LIMIT_BYTES).unwrap_or(bytes);
    match std::str::from_utf8(told) {
        _ if told.is_empty() => {}
        Ok(text) => {
            let end = if text.ends_with('\n') { "" } else { "\n" };
            write!(out, "{}{end}", shown(text, true))?;
        }
        // The limit may have cut a character.
        Err(error) if error.error_len().is_none() && told.len() < bytes.len() => {
            writeln!(out, "{}", shown(&String::from_utf8_lossy(told), true))?;
        }
        Err(_) => hex(out, told)?,
    }
    if told.len() < bytes.len() {
        let rest = size((bytes.len() - told.len()) as u64);
        writeln!(out, "{}", out.styled(Style::Warning, &format!("{rest} more; --json has the messages whole")))?;
    }
    Ok(())
}

/// An exchange for programs.
pub(super) fn as_json(exchange: &Exchange, event: Option<&EventFields>, live: bool) -> Value {
    let fields = |head: &Head| -> Vec<Value> {
        let field = |(name, value): (&str, &[u8])| json!({ "name": name, "value": text(value) });
        head.fields().map(field).collect()
    };
    let end = match exchange.end {
        Some(HttpEnd::Whole) => Some("whole"),
        Some(HttpEnd::ByClient) => Some("by client"),
        Some(HttpEnd::ByServer) => Some("by server"),
        None => None,
    };
    let response = exchange.response.as_ref();
    json!({
        "number": exchange.number,
        "connection": exchange.connection,
        "method": exchange.verb,
        "target": exchange.target,
        "version": exchange.request.version,
        "server_version": exchange.server_version,
        "status": exchange.status,
        "conversation": exchange.conversation.map(|number| number.0),
        "end": end,
        "end_text": ending(exchange, live).1,
        "own_error": own_error(exchange),
        "opened_at_ns": exchange.opened_at_ns,
        "request_end_at_ns": exchange.request_end_at_ns,
        "connect_ns": exchange.connect_ns,
        "head_at_ns": exchange.response_at_ns,
        "first_byte_at_ns": exchange.first_byte_at_ns,
        "ended_at_ns": exchange.ended_at_ns,
        "request_wire_bytes": exchange.request_bytes,
        "answer_wire_bytes": exchange.response_bytes,
        "lost_bytes": exchange.lost_bytes,
        "undecodable": exchange.undecodable,
        "request_fields": fields(&exchange.request),
        "response_fields": response.map(fields),
        "event": event.map(|event| json!({ "name": event.name, "id": event.id, "retry_ms": event.retry_ms })),
    })
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_that_are_no_frames_are_not_counted() {
        for (stream, ids) in [
            ("", &[][..]),
            ("id: 1\ndata: {}\n\n", &[Some("1")]),
            // What official servers begin with, so that a client knows from where to resume.
            ("id: 1\ndata:\n\nid: 2\ndata: {}\n\n", &[Some("2")]),
            ("id: 1\nretry: 500\ndata: \n\nid: 2\ndata: {}\n\nid: 3\ndata: {}\n\n", &[Some("2"), Some("3")]),
            ("retry: 500\n\n: comment\n\nid: 2\n\ndata: {}\n\n", &[None]),
        ] {
            let frames = frames_of_stream(stream.as_bytes());
            let found: Vec<Option<&str>> = frames.iter().map(|event| event.id.as_deref()).collect();
            assert_eq!(found, ids, "{stream:?}");
        }
    }
}
