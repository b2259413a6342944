//! A recording over HTTP as a HAR file (HTTP Archive 1.2), which browsers' tools and others open.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use tap_exchange::{Exchange, Head};
use tap_frame::HttpPart;
use tap_redact::Redactor;
use tap_store::Chosen;

use crate::failure::Failure;
use crate::paths::recorded_by;
use crate::reference::Found;

/// Exchanges fetched at a time.
const PAGE: u64 = 200;

/// What of a body is written, bytes.
const BODY_BYTES: usize = 16 * 1024 * 1024;

/// The archive, and how many exchanges are in it.
pub(super) fn write(
    found: &Found,
    chosen: &Chosen,
    redactor: Option<&mut Redactor>,
) -> Result<(String, usize), Failure> {
    let mut entries = Vec::new();
    let mut from = 0;
    loop {
        let exchanges = found.store.exchanges(found.session.id, from, PAGE)?;
        let Some(last) = exchanges.last() else {
            break;
        };
        from = last.number + 1;
        for exchange in &exchanges {
            let frames: BTreeSet<u64> =
                found.store.frames_of_exchange(found.session.id, exchange.number)?.into_iter().collect();
            if frames.iter().any(|seq| chosen.contains(*seq)) {
                entries.push(entry(found, exchange, &frames)?);
            }
        }
    }
    if let Some(redactor) = redactor {
        redact(&mut entries, redactor);
    }
    let n_entries = entries.len();
    let (name, version) = (recorded_by(), env!("CARGO_PKG_VERSION"));
    let creator = json!({"name": name.split(' ').next().unwrap_or(&name), "version": version});
    let log = json!({"log": {"version": "1.2", "creator": creator, "pages": [], "entries": entries}});
    Ok((format!("{log:#}\n"), n_entries))
}

/// Replaces secrets: in bodies as in messages, in all else by name and shape.
fn redact(entries: &mut [Value], redactor: &mut Redactor) {
    loop {
        for entry in entries.iter_mut() {
            each_text(entry, &mut |is_json, text| {
                replaced(redactor, is_json, text);
                None
            });
        }
        if !redactor.looks_again() {
            break;
        }
    }
    redactor.settle();
    for entry in entries {
        each_text(entry, &mut |is_json, text| replaced(redactor, is_json, text));
    }
}

fn replaced(redactor: &mut Redactor, is_json: bool, text: &str) -> Option<String> {
    if is_json { redactor.message(text) } else { redactor.line("text", "har", text) }
}

