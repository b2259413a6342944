//! Prompts of the live debugger: breakpoints, codes of errors, times, and questions that want a yes.

use tap_control::{ACTIONS, Release, RuleError, read_breakpoint, read_duration};
use tap_filter::{Candidate, Context};
use tap_session::RowKind;

use super::{LiveOrder, Resend};
use crate::effect::Effect;
use crate::input::{Key, KeyCode};
use crate::model::{Inspector, Overlay};
use crate::prompt::Prompt;
use crate::settings::HISTORY;
use crate::update::written;

/// What separates which messages from what happens to them.
const ARROW: &str = "->";

/// What is typed about a message that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asks {
    /// Which error answers it.
    Error(u64),
    /// How much later it goes.
    Delay(u64),
}

/// What is done if the answer is yes.
#[derive(Debug, Clone)]
pub(crate) enum Sure {
    Order(LiveOrder),
    Resend(Resend),
}

impl Inspector {
    /// A breakpoint on messages like the one that is looked at, to be changed and set.
    pub(crate) fn break_here(&mut self) {
        if self.debugged().is_none() {
            return;
        }
        let row = self.open.as_ref().and_then(|open| open.rows.current()).map(|row| &row.row);
        let text = row.and_then(|row| {
            let which = match (row.method.as_deref()?, row.target.as_deref()) {
                ("tools/call", Some(tool)) => format!("tool:{}", written(tool)),
                (method, _) => format!("method:{}", written(method)),
            };
            let is_answer = matches!(row.kind, RowKind::Result | RowKind::Error);
            Some(format!("{which} {}", if is_answer { "is:response" } else { "is:request" }))
        });
        self.overlay = Some(Overlay::Break(Prompt::with(&text.unwrap_or_default())));
    }

    /// Reads a breakpoint as it is typed: as a fault is written, and what is not said is `hold`.
    pub(crate) fn read_break(&self, text: &str) -> Result<LiveOrder, RuleError> {
        let context =
            Context { now_unix_ns: i128::from(self.now_unix_ns), utc_offset_seconds: self.utc_offset_seconds };
        let rule = read_breakpoint(text, &context)?;
        Ok(LiveOrder::Break {
            filter: rule.filter.text().trim().to_owned(),
            action: rule.action.to_string(),
            when: rule.when.to_string(),
        })
    }

    /// What could stand before the cursor of a breakpoint that is typed.
    pub(crate) fn break_candidates(&self, prompt: &Prompt) -> Vec<Candidate> {
        let before = prompt.text.get(..prompt.cursor).unwrap_or_default();
        let Some((head, begun)) = before.rsplit_once(ARROW) else {
            return self.candidates(prompt);
        };
        let typed = begun.trim_start();
        let from = head.len() + ARROW.len() + (begun.len() - typed.len());
        let fits = ACTIONS.iter().filter(|(name, _)| name.starts_with(typed) && *name != typed);
        fits.map(|(name, example)| Candidate { from, text: (*name).into(), about: (*example).into() }).collect()
    }

    pub(crate) fn break_key(&mut self, mut prompt: Prompt, key: Key, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter if prompt.text.trim().is_empty() => return,
            KeyCode::Enter => {
                // What is wrong is on the screen; it stays open until it is right.
                if let Ok(order) = self.read_break(&prompt.text) {
                    let text = prompt.text.trim().to_owned();
                    self.history.retain(|old| *old != text);
                    self.history.push(text);
                    let surplus = self.history.len().saturating_sub(HISTORY);
                    self.history.drain(..surplus);
                    return self.order(order, effects);
                }
            }
            KeyCode::Tab => crate::update::complete_from(&self.break_candidates(&prompt), &mut prompt),
            _ => {
                prompt.key(key, &self.history);
            }
        }
        self.overlay = Some(Overlay::Break(prompt));
    }

    pub(crate) fn asks_key(&mut self, mut prompt: Prompt, asks: Asks, key: Key, effects: &mut Vec<Effect>) {
        match key.code {
            KeyCode::Escape => return,
            KeyCode::Enter => {
                if let Ok((number, how)) = read_asked(&prompt.text, asks) {
                    return self.release(number, how, effects);
                }
            }
            _ => {
                prompt.key(key, &[]);
            }
        }
        self.overlay = Some(Overlay::Asks(prompt, asks));
    }

    /// A question was answered: anything but yes is no.
    pub(crate) fn sure_key(&mut self, sure: Sure, key: Key, effects: &mut Vec<Effect>) {
        if key.code != KeyCode::Char('y') || key.control || key.alt {
            return self.say("nothing was done", false);
        }
        match sure {
            Sure::Order(LiveOrder::Release(number, how)) => self.release(number, how, effects),
            Sure::Order(order) => self.order(order, effects),
            Sure::Resend(resend) => self.resend(resend, effects),
        }
    }
}

/// What was typed about a message that waits.
pub(crate) fn read_asked(text: &str, asks: Asks) -> Result<(u64, Release), &'static str> {
    match asks {
        Asks::Delay(number) => match read_duration(text.trim()) {
            Some(ns) => Ok((number, Release::Later(ns))),
            None => Err("this is no time: write 2s, 500ms, 1m"),
        },
        Asks::Error(number) => {
            let (code, message) = text.split_once(':').unwrap_or((text, "refused by hand"));
            let Ok(code) = code.trim().parse() else {
                return Err("this is no code of an error: write -32000:refused");
            };
            Ok((number, Release::Error { code, message: message.trim().into() }))
        }
    }
}
