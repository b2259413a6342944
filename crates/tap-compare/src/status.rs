//! What became of a call.

use std::fmt;

use tap_jsonrpc::Node;

/// What became of a call, told by its answer.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Status {
    /// A result.
    Ok,
    /// A result of a tool that says `isError`.
    ToolError,
    /// An error, with its code as it was written.
    Error(String),
    /// A question in place of a result (`resultType` `input_required`, from 2026-07-28 on).
    InputRequired,
    /// No answer was seen.
    Unanswered,
}

impl Status {
    /// Reads an answer; `None` is none.
    #[must_use]
    pub fn of(answer: Option<Node<'_>>) -> Self {
        let Some(answer) = answer else {
            return Self::Unanswered;
        };
        let [result, error] = answer.pick(["result", "error"]);
        if let Some(error) = error {
            let code = error.get("code").map(|code| String::from_utf8_lossy(code.bytes()).into_owned());
            return Self::Error(code.unwrap_or_default());
        }
        let Some(result) = result else {
            return Self::Unanswered;
        };
        let [is_error, kind] = result.pick(["isError", "resultType"]);
        if kind.is_some_and(|kind| kind.is_text("input_required")) {
            Self::InputRequired
        } else if is_error.and_then(Node::as_bool) == Some(true) {
            Self::ToolError
        } else {
            Self::Ok
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => formatter.write_str("ok"),
            Self::ToolError => formatter.write_str("isError"),
            Self::Error(code) => write!(formatter, "error {code}"),
            Self::InputRequired => formatter.write_str("input required"),
            Self::Unanswered => formatter.write_str("no answer"),
        }
    }
}
