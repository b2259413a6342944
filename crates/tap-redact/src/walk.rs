//! A walk through JSON, token by token, and into JSON that stands inside of its strings. Nothing here recurses into depth:
//! only text inside of text does, and that is bounded.

use std::ops::Range;

use crate::detect::{BY_RULE, HOME, Kind, NAMED, detect, is_filled_in, random_words};
use crate::key::{is_about, is_named_by_another, is_secret, names_another};
use crate::redactor::{Redactor, has_placeholder};
use crate::rule::{Rule, fits};
use crate::string::Decoded;

/// How often JSON may stand inside of a string of JSON.
const NESTED: usize = 4;

/// Members that hold a schema. What is named in one is no value.
const SCHEMAS: &[&str] =
    &["inputSchema", "outputSchema", "requestedSchema", "input_schema", "output_schema", "requested_schema"];

/// Members whose values the protocol needs as they are, where it has its members: not in the arguments of a call.
const PROTOCOL: &[&str] =
    &["jsonrpc", "method", "progressToken", "requestId", "protocolVersion", "mimeType", "cursor", "nextCursor"];

/// Inside a schema: what has to stay, or it would be another schema.
const OF_SCHEMA: &[&str] = &["pattern", "$ref", "$schema", "$id", "format", "type"];

/// Members whose values are names, so that a word that was a secret elsewhere is none there.
const NAMES: &[&str] = &["name", "type", "role", "method", "level", "uri", "mimeType", "kind"];

/// Members that hold what is said about others, by their names: an object in one is no value.
const ABOUT_MEMBERS: &[&str] = &["properties", "patternProperties", "$defs", "definitions", "securitySchemes"];

/// How far behind a value its name is looked for, bytes.
const NAME_AHEAD: usize = 16 * 1024;

/// An edit: which bytes, and what stands in their place.
type Edit = (Range<usize>, String);

/// Where in a document the walk is.
#[derive(Debug, Clone, Default)]
struct Level {
    is_object: bool,
    /// A key comes next, and not a value.
    at_key: bool,
    key: String,
    index: usize,
    in_schema: bool,
    /// All in here is to be replaced.
    is_forced: bool,
    /// All of this is the value of something that is called like a secret.
    in_secret: bool,
    /// The newest string of an array, or the value of `name` in an object: what the next one is called by.
    called: String,
}

/// One walk.
pub(crate) struct Walk<'a> {
    redactor: &'a mut Redactor,
    levels: Vec<Level>,
    nested: usize,
    /// Where what is walked through begins in the whole, if that can be told.
    base: usize,
    /// Members of the whole that are left alone.
    but: Vec<String>,
    /// The whole is a message.
    is_message: bool,
    /// The whole is a record, whose `msg` is a message.
    is_record: bool,
}

impl<'a> Walk<'a> {
    /// `name` is what the whole is the value of.
    pub(crate) fn new(redactor: &'a mut Redactor, name: Option<&str>) -> Self {
        let levels = name.map(|name| Level { is_object: true, key: name.into(), ..Level::default() });
        Self {
            redactor,
            levels: levels.into_iter().collect(),
            nested: 0,
            base: 0,
            but: Vec::new(),
            is_message: name.is_none(),
            is_record: false,
        }
    }

    pub(crate) fn json(mut self, json: &str) -> Option<String> {
        let edits = self.edits_of_json(json);
        spliced(json, edits)
    }

    /// The same of a record, of which nothing is written.
    pub(crate) fn record(mut self, json: &str, but: &[&str]) {
        (self.is_message, self.is_record) = (false, true);
        self.but = but.iter().map(|name| (*name).to_owned()).collect();
        self.edits_of_json(json);
    }

    pub(crate) fn text(mut self, text: &str) -> Option<String> {
        let edits = self.edits_of_value(text);
        spliced(text, edits)
    }

