//! Where the pumps leave their copies: a queue bounded in bytes that takes without waiting and never fails.
//!
//! A copy is appended to the open segment, in the layout in which it will be stored: one `memcpy`, no allocation in the
//! long run, nothing pinned. Beside a queue of reference-counted blocks this costs a copy of at most 64 KiB, and it saves
//! an allocation a read and the block that every small message would pin.
//!
//! What does not fit is counted and becomes a gap, so that copies and gaps together are the whole stream, in order.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tap_frame::{Act, HttpPart, SEGMENT_BYTES, Segment, Stream};

use crate::clock::Clock;
use crate::pump::READ_BYTES;

/// How many emptied segments are kept for use again. Taking fresh memory for each costs a third of the speed of large
/// messages.
const SPARE_SEGMENTS: usize = 16;

/// How many are kept in calm traffic, so that one busy moment does not look like growing for ever.
const CALM_SEGMENTS: usize = 4;

/// Traffic is calm when so many times in a row no more than [`CALM_SEGMENTS`] were given back: about a second.
const CALM_TIMES: u32 = 50;

/// How many parts of exchanges may be gaps at once before new exchanges are left out whole: a few megabytes.
const LATE_PARTS: usize = 16 * 1024;

/// How much more than the limit may be held for acts, less the bytes that they sent: thousands of them.
const ACT_ROOM_BYTES: usize = 1024 * 1024;

/// Copies of what passed, waiting to be taken.
#[derive(Debug)]
pub struct Copies {
    clock: Clock,
    state: Mutex<State>,
    /// Told when a taker that waits has something to do.
    woken: Condvar,
    limit_bytes: usize,
    urgent_bytes: usize,
    late_parts: usize,
}

#[derive(Debug, Default)]
struct State {
    full: VecDeque<Segment>,
    open: Segment,
    full_bytes: usize,
    spare: Vec<Segment>,
    /// How often in a row only a few segments were given back.
    calm_times: u32,
    /// Bytes of each stream that found no room since the last copy that did.
    lost: [u64; 3],
    /// What found no room of HTTP exchanges, by exchange and part.
    late: BTreeMap<(u64, HttpPart), Late>,
    /// Exchanges of which nothing is kept, until they end: they began when there was not even room for more gaps.
    left_out: HashSet<u64>,
    /// All of them, since the beginning.
    lost_bytes: u64,
    /// The clock of the newest copy, kept or lost.
    newest_ns: u64,
    closed: bool,
    taker: Taker,
}

/// What found no room of a part of an HTTP exchange.
#[derive(Debug)]
struct Late {
    /// When it first did not.
    at_ns: u64,
    what: Missing,
}

#[derive(Debug)]
enum Missing {
    /// So many bytes are lost.
    Bytes(u64),
    /// Word that something happened, which is late but not lost.
    Word(Vec<u8>),
}

/// What the one who takes is doing, so that a pump wakes it only when that is of use.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Taker {
    /// Busy with what it took.
    #[default]
    Away,
    /// Waiting for anything.
    Idle,
    /// Letting copies gather for a moment; to be woken early only when they get many.
    Gathering,
}

/// What [`Copies::take`] found.
#[derive(Debug)]
pub struct Taken {
    /// The segments, oldest first.
    pub segments: Vec<Segment>,
    /// No more will come.
    pub closed: bool,
}

