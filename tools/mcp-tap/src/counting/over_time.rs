//! Calls over the time of a session, in a fixed number of stretches that grow with it.

/// How many stretches there are at most.
pub(crate) const STRETCHES: usize = 256;

/// How long a stretch is at first, nanoseconds.
const FIRST_NS: u64 = 1_000_000;

/// Calls that began in each stretch of time.
#[derive(Debug, Clone)]
pub(crate) struct OverTime {
    /// How long each stretch is, nanoseconds.
    pub(crate) stretch_ns: u64,
    /// Of each: how many calls began in it, and how long the slowest of them took, nanoseconds.
    pub(crate) stretches: Vec<(u64, u64)>,
}

impl Default for OverTime {
    fn default() -> Self {
        Self { stretch_ns: FIRST_NS, stretches: Vec::new() }
    }
}

impl OverTime {
    /// Counts a call that began at this moment, nanoseconds since the session was opened.
    pub(crate) fn add(&mut self, began_at_ns: u64, latency_ns: u64) {
        while began_at_ns / self.stretch_ns >= STRETCHES as u64 {
            self.halve();
        }
        let index = usize::try_from(began_at_ns / self.stretch_ns).unwrap_or(STRETCHES - 1);
        if self.stretches.len() <= index {
            self.stretches.resize(index + 1, (0, 0));
        }
        if let Some((n, slowest_ns)) = self.stretches.get_mut(index) {
            *n += 1;
            *slowest_ns = latency_ns.max(*slowest_ns);
        }
    }

    /// Makes one stretch of two.
    fn halve(&mut self) {
        self.stretch_ns = self.stretch_ns.saturating_mul(2);
        let of_two = |two: &[(u64, u64)]| {
            (two.iter().map(|(n, _)| n).sum(), two.iter().map(|(_, slowest_ns)| *slowest_ns).max().unwrap_or(0))
        };
        self.stretches = self.stretches.chunks(2).map(of_two).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_call_is_lost_when_stretches_grow() {
        let mut over_time = OverTime::default();
        for (n, at_ns) in [(1, 0), (2, FIRST_NS), (3, 300 * FIRST_NS), (4, 3_600_000_000_000), (5, 5), (6, u64::MAX)] {
            over_time.add(at_ns, n);
            assert!(over_time.stretches.len() <= STRETCHES);
            assert_eq!(over_time.stretches.iter().map(|(n, _)| n).sum::<u64>(), n);
            let index = usize::try_from(at_ns / over_time.stretch_ns).unwrap();
            assert!(over_time.stretches[index].1 >= n, "{at_ns}");
        }
    }
}
