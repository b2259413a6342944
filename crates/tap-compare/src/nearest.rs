//! What is nearest to a request that nothing matches, why it does not match, and what would accept it.

use std::fmt;

use tap_jsonrpc::{Node, NodeKind};

use crate::compare::{Options, compare};
use crate::difference::{Change, Comparison, Difference};
use crate::key::Request;
use crate::path::{Path, Side};
use crate::placeholder::Markers;
use crate::rules::{Dials, Loose, Rules};
use crate::scalar::{folded, number_in, same_number};

/// How many recorded requests are compared with one that nothing matches.
const COMPARED_LIMIT: usize = 10_000;

/// How many bytes may be walked over for one that nothing matches.
const WORK_LIMIT_BYTES: u64 = 1 << 30;

/// Leaves of an added or removed value are counted up to here.
const LEAVES_LIMIT: usize = 1_000;

/// Differences that are told of each.
const REASONS: usize = 20;

/// A recorded request that could be meant.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The request as it was on the wire.
    pub request: &'a [u8],
    /// Whether its answer was given already.
    pub is_used: bool,
}

/// A recorded request that is near.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Near {
    /// Its place among the candidates.
    pub index: usize,
    /// Whether it is of the same tool, prompt or resource.
    pub is_same_name: bool,
    /// Whether its answer was given already.
    pub is_used: bool,
    /// In how many values it differs; another type counts as one.
    pub n_leaves: usize,
    /// Why it does not match, the first 20.
    pub reasons: Vec<Reason>,
}

/// Why a recorded request does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason {
    /// Where.
    pub path: Path,
    /// The recorded JSON.
    pub recorded: Option<Box<[u8]>>,
    /// The JSON that came.
    pub got: Option<Box<[u8]>>,
    /// In words.
    pub why: Why,
    /// What would accept it, the narrowest first.
    pub accepted_by: Vec<Accept>,
}

/// How a value of a request differs from the recorded one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// Something was recorded, and nothing came.
    Missing,
    /// Something came, and nothing was recorded.
    New,
    /// From one type to another.
    Type(&'static str, &'static str),
    /// The same but for upper and lower case.
    Case,
    /// The same but for white space.
    Space,
    /// The same elements in another order.
    Order,
    /// Another value.
    Value,
}

impl fmt::Display for Why {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => formatter.write_str("is missing"),
            Self::New => formatter.write_str("is new"),
            Self::Type(recorded, got) => write!(formatter, "{recorded} became {got}"),
            Self::Case => formatter.write_str("only upper and lower case differ"),
            Self::Space => formatter.write_str("only white space differs"),
            Self::Order => formatter.write_str("another order"),
            Self::Value => formatter.write_str("another value"),
        }
    }
}

/// What would accept a difference.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Accept {
    /// A looser comparison of values.
    Loose(Loose),
    /// To leave the place out. As [`PathPattern`](crate::PathPattern) reads it.
    Ignore(String),
}

/// As an option on the command line, not yet quoted for a shell.
impl fmt::Display for Accept {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Loose(Loose::Numbers) => formatter.write_str("--loose numbers"),
            Self::Loose(Loose::Case) => formatter.write_str("--loose case"),
            Self::Loose(Loose::Space) => formatter.write_str("--loose space"),
            Self::Ignore(path) => write!(formatter, "--ignore {path}"),
        }
    }
}

/// What is nearest, and how far was looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nearest {
    /// The nearest first.
    pub near: Vec<Near>,
    /// Candidates of the same method that were not compared, because that would have been too much work.
    pub n_not_compared: usize,
}

