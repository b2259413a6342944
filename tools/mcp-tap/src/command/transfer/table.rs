//! Calls as a table (CSV), for a spreadsheet or a database engine.

use serde_json::{Value, json};

use super::report::Report;

/// A row a call, and their names in the first.
pub(super) fn write(report: &Report) -> String {
    let rows: Vec<Value> = report
        .entries
        .iter()
        .filter(|entry| entry.is_call())
        .map(|entry| {
            json!({
                "seq": entry.number,
                "unix_ns": entry.wall_ns,
                "at_ns": entry.at_ns,
                "to": if entry.to_server { "server" } else { "client" },
                "method": entry.method,
                "target": entry.target,
                "outcome": entry.outcome,
                "error_code": entry.error_code.as_deref().map(number),
                "latency_ns": entry.latency_ns,
                "request_bytes": entry.bytes,
                "answer_bytes": entry.answer_bytes,
            })
        })
        .collect();
    if rows.is_empty() {
        return "seq,unix_ns,at_ns,to,method,target,outcome,error_code,latency_ns,request_bytes,answer_bytes\n".into();
    }
    crate::command::stats::as_csv(&rows)
}

/// A code as a number, if it is one.
fn number(code: &str) -> Value {
    code.parse::<i64>().map_or_else(|_| code.into(), Value::from)
}
