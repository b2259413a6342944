//! Two recordings held against each other.

use std::collections::{BTreeMap, BTreeSet};

use tap_compare::{
    Bound, Comparison, Depth, Dials, Difference, Drift, HiddenBy, ItemState, ListKind, Markers, MatchKey, Options,
    PairedBy, Pairing, Rules, Side, Status, align_calls, compare, distance, drift,
};
use tap_frame::Direction;
use tap_jsonrpc::Node;
use tap_session::At;

use super::gather::{Call, Gathered, message};
use crate::failure::Failure;
use crate::reference::Found;

/// Differences that are kept of one call; all are counted.
pub(crate) const LISTED_A_CALL: usize = 200;

/// Differences that are kept of all calls.
const LISTED: usize = 50_000;

/// What is different.
pub(crate) struct Report {
    pub(crate) a: Half,
    pub(crate) b: Half,
    pub(crate) lists: Vec<Listed>,
    pub(crate) calls: Vec<Pair>,
    pub(crate) counts: Counts,
    /// Differences that are hidden, by why.
    pub(crate) hidden: BTreeMap<HiddenBy, usize>,
    /// What bounds kept from being done.
    pub(crate) bounds: BTreeSet<Bound>,
    /// Calls that stand side by side by their order alone, because there are too many to look for the nearest.
    pub(crate) n_by_order: usize,
}

/// One of the two.
pub(crate) struct Half {
    pub(crate) name: String,
    /// Name and version of the server.
    pub(crate) server: (Option<String>, Option<String>),
    pub(crate) n_calls: usize,
}

/// One kind of thing that a server offers.
pub(crate) struct Listed {
    pub(crate) kind: ListKind,
    /// Of which both were listed; otherwise how many were, in A and B.
    pub(crate) what: Result<Drift, (Option<usize>, Option<usize>)>,
}

/// How many calls are what.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) same: usize,
    pub(crate) changed: usize,
    pub(crate) only_a: usize,
    pub(crate) only_b: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Same,
    Changed,
    OnlyA,
    OnlyB,
}

/// Two calls, or one.
pub(crate) struct Pair {
    pub(crate) state: State,
    pub(crate) method: String,
    pub(crate) name: Option<String>,
    /// The arguments in a few characters, safe to show.
    pub(crate) digest: String,
    /// Where in its recording, and what became of it.
    pub(crate) a: Option<End>,
    pub(crate) b: Option<End>,
    pub(crate) by: PairedBy,
    /// What differs in the request and in the answer.
    pub(crate) request: Comparison,
    pub(crate) answer: Comparison,
}

/// A call in one of the recordings.
#[derive(Debug, Clone)]
pub(crate) struct End {
    pub(crate) at: At,
    pub(crate) place: String,
    pub(crate) status: Status,
    pub(crate) latency_ns: u64,
    pub(crate) n_rounds: u32,
}

impl Pair {
    /// All differences, of which message each.
    pub(crate) fn differences(&self) -> impl Iterator<Item = (Side, &Difference)> {
        let request = self.request.differences.iter().map(|this| (Side::Request, this));
        request.chain(self.answer.differences.iter().map(|this| (Side::Response, this)))
    }

    pub(crate) fn n_differences(&self) -> usize {
        self.request.n_differences + self.answer.n_differences
    }

    pub(crate) fn n_hidden(&self) -> usize {
        self.request.n_hidden + self.answer.n_hidden
    }

    /// What became of it in both, where that is not the same.
    pub(crate) fn statuses(&self) -> Option<(&Status, &Status)> {
        let (a, b) = (&self.a.as_ref()?.status, &self.b.as_ref()?.status);
        (a != b).then_some((a, b))
    }

    /// How many rounds it took in both, where that is not the same.
    pub(crate) fn rounds(&self) -> Option<(u32, u32)> {
        let (a, b) = (self.a.as_ref()?.n_rounds, self.b.as_ref()?.n_rounds);
        (a != b).then_some((a, b))
    }
}

/// Two recordings, with what was gathered of them.
#[derive(Clone, Copy)]
pub(crate) struct Both<'a> {
    pub(crate) found: (&'a Found, &'a Found),
    pub(crate) gathered: (&'a Gathered, &'a Gathered),
}

impl Half {
    pub(crate) fn new(found: &Found, gathered: &Gathered) -> Self {
        let text = |text: &Option<std::sync::Arc<str>>| text.as_deref().map(str::to_owned);
        Self {
            name: found.conversation.map_or_else(|| found.name(), |number| found.inside(number)),
            server: (text(&gathered.server.0), text(&gathered.server.1)),
            n_calls: gathered.calls.iter().filter(|call| is_compared(call)).count(),
        }
    }
}

