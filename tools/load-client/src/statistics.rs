//! Percentiles, and figures rounded for reading.

use std::time::Duration;

/// Durations in order, to ask for percentiles.
pub struct Sorted(Vec<Duration>);

impl Sorted {
    /// The durations need no order; there must be at least one.
    pub fn new(mut durations: Vec<Duration>) -> Self {
        durations.sort_unstable();
        Self(durations)
    }

    /// The smallest duration that at least this share (0 to 1) of all do not exceed (nearest rank); zero if there
    /// are none.
    pub fn percentile(&self, share: f64) -> Duration {
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        self.0.get(rank.clamp(1, self.0.len().max(1)) - 1).copied().unwrap_or_default()
    }

    /// The mean; zero if there are none.
    pub fn mean(&self) -> Duration {
        let n_durations = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.iter().sum::<Duration>().checked_div(n_durations).unwrap_or_default()
    }
}

/// Rounded to two digits after the point: more would be noise.
pub fn rounded(figure: f64) -> f64 {
    (figure * 100.0).round() / 100.0
}

/// Milliseconds, rounded.
pub fn milliseconds(duration: Duration) -> f64 {
    rounded(duration.as_secs_f64() * 1e3)
}

/// Microseconds, rounded.
pub fn microseconds(duration: Duration) -> f64 {
    rounded(duration.as_secs_f64() * 1e6)
}

/// The highest of the first quarter and the highest of the last, `None` without any sample.
///
/// A quarter is rounded up, so that three samples are compared as first and last.
pub fn first_and_last_quarter(samples: &[u64]) -> Option<(u64, u64)> {
    let quarter = samples.len().div_ceil(4);
    let first = samples[..quarter].iter().max()?;
    let last = samples[samples.len() - quarter..].iter().max()?;
    Some((*first, *last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sorted(microseconds: &[u64]) -> Sorted {
        Sorted::new(microseconds.iter().copied().map(Duration::from_micros).collect())
    }

    #[test]
    fn a_percentile_is_a_duration_that_was_measured() {
        let hundred: Vec<u64> = (1..=100).rev().collect();
        for (durations, share, expected) in [
            (&hundred[..], 0.0, 1),
            (&hundred, 0.5, 50),
            (&hundred, 0.501, 51),
            (&hundred, 0.99, 99),
            (&hundred, 1.0, 100),
            (&[7], 0.5, 7),
            (&[3, 1], 0.5, 1),
            (&[], 0.5, 0),
        ] {
            let percentile = sorted(durations).percentile(share);
            assert_eq!(percentile, Duration::from_micros(expected), "{} durations, share {share}", durations.len());
        }
    }

    #[test]
    fn the_mean_of_nothing_is_zero() {
        assert_eq!(sorted(&[]).mean(), Duration::ZERO);
        assert_eq!(sorted(&[1, 2, 6]).mean(), Duration::from_micros(3));
    }

    #[test]
    fn figures_keep_two_digits() {
        assert_eq!(milliseconds(Duration::from_nanos(1_234_567)), 1.23);
        assert_eq!(microseconds(Duration::from_nanos(1_239)), 1.24);
    }

    #[test]
    fn quarters_are_compared_by_their_highest() {
        for (samples, expected) in [
            (&[][..], None),
            (&[5], Some((5, 5))),
            (&[1, 2, 3], Some((1, 3))),
            (&[1, 9, 2, 3, 4, 5, 8, 6], Some((9, 8))),
        ] {
            assert_eq!(first_and_last_quarter(samples), expected, "samples: {samples:?}");
        }
    }
}
