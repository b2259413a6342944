//! The list of sessions: which are shown, in which order, what is known of the one under the cursor.

use std::collections::{BTreeMap, BTreeSet};

use crate::data::{EndKind, Row, SessionKey, SessionLine};
use crate::effect::{Effect, Query, Ticket};
use crate::model::{Inspector, View};

/// Sessions that are judged at a time.
const JUDGED_AT_ONCE: usize = 50;

/// Sessions with more messages than this are judged when they are opened.
const JUDGED_MESSAGES: u64 = 100_000;

/// In which order sessions stand. Live ones come first in any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sort {
    /// The newest first.
    #[default]
    Newest,
    /// By the server's name.
    Name,
    /// The most calls first.
    Calls,
    /// The most errors first.
    Errors,
    /// The longest first.
    Longest,
    /// The largest first.
    Largest,
}

impl Sort {
    /// All of them, in the order of the key that changes them.
    pub(crate) const ALL: [Self; 6] =
        [Self::Newest, Self::Name, Self::Calls, Self::Errors, Self::Longest, Self::Largest];

    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Newest => "newest",
            Self::Name => "name",
            Self::Calls => "calls",
            Self::Errors => "errors",
            Self::Longest => "longest",
            Self::Largest => "largest",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| sort.name() == name)
    }

    fn next(self) -> Self {
        let index = Self::ALL.iter().position(|sort| *sort == self).unwrap_or(0);
        Self::ALL.get(index + 1).copied().unwrap_or_default()
    }
}

/// What a session is about, for the panel beside the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Which one.
    pub key: SessionKey,
    /// The newest call that failed, or line that is no message.
    pub last_problem: Option<Row>,
    /// The slowest tools: what they are called, how often they were, and the latency that one call in twenty exceeds,
    /// nanoseconds.
    pub slowest: Vec<(String, u64, u64)>,
    /// The newest calls, the newest first.
    pub last_calls: Vec<Row>,
    /// So many of the newest calls were looked at, if not all of them.
    pub of_last: Option<u64>,
}

/// The list of sessions.
#[derive(Debug, Default)]
pub(crate) struct Sessions {
    lines: Vec<SessionLine>,
    /// Which of them are shown, in their order.
    order: Vec<usize>,
    pub(crate) sort: Sort,
    pub(crate) loaded: bool,
    pub(crate) cursor: usize,
    pub(crate) top: usize,
    /// Only those that hold this text are shown.
    filter: String,
    pub(crate) ticket: Option<Ticket>,
    /// When they were asked for last, nanoseconds since the Unix epoch.
    pub(crate) asked_unix_ns: u64,
    /// The one that another is to be compared with.
    pub(crate) marked: Option<SessionKey>,
    /// How many rules were broken, errors, warnings and notes, where that is known.
    pub(crate) findings: BTreeMap<SessionKey, [u64; 3]>,
    judging: Option<Ticket>,
    /// Those that were asked about.
    judged: BTreeSet<SessionKey>,
    pub(crate) summary: Option<SessionSummary>,
    /// What it was asked about last: the session, and how many messages it had.
    summary_asked: Option<(SessionKey, u64, Option<Ticket>)>,
    /// A change that is not done yet.
    pub(crate) changing: Option<Ticket>,
}

impl Sessions {
    /// All of them, as they came.
    pub(crate) fn lines(&self) -> &[SessionLine] {
        &self.lines
    }

    pub(crate) fn filter(&self) -> &str {
        &self.filter
    }

    /// How many are shown.
    pub(crate) fn n_shown(&self) -> usize {
        self.order.len()
    }

    /// Those that are shown, from this place on.
    pub(crate) fn shown_from(&self, place: usize) -> impl Iterator<Item = &SessionLine> {
        self.order.iter().skip(place).filter_map(|index| self.lines.get(*index))
    }

    /// The one under the cursor.
    pub(crate) fn chosen(&self) -> Option<&SessionLine> {
        self.shown_from(self.cursor).next()
    }

    pub(crate) fn find(&self, key: SessionKey) -> Option<&SessionLine> {
        self.lines.iter().find(|line| line.key == key)
    }

    /// Takes the sessions as they are now. The cursor stays on its session.
    pub(crate) fn set_lines(&mut self, lines: Vec<SessionLine>) {
        let key = self.chosen().map(|line| line.key);
        self.lines = lines;
        self.loaded = true;
        self.arrange(key);
    }

    pub(crate) fn set_filter(&mut self, filter: String) {
        self.filter = filter;
        self.arrange(None);
        self.top = 0;
    }

    pub(crate) fn set_sort(&mut self, sort: Sort) {
        self.sort = sort;
        self.arrange(self.chosen().map(|line| line.key));
    }

