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

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::sync::mpsc::channel;

    use jiff::tz::TimeZone;
    use tap_inspector::{Input, SessionKey, StatsBy, StatsQuery};
    use tap_store::{SessionId, Store, import};

    use super::super::asked::Withdrawn;
    use super::*;
    use crate::reference::new_uuid;

    /// A recording that takes several steps to be worked out.
    fn long() -> String {
        let mut text = format!(
            r#"{{"mcp-tap":"recording/1","profile":"lossless","uuid":"{}","server":"s","command":["s"],"transport":"stdio","recorded_unix_ns":1764504000000000000}}"#,
            new_uuid()
        );
        for n in 0..4_000_u64 {
            // What is compressed well is little to be read.
            let noise: String = (0..1_000_u64)
                .map(|i| char::from(b'a' + (((n * 1_000 + i) * 2_654_435_761) >> 13) as u8 % 26))
                .collect();
            let _ = write!(
                text,
                "\n{{\"to\":\"server\",\"msg\":{{\"jsonrpc\":\"2.0\",\"id\":{n},\"method\":\"tools/call\",\"params\":{{\"name\":\"{noise}\"}}}}}}"
            );
        }
        text
    }

    type Run = fn(&Opened, &Answers, Ticket, SessionKey) -> Result<(), StoreError>;

    #[test]
    fn what_is_withdrawn_is_not_worked_out() {
        let runs: [(&str, Run); 3] = [
            ("overview", |opened, answers, ticket, key| Overseen::new(key).go_on(&opened.store, ticket, answers)),
            ("stats", |opened, answers, ticket, session| {
                let query = StatsQuery { session, filter: None, by: StatsBy::Tool };
                stats::stats(&mut None, opened, answers, ticket, &query)
            }),
            ("tools", |opened, answers, ticket, key| {
                tools::tools(&mut tools::Kept::default(), opened, answers, ticket, key, 4_000)
            }),
        ];
        let text = long();
        for (name, run) in runs {
            let store = Store::in_memory().unwrap();
            import(&store, std::io::Cursor::new(&text), Path::new("long"), &new_uuid()).unwrap();
            let opened = Opened { store, first_seq: 1, zone: TimeZone::UTC, is_text: true };
            let (to, inputs) = channel::<Input>();
            let withdrawn = Withdrawn::default();
            withdrawn.withdraw(Ticket(1));
            let answers = Answers::new(to, withdrawn);
            run(&opened, &answers, Ticket(1), SessionKey(1)).unwrap();
            assert_eq!(inputs.try_iter().count(), 0, "{name}");
            assert!(!opened.store.catch_up_while(SessionId(1), |_| false).unwrap(), "{name}: all was worked out");
            run(&opened, &answers, Ticket(2), SessionKey(1)).unwrap();
            assert!(inputs.try_iter().count() > 0, "{name}");
        }
    }
}
