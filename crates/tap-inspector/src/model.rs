//! The model: all that the inspector knows, and which questions are open.

use std::collections::BTreeMap;
use std::ops::{Bound, Range};
use std::sync::Arc;

use tap_filter::Filter;
use tap_session::{At, Severity};

use crate::about::Slot;
use crate::compare::Compare;
use crate::data::{FindingLine, MarkLine, MessageParts, Row, SessionKey, SessionLine};
use crate::detail::Find;
use crate::effect::{Query, Ticket};
use crate::keymap::{Action, Scope};
use crate::list::Rows;
use crate::overview::Overseen;
use crate::place::Place;
use crate::prompt::Prompt;
use crate::search::Search;
use crate::sequence::Sequence;
use crate::sessions::Sessions;
use crate::settings::Keys;
use crate::state::Stated;
use crate::stats::Stats;
use crate::theme::Theme;
use crate::tools::Tools;
use crate::tree::Tree;
use crate::update::MarkPart;

/// What is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum View {
    /// All sessions.
    Sessions,
    /// The messages of one.
    Timeline,
    /// Who said what to whom, and what ran at the same time.
    Sequence,
    /// What was true at the cursor.
    State,
    /// How often, how quick, how large, a line a tool.
    Stats,
    /// Which rules were broken.
    Findings,
    /// What the server offers.
    Tools,
    /// Two sessions beside each other.
    Compare,
    /// What was found in all sessions.
    Search,
}

/// How many messages that broke a rule are looked at for the next one without a row.
const LOOK_AT: usize = 200;

/// The inspector.
#[derive(Debug)]
pub struct Inspector {
    pub(crate) theme: Theme,
    /// Columns and rows.
    pub(crate) size: (u16, u16),
    /// Nanoseconds since the Unix epoch, as it was told last.
    pub(crate) now_unix_ns: u64,
    /// How far local time is ahead of UTC, seconds.
    pub(crate) utc_offset_seconds: i32,
    pub(crate) view: View,
    pub(crate) sessions: Sessions,
    /// The session to be opened once it is known.
    pub(crate) opens: Option<SessionKey>,
    /// At which message.
    pub(crate) opens_at: Option<At>,
    pub(crate) open: Option<Open>,
    pub(crate) compare: Compare,
    pub(crate) search: Search,
    pub(crate) overlay: Option<Overlay>,
    /// A word about what was done or failed, until when it is shown, and whether it is bad.
    pub(crate) note: Option<Note>,
    /// Filters that were used, the oldest first.
    pub(crate) history: Vec<String>,
    pub(crate) shows_keys: bool,
    pub(crate) keys: Keys,
    /// A row a call in sessions that are opened, not a row a message.
    pub(crate) calls: bool,
    /// The view of a session that was looked at last.
    pub(crate) last_view: View,
    /// Share of the width that the list has beside a message, percent.
    pub(crate) split: u16,
    newest_ticket: u64,
}

/// A word about something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Note {
    pub(crate) text: String,
    pub(crate) bad: bool,
    pub(crate) until_unix_ns: u64,
}

/// Which pane has the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pane {
    List,
    Detail,
}

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

/// Rules that were broken.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) by_message: BTreeMap<At, Vec<FindingLine>>,
    /// Where each of them is, in the order of messages: its message, and which of those it is.
    pub(crate) order: Vec<(At, usize)>,
    /// The same as errors, warnings and notes.
    pub(crate) n_by_severity: [u64; 3],
    /// How far the session was judged.
    pub(crate) seq: u64,
    pub(crate) complete: bool,
    pub(crate) ticket: Option<Ticket>,
    /// The first message of which something was found that a list with a filter may not have known.
    pub(crate) unlisted: Option<u64>,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
}

impl Findings {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Puts more in, mostly behind those that are there.
    pub(crate) fn put(&mut self, found: Vec<FindingLine>) {
        for finding in found {
            let counted = match finding.severity {
                Severity::Error => &mut self.n_by_severity[0],
                Severity::Warning => &mut self.n_by_severity[1],
                Severity::Note => &mut self.n_by_severity[2],
            };
            *counted += 1;
            let its = self.by_message.entry(finding.at).or_default();
            self.order.push((finding.at, its.len()));
            its.push(finding);
        }
        if !self.order.is_sorted() {
            self.order.sort();
        }
    }

    /// Those of a message.
    pub(crate) fn of_message(&self, at: At) -> &[FindingLine] {
        self.by_message.get(&at).map_or(&[], Vec::as_slice)
    }

