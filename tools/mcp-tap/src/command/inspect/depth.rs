//! What takes following a session: which rules were broken, and what was true at any point.
//!
//! A session is followed once, from its beginning, in small steps between which questions about states are answered. Copies of
//! what was known, kept on the way, make going back as fast as going forward.

use std::ops::ControlFlow;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use tap_inspector::{Answer, Fact, FindingLine, Query, SessionKey, StatedFacts, Ticket};
use tap_protocol::Side;
use tap_session::{Finding, Follower, Lens, Meaning, SessionState, Timeline};
use tap_store::{SessionId, Store, StoreError, Transport};

use super::asked::Answers;
use crate::command::state::facts;

/// How long a step takes before questions are looked at.
const STEP: Duration = Duration::from_millis(30);

/// Frames between two looks at the clock.
const FRAMES: u64 = 256;

/// How often a live session is looked at.
const LOOK: Duration = Duration::from_millis(200);

/// A session of stdio that is followed.
struct Followed {
    ticket: Ticket,
    key: SessionKey,
    timeline: Timeline,
    follower: Follower,
    lens: Lens,
    /// The number of the next frame.
    next: u64,
    complete: bool,
}

/// Answers until nobody asks any more.
pub(super) fn answer_all(store: &Store, questions: &Receiver<(Ticket, Query)>, answers: &Answers) {
    let mut followed: Option<Followed> = None;
    loop {
        let busy = followed.as_ref().is_some_and(|followed| !followed.complete);
        let asked = if busy {
            match questions.try_recv() {
                Ok(asked) => Some(asked),
                Err(std::sync::mpsc::TryRecvError::Empty) => None,
                Err(std::sync::mpsc::TryRecvError::Disconnected) => return,
            }
        } else {
            match questions.recv_timeout(LOOK) {
                Ok(asked) => Some(asked),
                Err(std::sync::mpsc::RecvTimeoutError::Timeout) => None,
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            }
        };
        let done = match asked {
            Some((ticket, _)) if answers.is_withdrawn(ticket) => Ok(()),
            Some((ticket, Query::Findings(key))) => begin(store, ticket, key, answers).map(|begun| followed = begun),
            Some((ticket, Query::State(key, seq))) => state(store, followed.as_ref(), key, seq).map(|facts| {
                answers.give(ticket, Answer::State(facts));
            }),
            Some(_) => Ok(()),
            None => match &mut followed {
                Some(followed) => step(store, followed, answers),
                None => Ok(()),
            },
        };
        if let Err(error) = done {
            answers.fail(None, error.to_string());
            followed = None;
        }
    }
}

/// Begins to follow a session. One over HTTP is followed to its end at once.
fn begin(store: &Store, ticket: Ticket, key: SessionKey, answers: &Answers) -> Result<Option<Followed>, StoreError> {
    let id = SessionId(key.0);
    store.catch_up(id, |_| {})?;
    if store.transport(id)? == Transport::Http {
        let mut found = Vec::new();
        let mut seq = 0;
        store.read_http(id, |read, _| {
            seq = read.frame.as_ref().map_or(seq, |frame| frame.frame.seq);
            found.extend(read.meanings.iter().flat_map(|meaning| &meaning.meaning.findings).map(line));
            if answers.is_withdrawn(ticket) {
                Ok::<_, StoreError>(ControlFlow::Break(()))
            } else {
                Ok(ControlFlow::Continue(()))
            }
        })?;
        answers.give(ticket, Answer::Findings(found, seq, true));
        return Ok(None);
    }
    let follower = Follower::new();
    Ok(Some(Followed {
        ticket,
        key,
        timeline: Timeline::new(follower.clone()),
        follower,
        lens: Lens::default(),
        next: 1,
        complete: false,
    }))
}

/// Follows a little further.
fn step(store: &Store, followed: &mut Followed, answers: &Answers) -> Result<(), StoreError> {
    let id = SessionId(followed.key.0);
    if followed.complete {
        // Of a live session there may be more.
        store.catch_up(id, |_| {})?;
    }
    let began = Instant::now();
    let mut found = Vec::new();
    let mut meaning = Meaning::default();
    let before = followed.next;
    followed.complete = true;
    for frame in store.frames(id, followed.next) {
        let frame = frame?;
        meaning.clear();
        followed.follower.follow(&frame, &mut followed.lens, &mut meaning);
        followed.timeline.pass(frame.seq, &followed.follower);
        followed.next = frame.seq + 1;
        found.extend(meaning.findings.iter().map(line));
        if frame.seq % FRAMES == 0 && began.elapsed() > STEP {
            followed.complete = false;
            break;
        }
    }
    if before != followed.next || before == 1 {
        let complete = followed.complete;
        answers.give(followed.ticket, Answer::Findings(found, followed.next.saturating_sub(1), complete));
    }
    Ok(())
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

/// What was true after a message, and what it changed.
fn state(store: &Store, followed: Option<&Followed>, key: SessionKey, seq: u64) -> Result<StatedFacts, StoreError> {
    let id = SessionId(key.0);
    let at = |seq: u64| -> Result<SessionState, StoreError> {
        if seq == 0 {
            return Ok(SessionState::default());
        }
        if let Some(followed) = followed.filter(|followed| followed.key == key) {
            let follower = followed.timeline.follower_at(seq, |first| store.frames(id, first))?;
            return Ok(follower.state().clone());
        }
        let mut state = SessionState::default();
        store.read_http(id, |read, reading| {
            let Some(frame) = &read.frame else {
                return Ok::<_, StoreError>(ControlFlow::Continue(()));
            };
            if frame.frame.seq > seq {
                return Ok(ControlFlow::Break(()));
            }
            if let Some(number) = frame.conversation
                && let Some((_, known)) = reading.states().find(|(this, _)| *this == number)
            {
                state = known.clone();
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(state)
    };
    let before = facts::of(&at(seq.saturating_sub(1))?);
    let after = facts::of(&at(seq)?);
    let facts = after.into_iter().map(|fact| {
        let old = before.iter().find(|old| old.part == fact.part && old.name == fact.name);
        let changed = match old {
            Some(old) if old.text == fact.text => None,
            old => Some(old.map(|old| old.text.clone())),
        };
        let comma = if fact.text.is_empty() || fact.aside.is_empty() { "" } else { ", " };
        Fact { part: fact.part.into(), name: fact.name, text: format!("{}{comma}{}", fact.text, fact.aside), changed }
    });
    Ok(StatedFacts { seq, facts: facts.collect() })
}
