//! How rules are written: `FILTER [every:5|after:3|p:0.1|for:10s|once|nth:2|limit:3] -> ACTION`, with errors that point at
//! the place. Of a breakpoint the filter and the action stand apart.

use std::ops::Range;

use tap_filter::{Context, Filter, FilterError};
use tap_jsonrpc::{Content, scan};

use crate::rule::{Action, Delay, Place, Rule, Step, When};

/// What is wrong with a rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct RuleError {
    /// Which part of the text, bytes; empty at a place where something is missing.
    pub at: Range<usize>,
    /// What is wrong there.
    pub problem: String,
    /// What would be right.
    pub help: Option<String>,
}

impl RuleError {
    fn new(at: Range<usize>, problem: impl Into<String>) -> Self {
        Self { at, problem: problem.into(), help: None }
    }

    fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    fn behind(self, start: usize) -> Self {
        Self { at: self.at.start + start..self.at.end + start, ..self }
    }
}

impl From<FilterError> for RuleError {
    fn from(error: FilterError) -> Self {
        Self { at: error.at, problem: error.problem, help: error.help }
    }
}

/// What can happen to a message, and how it is written.
pub const ACTIONS: &[(&str, &str)] = &[
    ("hold", "hold"),
    ("log", "log:TEXT"),
    ("delay", "delay:2s, delay:1s..3s, delay:normal(2s,500ms), delay:exponential(2s)"),
    ("drop", "drop"),
    ("hang", "hang"),
    ("error", "error:-32603, error:-32603:TEXT"),
    ("tool_error", "tool_error:TEXT"),
    ("set", "set:arg.dry_run=true"),
    ("unset", "unset:arg.force"),
    ("duplicate", "duplicate"),
    ("reorder", "reorder"),
    ("truncate", "truncate, truncate:100"),
    ("corrupt", "corrupt"),
    ("slow", "slow:1k/s"),
    ("garbage", "garbage, garbage:TEXT"),
    ("close", "close"),
    ("disconnect", "disconnect"),
    ("crash", "crash"),
    ("cut", "cut"),
    ("status", "status:503"),
];

/// Reads a fault.
///
/// # Errors
///
/// When it makes no sense: where, why, and what would.
pub fn read_fault(text: &str, context: &Context) -> Result<Rule, RuleError> {
    let Some(arrow) = find_outside_quotes(text, "->") else {
        return Err(RuleError::new(text.len()..text.len(), "what happens is missing")
            .help("write FILTER -> delay:2s, or -> error:-32603"));
    };
    let before = text.get(..arrow).unwrap_or_default();
    let (filter, when) = modifiers(before)?;
    let filter = Filter::parse(filter, context, &|_| None)?;
    let action = text.get(arrow + 2..).unwrap_or_default();
    let action = read_action(action).map_err(|error| error.behind(arrow + 2))?;
    Ok(Rule { filter, when, action, text: text.trim().into() })
}

/// Reads a breakpoint as it is written in one line: as a fault, and what has no arrow is held.
///
/// # Errors
///
/// When it makes no sense: where, why, and what would.
pub fn read_breakpoint(text: &str, context: &Context) -> Result<Rule, RuleError> {
    match find_outside_quotes(text, "->") {
        Some(_) => read_fault(text, context),
        None => read_fault(&format!("{text} -> hold"), context),
    }
}

/// Reads a file of faults: one a line; empty lines and those that begin with `#` mean nothing.
///
/// # Errors
///
/// The first one that makes no sense, with the number of its line from 1, and the line.
pub fn read_faults(text: &str, context: &Context) -> Result<Vec<Rule>, (usize, String, RuleError)> {
    let is_fault = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    let lines = text.lines().enumerate().filter(|(_, line)| is_fault(line));
    lines.map(|(index, line)| read_fault(line, context).map_err(|error| (index + 1, line.into(), error))).collect()
}

