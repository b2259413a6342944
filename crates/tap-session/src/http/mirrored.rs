//! Headers that repeat what the body says, for those who take part: writing them, and comparing them with it.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, Request Metadata.

use tap_jsonrpc::{Node, NodeKind};
use tap_protocol::meta;

use super::annotations::Annotations;
use super::head::Headers;
use super::mirror::{Mirrored, badly_written, compare, compare_value, encoded};
use crate::rule::quoted;

/// What the headers of requests of the modern era are made from: the request, and what was listed about its tool.
#[derive(Debug, Clone, Default)]
pub struct MirroredHeaders {
    annotations: Annotations,
}

impl MirroredHeaders {
    /// Remembers which parameters of tools have headers. `result` is that of a `tools/list`, of any page.
    pub fn listed(&mut self, result: Node<'_>, at_ns: u64) {
        self.annotations.listed(result, at_ns);
    }

    /// Names and values of the headers that go with a request.
    #[must_use]
    pub fn of(&self, request: Node<'_>) -> Vec<(String, String)> {
        let asked = Asked::new(request);
        let mut headers = Vec::new();
        if let Some(version) = asked.version {
            headers.push(("MCP-Protocol-Version".into(), encoded(&text(version))));
        }
        headers.push(("Mcp-Method".into(), encoded(&asked.method)));
        if let Some(name) = asked.name() {
            headers.push(("Mcp-Name".into(), encoded(&text(name))));
        }
        // The newest annotations, however new they are: it is the client that learned of them.
        for (header, argument, _) in asked.annotated(&self.annotations, u64::MAX) {
            if let Some(value) = argument.and_then(value) {
                headers.push((header, value));
            }
        }
        headers
    }

    /// How the headers of a request disagree with it, told to a reader; `None` when they agree.
    ///
    /// For `at_ns` see [`listed`](Self::listed): while a client may not know what was listed about a tool, the headers of its
    /// parameters are not asked for.
    #[must_use]
    pub fn mismatch(&self, request: Node<'_>, headers: Headers<'_>, at_ns: u64) -> Option<String> {
        let asked = Asked::new(request);
        let version = asked.version.map(text).unwrap_or_default();
        if !headers.has("mcp-protocol-version") {
            return Some("there is no `MCP-Protocol-Version`".into());
        }
        let name = asked.name().map(text);
        let fixed = [
            ("MCP-Protocol-Version", asked.version.is_some().then_some(version)),
            ("Mcp-Method", Some(asked.method.clone())),
            ("Mcp-Name", name),
        ];
        for (header, expected) in fixed {
            let Some(expected) = expected else {
                continue;
            };
            if !headers.has(header) {
                return Some(format!("there is no `{header}`, and the body says {}", quoted(&expected)));
            }
            let told = headers.all(header).find_map(|raw| told(header, compare(raw, &expected), &expected));
            if told.is_some() {
                return told;
            }
        }
        let wrong = |(header, argument, parameter): (String, Option<Node<'_>>, String)| match (
            argument,
            headers.get(&header),
        ) {
            (None, None) => None,
            (Some(argument), Some(raw)) => {
                told(&header, compare_value(raw, argument)?, &String::from_utf8_lossy(argument.bytes()))
            }
            (Some(_), None) => Some(format!("there is no `{header}` for {parameter}")),
            (None, Some(_)) => Some(format!("`{header}` is there, and the argument {parameter} is not")),
        };
        asked.annotated(&self.annotations, at_ns).into_iter().find_map(wrong).or_else(|| {
            let mut parameters = headers.with_prefix("mcp-param-");
            parameters.find_map(|(name, raw)| badly_written(raw).map(|why| format!("`Mcp-Param-{name}`: {why}")))
        })
    }
}

fn told(header: &str, mirrored: Mirrored, expected: &str) -> Option<String> {
    match mirrored {
        Mirrored::Same => None,
        Mirrored::BadlyWritten(why) => Some(format!("`{header}`: {why}")),
        Mirrored::Differs(said) => Some(format!("`{header}` says {said}, and the body {}", quoted(expected))),
    }
}

fn text(node: Node<'_>) -> String {
    node.text().unwrap_or_default().into_owned()
}

