//! All of a session in some hundreds of parts, in one walk over its rows; what comes later is put to what is there.

use std::time::{Duration, Instant};

use tap_frame::Stream;
use tap_inspector::{Answer, Overview, OverviewPart, SessionKey, Ticket};
use tap_session::{At, RowKind, Status};
use tap_store::{Mark, SessionId, Store, StoreError};

use crate::command::inspect::asked::Answers;

/// Rows between two looks at whether it is still wanted.
const PAGE: u64 = 5_000;

/// How long it goes on before what is known is given.
const GIVE: Duration = Duration::from_millis(150);

/// How many parts there are at most. When there is no room for a later one, two become one.
const PARTS: usize = 512;

/// How long a part is at first, nanoseconds.
const FIRST_PART_NS: u64 = 1_024;

/// How much longer the calls of a class take than those of the one before, so that what is told is a hundredth off at most.
const CLASS: f64 = 1.02;

/// What is worked out of a session, and how far.
#[derive(Debug)]
pub(super) struct Overseen {
    key: SessionKey,
    after: At,
    overview: Overview,
    /// How many calls took how long, by the logarithm of that.
    latencies: Vec<u64>,
}

impl Overseen {
    pub(super) fn new(key: SessionKey) -> Self {
        let overview = Overview { part_ns: FIRST_PART_NS, ..Overview::default() };
        Self { key, after: At { seq: 0, member: 0 }, overview, latencies: Vec::new() }
    }

    pub(super) fn is_of(&self, key: SessionKey) -> bool {
        self.key == key
    }

    /// Goes on to the end of what there is, and gives what is known on the way.
    pub(super) fn go_on(&mut self, store: &Store, ticket: Ticket, answers: &Answers) -> Result<(), StoreError> {
        let id = SessionId(self.key.0);
        if !store.catch_up_while(id, |_| !answers.is_withdrawn(ticket))? {
            return Ok(());
        }
        let mut given = Instant::now();
        loop {
            if answers.is_withdrawn(ticket) {
                return Ok(());
            }
            let marks = store.marks(id, self.after, PAGE)?;
            marks.iter().for_each(|mark| self.add(mark));
            let complete = (marks.len() as u64) < PAGE;
            if complete || given.elapsed() > GIVE {
                given = Instant::now();
                self.overview.complete = complete;
                self.overview.p50_ns = self.percentile(50);
                self.overview.p95_ns = self.percentile(95);
                answers.give(ticket, Answer::Overview(Box::new(self.overview.clone())));
            }
            if complete {
                return Ok(());
            }
        }
    }

    fn add(&mut self, mark: &Mark) {
        self.after = mark.at;
        let overview = &mut self.overview;
        overview.through = overview.through.max(mark.at.seq);
        while mark.at_ns / overview.part_ns >= PARTS as u64 {
            halve(overview);
        }
        let index = usize::try_from(mark.at_ns / overview.part_ns).unwrap_or(PARTS - 1);
        if overview.parts.len() <= index {
            overview.parts.resize(index + 1, OverviewPart::default());
        }
        let is_answer = matches!(mark.kind, RowKind::Result | RowKind::Error);
        let failed = is_answer && matches!(mark.status, Some(Status::Error | Status::ToolError));
        let is_none = matches!(mark.kind, RowKind::NotJson | RowKind::NotAMessage | RowKind::Gap);
        if let Some(part) = overview.parts.get_mut(index) {
            if part.first_seq == 0 {
                part.first_seq = mark.at.seq;
            }
            if mark.at.member == 0 {
                part.n_bytes = part.n_bytes.saturating_add(mark.length);
            }
            part.n_errors += u64::from(failed || is_none);
        }
        if let Some(latency_ns) = mark.latency_ns
            && is_answer
            && mark.stream == Stream::ToClient
            && !mark.is_subscription
        {
            let class = (latency_ns.max(1) as f64).ln() / CLASS.ln();
            let class = class as usize;
            if self.latencies.len() <= class {
                self.latencies.resize(class + 1, 0);
            }
            self.latencies[class] += 1;
        }
    }

    /// What so many of a hundred calls took at most, nanoseconds.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let n = self.latencies.iter().sum::<u64>();
        let rank = (n * percent).div_ceil(100).max(1);
        let mut passed = 0;
        let class = self.latencies.iter().position(|n| {
            passed += n;
            passed >= rank
        })?;
        Some(CLASS.powf(class as f64 + 0.5).round() as u64)
    }
}

/// Makes one part of two.
fn halve(overview: &mut Overview) {
    overview.part_ns = overview.part_ns.saturating_mul(2);
    let joined = overview.parts.chunks(2).map(|pair| {
        let mut first = pair.first().copied().unwrap_or_default();
        if let Some(second) = pair.get(1) {
            first.first_seq = if first.first_seq == 0 { second.first_seq } else { first.first_seq };
            first.n_bytes = first.n_bytes.saturating_add(second.n_bytes);
            first.n_errors += second.n_errors;
        }
        first
    });
    overview.parts = joined.collect();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(seq: u64, at_ns: u64, latency_ns: u64, status: Status) -> Mark {
        Mark {
            at: At { seq, member: 0 },
            at_ns,
            stream: Stream::ToClient,
            kind: if status == Status::Error { RowKind::Error } else { RowKind::Result },
            status: Some(status),
            length: 10,
            latency_ns: Some(latency_ns),
            is_subscription: false,
        }
    }

    #[test]
    fn parts_become_longer_as_a_session_does_and_nothing_is_lost() {
        let mut overseen = Overseen::new(SessionKey(1));
        for n in 0..10_000_u64 {
            let status = if n == 7_000 { Status::ToolError } else { Status::Ok };
            overseen.add(&answer(n + 1, n * 1_000_000, (n + 1) * 1_000, status));
        }
        let Overview { parts, part_ns, through, .. } = &overseen.overview;
        assert!((PARTS / 2..=PARTS).contains(&parts.len()), "{}", parts.len());
        assert_eq!(*through, 10_000);
        assert_eq!(parts.iter().map(|part| part.n_bytes).sum::<u64>(), 100_000);
        let failed: Vec<usize> = (0..parts.len()).filter(|index| parts[*index].n_errors > 0).collect();
        assert_eq!(failed, [usize::try_from(7_000_000_000 / part_ns).unwrap()]);
        assert!(parts.iter().map(|part| part.first_seq).filter(|seq| *seq > 0).is_sorted());
        for (percent, expected) in [(50, 5_000_000_f64), (95, 9_500_000.0), (100, 10_000_000.0)] {
            let told = overseen.percentile(percent).unwrap() as f64;
            assert!((told / expected - 1.0).abs() < 0.011, "p{percent}: {told}, not {expected}");
        }
        assert_eq!(Overseen::new(SessionKey(1)).percentile(50), None);
    }

    #[test]
    fn a_moment_that_is_far_away_is_reached() {
        let mut overseen = Overseen::new(SessionKey(1));
        overseen.add(&answer(1, 5, u64::MAX, Status::Ok));
        overseen.add(&answer(2, u64::MAX, 0, Status::Error));
        let parts = &overseen.overview.parts;
        assert!(parts.len() <= PARTS && parts.last().unwrap().first_seq == 2);
        assert_eq!(parts[0].first_seq, 1);
    }
}
