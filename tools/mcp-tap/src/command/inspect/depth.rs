//! What takes following a session: which rules were broken, and what was true at any point.
//!
//! A session is followed once, from its beginning, in small steps between which questions about states are answered. Copies of
//! what was known, kept on the way, make going back as fast as going forward. How: `depth/followed.rs`.

mod followed;
mod stated;

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tap_inspector::{Answer, Query, Row, SessionKey, StatedFacts, Ticket};
use tap_session::{At, Severity};
use tap_store::{SessionId, StoreError};

use self::followed::Followed;
use super::asked::{Answers, Opened};
use super::judged::Look;
use super::links::Links;
use super::message;

/// How often a live session is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// How long it is worked out at a time what a recording meant that is not open.
const CATCH_UP: Duration = Duration::from_millis(30);

/// Who follows sessions.
pub(super) struct Depth<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    followed: Option<Followed>,
    links: Links,
    /// Sessions that are judged when there is nothing else to do.
    judging: Judging,
}

/// Sessions of which it is wanted how many rules they broke.
#[derive(Default)]
struct Judging {
    ticket: Option<Ticket>,
    keys: VecDeque<SessionKey>,
    now: Option<(Followed, [u64; 3])>,
}

impl Judging {
    fn is_busy(&self) -> bool {
        self.now.is_some() || !self.keys.is_empty()
    }
}

