//! Nodes: what a view of some bytes says, in tables. That it agrees with serde_json and with captures is in `property.rs`.

use std::borrow::Cow;

use tap_jsonrpc::{Node, NodeKind};

use crate::bodies;

/// A message whose parts are looked at below.
const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"weigh","arguments":{"grams":[1,2.5,-3e2],"unit":"kg"},"_meta":null}}"#;

fn written<'a>(node: Option<Node<'a>>) -> Option<&'a str> {
    node.map(|node| std::str::from_utf8(node.bytes()).unwrap())
}

fn elements(text: &str) -> Vec<&str> {
    Node::new(text.as_bytes()).elements().filter_map(|node| written(Some(node))).collect()
}

fn members(text: &str) -> Vec<(Cow<'_, str>, &str)> {
    Node::new(text.as_bytes()).members().filter_map(|(key, node)| Some((key.text(), written(Some(node))?))).collect()
}

#[test]
fn the_first_value_is_found_and_named() {
    for (input, bytes, kind) in [
        ("{}", "{}", NodeKind::Object),
        ("[1]", "[1]", NodeKind::Array),
        ("\"a\"", "\"a\"", NodeKind::String),
        ("-1.5e3", "-1.5e3", NodeKind::Number),
        ("true", "true", NodeKind::True),
        ("false", "false", NodeKind::False),
        ("null", "null", NodeKind::Null),
        (" \t\r\n{ } \t\r\n", "{ }", NodeKind::Object),
        ("\u{feff} null\n", "null", NodeKind::Null),
        ("\n\"a \" \n", "\"a \"", NodeKind::String),
        ("1 2", "1", NodeKind::Number),
        ("\"a\"b", "\"a\"", NodeKind::String),
        ("", "", NodeKind::Invalid),
        (" \n", "", NodeKind::Invalid),
        ("]", "", NodeKind::Invalid),
        ("nul", "nul", NodeKind::Invalid),
        ("nulll", "nulll", NodeKind::Invalid),
        ("NaN", "NaN", NodeKind::Invalid),
    ] {
        let node = Node::new(input.as_bytes());
        assert_eq!((written(Some(node)), node.kind()), (Some(bytes), kind), "input: {input:?}");
    }
}

#[test]
fn a_value_is_of_one_kind_only() {
    for (index, input) in ["{}", "[]", "\"\"", "0", "null", "true", "x"].into_iter().enumerate() {
        let node = Node::new(input.as_bytes());
        let is = [node.is_object(), node.is_array(), node.is_string(), node.is_number(), node.is_null()];
        for (kind, is) in is.into_iter().enumerate() {
            assert_eq!(is, kind == index, "input: {input}");
        }
    }
    for (input, boolean) in
        [("true", Some(true)), (" false ", Some(false)), ("\"true\"", None), ("1", None), ("", None)]
    {
        assert_eq!(Node::new(input.as_bytes()).as_bool(), boolean, "input: {input}");
    }
}

#[test]
fn a_path_leads_to_a_member_or_nowhere() {
    let call = Node::new(CALL.as_bytes());
    for (path, expected) in [
        (&[][..], Some(CALL)),
        (&["id"], Some("1")),
        (&["params", "name"], Some("\"weigh\"")),
        (&["params", "arguments", "grams"], Some("[1,2.5,-3e2]")),
        (&["params", "_meta"], Some("null")),
        (&["params", "_meta", "progressToken"], None),
        (&["params", "arguments", "grams", "0"], None),
        (&["name"], None),
        (&["i"], None),
        (&["id "], None),
        (&[""], None),
        (&["method", "tools/call"], None),
    ] {
        assert_eq!(written(call.at(path)), expected, "path: {path:?}");
    }
}

