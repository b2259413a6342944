//! Two sessions beside each other: call by call, tool by tool.

use crate::effect::{Effect, Ticket};
use crate::keymap::Action;
use crate::model::Inspector;

/// What is shown of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Compared {}

/// What is known of it, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Compare {}

impl Compare {
    /// Moves the cursor.
    pub(crate) fn move_by(&mut self, _rows: isize) {}
}

impl Inspector {
    /// Does what a key asks for in this view.
    pub(crate) fn act_in_compare(&mut self, _action: Action, _effects: &mut Vec<Effect>) {}

    /// Asks for what is to be shown and is not there.
    pub(crate) fn fetch_compare(&mut self, _effects: &mut Vec<Effect>) {}

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_compared(&mut self, _ticket: Ticket, _answer: Compared) {}
}
