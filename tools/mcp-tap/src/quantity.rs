//! Sizes and lengths of time as people write them: `5G`, `30d`.

use std::time::Duration;

/// A size in bytes: `500M`, `5G`, `1.5T`, `4096`. A `B`, and `iB`, may follow; a thousand is 1024.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let form = || format!("`{text}` is no size; such are 500M, 5G, 1T");
    let plain = text.trim().to_ascii_lowercase();
    let plain = plain.strip_suffix("ib").or(plain.strip_suffix('b')).unwrap_or(&plain);
    let (number, unit) = split(plain).ok_or_else(form)?;
    let shift = match unit {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(form()),
    };
    let bytes = number * (1_u64 << shift) as f64;
    // Beyond this a float has no whole numbers any more, and no disk is as large.
    if bytes < 9.0e15 { Ok(bytes as u64) } else { Err(form()) }
}

/// A length of time: `90m`, `12h`, `30d`, `2w`.
pub(crate) fn parse_age(text: &str) -> Result<Duration, String> {
    let form = || format!("`{text}` is no length of time; such are 90m, 12h, 30d, 2w");
    let plain = text.trim().to_ascii_lowercase();
    let (number, unit) = split(&plain).ok_or_else(form)?;
    let seconds = match unit {
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3_600.0,
        "d" => 86_400.0,
        "w" => 604_800.0,
        _ => return Err(form()),
    };
    let seconds = number * seconds;
    // Three hundred years.
    if seconds < 1.0e10 { Ok(Duration::from_secs_f64(seconds)) } else { Err(form()) }
}

/// A number and what is behind it.
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|each: char| !each.is_ascii_digit() && each != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_ages_are_read_as_people_write_them() {
        for (text, expected) in [
            ("4096", Some(4096)),
            ("5G", Some(5 << 30)),
            ("1.5 kib", Some(1536)),
            ("500MB", Some(500 << 20)),
            ("0", Some(0)),
            ("", None),
            ("-1", None),
            ("G", None),
            ("5X", None),
            ("9e99", None),
            ("99999999T", None),
        ] {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
        for (text, expected) in [
            ("30d", Some(30 * 86_400)),
            ("12h", Some(43_200)),
            ("2w", Some(1_209_600)),
            ("1.5m", Some(90)),
            ("7", None),
            ("d", None),
            ("30 years", None),
            ("999999999w", None),
        ] {
            assert_eq!(parse_age(text).ok().map(|age| age.as_secs()), expected, "{text}");
        }
    }
}
