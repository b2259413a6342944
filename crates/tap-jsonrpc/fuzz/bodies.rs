//! The bodies of the fuzz targets: what must hold for every input, or else they panic.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/it/corpus.rs` runs it over the
//! corpus and mutations of it in every test run, and `tests/it/property.rs` over generated JSON.

#[path = "bodies/sse.rs"]
mod sse;

use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tap_jsonrpc::{
    Captures, Content, EnvelopeError, Kind, LineSplitter, Member, Misfit, Node, Notes, Path, Scanned, Scanner,
    TOKEN_LIMIT_BYTES, Value, decode_string, parts,
};

pub(crate) use sse::sse;

/// What is watched. Short and long paths, some that begin alike, and one that has a role too.
pub(crate) static WATCH: &[Path] = &[
    Path(&["params", "name"]),
    Path(&["params", "_meta", "progressToken"]),
    Path(&["params", "_meta", "io.modelcontextprotocol/clientInfo", "name"]),
    Path(&["result", "isError"]),
    Path(&["result"]),
    Path(&["error", "code"]),
];

/// Target `line`: the lines are those that the standard library finds, however the input is cut into chunks.
pub(crate) fn line(input: &[u8]) {
    let expected: Vec<&[u8]> = input.split_inclusive(|&byte| byte == b'\n').collect();

    let whole: Vec<_> = parts(input).collect();
    assert!(whole.iter().map(|part| part.bytes).eq(expected.iter().copied()));
    assert!(whole.iter().all(|part| part.ends_line == part.bytes.ends_with(b"\n")));

    for chunks in cuts(input) {
        let mut splitter = LineSplitter::default();
        let mut lines: Vec<Bytes> = Vec::new();
        for chunk in &chunks {
            splitter.push(Bytes::copy_from_slice(chunk));
            // Some chunks wait for the next one.
            if chunk.len() % 3 != 0 {
                lines.extend(std::iter::from_fn(|| splitter.next_line()));
            }
        }
        lines.extend(std::iter::from_fn(|| splitter.finish()));
        assert!(lines.iter().eq(expected.iter()), "chunks: {chunks:?}");
    }
}

/// Target `scan`: no cutting into pieces changes what is found, and what is found is what serde_json would say.
pub(crate) fn scan(input: &[u8]) {
    let mut scanner = Scanner::new(WATCH);
    scanner.feed(input);
    let scanned = scanner.finish();
    for pieces in cuts(input) {
        for piece in &pieces {
            scanner.feed(piece);
        }
        assert_eq!(scanner.finish(), scanned, "pieces: {pieces:?}");
    }
    holds_bounds(input, &scanned);
    agrees_on_json(input, &scanned);
    agrees_on_messages(input, &scanned);
}

/// Target `node`: whatever the bytes are, every walk ends inside them; and of JSON, it finds what the scanner captures and
/// what serde_json reads.
pub(crate) fn node(input: &[u8]) {
    let node = Node::new(input);
    walks_end(input, node);

    let mut scanner = Scanner::new(WATCH);
    scanner.feed(input);
    match scanner.finish().content {
        Content::Message(message) => agrees_on_captures(node, &message.captures),
        Content::NotAMessage(other) => agrees_on_captures(node, &other.captures),
        Content::Batch(batch) => {
            assert_eq!(node.elements().count() as u64, batch.n_members);
            for (element, member) in node.elements().zip(&batch.members) {
                agrees_on_captures(element, reading(member).4);
            }
        }
        Content::Blank => assert_eq!(node.bytes(), b""),
        Content::NotJson(_) => {}
    }
    let unmarked = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    if let Ok(expected) = serde_json::from_slice(unmarked) {
        assert_eq!(node.bytes(), unmarked.trim_ascii());
        agrees_on_value(node, &expected);
    }
}