/// An argument as a header says it. A value that does not fit into one has none.
fn value(argument: Node<'_>) -> Option<String> {
    match argument.kind() {
        NodeKind::String => Some(encoded(&text(argument))),
        NodeKind::True => Some("true".into()),
        NodeKind::False => Some("false".into()),
        NodeKind::Number => Some(match argument.as_i64() {
            Some(number) => number.to_string(),
            None => String::from_utf8_lossy(argument.bytes()).into_owned(),
        }),
        NodeKind::Object | NodeKind::Array | NodeKind::Null | NodeKind::Invalid => None,
    }
}

/// What of a request is repeated.
struct Asked<'a> {
    method: String,
    params: Option<Node<'a>>,
    version: Option<Node<'a>>,
}

impl<'a> Asked<'a> {
    fn new(request: Node<'a>) -> Self {
        let [method, params] = request.pick(["method", "params"]);
        let version = params.and_then(|params| params.at(&["_meta", meta::PROTOCOL_VERSION]));
        Self { method: method.map(text).unwrap_or_default(), params, version: version.filter(|node| node.is_string()) }
    }

    /// What `Mcp-Name` says, where the method has it.
    fn name(&self) -> Option<Node<'a>> {
        self.params?.get(named_by(&self.method)?).filter(|name| name.is_string())
    }

    /// The annotated parameters of a call: the header, the argument, and the parameter as it stands in a sentence.
    fn annotated(&self, annotations: &Annotations, at_ns: u64) -> Vec<(String, Option<Node<'a>>, String)> {
        let [name, arguments] = match (self.method.as_str(), self.params) {
            ("tools/call", Some(params)) => params.pick(["name", "arguments"]),
            _ => [None; 2],
        };
        let annotated = name.and_then(|name| annotations.of(&name.text()?, at_ns));
        let of = |annotation: &super::annotations::Annotation| {
            (format!("Mcp-Param-{}", annotation.header), annotation.argument(arguments), annotation.parameter())
        };
        annotated.iter().flat_map(|annotated| annotated.iter()).map(of).collect()
    }
}

/// The member of `params` that `Mcp-Name` repeats, of the methods that have that header.
pub(super) fn named_by(method: &str) -> Option<&'static str> {
    match method {
        "tools/call" | "prompts/get" => Some("name"),
        "resources/read" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = r#"{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{
        "r":{"type":"string","x-mcp-header":"Region"},"n":{"type":"integer","x-mcp-header":"N"}}}}]}"#;

    fn call(arguments: &str) -> String {
        format!(
            r#"{{"id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{"{}":"2026-07-28"}}}}}}"#,
            meta::PROTOCOL_VERSION
        )
    }

    #[test]
    fn what_is_written_agrees_with_what_is_compared() {
        let mut mirrored = MirroredHeaders::default();
        mirrored.listed(Node::new(LIST.as_bytes()), 0);
        for (arguments, expected) in [
            (r#"{"r":"us","n":42.0}"#, vec!["Region=us", "N=42"]),
            (r#"{"r":" padded ","n":9007199254740993}"#, vec!["Region==?base64?IHBhZGRlZCA=?=", "N=9007199254740993"]),
            (r#"{"r":"=?base64?literal?="}"#, vec!["Region==?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="]),
            (r#"{"r":"","n":null}"#, vec!["Region="]),
            (
                r#"{"r":"世界","n":123456789012345678901234}"#,
                vec!["Region==?base64?5LiW55WM?=", "N=123456789012345678901234"],
            ),
        ] {
            let request = call(arguments);
            let headers = mirrored.of(Node::new(request.as_bytes()));
            let fields: Vec<(&str, &[u8])> =
                headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
            let parameters: Vec<String> = headers
                .iter()
                .filter_map(|(name, value)| Some(format!("{}={value}", name.strip_prefix("Mcp-Param-")?)))
                .collect();
            assert_eq!(parameters, expected, "{arguments}");
            assert_eq!(mirrored.mismatch(Node::new(request.as_bytes()), Headers(&fields), 5), None, "{arguments}");
            for missing in 0..fields.len() {
                let mut fewer = fields.clone();
                let (name, _) = fewer.remove(missing);
                let told = mirrored.mismatch(Node::new(request.as_bytes()), Headers(&fewer), 5).unwrap();
                assert!(told.contains(name), "{told}");
            }
        }
    }
}
