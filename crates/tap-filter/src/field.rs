//! What can be asked of a message: fields, and named states.

/// A field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is told in FIELDS, for users")]
pub enum Field {
    Number,
    After,
    Before,
    At,
    Age,
    Direction,
    Kind,
    Size,
    Method,
    Tool,
    Prompt,
    Uri,
    Name,
    Id,
    Call,
    Status,
    Code,
    Error,
    Latency,
    Finding,
    Severity,
    Session,
    Server,
    Client,
    Revision,
    Era,
    Transport,
    HttpStatus,
    HttpMethod,
    Exchange,
    Conversation,
    Done,
    Held,
    By,
    Fault,
    Body,
}

/// What kind of value a field has, and so how it is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// A whole number.
    Number,
    /// Text.
    Text,
    /// A moment of the wall clock.
    Time,
    /// A span of time, with a unit.
    Duration,
    /// Bytes, perhaps with a unit.
    Size,
    /// One of a few words, the milder first where they can be compared.
    Word(&'static [&'static str]),
    /// The id of a message as it was written.
    Id,
}

/// What is told of a field.
#[derive(Debug)]
pub struct FieldInfo {
    /// The field.
    pub field: Field,
    /// What it is called.
    pub name: &'static str,
    /// A shorter name for it, or none.
    pub short: Option<&'static str>,
    /// What kind of value it has.
    pub kind: FieldKind,
    /// What it means.
    pub about: &'static str,
}

const DIRECTIONS: &[&str] = &["c2s", "s2c"];
const KINDS: &[&str] = &["request", "response", "notification", "batch", "raw", "stderr", "http", "gap", "act"];
const STATUSES: &[&str] = &["ok", "tool_error", "error", "pending"];
const SEVERITIES: &[&str] = &["note", "warning", "error"];
const ERAS: &[&str] = &["legacy", "modern"];
/// What a debugger can have done, in the order of the codes of these deeds.
const DEEDS: &[&str] = &[
    "held",
    "released",
    "edited",
    "dropped",
    "answered",
    "injected",
    "delayed",
    "duplicated",
    "reordered",
    "truncated",
    "corrupted",
    "slowed",
    "closed",
    "crashed",
];
const YES: &[&str] = &["no", "yes"];
const TRANSPORTS: &[&str] = &["stdio", "http"];

const fn info(
    field: Field,
    name: &'static str,
    short: Option<&'static str>,
    kind: FieldKind,
    about: &'static str,
) -> FieldInfo {
    FieldInfo { field, name, short, kind, about }
}

/// All fields.
pub const FIELDS: &[FieldInfo] = &[
    info(Field::Number, "n", None, FieldKind::Number, "number of the message in its session"),
    info(Field::After, "after", None, FieldKind::Time, "not before this moment: 14:02, 2026-11-30T14:02, -5m"),
    info(Field::Before, "before", None, FieldKind::Time, "before this moment"),
    info(Field::At, "at", None, FieldKind::Duration, "time since the session began"),
    info(Field::Age, "age", None, FieldKind::Duration, "time since then, until now"),
    info(Field::Direction, "dir", Some("d"), FieldKind::Word(DIRECTIONS), "c2s is to the server, s2c to the client"),
    info(
        Field::Kind,
        "kind",
        Some("k"),
        FieldKind::Word(KINDS),
        "what it is; raw is no message, http an exchange without, act what a debugger did",
    ),
    info(Field::Size, "size", None, FieldKind::Size, "bytes of the message"),
    info(Field::Method, "method", Some("m"), FieldKind::Text, "method; of an answer, that of its request"),
    info(Field::Tool, "tool", Some("t"), FieldKind::Text, "name of the tool that is called"),
    info(Field::Prompt, "prompt", None, FieldKind::Text, "name of the prompt"),
    info(Field::Uri, "uri", None, FieldKind::Text, "address of the resource"),
    info(Field::Name, "name", None, FieldKind::Text, "any of tool, prompt and uri"),
    info(Field::Id, "id", None, FieldKind::Id, "id as it was written: 7 is the number, \"7\" the string"),
    info(Field::Call, "call", None, FieldKind::Number, "number of the request that it belongs to"),
    info(Field::Status, "status", None, FieldKind::Word(STATUSES), "what became of the call"),
    info(Field::Code, "code", None, FieldKind::Number, "code of the error"),
    info(Field::Error, "error", None, FieldKind::Text, "message of the error, or text of a tool that failed"),
    info(Field::Latency, "latency", Some("lat"), FieldKind::Duration, "how long the answer took"),
    info(Field::Finding, "finding", None, FieldKind::Text, "rule of the protocol that was broken here"),
    info(Field::Severity, "severity", Some("sev"), FieldKind::Word(SEVERITIES), "of the worst finding here"),
    info(Field::Session, "session", Some("s"), FieldKind::Text, "name of the session, or the start of its id"),
    info(Field::Server, "server", None, FieldKind::Text, "name and version of the server"),
    info(Field::Client, "client", None, FieldKind::Text, "name and version of the client"),
    info(Field::Revision, "rev", None, FieldKind::Text, "revision of the protocol"),
    info(Field::Era, "era", None, FieldKind::Word(ERAS), "legacy up to 2025-11-25, modern from 2026-07-28 on"),
    info(Field::Transport, "transport", None, FieldKind::Word(TRANSPORTS), "how the two are connected"),
    info(Field::HttpStatus, "http.status", None, FieldKind::Number, "status code of its HTTP exchange"),
    info(Field::HttpMethod, "http.method", None, FieldKind::Text, "POST, GET, … of its HTTP exchange"),
    info(Field::Exchange, "http", None, FieldKind::Number, "number of its HTTP exchange"),
    info(
        Field::Conversation,
        "conversation",
        None,
        FieldKind::Number,
        "number of its MCP session in a recording over HTTP",
    ),
    info(Field::Done, "done", None, FieldKind::Word(DEEDS), "what a debugger did to it, or sent with it"),
    info(Field::Held, "held", None, FieldKind::Duration, "how long a debugger held it"),
    info(Field::By, "by", None, FieldKind::Text, "who did that: breakpoint 2, fault …"),
    info(Field::Fault, "fault", None, FieldKind::Word(YES), "whether a fault did that"),
    info(Field::Body, "body", None, FieldKind::Text, "the bytes of the message as text"),
];

