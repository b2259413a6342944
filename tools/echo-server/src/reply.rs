//! The exact bytes of the server's answers, without their newline.

/// Appends the answer to a call of the tool `echo`.
///
/// `id` and `text` are JSON as written in the request, quotes included; they are answered byte for byte.
pub fn echo(out: &mut Vec<u8>, id: &str, text: &str) {
    echo_with(out, id, |out| out.extend_from_slice(text.as_bytes()));
}

/// The same, with a text that is written in place: a client that expects many long answers copies less.
pub fn echo_with(out: &mut Vec<u8>, id: &str, write_text: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":{\"content\":[{\"type\":\"text\",\"text\":");
    write_text(out);
    out.extend_from_slice(b"}],\"isError\":false}}");
}

/// Appends a success whose `result` is this JSON.
pub fn result(out: &mut Vec<u8>, id: &str, result: &str) {
    out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
    out.extend_from_slice(id.as_bytes());
    out.extend_from_slice(b",\"result\":");
    out.extend_from_slice(result.as_bytes());
    out.push(b'}');
}

/// Appends an error response; `message` is plain text.
pub fn error(out: &mut Vec<u8>, id: &str, code: i32, message: &str) {
    let message = serde_json::Value::from(message);
    let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"message":{message}}}}}"#);
    out.extend_from_slice(response.as_bytes());
}

/// The answer to a call of the tool `odd`: legal, but written as a tap that parses and prints again cannot keep it.
///
/// Key order, spaces, escapes that need none, an integer beyond 2^64, `1.0` beside `1`, `1e2`, a negative zero and a
/// vendor's key.
#[must_use]
pub fn odd(id: &str) -> String {
    format!(
        concat!(
            "{{ \"result\" : {{\"isError\":false, ",
            "\"content\":[ {{\"text\":\"\\u00e9\\/\\u2028\\ud83d\\ude00 é😀 <&>\",\"type\":\"text\"}} ], ",
            "\"structuredContent\":{{\"big\":123456789012345678901234567890,\"f\":1.0,\"e\":1e2,\"z\":-0,",
            "\"d\":0.10000000000000000555}},",
            "\"x-vendor\":null}},\t\"id\":{id}, \"jsonrpc\":\"2.0\" }}"
        ),
        id = id
    )
}

/// The 64-bit FNV-1a hash, to compare the bytes of a message across a tap without sending them back.
#[must_use]
pub fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        write(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn echo_keeps_the_id_and_the_text_as_they_were_written() {
        assert_eq!(
            written(|out| echo(out, "1e2", r#""\u00e9""#)),
            r#"{"jsonrpc":"2.0","id":1e2,"result":{"content":[{"type":"text","text":"\u00e9"}],"isError":false}}"#
        );
    }

    #[test]
    fn error_escapes_its_message() {
        let parsed: Value = serde_json::from_str(&written(|out| error(out, "null", -32700, "a \"b\"\n"))).unwrap();
        assert_eq!(parsed, json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "a \"b\"\n"}}));
    }

    #[test]
    fn odd_is_legal_but_does_not_survive_being_printed_again() {
        let text = odd("7");
        let parsed: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed["id"], 7);
        assert_ne!(parsed.to_string(), text);
    }

    #[test]
    fn fnv1a_agrees_with_the_published_values() {
        // Source: draft-eastlake-fnv, test vectors for FNV-1a 64.
        for (input, expected) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(fnv1a(input.as_bytes()), expected, "input: {input:?}");
        }
    }
}
