//! Sessions of MCP inside a recording over HTTP, counted.

use std::collections::{BTreeMap, BTreeSet};

use tap_session::{
    Event, HTTP_SESSIONS, HttpFollower, HttpSession, HttpSessionNumber, Moment, Party, RowKind, SessionState, Status,
};

use crate::exchange::{Conversation, Read};

/// What is counted of one session.
#[derive(Debug, Clone, Default)]
struct Counts {
    accepted: bool,
    first_seq: u64,
    last_seq: u64,
    n_messages: u64,
    n_calls: u64,
    n_errors: u64,
    began_at_ns: u64,
    ended_at_ns: Option<u64>,
}

/// The sessions that the follower knows.
#[derive(Debug, Default)]
pub(crate) struct Conversations {
    counts: BTreeMap<HttpSessionNumber, Counts>,
    changed: BTreeSet<HttpSessionNumber>,
}

impl Conversations {
    /// Counts what was read of one. True where it was refused: then it was none.
    pub(crate) fn take(
        &mut self,
        number: HttpSessionNumber,
        read: &Read,
        now: Moment,
        follower: &HttpFollower,
    ) -> bool {
        if 2 * HTTP_SESSIONS < self.counts.len() {
            self.counts.retain(|number, _| follower.session(*number).is_some());
            self.changed.retain(|number| self.counts.contains_key(number));
        }
        let counts =
            self.counts.entry(number).or_insert_with(|| Counts { began_at_ns: now.at_ns, ..Counts::default() });
        match follower.session(number) {
            Some(session) => {
                counts.accepted |= session.is_accepted();
                counts.ended_at_ns = if session.is_over() { counts.ended_at_ns.or(Some(now.at_ns)) } else { None };
            }
            None if !counts.accepted => {
                self.counts.remove(&number);
                self.changed.remove(&number);
                return true;
            }
            None => {}
        }
        if let Some(frame) = &read.frame {
            let seq = frame.frame.seq;
            counts.last_seq = counts.last_seq.max(seq);
            if counts.first_seq == 0 {
                counts.first_seq = seq;
            }
        }
        for event in &read.events {
            match event {
                Event::Row(row) => {
                    counts.n_messages += u64::from(row.at.member == 0 && row.kind.is_message());
                    counts.n_calls += u64::from(row.kind == RowKind::Request);
                    counts.n_errors += u64::from(matches!(row.kind, RowKind::NotAMessage | RowKind::NotJson));
                }
                Event::Answered { status, .. } => counts.n_errors += u64::from(*status != Status::Ok),
            }
        }
        self.changed.insert(number);
        false
    }

    /// Those that were accepted and changed since this was asked last.
    pub(crate) fn changed(&mut self, follower: &HttpFollower) -> Vec<Conversation> {
        let changed = std::mem::take(&mut self.changed);
        let told = changed.iter().filter_map(|number| {
            let session = follower.session(*number)?;
            Some(told(*number, self.counts.get(number).filter(|counts| counts.accepted)?, session))
        });
        let told = told.collect();
        self.counts.retain(|number, _| follower.session(*number).is_some());
        told
    }

    /// All that were accepted and that the follower has not forgotten.
    pub(crate) fn all<'a>(&'a self, follower: &'a HttpFollower) -> impl Iterator<Item = Conversation> + 'a {
        let accepted = self.counts.iter().filter(|(_, counts)| counts.accepted);
        accepted.filter_map(|(number, counts)| Some(told(*number, counts, follower.session(*number)?)))
    }
}

fn told(number: HttpSessionNumber, counts: &Counts, session: &HttpSession) -> Conversation {
    let state: &SessionState = session.state();
    let name = |party: &Party| {
        let name = party.name.as_deref()?;
        Some(party.version.as_deref().map_or_else(|| name.to_owned(), |version| format!("{name} {version}")))
    };
    let Counts { first_seq, last_seq, n_messages, n_calls, n_errors, began_at_ns, ended_at_ns, .. } = *counts;
    Conversation {
        number,
        kind: session.kind.clone(),
        client: name(&state.client),
        server: name(&state.server),
        revision: state.revision_text.as_deref().map(str::to_owned),
        era: state.era.map(|era| era.to_string()),
        first_seq,
        last_seq,
        n_messages,
        n_calls,
        n_errors,
        began_at_ns,
        ended_at_ns,
    }
}
