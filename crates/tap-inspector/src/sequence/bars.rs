//! Calls as bars: when each began and ended, in which of them somebody was waited for, and which messages belong to them.

use std::collections::BTreeMap;

use tap_frame::Direction;
use tap_session::{At, Link, LinkKind, RowKind, Status};

use crate::data::Row;

/// The request that stays open as long as its client wants to hear of changes.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// The request with which a server has a person asked.
const ELICITATION: &str = "elicitation/create";

/// Pauses between calls that are longer than this count as idle, nanoseconds.
pub(crate) const IDLE_NS: i64 = 1_000_000_000;

/// A call, from its request to its answer; all rounds of one that took several.
#[derive(Debug, Clone)]
pub(crate) struct Bar<'a> {
    /// Its request.
    pub(crate) row: &'a Row,
    pub(crate) from_ns: i64,
    /// Its answer, and when that came; `None` when there is none yet.
    pub(crate) end: Option<(At, i64)>,
    pub(crate) failed: bool,
    /// When a person was waited for, from when until when.
    pub(crate) waits: Vec<(i64, i64)>,
    /// The first of the rounds that it goes on with.
    pub(crate) first_round: Option<At>,
    /// How many rounds it took, as far as they are known.
    pub(crate) n_rounds: usize,
}

impl Bar<'_> {
    pub(crate) fn at(&self) -> At {
        self.row.at()
    }

    /// Whether it stays open by its nature.
    pub(crate) fn is_subscription(&self) -> bool {
        self.row.row.method.as_deref() == Some(SUBSCRIPTION)
    }

    /// Whether it is a request of the client's that a server works on.
    pub(crate) fn is_work(&self) -> bool {
        self.row.row.kind == RowKind::Request && self.row.direction() == Direction::ToServer && !self.is_subscription()
    }

    /// Whether it was running when a message came that is neither its request nor its answer.
    pub(crate) fn runs_at(&self, at: At) -> bool {
        self.at() < at && self.end.is_none_or(|(end, _)| at < end)
    }

    /// How long it took, nanoseconds.
    pub(crate) fn took_ns(&self) -> Option<u64> {
        self.end.map(|(_, end_ns)| u64::try_from(end_ns - self.from_ns).unwrap_or(0))
    }
}

/// Nanoseconds since the session opened, on an axis.
pub(crate) fn moment(row: &Row) -> i64 {
    i64::try_from(row.row.at_ns).unwrap_or(i64::MAX)
}

/// The calls among some rows, in the order of their requests. `links` say which go on with which.
pub(crate) fn bars<'a>(rows: impl Iterator<Item = &'a Row>, links: &[Link]) -> Vec<Bar<'a>> {
    let is_call = |row: &&Row| matches!(row.row.kind, RowKind::Request | RowKind::Exchange);
    let mut bars: Vec<Bar<'a>> = rows.filter(is_call).map(bar).collect();
    bars.sort_by_key(Bar::at);
    bars.dedup_by_key(|bar| bar.at());
    join_rounds(&mut bars, links);
    // A person whom the server asks in the middle of a call is waited for, too.
    let asked: Vec<(At, i64, i64)> = bars
        .iter()
        .filter(|bar| bar.row.direction() == Direction::ToClient && bar.row.row.method.as_deref() == Some(ELICITATION))
        .filter_map(|bar| Some((bar.at(), bar.from_ns, bar.end?.1)))
        .collect();
    for (at, from_ns, to_ns) in asked {
        if let Some(owner) = only_one_running(&bars, at)
            && let Some(bar) = bars.iter_mut().find(|bar| bar.at() == owner)
        {
            bar.waits.push((from_ns, to_ns));
        }
    }
    bars
}

fn bar(row: &Row) -> Bar<'_> {
    let from_ns = moment(row);
    let latency_ns = row.row.latency_ns.map(|latency_ns| i64::try_from(latency_ns).unwrap_or(i64::MAX));
    let end = row.row.pair.zip(latency_ns).map(|(answer, latency_ns)| (answer, from_ns.saturating_add(latency_ns)));
    let failed = matches!(row.row.status, Some(Status::Error | Status::ToolError));
    Bar { row, from_ns, end, failed, waits: Vec::new(), first_round: None, n_rounds: 1 }
}

