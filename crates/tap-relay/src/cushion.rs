//! A cushion between the server's stderr and ours: a host that reads stderr slowly, or not at all, does not stop the
//! server from answering.
//!
//! Only stderr has one. On stdin and stdout backpressure is part of what both sides see, and must pass.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How much is written at a time, bytes: what a pipe takes in one piece.
const PART_BYTES: usize = 4096;

/// Bytes that were read and not yet written.
#[derive(Debug)]
pub(crate) struct Cushion {
    state: Mutex<State>,
    changed: Condvar,
    limit_bytes: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<u8>,
    /// Bytes that the writer took and has not finished writing.
    writing: bool,
    /// How many parts were written.
    n_parts: u64,
    ended: bool,
    reader_gone: bool,
}

impl Cushion {
    /// Holds at most `limit_bytes`; from there on [`push`](Self::push) waits, as the server itself would have.
    pub(crate) fn new(limit_bytes: usize) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), limit_bytes }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes to be written. Once nobody reads any more they are forgotten.
    pub(crate) fn push(&self, bytes: &[u8]) {
        let mut state = self.state();
        while state.waiting.len() >= self.limit_bytes && !state.reader_gone {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if !state.reader_gone {
            state.waiting.extend(bytes);
            drop(state);
            self.changed.notify_all();
        }
    }

    /// Says that no more will come.
    pub(crate) fn end(&self) {
        self.state().ended = true;
        self.changed.notify_all();
    }

    /// Writes what comes until the end, or until `write` says that nobody reads any more.
    pub(crate) fn drain(&self, mut write: impl FnMut(&[u8]) -> std::io::Result<()>) {
        let mut taken = Vec::new();
        let mut state = self.state();
        loop {
            while state.waiting.is_empty() && !state.ended {
                state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
            if state.waiting.is_empty() {
                return;
            }
            taken.clear();
            taken.extend(state.waiting.drain(..));
            state.writing = true;
            drop(state);
            self.changed.notify_all();
            // In parts, so that it can be told whether the reader takes any.
            let written = taken.chunks(PART_BYTES).try_for_each(|part| {
                write(part)?;
                self.state().n_parts += 1;
                self.changed.notify_all();
                Ok::<(), std::io::Error>(())
            });
            state = self.state();
            state.writing = false;
            if written.is_err() {
                state.reader_gone = true;
                state.waiting.clear();
            }
            self.changed.notify_all();
            if written.is_err() {
                return;
            }
        }
    }

    /// Waits until all is written or nobody reads any more, as long as something is taken within every `patience`.
    pub(crate) fn flush(&self, patience: Duration) {
        let mut state = self.state();
        let (mut n_parts, mut taken) = (state.n_parts, Instant::now());
        while (state.writing || !state.waiting.is_empty()) && !state.reader_gone {
            if state.n_parts != n_parts {
                (n_parts, taken) = (state.n_parts, Instant::now());
            }
            let Some(left) = patience.checked_sub(taken.elapsed()).filter(|left| !left.is_zero()) else {
                return;
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn everything_is_written_in_order() {
        let cushion = Arc::new(Cushion::new(10));
        let writer = cushion.clone();
        let written = Arc::new(Mutex::new(Vec::new()));
        let sink = written.clone();
        let thread = std::thread::spawn(move || {
            writer.drain(|bytes| {
                sink.lock().unwrap().extend_from_slice(bytes);
                Ok(())
            });
        });
        let expected: Vec<u8> = (0..=255).cycle().take(5000).collect();
        for part in expected.chunks(7) {
            cushion.push(part);
        }
        cushion.end();
        cushion.flush(Duration::from_secs(30));
        assert_eq!(*written.lock().unwrap(), expected);
        thread.join().unwrap();
    }

    #[test]
    fn a_reader_that_is_gone_never_blocks_the_one_who_pushes() {
        let cushion = Arc::new(Cushion::new(4));
        let writer = cushion.clone();
        let thread = std::thread::spawn(move || writer.drain(|_| Err(std::io::ErrorKind::BrokenPipe.into())));
        for _ in 0..100 {
            cushion.push(b"12345678");
        }
        cushion.end();
        cushion.flush(Duration::from_secs(30));
        thread.join().unwrap();
    }
}
