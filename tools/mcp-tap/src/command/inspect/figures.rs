//! What takes a look at all of a session, or at all sessions: statistics, tools, comparing, searching.

mod differences;
mod search;
mod stats;
mod tools;

use std::sync::mpsc::Receiver;

use tap_inspector::{Query, Ticket};
use tap_store::StoreError;

use super::asked::{Answers, Opened};

/// Who looks at all of it.
pub(super) struct Figures<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    counting: Option<stats::Counting>,
    offered: tools::Kept,
}

/// Answers until nobody asks any more.
pub(super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut figures = Figures::new(opened, answers);
    while let Ok((ticket, query)) = questions.recv() {
        figures.answer(ticket, query);
    }
}

impl<'a> Figures<'a> {
    pub(super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { opened, answers, counting: None, offered: tools::Kept::default() }
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done: Result<(), StoreError> = match query {
            Query::Stats(query) => stats::stats(&mut self.counting, self.opened, answers, ticket, &query),
            Query::Tools(key, seq) => tools::tools(&mut self.offered, self.opened, answers, ticket, key, seq),
            Query::Search(filter) => search::search(self.opened, answers, ticket, &filter),
            Query::Compare(..) => Ok(()),
            _ => Ok(()),
        };
        if let Err(error) = done {
            answers.fail(Some(ticket), error.to_string());
        }
    }
}
