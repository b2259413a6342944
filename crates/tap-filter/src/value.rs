//! Values as they are written in a filter.

use std::ops::Range;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use jiff::{SignedDuration, Timestamp};

use crate::error::FilterError;
use crate::filter::Context;

/// Units of time, nanoseconds. A longer name that ends in another's comes first.
const DURATIONS: &[(&str, i128)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60 * 1_000_000_000),
    ("h", 3_600 * 1_000_000_000),
    ("d", 86_400 * 1_000_000_000),
];

/// Units of size, bytes.
const SIZES: &[(&str, i128)] =
    &[("kib", 1 << 10), ("mib", 1 << 20), ("gib", 1 << 30), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("b", 1)];

/// A number with one of these units, in whole smallest units.
fn with_unit(text: &str, units: &[(&str, i128)]) -> Option<i128> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit).map(|(_, factor)| *factor)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let whole: i128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More digits than that are less than a nanosecond, or than a byte.
    let fraction = fraction.get(..18).unwrap_or(fraction);
    let scale = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let parts: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    whole.checked_mul(factor)?.checked_add(parts.checked_mul(factor)? / scale)
}

/// A span of time, nanoseconds.
pub(crate) fn duration(text: &str, at: Range<usize>) -> Result<i128, FilterError> {
    with_unit(text, DURATIONS).ok_or_else(|| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        let problem = if is_number { "a duration needs a unit".into() } else { format!("`{text}` is no duration") };
        FilterError::new(at, problem).help("write 250ms, 1.5s, 2m")
    })
}

/// A size, bytes.
pub(crate) fn size(text: &str, at: Range<usize>) -> Result<i128, FilterError> {
    let lower = text.to_ascii_lowercase();
    let plain = lower.parse::<i128>().ok().filter(|_| lower.bytes().all(|byte| byte.is_ascii_digit()));
    plain
        .or_else(|| with_unit(&lower, SIZES))
        .ok_or_else(|| FilterError::new(at, format!("`{text}` is no size")).help("write 512, 64k, 1.5M"))
}

/// A whole number.
pub(crate) fn number(text: &str, at: Range<usize>) -> Result<i128, FilterError> {
    text.parse().map_err(|_| FilterError::new(at, format!("`{text}` is no whole number")))
}

/// A moment, nanoseconds since the Unix epoch.
pub(crate) fn time(text: &str, at: Range<usize>, context: &Context) -> Result<i128, FilterError> {
    let wrong = || {
        FilterError::new(at.clone(), format!("`{text}` is no time"))
            .help("write 14:02, 2026-11-30, 2026-11-30T14:02, or -5m for five minutes ago")
    };
    if let Some(ago) = text.strip_prefix('-') {
        return duration(ago, at.clone()).map(|ago| context.now_unix_ns - ago).map_err(|_| wrong());
    }
    if let Ok(timestamp) = text.parse::<Timestamp>() {
        return Ok(timestamp.as_nanosecond());
    }
    let offset = Offset::from_seconds(context.utc_offset_seconds).unwrap_or(Offset::UTC);
    let today = || {
        let now = Timestamp::from_nanosecond(context.now_unix_ns).unwrap_or_default();
        offset.to_datetime(now).date()
    };
    let civil: Option<DateTime> = if let Ok(time) = text.parse::<Time>() {
        Some(today().to_datetime(time))
    } else if let Ok(date) = text.parse::<Date>() {
        Some(date.to_datetime(Time::midnight()))
    } else {
        text.parse().ok()
    };
    let civil = civil.ok_or_else(wrong)?;
    let since_epoch = civil.duration_since(DateTime::constant(1970, 1, 1, 0, 0, 0, 0));
    let shifted = since_epoch - SignedDuration::from_secs(i64::from(context.utc_offset_seconds));
    Ok(shifted.as_nanos())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Context = Context { now_unix_ns: 1_796_047_200_000_000_000, utc_offset_seconds: 3_600 };

    #[test]
    fn durations_and_sizes_have_units() {
        for (text, expected) in [
            ("250ms", Some(250_000_000)),
            ("1.5s", Some(1_500_000_000)),
            ("2m", Some(120_000_000_000)),
            (".5h", Some(1_800_000_000_000)),
            ("7d", Some(604_800_000_000_000)),
            ("3us", Some(3_000)),
            ("2", None),
            ("", None),
            ("s", Some(0)),
            ("1.2.3s", None),
            ("2 s", None),
            ("99999999999999999999999999999999999999s", None),
        ] {
            assert_eq!(duration(text, 0..0).ok(), expected, "{text}");
        }
        for (text, expected) in [
            ("512", Some(512)),
            ("64k", Some(65_536)),
            ("1.5M", Some(1_572_864)),
            ("1GiB", Some(1_073_741_824)),
            ("7b", Some(7)),
            ("-1", None),
            ("big", None),
        ] {
            assert_eq!(size(text, 0..0).ok(), expected, "{text}");
        }
        assert_eq!(duration("2", 3..4).unwrap_err().problem, "a duration needs a unit");
    }

    #[test]
    fn times_are_local_or_say_their_offset() {
        // 2026-11-30T14:00:00Z, which is 15:00 where this is read.
        for (text, expected) in [
            ("-5m", CONTEXT.now_unix_ns - 300_000_000_000),
            ("15:00", CONTEXT.now_unix_ns),
            ("2026-11-30T15:00", CONTEXT.now_unix_ns),
            ("2026-11-30T14:00:00Z", CONTEXT.now_unix_ns),
            ("2026-11-30", CONTEXT.now_unix_ns - 15 * 3_600_000_000_000),
        ] {
            assert_eq!(time(text, 0..0, &CONTEXT), Ok(expected), "{text}");
        }
        for text in ["", "-", "-5", "soon", "25:00", "2026-13-01"] {
            assert!(time(text, 0..0, &CONTEXT).is_err(), "{text}");
        }
    }
}
