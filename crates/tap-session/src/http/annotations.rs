//! Parameters of tools that are to be repeated in headers: `x-mcp-header` in an input schema.
//!
//! Source: MCP 2026-07-28, basic/transports/streamable-http, Custom Headers from Tool Parameters.

use std::sync::Arc;

use imbl::HashMap;
use tap_jsonrpc::Node;

use crate::rule::quoted;

const KEYWORD: &str = "x-mcp-header";

/// Tools with annotations that are remembered.
const TOOLS: usize = 10_000;

/// How deep a schema is looked into. A value is walked over once for each container around it.
const DEPTH: usize = 32;

/// Annotations of all tools together that are remembered.
const ANNOTATIONS: usize = 20_000;

/// Keys on the way to a parameter, and the name of its header, are remembered up to this length together, bytes.
const ANNOTATION_BYTES: usize = 1_024;

/// Annotations of one tool that are remembered, and problems that are told.
const OF_ONE_TOOL: usize = 100;

/// How long a client may not know that a tool has changed, nanoseconds: the list may still be on its way to it.
const UNKNOWN_NS: u64 = 2_000_000_000;

/// A parameter that has a header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Annotation {
    /// Its keys from the arguments down.
    path: Vec<String>,
    /// The header is `Mcp-Param-` and this.
    pub(super) header: String,
}

impl Annotation {
    /// The argument, if there is one.
    pub(super) fn argument<'a>(&self, arguments: Option<Node<'a>>) -> Option<Node<'a>> {
        let value = self.path.iter().try_fold(arguments?, |node, key| node.get(key))?;
        (!value.is_null()).then_some(value)
    }

    /// The parameter as it stands in a detail.
    pub(super) fn parameter(&self) -> String {
        quoted(&self.path.join("."))
    }
}

/// What is known of one tool.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    annotations: Arc<[Annotation]>,
    /// When it became something else than it was before.
    changed_ns: Option<u64>,
}

/// The annotations of the tools that were listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Annotations {
    tools: HashMap<String, Known>,
    n_annotations: usize,
}

impl Annotations {
    /// The annotations of a tool; none while clients may not know of its newest ones.
    pub(super) fn of(&self, tool: &str, at_ns: u64) -> Option<Arc<[Annotation]>> {
        let known = self.tools.get(tool)?;
        let is_news = known.changed_ns.is_some_and(|changed_ns| at_ns < changed_ns.saturating_add(UNKNOWN_NS));
        (!is_news).then(|| known.annotations.clone())
    }

    /// Takes in the result of `tools/list`, and says what is wrong with it: the tool, and why.
    pub(super) fn listed(&mut self, result: Node<'_>, at_ns: u64) -> Vec<(String, String)> {
        let mut problems = Vec::new();
        // Hardly any list has one, and looking for it costs less than looking into every schema.
        let has_any = result.bytes().windows(KEYWORD.len()).any(|window| window == KEYWORD.as_bytes());
        if !has_any && self.tools.is_empty() {
            return problems;
        }
        for tool in result.get("tools").into_iter().flat_map(Node::elements) {
            let [name, schema] = tool.pick(["name", "inputSchema"]);
            let Some(name) = name.and_then(Node::text) else {
                continue;
            };
            let mut found = Found::default();
            if let (true, Some(schema)) = (has_any, schema) {
                found.look(schema, true, &mut Vec::new(), 0);
            }
            // A client has to leave out a tool whose annotations are wrong, so that nothing follows from them.
            let annotations = if found.problems.is_empty() { found.annotations } else { Vec::new() };
            problems.extend(found.problems.into_iter().map(|why| (name.to_string(), why)));
            self.remember(&name, annotations.into(), at_ns);
        }
        problems
    }

    fn remember(&mut self, name: &str, annotations: Arc<[Annotation]>, at_ns: u64) {
        let known = self.tools.get(name);
        let (is_new, n_before) = (known.is_none(), known.map_or(0, |known| known.annotations.len()));
        if known.map_or(annotations.is_empty(), |known| known.annotations == annotations) {
            return;
        }
        let n_others = self.n_annotations - n_before;
        let too_many = ANNOTATIONS < n_others + annotations.len() || ANNOTATION_BYTES < name.len();
        if is_new && (too_many || TOOLS <= self.tools.len()) {
            return;
        }
        // Of what is too much nothing is known, which is judged by nothing.
        let annotations = if too_many { Arc::from([]) } else { annotations };
        self.n_annotations = n_others + annotations.len();
        let changed_ns = (!is_new).then_some(at_ns);
        self.tools.insert(name.to_owned(), Known { annotations, changed_ns });
    }
}

