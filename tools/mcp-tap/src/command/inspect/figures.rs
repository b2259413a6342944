//! What takes a look at all of a session, or at all sessions: statistics, tools, comparing, searching.

pub(super) mod compare;
mod overview;
mod search;
mod stats;
mod tools;

use std::sync::mpsc::Receiver;

use tap_inspector::{Query, Ticket};
use tap_store::StoreError;

use self::overview::Overseen;
use super::asked::{Answers, Opened};

/// Who looks at all of it.
pub(super) struct Figures<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    /// The session that is in one line, as far as that was worked out.
    overseen: Option<Overseen>,
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
        Self { opened, answers, overseen: None, counting: None, offered: tools::Kept::default() }
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done: Result<(), StoreError> = match query {
            Query::Overview(key) => {
                let old = self.overseen.take().filter(|overseen| overseen.is_of(key));
                let overseen = self.overseen.insert(old.unwrap_or_else(|| Overseen::new(key)));
                overseen.go_on(&self.opened.store, ticket, answers)
            }
            Query::Stats(query) => stats::stats(&mut self.counting, self.opened, answers, ticket, &query),
            Query::Tools(key, seq) => tools::tools(&mut self.offered, self.opened, answers, ticket, key, seq),
            Query::Search(filter) => search::search(self.opened, answers, ticket, &filter),
            _ => Ok(()),
        };
        if let Err(error) = done {
            answers.fail(Some(ticket), error.to_string());
        }
    }
}
