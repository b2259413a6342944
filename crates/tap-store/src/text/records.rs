//! A stream of JSON records, read one at a time: where each begins and ends, and on which line.
//!
//! Any white space may stand between and inside of records, so folded and unfolded files are read alike, whatever their line
//! ends are.

use std::io::{BufRead, ErrorKind};
use std::path::Path;

use crate::error::StoreError;

/// The largest record that is read, bytes. Whatever can be recorded fits; what goes on for longer is no recording.
const RECORD_LIMIT_BYTES: usize = 1024 * 1024 * 1024;

/// Reads records from a stream.
pub(super) struct Records<'a, R> {
    input: R,
    name: &'a Path,
    /// The line that is read, from 1.
    line: u64,
    /// The line on which the newest record begins.
    begins: u64,
    /// How many bytes were read, and where the newest record begins.
    n_read: u64,
    offset: u64,
    /// The newest record.
    record: Vec<u8>,
    is_begun: bool,
}

/// Where in a record the reader is.
#[derive(Default)]
struct Scan {
    depth: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Scan {
    /// How many of these bytes belong to the record, and whether it ends with them.
    fn take(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            if self.in_string {
                if self.is_escaped {
                    self.is_escaped = false;
                } else {
                    match memchr::memchr2(b'"', b'\\', bytes.get(at..).unwrap_or_default()) {
                        None => return (bytes.len(), false),
                        Some(found) => {
                            at += found;
                            let is_quote = bytes.get(at) == Some(&b'"');
                            (self.in_string, self.is_escaped) = (!is_quote, !is_quote);
                        }
                    }
                }
            } else {
                match byte {
                    b'"' => self.in_string = true,
                    b'{' | b'[' => self.depth += 1,
                    b'}' | b']' => {
                        self.depth = self.depth.saturating_sub(1);
                        if self.depth == 0 {
                            return (at + 1, true);
                        }
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        (bytes.len(), false)
    }
}

impl<'a, R: BufRead> Records<'a, R> {
    /// `name` is the file's, for errors.
    pub(super) fn new(input: R, name: &'a Path) -> Self {
        Self { input, name, line: 1, begins: 1, n_read: 0, offset: 0, record: Vec::new(), is_begun: false }
    }

    /// The newest record, with the white space that is in it.
    pub(super) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Reads the next record. False at the end.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or something else than a JSON object stands where a record should begin.
    pub(super) fn advance(&mut self) -> Result<bool, StoreError> {
        self.record.clear();
        if !self.find_begin()? {
            self.begins = self.line;
            return Ok(false);
        }
        self.begins = self.line;
        self.offset = self.n_read;
        let mut scan = Scan::default();
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|source| StoreError::Io { path: self.name.into(), source })?,
            };
            if buffer.is_empty() {
                return Err(self.wrong(match scan.in_string {
                    true => "not a record: the file ends inside a string of this record",
                    false => "not a record: the file ends before this record does",
                }));
            }
            let (n_bytes, is_whole) = scan.take(buffer);
            let taken = buffer.get(..n_bytes).unwrap_or_default();
            self.line += memchr::memchr_iter(b'\n', taken).count() as u64;
            self.record.extend_from_slice(taken);
            self.input.consume(n_bytes);
            self.n_read += n_bytes as u64;
            if is_whole {
                return Ok(true);
            }
            if RECORD_LIMIT_BYTES < self.record.len() {
                return Err(self.wrong("not a record: it goes on for more than 1 GiB"));
            }
        }
    }

    /// Skips white space, and a byte order mark at the very beginning. False at the end.
    fn find_begin(&mut self) -> Result<bool, StoreError> {
        loop {
            let buffer = match self.input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                buffer => buffer.map_err(|source| StoreError::Io { path: self.name.into(), source })?,
            };
            let Some(&first) = buffer.first() else {
                return Ok(false);
            };
            match first {
                b' ' | b'\t' | b'\r' | b'\n' => {
                    let n_space = buffer.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n')).count();
                    self.line += memchr::memchr_iter(b'\n', buffer.get(..n_space).unwrap_or_default()).count() as u64;
                    self.input.consume(n_space);
                    self.n_read += n_space as u64;
                }
                b'{' => {
                    self.is_begun = true;
                    return Ok(true);
                }
                b'\xef' if !std::mem::replace(&mut self.is_begun, true) => self.byte_order_mark()?,
                _ => {
                    self.begins = self.line;
                    let start = buffer.get(..buffer.len().min(20)).unwrap_or_default();
                    let start = String::from_utf8_lossy(start.split(|byte| *byte < b' ').next().unwrap_or_default());
                    let start = format!("not a record: a JSON object must begin here, and `{start}` does");
                    return Err(self.wrong(start));
                }
            }
        }
    }

    fn byte_order_mark(&mut self) -> Result<(), StoreError> {
        let mut mark = [0; 3];
        let read = std::io::Read::read_exact(&mut self.input, &mut mark);
        match read {
            Ok(()) if mark == *b"\xef\xbb\xbf" => {
                self.n_read += mark.len() as u64;
                Ok(())
            }
            Ok(()) => Err(self.wrong("not a record: a JSON object must begin here")),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(self.wrong("not a record: a JSON object must begin here"))
            }
            Err(source) => Err(StoreError::Io { path: self.name.into(), source }),
        }
    }

    /// Where the newest record begins, bytes from where reading began.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Gives back what is read from.
    pub(super) fn into_input(self) -> R {
        self.input
    }

    /// An error of the newest record.
    pub(super) fn wrong(&self, problem: impl Into<String>) -> StoreError {
        self.wrong_at(self.begins, problem)
    }

    /// The line on which the newest record begins, from 1.
    pub(super) fn begins_at(&self) -> u64 {
        self.begins
    }

    /// That the newest record is no JSON, or not what it should be: on the line where that was seen.
    pub(super) fn not_json(&self, what: &str, error: &serde_json::Error) -> StoreError {
        let told = error.to_string();
        let told = told.split(" at line ").next().unwrap_or_default();
        let line = self.begins + (error.line() as u64).saturating_sub(1);
        self.wrong_at(line, format!("{what}: {told}"))
    }

    fn wrong_at(&self, line: u64, problem: impl Into<String>) -> StoreError {
        StoreError::Text { path: self.name.into(), line, problem: problem.into() }
    }
}
