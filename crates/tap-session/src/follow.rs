//! The follower: frames in, what they meant out. The one entry for whoever wants to know more than rows.

use tap_frame::{Act, Became, Channel, Deed, Direction, Frame, Origin};
use tap_jsonrpc::{RawId, Scanned, Scanner, scan};
use tap_protocol::Side;

use crate::machine::{Found, Link, Machine};
use crate::observer::{Event, ROW_WATCHES, Stamp};
use crate::row::At;
use crate::rule::Finding;
use crate::state::{SessionState, sender};
use crate::view::{View, as_sent};

/// What a frame meant.
#[derive(Debug, Default)]
pub struct Meaning {
    /// Its rows, and what they did to earlier ones.
    pub events: Vec<Event>,
    /// The rules that it broke. Some are known only later than the message that they are about.
    pub findings: Vec<Finding>,
    /// The earlier messages that it belongs to.
    pub links: Vec<Link>,
}

impl Meaning {
    /// Empties it for the next frame.
    pub fn clear(&mut self) {
        self.events.clear();
        self.findings.clear();
        self.links.clear();
    }
}

/// Follows one session from its frames.
///
/// A clone costs next to nothing, which is what makes [time travel](crate::Timeline) cheap.
#[derive(Debug, Clone, Default)]
pub struct Follower {
    /// As it is recorded: what either side sent, and what was done to it. The state is that of this view.
    view: View,
    /// As each side sees it, once something was done that makes a difference.
    sides: Option<Box<Sides>>,
    /// By stream code: how many bytes were received, lost ones included.
    received: [u64; 3],
}

#[derive(Debug, Clone)]
struct Sides {
    client: View,
    server: View,
}

impl Sides {
    fn get(&mut self, side: Side) -> &mut View {
        match side {
            Side::Client => &mut self.client,
            Side::Server => &mut self.server,
        }
    }
}

/// Reads frames for a [`Follower`]: what is made once and used for many frames, and is no part of what is known.
#[derive(Debug)]
pub struct Lens {
    scanner: Scanner,
    nothing: Scanned,
}

impl Default for Lens {
    fn default() -> Self {
        Self { scanner: Scanner::new(ROW_WATCHES), nothing: scan(b"", ROW_WATCHES) }
    }
}

impl Lens {
    /// Gives what a scan of a frame finds; of what is no message, nothing.
    pub(crate) fn with<T>(&mut self, frame: &Frame, take: impl FnOnce(&Scanned) -> T) -> T {
        if frame.origin == Origin::Wire && frame.channel() == Channel::Message {
            self.scanner.feed(&frame.bytes);
            take(&self.scanner.finish())
        } else {
            take(&self.nothing)
        }
    }
}

impl Follower {
    /// Follows a session from its first frame.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Follows a session of which the beginning is missing. Rules that need all of it are not judged.
    #[must_use]
    pub fn from_the_middle() -> Self {
        Self { view: View::new(Machine::from_the_middle()), ..Self::default() }
    }

    /// Follows a session whose messages are bodies and events of HTTP, not lines.
    pub(crate) fn of_bodies() -> Self {
        Self { view: View::new(Machine::of_bodies()), ..Self::default() }
    }

    /// What is true now. Where a debugger changed what went on, that of what it let through: a request that it stopped is
    /// not in flight, one that it made is.
    #[must_use]
    pub fn state(&self) -> &SessionState {
        &self.view.machine.state
    }

    /// Forgets what is needed only to judge frames anew that were followed last.
    pub(crate) fn settle(&mut self) {
        self.view.settle();
        for side in [Side::Client, Side::Server] {
            if let Some(sides) = &mut self.sides {
                sides.get(side).settle();
            }
        }
    }

    /// Takes the next frame, and says what it meant.
    pub fn follow(&mut self, frame: &Frame, lens: &mut Lens, meaning: &mut Meaning) {
        self.follow_in(0, frame, lens, meaning);
    }

    /// The same within a scope of ids: an HTTP exchange of the modern era.
    pub(crate) fn follow_in(&mut self, scope: u64, frame: &Frame, lens: &mut Lens, meaning: &mut Meaning) {
        let received = &mut self.received[usize::from(frame.stream.code())];
        let stamp = Stamp { scope, ..Stamp::of(frame, *received) };
        match frame.origin {
            Origin::Wire => *received = received.saturating_add(frame.bytes.len() as u64),
            Origin::Gap(n_bytes) => *received = received.saturating_add(n_bytes),
            Origin::Act(_) => {
                if let Some(act) = Act::read_head(&frame.bytes) {
                    self.act(&stamp, frame, &act, None, lens, meaning);
                }
                return;
            }
        }
        let Self { view, sides, .. } = self;
        lens.with(frame, |scanned| {
            let Some(sides) = sides else {
                view.take(&stamp, frame, scanned, meaning);
                return;
            };
            let n_findings = view.machine.state.totals.n_findings;
            let before = meaning.findings.len();
            view.step(&stamp, frame, scanned, meaning);
            meaning.findings.truncate(before);
            for side in [Side::Client, Side::Server] {
                let mut seen = Meaning::default();
                sides.get(side).take(&stamp, frame, scanned, &mut seen);
                meaning.findings.extend(seen.findings.into_iter().filter(|finding| finding.by == side));
            }
            view.machine.state.totals.n_findings = n_findings;
            view.machine.count(&meaning.findings[before..]);
        });
    }

