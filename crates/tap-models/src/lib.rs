//! MCP's tools in the formats of models' interfaces, what models are asked and answer, and the results that they are given.
//!
//! Each interface takes another part of JSON Schema. What it does not take is said in another way that accepts the same, or
//! is left out with a [`Finding`]: then the model is told less, and never more, than the tool accepts. Whoever makes the call
//! still checks it by the tool's own schema.
//!
//! May know: JSON. Must not know: I/O, who the model is, MCP's messages beyond tools and results.
//!
//! Start reading at [`tool`], then `schema.rs` for what is rewritten; [`calls`] and [`result`] are the way back. A whole
//! conversation is in `conversation.rs`: [`request_body`] writes it, [`Reader`] and [`read_answer`] read what comes back.

mod answer;
mod call;
mod conversation;
mod request;
mod result;
mod sampling;
mod schema;
mod stream;
mod tool;
mod tree;

pub use self::answer::{read_answer, read_failure};
pub use self::call::{Call, NotACall, calls};
pub use self::conversation::{
    ChatLimit, ModelEvent, ModelFailure, ModelRequest, ModelTurn, Part, Prices, Stop, ToolChoice, Turn, Usage, Verbatim,
};
pub use self::request::request_body;
pub use self::result::{RESULT_LIMIT_BYTES, Told, result};
pub use self::sampling::{NotSampling, Sampling, sampling, sampling_result};
pub use self::schema::Finding;
pub use self::stream::Reader;
pub use self::tool::{Tool, Written, tool};

/// How large an answer of a model may be, bytes.
pub const ANSWER_LIMIT_BYTES: usize = 64 * 1024 * 1024;

/// An interface of models.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// OpenAI, chat completions.
    OpenAiChat,
    /// OpenAI, responses.
    OpenAiResponses,
    /// Anthropic, messages.
    Anthropic,
    /// Gemini, `generateContent`.
    Gemini,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAiChat, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];

    /// What it is called on a command line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}
