//! What rows say of methods: which frames are about some of them, and how often what they name was called.

use std::sync::Arc;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension, params, params_from_iter};
use tap_session::{At, HttpSessionNumber, RowKind, Status};

use crate::error::StoreError;
use crate::reader::{Listed, SessionId, Store};
use crate::stored::{LISTED_COLUMNS, columns, listed_from};
use crate::writer::{signed, unsigned};

/// How often something was called, as far as rows say it: each request counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Called {
    /// With this method.
    pub method: Arc<str>,
    /// The tool, prompt or resource.
    pub target: Arc<str>,
    /// Requests.
    pub n_calls: u64,
    /// Answers that say that it failed.
    pub n_errors: u64,
}

impl Store {
    /// The newest result of a request with this method that lies before a place, in one session of MCP if one is named.
    ///
    /// It is looked for row by row from there: a million rows take about a fifth of a second.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn newest_result(
        &self,
        session: SessionId,
        conversation: Option<HttpSessionNumber>,
        method: &str,
        before: At,
    ) -> Result<Option<Listed>, StoreError> {
        let connection = self.connection.borrow();
        let of = conversation.map_or_else(String::new, |number| format!("AND conversation = {}", number.0));
        let columns = columns("message", LISTED_COLUMNS);
        let statement = format!(
            "SELECT {columns} FROM message
             WHERE session = ? AND (seq, member) < (?, ?) AND kind = 3 AND method = ? {of}
             ORDER BY seq DESC, member DESC LIMIT 1"
        );
        let read = || -> rusqlite::Result<Option<Listed>> {
            let mut select = connection.prepare_cached(&statement)?;
            let place = params![session.0, signed(before.seq), signed(before.member), method];
            select.query_row(place, |row| listed_from(row, 0)).optional()
        };
        read().map_err(|source| self.sort(source))
    }

    /// The numbers of the frames behind `after` and up to `last` that are, or have, requests, notifications or answers of
    /// one of these methods; each with the session of MCP that it is of. One pass over the rows.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn frames_about(
        &self,
        session: SessionId,
        methods: &[&str],
        after: u64,
        last: u64,
    ) -> Result<Vec<(u64, Option<HttpSessionNumber>)>, StoreError> {
        let connection = self.connection.borrow();
        let places = vec!["?"; methods.len()].join(", ");
        let statement = format!(
            "SELECT DISTINCT seq, conversation FROM message
             WHERE session = ? AND seq > ? AND seq <= ? AND method IN ({places}) ORDER BY seq"
        );
        let bounds = [Value::from(session.0), Value::from(signed(after)), Value::from(signed(last))];
        let methods = methods.iter().map(|method| Value::from((*method).to_owned()));
        let read = || -> rusqlite::Result<Vec<_>> {
            let mut select = connection.prepare_cached(&statement)?;
            let found = select.query_map(params_from_iter(bounds.into_iter().chain(methods)), |row| {
                let conversation: Option<i64> = row.get(1)?;
                Ok((unsigned(row.get(0)?), conversation.map(|number| HttpSessionNumber(unsigned(number)))))
            })?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }

    /// How often each tool was called, each prompt and each resource asked for, in frames behind `after` and up to `last`.
    /// One pass over the rows.
    ///
    /// # Errors
    ///
    /// When the database cannot be read.
    pub fn called(
        &self,
        session: SessionId,
        conversation: Option<HttpSessionNumber>,
        after: u64,
        last: u64,
    ) -> Result<Vec<Called>, StoreError> {
        let connection = self.connection.borrow();
        let (request, ok) = (RowKind::Request.code(), Status::Ok.code());
        let (result, error) = (RowKind::Result.code(), RowKind::Error.code());
        let of = conversation.map_or_else(String::new, |number| format!("AND conversation = {}", number.0));
        let statement = format!(
            "SELECT method, target, sum(kind = {request}), sum(kind <> {request} AND status <> {ok}) FROM message
             WHERE session = ? AND seq > ? AND seq <= ? AND kind IN ({request}, {result}, {error})
                 AND method IN ('tools/call', 'prompts/get', 'resources/read') AND target IS NOT NULL {of}
             GROUP BY method, target"
        );
        let read = || -> rusqlite::Result<Vec<Called>> {
            let mut select = connection.prepare_cached(&statement)?;
            let found = select.query_map(params![session.0, signed(after), signed(last)], |row| {
                let (method, target): (String, String) = (row.get(0)?, row.get(1)?);
                Ok(Called {
                    method: method.into(),
                    target: target.into(),
                    n_calls: unsigned(row.get(2)?),
                    // Of an answer that is not known to be one it is not known how it ended.
                    n_errors: row.get::<_, Option<i64>>(3)?.map_or(0, unsigned),
                })
            })?;
            found.collect()
        };
        read().map_err(|source| self.sort(source))
    }
}
