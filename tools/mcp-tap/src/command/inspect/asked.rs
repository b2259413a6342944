//! Questions of the inspector, and the threads that answer them.
//!
//! Several threads, each with a connection of its own, so that a long search keeps nobody waiting: lists and messages, lists
//! with a filter, what is beside the list of sessions and deleting, what is known around a message, what takes following a
//! session, what takes a look at all of it, what compares two sessions, and what takes a look at all sessions. A question that is withdrawn is dropped,
//! also in the middle.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::tz::TimeZone;
use tap_inspector::{Answer, Input, Query, SessionKey, Ticket};
use tap_session::At;
use tap_store::{Session, SessionId, Store, StoreError, import};

use super::judged::{Judged, Waited};
use super::{about, depth, figures, lists, picture};
use crate::arguments::{Global, Inspect};
use crate::failure::Failure;
use crate::reference::{Part, database, new_uuid};
use crate::subject::Findings;
use crate::temporary::TemporaryFolder;

/// So many of the questions that were withdrawn are known, the newest. One that is older was left long ago; if not, its answer
/// is of no interest to who gets it.
const WITHDRAWN: usize = 4_096;

/// The demonstration that is in the program.
const DEMO: &str = include_str!("../../../../../recordings/demo.jsonl");

/// Where recordings come from.
pub(super) struct Sources {
    database: PathBuf,
    /// The folder of the database, where that was made of a recording in text form. It goes when the inspector ends.
    folder: Option<TemporaryFolder>,
    is_text: bool,
    first_seq: u64,
    /// The session to begin with.
    pub(super) first: Option<SessionId>,
    /// The message of it to begin with.
    pub(super) first_at: Option<At>,
}

/// Recordings that are open.
pub(super) struct Opened {
    pub(super) store: Store,
    /// Which number the first frame had in the session that a text recording is a part of; 1 where that is not said.
    pub(super) first_seq: u64,
    /// Where clocks are read.
    pub(super) zone: TimeZone,
    /// It is a text recording, of which nothing is kept that is said about it.
    pub(super) is_text: bool,
}

impl Opened {
    /// What is to be said of something that a person noted.
    pub(super) fn for_how_long(&self) -> &'static str {
        if self.is_text { ", until the inspector ends: a text recording is not changed" } else { "" }
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
            return Ok(Self {
                database: path,
                folder: None,
                is_text: false,
                first_seq: 1,
                first: None,
                first_at: None,
            });
        };
        let found = reference.resolve(global)?;
        let first = Some(found.session.id);
        let first_at = match found.part {
            Part::All => None,
            Part::One(at) => Some(at),
            Part::Range { first, .. } => first.map(|seq| At { seq, member: 0 }),
        };
        let sources = match found.file {
            Some(_) => Self::text(found.first, first, |path| found.store.copy_to(path))?,
            None => Self {
                database: found.store.path().into(),
                folder: None,
                is_text: false,
                first_seq: 1,
                first,
                first_at: None,
            },
        };
        Ok(Self { first_at, ..sources })
    }

    /// The demonstration that is in the program.
    pub(super) fn demo() -> Result<Self, Failure> {
        // It is the only session of its store.
        Self::text(1, Some(SessionId(1)), |path| {
            let store = Store::open_or_create(path)?;
            import(&store, Cursor::new(DEMO), Path::new("demonstration"), &new_uuid()).map(|_| ())
        })
    }

    /// A database, for tests.
    #[cfg(test)]
    pub(super) fn database(path: &Path) -> Self {
        Self { database: path.into(), folder: None, is_text: false, first_seq: 1, first: None, first_at: None }
    }

    /// A recording in text form: read once, and put where all threads find it.
    fn text(
        first_seq: u64,
        first: Option<SessionId>,
        put: impl FnOnce(&Path) -> Result<(), StoreError>,
    ) -> Result<Self, Failure> {
        let folder = TemporaryFolder::new("the recording")?;
        let database = folder.path().join("recording.db");
        put(&database)?;
        Ok(Self { database, folder: Some(folder), is_text: true, first_seq, first, first_at: None })
    }

    /// Opens the recordings once more, for a thread.
    fn open(&self) -> Result<Opened, Failure> {
        let store = Store::open(&self.database)?;
        let is_text = self.is_text;
        Ok(Opened { store, first_seq: self.first_seq, zone: TimeZone::system(), is_text })
    }
}

/// Which questions were withdrawn.
#[derive(Debug, Clone, Default)]
pub(super) struct Withdrawn(Arc<Mutex<BTreeSet<Ticket>>>);

