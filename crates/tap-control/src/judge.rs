//! What the rules do to a message.

use bytes::Bytes;
use tap_frame::Deed;

use crate::calls::What;
use crate::chance::Chance;
use crate::debugger::Debugger;
use crate::edit::{remove, set};
use crate::live::Live;
use crate::make;
use crate::rule::{Action, Armed, Delay};
use crate::told::{Event, Order};
use crate::waiting::{Waiting, Why};

/// How long a message is kept for one that should pass it, nanoseconds.
const REORDER_NS: u64 = 1_000_000_000;

impl Debugger {
    /// Has a message judged by the rules that have not judged it yet. Given back it has to wait for what `why` says; else it
    /// is gone, whatever became of it.
    pub(crate) fn judge(&mut self, mut waiting: Waiting, at_ns: u64) -> Option<Waiting> {
        if self.is_closed_for(&waiting) {
            self.stop(waiting, Deed::Dropped, "the stream was closed".into(), at_ns);
            return None;
        }
        let mut index = 0;
        while let Some(armed) = self.rules.get_mut(index) {
            index += 1;
            if armed.number < waiting.next_rule || !armed.on {
                continue;
            }
            waiting.next_rule = armed.number + 1;
            let Some(nth) =
                hits(armed, &waiting, &self.session, self.calls.revision.as_deref(), self.options.seed, at_ns)
            else {
                // It may have looked at a request without doing anything: then it leaves the answer alone too.
                continue;
            };
            if let (What::Request, Some(key)) = (waiting.message.kind, &waiting.message.call) {
                self.calls.looked(key, armed.number);
            }
            if !nth.is_hit {
                continue;
            }
            armed.n_hits += 1;
            let (number, by, action) = (armed.number, armed.by(), armed.rule.action.clone());
            let (options, is_last) =
                (armed.options.clone(), armed.rule.when.limit.is_some_and(|limit| limit <= armed.n_hits));
            if is_last {
                armed.on = false;
                self.events.push_back(Event::Rules);
            }
            if options.temporary {
                index -= 1;
                self.rules.remove(index);
            }
            let (direction, what) = (waiting.message.direction, waiting.message.summary());
            let text = if let Action::Log(text) = &action { Some(text.clone()) } else { None };
            self.events.push_back(Event::Hit { rule: number, direction, what, text });
            let mut chance = Chance::new(self.options.seed, number, nth.nth);
            chance.next();
            waiting = match self.act(
                waiting,
                action,
                by,
                (options.stays, options.whole_stream, options.temporary),
                chance,
                at_ns,
            ) {
                Next::GoesOn(waiting) => waiting,
                Next::Waits(waiting) => return Some(waiting),
                Next::Gone => return None,
            };
        }
        self.go(waiting, None, at_ns);
        None
    }