    fn edits_of_json(&mut self, json: &str) -> Vec<Edit> {
        let mut edits = Vec::new();
        let bottom = self.levels.len();
        let mut at = 0;
        while let Some(&byte) = json.as_bytes().get(at) {
            let length = match byte {
                b'"' => string_length(json.as_bytes().get(at..).unwrap_or_default()),
                b'-' | b'0'..=b'9' | b'a'..=b'z' => {
                    let rest = json.as_bytes().get(at..).unwrap_or_default();
                    let ends = |byte: &u8| matches!(byte, b',' | b'}' | b']' | b' ' | b'\t' | b'\n' | b'\r' | b':');
                    rest.iter().position(ends).unwrap_or(rest.len())
                }
                _ => 1,
            };
            let token = json.get(at..at + length).unwrap_or_default();
            match byte {
                b'{' | b'[' => self.enter(byte == b'{'),
                b'}' | b']' if self.levels.len() > bottom => drop(self.levels.pop()),
                b',' => {
                    if let Some(level) = self.levels.last_mut() {
                        level.index += 1;
                        level.at_key = level.is_object;
                    }
                }
                b':' => {
                    if let Some(level) = self.levels.last_mut() {
                        level.at_key = false;
                        if level.called.is_empty() && is_named_by_another(&level.key) {
                            let behind = json.get(at + 1..).unwrap_or_default();
                            level.called = name_behind(behind).unwrap_or_default();
                        }
                    }
                }
                b'"' => self.string(token, at, &mut edits),
                b'-' | b'0'..=b'9' => self.number(token, at, &mut edits),
                b't' | b'f' if self.is_forced() => edits.push((at..at + length, "false".into())),
                _ => {}
            }
            at += length.max(1);
        }
        self.levels.truncate(bottom);
        edits
    }

    fn enter(&mut self, is_object: bool) {
        let is_forced = self.is_forced();
        let about_members = self
            .levels
            .iter()
            .rev()
            .nth(1)
            .is_some_and(|outer| outer.is_object && ABOUT_MEMBERS.contains(&outer.key.as_str()));
        let in_secret = !about_members && self.is_named();
        if let Some(outer) = self.levels.last_mut().filter(|outer| !outer.is_object) {
            outer.called.clear();
        }
        let outer = self.levels.last();
        let is_schema = outer.is_some_and(|outer| outer.is_object && SCHEMAS.contains(&outer.key.as_str()));
        // What an array's elements are called by: its own name.
        let key = outer.filter(|_| !is_object).map(|outer| outer.key.clone()).unwrap_or_default();
        let in_schema = is_schema || outer.is_some_and(|outer| outer.in_schema);
        self.levels.push(Level {
            is_object,
            at_key: is_object,
            key,
            in_schema,
            is_forced,
            in_secret,
            ..Level::default()
        });
    }

    /// Whether the value that comes is called like a secret.
    fn is_named(&self) -> bool {
        let Some(level) = self.levels.last().filter(|level| !level.in_schema) else {
            return false;
        };
        if level.is_object {
            return is_secret(&level.key)
                || (is_named_by_another(&level.key) && is_secret(&level.called))
                || (level.in_secret && !is_about(&level.key));
        }
        // Of a header, or behind an option.
        let is_name = level.called.starts_with('-') || (level.index == 1 && self.is_header());
        level.in_secret || (is_name && !level.called.contains(['=', ' ']) && is_secret(&level.called))
    }

    /// Whether the protocol needs the value that comes as it is.
    fn is_protocol(&self) -> bool {
        let own = self.own_levels();
        let is_message = self.is_message || (self.is_record && own.len() < self.levels.len());
        // A batch is an array of messages.
        let own = match own {
            [batch, rest @ ..] if !batch.is_object => rest,
            own => own,
        };
        let is_body = |level: &Level| level.key == "params" || level.key == "result";
        let (is_there, member) = match own {
            [member] => (true, member),
            [body, member] => (is_body(body), member),
            [body, meta, member] => (is_body(body) && meta.key == "_meta", member),
            _ => return false,
        };
        is_message && self.nested == 0 && is_there && member.is_object && PROTOCOL.contains(&member.key.as_str())
    }

    /// Whether a rule names the value that comes.
    fn is_forced(&self) -> bool {
        let Some(level) = self.levels.last() else {
            return false;
        };
        if level.is_forced {
            return true;
        }
        self.redactor.rules.iter().any(|rule| match rule {
            Rule::Key(key) => level.is_object && !level.at_key && level.key.eq_ignore_ascii_case(key),
            Rule::Path(pattern) => {
                let steps = self.steps();
                fits(pattern, &steps.iter().map(String::as_str).collect::<Vec<_>>())
            }
            Rule::Pattern(_) => false,
        })
    }

    /// The levels of a message, without that of the record around it.
    fn own_levels(&self) -> &[Level] {
        let is_message = self.is_record && self.levels.first().is_some_and(|outermost| outermost.key == "msg");
        self.levels.get(usize::from(is_message && self.levels.len() > 1)..).unwrap_or_default()
    }