impl Report {
    /// `goes_on` is asked now and then; where it says no, that is a failure.
    pub(crate) fn new(
        both: Both<'_>,
        rules: &Rules,
        hide_looks: bool,
        goes_on: impl Fn() -> bool,
    ) -> Result<Self, Failure> {
        let mut comparing = Comparing::begin(both, rules, hide_looks, LISTED_A_CALL, &goes_on)?;
        let mut report = Self {
            a: Half::new(both.found.0, both.gathered.0),
            b: Half::new(both.found.1, both.gathered.1),
            lists: std::mem::take(&mut comparing.lists),
            calls: Vec::new(),
            counts: Counts::default(),
            hidden: BTreeMap::new(),
            bounds: BTreeSet::new(),
            n_by_order: comparing.n_by_order(),
        };
        let n_hidden: usize = report.lists.iter().filter_map(|listed| Some(listed.what.as_ref().ok()?.n_hidden)).sum();
        if n_hidden > 0 {
            report.hidden.insert(HiddenBy::Ignored, n_hidden);
        }
        while let Some(pair) = comparing.next(both)? {
            if !goes_on() {
                return Err(Failure::new("it was given up"));
            }
            report.add(pair);
        }
        Ok(report)
    }

    /// Whether there is anything to tell.
    pub(crate) fn differs(&self) -> bool {
        let Counts { changed, only_a, only_b, .. } = self.counts;
        changed + only_a + only_b > 0 || self.lists.iter().any(Listed::differs)
    }

    fn add(&mut self, pair: Pair) {
        self.counts.add(pair.state);
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
}

impl Counts {
    pub(crate) fn add(&mut self, state: State) {
        match state {
            State::Same => self.same += 1,
            State::Changed => self.changed += 1,
            State::OnlyA => self.only_a += 1,
            State::OnlyB => self.only_b += 1,
        }
    }
}

fn compare_lists((a, b): (&Gathered, &Gathered), rules: &Rules, markers: &mut Markers) -> Vec<Listed> {
    let dials = rules.dials(None);
    let listed = ListKind::ALL.into_iter().filter_map(|kind| {
        let what = match (a.lists.get(&kind), b.lists.get(&kind)) {
            (None, None) => return None,
            (Some(a), Some(b)) => Ok(drift(kind, &nodes(a), &nodes(b), &dials, markers)),
            (a, b) => Err((a.map(Vec::len), b.map(Vec::len))),
        };
        Some(Listed { kind, what })
    });
    listed.collect()
}

impl Listed {
    /// Whether something was added, removed or changed. That one of the two never asked is no difference of the servers.
    pub(crate) fn differs(&self) -> bool {
        self.what.as_ref().is_ok_and(|drift| !drift.items.is_empty())
    }

    /// How many were added, removed and changed.
    pub(crate) fn counts(&self) -> Option<[usize; 3]> {
        let drift = self.what.as_ref().ok()?;
        Some([ItemState::Added, ItemState::Removed, ItemState::Changed].map(|state| drift.count(state)))
    }
}

fn distance_of(found: (&Found, &Found), (a, b): (&Call, &Call), rules: &Rules) -> Result<usize, Failure> {
    let dials = rules.dials(a.key.name());
    Ok(match (message(found.0, a.at)?, message(found.1, b.at)?) {
        (Some(a), Some(b)) => distance(&a, &b, &dials),
        _ => usize::MAX,
    })
}

fn nodes(list: &[Box<[u8]>]) -> Vec<Node<'_>> {
    list.iter().map(|json| Node::new(json)).collect()
}

/// Whether a call is told among the calls: lists are compared as what they list, but for those that failed.
pub(crate) fn is_compared(call: &Call) -> bool {
    let is_list = ListKind::ALL.iter().any(|kind| kind.method() == call.key.method());
    !is_list || call.status != Status::Ok
}

/// Two recordings that are being held against each other, call by call.
pub(crate) struct Comparing {
    rules: Rules,
    hide_looks: bool,
    pub(crate) markers: Markers,
    /// What the servers offer.
    pub(crate) lists: Vec<Listed>,
    /// Which call of what was gathered stands beside which.
    pairings: Vec<Pairing>,
    /// The pairing that is looked at next.
    next: usize,
    /// Differences that are kept of one call, and that may still be kept of all.
    n_listed: usize,
    n_left: usize,
}

