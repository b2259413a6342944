//! What keys do among breakpoints and held messages.

use std::sync::Arc;

use tap_control::{Release, compact};
use tap_jsonrpc::Node;

use super::{Draft, Edits, HeldLine, LiveOrder, LivePane, Resend, pretty};
use crate::effect::{Effect, Query, Ticket};
use crate::keymap::Action;
use crate::model::{Inspector, Overlay};
use crate::prompt::Prompt;

use super::keys::{Asks, Sure};

/// How long a message stays held that is open in an editor, nanoseconds.
const EDITING_NS: u64 = 30 * 60 * 1_000_000_000;

/// How long one stays from when it was left there, or its clock was started again, nanoseconds.
const LEFT_NS: u64 = 50_000_000_000;

/// How many problems are told at a time.
const TOLD: usize = 5;

impl Inspector {
    pub(crate) fn act_in_held(&mut self, action: Action, effects: &mut Vec<Effect>) {
        match action {
            Action::NextHeld => return self.choose_held(1),
            Action::PreviousHeld => return self.choose_held(-1),
            Action::NextPane => return self.next_live_pane(),
            Action::First => return self.move_in_held(isize::MIN / 2),
            Action::Last => return self.move_in_held(isize::MAX / 2),
            Action::Break => {
                if self.debugged().is_some() {
                    self.overlay = Some(Overlay::Break(Prompt::default()));
                }
                return;
            }
            Action::AllBreaks => return self.switch_all(effects),
            Action::SwitchBreak | Action::RemoveBreak => return self.act_on_rule(action, effects),
            Action::SendAll => {
                if self.debugged().is_some_and(|(_, debug)| !debug.held().is_empty()) {
                    self.order(LiveOrder::ReleaseAll, effects);
                }
                return;
            }
            _ => {}
        }
        if self.debugged().is_none() {
            return;
        }
        let Some(debug) = self.open.as_ref().map(|open| &open.debug) else {
            return;
        };
        let Some(line) = debug.chosen_line().cloned() else {
            return self.say("nothing is held", false);
        };
        let number = line.number;
        match action {
            Action::Open | Action::Right => self.live_pane(LivePane::Message),
            Action::Left => self.live_pane(LivePane::Held),
            Action::Send => self.send_held(number, effects),
            Action::SendOriginal => self.release(number, Release::Original, effects),
            Action::DropHeld => {
                let text = match line.kind.as_str() {
                    "request" => format!("drop {}: whoever asked never gets an answer from us?", told(&line)),
                    _ => format!("drop {}: the other side never sees it?", told(&line)),
                };
                self.overlay = Some(Overlay::Sure(text, Sure::Order(LiveOrder::Release(number, Release::Drop))));
            }
            Action::AnswerError => {
                self.overlay = Some(Overlay::Asks(Prompt::with("-32000:refused by hand"), Asks::Error(number)));
            }
            Action::DelayHeld => self.overlay = Some(Overlay::Asks(Prompt::with("2s"), Asks::Delay(number))),
            Action::StopClock => {
                let keep = line.goes_in_ns.is_none().then_some(LEFT_NS);
                let text = if keep.is_some() { "it goes on by itself in 50 s" } else { "it stays until it is let go" };
                self.order(LiveOrder::Keep(number, keep), effects);
                self.say(text, false);
            }
            Action::EditHeld => self.edit_held(&line, effects),
            Action::AnswerHeld => self.answer_held(&line, effects),
            _ => {}
        }
    }

    fn live_pane(&mut self, pane: LivePane) {
        if let Some(open) = &mut self.open {
            open.debug.pane = pane;
        }
    }

    fn next_live_pane(&mut self) {
        if let Some(open) = &mut self.open {
            open.debug.pane = match open.debug.pane {
                LivePane::Held => LivePane::Message,
                LivePane::Message => LivePane::Rules,
                LivePane::Rules => LivePane::Held,
            };
        }
    }

