//! Edits: other tokens in the place of some, and every other byte as it was.

use std::collections::HashMap;
use std::fmt::Write as _;

use tap_jsonrpc::{Node, NodeKind};

use crate::rule::Step;

/// How deep two values are held against each other; what differs deeper is replaced as a whole.
const DEPTH: usize = 100;

/// JSON without the white space between its tokens. Nothing else changes.
#[must_use]
pub fn compact(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len());
    let (mut in_string, mut escaped) = (false, false);
    for &byte in json {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
    out
}

/// The message as it came, with only those tokens changed that are others in `edited`, which is the same message as
/// somebody wrote it anew: with other white space, other values, members more or less. Another order of members alone
/// changes nothing.
///
/// The line ending stays as it was.
#[must_use]
pub fn merge(original: &[u8], edited: &[u8]) -> Vec<u8> {
    let old = Node::new(original);
    let start = offset_in(original, old.bytes());
    let mut out = Vec::with_capacity(original.len() + 64);
    out.extend_from_slice(original.get(..start).unwrap_or_default());
    merge_value(old, Node::new(edited), 0, &mut out);
    out.extend_from_slice(original.get(start + old.bytes().len()..).unwrap_or_default());
    out
}

fn merge_value(old: Node<'_>, new: Node<'_>, depth: usize, out: &mut Vec<u8>) {
    if compact(old.bytes()) == compact(new.bytes()) {
        return out.extend_from_slice(old.bytes());
    }
    match (old.kind(), new.kind()) {
        (NodeKind::Object, NodeKind::Object) if depth < DEPTH => {
            // Where a key is there twice the first goes with the first.
            let mut by_key: HashMap<String, Vec<Node<'_>>> = HashMap::new();
            for (key, value) in new.members() {
                by_key.entry(key.text().into_owned()).or_default().push(value);
            }
            by_key.values_mut().for_each(|values| values.reverse());
            let mut kept = Vec::new();
            let mut n_kept: HashMap<String, usize> = HashMap::new();
            for (key, _) in old.members() {
                let key = key.text().into_owned();
                let value = by_key.get_mut(&key).and_then(Vec::pop);
                *n_kept.entry(key).or_default() += usize::from(value.is_some());
                kept.push(value);
            }
            let mut seen: HashMap<String, usize> = HashMap::new();
            let added = new.members().filter(|(key, _)| {
                let key = key.text().into_owned();
                let seen = seen.entry(key.clone()).or_default();
                *seen += 1;
                n_kept.get(&key).copied().unwrap_or_default() < *seen
            });
            let added = added.map(|(key, value)| (key.bytes().to_vec(), compact(value.bytes()))).collect();
            write_object(old, kept.into_iter().map(|new| new.map(New::Merged)).collect(), added, depth, out);
        }
        (NodeKind::Array, NodeKind::Array) if depth < DEPTH && old.elements().count() == new.elements().count() => {
            let mut from = 0;
            for (one, other) in old.elements().zip(new.elements()) {
                let start = offset_in(old.bytes(), one.bytes());
                out.extend_from_slice(old.bytes().get(from..start).unwrap_or_default());
                merge_value(one, other, depth + 1, out);
                from = start + one.bytes().len();
            }
            out.extend_from_slice(old.bytes().get(from..).unwrap_or_default());
        }
        _ => out.extend_from_slice(&compact(new.bytes())),
    }
}

/// What becomes of the value of a member that stays.
enum New<'a> {
    Same,
    Token(Vec<u8>),
    Merged(Node<'a>),
}

/// Writes an object with each member as `kept` says (`None`: it goes), and with others behind them.
fn write_object(
    old: Node<'_>,
    kept: Vec<Option<New<'_>>>,
    added: Vec<(Vec<u8>, Vec<u8>)>,
    depth: usize,
    out: &mut Vec<u8>,
) {
    let bytes = old.bytes();
    let members: Vec<_> = old.members().collect();
    let place = |part: &[u8]| offset_in(bytes, part);
    let first = members.first().map(|(key, _)| place(key.bytes()));
    out.extend_from_slice(bytes.get(..first.unwrap_or(1)).unwrap_or_default());
    let (mut end_before, mut is_first) = (first, true);
    for ((key, value), new) in members.iter().zip(kept) {
        let (key_start, value_start) = (place(key.bytes()), place(value.bytes()));
        let separator = end_before.and_then(|end| bytes.get(end..key_start)).unwrap_or_default();
        end_before = Some(value_start + value.bytes().len());
        let Some(new) = new else {
            continue;
        };
        if !is_first {
            // What was behind the first member's brace is no separator.
            out.extend_from_slice(if separator.is_empty() { b"," } else { separator });
        }
        is_first = false;
        out.extend_from_slice(bytes.get(key_start..value_start).unwrap_or_default());
        match new {
            New::Same => out.extend_from_slice(value.bytes()),
            New::Token(token) => out.extend_from_slice(&token),
            New::Merged(new) => merge_value(*value, new, depth + 1, out),
        }
    }
    for (key, value) in added {
        if !is_first {
            out.push(b',');
        }
        is_first = false;
        out.extend_from_slice(&key);
        out.push(b':');
        out.extend_from_slice(&value);
    }
    let end = end_before.unwrap_or_else(|| bytes.len().saturating_sub(1).max(1));
    out.extend_from_slice(bytes.get(end..).unwrap_or_default());
}

