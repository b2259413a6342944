//! YAML: the first document of a file.

use std::collections::HashMap;
use std::ops::Range;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::document::DocumentError;
use crate::node::{Map, Member, Node, Value};

/// How deep values may be nested, and how many there may be once aliases are put in: an alias of aliases can be endless.
const DEPTH: usize = 128;
const NODES: usize = 200_000;

pub(crate) fn parse(text: &str) -> Result<Node, DocumentError> {
    let mut reading = Reading { text, offsets: Offsets::of(text), anchors: HashMap::new(), n_nodes: 0 };
    let mut parser = Parser::new_from_str(text);
    let mut events = std::iter::from_fn(|| parser.next_event());
    while let Some(event) = events.next() {
        let (event, span) = event.map_err(|error| reading.scan_error(&error))?;
        match event {
            Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
            Event::StreamEnd | Event::DocumentEnd => break,
            first => return reading.node(first, span, &mut events, 0),
        }
    }
    Ok(Node::new(0..0, Value::Null))
}

/// From characters, in which the parser counts, to bytes.
struct Offsets(Option<Vec<usize>>, usize);

impl Offsets {
    fn of(text: &str) -> Self {
        let offsets = (!text.is_ascii()).then(|| text.char_indices().map(|(at, _)| at).collect());
        Self(offsets, text.len())
    }

    fn byte(&self, character: usize) -> usize {
        match &self.0 {
            None => character.min(self.1),
            Some(offsets) => offsets.get(character).copied().unwrap_or(self.1),
        }
    }
}

struct Reading<'t> {
    text: &'t str,
    offsets: Offsets,
    anchors: HashMap<usize, Node>,
    n_nodes: usize,
}

type Next<'t> = Result<(Event<'t>, Span), saphyr_parser::ScanError>;

impl<'t> Reading<'t> {
    fn scan_error(&self, error: &saphyr_parser::ScanError) -> DocumentError {
        DocumentError::at(self.text, self.offsets.byte(error.marker().index()), error.info())
    }

    fn span(&self, span: Span) -> Range<usize> {
        let (start, end) = (self.offsets.byte(span.start.index()), self.offsets.byte(span.end.index()));
        start..end.max(start)
    }

    /// Where a list or a map ends. In brackets that is behind the closing one, wherever the parser says it ends.
    fn end(&self, span: Span, is_block: bool, bracket: char) -> usize {
        let span = self.span(span);
        if is_block {
            return span.end;
        }
        let before = self.text.get(..span.end.max(span.start + 1)).unwrap_or(self.text);
        if self.text.get(span.start..).is_some_and(|rest| rest.starts_with(bracket)) {
            return span.start + 1;
        }
        before.rfind(bracket).map_or(span.end, |at| at + 1)
    }

    fn next(&self, events: &mut dyn Iterator<Item = Next<'t>>) -> Result<(Event<'t>, Span), DocumentError> {
        match events.next() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(self.scan_error(&error)),
            None => Err(DocumentError::at(self.text, self.text.len(), "the file ends within a value")),
        }
    }

    fn node(
        &mut self,
        event: Event<'t>,
        span: Span,
        events: &mut dyn Iterator<Item = Next<'t>>,
        depth: usize,
    ) -> Result<Node, DocumentError> {
        let range = self.span(span);
        self.n_nodes += 1;
        if depth > DEPTH || self.n_nodes > NODES {
            return Err(DocumentError::at(self.text, range.start, "more values within values than are read"));
        }
        let opens = |open: char| self.text.get(range.start..).is_some_and(|rest| rest.starts_with(open));
        let (mut node, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let value = match style {
                    ScalarStyle::Plain if tag.is_none() => plain(&text),
                    _ => Value::Text(text.clone().into_owned()),
                };
                let raw = self.text.get(range.clone()).unwrap_or_default();
                // White space and a comment behind it may be said to be of it.
                let end = range.start + quoted_length(raw).unwrap_or_else(|| raw.trim_end().len());
                let node = Node { is_shared: tag.is_some(), ..Node::new(range.start..end, value) };
                (node, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                let is_block = !opens('[');
                let mut list = Vec::new();
                let end = loop {
                    match self.next(events)? {
                        (Event::SequenceEnd, end) => break self.end(end, is_block, ']'),
                        (event, span) => list.push(self.node(event, span, events, depth + 1)?),
                    }
                };
                let node =
                    Node { is_block, is_shared: tag.is_some(), ..Node::new(range.start..end, Value::List(list)) };
                (node, anchor)
            }
            Event::MappingStart(anchor, tag) => {
                let is_block = !opens('{');
                let mut members = Vec::new();
                let end = loop {
                    let key = match self.next(events)? {
                        (Event::MappingEnd, end) => break self.end(end, is_block, '}'),
                        (event, span) => self.node(event, span, events, depth + 1)?,
                    };
                    let (event, span) = self.next(events)?;
                    let value = self.node(event, span, events, depth + 1)?;
                    members.push(Member { key: name(&key), key_span: key.span, value });
                };
                let node = Node {
                    is_block,
                    is_shared: tag.is_some(),
                    ..Node::new(range.start..end, Value::Map(Map(members)))
                };
                (node, anchor)
            }
            Event::Alias(anchor) => {
                let meant = self.anchors.get(&anchor).cloned();
                let mut node = meant.ok_or_else(|| DocumentError::at(self.text, range.start, "an alias of nothing"))?;
                self.n_nodes += size(&node);
                node.is_shared = true;
                return Ok(node);
            }
            _ => return Err(DocumentError::at(self.text, range.start, "a value is expected here")),
        };
        if anchor != 0 {
            node.is_shared = true;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }
}

/// How long a text in quotation marks is that stands at the beginning, with the marks; `None` where there is none.
fn quoted_length(raw: &str) -> Option<usize> {
    let quote = raw.chars().next().filter(|first| matches!(first, '"' | '\''))?;
    let mut rest = raw.char_indices().skip(1).peekable();
    while let Some((at, character)) = rest.next() {
        match character {
            '\\' if quote == '"' => {
                rest.next();
            }
            // Two of them are one in the text.
            _ if character == quote && quote == '\'' && rest.peek().is_some_and(|(_, next)| *next == quote) => {
                rest.next();
            }
            _ if character == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn size(node: &Node) -> usize {
    1 + match &node.value {
        Value::List(list) => list.iter().map(size).sum(),
        Value::Map(map) => map.0.iter().map(|member| size(&member.value)).sum(),
        _ => 0,
    }
}

/// A key as a text; one that is no text is called what it is.
fn name(key: &Node) -> String {
    match &key.value {
        Value::Text(text) | Value::Bare(text) => text.clone(),
        Value::Bool(flag) => flag.to_string(),
        Value::Null => String::new(),
        Value::List(_) | Value::Map(_) => "?".into(),
    }
}

/// What a text without quotation marks means (YAML 1.2, core schema, 10.3.2).
fn plain(text: &str) -> Value {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "true" | "True" | "TRUE" => Value::Bool(true),
        "false" | "False" | "FALSE" => Value::Bool(false),
        _ if is_number(text) => Value::Bare(text.into()),
        _ => Value::Text(text.into()),
    }
}

fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(text, ".nan" | ".NaN" | ".NAN") {
        return true;
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return !digits.is_empty() && digits.bytes().all(|byte| matches!(byte, b'0'..=b'7'));
    }
    unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') && unsigned.parse::<f64>().is_ok()
}
