//! What viewers and the command line ask of the debugger.

use bytes::Bytes;
use tap_filter::Filter;
use tap_frame::{Deed, Direction};
use tap_session::{Follower, Lens, Meaning};

use super::Debugger;
use crate::calls::What;
use crate::check::{Schemas, problems};
use crate::edit::merge;
use crate::make;
use crate::rule::{Action, Armed, Rule, RuleInfo, RuleKind, RuleOptions, When};
use crate::told::{CommandError, Event, HeldInfo, Release};
use crate::waiting::{Waiting, Why};

const BOTH: [Direction; 2] = [Direction::ToServer, Direction::ToClient];

impl Debugger {
    /// Sets a rule behind those that are set, and gives its number.
    pub fn set_rule(&mut self, rule: Rule, options: RuleOptions, at_ns: u64) -> u32 {
        if rule.filter.asks_findings() && self.follower.is_none() {
            let follower = if self.from_the_middle { Follower::from_the_middle() } else { Follower::new() };
            self.follower = Some(Box::new((follower, Lens::default(), Meaning::default())));
        }
        self.n_rules_set += 1;
        let number = self.n_rules_set;
        self.rules.push(Armed { number, rule, options, on: true, n_fitted: 0, n_hits: 0, set_at_ns: at_ns });
        self.events.push_back(Event::Rules);
        number
    }

    /// All rules, in the order in which they judge.
    #[must_use]
    pub fn rules(&self) -> Vec<RuleInfo> {
        self.rules.iter().map(Armed::info).collect()
    }

