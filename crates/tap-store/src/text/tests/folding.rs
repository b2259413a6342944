//! Tests of folding: whatever was written comes back, at every width, also when others wrote the file anew.

use proptest::prelude::*;

use super::*;
use crate::text::fold::{Style, columns, fold, unfold};

/// JSON in one of the two styles, with all that JSON allows and tools lose.
fn any_json(style: Style) -> impl Strategy<Value = String> {
    let space = if style == Style::Spaced { " " } else { "" };
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("1e3".to_owned()),
        Just("-0.0".to_owned()),
        Just("12345678901234567890".to_owned()),
        Just(r#""\ud800 \/ é €""#.to_owned()),
        Just(r#""a, \"b\": [c] {""#.to_owned()),
        "[ -~]{0,40}".prop_map(|text| Value::from(text).to_string()),
        (0..1000u32).prop_map(|number| number.to_string()),
    ];
    let value = scalar.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6)
                .prop_map(move |items| format!("[{}]", items.join(&format!(",{space}")))),
            // Keys may come twice.
            prop::collection::vec(("[ab]|a[\\\\]/b", inner), 0..6).prop_map(move |members| {
                let members: Vec<String> =
                    members.iter().map(|(key, value)| format!("\"{key}\":{space}{value}")).collect();
                format!("{{{}}}", members.join(&format!(",{space}")))
            }),
        ]
    });
    prop::collection::vec(value, 0..4)
        .prop_map(move |values| format!("{{\"a\":{space}[{}]}}", values.join(&format!(",{space}"))))
}

/// A message of any kind: JSON in either style or none, and what is no JSON or no text.
fn any_line() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => any_json(Style::Compact).prop_map(String::into_bytes),
        4 => any_json(Style::Spaced).prop_map(String::into_bytes),
        1 => any_json(Style::Compact).prop_map(|json| json.replace(":", " : ").into_bytes()),
        1 => any_json(Style::Compact).prop_map(|json| json.replace(",", ",\t").into_bytes()),
        1 => any_json(Style::Compact).prop_map(|json| json.as_bytes()[1..].to_vec()),
        1 => any_json(Style::Compact).prop_map(|json| [json.as_bytes(), b"\xff"].concat()),
        1 => any_json(Style::Compact).prop_map(|json| [json.as_bytes(), b"\r"].concat()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_folded_message_is_unfolded_to_the_same_bytes(json in any_json(Style::Compact), width in 0..120_usize) {
        for (json, style) in [(json.clone(), Style::Compact), (unfold(&json, Style::Spaced), Style::Spaced)] {
            let mut folded = String::new();
            fold(&mut folded, &json, width, 8, 1, 1);
            prop_assert_eq!(unfold(&folded, style), json.as_str(), "{}", &folded);
            // What could have been broken further is not too wide.
            for line in folded.lines().filter(|line| width < columns(line)) {
                let inside = line.trim_end_matches(',');
                prop_assert!(!inside.ends_with(['}', ']']) || inside.trim_start().len() <= 3 || inside.ends_with("[]")
                    || inside.ends_with("{}") || width < 60, "{} is {} wide in {}", line, columns(line), &folded);
            }
        }
    }

    #[test]
    fn every_line_comes_back_from_every_fold(lines in prop::collection::vec(any_line(), 1..6), crlf in any::<bool>()) {
        let mut segment = tap_frame::Segment::default();
        for (line, at_ns) in lines.iter().zip(1_000_000..) {
            let line = [&line[..], if crlf { b"\r\n" } else { b"\n" }].concat();
            segment.push_chunk(Stream::ToServer, at_ns, crate::traffic::OPENED_UNIX_NS + at_ns, &line);
        }
        let (store, id) = stored(&[segment], None);
        for fold_columns in [0, 40, 100] {
            let options = ExportOptions { fold_columns, ..ExportOptions::default() };
            let text = exported_as(&store, &options);
            let marked = [b"\xef\xbb\xbf", text.replace('\n', "\r\n").as_bytes()].concat();
            for text in [text.as_bytes(), &marked[..]] {
                let (again, session) = imported(text).unwrap();
                prop_assert_eq!(recorded(&again, session.session), recorded(&store, id));
            }
            // Whoever reads a stream of JSON reads it.
            let read: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(&text.replace(r"\ud800", r"\u0041")).into_iter().collect();
            prop_assert_eq!(read.unwrap().len(), lines.len() + 1);
            prop_assert_eq!(text.lines().count() == lines.len() + 1, fold_columns == 0 || text.lines().count() == lines.len() + 1);
        }
    }
}

#[test]
fn a_message_is_folded_as_its_page_says() {
    let message = r#"{"result":{"tools":[{"name":"read_file","description":"Read the complete contents of a file as text.","inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}}],"ratios":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,36],"empty":{}},"jsonrpc":"2.0","id":1}"#;
    let expected = r#"{"to":"client","at":0.001000000,"msg":{
 "result":{
  "tools":[
   {
    "name":"read_file",
    "description":"Read the complete contents of a file as text.",
    "inputSchema":{"type":"object","properties":{"path":{"type":"string"}}}
   }
  ],
  "ratios":[
   1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31,32,33,34,35,
   36
  ],
  "empty":{}
 },
 "jsonrpc":"2.0",
 "id":1
}}
"#;
    let (store, _) = stored(&segments(&format!("<- {message}")), None);
    let options = ExportOptions { fold_columns: 100, ..ExportOptions::default() };
    let text = exported_as(&store, &options);
    assert_eq!(&text[text.find("{\"to\"").unwrap()..], expected);
    assert!(text.starts_with("{\"mcp-tap\":\"recording/1\",\"profile\":\"lossless\",\"uuid\":"), "{text}");
}

#[test]
fn what_is_deep_or_long_is_folded_in_bounds() {
    let deep = format!("{{\"a\":{}{}}}", "[".repeat(50_000), "]".repeat(50_000));
    let long = format!("{{\"a\":\"{}\",\"b\":[{}0]}}", "x".repeat(3_000_000), "0,".repeat(500_000));
    for message in [deep, long] {
        let mut folded = String::new();
        fold(&mut folded, &message, 40, 0, 1, 1);
        assert!(folded.len() < message.len() * 2 + 10_000, "{} of {}", folded.len(), message.len());
        assert_eq!(unfold(&folded, Style::Compact), message);
    }
    let hostile = format!("{{\"mcp-tap\":\"recording/1\"}}\n{}", "[{\"a\":".repeat(200_000));
    assert!(imported(&hostile).is_err());
    let hostile = format!("{{\"mcp-tap\":\"recording/1\"}}\n{{\"a\":{}", "[".repeat(1_000_000));
    assert!(imported(&hostile).unwrap_err().to_string().contains("line 2: not a record: the file ends before"));
    let hostile = format!("{{\"mcp-tap\":\"recording/1\",\"new\":{}{}}}\n", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(imported(&hostile).unwrap().1.n_frames, 0);
}
