//! Two sessions beside each other: call by call, tool by tool.

mod acting;
mod laid;

use tap_compare::{DriftClass, Piece};
use tap_session::At;

use crate::data::{Began, SessionKey};
use crate::effect::Ticket;
use crate::model::{Pane, View};
use crate::open::Asked;

pub(crate) use laid::{DiffLine, Laid, beside_width};

/// Which two sessions are compared, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareQuery {
    /// The one.
    pub a: SessionKey,
    /// The other, of which it is told how it differs.
    pub b: SessionKey,
    /// Of A and of B: the one session of MCP that is compared, where a recording over HTTP holds many; `None` for all as one.
    pub conversations: [Option<u64>; 2],
    /// Paths that do not count, as `mcp-tap diff --ignore` takes them.
    pub ignore: Vec<String>,
    /// How often it was asked for anew: what was read for another number is not used again.
    pub round: u32,
}

/// How something differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareSign {
    /// Not at all, or only in what is hidden.
    Same,
    /// It is in both, and not the same.
    Changed,
    /// It is only in A.
    OnlyA,
    /// It is only in B.
    OnlyB,
}

impl CompareSign {
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Same => "=",
            Self::Changed => "~",
            Self::OnlyA => "-",
            Self::OnlyB => "+",
        }
    }
}

/// One line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareLine {
    /// How it differs.
    pub sign: CompareSign,
    /// What it is: `server`, `tool`, `call`, `error`, `time`, …
    pub what: &'static str,
    /// Which one: a tool's name, a method.
    pub subject: String,
    /// Its arguments, in a few characters.
    pub digest: String,
    /// What differs, in a few words.
    pub change: String,
    /// Whom it matters to, where that is known.
    pub class: Option<DriftClass>,
    /// Its message in A, and in B.
    pub places: [Option<At>; 2],
}

/// What is known of one of the two sessions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparedSide {
    /// How it is named on the command line.
    pub reference: String,
    /// When it began.
    pub began: Began,
    /// Name and version of the server.
    pub server: String,
    /// Calls that are compared.
    pub n_calls: u64,
    /// Of these, failed.
    pub n_errors: u64,
    /// The median of how long they took, nanoseconds; `None` where none was answered.
    pub p50_ns: Option<u64>,
    /// It was read up to the message with this number.
    pub through: u64,
    /// It goes on.
    pub live: bool,
    /// How many sessions of MCP it holds.
    pub n_conversations: u64,
}

/// How two sessions differ: a part of it. Figures are those up to now, lines those since the last part.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Compared {
    /// A and B; by default while they are not known.
    pub sides: [ComparedSide; 2],
    /// What was added, removed and changed of what the servers offer, by kind: `tool`.
    pub lists: Vec<(&'static str, [usize; 3])>,
    /// Tools and the like whose change breaks who calls them.
    pub n_breaking: usize,
    /// Those of which only what models read changed.
    pub n_prompt: usize,
    /// Calls that are the same, that changed, that are only in A, only in B.
    pub n_calls: [usize; 4],
    /// Differences that do not count because of a rule.
    pub n_hidden: usize,
    /// Lines, in order, behind those of the parts before.
    pub lines: Vec<CompareLine>,
    /// What was too much, in words.
    pub notes: Vec<String>,
    /// What is being done, in words, while it is not complete.
    pub progress: String,
    /// No more will come for this question.
    pub complete: bool,
}

/// One place at which the two differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ComparePlace {
    /// Where, as `--ignore` takes it; where that cannot be, in other words.
    pub path: String,
    /// How, in a few words.
    pub words: String,
    /// Whom it matters to, where that is known.
    pub class: Option<DriftClass>,
    /// What A has there, and what B: of two texts these, otherwise JSON. A part of it, where it is long.
    pub values: [Option<String>; 2],
    /// What changed in two texts, word by word; nothing where they are no texts.
    pub pieces: Vec<Piece>,
    /// The rules that would accept it, as options of `mcp-tap diff`, the narrowest first, less that of [`Self::ignore`].
    pub rules: Vec<&'static str>,
    /// The path with which [`CompareQuery::ignore`] leaves it out, if there is one.
    pub ignore: Option<String>,
}

/// All that differs of one line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineDifferences {
    /// Where it differs: the first places.
    pub places: Vec<ComparePlace>,
    /// How many there are.
    pub n_places: usize,
    /// What is hidden, and why: the first.
    pub hidden: Vec<(String, &'static str)>,
    /// How many of these there are.
    pub n_hidden: usize,
    /// What else is to be said.
    pub notes: Vec<String>,
}

/// How two values stand beside each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Layout {
    /// A on the left, B on the right.
    #[default]
    Side,
    /// A over B; of texts the lines that differ.
    Unified,
    /// Words that changed, within the text.
    Words,
}

impl Layout {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Side => "side by side",
            Self::Unified => "one over the other",
            Self::Words => "words",
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Side => Self::Unified,
            Self::Unified => Self::Words,
            Self::Words => Self::Side,
        }
    }
}

