//! `mcp-tap stats`: how many calls, how slow, how large, how many failed.

use std::collections::{HashMap, HashSet};
use std::io::Write;

use serde_json::json;
use tap_exchange::Exchange;
use tap_filter::Filter;
use tap_frame::{Frame, HttpEnd};
use tap_jsonrpc::Node;
use tap_session::{At, Call, Event, LinkKind, MessageRow, RowKind, Status};
use tap_store::ListKind;
use unicode_width::UnicodeWidthStr;

use crate::arguments::{Global, GroupBy, Stats};
use crate::failure::{Failure, NO};
use crate::filtering::{self, Sieve};
use crate::following::{Seen, follow};
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, sessions};
use crate::text::{column, duration, shown, size, wrapped};

/// The request that stays open as long as its client wants to hear of changes: without an answer nothing is wrong.
const SUBSCRIPTION: &str = "subscriptions/listen";

/// Calls that are counted together.
#[derive(Debug, Default)]
struct Group {
    n_calls: u64,
    n_errors: u64,
    n_tool_errors: u64,
    n_cancelled: u64,
    /// Without an answer at the end of the session.
    n_unanswered: u64,
    /// Without an answer so far, in a session that goes on.
    n_in_flight: u64,
    /// Answered with a question that the client has not come back to.
    n_waiting: u64,
    /// Requests beyond the first of a call: rounds of input.
    n_rounds: u64,
    latencies_ns: Vec<u64>,
    first_progress_ns: Vec<u64>,
    /// Over HTTP, from when the request was complete to the first byte of the answer.
    first_byte_ns: Vec<u64>,
    request_bytes: u64,
    answer_bytes: u64,
    slowest: Option<(u64, String)>,
}

/// A call that is open: its rounds so far.
#[derive(Debug)]
struct Open {
    key: (String, String),
    first: At,
    n_rounds: u64,
    latency_ns: u64,
    /// The exchange of HTTP of its newest request.
    exchange: Option<u64>,
}

/// What groups are called: the method, and the tool, prompt or resource.
type Groups = HashMap<(String, String), Group>;

pub(crate) fn stats(global: &Global, stats: &Stats) -> Result<u8, Failure> {
    let filter = filtering::read(&stats.which.filter())?;
    let mut groups = Groups::new();
    let mut hint = None;
    for found in sessions(global, &stats.which)? {
        let found = found?;
        count(global, &found, stats.by, filter.as_ref(), &mut groups)?;
        hint = hint.or(found.hint_when_empty());
    }
    let mut groups: Vec<((String, String), Group)> = groups.into_iter().collect();
    if groups.is_empty() {
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "no calls{}", if filter.is_some() { " that fit" } else { "" });
            if let Some(hint) = hint {
                let _ = writeln!(std::io::stderr(), "  {hint}");
            }
        }
        return Ok(NO);
    }
    for (_, group) in &mut groups {
        group.latencies_ns.sort_unstable();
        group.first_progress_ns.sort_unstable();
        group.first_byte_ns.sort_unstable();
    }
    // Where the time went comes first.
    let spent = |group: &Group| group.latencies_ns.iter().sum::<u64>();
    groups.sort_by(|(a_key, a), (b_key, b)| spent(b).cmp(&spent(a)).then_with(|| a_key.cmp(b_key)));
    let mut out = if stats.json { Output::new(global) } else { Output::paged(global) };
    if stats.json {
        for (key, group) in &groups {
            out.json(&as_json(key, group))?;
        }
    } else {
        table(&mut out, &groups)?;
    }
    out.flush()?;
    Ok(0)
}

/// The requests of calls that fit.
fn fitting(global: &Global, found: &Found, filter: &Filter) -> Result<HashSet<At>, Failure> {
    let Found { store, session, conversation, .. } = found;
    catch_up(global, store, session.id, &session.start.name)?;
    let findings = filtering::findings_for(global, found, filter)?;
    let mut fitting = HashSet::new();
    Sieve::new(filter, store, session, *conversation, ListKind::Calls, &findings).all(
        &found.part.range(),
        |listed| {
            fitting.insert(listed.row.at);
            Ok(())
        },
    )?;
    Ok(fitting)
}

