//! What is known around a message and is not in it: whether it fits its schema, what else belongs to its call, and what may
//! explain how it went. Each is asked for by itself, after the message, which waits for none of them.

use tap_session::At;

use crate::data::{SessionKey, Tone};
use crate::effect::{Effect, Query, Ticket};
use crate::model::{Detail, Form, Inspector};
use crate::tree::{Mark, Marks, Places};

/// In a longer message a finding is told of the whole: each member that it names is looked for in all of it, bytes.
const PLACED_BYTES: usize = 128 * 1024;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AboutPart {
    /// Arguments and results by the schemas that the tool was listed with.
    Schema,
    /// All messages of its call.
    Call,
    /// What may explain how it went.
    Explain,
}

impl AboutPart {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Schema, Self::Call, Self::Explain];
}

/// A message, perhaps of another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    /// Of which; `None` for the one that is open.
    pub session: Option<SessionKey>,
    /// The message.
    pub at: At,
}

/// A line of what is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AboutLine {
    /// What it is about; empty where it goes on with the line before.
    pub name: String,
    /// What is known.
    pub text: String,
    /// How good that is.
    pub tone: Tone,
    /// The message that it is about.
    pub goes_to: Option<Target>,
}

/// What is said about a place in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointed {
    /// In which message.
    pub at: At,
    /// The place, as a JSON Pointer (RFC 6901).
    pub pointer: String,
    /// What is said.
    pub text: String,
    /// How bad it is.
    pub tone: Tone,
    /// The message that says why.
    pub goes_to: Option<At>,
}

/// What is known around a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct About {
    /// Which message.
    pub at: At,
    /// What was asked for.
    pub part: AboutPart,
    /// What is known, a line each.
    pub lines: Vec<AboutLine>,
    /// What is said about places in the message and in the other half of its call.
    pub points: Vec<Pointed>,
    /// A word for the tab, such as how many messages there are.
    pub badge: Option<String>,
}

/// One of these, as far as it was asked for.
#[derive(Debug, Default)]
pub(crate) struct Slot {
    pub(crate) about: Option<About>,
    pub(crate) ticket: Option<Ticket>,
    /// It was asked for; it stays when there is no answer, so that it is not asked for without end.
    pub(crate) asked: bool,
}

impl Detail {
    pub(crate) fn slot(&self, part: AboutPart) -> &Slot {
        &self.abouts[part as usize]
    }

    /// What is shown in place of the message, if it is something that is known around it.
    pub(crate) fn about_shown(&self) -> Option<AboutPart> {
        match self.form {
            Form::Schema => Some(AboutPart::Schema),
            Form::Call => Some(AboutPart::Call),
            Form::Explain => Some(AboutPart::Explain),
            Form::Pretty | Form::Raw | Form::Hex | Form::Http => None,
        }
    }

    /// Puts what is said about places, and which rules were broken, into the trees.
    pub(crate) fn mark(&mut self, rules: &[Pointed]) {
        let schema = self.slot(AboutPart::Schema).about.iter().flat_map(|about| &about.points);
        let points: Vec<Pointed> = rules.iter().chain(schema).cloned().collect();
        let marks_of = |at: At, bytes: &[u8]| {
            let mut marks = Marks::new();
            let mut places = Places::new(bytes);
            for point in points.iter().filter(|point| point.at == at) {
                let place = places.of(&point.pointer).first().copied().unwrap_or_default();
                let mark = Mark { text: point.text.clone(), tone: point.tone, goes_to: point.goes_to };
                marks.entry(place).or_default().push(mark);
            }
            marks
        };
        let n_before = self.tree.lines().len();
        let begin = n_before + 2;
        let marks = marks_of(self.parts.this.row.at(), &self.parts.this.bytes);
        let in_other = self.cursor.checked_sub(begin);
        let cursor = if in_other.is_none() { self.cursor } else { 0 };
        let moved = self.tree.set_marks(marks, cursor);
        if in_other.is_none() && self.form == Form::Pretty {
            self.cursor = moved;
        }
        if let (Some(tree), Some(other)) = (&mut self.other, &self.parts.other) {
            let marks = marks_of(other.row.at(), &other.bytes);
            let moved = tree.set_marks(marks, in_other.unwrap_or(0));
            if in_other.is_some() && self.form == Form::Pretty {
                self.cursor = self.tree.lines().len() + 2 + moved;
            }
        }
    }
}

