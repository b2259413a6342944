//! Questions of the inspector, and the threads that answer them.
//!
//! Several threads, each with a connection of its own, so that a long search keeps nobody waiting: lists and messages, lists
//! with a filter, what is known around a message, what takes following a session, what takes a look at all of it, what compares two sessions, and what takes a look at all sessions. A question that is withdrawn is dropped, also in the middle.

use std::collections::HashSet;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use tap_inspector::{Answer, FindingLine, Input, Query, SessionKey, Ticket};
use tap_session::At;
use tap_store::{SessionId, Store, StoreError, import};

use super::{about, depth, figures, lists};
use crate::arguments::{Global, Inspect};
use crate::failure::Failure;
use crate::reference::{Part, database, new_uuid, read_text};
use crate::subject::Findings;

/// How often who waits looks whether that is still worth it.
const LOOK: Duration = Duration::from_millis(50);

/// The demonstration that is in the program.
const DEMO: &str = include_str!("../../../../../recordings/demo.jsonl");

/// Where recordings come from.
pub(super) struct Sources {
    kind: Kind,
    /// The session to begin with.
    pub(super) first: Option<SessionId>,
    /// The message of it to begin with.
    pub(super) first_at: Option<At>,
}

enum Kind {
    Database(PathBuf),
    Text(PathBuf),
    Demo,
}

/// Recordings that are open.
pub(super) struct Opened {
    pub(super) store: Store,
    /// Which number the first frame had in the session that a text recording is a part of; 1 where that is not said.
    pub(super) first_seq: u64,
    /// Where clocks are read.
    pub(super) zone: TimeZone,
}

impl Opened {
    /// Whether it is a text recording, of which nothing is kept that is said about it.
    pub(super) fn is_text(&self) -> bool {
        self.store.path() == Path::new(":memory:")
    }

    /// What is to be said of something that a person noted.
    pub(super) fn for_how_long(&self) -> &'static str {
        if self.is_text() { ", until the inspector ends: a text recording is not changed" } else { "" }
    }
}

impl Sources {
    pub(super) fn new(global: &Global, inspect: &Inspect) -> Result<Self, Failure> {
        let Some(reference) = &inspect.session else {
            let path = database(global)?;
            // Said before the screen is taken. Where there is none yet, what will be recorded is waited for.
            match Store::open(&path) {
                Err(StoreError::Missing { .. }) => drop(Store::open_or_create(&path)?),
                opened => drop(opened?),
            }
            return Ok(Self { kind: Kind::Database(path), first: None, first_at: None });
        };
        let found = reference.resolve(global)?;
        let first = Some(found.session.id);
        let first_at = match found.part {
            Part::All => None,
            Part::One(at) => Some(at),
            Part::Range { first, .. } => first.map(|seq| At { seq, member: 0 }),
        };
        Ok(match found.file {
            Some(file) => Self { kind: Kind::Text(file), first, first_at },
            None => Self { kind: Kind::Database(found.store.path().into()), first, first_at },
        })
    }

    /// The demonstration that is in the program.
    pub(super) fn demo() -> Self {
        // It is the only session of its store.
        Self { kind: Kind::Demo, first: Some(SessionId(1)), first_at: None }
    }

    /// Opens the recordings once more, for a thread.
    fn open(&self) -> Result<Opened, Failure> {
        let zone = TimeZone::system();
        match &self.kind {
            Kind::Database(path) => Ok(Opened { store: Store::open(path)?, first_seq: 1, zone }),
            Kind::Text(path) => {
                let (store, imported) = read_text(path)?;
                Ok(Opened { store, first_seq: imported.first, zone })
            }
            Kind::Demo => {
                let store = Store::in_memory()?;
                let imported = import(&store, Cursor::new(DEMO), Path::new("demonstration"), &new_uuid())?;
                Ok(Opened { store, first_seq: imported.first, zone })
            }
        }
    }
}

/// Which rules were broken, as far as a session was followed: told by one thread, waited for by another.
#[derive(Debug, Clone, Default)]
pub(super) struct Judged(Arc<(Mutex<Judgement>, Condvar)>);

#[derive(Debug, Default)]
struct Judgement {
    key: Option<SessionKey>,
    /// All that there is was followed.
    complete: bool,
    findings: Arc<Findings>,
}

