//! Lines of one direction, cut so that each can be judged; what is too long to be held passes as it comes.

use bytes::{Bytes, BytesMut};
use memchr::memchr;

/// A longer line passes unjudged, bytes: what is held has to be held in memory.
pub const LINE_LIMIT_BYTES: usize = 4 * 1024 * 1024;

/// What was cut.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// A whole line, with its line ending if it has one, and where in the stream it begins.
    Line { offset: u64, bytes: Bytes },
    /// Part of a line that is not judged.
    Part { bytes: Bytes, ends_line: bool },
}

/// Cuts one direction.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    open: BytesMut,
    /// Where in the stream `open` begins.
    begins: u64,
    /// Whether the line that comes now is not judged, up to its end.
    pub(crate) passing: bool,
}

impl Lines {
    /// Takes bytes that begin at `offset` in their stream.
    pub(crate) fn take(&mut self, offset: u64, bytes: &[u8], limit: usize, mut sink: impl FnMut(Cut)) {
        let mut at = 0;
        while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
            let end = memchr(b'\n', rest).map(|end| end + 1);
            let part = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            let begins = offset + at as u64;
            at += part.len();
            if self.passing {
                self.passing = end.is_none();
                sink(Cut::Part { bytes: Bytes::copy_from_slice(part), ends_line: end.is_some() });
                continue;
            }
            if self.open.is_empty() {
                self.begins = begins;
                if end.is_some() && part.len() <= limit {
                    sink(Cut::Line { offset: begins, bytes: Bytes::copy_from_slice(part) });
                    continue;
                }
            }
            self.open.extend_from_slice(part);
            if limit < self.open.len() {
                self.passing = end.is_none();
                sink(Cut::Part { bytes: std::mem::take(&mut self.open).freeze(), ends_line: end.is_some() });
            } else if end.is_some() {
                sink(Cut::Line { offset: self.begins, bytes: std::mem::take(&mut self.open).freeze() });
            }
        }
    }

    /// What is there of a line that has no end yet. The rest of it is not judged.
    pub(crate) fn flush(&mut self) -> Option<Bytes> {
        self.passing |= !self.open.is_empty();
        (!self.open.is_empty()).then(|| std::mem::take(&mut self.open).freeze())
    }

    /// The last line, without an end, with where it begins.
    pub(crate) fn finish(&mut self) -> Option<(u64, Bytes)> {
        (!self.open.is_empty()).then(|| (self.begins, std::mem::take(&mut self.open).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cut(lines: &mut Lines, offset: u64, bytes: &[u8]) -> Vec<String> {
        let mut cuts = Vec::new();
        lines.take(offset, bytes, 6, |cut| {
            cuts.push(match cut {
                Cut::Line { offset, bytes } => format!("{offset}: {}", bytes.escape_ascii()),
                Cut::Part { bytes, ends_line } => format!("part {} {ends_line}", bytes.escape_ascii()),
            });
        });
        cuts
    }

    #[test]
    fn a_line_is_cut_with_its_place_and_one_that_is_too_long_passes() {
        let mut lines = Lines::default();
        assert_eq!(cut(&mut lines, 10, b"ab\ncd"), ["10: ab\\n"]);
        assert_eq!(cut(&mut lines, 15, b"e\n\nx"), ["13: cde\\n", "17: \\n"]);
        assert_eq!(cut(&mut lines, 19, b"yyyyyy"), ["part xyyyyyy false"]);
        assert_eq!(cut(&mut lines, 25, b"zz\nok\n"), ["part zz\\n true", "28: ok\\n"]);
        assert_eq!(cut(&mut lines, 31, b"1234567\n"), ["part 1234567\\n true"]);
        assert_eq!(cut(&mut lines, 39, b"hal"), [""; 0]);
        assert_eq!(lines.flush().as_deref(), Some(&b"hal"[..]));
        assert_eq!(cut(&mut lines, 42, b"f\nnext\n"), ["part f\\n true", "44: next\\n"]);
        assert_eq!(cut(&mut lines, 49, b"end"), [""; 0]);
        assert_eq!(lines.finish(), Some((49, Bytes::from_static(b"end"))));
    }

    proptest! {
        #[test]
        fn however_it_is_cut_nothing_is_lost(chunks in prop::collection::vec("[ab\n]{0,9}", 0..20)) {
            let (mut lines, mut out, mut offset) = (Lines::default(), Vec::new(), 0);
            for chunk in &chunks {
                lines.take(offset, chunk.as_bytes(), 5, |cut| match cut {
                    Cut::Line { offset, bytes } => {
                        assert_eq!(offset, out.len() as u64);
                        out.extend_from_slice(&bytes);
                    }
                    Cut::Part { bytes, .. } => out.extend_from_slice(&bytes),
                });
                offset += chunk.len() as u64;
            }
            out.extend(lines.finish().map(|(_, bytes)| bytes).unwrap_or_default());
            prop_assert_eq!(out, chunks.concat().into_bytes());
        }
    }
}
