//! Trees of messages, hostile ones too; paths, places, marks, bytes in base64.

use proptest::prelude::*;
use tap_session::At;

use super::*;
use crate::data::Tone;

fn drawn(tree: &Tree) -> String {
    let line = |line: &TreeLine| {
        let content = match &line.content {
            Content::Text(text) => format!("{text:?}"),
            Content::Literal(text) | Content::TextLine(text, _) | Content::Cut(text) => text.clone(),
            Content::Mark(mark) => format!("^ {}", mark.text),
            Content::Blob(blob) => {
                let size = blob.size.map(|(columns, rows)| format!(" {columns}x{rows}")).unwrap_or_default();
                format!("<{} {} bytes{size}>", blob.mime_type, blob.n_bytes)
            }
            Content::Open(sign) | Content::Close(sign) | Content::Empty(sign) => (*sign).into(),
            Content::Folded(sign, n) => format!("{sign} {n}"),
        };
        let key = line.key.as_ref().map(|key| format!("{key}: ")).unwrap_or_default();
        format!("{}{key}{content}\n", "  ".repeat(line.depth))
    };
    tree.lines().iter().map(line).collect()
}

#[test]
fn a_message_is_opened_up_and_folds() {
    let text = r#"{"a":1e400,"a":[],"b":{"c":[true,"x"]},"t":"one\ntwo","n":null}"#;
    let mut tree = Tree::new(text.as_bytes().into(), true);
    let expected = "{\n  a: 1e400\n  a: []\n  b: {\n    c: [\n      true\n      \"x\"\n    ]\n  }\n  t: \"\"\"\n    one\n    two\n  \"\"\"\n  n: null\n}\n";
    assert_eq!(drawn(&tree), expected);
    assert!(!tree.toggle(1), "a number does not fold");
    assert!(tree.toggle(3));
    assert_eq!(tree.lines()[3].content, Content::Folded("{}", 1));
    assert_eq!(tree.parent(3), Some(0));
    assert!(tree.toggle(3));
    assert_eq!(drawn(&tree), expected);
}

#[test]
fn json_in_a_string_is_opened_up_or_not() {
    let text = r#"{"text":"{\"a\":[1,\"[2]\"]}","b":"{no"}"#;
    let mut tree = Tree::new(text.as_bytes().into(), true);
    let opened = "{\n  text: \"{\n    a: [\n      1\n      \"[\n        2\n      ]\"\n    ]\n  }\"\n  b: \"{no\"\n}\n";
    assert_eq!(drawn(&tree), opened);
    assert!(tree.toggle(4), "inside it folds too");
    assert_eq!(tree.lines()[4].content, Content::Folded("\"[]\"", 1));
    tree.set_opens_strings(false);
    assert_eq!(drawn(&tree), "{\n  text: \"{\\\"a\\\":[1,\\\"[2]\\\"]}\"\n  b: \"{no\"\n}\n");
}

