//! Finding a text in a message: in what was stored, whatever of it is folded, cut, or out of sight.

use tap_filter::Wanted;
use tap_session::At;

use crate::effect::Effect;
use crate::input::{Key, KeyCode};
use crate::model::{Detail, Form, Inspector, Overlay, Pane, View};
use crate::prompt::Prompt;

/// How many places are remembered.
const PLACES: usize = 10_000;

/// A text that is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Find {
    pub(crate) text: String,
    pub(crate) wanted: Wanted,
    /// Where it is, in the form at hand; once it was looked for there.
    places: Option<(Form, Vec<Spot>)>,
    /// Which of them was gone to last.
    at: Option<usize>,
}

/// A place in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Spot {
    /// Bytes from the begin of this message.
    This(usize),
    /// The same of the other half of its call.
    Other(usize),
    /// A line of what is no message.
    Line(usize),
}

impl Find {
    pub(crate) fn new(text: &str, wanted: Wanted) -> Self {
        Self { text: text.into(), wanted, places: None, at: None }
    }

    /// The same in another message.
    pub(crate) fn anew(self) -> Self {
        Self { places: None, at: None, ..self }
    }

    /// Which of how many places was gone to, in words.
    pub(crate) fn told(&self) -> String {
        match (&self.places, self.at) {
            (Some((_, places)), Some(at)) => format!("{} of {}: {}", at + 1, places.len(), self.text),
            _ => self.text.clone(),
        }
    }
}

fn all_in(wanted: &Wanted, bytes: &[u8], room: usize) -> Vec<usize> {
    let mut from = 0;
    let next = || {
        let found = wanted.find(bytes, from)?;
        from = found.end;
        Some(found.start)
    };
    std::iter::from_fn(next).take(room).collect()
}

impl Detail {
    /// Goes to the next place, or the one before; from the last one to the first. False when there is none.
    pub(crate) fn find_next(&mut self, forward: bool) -> bool {
        let Some(mut find) = self.find.take() else {
            return false;
        };
        if find.places.as_ref().is_none_or(|(form, _)| *form != self.form) {
            find.places = Some((self.form, self.places(&find.wanted)));
            find.at = None;
        }
        let places = find.places.as_ref().map(|(_, places)| places.as_slice()).unwrap_or_default();
        let n_places = places.len();
        let next = match find.at {
            _ if n_places == 0 => None,
            // The first time, from where the cursor is on.
            None => {
                let is_behind = |spot: &Spot| self.cursor <= self.line_near(*spot);
                let behind = places.iter().position(is_behind);
                Some(if forward {
                    behind.unwrap_or(0)
                } else {
                    behind.unwrap_or(n_places).checked_sub(1).unwrap_or(n_places - 1)
                })
            }
            Some(at) if forward => Some((at + 1) % n_places),
            Some(at) => Some((at + n_places - 1) % n_places),
        };
        let spot = next.and_then(|next| places.get(next)).copied();
        find.at = next;
        self.find = Some(find);
        if let Some(spot) = spot {
            self.go_to_spot(spot);
        }
        spot.is_some()
    }

    /// Goes to the first place in one half of the call, or to its begin.
    pub(crate) fn find_in(&mut self, half: At) {
        let Some(mut find) = self.find.take() else {
            return;
        };
        let places = self.places(&find.wanted);
        let is_this = self.parts.this.row.at() == half;
        let is_in = |spot: &Spot| match spot {
            Spot::This(_) => is_this,
            Spot::Other(_) => !is_this,
            Spot::Line(_) => false,
        };
        find.at = places.iter().position(is_in);
        let spot = find.at.and_then(|at| places.get(at)).copied();
        find.places = Some((self.form, places));
        self.find = Some(find);
        match spot {
            Some(spot) => self.go_to_spot(spot),
            None if self.form == Form::Pretty && !is_this => self.cursor = self.tree.lines().len() + 2,
            None => self.cursor = 0,
        }
    }