/// What is wrong with the parameters of one tool that are to be repeated in headers. `tool` is as it is listed.
///
/// A client over Streamable HTTP leaves out a tool with any, and uses the others (MCP 2026-07-28,
/// basic/transports/streamable-http, Custom Headers from Tool Parameters).
#[must_use]
pub fn wrong_parameter_headers(tool: Node<'_>) -> Vec<String> {
    let mut found = Found::default();
    if let Some(schema) = tool.get("inputSchema") {
        found.look(schema, true, &mut Vec::new(), 0);
    }
    found.problems
}

#[derive(Default)]
struct Found {
    annotations: Vec<Annotation>,
    problems: Vec<String>,
}

impl Found {
    /// Looks into a schema. `reachable` says whether only `properties` led here.
    fn look(&mut self, schema: Node<'_>, reachable: bool, path: &mut Vec<String>, depth: usize) {
        if DEPTH <= depth || OF_ONE_TOOL <= self.annotations.len() + self.problems.len() {
            return;
        }
        if let Some(header) = schema.get(KEYWORD) {
            self.annotation(schema, header, reachable, path);
        }
        for (key, value) in schema.members() {
            let is_data = ["const", "default", "enum", "example", "examples", KEYWORD].iter().any(|data| key.is(data));
            if is_data {
                continue;
            }
            // Names are no keywords: each property is a schema of its own.
            let named = ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"];
            if named.iter().any(|keyword| key.is(keyword)) {
                for (name, property) in value.members() {
                    path.push(name.text().into_owned());
                    self.look(property, reachable && key.is("properties"), path, depth + 1);
                    path.pop();
                }
            } else if value.is_object() {
                self.look(value, false, path, depth + 1);
            } else if value.is_array() {
                for element in value.elements().filter(|element| element.is_object()) {
                    self.look(element, false, path, depth + 1);
                }
            }
        }
    }

    fn annotation(&mut self, schema: Node<'_>, header: Node<'_>, reachable: bool, path: &[String]) {
        let name = header.text().unwrap_or_default();
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let why = if path.is_empty() || !reachable {
            "it is not reached by `properties` alone"
        } else if !header.is_string() || name.is_empty() {
            "it is empty, or no text"
        } else if !name.bytes().all(is_token) {
            "it is no name of a header"
        } else if !may_be_primitive(schema) {
            "the parameter is no string, integer or boolean"
        } else if self.annotations.iter().any(|other| other.header.eq_ignore_ascii_case(&name)) {
            "another parameter has the same"
        } else {
            if path.iter().map(String::len).sum::<usize>() + name.len() <= ANNOTATION_BYTES {
                self.annotations.push(Annotation { path: path.to_vec(), header: name.into_owned() });
            }
            return;
        };
        self.problems.push(format!("{} at {}: {why}", quoted(&name), quoted(&path.join("."))));
    }
}