    /// The one at a place in the order of messages.
    pub(crate) fn get(&self, index: usize) -> Option<&FindingLine> {
        let (at, which) = self.order.get(index)?;
        self.by_message.get(at)?.get(*which)
    }

    /// Some of them from a place on, with their places: costs what those cost.
    pub(crate) fn some(&self, first: usize, n: usize) -> impl Iterator<Item = (usize, &FindingLine)> {
        (first..self.len().min(first.saturating_add(n))).filter_map(|index| Some((index, self.get(index)?)))
    }

    /// Those of a row: of a call, those of its answer too.
    pub(crate) fn of_row<'a>(&'a self, row: &Row, calls: bool) -> impl Iterator<Item = &'a FindingLine> {
        let answer = row.row.pair.filter(|pair| calls && *pair != row.at());
        let places = [Some(row.at()), answer].into_iter().flatten();
        places.flat_map(|at| self.of_message(at))
    }

    pub(crate) fn worst(&self, row: &Row, calls: bool) -> Option<Severity> {
        self.of_row(row, calls).map(|finding| finding.severity).max()
    }
}

/// How a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Pretty,
    Raw,
    Hex,
    /// Head and times of its HTTP exchange.
    Http,
    /// Whether arguments and result fit their schemas.
    Schema,
    /// All messages of its call.
    Call,
    /// What may explain how it went.
    Explain,
}

impl Form {
    /// All of them with their names, in the order of their tabs.
    pub(crate) const ALL: [(Self, &'static str); 7] = [
        (Self::Pretty, "Pretty"),
        (Self::Raw, "Raw"),
        (Self::Hex, "Hex"),
        (Self::Http, "Headers"),
        (Self::Schema, "Schema"),
        (Self::Call, "Call"),
        (Self::Explain, "Explain"),
    ];
}

/// A message that is open.
#[derive(Debug)]
pub(crate) struct Detail {
    pub(crate) parts: MessageParts,
    pub(crate) form: Form,
    pub(crate) tree: Tree,
    pub(crate) other: Option<Tree>,
    /// The line with the cursor, and the one at the top.
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    /// For the raw form: to how many columns it was broken, and into which ranges of its bytes.
    pub(crate) raw: (usize, Vec<Range<usize>>),
    /// It has changed since.
    pub(crate) stale: bool,
    /// What is known around it, by [`AboutPart`](crate::AboutPart).
    pub(crate) abouts: [Slot; 3],
    /// A text that is looked for in it.
    pub(crate) find: Option<Find>,
    /// Request and answer stand beside each other; then, which line is at the top of each.
    pub(crate) beside: Option<[usize; 2]>,
}

/// What lies over a view.
#[derive(Debug)]
pub(crate) enum Overlay {
    /// Keys; how far it is scrolled.
    Help(usize),
    /// A filter that is being typed, and what is wrong with it.
    Filter(Prompt),
    /// What can be copied of the message, and which of it is chosen.
    Copy(usize),
    /// A text that is looked for in the message.
    Find(Prompt),
    /// A number that is being typed.
    Jump(Prompt),
    /// A name or a note for a message.
    Mark(Prompt, At, MarkPart),
    /// A label for a session.
    Label(Prompt, SessionKey),
    /// What is to be done if the answer is yes.
    Confirm(String, Query),
    /// Something to do by its name, and which of the matches is chosen.
    Palette(Prompt, usize),
}

impl Inspector {
    /// An inspector that shows all sessions, or the one with this key once it is known.
    #[must_use]
    pub fn new(theme: Theme, size: (u16, u16), utc_offset_seconds: i32) -> Self {
        Self {
            theme,
            size,
            now_unix_ns: 0,
            utc_offset_seconds,
            view: View::Sessions,
            sessions: Sessions::default(),
            opens: None,
            opens_at: None,
            open: None,
            compare: Compare::default(),
            search: Search::default(),
            overlay: None,
            note: None,
            history: Vec::new(),
            shows_keys: true,
            keys: Keys::default(),
            calls: true,
            last_view: View::Timeline,
            split: 50,
            newest_ticket: 0,
        }
    }

    /// What is looked at.
    #[must_use]
    pub fn view_now(&self) -> View {
        self.view
    }

    /// The session that is open, so that it is told when that grows.
    #[must_use]
    pub fn open_session(&self) -> Option<SessionKey> {
        self.open.as_ref().map(|open| open.session.key)
    }

    pub(crate) fn ticket(&mut self) -> Ticket {
        self.newest_ticket += 1;
        Ticket(self.newest_ticket)
    }

