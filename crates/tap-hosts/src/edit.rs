//! The tap put before servers, and taken away again: which parts of a text change.
//!
//! Tokens are moved as they are written, and nothing between them is touched, so that what was there can be put back exactly.
//! What cannot be told from the new text is written into it, as the value of `--was`. Each change is tried out and undone
//! before it is handed out: a server for which that does not give back every byte is left as it is.
//!
//! `edit/command.rs` has servers that are started, `edit/remote.rs` those at an address, `edit/places.rs` where lists and
//! members begin and end.

mod command;
mod places;
mod remote;

use thiserror::Error;

use crate::command_line::{Tap, Tapped};
use crate::document::{Document, DocumentError, Format};
use crate::node::Node;
use crate::read::{Found, Reader};
use crate::server::{Launch, Server};
use crate::shape::{Shape, Words};
use crate::splice::Splices;

/// A text after a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Edited {
    /// All of it.
    pub text: String,
    /// The servers that were changed, as they were.
    pub changed: Vec<Server>,
    /// Those that were behind the tap already.
    pub left: Vec<Server>,
    /// Those that should have been changed and could not.
    pub refused: Vec<Refused>,
}

/// A server that could not be changed.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// The server.
    pub server: Server,
    /// Why.
    pub why: Refusal,
}

/// Why a server could not be changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    /// The host has it in itself.
    #[error("the host starts it without a command, so nothing can stand before it")]
    NoCommand,
    /// Something about it is not as it should be.
    #[error("what is configured for it is not right")]
    Wrong,
    /// An alias, an anchor or a tag.
    #[error("`{0}` is an alias, an anchor or a tag of YAML; what is changed there may be meant elsewhere too")]
    Shared(String),
    /// It is written in a way that cannot be taken up.
    #[error("`{0}` is written in a way that could not be put back as it is")]
    Spelled(String),
    /// Something that only the host can do.
    #[error(
        "`{0}` is for the host alone, which a bridge on stdio cannot do in its place; tap it with `mcp-tap proxy URL`"
    )]
    HostAlone(String),
    /// The address has something secret in it, which everybody on the machine could read on a command line.
    #[error(
        "its address may hold a secret ({0}), which everybody on the machine could read on the bridge's command line; \
         put the secret into a header, or tap it with `mcp-tap proxy URL`"
    )]
    SecretAddress(String),
    /// Both would have to be in the same place.
    #[error("it has `{0}` already, where its headers would have to be")]
    Taken(String),
    /// The tap before it has more than `wrap` writes.
    #[error("what is before it was changed since `wrap` wrote it, in `{0}`; take it out by hand")]
    Changed(String),
    /// The change could not have been undone, or did not lead to what was meant.
    #[error("that could not be done exactly; do it by hand")]
    NotExact,
}

/// What is to be done with one server.
pub(crate) struct Edit<'d> {
    document: &'d Document<'d>,
    words: &'static Words,
    found: &'d Found<'d>,
}

/// Puts the tap before the servers that are chosen.
///
/// # Errors
///
/// When the text is not of its format.
pub fn wrap(
    text: &str,
    format: Format,
    shape: Shape,
    tap: &Tap,
    chosen: &mut dyn FnMut(&Server) -> bool,
) -> Result<Edited, DocumentError> {
    let document = Document::parse(text, format)?;
    change(&document, shape, chosen, &|edit| {
        let server = &edit.found.server;
        if server.tapped().is_some() {
            return Ok(None);
        }
        let splices = edit.wrap(tap)?;
        // Tried out, and undone.
        let tried = splices.clone().apply(text).ok_or(Refusal::NotExact)?;
        let there = Document::parse(&tried, format).map_err(|_| Refusal::NotExact)?;
        let (_, found) = Reader::read(&there, shape);
        let wrapped = found.iter().find(|found| found.server.path == server.path).ok_or(Refusal::NotExact)?;
        let tapped = wrapped.server.tapped().ok_or(Refusal::NotExact)?;
        let back = Edit::of(&there, shape, wrapped).unwrap(&tapped)?.apply(&tried);
        let is_exact = tapped.behind == server.launch && back.as_deref() == Some(text);
        if is_exact { Ok(Some(splices)) } else { Err(Refusal::NotExact) }
    })
}