/// Has the first round of each call reach to the end of the last one. Between two of them somebody was waited for.
fn join_rounds(bars: &mut [Bar<'_>], links: &[Link]) {
    for link in links.iter().filter(|link| link.kind == LinkKind::Round) {
        let place = |bars: &[Bar<'_>], at: At| bars.binary_search_by_key(&at, Bar::at).ok();
        let Some(next) = place(bars, link.from) else {
            continue;
        };
        bars[next].first_round = Some(link.to);
        let (from_ns, end, failed) = (bars[next].from_ns, bars[next].end, bars[next].failed);
        if let Some(first) = place(bars, link.to).map(|index| &mut bars[index]) {
            first.waits.extend(first.end.map(|(_, end_ns)| (end_ns, from_ns)));
            (first.end, first.failed) = (end, failed);
            first.n_rounds += 1;
        }
    }
}

/// The call of the client's that was running when a message came, if it was the only one.
pub(crate) fn only_one_running(bars: &[Bar<'_>], at: At) -> Option<At> {
    let mut running = running(bars, at);
    let one = running.next()?;
    running.next().is_none().then(|| one.at())
}

/// The calls of the client's that were running when a message came; of one of several rounds the whole of it.
pub(crate) fn running<'a, 'b>(bars: &'b [Bar<'a>], at: At) -> impl Iterator<Item = &'b Bar<'a>> {
    bars.iter().filter(move |bar| bar.is_work() && bar.first_round.is_none() && bar.runs_at(at))
}

/// What time was spent on, in some part of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    /// All of it, nanoseconds.
    pub(crate) whole_ns: i64,
    /// The server worked on at least one request, and nobody waited for a person.
    pub(crate) busy_ns: i64,
    /// A person was waited for.
    pub(crate) person_ns: i64,
    /// Nothing was asked, for a moment.
    pub(crate) between_ns: i64,
    /// Nothing was asked, for longer.
    pub(crate) idle_ns: i64,
}

/// What the time between two moments was spent on.
pub(crate) fn spent(bars: &[Bar<'_>], from_ns: i64, to_ns: i64) -> Spent {
    let work = || bars.iter().filter(|bar| bar.is_work() && bar.first_round.is_none());
    let mut calls: Vec<(i64, i64)> =
        work().map(|bar| (bar.from_ns, bar.end.map_or(i64::MAX, |(_, end_ns)| end_ns))).collect();
    let mut waits: Vec<(i64, i64)> = work().flat_map(|bar| bar.waits.iter().copied()).collect();
    let calls = union(&mut calls, from_ns, to_ns);
    let waits = union(&mut waits, from_ns, to_ns);
    let sum = |parts: &[(i64, i64)]| parts.iter().map(|(from, to)| to - from).sum::<i64>();
    let mut spent = Spent { whole_ns: (to_ns - from_ns).max(0), person_ns: sum(&waits), ..Spent::default() };
    spent.busy_ns = (sum(&calls) - spent.person_ns).max(0);
    let mut reached_ns = from_ns;
    for (begin, end) in calls.into_iter().chain([(to_ns, to_ns)]) {
        let pause_ns = (begin - reached_ns).max(0);
        *(if pause_ns > IDLE_NS { &mut spent.idle_ns } else { &mut spent.between_ns }) += pause_ns;
        reached_ns = reached_ns.max(end);
    }
    spent
}

/// The parts of time that are in any of these, between two moments.
fn union(parts: &mut [(i64, i64)], from_ns: i64, to_ns: i64) -> Vec<(i64, i64)> {
    parts.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for (from, to) in parts.iter().map(|(from, to)| ((*from).max(from_ns), (*to).min(to_ns))) {
        match joined.last_mut() {
            _ if from >= to => {}
            Some((_, end)) if from <= *end => *end = (*end).max(to),
            _ => joined.push((from, to)),
        }
    }
    joined
}

/// What belongs to each call, by the links of its messages: numbers of messages, without request and answer.
pub(crate) fn belongings(links: &[Link]) -> BTreeMap<At, Vec<At>> {
    let mut all: BTreeMap<At, Vec<At>> = BTreeMap::new();
    for link in links.iter().filter(|link| super::is_of_call(link)) {
        all.entry(link.to).or_default().push(link.from);
    }
    all
}