    fn steps(&self) -> Vec<String> {
        self.own_levels()
            .iter()
            .map(|level| if level.is_object { level.key.clone() } else { level.index.to_string() })
            .collect()
    }

    /// The place of the value that comes, for people.
    fn path(&self) -> String {
        let mut path = String::new();
        for level in self.own_levels() {
            if !level.is_object {
                path.push_str(&format!("[{}]", level.index));
            } else if path.is_empty() {
                path.push_str(&level.key);
            } else {
                path.extend([".", &level.key]);
            }
        }
        path
    }

    fn string(&mut self, token: &str, at: usize, edits: &mut Vec<Edit>) {
        let decoded = Decoded::of(token);
        let is_key = self.levels.last().is_some_and(|level| level.is_object && level.at_key);
        let outer_base = self.base;
        self.base = if self.nested == 0 { at } else { self.base };
        let found = if is_key {
            let key = decoded.text.clone();
            if let Some(level) = self.levels.last_mut() {
                level.key = key;
            }
            match self.levels.last().is_some_and(|level| level.in_schema) {
                true => Vec::new(),
                false => self.detected(&decoded.text, true),
            }
        } else {
            let found = self.edits_of_value(&decoded.text);
            if let Some(level) = self.levels.last_mut()
                && (!level.is_object || names_another(&level.key))
            {
                level.called = decoded.text.chars().take(80).collect();
            }
            found
        };
        self.base = outer_base;
        for (range, text) in found {
            let escaped = serde_json::Value::from(text).to_string();
            let escaped = escaped.get(1..escaped.len().saturating_sub(1)).unwrap_or_default().to_owned();
            edits.push((at + decoded.place(range.start)..at + decoded.place(range.end), escaped));
        }
    }

    /// What is to be replaced of the value of a string.
    fn edits_of_value(&mut self, text: &str) -> Vec<Edit> {
        let level = self.levels.last().cloned().unwrap_or_default();
        if self.levels.first().is_some_and(|outermost| self.but.contains(&outermost.key)) {
            return Vec::new();
        }
        if self.is_forced() {
            return self.whole(text, 0, BY_RULE);
        }
        if self.is_protocol() {
            return Vec::new();
        }
        if level.in_schema {
            return match OF_SCHEMA.contains(&level.key.as_str()) {
                true => Vec::new(),
                false => self.detected(text, true),
            };
        }
        if self.is_named() && self.is_a_value(text) {
            return self.whole(text, 0, NAMED);
        }
        // `--password=x` as one word of a command line, whatever is in it.
        if self.levels.last().is_some_and(|level| !level.is_object)
            && let Some((name, value)) = text.split_once('=')
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
            && is_secret(name)
            && self.is_a_value(value)
            && is_filled_in(value)
        {
            return self.whole(text, name.len() + 1, NAMED);
        }
        self.edits_of_text(text)
    }

    fn is_header(&self) -> bool {
        let mut names = self.levels.iter().rev().skip(2).map(|level| level.key.as_str());
        names.next() == Some("headers")
    }

    /// Whether something that is called like a secret is one: not where there is a marker already, or a word that says so.
    fn is_a_value(&self, text: &str) -> bool {
        let stands_for = ["redacted", "***", "<", "${", "true", "false", "none", "null"];
        let lower = text.get(..text.floor_char_boundary(12)).unwrap_or_default().to_ascii_lowercase();
        !text.trim().is_empty() && !has_placeholder(text) && !stands_for.iter().any(|word| lower.starts_with(word))
    }

    /// All of a text from a place on.
    fn whole(&mut self, text: &str, from: usize, kind: Kind) -> Vec<Edit> {
        self.redactor.see(text);
        let value = text.get(from..).unwrap_or_default();
        if value.is_empty() || has_placeholder(value) {
            return Vec::new();
        }
        // `Bearer` and the like stay, and so the token is known elsewhere.
        let scheme =
            ["Bearer ", "bearer ", "Basic ", "Token ", "token "].iter().find(|scheme| value.starts_with(**scheme));
        let begin = scheme.map_or(0, |scheme| scheme.len());
        self.tell(kind, self.base);
        let value = value.get(begin..).unwrap_or_default();
        vec![(from + begin..text.len(), self.redactor.marker(kind, value))]
    }

    /// Says where something was found, if anybody asks for it.
    fn tell(&mut self, kind: Kind, at: usize) {
        if self.redactor.findings.is_some() {
            let path = self.path();
            self.redactor.tell(kind, path, at);
        }
    }

