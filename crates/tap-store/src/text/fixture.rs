//! The fixture profile: what of a lossless recording another recording of the same conversation would have as well.
//!
//! Left out are clocks, process ids, connections and what HTTP says for its own ends. Names that a server makes up anew each
//! time (sessions, events) are numbered by where they first appear. Times go into one record at the end.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value};

use super::acts::ONLY_TIME;
use super::write::Entry;

/// Fields of HTTP that have a meaning for MCP, in lower case. A name that ends in `*` stands for all that begin so.
const KEPT: &[&str] = &[
    "accept",
    "allow",
    "content-type",
    "last-event-id",
    "location",
    "mcp-*",
    "origin",
    "retry-after",
    "www-authenticate",
];

/// What a proxy writes for a value that it does not record.
const STAND_IN: &str = "redacted-";

/// Makes a fixture of a lossless recording.
#[derive(Debug, Default)]
pub(super) struct Fixture {
    keeps_stderr: bool,
    /// Microseconds from each record that has a time to the next, rounded.
    gaps_us: Vec<u64>,
    newest_at_ns: u64,
    /// Names that were made up, by what they are of, and their numbers.
    names: HashMap<(&'static str, bool, String), usize>,
    counts: HashMap<(&'static str, bool), usize>,
    connections: Vec<String>,
    /// Exchanges whose answer is an event stream.
    streams: BTreeSet<u64>,
    /// The numbers that frames have here, by those that they had.
    numbers: Vec<Option<u64>>,
    n_frames: u64,
    /// The streams whose newest line has no end.
    unfinished: BTreeSet<String>,
}

impl Fixture {
    pub(super) fn new(keeps_stderr: bool) -> Self {
        Self { keeps_stderr, ..Self::default() }
    }

    /// The record as it is in a fixture, if it is there at all.
    pub(super) fn take(&mut self, mut entry: Entry) -> Option<Entry> {
        let is_http = entry.get("http").is_some();
        if let Some(deed) = entry.text("act") {
            // What was done to a message counts, and when does not.
            if ONLY_TIME.iter().any(|known| known.name() == deed) {
                self.numbers.extend((!is_http).then_some(None));
                return None;
            }
            entry.remove("held_ns");
            if !is_http {
                // Lengths may be others here.
                entry.remove("of_byte");
            }
            if let Some(of) = entry.get("of").and_then(|of| of.parse::<usize>().ok()) {
                match self.numbers.get(of.wrapping_sub(1)) {
                    Some(Some(number)) => entry.put("of", *number),
                    Some(None) | None => entry.remove("of"),
                }
            }
        }
        let is_stderr = ["stderr", "stderr_base64", "stderr_gap"].iter().any(|name| entry.get(name).is_some());
        if is_stderr && !self.keeps_stderr {
            self.numbers.extend((!is_http).then_some(None));
            return None;
        }
        if !is_http && entry.get("eof").is_none() && entry.get("end").is_none() {
            self.n_frames += 1;
            self.numbers.push(Some(self.n_frames));
        }
        if let Some(stream) = entry.text("eof") {
            // What comes behind a line without an end would be taken for more of it.
            if !self.unfinished.remove(&stream) {
                return None;
            }
        } else if entry.get("http").is_none() && entry.get("act").is_none() && entry.get("eol") == Some("\"none\"") {
            self.unfinished.insert(entry.text("to").unwrap_or_else(|| "stderr".into()));
        }
        entry.remove("wall_ns");
        if let Some(number) = entry.get("http").and_then(|number| number.parse().ok()) {
            entry = self.exchange(number, entry)?;
        }
        if entry.get("http_end") == Some("\"open\"") {
            // Nothing happened then.
            entry.at_ns = self.newest_at_ns;
        }
        let gap_us = entry.at_ns.saturating_sub(self.newest_at_ns) / 1_000;
        self.newest_at_ns = self.newest_at_ns.max(entry.at_ns);
        self.gaps_us.push(rounded(gap_us));
        entry.has_time = false;
        Some(entry)
    }

    /// The last record.
    pub(super) fn footer(&self) -> Entry {
        let gaps = Value::from(self.gaps_us.clone());
        let mut entry = Entry::new(Map::from_iter([("gaps_us".to_owned(), gaps)]), 0, None);
        entry.has_time = false;
        entry
    }

    fn exchange(&mut self, number: u64, mut entry: Entry) -> Option<Entry> {
        let is_dropped = entry.get("connected").is_some()
            || entry.get("request_end").is_some()
            || entry.get("http_end") == Some("\"whole\"")
            || (entry.get("raw") == Some("\"\"") && entry.get("to").is_some())
            || matches!(entry.get("part"), Some("\"connected\"" | "\"request_end\""));
        if is_dropped {
            return None;
        }
        entry.remove("version");
        if let Some(connection) = entry.get("connection").map(str::to_owned) {
            let known = self.connections.iter().position(|known| *known == connection);
            let number = known.unwrap_or_else(|| {
                self.connections.push(connection);
                self.connections.len() - 1
            });
            entry.put("connection", number as u64 + 1);
            if number == 0 {
                entry.remove("connection");
            }
        }
        if let Some(request) = entry.text("request") {
            let request = self.target(&request);
            entry.put("request", request);
        }
        if let Some(headers) = entry.get("headers") {
            let headers: Vec<(String, String)> = serde_json::from_str(headers).unwrap_or_default();
            if entry.get("status").is_some() {
                let is_stream = headers.iter().any(|(name, value)| {
                    name.eq_ignore_ascii_case("content-type")
                        && value.trim_start().to_ascii_lowercase().starts_with("text/event-stream")
                });
                if is_stream {
                    self.streams.insert(number);
                }
            }
            let headers: Vec<Value> = headers
                .into_iter()
                .filter(|(name, _)| is_kept(name))
                .map(|(name, value)| {
                    let value = self.header(&name, &value);
                    Value::from(vec![name, value])
                })
                .collect();
            entry.put("headers", headers);
        }
        if entry.get("to") == Some("\"client\"") && self.streams.contains(&number) {
            for name in ["before", "raw"] {
                if let Some(text) = entry.text(name) {
                    let kept = self.lines_of_event(&text);
                    match kept.is_empty() {
                        true => entry.remove(name),
                        false => entry.put(name, kept),
                    }
                }
            }
            let holds = ["raw", "base64", "gap"].iter().any(|name| entry.get(name).is_some());
            if entry.message.is_none() && !holds {
                return None;
            }
        }
        if entry.get("http_end").is_some() {
            self.streams.remove(&number);
        }
        Some(entry)
    }

    /// An event's text, or what is before its data: without comments, which keep a connection open and say nothing.
    fn lines_of_event(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            if content.starts_with(':') || (content.is_empty() && out.is_empty()) {
                continue;
            }
            match content.strip_prefix("id:").map(|id| id.strip_prefix(' ').unwrap_or(id)) {
                Some(id) if !id.is_empty() => {
                    let name = self.name("event", id);
                    out.extend(["id: ", &name, line.get(content.len()..).unwrap_or_default()]);
                }
                _ => {
                    let is_endpoint = content.starts_with("data:") && content.to_ascii_lowercase().contains("session");
                    match is_endpoint {
                        true => out.push_str(&self.target(line)),
                        false => out.push_str(line),
                    }
                }
            }
        }
        out
    }

    fn header(&mut self, name: &str, value: &str) -> String {
        match name.to_ascii_lowercase().as_str() {
            "mcp-session-id" => self.name("session", value),
            "last-event-id" => self.name("event", value),
            _ => self.target(value),
        }
    }

    /// A text with a path and a query: sessions that are named in the query, and stand-ins.
    fn target(&mut self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut parameter = String::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.find(['?', '&', '=', '/', ' ', '"', ',', '\r', '\n']).unwrap_or(rest.len());
            let (part, behind) = rest.split_at(end);
            let is_session = parameter.to_ascii_lowercase().contains("session");
            match () {
                () if is_session && !part.is_empty() => out.push_str(&self.name("session", part)),
                () if is_stand_in(part) => out.push_str(&self.name("redacted", part)),
                () => out.push_str(part),
            }
            let separator = behind.chars().next();
            parameter = if separator == Some('=') { part.to_owned() } else { String::new() };
            out.extend(separator);
            rest = behind.get(separator.map_or(0, char::len_utf8)..).unwrap_or_default();
        }
        out
    }

