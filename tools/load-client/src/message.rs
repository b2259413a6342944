//! Writing the calls, and reading whose answer a line is.

use std::io::Write;

use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use tap_echo_server::reply;

/// The text of the calls of one run: the same for all but for the call's id, written with eight digits.
#[derive(Debug, Clone)]
pub struct Text {
    before: String,
    after: String,
}

impl Text {
    /// `call 00000042 of the RUN run`.
    #[must_use]
    pub fn small(run: &str) -> Self {
        Self { before: "call ".to_owned(), after: format!(" of the {run} run") }
    }

    /// The id, and a filling that makes it about `n_bytes` long.
    #[must_use]
    pub fn large(n_bytes: usize) -> Self {
        Self { before: String::new(), after: "0123456789abcdef".chars().cycle().take(n_bytes).collect() }
    }

    /// The text of the call with this id.
    pub fn of(&self, id: u64) -> String {
        format!("{}{id:08}{}", self.before, self.after)
    }

    /// Replaces `out` with the call of this id, without a newline. The text needs no escape.
    pub fn write_call(&self, out: &mut Vec<u8>, id: u64) {
        out.clear();
        out.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        // A `Vec` takes all that is written to it.
        let _ = write!(out, "{id}");
        out.extend_from_slice(b",\"method\":\"tools/call\",\"params\":{\"name\":\"echo\",\"arguments\":{\"text\":\"");
        self.append(out, id);
        out.extend_from_slice(b"\"}}}");
    }

    /// Replaces `out` with the exact answer of the echo server to that call.
    pub fn write_answer(&self, out: &mut Vec<u8>, id: u64) {
        out.clear();
        reply::echo_with(out, &id.to_string(), |out| {
            out.push(b'"');
            self.append(out, id);
            out.push(b'"');
        });
    }

    fn append(&self, out: &mut Vec<u8>, id: u64) {
        out.extend_from_slice(self.before.as_bytes());
        let _ = write!(out, "{id:08}");
        out.extend_from_slice(self.after.as_bytes());
    }
}

/// The id of a response as it is written, `null` included; `None` for what is no response.
pub fn response_id(line: &[u8]) -> Option<&str> {
    #[derive(Deserialize)]
    struct Envelope<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        id: Option<&'a RawValue>,
        #[serde(borrow)]
        method: Option<&'a RawValue>,
    }
    let envelope: Envelope<'_> = serde_json::from_slice(line).ok()?;
    match envelope.method {
        Some(_) => None,
        None => envelope.id.map(RawValue::get),
    }
}

/// Keeps `"id":null` apart from no id.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use tap_echo_server::answer::answer;

    #[test]
    fn a_call_is_what_the_echo_server_takes_and_its_answer_is_what_we_expect() {
        for text in [Text::small("test"), Text::large(1000), Text::large(0)] {
            let (mut call, mut expected, mut answered) = (Vec::new(), Vec::new(), Vec::new());
            text.write_call(&mut call, 42);
            text.write_answer(&mut expected, 42);
            answer(&call, &mut answered);
            assert_eq!(answered, expected);
            let parsed: Value = serde_json::from_slice(&answered).unwrap();
            assert_eq!(parsed["result"]["content"][0]["text"], json!(text.of(42)));
        }
    }

    #[test]
    fn a_large_text_has_its_size() {
        assert_eq!(Text::large(1 << 20).of(1).len(), 8 + (1 << 20));
    }

    #[test]
    fn only_a_response_has_a_response_id() {
        for (line, expected) in [
            (r#"{"id":7,"result":{}}"#, Some("7")),
            (r#"{"id":"7","error":{}}"#, Some("\"7\"")),
            (r#"{"id":null,"error":{}}"#, Some("null")),
            (r#"{"id":12345678901234567890123,"result":{}}"#, Some("12345678901234567890123")),
            (r#"{"result":{}}"#, None),
            (r#"{"id":7,"method":"roots/list"}"#, None),
            ("banner", None),
        ] {
            assert_eq!(response_id(line.as_bytes()), expected, "line: {line:?}");
        }
    }
}
