//! What a definition says: arguments, hints, and what a person does not see in it.

use std::collections::HashSet;

use tap_inspector::OfferKind;
use tap_jsonrpc::Node;

/// How many arguments of one are told.
const ARGUMENTS: usize = 30;

/// Arguments, and whether each must be there.
pub(super) fn arguments(kind: OfferKind, node: Node<'_>) -> Vec<(String, bool)> {
    match kind {
        OfferKind::Tool => {
            let Some(schema) = node.get("inputSchema") else {
                return Vec::new();
            };
            let required: HashSet<String> = schema
                .get("required")
                .filter(|required| required.is_array())
                .into_iter()
                .flat_map(Node::elements)
                .filter_map(|name| name.text().map(std::borrow::Cow::into_owned))
                .collect();
            let properties = schema.get("properties").filter(|properties| properties.is_object());
            let names = properties.into_iter().flat_map(Node::members).map(|(key, _)| key.text().into_owned());
            names.take(ARGUMENTS).map(|name| (name.clone(), required.contains(&name))).collect()
        }
        OfferKind::Prompt => {
            let listed = node.get("arguments").filter(|listed| listed.is_array());
            let told = listed.into_iter().flat_map(Node::elements).filter_map(|argument| {
                let must = argument.get("required").and_then(Node::as_bool) == Some(true);
                Some((argument.get("name")?.text()?.into_owned(), must))
            });
            told.take(ARGUMENTS).collect()
        }
        OfferKind::Resource | OfferKind::Template => Vec::new(),
    }
}

/// What it says of itself; whether that is true nobody knows.
pub(super) fn marks(node: Node<'_>) -> Vec<&'static str> {
    const HINTS: [(&str, bool, &str); 6] = [
        ("readOnlyHint", true, "read-only"),
        ("destructiveHint", true, "destructive"),
        ("destructiveHint", false, "additive"),
        ("idempotentHint", true, "idempotent"),
        ("openWorldHint", true, "open world"),
        ("openWorldHint", false, "closed world"),
    ];
    let Some(annotations) = node.get("annotations").filter(|annotations| annotations.is_object()) else {
        return Vec::new();
    };
    let says = |(key, value, _): &&(&str, bool, &str)| annotations.get(key).and_then(Node::as_bool) == Some(*value);
    HINTS.iter().filter(says).map(|(.., word)| *word).collect()
}

/// How many characters of a definition a person does not see and a model reads, in all its texts.
pub(super) fn n_hidden(definition: &[u8]) -> u64 {
    let is_hidden = |c: &char| tap_text::is_hidden(*c) && !matches!(c, '\n' | '\r' | '\t');
    let (mut rest, mut n) = (definition, 0);
    // String by string, not level by level: a peer can nest as deep as it wants to.
    while let Some(begin) = rest.iter().position(|byte| *byte == b'"') {
        rest = rest.get(begin..).unwrap_or_default();
        let mut escaped = false;
        let end = rest.iter().skip(1).position(|byte| {
            let ends = *byte == b'"' && !escaped;
            escaped = *byte == b'\\' && !escaped;
            ends
        });
        let (text, behind) = rest.split_at(end.map_or(rest.len(), |end| end + 2));
        if let Some(text) = Node::new(text).text() {
            n += text.chars().filter(is_hidden).count() as u64;
        }
        rest = behind;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_sees_is_counted_wherever_it_stands() {
        for (definition, expected) in [
            (r#"{"name":"a","description":"two\nlines\tand a tab"}"#, 0),
            ("{\"description\":\"a\u{200b}b\u{202e}\"}", 2),
            (r#"{"description":"a\u200bb \"\u200b\" \\"}"#, 2),
            ("{\"x\":[{\"\u{feff}key\":{\"deep\":\"\u{e0041}\"}}]}", 2),
            ("{\"emoji\":\"👩\u{200d}👧 日本\"}", 0),
            ("\"broken", 0),
            ("", 0),
        ] {
            assert_eq!(n_hidden(definition.as_bytes()), expected, "{definition}");
        }
        let deep = "[".repeat(200_000) + "\"\u{200b}\"" + &"]".repeat(200_000);
        assert_eq!(n_hidden(deep.as_bytes()), 1);
    }

    #[test]
    fn a_line_says_what_its_definition_says() {
        let tool = r#"{"name":"x","annotations":{"readOnlyHint":false,"destructiveHint":true,"openWorldHint":false},
            "inputSchema":{"properties":{"city":{},"days":{}},"required":["city",7]}}"#;
        let node = Node::new(tool.as_bytes());
        assert_eq!(arguments(OfferKind::Tool, node), [("city".to_owned(), true), ("days".to_owned(), false)]);
        assert_eq!(marks(node), ["destructive", "closed world"]);
        let prompt = r#"{"name":"x","arguments":[{"name":"a","required":true},{"name":"b"},{"required":true},7]}"#;
        let node = Node::new(prompt.as_bytes());
        assert_eq!(arguments(OfferKind::Prompt, node), [("a".to_owned(), true), ("b".to_owned(), false)]);
        for broken in [
            "7",
            "{}",
            r#"{"inputSchema":[],"annotations":"x","arguments":{}}"#,
            r#"{"inputSchema":{"properties":[]}}"#,
        ] {
            let node = Node::new(broken.as_bytes());
            assert!(arguments(OfferKind::Tool, node).is_empty() && marks(node).is_empty(), "{broken}");
        }
    }
}
