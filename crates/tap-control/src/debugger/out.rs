//! What goes out: messages that go on, what goes in their place, what is recorded of that, and in which order lines leave.

use bytes::Bytes;
use tap_frame::{Act, Deed, Direction};

use super::{Debugger, END_PATIENCE_NS, WAITING_LIMIT_BYTES, WAITING_LIMIT_MESSAGES, stream};
use crate::calls::{Message, What};
use crate::channel::Channel;
use crate::told::{Event, HttpOrder, Order};
use crate::waiting::{Slow, Waiting, Why};

/// How often a line that goes out slowly goes on, at most: ten times a second.
const SLOW_STEPS: u64 = 10;

impl Debugger {
    /// A message goes on as it is.
    pub(crate) fn go(&mut self, waiting: Waiting, how: Option<(Deed, String)>, at_ns: u64) {
        if self.is_closed_for(&waiting) {
            return self.stop(waiting, Deed::Dropped, "the stream was closed".into(), at_ns);
        }
        let bytes = waiting.bytes.clone();
        let behind = || (Deed::Delayed, "another message that was held".to_owned());
        match (&waiting.changed_by, how.or_else(|| (waiting.number > 0).then(behind))) {
            (Some(by), _) => self.record(&waiting, Deed::Edited, bytes.clone(), by.clone(), at_ns),
            (None, Some((deed, by))) => self.record(&waiting, deed, Bytes::new(), by, at_ns),
            (None, None) => {}
        }
        self.send(&waiting, bytes);
        self.passed(&waiting);
    }

    /// Whether a message cannot go on, because what it would go out by was closed.
    pub(crate) fn is_closed_for(&self, waiting: &Waiting) -> bool {
        !waiting.message.channel.is_http() && self.side(waiting.message.direction).closed
    }

    /// A message does not go on.
    pub(crate) fn stop(&mut self, waiting: Waiting, deed: Deed, by: String, at_ns: u64) {
        self.record(&waiting, deed, Bytes::new(), by, at_ns);
        self.forget(&waiting);
    }

    /// This goes back, or in the place of an answer on.
    pub(crate) fn answer(&mut self, waiting: Waiting, answer: Bytes, by: String, at_ns: u64) {
        let (direction, channel) = (waiting.message.direction, waiting.message.channel);
        if channel.is_http() {
            return self.answer_in(waiting, answer, None, by, at_ns);
        }
        if waiting.message.kind == What::Request {
            self.record(&waiting, Deed::Answered, answer.clone(), by, at_ns);
            self.forget(&waiting);
            self.emit(direction.reversed(), answer);
        } else {
            self.record(&waiting, Deed::Edited, answer.clone(), by, at_ns);
            self.emit(direction, answer);
            self.passed(&waiting);
        }
    }

    /// Sends an event over HTTP that nobody has sent.
    pub(crate) fn put_in_stream(&mut self, channel: Channel, bytes: Bytes, by: String) {
        let direction = Direction::ToClient;
        let act = Act { bytes: bytes.clone(), ..Act::new(Deed::Injected, stream(direction), by) };
        self.order_record(channel, act);
        let sent = HttpOrder::Send { direction, of: None, bytes, bytes_per_second: None };
        self.orders.push_back(Order::Http(channel.exchange, sent));
    }

    /// Sends what nobody has sent.
    pub(crate) fn put_in(&mut self, direction: Direction, bytes: Bytes, by: String) {
        let act = Act { bytes: bytes.clone(), ..Act::new(Deed::Injected, stream(direction), by) };
        self.orders.push_back(Order::Record(act));
        self.emit(direction, bytes);
    }

    pub(crate) fn record(&mut self, waiting: &Waiting, deed: Deed, bytes: Bytes, by: String, at_ns: u64) {
        let held_ns = if waiting.number > 0 { at_ns.saturating_sub(waiting.message.at_ns) } else { 0 };
        if waiting.number > 0 {
            self.events.push_back(Event::Went { number: waiting.number, deed, by: by.clone(), held_ns });
        }
        let message = Some(waiting.message.offset);
        let act = Act { message, held_ns, bytes, ..Act::new(deed, stream(waiting.message.direction), by) };
        self.order_record(waiting.message.channel, act);
    }

