//! Who said what to whom: what is remembered of that view besides the rows, which are those of the timeline.
//!
//! `axis.rs` makes columns of moments, `bars.rs` bars of calls. Both are worked out of the rows at hand, at most some thousands,
//! each time the view is drawn.

pub(crate) mod axis;
pub(crate) mod bars;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use tap_session::{At, Link, LinkKind, RowKind};

use crate::data::Row;
use crate::effect::{Answer, Effect, Query, RowsPart, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Pane, View};
use crate::open::{Asked, Open, Point};

use axis::{Axis, Range, Scale};
use bars::{Bar, bars, moment};

/// How many calls that began above the screen have a line of their own over it.
const CARRIED: usize = 3;

/// From this height of the screen on there are lines at the bottom that tell what time was spent on.
const FOOT_FROM: u16 = 16;

/// How often it is asked anew which calls began before the rows at hand while these move on with a live session, nanoseconds.
const BEGUN_AGAIN_NS: u64 = 500_000_000;

/// How the view stands.
#[derive(Debug, Default)]
pub(crate) struct Sequence {
    pub(crate) scale: Scale,
    /// The part of time that was chosen; otherwise it is that of what is on the screen.
    pub(crate) zoom: Option<Zoom>,
    /// The timeline's way to show rows, while this view has them by the frame.
    borrowed: Option<bool>,
    /// Which messages among the rows at hand belong to which.
    pub(crate) links: Vec<Link>,
    links_asked: Option<Asked<(At, At, bool)>>,
    /// Requests that were begun before the rows at hand and not answered before them.
    pub(crate) begun: Vec<Row>,
    begun_asked: Option<Asked<At>>,
    /// When they were asked for last, nanoseconds since the Unix epoch.
    begun_asked_unix_ns: u64,
}

/// A part of time that was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Zoom {
    pub(crate) range: Range,
    /// The message whose time is the axis' zero, and that time.
    pub(crate) origin: At,
    pub(crate) origin_ns: i64,
}

impl Sequence {
    /// What a message is linked with.
    pub(crate) fn links_of(&self, at: At) -> &[Link] {
        let from = self.links.partition_point(|link| link.from < at);
        let to = self.links.partition_point(|link| link.from <= at);
        self.links.get(from..to).unwrap_or_default()
    }

    /// The questions that are open.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        let links = self.links_asked.and_then(|asked| asked.ticket);
        links.into_iter().chain(self.begun_asked.and_then(|asked| asked.ticket))
    }

    /// A question could not be answered: it is not asked again.
    pub(crate) fn failed(&mut self, ticket: Ticket) {
        if let Some(asked) = self.links_asked.as_mut().filter(|asked| asked.ticket == Some(ticket)) {
            asked.ticket = None;
        }
        if let Some(asked) = self.begun_asked.as_mut().filter(|asked| asked.ticket == Some(ticket)) {
            asked.ticket = None;
        }
    }

    /// Takes an answer, if it is to a question that still stands.
    pub(crate) fn take(&mut self, ticket: Ticket, answer: Answer) {
        match answer {
            Answer::Links(links) if self.links_asked.is_some_and(|asked| asked.ticket == Some(ticket)) => {
                self.links = links;
                self.links.sort_by_key(|link| link.from);
                self.failed(ticket);
            }
            Answer::Begun(rows) if self.begun_asked.is_some_and(|asked| asked.ticket == Some(ticket)) => {
                self.begun = rows;
                self.failed(ticket);
            }
            _ => {}
        }
    }

    /// The session has grown: calls that were begun before the rows at hand may have got their answers.
    pub(crate) fn grown(&mut self) {
        if self.begun.iter().any(|row| !row.settled) {
            self.begun_asked = self.begun_asked.filter(|asked| asked.ticket.is_some());
        }
    }
}

/// What is on the screen of this view, and on which lines.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    /// The rows on it.
    pub(crate) rows: &'a [Row],
    /// The index of the first of them.
    pub(crate) first: usize,
    /// All calls that have to do with them.
    pub(crate) bars: Vec<Bar<'a>>,
    /// Those of them that began above the screen and were running at its first row.
    pub(crate) carried: Vec<At>,
    /// Lines that tell of these, above the rows.
    pub(crate) n_carried: usize,
}

