//! What takes following a session: which rules were broken, and what was true at any point.
//!
//! A session is followed once, from its beginning, in small steps between which questions about states are answered. Copies of
//! what was known, kept on the way, make going back as fast as going forward.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use tap_inspector::{Answer, Fact, FindingLine, Query, SessionKey, StatedFacts, Ticket};
use tap_protocol::Side;
use tap_session::{Finding, Follower, Lens, Meaning, SessionState, Timeline};
use tap_store::{SessionId, Store, StoreError, Transport};

use super::asked::{Answers, Opened};
use super::links::Links;
use crate::command::state::facts;
use crate::following::begins_whole;

/// How long a step takes before questions are looked at.
const STEP: Duration = Duration::from_millis(30);

/// Frames between two looks at the clock.
const FRAMES: u64 = 256;

/// How often a live session is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A session that is followed. One over HTTP was followed to its end when it was opened.
struct Followed {
    ticket: Ticket,
    key: SessionKey,
    timeline: Timeline,
    follower: Follower,
    lens: Lens,
    /// The number of the next frame.
    next: u64,
    complete: bool,
    /// What is known only when nothing more will come was told.
    over: bool,
}

/// Who follows sessions.
pub(super) struct Depth<'a> {
    opened: &'a Opened,
    answers: &'a Answers,
    followed: Option<Followed>,
    links: Links,
}