impl Judged {
    fn now(&self) -> MutexGuard<'_, Judgement> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session is followed now.
    pub(super) fn begin(&self, key: SessionKey) {
        *self.now() = Judgement { key: Some(key), ..Judgement::default() };
    }

    /// So much was found in addition; `complete` when that is all for now.
    pub(super) fn add(&self, found: &[FindingLine], complete: bool) {
        let mut now = self.now();
        let findings = Arc::make_mut(&mut now.findings);
        for finding in found {
            findings.entry(finding.at).or_default().push((finding.rule, finding.severity));
        }
        now.complete = complete;
        drop(now);
        self.0.1.notify_all();
    }

    /// The findings of a session once they are complete; `None` when it is no longer worth waiting.
    pub(super) fn wait(&self, key: SessionKey, is_over: impl Fn() -> bool) -> Option<Arc<Findings>> {
        let mut now = self.now();
        loop {
            if now.key == Some(key) && now.complete {
                return Some(now.findings.clone());
            }
            if is_over() {
                return None;
            }
            now = self.0.1.wait_timeout(now, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Which questions were withdrawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Withdrawn(Arc<Mutex<HashSet<Ticket>>>);

impl Withdrawn {
    fn set(&self) -> MutexGuard<'_, HashSet<Ticket>> {
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
    pub(super) judged: Judged,
}

impl Answers {
    pub(super) fn new(to: Sender<Input>, withdrawn: Withdrawn) -> Self {
        Self { to, withdrawn, judged: Judged::default() }
    }

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
    about: Sender<(Ticket, Query)>,
    deep: Sender<(Ticket, Query)>,
    whole: Sender<(Ticket, Query)>,
    compare: Sender<(Ticket, Query)>,
    all: Sender<(Ticket, Query)>,
    withdrawn: Withdrawn,
}

impl Asked {
    /// Starts the threads; their answers go to `to`.
    pub(super) fn start(sources: Sources, to: Sender<Input>) -> Result<Self, Failure> {
        let sources = Arc::new(sources);
        let withdrawn = Withdrawn::default();
        let answers = Answers::new(to, withdrawn.clone());
        let start = |name: &'static str, run: fn(&Opened, &Receiver<(Ticket, Query)>, &Answers)| {
            let (asked, questions) = channel();
            let (sources, answers) = (sources.clone(), answers.clone());
            let body = move || {
                let done = catch_unwind(AssertUnwindSafe(|| match sources.open() {
                    Ok(opened) => run(&opened, &questions, &answers),
                    Err(failure) => answers.fail(None, failure.message),
                }));
                if done.is_err() {
                    answers.fail(None, format!("a fault in mcp-tap ended the thread for {name}; start it anew"));
                }
            };
            let started = std::thread::Builder::new().name(name.into()).spawn(body);
            started.map(|_| asked).map_err(|error| Failure::new(format!("cannot start: {error}")))
        };
        Ok(Self {
            quick: start("lists", lists::answer_all)?,
            search: start("search", lists::answer_all)?,
            about: start("messages", about::answer_all)?,
            deep: start("depth", depth::answer_all)?,
            whole: start("figures", figures::answer_all)?,
            compare: start("comparing", figures::compare::answer_all)?,
            all: start("all sessions", figures::answer_all)?,
            withdrawn,
        })
    }

    pub(super) fn ask(&self, ticket: Ticket, query: Query) {
        let thread = match &query {
            Query::Rows(rows) if rows.filter.is_some() => &self.search,
            Query::Sessions
            | Query::Watch(_)
            | Query::Again(..)
            | Query::Rows(_)
            | Query::Message(..)
            | Query::Begun(..)
            | Query::At(..) => &self.quick,
            Query::About(..) => &self.about,
            // Each may take a moment.
            Query::Summary(_) | Query::Delete(_) => &self.search,
            Query::Label(..) | Query::Marks(_) | Query::Mark(..) => &self.quick,
            Query::State(..) | Query::Findings(_) | Query::Links(..) | Query::Judge(_) => &self.deep,
            Query::Overview(_) | Query::Stats(..) | Query::Tools(..) => &self.whole,
            Query::Compare(..) | Query::CompareLine(..) | Query::CompareReport(..) => &self.compare,
            Query::Search(_) => &self.all,
        };
        // A thread that ended has said why.
        let _ = thread.send((ticket, query));
    }

    pub(super) fn withdraw(&self, ticket: Ticket) {
        self.withdrawn.set().insert(ticket);
    }
}
