//! Tests of content: its types, data and resources.

use tap_jsonrpc::Node;

use super::super::base64::{Fault, fault};
use super::super::secret;
use super::{check_answer, found};
use crate::script::check;

const PLAIN: &str = r#"{"name":"add","inputSchema":{"type":"object"}}"#;

#[test]
fn base64_has_one_alphabet_and_padding() {
    for (text, expected) in [
        ("", None),
        ("AAAA", None),
        ("AAA=", None),
        ("AA==", None),
        ("A+/A", None),
        // Spelled otherwise, and the same.
        (r"A\/A=", None),
        (r"\u0041AA=", None),
        (r"AAA\u003d", None),
        (r"AAA\u003D", None),
        ("A-_A", Some(Fault::UrlSafe)),
        ("data:image/png;base64,AAAA", Some(Fault::DataUri)),
        ("AA*A", Some(Fault::Character)),
        ("AAé=", Some(Fault::Character)),
        (r"AA\\A", Some(Fault::Character)),
        (r"AA\u00e9", Some(Fault::Character)),
        ("A", Some(Fault::Length)),
        ("AAAAA", Some(Fault::Length)),
        ("A===", Some(Fault::Length)),
        ("AA=A", Some(Fault::Padding)),
        ("AA==AAAA", Some(Fault::Padding)),
        ("AAAA=", Some(Fault::Padding)),
        ("AAA==", Some(Fault::Padding)),
        ("=", Some(Fault::Padding)),
        ("AAA", Some(Fault::Unpadded)),
        ("AA", Some(Fault::Unpadded)),
        ("AA=", Some(Fault::Unpadded)),
        (r"AAAA\nAAAA\r\n", Some(Fault::Whitespace)),
        ("AAAA AAAA", Some(Fault::Whitespace)),
    ] {
        assert_eq!(fault(Node::new(format!("\"{text}\"").as_bytes())), expected, "{text}");
    }
    for other in ["null", "1", "[]", "{}"] {
        assert_eq!(fault(Node::new(other.as_bytes())), Some(Fault::NotText));
    }
}

