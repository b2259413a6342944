//! What is typed: filters, numbers, names of things to do.

use std::collections::BTreeSet;

use tap_filter::{Candidate, Context, complete};

use crate::effect::Effect;
use crate::input::{Key, KeyCode};
use crate::model::{Inspector, Overlay, View};
use crate::place::Place;
use crate::prompt::Prompt;
use crate::settings::HISTORY;
use crate::tools::OfferKind;

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
            Some(Overlay::Help(_) | Overlay::Copy(_) | Overlay::Confirm(..) | Overlay::Picture(_)) | None => {}
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
                if let [first, rest @ ..] = &*self.candidates(&prompt) {
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

    /// What could stand before the cursor: fields, words, and names that were recorded, as far as they are at hand.
    pub(crate) fn candidates(&self, prompt: &Prompt) -> Vec<Candidate> {
        let mut found = complete(&prompt.text, prompt.cursor);
        let before = prompt.text.get(..prompt.cursor).unwrap_or_default();
        let Some((at, begun)) = before.rsplit_once([':', '=', ',']).map(|(head, begun)| (head.len() + 1, begun)) else {
            return found;
        };
        let head = before.get(..at).unwrap_or_default();
        let from = head.rfind(|c: char| c.is_whitespace() || matches!(c, '(' | '|' | '&')).map_or(0, |at| at + 1);
        let field = head.get(from..).unwrap_or_default().trim_start_matches(['-', '!']);
        let field = field.split([':', '=']).next().unwrap_or_default();
        let begun_name = begun.trim_start_matches('"').to_lowercase();
        let names = self.recorded_names(field);
        let fits = names.into_iter().filter(|name| name.to_lowercase().starts_with(&begun_name));
        found.extend(fits.map(|name| written(&name)).filter(|name| name != begun).map(|text| Candidate {
            from: at,
            text,
            about: "recorded".into(),
        }));
        found
    }

    /// Names that a field has in what is known of the session: in the rows at hand, in what the server offers, in figures.
    fn recorded_names(&self, field: &str) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        let Some(open) = self.open.as_ref().filter(|_| self.view != View::Sessions) else {
            return names;
        };
        let of_method = |wanted: &[&str]| {
            let rows = open.rows.rows().iter().map(|row| &row.row);
            let fits = rows.filter(|row| row.method.as_deref().is_some_and(|method| wanted.contains(&method)));
            fits.filter_map(|row| row.target.as_deref().map(str::to_owned)).collect::<Vec<_>>()
        };
        let offered = |wanted: &[OfferKind]| {
            let lines = open.tools.lines().iter().filter(|line| wanted.contains(&line.kind));
            lines.map(|line| line.name.clone()).collect::<Vec<_>>()
        };
        match field {
            "tool" | "t" => {
                names.extend(of_method(&["tools/call"]));
                names.extend(offered(&[OfferKind::Tool]));
            }
            "prompt" => {
                names.extend(of_method(&["prompts/get"]));
                names.extend(offered(&[OfferKind::Prompt]));
            }
            "uri" => {
                names.extend(of_method(&["resources/read", "resources/subscribe", "resources/unsubscribe"]));
                names.extend(offered(&[OfferKind::Resource]));
            }
            "name" => {
                names.extend(of_method(&["tools/call", "prompts/get", "resources/read"]));
                names.extend(offered(&[OfferKind::Tool, OfferKind::Prompt, OfferKind::Resource]));
            }
            "method" | "m" => {
                names.extend(open.rows.rows().iter().filter_map(|row| row.row.method.as_deref().map(str::to_owned)));
            }
            _ => {}
        }
        names
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

/// A name as it is written in a filter: in quotes where it is no plain word.
fn written(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    if name.chars().all(is_plain) && !name.starts_with(['/', '-', '.']) && !name.contains("..") {
        return name.into();
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if u32::from(c) < 0x1_0000 && tap_text::is_hidden(c) => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
