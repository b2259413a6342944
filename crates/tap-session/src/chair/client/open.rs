//! Opening a session with a server of which nothing is known.
//!
//! Source: MCP 2026-07-28, basic/versioning, and basic/transports/stdio, Backward Compatibility: `server/discover` first;
//! a result, or an error that only the modern era has, tells a modern server; anything else, silence too, a legacy one,
//! which is then asked to `initialize` on the same connection.

use tap_jsonrpc::{Node, RawId};
use tap_protocol::{
    Era, HEADER_MISMATCH, MISSING_CLIENT_CAPABILITY, Revision, Revisions, UNSUPPORTED_PROTOCOL_VERSION, meta,
};

use super::Client;
use crate::chair::{Misuse, Outcome, Output, Refusal, write};
use crate::row::{At, MessageRow};

/// How far the opening is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// Nothing was said.
    Unopened,
    /// `server/discover` was asked.
    Probing { probe: At, until_ns: u64, attempt: Attempt },
    /// `initialize` was asked.
    Initializing { request: At, until_ns: u64, attempt: Attempt },
    /// Both sides may speak.
    Open(Revision),
    /// It was refused, or it is over.
    Over,
}

/// What there is left to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Attempt {
    /// Everything.
    First,
    /// The probe was repeated, because the server named the revision.
    Again,
    /// Nothing: the server refused `initialize` and named modern revisions.
    Last,
}

/// What an answer to the probe says of the server.
enum Verdict {
    /// It speaks this.
    Modern(Revision),
    /// It wants to be asked in this revision.
    Again(Revision),
    /// It is of the legacy era.
    Legacy,
    /// It speaks none of ours.
    Unsupported(Vec<String>),
}

/// A result of a peer, its `supportedVersions` or the like.
fn named(versions: Option<Node<'_>>) -> Vec<String> {
    versions.into_iter().flat_map(Node::elements).filter_map(|version| Some(version.text()?.into_owned())).collect()
}

/// The newest revision of `named` that is in `ours`.
fn newest(named: &[String], ours: Revisions) -> Option<Revision> {
    ours.iter().rev().find(|revision| named.iter().any(|name| name == revision.as_str()))
}

impl Client {
    /// Begins to open the session. How it went is told by [`Output::Opened`] or [`Output::Refused`].
    ///
    /// # Errors
    ///
    /// When it was begun before, and when the options are no good.
    pub fn open(&mut self, now_ns: u64) -> Result<(), Misuse> {
        if self.stage != Stage::Unopened {
            return Err(Misuse::AlreadyOpen);
        }
        write::object(&self.options.capabilities, "capabilities")?;
        match (self.modern().iter().next_back(), self.legacy().iter().next_back()) {
            (Some(revision), _) => self.probe(revision, Attempt::First, now_ns),
            (None, Some(_)) => self.initialize(Attempt::Last, now_ns),
            (None, None) => Err(Misuse::NoRevision),
        }
    }

    fn modern(&self) -> Revisions {
        self.options.revisions.intersection(Revisions::MODERN)
    }

    fn legacy(&self) -> Revisions {
        self.options.revisions.intersection(Revisions::LEGACY)
    }

    /// What each request of the modern era says of the client.
    pub(super) fn modern_meta(&self, revision: Revision) -> Vec<(&'static str, Vec<u8>)> {
        vec![
            (meta::PROTOCOL_VERSION, write::quoted(revision.as_str())),
            (meta::CLIENT_INFO, write::implementation(&self.options.implementation, revision)),
            (meta::CLIENT_CAPABILITIES, self.options.capabilities.clone().into_bytes()),
        ]
    }

    fn probe(&mut self, revision: Revision, attempt: Attempt, now_ns: u64) -> Result<(), Misuse> {
        let params = write::with_meta(None, &self.modern_meta(revision))?;
        let probe = self.seat.ask("server/discover", &params, now_ns)?;
        let until_ns = now_ns.saturating_add(self.options.probe_limit_ns);
        self.stage = Stage::Probing { probe, until_ns, attempt };
        Ok(())
    }

    fn initialize(&mut self, attempt: Attempt, now_ns: u64) -> Result<(), Misuse> {
        let revision = self.legacy().iter().next_back().ok_or(Misuse::NoRevision)?;
        let params = write::Object::new()
            .text("protocolVersion", revision.as_str())
            .member("capabilities", self.options.capabilities.as_bytes())
            .member("clientInfo", &write::implementation(&self.options.implementation, revision))
            .done();
        let request = self.seat.ask("initialize", &params, now_ns)?;
        let until_ns = now_ns.saturating_add(self.options.request_limit_ns);
        self.stage = Stage::Initializing { request, until_ns, attempt };
        Ok(())
    }

    fn opened(&mut self, revision: Revision) {
        self.stage = Stage::Open(revision);
        self.seat.push(Output::Opened { revision });
    }

    pub(super) fn refused(&mut self, why: Refusal) {
        self.stage = Stage::Over;
        self.seat.push(Output::Refused(why));
    }

