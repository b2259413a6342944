//! Event streams: where one server-sent event ends and the next begins, and which fields it has.
//!
//! Source: WHATWG HTML, 9.2.6 Interpreting an event stream; MCP 2025-11-25 and 2026-07-28, Streamable HTTP.

use bytes::Bytes;
use memchr::{memchr, memchr2};

/// How many bytes of one event are kept unless said otherwise: tools send images, and a peer must not take all memory.
pub const SSE_EVENT_LIMIT_BYTES: usize = 256 * 1024 * 1024;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One event of a stream.
///
/// Comments alone are no event. Fields without `data` are one here, although a browser would not dispatch it: they may
/// say what to resume from, or how long to wait.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// The field `event` as written; [`name`](Self::name) knows what its absence means.
    pub event: Option<Bytes>,
    /// The field `id`. One that holds a NUL is none.
    pub id: Option<Bytes>,
    /// The field `retry`, milliseconds. One that is not made of digits is none.
    pub retry_ms: Option<u64>,
    /// The fields `data`, joined by `\n`; `None` when there was none, empty when it was there and empty.
    pub data: Option<Bytes>,
    /// How many bytes of the event were not kept because there were too many.
    pub lost_bytes: u64,
}

impl SseEvent {
    /// What kind of event it is: `message` where it does not say.
    #[must_use]
    pub fn name(&self) -> &[u8] {
        match &self.event {
            Some(name) if !name.is_empty() => name,
            _ => b"message",
        }
    }
}

/// Cuts an event stream into events, whatever chunks it comes in.
///
/// A line ends at `\n`, `\r` or `\r\n`, an event at an empty line. Values are taken as they are, UTF-8 or not.
///
/// Holds one event at most, and no more of it than `limit_bytes` of its lines, in buffers that grow by doubling. What an
/// event has beyond that is dropped, and [counted](SseEvent::lost_bytes).
#[derive(Debug, Clone)]
pub struct SseSplitter {
    limit_bytes: usize,
    /// What was kept of the line that has not ended.
    line: Vec<u8>,
    /// Whether that line has any bytes, kept or not.
    line_is_empty: bool,
    /// The newest byte was a `\r`, so that a `\n` belongs to it.
    after_carriage_return: bool,
    /// No line has ended yet, so that a byte order mark may begin this one.
    is_first_line: bool,
    /// What the lines of the open event said, but for its `data`.
    event: SseEvent,
    /// Its `data`, with a `\n` after each line.
    data: Vec<u8>,
    /// How many bytes of its lines are kept.
    kept_bytes: usize,
    has_fields: bool,
}

impl Default for SseSplitter {
    fn default() -> Self {
        Self::with_limit(SSE_EVENT_LIMIT_BYTES)
    }
}

