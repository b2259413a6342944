//! Two sessions beside each other: call by call, tool by tool.

use crate::data::SessionKey;
use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::Inspector;

/// What is shown of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {}

/// What is known of it, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Compare {
    /// The question that is open.
    asked: Option<Ticket>,
}

impl Compare {
    /// Moves the cursor.
    pub(crate) fn move_by(&mut self, _rows: isize) {}
}

impl Inspector {
    /// Begins to compare two sessions: what was marked with what is under the cursor.
    pub(crate) fn begin_compare(&mut self, one: SessionKey, other: SessionKey, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        effects.extend(self.compare.asked.replace(ticket).map(Effect::Cancel));
        effects.push(Effect::Ask(ticket, Query::Compare(one, other)));
    }

    /// Does what a key asks for in this view.
    pub(crate) fn act_in_compare(&mut self, _action: Action, _effects: &mut Vec<Effect>) {}

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_compare(&mut self, _effects: &mut Vec<Effect>) {}

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_compared(&mut self, _ticket: Ticket, _answer: Compared) {}
}