/// Reads what happens: `hold`, `delay:2s` or `delay 2s`, `error:-32603:no`, `set arg.x=1`.
///
/// # Errors
///
/// When it makes no sense: where, why, and what would.
pub fn read_action(text: &str) -> Result<Action, RuleError> {
    let start = text.len() - text.trim_start().len();
    let trimmed = text.trim();
    let end = trimmed.find(|c: char| c == ':' || c.is_whitespace()).unwrap_or(trimmed.len());
    let name = trimmed.get(..end).unwrap_or_default();
    let after = trimmed.get(end..).unwrap_or_default();
    let value = after.strip_prefix(':').unwrap_or(after);
    let value_at = start + trimmed.len() - value.trim_start().len();
    let value = value.trim();
    let value_range = value_at..value_at + value.len();
    let example = ACTIONS.iter().find(|(known, _)| *known == name).map(|(_, example)| *example);
    let wrong = |problem: String| {
        RuleError::new(value_range.clone(), problem).help(format!("write {}", example.unwrap_or("hold")))
    };
    let plain = |action: Action| match value.is_empty() {
        true => Ok(action),
        false => Err(wrong(format!("`{name}` takes nothing more"))),
    };
    match name {
        "hold" => plain(Action::Hold),
        "drop" | "hang" => plain(Action::Drop),
        "duplicate" => plain(Action::Duplicate),
        "reorder" => plain(Action::Reorder),
        "corrupt" => plain(Action::Corrupt),
        "close" | "disconnect" => plain(Action::Close),
        "crash" => plain(Action::Crash),
        "cut" => plain(Action::Cut),
        "status" => value
            .parse()
            .ok()
            .filter(|status| (400..=599).contains(status))
            .map(Action::Status)
            .ok_or_else(|| wrong(format!("`{value}` is no status from 400 to 599"))),
        "log" => Ok(Action::Log(value.into())),
        "garbage" => {
            let text = if value.is_empty() { "this is no message" } else { value };
            Ok(Action::Garbage(text.into()))
        }
        "tool_error" => {
            let text = if value.is_empty() { "this call was made to fail" } else { value };
            Ok(Action::ToolError(text.into()))
        }
        "delay" => delay(value).map(Action::Delay).ok_or_else(|| wrong(format!("`{value}` is no time to wait"))),
        "error" => {
            let (code, message) = value.split_once([':', ' ']).unwrap_or((value, ""));
            let code = code.parse().map_err(|_| wrong(format!("`{code}` is no code of an error")))?;
            let message = if message.trim().is_empty() { "this call was made to fail" } else { message.trim() };
            Ok(Action::Error { code, message: message.into() })
        }
        "truncate" if value.is_empty() => Ok(Action::Truncate(None)),
        "truncate" => value
            .parse()
            .map(|n_bytes| Action::Truncate(Some(n_bytes)))
            .map_err(|_| wrong(format!("`{value}` is no number of bytes"))),
        "slow" => {
            rate(value).map(Action::Slow).ok_or_else(|| wrong(format!("`{value}` is no number of bytes a second")))
        }
        "set" => {
            let Some((place, new)) = value.split_once('=') else {
                return Err(wrong("`=` and the new value are missing".into()));
            };
            let place = read_place(place.trim())
                .ok_or_else(|| wrong(format!("`{}` is no place in a message", place.trim())))?;
            Ok(Action::Set(place, json_of(new.trim())))
        }
        "unset" => {
            let place = read_place(value).ok_or_else(|| wrong(format!("`{value}` is no place in a message")))?;
            Ok(Action::Unset(place))
        }
        "" => Err(RuleError::new(text.len()..text.len(), "what happens is missing")
            .help("write hold, delay:2s, error:-32603")),
        _ => {
            let near = ACTIONS.iter().map(|(known, _)| (strsim::jaro_winkler(name, known), *known));
            let near = near.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(likeness, _)| *likeness > 0.75);
            let help = match near {
                Some((_, near)) => format!("did you mean `{near}`?"),
                None => ACTIONS.iter().map(|(known, _)| *known).collect::<Vec<_>>().join(", "),
            };
            let range = start..start + name.len();
            Err(RuleError::new(range, format!("`{name}` is nothing that can happen to a message")).help(help))
        }
    }
}

/// Takes the words off the end of a filter that say which of the messages.
fn modifiers(before: &str) -> Result<(&str, When), RuleError> {
    let mut when = When::default();
    let mut rest = before.trim_end();
    loop {
        let begin =
            rest.rfind(char::is_whitespace).map_or(0, |at| at + rest[at..].chars().next().map_or(1, char::len_utf8));
        let word = rest.get(begin..).unwrap_or_default();
        let range = begin..rest.len();
        let (name, value) = word.split_once(':').unwrap_or((word, ""));
        let count = |least: u64| match value.parse::<u64>() {
            Ok(count) if least <= count => Ok(count),
            _ => Err(RuleError::new(range.clone(), format!("`{value}` is no count")).help(format!("write {name}:5"))),
        };
        match name {
            "once" if word == "once" => when.limit = Some(1),
            "nth" => {
                when.after = count(1)? - 1;
                when.limit = Some(1);
            }
            "every" => when.every = count(1)?,
            "after" if value.parse::<u64>().is_ok() => when.after = count(0)?,
            "limit" => when.limit = Some(count(1)?),
            "p" => {
                let chance = value.parse().ok().filter(|chance| (0.0..=1.0).contains(chance));
                when.chance = Some(chance.ok_or_else(|| {
                    RuleError::new(range.clone(), format!("`{value}` is no probability")).help("write p:0.1")
                })?);
            }
            "for" => {
                when.lasts_ns = Some(duration(value).ok_or_else(|| {
                    RuleError::new(range.clone(), format!("`{value}` is no time")).help("write for:10s")
                })?);
            }
            _ => return Ok((rest, when)),
        }
        rest = rest.get(..begin).unwrap_or_default().trim_end();
    }
}

