//! Event streams with places: which of a stream's bytes each event was made of.

use memchr::memchr2;
use tap_jsonrpc::{SseEvent, SseSplitter};

/// An event, and where it lies in its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutEvent {
    /// The event.
    pub event: SseEvent,
    /// Its number in the stream, from 1.
    pub number: u64,
    /// Where its first line begins, counted in bytes from the beginning of the stream.
    pub start: u64,
    /// Where it ends: behind the first byte of the empty line's end.
    pub end: u64,
}

/// Cuts a stream into events and says where each lies. Where that is does not depend on how the stream comes in pieces: an
/// event begins at its first byte that ends no line.
#[derive(Debug, Clone)]
pub struct EventCutter {
    splitter: SseSplitter,
    /// How many bytes were taken.
    n_bytes: u64,
    /// Where the open event begins.
    start: Option<u64>,
    /// Whether the open line has no bytes.
    line_is_empty: bool,
    after_carriage_return: bool,
    n_events: u64,
}

impl Default for EventCutter {
    fn default() -> Self {
        Self {
            splitter: SseSplitter::default(),
            n_bytes: 0,
            start: None,
            line_is_empty: true,
            after_carriage_return: false,
            n_events: 0,
        }
    }
}

impl EventCutter {
    /// How many bytes of the open event are held.
    pub(crate) fn held_bytes(&self) -> usize {
        self.splitter.held_bytes()
    }

    /// A cutter of a stream, from its beginning.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many bytes were taken.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.n_bytes
    }

    /// How many events there were.
    #[must_use]
    pub fn n_events(&self) -> u64 {
        self.n_events
    }

    /// Some bytes of the stream are missing here: drops what is open.
    pub fn tear(&mut self) {
        *self = Self { n_bytes: self.n_bytes, n_events: self.n_events, ..Self::new() };
    }

    /// Where the open event begins, if one is open.
    #[must_use]
    pub fn start(&self) -> Option<u64> {
        self.start
    }

    /// Takes the next bytes of the stream, and hands each event that they complete to `sink`.
    pub fn feed(&mut self, chunk: &[u8], sink: &mut impl FnMut(CutEvent)) {
        let mut rest = chunk;
        while let Some(first) = rest.first() {
            // The second half of a `\r\n` ends no line of its own.
            if std::mem::take(&mut self.after_carriage_return) && *first == b'\n' {
                self.take(&rest[..1]);
                rest = &rest[1..];
                continue;
            }
            let content = memchr2(b'\r', b'\n', rest);
            let (line, after) = rest.split_at(content.map_or(rest.len(), |end| end + 1));
            if content != Some(0) {
                self.start.get_or_insert(self.n_bytes);
                self.line_is_empty = false;
            }
            if let Some(event) = self.take(line) {
                self.n_events += 1;
                let start = self.start.unwrap_or(self.n_bytes);
                sink(CutEvent { event, number: self.n_events, start, end: self.n_bytes });
            }
            if content.is_some() {
                self.after_carriage_return = line.ends_with(b"\r");
                if std::mem::replace(&mut self.line_is_empty, true) {
                    // Also behind a comment that stood for itself.
                    self.start = None;
                }
            }
            rest = after;
        }
    }

    fn take(&mut self, bytes: &[u8]) -> Option<SseEvent> {
        self.n_bytes += bytes.len() as u64;
        let mut completed = None;
        self.splitter.feed(bytes, &mut |event| completed = Some(event));
        completed
    }

    /// The event that no empty line ended, if there is one. A client drops it.
    pub fn finish(&mut self) -> Option<CutEvent> {
        let event = self.splitter.finish()?;
        self.n_events += 1;
        let start = self.start.take().unwrap_or(self.n_bytes);
        Some(CutEvent { event, number: self.n_events, start, end: self.n_bytes })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Each event's bytes and data.
    fn cut(chunks: &[&[u8]]) -> Vec<(u64, String, Option<String>)> {
        let stream = chunks.concat();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (mut cutter, mut cuts) = (EventCutter::new(), Vec::new());
        for chunk in chunks {
            cutter.feed(chunk, &mut |cut| cuts.push(cut));
        }
        cuts.extend(cutter.finish());
        let told = cuts.into_iter().map(|cut| {
            let bytes = &stream[usize::try_from(cut.start).unwrap()..usize::try_from(cut.end).unwrap()];
            (cut.number, text(bytes), cut.event.data.map(|data| text(&data)))
        });
        told.collect()
    }

    #[test]
    fn an_event_lies_where_its_lines_are() {
        for (stream, expected) in [
            ("data: a\n\ndata: b\n\n", &[("data: a\n\n", "a"), ("data: b\n\n", "b")][..]),
            (
                "\n: ping\n\n\nid: 1\r\ndata: a\r\n\r\ndata: b\r\r",
                &[("id: 1\r\ndata: a\r\n\r", "a"), ("data: b\r\r", "b")],
            ),
            (": hello\ndata: a\n\ndata: b", &[(": hello\ndata: a\n\n", "a"), ("data: b", "b")]),
        ] {
            let expected: Vec<_> = (1..)
                .zip(expected)
                .map(|(number, (bytes, data))| (number, (*bytes).into(), Some((*data).into())))
                .collect();
            assert_eq!(cut(&[stream.as_bytes()]), expected, "{stream:?}");
        }
    }

    proptest! {
        #[test]
        fn events_are_the_same_however_the_stream_comes(
            lines in prop::collection::vec(prop::sample::select(&["data: a", ": c", "id: 7", "event: x", "\n", "\r", "\r\n", "\u{feff}", "x"][..]), 0..20),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let stream = lines.concat().into_bytes();
            let mut places: Vec<_> = cuts.iter().map(|index| index.index(stream.len() + 1)).collect();
            places.extend([0, stream.len()]);
            places.sort_unstable();
            let chunks: Vec<&[u8]> = places.windows(2).map(|pair| &stream[pair[0]..pair[1]]).collect();
            prop_assert_eq!(cut(&chunks), cut(&[&stream]));
        }
    }
}
