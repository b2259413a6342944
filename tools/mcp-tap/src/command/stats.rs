//! `mcp-tap stats`: how many calls, how slow, how large, how many failed.

use std::collections::HashMap;
use std::io::Write;

use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tap_filter::Filter;
use tap_session::HttpSessionNumber;
use unicode_width::UnicodeWidthStr;

use crate::arguments::{Global, GroupBy, Stats, StatsFormat};
use crate::counting::{By, Counter, Group, Key, Scope, Spent};
use crate::failure::{Failure, NO};
use crate::filtering;
use crate::following::follow;
use crate::output::{Output, Style};
use crate::progress::catch_up;
use crate::reference::{Found, sessions};
use crate::subject::Findings;
use crate::text::{column, duration, shown, size, wrapped};

/// What a line of the table stands for, in one session or in many.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Line {
    Counted(Key),
    /// A session, or a session of MCP, as it is named on the command line.
    Session(String),
    /// A client that introduced itself so, or one that did not.
    Client(Option<String>),
}

impl Line {
    fn name(&self) -> String {
        match self {
            Self::Counted(key) => key.name(&TimeZone::system()),
            Self::Session(name) => name.clone(),
            Self::Client(name) => name.clone().unwrap_or_else(|| "(of no name)".into()),
        }
    }
}

/// What its column is called.
fn head_of(by: GroupBy) -> &'static str {
    match by {
        GroupBy::Tool => "CALL",
        GroupBy::Method => "METHOD",
        GroupBy::Session => "SESSION",
        GroupBy::Client => "CLIENT",
        GroupBy::Hour => "HOUR",
        GroupBy::Error => "ERROR",
    }
}

/// A line of the table: what was counted together, in one session or in many.
#[derive(Debug, Default)]
struct Row {
    group: Group,
    /// The slowest call, nanoseconds, and how it is named on the command line.
    slowest: Option<(u64, String)>,
}

pub(crate) fn stats(global: &Global, stats: &Stats) -> Result<u8, Failure> {
    let filter = filtering::read(&stats.which.filter())?;
    let mut rows = HashMap::new();
    let (mut hint, mut spent) = (None, Spent::default());
    for found in sessions(global, &stats.which)? {
        let found = found?;
        spent.merge(&count(global, &found, stats.by, filter.as_ref(), &mut rows)?);
        hint = hint.or(found.hint_when_empty());
    }
    let mut rows: Vec<(Line, Row)> = rows.into_iter().collect();
    if rows.is_empty() {
        if !global.quiet {
            let what = match (stats.by, &filter) {
                (GroupBy::Error, None) => "no calls that failed",
                (GroupBy::Error, Some(_)) => "no calls that failed and fit",
                (_, None) => "no calls",
                (_, Some(_)) => "no calls that fit",
            };
            let _ = writeln!(std::io::stderr(), "{what}");
            if let Some(hint) = hint {
                let _ = writeln!(std::io::stderr(), "  {hint}");
            }
        }
        return Ok(NO);
    }
    let took = |row: &Row| row.group.latencies.sum();
    rows.sort_by(|(a_line, a), (b_line, b)| match stats.by {
        // As time passed.
        GroupBy::Hour => a_line.cmp(b_line),
        GroupBy::Error => b.group.n_calls.cmp(&a.group.n_calls).then_with(|| a_line.cmp(b_line)),
        // What took the most time comes first.
        _ => took(b).cmp(&took(a)).then_with(|| a_line.cmp(b_line)),
    });
    let format = if stats.json { StatsFormat::Json } else { stats.format };
    let mut out = if format == StatsFormat::Text { Output::paged(global) } else { Output::new(global) };
    match format {
        StatsFormat::Text => {
            table(&mut out, head_of(stats.by), &mut rows)?;
            if filter.is_none() {
                let text = where_time_went(&spent);
                writeln!(out, "{}", out.styled(Style::Dim, &wrapped(&text, 0, out.width())))?;
            }
        }
        StatsFormat::Json => {
            for (line, row) in &mut rows {
                out.json(&as_json(line, row))?;
            }
        }
        StatsFormat::Csv => {
            let rows: Vec<Value> = rows.iter_mut().map(|(line, row)| as_json(line, row)).collect();
            out.write_all(as_csv(&rows).as_bytes())?;
        }
    }
    out.flush()?;
    Ok(0)
}