    /// Moves what the pane with the keys has.
    pub(crate) fn move_in_held(&mut self, rows: isize) {
        let Some(open) = &mut self.open else {
            return;
        };
        let debug = &mut open.debug;
        match debug.pane {
            LivePane::Message => {
                let last = debug.lines.len().saturating_sub(1);
                debug.top = debug.top.saturating_add_signed(rows).min(last);
            }
            LivePane::Held => self.choose_held(rows),
            LivePane::Rules => {
                let rules = debug.rules();
                let here = rules.iter().position(|rule| Some(rule.number) == debug.rule).unwrap_or_default();
                let next = here.saturating_add_signed(rows).min(rules.len().saturating_sub(1));
                debug.rule = rules.get(next).map(|rule| rule.number);
            }
        }
    }

    fn choose_held(&mut self, rows: isize) {
        let Some(debug) = self.open.as_mut().map(|open| &mut open.debug) else {
            return;
        };
        let held = debug.held();
        let here = held.iter().position(|line| Some(line.number) == debug.chosen).unwrap_or_default();
        let next = here.saturating_add_signed(rows).min(held.len().saturating_sub(1));
        let chosen = held.get(next).map(|line| line.number);
        if chosen != debug.chosen {
            debug.chosen = chosen;
            debug.top = 0;
            debug.message = None;
            debug.asked = None;
            debug.lay();
        }
    }

    fn act_on_rule(&mut self, action: Action, effects: &mut Vec<Effect>) {
        let Some((_, debug)) = self.debugged() else {
            return;
        };
        let Some(rule) = debug.chosen_rule().cloned() else {
            return self.say("there is no breakpoint; i sets one", false);
        };
        let order = match action {
            Action::RemoveBreak => LiveOrder::Remove(rule.number, rule.is_fault),
            _ => LiveOrder::Switch(vec![(rule.number, rule.is_fault)], !rule.on),
        };
        self.order(order, effects);
    }

    /// All breakpoints off; when they are, those on that were switched off so, or else all.
    fn switch_all(&mut self, effects: &mut Vec<Effect>) {
        let Some((_, debug)) = self.debugged() else {
            return;
        };
        let breakpoints = || debug.rules().iter().filter(|rule| !rule.is_fault);
        let on: Vec<u32> = breakpoints().filter(|rule| rule.on).map(|rule| rule.number).collect();
        let all: Vec<u32> = breakpoints().map(|rule| rule.number).collect();
        if all.is_empty() {
            return self.say("there is no breakpoint; i sets one", false);
        }
        let is_off = on.is_empty();
        let numbers = if is_off {
            let before = std::mem::take(&mut debug.switched_off);
            if before.is_empty() { all } else { before }
        } else {
            debug.switched_off.clone_from(&on);
            on
        };
        self.order(LiveOrder::Switch(numbers.into_iter().map(|number| (number, false)).collect(), is_off), effects);
        self.say(if is_off { "breakpoints are on" } else { "all breakpoints are off; I has them back" }, false);
    }

    pub(super) fn release(&mut self, number: u64, how: Release, effects: &mut Vec<Effect>) {
        if let Some((_, debug)) = self.debugged() {
            debug.released = Some(number);
        }
        self.order(LiveOrder::Release(number, how), effects);
    }

    /// Lets a message go as it was edited, or as it is. What is wrong with an edit is asked about.
    fn send_held(&mut self, number: u64, effects: &mut Vec<Effect>) {
        let Some((_, debug)) = self.debugged() else {
            return;
        };
        let Some(draft) = debug.draft() else {
            return self.release(number, Release::Go, effects);
        };
        let schema = debug.chosen_message().and_then(|message| message.schema.as_ref()).map(|schema| schema.to_vec());
        let edited = |force| Release::Edited { text: draft.text.to_vec(), force, schema: schema.clone() };
        if debug.problems.is_empty() {
            let how = edited(false);
            return self.release(number, how, effects);
        }
        let told: Vec<&str> = debug.problems.iter().take(TOLD).map(String::as_str).collect();
        let text = format!("send message {number} all the same?\n{}", told.join("\n"));
        self.overlay = Some(Overlay::Sure(text, Sure::Order(LiveOrder::Release(number, edited(true)))));
    }

    /// Has the tap do something whose outcome needs no word.
    fn quietly(&mut self, order: LiveOrder, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        if let Some(open) = &self.open {
            effects.push(Effect::Ask(ticket, Query::Control(open.session.key, order)));
        }
    }