impl Open {
    /// What is on a screen with room for so many rows. Lines for calls that began above it take some of that room, and the
    /// cursor stays on it all the same.
    pub(crate) fn sequence_screen(&self, height: usize) -> Screen<'_> {
        let all = self.rows.rows();
        let begun = if self.filter.is_none() { &*self.sequence.begun } else { &[] };
        let bars = bars(all.iter().chain(begun), &self.sequence.links);
        let top = self.rows.visible(height).next().map_or(0, |(index, _)| index);
        let mut n_carried = 0;
        loop {
            let room = height.saturating_sub(n_carried).max(1);
            let first = top.max((self.rows.cursor() + 1).saturating_sub(room));
            let rows = all.get(first..).unwrap_or_default();
            let rows = rows.get(..room).unwrap_or(rows);
            let carried: Vec<At> = match rows.first().map(Row::at) {
                Some(at) => {
                    let is_carried = |bar: &&Bar<'_>| {
                        let ends_here = bar.end.is_some_and(|(end, _)| end == at);
                        bar.at() < at && (bar.runs_at(at) || ends_here) && !bar.is_subscription()
                    };
                    bars.iter().filter(is_carried).filter(|bar| bar.first_round.is_none()).map(Bar::at).collect()
                }
                None => Vec::new(),
            };
            // Where there is hardly room for messages there is none for these.
            let wanted = carried.len().min(CARRIED).min(height / 4);
            if wanted <= n_carried {
                // Where rows gave way to a line that is not needed any more, they get it back.
                let n_carried = wanted;
                let rows = all.get(first..).unwrap_or_default();
                let rows = rows.get(..height.saturating_sub(n_carried).max(1)).unwrap_or(rows);
                return Screen { rows, first, bars, carried, n_carried };
            }
            n_carried += 1;
        }
    }

    /// The axis of what is on the screen.
    pub(crate) fn sequence_axis<'a>(&self, rows: &'a [Row], bars: &[Bar<'_>], columns: usize) -> Axis<'a> {
        let scale = self.sequence.scale;
        if scale == Scale::Logarithmic {
            // As long as the longest call that has to do with what is on the screen; each line of it has its own zero.
            let (first, last) = (rows.first().map(Row::at), rows.last().map(Row::at));
            let is_here = |bar: &&Bar<'_>| {
                Some(bar.at()) <= last && bar.end.is_none_or(|(end, _)| first <= Some(end)) && !bar.is_subscription()
            };
            let to_ns = rows.last().map_or(0, moment);
            let took = |bar: &Bar<'_>| bar.end.map_or(to_ns, |(_, end_ns)| end_ns).saturating_sub(bar.from_ns);
            let longest_ns = bars.iter().filter(is_here).map(took).max().unwrap_or(0);
            return Axis { scale, range: Range::new(0, longest_ns), origin_ns: 0, rows, columns };
        }
        match self.sequence.zoom {
            Some(Zoom { range, origin_ns, .. }) => Axis { scale, range, origin_ns, rows, columns },
            None => {
                let (from_ns, to_ns) = (rows.first().map_or(0, moment), rows.last().map_or(0, moment));
                Axis { scale, range: Range::new(from_ns, to_ns), origin_ns: from_ns, rows, columns }
            }
        }
    }
}

impl Inspector {
    /// Lines at the bottom of the view, besides the one that tells about the message with the cursor.
    pub(crate) fn sequence_foot(&self) -> usize {
        if self.size.1 >= FOOT_FROM { 2 } else { 0 }
    }