/// Asks everything of a node and the nodes inside it, until as many bytes were walked over as will do.
fn walks_end(input: &[u8], node: Node<'_>) {
    let bounds = input.as_ptr_range();
    let mut budget_bytes = 100 * input.len();
    let mut nodes = vec![node];
    while let Some(node) = nodes.pop() {
        let bytes = node.bytes();
        let place = bytes.as_ptr_range();
        assert!(bytes.is_empty() || (bounds.start <= place.start && place.end <= bounds.end));
        assert_eq!(node.text().is_some(), node.is_string());
        assert!(node.is_number() || !node.is_integer());
        if let Some(integer) = node.as_i64() {
            assert!(node.is_integer());
            assert_eq!(node.as_f64(), Some(integer as f64));
        }
        assert!(!node.is_text("no such text"));
        assert!(format!("{node:?}").len() <= 2000);

        let mut members = node.members();
        let found: Vec<_> = members.by_ref().collect();
        assert!(members.next().is_none() && (found.is_empty() || node.is_object()));
        for (key, _) in found.iter().take(8) {
            let text = key.text();
            // Of a key that is not UTF-8, the text is another one.
            if key.is(&text) {
                let last = found.iter().rfind(|(key, _)| key.is(&text)).map(|&(_, value)| value);
                assert_eq!(node.get(&text), last);
                assert_eq!(node.pick(["", &text])[1], last);
            } else {
                assert!(std::str::from_utf8(key.bytes()).is_err());
            }
        }
        let mut elements = node.elements();
        let mut inside: Vec<_> = elements.by_ref().collect();
        assert!(elements.next().is_none() && (inside.is_empty() || node.is_array()));

        inside.extend(found.iter().map(|&(_, value)| value));
        assert!(inside.iter().map(|node| node.bytes().len()).sum::<usize>() <= bytes.len());
        budget_bytes = budget_bytes.saturating_sub(bytes.len());
        if 0 < budget_bytes {
            nodes.append(&mut inside);
        }
    }
}

fn agrees_on_captures(node: Node<'_>, captures: &Captures) {
    for (index, Path(names)) in WATCH.iter().enumerate() {
        let found = node.at(names).map(|node| clip_bytes(node.bytes()));
        assert_eq!(found, captures.get(index).map(shown), "watch {index} in {node:?}");
    }
}

/// Whether a node says what serde_json read in the same place.
fn agrees_on_value(node: Node<'_>, expected: &serde_json::Value) {
    match expected {
        serde_json::Value::Null => assert!(node.is_null()),
        serde_json::Value::Bool(boolean) => assert_eq!(node.as_bool(), Some(*boolean)),
        serde_json::Value::Number(number) => agrees_on_number(node, number),
        serde_json::Value::String(text) => {
            assert_eq!(node.text().as_deref(), Some(text.as_str()));
            assert!(node.is_text(text) && !node.is_text(&format!("{text}.")));
        }
        serde_json::Value::Array(values) => {
            assert!(node.is_array());
            assert_eq!(node.elements().count(), values.len());
            for (element, value) in node.elements().zip(values) {
                agrees_on_value(element, value);
            }
        }
        serde_json::Value::Object(members) => {
            assert!(node.is_object());
            assert!(node.members().all(|(key, _)| members.contains_key(&*key.text())));
            for (key, value) in members {
                agrees_on_value(node.get(key).unwrap(), value);
            }
        }
    }
}

fn agrees_on_number(node: Node<'_>, expected: &serde_json::Number) {
    assert!(node.is_number());
    if expected.is_u64() || expected.is_i64() {
        assert!(node.is_integer());
        assert_eq!(node.as_i64(), expected.as_i64());
    }
    let (found, expected) = (node.as_f64().unwrap(), expected.as_f64().unwrap());
    // serde_json is allowed to be wrong in the last place, unless it is asked not to be.
    let tolerance = expected.abs() * 4.0 * f64::EPSILON + f64::MIN_POSITIVE;
    assert!((found - expected).abs() <= tolerance, "{found:e} is not {expected:e}");
    assert!(!node.is_integer() || found.fract() == 0.0);
}

/// Three ways to cut an input into pieces: single bytes, halves, and sizes that depend on the bytes.
fn cuts(input: &[u8]) -> [Vec<&[u8]>; 3] {
    let (first, second) = input.split_at(input.len() / 2);
    let mut pieces = Vec::new();
    let mut rest = input;
    let mut state = 0x9e37_79b9_u32;
    while !rest.is_empty() {
        state = state.wrapping_mul(0x0019_660d).wrapping_add(u32::from(rest[0])).wrapping_add(0x3c6e_f35f);
        let (piece, after) = rest.split_at((state >> 24) as usize % 40 % (rest.len() + 1));
        pieces.push(piece);
        rest = after;
    }
    [input.chunks(1).collect(), vec![first, second], pieces]
}

