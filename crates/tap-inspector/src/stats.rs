//! Figures of a session, a line a tool: how often, how quick, how large, and what the model pays for.

use std::sync::Arc;

use tap_filter::Filter;

use crate::data::SessionKey;
use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, View};

/// How many lines an answer has at most. Those on which most time was spent.
pub const STATS_LINES: usize = 1_000;

/// How often figures of a session that grows are asked for, nanoseconds.
const AGAIN_NS: u64 = 500_000_000;

/// What a line of figures stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StatsBy {
    /// Calls of one tool, prompt or resource.
    #[default]
    Tool,
    /// Calls with one method.
    Method,
    /// Calls of one session of MCP, in a recording over HTTP.
    Conversation,
    /// Calls that began in one hour of the clock.
    Hour,
    /// Calls that failed with the same words, but for names, numbers and paths in them.
    Error,
}

impl StatsBy {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Method => "method",
            Self::Conversation => "session of MCP",
            Self::Hour => "hour",
            Self::Error => "error",
        }
    }
}

/// Which figures are wanted.
#[derive(Debug, Clone)]
pub struct StatsQuery {
    /// Of which session.
    pub session: SessionKey,
    /// Of the calls that fit.
    pub filter: Option<Arc<Filter>>,
    /// A line for what.
    pub by: StatsBy,
}

/// Calls that are counted together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsLine {
    /// What they are called.
    pub name: String,
    /// The filter that only they fit.
    pub filter: String,
    /// How many.
    pub n_calls: u64,
    /// Of these, answered with an error, or by a tool that said that it failed.
    pub n_errors: u64,
    /// Taken back.
    pub n_cancelled: u64,
    /// Without an answer, or waiting for input.
    pub n_open: u64,
    /// Half took no longer, nanoseconds.
    pub p50_ns: Option<u64>,
    /// 95 of a hundred took no longer, nanoseconds.
    pub p95_ns: Option<u64>,
    /// 99 of a hundred took no longer, nanoseconds.
    pub p99_ns: Option<u64>,
    /// None took longer, nanoseconds.
    pub max_ns: Option<u64>,
    /// All of them together, nanoseconds.
    pub spent_ns: u64,
    /// Percentiles are values that were measured; else they are less than one percent too large.
    pub exact: bool,
    /// Bytes of requests.
    pub request_bytes: u64,
    /// Bytes of answers.
    pub answer_bytes: u64,
    /// How many took less than each of [`StatsAnswer::magnitudes_ns`] and not less than the one before; the last are the rest.
    pub magnitudes: Vec<u64>,
}

/// Where the time of a session went, nanoseconds. What more than one holds for counts for the first of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatsSpent {
    /// From the first message to the last.
    pub all_ns: u64,
    /// A person was waited for.
    pub person_ns: u64,
    /// Tools were at work.
    pub tools_ns: u64,
    /// Other requests to the server were.
    pub others_ns: u64,
}

/// Figures of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsAnswer {
    /// Up to the message with this number.
    pub seq: u64,
    /// The number of the newest message.
    pub last_seq: u64,
    /// That is all, for now.
    pub complete: bool,
    /// At most [`STATS_LINES`].
    pub lines: Vec<StatsLine>,
    /// Lines that were too many.
    pub n_left_out: u64,
    /// All calls, also of lines that were left out.
    pub n_calls: u64,
    /// Of these, failed.
    pub n_errors: u64,
    /// Edges of bars of latency, nanoseconds, rising.
    pub magnitudes_ns: Vec<u64>,
    /// How long one of `stretches` is, nanoseconds.
    pub stretch_ns: u64,
    /// Calls that began in each stretch of time, and how long the slowest of them took, nanoseconds.
    pub stretches: Vec<(u64, u64)>,
    /// Tools that were listed, and not called; some of them.
    pub never_called: Vec<String>,
    /// How many these are.
    pub n_never_called: u64,
    /// Where the time went.
    pub spent: StatsSpent,
    /// Definitions of tools as they were listed last: how many, and bytes.
    pub definitions: (u64, u64),
    /// The server's instructions, bytes.
    pub instruction_bytes: u64,
    /// Results of tools: how many, and bytes.
    pub results: (u64, u64),
    /// Tools whose results were the largest: name, how many, and bytes.
    pub largest: Vec<(String, u64, u64)>,
}

/// In which order lines stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    Spent,
    Calls,
    Errors,
    P95,
    Size,
    Name,
}

impl Order {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spent => "time",
            Self::Calls => "calls",
            Self::Errors => "errors",
            Self::P95 => "p95",
            Self::Size => "bytes",
            Self::Name => "name",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Spent => Self::Calls,
            Self::Calls => Self::Errors,
            Self::Errors => Self::P95,
            Self::P95 => Self::Size,
            Self::Size => Self::Name,
            Self::Name => Self::Spent,
        }
    }

    fn sort(self, lines: &mut [StatsLine]) {
        let by = |key: fn(&StatsLine) -> u64, lines: &mut [StatsLine]| {
            lines.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
        };
        match self {
            Self::Spent => by(|line| line.spent_ns, lines),
            Self::Calls => by(|line| line.n_calls, lines),
            Self::Errors => by(|line| line.n_errors, lines),
            Self::P95 => by(|line| line.p95_ns.unwrap_or(0), lines),
            Self::Size => by(|line| line.request_bytes.saturating_add(line.answer_bytes), lines),
            Self::Name => lines.sort_by(|a, b| a.name.cmp(&b.name)),
        }
    }
}

