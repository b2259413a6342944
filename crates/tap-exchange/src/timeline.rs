//! Time travel over HTTP: what was followed up to any frame, without reading all of the recording again.
//!
//! As [`tap_session::Timeline`] does for stdio, copies are kept here and there while a recording is read. What is held of
//! exchanges that are open is copied with them, so that their size is bounded as well as their number.

use crate::reading::HttpReading;

/// Frames between two checkpoints at first. What leads to a frame over HTTP costs more than over stdio, and sessions are
/// shorter.
const SPACING_FRAMES: u64 = 64;

/// Checkpoints at most. When there are more, every second one goes, and the rest lie twice as far apart.
const CHECKPOINTS: usize = 512;

/// What all checkpoints may hold, bytes. When it is more, every second one goes too.
const ALL_BYTES: usize = 64 * 1024 * 1024;

/// What one may hold, bytes. While a reading holds more, none is made.
const ONE_BYTES: usize = 4 * 1024 * 1024;

/// Copies of a reading.
#[derive(Debug)]
pub struct HttpTimeline {
    /// In rising order of their frames.
    checkpoints: Vec<Checkpoint>,
    /// Frames between two of them.
    spacing: u64,
    n_bytes: usize,
}

#[derive(Debug)]
struct Checkpoint {
    n_bytes: usize,
    reading: HttpReading,
}

impl Default for HttpTimeline {
    fn default() -> Self {
        Self { checkpoints: Vec::new(), spacing: SPACING_FRAMES, n_bytes: 0 }
    }
}

impl HttpTimeline {
    /// The timeline of a recording that nothing was read of.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// To be told after each segment of the first pass. Keeps a copy of the reading now and then.
    pub fn pass(&mut self, reading: &HttpReading) {
        let newest = self.checkpoints.last().map_or(0, |checkpoint| checkpoint.reading.n_frames());
        if reading.n_frames() < newest.saturating_add(self.spacing) {
            return;
        }
        let n_bytes = reading.held_bytes();
        if ONE_BYTES < n_bytes {
            return;
        }
        let Some(reading) = reading.fork() else {
            return;
        };
        self.checkpoints.push(Checkpoint { n_bytes, reading });
        self.n_bytes += n_bytes;
        while self.checkpoints.len() > CHECKPOINTS || self.n_bytes > ALL_BYTES {
            self.spacing = self.spacing.saturating_mul(2);
            let mut keep = false;
            self.checkpoints.retain(|_| {
                keep = !keep;
                keep
            });
            self.n_bytes = self.checkpoints.iter().map(|checkpoint| checkpoint.n_bytes).sum();
        }
    }

    /// How many copies are kept.
    #[must_use]
    pub fn n_checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// A reading that has not come further than the frame `seq`, to be fed the segments from its
    /// [next one](HttpReading::next_segment) on: the furthest that was kept, or one of nothing.
    #[must_use]
    pub fn reading_before(&self, seq: u64) -> HttpReading {
        let n_before = self.checkpoints.partition_point(|checkpoint| checkpoint.reading.n_frames() <= seq);
        let nearest = n_before.checked_sub(1).and_then(|index| self.checkpoints.get(index));
        // What was forked once can be forked again.
        nearest.and_then(|checkpoint| checkpoint.reading.fork()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
