//! Sessions of MCP inside a recording over HTTP, counted.

use std::collections::{BTreeMap, BTreeSet};

use tap_session::{Event, HttpFollower, HttpSession, HttpSessionNumber, Moment, Party, RowKind, SessionState, Status};

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

impl Counts {
    fn of(conversation: &Conversation) -> Self {
        let Conversation { first_seq, last_seq, n_messages, n_calls, n_errors, began_at_ns, ended_at_ns, .. } =
            *conversation;
        Self { accepted: true, first_seq, last_seq, n_messages, n_calls, n_errors, began_at_ns, ended_at_ns }
    }

    fn take(&mut self, read: &Read) {
        if let Some(frame) = &read.frame {
            let seq = frame.frame.seq;
            self.last_seq = self.last_seq.max(seq);
            if self.first_seq == 0 {
                self.first_seq = seq;
            }
        }
        for event in &read.events {
            match event {
                Event::Row(row) if row.is_made() => {}
                Event::Row(row) => {
                    self.n_messages += u64::from(row.at.member == 0 && row.kind.is_message());
                    self.n_calls += u64::from(row.kind == RowKind::Request);
                    self.n_errors += u64::from(matches!(row.kind, RowKind::NotAMessage | RowKind::NotJson));
                }
                Event::Answered { stood_for: true, .. } | Event::Done { .. } => {}
                Event::Answered { status, .. } => self.n_errors += u64::from(*status != Status::Ok),
            }
        }
        self.n_errors += read.n_broken_off;
    }
}

/// Sessions that were forgotten with something open in them which are remembered.
const FORGOTTEN: usize = 10_000;

/// The sessions that the follower knows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Conversations {
    counts: BTreeMap<HttpSessionNumber, Counts>,
    changed: BTreeSet<HttpSessionNumber>,
    /// Those that it has forgotten in which something is open; `None` where it was never accepted.
    forgotten: BTreeMap<HttpSessionNumber, Option<Conversation>>,
}

impl Conversations {
    /// How many bytes a clone copies, more or less.
    pub(crate) fn held_bytes(&self) -> usize {
        let each = size_of::<Counts>() + size_of::<HttpSessionNumber>();
        self.counts.len() * each + self.forgotten.len() * size_of::<Conversation>()
    }

    /// Counts what was read of one. Gives it back as it is then, where the follower has forgotten it.
    pub(crate) fn take(
        &mut self,
        number: HttpSessionNumber,
        read: &Read,
        now: Moment,
        follower: &HttpFollower,
    ) -> Option<Conversation> {
        let Some(session) = follower.session(number) else {
            let conversation = self.forgotten.get_mut(&number)?.as_mut()?;
            let mut counts = Counts::of(conversation);
            counts.take(read);
            let Counts { last_seq, n_messages, n_calls, n_errors, .. } = counts;
            *conversation = Conversation { last_seq, n_messages, n_calls, n_errors, ..conversation.clone() };
            return Some(conversation.clone());
        };
        let counts =
            self.counts.entry(number).or_insert_with(|| Counts { began_at_ns: now.at_ns, ..Counts::default() });
        counts.accepted |= session.is_accepted();
        counts.ended_at_ns = if session.is_over() { counts.ended_at_ns.or(Some(now.at_ns)) } else { None };
        counts.take(read);
        self.changed.insert(number);
        None
    }

    /// The follower has forgotten a session. Gives back what became of it, if it was one.
    pub(crate) fn forget(&mut self, number: HttpSessionNumber, session: &HttpSession) -> Option<Conversation> {
        self.changed.remove(&number);
        let counts = self.counts.remove(&number).unwrap_or_default();
        let last = session.is_accepted().then(|| told(number, &counts, session));
        if session.has_open() {
            if FORGOTTEN <= self.forgotten.len() {
                self.forgotten.pop_first();
            }
            self.forgotten.insert(number, last.clone());
        }
        last
    }

    /// Whether a session was forgotten that never was one.
    pub(crate) fn was_refused(&self, number: HttpSessionNumber) -> bool {
        matches!(self.forgotten.get(&number), Some(None))
    }

    /// Those that were accepted and changed since this was asked last.
    pub(crate) fn changed(&mut self, follower: &HttpFollower) -> Vec<Conversation> {
        let changed = std::mem::take(&mut self.changed);
        let told = changed.iter().filter_map(|number| {
            let session = follower.session(*number)?;
            Some(told(*number, self.counts.get(number).filter(|counts| counts.accepted)?, session))
        });
        told.collect()
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
