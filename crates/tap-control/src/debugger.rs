//! The machine: messages of both directions and commands in, orders and events out, time as an argument.
//!
//! It is fed only while something is armed. Whatever comes in goes out, in order, but for what a rule or a person says;
//! messages that belong to one call keep their order in each direction whatever is held. Commands are in `command.rs`, what
//! leaves is in `out.rs`.

mod command;
#[cfg(test)]
mod end_tests;
#[cfg(test)]
mod http_tests;
mod out;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::Bytes;
use tap_frame::{Act, Deed, Direction, Frame, Origin, Stream};
use tap_session::{Follower, Lens, Meaning};

use crate::calls::{Calls, Message, What};
use crate::channel::Channel;
use crate::inject::Injections;
use crate::lines::{Cut, LINE_LIMIT_BYTES};
use crate::rule::Armed;
use crate::told::{Event, Order};
use crate::waiting::{Side, Waiting, Why};

/// Messages that can wait at a time. With more than these everything is let go.
pub const WAITING_LIMIT_MESSAGES: usize = 1_000;

/// Memory that what waits can take, bytes. With more than this everything is let go.
pub const WAITING_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// What is delayed goes on so long after the end of its stream at the latest, nanoseconds. Whoever has ended is not waited
/// for much longer by anybody.
pub const END_PATIENCE_NS: u64 = 5_000_000_000;

/// What holds for all of it.
#[derive(Debug, Clone)]
pub struct Options {
    /// After how long a held message goes on unchanged, nanoseconds; `None` for never.
    pub hold_limit_ns: Option<u64>,
    /// Whether a held message holds everything behind it in its direction, not only what belongs to the same call.
    pub whole_stream: bool,
    /// What chance begins with.
    pub seed: u64,
    /// Part of the ids of requests that are sent from here: nobody else can know it.
    pub secret: String,
    /// A longer line passes unjudged, bytes.
    pub line_limit_bytes: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hold_limit_ns: Some(50_000_000_000),
            whole_stream: false,
            seed: 0,
            secret: String::new(),
            line_limit_bytes: LINE_LIMIT_BYTES,
        }
    }
}

/// What is known of the session, for filters.
#[derive(Debug, Clone, Default)]
pub struct Session {
    /// Its name.
    pub name: String,
    /// Its id.
    pub uuid: String,
    /// When it opened, nanoseconds since the Unix epoch.
    pub opened_unix_ns: u64,
}

/// See the head of this file.
#[derive(Debug)]
pub struct Debugger {
    pub(crate) session: Session,
    pub(crate) options: Options,
    pub(crate) sides: [Side; 2],
    pub(crate) calls: Calls,
    pub(crate) rules: Vec<Armed>,
    pub(crate) n_rules_set: u32,
    n_queued: u64,
    pub(crate) injections: Injections,
    pub(crate) orders: VecDeque<Order>,
    pub(crate) events: VecDeque<Event>,
    pub(crate) n_viewers: usize,
    pub(crate) follower: Option<Box<(Follower, Lens, Meaning)>>,
    /// Whether bytes have passed that were not judged.
    pub(crate) from_the_middle: bool,
    n_frames: u64,
}

/// The stream that goes in this direction.
pub(crate) fn stream(direction: Direction) -> Stream {
    match direction {
        Direction::ToServer => Stream::ToServer,
        Direction::ToClient => Stream::ToClient,
    }
}

impl Debugger {
    /// A debugger with nothing armed.
    #[must_use]
    pub fn new(session: Session, options: Options) -> Self {
        Self {
            session,
            options,
            sides: Default::default(),
            calls: Calls::default(),
            rules: Vec::new(),
            n_rules_set: 0,
            n_queued: 0,
            injections: Injections::default(),
            orders: VecDeque::new(),
            events: VecDeque::new(),
            n_viewers: 0,
            follower: None,
            from_the_middle: false,
            n_frames: 0,
        }
    }

    pub(crate) fn side(&self, direction: Direction) -> &Side {
        &self.sides[direction as usize]
    }

    pub(crate) fn side_mut(&mut self, direction: Direction) -> &mut Side {
        &mut self.sides[direction as usize]
    }

    /// The next thing to be done. Ask after every call of a method that changes anything, until there is none.
    pub fn poll_order(&mut self) -> Option<Order> {
        self.orders.pop_front()
    }

