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
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::tz::TimeZone;
use tap_inspector::{Answer, FindingLine, Input, Query, SessionKey, Ticket};
use tap_session::At;
use tap_store::{Session, SessionId, Store, StoreError, import};

use super::{about, depth, figures, lists};
use crate::arguments::{Global, Inspect};
use crate::failure::Failure;
use crate::reference::{Part, database, new_uuid};
use crate::subject::Findings;
use crate::temporary::TemporaryFolder;

/// How often who waits looks whether that is still worth it.
const LOOK: Duration = Duration::from_millis(50);

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

/// Which rules were broken, as far as a session was followed: told by one thread, waited for by another.
#[derive(Debug, Clone, Default)]
pub(super) struct Judged(Arc<(Mutex<Judgement>, Condvar)>);

#[derive(Debug, Default)]
struct Judgement {
    /// The question for which it is followed.
    ticket: Option<Ticket>,
    key: Option<SessionKey>,
    /// All up to this message was followed.
    through: u64,
    /// All that there was at the last look was followed.
    complete: bool,
    /// Nothing more will come.
    over: bool,
    /// It cannot be followed.
    lost: bool,
    /// How often somebody began to wait, and which of these waits were seen before the last look began.
    waits: u64,
    seen_waits: u64,
    findings: Arc<Findings>,
}

/// How far a look at a session came.
#[derive(Debug, Clone, Copy)]
pub(super) struct Look {
    pub(super) through: u64,
    pub(super) complete: bool,
    pub(super) over: bool,
    /// What [`Judged::look`] said before.
    pub(super) seen_waits: u64,
}

/// How a wait ended.
#[derive(Debug)]
pub(super) enum Waited {
    Known(Arc<Findings>),
    /// The session is not followed, or not any more.
    Lost,
    /// Nobody wants to know.
    Over,
}

impl Judged {
    fn now(&self) -> MutexGuard<'_, Judgement> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another session is followed now, or will be as soon as the question comes up. One that was asked for before changes
    /// nothing: it was withdrawn.
    pub(super) fn begin(&self, ticket: Ticket, key: SessionKey) {
        let mut now = self.now();
        if now.ticket.is_none_or(|newest| newest < ticket) {
            *now = Judgement { ticket: Some(ticket), key: Some(key), ..Judgement::default() };
        }
        drop(now);
        self.0.1.notify_all();
    }

    /// To be asked before a session is looked at, so that who waits by then knows that this look saw all.
    pub(super) fn look(&self) -> u64 {
        self.now().waits
    }

    /// So much was found in addition.
    pub(super) fn add(&self, ticket: Ticket, found: &[FindingLine], look: Look) {
        let mut now = self.now();
        if now.ticket != Some(ticket) {
            return;
        }
        if !found.is_empty() {
            let findings = Arc::make_mut(&mut now.findings);
            for finding in found {
                findings.entry(finding.at).or_default().push((finding.rule, finding.severity));
            }
        }
        (now.through, now.complete, now.over) = (look.through, look.complete, look.over);
        if look.complete {
            now.seen_waits = look.seen_waits;
        }
        drop(now);
        self.0.1.notify_all();
    }

    /// The session cannot be followed any more.
    pub(super) fn lose(&self, ticket: Ticket) {
        let mut now = self.now();
        now.lost |= now.ticket == Some(ticket);
        drop(now);
        self.0.1.notify_all();
    }

    /// The findings of a session once they are complete up to a message at least; up to its end when it is over.
    pub(super) fn wait(&self, key: SessionKey, last_seq: u64, live: bool, is_over: impl Fn() -> bool) -> Waited {
        let mut now = self.now();
        now.waits += 1;
        let wait = now.waits;
        loop {
            if is_over() {
                return Waited::Over;
            }
            if now.key != Some(key) || now.lost {
                return Waited::Lost;
            }
            let is_enough = live && (last_seq <= now.through || wait <= now.seen_waits);
            if now.complete && (now.over || is_enough) {
                return Waited::Known(now.findings.clone());
            }
            now = self.0.1.wait_timeout(now, LOOK).unwrap_or_else(PoisonError::into_inner).0;
        }
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
    use std::cell::Cell;

    use tap_session::{At, Severity};

    use super::*;

    const KEY: SessionKey = SessionKey(7);

    fn finding(seq: u64) -> FindingLine {
        FindingLine {
            at: At { seq, member: 0 },
            rule: "RPC-001",
            title: "",
            advice: "",
            severity: Severity::Error,
            detail: String::new(),
            by: "server",
        }
    }

    /// How many findings are known to who does not wait; `None` when they are not complete, -1 when they never will be.
    fn known(judged: &Judged, key: SessionKey, last_seq: u64, live: bool) -> Option<i64> {
        let looks = Cell::new(0);
        let is_over = || looks.replace(looks.get() + 1) > 0;
        match judged.wait(key, last_seq, live, is_over) {
            Waited::Known(findings) => i64::try_from(findings.len()).ok(),
            Waited::Lost => Some(-1),
            Waited::Over => None,
        }
    }

    #[test]
    fn findings_are_known_when_all_that_was_asked_for_was_followed() {
        for (live, complete, through, over, expected) in [
            (true, false, 9, false, None),
            (true, true, 9, false, Some(1)),
            // The session grew after the last look at it.
            (true, true, 8, false, None),
            // What only the end breaks is not told yet.
            (false, true, 9, false, None),
            (false, true, 9, true, Some(1)),
            (true, true, 9, true, Some(1)),
        ] {
            let judged = Judged::default();
            judged.begin(Ticket(3), KEY);
            judged.add(Ticket(3), &[finding(2)], Look { through, complete, over, seen_waits: 0 });
            assert_eq!(known(&judged, KEY, 9, live), expected, "{live} {complete} {through} {over}");
        }
    }

    #[test]
    fn a_look_that_began_after_the_question_saw_all_that_there_was() {
        let judged = Judged::default();
        judged.begin(Ticket(3), KEY);
        let wait = std::thread::spawn({
            let judged = judged.clone();
            move || judged.wait(KEY, 9, true, || false)
        });
        while judged.look() == 0 {
            std::thread::yield_now();
        }
        let look = Look { through: 8, complete: true, over: false, seen_waits: judged.look() };
        judged.add(Ticket(3), &[finding(2)], look);
        assert!(matches!(wait.join().unwrap(), Waited::Known(findings) if findings.len() == 1));
    }

    #[test]
    fn nobody_waits_for_a_session_that_is_not_followed() {
        let judged = Judged::default();
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "none is");
        judged.begin(Ticket(3), KEY);
        assert_eq!(known(&judged, KEY, 1, false), None, "it will be");
        judged.begin(Ticket(4), SessionKey(8));
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "another one is");
        let all = Look { through: 9, complete: true, over: true, seen_waits: 0 };
        // The thread that follows does not know yet.
        judged.begin(Ticket(3), KEY);
        judged.add(Ticket(3), &[finding(2)], all);
        judged.lose(Ticket(3));
        assert_eq!(known(&judged, SessionKey(8), 1, false), None);
        judged.add(Ticket(4), &[], all);
        assert_eq!(known(&judged, SessionKey(8), 1, false), Some(0), "what is found in one is not told of the other");
        judged.begin(Ticket(5), KEY);
        judged.lose(Ticket(5));
        assert_eq!(known(&judged, KEY, 1, false), Some(-1), "it cannot be followed");
    }

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
