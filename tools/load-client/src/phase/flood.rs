//! Many calls from one thread, their answers read on another, so that neither waits for the other.

use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::PhaseError;
use crate::message::Text;
use crate::session::{Session, ToServer};
use crate::tally::{Answers, Tally};

/// When the next call may be sent.
#[derive(Debug, Clone, Copy)]
pub(super) enum Pace {
    /// At once.
    Unlimited,
    /// When fewer than this many calls are unanswered.
    InFlight(usize),
    /// Evenly, so many a second. Who falls behind sends what is due as quickly as it is taken.
    PerSecond(usize),
}

impl Pace {
    /// At most `window` calls in flight, 0 for no limit.
    pub(super) fn window(window: usize) -> Self {
        match window {
            0 => Self::Unlimited,
            window => Self::InFlight(window),
        }
    }
}

/// What a flood came to.
pub(super) struct Flood {
    pub(super) tally: Tally,
    /// From before the first call to after the last answer.
    pub(super) elapsed: Duration,
    /// How many calls were due but not sent, at most; 0 without a rate.
    pub(super) most_behind: usize,
}

/// What is due is sent each time this has passed: two hundred calls at once at the highest rate that we ask for.
const TICK: Duration = Duration::from_millis(1);

/// Sends `n_calls` calls and reads all their answers.
pub(super) fn flood(session: &mut Session, text: &Text, n_calls: usize, pace: Pace) -> Result<Flood, PhaseError> {
    let doing = "sending calls";
    let Some(to_server) = session.take_writer() else { return Err(PhaseError::Ended { doing }) };
    let first_id = session.take_ids(n_calls);
    let mut answers = Answers::new(text, first_id, n_calls);
    let (answered, answers_seen) = mpsc::channel();
    let sender = Sender { to_server, text, next_id: first_id, end_id: first_id + n_calls as u64, call: Vec::new() };
    let started_at = Instant::now();
    let sent = thread::scope(|scope| {
        let sending = scope.spawn(move || sender.send_all(pace, &answers_seen));
        let received = receive_all(session, &mut answers, n_calls, pace, &answered);
        drop(answered);
        if received.is_err() {
            // The sender may be waiting for a pipe that nobody reads.
            session.kill_group();
        }
        // A sender that panicked has told so on stderr; all that is left to say is that the calls are not out.
        let sent = sending.join().unwrap_or_else(|_| Err(io::Error::other("the sending thread panicked")));
        received.and(sent.map_err(|source| PhaseError::Pipe { doing, source }))
    });
    let elapsed = started_at.elapsed();
    match sent {
        Ok((to_server, most_behind)) => {
            session.give_back(to_server);
            let mut tally = answers.into_tally();
            tally.extra_lines += session.n_extra_lines();
            Ok(Flood { tally, elapsed, most_behind })
        }
        Err(source) => Err(PhaseError::Flood { n_answered: answers.n_answered(), n_calls, source: Box::new(source) }),
    }
}

fn receive_all(
    session: &mut Session,
    answers: &mut Answers<'_>,
    n_calls: usize,
    pace: Pace,
    answered: &mpsc::Sender<()>,
) -> Result<(), PhaseError> {
    while answers.n_answered() < n_calls {
        session.receive()?;
        if answers.take(&session.line) && matches!(pace, Pace::InFlight(_)) {
            // The sender is gone when all is sent.
            let _ = answered.send(());
        }
    }
    Ok(())
}

struct Sender<'a> {
    to_server: ToServer,
    text: &'a Text,
    next_id: u64,
    end_id: u64,
    call: Vec<u8>,
}

impl Sender<'_> {
    /// Gives back the writing end, and how far it was behind at most.
    fn send_all(mut self, pace: Pace, answers_seen: &mpsc::Receiver<()>) -> io::Result<(ToServer, usize)> {
        let mut most_behind = 0;
        match pace {
            Pace::Unlimited => self.send_until(self.end_id)?,
            Pace::InFlight(window) => self.send_in_window(window, answers_seen)?,
            Pace::PerSecond(rate) => most_behind = self.send_at_rate(rate)?,
        }
        self.to_server.flush()?;
        Ok((self.to_server, most_behind))
    }

    fn send_in_window(&mut self, window: usize, answers_seen: &mpsc::Receiver<()>) -> io::Result<()> {
        let mut n_free = window;
        while self.next_id < self.end_id {
            n_free += answers_seen.try_iter().count();
            if n_free == 0 {
                self.to_server.flush()?;
                if answers_seen.recv().is_err() {
                    return Ok(());
                }
                n_free = 1;
            }
            self.send_until(self.next_id + 1)?;
            n_free -= 1;
        }
        Ok(())
    }

    fn send_at_rate(&mut self, rate: usize) -> io::Result<usize> {
        let (started_at, first_id, mut most_behind) = (Instant::now(), self.next_id, 0);
        while self.next_id < self.end_id {
            let due_id = self.end_id.min(first_id + n_due(started_at.elapsed(), rate));
            if due_id == self.next_id {
                thread::sleep(TICK);
                continue;
            }
            most_behind = most_behind.max(due_id - self.next_id);
            self.send_until(due_id)?;
            self.to_server.flush()?;
        }
        Ok(usize::try_from(most_behind).unwrap_or(usize::MAX))
    }

    fn send_until(&mut self, end_id: u64) -> io::Result<()> {
        while self.next_id < end_id {
            self.text.write_call(&mut self.call, self.next_id);
            self.call.push(b'\n');
            self.to_server.write_all(&self.call)?;
            self.next_id += 1;
        }
        Ok(())
    }
}

/// How many calls should be out after that time.
fn n_due(elapsed: Duration, rate: usize) -> u64 {
    (elapsed.as_secs_f64() * rate as f64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_grows_evenly() {
        assert_eq!(n_due(Duration::ZERO, 100_000), 0);
        assert_eq!(n_due(Duration::from_millis(1), 100_000), 100);
        assert_eq!(n_due(Duration::from_secs(60), 100_000), 6_000_000);
        assert_eq!(n_due(Duration::from_millis(1_500), 1), 1);
    }

    #[test]
    fn a_window_of_zero_is_none() {
        assert!(matches!(Pace::window(0), Pace::Unlimited));
        assert!(matches!(Pace::window(4), Pace::InFlight(4)));
    }
}