fn holds_bounds(input: &[u8], scanned: &Scanned) {
    let length = input.len() as u64;
    assert_eq!(scanned.length, length);
    match &scanned.content {
        Content::NotJson(EnvelopeError::Truncated { offset }) => assert_eq!(*offset, length),
        Content::NotJson(
            EnvelopeError::NotJson { offset }
            | EnvelopeError::SeveralValues { offset }
            | EnvelopeError::TooDeep { offset },
        ) => assert!(*offset < length),
        Content::Batch(batch) => {
            assert!(batch.members.len() as u64 <= batch.n_members);
            for member in &batch.members {
                assert!(scanned.notes.contains(reading(member).3));
            }
        }
        Content::Message(message) => assert!(scanned.notes.contains(message.notes)),
        Content::NotAMessage(other) => assert!(scanned.notes.contains(other.notes)),
        Content::Blank => assert!(input.len() <= 3 || input.iter().any(u8::is_ascii_whitespace)),
    }
    // Whatever text there is can be decoded, wherever it begins.
    let text = decode_string(input);
    assert!(text.len() <= 3 * input.len());
}

/// Whether it is JSON: serde_json refuses no more than what is noted here, and accepts nothing that is refused here.
fn agrees_on_json(input: &[u8], scanned: &Scanned) {
    let is_json = serde_json::from_slice::<IgnoredAny>(input).is_ok();
    let tolerated = Notes::BYTE_ORDER_MARK.union(Notes::CONTROL_CHARACTER);
    match &scanned.content {
        Content::Blank | Content::NotJson(_) => assert!(!is_json, "refused: {scanned:?}"),
        Content::Message(_) | Content::Batch(_) | Content::NotAMessage(_) => {
            let is_tolerated = scanned.notes.without(tolerated) != scanned.notes;
            assert!(is_json != is_tolerated, "tolerated without a note, or noted without need: {scanned:?}");
        }
    }
}

/// Whether it says the same: kind, id, method and captures, as read by other means where those can read it at all.
fn agrees_on_messages(input: &[u8], scanned: &Scanned) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    match &scanned.content {
        Content::Message(message) => agrees_on_message(text, &Member::Message(message.clone())),
        Content::NotAMessage(other) => agrees_on_message(text, &Member::NotAMessage(other.clone())),
        Content::Batch(batch) => {
            let Ok(members) = serde_json::from_str::<Vec<&RawValue>>(text) else {
                return;
            };
            assert_eq!(batch.n_members, members.len() as u64);
            for (raw, member) in members.iter().zip(&batch.members) {
                agrees_on_message(raw.get(), member);
            }
        }
        Content::Blank | Content::NotJson(_) => {}
    }
}

fn agrees_on_message(text: &str, member: &Member) {
    let text = text.trim_matches([' ', '\t', '\n', '\r']);
    let (kind, id, method, notes, captures) = reading(member);
    let Ok(members) = serde_json::from_str::<Members<'_>>(text) else {
        // A key that serde_json cannot hold, a byte order mark, a control character; or really no object.
        assert!(text.starts_with('{') || text.starts_with('\u{feff}') || kind == Err(Misfit::NotAnObject));
        return;
    };
    let expected_kind = members.kind();
    if members.has_duplicates() {
        return;
    }
    assert_eq!(kind, expected_kind, "{text}");
    let expected_id = members.get("id").filter(|raw| !raw.starts_with(['{', '['])).map(clip);
    assert_eq!(id, expected_id, "{text}");
    if let Some(raw) = members.get("method").filter(|raw| raw.len() <= TOKEN_LIMIT_BYTES && raw.starts_with('"')) {
        // Refused for a surrogate without partner.
        if let Ok(expected) = serde_json::from_str::<String>(raw) {
            assert_eq!(method, Some(expected.as_str()), "{text}");
        }
    }
    let version = members.get("jsonrpc").map(|raw| serde_json::from_str::<String>(raw).is_ok_and(|text| text == "2.0"));
    assert_eq!(notes.contains(Notes::MISSING_VERSION), version.is_none(), "{text}");
    assert_eq!(notes.contains(Notes::OTHER_VERSION), version == Some(false), "{text}");

    for (index, Path(names)) in WATCH.iter().enumerate() {
        if let Ok(expected) = members.follow(names) {
            assert_eq!(captures.get(index).map(shown), expected.map(clip), "watch {index} in {text}");
        }
    }
}

