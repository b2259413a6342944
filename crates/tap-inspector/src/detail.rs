//! A message that is open: its forms, its folds, and what can be taken out of it.

mod find;
mod out;
mod shell;

pub(crate) use shell::word as shell_word;

use std::ops::Range;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::about::{Slot, Target};
use crate::data::{MessageParts, Whole};
use crate::effect::Ticket;
use crate::keymap::Action;
use crate::model::{Detail, Form};
use crate::tree::{Content, Tree};
pub(crate) use find::Find;
pub(crate) use out::{Copied, Facts};

/// From this width on request and answer stand beside each other: as much as a screen of 160 columns has, less what its
/// edges take.
pub(crate) const BESIDE: usize = 140;

impl Detail {
    /// Takes a message that came. The same one once more keeps its place.
    pub(crate) fn new(parts: MessageParts, before: Option<Self>, opens_strings: bool) -> Self {
        let (form, find) = before.as_ref().map_or((Form::Pretty, None), |before| (before.form, before.find.clone()));
        let tree = Tree::new(parts.this.bytes.clone(), opens_strings);
        let other = parts.other.as_ref().map(|other| Tree::new(other.bytes.clone(), opens_strings));
        let new = Self {
            parts,
            form,
            tree,
            other,
            cursor: 0,
            top: 0,
            raw: (0, Vec::new()),
            stale: false,
            abouts: Default::default(),
            find: find.map(Find::anew),
            beside: None,
        };
        match before.filter(|before| before.parts.this.row.at() == new.parts.this.row.at()) {
            Some(Self { tree, cursor, top, abouts, .. }) if tree.is_of(&new.parts.this.bytes) => {
                // What is known stays on the screen until it is known anew.
                let abouts = abouts.map(|slot| Slot { asked: false, ..slot });
                Self { tree, cursor, top, abouts, ..new }
            }
            Some(_) | None => new,
        }
    }

    /// Which questions about it are open.
    pub(crate) fn tickets(&self) -> impl Iterator<Item = Ticket> + '_ {
        self.abouts.iter().filter_map(|slot| slot.ticket)
    }

    /// The forms that it has, in the order of their tabs.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (Form, &'static str)> + '_ {
        Form::ALL.into_iter().filter(|(form, _)| *form != Form::Http || !self.parts.exchange.is_empty())
    }

    /// Puts the cursor where there is a line and the top where it is seen, on a screen of this size.
    pub(crate) fn fit(&mut self, width: usize, height: usize) {
        if self.form == Form::Http && self.parts.exchange.is_empty() {
            self.form = Form::Pretty;
        }
        if self.form == Form::Raw && self.raw.0 != width {
            self.raw = (width, broken(&self.parts.this.bytes, width));
        }
        let n_lines = self.n_lines();
        self.cursor = self.cursor.min(n_lines.saturating_sub(1));
        self.top = self.top.min(self.cursor).max((self.cursor + 1).saturating_sub(height));
        self.top = self.top.min(n_lines.saturating_sub(height));
        if self.form != Form::Pretty || self.other.is_none() || width < BESIDE {
            self.beside = None;
            return;
        }
        let (n_this, tops) = (self.tree.lines().len(), self.beside.unwrap_or_default());
        let n_other = self.other.as_ref().map_or(0, |other| other.lines().len());
        // Nothing stands between the two then.
        if (n_this..n_this + 2).contains(&self.cursor) {
            let came_from_above = self.beside.is_some_and(|_| self.top <= n_this) && self.cursor == n_this;
            self.cursor = if came_from_above { n_this + 2 } else { n_this.saturating_sub(1) };
        }
        let seen = |top: usize, cursor: usize, n_lines: usize| {
            // Each has its head above.
            let height = height.saturating_sub(1).max(1);
            top.min(cursor).max((cursor + 1).saturating_sub(height)).min(n_lines.saturating_sub(height))
        };
        self.beside = Some(match self.cursor.checked_sub(n_this + 2) {
            None => [seen(tops[0], self.cursor, n_this), tops[1]],
            Some(cursor) => [tops[0], seen(tops[1], cursor, n_other)],
        });
    }

    pub(crate) fn show(&mut self, form: Form) {
        self.form = form;
        (self.cursor, self.top) = (0, 0);
    }

    pub(crate) fn next_form(&mut self) {
        let forms: Vec<Form> = self.forms().map(|(form, _)| form).collect();
        let here = forms.iter().position(|form| *form == self.form).unwrap_or(0);
        self.show(forms.get(here + 1).copied().unwrap_or(Form::Pretty));
    }

    /// From a request to its answer below or beside it, and back.
    pub(crate) fn other_half(&mut self) {
        if self.form == Form::Pretty && self.other.is_some() {
            let begin = self.tree.lines().len() + 2;
            self.cursor = if self.cursor < begin { begin } else { 0 };
        }
    }

    /// The message that the line with the cursor is about.
    pub(crate) fn goes_to(&self) -> Option<Target> {
        if let Some(part) = self.about_shown() {
            return self.slot(part).about.as_ref()?.lines.get(self.cursor)?.goes_to;
        }
        let (tree, line) = self.tree_line()?;
        match &tree.lines().get(line)?.content {
            Content::Mark(mark) => mark.goes_to.map(|at| Target { session: None, at }),
            _ => None,
        }
    }

    /// The tree with the cursor, and the line in it.
    pub(crate) fn tree_line(&self) -> Option<(&Tree, usize)> {
        if self.form != Form::Pretty {
            return None;
        }
        let n_lines = self.tree.lines().len();
        match self.cursor.checked_sub(n_lines + 2) {
            None => (self.cursor < n_lines).then_some((&self.tree, self.cursor)),
            Some(line) => self.other.as_ref().map(|other| (other, line)),
        }
    }

    /// The message with the cursor, this one or the other half of its call.
    pub(crate) fn half(&self) -> &Whole {
        let is_other = self.form == Form::Pretty && self.cursor > self.tree.lines().len();
        self.parts.other.as_ref().filter(|_| is_other).unwrap_or(&self.parts.this)
    }

    pub(crate) fn open_strings(&mut self, opens_strings: bool) {
        self.tree.set_opens_strings(opens_strings);
        if let Some(other) = &mut self.other {
            other.set_opens_strings(opens_strings);
        }
    }

    /// How many lines there are in the form that is shown.
    pub(crate) fn n_lines(&self) -> usize {
        match self.form {
            Form::Pretty => self.tree.lines().len() + self.other.as_ref().map_or(0, |other| other.lines().len() + 2),
            Form::Raw => self.raw.1.len(),
            Form::Http => self.parts.exchange.len(),
            Form::Schema | Form::Call | Form::Explain => {
                let about = self.about_shown().and_then(|part| self.slot(part).about.as_ref());
                about.map_or(0, |about| about.lines.len())
            }
            Form::Hex => self.parts.this.bytes.len().div_ceil(16),
        }
    }

    /// Which tree a line is of, and which line of that.
    fn in_tree(&mut self, line: usize) -> Option<(&mut Tree, usize, usize)> {
        let n_lines = self.tree.lines().len();
        if line < n_lines {
            return Some((&mut self.tree, line, 0));
        }
        let begin = n_lines + 2;
        let other = self.other.as_mut()?;
        Some((other, line.checked_sub(begin)?, begin))
    }

    /// Folds, unfolds, goes to the container; false when there is nothing further to the left.
    pub(crate) fn fold(&mut self, action: Action) -> bool {
        if self.form != Form::Pretty {
            return action != Action::Left;
        }
        let cursor = self.cursor;
        let Some((tree, line, begin)) = self.in_tree(cursor) else {
            return action != Action::Left;
        };
        let is_open = tree.lines().get(line).is_some_and(|line| matches!(line.content, Content::Open(_)));
        match action {
            Action::Left if is_open => {
                tree.toggle(line);
            }
            Action::Left => match tree.parent(line) {
                Some(parent) => self.cursor = begin + parent,
                None => return false,
            },
            Action::Right if is_open => {}
            _ => {
                tree.toggle(line);
            }
        }
        self.top = self.top.min(self.cursor);
        true
    }
}

