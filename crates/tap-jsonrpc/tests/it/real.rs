//! Real traffic, where it is at hand: every message in the captures beside this repository is read as what it is.

use std::path::Path;

use serde_json::Value;
use tap_jsonrpc::{Content, Misfit, NotAMessage, scan};

use crate::bodies;
use crate::show::{WATCH, show};

/// The texts that passed in one direction: whole lines from stdio, or lines of bodies from HTTP.
fn texts(entry: &Value) -> Vec<String> {
    let is_protocol = matches!(entry["dir"].as_str(), Some("c2s" | "s2c"));
    match (is_protocol, entry["line"].as_str(), entry["data"].as_str()) {
        (true, Some(line), _) => vec![line.to_owned()],
        (true, None, Some(data)) => data
            .lines()
            .map(|line| line.strip_prefix("data:").unwrap_or(line).trim())
            // Heads of HTTP, chunk sizes, and bodies that were cut by the capture, are no messages.
            .filter(|line| serde_json::from_str::<Value>(line).is_ok_and(|value| value.is_object() || value.is_array()))
            .map(str::to_owned)
            .collect(),
        _ => Vec::new(),
    }
}

/// What passes between real peers, all of it. One server answers a notification, with a result and without an id.
fn is_expected(content: &Content) -> bool {
    let without_id = |other: &NotAMessage| other.why == Misfit::ResultWithoutId;
    match content {
        Content::Message(_) | Content::Batch(_) => true,
        Content::NotAMessage(other) => without_id(other),
        Content::Blank | Content::NotJson(_) => false,
    }
}

#[test]
fn every_captured_message_is_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/captures");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("skipped: no captures at {}", folder.display());
        return;
    };
    let mut n_messages = 0;
    for file in files {
        let path = file.unwrap().path();
        for entry in std::fs::read_to_string(&path).unwrap().lines() {
            let entry: Value = serde_json::from_str(entry).unwrap();
            for text in texts(&entry) {
                let scanned = scan(text.as_bytes(), WATCH);
                bodies::scan(text.as_bytes());
                assert!(is_expected(&scanned.content), "{} in {}: {text}", show(&scanned), path.display());
                n_messages += 1;
            }
        }
    }
    println!("{n_messages} messages in {}", folder.display());
}
