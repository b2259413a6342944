//! Servers that the host starts: the tap becomes the command, and the command its argument.

use super::{Edit, Refusal};
use crate::command_line::{Tap, Tapped, Was};
use crate::document::Format;
use crate::node::Value;
use crate::splice::{Splices, quoted};

impl Edit<'_> {
    pub(super) fn wrap_command(&self, tap: &Tap) -> Result<Splices, Refusal> {
        let key = self.found.command_key;
        let command = self.member(key).ok_or(Refusal::NoCommand)?;
        self.not_shared(&command.value, key)?;
        let name = &self.found.server.name;
        if self.words.is_one_list {
            let mut words = vec![quoted(&tap.program)];
            words.extend(Self::quoted(&tap.before_command(name, &Was::default())));
            return self.put_before(&command.value, key, &words);
        }
        let arguments = self.member(self.words.arguments);
        let mut splices = Splices::default();
        match arguments {
            Some(arguments) => {
                self.not_shared(&arguments.value, self.words.arguments)?;
                if arguments.value.value == Value::Null {
                    return Err(Refusal::Spelled(self.words.arguments.to_owned()));
                }
                let raw = self.movable(&command.value, key, !arguments.value.is_block)?;
                let mut words = Self::quoted(&tap.before_command(name, &Was::default()));
                words.push(raw.to_owned());
                splices.extend(self.put_before(&arguments.value, self.words.arguments, &words)?);
            }
            None => {
                let raw = self.movable(&command.value, key, true)?;
                let was = Was { no_arguments: true, ..Was::default() };
                let mut words = Self::quoted(&tap.before_command(name, &was));
                words.push(raw.to_owned());
                let key_raw = self.document.raw(&command.key_span);
                let arguments = self.renamed(key_raw, key, self.words.arguments)?;
                let member = format!("{arguments}{}[{}]", self.separator(), words.join(", "));
                // In lines it comes before: what stands behind the command may be a comment.
                if self.document.format == Format::Json {
                    splices.insert(command.value.span.end, format!(", {member}"));
                } else {
                    let between = self.between_members(command.key_span.start, key)?;
                    splices.insert(command.key_span.start, format!("{member}{between}"));
                }
            }
        }
        splices.replace(command.value.span.clone(), quoted(&tap.program));
        Ok(splices)
    }

    pub(super) fn unwrap_command(&self, tapped: &Tapped) -> Result<Splices, Refusal> {
        let key = self.found.command_key;
        let command = self.member(key).ok_or(Refusal::NotExact)?;
        self.not_shared(&command.value, key)?;
        if self.words.is_one_list {
            // The program is one of the list.
            return self.take_first(&command.value, key, tapped.at + 1);
        }
        let arguments = self.member(self.words.arguments).ok_or(Refusal::NotExact)?;
        self.not_shared(&arguments.value, self.words.arguments)?;
        let list = arguments.value.list().ok_or(Refusal::NotExact)?;
        let meant = list.get(tapped.at).ok_or(Refusal::NotExact)?;
        let raw = self.movable(meant, key, false)?;
        let mut splices = Splices::default();
        splices.replace(command.value.span.clone(), raw);
        if tapped.was.no_arguments && list.len() == tapped.at + 1 {
            splices.extend(self.take_member(arguments, command));
        } else {
            splices.extend(self.take_first(&arguments.value, self.words.arguments, tapped.at + 1)?);
        }
        Ok(splices)
    }
}
