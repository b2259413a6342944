//! What holds for any JSON, and for bytes that are none.

use proptest::prelude::*;
use serde_json::Value;
use tap_compare::{
    Candidate, Change, Dials, ListKind, Markers, MatchKey, Options, PathPattern, Rules, Side, Step, compare, drift,
    nearest,
};
use tap_jsonrpc::Node;

fn json() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-c]{0,2}",
        Just("«uuid»".to_owned()),
        Just("«secret 1»x".to_owned()),
        Just("{\"a\":1}".to_owned()),
        Just("[2, 1]".to_owned()),
        any::<String>(),
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        any::<i16>().prop_map(|n| Value::from(f64::from(n) / 8.0)),
        text.prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec(("[a-c]|id|name|_meta|text", inner), 0..5)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn differences(a: &[u8], b: &[u8], side: Side) -> tap_compare::Comparison {
    let dials = Dials::default();
    let options = Options { placeholders: false, ..Options::new(&dials, side) };
    compare(a, b, &options, &mut Markers::new())
}

/// Puts what B has in the place of what A has, by pointers: only for differences that moved nothing.
fn apply(value: &mut Value, difference: &tap_compare::Difference) -> Option<()> {
    let (last, steps) = difference.path.0.split_last()?;
    let mut place = value;
    for step in steps {
        place = match step {
            Step::Member(key) => place.get_mut(key)?,
            Step::Element(index) => place.get_mut(index)?,
            Step::Inside => return None,
        };
    }
    let new = difference.b.as_deref().map(|json| serde_json::from_slice::<Value>(json).unwrap());
    match (last, new) {
        (Step::Member(key), Some(new)) => drop(place.as_object_mut()?.insert(key.clone(), new)),
        (Step::Member(key), None) => drop(place.as_object_mut()?.remove(key)?),
        (Step::Element(index), Some(new)) => *place.get_mut(index)? = new,
        _ => return None,
    }
    Some(())
}

proptest! {
    #[test]
    fn a_message_does_not_differ_from_itself(value in json()) {
        let compact = serde_json::to_vec(&value).unwrap();
        let pretty = serde_json::to_vec_pretty(&value).unwrap();
        for side in [Side::Request, Side::Response] {
            let found = differences(&compact, &pretty, side);
            prop_assert_eq!((found.n_differences, found.n_hidden), (0, 0));
        }
    }

    #[test]
    fn differences_are_the_same_from_both_sides(a in json(), b in json()) {
        let (a, b) = (serde_json::to_vec(&a).unwrap(), serde_json::to_vec(&b).unwrap());
        let (there, back) = (differences(&a, &b, Side::Response), differences(&b, &a, Side::Response));
        prop_assert_eq!(there.is_same(), back.is_same());
        let count = |found: &tap_compare::Comparison, change| found.differences.iter().filter(|this| this.change == change).count();
        // How elements of arrays find each other may depend on the side; how many more there are does not.
        let more = |found: &tap_compare::Comparison| count(found, Change::Added) as i64 - count(found, Change::Removed) as i64;
        if there.differences.iter().all(|this| this.path_in_a.is_none()) {
            prop_assert_eq!(more(&there), -more(&back));
        }
    }

    #[test]
    fn what_is_told_makes_one_into_the_other(a in json(), b in json()) {
        // Arrays move what is in them, and text opened as JSON is no place of the value itself: both have their tables.
        let plain = |value: &Value| !value.to_string().contains(['[', '{']) || value.is_object();
        let strip = |value: Value| match value {
            Value::Object(members) => Value::Object(members.into_iter().filter(|(_, value)| !value.to_string().contains(['[', '\\'])).collect()),
            other => other,
        };
        let (a, b) = (strip(a), strip(b));
        prop_assume!(plain(&a) && plain(&b) && a.is_object() && b.is_object());
        let wrap = |value: &Value| serde_json::json!({"result": value});
        let (mut a, b) = (wrap(&a), wrap(&b));
        let found = differences(a.to_string().as_bytes(), b.to_string().as_bytes(), Side::Response);
        prop_assume!(found.differences.iter().all(|this| !this.path.is_inside_text() && this.path_in_a.is_none()));
        for difference in &found.differences {
            prop_assert!(apply(&mut a, difference).is_some(), "{:?}", difference);
        }
        prop_assert!(differences(a.to_string().as_bytes(), b.to_string().as_bytes(), Side::Response).is_same());
    }

    #[test]
    fn keys_are_equal_exactly_when_nothing_differs(a in json(), b in json()) {
        let request = |value: &Value| serde_json::json!({"method": "m", "params": {"arguments": value}}).to_string();
        let (a, b) = (request(&a), request(&b));
        let rules = Rules::default();
        let same = MatchKey::of(a.as_bytes(), &rules) == MatchKey::of(b.as_bytes(), &rules);
        prop_assert_eq!(same, differences(a.as_bytes(), b.as_bytes(), Side::Request).is_same());
    }

    #[test]
    fn a_path_that_is_told_can_be_ignored(a in json(), b in json()) {
        let answer = |value: &Value| serde_json::json!({"result": {"v": value}}).to_string();
        let (a, b) = (answer(&a), answer(&b));
        let found = differences(a.as_bytes(), b.as_bytes(), Side::Response);
        // An element that is only in A has its place there, which may be that of another in B.
        for difference in found.differences.iter().filter(|this| this.change == Change::Changed && this.path_in_a.is_none()) {
            let text = difference.path.dotted(Side::Response);
            let pattern = PathPattern::parse(&text).unwrap();
            prop_assert!(pattern.matches(Side::Response, &difference.path), "{}", text);
        }
    }

    #[test]
    fn bytes_of_any_kind_do_no_harm(a in prop::collection::vec(any::<u8>(), 0..60), b in prop::collection::vec(any::<u8>(), 0..60)) {
        no_harm(&a, &b);
    }
}

