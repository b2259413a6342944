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

use tap_frame::{HttpPart, SEGMENT_BYTES, Segment, Stream};

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
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tap_frame::Piece;

    const NOT_AT_ALL: Duration = Duration::ZERO;

    /// What the segments hold of each stream: kept bytes as they are, lost ones as `None`.
    fn streams(segments: &[Segment]) -> [Vec<Option<u8>>; 3] {
        let mut out = [vec![], vec![], vec![]];
        for piece in segments.iter().flat_map(Segment::iter) {
            match piece.unwrap() {
                Piece::Chunk { stream, bytes, .. } => {
                    out[usize::from(stream.code())].extend(bytes.iter().copied().map(Some));
                }
                Piece::Gap { stream, n_bytes, .. } => {
                    out[usize::from(stream.code())].extend((0..n_bytes).map(|_| None));
                }
                Piece::End { .. } | Piece::Http { .. } | Piece::HttpGap { .. } => {}
            }
        }
        out
    }

    proptest! {
        #[test]
        fn copies_and_gaps_together_are_the_whole_stream_in_order(
            steps in prop::collection::vec((0..3u8, prop::collection::vec(any::<u8>(), 1..40), any::<bool>()), 0..60),
            limit in 10..400usize,
        ) {
            let copies = Copies::new(Clock::start(), limit, limit);
            let mut passed = [vec![], vec![], vec![]];
            let mut taken = vec![];
            for (at_ns, (code, bytes, take)) in steps.iter().enumerate() {
                copies.offer(Stream::from_code(*code).unwrap(), at_ns as u64, bytes);
                passed[usize::from(*code)].extend_from_slice(bytes);
                if *take {
                    taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
                }
            }
            taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
            for (stream, kept) in streams(&taken).iter().enumerate() {
                prop_assert_eq!(kept.len(), passed[stream].len());
                for (kept, passed) in kept.iter().zip(&passed[stream]) {
                    prop_assert!(kept.is_none_or(|kept| kept == *passed));
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_a_gap_and_later_copies_are_kept_again() {
        let copies = Copies::new(Clock::start(), 20, 20);
        copies.offer(Stream::ToServer, 1, b"0123456789");
        copies.offer(Stream::ToServer, 2, b"abcdefghij");
        let mut segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
        copies.offer(Stream::ToServer, 3, b"x");
        segments.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
        let kept: Vec<u8> = streams(&segments)[0].iter().map(|byte| byte.unwrap_or(b'.')).collect();
        assert_eq!(kept, b"0123456789..........x");
    }

    #[test]
    fn parts_of_exchanges_that_do_not_fit_are_gaps_of_their_exchange_and_their_ends_are_kept() {
        let copies = Copies::new(Clock::start(), 200, 200);
        copies.offer_http(1, HttpPart::RequestBody, 1, b"kept");
        copies.offer_http(1, HttpPart::RequestBody, 2, &[b'x'; 300]);
        copies.offer_http(2, HttpPart::ResponseBody, 3, &[b'y'; 250]);
        copies.offer_http(1, HttpPart::RequestBody, 4, &[b'x'; 250]);
        copies.offer_http(1, HttpPart::End, 5, &[1]);
        assert_eq!(copies.lost_bytes(), 800);
        let segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
        // What is late is told with the time at which it happened.
        let times: Vec<u64> = segments.iter().flat_map(Segment::iter).map(|piece| piece.unwrap().at_ns()).collect();
        assert_eq!(times, [1, 2, 3, 5]);
        let told: Vec<String> = segments
            .iter()
            .flat_map(Segment::iter)
            .map(|piece| match piece.unwrap() {
                Piece::Http { exchange, part, bytes, .. } => format!("{exchange} {part:?} {bytes:?}"),
                Piece::HttpGap { exchange, part, n_bytes, .. } => format!("{exchange} {part:?} -{n_bytes}"),
                other => format!("{other:?}"),
            })
            .collect();
        let expected = ["1 RequestBody [107, 101, 112, 116]", "1 RequestBody -550", "2 ResponseBody -250", "1 End [1]"];
        assert_eq!(told, expected);
    }

    proptest! {
        #[test]
        fn of_every_exchange_copies_gaps_and_words_are_the_whole_or_there_is_nothing(
            steps in prop::collection::vec((0..6usize, 1..40usize, prop::bool::weighted(0.2)), 0..200),
            limit in 100..400usize,
            late_parts in 0..6usize,
        ) {
            const ORDER: [HttpPart; 5] = [
                HttpPart::Request, HttpPart::RequestBody, HttpPart::RequestEnd, HttpPart::ResponseBody, HttpPart::End,
            ];
            let mut copies = Copies::new(Clock::start(), limit, limit);
            copies.late_parts = late_parts;
            let (mut taken, mut passed) = (vec![], BTreeMap::<u64, Vec<(HttpPart, u64)>>::new());
            // Six clients, each with one exchange after the other.
            let mut clients: [(u64, usize); 6] = std::array::from_fn(|client| (client as u64, 0));
            for (at_ns, (client, n_bytes, take)) in steps.into_iter().enumerate() {
                let (exchange, at) = &mut clients[client];
                let part = ORDER[*at];
                let n_bytes = if matches!(part, HttpPart::RequestEnd | HttpPart::End) { 1 } else { n_bytes };
                copies.offer_http(*exchange, part, at_ns as u64, &vec![b'x'; n_bytes]);
                passed.entry(*exchange).or_default().push((part, n_bytes as u64));
                (*exchange, *at) = if *at == 4 { (*exchange + 6, 0) } else { (*exchange, *at + 1) };
                if take {
                    taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
                }
            }
            taken.extend(copies.take(NOT_AT_ALL, NOT_AT_ALL).segments);
            let (mut kept, mut n_lost) = (BTreeMap::<u64, Vec<(HttpPart, u64)>>::new(), 0);
            for piece in taken.iter().flat_map(Segment::iter) {
                match piece.unwrap() {
                    Piece::Http { exchange, part, bytes, .. } => {
                        kept.entry(exchange).or_default().push((part, bytes.len() as u64));
                    }
                    Piece::HttpGap { exchange, part, n_bytes, .. } => {
                        kept.entry(exchange).or_default().push((part, n_bytes));
                        n_lost += n_bytes;
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
            for (exchange, parts) in passed {
                match kept.get(&exchange) {
                    Some(kept) => prop_assert_eq!(kept, &parts),
                    None => n_lost += parts.iter().map(|(_, n_bytes)| n_bytes).sum::<u64>(),
                }
            }
            prop_assert_eq!(copies.lost_bytes(), n_lost);
        }
    }

    #[test]
    fn what_is_kept_is_bounded_however_long_nobody_takes() {
        let copies = Copies::new(Clock::start(), 1000, 1000);
        // One that began in time goes on all the while.
        copies.offer_http(1, HttpPart::Request, 0, b"GET");
        for exchange in 2..100_000 {
            copies.offer_http(exchange, HttpPart::Request, exchange, &[b'x'; 100]);
            copies.offer_http(1, HttpPart::ResponseBody, exchange, b"more");
            copies.offer_http(exchange, HttpPart::RequestEnd, exchange, b"");
            copies.offer_http(exchange, HttpPart::End, exchange, &[1]);
        }
        let state = copies.state();
        assert!(state.held_bytes() < 1200, "{}", state.held_bytes());
        assert!(state.late.len() <= LATE_PARTS + 4, "{}", state.late.len());
        assert!(state.left_out.is_empty());
        drop(state);
        let segments = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
        assert!(segments.iter().map(Segment::weight).sum::<usize>() < 1 << 20);
        copies.offer_http(100_000, HttpPart::Request, 100_000, b"kept again");
        let kept = copies.take(NOT_AT_ALL, NOT_AT_ALL).segments;
        assert!(kept[0].bytes.ends_with(b"kept again"));
    }

    #[test]
    fn wakes_an_idle_taker_at_once_and_a_gathering_one_only_when_it_is_urgent() {
        let copies = Copies::new(Clock::start(), 1000, 100);
        for (taker, n_bytes, expected) in [
            (Taker::Away, 500, Taker::Away),
            (Taker::Idle, 1, Taker::Away),
            (Taker::Gathering, 1, Taker::Gathering),
            (Taker::Gathering, 200, Taker::Away),
        ] {
            let _ = copies.take(NOT_AT_ALL, NOT_AT_ALL);
            copies.state().taker = taker;
            copies.offer(Stream::ToClient, 0, &vec![0; n_bytes]);
            assert_eq!(copies.state().taker, expected, "{taker:?} {n_bytes}");
        }
    }

    #[test]
    fn a_taker_in_another_thread_gets_everything_and_the_end() {
        let copies = std::sync::Arc::new(Copies::new(Clock::start(), 1 << 20, 1 << 19));
        let theirs = copies.clone();
        let taker = std::thread::spawn(move || {
            let mut all = vec![];
            loop {
                let taken = theirs.take(Duration::from_millis(1), Duration::from_secs(30));
                all.extend(taken.segments);
                if taken.closed {
                    return all;
                }
            }
        });
        for number in 0..10_000u64 {
            copies.offer(Stream::ToClient, number, &number.to_le_bytes());
        }
        copies.close();
        let expected: Vec<Option<u8>> = (0..10_000u64).flat_map(u64::to_le_bytes).map(Some).collect();
        assert_eq!(streams(&taker.join().unwrap())[1], expected);
    }
}
