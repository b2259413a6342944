//! What is asked of a message that has not come yet: done when it comes, in the order in which it was asked.
//!
//! Messages come from another thread, a moment after the cursor is on them; keys do not wait for that.

use crate::effect::Effect;
use crate::keymap::Action;
use crate::model::{Inspector, Pane, View};
use crate::open::Postponed;

/// How many actions are kept for one message. Who presses more keys than that holds one down.
const POSTPONED: usize = 64;

/// Whether it needs the bytes of the message.
fn needs_message(action: Action) -> bool {
    matches!(
        action,
        Action::Form
            | Action::Schema
            | Action::Call
            | Action::Explain
            | Action::Find
            | Action::NextFound
            | Action::PreviousFound
            | Action::OpenStrings
            | Action::CopyMenu
            | Action::CopyMessage
            | Action::WriteValue
            | Action::Picture
            | Action::CopyAsCall
            | Action::WriteFile
            | Action::Pager
            | Action::Editor
    )
}

/// Whether it goes through the message, where that has the keys.
fn moves_in_message(action: Action) -> bool {
    matches!(
        action,
        Action::Down
            | Action::Up
            | Action::PageDown
            | Action::PageUp
            | Action::First
            | Action::Last
            | Action::Left
            | Action::Right
            | Action::Open
    )
}

impl Inspector {
    /// Keeps what can only be done once the message under the cursor is here. False when it can be done now.
    pub(super) fn postpone(&mut self, action: Action) -> bool {
        let view = self.view;
        let Some(open) = &mut self.open else {
            return false;
        };
        let moves = moves_in_message(action) && view == View::Timeline && open.pane == Pane::Detail;
        let has_messages = matches!(view, View::Timeline | View::Sequence | View::State | View::Findings);
        if !(moves || has_messages && needs_message(action)) {
            return false;
        }
        let Some(at) = open.at() else {
            return false;
        };
        if open.detail.as_ref().is_some_and(|detail| detail.parts.this.row.at() == at) {
            return false;
        }
        if open.detail_asked.is_some_and(|asked| asked.of == at && asked.ticket.is_none()) {
            // It was asked for, and could not be had; asked for once more, for somebody wants it.
            open.detail_asked = None;
        }
        if open.postponed.of != Some(at) {
            open.postponed = Postponed { of: Some(at), actions: Vec::new() };
        }
        if open.postponed.actions.len() < POSTPONED {
            open.postponed.actions.push(action);
        }
        true
    }

    /// Does what was kept for the message that came.
    pub(super) fn do_postponed(&mut self, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let Postponed { of, actions } = std::mem::take(&mut open.postponed);
        let here = open.detail.as_ref().map(|detail| detail.parts.this.row.at());
        if of.is_none() || of != here || open.at() != of {
            return;
        }
        // Where lines begin and end is known once it was fitted to the screen.
        self.fit();
        for action in actions {
            let has_keys =
                self.view == View::Timeline && self.open.as_ref().is_some_and(|open| open.pane == Pane::Detail);
            // Who went back to the list meanwhile does not want to move there.
            if needs_message(action) || has_keys {
                self.act(action, effects);
            }
        }
    }
}
