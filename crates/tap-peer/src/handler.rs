//! What a server may ask of a client, and what it tells it.

use std::future::Future;
use std::pin::Pin;

use tap_protocol::Revision;
use tap_session::{ErrorReply, Finding, Kept};

/// Something that a server asks: a request of the legacy era, or one inside a result of `input_required`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// What: `sampling/createMessage`, `elicitation/create`, `roots/list`, or what was declared beyond that.
    pub method: String,
    /// Its params as written, a JSON text.
    pub params: Option<Kept>,
    /// The revision that is spoken.
    pub revision: Revision,
    /// The call that it belongs to, as [`CallOptions::tag`](crate::CallOptions::tag) has it. Known in the modern era alone:
    /// in the legacy era nothing on the wire says so.
    pub tag: Option<u64>,
    /// What the server files the answer under, in the modern era.
    pub key: Option<String>,
    /// How many questions were asked together, with this one: a result of `input_required` may hold several.
    pub together: usize,
}

/// That a question is not answered with a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cannot(pub ErrorReply);

impl Cannot {
    /// A person, or whoever speaks for one, said no.
    #[must_use]
    pub fn declined() -> Self {
        // The code that the specification has for sampling (2025-11-25, client/sampling, Error Handling).
        Self(ErrorReply::new(-1, "declined"))
    }

    /// Nobody is there who could answer.
    #[must_use]
    pub fn unsupported(method: &str) -> Self {
        Self(ErrorReply::new(tap_protocol::METHOD_NOT_FOUND, format!("this client has no `{method}`")))
    }
}

/// The answer to a question: the text of a JSON object as the question's result is to be.
pub type Reply = Pin<Box<dyn Future<Output = Result<String, Cannot>> + Send>>;

/// Something that a server says without being asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notified {
    /// What, such as `notifications/message`.
    pub method: String,
    /// Its params as written, a JSON text.
    pub params: Option<Kept>,
}

/// Answers what servers ask, and hears what they say.
///
/// The same handler serves both eras. Questions are answered side by side; whoever takes a question back has its answer
/// dropped.
pub trait Handler: Send + Sync + 'static {
    /// What it can be asked: the client's capabilities, the text of a JSON object. Nothing else is handed to
    /// [`answer`](Self::answer).
    fn capabilities(&self) -> String {
        "{}".into()
    }

    /// Answers a question.
    fn answer(&self, asked: Asked) -> Reply {
        Box::pin(std::future::ready(Err(Cannot::unsupported(&asked.method))))
    }

    /// Hears what a server says. Must not wait.
    fn notified(&self, notified: Notified) {
        let _ = notified;
    }

    /// Hears which rule was broken, and by whom. Must not wait.
    fn found(&self, finding: Finding) {
        let _ = finding;
    }
}

/// Answers nothing.
impl Handler for () {}
