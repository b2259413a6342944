//! Where a recording comes from: whoever drives a playback reads it, piece by piece.

use bytes::Bytes;

use crate::message::Unit;

/// A recording that is read while it is played, so that a large one can be begun at once.
pub trait Recording {
    /// The next unit in recorded order; `None` when there is no more.
    fn next(&mut self) -> Option<Unit>;

    /// The bytes of the unit with this number once more.
    fn bytes(&mut self, number: u64) -> Option<Bytes>;

    /// Whether all of it is known to be one conversation.
    fn is_one_conversation(&self) -> bool {
        false
    }
}

/// A recording in memory.
#[derive(Debug, Clone, Default)]
pub struct InMemory {
    units: Vec<Unit>,
    n_read: usize,
}

impl InMemory {
    /// These units, in this order.
    #[must_use]
    pub fn new(units: Vec<Unit>) -> Self {
        Self { units, n_read: 0 }
    }
}

impl Recording for InMemory {
    fn next(&mut self) -> Option<Unit> {
        let unit = self.units.get(self.n_read)?.clone();
        self.n_read += 1;
        Some(unit)
    }

    fn bytes(&mut self, number: u64) -> Option<Bytes> {
        self.units.iter().find(|unit| unit.number == number).map(|unit| unit.bytes.clone())
    }
}
