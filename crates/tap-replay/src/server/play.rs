//! What is said because of a request, and when: step by step as it was recorded, with what the server said on its own between.
//!
//! Nothing waits for what may never come. Three things wait: what was recorded after the client's answer to a request of the
//! server's; what was recorded after the client cancelled the call; and what a subscription brings, until the client has said
//! what it had said by then.

use bytes::Bytes;
use tap_compare::{Markers, Options as CompareOptions, Side, Walks, compare, reasons};
use tap_jsonrpc::{RawId, other_type, same_number};

use super::{Asked, Live, Output, Place, Player, Playing};
use crate::message::{Message, Nature, Role};
use crate::miss::Reason;
use crate::options::{MissingCapability, Unanswered};
use crate::report::NoteKind;
use crate::rewrite::{self, Translation};

/// What is next of a conversation.
enum Next {
    Free,
    Step(u64),
    /// The steps of an interaction are over and there was no answer.
    Over(u64),
}

impl Player {
    /// A live request gets what a recorded one got.
    pub(super) fn play(
        &mut self,
        place: Place,
        interaction: usize,
        live: Live,
        is_repeat: bool,
        outputs: &mut Vec<Output>,
    ) {
        let translation = self.translation(place, interaction, &live);
        let is_listen = live.method == "subscriptions/listen";
        let layer = self.layer(place);
        if !is_listen {
            layer.read_until_over(place.act, interaction);
        }
        let act = &mut layer.acts[place.act];
        act.uses(interaction);
        let request = act.script.interactions()[interaction].request;
        act.reach(request);
        layer.read_around(place.act);
        let name = layer.name.clone();
        match self.report.answered.iter_mut().find(|(this, _)| *this == name) {
            Some((_, n)) => *n += 1,
            None => self.report.answered.push((name, 1)),
        }
        self.report.n_repeated += u64::from(is_repeat);
        self.n_played += 1;
        let playing = Playing {
            place,
            interaction,
            live,
            next: 0,
            cause: request,
            waits_for: None,
            is_answered: false,
            translation,
        };
        self.playing.insert(self.n_played, playing);
        self.run(place, outputs);
    }

    /// Says everything of a conversation that may be said now, in recorded order.
    fn run(&mut self, place: Place, outputs: &mut Vec<Output>) {
        while let Some(next) = self.next(place) {
            match next {
                Next::Free => self.say_free(place, outputs),
                Next::Step(number) => self.step(number, outputs),
                Next::Over(number) => self.over(number, outputs),
            }
        }
    }

    fn next(&self, place: Place) -> Option<Next> {
        let act = self.layers.get(place.layer)?.acts.get(place.act)?;
        let mut best = act.free().map(|free| (free, 0, Next::Free));
        for (number, playing) in self.playing.iter().filter(|(_, playing)| playing.place == place) {
            if playing.waits_for.is_some() || self.is_held(playing) {
                continue;
            }
            let interaction = act.script.interactions().get(playing.interaction)?;
            let is_listen = playing.live.method == "subscriptions/listen";
            let next = match interaction.steps.get(playing.next) {
                Some(step) => {
                    let after = act.script.messages().get(*step)?.after;
                    if is_listen && !act.may_say(after) {
                        continue;
                    }
                    (*step, *number, Next::Step(*number))
                }
                // It stays open for what may come.
                None if is_listen && interaction.answer.is_none() => continue,
                None => (usize::MAX, *number, Next::Over(*number)),
            };
            if best.as_ref().is_none_or(|best| (next.0, next.1) < (best.0, best.1)) {
                best = Some(next);
            }
        }
        best.map(|(_, _, next)| next)
    }

    /// Whether what comes next of an interaction was recorded after the client had cancelled it, and this one may still do so.
    pub(super) fn is_held(&self, playing: &Playing) -> bool {
        let held = || {
            let act = self.layers.get(playing.place.layer)?.acts.get(playing.place.act)?;
            let interaction = act.script.interactions().get(playing.interaction)?;
            let cancelled = interaction.cancelled_by?;
            let is_behind = interaction.steps.get(playing.next).is_none_or(|step| cancelled < *step);
            Some(is_behind && act.reached <= Some(cancelled) && !playing.is_answered && !self.has_ended)
        };
        held().unwrap_or(false)
    }

