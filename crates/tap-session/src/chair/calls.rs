//! Calls: what a chair asked, from the first request to the last answer.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use bytes::Bytes;
use tap_protocol::Method;

use crate::row::At;

/// A call of ours. It stays the same when it takes several requests, as calls of the modern era may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallId(pub(super) u64);

impl fmt::Display for CallId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// How a request is to be made.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOptions {
    /// How long to wait for each answer, nanoseconds; `None` is what the chair's options say.
    pub limit_ns: Option<u64>,
    /// What progress is wanted for.
    pub on_progress: OnProgress,
    /// The lowest level of log messages that are wanted with it. Said in the modern era alone: in the legacy era there is
    /// `logging/setLevel`.
    pub log_level: Option<&'static str>,
}

/// What progress is wanted for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnProgress {
    /// It is not asked for.
    #[default]
    NotAsked,
    /// To be told.
    Tell,
    /// To be told, and to begin the wait anew with each, up to so many nanoseconds from the request on.
    Extend {
        /// Since the request, nanoseconds.
        ceiling_ns: u64,
    },
}

/// A call that is not over.
#[derive(Debug)]
pub(super) struct OwnCall {
    pub(super) method: Box<str>,
    pub(super) known: Option<&'static Method>,
    /// `params` as the user gave them.
    pub(super) params: Option<Box<str>>,
    pub(super) options: RequestOptions,
    pub(super) waits: Waits,
}

/// What a call waits for.
#[derive(Debug)]
pub(super) enum Waits {
    /// The peer's answer to this request.
    Answer {
        at: At,
        /// Its id.
        number: u64,
        limit_ns: u64,
        until_ns: u64,
        ceiling_ns: u64,
    },
    /// The user, who is asked for input.
    Input(Round),
}

/// What a result of `input_required` wants back.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    /// Keys that were asked for, as text and as written.
    pub(super) keys: Vec<(String, Bytes)>,
    /// `requestState` as written.
    pub(super) state: Option<Bytes>,
}

/// The calls that are not over.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: BTreeMap<CallId, OwnCall>,
    by_request: BTreeMap<At, CallId>,
    deadlines: BTreeSet<(u64, CallId)>,
    /// Ids that requests were sent with, from 1.
    pub(super) n_ids: u64,
}

impl Calls {
    pub(super) fn get(&self, id: CallId) -> Option<&OwnCall> {
        self.calls.get(&id)
    }

    pub(super) fn of_request(&self, at: At) -> Option<CallId> {
        self.by_request.get(&at).copied()
    }

    pub(super) fn ids(&self) -> Vec<CallId> {
        self.calls.keys().copied().collect()
    }

    /// Notes a call, in place of what it waited for before.
    pub(super) fn put(&mut self, id: CallId, call: OwnCall) {
        self.take(id);
        if let Waits::Answer { at, until_ns, .. } = call.waits {
            self.by_request.insert(at, id);
            self.deadlines.insert((until_ns, id));
        }
        self.calls.insert(id, call);
    }

    pub(super) fn take(&mut self, id: CallId) -> Option<OwnCall> {
        let call = self.calls.remove(&id)?;
        if let Waits::Answer { at, until_ns, .. } = call.waits {
            self.by_request.remove(&at);
            self.deadlines.remove(&(until_ns, id));
        }
        Some(call)
    }

    /// A call went on.
    pub(super) fn extend(&mut self, id: CallId, now_ns: u64) {
        let Some(OwnCall { waits: Waits::Answer { limit_ns, until_ns, ceiling_ns, .. }, options, .. }) =
            self.calls.get_mut(&id)
        else {
            return;
        };
        if let OnProgress::Extend { .. } = options.on_progress {
            self.deadlines.remove(&(*until_ns, id));
            *until_ns = now_ns.saturating_add(*limit_ns).min(*ceiling_ns);
            self.deadlines.insert((*until_ns, id));
        }
    }

    /// When the first call will have waited too long.
    pub(super) fn deadline(&self) -> Option<u64> {
        // Who waits for ever has no deadline.
        self.deadlines.first().map(|(until_ns, _)| *until_ns).filter(|until_ns| *until_ns < u64::MAX)
    }

    /// A call that has waited too long.
    pub(super) fn late(&self, now_ns: u64) -> Option<CallId> {
        let (until_ns, id) = self.deadlines.first()?;
        (*until_ns <= now_ns && *until_ns < u64::MAX).then_some(*id)
    }
}
