//! A first look over a fixture: what its last record says of the ones before, and which of them are the last of their exchange.

use std::collections::HashMap;
use std::io::{BufRead, Cursor, Read, Seek, SeekFrom};
use std::path::Path;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::records::Records;
use crate::error::StoreError;

/// What is known of a fixture before it is read. Records are counted from 0, the header and those without a time left out.
#[derive(Debug, Default)]
pub(super) struct Survey {
    gaps_us: Vec<u64>,
    exchanges: HashMap<u64, Span>,
}

/// Which records an exchange has.
#[derive(Debug, Default)]
struct Span {
    /// The last of the request.
    request: Option<u64>,
    last: u64,
    says_request_end: bool,
    /// The last record says how it ended.
    says_end: bool,
}

#[derive(Deserialize)]
struct Look<'a> {
    http: Option<u64>,
    to: Option<String>,
    request: Option<String>,
    part: Option<String>,
    request_end: Option<bool>,
    http_end: Option<String>,
    gaps_us: Option<Vec<u64>>,
    #[serde(borrow)]
    note: Option<&'a RawValue>,
    #[serde(borrow)]
    mark: Option<&'a RawValue>,
}

/// How a last record begins that is written as we write it.
const LAST: &[u8] = b"\n{\"gaps_us\":";

/// How much of a file's end is looked at for its last record, at first and at most, bytes.
const TAIL_BYTES: u64 = 64 * 1024;
const TAIL_LIMIT_BYTES: u64 = 64 * 1024 * 1024;

impl Survey {
    /// Reads the last record alone, where a large file ends with it: all that is to be known of a recording over stdio.
    /// `None` where that cannot be told without reading all of it.
    pub(super) fn of_end(input: &mut (impl BufRead + Seek), name: &Path) -> std::io::Result<Option<Self>> {
        let n_bytes = input.seek(SeekFrom::End(0))?;
        let mut wanted = TAIL_BYTES;
        loop {
            let n_tail = wanted.min(n_bytes);
            input.seek(SeekFrom::Start(n_bytes - n_tail))?;
            let mut tail = Vec::new();
            input.by_ref().take(n_tail).read_to_end(&mut tail)?;
            if let Some(at) = memchr::memmem::rfind(&tail, LAST) {
                return Ok(Self::of_last(tail.get(at..).unwrap_or_default(), name));
            }
            if n_tail == n_bytes || wanted >= TAIL_LIMIT_BYTES {
                return Ok(None);
            }
            wanted *= 8;
        }
    }

    fn of_last(tail: &[u8], name: &Path) -> Option<Self> {
        let mut records = Records::new(Cursor::new(tail), name);
        let is_record = records.advance().ok()?;
        let look: Look<'_> = serde_json::from_slice(records.record()).ok()?;
        let gaps_us = look.gaps_us.filter(|_| is_record)?;
        // Something else behind it: it was the end of another record.
        let is_last = !records.advance().ok()?;
        is_last.then(|| Self { gaps_us, exchanges: HashMap::new() })
    }

    /// Reads all that is left. What makes no sense is left to who reads it again, who can tell the line as well.
    pub(super) fn of<R: BufRead>(records: &mut Records<'_, R>) -> Result<Self, StoreError> {
        let mut this = Self::default();
        let mut number = 0;
        while records.advance()? {
            let Ok(look) = serde_json::from_slice::<Look<'_>>(records.record()) else {
                number += 1;
                continue;
            };
            if let Some(gaps_us) = look.gaps_us {
                this.gaps_us = gaps_us;
                continue;
            }
            if look.note.is_some() || look.mark.is_some() {
                continue;
            }
            if let Some(exchange) = look.http {
                let span = this.exchanges.entry(exchange).or_default();
                let part = look.part.as_deref();
                let is_torn = part == Some("request") && span.request.is_none();
                if look.request.is_some() || look.to.as_deref() == Some("server") || is_torn {
                    span.request = Some(number);
                }
                span.says_request_end |= look.request_end.is_some() || part == Some("request_end");
                span.says_end = look.http_end.is_some() || part == Some("end");
                span.last = number;
            }
            number += 1;
        }
        Ok(this)
    }

    /// How long after the record before this one it was, nanoseconds.
    pub(super) fn gap_ns(&self, number: u64) -> u64 {
        let gap = usize::try_from(number).ok().and_then(|number| self.gaps_us.get(number));
        gap.copied().unwrap_or_default().saturating_mul(1_000)
    }

    /// Whether a request is complete with this record, without a record that says so.
    pub(super) fn completes_request(&self, exchange: u64, number: u64) -> bool {
        self.exchanges.get(&exchange).is_some_and(|span| !span.says_request_end && span.request == Some(number))
    }

    /// Whether an exchange is over with this record, without a record that says so.
    pub(super) fn completes(&self, exchange: u64, number: u64) -> bool {
        self.exchanges.get(&exchange).is_some_and(|span| !span.says_end && span.last == number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "{\"mcp-tap\":\"recording/1\",\"profile\":\"fixture\"}";

    #[track_caller]
    fn check(text: &str, expected: Option<&[u64]>) {
        let found = Survey::of_end(&mut Cursor::new(text), Path::new("a")).expect("it can be read");
        assert_eq!(found.map(|survey| survey.gaps_us).as_deref(), expected, "{text}");
    }

    #[test]
    fn the_last_record_is_found_from_the_end_or_not_at_all() {
        check(&format!("{HEADER}\n{{\"gaps_us\":[1,\n 2]}}\n"), Some(&[1, 2]));
        check(&format!("{HEADER}\r\n{{\"gaps_us\":[7]}}"), Some(&[7]));
        check(&format!("{HEADER}\n{{\"gaps_us\":[1]}}\n{{\"gaps_us\":[2]}}\n \n"), Some(&[2]));
        // Longer than what is looked at first.
        let long = vec!["5"; 50_000].join(",");
        check(&format!("{HEADER}\n{{\"gaps_us\":[{long}]}}\n"), Some(&vec![5; 50_000]));
        for elsewhere in [
            String::new(),
            HEADER.to_owned(),
            format!("{HEADER}\n{{\"gaps_us\":[1]}}\n{{\"note\":1}}\n"),
            format!("{HEADER}\n{{\"to\":\"server\",\"msg\":\n{{\"gaps_us\":[1]}}\n}}\n"),
            format!("{HEADER}\n{{\"gaps_us\":[1"),
            format!("{HEADER}\n{{\"gaps_us\":\"x\"}}"),
            format!("{HEADER}{{\"gaps_us\":[1]}}"),
        ] {
            check(&elsewhere, None);
        }
    }
}
