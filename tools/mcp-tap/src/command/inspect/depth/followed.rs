//! A session that is followed, over stdio or HTTP: once from its beginning, a little at a time, with checkpoints.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use tap_exchange::{HttpReading, HttpTimeline};
use tap_inspector::{FindingLine, SessionKey, Ticket};
use tap_protocol::Side;
use tap_session::{Finding, Follower, HttpFollower, HttpSessionNumber, Lens, Link, Meaning, SessionState, Timeline};
use tap_store::{Session, SessionId, Store, StoreError, Transport};

use crate::following::begins_whole;

/// How long a step takes before questions are looked at.
const STEP: Duration = Duration::from_millis(30);

/// Frames between two looks at the clock.
const FRAMES: u64 = 256;

/// A session that is followed.
pub(super) struct Followed {
    /// Who wants to know which rules were broken.
    pub(super) ticket: Ticket,
    pub(super) key: SessionKey,
    pub(super) session: Session,
    way: Way,
    /// All that is there was followed.
    pub(super) complete: bool,
    /// What is known only when nothing more will come was told.
    over: bool,
}

/// How it is followed.
enum Way {
    Stdio(Box<Stdio>),
    Http(Box<Http>),
}

/// One over HTTP.
struct Http {
    timeline: HttpTimeline,
    reading: HttpReading,
    seq: u64,
}

/// One over stdio.
struct Stdio {
    timeline: Timeline,
    follower: Follower,
    lens: Lens,
    /// The number of the newest frame that was followed.
    seq: u64,
}

/// What a step found.
#[derive(Default)]
pub(super) struct Step {
    pub(super) found: Vec<FindingLine>,
    /// Which messages belong to which.
    pub(super) links: Vec<Link>,
    /// There is something to be told: findings, or how far it is.
    pub(super) is_news: bool,
}

/// What was true before a message and after it.
#[derive(Default)]
pub(super) struct States {
    pub(super) before: SessionState,
    pub(super) after: SessionState,
    /// In a recording that can hold many, which session of MCP they are of.
    pub(super) conversation: Option<HttpSessionNumber>,
}

impl Step {
    fn take(&mut self, meaning: &Meaning) {
        self.found.extend(meaning.findings.iter().map(line));
        self.links.extend(&meaning.links);
    }
}

impl Followed {
    pub(super) fn begin(store: &Store, ticket: Ticket, session: Session, first_seq: u64) -> Result<Self, StoreError> {
        let way = if store.transport(session.id)? == Transport::Http {
            Way::Http(Box::new(Http { timeline: HttpTimeline::new(), reading: HttpReading::new(), seq: 0 }))
        } else {
            let whole = begins_whole(store, &session, first_seq)?;
            let follower = if whole { Follower::new() } else { Follower::from_the_middle() };
            let timeline = Timeline::new(follower.clone());
            Way::Stdio(Box::new(Stdio { timeline, follower, lens: Lens::default(), seq: 0 }))
        };
        let key = SessionKey(session.id.0);
        Ok(Self { ticket, key, session, way, complete: false, over: false })
    }

    fn id(&self) -> SessionId {
        self.session.id
    }

    /// The number of the newest message that was followed.
    pub(super) fn seq(&self) -> u64 {
        match &self.way {
            Way::Stdio(stdio) => stdio.seq,
            Way::Http(http) => http.seq,
        }
    }

    /// Whether nothing more will come.
    pub(super) fn is_over(&self) -> bool {
        self.over
    }

    /// Follows a little further.
    pub(super) fn step(&mut self, store: &Store) -> Result<Step, StoreError> {
        let mut found = Step::default();
        if self.over {
            return Ok(found);
        }
        let id = self.id();
        // Asked first, so that what is written in between is followed before the end is told.
        let live = store.is_live(id);
        let before = (self.seq(), self.complete);
        self.complete = match &mut self.way {
            Way::Stdio(stdio) => stdio.step(store, id, &mut found)?,
            Way::Http(http) => http.step(store, id, &mut found)?,
        };
        if self.complete && !live {
            match &mut self.way {
                Way::Stdio(stdio) => {
                    let mut meaning = Meaning::default();
                    // What was true at any message stays as it was: only the rules that an end breaks are wanted.
                    stdio.follower.clone().finish(&mut meaning);
                    found.take(&meaning);
                }
                Way::Http(http) => {
                    let Http { reading, seq, .. } = &mut **http;
                    reading.finish(&mut |read, _| take(&read, seq, &mut found));
                }
            }
            self.over = true;
        }
        found.is_news = before != (self.seq(), self.complete) || self.over;
        Ok(found)
    }

