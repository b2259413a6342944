//! The live debugger as it is seen from here: what the tap of a live session says, and what is being done about it.
//!
//! The tap itself is elsewhere, behind a socket. What is known of it comes whole each time, so that nothing that was missed
//! stays wrong.

mod acting;
mod again;
mod beside;
mod keys;

use std::collections::BTreeMap;
use std::sync::Arc;

use tap_control::{Release, check_edited};

use crate::data::SessionKey;
use crate::effect::{Answer, Effect, Query, Ticket};
use crate::model::Inspector;

pub(crate) use again::{Again, Resend};
pub(crate) use beside::{BesideLine, beside};
pub(crate) use keys::{Asks, Sure, read_asked};

/// From so many rows on there is room for a message from its beginning.
const ROWS_FOR_ALL: u16 = 36;

/// How much of what happened is kept, lines.
const NEWS: usize = 50;

/// A breakpoint or a fault of a tap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RuleLine {
    /// Its number, by which it is switched and removed.
    pub number: u32,
    /// It is a fault, not a breakpoint.
    pub is_fault: bool,
    /// Which messages, as it was written.
    pub text: String,
    /// What happens to them: `hold`, `delay:2s`, …
    pub action: String,
    /// Which of them: `once`, `every:5`, …
    pub when: String,
    /// It is on.
    pub on: bool,
    /// How often it did something.
    pub n_hits: u64,
    /// Who set it.
    pub by: String,
}

/// A message that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HeldLine {
    /// Under which number it waits.
    pub number: u64,
    /// It goes to the server, not to the client.
    pub to_server: bool,
    /// Why it waits: `held`, `delayed`, `reordered`, `behind`.
    pub why: String,
    /// Who holds it: `breakpoint 2`.
    pub by: String,
    /// The number of the one that it waits behind.
    pub behind: Option<u64>,
    /// How many wait behind it.
    pub n_behind: u64,
    /// What it is, in a few words.
    pub what: String,
    /// `request`, `notification`, `result`, …
    pub kind: String,
    /// Its id as written.
    pub id: Option<String>,
    /// Its method; of an answer that of its request.
    pub method: Option<String>,
    /// The tool, prompt or resource.
    pub target: Option<String>,
    /// For how long it has waited, nanoseconds.
    pub waits_ns: u64,
    /// When it goes on by itself, nanoseconds from then; `None`: it does not.
    pub goes_in_ns: Option<u64>,
    /// What a rule has changed of it already.
    pub changed: String,
    /// Its request has a progress token.
    pub has_token: bool,
}

/// A message that waits, whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldMessage {
    /// Under which number.
    pub number: u64,
    /// As it came.
    pub original: Arc<[u8]>,
    /// As it would go on: with what rules have changed.
    pub now: Arc<[u8]>,
    /// The schema of the tool's arguments, if it is known.
    pub schema: Option<Arc<[u8]>>,
}

/// What a tap says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LiveHere {
    /// When it said so, nanoseconds since the Unix epoch.
    pub seen_unix_ns: u64,
    /// The revision of the session.
    pub revision: Option<String>,
    /// Breakpoints, then faults.
    pub rules: Vec<RuleLine>,
    /// What waits, the oldest first.
    pub held: Vec<HeldLine>,
    /// What has happened since it was told last, a line each.
    pub news: Vec<String>,
}

/// The tap of a live session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LiveSeen {
    /// It cannot be reached; why, in words.
    Away(String),
    /// It is there.
    Here(LiveHere),
}

