//! A session that is open: all that is known of it, and which questions about it are.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use tap_filter::Filter;
use tap_session::{At, Severity};

use crate::data::{FindingLine, MarkLine, Row, SessionLine};
use crate::effect::Ticket;
use crate::findings::Findings;
use crate::keymap::Action;
use crate::list::Rows;
use crate::model::{Detail, Pane};
use crate::overview::Overseen;
use crate::sequence::Sequence;
use crate::state::Stated;
use crate::stats::Stats;
use crate::tools::Tools;

/// How many messages that broke a rule are looked at for the next one without a row.
const LOOK_AT: usize = 200;

/// A question about something that the cursor is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked<T> {
    /// About what. It stays when there is no answer, so that it is not asked for without end.
    pub(crate) of: T,
    /// Which question; `None` once it was answered.
    pub(crate) ticket: Option<Ticket>,
}

/// What was asked of a message that is on its way. It is dropped when the cursor goes to another one before.
#[derive(Debug, Default)]
pub(crate) struct Postponed {
    /// Of which.
    pub(crate) of: Option<At>,
    /// In the order in which it was asked.
    pub(crate) actions: Vec<Action>,
}

/// A session that is open.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) session: SessionLine,
    pub(crate) calls: bool,
    pub(crate) rows: Rows,
    pub(crate) filter: Option<Arc<Filter>>,
    pub(crate) last_seq: u64,
    pub(crate) live: bool,
    /// All that was recorded before it was opened is known: the list ends where the session does.
    pub(crate) complete: bool,
    pub(crate) pane: Pane,
    pub(crate) zoomed: bool,
    pub(crate) detail: Option<Detail>,
    pub(crate) detail_asked: Option<Asked<At>>,
    /// What is to be done with a message as soon as it is here.
    pub(crate) postponed: Postponed,
    /// JSON inside strings is opened up.
    pub(crate) opens_strings: bool,
    pub(crate) state: Stated,
    /// The message that is looked at, where that is not the one of the row with the cursor.
    pub(crate) point: Option<Point>,
    /// A question where a moment is.
    pub(crate) moment: Option<Ticket>,
    pub(crate) findings: Findings,
    pub(crate) overseen: Overseen,
    pub(crate) sequence: Sequence,
    pub(crate) stats: Stats,
    pub(crate) tools: Tools,
    /// Where the cursor jumped from, and how far back among them it is.
    pub(crate) jumps: Vec<At>,
    pub(crate) jumps_back: usize,
    pub(crate) marks: BTreeMap<At, MarkLine>,
    /// The question about them that was asked last, while it is open.
    pub(crate) marking: Option<Ticket>,
    /// Looking for the next problem, this way, from here.
    pub(crate) seeking: Option<Seeking>,
    /// A question about what came while a call was running.
    pub(crate) unfolding: Option<Asked<At>>,
    /// A question about rows of calls that were waiting.
    pub(crate) again: Option<Ticket>,
    /// To be told when it grows.
    pub(crate) watch: Ticket,
}

impl Open {
    /// The nearest message before or behind a place that broke a rule badly and has no row: in a list of calls that is what
    /// answers nothing, and what asks for no answer. What is known of it is in memory.
    pub(crate) fn broken_without_row(&self, here: At, forward: bool) -> Option<At> {
        let is_of_row = |at: At| self.rows.rows().iter().any(|row| row.at() == at || row.row.pair == Some(at));
        let fits = |(at, found): (&At, &Vec<FindingLine>)| {
            let is_bad = found.iter().any(|finding| finding.severity == Severity::Error);
            (is_bad && !is_of_row(*at)).then_some(*at)
        };
        if !self.calls {
            return None;
        }
        let found = &self.findings.by_message;
        match forward {
            true => found.range((Bound::Excluded(here), Bound::Unbounded)).take(LOOK_AT).find_map(fits),
            false => found.range(..here).rev().take(LOOK_AT).find_map(fits),
        }
    }
}

/// A search for the next of something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seeking {
    pub(crate) ticket: Ticket,
    pub(crate) forward: bool,
    /// What is looked for, in words.
    pub(crate) what: String,
    /// The nearest message that way that broke a rule and has no row in a list of calls.
    pub(crate) broken: Option<At>,
}

/// A message that is looked at in a list in which it may have no row of its own: an answer where a row is a call, say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Point {
    pub(crate) at: At,
    /// The row that had the cursor when it was gone to; while the cursor stays there, it is looked at. `None` while that row
    /// is still to come.
    pub(crate) row: Option<At>,
}

impl Open {
    /// All questions about it that are open and of no use once another session is looked at. Every field is named, so that
    /// whoever adds one decides.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        let Self {
            rows,
            detail,
            detail_asked,
            state,
            moment,
            findings,
            overseen,
            sequence,
            stats,
            tools,
            seeking,
            unfolding,
            again,
            watch,
            // Perhaps it has a mark changed, which is not withdrawn; to read marks takes no time.
            marking: _,
            // Nothing is asked by these.
            session: _,
            calls: _,
            filter: _,
            last_seq: _,
            live: _,
            complete: _,
            pane: _,
            zoomed: _,
            postponed: _,
            opens_strings: _,
            point: _,
            jumps: _,
            jumps_back: _,
            marks: _,
        } = self;
        let questions = [
            Some(*watch),
            *again,
            *moment,
            findings.ticket,
            overseen.ticket,
            unfolding.and_then(|asked| asked.ticket),
            detail_asked.and_then(|asked| asked.ticket),
            rows.pending_ticket(),
            state.ticket(),
            seeking.as_ref().map(|seeking| seeking.ticket),
            stats.pending(),
            tools.pending(),
        ];
        questions.into_iter().flatten().chain(sequence.tickets()).chain(detail.iter().flat_map(Detail::tickets))
    }

    /// The mark of a row: of a call, that of its answer too.
    pub(crate) fn mark_of(&self, row: &Row) -> Option<&MarkLine> {
        let answer = row.row.pair.filter(|pair| self.calls && *pair != row.at());
        self.marks.get(&row.at()).or_else(|| self.marks.get(&answer?))
    }

    /// The message that is looked at.
    pub(crate) fn at(&self) -> Option<At> {
        self.point.map(|point| point.at).or_else(|| self.rows.current().map(Row::at))
    }
}
