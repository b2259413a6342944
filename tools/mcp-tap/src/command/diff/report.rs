//! Two recordings held against each other.

use std::collections::{BTreeMap, BTreeSet};

use tap_compare::{
    Bound, Comparison, Dials, Difference, Drift, HiddenBy, ItemState, ListKind, Markers, MatchKey, Options, PairedBy,
    Rules, Side, Status, align_calls, compare, distance, drift,
};
use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_session::At;

use super::gather::{Call, Gathered, message};
use crate::failure::Failure;
use crate::reference::Found;

/// Differences that are kept of one call; all are counted.
pub(super) const LISTED_A_CALL: usize = 200;

/// Differences that are kept of all calls.
const LISTED: usize = 50_000;

/// What is different.
pub(super) struct Report {
    pub(super) a: Half,
    pub(super) b: Half,
    pub(super) lists: Vec<Listed>,
    pub(super) calls: Vec<Pair>,
    pub(super) counts: Counts,
    /// Differences that are hidden, by why.
    pub(super) hidden: BTreeMap<HiddenBy, usize>,
    /// What bounds kept from being done.
    pub(super) bounds: BTreeSet<Bound>,
    /// Calls that stand side by side by their order alone, because there are too many to look for the nearest.
    pub(super) n_by_order: usize,
}

/// One of the two.
pub(super) struct Half {
    pub(super) name: String,
    /// Name and version of the server.
    pub(super) server: (Option<String>, Option<String>),
    pub(super) n_calls: usize,
}

/// One kind of thing that a server offers.
pub(super) struct Listed {
    pub(super) kind: ListKind,
    /// Of which both were listed; otherwise how many were, in A and B.
    pub(super) what: Result<Drift, (Option<usize>, Option<usize>)>,
}

/// How many calls are what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) same: usize,
    pub(super) changed: usize,
    pub(super) only_a: usize,
    pub(super) only_b: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Same,
    Changed,
    OnlyA,
    OnlyB,
}

/// Two calls, or one.
pub(super) struct Pair {
    pub(super) state: State,
    pub(super) method: String,
    pub(super) name: Option<String>,
    /// The arguments in a few characters, safe to show.
    pub(super) digest: String,
    /// Where in its recording, and what became of it.
    pub(super) a: Option<End>,
    pub(super) b: Option<End>,
    pub(super) by: PairedBy,
    /// What differs in the request and in the answer.
    pub(super) request: Comparison,
    pub(super) answer: Comparison,
}

/// A call in one of the recordings.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) at: At,
    pub(super) place: String,
    pub(super) status: Status,
    pub(super) latency_ns: u64,
    pub(super) n_rounds: u32,
}

impl Pair {
    /// All differences, of which message each.
    pub(super) fn differences(&self) -> impl Iterator<Item = (Side, &Difference)> {
        let request = self.request.differences.iter().map(|this| (Side::Request, this));
        request.chain(self.answer.differences.iter().map(|this| (Side::Response, this)))
    }

    pub(super) fn n_differences(&self) -> usize {
        self.request.n_differences + self.answer.n_differences
    }

    pub(super) fn n_hidden(&self) -> usize {
        self.request.n_hidden + self.answer.n_hidden
    }

    /// What became of it in both, where that is not the same.
    pub(super) fn statuses(&self) -> Option<(&Status, &Status)> {
        let (a, b) = (&self.a.as_ref()?.status, &self.b.as_ref()?.status);
        (a != b).then_some((a, b))
    }

    /// How many rounds it took in both, where that is not the same.
    pub(super) fn rounds(&self) -> Option<(u32, u32)> {
        let (a, b) = (self.a.as_ref()?.n_rounds, self.b.as_ref()?.n_rounds);
        (a != b).then_some((a, b))
    }
}