/// Counts the calls of a session that fit and began in the part that was asked for, also where they ended behind it.
fn count(
    global: &Global,
    found: &Found,
    group_by: GroupBy,
    filter: Option<&Filter>,
    rows: &mut HashMap<Line, Row>,
) -> Result<Spent, Failure> {
    let by = match group_by {
        GroupBy::Tool => By::Tool,
        GroupBy::Method => By::Method,
        GroupBy::Session | GroupBy::Client => By::Conversation,
        GroupBy::Hour => By::Hour,
        GroupBy::Error => By::Error,
    };
    let findings = match filter {
        Some(filter) => {
            catch_up(global, &found.store, found.session.id, &found.session.start.name)?;
            filtering::findings_for(global, found, filter)?
        }
        None => Findings::default(),
    };
    let scope = Scope {
        store: &found.store,
        session: &found.session,
        conversation: found.conversation,
        part: found.part,
        filter: filter.map(|filter| (filter, &findings)),
    };
    let mut counter = Counter::new(usize::MAX, TimeZone::system());
    let followed = follow(global, found, u64::MAX, |seen| Ok(counter.take(&seen, &scope)?))?;
    found.must_exist()?;
    let states = followed.states.iter().map(|(_, state)| state);
    let counted = counter.counted(by, states, followed.over, &scope)?;
    // Who came, by the numbers of their sessions.
    let clients: HashMap<u64, Option<String>> = match found.is_http() && group_by == GroupBy::Client {
        true => {
            let inside = found.store.conversations(found.session.id)?;
            inside.into_iter().map(|conversation| (conversation.number.0, conversation.client)).collect()
        }
        false => HashMap::new(),
    };
    for (key, group) in counted.groups {
        let line = match (group_by, &key) {
            (GroupBy::Session, Key::Conversation(Some(number))) => {
                Line::Session(found.inside(HttpSessionNumber(*number)))
            }
            (GroupBy::Session, _) if found.is_http() => Line::Session(format!("{}, of no session", found.name())),
            (GroupBy::Session, _) => Line::Session(found.name()),
            (GroupBy::Client, Key::Conversation(Some(number))) => Line::Client(clients.get(number).cloned().flatten()),
            (GroupBy::Client, _) if found.is_http() => Line::Client(None),
            (GroupBy::Client, _) => Line::Client(found.session.digest.identity.client.clone()),
            _ => Line::Counted(key),
        };
        let row: &mut Row = rows.entry(line).or_default();
        if let Some((ns, at)) = group.slowest
            && row.slowest.as_ref().is_none_or(|(slowest, _)| *slowest < ns)
        {
            row.slowest = Some((ns, found.place(at)));
        }
        row.group.merge(&group);
    }
    Ok(counted.spent)
}

/// Where the time of all sessions went, in a line.
fn where_time_went(spent: &Spent) -> String {
    let parts = [
        ("tools", spent.tools_ns),
        ("other requests", spent.others_ns),
        ("waiting for a person", spent.person_ns),
        ("host and model", spent.host_ns()),
    ];
    let told = parts
        .iter()
        .filter(|(_, ns)| *ns > 0)
        .map(|(what, ns)| format!("{what} {} ({})", duration(*ns), share(*ns, spent.all_ns)));
    format!("of {}: {}", duration(spent.all_ns), told.collect::<Vec<_>>().join(", "))
}

/// A share in percent, never rounded to nothing.
fn share(part: u64, whole: u64) -> String {
    match part as f64 / whole.max(1) as f64 * 100.0 {
        share if share > 0.0 && share < 0.5 => "<1 %".into(),
        share => format!("{share:.0} %"),
    }
}

