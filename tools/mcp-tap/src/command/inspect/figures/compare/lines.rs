//! Lines of a comparison: servers, what they offer, calls, how long these took.

use std::collections::BTreeMap;

use tap_compare::{DriftClass, ItemState, PairedBy, Side, Status};
use tap_inspector::{CompareLine, CompareSign, Compared, ComparedSide};
use tap_session::At;

use crate::comparing::gather::{Call, Gathered};
use crate::comparing::report::{Both, Comparing, Half, Pair, State, is_compared};
use crate::reference::Found;
use crate::text::{counted, duration};

/// A tool's median is told where it is so many times that of the other session, and at least so long, nanoseconds.
const SLOWER: f64 = 1.5;
const SLOW_NS: u64 = 1_000_000;

/// Tools of which that is told.
const TIMES: usize = 100;

/// What a line is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    /// What it says is all, or stands beside each other in [`Lines::beside`].
    Itself,
    /// A tool or the like, by the place of its list, and its own there.
    Item(usize, usize),
    /// Two calls, by the place of their pair.
    Pair(usize),
}

/// Lines that are made, and which were told.
#[derive(Default)]
pub(super) struct Lines {
    /// What each line is of, also of those that were told.
    of: Vec<Of>,
    /// What A and B have, of lines that are of nothing else.
    beside: BTreeMap<usize, [String; 2]>,
    /// Not yet told.
    new: Vec<CompareLine>,
    /// The same call again and again, so far.
    run: Option<(CompareLine, Of, u64)>,
}

/// What is known of a session that was read.
pub(super) fn about(found: &Found, gathered: &Gathered, last_seq: u64, side: &mut ComparedSide) {
    let half = Half::new(found, gathered);
    let server = [half.server.0, half.server.1].into_iter().flatten().collect::<Vec<_>>();
    let calls = || gathered.calls.iter().filter(|call| is_compared(call));
    side.server = server.join(" ");
    side.n_calls = half.n_calls as u64;
    side.n_errors = calls().filter(|call| has_failed(&call.status)).count() as u64;
    side.p50_ns = median(calls().filter(|call| call.answer.is_some()).map(|call| call.latency_ns).collect());
    side.through = last_seq;
}

fn has_failed(status: &Status) -> bool {
    matches!(status, Status::Error(_) | Status::ToolError)
}

fn median(mut latencies: Vec<u64>) -> Option<u64> {
    let middle = latencies.len().checked_sub(1)? / 2;
    latencies.sort_unstable();
    latencies.get(middle).copied()
}

impl Lines {
    /// What is known before calls are compared.
    pub(super) fn new(both: Both<'_>, comparing: &Comparing, figures: &mut Compared) -> Self {
        let mut lines = Self::default();
        let (a, b) = both.gathered;
        if a.server != b.server {
            let words = |(name, version): &(Option<std::sync::Arc<str>>, Option<std::sync::Arc<str>>), all: bool| {
                let parts = if all { [name.as_deref(), version.as_deref()] } else { [version.as_deref(), None] };
                let parts: Vec<&str> = parts.into_iter().flatten().collect();
                if parts.is_empty() { "unknown".to_owned() } else { parts.join(" ") }
            };
            let all = a.server.0 != b.server.0;
            lines.beside.insert(lines.of.len(), [words(&a.server, true), words(&b.server, true)]);
            lines.add(
                CompareLine {
                    sign: CompareSign::Changed,
                    what: "server",
                    subject: b.server.0.as_deref().unwrap_or("unknown").to_owned(),
                    digest: String::new(),
                    change: format!("{} → {}", words(&a.server, all), words(&b.server, all)),
                    class: None,
                    places: [None, None],
                },
                Of::Itself,
            );
        }
        for (index, listed) in comparing.lists.iter().enumerate() {
            let kind = listed.kind;
            let places = [a, b].map(|gathered| gathered.listed_at.get(&kind).copied());
            match &listed.what {
                Ok(drift) => {
                    figures.lists.extend(listed.counts().map(|counts| (kind.one(), counts)));
                    figures.n_hidden += drift.n_hidden;
                    for (item_index, item) in drift.items.iter().enumerate() {
                        figures.n_breaking += usize::from(item.class == DriftClass::Breaking);
                        figures.n_prompt += usize::from(item.class == DriftClass::Prompt);
                        let (sign, change) = match item.state {
                            ItemState::Added => (CompareSign::OnlyB, "new".to_owned()),
                            ItemState::Removed => (CompareSign::OnlyA, "gone".to_owned()),
                            ItemState::Changed => (CompareSign::Changed, changes(item)),
                        };
                        let subject = item.name.clone();
                        let class = (item.state != ItemState::Added).then_some(item.class);
                        let digest = String::new();
                        let line = CompareLine { sign, what: kind.one(), subject, digest, change, class, places };
                        lines.add(line, Of::Item(index, item_index));
                    }
                }
                Err((in_a, in_b)) => {
                    let (letter, n) = if in_a.is_some() { ("A", in_a) } else { ("B", in_b) };
                    let change = format!("listed only in {letter}: {}", n.unwrap_or_default());
                    lines.add(
                        CompareLine {
                            sign: CompareSign::Same,
                            what: kind.one(),
                            subject: kind.method().to_owned(),
                            digest: String::new(),
                            change,
                            class: None,
                            places,
                        },
                        Of::Itself,
                    );
                }
            }
        }
        let n = comparing.n_by_order();
        if n > 0 {
            let calls = counted(n as u64, "call");
            figures.notes.push(format!("{calls} by their order alone: too many to look for the nearest"));
        }
        lines
    }

