//! Secrets in records: which members are looked into, and how.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tap_redact::{Finding, Redactor, Replaced, has_placeholder};

use super::write::Entry;

/// Members that are lines of text. A private key may go on over several of them.
const LINES: &[&str] = &["raw", "stderr"];

/// Members that are bytes. If there is a secret in them, they are written as text.
const BYTES: &[(&str, &str)] = &[("base64", "raw"), ("stderr_base64", "stderr")];

/// Members in which there is nothing to look for.
const OURS: &[&str] = &["mcp-tap", "profile", "rules", "redacted", "gaps_us", "at", "http", "uuid"];

/// Replaces secrets in a record.
pub(super) fn redacted(entry: &mut Entry, redactor: &mut Redactor) {
    let whose = ["to", "http"].map(|name| entry.get(name).unwrap_or_default()).join(" ");
    let stream = |name: &str| format!("{name} {whose}");
    for (name, value) in &mut entry.members {
        if OURS.contains(&name.as_str()) {
            continue;
        }
        if LINES.contains(&name.as_str())
            && let Ok(text) = serde_json::from_str::<String>(value)
        {
            if let Some(text) = redactor.line(name, &stream(name), &text) {
                *value = Value::from(text).to_string();
            }
        } else if let Some((_, as_text)) = BYTES.iter().find(|(bytes, _)| bytes == name) {
            let text = text_of_bytes(value);
            if let Some(text) = redactor.line(as_text, &stream(as_text), &text) {
                (*name, *value) = ((*as_text).to_owned(), Value::from(text).to_string());
            }
        } else if let Some(redacted) = redactor.member(name, value) {
            *value = redacted;
        }
    }
    if let Some(message) = &mut entry.message
        && let Some(redacted) = redactor.message(message)
    {
        *message = redacted;
    }
}

/// The secrets in the text of a record, which may be folded. Its `members` are parts of it.
pub(super) fn looked_at(record: &str, members: &[(String, &RawValue)], redactor: &mut Redactor) -> Vec<Finding> {
    let mut findings = redactor.record(record, OURS);
    for (name, value) in members {
        let Some((_, as_text)) = BYTES.iter().find(|(bytes, _)| bytes == name) else {
            continue;
        };
        let text = text_of_bytes(value.get());
        let at = value.get().as_ptr() as usize - record.as_ptr() as usize;
        let found = redactor.bytes(as_text, &text).into_iter();
        // Where in the bytes cannot be told: they are in base64.
        findings.extend(found.map(|finding| Finding { at, path: finding.path.replacen(as_text, name, 1), ..finding }));
    }
    findings
}

/// The text of a member that is bytes in base64; nothing where it is none.
fn text_of_bytes(value: &str) -> String {
    let bytes = serde_json::from_str::<String>(value).ok().and_then(|text| BASE64.decode(text).ok());
    bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default()
}

/// Says in a header which markers there are.
pub(super) fn with_markers(header: &mut Entry, replaced: &[Replaced]) {
    if replaced.is_empty() {
        return;
    }
    let counts = replaced.iter().map(|replaced| (replaced.marker.clone(), Value::from(replaced.count)));
    header.put("redacted", Value::Object(counts.collect::<Map<_, _>>()));
}

/// Says of a record that holds what looks like a placeholder that it is none.
pub(super) fn with_literal(entry: &mut Entry) {
    let in_member = LINES.iter().any(|name| entry.get(name).is_some_and(has_placeholder));
    if in_member || entry.message.as_deref().is_some_and(has_placeholder) {
        entry.put("literal", true);
    }
}
