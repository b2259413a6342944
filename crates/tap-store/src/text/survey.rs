//! A first look over a fixture: what its last record says of the ones before, and which of them are the last of their exchange.

use std::collections::HashMap;
use std::io::BufRead;

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

impl Survey {
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
