//! The debugger in front of a server over HTTP: messages as the proxy hands them over, and the fields that repeat what they
//! say.

use std::sync::{Arc, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use tap_control::Channel;
use tap_frame::Direction;
use tap_http::{Judge, Place};
use tap_jsonrpc::{Node, NodeKind};

use super::Control;

/// How deep arguments are looked into for the one that a field repeats.
const DEPTH: usize = 8;

/// The judge, as the proxy has it.
pub(super) struct Exchanges(pub(super) Arc<Control>);

impl Judge for Exchanges {
    fn pass(&self, place: Place, direction: Direction, offset: u64, bytes: Bytes) {
        let Place { exchange, session, is_stream, in_order } = place;
        let channel = Channel { exchange, session, is_stream, in_order };
        if direction == Direction::ToClient
            && let Some(result) = Node::new(&bytes).get("result").filter(|result| result.get("tools").is_some())
        {
            let mut mirrored = self.0.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
            mirrored.listed(result, self.0.clock.at_ns());
        }
        self.0.with(|debugger, at_ns| debugger.message_in(channel, direction, offset, bytes, at_ns));
    }

    fn headers(&self, came: &[u8], goes: &[u8], head: &HeaderMap) -> Vec<(HeaderName, Option<HeaderValue>)> {
        // Who does not repeat what the message says, as before 2026-07-28, does not have to afterwards.
        if !head.contains_key("mcp-method") {
            return Vec::new();
        }
        let mirrored = self.0.mirrored.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, after) = (mirrored.of(Node::new(came)), mirrored.of(Node::new(goes)));
        drop(mirrored);
        let mut changed = Vec::new();
        for (name, value) in &after {
            if let (Ok(name), Ok(value)) = (name.parse(), HeaderValue::from_str(value)) {
                changed.push((name, Some(value)));
            }
        }
        let is_told =
            |name: &HeaderName| before.iter().chain(&after).any(|(told, _)| told.eq_ignore_ascii_case(name.as_str()));
        for (name, value) in head {
            let text = name.as_str();
            if is_told(name) {
                let stays = after.iter().any(|(told, _)| told.eq_ignore_ascii_case(text));
                changed.extend((!stays).then(|| (name.clone(), None)));
            } else if text == "mcp-name" {
                changed.push((name.clone(), None));
            } else if text.starts_with("mcp-param-") {
                // The tools were listed before anything was judged: it repeats the argument that has its value.
                changed.extend(followed(came, goes, value).map(|value| (name.clone(), value)));
            }
        }
        changed
    }

    fn gone(&self, exchange: u64, answers_elsewhere: bool) {
        self.0.with(|debugger, at_ns| debugger.leave(exchange, answers_elsewhere, at_ns));
    }
}

/// What becomes of a field that repeats an argument: of the only one that has its value, the new value.
fn followed(came: &[u8], goes: &[u8], value: &HeaderValue) -> Option<Option<HeaderValue>> {
    let told = decoded(value)?;
    let mut places = Vec::new();
    places_of(Node::new(came).at(&["params", "arguments"])?, &told, &mut Vec::new(), &mut places);
    let [place] = &places[..] else {
        return None;
    };
    let arguments = Node::new(goes).at(&["params", "arguments"]);
    let new = place.iter().try_fold(arguments?, |node, key| node.get(key)).and_then(said);
    match new {
        Some(new) if new == told => None,
        Some(new) => Some(HeaderValue::from_str(&encoded(&new)).ok()),
        None => Some(None),
    }
}

fn places_of(node: Node<'_>, told: &str, place: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    if DEPTH <= place.len() {
        return;
    }
    for (key, value) in node.members() {
        place.push(key.text().into_owned());
        if said(value).as_deref() == Some(told) {
            found.push(place.clone());
        }
        places_of(value, told, place, found);
        place.pop();
    }
}

/// An argument as a field says it.
fn said(node: Node<'_>) -> Option<String> {
    match node.kind() {
        NodeKind::String => node.text().map(std::borrow::Cow::into_owned),
        NodeKind::True | NodeKind::False | NodeKind::Number => Some(String::from_utf8_lossy(node.bytes()).into_owned()),
        NodeKind::Object | NodeKind::Array | NodeKind::Null | NodeKind::Invalid => None,
    }
}

fn decoded(value: &HeaderValue) -> Option<String> {
    let text = value.to_str().ok()?;
    match text.strip_prefix("=?base64?").and_then(|text| text.strip_suffix("?=")) {
        Some(inside) => String::from_utf8(STANDARD.decode(inside).ok()?).ok(),
        None => Some(text.to_owned()),
    }
}

/// Source: MCP 2026-07-28, basic/transports/streamable-http, Value Encoding.
fn encoded(text: &str) -> String {
    let is_plain =
        text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text && !text.starts_with("=?base64?");
    if is_plain { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_follows_the_only_argument_that_it_can_repeat() {
        for (came, goes, value, expected) in [
            (r#"{"r":"us","n":1}"#, r#"{"r":"eu","n":1}"#, "us", Some(Some("eu"))),
            (r#"{"r":"us","o":{"n":1}}"#, r#"{"r":"us","o":{"n":2}}"#, "1", Some(Some("2"))),
            (r#"{"r":"us"}"#, r#"{"r":"\u00fc"}"#, "us", Some(Some("=?base64?w7w=?="))),
            (r#"{"r":"\u00fc"}"#, r#"{"r":"x"}"#, "=?base64?w7w=?=", Some(Some("x"))),
            (r#"{"r":"us"}"#, "{}", "us", Some(None)),
            (r#"{"r":"us","q":"us"}"#, r#"{"r":"eu","q":"us"}"#, "us", None),
            (r#"{"r":"us","q":1}"#, r#"{"r":"us","q":2}"#, "us", None),
        ] {
            let message = |arguments: &str| format!(r#"{{"params":{{"arguments":{arguments}}}}}"#);
            let (came, goes) = (message(came), message(goes));
            let found = followed(came.as_bytes(), goes.as_bytes(), &HeaderValue::from_static(value));
            let found = found.map(|value| value.map(|value| value.to_str().unwrap().to_owned()));
            assert_eq!(found, expected.map(|value| value.map(str::to_owned)), "{came} {goes}");
        }
    }
}
