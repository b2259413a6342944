//! What was read and is not written yet.

use super::rows::{Counts, Rows};

/// What was read of a segment, or of some segments of stdio, and of the end of the recording.
#[derive(Default)]
pub(super) struct Unwritten {
    /// The number of its first segment.
    pub(super) from: u64,
    pub(super) n_bytes: u64,
    pub(super) rows: Rows,
    pub(super) counts: Counts,
    /// It is the end.
    pub(super) is_end: bool,
}

impl std::fmt::Debug for Unwritten {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, n_bytes, is_end, .. } = self;
        formatter
            .debug_struct("Unwritten")
            .field("from", from)
            .field("n_bytes", n_bytes)
            .field("is_end", is_end)
            .finish()
    }
}