impl Report {
    pub(super) fn new(
        (found_a, a): (&Found, &Gathered),
        (found_b, b): (&Found, &Gathered),
        rules: &Rules,
        hide_looks: bool,
    ) -> Result<Self, Failure> {
        let half = |found: &Found, gathered: &Gathered| {
            let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
            Half {
                name: found.conversation.map_or_else(|| found.name(), |number| found.inside(number)),
                server: (text(&gathered.server.0), text(&gathered.server.1)),
                n_calls: gathered.calls.iter().filter(|call| is_compared(call)).count(),
            }
        };
        let mut report = Self {
            a: half(found_a, a),
            b: half(found_b, b),
            lists: Vec::new(),
            calls: Vec::new(),
            counts: Counts::default(),
            hidden: BTreeMap::new(),
            bounds: BTreeSet::new(),
            n_by_order: 0,
        };
        let mut markers = Markers::new();
        report.compare_lists(a, b, rules, &mut markers);
        let mut comparing = Comparing { found: (found_a, found_b), rules, hide_looks, markers, n_left: LISTED };
        for direction in [Direction::ToServer, Direction::ToClient] {
            let of = |gathered: &'_ Gathered| {
                let calls = gathered.calls.iter().enumerate();
                let wanted = calls.filter(|(_, call)| call.direction == direction && is_compared(call));
                wanted.map(|(index, _)| index).collect::<Vec<_>>()
            };
            let (calls_a, calls_b) = (of(a), of(b));
            let keys = |gathered: &Gathered, calls: &[usize]| {
                calls.iter().map(|index| gathered.calls[*index].key.clone()).collect::<Vec<MatchKey>>()
            };
            let mut failed = None;
            let pairings = align_calls(&keys(a, &calls_a), &keys(b, &calls_b), |in_a, in_b| {
                let (a, b) = (&a.calls[calls_a[in_a]], &b.calls[calls_b[in_b]]);
                comparing.distance(a, b).unwrap_or_else(|failure| {
                    failed.get_or_insert(failure);
                    usize::MAX
                })
            });
            if let Some(failure) = failed {
                return Err(failure);
            }
            for pairing in pairings {
                let in_a = pairing.a.map(|index| &a.calls[calls_a[index]]);
                let in_b = pairing.b.map(|index| &b.calls[calls_b[index]]);
                report.n_by_order += usize::from(pairing.by == PairedBy::Order);
                if let Some(pair) = comparing.pair(in_a, in_b, pairing.by)? {
                    report.add(pair);
                }
            }
        }
        Ok(report)
    }

    /// Whether there is anything to tell.
    pub(super) fn differs(&self) -> bool {
        let Counts { changed, only_a, only_b, .. } = self.counts;
        changed + only_a + only_b > 0 || self.lists.iter().any(Listed::differs)
    }

    fn add(&mut self, pair: Pair) {
        match pair.state {
            State::Same => self.counts.same += 1,
            State::Changed => self.counts.changed += 1,
            State::OnlyA => self.counts.only_a += 1,
            State::OnlyB => self.counts.only_b += 1,
        }
        for comparison in [&pair.request, &pair.answer] {
            self.bounds.extend(&comparison.bounds);
            for hidden in &comparison.hidden {
                *self.hidden.entry(hidden.by).or_default() += 1;
            }
            // Of very many only the first are told apart; the rest is counted with the last of them.
            if let Some(last) = comparison.hidden.last() {
                *self.hidden.entry(last.by).or_default() += comparison.n_hidden - comparison.hidden.len();
            }
        }
        self.calls.push(pair);
    }

    fn compare_lists(&mut self, a: &Gathered, b: &Gathered, rules: &Rules, markers: &mut Markers) {
        let dials = rules.dials(None);
        for kind in ListKind::ALL {
            let what = match (a.lists.get(&kind), b.lists.get(&kind)) {
                (None, None) => continue,
                (Some(a), Some(b)) => {
                    let drift = drift(kind, &nodes(a), &nodes(b), &dials, markers);
                    if drift.n_hidden > 0 {
                        *self.hidden.entry(HiddenBy::Ignored).or_default() += drift.n_hidden;
                    }
                    Ok(drift)
                }
                (a, b) => Err((a.map(Vec::len), b.map(Vec::len))),
            };
            self.lists.push(Listed { kind, what });
        }
    }
}

