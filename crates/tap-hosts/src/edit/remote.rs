//! Servers at an address: the tap becomes a command that is a bridge to it, and the address its argument.
//!
//! Values of headers become variables of the bridge's environment, where they stand: they may be secrets, and a command line
//! can be read by everybody on the machine.

use super::{Edit, Refusal};
use crate::command_line::{HEADER_VARIABLE, Tap, Tapped, Was};
use crate::mask::secret_part;
use crate::node::{Map, Member};
use crate::server::Remote;
use crate::splice::{Splices, quoted};

/// Members that say how the host is to be let in, or what it is to send, in a way that no command line has.
const HOST_ALONE: [&str; 8] = [
    "oauth",
    "auth",
    "authorization",
    "authorization_token",
    "apiKey",
    "requestOptions",
    "env_http_headers",
    "headersHelper",
];

const BEARER: &str = "bearer_token_env_var";
const PASSED_ON: &str = "env_vars";

impl Edit<'_> {
    pub(super) fn wrap_remote(&self, tap: &Tap, remote: &Remote) -> Result<Splices, Refusal> {
        if let Some(member) = HOST_ALONE.into_iter().find_map(|key| self.member(key)) {
            return Err(Refusal::HostAlone(member.key.clone()));
        }
        if let Some(part) = secret_part(&remote.url) {
            return Err(Refusal::SecretAddress(part));
        }
        let words = self.words;
        let url = words.url.iter().find_map(|key| self.member(key)).ok_or(Refusal::NoCommand)?;
        self.not_shared(&url.value, &url.key)?;
        for taken in [words.command, words.arguments] {
            if self.member(taken).is_some() {
                return Err(Refusal::Taken(taken.to_owned()));
            }
        }
        // Without any in it, it can stay what it is.
        let headers = self.member(words.headers);
        let headers = headers.filter(|_| !remote.headers.is_empty() || self.member(words.environment).is_none());
        let kind = self.member("type");
        let bearer = self.member(BEARER);
        let was = Was {
            no_arguments: false,
            url: Some(url.key.clone()),
            kind: kind.and(remote.transport.clone()),
            headers: headers.map(|headers| headers.key.clone()),
            bearer: bearer.map(|bearer| bearer.key.clone()),
        };
        let mut splices = Splices::default();
        let arguments = Self::quoted(&tap.before_address(&self.found.server.name, remote, &was)).join(", ");
        let url_raw = self.document.raw(&url.key_span);
        self.movable(&url.value, &url.key, true)?;
        let command = self.renamed(url_raw, &url.key, words.command)?;
        if words.is_one_list {
            splices.replace(url.key_span.clone(), command);
            splices.insert(url.value.span.start, format!("[{}, {arguments}, ", quoted(&tap.program)));
        } else {
            let between = self.between_members(url.key_span.start, &url.key)?;
            let list = self.renamed(url_raw, &url.key, words.arguments)?;
            let program = quoted(&tap.program);
            splices.replace(url.key_span.clone(), format!("{command}{}{program}{between}{list}", self.separator()));
            splices.insert(url.value.span.start, format!("[{arguments}, "));
        }
        splices.insert(url.value.span.end, "]");
        if let Some(kind) = kind {
            self.not_shared(&kind.value, "type")?;
            let word = remote.transport.as_deref().unwrap_or_default();
            let renamed = self.renamed(self.document.raw(&kind.value.span), word, words.stdio)?;
            splices.replace(kind.value.span.clone(), renamed);
        }
        if let Some(headers) = headers {
            if let Some(taken) = self.member(words.environment) {
                return Err(Refusal::Taken(taken.key.clone()));
            }
            self.not_shared(&headers.value, &headers.key)?;
            self.rename(&mut splices, headers, words.environment)?;
            let members = &headers.value.map().ok_or(Refusal::Wrong)?.0;
            // A name that is there twice, or whose value is nothing, is read as one less.
            if members.len() != remote.headers.len() {
                return Err(Refusal::Spelled(headers.key.clone()));
            }
            for (index, header) in members.iter().enumerate() {
                self.rename(&mut splices, header, &format!("{HEADER_VARIABLE}{}", index + 1))?;
            }
        }
        if let Some(bearer) = bearer {
            if self.member(PASSED_ON).is_some() {
                return Err(Refusal::Taken(PASSED_ON.to_owned()));
            }
            self.rename(&mut splices, bearer, PASSED_ON)?;
            splices.insert(bearer.value.span.start, "[");
            splices.insert(bearer.value.span.end, "]");
        }
        Ok(splices)
    }

    pub(super) fn unwrap_remote(&self, tapped: &Tapped) -> Result<Splices, Refusal> {
        let words = self.words;
        let command = self.member(words.command).ok_or(Refusal::NotExact)?;
        let url_key = tapped.was.url.as_deref().or(words.url.first().copied()).ok_or(Refusal::NotExact)?;
        let mut splices = Splices::default();
        let list_key = if words.is_one_list { words.command } else { words.arguments };
        let list = self.member(list_key).ok_or(Refusal::NotExact)?;
        self.not_shared(&list.value, list_key)?;
        let at = if words.is_one_list { tapped.at + 1 } else { tapped.at };
        let elements = list.value.list().ok_or(Refusal::NotExact)?;
        let url = elements.get(at).filter(|_| elements.len() == at + 1);
        let url = url.ok_or_else(|| Refusal::Changed(list_key.to_owned()))?;
        let raw = self.movable(url, list_key, false)?;
        let renamed = self.renamed(self.document.raw(&list.key_span), list_key, url_key)?;
        let follows = self.found.map.map().is_some_and(|map| is_next(map, command, list));
        if words.is_one_list {
            splices.replace(list.key_span.clone(), renamed);
        } else if follows {
            splices.replace(command.key_span.start..list.key_span.end, renamed);
        } else {
            splices.extend(self.take_member(command, list));
            splices.replace(list.key_span.clone(), renamed);
        }
        match list.value.is_block {
            // From the colon on, for in a block the address is no element of its line.
            true => {
                let line = self.document.raw(&(list.key_span.end..list.value.span.end));
                let colon = line.find(':').ok_or(Refusal::NotExact)?;
                splices.replace(list.key_span.end + colon + 1..url.span.end, format!(" {raw}"));
            }
            false => splices.replace(list.value.span.clone(), raw),
        }
        if let Some((kind, was)) = self.member("type").zip(tapped.was.kind.as_ref()) {
            let raw = self.document.raw(&kind.value.span);
            let renamed = self.renamed(raw, kind.value.text().unwrap_or_default(), was)?;
            splices.replace(kind.value.span.clone(), renamed);
        }
        let environment = self.member(words.environment);
        match (environment, &tapped.was.headers) {
            (Some(environment), Some(was)) => {
                self.rename(&mut splices, environment, was)?;
                for member in environment.value.map().map(|map| map.0.as_slice()).unwrap_or_default() {
                    let header = tapped.headers.iter().find(|(_, variable)| *variable == member.key);
                    let (header, _) = header.ok_or_else(|| Refusal::Changed(environment.key.clone()))?;
                    self.rename(&mut splices, member, header)?;
                }
            }
            (Some(environment), None) if !tapped.headers.is_empty() => {
                return Err(Refusal::Changed(environment.key.clone()));
            }
            _ => {}
        }
        if let Some((passed, was)) = self.member(PASSED_ON).zip(tapped.was.bearer.as_ref()) {
            let [variable] = passed.value.list().unwrap_or_default() else {
                return Err(Refusal::Changed(PASSED_ON.to_owned()));
            };
            self.rename(&mut splices, passed, was)?;
            splices.replace(passed.value.span.clone(), self.document.raw(&variable.span));
        }
        Ok(splices)
    }
}

/// Whether one member stands directly behind another.
fn is_next(map: &Map, first: &Member, second: &Member) -> bool {
    map.0.windows(2).any(|pair| match pair {
        [before, behind] => before.key_span == first.key_span && behind.key_span == second.key_span,
        _ => false,
    })
}
