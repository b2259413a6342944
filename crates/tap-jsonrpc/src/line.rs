//! Lines: where one unit of a byte stream ends and the next begins.

use std::collections::VecDeque;

use bytes::Bytes;
use memchr::memchr;

/// Cuts one chunk after every `\n`, without memory of the chunks before.
///
/// Joining the `bytes` of all parts is the chunk. An empty chunk has no parts; what follows the last `\n` is a part that
/// does not end its line.
///
/// A line ends at `\n` (0x0A) alone: not at `\r`, U+0085 or U+2028, which are legal inside a JSON message.
///
/// Source: MCP 2026-07-28, basic/transports/stdio, Messages.
#[must_use]
pub fn parts(chunk: &[u8]) -> Parts<'_> {
    Parts { rest: chunk }
}

/// What lies in one chunk of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part<'a> {
    /// Never empty; the `\n`, if there is one, is the last byte.
    pub bytes: &'a [u8],
    /// Whether `bytes` ends in `\n`, so that the next part begins a line.
    pub ends_line: bool,
}

/// The parts of a chunk, in order: see [`parts`].
#[derive(Debug, Clone)]
pub struct Parts<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let line_feed = memchr(b'\n', self.rest);
        let (bytes, rest) = match line_feed {
            Some(at) => self.rest.split_at(at + 1),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        Some(Part { bytes, ends_line: line_feed.is_some() })
    }
}

/// Cuts one direction of a byte stream into lines, losing nothing.
///
/// Joining every line given back, [`finish`](Self::finish) included, is the input. Where lines end is said at [`parts`].
/// A line that lies in one chunk shares the chunk's memory; one that does not is copied once, whatever its length, into
/// memory of exactly its size.
#[derive(Debug, Default)]
pub struct LineSplitter {
    /// What was pushed and not cut yet, oldest first.
    chunks: VecDeque<Bytes>,
    /// The start of a line without end, as long as it lies in one chunk.
    start: Bytes,
    /// The start of a line without end, once it lies in several chunks. Grows by doubling, hence linear time.
    joined: Vec<u8>,
}

impl LineSplitter {
    /// Takes the next bytes of the stream. An empty chunk is allowed and means nothing.
    pub fn push(&mut self, chunk: Bytes) {
        if !chunk.is_empty() {
            self.chunks.push_back(chunk);
        }
    }

    /// The next whole line, its `\n` included, or `None` until more is pushed.
    pub fn next_line(&mut self) -> Option<Bytes> {
        while let Some(chunk) = self.chunks.front_mut() {
            let Some(Part { bytes, ends_line }) = parts(chunk).next() else {
                self.chunks.pop_front();
                continue;
            };
            let length = bytes.len();
            let bytes = chunk.split_to(length);
            if let Some(line) = self.join(bytes, ends_line) {
                return Some(line);
            }
        }
        None
    }

    /// What is left at the end of the stream: the last line, without `\n`, if there is one.
    ///
    /// Whole lines that nobody asked for come first, so that calling this until it gives `None` loses nothing either.
    /// The splitter is then as new.
    pub fn finish(&mut self) -> Option<Bytes> {
        self.next_line().or_else(|| {
            let last = self.take_open_line();
            (!last.is_empty()).then_some(last)
        })
    }

    fn join(&mut self, bytes: Bytes, ends_line: bool) -> Option<Bytes> {
        if self.start.is_empty() && self.joined.is_empty() {
            if ends_line {
                return Some(bytes);
            }
            self.start = bytes;
            return None;
        }
        self.joined.extend_from_slice(&std::mem::take(&mut self.start));
        self.joined.extend_from_slice(&bytes);
        ends_line.then(|| self.take_open_line())
    }

    fn take_open_line(&mut self) -> Bytes {
        if self.joined.is_empty() {
            return std::mem::take(&mut self.start);
        }
        // Without the boxed slice a line of 130 MiB would keep 256 MiB for as long as somebody holds it.
        Bytes::from(std::mem::take(&mut self.joined).into_boxed_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(chunks: &[&str], expected: &[&str]) {
        let mut splitter = LineSplitter::default();
        let mut lines = Vec::new();
        for chunk in chunks {
            splitter.push(Bytes::copy_from_slice(chunk.as_bytes()));
            lines.extend(std::iter::from_fn(|| splitter.next_line()));
        }
        lines.extend(splitter.finish());
        assert_eq!(lines, expected, "chunks: {chunks:?}");
        assert_eq!(splitter.finish(), None, "finished twice: {chunks:?}");
    }

    #[test]
    fn cuts_at_line_feed_alone() {
        check(&[], &[]);
        check(&[""], &[]);
        check(&["a"], &["a"]);
        check(&["a\n"], &["a\n"]);
        check(&["a\nb"], &["a\n", "b"]);
        check(&["\n\n"], &["\n", "\n"]);
        check(&["a\r\nb\rc\n"], &["a\r\n", "b\rc\n"]);
        check(&["a\u{85}b\u{2028}c\u{b}d\n"], &["a\u{85}b\u{2028}c\u{b}d\n"]);
        check(&["a\0b\n"], &["a\0b\n"]);
    }

    #[test]
    fn joins_a_line_that_comes_in_pieces() {
        check(&["a", "b\n"], &["ab\n"]);
        check(&["a", "", "b", "\n", "c"], &["ab\n", "c"]);
        check(&["a\nb", "c\nd", "e"], &["a\n", "bc\n", "de"]);
        check(&["a\r", "\nb"], &["a\r\n", "b"]);
    }

    #[test]
    fn gives_the_parts_of_a_chunk() {
        for (chunk, expected) in [
            ("", &[][..]),
            ("a", &[("a", false)]),
            ("\n", &[("\n", true)]),
            ("a\nb\r\nc", &[("a\n", true), ("b\r\n", true), ("c", false)]),
        ] {
            let found: Vec<_> = parts(chunk.as_bytes())
                .map(|part| (std::str::from_utf8(part.bytes).unwrap(), part.ends_line))
                .collect();
            assert_eq!(found, expected, "chunk: {chunk:?}");
        }
    }

    #[test]
    fn a_line_in_one_chunk_is_not_copied() {
        let chunk = Bytes::from_static(b"one\ntwo\nthree");
        let mut splitter = LineSplitter::default();
        splitter.push(chunk.clone());
        assert_eq!(splitter.next_line().unwrap().as_ptr(), chunk.as_ptr());
        assert_eq!(splitter.next_line().unwrap().as_ptr(), chunk[4..].as_ptr());
        assert_eq!(splitter.next_line(), None);
        assert_eq!(splitter.finish().unwrap().as_ptr(), chunk[8..].as_ptr());
    }

    #[test]
    fn finish_gives_lines_that_nobody_asked_for() {
        let mut splitter = LineSplitter::default();
        splitter.push(Bytes::from_static(b"one\ntwo"));
        let lines: Vec<_> = std::iter::from_fn(|| splitter.finish()).collect();
        assert_eq!(lines, ["one\n", "two"]);
    }
}
