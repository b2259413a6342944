//! Which rules were broken in a session, as far as it was judged.

use std::collections::BTreeMap;

use tap_session::{At, Severity};

use crate::data::{FindingLine, Row};
use crate::effect::Ticket;

/// Rules that were broken.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) by_message: BTreeMap<At, Vec<FindingLine>>,
    /// Where each of them is, in the order of messages: its message, and which of those it is.
    pub(crate) order: Vec<(At, usize)>,
    /// The same as errors, warnings and notes.
    pub(crate) n_by_severity: [u64; 3],
    /// How far the session was judged.
    pub(crate) seq: u64,
    pub(crate) complete: bool,
    pub(crate) ticket: Option<Ticket>,
    /// The first message of which something was found that a list with a filter may not have known.
    pub(crate) unlisted: Option<u64>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
}

impl Findings {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Puts more in, mostly behind those that are there.
    pub(crate) fn put(&mut self, found: Vec<FindingLine>) {
        for finding in found {
            let counted = match finding.severity {
                Severity::Error => &mut self.n_by_severity[0],
                Severity::Warning => &mut self.n_by_severity[1],
                Severity::Note => &mut self.n_by_severity[2],
            };
            *counted += 1;
            let its = self.by_message.entry(finding.at).or_default();
            self.order.push((finding.at, its.len()));
            its.push(finding);
        }
        if !self.order.is_sorted() {
            self.order.sort();
        }
    }

    /// Those of a message.
    pub(crate) fn of_message(&self, at: At) -> &[FindingLine] {
        self.by_message.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The one at a place in the order of messages.
    pub(crate) fn get(&self, index: usize) -> Option<&FindingLine> {
        let (at, which) = self.order.get(index)?;
        self.by_message.get(at)?.get(*which)
    }

    /// Some of them from a place on, with their places: costs what those cost.
    pub(crate) fn some(&self, first: usize, n: usize) -> impl Iterator<Item = (usize, &FindingLine)> {
        (first..self.len().min(first.saturating_add(n))).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// Those of a row: of a call, those of its answer too.
    pub(crate) fn of_row<'a>(&'a self, row: &Row, calls: bool) -> impl Iterator<Item = &'a FindingLine> {
        let answer = row.row.pair.filter(|pair| calls && *pair != row.at());
        let places = [Some(row.at()), answer].into_iter().flatten();
        places.flat_map(|at| self.of_message(at))
    }

    pub(crate) fn worst(&self, row: &Row, calls: bool) -> Option<Severity> {
        self.of_row(row, calls).map(|finding| finding.severity).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_has_its_place_in_the_order_of_messages() {
        let finding = |(number, (seq, member)): (usize, (u64, u64))| FindingLine {
            at: At { seq, member },
            rule: "R",
            title: "",
            advice: "",
            severity: [Severity::Error, Severity::Warning, Severity::Note][number % 3],
            detail: number.to_string(),
            by: "server",
        };
        // Several of a message, and some that are told only later, as of a request that was never answered.
        let parts: [&[(u64, u64)]; 4] =
            [&[(1, 0), (1, 0), (4, 2), (4, 1)], &[], &[(5, 0), (2, 0), (1, 0)], &[(5, 0), (9, 0), (2, 0)]];
        let (mut findings, mut numbers) = (Findings::default(), 0..);
        for part in parts {
            findings.put(numbers.by_ref().zip(part.iter().copied()).map(finding).collect());
            let in_order: Vec<&FindingLine> = findings.by_message.values().flatten().collect();
            assert_eq!(findings.len(), in_order.len());
            let found: Vec<&FindingLine> = (0..findings.len()).filter_map(|index| findings.get(index)).collect();
            assert_eq!(found, in_order);
        }
        assert_eq!(findings.n_by_severity, [4, 3, 3]);
        let some =
            |first, n| findings.some(first, n).map(|(index, it)| (index, it.detail.as_str())).collect::<Vec<_>>();
        assert_eq!(some(2, 3), [(2, "6"), (3, "5"), (4, "9")]);
        assert_eq!(some(9, 5), [(9, "8")]);
        assert_eq!((some(10, 5), some(0, 0), findings.get(10)), (vec![], vec![], None));
    }
}