/// Takes the tap away from the servers that are chosen, of those that are behind it.
///
/// # Errors
///
/// When the text is not of its format.
pub fn unwrap(
    text: &str,
    format: Format,
    shape: Shape,
    chosen: &mut dyn FnMut(&Server) -> bool,
) -> Result<Edited, DocumentError> {
    let document = Document::parse(text, format)?;
    let mut tapped = |server: &Server| server.tapped().is_some() && chosen(server);
    change(&document, shape, &mut tapped, &|edit| {
        let server = &edit.found.server;
        let Some(tapped) = server.tapped() else {
            return Ok(None);
        };
        let splices = edit.unwrap(&tapped)?;
        let tried = splices.clone().apply(text).ok_or(Refusal::NotExact)?;
        let there = Document::parse(&tried, format).map_err(|_| Refusal::NotExact)?;
        let (read, _) = Reader::read(&there, shape);
        let back = read.servers.iter().find(|back| back.path == server.path);
        let is_meant = back.is_some_and(|back| back.launch == tapped.behind);
        if is_meant { Ok(Some(splices)) } else { Err(Refusal::NotExact) }
    })
}

/// What one server needs; `None` where there is nothing to do.
type Work<'w> = &'w dyn Fn(&Edit<'_>) -> Result<Option<Splices>, Refusal>;

fn change(
    document: &Document<'_>,
    shape: Shape,
    chosen: &mut dyn FnMut(&Server) -> bool,
    work: Work<'_>,
) -> Result<Edited, DocumentError> {
    let (read, found) = Reader::read(document, shape);
    let mut edited = Edited { text: document.text.to_owned(), changed: vec![], left: vec![], refused: vec![] };
    let mut all = Splices::default();
    for found in found.iter().filter(|found| chosen(&found.server)) {
        let server = found.server.clone();
        let below = |key: &str| {
            let rest = key.strip_prefix(&server.path);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_wrong = read.problems.iter().any(|problem| below(&problem.key));
        match &server.launch {
            Launch::Other(kind) if !kind.is_empty() => {
                edited.refused.push(Refused { server, why: Refusal::NoCommand });
            }
            _ if is_wrong => edited.refused.push(Refused { server, why: Refusal::Wrong }),
            _ => match work(&Edit::of(document, shape, found)) {
                Ok(Some(splices)) => {
                    all.extend(splices);
                    edited.changed.push(server);
                }
                Ok(None) => edited.left.push(server),
                Err(why) => edited.refused.push(Refused { server, why }),
            },
        }
    }
    match all.apply(document.text).filter(|text| Document::parse(text, document.format).is_ok()) {
        Some(text) => edited.text = text,
        // Each alone can be done, so that this is where two are in each other's way.
        None => {
            let changed = std::mem::take(&mut edited.changed);
            edited.refused.extend(changed.into_iter().map(|server| Refused { server, why: Refusal::NotExact }));
        }
    }
    Ok(edited)
}

impl<'d> Edit<'d> {
    fn of(document: &'d Document<'d>, shape: Shape, found: &'d Found<'d>) -> Self {
        Self { document, words: shape.words(), found }
    }

    fn wrap(&self, tap: &Tap) -> Result<Splices, Refusal> {
        self.not_shared(self.found.map, &self.found.server.path)?;
        match &self.found.server.launch {
            Launch::Command(_) => self.wrap_command(tap),
            Launch::Http(remote) => self.wrap_remote(tap, remote),
            Launch::Other(_) => Err(Refusal::NoCommand),
        }
    }

    fn unwrap(&self, tapped: &Tapped) -> Result<Splices, Refusal> {
        self.not_shared(self.found.map, &self.found.server.path)?;
        match &tapped.behind {
            Launch::Command(_) => self.unwrap_command(tapped),
            Launch::Http(_) | Launch::Other(_) => self.unwrap_remote(tapped),
        }
    }

    /// Refuses what may be meant elsewhere as well.
    fn not_shared(&self, node: &Node, what: &str) -> Result<(), Refusal> {
        let list = node.list().unwrap_or_default();
        if node.is_shared || list.iter().any(|node| node.is_shared) {
            return Err(Refusal::Shared(what.to_owned()));
        }
        Ok(())
    }
}