impl Field {
    /// What is told of it.
    #[must_use]
    pub fn info(self) -> &'static FieldInfo {
        // Each has its row: a test holds that.
        FIELDS.iter().find(|info| info.field == self).unwrap_or(&FIELDS[0])
    }

    /// The field with this name, long or short.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let found = FIELDS.iter().find(|info| info.name == name || info.short == Some(name));
        found.map(|info| info.field)
    }
}

/// A state that a message can be in: what `is:` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is told in STATES, for users")]
pub enum State {
    Request,
    Response,
    Notification,
    Call,
    Error,
    Ok,
    Pending,
    Slow,
    Finding,
    Violation,
    ToServer,
    ToClient,
    ServerRequest,
    Problem,
    Edited,
    Held,
    Injected,
    Dropped,
    Fault,
}

/// What is told of a state.
#[derive(Debug)]
pub struct StateInfo {
    /// The state.
    pub state: State,
    /// What it is called.
    pub name: &'static str,
    /// What it means.
    pub about: &'static str,
}

const fn state(state: State, name: &'static str, about: &'static str) -> StateInfo {
    StateInfo { state, name, about }
}

/// All states.
pub const STATES: &[StateInfo] = &[
    state(State::Request, "request", "asks for an answer"),
    state(State::Response, "response", "answers, with a result or an error"),
    state(State::Notification, "notification", "asks for no answer"),
    state(State::Call, "call", "a request or its answer"),
    state(State::Error, "error", "of a call that failed: by an error, or by a tool that says isError"),
    state(State::Ok, "ok", "of a call that went well"),
    state(State::Pending, "pending", "a request without an answer"),
    state(State::Slow, "slow", "of a call that took more than a second"),
    state(State::Finding, "finding", "breaks a rule of the protocol, whichever severity"),
    state(State::Violation, "violation", "breaks a rule of the protocol that is an error"),
    state(State::ToServer, "c2s", "goes to the server"),
    state(State::ToClient, "s2c", "goes to the client"),
    state(State::ServerRequest, "server_request", "a request of the server's"),
    state(State::Problem, "problem", "error, violation, no message at all, or a gap"),
    state(State::Edited, "edited", "was edited by a debugger, or is what went on in place of that"),
    state(State::Held, "held", "is held by a debugger, or was"),
    state(State::Injected, "injected", "was sent by a debugger, and by neither side"),
    state(State::Dropped, "dropped", "did not go on: dropped, answered by a debugger, or the connection was closed"),
    state(State::Fault, "fault", "a fault was done to it, or made it"),
];