impl Inspector {
    /// Asks for what is known around the message that is shown.
    pub(crate) fn fetch_about(&mut self, effects: &mut Vec<Effect>) {
        let Some(open) = &self.open else {
            return;
        };
        let key = open.session.key;
        let here = open.at();
        let Some(detail) = open.detail.as_ref().filter(|detail| Some(detail.parts.this.row.at()) == here) else {
            return;
        };
        let at = detail.parts.this.row.at();
        let is_wanted = |part: &AboutPart| {
            (*part == AboutPart::Schema || detail.about_shown() == Some(*part)) && !detail.slot(*part).asked
        };
        let wanted: Vec<AboutPart> = AboutPart::ALL.into_iter().filter(is_wanted).collect();
        for part in wanted {
            let ticket = self.ticket();
            let Some(detail) = self.open.as_mut().and_then(|open| open.detail.as_mut()) else {
                return;
            };
            let slot = &mut detail.abouts[part as usize];
            slot.asked = true;
            effects.extend(slot.ticket.replace(ticket).map(Effect::Cancel));
            effects.push(Effect::Ask(ticket, Query::About(key, at, part)));
        }
    }

    /// Takes an answer, if it is to a question that still stands.
    pub(crate) fn take_about(&mut self, ticket: Ticket, about: About) {
        let Some(detail) = self.open.as_mut().and_then(|open| open.detail.as_mut()) else {
            return;
        };
        let slot = &mut detail.abouts[about.part as usize];
        if slot.ticket != Some(ticket) || about.at != detail.parts.this.row.at() {
            return;
        }
        let has_points = about.part == AboutPart::Schema;
        *slot = Slot { about: Some(about), ticket: None, asked: true };
        if has_points {
            self.mark_detail();
        }
    }

    /// Puts what is known into the message that is shown.
    pub(crate) fn mark_detail(&mut self) {
        let Some(open) = &mut self.open else {
            return;
        };
        let Some(detail) = &mut open.detail else {
            return;
        };
        let halves = [Some(&detail.parts.this), detail.parts.other.as_ref()];
        let mut rules = Vec::new();
        for half in halves.into_iter().flatten() {
            let at = half.row.at();
            let mut places = Places::new(&half.bytes);
            for finding in open.findings.of_message(at) {
                let is_placed = half.bytes.len() <= PLACED_BYTES;
                rules.push(Pointed {
                    at,
                    pointer: if is_placed { pointer_in(&mut places, &finding.detail) } else { String::new() },
                    text: format!("! {} {}: {}", finding.rule, finding.title, finding.detail),
                    tone: if finding.severity == tap_session::Severity::Error { Tone::Bad } else { Tone::Warning },
                    goes_to: None,
                });
            }
        }
        detail.mark(&rules);
    }

    /// A question could not be answered.
    pub(crate) fn about_failed(&mut self, ticket: Ticket) {
        let slots = self.open.as_mut().and_then(|open| open.detail.as_mut()).map(|detail| &mut detail.abouts);
        for slot in slots.into_iter().flatten().filter(|slot| slot.ticket == Some(ticket)) {
            slot.ticket = None;
        }
    }
}

/// The place that a finding is about: the first member that it names by its path and that is there, or the whole.
fn pointer_in(places: &mut Places<'_>, detail: &str) -> String {
    let words = detail.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | ':' | '`'));
    for word in words.filter(|word| !word.is_empty()) {
        for root in ["", "/params", "/result", "/error"] {
            let pointer = format!("{root}/{}", word.replace(['.', '['], "/").replace(']', ""));
            let n_steps = pointer.matches('/').count();
            // One place for the whole, and one for each step that is there.
            if places.of(&pointer).len() == n_steps + 1 {
                return pointer;
            }
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_placed_where_the_member_is_that_it_names() {
        let message = br#"{"id":1,"params":{"name":"x","list":[{"a":1}]}}"#;
        for (detail, expected) in [
            ("missing: params.arguments", ""),
            ("`params.name` is no number", "/params/name"),
            ("in 2025-11-25: list[0].a, name", "/params/list/0/a"),
            ("the id 1 was used before", "/id"),
            ("", ""),
        ] {
            assert_eq!(pointer_in(&mut Places::new(message), detail), expected, "{detail}");
        }
    }

    #[test]
    fn a_message_is_read_once_however_many_places_are_looked_for() {
        let message = br#"{"id":1,"params":{"name":"x","list":[{"a":1},2]},"result":{},"id":"last"}"#;
        let mut places = Places::new(message);
        for n in 0..200 {
            assert_eq!(pointer_in(&mut places, &format!("no list[0].b, params.list[{}] here {n}", n + 9)), "");
            assert_eq!(pointer_in(&mut places, "list[0].a"), "/params/list/0/a");
        }
        // The whole, `params`, `list`, its first, `result`, and what is in a number, which is nothing.
        assert!(places.n_read() <= 6, "{}", places.n_read());
        assert_eq!(places.of("/id"), [message.len() - 7, 0], "of two members with a name the last one counts");
    }
}