/// Every text in an entry; it is replaced by what comes back. Bodies are JSON as far as they are.
fn each_text(value: &mut Value, replace: &mut dyn FnMut(bool, &str) -> Option<String>) {
    match value {
        Value::String(text) => {
            let is_json = text.starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok();
            let new = if is_json || !text.contains('\n') {
                replace(is_json, text)
            } else {
                // The lines of an event stream.
                let lines = text.split_inclusive('\n').map(|line| {
                    let (name, data) = line.split_at(if line.starts_with("data: ") { 6 } else { 0 });
                    let end = data.len() - data.trim_end_matches(['\r', '\n']).len();
                    let (data, end) = data.split_at(data.len() - end);
                    let is_json = data.starts_with(['{', '[']) && serde_json::from_str::<Value>(data).is_ok();
                    format!("{name}{}{end}", replace(is_json, data).unwrap_or_else(|| data.to_owned()))
                });
                Some(lines.collect())
            };
            if let Some(new) = new {
                *text = new;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| each_text(value, replace)),
        Value::Object(members) => {
            // A header's value is one of a secret if its name says so.
            let named: Option<String> = members.get("name").and_then(Value::as_str).map(str::to_owned);
            if let (Some(name), Some(Value::String(value))) = (named, members.get_mut("value")) {
                let pair = Value::Object(Map::from_iter([(name.clone(), Value::from(value.clone()))])).to_string();
                let new = replace(true, &pair).and_then(|pair| serde_json::from_str::<Map<String, Value>>(&pair).ok());
                if let Some(new) = new.and_then(|new| new.values().next()?.as_str().map(str::to_owned)) {
                    *value = new;
                }
                return;
            }
            members.values_mut().for_each(|value| each_text(value, replace));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn entry(found: &Found, exchange: &Exchange, frames: &BTreeSet<u64>) -> Result<Value, Failure> {
    let opened_ns = found.session.start.opened_unix_ns.saturating_add(exchange.opened_at_ns);
    let started = jiff::Timestamp::from_nanosecond(i128::from(opened_ns)).unwrap_or_default();
    // Times are in milliseconds; -1 is what does not apply (HAR 1.2, "timings").
    let ms = |from: Option<u64>, to: Option<u64>| match (from, to) {
        (Some(from), Some(to)) => to.saturating_sub(from) as f64 / 1e6,
        _ => -1.0,
    };
    let (opened, asked) = (Some(exchange.opened_at_ns), exchange.request_end_at_ns);
    let timings = json!({
        "blocked": -1,
        "dns": -1,
        "connect": exchange.connect_ns.map_or(-1.0, |ns| ns as f64 / 1e6),
        "ssl": -1,
        "send": ms(opened, asked).max(0.0),
        "wait": ms(asked.or(opened), exchange.response_at_ns).max(0.0),
        "receive": ms(exchange.response_at_ns, exchange.ended_at_ns).max(0.0),
    });
    let url = url(found, exchange);
    let query = url.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default()).unwrap_or_default();
    let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        json!({"name": name, "value": value})
    });
    let mut request = json!({
        "method": exchange.verb,
        "url": url,
        "httpVersion": exchange.request.version,
        "cookies": [],
        "headers": headers(&exchange.request),
        "queryString": pairs.collect::<Vec<_>>(),
        "headersSize": -1,
        "bodySize": exchange.request_bytes,
    });
    if exchange.request_bytes > 0 {
        let content = content(found, exchange, HttpPart::RequestBody, frames)?;
        let mime = exchange.request.field("content-type").unwrap_or_default();
        request["postData"] = json!({"mimeType": mime, "text": content.text, "params": []});
        if content.is_base64 {
            request["postData"]["encoding"] = "base64".into();
        }
    }
    let response = match &exchange.response {
        Some(head) => {
            let content = content(found, exchange, HttpPart::ResponseBody, frames)?;
            let mut told = json!({
                "size": content.size,
                "mimeType": head.field("content-type").unwrap_or_default(),
                "text": content.text,
            });
            if content.is_base64 {
                told["encoding"] = "base64".into();
            }
            json!({
                "status": exchange.status.unwrap_or_default(),
                "statusText": "",
                "httpVersion": head.version,
                "cookies": [],
                "headers": headers(head),
                "content": told,
                "redirectURL": head.field("location").unwrap_or_default(),
                "headersSize": -1,
                "bodySize": exchange.response_bytes,
            })
        }
        // Nobody answered: tools show that as such.
        None => json!({
            "status": 0, "statusText": "", "httpVersion": "", "cookies": [], "headers": [],
            "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": -1,
        }),
    };
    Ok(json!({
        "startedDateTime": started.to_string(),
        "time": ms(opened, exchange.ended_at_ns).max(0.0),
        "request": request,
        "response": response,
        "cache": {},
        "timings": timings,
        "connection": exchange.connection.to_string(),
        "_mcp_tap": {"exchange": exchange.number, "messages": frames, "lost_bytes": exchange.lost_bytes},
    }))
}

fn headers(head: &Head) -> Vec<Value> {
    let field = |(name, value): (&str, &[u8])| json!({"name": name, "value": String::from_utf8_lossy(value)});
    head.fields().map(field).collect()
}

/// The address as it was asked for; of a proxy before one server, the server's.
fn url(found: &Found, exchange: &Exchange) -> String {
    let target = &exchange.target;
    if target.contains("://") {
        return target.clone();
    }
    let server = found.session.start.command.first().filter(|server| server.contains("://"));
    let origin = server.and_then(|server| {
        let (scheme, rest) = server.split_once("://")?;
        Some(format!("{scheme}://{}", rest.split('/').next()?))
    });
    let host = || format!("http://{}", exchange.request.field("host").unwrap_or("localhost"));
    format!("{}{target}", origin.unwrap_or_else(host))
}

struct Content {
    text: String,
    is_base64: bool,
    /// As it is before it is compressed, bytes.
    size: usize,
}

/// A body: as text where it is text. What was compressed on the wire is here what it is decoded to.
fn content(found: &Found, exchange: &Exchange, part: HttpPart, frames: &BTreeSet<u64>) -> Result<Content, Failure> {
    use base64::Engine;
    let head = if part == HttpPart::RequestBody { Some(&exchange.request) } else { exchange.response.as_ref() };
    let coding = head.and_then(|head| head.field("content-encoding")).unwrap_or_default();
    let is_plain = matches!(coding.trim().to_ascii_lowercase().as_str(), "" | "identity");
    let mut bytes = Vec::new();
    if is_plain {
        bytes = found.store.raw(found.session.id, exchange.number, part)?.to_vec();
    } else {
        let is_request = |seq: u64| exchange.request_seq == Some(seq);
        for seq in frames.iter().filter(|seq| is_request(**seq) == (part == HttpPart::RequestBody)) {
            if let Some(frame) = found.store.frame(found.session.id, *seq)? {
                bytes.extend_from_slice(&frame.bytes);
                if !bytes.ends_with(b"\n") {
                    bytes.push(b'\n');
                }
            }
        }
    }
    let size = bytes.len();
    bytes.truncate(BODY_BYTES);
    Ok(match String::from_utf8(bytes) {
        Ok(text) => Content { text, is_base64: false, size },
        Err(error) => {
            Content { text: base64::engine::general_purpose::STANDARD.encode(error.as_bytes()), is_base64: true, size }
        }
    })
}