/// What was asked for.
#[derive(Debug, Clone)]
struct Wanted {
    filter: Option<Arc<Filter>>,
    by: StatsBy,
}

impl Wanted {
    /// Whether it is the same: the same filter, not only the same text, which means something else when it says `after:-5m`
    /// and was typed anew.
    fn is(&self, other: &Self) -> bool {
        self.filter.as_ref().map(Arc::as_ptr) == other.filter.as_ref().map(Arc::as_ptr) && self.by == other.by
    }
}

/// What is known of it, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    pub(crate) by: StatsBy,
    pub(crate) order: Order,
    /// The newest figures; of another filter or grouping until the first answer is there.
    pub(crate) shown: Option<StatsAnswer>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    wanted: Option<Wanted>,
    ticket: Option<Ticket>,
    /// All up to this message was asked for.
    asked_seq: u64,
    asked_unix_ns: u64,
    /// It could not be answered: not asked for again until something changes.
    failed: bool,
}

impl Stats {
    /// Moves the cursor.
    pub(crate) fn move_by(&mut self, rows: isize) {
        let last = self.lines().len().saturating_sub(1);
        self.cursor = self.cursor.saturating_add_signed(rows).min(last);
    }

    pub(crate) fn lines(&self) -> &[StatsLine] {
        self.shown.as_ref().map_or(&[], |shown| &shown.lines)
    }

    pub(crate) fn current(&self) -> Option<&StatsLine> {
        self.lines().get(self.cursor)
    }

    /// Whether more will come.
    pub(crate) fn is_pending(&self) -> bool {
        self.ticket.is_some()
    }

    /// The question that is open, which is of no use any more.
    pub(crate) fn pending(&self) -> Option<Ticket> {
        self.ticket
    }

    /// Puts lines in their order; the cursor stays on its line, or at the top where it was not moved.
    fn arrange(&mut self, name: Option<String>) {
        let order = self.order;
        if let Some(shown) = &mut self.shown {
            order.sort(&mut shown.lines);
        }
        let place = name.and_then(|name| self.lines().iter().position(|line| line.name == name));
        self.cursor = place.unwrap_or(self.cursor).min(self.lines().len().saturating_sub(1));
    }

    /// The line that the cursor keeps to: none when it is at the top, so that it sees what comes up.
    fn kept(&self) -> Option<String> {
        self.current().filter(|_| self.cursor > 0).map(|line| line.name.clone())
    }

    pub(crate) fn failed(&mut self, ticket: Ticket) {
        if self.ticket == Some(ticket) {
            self.ticket = None;
            self.failed = true;
        }
    }

    fn fit(&mut self, height: usize) {
        self.cursor = self.cursor.min(self.lines().len().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height.max(1)));
    }
}

