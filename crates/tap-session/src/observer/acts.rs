//! What was done to the traffic: which rows it makes and changes, and which requests wait then.

use tap_frame::{Act, Became, Deed, Direction};
use tap_jsonrpc::{Notes, RawId, Scanned};

use super::{Event, Observer, Stamp, WaitingRequest};
use crate::passed::Which;
use crate::row::{At, Done, MessageRow, RowKind};

impl Observer {
    /// Takes what was done to the traffic, and appends what it meant. `scanned` is what a scan of the bytes that were sent
    /// found; `act` need not hold them.
    ///
    /// Who sent a message and who gets it are no longer of one mind then. Requests wait as the side knows them that is to
    /// answer: one that did not go on does not wait, what went on in its place does.
    /// `message` is the number of the message that it was done to, where it is known otherwise than by its place;
    /// `head_bytes` how long the text of the act is before what was sent.
    pub fn observe_act(
        &mut self,
        stamp: &Stamp,
        act: &Act,
        message: Option<u64>,
        head_bytes: u64,
        scanned: &Scanned,
        events: &mut Vec<Event>,
    ) {
        let which = match message {
            Some(seq) => Some(Which::Seq(seq)),
            None => act.message.map(|begins| Which::Begins(act.stream, begins)),
        };
        let message = which.and_then(|which| self.passed.find(which, act.deed));
        let original = message.as_ref().map(|message| At { seq: message.seq, member: 0 });
        let mut stood = Vec::new();
        if let Some(message) = &message {
            match act.deed.became() {
                Became::Waiting => {}
                Became::WentOn => self.went_on(message.seq, act.held_ns),
                // One that is answered in the other side's place waits for that.
                Became::Stopped if act.deed == Deed::Answered => {}
                Became::Replaced | Became::Stopped => stood = self.forget_frame(message.seq),
            }
            let at = At { seq: stamp.seq, member: 0 };
            let done = Box::new(Done::to_message(act, at));
            events.push(Event::Done { seq: message.seq, done });
        }
        let first = events.len();
        let row = |kind| MessageRow {
            at: At { seq: stamp.seq, member: 0 },
            wall_ns: stamp.wall_ns,
            at_ns: stamp.at_ns,
            stream: act.sent_on(),
            kind,
            raw_id: None,
            method: None,
            target: None,
            status: None,
            error_code: None,
            pair: None,
            latency_ns: None,
            lost_bytes: None,
            notes: Notes::default(),
            done: None,
            received: None,
        };
        if act.lost_bytes > 0 {
            events.push(Event::Row(MessageRow { lost_bytes: Some(act.lost_bytes), ..row(RowKind::Gap) }));
        } else if act.deed.sends() {
            // What we say is not how a peer introduces itself.
            let identity = self.identity.clone();
            let row = |kind| MessageRow { notes: scanned.notes, ..row(kind) };
            let stamp = Stamp { stream: act.sent_on(), ..*stamp };
            self.content(&stamp, scanned, row, events);
            self.identity = identity;
        } else {
            events.push(Event::Row(row(RowKind::Act)));
        }
        if act.deed == Deed::Answered
            && let Some(message) = &message
        {
            self.forget_frame(message.seq);
        }
        let answers = message.as_ref().and_then(|message| message.answers.as_deref());
        for event in &mut events[first..] {
            let Event::Row(row) = event else {
                continue;
            };
            let mut done = Done { head_bytes, ..Done::of_act(act, original) };
            // Instead of an answer, or besides, another one went on: it answers the same request.
            if let (None, Some(answers)) = (row.pair, answers)
                && row.status.is_some()
                && row.raw_id.as_ref() == Some(&answers.raw_id)
            {
                row.pair = Some(answers.request);
                (row.method, row.target) = (answers.method.clone(), answers.target.clone());
            }
            if let (RowKind::Request, Some(raw_id)) = (row.kind, &row.raw_id) {
                // Of a batch nobody knows which is which.
                let original = stood.iter().find(|request| request.at.member == 0);
                let key = (stamp.scope, row.stream.direction(), raw_id.clone());
                if let (Some(original), Some(queue)) = (original, self.waiting.get_mut(&key))
                    && let Some(made) = queue.iter_mut().find(|request| request.at == row.at)
                {
                    made.stands_for = Some(original.at);
                    done.waits = true;
                }
            }
            row.done = Some(Box::new(done));
        }
    }

    /// The requests of a frame went on so long after they came.
    fn went_on(&mut self, seq: u64, held_ns: u64) {
        for key in self.keys_of(seq) {
            for request in self.waiting.get_mut(&key).into_iter().flatten().filter(|request| request.at.seq == seq) {
                request.held_ns = held_ns;
            }
        }
    }

    /// Waits no longer for answers to the requests of a frame.
    fn forget_frame(&mut self, seq: u64) -> Vec<WaitingRequest> {
        let mut forgotten = Vec::new();
        for (scope, direction, raw_id) in self.keys_of(seq) {
            let queue = self.waiting.get(&(scope, direction, raw_id.clone()));
            let these: Vec<_> = queue.into_iter().flatten().filter(|request| request.at.seq == seq).cloned().collect();
            for request in these {
                self.forget(scope, direction, &raw_id, request.at);
                forgotten.push(request);
            }
        }
        forgotten
    }

    /// Under which ids requests of a frame wait. Looks at all that wait: little is done to messages, compared to how many
    /// there are.
    fn keys_of(&self, seq: u64) -> Vec<(u64, Direction, RawId)> {
        let mut keys: Vec<_> = self
            .waiting
            .iter()
            .filter(|(_, queue)| queue.iter().any(|request| request.at.seq == seq))
            .map(|(key, queue)| (queue.iter().map(|request| request.at).min(), key.clone()))
            .collect();
        keys.sort_by_key(|(first, _)| *first);
        keys.into_iter().map(|(_, key)| key).collect()
    }
}