impl Withdrawn {
    fn set(&self) -> MutexGuard<'_, BTreeSet<Ticket>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is(&self, ticket: Ticket) -> bool {
        self.set().contains(&ticket)
    }

    pub(super) fn withdraw(&self, ticket: Ticket) {
        let mut set = self.set();
        set.insert(ticket);
        if set.len() > WITHDRAWN {
            set.pop_first();
        }
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

    /// Which rules the messages of a session broke, for a question that depends on it: `None` when it is not to be answered.
    /// The thread that follows the session knows, and until it is through nothing can be said.
    pub(super) fn findings(&self, ticket: Ticket, session: &Session, last_seq: u64) -> Option<Arc<Findings>> {
        let key = SessionKey(session.id.0);
        match self.judged.wait(key, last_seq, session.live, || self.is_withdrawn(ticket)) {
            Waited::Known(findings) => Some(findings),
            Waited::Lost => {
                self.fail(Some(ticket), "the session could not be followed; open it again".into());
                None
            }
            Waited::Over => None,
        }
    }
}

/// The threads.
pub(super) struct Asked {
    quick: Sender<(Ticket, Query)>,
    search: Sender<(Ticket, Query)>,
    beside: Sender<(Ticket, Query)>,
    about: Sender<(Ticket, Query)>,
    deep: Sender<(Ticket, Query)>,
    whole: Sender<(Ticket, Query)>,
    compare: Sender<(Ticket, Query)>,
    all: Sender<(Ticket, Query)>,
    pictures: Sender<(Ticket, Query)>,
    withdrawn: Withdrawn,
    pub(super) judged: Judged,
    /// The folder of a database that is there for as long as this is. The threads may be in the middle of something when the
    /// program ends, and drop nothing.
    _folder: Option<TemporaryFolder>,
}

impl Asked {
    /// Starts the threads; their answers go to `to`.
    pub(super) fn start(mut sources: Sources, to: Sender<Input>) -> Result<Self, Failure> {
        let folder = sources.folder.take();
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
            beside: start("sessions", lists::answer_all)?,
            about: start("messages", about::answer_all)?,
            deep: start("depth", depth::answer_all)?,
            whole: start("figures", figures::answer_all)?,
            compare: start("comparing", figures::compare::answer_all)?,
            all: start("all sessions", figures::answer_all)?,
            pictures: start("images", picture::answer_all)?,
            withdrawn,
            judged: answers.judged,
            _folder: folder,
        })
    }

    pub(super) fn ask(&self, ticket: Ticket, query: Query) {
        if let Query::Findings(key) = &query {
            // Who waits for those of another session need not wait until the question comes up.
            self.judged.begin(ticket, *key);
        }
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
            // Each may take a moment, and none of them waits for a session that is open.
            Query::Summary(_) | Query::Delete(_) => &self.beside,
            Query::Label(..) | Query::Marks(_) | Query::Mark(..) => &self.quick,
            Query::State(..) | Query::Findings(_) | Query::Links(..) | Query::Judge(_) => &self.deep,
            Query::Overview(_) | Query::Stats(..) | Query::Tools(..) => &self.whole,
            Query::Compare(..) | Query::CompareLine(..) | Query::CompareReport(..) => &self.compare,
            Query::Search(_) => &self.all,
            Query::Picture(_) => &self.pictures,
        };
        // A thread that ended has said why.
        let _ = thread.send((ticket, query));
    }

    pub(super) fn withdraw(&self, ticket: Ticket) {
        self.withdrawn.withdraw(ticket);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_were_withdrawn_do_not_pile_up() {
        let withdrawn = Withdrawn::default();
        for n in 1..=10 * WITHDRAWN as u64 {
            withdrawn.withdraw(Ticket(n));
            assert!(withdrawn.is(Ticket(n)));
        }
        assert_eq!(withdrawn.set().len(), WITHDRAWN);
    }

    #[test]
    fn all_threads_look_at_one_recording_and_nothing_is_left_of_it() {
        let global =
            Global { db: None, color: crate::arguments::When::Never, no_pager: true, config: None, quiet: true };
        let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recordings");
        for name in ["demo.jsonl", "broken.jsonl", ""] {
            let sources = match name {
                "" => Sources::demo().unwrap(),
                name => {
                    let path = recordings.join(name);
                    let session = Some(path.to_str().unwrap().parse().unwrap());
                    Sources::new(&global, &Inspect { session, ..Inspect::default() }).unwrap()
                }
            };
            let (one, other) = (sources.open().unwrap(), sources.open().unwrap());
            let id = sources.first.unwrap();
            let uuid = |opened: &Opened| opened.store.sessions().unwrap().remove(0).start.uuid;
            assert_eq!(uuid(&one), uuid(&other), "{name}");
            one.store.set_label(id, Some("mine")).unwrap().unwrap();
            one.store.catch_up(id, |_| {}).unwrap();
            let session = other.store.sessions().unwrap().remove(0);
            assert_eq!(session.label.as_deref(), Some("mine"), "{name}");
            assert!(other.is_text && !other.store.is_live(id));
            let database = sources.database.clone();
            assert!(database.exists());
            let (to, _inputs) = channel();
            drop(Asked::start(sources, to).unwrap());
            assert!(!database.exists(), "{name}");
        }
    }
}
