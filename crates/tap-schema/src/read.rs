//! From bytes to a JSON value, after a look at how long and how deep it is.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::limit::MAX_DEPTH;

/// Why bytes were not read as a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unread {
    TooDeep,
    /// A number that neither 64 bits of integer nor a double hold.
    NumberOutOfRange,
    NotJson,
}

/// Reads a value whose numbers are exactly those of the text.
pub(crate) fn read_exactly(text: &[u8]) -> Result<Value, Unread> {
    match survey(text)? {
        Numbers::Exact => parse(text),
        // Whatever is no JSON at all should be called so.
        Numbers::OutOfRange => Err(match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => Unread::NumberOutOfRange,
            Err(_) => Unread::NotJson,
        }),
    }
}

/// Reads a value whose numbers may be rounded, as the bounds in schemas are (`"maximum": 3.4e38`, written out).
pub(crate) fn read_roughly(text: &[u8]) -> Result<Value, Unread> {
    survey(text)?;
    parse(text)
}

fn parse(text: &[u8]) -> Result<Value, Unread> {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let value = Plain.deserialize(&mut deserializer);
    value.and_then(|value| deserializer.end().map(|()| value)).map_err(|_| Unread::NotJson)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Exact,
    OutOfRange,
}

/// How deep a text is nested, and whether its numbers can be held, without reading it as JSON.
fn survey(text: &[u8]) -> Result<Numbers, Unread> {
    let mut numbers = Numbers::Exact;
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => at = end_of_string(text, at),
            b'[' | b'{' => {
                depth += 1;
                if MAX_DEPTH < depth {
                    return Err(Unread::TooDeep);
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'-' | b'0'..=b'9' => {
                let length = text[at..].iter().take_while(|byte| b"+-.0123456789Ee".contains(byte)).count();
                if !is_held(&text[at..at + length]) {
                    numbers = Numbers::OutOfRange;
                }
                at += length - 1;
            }
            _ => {}
        }
        at += 1;
    }
    Ok(numbers)
}

/// Where the string that begins at `start` has its last byte.
fn end_of_string(text: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// Whether a number stays what it is when it is read: an integer of 64 bits, or a decimal that a double can tell from
/// others (17 digits) and that is not rounded to zero or infinity.
fn is_held(token: &[u8]) -> bool {
    let Ok(token) = std::str::from_utf8(token) else {
        return false;
    };
    if !token.contains(['.', 'e', 'E']) {
        return token.parse::<u64>().is_ok() || token.parse::<i64>().is_ok();
    }
    let mantissa = token.split(['e', 'E']).next().unwrap_or_default();
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = digits.trim_matches('0');
    digits.is_empty() || (digits.len() <= 17 && token.parse::<f64>().is_ok_and(f64::is_normal))
}

/// Reads any JSON as a [`Value`].
///
/// `Value` itself would read the string in `{"$serde_json::private::RawValue": "…"}` as JSON again, nested as deep as
/// it likes, because another crate of this workspace needs serde_json's `raw_value`.
struct Plain;

impl<'de> DeserializeSeed<'de> for Plain {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Plain {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = sequence.next_element_seed(Self)? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            members.insert(name, map.next_value_seed(Self)?);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_held_when_it_stays_what_it_is() {
        for (token, expected) in [
            ("0", true),
            ("-0", true),
            ("-0.0e5", true),
            ("1.0", true),
            ("18446744073709551615", true),
            ("-9223372036854775808", true),
            ("18446744073709551616", false),
            ("-9223372036854775809", false),
            ("0.30000000000000004", true),
            ("1e300", true),
            ("1.7976931348623157e308", true),
            ("123456789012345678e3", false),
            ("1e400", false),
            ("1e-400", false),
        ] {
            assert_eq!(is_held(token.as_bytes()), expected, "token: {token}");
        }
    }

    #[test]
    fn what_is_no_json_is_called_so_whatever_numbers_it_has() {
        for (text, expected) in [
            ("1e400", Unread::NumberOutOfRange),
            ("[1e400", Unread::NotJson),
            ("[18446744073709551616]", Unread::NumberOutOfRange),
            ("[18446744073709551616", Unread::NotJson),
            ("[0.1, 01]", Unread::NotJson),
            (r#""\ud800""#, Unread::NotJson),
            ("", Unread::NotJson),
            ("1 2", Unread::NotJson),
        ] {
            assert_eq!(read_exactly(text.as_bytes()), Err(expected), "text: {text}");
        }
    }

    #[test]
    fn brackets_in_strings_do_not_nest() {
        let text = format!(r#"["{}", "\"[", "\\"]"#, "[".repeat(500));
        assert!(read_exactly(text.as_bytes()).is_ok());
        for (depth, is_read) in [(MAX_DEPTH, true), (MAX_DEPTH + 1, false)] {
            let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(read_exactly(text.as_bytes()).is_ok(), is_read, "depth: {depth}");
        }
    }

    #[test]
    fn the_private_name_of_raw_values_is_a_name() {
        let text = br#"{"$serde_json::private::RawValue":"[1]"}"#;
        let value = read_exactly(text).unwrap();
        assert_eq!(value["$serde_json::private::RawValue"], "[1]");
    }
}