    /// A name that stands for one that was made up: `session-1`. It is one that HTTP allows.
    ///
    /// Stand-ins are counted apart, for what they stand for may appear as itself in a body.
    fn name(&mut self, what: &'static str, value: &str) -> String {
        let key = (what, is_stand_in(value), value.to_owned());
        let count = self.counts.entry((what, key.1)).or_default();
        let number = *self.names.entry(key).or_insert_with(|| {
            *count += 1;
            *count
        });
        format!("{what}-{number}")
    }
}

fn is_stand_in(text: &str) -> bool {
    text.strip_prefix(STAND_IN)
        .is_some_and(|digits| digits.len() >= 16 && digits.bytes().take(16).all(|byte| byte.is_ascii_hexdigit()))
}

fn is_kept(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    KEPT.iter().any(|kept| match kept.strip_suffix('*') {
        Some(beginning) => name.starts_with(beginning) && !name.starts_with("mcp-tap-"),
        None => name == *kept,
    })
}

/// A number with no more than three digits that are not zero.
pub(super) fn rounded(number: u64) -> u64 {
    let mut unit = 1;
    while 1_000 <= number / unit {
        unit *= 10;
    }
    number.saturating_add(unit / 2) / unit * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rounded_to_three_digits_and_stay_so() {
        for (number, expected) in
            [(0, 0), (999, 999), (1_000, 1_000), (1_234, 1_230), (1_235, 1_240), (999_999, 1_000_000)]
        {
            assert_eq!((rounded(number), rounded(expected)), (expected, expected));
        }
        assert!(rounded(u64::MAX) > u64::MAX / 2);
    }
}
