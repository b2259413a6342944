//! How long calls took: percentiles that are exact as long as there are few, and within one percent when there are many.

use hdrhistogram::Histogram;

/// So many latencies are kept one by one: below it percentiles are values that were measured.
pub(crate) const EXACT: usize = 100_000;

/// Significant decimal digits of the sketch: a value is told as one that is less than one percent larger.
const DIGITS: u8 = 2;

/// Where one bar of a distribution ends and the next one begins, nanoseconds: two a power of ten, as in 1, 3, 10.
pub(crate) const MAGNITUDES_NS: [u64; 11] = [
    300_000,
    1_000_000,
    3_000_000,
    10_000_000,
    30_000_000,
    100_000_000,
    300_000_000,
    1_000_000_000,
    3_000_000_000,
    10_000_000_000,
    30_000_000_000,
];

/// How many latencies lie below each of [`MAGNITUDES_NS`] and not below the one before it; the last lie below none.
pub(crate) type Magnitudes = [u64; MAGNITUDES_NS.len() + 1];

/// Durations, nanoseconds.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latencies {
    /// All of them, while there are few; empty from then on.
    exact: Vec<u64>,
    /// All of them, once there are many.
    sketch: Option<Histogram<u64>>,
    max: u64,
    sum: u64,
    magnitudes: Magnitudes,
}

impl Latencies {
    pub(crate) fn push(&mut self, ns: u64) {
        self.max = self.max.max(ns);
        self.sum = self.sum.saturating_add(ns);
        let magnitude = MAGNITUDES_NS.partition_point(|edge| *edge <= ns);
        if let Some(n) = self.magnitudes.get_mut(magnitude) {
            *n += 1;
        }
        self.keep(ns);
    }

    fn keep(&mut self, ns: u64) {
        match &mut self.sketch {
            Some(sketch) => put(sketch, ns),
            None => {
                self.exact.push(ns);
                if self.exact.len() >= EXACT {
                    self.condense();
                }
            }
        }
    }

    /// Gives up the single values for a sketch, if one can be made.
    fn condense(&mut self) {
        if self.sketch.is_some() {
            return;
        }
        // It grows with the values that it is given, up to some 50 KiB.
        if let Ok(mut sketch) = Histogram::new(DIGITS) {
            sketch.auto(true);
            for ns in self.exact.drain(..) {
                put(&mut sketch, ns);
            }
            self.exact = Vec::new();
            self.sketch = Some(sketch);
        }
    }

    /// Takes in all of another's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.max = self.max.max(other.max);
        self.sum = self.sum.saturating_add(other.sum);
        for (n, more) in self.magnitudes.iter_mut().zip(other.magnitudes) {
            *n += more;
        }
        if other.sketch.is_some() || self.exact.len() + other.exact.len() >= EXACT {
            self.condense();
        }
        match (&mut self.sketch, &other.sketch) {
            (Some(sketch), Some(more)) => {
                // It fails when it cannot grow, and it can.
                let added = sketch.add(more);
                debug_assert!(added.is_ok(), "{added:?}");
            }
            (None, _) => self.exact.extend(&other.exact),
            (Some(_), None) => {}
        }
        if self.sketch.is_some() {
            other.exact.iter().for_each(|ns| self.keep(*ns));
        }
    }

    /// All of them added up.
    pub(crate) fn sum(&self) -> u64 {
        self.sum
    }

    /// How they are distributed.
    pub(crate) fn magnitudes(&self) -> &Magnitudes {
        &self.magnitudes
    }

    /// Whether percentiles are values that were measured.
    pub(crate) fn is_exact(&self) -> bool {
        self.sketch.is_none()
    }

    /// The smallest value that at least so many of a hundred values are not above, for each of these; nothing where there
    /// are no values.
    pub(crate) fn percentiles<const N: usize>(&mut self, percents: [usize; N]) -> [Option<u64>; N] {
        // Mostly in order from the last time: this sort makes use of that.
        self.exact.sort();
        percents.map(|percent| match &self.sketch {
            _ if percent == 100 => (self.sketch.is_some() || !self.exact.is_empty()).then_some(self.max),
            Some(sketch) => Some(sketch.value_at_quantile(percent as f64 / 100.0).min(self.max)),
            None => {
                let rank = (self.exact.len() * percent).div_ceil(100).max(1);
                self.exact.get(rank - 1).copied()
            }
        })
    }
}

