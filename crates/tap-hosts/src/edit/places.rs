//! Where elements and members begin and end, and how new ones are written beside them.

use super::{Edit, Refusal};
use crate::document::Format;
use crate::node::{Member, Node};
use crate::splice::{Splices, quoted};

impl Edit<'_> {
    pub(super) fn member(&self, key: &str) -> Option<&Member> {
        self.found.map.map()?.get(key)
    }

    /// What stands there, such as it can be moved into a list: in brackets a text of YAML without quotation marks must not
    /// have what means something there.
    pub(super) fn movable(&self, node: &Node, key: &str, in_brackets: bool) -> Result<&str, Refusal> {
        let raw = self.document.raw(&node.span);
        let can_be_moved = match self.document.format {
            Format::Json | Format::Toml => true,
            Format::Yaml => {
                let is_quoted = raw.starts_with(['"', '\'']);
                // A text in lines of its own is not what stands there.
                let is_plain = node.text() == Some(raw) && (!in_brackets || !raw.contains([',', '[', ']', '{', '}']));
                !raw.contains('\n') && (is_quoted || is_plain)
            }
        };
        if can_be_moved && !raw.is_empty() { Ok(raw) } else { Err(Refusal::Spelled(key.to_owned())) }
    }

    /// A name or a word in the quotation marks in which another stands.
    pub(super) fn renamed(&self, raw: &str, from: &str, to: &str) -> Result<String, Refusal> {
        let quote = raw.chars().next().filter(|first| matches!(first, '"' | '\''));
        let expected = quote.map_or_else(|| from.to_owned(), |quote| format!("{quote}{from}{quote}"));
        if raw != expected {
            return Err(Refusal::Spelled(from.to_owned()));
        }
        Ok(quote.map_or_else(|| to.to_owned(), |quote| format!("{quote}{to}{quote}")))
    }

    /// The same for the name of a member, in place.
    pub(super) fn rename(&self, splices: &mut Splices, member: &Member, to: &str) -> Result<(), Refusal> {
        let renamed = self.renamed(self.document.raw(&member.key_span), &member.key, to)?;
        splices.replace(member.key_span.clone(), renamed);
        Ok(())
    }

    /// What stands between a name and its value.
    pub(super) fn separator(&self) -> &'static str {
        match self.document.format {
            Format::Json | Format::Yaml => ": ",
            Format::Toml => " = ",
        }
    }

    /// What stands between one member and the next, where the first begins at a place.
    pub(super) fn between_members(&self, at: usize, key: &str) -> Result<String, Refusal> {
        if self.document.format == Format::Json || !self.found.map.is_block {
            return Ok(", ".into());
        }
        let prefix = self.document.raw(&(self.document.line_start(at)..at));
        let refused = || Refusal::Spelled(key.to_owned());
        let again = match self.document.format {
            // A table's name may stand before each of its members.
            Format::Toml if !prefix.contains(['{', '=', '[', '#']) => prefix.to_owned(),
            Format::Yaml if prefix.chars().all(|character| matches!(character, ' ' | '-')) => " ".repeat(prefix.len()),
            _ => return Err(refused()),
        };
        Ok(format!("{}{again}", self.document.line_end(at)))
    }

    /// Where the elements of a list begin, with the dashes that they have in a block of YAML.
    pub(super) fn beginnings(&self, list: &Node, key: &str) -> Result<Vec<usize>, Refusal> {
        let elements = list.list().unwrap_or_default();
        if !list.is_block {
            return Ok(elements.iter().map(|element| element.span.start).collect());
        }
        let dash = |element: &Node| {
            let line = self.document.line_start(element.span.start);
            let before = self.document.raw(&(line..element.span.start));
            let spaces = before.len() - before.trim_start_matches(' ').len();
            (before.trim() == "-").then_some(line + spaces)
        };
        let dashes = elements.iter().map(|element| dash(element).ok_or_else(|| Refusal::Spelled(key.to_owned())));
        dashes.collect()
    }

    /// Puts words, as they are to be written, before the first element of a list.
    pub(super) fn put_before(&self, list: &Node, key: &str, words: &[String]) -> Result<Splices, Refusal> {
        let mut splices = Splices::default();
        match self.beginnings(list, key)?.first() {
            None => splices.insert(list.span.start + 1, words.join(", ")),
            Some(first) if list.is_block => {
                let indent = self.document.raw(&(self.document.line_start(*first)..*first));
                let line_end = self.document.line_end(*first);
                let lines: String = words.iter().map(|word| format!("- {word}{line_end}{indent}")).collect();
                splices.insert(*first, lines);
            }
            Some(first) => splices.insert(*first, format!("{}, ", words.join(", "))),
        }
        Ok(splices)
    }

    /// Takes the first elements of a list away.
    pub(super) fn take_first(&self, list: &Node, key: &str, n_first: usize) -> Result<Splices, Refusal> {
        let mut splices = Splices::default();
        let beginnings = self.beginnings(list, key)?;
        let elements = list.list().unwrap_or_default();
        let (Some(first), Some(last)) = (beginnings.first(), n_first.checked_sub(1).and_then(|at| elements.get(at)))
        else {
            return Ok(splices);
        };
        match beginnings.get(n_first) {
            Some(next) => splices.replace(*first..*next, ""),
            // Further in than its name, as it has to be.
            None if list.is_block => splices.replace(*first..last.span.end, "  []"),
            None => {
                // A comma that somebody has put behind it since.
                let behind = self.document.text.get(last.span.end..).unwrap_or_default();
                let comma = behind.trim_start().starts_with(',').then(|| behind.find(',').unwrap_or_default() + 1);
                splices.replace(*first..last.span.end + comma.unwrap_or_default(), "");
            }
        }
        Ok(splices)
    }

    /// Takes a member away. Between the member that was written beside it and itself nothing else is touched.
    pub(super) fn take_member(&self, member: &Member, beside: &Member) -> Splices {
        let mut splices = Splices::default();
        let members = self.found.map.map().map(|map| map.0.as_slice()).unwrap_or_default();
        let at = members.iter().position(|other| other.key_span == member.key_span).unwrap_or_default();
        let before = at.checked_sub(1).and_then(|at| members.get(at));
        let next = members.get(at + 1);
        let is_in_lines = self.found.map.is_block && self.document.format != Format::Json;
        let span = match (before, next) {
            (Some(before), _) if before.key_span == beside.key_span && !is_in_lines => {
                before.value.span.end..member.value.span.end
            }
            (_, Some(next)) if next.key_span == beside.key_span || !is_in_lines => {
                member.key_span.start..next.key_span.start
            }
            (Some(before), None) if !is_in_lines => before.value.span.end..member.value.span.end,
            _ => {
                let end = member.value.span.end;
                let behind = self.document.text.get(end..).and_then(|behind| behind.find('\n'));
                self.document.line_start(member.key_span.start)
                    ..behind.map_or(self.document.text.len(), |newline| end + newline + 1)
            }
        };
        splices.replace(span, "");
        splices
    }

    /// Words as they are written in quotation marks.
    pub(super) fn quoted(words: &[String]) -> Vec<String> {
        words.iter().map(|word| quoted(word)).collect()
    }
}
