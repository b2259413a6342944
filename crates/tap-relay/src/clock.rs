//! The two clocks that a recording is stamped with.

use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// When a session opened, on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    opened: Instant,
    /// Nanoseconds since the Unix epoch when the session opened.
    pub opened_unix_ns: u64,
}

impl Clock {
    /// Starts a session's clocks.
    #[must_use]
    pub fn start() -> Self {
        Self { opened: Instant::now(), opened_unix_ns: wall_ns() }
    }

    /// Nanoseconds since the session opened. Never goes back.
    #[must_use]
    pub fn at_ns(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The wall clock at `at_ns`, asked now: nanoseconds since the Unix epoch.
    ///
    /// As long as nobody sets the wall clock it is the session's clock plus when that was started, without the jitter of
    /// two clocks read one after the other.
    #[must_use]
    pub fn wall_ns(&self, at_ns: u64) -> u64 {
        let expected = self.opened_unix_ns.saturating_add(at_ns);
        let asked = wall_ns();
        if asked.abs_diff(expected) < JITTER_NS { expected } else { asked }
    }
}

/// How far the wall clock may be off before it counts as having been set, nanoseconds.
const JITTER_NS: u64 = 1_000_000;

/// Nanoseconds since the Unix epoch, or 0 on a machine whose clock stands before it.
fn wall_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