/// Counts the calls of a session that fit and began in the part that was asked for, also where they ended behind it.
fn count(
    global: &Global,
    found: &Found,
    by: GroupBy,
    filter: Option<&Filter>,
    groups: &mut Groups,
) -> Result<(), Failure> {
    let fitting = filter.map(|filter| fitting(global, found, filter)).transpose()?;
    let fits = |at: At| fitting.as_ref().is_none_or(|fitting| fitting.contains(&at));
    // The request that a call in flight began with, and what is known of it, by its newest request.
    let mut open: HashMap<At, Open> = HashMap::new();
    let mut waiting_for_input: HashMap<At, Open> = HashMap::new();
    let followed = follow(global, found, u64::MAX, |seen| {
        let Seen { frame, exchange, conversation, meaning, state } = seen;
        if !found.wants(conversation) {
            return Ok(());
        }
        let mut lengths = Lengths::of(frame);
        for event in &meaning.events {
            match event {
                Event::Row(row) if row.kind == RowKind::Request => {
                    let round = meaning.links.iter().find(|link| link.kind == LinkKind::Round && link.from == row.at);
                    let earlier = match round {
                        Some(round) => match waiting_for_input.remove(&round.to) {
                            Some(earlier) => Some(earlier),
                            // It goes on with a call that began before the part, or does not fit.
                            None if !found.part.contains(round.to) || !fits(round.to) => continue,
                            None => None,
                        },
                        None => None,
                    };
                    if earlier.is_none() && !(found.part.contains(row.at) && fits(row.at)) {
                        continue;
                    }
                    let this = earlier.map_or_else(
                        || Open { key: key(row, by), first: row.at, n_rounds: 1, latency_ns: 0, exchange },
                        |earlier| Open { n_rounds: earlier.n_rounds + 1, exchange, ..earlier },
                    );
                    let group = groups.entry(this.key.clone()).or_default();
                    group.request_bytes += lengths.length(row.at);
                    match this.n_rounds {
                        1 => group.n_calls += 1,
                        _ => group.n_rounds += 1,
                    }
                    open.insert(row.at, this);
                }
                Event::Answered { request, answer, latency_ns, status, .. } => {
                    let Some(mut this) = open.remove(request) else {
                        continue;
                    };
                    this.latency_ns = this.latency_ns.saturating_add(*latency_ns);
                    let call = state.recent().rev().find(|call| call.at == *request);
                    let group = groups.entry(this.key.clone()).or_default();
                    if answer != request {
                        group.answer_bytes += lengths.length(*answer);
                    }
                    if let Some(number) = this.exchange {
                        let exchange = found.store.exchange(found.session.id, number)?;
                        group.first_byte_ns.extend(exchange.as_ref().and_then(first_byte_ns));
                    }
                    if waits_for_input(state, this.first) {
                        waiting_for_input.insert(this.first, this);
                    } else {
                        group.ended(&this, *status, call.map(|call| &**call), found);
                    }
                }
                Event::Row(_) => {}
            }
        }
        Ok(())
    })?;
    found.must_exist()?;
    for this in waiting_for_input.into_values() {
        groups.entry(this.key).or_default().n_waiting += 1;
    }
    let calls: HashMap<At, _> = {
        let states = followed.states.iter();
        states.flat_map(|(_, state)| state.in_flight()).map(|call| (call.at, call)).collect()
    };
    for (at, this) in open {
        // Over HTTP a client takes a call back by going away.
        let exchange = match this.exchange {
            Some(number) => found.store.exchange(found.session.id, number)?,
            None => None,
        };
        let end = exchange.and_then(|exchange| exchange.end);
        let left = end == Some(HttpEnd::ByClient);
        // What was broken off is not answered any more, though the recording may go on.
        let may_come = !followed.over && end != Some(HttpEnd::ByServer);
        let call = calls.get(&at);
        let is_subscription = this.key.0 == SUBSCRIPTION;
        let group = groups.entry(this.key).or_default();
        if !is_subscription && (left || call.is_some_and(|call| call.cancelled.is_some())) {
            group.n_cancelled += 1;
        } else if may_come && !left {
            group.n_in_flight += 1;
        } else if !is_subscription {
            group.n_unanswered += 1;
        }
    }
    Ok(())
}

/// How long the first byte of an answer took, from when the request was complete.
fn first_byte_ns(exchange: &Exchange) -> Option<u64> {
    Some(exchange.response_at_ns?.saturating_sub(exchange.request_end_at_ns?))
}

/// What a call is counted under.
fn key(row: &MessageRow, by: GroupBy) -> (String, String) {
    let target = match by {
        GroupBy::Tool => row.target.as_deref().unwrap_or_default().to_owned(),
        GroupBy::Method => String::new(),
    };
    (row.method.as_deref().unwrap_or_default().to_owned(), target)
}

/// How long a frame is, and the members of its batch. What is known without a frame has no length.
struct Lengths<'a> {
    frame: Option<&'a Frame>,
    /// Looked for when one is asked for.
    members: Option<Vec<u64>>,
}

impl<'a> Lengths<'a> {
    fn of(frame: Option<&'a Frame>) -> Self {
        Self { frame, members: None }
    }

