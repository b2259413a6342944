//! `mcp-tap inject`: a message of our own in a live session, and its answer.

use std::io::{Read, Write};
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tap_jsonrpc::{Content, Node, scan};
use tap_protocol::meta;

use crate::arguments::{Global, Inject};
use crate::control::client::{Tap, tap_on};
use crate::failure::{Failure, NO};
use crate::output::Output;
use crate::reference::Reference;
use crate::text::{duration, pretty, shown};

/// Beyond its own limit an answer is waited for a little, for that limit is kept by the tap.
const GRACE: Duration = Duration::from_secs(5);

pub(crate) fn inject(global: &Global, inject: &Inject) -> Result<u8, Failure> {
    let mut tap = tap_on(inject.on.on.as_deref())?;
    let message = complete(&read(&inject.message)?)?;
    if inject.notify {
        tap.command("inject", json!({"to": inject.to.name(), "message": {"text": message}, "by": "mcp-tap inject"}))?;
        return Ok(0);
    }
    let answer = send(&mut tap, inject.to.name(), &message, Duration::from_nanos(inject.timeout))?;
    let mut out = Output::paged(global);
    writeln!(out, "{}", shown(&pretty(&answer.text), true))?;
    out.flush()?;
    if !global.quiet {
        let took = match answer.took_ms {
            0 => "< 1 ms".to_owned(),
            ms => duration(ms.saturating_mul(1_000_000)),
        };
        let _ = writeln!(std::io::stderr(), "answered in {took}");
    }
    let failed = Node::new(answer.text.as_bytes()).get("error").is_some()
        || Node::new(answer.text.as_bytes()).at(&["result", "isError"]).and_then(Node::as_bool) == Some(true);
    Ok(if failed { NO } else { 0 })
}

/// What a live session answered.
pub(super) struct Answer {
    /// The answer as it came, with the id that it was asked by.
    pub(super) text: String,
    pub(super) took_ms: u64,
}

/// Sends a request to this side of a live session, and waits for the answer.
pub(super) fn send(tap: &mut Tap, to: &str, message: &str, limit: Duration) -> Result<Answer, Failure> {
    tap.wait_for_answers(Some(limit + GRACE));
    let limit_ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
    let params = json!({"to": to, "message": {"text": message}, "limit_ms": limit_ms, "by": "mcp-tap inject"});
    let done = tap.command("call", params)?;
    let text = done.get("answer").and_then(crate::control::bytes_of).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).trim_end().to_owned();
    Ok(Answer { text, took_ms: done.get("took_ms").and_then(Value::as_u64).unwrap_or_default() })
}

/// The words of the command line: JSON, a file, or stdin.
fn read(words: &[String]) -> Result<String, Failure> {
    let text = words.join(" ");
    if text.trim_start().starts_with('{') {
        return Ok(text);
    }
    let mut read = String::new();
    let done = match text.as_str() {
        "-" => std::io::stdin().read_to_string(&mut read).map(|_| ()),
        path => std::fs::read_to_string(Path::new(path)).map(|text| read = text),
    };
    done.map_err(|error| {
        Failure::new(format!("cannot read {}: {error}", shown(&text, false)))
            .hint("give a message as JSON, or a file with one")
    })?;
    Ok(read)
}

/// The message with `jsonrpc`, if that is missing.
fn complete(text: &str) -> Result<String, Failure> {
    if let Content::NotJson(error) = scan(text.as_bytes(), &[]).content {
        return Err(Failure::new(format!("the message is not JSON: {error}")));
    }
    let place = [tap_control::Step::Member("jsonrpc".into())];
    let has_version = Node::new(text.as_bytes()).get("jsonrpc").is_some();
    let completed = if has_version {
        Some(text.as_bytes().to_vec())
    } else {
        tap_control::set(text.as_bytes(), &place, b"\"2.0\"")
    };
    let completed = completed.ok_or_else(|| Failure::new("the message is no JSON object"))?;
    String::from_utf8(completed).map_err(|_| Failure::new("the message is no text"))
}

/// A call of a tool as the session's own client would make it.
pub(super) fn call_of(global: &Global, tap: &Tap, tool: &str, arguments: &str) -> Result<String, Failure> {
    let name = Value::from(tool);
    request_of(global, tap, "tools/call", Some(&format!("\"name\":{name},\"arguments\":{arguments}")))
}

/// A request as the session's own client would make it, with these members in `params`: in the modern era with what that says
/// of itself in each request.
pub(super) fn request_of(global: &Global, tap: &Tap, method: &str, params: Option<&str>) -> Result<String, Failure> {
    let meta = own_meta(global, tap).map(|meta| format!("\"_meta\":{meta}"));
    let members: Vec<&str> = params.into_iter().chain(meta.as_deref()).collect();
    let params = if members.is_empty() { String::new() } else { format!(",\"params\":{{{}}}", members.join(",")) };
    complete(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\"{params}}}"))
}

/// What the client of a modern session says of itself, from the newest of its requests that was recorded.
fn own_meta(global: &Global, tap: &Tap) -> Option<String> {
    let reference: Reference = tap.session().get(..13)?.parse().ok()?;
    let found = reference.resolve(global).ok()?;
    let mut newest = None;
    crate::following::follow(global, &found, u64::MAX, |seen| {
        let frame = seen.frame.filter(|frame| frame.stream == tap_frame::Stream::ToServer);
        if let Some(frame) = frame
            && let Some(meta) = Node::new(&frame.bytes).at(&["params", "_meta"])
        {
            let kept = [meta::PROTOCOL_VERSION, meta::CLIENT_INFO, meta::CLIENT_CAPABILITIES]
                .map(|key| Some((key, meta.get(key)?)));
            let kept: Vec<_> = kept.into_iter().flatten().collect();
            if kept.iter().any(|(key, _)| *key == meta::PROTOCOL_VERSION) {
                let member =
                    |(key, value): &(&str, Node<'_>)| format!("\"{key}\":{}", String::from_utf8_lossy(value.bytes()));
                newest = Some(format!("{{{}}}", kept.iter().map(member).collect::<Vec<_>>().join(",")));
            }
        }
        Ok(())
    })
    .ok()?;
    newest
}
