//! The bodies of the fuzz targets: what must hold for every input, or else they panic.
//!
//! One module for two users: `fuzz_targets/*.rs` run it for as long as one likes, `tests/it/corpus.rs` runs it over the
//! corpus and mutations of it in every test run, and `tests/it/property.rs` over generated JSON.

use std::fmt;

use bytes::Bytes;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tap_jsonrpc::{
    Captures, Content, EnvelopeError, Kind, LineSplitter, Member, Misfit, Notes, Path, Scanned, Scanner, SseEvent,
    SseSplitter, TOKEN_LIMIT_BYTES, Value, decode_string, parts,
};

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

/// Target `sse`: no cutting into chunks changes the events, and they are those that a slow and simple reader finds.
pub(crate) fn sse(input: &[u8]) {
    let expected = slow_events(input);
    for limit_bytes in [usize::MAX, 10] {
        let mut splitter = SseSplitter::with_limit(limit_bytes);
        let mut events = Vec::new();
        splitter.feed(input, &mut |event| events.push(event));
        events.extend(splitter.finish());
        if limit_bytes == usize::MAX {
            assert_eq!(events, expected);
        }
        let kept = |part: &Option<Bytes>| part.as_ref().map_or(0, Bytes::len);
        for event in &events {
            // Two lines of data are joined by a byte that is on neither.
            let lines = event.data.iter().flat_map(|data| data.iter()).filter(|&&byte| byte == b'\n').count();
            assert!(kept(&event.event) + kept(&event.id) + kept(&event.data) - lines <= limit_bytes);
        }
        for chunks in cuts(input) {
            let mut again = Vec::new();
            for chunk in &chunks {
                splitter.feed(chunk, &mut |event| again.push(event));
            }
            again.extend(splitter.finish());
            assert_eq!(again, events, "chunks: {chunks:?}");
        }
    }
}

/// The events of a whole stream, the unfinished one included, in the words of the specification.
fn slow_events(input: &[u8]) -> Vec<SseEvent> {
    let input = input.strip_prefix(b"\xef\xbb\xbf").unwrap_or(input);
    let mut lines = vec![Vec::new()];
    let mut bytes = input.iter().peekable();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'\n' | b'\r' => {
                if byte == b'\r' {
                    bytes.next_if(|&&next| next == b'\n');
                }
                lines.push(Vec::new());
            }
            _ => lines.last_mut().unwrap().push(byte),
        }
    }
    // The end of the stream ends the last event.
    lines.push(Vec::new());
    let (mut events, mut event, mut data) = (Vec::new(), SseEvent::default(), Vec::new());
    for line in lines {
        if line.is_empty() {
            if !data.is_empty() {
                event.data = Some(Bytes::from(data.join(&b'\n')));
            }
            if event != SseEvent::default() {
                events.push(event);
            }
            (event, data) = (SseEvent::default(), Vec::new());
            continue;
        }
        let colon = line.iter().position(|&byte| byte == b':').unwrap_or(line.len());
        let value = line.get(colon + 1..).unwrap_or_default();
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match &line[..colon] {
            b"data" => data.push(value.to_vec()),
            b"event" => event.event = Some(Bytes::copy_from_slice(value)),
            b"id" if !value.contains(&0) => event.id = Some(Bytes::copy_from_slice(value)),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                event.retry_ms = Some(std::str::from_utf8(value).unwrap().parse().unwrap_or(u64::MAX));
            }
            _ => {}
        }
    }
    events
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
    let limit = if raw.starts_with(['{', '[']) { 1 } else { TOKEN_LIMIT_BYTES };
    &raw.as_bytes()[..raw.len().min(limit)]
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
