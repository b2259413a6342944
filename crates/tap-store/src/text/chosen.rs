//! Which frames of a session are written.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

/// Frames by their numbers: a range, or some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Chosen {
    /// Those from a number to another.
    Range(RangeInclusive<u64>),
    /// These.
    Some(BTreeSet<u64>),
}

impl Chosen {
    /// Whether this one is.
    #[must_use]
    pub fn contains(&self, seq: u64) -> bool {
        match self {
            Self::Range(range) => range.contains(&seq),
            Self::Some(some) => some.contains(&seq),
        }
    }

    /// The number of the first one; that of the first of all where there is none.
    pub(super) fn first(&self) -> u64 {
        match self {
            Self::Range(range) => (*range.start()).max(1),
            Self::Some(some) => some.first().copied().unwrap_or(1),
        }
    }

    /// Whether all of so many frames are.
    pub(super) fn is_all(&self, n_frames: u64) -> bool {
        match self {
            Self::Range(range) => *range.start() <= 1 && n_frames <= *range.end(),
            Self::Some(some) => some.len() as u64 == n_frames,
        }
    }
}
