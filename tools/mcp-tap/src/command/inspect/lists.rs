//! Lists and messages: what can be looked up. The thread that searches is one of these too.

use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tap_inspector::{Answer, Began, EndKind, Growth, MarkLine, Moment, Query, Row, SessionKey, SessionLine, Ticket};
use tap_session::{At, MessageRow};
use tap_store::{Bookmark, EndReason, ListKind, Part, Refused, Session, SessionId, Store, StoreError};

use super::asked::{Answers, Opened};
use super::{message, rows, summary};
use crate::command::ls::{end_of, lasted_ns};
use crate::following::last_seq;
use crate::reference::shortest;

/// How often a live session is looked at.
const LOOK: Duration = Duration::from_millis(100);

/// How many calls before a message are looked at for those that were in flight when it came.
const BEGUN_LOOK_BACK: u64 = 10_000;

/// How many of these are told at most, the newest of them.
const BEGUN_LIMIT: u64 = 200;

/// How long somebody who wants to see something is kept waiting because it is worked out what a recording meant. The rest is
/// done while nobody asks, and what comes of it is told as if the session grew.
const CATCH_UP: Duration = Duration::from_millis(60);

/// How long is worked before it is looked whether somebody asks.
const WORK: Duration = Duration::from_millis(10);

/// A session that is watched, and what was told of it.
struct Watched {
    ticket: Ticket,
    told: Growth,
    /// It is worked out what all of it meant.
    complete: bool,
}

/// Who looks things up.
pub(super) struct Lists<'a> {
    pub(super) opened: &'a Opened,
    pub(super) answers: &'a Answers,
    watched: Option<Watched>,
    /// The session that was asked about last. One that is live is looked up anew each time.
    session: Option<Session>,
    /// A list of sessions that is to be told with its newest figures, and of which these are still to be worked out.
    figures: Option<(Ticket, Vec<SessionId>)>,
}