    /// Removes a rule. What it holds stays held.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn remove_rule(&mut self, number: u32) -> Result<(), CommandError> {
        let index = self.rules.iter().position(|armed| armed.number == number).ok_or(CommandError::NoRule(number))?;
        self.rules.remove(index);
        self.events.push_back(Event::Rules);
        Ok(())
    }

    /// Removes all rules of this kind, and lets go what breakpoints hold if it is these.
    pub fn remove_all(&mut self, kind: RuleKind, by: &str, at_ns: u64) -> usize {
        let before = self.rules.len();
        self.rules.retain(|armed| armed.options.kind != kind);
        self.events.push_back(Event::Rules);
        if kind == RuleKind::Breakpoint {
            self.release_all(by, at_ns);
        }
        before - self.rules.len()
    }

    /// Switches a rule on or off.
    ///
    /// # Errors
    ///
    /// When there is none.
    pub fn switch_rule(&mut self, number: u32, on: bool) -> Result<(), CommandError> {
        let armed = self.rules.iter_mut().find(|armed| armed.number == number).ok_or(CommandError::NoRule(number))?;
        armed.on = on;
        self.events.push_back(Event::Rules);
        Ok(())
    }

    /// All messages that wait, the oldest first.
    #[must_use]
    pub fn held(&self) -> Vec<HeldInfo> {
        let mut held: Vec<_> =
            self.sides.iter().flat_map(|side| side.queue.iter().map(|waiting| side.info(waiting))).collect();
        held.sort_by_key(|info| info.number);
        held
    }

    /// A message that waits: as it came, and as it would go on.
    ///
    /// # Errors
    ///
    /// When none waits under this number.
    pub fn held_message(&self, number: u64) -> Result<(Bytes, Bytes), CommandError> {
        let waiting = self.sides.iter().flat_map(|side| &side.queue).find(|waiting| waiting.number == number);
        let waiting = waiting.ok_or(CommandError::NothingHeld(number))?;
        Ok((waiting.message.bytes.clone(), waiting.bytes.clone()))
    }

    /// The input schemas of tools that were listed while messages were judged.
    #[must_use]
    pub fn schemas(&self) -> &Schemas {
        &self.calls.schemas
    }

    /// Sets the clock of a held message anew: it goes on by itself after so long, nanoseconds; `None` for never.
    ///
    /// # Errors
    ///
    /// When none is held under this number.
    pub fn keep_held(&mut self, number: u64, limit_ns: Option<u64>, at_ns: u64) -> Result<(), CommandError> {
        let waiting = self.sides.iter_mut().flat_map(|side| &mut side.queue).find(|waiting| waiting.number == number);
        match waiting.map(|waiting| &mut waiting.why) {
            Some(Why::Held { until_ns, .. }) => *until_ns = limit_ns.map(|limit_ns| at_ns.saturating_add(limit_ns)),
            _ => return Err(CommandError::NothingHeld(number)),
        }
        Ok(())
    }

    /// Says what becomes of a message that waits.
    ///
    /// # Errors
    ///
    /// When none waits under this number, or what was given for it is wrong: then it goes on waiting.
    pub fn release(&mut self, number: u64, how: Release, by: &str, at_ns: u64) -> Result<(), CommandError> {
        let place = BOTH.into_iter().find_map(|direction| Some((direction, self.side(direction).place_of(number)?)));
        let (direction, index) = place.ok_or(CommandError::NothingHeld(number))?;
        let Some(waiting) = self.side_mut(direction).take(index) else {
            return Err(CommandError::NothingHeld(number));
        };
        let done = self.decide(waiting, how, by, at_ns);
        let done = done.map_err(|refused| {
            let (waiting, error) = *refused;
            self.side_mut(direction).put(index, waiting);
            error
        });
        self.advance(direction, at_ns);
        done
    }

    fn decide(
        &mut self,
        mut waiting: Waiting,
        how: Release,
        by: &str,
        at_ns: u64,
    ) -> Result<(), Box<(Waiting, CommandError)>> {
        let by = by.to_owned();
        match how {
            Release::Go => self.go(waiting, Some((Deed::Released, by)), at_ns),
            Release::Original => {
                waiting.bytes = waiting.message.bytes.clone();
                waiting.changed_by = None;
                self.go(waiting, Some((Deed::Released, by)), at_ns);
            }
            Release::Edited { text, force, schema } => match self.edited(&waiting, &text, force, schema.as_deref()) {
                Ok(bytes) if bytes == waiting.message.bytes => {
                    waiting.bytes = bytes;
                    waiting.changed_by = None;
                    self.go(waiting, Some((Deed::Released, by)), at_ns);
                }
                Ok(bytes) => {
                    waiting.bytes = bytes;
                    waiting.changed_by = Some(by);
                    self.go(waiting, None, at_ns);
                }
                Err(error) => return Err(Box::new((waiting, error))),
            },
            Release::Drop => self.stop(waiting, Deed::Dropped, by, at_ns),
            Release::Answer(text) => {
                let (id, kind) = (waiting.message.id.clone(), waiting.message.kind);
                let Some(id) = id.filter(|_| kind == What::Request || kind.is_answer()) else {
                    return Err(Box::new((waiting, CommandError::NotARequest)));
                };
                if waiting.message.is_question_over_http() {
                    return Err(Box::new((waiting, CommandError::NotOverHttp)));
                }
                match make::written(&id, &text) {
                    Some(answer) => self.answer(waiting, answer.into(), by, at_ns),
                    None => return Err(Box::new((waiting, CommandError::NotAnAnswer))),
                }
            }
            Release::Error { code, message } => match self.error_for(&waiting, code, &message) {
                Some(error) => self.answer(waiting, error, by, at_ns),
                None if waiting.message.is_question_over_http() => {
                    return Err(Box::new((waiting, CommandError::NotOverHttp)));
                }
                None => return Err(Box::new((waiting, CommandError::NotARequest))),
            },
            Release::Later(ns) => {
                let direction = waiting.message.direction;
                waiting.why = Why::Delayed { by, until_ns: self.at_most(direction, at_ns.saturating_add(ns)) };
                // Where it stands among the others is where it came.
                let index = self.side(direction).queue.iter().position(|other| waiting.number < other.number);
                self.side_mut(direction).put(index.unwrap_or(usize::MAX), waiting);
            }
        }
        Ok(())
    }

    /// What goes out for an edited message, if it may.
    fn edited(
        &self,
        waiting: &Waiting,
        text: &[u8],
        force: bool,
        schema: Option<&[u8]>,
    ) -> Result<Bytes, CommandError> {
        let original = &waiting.message.bytes;
        let problems = problems(original, text, &self.calls.schemas, schema, self.calls.revision.as_deref());
        if !problems.is_empty() && !force {
            return Err(CommandError::Wrong(problems));
        }
        if matches!(problems.first(), Some(crate::Problem::NotJson(_))) {
            // Whatever it is, it stays one line.
            let text =
                text.trim_ascii_end().iter().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte });
            return Ok(text.chain([b'\n']).collect::<Vec<_>>().into());
        }
        if matches!(waiting.message.kind, What::Raw) {
            let mut bytes = crate::edit::compact(text);
            bytes.push(b'\n');
            return Ok(bytes.into());
        }
        Ok(merge(original, text).into())
    }

    /// Lets everything go on that is held, and removes what steps have set.
    pub fn release_all(&mut self, by: &str, at_ns: u64) -> usize {
        let n_held = self.held().iter().filter(|info| info.why == "held").count();
        self.rules.retain(|armed| !armed.options.temporary);
        for direction in BOTH {
            self.release_where(direction, |waiting| matches!(waiting.why, Why::Held { .. }), by, at_ns);
        }
        n_held
    }

    /// Lets the oldest message go on that is held, and holds the next one that comes, whichever it is.
    pub fn step(&mut self, by: &str, stays: bool, at_ns: u64) {
        self.rules.retain(|armed| !armed.options.temporary);
        let filter = Filter::parse("", &tap_filter::Context::default(), &|_| None);
        if let Ok(filter) = filter {
            self.set_temporary(filter, by, stays, at_ns);
        }
        let oldest = self.held().into_iter().find(|info| info.why == "held");
        if let Some(oldest) = oldest {
            let _ = self.release(oldest.number, Release::Go, by, at_ns);
        }
    }

    /// Lets everything go on that is held, and holds the next message that fits.
    pub fn run_to(&mut self, filter: Filter, by: &str, stays: bool, at_ns: u64) {
        self.rules.retain(|armed| !armed.options.temporary);
        self.set_temporary(filter, by, stays, at_ns);
        for direction in BOTH {
            self.release_where(direction, |waiting| matches!(waiting.why, Why::Held { .. }), by, at_ns);
        }
    }

    fn set_temporary(&mut self, filter: Filter, by: &str, stays: bool, at_ns: u64) {
        let text = filter.text().to_owned();
        let rule = Rule { filter, when: When::once(), action: Action::Hold, text };
        let options =
            RuleOptions { kind: RuleKind::Breakpoint, stays, whole_stream: false, by: by.to_owned(), temporary: true };
        self.set_rule(rule, options, at_ns);
    }

    /// Lets everything go on, and switches all rules off: somebody ends us, or nobody is to be held up any more.
    pub fn let_go(&mut self, why: &str, at_ns: u64) {
        for armed in &mut self.rules {
            armed.on = false;
        }
        self.rules.retain(|armed| !armed.options.temporary);
        self.let_go_waiting(why, at_ns);
    }

    /// A viewer has come that sees what is held.
    pub fn attached(&mut self) {
        self.n_viewers += 1;
    }

    /// A viewer has gone. With the last one go its steps, and what is held for somebody to look at.
    pub fn detached(&mut self, at_ns: u64) {
        self.n_viewers = self.n_viewers.saturating_sub(1);
        if self.n_viewers > 0 {
            return;
        }
        self.rules.retain(|armed| !armed.options.temporary || armed.options.stays);
        for direction in BOTH {
            let is_watched = |waiting: &Waiting| matches!(waiting.why, Why::Held { stays: false, .. });
            self.release_where(direction, is_watched, "nobody is attached", at_ns);
        }
    }

    /// How many viewers are attached.
    #[must_use]
    pub fn n_viewers(&self) -> usize {
        self.n_viewers
    }

    /// The revision of the protocol that is spoken, as far as it was seen.
    #[must_use]
    pub fn revision(&self) -> Option<&str> {
        self.calls.revision.as_deref()
    }

    /// What the faults did, a line each.
    #[must_use]
    pub fn summary(&self) -> Vec<String> {
        let faults = self.rules.iter().filter(|armed| armed.options.kind == RuleKind::Fault);
        let line =
            |armed: &Armed| format!("fault {}: {} of {} that fitted", armed.rule.text, armed.n_hits, armed.n_fitted);
        faults.map(line).collect()
    }
}