/// The message with this value at a place; objects that are missing on the way are made. `None` where there is a value on
/// the way that is no object, or an array without that element.
#[must_use]
pub fn set(original: &[u8], place: &[Step], value: &[u8]) -> Option<Vec<u8>> {
    change(original, place, Some(value))
}

/// The message without the member at a place; `None` where there is none. An element of an array is not taken out.
#[must_use]
pub fn remove(original: &[u8], place: &[Step]) -> Option<Vec<u8>> {
    change(original, place, None)
}

fn change(original: &[u8], place: &[Step], value: Option<&[u8]>) -> Option<Vec<u8>> {
    let old = Node::new(original);
    let start = offset_in(original, old.bytes());
    let mut out = original.get(..start)?.to_vec();
    change_value(old, place, value, &mut out)?;
    out.extend_from_slice(original.get(start + old.bytes().len()..)?);
    Some(out)
}

fn change_value(old: Node<'_>, place: &[Step], value: Option<&[u8]>, out: &mut Vec<u8>) -> Option<()> {
    let Some((step, below)) = place.split_first() else {
        out.extend_from_slice(value?);
        return Some(());
    };
    match step {
        Step::Element(index) => {
            let element = old.elements().nth(*index)?;
            if below.is_empty() && value.is_none() {
                return None;
            }
            let start = offset_in(old.bytes(), element.bytes());
            out.extend_from_slice(old.bytes().get(..start)?);
            change_value(element, below, value, out)?;
            out.extend_from_slice(old.bytes().get(start + element.bytes().len()..)?);
        }
        Step::Member(wanted) => {
            if !old.is_object() {
                return None;
            }
            let (mut found, mut kept) = (false, Vec::new());
            for (key, inner) in old.members() {
                kept.push(match key.is(wanted) {
                    false => Some(New::Same),
                    true => {
                        found = true;
                        match (below.is_empty(), value) {
                            (true, None) => None,
                            _ => {
                                let mut token = Vec::new();
                                change_value(inner, below, value, &mut token)?;
                                Some(New::Token(token))
                            }
                        }
                    }
                });
            }
            let mut added = Vec::new();
            if !found {
                added.push((crate::make::string(wanted), nested(below, value?)?));
            }
            write_object(old, kept, added, 0, out);
        }
    }
    Some(())
}

/// A value inside objects that are made for it.
fn nested(place: &[Step], value: &[u8]) -> Option<Vec<u8>> {
    let Some((step, below)) = place.split_first() else {
        return Some(value.to_vec());
    };
    match step {
        Step::Member(key) => Some([&b"{"[..], &crate::make::string(key), b":", &nested(below, value)?, b"}"].concat()),
        Step::Element(_) => None,
    }
}

/// Where in `whole` a part of it lies.
fn offset_in(whole: &[u8], part: &[u8]) -> usize {
    part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr()).min(whole.len())
}