#[test]
fn what_is_no_json_is_shown_as_its_text() {
    for (text, expected) in [
        ("cache warmed in 12 ms\n", "cache warmed in 12 ms\n"),
        ("[INFO] started", "[INFO] started\n"),
        ("one\ntwo", "one\ntwo\n"),
        (" ", "nothing\n"),
        (r#"{"a":1,"b":"#, "{\n  a: 1\n}\nnot all of it is here\n"),
    ] {
        assert_eq!(drawn(&Tree::new(text.as_bytes().into(), true)), expected, "{text}");
    }
}

#[test]
fn hostile_json_costs_a_bounded_number_of_lines() {
    let deep = "[".repeat(100_000);
    assert!(Tree::new(deep.into_bytes().into(), true).lines().len() < 200);
    let wide = format!("[{}1]", "1,".repeat(200_000));
    assert_eq!(Tree::new(wide.into_bytes().into(), true).lines().len(), build::LINES + 1);
    let long = format!("\"{}\"", "x".repeat(1_000_000));
    assert!(
        matches!(&Tree::new(long.into_bytes().into(), true).lines()[0].content, Content::Text(text) if text.len() < 5_000)
    );
    for text in ["", "nonsense", "{\"a\":", "\"\\ud800\"", "\u{feff}{}"] {
        assert!(!Tree::new(text.as_bytes().into(), true).lines().is_empty(), "{text}");
    }
}

#[test]
fn what_is_said_of_a_place_stands_under_it() {
    let text = r#"{"a":{"b":[1,"x"]},"c":"{\"d\":2}"}"#;
    let mark = |text: &str| {
        let goes_to = Some(At { seq: 3, member: 0 });
        Mark { text: text.into(), tone: Tone::Bad, goes_to }
    };
    let mut tree = Tree::new(text.as_bytes().into(), true);
    let mut marks = Marks::new();
    for (pointer, said) in [("/a/b/1", "no number"), ("/a", "z is missing"), ("/c/d/e", "in a text"), ("", "whole")] {
        let place = Places::new(text.as_bytes()).of(pointer)[0];
        marks.entry(place).or_default().push(mark(said));
    }
    let line = tree.lines().iter().position(|line| line.key.as_deref() == Some("c")).unwrap();
    let moved = tree.set_marks(marks, line);
    assert_eq!(tree.lines()[moved].key.as_deref(), Some("c"), "the cursor stays where it is");
    let expected = "{\n  ^ whole\n  a: {\n    ^ z is missing\n    b: [\n      1\n      \"x\"\n      ^ no number\n    ]\n  }\n  c: \"{\n    d: 2\n  }\"\n  ^ in a text\n}\n";
    assert_eq!(drawn(&tree), expected);
    tree.toggle(2);
    assert_eq!(drawn(&tree).lines().nth(2), Some("  a: {} 1"), "what is said inside is said of what is folded");
    assert_eq!(drawn(&tree).lines().skip(3).take(2).collect::<Vec<_>>(), ["  ^ z is missing", "  ^ no number"]);
}

#[test]
fn a_line_knows_its_path() {
    let text = r#"{"r":{"content":[{"text":"one\ntwo"},{"text":"{\"a\":[{\"b c\":1}]}"}],"x":[]}}"#;
    let tree = Tree::new(text.as_bytes().into(), true);
    let paths: Vec<(String, String)> =
        (0..tree.lines().len()).map(|line| (tree.path(line).shown(), tree.path(line).in_filter())).collect();
    let shown: Vec<&str> = paths.iter().map(|(shown, _)| shown.as_str()).collect();
    assert_eq!(
        shown,
        [
            "",
            "r",
            "r.content",
            "r.content[0]",
            "r.content[0].text",
            "r.content[0].text",
            "r.content[0].text",
            "r.content[0].text",
            "r.content[0]",
            "r.content[1]",
            "r.content[1].text",
            "r.content[1].text › a",
            "r.content[1].text › a[0]",
            "r.content[1].text › a[0].\"b c\"",
            "r.content[1].text › a[0]",
            "r.content[1].text › a",
            "r.content[1].text",
            "r.content[1]",
            "r.content",
            "r.x",
            "r",
            "",
        ]
    );
    assert_eq!(paths[13].1, ".r.content[1].text", "a filter reads no text of a string as JSON");
}

#[test]
fn a_place_is_shown_whatever_is_folded() {
    let text = r#"{"a":{"key":[1,{"deep":"needle one"}]},"t":"first\nsecond \"x\"\nthird needle","s":"{\"\u00e9\":\"\\\"q\\\"\",\"n\":\"needle\"}","needle":0}"#;
    let mut tree = Tree::new(text.as_bytes().into(), true);
    let line = tree.lines().iter().position(|line| line.key.as_deref() == Some("a")).unwrap();
    tree.toggle(line);
    let places: Vec<usize> = text.match_indices("needle").map(|(at, _)| at).collect();
    let shown: Vec<String> = places
        .iter()
        .map(|at| {
            let line = tree.reveal(*at);
            drawn(&tree).lines().nth(line).unwrap().trim().to_owned()
        })
        .collect();
    assert_eq!(shown, ["deep: \"needle one\"", "third needle", "n: \"needle\"", "needle: 0"]);
}

#[test]
fn bytes_in_base64_are_told_not_shown() {
    // One pixel; its size is in the head.
    let png = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAADCAYAAAC56t6BAAAADUlEQVR4nGNg+M9QDwADgQGAEp8IuAAAAABJRU5ErkJggg==";
    for (text, expected) in [
        (format!(r#"{{"type":"image","data":"{png}","mimeType":"image/png"}}"#), "data: <image/png 70 bytes 2x3>"),
        (format!(r#"{{"mimeType":"image/gif","blob":"{png}"}}"#), "blob: <image/gif 70 bytes 2x3>"),
        (r#"{"data":"AAECAwQ=","mimeType":"audio/wav"}"#.into(), "data: <audio/wav 5 bytes>"),
        (r#"{"data":"no base64!","mimeType":"image/png"}"#.into(), "data: \"no base64!\""),
        (r#"{"other":"AAECAwQ=","mimeType":"image/png"}"#.into(), "other: \"AAECAwQ=\""),
        (r#"{"data":"AAECAwQ="}"#.into(), "data: \"AAECAwQ=\""),
    ] {
        let tree = Tree::new(text.as_bytes().into(), true);
        assert!(drawn(&tree).contains(&format!("  {expected}\n")), "{text}: {}", drawn(&tree));
    }
    let text = r#"{"data":"AAECAwQ=","mimeType":"audio/../x y"}"#;
    let tree = Tree::new(text.as_bytes().into(), true);
    let Content::Blob(blob) = &tree.lines()[1].content else { panic!("{tree:?}") };
    assert_eq!(blob.extension(), "xy", "nobody's text becomes a path");
    assert_eq!(decoded(Node::new(&tree.value(1).unwrap())), Some(vec![0, 1, 2, 3, 4]));
}

#[test]
fn headings_and_code_are_told_from_text() {
    let text = "\"# Title\\ntext # no\\n```rust\\n# no heading\\n```\\n#no\\n####### no\\n## Two\"";
    let tree = Tree::new(text.as_bytes().into(), true);
    let kinds: Vec<TextKind> = tree
        .lines()
        .iter()
        .filter_map(|line| match &line.content {
            Content::TextLine(_, kind) => Some(*kind),
            _ => None,
        })
        .collect();
    let (plain, code, heading) = (TextKind::Plain, TextKind::Code, TextKind::Heading);
    assert_eq!(kinds, [heading, plain, code, code, code, plain, plain, heading]);
}

proptest! {
    #[test]
    fn no_image_is_too_strange(mut head in prop::sample::select(vec![
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03".to_vec(),
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0\xff\xc0\0\x11\x08\0\x03\0\x02".to_vec(),
        b"GIF89a\x02\0\x03\0".to_vec(),
        b"RIFF\x1a\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x01\0\0\x02\0\0".to_vec(),
        b"BM\0\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\x02\0\0\0\x03\0\0\0".to_vec(),
    ]), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4), cut: prop::sample::Index) {
        use base64::Engine;
        for (place, byte) in changes {
            let place = place.index(head.len());
            head[place] = byte;
        }
        head.truncate(cut.index(head.len()) + 1);
        let text = base64::engine::general_purpose::STANDARD.encode(&head);
        if let Some(blob) = Blob::of("data", "image/png", &text) {
            prop_assert_eq!(blob.n_bytes, head.len());
        }
    }

    #[test]
    fn any_place_of_any_message_can_be_shown(text in "[\\[\\]{}\",:0-9a-c\\\\nu é\u{1b}]{0,60}", at: prop::sample::Index, folds in prop::collection::vec(any::<prop::sample::Index>(), 0..4)) {
        let mut tree = Tree::new(text.as_bytes().into(), true);
        for fold in folds {
            tree.toggle(fold.index(tree.lines().len()));
        }
        let line = tree.reveal(at.index(text.len() + 1));
        prop_assert!(line < tree.lines().len());
        for line in 0..tree.lines().len() {
            let _ = (tree.path(line).shown(), tree.value(line), tree.parent(line).is_none_or(|parent| parent < line));
        }
    }
}
