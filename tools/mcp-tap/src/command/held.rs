//! `mcp-tap held`: what is held, and for how long.

use std::io::Write;

use serde_json::{Value, json};

use super::breakpoints::number;
use crate::arguments::{Global, Held};
use crate::control::client::{Tap, taps_on};
use crate::failure::{Failure, NO};
use crate::output::{Output, Style};
use crate::text::{column, counted, duration, pretty, shown};

pub(crate) fn held(global: &Global, held: &Held) -> Result<u8, Failure> {
    let taps = taps_on(held.on.on.as_deref())?;
    if let Some(wanted) = held.number {
        let (_, found) = find(taps, wanted)?;
        let mut out = Output::paged(global);
        let message = text_of(found.get("message"));
        writeln!(out, "{}", shown(&pretty(&message), true))?;
        out.flush()?;
        return Ok(0);
    }
    let mut out = Output::new(global);
    let mut n_held = 0_u64;
    for mut tap in taps {
        let listed = tap.command("held/list", json!({}))?;
        for info in listed.get("held").and_then(Value::as_array).into_iter().flatten() {
            n_held += 1;
            if held.json {
                let mut info = info.clone();
                info["tap"] = tap.name().into();
                out.json(&info)?;
            } else {
                line(&mut out, &tap, info)?;
            }
        }
    }
    out.flush()?;
    if n_held == 0 && !held.json && !global.quiet {
        let _ = writeln!(std::io::stderr(), "nothing is held");
    }
    Ok(if n_held == 0 { NO } else { 0 })
}

fn line(out: &mut Output, tap: &Tap, info: &Value) -> Result<(), Failure> {
    let text = |name: &str| shown(info.get(name).and_then(Value::as_str).unwrap_or_default(), false);
    let time = |name: &str| {
        let ms = info.get(name).and_then(Value::as_f64)?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time to be shown")]
        Some(duration((ms * 1e6) as u64))
    };
    let arrow = if text("to") == "server" { "->" } else { "<-" };
    let waits = format!("{} {}", text("why"), time("waits_ms").unwrap_or_default());
    let mut notes = vec![match (time("goes_in_ms"), info.get("behind").and_then(Value::as_u64)) {
        (Some(left), _) => format!("goes on in {left}"),
        (None, Some(behind)) => format!("waits for {behind}"),
        (None, None) => "stays".to_owned(),
    }];
    let n_behind = number(info, "waiting_behind");
    if n_behind > 0 {
        notes.push(format!("{} behind it", counted(n_behind, "message")));
    }
    if !text("changed").is_empty() {
        notes.push(format!("changed ({})", text("changed")));
    }
    if !text("by").is_empty() && text("why") != "behind" {
        notes.push(text("by"));
    }
    writeln!(
        out,
        "{} {:>4} {arrow} {} {}  {}",
        column(&shown(tap.name(), false), 16),
        number(info, "number"),
        column(&text("what"), 36),
        column(&waits, 14),
        out.styled(Style::Dim, &notes.join(", "))
    )?;
    Ok(())
}

/// The one message that is held under this number, of all these taps.
pub(super) fn find(taps: Vec<Tap>, wanted: u64) -> Result<(Tap, Value), Failure> {
    let mut found = Vec::new();
    for mut tap in taps {
        let asked = tap.ask("held/get", json!({"number": wanted}));
        if let Ok(Ok(message)) = asked {
            found.push((tap, message));
        }
    }
    match (found.pop(), found.len()) {
        (Some(one), 0) => Ok(one),
        (Some(_), n_more) => Err(Failure::new(format!("{} taps hold a message under the number {wanted}", n_more + 1))
            .hint("name one with --on; `mcp-tap held` lists them")),
        (None, _) => Err(Failure::new(format!("no message is held under the number {wanted}"))
            .hint("`mcp-tap held` lists what is; a message goes on by itself after its time limit")),
    }
}

/// A message as it came over a socket, as text; bytes that are no text become U+FFFD.
pub(super) fn text_of(message: Option<&Value>) -> String {
    let bytes = message.and_then(crate::control::bytes_of).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
