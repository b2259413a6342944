//! Results and params on their way between a host and a server of different eras: what the one writes and the other has no
//! word for is left out, and everything else stays as it is written.

use tap_jsonrpc::Node;
use tap_peer::{ListKind, quoted};
use tap_protocol::{Era, Revision, meta};

/// What results of the modern era alone have (2026-07-28, basic/index, ResultType; server/utilities/caching).
const MODERN_MEMBERS: [&str; 3] = ["resultType", "ttlMs", "cacheScope"];

/// Members of what is listed that older hosts do not know, and since when there are any (changelogs of these revisions).
const NEWER_MEMBERS: [(&str, Revision); 4] = [
    ("title", Revision::V2025_06_18),
    ("outputSchema", Revision::V2025_06_18),
    ("_meta", Revision::V2025_06_18),
    ("icons", Revision::V2025_11_25),
];

/// Keys of `_meta` that are about one connection, and are no business of the next.
const OF_A_CONNECTION: [&str; 7] = [
    meta::PROGRESS_TOKEN,
    meta::PROTOCOL_VERSION,
    meta::CLIENT_INFO,
    meta::CLIENT_CAPABILITIES,
    meta::LOG_LEVEL,
    meta::SERVER_INFO,
    meta::SUBSCRIPTION_ID,
];

/// An object as it is written, but for members that are left out, and one that is another.
fn without(node: Node<'_>, left_out: &[&str], replaced: &[(&str, String)]) -> Vec<String> {
    let mut members = Vec::new();
    for (key, value) in node.members() {
        if left_out.iter().any(|name| key.is(name)) {
            continue;
        }
        let written = String::from_utf8_lossy(key.bytes()).into_owned();
        let other = replaced.iter().find(|(name, _)| key.is(name)).map(|(_, other)| other.clone());
        members.push(format!("{written}:{}", other.unwrap_or_else(|| text(value))));
    }
    members
}

fn text(node: Node<'_>) -> String {
    String::from_utf8_lossy(node.bytes()).into_owned()
}

fn object(members: &[String]) -> String {
    format!("{{{}}}", members.join(","))
}

/// `_meta` without what belongs to the connection that it came on; `None` where nothing is left.
fn passed_meta(node: Node<'_>) -> Option<String> {
    let members = without(node.get("_meta")?, &OF_A_CONNECTION, &[]);
    (!members.is_empty()).then(|| object(&members))
}

/// The params of a request, for the server that it is for. `replaced` are members that are other ones there.
#[must_use]
pub(crate) fn params(params: Option<Node<'_>>, replaced: &[(&str, String)]) -> String {
    let Some(params) = params else {
        return "{}".into();
    };
    // Rounds of input are with the one who asked; tasks are not passed on.
    let mut members = without(params, &["_meta", "inputResponses", "requestState", "task"], replaced);
    if let Some(meta) = passed_meta(params) {
        members.push(format!("\"_meta\":{meta}"));
    }
    object(&members)
}

/// The same params with what the host can be asked because of this one request, for a server of the modern era.
pub(crate) fn with_capabilities(params: &str, capabilities: &str) -> String {
    let node = Node::new(params.as_bytes());
    let mut all = node.get("_meta").map(|there| without(there, &[meta::CLIENT_CAPABILITIES], &[])).unwrap_or_default();
    all.push(format!("{}:{capabilities}", quoted(meta::CLIENT_CAPABILITIES)));
    let mut members = without(node, &["_meta"], &[]);
    members.push(format!("\"_meta\":{}", object(&all)));
    object(&members)
}

/// The result of a call, for a host that speaks this revision.
#[must_use]
pub(crate) fn result(result: Node<'_>, host: Revision) -> String {
    let mut left_out = vec!["_meta"];
    if host.era() == Era::Legacy {
        left_out.extend(MODERN_MEMBERS);
        let is_object = result.get("structuredContent").is_none_or(Node::is_object);
        // Older hosts know objects alone, or none (2025-06-18, server/tools).
        if host < Revision::V2025_06_18 || !is_object {
            left_out.push("structuredContent");
        }
    }
    let mut members = without(result, &left_out, &[]);
    if let Some(meta) = passed_meta(result) {
        members.push(format!("\"_meta\":{meta}"));
    }
    object(&members)
}

