//! `_meta`: how keys are spelled, what a request of the modern era must say in it, and trace context.
//!
//! Source: MCP 2026-07-28, basic, `_meta`, and the same of 2025-06-18 and 2025-11-25; W3C Trace Context; W3C Baggage.

use tap_jsonrpc::Node;
use tap_protocol::{Revisions, meta};

use super::super::{Out, Seen};
use super::{deprecated, find_beside, rule};
use crate::rule::{Rule, quoted};
use crate::rules::modern_meta;
use crate::state::{Call, Kept, Party, SessionState};

/// A finding is made of a key once; and of no more keys than these.
const TOLD_KEYS: usize = 256;

/// A longer `_meta` is judged anew each time, bytes.
const SAME_META_BYTES: usize = 4096;

/// Names of keys that one finding shows.
const SHOWN_KEYS: usize = 5;

/// Judges the keys of the `_meta` of any message; of a list also those of its items.
pub(super) fn any(state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let list = seen.result.and_then(|result| match seen.method_name() {
        "tools/list" => result.get("tools"),
        "prompts/list" => result.get("prompts"),
        "resources/list" => result.get("resources"),
        "resources/templates/list" => result.get("resourceTemplates"),
        _ => None,
    });
    if seen.meta.or(list).is_none() || seen.revisions.is_empty() {
        return;
    }
    // The same text was judged a message ago, and what was found in it is told once.
    let same = |(revisions, known): &(Revisions, Kept)| {
        *revisions == seen.revisions && seen.meta.is_none_or(|meta| *meta.bytes() == *known.0)
    };
    let judged = &mut state.modern.judged_meta[seen.side as usize];
    if list.is_none() && judged.as_ref().is_some_and(same) {
        return;
    }
    if let Some(kept) = seen.meta.filter(|meta| meta.bytes().len() <= SAME_META_BYTES).and_then(|meta| seen.keep(meta))
    {
        *judged = Some((seen.revisions, kept));
    }
    let mut keys = Keys { seen, malformed: Vec::new(), reserved: Vec::new() };
    if let Some(meta) = seen.meta {
        keys.look(meta, out);
    }
    for item in list.into_iter().flat_map(Node::elements) {
        if let Some(meta) = item.get("_meta") {
            keys.look(meta, out);
        }
    }
    let Keys { malformed, mut reserved, .. } = keys;
    if !reserved.is_empty() && [&state.client, &state.server].into_iter().any(declares_official_extension) {
        // It may be a key of that extension.
        reserved.clear();
    }
    tell(&modern_meta::META_001, malformed, state, seen, out);
    tell(&modern_meta::META_002, reserved, state, seen, out);
}

struct Keys<'a> {
    seen: &'a Seen<'a>,
    malformed: Vec<String>,
    reserved: Vec<String>,
}

impl Keys<'_> {
    fn look(&mut self, meta: Node<'_>, out: &mut Out<'_>) {
        for (key, value) in meta.members() {
            let text = key.text();
            if meta::meta_key(&text).is_some() {
                trace(self.seen, &text, value, out);
            } else if !meta::key_is_well_formed(&text) {
                self.malformed.push(text.into());
            } else if self.seen.revisions.iter().all(|revision| meta::key_is_reserved(&text, revision)) {
                self.reserved.push(text.into());
            }
        }
    }
}

fn declares_official_extension(party: &Party) -> bool {
    let extensions = party.capabilities.as_ref().and_then(|capabilities| capabilities.node().get("extensions"));
    extensions.is_some_and(|extensions| {
        extensions.members().any(|(key, _)| key.text().starts_with("io.modelcontextprotocol/"))
    })
}

/// Who has a key of their own puts it into every message: a key is told once.
fn tell(rule: &'static Rule, keys: Vec<String>, state: &mut SessionState, seen: &Seen<'_>, out: &mut Out<'_>) {
    let told = &mut state.modern.told_keys;
    let mut fresh = Vec::new();
    for key in keys {
        if told.len() < TOLD_KEYS && !told.contains(&*key) {
            told.insert(crate::rule::clipped(&key, 200).into());
            fresh.push(quoted(&key));
        }
    }
    if !fresh.is_empty() && rule.severity_in(seen.revisions).is_some() {
        let more =
            if fresh.len() > SHOWN_KEYS { format!(" and {} more", fresh.len() - SHOWN_KEYS) } else { String::new() };
        fresh.truncate(SHOWN_KEYS);
        out.find(rule, seen, format!("{}{more}; told once", fresh.join(", ")));
    }
}