    /// Does what a key asks for in this view. False when it means the same here as elsewhere.
    pub(crate) fn act_in_sequence(&mut self, action: Action, effects: &mut Vec<Effect>) -> bool {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return false;
        };
        if open.pane == Pane::Detail {
            if let (Action::Open | Action::Left | Action::Right, Some(detail)) = (action, &mut open.detail)
                && !detail.fold(action)
            {
                open.pane = Pane::List;
            }
            return matches!(action, Action::Open | Action::Left | Action::Right | Action::CallsOrFrames);
        }
        match action {
            Action::First | Action::Last => {
                self.go_to_either_end(action == Action::Last, effects);
            }
            Action::Open => open.pane = Pane::Detail,
            Action::NextPane => {}
            Action::CallsOrFrames => self.say("here there is always a row a message", false),
            Action::Scale => {
                open.sequence.scale = open.sequence.scale.next();
                let name = open.sequence.scale.name();
                self.say(name, false);
            }
            Action::Left | Action::Right | Action::ZoomIn | Action::ZoomOut if open.sequence.scale != Scale::Linear => {
                let text = match open.sequence.scale {
                    Scale::Logarithmic => "each call begins at its request, and all are seen; l changes the axis",
                    _ => "by order there is nothing to zoom; l changes the axis",
                };
                self.say(text, false);
            }
            Action::Left | Action::Right | Action::ZoomIn | Action::ZoomOut => {
                let screen = open.sequence_screen(height);
                let axis = open.sequence_axis(screen.rows, &screen.bars, 1);
                let origin = screen.rows.first().map_or(At { seq: 0, member: 0 }, Row::at);
                let old = open.sequence.zoom.unwrap_or(Zoom { range: axis.range, origin, origin_ns: axis.origin_ns });
                let cursor_ns = open.rows.current().map_or(old.range.from_ns, moment);
                let range = match action {
                    Action::Left => old.range.panned(-1),
                    Action::Right => old.range.panned(1),
                    _ => old.range.zoomed(cursor_ns, action == Action::ZoomIn),
                };
                open.sequence.zoom = Some(Zoom { range, ..old });
            }
            Action::ZoomTo => {
                let zoom = match open.sequence.zoom {
                    Some(_) => None,
                    None => open.zoom_to_call(height),
                };
                let found = zoom.is_some() || open.sequence.zoom.is_some();
                open.sequence.zoom = zoom;
                match (found, zoom) {
                    (false, _) => self.say("no call was running here", false),
                    (true, Some(_)) => {}
                    (true, None) => self.say("the time of what is on the screen", false),
                }
            }
            _ => return false,
        }
        true
    }

    /// A press on a line of this view: the cursor goes there, as far as there is a message.
    pub(crate) fn press_in_sequence(&mut self, row: usize) {
        let height = self.list_height();
        let Some(open) = self.open.as_mut().filter(|open| open.pane == Pane::List) else {
            return;
        };
        let screen = open.sequence_screen(height);
        let at = row.checked_sub(screen.n_carried).and_then(|row| screen.rows.get(row)).map(Row::at);
        if let Some(at) = at {
            open.rows.follow = false;
            open.point = None;
            open.rows.go_to(at, height);
        }
    }

    /// Keeps the cursor's message on an axis that was chosen.
    pub(crate) fn keep_in_time(&mut self, before: Option<At>) {
        if let Some(open) = &mut self.open
            && let Some(row) = open.rows.current()
            && before != Some(row.at())
            && let Some(zoom) = &mut open.sequence.zoom
        {
            zoom.range = zoom.range.holding(moment(row));
        }
    }

    /// Has the rows by the frame while this view is looked at, and gives them back to the timeline as they were.
    fn lend_rows(&mut self, effects: &mut Vec<Effect>) {
        let view = self.view;
        let Some(open) = &mut self.open else {
            return;
        };
        let calls = match (view, open.sequence.borrowed) {
            (View::Sequence, None) => {
                open.sequence.borrowed = Some(open.calls);
                open.pane = Pane::List;
                false
            }
            (View::Timeline, Some(calls)) => {
                open.sequence.borrowed = None;
                calls
            }
            _ => return,
        };
        if calls == open.calls {
            return;
        }
        // What is looked at stays that, also where it has no row of its own.
        let at = open.at();
        open.calls = calls;
        if let Some(at) = at {
            open.rows.want(at);
            open.point = Some(Point { at, row: None });
        }
        let part = match (open.rows.follow, at) {
            (true, _) => RowsPart::Last,
            (false, Some(at)) => RowsPart::Around(at.seq),
            (false, None) => RowsPart::From(1),
        };
        self.list_anew(part, effects);
    }

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_sequence(&mut self, effects: &mut Vec<Effect>) {
        self.lend_rows(effects);
        let (links, begun) = (self.ticket(), self.ticket());
        let (view, now) = (self.view, self.now_unix_ns);
        let Some(open) = self.open.as_mut().filter(|_| matches!(view, View::Sequence | View::Timeline)) else {
            return;
        };
        let (Some(first), Some(last)) = (open.rows.rows().first(), open.rows.rows().last()) else {
            return;
        };
        let (key, live) = (open.session.key, open.live);
        let end = last.row.pair.map_or(last.at(), |pair| pair.max(last.at()));
        let of = (first.at(), end, open.findings.complete || open.findings.seq >= end.seq);
        let (first, begins) = (first.at(), open.rows.begins());
        let sequence = &mut open.sequence;
        // One question at a time, however fast rows come.
        let is_free = sequence.links_asked.is_none_or(|asked| asked.ticket.is_none() && asked.of != of);
        if is_free {
            sequence.links_asked = Some(Asked { of, ticket: Some(links) });
            effects.push(Effect::Ask(links, Query::Links(key, of.0, of.1)));
        }
        let is_due = !live || sequence.begun_asked_unix_ns.saturating_add(BEGUN_AGAIN_NS) <= now;
        let is_free = sequence.begun_asked.is_none_or(|asked| asked.ticket.is_none() && asked.of != first && is_due);
        if view == View::Sequence && begins && is_free {
            sequence.begun.clear();
            sequence.begun_asked = Some(Asked { of: first, ticket: None });
        } else if view == View::Sequence && is_free {
            sequence.begun_asked = Some(Asked { of: first, ticket: Some(begun) });
            sequence.begun_asked_unix_ns = now;
            effects.push(Effect::Ask(begun, Query::Begun(key, first)));
        }
    }
}

