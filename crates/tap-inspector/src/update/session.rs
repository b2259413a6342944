//! What happens in a session that is open.

use std::collections::BTreeMap;
use std::sync::Arc;

use tap_session::At;

use crate::data::{EndKind, Row, SessionLine};
use crate::effect::{Answer, Effect, Growth, Query, RowsPart, RowsQuery, Ticket};
use crate::findings::Findings;
use crate::keymap::Action;
use crate::list::{PAGE, Rows};
use crate::model::{Detail, Inspector, Pane, View};
use crate::open::{Asked, Open, Postponed};
use crate::overview::Overseen;
use crate::sequence::Sequence;
use crate::state::Stated;
use crate::stats::Stats;
use crate::tools::Tools;

use super::navigate::{nearer, none};

/// How many messages before the end are looked at again in a live list with a filter: calls among them may have got their
/// answers.
const LOOK_BACK: u64 = 1_000;

impl Inspector {
    pub(super) fn open_chosen(&mut self, effects: &mut Vec<Effect>) {
        if let Some(line) = self.sessions.chosen().cloned() {
            self.open_session_line(line, effects);
        }
    }

    /// Opens a session at its end if it is live, at its beginning otherwise.
    pub fn open_session_line(&mut self, session: SessionLine, effects: &mut Vec<Effect>) {
        self.view = View::Timeline;
        if self.open.as_ref().is_some_and(|open| open.session.key == session.key) {
            return;
        }
        if let Some(old) = self.open.take() {
            effects.extend(old.tickets().map(Effect::Cancel));
        }
        let live = session.end == EndKind::Live;
        let findings = Findings { ticket: Some(self.ticket()), ..Findings::default() };
        let key = session.key;
        let watch = self.ticket();
        let marking = self.ticket();
        effects.push(Effect::Ask(watch, Query::Watch(key)));
        effects.push(Effect::Ask(marking, Query::Marks(key)));
        effects.extend(findings.ticket.map(|ticket| Effect::Ask(ticket, Query::Findings(key))));
        self.open = Some(Open {
            session,
            calls: self.calls,
            rows: Rows::new(live),
            filter: None,
            last_seq: 0,
            live,
            complete: false,
            pane: Pane::List,
            zoomed: false,
            detail: None,
            detail_asked: None,
            postponed: Postponed::default(),
            opens_strings: true,
            state: Stated::default(),
            point: None,
            moment: None,
            findings,
            overseen: Overseen::default(),
            sequence: Sequence::default(),
            stats: Stats::default(),
            tools: Tools::default(),
            jumps: Vec::new(),
            jumps_back: 0,
            marks: BTreeMap::new(),
            marking: Some(marking),
            seeking: None,
            unfolding: None,
            again: None,
            watch,
        });
        self.list_anew(if live { RowsPart::Last } else { RowsPart::From(1) }, effects);
    }

    /// Asks for the list from some place, forgetting what is there.
    pub(crate) fn list_anew(&mut self, part: RowsPart, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        effects.extend(open.rows.reset(ticket, part).map(Effect::Cancel));
        effects.push(Effect::Ask(ticket, Query::Rows(rows_query(open, part))));
    }

    /// Asks for what is near, and for the message and the state that are looked at.
    pub(super) fn fetch(&mut self, effects: &mut Vec<Effect>) {
        let next = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        if let Some(part) = open.rows.need() {
            open.rows.asked(next, part);
            effects.push(Effect::Ask(next, Query::Rows(rows_query(open, part))));
        }
        let Some(at) = open.at() else {
            return;
        };
        let key = open.session.key;
        let wide = self.size.0 >= crate::view::TWO_PANES;
        let shown = open.detail.as_ref().filter(|detail| !detail.stale).map(|detail| detail.parts.this.row.at());
        if open.postponed.of != Some(at) {
            open.postponed = Postponed::default();
        }
        let reads = open.pane == Pane::Detail && matches!(self.view, View::Timeline | View::Sequence);
        let is_looked_at = reads || self.view == View::Timeline && wide;
        let wants_detail = (is_looked_at || open.postponed.of.is_some()) && shown != Some(at);
        if wants_detail && open.detail_asked.is_none_or(|asked| asked.of != at) {
            let ticket = self.ticket();
            if let Some(open) = &mut self.open {
                let old = open.detail_asked.replace(Asked { of: at, ticket: Some(ticket) });
                effects.extend(old.and_then(|old| old.ticket).map(Effect::Cancel));
            }
            effects.push(Effect::Ask(ticket, Query::Message(key, at)));
        }
        if self.view == View::State {
            let ticket = self.ticket();
            if let Some(open) = &mut self.open {
                open.state.ask(key, at.seq, ticket, effects);
            }
        }
    }