    /// Two calls that were compared.
    pub(super) fn pair(&mut self, index: usize, pair: &Pair, figures: &mut Compared) {
        let [same, changed, only_a, only_b] = &mut figures.n_calls;
        let (n, sign) = match pair.state {
            State::Same => (same, CompareSign::Same),
            State::Changed => (changed, CompareSign::Changed),
            State::OnlyA => (only_a, CompareSign::OnlyA),
            State::OnlyB => (only_b, CompareSign::OnlyB),
        };
        *n += 1;
        figures.n_hidden += pair.n_hidden();
        for bound in pair.request.bounds.iter().chain(&pair.answer.bounds) {
            let says = bound.says().to_owned();
            if !figures.notes.contains(&says) {
                figures.notes.push(says);
            }
        }
        let has_failed = |(a, b): (&Status, &Status)| has_failed(a) || has_failed(b);
        let at = |end: &Option<crate::comparing::report::End>| end.as_ref().map(|end| end.at);
        let places: [Option<At>; 2] = [at(&pair.a), at(&pair.b)];
        let line = CompareLine {
            sign,
            what: if pair.statuses().is_some_and(has_failed) { "error" } else { "call" },
            subject: subject(&pair.method, pair.name.as_deref()),
            digest: pair.digest.clone(),
            change: summary(pair),
            class: None,
            places,
        };
        match &mut self.run {
            Some((run, _, n)) if is_more_of(run, &line) => {
                *n += 1;
                run.digest = format!("×{n}");
            }
            _ => {
                self.end_run();
                if sign == CompareSign::Same {
                    self.run = Some((line, Of::Pair(index), 1));
                } else {
                    self.add(line, Of::Pair(index));
                }
            }
        }
    }

    /// All were compared: what is told of all of them.
    pub(super) fn end(&mut self, both: Both<'_>, figures: &mut Compared) {
        self.end_run();
        let (medians_a, medians_b) = (medians(both.gathered.0), medians(both.gathered.1));
        let mut told = Vec::new();
        for (name, (a, n_a)) in &medians_a {
            let Some((b, n_b)) = medians_b.get(name) else {
                continue;
            };
            let (less, more) = (*a.min(b), *a.max(b));
            let beside = [(a, n_a), (b, n_b)]
                .map(|(p50, n)| format!("p50 {} of {}", duration(*p50), counted(*n as u64, "answered call")));
            if more >= SLOW_NS && more as f64 >= less as f64 * SLOWER {
                let change = format!("p50 {} → {}", duration(*a), duration(*b));
                told.push((more - less, subject(name.0, name.1), change, beside));
            }
        }
        told.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        if told.len() > TIMES {
            figures.notes.push(format!("of {} tools it is told that they are slower or quicker", TIMES));
        }
        for (_, subject, change, beside) in told.into_iter().take(TIMES) {
            self.beside.insert(self.of.len(), beside);
            let line = CompareLine {
                sign: CompareSign::Changed,
                what: "time",
                subject,
                digest: String::new(),
                change,
                class: None,
                places: [None, None],
            };
            self.add(line, Of::Itself);
        }
    }

