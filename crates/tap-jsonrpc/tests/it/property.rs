//! Properties: what holds for every stream of bytes, and for every JSON text, well made or spoilt.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::bodies;

/// Keys that matter, spelled in all ways, among some that do not.
fn key() -> impl Strategy<Value = String> {
    let names = select(vec![
        "jsonrpc",
        "id",
        "method",
        "params",
        "result",
        "error",
        "name",
        "_meta",
        "progressToken",
        "isError",
        "code",
        "io.modelcontextprotocol/clientInfo",
        "",
        "x",
    ]);
    (names, vec(any::<bool>(), 0..8)).prop_map(|(name, escaped)| {
        let spell = |(index, character): (usize, char)| match escaped.get(index) {
            Some(true) => format!("\\u{:04x}", u32::from(character)),
            _ => character.to_string(),
        };
        format!("\"{}\"", name.chars().enumerate().map(spell).collect::<String>())
    })
}

fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => select(vec!["null", "true", "false", "\"2.0\"", "1", "\"ping\"", "\"\"", "1e400", "-0.0", "1.0"])
            .prop_map(str::to_owned),
        1 => "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,4})?",
        1 => "\"([ -!#-\\[\\]-~é€😀]|\\\\[\"\\\\/bfnrt]|\\\\u[0-9a-fA-F]{4}){0,20}\"",
        1 => (4080..4110usize).prop_map(|length| format!("\"{}\"", "l".repeat(length))),
    ]
}

/// JSON text with any whitespace, made from the inside out.
fn json() -> impl Strategy<Value = String> {
    let gap = || select(vec!["", "", "", " ", "\t", "\n", "\r\n"]);
    scalar().prop_recursive(6, 64, 6, move |inner| {
        let member = (gap(), key(), gap(), gap(), inner.clone(), gap())
            .prop_map(|(before, key, after, colon, value, end)| format!("{before}{key}{after}:{colon}{value}{end}"));
        let element = (gap(), inner, gap()).prop_map(|(before, value, after)| format!("{before}{value}{after}"));
        prop_oneof![
            3 => vec(member, 0..7).prop_map(|members| format!("{{{}}}", members.join(","))),
            1 => vec(element, 0..4).prop_map(|elements| format!("[{}]", elements.join(","))),
        ]
    })
}

/// A change to some bytes: where, by how much, and what.
fn spoil(text: String, changes: &[(usize, usize, u8)]) -> Vec<u8> {
    let mut bytes = text.into_bytes();
    for &(at, how, byte) in changes {
        let at = at % (bytes.len() + 1);
        match how {
            0 => bytes.insert(at, byte),
            1 if at < bytes.len() => drop(bytes.remove(at)),
            2 if at < bytes.len() => bytes[at] = byte,
            _ => bytes.truncate(at),
        }
    }
    bytes
}

/// A line of an event stream: a field, a comment, nothing, or something else.
fn event_line() -> impl Strategy<Value = String> {
    let name = select(vec!["data", "data", "data", "id", "event", "retry", "", "dat", "Data", " data", "\u{feff}data"]);
    let value = prop_oneof!["[0-9]{0,3}", "[ -~é:\0]{0,12}"];
    prop_oneof![
        3 => (name, select(vec![":", ": ", ":  ", ""]), value).prop_map(|(name, colon, value)| format!("{name}{colon}{value}")),
        1 => Just(String::new()),
    ]
}

fn odd_byte() -> impl Strategy<Value = u8> {
    prop_oneof![any::<u8>(), select(b"\"\\{}[],:0123-+.eEuntf \n\r\t\0\xef\xbb\xbf\xff".to_vec())]
}

// 256 cases each; `PROPTEST_CASES=100000 cargo test --release` for more.
proptest! {
    #[test]
    fn any_bytes_give_the_same_lines_however_cut(bytes in vec(prop_oneof![3 => Just(b'a'), 1 => select(b"\n\r\x85".to_vec()), 1 => any::<u8>()], 0..200)) {
        bodies::line(&bytes);
    }

    #[test]
    fn any_stream_gives_the_same_events_however_cut(lines in vec((event_line(), select(vec!["\n", "\r", "\r\n"])), 0..30), mark in any::<bool>()) {
        let stream: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
        bodies::sse(format!("{}{stream}", if mark { "\u{feff}" } else { "" }).as_bytes());
    }

    #[test]
    fn any_bytes_can_be_scanned(bytes in vec(odd_byte(), 0..200)) {
        bodies::scan(&bytes);
    }

    #[test]
    fn json_is_read_as_serde_json_reads_it(text in json()) {
        bodies::scan(text.as_bytes());
    }

    #[test]
    fn a_batch_is_read_as_serde_json_reads_it(texts in vec(json(), 0..5)) {
        bodies::scan(format!("[{}]", texts.join(" , ")).as_bytes());
    }

    #[test]
    fn spoilt_json_is_refused_where_serde_json_refuses_it(text in json(), changes in vec((any::<usize>(), 0..4usize, odd_byte()), 1..4)) {
        bodies::scan(&spoil(text, &changes));
    }

    #[test]
    fn several_texts_in_a_row_are_not_one(texts in vec(json(), 2..4), gap in select(vec!["", " ", "\n", ","])) {
        bodies::scan(texts.join(gap).as_bytes());
    }

    #[test]
    fn any_bytes_can_be_walked_over(bytes in vec(odd_byte(), 0..200)) {
        bodies::node(&bytes);
    }

    #[test]
    fn every_node_of_json_is_what_serde_json_reads(text in json()) {
        bodies::node(text.as_bytes());
    }

    #[test]
    fn cut_and_spoilt_json_can_be_walked_over(text in json(), cut in any::<usize>(), changes in vec((any::<usize>(), 0..4usize, odd_byte()), 0..3)) {
        bodies::node(&text.as_bytes()[..cut % (text.len() + 1)]);
        bodies::node(&spoil(text, &changes));
    }
}