    /// Has a message that was open in an editor go on by itself after a while.
    pub(super) fn keep_again(&mut self, number: u64, effects: &mut Vec<Effect>) {
        self.quietly(LiveOrder::Keep(number, Some(LEFT_NS)), effects);
    }

    fn edit_held(&mut self, line: &HeldLine, effects: &mut Vec<Effect>) {
        let Some(debug) = self.open.as_ref().map(|open| &open.debug) else {
            return;
        };
        let Some(message) = debug.chosen_message() else {
            return self.say("a moment: the message is on its way", false);
        };
        let text = pretty(debug.draft().map_or(&message.now, |draft| &draft.text));
        let has_clock = line.goes_in_ns.is_some();
        if has_clock {
            // Whoever edits is not to be hurried; but should he never come back, nobody waits for ever.
            self.quietly(LiveOrder::Keep(line.number, Some(EDITING_NS)), effects);
        }
        self.edit(text, "message.json", Edits::Held(line.number, has_clock), effects);
    }

    fn answer_held(&mut self, line: &HeldLine, effects: &mut Vec<Effect>) {
        let known = self.open.as_ref().and_then(|open| open.debug.chosen_message());
        // Of an answer its own result, to be changed; else what an answer to that looks like.
        let result = known.and_then(|message| {
            let result = Node::new(&message.now).get("result")?;
            Some(String::from_utf8_lossy(result.bytes()).into_owned())
        });
        let text = match (result, line.kind.as_str(), line.method.as_deref()) {
            (Some(result), ..) => result,
            (None, "notification" | "batch", _) => return self.say("only a request can be answered", false),
            (None, _, Some("tools/call")) => r#"{"content":[{"type":"text","text":""}],"isError":false}"#.into(),
            _ => "{}".into(),
        };
        let text = format!("{}\n", tap_text::pretty(&text));
        if line.goes_in_ns.is_some() {
            self.quietly(LiveOrder::Keep(line.number, Some(EDITING_NS)), effects);
        }
        self.edit(text.clone(), "result.json", Edits::Answer(line.number, text), effects);
    }

    /// Opens a text in the editor; what comes of it comes back as an input.
    pub(super) fn edit(&mut self, text: String, name: &str, edits: Edits, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some(open) = &mut self.open else {
            return;
        };
        open.debug.editing = Some((ticket, edits));
        let mut bytes = text.into_bytes();
        if !bytes.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        effects.push(Effect::Edit { ticket, bytes, name: name.into() });
    }

    /// Somebody has edited something.
    pub(crate) fn take_edited(&mut self, ticket: Ticket, bytes: Vec<u8>, effects: &mut Vec<Effect>) {
        let is_small = self.size.1 < super::ROWS_FOR_ALL;
        let Some(debug) = self.open.as_mut().map(|open| &mut open.debug) else {
            return;
        };
        match debug.editing.take() {
            Some((editing, Edits::Held(number, has_clock))) if editing == ticket => {
                let now = debug.message.as_ref().filter(|message| message.number == number).map(|message| &message.now);
                // What says the same is no edit.
                let is_same = now.is_some_and(|now| compact(now) == compact(&bytes));
                match is_same {
                    true => drop(debug.drafts.remove(&number)),
                    false => drop(debug.drafts.insert(number, Draft { text: bytes.into() })),
                }
                debug.lay();
                debug.show_first_difference(is_small);
                if has_clock {
                    self.keep_again(number, effects);
                }
                self.say(if is_same { "nothing was changed" } else { "a sends it as it is now" }, false);
            }
            Some((editing, Edits::Answer(number, before))) if editing == ticket => {
                if compact(&bytes) == compact(before.as_bytes()) {
                    self.keep_again(number, effects);
                    return self.say("nothing was changed: it is still held", false);
                }
                self.release(number, Release::Answer(bytes), effects);
            }
            Some((editing, Edits::Again(resend))) if editing == ticket => {
                let request: Arc<[u8]> = compact(&bytes).into();
                self.ask_to_resend(Resend { request, ..resend });
            }
            other => debug.editing = other,
        }
    }
}

/// Which message, in words.
fn told(line: &HeldLine) -> String {
    let target = line.target.as_deref().or(line.method.as_deref()).unwrap_or(&line.what);
    format!("message {} ({target})", line.number)
}