    fn act(
        &mut self,
        mut waiting: Waiting,
        action: Action,
        by: String,
        how: (bool, bool, bool),
        mut chance: Chance,
        at_ns: u64,
    ) -> Next {
        let direction = waiting.message.direction;
        match action {
            Action::Log(text) => {
                let what = waiting.message.summary();
                let space = if text.is_empty() { "" } else { " " };
                self.orders.push_back(Order::Tell(format!("{by}: {text}{space}{} {what}", direction.arrow())));
                return Next::GoesOn(waiting);
            }
            Action::Set(place, value) => {
                let changed = set(&waiting.bytes, &place, &value);
                change(&mut waiting, changed, by);
                return Next::GoesOn(waiting);
            }
            Action::Unset(place) => {
                let changed = remove(&waiting.bytes, &place);
                change(&mut waiting, changed, by);
                return Next::GoesOn(waiting);
            }
            Action::Garbage(text) if waiting.message.channel.is_http() => {
                let channel = waiting.message.channel;
                if channel.is_stream {
                    self.put_in_stream(channel, text.replace(['\r', '\n'], " ").into(), by);
                }
                return Next::GoesOn(waiting);
            }
            Action::Garbage(text) => {
                let line: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).chain(['\n']).collect();
                self.put_in(direction, line.into_bytes().into(), by);
                return Next::GoesOn(waiting);
            }
            Action::Hold => {
                let (stays, whole_stream, temporary) = how;
                let is_watched = stays || self.n_viewers > 0;
                if self.side(direction).ended_ns.is_some() || !is_watched {
                    return Next::GoesOn(waiting);
                }
                let until_ns = self.options.hold_limit_ns.map(|limit| at_ns.saturating_add(limit));
                waiting.why = Why::Held { by, until_ns, stays, whole_stream, temporary };
                return Next::Waits(waiting);
            }
            Action::Delay(delay) => {
                let until_ns = at_ns.saturating_add(draw(delay, &mut chance));
                waiting.why = Why::Delayed { by, until_ns: self.at_most(direction, until_ns) };
                return Next::Waits(waiting);
            }
            Action::Reorder => {
                if self.side(direction).ended_ns.is_some() {
                    return Next::GoesOn(waiting);
                }
                waiting.why = Why::Reordered { by, until_ns: at_ns.saturating_add(REORDER_NS) };
                return Next::Waits(waiting);
            }
            Action::Drop => self.stop(waiting, Deed::Dropped, by, at_ns),
            Action::Error { code, message } => match self.error_for(&waiting, code, &message) {
                Some(error) => self.answer(waiting, error, by, at_ns),
                None => return Next::GoesOn(waiting),
            },
            Action::ToolError(text) => match self.tool_error_for(&waiting, &text) {
                Some(answer) => self.answer(waiting, answer, by, at_ns),
                None => return Next::GoesOn(waiting),
            },
            // One body is one message.
            Action::Duplicate if waiting.message.channel.is_lone_answer(direction) => return Next::GoesOn(waiting),
            Action::Duplicate => {
                let bytes = waiting.bytes.clone();
                self.record(&waiting, Deed::Duplicated, bytes.clone(), by, at_ns);
                self.send(&waiting, bytes.clone());
                self.send(&waiting, bytes);
                self.passed(&waiting);
            }
            Action::Truncate(length) => {
                let line = without_end(&waiting.bytes);
                let length = length.unwrap_or(line.len() / 2).min(line.len());
                let end = waiting.bytes.slice(line.len()..);
                let bytes = Bytes::from([line.get(..length).unwrap_or_default(), &end].concat());
                self.record(&waiting, Deed::Truncated, bytes.clone(), by, at_ns);
                self.send(&waiting, bytes);
                self.passed(&waiting);
            }
            Action::Corrupt => {
                let bytes = corrupted(&waiting.bytes, &mut chance);
                self.record(&waiting, Deed::Corrupted, bytes.clone(), by, at_ns);
                self.send(&waiting, bytes);
                self.passed(&waiting);
            }
            Action::Slow(bytes_per_second) => {
                self.record(&waiting, Deed::Slowed, Bytes::new(), by, at_ns);
                match waiting.message.channel.is_http() {
                    true => self.send_at(&waiting, waiting.bytes.clone(), Some(bytes_per_second)),
                    false => self.emit_slowly(direction, waiting.bytes.clone(), bytes_per_second, at_ns),
                }
                self.passed(&waiting);
            }
            Action::Close if waiting.message.channel.is_http() => self.cut(waiting, true, by, at_ns),
            Action::Cut if waiting.message.channel.is_stream => self.cut(waiting, false, by, at_ns),
            Action::Status(status) if waiting.message.channel.is_http() && !waiting.message.channel.is_stream => {
                let text = format!("the debugger answers with status {status}");
                let answer = self.error_for(&waiting, -32603, &text).unwrap_or_default();
                self.answer_in(waiting, answer, Some(status), by, at_ns);
            }
            // There is no such thing here.
            Action::Cut | Action::Status(_) => return Next::GoesOn(waiting),
            Action::Crash if waiting.message.channel.is_http() => return Next::GoesOn(waiting),
            Action::Close => {
                self.stop(waiting, Deed::Closed, by, at_ns);
                self.close(direction);
            }
            Action::Crash => {
                self.stop(waiting, Deed::Crashed, by, at_ns);
                self.orders.push_back(Order::Crash);
            }
        }
        Next::Gone
    }

    /// The error that a request is answered with, or that an answer becomes.
    pub(crate) fn error_for(&self, waiting: &Waiting, code: i64, message: &str) -> Option<Bytes> {
        let id = waiting.message.id.as_ref()?;
        let can = matches!(waiting.message.kind, What::Request | What::Result | What::Error)
            && !waiting.message.is_question_over_http();
        can.then(|| make::error(id, code, message).into())
    }

    fn tool_error_for(&self, waiting: &Waiting, text: &str) -> Option<Bytes> {
        let id = waiting.message.id.as_ref()?;
        let can = matches!(waiting.message.kind, What::Request | What::Result | What::Error)
            && waiting.message.method() == Some("tools/call");
        can.then(|| make::tool_error(id, text, self.calls.is_modern()).into())
    }
}

