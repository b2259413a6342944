//! Copying: the menu, and what it leads to.

use crate::detail::{Copied, Facts};
use crate::effect::Effect;
use crate::input::{Key, KeyCode};
use crate::model::{Detail, Inspector, Overlay, Pane, View};
use crate::prompt::Prompt;

impl Inspector {
    /// The message that is open, with what is known around it.
    fn copied_from(&self) -> Option<(&Detail, Facts<'_>)> {
        let open = self.open.as_ref()?;
        let detail = open.detail.as_ref()?;
        let halves = [Some(&detail.parts.this), detail.parts.other.as_ref()];
        let findings = halves
            .into_iter()
            .flatten()
            .filter_map(|half| open.findings.by_message.get(&half.row.at()))
            .flatten()
            .map(|finding| format!("{} {} #{}: {}", finding.rule, finding.title, finding.at.seq, finding.detail));
        Some((detail, Facts { session: &open.session, findings: findings.collect() }))
    }

    /// What can be copied now. What is about the cursor in the message only where that has the keys.
    pub(crate) fn copies(&self) -> Vec<(char, Copied, &'static str)> {
        let in_message = self.open.as_ref().is_some_and(|open| open.pane == Pane::Detail);
        let is_of_cursor = |what: &Copied| matches!(what, Copied::Value | Copied::Path | Copied::Filter);
        match self.copied_from() {
            Some((detail, facts)) => {
                detail.copies(&facts).filter(|(_, what, _)| in_message || !is_of_cursor(what)).collect()
            }
            None => Vec::new(),
        }
    }

    pub(super) fn copy_key(&mut self, chosen: usize, key: Key, effects: &mut Vec<Effect>) {
        let items = self.copies();
        let last = items.len().saturating_sub(1);
        let picked = match key.code {
            KeyCode::Down | KeyCode::Char('j') => {
                self.overlay = Some(Overlay::Copy((chosen + 1).min(last)));
                return;
            }
            KeyCode::Up | KeyCode::Char('k') => {
                self.overlay = Some(Overlay::Copy(chosen.saturating_sub(1)));
                return;
            }
            KeyCode::Enter => items.get(chosen),
            KeyCode::Char(c) if !key.control && !key.alt => items.iter().find(|(key, ..)| *key == c),
            _ => return,
        };
        match picked {
            Some((_, what, _)) => self.copy(*what, effects),
            None => self.say("there is no such thing to copy here", false),
        }
    }

    pub(super) fn copy(&mut self, what: Copied, effects: &mut Vec<Effect>) {
        let copied = self.copied_from().and_then(|(detail, facts)| detail.copied(what, &facts));
        match (copied, what) {
            (Some((filter, _)), Copied::Filter) => {
                let before = self.open.as_ref().and_then(|open| open.filter.as_ref());
                let before = before.map(|before| format!("{} ", before.text())).unwrap_or_default();
                let filter = String::from_utf8_lossy(&filter);
                self.view = View::Timeline;
                self.overlay = Some(Overlay::Filter(Prompt::with(&format!("{before}{filter}"))));
            }
            (Some((bytes, name)), _) => effects.push(Effect::CopyBytes { bytes, name }),
            (None, _) => self.say("there is no such thing to copy here", false),
        }
    }
}
