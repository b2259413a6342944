//! Marks, bookmarks and notes: what a person says about messages.

use tap_session::At;

use crate::data::MarkLine;
use crate::effect::{Effect, Query};
use crate::input::{Key, KeyCode};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay};
use crate::prompt::Prompt;

/// What of a mark is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkPart {
    /// Its name on the command line.
    Name,
    /// A note.
    Note,
}

impl Inspector {
    pub(super) fn act_on_mark(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some(open) = &self.open else {
            return;
        };
        let Some(at) = open.at() else {
            return;
        };
        let known = open.marks.get(&at);
        let text = |text: Option<&Option<String>>| Prompt::with(text.and_then(Option::as_deref).unwrap_or_default());
        match (action, known) {
            (Action::Bookmark, _) => {
                let prompt = text(known.map(|mark| &mark.name));
                self.overlay = Some(Overlay::Mark(prompt, at, MarkPart::Name));
            }
            (Action::Note, _) => {
                let prompt = text(known.map(|mark| &mark.note));
                self.overlay = Some(Overlay::Mark(prompt, at, MarkPart::Note));
            }
            (_, Some(MarkLine { name: None, note: None, .. })) => self.set_mark(at, None, effects),
            (_, Some(_)) => self.say("it has a name or a note; b and ; with nothing take these away", false),
            (_, None) => self.set_mark(at, Some(MarkLine { at, name: None, note: None }), effects),
        }
    }

    pub(super) fn mark_key(
        &mut self,
        mut prompt: Prompt,
        (at, part): (At, MarkPart),
        key: Key,
        effects: &mut Vec<Effect>,
    ) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => {
                let Some(open) = &self.open else {
                    return;
                };
                let known = open.marks.get(&at).cloned();
                let mut mark = known.unwrap_or(MarkLine { at, name: None, note: None });
                let text = prompt.text.trim();
                match part {
                    MarkPart::Name => {
                        let name = text.trim_start_matches('@').to_owned();
                        mark.name = (!name.is_empty()).then_some(name);
                    }
                    MarkPart::Note => mark.note = (!text.is_empty()).then(|| text.to_owned()),
                }
                // Of one that says nothing any more nothing stays.
                let stays = mark.name.is_some() || mark.note.is_some();
                return self.set_mark(at, stays.then_some(mark), effects);
            }
            _ => {
                prompt.key(key, &[]);
            }
        }
        self.overlay = Some(Overlay::Mark(prompt, at, part));
    }

    fn set_mark(&mut self, at: At, mark: Option<MarkLine>, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        open.marking = Some(ticket);
        effects.push(Effect::Ask(ticket, Query::Mark(open.session.key, at, mark)));
    }

    /// The message with a bookmark of this name.
    pub(super) fn bookmark(&self, name: &str) -> Option<At> {
        let marks = &self.open.as_ref()?.marks;
        marks.values().find(|mark| mark.name.as_deref() == Some(name)).map(|mark| mark.at)
    }
}