    fn recorded(&mut self, place: Place, message: usize) -> Option<(Message, Bytes)> {
        let layer = self.layers.get_mut(place.layer)?;
        let bytes = layer.body(place.act, message);
        let message = layer.acts.get(place.act)?.script.messages().get(message)?.clone();
        let has_placeholders = layer.has_placeholders && !message.is_literal;
        let bytes = match has_placeholders && !message.is_of_client() {
            true => rewrite::fixed(bytes.to_vec(), message.number).into(),
            false => bytes,
        };
        Some((message, bytes))
    }

    fn gap_ns(&self, place: Place, cause: Option<usize>, message: &Message) -> u64 {
        let act = self.layers.get(place.layer).and_then(|layer| layer.acts.get(place.act));
        let cause = act.zip(cause).and_then(|(act, cause)| act.script.messages().get(cause));
        message.at_ns.saturating_sub(cause.map_or(0, |cause| cause.at_ns))
    }

    fn say_free(&mut self, place: Place, outputs: &mut Vec<Output>) {
        let act = &mut self.layer(place).acts[place.act];
        let Some(free) = act.free() else {
            return;
        };
        act.pass_free();
        let Some((message, bytes)) = self.recorded(place, free) else {
            return;
        };
        let gap_ns = self.gap_ns(place, message.after, &message);
        match message.nature {
            Nature::Request => {
                if let Some(missing) = self.undeclared(message.method(), None) {
                    self.left_out(&message, &missing, outputs);
                } else {
                    self.ask(place, free, &message, &bytes, None, gap_ns, outputs);
                }
            }
            // An answer to nothing that was asked would be taken for one to something else.
            Nature::Result | Nature::Error => {}
            Nature::Notification | Nature::Other => outputs.push(Output::Send { bytes: bytes.to_vec(), gap_ns }),
        }
    }

    fn left_out(&mut self, message: &Message, missing: &str, outputs: &mut Vec<Output>) {
        let text = format!("left out {}: the client has not declared `{missing}`", message.method());
        self.note(NoteKind::MissingCapability, text, outputs);
    }

    /// Sends a request of the server's, with its own id if no other one is open with that.
    #[expect(clippy::too_many_arguments, reason = "what is asked, where it is from, and for whom")]
    fn ask(
        &mut self,
        place: Place,
        index: usize,
        message: &Message,
        bytes: &Bytes,
        playing: Option<u64>,
        gap_ns: u64,
        outputs: &mut Vec<Output>,
    ) -> Option<RawId> {
        let own = message.id.clone()?;
        let id = self.free_id(own);
        outputs.push(Output::Send { bytes: rewrite::with_id(bytes, id.as_bytes()), gap_ns });
        self.asked.insert(id.clone(), Asked { place, message: index, playing });
        Some(id)
    }

    /// The id of a request of a server's as the client gets it: its own, if no other one is open with that.
    pub(super) fn free_id(&mut self, own: RawId) -> RawId {
        if !self.asked.contains_key(&own) && !self.real.asks(&own) {
            return own;
        }
        self.n_ids += 1;
        RawId::from_token(format!("\"mcp-tap-{}\"", self.n_ids).as_bytes())
    }

    /// The next step of an interaction.
    fn step(&mut self, number: u64, outputs: &mut Vec<Output>) {
        let Some(playing) = self.playing.get_mut(&number) else {
            return;
        };
        let (place, interaction, next) = (playing.place, playing.interaction, playing.next);
        playing.next += 1;
        let step = self.layer(place).acts[place.act].script.interactions()[interaction].steps.get(next).copied();
        let Some((step, (message, bytes))) = step.and_then(|step| Some((step, self.recorded(place, step)?))) else {
            return;
        };
        let Some(playing) = self.playing.get_mut(&number) else {
            return;
        };
        let cause = std::mem::replace(&mut playing.cause, step);
        let gap_ns = self.gap_ns(place, Some(cause), &message);
        match (message.role, message.nature) {
            (Role::Answer(_), _) => self.say_answer(number, &bytes, gap_ns, outputs),
            (_, Nature::Request) => self.step_asks(number, step, &message, &bytes, gap_ns, outputs),
            _ => self.step_says(number, &message, &bytes, gap_ns, outputs),
        }
    }