    /// A question could not be answered.
    pub(super) fn session_failed(&mut self, ticket: Ticket) {
        let Some(open) = &mut self.open else {
            return;
        };
        open.rows.failed(ticket);
        open.sequence.failed(ticket);
        open.overseen.failed(ticket);
        open.unfolding = open.unfolding.filter(|asked| asked.ticket != Some(ticket));
        open.stats.failed(ticket);
        open.tools.failed(ticket);
        open.seeking = open.seeking.take().filter(|seeking| seeking.ticket != ticket);
        open.marking = open.marking.filter(|marking| *marking != ticket);
        open.moment = open.moment.filter(|moment| *moment != ticket);
        open.state.failed(ticket);
        open.again = open.again.filter(|again| *again != ticket);
        if let Some(asked) = open.detail_asked.as_mut().filter(|asked| asked.ticket == Some(ticket)) {
            asked.ticket = None;
            open.postponed = Postponed::default();
        }
    }

    pub(super) fn session_answer(&mut self, ticket: Ticket, answer: Answer, effects: &mut Vec<Effect>) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        match answer {
            Answer::Rows(answer) => {
                open.last_seq = open.last_seq.max(answer.last_seq);
                if open.again == Some(ticket) {
                    open.again = open.again.filter(|_| !answer.complete);
                    self.take_again(answer.rows);
                    return;
                }
                if let Some(seeking) = open.seeking.clone().filter(|seeking| seeking.ticket == ticket) {
                    let found = if seeking.forward { answer.rows.first() } else { answer.rows.last() };
                    match found.map(Row::at) {
                        Some(at) => {
                            open.seeking = None;
                            self.jump(nearer(at, seeking.broken, seeking.forward), effects);
                        }
                        None if answer.complete => {
                            open.seeking = None;
                            match seeking.broken {
                                Some(at) => self.jump(at, effects),
                                None => self.say(none(&seeking.what, seeking.forward), false),
                            }
                        }
                        None => {}
                    }
                    return;
                }
                if open.unfolding.is_some_and(|asked| asked.ticket == Some(ticket)) {
                    self.take_between(ticket, &answer);
                    return;
                }
                open.rows.take(ticket, answer, height);
            }
            Answer::Again(rows) if open.again == Some(ticket) => {
                open.again = None;
                self.take_again(rows);
            }
            Answer::Message(parts) if open.detail_asked.is_some_and(|asked| asked.ticket == Some(ticket)) => {
                open.detail_asked = None;
                let opens_strings = open.opens_strings;
                let before = open.detail.take();
                // What is known of the same message stays wanted; of another one it does not.
                effects.extend(before.iter().flat_map(Detail::tickets).map(Effect::Cancel));
                open.detail = Some(Detail::new(*parts, before, opens_strings));
                self.mark_detail();
                self.show_hit();
                self.do_postponed(effects);
            }
            Answer::State(facts) => open.state.take(ticket, *facts),
            Answer::Marks(marks, what) if open.marking == Some(ticket) => {
                open.marking = None;
                open.marks = marks.into_iter().map(|mark| (mark.at, mark)).collect();
                if !what.is_empty() {
                    self.say(what, false);
                }
            }
            Answer::At(at) if open.moment == Some(ticket) => {
                open.moment = None;
                match at {
                    Some(at) => self.jump(at, effects),
                    None => self.say("the session was over by then", false),
                }
            }
            Answer::Findings(found, seq, complete) if open.findings.ticket == Some(ticket) => {
                open.findings.seq = seq;
                open.findings.complete = complete;
                let shown = open.detail.as_ref().map(|it| [Some(it.parts.this.row.at()), it.parts.this.row.row.pair]);
                let is_shown = |at: At| shown.is_some_and(|shown| shown.contains(&Some(at)));
                let marks = found.iter().any(|finding| is_shown(finding.at));
                let asks_findings = open.filter.as_ref().is_some_and(|filter| filter.asks_findings());
                if asks_findings && let Some(first) = found.iter().map(|finding| finding.at.seq).min() {
                    let first = open.findings.unlisted.map_or(first, |known| known.min(first));
                    open.findings.unlisted = Some(first);
                }
                open.findings.put(found);
                if complete {
                    self.sessions.findings.insert(open.session.key, open.findings.n_by_severity);
                }
                if marks {
                    self.mark_detail();
                }
                // What a list with a filter knew when it was asked for may be less: a rule can be broken by a message long
                // after it came, or when the session ends.
                if complete && let Some(first) = self.open.as_mut().and_then(|open| open.findings.unlisted.take()) {
                    self.ask_again(Some(first), effects);
                }
            }
            Answer::Grown(Growth { session, last_seq, live, complete }) if session == open.session.key => {
                let (grew, ended) = (open.last_seq < last_seq, open.live && !live);
                let completed = complete && !open.complete;
                open.last_seq = open.last_seq.max(last_seq);
                (open.live, open.complete) = (live, open.complete || complete);
                open.sequence.grown();
                if completed && open.rows.ends_elsewhere(last_seq) {
                    open.rows.to_end = false;
                    self.list_anew(RowsPart::Last, effects);
                } else if grew && let Some(part) = open.rows.grown() {
                    let ticket = self.ticket();
                    if let Some(open) = &mut self.open {
                        open.rows.asked(ticket, part);
                        effects.push(Effect::Ask(ticket, Query::Rows(rows_query(open, part))));
                    }
                }
                if (grew || ended)
                    && let Some(detail) = self.open.as_mut().and_then(|open| open.detail.as_mut())
                    && !detail.parts.this.row.settled
                {
                    // More may belong to its call.
                    detail.abouts.iter_mut().for_each(|slot| slot.asked = slot.ticket.is_some());
                }
                if grew || ended {
                    self.unfold_again(effects);
                    self.ask_again(None, effects);
                }
                if ended {
                    // How it ended is told in the list of sessions.
                    self.ask_sessions(effects);
                }
            }
            Answer::Overview(overview) => open.overseen.take(ticket, *overview),
            Answer::Links(_) | Answer::Begun(_) => open.sequence.take(ticket, answer),
            Answer::Sessions(..)
            | Answer::Again(_)
            | Answer::Message(_)
            | Answer::About(_)
            | Answer::At(_)
            | Answer::Findings(..)
            | Answer::Grown(..)
            | Answer::Stats(_)
            | Answer::Tools(_)
            | Answer::Compared(_)
            | Answer::Differences(_)
            | Answer::Report(_)
            | Answer::Summary(_)
            | Answer::Marks(..)
            | Answer::Judged(..)
            | Answer::Changed(_)
            | Answer::Hits(_)
            | Answer::Picture(_) => {}
        }
    }

    /// Asks for the rows of calls that were waiting. With a filter they may not have been rows at all; then all from `first`
    /// on, if that is before those.
    fn ask_again(&mut self, first: Option<u64>, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        let query = match open.filter {
            Some(_) => {
                let back = open.rows.through.saturating_sub(LOOK_BACK);
                let from = RowsPart::From(first.map_or(back, |first| first.min(back)).max(1));
                let limit = usize::try_from(2 * LOOK_BACK).unwrap_or(usize::MAX);
                Query::Rows(RowsQuery { limit, ..rows_query(open, from) })
            }
            None => {
                let waiting = open.rows.waiting();
                if waiting.is_empty() {
                    return;
                }
                Query::Again(open.session.key, waiting)
            }
        };
        effects.extend(open.again.replace(ticket).map(Effect::Cancel));
        effects.push(Effect::Ask(ticket, query));
    }

    fn take_again(&mut self, rows: Vec<Row>) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        if let Some(detail) = &mut open.detail {
            let shown = &detail.parts.this.row;
            detail.stale |= rows.iter().any(|row| row.at() == shown.at() && row != shown);
        }
        open.rows.refresh(rows, height);
    }

    pub(super) fn look_at(&mut self, action: Action, effects: &mut Vec<Effect>) {
        if self.open.is_none() {
            self.open_chosen(effects);
        }
        if self.open.is_some() {
            self.view = match action {
                Action::ViewSequence => View::Sequence,
                Action::ViewState => View::State,
                Action::ViewStats => View::Stats,
                Action::ViewTools => View::Tools,
                Action::ViewFindings => View::Findings,
                _ => View::Timeline,
            };
        }
    }

    /// Shows only what fits.
    pub(crate) fn set_filter(&mut self, text: &str, effects: &mut Vec<Effect>) {
        let filter = match self.read_filter(text) {
            Ok(filter) => (!text.trim().is_empty()).then(|| Arc::new(filter)),
            Err(error) => return self.say(error.problem, true),
        };
        let Some(open) = &mut self.open else {
            return;
        };
        open.filter = filter;
        let at = open.at();
        match at {
            Some(at) => {
                open.rows.want(at);
                // A search begins at the cursor and streams, so that its first hits are there at once; what is before
                // the cursor comes after.
                let part = match (open.rows.follow, &open.filter) {
                    (true, _) => RowsPart::Last,
                    (false, Some(_)) => RowsPart::From(at.seq),
                    (false, None) => RowsPart::Around(at.seq),
                };
                self.list_anew(part, effects);
            }
            None => {
                open.rows.to_end = false;
                self.list_anew(RowsPart::From(1), effects);
            }
        }
    }
}

pub(super) fn rows_query(open: &Open, part: RowsPart) -> RowsQuery {
    RowsQuery { session: open.session.key, calls: open.calls, filter: open.filter.clone(), part, limit: PAGE }
}
