//! Time travel: the state after any message, without going through all of the session again.
//!
//! A state is a fold over frames. While the fold goes on, copies of the [`Follower`] are kept here and there; the state
//! at any point is the fold from the nearest copy before it. A copy shares what did not change with the one before, so
//! that a thousand of them are cheap.

use tap_frame::Frame;

use crate::follow::{Follower, Lens, Meaning};

/// Frames between two checkpoints at first: what is folded at most to go anywhere in a session of a million messages.
pub const CHECKPOINT_FRAMES: u64 = 512;

/// Checkpoints at most. When there are more, every second one goes, and the rest lie twice as far apart.
pub const CHECKPOINTS: usize = 4096;

/// A session's checkpoints.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// How a session begins that nothing was seen of.
    beginning: Follower,
    /// In rising order: how many frames were followed, and what was known then.
    checkpoints: Vec<(u64, Follower)>,
    spacing: u64,
}

impl Timeline {
    /// The timeline of a session that begins like this; see [`Follower::new`] and [`Follower::from_the_middle`].
    #[must_use]
    pub fn new(beginning: Follower) -> Self {
        Self { beginning, checkpoints: Vec::new(), spacing: CHECKPOINT_FRAMES }
    }

    /// To be told after each frame of the first pass: `seq` is the number of the frame that `follower` took last. Keeps
    /// a copy of it now and then.
    pub fn pass(&mut self, seq: u64, follower: &Follower) {
        let newest = self.checkpoints.last().map_or(0, |(seq, _)| *seq);
        if seq < newest.saturating_add(self.spacing) {
            return;
        }
        let mut copy = follower.clone();
        copy.settle();
        self.checkpoints.push((seq, copy));
        if self.checkpoints.len() > CHECKPOINTS {
            self.spacing *= 2;
            let mut keep = false;
            self.checkpoints.retain(|_| {
                keep = !keep;
                keep
            });
        }
    }

    /// How many copies are kept.
    #[must_use]
    pub fn n_checkpoints(&self) -> usize {
        self.checkpoints.len()
    }

    /// What was known after the frame `seq`. `frames` gives the frames from a number on, in order; it is asked once.
    ///
    /// # Errors
    ///
    /// What `frames` gives.
    pub fn follower_at<E, I>(&self, seq: u64, frames: impl FnOnce(u64) -> I) -> Result<Follower, E>
    where
        I: Iterator<Item = Result<Frame, E>>,
    {
        let n_before = self.checkpoints.partition_point(|(at, _)| *at <= seq);
        let (done, mut follower) = match n_before.checked_sub(1).and_then(|index| self.checkpoints.get(index)) {
            Some((done, follower)) => (*done, follower.clone()),
            None => (0, self.beginning.clone()),
        };
        if done == seq {
            return Ok(follower);
        }
        let (mut lens, mut meaning) = (Lens::default(), Meaning::default());
        for frame in frames(done.saturating_add(1)) {
            let frame = frame?;
            if frame.seq > seq {
                break;
            }
            meaning.clear();
            follower.follow(&frame, &mut lens, &mut meaning);
            if frame.seq == seq {
                break;
            }
        }
        Ok(follower)
    }
}

#[cfg(test)]
mod tests;
