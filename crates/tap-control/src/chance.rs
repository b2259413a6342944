//! Chance that is the same for the same seed: a number from a seed, a rule and a count, and no state.
//!
//! Two rules never take numbers from each other, so that whichever messages come first, each rule does the same to the
//! same of its own.

/// Chance of one rule at one of the messages that fit it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// What is drawn for the `nth` message that fits this rule.
    pub(crate) fn new(seed: u64, rule: u32, nth: u64) -> Self {
        let mut chance = Self { state: seed ^ u64::from(rule).wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        chance.state = chance.next() ^ nth.wrapping_mul(0xd134_2543_de82_ef95);
        chance.next();
        chance
    }

    /// The next number (SplitMix64, Steele, Lea and Flood 2014).
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    /// From 0 to 1, 1 not included.
    pub(crate) fn unit(&mut self) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds exactly")]
        let whole = (self.next() >> 11) as f64;
        whole / 9_007_199_254_740_992.0
    }

    /// Below `limit`, which is at least 1.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        // The bias is below one in 2^32 for limits that are lengths of messages.
        self.next() % limit.max(1)
    }

    /// Around 0, with a deviation of 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let (one, other) = (1.0 - self.unit(), self.unit());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * other).cos()
    }

    /// Above 0, with a mean of 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_and_another_gives_another() {
        let drawn = |seed, rule| (0..50).map(|nth| Chance::new(seed, rule, nth).below(1000)).collect::<Vec<_>>();
        assert_eq!(drawn(7, 1), drawn(7, 1));
        assert_ne!(drawn(7, 1), drawn(8, 1));
        assert_ne!(drawn(7, 1), drawn(7, 2));
    }

    #[test]
    fn what_is_drawn_is_spread_as_it_should_be() {
        let n = 20_000_u32;
        let mean = |draw: fn(&mut Chance) -> f64| {
            (0..n).map(|nth| draw(&mut Chance::new(1, 1, nth.into()))).sum::<f64>() / f64::from(n)
        };
        assert!((mean(Chance::unit) - 0.5).abs() < 0.01);
        assert!(mean(Chance::normal).abs() < 0.03);
        assert!((mean(Chance::exponential) - 1.0).abs() < 0.03);
        assert!((mean(|chance| chance.normal().powi(2)) - 1.0).abs() < 0.05);
    }
}