/// Breaks bytes into lines of so many columns at most, as they look when they are shown.
fn broken(bytes: &[u8], width: usize) -> Vec<Range<usize>> {
    let width = width.max(8);
    let (mut lines, mut from, mut at, mut used) = (Vec::new(), 0, 0, 0);
    for chunk in bytes.utf8_chunks() {
        let wrong =
            if chunk.invalid().is_empty() { None } else { Some((char::REPLACEMENT_CHARACTER, chunk.invalid().len())) };
        for (c, length) in chunk.valid().chars().map(|c| (c, c.len_utf8())).chain(wrong) {
            if c == '\n' {
                lines.push(from..at);
                (from, used) = (at + length, 0);
            } else {
                let columns = match c {
                    ' '..='~' => 1,
                    // Made visible, it takes as many columns as its escape has.
                    _ if tap_text::is_hidden(c) => tap_text::shown(c.encode_utf8(&mut [0; 4]), false).width(),
                    _ => c.width().unwrap_or(1),
                };
                if used + columns > width {
                    lines.push(from..at);
                    (from, used) = (at, 0);
                }
                used += columns;
            }
            at += length;
        }
    }
    if from < at || lines.is_empty() {
        lines.push(from..at);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn raw_bytes_are_broken_where_the_screen_ends() {
        for (bytes, expected) in [
            (&b""[..], &[""][..]),
            (b"12345678", &["12345678"]),
            (b"123456789", &["12345678", "9"]),
            (b"ab\n\ncd\n", &["ab", "", "cd"]),
            ("日日日日日".as_bytes(), &["日日日日", "日"]),
            (b"a\x1bb", &["a\x1bb"]),
            (b"abc\x1bb", &["abc", "\x1bb"]),
            (b"1234567\xff\xff", &["1234567\u{fffd}", "\u{fffd}"]),
        ] {
            let lines = broken(bytes, 8);
            let lines: Vec<_> = lines.into_iter().map(|line| String::from_utf8_lossy(&bytes[line])).collect();
            assert_eq!(lines, expected, "{}", bytes.escape_ascii());
        }
    }
}