    /// The next thing to be told to viewers.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// When [`handle_timeout`](Self::handle_timeout) is to be called, nanoseconds since the session opened. May be another
    /// after every call of a method that changes anything.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<u64> {
        let sides = self.sides.iter();
        let of_side = |side: &Side| {
            let queued = side.queue.iter().filter_map(Waiting::until_ns).min();
            let slow = side.slow.as_ref().map(|slow| slow.next_ns);
            queued.into_iter().chain(slow).min()
        };
        sides.filter_map(of_side).chain(self.injections.next_ns()).min()
    }

    /// Whether messages have to pass here: a rule is on, something waits, or an answer to us is to come.
    #[must_use]
    pub fn is_armed(&self) -> bool {
        self.rules.iter().any(|armed| armed.on)
            || !self.injections.is_empty()
            || self.sides.iter().any(|side| !side.is_idle())
    }

    /// Whether everything that came in this direction has gone on.
    #[must_use]
    pub fn is_idle(&self, direction: Direction) -> bool {
        self.side(direction).is_idle()
    }

    /// Says that bytes of this direction will be fed soon, and that until then they pass by: what is to go out that way waits
    /// for [`enter`](Self::enter), so that it does not go out in the middle of a line.
    pub fn expect(&mut self, direction: Direction) {
        self.side_mut(direction).entering = true;
    }

    /// Says that bytes of this direction will be fed from now on. `offset` bytes have passed already; `torn` says that the
    /// last of these did not end a line, so that the rest of it is passed on unjudged.
    pub fn enter(&mut self, direction: Direction, offset: u64, torn: bool) {
        if offset > 0 && !self.from_the_middle {
            self.from_the_middle = true;
            if let Some(follower) = &mut self.follower {
                follower.0 = Follower::from_the_middle();
            }
        }
        let side = self.side_mut(direction);
        side.lines.passing = torn;
        (side.mid_line, side.open_line, side.entering) = (torn, torn, false);
        if !torn {
            self.send_pending(direction);
        }
    }

    /// Takes bytes of this direction that begin at `offset` in their stream.
    pub fn take(&mut self, direction: Direction, offset: u64, bytes: &[u8], at_ns: u64) {
        let limit = self.options.line_limit_bytes;
        let mut cuts = Vec::new();
        self.side_mut(direction).lines.take(offset, bytes, limit, |cut| cuts.push(cut));
        for cut in cuts {
            match cut {
                Cut::Line { offset, bytes } => self.message(direction, offset, bytes, at_ns),
                Cut::Part { bytes, ends_line } => self.part(direction, bytes, ends_line, at_ns),
            }
        }
    }

    /// Says that nothing more comes in this direction. What is held goes on; what is delayed does within
    /// [`END_PATIENCE_NS`].
    pub fn end(&mut self, direction: Direction, at_ns: u64) {
        let side = self.side_mut(direction);
        let last = side.lines.finish();
        // The end of the line that passes unjudged does not come any more.
        (side.ended_ns, side.mid_line) = (Some(at_ns), false);
        self.finish_slow(direction);
        self.send_pending(direction);
        self.release_where(
            direction,
            |waiting| matches!(waiting.why, Why::Held { .. }),
            "the end of the stream",
            at_ns,
        );
        for waiting in &mut self.side_mut(direction).queue {
            match &mut waiting.why {
                Why::Delayed { until_ns, .. } => *until_ns = (*until_ns).min(at_ns.saturating_add(END_PATIENCE_NS)),
                Why::Held { .. } | Why::Behind { .. } | Why::Reordered { .. } => {}
            }
        }
        // A last line without an end goes behind what was released, or they would be one line.
        if let Some((offset, bytes)) = last {
            self.message(direction, offset, bytes, at_ns);
        }
        for waiting in &mut self.side_mut(direction).queue {
            if let Why::Reordered { until_ns, .. } = &mut waiting.why {
                *until_ns = 0;
            }
        }
        self.nobody_answers(direction.reversed());
        self.advance(direction, at_ns);
    }

    /// Says that nobody reads any more what goes in this direction: what waits for it is dropped.
    pub fn nobody_reads(&mut self, direction: Direction, at_ns: u64) {
        while let Some(waiting) = self.side_mut(direction).take(0) {
            self.record(&waiting, Deed::Dropped, Bytes::new(), "nobody reads any more".into(), at_ns);
        }
        let side = self.side_mut(direction);
        (side.slow, side.closed) = (None, true);
        side.clear_pending();
        self.nobody_answers(direction);
    }

    /// Gives on what of a line has come and is kept until its end. The rest of that line passes as it comes. For when
    /// nothing is armed any more.
    pub fn flush(&mut self, direction: Direction) {
        if let Some(bytes) = self.side_mut(direction).lines.flush() {
            self.put_line(direction, bytes);
            self.side_mut(direction).mid_line = true;
        }
    }

    /// Does what is due.
    pub fn handle_timeout(&mut self, at_ns: u64) {
        self.give_up(at_ns);
        for direction in [Direction::ToServer, Direction::ToClient] {
            let is_due = |waiting: &Waiting| matches!(waiting.why, Why::Held { until_ns: Some(until_ns), .. } if until_ns <= at_ns);
            self.release_where(direction, is_due, "the time limit", at_ns);
            self.go_on_slowly(direction, at_ns);
            self.advance(direction, at_ns);
        }
    }

    fn part(&mut self, direction: Direction, bytes: Bytes, ends_line: bool, at_ns: u64) {
        if !self.side(direction).mid_line {
            // It cannot be kept, so nothing that it would have to wait for can.
            self.finish_slow(direction);
            let is_strict = self.options.whole_stream
                || self
                    .side(direction)
                    .queue
                    .iter()
                    .any(|waiting| matches!(waiting.why, Why::Held { whole_stream: true, .. }));
            if is_strict && !self.side(direction).queue.is_empty() {
                self.let_go_waiting("a message came that is too long to be held", at_ns);
            }
            self.end_open_line(direction);
            self.side_mut(direction).mid_line = true;
        }
        self.put_out(direction, bytes);
        if ends_line {
            self.side_mut(direction).mid_line = false;
            self.send_pending(direction);
        }
    }

    /// Takes one message whole, that begins at `offset` in its stream: for who cuts them himself.
    pub fn message(&mut self, direction: Direction, offset: u64, bytes: Bytes, at_ns: u64) {
        self.message_in(Channel::default(), direction, offset, bytes, at_ns);
    }

    /// The same for a message in an exchange over HTTP. `offset` is where it begins in the decoded body; of an event where
    /// that begins.
    pub fn message_in(&mut self, channel: Channel, direction: Direction, offset: u64, bytes: Bytes, at_ns: u64) {
        let mut message = self.calls.read(channel, direction, offset, at_ns, bytes);
        if !channel.is_http() {
            self.find_broken_rules(&mut message);
        }
        if self.is_for_us(&message, at_ns) {
            return;
        }
        if message.cancels().is_some()
            && let Some(cancelled) = &message.call
        {
            self.cancelled(cancelled, at_ns);
        }
        let side = self.side(direction);
        let blocker = side.blocker(usize::MAX, &message, self.options.whole_stream);
        let mut waiting = Waiting {
            number: 0,
            bytes: message.bytes.clone(),
            message,
            changed_by: None,
            why: Why::Behind { number: blocker.unwrap_or_default() },
            next_rule: 0,
        };
        if blocker.is_none() {
            let Some(kept) = self.judge(waiting, at_ns) else {
                return self.advance(direction, at_ns);
            };
            waiting = kept;
        }
        self.keep(waiting, at_ns);
    }

    /// Puts a message behind those that wait.
    fn keep(&mut self, mut waiting: Waiting, at_ns: u64) {
        let direction = waiting.message.direction;
        self.n_queued += 1;
        waiting.number = self.n_queued;
        self.say_held(&waiting);
        let side = self.side_mut(direction);
        side.put(usize::MAX, waiting);
        let n_waiting: usize = self.sides.iter().map(|side| side.queue.len() + side.pending.len()).sum();
        let n_bytes: usize = self.sides.iter().map(|side| side.queue_bytes + side.pending_bytes).sum();
        if WAITING_LIMIT_MESSAGES < n_waiting || WAITING_LIMIT_BYTES < n_bytes {
            self.let_go_waiting("more waited than can be held", at_ns);
        }
    }

    fn say_held(&mut self, waiting: &Waiting) {
        if !matches!(waiting.why, Why::Behind { .. }) {
            let act = Act {
                message: Some(waiting.message.offset),
                ..Act::new(Deed::Held, stream(waiting.message.direction), waiting.by())
            };
            self.order_record(waiting.message.channel, act);
        }
        let info = self.side(waiting.message.direction).info(waiting);
        self.events.push_back(Event::Held(Box::new(info)));
    }

    /// The client, or the server, cancels a request: where that is held it has no use in being so.
    fn cancelled(&mut self, key: &crate::calls::CallKey, at_ns: u64) {
        let is_it = |waiting: &Waiting| {
            matches!(waiting.why, Why::Held { .. })
                && waiting.message.kind == What::Request
                && waiting.message.call.as_ref() == Some(key)
        };
        if let Some(held) = self.side(key.0).queue.iter().find(|waiting| is_it(waiting)) {
            let number = held.number;
            self.events.push_back(Event::Cancelled { number });
            self.release_where(key.0, is_it, "its cancellation", at_ns);
        }
    }

    fn find_broken_rules(&mut self, message: &mut Message) {
        self.n_frames += 1;
        let Some(follower) = &mut self.follower else {
            return;
        };
        let (follower, lens, meaning) = &mut **follower;
        let frame = Frame {
            seq: self.n_frames,
            wall_ns: self.session.opened_unix_ns.saturating_add(message.at_ns),
            at_ns: message.at_ns,
            stream: stream(message.direction),
            origin: Origin::Wire,
            bytes: message.bytes.clone(),
        };
        meaning.clear();
        follower.follow(&frame, lens, meaning);
        let here = meaning.findings.iter().filter(|finding| finding.at.seq == frame.seq);
        message.findings = here.map(|finding| (finding.rule.id, finding.severity as i128)).collect();
    }

    /// Has those judged that need not wait any more, and lets those go that are due.
    pub(crate) fn advance(&mut self, direction: Direction, at_ns: u64) {
        let mut index = 0;
        while let Some(waiting) = self.side(direction).queue.get(index) {
            let is_free = match &waiting.why {
                Why::Behind { .. } => {
                    match self.side(direction).blocker(index, &waiting.message, self.options.whole_stream) {
                        None => true,
                        Some(blocker) => {
                            if let Some(waiting) = self.side_mut(direction).queue.get_mut(index) {
                                waiting.why = Why::Behind { number: blocker };
                            }
                            false
                        }
                    }
                }
                Why::Delayed { until_ns, .. } | Why::Reordered { until_ns, .. } => *until_ns <= at_ns,
                Why::Held { .. } => false,
            };
            if !is_free {
                index += 1;
                continue;
            }
            let Some(waiting) = self.side_mut(direction).take(index) else {
                return;
            };
            let gone = match waiting.why.clone() {
                Why::Delayed { by, .. } => {
                    self.go_on(waiting, Deed::Delayed, by, at_ns);
                    true
                }
                Why::Reordered { by, .. } => {
                    self.go_on(waiting, Deed::Reordered, by, at_ns);
                    true
                }
                Why::Behind { .. } | Why::Held { .. } => match self.judge(waiting, at_ns) {
                    Some(waiting) => {
                        self.say_held(&waiting);
                        self.side_mut(direction).put(index, waiting);
                        false
                    }
                    None => true,
                },
            };
            // What went may have freed others that came before. What is kept may be due at once.
            let is_due = |waiting: &Waiting| waiting.until_ns().is_some_and(|until_ns| until_ns <= at_ns);
            let again = !gone && self.side(direction).queue.get(index).is_some_and(is_due);
            index = match (gone, again) {
                (true, _) => 0,
                (false, true) => index,
                (false, false) => index + 1,
            };
        }
    }

    /// What was delayed or reordered is judged by the rules that follow.
    fn go_on(&mut self, waiting: Waiting, deed: Deed, by: String, at_ns: u64) {
        self.go(waiting, Some((deed, by)), at_ns);
    }

    /// Lets those go on as they are that are such.
    pub(crate) fn release_where(&mut self, direction: Direction, is: impl Fn(&Waiting) -> bool, by: &str, at_ns: u64) {
        while let Some(index) = self.side(direction).queue.iter().position(&is) {
            if let Some(waiting) = self.side_mut(direction).take(index) {
                self.go(waiting, Some((Deed::Released, by.to_owned())), at_ns);
            }
        }
        self.advance(direction, at_ns);
    }

    /// Lets everything go that waits, in the order in which it came.
    pub(crate) fn let_go_waiting(&mut self, why: &str, at_ns: u64) {
        let n_waiting: usize = self.sides.iter().map(|side| side.queue.len()).sum();
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.finish_slow(direction);
            while let Some(waiting) = self.side_mut(direction).take(0) {
                self.go(waiting, Some((Deed::Released, why.to_owned())), at_ns);
            }
        }
        if n_waiting > 0 {
            self.events.push_back(Event::LetGo(why.to_owned()));
        }
    }
}
