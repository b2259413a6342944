//! `mcp-tap call --into`: a call in a session that is live.

use tap_jsonrpc::Node;
use tap_session::Kept;

use super::{answer, check, no_such_tool, typed};
use crate::arguments::{Call, Global};
use crate::command::inject::{call_of, request_of, send};
use crate::command::release::recorded_schema;
use crate::control::client::{Tap, tap_on};
use crate::failure::{COULD_NOT, Failure, NO};
use crate::output::Output;
use crate::recording::say;
use crate::text::shown;

/// How many pages of a list are asked for at most.
const PAGES: usize = 1_000;

/// Makes the call through the tap of this name. What the server asks on account of it, its own client answers.
pub(super) fn into_live(
    global: &Global,
    call: &Call,
    tool: &str,
    base: Option<&str>,
    live: &str,
) -> Result<u8, Failure> {
    let mut tap = tap_on(Some(live))?;
    // As it was listed last. Where it was not, or nothing is recorded yet, the server is asked: without the schema nothing
    // could be said of types, and a name that is none would reach the server.
    let schema = match recorded_schema(global, tap.session(), tool) {
        Some(schema) => Some(schema),
        None => listed_schema(global, call, &mut tap, tool)?,
    };
    let schema = schema.as_ref().map(|schema| Node::new(schema.as_bytes()));
    let arguments = typed::object(base, &call.arguments, schema).map_err(|what| {
        Failure::new(what).hint("arguments are name=value, name:=JSON, or all of them as one JSON object")
    })?;
    if let Some(schema) = schema.filter(|_| !call.no_check) {
        let look = format!("`mcp-tap inject '{{\"method\":\"tools/list\"}}' --on {}`", start_of(&tap));
        check(tool, schema, &arguments, &look)?;
    }
    let message = call_of(global, &tap, tool, &arguments)?;
    let answered = send(&mut tap, "server", &message, call.server.timeout)?;
    let [result, error] = Node::new(answered.text.as_bytes()).pick(["result", "error"]);
    let Some(result) = result else {
        let error = error.map(|error| String::from_utf8_lossy(error.bytes()).into_owned()).unwrap_or_default();
        say(&shown(&format!("{tool}: the server answered with an error: {error}"), false));
        return Ok(COULD_NOT);
    };
    let result = Kept(bytes::Bytes::copy_from_slice(result.bytes()));
    let mut out = Output::new(global);
    if call.json {
        out.json_with_verbatim(&String::from_utf8_lossy(&result.0))?;
    } else {
        answer::write(&mut out, &result)?;
    }
    out.finish()?;
    if let Some(path) = &call.output {
        answer::save(path, &result)?;
    }
    let has_failed = result.node().get("isError").and_then(Node::as_bool) == Some(true);
    Ok(if has_failed { NO } else { 0 })
}

/// The input schema of a tool, from the lists that the server gives when it is asked in the client's name; `None` where it need
/// not be listed.
fn listed_schema(global: &Global, call: &Call, tap: &mut Tap, tool: &str) -> Result<Option<String>, Failure> {
    let name = shown(tap.name(), false);
    let cannot = |what: String| {
        Failure::new(format!("{name} does not say what tools it has, so that nothing was sent: {what}"))
            .hint("--no-check sends it anyway; name:=JSON gives a value as it is")
    };
    let (mut names, mut cursor) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let params = cursor.as_ref().map(|cursor| format!("\"cursor\":{cursor}"));
        let message = request_of(global, tap, "tools/list", params.as_deref())?;
        let answered = match send(tap, "server", &message, call.server.timeout) {
            Ok(answered) => answered,
            Err(_) if call.no_check => return Ok(None),
            Err(failure) => return Err(cannot(failure.message)),
        };
        let [result, error] = Node::new(answered.text.as_bytes()).pick(["result", "error"]);
        let Some(result) = result else {
            if call.no_check {
                return Ok(None);
            }
            let error = error.map(|error| String::from_utf8_lossy(error.bytes()).into_owned()).unwrap_or_default();
            return Err(cannot(shown(&error, false)));
        };
        for item in result.get("tools").into_iter().flat_map(Node::elements) {
            let Some(listed) = item.get("name").and_then(Node::text) else {
                continue;
            };
            if listed == tool {
                let schema = item.get("inputSchema");
                return Ok(schema.map(|schema| String::from_utf8_lossy(schema.bytes()).into_owned()));
            }
            names.push(listed.into_owned());
        }
        let next = result.get("nextCursor").filter(|next| next.text().is_some());
        let next = next.map(|next| String::from_utf8_lossy(next.bytes()).into_owned());
        // A server that gives the same page again has no other.
        if next.is_none() || next == cursor {
            break;
        }
        cursor = next;
    }
    if call.no_check {
        return Ok(None);
    }
    let look = format!("`mcp-tap inject '{{\"method\":\"tools/list\"}}' --on {}` lists them", start_of(tap));
    Err(no_such_tool(&name, tool, &names, &look))
}

/// The start of a live session's id, by which its tap is named.
fn start_of(tap: &Tap) -> String {
    tap.session().chars().take(8).collect()
}
