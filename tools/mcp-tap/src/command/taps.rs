//! `mcp-tap taps`: the taps that run, and what is held there.

use std::io::Write;

use serde_json::Value;

use crate::arguments::{Global, Taps};
use crate::control::client::taps as live_taps;
use crate::failure::Failure;
use crate::output::{Output, Style};
use crate::text::{column, duration, shown};

pub(crate) fn taps(global: &Global, taps: &Taps) -> Result<u8, Failure> {
    let found = live_taps()?;
    let mut out = Output::new(global);
    if taps.json {
        for tap in &found {
            out.json(&tap.status)?;
        }
        out.flush()?;
        return Ok(0);
    }
    if found.is_empty() {
        if !global.quiet {
            let _ = writeln!(std::io::stderr(), "no tap is running; start one with mcp-tap run -- COMMAND");
        }
        return Ok(0);
    }
    let head = format!(
        "{} {:>8} {:>8} {:>6} {:>6} {:>5}  COMMAND",
        column("NAME", 20),
        "SESSION",
        "SINCE",
        "BREAKS",
        "FAULTS",
        "HELD"
    );
    writeln!(out, "{}", out.styled(Style::Dim, &head))?;
    for tap in &found {
        let number = |name: &str| tap.status.get(name).and_then(Value::as_u64).unwrap_or_default();
        let command = tap.status.get("command").and_then(Value::as_array).into_iter().flatten();
        let command: Vec<_> = command.filter_map(Value::as_str).collect();
        writeln!(
            out,
            "{} {:>8} {:>8} {:>6} {:>6} {:>5}  {}",
            column(&shown(tap.name(), false), 20),
            shown(tap.session().get(..8).unwrap_or_default(), false),
            duration(number("since_ms").saturating_mul(1_000_000)),
            number("breakpoints"),
            number("faults"),
            number("held"),
            shown(&command.join(" "), false)
        )?;
    }
    out.flush()?;
    Ok(0)
}