    pub(crate) fn next_sort(&mut self) {
        self.set_sort(self.sort.next());
    }

    /// Puts the cursor on a session, if it is shown.
    pub(crate) fn go_to(&mut self, key: SessionKey) {
        let place = self.shown_from(0).position(|line| line.key == key);
        self.cursor = place.unwrap_or(self.cursor);
    }

    fn arrange(&mut self, key: Option<SessionKey>) {
        let wanted = self.filter.to_lowercase();
        let fits = |line: &SessionLine| {
            let texts = [Some(&line.name), Some(&line.command), line.client.as_ref(), line.server.as_ref()];
            wanted.is_empty()
                || texts
                    .into_iter()
                    .flatten()
                    .chain(line.revision.as_ref())
                    .chain(line.label.as_ref())
                    .any(|text| text.to_lowercase().contains(&wanted))
        };
        let mut order: Vec<(usize, &SessionLine)> =
            self.lines.iter().enumerate().filter(|(_, line)| fits(line)).collect();
        // They come with the newest first, and a sort keeps the order of what is equal.
        match self.sort {
            Sort::Newest => {}
            Sort::Name => order.sort_by(|(_, a), (_, b)| a.name.cmp(&b.name)),
            Sort::Calls => order.sort_by_key(|(_, line)| std::cmp::Reverse(line.n_calls)),
            Sort::Errors => order.sort_by_key(|(_, line)| std::cmp::Reverse(line.n_errors)),
            Sort::Longest => order.sort_by_key(|(_, line)| std::cmp::Reverse(line.lasted_ns)),
            Sort::Largest => order.sort_by_key(|(_, line)| std::cmp::Reverse(line.n_bytes)),
        }
        order.sort_by_key(|(_, line)| line.end != EndKind::Live);
        self.order = order.into_iter().map(|(index, _)| index).collect();
        self.cursor = 0;
        if let Some(key) = key {
            self.go_to(key);
        }
    }

    pub(crate) fn failed(&mut self, ticket: Ticket) {
        self.ticket = self.ticket.filter(|asked| *asked != ticket);
        self.judging = self.judging.filter(|asked| *asked != ticket);
        self.changing = self.changing.filter(|asked| *asked != ticket);
        if let Some((.., asked)) = &mut self.summary_asked {
            *asked = asked.filter(|asked| *asked != ticket);
        }
    }

    pub(crate) fn take_judged(&mut self, ticket: Ticket, key: SessionKey, n_findings: Option<[u64; 3]>, is_last: bool) {
        if let Some(n_findings) = n_findings {
            self.findings.insert(key, n_findings);
        }
        if is_last {
            self.judging = self.judging.filter(|asked| *asked != ticket);
        }
    }

    pub(crate) fn take_summary(&mut self, ticket: Ticket, about: SessionSummary) {
        if let Some((.., asked)) = &mut self.summary_asked
            && *asked == Some(ticket)
        {
            *asked = None;
            self.summary = Some(about);
        }
    }
}

impl Inspector {
    /// Asks for what is to be seen beside the list of sessions and is not there.
    pub(crate) fn fetch_sessions(&mut self, effects: &mut Vec<Effect>) {
        if self.view != View::Sessions || !self.sessions.loaded {
            return;
        }
        if self.sessions.judging.is_none() {
            let wanted = |line: &&SessionLine| {
                line.end != EndKind::Live
                    && (1..=JUDGED_MESSAGES).contains(&line.n_messages)
                    && !self.sessions.judged.contains(&line.key)
                    && !self.sessions.findings.contains_key(&line.key)
            };
            let top = self.sessions.top;
            let keys: Vec<SessionKey> =
                self.sessions.shown_from(top).take(2 * JUDGED_AT_ONCE).filter(wanted).map(|line| line.key).collect();
            let keys: Vec<SessionKey> = keys.into_iter().take(JUDGED_AT_ONCE).collect();
            if !keys.is_empty() {
                let ticket = self.ticket();
                self.sessions.judged.extend(&keys);
                self.sessions.judging = Some(ticket);
                effects.push(Effect::Ask(ticket, Query::Judge(keys)));
            }
        }
        let chosen = self.sessions.chosen().map(|line| (line.key, line.n_messages));
        let asked = self.sessions.summary_asked.map(|(key, n, _)| (key, n));
        if self.size.0 >= crate::view::PANEL_FROM
            && let Some((key, n_messages)) = chosen
            && asked != chosen
        {
            let ticket = self.ticket();
            let old = self.sessions.summary_asked.replace((key, n_messages, Some(ticket)));
            effects.extend(old.and_then(|(.., ticket)| ticket).map(Effect::Cancel));
            effects.push(Effect::Ask(ticket, Query::Summary(key)));
        }
    }
}
