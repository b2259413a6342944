//! Error codes of the modern era.
//!
//! Source: MCP 2026-07-28, basic, Error Codes.

use tap_jsonrpc::Node;
use tap_protocol::{
    MISSING_CLIENT_CAPABILITY, RESOURCE_NOT_FOUND, Revision, UNSUPPORTED_PROTOCOL_VERSION, URL_ELICITATION_REQUIRED,
    error_code, is_json_rpc_range, is_legacy_range, is_reserved_for_specification,
};

use super::super::{Out, Seen};
use crate::rule::{Rule, Severity};
use crate::rules::modern as rule;
use crate::state::SessionState;

/// Judges the error of a server.
pub(super) fn error(state: &SessionState, seen: &Seen<'_>, error: Node<'_>, out: &mut Out<'_>) {
    let [code, data] = error.pick(["code", "data"]);
    let Some(code) = code.and_then(Node::as_i64) else {
        return;
    };
    match code {
        UNSUPPORTED_PROTOCOL_VERSION => unsupported_version(seen, data, out),
        MISSING_CLIENT_CAPABILITY => {
            let required = data.and_then(|data| data.get("requiredCapabilities"));
            if !required.is_some_and(Node::is_object) {
                let what = if required.is_some() { "it is no object" } else { "it is missing" };
                out.find(&rule::MOD_010, seen, format!("`data.requiredCapabilities`: {what}"));
            }
        }
        RESOURCE_NOT_FOUND | URL_ELICITATION_REQUIRED => of_server(&rule::ERR_001, state, seen, code, out),
        _ if error_code(code, Revision::LATEST).is_some() => {}
        _ if is_reserved_for_specification(code) => of_server(&rule::ERR_002, state, seen, code, out),
        _ if is_legacy_range(code) => {
            out.find(&rule::ERR_003, seen, code.to_string());
        }
        _ if is_json_rpc_range(code) => {
            out.find(&rule::ERR_004, seen, code.to_string());
        }
        _ => {}
    }
}

/// A code that a server of the legacy era may send, which does not know that it is asked in the modern one.
fn of_server(rule: &'static Rule, state: &SessionState, seen: &Seen<'_>, code: i64, out: &mut Out<'_>) {
    if state.modern.served.is_some() {
        out.find(rule, seen, code.to_string());
    } else if let Some(finding) = out.find(rule, seen, format!("{code}; the server may be of the legacy era")) {
        finding.severity = Severity::Warning;
    }
}

fn unsupported_version(seen: &Seen<'_>, data: Option<Node<'_>>, out: &mut Out<'_>) {
    let [supported, requested] = data.map_or([None; 2], |data| data.pick(["supported", "requested"]));
    let mut missing = Vec::new();
    let is_list = |list: Node<'_>| list.is_array() && list.elements().all(Node::is_string);
    if !supported.is_some_and(is_list) {
        missing.push("`data.supported` is no list of texts");
    }
    if !requested.is_some_and(Node::is_string) {
        missing.push("`data.requested` is no text");
    }
    if !missing.is_empty() {
        out.find(&rule::MOD_009, seen, missing.join(", "));
    }
}
