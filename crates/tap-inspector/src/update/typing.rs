//! What is typed: filters, numbers, names of things to do.

use tap_filter::{Context, complete};

use crate::effect::Effect;
use crate::input::{Key, KeyCode};
use crate::model::{Inspector, Overlay, View};
use crate::place::Place;
use crate::prompt::Prompt;
use crate::settings::HISTORY;

impl Inspector {
    pub(super) fn paste(&mut self, text: &str) {
        match &mut self.overlay {
            Some(
                Overlay::Filter(prompt)
                | Overlay::Find(prompt)
                | Overlay::Jump(prompt)
                | Overlay::Mark(prompt, ..)
                | Overlay::Label(prompt, _)
                | Overlay::Palette(prompt, _),
            ) => prompt.insert(text),
            Some(Overlay::Help(_) | Overlay::Copy(_) | Overlay::Confirm(..)) | None => {}
        }
    }

    pub(super) fn filter_key(&mut self, mut prompt: Prompt, key: Key, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => {
                if self.view == View::Sessions {
                    return self.sessions.set_filter(prompt.text);
                }
                if self.read_filter(&prompt.text).is_ok() {
                    let text = prompt.text.trim().to_owned();
                    self.history.retain(|old| *old != text);
                    if !text.is_empty() {
                        self.history.push(text.clone());
                    }
                    let surplus = self.history.len().saturating_sub(HISTORY);
                    self.history.drain(..surplus);
                    match self.view {
                        View::Search => self.start_search(&text, effects),
                        _ => self.set_filter(&text, effects),
                    }
                    return;
                }
                // What is wrong is on the screen; it stays open until it is right.
            }
            KeyCode::Tab => {
                if let [first, rest @ ..] = &*complete(&prompt.text, prompt.cursor) {
                    // As far as all that could stand there agree.
                    let mut common = first.text.clone();
                    for other in rest {
                        let same = common.char_indices().zip(other.text.chars()).find(|((_, a), b)| a != b);
                        let end = same.map_or(common.len().min(other.text.len()), |((at, _), _)| at);
                        common.truncate(end);
                    }
                    prompt.complete(first.from, &common);
                }
            }
            _ => {
                prompt.key(key, &self.history);
            }
        }
        self.overlay = Some(Overlay::Filter(prompt));
    }

    pub(crate) fn read_filter(&self, text: &str) -> Result<tap_filter::Filter, tap_filter::FilterError> {
        let context =
            Context { now_unix_ns: i128::from(self.now_unix_ns), utc_offset_seconds: self.utc_offset_seconds };
        tap_filter::Filter::parse(text, &context, &|_| None)
    }

    pub(super) fn jump_key(&mut self, mut prompt: Prompt, key: Key, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => return self.go_to_place(&prompt.text, effects),
            _ => {
                prompt.key(key, &[]);
            }
        }
        self.overlay = Some(Overlay::Jump(prompt));
    }

    pub(super) fn palette_key(&mut self, mut prompt: Prompt, chosen: usize, key: Key, effects: &mut Vec<Effect>) {
        let matches = self.palette(&prompt.text);
        let mut chosen = chosen.min(matches.len().saturating_sub(1));
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => {
                match matches.get(chosen) {
                    Some((_, _, action)) => self.act(*action, effects),
                    None if self.open.is_some() && Place::read(&prompt.text).is_ok() => {
                        self.go_to_place(&prompt.text, effects);
                    }
                    None => {
                        // What is typed next is still meant for it.
                        self.say(format!("nothing is called {}, and it is no place in a session", prompt.text), true);
                        self.overlay = Some(Overlay::Palette(prompt, chosen));
                    }
                }
                return;
            }
            KeyCode::Down => chosen = (chosen + 1).min(matches.len().saturating_sub(1)),
            KeyCode::Up => chosen = chosen.saturating_sub(1),
            _ => {
                prompt.key(key, &[]);
                chosen = 0;
            }
        }
        self.overlay = Some(Overlay::Palette(prompt, chosen));
    }
}
