//! A session as one side sees it: what it sent, and what reached it.
//!
//! As long as nothing is done to the traffic there is one view. When a debugger changes what goes on, each side has a
//! conversation of its own, and is judged in that alone: the client by what it sent and what it was given, the server
//! likewise. So nobody is blamed for what we did.
//!
//! That a message did not go on is known only after it came. A view therefore remembers the newest frames and what it was
//! before them, and is taken anew from there.

use std::sync::Arc;

use imbl::Vector;
use tap_frame::{Direction, Frame, Origin};
use tap_jsonrpc::{RawId, Scanned};

use crate::follow::{Lens, Meaning};
use crate::machine::{Found, Machine};
use crate::observer::{Event, Observer, Stamp};
use crate::row::{At, MessageRow};
use crate::state::sender;

/// Frames between two copies that are kept. So many to twice as many can be taken anew.
const FRAMES: usize = 32;

/// Bytes of frames that are remembered for that, at most.
const BYTES: usize = 256 * 1024;

/// A session as somebody sees it.
#[derive(Debug, Clone, Default)]
pub(crate) struct View {
    pub(crate) observer: Observer,
    pub(crate) machine: Machine,
    past: Past,
}

/// What is needed to take the newest frames anew.
#[derive(Debug, Clone, Default)]
struct Past {
    /// What was before the first of the frames, and before the later ones among them.
    copies: [Option<Arc<(Observer, Machine)>>; 2],
    frames: [Vector<(Stamp, Frame)>; 2],
    n_bytes: usize,
}

impl View {
    pub(crate) fn new(machine: Machine) -> Self {
        Self { observer: Observer::default(), machine, past: Past::default() }
    }

    /// Takes a frame that reached this side, or that it sent.
    pub(crate) fn take(&mut self, stamp: &Stamp, frame: &Frame, scanned: &Scanned, meaning: &mut Meaning) {
        self.remember(stamp, frame);
        self.step(stamp, frame, scanned, meaning);
    }

    /// Takes it without remembering it.
    pub(crate) fn step(&mut self, stamp: &Stamp, frame: &Frame, scanned: &Scanned, meaning: &mut Meaning) {
        let first = meaning.events.len();
        self.observer.observe(stamp, scanned, &mut meaning.events);
        self.judge(stamp, frame, scanned, first, meaning);
    }

    /// Has the machine take the rows among the events from `first` on.
    pub(crate) fn judge(
        &mut self,
        stamp: &Stamp,
        frame: &Frame,
        scanned: &Scanned,
        first: usize,
        meaning: &mut Meaning,
    ) {
        let rows = meaning.events[first..].iter().filter_map(row_of);
        let mut found =
            Found { findings: std::mem::take(&mut meaning.findings), links: std::mem::take(&mut meaning.links) };
        self.machine.step(stamp, frame, &scanned.content, rows, &mut found);
        (meaning.findings, meaning.links) = (found.findings, found.links);
    }

    /// The frame did not get here after all. Says whether that could be taken back.
    pub(crate) fn take_back(&mut self, seq: u64, lens: &mut Lens) -> bool {
        let is_it = |(stamp, _): &(Stamp, Frame)| stamp.seq == seq;
        let Some(from) = self.past.frames.iter().position(|frames| frames.iter().any(is_it)) else {
            return false;
        };
        let Some(copy) = self.past.copies[from].clone() else {
            return false;
        };
        (self.observer, self.machine) = (copy.0.clone(), copy.1.clone());
        let mut nothing = Meaning::default();
        for which in from..self.past.frames.len() {
            self.past.frames[which].retain(|this| !is_it(this));
            if which > from {
                self.past.copies[which] = Some(Arc::new((self.observer.clone(), self.machine.clone())));
            }
            for (stamp, frame) in self.past.frames[which].clone() {
                nothing.clear();
                lens.with(&frame, |scanned| self.step(&stamp, &frame, scanned, &mut nothing));
            }
        }
        true
    }

    /// A request was not let in: it is no part of the session, and its id is still free.
    pub(crate) fn refuse(&mut self, scope: u64, direction: Direction, raw_id: &RawId, at: At) {
        self.observer.forget(scope, direction, raw_id, at);
        self.machine.drop_call_of(scope, direction, raw_id, at, None);
        self.machine.state.used_ids[sender(direction) as usize].remove(raw_id);
    }

    /// Forgets what is needed to take frames anew.
    pub(crate) fn settle(&mut self) {
        self.past = Past::default();
        self.observer.settle();
    }

    fn remember(&mut self, stamp: &Stamp, frame: &Frame) {
        let past = &mut self.past;
        if BYTES < past.n_bytes + frame.bytes.len() {
            *past = Past::default();
        }
        if past.copies[1].is_none() || FRAMES <= past.frames[1].len() {
            let [_, newer] = std::mem::take(&mut past.copies);
            past.copies = [newer, Some(Arc::new((self.observer.clone(), self.machine.clone())))];
            let [_, newer] = std::mem::take(&mut past.frames);
            past.n_bytes = newer.iter().map(|(_, frame)| frame.bytes.len()).sum();
            past.frames = [newer, Vector::new()];
        }
        past.n_bytes += frame.bytes.len();
        past.frames[1].push_back((*stamp, frame.clone()));
    }
}

fn row_of(event: &Event) -> Option<&MessageRow> {
    match event {
        Event::Row(row) => Some(row),
        Event::Answered { .. } | Event::Done { .. } => None,
    }
}

/// What an act sent, as a frame that one side sent and the other got.
pub(crate) fn as_sent(frame: &Frame) -> Frame {
    Frame { origin: Origin::Wire, bytes: frame.message(), ..frame.clone() }
}

#[cfg(test)]
mod tests;