fn change(waiting: &mut Waiting, changed: Option<Vec<u8>>, by: String) {
    if let Some(changed) = changed.filter(|changed| changed[..] != waiting.bytes[..]) {
        waiting.bytes = changed.into();
        waiting.changed_by = Some(by);
    }
}

enum Next {
    /// To the next rule.
    GoesOn(Waiting),
    Waits(Waiting),
    Gone,
}

/// That a message fits a rule.
struct Fitted {
    /// How many did so before, and this one.
    nth: u64,
    is_hit: bool,
}

fn hits(
    armed: &mut Armed,
    waiting: &Waiting,
    session: &crate::Session,
    revision: Option<&str>,
    seed: u64,
    at_ns: u64,
) -> Option<Fitted> {
    let message = &waiting.message;
    let when = armed.rule.when;
    if when.lasts_ns.is_some_and(|lasts_ns| armed.set_at_ns.saturating_add(lasts_ns) <= at_ns)
        || message.asked.as_ref().is_some_and(|call| call.looked.contains(&armed.number))
        || !armed.rule.filter.fits(&Live { message, session, revision })
    {
        return None;
    }
    armed.n_fitted += 1;
    let nth = armed.n_fitted;
    let is_hit = nth.checked_sub(when.after).is_some_and(|nth| 0 < nth && nth % when.every.max(1) == 0)
        && when.chance.is_none_or(|chance| Chance::new(seed, armed.number, nth).unit() < chance);
    Some(Fitted { nth, is_hit })
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times to wait, in nanoseconds, below a year"
)]
fn draw(delay: Delay, chance: &mut Chance) -> u64 {
    match delay {
        Delay::Fixed(ns) => ns,
        Delay::Range(from, to) => from + chance.below(to - from + 1),
        Delay::Normal(mean, deviation) => (mean as f64 + deviation as f64 * chance.normal()).max(0.0) as u64,
        Delay::Exponential(mean) => (mean as f64 * chance.exponential()) as u64,
    }
}

/// A line without its ending.
fn without_end(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// A line of which one byte in sixteen, but at least one, is another one; none becomes the end of a line.
fn corrupted(line: &[u8], chance: &mut Chance) -> Bytes {
    let mut bytes = line.to_vec();
    let length = without_end(line).len();
    for _ in 0..length.div_ceil(16) {
        let at = usize::try_from(chance.below(length as u64)).unwrap_or_default();
        if let Some(byte) = bytes.get_mut(at) {
            let other = byte.wrapping_add(1 + (chance.below(254) as u8));
            *byte = match (other, *byte) {
                (b'\n' | b'\r', b'?') => b'!',
                (b'\n' | b'\r', _) => b'?',
                _ => other,
            };
        }
    }
    bytes.into()
}
