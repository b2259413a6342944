//! Two lists of calls side by side: which call of one is which of the other.

use std::collections::{HashMap, VecDeque};

use crate::key::MatchKey;

/// How often two requests may be compared to find the nearest.
const NEAREST_LIMIT: usize = 20_000;

/// The method, and the name of the tool, prompt or resource.
type Group = (String, Option<String>);

/// Why two calls stand side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PairedBy {
    /// Their keys are equal.
    Key,
    /// They are of the same tool or method, and none is nearer.
    Nearest,
    /// They are of the same tool or method, of which there are too many to look for the nearest.
    Order,
    /// There is only one.
    Alone,
}

/// Two calls that stand side by side, or one that is alone. Never neither.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pairing {
    /// Its place in A.
    pub a: Option<usize>,
    /// Its place in B.
    pub b: Option<usize>,
    /// Why they are together.
    pub by: PairedBy,
}

/// Puts the calls of A and B side by side: those with equal keys in order, then of what is left the nearest of the same method
/// and name. Each call is in exactly one pairing. In the order of B; what is only in A stands before the call of B that belongs
/// to a later one of A.
///
/// `distance` says how far the requests at two places differ. It is asked 20,000 times at most; beyond that, calls are paired in
/// order. The rest takes time in proportion to the calls.
pub fn align_calls(a: &[MatchKey], b: &[MatchKey], mut distance: impl FnMut(usize, usize) -> usize) -> Vec<Pairing> {
    let mut partner_of_b: Vec<Option<(usize, PairedBy)>> = vec![None; b.len()];
    let mut is_paired = vec![false; a.len()];
    let mut by_key: HashMap<&MatchKey, VecDeque<usize>> = HashMap::new();
    for (index, key) in a.iter().enumerate() {
        by_key.entry(key).or_default().push_back(index);
    }
    for (index, key) in b.iter().enumerate() {
        if let Some(in_a) = by_key.get_mut(key).and_then(VecDeque::pop_front) {
            partner_of_b[index] = Some((in_a, PairedBy::Key));
            is_paired[in_a] = true;
        }
    }
    // What is left, by method and name, in the order of A.
    let group = |key: &MatchKey| (key.method().to_owned(), key.name().map(str::to_owned));
    let mut groups: HashMap<Group, (Vec<usize>, Vec<usize>)> = HashMap::new();
    let mut order = Vec::new();
    for (index, key) in a.iter().enumerate().filter(|(index, _)| !is_paired[*index]) {
        let entry = groups.entry(group(key)).or_insert_with(|| {
            order.push(group(key));
            Default::default()
        });
        entry.0.push(index);
    }
    for (index, key) in b.iter().enumerate().filter(|(index, _)| partner_of_b[*index].is_none()) {
        if let Some(entry) = groups.get_mut(&group(key)) {
            entry.1.push(index);
        }
    }
    let mut left = NEAREST_LIMIT;
    for (left_a, left_b) in order.iter().filter_map(|name| groups.get(name)) {
        let n_pairs = left_a.len().saturating_mul(left_b.len());
        let mut pair = |(in_a, in_b): (usize, usize), by| {
            if !is_paired[in_a] && partner_of_b[in_b].is_none() {
                partner_of_b[in_b] = Some((in_a, by));
                is_paired[in_a] = true;
            }
        };
        if n_pairs == 1 || n_pairs > left {
            let by = if n_pairs == 1 { PairedBy::Nearest } else { PairedBy::Order };
            left_a.iter().copied().zip(left_b.iter().copied()).for_each(|both| pair(both, by));
            continue;
        }
        left -= n_pairs;
        let mut all = Vec::with_capacity(n_pairs);
        for (rank_a, in_a) in left_a.iter().enumerate() {
            for (rank_b, in_b) in left_b.iter().enumerate() {
                all.push((distance(*in_a, *in_b), rank_a.abs_diff(rank_b), *in_a, *in_b));
            }
        }
        all.sort_unstable();
        all.into_iter().for_each(|(_, _, in_a, in_b)| pair((in_a, in_b), PairedBy::Nearest));
    }
    let mut pairings = Vec::with_capacity(a.len().max(b.len()));
    let mut only_in_a = (0..a.len()).filter(|index| !is_paired[*index]).peekable();
    let alone = |index| Pairing { a: Some(index), b: None, by: PairedBy::Alone };
    for (index, partner) in partner_of_b.iter().enumerate() {
        if let Some((in_a, _)) = partner {
            while let Some(gone) = only_in_a.next_if(|gone| gone < in_a) {
                pairings.push(alone(gone));
            }
        }
        let (in_a, by) = partner.map_or((None, PairedBy::Alone), |(in_a, by)| (Some(in_a), by));
        pairings.push(Pairing { a: in_a, b: Some(index), by });
    }
    pairings.extend(only_in_a.map(alone));
    pairings
}