/// A span of time with a unit, such as `250ms` or `1.5s`, in nanoseconds.
#[must_use]
pub fn read_duration(text: &str) -> Option<u64> {
    duration(text)
}

fn duration(text: &str) -> Option<u64> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let factor = match unit {
        "us" | "µs" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" => 60e9,
        "h" => 3600e9,
        _ => return None,
    };
    let ns = number.parse::<f64>().ok()? * factor;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is no negative number and at most a year"
    )]
    (ns < 3e16).then_some(ns as u64)
}

fn delay(text: &str) -> Option<Delay> {
    let inside = |name: &str| text.strip_prefix(name)?.trim().strip_prefix('(')?.strip_suffix(')');
    if let Some((from, to)) = text.split_once("..") {
        let (from, to) = (duration(from.trim())?, duration(to.trim())?);
        return (from <= to).then_some(Delay::Range(from, to));
    }
    if let Some(inside) = inside("normal") {
        let (mean, deviation) = inside.split_once(',')?;
        return Some(Delay::Normal(duration(mean.trim())?, duration(deviation.trim())?));
    }
    if let Some(inside) = inside("exponential") {
        return Some(Delay::Exponential(duration(inside.trim())?));
    }
    duration(text).map(Delay::Fixed)
}

/// Bytes a second: `500`, `1k`, `1k/s`.
fn rate(text: &str) -> Option<u64> {
    let text = text.strip_suffix("/s").unwrap_or(text);
    let (number, factor) = match text.strip_suffix(['k', 'K']) {
        Some(number) => (number, 1024),
        None => (text, 1),
    };
    number.parse::<u64>().ok().filter(|rate| 0 < *rate && *rate < 1 << 40).map(|rate| rate * factor)
}

/// A place as filters write it: `arg.path`, `result.content[0].text`, `.params.name`.
pub(crate) fn read_place(text: &str) -> Option<Place> {
    let member = |key: &str| Step::Member(key.into());
    let end = text.find(['.', '[']).unwrap_or(text.len());
    let (root, mut rest) = text.split_at(end);
    let mut place = match root {
        "" => Vec::new(),
        "arg" => vec![member("params"), member("arguments")],
        "result" => vec![member("result")],
        _ => return None,
    };
    let begin = place.len();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (index, after) = inside.split_once(']')?;
            place.push(Step::Element(index.parse().ok()?));
            rest = after;
        } else if let Some(quoted) = rest.strip_prefix(".\"") {
            let (key, after) = quoted.split_once('"')?;
            place.push(member(key));
            rest = after;
        } else {
            let after = rest.strip_prefix('.')?;
            let end = after.find(['.', '[']).unwrap_or(after.len());
            let (key, after) = after.split_at(end);
            if key.is_empty() || key.contains(char::is_whitespace) {
                return None;
            }
            place.push(member(key));
            rest = after;
        }
    }
    (begin < place.len()).then_some(place)
}

/// A value as it was written, if that is JSON, else as a string.
fn json_of(text: &str) -> Vec<u8> {
    match scan(text.as_bytes(), &[]).content {
        Content::NotJson(_) | Content::Blank => crate::make::string(text),
        _ => crate::edit::compact(text.as_bytes()),
    }
}