/// Something that a tap is to do.
#[derive(Debug, Clone)]
pub enum LiveOrder {
    /// Tell a message that waits, whole.
    Message(u64),
    /// Let one go, this way.
    Release(u64, Release),
    /// Let all go.
    ReleaseAll,
    /// Let it wait for so long from now on, nanoseconds; `None`: until somebody lets it go.
    Keep(u64, Option<u64>),
    /// Set a breakpoint: a filter, what happens, and to which of those that fit.
    Break {
        /// The filter.
        filter: String,
        /// What happens.
        action: String,
        /// To which of them.
        when: String,
    },
    /// Switch breakpoints and faults (`true`) on or off.
    Switch(Vec<(u32, bool)>, bool),
    /// Remove a breakpoint, or a fault.
    Remove(u32, bool),
    /// Send a request to the server, with an id of the tap's own, and tell the answer.
    Call(Arc<[u8]>),
    /// The same for a server that is started anew for it, by these words behind `mcp-tap`.
    CallAnew(Vec<String>),
}

/// What came back from a request that was sent again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resent {
    /// The answer, or only its result.
    pub answer: Arc<[u8]>,
    /// How long it took, nanoseconds; `None` where that is not known.
    pub took_ns: Option<u64>,
}

/// Which part of the screen has the keys.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum LivePane {
    #[default]
    Held,
    Message,
    Rules,
}

/// A message as somebody wrote it anew.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Draft {
    pub(crate) text: Arc<[u8]>,
}

/// What is being edited, so that it is known what to do with it.
#[derive(Debug, Clone)]
pub(crate) enum Edits {
    /// A message that waits, and whether its clock runs otherwise.
    Held(u64, bool),
    /// An answer in the place of the side that is asked, and what stood there before.
    Answer(u64, String),
    /// A request that is to be sent again.
    Again(Resend),
}

/// What is known of a live session's tap, and what is done about it.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) attach: Option<Ticket>,
    pub(crate) here: Option<LiveHere>,
    /// Why it is not there, if it was tried.
    pub(crate) away: Option<String>,
    pub(crate) news: Vec<String>,
    pub(crate) pane: LivePane,
    /// The rule and the message with the cursor, by their numbers: what comes or goes elsewhere does not move it.
    pub(crate) rule: Option<u32>,
    pub(crate) chosen: Option<u64>,
    pub(crate) message: Option<HeldMessage>,
    asked: Option<(u64, Ticket)>,
    pub(crate) drafts: BTreeMap<u64, Draft>,
    /// How the message differs from what would be sent, and what is wrong with that.
    pub(crate) lines: Vec<BesideLine>,
    pub(crate) problems: Vec<String>,
    pub(crate) top: usize,
    pub(crate) editing: Option<(Ticket, Edits)>,
    /// Something that a tap does just now; one thing at a time.
    ordered: Option<Ticket>,
    /// Which message was let go from here last.
    released: Option<u64>,
    /// What all rules off has switched off, so that they can be switched on again.
    pub(crate) switched_off: Vec<u32>,
    pub(crate) resending: Option<(Ticket, Resend)>,
    pub(crate) again: Option<Again>,
}

