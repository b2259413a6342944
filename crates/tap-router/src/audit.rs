//! What is told of each call, when it is over: who asked what of whom, who allowed it, what came back.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tap_jsonrpc::Node;

use crate::policy::{Decider, Decision, Verdict};

/// How much of a result is told, bytes.
const RESULT_BYTES: usize = 64 * 1024;

/// Hears of calls. Must not wait.
pub trait Audit: Send + Sync {
    /// A call is over.
    fn called(&self, call: AuditedCall);
}

/// A call that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditedCall {
    /// When it was asked for.
    pub began: SystemTime,
    /// Which server.
    pub server: String,
    /// Which tool, by the name that the server has for it.
    pub tool: String,
    /// The arguments as they are sent, the text of a JSON object.
    pub arguments: String,
    /// Whether it was allowed. `None` where it was given up while somebody was asked.
    pub is_allowed: Option<bool>,
    /// Who decided that: `rule 2`, `a person`.
    pub by: String,
    /// How long somebody was asked.
    pub asked_for: Duration,
    /// How long the call took, with waiting for other calls of the server. `None` where it was not made.
    pub took: Option<Duration>,
    /// What came of it.
    pub outcome: Outcome,
    /// The result, or what was said in its place, cut at 64 KiB.
    pub answer: Option<String>,
}

/// What came of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A result.
    Result,
    /// A result in which the tool says that it failed (`isError`).
    ToolError,
    /// An error of the protocol.
    Error,
    /// No answer: it took too long, or the server went away.
    NoAnswer,
    /// It was not made.
    NotMade,
    /// Whoever made it gave it up.
    GivenUp,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Result, Self::ToolError, Self::Error, Self::NoAnswer, Self::NotMade, Self::GivenUp];

    /// As it is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Result => "result",
            Self::ToolError => "tool error",
            Self::Error => "error",
            Self::NoAnswer => "no answer",
            Self::NotMade => "not made",
            Self::GivenUp => "given up",
        }
    }
}

/// What a server came back with.
pub(crate) enum Came<'a> {
    Result(Node<'a>),
    Error(&'a str),
    Nothing(String),
}

/// A call under way. Dropped, it is told.
pub(crate) struct Called {
    audit: Option<Arc<dyn Audit>>,
    begun: Instant,
    made: Option<Instant>,
    call: AuditedCall,
}

impl Called {
    pub(crate) fn begin(audit: Option<Arc<dyn Audit>>, server: &str, tool: &str, arguments: &[u8]) -> Self {
        // Where nobody hears, nothing is kept.
        let text =
            |bytes: &[u8]| if audit.is_some() { String::from_utf8_lossy(bytes).into_owned() } else { String::new() };
        let call = AuditedCall {
            began: SystemTime::now(),
            server: server.to_owned(),
            tool: tool.to_owned(),
            arguments: text(arguments),
            is_allowed: None,
            by: String::new(),
            asked_for: Duration::ZERO,
            took: None,
            outcome: Outcome::GivenUp,
            answer: None,
        };
        Self { audit, begun: Instant::now(), made: None, call }
    }

    pub(crate) fn decided(&mut self, decision: &Decision) {
        let is_allowed = decision.verdict != Verdict::Deny;
        self.call.is_allowed = Some(is_allowed);
        self.call.by = decision.by.to_string();
        if matches!(decision.by, Decider::Person) {
            self.call.asked_for = self.begun.elapsed();
        }
        match is_allowed {
            true => self.made = Some(Instant::now()),
            false => self.call.outcome = Outcome::NotMade,
        }
    }

    pub(crate) fn came(&mut self, came: Came<'_>) {
        let (outcome, answer): (_, &[u8]) = match &came {
            Came::Result(result) => {
                let has_failed = result.get("isError").and_then(Node::as_bool) == Some(true);
                (if has_failed { Outcome::ToolError } else { Outcome::Result }, result.bytes())
            }
            Came::Error(message) => (Outcome::Error, message.as_bytes()),
            Came::Nothing(why) => (Outcome::NoAnswer, why.as_bytes()),
        };
        (self.call.outcome, self.call.answer) = (outcome, self.audit.is_some().then(|| cut(answer)));
    }
}

impl Drop for Called {
    fn drop(&mut self) {
        if let Some(audit) = &self.audit {
            self.call.took = self.made.map(|made| made.elapsed());
            audit.called(self.call.clone());
        }
    }
}

fn cut(bytes: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(bytes.get(..RESULT_BYTES).unwrap_or(bytes)).into_owned();
    if RESULT_BYTES < bytes.len() {
        text.push('…');
    }
    text
}