/// Where this stands first in a text, quoted parts of it and regular expressions between slashes aside.
fn find_outside_quotes(text: &str, wanted: &str) -> Option<usize> {
    let mut quote = None;
    let mut before = None;
    for (at, c) in text.char_indices() {
        match quote {
            Some(open) if c == open && before != Some('\\') => quote = None,
            Some(_) => {}
            None if matches!(c, '"' | '\'') => quote = Some(c),
            None if c == '/' && before == Some('~') => quote = Some(c),
            None if text.get(at..).is_some_and(|rest| rest.starts_with(wanted)) => return Some(at),
            None => {}
        }
        before = Some(c);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        match read_fault(text, &Context::default()) {
            Ok(rule) => format!("{} | {} | {}", rule.filter.text(), rule.when, rule.action),
            Err(error) => {
                let marked = text.get(error.at.clone()).unwrap_or("?");
                format!("{}: `{marked}`; {}", error.problem, error.help.unwrap_or_default())
            }
        }
    }

    #[test]
    fn a_fault_is_read_as_it_is_documented() {
        for (text, expected) in [
            ("method:tools/call -> delay:2s", "method:tools/call |  | delay:2s"),
            (
                "tool:search_* every:5 -> error:-32603",
                "tool:search_* | every:5 | error:-32603:this call was made to fail",
            ),
            ("-> drop", " |  | drop"),
            ("tool:a  after:3 p:0.25 for:1.5s once -> hang", "tool:a | after:3 once p:0.25 for:1500ms | drop"),
            ("tool:a nth:2 -> error:5:no way: never", "tool:a | after:1 once | error:5:no way: never"),
            ("\"a -> b\" limit:3 -> delay:1s..3s", "\"a -> b\" | limit:3 | delay:1s..3s"),
            ("arg.sql~/x->y/ -> delay:normal(2s, 500ms)", "arg.sql~/x->y/ |  | delay:normal(2s,500ms)"),
            ("is:response -> delay:exponential(20ms)", "is:response |  | delay:exponential(20ms)"),
            ("tool:a -> tool_error:out of order", "tool:a |  | tool_error:out of order"),
            ("tool:a -> truncate", "tool:a |  | truncate"),
            ("tool:a -> truncate:10", "tool:a |  | truncate:10"),
            ("tool:a -> slow:2k/s", "tool:a |  | slow:2048/s"),
            ("tool:a -> set arg.n=1.0", "tool:a |  | set:.params.arguments.n=1.0"),
            ("tool:a -> set arg.n=x y", "tool:a |  | set:.params.arguments.n=\"x y\""),
            ("tool:a -> unset .params._meta.\"a b\"[2]", "tool:a |  | unset:.params._meta.\"a b\"[2]"),
            ("after:14:02 -> disconnect", "after:14:02 |  | close"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_told_with_its_place() {
        for (text, expected) in [
            ("tool:a", "what happens is missing: ``; write FILTER -> delay:2s, or -> error:-32603"),
            ("tool:a ->", "what happens is missing: ``; write hold, delay:2s, error:-32603"),
            ("tool:a -> dely:2s", "`dely` is nothing that can happen to a message: `dely`; did you mean `delay`?"),
            (
                "tool:a -> delay:2",
                "`2` is no time to wait: `2`; write delay:2s, delay:1s..3s, delay:normal(2s,500ms), delay:exponential(2s)",
            ),
            (
                "tool:a -> delay:3s..1s",
                "`3s..1s` is no time to wait: `3s..1s`; write delay:2s, delay:1s..3s, delay:normal(2s,500ms), delay:exponential(2s)",
            ),
            ("tool:a -> error:no", "`no` is no code of an error: `no`; write error:-32603, error:-32603:TEXT"),
            ("tool:a -> drop now", "`drop` takes nothing more: `now`; write drop"),
            ("tool:a every:0 -> drop", "`0` is no count: `every:0`; write every:5"),
            ("tool:a p:2 -> drop", "`2` is no probability: `p:2`; write p:0.1"),
            ("tol:a -> drop", "unknown field `tol`: `tol`; did you mean `tool`? quote it to search for the text"),
            ("tool:a -> set arg.x", "`=` and the new value are missing: `arg.x`; write set:arg.dry_run=true"),
            ("tool:a -> set x=1", "`x` is no place in a message: `x=1`; write set:arg.dry_run=true"),
            ("tool:a -> slow:0", "`0` is no number of bytes a second: `0`; write slow:1k/s"),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_happens_is_shown_as_it_can_be_read_again() {
        for (_, examples) in ACTIONS {
            for example in examples.split(", ") {
                let action = read_action(example).unwrap();
                assert_eq!(read_action(&action.to_string()), Ok(action), "{example}");
            }
        }
    }

    #[test]
    fn a_file_of_faults_is_one_a_line_and_tells_which_is_wrong() {
        let context = Context::default();
        let text = "# slow\n\ntool:a -> delay:1s\n  # and\n tool:b -> drop\n";
        assert_eq!(read_faults(text, &context).unwrap().len(), 2);
        let (line, text, error) = read_faults("tool:a -> drop\n\ntool:b -> dorp\n", &context).unwrap_err();
        assert_eq!((line, text.as_str(), error.at), (3, "tool:b -> dorp", 10..14));
    }
}
