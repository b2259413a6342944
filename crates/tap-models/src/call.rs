//! The calls of tools that a model makes, out of its answer.

use crate::Format;
use crate::tree::Tree;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What the result is filed under; Gemini need not give one.
    pub id: Option<String>,
    /// The tool, by the name that the model was given.
    pub name: String,
    /// The arguments, the text of a JSON object. Numbers are as the model wrote them.
    pub arguments: String,
}

/// That something in a model's answer is no call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotACall {
    /// The answer is no JSON.
    #[error("the model's answer is no JSON")]
    NotJson,
    /// A call has no name.
    #[error("a call names no tool")]
    NoName {
        /// What a result is filed under.
        id: Option<String>,
    },
    /// The arguments are no JSON object. The model can be told so.
    #[error("the arguments for `{name}` are no JSON object: {arguments}")]
    Arguments {
        /// What a result is filed under.
        id: Option<String>,
        /// The tool.
        name: String,
        /// As the model wrote them.
        arguments: String,
    },
}

impl NotACall {
    /// The call to give a result to, which says what is wrong: it has no arguments.
    #[must_use]
    pub fn to_answer(&self) -> Call {
        let (id, name) = match self {
            Self::NotJson => (None, ""),
            Self::NoName { id } => (id.clone(), ""),
            Self::Arguments { id, name, .. } => (id.clone(), name.as_str()),
        };
        Call { id, name: name.to_owned(), arguments: "{}".into() }
    }
}

/// The calls in a model's answer: the body of the interface's response, or the message in it. In the model's order.
///
/// # Errors
///
/// When the answer cannot be read. What is wrong with one call is in its place.
pub fn calls(format: Format, answer: &[u8]) -> Result<Vec<Result<Call, NotACall>>, NotACall> {
    let tree = Tree::read(answer).ok_or(NotACall::NotJson)?;
    let mut found = Vec::new();
    match format {
        Format::OpenAiChat => {
            let choices = tree.get("choices").map(Tree::items).unwrap_or_default();
            let messages = choices.iter().filter_map(|choice| choice.get("message"));
            for message in messages.chain(std::iter::once(&tree)) {
                for call in message.get("tool_calls").map(Tree::items).unwrap_or_default() {
                    if let Some(function) = call.get("function") {
                        found.push(of_text(call.get("id"), function));
                    }
                }
            }
        }
        Format::OpenAiResponses => {
            let output = tree.get("output").map(Tree::items).unwrap_or_default();
            for item in output.iter().chain(std::iter::once(&tree)) {
                if item.get("type").is_some_and(|kind| kind.is_text("function_call")) {
                    found.push(of_text(item.get("call_id"), item));
                }
            }
        }
        Format::Anthropic => {
            for block in tree.get("content").map(Tree::items).unwrap_or_default() {
                if block.get("type").is_some_and(|kind| kind.is_text("tool_use")) {
                    found.push(of_value(block.get("id"), block, "input"));
                }
            }
        }
        Format::Gemini => {
            let candidates = tree.get("candidates").map(Tree::items).unwrap_or_default();
            let contents = candidates.iter().filter_map(|candidate| candidate.get("content"));
            for content in contents.chain(std::iter::once(&tree)) {
                for part in content.get("parts").map(Tree::items).unwrap_or_default() {
                    if let Some(call) = part.get("functionCall") {
                        found.push(of_value(call.get("id"), call, "args"));
                    }
                }
            }
        }
    }
    Ok(found)
}

fn name_of(id: Option<&Tree>, call: &Tree) -> Result<(Option<String>, String), NotACall> {
    let id = id.and_then(Tree::as_text);
    match call.get("name").and_then(Tree::as_text).filter(|name| !name.is_empty()) {
        Some(name) => Ok((id, name)),
        None => Err(NotACall::NoName { id }),
    }
}

/// Arguments as a text that holds JSON. Models that need none may write nothing.
fn of_text(id: Option<&Tree>, call: &Tree) -> Result<Call, NotACall> {
    let (id, name) = name_of(id, call)?;
    let arguments = call.get("arguments").and_then(Tree::as_text).unwrap_or_default();
    let arguments = if arguments.trim().is_empty() { "{}".to_owned() } else { arguments };
    match Tree::read(arguments.as_bytes()) {
        Some(Tree::Object(_)) => Ok(Call { id, name, arguments }),
        _ => Err(NotACall::Arguments { id, name, arguments }),
    }
}

/// Arguments as a value.
fn of_value(id: Option<&Tree>, call: &Tree, member: &str) -> Result<Call, NotACall> {
    let (id, name) = name_of(id, call)?;
    match call.get(member) {
        None => Ok(Call { id, name, arguments: "{}".into() }),
        Some(value @ Tree::Object(_)) => Ok(Call { id, name, arguments: value.write() }),
        Some(other) => {
            // A text is what could not be read as a value when it came in pieces.
            let arguments = other.as_text().unwrap_or_else(|| other.write());
            Err(NotACall::Arguments { id, name, arguments })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(format: Format, answer: &str) -> String {
        let told = calls(format, answer.as_bytes()).map(|calls| {
            let each = calls.into_iter().map(|call| match call {
                Ok(Call { id, name, arguments }) => format!("{} {name} {arguments}", id.as_deref().unwrap_or("-")),
                Err(wrong) => format!("({wrong})"),
            });
            each.collect::<Vec<_>>().join("; ")
        });
        told.unwrap_or_else(|wrong| wrong.to_string())
    }

    #[test]
    fn calls_are_found_in_each_interface_s_answers() {
        for (format, answer, expected) in [
            (
                Format::OpenAiChat,
                r#"{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"a","arguments":"{\"x\":1e400}"}},{"id":"c2","type":"function","function":{"name":"b","arguments":""}}]}}]}"#,
                r#"c1 a {"x":1e400}; c2 b {}"#,
            ),
            (
                Format::OpenAiChat,
                r#"{"tool_calls":[{"id":"c","function":{"name":"a","arguments":"{\"x\":"}},{"id":"d","function":{"arguments":"{}"}}]}"#,
                "(the arguments for `a` are no JSON object: {\"x\":); (a call names no tool)",
            ),
            (
                Format::OpenAiResponses,
                r#"{"output":[{"type":"reasoning"},{"type":"function_call","call_id":"c","name":"a","arguments":"{}"}]}"#,
                "c a {}",
            ),
            (
                Format::Anthropic,
                r#"{"content":[{"type":"text","text":"so"},{"type":"tool_use","id":"t","name":"a","input":{"x":1.0}}]}"#,
                r#"t a {"x":1.0}"#,
            ),
            (
                Format::Anthropic,
                r#"{"content":[{"type":"tool_use","id":"t","name":"a","input":[]}]}"#,
                "(the arguments for `a` are no JSON object: [])",
            ),
            (
                Format::Gemini,
                r#"{"candidates":[{"content":{"parts":[{"text":"so"},{"functionCall":{"name":"a","args":{"x":"y"}}},{"functionCall":{"id":"7","name":"b"}}]}}]}"#,
                r#"- a {"x":"y"}; 7 b {}"#,
            ),
            (Format::Gemini, "nothing", "the model's answer is no JSON"),
            (Format::OpenAiChat, r#"{"content":"done"}"#, ""),
        ] {
            assert_eq!(said(format, answer), expected, "{answer}");
        }
    }
}