    fn places(&self, wanted: &Wanted) -> Vec<Spot> {
        let in_lines = |lines: &mut dyn Iterator<Item = String>| {
            let found = lines.enumerate().filter(|(_, line)| wanted.find(line.as_bytes(), 0).is_some());
            found.map(|(index, _)| Spot::Line(index)).take(PLACES).collect()
        };
        match self.form {
            Form::Pretty | Form::Raw | Form::Hex => {
                let this = all_in(wanted, &self.parts.this.bytes, PLACES);
                let mut places: Vec<Spot> = this.into_iter().map(Spot::This).collect();
                if let (Form::Pretty, Some(other)) = (self.form, &self.parts.other) {
                    let other = all_in(wanted, &other.bytes, PLACES.saturating_sub(places.len()));
                    places.extend(other.into_iter().map(Spot::Other));
                }
                places
            }
            Form::Http => in_lines(&mut self.parts.exchange.iter().map(|(name, text)| format!("{name} {text}"))),
            Form::Schema | Form::Call | Form::Explain => {
                let about = self.about_shown().and_then(|part| self.slot(part).about.as_ref());
                let lines = about.map(|about| about.lines.as_slice()).unwrap_or_default();
                in_lines(&mut lines.iter().map(|line| format!("{} {}", line.name, line.text)))
            }
        }
    }

    /// About which line a place is on, without unfolding anything.
    fn line_near(&self, spot: Spot) -> usize {
        match (spot, self.form) {
            (Spot::Line(line), _) => line,
            (Spot::This(at) | Spot::Other(at), Form::Hex) => at / 16,
            (Spot::This(at) | Spot::Other(at), Form::Raw) => self.raw.1.partition_point(|line| line.end <= at),
            (Spot::This(at), _) => self.tree.line_of(at),
            (Spot::Other(at), _) => {
                self.tree.lines().len() + 2 + self.other.as_ref().map_or(0, |other| other.line_of(at))
            }
        }
    }

    fn go_to_spot(&mut self, spot: Spot) {
        match (spot, self.form) {
            (Spot::This(at), Form::Pretty) => self.cursor = self.tree.reveal(at),
            (Spot::Other(at), Form::Pretty) => {
                let line = self.other.as_mut().map_or(0, |other| other.reveal(at));
                self.cursor = self.tree.lines().len() + 2 + line;
            }
            _ => self.cursor = self.line_near(spot),
        }
    }
}

impl Inspector {
    /// Whether a message has the keys.
    pub(crate) fn has_message(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.pane == Pane::Detail && !open.rows.is_empty())
    }

    pub(crate) fn find_key(&mut self, mut prompt: Prompt, key: Key) {
        match key.code {
            KeyCode::Escape => {}
            KeyCode::Enter => {
                let wanted = Wanted::text(&prompt.text);
                if let Some(detail) = self.open.as_mut().and_then(|open| open.detail.as_mut()) {
                    detail.find = wanted.map(|wanted| Find::new(&prompt.text, wanted));
                }
                self.search.walks = false;
                self.find_in_message(true);
            }
            _ => {
                prompt.key(key, &[]);
                self.overlay = Some(Overlay::Find(prompt));
            }
        }
    }

    /// Goes to the next place in the message.
    pub(crate) fn find_in_message(&mut self, forward: bool) {
        let Some(detail) = self.open.as_mut().and_then(|open| open.detail.as_mut()) else {
            return;
        };
        let Some(text) = detail.find.as_ref().map(|find| find.text.clone()) else {
            return self.say("nothing is looked for; / in a message looks for a text", false);
        };
        match detail.find_next(forward) {
            true => {
                if self.view == View::Timeline
                    && let Some(open) = &mut self.open
                {
                    open.pane = Pane::Detail;
                }
            }
            false => self.say(format!("`{text}` is not in it"), true),
        }
    }

    /// To the next place: among what was found in all sessions, when that is gone through, else in the message.
    pub(crate) fn find_on(&mut self, forward: bool, effects: &mut Vec<Effect>) {
        match self.search.walks {
            true => self.walk_hits(forward, effects),
            false => self.find_in_message(forward),
        }
    }
}