/// Judges what a request of the modern era says of itself.
pub(super) fn request(state: &mut SessionState, seen: &Seen<'_>, call: &mut Call, out: &mut Out<'_>) {
    let (version, capabilities) = (seen.said.protocol_version, seen.said.client_capabilities);
    let (info, level) = (seen.said.client_info, seen.said.log_level);
    let mut missing = Vec::new();
    if !version.is_some_and(Node::is_string) {
        missing.push("protocolVersion");
    }
    if !capabilities.is_some_and(Node::is_object) {
        missing.push("clientCapabilities");
    }
    call.lacks_meta = !missing.is_empty();
    // A method that this revision does not have is wrong anyway, as is what it says of itself.
    let there_is = seen.method.is_none_or(|method| !method.revisions().intersection(Revisions::MODERN).is_empty());
    if call.lacks_meta && there_is {
        out.find(&rule::MOD_001, seen, format!("{} without {}", quoted(&call.method), missing.join(" and ")));
    } else if info.is_none() && there_is && state.first_time("MOD-003 client") {
        out.find(&rule::MOD_003, seen, "no clientInfo; told once");
    }
    if level.is_some_and(|level| !level.is_null()) {
        deprecated(state, seen, "logging", out);
    }
}

/// Judges what a result of the modern era says of the server, and what it should not have answered.
pub(super) fn answer(state: &mut SessionState, seen: &Seen<'_>, call: &Call, out: &mut Out<'_>) {
    if state.modern.served.is_none() {
        return;
    }
    if call.lacks_meta {
        find_beside(&rule::MOD_002, seen, quoted(&call.method), call.at, out);
    }
    if seen.said.server_info.is_none() && state.first_time("MOD-003 server") {
        out.find(&rule::MOD_003, seen, "no serverInfo; told once");
    }
}

/// Judges trace context.
fn trace(seen: &Seen<'_>, key: &str, value: Node<'_>, out: &mut Out<'_>) {
    let is_well_formed = match key {
        meta::TRACEPARENT => is_traceparent,
        meta::TRACESTATE => is_tracestate,
        meta::BAGGAGE => is_baggage,
        _ => return,
    };
    match value.text() {
        None => {
            out.find(&modern_meta::TRC_001, seen, format!("`{key}` is no text"));
        }
        Some(text) if !is_well_formed(&text) => {
            out.find(&modern_meta::TRC_001, seen, format!("`{key}` is {}", quoted(&text)));
        }
        Some(_) => {}
    }
}

/// `version-trace-parent-flags`, in lower-case hexadecimal digits; later versions may have more after it.
///
/// Source: W3C Trace Context, 3.2.
fn is_traceparent(text: &str) -> bool {
    let mut parts = text.splitn(5, '-');
    let fields = [2, 32, 16, 2].map(|len| parts.next().filter(|part| part.len() == len && is_hex(part)));
    let [Some(version), Some(trace), Some(parent), Some(_flags)] = fields else {
        return false;
    };
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    version != "ff" && (version != "00" || parts.next().is_none()) && !is_zero(trace) && !is_zero(parent)
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// `key=value` with commas between; a member may be empty.
///
/// Source: W3C Trace Context, 3.3.
fn is_tracestate(text: &str) -> bool {
    let is_key = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-' | b'*' | b'/' | b'@');
    let is_value = |byte: u8| matches!(byte, b' '..=b'~') && byte != b',' && byte != b'=';
    let members = text.split(',').map(|member| member.trim_matches([' ', '\t'])).filter(|member| !member.is_empty());
    let mut n_members = 0;
    let is_well_formed = members.inspect(|_| n_members += 1).all(|member| {
        member.split_once('=').is_some_and(|(key, value)| {
            let starts = key.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            starts && key.len() <= 256 && key.bytes().all(is_key) && value.len() <= 256 && value.bytes().all(is_value)
        })
    });
    is_well_formed && n_members <= 32
}

/// `key=value` with commas between, each with properties after semicolons.
///
/// Source: W3C Baggage, 3.3. Spaces are allowed around each part.
fn is_baggage(text: &str) -> bool {
    let is_token = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    let is_value = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte));
    let is_pair =
        |text: &str| text.split_once('=').is_some_and(|(key, value)| is_token(key.trim()) && is_value(value.trim()));
    text.is_empty()
        || text.split(',').all(|member| {
            let mut parts = member.split(';').map(str::trim);
            parts.next().is_some_and(is_pair) && parts.all(|property| is_token(property) || is_pair(property))
        })
}

#[cfg(test)]
mod tests;
