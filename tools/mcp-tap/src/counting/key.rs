//! What calls are counted under.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::shape;

/// What is counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum By {
    /// Calls of one tool, prompt or resource.
    Tool,
    Method,
    /// Calls of one session of MCP.
    Conversation,
    /// Calls that began in one hour of the clock.
    Hour,
    /// Calls that failed with the same words, but for what differs from call to call.
    Error,
}

/// Whose calls are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Key {
    /// Those with a method, and, if one is named, of a tool, prompt or resource.
    Called { method: Arc<str>, target: Arc<str> },
    /// Those of the session of MCP with this number, or of none.
    Conversation(Option<u64>),
    /// Those that began in the hour that began then, seconds since the Unix epoch.
    Hour(u64),
    /// Those whose errors have this shape, as [`shape::of`] makes it.
    Error(Arc<str>),
    /// What would be too many.
    Others,
}

impl Key {
    /// What it is called in a table.
    pub(crate) fn name(&self, zone: &TimeZone) -> String {
        match self {
            Self::Called { method, target } if target.is_empty() => method.to_string(),
            Self::Called { method, target } => format!("{method} {target}"),
            Self::Conversation(Some(number)) => format!("session /{number}"),
            Self::Conversation(None) => "of no session".into(),
            Self::Hour(unix_s) => timestamp(*unix_s).to_zoned(zone.clone()).strftime("%Y-%m-%d %H:00").to_string(),
            Self::Error(shape) => shape.to_string(),
            Self::Others => "(others)".into(),
        }
    }

    /// The filter that calls of this key fit, and no others, as far as there is one; empty where there is none.
    pub(crate) fn filter(&self) -> String {
        match self {
            Self::Called { method, target } => match (&**method, &**target) {
                (method, "") => format!("method={}", written(method)),
                ("tools/call", tool) => format!("tool={}", written(tool)),
                (method, target) => format!("method={} name={}", written(method), written(target)),
            },
            Self::Conversation(Some(number)) => format!("conversation:{number}"),
            Self::Hour(unix_s) => {
                format!("after:{} before:{}", timestamp(*unix_s), timestamp(unix_s.saturating_add(3_600)))
            }
            Self::Error(shape) => shape::words(shape)
                .map(|words| format!("is:error error:{}", written(words)))
                .unwrap_or_else(|| "is:error".into()),
            Self::Conversation(None) | Self::Others => String::new(),
        }
    }
}

fn timestamp(unix_s: u64) -> Timestamp {
    Timestamp::from_second(i64::try_from(unix_s).unwrap_or(i64::MAX)).unwrap_or(Timestamp::MAX)
}

/// The hour of the clock that a moment is in: when it began, seconds since the Unix epoch. Where clocks are half an hour off,
/// hours begin there when they do.
pub(super) fn hour_of(unix_ns: u64, zone: &TimeZone) -> u64 {
    let unix_s = unix_ns / 1_000_000_000;
    let offset_s = i64::from(zone.to_offset(timestamp(unix_s)).seconds());
    let since_hour = (unix_s.cast_signed().saturating_add(offset_s)).rem_euclid(3_600);
    unix_s.saturating_sub(since_hour.cast_unsigned())
}

/// A word as it stands in a filter.
pub(crate) fn written(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.');
    if !word.is_empty() && word.chars().all(is_plain) && !word.starts_with(['/', '-', '.']) && !word.contains("..") {
        return word.into();
    }
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if (c as u32) < 0x1_0000 && tap_text::is_hidden(c) => quoted.push_str(&format!("\\u{:04x}", c as u32)),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use tap_filter::{Context, Filter};

    use super::*;

    #[test]
    fn the_filter_of_a_line_can_be_read_whatever_its_name() {
        let context = Context { now_unix_ns: 0, utc_offset_seconds: 0 };
        let called = |method: &str, target: &str| Key::Called { method: method.into(), target: target.into() };
        for (key, expected) in [
            (called("tools/call", "find"), "tool=find"),
            (called("tools/call", "a b"), r#"tool="a b""#),
            (called("tools/call", "x*y"), r#"tool="x*y""#),
            (called("tools/call", "\"\\\n\u{1b}\u{202e}"), r#"tool="\"\\\n\u001b\u202e""#),
            (called("tools/call", "/x/"), r#"tool="/x/""#),
            (called("tools/call", "1..2"), r#"tool="1..2""#),
            (called("tools/call", "\u{e0001}日"), "tool=\"\u{e0001}日\""),
            (called("tools/list", ""), "method=tools/list"),
            (called("resources/read", "file:///a"), r#"method=resources/read name="file:///a""#),
            (Key::Conversation(Some(2)), "conversation:2"),
            (Key::Conversation(None), ""),
            (Key::Hour(1_764_504_000), "after:2025-11-30T12:00:00Z before:2025-11-30T13:00:00Z"),
            (Key::Error("no tool «text»".into()), r#"is:error error:"no tool""#),
            (Key::Error("«n»".into()), "is:error"),
            (Key::Others, ""),
        ] {
            assert_eq!(key.filter(), expected);
            if let Err(error) = Filter::parse(expected, &context, &|_| None) {
                panic!("{expected}: {}", error.problem);
            }
        }
    }

    #[test]
    fn hours_are_those_of_the_clock() {
        let at = |unix_s: u64| unix_s * 1_000_000_000 + 5;
        for (offset_minutes, unix_s, expected) in [
            (0, 1_764_504_000, 1_764_504_000),
            (0, 1_764_507_599, 1_764_504_000),
            (0, 1_764_507_600, 1_764_507_600),
            // Half past by the clock of the world is a whole hour there.
            (330, 1_764_504_000, 1_764_502_200),
            (330, 1_764_505_800, 1_764_505_800),
            (-210, 1_764_505_799, 1_764_502_200),
            (0, 0, 0),
        ] {
            let zone = TimeZone::fixed(jiff::tz::Offset::from_seconds(offset_minutes * 60).unwrap());
            assert_eq!(hour_of(at(unix_s), &zone), expected, "{offset_minutes} {unix_s}");
        }
        assert_eq!(Key::Hour(1_764_504_000).name(&TimeZone::UTC), "2025-11-30 12:00");
    }
}
