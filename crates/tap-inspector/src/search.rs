//! What was found in all sessions.

use crate::effect::{Effect, Ticket};
use crate::keymap::Action;
use crate::model::Inspector;

/// What is shown of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hits {}

/// What is known of it, and where the cursor is.
#[derive(Debug, Default)]
pub(crate) struct Search {
    /// What was found is gone through.
    pub(crate) walks: bool,
}

impl Search {
    /// Moves the cursor.
    pub(crate) fn move_by(&mut self, _rows: isize) {}
}

impl Inspector {
    /// Does what a key asks for in this view.
    pub(crate) fn act_in_search(&mut self, _action: Action, _effects: &mut Vec<Effect>) {}

    pub(crate) fn walk_hits(&mut self, _forward: bool, _effects: &mut Vec<Effect>) {}

    /// Takes an answer, if it is to the question that was asked last.
    pub(crate) fn take_hits(&mut self, _ticket: Ticket, _answer: Hits) {}
}