    fn step_says(&mut self, number: u64, message: &Message, bytes: &Bytes, gap_ns: u64, outputs: &mut Vec<Output>) {
        let Some(playing) = self.playing.get(&number) else {
            return;
        };
        let bytes = match message.method() {
            "notifications/progress" => match &playing.live.token {
                Some(token) => rewrite::progress(bytes, token.as_bytes()),
                None => {
                    self.report.n_progress_left_out += 1;
                    return;
                }
            },
            _ if playing.live.method == "subscriptions/listen" => {
                rewrite::of_subscription(bytes, playing.live.id.as_bytes())
            }
            _ => bytes.to_vec(),
        };
        outputs.push(Output::Send { bytes, gap_ns });
    }

    fn step_asks(
        &mut self,
        number: u64,
        step: usize,
        message: &Message,
        bytes: &Bytes,
        gap_ns: u64,
        outputs: &mut Vec<Output>,
    ) {
        let Some(playing) = self.playing.get(&number) else {
            return;
        };
        let place = playing.place;
        if playing.translation == Some(Translation::ToModern) {
            let detail =
                format!("the server asks the client for {} here, in the way of the legacy era", message.method());
            return self.fails(number, Reason::OtherRevision, detail, outputs);
        }
        if let Some(missing) = self.undeclared(message.method(), Some(&playing.live)) {
            if self.options.missing_capability == MissingCapability::Error {
                let detail = format!("{} needs `{missing}`, which the client has not declared", message.method());
                return self.fails(number, Reason::MissingCapability, detail, outputs);
            }
            return self.left_out(message, &missing, outputs);
        }
        let id = self.ask(place, step, message, bytes, Some(number), gap_ns, outputs);
        // Where the recorded client gave no answer either, what comes next did not wait for one.
        let waits_for = id.filter(|_| message.reply.is_some());
        if let Some(playing) = self.playing.get_mut(&number) {
            playing.waits_for = waits_for;
        }
    }

    fn say_answer(&mut self, number: u64, recorded: &Bytes, gap_ns: u64, outputs: &mut Vec<Output>) {
        let Some(playing) = self.playing.get_mut(&number) else {
            return;
        };
        if playing.is_answered {
            return;
        }
        let bytes = match playing.translation {
            None => Some(recorded.to_vec()),
            Some(translation) => rewrite::translated(recorded, &playing.live.method, translation),
        };
        let Some(bytes) = bytes else {
            let detail = "the server asks the client for more here, in the way of the modern era".into();
            return self.fails(number, Reason::OtherRevision, detail, outputs);
        };
        playing.is_answered = true;
        let (live, batch) = (playing.live.clone(), playing.live.batch);
        for layer in self.layers.iter_mut().filter(|_| Walks::goes_on(recorded)) {
            if let Some(key) = layer.walks.key(&live.bytes, &layer.rules) {
                layer.walks.answered(&key, recorded);
            }
        }
        let bytes = rewrite::answer(&bytes, live.id.as_bytes(), self.options.no_cache);
        self.send_answer(batch, bytes, gap_ns, outputs);
    }

    /// An interaction gets an error in the place of its recorded answer.
    fn fails(&mut self, number: u64, reason: Reason, detail: String, outputs: &mut Vec<Output>) {
        if let Some(playing) = self.playing.remove(&number)
            && !playing.is_answered
        {
            self.miss(playing.live, reason, Some(detail), outputs);
        }
    }

    /// The steps of an interaction are over.
    fn over(&mut self, number: u64, outputs: &mut Vec<Output>) {
        let Some(playing) = self.playing.remove(&number) else {
            return;
        };
        if playing.is_answered {
            return;
        }
        let act = &self.layer(playing.place).acts[playing.place.act];
        let is_cancelled = act.script.interactions()[playing.interaction].cancelled_by.is_some();
        if self.options.unanswered == Unanswered::Error {
            let detail = is_cancelled.then(|| "the client cancelled it there, and this one has not".into());
            self.miss(playing.live, Reason::Unanswered, detail, outputs);
        }
    }