impl Inspector {
    /// Does what a key asks for in this view.
    pub(crate) fn act_in_stats(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let over_http = open.session.transport == "http";
        let stats = &mut open.stats;
        match action {
            Action::First => stats.cursor = 0,
            Action::Last => stats.cursor = stats.lines().len().saturating_sub(1),
            Action::GroupBy => {
                stats.by = match stats.by {
                    StatsBy::Tool => StatsBy::Method,
                    StatsBy::Method => StatsBy::Hour,
                    StatsBy::Hour => StatsBy::Error,
                    StatsBy::Error if over_http => StatsBy::Conversation,
                    StatsBy::Error | StatsBy::Conversation => StatsBy::Tool,
                };
                // As time passed; what happened most; what took the most time.
                stats.order = match stats.by {
                    StatsBy::Hour => Order::Name,
                    StatsBy::Error => Order::Calls,
                    _ => Order::Spent,
                };
                (stats.cursor, stats.top) = (0, 0);
            }
            Action::SortBy => {
                stats.order = stats.order.next();
                let kept = stats.kept();
                stats.arrange(kept);
            }
            Action::ExportFigures => {
                if let Some(shown) = &stats.shown {
                    let name = format!("{}-stats.csv", open.session.reference.replace(['/', ':'], "-"));
                    effects.push(Effect::Write { bytes: csv(&shown.lines).into_bytes(), name });
                }
            }
            Action::Open => {
                let Some(line) = stats.current().map(|line| line.filter.clone()).filter(|line| !line.is_empty()) else {
                    return self.say("no one kind of call", false);
                };
                // Only those that were counted.
                let text = match &open.filter {
                    Some(filter) if filter.text().trim() != line => format!("({}) {line}", filter.text().trim()),
                    _ => line,
                };
                self.view = View::Timeline;
                self.set_filter(&text, effects);
            }
            _ => {}
        }
    }

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_stats(&mut self, effects: &mut Vec<Effect>) {
        let height = self.stats_layout().rows;
        let (now, is_shown, next) = (self.now_unix_ns, self.view == View::Stats, self.ticket());
        let Some(open) = &mut self.open else {
            return;
        };
        open.stats.fit(height);
        if !is_shown {
            // Going on costs, and nobody looks.
            if let Some(old) = open.stats.ticket.take() {
                effects.push(Effect::Cancel(old));
                open.stats.asked_seq = 0;
            }
            return;
        }
        let wanted = Wanted { filter: open.filter.clone(), by: open.stats.by };
        let stats = &mut open.stats;
        let is_other = !stats.wanted.as_ref().is_some_and(|asked| asked.is(&wanted));
        let is_due = now.saturating_sub(stats.asked_unix_ns) >= AGAIN_NS && !stats.failed;
        let has_grown = stats.asked_seq < open.last_seq && stats.ticket.is_none() && is_due;
        let is_missing = stats.shown.is_none() && stats.ticket.is_none() && !stats.failed;
        if !(is_other || has_grown || is_missing) {
            return;
        }
        effects.extend(stats.ticket.replace(next).map(Effect::Cancel));
        stats.wanted = Some(wanted);
        stats.failed = false;
        stats.asked_seq = open.last_seq;
        stats.asked_unix_ns = now;
        let query = StatsQuery { session: open.session.key, filter: open.filter.clone(), by: stats.by };
        effects.push(Effect::Ask(next, Query::Stats(query)));
    }

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_stats(&mut self, ticket: Ticket, answer: StatsAnswer) {
        let Some(stats) = self.open.as_mut().map(|open| &mut open.stats).filter(|stats| stats.ticket == Some(ticket))
        else {
            return;
        };
        if answer.complete {
            stats.ticket = None;
            stats.asked_seq = stats.asked_seq.max(answer.seq);
        }
        let kept = stats.kept();
        stats.shown = Some(answer);
        stats.arrange(kept);
    }
}

/// The lines as a table for a spreadsheet.
fn csv(lines: &[StatsLine]) -> String {
    let quoted = |text: &str| {
        // A spreadsheet takes what begins so for a formula, and runs it.
        let safe = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        format!("\"{safe}{}\"", tap_text::shown(text, false).replace('"', "\"\""))
    };
    let mut out = String::from(
        "what,calls,errors,cancelled,open,p50_ns,p95_ns,p99_ns,max_ns,spent_ns,request_bytes,answer_bytes\n",
    );
    for line in lines {
        let at = |ns: Option<u64>| ns.map(|ns| ns.to_string()).unwrap_or_default();
        let figures = [
            quoted(&line.name),
            line.n_calls.to_string(),
            line.n_errors.to_string(),
            line.n_cancelled.to_string(),
            line.n_open.to_string(),
            at(line.p50_ns),
            at(line.p95_ns),
            at(line.p99_ns),
            at(line.max_ns),
            line.spent_ns.to_string(),
            line.request_bytes.to_string(),
            line.answer_bytes.to_string(),
        ];
        out.push_str(&figures.join(","));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_for_a_spreadsheet_holds_no_formula_and_no_broken_line() {
        let line = |name: &str| StatsLine { name: name.into(), n_calls: 2, p50_ns: Some(7), ..StatsLine::default() };
        let text = csv(&[line("find"), line("=1+2"), line("a \"b\", c")]);
        let lines: Vec<&str> = text.lines().skip(1).collect();
        assert_eq!(
            lines,
            ["\"find\",2,0,0,0,7,,,,0,0,0", "\"'=1+2\",2,0,0,0,7,,,,0,0,0", "\"a \"\"b\"\", c\",2,0,0,0,7,,,,0,0,0",]
        );
    }

    #[test]
    fn lines_stand_in_each_order() {
        let line = |name: &str, spent_ns, n_calls, n_errors, p95_ns, answer_bytes| StatsLine {
            name: name.into(),
            spent_ns,
            n_calls,
            n_errors,
            p95_ns,
            answer_bytes,
            ..StatsLine::default()
        };
        let mut lines = vec![
            line("c", 3, 1, 1, Some(5), 3),
            line("a", 2, 2, 0, None, 1),
            line("b", 1, 3, 0, Some(9), 2),
            line("d", 1, 3, 0, Some(9), 2),
        ];
        let (mut order, mut seen) = (Order::default(), Vec::new());
        loop {
            order.sort(&mut lines);
            let names: String = lines.iter().map(|line| &*line.name).collect();
            seen.push((order.name(), names));
            order = order.next();
            if order == Order::default() {
                break;
            }
        }
        let expected = [
            ("time", "cabd"),
            ("calls", "bdac"),
            ("errors", "cabd"),
            ("p95", "bdca"),
            ("bytes", "cbda"),
            ("name", "abcd"),
        ];
        assert_eq!(seen, expected.map(|(order, names)| (order, names.to_owned())));
    }
}