/// Answers until nobody asks any more.
pub(super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut depth = Depth::new(opened, answers);
    let mut looked = Instant::now();
    loop {
        let wait = if depth.is_busy() { Duration::ZERO } else { LOOK };
        match questions.recv_timeout(wait) {
            Ok((ticket, query)) => depth.answer(ticket, query),
            Err(RecvTimeoutError::Timeout) => {
                // A live session is looked at now and then, also while others are judged.
                if !depth.is_judging_only() || LOOK <= looked.elapsed() {
                    looked = Instant::now();
                    depth.step();
                } else {
                    depth.judge();
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl<'a> Depth<'a> {
    pub(super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { opened, answers, followed: None, links: Links::default(), judging: Judging::default() }
    }

    /// Whether there is more to be followed that is there already.
    pub(super) fn is_busy(&self) -> bool {
        self.is_following() || self.judging.is_busy()
    }

    fn is_following(&self) -> bool {
        self.followed.as_ref().is_some_and(|followed| !followed.complete)
    }

    /// Whether there is nothing to be done but what can wait.
    pub(super) fn is_judging_only(&self) -> bool {
        !self.is_following() && self.judging.is_busy()
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done = match query {
            Query::Findings(key) => {
                let begun = self.begin(ticket, key);
                if self.followed.is_none() {
                    answers.judged.lose(ticket);
                }
                begun
            }
            Query::Links(key, first, last) => {
                answers.give(ticket, Answer::Links(self.links.between(key, first, last)));
                Ok(())
            }
            Query::Judge(keys) => {
                self.judging = Judging { ticket: Some(ticket), keys: keys.into(), now: None };
                Ok(())
            }
            Query::State(key, seq, list) => self.state(ticket, key, seq, list.as_deref()).map(|facts| {
                if let Some(facts) = facts {
                    answers.give(ticket, Answer::State(Box::new(facts)));
                }
            }),
            _ => Ok(()),
        };
        if let Err(error) = done {
            answers.fail(Some(ticket), error.to_string());
        }
    }

    /// Follows a little further.
    pub(super) fn step(&mut self) {
        let (store, answers) = (&self.opened.store, self.answers);
        let Some(followed) = &mut self.followed else {
            return;
        };
        let seen_waits = answers.judged.look();
        match followed.step(store) {
            Ok(step) => {
                let (through, complete, over) = (followed.seq(), followed.complete, followed.is_over());
                answers.judged.add(followed.ticket, &step.found, Look { through, complete, over, seen_waits });
                if step.is_news {
                    self.links.add(&step.links);
                    answers.give(followed.ticket, Answer::Findings(step.found, through, complete));
                }
            }
            Err(error) => {
                answers.judged.lose(followed.ticket);
                answers.fail(Some(followed.ticket), error.to_string());
                self.followed = None;
            }
        }
    }

    /// Judges a little further: what is wanted of sessions that are not open.
    pub(super) fn judge(&mut self) {
        let (store, answers) = (&self.opened.store, self.answers);
        let Some(ticket) = self.judging.ticket.filter(|ticket| !answers.is_withdrawn(*ticket)) else {
            self.judging = Judging::default();
            return;
        };
        let Some((mut followed, mut n)) = self.judging.now.take().or_else(|| self.next_to_judge()) else {
            return;
        };
        let stepped = followed.step(store);
        let (key, is_last) = (followed.key, self.judging.keys.is_empty());
        match stepped {
            Ok(step) => {
                for finding in &step.found {
                    match finding.severity {
                        Severity::Error => n[0] += 1,
                        Severity::Warning => n[1] += 1,
                        Severity::Note => n[2] += 1,
                    }
                }
                if followed.complete {
                    answers.give(ticket, Answer::Judged(key, Some(n), is_last));
                } else {
                    self.judging.now = Some((followed, n));
                }
            }
            // It is told when it is opened.
            Err(_) => {
                answers.give(ticket, Answer::Judged(key, None, is_last));
            }
        }
    }

    fn next_to_judge(&mut self) -> Option<(Followed, [u64; 3])> {
        let (store, answers) = (&self.opened.store, self.answers);
        let (ticket, key) = (self.judging.ticket?, self.judging.keys.pop_front()?);
        let id = SessionId(key.0);
        // A little at a time, so that no question waits for it.
        if matches!(store.catch_up_for(id, CATCH_UP), Ok(false)) {
            self.judging.keys.push_front(key);
            return None;
        }
        let begin = || -> Result<Option<Followed>, StoreError> {
            let session = store.sessions()?.into_iter().find(|session| session.id == id);
            session.map(|session| Followed::begin(store, ticket, session, self.opened.first_seq)).transpose()
        };
        match begin() {
            Ok(Some(followed)) => Some((followed, [0; 3])),
            Ok(None) | Err(_) => {
                answers.give(ticket, Answer::Judged(key, None, self.judging.keys.is_empty()));
                None
            }
        }
    }

    /// Begins to follow a session.
    fn begin(&mut self, ticket: Ticket, key: SessionKey) -> Result<(), StoreError> {
        let (store, answers, id) = (&self.opened.store, self.answers, SessionId(key.0));
        self.followed = None;
        answers.judged.begin(ticket, key);
        self.links = Links::of(key);
        if !store.catch_up_while(id, |_| !answers.is_withdrawn(ticket))? {
            return Ok(());
        }
        if let Some(session) = store.sessions()?.into_iter().find(|session| session.id == id) {
            self.followed = Some(Followed::begin(store, ticket, session, self.opened.first_seq)?);
        }
        Ok(())
    }

    /// What was true after a message, and what it changed; `None` when that was withdrawn meanwhile.
    fn state(
        &mut self,
        ticket: Ticket,
        key: SessionKey,
        seq: u64,
        list: Option<&str>,
    ) -> Result<Option<StatedFacts>, StoreError> {
        let answers = self.answers;
        // What has to be followed to get there is followed once, with its findings told on the way.
        while self.followed.as_ref().is_some_and(|at| at.key == key && at.seq() < seq && !at.complete) {
            if answers.is_withdrawn(ticket) {
                return Ok(None);
            }
            self.step();
        }
        let Some(followed) = self.followed.as_ref().filter(|followed| followed.key == key) else {
            answers.fail(Some(ticket), "the session could not be followed; open it again".into());
            return Ok(None);
        };
        let store = &self.opened.store;
        let Some(states) = followed.states(store, seq, || answers.is_withdrawn(ticket))? else {
            return Ok(None);
        };
        let began_at_ns = match states.conversation {
            Some(number) => {
                let known = store.conversations(followed.session.id)?;
                known.iter().find(|this| this.number == number).map_or(0, |this| this.began_at_ns)
            }
            None => 0,
        };
        let row = self.row(followed, seq)?;
        Ok(Some(stated::stated(seq, row, &states, began_at_ns, list)))
    }

    /// The row of a message, as it is known by now.
    fn row(&self, followed: &Followed, seq: u64) -> Result<Option<Row>, StoreError> {
        let listed = self.opened.store.row(followed.session.id, At { seq, member: 0 })?;
        listed.map(|listed| message::row(self.opened, &followed.session, &listed)).transpose()
    }
}
