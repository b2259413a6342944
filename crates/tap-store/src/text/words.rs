//! Parts of exchanges in words: the members of their records, and back.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use tap_exchange::Head;
use tap_frame::{HttpEnd, HttpHead, HttpPart};

use super::import::message_of;
use super::pack::Item;

const PARTS: [(HttpPart, &str); 5] = [
    (HttpPart::Request, "request"),
    (HttpPart::RequestEnd, "request_end"),
    (HttpPart::Connected, "connected"),
    (HttpPart::Response, "response"),
    (HttpPart::End, "end"),
];

const ENDS: [(HttpEnd, &str); 3] =
    [(HttpEnd::Whole, "whole"), (HttpEnd::ByClient, "by client"), (HttpEnd::ByServer, "by server")];

/// What says of which part a record is.
pub(super) fn member_of(part: HttpPart) -> (&'static str, Value) {
    match part {
        HttpPart::RequestBody => ("to", "server".into()),
        HttpPart::ResponseBody => ("to", "client".into()),
        other => {
            let name = PARTS.iter().find(|(part, _)| *part == other).map_or("", |(_, name)| name);
            ("part", name.into())
        }
    }
}

pub(super) fn content(bytes: &[u8]) -> (&'static str, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("raw", text.into()),
        Err(_) => ("base64", BASE64.encode(bytes).into()),
    }
}

/// A part that is no body, in words; `None` where these would not give the same bytes again.
pub(super) fn members_of(part: HttpPart, bytes: &[u8]) -> Option<Vec<(&'static str, Value)>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let members = match part {
        HttpPart::Request => {
            let (connection, line) = HttpHead::read(bytes)?.first_line.split_once(' ')?;
            let connection: u64 = connection.parse().ok()?;
            vec![("connection", connection.into()), ("request", line.into()), ("headers", headers_of(bytes)?)]
        }
        HttpPart::Response => {
            let (version, status) = HttpHead::read(bytes)?.first_line.split_once(' ')?;
            let status: u16 = status.parse().ok()?;
            vec![("status", status.into()), ("version", version.into()), ("headers", headers_of(bytes)?)]
        }
        HttpPart::RequestEnd => vec![("request_end", true.into())],
        HttpPart::Connected => match text.split_once(' ') {
            Some((version, took)) => {
                let took: u64 = took.parse().ok()?;
                vec![("connected", version.into()), ("connect_ns", took.into())]
            }
            None => vec![("connected", text.into())],
        },
        HttpPart::End => {
            let end = HttpEnd::from_code(*bytes.first()?)?;
            vec![("http_end", ENDS.iter().find(|(known, _)| *known == end)?.1.into())]
        }
        HttpPart::RequestBody | HttpPart::ResponseBody => return None,
    };
    let record: Map<String, Value> = members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect();
    let record: Words = serde_json::from_value(Value::Object(record)).ok()?;
    (record.part() == Some((part, bytes.to_vec()))).then_some(members)
}

fn headers_of(text: &[u8]) -> Option<Value> {
    let head = HttpHead::read(text)?;
    let head = Head { version: String::new(), text: bytes::Bytes::copy_from_slice(head.fields_text()) };
    let fields = head.fields().map(|(name, value)| Some(json!([name, std::str::from_utf8(value).ok()?])));
    Some(Value::Array(fields.collect::<Option<Vec<_>>>()?))
}

/// The members of a record that say in words what a part of an exchange is.
#[derive(Debug, serde::Deserialize)]
struct Words {
    connection: Option<u64>,
    request: Option<String>,
    headers: Option<Vec<(String, String)>>,
    status: Option<u16>,
    version: Option<String>,
    connected: Option<String>,
    connect_ns: Option<u64>,
    request_end: Option<bool>,
    http_end: Option<String>,
}

impl Words {
    /// The part, and its bytes.
    fn part(&self) -> Option<(HttpPart, Vec<u8>)> {
        let head = |first_line: String| {
            let mut text = Vec::new();
            HttpHead::begin(&mut text, &first_line);
            for (name, value) in self.headers.iter().flatten() {
                HttpHead::add(&mut text, name, value.as_bytes());
            }
            text
        };
        if let Some(line) = &self.request {
            return Some((HttpPart::Request, head(format!("{} {line}", self.connection.unwrap_or(1)))));
        }
        if let Some(status) = self.status {
            let version = self.version.as_deref().unwrap_or("HTTP/1.1");
            return Some((HttpPart::Response, head(format!("{version} {status}"))));
        }
        if let Some(version) = &self.connected {
            let took = self.connect_ns.map_or_else(String::new, |took| format!(" {took}"));
            return Some((HttpPart::Connected, format!("{version}{took}").into_bytes()));
        }
        if self.request_end == Some(true) {
            return Some((HttpPart::RequestEnd, Vec::new()));
        }
        let end = self.http_end.as_deref()?;
        let (end, _) = ENDS.iter().find(|(_, name)| *name == end)?;
        Some((HttpPart::End, vec![end.code()]))
    }
}

/// The members of a record of an exchange that hold bytes.
#[derive(serde::Deserialize)]
struct Bytes<'a> {
    to: Option<String>,
    part: Option<String>,
    gap: Option<u64>,
    before: Option<String>,
    #[serde(borrow)]
    msg: Option<&'a RawValue>,
    after: Option<String>,
    raw: Option<String>,
    base64: Option<String>,
    style: Option<String>,
}

/// What a record of the exchange `number` says; `None` where it is of a kind that is not known.
///
/// # Errors
///
/// What makes no sense in it.
pub(super) fn item(number: u64, line: &[u8]) -> Result<Option<Item>, String> {
    let not_a_record = |error| format!("not a record: {error}");
    let words: Words = serde_json::from_slice(line).map_err(not_a_record)?;
    if let Some((part, bytes)) = words.part() {
        return Ok(Some(Item::Http(number, part, bytes)));
    }
    if words.http_end.is_some() {
        return Err("`http_end` must be whole, by client or by server".into());
    }
    let record: Bytes<'_> = serde_json::from_slice(line).map_err(not_a_record)?;
    let part = match (record.to.as_deref(), record.part.as_deref()) {
        (Some("server"), _) => HttpPart::RequestBody,
        (Some("client"), _) => HttpPart::ResponseBody,
        (Some(_), _) => return Err("`to` must be server or client".into()),
        (None, Some(wanted)) => match PARTS.iter().find(|(_, name)| *name == wanted) {
            Some((part, _)) => *part,
            None => return Ok(None),
        },
        (None, None) => return Ok(None),
    };
    if let Some(lost) = record.gap {
        return Ok(Some(Item::HttpGap(number, part, lost)));
    }
    let bytes = match (record.msg, record.raw, record.base64) {
        (Some(message), ..) => {
            let (before, after) = (record.before.unwrap_or_default(), record.after.unwrap_or_default());
            let message = message_of(message, record.style.as_deref())?;
            [before.as_bytes(), message.as_bytes(), after.as_bytes()].concat()
        }
        (None, Some(text), _) => text.into_bytes(),
        (None, None, Some(encoded)) => BASE64.decode(encoded).map_err(|error| format!("bad base64: {error}"))?,
        (None, None, None) => return Ok(None),
    };
    Ok(Some(Item::Http(number, part, bytes)))
}