/// An item of a list, for a host that speaks this revision.
#[must_use]
pub(crate) fn item(item: Node<'_>, kind: ListKind, host: Revision) -> String {
    let newer = NEWER_MEMBERS.iter().filter(|(_, since)| host < *since);
    let mut left_out: Vec<&str> = newer.map(|(member, _)| *member).collect();
    if kind == ListKind::Tools {
        let is_object = |schema: Node<'_>| schema.get("type").is_some_and(|kind| kind.is_text("object"));
        if host.era() == Era::Legacy && !item.get("outputSchema").is_none_or(is_object) {
            left_out.push("outputSchema");
        }
        // Before annotations of tools there were those of resources.
        if host < Revision::V2025_03_26 {
            left_out.push("annotations");
        }
        // Tasks are not passed on, so that nobody is to be led to ask for one.
        left_out.push("execution");
    }
    match item.members().any(|(key, _)| left_out.iter().any(|name| key.is(name))) {
        true => object(&without(item, &left_out, &[])),
        false => text(item),
    }
}

/// A result that tells a model what went wrong, as tools do.
#[must_use]
pub fn error_result(what: &str) -> String {
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true}}", quoted(what))
}

/// The member of a result's `_meta` that says who did not let the call be made.
pub const REFUSED: &str = "mcp-tap/refused";

/// A result that tells a model that a call was refused.
pub(crate) fn refused_result(what: &str, by: &str) -> String {
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true,\"_meta\":{{\"{REFUSED}\":{}}}}}",
        quoted(what),
        quoted(by)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_one_connection_stays_there() {
        let node = Node::new(
            br#"{"name":"a","arguments":{"x":1e400},"task":{},"requestState":"s","inputResponses":{},"_meta":{"progressToken":1,"io.modelcontextprotocol/protocolVersion":"2026-07-28","traceparent":"00-a"}}"#,
        );
        assert_eq!(
            params(Some(node), &[("name", "\"b\"".into())]),
            r#"{"name":"b","arguments":{"x":1e400},"_meta":{"traceparent":"00-a"}}"#
        );
        assert_eq!(params(None, &[]), "{}");
        assert_eq!(
            with_capabilities(r#"{"name":"b","_meta":{"traceparent":"00-a"}}"#, r#"{"roots":{}}"#),
            r#"{"name":"b","_meta":{"traceparent":"00-a","io.modelcontextprotocol/clientCapabilities":{"roots":{}}}}"#
        );
        assert_eq!(params(Some(Node::new(b"{\"_meta\":{\"progressToken\":1}}")), &[]), "{}");
    }

    #[test]
    fn a_host_gets_what_its_revision_has_a_word_for() {
        let modern = r#"{"resultType":"complete","content":[],"structuredContent":[1.0],"_meta":{"io.modelcontextprotocol/serverInfo":{},"a":1}}"#;
        let node = Node::new(modern.as_bytes());
        for (host, expected) in [
            (
                Revision::V2026_07_28,
                r#"{"resultType":"complete","content":[],"structuredContent":[1.0],"_meta":{"a":1}}"#,
            ),
            (Revision::V2025_11_25, r#"{"content":[],"_meta":{"a":1}}"#),
        ] {
            assert_eq!(result(node, host), expected);
        }
        let object = Node::new(br#"{"structuredContent":{"a":1}}"#);
        assert_eq!(result(object, Revision::V2025_06_18), r#"{"structuredContent":{"a":1}}"#);
        assert_eq!(result(object, Revision::V2025_03_26), "{}");
        let tool = Node::new(br#"{"name":"a","outputSchema":{"type":"array"},"execution":{"taskSupport":"optional"}}"#);
        assert_eq!(
            item(tool, ListKind::Tools, Revision::V2026_07_28),
            r#"{"name":"a","outputSchema":{"type":"array"}}"#
        );
        assert_eq!(item(tool, ListKind::Tools, Revision::V2025_11_25), r#"{"name":"a"}"#);
        let old = Node::new(br#"{"name":"a","title":"A","icons":[],"annotations":{},"_meta":{}}"#);
        assert_eq!(item(old, ListKind::Tools, Revision::V2024_11_05), r#"{"name":"a"}"#);
        assert_eq!(item(old, ListKind::Resources, Revision::V2024_11_05), r#"{"name":"a","annotations":{}}"#);
        assert_eq!(
            item(old, ListKind::Tools, Revision::V2025_06_18),
            r#"{"name":"a","title":"A","annotations":{},"_meta":{}}"#
        );
        assert_eq!(
            item(Node::new(b"{ \"name\":\"a\" }"), ListKind::Prompts, Revision::V2025_11_25),
            "{ \"name\":\"a\" }"
        );
        assert_eq!(error_result("a \"b\""), r#"{"content":[{"type":"text","text":"a \"b\""}],"isError":true}"#);
    }
}