/// What is known of it, and where the cursor is.
#[derive(Debug)]
pub(crate) struct Compare {
    pub(crate) query: Option<CompareQuery>,
    /// Figures; its lines are below.
    pub(crate) figures: Compared,
    lines: Vec<CompareLine>,
    /// Which of the lines differ.
    differing: Vec<usize>,
    /// Only what differs is shown.
    pub(crate) only: bool,
    /// Among the lines that are shown.
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    pub(crate) pane: Pane,
    pub(crate) zoomed: bool,
    pub(crate) layout: Layout,
    pub(crate) laid: Option<Laid>,
    /// What is open: the comparison, the differences of a line, and the report.
    ticket: Option<Ticket>,
    asked: Option<Asked<usize>>,
    report: Option<Ticket>,
    /// The line that the cursor was on when it was asked anew.
    wanted: Option<CompareLine>,
    /// The view that it was begun from.
    from: View,
    /// The session in which a message of it is looked at.
    pub(crate) visits: Option<SessionKey>,
}

impl Default for Compare {
    fn default() -> Self {
        Self {
            query: None,
            figures: Compared::default(),
            lines: Vec::new(),
            differing: Vec::new(),
            only: false,
            cursor: 0,
            top: 0,
            pane: Pane::List,
            zoomed: false,
            layout: Layout::default(),
            laid: None,
            ticket: None,
            asked: None,
            report: None,
            wanted: None,
            from: View::Sessions,
            visits: None,
        }
    }
}

impl Compare {
    /// Moves the cursor of the pane that has the keys.
    pub(crate) fn move_by(&mut self, rows: isize) {
        match (self.pane, &mut self.laid) {
            (Pane::Detail, Some(laid)) => {
                laid.cursor = laid.cursor.saturating_add_signed(rows).min(laid.lines().len().saturating_sub(1));
            }
            _ => {
                // Who moves has seen what was looked for.
                self.wanted = None;
                self.cursor = self.cursor.saturating_add_signed(rows).min(self.n_shown().saturating_sub(1));
            }
        }
    }

    /// How many lines are shown.
    pub(crate) fn n_shown(&self) -> usize {
        if self.only { self.differing.len() } else { self.lines.len() }
    }

    /// How many lines there are that do not differ.
    pub(crate) fn n_same(&self) -> usize {
        self.lines.len() - self.differing.len()
    }

    /// Which line is shown there.
    fn index(&self, shown: usize) -> Option<usize> {
        if self.only { self.differing.get(shown).copied() } else { (shown < self.lines.len()).then_some(shown) }
    }

    pub(crate) fn line(&self, shown: usize) -> Option<&CompareLine> {
        self.lines.get(self.index(shown)?)
    }

    /// Where a line, or the nearest one before it, is shown.
    fn shown_at(&self, index: usize) -> usize {
        if self.only { self.differing.partition_point(|this| *this <= index).saturating_sub(1) } else { index }
    }

    /// To the next line that differs, or the one before.
    fn seek(&mut self, forward: bool) -> bool {
        let here = self.index(self.cursor).unwrap_or(0);
        let next = if forward {
            self.differing.partition_point(|index| *index <= here)
        } else {
            match self.differing.partition_point(|index| *index < here).checked_sub(1) {
                Some(before) => before,
                None => return false,
            }
        };
        let Some(index) = self.differing.get(next).copied() else {
            return false;
        };
        self.cursor = self.shown_at(index);
        self.wanted = None;
        true
    }

    fn take(&mut self, answer: Compared) {
        let mut found = None;
        for line in &answer.lines {
            let is_it = |wanted: &CompareLine| {
                wanted.what == line.what && wanted.subject == line.subject && wanted.places == line.places
            };
            if found.is_none() && self.wanted.as_ref().is_some_and(is_it) {
                found = Some(self.lines.len());
            }
            if line.sign != CompareSign::Same {
                self.differing.push(self.lines.len());
            }
            self.lines.push(line.clone());
        }
        if let Some(index) = found {
            self.cursor = self.shown_at(index);
            self.wanted = None;
        }
        self.figures = Compared { lines: Vec::new(), ..answer };
    }

    /// Puts cursors where there is something, and tops where these are seen. `heights` are those of the list and of what
    /// differs, `width` the latter's.
    fn fit(&mut self, heights: (usize, usize), width: usize) {
        self.cursor = self.cursor.min(self.n_shown().saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(heights.0.max(1)));
        self.top = self.top.min(self.n_shown().saturating_sub(heights.0));
        let line = self.index(self.cursor);
        if self.laid.as_ref().is_some_and(|laid| Some(laid.of) != line) {
            self.laid = None;
        }
        match &mut self.laid {
            Some(laid) => laid.fit(heights.1, width, self.layout),
            None if self.asked.is_none_or(|asked| asked.ticket.is_none()) || line.is_none() => self.pane = Pane::List,
            None => {}
        }
    }
}