    /// Takes what was done to the traffic. `message` is the number of the message that it was done to, where it is known
    /// otherwise than by its place in the stream.
    pub(crate) fn act(
        &mut self,
        stamp: &Stamp,
        frame: &Frame,
        act: &Act,
        message: Option<u64>,
        lens: &mut Lens,
        meaning: &mut Meaning,
    ) {
        let sent = as_sent(frame);
        let first = meaning.events.len();
        let head_bytes = (frame.bytes.len() - sent.bytes.len()) as u64;
        let sends = act.deed.sends() && act.lost_bytes == 0;
        lens.with(&sent, |scanned| {
            self.view.observer.observe_act(stamp, act, message, head_bytes, scanned, &mut meaning.events);
        });
        let done_to = meaning.events[first..].iter().find_map(|event| match event {
            Event::Done { seq, .. } => Some(*seq),
            Event::Row(_) | Event::Answered { .. } => None,
        });
        let stopped = done_to.filter(|_| matches!(act.deed.became(), Became::Replaced | Became::Stopped));
        let state = &mut self.view.machine.state;
        (state.at_ns, state.at) = (stamp.at_ns, Some(At { seq: stamp.seq, member: 0 }));
        if stopped.is_none() && !act.deed.sends() {
            return;
        }
        if self.sides.is_none() {
            self.sides = Some(Box::new(Sides { client: self.view.clone(), server: self.view.clone() }));
            self.view.settle();
        }
        if let (Some(seq), Some(sides)) = (stopped, &mut self.sides) {
            // Who sent it knows nothing of that.
            let receiver = sender(act.stream.direction().reversed());
            let view = sides.get(receiver);
            if !view.take_back(seq, lens) {
                forget(view, seq);
            }
            if act.deed != Deed::Answered {
                forget(&mut self.view, seq);
            }
        }
        if !sends {
            return;
        }
        let n_findings = self.view.machine.state.totals.n_findings;
        let receiver = sender(sent.direction().reversed());
        lens.with(&sent, |scanned| {
            let (mut unseen, mut seen) = (Meaning::default(), Meaning::default());
            unseen.events = meaning.events[first..].to_vec();
            // What each side sent is counted, and this neither did.
            let party = self.view.machine.state.party_mut(sender(sent.direction()));
            let counted = (party.n_messages, party.n_bytes);
            self.view.judge(stamp, &sent, scanned, 0, &mut unseen);
            let party = self.view.machine.state.party_mut(sender(sent.direction()));
            (party.n_messages, party.n_bytes) = counted;
            meaning.links.append(&mut unseen.links);
            if let Some(sides) = &mut self.sides {
                sides.get(receiver).take(stamp, &sent, scanned, &mut seen);
            }
            let found = meaning.findings.len();
            meaning.findings.extend(seen.findings.into_iter().filter(|finding| finding.by == receiver));
            self.view.machine.state.totals.n_findings = n_findings;
            self.view.machine.count(&meaning.findings[found..]);
        });
        if let (Deed::Answered, Some(seq)) = (act.deed, stopped) {
            forget(&mut self.view, seq);
        }
    }

    pub(crate) fn state_mut(&mut self) -> &mut SessionState {
        &mut self.view.machine.state
    }

    /// Takes part of what is counted: findings of whoever carries the messages.
    pub(crate) fn count(&mut self, findings: &[Finding]) {
        self.view.machine.count(findings);
    }

    /// Says that a request of the client will not be answered, if it waits for that: what carried it ended at `ended`, by
    /// that side. Where it was cut off by the client, that is its cancellation.
    pub(crate) fn drop_call(&mut self, scope: u64, raw_id: &RawId, at: At, ended: At, by: Side) {
        for view in self.views() {
            view.observer.forget(scope, Direction::ToServer, raw_id, at);
            view.machine.drop_call(scope, raw_id, at, Some((ended, by)));
        }
    }

    /// Says that a request of the client was not let in: it was no part of the session, and its id is still free.
    pub(crate) fn refuse(&mut self, scope: u64, raw_id: &RawId, at: At) {
        for view in self.views() {
            view.refuse(scope, Direction::ToServer, raw_id, at);
        }
    }

    fn views(&mut self) -> impl Iterator<Item = &mut View> {
        let sides = self.sides.iter_mut().flat_map(|sides| {
            let Sides { client, server } = &mut **sides;
            [client, server]
        });
        std::iter::once(&mut self.view).chain(sides)
    }

    /// Says that no frame will follow: what is missing is missing now.
    pub fn finish(&mut self, meaning: &mut Meaning) {
        let mut found = Found::default();
        let n_findings = self.view.machine.state.totals.n_findings;
        self.view.machine.finish(&mut found);
        if let Some(sides) = &mut self.sides {
            found.findings.clear();
            for side in [Side::Client, Side::Server] {
                let mut seen = Found::default();
                sides.get(side).machine.finish(&mut seen);
                found.findings.extend(seen.findings.into_iter().filter(|finding| finding.by == side));
            }
            self.view.machine.state.totals.n_findings = n_findings;
            self.view.machine.count(&found.findings);
        }
        meaning.findings.append(&mut found.findings);
        meaning.links.append(&mut found.links);
    }
}

/// Takes the requests of a frame out of a view, as if they had not been let in.
fn forget(view: &mut View, seq: u64) {
    let calls: Vec<_> = view.machine.state.calls_of(seq);
    for (scope, direction, raw_id, at) in calls {
        view.refuse(scope, direction, &raw_id, at);
    }
}