impl Listed {
    /// Whether something was added, removed or changed. That one of the two never asked is no difference of the servers.
    pub(super) fn differs(&self) -> bool {
        self.what.as_ref().is_ok_and(|drift| !drift.items.is_empty())
    }

    /// How many were added, removed and changed.
    pub(super) fn counts(&self) -> Option<[usize; 3]> {
        let drift = self.what.as_ref().ok()?;
        Some([ItemState::Added, ItemState::Removed, ItemState::Changed].map(|state| drift.count(state)))
    }
}

fn nodes(list: &[Box<[u8]>]) -> Vec<Node<'_>> {
    list.iter().map(|json| Node::new(json)).collect()
}

/// Whether a call is told among the calls: lists are compared as what they list, but for those that failed.
fn is_compared(call: &Call) -> bool {
    let is_list = ListKind::ALL.iter().any(|kind| kind.method() == call.key.method());
    !is_list || call.status != Status::Ok
}

struct Comparing<'a> {
    found: (&'a Found, &'a Found),
    rules: &'a Rules,
    hide_looks: bool,
    markers: Markers,
    /// Differences that may still be kept.
    n_left: usize,
}

impl Comparing<'_> {
    fn distance(&self, a: &Call, b: &Call) -> Result<usize, Failure> {
        let dials = self.rules.dials(a.key.name());
        let requests = (message(self.found.0, a.at)?, message(self.found.1, b.at)?);
        Ok(match requests {
            (Some(a), Some(b)) => distance(&a, &b, &dials),
            _ => usize::MAX,
        })
    }

    fn pair(&mut self, a: Option<&Call>, b: Option<&Call>, by: PairedBy) -> Result<Option<Pair>, Failure> {
        let Some(call) = b.or(a) else {
            return Ok(None);
        };
        let end = |found: &Found, call: &Call| End {
            at: call.at,
            place: found.place(call.at),
            status: call.status.clone(),
            latency_ns: call.latency_ns,
            n_rounds: call.n_rounds,
        };
        let mut pair = Pair {
            state: match (a, b) {
                (Some(_), Some(_)) => State::Same,
                (Some(_), None) => State::OnlyA,
                _ => State::OnlyB,
            },
            method: call.key.method().to_owned(),
            name: call.key.name().map(str::to_owned),
            digest: call.digest.clone(),
            a: a.map(|call| end(self.found.0, call)),
            b: b.map(|call| end(self.found.1, call)),
            by,
            request: Comparison::default(),
            answer: Comparison::default(),
        };
        if let (Some(a), Some(b)) = (a, b) {
            let dials = self.rules.dials(call.key.name());
            // Equal keys are equal requests, but for what rules leave out of them: that is counted. Where only some paths are
            // the key, the rest of the request does not matter.
            if by != PairedBy::Key || (dials != Dials::default() && dials.key.is_none()) {
                pair.request = self.compare(Some(a.at), Some(b.at), &dials, Side::Request)?;
            }
            let are_alike = a.mark.is_some() && a.mark == b.mark;
            if !are_alike && a.answer.is_some() && b.answer.is_some() {
                pair.answer = self.compare(a.answer, b.answer, &dials, Side::Response)?;
            }
            if pair.n_differences() > 0 || pair.statuses().is_some() || pair.rounds().is_some() {
                pair.state = State::Changed;
            }
        }
        Ok(Some(pair))
    }

    fn compare(&mut self, a: Option<At>, b: Option<At>, dials: &Dials, side: Side) -> Result<Comparison, Failure> {
        let of = |found: &Found, at: Option<At>| at.map_or(Ok(None), |at| message(found, at));
        let (Some(a), Some(b)) = (of(self.found.0, a)?, of(self.found.1, b)?) else {
            return Ok(Comparison::default());
        };
        let n_listed = LISTED_A_CALL.min(self.n_left);
        let options = Options { hide_looks: self.hide_looks, n_listed, ..Options::new(dials, side) };
        let found = compare(&a, &b, &options, &mut self.markers);
        self.n_left -= found.differences.len();
        Ok(found)
    }
}