impl Comparing {
    /// Compares what the servers offer, and puts calls side by side.
    pub(crate) fn begin(
        both: Both<'_>,
        rules: &Rules,
        hide_looks: bool,
        n_listed: usize,
        goes_on: impl Fn() -> bool,
    ) -> Result<Self, Failure> {
        let (a, b) = both.gathered;
        let mut markers = Markers::new();
        let lists = compare_lists(both.gathered, rules, &mut markers);
        let mut pairings = Vec::new();
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
            let found = align_calls(&keys(a, &calls_a), &keys(b, &calls_b), |in_a, in_b| {
                if failed.is_some() {
                    return usize::MAX;
                }
                if !goes_on() {
                    failed = Some(Failure::new("it was given up"));
                    return usize::MAX;
                }
                let calls = (&a.calls[calls_a[in_a]], &b.calls[calls_b[in_b]]);
                distance_of(both.found, calls, rules).unwrap_or_else(|failure| {
                    failed = Some(failure);
                    usize::MAX
                })
            });
            if let Some(failure) = failed {
                return Err(failure);
            }
            pairings.extend(found.into_iter().map(|pairing| Pairing {
                a: pairing.a.map(|index| calls_a[index]),
                b: pairing.b.map(|index| calls_b[index]),
                by: pairing.by,
            }));
        }
        Ok(Self { rules: rules.clone(), hide_looks, markers, lists, pairings, next: 0, n_listed, n_left: LISTED })
    }

    /// Calls that stand side by side by their order alone.
    pub(crate) fn n_by_order(&self) -> usize {
        self.pairings.iter().filter(|pairing| pairing.by == PairedBy::Order).count()
    }

    /// How many pairs there are, and how many were looked at.
    pub(crate) fn progress(&self) -> (usize, usize) {
        (self.pairings.len(), self.next)
    }

    /// The next pair; `None` when all were looked at.
    pub(crate) fn next(&mut self, both: Both<'_>) -> Result<Option<Pair>, Failure> {
        let pair = self.look(both, self.next)?;
        self.next += usize::from(pair.is_some());
        Ok(pair)
    }

    /// The pair at a place, with as many differences as are kept of one; it takes none from what may be kept of all.
    /// Where a depth is given, answers are compared so deep.
    pub(crate) fn again(
        &self,
        both: Both<'_>,
        index: usize,
        n_listed: usize,
        depth: Option<Depth>,
    ) -> Result<Option<Pair>, Failure> {
        let mut rules = self.rules.clone();
        rules.all.compare = depth.or(rules.all.compare);
        let mut once = Self {
            rules,
            hide_looks: self.hide_looks,
            markers: self.markers.clone(),
            lists: Vec::new(),
            pairings: self.pairings.get(index).copied().into_iter().collect(),
            next: 0,
            n_listed,
            n_left: n_listed.saturating_mul(2),
        };
        once.next(both)
    }

    fn look(&mut self, both: Both<'_>, index: usize) -> Result<Option<Pair>, Failure> {
        let Some(pairing) = self.pairings.get(index).copied() else {
            return Ok(None);
        };
        let a = pairing.a.and_then(|index| both.gathered.0.calls.get(index));
        let b = pairing.b.and_then(|index| both.gathered.1.calls.get(index));
        self.pair(both.found, a, b, pairing.by)
    }

    fn pair(
        &mut self,
        found: (&Found, &Found),
        a: Option<&Call>,
        b: Option<&Call>,
        by: PairedBy,
    ) -> Result<Option<Pair>, Failure> {
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
            a: a.map(|call| end(found.0, call)),
            b: b.map(|call| end(found.1, call)),
            by,
            request: Comparison::default(),
            answer: Comparison::default(),
        };
        if let (Some(a), Some(b)) = (a, b) {
            let dials = self.rules.dials(call.key.name());
            // Equal keys are equal requests, but for what rules leave out of them: that is counted. Where only some paths are
            // the key, the rest of the request does not matter.
            if by != PairedBy::Key || (dials != Dials::default() && dials.key.is_none()) {
                pair.request = self.compare(found, Some(a.at), Some(b.at), &dials, Side::Request)?;
            }
            let are_alike = a.mark.is_some() && a.mark == b.mark;
            if !are_alike && a.answer.is_some() && b.answer.is_some() {
                pair.answer = self.compare(found, a.answer, b.answer, &dials, Side::Response)?;
            }
            if pair.n_differences() > 0 || pair.statuses().is_some() || pair.rounds().is_some() {
                pair.state = State::Changed;
            }
        }
        Ok(Some(pair))
    }

    fn compare(
        &mut self,
        found: (&Found, &Found),
        a: Option<At>,
        b: Option<At>,
        dials: &Dials,
        side: Side,
    ) -> Result<Comparison, Failure> {
        let of = |found: &Found, at: Option<At>| at.map_or(Ok(None), |at| message(found, at));
        let (Some(a), Some(b)) = (of(found.0, a)?, of(found.1, b)?) else {
            return Ok(Comparison::default());
        };
        let n_listed = self.n_listed.min(self.n_left);
        let options = Options { hide_looks: self.hide_looks, n_listed, ..Options::new(dials, side) };
        let found = compare(&a, &b, &options, &mut self.markers);
        self.n_left -= found.differences.len();
        Ok(found)
    }
}