/// Ranks recorded requests by how near they are to one that came: those of the same method and name before those of the same
/// method, then by the number of values that differ, then those not used yet, then in order. The best `n` are given.
#[must_use]
pub fn nearest<'a>(
    got: &[u8],
    candidates: impl IntoIterator<Item = Candidate<'a>>,
    rules: &Rules,
    n: usize,
) -> Nearest {
    let Some(wanted) = Request::read(got) else {
        return Nearest::default();
    };
    let dials = rules.dials(wanted.name.as_deref());
    let mut same_method: Vec<(bool, usize, Candidate<'a>)> = Vec::new();
    for (index, candidate) in candidates.into_iter().enumerate() {
        if let Some(request) = Request::read(candidate.request).filter(|request| request.method == wanted.method) {
            same_method.push((request.name != wanted.name, index, candidate));
        }
    }
    same_method.sort_by_key(|(is_other_name, index, _)| (*is_other_name, *index));
    let n_all = same_method.len();
    let mut work_bytes = 0;
    let mut ranked = Vec::new();
    for (is_other_name, index, candidate) in same_method.into_iter().take(COMPARED_LIMIT) {
        if work_bytes > WORK_LIMIT_BYTES {
            break;
        }
        let comparison = compare_requests(candidate.request, got, &dials);
        work_bytes += comparison.work_bytes + candidate.request.len() as u64;
        let n_leaves = leaves(&comparison);
        ranked.push((is_other_name, n_leaves, candidate.is_used, index, candidate.request));
    }
    let n_not_compared = n_all - ranked.len();
    ranked.sort_unstable_by_key(|(is_other_name, n_leaves, is_used, index, _)| {
        (*is_other_name, *n_leaves, *is_used, *index)
    });
    // Only the best are looked at again, so that what is kept is little.
    let near = ranked.into_iter().take(n).map(|(is_other_name, n_leaves, is_used, index, request)| Near {
        index,
        is_same_name: !is_other_name,
        is_used,
        n_leaves,
        reasons: reasons(&compare_requests(request, got, &dials)),
    });
    Nearest { near: near.collect(), n_not_compared }
}

/// In how many values two requests differ; another type counts as one, and what is only in one as its leaves.
#[must_use]
pub fn distance(a: &[u8], b: &[u8], dials: &Dials) -> usize {
    leaves(&compare_requests(a, b, dials))
}

/// Why a recorded request does not match one that came: the first 20 reasons, from a comparison of the two.
#[must_use]
pub fn reasons(comparison: &Comparison) -> Vec<Reason> {
    comparison.differences.iter().take(REASONS).map(reason).collect()
}

fn compare_requests(recorded: &[u8], got: &[u8], dials: &Dials) -> Comparison {
    compare(
        recorded,
        got,
        &Options { n_listed: LEAVES_LIMIT, ..Options::new(dials, Side::Request) },
        &mut Markers::new(),
    )
}

fn leaves(comparison: &Comparison) -> usize {
    let listed = comparison.differences.iter().map(|difference| match (&difference.a, &difference.b) {
        (Some(json), None) | (None, Some(json)) => {
            let mut n = 0;
            count_leaves(Node::new(json), &mut n, 0);
            n.max(1)
        }
        _ => 1,
    });
    listed.sum::<usize>() + (comparison.n_differences - comparison.differences.len())
}

fn count_leaves(node: Node<'_>, n: &mut usize, depth: usize) {
    if *n >= LEAVES_LIMIT {
        return;
    }
    if depth > 16 || !(node.is_object() || node.is_array()) {
        *n += 1;
        return;
    }
    for value in node.members().map(|(_, value)| value).chain(node.elements()) {
        if *n >= LEAVES_LIMIT {
            return;
        }
        count_leaves(value, n, depth + 1);
    }
}

fn reason(difference: &Difference) -> Reason {
    let (recorded, got) = (difference.a.as_deref().map(Node::new), difference.b.as_deref().map(Node::new));
    let (why, loose) = match (difference.change, recorded, got) {
        (Change::Added, ..) => (Why::New, None),
        (Change::Removed, ..) => (Why::Missing, None),
        (Change::Reordered, ..) => (Why::Order, None),
        (_, Some(recorded), Some(got)) => why(recorded, got),
        _ => (Why::Value, None),
    };
    let ignore = Accept::Ignore(difference.path.dotted(Side::Request));
    Reason {
        path: difference.path.clone(),
        recorded: difference.a.clone(),
        got: difference.b.clone(),
        why,
        accepted_by: loose.map(Accept::Loose).into_iter().chain([ignore]).collect(),
    }
}

fn why(recorded: Node<'_>, got: Node<'_>) -> (Why, Option<Loose>) {
    let (text_a, text_b) = (recorded.text(), got.text());
    if type_name(recorded) != type_name(got) {
        let number = |node: Node<'_>| match node.text() {
            Some(text) => number_in(&text).map(<[u8]>::to_vec),
            None => node.is_number().then(|| node.bytes().to_vec()),
        };
        let is_same_number = number(recorded).zip(number(got)).is_some_and(|(a, b)| same_number(&a, &b));
        return (Why::Type(type_name(recorded), type_name(got)), is_same_number.then_some(Loose::Numbers));
    }
    if let (Some(a), Some(b)) = (text_a, text_b) {
        if folded(&a, true, false) == folded(&b, true, false) {
            return (Why::Case, Some(Loose::Case));
        }
        if folded(&a, false, true) == folded(&b, false, true) {
            return (Why::Space, Some(Loose::Space));
        }
    }
    (Why::Value, None)
}

fn type_name(node: Node<'_>) -> &'static str {
    match node.kind() {
        NodeKind::Object => "an object",
        NodeKind::Array => "an array",
        NodeKind::String => "a string",
        NodeKind::Number => "a number",
        NodeKind::True | NodeKind::False => "a boolean",
        NodeKind::Null => "null",
        NodeKind::Invalid => "no JSON",
    }
}
