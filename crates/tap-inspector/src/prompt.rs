//! A line of text that is being typed.

use crate::input::{Key, KeyCode};

/// A line and where its cursor is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) text: String,
    /// Bytes, on a border of characters.
    pub(crate) cursor: usize,
    /// Where in the history it stands, from its end; 0 is what is being typed.
    back: usize,
    /// What was typed before the history was looked at.
    typed: String,
}

impl Prompt {
    pub(crate) fn with(text: &str) -> Self {
        Self { text: text.into(), cursor: text.len(), ..Self::default() }
    }

    fn before(&self) -> Option<char> {
        self.text.get(..self.cursor)?.chars().next_back()
    }

    fn behind(&self) -> Option<char> {
        self.text.get(self.cursor..)?.chars().next()
    }

    /// Puts text where the cursor is, without what cannot stand in a line.
    pub(crate) fn insert(&mut self, text: &str) {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        self.text.insert_str(self.cursor, &text);
        self.cursor += text.len();
    }

    /// Puts `text` in place of what stands between `from` and the cursor.
    pub(crate) fn complete(&mut self, from: usize, text: &str) {
        if self.text.get(from..self.cursor).is_some() {
            self.text.replace_range(from..self.cursor, text);
            self.cursor = from + text.len();
        }
    }

    /// Takes a key that edits; `false` when it is none. `history` has the oldest line first.
    pub(crate) fn key(&mut self, key: Key, history: &[String]) -> bool {
        match (key.code, key.control) {
            (KeyCode::Char('a'), true) | (KeyCode::Home, _) => self.cursor = 0,
            (KeyCode::Char('e'), true) | (KeyCode::End, _) => self.cursor = self.text.len(),
            (KeyCode::Char('u'), true) => {
                self.text.replace_range(..self.cursor, "");
                self.cursor = 0;
            }
            (KeyCode::Char('k'), true) => self.text.truncate(self.cursor),
            (KeyCode::Char('w'), true) => {
                let before = self.text.get(..self.cursor).unwrap_or_default().trim_end();
                let from = before.rfind(char::is_whitespace).map_or(0, |at| at + 1);
                self.text.replace_range(from..self.cursor, "");
                self.cursor = from;
            }
            (KeyCode::Char(c), false) if !key.alt => self.insert(&c.to_string()),
            (KeyCode::Backspace, _) => {
                if let Some(c) = self.before() {
                    self.cursor -= c.len_utf8();
                    self.text.remove(self.cursor);
                }
            }
            (KeyCode::Delete, _) => {
                if self.behind().is_some() {
                    self.text.remove(self.cursor);
                }
            }
            (KeyCode::Left, _) => self.cursor -= self.before().map_or(0, char::len_utf8),
            (KeyCode::Right, _) => self.cursor += self.behind().map_or(0, char::len_utf8),
            (KeyCode::Up, _) => self.recall(history, self.back + 1),
            (KeyCode::Down, _) => self.recall(history, self.back.saturating_sub(1)),
            _ => return false,
        }
        true
    }

    fn recall(&mut self, history: &[String], back: usize) {
        if self.back == 0 {
            self.typed.clone_from(&self.text);
        }
        let text = match back {
            0 => Some(&self.typed),
            _ => history.len().checked_sub(back).and_then(|index| history.get(index)),
        };
        if let Some(text) = text {
            self.text = text.clone();
            self.cursor = self.text.len();
            self.back = back;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_as_in_a_shell() {
        let history = ["first".to_owned(), "second".to_owned()];
        for (keys, expected) in [
            ("a b backspace c", "ac|"),
            ("é left x", "x|é"),
            ("a b c ctrl-a del", "|bc"),
            ("a b left ctrl-k", "a|"),
            ("a b left ctrl-u", "|b"),
            ("a space b ctrl-w", "a |"),
            ("x up", "second|"),
            ("x up up up", "first|"),
            ("x up up down down", "x|"),
            ("left backspace del right", "|"),
            ("日 本 backspace", "日|"),
        ] {
            let mut prompt = Prompt::default();
            for key in keys.split(' ') {
                assert!(prompt.key(Key::named(key).unwrap(), &history), "{key}");
            }
            prompt.text.insert(prompt.cursor, '|');
            assert_eq!(prompt.text, expected, "{keys}");
        }
    }
}
