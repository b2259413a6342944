//! An event stream cut into events, with every byte of it kept: what is no message of MCP's goes on as it came.
//!
//! Source of the format: HTML, 9.2.6 Interpreting an event stream.

use bytes::Bytes;

use crate::gate::JUDGED_BYTES;

/// A part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// What carries no message.
    Other(Bytes),
    /// What carries none and has an id, which a client remembers.
    WithId(Bytes),
    /// A message.
    Event(Event),
}

/// An event that carries a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Event {
    /// Where in the stream it begins: at its first byte that ends no line.
    pub(crate) start: u64,
    /// All its bytes, with the empty line.
    pub(crate) bytes: Bytes,
    pub(crate) data: Bytes,
    pub(crate) has_id: bool,
}

/// Cuts a stream. Its parts together are the stream.
#[derive(Debug, Default)]
pub(crate) struct Cutter {
    n_bytes: u64,
    /// The last bytes that passed uncut.
    tail: Vec<u8>,
    /// The open event, and where it begins.
    open: Vec<u8>,
    start: u64,
    line_has_bytes: bool,
    after_return: bool,
    /// The rest of what is open passes as it is.
    torn: bool,
}

impl Cutter {
    /// Notes bytes that pass uncut.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        self.n_bytes += bytes.len() as u64;
        let from = bytes.len().saturating_sub(4);
        self.tail.extend_from_slice(bytes.get(from..).unwrap_or_default());
        let surplus = self.tail.len().saturating_sub(4);
        self.tail.drain(..surplus);
    }

    /// What is open, which passes uncut.
    pub(crate) fn give_up(&mut self) -> Bytes {
        let open = std::mem::take(&mut self.open);
        self.n_bytes -= open.len() as u64;
        self.pass(&open);
        open.into()
    }

    /// Whether nothing is open.
    pub(crate) fn is_whole(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins to cut behind what has passed.
    fn begin(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let tail = std::mem::take(&mut self.tail);
        let before = [&b"\r\n"[..], b"\n", b"\r"].iter().find_map(|end| tail.strip_suffix(*end));
        let is_short = self.n_bytes <= 4;
        let ends_event = before.is_some_and(|before| match before.last() {
            Some(last) => matches!(last, b'\r' | b'\n'),
            None => is_short,
        });
        self.torn = !ends_event;
        self.line_has_bytes = before.is_none();
        self.after_return = tail.last() == Some(&b'\r');
    }

    /// Takes the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8], sink: &mut impl FnMut(Part)) {
        self.begin();
        let mut other = Vec::new();
        let mut rest = bytes.iter().copied().peekable();
        while let Some(byte) = rest.next() {
            self.n_bytes += 1;
            let after_return = std::mem::take(&mut self.after_return);
            let is_open = self.torn || !self.open.is_empty();
            if !matches!(byte, b'\r' | b'\n') {
                if self.open.is_empty() {
                    self.start = self.n_bytes - 1;
                }
                self.open.push(byte);
                self.line_has_bytes = true;
                continue;
            }
            if byte == b'\n' && after_return {
                // It ends the same line.
                let line = if is_open { &mut self.open } else { &mut other };
                line.push(byte);
                continue;
            }
            self.after_return = byte == b'\r';
            if std::mem::take(&mut self.line_has_bytes) {
                self.open.push(byte);
                continue;
            }
            if !is_open {
                other.push(byte);
                continue;
            }
            self.open.push(byte);
            if self.after_return && rest.next_if_eq(&b'\n').is_some() {
                self.n_bytes += 1;
                self.after_return = false;
                self.open.push(b'\n');
            }
            let event = std::mem::take(&mut self.open);
            if std::mem::take(&mut self.torn) {
                other.extend(event);
                continue;
            }
            if !other.is_empty() {
                sink(Part::Other(std::mem::take(&mut other).into()));
            }
            sink(read(self.start, event));
        }
        self.torn |= JUDGED_BYTES < self.open.len();
        if self.torn {
            other.append(&mut self.open);
        }
        if !other.is_empty() {
            sink(Part::Other(other.into()));
        }
    }
}

/// The lines of an event, each with its end.
fn lines(mut bytes: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n')).unwrap_or(bytes.len());
        let (line, after) = bytes.split_at(end);
        let n_end = if after.starts_with(b"\r\n") { 2 } else { after.len().min(1) };
        let (end, rest) = after.split_at(n_end);
        bytes = rest;
        Some((line, end))
    })
}

/// The name of a line's field, and its value.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    let colon = line.iter().position(|byte| *byte == b':').unwrap_or(line.len());
    let (name, value) = line.split_at(colon);
    let value = value.strip_prefix(b":").unwrap_or(value);
    (name, value.strip_prefix(b" ").unwrap_or(value))
}

fn read(start: u64, bytes: Vec<u8>) -> Part {
    let (mut data, mut has_id, mut is_message) = (Vec::new(), false, true);
    let mut n_data = 0;
    for (line, _) in lines(&bytes) {
        match field(line) {
            (b"data", value) => {
                if n_data > 0 {
                    data.push(b'\n');
                }
                n_data += 1;
                data.extend_from_slice(value);
            }
            (b"id", _) => has_id = true,
            (b"event", value) => is_message = matches!(value, b"" | b"message"),
            _ => {}
        }
    }
    if data.is_empty() || !is_message {
        return if has_id { Part::WithId(bytes.into()) } else { Part::Other(bytes.into()) };
    }
    Part::Event(Event { start, bytes: bytes.into(), data: data.into(), has_id })
}

