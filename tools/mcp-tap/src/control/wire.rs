//! What goes over a control socket, as JSON. The page is `docs/control.md`.
//!
//! Messages of MCP are carried as text, as they were written, or in base64 where they are not UTF-8: no JSON library reads
//! them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tap_control::{CommandError, Event, HeldInfo, RuleError, RuleInfo, RuleKind};
use tap_frame::Direction;

/// The version of the protocol. It changes when something that was there means something else.
pub(crate) const PROTOCOL: u64 = 1;

/// JSON-RPC: there is no such method.
pub(crate) const NO_SUCH_METHOD: i64 = -32601;
/// JSON-RPC: the parameters make no sense.
pub(crate) const WRONG_PARAMS: i64 = -32602;
/// It makes sense, and could not be done.
pub(crate) const COULD_NOT: i64 = 1;

/// Why something was not done.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Value,
}

impl Refused {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: Value::Null }
    }

    pub(crate) fn params(message: impl Into<String>) -> Self {
        Self::new(WRONG_PARAMS, message)
    }
}

impl From<CommandError> for Refused {
    fn from(error: CommandError) -> Self {
        let data = match &error {
            CommandError::Wrong(problems) => {
                json!({"problems": problems.iter().map(ToString::to_string).collect::<Vec<_>>()})
            }
            _ => Value::Null,
        };
        Self { code: COULD_NOT, message: error.to_string(), data }
    }
}

impl From<RuleError> for Refused {
    fn from(error: RuleError) -> Self {
        let data = json!({"from": error.at.start, "to": error.at.end, "help": error.help});
        Self { code: WRONG_PARAMS, message: error.problem, data }
    }
}

/// Bytes of a message.
pub(crate) fn message(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => json!({"text": text}),
        Err(_) => json!({"base64": STANDARD.encode(bytes)}),
    }
}

/// The bytes that [`message`] stands for.
pub(crate) fn bytes_of(message: &Value) -> Option<Vec<u8>> {
    if let Some(text) = message.as_str().or_else(|| message.get("text")?.as_str()) {
        return Some(text.into());
    }
    STANDARD.decode(message.get("base64")?.as_str()?).ok()
}

pub(crate) fn side(direction: Direction) -> &'static str {
    match direction {
        Direction::ToServer => "server",
        Direction::ToClient => "client",
    }
}

fn ms(ns: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a time since the session began, in thousandths of a millisecond")]
    let us = (ns / 1_000) as f64;
    us / 1_000.0
}

pub(crate) fn rule(info: &RuleInfo) -> Value {
    json!({
        "number": info.number,
        "kind": if info.kind == RuleKind::Fault { "fault" } else { "breakpoint" },
        "text": info.text,
        "do": info.action.to_string(),
        "when": info.when.to_string(),
        "on": info.on,
        "fitted": info.n_fitted,
        "hits": info.n_hits,
        "stays": info.stays,
        "by": info.by,
    })
}

pub(crate) fn held(info: &HeldInfo, now_ns: u64) -> Value {
    json!({
        "number": info.number,
        "to": side(info.direction),
        "why": info.why,
        "by": info.by,
        "behind": info.behind,
        "waiting_behind": info.n_behind,
        "what": info.what,
        "kind": info.kind,
        "id": info.id,
        "method": info.method,
        "target": info.target,
        "bytes": info.n_bytes,
        "offset": info.offset,
        "exchange": info.exchange,
        "waits_ms": ms(now_ns.saturating_sub(info.since_ns)),
        "goes_in_ms": info.until_ns.map(|until_ns| ms(until_ns.saturating_sub(now_ns))),
        "changed": info.changed,
        "progress_token": info.has_token,
    })
}

/// A line that tells viewers what happened.
pub(crate) fn event(event: &Event, now_ns: u64) -> Arc<str> {
    let (name, params) = match event {
        Event::Held(info) => ("held", held(info, now_ns)),
        Event::Went { number, deed, by, held_ns } => {
            ("went", json!({"number": number, "deed": deed.name(), "by": by, "held_ms": ms(*held_ns)}))
        }
        Event::Cancelled { number } => ("cancelled", json!({"number": number})),
        Event::Hit { rule, direction, what, text } => {
            ("hit", json!({"rule": rule, "to": side(*direction), "what": what, "log": text}))
        }
        Event::Rules => ("rules", json!({})),
        Event::LetGo(why) => ("let_go", json!({"why": why})),
        // Told to the one who asked.
        Event::Answered { ticket, .. } => ("answered", json!({"ticket": ticket.0})),
    };
    Arc::from(format!("{}\n", json!({"jsonrpc": "2.0", "method": name, "params": params})))
}

pub(crate) fn result(id: &Value, result: &Value) -> String {
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(crate) fn refusal(id: &Value, refused: &Refused) -> String {
    let mut error = json!({"code": refused.code, "message": refused.message});
    if !refused.data.is_null() {
        error["data"] = refused.data.clone();
    }
    format!("{}\n", json!({"jsonrpc": "2.0", "id": id, "error": error}))
}
