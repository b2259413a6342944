//! The dials of a playback.

use tap_compare::Rules;

/// In which order recorded requests are given out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// The first unused one that matches.
    #[default]
    Any,
    /// Only the next one of the recording.
    Strict,
}

/// What is done when all recorded answers to a request were given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Repeat {
    /// What changes nothing at the server is answered as the last time: lists, reads, prompts, tools that only read.
    #[default]
    Safe,
    /// Nothing is.
    Never,
    /// Everything is.
    All,
}

/// What a request gets that nothing matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Unmatched {
    /// A JSON-RPC error that says what was near.
    #[default]
    Error,
    /// The answer to the nearest one, which is told.
    Closest,
    /// The error, and then the end.
    Exit,
}

/// What a request gets that was recorded without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Unanswered {
    /// A JSON-RPC error at once.
    #[default]
    Error,
    /// Nothing, for tests of time limits.
    Hang,
}

/// What is done about a request of the server's that the client has not declared it can take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum MissingCapability {
    /// It is left out, and what was recorded after it goes on.
    #[default]
    Skip,
    /// The call that it belongs to is answered with an error.
    Error,
}

/// How a recording is played.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Which requests are the same, on top of what the recording says of that.
    pub rules: Rules,
    /// In which order recorded requests are given out.
    pub order: Order,
    /// What is done when all recorded answers to a request were given.
    pub repeat: Repeat,
    /// What a request gets that nothing matches.
    pub unmatched: Unmatched,
    /// What a request gets that was recorded without an answer.
    pub unanswered: Unanswered,
    /// Whether an answer of the client's that differs from the recorded one is a miss of the call that it belongs to.
    pub strict_replies: bool,
    /// What is done about a request of the server's that the client has not declared it can take.
    pub missing_capability: MissingCapability,
    /// Results may not be kept by the client: `ttlMs` is 0, so that every list is asked for again.
    pub no_cache: bool,
    /// Whether a request without a recorded answer is passed on to a real server, which whoever drives the playback has behind
    /// it. What that says is learned.
    pub pass_on: bool,
}