#[test]
fn a_key_is_found_however_it_is_escaped() {
    for (object, key) in [
        (r#"{"name":1}"#, "name"),
        (r#"{"na\u006de":1}"#, "name"),
        (r#"{"\u006E\u0061\u006D\u0065":1}"#, "name"),
        (r#"{"\"":1}"#, "\""),
        (r#"{"\\":1}"#, "\\"),
        (r#"{"\\\"\\":1}"#, "\\\"\\"),
        (r#"{"\/":1}"#, "/"),
        (r#"{"\ud83d\ude00":1}"#, "😀"),
        (r#"{"😀":1}"#, "😀"),
        (r#"{"":1}"#, ""),
    ] {
        let node = Node::new(object.as_bytes());
        assert_eq!(written(node.get(key)), Some("1"), "object: {object}");
        assert_eq!(node.get(&format!("{key}x")), None, "object: {object}");
        let (found, _) = node.members().next().unwrap();
        assert!(found.is(key) && !found.is("other"), "object: {object}");
        assert_eq!(found.text(), key);
        assert_eq!(&object.as_bytes()[1..=found.bytes().len()], found.bytes());
    }
}

#[test]
fn of_members_that_share_a_key_the_last_counts() {
    let node = Node::new(br#"{"a":1,"b":{"c":2},"a":3,"b":{"d":4},"\u0061":5}"#);
    assert_eq!(written(node.get("a")), Some("5"));
    assert_eq!(written(node.at(&["b", "d"])), Some("4"));
    assert_eq!(node.at(&["b", "c"]), None);
    assert_eq!(node.pick(["b", "x", "a"]).map(written), [Some("{\"d\":4}"), None, Some("5")]);
    assert_eq!(node.members().map(|(key, _)| key.text()).collect::<Vec<_>>(), ["a", "b", "a", "b", "a"]);
}

#[test]
fn members_and_elements_come_as_they_were_written() {
    for (text, expected) in [
        ("[]", &[][..]),
        ("[ \n]", &[]),
        ("[1]", &["1"]),
        ("[1,[2,[3]],{\"a\":[4]},\"]\"]", &["1", "[2,[3]]", "{\"a\":[4]}", "\"]\""]),
        (" [ 1 ,\t[ 2 ]\r\n, \"a\" , null ] ", &["1", "[ 2 ]", "\"a\"", "null"]),
        ("[\"\\\"]\",\"\\\\\",\"[\"]", &["\"\\\"]\"", "\"\\\\\"", "\"[\""]),
        ("{\"a\":1}", &[]),
        ("\"[1]\"", &[]),
    ] {
        assert_eq!(elements(text), expected, "array: {text}");
    }
    for (text, expected) in [
        ("{}", &[][..]),
        ("{ \n}", &[]),
        ("{\"a\":1,\"b\":{\"c\":\"}\"}}", &[("a", "1"), ("b", "{\"c\":\"}\"}")]),
        (" { \"a\" : 1 ,\t\"b\"\r\n:\n[ ] } ", &[("a", "1"), ("b", "[ ]")]),
        ("{\"b\":0,\"a\":0,\"b\":1}", &[("b", "0"), ("a", "0"), ("b", "1")]),
        ("[{\"a\":1}]", &[]),
    ] {
        let expected: Vec<_> = expected.iter().map(|&(key, value)| (Cow::Borrowed(key), value)).collect();
        assert_eq!(members(text), expected, "object: {text}");
    }
}

#[test]
fn a_string_says_its_text() {
    for (string, text) in [
        ("\"\"", ""),
        ("\"tools/call\"", "tools/call"),
        ("\"grüße\"", "grüße"),
        (r#""a\"b\\c\/\n""#, "a\"b\\c/\n"),
        (r#""\ud83d\ude00""#, "😀"),
        (r#""\ud83d""#, "\u{fffd}"),
        ("\"a\tb\0\"", "a\tb\0"),
    ] {
        let node = Node::new(string.as_bytes());
        assert_eq!(node.text().as_deref(), Some(text), "string: {string}");
        assert!(node.is_text(text), "string: {string}");
        assert!(!node.is_text(&format!("{text}x")) && !node.is_text("y"), "string: {string}");
    }
    assert!(matches!(Node::new(b"\"plain\"").text(), Some(Cow::Borrowed("plain"))));
    assert_eq!(Node::new(b"1").text(), None);
    assert!(!Node::new(b"1").is_text("1"));

    let not_utf8 = Node::new(b"\"\xff\"");
    assert_eq!(not_utf8.text().as_deref(), Some("\u{fffd}"));
    assert!(!not_utf8.is_text("\u{fffd}"));
}

#[test]
fn a_number_is_an_integer_by_its_value() {
    for (number, integer, is_integer) in [
        ("0", Some(0), true),
        ("-0", Some(0), true),
        ("0.0", Some(0), true),
        ("0e5", Some(0), true),
        ("0.00e-5", Some(0), true),
        ("0e99999999999999999999", Some(0), true),
        ("1", Some(1), true),
        ("-17", Some(-17), true),
        ("1.0", Some(1), true),
        ("1.50e1", Some(15), true),
        ("1e2", Some(100), true),
        ("1E+2", Some(100), true),
        ("100e-2", Some(1), true),
        ("0.001e3", Some(1), true),
        ("1200.0e-2", Some(12), true),
        ("9007199254740993", Some(9_007_199_254_740_993), true),
        ("9007199254740993.000", Some(9_007_199_254_740_993), true),
        ("9223372036854775807", Some(i64::MAX), true),
        ("-9223372036854775808", Some(i64::MIN), true),
        ("-922337203685477580800e-2", Some(i64::MIN), true),
        ("1e18", Some(1_000_000_000_000_000_000), true),
        ("9223372036854775808", None, true),
        ("-9223372036854775809", None, true),
        ("1e19", None, true),
        ("123456789012345678901234567890", None, true),
        ("1e400", None, true),
        ("1e99999999999999999999", None, true),
        // Two more than 64 bits can hold.
        ("1e18446744073709551618", None, true),
        ("1.5", None, false),
        ("-0.1", None, false),
        ("15e-1", None, false),
        ("1e-400", None, false),
        ("1e-99999999999999999999", None, false),
        ("1.00000000000000000000000000001", None, false),
    ] {
        let node = Node::new(number.as_bytes());
        assert_eq!((node.as_i64(), node.is_integer()), (integer, is_integer), "number: {number}");
    }
    let long = format!("1{}e-{}", "0".repeat(100_000), 100_000);
    assert_eq!(Node::new(long.as_bytes()).as_i64(), Some(1));
}

#[test]
fn a_number_that_is_finite_has_a_rounded_value() {
    for (number, value) in [
        ("0", Some(0.0)),
        ("1.5", Some(1.5)),
        ("-3e2", Some(-300.0)),
        ("9007199254740993", Some(9_007_199_254_740_992.0)),
        ("1e-400", Some(0.0)),
        ("1.7976931348623157e308", Some(f64::MAX)),
        ("1e400", None),
        ("-1e400", None),
    ] {
        assert_eq!(Node::new(number.as_bytes()).as_f64(), value, "number: {number}");
    }
}

#[test]
fn what_is_no_number_has_no_value() {
    for input in [
        "-",
        "--1",
        "01",
        "-01",
        "1.",
        "1.e5",
        "1e",
        "1e+",
        "1e5.0",
        "1.5.5",
        "1x",
        "-inf",
        "-Infinity",
        "0x10",
        "1_000",
        "+1",
        ".5",
        "NaN",
        "\"1\"",
        "[1]",
        "true",
        "null",
        "",
    ] {
        let node = Node::new(input.as_bytes());
        assert_eq!((node.as_i64(), node.as_f64(), node.is_integer()), (None, None, false), "input: {input:?}");
    }
}

#[test]
fn where_json_ends_the_walk_ends() {
    for (text, expected) in [
        ("[1,2", &["1", "2"][..]),
        ("[1,2,", &["1", "2"]),
        ("[1,,2]", &["1"]),
        ("[1 2]", &["1"]),
        ("[,1]", &[]),
        ("[1],2]", &["1"]),
        ("[1,\"a", &["1", "\"a"]),
        ("[1,\"a\\", &["1", "\"a\\"]),
        ("[1,[2,{\"a\":", &["1", "[2,{\"a\":"]),
    ] {
        assert_eq!(elements(text), expected, "array: {text}");
    }
    for (text, n_members) in [
        ("{\"a\":1", 1),
        ("{\"a\":", 0),
        ("{\"a\"", 0),
        ("{\"a", 0),
        ("{\"a\" 1,\"b\":2}", 0),
        ("{a:1}", 0),
        ("{\"a\":1,2:3}", 1),
    ] {
        assert_eq!(members(text).len(), n_members, "object: {text}");
    }
}

#[test]
fn every_prefix_of_a_message_can_be_walked_over() {
    let pretty = CALL.replace(':', " : ").replace(',', " ,\n\t");
    for text in [CALL, &pretty, r#"{"p\u0061rams":{"n\"":"\ud83d\ude00\\"},"x":[{},[]]}"#] {
        for length in 0..=text.len() {
            bodies::node(&text.as_bytes()[..length]);
        }
    }
}

#[test]
fn a_million_levels_are_skipped_like_one() {
    const DEPTH: usize = 1_000_000;
    let open = "[".repeat(DEPTH);
    assert_eq!(elements(&open), [&open[1..]]);

    let arrays = format!("{open}{}", "]".repeat(DEPTH));
    let objects = format!("{}1{}", "{\"a\":".repeat(DEPTH), "}".repeat(DEPTH));
    let both = format!("{{\"arrays\":{arrays},\"objects\":{objects},\"last\":1}}");
    let node = Node::new(both.as_bytes());
    assert_eq!(node.pick(["arrays", "objects", "last"]).map(written), [Some(&*arrays), Some(&*objects), Some("1")]);
    let [inside] = elements(&arrays)[..] else { panic!("one element") };
    assert_eq!(inside.len(), arrays.len() - 2);
}

#[test]
fn nodes_are_equal_when_they_were_written_alike() {
    let node = Node::new(b"[1,1.0,1 ]");
    let [one, one_point_zero, again] = node.elements().collect::<Vec<_>>()[..] else { panic!("three elements") };
    assert_eq!(one, again);
    assert_ne!(one, one_point_zero);
}

#[test]
fn debug_shows_the_start_and_no_control_characters() {
    assert_eq!(format!("{:?}", Node::new(b"{\"a\":\"\x1b\xff\"}")), "{\"a\":\"\\u{1b}\u{fffd}\"}");
    let long = format!("\"{}\"", "a".repeat(1000));
    assert_eq!(format!("{:?}", Node::new(long.as_bytes())), format!("\"{}…", "a".repeat(199)));
    let node = Node::new(b"{\"k\\n\":1}");
    assert_eq!(format!("{:?}", node.members().next()), "Some((\"k\\n\", 1))");
}
