//! `mcp-tap stats`: how many calls, how slow, how large, how many failed.

use std::collections::HashMap;
use std::io::Write;

use serde_json::json;
use tap_session::{At, Call, Event, LinkKind, RowKind, Status};

use crate::arguments::{Global, GroupBy, Stats};
use crate::failure::{Failure, NO};
use crate::following::follow;
use crate::output::{Output, Style};
use crate::reference::Found;
use crate::text::{column, duration, shown, size};

/// Calls that are counted together.
#[derive(Debug, Default)]
struct Group {
    n_calls: u64,
    n_errors: u64,
    n_tool_errors: u64,
    n_unanswered: u64,
    n_cancelled: u64,
    /// Requests beyond the first of a call: rounds of input.
    n_rounds: u64,
    latencies_ns: Vec<u64>,
    first_progress_ns: Vec<u64>,
    request_bytes: u64,
    answer_bytes: u64,
    slowest: Option<(u64, String)>,
}

/// A call that is open: its rounds so far.
#[derive(Debug)]
struct Open {
    key: (String, String),
    first: At,
    latency_ns: u64,
}

/// What groups are called: the method, and the tool, prompt or resource.
type Groups = HashMap<(String, String), Group>;

pub(crate) fn stats(global: &Global, stats: &Stats) -> Result<u8, Failure> {
    let mut groups = Groups::new();
    for found in crate::reference::sessions(global, &stats.sessions, stats.all)? {
        count(global, &found, stats.by, &mut groups)?;
    }
    let mut groups: Vec<((String, String), Group)> = groups.into_iter().collect();
    if groups.is_empty() {
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "no calls");
        }
        return Ok(NO);
    }
    for (_, group) in &mut groups {
        group.latencies_ns.sort_unstable();
        group.first_progress_ns.sort_unstable();
    }
    // Where the time went comes first.
    let spent = |group: &Group| group.latencies_ns.iter().sum::<u64>();
    groups.sort_by(|(a_key, a), (b_key, b)| spent(b).cmp(&spent(a)).then_with(|| a_key.cmp(b_key)));
    let mut out = if stats.json { Output::new(global) } else { Output::paged(global) };
    if stats.json {
        for (key, group) in &groups {
            writeln!(out, "{}", as_json(key, group))?;
        }
    } else {
        table(&mut out, &groups)?;
    }
    out.flush()?;
    Ok(0)
}

fn count(global: &Global, found: &Found, by: GroupBy, groups: &mut Groups) -> Result<(), Failure> {
    let reference = match &found.file {
        Some(file) => file.display().to_string(),
        None => found.reference()?,
    };
    let range = found.part.range();
    // The request that a call in flight began with, and what is known of it, by its newest request.
    let mut open: HashMap<At, Open> = HashMap::new();
    let mut waiting_for_input: HashMap<At, Open> = HashMap::new();
    follow(global, found, *range.end(), |frame, meaning, follower| {
        let Some(frame) = frame else {
            return Ok(());
        };
        let n_bytes = frame.bytes.len() as u64;
        for event in &meaning.events {
            match event {
                Event::Row(row) if row.kind == RowKind::Request && range.contains(&row.at.seq) => {
                    let method = row.method.clone().unwrap_or_default();
                    let target = match by {
                        GroupBy::Tool => row.target.clone().unwrap_or_default(),
                        GroupBy::Method => String::new(),
                    };
                    let key = (method, target);
                    let round = meaning.links.iter().find(|link| link.kind == LinkKind::Round && link.from == row.at);
                    let earlier = round.and_then(|link| waiting_for_input.remove(&link.to));
                    let group = groups.entry(key.clone()).or_default();
                    group.request_bytes += n_bytes;
                    match earlier {
                        Some(earlier) => {
                            group.n_rounds += 1;
                            open.insert(row.at, earlier);
                        }
                        None => {
                            group.n_calls += 1;
                            open.insert(row.at, Open { key, first: row.at, latency_ns: 0 });
                        }
                    }
                }
                Event::Answered { request, latency_ns, status, .. } => {
                    let Some(mut this) = open.remove(request) else {
                        continue;
                    };
                    this.latency_ns = this.latency_ns.saturating_add(*latency_ns);
                    let call = follower.state().recent().rev().find(|call| call.at == *request);
                    let group = groups.entry(this.key.clone()).or_default();
                    group.answer_bytes += n_bytes;
                    if waits_for_input(follower, this.first) {
                        waiting_for_input.insert(this.first, this);
                    } else {
                        group.ended(&this, *status, call.map(|call| &**call), &reference);
                    }
                }
                Event::Row(_) => {}
            }
        }
        Ok(())
    })?;
    for this in open.into_values().chain(waiting_for_input.into_values()) {
        groups.entry(this.key).or_default().n_unanswered += 1;
    }
    Ok(())
}