    fn edits_of_text(&mut self, text: &str) -> Vec<Edit> {
        let trimmed = text.trim_start();
        let may_be_json = trimmed.starts_with('{') || trimmed.starts_with('[');
        let is_json = || serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
        if may_be_json && self.nested < NESTED && is_json() {
            self.nested += 1;
            let edits = self.edits_of_json(text);
            self.nested -= 1;
            return edits;
        }
        self.detected(text, false)
    }

    /// What is to be replaced in a text for what it looks like, for what it was elsewhere, or by a pattern.
    fn detected(&mut self, text: &str, is_name: bool) -> Vec<Edit> {
        self.redactor.see(text);
        let mut found = detect(text, &self.redactor.homes);
        if let Some(known) = &self.redactor.known {
            let names = |level: &Level| level.is_object && NAMES.contains(&level.key.as_str());
            found.extend(known.find(text, is_name || self.levels.last().is_some_and(names)));
        }
        for rule in &self.redactor.rules {
            let Rule::Pattern(pattern) = rule else {
                continue;
            };
            for captures in pattern.captures_iter(text) {
                if let Some(hit) = captures.get(1).or_else(|| captures.get(0))
                    && !hit.is_empty()
                    && !hit.as_str().contains(['«', '»'])
                {
                    found.push((hit.range(), BY_RULE));
                }
            }
        }
        found.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
        // What overlaps is one: nothing may be left of either.
        let mut joined: Vec<(Range<usize>, Kind)> = Vec::new();
        for (range, kind) in found {
            match joined.last_mut() {
                Some((last, of)) if range.start < last.end => {
                    if range.end > last.end {
                        last.end = range.end;
                        *of = if *of == HOME { kind } else { *of };
                    }
                }
                _ => joined.push((range, kind)),
            }
        }
        let mut edits: Vec<Edit> = Vec::new();
        for (range, kind) in joined {
            self.tell(kind, self.base);
            let value = text.get(range.clone()).unwrap_or_default();
            edits.push((range, self.redactor.marker(kind, value)));
        }
        for word in random_words(text) {
            let at = word.as_ptr() as usize - text.as_ptr() as usize;
            if !edits.iter().any(|(range, _)| range.start < at + word.len() && at < range.end) {
                let path = self.path();
                self.redactor.doubt(path, word.len());
            }
        }
        edits
    }

    /// A number that is called like a secret becomes another number.
    fn number(&mut self, token: &str, at: usize, edits: &mut Vec<Edit>) {
        let is_forced = self.is_forced();
        if is_forced || (token.len() >= 4 && self.is_named()) {
            let kind = if is_forced { BY_RULE } else { NAMED };
            self.tell(kind, if self.nested == 0 { at } else { self.base });
            let (_, number) = self.redactor.number(kind, token);
            edits.push((at..at + token.len(), number.to_string()));
        }
        if let Some(level) = self.levels.last_mut().filter(|level| !level.is_object) {
            level.called.clear();
        }
    }
}

fn spliced(text: &str, edits: Vec<Edit>) -> Option<String> {
    if edits.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (range, new) in edits {
        out.push_str(text.get(at..range.start).unwrap_or_default());
        out.push_str(&new);
        at = range.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    Some(out)
}

/// How long a string is that these bytes begin with.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while let Some(found) = bytes.get(at..).and_then(|ahead| memchr::memchr2(b'"', b'\\', ahead)) {
        at += found;
        if bytes.get(at) == Some(&b'"') {
            return at + 1;
        }
        at += 2;
    }
    bytes.len()
}

/// The name of a value that stands behind it in its object: `"hunter2","name":"password"}` begins with the value.
fn name_behind(json: &str) -> Option<String> {
    let (mut at, mut depth, mut at_key) = (0, 0_u32, false);
    let mut limit = NAME_AHEAD;
    let mut names = false;
    while at < limit
        && let Some(byte) = json.as_bytes().get(at)
    {
        match byte {
            b'"' => {
                let length = string_length(json.as_bytes().get(at..).unwrap_or_default());
                if depth == 0 {
                    let token = json.get(at..at + length).unwrap_or_default();
                    if at_key {
                        names = length < 40 && names_another(&Decoded::of(token).text);
                    } else if names {
                        return Some(Decoded::of(token).text.chars().take(80).collect());
                    }
                    limit += length;
                }
                at += length;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => at_key = true,
            b':' if depth == 0 => at_key = false,
            _ => {}
        }
        at += 1;
    }
    None
}