#[test]
fn each_revision_has_its_types_of_content() {
    let link = r#"{"type":"resource_link","uri":"note://a","name":"a"}"#;
    let audio = r#"{"type":"audio","data":"AAAA","mimeType":"audio/wav"}"#;
    let text = r#"{"type":"text","text":"a"}"#;
    for (revision, block, is_known) in [
        ("2024-11-05", text, true),
        ("2024-11-05", audio, false),
        ("2025-03-26", audio, true),
        ("2025-03-26", link, false),
        ("2025-06-18", link, true),
        ("2026-07-28", link, true),
        ("2026-07-28", r#"{"type":"video","data":""}"#, false),
        ("2025-11-25", r#"{"type":"tool_use"}"#, false),
        ("2025-11-25", r#"{"text":"a"}"#, false),
        ("2025-11-25", r#""a""#, false),
    ] {
        let script = format!(
            "# {revision}\n-> {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{{\"name\":\"add\"{}}}}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{{\"content\":[{block}]}}}}",
            if revision == "2026-07-28" { ",META" } else { "" }
        );
        assert_eq!(found(&script, "TOL-011").is_empty(), is_known, "{revision} {block}");
    }
}

#[test]
fn content_that_no_revision_may_be_blamed_for_is_not_blamed() {
    // Nobody knows which revision is spoken, and one of them has the first type.
    for (kind, expected) in [("audio", &[][..]), ("video", &["TOL-011 error by server: `video`"])] {
        let script = format!(
            r#"-> {{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"a"}}}}
<- {{"jsonrpc":"2.0","id":1,"result":{{"content":[{{"type":"{kind}","data":"AAAA"}}]}}}}"#
        );
        assert_eq!(found(&script, "TOL-"), expected, "{kind}");
    }
}

#[test]
fn data_is_looked_at_wherever_it_stands() {
    let bad = |what: &str| format!("TOL-013 error by server: {what}: a character that is not in the alphabet");
    for (block, expected) in [
        (r#"{"type":"image","data":"*","mimeType":"image/png"}"#, bad("image")),
        (r#"{"type":"audio","data":"*","mimeType":"audio/wav"}"#, bad("audio")),
        (r#"{"type":"resource","resource":{"uri":"note://a","blob":"*"}}"#, bad("blob")),
        (
            r#"{"type":"image","data":"AAAA AAAA","mimeType":"image/png"}"#,
            "TOL-013 warning by server: image: with whitespace".into(),
        ),
        // No data of an image.
        (r#"{"type":"text","text":"a","data":"*"}"#, String::new()),
    ] {
        let answer = format!(r#""result":{{"content":[{block}]}}"#);
        check_answer("2025-11-25", PLAIN, &answer, &expected);
    }
}

/// What is found of an answer to `resources/read`, without the message that it is at.
#[track_caller]
fn read(revision: &str, answer: &str) -> String {
    let meta = if revision == "2026-07-28" { ",META" } else { "" };
    let script = format!(
        "# {revision}\n-> {{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\",\"params\":{{\"uri\":\"note://a\"{meta}}}}}\n<- {{\"jsonrpc\":\"2.0\",\"id\":1,{answer}}}"
    );
    found(&script, "RES-").join("\n")
}

#[test]
fn contents_are_a_text_or_data() {
    for (contents, expected) in [
        (r#"{"uri":"note://a","text":""}"#, ""),
        (r#"{"uri":"note://a","blob":""}"#, ""),
        // As some serializers write what is not there.
        (r#"{"uri":"note://a","text":"a","blob":null}"#, ""),
        (r#"{"uri":"note://a","text":"a","blob":"AAAA"}"#, "RES-003 error by server: `note://a`: both text and blob"),
        (r#"{"uri":"note://a"}"#, "RES-003 error by server: `note://a`: neither text nor blob"),
        (r#"{"text":null}"#, "RES-003 error by server: neither text nor blob"),
    ] {
        assert_eq!(read("2025-11-25", &format!(r#""result":{{"contents":[{contents}]}}"#)), expected, "{contents}");
    }
}

#[test]
fn each_era_has_its_code_for_a_resource_that_is_not_there() {
    let error = |code: i64, message: &str| format!(r#""error":{{"code":{code},"message":"{message}"}}"#);
    for (revision, code, message, expected) in [
        ("2025-11-25", -32002, "Resource not found", ""),
        ("2025-11-25", -32602, "Unknown resource: note://a", "warning"),
        ("2025-11-25", -32603, "the database is locked", ""),
        ("2025-11-25", -32601, "Method not found", ""),
        ("2026-07-28", -32602, "Resource not found", ""),
        ("2026-07-28", -32002, "gone", "error"),
        ("2026-07-28", -32603, "No such file", "warning"),
    ] {
        let found = read(revision, &error(code, message));
        assert_eq!(found.split(' ').nth(1).unwrap_or_default(), expected, "{revision} {code} {message}: {found}");
    }
    let empty =
        read("2026-07-28", r#""result":{"resultType":"complete","ttlMs":0,"cacheScope":"private","contents":[]}"#);
    assert_eq!(empty, "RES-001 warning by server: `note://a`: empty contents");
}

#[test]
fn a_listed_resource_may_be_empty() {
    check(
        r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"resources/list"}
<- {"jsonrpc":"2.0","id":1,"result":{"resources":[{"uri":"file:///empty","name":"empty"}]}}
-> {"jsonrpc":"2.0","id":2,"method":"resources/read","params":{"uri":"file:///empty"}}
<- {"jsonrpc":"2.0","id":2,"result":{"contents":[]}}"#,
        "",
    );
}

#[test]
fn roots_are_files() {
    let script = r#"# 2025-11-25
-> {"jsonrpc":"2.0","id":1,"method":"ping"}
<- {"jsonrpc":"2.0","id":1,"method":"roots/list"}
<- {"jsonrpc":"2.0","id":1,"result":{}}
-> {"jsonrpc":"2.0","id":1,"result":{"roots":[{"uri":"FILE:///a"},{"uri":"http://a"},{"name":"x"},{"uri":"file:///b"}]}}"#;
    assert_eq!(found(script, "ROT-"), ["ROT-001 error by client: `http://a`; a root without a URI"]);
}

#[test]
fn a_form_that_asks_for_a_secret_is_known_by_whole_words() {
    for (name, title, description, expected) in [
        ("password", "", "", true),
        ("user_password", "", "", true),
        ("userPassword", "", "", true),
        ("apiKey", "", "", true),
        ("api_key", "", "", true),
        ("API-KEY", "", "", true),
        ("apikey", "", "", true),
        ("token", "", "", true),
        ("githubToken", "", "", true),
        ("client_secret", "", "", true),
        ("field1", "API key", "", true),
        ("field1", "", "Your GitHub access token", true),
        ("field1", "", "The password of the account", true),
        ("max_tokens", "", "", false),
        ("maxTokens", "", "", false),
        ("token_count", "", "", false),
        ("next_token", "", "", false),
        ("tokenizer", "", "", false),
        ("secretary", "", "", false),
        ("key", "", "", false),
        ("keyboard", "", "", false),
        ("monkey", "", "", false),
        ("compassword", "", "", false),
        ("field1", "", "How many tokens the answer may have", false),
        ("field1", "", "Do not enter your password here", false),
        ("name", "Name", "Your full name", false),
    ] {
        let [title, description] = [title, description].map(|text| format!("\"{text}\""));
        let [title, description] = [&title, &description].map(|text| Some(Node::new(text.as_bytes())));
        assert_eq!(secret::is_asked(name, title, description), expected, "{name} {title:?} {description:?}");
    }
}