    /// The client answers a request of the server's.
    pub(super) fn reply(&mut self, id: &RawId, bytes: &Bytes, outputs: &mut Vec<Output>) {
        if self.reply_to_real(id, bytes, outputs) {
            return;
        }
        let ways: [fn(&RawId, &RawId) -> bool; 3] = [|one, other| one == other, same_number, other_type];
        let found = ways.into_iter().find_map(|way| self.asked.keys().find(|asked| way(asked, id)).cloned());
        let Some((found, asked)) = found.and_then(|id| Some((id.clone(), self.asked.remove(&id)?))) else {
            let text = format!("the client answered {id}, which it was not asked");
            return self.note(NoteKind::UnknownReply, text, outputs);
        };
        let place = asked.place;
        let reply = self.layer(place).acts[place.act].script.messages().get(asked.message).and_then(|this| this.reply);
        let mut differs = None;
        if let Some(reply) = reply {
            differs = self.differs(place, asked.message, reply, bytes);
            self.layer(place).acts[place.act].reach(reply);
            self.layer(place).read_around(place.act);
        }
        if let Some(number) = asked.playing
            && let Some(playing) = self.playing.get_mut(&number)
            && playing.waits_for.as_ref() == Some(&found)
        {
            playing.waits_for = None;
            playing.cause = reply.unwrap_or(playing.cause);
        }
        if let Some(text) = differs {
            self.note(NoteKind::OtherReply, text.clone(), outputs);
            if let Some(number) = asked.playing.filter(|_| self.options.strict_replies) {
                self.fails(number, Reason::OtherReply, text, outputs);
            }
        }
        self.run(place, outputs);
    }

    /// In what an answer of the client's differs from the recorded one.
    fn differs(&mut self, place: Place, asked: usize, reply: usize, got: &[u8]) -> Option<String> {
        let recorded = self.layer(place).body(place.act, reply);
        let layer = &self.layers[place.layer];
        let method = layer.acts[place.act].script.messages().get(asked)?.method().to_owned();
        let dials = layer.rules.dials(None);
        let options = CompareOptions::new(&dials, Side::Response);
        let comparison = compare(&recorded, got, &options, &mut Markers::new());
        let first = reasons(&comparison).into_iter().next()?;
        let shown = |json: Option<&[u8]>| {
            json.map_or_else(|| "nothing".into(), |json| crate::miss::cut(&String::from_utf8_lossy(json)))
        };
        Some(format!(
            "the client answered {method} otherwise than recorded: {} recorded {}, got {}",
            first.path.dotted(Side::Response),
            shown(first.recorded.as_deref()),
            shown(first.got.as_deref())
        ))
    }

    /// A notification of the client's: it is as far as the recorded one was with that.
    pub(super) fn notice(&mut self, method: &str, outputs: &mut Vec<Output>) {
        let Some(place) = self.chosen else {
            return;
        };
        let Some(message) = self.layer(place).acts[place.act].take_notice(method) else {
            return;
        };
        self.reached(place, message, outputs);
    }

    fn reached(&mut self, place: Place, message: usize, outputs: &mut Vec<Output>) {
        self.layer(place).acts[place.act].reach(message);
        self.layer(place).read_around(place.act);
        self.run(place, outputs);
    }

    /// The client cancels a request: nothing more is said because of it.
    pub(super) fn cancel(&mut self, id: &RawId, bytes: &Bytes, outputs: &mut Vec<Output>) {
        if self.cancel_at_real(id, bytes, outputs) {
            return;
        }
        let found = self.playing.iter().find(|(_, playing)| playing.live.id == *id && !playing.is_answered);
        let Some(number) = found.map(|(number, _)| *number) else {
            return;
        };
        let Some(playing) = self.playing.remove(&number) else {
            return;
        };
        self.asked.retain(|_, asked| asked.playing != Some(number));
        if let Some(batch) = playing.live.batch {
            self.part_is_answered(batch, None, 0, outputs);
        }
        let act = &self.layer(playing.place).acts[playing.place.act];
        if let Some(message) = act.script.interactions()[playing.interaction].cancelled_by {
            self.reached(playing.place, message, outputs);
        }
    }

    /// Everything that waits goes on.
    pub(super) fn give_up(&mut self, outputs: &mut Vec<Output>) {
        let had_ended = std::mem::replace(&mut self.has_ended, true);
        let waiting = self.playing.iter().filter(|(_, playing)| playing.waits_for.is_some());
        let waiting: Vec<u64> = waiting.map(|(number, _)| *number).collect();
        for number in waiting {
            let detail = "the client did not answer what the server asked".into();
            self.fails(number, Reason::OtherReply, detail, outputs);
        }
        for layer in 0..self.layers.len() {
            for act in 0..self.layers[layer].acts.len() {
                self.run(Place { layer, act }, outputs);
            }
        }
        self.has_ended = had_ended;
    }
}