/// Whether values of a schema fit into a header. Where it does not say of which type they are, nothing is proved.
fn may_be_primitive(schema: Node<'_>) -> bool {
    let is_primitive =
        |kind: Node<'_>| ["string", "integer", "boolean"].iter().any(|primitive| kind.is_text(primitive));
    match schema.get("type") {
        // `null` is what has no header.
        Some(kinds) if kinds.is_array() => kinds.elements().all(|kind| is_primitive(kind) || kind.is_text("null")),
        Some(kind) => is_primitive(kind),
        None => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(schema: &str) -> Vec<String> {
        let result = format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#);
        let mut annotations = Annotations::default();
        annotations.listed(Node::new(result.as_bytes()), 0).into_iter().map(|(_, why)| why).collect()
    }

    #[test]
    fn annotations_have_constraints() {
        let of = |kind: &str, header: &str| {
            format!(r#"{{"type":"object","properties":{{"a":{{"type":"{kind}","x-mcp-header":{header}}}}}}}"#)
        };
        for kind in ["string", "integer", "boolean"] {
            assert!(problems(&of(kind, r#""Region-1""#)).is_empty(), "{kind}");
        }
        for (kind, header, expected) in [
            ("number", r#""A""#, "`A` at `a`: the parameter is no string, integer or boolean"),
            ("object", r#""A""#, "`A` at `a`: the parameter is no string, integer or boolean"),
            ("string", r#""""#, "`` at `a`: it is empty, or no text"),
            ("string", "1", "`` at `a`: it is empty, or no text"),
            ("string", r#""a b""#, "`a b` at `a`: it is no name of a header"),
            ("string", r#""é""#, "`é` at `a`: it is no name of a header"),
            ("string", r#""a\nb""#, "`a\nb` at `a`: it is no name of a header"),
        ] {
            assert_eq!(problems(&of(kind, header)), [expected], "{kind} {header}");
        }
    }

    #[test]
    fn annotations_are_reached_by_properties_alone() {
        let wrong = r#"{"type":"object","properties":{"l":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}},
            "anyOf":[{"properties":{"b":{"type":"string","x-mcp-header":"B"}}}],"$defs":{"c":{"type":"string","x-mcp-header":"C"}}}"#;
        assert_eq!(problems(wrong).len(), 3, "{:?}", problems(wrong));
        let twice = r#"{"type":"object","properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#;
        assert_eq!(problems(twice), ["`a` at `b`: another parameter has the same"]);
        // Data, and a parameter that is called like the keyword.
        let fine = r#"{"type":"object","properties":{"x-mcp-header":{"type":"string"},"d":{"type":"object","default":{"x-mcp-header":""}},
            "properties":{"type":"object","properties":{"x":{"type":"string","x-mcp-header":"X"}}}}}"#;
        assert!(problems(fine).is_empty(), "{:?}", problems(fine));
    }

    #[test]
    fn a_client_has_time_to_learn_that_a_tool_changed() {
        let list = |header: &str| {
            format!(
                r#"{{"tools":[{{"name":"t","inputSchema":{{"type":"object","properties":{{"a":{{"type":"string"{header}}}}}}}}}]}}"#
            )
        };
        let mut annotations = Annotations::default();
        annotations.listed(Node::new(list(r#","x-mcp-header":"A""#).as_bytes()), 5);
        assert_eq!(annotations.of("t", 5).unwrap().len(), 1);
        annotations.listed(Node::new(list("").as_bytes()), 10);
        assert_eq!(annotations.of("t", 11), None);
        assert_eq!(annotations.of("t", 11 + UNKNOWN_NS).unwrap().len(), 0);
        assert_eq!(annotations.of("u", 5), None);
    }

    #[test]
    fn no_more_is_kept_than_the_limits_say() {
        let property = |name: &str| format!(r#""{name}":{{"type":"string","x-mcp-header":"{name}"}}"#);
        let tool = |name: &str, properties: &str| {
            let tool =
                format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{{properties}}}}}}}"#);
            format!(r#"{{"tools":[{tool}]}}"#)
        };
        let many = (0..OF_ONE_TOOL).map(|n| property(&format!("p{n}"))).collect::<Vec<_>>().join(",");
        let mut annotations = Annotations::default();
        // Twice, since what is listed again is kept once.
        for round in 0..2 {
            for n in 0..ANNOTATIONS / OF_ONE_TOOL + 5 {
                annotations.listed(Node::new(tool(&format!("t{n}"), &many).as_bytes()), round);
            }
        }
        assert_eq!(annotations.n_annotations, ANNOTATIONS);
        annotations.listed(Node::new(tool("t0", &property("a")).as_bytes()), 5);
        assert_eq!(annotations.n_annotations, ANNOTATIONS - OF_ONE_TOOL + 1);
        let mut annotations = Annotations::default();
        annotations.listed(Node::new(tool("t", &property(&"a".repeat(ANNOTATION_BYTES))).as_bytes()), 0);
        assert_eq!(annotations, Annotations::default());
    }

    #[test]
    fn a_deep_schema_is_not_looked_into_for_ever() {
        let deep = r#"{"properties":{"a":"#.repeat(500) + r#"{"x-mcp-header":""}"# + &"}}".repeat(500);
        assert!(problems(&deep).is_empty());
    }
}