impl Row {
    /// How a line ends: the slowest call, or nothing, and then what is told of a few calls only.
    fn last(&self) -> Vec<String> {
        let group = &self.group;
        let slowest = self.slowest.as_ref().map(|(_, place)| shown(place, false));
        let told = [
            (group.n_unanswered, "unanswered".to_owned()),
            (group.n_in_flight, "in flight".to_owned()),
            (group.n_waiting, "waiting for input".to_owned()),
            (group.n_rounds, format!("more round{}", if group.n_rounds == 1 { "" } else { "s" })),
            (group.n_cancelled, "cancelled".to_owned()),
        ];
        let told = told.into_iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        std::iter::once(slowest.unwrap_or_default()).chain(told).collect()
    }
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

fn table(out: &mut Output, head: &str, rows: &mut [(Line, Row)]) -> std::io::Result<()> {
    let names: Vec<String> = rows.iter().map(|(line, _)| shown(&line.name(), false)).collect();
    let lasts: Vec<Vec<String>> = rows.iter().map(|(_, row)| row.last()).collect();
    let longest = |widths: &mut dyn Iterator<Item = usize>| widths.max().unwrap_or(0);
    let layout = layout(
        out.width(),
        longest(&mut names.iter().map(|name| name.width())),
        longest(&mut lasts.iter().map(|last| last.join("  ").width()).chain(["SLOWEST".len()])),
    );
    let columns = ["CALLS", "ERRORS", "ISERROR", "P50", "P90", "P99", "MAX", "SENT", "RECEIVED"];
    writeln!(out, "{}", out.styled(Style::Dim, &line(&layout, head, columns, "SLOWEST", str::to_owned)))?;
    for (((_, row), name), last) in rows.iter_mut().zip(&names).zip(&lasts) {
        let group = &mut row.group;
        let [p50, p90, p99, max] =
            group.latencies.percentiles([50, 90, 99, 100]).map(|ns| ns.map(duration).unwrap_or_default());
        let numbers = [
            group.n_calls.to_string(),
            group.n_errors.to_string(),
            group.n_tool_errors.to_string(),
            p50,
            p90,
            p99,
            max,
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

fn as_json(line: &Line, row: &mut Row) -> Value {
    let (method, target) = match line {
        Line::Counted(Key::Called { method, target }) => (Some(&**method), Some(&**target)),
        _ => (None, None),
    };
    let group = &mut row.group;
    let [p50, p90, p99, max] = group.latencies.percentiles([50, 90, 99, 100]);
    let [first_progress] = group.first_progress.percentiles([50]);
    let [first_byte] = group.first_byte.percentiles([50]);
    json!({
        "what": line.name(),
        "method": method,
        "target": target.filter(|target| !target.is_empty()),
        "calls": group.n_calls,
        "errors": group.n_errors,
        "tool_errors": group.n_tool_errors,
        "unanswered": group.n_unanswered,
        "in_flight": group.n_in_flight,
        "waiting_for_input": group.n_waiting,
        "cancelled": group.n_cancelled,
        "more_rounds": group.n_rounds,
        "p50_ns": p50,
        "p90_ns": p90,
        "p99_ns": p99,
        "max_ns": max,
        "exact": group.latencies.is_exact(),
        "first_progress_p50_ns": first_progress,
        "first_byte_p50_ns": first_byte,
        "request_bytes": group.request_bytes,
        "answer_bytes": group.answer_bytes,
        "slowest": row.slowest.as_ref().map(|(_, place)| place),
    })
}

/// Objects with the same members as a table, their names first.
pub(crate) fn as_csv(rows: &[Value]) -> String {
    let names = rows.first().and_then(Value::as_object).into_iter().flat_map(serde_json::Map::keys);
    let mut csv = names.cloned().collect::<Vec<_>>().join(",") + "\n";
    for row in rows.iter().filter_map(Value::as_object) {
        let fields = row.values().map(|value| match value {
            Value::Null => String::new(),
            Value::String(text) => {
                // A spreadsheet takes what begins so for a formula, and runs it.
                let mark = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
                format!("\"{mark}{}\"", shown(text, false).replace('"', "\"\""))
            }
            other => other.to_string(),
        });
        csv += &fields.collect::<Vec<_>>().join(",");
        csv.push('\n');
    }
    csv
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
    fn a_table_for_a_spreadsheet_holds_no_formula_and_nothing_that_acts() {
        let row = |what: &str| json!({ "what": what, "calls": 2, "p50_ns": null });
        assert_eq!(
            as_csv(&[row("tools/call a"), row("=1+2"), row("a \"b\", \u{1b}[2J\n")]),
            "what,calls,p50_ns\n\"tools/call a\",2,\n\"'=1+2\",2,\n\"a \"\"b\"\", \\u{1b}[2J\\u{a}\",2,\n",
        );
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
}