    pub(crate) fn order_record(&mut self, channel: Channel, act: Act) {
        self.orders.push_back(match channel.is_http() {
            true => Order::Http(channel.exchange, HttpOrder::Record(act)),
            false => Order::Record(act),
        });
    }

    /// Over HTTP the client gets this: in the server's place, or in that of its answer.
    pub(crate) fn answer_in(&mut self, waiting: Waiting, answer: Bytes, status: Option<u16>, by: String, at_ns: u64) {
        // There are no lines there.
        let bytes = answer.slice(..answer.trim_ascii_end().len());
        let exchange = waiting.message.channel.exchange;
        match waiting.message.direction {
            Direction::ToServer => {
                let deed = if bytes.is_empty() { Deed::Dropped } else { Deed::Answered };
                self.record(&waiting, deed, bytes.clone(), by, at_ns);
                self.orders.push_back(Order::Http(exchange, HttpOrder::Answer { bytes, status }));
                self.forget(&waiting);
            }
            Direction::ToClient => {
                self.record(&waiting, Deed::Edited, bytes.clone(), by, at_ns);
                match status {
                    Some(_) => self.orders.push_back(Order::Http(exchange, HttpOrder::Answer { bytes, status })),
                    None => self.send(&waiting, bytes),
                }
                self.passed(&waiting);
            }
        }
    }

    /// Over HTTP the exchange of a message ends before it.
    pub(crate) fn cut(&mut self, waiting: Waiting, is_broken: bool, by: String, at_ns: u64) {
        let (direction, exchange) = (waiting.message.direction, waiting.message.channel.exchange);
        self.stop(waiting, Deed::Closed, by, at_ns);
        self.orders.push_back(Order::Http(exchange, HttpOrder::Cut { direction, is_broken }));
        self.drop_those_in(exchange, "the exchange was cut", at_ns);
    }

    /// Says that nothing more goes on in an exchange: its client went away, or it is over. What waits of it is dropped.
    /// `answers_elsewhere` says that what was asked in it may be answered in another one.
    pub fn leave(&mut self, exchange: u64, answers_elsewhere: bool, at_ns: u64) {
        self.drop_those_in(exchange, "the client went away", at_ns);
        if !answers_elsewhere {
            self.calls.forget(exchange);
        }
        for direction in [Direction::ToServer, Direction::ToClient] {
            self.advance(direction, at_ns);
        }
    }

    fn drop_those_in(&mut self, exchange: u64, why: &str, at_ns: u64) {
        for direction in [Direction::ToServer, Direction::ToClient] {
            let is_in = |waiting: &Waiting| waiting.message.channel.exchange == exchange;
            while let Some(index) = self.side(direction).queue.iter().position(is_in) {
                if let Some(waiting) = self.side_mut(direction).take(index) {
                    self.stop(waiting, Deed::Dropped, why.to_owned(), at_ns);
                }
            }
        }
    }

    /// Sends a message, or what goes in its place the same way.
    pub(crate) fn send(&mut self, waiting: &Waiting, bytes: Bytes) {
        self.send_at(waiting, bytes, None);
    }

    pub(crate) fn send_at(&mut self, waiting: &Waiting, bytes: Bytes, bytes_per_second: Option<u64>) {
        let Message { direction, channel, offset, .. } = waiting.message;
        match channel.is_http() {
            true => {
                let sent = HttpOrder::Send { direction, of: Some(offset), bytes, bytes_per_second };
                self.orders.push_back(Order::Http(channel.exchange, sent));
            }
            false => self.emit(direction, bytes),
        }
    }

    fn say_over(&mut self, waiting: &Waiting, is_gone: bool) {
        let Message { direction, channel, offset, .. } = waiting.message;
        if channel.is_http() {
            let over = HttpOrder::Over { direction, of: offset, is_gone };
            self.orders.push_back(Order::Http(channel.exchange, over));
        }
    }

    /// A call whose request does not go on is not one.
    fn forget(&mut self, waiting: &Waiting) {
        self.say_over(waiting, true);
        if let (What::Request, Some(key)) = (waiting.message.kind, &waiting.message.call) {
            self.calls.close(key);
        }
    }

    /// A message has passed: those that were to be passed can follow.
    pub(crate) fn passed(&mut self, waiting: &Waiting) {
        self.say_over(waiting, false);
        for other in &mut self.side_mut(waiting.message.direction).queue {
            if let Why::Reordered { until_ns, .. } = &mut other.why {
                *until_ns = 0;
            }
        }
    }

