//! `mcp-tap break`: which messages of live taps are held or changed.

use std::io::Write;

use serde_json::{Value, json};
use tap_control::RuleError;
use tap_filter::Context;

use crate::arguments::{Break, Global, Hold};
use crate::control::client::{Tap, tap_on, taps_on};
use crate::failure::Failure;
use crate::filtering::{now_unix_ns, read};
use crate::output::{Output, Style};
use crate::text::{column, counted, shown};

/// What is wrong with a rule, drawn under the place.
pub(crate) fn told(text: &str, error: &RuleError) -> Failure {
    crate::filtering::told_at(text, &error.at, &error.problem, error.help.as_deref())
}

pub(crate) fn breakpoints(global: &Global, breakpoint: &Break) -> Result<u8, Failure> {
    let words: Vec<&str> = breakpoint.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [] => list(global, breakpoint),
        ["off"] => {
            for mut tap in taps_on(breakpoint.on.on.as_deref())? {
                let done = tap.command("break/remove", json!({"all": true, "by": "mcp-tap break off"}))?;
                say_of(global, &tap, &format!("{} removed", counted(number(&done, "removed"), "breakpoint")));
            }
            Ok(0)
        }
        ["rm", numbers @ ..] if !numbers.is_empty() && numbers.iter().all(|word| word.parse::<u32>().is_ok()) => {
            let mut tap = tap_on(breakpoint.on.on.as_deref())?;
            for word in numbers {
                tap.command("break/remove", json!({"number": word.parse::<u32>().unwrap_or_default()}))?;
            }
            Ok(0)
        }
        _ => set(global, breakpoint),
    }
}

fn set(global: &Global, breakpoint: &Break) -> Result<u8, Failure> {
    let (filter, which, action) = parts(breakpoint)?;
    let mut when = Vec::from_iter(which);
    when.extend(breakpoint.skip.map(|n| format!("after:{n}")));
    when.extend(breakpoint.every.map(|n| format!("every:{n}")));
    if breakpoint.once {
        when.push("once".into());
    }
    let params = json!({
        "filter": filter,
        "do": action,
        "when": when.join(" "),
        "hold": if breakpoint.hold == Hold::Stream { "stream" } else { "message" },
        "stays": !breakpoint.while_attached,
        "by": "mcp-tap break",
    });
    for mut tap in taps_on(breakpoint.on.on.as_deref())? {
        let done = tap.command("break/set", params.clone())?;
        say_of(global, &tap, &format!("breakpoint {}", number(&done, "number")));
        if done.get("armed") != Some(&Value::Bool(true)) {
            say_of(global, &tap, "one side does not read: it holds from when that has read what is on its way");
        }
    }
    Ok(0)
}

/// Which messages, which of those that fit, and what happens: as options say, or in one line as a fault has it. Read here first,
/// so that what is wrong is told with its place.
fn parts(breakpoint: &Break) -> Result<(String, Option<String>, String), Failure> {
    let text = breakpoint.words.join(" ");
    if text.contains("->") {
        let context = Context {
            now_unix_ns: i128::from(now_unix_ns()),
            utc_offset_seconds: jiff::Zoned::now().offset().seconds(),
        };
        let rule = tap_control::read_breakpoint(&text, &context).map_err(|error| told(&text, &error))?;
        // An arrow in quotes is text that is looked for, and then the rule is one that holds.
        if rule.text == text.trim() {
            if breakpoint.action != "hold" {
                return Err(Failure::new("what happens is said twice, behind `->` and with --do").hint("say it once"));
            }
            let which = Some(rule.when.to_string()).filter(|which| !which.is_empty());
            return Ok((rule.filter.text().to_owned(), which, rule.action.to_string()));
        }
    }
    read(&breakpoint.words)?;
    tap_control::read_action(&breakpoint.action).map_err(|error| told(&breakpoint.action, &error))?;
    Ok((text, None, breakpoint.action.clone()))
}

fn list(global: &Global, breakpoint: &Break) -> Result<u8, Failure> {
    let mut out = Output::new(global);
    for mut tap in taps_on(breakpoint.on.on.as_deref())? {
        let mut rules = Vec::new();
        for method in ["break/list", "fault/list"] {
            let listed = tap.command(method, json!({}))?;
            rules.extend(listed.get("rules").and_then(Value::as_array).cloned().unwrap_or_default());
        }
        for rule in rules {
            if breakpoint.json {
                let mut rule = rule;
                rule["tap"] = tap.name().into();
                out.json(&rule)?;
                continue;
            }
            let text = |name: &str| shown(rule.get(name).and_then(Value::as_str).unwrap_or_default(), false);
            let is_fault = rule.get("kind").and_then(Value::as_str) == Some("fault");
            let on = rule.get("on") == Some(&Value::Bool(true));
            let what = match (is_fault, text("when").as_str()) {
                (true, _) => String::new(),
                (false, "") => text("do"),
                (false, when) => format!("{}  {when}", text("do")),
            };
            writeln!(
                out,
                "{} {:>3} {} {} {}  {}",
                column(&shown(tap.name(), false), 16),
                number(&rule, "number"),
                if on { "●" } else { "○" },
                if is_fault { "fault" } else { "break" },
                column(&text("text"), 40),
                out.styled(Style::Dim, format!("{what}  hits {}", number(&rule, "hits")).trim_start())
            )?;
        }
    }
    out.flush()?;
    Ok(0)
}

pub(super) fn number(value: &Value, name: &str) -> u64 {
    value.get(name).and_then(Value::as_u64).unwrap_or_default()
}

/// A word on stderr about a tap.
pub(super) fn say_of(global: &Global, tap: &Tap, text: &str) {
    if !global.quiet {
        let _ = writeln!(std::io::stderr(), "{}: {text}", shown(tap.name(), false));
    }
}