/// What changed from one message to another, in a few words, for a list.
pub(crate) fn told(original: &[u8], edited: &[u8]) -> String {
    let mut text = String::new();
    let difference = edited.len().abs_diff(original.len());
    let sign = if edited.len() < original.len() { '-' } else { '+' };
    let _ = write!(text, "{sign}{difference} bytes");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_what_differs_is_other_bytes() {
        for (original, edited, expected) in [
            (r#"{ "a" : 1.0, "b":"\u0041" }"#, r#"{"a":1.0,"b":"\u0041"}"#, r#"{ "a" : 1.0, "b":"\u0041" }"#),
            (r#"{ "a" : 1.0, "b":"\u0041" }"#, r#"{"a":2,"b":"\u0041"}"#, r#"{ "a" : 2, "b":"\u0041" }"#),
            (r#"{"a": [1, 2, {"x": 1e400}]}"#, r#"{"a":[1,3,{"x":1e400}]}"#, r#"{"a": [1, 3, {"x": 1e400}]}"#),
            (r#"{"a": [1, 2]}"#, r#"{"a": [ 1 ]}"#, r#"{"a": [1]}"#),
            (r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"a":1,"c":3}"#, r#"{"a": 1, "c": 3}"#),
            (r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"b":2,"c":3}"#, r#"{"b": 2, "c": 3}"#),
            (r#"{"a": 1, "b": 2, "c": 3}"#, r#"{"a":1}"#, r#"{"a": 1}"#),
            (r#"{ "a": 1 }"#, "{}", "{  }"),
            (r#"{"a": 1}"#, r#"{"a":1, "b": [ 2 ] }"#, r#"{"a": 1,"b":[2]}"#),
            ("{}", r#"{"b":1}"#, r#"{"b":1}"#),
            (r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#, r#"{"a":1,"b":2}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1,"a":3}"#, r#"{"a":1,"a":3}"#),
            (r#"{"a":1,"a":2}"#, r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"\u0061":1}"#, r#"{"a":2}"#, r#"{"\u0061":2}"#),
            ("\u{feff}{\"a\":1}\r\n", r#"{"a":2}"#, "\u{feff}{\"a\":2}\r\n"),
            ("7\n", "8", "8\n"),
        ] {
            let merged = merge(original.as_bytes(), edited.as_bytes());
            assert_eq!(String::from_utf8_lossy(&merged), expected, "{original} and {edited}");
        }
    }

    #[test]
    fn a_value_is_set_or_taken_out_at_its_place() {
        let place = |text: &str| crate::grammar::read_place(text).unwrap();
        let message = "{\"params\": {\"arguments\": {\"a\": [1, {\"b\": 2}], \"c\": 3}}}\n";
        for (at, value, expected) in [
            ("arg.c", Some("4"), Some("{\"params\": {\"arguments\": {\"a\": [1, {\"b\": 2}], \"c\": 4}}}\n")),
            ("arg.a[1].b", Some("5"), Some("{\"params\": {\"arguments\": {\"a\": [1, {\"b\": 5}], \"c\": 3}}}\n")),
            (
                "arg.d.e",
                Some("5"),
                Some("{\"params\": {\"arguments\": {\"a\": [1, {\"b\": 2}], \"c\": 3,\"d\":{\"e\":5}}}}\n"),
            ),
            ("arg.a", None, Some("{\"params\": {\"arguments\": {\"c\": 3}}}\n")),
            ("arg.c", None, Some("{\"params\": {\"arguments\": {\"a\": [1, {\"b\": 2}]}}}\n")),
            ("arg.a[1].b", None, Some("{\"params\": {\"arguments\": {\"a\": [1, {}], \"c\": 3}}}\n")),
            ("arg.x", None, None),
            ("arg.a[7]", Some("1"), None),
            ("arg.a[0]", None, None),
            ("arg.c.d", Some("1"), None),
            ("arg.x[0]", Some("1"), None),
        ] {
            let changed = change(message.as_bytes(), &place(at), value.map(str::as_bytes));
            assert_eq!(changed.map(|bytes| String::from_utf8(bytes).unwrap()).as_deref(), expected, "{at} {value:?}");
        }
    }

    fn json() -> impl Strategy<Value = String> {
        let leaf =
            prop_oneof![Just("1".to_owned()), Just("\"x \\\" y\"".into()), Just("null".into()), Just("2.50".into())];
        leaf.prop_recursive(4, 30, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(|all| format!("[ {} ]", all.join(" ,"))),
                prop::collection::btree_map("[a-d]", inner, 0..4).prop_map(|all| {
                    let members: Vec<_> = all.into_iter().map(|(key, value)| format!("\"{key}\" : {value}")).collect();
                    format!("{{ {} }}", members.join(" , "))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_merged_says_what_was_edited(original in json(), edited in json()) {
            let merged = merge(original.as_bytes(), edited.as_bytes());
            prop_assert!(!matches!(tap_jsonrpc::scan(&merged, &[]).content, tap_jsonrpc::Content::NotJson(_)), "{}", String::from_utf8_lossy(&merged));
            // Merged once more with the other as the original it is the edited one: members stand in another order.
            prop_assert_eq!(compact(&merge(edited.as_bytes(), &merged)), compact(edited.as_bytes()));
            prop_assert_eq!(merge(original.as_bytes(), &compact(original.as_bytes())), original.into_bytes());
        }
    }
}