    /// When something goes on that is to do so then: after the end of its stream not much later.
    pub(crate) fn at_most(&self, direction: Direction, until_ns: u64) -> u64 {
        match self.side(direction).ended_ns {
            Some(ended_ns) => until_ns.min(ended_ns.saturating_add(END_PATIENCE_NS)),
            None => until_ns,
        }
    }

    /// Sends a line, after the one that is on its way.
    pub(crate) fn emit(&mut self, direction: Direction, bytes: Bytes) {
        let side = self.side_mut(direction);
        if side.closed {
            return;
        }
        if side.slow.is_none() && !side.mid_line && !side.entering {
            return self.put_line(direction, bytes);
        }
        let is_full = WAITING_LIMIT_MESSAGES < side.pending.len() || WAITING_LIMIT_BYTES < side.pending_bytes;
        if !is_full {
            side.pending_bytes += bytes.len();
            side.pending.push(bytes);
        } else if side.slow.is_some() {
            self.finish_slow(direction);
            self.emit(direction, bytes);
        } else {
            // Its place would be in the middle of a line of somebody else's.
            let act = Act { bytes, ..Act::new(Deed::Dropped, stream(direction), "more waited than can be held") };
            self.orders.push_back(Order::Record(act));
        }
    }

    /// Sends bytes as they are.
    pub(super) fn put_out(&mut self, direction: Direction, bytes: Bytes) {
        if let Some(last) = bytes.last() {
            self.side_mut(direction).open_line = *last != b'\n';
            self.orders.push_back(Order::Send { direction, bytes });
        }
    }

    /// Ends the line that went out last, where it has no end of its own: what follows is not to become part of it.
    pub(super) fn end_open_line(&mut self, direction: Direction) {
        if self.side(direction).open_line {
            self.put_out(direction, Bytes::from_static(b"\n"));
        }
    }

    /// Sends bytes that begin a line.
    pub(super) fn put_line(&mut self, direction: Direction, bytes: Bytes) {
        if !bytes.is_empty() {
            self.end_open_line(direction);
            self.put_out(direction, bytes);
        }
    }

    pub(crate) fn emit_slowly(&mut self, direction: Direction, bytes: Bytes, bytes_per_second: u64, at_ns: u64) {
        let side = self.side_mut(direction);
        if side.closed || side.slow.is_some() || side.mid_line || side.entering || side.ended_ns.is_some() {
            return self.emit(direction, bytes);
        }
        self.end_open_line(direction);
        self.side_mut(direction).slow = Some(Slow { rest: bytes, bytes_per_second, next_ns: at_ns });
        self.go_on_slowly(direction, at_ns);
    }

    pub(super) fn go_on_slowly(&mut self, direction: Direction, at_ns: u64) {
        let Some(slow) = self.side_mut(direction).slow.as_mut().filter(|slow| slow.next_ns <= at_ns) else {
            return;
        };
        let n_bytes = (slow.bytes_per_second / SLOW_STEPS).max(1);
        let part = slow.rest.split_to(usize::try_from(n_bytes).unwrap_or(usize::MAX).min(slow.rest.len()));
        slow.next_ns = at_ns.saturating_add(n_bytes.saturating_mul(1_000_000_000) / slow.bytes_per_second.max(1));
        let is_done = slow.rest.is_empty();
        self.put_out(direction, part);
        if is_done {
            self.side_mut(direction).slow = None;
            self.send_pending(direction);
        }
    }

    pub(super) fn finish_slow(&mut self, direction: Direction) {
        if let Some(slow) = self.side_mut(direction).slow.take() {
            self.put_out(direction, slow.rest);
            self.send_pending(direction);
        }
    }

    pub(super) fn send_pending(&mut self, direction: Direction) {
        for bytes in self.side_mut(direction).clear_pending() {
            self.put_line(direction, bytes);
        }
    }

    /// Ends the stream in this direction.
    pub(crate) fn close(&mut self, direction: Direction) {
        self.orders.push_back(Order::Close(direction));
        let side = self.side_mut(direction);
        side.closed = true;
        side.slow = None;
        side.clear_pending();
        self.nobody_answers(direction);
    }
}