impl Live {
    /// Questions that are of no use once another session is looked at. What is to be done stays so.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> {
        [self.attach, self.asked.map(|(_, ticket)| ticket)].into_iter().flatten()
    }

    pub(crate) fn held(&self) -> &[HeldLine] {
        self.here.as_ref().map_or(&[], |here| &here.held)
    }

    pub(crate) fn rules(&self) -> &[RuleLine] {
        self.here.as_ref().map_or(&[], |here| &here.rules)
    }

    /// How many are held, not counting those that wait for something else.
    pub(crate) fn n_held(&self) -> usize {
        self.held().iter().filter(|line| line.why == "held").count()
    }

    pub(crate) fn chosen_line(&self) -> Option<&HeldLine> {
        self.held().iter().find(|line| Some(line.number) == self.chosen)
    }

    pub(crate) fn chosen_rule(&self) -> Option<&RuleLine> {
        self.rules().iter().find(|rule| Some(rule.number) == self.rule)
    }

    /// The message with the cursor, if it is here whole.
    pub(crate) fn chosen_message(&self) -> Option<&HeldMessage> {
        self.message.as_ref().filter(|message| Some(message.number) == self.chosen)
    }

    pub(crate) fn draft(&self) -> Option<&Draft> {
        self.drafts.get(&self.chosen?)
    }

    /// Keeps cursors where there is something; a message that has gone leaves its place to the next one.
    fn settle(&mut self) {
        if self.chosen_line().is_none() {
            let before = self.chosen.unwrap_or_default();
            let next = self.held().iter().find(|line| line.number > before).or(self.held().last());
            self.chosen = next.map(|line| line.number);
            self.top = 0;
        }
        if self.chosen_rule().is_none() {
            self.rule = self.rules().first().map(|rule| rule.number);
        }
        let numbers: Vec<u64> = self.held().iter().map(|line| line.number).collect();
        self.drafts.retain(|number, _| numbers.contains(number));
        self.message = self.message.take().filter(|message| numbers.contains(&message.number));
    }

    /// What is edited is to be seen first, with a little of what is around it.
    fn show_first_difference(&mut self, is_small: bool) {
        let first = self.lines.iter().position(|line| line.differs).unwrap_or_default();
        let is_seen = !is_small && first < usize::from(ROWS_FOR_ALL / 2);
        self.top = if is_seen { 0 } else { first.saturating_sub(2) };
    }

    /// Arguments are what is looked at; what stands before them is the same in every call.
    fn show_arguments(&mut self) {
        let is_arguments = |line: &BesideLine| {
            line.left.as_deref().is_some_and(|left| left.trim_start().starts_with("\"arguments\": "))
        };
        self.top = self.lines.iter().position(is_arguments).unwrap_or_default();
    }

    /// Lays out the message with the cursor, as it came and as it would go, and looks for what is wrong with that.
    pub(crate) fn lay(&mut self) {
        self.lines.clear();
        self.problems.clear();
        let Some(message) = self.chosen_message() else {
            return;
        };
        let after = self.draft().map_or(&message.now, |draft| &draft.text);
        let lines = beside(&pretty(&message.original), &pretty(after));
        let revision = self.here.as_ref().and_then(|here| here.revision.as_deref());
        let problems = check_edited(&message.original, after, message.schema.as_deref(), revision);
        self.problems = problems.iter().map(ToString::to_string).collect();
        self.lines = lines;
    }
}

pub(crate) fn pretty(bytes: &[u8]) -> String {
    tap_text::pretty(String::from_utf8_lossy(bytes).trim_end())
}

impl Inspector {
    /// Attaches to the tap of a live session that is open, lets go of it when that is over, and asks for the message with the
    /// cursor where it is seen.
    pub(crate) fn fetch_live(&mut self, effects: &mut Vec<Effect>) {
        let (attach, ask) = (self.ticket(), self.ticket());
        let sees = self.view == crate::model::View::Held;
        let Some(open) = &mut self.open else {
            return;
        };
        let key = open.session.key;
        let debug = &mut open.debug;
        // What came while something was typed waits for that.
        if self.overlay.is_none()
            && let Some(again) = debug.again.take()
        {
            self.overlay = Some(crate::model::Overlay::Again(Box::new(again)));
        }
        if !open.live {
            effects.extend(debug.attach.take().map(Effect::Cancel));
            debug.here = None;
            debug.settle();
            return;
        }
        if debug.attach.is_none() {
            debug.attach = Some(attach);
            effects.push(Effect::Ask(attach, Query::Attach(key)));
        }
        let wanted = debug.chosen.filter(|_| sees && debug.chosen_message().is_none());
        if let Some(number) = wanted
            && debug.asked.is_none_or(|(asked, _)| asked != number)
        {
            effects.extend(debug.asked.replace((number, ask)).map(|(_, old)| Effect::Cancel(old)));
            effects.push(Effect::Ask(ask, Query::Control(key, LiveOrder::Message(number))));
        }
    }

