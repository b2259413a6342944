//! `mcp-tap call --into`: a call in a session that is live.

use tap_jsonrpc::Node;
use tap_session::Kept;

use super::{answer, check, typed};
use crate::arguments::{Call, Global};
use crate::command::inject::{call_of, send};
use crate::command::release::recorded_schema;
use crate::control::client::tap_on;
use crate::failure::{COULD_NOT, Failure, NO};
use crate::output::Output;
use crate::recording::say;
use crate::text::shown;

/// Makes the call through the tap of this name. What the server asks on account of it, its own client answers.
pub(super) fn into_live(
    global: &Global,
    call: &Call,
    tool: &str,
    base: Option<&str>,
    live: &str,
) -> Result<u8, Failure> {
    let mut tap = tap_on(Some(live))?;
    // As it was listed last; of a session that lists nothing, or is not recorded, nothing is known.
    let schema = recorded_schema(global, &tap, tool);
    let schema = schema.as_ref().map(|schema| Node::new(schema.as_bytes()));
    let arguments = typed::object(base, &call.arguments, schema).map_err(|what| {
        Failure::new(what).hint("arguments are name=value, name:=JSON, or all of them as one JSON object")
    })?;
    if let Some(schema) = schema.filter(|_| !call.no_check) {
        check(tool, schema, &arguments)?;
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
