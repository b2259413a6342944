//! What a tap says, as the inspector has it.

use serde_json::{Value, json};
use tap_control::Release;
use tap_inspector::{HeldLine, RuleLine};

fn text(value: &Value, name: &str) -> String {
    value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

fn ns(value: &Value, name: &str) -> Option<u64> {
    let ms = value.get(name)?.as_f64()?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time to be shown")]
    Some((ms.max(0.0) * 1e6) as u64)
}

/// The rules of a list.
pub(super) fn rules(listed: &Value) -> Vec<RuleLine> {
    let rules = listed.get("rules").and_then(Value::as_array).into_iter().flatten();
    let rule = |rule: &Value| {
        Some(RuleLine {
            number: u32::try_from(number(rule, "number")).ok()?,
            is_fault: text(rule, "kind") == "fault",
            text: text(rule, "text"),
            action: text(rule, "do"),
            when: text(rule, "when"),
            on: rule.get("on") == Some(&Value::Bool(true)),
            n_hits: number(rule, "hits"),
            by: text(rule, "by"),
        })
    };
    rules.filter_map(rule).collect()
}

/// What waits.
pub(super) fn held(listed: &Value) -> Vec<HeldLine> {
    let held = listed.get("held").and_then(Value::as_array).into_iter().flatten();
    let optional = |info: &Value, name: &str| info.get(name).and_then(Value::as_str).map(Into::into);
    let line = |info: &Value| HeldLine {
        number: number(info, "number"),
        to_server: text(info, "to") == "server",
        why: text(info, "why"),
        by: text(info, "by"),
        behind: info.get("behind").and_then(Value::as_u64),
        n_behind: number(info, "waiting_behind"),
        what: text(info, "what"),
        kind: text(info, "kind"),
        id: optional(info, "id"),
        method: optional(info, "method"),
        target: optional(info, "target"),
        waits_ns: ns(info, "waits_ms").unwrap_or_default(),
        goes_in_ns: ns(info, "goes_in_ms"),
        changed: text(info, "changed"),
        has_token: info.get("progress_token") == Some(&Value::Bool(true)),
    };
    held.map(line).collect()
}

/// What happened, in words, if it is worth some.
pub(super) fn news(said: &Value) -> Option<String> {
    let params = said.get("params").unwrap_or(&Value::Null);
    let n = number(params, "number");
    Some(match said.get("method")?.as_str()? {
        "held" => format!("{n} {} {}", text(params, "why"), text(params, "what")),
        "went" => {
            let held = tap_text::duration(ns(params, "held_ms").unwrap_or_default());
            format!("{n} {} after {held} ({})", text(params, "deed"), text(params, "by"))
        }
        "cancelled" => format!("{n} was cancelled by the client, and goes on"),
        "hit" => {
            let log = text(params, "log");
            let log = if log.is_empty() { log } else { format!(": {log}") };
            format!("breakpoint {} hit {}{log}", number(params, "rule"), text(params, "what"))
        }
        "let_go" => format!("all was let go: {}", text(params, "why")),
        "missed" => format!("{} more", tap_text::counted(number(params, "events"), "event")),
        _ => return None,
    })
}

/// Why something was not done.
pub(super) fn refusal(said: &Value) -> String {
    let error = said.get("error").unwrap_or(&Value::Null);
    let problems = error.get("data").and_then(|data| data.get("problems")).and_then(Value::as_array);
    let problems: Vec<&str> = problems.into_iter().flatten().filter_map(Value::as_str).collect();
    match problems.as_slice() {
        [] => text(error, "message"),
        _ => format!("it is still held: {}", problems.join("; ")),
    }
}

/// How a message is let go, and what is said when it is.
pub(super) fn release(held: u64, how: Release, by: &str) -> (Value, String) {
    let mut params = json!({"number": held, "by": by});
    let mut put = |name: &str, value: Value| params[name] = value;
    let (how, told) = match how {
        Release::Go => ("go", "went on"),
        Release::Original => ("original", "went on as it came"),
        Release::Drop => ("drop", "was dropped"),
        Release::Edited { text, force, schema } => {
            put("message", crate::control::message(&text));
            put("force", force.into());
            if let Some(schema) = schema {
                put("schema", crate::control::message(&schema));
            }
            ("edited", "went on edited")
        }
        Release::Answer(answer) => {
            put("message", crate::control::message(&answer));
            ("answer", "was answered from here")
        }
        Release::Error { code, message } => {
            put("code", code.into());
            put("text", message.into());
            ("error", "was answered with an error")
        }
        Release::Later(ns) => {
            put("ms", (ns / 1_000_000).into());
            ("later", "goes on later")
        }
    };
    put("how", how.into());
    (params, format!("message {held} {told}"))
}