/// Answers until nobody asks any more, and says when the session that is watched has grown.
pub(super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut lists = Lists::new(opened, answers);
    let mut looked = Instant::now();
    loop {
        match questions.recv_timeout(if lists.has_work() { Duration::ZERO } else { LOOK }) {
            Ok((ticket, query)) => lists.answer(ticket, query),
            Err(RecvTimeoutError::Timeout) => lists.work(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
        // Also when one question follows the other.
        if looked.elapsed() >= LOOK {
            lists.look();
            looked = Instant::now();
        }
    }
}

impl<'a> Lists<'a> {
    pub(super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { opened, answers, watched: None, session: None, figures: None }
    }

    pub(super) fn store(&self) -> &'a Store {
        &self.opened.store
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done = match query {
            Query::Sessions => self.sessions(ticket),
            Query::Watch(key) => {
                let live = self.store().is_live(SessionId(key.0));
                let told = Growth { session: key, last_seq: 0, live, complete: false };
                self.watched = Some(Watched { ticket, told, complete: false });
                Ok(())
            }
            Query::Rows(query) => rows::rows(self, ticket, &query),
            Query::Again(key, places) => self.again(key, &places).map(|rows| {
                answers.give(ticket, Answer::Again(rows));
            }),
            Query::Begun(key, at) => self.begun(key, at).map(|rows| {
                answers.give(ticket, Answer::Begun(rows));
            }),
            Query::Message(key, at) => match message::message(self, key, at) {
                Ok(Some(parts)) => {
                    answers.give(ticket, Answer::Message(Box::new(parts)));
                    Ok(())
                }
                Ok(None) => {
                    answers.fail(Some(ticket), format!("there is no message {} any more", at.seq));
                    Ok(())
                }
                Err(error) => Err(error),
            },
            Query::Summary(key) => summary::summary(self, key).map(|about| {
                if let Some(about) = about {
                    answers.give(ticket, Answer::Summary(Box::new(about)));
                }
            }),
            Query::Label(key, label) => {
                let done = self.store().set_label(SessionId(key.0), label.as_deref());
                let told = match label {
                    Some(label) => format!("it is @{label} now{}", self.opened.for_how_long()),
                    None => "it has no label any more".into(),
                };
                done.map(|done| self.changed(ticket, done, told))
            }
            Query::Marks(key) => self.marks(ticket, key, String::new()),
            Query::Mark(key, at, mark) => self.mark(ticket, key, at, mark),
            Query::Delete(_) if self.opened.is_text => {
                answers.fail(Some(ticket), "this is a text recording; delete the file".into());
                Ok(())
            }
            Query::Delete(key) => {
                let done = self.store().delete(SessionId(key.0));
                done.map(|done| self.changed(ticket, done, "deleted".into()))
            }
            Query::At(key, moment) => self.at(key, moment).map(|at| {
                answers.give(ticket, Answer::At(at));
            }),
            Query::About(..)
            | Query::State(..)
            | Query::Judge(_)
            | Query::Findings(_)
            | Query::Stats(..)
            | Query::Tools(..)
            | Query::Links(..)
            | Query::Overview(_)
            | Query::Compare(..)
            | Query::CompareLine(..)
            | Query::CompareReport(..)
            | Query::Search(_)
            | Query::Picture(_) => Ok(()),
        };
        if let Err(error) = done {
            answers.fail(Some(ticket), error.to_string());
        }
    }

    /// Tells that something was changed, or why not.
    pub(super) fn changed(&self, ticket: Ticket, done: Result<(), Refused>, told: String) {
        match done {
            Ok(()) => {
                self.answers.give(ticket, Answer::Changed(told));
            }
            Err(why) => self.answers.fail(Some(ticket), why.to_string()),
        }
    }

    fn marks(&self, ticket: Ticket, key: SessionKey, told: String) -> Result<(), StoreError> {
        let marks = self.store().bookmarks(SessionId(key.0))?;
        let lines = marks.into_iter().map(|Bookmark { at, name, note }| MarkLine { at, name, note });
        self.answers.give(ticket, Answer::Marks(lines.collect(), told));
        Ok(())
    }

    /// Changes the mark of a message.
    fn mark(&self, ticket: Ticket, key: SessionKey, at: At, mark: Option<MarkLine>) -> Result<(), StoreError> {
        let (store, id, how_long) = (self.store(), SessionId(key.0), self.opened.for_how_long());
        let told = match mark {
            None => {
                store.remove_bookmark(id, at)?;
                "no mark any more".into()
            }
            Some(MarkLine { name, note, .. }) => {
                let told = match &name {
                    Some(name) => format!("it is @{name} now{how_long}"),
                    None => format!("marked{how_long}"),
                };
                if let Err(why) = store.set_bookmark(id, &Bookmark { at, name, note })? {
                    self.answers.fail(Some(ticket), why.to_string());
                    return Ok(());
                }
                told
            }
        };
        self.marks(ticket, key, told)
    }

    /// The session with this key, as it is now.
    pub(super) fn session(&mut self, key: SessionKey) -> Result<Option<Session>, StoreError> {
        let id = SessionId(key.0);
        let complete = self.store().catch_up_for(id, CATCH_UP)?;
        if self.session.as_ref().is_none_or(|session| session.id != id || session.live || !complete) {
            self.session = self.store().session(id)?;
        }
        Ok(self.session.clone())
    }

    /// Whether there is something to be worked out while nobody asks.
    pub(super) fn has_work(&self) -> bool {
        self.watched.as_ref().is_some_and(|watched| !watched.complete) || self.figures.is_some()
    }

    /// Works something out: first of the session that is looked at, then of the others in the list.
    pub(super) fn work(&mut self) {
        let store = self.store();
        if let Some(watched) = self.watched.as_mut().filter(|watched| !watched.complete) {
            // What cannot be read is told to who asks for it.
            watched.complete = store.catch_up_for(SessionId(watched.told.session.0), WORK).unwrap_or(true);
            if watched.complete {
                self.look();
            }
        } else if let Some((ticket, mut left)) = self.figures.take() {
            if self.answers.is_withdrawn(ticket) {
                return;
            }
            let done = left.last().map_or(Ok(true), |id| store.catch_up_for(*id, WORK));
            if done.as_ref().map_or(true, |done| *done) {
                left.pop();
            }
            let told = match (done, left.is_empty()) {
                (Err(error), _) => Err(error),
                (Ok(_), false) => {
                    self.figures = Some((ticket, left));
                    Ok(())
                }
                (Ok(_), true) => self.tell_sessions(ticket),
            };
            if let Err(error) = told {
                self.answers.fail(Some(ticket), error.to_string());
            }
        }
    }

    fn look(&mut self) {
        let store = self.store();
        let Some(watched) = self.watched.as_mut() else {
            return;
        };
        let id = SessionId(watched.told.session.0);
        // Asked first, so that what is written in between is seen in the last look.
        let live = store.is_live(id);
        if watched.told.live && watched.complete && store.catch_up_for(id, CATCH_UP).is_err() {
            return;
        }
        let last_seq = last_seq(store, id).unwrap_or(watched.told.last_seq);
        let now = Growth { last_seq, live, complete: watched.complete, ..watched.told };
        if now != watched.told {
            watched.told = now;
            self.answers.give(watched.ticket, Answer::Grown(now));
        }
    }

    fn sessions(&mut self, ticket: Ticket) -> Result<(), StoreError> {
        let store = self.store();
        let known = store.sessions()?;
        // What is known is shown at once: to bring figures up to date can take long after a tap was killed.
        if !self.answers.give(ticket, Answer::Sessions(lines(store, &known, &self.opened.zone)?, false)) {
            return Ok(());
        }
        let began = Instant::now();
        let mut left: Vec<SessionId> = known.iter().rev().map(|session| session.id).collect();
        while let Some(id) = left.last() {
            if store.catch_up_for(*id, WORK)? {
                left.pop();
            }
            if WORK < began.elapsed() {
                break;
            }
        }
        if left.is_empty() {
            return self.tell_sessions(ticket);
        }
        // The rest while nobody asks.
        self.figures = Some((ticket, left));
        Ok(())
    }

    /// Tells the sessions with figures that are up to date.
    fn tell_sessions(&self, ticket: Ticket) -> Result<(), StoreError> {
        let store = self.store();
        let lines = lines(store, &store.sessions()?, &self.opened.zone)?;
        self.answers.give(ticket, Answer::Sessions(lines, true));
        Ok(())
    }

    /// The requests that were in flight when a message came.
    fn begun(&mut self, key: SessionKey, at: At) -> Result<Vec<Row>, StoreError> {
        let Some(session) = self.session(key)? else {
            return Ok(Vec::new());
        };
        let listed = self.store().in_flight_at(session.id, at, BEGUN_LOOK_BACK, BEGUN_LIMIT)?;
        listed.iter().map(|listed| message::row(self.opened, &session, listed)).collect()
    }

    /// The first message at a moment or after it.
    fn at(&mut self, key: SessionKey, moment: Moment) -> Result<Option<At>, StoreError> {
        let Some(session) = self.session(key)? else {
            return Ok(None);
        };
        let (store, id) = (self.store(), session.id);
        let began_unix_ns = session.start.opened_unix_ns;
        let is_before = |row: &MessageRow| match moment {
            Moment::Since(ns) => row.at_ns < ns,
            Moment::Clock(ns) => row.wall_ns < first_at(&self.opened.zone, began_unix_ns, ns),
        };
        // Both clocks rise from message to message, all but for a wall clock that was set back.
        let (mut low, mut high) = (1, last_seq(store, id)?.saturating_add(1));
        while low < high {
            let middle = low + (high - low) / 2;
            let found = store.list(id, ListKind::Frames, Part::From(middle), 1)?;
            match found.first() {
                Some(listed) if is_before(&listed.row) => low = listed.row.at.seq.saturating_add(1),
                _ => high = middle,
            }
        }
        let found = store.list(id, ListKind::Frames, Part::From(low), 1)?;
        Ok(found.first().map(|listed| At { seq: listed.row.at.seq, member: 0 }))
    }

    /// Rows as they are now.
    fn again(&mut self, key: SessionKey, places: &[At]) -> Result<Vec<Row>, StoreError> {
        let Some(session) = self.session(key)? else {
            return Ok(Vec::new());
        };
        let (store, mut rows) = (self.store(), Vec::new());
        for at in places {
            let Some(mut listed) = store.row(session.id, *at)? else {
                continue;
            };
            if let Some(answer) = listed.row.pair.filter(|answer| answer != at) {
                listed.answer_length = store.row(session.id, answer)?.map(|answer| answer.length);
            }
            rows.push(message::row(self.opened, &session, &listed)?);
        }
        Ok(rows)
    }
}

/// The first moment from another one on, at which it is so late in the day: nanoseconds since midnight to nanoseconds since
/// the Unix epoch.
fn first_at(zone: &TimeZone, from_unix_ns: u64, since_midnight_ns: u64) -> u64 {
    let from = Timestamp::from_nanosecond(i128::from(from_unix_ns)).unwrap_or_default().to_zoned(zone.clone());
    let seconds = since_midnight_ns / 1_000_000_000;
    let part = |value: u64| i8::try_from(value).unwrap_or(0);
    let time = jiff::civil::Time::new(
        part(seconds / 3_600),
        part(seconds / 60 % 60),
        part(seconds % 60),
        i32::try_from(since_midnight_ns % 1_000_000_000).unwrap_or(0),
    );
    let Ok(time) = time else {
        return from_unix_ns;
    };
    // A second is granted, so that the time that stands beside the first message finds it.
    let least = from_unix_ns.saturating_sub(1_000_000_000);
    for date in [Some(from.date()), from.date().tomorrow().ok()].into_iter().flatten() {
        let there = date.to_datetime(time).to_zoned(zone.clone()).map(|there| there.timestamp().as_nanosecond());
        if let Some(there) = there.ok().and_then(|ns| u64::try_from(ns).ok()).filter(|ns| least <= *ns) {
            return there;
        }
    }
    from_unix_ns
}

/// A wall clock reading where the person is.
pub(super) fn clock(zone: &TimeZone, unix_ns: u64, format: &str) -> String {
    let timestamp = Timestamp::from_nanosecond(i128::from(unix_ns)).unwrap_or_default();
    timestamp.to_zoned(zone.clone()).strftime(format).to_string()
}

/// When something began, where the person is.
pub(super) fn began(zone: &TimeZone, unix_ns: u64) -> Began {
    let told = |format| clock(zone, unix_ns, format);
    Began { unix_ns, this_year: told("%b %d %H:%M"), other_year: told("%Y-%m-%d %H:%M") }
}

fn lines(store: &Store, sessions: &[Session], zone: &TimeZone) -> Result<Vec<SessionLine>, StoreError> {
    let references = shortest(sessions);
    let lines = sessions.iter().zip(references).map(|(session, name)| line(store, session, name, zone));
    let mut lines = lines.collect::<Result<Vec<_>, _>>()?;
    // Live ones first; the others as they began, the newest first: what was imported last may be old.
    lines.sort_by_key(|line| (line.end != EndKind::Live, std::cmp::Reverse(line.began.unix_ns)));
    Ok(lines)
}

fn line(store: &Store, session: &Session, reference: String, zone: &TimeZone) -> Result<SessionLine, StoreError> {
    let (_, end_words) = end_of(session);
    let end = match session.end.as_ref().map(|end| &end.reason) {
        None if session.live => EndKind::Live,
        None | Some(None) => EndKind::Unknown,
        Some(Some(EndReason::Exited(0) | EndReason::Stopped)) => EndKind::Well,
        Some(Some(_)) => EndKind::Badly,
    };
    let digest = &session.digest;
    let is_http = session.start.transport == tap_store::Transport::Http;
    let n_conversations = if is_http { store.conversations(session.id)?.len() as u64 } else { 0 };
    Ok(SessionLine {
        key: SessionKey(session.id.0),
        reference,
        label: session.label.clone(),
        name: session.start.name.clone(),
        command: session.start.command.join(" "),
        client: digest.identity.client.clone(),
        server: digest.identity.server.clone(),
        revision: digest.identity.revision.clone(),
        transport: session.start.transport.name(),
        began: began(zone, session.start.opened_unix_ns),
        lasted_ns: lasted_ns(session),
        end,
        end_words,
        n_messages: digest.n_messages,
        n_calls: digest.n_calls,
        n_errors: digest.n_errors,
        n_bytes: digest.n_bytes,
        lost_bytes: session.end.as_ref().map_or(0, |end| end.lost_bytes),
        n_conversations,
    })
}