    /// Bytes of a message in the frame.
    fn length(&mut self, at: At) -> u64 {
        let Some(frame) = self.frame else {
            return 0;
        };
        let Some(index) = at.index_in_batch() else {
            return frame.bytes.len() as u64;
        };
        let members = self.members.get_or_insert_with(|| {
            Node::new(&frame.bytes).elements().map(|member| member.bytes().len() as u64).collect()
        });
        members.get(index).copied().unwrap_or(0)
    }
}

/// Whether a call was answered with a question, so that it goes on with another request.
fn waits_for_input(state: &tap_session::SessionState, first: At) -> bool {
    state.modern.waiting_rounds().any(|round| round.first == first)
}

impl Group {
    fn ended(&mut self, open: &Open, status: Status, call: Option<&Call>, found: &Found) {
        match status {
            Status::Ok => {}
            Status::ToolError => self.n_tool_errors += 1,
            Status::Error => self.n_errors += 1,
        }
        self.n_cancelled += u64::from(call.is_some_and(|call| call.cancelled.is_some()));
        self.first_progress_ns.extend(call.and_then(|call| call.first_progress_ns));
        self.latencies_ns.push(open.latency_ns);
        if self.slowest.as_ref().is_none_or(|(slowest, _)| *slowest < open.latency_ns) {
            self.slowest = Some((open.latency_ns, found.place(open.first)));
        }
    }
}

impl Group {
    /// How a line ends: the slowest call, or nothing, and then what is told of a few calls only.
    fn last(&self) -> Vec<String> {
        let slowest = self.slowest.as_ref().map(|(_, place)| shown(place, false));
        let told = [
            (self.n_unanswered, "unanswered".to_owned()),
            (self.n_in_flight, "in flight".to_owned()),
            (self.n_waiting, "waiting for input".to_owned()),
            (self.n_rounds, format!("more round{}", if self.n_rounds == 1 { "" } else { "s" })),
            (self.n_cancelled, "cancelled".to_owned()),
        ];
        let told = told.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        std::iter::once(slowest.unwrap_or_default()).chain(told).collect()
    }
}

/// The smallest value that at least so many of a hundred values are not above. `sorted` is in rising order.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

/// Where the columns of the table are: less of them where there is less room.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    /// Columns for what is called.
    name: usize,
    /// Whether there is room for the columns that one can do without: `P90` and `SENT`.
    all: bool,
    /// Whether there is room for the slowest call, and for what else there is to say, at the end of a line.
    last: bool,
}

/// Columns that the numbers take, each with the space before it: with all of them, and without `P90` and `SENT`.
const NUMBERS: usize = 78;
const FEW_NUMBERS: usize = NUMBERS - 9 - 10;

/// Columns that a name has at least, and at most.
const NAME: std::ops::RangeInclusive<usize> = 18..=60;

/// `name` and `last` are how many columns the longest name needs, and the longest end of a line.
fn layout(width: Option<usize>, name: usize, last: usize) -> Layout {
    let Some(width) = width else {
        return Layout { name: 40, all: true, last: true };
    };
    let (least, most) = (*NAME.start(), name.clamp(*NAME.start(), *NAME.end()));
    // Two more columns stand before the end of a line.
    for (all, numbers, end) in [(true, NUMBERS, last + 2), (false, FEW_NUMBERS, last + 2)] {
        let room = width.saturating_sub(numbers + end);
        if room >= least {
            return Layout { name: room.min(most), all, last: true };
        }
    }
    Layout { name: width.saturating_sub(FEW_NUMBERS).clamp(least, most), all: false, last: false }
}

/// A line of the table, with its end where there is room for that. `bad` is how a number of failures is shown.
fn line(layout: &Layout, name: &str, numbers: [&str; 9], last: &str, bad: impl Fn(&str) -> String) -> String {
    const WIDTHS: [usize; 9] = [6, 6, 7, 8, 8, 8, 8, 9, 9];
    let mut line = column(name, layout.name);
    for (index, (text, width)) in numbers.into_iter().zip(WIDTHS).enumerate() {
        if !layout.all && matches!(index, 4 | 7) {
            continue;
        }
        let cell = format!("{text:>width$}");
        line.push(' ');
        line += &if matches!(index, 1 | 2) && text != "0" { bad(&cell) } else { cell };
    }
    if layout.last && !last.is_empty() { line + "  " + last } else { line }
}

