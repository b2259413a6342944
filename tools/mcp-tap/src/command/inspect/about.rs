//! What is known around a message: whether it fits its schema, what else belongs to its call, what may explain how it went.
//!
//! Each takes a look at a bounded number of rows and messages. What lies further away is not found, and where that could be
//! missed the answer says how far was looked.

mod call;
mod explain;
mod schema;

use std::collections::HashMap;
use std::sync::mpsc::Receiver;

use bytes::Bytes;
use tap_inspector::{About, AboutLine, AboutPart, Answer, Query, Target, Ticket, Tone};
use tap_jsonrpc::Node;
use tap_session::{At, HttpSessionNumber, RowKind};
use tap_store::{Listed, Session, SessionId, Store, StoreError};

use super::asked::{Answers, Opened};
use super::lists::Lists;

/// How much of a message is looked at, bytes.
const LOOKED_BYTES: u64 = 8 * 1024 * 1024;

/// How many results are remembered by the stretch of messages before which they are the newest.
const STRETCHES: usize = 256;

/// The newest result of a method before any place in a stretch of messages.
struct Stretch {
    /// The result; `None` where there is none before.
    found: Option<At>,
    /// It is the newest before all places up to this one.
    up_to: At,
}

/// Who knows what is around messages.
pub(super) struct Around<'a> {
    lists: Lists<'a>,
    stretches: HashMap<(SessionId, Option<HttpSessionNumber>, &'static str), Vec<Stretch>>,
}

/// A call, and where it is.
struct Called {
    session: Session,
    /// The row that was asked about.
    asked: Listed,
    /// The request, if it is of a call and is there.
    request: Option<Listed>,
    /// The answer, if there is one.
    answer: Option<Listed>,
}

/// Answers until nobody asks any more.
pub(super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut around = Around::new(opened, answers);
    while let Ok((ticket, query)) = questions.recv() {
        around.answer(ticket, query);
    }
}

impl<'a> Around<'a> {
    pub(super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { lists: Lists::new(opened, answers), stretches: HashMap::new() }
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.lists.answers;
        let Query::About(key, at, part) = query else {
            return;
        };
        if answers.is_withdrawn(ticket) {
            return;
        }
        let mut found = || -> Result<Option<About>, StoreError> {
            let Some(session) = self.lists.session(key)? else {
                return Ok(None);
            };
            let Some(called) = called(self.store(), session, at)? else {
                return Ok(None);
            };
            match part {
                AboutPart::Schema => self.schema(&called).map(Some),
                AboutPart::Call => self.call(&called, ticket),
                AboutPart::Explain => self.explain(&called, ticket),
            }
        };
        match found() {
            Ok(Some(about)) => {
                answers.give(ticket, Answer::About(Box::new(about)));
            }
            Ok(None) => {}
            Err(error) => answers.fail(Some(ticket), error.to_string()),
        }
    }

    fn store(&self) -> &'a Store {
        self.lists.store()
    }

    fn is_withdrawn(&self, ticket: Ticket) -> bool {
        self.lists.answers.is_withdrawn(ticket)
    }

    /// The newest result of a method before a place, remembered for its neighbours.
    fn newest_result(
        &mut self,
        session: SessionId,
        conversation: Option<HttpSessionNumber>,
        method: &'static str,
        before: At,
    ) -> Result<Option<At>, StoreError> {
        let store = self.store();
        let known = self.stretches.entry((session, conversation, method)).or_default();
        let holds = |stretch: &&Stretch| stretch.found.is_none_or(|found| found < before) && before <= stretch.up_to;
        if let Some(stretch) = known.iter().find(holds) {
            return Ok(stretch.found);
        }
        let found = store.newest_result(session, conversation, method, before)?.map(|listed| listed.row.at);
        if known.len() >= STRETCHES {
            known.clear();
        }
        known.push(Stretch { found, up_to: before });
        Ok(found)
    }
}

/// The call that a row is of.
fn called(store: &Store, session: Session, at: At) -> Result<Option<Called>, StoreError> {
    let Some(asked) = store.row(session.id, at)? else {
        return Ok(None);
    };
    let other = match asked.row.pair.filter(|pair| *pair != at) {
        Some(pair) => store.row(session.id, pair)?,
        None => None,
    };
    let (request, answer) = match asked.row.kind {
        RowKind::Request => (Some(asked.clone()), other),
        RowKind::Result | RowKind::Error => (other, Some(asked.clone())),
        _ => (None, None),
    };
    Ok(Some(Called { session, asked, request, answer }))
}

/// A message, or as much of it as is looked at.
fn bytes_of(store: &Store, session: SessionId, at: At, limit_bytes: u64) -> Result<Bytes, StoreError> {
    // Where a member stands in its batch is known only from its beginning.
    let limit_bytes = if at.member == 0 { limit_bytes } else { LOOKED_BYTES };
    let bytes = store.frame_start(session, at.seq, limit_bytes)?;
    Ok(match at.index_in_batch() {
        None => bytes,
        Some(index) => {
            Node::new(&bytes).elements().nth(index).map(|member| bytes.slice_ref(member.bytes())).unwrap_or_default()
        }
    })
}

fn line(name: &str, text: impl Into<String>, tone: Tone) -> AboutLine {
    AboutLine { name: name.into(), text: text.into(), tone, goes_to: None }
}

/// A line that leads to a message of the same session.
fn leading(name: &str, text: impl Into<String>, tone: Tone, at: At) -> AboutLine {
    AboutLine { goes_to: Some(Target { session: None, at }), ..line(name, text, tone) }
}
