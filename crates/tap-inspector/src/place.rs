//! Where to go, as it is typed: a message's number, a time of day, a time since the session began.

use crate::data::Moment;

/// A place in a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// The message with this number.
    Message(u64),
    /// The message with a bookmark of this name.
    Bookmark(String),
    /// The first message from a moment on.
    Moment(Moment),
}

/// What can be typed.
pub(crate) const ABOUT: &str = "a number, a time like 14:02:11, a time since the beginning like +13.4s, a @bookmark";

const SECOND_NS: u64 = 1_000_000_000;

impl Place {
    /// What was typed, with `goto` in front or not; what is wrong with it otherwise.
    pub(crate) fn read(typed: &str) -> Result<Self, String> {
        let text = typed.trim();
        let text = text.strip_prefix("goto ").unwrap_or(text).trim();
        let wrong = || format!("`{text}` is no place: {ABOUT}");
        if let Some(since) = text.strip_prefix('+') {
            return since_of(since).map(|ns| Self::Moment(Moment::Since(ns))).ok_or_else(wrong);
        }
        if let Some(name) = text.strip_prefix('@').filter(|name| !name.is_empty()) {
            return Ok(Self::Bookmark(name.into()));
        }
        if text.contains(':') {
            return clock_of(text).map(|ns| Self::Moment(Moment::Clock(ns))).ok_or_else(wrong);
        }
        let number = text.strip_prefix('#').unwrap_or(text);
        number.parse().ok().filter(|seq| *seq > 0).map(Self::Message).ok_or_else(wrong)
    }
}

/// `13.4s`, `1m30s`, `250ms` as nanoseconds.
fn since_of(text: &str) -> Option<u64> {
    let (mut rest, mut all) = (text, 0_u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, behind) = rest.split_at(digits);
        let letters = behind.find(|c: char| c.is_ascii_digit()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(letters);
        let unit_ns = match unit {
            "us" => 1_000,
            "ms" => 1_000_000,
            "s" => SECOND_NS,
            "m" | "min" => 60 * SECOND_NS,
            "h" => 3_600 * SECOND_NS,
            "d" => 86_400 * SECOND_NS,
            _ => return None,
        };
        all = all.checked_add(times(number, unit_ns)?)?;
        rest = behind;
    }
    (!text.is_empty()).then_some(all)
}

/// A number, perhaps with a fraction, times a unit; without rounding where the digits allow it.
fn times(number: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    if fraction.contains('.') || number == "." {
        return None;
    }
    let mut part_ns = 0;
    let mut digit_ns = unit_ns;
    for digit in fraction.chars() {
        digit_ns /= 10;
        part_ns += u64::from(digit.to_digit(10)?) * digit_ns;
    }
    whole.checked_mul(unit_ns)?.checked_add(part_ns)
}

/// `14:02`, `14:02:11`, `14:02:11.323` as nanoseconds since midnight.
fn clock_of(text: &str) -> Option<u64> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (parts.next()?, parts.next()?, parts.next().unwrap_or("0"));
    if parts.next().is_some() {
        return None;
    }
    let below = |text: &str, limit: u64| text.parse::<u64>().ok().filter(|number| *number < limit);
    let seconds_ns = times(seconds, SECOND_NS).filter(|ns| *ns < 60 * SECOND_NS)?;
    Some((below(hours, 24)? * 3_600 + below(minutes, 60)? * 60) * SECOND_NS + seconds_ns)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn places_are_read() {
        let since = |ns| Some(Place::Moment(Moment::Since(ns)));
        let clock = |ns| Some(Place::Moment(Moment::Clock(ns)));
        for (typed, expected) in [
            ("120", Some(Place::Message(120))),
            (" #7 ", Some(Place::Message(7))),
            ("goto 7", Some(Place::Message(7))),
            ("+13.4s", since(13_400_000_000)),
            ("+1m30s", since(90_000_000_000)),
            ("+250ms", since(250_000_000)),
            ("+.5h", since(1_800_000_000_000)),
            ("00:00", clock(0)),
            ("14:02:11", clock(50_531_000_000_000)),
            ("goto 14:02:11.323", clock(50_531_323_000_000)),
            ("@here", Some(Place::Bookmark("here".into()))),
            ("@", None),
            ("", None),
            ("0", None),
            ("x", None),
            ("+", None),
            ("+13", None),
            ("+.s", None),
            ("+1.2.3s", None),
            ("+99999999999999999999s", None),
            ("+18446744073709551615d", None),
            ("24:00", None),
            ("14:60", None),
            ("14:02:60", None),
            ("1:2:3:4", None),
            (":", None),
        ] {
            assert_eq!(Place::read(typed).ok(), expected, "{typed}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_typed_is_a_place_or_wrong(typed in "[+#@:.0-9a-z é]{0,12}") {
            let _ = Place::read(&typed);
        }
    }
}
