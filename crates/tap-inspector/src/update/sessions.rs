//! What a key does in the list of sessions.

use crate::data::EndKind;
use crate::effect::{Effect, Query};
use crate::input::{Key, KeyCode};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay, View};
use crate::prompt::Prompt;

impl Inspector {
    /// Does it; false when it is not for this list.
    pub(super) fn act_in_sessions(&mut self, action: Action, effects: &mut Vec<Effect>) -> bool {
        match action {
            Action::First | Action::Last => {
                let last = self.sessions.n_shown().saturating_sub(1);
                self.sessions.cursor = if action == Action::First { 0 } else { last };
                self.keep_session_in_sight();
            }
            Action::Open => self.open_chosen(effects),
            Action::Sort => {
                self.sessions.next_sort();
                let text = format!("sorted by {}", self.sessions.sort.name());
                self.say(text, false);
            }
            Action::MarkSession => {
                let key = self.sessions.chosen().map(|line| line.key);
                self.sessions.marked = if self.sessions.marked == key { None } else { key };
            }
            Action::Compare => self.compare_chosen(effects),
            Action::Label => {
                if let Some(line) = self.sessions.chosen() {
                    let prompt = Prompt::with(line.label.as_deref().unwrap_or_default());
                    self.overlay = Some(Overlay::Label(prompt, line.key));
                }
            }
            Action::Delete => self.delete_chosen(),
            Action::Demo if self.sessions.loaded && self.sessions.lines().is_empty() => effects.push(Effect::Demo),
            Action::Demo => self.say("that is for when there are no sessions; `mcp-tap demo` records one", false),
            _ => return false,
        }
        true
    }

    fn compare_chosen(&mut self, effects: &mut Vec<Effect>) {
        let (chosen, marked) = (self.sessions.chosen().map(|line| line.key), self.sessions.marked);
        match (marked, chosen) {
            (Some(marked), Some(chosen)) if marked != chosen => {
                self.begin_compare(marked, chosen, effects);
                self.view = View::Compare;
            }
            (None, Some(chosen)) => {
                self.sessions.marked = Some(chosen);
                self.say("marked; D on another one compares the two", false);
            }
            _ => self.say("it is the marked one itself; choose another one", false),
        }
    }

    fn delete_chosen(&mut self) {
        let Some(line) = self.sessions.chosen() else {
            return;
        };
        if line.end == EndKind::Live {
            return self.say("this session is live; it can be deleted when it is over", true);
        }
        let size = tap_text::size(line.n_bytes);
        let messages = tap_text::counted(line.n_messages, "message");
        let began = line.began.told(self.now_unix_ns, self.utc_offset_seconds);
        let text = format!("delete {} of {}, {messages}, {size}, for good?", line.reference, began);
        self.overlay = Some(Overlay::Confirm(text, Query::Delete(line.key)));
    }

    /// A question was answered: anything but yes is no.
    pub(super) fn confirm_key(&mut self, query: Query, key: Key, effects: &mut Vec<Effect>) {
        if key.code != KeyCode::Char('y') || key.control || key.alt {
            return self.say("nothing was changed", false);
        }
        self.change(query, effects);
    }

    pub(super) fn label_key(
        &mut self,
        mut prompt: Prompt,
        session: crate::data::SessionKey,
        key: Key,
        effects: &mut Vec<Effect>,
    ) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => {
                let label = prompt.text.trim().trim_start_matches('@').to_owned();
                return self.change(Query::Label(session, (!label.is_empty()).then_some(label)), effects);
            }
            _ => {
                prompt.key(key, &[]);
            }
        }
        self.overlay = Some(Overlay::Label(prompt, session));
    }

    /// Has something changed in the recordings. What is under way already is not withdrawn.
    fn change(&mut self, query: Query, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        self.sessions.changing = Some(ticket);
        effects.push(Effect::Ask(ticket, query));
    }
}
