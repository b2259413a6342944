//! What came while a call was running, under its row in a list of calls: folded away, or not.

use tap_session::{At, RowKind};

use crate::data::Row;
use crate::effect::{Effect, Query, RowsAnswer, RowsPart, RowsQuery, Ticket};
use crate::model::Inspector;
use crate::open::{Asked, Open};

/// How many messages behind a request are looked at for what came while it ran.
const LOOKED_AT: usize = 500;

impl Open {
    /// The call that the cursor is on or under, if it is a list of calls.
    fn call_here(&self) -> Option<At> {
        let row = self.rows.current().filter(|_| self.calls)?;
        let is_call = matches!(row.row.kind, RowKind::Request | RowKind::Exchange);
        self.rows.call_over(row.at()).or(Some(row.at()).filter(|_| is_call))
    }
}

impl Inspector {
    /// Unfolds the call under the cursor. False when there is nothing to unfold.
    pub(crate) fn unfold(&mut self, effects: &mut Vec<Effect>) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        let Some(call) = open.call_here().filter(|call| !open.rows.is_unfolded(*call)) else {
            return false;
        };
        let answer = open.rows.current().and_then(|row| row.row.pair);
        // Its answer came next, or nothing came after it.
        let end = answer.map_or(open.last_seq.saturating_add(1), |answer| answer.seq);
        if end <= call.seq + 1 {
            return false;
        }
        self.ask_between(call, effects);
        true
    }

    /// Folds the call under the cursor. False when it is folded.
    pub(crate) fn fold(&mut self) -> bool {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return false;
        };
        let Some(call) = open.call_here().filter(|call| open.rows.is_unfolded(*call)) else {
            return false;
        };
        open.rows.fold(call, height);
        true
    }

    /// Asks once more for what came under a call that is unfolded and goes on.
    pub(crate) fn unfold_again(&mut self, effects: &mut Vec<Effect>) {
        let waiting = self.open.as_ref().filter(|open| open.unfolding.is_none());
        if let Some(call) = waiting.and_then(|open| open.rows.unfolded_and_waiting()) {
            self.ask_between(call, effects);
        }
    }

    fn ask_between(&mut self, call: At, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        let old = open.unfolding.replace(Asked { of: call, ticket: Some(ticket) });
        effects.extend(old.and_then(|old| old.ticket).map(Effect::Cancel));
        let (session, part) = (open.session.key, RowsPart::After(call));
        let query = RowsQuery { session, calls: false, filter: None, part, limit: LOOKED_AT };
        effects.push(Effect::Ask(ticket, Query::Rows(query)));
    }

    /// Takes what came after a call, if that was asked for.
    pub(crate) fn take_between(&mut self, ticket: Ticket, answer: &RowsAnswer) {
        let height = self.list_height();
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(call) = open.unfolding.filter(|asked| asked.ticket == Some(ticket)).map(|asked| asked.of) else {
            return;
        };
        open.unfolding = open.unfolding.filter(|_| !answer.complete);
        // The list may be another one by now.
        let row = open.rows.rows().iter().find(|row| row.at() == call).filter(|_| open.calls);
        let Some(end) = row.map(|row| row.row.pair) else {
            return;
        };
        let is_of_another = |at: At| open.sequence.links_of(at).iter().any(|link| link.to != call);
        let is_between = |row: &&Row| {
            let is_shown = matches!(row.row.kind, RowKind::Notification | RowKind::Stderr | RowKind::Body);
            is_shown && end.is_none_or(|end| row.at() < end) && !is_of_another(row.at())
        };
        let rows: Vec<Row> = answer.rows.iter().filter(is_between).cloned().collect();
        let is_first = !open.rows.is_unfolded(call);
        let nothing = rows.is_empty() && is_first && answer.complete;
        if !rows.is_empty() {
            open.rows.unfold(call, rows, height);
        }
        if nothing {
            self.say("nothing of its own came while it ran; enter opens it", false);
        }
    }
}
