//! The sessions of MCP inside a recording over HTTP, below its line.

use std::io::Write;

use serde_json::{Value, json};
use tap_exchange::Conversation;
use tap_session::{At, HttpSessionKind};
use tap_store::{Session, Store};

use super::{Widths, rfc3339, when};
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::text::{column, duration, shown, thousands};

/// Of so many the newest have lines of their own.
const SHOWN: usize = 5;

/// The sessions inside a recording, and what is said of them together.
pub(super) struct Inside<'a> {
    store: &'a Store,
    session: &'a Session,
    pub(super) conversations: Vec<Conversation>,
}

impl<'a> Inside<'a> {
    pub(super) fn of(store: &'a Store, session: &'a Session) -> Result<Self, Failure> {
        Ok(Self { store, session, conversations: store.conversations(session.id)? })
    }

    /// The host, where there is one; how many sessions there are, where there are several.
    pub(super) fn host(&self) -> Option<String> {
        match self.conversations.as_slice() {
            [] => self.session.digest.identity.client.clone(),
            [one] => one.client.clone(),
            several => Some(format!("{} sessions", thousands(several.len() as u64))),
        }
    }

    /// The server, if it was the same in all.
    pub(super) fn server(&self) -> Option<String> {
        let mut servers = self.conversations.iter().filter_map(|conversation| conversation.server.as_ref());
        match servers.next() {
            None => self.session.digest.identity.server.clone(),
            Some(first) => servers.all(|server| server == first).then(|| first.clone()),
        }
    }

    /// How long one lasted, or has lasted up to its newest frame, nanoseconds.
    fn lasted_ns(&self, conversation: &Conversation) -> Result<u64, Failure> {
        let end = match conversation.ended_at_ns {
            Some(at_ns) => Some(at_ns),
            None => {
                let newest = self.store.row(self.session.id, At { seq: conversation.last_seq, member: 0 })?;
                newest.map(|listed| listed.row.at_ns)
            }
        };
        Ok(end.unwrap_or(conversation.began_at_ns).saturating_sub(conversation.began_at_ns))
    }

    /// A line for each of the newest ones, where there are several.
    pub(super) fn lines(&self, out: &mut Output, widths: &Widths, reference: &str) -> Result<(), Failure> {
        if self.conversations.len() < 2 {
            return Ok(());
        }
        for conversation in self.conversations.iter().rev().take(SHOWN) {
            let who = |name: &Option<String>| shown(name.as_deref().unwrap_or("-"), false);
            let began = self.session.start.opened_unix_ns.saturating_add(conversation.began_at_ns);
            let reference = format!("  {reference}/{}", conversation.number.0);
            let errors = format!("{:>6}", conversation.n_errors);
            let (style, state) = state_of(conversation, self.session.live);
            let revision = conversation.revision.as_deref().or(conversation.era.as_deref());
            let end =
                revision.map_or_else(|| state.to_owned(), |revision| format!("{state}, {}", shown(revision, false)));
            writeln!(
                out,
                "{} {} {} {} {:>8} {} {:>9}  {}",
                out.styled(Style::Dim, &when(began, widths.when_format())),
                column(&shown(&reference, false), widths.session),
                column(&who(&conversation.client), widths.host),
                column(&who(&conversation.server), widths.server),
                conversation.n_messages,
                if conversation.n_errors > 0 { out.styled(Style::Bad, &errors) } else { errors },
                duration(self.lasted_ns(conversation)?),
                out.styled(style, &end),
            )?;
        }
        let more = self.conversations.len().saturating_sub(SHOWN);
        if more > 0 {
            let first = self.conversations.first().map_or(1, |conversation| conversation.number.0);
            let text = format!(
                "{} … and {} more, from {reference}/{first} on",
                column("", widths.when),
                thousands(more as u64)
            );
            writeln!(out, "{}", out.styled(Style::Dim, &shown(&text, false)))?;
        }
        Ok(())
    }

    pub(super) fn as_json(&self, reference: &str) -> Result<Vec<Value>, Failure> {
        let told = |conversation: &Conversation| {
            let (kind, held_by) = match &conversation.kind {
                HttpSessionKind::Assigned(id) => ("assigned", Some(&**id)),
                HttpSessionKind::Unassigned => ("unassigned", None),
                HttpSessionKind::Endpoint(uri) => ("endpoint", Some(&**uri)),
                HttpSessionKind::Modern => ("modern", None),
            };
            Ok(json!({
                "reference": format!("{reference}/{}", conversation.number.0),
                "number": conversation.number.0,
                "kind": kind,
                "held_by": held_by,
                "client": conversation.client,
                "server": conversation.server,
                "revision": conversation.revision,
                "era": conversation.era,
                "opened": rfc3339(self.session.start.opened_unix_ns.saturating_add(conversation.began_at_ns)),
                "duration_ns": self.lasted_ns(conversation)?,
                "first_seq": conversation.first_seq,
                "last_seq": conversation.last_seq,
                "messages": conversation.n_messages,
                "calls": conversation.n_calls,
                "errors": conversation.n_errors,
                "ended": conversation.ended_at_ns.is_some(),
            }))
        };
        self.conversations.iter().map(told).collect()
    }
}

/// How far one is. Many hosts never say that they end a session, which is no fault.
fn state_of(conversation: &Conversation, live: bool) -> (Style, &'static str) {
    match conversation.ended_at_ns {
        Some(_) => (Style::Plain, "ended"),
        None if live => (Style::Good, "open"),
        None => (Style::Plain, "left open"),
    }
}