/// Answers until nobody asks any more.
pub(super) fn answer_all(opened: &Opened, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut depth = Depth::new(opened, answers);
    loop {
        let wait = if depth.is_busy() { Duration::ZERO } else { LOOK };
        match questions.recv_timeout(wait) {
            Ok((ticket, query)) => depth.answer(ticket, query),
            Err(RecvTimeoutError::Timeout) => depth.step(),
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl<'a> Depth<'a> {
    pub(super) fn new(opened: &'a Opened, answers: &'a Answers) -> Self {
        Self { opened, answers, followed: None, links: Links::default() }
    }

    /// Whether there is more to be followed that is there already.
    pub(super) fn is_busy(&self) -> bool {
        self.followed.as_ref().is_some_and(|followed| !followed.complete)
    }

    /// Answers a question, unless it was withdrawn.
    pub(super) fn answer(&mut self, ticket: Ticket, query: Query) {
        let answers = self.answers;
        if answers.is_withdrawn(ticket) {
            return;
        }
        let done = match query {
            Query::Findings(key) => self.begin(ticket, key),
            Query::Links(key, first, last) => {
                answers.give(ticket, Answer::Links(self.links.between(key, first, last)));
                Ok(())
            }
            Query::State(key, seq) => self.state(ticket, key, seq).map(|facts| {
                if let Some(facts) = facts {
                    answers.give(ticket, Answer::State(facts));
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
        if let Some(followed) = &mut self.followed
            && let Err(error) = followed.step(store, answers, &mut self.links)
        {
            answers.fail(Some(followed.ticket), error.to_string());
            self.followed = None;
        }
    }

    /// Begins to follow a session.
    fn begin(&mut self, ticket: Ticket, key: SessionKey) -> Result<(), StoreError> {
        let (store, answers, id) = (&self.opened.store, self.answers, SessionId(key.0));
        self.followed = None;
        answers.judged.begin(key);
        self.links = Links::of(key);
        store.catch_up(id, |_| {})?;
        if store.transport(id)? == Transport::Http {
            return judge_http(store, ticket, id, answers, &mut self.links);
        }
        let session = store.sessions()?.into_iter().find(|session| session.id == id);
        let whole = match session {
            Some(session) => begins_whole(store, &session, self.opened.first_seq)?,
            None => return Ok(()),
        };
        let follower = if whole { Follower::new() } else { Follower::from_the_middle() };
        self.followed = Some(Followed {
            ticket,
            key,
            timeline: Timeline::new(follower.clone()),
            follower,
            lens: Lens::default(),
            next: 1,
            complete: false,
            over: false,
        });
        Ok(())
    }

    /// What was true after a message, and what it changed; `None` when that was withdrawn meanwhile.
    fn state(&self, ticket: Ticket, key: SessionKey, seq: u64) -> Result<Option<StatedFacts>, StoreError> {
        let (store, id) = (&self.opened.store, SessionId(key.0));
        let states = match self.followed.as_ref().filter(|followed| followed.key == key) {
            Some(followed) => {
                let at = |seq: u64| -> Result<SessionState, StoreError> {
                    let follower = followed.timeline.follower_at(seq, |first| store.frames(id, first))?;
                    Ok(follower.state().clone())
                };
                let before = if seq > 1 { at(seq - 1)? } else { SessionState::default() };
                Some((before, at(seq)?, 0))
            }
            None => states_over_http(store, id, seq, || self.answers.is_withdrawn(ticket))?,
        };
        Ok(states.map(|(before, after, began_at_ns)| stated(seq, &before, &after, began_at_ns)))
    }
}

/// Judges a session over HTTP, from its beginning to its end at once.
fn judge_http(
    store: &Store,
    ticket: Ticket,
    id: SessionId,
    answers: &Answers,
    links: &mut Links,
) -> Result<(), StoreError> {
    let mut found = Vec::new();
    let mut seq = 0;
    store.read_http(id, |read, _| {
        seq = read.frame.as_ref().map_or(seq, |frame| frame.frame.seq);
        read.meanings.iter().for_each(|meaning| links.add(&meaning.meaning.links));
        found.extend(read.meanings.iter().flat_map(|meaning| &meaning.meaning.findings).map(line));
        if answers.is_withdrawn(ticket) {
            Ok::<_, StoreError>(ControlFlow::Break(()))
        } else {
            Ok(ControlFlow::Continue(()))
        }
    })?;
    answers.judged.add(&found, true);
    answers.give(ticket, Answer::Findings(found, seq, true));
    Ok(())
}

/// What was true in the session of MCP that a message is of, before it and after it, and when that session
/// began. Of none, nothing is.
///
/// Read from the beginning each time: sessions over HTTP have no checkpoints yet.
fn states_over_http(
    store: &Store,
    id: SessionId,
    seq: u64,
    is_withdrawn: impl Fn() -> bool,
) -> Result<Option<(SessionState, SessionState, u64)>, StoreError> {
    let mut known = BTreeMap::new();
    let (mut states, mut withdrawn) = ((SessionState::default(), SessionState::default(), 0), false);
    let conversations = store.conversations(id)?;
    store.read_http(id, |read, reading| {
        let Some(frame) = &read.frame else {
            return Ok::<_, StoreError>(ControlFlow::Continue(()));
        };
        withdrawn = is_withdrawn();
        if frame.frame.seq > seq || withdrawn {
            return Ok(ControlFlow::Break(()));
        }
        let number = frame.conversation;
        let now = number.and_then(|number| reading.session(number)).map(|session| session.state().clone());
        if let (Some(number), Some(now)) = (number, now) {
            let before = known.insert(number, now.clone()).unwrap_or_default();
            if frame.frame.seq == seq {
                let began = conversations.iter().find(|conversation| conversation.number == number);
                states = (before, now, began.map_or(0, |began| began.began_at_ns));
            }
        }
        Ok(ControlFlow::Continue(()))
    })?;
    Ok((!withdrawn).then_some(states))
}

impl Followed {
    fn step(&mut self, store: &Store, answers: &Answers, links: &mut Links) -> Result<(), StoreError> {
        if self.over {
            return Ok(());
        }
        let id = SessionId(self.key.0);
        // Asked first, so that what is written in between is followed before the end is told.
        let live = store.is_live(id);
        let began = Instant::now();
        let mut found = Vec::new();
        let mut meaning = Meaning::default();
        let (before, was_complete) = (self.next, self.complete);
        self.complete = true;
        for frame in store.frames(id, self.next) {
            let frame = frame?;
            meaning.clear();
            self.follower.follow(&frame, &mut self.lens, &mut meaning);
            self.timeline.pass(frame.seq, &self.follower);
            self.next = frame.seq + 1;
            links.add(&meaning.links);
            found.extend(meaning.findings.iter().map(line));
            if frame.seq % FRAMES == 0 && began.elapsed() > STEP {
                self.complete = false;
                break;
            }
        }
        if self.complete && !live {
            meaning.clear();
            // What was true at any message stays as it was: only the rules that an end breaks are wanted.
            self.follower.clone().finish(&mut meaning);
            found.extend(meaning.findings.iter().map(line));
            self.over = true;
        }
        if before != self.next || was_complete != self.complete || self.over {
            answers.judged.add(&found, self.complete);
            answers.give(self.ticket, Answer::Findings(found, self.next.saturating_sub(1), self.complete));
        }
        Ok(())
    }
}

fn line(finding: &Finding) -> FindingLine {
    FindingLine {
        at: finding.at,
        rule: finding.rule.id,
        title: finding.rule.title,
        advice: finding.rule.advice,
        severity: finding.severity,
        detail: finding.detail.clone(),
        by: match finding.by {
            Side::Client => "client",
            Side::Server => "server",
        },
    }
}

/// What was true, and what is different.
fn stated(seq: u64, before: &SessionState, after: &SessionState, began_at_ns: u64) -> StatedFacts {
    let (before, after) = (facts::of(before, began_at_ns), facts::of(after, began_at_ns));
    let facts = after.into_iter().map(|fact| {
        let old = before.iter().find(|old| old.part == fact.part && old.name == fact.name);
        let changed = match old {
            Some(old) if old.text == fact.text => None,
            old => Some(old.map(|old| old.text.clone())),
        };
        let comma = if fact.text.is_empty() || fact.aside.is_empty() { "" } else { ", " };
        Fact { part: fact.part.into(), name: fact.name, text: format!("{}{comma}{}", fact.text, fact.aside), changed }
    });
    StatedFacts { seq, facts: facts.collect() }
}
