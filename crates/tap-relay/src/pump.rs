//! The pump: one direction's loop. What one side wrote reaches the other side here, byte for byte, at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tap_frame::Stream;
use tap_transport::{is_ready, read_some};

use crate::clock::Clock;
use crate::copies::Copies;
use crate::gate::{Passage, Way};

/// How much one read asks for: what a Linux pipe holds.
pub(crate) const READ_BYTES: usize = 64 * 1024;

/// After the server has ended, a pipe that some grandchild still holds counts as empty when it was quiet for so long.
const QUIET: Duration = Duration::from_millis(100);

/// And whatever happens, its pipes are read no longer than this, the time aside that the host takes for what it gets.
const LONGEST_DRAIN: Duration = Duration::from_secs(1);

/// Whether the server has ended, so that what is left in its pipes is all that will come from it.
#[derive(Debug, Default)]
pub(crate) struct ServerEnded(AtomicBool);

impl ServerEnded {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn get(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// One direction of the relay.
pub(crate) struct Pump<'a> {
    pub(crate) stream: Stream,
    pub(crate) clock: Clock,
    pub(crate) copies: &'a Copies,
    pub(crate) server_ended: &'a ServerEnded,
}

impl Pump<'_> {
    /// Moves bytes from `source` to `write` until one side ends, or until the server has ended and its pipe, though
    /// somebody else still holds it open, is quiet. With a `passage` they can be judged on the way.
    ///
    /// The copy is offered between the read and the write: after the write a quick answer could be queued before its
    /// question.
    pub(crate) fn run(
        &self,
        source: impl AsFd,
        mut passage: Option<Passage<'_>>,
        mut write: impl FnMut(&[u8]) -> io::Result<()>,
    ) {
        let read_all = self.move_all(source.as_fd(), &mut passage, &mut write);
        if let Some(passage) = passage {
            passage.end(read_all, &mut write);
        }
    }

    /// Gives back whether it was the source that ended.
    fn move_all(
        &self,
        source: BorrowedFd<'_>,
        passage: &mut Option<Passage<'_>>,
        write: &mut impl FnMut(&[u8]) -> io::Result<()>,
    ) -> bool {
        let mut buffer = vec![0; READ_BYTES];
        let mut drain: Option<Drain> = None;
        loop {
            if let Some(passage) = passage {
                passage.wait_for_room(&|| self.server_ended.get());
            }
            if self.server_ended.get() && !drain.get_or_insert_with(Drain::begin).has_more(source) {
                return true;
            }
            let read = read_some(source, &mut buffer);
            let way = passage.as_mut().map_or(Way::Raw, |passage| passage.way(write));
            if way == Way::Closed {
                return false;
            }
            let n_bytes = match read {
                Ok(Some(n_bytes)) => n_bytes,
                Ok(None) => continue,
                // A stream that cannot be read has ended as far as anybody can tell.
                Err(_) => 0,
            };
            let at_ns = self.clock.at_ns();
            let bytes = buffer.get(..n_bytes).unwrap_or_default();
            if bytes.is_empty() {
                self.copies.end(self.stream, at_ns);
                return true;
            }
            self.copies.offer(self.stream, at_ns, bytes);
            let began = Instant::now();
            let written = match passage {
                Some(passage) if way == Way::Gated => passage.pass(at_ns, bytes, write),
                Some(passage) => {
                    passage.note(bytes);
                    write(bytes)
                }
                None => write(bytes),
            };
            if written.is_err() {
                return false;
            }
            if let Some(drain) = &mut drain {
                // A host that takes its time does not use up the server's.
                drain.written += began.elapsed();
            }
        }
    }
}

/// The reading of what a server that has ended left in a pipe.
struct Drain {
    began: Instant,
    /// How much of the time since was spent in writing.
    written: Duration,
}

impl Drain {
    fn begin() -> Self {
        Self { began: Instant::now(), written: Duration::ZERO }
    }

    /// Whether the pipe should be read once more.
    fn has_more(&self, source: BorrowedFd<'_>) -> bool {
        let quiet = Instant::now();
        while self.began.elapsed().saturating_sub(self.written) < LONGEST_DRAIN {
            // An interruption ends one wait early, not the draining.
            let left = QUIET.saturating_sub(quiet.elapsed());
            match is_ready(source, left) {
                Ok(true) => return true,
                Ok(false) if left.is_zero() => return false,
                Ok(false) => {}
                Err(_) => return false,
            }
        }
        false
    }
}
