//! Questions of the inspector, and the threads that answer them.
//!
//! Three threads, each with a connection of its own, so that a long search keeps nobody waiting: lists and messages, lists
//! with a filter, and what takes following a session. A question that is withdrawn is dropped, also in the middle.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

use tap_inspector::{Answer, Input, Query, Ticket};
use tap_store::{SessionId, Store};

use super::{depth, lists};
use crate::arguments::{Global, Inspect};
use crate::failure::Failure;
use crate::reference::database;

/// Where recordings come from.
pub(super) struct Sources {
    /// The database, or the text recording.
    pub(super) path: PathBuf,
    /// The session to begin with.
    pub(super) first: Option<SessionId>,
    text: bool,
}

impl Sources {
    pub(super) fn new(global: &Global, inspect: &Inspect) -> Result<Self, Failure> {
        let Some(reference) = &inspect.session else {
            return Ok(Self { path: database(global)?, first: None, text: false });
        };
        let found = reference.resolve(global)?;
        Ok(match found.file {
            Some(file) => Self { path: file, first: Some(found.session.id), text: true },
            None => Self { path: found.store.path().into(), first: Some(found.session.id), text: false },
        })
    }

    /// Opens the recordings once more, for a thread.
    pub(super) fn open(&self) -> Result<Store, Failure> {
        match self.text {
            true => Ok(crate::reference::read_text(&self.path)?.0),
            false => Ok(Store::open(&self.path)?),
        }
    }
}

/// Which questions were withdrawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Withdrawn(Arc<Mutex<HashSet<Ticket>>>);

impl Withdrawn {
    fn set(&self) -> std::sync::MutexGuard<'_, HashSet<Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, ticket: Ticket) -> bool {
        self.set().contains(&ticket)
    }
}

/// Gives answers to the inspector.
#[derive(Debug, Clone)]
pub(super) struct Answers {
    to: Sender<Input>,
    withdrawn: Withdrawn,
}

impl Answers {
    /// Gives an answer; `false` when nobody waits for it any more.
    pub(super) fn give(&self, ticket: Ticket, answer: Answer) -> bool {
        !self.withdrawn.is(ticket) && self.to.send(Input::Answer(ticket, answer)).is_ok()
    }

    pub(super) fn fail(&self, ticket: Option<Ticket>, why: String) {
        let _ = self.to.send(Input::Failed(ticket, why));
    }

    pub(super) fn is_withdrawn(&self, ticket: Ticket) -> bool {
        self.withdrawn.is(ticket)
    }
}

/// The threads.
pub(super) struct Asked {
    quick: Sender<(Ticket, Query)>,
    search: Sender<(Ticket, Query)>,
    deep: Sender<(Ticket, Query)>,
    withdrawn: Withdrawn,
}

impl Asked {
    /// Starts the threads; their answers go to `to`.
    pub(super) fn start(sources: Sources, to: Sender<Input>) -> Result<Self, Failure> {
        let sources = Arc::new(sources);
        let withdrawn = Withdrawn::default();
        let answers = Answers { to, withdrawn: withdrawn.clone() };
        let start = |name: &str, run: fn(&Store, &Receiver<(Ticket, Query)>, &Answers)| {
            let (asked, questions) = channel();
            let (sources, answers) = (sources.clone(), answers.clone());
            let body = move || match sources.open() {
                Ok(store) => run(&store, &questions, &answers),
                Err(failure) => answers.fail(None, failure.message),
            };
            let started = std::thread::Builder::new().name(name.into()).spawn(body);
            started.map(|_| asked).map_err(|error| Failure::new(format!("cannot start: {error}")))
        };
        Ok(Self {
            quick: start("lists", lists::answer_all)?,
            search: start("search", lists::answer_all)?,
            deep: start("depth", depth::answer_all)?,
            withdrawn,
        })
    }

    pub(super) fn ask(&self, ticket: Ticket, query: Query) {
        let thread = match &query {
            Query::Rows(rows) if rows.filter.is_some() => &self.search,
            Query::Sessions | Query::Rows(_) | Query::Message(..) => &self.quick,
            Query::State(..) | Query::Findings(_) => &self.deep,
        };
        // A thread that ended has said why.
        let _ = thread.send((ticket, query));
    }

    pub(super) fn withdraw(&self, ticket: Ticket) {
        self.withdrawn.set().insert(ticket);
    }
}