    /// What was true before and after a message, as far as it was followed; `None` when that is no longer wanted.
    pub(super) fn states(
        &self,
        store: &Store,
        seq: u64,
        is_withdrawn: impl Fn() -> bool,
    ) -> Result<Option<States>, StoreError> {
        match &self.way {
            Way::Stdio(stdio) => stdio_states(store, self.id(), &stdio.timeline, seq, is_withdrawn),
            Way::Http(http) => http_states(store, self.id(), &http.timeline, seq, is_withdrawn),
        }
    }
}

impl Stdio {
    fn step(&mut self, store: &Store, id: SessionId, found: &mut Step) -> Result<bool, StoreError> {
        let began = Instant::now();
        let mut meaning = Meaning::default();
        // Where the database cannot be written, nobody else's work is seen here.
        let is_whole = store.catch_up_for(id, STEP)?;
        for frame in store.frames(id, self.seq.saturating_add(1)) {
            let frame = frame?;
            meaning.clear();
            self.follower.follow(&frame, &mut self.lens, &mut meaning);
            self.timeline.pass(frame.seq, &self.follower);
            self.seq = frame.seq;
            found.take(&meaning);
            if frame.seq % FRAMES == 0 && began.elapsed() > STEP {
                return Ok(false);
            }
        }
        Ok(is_whole)
    }
}

impl Http {
    fn step(&mut self, store: &Store, id: SessionId, found: &mut Step) -> Result<bool, StoreError> {
        let began = Instant::now();
        let Self { timeline, reading, seq } = self;
        while store.feed_http(id, reading, &mut |read, _| take(&read, seq, found))? {
            timeline.pass(reading);
            if began.elapsed() > STEP {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn take(read: &tap_exchange::Read, seq: &mut u64, found: &mut Step) {
    *seq = read.frame.as_ref().map_or(*seq, |frame| frame.frame.seq);
    read.meanings.iter().for_each(|meaning| found.take(&meaning.meaning));
}

/// Both states with one fold from the nearest checkpoint.
fn stdio_states(
    store: &Store,
    id: SessionId,
    timeline: &Timeline,
    seq: u64,
    is_withdrawn: impl Fn() -> bool,
) -> Result<Option<States>, StoreError> {
    if is_withdrawn() {
        return Ok(None);
    }
    let mut follower = timeline.follower_at(seq.saturating_sub(1), |first| store.frames(id, first))?;
    let before = follower.state().clone();
    if let Some(frame) = store.frame(id, seq)? {
        follower.follow(&frame, &mut Lens::default(), &mut Meaning::default());
    }
    Ok(Some(States { before, after: follower.state().clone(), conversation: None }))
}

/// What was true in the session of MCP that a message is of. Of none, nothing is.
fn http_states(
    store: &Store,
    id: SessionId,
    timeline: &HttpTimeline,
    seq: u64,
    is_withdrawn: impl Fn() -> bool,
) -> Result<Option<States>, StoreError> {
    let mut reading = timeline.reading_before(seq.saturating_sub(1));
    // A clone of what was followed costs next to nothing.
    let mut before = reading.follower().clone();
    let mut after = None;
    let mut look = |read: tap_exchange::Read, follower: &HttpFollower| {
        let Some(frame) = &read.frame else {
            return ControlFlow::Continue(());
        };
        if frame.frame.seq < seq {
            if frame.frame.seq + 1 == seq {
                before = follower.clone();
            }
            return ControlFlow::Continue(());
        }
        if frame.frame.seq == seq {
            after = Some((frame.conversation, follower.clone()));
        }
        ControlFlow::Break(())
    };
    let mut flow = ControlFlow::Continue(());
    let live = store.is_live(id);
    while flow.is_continue() {
        if is_withdrawn() {
            return Ok(None);
        }
        let mut sink = |read: tap_exchange::Read, follower: &HttpFollower| {
            if flow.is_continue() {
                flow = look(read, follower);
            }
        };
        if !store.feed_http(id, &mut reading, &mut sink)? {
            if !live {
                reading.finish(&mut sink);
            }
            break;
        }
    }
    let Some((Some(conversation), after)) = after else {
        return Ok(Some(States::default()));
    };
    let state = |follower: &HttpFollower| follower.session(conversation).map(|session| session.state().clone());
    Ok(Some(States {
        before: state(&before).unwrap_or_default(),
        after: state(&after).unwrap_or_default(),
        conversation: Some(conversation),
    }))
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