    /// Lines that were not told yet.
    pub(super) fn take(&mut self) -> Vec<CompareLine> {
        std::mem::take(&mut self.new)
    }

    /// What a line is of.
    pub(super) fn of(&self, line: usize) -> Option<Of> {
        self.of.get(line).copied()
    }

    /// What A and B have, of a line that is of nothing else.
    pub(super) fn beside(&self, line: usize) -> Option<&[String; 2]> {
        self.beside.get(&line)
    }

    fn add(&mut self, line: CompareLine, of: Of) {
        self.of.push(of);
        self.new.push(line);
    }

    fn end_run(&mut self) {
        if let Some((line, of, _)) = self.run.take() {
            self.add(line, of);
        }
    }
}

/// Whether a call is the same as those of a run: nothing differs in either, and nothing is hidden.
fn is_more_of(run: &CompareLine, line: &CompareLine) -> bool {
    line.sign == CompareSign::Same && line.subject == run.subject && line.change.is_empty() && run.change.is_empty()
}

/// How long calls took in the middle and how many there were, by method and name.
fn medians(gathered: &Gathered) -> BTreeMap<(&str, Option<&str>), (u64, usize)> {
    let mut latencies: BTreeMap<_, Vec<u64>> = BTreeMap::new();
    for call in gathered.calls.iter().filter(|call| is_compared(call) && call.answer.is_some()) {
        let Call { key, latency_ns, .. } = call;
        latencies.entry((key.method(), key.name())).or_default().push(*latency_ns);
    }
    let medians = latencies.into_iter().filter_map(|(name, latencies)| {
        let n = latencies.len();
        Some((name, (median(latencies)?, n)))
    });
    medians.collect()
}

/// What is called: the tool, or the method.
fn subject(method: &str, name: Option<&str>) -> String {
    match name {
        Some(name) if method == "tools/call" => name.to_owned(),
        Some(name) => format!("{method} {name}"),
        None => method.to_owned(),
    }
}

/// What changed of a tool, in a few words: the worst of it.
fn changes(item: &tap_compare::DriftItem) -> String {
    let first = item.changes.first().map_or_else(|| "changed".to_owned(), |change| change.words.clone());
    match item.n_changes {
        0 | 1 => first,
        n => format!("{first}, {} more", n - 1),
    }
}

/// What differs of two calls, in a few words.
fn summary(pair: &Pair) -> String {
    let mut parts = Vec::new();
    match pair.state {
        State::OnlyA => parts.push("only in A".to_owned()),
        State::OnlyB => parts.push("only in B".to_owned()),
        State::Same | State::Changed => {}
    }
    if let Some((a, b)) = pair.statuses() {
        parts.push(format!("{a} → {b}"));
    }
    if let Some((a, b)) = pair.rounds() {
        parts.push(format!("{a} → {b} rounds"));
    }
    match (pair.request.n_differences, pair.answer.n_differences) {
        (0, 0) => {}
        (1, 0) | (0, 1) => {
            let only = pair.differences().next();
            parts.extend(only.map(|(side, difference): (Side, _)| difference.path.dotted(side)));
        }
        (0, n) => parts.push(counted(n as u64, "value")),
        (n, 0) => parts.push(format!("{} of the request", counted(n as u64, "value"))),
        (request, answer) => {
            parts.push(format!("{} of the request, {answer} of the answer", counted(request as u64, "value")));
        }
    }
    if pair.n_hidden() > 0 {
        parts.push(format!("{} hidden", pair.n_hidden()));
    }
    if pair.by == PairedBy::Order {
        parts.push("paired by order".into());
    }
    parts.join(", ")
}
