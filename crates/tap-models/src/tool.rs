//! A tool as a model's interface wants it.

use crate::Format;
use crate::schema::{Finding, rewrite};
use crate::tree::Tree;

/// At most so many characters of a description are told: OpenAI refuses more.
const DESCRIPTION_CHARS: usize = 1_024;

/// How long a name may be.
const NAME_BYTES: usize = 64;

/// A tool of MCP's.
#[derive(Debug, Clone, Copy)]
pub struct Tool<'a> {
    /// What it is called: letters, digits, `_` and `-`, at most 64.
    pub name: &'a str,
    /// What it does.
    pub description: Option<&'a str>,
    /// Its `inputSchema`, a JSON text.
    pub input_schema: &'a [u8],
}

/// A tool in an interface's format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The text of a JSON object; `None` where the interface takes no such tool.
    pub text: Option<String>,
    /// What the model is not told, or not in the same words.
    pub findings: Vec<Finding>,
}

/// Writes a tool.
#[must_use]
pub fn tool(format: Format, tool: Tool<'_>) -> Written {
    let refused = |what: String| Written { text: None, findings: vec![Finding { place: String::new(), what }] };
    if let Some(what) = wrong_name(format, tool.name) {
        return refused(format!("{what}; the tool is left out"));
    }
    let Some(schema) = Tree::read(tool.input_schema) else {
        return refused("its schema is no JSON, or nested too deep; the tool is left out".into());
    };
    if format == Format::Anthropic
        && let Some((name, _)) =
            schema.get("properties").map(Tree::members).unwrap_or_default().iter().find(|(name, _)| !is_key(name))
    {
        return refused(format!("its argument `{name}` is called as none may be; the tool is left out"));
    }
    let rewritten = rewrite(format, &schema);
    let mut findings = rewritten.findings;
    let mut description = tool.description.map(str::to_owned);
    if matches!(format, Format::OpenAiChat | Format::OpenAiResponses)
        && let Some(text) = &mut description
        && let Some((end, _)) = text.char_indices().nth(DESCRIPTION_CHARS)
    {
        text.truncate(end);
        findings.push(Finding {
            place: String::new(),
            what: format!("its description is cut to {DESCRIPTION_CHARS} characters"),
        });
    }
    let mut function = Tree::object([("name", Tree::text(tool.name))]);
    if let Some(description) = &description {
        function.set("description", Tree::text(description));
    }
    let strict = Tree::Token(rewritten.strict.to_string());
    let schema_member = match format {
        Format::OpenAiChat | Format::OpenAiResponses | Format::Gemini => "parameters",
        Format::Anthropic => "input_schema",
    };
    if let Some(schema) = rewritten.schema {
        function.set(schema_member, schema);
    }
    let written = match format {
        Format::OpenAiChat => {
            function.set("strict", strict);
            Tree::object([("type", Tree::text("function")), ("function", function)])
        }
        Format::OpenAiResponses => {
            let mut all = Tree::object([("type", Tree::text("function"))]);
            for (key, value) in function.members() {
                all.set(key, value.clone());
            }
            all.set("strict", strict);
            all
        }
        Format::Anthropic | Format::Gemini => function,
    };
    Written { text: Some(written.write()), findings }
}

/// What is wrong with a name, for an interface.
fn wrong_name(format: Format, name: &str) -> Option<String> {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    if name.is_empty() || NAME_BYTES < name.len() || !name.bytes().all(is_taken) {
        return Some(format!("it is called `{name}`, and names are 1 to {NAME_BYTES} letters, digits, `_` and `-`"));
    }
    let begins_well = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    (format == Format::Gemini && !begins_well)
        .then(|| format!("it is called `{name}`, and names begin with a letter or `_`"))
}

/// Whether an argument may be called so (Anthropic: letters, digits, `_`, `.` and `-`, at most 64).
fn is_key(name: &str) -> bool {
    let is_taken = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    (1..=NAME_BYTES).contains(&name.len()) && name.bytes().all(is_taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tool_is_written_as_each_interface_wants_it() {
        let schema =
            r#"{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"additionalProperties":false}"#;
        let closed = Tool { name: "s__add", description: Some("Adds."), input_schema: schema.as_bytes() };
        let parameters = schema;
        for (format, expected) in [
            (
                Format::OpenAiChat,
                format!(r#"{{"type":"function","function":{{"name":"s__add","description":"Adds.","parameters":{parameters},"strict":true}}}}"#),
            ),
            (
                Format::OpenAiResponses,
                format!(r#"{{"type":"function","name":"s__add","description":"Adds.","parameters":{parameters},"strict":true}}"#),
            ),
            (Format::Anthropic, format!(r#"{{"name":"s__add","description":"Adds.","input_schema":{parameters}}}"#)),
            (
                Format::Gemini,
                r#"{"name":"s__add","description":"Adds.","parameters":{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"],"propertyOrdering":["a"]}}"#.into(),
            ),
        ] {
            let written = tool(format, closed);
            assert_eq!((written.text, written.findings), (Some(expected), Vec::new()));
        }
    }

    #[test]
    fn what_an_interface_does_not_take_is_told() {
        let long = "x".repeat(65);
        let description = "é".repeat(1_025);
        for (format, name, description, schema, left_out, says) in [
            (Format::Anthropic, "a b", None, "{}", true, "names are 1 to 64"),
            (Format::OpenAiChat, long.as_str(), None, "{}", true, "names are 1 to 64"),
            (Format::Gemini, "7up", None, "{}", true, "begin with a letter"),
            (Format::OpenAiChat, "7up", None, "{}", false, ""),
            (Format::Anthropic, "a", None, r#"{"properties":{"a b":{}}}"#, true, "`a b` is called as none may be"),
            (Format::OpenAiChat, "a", None, "{", true, "no JSON"),
            (Format::OpenAiChat, "a", Some(description.as_str()), "{}", false, "cut to 1024 characters"),
            (Format::Gemini, "a", Some(description.as_str()), "{}", false, ""),
        ] {
            let written = tool(format, Tool { name, description, input_schema: schema.as_bytes() });
            assert_eq!(written.text.is_none(), left_out, "{name} {schema}");
            let told: Vec<&str> = written.findings.iter().map(|finding| finding.what.as_str()).collect();
            assert_eq!(told.is_empty(), says.is_empty(), "{told:?}");
            assert!(told.join(" ").contains(says), "{told:?}");
        }
        // Without arguments there is nothing to say.
        let none = tool(Format::Gemini, Tool { name: "a", description: None, input_schema: b"{}" });
        assert_eq!(none.text.unwrap(), r#"{"name":"a"}"#);
    }
}