impl Event {
    /// The event with this data; all its other lines stay as they are.
    pub(crate) fn with(&self, data: &[u8]) -> Bytes {
        if data == self.data {
            return self.bytes.clone();
        }
        let mut out = Vec::with_capacity(self.bytes.len() + data.len());
        let mut is_written = false;
        for (line, end) in lines(&self.bytes) {
            let (name, _) = field(line);
            if name != b"data" {
                out.extend_from_slice(line);
                out.extend_from_slice(end);
            } else if !std::mem::replace(&mut is_written, true) {
                for (new, _) in lines(data) {
                    out.extend_from_slice(b"data: ");
                    out.extend_from_slice(new);
                    out.extend_from_slice(end);
                }
            }
        }
        out.into()
    }
}

/// An event of ours.
pub(crate) fn event(data: &[u8]) -> Bytes {
    [b"data: ", data, b"\n\n"].concat().into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(pieces: &[&[u8]]) -> Vec<Part> {
        let (mut cutter, mut parts) = (Cutter::default(), Vec::new());
        for piece in pieces {
            cutter.feed(piece, &mut |part| parts.push(part));
        }
        let rest = cutter.give_up();
        parts.extend((!rest.is_empty()).then_some(Part::Other(rest)));
        parts
    }

    fn bytes(parts: &[Part]) -> Vec<u8> {
        let of = |part: &Part| match part {
            Part::Other(bytes) | Part::WithId(bytes) => bytes.to_vec(),
            Part::Event(event) => event.bytes.to_vec(),
        };
        parts.iter().flat_map(of).collect()
    }

    /// Where each message begins, its data, and whether it has an id.
    fn events(parts: &[Part]) -> Vec<(u64, String, bool)> {
        let of = |part: &Part| match part {
            Part::Event(event) => Some((event.start, String::from_utf8_lossy(&event.data).into_owned(), event.has_id)),
            Part::Other(_) | Part::WithId(_) => None,
        };
        parts.iter().filter_map(of).collect()
    }

    #[test]
    fn messages_are_told_from_what_is_around_them() {
        for (stream, expected) in [
            ("data: {}\n\ndata: 2\n\n", &[(0, "{}", false), (10, "2", false)][..]),
            ("\n: ping\n\n\nid: 1\r\ndata: a\r\n\r\ndata: b\r\r", &[(10, "a", true), (28, "b", false)]),
            (": hello\ndata: a\ndata: b\n\n", &[(0, "a\nb", false)]),
            ("event: endpoint\ndata: /m\n\nid: 0\ndata:\n\nevent: message\ndata:x\n\n", &[(39, "x", false)]),
            ("\u{feff}data: a\n\ndata: never ended", &[(0, "a", false)]),
        ] {
            let expected: Vec<_> = expected.iter().map(|(start, data, id)| (*start, (*data).to_owned(), *id)).collect();
            assert_eq!(events(&cut(&[stream.as_bytes()])), expected, "{stream:?}");
        }
    }

    #[test]
    fn an_edited_event_keeps_its_other_lines() {
        for (stream, data, expected) in [
            ("id: 7\r\ndata:{\"a\":\r\ndata: 1}\r\n: c\r\n\r\n", "2", "id: 7\r\ndata: 2\r\n: c\r\n\r\n"),
            ("data: a\n\n", "b\nc", "data: b\ndata: c\n\n"),
            ("data:a\n\n", "a", "data:a\n\n"),
        ] {
            let parts = cut(&[stream.as_bytes()]);
            let [Part::Event(event)] = &parts[..] else { panic!("{parts:?}") };
            assert_eq!(event.with(data.as_bytes()), expected, "{stream:?}");
        }
    }

    #[test]
    fn cutting_begins_at_the_next_event_wherever_it_is_asked_for() {
        let stream = b"data: 1\n\nid: 2\r\ndata: 2\r\n\r\ndata: 3\r\rdata: 4\n\n";
        let whole = events(&cut(&[stream]));
        for at in 0..stream.len() {
            let (mut cutter, mut parts) = (Cutter::default(), Vec::new());
            let (before, after) = stream.split_at(at);
            cutter.pass(before);
            cutter.feed(after, &mut |part| parts.push(part));
            assert_eq!(bytes(&parts), after, "at {at}");
            let begun_later: Vec<_> = whole.iter().filter(|(start, ..)| at as u64 <= *start).cloned().collect();
            assert_eq!(events(&parts), begun_later, "at {at}");
        }
    }

    proptest! {
        #[test]
        fn no_byte_is_lost_and_events_are_the_same_however_the_stream_comes(
            lines in prop::collection::vec(prop::sample::select(&["data: a", ": c", "id: 7", "event: x", "\n", "\r", "\r\n", "x"][..]), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let stream = lines.concat().into_bytes();
            let mut places: Vec<_> = cuts.iter().map(|index| index.index(stream.len() + 1)).collect();
            places.extend([0, stream.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            let (in_pieces, at_once) = (cut(&pieces), cut(&[&stream]));
            prop_assert_eq!(bytes(&in_pieces), stream);
            prop_assert_eq!(events(&in_pieces), events(&at_once));
        }
    }
}