    /// Where keys mean something now, the nearest first.
    pub(crate) fn scopes(&self) -> &'static [Scope] {
        match (self.view, self.open.as_ref().map(|open| open.pane)) {
            (View::Sessions, _) => &[Scope::Sessions, Scope::Moving, Scope::Everywhere],
            (View::Compare, _) => &[Scope::Compare, Scope::Moving, Scope::Everywhere],
            (View::Search, _) => &[Scope::Search, Scope::Moving, Scope::Everywhere],
            (View::Stats, _) => &[Scope::Stats, Scope::Moving, Scope::Everywhere],
            (View::Tools, _) => &[Scope::Tools, Scope::Moving, Scope::Everywhere],
            (View::Sequence, Some(Pane::Detail)) => &[Scope::Detail, Scope::Session, Scope::Moving, Scope::Everywhere],
            (View::State, _) => &[Scope::State, Scope::Session, Scope::Moving, Scope::Everywhere],
            (View::Sequence, _) => &[Scope::Sequence, Scope::Session, Scope::Moving, Scope::Everywhere],
            (_, Some(Pane::Detail)) => &[Scope::Detail, Scope::Session, Scope::Moving, Scope::Everywhere],
            _ => &[Scope::Session, Scope::Detail, Scope::Moving, Scope::Everywhere],
        }
    }

    /// How many rows of a list are on the screen.
    pub(crate) fn list_height(&self) -> usize {
        let keys = usize::from(self.shows_keys && self.size.1 >= crate::view::KEYS_FROM);
        let lines = match self.view {
            View::Sequence => self.sequence_foot(),
            View::Timeline => usize::from(self.overview_height()),
            View::State => usize::from(crate::view::strip_height(self.size.1)),
            _ => 0,
        };
        // The head, the columns with their line, and the note.
        usize::from(self.size.1).saturating_sub(5 + keys + lines).max(1)
    }

    pub(crate) fn say(&mut self, text: impl Into<String>, bad: bool) {
        let until_unix_ns = self.now_unix_ns.saturating_add(4_000_000_000);
        self.note = Some(Note { text: text.into(), bad, until_unix_ns });
    }

    /// What fits a name in the palette. Of a place to go to nothing does: it is gone to.
    pub(crate) fn palette(&self, typed: &str) -> Vec<(&'static str, &'static str, Action)> {
        if Place::read(typed).is_ok() {
            return Vec::new();
        }
        let typed = typed.to_lowercase();
        let scopes = self.scopes();
        let fits = |text: &str| {
            let mut text = text.chars();
            typed.chars().all(|wanted| text.any(|c| c == wanted))
        };
        let mut found: Vec<_> = crate::keymap::KEYMAP
            .iter()
            .filter(|binding| scopes.contains(&binding.scope) && binding.action != Action::Palette)
            .filter(|binding| fits(binding.name) || fits(&binding.about.to_lowercase()))
            .map(|binding| (binding.name, binding.about, binding.action))
            .collect();
        // What is called so comes before what is only told so.
        found
            .sort_by_key(|(name, ..)| (*name != typed, !name.starts_with(&typed), !name.contains(&typed), !fits(name)));
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_has_its_place_in_the_order_of_messages() {
        let finding = |(number, (seq, member)): (usize, (u64, u64))| FindingLine {
            at: At { seq, member },
            rule: "R",
            title: "",
            advice: "",
            severity: [Severity::Error, Severity::Warning, Severity::Note][number % 3],
            detail: number.to_string(),
            by: "server",
        };
        // Several of a message, and some that are told only later, as of a request that was never answered.
        let parts: [&[(u64, u64)]; 4] =
            [&[(1, 0), (1, 0), (4, 2), (4, 1)], &[], &[(5, 0), (2, 0), (1, 0)], &[(5, 0), (9, 0), (2, 0)]];
        let (mut findings, mut numbers) = (Findings::default(), 0..);
        for part in parts {
            findings.put(numbers.by_ref().zip(part.iter().copied()).map(finding).collect());
            let in_order: Vec<&FindingLine> = findings.by_message.values().flatten().collect();
            assert_eq!(findings.len(), in_order.len());
            let found: Vec<&FindingLine> = (0..findings.len()).filter_map(|index| findings.get(index)).collect();
            assert_eq!(found, in_order);
        }
        assert_eq!(findings.n_by_severity, [4, 3, 3]);
        let some =
            |first, n| findings.some(first, n).map(|(index, it)| (index, it.detail.as_str())).collect::<Vec<_>>();
        assert_eq!(some(2, 3), [(2, "6"), (3, "5"), (4, "9")]);
        assert_eq!(some(9, 5), [(9, "8")]);
        assert_eq!((some(10, 5), some(0, 0), findings.get(10)), (vec![], vec![], None));
    }
}
