//! The ids that one side has used: exact for whole numbers, which are runs, and bounded for others.

use imbl::{HashSet, OrdMap};
use tap_jsonrpc::RawId;

/// How many ids of one side are remembered that are not whole numbers, and how many runs of whole numbers.
const USED_IDS: usize = 10_000;

/// The ids that one side has used for requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedIds {
    /// The run of whole numbers that the newest id is in, first and last: clients count, so that there is usually no other.
    newest: Option<(i64, i64)>,
    /// The other runs, by their first. Runs may touch.
    runs: OrdMap<i64, i64>,
    others: HashSet<RawId>,
    /// Ids that were not remembered, because there were too many.
    pub n_forgotten: u64,
}

impl UsedIds {
    /// Notes an id.
    pub(crate) fn insert(&mut self, raw_id: &RawId) {
        let Some(number) = whole_number(raw_id) else {
            if self.others.len() < USED_IDS {
                self.others.insert(raw_id.clone());
            } else if !self.others.contains(raw_id) {
                self.n_forgotten += 1;
            }
            return;
        };
        if self.contains_number(number) {
            return;
        }
        match self.newest {
            Some((first, last)) if last.checked_add(1) == Some(number) => self.newest = Some((first, number)),
            Some((first, last)) => {
                if self.runs.len() < USED_IDS {
                    self.runs.insert(first, last);
                } else {
                    self.n_forgotten += 1;
                }
                self.newest = Some((number, number));
                // It may go on where an earlier run ended.
                let before = self.runs.range(..number).next_back().map(|(first, last)| (*first, *last));
                if let Some((first, last)) = before.filter(|(_, last)| last.checked_add(1) == Some(number)) {
                    self.runs.remove(&first);
                    self.newest = Some((first, number));
                    debug_assert!(last < number, "a run ends before what follows it");
                }
            }
            None => self.newest = Some((number, number)),
        }
    }

    /// Takes out an id that was not used after all.
    pub(crate) fn remove(&mut self, raw_id: &RawId) {
        let Some(number) = whole_number(raw_id) else {
            self.others.remove(raw_id);
            return;
        };
        // What is left of a run after the number stays apart from what is before it.
        let (run, is_newest) = match self.newest {
            Some((first, last)) if first <= number && number <= last => ((first, last), true),
            _ => match self.runs.range(..=number).next_back() {
                Some((first, last)) if number <= *last => ((*first, *last), false),
                _ => return,
            },
        };
        if is_newest {
            self.newest = None;
        } else {
            self.runs.remove(&run.0);
        }
        let before = (run.0 < number).then_some((run.0, number - 1));
        let after = (number < run.1).then_some((number + 1, run.1));
        for (first, last) in [before, after].into_iter().flatten() {
            // The client goes on where it was refused.
            if is_newest && last == number - 1 {
                self.newest = Some((first, last));
            } else {
                self.runs.insert(first, last);
            }
        }
    }

    /// Whether the id was used.
    #[must_use]
    pub fn contains(&self, raw_id: &RawId) -> bool {
        match whole_number(raw_id) {
            Some(number) => self.contains_number(number),
            None => self.others.contains(raw_id),
        }
    }

    fn contains_number(&self, number: i64) -> bool {
        self.newest.is_some_and(|(first, last)| first <= number && number <= last)
            || (!self.runs.is_empty()
                && self.runs.range(..=number).next_back().is_some_and(|(_, last)| number <= *last))
    }

    /// The runs of whole numbers that were used, first and last, in rising order and none touching the next.
    #[must_use]
    pub fn runs(&self) -> Vec<(i64, i64)> {
        let mut all: Vec<(i64, i64)> =
            self.runs.iter().map(|(first, last)| (*first, *last)).chain(self.newest).collect();
        all.sort_unstable();
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for (first, last) in all {
            match joined.last_mut() {
                Some(before) if before.1.checked_add(1) == Some(first) => before.1 = last,
                _ => joined.push((first, last)),
            }
        }
        joined
    }

    /// How many ids were used that are not whole numbers.
    #[must_use]
    pub fn n_others(&self) -> usize {
        self.others.len()
    }
}

/// The number of an id that is written as a plain whole number: `7`, not `7.0`, `07` or `"7"`.
fn whole_number(raw_id: &RawId) -> Option<i64> {
    let text = std::str::from_utf8(raw_id.as_bytes()).ok()?;
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits.len() == 1 || !digits.starts_with('0'));
    // `-0` would be taken for `0`, which is another id.
    if plain && text != "-0" { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