fn table(out: &mut Output, groups: &[((String, String), Group)]) -> std::io::Result<()> {
    let name = |(method, target): &(String, String)| match target.is_empty() {
        true => shown(method, false),
        false => shown(&format!("{method} {target}"), false),
    };
    let names: Vec<String> = groups.iter().map(|(key, _)| name(key)).collect();
    let lasts: Vec<Vec<String>> = groups.iter().map(|(_, group)| group.last()).collect();
    let longest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let layout = layout(
        out.width(),
        longest(&mut names.iter().map(|name| name.width())),
        longest(&mut lasts.iter().map(|last| last.join("  ").width()).chain(["SLOWEST".len()])),
    );
    let head = ["CALLS", "ERRORS", "ISERROR", "P50", "P90", "P99", "MAX", "SENT", "RECEIVED"];
    writeln!(out, "{}", out.styled(Style::Dim, &line(&layout, "CALL", head, "SLOWEST", str::to_owned)))?;
    for (((_, group), name), last) in groups.iter().zip(&names).zip(&lasts) {
        let at = |percent| percentile(&group.latencies_ns, percent).map(duration).unwrap_or_default();
        let numbers = [
            group.n_calls.to_string(),
            group.n_errors.to_string(),
            group.n_tool_errors.to_string(),
            at(50),
            at(90),
            at(99),
            at(100),
            size(group.request_bytes),
            size(group.answer_bytes),
        ];
        let bad = |text: &str| out.styled(Style::Bad, text);
        let text = line(&layout, name, numbers.each_ref().map(String::as_str), last.join("  ").trim(), bad);
        writeln!(out, "{text}")?;
        // What is told of a few calls only has a line of its own where it does not fit.
        let [_, told @ ..] = last.as_slice() else {
            continue;
        };
        if !layout.last && !told.is_empty() {
            writeln!(out, "{}", wrapped(&told.join(", "), 2, out.width()))?;
        }
    }
    Ok(())
}

fn as_json((method, target): &(String, String), group: &Group) -> serde_json::Value {
    let at = |percent| percentile(&group.latencies_ns, percent);
    json!({
        "what": if target.is_empty() { method.clone() } else { format!("{method} {target}") },
        "method": method,
        "target": Some(target).filter(|target| !target.is_empty()),
        "calls": group.n_calls,
        "errors": group.n_errors,
        "tool_errors": group.n_tool_errors,
        "unanswered": group.n_unanswered,
        "in_flight": group.n_in_flight,
        "waiting_for_input": group.n_waiting,
        "cancelled": group.n_cancelled,
        "more_rounds": group.n_rounds,
        "p50_ns": at(50),
        "p90_ns": at(90),
        "p99_ns": at(99),
        "max_ns": at(100),
        "first_progress_p50_ns": percentile(&group.first_progress_ns, 50),
        "first_byte_p50_ns": percentile(&group.first_byte_ns, 50),
        "request_bytes": group.request_bytes,
        "answer_bytes": group.answer_bytes,
        "slowest": group.slowest.as_ref().map(|(_, place)| place),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_fits_a_terminal() {
        let head = ["CALLS", "ERRORS", "ISERROR", "P50", "P90", "P99", "MAX", "SENT", "RECEIVED"];
        for name in [4, 20, 90] {
            for last in [7, 24, 60] {
                for width in FEW_NUMBERS + NAME.start()..250 {
                    let layout = layout(Some(width), name, last);
                    let line = line(&layout, &"n".repeat(name), head, &"x".repeat(last), str::to_owned);
                    assert!(line.width() <= width, "{width} columns, name {name}, end {last}: {layout:?}");
                }
            }
        }
    }

    #[test]
    fn what_can_be_done_without_makes_room_first() {
        for (width, expected) in [
            (None, Layout { name: 40, all: true, last: true }),
            (Some(200), Layout { name: 22, all: true, last: true }),
            (Some(124), Layout { name: 20, all: true, last: true }),
            (Some(110), Layout { name: 22, all: false, last: true }),
            (Some(80), Layout { name: 21, all: false, last: false }),
            (Some(40), Layout { name: 18, all: false, last: false }),
        ] {
            assert_eq!(layout(width, 22, 24), expected, "{width:?}");
        }
    }

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let hundred: Vec<u64> = (1..=100).collect();
        for (values, percent, expected) in [
            (&[][..], 50, None),
            (&[7][..], 50, Some(7)),
            (&[7][..], 99, Some(7)),
            (&[1, 2][..], 50, Some(1)),
            (&[1, 2][..], 90, Some(2)),
            (&[1, 2, 3][..], 50, Some(2)),
            (&hundred[..], 50, Some(50)),
            (&hundred[..], 90, Some(90)),
            (&hundred[..], 99, Some(99)),
            (&hundred[..], 100, Some(100)),
        ] {
            assert_eq!(percentile(values, percent), expected, "{percent} % of {values:?}");
        }
    }
}
