//! Where the time of a session went: how long tools were at work, other requests, a person was waited for, and neither.

/// So many stretches that do not touch are kept apart; what ends before the older half of them is settled then.
const STRETCHES: usize = 10_000;

/// Time that was covered by any number of stretches, each counted once where they overlap.
#[derive(Debug, Clone, Default)]
struct Covered {
    /// Of all that lies before `settled_ns`, nanoseconds.
    sum_ns: u64,
    settled_ns: u64,
    /// What lies behind it: from where to where, rising, with time between.
    stretches: Vec<(u64, u64)>,
}

impl Covered {
    fn add(&mut self, from_ns: u64, to_ns: u64) {
        let (mut from_ns, mut to_ns) = (from_ns.max(self.settled_ns), to_ns);
        if to_ns <= from_ns {
            return;
        }
        // Mostly at the end: calls come as they end.
        let first = self.stretches.partition_point(|(_, end_ns)| *end_ns < from_ns);
        let mut last = first;
        while let Some((begin_ns, end_ns)) = self.stretches.get(last).filter(|(begin_ns, _)| *begin_ns <= to_ns) {
            (from_ns, to_ns) = (from_ns.min(*begin_ns), to_ns.max(*end_ns));
            last += 1;
        }
        self.stretches.splice(first..last, [(from_ns, to_ns)]);
        if self.stretches.len() > STRETCHES {
            for (begin_ns, end_ns) in self.stretches.drain(..STRETCHES / 2) {
                self.sum_ns += end_ns - begin_ns;
                self.settled_ns = end_ns;
            }
        }
    }

    fn sum_ns(&self) -> u64 {
        self.sum_ns + self.stretches.iter().map(|(begin_ns, end_ns)| end_ns - begin_ns).sum::<u64>()
    }
}

/// What was gone on with at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Work {
    /// A tool was at work.
    Tool,
    /// Another request was.
    Other,
    /// A person was waited for.
    Person,
}

/// Where the time went, as it is counted.
#[derive(Debug, Clone, Default)]
pub(super) struct Spending {
    person: Covered,
    person_or_tools: Covered,
    any: Covered,
    /// The first moment and the last, nanoseconds since the session opened.
    ends_ns: Option<(u64, u64)>,
}

/// Where the time went, nanoseconds. What more than one holds for counts for the first of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// From the first message to the last.
    pub(crate) all_ns: u64,
    /// A person was waited for.
    pub(crate) person_ns: u64,
    /// Tools were at work.
    pub(crate) tools_ns: u64,
    /// Other requests were.
    pub(crate) others_ns: u64,
}

impl Spent {
    /// Nothing was asked of the server: the host, and its model.
    pub(crate) fn host_ns(&self) -> u64 {
        self.all_ns.saturating_sub(self.person_ns + self.tools_ns + self.others_ns)
    }

    /// Takes in another session's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.all_ns += other.all_ns;
        self.person_ns += other.person_ns;
        self.tools_ns += other.tools_ns;
        self.others_ns += other.others_ns;
    }
}

impl Spending {
    /// Something was said at this moment.
    pub(super) fn at(&mut self, at_ns: u64) {
        let (first_ns, last_ns) = self.ends_ns.unwrap_or((at_ns, at_ns));
        self.ends_ns = Some((first_ns.min(at_ns), last_ns.max(at_ns)));
    }

    /// Something went on from here to there.
    pub(super) fn add(&mut self, work: Work, from_ns: u64, to_ns: u64) {
        self.any.add(from_ns, to_ns);
        if work != Work::Other {
            self.person_or_tools.add(from_ns, to_ns);
        }
        if work == Work::Person {
            self.person.add(from_ns, to_ns);
        }
    }

    pub(super) fn spent(&self) -> Spent {
        let (person_ns, both_ns, any_ns) = (self.person.sum_ns(), self.person_or_tools.sum_ns(), self.any.sum_ns());
        let all_ns = self.ends_ns.map_or(0, |(first_ns, last_ns)| last_ns - first_ns).max(any_ns);
        let tools_ns = both_ns.saturating_sub(person_ns);
        Spent { all_ns, person_ns, tools_ns, others_ns: any_ns.saturating_sub(both_ns) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_more_than_one_holds_for_counts_once() {
        let mut spending = Spending::default();
        for at_ns in [0, 100] {
            spending.at(at_ns);
        }
        for (work, from_ns, to_ns) in [
            (Work::Other, 0, 5),
            (Work::Tool, 10, 30),
            (Work::Tool, 20, 40),
            (Work::Person, 25, 35),
            (Work::Other, 38, 50),
        ] {
            spending.add(work, from_ns, to_ns);
        }
        let spent = spending.spent();
        assert_eq!(spent, Spent { all_ns: 100, person_ns: 10, tools_ns: 20, others_ns: 15 });
        assert_eq!(spent.host_ns(), 55);
    }

    proptest! {
        #[test]
        fn time_is_covered_once(stretches in prop::collection::vec((0_u64..200, 0_u64..40), 0..60)) {
            let (mut covered, mut nanoseconds) = (Covered::default(), [false; 240]);
            for (from, long) in stretches {
                covered.add(from, from + long);
                nanoseconds[from as usize..(from + long) as usize].fill(true);
                prop_assert!(covered.stretches.is_sorted_by(|a, b| a.1 < b.0));
            }
            prop_assert_eq!(covered.sum_ns(), nanoseconds.iter().filter(|is| **is).count() as u64);
        }
    }

    #[test]
    fn what_is_settled_is_not_counted_again() {
        let mut covered = Covered::default();
        for n in 0..3 * STRETCHES as u64 {
            covered.add(10 * n, 10 * n + 4);
            assert!(covered.stretches.len() <= STRETCHES);
        }
        let before = covered.sum_ns();
        assert_eq!(before, 12 * STRETCHES as u64);
        covered.add(0, 10);
        assert_eq!(covered.sum_ns(), before, "it is too late for that");
    }
}
