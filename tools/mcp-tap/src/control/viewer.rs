//! What is told to one viewer: a queue that never makes anybody wait.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};

/// Lines that can wait for a viewer that does not read. Further events are dropped and counted; without an answer that it
/// asked for, its connection ends.
const QUEUE_LINES: usize = 4_096;

/// Which viewer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct ViewerId(pub(crate) u64);

/// How many viewers may still come.
#[derive(Debug)]
pub(crate) struct Seats(Arc<AtomicUsize>);

/// That of one viewer, until it is dropped.
#[derive(Debug)]
pub(crate) struct Seat(Arc<AtomicUsize>);

impl Seats {
    pub(crate) fn new(n_seats: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(n_seats)))
    }

    /// A seat, if there is one left.
    pub(crate) fn take(&self) -> Option<Seat> {
        let taken = self.0.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n_left| n_left.checked_sub(1));
        taken.ok().map(|_| Seat(self.0.clone()))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The way to a viewer.
#[derive(Debug)]
pub(crate) struct Outbox {
    lines: SyncSender<Arc<str>>,
    /// Whether it wants to be told what happens.
    pub(crate) attached: bool,
    n_missed: u64,
    /// It did not take an answer: what follows would make no sense.
    is_lost: bool,
}

impl Outbox {
    pub(crate) fn new() -> (Self, Receiver<Arc<str>>) {
        let (lines, queue) = sync_channel(QUEUE_LINES);
        (Self { lines, attached: false, n_missed: 0, is_lost: false }, queue)
    }

    /// Tells what happened, if there is room.
    pub(crate) fn tell(&mut self, line: &Arc<str>) {
        if !self.attached || self.is_lost {
            return;
        }
        if self.n_missed > 0 {
            let missed = serde_json::json!({"jsonrpc": "2.0", "method": "missed", "params": {"events": self.n_missed}});
            match self.lines.try_send(Arc::from(format!("{missed}\n"))) {
                Ok(()) => self.n_missed = 0,
                Err(_) => return self.n_missed += 1,
            }
        }
        if self.lines.try_send(line.clone()).is_err() {
            self.n_missed += 1;
        }
    }

    /// Answers what it asked. False when it is not there any more, or does not read.
    pub(crate) fn answer(&mut self, line: String) -> bool {
        match self.lines.try_send(Arc::from(line)) {
            Ok(()) => !self.is_lost,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {
                self.is_lost = true;
                false
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_is_free_again_when_its_viewer_has_gone() {
        let seats = Seats::new(2);
        let (first, second) = (seats.take(), seats.take());
        assert!(first.is_some() && second.is_some() && seats.take().is_none());
        drop(first);
        assert!(seats.take().is_some());
    }

    #[test]
    fn a_viewer_that_does_not_read_misses_events_and_is_told_how_many() {
        let (mut outbox, queue) = Outbox::new();
        outbox.tell(&Arc::from("before it was attached"));
        outbox.attached = true;
        for number in 0..QUEUE_LINES + 5 {
            outbox.tell(&Arc::from(number.to_string()));
        }
        assert_eq!(queue.try_iter().count(), QUEUE_LINES);
        outbox.tell(&Arc::from("next"));
        let told: Vec<_> = queue.try_iter().map(|line| line.trim_end().to_owned()).collect();
        assert_eq!(told, [r#"{"jsonrpc":"2.0","method":"missed","params":{"events":5}}"#, "next"]);
        for _ in 0..QUEUE_LINES {
            assert!(outbox.answer(String::new()));
        }
        assert!(!outbox.answer(String::new()), "an answer that does not fit ends it");
        drop(queue);
        assert!(!outbox.answer(String::new()));
    }
}
