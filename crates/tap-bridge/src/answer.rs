//! What a bridge says itself, and how it writes what others said on one line.

use bytes::Bytes;
use memchr::memchr2;
use tap_jsonrpc::{Node, splice};
use tap_protocol::INTERNAL_ERROR;

use crate::message::ID_PATH;

/// A JSON-RPC error with the code of an internal error: none of MCP's says that somebody between the two could not go on.
///
/// `raw_id` is the id of the request as it was written.
#[must_use]
pub fn error_answer(raw_id: &[u8], cause: &str) -> Bytes {
    coded_answer(raw_id, INTERNAL_ERROR, cause)
}

/// A JSON-RPC error of the bridge's own, with any code. `raw_id` is the id of the request as it was written.
#[must_use]
pub fn coded_answer(raw_id: &[u8], code: i64, cause: &str) -> Bytes {
    let mut answer = br#"{"jsonrpc":"2.0","id":"#.to_vec();
    answer.extend_from_slice(raw_id);
    answer.extend_from_slice(format!(r#","error":{{"code":{code},"message":"mcp-tap: "#).as_bytes());
    for character in cause.chars() {
        match character {
            '"' => answer.extend_from_slice(b"\\\""),
            '\\' => answer.extend_from_slice(b"\\\\"),
            character if character.is_control() => answer.push(b' '),
            character => answer.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    answer.extend_from_slice(br#""}}"#);
    Bytes::from(answer)
}

/// An answer with this id in the place of its own, or beside what it says where it has none.
pub(crate) fn with_id(answer: &[u8], raw_id: &[u8]) -> Bytes {
    let node = Node::new(answer);
    if node.get("id").is_some() {
        return splice(answer, &[(ID_PATH, raw_id)]).into();
    }
    let error = node.get("error").map_or(&b"null"[..], Node::bytes);
    [b"{\"jsonrpc\":\"2.0\",\"id\":", raw_id, b",\"error\":", error, b"}"].concat().into()
}

/// The message on one line, without a line ending.
///
/// Outside of strings a line ending is white space in JSON, for which a space does as well; inside one it cannot stand
/// unescaped. Every other byte stays, and a message without line endings is not copied.
#[must_use]
pub fn one_line(message: &Bytes) -> Bytes {
    let is_ending = |byte: &u8| matches!(byte, b'\r' | b'\n');
    let start = message.iter().position(|byte| !is_ending(byte)).unwrap_or(message.len());
    let end = message.iter().rposition(|byte| !is_ending(byte)).map_or(start, |last| last + 1);
    let trimmed = message.slice(start..end);
    if memchr2(b'\r', b'\n', &trimmed).is_none() {
        return trimmed;
    }
    trimmed.iter().map(|byte| if is_ending(byte) { b' ' } else { *byte }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_over_several_lines_is_put_on_one() {
        for (message, expected) in [
            ("{}", "{}"),
            ("{}\n", "{}"),
            ("\r\n{}\r\n", "{}"),
            ("{\n  \"a\": 1\r\n}", "{   \"a\": 1  }"),
            (" {} ", " {} "),
            ("", ""),
            ("\n", ""),
        ] {
            assert_eq!(one_line(&Bytes::copy_from_slice(message.as_bytes())), expected, "{message:?}");
        }
    }

    /// The proxy's own answers are written in the same way (`tap-http`, `answer.rs`).
    #[test]
    fn a_cause_is_escaped_as_the_proxy_does_it() {
        for (cause, expected) in [
            ("plain", "plain"),
            ("a \"b\" \\ c", r#"a \"b\" \\ c"#),
            ("a\r\nb\tc\0d", "a  b c d"),
            ("\u{7f}\u{85}\u{9f}", "   "),
            ("é\u{2028}☃\u{1f980}", "é\u{2028}☃\u{1f980}"),
            ("/", "/"),
        ] {
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":null,"error":{{"code":-5,"message":"mcp-tap: {expected}"}}}}"#);
            assert_eq!(coded_answer(b"null", -5, cause), expected, "{cause:?}");
        }
    }

    #[test]
    fn what_the_bridge_says_is_json_whatever_the_cause() {
        let answer = error_answer(b"1.0", "a \"quoted\" \\ cause\nof \u{1} two lines");
        assert_eq!(
            answer,
            r#"{"jsonrpc":"2.0","id":1.0,"error":{"code":-32603,"message":"mcp-tap: a \"quoted\" \\ cause of   two lines"}}"#
        );
    }
}