/// Puts a value in. The sketch grows as it must; where it cannot, the value counts as the largest that it can hold.
fn put(sketch: &mut Histogram<u64>, ns: u64) {
    if sketch.record(ns).is_err() {
        sketch.saturating_record(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Latencies {
        let mut latencies = Latencies::default();
        values.into_iter().for_each(|ns| latencies.push(ns));
        latencies
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        for (values, percent, expected) in [
            (&[][..], 50, None),
            (&[][..], 100, None),
            (&[7][..], 50, Some(7)),
            (&[7][..], 99, Some(7)),
            (&[2, 1][..], 50, Some(1)),
            (&[1, 2][..], 90, Some(2)),
            (&[3, 1, 2][..], 50, Some(2)),
            (&hundred[..], 50, Some(50)),
            (&hundred[..], 90, Some(90)),
            (&hundred[..], 99, Some(99)),
            (&hundred[..], 100, Some(100)),
        ] {
            assert_eq!(of(values.iter().copied()).percentiles([percent]), [expected], "{percent} % of {values:?}");
        }
    }

    /// Values over many powers of ten, some of them the same.
    fn spread(n: u64) -> impl Iterator<Item = u64> + Clone {
        (0..n).map(|index| (index % 977 + 1) * 10_u64.pow((index % 9) as u32))
    }

    #[test]
    fn many_are_told_within_one_percent() {
        let n = 2 * EXACT as u64;
        let mut sorted: Vec<u64> = spread(n).collect();
        sorted.sort_unstable();
        let mut all = of(spread(n));
        assert!(!all.is_exact());
        for percent in [1, 50, 90, 95, 99, 100] {
            let expected = sorted[(sorted.len() * percent).div_ceil(100) - 1];
            let [Some(was)] = all.percentiles([percent]) else { panic!("no value") };
            assert!(was >= expected && (was - expected) * 100 <= expected, "p{percent}: {was}, should be {expected}");
        }
        assert_eq!((all.sum(), all.percentiles([100])), (sorted.iter().sum(), [sorted.last().copied()]));
    }

    #[test]
    fn what_was_merged_says_the_same_as_what_was_counted_together() {
        let parts = [3, EXACT as u64 - 1, 2, EXACT as u64 + 5, 0, 70_000];
        let (mut merged, mut values) = (Latencies::default(), Vec::new());
        for part in parts {
            merged.merge(&of(spread(part)));
            values.extend(spread(part));
            let mut together = of(values.iter().copied());
            assert_eq!(merged.is_exact(), together.is_exact(), "after {}", values.len());
            assert_eq!(merged.percentiles([1, 50, 90, 95, 99, 100]), together.percentiles([1, 50, 90, 95, 99, 100]));
            assert_eq!((merged.sum(), merged.magnitudes()), (together.sum(), together.magnitudes()));
        }
        assert_eq!(merged.magnitudes().iter().sum::<u64>(), values.len() as u64);
    }

    #[test]
    fn the_longest_and_the_shortest_are_counted_too() {
        let mut all = of([0, u64::MAX, 1]);
        assert_eq!(all.percentiles([1, 100]), [Some(0), Some(u64::MAX)]);
        let mut many = of(std::iter::repeat_n(u64::MAX, EXACT + 1));
        assert_eq!(many.percentiles([50, 100]), [Some(u64::MAX - 1), Some(u64::MAX)]);
        assert_eq!(many.magnitudes().last(), Some(&(EXACT as u64 + 1)));
    }
}
