//! Which element of one array is which of another.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use similar::{Algorithm, DiffOp, capture_diff_slices};
use tap_jsonrpc::{Node, NodeKind};

use crate::canonical::{Trails, Writer};
use crate::compare::Walk;
use crate::difference::Bound;
use crate::path::Step;
use crate::placeholder::Looks;
use crate::scalar::{said, write_number};

/// Members by which the elements of an array are told apart, if each has one of its own.
const IDENTITIES: [&str; 4] = ["name", "uri", "uriTemplate", "id"];

/// Up to so many pairs of elements are worth the search for the longest common sequence.
const SEARCH_PAIRS: usize = 4_000_000;

/// Elements of A and of B that belong together, or are alone.
pub(crate) struct Aligned {
    /// In the order of B, with what is only in A at its place.
    pub(crate) pairs: Vec<(Option<usize>, Option<usize>)>,
    /// Whether those that were found by a name stand in another order.
    pub(crate) is_reordered: bool,
}

pub(crate) fn align(walk: &mut Walk<'_, '_>, a: &[Node<'_>], b: &[Node<'_>], trails: &Trails) -> Aligned {
    if let Some(aligned) = by_identity(walk, a, b, trails) {
        return aligned;
    }
    let n_same_start = a.iter().zip(b).take_while(|(a, b)| a.bytes() == b.bytes()).count();
    let (rest_a, rest_b) = (&a[n_same_start..], &b[n_same_start..]);
    let n_same_end = rest_a.iter().rev().zip(rest_b.iter().rev()).take_while(|(a, b)| a.bytes() == b.bytes()).count();
    let middle_a = n_same_start..a.len() - n_same_end;
    let middle_b = n_same_start..b.len() - n_same_end;
    let both = |index: usize| (Some(index), Some(index));
    let mut pairs: Vec<_> = (0..n_same_start).map(both).collect();
    let is_search_worth = !middle_a.is_empty()
        && !middle_b.is_empty()
        && (middle_a.len() > 1 || middle_b.len() > 1)
        && middle_a.len().saturating_mul(middle_b.len()) <= SEARCH_PAIRS;
    if is_search_worth {
        let (marks_a, marks_b) = (marks(walk, &a[middle_a], trails), marks(walk, &b[middle_b], trails));
        for operation in capture_diff_slices(Algorithm::Myers, &marks_a, &marks_b) {
            let (from_a, from_b) = match operation {
                DiffOp::Equal { old_index, new_index, len } => (old_index..old_index + len, new_index..new_index + len),
                DiffOp::Delete { old_index, old_len, new_index } => {
                    (old_index..old_index + old_len, new_index..new_index)
                }
                DiffOp::Insert { old_index, new_index, new_len } => {
                    (old_index..old_index, new_index..new_index + new_len)
                }
                DiffOp::Replace { old_index, old_len, new_index, new_len } => {
                    (old_index..old_index + old_len, new_index..new_index + new_len)
                }
            };
            by_place(&mut pairs, from_a, from_b, n_same_start);
        }
    } else {
        if !middle_a.is_empty() && !middle_b.is_empty() && (middle_a.len() > 1 || middle_b.len() > 1) {
            walk.found.bounds.insert(Bound::Array);
        }
        by_place(&mut pairs, middle_a, middle_b, 0);
    }
    let end = |back: usize| (Some(a.len() - back), Some(b.len() - back));
    pairs.extend((1..=n_same_end).rev().map(end));
    Aligned { pairs, is_reordered: false }
}

fn by_place(
    pairs: &mut Vec<(Option<usize>, Option<usize>)>,
    a: std::ops::Range<usize>,
    b: std::ops::Range<usize>,
    offset: usize,
) {
    let get =
        |range: &std::ops::Range<usize>, index: usize| (index < range.len()).then(|| offset + range.start + index);
    pairs.extend((0..a.len().max(b.len())).map(|index| (get(&a, index), get(&b, index))));
}

/// One number an element, the same for elements that are the same.
fn marks(walk: &mut Walk<'_, '_>, elements: &[Node<'_>], trails: &Trails) -> Vec<u64> {
    let dials = walk.options.dials;
    // Half of what is left, so that there is something for what comes below.
    let limit = walk.work_left_bytes() / 2;
    let mut writer = Writer::new(dials, limit);
    let below = trails.step(dials, &Step::Element(usize::MAX));
    let marks = elements.iter().map(|element| {
        writer.out.clear();
        writer.write(*element, &below, 0);
        let mut hasher = DefaultHasher::new();
        writer.out.hash(&mut hasher);
        hasher.finish()
    });
    let marks = marks.collect();
    walk.found.work_bytes = walk.found.work_bytes.saturating_add(writer.work_bytes);
    marks
}

fn by_identity(walk: &Walk<'_, '_>, a: &[Node<'_>], b: &[Node<'_>], trails: &Trails) -> Option<Aligned> {
    IDENTITIES.iter().find_map(|key| {
        let dials = walk.options.dials;
        let there = trails.step(dials, &Step::Element(usize::MAX)).step(dials, &Step::Member((*key).to_owned()));
        if there.is_ignored(dials) || there.is_volatile(dials) {
            return None;
        }
        let in_a = identities(walk, a, key)?;
        let in_b = identities(walk, b, key)?;
        let mut places: Vec<Option<usize>> = vec![None; b.len()];
        let mut only_in_a = Vec::new();
        let mut ordered: Vec<(&Vec<u8>, usize)> = in_a.iter().map(|(name, index)| (name, *index)).collect();
        ordered.sort_by_key(|(_, index)| *index);
        for (name, index) in ordered {
            match in_b.get(name) {
                Some(&in_b) => places[in_b] = Some(index),
                None => only_in_a.push(index),
            }
        }
        let common: Vec<usize> = places.iter().flatten().copied().collect();
        if common.is_empty() {
            return None;
        }
        let is_reordered = !common.is_sorted();
        let mut pairs = Vec::new();
        let mut only_in_a = only_in_a.into_iter().peekable();
        for (index, place) in places.into_iter().enumerate() {
            while let Some(gone) = only_in_a.next_if(|gone| place.is_some_and(|place| *gone < place)) {
                pairs.push((Some(gone), None));
            }
            pairs.push((place, Some(index)));
        }
        pairs.extend(only_in_a.map(|gone| (Some(gone), None)));
        Some(Aligned { pairs, is_reordered })
    })
}

/// The identities of elements and where they are, if each has one of its own.
fn identities(walk: &Walk<'_, '_>, elements: &[Node<'_>], key: &str) -> Option<HashMap<Vec<u8>, usize>> {
    let mut known = HashMap::new();
    for (index, element) in elements.iter().enumerate() {
        let value = element.get(key)?;
        if walk.options.hide_looks && Looks::of(value).is_some() {
            return None;
        }
        let mut identity = Vec::new();
        match value.kind() {
            NodeKind::String => {
                identity.push(b'"');
                identity.extend_from_slice(&said(value.bytes()));
            }
            NodeKind::Number => write_number(value.bytes(), &mut identity),
            _ => return None,
        }
        if known.insert(identity, index).is_some() {
            return None;
        }
    }
    Some(known)
}
