//! A conversation with a model, whoever it is: what was said, what is asked next, and what is heard while it answers.

use crate::{Call, Format, NotACall, Written};

/// Something that a person, or a server in their place, says to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A text.
    Text(String),
    /// A picture.
    Image {
        /// Its bytes in base64.
        data: String,
        /// Such as `image/png`.
        media_type: String,
    },
    /// The text of a resource.
    Resource {
        /// Where it is from.
        uri: String,
        /// What it says.
        text: String,
    },
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Turn {
    /// What the person says.
    User(Vec<Part>),
    /// What the model said.
    Model(ModelTurn),
    /// What became of the model's calls: each with the `result` of `tools/call`, as the server wrote it. Calls of the turn
    /// before that are not among them are told to the model as unanswered.
    Results(Vec<(Call, Vec<u8>)>),
}

/// Why a model stopped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stop {
    /// It has said what it has to say.
    End,
    /// It waits for the results of its calls.
    ToolCalls,
    /// It may say no more: the limit of the output, or of the model's memory. The last call may be incomplete.
    Length,
    /// It will not answer, or is not let.
    Refused,
    /// Something else, in the provider's word.
    Other(String),
}

impl Stop {
    /// What it is called in what we print and write.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::End => "end",
            Self::ToolCalls => "tool_calls",
            Self::Length => "length",
            Self::Refused => "refused",
            Self::Other(word) => word,
        }
    }
}

/// What an answer took, in the provider's tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// What was asked, all of it: what was read from a cache, or written to one, is counted here too.
    pub input_tokens: u64,
    /// What was answered, with what was thought.
    pub output_tokens: u64,
    /// Of the input, what was read from the provider's cache.
    pub cached_tokens: u64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
    }
}

/// What tokens cost, in whatever currency. None is known here: whoever pays knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Prices {
    /// Of a million tokens of input. Those from a cache are counted at the same price, so that a cost is never too low.
    pub input: f64,
    /// Of a million tokens of output.
    pub output: f64,
}

impl Prices {
    /// What `usage` cost.
    #[must_use]
    pub fn cost(&self, usage: Usage) -> f64 {
        // Tokens are far fewer than the 2^53 up to which this is exact.
        (usage.input_tokens as f64 * self.input + usage.output_tokens as f64 * self.output) / 1e6
    }
}

/// A provider's own content of a turn, to be sent back unchanged: signatures of what was thought, reasoning items, and
/// whatever else an interface wants to see again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbatim {
    /// Whose it is. Other interfaces are told the turn in our words.
    pub format: Format,
    /// The text of JSON: a message (chat completions), an array of items (responses), an array of blocks (Anthropic), a
    /// content (Gemini).
    pub content: String,
}

/// What a model said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTurn {
    /// Its text; of a refusal, its words.
    pub text: String,
    /// Its calls of tools, in its order.
    pub calls: Vec<Result<Call, NotACall>>,
    /// Why it stopped.
    pub stop: Stop,
    /// What it took, where the provider tells.
    pub usage: Option<Usage>,
    /// What is sent back in place of the above. `None` of a turn that was made up.
    pub verbatim: Option<Verbatim>,
}

impl ModelTurn {
    /// The calls to give results to, in order. Those that are none are among them, without arguments: an interface wants an
    /// answer to each.
    pub fn to_answer(&self) -> impl Iterator<Item = Call> {
        self.calls.iter().map(|call| match call {
            Ok(call) => call.clone(),
            Err(wrong) => wrong.to_answer(),
        })
    }
}

/// Whether a model may call tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// As it likes.
    #[default]
    Auto,
    /// It must call one at least.
    Required,
    /// It must not.
    None,
}

/// What the limit of the output is called in chat completions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChatLimit {
    /// `max_completion_tokens`: OpenAI, whose newer models refuse the other name.
    #[default]
    MaxCompletionTokens,
    /// `max_tokens`: what everybody else who speaks this format knows.
    MaxTokens,
}

/// What is asked of a model.
#[derive(Debug, Clone, Copy)]
pub struct ModelRequest<'a> {
    /// The model, by the provider's name.
    pub model: &'a str,
    /// What the model is told before all. May be empty.
    pub system: &'a str,
    /// What was said until now.
    pub turns: &'a [Turn],
    /// The tools that may be called, written in the same format. Those that it does not take are passed over.
    pub tools: &'a [Written],
    /// Whether they may be.
    pub tool_choice: ToolChoice,
    /// How much may be answered, tokens. `None` leaves it to the provider; Anthropic wants a number and is given one.
    pub output_limit_tokens: Option<u64>,
    /// How much of each result the model is given, bytes of text.
    pub result_limit_bytes: usize,
    /// A JSON number, as it is written. Other texts are not sent.
    pub temperature: Option<&'a str>,
    /// Texts at which to stop. OpenAI's responses have no such thing, and are not told.
    pub stop_sequences: &'a [String],
    /// See there.
    pub chat_limit: ChatLimit,
    /// Ask OpenAI's responses for their reasoning in a sealed form, to be sent back. Models that do not reason refuse it.
    pub sealed_reasoning: bool,
}

impl<'a> ModelRequest<'a> {
    /// A request with nothing but what was said.
    #[must_use]
    pub const fn new(model: &'a str, turns: &'a [Turn]) -> Self {
        Self {
            model,
            system: "",
            turns,
            tools: &[],
            tool_choice: ToolChoice::Auto,
            output_limit_tokens: None,
            result_limit_bytes: crate::RESULT_LIMIT_BYTES,
            temperature: None,
            stop_sequences: &[],
            chat_limit: ChatLimit::MaxCompletionTokens,
            sealed_reasoning: true,
        }
    }
}

/// What is heard while a model answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelEvent {
    /// More of its text. All of them together are [`ModelTurn::text`].
    TextDelta(String),
    /// More of what it thinks, or of a summary of that. Not part of the text.
    ThinkingDelta(String),
    /// It begins to call a tool.
    CallStarted {
        /// Which call of the answer it is, from 0.
        index: usize,
        /// The tool, as far as it is named yet.
        name: String,
    },
    /// More of a call's arguments.
    ArgumentsDelta {
        /// Which call of the answer it is, from 0.
        index: usize,
        /// A piece of JSON.
        text: String,
    },
    /// It is done. Nothing comes after this.
    Done(Box<ModelTurn>),
    /// It failed. Nothing comes after this.
    Failed(ModelFailure),
}

/// Why there is no answer of a model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelFailure {
    /// The provider says no, with a status of HTTP.
    #[error("the provider answers {status}: {message}")]
    Status {
        /// The status.
        status: u16,
        /// The provider's word for it; may be empty.
        kind: String,
        /// What it says.
        message: String,
    },
    /// The provider reports an error where an answer should be, or in the middle of one.
    #[error("the provider reports an error ({kind}): {message}")]
    Reported {
        /// The provider's word for it; may be empty.
        kind: String,
        /// What it says.
        message: String,
    },
    /// What came is not what this interface sends.
    #[error("the provider's answer cannot be read: {0}")]
    Malformed(String),
    /// The answer ended before it was complete.
    #[error("the answer ended before it was complete")]
    Cut,
    /// The answer is larger than [`ANSWER_LIMIT_BYTES`](crate::ANSWER_LIMIT_BYTES).
    #[error("the answer is larger than {} MiB", crate::ANSWER_LIMIT_BYTES / 1024 / 1024)]
    TooLarge,
    /// The provider cannot be reached, or went away.
    #[error("{0}")]
    Unreachable(String),
    /// Nothing came for too long.
    #[error("nothing came from the provider for {0} s")]
    TimedOut(u64),
}