/// Whether a call was answered with a question, so that it goes on with another request.
fn waits_for_input(follower: &tap_session::Follower, first: At) -> bool {
    follower.state().modern.waiting_rounds().any(|round| round.first == first)
}

impl Group {
    fn ended(&mut self, open: &Open, status: Status, call: Option<&Call>, reference: &str) {
        match status {
            Status::Ok => {}
            Status::ToolError => self.n_tool_errors += 1,
            Status::Error => self.n_errors += 1,
        }
        self.n_cancelled += u64::from(call.is_some_and(|call| call.cancelled.is_some()));
        self.first_progress_ns.extend(call.and_then(|call| call.first_progress_ns));
        self.latencies_ns.push(open.latency_ns);
        if self.slowest.as_ref().is_none_or(|(slowest, _)| *slowest < open.latency_ns) {
            let place = match open.first.member {
                0 => format!("{reference}:{}", open.first.seq),
                member => format!("{reference}:{}.{member}", open.first.seq),
            };
            self.slowest = Some((open.latency_ns, place));
        }
    }
}

/// The smallest value that at least so many of a hundred values are not above. `sorted` is in rising order.
fn percentile(sorted: &[u64], percent: usize) -> Option<u64> {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied()
}

fn table(out: &mut Output, groups: &[((String, String), Group)]) -> std::io::Result<()> {
    // All else on a line takes 74 columns, and the longest reference a few more.
    let width = out.width().map_or(40, |width| width.saturating_sub(90).clamp(18, 60));
    let head = format!(
        "{} {:>6} {:>6} {:>7} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}  {}",
        column("CALL", width),
        "CALLS",
        "ERRORS",
        "ISERROR",
        "P50",
        "P90",
        "P99",
        "MAX",
        "SENT",
        "RECEIVED",
        "SLOWEST"
    );
    writeln!(out, "{}", out.styled(Style::Dim, &head))?;
    for ((method, target), group) in groups {
        let name = if target.is_empty() { method.clone() } else { format!("{method} {target}") };
        let at = |percent| percentile(&group.latencies_ns, percent).map(duration).unwrap_or_default();
        let number = |n: u64, width: usize| {
            let text = format!("{n:>width$}");
            if n > 0 { out.styled(Style::Bad, &text) } else { text }
        };
        let mut last = group.slowest.as_ref().map(|(_, place)| shown(place, false)).unwrap_or_default();
        for (n, what) in
            [(group.n_unanswered, "unanswered"), (group.n_rounds, "rounds more"), (group.n_cancelled, "cancelled")]
        {
            if n > 0 {
                last += &format!("  {n} {what}");
            }
        }
        writeln!(
            out,
            "{} {:>6} {} {} {:>8} {:>8} {:>8} {:>8} {:>9} {:>9}  {}",
            column(&shown(&name, false), width),
            group.n_calls,
            number(group.n_errors, 6),
            number(group.n_tool_errors, 7),
            at(50),
            at(90),
            at(99),
            at(100),
            size(group.request_bytes),
            size(group.answer_bytes),
            last.trim(),
        )?;
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
        "cancelled": group.n_cancelled,
        "more_rounds": group.n_rounds,
        "p50_ns": at(50),
        "p90_ns": at(90),
        "p99_ns": at(99),
        "max_ns": at(100),
        "first_progress_p50_ns": percentile(&group.first_progress_ns, 50),
        "request_bytes": group.request_bytes,
        "answer_bytes": group.answer_bytes,
        "slowest": group.slowest.as_ref().map(|(_, place)| place),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