/// Whether a message belongs to a call by what it is linked with.
fn is_of_call(link: &Link) -> bool {
    !matches!(link.kind, LinkKind::ListedAgain | LinkKind::Redelivered)
}

/// How many messages that belong to a call are named in a filter for it.
const NAMED: usize = 50;

impl Open {
    /// A filter for the call that the cursor's message belongs to: all its rounds, and what belongs to them as far as that is
    /// among the rows at hand.
    pub(crate) fn call_filter(&self) -> Option<String> {
        let row = self.rows.current()?;
        let links = &self.sequence.links;
        let to = |at: At| self.sequence.links_of(at).iter().find(|link| is_of_call(link)).map(|link| link.to);
        let own = match row.row.kind {
            RowKind::Request => row.at(),
            _ => row.row.pair.or_else(|| to(row.at()))?,
        };
        let first = to(own).unwrap_or(own);
        let mut calls = BTreeSet::from([first.seq]);
        let rounds = links.iter().filter(|link| link.kind == LinkKind::Round && link.to == first);
        calls.extend(rounds.map(|link| link.from.seq));
        let others = links.iter().filter(|link| is_of_call(link) && calls.contains(&link.to.seq));
        let others = others.map(|link| link.from.seq).filter(|seq| !calls.contains(seq)).take(NAMED);
        let listed = |numbers: Vec<u64>| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
        let others = listed(others.collect());
        let calls = listed(calls.iter().copied().collect());
        Some(if others.is_empty() { format!("call:{calls}") } else { format!("call:{calls} or n:{others}") })
    }

    /// The time of the call that the cursor's message belongs to.
    fn zoom_to_call(&self, height: usize) -> Option<Zoom> {
        let row = self.rows.current()?;
        let screen = self.sequence_screen(height);
        let link = self.sequence.links_of(row.at()).first().map(|link| link.to);
        let own = [Some(row.at()), row.row.pair].into_iter().flatten();
        let known = own.chain(link).find_map(|at| screen.bars.iter().find(|bar| bar.at() == at));
        let bar = known.or_else(|| bars::running(&screen.bars, row.at()).last())?;
        let bar = bar.first_round.and_then(|first| screen.bars.iter().find(|bar| bar.at() == first)).unwrap_or(bar);
        let newest_ns = screen.rows.last().map_or(bar.from_ns, moment);
        let to_ns = bar.end.map_or(newest_ns, |(_, end_ns)| end_ns);
        Some(Zoom { range: Range::new(bar.from_ns, to_ns), origin: bar.at(), origin_ns: bar.from_ns })
    }
}