    /// An answer, if it is one to what opens the session. Tells whether it was.
    pub(super) fn opening_answered(&mut self, row: &MessageRow, outcome: &Outcome, now_ns: u64) -> bool {
        let without_id = row.raw_id.as_ref().is_none_or(RawId::is_null);
        match self.stage {
            // Who could not read the probe cannot name it: an error without an id is about it, as there is nothing else.
            Stage::Probing { probe, attempt, .. }
                if row.pair == Some(probe) || (without_id && matches!(outcome, Outcome::Error(_))) =>
            {
                self.probed(outcome, attempt, now_ns);
            }
            Stage::Initializing { request, attempt, .. } if row.pair == Some(request) => {
                self.initialized(outcome, attempt, now_ns);
            }
            _ => return false,
        }
        true
    }

    fn probed(&mut self, outcome: &Outcome, attempt: Attempt, now_ns: u64) {
        match self.verdict(outcome) {
            Verdict::Modern(revision) => self.opened(revision),
            Verdict::Again(revision) if attempt == Attempt::First => {
                self.go_on(|client| client.probe(revision, Attempt::Again, now_ns));
            }
            Verdict::Legacy if attempt < Attempt::Last && !self.legacy().is_empty() => {
                self.go_on(|client| client.initialize(attempt, now_ns));
            }
            Verdict::Again(_) | Verdict::Legacy => self.refused(match outcome {
                Outcome::Result(result) => Refusal::NotAnOpening(result.clone()),
                Outcome::Error(error) => Refusal::Error(error.clone()),
            }),
            Verdict::Unsupported(named) => self.refused(Refusal::UnsupportedRevision { named }),
        }
    }

    /// Sends what comes next, which breaks no rule, unless the user's options did from the start.
    fn go_on(&mut self, next: impl FnOnce(&mut Self) -> Result<(), Misuse>) {
        if let Err(misuse) = next(self) {
            self.refused(Refusal::Misuse(misuse));
        }
    }

    fn verdict(&self, outcome: &Outcome) -> Verdict {
        let named = match outcome {
            Outcome::Result(result) => named(result.node().get("supportedVersions")),
            Outcome::Error(error) => match outcome.code() {
                Some(UNSUPPORTED_PROTOCOL_VERSION) => named(error.node().at(&["data", "supported"])),
                // The server is a modern one, and does not tell what it can do.
                Some(HEADER_MISMATCH | MISSING_CLIENT_CAPABILITY) => {
                    return self.modern().iter().next_back().map_or(Verdict::Legacy, Verdict::Modern);
                }
                _ => return Verdict::Legacy,
            },
        };
        match (newest(&named, self.modern()), outcome) {
            (Some(revision), Outcome::Result(_)) => Verdict::Modern(revision),
            (Some(revision), Outcome::Error(_)) => Verdict::Again(revision),
            (None, _) if named.is_empty() => Verdict::Legacy,
            (None, _) if newest(&named, self.legacy()).is_some() => Verdict::Legacy,
            (None, _) => Verdict::Unsupported(named),
        }
    }

    fn initialized(&mut self, outcome: &Outcome, attempt: Attempt, now_ns: u64) {
        let result = match outcome {
            Outcome::Result(result) => result,
            Outcome::Error(error) => {
                let supported = named(error.node().at(&["data", "supported"]));
                match (outcome.code(), newest(&supported, self.modern())) {
                    (Some(UNSUPPORTED_PROTOCOL_VERSION), Some(revision)) if attempt < Attempt::Last => {
                        self.go_on(|client| client.probe(revision, Attempt::Last, now_ns));
                    }
                    (Some(UNSUPPORTED_PROTOCOL_VERSION), _) if !supported.is_empty() => {
                        self.refused(Refusal::UnsupportedRevision { named: supported });
                    }
                    _ => self.refused(Refusal::Error(error.clone())),
                }
                return;
            }
        };
        let Some(version) = result.node().get("protocolVersion").and_then(Node::text) else {
            return self.refused(Refusal::NotAnOpening(result.clone()));
        };
        let revision = Revision::from_text(&version).filter(|revision| self.legacy().contains(*revision));
        let Some(revision) = revision else {
            return self.refused(Refusal::UnsupportedRevision { named: vec![version.into_owned()] });
        };
        self.go_on(|client| {
            client.seat.say(write::question(None, "notifications/initialized", None), now_ns)?;
            client.opened(revision);
            Ok(())
        });
    }

    /// The server did not answer what opens the session.
    pub(super) fn give_up_opening(&mut self, now_ns: u64) {
        match self.stage {
            Stage::Probing { until_ns, attempt, .. } if until_ns <= now_ns => {
                if attempt < Attempt::Last && !self.legacy().is_empty() {
                    // The probe is not cancelled: before `initialize` a legacy server expects nothing else.
                    self.go_on(|client| client.initialize(attempt, now_ns));
                } else {
                    self.refused(Refusal::Silence);
                }
            }
            Stage::Initializing { until_ns, .. } if until_ns <= now_ns => self.refused(Refusal::Silence),
            _ => {}
        }
    }

    /// The server went away while the session was being opened.
    pub(super) fn opening_ended(&mut self) {
        match self.stage {
            Stage::Probing { .. } => self.refused(Refusal::EndedAtProbe),
            Stage::Initializing { .. } => self.refused(Refusal::Ended),
            Stage::Unopened | Stage::Open(_) | Stage::Over => self.stage = Stage::Over,
        }
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.revision().map(Revision::era)
    }
}