impl SseSplitter {
    /// How many bytes of the open event are held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.line.len() + self.data.len()
    }

    /// A splitter that keeps so many bytes of one event at most.
    #[must_use]
    pub fn with_limit(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            line: Vec::new(),
            line_is_empty: true,
            after_carriage_return: false,
            is_first_line: true,
            event: SseEvent::default(),
            data: Vec::new(),
            kept_bytes: 0,
            has_fields: false,
        }
    }

    /// Takes the next bytes of the stream, and hands each event that they complete to `sink`.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(SseEvent)) {
        if chunk.is_empty() {
            return;
        }
        let mut rest = chunk;
        if std::mem::take(&mut self.after_carriage_return) {
            rest = chunk.strip_prefix(b"\n").unwrap_or(chunk);
        }
        while let Some(end) = memchr2(b'\r', b'\n', rest) {
            let (line, after) = rest.split_at(end);
            self.keep(line);
            self.end_line(sink);
            rest = match after {
                [b'\r', b'\n', after @ ..] => after,
                [b'\r'] => {
                    self.after_carriage_return = true;
                    return;
                }
                [_, after @ ..] => after,
                [] => after,
            };
        }
        self.keep(rest);
    }

    /// What is left at the end of the stream: the event that no empty line ended, if there is one. A client drops it.
    ///
    /// The splitter is then as new.
    pub fn finish(&mut self) -> Option<SseEvent> {
        self.take_line();
        let event = self.take_event();
        *self = Self::with_limit(self.limit_bytes);
        event
    }

    fn keep(&mut self, bytes: &[u8]) {
        let room = self.limit_bytes.saturating_sub(self.kept_bytes);
        let (kept, lost) = bytes.split_at(bytes.len().min(room));
        self.line.extend_from_slice(kept);
        self.line_is_empty &= bytes.is_empty();
        self.kept_bytes += kept.len();
        self.event.lost_bytes += lost.len() as u64;
    }

    fn end_line(&mut self, sink: &mut impl FnMut(SseEvent)) {
        if self.take_line() {
            return;
        }
        if let Some(event) = self.take_event() {
            sink(event);
        }
    }

    /// Takes in what the line said, and tells whether it said anything: an empty line ends an event.
    fn take_line(&mut self) -> bool {
        if std::mem::take(&mut self.is_first_line) && self.line.starts_with(BYTE_ORDER_MARK) {
            self.line.drain(..BYTE_ORDER_MARK.len());
            self.line_is_empty = self.line.is_empty();
        }
        if std::mem::replace(&mut self.line_is_empty, true) {
            return false;
        }
        let colon = memchr(b':', &self.line);
        let (name, value) = match colon {
            Some(colon) => {
                let value = &self.line[colon + 1..];
                (&self.line[..colon], value.strip_prefix(b" ").unwrap_or(value))
            }
            None => (&self.line[..], &b""[..]),
        };
        match name {
            b"data" => {
                let before = self.line.len() - value.len();
                self.has_fields = true;
                if self.data.is_empty() {
                    // Most events have one such line, and it may be long: it is moved, not copied.
                    self.data = std::mem::take(&mut self.line);
                    self.data.drain(..before);
                } else {
                    self.data.extend_from_slice(value);
                }
                self.data.push(b'\n');
            }
            b"event" => {
                self.event.event = Some(Bytes::copy_from_slice(value));
                self.has_fields = true;
            }
            b"id" if memchr(0, value).is_none() => {
                self.event.id = Some(Bytes::copy_from_slice(value));
                self.has_fields = true;
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let digit = |number: u64, digit: &u8| number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
                self.event.retry_ms = Some(value.iter().fold(0, digit));
                self.has_fields = true;
            }
            // Comments, and what later specifications may add.
            _ => self.kept_bytes -= self.line.len(),
        }
        self.line.clear();
        true
    }

    fn take_event(&mut self) -> Option<SseEvent> {
        self.kept_bytes = 0;
        let mut event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_fields) {
            return None;
        }
        if data.pop().is_some() {
            // Without the boxed slice a long event would keep twice its size for as long as somebody holds it.
            event.data = Some(Bytes::from(data.into_boxed_slice()));
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event as text: `name#id~retry: data`, and what is not there left out.
    fn told(event: &SseEvent) -> String {
        let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
        let mut told = event.event.as_ref().map_or(String::new(), text);
        told += &event.id.as_ref().map_or(String::new(), |id| format!("#{}", text(id)));
        told += &event.retry_ms.map_or(String::new(), |retry| format!("~{retry}"));
        told += &event.data.as_ref().map_or(String::new(), |data| format!(": {}", text(data)));
        if event.lost_bytes > 0 {
            told += &format!(" ({} lost)", event.lost_bytes);
        }
        told
    }

    #[track_caller]
    fn check_with(mut splitter: SseSplitter, stream: &str, expected: &[&str], unfinished: Option<&str>) {
        let mut events = Vec::new();
        splitter.feed(stream.as_bytes(), &mut |event| events.push(told(&event)));
        assert_eq!(events, expected, "stream: {stream:?}");
        assert_eq!(splitter.finish().as_ref().map(told).as_deref(), unfinished, "left of {stream:?}");
        assert_eq!(splitter.finish(), None, "finished twice: {stream:?}");
    }

    #[track_caller]
    fn check(stream: &str, expected: &[&str], unfinished: Option<&str>) {
        check_with(SseSplitter::default(), stream, expected, unfinished);
    }

    #[test]
    fn lines_end_in_three_ways() {
        check("data: a\n\ndata: b\r\n\r\ndata: c\r\rdata: d\n\r\n", &[": a", ": b", ": c", ": d"], None);
        check("data: a\r\n\ndata: b\n\rdata: c\r\n\r", &[": a", ": b", ": c"], None);
        check("\n\r\n\r\r", &[], None);
    }

    #[test]
    fn fields_are_read_as_browsers_read_them() {
        check("event: endpoint\ndata: /m?s=1\n\n", &["endpoint: /m?s=1"], None);
        check("data:x\ndata:  y\ndata\ndata:\n\n", &[": x\n y\n\n"], None);
        check("id: 1\nretry: 500\ndata: \n\n", &["#1~500: "], None);
        check("data: {\"a\":1}\nid: 26/0\n\n", &["#26/0: {\"a\":1}"], None);
        check("retry: 5s\nretry:\ndata\n\n", &[": "], None);
        check("retry: 99999999999999999999999\n\n", &["~18446744073709551615"], None);
        check("id: a\0b\ndata: c\nfoo: d\n data: e\nDATA: f\n\n", &[": c"], None);
        check("id\nevent\ndata: a\n\n", &["#: a"], None);
        check("id: 7\n\n", &["#7"], None);
        check("event: one\nevent: two\nid: 1\nid: 2\ndata: a\n\ndata: b\n\n", &["two#2: a", ": b"], None);
    }

    #[test]
    fn comments_are_no_events() {
        check(": keepalive\n\n:\r\n\r\n: ping - now\n\ndata: a\n:in between\ndata: b\n\n", &[": a\nb"], None);
    }

    #[test]
    fn a_byte_order_mark_may_begin_the_stream_alone() {
        check("\u{feff}data: a\n\n\u{feff}data: b\n\n", &[": a"], None);
        check("\u{feff}\n\u{feff}data: b\n\n", &[], None);
    }

    #[test]
    fn what_no_empty_line_ends_is_left_over() {
        check("data: a\n\ndata: b\n", &[": a"], Some(": b"));
        check("data: a\n\ndata: b", &[": a"], Some(": b"));
        check("data: a\n\nid: 3\ndat", &[": a"], Some("#3"));
        check(": comment", &[], None);
    }

    #[test]
    fn an_event_without_a_name_is_a_message() {
        let mut names = Vec::new();
        let stream = b"data: a\n\nevent:\ndata: b\n\nevent: error\ndata: c\n\n";
        SseSplitter::default().feed(stream, &mut |event| names.push(event.name().to_vec()));
        assert_eq!(names, [&b"message"[..], b"message", b"error"]);
    }

    #[test]
    fn no_more_than_the_limit_is_kept_of_an_event() {
        let limited = || SseSplitter::with_limit(12);
        check_with(
            limited(),
            "data: 123456\n\ndata: 1234567\n\nid: 1\n\n",
            &[": 123456", ": 123456 (1 lost)", "#1"],
            None,
        );
        check_with(limited(), "data: 123456\ndata: 7\n\ndata: a\n\n", &[": 123456 (7 lost)", ": a"], None);
        check_with(limited(), ": a long comment\ndata: 12\n\n", &[": 12 (4 lost)"], None);
        check_with(limited(), "data: 12345678", &[], Some(": 123456 (2 lost)"));
    }
}