    pub(crate) fn take_live(&mut self, ticket: Ticket, answer: Answer, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let debug = &mut open.debug;
        let is_small = self.size.1 < ROWS_FOR_ALL;
        match answer {
            Answer::Live(seen) if debug.attach == Some(ticket) => match *seen {
                LiveSeen::Away(why) => {
                    debug.away = Some(why);
                    debug.here = None;
                    debug.settle();
                    debug.lay();
                }
                LiveSeen::Here(mut here) => {
                    let is_new = |line: &HeldLine| {
                        line.why == "held" && debug.held().iter().all(|known| known.number != line.number)
                    };
                    if here.held.iter().any(is_new) {
                        effects.push(Effect::Bell);
                    }
                    debug.news.append(&mut here.news);
                    let surplus = debug.news.len().saturating_sub(NEWS);
                    debug.news.drain(..surplus);
                    // What a rule has changed meanwhile is asked for anew.
                    let chosen = debug.chosen;
                    let changed = |lines: &[HeldLine]| {
                        let line = lines.iter().find(|line| Some(line.number) == chosen);
                        line.map(|line| line.changed.clone())
                    };
                    if changed(debug.held()) != changed(&here.held) {
                        debug.message = None;
                        debug.asked = None;
                    }
                    let is_here = |number: &u64| here.held.iter().any(|line| line.number == *number);
                    let lost = debug.drafts.keys().find(|number| !is_here(number) && debug.released != Some(**number));
                    let lost =
                        lost.map(|number| format!("message {number} went on meanwhile, without what was edited"));
                    debug.away = None;
                    debug.here = Some(here);
                    debug.settle();
                    debug.lay();
                    if let Some(lost) = lost {
                        self.say(lost, true);
                    }
                }
            },
            Answer::HeldMessage(message) if debug.asked == Some((message.number, ticket)) => {
                let is_new = debug.chosen_message().is_none();
                debug.message = Some(*message);
                debug.lay();
                if is_new && is_small {
                    debug.show_arguments();
                }
            }
            Answer::Ordered(told) if debug.ordered == Some(ticket) => {
                debug.ordered = None;
                if !told.is_empty() {
                    self.say(told, false);
                }
            }
            Answer::Resent(resent) => self.take_resent(ticket, &resent),
            _ => {}
        }
    }

    pub(crate) fn live_failed(&mut self, ticket: Ticket, effects: &mut Vec<Effect>) {
        let Some(open) = &mut self.open else {
            return;
        };
        let debug = &mut open.debug;
        debug.ordered = debug.ordered.filter(|ordered| *ordered != ticket);
        debug.resending = debug.resending.take().filter(|(resending, _)| *resending != ticket);
        // An editor that failed leaves the message as it was, and its clock goes on.
        if let Some((_, Edits::Held(number, true) | Edits::Answer(number, _))) =
            debug.editing.take_if(|(editing, _)| *editing == ticket)
        {
            self.keep_again(number, effects);
        }
    }

    /// Has the tap do something. One thing at a time, for the next one may be about what the first one changes.
    pub(crate) fn order(&mut self, order: LiveOrder, effects: &mut Vec<Effect>) {
        let ticket = self.ticket();
        let Some((key, debug)) = self.debugged() else {
            return;
        };
        if debug.ordered.is_some() {
            return self.say("a moment: what was asked before is not done yet", false);
        }
        debug.ordered = Some(ticket);
        effects.push(Effect::Ask(ticket, Query::Control(key, order)));
    }

    /// The tap of the session that is open, if it is there; else it is told that it is not.
    pub(crate) fn debugged(&mut self) -> Option<(SessionKey, &mut Live)> {
        let is_here = self.open.as_ref().is_some_and(|open| open.debug.here.is_some());
        if !is_here {
            let why = self.why_away();
            self.say(why, false);
            return None;
        }
        self.open.as_mut().map(|open| (open.session.key, &mut open.debug))
    }

    /// Why nothing can be held here.
    pub(crate) fn why_away(&self) -> String {
        match &self.open {
            None => "no session is open".into(),
            Some(open) if !open.live => "this session is over: nothing can be held in it".into(),
            Some(open) => open.debug.away.clone().unwrap_or_else(|| "the tap is being looked for …".into()),
        }
    }
}