impl Copies {
    /// A queue that holds at most about `limit_bytes`, and asks to be emptied early at `urgent_bytes`.
    #[must_use]
    pub fn new(clock: Clock, limit_bytes: usize, urgent_bytes: usize) -> Self {
        Self {
            clock,
            state: Mutex::default(),
            woken: Condvar::new(),
            limit_bytes,
            urgent_bytes,
            late_parts: LATE_PARTS,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Leaves a copy of what a read returned. Never waits for the taker and never fails.
    pub fn offer(&self, stream: Stream, at_ns: u64, bytes: &[u8]) {
        let mut state = self.state();
        if state.held_bytes() + bytes.len() <= self.limit_bytes {
            state.write_gaps(at_ns, &self.clock);
            let wall_ns = self.wall_if_first(&state.open, at_ns);
            state.open.push_chunk(stream, at_ns, wall_ns, bytes);
        } else {
            state.lost[usize::from(stream.code())] += bytes.len() as u64;
            state.lost_bytes += bytes.len() as u64;
        }
        self.added(state, at_ns);
    }

    /// Leaves a copy of a part of an HTTP exchange, or of a piece of one. Never waits for the taker and never fails.
    pub fn offer_http(&self, exchange: u64, part: HttpPart, at_ns: u64, bytes: &[u8]) {
        let mut state = self.state();
        if state.is_left_out(exchange, part) {
            state.lost_bytes += bytes.len() as u64;
        } else if state.held_bytes() + bytes.len() <= self.limit_bytes {
            state.write_gaps(at_ns, &self.clock);
            let wall_ns = self.wall_if_first(&state.open, at_ns);
            state.open.push_http(exchange, part, at_ns, wall_ns, bytes);
        } else if part == HttpPart::Request && self.late_parts <= state.late.len() {
            state.left_out.insert(exchange);
            state.lost_bytes += bytes.len() as u64;
        } else {
            state.be_late(exchange, part, at_ns, bytes);
        }
        self.added(state, at_ns);
    }

    /// Leaves word of something that was done to the traffic; over HTTP with the exchange that it was done in. Never
    /// waits for the taker and never fails.
    ///
    /// After the copy of what it was done to, and before whatever it causes can come back.
    ///
    /// What was sent is left out where there is no room for it, and counted. The rest is kept: without it, what was
    /// received would be taken for what the other side got. Only where acts without their bytes alone are
    /// [too many](ACT_ROOM_BYTES) an act is lost, and counted.
    pub fn offer_act(&self, exchange: Option<u64>, at_ns: u64, act: &Act) {
        let mut head = Vec::new();
        act.write_head(&mut head);
        let mut sent = &act.bytes[..];
        let mut state = self.state();
        if self.limit_bytes < state.held_bytes() + head.len() + sent.len() {
            state.lost_bytes += sent.len() as u64;
            let lost_bytes = act.lost_bytes + sent.len() as u64;
            sent = &[];
            head.clear();
            Act { bytes: Vec::new().into(), lost_bytes, ..act.clone() }.write_head(&mut head);
        }
        if state.held_bytes() + head.len() <= self.limit_bytes + ACT_ROOM_BYTES {
            state.write_gaps(at_ns, &self.clock);
            let wall_ns = self.wall_if_first(&state.open, at_ns);
            state.open.push_act(exchange, act.sent_on(), at_ns, wall_ns, &head, sent);
        } else {
            state.lost_bytes += head.len() as u64;
        }
        self.added(state, at_ns);
    }

    /// The clock of the copies.
    #[must_use]
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Leaves word that a stream ended. There is always room for that.
    pub(crate) fn end(&self, stream: Stream, at_ns: u64) {
        let mut state = self.state();
        state.write_gaps(at_ns, &self.clock);
        let wall_ns = self.wall_if_first(&state.open, at_ns);
        state.open.push_end(stream, at_ns, wall_ns);
        self.added(state, at_ns);
    }

    /// Wakes the taker if that is of use. Not later, once the bytes are on their way: a write may block for as long as it
    /// likes, and what led to that is what people want to see recorded.
    fn added(&self, mut state: MutexGuard<'_, State>, at_ns: u64) {
        state.newest_ns = at_ns;
        if state.open.weight() >= SEGMENT_BYTES {
            state.seal();
        }
        match state.taker {
            Taker::Idle => {}
            Taker::Gathering if state.held_bytes() >= self.urgent_bytes => {}
            Taker::Gathering | Taker::Away => return,
        }
        state.taker = Taker::Away;
        drop(state);
        self.woken.notify_all();
    }

    /// A segment's wall clock is that of its first piece; asking for it is left out for the others.
    fn wall_if_first(&self, open: &Segment, at_ns: u64) -> u64 {
        if open.is_empty() { self.clock.wall_ns(at_ns) } else { 0 }
    }

    /// Says that no more will come.
    pub fn close(&self) {
        let mut state = self.state();
        state.closed = true;
        state.taker = Taker::Away;
        drop(state);
        self.woken.notify_all();
    }

    /// Takes all that is there.
    ///
    /// Waits first: while copies keep coming, for `gather`, so that many small ones are taken at once; when none came
    /// for so long, until one does, or at most `idle`.
    #[must_use]
    pub fn take(&self, gather: Duration, idle: Duration) -> Taken {
        let mut state = self.wait(self.state(), Taker::Gathering, gather, |_| false);
        if state.is_empty() {
            state = self.wait(state, Taker::Idle, idle, |state| !state.is_empty());
        }
        state.taker = Taker::Away;
        let newest_ns = state.newest_ns;
        state.write_gaps(newest_ns, &self.clock);
        if !state.open.is_empty() {
            state.seal();
        }
        state.full_bytes = 0;
        Taken { segments: state.full.drain(..).collect(), closed: state.closed }
    }

    /// How many bytes found no room, up to now.
    #[must_use]
    pub fn lost_bytes(&self) -> u64 {
        self.state().lost_bytes
    }

    /// Gives back segments that are no longer needed, for their memory.
    pub fn give_back(&self, segments: Vec<Segment>) {
        let is_calm = segments.len() <= CALM_SEGMENTS;
        let mut segments = segments.into_iter();
        let mut state = self.state();
        state.calm_times = if is_calm { state.calm_times.saturating_add(1) } else { 0 };
        let keep = if state.calm_times < CALM_TIMES { SPARE_SEGMENTS } else { CALM_SEGMENTS };
        while state.spare.len() < keep {
            let Some(mut segment) = segments.next() else {
                break;
            };
            segment.clear();
            state.spare.push(segment);
        }
        let keep = keep.min(state.spare.len());
        let surplus = state.spare.split_off(keep);
        // What is not kept is freed when the lock is free again, for that takes a while.
        drop(state);
        drop((segments, surplus));
    }

    fn wait<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        taker: Taker,
        limit: Duration,
        enough: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let started = Instant::now();
        state.taker = taker;
        // A pump that wakes us sets `taker` back, so that a wake-up without cause is told from one with.
        while state.taker == taker && !state.closed && !enough(&state) {
            let Some(left) = limit.checked_sub(started.elapsed()).filter(|left| !left.is_zero()) else {
                break;
            };
            state = self.woken.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state
    }
}

impl State {
    fn is_empty(&self) -> bool {
        self.full.is_empty() && self.open.is_empty()
    }

    fn held_bytes(&self) -> usize {
        self.full_bytes + self.open.weight()
    }

    fn write_gaps(&mut self, at_ns: u64, clock: &Clock) {
        for stream in Stream::ALL {
            let lost = std::mem::take(&mut self.lost[usize::from(stream.code())]);
            if lost > 0 {
                let wall_ns = if self.open.is_empty() { clock.wall_ns(at_ns) } else { 0 };
                self.open.push_gap(stream, at_ns, wall_ns, lost);
            }
        }
        if self.late.is_empty() {
            return;
        }
        let mut late: Vec<_> = std::mem::take(&mut self.late).into_iter().collect();
        // In the order in which they happened, at the time at which they did.
        late.sort_by_key(|(_, late)| late.at_ns);
        for ((exchange, part), Late { at_ns, what }) in late {
            let wall_ns = if self.open.is_empty() { clock.wall_ns(at_ns) } else { 0 };
            match what {
                Missing::Bytes(n_bytes) => self.open.push_http_gap(exchange, part, at_ns, wall_ns, n_bytes),
                Missing::Word(bytes) => self.open.push_http(exchange, part, at_ns, wall_ns, &bytes),
            }
        }
    }

    /// Whether nothing of this exchange is kept.
    fn is_left_out(&mut self, exchange: u64, part: HttpPart) -> bool {
        match part {
            _ if self.left_out.is_empty() => false,
            HttpPart::End => self.left_out.remove(&exchange),
            _ => self.left_out.contains(&exchange),
        }
    }

    /// Remembers what has no room: bytes as their number, words as they are. What is remembered is bounded, since an exchange
    /// has few parts, and only those go on that have begun before it was too much.
    fn be_late(&mut self, exchange: u64, part: HttpPart, at_ns: u64, bytes: &[u8]) {
        if matches!(part, HttpPart::RequestEnd | HttpPart::End) {
            self.late.entry((exchange, part)).or_insert(Late { at_ns, what: Missing::Word(bytes.into()) });
            return;
        }
        let n_bytes = bytes.len() as u64;
        self.lost_bytes += n_bytes;
        let late = self.late.entry((exchange, part)).or_insert(Late { at_ns, what: Missing::Bytes(0) });
        if let Missing::Bytes(lost) = &mut late.what {
            *lost += n_bytes;
        }
    }

    fn seal(&mut self) {
        let next = self.spare.pop().unwrap_or_else(|| Segment::with_room(READ_BYTES));
        let full = std::mem::replace(&mut self.open, next);
        self.full_bytes += full.weight();
        self.full.push_back(full);
    }
}

#[cfg(test)]
mod tests;
