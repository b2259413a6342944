//! What is JSON and what is not, with the tolerances, and where the error is.

use tap_jsonrpc::{Content, EnvelopeError, Notes, Progress, Scanner, scan};

use crate::show::{check, start};

/// Asserts that `input` is one JSON value, whatever it says.
#[track_caller]
fn accepts(input: impl AsRef<[u8]>, notes: Notes) {
    let input = input.as_ref();
    let scanned = scan(input, &[]);
    let is_json = !matches!(scanned.content, Content::NotJson(_) | Content::Blank);
    assert!(is_json, "{:?} from {}", scanned.content, start(input));
    assert_eq!(scanned.notes.without(Notes::MISSING_VERSION), notes, "input: {}", start(input));
    assert_eq!(scanned.length, input.len() as u64);
}

#[test]
fn nothing_is_blank() {
    check("", "Blank");
    check("\n", "Blank");
    check(" \t \n", "Blank");
    check("\r\n", "Blank {carriage return}");
    check("\u{feff}", "Blank {byte order mark}");
    check("\u{feff}\r\n", "Blank {byte order mark, carriage return}");
}

#[test]
fn oddities_of_text_are_noted_and_accepted() {
    check("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n", "Request 1 ping {byte order mark}");
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n", "Request 1 ping {carriage return}");
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r", "Request 1 ping {carriage return}");
    check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\tb\"}", "Request 1 a\tb {control character}");
    check(
        b"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"a\0b\"}",
        "Request \"\u{fffd}\" a\0b {control character, invalid UTF-8}",
    );
    accepts(b"\"\xff\"", Notes::INVALID_UTF8);
    accepts(b"[\"\xc3\\n\"]", Notes::INVALID_UTF8);
    accepts(b"[\"\xc3\", \"\xa9\"]", Notes::INVALID_UTF8);
    accepts(b"{\"\xed\xa0\x80\":1}", Notes::INVALID_UTF8);
    accepts("\"grüße, 日本語, 😀\u{2028}\u{7f}\"", Notes::none());
    accepts(r#""\ud83d""#, Notes::LONE_SURROGATE);
    accepts(r#""\ude00""#, Notes::LONE_SURROGATE);
    accepts(r#""\ud83dx\ude00""#, Notes::LONE_SURROGATE);
    accepts(r#""\ud83d\n\ude00""#, Notes::LONE_SURROGATE);
    accepts(r#""\ud83d\ud83d\ude00""#, Notes::LONE_SURROGATE);
    accepts(r#"["\ud83d","\ude00"]"#, Notes::LONE_SURROGATE);
    accepts(r#""\ud83d\ude00\uD83D\uDE00""#, Notes::none());
}

#[test]
fn numbers_have_any_size() {
    for number in
        ["0", "-0", "10", "1.5", "-0.0", "1e5", "1E-5", "0e0", "1.0e+10", "1e400", "123456789012345678901234567890"]
    {
        accepts(number, Notes::none());
        accepts(format!("[{number},{number}]"), Notes::none());
        accepts(format!("{{\"a\":{number}}}\n"), Notes::none());
    }
    for (number, offset) in [
        ("01", 1),
        ("-01", 2),
        ("1.", 2),
        ("1.e5", 2),
        (".5", 0),
        ("+1", 0),
        ("1e", 2),
        ("1e+", 3),
        ("-", 1),
        ("--1", 1),
        ("1.5.5", 3),
        ("0x10", 1),
        ("1_000", 1),
        ("NaN", 0),
        ("-Infinity", 1),
    ] {
        let in_array = scan(format!("[{number}]").as_bytes(), &[]).content;
        assert_eq!(in_array, Content::NotJson(EnvelopeError::NotJson { offset: offset + 1 }), "number: {number}");
    }
}

#[test]
fn the_first_bad_byte_is_named() {
    for (input, offset) in [
        ("Server running on stdio\n", 0),
        ("[INFO] ready\n", 1),
        ("2026-07-28 12:00:01 ready\n", 4),
        ("12:00:01 ready\n", 2),
        ("8080 is the port\n", 5),
        ("3 tools\n", 3),
        ("{\"id\":1} trailing\n", 11),
        ("{'id':1}", 1),
        ("{id:1}", 1),
        ("{\"id\" 1}", 6),
        ("{\"id\"::1}", 6),
        ("{\"id\":1,}", 8),
        ("{,}", 1),
        ("[,]", 1),
        ("[1,]", 3),
        ("[1 2]", 3),
        ("{\"a\":1 \"b\":2}", 7),
        ("{]", 1),
        ("[}", 1),
        ("[1}", 2),
        ("{\"a\":1]", 6),
        ("]", 0),
        ("}", 0),
        (",", 0),
        (":", 0),
        ("\\", 0),
        ("[tru]", 4),
        ("[nul]", 4),
        ("[falsy]", 5),
        ("[True]", 1),
        ("\"\\x\"", 2),
        ("\"\\u12g4\"", 5),
        ("\"a\"b", 3),
        ("\u{feff}\u{feff}{}", 3),
        (" \u{feff}{}", 1),
        ("{}\u{feff}", 2),
        ("\u{c}{}", 0),
        ("\0", 0),
        ("{}\0", 2),
        ("// comment\n{}", 0),
        ("{\"a\":1}}", 7),
        ("1,2", 1),
    ] {
        let found = scan(input.as_bytes(), &[]);
        assert_eq!(found.content, Content::NotJson(EnvelopeError::NotJson { offset }), "input: {input:?}");
        assert_eq!(found.length, input.len() as u64);
    }
    for input in [&b"\xef"[..], b"\xef\xbb", b"\xef\xbb\xbe{}", b"\xef{}", b"\xef\xbb{}"] {
        let found = scan(input, &[]).content;
        assert_eq!(found, Content::NotJson(EnvelopeError::NotJson { offset: 0 }), "input: {input:?}");
    }
}

#[test]
fn a_start_without_end_is_truncated() {
    for input in [
        "{",
        "[",
        "\"",
        "{\"",
        "{\"a",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "[1",
        "[1,",
        "[[]",
        "-",
        "1.",
        "1e",
        "1e+",
        "tru",
        "\"\\",
        "\"\\u12",
        "\"\\ud83d",
        "\u{feff}{",
        "{\n",
        "{\"a\":\"cut\n",
        "[1\r\n",
    ] {
        let found = scan(input.as_bytes(), &[]);
        let offset = input.len() as u64;
        assert_eq!(found.content, Content::NotJson(EnvelopeError::Truncated { offset }), "input: {input:?}");
        assert!(!found.notes.contains(Notes::CONTROL_CHARACTER), "input: {input:?}");
    }
    check("{\"jsonrpc\":\"2.0\",\n", "a JSON value is cut off at byte 18");
}

#[test]
fn two_values_are_told_from_a_value_and_noise() {
    for (input, offset) in [
        ("{\"id\":1}{\"id\":2}\n", 8),
        ("{\"id\":1} {\"id\":2}\n", 9),
        ("{} [] {}", 3),
        ("1 2", 2),
        ("\"a\" \"b\"", 4),
        ("true false", 5),
        ("null -1.5e3", 5),
        ("[]\u{20}[", 3),
        ("{} {\"cut\":", 3),
        ("1 -", 2),
    ] {
        let found = scan(input.as_bytes(), &[]).content;
        assert_eq!(found, Content::NotJson(EnvelopeError::SeveralValues { offset }), "input: {input:?}");
    }
    check("{}{oops}", "not JSON from byte 3 on");
}

#[test]
fn nesting_has_a_limit_and_no_stack() {
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    accepts(&deep, Notes::none());
    let objects = "{\"a\":".repeat(1_000_000) + "1" + &"}".repeat(1_000_000);
    accepts(&objects, Notes::none());
    let found = scan("[".repeat(1_000_001).as_bytes(), &[]).content;
    assert_eq!(found, Content::NotJson(EnvelopeError::TooDeep { offset: 1_000_000 }));
}

#[test]
fn brackets_must_match_at_any_depth() {
    for depth in [1, 2, 63, 64, 65, 127, 128, 129, 1000] {
        let open: String = (0..depth).map(|level| if level % 3 == 0 { "{\"a\":" } else { "[" }).collect();
        let close: String = (0..depth).rev().map(|level| if level % 3 == 0 { "}" } else { "]" }).collect();
        accepts(format!("{open}1{close}"), Notes::none());
        for wrong in 0..depth {
            let mut wrong_close = close.clone().into_bytes();
            wrong_close[wrong] = if wrong_close[wrong] == b'}' { b']' } else { b'}' };
            let input = [open.as_bytes(), b"1", &wrong_close].concat();
            let offset = (open.len() + 1 + wrong) as u64;
            assert_eq!(scan(&input, &[]).content, Content::NotJson(EnvelopeError::NotJson { offset }));
        }
    }
}

#[test]
fn progress_finds_the_end_of_a_message_over_several_lines() {
    let mut scanner = Scanner::new(&[]);
    assert_eq!(scanner.progress(), Progress::Blank);
    for (line, progress) in [
        ("\n", Progress::Blank),
        ("{\n", Progress::Inside),
        ("  \"jsonrpc\": \"2.0\",\n", Progress::Inside),
        ("  \"id\": 1,\n", Progress::Inside),
        ("  \"result\": {}\n", Progress::Inside),
        ("}\n", Progress::Complete),
    ] {
        scanner.feed(line.as_bytes());
        assert_eq!(scanner.progress(), progress, "line: {line:?}");
    }
    assert!(matches!(scanner.finish().content, Content::Message(_)));
    assert_eq!(scanner.progress(), Progress::Blank);
    scanner.feed(b"noise");
    assert_eq!(scanner.progress(), Progress::Failed);
}

#[test]
fn a_scanner_is_as_new_after_each_unit() {
    let mut scanner = Scanner::new(&[]);
    let units = [
        "{\"a\":[[1",
        "{\"id\":1,\"method\":\"a\"}\r\n",
        "\u{feff}[{\"id\":1,",
        "\"\\ud83d",
        "nul",
        "[{}]",
        "",
        "{} {",
        "\"a",
        "\"a\"",
        "7",
        "{}\r",
        "\n",
        "7\r\n",
        "",
    ];
    for _ in 0..2 {
        for unit in units {
            scanner.feed(unit.as_bytes());
            assert_eq!(scanner.finish(), scan(unit.as_bytes(), &[]), "unit: {unit:?}");
        }
    }
}
