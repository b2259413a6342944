//! Whether an edited message may go: by the protocol, and by the schema of the tool that it calls.

use std::collections::HashMap;

use bytes::Bytes;
use tap_jsonrpc::{Content, Envelope, Node, RawId, scan};
use tap_protocol::{Revision, Revisions};
use tap_schema::Checked;
use tap_session::fits_schema;

/// Schemas that are remembered, bytes.
const SCHEMAS_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// What is wrong with an edited message. It can be sent all the same by who insists.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It is not JSON.
    #[error("it is not JSON: {0}")]
    NotJson(String),
    /// It is JSON, and no message.
    #[error("it is no JSON-RPC message: {0}")]
    NotAMessage(String),
    /// It is another kind of message.
    #[error("it is another kind of message than before")]
    OtherKind,
    /// Its id is another one.
    #[error("its id is {after} and was {before}: the answer would not be found")]
    OtherId {
        /// As it came.
        before: String,
        /// As it was written.
        after: String,
    },
    /// Its method is another one.
    #[error("its method is `{after}` and was `{before}`")]
    OtherMethod {
        /// As it came.
        before: String,
        /// As it was written.
        after: String,
    },
    /// The arguments do not fit the tool's schema.
    #[error("its arguments do not fit the inputSchema of `{tool}`: {what}")]
    Arguments {
        /// The tool.
        tool: String,
        /// Where, and what.
        what: String,
    },
}

/// The input schemas of tools, as they were listed last.
#[derive(Debug, Clone, Default)]
pub struct Schemas {
    by_tool: HashMap<String, Bytes>,
    n_bytes: usize,
}

impl Schemas {
    /// The input schema of a tool, if it was listed.
    #[must_use]
    pub fn of(&self, tool: &str) -> Option<&Bytes> {
        self.by_tool.get(tool)
    }

    /// Takes the answer to `tools/list`; `is_next_page` says that it goes on with the list before.
    pub(crate) fn take(&mut self, answer: &Bytes, is_next_page: bool) {
        if !is_next_page {
            *self = Self::default();
        }
        let Some(tools) = Node::new(answer).at(&["result", "tools"]) else {
            return;
        };
        for tool in tools.elements() {
            let [name, schema] = tool.pick(["name", "inputSchema"]);
            let (Some(name), Some(schema)) = (name.and_then(Node::text), schema) else {
                continue;
            };
            if self.n_bytes + schema.bytes().len() <= SCHEMAS_LIMIT_BYTES {
                self.n_bytes += schema.bytes().len();
                self.by_tool.insert(name.into_owned(), Bytes::copy_from_slice(schema.bytes()));
            }
        }
    }
}

/// What is wrong with `edited` in the place of `original`. `schema` is the tool's, if it is known.
pub(crate) fn problems(
    original: &[u8],
    edited: &[u8],
    schemas: &Schemas,
    schema: Option<&[u8]>,
    revision: Option<&str>,
) -> Vec<Problem> {
    let envelope = |bytes: &[u8]| match scan(bytes, &[]).content {
        Content::Message(envelope) => Ok(envelope),
        Content::NotJson(error) => Err(Problem::NotJson(error.to_string())),
        Content::Blank => Err(Problem::NotJson("it is empty".into())),
        Content::NotAMessage(other) => Err(Problem::NotAMessage(other.why.to_string())),
        Content::Batch(_) => Err(Problem::NotAMessage("it is an array".into())),
    };
    let after = match (envelope(edited), matches!(scan(original, &[]).content, Content::Message(_))) {
        (Ok(after), _) => after,
        (Err(problem @ Problem::NotJson(_)), _) | (Err(problem), true) => return vec![problem],
        // What came was no message either.
        (Err(_), false) => return Vec::new(),
    };
    let mut problems = Vec::new();
    if let Ok(before) = envelope(original) {
        compare(&before, &after, &mut problems);
    }
    if after.method.as_deref() == Some("tools/call") {
        let [name, arguments] =
            Node::new(edited).get("params").map(|params| params.pick(["name", "arguments"])).unwrap_or_default();
        let tool = name.and_then(Node::text).unwrap_or_default();
        let schema = schemas.of(&tool).map(Bytes::as_ref).or(schema);
        let revisions = revision.and_then(Revision::nearest).map_or(Revisions::ALL, Revisions::only);
        let checked = schema.map(|schema| fits_schema(schema, arguments.map_or(b"{}", Node::bytes), revisions));
        if let Some(Ok(Checked::Invalid(violations))) = checked {
            for violation in violations {
                let place =
                    if violation.instance.is_empty() { String::new() } else { format!("{}: ", violation.instance) };
                problems.push(Problem::Arguments {
                    tool: tool.clone().into_owned(),
                    what: format!("{place}{}", violation.message),
                });
            }
        }
    }
    problems
}

fn compare(before: &Envelope, after: &Envelope, problems: &mut Vec<Problem>) {
    if before.kind != after.kind {
        problems.push(Problem::OtherKind);
    }
    let id = |id: &Option<RawId>| id.as_ref().map_or_else(|| "missing".into(), RawId::to_string);
    if before.id != after.id {
        problems.push(Problem::OtherId { before: id(&before.id), after: id(&after.id) });
    }
    if before.method != after.method && before.method.is_some() && after.method.is_some() {
        let text = |method: &Option<String>| method.clone().unwrap_or_default();
        problems.push(Problem::OtherMethod { before: text(&before.method), after: text(&after.method) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_with_an_edited_message_is_told() {
        let mut schemas = Schemas::default();
        let listed = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"add","inputSchema":{"type":"object","properties":{"a":{"type":"number"}},"required":["a"]}}]}}"#;
        schemas.take(&Bytes::from_static(listed.as_bytes()), false);
        let original = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}"#;
        let with = |from: &str, to: &str| original.replace(from, to);
        for (edited, expected) in [
            (with("\"a\":1", "\"a\":2"), &[][..]),
            (with("\"id\":7", "\"id\":\"7\""), &["its id is \"7\" and was 7: the answer would not be found"]),
            (
                with("\"id\":7,", ""),
                &[
                    "it is another kind of message than before",
                    "its id is missing and was 7: the answer would not be found",
                ],
            ),
            (with("tools/call", "tools/list"), &["its method is `tools/list` and was `tools/call`"]),
            (
                with("\"a\":1", "\"a\":\"x\""),
                &["its arguments do not fit the inputSchema of `add`: /a: \"x\" is not of type \"number\""],
            ),
            (with("\"a\":1", ""), &["its arguments do not fit the inputSchema of `add`: \"a\" is a required property"]),
            (with("}}}", ""), &["it is not JSON: a JSON value is cut off at byte 87"]),
            ("[]".into(), &["it is no JSON-RPC message: it is an array"]),
            ("{}".into(), &["it is no JSON-RPC message: has no method, result or error"]),
            (String::new(), &["it is not JSON: it is empty"]),
        ] {
            let problems = problems(original.as_bytes(), edited.as_bytes(), &schemas, None, Some("2025-11-25"));
            let problems: Vec<_> = problems.iter().map(Problem::to_string).collect();
            assert_eq!(problems, expected, "{edited}");
        }
    }
}