type Reading<'a> = (Result<Kind, Misfit>, Option<&'a [u8]>, Option<&'a str>, Notes, &'a Captures);

fn reading(member: &Member) -> Reading<'_> {
    match member {
        Member::Message(found) => {
            let id = found.id.as_ref().map(|id| id.as_bytes());
            (Ok(found.kind), id, found.method.as_deref(), found.notes, &found.captures)
        }
        Member::NotAMessage(found) => {
            let id = found.id.as_ref().map(|id| id.as_bytes());
            (Err(found.why), id, found.method.as_deref(), found.notes, &found.captures)
        }
    }
}

/// A captured value as [`clip`] shows it.
fn shown(value: &Value) -> &[u8] {
    match value {
        Value::Null => b"null",
        Value::True => b"true",
        Value::False => b"false",
        Value::Number(token) | Value::String(token) => token.bytes(),
        Value::Object => b"{",
        Value::Array => b"[",
    }
}

fn clip(raw: &str) -> &[u8] {
    clip_bytes(raw.as_bytes())
}

fn clip_bytes(raw: &[u8]) -> &[u8] {
    let limit = if raw.starts_with(b"{") || raw.starts_with(b"[") { 1 } else { TOKEN_LIMIT_BYTES };
    &raw[..raw.len().min(limit)]
}

/// The members of an object, in order, with duplicates.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'a> Members<'a> {
    fn get(&self, name: &str) -> Option<&'a str> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value.get())
    }

    fn has_duplicates(&self) -> bool {
        let mut names: Vec<_> = self.0.iter().map(|(name, _)| name).collect();
        names.sort();
        names.windows(2).any(|pair| pair[0] == pair[1])
    }

    /// The member at a path; an error when there are duplicates on the way, or keys that cannot be read.
    fn follow(&self, names: &[&str]) -> Result<Option<&'a str>, ()> {
        let [name, below @ ..] = names else {
            return Err(());
        };
        if self.has_duplicates() {
            return Err(());
        }
        match self.get(name) {
            Some(raw) if !below.is_empty() && raw.starts_with('{') => {
                let members: Members<'a> = serde_json::from_str(raw).map_err(|_| ())?;
                members.follow(below)
            }
            Some(_) if !below.is_empty() => Ok(None),
            found => Ok(found),
        }
    }

    /// The table of kinds, written a second time.
    fn kind(&self) -> Result<Kind, Misfit> {
        let [id, method, result, error] = ["id", "method", "result", "error"].map(|name| self.get(name));
        let is_real = |raw: Option<&str>| raw.is_some_and(|raw| raw != "null");
        if let Some(method) = method {
            return match (method.starts_with('"'), is_real(result) || is_real(error), id) {
                (false, _, _) => Err(Misfit::MethodNotAString),
                (true, true, _) => Err(Misfit::MethodAndOutcome),
                (true, false, Some(_)) => Ok(Kind::Request),
                (true, false, None) => Ok(Kind::Notification),
            };
        }
        if is_real(result) && is_real(error) {
            Err(Misfit::ResultAndError)
        } else if is_real(error) || (error.is_some() && result.is_none()) {
            let is_object = error.is_some_and(|raw| raw.starts_with('{'));
            if id.is_some() || is_object { Ok(Kind::Error) } else { Err(Misfit::ErrorNotAnObject) }
        } else if result.is_some() {
            if id.is_some() { Ok(Kind::Result) } else { Err(Misfit::ResultWithoutId) }
        } else {
            Err(Misfit::NoMember)
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;

        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }

        deserializer.deserialize_map(MembersVisitor)
    }
}
