//! From a line of the client to the answer: the methods and the tools that the server has.

use std::borrow::Cow;
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::reply;

/// What the server does after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Reads the next line.
    Continue,
    /// Sends the answer, then exits with this status.
    Exit(i32),
}

/// The result of `tools/list`.
const TOOLS: &str = concat!(
    r#"{"tools":["#,
    r#"{"name":"echo","description":"Answers the text it was given.","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}},"#,
    r#"{"name":"blob","description":"Answers size bytes of text.","inputSchema":{"type":"object","properties":{"size":{"type":"integer"}},"required":["size"]}},"#,
    r#"{"name":"rawhash","description":"Answers a hash of the request line.","inputSchema":{"type":"object"}},"#,
    r#"{"name":"odd","description":"Answers oddly formatted JSON.","inputSchema":{"type":"object"}},"#,
    r#"{"name":"stderr","description":"Writes lines on stderr.","inputSchema":{"type":"object","properties":{"lines":{"type":"integer"}}}},"#,
    r#"{"name":"exit","description":"Exits with a status.","inputSchema":{"type":"object","properties":{"code":{"type":"integer"}}}},"#,
    r#"{"name":"sleep","description":"Answers after a time.","inputSchema":{"type":"object","properties":{"ms":{"type":"integer"}}}}"#,
    r#"]}"#
);

/// The revision answered to a client that asks for none.
const DEFAULT_REVISION: &str = "2025-06-18";

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase")]
struct InitializeParams {
    protocol_version: Option<String>,
}

#[derive(Deserialize)]
struct CallParams<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Deserialize, Default)]
struct Arguments<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    size: Option<usize>,
    lines: Option<usize>,
    code: Option<i32>,
    ms: Option<u64>,
}

/// Appends the answer to one line to `out`: nothing for a notification, an error for what is no request.
pub fn answer(line: &[u8], out: &mut Vec<u8>) -> Next {
    let message: Message<'_> = match serde_json::from_slice(line) {
        Ok(message) => message,
        Err(error) => {
            reply::error(out, "null", -32700, &error.to_string());
            return Next::Continue;
        }
    };
    let (Some(id), Some(method)) = (message.id.map(RawValue::get), message.method.as_deref()) else {
        // A notification, or an answer to a request that was never made.
        return Next::Continue;
    };
    let params = message.params.map_or("{}", RawValue::get);
    match method {
        "initialize" => initialize(id, params, out),
        "ping" => reply::result(out, id, "{}"),
        "tools/list" => reply::result(out, id, TOOLS),
        "resources/list" => reply::result(out, id, r#"{"resources":[]}"#),
        "prompts/list" => reply::result(out, id, r#"{"prompts":[]}"#),
        "tools/call" => return call(line, id, params, out),
        unknown => reply::error(out, id, -32601, &format!("no method {unknown}")),
    }
    Next::Continue
}

fn initialize(id: &str, params: &str, out: &mut Vec<u8>) {
    let params: InitializeParams = serde_json::from_str(params).unwrap_or_default();
    let revision = serde_json::Value::from(params.protocol_version.as_deref().unwrap_or(DEFAULT_REVISION));
    let version = env!("CARGO_PKG_VERSION");
    let result = format!(
        r#"{{"protocolVersion":{revision},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"tap-echo-server","version":"{version}"}}}}"#
    );
    reply::result(out, id, &result);
}

fn call(line: &[u8], id: &str, params: &str, out: &mut Vec<u8>) -> Next {
    let Ok(call) = serde_json::from_str::<CallParams<'_>>(params) else {
        reply::error(out, id, -32602, "params need a name");
        return Next::Continue;
    };
    let arguments: Arguments<'_> =
        call.arguments.and_then(|arguments| serde_json::from_str(arguments.get()).ok()).unwrap_or_default();
    match &*call.name {
        "echo" => reply::echo(out, id, arguments.text.map_or("\"\"", RawValue::get)),
        "blob" => reply::echo(out, id, &format!("\"{}\"", "x".repeat(arguments.size.unwrap_or(0)))),
        "rawhash" => reply::echo(out, id, &format!("\"{:016x}\"", reply::fnv1a(line))),
        "odd" => out.extend_from_slice(reply::odd(id).as_bytes()),
        "stderr" => {
            write_stderr(arguments.lines.unwrap_or(1));
            reply::echo(out, id, "\"ok\"");
        }
        "exit" => {
            reply::echo(out, id, "\"bye\"");
            return Next::Exit(arguments.code.unwrap_or(0));
        }
        "sleep" => {
            thread::sleep(Duration::from_millis(arguments.ms.unwrap_or(0)));
            reply::echo(out, id, "\"ok\"");
        }
        unknown => reply::error(out, id, -32602, &format!("no tool {unknown}")),
    }
    Next::Continue
}

fn write_stderr(n_lines: usize) {
    let mut stderr = io::stderr().lock();
    for number in 0..n_lines {
        // A closed stderr is the reader's choice; the answer goes out all the same.
        let _ = writeln!(stderr, "echo-server stderr line {number}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &str) {
        let mut out = Vec::new();
        assert_eq!(answer(line.as_bytes(), &mut out), Next::Continue);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn tools_are_legal_json() {
        let tools: serde_json::Value = serde_json::from_str(TOOLS).unwrap();
        assert_eq!(tools["tools"].as_array().unwrap().len(), 7);
    }

    #[test]
    fn initialize_answers_the_revision_that_was_asked_for() {
        let version = env!("CARGO_PKG_VERSION");
        for (params, revision) in
            [(r#"{"protocolVersion":"2026-07-28"}"#, "2026-07-28"), ("{}", DEFAULT_REVISION), ("[]", DEFAULT_REVISION)]
        {
            check(
                &format!(r#"{{"jsonrpc":"2.0","id":"é","method":"initialize","params":{params}}}"#),
                &format!(
                    r#"{{"jsonrpc":"2.0","id":"é","result":{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"tap-echo-server","version":"{version}"}}}}}}"#
                ),
            );
        }
    }

    #[test]
    fn the_echo_of_a_text_is_the_text_as_written() {
        check(
            r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"tools/call","params":{"name":"echo","arguments":{"text":"\ud800"}}}"#,
            r#"{"jsonrpc":"2.0","id":12345678901234567890123,"result":{"content":[{"type":"text","text":"\ud800"}],"isError":false}}"#,
        );
    }

    #[test]
    fn what_is_no_request_gets_no_answer_or_an_error() {
        for (line, expected) in [
            (r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#, ""),
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, ""),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"nope"}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no method nope"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"params need a name"}}"#,
            ),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"no tool nope"}}"#,
            ),
        ] {
            check(line, expected);
        }
    }

    #[test]
    fn what_is_no_json_gets_a_parse_error_with_a_null_id() {
        let mut out = Vec::new();
        assert_eq!(answer(b"this is not json", &mut out), Next::Continue);
        assert!(String::from_utf8(out).unwrap().starts_with(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"#));
    }

    #[test]
    fn exit_answers_before_it_stops() {
        let mut out = Vec::new();
        let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exit","arguments":{"code":9}}}"#;
        assert_eq!(answer(line, &mut out), Next::Exit(9));
        assert!(String::from_utf8(out).unwrap().contains("bye"));
    }
}