/// Everything that there is, with two messages that may be anything.
fn no_harm(a: &[u8], b: &[u8]) {
    let rules = Rules::parse(r#"{"ignore":["arg.**.a",".x[0]"],"volatile":["result.*"],"loose":["case","numbers","space"],"tools":{"t":{"compare":"shape","key":["arg.a","arg.l[*]"]}}}"#).unwrap();
    for dials in [Dials::default(), rules.dials(None), rules.dials(Some("t"))] {
        for side in [Side::Request, Side::Response] {
            let options = Options { hide_looks: true, ..Options::new(&dials, side) };
            let _ = compare(a, b, &options, &mut Markers::new());
        }
        for kind in ListKind::ALL {
            let list = |bytes| Node::new(bytes).elements().chain([Node::new(bytes)]).collect::<Vec<_>>();
            let _ = drift(kind, &list(a), &list(b), &dials, &mut Markers::new());
        }
    }
    for rules in [&Rules::default(), &rules] {
        let _ = MatchKey::of(a, rules);
        let _ = nearest(a, [Candidate { request: b, is_used: false }], rules, 3);
    }
    let _ = Rules::parse(&String::from_utf8_lossy(a));
    let _ = PathPattern::parse(&String::from_utf8_lossy(a));
}

/// Messages that are changed byte by byte: cut, doubled, replaced.
#[test]
fn a_mutated_corpus_does_no_harm() {
    let corpus: [&[u8]; 8] = [
        br#"{"method":"tools/call","params":{"name":"t","arguments":{"a":1,"l":[1,{"id":2}],"s":"\ud800"},"requestState":"x"}}"#,
        br#"{"result":{"content":[{"type":"text","text":"{\"a\":[1,2]}"}],"isError":true}}"#,
        br##"[{"name":"a","inputSchema":{"type":"object","properties":{"p":{"$ref":"#/$defs/D"}},"$defs":{"D":{"anyOf":[{"type":"null"}]}}}}]"##,
        br##"[{"name":"a","inputSchema":{"type":["object"],"properties":{"p":{"$ref":"#/$defs/D","enum":[1]}},"$defs":{"D":{"$ref":"#/$defs/D"}}}}]"##,
        "{\"result\":\"«re:[a-z]+» «secret 1» «uuid»\"}".as_bytes(),
        br#"{"result":"abc 1 7f3a1c9e-0000-4000-8000-0123456789ab"}"#,
        br#"{"a":-1.5e+10,"a":"A","b":[[[[1]]],[],{}]}"#,
        br#"{"ignore":["arg.a"],"tools":{"t":{"compare":"shape"}},"loose":"case"}"#,
    ];
    let replacements = *b"\"\\{}[],:0e\xab\xff\x00-t";
    for (index, message) in corpus.iter().enumerate() {
        let other = corpus[(index + 1) % corpus.len()];
        for at in 0..message.len() {
            no_harm(&message[..at], message);
            let doubled = [&message[..at], &message[at.saturating_sub(8)..]].concat();
            no_harm(&doubled, other);
            let mut changed = message.to_vec();
            changed[at] = replacements[at % replacements.len()];
            no_harm(message, &changed);
            no_harm(&changed, other);
        }
    }
}
