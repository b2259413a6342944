//! Messages that are made here: answers in the other side's place, and the tokens that they are made of.

use tap_jsonrpc::{Content, Node, RawId, scan};

use crate::edit::compact;

/// A text as a JSON string.
pub(crate) fn string(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    out.push(b'"');
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            c if u32::from(c) < 0x20 => out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    out.push(b'"');
    out
}

/// An answer: `outcome` is `"result":…` or `"error":…`.
fn answer(id: &RawId, name: &str, outcome: &[u8]) -> Vec<u8> {
    [b"{\"jsonrpc\":\"2.0\",\"id\":", id.as_bytes(), b",\"", name.as_bytes(), b"\":", outcome, b"}\n"].concat()
}

/// An answer that is an error.
pub(crate) fn error(id: &RawId, code: i64, message: &str) -> Vec<u8> {
    let outcome = [b"{\"code\":", code.to_string().as_bytes(), b",\"message\":", &string(message), b"}"].concat();
    answer(id, "error", &outcome)
}

/// The answer of a tool that failed. `modern` says that results have a type.
pub(crate) fn tool_error(id: &RawId, text: &str, modern: bool) -> Vec<u8> {
    let kind: &[u8] = if modern { b"\"resultType\":\"complete\"," } else { b"" };
    let content = [b"{", kind, b"\"content\":[{\"type\":\"text\",\"text\":", &string(text), b"}],\"isError\":true}"];
    answer(id, "result", &content.concat())
}

/// The answer to a request that a person wrote: a whole answer, `{"result":…}`, `{"error":…}`, or the result alone.
/// `None` where it is no JSON object.
pub(crate) fn written(id: &RawId, text: &[u8]) -> Option<Vec<u8>> {
    if matches!(scan(text, &[]).content, Content::NotJson(_) | Content::Blank) {
        return None;
    }
    let node = Node::new(text);
    if !node.is_object() {
        return None;
    }
    let [version, result, error] = node.pick(["jsonrpc", "result", "error"]);
    // A result may well have a member `error` of its own: only beside `jsonrpc`, or alone, it is the outcome.
    let alone = node.members().count() == 1;
    Some(match (result, error) {
        (Some(result), None) if version.is_some() || alone => answer(id, "result", &compact(result.bytes())),
        (None, Some(error)) if version.is_some() || alone => answer(id, "error", &compact(error.bytes())),
        _ => answer(id, "result", &compact(node.bytes())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_one_line_with_the_id_as_it_was_written() {
        let id = RawId::from_token(b"1.0");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        assert_eq!(
            text(error(&id, -32603, "a \"b\"\n")),
            "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"error\":{\"code\":-32603,\"message\":\"a \\\"b\\\"\\n\"}}\n"
        );
        assert_eq!(
            text(tool_error(&id, "no", true)),
            "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"result\":{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}}\n"
        );
        for (written_so, expected) in [
            ("{\n \"a\": 1.0 }", Some("\"result\":{\"a\":1.0}")),
            (r#"{"result":{"a":1}}"#, Some("\"result\":{\"a\":1}")),
            (
                r#"{"jsonrpc":"2.0","id":99,"error":{"code":1,"message":"m"}}"#,
                Some("\"error\":{\"code\":1,\"message\":\"m\"}"),
            ),
            (r#"{"error":"x","b":1}"#, Some("\"result\":{\"error\":\"x\",\"b\":1}")),
            ("[]", None),
            ("{", None),
            ("", None),
        ] {
            let expected = expected.map(|outcome| format!("{{\"jsonrpc\":\"2.0\",\"id\":1.0,{outcome}}}\n"));
            assert_eq!(written(&id, written_so.as_bytes()).map(text), expected, "{written_so}");
        }
    }
}
