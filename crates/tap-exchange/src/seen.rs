//! Which exchanges have begun: a number is that of one exchange, whatever a damaged recording says.

use std::collections::BTreeSet;

/// Numbers above the first that is missing which are remembered one by one.
const ONE_BY_ONE: usize = 20_000;

/// Numbers, most of which come in order.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// All below this one.
    below: u64,
    above: BTreeSet<u64>,
}

impl Default for Seen {
    fn default() -> Self {
        Self { below: 1, above: BTreeSet::new() }
    }
}

impl Seen {
    /// Takes in a number, and says whether it is new.
    pub(crate) fn insert(&mut self, number: u64) -> bool {
        if number < self.below || !self.above.insert(number) {
            return false;
        }
        if ONE_BY_ONE < self.above.len()
            && let Some(lowest) = self.above.first()
        {
            // What is missing below was lost.
            self.below = *lowest;
        }
        while self.above.first() == Some(&self.below) {
            self.above.pop_first();
            self.below = self.below.saturating_add(1);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_new_once(numbers in prop::collection::vec(prop_oneof![1..20u64, any::<u64>()], 0..100)) {
            let (mut seen, mut all) = (Seen::default(), BTreeSet::new());
            for number in numbers.into_iter().filter(|number| *number > 0) {
                prop_assert_eq!(seen.insert(number), all.insert(number));
            }
        }
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..100_000 {
            assert!(seen.insert(number * 2 + 10));
        }
        assert!(seen.above.len() <= ONE_BY_ONE + 1);
        assert!(!seen.insert(150_000) && !seen.insert(11));
    }
}
